"""The Lp norm, for LpPool, GlobalLpPool and LpNormalization."""

from __future__ import annotations

import numpy as np

from .math import FLOAT64
from .rounding import Array, narrow, wide


def widest(x: Array) -> Array:
    """Return floats in float64, and float64 itself in ``numpy.longdouble``."""
    return x.astype(np.longdouble) if x.dtype == FLOAT64 else wide(x)


def rounded(x: Array, dtype: np.dtype[np.generic]) -> Array:
    """Round what ``widest`` made, and was computed further, to ``dtype``."""
    return x.astype(np.float64) if dtype == FLOAT64 else narrow(x, dtype)


def lp_norm(rows: Array, p: float) -> Array:
    """Return the p-th root of the sum over axis 0 of the absolute values to the power of p.

    Without any rows it is 0; for an infinite p it is the largest absolute value.

    Args: rows, as ``widest`` gives them.
    Raises: ``ValueError`` where p is not greater than 0.
    """
    if not p > 0:
        raise ValueError(f"p is {p}: it must be greater than 0")
    x = np.absolute(rows)
    largest = x.max(axis=0, initial=0.0)
    if np.isinf(p):
        return np.asarray(largest)
    if p == 1:
        return np.asarray(x.sum(axis=0))
    # Powers overflow and underflow: the largest value becomes 1.
    unit = np.where((largest > 0) & np.isfinite(largest), largest, 1)
    total = np.power(x / unit, x.dtype.type(p)).sum(axis=0)
    root = np.sqrt(total) if p == 2 else np.power(total, 1 / x.dtype.type(p))
    return np.asarray(root * unit)
