"""Shrink."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from .registry import kernel
from .rounding import Array, narrow, wide


@kernel("Shrink", since_version=9)
def shrink(x: Array, /, *, bias: float, lambd: float) -> Array:
    """Return x + bias where x < -lambd, x - bias where x > lambd, and 0 otherwise.

    So NaN gives 0.
    For integers the text does not say how a real bias acts, and the function body rounds it first.
    Here the exact sum is rounded towards zero, then wrapped around.
    Source: Shrink-9.
    """
    if x.dtype.kind in "iu":
        return _shrink_integers(x, bias, lambd)
    v = wide(x)
    result = np.where(v < -lambd, v + bias, np.where(v > lambd, v - bias, 0.0))
    return narrow(result, x.dtype)


def _shrink_integers(x: Array, bias: float, lambd: float) -> Array:
    """Compute one by one in fractions; raises ``ValueError`` for a bias that is not finite."""
    if not np.isfinite(bias):
        raise ValueError(f"bias is {bias}: for integers it must be finite")
    added, mask = Fraction(bias), (1 << 8 * x.dtype.itemsize) - 1

    def one(value: int) -> int:
        if value < -lambd:
            return math.trunc(value + added) & mask
        return math.trunc(value - added) & mask if value > lambd else 0

    values = [one(value) for value in x.ravel().tolist()]
    return np.array(values, np.uint64).astype(x.dtype).reshape(x.shape)
