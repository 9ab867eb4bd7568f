"""The windows that convolutions and pools slide over the spatial axes, for any number of axes.

A tensor has shape (N, C, D1, ..., Dn); the windows run over the axes D1 to Dn.
Positions count from the first element of the axis: those in the padding are negative, or past the
end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .rounding import Array


@dataclass(frozen=True, slots=True)
class Axis:
    """The windows along one spatial axis: how many, how large, and where."""

    size: int
    kernel: int
    stride: int
    dilation: int
    begin: int
    end: int
    windows: int

    def positions(self) -> Array:
        """Return where each element of each window lies, as (windows, kernel)."""
        starts = np.arange(self.windows) * self.stride - self.begin
        return starts[:, None] + np.arange(self.kernel) * self.dilation


def spatial_axes(x: Array) -> tuple[int, ...]:
    """Return the sizes of the spatial axes; raises ``ValueError`` where there is none."""
    if x.ndim < 3:
        raise ValueError(
            f"X has shape {x.shape}: it must be (N, C, D1, ..., Dn), of rank 3 or more"
        )
    return x.shape[2:]


def per_axis(name: str, values: Sequence[int] | None, count: int, least: int = 1) -> list[int]:
    """Return one integer per spatial axis; an omitted attribute is ``least`` everywhere.

    Raises: ``ValueError`` for another number of integers, or one below ``least``.
    """
    if values is None:
        return [least] * count
    if len(values) != count or min(values) < least:
        raise ValueError(f"{name} is {list(values)}: it must be {count} integers >= {least}")
    return list(values)


def check_kernel_shape(kernel_shape: Sequence[int] | None, kernel: Sequence[int]) -> None:
    """Raise ``ValueError`` where the attribute is given and is not the shape of the weights."""
    if kernel_shape is not None and list(kernel_shape) != list(kernel):
        raise ValueError(
            f"kernel_shape is {list(kernel_shape)}, the weights have {list(kernel)}: "
            "they must be the same"
        )


def check_auto_pad(auto_pad: str, pads: Sequence[int] | None) -> None:
    """Raise ``ValueError`` for an unknown ``auto_pad``, and for one together with ``pads``.

    Source: Conv-11, "cannot be used simultaneously with auto_pad attribute".
    """
    if auto_pad not in ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"):
        raise ValueError(
            f"auto_pad is {auto_pad!r}: it must be NOTSET, SAME_UPPER, SAME_LOWER or VALID"
        )
    if auto_pad != "NOTSET" and pads is not None:
        raise ValueError(
            f"pads is {list(pads)} and auto_pad is {auto_pad}: they cannot be used simultaneously"
        )


def window_axes(
    sizes: Sequence[int],
    kernel: Sequence[int],
    *,
    auto_pad: str,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None = None,
    ceil_mode: int = 0,
) -> list[Axis]:
    """Return the windows along each spatial axis.

    ``SAME_UPPER`` and ``SAME_LOWER`` make ceil(size / stride) windows; an odd padding has its extra
    element at the end, or at the beginning.
    Where no padding is needed at all, none is taken away.
    AveragePool-11 writes floor(size / stride) without ``ceil_mode`` and contradicts its own
    description of ``auto_pad``, which holds here.
    With ``VALID`` there is no padding, and ``ceil_mode`` changes nothing.

    With ``ceil_mode`` and explicit padding the last window may hang over the end, but a window that
    would start past the input, in the padding at the end, is left out.
    Before version 22 the text does not say so; nothing but padding would be in it.

    Raises: ``ValueError`` for attributes out of range, and where the number of windows is negative.
    Source: MaxPool-22, "Sliding windows that would start in the right padded region are ignored".
    """
    count = len(sizes)
    check_auto_pad(auto_pad, pads)
    kernel = per_axis("kernel_shape", kernel, count)
    strides = per_axis("strides", strides, count)
    dilations = per_axis("dilations", dilations, count)
    pads = per_axis("pads", pads, 2 * count, 0)
    axes = []
    for i, size in enumerate(sizes):
        step, extent = strides[i], (kernel[i] - 1) * dilations[i] + 1
        begin, end = pads[i], pads[i + count]
        if auto_pad.startswith("SAME"):
            windows = -(-size // step)
            begin, end = split_padding((windows - 1) * step + extent - size, auto_pad)
        else:
            windows = _windows(size, extent, step, begin, end, ceil_mode and auto_pad == "NOTSET")
        axes.append(Axis(size, kernel[i], step, dilations[i], begin, end, windows))
    return axes


def split_padding(total: int, auto_pad: str) -> tuple[int, int]:
    """Split a padding between beginning and end; the odd one goes to the end for SAME_UPPER."""
    total = max(total, 0)
    less, more = total // 2, total - total // 2
    return (less, more) if auto_pad == "SAME_UPPER" else (more, less)


def _windows(size: int, extent: int, stride: int, begin: int, end: int, ceil: int | bool) -> int:
    span = size + begin + end - extent
    windows = (-(-span // stride) if ceil else span // stride) + 1
    if ceil and (windows - 1) * stride >= size + begin:
        windows -= 1
    if windows < 0:
        raise ValueError(
            f"a window of extent {extent} does not fit into an axis of size {size} "
            f"with a padding of {begin} and {end}"
        )
    return windows


def gather(x: Array, positions: Sequence[Array], fill: Any) -> Array:
    """Return the elements of all windows.

    Args: x, of shape (N, C, D1, ..., Dn); positions, for each spatial axis (windows, kernel);
        fill, what stands at positions outside.
    Returns: shape (N, C, P, K), for all windows and all elements of a window in row-major order.
    """
    for i, at in enumerate(positions):
        axis = 2 + 2 * i
        size = x.shape[axis]
        shape = list(x.shape)
        shape[axis] = 1
        extended = np.concatenate((x, np.full(shape, fill, x.dtype)), axis=axis)
        x = np.take(extended, np.where((at >= 0) & (at < size), at, size), axis=axis)
    n = len(positions)
    order = [0, 1, *range(2, 2 + 2 * n, 2), *range(3, 3 + 2 * n, 2)]
    windows = math.prod(at.shape[0] for at in positions)
    kernel = math.prod(at.shape[1] for at in positions)
    return x.transpose(order).reshape(*x.shape[:2], windows, kernel)


def inside(positions: Sequence[Array], bounds: Sequence[tuple[int, int]]) -> Array:
    """Tell which elements of the windows lie within ``bounds``, as booleans (P, K).

    Args: positions, as for ``gather``; bounds, for each axis the first position and the one after
        the last.
    """
    result = np.ones((1, 1), bool)
    for at, (low, high) in zip(positions, bounds, strict=True):
        there = (at >= low) & (at < high)
        p, k = result.shape
        joined = result[:, None, :, None] & there[None, :, None, :]
        result = joined.reshape(p * at.shape[0], k * at.shape[1])
    return result
