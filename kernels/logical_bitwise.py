"""Bits of integers: BitShift, BitwiseAnd, BitwiseOr, BitwiseXor and BitwiseNot."""

from __future__ import annotations

import numpy as np

from .math import Binary
from .registry import kernel
from .rounding import Array

_BINARY: tuple[tuple[str, Binary], ...] = (
    ("BitwiseAnd", np.bitwise_and),
    ("BitwiseOr", np.bitwise_or),
    ("BitwiseXor", np.bitwise_xor),
)


def _register(operator: str, function: Binary) -> None:
    """Register a function of two tensors of one type, which broadcast as NumPy does."""

    def run(a: Array, b: Array, /) -> Array:
        return function(a, b)

    kernel(operator, since_version=18)(run)


for _binary in _BINARY:
    _register(*_binary)


@kernel("BitwiseNot", since_version=18)
def bitwise_not(x: Array, /) -> Array:
    """Invert each bit. Source: BitwiseNot-18."""
    return np.invert(x)


@kernel("BitShift", since_version=(11, 28))
def bit_shift(x: Array, y: Array, /, *, direction: str) -> Array:
    """Shift the bits of ``x`` by ``y`` places; signed integers keep their sign to the right.

    A ``y`` below 0 or not below the number of bits leaves -1 of a negative ``x`` shifted to the
    right, and 0 of all others.
    Version 11 has unsigned integers, and says nothing of a ``y`` so large.
    Raises: ``ValueError`` where ``direction`` is neither "LEFT" nor "RIGHT".
    Source: BitShift-28.
    """
    if direction not in ("LEFT", "RIGHT"):
        raise ValueError(f"direction is {direction!r}: it must be 'LEFT' or 'RIGHT'")
    inside = (y >= 0) & (y < 8 * x.dtype.itemsize)
    places = np.where(inside, y, 0).astype(x.dtype)
    zero = np.zeros((), x.dtype)
    if direction == "LEFT":
        return np.where(inside, np.left_shift(x, places), zero)
    beyond = zero if x.dtype.kind == "u" else np.where(x < 0, -1, 0).astype(x.dtype)
    return np.where(inside, np.right_shift(x, places), beyond)
