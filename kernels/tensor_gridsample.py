"""GridSample and AffineGrid: elements at places that a grid gives in [-1, 1]."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from .registry import kernel
from .rounding import Array, narrow
from .tensor import integers
from .tensor_resample import average_dtype, cubic, round_average, weigh

#: The coefficient of cubic convolution, which the text does not name; the official cases have it.
_A = -0.75

Taps = list[tuple[Array, Array, Array]]


def _reflect(place: Array, low: float, high: float) -> Array:
    """Mirror at both borders until the place lies between them."""
    span = high - low
    if span == 0:
        return np.where(np.isfinite(place), low, place)
    folded = np.mod(place - low, 2 * span)
    return low + np.minimum(folded, 2 * span - folded)


def _within(place: Array, size: int, padding: str, *, align: bool) -> Array:
    """Move places that are out of bounds by the padding mode; ``zeros`` leaves them."""
    low, high = (0.0, size - 1.0) if align else (-0.5, size - 0.5)
    outside = (place < low) | (place > high)
    if padding == "border":
        return np.where(outside, np.clip(place, 0, size - 1), place)
    if padding == "reflection":
        return np.where(outside, _reflect(place, low, high), place)
    return place


def _element(index: Array, size: int, padding: str, *, align: bool) -> tuple[Array, Array]:
    """Return the element for a whole number, and whether there is one."""
    inside = (index >= 0) & (index < size)
    if padding != "zeros":
        index = np.clip(_within(index, size, padding, align=align), 0, size - 1)
        inside = np.ones_like(inside)
    return np.where(inside, index, 0).astype(np.int64), inside


def _taps(place: Array, size: int, mode: str, padding: str, *, align: bool) -> Taps:
    """Return the elements around places on one axis: index, whether it exists, and weight."""
    place = _within(place, size, padding, align=align)
    if mode == "nearest":
        reach, first = [0], np.rint(place)
        weights = [np.ones_like(place)]
    else:
        reach = [0, 1] if mode == "linear" else [-1, 0, 1, 2]
        first = np.floor(place)
        distances = [np.abs(place - first - r) for r in reach]
        if mode == "linear":
            weights = [1 - d for d in distances]
        else:
            weights = [np.vectorize(cubic, otypes=[place.dtype])(d, _A) for d in distances]
    return [
        (*_element(first + r, size, padding, align=align), weight)
        for r, weight in zip(reach, weights, strict=True)
    ]


def _places(grid: Array, sizes: Sequence[int], *, align: bool) -> list[Array]:
    """Return the places on each axis, outermost first; the last number of a vector is for it."""
    places = []
    for k, size in enumerate(sizes):
        n = grid[..., len(sizes) - 1 - k]
        places.append((n + 1) * (size - 1) / 2 if align else ((n + 1) * size - 1) / 2)
    return places


def _sample(x: Array, grid: Array, mode: str, padding: str, *, align: bool) -> Array:
    """Sample ``x`` of shape [N, C, ...] at the places of ``grid``."""
    rank = x.ndim - 2
    if rank < 1 or grid.ndim != x.ndim or grid.shape[-1] != rank or grid.shape[0] != x.shape[0]:
        raise ValueError(
            f"X has shape {x.shape} and the grid {grid.shape}; "
            "[N, C, D1, ..., Dr] and [N, E1, ..., Er, r] were wanted"
        )
    if padding not in ("zeros", "border", "reflection"):
        raise ValueError(f"padding_mode is {padding!r}; zeros, border or reflection was wanted")
    sizes = x.shape[2:]
    if padding != "zeros" and 0 in sizes and grid.size:
        raise ValueError(f"X has shape {x.shape}: there is no border where nothing is")
    nearest = mode == "nearest"
    dtype = x.dtype if nearest else average_dtype(x.dtype)
    # A NaN has no place; neither has a reflected infinity.
    places = _places(grid.astype(np.longdouble), sizes, align=align)
    lost = np.zeros(grid.shape[:-1], bool)
    for place in places:
        lost |= np.isnan(place) | (np.isinf(place) & (padding == "reflection"))
    if lost.any() and x.dtype.kind not in "fcV":
        raise ValueError("the grid has a NaN or a reflected infinity; there is no such place")
    places = [np.clip(np.where(lost, 0, p), -1e15, 1e15) for p in places]
    if 0 in sizes:
        return np.zeros((*x.shape[:2], *grid.shape[1:-1]), x.dtype)
    moved = np.moveaxis(x.astype(dtype), 1, -1)
    batch = np.arange(x.shape[0]).reshape(-1, *(1,) * rank)
    total: Array | None = None
    every = [
        _taps(place, size, mode, padding, align=align)
        for place, size in zip(places, sizes, strict=True)
    ]
    nothing = np.array("", object) if x.dtype.kind == "O" else np.zeros((), dtype)
    for taps in itertools.product(*every):
        taken = moved[(batch, *(index for index, _, _ in taps))]
        exists = np.logical_and.reduce([inside for _, inside, _ in taps])[..., None]
        taken = np.where(exists, taken, nothing)
        if nearest:
            total = taken
            break
        weight = np.multiply.reduce([w for _, _, w in taps])[..., None]
        total = weigh(total, taken, weight.astype(taken.real.dtype))
    assert total is not None
    result = total if nearest else round_average(total, x.dtype, truncate=True)
    if lost.any():
        result = np.where(lost[..., None], np.array(np.nan).astype(x.dtype), result)
    return np.moveaxis(result, -1, 1)


@kernel("GridSample", since_version=16)
def grid_sample_16(
    x: Array, grid: Array, /, *, align_corners: int, mode: str, padding_mode: str
) -> Array:
    """Sample images [N, C, H, W] at the places [N, H_out, W_out, 2] of a grid.

    Returns: the shape [N, C, H_out, W_out].
    A half-way place rounds to the even index, which only version 20 says.
    Source: GridSample-16, "Currently, only spatial (4-D) inputs are supported".
    """
    modes = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}
    if mode not in modes:
        raise ValueError(f"mode is {mode!r}; one of {', '.join(modes)} was wanted")
    if x.ndim != 4:
        raise ValueError(f"X has shape {x.shape}; [N, C, H, W] was wanted")
    return _sample(x, grid, modes[mode], padding_mode, align=bool(align_corners))


@kernel("GridSample", since_version=(20, 22))
def grid_sample_20(
    x: Array, grid: Array, /, *, align_corners: int, mode: str, padding_mode: str
) -> Array:
    """Sample [N, C, D1, ..., Dr] at the places [N, E1, ..., Er, r] of a grid.

    Returns: the shape [N, C, E1, ..., Er].
    A place is moved by the padding mode before the nearest element, or those around it, are
    taken; of these, the ones that are outside come by the padding mode as well.
    Averages of integers are cut towards zero, as Cast does.
    A NaN in the grid gives NaN, or an error where the type has none; the text is silent.
    Source: GridSample-20, "rounds to the nearest even index".
    """
    if mode not in ("linear", "nearest", "cubic"):
        raise ValueError(f"mode is {mode!r}; linear, nearest or cubic was wanted")
    return _sample(x, grid, mode, padding_mode, align=bool(align_corners))


@kernel("AffineGrid", since_version=20)
def affine_grid(theta: Array, size: Array, /, *, align_corners: int) -> Array:
    """Apply affine matrices to evenly spaced positions.

    Args: theta, of shape [N, 2, 3] or [N, 3, 4]; size, [N, C, H, W] or [N, C, D, H, W].
    Returns: the shape [N, H, W, 2] or [N, D, H, W, 3]; the innermost axis comes first in a vector.
    With ``align_corners`` a single position on an axis is -1, as the function body has it for
    the depth; the text does not say where it lies.
    Source: AffineGrid-20.
    """
    sizes = integers("size", size)
    rank = len(sizes) - 2
    if rank not in (2, 3) or theta.shape != (sizes[0], rank, rank + 1):
        raise ValueError(
            f"theta has shape {theta.shape} and size is {sizes}; "
            "[N, 2, 3] and 4 sizes, or [N, 3, 4] and 5 sizes were wanted"
        )
    if min(sizes) < 0:
        raise ValueError(f"size is {sizes}; numbers >= 0 were wanted")
    wide = theta.astype(np.longdouble)
    result = np.zeros((sizes[0], *sizes[2:], rank), np.longdouble)
    for k, count in enumerate(sizes[2:]):
        doubled = 2 * np.arange(count, dtype=np.longdouble) - (count - 1)
        if not align_corners:
            position = doubled / max(count, 1)
        else:
            position = doubled / (count - 1) if count > 1 else np.full(count, -1, np.longdouble)
        shaped = position.reshape((-1,) + (1,) * (rank - k))
        factor = wide[:, :, rank - 1 - k].reshape((-1,) + (1,) * rank + (rank,))
        result += shaped * factor
    result += wide[:, :, rank].reshape((-1,) + (1,) * rank + (rank,))
    return narrow(result if theta.dtype == np.float64 else result.astype(np.float64), theta.dtype)
