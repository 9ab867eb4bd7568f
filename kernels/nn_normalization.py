"""Normalization by mean and variance: instances, groups, layers, MeanVarianceNormalization, RMS.

Means are taken in float64, or for float64 in ``numpy.longdouble``.
The variance is that of the population, and the mean of the squared deviations.
The function bodies subtract the square of the mean from the mean of the squares; that is taken for
a way to compute it, since what it loses depends on the order of the sums.

Where an operator has ``stash_type``, its text names three roundings, and they take place: that of X
to the type of stage one, that of the normalized elements to it, and that of these to the type of X.
Stage two is rounded once more.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .nn_wide import Dtype, check_shape, precision, settle, widest
from .registry import kernel
from .rounding import Array

#: What the function body of MeanVarianceNormalization adds to the standard deviation.
_MVN_EPSILON = float(np.float32(1e-9))


def moments(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Return mean and population variance of a wide tensor over some axes, which stay with size 1.

    Those of nothing are NaN.
    """
    count = np.asarray(np.prod([x.shape[a] for a in axes], dtype=np.int64), x.dtype)
    mean = x.sum(axis=axes, keepdims=True) / count
    return mean, np.square(x - mean).sum(axis=axes, keepdims=True) / count


def per_channel(x: Array, rank: int, wide: Dtype) -> Array:
    """Return a list of C values in a wide type and a shape that fits (N, C, D1, ...)."""
    return x.astype(wide).reshape(x.shape + (1,) * (rank - 2))


def _channels(x: Array, least: int = 2) -> int:
    """Return C of a tensor of shape (N, C, D1, ...)."""
    if x.ndim < least:
        raise ValueError(f"the input has shape {x.shape}: it must be (N, C, D1, ...)")
    return int(x.shape[1])


@kernel("InstanceNormalization", since_version=(6, 22))
def instance_normalization_6(x: Array, scale: Array, b: Array, /, *, epsilon: float) -> Array:
    """Normalize each channel of each instance, then scale it and add a bias.

    Args: x, of shape (N, C, D1, ...); scale and b, of shape (C).
    Returns: shape and dtype of x.
    Raises: ``ValueError`` for other shapes.
    Source: InstanceNormalization-22, "computed per instance per channel".
    """
    c = _channels(x)
    check_shape(scale, (c,), "scale")
    check_shape(b, (c,), "B")
    wide = widest(x)
    mean, variance = moments(x.astype(wide), tuple(range(2, x.ndim)))
    normalized = (x.astype(wide) - mean) / np.sqrt(variance + epsilon)
    y = per_channel(scale, x.ndim, wide) * normalized + per_channel(b, x.ndim, wide)
    return settle(y, x.dtype)


@kernel("InstanceNormalization", since_version=1)
def instance_normalization_1(
    x: Array,
    scale: Array,
    b: Array,
    /,
    *,
    epsilon: float,
    consumed_inputs: list[int] | None,  # noqa: ARG001 - has no meaning
) -> Array:
    """Normalize as version 6 does, images only.

    Source: InstanceNormalization-1, "The input 4-dimensional tensor of shape NCHW".
    """
    if x.ndim != 4:
        raise ValueError(f"the input has shape {x.shape}: version 1 takes (N, C, H, W)")
    return instance_normalization_6(x, scale, b, epsilon=epsilon)


def _groups(x: Array, num_groups: int) -> tuple[int, ...]:
    """Return the shape (N, groups, elements of a group)."""
    c = _channels(x)
    if num_groups < 1 or c % num_groups:
        raise ValueError(
            f"num_groups is {num_groups}: it must be a positive divisor of the {c} channels"
        )
    size = int(np.prod(x.shape[1:], dtype=np.int64)) // num_groups
    return (x.shape[0], num_groups, size)


