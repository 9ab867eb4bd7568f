"""MatMulInteger and QLinearMatMul, held against loops over Python's integers and fractions."""

import itertools
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from kernel_calls import call, dtype_of

INTEGERS = ("int8", "uint8")
FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")


def slow(a, b, za, zb):
    """Multiply lists of rows, each row and column with a zero point of its own."""
    return [
        [
            sum((a[m][k] - za[m]) * (b[k][n] - zb[n]) for k in range(len(b)))
            for n in range(len(b[0]))
        ]
        for m in range(len(a))
    ]


def any_bits(rng, shape, name):
    info = np.iinfo(name)
    return rng.integers(info.min, info.max, shape, name, endpoint=True)


@pytest.mark.parametrize(("left", "right"), list(itertools.product(INTEGERS, INTEGERS)))
@pytest.mark.parametrize("per", ["none", "scalar", "vector", "matrix"])
def test_products_of_integers_are_exact(left, right, per):
    """Zero points of every shape and type; differences and products do not overflow."""
    rng = np.random.default_rng(len(left + right))
    a, b = any_bits(rng, (3, 5), left), any_bits(rng, (5, 2), right)
    shapes = {"scalar": ((), ()), "vector": ((3,), (2,)), "matrix": ((3, 1), (1, 2))}
    za, zb = (None, None)
    rows, columns = [0] * 3, [0] * 2
    if per != "none":
        za, zb = (any_bits(rng, s, t) for s, t in zip(shapes[per], (left, right), strict=True))
        rows = np.broadcast_to(za.reshape(-1), 3).tolist()
        columns = np.broadcast_to(zb.reshape(-1), 2).tolist()
    got = call("MatMulInteger", 10, a, b, za, zb)
    assert got.dtype == np.int32
    assert got.tolist() == slow(a.tolist(), b.tolist(), rows, columns)


def test_stacks_and_vectors():
    """A batch is broadcast, and has zero points of its own shape; a vector loses its dimension."""
    rng = np.random.default_rng(0)
    a, b = any_bits(rng, (2, 1, 3, 4), "uint8"), any_bits(rng, (5, 4, 2), "int8")
    za, zb = any_bits(rng, (2, 1, 3, 1), "uint8"), any_bits(rng, (5, 1, 2), "int8")
    got = call("MatMulInteger", 10, a, b, za, zb)
    assert got.shape == (2, 5, 3, 2)
    for i, j in itertools.product(range(2), range(5)):
        parts = (a[i, 0], b[j], za[i, 0, :, 0], zb[j, 0])
        assert got[i, j].tolist() == slow(*(p.tolist() for p in parts))
    v = np.array([1, -2, 3, 4], np.int8)
    assert call("MatMulInteger", 10, v, v, None, None).tolist() == 30
    assert call("MatMulInteger", 10, v, b[0]).shape == (2,)
    assert call("MatMulInteger", 10, a[0, 0], v, za[0, 0, :, 0]).shape == (3,)


def test_a_sum_beyond_32_bits_wraps_around():
    """Source: "The accumulation may overflow if and only if in 32 bits"."""
    a = np.full((1, 40000), 255, np.uint8)
    got = call("MatMulInteger", 10, a, a.T)
    assert int(got[0, 0]) == 40000 * 255 * 255 - 2**32


def test_nothing_to_add():
    a, b = np.zeros((2, 0), np.int8), np.zeros((0, 3), np.int8)
    assert call("MatMulInteger", 10, a, b, np.int8(3).reshape(())).tolist() == [[0] * 3] * 2


