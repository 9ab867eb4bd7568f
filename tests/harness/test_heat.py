"""A picture shows the worst of each cell, is small whatever the tensor, and says what differs."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from opcheck.harness import compare as compare_module
from opcheck.harness.case import Expected, Tolerance
from opcheck.harness.compare import compare
from opcheck.harness.dtypes import element_type_of
from opcheck.harness.heat import MARKS, SIDES, Picture, shape_outline, size_marks
from opcheck.harness.record import Difference, Heat

NAN, INF = math.nan, math.inf


def expected(value, dtype="float32", undefined=None):
    array = np.asarray(value, dtype)
    number = element_type_of(array.dtype).number
    proto = helper.make_tensor_type_proto(number, array.shape)
    mask = None if undefined is None else np.asarray(undefined)
    return Expected("tensor", proto, array.dtype, array.shape, array, mask)


def heat_of(want, got, ulp=2.0, **more) -> Heat:
    [difference] = compare("y", want, np.asarray(got), Tolerance(ulp=ulp, **more))
    assert msgspec.json.decode(msgspec.json.encode(difference), type=Difference) == difference
    return difference.heat


def steps(value, count, dtype="float32"):
    """Return the float that is some steps above another."""
    bits = np.asarray(value, dtype).view(f"u{np.dtype(dtype).itemsize}")
    return (bits + np.asarray(count, bits.dtype)).view(dtype)


def test_each_kind_of_error_has_its_mark():
    """Equal, allowed, by digits of the distance, infinite, NaN; two NaNs are equal."""
    got = [1, steps(1, 2), steps(1, 9), steps(1, 10), steps(1, 99999), -1e30, INF, NAN, NAN]
    want = expected([1, 1, 1, 1, 1, 1, 1, 1, NAN])
    assert heat_of(want, np.asarray(got, "float32")).tiles == [[".~1259in."]]


def test_an_undefined_element_and_a_signed_zero():
    """What is not compared is marked as such; a zero of the wrong sign differs if it must not."""
    want = expected([0.0, 1, 1], undefined=[False, True, False])
    assert heat_of(want, np.asarray([-0.0, 7, 1], "float32"), signed_zero=True).tiles == [["1*."]]


@pytest.mark.parametrize(
    ("dtype", "want", "got", "marks"),
    [
        ("int64", [0, 5, 5, -(2**63)], [0, 6, 105, 2**63 - 1], ".139"),
        ("uint64", [0, 1], [2**64 - 1, 1], "9."),
        ("bool", [True, False], [False, False], "1."),
        ("object", ["a", "b"], ["a", "c"], ".1"),
        ("complex64", [1 + 1j, 1, 1], [1 + 1j, complex(1, NAN), complex(INF, 0)], ".ni"),
    ],
)
def test_other_types_have_pictures_too(dtype, want, got, marks):
    """Integers by how far they are apart; what has no distance is just different."""
    assert heat_of(expected(want, dtype), np.asarray(got, dtype)).tiles == [[marks]]


def test_a_scalar_is_one_cell():
    """A tensor without axes has a picture as well."""
    assert heat_of(expected(1.0), np.float32(NAN)) == Heat([], [1, 1], [["n"]])


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(1, 90), min_size=0, max_size=2),
    st.lists(st.integers(1, 5), min_size=0, max_size=3),
    st.integers(1, 999),
    st.randoms(use_true_random=False),
)
def test_a_cell_shows_the_worst_of_its_elements(last, leading, block, random):
    """As marking one element after the other, however the tensor is cut into blocks."""
    shape = [*leading[: 3 if len(last) == 2 else 0], *last]
    marks = np.zeros(shape, np.uint8)
    for _ in range(5):
        marks.reshape(-1)[random.randrange(marks.size)] = random.randrange(len(MARKS))
    picture = Picture(shape)
    for start in range(0, marks.size, block):
        picture.add(start, marks.reshape(-1)[start : start + block])
    heat = picture.heat()
    height, width = heat.cell
    assert heat.shape == shape
    assert len(heat.tiles) in (1, math.prod(shape[:-2]))
    assert sum(len(row) for tile in heat.tiles for row in tile) <= SIDES[1] ** 2
    table = marks.reshape(-1, *([1, 1, *shape][-2:]))
    shown = table if len(heat.tiles) == len(table) else table.max(axis=0, keepdims=True)
    for tile, values in zip(heat.tiles, shown, strict=True):
        for i, row in enumerate(tile):
            for j, mark in enumerate(row):
                cell = values[i * height : (i + 1) * height, j * width : (j + 1) * width]
                assert mark == MARKS[cell.max()]


def test_a_large_tensor_has_a_small_picture(monkeypatch):
    """One bad element among a million is seen, block by block."""
    monkeypatch.setattr(compare_module, "BLOCK", 10_007)
    want = expected(np.ones((1000, 1000)))
    got = np.ones((1000, 1000), "float32")
    got[999, 0] = NAN
    heat = heat_of(want, got)
    assert heat.cell == [16, 16]
    assert [row.count("n") for row in heat.tiles[0]] == [0] * 62 + [1]
    assert heat.tiles[0][62][0] == "n"


def test_distances_are_marked_by_their_digits():
    """At the powers of ten, and beyond the largest of them."""
    sizes = np.asarray([1, 9, 10, 99, 100, 10**8 - 1, 10**8, 2**64 - 1], np.uint64)
    assert "".join(MARKS[m] for m in size_marks(sizes)) == "11223899"


@pytest.mark.parametrize(
    ("want", "got", "tiles"),
    [
        ([2, 3], [2, 2], [["ooe", "ooe"]]),
        ([2], [3], [["oog"]]),
        ([2], [2, 2], [["oo", "gg"]]),
        ([2, 3], [3, 2], [["ooe", "ooe", "gg "]]),
        ([None, 2], [3, 1], [["oe"] * 3]),
        ([2, 1, 2], [1, 1, 2], [["oo"], ["ee"]]),
        ([], [1, 1], [["o"]]),
        ([0], [2], [["gg"]]),
        ([17, 1, 2], [1, 1, 3], [["oog"]]),
        ([1000], [500], [["o" * 32 + "e" * 31]]),
    ],
)
def test_shapes_are_laid_over_each_other(want, got, tiles):
    """What is in both, only expected, only there; the last axes are aligned."""
    assert shape_outline(want, got).tiles == tiles


def test_two_empty_shapes_have_no_picture():
    """There is nothing to see."""
    assert shape_outline([0, 2], [0]) is None


def test_another_dtype_is_one_colour():
    """And another shape or dtype comes with its difference."""
    assert heat_of(expected([[1, 2]]), np.ones((1, 2))).tiles == [["dd"]]
    assert heat_of(expected([[1, 2]]), np.ones((1, 3), "float32")).tiles == [["oog"]]
    [difference] = compare("y", expected([1]), np.ones((0,)), Tolerance())
    assert difference.heat is None
