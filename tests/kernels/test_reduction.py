"""The reductions, held against Python's integers, fractions and decimals, element by element."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import onnx.defs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact_rounding import FORMATS, quantum, rounded
from kernel_calls import array, function, types, versions, wrapped
from opcheck.kernels import reduction, registry  # noqa: F401 - registers the kernels

pytestmark = pytest.mark.usefixtures("no_warnings")

INF, NAN = math.inf, math.nan
REDUCTIONS = (
    "ReduceSum",
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
    "ReduceLogSum",
    "ReduceLogSumExp",
)
ARGS = ("ArgMax", "ArgMin")


def takes_axes(operator, version):
    """Tell whether the axes are an input."""
    return len(onnx.defs.get_schema(operator, version, "").inputs) == 2


def reduce(operator, version, x, axes=None, *, keepdims=1, noop=0):
    """Call a reduction in whichever way its version takes the axes."""
    before = x.tobytes()
    kernel = function(operator, version)
    if takes_axes(operator, version):
        tensor = None if axes is None else np.array(axes, np.int64)
        got = kernel(x, tensor, keepdims=keepdims, noop_with_empty_axes=noop)
    else:
        got = kernel(x, axes=axes, keepdims=keepdims)
    assert x.tobytes() == before
    got = np.asarray(got)
    assert got.dtype == x.dtype
    return got


def groups(x, axes):
    """Return, for each index of the kept axes in order, the values that are reduced together."""
    axes = [axis % x.ndim for axis in axes]
    found = {
        tuple(i for axis, i in enumerate(index) if axis not in axes): []
        for index in np.ndindex(*(1 if i in axes else n for i, n in enumerate(x.shape)))
    }
    for index in np.ndindex(*x.shape):
        found[tuple(i for axis, i in enumerate(index) if axis not in axes)].append(x[index].item())
    return found


def kept_shape(shape, axes, keepdims):
    axes = [axis % len(shape) for axis in axes]
    if keepdims:
        return tuple(1 if axis in axes else n for axis, n in enumerate(shape))
    return tuple(n for axis, n in enumerate(shape) if axis not in axes)


# What is right.


def to_decimal(x):
    return Decimal(x.numerator) / Decimal(x.denominator)


def exact(operator, values):
    """Reduce fractions (or integers); with 80 digits where the result is no fraction."""
    with localcontext(prec=80):
        match operator:
            case "ReduceSum":
                return sum(values)
            case "ReduceMean":
                return Fraction(sum(values), len(values))
            case "ReduceMax":
                return max(values)
            case "ReduceMin":
                return min(values)
            case "ReduceProd":
                return math.prod(values)
            case "ReduceL1":
                return sum(abs(v) for v in values)
            case "ReduceSumSquare":
                return sum(v * v for v in values)
            case "ReduceL2":
                return Fraction(to_decimal(sum(Fraction(v * v) for v in values)).sqrt())
            case "ReduceLogSum":
                return Fraction(to_decimal(sum(Fraction(v) for v in values)).ln())
            case "ReduceLogSumExp":
                whole = math.floor(max(values))
                rest = sum(to_decimal(Fraction(v) - whole).exp() for v in values).ln()
                return whole + Fraction(rest)


EXACT = {"ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceSumSquare"}


def is_right(operator, got, values, name):
    """Hold one element against the exact reduction of its values."""
    if name == "bool":
        return bool(got) is {"ReduceMax": any, "ReduceMin": all}[operator](values)
    if name not in FORMATS:
        return int(got) == wrapped(int(exact(operator, values)), name)
    wanted = exact(operator, [Fraction(v) for v in values])
    if operator in EXACT and name != "float64":
        return float(got) == rounded(wanted, name)
    slack = Fraction(1, 2) + Fraction(1, 2**20)
    if name == "float64":
        # What the steps in float64 itself may cost.
        slack = Fraction(len(values) if operator == "ReduceProd" else 1) + Fraction(1, 2)
    return abs(Fraction(float(got)) - wanted) <= slack * quantum(wanted, name)


def random_array(rng, operator, shape, name):
    """Return values whose reduction fits into the type, where it must not wrap around."""
    if name == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if name in FORMATS:
        x = rng.uniform(-1.5, 1.5, shape)
        return array(np.abs(x) + 1 if operator.startswith("ReduceLog") else x, name)
    info = np.iinfo(name)
    if operator == "ReduceLogSumExp":
        base = int(rng.integers(info.min, info.max, dtype=name)) // 2
        low = max(base - 4, info.min)
        return np.array(rng.integers(low, low + 9, shape, dtype=np.int64), name)
    low = 1 if operator == "ReduceLogSum" else info.min
    return rng.integers(low, info.max, shape, dtype=name, endpoint=True)


# The axes and the arithmetic.


def test_every_version_is_registered():
    assert {("", *key) for key in versions(*REDUCTIONS, *ARGS)} <= registry.registered()


@pytest.mark.parametrize(("operator", "version"), versions(*REDUCTIONS))
@pytest.mark.parametrize("axes", [(0,), (1,), (2, 0), (0, 1, 2)])
def test_every_type_is_reduced_exactly(operator, version, axes):
    """Floats are rounded once, integers wrap around and never become floats."""
    rng = np.random.default_rng(version + len(axes))
    for name in types(operator, version):
        x = random_array(rng, operator, (2, 3, 4), name)
        got = reduce(operator, version, x, list(axes), keepdims=0)
        wanted = groups(x, axes)
        assert got.shape == kept_shape(x.shape, axes, 0)
        for index, values in wanted.items():
            assert is_right(operator, got[index], values, name), (name, index, values, got[index])


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_axes_of_any_shape(data):
    """Any rank, any set of axes in any order, negative ones as well, lengths 0 and 1 included."""
    shape = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    rank = len(shape)
    operator, version = data.draw(
        st.sampled_from(versions("ReduceSum", "ReduceMax", "ReduceSumSquare"))
    )
    keepdims = data.draw(st.integers(0, 1))
    axes = data.draw(st.lists(st.integers(0, rank - 1), unique=True, min_size=1))
    if version >= 11:
        axes = [axis - rank * data.draw(st.integers(0, 1)) for axis in axes]
    x = np.random.default_rng(len(shape)).integers(-99, 99, shape, dtype=np.int32)
    got = reduce(operator, version, x, axes, keepdims=keepdims)
    assert got.shape == kept_shape(shape, axes, keepdims)
    wanted = groups(x, axes)
    nothing = {"ReduceSum": 0, "ReduceSumSquare": 0, "ReduceMax": -(2**31)}[operator]
    flat = [exact(operator, values) if values else nothing for values in wanted.values()]
    assert got.ravel().tolist() == flat


@pytest.mark.parametrize(("operator", "version"), versions(*REDUCTIONS))
@pytest.mark.parametrize("axes", [None, []])
def test_no_axes_mean_all_of_them(operator, version, axes):
    x = np.array([[[2.0, 3.0]], [[5.0, 7.0]]], np.float32)
    for keepdims, shape in ((1, (1, 1, 1)), (0, ())):
        got = reduce(operator, version, x, axes, keepdims=keepdims)
        assert got.shape == shape
        assert is_right(operator, got.ravel()[0], [2.0, 3.0, 5.0, 7.0], "float32")


@pytest.mark.parametrize(
    ("operator", "version"), [v for v in versions(*REDUCTIONS) if takes_axes(*v)]
)
@pytest.mark.parametrize("axes", [None, []])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_a_no_op_still_takes_the_other_steps(operator, version, axes, keepdims):
    """ReduceLogSum gives the logarithm, ReduceSumSquare the square, the norms the magnitude."""
    x = np.array([[0.5, 3.0], [2.0, 7.0]], np.float32)
    got = reduce(operator, version, x, axes, keepdims=keepdims, noop=1)
    assert got.shape == (2, 2)
    for value, result in zip(x.flat, got.flat, strict=True):
        assert is_right(operator, result, [value.item()], "float32")
    # With axes, the attribute means nothing.
    assert reduce(operator, version, x, [1], keepdims=0, noop=1).shape == (2,)


@pytest.mark.parametrize(("operator", "version"), versions(*REDUCTIONS))
def test_a_tensor_of_rank_0_is_reduced_to_itself(operator, version):
    got = reduce(operator, version, np.array(3.0, np.float32))
    assert got.shape == ()
    assert is_right(operator, got, [3.0], "float32")


@pytest.mark.parametrize(("operator", "version"), versions(*REDUCTIONS))
@pytest.mark.parametrize("axis", [-3, 2, 9])
def test_an_axis_out_of_range_is_refused(operator, version, axis):
    with pytest.raises(ValueError, match=f"axis {axis} is out of range.*rank 2"):
        reduce(operator, version, np.ones((2, 2), np.float32), [axis])


@pytest.mark.parametrize("operator", REDUCTIONS)
def test_a_negative_axis_is_refused_before_version_11(operator):
    x = np.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match=r"axis -1 is out of range.*from version 11 on"):
        reduce(operator, 1, x, [-1])
    assert reduce(operator, 11, x, [-1]).shape == (2, 1)


@pytest.mark.parametrize(
    ("shape", "axes", "match"),
    [
        ((2, 3), [0, 0], "name one axis twice"),
        ((2, 3), [1, -1], "name one axis twice"),
        ((2, 3), 1, "of rank 1"),
        ((), [0], "rank 0 has no axes"),
    ],
)
def test_axes_must_be_a_list_of_different_axes(shape, axes, match):
    with pytest.raises(ValueError, match=match):
        reduce("ReduceSum", 13, np.ones(shape, np.float32), axes)


# Nothing, NaN and infinity.


NOTHING = {
    "ReduceSum": 0.0,
    "ReduceL1": 0.0,
    "ReduceL2": 0.0,
    "ReduceSumSquare": 0.0,
    "ReduceProd": 1.0,
    "ReduceLogSum": -INF,
    "ReduceLogSumExp": -INF,
    "ReduceMax": -INF,
    "ReduceMin": INF,
    "ReduceMean": NAN,
}


@pytest.mark.parametrize(("operator", "version"), versions(*REDUCTIONS))
def test_the_reduction_of_nothing(operator, version):
    """Undefined is: NaN for the mean of floats; for integers 0, or the lowest value for logs."""
    for name in types(operator, version):
        got = reduce(operator, version, array(np.zeros((2, 0, 3)), name), [1])
        assert got.shape == (2, 1, 3)
        wanted = NOTHING[operator]
        if name == "bool":
            wanted = operator == "ReduceMin"
        elif name not in FORMATS and not math.isfinite(wanted):
            info = np.iinfo(name)
            wanted = 0 if math.isnan(wanted) else info.max if wanted > 0 else info.min
        assert np.array_equal(got, np.full(got.shape, wanted, got.dtype), equal_nan=name in FORMATS)


@pytest.mark.parametrize(("operator", "version"), versions(*REDUCTIONS))
def test_a_reduction_that_keeps_no_elements_is_empty(operator, version):
    for name in types(operator, version):
        assert reduce(operator, version, array(np.zeros((0, 3)), name), [1]).shape == (0, 1)


@pytest.mark.parametrize(("operator", "version"), versions(*REDUCTIONS))
@pytest.mark.parametrize("length", [1, 2, 9, 33])
def test_nan_is_seen_wherever_it_stands(operator, version, length):
    """Each row has its NaN in another place; the last row has none."""
    for name in set(FORMATS) & set(types(operator, version)):
        x = np.ones((length + 1, length))
        x[np.arange(length), np.arange(length)] = NAN
        got = reduce(operator, version, array(x, name), [1], keepdims=0).astype(float)
        assert np.isnan(got).tolist() == [True] * length + [False]


@pytest.mark.parametrize(
    ("operator", "values", "wanted"),
    [
        ("ReduceSum", [INF, 1, 2], INF),
        ("ReduceSum", [1, -INF, 2], -INF),
        ("ReduceSum", [INF, 1, -INF], NAN),
        ("ReduceMean", [INF, 1, 2], INF),
        ("ReduceL1", [-INF, 1, 2], INF),
        ("ReduceL2", [1, -INF, 2], INF),
        ("ReduceL2", [0, 0, 0], 0),
        ("ReduceSumSquare", [-INF, 1, 2], INF),
        ("ReduceProd", [INF, 2, -1], -INF),
        ("ReduceProd", [INF, 2, 0], NAN),
        ("ReduceMax", [-INF, -INF, -INF], -INF),
        ("ReduceLogSum", [0, 0, 0], -INF),
        ("ReduceLogSum", [1, -3, 1], NAN),
        ("ReduceLogSum", [1, INF, 1], INF),
        ("ReduceLogSumExp", [-INF, -INF, -INF], -INF),
        ("ReduceLogSumExp", [-INF, 3, -INF], 3),
        ("ReduceLogSumExp", [1, INF, -INF], INF),
    ],
)
@pytest.mark.parametrize("name", list(FORMATS))
def test_infinity_and_zero(operator, values, wanted, name):
    for order in (values, values[::-1], values[1:] + values[:1]):
        got = reduce(operator, 13, array(order, name), [0], keepdims=0).item()
        assert math.isnan(got) if math.isnan(wanted) else got == wanted


# Sums and products of floats that try the last bit.


@settings(deadline=None, max_examples=200)
@given(
    st.sampled_from(["float16", "bfloat16", "float32"]),
    st.lists(st.tuples(st.integers(-(2**24), 2**24), st.integers(-30, 8)), min_size=1, max_size=40),
    st.randoms(use_true_random=False),
)
def test_a_sum_is_rounded_once_whatever_cancels(name, parts, random):
    """Most of the terms come back with the other sign, so that the small ones are left."""
    values = [float(array(m * 2.0**e, name)) for m, e in parts]
    values = [v for v in values if math.isfinite(v)]
    values += [-v for v in values[: len(values) * 2 // 3]]
    random.shuffle(values)
    total = rounded(sum(map(Fraction, values)), name)
    if abs(total) < 60000:
        assert reduce("ReduceSum", 13, array(values, name), [0], keepdims=0) == total


def test_a_sum_in_float32_is_not_rounded_to_float64_first():
    """1 + 2**-24 is a tie that goes down, if the 2**-80 is lost on the way."""
    x = np.array([1, 2**-24, 2**-80], np.float32)
    assert reduce("ReduceSum", 13, x, [0], keepdims=0) == np.float32(1 + 2**-23)
    assert reduce("ReduceSum", 13, -x, [0], keepdims=0) == np.float32(-1 - 2**-23)
    x = np.array([1 + 2**-23, 2**-24, -(2.0**-80)], np.float32)
    assert reduce("ReduceSum", 13, x, [0], keepdims=0) == np.float32(1 + 2**-23)


def test_a_float64_sum_keeps_what_a_large_term_hides():
    x = np.array([1e16, 1, 1, -1e16, 3, 2.0**-60], np.float64)
    assert reduce("ReduceSum", 13, x, [0], keepdims=0) == 5


def test_a_long_float32_sum_and_mean():
    """Ten thousand times 0.1 in float32 itself is off by far more than the last bit."""
    x = np.full(10_000, 0.1, np.float32)
    one = Fraction(float(x[0]))
    total = reduce("ReduceSum", 13, x, [0], keepdims=0)
    assert float(total) == rounded(10_000 * one, "float32")
    assert reduce("ReduceMean", 18, x, [0], keepdims=0) == x[0]
    ones = array(np.ones(3000), "float16")
    assert reduce("ReduceSum", 13, ones, [0], keepdims=0) == 3000


def test_a_float16_mean_does_not_overflow_on_the_way():
    x = array([60000, 60000, 60000, 30000], "float16")
    assert reduce("ReduceMean", 18, x, [0], keepdims=0) == np.float16(52500)


@pytest.mark.parametrize(
    ("name", "large"), [("bfloat16", 2.0**100), ("float32", 2.0**100), ("float64", 2.0**1000)]
)
def test_a_product_does_not_overflow_on_the_way(name, large):
    """A large value twenty times, its reciprocal twenty times, and 3."""
    values = [large] * 20 + [3.0] + [1 / large] * 20
    for order in (values, values[::-1], values[::2] + values[1::2]):
        assert reduce("ReduceProd", 13, array(order, name), [0], keepdims=0) == 3
    assert reduce("ReduceProd", 13, array([large] * 20, name), [0], keepdims=0) == INF
    assert reduce("ReduceProd", 13, array([1 / large] * 20, name), [0], keepdims=0) == 0
    assert reduce("ReduceProd", 13, array([large] * 20 + [0.0], name), [0], keepdims=0) == 0


@pytest.mark.parametrize(
    ("name", "scale"),
    [("float16", 2.0**12), ("bfloat16", 2.0**100), ("float32", 2.0**-80), ("float64", 2.0**800),
     ("float64", 2.0**-1060)],
)  # fmt: skip
def test_the_squares_of_a_norm_do_not_overflow(name, scale):
    x = array([[3 * scale, -4 * scale], [0, 5 * scale]], name)
    got = reduce("ReduceL2", 18, x, [1], keepdims=0)
    assert got.tolist() == [5 * scale, 5 * scale]


@pytest.mark.parametrize("name", list(FORMATS))
@pytest.mark.parametrize("shift", [1000.0, -1000.0])
def test_the_exponentials_of_a_log_sum_exp_do_not_overflow(name, shift):
    values = [shift, shift + 1, shift - 2]
    x = array(values, name)
    got = reduce("ReduceLogSumExp", 18, x, [0], keepdims=0)
    assert is_right("ReduceLogSumExp", got, [float(v) for v in x], name)


def test_the_logarithm_of_a_sum_near_to_one_keeps_the_rest():
    x = np.array([1.0, 2.0**-70], np.float32)
    assert reduce("ReduceLogSum", 18, x, [0], keepdims=0) == np.float32(2.0**-70)


# Integers.


@pytest.mark.parametrize("name", ["int32", "uint32", "int64", "uint64"])
def test_a_mean_of_integers_is_the_exact_one_rounded_towards_zero(name):
    """The sum does not wrap around: the mean lies between the least and the greatest element."""
    info = np.iinfo(name)
    rows = [[info.max] * 3, [info.max, info.max, info.max - 1], [info.min] * 3, [0, 1, 1]]
    got = reduce("ReduceMean", 18, np.array(rows, name), [1], keepdims=0)
    assert got.tolist() == [info.max, info.max - 1, info.min, 0]
    if info.min < 0:
        assert reduce("ReduceMean", 18, np.array([0, -1, -1], name), [0]).tolist() == [0]
        assert reduce("ReduceMean", 18, np.array([-3, -4], name), [0]).tolist() == [-3]


def test_sums_of_64_bits_wrap_around():
    x = np.array([2**63 - 1, 1, 5], np.int64)
    assert reduce("ReduceSum", 13, x, [0], keepdims=0) == -(2**63) + 5
    assert reduce("ReduceL1", 18, np.array([-(2**63), 1], np.int64), [0]) == -(2**63) + 1
    y = np.array([2**64 - 1, 2**53 + 1, 1], np.uint64)
    assert reduce("ReduceSum", 13, y, [0], keepdims=0).item() == 2**53 + 1
    z = np.array([2**33 + 1, 2**33 + 1], np.int64)
    assert reduce("ReduceProd", 18, z, [0], keepdims=0) == (2**33 + 1) ** 2 - 2**66
    assert reduce("ReduceSumSquare", 18, z, [0], keepdims=0) == 2**35 + 2


def test_a_norm_of_integers_neither_wraps_around_nor_goes_through_float32():
    """24999999 has the root 4999.99, but as a float32 it is 25000000."""
    x = np.array([4999, 99, 14, 1], np.int32)
    assert sum(v * v for v in x.tolist()) == 24999999
    assert reduce("ReduceL2", 18, x, [0], keepdims=0) == 4999
    big = np.array([3 * 10**9, 4 * 10**9], np.int64)
    assert reduce("ReduceL2", 18, big, [0], keepdims=0) == 5 * 10**9


@pytest.mark.parametrize("version", [1, 11, 13, 18])
def test_the_logarithm_of_integers_rounds_towards_zero(version):
    """The last row's sum is just below e**40, which is 40 for a float64."""
    below = math.floor(Decimal(40).exp())
    rows = [[1, 0], [1, 1], [7, 1], [10, 11], [below, 0], [below, 1]]
    got = reduce("ReduceLogSum", version, np.array(rows, np.int64), [1], keepdims=0)
    assert got.tolist() == [0, 0, 2, 3, 39, 40]


