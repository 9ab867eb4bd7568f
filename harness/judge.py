"""Runs one case on one backend, in this process, and judges what comes of it."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from .backend import Backend, Skipped, Unsupported
from .case import Case, MustFail, Planned, Tolerance, Value
from .compare import compare_outputs, describe, excerpt
from .randomness import is_random, judge_draws, repeatable, repetition
from .record import Difference, Outcome, Record, utf8
from .tolerance import tolerance_for

#: The backend whose error phases and messages cases may bind.
ORACLE = "builtin"
#: Longer messages of backends are cut.
MAX_MESSAGE = 4000


class Options(msgspec.Struct, frozen=True):
    """What the command line says about judging; ``None`` leaves it to the case."""

    ulp: float | None = None
    rtol: float | None = None
    atol: float | None = None
    keep_outputs: bool = False
    time_limit: float = 30.0


@dataclass(frozen=True, slots=True)
class _Raised:
    phase: str
    error: BaseException


def run_case(case: Case, backend: Backend, options: Options) -> Record:
    """Run a case on a backend and return its record."""
    start = time.perf_counter()
    result = _call(case, backend)
    seconds = time.perf_counter() - start
    if isinstance(result, _Raised):
        record = _judge_error(case, backend.name, result)
    else:
        record = _judge_outputs(case, backend.name, result, options)
        if record.outcome is Outcome.PASSED and repeatable(case):
            record = _judge_again(case, backend, result, record)
    return msgspec.structs.replace(record, seconds=round(seconds, 6))


def blank(case: Planned, backend: str, outcome: Outcome, message: str = "") -> Record:
    """Return the record of a case with an outcome and nothing else."""
    return Record(
        case=utf8(case.id),
        file=utf8(case.file),
        line=case.line,
        operator=case.operator,
        domain=case.domain,
        opset=case.opset,
        since_version=case.since_version,
        dtypes=sorted(case.dtypes),
        backend=backend,
        outcome=outcome,
        message=utf8(message[:MAX_MESSAGE]),
        why=utf8(case.why),
    )


def _call(case: Case, backend: Backend) -> list[Value] | _Raised:
    phase = "load"
    try:
        run = backend.prepare(case.call.model)
        phase = "run"
        return [_plain(v) for v in run(case.call.inputs)]
    except (Exception, SystemExit) as error:
        return _Raised(getattr(error, "phase", phase), error)


def _plain(value: Value) -> Value:
    """Turn a NumPy scalar into a 0-d tensor; leave everything else as it is."""
    return np.asarray(value) if isinstance(value, np.generic) else value


def _judge_error(case: Case, backend: str, raised: _Raised) -> Record:
    error = raised.error
    message = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    outcome = {
        Unsupported: Outcome.UNSUPPORTED,
        Skipped: Outcome.SKIPPED,
        TimeoutError: Outcome.TIMED_OUT,
        MemoryError: Outcome.OUT_OF_MEMORY,
        ChildProcessError: Outcome.CRASHED,  # a backend that is a process of its own
    }
    for kind, special in outcome.items():
        if isinstance(error, kind):
            text = str(error) if kind in (Unsupported, Skipped) else message
            return _with_phase(blank(case, backend, special, text), raised.phase)
    due = [a for a in case.alternatives if isinstance(a, MustFail)]
    if not due:
        return _with_phase(blank(case, backend, Outcome.ERRORED, message), raised.phase)
    problems = [_unlike(a, raised, str(error)) for a in due] if backend == ORACLE else [""]
    if "" in problems:
        return _with_phase(blank(case, backend, Outcome.PASSED), raised.phase)
    return _with_phase(blank(case, backend, Outcome.FAILED, problems[0]), raised.phase)


def _unlike(due: MustFail, raised: _Raised, text: str) -> str:
    """Say how an error differs from the one that was due; empty where it does not."""
    if due.phase and due.phase != raised.phase:
        return f"the error came in phase {raised.phase}, it was due in phase {due.phase}: {text}"
    if due.match and not re.search(due.match, text):
        return f"the error was due to match {due.match!r}: {text}"
    return ""


def _with_phase(record: Record, phase: str) -> Record:
    return msgspec.structs.replace(record, phase=phase)


def _judge_outputs(case: Case, backend: str, got: Sequence[Value], options: Options) -> Record:
    best: list[Difference] | None = None
    for alternative in case.alternatives:
        if isinstance(alternative, MustFail):
            continue
        tolerances = [
            _override(tolerance_for(case, name, expected), options)
            for name, expected in zip(case.output_names, alternative, strict=True)
        ]
        differences = compare_outputs(case.output_names, alternative, got, tolerances)
        if not differences and any(is_random(e) for e in alternative):
            differences = judge_draws(case.call, case.output_names, alternative, got)
        if best is None or len(differences) < len(best):
            best = differences
    if best is None:
        shown = ", ".join(describe(v) for v in got)
        message = f"the model must be rejected; the backend gave {shown}"
        record = blank(case, backend, Outcome.FAILED, message)
    else:
        record = blank(case, backend, Outcome.FAILED if best else Outcome.PASSED)
    if record.outcome is Outcome.PASSED and not options.keep_outputs:
        return record
    names = [*case.output_names, *(f"output {i}" for i in range(len(got)))][: len(got)]
    outputs = [e for name, v in zip(names, got, strict=True) for e in excerpt(name, v)]
    return msgspec.structs.replace(record, differences=best or [], outputs=outputs)


def _judge_again(case: Case, backend: Backend, first: Sequence[Value], record: Record) -> Record:
    """Run a case whose random numbers have seeds once more: the same must come out."""
    second = _call(case, backend)
    if isinstance(second, _Raised):
        return _judge_error(case, backend.name, second)
    differences = repetition(case.output_names, first, second)
    if not differences:
        return record
    return msgspec.structs.replace(record, outcome=Outcome.FAILED, differences=differences)


def _override(tolerance: Tolerance, options: Options) -> Tolerance:
    """Put the command line's tolerances in place of the case's."""
    given = (options.ulp, options.rtol, options.atol)
    if given == (None, None, None):
        return tolerance
    return Tolerance(*given, signed_zero=tolerance.signed_zero, pairs=tolerance.pairs)
