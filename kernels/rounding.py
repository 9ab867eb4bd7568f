"""Compute wide, round once: from float64 to any element type without a second rounding.

``ml_dtypes`` converts float64 to its small types by way of float32, which rounds twice.
Here the step to float32 rounds to odd, so that the last step alone decides.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

#: The float types of ONNX that NumPy itself does not have.
SMALL_FLOATS = frozenset(
    np.dtype(t)
    for t in (
        ml_dtypes.bfloat16,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e4m3fnuz,
        ml_dtypes.float8_e5m2,
        ml_dtypes.float8_e5m2fnuz,
        ml_dtypes.float8_e8m0fnu,
        ml_dtypes.float6_e2m3fn,
        ml_dtypes.float6_e3m2fn,
        ml_dtypes.float4_e2m1fn,
    )
)


def is_float(dtype: np.dtype[Any]) -> bool:
    """Tell whether a dtype is a real floating-point type of ONNX."""
    return dtype.kind == "f" or dtype in SMALL_FLOATS


def wide(x: Array) -> Array:
    """Return ``x`` in the type its results are computed in: float64, or complex128."""
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def narrow(x: Any, dtype: np.dtype[Any]) -> Array:
    """Round float64 (or complex128) values once, to nearest and ties to even, to ``dtype``.

    Args: x, an array or scalar; dtype, any float or complex type.
    Returns: an array of the same shape.
    To float8e8m0 ties go up, and between its two smallest values everything does.
    """
    x = np.asarray(x)
    if dtype in SMALL_FLOATS and x.dtype == np.float64:
        x = _to_float32_odd(x)
    result: Array = x.astype(dtype)
    return result


def _to_float32_odd(x: Array) -> Array:
    """Round float64 to float32 towards an odd last bit where it is inexact."""
    with np.errstate(all="ignore"):
        nearest = x.astype(np.float32)
        back = nearest.astype(np.float64)
        even = (nearest.view(np.uint32) & 1) == 0
        move = even & (back != x) & np.isfinite(x) & np.isfinite(nearest)
        towards = np.where(x > back, np.float32(np.inf), np.float32(-np.inf))
        return np.where(move, np.nextafter(nearest, towards), nearest)
