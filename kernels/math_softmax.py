"""Softmax, LogSoftmax and Hardmax.

Versions before 13 flatten the input to a matrix at ``axis`` and normalise whole rows of it; from
version 13 on one axis is normalised.

A row that holds NaN or plus infinity, or nothing but minus infinity, becomes NaN throughout in
Softmax and LogSoftmax, as the function bodies of version 13 make it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .registry import kernel
from .rounding import Array
from .tensor import axis_of
from .wider import rounded, widest

Rows = Callable[[Array], Array]


def _softmax(rows: Array) -> Array:
    """Normalise the rows of a matrix."""
    e = np.exp(rows - rows.max(axis=1, keepdims=True, initial=-np.inf))
    normalised: Array = e / e.sum(axis=1, keepdims=True)
    return normalised


def _softmax_float16(rows: Array) -> Array:
    """Normalise the rows of a matrix; the exponentials and their sums are rounded to float16."""
    e = np.exp(rows - rows.max(axis=1, keepdims=True, initial=-np.inf)).astype(np.float16)
    sums = e.sum(axis=1, keepdims=True, dtype=np.float64).astype(np.float16)
    return np.asarray(e.astype(np.float64) / sums.astype(np.float64))


def _log_softmax(rows: Array) -> Array:
    """Take the logarithm of the normalised rows of a matrix.

    The largest element, whose exponential is 1, is kept out of the sum: next to it the others are
    not lost.
    """
    if rows.size == 0:
        return rows
    largest = rows.argmax(axis=1)[:, None]
    below = rows - np.take_along_axis(rows, largest, axis=1)
    e = np.exp(below)
    np.put_along_axis(e, largest, np.take_along_axis(below, largest, axis=1), axis=1)
    return np.asarray(below - np.log1p(e.sum(axis=1, keepdims=True)))


def log_softmax(x: Array, axis: int) -> Array:
    """Return the logarithm of the softmax along an axis of wide values, as wide."""
    rows = np.moveaxis(x, axis, -1)
    flat = rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])
    return np.moveaxis(_log_softmax(flat).reshape(rows.shape), -1, axis)


def _hardmax(rows: Array) -> Array:
    """Put 1 where the first largest element of a row is, and 0 elsewhere.

    NaN counts as the largest, as in ArgMax; the text is silent.
    """
    result = np.zeros_like(rows)
    if rows.size:
        np.put_along_axis(result, rows.argmax(axis=1)[:, None], 1, axis=1)
    return result


#: Operator and what it does with the rows of a matrix.
_OPERATORS: tuple[tuple[str, Rows], ...] = (
    ("Softmax", _softmax),
    ("LogSoftmax", _log_softmax),
    ("Hardmax", _hardmax),
)


def _register(operator: str, function: Rows) -> None:
    def run_1(x: Array, /, *, axis: int) -> Array:
        """Work on ``x`` flattened to a matrix at ``axis``.

        The text of version 1 names no negative axes, but an official converted case has one.
        Source: Softmax-11, "coerced into a 2-dimensional tensor".
        """
        axis = axis_of(axis, x.ndim)
        rows = widest(x).reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
        return rounded(function(rows).reshape(x.shape), x.dtype)

    def run_13(x: Array, /, *, axis: int) -> Array:
        """Work along one axis.

        Softmax of float16 rounds exponentials and sums, as its function body does: an official
        case (test_attention_4d_causal_fp16_expanded) tells that from a result rounded once.
        Source: Softmax-13, "the dimension Softmax will be performed on".
        """
        axis = axis_of(axis, x.ndim)
        rows = np.moveaxis(widest(x), axis, -1)
        flat = rows.reshape(math.prod(rows.shape[:-1]), rows.shape[-1])
        steps = operator == "Softmax" and x.dtype == np.float16
        result = _softmax_float16(flat) if steps else function(flat)
        return rounded(np.moveaxis(result.reshape(rows.shape), -1, axis), x.dtype)

    kernel(operator, since_version=(1, 11))(run_1)
    kernel(operator, since_version=13)(run_13)


for _operator in _OPERATORS:
    _register(*_operator)
