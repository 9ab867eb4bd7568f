"""Literals become arrays exactly: integers never pass through a float, floats are rounded once."""

from __future__ import annotations

import math
from contextlib import suppress
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from opcheck.harness.dtypes import ELEMENT_TYPES, element_type
from opcheck.harness.literals import MAX_DIGITS, BadLiteral, Real, from_bits, to_array

EXAMPLES = settings(deadline=None, max_examples=150)

INF, NAN = math.inf, math.nan
WIDE = {
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float32": np.dtype(np.float32),
    "float64": np.dtype(np.float64),
}
#: For every element type a literal, its dtype, and its value as Python sees it.
SAMPLES = {
    "float32": (Real("1.5"), "float32", 1.5),
    "uint8": (255, "uint8", 255),
    "int8": (-128, "int8", -128),
    "uint16": (65535, "uint16", 65535),
    "int16": (-32768, "int16", -32768),
    "int32": (-(2**31), "int32", -(2**31)),
    "int64": (-(2**63), "int64", -(2**63)),
    "string": ("näme", "object", "näme"),
    "bool": (True, "bool", True),
    "float16": (Real("1.5"), "float16", 1.5),
    "float64": (Real("0.1"), "float64", 0.1),
    "uint32": (2**32 - 1, "uint32", 2**32 - 1),
    "uint64": (2**64 - 1, "uint64", 2**64 - 1),
    "complex64": ("1.5-2j", "complex64", 1.5 - 2j),
    "complex128": ("0.1+0.3j", "complex128", 0.1 + 0.3j),
    "bfloat16": (Real("1.5"), "bfloat16", 1.5),
    "float8e4m3fn": (Real("1.5"), "float8_e4m3fn", 1.5),
    "float8e4m3fnuz": (Real("1.5"), "float8_e4m3fnuz", 1.5),
    "float8e5m2": (Real("1.5"), "float8_e5m2", 1.5),
    "float8e5m2fnuz": (Real("1.5"), "float8_e5m2fnuz", 1.5),
    "uint4": (15, "uint4", 15),
    "int4": (-8, "int4", -8),
    "float4e2m1": (Real("1.5"), "float4_e2m1fn", 1.5),
    "float8e8m0": (Real("0.5"), "float8_e8m0fnu", 0.5),
    "uint2": (3, "uint2", 3),
    "int2": (-2, "int2", -2),
    "float6e2m3": (Real("1.5"), "float6_e2m3fn", 1.5),
    "float6e3m2": (Real("1.5"), "float6_e3m2fn", 1.5),
}
INTEGERS = [name for name, element in ELEMENT_TYPES.items() if element.is_integer]
FLOATS = [name for name, element in ELEMENT_TYPES.items() if element.is_float]


def one(leaf: object, name: str) -> np.generic:
    """Read a single literal."""
    array = to_array([leaf], element_type(name))
    assert array.dtype == element_type(name).dtype
    assert array.shape == (1,)
    return array[0]


def bits_of(value: object, name: str) -> int:
    size = element_type(name).dtype.itemsize
    return int(np.asarray(value, element_type(name).dtype).view(f"u{size}"))


def decimal(exact: Fraction) -> str:
    """Write a dyadic fraction in decimal, with all of its digits."""
    with localcontext() as context:
        context.prec = 3000
        return str(Decimal(exact.numerator) / Decimal(exact.denominator))


def refused(leaf: object, name: str) -> BadLiteral:
    with pytest.raises(BadLiteral) as caught:
        one(leaf, name)
    return caught.value


@pytest.mark.parametrize(
    "onnx_name", [n for n, _ in onnx.TensorProto.DataType.items() if n != "UNDEFINED"]
)
def test_every_element_type_of_onnx_is_read(onnx_name):
    """A type that a new onnx brings must be handled and get a sample here."""
    name = {"FLOAT": "float32", "DOUBLE": "float64"}.get(onnx_name, onnx_name.lower())
    leaf, dtype, value = SAMPLES[name]
    array = to_array([leaf, leaf], element_type(name))
    assert array.dtype == np.dtype(dtype)
    assert element_type(name).number == onnx.TensorProto.DataType.Value(onnx_name)
    assert array.shape == (2,)
    assert array[1] == value


