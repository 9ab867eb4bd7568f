"""From a model to a program: names become slots, bodies and constants are prepared once.

A program runs in a *frame*, a list of values.
Slot 0 holds ``None`` and stands for every omitted input.
A body is a program of its own; what it reads of its enclosing scopes is copied into its frame
when the node that owns it runs.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import onnx
import onnx.checker
import onnx.defs
from onnx import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    ModelProto,
    NodeProto,
    TensorProto,
    numpy_helper,
)

from . import registry
from .prepare import InvalidModel, unknown
from .registry import Function, Unsupported
from .rounding import Array
from .training_gradient import Operation, Subgraph
from .valuetype import UNKNOWN, ValueType, of_proto

AttributeType = onnx.defs.OpSchema.AttrType
Option = onnx.defs.OpSchema.FormalParameterOption


@dataclass(slots=True)
class Step:
    """One node, ready to run."""

    label: str
    function: Function | None
    inputs: list[int]
    outputs: list[int]
    attributes: dict[str, Any]
    bodies: dict[str, Program] = field(default_factory=dict)
    #: The local function this node calls, in place of ``function``.
    callee: Program | None = None
    #: Allowed type strings by input, where the types were not known before the run.
    unchecked: list[tuple[int, str, frozenset[str]]] = field(default_factory=list)
    operator: str = ""
    #: The function without the detours of a kernel, where it has one.
    direct: Function | None = None


@dataclass(slots=True)
class Program:
    """A graph, ready to run."""

    graph: GraphProto | None
    opset_imports: dict[str, int]
    #: The model's local functions, which a body may call.
    functions: list[FunctionProto] = field(default_factory=list)
    frame: list[Any] = field(default_factory=lambda: [None])
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    #: (slot in the enclosing frame, slot in this frame, name) of each captured value.
    captures: list[tuple[int, int, str]] = field(default_factory=list)
    input_names: list[str] = field(default_factory=list)
    output_names: list[str] = field(default_factory=list)
    input_types: list[ValueType] = field(default_factory=list)
    output_types: list[ValueType] = field(default_factory=list)
    is_body: bool = False
    #: What ``straight`` makes of it, once.
    made: Any = None
    #: The places of the steps that are computed once for all calls; ``straight`` finds them.
    hoisted: list[int] = field(default_factory=list)
    #: How many iterations it has had or was to have, up to a limit.
    heat: int = 0
    #: What ``steady`` makes of it, by the types of the values it was made for.
    loops: dict[Any, Any] = field(default_factory=dict)

    def slot(self) -> int:
        """Return a new slot."""
        self.frame.append(None)
        return len(self.frame) - 1

    def hoisted_slots(self) -> list[int]:
        """Return the slots of the values that are computed once for all calls."""
        return [slot for k in self.hoisted for slot in self.steps[k].outputs if slot > 0]


class _Scope:
    """The names of one graph while it is compiled."""

    def __init__(self, program: Program, parent: _Scope | None) -> None:
        self.program = program
        self.parent = parent
        self.slots: dict[str, int] = {}
        self.types: dict[str, ValueType] = {}
        #: The nodes compiled so far.
        self.nodes: list[NodeProto] = []

    def define(self, name: str) -> int:
        slot = self.program.slot()
        self.slots[name] = slot
        return slot

    def resolve(self, name: str) -> int:
        """Return the slot of a name, capturing it from an enclosing scope where needed."""
        if name in self.slots:
            return self.slots[name]
        if self.parent is None:
            raise InvalidModel(f"the value {name!r} is read and nothing defines it")
        outer = self.parent.resolve(name)
        self.types[name] = self.parent.types.get(name, UNKNOWN)
        slot = self.define(name)
        self.program.captures.append((outer, slot, name))
        return slot


class Compiler:
    """Compiles one model; holds what its graphs share."""

    def __init__(self, model: ModelProto) -> None:
        self.local = list(model.functions)
        self.functions = {(f.domain, f.name, f.overload): f for f in self.local}
        self.opset_imports = {o.domain: o.version for o in model.opset_import}

    def model(self, model: ModelProto) -> Program:
        """Compile the main graph."""
        return self.graph(model.graph, self.opset_imports, None)

    def graph(
        self, graph: GraphProto, opset_imports: dict[str, int], parent: _Scope | None
    ) -> Program:
        """Compile a graph or body; ``parent`` is the scope around a body."""
        program = Program(graph, opset_imports, self.local, is_body=parent is not None)
        scope = _Scope(program, parent)
        for value in (*graph.input, *graph.value_info, *graph.output):
            scope.types[value.name] = of_proto(value.type)
        initializers = {t.name for t in graph.initializer}
        for tensor in graph.initializer:
            program.frame[scope.define(tensor.name)] = tensor_value(tensor)
        for value in graph.input:
            slot = (
                scope.slots[value.name] if value.name in initializers else scope.define(value.name)
            )
            program.inputs.append(slot)
            program.input_names.append(value.name)
            program.input_types.append(of_proto(value.type))
        for node in graph.node:
            self.node(node, scope)
        for value in graph.output:
            program.outputs.append(scope.resolve(value.name))
            program.output_names.append(value.name)
            program.output_types.append(of_proto(value.type))
        return program

    def node(self, node: NodeProto, scope: _Scope) -> None:
        """Compile one node into a step, or into a constant of the frame."""
        imports = scope.program.opset_imports
        function = self.functions.get((node.domain, node.op_type, node.overload))
        if function is not None:
            step = self.call(node, function, scope)
        else:
            if node.domain not in imports:
                raise InvalidModel(f"{_label(node)}: no opset of {node.domain!r} is imported")
            step = self.operator(node, _signature(node, imports[node.domain]), scope)
        constant = not node.input and node.op_type == "Constant" and not node.domain
        step.outputs = [scope.define(name) if name else -1 for name in node.output]
        if constant and step.function is not None:
            value = step.function(**step.attributes)
            scope.program.frame[step.outputs[0]] = value
            return
        scope.program.steps.append(step)
        scope.nodes.append(node)

    def operator(self, node: NodeProto, signature: _Signature, scope: _Scope) -> Step:
        """Compile a node of an ONNX operator."""
        kernel = registry.find(signature.schema)
        label = f"{signature.label} {node.name!r}" if node.name else signature.label
        _check_arity(node, signature, label)
        attributes, bodies = self.attributes(node, signature, scope, label)
        if signature.name == "Loop" and not signature.domain:
            _check_condition(bodies["body"], label)
        if "n_outputs" in kernel.context:
            attributes["n_outputs"] = len(node.output)
        if "subgraph" in kernel.context:
            attributes["subgraph"] = self.subgraph(attributes, scope, label)
        inputs = [scope.resolve(name) if name else 0 for name in node.input]
        unchecked = _unchecked_types(node, signature, scope, label)
        return Step(
            label,
            kernel.function,
            inputs,
            [],
            attributes,
            bodies,
            unchecked=unchecked,
            operator=signature.name,
            direct=kernel.direct,
        )

    def subgraph(self, attributes: Mapping[str, Any], scope: _Scope, label: str) -> Subgraph:
        """Return the nodes of a scope that lead from the tensors of a Gradient node to its y."""
        free = {*attributes["xs"], *(attributes["zs"] or [])}
        needed = {attributes["y"]} - free
        found = Subgraph()
        for node in reversed(scope.nodes):
            if needed.isdisjoint(node.output):
                continue
            needed -= set(node.output)
            needed |= {name for name in node.input if name} - free
            signature = _signature(node, scope.program.opset_imports.get(node.domain, 0))
            kernel = registry.find(signature.schema)
            inner, bodies = self.attributes(node, signature, scope, label)
            if bodies or kernel.context:
                raise Unsupported(f"{label} through {signature.name}")
            names = (list(node.input), list(node.output))
            found.operations.insert(0, Operation(signature.name, kernel.function, inner, *names))
        for name in needed:
            slot = scope.slots.get(name, 0)
            if scope.program.frame[slot] is None:
                raise InvalidModel(
                    f"{label}: y depends on {name!r}, which is neither in xs nor in zs, "
                    f"nor computed from {', '.join(sorted(free))}"
                )
            found.constants[name] = scope.program.frame[slot]
        return found

    def attributes(
        self, node: NodeProto, signature: _Signature, scope: _Scope, label: str
    ) -> tuple[dict[str, Any], dict[str, Program]]:
        """Return a node's attributes with the schema's defaults, and its bodies apart."""
        attributes: dict[str, Any] = {}
        bodies: dict[str, Program] = {}
        given = {a.name: a for a in node.attribute}
        unknown = set(given) - set(signature.attributes)
        if unknown:
            raise InvalidModel(
                f"{label} has no attribute {sorted(unknown)[0]!r}; "
                f"it has {', '.join(sorted(signature.attributes)) or 'none'}"
            )
        for name, (required, default) in signature.attributes.items():
            attribute = given.get(name)
            if attribute is None:
                if required:
                    raise InvalidModel(f"{label} needs the attribute {name!r}")
                attributes[name] = attribute_value(default) if default.type else None
            elif attribute.type == AttributeProto.GRAPH:
                bodies[name] = self.graph(attribute.g, scope.program.opset_imports, scope)
            else:
                attributes[name] = attribute_value(attribute)
        return attributes, bodies

    def call(self, node: NodeProto, function: FunctionProto, scope: _Scope) -> Step:
        """Compile a call of a local function."""
        label = f"function {function.name}"
        if len(node.input) > len(function.input) or len(node.output) > len(function.output):
            raise InvalidModel(
                f"{label} takes {len(function.input)} and gives {len(function.output)} values; "
                f"the node has {len(node.input)} and {len(node.output)}"
            )
        program = Program(None, {o.domain: o.version for o in function.opset_import})
        inner = _Scope(program, None)
        program.inputs = [inner.define(name) for name in function.input]
        unknown = {a.name for a in node.attribute} - set(_attribute_names(function))
        if unknown:
            raise InvalidModel(
                f"{label} has no attribute {sorted(unknown)[0]!r}; "
                f"it has {', '.join(sorted(_attribute_names(function))) or 'none'}"
            )
        given = {a.name: a for a in function.attribute_proto}
        given.update({a.name: a for a in node.attribute})
        for name in function.attribute:
            if name not in given:
                given[name] = AttributeProto(name=name)
        for inner_node in function.node:
            self.node(_with_attributes(inner_node, given), inner)
        program.outputs = [inner.resolve(name) for name in function.output]
        inputs = [scope.resolve(name) if name else 0 for name in node.input]
        return Step(label, None, inputs, [], {}, callee=program)


def _attribute_names(function: FunctionProto) -> list[str]:
    return [*function.attribute, *(a.name for a in function.attribute_proto)]


def _with_attributes(node: NodeProto, given: Mapping[str, AttributeProto]) -> NodeProto:
    """Return a function's node with its references to the call's attributes replaced."""
    copy = NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            value = given.get(attribute.ref_attr_name)
            if value is not None and value.type:
                bound = copy.attribute.add()
                bound.CopyFrom(value)
                bound.name = attribute.name
            continue
        kept = copy.attribute.add()
        kept.CopyFrom(attribute)
        for graph in (kept.g, *kept.graphs):
            for i, inner in enumerate(graph.node):
                graph.node[i].CopyFrom(_with_attributes(inner, given))
    return copy


def _label(node: NodeProto) -> str:
    return f"node {node.name!r} ({node.op_type})" if node.name else f"{node.op_type} node"


@dataclass(frozen=True, slots=True)
class _Formal:
    """A formal input."""

    name: str
    required: bool
    types: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Signature:
    """What the compiler wants of a schema, which computes each of its properties anew."""

    schema: onnx.defs.OpSchema
    name: str
    label: str
    domain: str
    inputs: tuple[_Formal, ...]
    input_counts: tuple[int, int]
    output_counts: tuple[int, int]
    #: Of each attribute, whether it is required, and its default.
    attributes: dict[str, tuple[bool, AttributeProto]]


def _signature(node: NodeProto, opset: int) -> _Signature:
    try:
        return _signature_of(node.op_type, opset, node.domain)
    except onnx.defs.SchemaError:
        raise unknown(node, opset) from None


@functools.cache
def _signature_of(operator: str, opset: int, domain: str) -> _Signature:
    schema = onnx.defs.get_schema(operator, opset, domain)
    inputs = [_Formal(i.name, i.option == Option.Single, frozenset(i.types)) for i in schema.inputs]
    return _Signature(
        schema,
        schema.name,
        f"{schema.name}-{schema.since_version}",
        schema.domain,
        tuple(inputs),
        (schema.min_input, schema.max_input),
        (schema.min_output, schema.max_output),
        {name: (a.required, a.default_value) for name, a in schema.attributes.items()},
    )


def _check_arity(node: NodeProto, signature: _Signature, label: str) -> None:
    for what, names, (low, high) in (
        ("input", node.input, signature.input_counts),
        ("output", node.output, signature.output_counts),
    ):
        if not low <= len(names) <= high:
            bound = f"at least {low}" if high > 1000 else f"{low} to {high}"
            raise InvalidModel(f"{label} has {len(names)} {what}s; it takes {bound}")
        for formal, name in zip(signature.inputs, names, strict=False):
            if what == "input" and not name and formal.required:
                raise InvalidModel(f"{label}: the input {formal.name!r} is required and omitted")


def _check_condition(body: Program, label: str) -> None:
    """Raise where the type of the condition that a Loop's body gives is known and not bool."""
    known = body.output_types[0].text if body.output_types else ""
    if known not in ("", "tensor(bool)"):
        raise InvalidModel(f"{label}: the body's condition is {known}; it must be tensor(bool)")


