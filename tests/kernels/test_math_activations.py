"""The activation functions in every version: attributes, limits and errors."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from elementwise_calls import call
from kernel_calls import dtype_of, types, versions
from opcheck.kernels import registry

pytestmark = pytest.mark.usefixtures("no_warnings")

INF, NAN = math.inf, math.nan


F = {name: float(np.float32(float(name))) for name in ("0.01", "0.2", "1.6732", "1.0507")}
GAMMA, ALPHA = 1.05070102214813232421875, 1.67326319217681884765625


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


#: The formulas of the texts, with the defaults of the versions.
FORMULAS = {
    ("Celu", None): lambda x: max(0, x) + min(0, math.exp(x) - 1),
    ("Elu", None): lambda x: x if x >= 0 else math.exp(x) - 1,
    ("LeakyRelu", None): lambda x: x if x >= 0 else F["0.01"] * x,
    ("ThresholdedRelu", None): lambda x: x if x > 1 else 0,
    ("HardSigmoid", None): lambda x: max(0, min(1, F["0.2"] * x + 0.5)),
    ("HardSwish", None): lambda x: x * max(0, min(1, x / 6 + 0.5)),
    ("Selu", None): lambda x: GAMMA * (ALPHA * math.exp(x) - ALPHA if x <= 0 else x),
    ("Selu", 1): lambda x: F["1.0507"] * (F["1.6732"] * (math.exp(x) - 1) if x <= 0 else x),
    ("Mish", None): lambda x: x * math.tanh(math.log(1 + math.exp(x))),
    ("Gelu", None): lambda x: 0.5 * x * (1 + math.erf(x / math.sqrt(2))),
    ("Swish", None): lambda x: x * sigmoid(x),
}
OPERATORS = sorted({operator for operator, _ in FORMULAS})


def test_every_version_is_registered():
    operators = (*OPERATORS, "PRelu", "SwiGLU")
    assert {("", *key) for key in versions(*operators)} <= registry.registered()


@pytest.mark.parametrize(("operator", "version"), versions(*OPERATORS))
def test_formulas_with_default_attributes(operator, version):
    """The defaults of Selu-1 have five digits, those of the later versions nine."""
    formula = FORMULAS.get((operator, version)) or FORMULAS[operator, None]
    points = [[-3.5, -1.0, -0.25, 0.0], [0.25, 1.0, 1.25, 4.0]]
    for name in types(operator, version):
        epsilon = float(ml_dtypes.finfo(dtype_of(name)).eps)
        got = call(operator, version, np.array(points, dtype_of(name)))
        wanted = [[formula(x) for x in row] for row in points]
        assert got.astype(float) == pytest.approx(np.array(wanted), rel=epsilon * 4, abs=1e-15)


@pytest.mark.parametrize(
    ("operator", "attributes", "x", "wanted"),
    [
        ("LeakyRelu", {"alpha": -2.0}, -3.0, 6.0),
        ("ThresholdedRelu", {"alpha": -1.0}, -0.5, -0.5),
        ("ThresholdedRelu", {"alpha": 0.5}, 0.5, 0.0),
        ("HardSigmoid", {"alpha": -0.5, "beta": 0.25}, -1.0, 0.75),
        ("Elu", {"alpha": 3.0}, -INF, -3.0),
        ("Celu", {"alpha": 2.0}, -INF, -2.0),
        ("Celu", {"alpha": -1.0}, -1.0, 1 - math.e),
        ("Selu", {"alpha": 2.0, "gamma": 3.0}, -INF, -6.0),
        ("Selu", {"alpha": 2.0, "gamma": 3.0}, 2.0, 6.0),
        ("Swish", {"alpha": 0.0}, 3.0, 1.5),
        ("Gelu", {"approximate": "tanh"}, INF, INF),
    ],
)
def test_attributes(operator, attributes, x, wanted):
    version = max(v for _, v in versions(operator))
    got = call(operator, version, np.array([x]), **attributes)
    assert got[0] == pytest.approx(wanted, rel=1e-15)


@pytest.mark.parametrize("operator", ["HardSwish", "Mish", "Gelu", "Swish"])
def test_minus_infinity_times_zero_is_nan(operator):
    """That is the formula by its word; finite numbers go to -0 all the same."""
    version = max(v for _, v in versions(operator))
    for name in ("float32", "float64"):
        got = call(operator, version, np.array([-INF, np.finfo(name).min, INF], name))
        assert math.isnan(got[0])
        assert got[1:].tolist() == [0.0, INF]


@pytest.mark.parametrize("operator", OPERATORS)
def test_nan_stays_nan_but_not_in_thresholded_relu(operator):
    version = max(v for _, v in versions(operator))
    got = call(operator, version, np.array([NAN], np.float32))[0]
    assert got == 0 if operator == "ThresholdedRelu" else math.isnan(got)


def test_the_line_of_hard_sigmoid_is_precise_where_it_cancels():
    """alpha * x rounded to 64 bits leaves only a few of the difference."""
    alpha = F["0.2"]
    x = np.nextafter(-0.5 / alpha, 0, dtype=np.float64)
    got = call("HardSigmoid", 22, np.array([x]))[0]
    exact = Fraction(alpha) * Fraction(float(x)) + Fraction(1, 2)
    assert abs(Fraction(float(got)) - exact) <= Fraction(math.ulp(float(exact)))


def test_gelu_refuses_other_approximations():
    with pytest.raises(ValueError, match="approximate is 'fast'"):
        call("Gelu", 20, np.ones(1, np.float32), approximate="fast")


def test_swiglu_refuses_other_shapes():
    with pytest.raises(ValueError, match="must be the same"):
        call("SwiGLU", 28, np.ones((2, 3)), np.ones(3))


# PRelu.


def prelu(x, slope_at):
    wanted = x.copy()
    for index in np.ndindex(*x.shape):
        if x[index] < 0:
            wanted[index] = x[index] * slope_at(index)
    return wanted


@pytest.mark.parametrize(("operator", "version"), versions("PRelu"))
def test_prelu_with_slopes_of_the_same_shape_in_every_type(operator, version):
    for name in types(operator, version):
        dtype = dtype_of(name)
        low = 0 if dtype.kind == "u" else -9
        rng = np.random.default_rng(version)
        x, slope = (rng.integers(low, 9, (2, 3, 4)).astype(dtype) for _ in range(2))
        assert (call(operator, version, x, slope) == prelu(x, lambda at, s=slope: s[at])).all()


@pytest.mark.parametrize("version", [1, 6])
def test_prelu_has_slopes_of_channels_up_to_version_6(version):
    """Channels are axis 1, also where the last axis has as many elements."""
    x = -np.arange(1.0, 28.0).reshape(3, 3, 3)
    slope = np.array([2.0, 3.0, 5.0])
    got = call("PRelu", version, x, slope)
    assert (got == prelu(x, lambda at: slope[at[1]])).all()
    assert (call("PRelu", version, x, slope[:1]) == 2 * x).all()


@pytest.mark.parametrize("version", [7, 9, 16])
@pytest.mark.parametrize("shape", [(), (1,), (4,), (3, 1), (3, 4), (1, 1, 4), (2, 1, 1)])
def test_prelu_broadcasts_the_slope_from_version_7(version, shape):
    x = -np.arange(1.0, 25.0).reshape(2, 3, 4)
    slope = np.arange(2.0, 2.0 + math.prod(shape)).reshape(shape)
    expanded = np.broadcast_to(slope, x.shape)
    assert (call("PRelu", version, x, slope) == prelu(x, lambda at: expanded[at])).all()


@pytest.mark.parametrize(
    ("version", "shape", "slope"),
    [
        (1, (2, 3), (2,)), (6, (2, 3, 4), (4,)), (6, (3,), (2,)), (6, (2, 3, 4), (3, 1, 1)),
        (7, (3,), (2, 3)), (9, (1, 3), (2, 3)), (16, (3,), (1, 1)), (16, (2, 3), (2,)),
    ],
)  # fmt: skip
def test_prelu_refuses_slopes_that_do_not_fit(version, shape, slope):
    with pytest.raises(ValueError, match="slope has shape"):
        call("PRelu", version, np.ones(shape), np.ones(slope))


def test_prelu_of_integers_wraps_around():
    x = np.array([-(2**31), -(2**31) + 1], np.int32)
    assert call("PRelu", 16, x, np.array([-1, 2], np.int32)).tolist() == [-(2**31), 2]
