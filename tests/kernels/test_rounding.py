"""One rounding from float64 to each float type, held against exact fractions.

The types are decoded here bit by bit, from the layouts that onnx's pages on them give.
"""

import itertools
import random
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import copysign, inf, isnan, ldexp, nan, nextafter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernel_calls import dtype_of
from opcheck.kernels.rounding import SMALL_FLOATS, is_float, narrow, wide


@dataclass(frozen=True)
class Layout:
    """A sign bit, an exponent, a mantissa; and what the codes at the upper end mean."""

    exponent: int
    mantissa: int
    bias: int
    #: "ieee": infinities and NaN; "fn": one NaN in place of the largest code;
    #: "fnuz": one NaN in place of -0; "finite": neither.
    special: str = "ieee"

    def value(self, code):
        """Return what a code without its sign stands for; None for infinities and NaN."""
        high, low = divmod(code, 1 << self.mantissa)
        last = (1 << self.exponent) - 1
        if self.special == "ieee" and high == last:
            return None
        if self.special == "fn" and high == last and low == (1 << self.mantissa) - 1:
            return None
        significand = low if high == 0 else low + (1 << self.mantissa)
        return ldexp(significand, max(high, 1) - self.bias - self.mantissa)

    @property
    def codes(self):
        return range(1 << (self.exponent + self.mantissa))

    @property
    def sign(self):
        return 1 << (self.exponent + self.mantissa)


LAYOUTS = {
    "float16": Layout(5, 10, 15),
    "bfloat16": Layout(8, 7, 127),
    "float8_e5m2": Layout(5, 2, 15),
    "float8_e4m3fn": Layout(4, 3, 7, "fn"),
    "float8_e5m2fnuz": Layout(5, 2, 16, "fnuz"),
    "float8_e4m3fnuz": Layout(4, 3, 8, "fnuz"),
    "float6_e3m2fn": Layout(3, 2, 3, "finite"),
    "float6_e2m3fn": Layout(2, 3, 1, "finite"),
    "float4_e2m1fn": Layout(2, 1, 1, "finite"),
}
WIDE = ("float16", "bfloat16")


def rounded(x, dtype):
    """Call ``narrow`` as the evaluator does, with NumPy's warnings switched off."""
    with np.errstate(all="ignore"):
        return narrow(x, dtype)


def bits(array):
    """Return the codes of an array as Python integers."""
    return array.reshape(-1).view(f"u{array.dtype.itemsize}").tolist()


@cache
def ladder(layout):
    """Return the finite values from 0 up, and one more: where the next value would be."""
    values = [v for v in map(layout.value, layout.codes) if v is not None]
    return [*values, values[-1] + (values[-1] - values[-2])]


def nearest_code(x, values):
    """Return the index of the value nearest to x >= 0, of two equally near ones the even one."""
    above = bisect_left(values, x)
    if above == 0 or above == len(values):
        return min(above, len(values) - 1)
    middle = (Fraction(values[above - 1]) + Fraction(values[above])) / 2
    if Fraction(x) == middle:
        return above - above % 2
    return above - (Fraction(x) < middle)


def nearest(x, layout, values):
    """Return the code that x is to be rounded to."""
    code = nearest_code(abs(x), values)
    sign = layout.sign * (copysign(1, x) < 0)
    if code == len(values) - 1:
        if layout.special == "finite":
            return sign + code - 1
        return sign + code if layout.special == "ieee" else None
    if layout.special == "fnuz" and code == 0:
        return 0
    return sign + code


def assert_narrow(dtype, points):
    """Hold the rounding of some values against fractions; None stands for any NaN."""
    layout = LAYOUTS[dtype.name]
    values = ladder(layout)
    result = rounded(np.array(points, np.float64), dtype)
    assert result.dtype == dtype
    codes = bits(result)
    for x, code, value in zip(points, codes, result.tolist(), strict=True):
        wanted = nearest(x, layout, values)
        if wanted is None:
            assert isnan(float(value)), f"{x!r} became {value}"
        else:
            assert code == wanted, f"{x!r} became {value}"


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_layouts_of_this_test_are_those_of_the_types(name):
    """What the other tests round to is what the bits of each type stand for."""
    layout = LAYOUTS[name]
    dtype = dtype_of(name)
    codes = [c for c in layout.codes if layout.value(c) is not None]
    decoded = np.array(codes, f"u{dtype.itemsize}").view(dtype).astype(np.float64)
    assert decoded.tolist() == [layout.value(c) for c in codes]


