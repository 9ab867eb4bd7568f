"""The float types in exact numbers: distances of neighbours, and rounding once."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

#: Precision in bits, least and greatest exponent.
FORMATS = {
    "float16": (11, -14, 15),
    "bfloat16": (8, -126, 127),
    "float32": (24, -126, 127),
    "float64": (53, -1022, 1023),
}
#: Exponent bits, mantissa bits and bias of the floats of a byte or less, from their papers.
SMALL_FORMATS = {
    "float8e4m3fn": (4, 3, 7),
    "float8e4m3fnuz": (4, 3, 8),
    "float8e5m2": (5, 2, 15),
    "float8e5m2fnuz": (5, 2, 16),
    "float8e8m0": (8, 0, 127),
    "float6e2m3": (2, 3, 1),
    "float6e3m2": (3, 2, 3),
    "float4e2m1": (2, 1, 1),
}


def quantum(x: Fraction, name: str) -> Fraction:
    """Return the distance of the floats around a fraction."""
    precision, least, _ = FORMATS[name]
    exponent = least
    if x:
        top, bottom = abs(x).as_integer_ratio()
        exponent = top.bit_length() - bottom.bit_length()
        exponent -= abs(x) < Fraction(2) ** exponent
    return Fraction(2) ** (max(exponent, least) - precision + 1)


def rounded(x: Fraction, name: str) -> float:
    """Round a fraction to the nearest value of a float type, ties to even."""
    y = round(x / quantum(x, name)) * quantum(x, name)
    if abs(y) >= Fraction(2) ** (FORMATS[name][2] + 1):
        return math.inf if y > 0 else -math.inf
    return float(y)


def fraction(x: Any) -> Fraction:
    """Return a finite number of mpmath as it is."""
    return Fraction(*map(int, x.as_integer_ratio())) if x else Fraction(0)
