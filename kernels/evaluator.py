"""Runs a compiled model with the built-in kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.checker
import onnx.shape_inference
from onnx import GraphProto, ModelProto, helper

from .compiler import Compiler, Program, Step
from .limits import Deadline, limited_memory
from .prepare import InvalidModel, canonical, check_functions, check_known
from .registry import Unsupported
from .valuetype import (
    ValueType,
    as_array,
    describe,
    fits,
    of_proto,
    proto_of_value,
    text_of_value,
    with_typed_maps,
)

Value = Any


class NodeError(ValueError):
    """A node could not be computed; the message names it."""


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

    def __call__(self, *values: Value) -> list[Value]:
        """Run the body once."""
        self._deadline.check()
        frame = self._frame
        for slot, value in zip(self._program.inputs, values, strict=True):
            frame[slot] = value
        execute(self._program, frame, self._deadline)
        return [frame[slot] for slot in self._program.outputs]

    def infer(self, *values: Value) -> list[ValueType]:
        """Return the types its outputs would have for these inputs, without running it.

        What the body declares stands; shape inference on the actual inputs and captured values
        fills in the rest.
        """
        inferred = _infer_outputs(self._program, self._frame, values)
        return [_merge(*pair) for pair in zip(self.outputs, inferred, strict=True)]


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
    program: Program, frame: list[Value], values: Sequence[Value]
) -> list[ValueType]:
    body = program.graph
    assert body is not None
    graph = GraphProto()
    graph.CopyFrom(body)
    del graph.input[:], graph.value_info[:], graph.output[:]
    given = list(zip(program.input_names, values, strict=True))
    given += [(name, frame[slot]) for _, slot, name in program.captures]
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


def execute(program: Program, frame: list[Value], deadline: Deadline) -> None:
    """Run the steps of a program in its frame."""
    for step in program.steps:
        deadline.check()
        arguments = [frame[slot] for slot in step.inputs]
        if step.unchecked:
            _check_types(step, arguments)
        try:
            results = _run(step, arguments, frame, deadline)
        except (Unsupported, NodeError, InvalidModel, TimeoutError, MemoryError):
            raise
        except Exception as error:
            raise NodeError(f"{step.label}: {error}") from error
        if len(results) < len(step.outputs):
            raise NodeError(
                f"{step.label} gives {len(results)} outputs; the node names {len(step.outputs)}"
            )
        for slot, value in zip(step.outputs, results, strict=False):
            if slot >= 0:
                frame[slot] = as_array(value)


def _run(
    step: Step, arguments: list[Value], frame: list[Value], deadline: Deadline
) -> Sequence[Value]:
    if step.callee is not None:
        return _call(step.callee, arguments, deadline)
    assert step.function is not None
    if step.bodies:
        bodies = {name: Body(body, frame, deadline) for name, body in step.bodies.items()}
        result = step.function(*arguments, **step.attributes, **bodies)
    else:
        result = step.function(*arguments, **step.attributes)
    return result if isinstance(result, tuple) else (result,)


def _call(program: Program, arguments: list[Value], deadline: Deadline) -> Sequence[Value]:
    """Run a local function; an input that the call leaves out is ``None``."""
    frame = program.frame.copy()
    for slot, value in zip(program.inputs, arguments, strict=False):
        frame[slot] = value
    execute(program, frame, deadline)
    return [frame[slot] for slot in program.outputs]


def _check_types(step: Step, arguments: list[Value]) -> None:
    """Check the inputs whose types were not known before the run."""
    for i, name, allowed in step.unchecked:
        seen = text_of_value(arguments[i])
        if seen and seen not in allowed and f"optional({seen})" not in allowed:
            raise NodeError(
                f"{step.label}: the input {name!r} is {seen}; "
                f"allowed are {', '.join(sorted(allowed))}"
            )


class Evaluator:
    """A model, checked and compiled once, to be run any number of times.

    Raises ``InvalidModel`` where the model breaks a rule of the specification, and
    ``Unsupported`` where an operator, version or type has no built-in kernel.
    """

    def __init__(self, model: ModelProto) -> None:
        try:
            model = canonical(model)
            check_known(model)
            check_functions(model)
            onnx.checker.check_model(model, full_check=True)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
            raise InvalidModel(" ".join(str(error).split())) from error
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
        self._program = Compiler(inferred).model(inferred)
        initialized = {t.name for t in model.graph.initializer}
        self._required = [n for n in self._program.input_names if n not in initialized]
        # Not as inferred: what inference finds is no promise of the model.
        self._declared = {o.name: of_proto(o.type) for o in model.graph.output}

    def run(
        self,
        feeds: Mapping[str, Value],
        *,
        time_limit: float | None = None,
        memory_limit: int | None = None,
    ) -> list[Value]:
        """Run the model on inputs by name; return its outputs in order.

        Args: feeds, a value for each input without an initializer; time_limit, in seconds, held
        between nodes; memory_limit, in bytes beyond what this process has now.
        Raises ``ValueError`` for inputs that do not fit, ``NodeError`` for a node that cannot be
        computed, ``TimeoutError`` past the time limit, ``MemoryError`` past the memory limit.
        """
        program = self._program
        frame = program.frame.copy()
        feeds = {name: as_array(value) for name, value in feeds.items()}
        self._check_feeds(feeds)
        taken = zip(program.input_names, program.inputs, program.input_types, strict=True)
        for name, slot, declared in taken:
            if name in feeds:
                frame[slot] = with_typed_maps(feeds[name], declared.text)
        with np.errstate(all="ignore"), limited_memory(memory_limit):
            execute(program, frame, Deadline(time_limit))
        outputs = [frame[slot] for slot in program.outputs]
        for name, value in zip(program.output_names, outputs, strict=True):
            _check_value(f"the output {name!r}", value, self._declared[name], NodeError)
        return outputs

    def _check_feeds(self, feeds: Mapping[str, Value]) -> None:
        missing = [name for name in self._required if name not in feeds]
        unknown = [name for name in feeds if name not in self._program.input_names]
        if missing or unknown:
            raise ValueError(
                f"the model takes {', '.join(self._program.input_names) or 'no inputs'}; "
                f"missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}"
            )
        for name, declared in zip(
            self._program.input_names, self._program.input_types, strict=True
        ):
            if name in feeds:
                _check_value(f"the input {name!r}", feeds[name], declared, ValueError)


def _check_value(what: str, value: Value, declared: ValueType, error: type[ValueError]) -> None:
    """Hold an input or output of the model against its declared type and shape."""
    if declared.text and not fits(value, declared.text):
        raise error(f"{what} is {describe(value)}; the model wants {declared.text}")
    if declared.shape is not None and isinstance(value, np.ndarray):
        agrees = len(declared.shape) == value.ndim and all(
            d is None or d == s for d, s in zip(declared.shape, value.shape, strict=True)
        )
        if not agrees:
            raise error(f"{what} has shape {value.shape}; the model wants {declared.shape}")
