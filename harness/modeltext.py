"""From models to what a case file says of them: a node and its attributes, or a text.

Whatever is written is read back, and kept only where it gives the same model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import onnx.printer
from onnx import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    TypeProto,
    numpy_helper,
)

from . import nodes, onnxtext
from .case import Expected
from .dtypes import type_text
from .errors import CaseError
from .spelling import attribute_float

#: Longer texts are no pleasure to read; such models become files.
MAX_TEXT = 20_000
_NAME = re.compile(r"[^\s(),]+")
Kind = AttributeProto.AttributeType


def as_node(
    model: ModelProto, inputs: Mapping[str, Expected], outputs: Mapping[str, Expected]
) -> dict[str, Any] | None:
    """Return ``opset``, ``node`` and ``attributes`` of a model of one node.

    ``None`` for a model that they do not say, in which more than a node and its types is told.
    """
    graph = model.graph
    extra = (graph.initializer, graph.sparse_initializer, model.functions)
    if len(graph.node) != 1 or any(map(len, extra)):
        return None
    [node] = graph.node
    domain = _domain(node.domain)
    opsets = {_domain(o.domain): o.version for o in model.opset_import}
    if domain not in opsets or _domains(graph) != {domain}:
        return None
    used = list(dict.fromkeys(filter(None, node.input)))
    if [v.name for v in graph.input] != used or list(inputs) != used:
        return None
    if [v.name for v in graph.output] != list(filter(None, node.output)):
        return None
    if not all(map(_NAME.fullmatch, filter(None, (*node.input, *node.output)))):
        return None
    try:
        attributes = _attributes(node)
        signature = _signature(node)
        entry = {"opset": opsets[domain], "node": signature}
        rebuilt = _rebuilt(entry, attributes, inputs, outputs)
    except (CaseError, UnicodeDecodeError):
        return None
    if _canonical_node(rebuilt.graph.node[0]) != _canonical_node(node):
        return None
    if not _same_types(rebuilt.graph, graph):
        return None
    return {**entry, "attributes": attributes} if attributes else entry


def _rebuilt(
    entry: Mapping[str, Any],
    attributes: dict[str, Any],
    inputs: Mapping[str, Expected],
    outputs: Mapping[str, Expected],
) -> ModelProto:
    """Return the model that a case with this node would have."""
    signature = nodes.parse_signature(entry["node"])
    schema = nodes.find_schema(signature.domain, signature.operator, entry["opset"], "node")
    protos = nodes.make_attributes(attributes, schema, {})
    types = {name: value.type for name, value in inputs.items()}
    fallback = {name: value.type for name, value in outputs.items()}
    return nodes.make_model(signature, schema, entry["opset"], protos, types, fallback)


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _domains(graph: GraphProto) -> set[str]:
    """Return the domains of the nodes of a graph, bodies included."""
    found = {_domain(node.domain) for node in graph.node}
    for node in graph.node:
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                found |= _domains(body)
    return found


def _signature(node: NodeProto) -> str:
    domain = _domain(node.domain)
    name = f"{domain}.{node.op_type}" if domain else node.op_type
    return f"{name}({_places(node.input)}) -> ({_places(node.output)})"


def _places(names: Any) -> str:
    """Return names separated by commas; a single empty place needs one to be seen."""
    return ", ".join(names) if list(names) != [""] else ","


def _attributes(node: NodeProto) -> dict[str, Any]:
    """Return the attributes of a node as literals; raises ``CaseError`` for one that has none."""
    return {attribute.name: _literal(attribute) for attribute in node.attribute}


def _literal(attribute: AttributeProto) -> Any:
    if attribute.ref_attr_name:
        raise CaseError((), "a reference to an attribute of a function", "a value")
    if attribute.type == Kind.INT:
        return int(attribute.i)
    if attribute.type == Kind.FLOAT:
        return attribute_float(attribute.f)
    if attribute.type == Kind.STRING:
        return attribute.s.decode()
    if attribute.type == Kind.INTS:
        return [int(i) for i in attribute.ints]
    if attribute.type == Kind.FLOATS:
        return [attribute_float(f) for f in attribute.floats]
    if attribute.type == Kind.STRINGS:
        return [s.decode() for s in attribute.strings]
    if attribute.type == Kind.GRAPH:
        return graph_text(attribute.g)
    if attribute.type == Kind.GRAPHS:
        return [graph_text(g) for g in attribute.graphs]
    raise CaseError((), "an attribute", "numbers, strings or graphs")


def graph_text(graph: GraphProto) -> str:
    """Return a body in ONNX's text syntax; raises ``CaseError`` where the text says less."""
    text = _printed(graph)
    if _canonical_graph(onnxtext.parse_graph(text, {})) != _canonical_graph(graph):
        raise CaseError((), "a graph that ONNX's text syntax cannot say", "one that it can")
    return text


def model_text(model: ModelProto) -> str | None:
    """Return a model in ONNX's text syntax; ``None`` where the text is long or says less."""
    if model.ByteSize() > MAX_TEXT:
        return None
    bare = _bare(model)
    try:
        text = _printed(bare)
        read = onnxtext.parse_model(text, {}, None)
    except CaseError:
        return None
    return text if len(text) <= MAX_TEXT and canonical(read) == canonical(model) else None


def _bare(model: ModelProto) -> ModelProto:
    """Return the model without what the text syntax does not keep and no runtime needs."""
    bare = ModelProto()
    bare.CopyFrom(model)
    for name in ("producer_name", "producer_version", "domain", "model_version", "doc_string"):
        bare.ClearField(name)
    bare.ClearField("metadata_props")
    _strip(bare.graph)
    bare.graph.name = re.sub(r"\W", "_", model.graph.name) or "g"
    if bare.graph.name[0].isdigit():
        bare.graph.name = f"g_{bare.graph.name}"
    return bare


