"""What result files lack: ends of runs, shards, and results of single cases."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from ..harness.errors import count
from ..harness.results import Gap, ResultFile
from .plain import Indented, plain

#: So many cases are named, unless all are asked for.
FEW = 3


def shown(
    files: Sequence[ResultFile], gaps: Sequence[Gap], *, verbose: bool
) -> RenderableType | None:
    """Show what is missing, if anything is."""
    unfinished = [line for file in files if (line := _unfinished(file))]
    if not unfinished and not gaps:
        return None
    parts: list[RenderableType] = [Text("MISSING", "bold red")]
    parts += [Indented(plain(line)) for line in unfinished]
    for gap in gaps:
        parts += _gap(gap, verbose)
    return Group(*parts, "")


def _unfinished(file: ResultFile) -> str:
    if file.finished:
        return f"{file.path}: the run was interrupted" if file.run.footer.interrupted else ""
    torn = " while it wrote a result" if file.torn else ""
    unknown = "; how many results are missing is not known"
    known = file.run.header.planned is not None
    return f"{file.path}: the run was killed{torn}{'' if known else unknown}"


def _gap(gap: Gap, verbose: bool) -> list[RenderableType]:
    said = []
    if gap.missing:
        said.append(f"{gap.missing} of {count(gap.planned, 'result')} missing")
    if gap.shards:
        noun, verb = ("shard", "has") if len(gap.shards) == 1 else ("shards", "have")
        said.append(f"{noun} {', '.join(gap.shards)} {verb} no file")
    named = gap.cases if verbose else gap.cases[:FEW]
    parts: list[RenderableType] = [
        Indented(plain(f"{gap.backend}: {'; '.join(said)}")),
        *map(_case, named),
    ]
    if len(gap.cases) > len(named):
        parts.append(_case(f"and {len(gap.cases) - len(named)} more: see -v"))
    return parts


def _case(case: str) -> Text:
    line = Text("    ", no_wrap=True, overflow="ignore")
    return line.append_text(plain(case))
