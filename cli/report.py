"""``opcheck report``."""

from __future__ import annotations

from typing import Any

import click

from . import options


@click.command()
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=click.Path(exists=True, dir_okay=False),
)
@options.reports
@click.option(
    "--json",
    "json_file",
    type=click.Path(dir_okay=False, writable=True),
    metavar="FILE",
    help="Write the results, put together, as JSON lines.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print the totals only.")
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Print a line for each case, and name all that are missing.",
)
@click.pass_context
def report(ctx: click.Context, /, files: tuple[str, ...], **given: Any) -> None:
    """Print result files of --json as their run did, and turn them into any report.

    Several files are put together: of shards, of machines, of backends. Files of different
    suites are refused, and so is a result that is there twice; what is missing is named.

    Exit status: 0 all as expected, 1 something unexpected or missing, 2 wrong usage, a file that
    cannot be used, or a mistake in a case file of the run.
    """
    from ..harness.results import BadResults, gaps, merge, read
    from ..reports import missing
    from .display import Display
    from .status import Status, status_of
    from .writing import RESULTS, asked_for, check_writable, write_reports

    reports = asked_for(given, RESULTS) | asked_for(given)
    check_writable(reports)
    try:
        found = [read(path) for path in files]
        run = merge(found)
        lacking = gaps(run, found)
    except BadResults as error:
        raise click.UsageError(str(error)) from None
    display = Display(quiet=given["quiet"], verbose=given["verbose"])
    for problem in run.problems:
        display.problem(problem)
    for record in run.records:
        display.case([record])
    shown = missing.shown(found, lacking, verbose=given["verbose"])
    if shown is not None:
        display.print(shown)
    footer = run.footer
    failed = not all(record.acceptable for record in run.records)
    unexpected = bool(failed or lacking or footer.interrupted or footer.missing or footer.unused)
    display.end(footer, unexpected)
    for text in (unwritten := write_reports(run, reports)):
        click.echo(f"opcheck: {text}", err=True)
    ctx.exit(Status.USAGE if unwritten else status_of(footer, unexpected))