@pytest.mark.parametrize("name", list(ELEMENT_TYPES))
def test_no_literals_make_an_empty_array_of_the_type(name):
    """``data: []`` has a dtype too."""
    array = to_array([], element_type(name))
    assert array.dtype == element_type(name).dtype
    assert array.shape == (0,)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_reach_both_ends_and_no_further(name):
    """The ends of the range are exact; one step further is an error that names the range."""
    bits = int("".join(filter(str.isdigit, name)))
    low, high = (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    ends = [low, low + 1, 0, high - 1, high]
    assert [int(v) for v in to_array(ends, element_type(name))] == ends
    for outside in (low - 1, high + 1):
        error = refused(outside, name)
        assert error.seen == str(outside)
        assert error.wanted == f"an integer in [{low}, {high}] for {name}"


@pytest.mark.parametrize("name", ["int64", "uint64"])
@EXAMPLES
@given(value=st.integers(0, 2**63 - 1))
@example(value=2**53 + 1)
@example(value=2**63 - 1)
@example(value=2**62 + 1)
def test_integers_of_64_bits_never_pass_through_a_float(name, value):
    """Every 64-bit integer is read as itself, also beside its neighbours."""
    assert to_array([value, 0, value], element_type(name)).tolist() == [value, 0, value]


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("leaf", [Real("1.0"), Real("1e0"), True, "1", None, [1], Real(".nan")])
def test_only_integers_are_integers(name, leaf):
    """A real is refused for an integer type even where it has no fraction; so is a boolean."""
    assert "an integer in" in refused(leaf, name).wanted


def nearest(exact: Fraction, dtype: np.dtype) -> np.generic | None:
    """Round to nearest, ties to the even bit pattern; ``None`` where that is infinite."""
    largest = ml_dtypes.finfo(dtype).max
    step = Fraction(float(largest)) - Fraction(float(np.nextafter(largest, dtype.type(0))))
    if abs(exact) >= Fraction(float(largest)) + step / 2:
        return None
    with np.errstate(all="ignore"):
        limit = float(largest)
        middle = np.float64(min(max(float(exact), -limit), limit)).astype(dtype)
        around = {float(middle): middle}
        for direction in (dtype.type(-INF), dtype.type(INF)):
            value = middle
            for _ in range(2):
                value = np.nextafter(value, direction)
                around[float(value)] = value
    finite = [v for number, v in around.items() if math.isfinite(number)]
    unsigned = f"u{dtype.itemsize}"
    return min(
        finite,
        key=lambda v: (abs(Fraction(float(v)) - exact), int(np.asarray(v).view(unsigned)) % 2),
    )


def check_rounding(text: str, name: str) -> None:
    want = nearest(Fraction(text), WIDE[name])
    for leaf in (Real(text), text):
        if want is None:
            assert "infin" in str(refused(leaf, name)) or "in [" in str(refused(leaf, name))
            continue
        got = one(leaf, name)
        assert float(got) == float(want)
        if float(want) == 0:
            assert np.signbit(got) == text.startswith("-"), "a tiny negative number is -0.0"


digits = st.text("0123456789", min_size=1, max_size=40)
decimals = st.builds(
    lambda sign, whole, part, exponent: f"{sign}{whole}{part}{exponent}",
    st.sampled_from(["", "-", "+"]),
    digits,
    st.one_of(st.just(""), digits.map(".{}".format)),
    st.one_of(
        st.just(""),
        st.integers(-60, 60).map("e{}".format),
        st.integers(-400, 340).map("E{:+}".format),
    ),
)


@pytest.mark.parametrize("name", list(WIDE))
@EXAMPLES
@given(text=decimals)
@example(text="-1e-400")
@example(text="-0")
@example(text="340282356779733661637539395458142568447.9999")
@example(text="179769313486231580793728971405301e277")
@example(text="65519.99999999999999999999999999")
@example(text="65520")
@example(text="2.4703282292062327208299439634110e-324")
def test_decimals_are_rounded_to_the_nearest(name, text):
    """A decimal literal becomes the nearest number of its type, ties to even."""
    check_rounding(text, name)


@pytest.mark.parametrize("name", list(WIDE))
@EXAMPLES
@given(data=st.data())
def test_decimals_are_rounded_only_once(name, data):
    """Just beside a midpoint the exact decimal digits decide, not a double on the way."""
    dtype = WIDE[name]
    pattern = data.draw(st.integers(0, 2 ** (8 * dtype.itemsize) - 1), "bits")
    below = np.asarray(pattern, f"u{dtype.itemsize}").view(dtype)[()]
    assume(math.isfinite(float(below)))
    with np.errstate(all="ignore"):
        above = np.nextafter(below, dtype.type(INF))
    assume(math.isfinite(float(above)))
    middle = (Fraction(float(below)) + Fraction(float(above))) / 2
    hair = Fraction(1, 10 ** data.draw(st.integers(20, 40), "hair")) * abs(middle)
    for exact in (middle, middle + hair, middle - hair):
        check_rounding(decimal(exact) if exact == middle else short(exact), name)


def short(exact: Fraction) -> str:
    with localcontext() as context:
        context.prec = 900
        return str(Decimal(exact.numerator) / Decimal(exact.denominator))


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        # One unit is 2**-23, so 1 + 2**-24 is a midpoint; the double next to it is 2**-52 away.
        pytest.param("float32", "1.00000005960464477539062500", 1.0, id="midpoint-to-even"),
        pytest.param("float32", "1.00000005960464477539062501", 1 + 2**-23, id="just-above"),
        pytest.param("float32", "1.00000017881393432617187499", 1 + 2**-23, id="just-below"),
        pytest.param("bfloat16", "1.00390625", 1.0, id="bfloat16-midpoint"),
        pytest.param("bfloat16", "1.00390625000000000000001", 1 + 2**-7, id="bfloat16-above"),
        pytest.param("float16", "1.00048828125000000000001", 1 + 2**-10, id="float16-above"),
        pytest.param("float64", "9007199254740993", 2.0**53, id="float64-midpoint"),
        pytest.param(
            "float64", "9007199254740993.0000000000000000001", 2.0**53 + 2, id="float64-above"
        ),
        pytest.param("float8e4m3fn", "1.06250000000000000000001", 1.125, id="float8-above"),
        pytest.param("float4e2m1", "2.5000000000000000000001", 3.0, id="float4-above"),
    ],
)
def test_double_rounding_traps(name, text, value):
    """Rounding to a double first would move these to a midpoint, and then the wrong way."""
    assert float(one(Real(text), name)) == value