def _unchecked_types(
    node: NodeProto, signature: _Signature, scope: _Scope, label: str
) -> list[tuple[int, str, frozenset[str]]]:
    """Check the types that are known; return those that only the run will show."""
    unchecked = []
    for i, name in enumerate(node.input):
        if not name:
            continue
        known = scope.types.get(name, UNKNOWN).text
        formal = signature.inputs[min(i, len(signature.inputs) - 1)]
        if not known:
            unchecked.append((i, formal.name, formal.types))
        elif known not in formal.types:
            raise InvalidModel(
                f"{label}: the input {formal.name!r} is {known}; "
                f"allowed are {', '.join(sorted(formal.types))}"
            )
    return unchecked


def tensor_value(tensor: TensorProto) -> Array:
    """Decode a tensor."""
    if tensor.data_location == TensorProto.EXTERNAL:
        raise InvalidModel(f"the tensor {tensor.name!r} has its data in a file that is not loaded")
    return frozen(numpy_helper.to_array(tensor))


def frozen(array: Array) -> Array:
    """Return an array after it was made read-only: it belongs to the model, for every run."""
    array.flags.writeable = False
    return array


def attribute_value(attribute: AttributeProto) -> Any:
    """Decode an attribute: numbers, strings, tensors, types and lists of them."""
    if attribute.type == AttributeProto.TENSOR:
        return tensor_value(attribute.t)
    if attribute.type == AttributeProto.TENSORS:
        return [tensor_value(t) for t in attribute.tensors]
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, bytes):
        return value.decode()
    if attribute.type == AttributeProto.STRINGS:
        return [v.decode() for v in value]
    return value if attribute.type in _SINGLE else list(value)


_SINGLE = frozenset(
    {
        AttributeProto.FLOAT,
        AttributeProto.INT,
        AttributeProto.TYPE_PROTO,
        AttributeProto.SPARSE_TENSOR,
    }
)