@pytest.mark.parametrize(
    ("a", "b", "za", "zb", "message"),
    [
        ((2, 3), (2, 2), None, None, "inner dimensions"),
        ((), (2, 2), None, None, "scalar"),
        ((2, 3), (3, 2), (3,), None, "a_zero_point has shape"),
        ((2, 3), (3, 2), (1, 2), None, "a_zero_point has shape"),
        ((2, 3), (3, 2), None, (3,), "b_zero_point has shape"),
        ((2, 3), (3, 2), None, (2, 1), "b_zero_point has shape"),
        ((4, 2, 3), (3, 2), (2,), None, "a_zero_point has shape"),
        ((3,), (3, 2), (3,), None, "a_zero_point has shape"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(a, b, za, zb, message):
    inputs = [None if s is None else np.zeros(s, np.int8) for s in (a, b, za, zb)]
    with pytest.raises(ValueError, match=message):
        call("MatMulInteger", 10, *inputs)


def scales(values, name="float32"):
    return np.array(values).astype(dtype_of(name))


@pytest.mark.parametrize("version", [10, 21])
@pytest.mark.parametrize(("left", "right", "out"), list(itertools.product(INTEGERS, repeat=3)))
def test_quantized_products_are_rounded_once(version, left, right, out):
    """The exact quotient goes to the nearest integer, ties to even, before the zero point."""
    rng = np.random.default_rng(5)
    a, b = any_bits(rng, (4, 3), left), any_bits(rng, (3, 5), right)
    za, zb = any_bits(rng, (4,), left), any_bits(rng, (5,), right)
    sa, sb = scales(rng.random(4) / 64), scales(rng.random(5) + 0.5)
    sb[:3], sa[:2] = 0.5, 0.0625
    sy, zy = scales(0.5), any_bits(rng, (), out)
    got = call("QLinearMatMul", version, a, sa, za, b, sb, zb, sy, zy)
    assert got.dtype == np.dtype(out)
    sums = slow(a.tolist(), b.tolist(), za.tolist(), zb.tolist())
    info = np.iinfo(out)
    for m, n in itertools.product(range(4), range(5)):
        exact = sums[m][n] * Fraction(float(sa[m])) * Fraction(float(sb[n])) / Fraction(float(sy))
        wanted = min(max(round(exact) + int(zy), info.min), info.max)
        assert int(got[m, n]) == wanted


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_scales_of_16_bits(name):
    a, b = np.array([[1, 2]], np.int8), np.array([[3], [4]], np.int8)
    zero = np.zeros((), np.int8)
    half, one = scales(0.5, name), scales(1, name)
    assert call("QLinearMatMul", 21, a, half, zero, b, one, zero, one, zero).tolist() == [[6]]


@pytest.mark.parametrize("name", FLOAT8)
def test_8_bit_floats_are_not_rounded_to_integers(name):
    """They saturate; an integer output is rounded all the same."""
    dtype = dtype_of(name)
    a = np.array([[0.5, 1.5], [100, 100]]).astype(dtype)
    b = np.array([[0.5], [1]]).astype(dtype)
    zero, one = np.zeros((), dtype), scales(1)
    got = call("QLinearMatMul", 21, a, one, zero, b, one, zero, one, zero)
    assert got.dtype == dtype
    exact = np.array([1.75, 1.5 * float(a[1, 0])]).astype(dtype)
    assert got.ravel().tolist() == exact.tolist()
    large = call("QLinearMatMul", 21, a, scales(1e6), zero, b, one, zero, one, zero)
    assert float(large[1, 0]) == float(ml_dtypes.finfo(dtype).max)
    whole = call("QLinearMatMul", 21, a, one, zero, b, one, zero, one, np.array(3, np.int8))
    assert int(whole[0, 0]) == 5


def test_vectors_and_stacks_are_scaled_by_rows_and_columns():
    """A vector has lost the dimension that the scales of the other matrix still have."""
    zero, one = np.zeros((), np.int8), scales(1)
    a, v = np.array([[1, 2], [3, 4]], np.int8), np.array([1, 1], np.int8)
    two, zeros = scales([1, 2]), np.zeros(2, np.int8)
    assert call("QLinearMatMul", 10, a, two, zeros, v, one, zero, one, zero).tolist() == [3, 14]
    assert call("QLinearMatMul", 10, v, one, zero, a, two, zeros, one, zero).tolist() == [4, 12]
    stack, rows = np.stack([a, a]), scales([[[1], [2]], [[3], [4]]])
    got = call(
        "QLinearMatMul", 10, stack, rows, np.zeros((2, 2, 1), np.int8), v, one, zero, one, zero
    )
    assert got.tolist() == [[3, 14], [9, 28]]


@pytest.mark.parametrize(
    ("changed", "shape", "message"),
    [(1, (2,), "a_scale"), (4, (2,), "b_scale"), (6, (2,), "y_scale"), (2, (3,), "a_scale")],
)
def test_scales_and_zero_points_have_one_shape(changed, shape, message):
    zero, one = np.zeros((), np.int8), scales(1)
    inputs = [np.ones((2, 2), np.int8), one, zero, np.ones((2, 2), np.int8), one, zero, one, zero]
    inputs[changed] = np.ones(shape, inputs[changed].dtype)
    with pytest.raises(ValueError, match=message):
        call("QLinearMatMul", 10, *inputs)


def test_the_output_has_one_scale():
    zero, one = np.zeros((), np.int8), scales(1)
    a, two = np.ones((2, 2), np.int8), np.ones(2, np.float32)
    with pytest.raises(ValueError, match="y_scale has shape"):
        call("QLinearMatMul", 10, a, one, zero, a, one, zero, two, np.zeros(2, np.int8))
