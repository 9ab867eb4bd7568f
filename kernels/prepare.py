"""What happens to a model before it is checked and compiled: one spelling, known operators, bounds.

onnx's checker and shape inference run on what is left; both are C++ and cannot be interrupted.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import onnx.checker
import onnx.defs
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    helper,
    numpy_helper,
)

from .generator import dense
from .registry import Unsupported

#: Local functions nest no deeper, and calls of them expand to no more nodes.
MAX_FUNCTION_DEPTH = 64
MAX_EXPANDED_NODES = 20_000


class InvalidModel(ValueError):
    """The model breaks a rule of the specification before anything runs."""


def canonical(model: ModelProto) -> ModelProto:
    """Return a copy that says the same in such words that onnx's checker understands it.

    ``ai.onnx`` is another name of the empty domain.
    A body may leave out the types of its inputs; shape inference finds none for the iteration
    number and the condition where the Loop has no such input.
    A sparse initializer is a tensor in few words; shape inference takes it for another type.
    A function body reads attributes; inference finds none that the node leaves to its default.
    Raises ``onnx.checker.ValidationError`` for a sparse initializer that is malformed.
    """
    copy = ModelProto()
    copy.CopyFrom(model)
    scopes: list[ModelProto | FunctionProto] = [copy, *copy.functions]
    for scope in scopes:
        for imported in scope.opset_import:
            if imported.domain == "ai.onnx":
                imported.domain = ""
        imports = {o.domain: o.version for o in scope.opset_import}
        for graph in _all_graphs(scope):
            _make_dense(graph)
        for node in _all_nodes(scope):
            if node.domain == "ai.onnx":
                node.domain = ""
            if node.op_type == "Loop" and not node.domain:
                _type_own_inputs(node)
            _write_defaults(node, imports.get(node.domain, 0))
    return copy


def _write_defaults(node: NodeProto, opset: int) -> None:
    """Give a node of an operator that has a function body the attributes with defaults."""
    for default in _defaults(node.op_type, opset, node.domain):
        if all(attribute.name != default.name for attribute in node.attribute):
            node.attribute.append(default)


@cache
def _defaults(operator: str, opset: int, domain: str) -> tuple[AttributeProto, ...]:
    """Return the defaults that the function body of an operator may read; mostly there are none."""
    if not opset or not onnx.defs.has(operator, opset, domain):
        return ()
    schema = onnx.defs.get_schema(operator, opset, domain)
    if not schema.has_function:  # type: ignore[attr-defined]
        return ()
    values = (formal.default_value for formal in schema.attributes.values())
    return tuple(value for value in values if value.type)


def _all_nodes(scope: ModelProto | FunctionProto) -> Iterator[NodeProto]:
    """Return the nodes of a model's graph or of a function, with those of all bodies."""
    if isinstance(scope, FunctionProto):
        yield from scope.node
    for graph in _all_graphs(scope):
        yield from graph.node


def _all_graphs(scope: ModelProto | FunctionProto) -> Iterator[GraphProto]:
    """Return a model's graph, and all bodies inside of it or of a function."""
    if isinstance(scope, ModelProto):
        yield scope.graph
    waiting = [scope.graph.node if isinstance(scope, ModelProto) else scope.node]
    while waiting:
        for attribute in (a for node in waiting.pop() for a in node.attribute):
            if attribute.type == AttributeProto.GRAPH:
                yield attribute.g
                waiting.append(attribute.g.node)


def _make_dense(graph: GraphProto) -> None:
    for sparse in graph.sparse_initializer:
        onnx.checker.check_sparse_tensor(sparse)
        graph.initializer.append(numpy_helper.from_array(dense(sparse), sparse.values.name))
    del graph.sparse_initializer[:]


def _type_own_inputs(loop: NodeProto) -> None:
    number = helper.make_tensor_type_proto(TensorProto.INT64, [])
    condition = helper.make_tensor_type_proto(TensorProto.BOOL, None)
    for body in (a.g for a in loop.attribute if a.name == "body"):
        for value, proto in zip(body.input, (number, condition), strict=False):
            if value.type.WhichOneof("value") is None:
                value.type.CopyFrom(proto)


_NEWEST = {
    "": onnx.defs.onnx_opset_version(),
    "ai.onnx.ml": onnx.defs.onnx_ml_opset_version(),
}


def check_known(model: ModelProto) -> None:
    """Raise ``Unsupported`` for an opset that is too new, and for operators that nothing defines.

    An operator that has no schema at its opset, but at others, is left to the checker.
    """
    local = {(f.domain, f.name) for f in model.functions}
    scopes: list[ModelProto | FunctionProto] = [model, *model.functions]
    for scope in scopes:
        imports = {o.domain: o.version for o in scope.opset_import}
        for domain, newest in _NEWEST.items():
            if imports.get(domain, 0) > newest:
                raise Unsupported(
                    f"opset {imports[domain]} of {domain or 'ai.onnx'}; "
                    f"the newest known one is {newest}"
                )
        for node in _all_nodes(scope):
            known = (node.domain, node.op_type) in local or onnx.defs.has(node.op_type, node.domain)
            if node.domain in imports and not known:
                raise unknown(node, imports[node.domain])


def unknown(node: NodeProto, opset: int) -> Unsupported:
    """Return the error for a node that no schema describes."""
    return Unsupported(f"{node.domain or 'ai.onnx'} {node.op_type} is unknown at opset {opset}")


def check_functions(model: ModelProto) -> None:
    """Raise where local functions call themselves, or their calls expand to too many nodes.

    A function of two calls of a function of two calls, and so on, is short, and doubles at each
    level the work of whatever follows the calls.
    Raises ``InvalidModel`` or ``Unsupported``.
    """
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    sizes: dict[tuple[str, str, str], int] = {}

    def size(scope: ModelProto | FunctionProto, callers: tuple[tuple[str, str, str], ...]) -> int:
        total = 0
        for node in _all_nodes(scope):
            key = (node.domain, node.op_type, node.overload)
            total += 1
            if key not in functions:
                continue
            if key in callers:
                raise InvalidModel(f"function {node.op_type} calls itself")
            if len(callers) == MAX_FUNCTION_DEPTH:
                raise Unsupported(f"calls of functions nest deeper than {MAX_FUNCTION_DEPTH}")
            if key not in sizes:
                sizes[key] = size(functions[key], (*callers, key))
            total += sizes[key]
        return total

    total = size(model, ())
    if functions and total > MAX_EXPANDED_NODES:
        raise Unsupported(
            f"the calls of local functions expand to {total} nodes; "
            f"at most {MAX_EXPANDED_NODES} are run"
        )