def test_no_float_type_is_left_out():
    """Every small float type of the kernels is rounded to in this file."""
    named = {dtype_of(name) for name in LAYOUTS} | {dtype_of("float8_e8m0fnu")}
    assert named - {np.dtype(np.float16)} == SMALL_FLOATS


@pytest.mark.parametrize("name", LAYOUTS)
def test_values_of_the_type_stay_what_they_are(name):
    """Rounding changes no value that the type holds, of either sign."""
    layout = LAYOUTS[name]
    values = ladder(layout)[:-1]
    values = values[:: 7 if name in WIDE else 1]
    assert_narrow(dtype_of(name), [*values, *(-v for v in values)])


@pytest.mark.parametrize("name", LAYOUTS)
def test_ties_go_to_the_even_neighbour_and_all_else_to_the_nearer_one(name):
    """Between each two neighbours: the midpoint, and just beside it on both sides.

    2**-40 is less than float32 resolves: who goes by way of float32 sees a tie there.
    Who rounds to float32 0.9 steps beside a midpoint must not step back onto the midpoint.
    """
    values = ladder(LAYOUTS[name])
    pairs = list(itertools.pairwise(values))
    if name in WIDE:
        pairs = [*pairs[:300], *random.Random(1).sample(pairs, 2000), *pairs[-300:]]
    points = []
    for low, high in pairs:
        middle = (low + high) / 2
        points += [middle, middle * (1 - 2.0**-40), middle * (1 + 2.0**-40)]
        points += [nextafter(middle, 0), nextafter(middle, inf)]
        step = float(np.spacing(np.float32(middle)))
        points += [middle + 0.9 * step, middle - 0.9 * step]
    assert_narrow(dtype_of(name), [*points, *(-p for p in points)])


@pytest.mark.parametrize("name", LAYOUTS)
def test_what_is_out_of_range_is_infinite_or_nan_or_the_largest(name):
    """Infinities where the type has them, NaN where it has that, else the largest value."""
    layout = LAYOUTS[name]
    largest, next_one = ladder(layout)[-2:]
    past = [next_one, next_one * 2, 1e39, 1e300, inf]
    result = rounded(np.array([*past, *(-p for p in past)]), dtype_of(name)).astype(np.float64)
    top = {"ieee": inf, "finite": largest}.get(layout.special, nan)
    np.testing.assert_array_equal(result, [top] * 5 + [-top] * 5)


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_smallest_numbers_become_zero_with_their_sign(name):
    """Float64's own subnormals and what is below half of the smallest value become zero."""
    smallest = LAYOUTS[name].value(1)
    points = [0.0, 5e-324, 1e-310, 1e-50, smallest / 4, smallest / 2]
    points = [p for p in points if p <= smallest / 2]
    assert_narrow(dtype_of(name), [*points, *(-p for p in points)])


@pytest.mark.parametrize("name", [n for n in LAYOUTS if LAYOUTS[n].special != "finite"])
def test_nan_stays_nan(name):
    """NaN has no nearest value; types that have it keep it."""
    assert np.isnan(rounded(np.array([nan]), dtype_of(name)).astype(np.float64)).all()


def test_float8e8m0_takes_the_nearest_power_of_two_and_ties_go_up():
    """Cast-25 on float8e8m0: "round to nearest value and ties round up".

    Between its two smallest values ml_dtypes rounds up always.
    Cast, the one operator that rounds to this type, does it on its own.
    """
    powers = [ldexp(1.0, k) for k in range(-127, 128)]
    points, wanted = list(powers), list(powers)
    for low, high in itertools.pairwise(powers[1:]):
        middle = low * 1.5
        points += [middle, middle * (1 + 2.0**-40), middle * (1 - 2.0**-40)]
        points += [nextafter(middle, 0), nextafter(high, 0)]
        wanted += [high, high, low, low, high]
    result = rounded(np.array(points), dtype_of("float8_e8m0fnu"))
    assert result.astype(np.float64).tolist() == wanted


