"""From the values of a case file to arrays, sequences, optionals and maps."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from onnx import TypeProto, helper

from .case import Expected, Value
from .caseformat import ValueSpec
from .dtypes import (
    ELEMENT_TYPES,
    ElementType,
    element_type,
    element_type_of_number,
    parse_type,
    tensor_type,
    type_text,
)
from .errors import CaseError, count, shorten
from .literals import BadLiteral, from_bits, to_array

#: The largest tensor a case file may ask for, in elements.
MAX_ELEMENTS = 2**27
#: The most axes an array of NumPy can have.
MAX_RANK = 64
#: How deep a type may nest.
MAX_TYPE_DEPTH = 16
#: The forms of a tensor, and of the other kinds of values.
_FORMS = ("data", "bits", "fill", "npy")
_CONTAINERS = ("sequence", "map", "optional")
#: Every form of a value, and what it is in one that has another form.
FORMS = {form: getattr(ValueSpec(), form) for form in (*_CONTAINERS, *_FORMS)}


class ValueReader:
    """Reads the values of one case.

    ``folder`` is that of the case file; ``types`` maps type parameters to element types.
    """

    def __init__(self, folder: Path, types: dict[str, str]) -> None:
        self.folder = folder
        self.types = types

    def read(self, spec: ValueSpec, *, output: bool) -> Expected:
        """Return a value; only outputs may have undefined elements.

        Raises ``CaseError`` with the path inside the value.
        """
        given = [form for form, absent in FORMS.items() if getattr(spec, form) is not absent]
        if len(given) > 1:
            raise CaseError((), " and ".join(given), "one of them")
        form = given[0] if given else ""
        if spec.shape is not None and form in _CONTAINERS:
            raise CaseError(("shape",), f"a shape beside {form}", "a shape for a tensor only")
        if form == "sequence":
            return self._sequence(spec, output)
        if form == "optional":
            return self._optional(spec, output)
        if form == "map":
            return self._map(spec, output)
        return self._tensor(spec, form, output)

    def type(self, text: str | None) -> TypeProto:
        """Read a ``dtype:``, type parameters replaced."""
        if text is None:
            raise CaseError((), "no dtype", "dtype, such as float32")
        replaced = replace_words(text, self.types)
        if replaced.count("(") > MAX_TYPE_DEPTH:
            raise CaseError(("dtype",), shorten(text), f"a type of at most {MAX_TYPE_DEPTH} levels")
        try:
            return parse_type(replaced)
        except KeyError as error:
            raise CaseError(
                ("dtype",), shorten(text), "an element type of ONNX or a type parameter",
                hint=f"{error.args[0]!r} is neither",
            ) from None  # fmt: skip

    def _element(self, spec: ValueSpec) -> ElementType:
        found = ELEMENT_TYPES.get(self.types.get(spec.dtype or "", spec.dtype or ""))
        if found:
            return found
        proto = self.type(spec.dtype)
        if proto.WhichOneof("value") != "tensor_type":
            raise CaseError(("dtype",), shorten(spec.dtype), "an element type for a tensor")
        return element_type(type_text(proto))

    def _sequence(self, spec: ValueSpec, output: bool) -> Expected:
        assert spec.sequence is not None
        items = self._items(spec.sequence, output)
        if spec.dtype is not None:
            inner = self.type(spec.dtype)
        elif items:
            inner = without_shape(items[0].type)
        else:
            raise CaseError((), "an empty sequence without dtype", "the dtype of its elements")
        for i, item in enumerate(items):
            if type_text(item.type) != type_text(inner):
                raise CaseError(("sequence", i), type_text(item.type), type_text(inner))
        return Expected("sequence", helper.make_sequence_type_proto(inner), items=items)

    def _items(self, specs: list[ValueSpec], output: bool) -> tuple[Expected, ...]:
        items = []
        for i, item in enumerate(specs):
            try:
                items.append(self.read(item, output=output))
            except CaseError as error:
                raise error.at("sequence", i) from None
        return tuple(items)

    def _optional(self, spec: ValueSpec, output: bool) -> Expected:
        assert not isinstance(spec.optional, msgspec.UnsetType)
        if spec.optional is None:
            inner = self.type(spec.dtype)
            return Expected("optional", helper.make_optional_type_proto(inner))
        try:
            item = self.read(spec.optional, output=output)
        except CaseError as error:
            raise error.at("optional") from None
        inner = without_shape(item.type)
        if spec.dtype is not None and type_text(self.type(spec.dtype)) != type_text(inner):
            raise CaseError(("dtype",), shorten(spec.dtype), f"{type_text(inner)}, as its value")
        return Expected("optional", helper.make_optional_type_proto(inner), items=(item,))

    def _map(self, spec: ValueSpec, output: bool) -> Expected:
        proto = self.type(spec.dtype)
        if proto.WhichOneof("value") != "map_type":
            raise CaseError(
                ("dtype",), shorten(spec.dtype), "a map type such as map(int64, float32)"
            )
        assert spec.map is not None
        key_type = element_type_of_number(proto.map_type.key_type)
        if key_type is None or not (key_type.is_integer or key_type.name == "string"):
            raise CaseError(("dtype",), shorten(spec.dtype), "integers or strings as keys")
        value_type = type_text(proto.map_type.value_type)
        items = []
        for key, raw in spec.map.items():
            try:
                to_array([key], key_type)
            except BadLiteral as error:
                raise CaseError(("map",), f"the key {error.seen}", error.wanted) from None
            scalar = ValueSpec(dtype=value_type, shape=[], data=raw)
            try:
                items.append(self._tensor(scalar, "data", output))
            except CaseError as error:
                raise CaseError(("map", key), error.seen, error.wanted) from None
        return Expected("map", proto, items=tuple(items), keys=tuple(spec.map))

    def _tensor(self, spec: ValueSpec, form: str, output: bool) -> Expected:
        element = self._element(spec)
        shape = None if spec.shape is None else _checked_shape(spec.shape, output)
        if shape is not None and (None in shape or (output and not form)):
            if form:
                wanted = "no data: nothing is compared"
                raise CaseError(("shape",), "a size of null beside data", wanted)
            # Without a size of null it is a random output; the builder sees to that.
            return Expected("tensor", tensor_type(element.number, shape), element.dtype, shape)
        sizes = None if shape is None else tuple(s for s in shape if s is not None)
        undefined = None
        if spec.npy is not None:
            array = self._npy(spec.npy, element, sizes)
        elif form == "fill":
            array = _filled(spec.fill, element, sizes)
        elif form:
            array, undefined = _literal(getattr(spec, form), form, element, sizes, output)
        else:
            raise no_value()
        proto = tensor_type(element.number, array.shape)
        return Expected("tensor", proto, element.dtype, array.shape, array, undefined)

    def _npy(self, name: str, element: ElementType, shape: tuple[int, ...] | None) -> NDArray[Any]:
        path = inside(self.folder, name, "npy")
        try:
            with path.open("rb") as file:
                array = np.lib.format.read_array(file, allow_pickle=False)
        except Exception as error:  # a damaged header raises almost anything
            seen = f"{name}: {' '.join(str(error).split())[:200]}"
            wanted = "a file that numpy.save wrote, without pickles"
            hint = ""
            if element.dtype.isbuiltin != 1:
                hint = f"save {element.name} as array.view(np.uint{8 * element.dtype.itemsize})"
            raise CaseError(("npy",), seen, wanted, hint=hint) from None
        array = _as_element(array, element, name)
        if array.size > MAX_ELEMENTS:
            raise CaseError(("npy",), f"{name} of {array.size} elements", f"at most {MAX_ELEMENTS}")
        if shape is not None and array.shape != shape:
            raise CaseError(("shape",), str(list(shape)), f"{list(array.shape)}, the file's shape")
        return array


def _as_element(array: NDArray[Any], element: ElementType, name: str) -> NDArray[Any]:
    """Return the array of an npy file in the dtype of an element type.

    NumPy writes its own dtypes only: strings come as Unicode, and the types of ml_dtypes as
    opaque bytes or unsigned integers of the same size.
    """
    if array.dtype == element.dtype:
        return array
    if element.name == "string" and array.dtype.kind == "U":
        return array.astype(object)
    opaque = array.dtype.kind == "u" or (array.dtype.kind == "V" and array.dtype.names is None)
    foreign = element.dtype.isbuiltin != 1 and array.dtype.itemsize == element.dtype.itemsize
    if not (opaque and foreign):
        raise CaseError(("npy",), f"{name} of dtype {array.dtype}", element.name)
    values = np.ascontiguousarray(array).reshape(array.shape).view(element.dtype)
    if element.bits < 8:
        whole = np.array(values.astype(np.float64)).astype(element.dtype)
        if whole.tobytes() != values.tobytes():
            seen = f"{name} with bytes that are no {element.name}"
            raise CaseError(("npy",), seen, f"{element.bits} bits in each byte")
    return values


def without_shape(proto: TypeProto) -> TypeProto:
    """Return a type with its tensor shapes left open."""
    return parse_type(type_text(proto))


def replace_words(text: str, words: dict[str, str]) -> str:
    """Replace whole words, the type parameters of a type expression."""
    return re.sub(r"\w+", lambda found: words.get(found[0], found[0]), text)


def inside(folder: Path, name: str, key: str) -> Path:
    """Return the path of a file below a folder; raises ``CaseError`` for one outside it."""
    wanted = "a file below the case file's folder"
    if "\0" in name:  # Python 3.13 says no more than that there is no such file
        raise CaseError((key,), f"{shorten(name)}, with a null byte", wanted)
    try:
        path = (folder / name).resolve()
        is_file = path.is_file()
    except (OSError, ValueError) as error:
        raise CaseError((key,), f"{shorten(name)}: {error.args[-1]}", wanted) from None
    if not path.is_relative_to(folder.resolve()):
        raise CaseError((key,), f"{shorten(name)}, which is outside", wanted)
    if not is_file:
        raise CaseError((key,), f"{shorten(name)}, which is no file", wanted)
    return path


def _checked_shape(shape: list[int | None], output: bool) -> tuple[int | None, ...]:
    for i, size in enumerate(shape):
        if size is None and not output:
            raise CaseError(("shape", i), "null in an input", "a size")
        if size is not None and size < 0:
            raise CaseError(("shape", i), shorten(size), "a size of 0 or more")
    _check_size([size for size in shape if size is not None], len(shape), "shape")
    return tuple(shape)


def _check_size(sizes: Sequence[int], rank: int, key: str) -> None:
    if rank > MAX_RANK:
        raise CaseError((key,), f"{rank} axes", f"at most {MAX_RANK}")
    largest = prod(size for size in sizes if size)
    if largest > MAX_ELEMENTS:
        raise CaseError((key,), count(largest, "element"), f"at most {MAX_ELEMENTS}")


def _filled(fill: Any, element: ElementType, shape: tuple[int, ...] | None) -> NDArray[Any]:
    if shape is None:
        raise CaseError((), "fill without shape", "the shape to fill")
    try:
        return np.full(shape, to_array([fill], element)[0], element.dtype)
    except BadLiteral as error:
        raise CaseError(("fill",), error.seen, error.wanted) from None


def _literal(
    raw: Any, key: str, element: ElementType, shape: tuple[int, ...] | None, output: bool
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Read ``data`` or ``bits``; return the array and its undefined elements."""
    nested = nested_shape(raw, key)
    _check_size(nested, len(nested), key)
    if shape is None:
        shape = nested
    elif nested != shape and (prod(nested) != prod(shape) or len(nested) > 1):
        counts = count(prod(nested), "element")
        given = counts if len(nested) < 2 else f"data of shape {list(nested)}"
        raise CaseError(("shape",), f"{list(shape)} beside {given}", "a shape that fits its data")
    leaves = flat(raw)
    missing = [i for i, leaf in enumerate(leaves) if leaf is None] if None in leaves else []
    if missing and not output:
        raise CaseError((key, *_index(missing[0], nested)), "null in an input", "a value")
    read = to_array if key == "data" else from_bits
    defined = [leaf for leaf in leaves if leaf is not None] if missing else leaves
    try:
        values = read(defined, element)
    except BadLiteral as error:
        place = _index(_first_bad(leaves, read, element), nested)
        raise CaseError((key, *place), error.seen, error.wanted) from None
    if not missing:
        return values.reshape(shape), None
    undefined = np.zeros(len(leaves), np.bool_)
    undefined[missing] = True
    array = np.zeros(len(leaves), element.dtype)
    if element.name == "string":
        array[:] = ""
    array[~undefined] = values
    return array.reshape(shape), undefined.reshape(shape)


