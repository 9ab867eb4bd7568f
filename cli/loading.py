"""What the commands do first: load the sources, choose the cases, report what is bad."""

from __future__ import annotations

from enum import IntEnum

import click
from rich.console import Console

from ..harness.casefile import Loaded
from ..harness.dtypes import element_type
from ..harness.errors import CaseError
from ..harness.record import Problem
from ..harness.selection import BadExpression, choose
from ..harness.sources import NoSuchSource, load_all
from ..reports.terminal import problem


class Status(IntEnum):
    """The exit statuses."""

    FINE = 0
    UNEXPECTED = 1
    USAGE = 2
    CANNOT_RUN = 3
    NO_CASE = 5
    INTERRUPTED = 130


def load(
    sources: tuple[str, ...],
    *,
    keyword: str = "",
    operators: tuple[str, ...] = (),
    opsets: tuple[int, ...] = (),
    dtypes: tuple[str, ...] = (),
) -> Loaded:
    """Load the sources and choose cases; raises ``click.UsageError`` for wrong usage."""
    try:
        names = [element_type(name).name for name in dtypes]
    except KeyError as error:
        raise click.UsageError(f"--dtype: {error.args[0]!r} is no element type of ONNX") from None
    try:
        loaded = load_all(list(sources))
        chosen = choose(
            loaded.cases, keyword=keyword, operators=operators, opsets=opsets, dtypes=names
        )
    except NoSuchSource as error:
        raise click.UsageError(str(error)) from None
    except BadExpression as error:
        raise click.UsageError(f"-k: {error}") from None
    return Loaded(chosen, loaded.errors)


def as_problem(error: CaseError) -> Problem:
    """Turn an error of a case file into what reports show."""
    return Problem(error.file, error.line, error.case, str(error))


def print_problems(loaded: Loaded) -> None:
    """Print the mistakes in case files on standard error."""
    console = Console(stderr=True, highlight=False)
    for error in loaded.errors:
        console.print(problem(as_problem(error)), soft_wrap=False)
