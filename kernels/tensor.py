"""Kernels that select, join and repeat the elements of tensors, whatever these are.

Those that change the shape alone are in ``tensor_shape``; ``Cast`` is in ``tensor_cast``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .registry import kernel
from .rounding import Array


def axis_of(axis: int, rank: int, *, negative: bool = True) -> int:
    """Return ``axis`` counted from the front.

    Raises ``ValueError`` outside [-rank, rank-1], or [0, rank-1] where a version has no negatives.
    """
    lowest = -rank if negative else 0
    if lowest <= axis < rank:
        return axis + rank if axis < 0 else axis
    raise ValueError(
        f"axis {axis} is outside [{lowest}, {rank - 1}] for a tensor of rank {rank}"
        + ("" if negative else "; this version of the operator does not count from the back")
    )


def integers(name: str, values: Array) -> list[int]:
    """Return the elements of a 1-D integer tensor; raises ``ValueError`` for any other rank."""
    if values.ndim != 1:
        raise ValueError(f"{name} has shape {values.shape}; a 1-D tensor was wanted")
    listed: list[int] = values.tolist()
    return listed


def check_dtypes(tensors: Sequence[Array]) -> None:
    """Raise ``TypeError`` unless all tensors have the dtype of the first."""
    dtype = tensors[0].dtype
    for i, x in enumerate(tensors):
        if x.dtype != dtype:
            raise TypeError(f"tensor {i} is {x.dtype}; {dtype} was wanted, as for tensor 0")


@kernel("Identity", since_version=(1, 13, 14, 16, 19, 21, 23, 24, 25))
def identity(x: Any, /) -> Any:
    """Return the input itself: a tensor, from 14 also a sequence, from 16 also an optional.

    Source: Identity-1, -14, -16.
    """
    return x


@kernel("Where", since_version=(9, 16))
def where(condition: Array, x: Array, y: Array, /) -> Array:
    """Take each element from ``x`` where the condition is true, otherwise from ``y``.

    Args: a bool tensor and two tensors of one dtype, of shapes that broadcast together.
    Returns: a tensor of the common shape.
    Source: Where-9.
    """
    check_dtypes((x, y))
    try:
        return np.where(condition, x, y)
    except ValueError as error:
        raise ValueError(
            f"the shapes {condition.shape}, {x.shape} and {y.shape} do not broadcast together"
        ) from error


def join(tensors: Sequence[Array], axis: int, *, stack: bool = False) -> Array:
    """Join tensors of one dtype along an axis they have, or stack them along a new one."""
    check_dtypes(tensors)
    try:
        return np.stack(tensors, axis) if stack else np.concatenate(tensors, axis)
    except ValueError as error:
        shapes = ", ".join(str(x.shape) for x in tensors)
        where = "" if stack else f" but for axis {axis}"
        raise ValueError(f"the shapes {shapes} differ; equal ones{where} were wanted") from error


@kernel("Concat", since_version=1)
def concat_1(*xs: Array, axis: int | None) -> Array:
    """Join tensors along ``axis``, which counts from the front.

    Returns: the shape of the inputs, with their sizes at ``axis`` summed.
    Source: Concat-1, "Default value is 1.", which is in the text and not in the schema.
    """
    return concat_4(*xs, axis=1 if axis is None else axis)


@kernel("Concat", since_version=4)
def concat_4(*xs: Array, axis: int) -> Array:
    """Join tensors along ``axis``, which counts from the front.

    Returns: the shape of the inputs, with their sizes at ``axis`` summed.
    Source: Concat-4, which knows no negative axis.
    """
    return join(xs, axis_of(axis, xs[0].ndim, negative=False))


@kernel("Concat", since_version=(11, 13))
def concat_11(*xs: Array, axis: int) -> Array:
    """Join tensors along ``axis``.

    Returns: the shape of the inputs, with their sizes at ``axis`` summed.
    Source: Concat-11, "Accepted range is [-r, r-1]".
    """
    return join(xs, axis_of(axis, xs[0].ndim))


def cut(x: Array, axis: int, sizes: Sequence[int]) -> tuple[Array, ...]:
    """Cut ``x`` along ``axis`` into views of the given sizes.

    Raises ``ValueError`` unless the sizes are not negative and sum up to that of the axis.
    """
    length = x.shape[axis]
    if min(sizes, default=0) < 0 or sum(sizes) != length:
        raise ValueError(
            f"the sizes {list(sizes)} do not cut an axis of size {length}; "
            "sizes >= 0 that sum up to it were wanted"
        )
    before = (slice(None),) * axis
    parts = []
    start = 0
    for size in sizes:
        parts.append(x[(*before, slice(start, start + size))])
        start += size
    return tuple(parts)


def _split(x: Array, axis: int, sizes: list[int] | None, n_outputs: int) -> tuple[Array, ...]:
    """Cut into the given sizes, one per output, or else into equal ones."""
    if sizes is None:
        size, rest = divmod(x.shape[axis], n_outputs)
        if rest:
            raise ValueError(
                f"an axis of size {x.shape[axis]} has no {n_outputs} parts of equal size"
            )
        sizes = [size] * n_outputs
    elif len(sizes) != n_outputs:
        raise ValueError(f"split has {len(sizes)} sizes; the node has {n_outputs} outputs")
    return cut(x, axis, sizes)


@kernel("Split", since_version=1)
def split_1(
    x: Array,
    sizes: Array | None = None,
    /,
    *,
    axis: int | None,
    split: list[int] | None,
    n_outputs: int,
) -> tuple[Array, ...]:
    """Cut ``x`` along ``axis`` into the sizes of the attribute or the input, or equal ones.

    Returns: one tensor per output.
    The input with the sizes has the float type of ``x``, so its elements must be whole numbers.
    The text is silent about an omitted axis (taken as 0, which Split-2 has as its default), and
    about attribute and input together (an error).
    Source: Split-1.
    """
    if sizes is not None:
        if split is not None:
            raise ValueError("the sizes are given twice, as an attribute and as an input")
        split = [whole_number("split", size) for size in sizes.reshape(-1).tolist()]
    return split_2(x, axis=0 if axis is None else axis, split=split, n_outputs=n_outputs)


@kernel("Split", since_version=(2, 11))
def split_2(
    x: Array, /, *, axis: int, split: list[int] | None, n_outputs: int
) -> tuple[Array, ...]:
    """Cut ``x`` along ``axis`` into the given sizes or equal ones.

    Returns: one tensor per output.
    The text of version 2 names no negative axis, but an official converted case (test_GLU) has one.
    Source: Split-11.
    """
    return _split(x, axis_of(axis, x.ndim), split, n_outputs)


@kernel("Split", since_version=13)
def split_13(
    x: Array, split: Array | None = None, /, *, axis: int, n_outputs: int
) -> tuple[Array, ...]:
    """Cut ``x`` along ``axis`` into the sizes of the 1-D input ``split`` or equal ones.

    Returns: one tensor per output.
    Source: Split-13.
    """
    sizes = None if split is None else integers("split", split)
    return _split(x, axis_of(axis, x.ndim), sizes, n_outputs)


@kernel("Split", since_version=18)
def split_18(
    x: Array,
    split: Array | None = None,
    /,
    *,
    axis: int,
    num_outputs: int | None,
    n_outputs: int,
) -> tuple[Array, ...]:
    """Cut ``x`` along ``axis`` into the sizes of ``split``, or ``num_outputs`` equal parts.

    Returns: one tensor per output.
    Of uneven parts only the last is smaller, all others have ceil(size / num_outputs) elements.
    Where that leaves less than nothing for the last one, no cut fits the text: an error.
    Source: Split-18, "Either input 'split' or the attribute 'num_outputs' should be specified,
    but not both".
    """
    axis = axis_of(axis, x.ndim)
    if (split is None) == (num_outputs is None):
        raise ValueError("one of the input split and the attribute num_outputs was wanted")
    if split is not None:
        return _split(x, axis, integers("split", split), n_outputs)
    if num_outputs != n_outputs:
        raise ValueError(f"num_outputs is {num_outputs}; the node has {n_outputs} outputs")
    length = x.shape[axis]
    size = -(-length // n_outputs)
    last = length - size * (n_outputs - 1)
    if last < 0:
        raise ValueError(
            f"an axis of size {length} has no {n_outputs} parts of which the last alone is smaller"
        )
    return cut(x, axis, [size] * (n_outputs - 1) + [last])


def _slice(
    x: Array,
    starts: list[int],
    ends: list[int],
    axes: list[int] | None,
    steps: list[int] | None,
    *,
    negative: bool,
) -> Array:
    """Return a view of ``x``; ``negative`` tells whether axes may count from the back."""
    if axes is None:
        axes = list(range(len(starts)))
    if steps is None:
        steps = [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise ValueError(
            f"there are {len(starts)} starts, {len(ends)} ends, {len(axes)} axes and "
            f"{len(steps)} steps; as many of each were wanted"
        )
    index: list[Any] = [slice(None)] * x.ndim
    seen = set()
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        k = axis_of(axis, x.ndim, negative=negative)
        if k in seen:
            raise ValueError(f"the axes {axes} name axis {k} twice")
        seen.add(k)
        if step == 0:
            raise ValueError("a step is 0; any other number was wanted")
        if step < 0 and start < -x.shape[k]:
            start = 0
        index[k] = slice(start, end, step)
    return x[(*index, ...)]


@kernel("Slice", since_version=1)
def slice_1(x: Array, /, *, starts: list[int], ends: list[int], axes: list[int] | None) -> Array:
    """Return the elements from ``starts`` to before ``ends`` of the axes.

    Negative starts and ends count from the back; those out of range are clamped.
    Source: Slice-1, which knows no negative axis.
    """
    return _slice(x, starts, ends, axes, None, negative=False)


@kernel("Slice", since_version=10)
def slice_10(
    x: Array,
    starts: Array,
    ends: Array,
    axes: Array | None = None,
    steps: Array | None = None,
    /,
) -> Array:
    """Return every ``steps``-th element from ``starts`` to before ``ends`` of the axes.

    A start before the first element is clamped to it, as in Slice-13; the text is silent.
    Source: Slice-10, which knows no negative axis.
    """
    return _slice(x, *_indices(starts, ends, axes, steps), negative=False)


@kernel("Slice", since_version=(11, 13))
def slice_11(
    x: Array,
    starts: Array,
    ends: Array,
    axes: Array | None = None,
    steps: Array | None = None,
    /,
) -> Array:
    """Return every ``steps``-th element from ``starts`` to before ``ends`` of the axes.

    A start before the first element is clamped to it also where the step is negative; NumPy's
    slice would be empty then.
    Source: Slice-13, "clamped to range `[0, dims[axes[i]]-1]` for negative stepping"; Slice-11 is
    silent about it.
    An axis named twice is an error; Slice-13 calls it undefined.
    """
    return _slice(x, *_indices(starts, ends, axes, steps), negative=True)


def _indices(
    starts: Array, ends: Array, axes: Array | None, steps: Array | None
) -> tuple[list[int], list[int], list[int] | None, list[int] | None]:
    return (
        integers("starts", starts),
        integers("ends", ends),
        None if axes is None else integers("axes", axes),
        None if steps is None else integers("steps", steps),
    )


@kernel("Gather", since_version=1)
def gather_1(data: Array, indices: Array, /, *, axis: int) -> Array:
    """Take the slices of ``data`` at ``indices``, which are not negative, along ``axis``.

    Returns: the shape of ``data`` with that of ``indices`` in place of the axis.
    Source: Gather-1; its text allows a negative axis, and negative indices only from 11 on.
    """
    if indices.size and indices.min() < 0:
        raise IndexError(
            f"index {indices.min()} is negative; "
            "this version of the operator does not count from the back"
        )
    return gather_11(data, indices, axis=axis)


@kernel("Gather", since_version=(11, 13))
def gather_11(data: Array, indices: Array, /, *, axis: int) -> Array:
    """Take the slices of ``data`` at ``indices`` along ``axis``.

    Returns: the shape of ``data`` with that of ``indices`` in place of the axis.
    Source: Gather-11, "within bounds [-s, s-1] along axis of size s".
    """
    axis = axis_of(axis, data.ndim)
    try:
        if indices.ndim == 0:
            return data[(slice(None),) * axis + (indices.item(), ...)]
        taken = np.take(data, indices, axis)
    except IndexError:
        _check_bounds(indices, axis, data.shape[axis])
        raise
    if taken.size == 0:  # NumPy checks no index where there is nothing to take
        _check_bounds(indices, axis, data.shape[axis])
    return taken


def _check_bounds(indices: Array, axis: int, size: int) -> None:
    outside = indices[(indices < -size) | (indices >= size)]
    if outside.size:
        raise IndexError(
            f"index {outside.flat[0]} is outside [{-size}, {size - 1}], "
            f"the bounds of axis {axis} of size {size}"
        )


@kernel("Expand", since_version=(8, 13))
def expand(x: Array, shape: Array, /) -> Array:
    """Broadcast ``x`` and ``shape`` together.

    Returns: a read-only view of the common shape, in which an axis of ``x`` stays where ``shape``
    has 1 or no axis.
    Source: Expand-8.
    """
    wanted = integers("shape", shape)
    dims = [1] * (x.ndim - len(wanted)) + wanted
    skipped = len(dims) - x.ndim
    for i, size in enumerate(x.shape, skipped):
        if dims[i] == 1:
            dims[i] = size
    try:
        return np.broadcast_to(x, dims)
    except ValueError as error:
        raise ValueError(f"shape {x.shape} does not broadcast with {wanted}") from error


def whole_number(name: str, value: float) -> int:
    """Return a float that stands for an integer; raises ``ValueError`` for any other."""
    if not float(value).is_integer():
        raise ValueError(f"{name} is {value}; a whole number was wanted")
    return int(value)


@kernel("Tile", since_version=1)
def tile_1(x: Array, tiles: Array, axis: Array, /) -> Array:
    """Repeat ``x`` as a whole, ``tiles`` times along one axis.

    Args: tiles and axis, tensors of one element, of the float type of ``x``.
    Returns: the shape of ``x`` with the size of the axis times ``tiles``.
    Source: Tile-1, "Number of repeated copies to make of the input tensor"; that the output has
    the "same shape" as the input can hold for one copy only.
    """
    for name, value in (("tiles", tiles), ("axis", axis)):
        if value.size != 1:
            raise ValueError(f"{name} has shape {value.shape}; a single element was wanted")
    repeats = [1] * x.ndim
    k = axis_of(whole_number("axis", axis.item()), x.ndim, negative=False)
    repeats[k] = whole_number("tiles", tiles.item())
    return _tile(x, repeats)


@kernel("Tile", since_version=(6, 13))
def tile_6(x: Array, repeats: Array, /) -> Array:
    """Repeat ``x`` as a whole, ``repeats[i]`` times along axis i.

    Returns: a tensor of ``x.shape[i] * repeats[i]`` elements along axis i.
    Source: Tile-6, "1D int64 tensor of the same length as input's dimension number".
    """
    listed = integers("repeats", repeats)
    if len(listed) != x.ndim:
        raise ValueError(f"repeats has {len(listed)} elements; {x.ndim}, the rank, were wanted")
    return _tile(x, listed)


def _tile(x: Array, repeats: list[int]) -> Array:
    if min(repeats, default=0) < 0:
        raise ValueError(f"the repeats are {repeats}; numbers >= 0 were wanted")
    return np.tile(x, repeats)
