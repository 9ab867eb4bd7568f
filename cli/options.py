"""The options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

#: What ``--outcome`` takes; kept in step with ``harness.record.Outcome`` by a test.
OUTCOMES = (
    "passed", "failed", "errored", "unsupported", "crashed", "timed out", "out of memory",
    "skipped",
)  # fmt: skip

sources = click.argument("sources", nargs=-1, metavar="[SOURCE]...")

_SELECTION = (
    click.option("-k", "keyword", metavar="EXPR", default="",
                 help="Only cases whose id matches EXPR: words with and, or, not."),
    click.option("--op", "operators", multiple=True, metavar="NAME", help="Only this operator."),
    click.option("--opset", "opsets", multiple=True, type=int, help="Only this opset."),
    click.option("--dtype", "dtypes", multiple=True, metavar="TYPE",
                 help="Only cases with a value of this element type."),
    click.option("--outcome", "outcomes", multiple=True, type=click.Choice(OUTCOMES),
                 help="Only cases that had this outcome in the last run from this folder."),
    click.option("--last-failed", "--lf", "last_failed", is_flag=True,
                 help="Only cases that did not pass in the last run from this folder."),
    click.option("--results", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
                 help="Take --outcome and --last-failed from a result file of --json instead."),
    click.option("--shard", metavar="I/N",
                 help="Only part I of N; a case stays in its part when others are added."),
    click.option("--random-order", type=int, metavar="SEED",
                 help="Run the cases in an order that SEED decides."),
)  # fmt: skip

_JUDGING = (
    click.option("--ulp", type=click.FloatRange(min=0),
                 help="Allow floats to be this many units in the last place away, "
                 "whatever the case says."),
    click.option("--rtol", type=click.FloatRange(min=0), help="Allow this relative error."),
    click.option("--atol", type=click.FloatRange(min=0), help="Allow this absolute error."),
    click.option("--timeout", type=click.FloatRange(min=0, min_open=True), default=30.0,
                 show_default=True, metavar="SECONDS", help="Time limit of a case."),
    click.option("--memory", type=click.FloatRange(min=0), default=4.0, show_default=True,
                 metavar="GIB", help="Memory limit of a worker, or of a built-in run; 0 for none."),
    click.option("--no-isolation", is_flag=True,
                 help="Run the backends in this process: a crash ends the run."),
    click.option("-j", "--jobs", type=click.IntRange(min=1), metavar="N",
                 help="Worker processes of each backend [default: the cores]."),
    click.option("--repeat", type=click.IntRange(min=1), default=1, metavar="N",
                 help="Run each case N times; outcomes that differ are flaky."),
    click.option("--expect", multiple=True, metavar="FILE", type=click.Path(dir_okay=False),
                 help="An expectations file: what is known to go wrong on a backend."),
    click.option("--update-expect", is_flag=True,
                 help="Rewrite the file of --expect so that it says what this run gave."),
    click.option("-x", "--exitfirst", is_flag=True, help="Stop at the first case that fails."),
    click.option("--maxfail", type=click.IntRange(min=1), metavar="N",
                 help="Stop after N cases that fail."),
    click.option("-q", "--quiet", is_flag=True, help="Print the totals only."),
    click.option("-v", "--verbose", is_flag=True,
                 help="Print a line for each case, and all that fail in full."),
    click.option("--json", "json_file", type=click.Path(dir_okay=False, writable=True),
                 metavar="FILE", help="Write the results as JSON lines."),
)  # fmt: skip

_REPORTS = (
    click.option("--junit", "junit_file", type=click.Path(dir_okay=False, writable=True),
                 metavar="FILE", help="Write a JUnit XML report."),
    click.option("--html", "html_file", type=click.Path(dir_okay=False, writable=True),
                 metavar="FILE", help="Write a page to look at: one HTML file that needs nothing."),
    click.option("--markdown", "markdown_file", type=click.Path(dir_okay=False, writable=True),
                 metavar="FILE", help="Write Markdown for a comment or a job's summary."),
    click.option("--badge", "badge_file", type=click.Path(dir_okay=False, writable=True),
                 metavar="FILE", help="Write the JSON of a shields.io badge."),
    click.option("--annotations", "annotations_file", type=click.Choice(["github"]),
                 help="Print what went wrong as commands that GitHub shows on the lines of files."),
)  # fmt: skip


def selection(function: F) -> F:
    """Add the options that choose cases."""
    return _apply(function, _SELECTION)


def judging(function: F) -> F:
    """Add the options of a run: tolerances, limits, output."""
    return _apply(function, _JUDGING)


def reports(function: F) -> F:
    """Add the options of the reports that are made of finished records."""
    return _apply(function, _REPORTS)


def _apply(function: F, decorators: tuple[Callable[[F], F], ...]) -> F:
    for decorator in reversed(decorators):
        function = decorator(function)
    return function
