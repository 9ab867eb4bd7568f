"""Which values of a loop's body keep their type, and which of those can reuse their memory.

A body runs again and again on values of the same types.
Where an elementwise function reads nothing but values whose types are known, the type of its
result is known too; a carried value that comes out with the type it went in with keeps it in all
iterations, by induction.
Such a result is written into memory of an earlier iteration, if nothing else can still hold that:
only elementwise functions read the value, which keep none of it, or it is copied.
The branches of an If are part of the body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .compiler import Program, Step
from .iteration import Kind
from .tensor import identity

Value = Any
#: Shape and element type of a tensor; ``None`` where they are not known.
Type = tuple[tuple[int, ...], np.dtype[Any]] | None


def type_of(value: Value) -> Type:
    """Return the type of a value; strings and what is no tensor have none here.

    Nor has what lies in memory in another order: the results of functions do so too, and others
    may add them up in that order.
    """
    if type(value) is not np.ndarray or value.dtype.kind == "O":
        return None
    return (value.shape, value.dtype) if value.ndim < 2 or value.flags.c_contiguous else None


@dataclass(eq=False, slots=True)
class Place:
    """Where a value is while the loop runs: a variable, and what is known about its memory."""

    name: str
    #: All that compute it can write into memory they are given, and its type is known.
    writable: bool = False
    #: Something may hold on to its memory.
    kept: bool = False
    read: bool = False
    #: It is the row of a scan output.
    is_row: bool = False

    @property
    def reused(self) -> bool:
        """Whether its memory is reused."""
        return self.writable and not self.kept


@dataclass(eq=False, slots=True)
class Var:
    """A value of the body; both results of an If's branches may have the place of its output."""

    place: Place
    type: Type = None

    @property
    def name(self) -> str:
        """The variable."""
        return self.place.name


@dataclass(eq=False, slots=True)
class Op:
    """A node."""

    key: str
    step: Step
    inputs: list[Var]
    outputs: list[Var | None]
    captured: dict[str, list[Var]] = field(default_factory=dict)

    @property
    def elementwise(self) -> bool:
        """Whether its result has the shape its inputs broadcast to, and new memory."""
        step = self.step
        simple = step.direct is not None and not (step.attributes or step.unchecked)
        return simple and len(self.outputs) == 1 and self.outputs[0] is not None


@dataclass(eq=False, slots=True)
class Choice:
    """An If: two lists of nodes, and for each output where it comes from in either."""

    step: Step
    condition: Var
    branches: tuple[list[Node], list[Node]]
    outputs: list[tuple[Var, Var, Var]]


Node = Op | Choice


