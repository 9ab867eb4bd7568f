"""BatchNormalization, in test mode and in training mode.

What decides on the mode differs: ``is_test`` in versions 1 and 6, the number of outputs in versions
7 and 9, ``training_mode`` from version 14 on.
Everything is computed in float64, or where a float64 takes part in ``numpy.longdouble``, and each
output is rounded once.
The variance is that of the population; version 14 says so, and earlier ones are silent.
"""

from __future__ import annotations

import math

import numpy as np

from .nn_normalization import moments
from .nn_wide import check_shape, settle, widest
from .registry import kernel
from .rounding import Array

#: Scale, bias, mean and variance.
_Parameters = tuple[Array, Array, Array, Array]

_NAMES = ("scale", "B", "mean", "var")


def _check(parameters: _Parameters, shape: tuple[int, ...]) -> None:
    for name, parameter in zip(_NAMES, parameters, strict=True):
        check_shape(parameter, shape, name)


def _test(x: Array, parameters: _Parameters, epsilon: float) -> Array:
    """Normalize with the mean and variance that are given.

    Each parameter has the shape of x from axis 1 on, or is a list for axis 1.
    """
    wide = widest(x, *parameters)
    scale, b, mean, variance = (_aligned(p.astype(wide), x.ndim) for p in parameters)
    return settle((x.astype(wide) - mean) / np.sqrt(variance + epsilon) * scale + b, x.dtype)


def _aligned(parameter: Array, rank: int) -> Array:
    """Give a parameter the axes it lacks at its end."""
    return parameter.reshape(parameter.shape + (1,) * (rank - 1 - parameter.ndim))


def _train(
    x: Array, parameters: _Parameters, epsilon: float, momentum: float
) -> tuple[Array, Array, Array, Array, Array]:
    """Normalize with the statistics of the batch.

    Returns: Y, the running mean and variance, the batch's mean and variance.
    """
    wide = widest(x, *parameters)
    scale, b, mean, variance = (p.astype(wide) for p in parameters)
    axes = (0, *range(mean.ndim + 1, x.ndim))
    batch_mean, batch_variance = moments(x.astype(wide), axes)
    y = (x.astype(wide) - batch_mean) / np.sqrt(batch_variance + epsilon)
    y = y * _aligned(scale, x.ndim) + _aligned(b, x.ndim)
    batch_mean = batch_mean.reshape(mean.shape)
    batch_variance = batch_variance.reshape(mean.shape)
    running_mean = mean * momentum + batch_mean * (1 - momentum)
    running_variance = variance * momentum + batch_variance * (1 - momentum)
    dtype = parameters[2].dtype
    return (
        settle(y, x.dtype),
        settle(running_mean, dtype),
        settle(running_variance, parameters[3].dtype),
        settle(batch_mean, dtype),
        settle(batch_variance, parameters[3].dtype),
    )


def _rank(x: Array, least: int) -> None:
    if x.ndim < least:
        raise ValueError(f"X has shape {x.shape}: it must be (N, C, D1, ...)")


@kernel("BatchNormalization", since_version=6)
def batch_normalization_6(
    x: Array,
    scale: Array,
    b: Array,
    mean: Array,
    var: Array,
    /,
    *,
    epsilon: float,
    is_test: int,
    momentum: float,
    spatial: int,
    n_outputs: int,
) -> tuple[Array, ...]:
    """Normalize each channel; with ``is_test`` 0 by the statistics of the batch.

    Args: x, of shape (N, C, D1, ...); the others, of shape (C).
    Returns: Y; in training mode also the running mean and variance, and those of the batch.
    Raises: ``ValueError`` for other shapes, for more than one output in test mode, and for training
    with ``spatial`` 0: statistics of each feature do not fit into the C values of the outputs.
    In test mode ``spatial`` has nothing to decide.
    Source: BatchNormalization-6, "Should not be used for testing".
    """
    _rank(x, 2)
    parameters = (scale, b, mean, var)
    _check(parameters, (x.shape[1],))
    if is_test:
        if n_outputs > 1:
            raise ValueError(f"the node has {n_outputs} outputs: in test mode there is only Y")
        return (_test(x, parameters, epsilon),)
    if not spatial and math.prod(x.shape[2:]) != 1:
        raise ValueError(
            f"spatial is 0 and X has shape {x.shape}: the statistics of each feature "
            f"would be of shape {x.shape[1:]}, and the outputs take {x.shape[1]} values"
        )
    return _train(x, parameters, epsilon, momentum)


