"""The error over a tensor as a picture: a character per cell, bounded whatever the tensor's size.

The last two axes are rows and columns; each index of the leading axes has a tile of its own, or,
where there are many, all share one.
A cell stands for a block of elements and shows the worst of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .record import Heat

#: The marks of cells, the worse the later: undefined, equal, different but allowed, 1 to 9 ULP,
#: 10 to 99 and so on up to 10^8 and more, an infinity and a number, a NaN and a number.
MARKS = "*.~123456789in"
#: The marks of shapes laid over each other: in neither, in the expected one only, in the one that
#: came only, in both.
SHAPE_MARKS = " ego"
#: The mark of every element where the dtypes differ.
DTYPE_MARK = "d"
#: Tiles of a picture, and the cells that the side of a tile may have then.
SIDES = {1: 64, 4: 32, 16: 16}

EQUAL, ALLOWED, LEAST, INFINITE, NAN = (MARKS.index(mark) for mark in ".~1in")
_POWERS = 10 ** np.arange(1, 9, dtype=np.uint64)


class Picture:
    """The picture of a tensor of some shape; marks are put in block by block.

    ``marks`` is uint8 of shape [tiles, rows, columns], at first 0.
    """

    def __init__(self, shape: Sequence[int]) -> None:
        self.shape = list(shape)
        *leading, rows, columns = [1] * (2 - len(shape)) + self.shape
        self.sizes = (rows, columns)
        tiles = prod(leading)
        self.leading = leading if tiles <= max(SIDES) else [1] * len(leading)
        tiles = prod(self.leading)
        side = next(side for most, side in SIDES.items() if tiles <= most)
        self.cell = [max(1, ceil(size / side)) for size in self.sizes]
        grid = [ceil(size / step) for size, step in zip(self.sizes, self.cell, strict=True)]
        self.marks = np.zeros((tiles, *grid), np.uint8)

    def add(self, start: int, marks: NDArray[np.uint8]) -> None:
        """Put in the marks of the elements from the flat position ``start`` on."""
        places = np.arange(start, start + marks.size)
        rows, columns = self.sizes
        row = places // columns % rows // self.cell[0]
        tile = places // (columns * rows) % len(self.marks)
        np.maximum.at(self.marks, (tile, row, places % columns // self.cell[1]), marks)

    def heat(self, marks: str = MARKS) -> Heat:
        """Return the picture as text."""
        tiles = [["".join(marks[m] for m in row) for row in tile] for tile in self.marks.tolist()]
        return Heat(self.shape, self.cell, tiles)


def size_marks(sizes: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the marks of distances in ULP, by their number of digits."""
    return (LEAST + np.searchsorted(_POWERS, sizes, side="right")).astype(np.uint8)


def dtype_outline(shape: Sequence[int]) -> Heat | None:
    """Picture a tensor of another dtype than the expected one; ``None`` for an empty one."""
    picture = Picture(shape) if prod(shape) else None
    return None if picture is None else picture.heat(DTYPE_MARK)


def shape_outline(expected: Sequence[int | None], got: Sequence[int]) -> Heat | None:
    """Picture two shapes laid over each other, their last axes aligned.

    ``None`` among the expected sizes stands for any.
    A cell is marked by its first element. Returns ``None`` where there is nothing to see.
    """
    rank = max(len(expected), len(got))
    right = [1] * (rank - len(got)) + list(got)
    left = [1] * (rank - len(expected)) + list(expected)
    fixed = [b if a is None else a for a, b in zip(left, right, strict=True)]
    picture = Picture([max(a, b) for a, b in zip(fixed, right, strict=True)])
    for bit, shape in ((1, fixed), (2, right)):
        picture.marks |= bit * _inside(picture, [1] * (2 - rank) + shape).astype(np.uint8)
    return picture.heat(SHAPE_MARKS) if picture.marks.any() else None


def _inside(picture: Picture, shape: Sequence[int]) -> NDArray[np.bool_]:
    """Tell for each cell whether its first element is inside a shape."""
    tiles, rows, columns = picture.marks.shape
    leading = np.indices(picture.leading).reshape(len(picture.leading), tiles)
    tile = np.all(np.asarray(shape[:-2], np.int64) > leading.T, axis=1)
    row = np.arange(rows) * picture.cell[0] < shape[-2]
    column = np.arange(columns) * picture.cell[1] < shape[-1]
    return np.asarray(tile[:, None, None] & row[:, None] & column)
