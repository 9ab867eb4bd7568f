"""``opcheck compare``."""

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
    required=True,
    metavar="KIND[:ARG]",
    help="The backend to compare with; may be given several times.",
)
@options.selection
@options.judging
@options.reports
@click.pass_context
def compare(ctx: click.Context, /, **given: Any) -> None:
    """Run cases on the built-in kernels and on other backends, side by side.

    Prints for each case that differs what is expected, what each backend gave, and which of them
    is wrong.
    """
    from .start import start

    given["backends"] = ("builtin", *(b for b in given["backends"] if b != "builtin"))
    start(given["backends"], isolated=not given["no_isolation"])
    from .session import CompareSession, session

    ctx.exit(session(CompareSession, given).run())
