"""The scatter family, held against the loops of the specification."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_calls import dtypes, versions
from tensor_calls import assert_same, call, filled, ints

ELEMENTS = versions("Scatter", "ScatterElements")
ND = [v for _, v in versions("ScatterND")]
PYTHON = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b, "max": max, "min": min}
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def known(version):
    return {16: ["add", "mul"], 18: ["add", "mul", "max", "min"]}.get(version, [])


def loop_elements(data, indices, updates, axis, function=lambda _, new: new):
    """Work the updates in one after the other, in row-major order."""
    result = data.copy()
    for place in np.ndindex(*indices.shape):
        at = list(place)
        at[axis] = indices[place]
        result[tuple(at)] = function(result[tuple(at)], updates[place])
    return result


def loop_nd(data, indices, updates, function=lambda _, new: new):
    """Follow the equation of the text."""
    result = data.copy()
    for place in np.ndindex(*indices.shape[:-1]):
        at = tuple(indices[place].tolist())
        result[at] = function(result[at], updates[place])
    return result


@pytest.mark.parametrize(("operator", "version"), ELEMENTS)
def test_elements_of_every_type(operator, version):
    """Elements are moved bit by bit, the others stay."""
    indices = ints([[2, 0], [1, 2]])
    for dtype in dtypes(operator, version):
        data, updates = filled((3, 3), dtype), filled((9,), dtype)[5:].reshape(2, 2)
        for axis in (0, 1):
            got = call(operator, version, data, indices, updates, axis=axis)
            assert_same(got, loop_elements(data, indices, updates, axis))


@pytest.mark.parametrize("version", ND)
def test_slices_of_every_type(version):
    """Slices are moved bit by bit, the others stay."""
    indices = ints([[[1, 0]], [[-1, 2]]])
    for dtype in dtypes("ScatterND", version):
        data, updates = filled((2, 3, 2), dtype), filled((12,), dtype)[8:].reshape(2, 1, 2)
        got = call("ScatterND", version, data, indices, updates)
        assert_same(got, loop_nd(data, indices, updates))


@settings(deadline=None, max_examples=150)
@given(data=st.data(), shape=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_elements_anywhere(data, shape):
    """Fewer indices than data, negative ones, duplicates with a reduction."""
    axis = data.draw(st.integers(0, len(shape) - 1))
    smaller = [data.draw(st.integers(0, n)) for n in shape]
    smaller[axis] = data.draw(st.integers(0, 6))
    size = shape[axis]
    count = math.prod(smaller)
    draw = st.lists(st.integers(-size, size - 1), min_size=count, max_size=count)
    indices = np.array(data.draw(draw), np.int64).reshape(smaller)
    x, updates = filled(tuple(shape), np.int64), filled(tuple(smaller), np.int64) + 20
    for name, function in PYTHON.items():
        got = call("ScatterElements", 18, x, indices, updates, axis=axis, reduction=name)
        assert_same(got, loop_elements(x, indices, updates, axis, function))


@settings(deadline=None, max_examples=100)
@given(data=st.data())
def test_tuples_anywhere(data):
    """Tuples of none, some or all axes, negative indices, duplicates with a reduction."""
    shape = (2, 3, 2)
    k = data.draw(st.integers(0, 3))
    count = data.draw(st.integers(0, 4))
    rows = [[data.draw(st.integers(-n, n - 1)) for n in shape[:k]] for _ in range(count)]
    indices = np.array(rows, np.int64).reshape(count, k)
    x, updates = filled(shape, np.int32), filled((count, *shape[k:]), np.int32) + 20
    vectors = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
    for name, function in vectors.items():
        got = call("ScatterND", 18, x, indices, updates, reduction=name)
        assert_same(got, loop_nd(x, indices, updates, function))


@pytest.mark.parametrize("version", [16, 18])
@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_and_products_round_once(version, dtype):
    """2048 + 0.5 + 0.5 loses both halves in float16, step by step."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-100, 100, 4).astype(dtype)
    updates = rng.uniform(-3, 3, 12).astype(dtype)
    indices = rng.integers(0, 4, 12)
    for name in ("add", "mul"):
        got = call("ScatterElements", version, x, indices, updates, reduction=name)
        for i in range(4):
            exact = Fraction(float(x[i]))
            for k in np.flatnonzero(indices == i):
                exact = PYTHON[name](exact, Fraction(float(updates[k])))
            error = abs(Fraction(float(got[i])) - exact)
            ulp = Fraction(float(np.spacing(np.abs(np.array(float(exact), dtype)))))
            assert error <= ulp * Fraction(501, 1000)