@kernel("GroupNormalization", since_version=18)
def group_normalization_18(
    x: Array, scale: Array, bias: Array, /, *, num_groups: int, epsilon: float
) -> Array:
    """Normalize groups of channels; ``scale`` and ``bias`` have one value for each group.

    Args: x, of shape (N, C, D1, ...); scale and bias, of shape (num_groups).
    Returns: shape and dtype of x.
    Raises: ``ValueError`` for other shapes, and groups of unlike sizes.
    The version has no ``stash_type``: everything is rounded once.
    Source: GroupNormalization-18, "specified for each group of channels".
    """
    shape = _groups(x, num_groups)
    check_shape(scale, (num_groups,), "scale")
    check_shape(bias, (num_groups,), "bias")
    wide = widest(x)
    rows = x.astype(wide).reshape(shape)
    mean, variance = moments(rows, (2,))
    normalized = (rows - mean) / np.sqrt(variance + epsilon)
    y = per_channel(scale, 3, wide) * normalized + per_channel(bias, 3, wide)
    return settle(y, x.dtype).reshape(x.shape)


@kernel("GroupNormalization", since_version=21)
def group_normalization_21(
    x: Array,
    scale: Array,
    bias: Array,
    /,
    *,
    num_groups: int,
    epsilon: float,
    stash_type: int,
) -> Array:
    """Normalize groups of channels; ``scale`` and ``bias`` have one value for each channel.

    Args: x, of shape (N, C, D1, ...); scale and bias, of shape (C).
    Returns: shape and dtype of x.
    Raises: ``ValueError`` for other shapes, groups of unlike sizes, a ``stash_type`` of no float.
    Source: GroupNormalization-21, "`scale` and `bias` should be specified for each channel".
    """
    shape = _groups(x, num_groups)
    check_shape(scale, (x.shape[1],), "scale")
    check_shape(bias, (x.shape[1],), "bias")
    stash = precision(stash_type, "stash_type")
    stashed = settle(x.astype(widest(x)), stash)
    rows = stashed.astype(widest(stashed)).reshape(shape)
    mean, variance = moments(rows, (2,))
    normalized = settle((rows - mean) / np.sqrt(variance + epsilon), stash)
    normalized = settle(normalized.astype(widest(normalized)), x.dtype).reshape(x.shape)
    wide = widest(x)
    y = per_channel(scale, x.ndim, wide) * normalized.astype(wide)
    y = y + per_channel(bias, x.ndim, wide)
    return settle(y, x.dtype)


