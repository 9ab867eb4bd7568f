"""GatherElements, GatherND, Compress, NonZero and OneHot: elements by index, and indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import kernel
from .rounding import Array, is_float
from .tensor import axis_of
from .tensor_scatter import element_index, tuple_index


@kernel("GatherElements", since_version=(11, 13))
def gather_elements(data: Array, indices: Array, /, *, axis: int) -> Array:
    """Take for each index the element that it gives on ``axis``, at its own place otherwise.

    Returns: the shape of ``indices``, which may be smaller than that of ``data``.
    Source: GatherElements-11, "within bounds [-s, s-1] along axis of size s".
    """
    return data[element_index(data, indices, axis_of(axis, data.ndim))]


@kernel("GatherND", since_version=11)
def gather_nd_11(data: Array, indices: Array, /) -> Array:
    """Take the slices of ``data`` that tuples of indices give. Source: GatherND-11."""
    return gather_nd_12(data, indices, batch_dims=0)


@kernel("GatherND", since_version=(12, 13))
def gather_nd_12(data: Array, indices: Array, /, *, batch_dims: int) -> Array:
    """Take the slices of ``data`` that tuples of indices give, in each batch its own.

    Args: indices, of shape [..., k], with k from 1 to the rank of ``data`` less ``batch_dims``.
    Returns: the shape of ``indices`` without k, and the sizes of ``data`` behind those indexed.
    Source: GatherND-12, "The first `b` dimensions of the shape of `indices` tensor and `data`
    tensor must be equal", "b < min(q, r) is to be honored".
    """
    b, r, q = batch_dims, data.ndim, indices.ndim
    if not 0 <= b < min(q, r):
        raise ValueError(
            f"batch_dims is {b}, data has shape {data.shape} and indices {indices.shape}; "
            f"ranks >= 1 and 0 <= batch_dims < {min(q, r)} were wanted"
        )
    if data.shape[:b] != indices.shape[:b]:
        raise ValueError(
            f"data has shape {data.shape} and indices {indices.shape}; "
            f"the same first {b} sizes were wanted"
        )
    k = indices.shape[-1]
    if not 1 <= k <= r - b:
        raise ValueError(f"indices has shape {indices.shape}; a last size of 1 to {r - b}")
    index = tuple_index(data.shape[b : b + k], indices)
    batches: list[Array] = list(np.indices(indices.shape[:b], sparse=True))
    places = [i.reshape(i.shape + (1,) * (q - 1 - b)) for i in batches]
    where: tuple[Any, ...] = (*places, *index, ...)
    return np.asarray(data[where])


def _compress(x: Array, condition: Array, axis: int | None, *, negative: bool) -> Array:
    if x.ndim < 1 or condition.ndim != 1:
        raise ValueError(
            f"the input has shape {x.shape} and the condition {condition.shape}; "
            "rank >= 1 and rank 1 were wanted"
        )
    if axis is None:
        x, k = x.reshape(-1), 0
    else:
        k = axis_of(axis, x.ndim, negative=negative)
    selected = np.flatnonzero(condition)
    if selected.size and selected[-1] >= x.shape[k]:
        raise ValueError(
            f"the condition is true at {selected[-1]}; there are only {x.shape[k]} slices"
        )
    return np.take(x, selected, k)


@kernel("Compress", since_version=9)
def compress_9(x: Array, condition: Array, /, *, axis: int | None) -> Array:
    """Select the slices along ``axis``, or else the elements, where the condition is true.

    What is beyond the end of the condition is left out.
    A condition that is true beyond the end of the axis is an error, as in NumPy.
    Source: Compress-9, "data slices or elements exceeding the condition length are discarded";
    it knows no negative axis.
    """
    return _compress(x, condition, axis, negative=False)


@kernel("Compress", since_version=(11, 28))
def compress_11(x: Array, condition: Array, /, *, axis: int | None) -> Array:
    """Select the slices along ``axis``, or else the elements, where the condition is true.

    Source: Compress-11, "Accepted range is [-r, r-1]".
    """
    return _compress(x, condition, axis, negative=True)


@kernel("NonZero", since_version=(9, 13))
def non_zero(x: Array, /) -> Array:
    """Return the indices of the elements that are not zero, one column per element.

    Returns: int64, of shape [rank, count], in row-major order.
    NaN is not zero. Of strings the empty one counts as zero, as in NumPy; the text is silent.
    Source: NonZero-13, "for scalar input, NonZero produces output shape (0, N)".
    """
    zero = x == "" if x.dtype.kind == "O" else x == np.zeros((), x.dtype)
    indices = np.argwhere(np.logical_not(zero)).astype(np.int64)
    return np.ascontiguousarray(indices.T)


def _class_numbers(x: Array) -> Array:
    """Return indices as int64, those that no int64 holds as one that is out of any range."""
    if is_float(x.dtype):
        whole = np.trunc(x.astype(np.float64))
        inside = (whole >= -(2.0**63)) & (whole < 2.0**63)
        return np.where(inside, np.where(inside, whole, 0).astype(np.int64), 2**63 - 1)
    if x.dtype == np.uint64:
        x = np.minimum(x, np.uint64(2**63 - 1))
    return x.astype(np.int64)


def _one_hot(indices: Array, depth: Array, values: Array, axis: int, *, negative: bool) -> Array:
    if depth.size != 1 or depth.ndim > 1:
        raise ValueError(f"depth has shape {depth.shape}; a scalar was wanted")
    count = int(depth.item())
    if count < 0:
        raise ValueError(f"depth is {count}; a number >= 0 was wanted")
    if values.shape != (2,):
        raise ValueError(f"values has shape {values.shape}; [off_value, on_value] was wanted")
    numbers = _class_numbers(indices)
    if negative:
        numbers = np.where(numbers < 0, numbers + count, numbers)
    place = axis_of(axis, indices.ndim + 1)
    classes = np.arange(count).reshape((count,) + (1,) * (indices.ndim - place))
    hot = np.expand_dims(numbers, place) == classes
    return np.where(hot, values[1:].reshape(()), values[:1].reshape(()))


@kernel("OneHot", since_version=9)
def one_hot_9(indices: Array, depth: Array, values: Array, /, *, axis: int) -> Array:
    """Put the on value where the new axis has the index, and the off value everywhere else.

    Args: depth, the size of the new axis; values, [off, on]; axis, where the new one is inserted.
    A negative index is out of range here: only off values. So is one that is no number.
    Of negative axes the text has only -1, the innermost.
    Source: OneHot-9, "outside the range [0, depth)".
    """
    if axis < -1:
        raise ValueError(f"axis is {axis}; -1, or one that counts from the front, was wanted")
    return _one_hot(indices, depth, values, axis, negative=False)


@kernel("OneHot", since_version=(11, 28))
def one_hot_11(indices: Array, depth: Array, values: Array, /, *, axis: int) -> Array:
    """Put the on value where the new axis has the index, and the off value everywhere else.

    A negative index counts from the back.
    Source: OneHot-11, "outside the range [-depth, depth-1]".
    """
    return _one_hot(indices, depth, values, axis, negative=True)
