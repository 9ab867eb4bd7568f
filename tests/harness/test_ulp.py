"""ULP distance counts the representable numbers between two floats, for every float type."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from opcheck.harness.dtypes import ELEMENT_TYPES, element_type
from opcheck.harness.ulp import FAR, is_nan, ulp_distance

EXAMPLES = settings(deadline=None, max_examples=200)
FLOATS = [name for name, element in ELEMENT_TYPES.items() if element.is_float]
SMALL = [name for name in FLOATS if ELEMENT_TYPES[name].bits <= 8]
HALVES = [name for name in FLOATS if ELEMENT_TYPES[name].bits == 16]
WIDE = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": "f4", "float64": "f8"}
INF, NAN = math.inf, math.nan


def distance(a, b, dtype):
    return int(ulp_distance(np.array([a], dtype), np.array([b], dtype))[0])


def from_pattern(pattern, dtype):
    return np.asarray(pattern, f"u{dtype.itemsize}").view(dtype)[()]


@pytest.mark.parametrize("name", SMALL)
def test_all_pairs_of_small_floats(small_floats, name):
    """Exhaustively: the distance of two numbers is the difference of their ranks."""
    worth = {"inf": Fraction(10**9), "-inf": Fraction(-(10**9)), "nan": None}
    values = [worth.get(v, v) for v in small_floats[name].values()]
    rank = {v: i for i, v in enumerate(sorted({v for v in values if v is not None}))}
    patterns = np.arange(len(values), dtype=np.uint8).view(element_type(name).dtype)
    left, right = (grid.reshape(-1) for grid in np.meshgrid(patterns, patterns, indexing="ij"))

    def between(a, b):
        if a is None or b is None:
            return 0 if a is b else int(FAR)
        return abs(rank[a] - rank[b])

    want = [[between(a, b) for b in values] for a in values]
    got = ulp_distance(left, right).reshape(len(values), len(values))
    assert got.tolist() == want


@pytest.mark.parametrize("name", HALVES)
def test_all_neighbours_of_halves(every_float, name):
    """Exhaustively: each of the 16-bit numbers is one step from the next, and -0 none from 0."""
    with np.errstate(invalid="ignore"):  # signalling NaNs are among them
        wide = every_float[name].astype(np.float64)
    order = np.argsort(wide, kind="stable")
    order = order[~np.isnan(wide[order])]
    numbers = every_float[name][order]
    equal = wide[order][:-1] == wide[order][1:]
    assert np.array_equal(ulp_distance(numbers[:-1], numbers[1:]), np.where(equal, 0, 1))
    assert equal.sum() == 1  # the two zeros
    assert distance(numbers[0], numbers[-1], numbers.dtype) == numbers.size - 2


@pytest.mark.parametrize("name", list(WIDE))
@EXAMPLES
@given(data=st.data(), steps=st.integers(0, 50), up=st.booleans())
def test_steps_of_nextafter(name, data, steps, up):
    """After n steps the distance is n, also across zero, into the subnormals and to infinity."""
    dtype = np.dtype(WIDE[name])
    edges = [0, 1, 2, 3, 10, 1 << (8 * dtype.itemsize - 1), int(bits_of_infinity(dtype)) - 5]
    pattern = data.draw(
        st.sampled_from(edges) | st.integers(0, 2 ** (8 * dtype.itemsize) - 1), "pattern"
    )
    start = from_pattern(pattern, dtype)
    if np.isnan(float(start)):
        return
    value = start
    taken = 0
    with np.errstate(all="ignore"):
        for _ in range(steps):
            after = np.nextafter(value, dtype.type(INF if up else -INF))
            taken += float(after) != float(value)
            value = after
    assert distance(start, value, dtype) == taken
    assert distance(value, start, dtype) == taken


def bits_of_infinity(dtype):
    return np.array(INF).astype(dtype).view(f"u{dtype.itemsize}")


@pytest.mark.parametrize("name", list(WIDE))
@EXAMPLES
@given(data=st.data())
def test_distances_add_up_along_the_order(name, data):
    """Symmetric; zero for equals only; and the way from a to c leads over b between them."""
    dtype = np.dtype(WIDE[name])
    draw = st.integers(0, 2 ** (8 * dtype.itemsize) - 1).map(lambda p: from_pattern(p, dtype))
    a, b, c = (data.draw(draw, letter) for letter in "abc")
    for x, y in ((a, b), (b, c), (a, c), (a, a)):
        steps = distance(x, y, dtype)
        assert steps == distance(y, x, dtype)
        nans = math.isnan(x) + math.isnan(y)
        same = nans == 2 or float(x) == float(y)
        assert (steps == 0) == same
        assert (steps == int(FAR)) == (nans == 1)
    if not any(math.isnan(v) for v in (a, b, c)):
        low, middle, high = sorted((a, b, c), key=float)
        parts = distance(low, middle, dtype) + distance(middle, high, dtype)
        assert distance(low, high, dtype) == parts


@pytest.mark.parametrize(
    ("a", "b", "dtype", "steps"),
    [
        (1.0, 1.0 + 2**-23, np.float32, 1),
        (1.0, 1.0 - 2**-24, np.float32, 1),
        (0.0, -0.0, np.float32, 0),
        (0.0, 1e-45, np.float32, 1),
        (-1e-45, 1e-45, np.float32, 2),
        (3.4028234663852886e38, INF, np.float32, 1),
        (INF, INF, np.float64, 0),
        (-INF, INF, np.float32, 2 * 0x7F800000),
        (-INF, INF, np.float64, 2 * 0x7FF0000000000000),
        (1.0, 2.0, np.float64, 2**52),
        (65504.0, INF, np.float16, 1),
        (1.0, 1.0078125, ml_dtypes.bfloat16, 1),
        (448.0, 416.0, ml_dtypes.float8_e4m3fn, 1),
        (6.0, -6.0, ml_dtypes.float4_e2m1fn, 14),
        (2.0**-127, 2.0**127, ml_dtypes.float8_e8m0fnu, 254),
    ],
)
def test_distances_worked_out_by_hand(a, b, dtype, steps):
    """A unit is the step to the next number, whatever its size; infinity is one past the last."""
    assert distance(a, b, dtype) == steps


@pytest.mark.parametrize("name", [n for n in FLOATS if not n.startswith(("float4", "float6"))])
def test_nan_equals_nan_and_is_far_from_everything_else(name):
    """All NaNs are one value, whatever their sign and payload; no number is near it."""
    dtype = element_type(name).dtype
    largest = ml_dtypes.finfo(dtype).max
    assert distance(NAN, NAN, dtype) == 0
    for number in (largest, dtype.type(1)):
        assert distance(NAN, number, dtype) == int(FAR)
        assert distance(number, NAN, dtype) == int(FAR)


@EXAMPLES
@given(payload=st.integers(1, 2**22 - 1), sign=st.sampled_from([0, 1 << 31]))
@example(payload=1, sign=1 << 31)
def test_payloads_of_nan_do_not_count(payload, sign):
    """Runtimes differ in the bits of a NaN; they are not compared."""
    bits = np.array([0x7F800000 | payload | sign, 0x7FC00000], np.uint32).view(np.float32)
    assert ulp_distance(bits[:1], bits[1:]).tolist() == [0]


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (2, 3), (2, 0), (1, 1, 1)])
def test_the_shape_is_kept(name, shape):
    """The distances have the shape of the arrays, 0-d ones too."""
    dtype = element_type(name).dtype
    a, b = np.ones(shape).astype(dtype), np.full(shape, 2).astype(dtype)
    steps = ulp_distance(a, b)
    assert steps.shape == shape
    assert steps.dtype == np.uint64
    assert (steps == distance(1, 2, dtype)).all()


@pytest.mark.parametrize("name", FLOATS)
def test_the_layout_in_memory_does_not_matter(name):
    """Transposed, reversed and strided arrays are read in their own order."""
    dtype = element_type(name).dtype
    base = np.array([[1, 2, 4], [2, 4, 1]]).astype(dtype)
    ones = np.ones((2, 3)).astype(dtype)
    want = ulp_distance(base, ones)
    assert np.array_equal(ulp_distance(base.T, ones.T), want.T)
    assert np.array_equal(ulp_distance(base[:, ::-1], ones), want[:, ::-1])
    assert np.array_equal(ulp_distance(base[:, ::2], ones[:, :2]), want[:, ::2])
    assert np.array_equal(ulp_distance(np.asfortranarray(base), ones), want)


@pytest.mark.parametrize("name", list(ELEMENT_TYPES))
def test_only_floats_and_complex_numbers_can_be_nan(name):
    """``is_nan`` takes any dtype."""
    element = element_type(name)
    array = np.array(["nan"] * 2, object) if name == "string" else np.ones(2).astype(element.dtype)
    assert is_nan(array).tolist() == [False, False]
    if element.is_complex:
        assert is_nan(np.array([complex(0, NAN), complex(NAN, 0), 1], element.dtype)).tolist() == [
            True,
            True,
            False,
        ]
