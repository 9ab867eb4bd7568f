"""Elementwise arithmetic: Add, Sub, Mul, Div, Neg, Abs, Sqrt, Exp, Tanh, Relu, Min and Max.

The four basic operations and the square root are NumPy's own in every type.
They are correctly rounded: NumPy and ``ml_dtypes`` take 16-bit types through float32, whose 24 bits
exceed twice their precision by 2, and then the second rounding changes nothing.
Exp and Tanh are computed in float64, or for float64 in ``numpy.longdouble``, and rounded once.
Where ``numpy.longdouble`` is no wider than float64, float64 results are as good as the C library's.

Integers wrap around as two's complement.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .registry import kernel
from .rounding import Array, narrow, wide

Unary = Callable[[Array], Array]
Binary = Callable[[Array, Array], Array]

FLOAT64 = np.dtype(np.float64)


def limited_broadcast(a: Array, b: Array, *, axis: int | None, broadcast: int) -> Array:
    """Return ``b`` in a shape that NumPy broadcasts to the shape of ``a``, by the rules before 7.

    With ``broadcast`` 0 the shapes have to be the same, and ``axis`` means nothing.
    Otherwise ``b`` has one element and no more dimensions than ``a``; or its shape is a run of the
    dimensions of ``a``, which starts at ``axis`` or, without ``axis``, ends at the last one.
    In such a run ``b`` may have 1 in place of a dimension of ``a``.
    The text says that this "doesn't work yet"; the official cases have it and decide.
    Where ``b`` has one element, ``axis`` has nothing to decide and is not read.

    Raises: ``ValueError`` where the shapes or ``axis`` break these rules.
    Source: Add-1, "limited broadcast support".
    """
    if not broadcast:
        if a.shape != b.shape:
            raise ValueError(
                f"B has shape {b.shape}, A has shape {a.shape}: "
                "without the attribute broadcast=1 they must be the same"
            )
        return b
    if b.size == 1 and b.ndim <= a.ndim:
        return b.reshape(())
    start = a.ndim - b.ndim if axis is None else axis
    run = a.shape[start : start + b.ndim] if start >= 0 else ()
    if len(run) != b.ndim or any(n not in (1, m) for n, m in zip(b.shape, run, strict=True)):
        place = "the end" if axis is None else f"axis {axis}"
        raise ValueError(
            f"B has shape {b.shape}, A has shape {a.shape}: "
            f"the shape of B must be a run of dimensions of A, or 1 in their place, "
            f"here from {place}, or B must have one element"
        )
    return b.reshape(b.shape + (1,) * (a.ndim - start - b.ndim))


def truncated_quotient(a: Array, b: Array) -> Array:
    """Divide integers of one type and round towards zero.

    The lowest value divided by -1 wraps around to itself.
    Division by zero gives 0; the specification is silent about it.
    Source: Div-7, "truncating division (rounding toward zero)".
    """
    if a.dtype.kind == "u":
        return np.floor_divide(a, b)
    return np.floor_divide(np.subtract(a, np.fmod(a, b)), b)


def _divide(a: Array, b: Array) -> Array:
    """Divide; integers round towards zero, and 0 is what dividing them by 0 gives."""
    return truncated_quotient(a, b) if a.dtype.kind in "iu" else np.divide(a, b)


def _relu(x: Array) -> Array:
    """Return the larger of 0 and ``x``; NaN stays NaN."""
    return np.maximum(x, np.zeros((), x.dtype))


def wider(function: Unary) -> Unary:
    """Make a function of floats compute in a wider type and round once."""

    def run(x: Array) -> Array:
        if x.dtype == FLOAT64:
            return function(x.astype(np.longdouble)).astype(np.float64)
        return narrow(function(wide(x)), x.dtype)

    return run


#: Operator and function. Version 1 has the attribute ``consumed_inputs``.
_UNARY: tuple[tuple[str, Unary, tuple[int, ...]], ...] = (
    ("Abs", np.absolute, (6, 13)),
    ("Neg", np.negative, (6, 13)),
    ("Sqrt", np.sqrt, (6, 13)),
    ("Exp", wider(np.exp), (6, 13)),
    ("Tanh", wider(np.tanh), (6, 13)),
    ("Relu", _relu, (6, 13, 14)),
)

#: Operator and function. Versions 1 and 6 broadcast within limits, later ones as NumPy does.
_BINARY: tuple[tuple[str, Binary], ...] = (
    ("Add", np.add),
    ("Sub", np.subtract),
    ("Mul", np.multiply),
    ("Div", _divide),
)

#: Operator and function. Versions 1 and 6 do not broadcast. NaN is handed on.
_VARIADIC: tuple[tuple[str, Binary], ...] = (
    ("Max", np.maximum),
    ("Min", np.minimum),
)


def _register_unary(operator: str, function: Unary, versions: tuple[int, ...]) -> None:
    """Register a function of one tensor, which keeps shape and type."""

    def run(x: Array, /) -> Array:
        return function(x)

    def run_1(x: Array, /, *, consumed_inputs: Any) -> Array:  # noqa: ARG001 - has no meaning
        return function(x)

    kernel(operator, since_version=versions, direct=function)(run)
    kernel(operator, since_version=1)(run_1)


def _register_binary(operator: str, function: Binary) -> None:
    """Register a function of two tensors of one type, which is the result's type as well."""

    def run(a: Array, b: Array, /) -> Array:
        return function(a, b)

    def run_6(a: Array, b: Array, /, *, axis: int | None, broadcast: int) -> Array:
        return function(a, limited_broadcast(a, b, axis=axis, broadcast=broadcast))

    def run_1(
        a: Array,
        b: Array,
        /,
        *,
        axis: int | None,
        broadcast: int,
        consumed_inputs: Any,  # noqa: ARG001 - has no meaning
    ) -> Array:
        return function(a, limited_broadcast(a, b, axis=axis, broadcast=broadcast))

    kernel(operator, since_version=(7, 13, 14), direct=function)(run)
    kernel(operator, since_version=6)(run_6)
    kernel(operator, since_version=1)(run_1)


def _register_variadic(operator: str, function: Binary) -> None:
    """Register a function of one or more tensors of one type; a single one is the result."""

    def run(*tensors: Array) -> Array:
        return functools.reduce(function, tensors)

    def run_6(*tensors: Array) -> Array:
        shapes = [t.shape for t in tensors]
        if len(set(shapes)) > 1:
            raise ValueError(f"the inputs have the shapes {shapes}: they must be the same")
        return functools.reduce(function, tensors)

    def run_1(*tensors: Array, consumed_inputs: Any) -> Array:  # noqa: ARG001 - has no meaning
        return run_6(*tensors)

    kernel(operator, since_version=(8, 12, 13))(run)
    kernel(operator, since_version=6)(run_6)
    kernel(operator, since_version=1)(run_1)


for _unary in _UNARY:
    _register_unary(*_unary)
for _binary in _BINARY:
    _register_binary(*_binary)
for _variadic in _VARIADIC:
    _register_variadic(*_variadic)
