"""From the literals of a case file to arrays, exactly.

Integers never pass through a float.
A float literal is rounded once, from its decimal or hexadecimal digits, to the element type.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from fractions import Fraction
from functools import cache
from math import copysign, inf, isfinite, isinf, isnan, nan, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dtypes import ElementType
from .errors import shorten

Array = NDArray[Any]

#: Longer literals are refused: no element type needs so many digits.
MAX_DIGITS = 1100
#: Larger exponents are zero or infinite in every element type.
MAX_EXPONENT = 5000

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE]([+-]?\d+))?", re.ASCII)
_HEX = re.compile(r"([+-]?)0[xX]([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?\d+)", re.ASCII)
_SPECIAL = re.compile(r"([+-]?)\.?(inf|nan)", re.IGNORECASE)
_COMPLEX = re.compile(r"(?P<re>.*[^eEpP+-])(?P<im>[+-].*)[ij]|(?P<only>.*)[ij]")
_SMALL_BITS = 16


class Real(float):
    """A float as a case file spells it: its value as a double, and its text."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Real:
        """Read the text of a decimal or special literal."""
        special = _SPECIAL.fullmatch(text)
        self = super().__new__(cls, special[1] + special[2] if special else text)
        self.text = text
        return self

    def __repr__(self) -> str:
        return self.text


class BadLiteral(ValueError):
    """A literal that its element type cannot hold: ``seen`` and ``wanted`` say which."""

    def __init__(self, seen: str, wanted: str) -> None:
        super().__init__(f"seen {seen}, wanted {wanted}")
        self.seen = seen
        self.wanted = wanted


def to_array(leaves: list[Any], element: ElementType) -> Array:
    """Return the leaves of a literal as a 1-D array of an element type.

    Args: leaves, of type int, ``Real``, bool or str.
    Raises ``BadLiteral`` for the first that does not fit.
    """
    if element.name == "string":
        return _objects([_string(leaf) for leaf in leaves])
    if element.name == "bool":
        return np.array([_boolean(leaf) for leaf in leaves], np.bool_)
    if element.is_integer:
        return _integers(leaves, element)
    if element.is_complex:
        part = np.dtype(f"float{element.dtype.itemsize * 4}")
        pairs = [_complex_parts(leaf) for leaf in leaves]
        result = np.empty(len(leaves), element.dtype)
        result.real = _round([re for re, _ in pairs], leaves, part)
        result.imag = _round([im for _, im in pairs], leaves, part)
        return result
    return _floats(leaves, element)


def from_bits(leaves: list[Any], element: ElementType) -> Array:
    """Return a 1-D array of an integer or float type from bit patterns."""
    if element.name in ("string", "bool") or element.is_complex:
        raise BadLiteral(f"bits for {element.name}", "bits for an integer or float type only")
    size = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[element.dtype.itemsize]
    for leaf in leaves:
        if isinstance(leaf, bool) or not isinstance(leaf, int) or not 0 <= leaf < 2**element.bits:
            raise BadLiteral(shorten(leaf), f"an integer in [0, 2**{element.bits})")
    bits = np.array(leaves, size)
    if element.is_integer and element.bits < 8:
        # A small signed integer is kept sign-extended in its byte.
        sign = np.uint8(1 << (element.bits - 1))
        values = (bits ^ sign).astype(np.int8) - np.int8(sign) if element.name[0] == "i" else bits
        return values.astype(element.dtype)
    return bits.view(element.dtype)


def _objects(values: list[str]) -> Array:
    result = np.empty(len(values), object)
    result[:] = values
    return result


def _string(leaf: Any) -> str:
    if not isinstance(leaf, str):
        raise BadLiteral(shorten(leaf), "a string (quote it)")
    return leaf


def _boolean(leaf: Any) -> bool:
    if isinstance(leaf, bool) or (isinstance(leaf, int) and leaf in (0, 1)):
        return bool(leaf)
    raise BadLiteral(shorten(leaf), "true or false")


