"""What a run shows on the terminal: rich renderables, made from finished records.

Everything that a case file or a backend says is shown as plain text: no markup, no control
characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.rule import Rule
from rich.text import Text

from ..harness.record import Difference, Excerpt, Footer, Outcome, Problem, Record
from .text import columns, cut, element_lines, headline, location, summary

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
#: Lines shown of a message or of what a backend printed.
MAX_LINES = 6
MAX_LINE = 400
#: A closing line longer than this is not set between rules, which would cut it.
MAX_RULE = 74
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


def plain(text: str, style: str = "") -> Text:
    """Return a text as it is, without markup, colours of its own, or control characters."""
    without = _ESCAPES.sub("", text).replace("\r\n", "\n").expandtabs()
    return Text(_CONTROL.sub(lambda c: f"\\x{ord(c[0]):02x}", without), style=style)


def failure(record: Record) -> RenderableType:
    """Show one case that did not pass."""
    colour = COLOURS[record.outcome]
    title = Text(no_wrap=True, overflow="ignore").append(record.outcome.value.upper(), colour)
    title.append(" ")
    title.append_text(plain(record.case, "bold")).append("  ").append_text(plain(record.backend))
    parts: list[RenderableType] = [title]
    place = f"{record.operator}-{record.since_version}, {location(record.file, record.line)}"
    parts.append(Indented(plain(place, "dim")))
    if record.why:
        parts.append(_indented(record.why))
    if record.verdict:
        parts.append(_indented(record.verdict))
    if record.flaky:
        parts.append(_indented(f"flaky: repetitions gave {' and '.join(record.flaky)}"))
    for difference in record.differences:
        parts.append(_indented(summary(difference)))
        parts += map(_line, element_lines(difference))
    if not record.differences:
        parts.append(_message(record))
    if record.printed:
        parts.append(_indented("printed:\n" + _first_lines(record.printed)))
    return Group(*parts, "")


def _message(record: Record) -> RenderableType:
    first, *rest = headline(record).splitlines() or [""]
    lines = record.message.splitlines()[1:] if record.message else rest
    return _indented(_first_lines("\n".join([first, *lines])))


def _first_lines(text: str) -> str:
    lines = text.strip().splitlines()
    more = [f"... {len(lines) - MAX_LINES} more lines"] if len(lines) > MAX_LINES else []
    return "\n".join([cut(line, MAX_LINE) for line in lines[:MAX_LINES]] + more)


class Indented:
    """A text, wrapped to the width of the terminal behind two spaces."""

    def __init__(self, text: Text) -> None:
        self.text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Wrap the text; no line is filled up with spaces."""
        for line in self.text.wrap(console, max(options.max_width - 2, 20)):
            line.rstrip()
            yield Text.assemble("  ", line, no_wrap=True, overflow="ignore")


def _line(text: str) -> RenderableType:
    """Show a line of a table, which is never wrapped."""
    line = Text("    ", no_wrap=True, overflow="ignore")
    return line.append_text(plain(text))


def _indented(text: str) -> RenderableType:
    return Indented(plain(text))


def problem(entry: Problem) -> RenderableType:
    """Show one mistake in a case file."""
    title = Text(no_wrap=True, overflow="ignore").append("BAD CASE", "bold red").append(" ")
    return Group(
        title.append_text(plain(entry.case or entry.file, "bold")), _indented(entry.message), ""
    )


def verbose_line(record: Record) -> RenderableType:
    """Show one result in a line."""
    line = Text(no_wrap=True, overflow="ignore")
    line.append_text(plain(f"{record.case}  {record.backend}  "))
    line.append(record.outcome.value, COLOURS[record.outcome])
    said = headline(record)
    return line.append_text(plain(f"  {cut(said, 200)}")) if said else line


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
    return Group(title, *map(_indented, lines), "")


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
    style = "red" if bad else "green"
    if len(said) > MAX_RULE:
        return Text(f"= {said} =", style=style, no_wrap=True, overflow="ignore")
    return Rule(Text(said), characters="=", style=style)


