"""Reductions: ReduceSum and its family, ArgMax and ArgMin.

A reducer gets the tensor with the reduced axes merged into axis 0, and reduces that axis.
So the reduction over no axes is that over an axis of length 1, where a reducer's other steps, as
the square of ReduceSumSquare, still take place.

Floats are summed in float64 together with the rounding errors, and rounded once.
Integer sums and products are exact modulo the size of their type.
ReduceMean, ReduceL2, ReduceLogSum and ReduceLogSumExp of integers are the exact value rounded
towards zero, since the text says neither how they round nor that their sums wrap around.
Where the specification calls the value of an integer "undefined", as the logarithm of 0, the result
is the lowest value of the type, and 0 for the mean of nothing.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .math import truncated_quotient
from .registry import kernel
from .rounding import Array, narrow, wide
from .summation import exact_product, exact_sum, round_sum

Reducer = Callable[[Array], Array]


# The axes.


def _in_range(axis: int, rank: int, lowest: int) -> int:
    """Return ``axis`` counted from the front; raises ``ValueError`` below ``lowest`` or too far."""
    if lowest <= axis < rank:
        return axis % rank
    if rank == 0:
        accepted = "a tensor of rank 0 has no axes"
    else:
        accepted = f"a tensor of rank {rank} has the axes {lowest} to {rank - 1}"
    if lowest == 0 and axis < 0:
        accepted += "; negative ones are accepted from version 11 on"
    raise ValueError(f"axis {axis} is out of range: {accepted}")


def _reduce(reducer: Reducer, x: Array, axes: Sequence[int], keepdims: int, lowest: int) -> Array:
    """Reduce ``x`` over ``axes``, of which none is less than ``lowest``.

    Raises: ``ValueError`` for an axis that is out of range or named twice.
    """
    rank = x.ndim
    reduced = [_in_range(axis, rank, lowest) for axis in axes]
    if len(set(reduced)) < len(reduced):
        raise ValueError(f"the axes {list(axes)} of a tensor of rank {rank} name one axis twice")
    kept = [axis for axis in range(rank) if axis not in reduced]
    shape = [x.shape[axis] for axis in kept]
    count = math.prod(x.shape[axis] for axis in reduced)
    result = reducer(x.transpose(reduced + kept).reshape(count, *shape))
    if keepdims == 1:
        shape = [1 if axis in reduced else x.shape[axis] for axis in range(rank)]
    return result.reshape(shape)


def _axes_as_attribute(reducer: Reducer, *, negative: bool) -> Callable[..., Array]:
    """Make the kernel of a version that has the axes as an attribute."""

    def run(x: Array, /, *, axes: Sequence[int] | None, keepdims: int) -> Array:
        over = axes if axes else range(x.ndim)
        return _reduce(reducer, x, over, keepdims, -x.ndim if negative else 0)

    return run


def _axes_as_input(reducer: Reducer) -> Callable[..., Array]:
    """Make the kernel of a version that has the axes as an input."""

    def run(
        x: Array, axes: Array | None = None, /, *, keepdims: int, noop_with_empty_axes: int
    ) -> Array:
        if axes is not None and axes.ndim != 1:
            raise ValueError(f"axes has shape {axes.shape}: it must be a list, of rank 1")
        over: Sequence[int] = [] if axes is None else axes.tolist()
        if not over and not noop_with_empty_axes:
            over = range(x.ndim)
        return _reduce(reducer, x, over, keepdims, -x.ndim)

    return run


# Integers.


def _integer_sum(rows: Array) -> Array:
    """Sum integer rows without wrapping around; the sums are Python's integers."""
    if rows.dtype.itemsize < 8:
        rows = rows.astype(np.int64)
    high = np.asarray((rows >> 32).sum(axis=0)).astype(object)
    low = np.asarray((rows & 0xFFFFFFFF).sum(axis=0)).astype(object)
    return np.asarray(high * 2**32 + low, dtype=object)


def _to_integers(function: Callable[[Any], int | None], x: Array, dtype: np.dtype[Any]) -> Array:
    """Apply a function of Python's integers; None is an undefined value, others wrap around."""
    mask = 2 ** (8 * dtype.itemsize) - 1
    undefined = int(np.iinfo(dtype).min)
    values = [function(value) for value in x.flat]
    wrapped = [(undefined if value is None else value) & mask for value in values]
    return np.array(wrapped, dtype=np.uint64).astype(dtype).reshape(x.shape)


# The reducers.


def _reduce_sum(rows: Array) -> Array:
    """Sum; the empty sum is 0. Source: ReduceSum-13."""
    if rows.dtype.kind in "iu":
        return np.asarray(rows.sum(axis=0, dtype=rows.dtype))
    return round_sum(*exact_sum(wide(rows)), rows.dtype)


