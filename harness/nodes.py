"""From a node as a specification page prints it to a model.

A node case gives a signature, attributes and values; this module makes the ``ModelProto``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import onnx
import onnx.defs
import onnx.parser
import onnx.shape_inference
from onnx import (
    AttributeProto,
    ModelProto,
    NodeProto,
    TypeProto,
    ValueInfoProto,
    helper,
)

from . import onnxtext
from .dtypes import element_type, parse_type
from .errors import CaseError, described, shorten
from .literals import BadLiteral, to_array

AttrType = onnx.defs.OpSchema.AttrType
LATEST = onnx.defs.onnx_opset_version()
_SIGNATURE = re.compile(r"\s*((?:[\w\-]+\.)*[\w\-]+)\s*\(([^()]*)\)\s*->\s*\(([^()]*)\)\s*")


@dataclass(frozen=True, slots=True)
class Signature:
    """A node: its operator, and its inputs and outputs with ``""`` for an omitted one."""

    domain: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@lru_cache(1024)
def parse_signature(text: str) -> Signature:
    """Read ``Scan(X_state, X_scan) -> (state_X_final, dists)``."""
    found = _SIGNATURE.fullmatch(text)
    if found is None:
        raise CaseError(("node",), shorten(text), "Operator(inputs) -> (outputs)")
    domain, _, operator = found[1].rpartition(".")
    names = [
        tuple(part.strip() for part in group.split(",")) if group.strip() else ()
        for group in (found[2], found[3])
    ]
    for group in names:
        for name in group:
            if re.search(r"\s", name):
                raise CaseError(("node",), shorten(name), "names separated by commas")
    outputs = [name for name in names[1] if name]
    if len(set(outputs)) != len(outputs):
        raise CaseError(("node",), shorten(text), "outputs with different names")
    return Signature("" if domain == "ai.onnx" else domain, operator, *names)


@lru_cache(1024)
def find_schema(domain: str, operator: str, opset: int, path: str) -> onnx.defs.OpSchema:
    """Return the schema an opset resolves to."""
    try:
        return onnx.defs.get_schema(operator, opset, domain)
    except onnx.defs.SchemaError:
        pass
    shown = f"{domain}.{operator}" if domain else operator
    versions = sorted(
        s.since_version
        for s in onnx.defs.get_all_schemas_with_history()
        if s.name == operator and s.domain == domain
    )
    hint = f"{shown} came with opset {versions[0]}" if versions else ""
    wanted = f"an operator that onnx {onnx.__version__} defines there"
    raise CaseError((path,), f"{shown} at opset {opset}", wanted, hint=hint)


def make_attributes(
    given: Mapping[str, Any], schema: onnx.defs.OpSchema, types: Mapping[str, str]
) -> list[AttributeProto]:
    """Turn the attributes of a case into protos of the types that the schema names."""
    protos = []
    kinds = _attribute_types(schema)
    for name, raw in given.items():
        kind = kinds.get(name)
        if kind is None:
            wanted = f"an attribute of {schema.name}-{schema.since_version}"
            hint = f"it has {', '.join(sorted(kinds)) or 'none'}"
            raise CaseError(("attributes", name), repr(name), wanted, hint=hint)
        try:
            value = _attribute_value(raw, kind, types)
        except CaseError as error:
            raise error.at("attributes", name) from None
        number = AttributeProto.AttributeType.Value(kind.name)
        protos.append(helper.make_attribute(name, value, attr_type=number))
    return protos


@lru_cache(1024)
def _attribute_types(schema: onnx.defs.OpSchema) -> dict[str, Any]:
    """Return the types of the attributes of a schema, which onnx copies each time."""
    return {name: formal.type for name, formal in schema.attributes.items()}


def _attribute_value(raw: Any, kind: Any, types: Mapping[str, str]) -> Any:
    if kind in _LISTS:
        if not isinstance(raw, list):
            raise CaseError((), described(raw), f"a list, for an attribute of type {kind.name}")
        return [_list_item(raw, i, _LISTS[kind], types) for i in range(len(raw))]
    if kind == AttrType.INT:
        return _attribute_int(raw, types)
    if kind == AttrType.FLOAT:
        try:
            return float(to_array([raw], element_type("float32"))[0])
        except BadLiteral as error:
            raise CaseError((), error.seen, error.wanted) from None
    if kind == AttrType.STRING:
        if not isinstance(raw, str):
            raise CaseError((), described(raw), "a string (quote it)")
        return raw
    if kind == AttrType.GRAPH:
        return onnxtext.parse_graph(raw, types)
    wanted = "an attribute of numbers, strings or graphs"
    hint = "write the case with model: instead"
    raise CaseError((), f"an attribute of type {kind.name}", wanted, hint=hint)


def _list_item(raw: list[Any], i: int, kind: Any, types: Mapping[str, str]) -> Any:
    try:
        return _attribute_value(raw[i], kind, types)
    except CaseError as error:
        raise error.at(i) from None


def _attribute_int(raw: Any, types: Mapping[str, str]) -> int:
    if isinstance(raw, int) and not isinstance(raw, bool) and -(2**63) <= raw < 2**63:
        return raw
    if isinstance(raw, str):
        try:
            return element_type(types.get(raw, raw)).number
        except KeyError:
            pass
    raise CaseError((), described(raw), "an integer of 64 bits, or the name of an element type")


_LISTS = {
    AttrType.INTS: AttrType.INT,
    AttrType.FLOATS: AttrType.FLOAT,
    AttrType.STRINGS: AttrType.STRING,
    AttrType.GRAPHS: AttrType.GRAPH,
}


def make_model(
    signature: Signature,
    schema: onnx.defs.OpSchema,
    opset: int,
    attributes: Sequence[AttributeProto],
    inputs: Mapping[str, TypeProto],
    fallback: Mapping[str, TypeProto],
) -> ModelProto:
    """Return a model of one node.

    The outputs get the types that shape inference gives; where it gives none, the schema's, and
    at last those of ``fallback``, the expected ones, so that the model never shows more than it
    has to of what is expected.
    """
    model = ModelProto(
        ir_version=onnxtext.ir_version(LATEST if signature.domain else opset),
        producer_name="opcheck",
    )
    model.opset_import.add(domain=signature.domain, version=opset)
    graph = model.graph
    graph.name = signature.operator.lower()
    graph.node.add(
        op_type=signature.operator,
        domain=signature.domain,
        input=signature.inputs,
        output=signature.outputs,
        attribute=attributes,
    )
    for name, proto in inputs.items():
        graph.input.add(name=name, type=proto)
    for name in filter(None, signature.outputs):
        graph.output.add(name=name)
    guessed: dict[str, TypeProto] | None = None
    for output, found in zip(graph.output, _inferred(model).graph.output, strict=True):
        output.type.CopyFrom(found.type)
        if not _is_complete(found.type):
            if guessed is None:
                by_schema = _types_by_schema(signature, schema, inputs)
                guessed = {**by_schema, **_types_by_bodies(graph.node[0])}
            _complete(output, guessed.get(output.name), fallback.get(output.name))
        for dim in output.type.tensor_type.shape.dim if _has_rank(output.type) else ():
            if dim.dim_param.startswith("unk__"):
                dim.ClearField("dim_param")  # a name that inference made up
    return model


def _inferred(model: ModelProto) -> ModelProto:
    """Return the model with inferred types; as it is where inference refuses it.

    A case may be about just that: a node with too few inputs, say.
    Inference has no one exception for it.
    """
    try:
        return onnx.shape_inference.infer_shapes(model, data_prop=True)
    except (onnx.shape_inference.InferenceError, ValueError, RuntimeError):
        return model


def _is_complete(proto: TypeProto) -> bool:
    """Tell whether a type is fit for a graph's output, where a tensor must have a rank."""
    return _has_rank(proto) or (not _is_tensor(proto) and proto.WhichOneof("value") is not None)


