"""NonMaxSuppression and RoiAlign."""

from __future__ import annotations

from typing import Any

import numpy as np

from .registry import kernel
from .rounding import Array, narrow, wide


@kernel("NonMaxSuppression", since_version=(10, 11))
def non_max_suppression(
    boxes: Array,
    scores: Array,
    max_output_boxes_per_class: Array | None = None,
    iou_threshold: Array | None = None,
    score_threshold: Array | None = None,
    /,
    *,
    center_point_box: int,
) -> Array:
    """Select boxes by descending score, unless they overlap one that was selected before.

    A box whose score is equal to ``score_threshold`` stays, and so does one whose overlap is equal
    to ``iou_threshold``; without ``score_threshold`` none is removed for its score.
    Boxes without an area overlap nothing.
    Of equal scores the lower index comes first, and the output is ordered by batch, class and
    score; the text is silent about both, the official tests decide the order.

    Args: boxes, float32 (N, B, 4); scores, float32 (N, C, B); the others, scalars, or of one
        element as in the official tests.
    Returns: int64 (S, 3), each [batch_index, class_index, box_index].
    Raises: ``ValueError`` for shapes that do not fit, an ``iou_threshold`` outside of [0, 1], and
        a ``center_point_box`` other than 0 and 1.
    Source: NonMaxSuppression-11, "boxes with IOU exactly equal to the threshold are kept".
    """
    if boxes.ndim != 3 or boxes.shape[2] != 4 or scores.ndim != 3:
        raise ValueError(
            f"boxes has shape {boxes.shape}, scores has {scores.shape}: "
            "they must be (N, B, 4) and (N, C, B)"
        )
    if (scores.shape[0], scores.shape[2]) != boxes.shape[:2]:
        raise ValueError(
            f"boxes has shape {boxes.shape}, scores has {scores.shape}: "
            "the numbers of batches and boxes must be the same"
        )
    most = int(_single("max_output_boxes_per_class", max_output_boxes_per_class, 0))
    limit = float(_single("iou_threshold", iou_threshold, 0.0))
    if not 0 <= limit <= 1:
        raise ValueError(f"iou_threshold is {limit}: it must be in the range [0, 1]")
    least = _single("score_threshold", score_threshold, -np.inf)
    corners = _corners(wide(boxes), center_point_box)
    selected = []
    for batch, of_batch in enumerate(scores):
        for label, of_class in enumerate(of_batch):
            kept: list[int] = []
            for box in np.argsort(-of_class, kind="stable").tolist():
                if len(kept) >= most:
                    break
                if of_class[box] < least:
                    continue
                if not _overlaps(corners[batch, box], corners[batch, kept], limit):
                    kept.append(box)
            selected += [(batch, label, box) for box in kept]
    return np.array(selected, np.int64).reshape(len(selected), 3)


def _single(name: str, x: Array | None, default: float) -> Any:
    """Return the one element of an optional input."""
    if x is None:
        return default
    if x.size != 1:
        raise ValueError(f"{name} has shape {x.shape}: it must be a scalar")
    return x.item()


