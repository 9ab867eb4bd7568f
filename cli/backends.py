"""``opcheck backends``."""

from __future__ import annotations

import click


@click.command()
def backends() -> None:
    """List the backends: whether each can run here, its version, how to install it."""
    from ..backends import KINDS, CannotRun, create, third_party
    from ..reports.text import columns

    rows = [["backend", "here", "version", "about, or how to install"]]
    for name in [*KINDS, *sorted(third_party())]:
        kind = KINDS.get(name)
        try:
            version = create(name).version()
        except CannotRun as error:
            hint = f"python -m {kind.install}" if kind else str(error)
            rows.append([name, "no", "", hint])
        else:
            rows.append([name, "yes", version, kind.about if kind else "from another package"])
    for line in columns(rows, left=4, longest=70):
        click.echo(line)
