"""Convolutions of floats: Conv, ConvTranspose and CausalConvWithState.

Products and sums are rounded once; in float64 they come with their rounding errors where the
result depends on those.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .math import FLOAT64
from .nn_window import (
    check_auto_pad,
    check_kernel_shape,
    gather,
    inside,
    per_axis,
    spatial_axes,
    split_padding,
    window_axes,
)
from .registry import kernel
from .rounding import Array, narrow, wide
from .summation import exact_sum, round_sum


def check_group(x: Array, w: Array, b: Array | None, group: int) -> None:
    """Hold the shapes of a convolution together.

    Args: x, (N, C, D1, ..., Dn); w, (M, C/group, k1, ..., kn); b, (M,).
    Raises: ``ValueError`` where they do not fit.
    """
    spatial_axes(x)
    if w.ndim != x.ndim:
        raise ValueError(
            f"W has shape {w.shape}, X has shape {x.shape}: the ranks must be the same"
        )
    if group < 1 or w.shape[0] % group or x.shape[1] != w.shape[1] * group:
        raise ValueError(
            f"X has {x.shape[1]} channels, W has shape {w.shape}, group is {group}: "
            "W must be (M, C/group, ...), and M a multiple of group"
        )
    check_bias(b, w.shape[0])


def check_bias(b: Array | None, channels: int) -> None:
    """Raise ``ValueError`` for a bias that is not one value per output channel."""
    if b is not None and b.shape != (channels,):
        raise ValueError(f"B has shape {b.shape}: it must be ({channels},)")


def group_rows(patches: Array, group: int) -> list[Array]:
    """Return for each group the terms of all sums, as (C/group * K, N * P).

    Args: patches, as ``gather`` gives them: (N, C, P, K).
    """
    n, channels, windows, size = patches.shape
    each = channels // group
    split = patches.reshape(n, group, each, windows, size).transpose(1, 2, 4, 0, 3)
    return list(split.reshape(group, each * size, n * windows))


def convolve(
    patches: Array, w: Array, b: Array | None, group: int, present: Array | None = None
) -> Array:
    """Sum the products of windows and weights, and the bias.

    Args: patches, (N, C, P, K); w, (M, C/group, ...) with K elements behind the channels;
        b, (M,); present, booleans (P, K), which terms there are at all.
    Returns: (N, M, P), in the type of ``w``.
    """
    n, _, windows, size = patches.shape
    channels, each = w.shape[:2]
    weights = wide(w).reshape(group, channels // group, each * size)
    biases = np.zeros((group, channels // group, 0)) if b is None else wide(b).reshape(group, -1, 1)
    keep = None
    if present is not None:
        keep = np.broadcast_to(present.T[None, :, None, :], (each, size, n, windows))
        keep = keep.reshape(each * size, n * windows)
    results = [
        _sums(wide(rows), factors, bias, keep, w.dtype)
        for rows, factors, bias in zip(group_rows(patches, group), weights, biases, strict=True)
    ]
    return np.concatenate(results).reshape(channels, n, windows).swapaxes(0, 1)


def _sums(
    rows: Array, weights: Array, biases: Array, keep: Array | None, dtype: np.dtype[Any]
) -> Array:
    """Return the sums of weighted rows, rounded once.

    Plain sums in float64 are taken where all that their errors allow rounds to the same value.

    Args: rows, (T, P); weights, (M, T); biases, (M, 0) or (M, 1); keep, (T, P), which terms there
        are at all; dtype, the type to round to.
    Returns: (M, P), in that type.
    """
    if dtype == FLOAT64:
        result = np.empty((len(weights), rows.shape[1]), dtype)
        doubtful = np.ones(result.shape, bool)
    else:
        total = weights @ rows + biases.sum(axis=1, keepdims=True)
        most = np.abs(weights).sum(axis=1, keepdims=True) * np.abs(rows).max(axis=0, initial=0.0)
        most += np.abs(biases).sum(axis=1, keepdims=True)
        error = most * ((len(rows) + 4) * 2.0**-52)  # twice the bound for any order of summation
        result = narrow(total - error, dtype)
        doubtful = result != narrow(total + error, dtype)
        # The sign is open, or something is not finite.
        doubtful |= ~(np.abs(total) > error) | ~np.isfinite(error)
    for m in np.flatnonzero(doubtful.any(axis=1)):
        some = doubtful[m]
        terms = _products(rows[:, some], weights[m], exact=dtype != FLOAT64)
        if keep is not None:
            terms = np.where(np.resize(keep[:, some], terms.shape), terms, 0.0)
        bias = np.broadcast_to(biases[m][:, None], (biases.shape[1], terms.shape[1]))
        result[m, some] = round_sum(*exact_sum(np.concatenate((terms, bias))), dtype)
    return result


def _products(rows: Array, factors: Array, *, exact: bool) -> Array:
    """Multiply rows (T, P) with factors (T,); where that is not exact, append the errors.

    Source of the method: Dekker, "A floating-point technique for extending the available
    precision", 1971.
    """
    factor = factors[:, None]
    product = rows * factor
    if exact:
        return np.asarray(product)
    a, b = _halved(rows), _halved(factor)
    error = a[1] * b[1] - (((product - a[0] * b[0]) - a[1] * b[0]) - a[0] * b[1])
    return np.concatenate((product, np.where(np.isfinite(error), error, 0.0)))


def _halved(x: Array) -> tuple[Array, Array]:
    """Split float64 values into two of 26 bits, whose products are exact."""
    scaled = x * 134217729.0  # 2^27 + 1
    high = scaled - (scaled - x)
    return high, x - high


@kernel("Conv", since_version=(1, 11, 22))
def conv(
    x: Array,
    w: Array,
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
    """Convolve ``x`` with ``w``; padding is zeros.

    Version 1 wants SAME padding to "match the input", which is possible for strides of 1 only.
    With others it is taken as the later versions explain it.

    Args: x, (N, C, D1, ..., Dn); w, (M, C/group, k1, ..., kn); b, (M,).
    Returns: (N, M, o1, ..., on).
    Raises: ``ValueError`` for shapes and attributes that do not fit.
    Source: Conv-11, "X.shape[1] == (W.shape[1] * group) == C".
    """
    check_group(x, w, b, group)
    check_kernel_shape(kernel_shape, w.shape[2:])
    axes = window_axes(
        x.shape[2:],
        w.shape[2:],
        auto_pad=auto_pad,
        pads=pads,
        strides=strides,
        dilations=dilations,
    )
    patches = gather(x, [axis.positions() for axis in axes], 0)
    y = convolve(patches, w, b, group)
    return y.reshape(*y.shape[:2], *(axis.windows for axis in axes))


@kernel("ConvTranspose", since_version=(11, 22))
def conv_transpose_11(
    x: Array,
    w: Array,
    b: Array | None = None,
    /,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    output_padding: Sequence[int] | None,
    output_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Array:
    """Spread each element of ``x`` over a window of the output, multiplied with ``w``.

    With ``output_shape`` the padding follows from it; its extra element goes to the end for
    SAME_UPPER and to the beginning otherwise.
    An output larger than all windows together gets zeros at the end: the equations would give
    negative pads, which the description of ``pads`` excludes.

    Args: x, (N, C, D1, ..., Dn); w, (C, M/group, k1, ..., kn); b, (M,).
    Returns: (N, M, o1, ..., on).
    Raises: ``ValueError`` for shapes and attributes that do not fit.
    Source: ConvTranspose-11, "output_shape[i] = input_shape[i] * strides[i]".
    """
    count = len(spatial_axes(x))
    steps = per_axis("strides", strides, count)
    spread = per_axis("dilations", dilations, count)
    extra = per_axis("output_padding", output_padding, count, 0)
    for more, stride, dilation in zip(extra, steps, spread, strict=True):
        if more and more >= max(stride, dilation):
            raise ValueError(
                f"output_padding is {extra}: each must be less than the stride or the dilation, "
                f"which are {steps} and {spread}"
            )
    side = "SAME_UPPER" if auto_pad == "SAME_UPPER" else "SAME_LOWER"
    return _transpose(
        x, w, b, auto_pad, spread, group, kernel_shape, extra, output_shape, pads, steps, side
    )


@kernel("ConvTranspose", since_version=1)
def conv_transpose_1(
    x: Array,
    w: Array,
    b: Array | None = None,
    /,
    *,
    auto_pad: str,
    dilations: Sequence[int] | None,
    group: int,
    kernel_shape: Sequence[int] | None,
    output_padding: Sequence[int] | None,
    output_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: Sequence[int] | None,
) -> Array:
    """Compute as in version 11, but for two rules.

    The equations put the extra element of an odd padding, which ``output_shape`` makes, to the
    beginning for SAME_UPPER and to the end otherwise: the opposite of version 11.
    ``output_padding`` has no upper bound.

    SAME padding without ``output_shape`` follows the description of ``auto_pad``; that its size
    shall "match the input" is taken as the size times the stride, as in version 11.
    Source: ConvTranspose-1, "If (auto_pads != SAME_UPPER): pads[start_i] = total_padding[i]/2".
    """
    count = len(spatial_axes(x))
    steps = per_axis("strides", strides, count)
    spread = per_axis("dilations", dilations, count)
    extra = per_axis("output_padding", output_padding, count, 0)
    side = "SAME_LOWER" if auto_pad == "SAME_UPPER" else "SAME_UPPER"
    return _transpose(
        x, w, b, auto_pad, spread, group, kernel_shape, extra, output_shape, pads, steps, side
    )


def _transpose(
    x: Array,
    w: Array,
    b: Array | None,
    auto_pad: str,
    dilations: list[int],
    group: int,
    kernel_shape: Sequence[int] | None,
    output_padding: list[int],
    output_shape: Sequence[int] | None,
    pads: Sequence[int] | None,
    strides: list[int],
    side: str,
) -> Array:
    """Compute a transposed convolution; ``side`` says where an explicit shape has its odd pad."""
    if w.ndim != x.ndim or group < 1 or w.shape[0] != x.shape[1] or x.shape[1] % group:
        raise ValueError(
            f"X has shape {x.shape}, W has shape {w.shape}, group is {group}: "
            "W must be (C, M/group, ...), and C a multiple of group"
        )
    count = x.ndim - 2
    check_kernel_shape(kernel_shape, w.shape[2:])
    check_bias(b, w.shape[1] * group)
    check_auto_pad(auto_pad, pads)
    pads = per_axis("pads", pads, 2 * count, 0)
    if output_shape is not None:
        output_shape = per_axis("output_shape", output_shape, count, 0)
    positions, sizes = [], []
    for i, size in enumerate(x.shape[2:]):
        extent = (w.shape[2 + i] - 1) * dilations[i] + 1
        full = strides[i] * (size - 1) + output_padding[i] + extent
        begin, end = pads[i], pads[i + count]
        if output_shape is not None:
            wanted = output_shape[i]
            begin, _ = split_padding(full - wanted, side)
        elif auto_pad.startswith("SAME"):
            wanted = size * strides[i]
            begin, _ = split_padding(full - wanted, auto_pad)
        else:
            wanted = full - begin - end
        if wanted < 0:
            raise ValueError(
                f"pads is {list(pads)}: axis {i} has {full} elements without padding, "
                f"from which {begin} and {end} cannot be taken"
            )
        offset = np.arange(wanted)[:, None] + begin - np.arange(w.shape[2 + i]) * dilations[i]
        positions.append(np.where(offset % strides[i] == 0, offset // strides[i], -1))
        sizes.append(wanted)
    present = inside(positions, [(0, size) for size in x.shape[2:]])
    each = x.shape[1] // group, w.shape[1]
    by_output = w.reshape(group, *each, math.prod(w.shape[2:])).swapaxes(1, 2)
    weights = by_output.reshape(group * each[1], each[0], math.prod(w.shape[2:]))
    y = convolve(gather(x, positions, 0), weights, b, group, present)
    return y.reshape(*y.shape[:2], *sizes)


@kernel("CausalConvWithState", since_version=27)
def causal_conv_with_state(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    past_state: Array | None = None,
    /,
    *,
    activation: str,
) -> tuple[Array, Array]:
    """Convolve each channel with its own kernel, looking at current and past positions only.

    Args: x, (N, C, L); weight, (C, 1, k); bias, (C,); past_state, (N, C, k - 1), zeros if omitted.
    Returns: the convolution, (N, C, L), after the activation; and the last k - 1 values of past
        state and input together, (N, C, k - 1).
    Raises: ``ValueError`` for shapes that do not fit and for an unknown activation.
    Source: CausalConvWithState-27, "Contains the last (k - 1) values of the effective
    padded/concatenated sequence".
    """
    if activation not in ("none", "silu", "swish"):
        raise ValueError(f"activation is {activation!r}: it must be 'silu', 'swish' or 'none'")
    if x.ndim != 3 or weight.ndim != 3 or weight.shape[:2] != (x.shape[1], 1) or not weight.size:
        raise ValueError(
            f"input has shape {x.shape}, weight has shape {weight.shape}: "
            "they must be (N, C, L) and (C, 1, k)"
        )
    n, channels, length = x.shape
    before = weight.shape[2] - 1
    check_bias(bias, channels)
    if past_state is None:
        past_state = np.zeros((n, channels, before), x.dtype)
    elif past_state.shape != (n, channels, before):
        raise ValueError(
            f"past_state has shape {past_state.shape}: it must be {(n, channels, before)}"
        )
    padded = np.concatenate((past_state, x), axis=2)
    at = np.arange(length)[:, None] + np.arange(before + 1)
    patches = wide(gather(padded, [at], 0))
    y = convolve(patches, wide(weight), None if bias is None else wide(bias), channels)
    if activation != "none":
        y = y / (1 + np.exp(-y))
    return narrow(y, x.dtype), padded[:, :, length:].copy()
