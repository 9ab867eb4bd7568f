"""Convolutions of integers: ConvInteger and QLinearConv.

Sums are exact. Padding is the zero point of ``x``, which stands for the number 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from .nn_conv import check_group, group_rows
from .nn_window import check_kernel_shape, gather, window_axes
from .registry import kernel
from .rounding import Array


def _scalar(name: str, value: Array) -> Array:
    """Return a value per tensor; one of shape (1,) is taken for a scalar."""
    if value.shape not in ((), (1,)):
        raise ValueError(f"{name} has shape {value.shape}: it must be a scalar")
    return value.reshape(())


def _per_channel(name: str, value: Array, channels: int) -> Array:
    """Return a value per output channel, (M,); a scalar or a single one serves all channels."""
    if value.shape not in ((), (1,), (channels,)):
        raise ValueError(f"{name} has shape {value.shape}: it must be a scalar or ({channels},)")
    return np.broadcast_to(value.reshape(-1), (channels,))


def _integer_convolution(
    x: Array,
    w: Array,
    x_zero_point: Array | None,
    w_zero_point: Array | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    auto_pad: str,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
    dilations: Sequence[int] | None,
) -> Array:
    """Convolve exactly; return int64 of shape (N, M, o1, ..., on)."""
    check_group(x, w, None, group)
    check_kernel_shape(kernel_shape, w.shape[2:])
    axes = window_axes(
        x.shape[2:], w.shape[2:], auto_pad=auto_pad, pads=pads, strides=strides, dilations=dilations
    )
    x, w = x.astype(np.int64), w.astype(np.int64)
    if x_zero_point is not None:
        x = x - _scalar("x_zero_point", x_zero_point).astype(np.int64)
    channels = w.shape[0]
    weights = w.reshape(channels, math.prod(w.shape[1:]))
    if w_zero_point is not None:
        zero = _per_channel("w_zero_point", w_zero_point, channels).astype(np.int64)
        weights = weights - zero[:, None]
    rows = group_rows(gather(x, [axis.positions() for axis in axes], 0), group)
    by_group = weights.reshape(group, channels // group, weights.shape[1])
    sums = np.concatenate([part @ row for part, row in zip(by_group, rows, strict=True)])
    sizes = [axis.windows for axis in axes]
    return sums.reshape(channels, x.shape[0], *sizes).swapaxes(0, 1)


@kernel("ConvInteger", since_version=10)
def conv_integer(
    x: Array,
    w: Array,
    x_zero_point: Array | None = None,
    w_zero_point: Array | None = None,
    /,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Array:
    """Convolve ``x - x_zero_point`` with ``w - w_zero_point``; a sum past 32 bits wraps around.

    Args: x, (N, C, D1, ..., Dn); w, (M, C/group, k1, ..., kn); x_zero_point, a scalar;
        w_zero_point, a scalar or (M,).
    Returns: int32, (N, M, o1, ..., on).
    Raises: ``ValueError`` for shapes and attributes that do not fit.
    Source: ConvInteger-10, "The accumulation may overflow if and only if in 32 bits".
    """
    return _integer_convolution(
        x,
        w,
        x_zero_point,
        w_zero_point,
        group,
        kernel_shape,
        auto_pad,
        pads,
        strides,
        dilations,
    ).astype(np.int32)


@kernel("QLinearConv", since_version=10)
def qlinear_conv(
    x: Array,
    x_scale: Array,
    x_zero_point: Array,
    w: Array,
    w_scale: Array,
    w_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
    b: Array | None = None,
    /,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Array:
    """Convolve the numbers that ``x`` and ``w`` stand for, and quantize the result.

    The sum times ``x_scale * w_scale / y_scale`` is taken exactly, rounded to nearest and ties to
    even, shifted by ``y_zero_point`` and cut to the range of the type.
    The text names no rounding; this is that of QuantizeLinear.

    Args: x, (N, C, D1, ..., Dn); w, (M, C/group, k1, ..., kn); w_scale and w_zero_point, scalars
        or (M,); the other scales and zero points, scalars; b, int32 of shape (M,).
    Returns: the type of ``y_zero_point``, (N, M, o1, ..., on).
    Raises: ``ValueError`` for shapes and attributes that do not fit, for a scale that is not
        finite, and for a ``y_scale`` of 0.
    Source: QLinearConv-10, "Each scale and zero-point pair must have same shape".
    """
    pairs = (
        ("x", x_scale, x_zero_point),
        ("w", w_scale, w_zero_point),
        ("y", y_scale, y_zero_point),
    )
    for name, scale, zero in pairs:
        if scale.shape != zero.shape:
            raise ValueError(
                f"{name}_scale has shape {scale.shape}, {name}_zero_point has shape {zero.shape}: "
                "they must be the same"
            )
        if not np.isfinite(scale).all() or (name == "y" and not scale.all()):
            raise ValueError(f"{name}_scale is {scale.tolist()}: it must be finite, y_scale not 0")
    check_group(x, w, b, group)
    sums = _integer_convolution(
        x, w, x_zero_point, w_zero_point, group, kernel_shape, auto_pad, pads, strides, dilations
    )
    factor = Fraction(_scalar("x_scale", x_scale).item())
    factor /= Fraction(_scalar("y_scale", y_scale).item())
    zero_point = int(_scalar("y_zero_point", y_zero_point))
    limits = np.iinfo(y_zero_point.dtype)
    result = np.empty(sums.shape, y_zero_point.dtype)
    for m, w_factor in enumerate(_per_channel("w_scale", w_scale, w.shape[0]).tolist()):
        channel = sums[:, m] if b is None else sums[:, m] + int(b[m])
        rounded = _scaled(channel, factor * Fraction(w_factor)) + zero_point
        result[:, m] = np.clip(rounded, limits.min, limits.max)
    return result


def _scaled(x: Array, factor: Fraction) -> Array:
    """Multiply integers with a fraction exactly, and round to nearest, ties to even."""
    exact = x.astype(object) * factor.numerator
    whole = exact // factor.denominator
    rest = exact - whole * factor.denominator
    up = (2 * rest > factor.denominator) | ((2 * rest == factor.denominator) & (whole % 2 == 1))
    return np.asarray(whole + up.astype(np.int64))
