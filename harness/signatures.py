"""What schemas allow and cases use: (operator, since_version, type parameter, type)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import onnx.defs
import onnx.shape_inference
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, TypeProto

#: Tensor types by their numbers.
_TENSORS = {number: f"tensor({name.lower()})" for name, number in TensorProto.DataType.items()}


class Signature(NamedTuple):
    """One type of one type parameter of one schema; the domain of ONNX's own operators is empty."""

    domain: str
    operator: str
    since_version: int
    parameter: str
    type: str


def signatures_of_schema(schema: onnx.defs.OpSchema) -> set[Signature]:
    """Return all that a schema allows."""
    return {
        Signature(schema.domain, schema.name, schema.since_version, constraint.type_param_str, text)
        for constraint in schema.type_constraints
        for text in constraint.allowed_type_strs
    }


def signatures_of_model(model: ModelProto) -> set[Signature]:
    """Return all that the nodes of a model use, bodies included; types that stay unknown are not.

    A model that shape inference rejects has none.
    """
    try:
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except onnx.shape_inference.InferenceError:
        return set()
    opsets = {"" if o.domain == "ai.onnx" else o.domain: o.version for o in model.opset_import}
    found: set[Signature] = set()
    _walk(model.graph, opsets, {}, found)
    return found


def _text(proto: TypeProto) -> str:
    """Return a type as schemas spell it, ``seq(tensor(float))``; empty where it is incomplete."""
    which = proto.WhichOneof("value")
    if which == "tensor_type":
        return _TENSORS.get(proto.tensor_type.elem_type, "")
    if which == "sequence_type":
        inner = _text(proto.sequence_type.elem_type)
        return f"seq({inner})" if inner else ""
    if which == "optional_type":
        inner = _text(proto.optional_type.elem_type)
        return f"optional({inner})" if inner else ""
    if which == "map_type":
        key = _TENSORS[proto.map_type.key_type].removeprefix("tensor(").removesuffix(")")
        value = _text(proto.map_type.value_type).removeprefix("tensor(").removesuffix(")")
        return f"map({key}, {value})"
    return ""


def _walk(
    graph: GraphProto, opsets: dict[str, int], outer: dict[str, str], found: set[Signature]
) -> None:
    types = dict(outer)
    for value in (*graph.input, *graph.output, *graph.value_info):
        text = _text(value.type)
        if text:
            types[value.name] = text
    for tensor in graph.initializer:
        proto = TypeProto()
        proto.tensor_type.elem_type = tensor.data_type
        types[tensor.name] = _text(proto)
    for node in graph.node:
        domain = "" if node.domain == "ai.onnx" else node.domain
        if onnx.defs.has(node.op_type, opsets.get(domain, 0), domain):
            schema = onnx.defs.get_schema(node.op_type, opsets[domain], domain)
            parameters = {c.type_param_str for c in schema.type_constraints}
            for names, formals in ((node.input, schema.inputs), (node.output, schema.outputs)):
                found |= _used(schema, parameters, names, formals, types)
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                _walk(attribute.g, opsets, types, found)


def _used(
    schema: onnx.defs.OpSchema,
    parameters: set[str],
    names: Iterable[str],
    formals: Sequence[onnx.defs.OpSchema.FormalParameter],
    types: dict[str, str],
) -> set[Signature]:
    key = (schema.domain, schema.name, schema.since_version)
    pairs = [
        (formals[min(i, len(formals) - 1)].type_str, types.get(name, ""))
        for i, name in enumerate(names)
    ]
    return {Signature(*key, name, text) for name, text in pairs if name in parameters and text}
