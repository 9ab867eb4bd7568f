"""The limits of one run: an endless or a huge model ends, and the process is as before."""

import resource
import sys

import numpy as np
import onnx.parser
import pytest

from opcheck.kernels import Evaluator
from opcheck.kernels.limits import Deadline, limited_memory

MIB = 2**20
LINUX_ONLY = pytest.mark.skipif(sys.platform != "linux", reason="the limit is Linux's")


def evaluator(text):
    return Evaluator(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {text}'))


#: Scan outputs of 8 MiB per iteration, one tensor at once, and a body that doubles its state.
HUGE = {
    "scan output": """
        g (int64 n, int64[1] size) => (float[N, M] y) {
          y = Loop (n, "") <body = b (int64 i, bool c) => (bool d, float[M] e) {
            d = Identity (c)
            e = ConstantOfShape (size)
          }>
        }""",
    "one tensor": """
        g (int64 n, int64[1] size) => (float[M] y) {
          more = Mul (size, n)
          y = ConstantOfShape (more)
        }""",
    "doubling": """
        g (int64 n, int64[1] size) => (float[M] y) {
          x = ConstantOfShape (size)
          y = Loop (n, "", x) <body = b (int64 i, bool c, float[K] s) => (bool d, float[L] e) {
            d = Identity (c)
            e = Concat <axis = 0> (s, s)
          }>
        }""",
}


@LINUX_ONLY
@pytest.mark.parametrize("text", HUGE.values(), ids=HUGE)
def test_a_model_that_takes_too_much_memory_is_stopped_and_the_next_one_runs(text):
    """The limit is lifted again, whatever came of the run."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    made = evaluator(text)
    size = np.array([2 * MIB], np.int64)
    with pytest.raises(MemoryError):
        made.run({"n": np.array(10_000, np.int64), "size": size}, memory_limit=256 * MIB)
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    (y,) = made.run({"n": np.array(1, np.int64), "size": size}, memory_limit=256 * MIB)
    assert y.size >= 2 * MIB


@LINUX_ONLY
def test_an_outer_limit_is_never_raised():
    """A run inside of a run, or of a process that is limited already."""
    with limited_memory(64 * MIB):
        soft, _ = resource.getrlimit(resource.RLIMIT_DATA)
        with limited_memory(1024 * MIB):
            assert resource.getrlimit(resource.RLIMIT_DATA)[0] == soft
        assert resource.getrlimit(resource.RLIMIT_DATA)[0] == soft


def test_no_limit_changes_nothing():
    """``None`` leaves the process alone."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with limited_memory(None):
        assert resource.getrlimit(resource.RLIMIT_DATA) == before


def test_the_time_is_looked_at_between_nodes_too():
    """A model without any body ends as well."""
    nodes = " ".join(f"x{i + 1} = Neg (x{i})" for i in range(2000))
    made = evaluator(f"g (int64 x0) => (int64 x2000) {{ {nodes} }}")
    feeds = {"x0": np.array(1, np.int64)}
    assert made.run(feeds, time_limit=600) == [1]
    with pytest.raises(TimeoutError, match="the time limit of 0 s was reached"):
        made.run(feeds, time_limit=0)


def test_a_deadline_without_seconds_never_comes():
    """``None`` is no limit."""
    Deadline(None).check()
    with pytest.raises(TimeoutError, match=r"limit of 1e-09 s"):
        Deadline(1e-9).check()
