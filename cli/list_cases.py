"""``opcheck list``."""

from __future__ import annotations

from typing import Any

import click

from . import options


@click.command(name="list")
@options.sources
@options.selection
@click.pass_context
def list_cases(ctx: click.Context, /, sources: tuple[str, ...], **given: Any) -> None:
    """List the cases of a source, one id a line."""
    from .loading import Selection, plan, print_problems
    from .status import Status

    planning = plan(sources, Selection(**given))
    for case in planning.cases:
        click.echo(case.id)
    print_problems(planning)
    if planning.errors:
        ctx.exit(Status.USAGE)
    if not planning.cases:
        click.echo("no case matched", err=True)
        ctx.exit(Status.NO_CASE)
