"""Cases in a runtime's own Python tests: ``check`` and ``cases``."""

from __future__ import annotations

import atexit
import os
import unittest
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from onnx import ModelProto

from ..backends.executors import make_executor
from ..harness.backend import Runner, Unsupported
from ..harness.case import Planned, Value
from ..harness.dtypes import element_type
from ..harness.errors import CaseError
from ..harness.judge import Options
from ..harness.plan import Plan
from ..harness.record import Outcome, Record
from ..harness.runner import Executor, Here
from ..harness.selection import choose
from ..harness.sources import plan_all
from .shown import failure_text, reason

__all__ = ["BadCases", "Function", "Unsupported", "cases", "check"]

#: Runs a model on inputs by name; returns the outputs in order, or by name.
Function = Callable[[ModelProto, dict[str, Value]], "Sequence[Value] | Mapping[str, Value]"]
Source = str | os.PathLike[str]


class BadCases(ValueError):
    """Case files have mistakes, which the message lists, or no case was found."""

    def __init__(self, errors: Sequence[CaseError | str]) -> None:
        super().__init__("\n".join(map(str, errors)))


def check(
    case: Source | Planned,
    run: Function | str,
    *,
    ulp: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Run a case on a function, or on the backend of a name, and compare what comes of it.

    Args: case, an id as opcheck prints it, or what ``cases`` gave; without its variant an id means
    all variants, and all of them are run. run, a function from a model and inputs by name to
    outputs, in order or by name, which is called in this process; or the name of a backend, which
    runs in a worker process that stays open. ulp, rtol and atol, in place of the case's tolerances.

    Raises ``AssertionError`` with the difference, from the error of the function if there was one.
    A function that raises ``Unsupported`` makes it ``unittest.SkipTest``, which pytest takes as a
    skip.
    Raises ``BadCases`` for mistakes in the case file, ``ValueError`` for an id that leads nowhere.
    """
    __tracebackhide__ = True  # pytest shows the caller
    planned = [case] if isinstance(case, Planned) else _plan([case])
    options = Options(ulp, rtol, atol)
    failed, skipped = [], []
    cause = None
    for one in planned:
        function = None if isinstance(run, str) else _Function(run)
        executor = _executor(str(run), options) if function is None else Here(function, options)
        record = _one(executor, one)
        if record.outcome in (Outcome.UNSUPPORTED, Outcome.SKIPPED):
            skipped.append(reason(record))
        elif not record.acceptable:
            failed.append(failure_text(record, again=function is None))
            cause = cause or (function.error if function is not None else None)
    if failed:
        raise AssertionError("\n\n".join(failed)) from cause
    if skipped:
        raise unittest.SkipTest(skipped[0])


def cases(
    *sources: Source,
    keyword: str = "",
    operators: Sequence[str] = (),
    opsets: Sequence[int] = (),
    dtypes: Sequence[str] = (),
) -> list[Any]:
    """Return the cases of sources as parameters for ``pytest.mark.parametrize``, ids included.

    With no source, the bundled cases. The others are as ``-k``, ``--op``, ``--opset`` and
    ``--dtype`` of ``opcheck list``.
    A parameter is given to ``check``; it has the attributes ``id``, ``operator`` and ``opset``.
    Raises ``BadCases`` for mistakes in case files and where there is no case, ``ValueError`` for a
    source that leads nowhere.
    """
    import pytest

    try:
        names = [element_type(name).name for name in dtypes]
    except KeyError as error:
        raise ValueError(f"{error.args[0]!r} is no element type of ONNX") from None
    chosen = choose(
        _plan(sources), keyword=keyword, operators=operators, opsets=opsets, dtypes=names
    )
    if not chosen:
        raise BadCases(["no case matched"])
    return [pytest.param(planned, id=planned.id) for planned in chosen]


def _plan(sources: Sequence[Source]) -> Plan:
    planning = plan_all([os.fspath(source) for source in sources])
    if planning.errors:
        raise BadCases(planning.errors)
    return planning.cases


def _one(executor: Executor, case: Planned) -> Record:
    (record,) = executor.run([case])
    assert record is not None, "only a stopped executor leaves cases out"
    return record


@cache
def _executor(backend: str, options: Options) -> Executor:
    made = make_executor(backend, options, memory=4.0, jobs=1)
    atexit.register(made.close)
    made.version()  # raises where the backend does not start
    return made


class _Function:
    """A backend that is a function; ``error`` is what it raised, if anything."""

    def __init__(self, run: Function) -> None:
        self.name: str = getattr(run, "__name__", type(run).__name__)
        self.error: BaseException | None = None
        self._run = run

    def version(self) -> str:
        """Functions have no version."""
        return ""

    def prepare(self, model: ModelProto) -> Runner:
        """Return the function of the inputs alone."""

        def runner(inputs: Mapping[str, Value]) -> Sequence[Value]:
            try:
                return _in_order(self._run(model, dict(inputs)), model)
            except BaseException as error:
                self.error = error
                raise

        return runner


def _in_order(outputs: object, model: ModelProto) -> list[Value]:
    """Return outputs in the order in which the model has them."""
    names = [output.name for output in model.graph.output]
    if isinstance(outputs, Mapping):
        if set(outputs) != set(names):
            seen = ", ".join(map(str, outputs))
            raise ValueError(f"seen outputs {seen}, wanted {', '.join(names)}")
        return [outputs[name] for name in names]
    if isinstance(outputs, list | tuple):
        return list(outputs)
    seen = type(outputs).__name__
    raise TypeError(f"seen a value of type {seen}, wanted outputs as a list, or as a dict by name")