def reduce_mean(rows: Array) -> Array:
    """Divide the sum by the number of elements.

    The mean of nothing is undefined: here NaN, and 0 for integers.
    The text does not say how the mean of integers rounds; towards zero is what Div does.
    In float64 the sum may overflow where the mean itself would not.
    Source: ReduceMean-18.
    """
    count = len(rows)
    if rows.dtype.kind in "iu":
        if rows.dtype.itemsize < 8:
            sums = np.asarray(rows.sum(axis=0, dtype=np.int64))
            return truncated_quotient(sums, np.asarray(count)).astype(rows.dtype)
        return _to_integers(
            lambda total: _quotient(total, count) if count else 0, _integer_sum(rows), rows.dtype
        )
    high, low = exact_sum(wide(rows))
    return narrow(np.divide(high + low, count), rows.dtype)


def _quotient(a: int, b: int) -> int:
    """Divide by a positive integer and round towards zero."""
    return a // b if a >= 0 else -(-a // b)


def reduce_max(rows: Array) -> Array:
    """Return the largest value, or NaN where there is one.

    The maximum of nothing is minus infinity, or the lowest value of the type; False for booleans.
    The text is silent about NaN, but "similar to numpy".
    Source: ReduceMax-20.
    """
    if len(rows):
        return np.asarray(np.maximum.reduce(rows, axis=0))
    return _filled(rows, lowest=True)


def _reduce_min(rows: Array) -> Array:
    """Return the smallest value, or NaN where there is one.

    The minimum of nothing is infinity, or the highest value of the type; True for booleans.
    The text is silent about NaN, but "similar to numpy".
    Source: ReduceMin-20.
    """
    if len(rows):
        return np.asarray(np.minimum.reduce(rows, axis=0))
    return _filled(rows, lowest=False)


def _filled(rows: Array, *, lowest: bool) -> Array:
    """Return the shape of one row, filled with the lowest or highest value of its type."""
    dtype = rows.dtype
    value: Any
    if dtype.kind == "b":
        value = not lowest
    elif dtype.kind in "iu":
        value = np.iinfo(dtype).min if lowest else np.iinfo(dtype).max
    else:
        value = -np.inf if lowest else np.inf
    return np.full(rows.shape[1:], value, dtype)


def _reduce_prod(rows: Array) -> Array:
    """Multiply; the empty product is 1. Source: ReduceProd-18."""
    if rows.dtype.kind in "iu":
        return np.asarray(rows.prod(axis=0, dtype=rows.dtype))
    return narrow(exact_product(wide(rows)), rows.dtype)


def _reduce_l1(rows: Array) -> Array:
    """Sum the absolute values. Source: ReduceL1-18."""
    return _reduce_sum(np.absolute(rows))


def _reduce_sum_square(rows: Array) -> Array:
    """Sum the squares. Source: ReduceSumSquare-18."""
    if rows.dtype.kind in "iu":
        return _reduce_sum(np.square(rows))
    return round_sum(*exact_sum(np.square(wide(rows))), rows.dtype)


def _reduce_l2(rows: Array) -> Array:
    """Take the square root of the sum of the squares.

    The function body of version 18 goes through float32 and wraps integers around.
    That is taken for a way to compute it, not for a definition of the L2 norm.
    Source: ReduceL2-18.
    """
    if rows.dtype.kind in "iu":
        squares = np.asarray((rows.astype(object) ** 2).sum(axis=0), dtype=object)
        return _to_integers(math.isqrt, squares, rows.dtype)
    x = wide(rows)
    # Squares overflow and underflow in float64: a power of two brings the largest near to 1.
    largest = np.absolute(x).max(axis=0, initial=0.0)
    _, exponent = np.frexp(np.where(np.isfinite(largest), largest, 1.0))
    high, low = exact_sum(np.square(np.ldexp(x, -exponent)))
    return narrow(np.ldexp(np.sqrt(high + low), exponent), rows.dtype)


def _reduce_log_sum(rows: Array) -> Array:
    """Take the logarithm of the sum; of the empty sum, minus infinity. Source: ReduceLogSum-18."""
    if rows.dtype.kind in "iu":
        return _to_integers(_whole_logarithm, _integer_sum(rows), rows.dtype)
    high, low = exact_sum(wide(rows))
    ratio = np.divide(low, high, out=np.zeros_like(high), where=low != 0)
    return narrow(np.log(high) + np.log1p(ratio), rows.dtype)


def _whole_logarithm(x: int) -> int | None:
    """Return the logarithm of an integer, rounded towards zero; None where there is none."""
    return int(decimal.Context(prec=60).ln(decimal.Decimal(x))) if x > 0 else None