def _complete(output: ValueInfoProto, guess: TypeProto | None, expected: TypeProto | None) -> None:
    """Guess what inference leaves open: the type, or only the rank of a tensor.

    The rank is that of what is expected, or else that of the guess, without its sizes.
    """
    others = [p for p in (guess, expected) if p is not None and p.WhichOneof("value")]
    if not output.type.WhichOneof("value"):
        if not others:
            hint = "write the case with model: and declare the type of each output"
            raise CaseError(("node",), f"no type for the output {output.name!r}", "one", hint=hint)
        output.type.CopyFrom(without_sizes(others[0]))
        if _is_tensor(output.type):
            output.type.tensor_type.ClearField("shape")  # what is expected knows better
    if _is_tensor(output.type):
        ranked = [proto for proto in reversed(others) if _has_rank(proto)]
        output.type.tensor_type.shape.SetInParent()
        for _ in ranked[0].tensor_type.shape.dim if ranked else ():
            output.type.tensor_type.shape.dim.add()


def _types_by_bodies(node: NodeProto) -> dict[str, TypeProto]:
    """Type the outputs of a control-flow node by what its first body declares, without sizes."""
    bodies = [a.g for a in node.attribute if a.type == AttributeProto.GRAPH]
    if not bodies:
        return {}
    declared = list(bodies[0].output)[1 if node.op_type == "Loop" else 0 :]
    return {
        name: without_sizes(value.type)
        for name, value in zip(node.output, declared, strict=False)
        if name and value.type.WhichOneof("value")
    }


def _types_by_schema(
    signature: Signature, schema: onnx.defs.OpSchema, inputs: Mapping[str, TypeProto]
) -> dict[str, TypeProto]:
    """Type the outputs by the schema, for nodes that inference refuses.

    A type parameter is that of the input that has it too; else any type that it allows.
    """
    bound: dict[str, TypeProto] = {}
    for i, name in enumerate(signature.inputs):
        if name in inputs and schema.inputs:
            formal = schema.inputs[min(i, len(schema.inputs) - 1)]
            bound.setdefault(formal.type_str, inputs[name])
    types = {}
    for i, name in enumerate(signature.outputs):
        if name and schema.outputs:
            formal = schema.outputs[min(i, len(schema.outputs) - 1)]
            if formal.type_str in bound:
                types[name] = without_sizes(bound[formal.type_str])
            elif formal.types:
                allowed = sorted(formal.types)
                text = "tensor(float)" if "tensor(float)" in allowed else allowed[0]
                types[name] = parse_type(text)
    return types


def without_sizes(proto: TypeProto) -> TypeProto:
    """Return a type of which only the rank is known."""
    copy = TypeProto()
    copy.CopyFrom(proto)
    for dim in copy.tensor_type.shape.dim if _is_tensor(copy) else ():
        dim.ClearField("value")
    return copy


def _is_tensor(proto: TypeProto) -> bool:
    return bool(proto.WhichOneof("value") == "tensor_type")


def _has_rank(proto: TypeProto) -> bool:
    return _is_tensor(proto) and proto.tensor_type.HasField("shape")
