"""Det, held against the sum over all permutations in fractions."""

import itertools
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import onnx.defs
import pytest

from opcheck.kernels import registry


def call(x, version=22):
    result = registry.find(onnx.defs.get_schema("Det", version, "")).function(x)
    assert (result.dtype, result.shape) == (x.dtype, x.shape[:-2])
    return result


def leibniz(matrix):
    """Return the sum over all permutations, with their signs."""
    size, total = len(matrix), Fraction(0)
    for p in itertools.permutations(range(size)):
        inversions = sum(p[i] > p[j] for i in range(size) for j in range(i + 1, size))
        total += (-1) ** inversions * math.prod(
            (matrix[i][p[i]] for i in range(size)), start=Fraction(1)
        )
    return total


def half_a_unit(got, wanted, dtype):
    """Tell whether no other value of the type is nearer."""
    error = abs(Fraction(float(got)) - wanted)
    others = [np.nextafter(got, got.dtype.type(s)) for s in (-np.inf, np.inf)]
    return all(error <= abs(Fraction(float(o)) - wanted) for o in others)


@pytest.mark.parametrize("version", [11, 22])
@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_determinants_are_rounded_once(version, name, size):
    """No other value of the type is nearer to the exact determinant."""
    rng = np.random.default_rng(size)
    x = rng.standard_normal((2, 3, size, size)).astype(name)
    got = call(x, version)
    for place in np.ndindex(2, 3):
        wanted = leibniz([[Fraction(float(v)) for v in row] for row in x[place]])
        assert half_a_unit(got[place], wanted, name)


def test_cancellation_leaves_the_exact_rest():
    """A nearly singular matrix keeps a determinant of one unit; bfloat16 is computed alike."""
    e = 2.0**-52
    assert call(np.array([[1 + e, 1.0], [1.0, 1.0]])) == e
    x = np.array([[257, 1], [255, 1]]).astype(ml_dtypes.bfloat16)
    assert float(call(x)) == float(x[0, 0]) - float(x[1, 0])


def test_exponents_far_apart_do_not_overflow():
    x = np.diag([1e300, 1e300, 1e-300, 1e-300])
    wanted = math.prod((Fraction(v) for v in np.diag(x)), start=Fraction(1))
    assert float(call(x)) == float(wanted)
    assert float(call(np.diag([1e300, -1e300]))) == -math.inf
    assert float(call(np.diag([5e-324, 0.25]))) == 0


def test_special_values_are_those_of_a_decomposition():
    """NaN stays; an infinity alone on the diagonal makes the determinant infinite."""
    assert np.isnan(call(np.array([[np.nan, 0.0], [0.0, 0.0]])))
    assert call(np.array([[np.inf, 0.0], [0.0, 2.0]], np.float32)) == np.inf


def test_empty_matrices_and_batches():
    """The determinant of a matrix without elements is the empty product, 1."""
    assert call(np.zeros((2, 0, 0), np.float32)).tolist() == [1, 1]
    assert call(np.zeros((0, 3, 3), np.float32)).shape == (0,)


def test_singular_matrices_are_exactly_zero():
    x = np.array([[0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [7, 8, 9]])
    assert float(call(x)) == 0


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 2)])
def test_matrices_have_to_be_square(shape):
    with pytest.raises(ValueError, match="X has shape"):
        call(np.zeros(shape, np.float32))