def _reduce_log_sum_exp(rows: Array) -> Array:
    """Take the logarithm of the sum of the exponentials, without overflow.

    It is minus infinity for nothing at all.
    Source: ReduceLogSumExp-18.
    """
    if rows.dtype.kind in "iu":
        return _integer_log_sum_exp(rows)
    x = wide(rows)
    largest = x.max(axis=0, initial=-np.inf)
    largest = np.where(np.isfinite(largest), largest, 0.0)
    high, low = exact_sum(np.exp(x - largest))
    return narrow(largest + np.log(high + low), rows.dtype)


def _integer_log_sum_exp(rows: Array) -> Array:
    """Compute as for floats, but keep the largest integer exact; round the sum towards zero."""
    if len(rows) == 0:
        return _filled(rows, lowest=True)
    largest = rows.max(axis=0)
    unsigned = np.dtype(f"u{rows.dtype.itemsize}")
    below = np.subtract(largest, rows).astype(unsigned)
    more = np.log(np.exp(-below.astype(np.float64)).sum(axis=0))
    exact = np.frompyfunc(_truncated, 2, 1)(largest.astype(object), more)
    return _to_integers(int, np.asarray(exact, dtype=object), rows.dtype)


def _truncated(whole: int, part: float) -> int:
    """Round the sum of an integer and a float of 0 or more towards zero."""
    floor = whole + math.floor(part)
    return floor + (floor < 0 and part > math.floor(part))


#: Operator, reducer, and the versions that have the axes as an attribute, after version 1, which
#: has no negative ones; then the versions that have the axes as an input.
_REDUCERS: tuple[tuple[str, Reducer, tuple[int, ...], tuple[int, ...]], ...] = (
    ("ReduceSum", _reduce_sum, (11,), (13,)),
    ("ReduceMean", reduce_mean, (11, 13), (18,)),
    ("ReduceMax", reduce_max, (11, 12, 13), (18, 20)),
    ("ReduceMin", _reduce_min, (11, 12, 13), (18, 20)),
    ("ReduceProd", _reduce_prod, (11, 13), (18,)),
    ("ReduceL1", _reduce_l1, (11, 13), (18,)),
    ("ReduceL2", _reduce_l2, (11, 13), (18,)),
    ("ReduceSumSquare", _reduce_sum_square, (11, 13), (18,)),
    ("ReduceLogSum", _reduce_log_sum, (11, 13), (18, 28)),
    ("ReduceLogSumExp", _reduce_log_sum_exp, (11, 13), (18, 28)),
)

for _operator, _reducer, _with_attribute, _with_input in _REDUCERS:
    kernel(_operator, since_version=1)(_axes_as_attribute(_reducer, negative=False))
    kernel(_operator, since_version=_with_attribute)(_axes_as_attribute(_reducer, negative=True))
    kernel(_operator, since_version=_with_input)(_axes_as_input(_reducer))


# The indices of the largest and the smallest.


def _arg(function: Any, x: Array, axis: int, keepdims: int, *, last: int = 0) -> Array:
    """Return the index that ``function`` finds along a non-negative axis.

    NaN counts as the largest in ArgMax and as the smallest in ArgMin; the text is silent.
    Raises: ``ValueError`` where the axis is empty.
    """
    length = x.shape[axis]
    if length == 0:
        raise ValueError(f"axis {axis} of the shape {x.shape} is empty: it has no element to name")
    found = function(np.flip(x, axis) if last else x, axis=axis)
    index = np.asarray(length - 1 - found if last else found, dtype=np.int64)
    return np.expand_dims(index, axis) if keepdims == 1 else index


def _register_arg(operator: str, function: Any) -> None:
    """Register a search for an index; its result is int64.

    Where the largest value stands several times, versions 1 and 11 do not say which index counts.
    Here it is the first, as in later versions without ``select_last_index``.
    """

    def run_1(x: Array, /, *, axis: int, keepdims: int) -> Array:
        return _arg(function, x, _in_range(axis, x.ndim, 0), keepdims)

    def run_11(x: Array, /, *, axis: int, keepdims: int) -> Array:
        if x.size == 0:
            raise ValueError(f"the input has shape {x.shape}: it must not be empty")
        return _arg(function, x, _in_range(axis, x.ndim, -x.ndim), keepdims)

    def run_12(x: Array, /, *, axis: int, keepdims: int, select_last_index: int) -> Array:
        axis = _in_range(axis, x.ndim, -x.ndim)
        return _arg(function, x, axis, keepdims, last=select_last_index)

    kernel(operator, since_version=1)(run_1)
    kernel(operator, since_version=11)(run_11)
    kernel(operator, since_version=(12, 13))(run_12)


for _operator, _function in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
    _register_arg(_operator, _function)