def _integers(leaves: list[Any], element: ElementType) -> Array:
    signed = element.name[0] == "i"
    low = -(2 ** (element.bits - 1)) if signed else 0
    high = 2 ** (element.bits - 1) - 1 if signed else 2**element.bits - 1
    for leaf in leaves:
        if isinstance(leaf, bool) or not isinstance(leaf, int) or not low <= leaf <= high:
            raise BadLiteral(shorten(leaf), f"an integer in [{low}, {high}] for {element.name}")
    wide = np.array(leaves, np.int64 if signed else np.uint64)
    return wide.astype(element.dtype)


def _complex_parts(leaf: Any) -> tuple[float | Fraction, float | Fraction]:
    """Return the exact real and imaginary part of a complex literal."""
    wanted = 'a complex number such as "1.5-2j"'
    if isinstance(leaf, bool) or not isinstance(leaf, int | float | str):
        raise BadLiteral(shorten(leaf), wanted)
    if not isinstance(leaf, str):
        return _exact(leaf), 0.0
    found = _COMPLEX.fullmatch(leaf.replace(" ", ""))
    if found is None:
        raise BadLiteral(shorten(leaf), wanted)
    real, imaginary = (0.0, found["only"]) if found["re"] is None else (found["re"], found["im"])
    try:
        return (_exact(real) if isinstance(real, str) else real), _exact(imaginary)
    except BadLiteral as error:
        wanted = wanted if error.wanted == "a number" else error.wanted
        raise BadLiteral(shorten(leaf), wanted) from None


def _floats(leaves: list[Any], element: ElementType) -> Array:
    values = [_exact(leaf) for leaf in leaves]
    if element.dtype.itemsize * 8 > _SMALL_BITS:
        return _round(values, leaves, element.dtype)
    numbers = []
    for value, leaf in zip(values, leaves, strict=True):
        try:
            numbers.append(_nearest_small(value, element))
        except BadLiteral as error:
            raise BadLiteral(shorten(leaf), error.wanted) from None
    return np.array(numbers, element.dtype)


def _exact(leaf: Any) -> float | Fraction:
    """Return the exact value of a literal: a double where that is exact, else a fraction."""
    if isinstance(leaf, bool) or not isinstance(leaf, int | float | str):
        raise BadLiteral(shorten(leaf), "a number")
    if isinstance(leaf, int):
        return leaf if abs(leaf) > 2**53 else float(leaf)
    text = leaf.text if isinstance(leaf, Real) else str(leaf)
    if len(text) > MAX_DIGITS:
        raise BadLiteral(shorten(leaf), f"a number of at most {MAX_DIGITS} characters")
    special = _SPECIAL.fullmatch(text)
    if special:
        return copysign(inf if special[2].lower() == "inf" else nan, -1 if special[1] == "-" else 1)
    found = _DECIMAL.fullmatch(text)
    if found:
        if abs(int(found[3] or 0)) > MAX_EXPONENT:
            raise BadLiteral(shorten(leaf), f"an exponent of at most {MAX_EXPONENT}")
        value = float(text)
        exact = Fraction(text)
    else:
        exact = _hexadecimal(text, leaf)
        value = _nearest_double(exact)
    if isfinite(value) and Fraction(value) == exact:
        return -0.0 if value == 0 and text.lstrip().startswith("-") else value
    return exact


def _hexadecimal(text: str, leaf: Any) -> Fraction:
    found = _HEX.fullmatch(text)
    if not found or not found[2] + found[3]:
        raise BadLiteral(shorten(leaf), "a number")
    if abs(int(found[4])) > MAX_EXPONENT:
        raise BadLiteral(shorten(leaf), f"an exponent of at most {MAX_EXPONENT}")
    digits = int(found[2] + found[3], 16)
    exponent = int(found[4]) - 4 * len(found[3])
    magnitude = Fraction(digits) * Fraction(2) ** exponent
    return -magnitude if found[1] == "-" else magnitude


