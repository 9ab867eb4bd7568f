"""One result on the terminal, as a rich renderable."""

from __future__ import annotations

from collections.abc import Collection

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from ..harness.record import Difference, Problem, Record
from .plain import COLOURS, Indented, indented, one_line, plain, table_line, unwrapped
from .text import cut, element_lines, headline, location, summary

#: Lines shown of a message or of what a backend printed.
MAX_LINES = 6
MAX_LINE = 400
#: The columns of a table of elements that a narrow terminal does without, one after the other.
_DISPENSABLE = (
    (),
    ("relative",),
    ("relative", "absolute"),
    ("relative", "absolute", "ULP"),
)


def failure(record: Record) -> RenderableType:
    """Show one case that did not pass."""
    title = unwrapped(
        Text(record.outcome.value.upper(), COLOURS[record.outcome]),
        Text(" "),
        one_line(record.case, "bold"),
        Text("  "),
        one_line(record.backend),
    )
    place = f"{record.operator}-{record.since_version}, {location(record.file, record.line)}"
    parts: list[RenderableType] = [title, Indented(one_line(place, "dim"))]
    if record.why:
        parts.append(indented(record.why))
    if record.verdict:
        parts.append(indented(record.verdict))
    if record.flaky:
        parts.append(indented(f"flaky: repetitions gave {' and '.join(record.flaky)}"))
    for difference in record.differences:
        parts += [indented(summary(difference)), _Elements(difference)]
    if record.message and not record.differences:
        parts.append(_message(record))
    if record.printed:
        parts.append(indented("printed:\n" + first_lines(record.printed)))
    return Group(*parts, "")


class _Elements:
    """The elements that differ: a table with as many columns as fit the terminal."""

    def __init__(self, difference: Difference) -> None:
        self.difference = difference

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Leave out columns until the table fits, or none can be left out."""
        for without in _DISPENSABLE:
            lines = [table_line(line) for line in self._lines(without)]
            if all(cell_len(line.plain) <= options.max_width for line in lines):
                break
        yield from lines

    def _lines(self, without: Collection[str]) -> list[str]:
        return element_lines(self.difference, without)


def _message(record: Record) -> RenderableType:
    lines = [headline(record), *record.message.splitlines()[1:]]
    return indented(first_lines("\n".join(lines)))


def first_lines(text: str) -> str:
    """Return the beginning of a text of many or long lines."""
    lines = text.strip().splitlines()
    more = [f"... {len(lines) - MAX_LINES} more lines"] if len(lines) > MAX_LINES else []
    return "\n".join([cut(line, MAX_LINE) for line in lines[:MAX_LINES]] + more)


def problem(entry: Problem) -> RenderableType:
    """Show one mistake in a case file."""
    title = unwrapped(
        Text("BAD CASE", "bold red"), Text(" "), one_line(entry.case or entry.file, "bold")
    )
    return Group(title, indented(entry.message), "")


def verbose_line(record: Record) -> RenderableType:
    """Show one result in a line."""
    line = unwrapped(
        one_line(f"{record.case}  {record.backend}  "),
        Text(record.outcome.value, COLOURS[record.outcome]),
    )
    said = headline(record)
    return line.append_text(plain(f"  {cut(said, 200)}")) if said else line
