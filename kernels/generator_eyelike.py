"""The kernel of EyeLike."""

from __future__ import annotations

import numpy as np

from .generator_dtype import output_dtype
from .registry import kernel
from .rounding import Array


def _register(version: int) -> None:
    """Register EyeLike; the versions differ in the types that ``dtype`` may name."""

    def eye_like(x: Array, /, *, dtype: int | None, k: int) -> Array:
        """Return a matrix of the shape of ``x`` with ones where column - row is ``k``.

        Args: x, of rank 2; dtype, of the result, by default that of ``x``.
        Errors: another rank; a dtype that the schema does not allow.
        Source: EyeLike-9, "sets T2[i, i+k] = 1".
        """
        if x.ndim != 2:
            raise ValueError(f"the input has shape {x.shape}; a rank of 2 was wanted")
        element = output_dtype("EyeLike", version, dtype, x.dtype)
        rows, columns = x.shape
        if not -rows < k < columns:
            return np.zeros(x.shape, element)
        return np.eye(rows, columns, k).astype(element)

    kernel("EyeLike", since_version=version)(eye_like)


for _version in (9, 22):
    _register(_version)
