"""What a run shows of its results and how it ends, the same when it is read from a file."""

from __future__ import annotations

from enum import IntEnum

from rich.console import Console, Group, RenderableType

from ..harness.record import Footer, Record
from ..reports import terminal


class Status(IntEnum):
    """The exit statuses."""

    FINE = 0
    UNEXPECTED = 1
    USAGE = 2
    CANNOT_RUN = 3
    NO_CASE = 5
    INTERRUPTED = 130


def terminal_console() -> Console:
    """Return the console that results are printed on."""
    return Console(highlight=False, emoji=False)


def put(console: Console, *shown: RenderableType) -> None:
    """Print without cutting or wrapping lines that are not to be wrapped.

    The group keeps rich from joining texts to one, which would forget how each is set.
    """
    console.print(Group(*shown), crop=False)


def put_record(console: Console, record: Record, *, quiet: bool, verbose: bool) -> None:
    """Print one result, as far as it is asked for."""
    if verbose:
        put(console, terminal.verbose_line(record))
    if not quiet and not record.acceptable:
        put(console, terminal.failure(record))


def put_totals(console: Console, footer: Footer) -> None:
    """Print the totals of each backend, where there are several."""
    if len(footer.totals) > 1:
        put(console, terminal.summary_lines(footer))


def put_end(console: Console, footer: Footer, *, unexpected: bool, quiet: bool) -> Status:
    """Print what no longer holds and the closing line; return the exit status.

    ``unexpected`` says that a result is.
    """
    unexpected = bool(unexpected or footer.missing or footer.unused)
    if footer.unused and not quiet:
        put(console, terminal.unused(footer.unused))
    put(console, terminal.closing(footer, unexpected))
    if footer.problems:
        return Status.USAGE
    return Status.UNEXPECTED if unexpected else Status.FINE
