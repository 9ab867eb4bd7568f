"""Softmax, LogSoftmax and Hardmax, held against mpmath, element by element."""

import itertools
import math

import ml_dtypes
import mpmath
import numpy as np
import pytest

import kernel_calls
from opcheck.kernels import math_softmax

pytestmark = pytest.mark.usefixtures("no_warnings")

OPERATORS = ("Softmax", "LogSoftmax", "Hardmax")
INF, NAN = math.inf, math.nan
FLOATS = ("float16", "float32", "float64", "bfloat16")


def call(operator, version, x, axis):
    result = kernel_calls.call(operator, version, x, axis=axis)
    assert (result.dtype, result.shape) == (x.dtype, x.shape)
    return result


def exact(operator, row):
    """Return what becomes of one row of finite numbers, in many digits."""
    with mpmath.workdps(300):
        row = [mpmath.mpf(float(v)) for v in row]
        total = sum(mpmath.exp(v) for v in row)
        if operator == "Softmax":
            return [mpmath.exp(v) / total for v in row]
        if operator == "LogSoftmax":
            return [v - mpmath.log(total) for v in row]
        first = row.index(max(row))
        return [mpmath.mpf(i == first) for i in range(len(row))]


def rows(version, shape, axis):
    """Return the index tuples of each row that is normalised together."""
    axis %= len(shape)
    indices = list(itertools.product(*map(range, shape)))
    beyond = len(shape) if version < 13 else axis + 1
    groups = {}
    for index in indices:
        groups.setdefault(index[:axis] + index[beyond:], []).append(index)
    return list(groups.values())


def ulps(got, wanted, dtype):
    """Return how far a value is from the exact one, in units of its last place."""
    unit = float(np.spacing(np.abs(np.asarray(float(wanted), np.float64)).astype(dtype)))
    return abs(mpmath.mpf(float(got)) - wanted) / unit


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    ("version", "axis"),
    list(itertools.product([1, 11, 13], [0, 1, 2, -1, -3])),
)
def test_rows_are_those_of_the_version(operator, version, axis):
    """Before version 13 all dimensions from the axis on make a row, later the axis alone."""
    x = (np.random.default_rng(axis + 3).standard_normal((2, 3, 2)) * 3).astype(np.float32)
    got = call(operator, version, x, axis)
    for row in rows(version, x.shape, axis):
        for index, wanted in zip(row, exact(operator, [x[i] for i in row]), strict=True):
            assert ulps(got[index], wanted, np.float32) <= 0.5001


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("scale", [0.1, 5, 60])
def test_every_type_is_rounded_once(operator, name, scale):
    """Results are within half a unit, in float64 within one, also next to the largest element.

    Softmax of float16 rounds three times, which an official case asks for.
    """
    allowed = {"float64": 1.0, "float16": 1.6 if operator == "Softmax" else 0.5001}
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    x = (np.random.default_rng(3).standard_normal((20, 5)) * scale).astype(dtype)
    got = call(operator, 13, x, -1)
    for row, line in zip(x, got, strict=True):
        for seen, wanted in zip(line, exact(operator, row), strict=True):
            if abs(wanted) < 1e-300 or float(np.asarray(float(wanted)).astype(dtype)) == 0:
                continue
            assert ulps(seen, wanted, dtype) <= allowed.get(name, 0.5001)


def test_the_logarithm_next_to_the_largest_element_is_not_lost():
    """One less than exp(-50) is 1 in float64, its logarithm is not 0."""
    got = call("LogSoftmax", 13, np.array([[0.0, -50.0]]), 1)
    assert got[0, 0] == pytest.approx(-math.exp(-50), rel=1e-12)


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("row", [[NAN, 0.0], [INF, 0.0], [-INF, -INF]])
def test_rows_without_a_sum_are_nan(operator, row):
    """NaN, plus infinity and a row of minus infinity alone leave no quotient."""
    got = call(operator, 13, np.array([row, [0.0, -INF]], np.float32), -1)
    assert np.isnan(got[0]).all()
    assert got[1].tolist() == ([1, 0] if operator == "Softmax" else [0, -INF])


def test_hardmax_takes_the_first_of_equals():
    """Zeros of both signs are equal; NaN counts as the largest."""
    x = np.array([[-0.0, 0.0, -1.0], [2.0, 5.0, 5.0], [1.0, NAN, INF]])
    assert call("Hardmax", 13, x, 1).tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 0]]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("version", [1, 11, 13])
@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0,)])
def test_empty_tensors_stay_empty(operator, version, shape):
    """No rows, and rows without elements, are no errors."""
    x = np.zeros(shape, np.float16)
    assert call(operator, version, x, len(shape) - 1).shape == shape


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    ("version", "shape", "axis"),
    [(1, (2, 3), -3), (1, (2, 3), 2), (11, (2, 3), -3), (13, (2, 3), 2), (13, (), 0), (13, (), -1)],
)
def test_axes_out_of_range_are_refused(operator, version, shape, axis):
    """A scalar has no axis at all."""
    with pytest.raises(ValueError, match="axis"):
        call(operator, version, np.zeros(shape, np.float32), axis)


def test_log_softmax_of_the_losses_keeps_the_wide_type():
    """Losses come from logarithms that were not rounded."""
    x = np.zeros((2, 3), np.longdouble)
    assert math_softmax.log_softmax(x, 1).dtype == np.longdouble
