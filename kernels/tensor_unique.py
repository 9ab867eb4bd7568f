"""Unique: the distinct elements or slices of a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import kernel
from .rounding import Array, is_float, wide
from .tensor import axis_of

Key = tuple[Any, ...]


def _float_key(value: float) -> Key:
    """Order numbers as they are, and NaN, which equals NaN, behind them."""
    return (1, 0.0) if value != value else (0, value)


def _keys(x: Array) -> list[Key]:
    """Return a key for each element, by which equal ones are found and all are sorted."""
    flat = x.reshape(-1)
    if x.dtype.kind == "c":
        return [_float_key(v.real) + _float_key(v.imag) for v in flat.tolist()]
    if is_float(x.dtype):
        return [_float_key(v) for v in wide(flat).tolist()]
    return [(v,) for v in flat.tolist()]


@kernel("Unique", since_version=(11, 28))
def unique(
    x: Array,
    /,
    *,
    axis: int | None,
    sorted: int,  # noqa: A002 - the attribute's name
) -> tuple[Array, Array, Array, Array]:
    """Find the distinct slices along ``axis``, or else the distinct elements.

    Returns: the distinct ones, the index of the first occurrence of each, the place of each slice
    of ``x`` among the distinct ones, and the count of each; the last three are int64, 1-D.
    Slices are sorted by their elements in row-major order, or stand in order of first occurrence.
    The text is silent about NaN: here all of them are one value, the greatest, as in NumPy.
    +0 and -0 are one value, and so shown as they first occur.
    Complex numbers are sorted by the real part first, strings by their code points.
    Source: Unique-11.
    """
    if sorted not in (0, 1):
        raise ValueError(f"sorted is {sorted}; 0 or 1 was wanted")
    rows = x.reshape(-1, 1) if axis is None else np.moveaxis(x, axis_of(axis, x.ndim), 0)
    keys = _keys(rows)
    width = len(keys) // len(rows) if len(rows) else 0
    row_keys = [tuple(keys[i * width : (i + 1) * width]) for i in range(len(rows))]
    first: dict[Key, int] = {}
    for i, key in enumerate(row_keys):
        first.setdefault(key, i)
    order = list(first)
    if sorted:
        order.sort()
    place = {key: i for i, key in enumerate(order)}
    indices = np.array([first[key] for key in order], np.int64)
    inverse = np.array([place[key] for key in row_keys], np.int64)
    counts = np.bincount(inverse, minlength=len(order)).astype(np.int64)
    if axis is None:
        return x.reshape(-1)[indices], indices, inverse, counts
    return np.take(x, indices, axis), indices, inverse, counts
