"""Sessions that install each runtime in an environment of its own.

``nox -s runtimes`` tests their backends; ``nox -s measure`` runs the official suite on them and
writes the table of ``docs/backends.md``.
"""

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


#: The backends that each environment can run.
BACKENDS = {
    "onnxruntime": ["builtin", "reference", "onnxruntime"],
    "openvino": ["openvino", "openvino:default"],
    "opencv": ["opencv"],
    "torch": ["torch"],
    "tinygrad": ["tinygrad"],
    "tract": ["tract", "tract:constants"],
    "tvm": ["tvm", "tvm:constants"],
    "iree": ["iree"],
    "onnx_backend": [
        "onnx-backend:emx_onnx_cgen.onnx_backend.backend",
        "onnx-backend:jaxonnxruntime.backend",
    ],
}


def install(session: nox.Session, runtime: str) -> None:
    """Install opcheck and one runtime."""
    for arguments in RUNTIMES[runtime]:
        session.install(*arguments)


@nox.session
@nox.parametrize("runtime", list(RUNTIMES), ids=list(RUNTIMES))
def runtimes(session: nox.Session, runtime: str) -> None:
    """Install one runtime and run the tests of its backend."""
    install(session, runtime)
    session.run("python", "-m", "pytest", f"tests/backends/test_{runtime}.py")


@nox.session
@nox.parametrize("runtime", list(BACKENDS), ids=list(BACKENDS))
def measure(session: nox.Session, runtime: str) -> None:
    """Run the official suite on the backends of one environment; take the totals into the table."""
    install(session, runtime)
    for i, backend in enumerate(BACKENDS[runtime]):
        results = f"{session.create_tmp()}/{i}.jsonl"
        run = ("opcheck", "run", "onnx:node", "--backend", backend, "--json", results)
        session.run(*run, success_codes=[0, 1], silent=True)
        session.run("python", "docs/tables/backends.py", results)
