"""MatMul and Gemm, held against sums of Python's integers and fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact_rounding import FORMATS, rounded
from kernel_calls import array, function, types, versions, wrapped
from opcheck.kernels import math_matmul, registry  # noqa: F401 - registers the kernels

pytestmark = pytest.mark.usefixtures("no_warnings")

INF, NAN = math.inf, math.nan


def random_array(rng, shape, name):
    """Return ordinary floats, or integers of any size."""
    if name in FORMATS:
        return array(rng.standard_normal(shape), name)
    info = np.iinfo(name)
    return rng.integers(info.min, info.max, shape, dtype=name, endpoint=True)


def exact(x):
    """Return a nested list of Python's integers, or of fractions."""
    if x.ndim:
        return [exact(part) for part in x]
    return int(x) if x.dtype.kind in "iu" else Fraction(float(x))


def check(got, wanted, magnitude, name):
    """Hold one element against its exact value.

    Up to float32 the sum in float64 may be off by a little of the sum of all magnitudes, which
    can move the result to the neighbour only where the exact value is next to a midpoint.
    """
    if name not in FORMATS:
        assert int(got) == wrapped(int(wanted), name)
    elif name == "float64":
        assert abs(Fraction(float(got)) - wanted) <= 40 * magnitude / 2**53
    else:
        slack = magnitude * 40 / 2**53
        lowest, highest = rounded(wanted - slack, name), rounded(wanted + slack, name)
        assert lowest <= float(got) <= highest


def matmul(a, b, version=13):
    before = a.tobytes(), b.tobytes()
    got = np.asarray(function("MatMul", version)(a, b))
    assert (a.tobytes(), b.tobytes()) == before
    assert got.dtype == a.dtype
    return got


def gemm(version, a, b, c=None, *, alpha=1.0, beta=1.0, ta=0, tb=0, **others):
    inputs = [x for x in (a, b, c) if x is not None]
    before = [x.tobytes() for x in inputs]
    attributes = {"alpha": alpha, "beta": beta, "transA": ta, "transB": tb} | others
    if version < 7:
        attributes.setdefault("broadcast", 0)
    got = np.asarray(function("Gemm", version)(*inputs, **attributes))
    assert [x.tobytes() for x in inputs] == before
    assert got.dtype == a.dtype
    return got


def test_every_version_is_registered():
    assert {("", *key) for key in versions("MatMul", "Gemm")} <= registry.registered()


# MatMul.


@pytest.mark.parametrize(("operator", "version"), versions("MatMul"))
def test_products_are_exact_in_every_type(operator, version):
    """Floats are summed wide and rounded once; integers wrap around and never become floats."""
    rng = np.random.default_rng(version)
    for name in types(operator, version):
        a, b = random_array(rng, (3, 17), name), random_array(rng, (17, 4), name)
        x, y = exact(a), exact(b)
        got = matmul(a, b, version)
        assert got.shape == (3, 4)
        for i, j in np.ndindex(3, 4):
            terms = [x[i][k] * y[k][j] for k in range(17)]
            check(got[i, j], sum(terms), sum(abs(term) for term in terms), name)


@settings(deadline=None, max_examples=80)
@given(st.data())
def test_shapes_are_those_of_numpy(data):
    """Stacks broadcast; a vector is a row on the left, a column on the right, and then dropped."""
    inner = data.draw(st.integers(0, 3))
    stack = data.draw(st.lists(st.integers(0, 3), max_size=2))
    left = [data.draw(st.sampled_from((1, n))) for n in stack]
    right = [data.draw(st.sampled_from((1, n))) for n in stack]
    left = left[data.draw(st.integers(0, len(left))) :]
    a_vector, b_vector = data.draw(st.booleans()), data.draw(st.booleans())
    rows, columns = data.draw(st.integers(0, 3)), data.draw(st.integers(0, 3))
    a_shape = (inner,) if a_vector else (*left, rows, inner)
    b_shape = (inner,) if b_vector else (*right, inner, columns)
    a = np.arange(1, 1 + math.prod(a_shape), dtype=np.int64).reshape(a_shape)
    b = np.arange(1, 1 + math.prod(b_shape), dtype=np.int64).reshape(b_shape) * 100

    batch = longest([] if a_vector else left, [] if b_vector else right)
    tail = [] if a_vector else [rows]
    tail += [] if b_vector else [columns]
    got = matmul(a, b)
    assert got.shape == (*batch, *tail)
    for index in np.ndindex(*got.shape):
        at, rest = index[: len(batch)], list(index[len(batch) :])
        a_at = () if a_vector else (*onto(at, left), rest.pop(0))
        b_at = () if b_vector else onto(at, right)
        column = () if b_vector else (rest.pop(0),)
        wanted = sum(int(a[(*a_at, k)]) * int(b[(*b_at, k, *column)]) for k in range(inner))
        assert got[index] == wanted


