"""Functions of one float element: trigonometric, hyperbolic, rounding, Log, Erf, Sigmoid, Softplus.

They are computed in float64, or for float64 in ``numpy.longdouble``, and rounded once.
Outside of its domain a function is NaN; the text says so of none, IEEE 754 and C do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .math import Unary, wider
from .math_erf import erf
from .registry import kernel
from .rounding import Array


def _reciprocal(x: Array) -> Array:
    """Divide 1 by ``x``; as a division of the type itself it is rounded correctly."""
    return np.divide(np.ones((), x.dtype), x)


def _sigmoid(x: Array) -> Array:
    """Return ``1 / (1 + exp(-x))``; where ``exp`` overflows, the result is 0."""
    return np.asarray(1 / (1 + np.exp(-x)))


def _softplus(x: Array) -> Array:
    """Return ``ln(exp(x) + 1)`` in a form that does not overflow and keeps the small results."""
    return np.asarray(np.maximum(x, 0) + np.log1p(np.exp(-np.absolute(x))))


def _softsign(x: Array) -> Array:
    """Return ``x / (1 + |x|)``; by the formula's word it is NaN for the infinities."""
    return np.asarray(x / (1 + np.absolute(x)))


def _sign(x: Array) -> Array:
    """Return -1, 0 or 1; NaN, of which the text says nothing, stays NaN, and -0 gives 0."""
    return np.sign(x)


#: Operator, function and versions.
_FUNCTIONS: tuple[tuple[str, Unary, tuple[int, ...]], ...] = (
    ("Acos", wider(np.arccos), (7, 22)),
    ("Asin", wider(np.arcsin), (7, 22)),
    ("Atan", wider(np.arctan), (7, 22)),
    ("Cos", wider(np.cos), (7, 22)),
    ("Sin", wider(np.sin), (7, 22)),
    ("Tan", wider(np.tan), (7, 22)),
    ("Acosh", wider(np.arccosh), (9, 22)),
    ("Asinh", wider(np.arcsinh), (9, 22)),
    ("Atanh", wider(np.arctanh), (9, 22)),
    ("Cosh", wider(np.cosh), (9, 22)),
    ("Sinh", wider(np.sinh), (9, 22)),
    ("Round", wider(np.rint), (11, 22)),
    ("Sign", _sign, (9, 13)),
    ("Softplus", wider(_softplus), (1, 22)),
    ("Softsign", wider(_softsign), (1, 22)),
)

#: The same for operators whose version 1 has the attribute ``consumed_inputs`` and is left out.
_WITH_VERSION_1: tuple[tuple[str, Unary, tuple[int, ...]], ...] = (
    ("Ceil", wider(np.ceil), (6, 13)),
    ("Floor", wider(np.floor), (6, 13)),
    ("Log", wider(np.log), (6, 13)),
    ("Reciprocal", _reciprocal, (6, 13)),
    ("Sigmoid", wider(_sigmoid), (6, 13)),
)


def _register(operator: str, function: Unary, versions: tuple[int, ...]) -> None:
    """Register a function of one tensor, which keeps shape and type."""

    def run(x: Array, /) -> Array:
        return function(x)

    kernel(operator, since_version=versions)(run)


def _register_version_1(operator: str, function: Unary) -> None:
    def run(x: Array, /, *, consumed_inputs: Any) -> Array:  # noqa: ARG001 - has no meaning
        return function(x)

    kernel(operator, since_version=1)(run)


for _operator, _function, _versions in _FUNCTIONS:
    _register(_operator, _function, _versions)
for _operator, _function, _versions in _WITH_VERSION_1:
    _register(_operator, _function, _versions)
    _register_version_1(_operator, _function)


@kernel("Erf", since_version=13)
def erf_13(x: Array, /) -> Array:
    """Return the error function of floats. Source: Erf-13."""
    return wider(erf)(x)


@kernel("Erf", since_version=9)
def erf_9(x: Array, /) -> Array:
    """Return the error function of floats or integers.

    The text does not say how a value becomes an integer.
    Here it is rounded towards zero, as ReduceL2 and its like; so it is 0, as none reaches 1.
    Source: Erf-9.
    """
    return np.zeros_like(x) if x.dtype.kind in "iu" else wider(erf)(x)
