"""Straight-line Python from a program: each node is a line, each value a local variable.

The values are bit by bit those of the plain interpretation.
What no iteration of a body changes is computed before its first one: nodes that read nothing but
constants and values of the enclosing graph, and draw no random numbers.
A line of the code leads back to its node when something goes wrong.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from .compiler import Program, Step
from .limits import Deadline
from .plain import OWN_ERRORS, NodeError, check_count, check_types, infer_outputs
from .tensor import identity
from .valuetype import ValueType, as_array

Value = Any
Run = Callable[..., Sequence[Value]]
Make = Callable[[Deadline, Sequence[Value]], Run]

#: Operators whose results differ from one call to the next.
_RANDOM = frozenset(
    """
    Bernoulli Dropout Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike
    """.split()
)
#: Where the names of the nodes stand among the globals of generated code, by line.
_LABELS = "labels"


class StraightBody:
    """A graph attribute at run time; see ``plain.Body``."""

    __slots__ = ("_captured", "_deadline", "_program", "_run")

    def __init__(self, program: Program, captured: Sequence[Value], deadline: Deadline) -> None:
        self._program = program
        self._captured = captured
        self._deadline = deadline
        self._run: Run | None = None

    @property
    def inputs(self) -> list[ValueType]:
        """The types of the body's inputs."""
        return self._program.input_types

    @property
    def outputs(self) -> list[ValueType]:
        """The types of the body's outputs."""
        return self._program.output_types

    @property
    def run(self) -> Run:
        """The body as a function; what does not change from call to call is computed once."""
        if self._run is None:
            self._run = straight(self._program)(self._deadline, self._captured)
        return self._run

    def __call__(self, *values: Value) -> Sequence[Value]:
        """Run the body once."""
        return self.run(*values)

    def infer(self, *values: Value) -> list[ValueType]:
        """Return the types its outputs would have for these inputs, without running it."""
        return infer_outputs(self._program, self._captured, values)


def run_straight(
    program: Program, arguments: Sequence[Value], deadline: Deadline
) -> Sequence[Value]:
    """Run a main graph; raises ``NodeError`` for a node that cannot be computed."""
    try:
        return straight(program)(deadline, ())(*arguments)
    except OWN_ERRORS:
        raise
    except Exception as error:
        label = _label(error.__traceback__)
        raise NodeError(f"{label}: {error}" if label else str(error)) from error


def _label(traceback: TracebackType | None) -> str:
    """Return the name of the innermost node that an exception has passed."""
    label = ""
    while traceback is not None:
        labels = traceback.tb_frame.f_globals.get(_LABELS)
        if isinstance(labels, dict):
            label = labels.get(traceback.tb_lineno, label)
        traceback = traceback.tb_next
    return label


def straight(program: Program) -> Make:
    """Return a program as a function that makes functions; it is generated once."""
    if program.made is None:
        program.made = _Writer(program).compile()
    made: Make = program.made
    return made


