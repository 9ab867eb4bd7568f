"""One case as its specification page would show it: blocks of plain lines.

``docs/spec.md`` describes the layout, from which ``opcheck import`` reads cases again.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import onnx.printer
from numpy.typing import NDArray
from onnx import AttributeProto, NodeProto

from ..harness.case import Case, Expected, MustFail, Tolerance
from ..harness.dtypes import type_text
from ..harness.spec import Example
from ..harness.testdata import read_value
from .markup import visible

#: Tensors with more elements are printed with ``...``, as NumPy does it.
MAX_ELEMENTS = 1000
#: The width at which NumPy wraps rows.
WIDTH = 75


def page(case: Case, limit: int | None = MAX_ELEMENTS) -> str:
    """Return the node, the inputs and the outputs of a case in the layout of the pages.

    Tensors of more than ``limit`` elements are printed with ``...``, with ``None`` in full.
    """
    return "\n\n".join((node_block(case), values_block(case, limit)))


def example(case: Case, limit: int | None = MAX_ELEMENTS) -> Example:
    """Return a case as an example of a page."""
    return Example(
        name=case.title,
        case=case.id,
        opset=case.opset,
        why=case.why,
        node=node_block(case),
        values=values_block(case, limit),
        graphs=graphs(case),
    )


def node_block(case: Case) -> str:
    """Return the node with its attributes, or else the model."""
    node = _shown_node(case)
    if node is None:
        text = case.model_text.strip() or "(a model file)"
        return _text(["Model:", *_indented(text.splitlines())])
    lines = ["Node:", f"  {case.node or _signature(node)}"]
    if node.attribute:
        lines.append("  Attributes:")
    attributes = {a.name: _attribute_text(a) for a in node.attribute}
    lines += [f"    {name} = {attributes[name]}" for name in sorted(attributes)]
    return _text(lines)


def graphs(case: Case) -> dict[str, str]:
    """Return the graph attributes of a case in ONNX's text syntax."""
    node = _shown_node(case)
    if node is None:
        return {}
    return {
        a.name: _graph_text(case, a)
        for a in sorted(node.attribute, key=lambda a: a.name)
        if a.type == AttributeProto.GRAPH
    }


def graph_block(name: str, text: str) -> str:
    """Return a graph attribute as a block of its own."""
    return _text([f"Graph {name}:", *_indented(text.splitlines())])


def values_block(case: Case, limit: int | None = MAX_ELEMENTS) -> str:
    """Return the inputs, what is due, and how far it may be from that."""
    declared = {value.name: value.type for value in case.call.model.graph.input}
    sections = []
    inputs = [
        line
        for name, value in case.call.inputs.items()
        for line in _value(name, read_value(value, declared[name]), limit)
    ]
    if inputs:
        sections.append(["Inputs:", *_indented(inputs)])
    for i, alternative in enumerate(case.alternatives):
        sections += [["or"]] if i else []
        if isinstance(alternative, MustFail):
            sections.append(_error(alternative))
            continue
        outputs = [
            line
            for name, expected in zip(case.output_names, alternative, strict=True)
            for line in _value(name, expected, limit)
        ]
        sections.append(["Outputs:", *_indented(outputs)])
    if case.tolerances:
        shown = [f"{name}: {_tolerance(t)}" for name, t in case.tolerances.items()]
        sections.append(["Tolerance:", *_indented(shown)])
    return "\n\n".join(map(_text, sections))


def _text(lines: list[str]) -> str:
    return "\n".join(visible(line.rstrip()) for line in lines)


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" if line else "" for line in lines]


def _shown_node(case: Case) -> NodeProto | None:
    """Return the node of a case; that of ONNX test data too where it is all there is."""
    graph = case.call.model.graph
    node: NodeProto = graph.node[0] if graph.node else NodeProto()
    if case.node:
        return node
    if case.line or len(graph.node) != 1 or graph.initializer:
        return None
    outer = {value.name for value in graph.input}
    plain = all(_attribute_text(a) for a in node.attribute)
    ends = list(filter(None, node.output)) == [value.name for value in graph.output]
    return node if plain and ends and outer == set(filter(None, node.input)) else None


def _signature(node: NodeProto) -> str:
    name = node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
    return f"{name}({', '.join(node.input)}) -> ({', '.join(node.output)})"


def _attribute_text(attribute: AttributeProto) -> str:
    """Return an attribute as pages print it; empty for tensors and types."""
    kind = AttributeProto
    if attribute.type == kind.GRAPH:
        return "<subgraph>"
    if attribute.type in (kind.INT, kind.INTS):
        texts = [str(i) for i in (attribute.ints or [attribute.i])]
    elif attribute.type in (kind.FLOAT, kind.FLOATS):
        texts = [str(np.float32(f)) for f in (attribute.floats or [attribute.f])]
    elif attribute.type in (kind.STRING, kind.STRINGS):
        texts = [_quoted(s) for s in (attribute.strings or [attribute.s])]
    else:
        return ""
    if attribute.type in (kind.INT, kind.FLOAT, kind.STRING):
        return texts[0]
    empty = not (attribute.ints or attribute.floats or attribute.strings)
    return "[]" if empty else f"[{', '.join(texts)}]"


