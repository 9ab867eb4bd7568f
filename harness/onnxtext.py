"""Bodies and whole models in ONNX's text syntax, as case files have them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import onnx.defs
import onnx.parser
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, helper

from .dtypes import element_type, element_type_of_number
from .errors import CaseError, described, shorten

#: Body initializers that are no graph inputs came with IR version 4.
MIN_IR_VERSION = 4

#: Deeper brackets are refused: protobuf reads 100 messages deep, and the parser is recursive.
MAX_TEXT_DEPTH = 32

#: What the text syntax has between types: strings and comments.
_NO_TYPES = r'"(?:\\.|[^"\\])*"|#[^\n]*'
_PARSE_ERROR = re.compile(
    r"\[ParseError at position \(line: (\d+) column: (\d+)\)\]\s*Error context: (.*?)\s*([^\n]*)",
    re.DOTALL,
)


def parse_graph(raw: Any, types: Mapping[str, str]) -> GraphProto:
    """Read a body in ONNX's text syntax; raises ``CaseError``."""
    if not isinstance(raw, str):
        raise CaseError((), described(raw), "a graph in ONNX's text syntax")
    model = _parse(_model_text(raw, types, onnx.defs.onnx_opset_version()), "a graph")
    if model.functions:
        raise CaseError((), "a function behind the graph", "a graph in ONNX's text syntax")
    return model.graph


def parse_model(text: str, types: Mapping[str, str], opset: int | None) -> ModelProto:
    """Read a whole model in ONNX's text syntax; ``opset`` serves where it names none."""
    if text.lstrip().startswith("<"):
        text = "\n" + substitute(text, types)
    elif opset is None:
        raise CaseError(("model",), "no opset", "an opset for the case, or one in the model")
    else:
        text = _model_text(text, types, opset)
    try:
        return _parse(text, "a model")
    except CaseError as error:
        raise error.at("model") from None


def _model_text(text: str, types: Mapping[str, str], opset: int) -> str:
    """Put the line before a graph that makes a model of it."""
    header = f'<ir_version: {ir_version(opset)}, opset_import: ["" : {opset}]>'
    return f"{header}\n{substitute(text, types)}"


def _parse(text: str, what: str) -> ModelProto:
    """Parse a model whose first line is not the author's."""
    wanted = f"{what} in ONNX's text syntax"
    if not text.partition("\n")[2].strip():
        raise CaseError((), "an empty text", wanted)
    if _depth(text) > MAX_TEXT_DEPTH:
        raise CaseError((), f"brackets nested more than {MAX_TEXT_DEPTH} deep", wanted)
    try:
        model = onnx.parser.parse_model(text)
    except onnx.parser.ParseError as error:
        raise CaseError((), _parse_message(error), wanted) from None
    except (ValueError, RuntimeError) as error:
        raise CaseError((), " ".join(str(error).split())[:300], wanted) from None
    _check_literals(model.graph)
    for function in model.functions:
        _check_literals(GraphProto(node=function.node))
    return model


def _depth(text: str) -> int:
    """Return how deep the brackets of a text nest."""
    depth = deepest = 0
    for bracket in re.findall(r"[(\[{<>}\])]", re.sub(f"{_NO_TYPES}|[=-]>", "", text)):
        depth = depth + 1 if bracket in "([{<" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest


def _parse_message(error: onnx.parser.ParseError) -> str:
    """Make one line of the parser's message, with the line counted in the author's text."""
    raw = error.args[0] if error.args else ""
    text = raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw)
    found = _PARSE_ERROR.fullmatch(text.strip())
    if found is None:
        return " ".join(text.split())[:300]
    context = " ".join(found[3].split())
    problem = found[4].strip().rstrip(".")
    place = f"at line {int(found[1]) - 1}, column {found[2]} of the text"
    return f"{shorten(context)} {place}: {problem[:1].lower()}{problem[1:]}"


def substitute(text: str, types: Mapping[str, str]) -> str:
    """Replace type parameters where ONNX's text syntax has a type.

    A type stands before a name or a tensor literal, inside ``seq(...)`` and its like, or as the
    value of an attribute called ``type``.
    """
    if not types:
        return text
    parameter = rf"\b(?:{'|'.join(map(re.escape, types))})\b"
    dims = r"\s*(?:\[[^\]]*\])?\s*"
    outer = r"\b(?:(?:seq|optional|sparse_tensor)\s*\(|map\s*\(\s*\w+\s*,)\s*"
    pattern = (
        rf"(?P<other>{_NO_TYPES})"
        rf"|(?P<before>{outer})(?P<inner>{parameter})(?={dims}\))"
        rf"|(?P<named>\btype\s*=\s*)(?P<value>{parameter})"
        rf"|(?P<plain>{parameter})(?={dims}[\w\"{{])"
    )

    def replaced(found: re.Match[str]) -> str:
        if found["other"] is not None:
            return found[0]
        word = found["inner"] or found["value"] or found["plain"]
        before = found["before"] or found["named"] or ""
        return before + element_type(types[word]).text

    return re.sub(pattern, replaced, text)


@lru_cache(1024)
def ir_version(opset: int) -> int:
    """Return the IR version that models of an opset are written in."""
    imports = [helper.make_opsetid("", opset)]
    return max(MIN_IR_VERSION, helper.find_min_ir_version_for(imports, ignore_unknown=True))


def _check_literals(graph: GraphProto) -> None:
    """Refuse tensor literals that the parser takes for something else than numbers.

    It stores ``float16[2] {1, 2}`` as the bit patterns 1 and 2, and does the like with every
    type that the protobuf has no field for. Zeros mean the same in both readings.
    """
    for tensor in _tensors(graph):
        element = element_type_of_number(tensor.data_type)
        if element is None:
            continue
        as_bits = element.is_float and element.bits < 32
        packed = element.is_integer and element.bits < 8
        zeros = not any(tensor.int32_data) and element.name != "float8e8m0"
        if (as_bits or packed) and len(tensor.int32_data) and not zeros:
            wanted = "a float literal and a Cast"
            hint = f"ONNX's text syntax reads the numbers of {element.name} as bit patterns"
            raise CaseError((), f"a literal of {element.name}", wanted, hint=hint)


def _tensors(graph: GraphProto) -> Iterator[TensorProto]:
    """Return the tensors of a graph and of its bodies: initializers and attributes."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                yield attribute.t
            elif attribute.type == AttributeProto.GRAPH:
                yield from _tensors(attribute.g)
