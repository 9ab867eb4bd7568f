"""Rounding of wide values, and types named by an attribute."""

import math
from fractions import Fraction

import numpy as np
import onnx
import pytest

from kernel_calls import dtype_of
from opcheck.kernels.wider import Targets, rounded, scalar, widest

TYPES = ["float16", "bfloat16", "float32", "float64", "float8_e4m3fn"]


@pytest.mark.parametrize("name", TYPES)
def test_wide_values_are_rounded_once(name):
    """What is just above a tie goes up, and not first to the tie and then down."""
    if np.finfo(np.longdouble).nmant <= 52:
        pytest.skip("numpy.longdouble is no wider than float64 here")
    dtype = dtype_of(name)
    step = Fraction(float(np.spacing(np.ones((), dtype)).astype(np.float64)))
    tie = np.longdouble(1) + np.longdouble(float(step)) / 2
    little = np.longdouble(2) ** -62
    wide = np.array([tie - little, tie, tie + little, -tie - little])
    up = 1 + float(step)
    assert rounded(wide, dtype).astype(np.float64).tolist() == [1, 1, up, -up]


@pytest.mark.parametrize("name", TYPES)
def test_special_values_stay(name):
    got = rounded(np.array([math.nan, -0.0, 0], np.longdouble), dtype_of(name)).astype(float)
    assert math.isnan(got[0])
    assert math.copysign(1, got[1]) == -1
    assert got[2] == 0
    if name != "float8_e4m3fn":
        with np.errstate(over="ignore"):
            infinite = rounded(np.array([np.longdouble("1e4000"), -np.inf]), dtype_of(name))
        assert infinite.astype(float).tolist() == [math.inf, -math.inf]


def test_scalars_and_shapes_are_kept():
    assert rounded(np.longdouble(0.5), dtype_of("bfloat16")).shape == ()
    assert rounded(np.zeros((2, 0), np.longdouble), dtype_of("float16")).shape == (2, 0)


@pytest.mark.parametrize("name", TYPES)
def test_only_float64_needs_a_longer_type(name):
    wanted = np.longdouble if name == "float64" else np.float64
    assert widest(np.ones(2, dtype_of(name))).dtype == wanted


def test_a_scalar_has_one_element():
    assert scalar("n", np.array([[7]])) == scalar("n", np.array(7)) == 7
    for shape in ((0,), (2,)):
        with pytest.raises(ValueError, match="n has shape"):
            scalar("n", np.zeros(shape, int))


def test_targets_are_the_types_of_the_schema():
    targets = Targets("HannWindow", 17)
    assert targets[onnx.TensorProto.BFLOAT16] == dtype_of("bfloat16")
    for number in (onnx.TensorProto.BOOL, 0, 999):
        with pytest.raises(ValueError, match="the output type is"):
            targets[number]