@pytest.mark.parametrize("dtype", [np.int8, np.uint64])
def test_integers_wrap_around(dtype):
    """As two's complement, in sums and products."""
    high = np.iinfo(dtype).max
    x, one = np.array([high, high], dtype), np.array([1, 2], dtype)
    assert call("ScatterElements", 18, x, ints(0, 1), one, reduction="add").tolist() == [
        np.iinfo(dtype).min,
        np.iinfo(dtype).min + 1,
    ]
    product = call("ScatterElements", 18, x, ints(0, 1), one, reduction="mul")
    assert product[1] == np.array(high, dtype) * np.array(2, dtype)


def test_nan_is_handed_on_and_booleans_are_logic():
    """What the text leaves open, and the module says."""
    x = np.array([1, np.nan], np.float32)
    for name in PYTHON:
        one = np.array([np.nan, 2], np.float32)
        assert np.isnan(call("ScatterElements", 18, x, ints(0, 1), one, reduction=name)).all()
    truth = np.array([True, False])
    for name, wanted in {"add": [1, 1], "mul": [0, 0], "max": [1, 1], "min": [0, 0]}.items():
        got = call("ScatterND", 18, truth, ints([[0], [1]]), ~truth, reduction=name)
        assert got.tolist() == wanted


def test_the_last_of_two_updates_stands():
    """The text forbids it and says nothing more."""
    got = call("ScatterElements", 18, filled((2,)), ints(1, 1), np.array([5, 6], np.float32))
    assert got.tolist() == [1, 6]


@pytest.mark.parametrize("version", [16, 18])
@pytest.mark.parametrize("operator", ["ScatterElements", "ScatterND"])
def test_reductions_by_version(operator, version):
    """max and min came with version 18; no other name is taken for one."""
    indices = ints([1]) if operator == "ScatterElements" else ints([[1]])
    x, updates = filled((2,)), np.array([3], np.float32)
    for name in ("none", "add", "mul", "max", "min", "sub", ""):
        if name in ("none", *known(version)):
            assert call(operator, version, x, indices, updates, reduction=name)[0] == x[0]
            continue
        with pytest.raises(ValueError, match="reduction is"):
            call(operator, version, x, indices, updates, reduction=name)


@pytest.mark.parametrize("reduction", ["add", "max"])
def test_strings_and_complex_numbers_lack_reductions(reduction):
    """Nothing in the text gives them a sum or an order."""
    words = np.array(["a", "b"], object)
    with pytest.raises(ValueError, match="strings"):
        call("ScatterElements", 18, words, ints([0]), words[:1], reduction=reduction)
    numbers = np.array([1j, 2])
    if reduction == "max":
        with pytest.raises(ValueError, match="complex"):
            call("ScatterElements", 18, numbers, ints([0]), numbers[:1], reduction=reduction)
    else:
        got = call("ScatterElements", 18, numbers, ints([0]), numbers[1:], reduction=reduction)
        assert got.tolist() == [2 + 1j, 2]


@pytest.mark.parametrize(("operator", "version"), ELEMENTS)
def test_indices_out_of_bounds(operator, version):
    """A negative index is one in Scatter-9, which does not say that it counts from the back."""
    x, one = filled((3,)), np.array([9], np.float32)
    for index in (3, -4):
        with pytest.raises(IndexError, match=str(index)):
            call(operator, version, x, ints([index]), one)
    if version == 9:
        with pytest.raises(IndexError, match="does not count from the back"):
            call(operator, version, x, ints([-1]), one)
    else:
        assert call(operator, version, x, ints([-1], dtype=np.int32), one)[2] == 9


SHAPES = [
    ((2, 2), (1,), (1,), 0),
    ((), (), (), 0),
    ((2, 2), (1, 3), (1, 3), 0),
    ((2, 2), (1, 2), (2, 2), 0),
    ((2, 2), (1, 2), (1, 2), 2),
]


