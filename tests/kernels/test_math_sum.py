"""Sum, Mean, CumSum and CumProd, held against loops over Python numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest

from elementwise_calls import call
from kernel_calls import dtype_of, types, versions
from opcheck.kernels import registry

pytestmark = pytest.mark.usefixtures("no_warnings")

INF, NAN = math.inf, math.nan


def test_every_version_is_registered():
    operators = ("Sum", "Mean", "CumSum", "CumProd")
    assert {("", *key) for key in versions(*operators)} <= registry.registered()


# Sum and Mean.


@pytest.mark.parametrize(("operator", "version"), versions("Sum", "Mean"))
@pytest.mark.parametrize("count", [1, 2, 5])
def test_sums_of_every_type(operator, version, count):
    """Halves have exact sums; the mean of 5 is rounded once."""
    for name in types(operator, version):
        dtype = dtype_of(name)
        rng = np.random.default_rng(count)
        inputs = [(rng.integers(-9, 9, (2, 3)) / 2).astype(dtype) for _ in range(count)]
        got = call(operator, version, *inputs)
        assert got.shape == (2, 3)
        for index in np.ndindex(2, 3):
            exact = sum(Fraction(float(x[index])) for x in inputs)
            exact /= count if operator == "Mean" else 1
            assert got[index] == dtype.type(float(exact))


@pytest.mark.parametrize("operator", ["Sum", "Mean"])
@pytest.mark.parametrize("version", [1, 6])
def test_no_broadcasting_before_version_8(operator, version):
    with pytest.raises(ValueError, match="must be the same"):
        call(operator, version, np.ones((2, 1)), np.ones((2, 3)))


@pytest.mark.parametrize(("operator", "divisor"), [("Sum", 1), ("Mean", 3)])
@pytest.mark.parametrize("version", [8, 13])
def test_broadcasting_from_version_8(operator, divisor, version):
    a, b, c = np.array([[3.0], [6.0]]), np.array([0.0, 3.0, 9.0]), np.array(12.0)
    got = call(operator, version, a, b, c)
    assert got.tolist() == [[(x + y + 12) / divisor for y in (0, 3, 9)] for x in (3, 6)]
    assert call(operator, version, c, c).shape == ()
    assert call(operator, version, a, np.zeros((1, 0))).shape == (2, 0)


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_a_mean_does_not_overflow_on_its_way(name):
    largest = np.finfo(name).max
    x = np.array([largest, largest, 1], name)
    y = np.array([largest, -largest, 2], name)
    assert call("Mean", 13, x, y).tolist() == [largest, 0, 1.5]
    assert call("Sum", 13, x, y).tolist() == [INF, 0, 3]
    assert call("Sum", 13, x, x, y, -x).tolist()[:2] == [INF, 0]


def test_infinities_and_nan_in_sums():
    a, b = np.array([INF, INF, NAN, -INF]), np.array([1.0, -INF, 1.0, -INF])
    for operator in ("Sum", "Mean"):
        got = call(operator, 13, a, b)
        assert [got[0], got[3]] == [INF, -INF]
        assert np.isnan(got[1:3]).all()


def test_float64_sums_keep_what_cancels():
    x = [np.array([v]) for v in (1.0, 1e100, 1.0, -1e100)]
    assert call("Sum", 13, *x).tolist() == [2]
    assert call("Mean", 13, *x).tolist() == [0.5]


# CumSum and CumProd.


def running(row, combine, start, exclusive, reverse):
    row = row[::-1] if reverse else row
    total, results = start, []
    for value in row:
        before, total = total, combine(total, value)
        results.append(before if exclusive else total)
    return results[::-1] if reverse else results


COMBINE = {"CumSum": (lambda a, b: a + b, 0), "CumProd": (lambda a, b: a * b, 1)}


@pytest.mark.parametrize(("operator", "version"), versions("CumSum", "CumProd"))
@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
def test_running_results_of_every_type_along_every_axis(operator, version, exclusive, reverse):
    """Integers wrap around, in all four directions and modes."""
    combine, start = COMBINE[operator]
    rng = np.random.default_rng(version)
    for name in types(operator, version):
        dtype = dtype_of(name)
        if dtype.kind in "iu":
            info = np.iinfo(name)
            x = rng.integers(info.min, info.max, (2, 4, 3), dtype=name, endpoint=True)
        else:
            x = rng.integers(-3, 3, (2, 4, 3)).astype(dtype)
        for axis in (-3, -2, -1, 0, 1, 2):
            place = np.array(axis, [np.int32, np.int64][axis % 2])
            got = call(operator, version, x, place, exclusive=exclusive, reverse=reverse)
            rows = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis])
            results = np.moveaxis(got, axis, -1).reshape(-1, x.shape[axis])
            for row, result in zip(rows.tolist(), results.tolist(), strict=True):
                wanted = running(row, combine, start, exclusive, reverse)
                if dtype.kind in "iu":
                    wanted = [(w - info.min) % 2**info.bits + info.min for w in wanted]
                assert result == wanted


@pytest.mark.parametrize(("operator", "version"), versions("CumSum", "CumProd"))
def test_axes_out_of_range_and_of_other_shapes(operator, version):
    x = np.ones((2, 3), np.float32)
    for axis in (2, -3):
        with pytest.raises(ValueError, match="out of range"):
            call(operator, version, x, np.array(axis))
    with pytest.raises(ValueError, match="must be a scalar"):
        call(operator, version, x, np.array([1]))
    with pytest.raises(ValueError, match="rank 0"):
        call(operator, version, x[0, 0].reshape(()), np.array(0))


@pytest.mark.parametrize(("operator", "version"), versions("CumSum", "CumProd"))
@pytest.mark.parametrize("exclusive", [0, 1])
def test_zero_size_axes(operator, version, exclusive):
    for shape in ((0,), (0, 3), (2, 0)):
        for name in ("float32", "int64"):
            x = np.zeros(shape, name)
            assert call(operator, version, x, np.array(0), exclusive=exclusive).shape == shape


def test_the_first_sum_is_its_element_with_its_sign():
    """ "The first element is copied as is"; the exclusive sum of nothing is +0."""
    x = np.array([-0.0, -0.0])
    assert np.signbit(call("CumSum", 14, x, np.array(0))).tolist() == [True, True]
    exclusive = call("CumSum", 14, x, np.array(0), exclusive=1)
    assert np.signbit(exclusive).tolist() == [False, True]


def test_infinities_and_nan_in_running_sums():
    x = np.array([1.0, INF, 2.0, -INF, 3.0])
    got = call("CumSum", 14, x, np.array(0))
    assert got[:3].tolist() == [1, INF, INF]
    assert np.isnan(got[3:]).all()
    got = call("CumProd", 26, np.array([2.0, NAN, 0.0]), np.array(0))
    assert got[0] == 2
    assert np.isnan(got[1:]).all()


def test_a_product_that_leaves_float64_comes_back():
    x = np.array([1e300, 1e300, 1e-300, 1e-300])
    got = call("CumProd", 26, x, np.array(0)).tolist()
    assert got[:2] == [1e300, INF]
    if np.finfo(np.longdouble).maxexp > 2000:
        assert got[2:] == pytest.approx([1e300, 1], rel=1e-15)
