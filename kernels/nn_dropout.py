"""Dropout, and Flatten.

Where elements are dropped, the mask comes from ``numpy.random.Generator(PCG64(seed))``: an element
stays where a uniform number in [0, 1) is not below the ratio.
Without a seed every call draws a fresh one.
No seed fixes what another implementation draws, and none has to draw the same.
"""

from __future__ import annotations

import math

import numpy as np

from .nn_wide import settle, widest
from .registry import kernel
from .rounding import Array


def _drop(data: Array, ratio: float, seed: int | None) -> tuple[Array, Array]:
    """Drop elements at random; return what is left, scaled, and the mask as bools.

    The product is taken as written: what is dropped is 0 times the element, NaN for NaN.
    Raises: ``ValueError`` for a ratio outside [0, 1).
    """
    if not 0 <= ratio < 1:
        raise ValueError(f"ratio is {ratio}: it must lie in [0, 1)")
    if ratio == 0:
        return data, np.ones(data.shape, bool)
    source = np.random.Generator(np.random.PCG64(None if seed is None else seed % 2**64))
    mask = source.random(data.shape) >= ratio
    scaled = data.astype(widest(data)) * mask / (1 - ratio)
    return settle(scaled, data.dtype), mask


@kernel("Dropout", since_version=6)
def dropout_6(data: Array, /, *, is_test: int, ratio: float) -> tuple[Array, Array]:
    """Drop elements at random, unless ``is_test`` is set.

    Args: data, a float tensor of any shape.
    Returns: the output and the mask, both of the shape and dtype of data.
    In test mode the text leaves the mask unfilled; here it is all ones.
    Raises: ``ValueError`` for a ratio outside [0, 1) where elements are dropped.
    Source: Dropout-6, "If is_test is nonzero, this output is not filled".
    """
    if is_test:
        return data, np.ones(data.shape, data.dtype)
    output, mask = _drop(data, ratio, None)
    return output, mask.astype(data.dtype)


@kernel("Dropout", since_version=1)
def dropout_1(
    data: Array,
    /,
    *,
    consumed_inputs: list[int] | None,  # noqa: ARG001 - has no meaning
    is_test: int,
    ratio: float,
) -> tuple[Array, Array]:
    """Drop as version 6 does. Source: Dropout-1."""
    return dropout_6(data, is_test=is_test, ratio=ratio)


@kernel("Dropout", since_version=7)
def dropout_7(
    data: Array,
    /,
    *,
    ratio: float,  # noqa: ARG001 - is for training, which the version cannot ask for
) -> tuple[Array, Array]:
    """Return the input, and a mask of ones of its dtype.

    The text speaks of a test mode that nothing sets; the official tests take it for granted.
    Source: Dropout-7, "during testing nothing needs to be done".
    """
    return data, np.ones(data.shape, data.dtype)


@kernel("Dropout", since_version=10)
def dropout_10(
    data: Array,
    /,
    *,
    ratio: float,  # noqa: ARG001 - is for training, which the version cannot ask for
) -> tuple[Array, Array]:
    """Return the input, and a mask of true.

    Source: Dropout-10, "mask (`Tensor<bool>`)"; see ``dropout_7``.
    """
    return data, np.ones(data.shape, bool)


@kernel("Dropout", since_version=(12, 13, 22))
def dropout_12(
    data: Array,
    ratio: Array | None = None,
    training_mode: Array | None = None,
    /,
    *,
    seed: int | None,
) -> tuple[Array, Array]:
    """Drop elements at random where ``training_mode`` is true.

    Args: data, a float tensor; ratio, a scalar in [0, 1), omitted 0.5; training_mode, a bool
    scalar, omitted false.
    Returns: the output, shape and dtype of data, and the mask, bool.
    Raises: ``ValueError`` for a ratio outside [0, 1) in training mode, and for no scalars.
    Versions 12 and 13 also say that without a ratio the input is copied; 0.5 is what version 22
    kept, and what the official tests do.
    Source: Dropout-12, "output = scale * data * mask".
    """
    training = training_mode is not None and bool(_scalar(training_mode, "training_mode"))
    chosen = 0.5 if ratio is None else float(_scalar(ratio, "ratio"))
    if not training:
        return data, np.ones(data.shape, bool)
    return _drop(data, chosen, seed)


def _scalar(x: Array, name: str) -> Array:
    if x.size != 1:
        raise ValueError(f"{name} has shape {x.shape}: it must be a scalar")
    return x.reshape(())


@kernel("Flatten", since_version=(11, 13, 21, 23, 24, 25))
def flatten_11(x: Array, /, *, axis: int) -> Array:
    """Merge the dimensions before ``axis`` into one, and the others into a second.

    Args: x, of any type and shape.
    Returns: rank 2; a dimension made of none is 1.
    Raises: ``ValueError`` for an axis outside [-r, r].
    Source: Flatten-11, "The value for axis must be in the range [-r, r]".
    """
    return _flatten(x, axis, -x.ndim)


@kernel("Flatten", since_version=(1, 9))
def flatten_1(x: Array, /, *, axis: int) -> Array:
    """Flatten as version 11 does, with an axis that counts from the front.

    Source: Flatten-9, "The value for axis must be in the range [0, R]".
    """
    return _flatten(x, axis, 0)


def _flatten(x: Array, axis: int, lowest: int) -> Array:
    rank = x.ndim
    if not lowest <= axis <= rank:
        raise ValueError(f"axis is {axis}: at rank {rank} it must lie in [{lowest}, {rank}]")
    start = axis + rank if axis < 0 else axis
    return x.reshape(math.prod(x.shape[:start]), math.prod(x.shape[start:]))
