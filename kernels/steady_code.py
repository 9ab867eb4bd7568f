"""Whole loops in straight-line Python, for values of known types; see ``steady``.

The values are bit by bit those of running the body again and again, and so are the errors.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .code import Code, kernel_of
from .compiler import Program
from .iteration import (
    Kind,
    Loop,
    Rows,
    check_same_shape,
    check_same_type,
    condition,
    single,
)
from .limits import Deadline
from .rounding import Array
from .steady import Body, Choice, Node, Op, Type, Var, by_name, is_flag, type_of

Value = Any
#: For so many combinations of types a body gets a loop of its own.
_MOST_LOOPS = 8


def steady_loop(
    program: Program,
    kind: Kind,
    values: Sequence[Value],
    fixed: Sequence[Value],
    deadline: Deadline,
    new_code: Callable[[], Code],
) -> Loop | None:
    """Return a whole loop over a body; see ``StraightBody.steady`` and ``steady.Body``."""
    key = (kind, *map(type_of, values), *map(type_of, fixed))
    if key not in program.loops:
        if len(program.loops) == _MOST_LOOPS:
            return None
        program.loops[key] = _Writer(Body(program, kind, values, fixed), kind, new_code()).loop()
    made: _Made | None = program.loops[key]
    if made is None:
        return None

    def loop(
        carried: Sequence[Value],
        elements: Sequence[Iterable[Array]],
        scans: Sequence[Rows],
        limit: int | None,
    ) -> Sequence[Value]:
        return made.run(deadline, fixed, carried, elements, scans, limit)

    return loop


@dataclass(frozen=True, slots=True)
class _Made:
    """A loop for values of known types."""

    function: Callable[..., tuple[int, bool, Sequence[Value]]]
    #: Of each scan output; those of unknown type are appended one by one.
    row_types: list[Type]

    def run(
        self,
        deadline: Deadline,
        fixed: Sequence[Value],
        carried: Sequence[Value],
        elements: Sequence[Iterable[Array]],
        scans: Sequence[Rows],
        limit: int | None,
    ) -> Sequence[Value]:
        """Run all iterations, as many at once as there are free rows for the scan outputs."""
        numbers = itertools.count() if limit is None else iter(range(limit))
        streams = [*map(iter, elements), numbers]
        typed = [(rows, t) for rows, t in zip(scans, self.row_types, strict=True) if t is not None]
        done, goes_on = 0, True
        while goes_on and (limit is None or done < limit):
            rooms = [rows.room(*known) for rows, known in typed]
            before = done
            # First the rows, so that no number is taken where no row is left.
            iterations = zip(*rooms, *streams, strict=False)
            done, goes_on, carried = self.function(
                deadline, fixed, done - 1, carried, iterations, scans
            )
            for rows, _ in typed:
                rows.filled(done - before)
        return carried


class _Writer:
    """Writes the code of one loop."""

    def __init__(self, body: Body, kind: Kind, code: Code) -> None:
        self.body = body
        self.kind = kind
        self.code = code
        code.globals.update(
            body.constants, array=np.array, empty=np.empty, int64=np.int64, choose=single,
            condition=condition, check_same_type=check_same_type, check_same_shape=check_same_shape,
        )  # fmt: skip
        #: Carried values whose memory alternates; the last one is what it is called next.
        self.alternating = [
            (before, after)
            for before, after in zip(body.carried, body.handed_on, strict=True)
            if after.place.reused and not after.place.is_row
        ]
        #: The variable of the row that each scan output of known type is written to.
        self.rows: list[str] = []
        seen: set[str] = set()
        for k, var in enumerate(body.scanned):
            own = var.place.is_row and var.name not in seen
            self.rows.append("" if var.type is None else var.name if own else f"r{k}")
            seen.add(var.name)

    def loop(self) -> _Made | None:
        """Return the loop; ``None`` where its condition is wrong, which its first run will tell."""
        body, code = self.body, self.code
        if self.kind.operator == "Loop":
            given = body.handed_on[0].type
            if given is not None and not is_flag(given):
                return None
        code.line(0, "def loop(deadline, fixed, i, carried, iterations, scans):")
        code.line(1, "end, expire = deadline.end, deadline.expire")
        self.unpack(body.fixed, "fixed")
        self.unpack(body.carried, "carried")
        self.begin(body.nodes)
        number = body.number
        if number is not None and number.place.read and number.place.reused:
            code.line(1, f"{number.name} = array(0, int64)")
        for before, after in self.alternating:
            self.empty(f"{before.name}_next", after.type)
        code.line(1, "goes_on = True")
        taken = "".join(f"{name}, " for name in self.rows if name)
        taken += "".join(f"{var.name}, " for var in body.elements)
        code.line(
            1, f"for {taken}i, in iterations:" if not taken else f"for {taken}i in iterations:"
        )
        code.line(2, "if now() > end: expire()")
        if number is not None and number.place.read:
            reused = f"{number.name}[()] = i"
            code.line(2, reused if number.place.reused else f"{number.name} = array(i, int64)")
        self.nodes(2, body.nodes)
        self.end()
        results = "".join(
            f"{before.name}.copy(), " if after.place.is_row else f"{before.name}, "
            for before, after in zip(body.carried, body.handed_on, strict=True)
        )
        code.line(1, f"return i + 1, goes_on, ({results})")
        types = [var.type for var in body.scanned]
        return _Made(code.function("loop"), types)

    def unpack(self, variables: Sequence[Var], name: str) -> None:
        """Write the assignment of a sequence to variables."""
        if variables:
            self.code.line(1, "".join(f"{var.name}, " for var in variables) + f"= {name}")

    def empty(self, name: str, known: Type) -> None:
        """Write the making of a tensor of a type."""
        assert known is not None
        self.code.globals[f"type_of_{name}"] = known
        self.code.line(1, f"{name} = empty(*type_of_{name})")

    def begin(self, nodes: Sequence[Node], made: set[str] | None = None) -> None:
        """Write what has to stand before the first iteration for each node."""
        made = set() if made is None else made
        for node in nodes:
            if isinstance(node, Choice):
                self.begin(node.branches[0], made)
                self.begin(node.branches[1], made)
                continue
            self.code.local_function(1, node.key, node.step)
            for var in node.outputs:
                if var is not None and self.in_place(node) and not var.place.is_row:
                    if var.name not in made:
                        self.empty(var.name, var.type)
                    made.add(var.name)

    @staticmethod
    def in_place(op: Op) -> bool:
        """Tell whether a node writes into memory that is there."""
        return op.elementwise and op.outputs[0] is not None and op.outputs[0].place.reused

    def nodes(self, depth: int, nodes: Sequence[Node]) -> None:
        """Write nodes."""
        for node in nodes:
            if isinstance(node, Choice):
                self.choice(depth, node)
            elif self.in_place(node):
                assert node.outputs[0] is not None
                self.code.globals[f"k{node.key}"] = kernel_of(node.step)
                names = [*(var.name for var in node.inputs), node.outputs[0].name]
                self.code.line(depth, f"k{node.key}({', '.join(names)})", node.step.label)
            else:
                inputs = [var.name for var in node.inputs]
                outputs = ["_" if var is None else var.name for var in node.outputs]
                captured = by_name(node.captured)
                self.code.step(depth, node.key, node.step, inputs, outputs, captured)

    def choice(self, depth: int, node: Choice) -> None:
        """Write an If."""
        name, label = node.condition.name, node.step.label
        test = name if is_flag(node.condition.type) else f"choose({name}, 'cond')"
        for branch, head in enumerate((f"if {test}:", "else:")):
            self.code.line(depth, head, label)
            inner = node.branches[branch]
            if not all(isinstance(op, Op) and op.elementwise for op in inner):
                self.code.line(depth + 1, "if now() > end: expire()")
            self.nodes(depth + 1, inner)
            moved = [(out[0], out[1 + branch]) for out in node.outputs]
            moved = [(to, source) for to, source in moved if to.place is not source.place]
            for to, source in moved:
                self.code.line(depth + 1, f"{to.name} = {source.name}")
            if not inner and not moved:
                self.code.line(depth + 1, "pass")

    def end(self) -> None:
        """Write the end of an iteration: checks, rows, and the values for the next one."""
        body, line = self.body, self.code.line
        stop = self.condition()
        self.checks()
        for k, (var, row) in enumerate(zip(body.scanned, self.rows, strict=True)):
            if not row:
                line(2, f"scans[{k}].append({var.name})")
            elif row != var.name:
                line(2, f"{row}[...] = {var.name}")
        to, sources = [], []
        for before, after in zip(body.carried, body.handed_on, strict=True):
            if before is not after:
                to.append(before.name)
                sources.append(after.name)
        for before, after in self.alternating:
            to += [after.name, f"{before.name}_next"]
            sources += [f"{before.name}_next", after.name]
        if to:
            line(2, f"{', '.join(to)} = {', '.join(sources)}")
        if stop:
            line(2, f"if not {stop}:")
            line(3, "goes_on = False")
            line(3, "break")

    def condition(self) -> str:
        """Write the check of a Loop's condition; return what tells whether it goes on."""
        if self.kind.operator != "Loop":
            return ""
        before, after = self.body.carried[0], self.body.handed_on[0]
        if before is after:
            return ""
        if after.type is None:
            self.code.line(2, f"flag = condition({after.name})")
        if not self.kind.stops:
            return ""
        return "flag" if after.type is None else before.name

    def checks(self) -> None:
        """Write the checks of the carried values whose types are not known."""
        is_loop = self.kind.operator == "Loop"
        what = "carried value" if is_loop else "state"
        pairs = list(zip(self.body.carried, self.body.handed_on, strict=True))[is_loop:]
        checked = [
            (k, b.name, a.name)
            for k, (b, a) in enumerate(pairs)
            if b is not a and (b.type is None or a.type is None)
        ]
        for k, before, after in checked:
            self.code.line(
                2,
                f"if type({before}) is not ndarray or type({after}) is not ndarray "
                f"or {before}.dtype is not {after}.dtype: "
                f"check_same_type({before}, {after}, '{what} {k}')",
            )
        for k, before, after in checked if not is_loop else ():
            self.code.line(2, f"check_same_shape({before}, {after}, '{what} {k}')")
