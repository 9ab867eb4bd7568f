"""Scatter, ScatterElements, ScatterND and TensorScatter: updates written into a copy of a tensor.

Where the reduction is none and two updates have the same place, which the text advises against,
the last one in row-major order stands.
Sums and products are taken wide and rounded once; those of integers wrap around.
Sums and maxima of booleans are "or", products and minima "and".
NaN is handed on by all reductions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .registry import kernel
from .rounding import Array, is_float, narrow, wide
from .tensor import axis_of, check_dtypes

#: Reduction, and the function of a value and an update.
_REDUCTIONS: dict[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}

Index = tuple[Array, ...]


def checked_index(indices: Array, size: int, where: str) -> Array:
    """Return indices counted from the front; raises ``IndexError`` outside [-size, size-1]."""
    outside = indices[(indices < -size) | (indices >= size)]
    if outside.size:
        raise IndexError(
            f"index {outside.flat[0]} is outside [{-size}, {size - 1}], "
            f"the bounds of {where} of size {size}"
        )
    indices = indices.astype(np.int64)
    return np.where(indices < 0, indices + size, indices)


def element_index(data: Array, indices: Array, axis: int) -> Index:
    """Return the place in ``data`` of each element of ``indices``.

    It is the index itself on ``axis``, and the place of the index on all other axes.
    Raises ``ValueError`` where ``indices`` has another rank, or more elements along another axis.
    """
    if data.ndim < 1 or indices.ndim != data.ndim:
        raise ValueError(
            f"data has shape {data.shape}, indices {indices.shape}; one rank >= 1 was wanted"
        )
    for k, (size, count) in enumerate(zip(data.shape, indices.shape, strict=True)):
        if k != axis and count > size:
            raise ValueError(
                f"indices has shape {indices.shape}, data {data.shape}: "
                f"at most {size} along axis {k} were wanted"
            )
    index: list[Array] = list(np.indices(indices.shape, sparse=True))
    index[axis] = checked_index(indices, data.shape[axis], f"axis {axis}")
    return tuple(np.broadcast_arrays(*index))


def _write(data: Array, index: Any, updates: Array, reduction: str, known: Sequence[str]) -> Array:
    """Return a copy of ``data`` with the updates at the places of ``index`` worked in."""
    check_dtypes((data, updates))
    if reduction == "none":
        result = data.copy()
        result[index] = updates
        return result
    if reduction not in known:
        raise ValueError(f"reduction is {reduction!r}; one of none, {', '.join(known)} was wanted")
    if data.dtype.kind == "O" or (data.dtype.kind == "c" and reduction in ("max", "min")):
        kind = "strings" if data.dtype.kind == "O" else "complex numbers"
        raise ValueError(f"reduction is {reduction!r}, which {kind} do not have")
    if data.dtype.kind == "c" or is_float(data.dtype):
        double = {"d": np.longdouble, "D": np.clongdouble}.get(data.dtype.char)
        result = wide(data) if double is None else data.astype(double)
        _REDUCTIONS[reduction].at(result, index, updates.astype(result.dtype))
        return narrow(result, data.dtype)
    result = data.copy()
    _REDUCTIONS[reduction].at(result, index, updates)
    return result


def _scatter(
    data: Array, indices: Array, updates: Array, axis: int, reduction: str, known: Sequence[str]
) -> Array:
    """Write each update to the place of its index."""
    index = element_index(data, indices, axis_of(axis, data.ndim))
    if updates.shape != indices.shape:
        raise ValueError(f"updates has shape {updates.shape}; that of indices, {indices.shape}")
    return _write(data, index, updates, reduction, known)


@kernel("Scatter", since_version=9)
def scatter_9(data: Array, indices: Array, updates: Array, /, *, axis: int) -> Array:
    """Write each update to the place that its index gives on ``axis``.

    Returns: the shape of ``data``; ``indices`` and ``updates`` may be smaller.
    A negative index is an error: only version 11 says that indices count from the back.
    Source: Scatter-9.
    """
    if indices.size and indices.min() < 0:
        raise IndexError(
            f"index {indices.min()} is negative; "
            "this version of the operator does not count from the back"
        )
    return _scatter(data, indices, updates, axis, "none", ())


@kernel("Scatter", since_version=11)
@kernel("ScatterElements", since_version=(11, 13))
def scatter_elements_11(data: Array, indices: Array, updates: Array, /, *, axis: int) -> Array:
    """Write each update to the place that its index gives on ``axis``.

    Source: ScatterElements-11, "within bounds [-s, s-1] along axis of size s".
    """
    return _scatter(data, indices, updates, axis, "none", ())


@kernel("ScatterElements", since_version=16)
def scatter_elements_16(
    data: Array, indices: Array, updates: Array, /, *, axis: int, reduction: str
) -> Array:
    """Write, add or multiply each update at the place that its index gives on ``axis``.

    Source: ScatterElements-16.
    """
    return _scatter(data, indices, updates, axis, reduction, ("add", "mul"))


@kernel("ScatterElements", since_version=18)
def scatter_elements_18(
    data: Array, indices: Array, updates: Array, /, *, axis: int, reduction: str
) -> Array:
    """Work each update in at the place that its index gives on ``axis``.

    Source: ScatterElements-18, "Adds max/min to the set of allowed reduction ops".
    """
    return _scatter(data, indices, updates, axis, reduction, tuple(_REDUCTIONS))


def tuple_index(shape: Sequence[int], indices: Array) -> Index:
    """Return the places that the tuples along the last axis of ``indices`` give.

    Args: shape, the leading sizes of the tensor, as many as a tuple has elements.
    """
    return tuple(checked_index(indices[..., k], size, f"axis {k}") for k, size in enumerate(shape))


def _scatter_nd(
    data: Array, indices: Array, updates: Array, reduction: str, known: Sequence[str]
) -> Array:
    """Write slices of ``updates`` to the places that tuples of indices give."""
    if data.ndim < 1 or indices.ndim < 1 or indices.shape[-1] > data.ndim:
        raise ValueError(
            f"data has shape {data.shape}, indices {indices.shape}; ranks >= 1 and tuples of at "
            f"most {data.ndim} indices were wanted"
        )
    k = indices.shape[-1]
    wanted = indices.shape[:-1] + data.shape[k:]
    if updates.shape != wanted:
        raise ValueError(f"updates has shape {updates.shape}; {wanted} was wanted")
    if k:
        return _write(data, tuple_index(data.shape[:k], indices), updates, reduction, known)
    # A tuple of no indices is the place of the tensor as a whole.
    places = np.zeros(indices.shape[:-1], np.int64)
    whole: Array = _write(data[None], (places,), updates, reduction, known)[0]
    return whole


@kernel("ScatterND", since_version=(11, 13))
def scatter_nd_11(data: Array, indices: Array, updates: Array, /) -> Array:
    """Write slices of ``updates`` to the places that tuples of indices give.

    Args: indices, of shape [..., k] with k at most the rank of ``data``, which may be negative;
    updates, of shape [...] followed by the sizes of ``data`` from axis k on.
    Source: ScatterND-11.
    """
    return _scatter_nd(data, indices, updates, "none", ())


@kernel("ScatterND", since_version=16)
def scatter_nd_16(data: Array, indices: Array, updates: Array, /, *, reduction: str) -> Array:
    """Write, add or multiply slices at the places that tuples of indices give.

    Source: ScatterND-16.
    """
    return _scatter_nd(data, indices, updates, reduction, ("add", "mul"))


@kernel("ScatterND", since_version=18)
def scatter_nd_18(data: Array, indices: Array, updates: Array, /, *, reduction: str) -> Array:
    """Work slices in at the places that tuples of indices give.

    Source: ScatterND-18, "Adds max/min to the set of allowed reduction ops".
    """
    return _scatter_nd(data, indices, updates, reduction, tuple(_REDUCTIONS))


@kernel("TensorScatter", since_version=24)
def tensor_scatter(
    cache: Array, update: Array, write_indices: Array | None = None, /, *, axis: int, mode: str
) -> Array:
    """Write a run of slices into a cache, from an own start in each batch on.

    Args: cache and update, of the same shape but for the sequence axis, where ``update`` is not
    longer; write_indices, one start per batch, 0 if omitted.
    Returns: the new cache.
    In the mode circular a negative start counts as the modulo says; in linear it is an error.
    Source: TensorScatter-24, "It cannot be 0 (the batch dimension)", "`linear` mode requires
    write_indices+sequence_length<=max_sequence_length".
    """
    if mode not in ("linear", "circular"):
        raise ValueError(f"mode is {mode!r}; linear or circular was wanted")
    check_dtypes((cache, update))
    axis = axis_of(axis, cache.ndim)
    if axis == 0:
        raise ValueError("axis is 0, the batch; the axis of the sequence was wanted")
    size, count = cache.shape[axis], update.shape[axis] if update.ndim == cache.ndim else -1
    if not 0 <= count <= size or update.shape != (
        *cache.shape[:axis],
        count,
        *cache.shape[axis + 1 :],
    ):
        raise ValueError(
            f"update has shape {update.shape}, the cache {cache.shape}; "
            f"one that differs on axis {axis} only, and is no longer, was wanted"
        )
    batches = cache.shape[0]
    starts = np.zeros(batches, np.int64) if write_indices is None else write_indices
    if starts.shape != (batches,):
        raise ValueError(f"write_indices has shape {starts.shape}; ({batches},) was wanted")
    if mode == "circular":
        # The modulo first: a start near the largest integer would overflow.
        starts = starts % max(size, 1)
    elif starts.size and (starts.min() < 0 or starts.max() > size - count):
        raise ValueError(
            f"write_indices is {starts.tolist()}; in the mode linear 0 to {size - count} was "
            f"wanted, for {count} slices to fit into {size}"
        )
    result = cache.copy()
    for batch, start in enumerate(starts.tolist()):
        places = (start + np.arange(count)) % max(size, 1)
        result[batch][(*(slice(None),) * (axis - 1), places)] = update[batch]
    return result
