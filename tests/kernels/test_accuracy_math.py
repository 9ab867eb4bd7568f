"""The accuracy of the elementwise functions, measured against mpmath.

Half a unit in the last place up to float32, and one unit in float64.
"""

import math
import zlib

import mpmath as mp
import numpy as np
import pytest

from exact_rounding import FORMATS
from kernel_calls import call, dtype_of

MOST_UNITS_OFF = {"float16": 0.50001, "bfloat16": 0.50001, "float32": 0.50001, "float64": 1.0}
ALPHA = float(np.float32(1.7))
BETA = float(np.float32(0.3))
GAMMA, SELU_ALPHA = 1.05070102214813232421875, 1.67326319217681884765625


@pytest.fixture(autouse=True)
def quiet_and_precise():
    with np.errstate(all="ignore"), mp.workprec(160):
        yield


def sigmoid(x):
    return 1 / (1 + mp.exp(-x))


def softplus(x):
    return mp.log1p(mp.exp(x)) if x < 100 else x + mp.exp(-x)


def normal_distribution(x):
    return mp.mpf(x > 0) if abs(x) > 100 else mp.erfc(-x / mp.sqrt(2)) / 2


def gelu_tanh(x):
    return x * sigmoid(2 * mp.sqrt(2 / mp.pi) * (x + mp.mpf("0.044715") * x**3))


def elu(x):
    return x if x > 0 else mp.expm1(x)


#: Operator, version, attributes, the exact function, and where it is defined.
EVERYWHERE, POSITIVE, UNIT, ABOVE_ONE = (-1, 1), (0, 10), (-1, 1.0), (1, 1000)
FUNCTIONS = {
    "Acos": (22, {}, mp.acos, UNIT),
    "Asin": (22, {}, mp.asin, UNIT),
    "Atan": (22, {}, mp.atan, EVERYWHERE),
    "Cos": (22, {}, mp.cos, EVERYWHERE),
    "Sin": (22, {}, mp.sin, EVERYWHERE),
    "Tan": (22, {}, mp.tan, EVERYWHERE),
    "Acosh": (22, {}, mp.acosh, ABOVE_ONE),
    "Asinh": (22, {}, mp.asinh, EVERYWHERE),
    "Atanh": (22, {}, mp.atanh, UNIT),
    "Cosh": (22, {}, mp.cosh, EVERYWHERE),
    "Sinh": (22, {}, mp.sinh, EVERYWHERE),
    "Tanh": (13, {}, mp.tanh, EVERYWHERE),
    "Exp": (13, {}, mp.exp, EVERYWHERE),
    "Log": (13, {}, mp.log, POSITIVE),
    "Sqrt": (13, {}, mp.sqrt, POSITIVE),
    "Reciprocal": (13, {}, lambda x: 1 / x, EVERYWHERE),
    "Erf": (13, {}, mp.erf, EVERYWHERE),
    "Sigmoid": (13, {}, sigmoid, EVERYWHERE),
    "Softplus": (22, {}, softplus, EVERYWHERE),
    "Softsign": (22, {}, lambda x: x / (1 + abs(x)), EVERYWHERE),
    "Celu": (28, {"alpha": ALPHA}, lambda x: ALPHA * elu(x / ALPHA), EVERYWHERE),
    "Elu": (22, {"alpha": ALPHA}, lambda x: x if x > 0 else ALPHA * elu(x), EVERYWHERE),
    "Selu": (
        22,
        {},
        lambda x: mp.mpf(GAMMA) * (x if x > 0 else SELU_ALPHA * mp.expm1(x)),
        EVERYWHERE,
    ),
    "LeakyRelu": (16, {"alpha": BETA}, lambda x: x if x > 0 else BETA * x, EVERYWHERE),
    "HardSigmoid": (
        22,
        {"alpha": BETA, "beta": BETA},
        lambda x: max(mp.mpf(0), min(mp.mpf(1), BETA * x + BETA)),
        EVERYWHERE,
    ),
    "HardSwish": (22, {}, lambda x: x * max(mp.mpf(0), min(mp.mpf(6), x + 3)) / 6, EVERYWHERE),
    "Mish": (22, {}, lambda x: x * mp.tanh(softplus(x)), EVERYWHERE),
    "Gelu": (20, {}, lambda x: x * normal_distribution(x), EVERYWHERE),
    "Gelu tanh": (20, {"approximate": "tanh"}, gelu_tanh, EVERYWHERE),
    "Swish": (24, {"alpha": ALPHA}, lambda x: x * sigmoid(ALPHA * x), EVERYWHERE),
}
#: Where something changes: a cancellation, an overflow, the smallest numbers, a sign.
EDGES = (-0.9999, -1.0001, -2.9999, -3.0001, 0.9999, -19.17913465564329, -21.3,
         -5e-324, 2e-310, -1e-30, -8.5, -37.6, -103.9, 88.7,
         -708.3, 709.7, -745.2, 1e30, -1e30, 1e300, -1e300, 1e22)  # fmt: skip


def function(operator, version, **attributes):
    return lambda *inputs: np.asarray(call(operator, version, *inputs, **attributes))


def generator(name, operator):
    return np.random.default_rng(zlib.crc32(f"{name} {operator}".encode()))