def comparison(records: Sequence[Record]) -> RenderableType | None:
    """Show one case side by side on the oracle, the first record, and on the other backends.

    ``None`` where all of them agree with what is expected.
    """
    oracle, *others = records
    if all(r.outcome is Outcome.PASSED for r in records):
        return None
    title = Text(no_wrap=True, overflow="ignore").append_text(plain(oracle.case, "bold"))
    title.append_text(plain(f"  {oracle.operator}-{oracle.since_version}", "dim"))
    parts: list[RenderableType] = [title]
    if oracle.why:
        parts.append(_indented(oracle.why))
    for record in records:
        if record.outcome is not Outcome.PASSED and not record.differences:
            said = plain(f"{record.backend}: ")
            if record.outcome is not Outcome.ERRORED:
                said.append(f"{record.outcome.value}  ", COLOURS[record.outcome])
            said.append_text(plain(_first_lines(headline(record))))
            parts.append(Indented(said))
    for name in dict.fromkeys(d.output for r in records for d in r.differences):
        parts += _side_by_side(name, records)
    parts.append(_indented(verdict(oracle, others)))
    return Group(*parts, "")


def _side_by_side(name: str, records: Sequence[Record]) -> Iterable[RenderableType]:
    """Show one output: expected, and what each backend gave."""
    found = {r.backend: d for r in records for d in r.differences if d.output == name}
    for backend, difference in found.items():
        yield _indented(f"{backend}: {summary(difference)}")
    rows = {tuple(row.index): row for d in found.values() for row in d.rows}
    if not rows:
        return
    lines = [["index", "expected", *(r.backend for r in records), "ULP"]]
    for index, row in sorted(rows.items()):
        cells = [_value_at(record, name, list(index), found) for record in records]
        lines.append([str(list(index)), row.expected, *cells, row.ulp])
    yield from map(_line, columns(lines))


def _value_at(record: Record, name: str, index: list[int], found: dict[str, Difference]) -> str:
    """Return the element a backend gave, from its differences or from its kept output."""
    for row in found[record.backend].rows if record.backend in found else []:
        if row.index == index:
            return row.got
    for kept in record.outputs:
        if kept.name == name and kept.shape is not None:
            return _kept_value(kept, index)
    return record.outcome.value


def _kept_value(kept: Excerpt, index: list[int]) -> str:
    position = 0
    for size, k in zip(kept.shape or [], index, strict=False):
        position = position * size + k
    if len(index) != len(kept.shape or []):
        return "?"
    return kept.values[position] if position < len(kept.values) else "..."


def verdict(oracle: Record, others: Sequence[Record]) -> str:
    """Say which of the backends is wrong, the case's outputs being the measure."""
    wrong = [r.backend for r in others if r.outcome not in (Outcome.PASSED, Outcome.UNSUPPORTED)]
    lacking = [r.backend for r in others if r.outcome is Outcome.UNSUPPORTED]
    if oracle.outcome is Outcome.PASSED:
        said = [f"{name} is wrong: {oracle.backend} agrees with the case" for name in wrong]
        return "; ".join([*said, *(f"{name} does not implement this" for name in lacking)])
    right = [r.backend for r in others if r.outcome is Outcome.PASSED]
    if right:
        return f"{oracle.backend} is wrong: {', '.join(right)} agrees with the case"
    return f"{oracle.backend} does not agree with the case either: check the case"


def operator_table(counts: Mapping[tuple[str, str], Mapping[Outcome, int]]) -> RenderableType:
    """Show for each operator and backend how many cases came to which outcome."""
    present = [o for o in Outcome if any(by.get(o) for by in counts.values())]
    rows = [["operator", "backend", *(o.value for o in present)]]
    for (operator, backend), by in sorted(counts.items(), key=lambda item: item[0][0]):
        rows.append([operator, backend, *(str(by.get(o, "")) for o in present)])
    return Group(*map(_line, columns(rows, left=2)))
