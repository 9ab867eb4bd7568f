"""Col2Im, which adds up overlapping blocks to an image."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .nn_window import Axis, per_axis, window_axes
from .registry import kernel
from .rounding import Array, narrow, wide
from .summation import exact_sum, round_sum


@kernel("Col2Im", since_version=18)
def col2im(
    x: Array,
    image_shape: Array,
    block_shape: Array,
    /,
    *,
    dilations: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Array:
    """Put blocks back to their places in an image, and add where they overlap.

    That overlapping values are added is PyTorch's rule, to which the text points.
    A pixel that no block covers is 0.
    Booleans are added as "or"; strings cannot be added, so where they overlap is an error, and an
    uncovered pixel is the empty string.

    Args: x, (N, C * b1 * ... * bn, L), with the blocks in row-major order; image_shape and
        block_shape, n integers each, of 2 or more axes.
    Returns: (N, C, i1, ..., in).
    Raises: ``ValueError`` for shapes and attributes that do not fit.
    Source: Col2Im-18, "[N, C * n-ary-product(block_shape), L]".
    """
    image, block = _shape("image_shape", image_shape), _shape("block_shape", block_shape)
    if len(image) != len(block):
        raise ValueError(f"image_shape is {image}, block_shape is {block}: their lengths differ")
    axes = window_axes(
        image, block, auto_pad="NOTSET", pads=pads, strides=strides, dilations=dilations
    )
    elements = math.prod(block)
    blocks = [axis.windows for axis in axes]
    if x.ndim != 3 or x.shape[1] % elements or x.shape[2] != math.prod(blocks):
        raise ValueError(
            f"the input has shape {x.shape}: it must be (N, C * {elements}, {math.prod(blocks)})"
        )
    channels = x.shape[1] // elements
    columns = x.reshape(x.shape[0], channels, elements, *blocks)
    padded = [axis.begin + axis.size + axis.end for axis in axes]
    empty: Any = "" if x.dtype.kind == "O" else 0
    rows = np.full((elements, x.shape[0], channels, *padded), empty, x.dtype)
    outer = slice(0, x.shape[0]), slice(0, channels)
    covered = np.zeros(padded, np.int64)
    for k, steps in enumerate(itertools.product(*(range(size) for size in block))):
        places = tuple(
            slice(first, first + axis.windows * axis.stride, axis.stride)
            for axis, first in zip(axes, _firsts(axes, steps), strict=True)
        )
        covered[places] += 1
        rows[(slice(k, k + 1), *outer, *places)] = columns[:, :, k]
    crop = tuple(slice(axis.begin, axis.begin + axis.size) for axis in axes)
    if x.dtype.kind == "O" and (covered[crop] > 1).any():
        raise ValueError("blocks of strings overlap: strings cannot be added")
    return _added(rows[(slice(0, elements), *outer, *crop)])


def _shape(name: str, x: Array) -> list[int]:
    if x.ndim != 1 or len(x) < 2:
        raise ValueError(f"{name} has shape {x.shape}: it must be a list of 2 or more integers")
    return per_axis(name, x.tolist(), len(x), 0 if name == "image_shape" else 1)


def _firsts(axes: Sequence[Axis], steps: Sequence[int]) -> list[int]:
    """Return where an element of the first block lies, along each axis."""
    return [step * axis.dilation for axis, step in zip(axes, steps, strict=True)]


def _added(rows: Array) -> Array:
    """Add rows by the rules of their type."""
    dtype = rows.dtype
    if dtype.kind == "b":
        return np.asarray(np.logical_or.reduce(rows, axis=0))
    if dtype.kind in "iuO":
        return np.asarray(np.add.reduce(rows, axis=0, dtype=dtype))
    if dtype.kind == "c":
        total = np.empty(rows.shape[1:], np.complex128)
        total.real, total.imag = (
            high for high, _ in (exact_sum(wide(rows).real), exact_sum(wide(rows).imag))
        )
        return narrow(total, dtype)
    return round_sum(*exact_sum(wide(rows)), dtype)
