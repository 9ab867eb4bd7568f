"""Kernels about the shape of a tensor: those that change it and those that return it."""

from __future__ import annotations

import numpy as np

from .registry import kernel
from .rounding import Array
from .tensor import axis_of, integers


def _reshape(x: Array, dims: list[int], *, zero_copies: bool) -> Array:
    """Reshape; ``zero_copies`` tells whether a 0 stands for the size that ``x`` has there."""
    wanted = dims
    if min(dims, default=1) <= 0:
        if min(dims) < -1 or dims.count(-1) > 1:
            raise ValueError(
                f"the shape {wanted} was given; sizes >= 0 and at most one -1 were wanted"
            )
        if zero_copies:
            if any(d == 0 for d in dims[x.ndim :]):
                raise ValueError(
                    f"the shape {wanted} has a 0 where the input of shape {x.shape} has no axis"
                )
            dims = [x.shape[i] if d == 0 else d for i, d in enumerate(dims)]
        elif 0 in dims and -1 in dims:
            raise ValueError(
                f"the shape {wanted} has both 0 and -1; with allowzero one of them was wanted"
            )
    try:
        return x.reshape(dims)
    except ValueError as error:
        raise ValueError(
            f"the input of shape {x.shape} has {x.size} elements; "
            f"the shape {wanted} does not determine one of as many"
        ) from error


@kernel("Reshape", since_version=1)
def reshape_1(
    x: Array,
    /,
    *,
    consumed_inputs: list[int] | None,  # noqa: ARG001
    shape: list[int] | None,
) -> Array:
    """Give ``x`` the shape of the attribute: 0 keeps a size, one -1 is inferred.

    Returns: the elements of ``x`` in their order.
    An omitted shape, about which the text is silent, is an error.
    Source: Reshape-1.
    """
    if shape is None:
        raise ValueError("the attribute shape is omitted; it was wanted")
    return _reshape(x, shape, zero_copies=True)


@kernel("Reshape", since_version=(5, 13))
def reshape_5(x: Array, shape: Array, /) -> Array:
    """Give ``x`` the shape of the 1-D tensor ``shape``: 0 keeps a size, one -1 is inferred.

    Returns: the elements of ``x`` in their order.
    Source: Reshape-5.
    """
    return _reshape(x, integers("shape", shape), zero_copies=True)


@kernel("Reshape", since_version=(14, 19, 21, 23, 24, 25))
def reshape_14(x: Array, shape: Array, /, *, allowzero: int) -> Array:
    """Give ``x`` the shape of the 1-D tensor ``shape``, in which one -1 is inferred.

    A 0 keeps the size that ``x`` has there, or with ``allowzero`` is a size of zero.
    Returns: the elements of ``x`` in their order.
    Source: Reshape-14.
    """
    return _reshape(x, integers("shape", shape), zero_copies=not allowzero)


@kernel("Transpose", since_version=(1, 13, 21, 23, 24, 25))
def transpose(x: Array, /, *, perm: list[int] | None) -> Array:
    """Permute the axes: axis i of the output is axis ``perm[i]`` of ``x``.

    Returns: a view; without ``perm`` the axes are reversed.
    Source: Transpose-1, "`perm` must contain each axis index in `[0, n-1]` exactly once".
    """
    if perm is None:
        return x.T
    if sorted(perm) != list(range(x.ndim)):
        raise ValueError(f"perm is {perm}; each of the {x.ndim} axes from 0 on was wanted once")
    return x.transpose(perm)


def _squeeze(x: Array, axes: list[int], *, negative: bool) -> Array:
    """Remove axes of size 1."""
    removed = tuple(axis_of(axis, x.ndim, negative=negative) for axis in axes)
    for axis in removed:
        if x.shape[axis] != 1:
            raise ValueError(
                f"axis {axis} of shape {x.shape} cannot be removed; 1 was wanted there"
            )
    if len(set(removed)) != len(removed):
        raise ValueError(f"the axes {axes} name one axis twice")
    return x.squeeze(removed)


@kernel("Squeeze", since_version=1)
def squeeze_1(x: Array, /, *, axes: list[int] | None) -> Array:
    """Remove the named axes, which must have size 1, or else all that have.

    Source: Squeeze-1, "List of non-negative integers".
    """
    return x.squeeze() if axes is None else _squeeze(x, axes, negative=False)