@pytest.mark.parametrize("version", [1, 11, 13, 18])
def test_a_log_sum_exp_of_integers_rounds_towards_zero(version):
    """Such as 2**62 + 1, which is no float64, and -9 + log(2) = -8.3."""
    rows = [[2, 2], [-9, -9], [2**62 + 1, 2**62 + 1], [-(2**62) - 1, -(2**62) - 1], [0, -1]]
    got = reduce("ReduceLogSumExp", version, np.array(rows, np.int64), [1], keepdims=0)
    assert got.tolist() == [2, -8, 2**62 + 1, -(2**62), 0]
    assert reduce("ReduceLogSumExp", version, np.array([-5], np.int64), [0]).tolist() == [-5]


# ArgMax and ArgMin.


def arg(operator, version, x, axis, *, keepdims=1, last=0):
    attributes = {"axis": axis, "keepdims": keepdims}
    if version >= 12:
        attributes["select_last_index"] = last
    before = x.tobytes()
    got = np.asarray(function(operator, version)(x, **attributes))
    assert x.tobytes() == before
    assert got.dtype == np.int64
    return got


@pytest.mark.parametrize(("operator", "version"), versions(*ARGS))
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("last", [0, 1])
def test_the_index_in_every_type(operator, version, axis, last):
    """Among many equal values, the first one counts, or the last one from version 12 on."""
    rng = np.random.default_rng(version)
    last = last if version >= 12 else 0
    best = {"ArgMax": max, "ArgMin": min}[operator]
    for name in types(operator, version):
        x = array(rng.integers(0, 3, (2, 5, 4)), name)
        for keepdims in (0, 1):
            got = arg(operator, version, x, axis, keepdims=keepdims, last=last)
            assert got.shape == kept_shape(x.shape, [axis], keepdims)
            wanted = []
            for values in groups(x, [axis]).values():
                places = [i for i, v in enumerate(values) if v == best(values)]
                wanted.append(places[-last])
            assert got.ravel().tolist() == wanted


