"""What the tests of the tensor kernels share: calls without warnings, and tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import kernel_calls
from kernel_calls import as_key


def call(operator: str, version: int, *inputs: Any, **attributes: Any) -> Any:
    """Call a kernel as the evaluator does; no input may change."""
    with np.errstate(all="ignore"):
        return kernel_calls.call(operator, version, *inputs, **attributes)


def assert_same(seen: Any, wanted: Any) -> None:
    """Hold two tensors against each other: dtype, shape, and every bit."""
    assert isinstance(seen, np.ndarray)
    assert as_key(seen) == as_key(wanted)
    assert seen.dtype.kind != "O" or all(isinstance(item, str) for item in seen.flat)


def assert_all_same(seen: Any, wanted: Any) -> None:
    """Hold the outputs of a kernel with several against those that are right."""
    assert isinstance(seen, tuple)
    assert len(seen) == len(wanted)
    for pair in zip(seen, wanted, strict=True):
        assert_same(*pair)


def filled(shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    """Return a tensor whose elements differ as far as the dtype can hold different ones."""
    dtype = np.dtype(dtype)
    count = math.prod(shape)
    if dtype.kind == "O":
        strings = np.empty(count, object)
        strings[:] = [f"é{i}" * (i % 3) for i in range(count)]
        return strings.reshape(shape)
    if dtype.kind == "c":
        return (np.arange(count) - 1j * np.arange(3, count + 3)).astype(dtype).reshape(shape)
    limit = {"uint2": 4, "int2": 2, "int4": 8, "bool": 2}.get(dtype.name, 16)
    return ((np.arange(count) * 7 + 1) % limit).astype(np.float32).astype(dtype).reshape(shape)


def by_element(shape: tuple[int, ...], dtype: Any, source: Callable[[tuple[int, ...]], Any]) -> Any:
    """Build a tensor from a function that gives the element at each index."""
    result = np.empty(shape, dtype)
    for index in np.ndindex(*shape):
        result[index] = source(index)
    return result


def ints(*values: Any, dtype: Any = np.int64) -> Any:
    """Return a tensor of integers; a single list keeps its nesting."""
    return np.array(values[0] if len(values) == 1 else values, dtype)
