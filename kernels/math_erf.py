"""The error function and the normal distribution, in float64 or ``numpy.longdouble``.

With ``t = 2 z**2`` and ``p = 2 z exp(-z**2) / sqrt(pi)``, for z of 0 or more:
``erf(z)`` is p times a series of positive terms, and ``erfc(z)`` is p times a continued fraction.
The series serves up to z = 2 and the fraction above; neither cancels.
Source: Abramowitz and Stegun, 7.1.6 and 7.1.14.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .rounding import Array

#: From this ``t`` on the continued fraction is used.
_SPLIT = 8.0

#: Terms of the series and of the fraction, enough for 64 bits on their sides of the split.
_SERIES, _FRACTION = 48, 60

#: Above it ``exp(-z**2)`` counts for nothing in any type of ONNX.
_LARGEST = 100.0

_TWO_OVER_ROOT_PI = "1.12837916709551257389615890312154517"
_ROOT_TWO_OVER_PI = "0.79788456080286535587989211986876373"


def erf(x: Array) -> Array:
    """Return the error function; of NaN it is NaN. The result has the type of ``x``."""
    z = np.minimum(np.absolute(x), _LARGEST)
    p = z * x.dtype.type(_TWO_OVER_ROOT_PI) * _exp_of_square(z, 1.0)
    inner, _ = _erf_and_erfc(p, 2 * z * z)
    return np.asarray(np.copysign(inner, x))


def normal_distribution(x: Array) -> Array:
    """Return ``(1 + erf(x / sqrt(2))) / 2``, to full precision in both tails."""
    z = np.minimum(np.absolute(x), _LARGEST)
    p = z * x.dtype.type(_ROOT_TWO_OVER_PI) * _exp_of_square(z, 0.5)
    inner, outer = _erf_and_erfc(p, z * z)
    below = np.where(x < -_LARGEST, 0.0, outer)
    return np.asarray(np.where(x < 0, below, 1 + inner) / 2)


def _exp_of_square(z: Array, factor: float) -> Array:
    """Return ``exp(-factor * z**2)``; the square is split so that most of it is exact."""
    high = z.astype(np.float32).astype(z.dtype)
    rest = (z - high) * (z + high)
    return np.asarray(np.exp(-factor * (high * high)) * np.exp(-factor * rest))


def _erf_and_erfc(p: Array, t: Array) -> tuple[Array, Array]:
    """Return erf and erfc from ``p`` and ``t`` as above."""
    inner = p * _series(np.minimum(t, _SPLIT))
    outer = p * _fraction(np.maximum(t, _SPLIT))
    small = t < _SPLIT
    return np.where(small, inner, 1 - outer), np.where(small, 1 - inner, outer)


def _series(t: Array) -> Array:
    """Return the sum of ``t**n / (1 * 3 * 5 * ... * (2 n + 1))``."""
    total: Any = np.ones_like(t)
    for n in range(_SERIES, 0, -1):
        total = 1 + total * t / (2 * n + 1)
    return np.asarray(total)


def _fraction(t: Array) -> Array:
    """Return ``1 / (t + 1 - 1 * 2 / (t + 5 - 3 * 4 / (t + 9 - ...)))``."""
    below: Any = np.zeros_like(t)
    for n in range(_FRACTION, 0, -1):
        below = (2 * n - 1) * (2 * n) / (t + 4 * n + 1 - below)
    return np.asarray(1 / (t + 1 - below))