def _normalized_axes(axis: int, rank: int) -> tuple[int, ...]:
    """Return the axes from ``axis`` to the last."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis is {axis}: at rank {rank} it must lie in [{-rank}, {rank - 1}]")
    return tuple(range(axis % rank, rank))


def _unidirectional(x: Array, target: Array, name: str, wide: Dtype) -> Array:
    """Return a tensor, in a wide type, that broadcasts to ``target`` without changing its shape."""
    fits = x.ndim <= target.ndim and all(
        d in (1, t) for d, t in zip(x.shape[::-1], target.shape[::-1], strict=False)
    )
    if not fits:
        raise ValueError(f"{name} has shape {x.shape}: it must broadcast to {target.shape}")
    return x.astype(wide)


@kernel("LayerNormalization", since_version=17)
def layer_normalization(
    x: Array,
    scale: Array,
    b: Array | None = None,
    /,
    *,
    axis: int,
    epsilon: float,
    stash_type: int,
) -> tuple[Array, Array, Array]:
    """Normalize over the axes from ``axis`` to the last, then scale and add a bias.

    Args: x, a float tensor; scale and b, of shapes that broadcast to that of x.
    Returns: Y, shape and dtype of x; Mean and InvStdDev, with size 1 along the normalized axes,
    in the type that ``stash_type`` names.
    Raises: ``ValueError`` for shapes that do not fit, an axis out of range, and a ``stash_type``
    that the type of Mean and InvStdDev does not allow.
    Source: LayerNormalization-17, "Type of Mean and InvStdDev".
    """
    stash = precision(stash_type, "stash_type")
    if stash_type not in (1, 16):
        raise ValueError(
            f"stash_type is {stash_type}: Mean and InvStdDev can be 1 (float) or 16 (bfloat16)"
        )
    axes = _normalized_axes(axis, x.ndim)
    stashed = settle(x.astype(widest(x)), stash).astype(np.float64)
    mean, variance = moments(stashed, axes)
    deviation = np.sqrt(variance + epsilon)
    normalized = settle(settle((stashed - mean) / deviation, stash).astype(np.float64), x.dtype)
    wide = widest(x)
    y = normalized.astype(wide) * _unidirectional(scale, x, "Scale", wide)
    if b is not None:
        y = y + _unidirectional(b, x, "B", wide)
    return settle(y, x.dtype), settle(mean, stash), settle(1 / deviation, stash)


@kernel("RMSNormalization", since_version=23)
def rms_normalization(
    x: Array, scale: Array, /, *, axis: int, epsilon: float, stash_type: int
) -> Array:
    """Divide by the root of the mean square over the axes from ``axis`` to the last; then scale.

    Args: x, a float tensor; scale, of a shape that broadcasts to that of x.
    Returns: the shape of x, and the dtype of scale.
    Raises: ``ValueError`` for shapes that do not fit, an axis out of range, a ``stash_type`` of no
    float.
    Source: RMSNormalization-23, "cast `Normalized` back to the original type of `X`".
    """
    stash = precision(stash_type, "stash_type")
    axes = _normalized_axes(axis, x.ndim)
    stashed = settle(x.astype(widest(x)), stash)
    stashed = stashed.astype(widest(stashed))
    count = np.asarray(np.prod([x.shape[a] for a in axes], dtype=np.int64), stashed.dtype)
    square = np.square(stashed).sum(axis=axes, keepdims=True) / count
    normalized = settle(stashed / np.sqrt(square + epsilon), stash)
    normalized = settle(normalized.astype(widest(normalized)), x.dtype)
    wide = widest(x, scale)
    return settle(normalized.astype(wide) * _unidirectional(scale, x, "scale", wide), scale.dtype)


def _standardize(x: Array, axes: Sequence[int], lowest: int) -> Array:
    """Subtract the mean over some axes and divide by the standard deviation plus 1e-9."""
    rank = x.ndim
    for axis in axes:
        if not lowest <= axis < rank:
            raise ValueError(
                f"axes holds {axis}: at rank {rank} it must lie in [{lowest}, {rank - 1}]"
            )
    reduced = tuple(axis % rank for axis in axes)
    if len(set(reduced)) < len(reduced):
        raise ValueError(f"the axes {list(axes)} of a tensor of rank {rank} name one axis twice")
    wide = x.astype(widest(x))
    mean, variance = moments(wide, reduced or tuple(range(rank)))
    return settle((wide - mean) / (np.sqrt(variance) + _MVN_EPSILON), x.dtype)


@kernel("MeanVarianceNormalization", since_version=13)
def mean_variance_normalization_13(x: Array, /, *, axes: list[int]) -> Array:
    """Normalize over ``axes``; an empty list means all of them.

    Args: x, a float tensor. Returns: the same shape and dtype.
    Raises: ``ValueError`` for an axis that is out of range or named twice.
    The text divides by the standard deviation.
    The function body adds 1e-9 to it, so that equal elements give 0, not NaN; so does this kernel.
    The body's ReduceMean takes negative axes, of which the text says nothing.
    Source: MeanVarianceNormalization-13, "(X-EX)/sqrt(E(X-EX)^2)".
    """
    return _standardize(x, axes, -x.ndim)


@kernel("MeanVarianceNormalization", since_version=9)
def mean_variance_normalization_9(x: Array, /, *, axes: list[int]) -> Array:
    """Normalize as version 13 does, with axes that count from the front only.

    Source: MeanVarianceNormalization-9, whose function body has a ReduceMean without negative axes.
    """
    return _standardize(x, axes, 0)
