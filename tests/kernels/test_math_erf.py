"""The error function and the normal distribution, held against mpmath."""

import mpmath as mp
import numpy as np
import pytest

from opcheck.kernels.math_erf import erf, normal_distribution

TYPES = [np.float64, np.longdouble]


def off(got, exact, dtype):
    """Return the relative error in units of the type's precision."""
    value = mp.mpf(float(got)) + mp.mpf(float(got - dtype(float(got))))
    return abs(value - exact) / (abs(exact) * float(np.finfo(dtype).eps))


@pytest.mark.parametrize("dtype", TYPES)
def test_the_error_function_on_both_sides_of_the_split(dtype):
    """The series serves below 2, the continued fraction above."""
    points = [1e-300, 1e-10, 0.01, 0.5, 1.0, 1.9999, 2.0, 2.0001, 3.0, 5.0, -0.25, -2.5]
    with mp.workprec(160):
        for point, got in zip(points, erf(np.array(points, dtype)), strict=True):
            assert off(got, mp.erf(mp.mpf(point)), dtype) < 4


@pytest.mark.parametrize("dtype", TYPES)
def test_the_distribution_keeps_its_digits_in_the_tail(dtype):
    """Below the split 1 - erf cancels up to 8 bits."""
    points = [-0.25, -1.0, -2.5, -2.82, -2.83, -5.0, -10.0, -37.5, 0.0, 0.5, 3.0]
    with mp.workprec(160):
        for point, got in zip(points, normal_distribution(np.array(points, dtype)), strict=True):
            assert off(got, mp.erfc(-mp.mpf(point) / mp.sqrt(2)) / 2, dtype) < 300


@pytest.mark.parametrize("dtype", TYPES)
def test_far_away_the_limits_are_reached(dtype):
    far = np.array([np.inf, 1e300, -1e300, -np.inf, np.nan], dtype)
    assert erf(far)[:4].tolist() == [1, 1, -1, -1]
    assert normal_distribution(far)[:4].tolist() == [1, 1, 0, 0]
    assert np.isnan(erf(far)[4])
    assert np.isnan(normal_distribution(far)[4])


def test_the_sign_of_zero_stays():
    assert np.signbit(erf(np.array([0.0, -0.0]))).tolist() == [False, True]
