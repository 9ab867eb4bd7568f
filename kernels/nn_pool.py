"""Pooling: AveragePool, MaxPool, LpPool, and their global forms.

Padding takes no part in a maximum, adds nothing to a sum, and is counted by AveragePool only where
``count_include_pad`` says so.
A place past the padding, where the last window hangs over with ``ceil_mode``, is never counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .math import FLOAT64
from .nn_norm import lp_norm, rounded, widest
from .nn_window import Axis, gather, inside, spatial_axes, window_axes
from .reduction import reduce_max, reduce_mean
from .registry import kernel
from .rounding import Array, is_float, wide
from .summation import exact_sum

Integers = Sequence[int] | None


def _rows(x: Array, axes: list[Axis], fill: Any) -> Array:
    """Return the elements of the windows as (K, N, C, P)."""
    return np.moveaxis(gather(x, [axis.positions() for axis in axes], fill), 3, 0)


def _shaped(y: Array, axes: list[Axis]) -> Array:
    """Give (N, C, P) its spatial axes back."""
    return y.reshape(*y.shape[:2], *(axis.windows for axis in axes))


# AveragePool.


def _average(x: Array, count_include_pad: int, **window: Any) -> Array:
    """Average over each window; the average of nothing is NaN.

    Source: AveragePool-22, "divided by the number of elements (exclude pad when attribute
    count_include_pad is zero)".
    """
    axes = window_axes(spatial_axes(x), **window)
    if count_include_pad:
        bounds = [(-axis.begin, axis.size + axis.end) for axis in axes]
    else:
        bounds = [(0, axis.size) for axis in axes]
    counts = inside([axis.positions() for axis in axes], bounds).sum(axis=1)
    high, low = exact_sum(wide(_rows(x, axes, 0)))
    if x.dtype == FLOAT64:
        high = widest(high)
    return _shaped(rounded((high + low) / counts, x.dtype), axes)


@kernel("AveragePool", since_version=(19, 22))
def average_pool_19(
    x: Array,
    /,
    *,
    auto_pad: str,
    ceil_mode: int,
    count_include_pad: int,
    dilations: Integers,
    kernel_shape: Sequence[int],
    pads: Integers,
    strides: Integers,
) -> Array:
    """Average over each window; version 19 brings ``dilations``.

    Args: x, (N, C, D1, ..., Dn).
    Returns: (N, C, o1, ..., on).
    Raises: ``ValueError`` for shapes and attributes that do not fit.
    Source: AveragePool-19.
    """
    return _average(
        x,
        count_include_pad,
        kernel=kernel_shape,
        auto_pad=auto_pad,
        pads=pads,
        strides=strides,
        dilations=dilations,
        ceil_mode=ceil_mode,
    )


@kernel("AveragePool", since_version=(10, 11))
def average_pool_10(
    x: Array,
    /,
    *,
    auto_pad: str,
    ceil_mode: int,
    count_include_pad: int,
    kernel_shape: Sequence[int],
    pads: Integers,
    strides: Integers,
) -> Array:
    """Average over each window; version 10 brings ``ceil_mode``. See ``average_pool_19``."""
    return _average(
        x,
        count_include_pad,
        kernel=kernel_shape,
        auto_pad=auto_pad,
        pads=pads,
        strides=strides,
        ceil_mode=ceil_mode,
    )


@kernel("AveragePool", since_version=7)
def average_pool_7(
    x: Array,
    /,
    *,
    auto_pad: str,
    count_include_pad: int,
    kernel_shape: Sequence[int],
    pads: Integers,
    strides: Integers,
) -> Array:
    """Average over each window; version 7 brings ``count_include_pad``."""
    return _average(
        x, count_include_pad, kernel=kernel_shape, auto_pad=auto_pad, pads=pads, strides=strides
    )


@kernel("AveragePool", since_version=1)
def average_pool_1(
    x: Array, /, *, auto_pad: str, kernel_shape: Sequence[int], pads: Integers, strides: Integers
) -> Array:
    """Average over each window. Source: AveragePool-1, "number of elements exclude pad"."""
    return _average(x, 0, kernel=kernel_shape, auto_pad=auto_pad, pads=pads, strides=strides)


# MaxPool.


def _max(x: Array, storage_order: int, **window: Any) -> tuple[Array, Array]:
    """Return the maximum of each window, and its index in the flattened input.

    Of several equal ones the first counts; NaN is larger than all, as in NumPy.
    Where a window has nothing but padding, the maximum is the lowest value of the type, minus
    infinity for floats, and the index is -1.
    With ``storage_order`` 1 the spatial axes of each channel are counted in column-major order.
    """
    if storage_order not in (0, 1):
        raise ValueError(f"storage_order is {storage_order}: it must be 0 or 1")
    axes = window_axes(spatial_axes(x), **window)
    lowest: Any = -np.inf if is_float(x.dtype) else np.iinfo(x.dtype).min
    rows = _rows(x, axes, lowest)
    values = wide(rows) if is_float(x.dtype) else rows
    positions = [axis.positions() for axis in axes]
    there = inside(positions, [(0, axis.size) for axis in axes]).T[:, None, None]
    largest = values.max(axis=0)
    chosen = there & ((values == largest) | (np.isnan(values) & np.isnan(largest)))
    first = np.argmax(chosen, axis=0)
    y = np.take_along_axis(rows, first[None], axis=0)[0]
    sizes = x.shape[2:]
    within = np.arange(math.prod(sizes)).reshape(sizes, order="F" if storage_order else "C")
    plane = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], 1) * math.prod(sizes)
    places = _rows(within[None, None], axes, -1)
    index = np.take_along_axis(np.broadcast_to(places, rows.shape), first[None], axis=0)[0] + plane
    return _shaped(y, axes), _shaped(np.where(chosen.any(axis=0), index, -1), axes)


@kernel("MaxPool", since_version=(10, 11, 12, 22))
def max_pool_10(
    x: Array,
    /,
    *,
    auto_pad: str,
    ceil_mode: int,
    dilations: Integers,
    kernel_shape: Sequence[int],
    pads: Integers,
    storage_order: int,
    strides: Integers,
) -> tuple[Array, Array]:
    """Take the maximum of each window; version 10 brings ``ceil_mode`` and ``dilations``.

    Args: x, (N, C, D1, ..., Dn), of floats, int8 or uint8.
    Returns: the maxima, (N, C, o1, ..., on), and their indices in ``x``, int64 of the same shape.
    Raises: ``ValueError`` for shapes and attributes that do not fit.
    Source: MaxPool-12, "maximum number of elements exclude pad".
    """
    return _max(
        x,
        storage_order,
        kernel=kernel_shape,
        auto_pad=auto_pad,
        pads=pads,
        strides=strides,
        dilations=dilations,
        ceil_mode=ceil_mode,
    )


@kernel("MaxPool", since_version=8)
def max_pool_8(
    x: Array,
    /,
    *,
    auto_pad: str,
    kernel_shape: Sequence[int],
    pads: Integers,
    storage_order: int,
    strides: Integers,
) -> tuple[Array, Array]:
    """Take the maximum of each window; version 8 brings the output of indices."""
    return _max(
        x, storage_order, kernel=kernel_shape, auto_pad=auto_pad, pads=pads, strides=strides
    )


@kernel("MaxPool", since_version=1)
def max_pool_1(
    x: Array, /, *, auto_pad: str, kernel_shape: Sequence[int], pads: Integers, strides: Integers
) -> Array:
    """Take the maximum of each window."""
    return _max(x, 0, kernel=kernel_shape, auto_pad=auto_pad, pads=pads, strides=strides)[0]


# LpPool.


def _lp(x: Array, p: float, **window: Any) -> Array:
    """Return the Lp norm of each window."""
    axes = window_axes(spatial_axes(x), **window)
    return _shaped(rounded(lp_norm(widest(_rows(x, axes, 0)), p), x.dtype), axes)


@kernel("LpPool", since_version=(18, 22))
def lp_pool_18(
    x: Array,
    /,
    *,
    auto_pad: str,
    ceil_mode: int,
    dilations: Integers,
    kernel_shape: Sequence[int],
    p: int,
    pads: Integers,
    strides: Integers,
) -> Array:
    """Take the Lp norm of each window; version 18 brings ``ceil_mode`` and ``dilations``.

    Its formulas name the window only as ``{kernelSpatialShape}``; here it is the dilated one.

    Args: x, (N, C, D1, ..., Dn).
    Returns: (N, C, o1, ..., on).
    Raises: ``ValueError`` for shapes and attributes that do not fit, and for p of 0 or less.
    Source: LpPool-18, "computing the Lp norm on all values of a subset".
    """
    return _lp(
        x,
        p,
        kernel=kernel_shape,
        auto_pad=auto_pad,
        pads=pads,
        strides=strides,
        dilations=dilations,
        ceil_mode=ceil_mode,
    )


@kernel("LpPool", since_version=(2, 11))
def lp_pool_2(
    x: Array,
    /,
    *,
    auto_pad: str,
    kernel_shape: Sequence[int],
    p: int,
    pads: Integers,
    strides: Integers,
) -> Array:
    """Take the Lp norm of each window; p is an integer from version 2 on. See ``lp_pool_18``."""
    return _lp(x, p, kernel=kernel_shape, auto_pad=auto_pad, pads=pads, strides=strides)


@kernel("LpPool", since_version=1)
def lp_pool_1(
    x: Array,
    /,
    *,
    auto_pad: str,
    kernel_shape: Integers,
    p: float,
    pads: Integers,
    strides: Integers,
) -> Array:
    """Take the Lp norm of each window; ``kernel_shape`` is optional, but has no default.

    Raises: ``ValueError`` without ``kernel_shape``, besides the reasons of ``lp_pool_18``.
    """
    if kernel_shape is None:
        raise ValueError("kernel_shape is omitted: version 1 names no default for it")
    return _lp(x, p, kernel=kernel_shape, auto_pad=auto_pad, pads=pads, strides=strides)


# The global ones.


def _channels(x: Array) -> tuple[Array, list[int]]:
    """Return the elements of each channel as (D1 * ... * Dn, N, C), and the result's shape."""
    sizes = spatial_axes(x)
    rows = np.moveaxis(x.reshape(*x.shape[:2], math.prod(sizes)), 2, 0)
    return rows, [*x.shape[:2], *(1 for _ in sizes)]


@kernel("GlobalAveragePool", since_version=(1, 22))
def global_average_pool(x: Array, /) -> Array:
    """Average each channel; an empty one gives NaN.

    Args: x, (N, C, D1, ..., Dn).
    Returns: (N, C, 1, ..., 1).
    Raises: ``ValueError`` for a rank below 3.
    Source: GlobalAveragePool-1, "the other dimensions are all 1".
    """
    rows, shape = _channels(x)
    return reduce_mean(rows).reshape(shape)


@kernel("GlobalMaxPool", since_version=(1, 22))
def global_max_pool(x: Array, /) -> Array:
    """Take the maximum of each channel, NaN where there is one; an empty one gives -infinity."""
    rows, shape = _channels(x)
    return reduce_max(rows).reshape(shape)


@kernel("GlobalLpPool", since_version=(1, 2, 22))
def global_lp_pool(x: Array, /, *, p: float) -> Array:
    """Take the Lp norm of each channel, with p a float in version 1; an empty one gives 0."""
    rows, shape = _channels(x)
    return rounded(lp_norm(widest(rows), p), x.dtype).reshape(shape)