def _corners(boxes: Array, center_point_box: int) -> Array:
    """Return boxes as (N, B, 2, 2): the lower corner, then the upper one."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if center_point_box == 1:
        return np.stack((first - second / 2, first + second / 2), axis=2)
    if center_point_box == 0:
        return np.stack((np.minimum(first, second), np.maximum(first, second)), axis=2)
    raise ValueError(f"center_point_box is {center_point_box}: it must be 0 or 1")


def _overlaps(box: Array, others: Array, limit: float) -> bool:
    """Tell whether a box overlaps any of the others by more than ``limit``."""
    low, high = np.maximum(box[0], others[:, 0]), np.minimum(box[1], others[:, 1])
    common = np.prod(np.maximum(high - low, 0), axis=1)
    areas = np.prod(np.maximum(others[:, 1] - others[:, 0], 0), axis=1)
    union = np.prod(np.maximum(box[1] - box[0], 0)) + areas - common
    return bool(((common > limit * union) & (common > 0)).any())


@kernel("RoiAlign", since_version=(16, 22))
def roi_align_16(
    x: Array,
    rois: Array,
    batch_indices: Array,
    /,
    *,
    coordinate_transformation_mode: str,
    mode: str,
    output_height: int,
    output_width: int,
    sampling_ratio: int,
    spatial_scale: float,
) -> Array:
    """Pool values that are interpolated at a grid of points in each cell of each region.

    ``half_pixel`` moves the regions by half a pixel; without it, a region is at least one pixel
    high and wide.
    The text leaves to the cited paper where points lie and what is outside: the points are the
    middles of the parts of a cell; one more than a pixel outside counts as 0, one less than a pixel
    outside as the border.
    A cell without points gives 0.
    In mode ``max`` the official test takes the largest of the weighted neighbours of all points, a
    neighbour of weight 0 included, and not the largest interpolated value, as the text has it.
    The test decides here.

    Args: x, (N, C, H, W); rois, (R, 4), each [x1, y1, x2, y2]; batch_indices, (R,).
    Returns: (R, C, output_height, output_width).
    Raises: ``ValueError`` for shapes and attributes that do not fit, and for an index out of range.
    Source: RoiAlign-16, "pixel shift the input coordinates by -0.5".
    """
    if coordinate_transformation_mode not in ("half_pixel", "output_half_pixel"):
        raise ValueError(
            f"coordinate_transformation_mode is {coordinate_transformation_mode!r}: "
            "it must be half_pixel or output_half_pixel"
        )
    half_pixel = coordinate_transformation_mode == "half_pixel"
    _check_roi_align(x, rois, batch_indices, mode, output_height, output_width, sampling_ratio)
    result = np.zeros((len(rois), x.shape[1], output_height, output_width))
    for r, corners in enumerate(wide(rois) * spatial_scale - (0.5 if half_pixel else 0.0)):
        image = wide(x[batch_indices[r]])
        least = -np.inf if half_pixel else 1.0
        rows = _points(corners[1], corners[3], output_height, sampling_ratio, least)
        columns = _points(corners[0], corners[2], output_width, sampling_ratio, least)
        if rows.size and columns.size and image.size:
            result[r] = _pooled(image, rows, columns, mode)
    return narrow(result, x.dtype)


@kernel("RoiAlign", since_version=10)
def roi_align_10(
    x: Array,
    rois: Array,
    batch_indices: Array,
    /,
    *,
    mode: str,
    output_height: int,
    output_width: int,
    sampling_ratio: int,
    spatial_scale: float,
) -> Array:
    """Compute as version 16 does with ``output_half_pixel``, "a backward-compatible behavior"."""
    return roi_align_16(
        x,
        rois,
        batch_indices,
        coordinate_transformation_mode="output_half_pixel",
        mode=mode,
        output_height=output_height,
        output_width=output_width,
        sampling_ratio=sampling_ratio,
        spatial_scale=spatial_scale,
    )


def _check_roi_align(
    x: Array, rois: Array, indices: Array, mode: str, height: int, width: int, ratio: int
) -> None:
    if x.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 4 or indices.shape != rois.shape[:1]:
        raise ValueError(
            f"X has shape {x.shape}, rois has {rois.shape}, batch_indices has {indices.shape}: "
            "they must be (N, C, H, W), (R, 4) and (R,)"
        )
    if mode not in ("avg", "max"):
        raise ValueError(f"mode is {mode!r}: it must be avg or max")
    if height < 1 or width < 1 or ratio < 0:
        raise ValueError(
            f"output_height is {height}, output_width is {width}, sampling_ratio is {ratio}: "
            "they must be at least 1, 1 and 0"
        )
    outside = (indices < 0) | (indices >= x.shape[0])
    if outside.any():
        raise ValueError(
            f"batch index {indices[outside][0]} is out of range for {x.shape[0]} images"
        )


def _points(start: float, end: float, cells: int, ratio: int, least: float) -> Array:
    """Return where the points of each cell lie along an axis, as (cells, points)."""
    size = max(end - start, least) / cells
    count = ratio if ratio else max(int(np.ceil(size)), 0)
    return start + (np.arange(cells)[:, None] + (np.arange(count) + 0.5) / max(count, 1)) * size


def _pooled(image: Array, rows: Array, columns: Array, mode: str) -> Array:
    """Weigh the four neighbours of each point of an image (C, H, W), and pool those of each cell.

    The mean is that of their sums; the maximum is that of the weighted neighbours themselves.
    """
    terms = []
    for row, row_weight in _neighbours(rows.reshape(-1), image.shape[1]):
        for column, column_weight in _neighbours(columns.reshape(-1), image.shape[2]):
            weight = row_weight[:, None] * column_weight
            weighted = weight * image[:, row[:, None], column]
            # Of an infinite neighbour without weight nothing is left.
            terms.append(np.where(weight == 0, 0.0, weighted))
    values = np.sum(terms, axis=0) if mode == "avg" else np.max(terms, axis=0)
    grid = values.reshape(len(image), *rows.shape, *columns.shape)
    return np.asarray(grid.mean(axis=(2, 4)) if mode == "avg" else grid.max(axis=(2, 4)))


def _neighbours(at: Array, size: int) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Return index and weight of the neighbours on both sides of points along an axis."""
    place = np.clip(at, 0, size - 1)
    low = np.floor(place).astype(np.int64)
    inner = np.where((at >= -1) & (at <= size), 1.0, 0.0)
    part = place - low
    return (low, inner * (1 - part)), (np.minimum(low + 1, size - 1), inner * part)
