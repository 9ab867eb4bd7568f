"""Units in the last place: how many representable numbers lie between two floats.

Works for every float type of ONNX, from float4 to float64.
The bits of a float, read as sign and magnitude, count the representable numbers in order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dtypes import element_type_of

#: The distance between a NaN and anything else.
FAR = np.uint64(2**64 - 1)

_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def ulp_distance(a: NDArray[Any], b: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the number of steps from each element of ``a`` to that of ``b``.

    Args: a, b, arrays of one real float dtype and shape.
    Returns: uint64 of that shape; 0 for equal numbers (``-0`` and ``+0`` among them) and for two
    NaNs, ``FAR`` for a NaN and a number. An infinity is one step past the largest finite number.
    """
    left, right = _ordered(a), _ordered(b)
    with np.errstate(over="ignore"):
        steps = np.where(left > right, left - right, right - left)
    nan_a, nan_b = is_nan(a), is_nan(b)
    steps[nan_a & nan_b] = 0
    steps[nan_a ^ nan_b] = FAR
    return steps


def is_nan(x: NDArray[Any]) -> NDArray[np.bool_]:
    """Tell which elements are NaN, for any dtype."""
    if x.dtype.kind in "biuO":
        return np.zeros(x.shape, np.bool_)
    with np.errstate(invalid="ignore"):  # a signalling NaN is fine
        return np.asarray(x != x)


def _ordered(x: NDArray[Any]) -> NDArray[np.uint64]:
    """Map floats to uint64 so that neighbours differ by one and the order is kept."""
    element = element_type_of(x.dtype)
    assert element is not None
    bits = np.ascontiguousarray(x).reshape(x.shape).view(_UNSIGNED[x.dtype.itemsize])
    wide = bits.astype(np.uint64)
    if element.name == "float8e8m0":  # no sign, no zero
        return wide
    half = np.uint64(1) << np.uint64(element.bits - 1)
    magnitude = wide & (half - np.uint64(1))
    return np.where(wide & half, half - magnitude, half + magnitude)
