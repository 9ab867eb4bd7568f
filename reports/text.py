"""Differences in plain lines, for every report that shows text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..harness.record import Difference, Outcome, Record, Row

#: Cells longer than this are cut.
MAX_CELL = 30
#: What moves a cursor, hides, reorders or breaks text, and lone surrogates.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


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


def element_lines(difference: Difference) -> list[str]:
    """Return a table of the first elements that differ, and the worst among all."""
    rows = list(difference.rows)
    if not rows:
        return []
    worst, hidden = difference.worst, difference.different - len(rows)
    apart = worst is not None and worst not in rows
    if worst is not None and apart:
        rows.append(worst)
        hidden -= 1
    lines = columns([HEADINGS, *(_cells(row) for row in rows)])
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
    widths = {k: max(len(row[k]) for row in short) for k in kept}
    lines = []
    for row in short:
        cells = [row[k].ljust(widths[k]) if k < left else row[k].rjust(widths[k]) for k in kept]
        lines.append("  ".join(cells).rstrip())
    return lines


def cut(text: str, length: int) -> str:
    """Return a text, shortened where it is longer than ``length``."""
    return text if len(text) <= length else f"{text[: length - 3]}..."


def _cells(row: Row) -> list[str]:
    return [str(row.index), row.expected, row.got, row.absolute, row.relative, row.ulp]


def inert(text: str) -> str:
    """Return a text without colours, and with what cannot be seen written as escapes."""
    if text.isascii() and text.isprintable():  # most are
        return text
    without = _COLOURS.sub("", text).replace("\r\n", "\n")
    return _UNSEEN.sub(lambda found: _escape(ord(found[0])), without)


def _escape(code: int) -> str:
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