@pytest.mark.parametrize(("data", "indices", "updates", "axis"), SHAPES)
def test_shapes_that_do_not_fit(data, indices, updates, axis):
    """Ranks, sizes, updates, axis."""
    zeros = np.zeros(indices, np.int64)
    with pytest.raises(ValueError, match=r"wanted|outside|indices"):
        call("ScatterElements", 18, filled(data), zeros, filled(updates), axis=axis)


@pytest.mark.parametrize(
    ("data", "indices", "updates"),
    [((2,), (1, 2), (1,)), ((), (1, 0), (1,)), ((2,), (), ()), ((2, 2), (1, 1), (1, 1))],
)
def test_tuples_that_do_not_fit(data, indices, updates):
    """Ranks of at least 1, tuples no longer than the rank, updates of the one shape."""
    with pytest.raises(ValueError, match="wanted"):
        call("ScatterND", 18, filled(data), np.zeros(indices, np.int64), filled(updates))


def test_updates_of_another_type():
    """The schema has one type for both."""
    with pytest.raises(TypeError, match="float64"):
        call("ScatterND", 18, filled((2,)), ints([[0]]), np.zeros(1))


def loop_cache(cache, update, starts, axis, mode):
    """Follow the pseudo-code of TensorScatter."""
    result = cache.copy()
    for prefix in np.ndindex(*cache.shape[:axis]):
        for i in range(update.shape[axis]):
            at = int(starts[prefix[0]]) + i
            if mode == "circular":
                at %= cache.shape[axis]
            result[(*prefix, at)] = update[(*prefix, i)]
    return result


@settings(deadline=None, max_examples=100)
@given(data=st.data(), axis=st.integers(1, 3), size=st.integers(1, 4))
def test_cache_follows_the_pseudo_code(data, axis, size):
    """Both modes, on every axis but the batch."""
    shape = [2, 2, 1, 3]
    shape[axis] = size
    count = data.draw(st.integers(0, size))
    cache = filled(tuple(shape), np.int32)
    shape[axis] = count
    update = filled(tuple(shape), np.int32) + 50
    starts = [data.draw(st.integers(0, size - count)) for _ in range(2)]
    anywhere = [data.draw(st.integers(-9, 9)) for _ in range(2)]
    for mode, at in (("linear", starts), ("circular", anywhere)):
        got = call("TensorScatter", 24, cache, update, ints(at), axis=axis - 4, mode=mode)
        assert_same(got, loop_cache(cache, update, at, axis, mode))


def test_cache_of_every_type():
    """Starts are 0 if omitted, and the axis is the last but one."""
    for dtype in dtypes("TensorScatter", 24):
        cache, update = filled((2, 3, 2), dtype), filled((2, 2, 2), dtype)
        got = call("TensorScatter", 24, cache, update)
        assert_same(got, loop_cache(cache, update, [0, 0], 1, "linear"))


@pytest.mark.parametrize(
    ("cache", "update", "starts", "attributes"),
    [
        ((2, 3, 1), (2, 2, 1), [2, 0], {}),
        ((2, 3, 1), (2, 2, 1), [-1, 0], {}),
        ((2, 3, 1), (2, 4, 1), [0, 0], {"mode": "circular"}),
        ((2, 3, 1), (2, 1, 2), [0, 0], {}),
        ((2, 3, 1), (2, 1), [0, 0], {}),
        ((2, 3, 1), (2, 1, 1), [0], {}),
        ((2, 3), (1, 3), [0, 0], {}),
        ((2, 3), (2, 1), [0, 0], {"axis": 2}),
        ((2, 3, 1), (2, 1, 1), [0, 0], {"mode": "ring"}),
    ],
)
def test_what_a_cache_refuses(cache, update, starts, attributes):
    """Ranges, shapes, axis and mode."""
    with pytest.raises(ValueError, match=r"wanted|outside"):
        call("TensorScatter", 24, filled(cache), filled(update), ints([*starts]), **attributes)


def test_a_start_near_the_largest_integer():
    """The modulo is taken before the sum, which would overflow."""
    got = call(
        "TensorScatter",
        24,
        np.zeros((1, 3, 1)),
        np.ones((1, 2, 1)),
        ints([2**63 - 1]),
        mode="circular",
    )
    assert got.reshape(-1).tolist() == [0, 1, 1]
