"""GatherElements, GatherND, Compress, NonZero and OneHot, held against loops."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_calls import dtypes, versions
from tensor_calls import assert_same, call, filled, ints

ND = [v for _, v in versions("GatherND")]
COMPRESS = [v for _, v in versions("Compress")]
ONE_HOT = [v for _, v in versions("OneHot")]


def loop_elements(data, indices, axis):
    result = np.empty(indices.shape, data.dtype)
    for place in np.ndindex(*indices.shape):
        at = list(place)
        at[axis] = indices[place]
        result[place] = data[tuple(at)]
    return result


@pytest.mark.parametrize("version", [11, 13])
def test_elements_of_every_type(version):
    """Elements are moved bit by bit."""
    indices = ints([[2, 0], [-1, -3]])
    for dtype in dtypes("GatherElements", version):
        data = filled((3, 3), dtype)
        for axis in (0, 1, -1):
            got = call("GatherElements", version, data, indices, axis=axis)
            assert_same(got, loop_elements(data, indices, axis))


@settings(deadline=None, max_examples=120)
@given(data=st.data(), shape=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_elements_anywhere(data, shape):
    """The indices may be fewer than the data on other axes, and more on their own."""
    axis = data.draw(st.integers(0, len(shape) - 1))
    smaller = [data.draw(st.integers(0, n)) for n in shape]
    smaller[axis] = data.draw(st.integers(0, 6))
    size, count = shape[axis], math.prod(smaller)
    draw = st.lists(st.integers(-size, size - 1), min_size=count, max_size=count)
    indices = np.array(data.draw(draw), np.int32).reshape(smaller)
    x = filled(tuple(shape), np.int64)
    assert_same(call("GatherElements", 13, x, indices, axis=axis), loop_elements(x, indices, axis))


@pytest.mark.parametrize("index", [2, -3, 2**40])
def test_elements_out_of_bounds(index):
    """An error in the text; nothing wraps twice."""
    with pytest.raises(IndexError, match=str(index)):
        call("GatherElements", 13, filled((2,)), ints([index]))


@pytest.mark.parametrize(
    ("data", "indices", "axis"),
    [((2, 2), (2,), 0), ((), (), 0), ((2, 2), (1, 3), 0), ((2, 2), (1, 1), 2), ((2,), (1,), -2)],
)
def test_elements_that_do_not_fit(data, indices, axis):
    """Rank, sizes of other axes, axis."""
    with pytest.raises(ValueError, match=r"wanted|outside"):
        call("GatherElements", 13, filled(data), np.zeros(indices, np.int64), axis=axis)


def loop_nd(data, indices, b):
    tail = data.shape[b + indices.shape[-1] :]
    result = np.empty(indices.shape[:-1] + tail, data.dtype)
    for place in np.ndindex(*indices.shape[:-1]):
        result[place] = data[place[:b] + tuple(indices[place].tolist())]
    return result


@pytest.mark.parametrize("version", ND)
def test_slices_of_every_type(version):
    """Slices are moved bit by bit."""
    indices = ints([[[1, -3]], [[-2, 2]]])
    for dtype in dtypes("GatherND", version):
        data = filled((2, 3, 2), dtype)
        assert_same(call("GatherND", version, data, indices), loop_nd(data, indices, 0))


@pytest.mark.parametrize("version", [12, 13])
@settings(deadline=None, max_examples=120)
@given(data=st.data())
def test_slices_within_batches(version, data):
    """Every number of batch axes, lengths of tuples and ranks of indices."""
    shape = tuple(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4)))
    b = data.draw(st.integers(0, len(shape) - 1))
    k = data.draw(st.integers(1, len(shape) - b))
    middle = tuple(data.draw(st.lists(st.integers(0, 3), max_size=2)))
    indices = np.empty((*shape[:b], *middle, k), np.int64)
    for place in np.ndindex(*indices.shape):
        size = shape[b + place[-1]]
        indices[place] = data.draw(st.integers(-size, size - 1))
    x = filled(shape, np.int16)
    got = call("GatherND", version, x, indices, batch_dims=b)
    assert_same(got, loop_nd(x, indices, b))


@pytest.mark.parametrize(
    ("data", "indices", "b"),
    [
        ((2, 2), (1, 3), 0),
        ((2, 2), (1, 0), 0),
        ((2, 2), (1, 1), 1),
        ((2, 2), (2, 2), 1),
        ((2, 2), (2, 1), 2),
        ((2, 2), (2, 1), -1),
        ((), (1,), 0),
        ((2,), (), 0),
    ],
)
def test_slices_that_do_not_fit(data, indices, b):
    """The conditions that the text numbers."""
    with pytest.raises(ValueError, match=r"wanted|last size"):
        call("GatherND", 13, filled(data), np.zeros(indices, np.int64), batch_dims=b)


@pytest.mark.parametrize("version", ND)
@pytest.mark.parametrize("row", [[0, 3], [0, -4], [2, 0]])
def test_tuples_out_of_bounds(version, row):
    """Each index has the bounds of its own axis."""
    with pytest.raises(IndexError, match="outside"):
        call("GatherND", version, filled((2, 3)), ints([row]))


@pytest.mark.parametrize("version", COMPRESS)
def test_compress_of_every_type(version):
    """With an axis, and without one; the condition may be shorter."""
    condition = np.array([False, True, True, False])
    for dtype in dtypes("Compress", version):
        x = filled((2, 5), dtype)
        got = call("Compress", version, x, condition, axis=1)
        assert_same(got, np.stack([x[:, 1], x[:, 2]], 1))
        flat = x.reshape(-1)
        wanted = np.stack([flat[1], flat[2]]).astype(dtype) if dtype.kind != "O" else flat[1:3]
        assert_same(call("Compress", version, x, condition), wanted)


@settings(deadline=None)
@given(condition=st.lists(st.booleans(), max_size=12))
def test_compress_does_what_numpy_does(condition):
    """Source: Compress-11, "behaves like numpy.compress"."""
    x = filled((3, 4), np.int32)
    truth = np.array(condition, bool)
    assert_same(call("Compress", 11, x, truth), np.compress(truth, x))
    if len(condition) <= 4:
        assert_same(call("Compress", 11, x, truth, axis=-1), np.compress(truth, x, axis=1))


def test_compress_refuses():
    """Axes by version, ranks, and a true element where there is no slice."""
    x, yes = filled((2, 2)), np.array([True, True])
    with pytest.raises(ValueError, match="does not count from the back"):
        call("Compress", 9, x, yes, axis=-1)
    assert_same(call("Compress", 28, x, yes, axis=-1), x)
    with pytest.raises(ValueError, match="axis 2"):
        call("Compress", 28, x, yes, axis=2)
    with pytest.raises(ValueError, match="rank 1"):
        call("Compress", 28, x, yes.reshape(1, 2))
    with pytest.raises(ValueError, match="rank >= 1"):
        call("Compress", 28, filled(()), yes)
    with pytest.raises(ValueError, match="true at 2"):
        call("Compress", 28, x, np.array([False, False, True]), axis=0)
    assert_same(call("Compress", 28, x, np.array([True, True, False]), axis=0), x)


@pytest.mark.parametrize("version", [9, 13])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 0, 3), (2, 2, 2)])
def test_non_zero_of_every_type_and_rank(version, shape):
    """One column per element, in row-major order; a scalar has no rows."""
    for dtype in dtypes("NonZero", version):
        x = filled(shape, dtype)
        zero = "" if dtype.kind == "O" else np.zeros((), dtype)
        places = [place for place in np.ndindex(*shape) if x[place] != zero]
        wanted = np.array(places, np.int64).reshape(len(places), len(shape)).T
        assert_same(call("NonZero", version, x), np.ascontiguousarray(wanted))


def test_non_zero_of_special_floats():
    """NaN is not zero, and -0 is."""
    x = np.array([np.nan, -0.0, np.inf, 5e-324])
    assert call("NonZero", 13, x).tolist() == [[0, 2, 3]]


def loop_one_hot(indices, depth, values, axis, negative):
    rank = indices.ndim + 1
    axis = axis + rank if axis < 0 else axis
    shape = list(indices.shape)
    shape.insert(axis, depth)
    result = np.empty(shape, values.dtype)
    for place in np.ndindex(*shape):
        index = int(indices[place[:axis] + place[axis + 1 :]])
        if negative and index < 0:
            index += depth
        result[place] = values[1 if index == place[axis] else 0]
    return result


@pytest.mark.parametrize("version", ONE_HOT)
def test_one_hot_of_every_type(version):
    """Three types that have nothing to do with each other."""
    indices = [[0, 2, 1], [3, 1, 2]]
    for dtype in dtypes("OneHot", version, "T1"):
        x = np.array(indices, dtype)
        values = np.array([3, 7], np.int16)
        got = call("OneHot", version, x, np.array(3), values)
        assert_same(got, loop_one_hot(x, 3, values, -1, negative=True))
    for dtype in dtypes("OneHot", version, "T2"):
        got = call("OneHot", version, ints(indices), np.array(3, dtype), values)
        assert got.shape == (2, 3, 3)
    for dtype in dtypes("OneHot", version, "T3"):
        values = filled((2,), dtype)
        got = call("OneHot", version, ints(indices), np.array([3]), values, axis=1)
        assert_same(got, loop_one_hot(ints(indices), 3, values, 1, negative=True))


@settings(deadline=None, max_examples=120)
@given(
    data=st.data(),
    shape=st.lists(st.integers(0, 3), max_size=2),
    depth=st.integers(0, 4),
    version=st.sampled_from(ONE_HOT),
)
def test_one_hot_anywhere(data, shape, depth, version):
    """Negative indices count from the back from version 11 on."""
    count = math.prod(shape)
    draw = st.lists(st.integers(-6, 6), min_size=count, max_size=count)
    indices = np.array(data.draw(draw), np.int64).reshape(shape)
    lowest = -1 if version == 9 else -len(shape) - 1
    axis = data.draw(st.integers(lowest, len(shape)))
    values = np.array([-0.0, np.inf])
    got = call("OneHot", version, indices, np.array(depth), values, axis=axis)
    assert_same(got, loop_one_hot(indices, depth, values, axis, negative=version > 9))


def test_one_hot_at_the_limits():
    """What no int64 holds is out of range; fractions are cut."""
    values = np.array([0, 1], np.int8)
    cases = [
        (np.array([2**64 - 1, 1], np.uint64), [[0, 0], [0, 1]]),
        (ints(-(2**63), 2**63 - 1), [[0, 0], [0, 0]]),
        (np.array([np.nan, np.inf, -1e300, 1.9, -0.9]), [[0, 0]] * 3 + [[0, 1], [1, 0]]),
    ]
    for indices, wanted in cases:
        assert call("OneHot", 11, indices, np.array(2), values).tolist() == wanted


@pytest.mark.parametrize(
    ("version", "depth", "values", "axis"),
    [
        (11, [2, 3], 2, -1),
        (11, -1, 2, -1),
        (11, 2, 3, -1),
        (11, 2, 2, 2),
        (11, 2, 2, -3),
        (9, 2, 2, -2),
    ],
)
def test_what_one_hot_refuses(version, depth, values, axis):
    """One depth >= 0, two values, an axis in range."""
    with pytest.raises(ValueError, match=r"wanted|outside"):
        call("OneHot", version, ints([0]), np.array(depth), filled((values,)), axis=axis)