def _strip(graph: GraphProto) -> None:
    for field in ("doc_string", "value_info", "metadata_props"):
        graph.ClearField(field)
    for node in graph.node:
        for field in ("name", "doc_string", "metadata_props"):
            node.ClearField(field)
        for attribute in node.attribute:
            attribute.ClearField("doc_string")
            for body in (attribute.g, *attribute.graphs) if _has_body(attribute) else ():
                _strip(body)


def _has_body(attribute: AttributeProto) -> bool:
    return attribute.type in (Kind.GRAPH, Kind.GRAPHS)


def _printed(proto: Any) -> str:
    try:
        text = str(onnx.printer.to_text(proto))
    except Exception as error:  # the printer refuses some valid models
        raise CaseError((), " ".join(str(error).split())[:200], "a printable graph") from None
    lines = [re.sub(r"^(   )+", _two_for_three, line.rstrip()) for line in text.split("\n")]
    return "\n".join(lines).strip() + "\n"


def _two_for_three(found: re.Match[str]) -> str:
    return " " * (len(found[0]) // 3 * 2)


# What two models have in common that mean the same.


def canonical(model: ModelProto) -> bytes:
    """Return the bytes that models have in common which differ in names and spelling only.

    Producers, documentation, and names of graphs and nodes do not count; neither does how a tensor
    is stored, nor the order of attributes.
    """
    opsets = sorted((_domain(o.domain), o.version) for o in model.opset_import)
    functions = []
    for function in model.functions:
        copy = type(function)()
        copy.CopyFrom(function)
        copy.ClearField("doc_string")
        copy.ClearField("node")
        nodes_ = [_canonical_node(node) for node in function.node]
        functions.append((copy.SerializeToString(deterministic=True), nodes_))
    return repr((model.ir_version, opsets, _canonical_graph(model.graph), functions)).encode()


def _canonical_graph(graph: GraphProto) -> Any:
    return (
        [_canonical_node(node) for node in graph.node],
        sorted(_canonical_tensor(tensor, tensor.name) for tensor in graph.initializer),
        [tensor.SerializeToString(deterministic=True) for tensor in graph.sparse_initializer],
        [(v.name, _type(v.type)) for v in graph.input],
        [(v.name, _type(v.type)) for v in graph.output],
    )


def _type(proto: TypeProto) -> bytes:
    return bytes(proto.SerializeToString(deterministic=True))


def _canonical_node(node: NodeProto) -> Any:
    attributes = sorted((a.name, _canonical_attribute(a)) for a in node.attribute)
    inputs, outputs = list(node.input), list(node.output)
    return _domain(node.domain), node.op_type, node.overload, inputs, outputs, attributes


def _canonical_attribute(attribute: AttributeProto) -> Any:
    if attribute.type == Kind.TENSOR:
        return repr(_canonical_tensor(attribute.t, ""))
    if attribute.type == Kind.TENSORS:
        return repr([_canonical_tensor(tensor, "") for tensor in attribute.tensors])
    if attribute.type == Kind.GRAPH:
        return repr(_canonical_graph(attribute.g))
    if attribute.type == Kind.GRAPHS:
        return repr([_canonical_graph(graph) for graph in attribute.graphs])
    copy = AttributeProto()
    copy.CopyFrom(attribute)
    copy.ClearField("doc_string")
    return repr(copy.SerializeToString(deterministic=True))


def _canonical_tensor(tensor: TensorProto, name: str) -> Any:
    if tensor.data_type == TensorProto.STRING:
        return name, tensor.data_type, tuple(tensor.dims), repr(list(tensor.string_data)).encode()
    try:
        array = numpy_helper.to_array(tensor)
    except Exception:  # data that do not fit the dims, say: only the same bytes are the same
        return name, tensor.data_type, (), tensor.SerializeToString(deterministic=True)
    return name, tensor.data_type, array.shape, array.tobytes()


def _same_types(rebuilt: GraphProto, graph: GraphProto) -> bool:
    """Tell whether inputs have the same types, and outputs such that do not contradict."""
    same = all(_equal(a.type, b.type) for a, b in zip(rebuilt.input, graph.input, strict=True))
    return same and all(
        _agree(a.type, b.type) for a, b in zip(rebuilt.output, graph.output, strict=True)
    )


def _equal(left: TypeProto, right: TypeProto) -> bool:
    """Tell whether two types of inputs are equal, whatever names their dimensions have."""
    if left.HasField("tensor_type") and right.HasField("tensor_type"):
        return type_text(left) == type_text(right) and _dims(left) == _dims(right)
    return _type(left) == _type(right)


def _agree(left: TypeProto, right: TypeProto) -> bool:
    """Tell whether two declared types of an output may be those of one value."""
    if type_text(left) != type_text(right):
        return False
    one, other = _dims(left), _dims(right)
    if one is None or other is None:
        return True
    return len(one) == len(other) and all(
        a is None or b is None or a == b for a, b in zip(one, other, strict=True)
    )


def _dims(proto: TypeProto) -> list[int | None] | None:
    """Return the declared sizes, ``None`` for an open one; ``None`` where no shape is declared."""
    if not proto.HasField("tensor_type") or not proto.tensor_type.HasField("shape"):
        return None
    return [d.dim_value if d.HasField("dim_value") else None for d in proto.tensor_type.shape.dim]