class _Writer:
    """Writes the code of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.globals: dict[str, Any] = {
            "ndarray": np.ndarray, "now": time.monotonic, "single": _single, "several": _several,
            "check_types": check_types, "StraightBody": StraightBody,
        }  # fmt: skip
        self.labels: dict[int, str] = {}
        self.lines: list[str] = []
        #: Slots whose values do not change from call to call.
        self.fixed = {slot for _, slot, _ in program.captures}
        constant = set(range(len(program.frame))) - self.fixed - set(program.inputs)
        constant -= {slot for step in program.steps for slot in step.outputs}
        for slot in constant - {0}:
            self.globals[f"v{slot}"] = program.frame[slot]
        self.fixed |= constant

    def compile(self) -> Make:
        """Return the function that makes the function."""
        program = self.program
        self.line(0, "def make(deadline, captured):")
        self.line(1, "end, expire = deadline.end, deadline.expire")
        if program.captures:
            names = "".join(f"v{slot}, " for _, slot, _ in program.captures)
            self.line(1, f"{names}= captured")
        hoisted, rest = self.split()
        for k in hoisted:
            self.step(1, k)
        for k in rest:
            callee = program.steps[k].callee
            if callee is not None:
                self.globals[f"make{k}"] = straight(callee)
                self.line(1, f"f{k} = make{k}(deadline, ())")
        self.line(1, f"def run({', '.join(f'v{slot}' for slot in program.inputs)}):")
        self.line(2, "if now() > end: expire()")
        for k in rest:
            if not program.is_body:
                self.line(2, "if now() > end: expire()")
            self.step(2, k)
        outputs = "".join(f"{self.name(slot)}, " for slot in program.outputs)
        self.line(2, f"return ({outputs})")
        self.line(1, "return run")
        self.globals[_LABELS] = self.labels
        exec(compile("\n".join(self.lines), "<model>", "exec"), self.globals)
        make: Make = self.globals["make"]
        return make

    def split(self) -> tuple[list[int], list[int]]:
        """Return the places of the steps that are the same in each call, and of the others."""
        hoisted, rest = [], []
        for k, step in enumerate(self.program.steps):
            plain = not (step.bodies or step.callee or step.unchecked)
            if plain and step.operator not in _RANDOM and self.fixed.issuperset(step.inputs):
                hoisted.append(k)
                self.fixed.update(slot for slot in step.outputs if slot >= 0)
            else:
                rest.append(k)
        return hoisted, rest

    def line(self, depth: int, text: str) -> None:
        """Write a line."""
        self.lines.append("    " * depth + text)

    @staticmethod
    def name(slot: int) -> str:
        """Return the variable of a slot."""
        return f"v{slot}" if slot else "None"

    def step(self, depth: int, k: int) -> None:
        """Write one node."""
        step = self.program.steps[k]
        first = len(self.lines) + 1
        arguments = [self.name(slot) for slot in step.inputs]
        if step.unchecked:
            self.globals[f"step{k}"] = step
            self.line(depth, f"check_types(step{k}, ({''.join(f'{a}, ' for a in arguments)}))")
        single = len(step.outputs) == 1 and step.outputs[0] >= 0
        if single and step.function is identity:
            self.line(depth, f"v{step.outputs[0]} = {arguments[0]}")
        else:
            call = self.call(step, k, arguments)
            if single:
                name = f"v{step.outputs[0]}"
                self.line(depth, f"{name} = {call}")
                self.line(depth, f"if type({name}) is not ndarray: {name} = single({name})")
            else:
                self.globals[f"step{k}"] = step
                names = "".join(f"v{slot}, " if slot >= 0 else "_, " for slot in step.outputs)
                assigned = f"{names}= " if names else ""
                self.line(depth, f"{assigned}several(step{k}, {call})")
        for number in range(first, len(self.lines) + 1):
            self.labels[number] = step.label

    def call(self, step: Step, k: int, arguments: list[str]) -> str:
        """Return the call of a kernel, or of a local function."""
        if step.callee is not None:
            missing = len(step.callee.inputs) - len(arguments)
            return f"f{k}({', '.join([*arguments, *['None'] * missing])})"
        function = step.function if step.direct is None else step.direct
        assert function is not None
        self.globals[f"k{k}"] = (
            functools.partial(function, **step.attributes) if step.attributes else function
        )
        for name, body in step.bodies.items():
            self.globals[f"body{k}_{name}"] = body
            captured = "".join(f"{self.name(source)}, " for source, _, _ in body.captures)
            arguments = [*arguments, f"{name}=StraightBody(body{k}_{name}, ({captured}), deadline)"]
        return f"k{k}({', '.join(arguments)})"


def _single(result: Any) -> Value:
    """Return the first output of a kernel whose result is no array."""
    return as_array(result[0] if isinstance(result, tuple) else result)


def _several(step: Step, result: Any) -> list[Value]:
    """Return the outputs that a node names."""
    results = result if isinstance(result, tuple) else (result,)
    check_count(step, results)
    return [as_array(value) for value in results[: len(step.outputs)]]
