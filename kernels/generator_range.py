"""Kernels of Range."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, isfinite
from typing import Any

import numpy as np
import onnx.helper

from .registry import kernel
from .rounding import Array, is_float, narrow, wide


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
    if not is_float(start.dtype):
        count = _count(int(first), int(last), int(step))
        integers = np.arange(count, dtype=np.int64)
        integers *= np.int64(step)
        integers += np.int64(first)
        return integers.astype(start.dtype, copy=False)
    count = _count(float(first), float(last), float(step))
    if start.dtype == np.float64:
        return _fused(np.arange(count, dtype=np.float64), float(step), float(first))
    values = np.arange(count, dtype=np.float64)
    values *= float(step)
    values += float(first)
    return narrow(values, start.dtype)


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
    values = np.arange(_count(first, last, step), dtype=np.float64)
    values *= step
    values = wide(narrow(values, stash))
    values += first
    return narrow(wide(narrow(values, stash)), start.dtype)


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
