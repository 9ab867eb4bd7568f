"""One case on several backends, side by side, as a rich renderable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType

from ..harness.record import Difference, Excerpt, Outcome, Record
from .plain import COLOURS, Indented, indented, one_line, plain, table_line, unwrapped
from .terminal import first_lines
from .text import columns, headline, summary


def comparison(records: Sequence[Record]) -> RenderableType:
    """Show one case side by side on the oracle, the first record, and on the other backends."""
    oracle, *others = records
    title = unwrapped(
        one_line(oracle.case, "bold"),
        one_line(f"  {oracle.operator}-{oracle.since_version}", "dim"),
    )
    parts: list[RenderableType] = [title]
    if oracle.why:
        parts.append(indented(oracle.why))
    for record in records:
        if record.outcome is not Outcome.PASSED and not record.differences:
            said = plain(f"{record.backend}: ")
            if record.outcome is not Outcome.ERRORED:
                said.append(f"{record.outcome.value}  ", COLOURS[record.outcome])
            said.append_text(plain(first_lines(headline(record))))
            parts.append(Indented(said))
    for name in dict.fromkeys(d.output for r in records for d in r.differences):
        parts += _side_by_side(name, records)
    parts.append(indented(verdict(oracle, others)))
    return Group(*parts, "")


def _side_by_side(name: str, records: Sequence[Record]) -> Iterable[RenderableType]:
    """Show one output: expected, and what each backend gave."""
    found = {r.backend: d for r in records for d in r.differences if d.output == name}
    for backend, difference in found.items():
        yield indented(f"{backend}: {summary(difference)}")
    rows = {tuple(row.index): row for d in found.values() for row in d.rows}
    if not rows:
        return
    lines = [["index", "expected", *(r.backend for r in records), "ULP"]]
    for index, row in sorted(rows.items()):
        cells = [_value_at(record, name, list(index), found) for record in records]
        lines.append([str(list(index)), row.expected, *cells, row.ulp])
    yield from map(table_line, columns(lines))


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
    return Group(*map(table_line, columns(rows, left=2)))
