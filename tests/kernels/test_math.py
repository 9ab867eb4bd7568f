"""The elementwise arithmetic, held against Python's integers, fractions and decimals."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from elementwise_calls import call, integers
from exact_rounding import FORMATS, rounded
from kernel_calls import dtype_of, types, versions, wrapped
from opcheck.kernels import math as kernels
from opcheck.kernels import registry

pytestmark = pytest.mark.usefixtures("no_warnings")

INF, NAN = math.inf, math.nan
UNARY = ("Abs", "Neg", "Sqrt", "Exp", "Tanh", "Relu")
BINARY = ("Add", "Sub", "Mul", "Div")
VARIADIC = ("Min", "Max")


def same(got, wanted):
    """Compare with an integer without a float, in which 2**63 - 1 equals 2**63."""
    if isinstance(wanted, int):
        return int(got) == wanted
    return math.isnan(got) if math.isnan(wanted) else float(got) == wanted


def floats(name, size, seed):
    """Return all kinds of floats: any bits, ordinary ones, and the special ones."""
    rng = np.random.default_rng(seed)
    dtype = dtype_of(name)
    bits = rng.integers(0, 256, size * dtype.itemsize, dtype=np.uint8).view(dtype)
    near = (rng.standard_normal(size) * 2).astype(dtype)
    special = np.array([0.0, -0.0, INF, -INF, NAN, 1.0, -1.0], dtype)
    return np.concatenate((bits, near, special))


def decimal_rounded(function, x, name):
    """Round a function of a decimal, computed with 60 digits."""
    with localcontext(prec=60):
        return rounded(Fraction(function(Decimal(x))), name)


def tanh(x):
    """Return tanh with enough digits also near to 0, where the quotient cancels."""
    if abs(x) < Decimal("1e-12"):
        return x - x**3 / 3
    e = (2 * x).exp()
    return (e - 1) / (e + 1)


def exact_binary(operator, a, b, name):
    """Compute one operation on two floats as IEEE 754 says."""
    a, b = float(a), float(b)
    if operator == "Div" and b == 0:
        zero_or_nan = a == 0 or math.isnan(a)
        return NAN if zero_or_nan else math.copysign(INF, a) * math.copysign(1, b)
    python = {
        "Add": lambda a, b: a + b,
        "Sub": lambda a, b: a - b,
        "Mul": lambda a, b: a * b,
        "Div": lambda a, b: a / b,
    }[operator]
    if math.isfinite(a) and math.isfinite(b):
        return rounded(python(Fraction(a), Fraction(b)), name)
    return python(a, b)


def exact_integer(operator, a, b, name):
    if operator == "Div":
        value = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    else:
        value = {"Add": a + b, "Sub": a - b, "Mul": a * b}[operator]
    return wrapped(value, name)


def test_every_version_is_registered():
    operators = (*UNARY, *BINARY, *VARIADIC)
    assert {("", *key) for key in versions(*operators)} <= registry.registered()


# Add, Sub, Mul, Div.


@pytest.mark.parametrize(("operator", "version"), versions(*BINARY))
def test_arithmetic_is_exact_in_every_type(operator, version):
    """Floats are correctly rounded, integers wrap around; division rounds towards zero."""
    for seed, name in enumerate(types(operator, version)):
        if name in FORMATS:
            a, b = floats(name, 200, seed), floats(name, 200, seed + 99)[::-1].copy()
            wanted = [exact_binary(operator, x, y, name) for x, y in zip(a, b, strict=True)]
        else:
            a, b = integers(name, 200, seed), integers(name, 200, seed + 99)[::-1].copy()
            if operator == "Div":
                b[b == 0] = 3
            pairs = zip(a.tolist(), b.tolist(), strict=True)
            wanted = [exact_integer(operator, x, y, name) for x, y in pairs]
        got = call(operator, version, a, b)
        wrong = [i for i, w in enumerate(wanted) if not same(got[i], w)]
        assert not wrong, (name, a[wrong], b[wrong], got[wrong])


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64"])
def test_the_lowest_integer_divided_by_minus_one_wraps_around(name):
    low = np.array([np.iinfo(name).min], name)
    assert call("Div", 14, low, np.array([-1], name)) == low


@pytest.mark.parametrize("name", ["int8", "uint8", "int32", "uint64"])
def test_an_integer_divided_by_zero_is_zero(name):
    """The specification is silent; at least it is no accident."""
    assert call("Div", 14, np.array([5], name), np.array([0], name)).tolist() == [0]


def test_int64_and_uint64_do_not_pass_through_floats():
    a = np.array([2**63 - 1, 2**62 + 1], np.int64)
    assert call("Div", 14, a, np.array([1, 1], np.int64)).tolist() == a.tolist()
    b = np.array([2**64 - 1], np.uint64)
    assert call("Sub", 14, b, np.array([1], np.uint64)).tolist() == [2**64 - 2]
    assert call("Max", 13, b, b - np.uint64(1)).tolist() == [2**64 - 1]


def test_signs_of_zero():
    zero = np.array([0.0, -0.0], np.float32)
    assert np.signbit(call("Neg", 13, zero)).tolist() == [True, False]
    assert np.signbit(call("Abs", 13, zero)).tolist() == [False, False]
    assert np.signbit(call("Sqrt", 13, zero)).tolist() == [False, True]
    assert call("Div", 14, np.ones(2, np.float32), zero).tolist() == [INF, -INF]


@pytest.mark.parametrize(
    ("a", "b", "shape"),
    [
        pytest.param((2, 3, 4, 5), (), (2, 3, 4, 5), id="scalar"),
        pytest.param((4, 5), (2, 3, 4, 5), (2, 3, 4, 5), id="left-is-smaller"),
        pytest.param((1, 4, 5), (2, 3, 1, 1), (2, 3, 4, 5), id="both-are-expanded"),
        pytest.param((3, 1), (1, 0), (3, 0), id="empty"),
    ],
)
def test_broadcasting_goes_both_ways_from_version_7(a, b, shape):
    """The examples of Broadcasting.md."""
    x = np.arange(math.prod(a), dtype=np.int32).reshape(a)
    y = 100 * np.arange(math.prod(b), dtype=np.int32).reshape(b)
    got = call("Sub", 7, x, y)
    assert got.shape == shape
    for index in np.ndindex(*shape):
        i, j = ([k if n > 1 else 0 for k, n in zip(index[-len(s) :] if s else (), s, strict=True)]
                for s in (a, b))  # fmt: skip
        assert got[index] == x[tuple(i)] - y[tuple(j)]


@pytest.mark.parametrize(
    ("a", "b", "axis", "start"),
    [
        pytest.param((2, 3, 4, 5), (), None, 4, id="scalar"),
        pytest.param((2, 3, 4, 5), (1, 1), None, None, id="one-element"),
        pytest.param((2, 3, 4, 5), (1,), 0, None, id="one-element-and-axis"),
        pytest.param((2, 3, 4, 5), (5,), None, 3, id="suffix-of-one"),
        pytest.param((2, 3, 4, 5), (4, 5), None, 2, id="suffix-of-two"),
        pytest.param((2, 3, 4, 5), (3, 4), 1, 1, id="axis-1"),
        pytest.param((2, 3, 4, 5), (2,), 0, 0, id="axis-0"),
        pytest.param((2, 2, 2), (2,), 1, 1, id="axis-decides"),
        pytest.param((2, 3), (2, 3), None, 0, id="same"),
        pytest.param((0, 3), (3,), None, 1, id="empty"),
        pytest.param((2, 3), (2, 1), None, 0, id="expansion-of-1"),
        pytest.param((2, 3), (2, 1), 0, 0, id="expansion-of-1-and-axis"),
        pytest.param((2, 3), (1, 3), 0, 0, id="expansion-of-leading-1"),
        pytest.param((2, 3, 4), (3, 1), 1, 1, id="expansion-within-a-run"),
        pytest.param((2, 3, 4), (1, 3), 0, 0, id="expansion-before-the-end"),
    ],
)
@pytest.mark.parametrize("version", [1, 6])
def test_limited_broadcasting(version, a, b, axis, start):
    """The examples of Add-1: element (i, j, k, l) of A meets that of B from ``start`` on.

    A dimension of 1 is expanded, as in two official cases of Add-6.
    """
    x = np.arange(math.prod(a), dtype=np.float32).reshape(a)
    y = 1000 * np.arange(1, 1 + math.prod(b), dtype=np.float32).reshape(b)
    got = call("Add", version, x, y, axis=axis, broadcast=1)
    assert got.shape == a
    for index in np.ndindex(*a):
        at = (0,) * len(b) if start is None else index[start : start + len(b)]
        at = tuple(i if n > 1 else 0 for i, n in zip(at, b, strict=True))
        assert got[index] == x[index] + y[at]


@pytest.mark.parametrize(
    ("a", "b", "axis", "broadcast"),
    [
        pytest.param((2, 3), (3,), None, 0, id="not-enabled"),
        pytest.param((2, 3), (), None, 0, id="not-even-a-scalar"),
        pytest.param((2, 3), (2,), None, 1, id="no-suffix"),
        pytest.param((2, 1), (2, 3), None, 1, id="no-expansion-of-A"),
        pytest.param((2, 3, 4), (2, 1), None, 1, id="expansion-is-aligned"),
        pytest.param((3,), (2, 3), None, 1, id="never-of-A"),
        pytest.param((3,), (1, 1), None, 1, id="one-element-of-higher-rank"),
        pytest.param((2, 3, 4), (3, 4), 0, 1, id="wrong-axis"),
        pytest.param((2, 3), (3,), -1, 1, id="negative-axis"),
        pytest.param((2, 3), (2,), -2, 1, id="negative-axis-that-would-fit"),
        pytest.param((2, 3), (3,), 2, 1, id="axis-past-the-end"),
    ],
)
@pytest.mark.parametrize("version", [1, 6])
def test_limited_broadcasting_refuses_the_rest(version, a, b, axis, broadcast):
    x, y = np.ones(a, np.float32), np.ones(b, np.float32)
    with pytest.raises(ValueError, match="B has shape"):
        call("Mul", version, x, y, axis=axis, broadcast=broadcast)


def test_limited_broadcasting_serves_all_four_operators():
    x = np.array([[6.0, 8.0], [10.0, 12.0]], np.float32)
    y = np.array([2.0, 4.0], np.float32)
    by_rows = {
        "Add": [[8, 10], [14, 16]],
        "Sub": [[4, 6], [6, 8]],
        "Mul": [[12, 16], [40, 48]],
        "Div": [[3, 4], [2.5, 3]],
    }
    for (operator, wanted), version in itertools.product(by_rows.items(), (1, 6)):
        assert call(operator, version, x, y, axis=0, broadcast=1).tolist() == wanted


# Abs, Neg, Sqrt, Exp, Tanh, Relu.


def exact_unary(operator, x, name):
    if math.isnan(x):
        return NAN
    if operator in ("Abs", "Neg", "Relu"):
        return {"Abs": abs(x), "Neg": -x, "Relu": max(x, 0.0)}[operator]
    if math.isinf(x):
        return {
            "Sqrt": x if x > 0 else NAN,
            "Exp": INF if x > 0 else 0.0,
            "Tanh": math.copysign(1, x),
        }[operator]
    if operator == "Sqrt":
        return NAN if x < 0 else decimal_rounded(Decimal.sqrt, x, name)
    if operator == "Exp":
        if abs(x) > 2000:
            return INF if x > 0 else 0.0
        return decimal_rounded(Decimal.exp, x, name)
    return math.copysign(1, x) if abs(x) > 40 else decimal_rounded(tanh, x, name)


@pytest.mark.parametrize(("operator", "version"), versions(*UNARY))
def test_functions_of_one_tensor_are_exact(operator, version):
    """Within half an ULP up to float32; Exp and Tanh within one ULP in float64."""
    for seed, name in enumerate(types(operator, version)):
        if name not in FORMATS:
            x = integers(name, 200, seed)
            python = {"Abs": abs, "Neg": lambda v: -v, "Relu": lambda v: max(v, 0)}[operator]
            wanted = [wrapped(python(v), name) for v in x.tolist()]
            assert call(operator, version, x).tolist() == wanted
            continue
        x = floats(name, 150, seed)
        got = call(operator, version, x)
        wanted = [exact_unary(operator, float(v), name) for v in x]
        slack = math.ulp if name == "float64" and operator in ("Exp", "Tanh") else lambda _: 0.0
        wrong = [
            i
            for i, w in enumerate(wanted)
            if not (same(got[i], w) or abs(float(got[i]) - w) <= slack(w))
        ]
        assert not wrong, (name, x[wrong], got[wrong], [wanted[i] for i in wrong])


@pytest.mark.parametrize("operator", ["Exp", "Tanh"])
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_16_bit_exponentials_over_their_whole_range(operator, name):
    """Every 19th of all values; float32 in between would round some of them twice."""
    x = np.arange(0, 2**16, 19, dtype=np.uint16).view(dtype_of(name))
    got = call(operator, 13, x)
    wanted = [exact_unary(operator, float(v), name) for v in x]
    assert [i for i, w in enumerate(wanted) if not same(got[i], w)] == []


RANGES = [
    ("Exp", -745, 709),
    ("Exp", -1, 1),
    ("Tanh", -20, 20),
    ("Tanh", -1, 1),
    ("Tanh", -1e-3, 1e-3),
]


@pytest.mark.parametrize(("operator", "low", "high"), RANGES)
def test_exponentials_of_float32_where_they_matter(operator, low, high):
    x = np.random.default_rng(5).uniform(low, high, 1000).astype(np.float32)
    wanted = [exact_unary(operator, v, "float32") for v in x.tolist()]
    assert call(operator, 13, x).tolist() == wanted


@pytest.mark.parametrize(("operator", "low", "high"), RANGES)
def test_exponentials_of_float64_are_within_one_ulp(operator, low, high):
    """NumPy's own Tanh is more than one off here and there; a long double is far better."""
    x = np.random.default_rng(6).uniform(low, high, 1000)
    limit = Decimal("0.51") if np.finfo(np.longdouble).nmant > 60 else 1
    with localcontext(prec=60):
        for value, result in zip(x.tolist(), call(operator, 13, x).tolist(), strict=True):
            wanted = {"Exp": Decimal.exp, "Tanh": tanh}[operator](Decimal(value))
            assert abs(Decimal(result) - wanted) <= limit * Decimal(math.ulp(result))


