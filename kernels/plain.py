"""The plain interpretation of a program: one step after the other, values in a frame.

It is what the straight-line code of ``straight`` is compared with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import onnx
import onnx.shape_inference
from onnx import GraphProto, helper

from .compiler import Program, Step
from .iteration import Kind
from .limits import Deadline
from .prepare import InvalidModel
from .registry import Unsupported
from .valuetype import ValueType, as_array, of_proto, proto_of_value, text_of_value

Value = Any


class NodeError(ValueError):
    """A node could not be computed; the message names it."""


#: Errors that pass through the nodes around them as they are.
OWN_ERRORS = (Unsupported, NodeError, InvalidModel, TimeoutError, MemoryError)

#: Where the names of the nodes stand among the globals of generated code, by line.
LABELS = "labels"


class Body:
    """A graph attribute at run time: call it with the body's inputs, get its outputs.

    ``inputs`` and ``outputs`` are the types that the body declares or that shape inference gives.
    """

    __slots__ = ("_deadline", "_frame", "_program")

    def __init__(self, program: Program, outer: list[Value], deadline: Deadline) -> None:
        self._program = program
        self._deadline = deadline
        self._frame = program.frame.copy()
        for source, target, _ in program.captures:
            self._frame[target] = outer[source]

    @property
    def inputs(self) -> list[ValueType]:
        """The types of the body's inputs."""
        return self._program.input_types

    @property
    def outputs(self) -> list[ValueType]:
        """The types of the body's outputs."""
        return self._program.output_types

    @property
    def run(self) -> Callable[..., Sequence[Value]]:
        """The body as a function."""
        return self.__call__

    def __call__(self, *values: Value) -> list[Value]:
        """Run the body once."""
        self._deadline.check()
        frame = self._frame
        for slot, value in zip(self._program.inputs, values, strict=True):
            frame[slot] = value
        execute(self._program, frame, self._deadline)
        return [frame[slot] for slot in self._program.outputs]

    def steady(self, kind: Kind, values: Sequence[Value], count: int | None) -> None:
        """Say that there is no faster way than to call it again and again."""

    def infer(self, *values: Value) -> list[ValueType]:
        """Return the types its outputs would have for these inputs, without running it."""
        captured = [self._frame[slot] for _, slot, _ in self._program.captures]
        return infer_outputs(self._program, captured, values)


def infer_outputs(
    program: Program, captured: Sequence[Value], values: Sequence[Value]
) -> list[ValueType]:
    """Return the types that a body's outputs would have, without running it.

    What the body declares stands; shape inference on the actual inputs and captured values fills
    in the rest.
    """
    inferred = _infer_outputs(program, captured, values)
    return [_merge(*pair) for pair in zip(program.output_types, inferred, strict=True)]


def _merge(declared: ValueType, inferred: ValueType) -> ValueType:
    """Complete a declared tensor type with an inferred one."""
    if not declared.kind:
        return inferred
    if declared.kind != "tensor" or inferred.kind != "tensor":
        return declared
    shape = declared.shape
    if shape is None:
        shape = inferred.shape
    elif inferred.shape is not None and len(inferred.shape) == len(shape):
        shape = tuple(i if d is None else d for d, i in zip(shape, inferred.shape, strict=True))
    text, dtype = (
        (declared.text, declared.dtype) if declared.text else (inferred.text, inferred.dtype)
    )
    return ValueType("tensor", text, dtype, shape)