def test_integers_become_floats_exactly_too():
    """``16777217`` for float32 is rounded once, and ``2**53 + 1`` for float64."""
    assert one(16777217, "float32") == 16777216
    assert one(2**53 + 1, "float64") == 2.0**53
    assert one(2**53 + 3, "float64") == 2.0**53 + 4
    assert one(10**40 + 1, "float64") == 1e40
    # Just above a midpoint, on which a double would lie.
    assert one(2**60 + 2**36 + 1, "float32") == 2.0**60 + 2.0**37
    assert one(2**60 + 2**52 + 1, "bfloat16") == 2.0**60 + 2.0**53


@pytest.mark.parametrize("name", [n for n in FLOATS if ELEMENT_TYPES[n].bits <= 8])
def test_small_floats_take_every_number_midpoint_and_neighbourhood(small_floats, name):
    """Exhaustively: each number is itself, each midpoint goes to the even pattern."""
    patterns = {v: b for b, v in reversed(small_floats[name].items()) if isinstance(v, Fraction)}
    numbers = sorted(patterns)
    hair = Fraction(1, 2**200)
    for number in numbers:
        assert bits_of(one(Real(decimal(number)), name), name) == patterns[number]
    for below, above in pairwise(numbers):
        middle = (below + above) / 2
        even = min(below, above, key=lambda v: patterns[v] % 2)
        for exact, want in ((middle, even), (middle - hair, below), (middle + hair, above)):
            got = bits_of(one(Real(decimal(exact)), name), name)
            negative_zero = want == 0 and exact < 0 and not name.endswith("fnuz")
            assert got == (1 << ELEMENT_TYPES[name].bits - 1 if negative_zero else patterns[want])


@pytest.mark.parametrize("name", [n for n in FLOATS if ELEMENT_TYPES[n].bits <= 8])
def test_small_floats_end_half_a_step_past_the_largest(small_floats, name):
    """What would round past the largest number is an error that names the range."""
    numbers = sorted(v for v in small_floats[name].values() if isinstance(v, Fraction))
    edge = numbers[-1] + (numbers[-1] - numbers[-2]) / 2
    assert float(one(Real(decimal(edge - Fraction(1, 2**100))), name)) == numbers[-1]
    error = refused(Real(decimal(edge)), name)
    assert error.wanted == f"a number in [{float(numbers[0])}, {float(numbers[-1])}] for {name}"
    if numbers[0] < 0:
        assert float(one(Real(decimal(Fraction(1, 2**100) - edge)), name)) == numbers[0]
        refused(Real(decimal(-edge)), name)