def arguments(name, operator, domain, size=40):
    """Return finite numbers other than 0, of all sizes where the function is defined everywhere."""
    rng = generator(name, operator)
    low, high = domain
    if domain is EVERYWHERE:
        parts = [
            rng.uniform(-4, 4, size),
            rng.uniform(-800, 800, size),
            rng.standard_normal(size) * 10.0 ** rng.uniform(-30, 5, size),
            np.array(EDGES),
        ]
    else:
        near = 10.0 ** rng.uniform(-16, 0, size)
        parts = [rng.uniform(low, high, size), high - (high - low) * near, low + near]
    x = np.concatenate(parts).astype(dtype_of(name))
    wide = x.astype(np.float64)
    return x[np.isfinite(wide) & (wide != 0)]


def units_off(got, exact, name):
    """Return how far a result is from the exact number, in units in the last place."""
    if isinstance(exact, mp.mpc) or mp.isnan(exact):
        return 0.0 if math.isnan(got) else math.inf
    precision, least, greatest = FORMATS[name]
    limit = mp.ldexp(1, greatest + 1) - mp.ldexp(1, greatest - precision)
    if abs(exact) >= limit:
        return 0.0 if got == math.copysign(math.inf, exact) else math.inf
    if not math.isfinite(got):
        return math.inf
    exponent = max(mp.frexp(exact)[1] - 1, least) if exact else least
    return float(abs(mp.mpf(got) - exact) / mp.ldexp(1, exponent - precision + 1))


def exactly(function, *values):
    try:
        return mp.mpmathify(function(*values))
    except ZeroDivisionError:
        return mp.nan


def worst(results, exact, name):
    off = [units_off(float(g), e, name) for g, e in zip(results, exact, strict=True)]
    place = int(np.argmax(off))
    return off[place], place


def wide_enough(name):
    return name != "float64" or np.finfo(np.longdouble).nmant > 60


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("operator", FUNCTIONS)
def test_functions_of_one_tensor(operator, name):
    """A result is the exact one, rounded once; in float64 the last bit may be off."""
    if not wide_enough(name):
        pytest.skip("numpy.longdouble is float64 here")
    version, attributes, exact, domain = FUNCTIONS[operator]
    x = arguments(name, operator, domain)
    got = function(operator.split()[0], version, **attributes)(x)
    assert got.dtype == x.dtype
    off, place = worst(got, [exactly(exact, mp.mpf(float(v))) for v in x], name)
    assert off <= MOST_UNITS_OFF[name], (float(x[place]), float(got[place]))


@pytest.mark.parametrize("name", FORMATS)
def test_powers(name):
    """exp(y * log(x)) in the type itself loses as many digits as the exponent has."""
    if not wide_enough(name):
        pytest.skip("numpy.longdouble is float64 here")
    rng = generator(name, "Pow")
    x = np.concatenate((rng.uniform(0.01, 20, 150), 1 + rng.uniform(-1e-2, 1e-2, 50)))
    y = np.concatenate((rng.uniform(-10, 10, 150), rng.uniform(-700, 700, 50)))
    x, y = x.astype(dtype_of(name)), y.astype(dtype_of(name))
    got = function("Pow", 15)(x, y)
    exact = [mp.power(float(a), float(b)) for a, b in zip(x, y, strict=True)]
    off, place = worst(got, exact, name)
    assert off <= MOST_UNITS_OFF[name], (x[place], y[place], got[place])


@pytest.mark.parametrize("name", FORMATS)
def test_gated_products(name):
    """SwiGLU is rounded once, not after its activation as well."""
    if not wide_enough(name):
        pytest.skip("numpy.longdouble is float64 here")
    rng = generator(name, "SwiGLU")
    a, b = (rng.standard_normal(150) * 3 for _ in range(2))
    a, b = a.astype(dtype_of(name)), b.astype(dtype_of(name))
    got = function("SwiGLU", 28, alpha=ALPHA)(a, b)
    pairs = [(mp.mpf(float(p)), float(q)) for p, q in zip(a, b, strict=True)]
    exact = [p * sigmoid(ALPHA * p) * q for p, q in pairs]
    off, place = worst(got, exact, name)
    assert off <= MOST_UNITS_OFF[name], (a[place], b[place], got[place])


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("operator", ["Sum", "Mean"])
def test_sums_of_many_tensors(operator, name):
    """Two of nine tensors cancel, and what is left is rounded once."""
    rng = generator(name, operator)
    inputs = [rng.standard_normal(80) * 10.0 ** rng.uniform(-3, 3, 80) for _ in range(9)]
    inputs = [x.astype(dtype_of(name)) for x in inputs]
    inputs[5] = -inputs[0]
    got = function(operator, 13)(*inputs)
    sums = [mp.fsum(float(v) for v in column) for column in zip(*inputs, strict=True)]
    off, place = worst(got, [s / 9 if operator == "Mean" else s for s in sums], name)
    assert off <= (0.50001 if wide_enough("float64") else 1), (place, got[place], sums[place])


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(("operator", "version"), [("CumSum", 14), ("CumProd", 26)])
def test_running_sums_and_products(operator, version, name):
    """Each is the exact sum or product of all before it, and not of a rounded one."""
    if operator == "CumProd" and not wide_enough(name):
        pytest.skip("numpy.longdouble is float64 here")
    rng = generator(name, operator)
    x = rng.standard_normal((12, 20)) * 10.0 ** rng.uniform(-0.5, 0.5, (12, 20))
    x = x.astype(dtype_of(name))
    got = function(operator, version)(x, np.array(-1))
    for row, results in zip(x, got, strict=True):
        numbers = [mp.mpf(float(v)) for v in row]
        combine = mp.fsum if operator == "CumSum" else mp.fprod
        exact = [combine(numbers[: i + 1]) for i in range(len(numbers))]
        off, place = worst(results, exact, name)
        assert off <= 0.51, (place, results[place], exact[place])
