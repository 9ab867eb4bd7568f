"""Compares two equal tensors: ``python -m benchmarks.peers.compare_tensors WHO ELEMENTS``.

WHO is ``opcheck`` or ``numpy``.
The tensors are float32, and not the same memory.
The bytes printed as ``above`` are how far the peak of this process is above what it had when the
two tensors were there.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .run_model import timed

Array = NDArray[np.float32]

#: What ``ru_maxrss`` counts in.
RSS_UNIT = 1 if sys.platform == "darwin" else 1024


def opcheck(expected: Array, got: Array) -> Callable[[], bool]:
    """Return the comparison of a run, with the tolerance of an Add."""
    from onnx import TensorProto, helper

    from opcheck.harness.case import Expected, Tolerance
    from opcheck.harness.compare import compare

    proto = helper.make_tensor_type_proto(TensorProto.FLOAT, expected.shape)
    due = Expected("tensor", proto, expected.dtype, expected.shape, expected)
    return lambda: not compare("y", due, got, Tolerance(ulp=1))


def with_numpy(expected: Array, got: Array) -> Callable[[], bool]:
    """Return NumPy's own comparison."""
    return lambda: bool(np.array_equal(expected, got))


WHO = {"opcheck": opcheck, "numpy": with_numpy}


def peak() -> int:
    """Return the peak memory of this process, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * RSS_UNIT


def main(who: str, elements: int) -> None:
    """Compare; print the seconds and the memory."""
    few = np.ones(1000, np.float32)
    assert WHO[who](few, few.copy())()
    expected = np.random.default_rng(0).random(elements, np.float32)
    got = expected.copy()
    same = WHO[who](expected, got)
    before = peak()
    answers: set[bool] = set()
    seconds = timed(lambda: answers.add(same()))
    assert answers == {True}
    print(json.dumps({"seconds": seconds, "above": peak() - before}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