@pytest.mark.parametrize(
    ("text", "name", "bits"),
    [
        ("0x1.8p3", "float32", 0x41400000),
        ("-0X1.8P+3", "float16", 0xCA00),
        ("0x.8p0", "bfloat16", 0x3F00),
        ("0x1p-149", "float32", 1),
        ("0x1p-1074", "float64", 1),
        ("0x1.fffffffffffffp1023", "float64", 0x7FEFFFFFFFFFFFFF),
        ("0x1.000001p0", "float32", 0x3F800000),
        ("0x1.00000100000000000000001p0", "float32", 0x3F800001),
        ("-0x0p0", "float32", 0x80000000),
        ("0x1.8p0", "float8e5m2", 0x3E),
    ],
)
def test_hexadecimal_floats(text, name, bits):
    """Hexadecimal floats are exact, and rounded once where they have too many digits."""
    assert bits_of(one(text, name), name) == bits


@pytest.mark.parametrize("text", ["0x1.fffffffffffff8p1023", "0x1p1024", "-0x1p5000"])
def test_hexadecimal_floats_overflow_as_others_do(text):
    """A hexadecimal float that rounds to infinity is refused, also just past the largest."""
    assert refused(text, "float64").seen == f"{text!r}, which rounds to infinity"


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "float8e5m2"])
def test_infinities_and_nan(name):
    """The YAML spellings and those of Python give the special values, with their signs."""
    values = to_array(
        [Real(".inf"), Real("-.inf"), "inf", "-INF", Real("+.inf")], element_type(name)
    )
    assert values.astype(np.float64).tolist() == [INF, -INF, INF, -INF, INF]
    assert np.isnan(to_array([Real(".nan"), "nan", Real(".NaN")], element_type(name))).all()


SPECIALS = {
    "float8e4m3fn": ("nan", "-0"), "float8e4m3fnuz": ("nan",), "float8e5m2fnuz": ("nan",),
    "float8e8m0": ("nan",), "float4e2m1": ("-0",), "float6e2m3": ("-0",), "float6e3m2": ("-0",),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "quiet"),
    [("float16", 0x7E00), ("bfloat16", 0x7FC0), ("float32", 0x7FC00000), ("float8e5m2", 0x7E)],
)
def test_nan_is_a_quiet_one(name, quiet):
    """A signalling NaN would trip a runtime that looks at the flags of the processor."""
    assert bits_of(one(Real(".nan"), name), name) == quiet


@pytest.mark.parametrize("name", list(SPECIALS))
@pytest.mark.parametrize("special", ["nan", "inf", "-inf"])
def test_types_without_infinity_or_nan_say_so(name, special):
    """What a type does not have is refused, never saturated and never turned into NaN."""
    leaf = Real(special.replace("inf", ".inf").replace("nan", ".nan"))
    if special in SPECIALS[name]:
        assert np.isnan(one(leaf, name))
    else:
        error = refused(leaf, name)
        assert error.seen == leaf.text
        assert error.wanted == f"a number that {name} has; it has no {special}"


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("text", ["-0.0", "-0", "-0e5", "-0x0p0"])
def test_negative_zero_keeps_its_sign(name, text):
    """``-0.0`` is the negative zero in every type that has one, and zero in the others."""
    if name == "float8e8m0":
        assert refused(text, name).wanted == "a number above 0 for float8e8m0"
        return
    top = 0 if name.endswith("fnuz") else 1 << (ELEMENT_TYPES[name].bits - 1)
    assert bits_of(one(text, name), name) == top
    assert bits_of(one(text[1:], name), name) == 0


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("sign", ["", "-"])
def test_numbers_too_small_for_a_type_become_zero_with_their_sign(name, sign):
    """Underflow keeps the sign where the type has a negative zero, and never fails."""
    if name == "float8e8m0":
        refused(Real(f"{sign}1e-4000"), name)
        return
    got = one(Real(f"{sign}1e-4000"), name)
    assert float(got) == 0
    assert bits_of(got, name) == bits_of(one(Real(f"{sign}0.0"), name), name)


