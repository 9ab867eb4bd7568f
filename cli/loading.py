"""What the commands do first: load the sources, choose the cases, report what is bad."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, fields
from pathlib import Path

import click
from rich.console import Console

from ..harness import history
from ..harness.dtypes import element_type
from ..harness.errors import CaseError
from ..harness.plan import Plan
from ..harness.record import Outcome, Problem, utf8
from ..harness.selection import BadExpression, choose, shard, shuffled
from ..harness.sources import NoSuchSource, Planning, plan_all
from ..reports.terminal import problem


@dataclass(frozen=True)
class Selection:
    """Which cases of the sources, in which order: the options of the command line."""

    keyword: str = ""
    operators: tuple[str, ...] = ()
    opsets: tuple[int, ...] = ()
    dtypes: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    last_failed: bool = False
    results: str | None = None
    shard: str | None = None
    random_order: int | None = None

    @property
    def everything(self) -> bool:
        """Whether all cases of the sources are chosen."""
        return self == Selection(random_order=self.random_order)

    @property
    def given(self) -> dict[str, str]:
        """What is given, in words."""
        found = {f.name: (getattr(self, f.name), f.default) for f in fields(self)}
        return {
            name: utf8(" ".join(map(str, value)) if isinstance(value, tuple) else str(value))
            for name, (value, default) in found.items()
            if value != default
        }


def plan(
    sources: tuple[str, ...], selection: Selection | None = None, jobs: int | None = None
) -> Planning:
    """Plan the cases of the sources and choose some; raises ``click.UsageError``."""
    selection = selection or Selection()
    try:
        names = [element_type(name).name for name in selection.dtypes]
    except KeyError as error:
        raise click.UsageError(f"--dtype: {error.args[0]!r} is no element type of ONNX") from None
    try:
        planning = plan_all(list(sources), jobs or os.cpu_count() or 1)
        chosen = choose(
            planning.cases,
            keyword=selection.keyword,
            operators=selection.operators,
            opsets=selection.opsets,
            dtypes=names,
        )
    except NoSuchSource as error:
        raise click.UsageError(str(error)) from None
    except BadExpression as error:
        raise click.UsageError(f"-k: {error}") from None
    chosen = _earlier(chosen, selection)
    return Planning(_ordered(chosen, selection), planning.errors, len(chosen))


def _earlier(cases: Plan, selection: Selection) -> Plan:
    """Choose by what came of the cases in an earlier run."""
    if not (selection.outcomes or selection.last_failed):
        if selection.results:
            raise click.UsageError("--results goes with --outcome or --last-failed")
        return cases
    try:
        path = selection.results
        outcomes = history.of_file(Path(path)) if path else history.last()
    except history.NoHistory as error:
        raise click.UsageError(str(error)) from None
    wanted = history.failed(outcomes) if selection.last_failed else set(outcomes)
    if selection.outcomes:
        wanted &= history.with_outcome(outcomes, map(Outcome, selection.outcomes))
    return cases.where(lambda case: case.id in wanted)


def _ordered(cases: Plan, selection: Selection) -> Plan:
    """Take a shard, and shuffle."""
    if selection.shard is not None:
        found = re.fullmatch(r"(\d+)/(\d+)", selection.shard)
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            seen = repr(selection.shard)
            raise click.UsageError(f"--shard: seen {seen}, wanted I/N with I from 1 to N")
        cases = shard(cases, int(found[1]), int(found[2]))
    return cases if selection.random_order is None else shuffled(cases, selection.random_order)


def as_problem(error: CaseError) -> Problem:
    """Turn an error of a case file into what reports show."""
    return Problem(utf8(error.file), error.line, utf8(error.case), utf8(str(error)))


def print_problems(planning: Planning) -> None:
    """Print the mistakes in case files on standard error."""
    console = Console(stderr=True, highlight=False)
    for error in planning.errors:
        console.print(problem(as_problem(error)), crop=False)
