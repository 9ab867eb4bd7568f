"""``opcheck spec``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from onnx.defs import OpSchema

    from ..harness.case import Planned
    from ..harness.spec import OperatorPage

FORMATS = ("terminal", "rst", "markdown", "json")


@click.command()
@click.argument("name", required=False, metavar="[OPERATOR[-VERSION]]")
@click.option(
    "--diff",
    "other",
    metavar="VERSION",
    type=click.IntRange(min=1),
    help="Show the differences to this version [default: the one before].",
)
@click.option(
    "--examples",
    type=click.IntRange(min=0),
    default=10,
    metavar="N",
    show_default=True,
    help="Show at most N examples.",
)
@click.option("--no-examples", is_flag=True, help="Show none.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="SOURCE",
    help="Take the examples from this source [default: the bundled cases].",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    metavar="FORMAT",
    help="terminal, rst, markdown or json [default: terminal; rst with --all].",
)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Write the pages of all operators and versions, and an index.",
)
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="The folder that --all writes to.",
)
@click.pass_context
def spec(
    ctx: click.Context, /, name: str | None, other: int | None, examples: int, no_examples: bool,
    sources: tuple[str, ...], form: str | None, every: bool, output: Path | None,
) -> None:  # fmt: skip
    """Print the page of an operator: what it takes and gives, examples, what changed.

    OPERATOR is Loop, Loop-11, ai.onnx.ml.Scaler and the like; without a version, the latest.
    """
    if every == (name is not None):
        raise click.UsageError("name one operator, such as Loop-11, or give --all")
    if every != (output is not None):
        raise click.UsageError("--all and --output DIR go together")
    if every and (other is not None or form not in (None, "rst", "markdown")):
        raise click.UsageError("--all writes rst or markdown, without --diff")
    from .loading import Status, plan, print_problems

    schema = None if name is None else found(name, other)
    planning = None if no_examples else plan(sources)
    cases = Examples(planning.cases if planning else (), examples, sources)
    if schema is not None:
        show(cases.page(schema, other), form or "terminal")
    elif output is not None:
        click.echo(write_all(output, form or "rst", cases))
    if planning is not None and planning.errors:
        print_problems(planning)
        ctx.exit(Status.USAGE)


def found(name: str, other: int | None) -> OpSchema:
    """Return the schema of a name; raises ``click.UsageError``, also for ``other``, a version."""
    from ..harness.spec import UnknownOperator, find
    from ..reports.spec import build

    try:
        schema = find(name)
        build(schema, other=other)
    except UnknownOperator as error:
        raise click.UsageError(str(error)) from None
    return schema


class Examples:
    """The cases of some sources, by operator and version."""

    def __init__(self, cases: Sequence[Planned], limit: int, sources: Sequence[str]) -> None:
        self._limit = limit
        self._sources = sources
        self._cases = cases
        self._numbers: dict[tuple[str, str, int], list[int]] = {}
        for i, case in enumerate(cases):
            key = (case.domain, case.operator, case.since_version)
            self._numbers.setdefault(key, []).append(i)

    def page(self, schema: OpSchema, other: int | None = None) -> OperatorPage:
        """Return the page of a schema, with the difference to another version of it."""
        from ..reports.spec import build

        numbers = self._numbers.get((schema.domain, schema.name, schema.since_version), [])
        chosen = [self._cases[i] for i in numbers]
        return build(schema, chosen, self._limit, sources=self._sources, other=other)


def show(page: OperatorPage, form: str) -> None:
    """Print a page."""
    if form == "terminal":
        from rich.console import Console

        from ..reports.spec_terminal import terminal_page

        Console(highlight=False).print(terminal_page(page), crop=False)
        return
    from ..reports.spec import as_json
    from ..reports.spec_markdown import markdown
    from ..reports.spec_rst import rst

    render = {"rst": rst, "markdown": markdown, "json": as_json}[form]
    click.echo(render(page), nl=False)


def write_all(folder: Path, form: str, cases: Examples) -> str:
    """Write the pages of all schemas, each in the folder of its domain, and an index."""
    import onnx

    from ..harness.spec import describe, schemas
    from ..reports import spec_markdown, spec_rst
    from ..reports.spec import file_name

    render, index, suffix = {
        "rst": (spec_rst.rst, spec_rst.rst_index, spec_rst.SUFFIX),
        "markdown": (spec_markdown.markdown, spec_markdown.markdown_index, spec_markdown.SUFFIX),
    }[form]
    every = [schema for versions in schemas().values() for schema in versions.values()]
    for schema in every:
        page = cases.page(schema)
        path = folder / page.domain / f"{file_name(page)}{suffix}"
        _write(path, render(page))
    _write(folder / f"index{suffix}", index([describe(s) for s in every], onnx.__version__))
    return f"{len(every)} pages and index{suffix} are in {folder}"


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    except OSError as error:
        raise click.FileError(str(path), error.strerror) from None
