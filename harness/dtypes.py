"""The element types of ONNX under their names, and types of values built from them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import TensorProto, TypeProto, helper

_NUMPY_NAMES = {"FLOAT": "float32", "DOUBLE": "float64"}


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element type: its name in case files, in ONNX text, its number and its dtype."""

    name: str
    text: str
    number: int
    dtype: np.dtype[Any]

    @property
    def is_float(self) -> bool:
        """Whether it is a real floating-point type."""
        return self.name.startswith(("float", "bfloat"))

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer type, signed or unsigned."""
        return self.name.startswith(("int", "uint"))

    @property
    def is_complex(self) -> bool:
        """Whether it is a complex type."""
        return self.name.startswith("complex")

    @property
    def bits(self) -> int:
        """The number of bits of an integer or float type."""
        found = re.match(r"[a-z]+(\d+)", self.name)
        return int(found[1]) if found else 8 * self.dtype.itemsize


def _element_types() -> dict[str, ElementType]:
    """Return all element types that the installed onnx knows, by name."""
    types = {}
    for onnx_name, number in TensorProto.DataType.items():
        if number == TensorProto.UNDEFINED:
            continue
        name = _NUMPY_NAMES.get(onnx_name, onnx_name.lower())
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(number))
        types[name] = ElementType(name, onnx_name.lower(), number, dtype)
    return types


ELEMENT_TYPES = _element_types()
_BY_DTYPE = {t.dtype: t for t in ELEMENT_TYPES.values()}
_BY_NUMBER = {t.number: t for t in ELEMENT_TYPES.values()}
#: Other spellings: ONNX's text syntax, and the names NumPy and ml_dtypes print.
_ALIASES = {
    **{t.text: t for t in ELEMENT_TYPES.values()},
    **{t.dtype.name: t for t in ELEMENT_TYPES.values() if t.name != "string"},
}


def element_type(name: str) -> ElementType:
    """Return an element type by name; raises ``KeyError``."""
    found = ELEMENT_TYPES.get(name) or _ALIASES.get(name)
    if found is None:
        raise KeyError(name)
    return found


def element_type_of(dtype: np.dtype[Any]) -> ElementType | None:
    """Return the element type with this dtype; ``None`` where ONNX has none."""
    return _BY_DTYPE.get(dtype)


def element_type_of_number(number: int) -> ElementType | None:
    """Return the element type with this ``TensorProto.DataType`` number, if there is one."""
    return _BY_NUMBER.get(number)


def dtype_name(dtype: np.dtype[Any]) -> str:
    """Return the name a dtype has in case files; NumPy's own name for a foreign one."""
    found = _BY_DTYPE.get(dtype)
    return found.name if found else str(dtype)


def parse_type(text: str) -> TypeProto:
    """Read a type such as ``float32``, ``seq(float32)``, ``optional(seq(tensor(float)))``.

    Raises ``KeyError`` with the part that is no type.
    """
    text = text.strip()
    wrapped = re.fullmatch(r"(tensor|seq|optional)\((.*)\)", text)
    if wrapped:
        inner = parse_type(wrapped[2])
        if wrapped[1] == "seq":
            return helper.make_sequence_type_proto(inner)
        return helper.make_optional_type_proto(inner) if wrapped[1] == "optional" else inner
    mapped = re.fullmatch(r"map\(([^,]*),(.*)\)", text)
    if mapped:
        key = element_type(mapped[1].strip()).number
        return helper.make_map_type_proto(key, parse_type(mapped[2]))
    return helper.make_tensor_type_proto(element_type(text).number, None)


def type_text(proto: TypeProto) -> str:
    """Return the name of a type as case files spell it: ``float32``, ``seq(float32)``."""
    which = proto.WhichOneof("value")
    if which == "tensor_type":
        found = _BY_NUMBER.get(proto.tensor_type.elem_type)
        return found.name if found else "undefined"
    if which == "sequence_type":
        return f"seq({type_text(proto.sequence_type.elem_type)})"
    if which == "optional_type":
        return f"optional({type_text(proto.optional_type.elem_type)})"
    if which == "map_type":
        key = _BY_NUMBER[proto.map_type.key_type].name
        return f"map({key}, {type_text(proto.map_type.value_type)})"
    return "unknown"