@pytest.mark.parametrize(
    ("leaf", "name", "seen"),
    [
        (Real("3.5e38"), "float32", "3.5e38"),
        (Real("-1e4000"), "float64", "-1e4000"),
        (10**400, "float32", "1000000"),
        (Real("65520"), "float16", "65520"),
        (Real("3.39e38"), "bfloat16", None),
        (Real("3.4e38"), "float32", None),
        (464, "float8e4m3fn", "464"),
    ],
)
def test_overflow_is_an_error_that_shows_the_literal(leaf, name, seen):
    """A finite literal never becomes infinite; the message quotes it as it is written."""
    if seen is None:
        assert math.isfinite(float(one(leaf, name)))
    else:
        assert refused(leaf, name).seen.startswith(seen)


@pytest.mark.parametrize("leaf", [0, -1, Real("0.0"), Real("-2.0"), Real("1e-39"), Real("2.6e38")])
def test_e8m0_has_powers_of_two_only(leaf):
    """float8e8m0 has neither zero nor negative numbers, and ends at 2**-127 and 2**127."""
    assert "float8e8m0" in refused(leaf, "float8e8m0").wanted
    assert one(Real("3.1"), "float8e8m0") == 4
    assert one(3, "float8e8m0") == 2  # between 2 and 4, and 2 has the even pattern
    assert one(Real("1.7e38"), "float8e8m0") == 2.0**127


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "float8e8m0", "complex64"])
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("1e999999999999999999", id="exponent"),
        pytest.param("1e-999999999999999999", id="negative-exponent"),
        pytest.param("0x1p999999999999", id="hexadecimal-exponent"),
        pytest.param("1." + "0" * 100_000, id="digits"),
        pytest.param("0x" + "f" * 100_000 + "p0", id="hexadecimal-digits"),
        pytest.param("1e" + "9" * 100_000, id="exponent-digits"),
    ],
)
def test_absurd_literals_are_refused_without_computing_them(name, text):
    """Numbers that would need a lot of memory or time are refused by their length alone."""
    error = refused(text + "j" if name == "complex64" else text, name)
    assert "at most" in error.wanted
    assert len(error.seen) < 80


def test_the_longest_exact_decimal_fits():
    """Every midpoint between two doubles can be written: the limit is above their digits."""
    smallest = f"0.{decimal_places(Fraction(1, 2**1075))}"
    assert len(smallest) <= MAX_DIGITS
    assert one(smallest, "float64") == 0
    assert one(smallest + "1", "float64") == 5e-324


