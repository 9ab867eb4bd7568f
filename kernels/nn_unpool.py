"""MaxUnpool, the partial inverse of MaxPool, and MaxRoiPool."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .nn_window import per_axis, spatial_axes
from .registry import kernel
from .rounding import Array, wide


@kernel("MaxUnpool", since_version=(9, 11, 22))
def max_unpool(
    x: Array,
    indices: Array,
    output_shape: Array | None = None,
    /,
    *,
    kernel_shape: Sequence[int],
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Array:
    """Put each value to its index in a tensor of zeros.

    The size of an axis is (size - 1) * stride + kernel, without the padding.
    In the official test the indices count in a tensor of that size, which ``output_shape`` then
    enlarges by zeros at the end of each axis.
    Where ``output_shape`` is smaller along any axis they can only count in ``output_shape`` itself,
    as the text wants it, which lets ``output_shape`` replace the padding.
    Of several values with one index the last remains; the text is silent.

    Args: x, (N, C, D1, ..., Dn); indices, of the same shape; output_shape, N + 2 sizes.
    Returns: the shape that ``output_shape`` or the attributes give.
    Raises: ``ValueError`` for shapes that do not fit, and for an index out of range.
    Source: MaxUnpool-11, "the linear indices should not consider padding".
    """
    sizes = spatial_axes(x)
    count = len(sizes)
    if indices.shape != x.shape:
        raise ValueError(f"X has shape {x.shape}, I has {indices.shape}: they must be the same")
    kernel_shape = per_axis("kernel_shape", kernel_shape, count)
    steps = per_axis("strides", strides, count)
    padding = per_axis("pads", pads, 2 * count, 0)
    shape = list(x.shape)
    for i, size in enumerate(sizes):
        shape[2 + i] = (size - 1) * steps[i] + kernel_shape[i] - padding[i] - padding[i + count]
    wanted = shape
    if output_shape is not None:
        wanted = output_shape.tolist() if output_shape.ndim == 1 else []
        if len(wanted) != x.ndim or wanted[:2] != shape[:2] or min(wanted) < 0:
            raise ValueError(
                f"output_shape is {output_shape.tolist()}: "
                f"it must be {x.ndim} sizes that begin with {shape[:2]}"
            )
        if any(w < s for w, s in zip(wanted, shape, strict=True)):
            shape = wanted
    if min(shape) < 0:
        raise ValueError(f"pads is {padding}: nothing is left of the output, of shape {shape}")
    flat = np.zeros(math.prod(shape), x.dtype)
    outside = (indices < 0) | (indices >= flat.size)
    if outside.any():
        raise ValueError(f"the index {indices[outside][0]} is not in the range [0, {flat.size})")
    flat[indices.reshape(-1)] = x.reshape(-1)
    result = np.zeros(wanted, x.dtype)
    result[tuple(slice(0, size) for size in shape)] = flat.reshape(shape)
    return result


@kernel("MaxRoiPool", since_version=(1, 22))
def max_roi_pool(
    x: Array, rois: Array, /, *, pooled_shape: Sequence[int], spatial_scale: float
) -> Array:
    """Take the maximum in each cell of a grid laid over regions of interest.

    The text does not say where the cells lie; here they are those of the operator's origin, Fast
    R-CNN: corners are scaled and rounded, halves away from zero; both belong to the region, which
    has at least one pixel; a cell covers each pixel it touches; an empty cell gives 0.

    Args: x, (N, C, H, W); rois, (R, 5), each [batch_id, x1, y1, x2, y2].
    Returns: (R, C, *pooled_shape).
    Raises: ``ValueError`` for shapes that do not fit, and for a batch_id out of range.
    Source: MaxRoiPool-1, "shape (num_rois, 5) given as [[batch_id, x1, y1, x2, y2], ...]".
    """
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5:
        raise ValueError(
            f"X has shape {x.shape}, rois has {rois.shape}: they must be (N, C, H, W) and (R, 5)"
        )
    pooled = per_axis("pooled_shape", pooled_shape, 2)
    result = np.zeros((len(rois), x.shape[1], *pooled), x.dtype)
    for r, (batch, *corners) in enumerate(wide(rois).tolist()):
        if not 0 <= batch < x.shape[0] or batch != int(batch):
            raise ValueError(f"the batch_id {batch} is not an index of {x.shape[0]} images")
        x1, y1, x2, y2 = (_rounded(corner * spatial_scale) for corner in corners)
        rows = _cells(y1, y2, pooled[0], x.shape[2])
        columns = _cells(x1, x2, pooled[1], x.shape[3])
        for i, (top, bottom) in enumerate(rows):
            for j, (left, right) in enumerate(columns):
                cell = x[int(batch), :, top:bottom, left:right]
                if cell.shape[1] and cell.shape[2]:
                    result[r, :, i, j] = np.maximum.reduce(cell.reshape(len(cell), -1), axis=1)
    return result


def _rounded(x: float) -> int:
    """Round to nearest, halves away from zero."""
    return int(math.copysign(math.floor(abs(x) + 0.5), x))


def _cells(first: int, last: int, count: int, size: int) -> list[tuple[int, int]]:
    """Return where each cell begins and ends along an axis, cut to the axis."""
    length = max(last - first + 1, 1)
    bounds = [
        (first + i * length // count, first - (-(i + 1) * length // count)) for i in range(count)
    ]
    return [(min(max(low, 0), size), min(max(high, 0), size)) for low, high in bounds]
