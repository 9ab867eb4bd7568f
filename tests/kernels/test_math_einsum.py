"""Einsum, held against a loop over all indices in fractions."""

import itertools
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import elementwise_calls

TYPES = "uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 bfloat16".split()


def call(equation, *operands, version=28):
    return elementwise_calls.call("Einsum", version, *operands, equation=equation)


def slow(terms, output, operands):
    """Sum the products over all indices of explicit terms without ellipsis."""
    sizes = {}
    for term, x in zip(terms, operands, strict=True):
        sizes.update(zip(term, x.shape, strict=True))
    names = sorted(sizes)
    result = np.zeros([sizes[n] for n in output], object)
    for values in itertools.product(*(range(sizes[n]) for n in names)):
        at = dict(zip(names, values, strict=True))
        product = Fraction(1)
        for term, x in zip(terms, operands, strict=True):
            product *= Fraction(x[tuple(at[n] for n in term)].item())
        place = tuple(at[n] for n in output)
        result[place] = result[place] + product
    return result


EQUATIONS = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,jk->ki", [(2, 3), (3, 4)]),
    ("bij,bjk->bik", [(2, 2, 3), (2, 3, 2)]),
    ("ii->i", [(3, 3)]),
    ("ii->", [(3, 3)]),
    ("iij->ji", [(2, 2, 3)]),
    ("iji,j->i", [(2, 3, 2), (3,)]),
    ("i,j->ji", [(2,), (3,)]),
    ("ij->j", [(2, 3)]),
    ("i,ij,j->", [(2,), (2, 3), (3,)]),
    ("aA,Ab->ab", [(2, 3), (3, 2)]),
    (",i->i", [(), (3,)]),
    ("ij,k->", [(2, 0), (3,)]),
    ("ij,jk->ik", [(2, 0), (0, 3)]),
]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS)
@pytest.mark.parametrize("name", TYPES)
def test_sums_of_products_are_exact(equation, shapes, name):
    """Small integers are exact in every type."""
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    rng = np.random.default_rng(len(equation))
    operands = [rng.integers(0, 4, shape).astype(dtype) for shape in shapes]
    left, output = equation.split("->")
    wanted = slow(left.split(","), output, operands)
    got = call(equation, *operands)
    assert got.shape == wanted.shape
    assert got.astype(np.float64).tolist() == wanted.astype(np.float64).tolist()


@pytest.mark.parametrize(
    ("equation", "explicit"),
    [
        ("ij,jk", "ij,jk->ik"),
        ("ba", "ba->ab"),
        ("aB", "aB->Ba"),
        ("ii", "ii->"),
        ("iji", "iji->j"),
        (" j i , j ", "ji,j->i"),
    ],
)
def test_implicit_outputs_are_sorted_indices_that_stand_once(equation, explicit):
    """Source: "appearing exactly once in the equation, sorted in increasing order"."""
    ranks = [len(t) for t in equation.replace(" ", "").split(",")]
    operands = [np.arange(3**r, dtype=np.int64).reshape((3,) * r) for r in ranks]
    assert call(equation, *operands).tolist() == call(explicit, *operands).tolist()


def test_an_ellipsis_is_broadcast_and_goes_first():
    a, b = np.arange(6.0).reshape(1, 3, 2), np.arange(8.0).reshape(4, 1, 2)
    assert call("...i,...i->...", a, b).tolist() == (a * b).sum(axis=-1).tolist()
    assert call("i...", a).tolist() == np.moveaxis(a, 0, -1).tolist()
    assert call("...i->i...", a).tolist() == np.moveaxis(a, -1, 0).tolist()
    assert call("...ij->...ji", a[0]).tolist() == a[0].T.tolist()


def test_an_ellipsis_that_the_output_leaves_out_is_summed():
    """The sum runs over all indices that do not occur in the output."""
    x = np.arange(12).reshape(2, 2, 3)
    assert call("...i->i", x).tolist() == x.sum(axis=(0, 1)).tolist()


def test_integers_wrap_around_and_do_not_pass_through_floats():
    x = np.array([2**62 + 1, 3], np.int64)
    assert int(call("i->", x)) == 2**62 + 4
    assert int(call("i,i->", x, np.array([4, 1], np.int64))) == 7
    assert int(call("i->", np.array([200, 100], np.uint8))) == 44


def test_floats_are_summed_in_a_wider_type():
    """One unit survives between two numbers that cancel."""
    x = np.array([2.0**40, 1.0, -(2.0**40)], np.float32)
    weights = np.array([1.0, 1.0, 1.0], np.float32)
    assert call("i,i->", x, weights) == 1
    small = np.array([1.0, 2.0**-60, -1.0])
    assert call("i->", small) == 2.0**-60
    assert call("i->", np.full(3000, 1, np.float16)) == 3000


def test_nan_and_infinity_are_not_skipped():
    got = call("ij,j->i", np.array([[math.inf, 1], [math.nan, 1]]), np.array([0.0, 1.0]))
    assert np.isnan(got).all()


@pytest.mark.parametrize("version", [12, 28])
@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij->ij", [(2, 2), (2, 2)], "1 terms"),
        ("ij,jk->ik", [(2, 2)], "2 terms"),
        ("i->i", [(2, 2)], "1 letters"),
        ("ijk->i", [(2, 2)], "3 letters"),
        ("ijk...->i", [(2, 2)], "3 letters"),
        ("ij,jk->ik", [(2, 3), (2, 2)], "both 3 and 2"),
        ("ij,jk->ik", [(2, 1), (3, 2)], "both 1 and 3"),
        ("ii->i", [(2, 3)], "both 2 and 3"),
        ("ij->ik", [(2, 2)], "which no term has"),
        ("i->ii", [(2,)], "twice"),
        ("i...->......", [(2,)], "not made of letters"),
        ("i1->i", [(2, 2)], "not made of letters"),
        ("i..->i", [(2,)], "not made of letters"),
        ("ij->i->j", [(2, 2)], "not made of letters"),
        ("...i,...i->...", [(2, 3), (3,)], "not of the same number"),
        ("...,...->...", [(2,), (3,)], "broadcast"),
    ],
)
def test_equations_that_do_not_fit_are_refused(version, equation, shapes, message):
    with pytest.raises(ValueError, match=message):
        call(equation, *(np.zeros(shape) for shape in shapes), version=version)
