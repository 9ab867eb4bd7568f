"""Pow and Mod, held against the integers and fractions of Python."""

import math
from fractions import Fraction

import numpy as np
import onnx.defs
import pytest

from elementwise_calls import call, integers
from kernel_calls import dtype_of, types, versions, wrapped
from opcheck.kernels import registry

pytestmark = pytest.mark.usefixtures("no_warnings")

INF, NAN = math.inf, math.nan


def test_every_version_is_registered():
    assert {("", *key) for key in versions("Pow", "Mod")} <= registry.registered()


# Pow.


@pytest.mark.parametrize("version", [12, 13, 15])
@pytest.mark.parametrize("name", ["int32", "int64"])
def test_integer_powers_are_exact_modulo_the_size_of_the_type(version, name):
    base = integers(name, 60, version)
    for other in ("uint8", "int16", "int64", "uint64"):
        exponent = integers(other, 60, version)[::-1].copy()
        exponent = np.where(exponent < 0, -(exponent // 2), exponent).astype(other)
        exponent[exponent < 0] = 5
        got = call("Pow", version, base, exponent)
        pairs = zip(base.tolist(), exponent.tolist(), strict=True)
        assert got.tolist() == [wrapped(pow(a, b, 2**64), name) for a, b in pairs]


@pytest.mark.parametrize("exponent_type", ["int8", "int64", "float32", "float64"])
def test_negative_powers_of_integers_are_rounded_towards_zero(exponent_type):
    base = np.array([1, 1, -1, -1, 2, -2, 7, 0], np.int64)
    exponent = np.array([-1, -2, -1, -2, -1, -3, -5, -1], exponent_type)
    assert call("Pow", 15, base, exponent).tolist() == [1, 1, -1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(("root", "power"), [(2, 0.5), (3, 0.5), (4, 0.25), (2, 1.5), (8, 0.125)])
def test_fractional_powers_of_integers_are_the_exact_ones_cut(root, power):
    """Each result r has r**q <= x**p < (r + 1)**q, in Python's integers."""
    ratio = Fraction(power)
    p, q = ratio.numerator, ratio.denominator
    x = [root**q, root**q - 1, root**q + 1, 2, 3, 10**9, 123456789, 2**31 - 1, 1, 0]
    got = call("Pow", 15, np.array(x, np.int64), np.array(power)).tolist()
    for value, r in zip(x, got, strict=True):
        assert r**q <= value**p < (r + 1) ** q, (value, r)


def test_powers_of_integers_without_a_value_are_zero():
    base = np.array([2, 0, -2, 2, 5, 1, 3, -1], np.int32)
    exponent = np.array([INF, -1.0, 0.5, NAN, -INF, NAN, 100.5, -INF])
    assert call("Pow", 12, base, exponent).tolist() == [0, 0, 0, 0, 0, 1, 0, 1]


def test_whole_float_exponents_of_integers_are_exact():
    base = np.array([3, -7, 13, -1, 2], np.int64)
    exponent = np.array([39, 22, 17, 2.0**60 + 256, 64])
    wanted = [
        wrapped(pow(a, int(b), 2**64), "int64")
        for a, b in zip(base.tolist(), exponent, strict=True)
    ]
    assert call("Pow", 15, base, exponent).tolist() == wanted


@pytest.mark.parametrize("name", ["int64", "uint64"])
def test_large_integer_exponents_keep_their_parity(name):
    exponent = np.array([2**53 + 1, 2**53, 2**63 - 1], name)
    assert call("Pow", 15, np.full(3, -1.0, np.float32), exponent).tolist() == [-1, 1, -1]


def test_the_special_values_of_c():
    x = np.array([NAN, 1.0, 1.0, -1.0, 0.0, -0.0, -0.0, -INF, 0.5, -8.0])
    y = np.array([0.0, NAN, INF, -INF, -1.0, -1.0, 3.0, -3.0, -INF, 0.5])
    got = call("Pow", 7, x, y)
    assert got[:-1].tolist() == [1, 1, 1, 1, INF, -INF, 0, 0, INF]
    assert np.signbit(got[6:8]).tolist() == [True, True]
    assert math.isnan(got[-1])


@pytest.mark.parametrize(("operator", "version"), versions("Pow"))
def test_every_version_and_type_of_base_and_exponent(operator, version):
    """3 to the power 2 in each; the result has the type of the base."""
    constraints = onnx.defs.get_schema(operator, version, "").type_constraints
    names = types(operator, version)
    others = names if len(constraints) == 1 else [
        {"float": "float32", "double": "float64"}.get(n, n)
        for n in (t[7:-1] for t in constraints[1].allowed_type_strs)
    ]  # fmt: skip
    for name in names:
        for other in others:
            got = call(
                operator, version, np.array([3], dtype_of(name)), np.array([2], dtype_of(other))
            )
            assert got.astype(float).tolist() == [9]


def test_version_1_broadcasts_within_limits():
    x = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    y = np.array([1.0, 2.0])
    assert call("Pow", 1, x, y, axis=0, broadcast=1).tolist() == [[1, 2, 3], [16, 25, 36]]
    with pytest.raises(ValueError, match="without the attribute"):
        call("Pow", 1, x, y)


@pytest.mark.parametrize("name", ["int32", "float32"])
@pytest.mark.parametrize("other", ["int32", "float32"])
def test_powers_broadcast_from_version_12(name, other):
    x, y = np.array([[2], [3]], name), np.array([0, 1, 3], other)
    assert call("Pow", 12, x, y).tolist() == [[1, 2, 8], [1, 3, 27]]
    assert call("Pow", 12, x[0, 0].reshape(()), y[2].reshape(())).shape == ()
    assert call("Pow", 12, x, np.zeros((2, 0), other)).shape == (2, 0)


# Mod.


@pytest.mark.parametrize(("version", "fmod"), [(10, 0), (10, 1), (13, 0), (28, 0), (28, 1)])
def test_remainders_of_integers(version, fmod):
    for name in types("Mod", version):
        if dtype_of(name).kind not in "iu":
            continue
        a, b = integers(name, 100, version), integers(name, 100, 7)[::-1].copy()
        b[b == 0] = 3
        got = call("Mod", version, a, b, fmod=fmod)
        pairs = list(zip(a.tolist(), b.tolist(), strict=True))
        floored = [p % q for p, q in pairs]
        truncated = [int(math.copysign(1, p)) * (abs(p) % abs(q)) for p, q in pairs]
        assert got.tolist() == (truncated if fmod else floored), name


@pytest.mark.parametrize(("version", "fmod"), [(10, 1), (13, 1), (28, 0), (28, 1)])
def test_remainders_of_floats_are_exact_before_they_are_rounded(version, fmod):
    for name in types("Mod", version):
        dtype = dtype_of(name)
        if dtype.kind in "iu":
            continue
        rng = np.random.default_rng(version)
        a, b = (rng.standard_normal(200) * 10.0 ** rng.uniform(-3, 3, 200) for _ in range(2))
        a, b = a.astype(dtype), b.astype(dtype)
        got = call("Mod", version, a, b, fmod=fmod)
        for x, y, z in zip(a, b, got, strict=True):
            p, q = Fraction(float(x)), Fraction(float(y))
            exact = p - (math.trunc if fmod else math.floor)(p / q) * q
            spacing = Fraction(float(np.spacing(np.abs(z)))) if z else Fraction(0)
            assert abs(Fraction(float(z)) - exact) <= spacing / 2
            assert not fmod or Fraction(float(z)) == exact


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_the_special_values_of_floored_remainders(name):
    """The list of version 28."""
    cases = [
        (0.0, 3, 0.0), (-0.0, 3, 0.0), (0.0, -3, -0.0), (-0.0, -3, -0.0), (0.0, -INF, -0.0),
        (INF, 2, NAN), (-INF, INF, NAN), (2, 0.0, NAN), (0.0, -0.0, NAN), (NAN, 2, NAN),
        (2, NAN, NAN), (2, INF, 2), (-2, -INF, -2), (-2, INF, INF), (2, -INF, -INF), (6, -3, -0.0),
    ]  # fmt: skip
    a, b, wanted = (np.array(column, dtype_of(name)) for column in zip(*cases, strict=True))
    got = call("Mod", 28, a, b).astype(float)
    np.testing.assert_array_equal(got, wanted.astype(float))
    known = ~np.isnan(got)
    assert (np.signbit(got) == np.signbit(wanted.astype(float)))[known].all()


@pytest.mark.parametrize("version", [10, 13, 28])
def test_the_special_values_of_truncated_remainders(version):
    a = np.array([INF, 2.0, 0.0, NAN, 2.0, 2.0, -2.0])
    b = np.array([2.0, 0.0, 0.0, 2.0, NAN, INF, -INF])
    got = call("Mod", version, a, b, fmod=1)
    assert np.isnan(got[:5]).all()
    assert got[5:].tolist() == [2, -2]


@pytest.mark.parametrize(
    ("version", "name", "fmod"),
    [(10, "float32", 0), (13, "float16", 0), (13, "int64", 1), (10, "int32", 2), (13, "int32", 2),
     (13, "float32", -1), (28, "float64", 2), (28, "uint8", 3)],
)  # fmt: skip
def test_modes_that_a_version_does_not_allow(version, name, fmod):
    x = np.ones(2, name)
    with pytest.raises(ValueError, match=f"fmod is {fmod}"):
        call("Mod", version, x, x, fmod=fmod)


def test_an_integer_modulo_zero_is_zero():
    """The specification is silent; at least it is no accident."""
    a, b = np.array([5, -5], np.int16), np.zeros(2, np.int16)
    assert call("Mod", 28, a, b).tolist() == [0, 0]
    assert call("Mod", 28, a, b, fmod=1).tolist() == [0, 0]


def test_remainders_broadcast_both_ways():
    a, b = np.array([[7], [-8]], np.int32), np.array([2, 3, -5], np.int32)
    for version in (10, 13, 28):
        assert call("Mod", version, a, b).tolist() == [[1, 1, -3], [0, 1, -3]]
