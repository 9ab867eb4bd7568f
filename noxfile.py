"""``nox -s runtimes`` installs each runtime in an environment of its own and tests its backend."""

from __future__ import annotations

import nox

#: What to install for each runtime besides the test extra, one pip call after the other.
RUNTIMES: dict[str, list[list[str]]] = {
    "onnxruntime": [[".[test]"]],
    "openvino": [[".[test]"]],
    "opencv": [[".[test]"]],
    "torch": [[".[test]"], ["torch==2.13.0"], ["--no-deps", "onnx2pytorch==0.6.0"]],
    "tinygrad": [[".[test,tinygrad]"]],
    "tract": [[".[test,tract]"]],
    "tvm": [[".[test,tvm]"]],
    "iree": [[".[test,iree]"]],
    "onnx_backend": [[".[test]", "emx-onnx-cgen", "jax", "jaxlib", "absl-py", "jaxonnxruntime"]],
}


@nox.session
@nox.parametrize("runtime", list(RUNTIMES), ids=list(RUNTIMES))
def runtimes(session: nox.Session, runtime: str) -> None:
    """Install one runtime and run the tests of its backend."""
    for arguments in RUNTIMES[runtime]:
        session.install(*arguments)
    session.run("python", "-m", "pytest", f"tests/backends/test_{runtime}.py")
