"""Kernels on optional values: ``None`` is an empty one, a filled one is just its value."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from .registry import kernel
from .rounding import Array


@kernel("Optional", since_version=(15, 28))
def optional(value: Any = None, /, *, type: onnx.TypeProto | None) -> Any:  # noqa: A002
    """Return the input as a filled optional, or without one an empty optional of ``type``.

    With neither there is no type for the empty optional: an error.
    With both the input decides; the text does not speak of it.
    Source: Optional-15.
    """
    if value is None and type is None:
        raise ValueError("neither an input nor the attribute type is given; one was wanted")
    return value


@kernel("OptionalGetElement", since_version=(15, 18, 28))
def optional_get_element(value: Any, /) -> Any:
    """Return the element of an optional; from 18 on a tensor or sequence returns itself.

    Source: OptionalGetElement-15, "It is an error if the input value does not have an element".
    """
    if value is None:
        raise ValueError("the optional is empty; an element was wanted")
    return value


@kernel("OptionalHasElement", since_version=15)
def optional_has_element_15(value: Any, /) -> Array:
    """Return as a 0-d bool tensor whether the optional has an element.

    Source: OptionalHasElement-15.
    """
    return np.array(value is not None)


@kernel("OptionalHasElement", since_version=(18, 28))
def optional_has_element_18(value: Any = None, /) -> Array:
    """Return as a 0-d bool tensor whether there is an element: false also without an input.

    Source: OptionalHasElement-18.
    """
    return np.array(value is not None)
