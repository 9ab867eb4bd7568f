"""From the literals of a case file to arrays, exactly.

Integers never pass through a float.
A float literal is rounded once, from its decimal or hexadecimal digits, to the element type.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import copysign, inf, nan, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dtypes import ELEMENT_TYPES, ElementType
from .errors import shorten

Array = NDArray[Any]

#: Longer literals are refused: no element type needs so many digits.
MAX_DIGITS = 1100
#: Larger exponents are zero or infinite in every element type.
MAX_EXPONENT = 5000

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE](?P<exponent>[+-]?\d+))?", re.ASCII)
_HEX = re.compile(
    r"[+-]?0[xX](?P<whole>[0-9a-fA-F]*)\.?(?P<part>[0-9a-fA-F]*)[pP](?P<exponent>[+-]?\d+)",
    re.ASCII,
)
_SPECIAL = re.compile(r"([+-]?)\.?(inf|nan)", re.IGNORECASE)
_COMPLEX = re.compile(r"(?P<re>.*[^eEpP+-])(?P<im>[+-].*)[ij]|(?P<only>.*)[ij]")
_SMALL_BITS = 16


class Real(float):
    """A float as a case file spells it: its value as a double, and its text."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Real:
        """Read the text of a decimal or special literal."""
        special = text[-1:] in "fFnN"
        self = super().__new__(cls, text.replace(".", "") if special else text)
        self.text = text
        return self

    def __repr__(self) -> str:
        return self.text


class Todo(str):
    """The word ``TODO`` in a case file: what stands there is still to be written.

    ``note`` says what it is, for the comment behind it.
    """

    __slots__ = ("note",)
    note: str

    def __new__(cls, note: str = "") -> Todo:
        """Return the word."""
        self = super().__new__(cls, "TODO")
        self.note = note
        return self


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
        part = ELEMENT_TYPES[f"float{element.bits // 2}"]
        pairs = [_complex_parts(leaf) for leaf in leaves]
        result = np.empty(len(leaves), element.dtype)
        result.real = _floats([re for re, _ in pairs], leaves, part)
        result.imag = _floats([im for _, im in pairs], leaves, part)
        return result
    return _floats(leaves, leaves, element)


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
        if type(leaf) is not int or not low <= leaf <= high:
            raise BadLiteral(shorten(leaf), f"an integer in [{low}, {high}] for {element.name}")
    wide = np.array(leaves, np.int64 if signed else np.uint64)
    return wide.astype(element.dtype)


def _complex_parts(leaf: Any) -> tuple[float | str, float | str]:
    """Return the literals of the real and the imaginary part of a complex literal."""
    wanted = 'a complex number such as "1.5-2j"'
    if isinstance(leaf, bool) or not isinstance(leaf, int | float | str):
        raise BadLiteral(shorten(leaf), wanted)
    if not isinstance(leaf, str):
        _double(leaf)
        return leaf, 0
    found = _COMPLEX.fullmatch(leaf.replace(" ", ""))
    if found is None:
        raise BadLiteral(shorten(leaf), wanted)
    parts = (0, found["only"]) if found["re"] is None else (found["re"], found["im"])
    try:
        for part in parts:
            _double(part)
    except BadLiteral as error:
        wanted = wanted if error.wanted == "a number" else error.wanted
        raise BadLiteral(shorten(leaf), wanted) from None
    return parts


def _floats(literals: Sequence[Any], leaves: list[Any], element: ElementType) -> Array:
    """Round literals once to a float type; ``leaves`` are what messages show.

    Each is rounded by way of the nearest double.
    Only where that is just between two numbers of the type, the digits behind it decide.
    """
    doubles = np.array([_double(literal) for literal in literals], np.float64)
    with np.errstate(all="ignore"):
        rounded = _nearest(doubles, element)
        error = doubles - rounded
        if error.any():  # as NaN is, which infinities give
            other = doubles + error
            for i in np.flatnonzero((error != 0) & (_nearest(other, element) == other)).tolist():
                exact, double = _exact(literals[i]), float(doubles[i])
                if exact != double:
                    doubles[i] = nextafter(double, inf if exact > double else -inf)
            rounded = _nearest(doubles, element)
            for i in np.flatnonzero(~np.isfinite(rounded)).tolist():
                _check_special(_exact(literals[i]), leaves[i], element)
        return rounded.astype(element.dtype)


