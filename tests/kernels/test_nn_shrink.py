"""Shrink, held against its text in the numbers of Python."""

import math
from fractions import Fraction

import numpy as np
import pytest

from elementwise_calls import call
from kernel_calls import dtype_of, types, versions
from opcheck.kernels import registry

pytestmark = pytest.mark.usefixtures("no_warnings")

INF, NAN = math.inf, math.nan


def shrunk(x, lambd, bias):
    """Return the exact number that the text gives."""
    if x < -lambd:
        return Fraction(x) + Fraction(bias)
    return Fraction(x) - Fraction(bias) if x > lambd else Fraction(0)


def test_its_version_is_registered():
    assert {("", *key) for key in versions("Shrink")} <= registry.registered()


@pytest.mark.parametrize(
    ("lambd", "bias"), [(0.5, 0.0), (1.5, 1.5), (0.0, 1.0), (-1.0, 2.0), (2.0, -0.25), (1.0, 5.0)]
)
def test_every_type(lambd, bias):
    """Integers are rounded towards zero, and wrap around."""
    for name in types("Shrink", 9):
        if dtype_of(name).kind == "f":
            x = np.array([-2.5, -1.5, -1.0, -0.25, 0.0, 0.25, 1.0, 1.5, 300.0], name)
            got = call("Shrink", 9, x, lambd=lambd, bias=bias)
            assert got.tolist() == [float(shrunk(v, lambd, bias)) for v in x.tolist()]
            continue
        info = np.iinfo(name)
        x = np.array([[info.min, info.max, 0], [1, 2, 3]], name)
        got = call("Shrink", 9, x, lambd=lambd, bias=bias)
        wanted = [int(shrunk(v, lambd, bias)) for v in x.ravel().tolist()]
        assert got.shape == (2, 3)
        assert got.ravel().tolist() == [(w - info.min) % 2**info.bits + info.min for w in wanted]


def test_nan_and_infinities():
    """NaN is neither below nor above."""
    got = call("Shrink", 9, np.array([NAN, INF, -INF, -0.0], np.float32), bias=1.0)
    assert got.tolist() == [0, INF, -INF, 0]
    assert not np.signbit(got[[0, 3]]).any()


def test_an_infinite_bias_has_no_integer():
    with pytest.raises(ValueError, match="must be finite"):
        call("Shrink", 9, np.ones(2, np.int8), bias=INF)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_shapes_stay(shape):
    for name in ("float16", "uint8"):
        assert call("Shrink", 9, np.ones(shape, name)).shape == shape
