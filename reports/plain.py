"""Text of case files and backends on a terminal: nothing in it is obeyed, and the layout holds."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from ..harness.record import Outcome
from .text import visible

COLOURS = {
    Outcome.PASSED: "green",
    Outcome.FAILED: "red",
    Outcome.ERRORED: "red",
    Outcome.UNSUPPORTED: "yellow",
    Outcome.CRASHED: "bold red",
    Outcome.TIMED_OUT: "magenta",
    Outcome.OUT_OF_MEMORY: "magenta",
    Outcome.SKIPPED: "yellow",
}


def plain(text: str, style: str = "") -> Text:
    """Return a text as it is, without markup, colours of its own, or control characters."""
    return Text(visible(text).expandtabs(), style=style)


def one_line(text: str, style: str = "") -> Text:
    """Return a text as ``plain`` does, with its line breaks as escapes."""
    return plain(text.replace("\n", "\\n"), style)


def unwrapped(*parts: Text) -> Text:
    """Return a line that is neither wrapped nor cut."""
    return Text(no_wrap=True, overflow="ignore").join(parts)


def head(text: str, width: int) -> str:
    """Return a text of at most so many cells: the beginning of it, where it is longer."""
    if cell_len(text) <= width:
        return text
    return f"{set_cell_size(text, max(width - 3, 0)).rstrip()}..."


def tail(text: str, width: int) -> str:
    """Return a text of at most so many cells: the end of it, where it is longer."""
    if cell_len(text) <= width:
        return text
    start = max(len(text) - width, 0)
    while start < len(text) and cell_len(text[start:]) > width - 3:
        start += 1
    return f"...{text[start:].lstrip()}"


class Indented:
    """A text, wrapped to the width of the terminal behind two spaces."""

    def __init__(self, text: Text) -> None:
        self.text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Wrap the text; no line is filled up with spaces."""
        for line in self.text.wrap(console, max(options.max_width - 2, 20)):
            line.rstrip()
            yield unwrapped(Text("  " if line else ""), line)


def indented(text: str) -> Indented:
    """Show prose behind two spaces."""
    return Indented(plain(text))


def table_line(text: str) -> Text:
    """Show a line of a table, which is never wrapped."""
    return unwrapped(Text("    "), plain(text))
