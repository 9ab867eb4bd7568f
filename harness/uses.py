"""What a case uses of the operators: for each node, types, attributes, inputs and outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np
import onnx.defs
import onnx.inliner
import onnx.shape_inference
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, TypeProto

from .case import Case, MustFail

#: The domain, the operator and the since_version of a schema.
Key = tuple[str, str, int]

#: Values of attributes that are longer as text are cut.
MAX_TEXT = 60

#: Tensor types by their numbers.
_TENSORS = {number: f"tensor({name.lower()})" for name, number in TensorProto.DataType.items()}
_SIMPLE = {
    AttributeProto.INT: "i", AttributeProto.FLOAT: "f", AttributeProto.STRING: "s",
    AttributeProto.INTS: "ints", AttributeProto.FLOATS: "floats", AttributeProto.STRINGS: "strings",
}  # fmt: skip


class Formal(msgspec.Struct, array_like=True, frozen=True):
    """A formal input or output of a node: how many are given, and the ranks that are known."""

    given: int
    ranks: tuple[int, ...]


class Use(msgspec.Struct, array_like=True, frozen=True):
    """One node, as its schema sees it.

    ``types`` holds pairs of type parameter and type, ``attributes`` pairs of name and value.
    ``inputs`` and ``outputs`` have an entry for each formal one.
    """

    domain: str
    operator: str
    since_version: int
    types: tuple[tuple[str, str], ...]
    attributes: tuple[tuple[str, str], ...]
    inputs: tuple[Formal, ...]
    outputs: tuple[Formal, ...]


class Facts(msgspec.Struct, array_like=True, frozen=True):
    """What a case uses, each different node once; nothing where the model must be rejected.

    ``unknown`` names the operators that onnx does not define.
    """

    rejected: bool
    uses: tuple[Use, ...] = ()
    unknown: tuple[str, ...] = ()


class _Type(NamedTuple):
    """A type as schemas spell it, empty where it is incomplete, and the rank of a tensor."""

    text: str
    rank: int | None


_NO_TYPE = _Type("", None)


def facts_of(case: Case) -> Facts:
    """Return what a case uses.

    A case that may be an error uses nothing: a backend passes it by refusing the model.
    """
    if any(isinstance(a, MustFail) for a in case.alternatives):
        return Facts(True)
    found = list(dict.fromkeys(uses_of_model(case.call.model)))
    uses = tuple(use for use in found if isinstance(use, Use))
    return Facts(False, uses, tuple(name for name in found if isinstance(name, str)))


def uses_of_model(model: ModelProto) -> Iterator[Use | str]:
    """Return what each node uses, bodies and functions included.

    An operator that onnx does not define is given by its name alone.
    A model that shape inference rejects uses nothing.
    """
    try:
        if model.functions:
            model = onnx.inliner.inline_local_functions(model)
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except (onnx.shape_inference.InferenceError, ValueError, RuntimeError):
        return
    opsets = {_domain(entry.domain): entry.version for entry in model.opset_import}
    yield from _walk(model.graph, opsets, {})


def _walk(
    graph: GraphProto, opsets: dict[str, int], outer: dict[str, _Type]
) -> Iterator[Use | str]:
    types = dict(outer)
    for value in (*graph.input, *graph.output, *graph.value_info):
        if text := type_text(value.type):
            types[value.name] = _Type(text, _rank(value.type))
    for tensor in graph.initializer:
        types[tensor.name] = _Type(_TENSORS.get(tensor.data_type, ""), len(tensor.dims))
    for node in graph.node:
        domain = _domain(node.domain)
        known = _schema(domain, node.op_type, opsets.get(domain, 0))
        if known is None:
            yield f"{domain}.{node.op_type}" if domain else node.op_type
        else:
            yield _use(node, known, types)
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                yield from _walk(body, opsets, types)


class _Schema(NamedTuple):
    """What is needed of a schema, which onnx copies each time it is asked for."""

    key: Key
    parameters: frozenset[str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@lru_cache(4096)
def _schema(domain: str, operator: str, opset: int) -> _Schema | None:
    try:
        schema = onnx.defs.get_schema(operator, opset, domain)
    except onnx.defs.SchemaError:
        return None
    return _Schema(
        (schema.domain, schema.name, schema.since_version),
        frozenset(c.type_param_str for c in schema.type_constraints),
        tuple(formal.type_str for formal in schema.inputs),
        tuple(formal.type_str for formal in schema.outputs),
    )


def _use(node: NodeProto, schema: _Schema, types: dict[str, _Type]) -> Use:
    used: dict[tuple[str, str], None] = {}
    inputs, outputs = (
        _formals(names, formals, schema.parameters, types, used)
        for names, formals in ((node.input, schema.inputs), (node.output, schema.outputs))
    )
    attributes = tuple(sorted((a.name, attribute_text(a)) for a in node.attribute))
    return Use(*schema.key, tuple(used), attributes, inputs, outputs)


def _formals(
    names: Sequence[str],
    formals: tuple[str, ...],
    parameters: frozenset[str],
    types: dict[str, _Type],
    used: dict[tuple[str, str], None],
) -> tuple[Formal, ...]:
    """Count what is given for each formal input or output, and add the types to ``used``.

    The last formal one takes what is left: it may be variadic.
    """
    given = [0] * len(formals)
    ranks: list[set[int]] = [set() for _ in formals]
    for i, name in enumerate(names):
        if not name or not formals:
            continue
        k = min(i, len(formals) - 1)
        text, rank = types.get(name, _NO_TYPE)
        given[k] += 1
        if rank is not None:
            ranks[k].add(rank)
        if text and formals[k] in parameters:
            used[formals[k], text] = None
    return tuple(Formal(n, tuple(sorted(r))) for n, r in zip(given, ranks, strict=True))


def attribute_text(attribute: AttributeProto) -> str:
    """Return the value of an attribute in a few words: ``<graph>`` where it is no literal."""
    field = _SIMPLE.get(attribute.type)
    if field is None:
        return f"<{AttributeProto.AttributeType.Name(attribute.type).lower()}>"
    value = getattr(attribute, field)
    single = isinstance(value, int | float | bytes)
    text = _literal(value) if single else f"[{', '.join(map(_literal, value))}]"
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..."


def _literal(value: int | float | bytes) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return str(np.float32(value)) if isinstance(value, float) else str(value)


def type_text(proto: TypeProto) -> str:
    """Return a type as schemas spell it, ``seq(tensor(float))``; empty where it is incomplete."""
    which = proto.WhichOneof("value")
    if which == "tensor_type":
        return _TENSORS.get(proto.tensor_type.elem_type, "")
    if which == "sequence_type":
        inner = type_text(proto.sequence_type.elem_type)
        return f"seq({inner})" if inner else ""
    if which == "optional_type":
        inner = type_text(proto.optional_type.elem_type)
        return f"optional({inner})" if inner else ""
    if which == "map_type":
        key, value = _TENSORS[proto.map_type.key_type], type_text(proto.map_type.value_type)
        return re.sub(r"tensor\((\w+)\)", r"\1", f"map({key}, {value})")
    return ""


def _rank(proto: TypeProto) -> int | None:
    if proto.WhichOneof("value") == "tensor_type" and proto.tensor_type.HasField("shape"):
        return len(proto.tensor_type.shape.dim)
    return None


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name
