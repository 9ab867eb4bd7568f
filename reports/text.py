"""Differences in plain lines, for every report that shows text."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence

from rich.cells import cell_len

from ..harness.record import Difference, Outcome, Record, Row

#: Cells longer than this are cut.
MAX_CELL = 30
#: What turns colours and the like on and off.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
#: Control characters, what cannot be written, and what reorders or hides text.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def headline(record: Record) -> str:
    """Say in one line what came of a case."""
    if record.differences:
        first = summary(record.differences[0])
        more = len(record.differences) - 1
        return f"{first} (and {more} more outputs)" if more else first
    message = record.message.splitlines()[0] if record.message else ""
    phase = {"load": "loading the model", "run": "running it"}.get(record.phase, "")
    if record.outcome is Outcome.ERRORED and phase:
        return f"errored while {phase}: {message}"
    return message


def location(file: str, line: int) -> str:
    """Return file and line; a case of no YAML file has no line."""
    return f"{file}:{line}" if line else file


def summary(difference: Difference) -> str:
    """Say in one line how an output differs."""
    name = difference.output
    if difference.reason == "values":
        count = f"{difference.different} of {difference.total} elements differ"
        return f"{name}: {difference.expected}, {count} (allowed: {difference.allowed})"
    if difference.reason == "count":
        return f"got {difference.got}, expected {difference.expected}"
    return f"{name}: got {difference.got}, expected {difference.expected}"


HEADINGS = ("index", "expected", "got", "absolute", "relative", "ULP")


def difference_lines(difference: Difference) -> list[str]:
    """Return a difference as lines: the summary, the first elements, the worst."""
    return [summary(difference), *(f"  {line}" for line in element_lines(difference))]


def element_lines(difference: Difference, without: Collection[str] = ()) -> list[str]:
    """Return a table of the first elements that differ, and the worst among all.

    ``without`` names columns to leave out.
    """
    rows = list(difference.rows)
    if not rows:
        return []
    worst, hidden = difference.worst, difference.different - len(rows)
    apart = worst is not None and worst not in rows
    if worst is not None and apart:
        rows.append(worst)
        hidden -= 1
    kept = [k for k, heading in enumerate(HEADINGS) if heading not in without]
    cells = [HEADINGS, *map(_cells, rows)]
    lines = columns([[row[k] for k in kept] for row in cells])
    if worst is not None:
        where = rows.index(worst) + 1
        lines[where] += "  <- the worst" if difference.different > 1 else ""
    if hidden > 0:
        lines.append(f"and {hidden} more")
    return lines


def columns(rows: Sequence[Sequence[str]], *, left: int = 0, longest: int = MAX_CELL) -> list[str]:
    """Lay out rows of cells as lines; the first row is the heading.

    The first ``left`` columns are flush left, the others flush right.
    A column without any cell below its heading is left out, a cell over ``longest`` is cut.
    """
    short = [[cut(cell, longest) for cell in row] for row in rows]
    kept = [k for k in range(len(rows[0])) if any(row[k] for row in short[1:])]
    widths = {k: max(cell_len(row[k]) for row in short) for k in kept}
    lines = []
    for row in short:
        spaces = {k: " " * (widths[k] - cell_len(row[k])) for k in kept}
        cells = [row[k] + spaces[k] if k < left else spaces[k] + row[k] for k in kept]
        lines.append("  ".join(cells).rstrip())
    return lines


def cut(text: str, length: int) -> str:
    """Return a text, shortened where it is longer than ``length``."""
    return text if len(text) <= length else f"{text[: length - 3]}..."


def _cells(row: Row) -> list[str]:
    return [str(row.index), row.expected, row.got, row.absolute, row.relative, row.ulp]


def body(record: Record) -> list[str]:
    """Return all that is known of a result as lines, and how to see it again."""
    lines = [record.why] if record.why else []
    lines += [record.verdict] if record.verdict else []
    if record.flaky:
        lines.append(f"flaky: repetitions gave {' and '.join(record.flaky)}")
    lines += [record.message] if record.message else []
    for difference in record.differences:
        lines += difference_lines(difference)
    again = shlex.join(["opcheck", "run", record.case, "--backend", record.backend])
    return [*lines, f"Run it again: {again}"]


def visible(text: str) -> str:
    """Return a text without colours, and with what cannot be seen as escapes.

    Control characters, lone surrogates, and characters that hide or turn text are among them;
    line ends and tabs stay.
    """
    if text.isascii() and text.isprintable():  # most are
        return text
    plain = _ESCAPES.sub("", text).replace("\r\n", "\n")
    return _UNSEEN.sub(lambda found: _escape(ord(found[0])), plain)


def _escape(code: int) -> str:
    if code < 256:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 2**16 else f"\\U{code:08x}"


def one_line(text: str, length: int) -> str:
    """Return a text as one visible line of at most ``length`` characters."""
    return cut(" ".join(visible(text).split()), length)