def decimal_places(exact: Fraction) -> str:
    places = exact.denominator.bit_length() - 1
    return str(exact.numerator * 10**places // exact.denominator).zfill(places)


@pytest.mark.parametrize(
    "leaf",
    ["abc", "", " 1", "1 ", "1,5", "1_000", "0x", "0xp1", "0x1.8", "1e", "٣", None, True, [], {}],
)
@pytest.mark.parametrize("name", ["float16", "float32", "float64", "float4e2m1"])
def test_only_numbers_are_floats(name, leaf):
    """Text that is no number, booleans and lists are refused for float types."""
    assert refused(leaf, name).wanted == "a number"


@pytest.mark.parametrize(
    ("leaf", "value"),
    [
        ("1+2j", 1 + 2j), ("1.5 - 2.5i", 1.5 - 2.5j), ("-2j", -2j), ("1e-3+2e-3j", 1e-3 + 2e-3j),
        ("0x1p3-0x1p-2j", 8 - 0.25j), (Real("1.5"), 1.5), (3, 3), ("-1e+2-1e-2j", -100 - 0.01j),
        ("inf-infj", complex(INF, -INF)), (Real("-.inf"), complex(-INF, 0)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_complex_literals(name, leaf, value):
    """A complex number is written as in Python, with ``j`` or ``i``, or as a real number."""
    assert one(leaf, name) == element_type(name).dtype.type(value)


def test_the_parts_of_complex_numbers_keep_nan_and_the_sign_of_zero():
    """Each part is a float literal of its own: NaN, negative zero, and rounded once."""
    value = one("-0.0+nanj", "complex64")
    assert np.signbit(value.real)
    assert np.isnan(value.imag)
    assert np.signbit(one("1-0.0j", "complex128").imag)
    assert one("1.00000005960464477539062501j", "complex64").imag == np.float32(1 + 2**-23)


@pytest.mark.parametrize(
    "leaf", ["1+2", "j", "1+j", "1--2j", "a+bj", "1+2jj", True, None, "1+2j3", ""]
)
def test_bad_complex_literals_are_shown_whole(leaf):
    """The message quotes the literal, not the half of it that could not be read."""
    error = refused(leaf, "complex64")
    assert error.seen == {True: "true", None: "null"}.get(leaf, repr(leaf))
    assert error.wanted == 'a complex number such as "1.5-2j"'


def test_a_part_of_a_complex_number_that_overflows_is_refused():
    """The parts of complex64 have the range of float32."""
    assert refused("1+1e39j", "complex64").seen == "'1+1e39j', which rounds to infinity"
    assert one("1+1e39j", "complex128") == 1 + 1e39j


@pytest.mark.parametrize("name", [n for n in (*INTEGERS, *FLOATS) if ELEMENT_TYPES[n].bits <= 16])
def test_bits_give_every_pattern(name):
    """All patterns of the small types come out as they went in, NaN payloads included."""
    element = element_type(name)
    patterns = list(range(1 << element.bits))
    array = from_bits(patterns, element)
    assert array.dtype == element.dtype
    mask = (1 << element.bits) - 1
    assert (array.view(f"u{element.dtype.itemsize}").astype(np.int64) & mask).tolist() == patterns
    if element.is_integer:
        top = 1 << (element.bits - 1)
        signed = [p - 2 * top if name[0] == "i" and p >= top else p for p in patterns]
        assert [int(v) for v in array] == signed


@pytest.mark.parametrize(("name", "pattern", "value"), [
    ("float32", 0x7FC00001, NAN), ("float64", 0x3FF8000000000000, 1.5), ("bfloat16", 0x3FC0, 1.5),
    ("uint64", 2**64 - 1, 2**64 - 1), ("int64", 2**64 - 1, -1), ("int32", 0x80000000, -(2**31)),
])  # fmt: skip
def test_bits_of_wide_types(name, pattern, value):
    """Patterns of 32 and 64 bits are exact too."""
    array = from_bits([pattern], element_type(name))
    assert bits_of(array[0], name) == pattern
    assert array[0] == value or (math.isnan(value) and np.isnan(array[0]))


@pytest.mark.parametrize("name", ["int4", "float6e2m3", "bfloat16", "uint64"])
@pytest.mark.parametrize("leaf", [-1, Real("1.0"), True, "1", None])
def test_bits_are_unsigned_integers_that_fit(name, leaf):
    """A pattern is an integer of the type's width; one bit more is too much."""
    element = element_type(name)
    for bad in (leaf, 1 << element.bits):
        with pytest.raises(BadLiteral, match=rf"an integer in \[0, 2\*\*{element.bits}\)"):
            from_bits([0, bad], element)


@pytest.mark.parametrize("name", ["string", "bool", "complex64", "complex128"])
def test_only_integers_and_floats_have_bits(name):
    """``bits`` of a string would mean nothing."""
    with pytest.raises(BadLiteral, match=f"bits for {name}"):
        from_bits([1], element_type(name))


@EXAMPLES
@given(st.lists(st.text(), max_size=8))
def test_strings_are_kept_as_they_are(texts):
    """Any text is a string: empty, with NUL, looking like a number."""
    array = to_array(texts, element_type("string"))
    assert array.dtype == object
    assert array.tolist() == texts


@pytest.mark.parametrize("leaf", [1, Real("1.5"), True, None, ["a"]])
def test_strings_must_be_quoted(leaf):
    """A number or boolean among strings is refused, and the message says how to write it."""
    assert refused(leaf, "string").wanted == "a string (quote it)"


def test_booleans_are_booleans_or_bits():
    """true, false, 0 and 1; nothing else is taken for a truth value."""
    assert to_array([True, False, 0, 1], element_type("bool")).tolist() == [
        True,
        False,
        False,
        True,
    ]
    for leaf in (2, -1, "true", Real("1.0"), None):
        assert refused(leaf, "bool").wanted == "true or false"


@EXAMPLES
@given(text=st.one_of(decimals, st.text("0123456789.eEpPxXjinfna+- _", max_size=12)))
def test_any_text_is_a_number_or_a_bad_literal(text):
    """Whatever a case file quotes, the answer is a value or ``BadLiteral``, for every type."""
    for name, element in ELEMENT_TYPES.items():
        with suppress(BadLiteral):
            assert to_array([text], element).shape == (1,), name
