"""GridSample and AffineGrid, held against sums over single elements in exact fractions."""

import itertools
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from kernel_calls import dtypes, versions
from tensor_calls import assert_same, call, filled, ints

SAMPLE = [v for _, v in versions("GridSample")]
HALF = Fraction(1, 2)
A = Fraction(-3, 4)
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def names(version):
    """Return the modes of a version by what they mean."""
    old = {"linear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}
    return old if version == 16 else {k: k for k in old}


def bounds(size, align):
    return (Fraction(0), Fraction(size - 1)) if align else (-HALF, size - HALF)


def mirrored(at, low, high):
    if low == high:
        return low
    while not low <= at <= high:
        at = 2 * low - at if at < low else 2 * high - at
    return at


def moved(at, size, padding, align):
    """Move a place that is out of bounds as the padding mode says."""
    low, high = bounds(size, align)
    if low <= at <= high or padding == "zeros":
        return at
    if padding == "border":
        return min(max(at, Fraction(0)), Fraction(size - 1))
    return mirrored(at, low, high)


def keys(d):
    d = abs(d)
    if d <= 1:
        return (A + 2) * d**3 - (A + 3) * d**2 + 1
    return A * d**3 - 5 * A * d**2 + 8 * A * d - 4 * A if d < 2 else Fraction(0)


def taps(at, size, mode, padding, align):
    """Return pairs of an element, or None for 0, and its weight."""
    at = moved(at, size, padding, align)
    if mode == "nearest":
        down = math.floor(at)
        up = at - down > HALF or (at - down == HALF and down % 2)
        pairs = [(down + 1 if up else down, Fraction(1))]
    elif mode == "linear":
        down = math.floor(at)
        pairs = [(down, 1 - (at - down)), (down + 1, at - down)]
    else:
        pairs = [(math.floor(at) + r, keys(at - math.floor(at) - r)) for r in (-1, 0, 1, 2)]
    result = []
    for i, weight in pairs:
        if not 0 <= i < size:
            moved_to = moved(Fraction(i), size, padding, align)
            i = None if padding == "zeros" else min(max(math.floor(moved_to), 0), size - 1)
        result.append((i, weight))
    return result


def transcribed(x, grid, mode, padding, align):
    """Follow the text for each element of the output."""
    rank = x.ndim - 2
    result = np.empty((*x.shape[:2], *grid.shape[1:-1]), object)
    for out in np.ndindex(*result.shape):
        n, c, *at = out
        vector = grid[(n, *at)]
        every = []
        for k in range(rank):
            size = x.shape[2 + k]
            g = Fraction(float(vector[rank - 1 - k]))
            where = (g + 1) * (size - 1) / 2 if align else ((g + 1) * size - 1) / 2
            every.append(taps(where, size, mode, padding, align))
        total = Fraction(0)
        for choice in itertools.product(*every):
            if all(i is not None for i, _ in choice):
                value = Fraction(float(x[(n, c, *(i for i, _ in choice))]))
                total += value * math.prod(w for _, w in choice)
        result[out] = total
    return result


@pytest.mark.parametrize("version", SAMPLE)
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("align", [0, 1])
def test_images_at_every_kind_of_place(version, padding, mode, align):
    """Inside, on halves, on borders, and far outside; rounded once."""
    rng = np.random.default_rng(2)
    grid = rng.uniform(-2.5, 2.5, (2, 3, 4, 2))
    grid.reshape(-1)[:12] = [-1, 1, 0, 0, -1.25, 0.5, 0.25, -0.75, 1, 7.5, -9, 1.5]
    for dtype in FLOATS:
        if version < 22 and dtype is ml_dtypes.bfloat16:
            continue
        x = rng.normal(0, 10, (2, 2, 3, 4)).astype(dtype)
        places = grid.astype(dtype)
        options = {"mode": names(version)[mode], "padding_mode": padding, "align_corners": align}
        got = call("GridSample", version, x, places, **options)
        wanted = transcribed(x, places, mode, padding, align)
        assert (got.dtype, got.shape) == (x.dtype, wanted.shape)
        for a, b in zip(got.reshape(-1), wanted.reshape(-1), strict=True):
            unit = Fraction(abs(float(np.spacing(np.array(float(b), dtype)))))
            assert abs(Fraction(float(a)) - b) <= unit * Fraction(51, 100) + Fraction(2.0**-45)


@pytest.mark.parametrize("version", [20, 22])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("sizes", [(5,), (2, 1, 3), (1, 2, 1, 2)])
def test_any_number_of_spatial_axes(version, mode, sizes):
    """The innermost axis comes first in a vector."""
    rng = np.random.default_rng(4)
    rank = len(sizes)
    x = rng.integers(-9, 9, (2, 2, *sizes)).astype(np.float64)
    grid = rng.choice([-1.5, -1, -0.5, 0, 0.25, 0.75, 1], (2, *(2,) * rank, rank))
    for padding, align in itertools.product(("zeros", "border", "reflection"), (0, 1)):
        options = {"mode": mode, "padding_mode": padding, "align_corners": align}
        got = call("GridSample", version, x, grid.astype(np.float32), **options)
        wanted = transcribed(x, grid, mode, padding, align)
        assert got.shape == wanted.shape
        assert np.abs(got - wanted.astype(float)).max() < 1e-13


@pytest.mark.parametrize("version", SAMPLE)
def test_every_type_at_the_nearest_place(version):
    """Elements are moved bit by bit; outside is 0, False or the empty string."""
    grid = np.array([[[[-1, 1], [0, -1]], [[1, 1], [3, 0]]]], np.float32)
    for dtype in dtypes("GridSample", version, "T1"):
        x = filled((1, 2, 2, 3), dtype)
        got = call("GridSample", version, x, grid, mode="nearest", align_corners=1)
        nothing = "" if dtype.kind == "O" else np.zeros((), dtype)
        wanted = np.empty((1, 2, 2, 2), dtype)
        for c in range(2):
            wanted[0, c, 0] = x[0, c, 1, 0], x[0, c, 0, 1]
            wanted[0, c, 1] = x[0, c, 1, 2], nothing
        assert_same(np.ascontiguousarray(got), wanted)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_averages_of_integers_are_cut(dtype):
    """Source: GridSample-20, "cast to integer at the end"."""
    high = int(np.iinfo(dtype).max)
    x = np.array([[[0, 3, high - 1, high]]], dtype)
    grid = np.array([[[-0.5], [0.5], [0.75]]])
    got = call("GridSample", 20, x, grid)
    assert got.reshape(-1).tolist() == [1, high - 1, high]


def test_a_place_that_is_none():
    """NaN, and a reflected infinity; the element has no value then, of integers an error."""
    x = np.array([[[1, 2]]], np.float32)
    grid = np.array([[[np.nan], [-0.5], [np.inf]]])
    got = call("GridSample", 20, x, grid)[0, 0]
    assert np.isnan(got[0])
    assert got[1:].tolist() == [1, 0]
    assert call("GridSample", 20, x, grid, padding_mode="border")[0, 0, 2] == 2
    assert np.isnan(call("GridSample", 20, x, grid, padding_mode="reflection")[0, 0, 2])
    with pytest.raises(ValueError, match="no such place"):
        call("GridSample", 20, x.astype(np.int8), grid)


@pytest.mark.parametrize(
    ("version", "x", "grid", "attributes"),
    [
        (16, (1, 1, 2), (1, 1, 1), {}),
        (16, (1, 1, 2, 2), (1, 1, 1, 2), {"mode": "linear"}),
        (20, (1, 1, 2, 2), (1, 1, 1, 2), {"mode": "bilinear"}),
        (20, (1, 1, 2, 2), (1, 1, 1, 3), {}),
        (20, (1, 1, 2, 2), (1, 1, 2), {}),
        (20, (2, 1, 2, 2), (1, 1, 1, 2), {}),
        (20, (1, 1), (1, 0), {}),
        (20, (1, 1, 2, 2), (1, 1, 1, 2), {"padding_mode": "wrap"}),
        (20, (1, 1, 0, 2), (1, 1, 1, 2), {"padding_mode": "border"}),
    ],
)
def test_what_grid_sample_refuses(version, x, grid, attributes):
    """Ranks, names by version, and borders of nothing."""
    with pytest.raises(ValueError, match=r"wanted|no border"):
        call("GridSample", version, filled(x), filled(grid), **attributes)


def test_strings_and_booleans_have_no_average():
    """Nothing in the text gives them one."""
    for dtype in (object, bool):
        with pytest.raises(ValueError, match="no weighted average"):
            call("GridSample", 20, filled((1, 1, 2), dtype), np.zeros((1, 1, 1)))


def test_samples_of_nothing():
    """No places, and an image without elements."""
    assert call("GridSample", 16, filled((1, 2, 2, 2)), filled((1, 0, 3, 2))).shape == (1, 2, 0, 3)
    got = call("GridSample", 16, filled((1, 1, 0, 2)), filled((1, 1, 2, 2)))
    assert got.tolist() == [[[[0, 0]]]]


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("sizes", [(2, 3), (5, 2), (2, 3, 4), (1, 1, 3)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_positions_follow_the_text(align, sizes, dtype):
    """Evenly spaced between the corners' centres, or between their outer edges; rounded once."""
    rank = len(sizes)
    theta = np.random.default_rng(7).normal(0, 2, (2, rank, rank + 1)).astype(dtype)
    got = call("AffineGrid", 20, theta, ints([2, 3, *sizes]), align_corners=align)
    assert (got.shape, got.dtype) == ((2, *sizes, rank), np.dtype(dtype))
    for n, *at, row in np.ndindex(*got.shape):
        position = []
        for i, size in zip(reversed(at), reversed(sizes), strict=True):
            if align:
                position.append(Fraction(2 * i, size - 1) - 1 if size > 1 else Fraction(-1))
            else:
                position.append(Fraction(2 * i + 1, size) - 1)
        numbers = [Fraction(float(v)) for v in theta[n, row]]
        exact = sum(a * b for a, b in zip(numbers, [*position, 1], strict=True))
        error = abs(Fraction(float(got[(n, *at, row)])) - exact)
        unit = Fraction(abs(float(np.spacing(np.array(float(exact), dtype)))))
        assert error <= unit * Fraction(51, 100) + Fraction(2.0**-60)


@pytest.mark.parametrize(
    ("theta", "size"),
    [
        ((1, 2, 3), [1, 1, 2]),
        ((1, 2, 3), [1, 1, 2, 2, 2]),
        ((1, 3, 4), [1, 1, 2, 2]),
        ((1, 2, 3), [2, 1, 2, 2]),
        ((1, 2, 3), [1, 1, -1, 2]),
    ],
)
def test_what_affine_grid_refuses(theta, size):
    """Matrices and sizes that do not fit."""
    with pytest.raises(ValueError, match="wanted"):
        call("AffineGrid", 20, filled(theta), ints(size))


def test_a_grid_of_nothing():
    """A size of 0 leaves no positions."""
    assert call("AffineGrid", 20, filled((1, 2, 3)), ints(1, 1, 0, 2)).shape == (1, 0, 2, 2)
