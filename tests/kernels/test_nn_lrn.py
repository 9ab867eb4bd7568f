"""LRN and LpNormalization, held against mpmath."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from exact_rounding import FORMATS, fraction, rounded
from kernel_calls import call, ordinary

pytestmark = pytest.mark.usefixtures("no_warnings")


TYPES = [
    *(("LRN", 1, t) for t in FORMATS if t != "bfloat16"),
    *(("LRN", 13, t) for t in FORMATS),
    *(("LpNormalization", 1, t) for t in FORMATS if t != "bfloat16"),
    *(("LpNormalization", 22, t) for t in FORMATS),
]


@pytest.mark.parametrize(("version", "name"), [t[1:] for t in TYPES if t[0] == "LRN"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("shape", [(2, 5), (1, 4, 3), (3, 2, 2, 2)])
def test_lrn(version, name, size, shape):
    """The sum runs over channels of the same sample, from floor before to ceil behind."""
    x = ordinary(shape, name, size)
    alpha, beta, bias = 0.75, 0.625, 1.5
    got = call("LRN", version, x, alpha=alpha, beta=beta, bias=bias, size=size)
    assert got.dtype == x.dtype
    assert got.shape == shape
    half = Fraction(size - 1, 2)
    for n, c, *at in itertools.product(*map(range, shape)):
        low, high = max(0, c - math.floor(half)), min(shape[1] - 1, c + math.ceil(half))
        with mpmath.workdps(40):
            squares = sum(mpmath.mpf(float(x[(n, i, *at)])) ** 2 for i in range(low, high + 1))
            base = bias + mpmath.mpf(alpha) / size * squares
            exact = mpmath.mpf(float(x[(n, c, *at)])) / base**beta
        assert float(got[(n, c, *at)]) == rounded(fraction(exact), name)


def test_lrn_has_defaults_for_all_but_size():
    """The defaults are alpha 1e-4, beta 3/4 and bias 1, in float32."""
    x = np.array([[100.0, 0.0]])
    alpha = float(np.float32(1e-4))
    got = call("LRN", 13, x, size=2)
    assert got[0, 0] == pytest.approx(100 / (1 + alpha / 2 * 10000) ** 0.75, rel=1e-15)


def test_lrn_of_special_values():
    x = np.array([[math.inf, 1.0, math.nan, 0.0]])
    got = call("LRN", 13, x, size=1)
    assert [str(v) for v in got[0, [0, 2, 3]]] == ["nan", "nan", "0.0"]
    assert call("LRN", 13, np.zeros((0, 2, 3)), size=3).shape == (0, 2, 3)
    assert call("LRN", 13, np.zeros((2, 0, 3)), size=3).shape == (2, 0, 3)


def test_lrn_refuses():
    with pytest.raises(ValueError, match="size is 0"):
        call("LRN", 13, np.ones((1, 2)), size=0)
    with pytest.raises(ValueError, match="must be"):
        call("LRN", 13, np.ones(2), size=1)


@pytest.mark.parametrize(("version", "name"), [t[1:] for t in TYPES if t[0] != "LRN"])
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_lp_normalization(version, name, p, axis):
    """Each line along the axis has the norm 1, and a line of zeros stays zero."""
    x = ordinary((2, 3, 4), name, 3)
    x[0, :, 0] = x[:, 1, 1] = x[0, 2, :] = 0
    got = call("LpNormalization", version, x, p=p, axis=axis)
    assert got.dtype == x.dtype
    lines, results = np.moveaxis(x, axis, -1).reshape(-1, x.shape[axis]), np.moveaxis(got, axis, -1)
    for line, result in zip(lines, results.reshape(lines.shape), strict=True):
        with mpmath.workdps(40):
            norm = mpmath.root(sum(abs(mpmath.mpf(float(v))) ** p for v in line), p)
            exact = [mpmath.mpf(float(v)) / norm if norm else mpmath.mpf(0) for v in line]
        assert [float(v) for v in result] == [rounded(fraction(v), name) for v in exact]


@pytest.mark.parametrize("version", [1, 22])
@pytest.mark.parametrize("unit", [2.0**1000, 2.0**-1060])
def test_squares_do_not_overflow(version, unit):
    x = np.array([3.0, -4.0]) * unit
    assert call("LpNormalization", version, x).tolist() == [0.6, -0.8]


def test_lp_normalization_of_special_values():
    x = np.array([[math.inf, 1.0], [math.nan, 0.0], [-0.0, 0.0]])
    got = call("LpNormalization", 22, x)
    assert [str(v) for v in got[:2].flat] == ["nan", "0.0", "nan", "nan"]
    assert got[2].tolist() == [0.0, 0.0]
    assert call("LpNormalization", 22, np.zeros((3, 0))).shape == (3, 0)


@pytest.mark.parametrize("version", [1, 22])
def test_lp_normalization_refuses(version):
    for p in (0, 3, -1):
        with pytest.raises(ValueError, match="only 1 and 2"):
            call("LpNormalization", version, np.ones((2, 3)), p=p)
    for axis in (2, -3):
        with pytest.raises(ValueError, match="out of range"):
            call("LpNormalization", version, np.ones((2, 3)), axis=axis)
    with pytest.raises(ValueError, match="out of range"):
        call("LpNormalization", version, np.ones(()))
