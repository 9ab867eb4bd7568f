"""Normalization over channels or along an axis: LRN and LpNormalization."""

from __future__ import annotations

import numpy as np

from .nn_norm import lp_norm, rounded, widest
from .registry import kernel
from .rounding import Array


@kernel("LRN", since_version=(1, 13))
def lrn(x: Array, /, *, alpha: float, beta: float, bias: float, size: int) -> Array:
    """Divide by a power of the sum of squares over neighbouring channels of the same sample.

    An even ``size`` takes one channel more behind than before.

    Args: x, (N, C, D1, ..., Dn).
    Returns: the same shape.
    Raises: ``ValueError`` for a rank below 2 or a ``size`` below 1.
    Source: LRN-13, "c - floor((size - 1) / 2)) <= i <= min(C - 1, c + ceil((size - 1) / 2))".
    """
    if x.ndim < 2:
        raise ValueError(f"X has shape {x.shape}: it must be (N, C, D1, ..., Dn)")
    if size < 1:
        raise ValueError(f"size is {size}: it must be 1 or more")
    before = (size - 1) // 2
    behind = size - 1 - before
    v = widest(x)
    squares = np.square(v)
    sums = np.empty_like(v)
    for c in range(x.shape[1]):
        sums[:, c] = squares[:, max(0, c - before) : c + behind + 1].sum(axis=1)
    real = v.dtype.type
    return rounded(v / (real(bias) + real(alpha) / size * sums) ** real(beta), x.dtype)


@kernel("LpNormalization", since_version=(1, 22))
def lp_normalization(x: Array, /, *, axis: int, p: int) -> Array:
    """Divide by the Lp norm along ``axis``; where the norm is 0 the result is 0.

    Args: x, of rank 1 or more; p, 1 or 2.
    Returns: the same shape.
    Raises: ``ValueError`` for another p, and for an axis out of range.
    Source: LpNormalization-22, "When the Lp norm is zero [...] the output is defined to be zero".
    """
    if p not in (1, 2):
        raise ValueError(f"p is {p}: only 1 and 2 are supported")
    if not -x.ndim <= axis < x.ndim:
        raise ValueError(f"axis {axis} is out of range for a tensor of rank {x.ndim}")
    v = widest(x)
    norm = np.expand_dims(lp_norm(np.moveaxis(v, axis, 0), p), axis)
    return rounded(np.where(norm == 0, 0, v / norm), x.dtype)
