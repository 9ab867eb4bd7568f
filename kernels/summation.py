"""Sums and products of float64 values, better than float64 alone holds them, and rounded once."""

from __future__ import annotations

from typing import Any

import numpy as np

from .math import FLOAT64
from .rounding import Array, narrow


def _halves(rows: Array) -> tuple[Array, Array, Array]:
    """Split rows into two parts of the same length, and the odd row that may be left over."""
    half = len(rows) // 2
    return rows[:half], rows[half : 2 * half], rows[2 * half :]


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Add float64 values; return the sum and, exactly, what rounding took from it."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def exact_sum(rows: Array) -> tuple[Array, Array]:
    """Sum float64 rows; return the sum and what rounding took from it, to be added to it.

    Both together are as exact as a sum in twice the precision.
    Source of the method: Ogita, Rump, Oishi, "Accurate sum and dot product", 2005.
    """
    error = np.zeros(rows.shape[1:])
    if len(rows) == 0:
        return error, error
    while len(rows) > 1:
        a, b, left = _halves(rows)
        s, lost = two_sum(a, b)
        error += lost.sum(axis=0)
        rows = np.concatenate((s, left)) if len(left) else s
    if not error.any():
        return np.asarray(rows[0]), error
    high, low = two_sum(rows[0], error)
    # An infinite sum makes NaN of its error.
    exact = np.isfinite(high)
    return np.where(exact, high, rows[0]), np.where(exact, low, 0.0)


def round_sum(high: Array, low: Array, dtype: np.dtype[Any]) -> Array:
    """Round a sum as ``exact_sum`` gives it to a float type, once."""
    if dtype == FLOAT64:
        return high
    if not low.any():
        return narrow(high, dtype)
    # Round to odd: the last bit tells the next rounding that there was more.
    even = (high.view(np.int64) & 1) == 0
    odd = np.nextafter(high, np.copysign(np.inf, low))
    return narrow(np.where(even & (low != 0), odd, high), dtype)


def exact_product(rows: Array) -> Array:
    """Multiply float64 rows with their exponents apart, so that no partial product overflows.

    The fractions are ``numpy.longdouble``, so that float64 products are rounded about once.
    """
    rows = rows.astype(np.longdouble)
    if len(rows) == 0:
        return np.ones(rows.shape[1:])
    rows, exponents = np.frexp(rows)
    exponent = exponents.sum(axis=0, dtype=np.int64)
    while len(rows) > 1:
        a, b, left = _halves(rows)
        product, exponents = np.frexp(a * b)
        exponent = exponent + exponents.sum(axis=0, dtype=np.int64)
        rows = np.concatenate((product, left)) if len(left) else product
    scaled = np.ldexp(rows[0], np.clip(exponent, -9999, 9999).astype(np.int32))
    return np.asarray(scaled.astype(np.float64))
