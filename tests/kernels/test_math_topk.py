"""TopK, held against Python's stable sort."""

import math

import ml_dtypes
import numpy as np
import onnx.defs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from opcheck.kernels import registry

NAN, INF = math.nan, math.inf


def function(version):
    return registry.find(onnx.defs.get_schema("TopK", version, "")).function


def call(version, x, k, *, axis=-1, largest=1, in_order=1):
    if version == 1:
        return function(1)(x, axis=axis, k=k)
    count = np.array([k], np.int64)
    if version == 10:
        return function(10)(x, count, axis=axis)
    return function(version)(x, count, axis=axis, largest=largest, sorted=in_order)


def slow(row, k, largest):
    """Return values and indices of one row; NaN is the largest."""

    def key(i):
        nan = row[i] != row[i]
        value = 0 if nan else row[i]
        return (not nan, -value) if largest else (nan, value)

    order = sorted(range(len(row)), key=key)[:k]
    return [row[i] for i in order], order


def check(x, k, axis, largest, result):
    values, indices = result
    assert values.dtype == x.dtype
    assert indices.dtype == np.int64
    moved = np.moveaxis(x, axis, -1)
    shape = (*moved.shape[:-1], k)
    assert np.moveaxis(values, axis, -1).shape == np.moveaxis(indices, axis, -1).shape == shape
    seen = np.moveaxis(values, axis, -1).reshape(-1, k).tolist()
    places = np.moveaxis(indices, axis, -1).reshape(-1, k).tolist()
    lines = moved.reshape(-1, moved.shape[-1]).tolist()
    for row, vs, ps in zip(lines, seen, places, strict=True):
        wanted, order = slow(row, k, largest)
        assert ps == order
        assert [str(v) for v in vs] == [str(w) for w in wanted]


SMALL = {"shape": hnp.array_shapes(max_dims=3, max_side=5)}


@given(
    hnp.arrays(np.float32, elements=st.sampled_from([-INF, -1, -0.0, 0, 2, INF, NAN]), **SMALL),
    st.data(),
)
def test_floats_are_taken_in_stable_order(x, data):
    """Of equal values the lower index comes first, for both directions and every axis."""
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    k = data.draw(st.integers(1, x.shape[axis]))
    largest = data.draw(st.booleans())
    check(x, k, axis, largest, call(11, x, k, axis=axis, largest=int(largest)))
    for version in (1, 10):
        check(x, k, axis, True, call(version, x, k, axis=axis))


TYPES = "uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float64 bfloat16".split()


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("largest", [0, 1])
def test_every_type_keeps_its_extremes(name, largest):
    """No type passes through one that has fewer bits or another sign."""
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = [info.max, info.min, info.max - 1, info.min + 1, 0, info.max]
    else:
        values = [1.5, -2.0, 0.25, -0.125, 1.5, NAN]
    x = (
        np.array([values, values[::-1]]).astype(dtype)
        if dtype.kind not in "iu"
        else np.array([values, values[::-1]], dtype)
    )
    check(x, 6, 1, bool(largest), call(24, x, 6, largest=largest))


def test_without_sorting_the_same_elements_are_taken():
    """The order is undefined, so that the sorted one will do."""
    x = np.array([3.0, 1.0, 4.0, 1.0])
    values, indices = call(24, x, 2, largest=0, in_order=0)
    assert sorted(zip(values.tolist(), indices.tolist(), strict=True)) == [(1.0, 1), (1.0, 3)]


def test_version_1_may_take_nothing():
    """Only later versions ask for a positive k."""
    values, indices = call(1, np.zeros((2, 3), np.float32), 0)
    assert values.shape == indices.shape == (2, 0)


@pytest.mark.parametrize(
    ("version", "k", "axis", "message"),
    [
        (1, 4, -1, "k is 4"),
        (1, -1, -1, "k is -1"),
        (10, 4, -1, "k is 4"),
        (10, 0, -1, "positive"),
        (11, -1, -1, "positive"),
        (24, 1, 2, "axis 2"),
        (24, 1, -3, "axis -3"),
    ],
)
def test_counts_and_axes_out_of_range_are_refused(version, k, axis, message):
    with pytest.raises(ValueError, match=message):
        call(version, np.zeros((2, 3), np.float32), k, axis=axis)


@pytest.mark.parametrize("k", [np.array(1), np.array([1, 2]), np.array([[1]])])
def test_k_has_to_be_one_element_of_rank_1(k):
    """Source: "A 1-D tensor containing a single positive value"."""
    with pytest.raises(ValueError, match="K has shape"):
        function(24)(np.zeros(3), k, axis=-1, largest=1, sorted=1)
