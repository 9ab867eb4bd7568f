"""From arrays and other values to the literals of a case file, exactly: the way back of ``values``.

What is returned is plain: dicts, lists, ``Real``, int, bool, str and ``None``, in the keys of the
case format and in their order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from math import isinf, isnan, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TypeProto

from .case import Expected
from .dtypes import ElementType, element_type, element_type_of_number, type_text
from .literals import BadLiteral, Real, from_bits, to_array

Array = NDArray[Any]
#: Takes an array that is too large, or not to be said in literals, and returns its file's name.
Aside = Callable[[Array], str]

#: More equal elements than this are written as ``fill``.
FEW = 16
#: The digits that are enough for any float type of ONNX.
_MOST_DIGITS = 17
#: Whole numbers below this are written in full.
_WHOLE = 1e9


class Unspeakable(ValueError):
    """A value that no literal of the case format says."""


def no_file(array: Array) -> str:
    """Refuse to put an array aside: for places that files cannot stand beside."""
    raise Unspeakable(f"a tensor of shape {list(array.shape)} without a literal")


def spelled(value: Expected, aside: Aside, inline: int) -> dict[str, Any]:
    """Return a value as a case file has it.

    A tensor of more than ``inline`` elements goes to a file by way of ``aside``.
    """
    if value.kind == "sequence":
        inner = type_text(value.type.sequence_type.elem_type)
        items = [spelled(item, aside, inline) for item in value.items]
        return {"sequence": items} if items else {"sequence": items, "dtype": inner}
    if value.kind == "optional":
        if value.items:
            return {"optional": spelled(value.items[0], aside, inline)}
        return {"optional": None, "dtype": type_text(value.type.optional_type.elem_type)}
    if value.kind == "map":
        held = zip(value.keys, value.items, strict=True)
        return {
            "map": {key: spelled(item, aside, inline)["data"] for key, item in held},
            "dtype": type_text(value.type),
        }
    return _tensor(value, aside, inline)


def _tensor(value: Expected, aside: Aside, inline: int) -> dict[str, Any]:
    element = _element(value.type)
    head: dict[str, Any] = {"dtype": element.name}
    if value.shape or value.value is None:
        head["shape"] = list(value.shape)
    array, undefined = value.value, value.undefined
    if array is None:
        return head
    if undefined is None and array.size > FEW and _is_constant(array):
        form, literals = _literals(array.reshape(-1)[:1], element)
        if form == "data":
            return {**head, "fill": literals[0]}
    fits = array.size <= inline or undefined is not None or _loses_in_npy(array)
    flat = array.reshape(-1)
    form, literals = _literals(flat if undefined is None else flat[~undefined.reshape(-1)], element)
    if not fits or (not form and undefined is None):
        return {**head, "npy": aside(storable(array))}
    if not form:
        raise Unspeakable(f"undefined elements beside bits of {element.name} that no literal gives")
    if undefined is not None:
        rest = iter(literals)
        literals = [None if hidden else next(rest) for hidden in undefined.reshape(-1).tolist()]
    return {**head, form: nested(literals, array.shape)}


def _element(proto: TypeProto) -> ElementType:
    element = element_type_of_number(proto.tensor_type.elem_type)
    if element is None:
        raise Unspeakable(f"a tensor of element type {proto.tensor_type.elem_type}")
    return element


def _is_constant(array: Array) -> bool:
    if array.dtype == object:
        return bool((array == array.reshape(-1)[0]).all())
    size = array.dtype.itemsize
    rows = np.frombuffer(array.tobytes(), np.uint8).reshape(-1, size)
    return bool((rows == rows[0]).all())


def _loses_in_npy(array: Array) -> bool:
    """Tell whether a file of NumPy would lose something: zero bytes at the end of strings."""
    return array.dtype == object and any(s.endswith("\0") for s in array.reshape(-1))


def storable(array: Array) -> Array:
    """Return an array in a dtype of NumPy's own, as ``npy:`` reads it: bits, or Unicode."""
    if array.dtype == object:
        return array.astype(np.str_)
    if array.dtype.isbuiltin != 1:
        return np.ascontiguousarray(array).reshape(array.shape).view(f"u{array.dtype.itemsize}")
    return array


