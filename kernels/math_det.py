"""Det: determinants, computed exactly and rounded once."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from .registry import kernel
from .rounding import Array, narrow, wide


@kernel("Det", since_version=(11, 22))
def det(x: Array, /) -> Array:
    """Return the determinants of square matrices.

    With NaN it is NaN; with an infinity it is what an LU decomposition gives.
    The determinant of a matrix without elements is 1.

    Args: x, floats of shape [*, M, M].
    Returns: shape [*].
    Raises: ``ValueError`` for fewer than 2 dimensions, or matrices that are not square.
    Source: Det-22, "the inner-most 2 dimensions form square matrices".
    """
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"X has shape {x.shape}: [*, M, M] was wanted")
    matrices = wide(x).reshape(math.prod(x.shape[:-2]), *x.shape[-2:])
    values = [_determinant(matrix) for matrix in matrices]
    if x.dtype != np.float64:
        values = [_odd(value) for value in values]
    floats = np.array([_nearest(value) for value in values], dtype=np.float64)
    return narrow(floats, x.dtype).reshape(x.shape[:-2])


def _determinant(matrix: Array) -> Fraction | float:
    """Return the exact determinant of a matrix of finite elements."""
    if np.isnan(matrix).any():
        return math.nan
    if not np.isfinite(matrix).all():
        with np.errstate(all="ignore"):
            return float(np.linalg.det(matrix))
    # Scaled by powers of two, all elements are integers.
    _, exponents = np.frexp(matrix)
    least = int(exponents.min(initial=0)) - 53
    rows = [[int(Fraction(v) * 2**-least) for v in row] for row in matrix.tolist()]
    return Fraction(_bareiss(rows)) * Fraction(2) ** (least * len(rows))


def _bareiss(rows: list[list[int]]) -> int:
    """Return the determinant of an integer matrix by elimination without fractions."""
    size, sign, before = len(rows), 1, 1
    for k in range(size):
        pivot = next((i for i in range(k, size) if rows[i][k]), None)
        if pivot is None:
            return 0
        if pivot != k:
            rows[k], rows[pivot] = rows[pivot], rows[k]
            sign = -sign
        top = rows[k]
        for row in rows[k + 1 :]:
            for j in range(k + 1, size):
                row[j] = (row[j] * top[k] - row[k] * top[j]) // before
        before = top[k]
    return sign * before


def _nearest(value: Fraction | float) -> float:
    """Round to float64; too large becomes infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _odd(value: Fraction | float) -> Fraction | float:
    """Round to float64 towards an odd last bit, so that another rounding can follow."""
    nearest = _nearest(value)
    if isinstance(value, float) or math.isinf(nearest) or nearest == value:
        return nearest
    bits: Any = np.float64(nearest).view(np.int64)
    return (
        nearest if bits & 1 else math.nextafter(nearest, math.inf if value > nearest else -math.inf)
    )
