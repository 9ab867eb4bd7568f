"""The end of a run on the terminal: what went wrong in groups, the totals, what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.rule import Rule
from rich.text import Text

from ..harness.record import Footer, Outcome
from .groups import FIRST, Groups, Listing
from .plain import COLOURS, indented, one_line, plain, unwrapped

#: What a rule needs on each side of its text.
_SIDES = 6


def ending(
    footer: Footer,
    groups: Groups,
    *,
    unexpected: bool,
    quiet: bool = False,
    verbose: bool = False,
    again: Sequence[tuple[str, str]] = (),
) -> RenderableType:
    """Show the end of a run.

    Few cases were all shown in full above, and are not listed again.
    ``unexpected`` says whether the run fails; ``quiet`` leaves only totals, ``verbose`` lists all.
    ``again`` are commands that help with what failed, each with what it does.
    """
    parts: list[RenderableType] = []
    if groups.cases > FIRST and not quiet:
        parts.append(Listing(groups, everything=verbose))
    if footer.unused and not quiet:
        parts.append(unused(footer.unused))
    if len(footer.totals) > 1:
        parts.append(summary_lines(footer))
        if again:
            parts.append("")
    width = max((len(what) for what, _ in again), default=0)
    for what, command in again:
        label = Text(f"{what}:".ljust(width + 2), "dim")
        parts.append(unwrapped(label, one_line(command)))
    return Group(*parts, closing(footer, unexpected))


def summary_lines(footer: Footer) -> RenderableType:
    """Show the totals: a line per backend."""
    lines: list[RenderableType] = []
    for backend, counts in footer.totals.items():
        lines.append(_counts(backend, counts))
    return Group(*lines)


def _counts(backend: str, counts: dict[str, int]) -> Text:
    text = plain(f"{backend}: ")
    parts = [Text(f"{n} {outcome}", COLOURS[Outcome(outcome)]) for outcome, n in counts.items()]
    return text.append_text(Text(", ").join(parts)) if parts else text.append("no results")


def unused(lines: Sequence[str]) -> RenderableType:
    """Show the entries of an expectations file that accepted nothing."""
    title = plain("EXPECTATIONS that no longer hold", "bold red")
    return Group(title, *map(indented, lines), "")


def closing(footer: Footer, unexpected: bool) -> RenderableType:
    """Show the last line, as pytest users know it."""
    counts: dict[str, int] = {}
    for by_outcome in footer.totals.values():
        for outcome, n in by_outcome.items():
            counts[outcome] = counts.get(outcome, 0) + n
    parts = [f"{n} {outcome}" for outcome, n in counts.items() if outcome != "passed"]
    parts.append(f"{counts.get('passed', 0)} passed")
    if footer.problems:
        parts.insert(0, f"{footer.problems} bad {'case' if footer.problems == 1 else 'cases'}")
    if footer.known:
        parts.append(f"{footer.known} of them expected")
    if footer.unused:
        count = len(footer.unused)
        parts.append(f"{count} {'entry' if count == 1 else 'entries'} without effect")
    if footer.flaky:
        parts.append(f"{footer.flaky} flaky")
    if footer.missing:
        parts.append(f"{footer.missing} missing")
    said = ", ".join(parts) + f" in {footer.seconds:.2f}s"
    if footer.interrupted:
        said = f"interrupted: {said}"
    bad = unexpected or footer.problems or footer.interrupted
    return _Closing(said, "red" if bad else "green")


class _Closing:
    """A line between rules; where it does not fit, between two signs, wrapped on a terminal."""

    def __init__(self, text: str, style: str) -> None:
        self.text = text
        self.style = style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Look how much room there is."""
        line = Text(f"= {self.text} =", self.style, no_wrap=True, overflow="ignore")
        if cell_len(self.text) + _SIDES <= options.max_width:
            yield Rule(Text(self.text), characters="=", style=self.style)
        elif options.is_terminal:
            line.no_wrap = False
            for part in line.wrap(console, options.max_width, overflow="fold"):
                part.rstrip()
                yield part
        else:
            yield line
