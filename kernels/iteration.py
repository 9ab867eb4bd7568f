"""What one iteration hands on: its condition, its carried values, a row of each scan output."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .rounding import Array

Value = Any
#: A whole loop, of one iteration at least: from the carried values, the entries of the scan inputs,
#: the rows of the scan outputs and the most iterations, to the final carried values.
Loop = Callable[
    [Sequence[Value], Sequence[Iterable[Array]], Sequence["Rows"], int | None], Sequence[Value]
]


class Kind(NamedTuple):
    """What runs a body again and again.

    ``operator`` is Loop or Scan; ``carried`` the number of carried values, with the condition of a
    Loop as the first; ``stops`` tells whether a false condition ends it.
    """

    operator: str
    carried: int
    stops: bool


def single(x: Array, name: str) -> Any:
    """Return the only element of a tensor."""
    if x.size != 1:
        raise ValueError(f"{name} has shape {x.shape}; it must hold a single element")
    return x.item()


def condition(x: Value) -> bool:
    """Return the condition that a body gives."""
    if not isinstance(x, np.ndarray) or x.dtype != np.bool_:
        seen = getattr(x, "dtype", type(x).__name__)
        raise ValueError(f"the body's condition is {seen}; it must be bool")
    return bool(single(x, "the body's condition"))


def check_same_type(before: Value, after: Value, what: str) -> None:
    """Raise where a value changes its kind or element type; an empty optional fits anything."""
    if before is None or after is None:
        return
    if isinstance(before, list) and isinstance(after, list):
        if before and after:
            check_same_type(before[0], after[0], what)
        return
    if type(before) is not type(after) or before.dtype != after.dtype:
        seen = [getattr(v, "dtype", type(v).__name__) for v in (before, after)]
        raise ValueError(f"{what} changes its type from {seen[0]} to {seen[1]}")


def check_same_shape(before: Array, after: Array, what: str) -> None:
    """Raise where a tensor changes its shape."""
    if before.shape != after.shape:
        raise ValueError(f"{what} changes its shape from {before.shape} to {after.shape}")


def alike(before: Sequence[Value], after: Sequence[Value]) -> bool:
    """Tell at a glance whether two lists hold tensors of the same types; it may say no wrongly."""
    for x, y in zip(before, after, strict=True):
        if x is y:
            continue
        if type(x) is not np.ndarray or type(y) is not np.ndarray or x.dtype is not y.dtype:
            return False
    return True


def along_first_axis(x: Array) -> Iterable[Array]:
    """Return the entries of ``x`` along its first axis as views, those of rank 0 too."""
    return x if x.ndim > 1 else [x[t, ...] for t in range(len(x))]


class Rows:
    """The elements of a scan output, in one buffer that grows.

    Args: name, for messages; first, how many rows it has at first.
    """

    def __init__(self, name: str, first: int) -> None:
        self.name = name
        self._first = first
        self._count = 0
        self._rows: Array | None = None
        self._shape: tuple[int, ...] = ()

    def append(self, element: Value) -> None:
        """Collect one element; raises ``ValueError`` for one that cannot be stacked."""
        if not isinstance(element, np.ndarray):
            raise ValueError(f"{self.name} is no tensor; only tensors can be stacked")
        rows = self._rows
        if rows is None:
            rows = self._begin(element.shape, element.dtype)
        elif element.shape != self._shape or (
            element.dtype is not rows.dtype and element.dtype != rows.dtype
        ):
            raise ValueError(
                f"{self.name} changes from {rows.dtype}{list(self._shape)} "
                f"to {element.dtype}{list(element.shape)}"
            )
        if self._count == len(rows):
            rows = self._grow(rows)
        rows[self._count, ...] = element
        self._count += 1

    def room(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Iterable[Array]:
        """Return the free rows, at least one, to write elements of one type into."""
        rows = self._begin(shape, dtype) if self._rows is None else self._rows
        if self._count == len(rows):
            rows = self._grow(rows)
        return along_first_axis(rows[self._count :])

    def filled(self, count: int) -> None:
        """Take so many of the free rows as written."""
        self._count += count

    def _begin(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        self._shape = shape
        self._rows = np.empty((self._first, *shape), dtype)
        return self._rows

    def _grow(self, rows: Array) -> Array:
        grown = np.empty((2 * len(rows), *self._shape), rows.dtype)
        grown[: len(rows)] = rows
        self._rows = grown
        return grown

    def __len__(self) -> int:
        return self._count

    def stacked(self) -> Array:
        """Return all elements as one tensor, which may be the buffer itself."""
        assert self._rows is not None
        full = self._count == len(self._rows)
        return self._rows if full else self._rows[: self._count].copy()
