"""Sums of several tensors, and along an axis: Sum, Mean, CumSum and CumProd.

Floats are summed in float64 together with the rounding errors, and rounded once.
Integers wrap around.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .math import FLOAT64
from .registry import kernel
from .rounding import Array, narrow, wide
from .summation import exact_sum, round_sum, two_sum

#: Scales a sum down that overflows on its way.
_SCALE = 64


def _add(rows: Array, dtype: np.dtype[Any]) -> Array:
    """Sum float64 rows and round to ``dtype``."""
    return round_sum(*exact_sum(rows), dtype)


def _average(rows: Array, dtype: np.dtype[Any]) -> Array:
    """Divide the sum of float64 rows by their number, and round to ``dtype``."""
    count = np.longdouble(len(rows))
    high, low = exact_sum(rows)
    quotient = np.divide(high, len(rows))
    rest = (high - quotient * count + low) / count
    rest = np.where(np.isfinite(rest), rest, 0.0).astype(np.float64)
    return round_sum(*_two_sum_or_first(quotient, rest), dtype)


def _two_sum_or_first(a: Array, b: Array) -> tuple[Array, Array]:
    """Add float64 values and keep what rounding took; beside an infinity nothing is kept."""
    s, lost = two_sum(a, b)
    finite = np.isfinite(s)
    return np.where(finite, s, a), np.where(finite, lost, 0.0)


def _register(operator: str, function: Callable[[Array, np.dtype[Any]], Array]) -> None:
    """Register a function of one or more tensors, which broadcast from version 8 on."""

    def run(*tensors: Array) -> Array:
        dtype = tensors[0].dtype
        rows = np.stack(np.broadcast_arrays(*(wide(t) for t in tensors)))
        result = function(rows, dtype)
        if dtype != FLOAT64 or np.isfinite(result).all():
            return result
        overflow = ~np.isfinite(result) & np.isfinite(rows).all(axis=0)
        again = np.ldexp(function(np.ldexp(rows, -_SCALE), dtype), _SCALE)
        return np.where(overflow, again, result)

    def run_6(*tensors: Array) -> Array:
        shapes = [t.shape for t in tensors]
        if len(set(shapes)) > 1:
            raise ValueError(f"the inputs have the shapes {shapes}: they must be the same")
        return run(*tensors)

    def run_1(*tensors: Array, consumed_inputs: Any) -> Array:  # noqa: ARG001 - has no meaning
        return run_6(*tensors)

    kernel(operator, since_version=(8, 13))(run)
    kernel(operator, since_version=6)(run_6)
    kernel(operator, since_version=1)(run_1)


for _operator, _function in (("Sum", _add), ("Mean", _average)):
    _register(_operator, _function)


# Along an axis.


def _running_sums(rows: Array) -> Array:
    """Return the sums of the first 1, 2, 3, ... rows; the first is copied as it is.

    In float64 a sum that overflows stays infinite.
    """
    if rows.dtype.kind in "iu":
        return rows.cumsum(axis=0, dtype=rows.dtype)
    x = wide(rows)
    sums, errors = np.empty_like(x), np.empty_like(x)
    # Adding to -0 leaves the sign of a zero alone.
    total, error = np.full(x.shape[1:], -0.0), np.zeros(x.shape[1:])
    for i, row in enumerate(x):
        total, lost = two_sum(total, row)
        error = error + lost
        sums[i], errors[i] = total, error
    errors[~np.isfinite(errors)] = 0.0
    exact = ~errors.any()
    return round_sum(*((sums, errors) if exact else _two_sum_or_first(sums, errors)), rows.dtype)


def _running_products(rows: Array) -> Array:
    """Return the products of the first 1, 2, 3, ... rows.

    Floats are multiplied in ``numpy.longdouble``, for its range and its precision.
    """
    if rows.dtype.kind in "iu":
        return rows.cumprod(axis=0, dtype=rows.dtype)
    products = rows.astype(np.longdouble).cumprod(axis=0).astype(np.float64)
    return narrow(products, rows.dtype)


def _along_axis(
    function: Callable[[Array], Array],
    neutral: int,
    x: Array,
    axis: Array,
    exclusive: int,
    reverse: int,
) -> Array:
    """Apply a running function along an axis.

    Raises: ``ValueError`` for an axis that is no scalar or out of range.
    Source: CumSum-14, "A 0-D tensor. Must be in the range [-rank(x), rank(x)-1]".
    """
    if axis.ndim:
        raise ValueError(f"axis has shape {axis.shape}: it must be a scalar")
    place = int(axis)
    if not -x.ndim <= place < x.ndim:
        raise ValueError(f"axis {place} is out of range for a tensor of rank {x.ndim}")
    rows = np.moveaxis(x, place, 0)
    if reverse:
        rows = rows[::-1]
    result = function(rows)
    if exclusive:
        first = np.full_like(result[:1], neutral)
        result = np.concatenate((first, result[:-1]))
    return np.moveaxis(result[::-1] if reverse else result, 0, place)


@kernel("CumSum", since_version=(11, 14))
def cumsum(x: Array, axis: Array, /, *, exclusive: int, reverse: int) -> Array:
    """Return the running sums along ``axis``.

    Args: x, of rank 1 or more; axis, a scalar, negative from the back;
        exclusive, whether the element itself is left out; reverse, whether to sum from the end.
    Returns: the shape and type of x.
    Source: CumSum-14.
    """
    return _along_axis(_running_sums, 0, x, axis, exclusive, reverse)


@kernel("CumProd", since_version=26)
def cumprod(x: Array, axis: Array, /, *, exclusive: int, reverse: int) -> Array:
    """Return the running products along ``axis``, as ``cumsum`` returns sums.

    Source: CumProd-26.
    """
    return _along_axis(_running_products, 1, x, axis, exclusive, reverse)