def longest(left, right):
    """Broadcast two shapes that fit."""
    size = max(len(left), len(right))
    left, right = ([1] * (size - len(s)) + list(s) for s in (left, right))
    return [m if n == 1 else n for m, n in zip(left, right, strict=True)]


def onto(index, shape):
    """Return the place in a smaller shape that an index of the broadcast shape stands for."""
    index = index[len(index) - len(shape) :]
    return tuple(0 if n == 1 else i for i, n in zip(index, shape, strict=True))


@pytest.mark.parametrize(
    ("a", "b", "match"),
    [
        pytest.param((), (3, 2), "scalar", id="scalar"),
        pytest.param((2, 3), (2, 3), "dimensions 3 and 2", id="inner"),
        pytest.param((3,), (2,), "dimensions 3 and 2", id="vectors"),
        pytest.param((2, 4, 3), (3, 3, 2), "broadcast", id="stacks"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(a, b, match):
    with pytest.raises(ValueError, match=match):
        matmul(np.ones(a, np.float32), np.ones(b, np.float32))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_small_types_are_summed_wide(name):
    """In the type itself, 1 is lost beside the large value, and 300 * 300 is no float16."""
    large = {"float16": 2.0**15, "bfloat16": 2.0**20, "float32": 2.0**40}[name]
    a = array([[large, 1, -large]], name)
    assert matmul(a, array([[1], [1], [1]], name)).tolist() == [[1]]
    b = array([[300, 300]], name)
    assert matmul(b, array([[300], [-300]], name)).tolist() == [[0]]


@pytest.mark.parametrize("size", [1, 2, 7, 40])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_zero_times_nan_is_nan(size, name):
    """Nothing skips a factor of zero."""
    zeros = array(np.zeros((size, size)), name)
    for bad in (NAN, INF, -INF):
        others = zeros.copy()
        others[0, 0] = bad
        assert np.isnan(matmul(zeros, others).astype(float)).any(axis=0)[0]
        assert np.isnan(matmul(others, zeros).astype(float)).any(axis=1)[0]


# Gemm.


@pytest.mark.parametrize(("operator", "version"), versions("Gemm"))
@pytest.mark.parametrize(("ta", "tb"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_gemm_is_exact_in_every_type(operator, version, ta, tb):
    """A' * B' + C with random numbers; factors that are powers of two are exact as well."""
    rng = np.random.default_rng(version)
    for name in types(operator, version):
        alpha, beta = (0.25, 2.0) if name in FORMATS else (1.0, 1.0)
        a, b = random_array(rng, (3, 5), name), random_array(rng, (5, 2), name)
        c = random_array(rng, (3, 2), name)
        x, y, z = exact(a), exact(b), exact(c)
        a, b = np.ascontiguousarray(a.T if ta else a), np.ascontiguousarray(b.T if tb else b)
        got = gemm(version, a, b, c, alpha=alpha, beta=beta, ta=ta, tb=tb)
        assert got.shape == (3, 2)
        for i, j in np.ndindex(3, 2):
            terms = [Fraction(alpha) * x[i][k] * y[k][j] for k in range(5)]
            terms.append(Fraction(beta) * z[i][j])
            check(got[i, j], sum(terms), sum(abs(term) for term in terms), name)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (1, 1), (2, 1), (1, 3), (2, 3)])
@pytest.mark.parametrize("version", [1, 6, 7, 9, 11, 13])
def test_c_is_broadcast_to_the_product(version, shape):
    a, b = np.ones((2, 4), np.float32), np.ones((4, 3), np.float32)
    c = np.arange(10, 10 + math.prod(shape), dtype=np.float32).reshape(shape)
    others = {"broadcast": 1} if version < 7 else {}
    got = gemm(version, a, b, c, beta=-1.0, **others)
    for i, j in np.ndindex(2, 3):
        assert got[i, j] == 4 - c[onto((i, j), shape)]


@pytest.mark.parametrize("version", [1, 6])
def test_c_is_not_broadcast_unasked_before_version_7(version):
    a, b = np.ones((2, 4), np.float32), np.ones((4, 3), np.float32)
    with pytest.raises(ValueError, match="without the attribute broadcast=1"):
        gemm(version, a, b, np.ones(3, np.float32))


@pytest.mark.parametrize("shape", [(2,), (3, 3), (1, 2, 3), (2, 0), (0,)])
@pytest.mark.parametrize("version", [1, 7, 13])
def test_c_must_fit(version, shape):
    """Broadcasting is unidirectional: the product is never expanded."""
    a, b = np.ones((2, 4), np.float32), np.ones((4, 3), np.float32)
    others = {"broadcast": 1} if version < 7 else {}
    with pytest.raises(ValueError, match=r"does not broadcast to \(2, 3\)"):
        gemm(version, a, b, np.ones(shape, np.float32), **others)


def test_the_product_is_not_expanded_to_c():
    a, b = np.ones((1, 4), np.float32), np.ones((4, 3), np.float32)
    with pytest.raises(ValueError, match="does not broadcast"):
        gemm(13, a, b, np.ones((2, 3), np.float32))


@pytest.mark.parametrize(
    ("a", "b"), [((2, 3), (2, 3)), ((3,), (3, 2)), ((2, 3), (3,)), ((1, 2, 3), (3, 2))]
)
@pytest.mark.parametrize("version", [6, 9, 13])
def test_only_matrices_that_fit_are_multiplied(version, a, b):
    c = np.ones((), np.float32)
    others = {"broadcast": 1} if version < 7 else {}
    with pytest.raises(ValueError, match="two matrices"):
        gemm(version, np.ones(a, np.float32), np.ones(b, np.float32), c, **others)


@pytest.mark.parametrize("version", [11, 13])
@pytest.mark.parametrize("name", ["float32", "int64"])
def test_c_may_be_left_out_from_version_11(version, name):
    a, b = array([[1, 2]], name), array([[3], [4]], name)
    assert gemm(version, a, b, alpha=2.0, beta=5.0).tolist() == [[22]]


def test_an_empty_inner_dimension_leaves_c():
    for name in types("Gemm", 13):
        a, b = array(np.zeros((2, 0)), name), array(np.zeros((0, 2)), name)
        c = array([[1, 2], [3, 4]], name)
        assert gemm(13, a, b, c, alpha=0.5, beta=3.0).tolist() == [[3, 6], [9, 12]]


def test_factors_are_rounded_with_the_sum_and_not_before():
    """In float16 alone, 320 * 320 overflows before ``alpha`` brings it back."""
    a = array([[320.0]], "float16")
    assert gemm(13, a, a, alpha=0.0625).tolist() == [[6400]]


def test_integers_with_broken_factors_round_towards_zero():
    """The text is silent; the value is exact, and rounded only at the end."""
    a = np.array([[3], [-3], [2**62 + 1]], np.int64)
    b, c = np.array([[1]], np.int64), np.array([[0]], np.int64)
    assert gemm(13, a, b, c, alpha=0.5).tolist() == [[1], [-1], [2**61]]
    assert gemm(13, a, b, b, alpha=0.5, beta=0.5).tolist() == [[2], [-1], [2**61 + 1]]
    assert gemm(13, a, b, b, beta=3.0).tolist() == [[6], [0], [2**62 + 4]]
    assert gemm(13, a, b, alpha=4.0).tolist() == [[12], [-12], [4]]


def test_nan_in_c_counts_even_where_beta_is_zero():
    """The formula is taken by its word, unlike in BLAS."""
    one = np.ones((1, 1), np.float32)
    assert math.isnan(gemm(13, one, one, np.array(NAN, np.float32), beta=0.0).item())
