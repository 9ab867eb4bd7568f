"""What the HTML report draws of a model: nodes, the values between them, bodies inside nodes."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import onnx
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, ValueInfoProto, helper

from ..harness.dtypes import element_type_of_number, type_text
from .text import cut

#: A model with more nodes, those in its bodies counted, is listed and not drawn.
MAX_NODES = 60
#: Nodes of such a list.
MAX_LISTED = 500
#: Attributes are cut after so many characters.
MAX_ATTRIBUTE = 80


def graph(model: str) -> dict[str, Any] | None:
    """Describe the graph of a serialized model in base64; ``None`` where it cannot be read.

    Returns the number of nodes and, where they are few, ``inputs``, ``outputs`` and ``constants``
    as pairs of name and type, and ``nodes``: operator, inputs, outputs, attributes in text, bodies
    by attribute. Where there are many, ``listed`` holds the first of them in text.
    """
    if not model:
        return None
    try:
        proto = onnx.ModelProto.FromString(b64decode(model, validate=True))
    except Exception:  # whatever protobuf raises for bytes that are no model
        return None
    nodes = list(_all_nodes(proto.graph))
    if len(nodes) > MAX_NODES:
        return {"count": len(nodes), "listed": [_signature(node) for node in nodes[:MAX_LISTED]]}
    return {"count": len(nodes), **_graph(proto.graph)}


def _all_nodes(graph: GraphProto) -> Iterator[NodeProto]:
    for node in graph.node:
        yield node
        for _, body in _bodies(node):
            yield from _all_nodes(body)


def _bodies(node: NodeProto) -> Iterator[tuple[str, GraphProto]]:
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            yield attribute.name, attribute.g
        for i, body in enumerate(attribute.graphs):
            yield f"{attribute.name}[{i}]", body


def _operator(node: NodeProto) -> str:
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


def _signature(node: NodeProto) -> str:
    return f"{_operator(node)}({', '.join(node.input)}) -> ({', '.join(node.output)})"


def _graph(graph: GraphProto) -> dict[str, Any]:
    constants = {tensor.name: _tensor_type(tensor) for tensor in graph.initializer}
    return {
        "name": graph.name,
        "inputs": [[v.name, _type(v)] for v in graph.input if v.name not in constants],
        "constants": [[name, type_] for name, type_ in constants.items()],
        "outputs": [[v.name, _type(v)] for v in graph.output],
        "nodes": [_node(node) for node in graph.node],
    }


def _node(node: NodeProto) -> dict[str, Any]:
    plain = (AttributeProto.GRAPH, AttributeProto.GRAPHS)
    return {
        "op": _operator(node),
        "in": list(node.input),
        "out": list(node.output),
        "attributes": [_attribute(a) for a in node.attribute if a.type not in plain],
        "bodies": [[name, _graph(body)] for name, body in _bodies(node)],
    }


def _attribute(attribute: AttributeProto) -> str:
    return cut(str(helper.printable_attribute(attribute)), MAX_ATTRIBUTE)


def _type(value: ValueInfoProto) -> str:
    """Write a type with its shape: ``float32[2, ?]``."""
    if not value.type.HasField("tensor_type"):
        return type_text(value.type) if value.type.WhichOneof("value") else ""
    tensor = value.type.tensor_type
    name = type_text(value.type)
    if not tensor.HasField("shape"):
        return name
    sizes = [
        str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?"
        for d in tensor.shape.dim
    ]
    return f"{name}[{', '.join(sizes)}]"


def _tensor_type(tensor: TensorProto) -> str:
    element = element_type_of_number(tensor.data_type)
    return f"{element.name if element else '?'}[{', '.join(map(str, tensor.dims))}]"
