"""``opcheck show``."""

from __future__ import annotations

import shlex

import click


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="CASE...")
@click.pass_context
def show(ctx: click.Context, /, sources: tuple[str, ...]) -> None:
    """Print cases as their specification page would show them."""
    from ..reports.markup import visible
    from ..reports.page import graph_block, graphs, page
    from ..reports.text import location
    from .loading import Status, plan, print_problems

    planning = plan(sources)
    for i, case in enumerate(planning.cases.loaded()):
        if i:
            click.echo()
        shown = f"{case.domain}.{case.operator}" if case.domain else case.operator
        click.echo(f"**{case.title}**  ({shown}-{case.since_version}, opset {case.opset})\n")
        click.echo(page(case))
        for name, text in graphs(case).items():
            click.echo(f"\n{graph_block(name, text)}")
        if case.why:
            click.echo(f"\nWhy: {visible(case.why)}")
        click.echo(f"File: {location(case.file, case.line)}")
        click.echo(f"Run it: opcheck run {shlex.quote(case.id)}")
    print_problems(planning)
    if planning.errors:
        ctx.exit(Status.USAGE)