@kernel("BatchNormalization", since_version=1)
def batch_normalization_1(
    x: Array,
    scale: Array,
    b: Array,
    mean: Array,
    var: Array,
    /,
    *,
    consumed_inputs: list[int],  # noqa: ARG001 - has no meaning
    epsilon: float,
    is_test: int,
    momentum: float,
    spatial: int,
    n_outputs: int,
) -> tuple[Array, ...]:
    """Normalize as version 6 does, images only.

    Source: BatchNormalization-1, "The input 4-dimensional tensor of shape NCHW".
    """
    if x.ndim != 4:
        raise ValueError(f"X has shape {x.shape}: version 1 takes (N, C, H, W)")
    return batch_normalization_6(
        x,
        scale,
        b,
        mean,
        var,
        epsilon=epsilon,
        is_test=is_test,
        momentum=momentum,
        spatial=spatial,
        n_outputs=n_outputs,
    )


@kernel("BatchNormalization", since_version=7)
def batch_normalization_7(
    x: Array,
    scale: Array,
    b: Array,
    mean: Array,
    var: Array,
    /,
    *,
    epsilon: float,
    momentum: float,
    spatial: int,
    n_outputs: int,
) -> tuple[Array, ...]:
    """Normalize each channel, or with ``spatial`` 0 each feature.

    More than one output means training mode.

    Args: x, of shape (N, C, D1, ...); the others, of shape (C), or (C, D1, ...) with ``spatial`` 0.
    Returns: Y; in training mode also the running mean and variance, and those of the batch.
    Raises: ``ValueError`` for other shapes.
    Source: BatchNormalization-7, "If spatial is false, the dimensions of scale are (C x D1 x ...".
    """
    _rank(x, 2)
    parameters = (scale, b, mean, var)
    _check(parameters, x.shape[1:2] if spatial else x.shape[1:])
    if n_outputs > 1:
        return _train(x, parameters, epsilon, momentum)
    return (_test(x, parameters, epsilon),)


@kernel("BatchNormalization", since_version=9)
def batch_normalization_9(
    x: Array,
    scale: Array,
    b: Array,
    mean: Array,
    var: Array,
    /,
    *,
    epsilon: float,
    momentum: float,
    n_outputs: int,
) -> tuple[Array, ...]:
    """Normalize each channel; more than one output means training mode.

    Args: x, of shape (N, C, D1, ...), or (N), which has one channel; the others, of shape (C).
    Returns: Y; in training mode also the running mean and variance, and those of the batch.
    Raises: ``ValueError`` for other shapes.
    Source: BatchNormalization-9, "single dimension input of size N in which case C is assumed to
    be 1".
    """
    _rank(x, 1)
    if x.ndim == 1:
        y, *rest = batch_normalization_9(
            x[:, None],
            scale,
            b,
            mean,
            var,
            epsilon=epsilon,
            momentum=momentum,
            n_outputs=n_outputs,
        )
        return (y[:, 0], *rest)
    parameters = (scale, b, mean, var)
    _check(parameters, (x.shape[1],))
    if n_outputs > 1:
        return _train(x, parameters, epsilon, momentum)
    return (_test(x, parameters, epsilon),)


@kernel("BatchNormalization", since_version=(14, 15))
def batch_normalization_14(
    x: Array,
    scale: Array,
    b: Array,
    mean: Array,
    var: Array,
    /,
    *,
    epsilon: float,
    momentum: float,
    training_mode: int,
    n_outputs: int,
) -> tuple[Array, ...]:
    """Normalize each channel; with ``training_mode`` by the statistics of the batch.

    Args: x, of shape (N, C, D1, ...), or (N), which has one channel; the others, of shape (C).
    Returns: Y, dtype of x; in training mode also the running mean and variance, in their dtype.
    Raises: ``ValueError`` for other shapes, and for more than one output without training mode.
    Source: BatchNormalization-14, "When training_mode=False, extra outputs are invalid".
    """
    if not training_mode and n_outputs > 1:
        raise ValueError(f"the node has {n_outputs} outputs: without training_mode there is only Y")
    results = batch_normalization_9(
        x,
        scale,
        b,
        mean,
        var,
        epsilon=epsilon,
        momentum=momentum,
        n_outputs=5 if training_mode else 1,
    )
    return results[:3]