@settings(deadline=None, max_examples=300)
@given(st.floats(allow_nan=False), st.sampled_from(sorted(LAYOUTS)))
@example(2.0**-133 * 1.5, "bfloat16")
@example(2.0**-134 * (1 + 2.0**-30), "bfloat16")
@example(1 + 2.0**-8 + 2.0**-40, "bfloat16")
def test_any_number_goes_to_the_nearest_value(x, name):
    """All of float64, of any size, is rounded once."""
    assert_narrow(dtype_of(name), [x])


@settings(deadline=None, max_examples=300)
@given(st.integers(-160, 130), st.integers(-(2**52), 2**52), st.sampled_from(sorted(LAYOUTS)))
def test_numbers_in_the_range_of_the_small_types_go_to_the_nearest_value(scale, digits, name):
    """As above, with magnitudes that the small types can hold."""
    assert_narrow(dtype_of(name), [ldexp(digits, scale - 52)])


@settings(deadline=None, max_examples=200)
@given(st.integers(-126, 127), st.integers(2**23, 2**24 - 2), st.sampled_from((-1, 0, 1)))
def test_float32_is_rounded_to_nearest_even(scale, digits, beside):
    """Two neighbours of float32, and what is halfway between them or just beside."""
    step = Fraction(2) ** (scale - 23)
    low, high = digits * step, (digits + 1) * step
    x = nextafter(float((low + high) / 2), beside * inf) if beside else float((low + high) / 2)
    even = low if digits % 2 == 0 else high
    wanted = {-1: low, 0: even, 1: high}[beside]
    assert Fraction(float(rounded(np.float64(x), np.dtype(np.float32)))) == wanted


@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (2, 3)])
@pytest.mark.parametrize("name", ["bfloat16", "float16", "float32", "float64"])
def test_the_shape_is_kept(name, shape):
    """A scalar gives a 0-d array, an empty array an empty one."""
    result = rounded(np.full(shape, 1.0 + 2.0**-30), dtype_of(name))
    assert isinstance(result, np.ndarray)
    assert result.shape == shape
    assert result.dtype == dtype_of(name)


def test_complex_numbers_are_rounded_part_by_part():
    """complex128 to complex64 rounds the real and the imaginary part on their own."""
    x = np.array([complex(1 + 2.0**-24, -1 - 3 * 2.0**-24), complex(0.1, inf)])
    result = rounded(x, np.dtype(np.complex64))
    assert result.dtype == np.complex64
    parts = [(float(v.real), float(v.imag)) for v in result]
    assert parts == [(1.0, -1 - 2.0**-22), (float(np.float32(0.1)), inf)]


def test_rounding_leaves_its_argument_alone():
    """No kernel changes its inputs, and neither does the rounding."""
    x = np.array([1 + 2.0**-8, -3.0])
    before = x.copy()
    rounded(x, dtype_of("bfloat16"))
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("float16", "float64"), ("bfloat16", "float64"), ("complex64", "complex128")],
)
def test_results_are_computed_in_the_widest_type(name, wanted):
    """Real numbers are computed in float64, complex ones in complex128."""
    assert wide(np.ones(2, dtype_of(name))).dtype == np.dtype(wanted)


@pytest.mark.parametrize("name", ["int4", "int64", "bool", "complex64", "object", "uint2"])
def test_integers_strings_and_complex_numbers_are_no_floats(name):
    """``is_float`` holds for the real floating-point types alone."""
    assert not is_float(dtype_of(name))


@pytest.mark.parametrize("name", [*LAYOUTS, "float8_e8m0fnu", "float32", "float64"])
def test_all_real_floating_point_types_are_floats(name):
    """``is_float`` holds for the types that NumPy does not have itself, too."""
    assert is_float(dtype_of(name))
