"""DeformConv, a convolution whose windows are moved by an input."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from .nn_conv import check_group, convolve
from .nn_window import Axis, check_kernel_shape, window_axes
from .registry import kernel
from .rounding import Array, narrow, wide


@kernel("DeformConv", since_version=(19, 22))
def deform_conv(
    x: Array,
    w: Array,
    offset: Array,
    b: Array | None = None,
    mask: Array | None = None,
    /,
    *,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    offset_group: int,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Array:
    """Convolve values sampled at the elements of each window, moved by ``offset``.

    A fractional place is interpolated linearly between its neighbours; neighbours outside the
    input count as zero.
    That holds without ``pads`` too, as in the reference and in the cited papers' code, though
    "outside of the padded input tensor" can be read as zero for the whole place.
    ``mask`` has one value per element of a window in any number of dimensions, as in the 2-D text;
    the factor n of the text for n dimensions would leave values without meaning.

    Args: x, (N, C, D1, ..., Dn); w, (M, C/group, k1, ..., kn);
        offset, (N, offset_group * k1 * ... * kn * n, o1, ..., on), the n numbers of one element
        next to each other; b, (M,); mask, (N, offset_group * k1 * ... * kn, o1, ..., on).
    Returns: (N, M, o1, ..., on).
    Raises: ``ValueError`` for shapes and attributes that do not fit.
    Source: DeformConv-19, "Use linear interpolation for fractional offset values".
    """
    check_group(x, w, b, group)
    check_kernel_shape(kernel_shape, w.shape[2:])
    count, batch, channels = x.ndim - 2, x.shape[0], x.shape[1]
    if offset_group < 1 or channels % offset_group:
        raise ValueError(f"offset_group is {offset_group}: it must divide {channels} channels")
    axes = window_axes(
        x.shape[2:],
        w.shape[2:],
        auto_pad="NOTSET",
        pads=pads,
        strides=strides,
        dilations=dilations,
    )
    sizes = [axis.windows for axis in axes]
    terms = math.prod(w.shape[2:])
    offsets = _split("offset", offset, (batch, offset_group, terms, count), sizes)
    places = wide(offsets).transpose(3, 0, 1, 4, 2) + _regular(axes)[:, None, None]
    samples = _sample(
        x.reshape(batch, offset_group, channels // offset_group, *x.shape[2:]), places
    )
    if mask is not None:
        factors = _split("mask", mask, (batch, offset_group, terms), sizes)
        samples = samples * wide(factors).swapaxes(2, 3)[:, :, None]
    patches = samples.reshape(batch, channels, math.prod(sizes), terms)
    y = convolve(patches, wide(w), None if b is None else wide(b), group)
    return narrow(y, x.dtype).reshape(batch, w.shape[0], *sizes)


def _split(name: str, x: Array, parts: tuple[int, ...], sizes: list[int]) -> Array:
    """Return ``x`` with its channels apart and its spatial axes together, as (*parts, P)."""
    shape = (parts[0], math.prod(parts[1:]), *sizes)
    if x.shape != shape:
        raise ValueError(f"{name} has shape {x.shape}: it must be {shape}")
    return x.reshape(*parts, math.prod(sizes))


def _regular(axes: list[Axis]) -> Array:
    """Return where the elements of all windows lie without offsets, as (n, P, K)."""
    windows = np.meshgrid(*(axis.positions()[:, 0] for axis in axes), indexing="ij")
    steps = np.meshgrid(*(np.arange(a.kernel) * a.dilation for a in axes), indexing="ij")
    pairs = zip(windows, steps, strict=True)
    return np.stack([start.reshape(-1, 1) + step.reshape(1, -1) for start, step in pairs])


def _sample(x: Array, places: Array) -> Array:
    """Interpolate linearly between elements; all that is outside counts as zero.

    Args: x, (N, G, C, D1, ..., Dn); places, (n, N, G, P, K).
    Returns: float64, (N, G, C, P, K).
    """
    n, groups, channels = x.shape[:3]
    flat = wide(x).reshape(n, groups, channels, -1)
    lower = np.floor(places)
    rest = places - lower
    result = np.zeros((n, groups, channels, *places.shape[3:]))
    for corner in itertools.product((0, 1), repeat=len(places)):
        weight = np.ones(places.shape[1:])
        index = np.zeros(places.shape[1:], np.int64)
        for axis, (size, side) in enumerate(zip(x.shape[3:], corner, strict=True)):
            at = lower[axis] + side
            weight = weight * (rest[axis] if side else 1 - rest[axis])
            there = (at >= 0) & (at < size)
            weight = np.where(there, weight, 0.0)
            index = index * size + np.where(there, at, 0).astype(np.int64)
        used = np.broadcast_to(weight[:, :, None] != 0, result.shape)
        if flat.size:
            picked = np.take_along_axis(flat, index.reshape(n, groups, 1, -1), axis=3)
            terms = weight[:, :, None] * picked.reshape(result.shape)
            result += np.where(used, terms, 0.0)
    return result
