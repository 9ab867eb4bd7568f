"""The element types of ONNX under their names, and types of values built from them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from onnx import TensorProto, TypeProto, helper

_NUMPY_NAMES = {"FLOAT": "float32", "DOUBLE": "float64"}


@dataclass(frozen=True, slots=True)
class ElementType:
    """One element type: its name in case files, in ONNX text, its number and its dtype.

    ``is_float`` is said of the real floating-point types, ``is_integer`` of signed and unsigned
    ones. ``bits`` is what an element needs, which is less than the size of its dtype for some.
    """

    name: str
    text: str
    number: int
    dtype: np.dtype[Any]
    is_float: bool
    is_integer: bool
    is_complex: bool
    bits: int


def _element_types() -> dict[str, ElementType]:
    """Return all element types that the installed onnx knows, by name."""
    types = {}
    for onnx_name, number in TensorProto.DataType.items():
        if number == TensorProto.UNDEFINED:
            continue
        name = _NUMPY_NAMES.get(onnx_name, onnx_name.lower())
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(number))
        found = re.match(r"[a-z]+(\d+)", name)
        types[name] = ElementType(
            name,
            onnx_name.lower(),
            number,
            dtype,
            is_float=name.startswith(("float", "bfloat")),
            is_integer=name.startswith(("int", "uint")),
            is_complex=name.startswith("complex"),
            bits=int(found[1]) if found else 8 * dtype.itemsize,
        )
    return types


ELEMENT_TYPES = _element_types()
_BY_DTYPE = {t.dtype: t for t in ELEMENT_TYPES.values()}
_BY_NUMBER = {t.number: t for t in ELEMENT_TYPES.values()}
#: Other spellings: ONNX's text syntax, and the names NumPy and ml_dtypes print.
_ALIASES = {
    **{t.text: t for t in ELEMENT_TYPES.values()},
    **{t.dtype.name: t for t in ELEMENT_TYPES.values() if t.name != "string"},
}
#: All names that ``element_type`` knows.
SPELLINGS = frozenset(ELEMENT_TYPES) | frozenset(_ALIASES)


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


def tensor_type(number: int, shape: tuple[int | None, ...] | None) -> TypeProto:
    """Return the type of a tensor by the number of its element type; no shape leaves it open."""
    proto: TypeProto = TypeProto.FromString(_tensor_type(number, shape))
    return proto


@lru_cache(1024)
def _tensor_type(number: int, shape: tuple[int | None, ...] | None) -> bytes:
    return bytes(helper.make_tensor_type_proto(number, shape).SerializeToString())


def parse_type(text: str) -> TypeProto:
    """Read a type such as ``float32``, ``seq(float32)``, ``optional(seq(tensor(float)))``.

    Raises ``KeyError`` with the part that is no type.
    """
    text = text.strip()
    found = ELEMENT_TYPES.get(text)
    if found:
        return tensor_type(found.number, None)
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
    return tensor_type(element_type(text).number, None)


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
