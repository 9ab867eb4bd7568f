"""Unique, held against a search through lists."""

import functools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_calls import dtypes
from tensor_calls import assert_all_same, call, filled, ints

VERSIONS = [11, 28]


def order(a, b):
    """Compare two elements; NaN equals NaN and is greater than all others."""
    if isinstance(a, complex):
        return order(a.real, b.real) or order(a.imag, b.imag)
    if isinstance(a, float):
        a, b = (math.isnan(a), a), (math.isnan(b), b)
        if a[0] or b[0]:
            a, b = a[0], b[0]
    return (a > b) - (a < b)


def order_of_slices(a, b):
    """Compare element by element, in row-major order."""
    for x, y in zip(a.reshape(-1).tolist(), b.reshape(-1).tolist(), strict=True):
        if order(x, y):
            return order(x, y)
    return 0


def search(x, axis, is_sorted):
    """Return the four outputs, found one slice after the other."""
    slices = [np.array(v) for v in x.reshape(-1)] if axis is None else list(np.moveaxis(x, axis, 0))
    if x.dtype.kind == "O" and axis is None:
        slices = [x.reshape(-1)[i : i + 1] for i in range(x.size)]
    first = []
    for i, part in enumerate(slices):
        if not any(order_of_slices(part, slices[j]) == 0 for j in first):
            first.append(i)
    if is_sorted:
        compare = functools.cmp_to_key(lambda i, j: order_of_slices(slices[i], slices[j]))
        first.sort(key=compare)
    inverse = []
    for part in slices:
        inverse += [k for k, j in enumerate(first) if order_of_slices(part, slices[j]) == 0]
    counts = [inverse.count(k) for k in range(len(first))]
    y = x.reshape(-1)[ints(first)] if axis is None else np.take(x, ints(first), axis)
    return y, ints(first), ints(inverse), ints(counts)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("is_sorted", [0, 1])
def test_every_type(version, is_sorted):
    """Flattened, by rows and by columns."""
    for dtype in dtypes("Unique", version):
        x = np.concatenate([filled((2, 3), dtype), filled((3, 3), dtype)])
        for axis in (None, 0, 1, -1):
            got = call("Unique", version, x, axis=axis, sorted=is_sorted)
            assert_all_same(got, search(x, axis, is_sorted))


SPECIAL = st.sampled_from([0.0, -0.0, 1.5, -2.0, math.inf, -math.inf, math.nan])


@settings(deadline=None, max_examples=150)
@given(
    values=st.lists(SPECIAL, max_size=12),
    rows=st.integers(1, 3),
    axis=st.sampled_from([None, 0, 1]),
    is_sorted=st.integers(0, 1),
)
def test_special_floats(values, rows, axis, is_sorted):
    """All NaN are one value, and +0 and -0; Y shows them as they first occur."""
    values = values[: len(values) // rows * rows]
    x = np.array(values, np.float32).reshape(rows, -1)
    assert_all_same(call("Unique", 28, x, axis=axis, sorted=is_sorted), search(x, axis, is_sorted))


def test_every_nan_is_the_same():
    """Whatever its sign and payload, and in both parts of a complex number."""
    x = np.array([0x7FC00000, 0xFFC00001, 0x3F800000], np.uint32).view(np.float32)
    y, indices, inverse, counts = call("Unique", 11, x)
    assert indices.tolist() == [2, 0]
    assert inverse.tolist() == [1, 1, 0]
    assert counts.tolist() == [1, 2]
    assert y.view(np.uint32).tolist() == [0x3F800000, 0x7FC00000]
    z = np.array([complex(math.nan, 1), complex(math.nan, 1), complex(0, math.nan)])
    assert call("Unique", 11, z)[3].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("shape", "axis", "wanted"),
    [
        ((), None, (1,)),
        ((0, 2), None, (0,)),
        ((0, 2), 0, (0, 2)),
        ((3, 0), 0, (1, 0)),
        ((2, 0), 1, (2, 0)),
    ],
)
def test_shapes_without_elements(shape, axis, wanted):
    """Slices without elements are all equal."""
    y, indices, inverse, counts = call("Unique", 11, filled(shape), axis=axis)
    length = 1 if shape == () else 0 if axis is None else shape[axis]
    assert y.shape == wanted
    assert indices.shape == counts.shape == (wanted[axis or 0],)
    assert inverse.shape == (length,)
    assert counts.sum() == length


def test_integers_are_not_compared_as_floats():
    """Neighbours beyond 2**53, and the largest of uint64."""
    x = np.array([2**64 - 1, 2**64 - 2, 1], np.uint64)
    assert call("Unique", 11, x)[0].tolist() == [1, 2**64 - 2, 2**64 - 1]


def test_what_unique_refuses():
    """An axis out of range, and a third value of sorted."""
    with pytest.raises(ValueError, match="axis 1"):
        call("Unique", 11, filled((2,)), axis=1)
    with pytest.raises(ValueError, match="sorted is 2"):
        call("Unique", 11, filled((2,)), sorted=2)
