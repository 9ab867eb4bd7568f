"""What ``run`` and ``compare`` print, and when."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click
from rich.console import Console, Group, RenderableType
from rich.control import Control
from rich.live import Live
from rich.segment import ControlType
from rich.text import Text

from ..harness.record import Footer, Outcome, Problem, Record
from ..reports import side_by_side, terminal
from ..reports.ending import ending
from ..reports.groups import Groups
from ..reports.live import Progress, Slowest

if TYPE_CHECKING:
    from ..harness.runner import Executor

#: From the id of a case that went wrong to what can be done, and the command for it.
Again = Callable[[str], list[tuple[str, str]]]
#: Seconds that a run lasts before its progress is shown, and between two lines of it in a log.
SOON = 0.5
LOG_EVERY = 60.0
#: Takes the text of a line away.
_ERASE = Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2))
#: How often a second a terminal is brought up to date.
REFRESH = 5


class Display:
    """What one ``opcheck run`` prints."""

    def __init__(
        self,
        console: Console | None = None,
        *,
        quiet: bool = False,
        verbose: bool = False,
        failures: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.console = console or Console(highlight=False, emoji=False)
        self.quiet = quiet
        self.verbose = verbose
        self.failures = failures and not quiet
        self.groups = Groups()
        self._clock = clock
        self._progress: Callable[[], Progress] | None = None
        self._logged = 0.0
        self._backends = 0
        self._by_operator: dict[tuple[str, str], dict[Outcome, int]] = {}

    @property
    def interactive(self) -> bool:
        """Whether somebody looks at a terminal; a log that takes colours is none."""
        return self.console.is_interactive and self.console.file.isatty()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Say on a terminal meanwhile that cases are being read, which takes a while at first."""
        if self.quiet or not self.interactive:
            yield
            return
        self.console.print(Text("reading the cases ...", "dim"), end="")
        try:
            yield
        finally:
            self.console.control(_ERASE)

    @contextmanager
    def running(
        self, total: int, counts: Mapping[str, Mapping[Outcome, int]], executors: Sequence[Executor]
    ) -> Iterator[None]:
        """Show the progress meanwhile: at the bottom of a terminal, or in a log now and then.

        ``counts`` are read when they are shown.
        """
        start = self._logged = self._clock()
        self._backends = len(executors)

        def progress() -> Progress:
            now = self._clock()
            by = {o: sum(one[o] for one in counts.values()) for o in Outcome}
            return Progress(total, by, now - start, _slowest(executors, now), len(executors) > 1)

        def shown() -> RenderableType:
            now = progress()
            return now if now.seconds >= SOON else Text()

        if self.quiet:
            yield
        elif self.interactive:
            with Live(
                get_renderable=shown,
                console=self.console,
                refresh_per_second=REFRESH,
                transient=True,
                redirect_stderr=sys.stderr.isatty(),
            ):
                yield
        else:
            self._progress = progress
            yield

    def problem(self, entry: Problem) -> None:
        """Print a mistake in a case file."""
        self.print(terminal.problem(entry))

    def case(self, records: Sequence[Record]) -> None:
        """Print the results of one case, as far as they are to be seen."""
        self._log()
        for record in records:
            if self.verbose:
                self.print(terminal.verbose_line(record))
            wrong = self.failures and not record.acceptable
            if wrong and (self.groups.add(record) or self.verbose):
                self.print(terminal.failure(record))

    def end(self, footer: Footer, unexpected: bool, again: Again = lambda _: []) -> None:
        """Print the end; ``again`` gives commands that help, from the id of a case."""
        first = self.groups.ordered()[:1]
        self.print(
            ending(
                footer,
                self.groups,
                unexpected=unexpected,
                quiet=self.quiet,
                verbose=self.verbose,
                again=again(first[0].case) if first and self.interactive else [],
            )
        )

    def print(self, *shown: RenderableType) -> None:
        """Print without cutting or wrapping lines that are not to be wrapped.

        The group keeps rich from joining texts to one, which would forget how each is set.
        """
        self.console.print(Group(*shown), crop=False)

    def _log(self) -> None:
        """Say in a log how far the run is, if nothing was said of it for long."""
        if self._progress is not None and self._clock() - self._logged >= LOG_EVERY:
            self._logged = self._clock()
            click.echo(f"opcheck: {self._progress().text()}", err=True)


class Compared(Display):
    """What one ``opcheck compare`` prints: cases side by side on all backends."""

    def case(self, records: Sequence[Record]) -> None:
        """Print one case side by side, if it is on all backends."""
        self._log()
        for record in records:
            by = self._by_operator.setdefault((record.operator, record.backend), {})
            by[record.outcome] = by.get(record.outcome, 0) + 1
            if self.verbose:
                self.print(terminal.verbose_line(record))
        wrong = [record for record in records if record.outcome is not Outcome.PASSED]
        if not wrong or self.quiet or len(records) < self._backends:
            return
        if self.groups.add(*wrong) or self.verbose:
            self.print(side_by_side.comparison(records))

    def end(self, footer: Footer, unexpected: bool, again: Again = lambda _: []) -> None:
        """Print the table by operator, then the end."""
        self.print(side_by_side.operator_table(self._by_operator), "")
        super().end(footer, unexpected, again)


def _slowest(executors: Sequence[Executor], now: float) -> Slowest | None:
    """Return the case that has been running for the longest time."""
    running = [(e.backend, r) for e in executors if (r := e.running()) is not None]
    if not running:
        return None
    backend, (case, since) = min(running, key=lambda item: item[1].since)
    return Slowest(case, backend, max(now - since, 0.0))