def _quoted(value: bytes | str) -> str:
    text = value.decode(errors="backslashreplace") if isinstance(value, bytes) else value
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _graph_text(case: Case, attribute: AttributeProto) -> str:
    written = case.attributes.get(attribute.name)
    if isinstance(written, str):
        return written.rstrip()
    try:
        return str(onnx.printer.to_text(attribute.g)).strip()
    except Exception:  # the printer refuses some valid graphs
        return "(cannot be printed)"


def _error(due: MustFail) -> list[str]:
    lines = ["Error:", "  the model must be rejected"]
    lines += [f"  phase = {due.phase}"] if due.phase else []
    return [*lines, f"  match = {_quoted(due.match)}"] if due.match else lines


def _tolerance(tolerance: Tolerance) -> str:
    parts = []
    for name in ("ulp", "rtol", "atol"):
        value = getattr(tolerance, name)
        parts += [] if value is None else [f"{name}={repr(value).removesuffix('.0')}"]
    return ", ".join([*parts, "signed_zero=True"] if tolerance.signed_zero else parts)


def _value(name: str, value: Expected, limit: int | None) -> list[str]:
    """Return a value: its name, shape and dtype, and the elements below it."""
    if value.kind == "tensor":
        return _tensor(name, value, limit)
    inner: list[str] = []
    if value.kind == "sequence":
        head = f"a sequence of {len(value.items)} {type_text(value.type.sequence_type.elem_type)}"
        for i, item in enumerate(value.items):
            inner += _value(f"[{i}]", item, limit)
    elif value.kind == "optional":
        kind = type_text(value.type.optional_type.elem_type)
        head = f"an optional {kind}" if value.items else f"an empty optional {kind}"
        for item in value.items:
            inner += _value("value", item, limit)
    else:
        head = f"a {type_text(value.type)}"
        for part, array in zip(("keys", "values"), _map_arrays(value), strict=True):
            inner += [_head(part, array), *_indented(array_text(array, limit).splitlines())]
    return [f"{name}: {head}", *_indented(inner)]


def _map_arrays(value: Expected) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the keys and the values of a map as arrays."""
    strings = any(isinstance(key, str) for key in value.keys)
    keys = np.array(value.keys, object if strings else np.int64)
    scalars = [item.value for item in value.items if item.value is not None]
    dtype = scalars[0].dtype if scalars else np.float32
    return keys, np.array([s.item() for s in scalars], dtype)


def _head(name: str, array: NDArray[Any]) -> str:
    dtype = "string" if array.dtype == np.dtype(object) else array.dtype.name
    return f"{name}: shape={array.shape}, dtype={dtype}"


def _tensor(name: str, value: Expected, limit: int | None) -> list[str]:
    """Return a tensor; ``*`` stands for an undefined element."""
    if value.value is None:
        sizes = ", ".join("?" if size is None else str(size) for size in value.shape)
        return [f"{name}: {type_text(value.type)}[{sizes}], any values"]
    lines = array_text(value.value, limit, value.undefined).splitlines()
    lines += [] if value.undefined is None else ["(* is undefined)"]
    return [_head(name, value.value), *_indented(lines)]


def array_text(
    array: NDArray[Any],
    limit: int | None = MAX_ELEMENTS,
    undefined: NDArray[np.bool_] | None = None,
) -> str:
    """Print an array as NumPy does, with commas, and with all digits that tell elements apart."""
    if array.size == 0:
        return "[]"
    if limit is not None and array.size > limit and undefined is None and _is_constant(array):
        return f"every element is {array_text(array.reshape(-1)[0:1].reshape(()))}"
    threshold = sys.maxsize if limit is None else limit
    with np.printoptions(threshold=threshold, linewidth=WIDTH, floatmode="unique"):
        if undefined is None:
            return np.array2string(array, separator=", ")
        shown = [np.array2string(array[(*place, ...)]) for place in np.ndindex(array.shape)]
        texts = np.array(shown, object).reshape(array.shape)
        texts[undefined] = "*"
        width = max(map(len, texts.reshape(-1)))
        return np.array2string(
            texts, separator=", ", formatter={"object": lambda text: str(text).rjust(width)}
        )


def _is_constant(array: NDArray[Any]) -> bool:
    """Whether all elements of an array have the same bytes."""
    if array.dtype == np.dtype(object):
        return bool((array == array.reshape(-1)[0]).all())
    rows = np.ascontiguousarray(array).reshape(-1, 1).view(np.uint8)
    return bool((rows == rows[0]).all())
