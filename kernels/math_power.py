"""Pow and Mod.

Powers of floats are computed in ``numpy.longdouble`` and rounded once; the special values are C's.
A power of an integer is the exact value, rounded towards zero and wrapped around: the text says
only that the result has the type of the base.
"""

from __future__ import annotations

import decimal
import math

import numpy as np

from .math import limited_broadcast
from .registry import kernel
from .rounding import Array, is_float, narrow, wide

# Pow.


@kernel("Pow", since_version=(7, 12, 13, 15))
def pow_7(x: Array, y: Array, /) -> Array:
    """Raise ``x`` to the power ``y``, of any type; the result has the type of ``x``.

    A power of an integer that has no finite real value, as 0 to the power -1, is 0.
    Source: Pow-15, "f(x) = x^exponent".
    """
    if is_float(x.dtype):
        power = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
        return narrow(power.astype(np.float64), x.dtype)
    if is_float(y.dtype):
        return _real_power(x, y)
    return _integer_power(x, y)


@kernel("Pow", since_version=1)
def pow_1(x: Array, y: Array, /, *, axis: int | None, broadcast: int) -> Array:
    """Do as ``pow_7`` does, with the broadcasting of Add-1. Source: Pow-1."""
    return pow_7(x, limited_broadcast(x, y, axis=axis, broadcast=broadcast))


def _integer_power(x: Array, y: Array) -> Array:
    """Raise integers to integers modulo 2**64, by squaring."""
    base, exponent = np.broadcast_arrays(x.astype(np.int64).astype(np.uint64), y)
    negative = exponent < 0
    left = np.where(negative, 0, exponent).astype(np.uint64)
    result = np.ones_like(base)
    while left.any():
        result = np.where(left & 1, result * base, result)
        base = base * base
        left = left >> np.uint64(1)
    result = result.astype(np.int64).astype(x.dtype)
    # Of the inverses only those of 1 and -1 are not less than 1.
    odd = exponent % 2 != 0
    inverse = np.where((x == 1) | ((x == -1) & ~odd), 1, np.where(x == -1, -1, 0))
    return np.where(negative, inverse, result).astype(x.dtype)


def _real_power(x: Array, y: Array) -> Array:
    """Raise integers to floats, one by one."""
    bits = 8 * x.dtype.itemsize
    function = np.frompyfunc(lambda a, b: _truncated_power(a, b) % 2**bits, 2, 1)
    power = np.asarray(function(x.astype(object), wide(y).astype(object)))
    return power.astype(np.uint64).astype(x.dtype)


def _truncated_power(x: int, y: float) -> int:
    """Return ``x`` to the power ``y`` rounded towards zero; 0 where it has no finite real value.

    A power of a whole number is kept below 2**64 only in its last 64 bits.
    """
    if y == 0 or x == 1:
        return 1
    if x == 0 or math.isnan(y) or (y < 0 and x != -1):
        return 0
    if math.isinf(y):
        return int(x == -1)
    if y == math.floor(y):
        return (x if int(y) % 2 else 1) if x == -1 else pow(x, int(y), 2**64)
    if x < 0 or y * math.log(x) > 64 * math.log(2):
        return 0
    with decimal.localcontext(prec=60):
        power = decimal.Decimal(x) ** decimal.Decimal(y)
        nearest = power.to_integral_value()
        # That an irrational power comes so near to an integer is ruled out.
        exact = abs(power - nearest) < decimal.Decimal("1e-35")
        return int(nearest if exact else power)


# Mod.


@kernel("Mod", since_version=28)
def mod_28(a: Array, b: Array, /, *, fmod: int) -> Array:
    """Return ``a - floor(a / b) * b``, or with ``fmod`` 1 ``a - trunc(a / b) * b``.

    The quotient is exact; the result is rounded once.
    Dividing an integer by zero gives 0; the specification is silent about it.
    Raises: ``ValueError`` where ``fmod`` is neither 0 nor 1.
    Source: Mod-28.
    """
    if fmod not in (0, 1):
        raise ValueError(f"fmod is {fmod}: it must be 0 or 1")
    if a.dtype.kind in "iu":
        return np.fmod(a, b) if fmod else np.remainder(a, b)
    x, y = wide(a), wide(b)
    rest = np.asarray(np.fmod(x, y))
    if not fmod:
        opposite = (rest != 0) & (np.signbit(rest) != np.signbit(y))
        rest = np.where(opposite, rest + y, rest)
        rest = np.where(rest == 0, np.copysign(0.0, y), rest)
    return narrow(rest, a.dtype)


@kernel("Mod", since_version=13)
def mod_13(a: Array, b: Array, /, *, fmod: int) -> Array:
    """Do as ``mod_28`` does, with ``fmod`` 0 for integers only and 1 for floats only.

    Raises: ``ValueError`` where type and ``fmod`` do not fit.
    Source: Mod-13, "`T` is constrained to integer data types".
    """
    kind = "integer" if a.dtype.kind in "iu" else "float"
    if fmod in (0, 1) and (kind == "float") != (fmod == 1):
        raise ValueError(
            f"fmod is {fmod} and the type is {a.dtype}: 0 is for integers, 1 for floats"
        )
    return mod_28(a, b, fmod=fmod)


@kernel("Mod", since_version=10)
def mod_10(a: Array, b: Array, /, *, fmod: int) -> Array:
    """Do as ``mod_28`` does, with ``fmod`` 1 required for floats.

    Raises: ``ValueError`` for floats without it.
    Source: Mod-10, "`fmod` attribute must be set to 1".
    """
    if is_float(a.dtype) and fmod != 1:
        raise ValueError(f"fmod is {fmod} and the type is {a.dtype}: it must be 1 for floats")
    return mod_28(a, b, fmod=fmod)
