"""The attribute ``dtype`` of the generators, which names the element type of the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.defs

from .valuetype import ELEMENT_NAMES

Dtype = np.dtype[Any]


def output_dtype(operator: str, version: int, dtype: int | None, default: Dtype) -> Dtype:
    """Return the dtype that the attribute names, or ``default`` where it is omitted.

    Raises: ``ValueError`` for a type that the schema of this version does not allow as output.
    Source: EyeLike-9, "and be valid as an output type".
    """
    number = onnx.helper.np_dtype_to_tensor_dtype(default) if dtype is None else dtype
    name = ELEMENT_NAMES.get(number, str(number))
    allowed = {t[len("tensor(") : -1] for t in _output_types(operator, version)}
    if name not in allowed:
        raise ValueError(f"dtype is {name}; one of {', '.join(sorted(allowed))} was wanted")
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number))


def _output_types(operator: str, version: int) -> set[str]:
    return set(onnx.defs.get_schema(operator, version).outputs[0].types)