def _first_bad(leaves: list[Any], read: Any, element: ElementType) -> int:
    """Return the position of the first leaf that cannot be read."""
    for i, leaf in enumerate(leaves):
        try:
            read([] if leaf is None else [leaf], element)
        except BadLiteral:
            return i
    return 0


def _index(position: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the indices that lead to a position in nested lists."""
    return tuple(int(k) for k in np.unravel_index(position, shape)) if shape else ()


def nested_shape(raw: Any, key: str) -> tuple[int, ...]:
    """Return the shape of nested lists; raises ``CaseError`` where rows differ."""
    if isinstance(raw, dict):
        raise CaseError((key,), "a mapping", "a number or nested lists of numbers")
    if not isinstance(raw, list):
        return ()
    if not raw:
        return (0,)
    if {list, dict}.isdisjoint(map(type, raw)):
        return (len(raw),)
    first = nested_shape(raw[0], key)
    for i, row in enumerate(raw[1:], start=1):
        if isinstance(row, list) or first:
            seen = nested_shape(row, key)
            if seen != first:
                what = f"a row of shape {list(seen)}" if seen else shorten(row)
                raise CaseError((key, i), what, f"shape {list(first)} like the rows before it")
    return (len(raw), *first)


def flat(raw: Any) -> list[Any]:
    """Return the leaves of nested lists in order."""
    if not isinstance(raw, list):
        return [raw]
    if list not in map(type, raw):
        return raw
    return [leaf for row in raw for leaf in flat(row)]


def no_value() -> CaseError:
    """Return the error for a value of which nothing is said."""
    return CaseError((), "no value", f"one of {', '.join(_FORMS)}, sequence, optional, map")


def value_of(expected: Expected) -> Value:
    """Return the plain value of an input."""
    if expected.kind == "tensor":
        return expected.value
    if expected.kind == "sequence":
        return [value_of(item) for item in expected.items]
    if expected.kind == "optional":
        return value_of(expected.items[0]) if expected.items else None
    scalars = [item.value.item() if item.value is not None else None for item in expected.items]
    return dict(zip(expected.keys, scalars, strict=True))
