"""Reads values as specification pages print them: NumPy's text below a line of name and type.

The digits on the page are the literal: an integer never passes through a float, a float is rounded
once, from its digits, to its type.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TypeProto

from .case import Expected
from .dtypes import ElementType, element_type, parse_type, tensor_type, type_text
from .errors import CaseError, shorten
from .literals import BadLiteral, Todo, to_array
from .spelling import Aside, no_file, spelled
from .values import MAX_ELEMENTS, MAX_RANK, nested_shape

#: How deep sequences and optionals may nest on a page.
MAX_DEPTH = 16
#: What stands for an element that the specification leaves undefined, and the line that says so.
UNDEFINED, UNDEFINED_LINE = "*", "(* is undefined)"

#: What comes before the one element of a tensor full of it.
ALL_ALIKE = "every element is "

_TENSOR = re.compile(r"shape=\((?P<shape>[\d, ]*)\), *dtype=(?P<dtype>\w+)")
_ANY_VALUES = re.compile(r"(?P<dtype>\w+)(?:\[(?P<shape>[\d?, ]*)\])?, any values")
_CONTAINER = re.compile(
    r"(?:a sequence of (?P<length>\d{1,9}) (?P<item>.+)|an (?P<empty>empty )?optional (?P<held>.+)"
    r"|a (?P<map>map\(.+\)))"
)
_TOKEN = re.compile(
    r"""\s*(?:(?P<mark>[\[\],])|(?P<string>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")"""
    r"""|(?P<word>[^\[\],'"\s][^\[\],'"]*))"""
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page: its number from 1, its indentation and its text."""

    number: int
    indent: int
    text: str


def at_line(line: int, seen: str, wanted: str) -> CaseError:
    """Return the error for something on a line of a page."""
    return CaseError((), seen, wanted, line=line)


@dataclass(frozen=True, slots=True)
class Printed:
    """A value as it stands on a page: its head, and the lines below it."""

    name: str
    head: str
    line: int
    below: list[Line]


def printed_values(lines: list[Line]) -> Iterator[Printed]:
    """Split lines into values: a head, and what is indented further below it."""
    i = 0
    while i < len(lines):
        first = lines[i]
        name, found, head = first.text.strip().partition(": ")
        if not found:
            raise at_line(first.number, shorten(first.text), "a name and what it is: X: shape=...")
        end = i + 1
        while end < len(lines) and lines[end].indent > first.indent:
            end += 1
        yield Printed(name, head.strip(), first.number, lines[i + 1 : end])
        i = end


def literal_of(value: Printed, aside: Aside, inline: int, depth: int = 0) -> dict[str, Any]:
    """Return a printed value as a case file has it; raises ``CaseError`` with its line.

    A tensor with values left out (``...``) gets the word ``TODO`` for its data.
    """
    if depth > MAX_DEPTH:
        raise at_line(value.line, f"values nested more than {MAX_DEPTH} deep", "fewer")
    tensor = _TENSOR.fullmatch(value.head)
    if tensor:
        return _tensor(value, tensor, aside, inline)
    open_tensor = _ANY_VALUES.fullmatch(value.head)
    if open_tensor:
        element = _element(open_tensor["dtype"], value.line)
        sizes = [s.strip() for s in (open_tensor["shape"] or "").split(",") if s.strip()]
        if not all(re.fullmatch(r"\?|\d{1,18}", size) for size in sizes):
            raise at_line(value.line, shorten(value.head), "a shape such as [2, ?]")
        shape = [None if size == "?" else int(size) for size in sizes]
        _nothing_below(value)
        return {"dtype": element.name, "shape": shape}
    container = _CONTAINER.fullmatch(value.head)
    if container is None:
        wanted = "shape=(2, 3), dtype=float32, a sequence of N T, an optional T or a map(K, T)"
        raise at_line(value.line, shorten(value.head), wanted)
    items = list(printed_values(value.below))
    if container["map"]:
        return _map(value, items, container["map"], aside)
    if container["held"]:
        return _optional(value, items, container, aside, inline, depth)
    length = int(container["length"])
    if len(items) != length or any(item.name != f"[{i}]" for i, item in enumerate(items)):
        seen = f"{len(items)} items" if len(items) != length else "items of other names"
        raise at_line(value.line, seen, f"{length} items, [0] and so on")
    _type(container["item"], value.line)
    found = [literal_of(item, aside, inline, depth + 1) for item in items]
    return {"sequence": found} if found else {"sequence": found, "dtype": container["item"]}


def _optional(
    value: Printed, items: list[Printed], head: re.Match[str], aside: Aside, inline: int, depth: int
) -> dict[str, Any]:
    _type(head["held"], value.line)
    if len(items) != (0 if head["empty"] else 1):
        raise at_line(value.line, f"{len(items)} values", "none" if head["empty"] else "one")
    if head["empty"]:
        return {"optional": None, "dtype": head["held"]}
    return {"optional": literal_of(items[0], aside, inline, depth + 1)}


def _map(value: Printed, items: list[Printed], text: str, aside: Aside) -> dict[str, Any]:
    proto = _type(text, value.line)
    heads = [_TENSOR.fullmatch(item.head) for item in items]
    if [item.name for item in items] != ["keys", "values"] or None in heads:
        raise at_line(value.line, "something else below it", "two tensors, keys and values")
    keys, held = (_read(item, head) for item, head in zip(items, heads, strict=True) if head)
    for item, found in zip(items, (keys, held), strict=True):
        if found is None or len(found.shape) != 1:
            raise at_line(item.line, shorten(item.head), "a tensor of one axis, printed in full")
    assert keys is not None
    assert held is not None
    wanted = f"map({type_text(keys.type)}, {type_text(held.type)})"
    if type_text(proto) != wanted:
        raise at_line(value.line, type_text(proto), f"{wanted}, as its keys and values")
    names = _array(keys).tolist()
    if len(names) != len(_array(held)) or len(set(names)) != len(names):
        counts = f"{len(set(names))} different keys and {len(_array(held))} values"
        raise at_line(value.line, counts, "a value for each key, and each key once")
    scalar = tensor_type(held.type.tensor_type.elem_type, ())
    elements = [_array(held)[i : i + 1].reshape(()) for i in range(len(names))]
    scalars = [Expected("tensor", scalar, held.dtype, (), element) for element in elements]
    whole = Expected("map", proto, items=tuple(scalars), keys=tuple(names))
    return spelled(whole, aside, MAX_ELEMENTS)


def _array(tensor: Expected) -> NDArray[Any]:
    assert tensor.value is not None
    return tensor.value


def _type(text: str, line: int) -> TypeProto:
    try:
        if text.count("(") > MAX_DEPTH:
            raise KeyError(text)
        return parse_type(text)
    except KeyError:
        raise at_line(line, shorten(text), "a type such as float32 or seq(float32)") from None


def _element(name: str, line: int) -> ElementType:
    try:
        return element_type(name)
    except KeyError:
        raise at_line(line, shorten(name), "an element type of ONNX") from None


def _nothing_below(value: Printed) -> None:
    if value.below:
        raise at_line(value.below[0].number, shorten(value.below[0].text), "nothing more")


def _tensor(value: Printed, head: re.Match[str], aside: Aside, inline: int) -> dict[str, Any]:
    if value.below and value.below[0].text.strip().startswith(ALL_ALIKE):
        return _filled(value, head)
    found = _read(value, head)
    if found is not None:
        return spelled(found, aside, inline)
    element, shape = _head(value, head)
    todo = Todo("the page leaves values out")
    return {"dtype": element.name, "shape": list(shape), "data": todo}


def _filled(value: Printed, head: re.Match[str]) -> dict[str, Any]:
    """Return a tensor that is printed as the one element it is full of."""
    element, shape = _head(value, head)
    line, *more = value.below
    if more:
        raise at_line(more[0].number, shorten(more[0].text), "nothing more")
    text = Line(line.number, line.indent, line.text.strip().removeprefix(ALL_ALIKE))
    leaves, nested = _leaves([text], element)
    if nested != ():
        raise at_line(line.number, shorten(line.text), f"{ALL_ALIKE}X")
    one = spelled(_expected(leaves, (), element, line.number), no_file, 1)
    if "data" not in one or one["data"] is None:
        raise at_line(line.number, shorten(line.text), "an element with a literal")
    return {"dtype": element.name, "shape": list(shape), "fill": one["data"]}


def _head(value: Printed, head: re.Match[str]) -> tuple[ElementType, tuple[int, ...]]:
    element = _element(head["dtype"], value.line)
    sizes = [size.strip() for size in head["shape"].split(",") if size.strip()]
    if len(sizes) > MAX_RANK or not all(re.fullmatch(r"\d{1,18}", size) for size in sizes):
        raise at_line(value.line, shorten(value.head), f"a shape of at most {MAX_RANK} axes")
    return element, tuple(map(int, sizes))


def _read(value: Printed, head: re.Match[str]) -> Expected | None:
    """Return a tensor; ``None`` where values are left out."""
    element, shape = _head(value, head)
    lines = [line for line in value.below if line.text.strip() != UNDEFINED_LINE]
    if not lines:
        raise at_line(value.line, "no elements below it", "the tensor, printed by NumPy")
    leaves, nested = _leaves(lines, element)
    if nested is None:
        return None
    if nested != shape and (leaves or 0 not in shape):
        seen = f"shape {shape} above elements of shape {nested}"
        raise at_line(value.line, seen, "the shape that the brackets show")
    return _expected(leaves, shape, element, value.line)


def _expected(
    leaves: list[tuple[Any, int]], shape: tuple[int, ...], element: ElementType, line: int
) -> Expected:
    """Return the tensor of leaves, each with its line."""
    hidden = [leaf is None for leaf, _ in leaves]
    given = [leaf for leaf, _ in leaves if leaf is not None]
    try:
        values = to_array(given, element)
    except BadLiteral as error:
        for leaf, place in leaves:
            try:
                to_array([] if leaf is None else [leaf], element)
            except BadLiteral:
                line = place
                break
        raise at_line(line, error.seen, error.wanted) from None
    undefined = None
    if any(hidden):
        undefined = np.array(hidden).reshape(shape)
        whole = np.zeros(len(leaves), element.dtype)
        whole[~undefined.reshape(-1)] = values
        values = whole
    proto = tensor_type(element.number, shape)
    return Expected("tensor", proto, element.dtype, shape, values.reshape(shape), undefined)


def _leaves(
    lines: list[Line], element: ElementType
) -> tuple[list[tuple[Any, int]], tuple[int, ...] | None]:
    """Return the elements with their lines, and the shape that the brackets show.

    No shape where ``...`` leaves elements out.
    """
    stack: list[list[Any]] = [[]]
    leaves: list[tuple[Any, int]] = []
    cut = False
    for token, line in _tokens(lines):
        if token == "[":
            stack.append([])
            if len(stack) > MAX_RANK + 1:
                raise at_line(line, f"more than {MAX_RANK} brackets", "fewer axes")
        elif token == "]":
            if len(stack) < 2:
                raise at_line(line, "a bracket that closes nothing", "brackets in pairs")
            inner = stack.pop()
            stack[-1].append(inner)
        elif token != ",":
            words = _words(token, element)
            cut = cut or "..." in words
            for word in words if not cut else ():
                stack[-1].append(0)
                leaves.append((_leaf(word, element, line), line))
    last = lines[-1].number
    if len(stack) != 1:
        raise at_line(last, "a bracket that is not closed", "brackets in pairs")
    if cut:
        return leaves, None
    if len(stack[0]) != 1:
        raise at_line(lines[0].number, f"{len(stack[0])} arrays or elements", "one")
    try:
        return leaves, nested_shape(stack[0][0], "data")
    except CaseError as error:
        raise at_line(lines[0].number, error.seen, error.wanted) from None


def _tokens(lines: list[Line]) -> Iterator[tuple[str, int]]:
    for line in lines:
        place, text = 0, line.text.rstrip()
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None:
                raise at_line(line.number, shorten(text[place:]), "elements printed by NumPy")
            yield found["mark"] or found["string"] or found["word"].strip(), line.number
            place = found.end()


def _words(token: str, element: ElementType) -> list[str]:
    """Split elements that only spaces separate; inside a complex number they separate nothing."""
    if token[0] in "'\"":
        return [token]
    return [token.replace(" ", "")] if element.is_complex else token.split()


def _leaf(token: str, element: ElementType, line: int) -> Any:
    """Return an element as the literal of a case file; ``None`` for an undefined one."""
    if token == UNDEFINED:
        return None
    if element.name == "string":
        try:
            text = ast.literal_eval(token)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            text = None
        if not isinstance(text, str):
            raise at_line(line, shorten(token), "a string in quotes")
        return text
    if element.name == "bool":
        return {"True": True, "False": False}.get(token, token)
    whole = element.is_integer and re.fullmatch(r"[+-]?\d{1,1000}", token, re.ASCII)
    return int(token) if whole else token
