"""``opcheck schema``."""

from __future__ import annotations

import click


@click.command()
@click.option(
    "--output",
    type=click.Path(dir_okay=False, writable=True),
    metavar="FILE",
    help="Write into a file.",
)
def schema(output: str | None) -> None:  # fmt: skip
    """Print the JSON Schema of case files, by which editors complete and check them."""
    from ..harness.caseschema import schema as text
    from .writing import written

    written(text(), output)