def _double(leaf: Any) -> float:
    """Return the double nearest to a literal; raises ``BadLiteral`` for what is no number."""
    if type(leaf) is Real:
        size = len(leaf.text)
        if size < len("0e9999") or (size <= MAX_DIGITS and 0 < abs(leaf) < inf):
            return leaf  # neither its digits nor its exponent can be too many
    exact = leaf if type(leaf) is int else _exact(leaf)
    if isinstance(exact, float):
        return exact
    try:
        value = float(exact)
    except OverflowError:
        value = inf if exact > 0 else -inf
    negative = not isinstance(leaf, int) and str(leaf).startswith("-")
    return -0.0 if negative and value == 0 else value


def _exact(leaf: Any) -> float | Fraction:
    """Return the exact value of a literal: a float for an infinity or NaN only."""
    if isinstance(leaf, bool) or not isinstance(leaf, int | float | str):
        raise BadLiteral(shorten(leaf), "a number")
    if isinstance(leaf, int):
        return leaf
    text = str(leaf)
    if len(text) > MAX_DIGITS:
        raise BadLiteral(shorten(leaf), f"a number of at most {MAX_DIGITS} characters")
    special = _SPECIAL.fullmatch(text)
    if special:
        return copysign(inf if special[2].lower() == "inf" else nan, -1 if special[1] == "-" else 1)
    found = _DECIMAL.fullmatch(text) or _HEX.fullmatch(text)
    if not found or (found.re is _HEX and not found["whole"] + found["part"]):
        raise BadLiteral(shorten(leaf), "a number")
    if abs(int(found["exponent"] or 0)) > MAX_EXPONENT:
        raise BadLiteral(shorten(leaf), f"an exponent of at most {MAX_EXPONENT}")
    if found.re is _DECIMAL:
        return Fraction(text)
    digits = int(found["whole"] + found["part"], 16)
    exponent = int(found["exponent"]) - 4 * len(found["part"])
    return (-digits if text[0] == "-" else digits) * Fraction(2) ** exponent


def _nearest(doubles: Array, element: ElementType) -> Array:
    """Round doubles to a float type, ties to the even bit pattern; the result is doubles again.

    What is outside its range becomes infinite.
    """
    if element.bits > _SMALL_BITS:
        return doubles.astype(element.dtype).astype(np.float64)
    values, limits = _small_values(element.name)
    rounded = values[np.searchsorted(limits, doubles)]
    return np.copysign(rounded, doubles, out=rounded, where=rounded == 0)


@cache
def _small_values(name: str) -> tuple[Array, Array]:
    """Return the values of a small type in order, and the largest double that becomes each.

    Before and behind its numbers stand infinities, and NaN at the end, which has no limit.
    """
    element = ELEMENT_TYPES[name]
    patterns = np.arange(2**element.bits, dtype=f"u{element.dtype.itemsize}")
    numbers = patterns.view(element.dtype).astype(np.float64)
    kept = np.isfinite(numbers) & ~((numbers == 0) & np.signbit(numbers))
    order = np.argsort(numbers[kept])
    values, patterns = numbers[kept][order], patterns[kept][order]
    half = np.diff(values) / 2
    middles = np.r_[values[0] - half[0], values[:-1] + half, values[-1] + half[-1]]
    goes_up = np.r_[False, patterns[:-1] % 2 == 1, True]
    limits = np.where(goes_up, np.nextafter(middles, -inf), middles)
    return np.r_[-inf, values, inf, nan], np.r_[limits, inf]


def _check_special(exact: float | Fraction, leaf: Any, element: ElementType) -> None:
    """Raise ``BadLiteral`` unless a literal is an infinity or NaN that the type has."""
    if isinstance(exact, float):
        if str(float(np.float64(exact).astype(element.dtype))) != str(exact):
            wanted = f"a number that {element.name} has; it has no {exact}"
            raise BadLiteral(shorten(leaf), wanted)
    elif element.bits > _SMALL_BITS:
        seen = f"{shorten(leaf)}, which rounds to infinity"
        raise BadLiteral(seen, f"a finite {element.name} number, or .inf")
    elif element.name == "float8e8m0" and exact <= 0:
        raise BadLiteral(shorten(leaf), "a number above 0 for float8e8m0")
    else:
        values, _ = _small_values(element.name)
        raise BadLiteral(
            shorten(leaf), f"a number in [{values[1]}, {values[-3]}] for {element.name}"
        )
