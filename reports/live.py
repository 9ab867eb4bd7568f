"""What is shown while a run goes on: how far it is, what came so far, and what takes long."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.progress_bar import ProgressBar
from rich.segment import Segment
from rich.text import Text

from ..harness.record import Outcome
from .plain import COLOURS, head, one_line, tail

#: The longest bar, and the shortest that is worth showing.
LONGEST_BAR, SHORTEST_BAR = 40, 5
#: With fewer columns the time that is left is not shown.
WIDE = 60
#: The longest name of a backend that is shown whole.
MAX_BACKEND = 25
#: What is left is not guessed before so many seconds.
GUESS_AFTER = 5.0


@dataclass(frozen=True, slots=True)
class Slowest:
    """The case that has been running for the longest time."""

    case: str
    backend: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is after some seconds: three lines, each as wide as the terminal at most."""

    total: int
    counts: Mapping[Outcome, int] = field(default_factory=dict)
    seconds: float = 0.0
    slowest: Slowest | None = None
    #: Whether the backend of the slowest case is of interest.
    several: bool = False

    @property
    def done(self) -> int:
        """How many results there are."""
        return sum(self.counts.values())

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Show a bar, the counts, and the slowest case."""
        width = options.max_width
        yield from self._bar(console, options)
        yield counted(self.counts, width)
        yield self._slowest(width)

    def text(self) -> str:
        """Say it all in one plain line, for a log."""
        said = f"{self.done} of {self.total} results after {clock(self.seconds)}"
        counts = counted(self.counts, 1000).plain
        parts = [said, counts] if counts else [said]
        if self.slowest is not None:
            running = one_line(f"{self.slowest.case} on {self.slowest.backend}").plain
            parts.append(f"for {self.slowest.seconds:.0f} s: {running}")
        return "; ".join(parts)

    def _bar(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        said = f"{self.done}/{self.total}  {clock(self.seconds)}"
        if options.max_width >= WIDE and self.done and self.seconds >= GUESS_AFTER:
            said += f", {clock(self.seconds / self.done * (self.total - self.done))} left"
        width = min(options.max_width - len(said) - 2, LONGEST_BAR)
        if width >= SHORTEST_BAR:
            bar = list(console.render(ProgressBar(self.total, self.done, width=width), options))
            yield from bar
            said = " " * (width + 2 - Segment.get_line_length(bar)) + said
        yield Segment(said[: options.max_width])
        yield Segment.line()

    def _slowest(self, width: int) -> Text:
        slow = self.slowest
        if slow is None:
            return Text()
        before = f"{slow.seconds:.1f} s  "
        after = f"  {head(one_line(slow.backend).plain, MAX_BACKEND)}" if self.several else ""
        if width < WIDE:
            after = ""
        else:
            before = f"slowest now: {before}"
        case = one_line(slow.case).plain
        room = max(width - cell_len(before) - cell_len(after), 0)
        if cell_len(case) > room:
            case = tail(case.partition("::")[2] or case, room)
        return Text(before + case + after, "dim", no_wrap=True, overflow="crop")


def counted(counts: Mapping[Outcome, int], width: int) -> Text:
    """Return the count of each outcome in a line, the last ones as a sum where it is too short."""
    parts = [Text(f"{n} {o.value}", COLOURS[o]) for o, n in counts.items() if n]
    numbers = [n for n in counts.values() if n]
    shown = len(parts)
    while shown and cell_len(_joined(parts, numbers, shown).plain) > width:
        shown -= 1
    return _joined(parts, numbers, shown)


def _joined(parts: Sequence[Text], numbers: Sequence[int], shown: int) -> Text:
    rest = [Text(f"{sum(numbers[shown:])} more")] if shown < len(parts) else []
    return Text(", ", no_wrap=True, overflow="crop").join([*parts[:shown], *rest])


def clock(seconds: float) -> str:
    """Return a time as hours, minutes and seconds."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
