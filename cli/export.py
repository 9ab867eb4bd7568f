"""``opcheck export``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from . import options

if TYPE_CHECKING:
    from pathlib import Path

    from ..harness.case import Case
    from ..harness.plan import Plan


@click.command()
@options.sources
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(file_okay=False),
    metavar="DIR",
    help="The folder to write to.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(("onnx", "npz")),
    default="onnx",
    show_default=True,
    help="ONNX test data, or the tensors in npz files.",
)
@click.option("--force", is_flag=True, help="Write into a folder that is not empty.")
@options.selection
@click.pass_context
def export(
    ctx: click.Context, /, sources: tuple[str, ...], output: str, form: str, force: bool,
    **given: Any,
) -> None:  # fmt: skip
    """Write cases as ONNX test data, which the harnesses of other projects read.

    DIR/portable holds a folder for each case that any harness judges rightly, DIR/opcheck-only
    those that need opcheck: a model that must be rejected, undefined elements, random values,
    several right answers. opcheck reads both: opcheck run DIR.
    """
    from pathlib import Path

    from .loading import Selection, plan, print_problems
    from .status import Status

    folder = Path(output)
    if not force and folder.exists() and any(folder.iterdir()):
        raise click.UsageError(
            f"--output {output}: the folder is not empty; --force writes into it"
        )
    planning = plan(sources, Selection(**given))
    failed = _export(planning.cases, folder, form)
    print_problems(planning)
    if planning.errors or failed:
        ctx.exit(Status.USAGE)
    if not planning.cases:
        click.echo("no case matched", err=True)
        ctx.exit(Status.NO_CASE)


def _export(cases: Plan, folder: Path, form: str) -> int:
    """Write all cases, say what came of them; return the number of those that were not written."""
    from ..harness.errors import count
    from ..harness.testdata_write import ONLY_HERE, PORTABLE, folder_names, summary, unportable

    names = folder_names(cases)
    only_here: list[str] = []
    failures: list[str] = []
    for name, case in zip(names, cases.loaded(), strict=True):
        reason = unportable(case) if form == "onnx" else ""
        parent = folder if form == "npz" else folder / (ONLY_HERE if reason else PORTABLE)
        problem = _write(case, parent / name, form)
        if problem:
            failures.append(f"{case.id}: not written: {problem}")
        elif reason:
            only_here.append(reason)
    written = len(names) - len(failures)
    portable = written - len(only_here)
    where = f"{folder / PORTABLE}" if form == "onnx" else f"{folder}"
    click.echo(f"{where}: {count(portable, 'case')}")
    if only_here:
        click.echo(f"{folder / ONLY_HERE}: {count(len(only_here), 'case')} that other harnesses "
                   f"would judge wrongly: {summary(only_here)}")  # fmt: skip
    for failure in failures:
        click.echo(failure, err=True)
    return len(failures)


def _write(case: Case, folder: Path, form: str) -> str:
    """Write one case; return what keeps it from being written."""
    from ..harness.errors import CaseError
    from ..harness.spelling import Unspeakable
    from ..harness.testdata_write import clear, written_by

    try:
        clear(folder)
        written_by(form)(case, folder)
    except FileExistsError as error:
        raise click.UsageError(f"{error.filename} is {error.strerror}") from None
    except OSError as error:
        raise click.UsageError(f"cannot write {error.filename}: {error.strerror}") from None
    except (Unspeakable, CaseError, ValueError) as error:
        return " ".join(str(error).split())[:300]
    return ""
