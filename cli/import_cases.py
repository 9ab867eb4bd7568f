"""``opcheck import``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..harness.caseentry import Beside
    from ..harness.errors import CaseError


@click.command(name="import")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the case file here instead of on standard output.",
)
@click.option("--force", is_flag=True, help="Write over files that are there.")
@click.option(
    "--inline",
    type=click.IntRange(min=0),
    default=256,
    show_default=True,
    metavar="N",
    help="Tensors of more elements go into npy files beside FILE.",
)
@click.pass_context
def import_cases(
    ctx: click.Context, /, sources: tuple[str, ...], output: str | None, force: bool, inline: int
) -> None:
    """Write cases of another kind as a YAML case file.

    A SOURCE is an operator's specification page (a file that ends in .rst), a folder of ONNX test
    data, a suite or a case of it such as onnx:node::test_loop11, or whatever else opcheck runs.
    """  # fmt: skip
    from pathlib import Path

    from ..harness.caseentry import Beside
    from ..harness.spelling import safe_name
    from .status import Status

    folder = f"{safe_name(Path(output).stem)}.data" if output else ""
    beside = Beside(folder, inline)
    entries, errors = _entries(sources, beside)
    unread = _write(sources, entries, beside, output, force=force) if entries else []
    _print(errors + unread)
    if not entries:
        click.echo("nothing to import", err=True)
        ctx.exit(Status.USAGE if errors else Status.NO_CASE)
    if errors or unread:
        ctx.exit(Status.USAGE)


def _print(errors: list[CaseError]) -> None:
    from rich.console import Console

    from ..reports.terminal import problem
    from .loading import as_problem

    console = Console(stderr=True, highlight=False)
    for error in errors:
        console.print(problem(as_problem(error)), crop=False)


def _entries(
    sources: tuple[str, ...], beside: Beside
) -> tuple[list[dict[str, Any]], list[CaseError]]:
    """Return the cases of all sources as entries of one case file, and the mistakes."""
    from ..harness.caseentry import entry_of
    from ..harness.errors import CaseError
    from ..harness.spelling import Unspeakable, safe_name
    from .loading import plan

    entries: list[dict[str, Any]] = []
    errors: list[CaseError] = []
    for source in sources:
        if _is_page(source):
            found = _page(source, beside)
            entries += found.entries
            errors += found.errors
            continue
        planning = plan((source,))
        errors += planning.errors
        for case in planning.cases.loaded():
            try:
                entries.append(entry_of(case, safe_name(case.title), beside))
            except Unspeakable as error:
                wanted = "what a case file can hold"
                errors.append(CaseError((), str(error), wanted, file=case.file, case=case.title))
    taken: set[str] = set()
    for entry in entries:
        entry["name"] = _free(entry["name"], taken)
        taken.add(entry["name"])
    return entries, errors


def _free(name: str, taken: set[str]) -> str:
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free


def _is_page(source: str) -> bool:
    return source.endswith(".rst")


def _page(source: str, beside: Beside) -> Any:
    """Read a page; raises ``click.UsageError`` for a file that cannot be read."""
    from pathlib import Path

    from ..harness.specpage import MAX_BYTES, read_page

    path = Path(source)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise click.UsageError(f"{source}: seen more than {MAX_BYTES} bytes, wanted a page")
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        seen = f"seen the byte 0x{error.object[error.start]:02x}, wanted text in UTF-8"
        raise click.UsageError(f"{source}:{line}: {seen}") from None
    except (OSError, ValueError) as error:
        raise click.UsageError(f"cannot read {source}: {error.args[-1]}") from None
    return read_page(text, source, beside)


def _write(
    sources: tuple[str, ...],
    entries: list[dict[str, Any]],
    beside: Beside,
    output: str | None,
    *,
    force: bool,
) -> list[CaseError]:
    """Write the case file, read it again, and say what it holds; return its mistakes."""
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from ..harness.caseyaml import case_file
    from ..harness.spelling import Unspeakable

    names = ", ".join(Path(source).name if _is_page(source) else source for source in sources)
    try:
        text = case_file(entries, f"Imported by opcheck from {names}.")
    except Unspeakable as error:
        raise click.UsageError(f"seen {error}") from None
    if output is None:
        if beside.names():
            hint = "give --output FILE, beside which they go, or a larger --inline"
            raise click.UsageError(f"large tensors or models for files of their own: {hint}")
        with TemporaryDirectory() as folder:
            path = Path(folder) / "cases.yaml"
            path.write_text(text, encoding="utf-8")
            click.echo(text, nl=False)
            return _read_again(path, "standard output")
    path = Path(output)
    _check_free(path, beside, force=force)
    try:
        beside.write(path.parent)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"cannot write {error.filename}: {error.strerror}") from None
    return _read_again(path, output)


def _check_free(path: Any, beside: Beside, *, force: bool) -> None:
    """Refuse to write over files."""
    if not path.suffix.endswith((".yaml", ".yml")):
        raise click.UsageError(f"--output {path}: wanted a name that ends in .yaml")
    if force:
        return
    for each in (path, *(path.parent / name for name in beside.names())):
        if each.exists():
            raise click.UsageError(f"{each} is there already; --force writes over it")


def _read_again(path: Any, name: str) -> list[CaseError]:
    """Load what was written, and say on standard error what it holds."""
    from ..harness.casefile import Unfinished, load
    from ..harness.errors import count

    loaded = load(path, name)
    unfinished = [error for error in loaded.errors if isinstance(error, Unfinished)]
    number = len(loaded.cases) + len(loaded.errors)
    said = f"{name}: {count(number, 'case')}"
    if unfinished:
        needs = "needs a TODO filled" if len(unfinished) == 1 else "need a TODO filled"
        said += f", {len(unfinished)} {needs}"
    click.echo(said, err=True)
    for error in unfinished:
        click.echo(f"  {error}", err=True)
    return [error for error in loaded.errors if not isinstance(error, Unfinished)]
