"""The options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

sources = click.argument("sources", nargs=-1, metavar="[SOURCE]...")

_SELECTION = (
    click.option("-k", "keyword", metavar="EXPR", default="", help="Only cases whose id matches "
                 "EXPR: words with and, or, not."),
    click.option("--op", "operators", multiple=True, metavar="NAME", help="Only this operator."),
    click.option("--opset", "opsets", multiple=True, type=int, help="Only this opset."),
    click.option("--dtype", "dtypes", multiple=True, metavar="TYPE",
                 help="Only cases with a value of this element type."),
)  # fmt: skip

_JUDGING = (
    click.option("--ulp", type=click.FloatRange(min=0), help="Allow floats to be this many units "
                 "in the last place away, whatever the case says."),
    click.option("--rtol", type=click.FloatRange(min=0), help="Allow this relative error."),
    click.option("--atol", type=click.FloatRange(min=0), help="Allow this absolute error."),
    click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=30.0,
                 show_default=True, metavar="SECONDS", help="Time limit of a case."),
    click.option("-j", "--jobs", type=click.IntRange(min=1), metavar="N",
                 help="Worker processes of each backend [default: the cores]."),
    click.option("-x", "--exitfirst", is_flag=True, help="Stop at the first case that fails."),
    click.option("-q", "--quiet", is_flag=True, help="Print the totals only."),
    click.option("-v", "--verbose", is_flag=True, help="Print a line for each case."),
    click.option("--json", "json_file", type=click.Path(dir_okay=False, writable=True),
                 metavar="FILE", help="Write the results as JSON lines."),
    click.option("--junit", "junit_file", type=click.Path(dir_okay=False, writable=True),
                 metavar="FILE", help="Write a JUnit XML report."),
)  # fmt: skip


def selection(function: F) -> F:
    """Add the options that choose cases."""
    return _apply(function, _SELECTION)


def judging(function: F) -> F:
    """Add the options of a run: tolerances, limits, output."""
    return _apply(function, _JUDGING)


def _apply(function: F, decorators: tuple[Callable[[F], F], ...]) -> F:
    for decorator in reversed(decorators):
        function = decorator(function)
    return function
