"""Comparisons and logic: Equal, Greater, GreaterOrEqual, Less, LessOrEqual, And, Or, Xor and Not.

All give booleans.
NaN is equal to nothing and neither less nor greater; +0 equals -0.
Strings are equal where all their characters are.
"""

from __future__ import annotations

import numpy as np

from .math import Binary, limited_broadcast
from .registry import kernel
from .rounding import Array

#: Operator, function, and the versions that broadcast as NumPy does.
_BINARY: tuple[tuple[str, Binary, tuple[int, ...]], ...] = (
    ("And", np.logical_and, (7,)),
    ("Or", np.logical_or, (7,)),
    ("Xor", np.logical_xor, (7,)),
    ("Equal", np.equal, (7, 11, 13, 19)),
    ("Greater", np.greater, (7, 9, 13)),
    ("Less", np.less, (7, 9, 13)),
    ("GreaterOrEqual", np.greater_equal, (12, 16)),
    ("LessOrEqual", np.less_equal, (12, 16)),
)

#: The operators that have a version 1, which broadcasts within the limits of Add-1.
_LIMITED = frozenset({"And", "Or", "Xor", "Equal", "Greater", "Less"})


def _register(operator: str, function: Binary, versions: tuple[int, ...]) -> None:
    """Register a function of two tensors of one type that gives booleans."""

    def run(a: Array, b: Array, /) -> Array:
        return function(a, b)

    def run_1(a: Array, b: Array, /, *, axis: int | None, broadcast: int) -> Array:
        return function(a, limited_broadcast(a, b, axis=axis, broadcast=broadcast))

    kernel(operator, since_version=versions, direct=function)(run)
    if operator in _LIMITED:
        kernel(operator, since_version=1)(run_1)


for _binary in _BINARY:
    _register(*_binary)


@kernel("Not", since_version=1, direct=np.logical_not)
def logical_not(x: Array, /) -> Array:
    """Negate booleans. Source: Not-1."""
    return np.logical_not(x)
