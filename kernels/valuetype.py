"""The types of values: what a model declares, and what a value at hand turns out to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, TypeProto, helper

#: The spelling of element types in a schema's type strings, ``tensor(float)`` for example.
ELEMENT_NAMES = {
    number: {"FLOAT": "float", "DOUBLE": "double"}.get(name, name.lower())
    for name, number in TensorProto.DataType.items()
    if number != TensorProto.UNDEFINED
}

_DTYPES = {number: np.dtype(helper.tensor_dtype_to_np_dtype(number)) for number in ELEMENT_NAMES}
_NAMES_OF_DTYPES = {dtype: ELEMENT_NAMES[number] for number, dtype in _DTYPES.items()}
_DTYPES_OF_NAMES = {f"tensor({name})": dtype for dtype, name in _NAMES_OF_DTYPES.items()}


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of a value as far as it is known.

    ``kind`` is ``tensor``, ``seq``, ``optional``, ``map``, or empty where nothing is known.
    ``text`` is ONNX's type string, ``seq(tensor(float))`` for example, empty where it is not known.
    ``dtype`` and ``shape`` are those of a tensor; ``None`` stands for what is not known, in
    ``shape`` also for a single dimension.
    """

    kind: str = ""
    text: str = ""
    dtype: np.dtype[Any] | None = None
    shape: tuple[int | None, ...] | None = None


UNKNOWN = ValueType()


def of_proto(proto: TypeProto) -> ValueType:
    """Read a ``TypeProto``."""
    which = proto.WhichOneof("value")
    if which == "tensor_type":
        tensor = proto.tensor_type
        if tensor.elem_type not in ELEMENT_NAMES:
            return ValueType("tensor")
        shape = None
        if tensor.HasField("shape"):
            shape = tuple(
                d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim
            )
        return ValueType("tensor", text_of(proto), _DTYPES[tensor.elem_type], shape)
    kinds = {"sequence_type": "seq", "optional_type": "optional", "map_type": "map"}
    if which in kinds:
        return ValueType(kinds[which], text_of(proto))
    return UNKNOWN


def text_of(proto: TypeProto) -> str:
    """Return ONNX's type string of a ``TypeProto``; empty where it is incomplete."""
    which = proto.WhichOneof("value")
    if which == "tensor_type":
        name = ELEMENT_NAMES.get(proto.tensor_type.elem_type)
        return f"tensor({name})" if name else ""
    if which == "sequence_type":
        inner = text_of(proto.sequence_type.elem_type)
        return f"seq({inner})" if inner else ""
    if which == "optional_type":
        inner = text_of(proto.optional_type.elem_type)
        return f"optional({inner})" if inner else ""
    if which == "map_type":
        inner = text_of(proto.map_type.value_type)
        key = ELEMENT_NAMES.get(proto.map_type.key_type)
        return f"map({key},{inner})" if inner and key else ""
    return ""


def text_of_value(value: Any) -> str:
    """Return ONNX's type string of a value; empty where the value does not show it."""
    if isinstance(value, np.ndarray):
        return f"tensor({_NAMES_OF_DTYPES.get(value.dtype, value.dtype)})"
    if isinstance(value, list) and value:
        inner = text_of_value(value[0])
        return f"seq({inner})" if inner else ""
    return ""


def fits(value: Any, text: str) -> bool:
    """Tell whether a value may stand for ONNX's type string ``text``."""
    inner = text.partition("(")[2][:-1]
    if text.startswith("optional("):
        return value is None or fits(value, inner)
    if text.startswith("seq("):
        return isinstance(value, list) and all(fits(v, inner) for v in value)
    if text.startswith("map("):
        return isinstance(value, dict)
    return text_of_value(value) == text


def describe(value: Any) -> str:
    """Return what a value is, for messages, even if it has no type in ONNX."""
    if isinstance(value, list):
        return f"seq({' and '.join(dict.fromkeys(map(describe, value)))})"
    return text_of_value(value) or type(value).__name__


def proto_of_value(value: Any) -> TypeProto | None:
    """Return the ``TypeProto`` of a value with its shape; ``None`` where it does not show it."""
    if isinstance(value, np.ndarray):
        element = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
        return helper.make_tensor_type_proto(element, value.shape)
    if isinstance(value, list) and value:
        shapes = {v.shape for v in value if isinstance(v, np.ndarray)}
        inner = proto_of_value(value[0])
        if inner is not None and len(shapes) > 1:
            inner.tensor_type.ClearField("shape")
        return None if inner is None else helper.make_sequence_type_proto(inner)
    return None


def with_typed_maps(value: Any, text: str) -> Any:
    """Give the values of maps the element type of ONNX's type string ``text``, as NumPy scalars.

    A plain Python float does not show whether a map to float or to double was meant.
    """
    inner = text.partition("(")[2][:-1]
    if isinstance(value, list) and text.startswith("seq("):
        return [with_typed_maps(item, inner) for item in value]
    dtype = _DTYPES_OF_NAMES.get(inner.partition(",")[2].strip())
    if isinstance(value, dict) and dtype is not None and dtype.kind in "fiu":
        return {key: dtype.type(item) for key, item in value.items()}
    return value


def as_array(value: Any) -> Any:
    """Turn a NumPy scalar, which is what NumPy makes of a 0-d result, into a 0-d array."""
    return np.asarray(value) if isinstance(value, np.generic) else value
