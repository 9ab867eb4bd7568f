"""The example programs build, and the checker finds nothing wrong with them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from opcheck.backends.command import Command, ProgramError
from opcheck.backends.command_check import check
from opcheck.harness.backend import Unsupported

EXAMPLES = Path(__file__).parents[2] / "examples"
NODE = EXAMPLES / "node"

HEADER = '<ir_version: 8, opset_import: ["" : 15]>'


def faults(command):
    return [r for r in check(command) if r.outcome == "fault"]


@pytest.fixture(scope="session")
def cpp(tmp_path_factory):
    """The C++ program, built by the command that its README gives."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not installed")
    target = tmp_path_factory.mktemp("cpp") / "opcheck-cpp"
    readme = (EXAMPLES / "cpp" / "README.md").read_text()
    (build,) = re.findall(r"^g\+\+ .*$", readme, re.MULTILINE)
    words = [str(target) if w == "examples/cpp/opcheck-cpp" else w for w in shlex.split(build)]
    subprocess.run([*words, "-Wall", "-Wextra", "-Werror"], cwd=EXAMPLES.parent, check=True)
    return shlex.quote(str(target))


@pytest.fixture
def interpreter(cpp):
    """A backend of the C++ program."""
    backend = Command(cpp)
    yield backend
    backend.close()


def run(backend, text, **feeds):
    return backend.prepare(onnx.parser.parse_model(f"{HEADER} {text}"))(feeds)


def test_the_interpreter_in_cpp_has_no_fault(cpp):
    """Every check is fine; none is unsupported."""
    assert {r.outcome for r in check(cpp)} == {"fine"}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("g (int8[3] x) => (int8[3] y) { y = Mul(x, x) }", np.array([0, 16, 1], np.int8)),
        ("g (int8[3] x) => (int8[3] y) { y = Neg(x) }", np.array([-128, -100, 1], np.int8)),
        ("g (int8[3] x) => (int8[3] y) { y = Relu(x) }", np.array([0, 100, 0], np.int8)),
        (
            "g (int8[3] x) => (int8[3] y) { a = Neg(x) y = Div(x, a) }",
            np.array([1, -1, -1], np.int8),
        ),
        ("g (int8[3] x) => (int64[1] y) { y = Shape(x) }", np.array([3])),
        ("g (int8[3] x) => (int8[6] y) { y = Concat<axis = -1>(x, x) }", None),
    ],
)
def test_the_interpreter_computes(interpreter, text, wanted):
    """Integers wrap around, and division cuts towards zero."""
    x = np.array([-128, 100, -1], np.int8)
    (got,) = run(interpreter, text, x=x)
    wanted = np.concatenate([x, x]) if wanted is None else wanted
    assert got.dtype == wanted.dtype
    assert got.tolist() == wanted.tolist()


def test_the_interpreter_broadcasts_and_transposes(interpreter):
    """Against NumPy."""
    a = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    b = np.array([[1], [10], [100]], np.float32)
    body = "c = Sub(a, b) y = Transpose<perm = [2, 0, 1]>(c)"
    text = f"g (float[2,3,4] a, float[3,1] b) => (float[N,M,K] y) {{ {body} }}"
    (got,) = run(interpreter, text, a=a, b=b)
    np.testing.assert_array_equal(got, (a - b).transpose(2, 0, 1))
    text = "g (float[2,3,4] a, int64[3] s) => (float[N,M,K] y) { y = Reshape(a, s) }"
    (got,) = run(interpreter, text, a=a, s=np.array([0, -1, 2]))
    assert got.shape == (2, 6, 2)
    with pytest.raises(ProgramError, match="do not fit"):
        run(interpreter, text, a=a, s=np.array([5, -1, 2]))


def test_what_the_interpreter_refuses(interpreter):
    """A division by zero and a type that does not fit are errors, an operator is not known."""
    x = np.array([1, 0], np.int64)
    with pytest.raises(ProgramError, match="divided by zero"):
        run(interpreter, "g (int64[2] x) => (int64[2] y) { y = Div(x, x) }", x=x)
    with pytest.raises(ProgramError, match="it does not take bool"):
        run(interpreter, "g (bool[2] x) => (bool[2] y) { y = Add(x, x) }", x=x.astype(bool))
    with pytest.raises(Unsupported, match="the operator Cos"):
        run(interpreter, "g (float[2] x) => (float[2] y) { y = Cos(x) }", x=x.astype(np.float32))


@pytest.mark.skipif(
    not (NODE / "node_modules").is_dir() or shutil.which("node") is None,
    reason="needs Node.js, and: cd examples/node && npm install --ignore-scripts",
)
@pytest.mark.parametrize("runtime", ["node", "web"])
def test_the_program_in_node_has_no_fault(runtime):
    """Both of its runtimes, the native one and the one in WebAssembly."""
    command = shlex.join(["node", str(NODE / "opcheck-node.js"), "--runtime", runtime])
    assert faults(command) == []
