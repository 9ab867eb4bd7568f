"""Kernels of Range."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, isfinite
from typing import Any

import numpy as np
import onnx.helper

from .registry import kernel
from .rounding import Array, is_float, narrow, wide

FLOAT64 = np.dtype(np.float64)
#: Elements that are computed at once: 256 KiB of float64.
_BLOCK = 2**15


@kernel("Range", since_version=11)
def range_11(start: Array, limit: Array, delta: Array, /) -> Array:
    """Return ``start + i * delta`` for i below ``max(ceil((limit - start) / delta), 0)``.

    Args: three tensors with a single element, of one type.
    Returns: a 1-D tensor of that type.
    The count is exact; each element is computed wide and rounded once.
    Errors: a delta of zero, a NaN or infinite input.
    The function body of this version adds delta again and again; the pseudo-code of the text,
    followed here, multiplies.
    Source: Range-11.
    """
    first, last, step = (_scalar(x, n) for x, n in _named(start, limit, delta))
    dtype = start.dtype
    if not is_float(dtype):
        return _integers(int(first), int(step), _count(int(first), int(last), int(step)), dtype)
    first, step = float(first), float(step)
    count = _count(first, float(last), step)
    exact = {np.dtype(np.float32): 2**24, FLOAT64: 2**53}.get(dtype, -1)
    if abs(first) + count * abs(step) <= exact and first.is_integer() and step.is_integer():
        # All numbers on the way are exact. A start of -0 stays so only where it does below.
        start_at = first if step < 0 and dtype != FLOAT64 else first + 0.0
        return np.arange(start_at, first + count * step, step, dtype=dtype)
    if dtype == FLOAT64:
        return _in_blocks(count, dtype, lambda i: _fused(i, step, first))

    def rounded(i: Array) -> Array:
        i *= step
        i += first
        return narrow(i, dtype)

    return _in_blocks(count, dtype, rounded)


def _integers(first: int, step: int, count: int, dtype: np.dtype[Any]) -> Array:
    """Return ``first + i * step`` for ``count`` numbers i, modulo 2**64 where it goes that far."""
    limits = np.iinfo(dtype)
    end = first + count * step
    if limits.min <= end <= limits.max and abs(count * step) < 2**53:
        return np.arange(first, end, step, dtype=dtype)
    integers = np.arange(count, dtype=np.int64)
    integers *= np.int64(step)
    integers += np.int64(first)
    return integers.astype(dtype, copy=False)


def _in_blocks(count: int, dtype: np.dtype[Any], function: Callable[[Array], Array]) -> Array:
    """Compute all elements from their numbers, which are float64, as many at once as a cache holds.

    ``function`` may change what it is given.
    """
    if count <= _BLOCK:
        return function(np.arange(count, dtype=np.float64))
    result = np.empty(count, dtype)
    numbers = np.arange(_BLOCK, dtype=np.float64)
    for begin in range(0, count, _BLOCK):
        block = result[begin : begin + _BLOCK]
        block[...] = function(numbers[: len(block)] + begin)
    return result


@kernel("Range", since_version=27)
def range_27(start: Array, limit: Array, delta: Array, /, *, stash_type: int) -> Array:
    """Return the same as version 11; float16 and bfloat16 are computed in ``stash_type``.

    Args: three tensors with a single element, of one type; stash_type, an element type.
    The inputs are cast to it before the elements are counted, each product and each sum is rounded
    to it, and the elements are cast back; for other types it has no effect.
    Errors: as version 11, also where only the cast makes delta zero or an input infinite; a
    stash_type that is no floating-point type.
    Source: Range-27.
    """
    if start.dtype.itemsize != 2 or not is_float(start.dtype):
        return range_11(start, limit, delta)
    stash = _stash_dtype(stash_type)
    cast = (narrow(wide(x), stash) for x in (start, limit, delta))
    first, last, step = (float(_scalar(x, n)) for x, n in _named(*cast))

    def rounded(i: Array) -> Array:
        i *= step
        sums = wide(narrow(i, stash))
        sums += first
        return narrow(wide(narrow(sums, stash)), start.dtype)

    return _in_blocks(_count(first, last, step), start.dtype, rounded)


def _stash_dtype(stash_type: int) -> np.dtype[Any]:
    try:
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(stash_type))
    except KeyError:
        raise ValueError(f"stash_type is {stash_type}, which is no element type") from None
    if not is_float(dtype) or dtype.itemsize < 2:
        raise ValueError(f"stash_type is {dtype}; it must be a float type of 16 bits or more")
    return dtype


def _named(start: Array, limit: Array, delta: Array) -> tuple[tuple[Array, str], ...]:
    return (start, "start"), (limit, "limit"), (delta, "delta")


def _scalar(x: Array, name: str) -> Any:
    if x.size != 1:
        raise ValueError(f"{name} has shape {x.shape}; it must be a scalar")
    value = x.reshape(())[()]
    if is_float(x.dtype) and not isfinite(float(value)):
        raise ValueError(f"{name} is {value}; it must be finite")
    return value


def _count(start: float, limit: float, delta: float) -> int:
    """Return the exact number of elements, for ints and floats of any size."""
    if delta == 0:
        raise ValueError("delta is 0; the number of elements has no value")
    count = max(ceil((Fraction(limit) - Fraction(start)) / Fraction(delta)), 0)
    if count > np.iinfo(np.int64).max:
        raise ValueError(f"the range has {count} elements; a dimension is an int64")
    if count > np.iinfo(np.intp).max // 16:
        raise MemoryError(f"a range of {count} elements")
    return count


def _fused(i: Array, delta: float, start: float) -> Array:
    """Return ``start + i * delta`` in float64 with the error of the product added back."""
    if max(abs(start), abs(delta)) > 2.0**900:  # products, or their splitting, could overflow
        values = _fused(i, delta * 2.0**-200, start * 2.0**-200) * 2.0**200
        values[:1] = start
        return values
    product = i * delta
    total = start + product
    rest = _product_error(i, delta, product)
    back = total - start
    rest += (start - (total - back)) + (product - back)
    return total + rest


def _product_error(x: Array, y: float, product: Array) -> Array:
    """Return ``x * y - product`` exactly, by splitting both factors (Dekker)."""
    split = 134217729.0  # 2**27 + 1
    c = x * split
    xh = c - (c - x)
    xl = x - xh
    d = y * split
    yh = d - (d - y)
    yl = y - yh
    return ((xh * yh - product) + xh * yl + xl * yh) + xl * yl