@kernel("Squeeze", since_version=11)
def squeeze_11(x: Array, /, *, axes: list[int] | None) -> Array:
    """Remove the named axes, which must have size 1, or else all that have.

    Source: Squeeze-11, "Accepted range is [-r, r-1]".
    """
    return x.squeeze() if axes is None else _squeeze(x, axes, negative=True)


@kernel("Squeeze", since_version=(13, 21))
def squeeze_13(x: Array, axes: Array | None = None, /) -> Array:
    """Remove the named axes, which must have size 1, or else all that have.

    Args: axes, a tensor of any rank; an empty one removes nothing.
    Source: Squeeze-13; that ``axes`` be 1-D is said from 23 on.
    """
    return x.squeeze() if axes is None else _squeeze(x, axes.reshape(-1).tolist(), negative=True)


@kernel("Squeeze", since_version=(23, 24, 25))
def squeeze_23(x: Array, axes: Array | None = None, /) -> Array:
    """Remove the named axes, which must have size 1, or else all that have.

    Args: axes, a 1-D tensor; an empty one removes nothing.
    Source: Squeeze-23, "1D tensor of integers".
    """
    return x.squeeze() if axes is None else _squeeze(x, integers("axes", axes), negative=True)


def _unsqueeze(x: Array, axes: list[int], *, negative: bool) -> Array:
    """Insert axes of size 1, named as the output has them."""
    rank = x.ndim + len(axes)
    inserted = {axis_of(axis, rank, negative=negative) for axis in axes}
    if len(inserted) != len(axes):
        raise ValueError(f"the axes {axes} name one axis of the output twice")
    sizes = iter(x.shape)
    return x.reshape([1 if i in inserted else next(sizes) for i in range(rank)])


@kernel("Unsqueeze", since_version=1)
def unsqueeze_1(x: Array, /, *, axes: list[int]) -> Array:
    """Insert axes of size 1 so that they are ``axes`` of the output.

    Source: Unsqueeze-1, "List of non-negative integers".
    """
    return _unsqueeze(x, axes, negative=False)


@kernel("Unsqueeze", since_version=11)
def unsqueeze_11(x: Array, /, *, axes: list[int]) -> Array:
    """Insert axes of size 1 so that they are ``axes`` of the output.

    Source: Unsqueeze-11, "Accepted range is [-r, r-1] where r = rank(expanded)".
    """
    return _unsqueeze(x, axes, negative=True)


@kernel("Unsqueeze", since_version=(13, 21))
def unsqueeze_13(x: Array, axes: Array, /) -> Array:
    """Insert axes of size 1 so that they are ``axes``, a tensor of any rank, of the output.

    Source: Unsqueeze-13; that ``axes`` be 1-D is said from 23 on.
    """
    return _unsqueeze(x, axes.reshape(-1).tolist(), negative=True)


@kernel("Unsqueeze", since_version=(23, 24, 25))
def unsqueeze_23(x: Array, axes: Array, /) -> Array:
    """Insert axes of size 1 so that they are ``axes``, a 1-D tensor, of the output.

    Source: Unsqueeze-23, "1D tensor of integers".
    """
    return _unsqueeze(x, integers("axes", axes), negative=True)


@kernel("Shape", since_version=(1, 13))
def shape_1(x: Array, /) -> Array:
    """Return the shape as a 1-D int64 tensor. Source: Shape-1."""
    return np.array(x.shape, np.int64)


@kernel("Shape", since_version=(15, 19, 21, 23, 24, 25))
def shape_15(x: Array, /, *, end: int | None, start: int) -> Array:
    """Return the sizes of the axes from ``start`` to before ``end`` as a 1-D int64 tensor.

    Negative ones count from the back; both are clamped to [0, r].
    Source: Shape-15.
    """
    return np.array(x.shape[start:end], np.int64)


@kernel("Size", since_version=(1, 13, 19, 21, 23, 24, 25))
def size(x: Array, /) -> Array:
    """Return the number of elements as a 0-d int64 tensor. Source: Size-1."""
    return np.array(x.size, np.int64)
