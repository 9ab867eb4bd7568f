"""Clip, with its bounds as attributes or as inputs.

A bound that is left out is the lowest or the highest number of the type, as the text has it;
so an infinity becomes that number.
The function body of version 13 lets infinities pass.
Where ``min`` is greater than ``max``, ``max`` is the result; version 13 is the first to say so.
NaN stays NaN, and a bound of NaN makes all NaN, as in Min and Max.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from .registry import kernel
from .rounding import Array, narrow, wide


@kernel("Clip", since_version=(11, 12, 13))
def clip_11(x: Array, low: Array | None = None, high: Array | None = None, /) -> Array:
    """Return ``Min(high, Max(x, low))``.

    Args: x, any shape; low and high, scalars of its type.
    Raises: ``ValueError`` for a bound that is no scalar.
    Source: Clip-13; Clip-11, "It must be a scalar(tensor of empty shape)".
    """
    for name, bound in (("min", low), ("max", high)):
        if bound is not None and bound.ndim:
            raise ValueError(f"{name} has shape {bound.shape}: it must be a scalar")
    lowest, highest = _limits(x.dtype)
    x = np.maximum(x, lowest if low is None else low)
    return np.minimum(highest if high is None else high, x)


@kernel("Clip", since_version=6)
def clip_6(x: Array, /, *, min: float, max: float) -> Array:  # noqa: A002 - the schema's names
    """Return ``Min(max, Max(x, min))``; the bounds are float32, the result is rounded to the type.

    The attributes' defaults are the limits of float32 for each type of tensor.
    Source: Clip-6.
    """
    return narrow(np.minimum(max, np.maximum(wide(x), min)), x.dtype)


@kernel("Clip", since_version=1)
def clip_1(
    x: Array,
    /,
    *,
    min: float | None,  # noqa: A002 - the schema's name
    max: float | None,  # noqa: A002 - the schema's name
    consumed_inputs: Any,  # noqa: ARG001 - has no meaning
) -> Array:
    """Do as ``clip_6`` does; without a bound the limit is that of the tensor's type.

    Source: Clip-1, "default to numeric_limits::lowest() and numeric_limits::max()".
    """
    lowest, highest = (float(limit) for limit in _limits(x.dtype))
    return clip_6(x, min=lowest if min is None else min, max=highest if max is None else max)


def _limits(dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """Return the lowest and the highest finite number of a type."""
    if dtype.kind in "iu":
        info: Any = np.iinfo(dtype)
    else:
        info = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return np.asarray(info.min, dtype), np.asarray(info.max, dtype)
