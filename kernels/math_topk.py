"""TopK: the largest or smallest elements along an axis, and where they are."""

from __future__ import annotations

import numpy as np

from .registry import kernel
from .rounding import SMALL_FLOATS, Array
from .tensor import axis_of

Result = tuple[Array, Array]


def _top(x: Array, k: int, axis: int, *, largest: bool) -> Result:
    """Return the values and, as int64, the indices of the first ``k`` elements in order.

    Of equal elements the one with the lower index comes first; +0 and -0 are equal.
    NaN counts as larger than all numbers; the text is silent.
    Raises: ``ValueError`` where ``k`` is larger than the axis or less than 0.
    """
    axis = axis_of(axis, x.ndim)
    length = x.shape[axis]
    if not 0 <= k <= length:
        raise ValueError(f"k is {k}: axis {axis} of the shape {x.shape} has 0 to {length} elements")
    keys = np.moveaxis(x.astype(np.float32) if x.dtype in SMALL_FLOATS else x, axis, -1)
    if largest:
        # A stable sort of the reversed axis, read from its end.
        order = length - 1 - np.argsort(keys[..., ::-1], axis=-1, kind="stable")[..., ::-1]
    else:
        order = np.argsort(keys, axis=-1, kind="stable")
    indices = np.moveaxis(order[..., :k], -1, axis).astype(np.int64)
    return np.take_along_axis(x, indices, axis), indices


def _count(k: Array) -> int:
    """Return the element of ``K``. Source: TopK-10, "a single positive value"."""
    if k.shape != (1,):
        raise ValueError(f"K has shape {k.shape}: a 1-D tensor with a single element was wanted")
    count = int(k[0])
    if count <= 0:
        raise ValueError(f"K is {count}: a positive value was wanted")
    return count


@kernel("TopK", since_version=1)
def topk_1(x: Array, /, *, axis: int, k: int) -> Result:
    """Return the ``k`` largest elements along ``axis``, the largest first, and their indices.

    Here the text does not say that ``k`` is positive, and 0 gives empty tensors.
    Source: TopK-1, "the element with the lower index will appear first".
    """
    return _top(x, k, axis, largest=True)


@kernel("TopK", since_version=10)
def topk_10(x: Array, k: Array, /, *, axis: int) -> Result:
    """Return the ``k`` largest elements along ``axis``, the largest first, and their indices.

    Source: TopK-10.
    """
    return _top(x, _count(k), axis, largest=True)


@kernel("TopK", since_version=(11, 24))
def topk_11(
    x: Array,
    k: Array,
    /,
    *,
    axis: int,
    largest: int,
    sorted: int,  # noqa: A002, ARG001 - without it the order is undefined, so sorted will do
) -> Result:
    """Return the ``k`` largest or smallest elements along ``axis`` in order, and their indices.

    Source: TopK-11, "order of returned 'Values' and 'Indices' are undefined" unless ``sorted``.
    """
    return _top(x, _count(k), axis, largest=bool(largest))