@pytest.mark.parametrize("operator", ARGS)
def test_indices_of_64_bits_are_not_found_through_floats(operator):
    low, high = 2**60, 2**60 + 1
    x = np.array([high, low, high] if operator == "ArgMin" else [low, high, low], np.int64)
    assert arg(operator, 13, x, 0).tolist() == [1]


@pytest.mark.parametrize(("operator", "version"), [v for v in versions(*ARGS) if v[1] >= 11])
def test_a_negative_axis_counts_from_the_end(operator, version):
    x = np.array([[1, 2, 0], [5, 4, 4.5]], np.float32)
    wanted = {"ArgMax": [[1], [0]], "ArgMin": [[2], [1]]}[operator]
    assert arg(operator, version, x, -1).tolist() == wanted


@pytest.mark.parametrize("operator", ARGS)
def test_arg_refuses_negative_axes_before_version_11(operator):
    with pytest.raises(ValueError, match=r"axis -1 is out of range.*from version 11 on"):
        arg(operator, 1, np.ones((2, 2), np.float32), -1)


@pytest.mark.parametrize(("operator", "version"), versions(*ARGS))
def test_arg_refuses_axes_out_of_range(operator, version):
    with pytest.raises(ValueError, match=r"axis 2 is out of range.* to 1"):
        arg(operator, version, np.ones((2, 2), np.float32), 2)
    with pytest.raises(ValueError, match="rank 0 has no axes"):
        arg(operator, version, np.array(1.0, np.float32), 0)


@pytest.mark.parametrize(("operator", "version"), versions(*ARGS))
def test_an_empty_axis_has_no_index(operator, version):
    """Version 11 alone refuses every empty tensor."""
    with pytest.raises(ValueError, match=r"must not be empty|no element to name"):
        arg(operator, version, np.ones((2, 0), np.float32), 1)
    if version == 11:
        with pytest.raises(ValueError, match="must not be empty"):
            arg(operator, version, np.ones((2, 0), np.float32), 0)
    else:
        assert arg(operator, version, np.ones((2, 0), np.float32), 0).shape == (1, 0)


@pytest.mark.parametrize("operator", ARGS)
@pytest.mark.parametrize("name", list(FORMATS))
def test_nan_is_the_index_wherever_it_stands(operator, name):
    x = np.ones((9, 9))
    x[np.arange(9), np.arange(9)] = NAN
    assert arg(operator, 13, array(x, name), 1).ravel().tolist() == list(range(9))
    assert arg(operator, 13, array([NAN, 1, NAN, 2], name), 0, last=1).tolist() == [2]
