"""Float literals are rounded once: compared with exact arithmetic, for every type and spelling."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from math import inf, isinf

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from exact_rounding import FORMATS as WIDE_FORMATS
from exact_rounding import SMALL_FORMATS
from opcheck.harness.dtypes import ELEMENT_TYPES, element_type
from opcheck.harness.literals import MAX_DIGITS, BadLiteral, Real, to_array

EXAMPLES = settings(deadline=None, max_examples=60)

#: Mantissa bits and bias of every float type, from the standard and the papers.
FORMATS = {
    **{name: (mantissa, bias) for name, (_, mantissa, bias) in SMALL_FORMATS.items()},
    **{name: (precision - 1, top) for name, (precision, _, top) in WIDE_FORMATS.items()},
}


def largest(name: str) -> Fraction:
    return Fraction(float(ml_dtypes.finfo(element_type(name).dtype).max))


def exponent_of(exact: Fraction, name: str) -> int:
    """Return the exponent of the unit in which a type counts numbers of this size."""
    mantissa, bias = FORMATS[name]
    lowest = -bias if name == "float8e8m0" else 1 - bias
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > exact
    return max(exponent, lowest) - mantissa


def rounded(exact: Fraction, name: str) -> Fraction | None:
    """Round to nearest, ties to the even bit pattern; ``None`` for what is outside the range."""
    sign, size = (-1 if exact < 0 else 1), abs(exact)
    half_unit = Fraction(2) ** (exponent_of(largest(name), name) - 1)
    if name == "float8e8m0":
        lowest = Fraction(1, 2**127)
        if exact <= lowest / 2 or exact >= largest(name) * Fraction(5, 4):
            return None
        exponent = exponent_of(max(exact, lowest), name)
        # The pattern is the exponent and 127: it is even where the exponent is odd.
        steps = exact / Fraction(2) ** exponent
        up = steps > Fraction(3, 2) or (steps == Fraction(3, 2) and exponent % 2 == 0)
        return Fraction(2) ** (exponent + up)
    if size >= largest(name) + half_unit:
        return None
    if size == 0:
        return Fraction(0)
    unit = Fraction(2) ** exponent_of(size, name)
    return sign * min(round(size / unit) * unit, largest(name))


def hexadecimal(exact: Fraction) -> str:
    """Write a dyadic fraction as a hexadecimal float."""
    places = exact.denominator.bit_length() - 1
    return f"{'-' if exact < 0 else ''}0x{abs(exact.numerator):x}p{-places}"


def decimal(exact: Fraction) -> str:
    """Write a fraction with up to 900 digits; a midpoint between doubles has at most 768."""
    with localcontext() as context:
        context.prec = 900
        return str(Decimal(exact.numerator) / Decimal(exact.denominator))


def exact_value(text: str) -> Fraction:
    if "x" not in text:
        return Fraction(text)
    digits, _, exponent = text.partition("p")
    return int(digits, 16) * Fraction(2) ** int(exponent)


@st.composite
def spellings(draw: st.DrawFn, name: str) -> str:
    """Draw literals on, beside and far from the numbers of a type and the middles between them."""
    mantissa, bias = FORMATS[name]
    sign = draw(st.sampled_from([1, 1, -1]))
    exponent = draw(st.one_of(
        st.integers(1 - bias, bias + 2), st.sampled_from([1 - bias, 2 - bias, 0]),
    ))  # fmt: skip
    count = Fraction(draw(st.integers(0, 2 ** (mantissa + 1))))
    size = (count + draw(st.sampled_from([0, Fraction(1, 2)]))) * Fraction(2) ** (
        exponent - mantissa
    )
    edge = largest(name) + Fraction(2) ** (exponent_of(largest(name), name) - 1)
    size = draw(st.sampled_from([size, size, size, size, edge, largest(name), Fraction(0)]))
    # Far below the digits of a double, about at their end, and above it.
    hair = Fraction(1, 2 ** draw(st.sampled_from([2, 20, 51, 53, 54, 60, 100, 400])))
    exact = sign * size * (1 + draw(st.sampled_from([0, 0, 1, -1])) * hair)
    text = (decimal if draw(st.booleans()) else hexadecimal)(exact)
    if draw(st.booleans()) and "x" not in text and "E" not in text and len(text) < 900:
        text += ("" if "." in text else ".") + "0" * draw(st.integers(1, 200))
    return f"-{text}" if exact == 0 and sign < 0 else text


def check(text: str, name: str) -> None:
    """Every spelling of a literal gives the number that exact arithmetic gives."""
    assert len(text) <= MAX_DIGITS
    exact = exact_value(text)
    want = rounded(exact, name)
    leaves = [text, *([] if "x" in text else [Real(text)])]
    if exact.denominator == 1 and (exact or text[0] != "-"):
        leaves.append(int(exact))
    for leaf in leaves:
        if want is None:
            with pytest.raises(BadLiteral):
                to_array([leaf], element_type(name))
            continue
        (got,) = to_array([leaf], element_type(name))
        assert Fraction(float(got)) == want
        if want == 0:
            assert np.signbit(got) == (text[0] == "-" and "fnuz" not in name)


def test_every_float_type_has_its_format_here():
    """A type that a new onnx brings needs a line in ``exact_rounding``."""
    assert set(FORMATS) == {name for name, element in ELEMENT_TYPES.items() if element.is_float}


@pytest.mark.parametrize("name", list(FORMATS))
@EXAMPLES
@given(data=st.data())
def test_each_float_type_rounds_once(name, data):
    """Numbers, middles, subnormals, the edges, zeros, long digits, decimal and hexadecimal."""
    check(data.draw(spellings(name)), name)


@pytest.mark.parametrize("name", list(FORMATS))
@EXAMPLES
@given(
    whole=st.text("0123456789", min_size=1, max_size=400),
    part=st.text("0123456789", max_size=400),
    exponent=st.integers(-700, 400),
    sign=st.sampled_from(["", "-", "+"]),
)
@example(whole="1", part="", exponent=-4000, sign="-")
@example(whole="0", part="0" * 400 + "1", exponent=390, sign="")
def test_any_decimal_rounds_once(name, whole, part, exponent, sign):
    """Decimals of any length and size, in every type."""
    check(f"{sign}{whole}.{part}e{exponent}", name)


@pytest.mark.parametrize("name", list(FORMATS))
@EXAMPLES
@given(data=st.data())
def test_a_literal_means_the_same_among_others(name, data):
    """A list is read at once; what stands beside a literal makes no difference."""
    element = element_type(name)
    good, alone = [], []
    for text in data.draw(st.lists(spellings(name), min_size=2, max_size=8)):
        for leaf in (text, *([] if "x" in text else [Real(text)])):
            found = read(leaf, name)
            if isinstance(found, bytes):
                good.append(leaf)
                alone.append(found)
            else:
                with pytest.raises(BadLiteral) as caught:
                    to_array([*good, leaf, *good], element)
                assert (caught.value.seen, caught.value.wanted) == found
    assert to_array(good, element).tobytes() == b"".join(alone)


def read(leaf: object, name: str) -> bytes | tuple[str, str]:
    """Return the bytes of one literal, or what its error says."""
    try:
        return to_array([leaf], element_type(name)).tobytes()
    except BadLiteral as error:
        return error.seen, error.wanted


@pytest.mark.parametrize("name", ["complex64", "complex128"])
@EXAMPLES
@given(data=st.data())
def test_the_parts_of_complex_numbers_round_as_floats_do(name, data):
    """Each part is what the float type of half the size makes of it."""
    part = {"complex64": "float32", "complex128": "float64"}[name]
    texts = [data.draw(spellings(part)) for _ in range(2)]
    leaf = f"{texts[0]}{'' if texts[1][0] == '-' else '+'}{texts[1]}j"
    try:
        want = to_array(texts, element_type(part))
    except BadLiteral:
        with pytest.raises(BadLiteral):
            to_array([leaf], element_type(name))
        return
    assert to_array([leaf], element_type(name)).tobytes() == want.tobytes()


@pytest.mark.parametrize("name", ["float64", "float32", "bfloat16"])
def test_a_literal_beyond_the_doubles_is_no_infinity(name):
    """``1e400`` is an infinite double, and still no literal of an infinity."""
    for leaf in (Real("1e400"), Real("-1e999"), "0x1p1024", 10**400):
        with pytest.raises(BadLiteral):
            to_array([Real(".inf"), leaf], element_type(name))
    assert isinf(to_array([Real(".inf")], element_type(name))[0])
    assert to_array([Real("-.inf"), 1], element_type(name))[1] == 1
    assert to_array([-inf], element_type(name))[0] == -inf
