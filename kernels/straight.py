"""Straight-line Python from a program: each node is a line, each value a local variable.

The values are bit by bit those of the plain interpretation.
What no iteration of a body changes is computed before its first one: nodes that read nothing but
constants and values of the enclosing graph, and draw no random numbers.
A line of the code leads back to its node when something goes wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .code import Code
from .compiler import Program
from .iteration import Kind, Loop
from .limits import Deadline
from .plain import OWN_ERRORS, NodeError, infer_outputs, label_of, run_plain
from .steady_code import steady_loop
from .valuetype import ValueType

Value = Any
Run = Callable[..., Sequence[Value]]
#: Returns the function that runs the program once, and the values that it has hoisted.
Make = Callable[[Deadline, Sequence[Value]], tuple[Run, Sequence[Value]]]

#: Operators whose results differ from one call to the next.
_RANDOM = frozenset(
    """
    Bernoulli Dropout Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike
    """.split()
)
#: After so many iterations a body has paid for a loop of its own.
_HOT = 256


class StraightBody:
    """A graph attribute at run time; see ``plain.Body``."""

    __slots__ = ("_captured", "_deadline", "_hoisted", "_program", "_run")

    def __init__(self, program: Program, captured: Sequence[Value], deadline: Deadline) -> None:
        self._program = program
        self._captured = captured
        self._deadline = deadline
        self._run: Run | None = None
        self._hoisted: Sequence[Value] = ()

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
            self._run, self._hoisted = straight(self._program)(self._deadline, self._captured)
        return self._run

    def __call__(self, *values: Value) -> Sequence[Value]:
        """Run the body once."""
        return self.run(*values)

    def steady(self, kind: Kind, values: Sequence[Value], count: int | None) -> Loop | None:
        """Return a whole loop over the body, where the number of iterations is worth it.

        Args: kind, what runs it; values, its first inputs without an iteration number; count, the
        most iterations it will have, ``None`` where that is not known.
        """
        program = self._program
        program.heat += _HOT if count is None else min(count, _HOT)
        if program.heat < _HOT:
            return None
        assert self.run is not None
        fixed = (*self._captured, *self._hoisted)
        return steady_loop(program, kind, values, fixed, self._deadline, _new_code)

    def infer(self, *values: Value) -> list[ValueType]:
        """Return the types its outputs would have for these inputs, without running it."""
        return infer_outputs(self._program, self._captured, values)


def _body(program: Program, frame: list[Value], deadline: Deadline) -> StraightBody:
    captured = [frame[source] for source, _, _ in program.captures]
    return StraightBody(program, captured, deadline)


def run_once(program: Program, arguments: Sequence[Value], deadline: Deadline) -> Sequence[Value]:
    """Do as ``run_straight`` does for a graph that may not run again: compile its bodies only."""
    return run_plain(program, arguments, deadline, _body)


def run_straight(
    program: Program, arguments: Sequence[Value], deadline: Deadline
) -> Sequence[Value]:
    """Run a main graph; raises ``NodeError`` for a node that cannot be computed."""
    try:
        run, _ = straight(program)(deadline, ())
        return run(*arguments)
    except OWN_ERRORS:
        raise
    except Exception as error:
        label = label_of(error.__traceback__)
        raise NodeError(f"{label}: {error}" if label else str(error)) from error


def straight(program: Program) -> Make:
    """Return a program as a function that makes functions; it is generated once."""
    if program.made is None:
        program.made = _compile(program)
    made: Make = program.made
    return made


def _new_code() -> Code:
    return Code(StraightBody, straight)


def _compile(program: Program) -> Make:
    """Write the code of one program."""
    code = _new_code()
    code.line(0, "def make(deadline, captured):")
    code.line(1, "end, expire = deadline.end, deadline.expire")
    if program.captures:
        names = "".join(f"v{slot}, " for _, slot, _ in program.captures)
        code.line(1, f"{names}= captured")
    fixed = {slot for _, slot, _ in program.captures}
    constant = set(range(1, len(program.frame))) - fixed - set(program.inputs)
    constant -= {slot for step in program.steps for slot in step.outputs}
    for slot in constant:
        code.globals[f"v{slot}"] = program.frame[slot]
    program.hoisted, rest = _split(program, fixed | constant)
    for k in program.hoisted:
        _step(code, 1, program, k)
    for k in rest:
        code.local_function(1, str(k), program.steps[k])
    code.line(1, f"def run({', '.join(f'v{slot}' for slot in program.inputs)}):")
    code.line(2, "if now() > end: expire()")
    for k in rest:
        if not program.is_body:
            code.line(2, "if now() > end: expire()")
        _step(code, 2, program, k)
    outputs = "".join(f"{_name(slot)}, " for slot in program.outputs)
    code.line(2, f"return ({outputs})")
    hoisted = "".join(f"v{slot}, " for slot in program.hoisted_slots())
    code.line(1, f"return run, ({hoisted})")
    made: Make = code.function("make")
    return made


def _split(program: Program, fixed: set[int]) -> tuple[list[int], list[int]]:
    """Return the places of the steps that are the same in each call, and of the others.

    Args: fixed, the slots whose values do not change from call to call; it grows.
    """
    hoisted, rest = [], []
    for k, step in enumerate(program.steps):
        plain = not (step.bodies or step.callee or step.unchecked)
        if plain and step.operator not in _RANDOM and fixed.issuperset(set(step.inputs) - {0}):
            hoisted.append(k)
            fixed.update(slot for slot in step.outputs if slot >= 0)
        else:
            rest.append(k)
    return hoisted, rest


def _name(slot: int) -> str:
    """Return the variable of a slot."""
    return f"v{slot}" if slot else "None"


def _step(code: Code, depth: int, program: Program, k: int) -> None:
    """Write the step in place ``k``."""
    step = program.steps[k]
    arguments = [_name(slot) for slot in step.inputs]
    outputs = [f"v{slot}" if slot >= 0 else "_" for slot in step.outputs]
    captured = {
        name: [_name(source) for source, _, _ in body.captures]
        for name, body in step.bodies.items()
    }
    code.step(depth, str(k), step, arguments, outputs, captured)
