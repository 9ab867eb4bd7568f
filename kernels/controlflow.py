"""Kernels of the control-flow operators: Loop, Scan, If, SequenceMap.

A body arrives as ``Body``: called with the body's inputs, it returns the body's outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from .iteration import (
    Kind,
    Loop,
    Rows,
    alike,
    along_first_axis,
    check_same_shape,
    check_same_type,
    single,
)
from .iteration import condition as condition_of
from .registry import kernel
from .rounding import Array
from .valuetype import ValueType

Value = Any


class Body(Protocol):
    """A graph attribute, ready to be called."""

    @property
    def inputs(self) -> list[ValueType]:
        """The types of its inputs."""

    @property
    def outputs(self) -> list[ValueType]:
        """The types of its outputs."""

    @property
    def run(self) -> Callable[..., Sequence[Value]]:
        """The function that runs it once."""

    def __call__(self, *values: Value) -> Sequence[Value]:
        """Run it once."""

    def steady(self, kind: Kind, values: Sequence[Value], count: int | None) -> Loop | None:
        """Return a whole loop over it, where there is a faster one than call after call.

        Args: kind, what runs it; values, its first inputs without an iteration number; count, the
        most iterations it will have, ``None`` where that is not known.
        """

    def infer(self, *values: Value) -> list[ValueType]:
        """Return the types of its outputs for these inputs, without running it."""


@kernel("If", since_version=(1, 11, 13, 16, 19, 21, 23, 24, 25))
def if_1(cond: Array, /, *, then_branch: Body, else_branch: Body) -> tuple[Value, ...]:
    """Return the outputs of the branch that ``cond`` chooses.

    Args: cond, a bool tensor with a single element.
    Returns: the values of the chosen branch; the two may differ in shape.
    Errors: a condition with no or several elements, branches with different numbers of outputs.
    Source: If-11.
    """
    if len(then_branch.outputs) != len(else_branch.outputs):
        raise ValueError(
            f"then_branch has {len(then_branch.outputs)} outputs, "
            f"else_branch has {len(else_branch.outputs)}; they must agree"
        )
    return tuple(then_branch() if single(cond, "cond") else else_branch())


@kernel("Loop", since_version=(1, 11, 13, 16, 19, 21, 23, 24, 25))
def loop_1(
    trip_count: Array | None = None,
    cond: Array | None = None,
    /,
    *v_initial: Value,
    body: Body,
) -> tuple[Value, ...]:
    """Run ``body`` while the iteration number is below M and the condition holds.

    Args: trip_count (M), int64 with a single element or omitted (no limit); cond, bool with a
    single element or omitted (the body's condition is ignored); v_initial, N values.
    Returns: the N final values, then K scan outputs of shape (iterations, ...).
    Errors: a body whose numbers of inputs and outputs do not fit, a carried value that changes
    its type, a scan output that changes its shape or type, or that is no tensor.
    The body sees the condition as it was given, with its shape.
    Where cond is omitted the body still sees its own condition of the iteration before, and true
    in the first.
    Source: Loop-11, the table of operating modes and the equivalent C code.
    """
    n = len(v_initial)
    _check_body(body, takes=2 + n, gives_at_least=1 + n)
    limit = None if trip_count is None else int(single(trip_count, "M"))
    condition = np.asarray(True) if cond is None else cond
    goes_on = bool(single(condition, "cond"))
    if not goes_on or (limit is not None and limit <= 0):
        types = body.infer(np.asarray(0, np.int64), condition, *v_initial)[1 + n :]
        return (*v_initial, *(_empty((0, *_dims(t)), t) for t in types))
    # As many rows as are to come, where that is known and not too many to begin with.
    first = 16 if limit is None else min(limit, 1024)
    scans = [Rows(f"scan output {k}", first) for k in range(len(body.outputs) - 1 - n)]
    kind = Kind("Loop", 1 + n, stops=cond is not None)
    steady = body.steady(kind, (condition, *v_initial), limit)
    if steady is None:
        state = _loop(body.run, limit, condition, v_initial, scans, stops=cond is not None)
    else:
        _, *state = steady((condition, *v_initial), (), scans, limit)
    return (*state, *(rows.stacked() for rows in scans))


def _loop(
    run: Callable[..., Sequence[Value]],
    limit: int | None,
    condition: Array,
    state: Sequence[Value],
    scans: list[Rows],
    *,
    stops: bool,
) -> Sequence[Value]:
    """Run the iterations of a Loop, of which there is one at least; return the final values."""
    n = len(state)
    goes_on = True
    i = 0
    while (limit is None or i < limit) and goes_on:
        before, seen = state, condition
        condition, *rest = run(np.array(i, np.int64), condition, *state)
        if condition is not seen:
            goes_on = condition_of(condition) or not stops
        elif i == 0:
            condition_of(condition)
        state = rest[:n] if scans else rest
        if not alike(before, state):
            for k in range(n):
                check_same_type(before[k], state[k], f"carried value {k}")
        for rows, element in zip(scans, rest[n:], strict=True):
            rows.append(element)
        i += 1
    return state


@kernel("Scan", since_version=8)
def scan_8(
    sequence_lens: Array | None = None,
    /,
    *initial_state_and_scan_inputs: Value,
    body: Body,
    num_scan_inputs: int,
    directions: list[int] | None,
) -> tuple[Array, ...]:
    """Scan each row of a batch on its own: axis 0 is the batch, axis 1 the sequence.

    Args: sequence_lens, int64 of shape (batch,) or omitted (all of the full length); then N
    states of shape (batch, ...) and M scan inputs of shape (batch, length, ...).
    Returns: N final states of shape (batch, ...), K scan outputs of shape (batch, length, ...);
    what lies past a sequence's length is undefined in the specification, and zero here.
    Errors: batch sizes or lengths that disagree, a sequence length outside [0, length].
    The pseudo-code gives the states no batch index; the text and the official test do.
    Source: Scan-8.
    """
    states, scanned = _split(initial_state_and_scan_inputs, num_scan_inputs)
    n = len(states)
    _check_body(body, takes=len(states) + len(scanned), gives_at_least=n)
    reverse = _flags(directions, len(scanned), "directions")
    for x in scanned:
        if x.ndim < 2:
            raise ValueError(f"a scan input has shape {x.shape}; it needs a batch and a scan axis")
    batch, length = scanned[0].shape[:2]
    if any(x.shape[:2] != (batch, length) for x in scanned) or any(
        s.ndim < 1 or s.shape[0] != batch for s in states
    ):
        shapes = ", ".join(str(x.shape) for x in (*states, *scanned))
        raise ValueError(f"batch sizes and lengths must agree; the shapes are {shapes}")
    lengths = [length] * batch if sequence_lens is None else _lengths(sequence_lens, batch, length)
    finals, rows = [], []
    for b in range(batch):
        elements = [
            _in_order(x[b, : lengths[b]], back) for x, back in zip(scanned, reverse, strict=True)
        ]
        state, outputs = _scan([s[b, ...] for s in states], elements, body)
        finals.append(state)
        rows.append(outputs)
    examples = [np.zeros(x.shape[2:], x.dtype) for x in scanned]
    firsts = [np.zeros(s.shape[1:], s.dtype) for s in states]
    padded = _pad(rows, length, body.infer(*firsts, *examples)[n:])
    return (*(np.stack([f[k] for f in finals]) if batch else states[k] for k in range(n)), *padded)


def _lengths(sequence_lens: Array, batch: int, length: int) -> list[int]:
    if sequence_lens.shape != (batch,):
        raise ValueError(f"sequence_lens has shape {sequence_lens.shape}; it needs ({batch},)")
    lengths = [int(v) for v in sequence_lens]
    if any(not 0 <= v <= length for v in lengths):
        raise ValueError(f"sequence_lens is {lengths}; each must lie in [0, {length}]")
    return lengths


def _pad(rows: list[list[Rows]], length: int, types: list[ValueType]) -> list[Array]:
    """Stack the scan outputs of a batch, each row padded with zeros to the full length."""
    padded = []
    for k, declared in enumerate(types):
        seen = {b: row[k].stacked() for b, row in enumerate(rows) if len(row[k])}
        shapes = {stacked.shape[1:] for stacked in seen.values()}
        if len(shapes) > 1:
            raise ValueError(f"scan output {k} has the shapes {sorted(shapes)}; they must agree")
        shape = shapes.pop() if shapes else _dims(declared)
        result = _empty((len(rows), length, *shape), declared, list(seen.values()))
        for b, stacked in seen.items():
            result[b, : len(stacked)] = stacked
        padded.append(result)
    return padded


@kernel("Scan", since_version=9)
def scan_9(
    *initial_state_and_scan_inputs: Value,
    body: Body,
    num_scan_inputs: int,
    scan_input_axes: list[int] | None,
    scan_input_directions: list[int] | None,
    scan_output_axes: list[int] | None,
    scan_output_directions: list[int] | None,
) -> tuple[Array, ...]:
    """Scan as version 11 does, with axes that count from the front only.

    Source: Scan-9, which names no range for its axes; negative ones came with version 11.
    """
    for name, axes in (
        ("scan_input_axes", scan_input_axes),
        ("scan_output_axes", scan_output_axes),
    ):
        if any(axis < 0 for axis in axes or []):
            raise ValueError(f"{name} is {axes}; negative axes are allowed from version 11 on")
    return scan_11(
        *initial_state_and_scan_inputs,
        body=body,
        num_scan_inputs=num_scan_inputs,
        scan_input_axes=scan_input_axes,
        scan_input_directions=scan_input_directions,
        scan_output_axes=scan_output_axes,
        scan_output_directions=scan_output_directions,
    )


@kernel("Scan", since_version=(11, 16, 19, 21, 23, 24, 25))
def scan_11(
    *initial_state_and_scan_inputs: Value,
    body: Body,
    num_scan_inputs: int,
    scan_input_axes: list[int] | None,
    scan_input_directions: list[int] | None,
    scan_output_axes: list[int] | None,
    scan_output_directions: list[int] | None,
) -> tuple[Array, ...]:
    """Run ``body`` once for each position along the scanned axes.

    Args: N states of any shape, then M scan inputs, each with ``length`` entries along its axis.
    Returns: N final states, then K scan outputs with ``length`` entries along their axes.
    An output axis counts on the rank of the finished output.
    Errors: lengths that disagree, axes out of range, lists of the wrong length, directions other
    than 0 and 1, a state or scan output that changes its shape.
    Source: Scan-11.
    """
    states, scanned = _split(initial_state_and_scan_inputs, num_scan_inputs)
    n, m = len(states), len(scanned)
    _check_body(body, takes=n + m, gives_at_least=n)
    k = len(body.outputs) - n
    in_axes = _axes(scan_input_axes, [x.ndim for x in scanned], "scan_input_axes")
    in_reverse = _flags(scan_input_directions, m, "scan_input_directions")
    out_reverse = _flags(scan_output_directions, k, "scan_output_directions")
    _check_count(scan_output_axes, k, "scan_output_axes")
    lengths = [x.shape[axis] for x, axis in zip(scanned, in_axes, strict=True)]
    if len(set(lengths)) > 1:
        raise ValueError(f"the scan inputs have the lengths {lengths}; they must agree")
    moved = [np.moveaxis(x, axis, 0) for x, axis in zip(scanned, in_axes, strict=True)]
    elements = [_in_order(x, back) for x, back in zip(moved, in_reverse, strict=True)]
    finals, collected = _scan(states, elements, body)
    if lengths[0] == 0:
        examples = [np.zeros(x.shape[1:], x.dtype) for x in moved]
        types = body.infer(*states, *examples)[n:]
        stacked = [_empty((0, *_dims(t)), t) for t in types]
    else:
        stacked = [
            c.stacked()[::-1] if b else c.stacked()
            for c, b in zip(collected, out_reverse, strict=True)
        ]
    out_axes = _axes(scan_output_axes, [y.ndim for y in stacked], "scan_output_axes")
    return (*finals, *(np.moveaxis(y, 0, a) for y, a in zip(stacked, out_axes, strict=True)))


def _in_order(x: Array, back: int) -> Array:
    """Return the entries along a scanned axis in the order they are read."""
    return x[::-1] if back else x


def _scan(
    states: list[Array], elements: list[Array], body: Body
) -> tuple[Sequence[Array], list[Rows]]:
    """Run the body over the elements in order; return final states and collected outputs."""
    n = len(states)
    count = len(elements[0])
    collected = [Rows(f"scan output {k}", count) for k in range(len(body.outputs) - n)]
    if count == 0:
        return states, collected
    values = (*states, *(x[0, ...] for x in elements))
    steady = body.steady(Kind("Scan", n, stops=False), values, count)
    entries = [along_first_axis(x) for x in elements]
    if steady is not None:
        return steady(states, entries, collected, count), collected
    before: Sequence[Array] = states
    run = body.run
    for step in zip(*entries, strict=True):
        results = run(*before, *step)
        after = results[:n]
        if not alike(before, after):
            for k in range(n):
                check_same_type(before[k], after[k], f"state {k}")
        for k in range(n):
            check_same_shape(before[k], after[k], f"state {k}")
        before = after
        for rows, element in zip(collected, results[n:], strict=True):
            rows.append(element)
    return before, collected


@kernel("SequenceMap", since_version=17)
def sequence_map(
    input_sequence: list[Value], /, *additional_inputs: Value, body: Body
) -> tuple[list[Value], ...]:
    """Map ``body`` over a sequence.

    Args: input_sequence; additional_inputs, sequences of the same length, taken element by
    element, or tensors, handed to each call as they are.
    Returns: one sequence per output of the body.
    Errors: sequences of different lengths, a body whose number of inputs does not fit.
    Source: SequenceMap-17.
    """
    _check_body(body, takes=1 + len(additional_inputs), gives_at_least=1)
    lengths = [len(input_sequence), *(len(x) for x in additional_inputs if isinstance(x, list))]
    if len(set(lengths)) > 1:
        raise ValueError(f"the sequences have the lengths {lengths}; they must agree")
    results: tuple[list[Value], ...] = tuple([] for _ in body.outputs)
    for i, sample in enumerate(input_sequence):
        rest = [x[i] if isinstance(x, list) else x for x in additional_inputs]
        for k, (result, value) in enumerate(zip(results, body(sample, *rest), strict=True)):
            if result:
                check_same_type(result[0], value, f"output {k}")
            result.append(value)
    return results


def _check_body(body: Body, *, takes: int, gives_at_least: int) -> None:
    if len(body.inputs) != takes:
        raise ValueError(f"the body has {len(body.inputs)} inputs; it is handed {takes} values")
    if len(body.outputs) < gives_at_least:
        raise ValueError(
            f"the body has {len(body.outputs)} outputs; it needs {gives_at_least} or more"
        )


def _dims(declared: ValueType) -> tuple[int, ...]:
    """Return the dimensions of an element that never came; 0 where nothing tells one."""
    return tuple(0 if d is None else d for d in declared.shape or ())


def _empty(shape: tuple[int, ...], declared: ValueType, seen: list[Array] | None = None) -> Array:
    dtype = seen[0].dtype if seen else declared.dtype
    if dtype is None:
        raise ValueError("a scan output without elements has no declared type")
    return np.full(shape, "", dtype) if dtype == np.dtype(object) else np.zeros(shape, dtype)


def _split(values: tuple[Value, ...], m: int) -> tuple[list[Array], list[Array]]:
    """Split the inputs into states and scan inputs."""
    if not 1 <= m <= len(values):
        raise ValueError(f"num_scan_inputs is {m}; it must lie in [1, {len(values)}]")
    n = len(values) - m
    return list(values[:n]), list(values[n:])


def _check_count(flags: list[int] | None, count: int, name: str) -> None:
    if flags is not None and len(flags) != count:
        raise ValueError(f"{name} has {len(flags)} entries; it needs {count}")


def _flags(flags: list[int] | None, count: int, name: str) -> list[int]:
    """Check a list of directions; omitted means forward."""
    _check_count(flags, count, name)
    if any(flag not in (0, 1) for flag in flags or []):
        raise ValueError(f"{name} is {flags}; each entry must be 0 or 1")
    return [0] * count if flags is None else flags


def _axes(axes: list[int] | None, ranks: list[int], name: str) -> list[int]:
    """Check a list of axes and count negative ones from the front; omitted means 0."""
    _check_count(axes, len(ranks), name)
    axes = [0] * len(ranks) if axes is None else axes
    for axis, rank in zip(axes, ranks, strict=True):
        if rank == 0:
            raise ValueError(f"{name} holds {axis}; a scalar has no axis to scan")
        if not -rank <= axis < rank:
            raise ValueError(
                f"{name} holds {axis}; at rank {rank} it must lie in [{-rank}, {rank - 1}]"
            )
    return [axis % rank for axis, rank in zip(axes, ranks, strict=True)]