def nested(leaves: list[Any], shape: tuple[int, ...]) -> Any:
    """Return literals as nested lists; flat where no nesting shows the shape."""
    if not shape:
        return leaves[0]
    if not prod(shape):
        return []
    for size in reversed(shape[1:]):
        leaves = [leaves[i : i + size] for i in range(0, len(leaves), size)]
    return leaves


def _literals(flat: Array, element: ElementType) -> tuple[str, list[Any]]:
    """Return the form, ``data`` or ``bits``, and its literals; no form where none is exact."""
    strings = flat.dtype == object
    literals = flat.tolist() if strings else list(_spelled_numbers(flat, element))
    try:
        if same_bits(to_array(literals, element), flat):
            return "data", literals
        bits = _bits(flat, element)
        if same_bits(from_bits(bits, element), flat):
            return "bits", bits
    except BadLiteral:
        pass
    return "", []


def _spelled_numbers(flat: Array, element: ElementType) -> Iterator[Any]:
    if element.is_integer:
        return iter(flat.astype(np.int64 if element.name[0] == "i" else np.uint64).tolist())
    if element.name == "bool":
        return iter(flat.tolist())
    if element.is_complex:
        part = element_type(f"float{element.bits // 2}")
        pairs = zip(flat.real, flat.imag, strict=True)
        return (_complex(_float(re, part), _float(im, part)) for re, im in pairs)
    return (_float(value, element) for value in flat)


def _float(value: Any, element: ElementType) -> int | Real:
    return _float_of_bits(element.name, value.tobytes())


@lru_cache(2**16)
def _float_of_bits(name: str, raw: bytes) -> int | Real:
    """Return the shortest literal of a float; whole numbers are written without a point."""
    element = element_type(name)
    [value] = np.frombuffer(raw, element.dtype)
    wide = float(value)
    if isnan(wide):
        return Real(".nan")
    if isinf(wide):
        return Real("-.inf" if wide < 0 else ".inf")
    if wide == 0 and np.signbit(wide):
        return Real("-0.0")
    if wide.is_integer() and abs(wide) < _WHOLE:
        return int(wide)
    return Real(_shortest(value, wide, element))


def _shortest(value: Any, wide: float, element: ElementType) -> str:
    if element.dtype.isbuiltin == 1:
        return short_exponent(str(value))
    for digits in range(1, _MOST_DIGITS + 1):
        text = f"{wide:.{digits}g}"
        try:
            if same_bits(to_array([Real(text)], element), np.array([value])):
                return short_exponent(text)
        except BadLiteral:  # rounded up, out of the range of the type
            continue
    raise AssertionError(f"{wide} is no {element.name}")


def short_exponent(text: str) -> str:
    """Return ``1e7`` for ``1e+07``."""
    return re.sub(r"e\+?(-?)0*", r"e\1", text)


def _complex(real: int | Real, imaginary: int | Real) -> str:
    first, second = (str(part).replace(".inf", "inf").replace(".nan", "nan")
                     for part in (real, imaginary))  # fmt: skip
    sign = "" if second.startswith("-") else "+"
    return f"{first}{sign}{second}j"


def _bits(flat: Array, element: ElementType) -> list[int]:
    if element.name in ("string", "bool") or element.is_complex:
        return []
    whole = flat.view(f"u{flat.dtype.itemsize}")
    return [int(bits) & ((1 << element.bits) - 1) for bits in whole]


def same_bits(left: Array, right: Array) -> bool:
    """Tell whether two arrays agree in dtype, shape and every bit."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if left.dtype == object:
        return bool((left == right).all())
    return left.tobytes() == right.tobytes()


def attribute_float(value: float) -> int | Real:
    """Return the literal of an attribute, which is a float32."""
    return _float(np.float32(value), element_type("float32"))


def safe_name(text: str) -> str:
    """Return a text with only the letters that names of cases may have."""
    return re.sub(r"[^A-Za-z0-9_.\-]+", "_", text).strip("_") or "case"