def _infer_outputs(
    program: Program, captured: Sequence[Value], values: Sequence[Value]
) -> list[ValueType]:
    body = program.graph
    assert body is not None
    graph = GraphProto()
    graph.CopyFrom(body)
    del graph.input[:], graph.value_info[:], graph.output[:]
    given = list(zip(program.input_names, values, strict=True))
    names = [name for _, _, name in program.captures]
    given += zip(names, captured, strict=True)
    for name, value in given:
        proto = proto_of_value(value)
        if proto is not None:
            graph.input.append(helper.make_value_info(name, proto))
    for name in dict.fromkeys(program.output_names):
        graph.output.append(onnx.ValueInfoProto(name=name))
    imports = [helper.make_opsetid(d, v) for d, v in program.opset_imports.items()]
    model = helper.make_model(graph, opset_imports=imports, functions=program.functions)
    model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    types = {value.name: of_proto(value.type) for value in model.graph.output}
    return [types[name] for name in program.output_names]


#: Makes a body callable: from its program, the frame around it, and the deadline.
MakeBody = Callable[[Program, list[Value], Deadline], Any]


def run_plain(
    program: Program,
    arguments: Sequence[Value],
    deadline: Deadline,
    make_body: MakeBody = Body,
) -> Sequence[Value]:
    """Run a main graph; raises ``NodeError`` for a node that cannot be computed."""
    frame = program.frame.copy()
    for slot, value in zip(program.inputs, arguments, strict=True):
        frame[slot] = value
    execute(program, frame, deadline, make_body)
    return [frame[slot] for slot in program.outputs]


def execute(
    program: Program, frame: list[Value], deadline: Deadline, make_body: MakeBody = Body
) -> None:
    """Run the steps of a program in its frame."""
    for step in program.steps:
        deadline.check()
        arguments = [frame[slot] for slot in step.inputs]
        if step.unchecked:
            check_types(step, arguments)
        try:
            results = _run(step, arguments, frame, deadline, make_body)
        except OWN_ERRORS:
            raise
        except Exception as error:
            label = label_of(error.__traceback__) or step.label
            raise NodeError(f"{label}: {error}") from error
        check_count(step, results)
        for slot, value in zip(step.outputs, results, strict=False):
            if slot >= 0:
                frame[slot] = as_array(value)


def _run(
    step: Step,
    arguments: list[Value],
    frame: list[Value],
    deadline: Deadline,
    make_body: MakeBody,
) -> Sequence[Value]:
    if step.callee is not None:
        return _call(step.callee, arguments, deadline, make_body)
    assert step.function is not None
    if step.bodies:
        bodies = {name: make_body(body, frame, deadline) for name, body in step.bodies.items()}
        result = step.function(*arguments, **step.attributes, **bodies)
    else:
        result = step.function(*arguments, **step.attributes)
    return result if isinstance(result, tuple) else (result,)


def _call(
    program: Program, arguments: list[Value], deadline: Deadline, make_body: MakeBody
) -> Sequence[Value]:
    """Run a local function; an input that the call leaves out is ``None``."""
    frame = program.frame.copy()
    for slot, value in zip(program.inputs, arguments, strict=False):
        frame[slot] = value
    execute(program, frame, deadline, make_body)
    return [frame[slot] for slot in program.outputs]


def label_of(traceback: TracebackType | None) -> str:
    """Return the name of the innermost node that an exception has passed."""
    label = ""
    while traceback is not None:
        labels = traceback.tb_frame.f_globals.get(LABELS)
        if isinstance(labels, dict):
            label = labels.get(traceback.tb_lineno, label)
        traceback = traceback.tb_next
    return label


def check_types(step: Step, arguments: Sequence[Value]) -> None:
    """Check the inputs whose types were not known before the run."""
    for i, name, allowed in step.unchecked:
        seen = text_of_value(arguments[i])
        if seen and seen not in allowed and f"optional({seen})" not in allowed:
            raise NodeError(
                f"{step.label}: the input {name!r} is {seen}; "
                f"allowed are {', '.join(sorted(allowed))}"
            )


def check_count(step: Step, results: Sequence[Value]) -> None:
    """Raise where a kernel gives fewer outputs than the node names."""
    if len(results) < len(step.outputs):
        raise NodeError(
            f"{step.label} gives {len(results)} outputs; the node names {len(step.outputs)}"
        )