@pytest.mark.parametrize("operator", UNARY)
def test_a_scalar_and_an_empty_tensor_keep_their_shapes(operator):
    assert call(operator, 13, np.array(0.5, np.float32)).shape == ()
    assert call(operator, 13, np.zeros((2, 0, 3), np.float32)).shape == (2, 0, 3)


# Min and Max.


@pytest.mark.parametrize(("operator", "version"), versions(*VARIADIC))
@pytest.mark.parametrize("count", [1, 2, 4])
def test_extremes_of_every_type(operator, version, count):
    """NaN in any of the inputs is the result."""
    python = {"Min": min, "Max": max}[operator]
    for name in types(operator, version):
        make = floats if name in FORMATS else integers
        inputs = [make(name, 40, seed) for seed in range(count)]
        inputs = [np.roll(x, 3 * i) for i, x in enumerate(inputs)]
        got = call(operator, version, *inputs)
        for i, values in enumerate(zip(*(x.tolist() for x in inputs), strict=True)):
            nan = any(v != v for v in values)
            assert math.isnan(got[i]) if nan else got[i].item() == python(values)


@pytest.mark.parametrize("operator", VARIADIC)
@pytest.mark.parametrize("version", [8, 12, 13])
def test_extremes_broadcast_from_version_8(operator, version):
    a = np.array([[1.0], [4.0]], np.float32)
    b = np.array([0.0, 2.0, 5.0], np.float32)
    c = np.array(3.0, np.float32)
    python = {"Min": min, "Max": max}[operator]
    wanted = [[python(x, y, 3.0) for y in b.tolist()] for x in (1.0, 4.0)]
    assert call(operator, version, a, b, c).tolist() == wanted


@pytest.mark.parametrize("operator", VARIADIC)
@pytest.mark.parametrize("version", [1, 6])
def test_extremes_do_not_broadcast_before_version_8(operator, version):
    with pytest.raises(ValueError, match="must be the same"):
        call(operator, version, np.ones((2, 1), np.float32), np.ones((2, 3), np.float32))


def test_the_quotient_helper_is_for_any_integers():
    a = np.array([-7, 7, -7, 7], np.int8)
    assert kernels.truncated_quotient(a, np.array([2, -2, -2, 2], np.int8)).tolist() == [
        -3,
        -3,
        3,
        3,
    ]
