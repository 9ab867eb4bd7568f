"""``opcheck diff``."""

from __future__ import annotations

import click

_FILE = click.Path(exists=True, dir_okay=False)


@click.command()
@click.argument("old", type=_FILE)
@click.argument("new", type=_FILE)
@click.option("-q", "--quiet", is_flag=True, help="Print the totals only.")
@click.option("-v", "--verbose", is_flag=True, help="Name every case.")
@click.pass_context
def diff(ctx: click.Context, /, old: str, new: str, quiet: bool, verbose: bool) -> None:
    """Say what got better and worse from one result file of --json to another.

    A result is worse when its case passed or was skipped before, and now has another outcome;
    better when its case passes now and did not; changed when it has another outcome or other
    differences, neither of them a pass. Expectations make no difference.

    Backends are compared with those of the same name; where each file has one backend, these two.

    Exit status: 0 nothing got worse and nothing is gone, 1 a result got worse or is gone, 2 wrong
    usage or a file that cannot be used.
    """
    from ..harness.results import BadResults, read
    from ..reports.changes import Incomparable, changes, shown
    from .display import Display
    from .status import Status

    try:
        found = changes(read(old).run, read(new).run)
    except (BadResults, Incomparable) as error:
        raise click.UsageError(str(error)) from None
    Display().print(shown(found, quiet=quiet, verbose=verbose))
    ctx.exit(Status.UNEXPECTED if found.bad else Status.FINE)
