"""Values of ONNX as the protobuf messages that its test data is stored in, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TypeProto, numpy_helper

from ..harness.case import Value
from ..harness.dtypes import element_type_of_number
from .command_protocol import ValueKind


def kind_of(proto: TypeProto | None) -> ValueKind:
    """Return what a value of a type is; a tensor where no type is known."""
    which = proto.WhichOneof("value") if proto is not None else None
    if which == "sequence_type":
        return "sequence"
    if which == "optional_type":
        return "optional"
    return "map" if which == "map_type" else "tensor"


def to_proto(value: Value, proto: TypeProto | None) -> tuple[ValueKind, Any]:
    """Return the kind of a value and the message that holds it.

    Args: proto, the type that the model declares; it decides what an empty list or ``None`` is.
    """
    if proto is not None and proto.WhichOneof("value") == "optional_type":
        return "optional", _to_optional(value, proto.optional_type.elem_type)
    if value is None:
        return "optional", onnx.OptionalProto()
    if isinstance(value, dict):
        return "map", _to_map(value, proto.map_type.value_type if proto is not None else None)
    if isinstance(value, (list, tuple)):
        inner = proto.sequence_type.elem_type if proto is not None else None
        return "sequence", _to_sequence(value, inner)
    return "tensor", numpy_helper.from_array(np.asarray(value))


def _to_optional(value: Value, inner: TypeProto) -> onnx.OptionalProto:
    optional = onnx.OptionalProto()
    kind = kind_of(inner) if value is None else to_proto(value, inner)[0]
    optional.elem_type = onnx.OptionalProto.DataType.Value(kind.upper())
    if value is not None:
        getattr(optional, f"{kind}_value").CopyFrom(to_proto(value, inner)[1])
    return optional


def _to_sequence(values: Sequence[Value], inner: TypeProto | None) -> onnx.SequenceProto:
    sequence = onnx.SequenceProto()
    kind = to_proto(values[0], inner)[0] if values else kind_of(inner)
    sequence.elem_type = onnx.SequenceProto.DataType.Value(kind.upper())
    for value in values:
        getattr(sequence, f"{kind}_values").append(to_proto(value, inner)[1])
    return sequence


def _to_map(values: dict[Any, Value], inner: TypeProto | None) -> onnx.MapProto:
    result = onnx.MapProto()
    if all(isinstance(key, str) for key in values):
        result.key_type = onnx.TensorProto.STRING
        result.string_keys.extend(key.encode() for key in values)
    else:
        result.key_type = onnx.TensorProto.INT64
        result.keys.extend(int(key) for key in values)
    result.values.CopyFrom(_to_sequence(list(values.values()), inner))
    return result


def from_proto(data: bytes, kind: str) -> Value:
    """Read a value; raises ``DecodeError``, ``ValueError``, ``TypeError`` or ``KeyError``."""
    if kind == "tensor":
        return _from_tensor(onnx.TensorProto.FromString(data))
    if kind == "sequence":
        return _from_sequence(onnx.SequenceProto.FromString(data))
    if kind == "optional":
        return _from_optional(onnx.OptionalProto.FromString(data))
    return _from_map(onnx.MapProto.FromString(data))


def _from_tensor(tensor: onnx.TensorProto) -> Value:
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        raise ValueError("the data is in another file")
    element = element_type_of_number(tensor.data_type)
    if element is None:
        raise ValueError(f"{tensor.data_type} is no element type")
    count = int(np.prod(tensor.dims, dtype=object))
    size = -(-count * element.bits // 8)
    if min(tensor.dims, default=0) < 0 or (
        tensor.HasField("raw_data") and len(tensor.raw_data) != size
    ):
        raise ValueError(
            f"{len(tensor.raw_data)} bytes for {element.name}{list(tensor.dims)}, not {size}"
        )
    if element.name == "bool" and tensor.raw_data and max(tensor.raw_data) > 1:
        raise ValueError(f"a bool that is stored as {max(tensor.raw_data)}")
    return numpy_helper.to_array(tensor)


def _from_sequence(sequence: onnx.SequenceProto) -> list[Value]:
    which = onnx.SequenceProto.DataType.Name(sequence.elem_type).lower()
    if which == "undefined":
        if sequence.ByteSize():
            raise ValueError("elem_type is missing")
        return []
    read = {
        "tensor": _from_tensor,
        "sequence": _from_sequence,
        "optional": _from_optional,
        "map": _from_map,
    }
    if which not in read:
        raise ValueError(f"its elements are of the kind {which}")
    return [read[which](item) for item in getattr(sequence, f"{which}_values")]


def _from_optional(optional: onnx.OptionalProto) -> Value:
    if optional.HasField("tensor_value"):
        return _from_tensor(optional.tensor_value)
    if optional.HasField("sequence_value"):
        return _from_sequence(optional.sequence_value)
    return _from_map(optional.map_value) if optional.HasField("map_value") else None


def _from_map(proto: onnx.MapProto) -> dict[Any, Value]:
    if proto.key_type == onnx.TensorProto.STRING:
        keys: list[Any] = [key.decode() for key in proto.string_keys]
    else:
        keys = list(proto.keys)
    return dict(zip(keys, _from_sequence(proto.values), strict=True))
