"""Functions of one element: what the accuracy test leaves out, as versions, shapes and zeros."""

import math

import numpy as np
import pytest

from elementwise_calls import call
from kernel_calls import dtype_of, types, versions
from opcheck.kernels import registry

pytestmark = pytest.mark.usefixtures("no_warnings")

INF, NAN = math.inf, math.nan


OPERATORS = (
    "Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Erf Floor Log Reciprocal Round Sigmoid Sign "
    "Sin Sinh Softplus Softsign Tan"
).split()

#: What each function makes of 0.5, or of 1.5 where 0.5 is outside, by the standard library.
AT_A_HALF = {
    "Acos": math.acos(0.5), "Asin": math.asin(0.5), "Atan": math.atan(0.5), "Cos": math.cos(0.5),
    "Sin": math.sin(0.5), "Tan": math.tan(0.5), "Acosh": math.acosh(1.5),
    "Asinh": math.asinh(0.5), "Atanh": math.atanh(0.5), "Cosh": math.cosh(0.5),
    "Sinh": math.sinh(0.5), "Ceil": 1.0, "Floor": 0.0, "Round": 0.0, "Sign": 1.0,
    "Erf": math.erf(0.5), "Log": math.log(0.5), "Reciprocal": 2.0,
    "Sigmoid": 1 / (1 + math.exp(-0.5)), "Softplus": math.log(1 + math.exp(0.5)),
    "Softsign": 0.5 / 1.5,
}  # fmt: skip


def test_every_version_is_registered():
    assert {("", *key) for key in versions(*OPERATORS)} <= registry.registered()


@pytest.mark.parametrize(("operator", "version"), versions(*OPERATORS))
def test_every_version_is_the_function_of_its_name(operator, version):
    """A table that names the wrong function in one version is not seen by a test of the newest."""
    for name in types(operator, version):
        if np.dtype(dtype_of(name)).kind in "iu":
            continue
        x = np.array([[1.5 if operator == "Acosh" else 0.5]], dtype_of(name))
        wanted = np.array([[AT_A_HALF[operator]]]).astype(dtype_of(name))
        got = call(operator, version, x)
        assert got.shape == (1, 1)
        assert float(got[0, 0]) == pytest.approx(float(wanted[0, 0]), rel=1e-15)


@pytest.mark.parametrize(("operator", "version"), versions(*OPERATORS))
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_scalars_and_empty_tensors_keep_their_shapes(operator, version, shape):
    assert call(operator, version, np.ones(shape, np.float32)).shape == shape


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_round_takes_halves_to_the_even_neighbour(name):
    """Python's round of a Fraction does the same."""
    halves = [k + 0.5 for k in range(-6, 6)]
    got = call("Round", 22, np.array(halves, dtype_of(name)))
    assert got.astype(float).tolist() == [round(h) for h in halves]


@pytest.mark.parametrize(("operator", "python"), [("Ceil", math.ceil), ("Floor", math.floor)])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_rounding_up_and_down(operator, python, name):
    x = (np.random.default_rng(3).standard_normal(200) * 50).astype(dtype_of(name))
    got = call(operator, 13, x)
    assert got.astype(float).tolist() == [python(float(v)) for v in x]


@pytest.mark.parametrize("operator", ["Ceil", "Floor", "Round"])
def test_rounding_keeps_zeros_infinities_and_nan(operator):
    """ "If x is integral, +0, -0, NaN, or infinite, x itself is returned." """
    x = np.array([0.0, -0.0, INF, -INF, 3.0, NAN], np.float32)
    got = call(operator, {"Round": 22}.get(operator, 13), x)
    assert got.tobytes() == x.tobytes()


@pytest.mark.parametrize("version", [9, 13])
def test_sign_of_integers_of_any_size(version):
    for name in types("Sign", version):
        if dtype_of(name).kind in "iu":
            info = np.iinfo(name)
            x = np.array([info.min, 0, 1, info.max], name)
            assert call("Sign", version, x).tolist() == [-1 if info.min else 0, 0, 1, 1]


def test_sign_of_nan_is_nan_and_that_of_minus_zero_is_zero():
    got = call("Sign", 13, np.array([NAN, -0.0, -INF], np.float32))
    assert math.isnan(got[0])
    assert got[1:].tolist() == [0.0, -1.0]
    assert not np.signbit(got[1])


def test_erf_of_integers_is_rounded_towards_zero():
    """No value of the function reaches 1."""
    for name in types("Erf", 9):
        if dtype_of(name).kind in "iu":
            info = np.iinfo(name)
            assert call("Erf", 9, np.array([info.min, 1, info.max], name)).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("operator", "x", "wanted"),
    [
        ("Acos", 1.5, NAN), ("Asin", -INF, NAN), ("Acosh", 0.5, NAN), ("Atanh", 1.0, INF),
        ("Atanh", -2.0, NAN), ("Log", -1.0, NAN), ("Log", -0.0, -INF), ("Reciprocal", -0.0, -INF),
        ("Sin", INF, NAN), ("Tan", -INF, NAN), ("Sigmoid", -INF, 0.0), ("Sigmoid", -1e30, 0.0),
        ("Softplus", INF, INF), ("Softplus", -INF, 0.0), ("Softsign", INF, NAN),
        ("Erf", -INF, -1.0), ("Cosh", -INF, INF), ("Softplus", 1e30, 1e30),
        ("Softsign", -1e30, -1.0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_limits(operator, x, wanted, name):
    version = max(v for _, v in versions(operator))
    got = call(operator, version, np.array([x], name))[0]
    assert math.isnan(got) if math.isnan(wanted) else got == np.dtype(name).type(wanted)
