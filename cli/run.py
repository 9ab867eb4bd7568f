"""``opcheck run``."""

from __future__ import annotations

from typing import Any

import click

from . import options


@click.command()
@options.sources
@click.option(
    "--backend",
    "-b",
    "backends",
    multiple=True,
    metavar="KIND[:ARG]",
    help="The backend to run on; may be given several times [default: builtin].",
)
@options.selection
@options.judging
@options.reports
@click.pass_context
def run(ctx: click.Context, /, **given: Any) -> None:
    """Run cases and print what differs from what they expect."""
    from .start import start

    given["backends"] = given["backends"] or ("builtin",)
    start(given["backends"], isolated=not given["no_isolation"])
    from .session import RunSession, session

    ctx.exit(session(RunSession, given).run())