def _round(values: list[float | Fraction], leaves: list[Any], dtype: np.dtype[Any]) -> Array:
    """Round exact values, those of ``leaves``, once to float32 or float64."""
    once = _nearest_double if dtype == np.float64 else _round_to_odd
    doubles = [v if isinstance(v, float) else once(v) for v in values]
    with np.errstate(over="ignore"):
        result = np.array(doubles, np.float64).astype(dtype)
    for value, leaf, rounded in zip(values, leaves, result.tolist(), strict=True):
        if isinf(rounded) and not (isinstance(value, float) and isinf(value)):
            seen = f"{shorten(leaf)}, which rounds to infinity"
            raise BadLiteral(seen, f"a finite {dtype} number, or .inf")
    return result


def _nearest_double(exact: Fraction | int) -> float:
    try:
        return float(exact)
    except OverflowError:
        return inf if exact > 0 else -inf


def _round_to_odd(exact: Fraction | int) -> float:
    """Return the double next to ``exact`` whose last bit is odd, so that rounding again is safe."""
    nearest = _nearest_double(exact)
    if not isfinite(nearest) or Fraction(nearest) == exact:
        return nearest
    mantissa = np.float64(nearest).view(np.uint64)
    if int(mantissa) & 1:
        return nearest
    return nextafter(nearest, inf if exact > Fraction(nearest) else -inf)


@cache
def _small_values(element: ElementType) -> tuple[list[Fraction], list[Any], dict[str, Any]]:
    """Return the finite values of a small type in order, the numbers, and its special ones."""
    size = np.uint8 if element.dtype.itemsize == 1 else np.uint16
    patterns = np.arange(2**element.bits, dtype=size).view(element.dtype)
    finite: dict[Fraction, Any] = {}
    special: dict[str, Any] = {}
    with np.errstate(invalid="ignore"):
        wide = patterns.astype(np.float64)
    for number, value in zip(patterns, wide.tolist(), strict=True):
        if isnan(value):
            special["nan"] = np.float64(nan).astype(element.dtype)  # a quiet one
        elif isinf(value):
            special["inf" if value > 0 else "-inf"] = number
        elif value == 0 and copysign(1, value) < 0:
            special["-0"] = number
        else:
            finite[Fraction(value)] = number
    keys = sorted(finite)
    return keys, [finite[k] for k in keys], special


def _nearest_small(value: float | Fraction, element: ElementType) -> Any:
    """Round one exact value to a type of 16 bits or fewer, ties to the even bit pattern.

    Raises ``BadLiteral`` that says what is wanted; the caller knows what was seen.
    """
    keys, numbers, special = _small_values(element)
    if isinstance(value, float) and not isfinite(value):
        name = "nan" if isnan(value) else "inf" if value > 0 else "-inf"
        if name not in special:
            raise BadLiteral("", f"a number that {element.name} has; it has no {name}")
        return special[name]
    exact = Fraction(value)
    if exact == 0 and isinstance(value, float) and copysign(1, value) < 0 and "-0" in special:
        return special["-0"]
    i = bisect_left(keys, exact)
    if i < len(keys) and keys[i] == exact:
        return numbers[i]
    if i in (0, len(keys)):
        return _at_the_edge(exact, i, element)
    below, above = exact - keys[i - 1], keys[i] - exact
    if below == above:
        bits = np.asarray(numbers[i]).view(f"u{element.dtype.itemsize}")
        chosen = i if int(bits) % 2 == 0 else i - 1
    else:
        chosen = i - 1 if below < above else i
    if keys[chosen] == 0 and exact < 0:
        return special.get("-0", numbers[chosen])
    return numbers[chosen]


def _at_the_edge(exact: Fraction, i: int, element: ElementType) -> Any:
    """Round a value past the smallest (``i`` is 0) or largest number of a small type."""
    keys, numbers, _ = _small_values(element)
    if element.name == "float8e8m0" and exact <= 0:
        raise BadLiteral("", "a number above 0 for float8e8m0")
    edge, inner = (keys[0], keys[1]) if i == 0 else (keys[-1], keys[-2])
    if abs(exact - edge) >= abs(edge - inner) / 2:
        wanted = f"a number in [{float(keys[0])}, {float(keys[-1])}] for {element.name}"
        raise BadLiteral("", wanted)
    return numbers[0 if i == 0 else -1]
