"""Clip in every version and type, held against comparisons of Python numbers."""

import math

import ml_dtypes
import numpy as np
import pytest

from elementwise_calls import call
from kernel_calls import dtype_of, function, types, versions
from opcheck.kernels import registry

pytestmark = pytest.mark.usefixtures("no_warnings")

INF, NAN = math.inf, math.nan


def clipped(x, low, high):
    """Return Min(high, Max(x, low)) of plain numbers."""
    x = low if x < low else x
    return high if x > high else x


def test_every_version_is_registered():
    assert {("", *key) for key in versions("Clip")} <= registry.registered()


@pytest.mark.parametrize("version", [1, 6])
@pytest.mark.parametrize("bounds", [(-1.0, 2.5), (0.0, 0.0), (3.0, 1.0)])
def test_bounds_as_attributes(version, bounds):
    low, high = bounds
    points = [-INF, -60000.0, -1.0, -0.5, 0.0, 1.5, 2.5, 3.0, INF]
    for name in types("Clip", version):
        got = call("Clip", version, np.array(points, name), min=low, max=high)
        assert got.tolist() == [clipped(p, low, high) for p in points]


@pytest.mark.parametrize("version", [11, 12, 13])
@pytest.mark.parametrize("bounds", [(1, 5), (None, 5), (1, None), (None, None), (5, 2), (0, 0)])
def test_bounds_as_inputs(version, bounds):
    for name in types("Clip", version):
        dtype = dtype_of(name)
        info = np.iinfo(name) if dtype.kind in "iu" else ml_dtypes.finfo(dtype)
        x = np.array([info.min, 0, 1, 3, 5, 7, info.max], dtype)
        inputs = [None if b is None else np.array(b, dtype) for b in bounds]
        got = function("Clip", version)(x, *inputs)
        low, high = (
            d if b is None else b for b, d in zip(bounds, (info.min, info.max), strict=True)
        )
        assert got.dtype == dtype
        assert got.tolist() == [clipped(v, low, high) for v in x.tolist()]


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_an_omitted_bound_is_the_limit_of_the_type(name):
    """ "They default to numeric_limits::lowest() and numeric_limits::max()": no infinity passes."""
    dtype = dtype_of(name)
    largest = float(ml_dtypes.finfo(dtype).max)
    got = call("Clip", 13, np.array([INF, -INF], dtype))
    assert got.astype(float).tolist() == [largest, -largest]
    if name != "bfloat16":
        assert call("Clip", 1, np.array([INF, -INF], dtype)).tolist() == [largest, -largest]


def test_the_attributes_of_version_6_default_to_float32():
    largest = float(np.finfo(np.float32).max)
    assert call("Clip", 6, np.array([1e300, -INF])).tolist() == [largest, -largest]
    assert call("Clip", 6, np.array([INF], np.float16)).tolist() == [INF]


def test_nan_stays_nan():
    x = np.array([NAN, 5.0], np.float32)
    for got in (
        call("Clip", 13, x, np.array(0, np.float32), np.array(1, np.float32)),
        call("Clip", 6, x, min=0.0, max=1.0),
    ):
        assert math.isnan(got[0])
        assert got[1] == 1


def test_a_bound_that_float16_lacks_is_rounded_to_it():
    """Compared as it is, and rounded as the result."""
    got = call("Clip", 6, np.array([1.0, 0.0999755859375], np.float16), max=float(np.float32(0.1)))
    assert got.tolist() == [float(np.float16(0.1)), 0.0999755859375]


@pytest.mark.parametrize("version", [11, 12, 13])
def test_bounds_have_to_be_scalars(version):
    x = np.ones(3, np.float32)
    with pytest.raises(ValueError, match=r"min has shape \(3,\)"):
        call("Clip", version, x, x)
    with pytest.raises(ValueError, match=r"max has shape \(1,\)"):
        call("Clip", version, x, x[0:1].reshape(()), x[:1])


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_shapes_stay(shape):
    x = np.ones(shape, np.float32)
    assert call("Clip", 13, x).shape == shape
    assert call("Clip", 6, x).shape == shape