class Body:
    """The nodes of a loop's body that each iteration runs, and what is known about its values.

    Args: values, the first inputs without an iteration number; fixed, the values that the body
    captures and those that are hoisted.
    """

    def __init__(
        self, program: Program, kind: Kind, values: Sequence[Value], fixed: Sequence[Value]
    ) -> None:
        self.constants: dict[str, Value] = {}
        self._count = 0
        env: dict[int, Var] = {0: Var(Place("None"))}
        slots = [*(slot for _, slot, _ in program.captures), *program.hoisted_slots()]
        self.fixed = self._define(env, slots, fixed)
        numbers = [np.array(0, np.int64)] if kind.operator == "Loop" else []
        inputs = self._define(env, program.inputs, [*numbers, *values])
        self.number = inputs.pop(0) if numbers else None
        self.carried = inputs[: kind.carried]
        self.elements = inputs[kind.carried :]
        self.nodes = self._nodes(program, env, frozenset(program.hoisted))
        outputs = [self._var(program, env, slot) for slot in program.outputs]
        self.handed_on = outputs[: kind.carried]
        self.scanned = outputs[kind.carried :]
        self._find_types()
        self._mark(self.nodes)
        self._mark_outputs()

    def _define(
        self, env: dict[int, Var], slots: Sequence[int], values: Sequence[Value]
    ) -> list[Var]:
        defined = [self._new(type_of(value)) for value in values]
        env.update(zip(slots, defined, strict=True))
        return defined

    def _new(self, known: Type = None) -> Var:
        self._count += 1
        return Var(Place(f"v{self._count}"), known)

    def _var(self, program: Program, env: dict[int, Var], slot: int) -> Var:
        """Return the value of a slot, which is a constant where nothing else defines it."""
        if slot not in env:
            env[slot] = self._new(type_of(program.frame[slot]))
            self.constants[env[slot].name] = program.frame[slot]
        return env[slot]

    def _nodes(
        self, program: Program, env: dict[int, Var], left_out: frozenset[int] = frozenset()
    ) -> list[Node]:
        """Return the nodes of a graph, its values defined in ``env``."""
        nodes: list[Node] = []
        for k, step in enumerate(program.steps):
            if k in left_out:
                continue
            inputs = [self._var(program, env, slot) for slot in step.inputs]
            if step.function is identity and not step.unchecked and step.outputs[0] >= 0:
                env[step.outputs[0]] = inputs[0]
                continue
            if step.operator == "If" and _can_be_inlined(step):
                choice = self._choice(program, env, step, inputs[0])
                outputs: list[Var | None] = [
                    output if slot >= 0 else None
                    for slot, (output, _, _) in zip(step.outputs, choice.outputs, strict=True)
                ]
                nodes.append(choice)
            else:
                self._count += 1
                outputs = [self._new() if slot >= 0 else None for slot in step.outputs]
                captured = {
                    name: [self._var(program, env, source) for source, _, _ in body.captures]
                    for name, body in step.bodies.items()
                }
                nodes.append(Op(str(self._count), step, inputs, outputs, captured))
            results = zip(step.outputs, outputs, strict=True)
            env.update((slot, var) for slot, var in results if var is not None)
        return nodes

    def _choice(self, program: Program, env: dict[int, Var], step: Step, condition: Var) -> Choice:
        branches, results = [], []
        for branch in (step.bodies["then_branch"], step.bodies["else_branch"]):
            inner = {slot: self._var(program, env, source) for source, slot, _ in branch.captures}
            inner[0] = env[0]
            nodes = self._nodes(branch, inner)
            found = [self._var(branch, inner, slot) for slot in branch.outputs]
            own = {op.outputs[0] for op in nodes if isinstance(op, Op) and op.elementwise}
            results.append([(var, var in own and found.count(var) == 1) for var in found])
            branches.append(nodes)
        outputs = []
        for _, (x, x_own), (y, y_own) in zip(step.outputs, *results, strict=False):
            output = self._new()
            if x_own and y_own:
                x.place = y.place = output.place
            outputs.append((output, x, y))
        return Choice(step, condition, (branches[0], branches[1]), outputs)

    def _find_types(self) -> None:
        """Find all types, from those of the carried values that keep theirs."""
        pairs = list(zip(self.carried, self.handed_on, strict=True))
        changed = True
        while changed:
            _infer(self.nodes)
            changed = False
            for before, after in pairs:
                if before.type is not None and before.type != after.type:
                    before.type = None
                    changed = True

    def _mark(self, nodes: Sequence[Node]) -> None:
        """Mark the places of what the nodes read and compute."""
        for node in nodes:
            if isinstance(node, Choice):
                node.condition.place.read = True
                self._mark(node.branches[0])
                self._mark(node.branches[1])
                for output, *sources in node.outputs:
                    places = [output.place, *(source.place for source in sources)]
                    if len(set(map(id, places))) == 1:
                        output.place.writable &= output.type is not None
                    else:
                        for place in places:
                            place.kept = place.read = True
                continue
            for var in (*node.inputs, *(v for vs in node.captured.values() for v in vs)):
                var.place.read = True
                var.place.kept |= not node.elementwise
            for result in filter(None, node.outputs):
                if node.elementwise and isinstance(node.step.direct, np.ufunc) and result.type:
                    result.place.writable = True
                else:
                    result.place.kept = True

    def _mark_outputs(self) -> None:
        """Mark the places of the body's inputs and outputs."""
        for k, (before, after) in enumerate(zip(self.carried, self.handed_on, strict=True)):
            elsewhere = before in self.handed_on[:k] + self.handed_on[k + 1 :]
            twice = self.handed_on.count(after) > 1
            after.place.read = True
            after.place.kept |= before.place.kept or elsewhere or twice
        for var in self.scanned:
            var.place.read = True
            var.place.is_row = var.place.reused
        if self.number is not None:
            self.number.place.writable = self.number not in self.handed_on


def _can_be_inlined(step: Step) -> bool:
    """Tell whether an If is one that can only fail inside of its branches."""
    branches = list(step.bodies.values())
    counts = {len(branch.outputs) for branch in branches}
    inputs = [slot for branch in branches for slot in branch.inputs]
    fits = len(counts) == 1 and len(step.outputs) <= counts.pop()
    return fits and not (inputs or step.unchecked)


def _infer(nodes: Sequence[Node]) -> None:
    """Find the types of what the nodes compute."""
    for node in nodes:
        if isinstance(node, Choice):
            _infer(node.branches[0])
            _infer(node.branches[1])
            for output, x, y in node.outputs:
                output.type = x.type if x.type == y.type else None
        elif node.elementwise:
            assert node.outputs[0] is not None
            node.outputs[0].type = _result_type(node)


def _result_type(op: Op) -> Type:
    """Return the type of an elementwise function's result; ``None`` where it would fail."""
    known = [var.type for var in op.inputs if var.type is not None]
    if len(known) < len(op.inputs):
        return None
    assert op.step.direct is not None
    try:
        shape = np.broadcast_shapes(*(shape for shape, _ in known))
        result = op.step.direct(*(np.ones((), dtype) for _, dtype in known))
    except (TypeError, ValueError):
        return None
    return shape, result.dtype


def is_flag(known: Type) -> bool:
    """Tell whether a value of a type is a condition."""
    return known is not None and known[1] == np.bool_ and np.prod(known[0]) == 1


def by_name(variables: Mapping[str, Sequence[Var]]) -> dict[str, list[str]]:
    """Return the names of variables."""
    return {key: [var.name for var in values] for key, values in variables.items()}
