"""What Resize, Upsample and GridSample share: weighted averages of elements along axes.

A weight of 0 leaves its element out, so that an infinity or NaN next to the place has no say.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .rounding import Array, is_float, narrow

#: Types with more bits than float64 has; their averages are taken in ``numpy.longdouble``.
_LONG = frozenset(np.dtype(t) for t in (np.float64, np.int64, np.uint64, np.complex128))


def average_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type that averages of elements are computed in.

    Raises ``ValueError`` for strings and booleans, which have no averages.
    """
    if dtype.kind == "O" or dtype == np.bool_:
        kind = "strings" if dtype.kind == "O" else "booleans"
        raise ValueError(f"{kind} have no weighted average; the mode nearest was wanted")
    if dtype.kind == "c":
        return np.dtype(np.clongdouble if dtype in _LONG else np.complex128)
    return np.dtype(np.longdouble if dtype in _LONG else np.float64)


def weigh(total: Array | None, taken: Array, weight: Array) -> Array:
    """Add elements times weights, of a shape that broadcasts; weights of 0 add nothing."""
    with np.errstate(invalid="ignore"):
        term = np.where(weight == 0, np.zeros((), taken.dtype), taken * weight)
    return term if total is None else total + term


def round_average(x: Array, dtype: np.dtype[Any], *, truncate: bool) -> Array:
    """Round averages once to a type: integers towards zero or to nearest, ties to even.

    Integers that are out of range become the nearest one that is not.
    """
    if dtype.kind == "c" or is_float(dtype):
        return narrow(x, dtype)
    whole = np.trunc(x) if truncate else np.rint(x)
    limits = np.iinfo(dtype)
    low, high = whole <= int(limits.min), whole >= int(limits.max)
    inside = np.where(low | high, 0, whole).astype(dtype)
    result: Array = np.where(high, limits.max, np.where(low, limits.min, inside)).astype(dtype)
    return result


def cubic(distance: Any, a: Any) -> Any:
    """Return the weight that cubic convolution gives an element at a distance >= 0.

    Source: Keys, "Cubic convolution interpolation for digital image processing", 1981, (4).
    """
    d = distance
    if d <= 1:
        return ((a + 2) * d - (a + 3)) * d * d + 1
    if d < 2:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return 0 * d
