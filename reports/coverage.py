"""What cases cover of the operators, as text: for the terminal, as Markdown, as JSON."""

from __future__ import annotations

import html
import re
import textwrap
from collections.abc import Iterable, Sequence

import msgspec

from ..harness.coverage import (
    AttributeCoverage,
    Coverage,
    FormalCoverage,
    Row,
    SchemaCoverage,
    SignatureCoverage,
    rows,
    total,
    totals,
)
from ..harness.errors import count
from .plain import plain
from .text import columns, cut

#: The format of the JSON report.
FORMAT = 1
#: Gaps and values of attributes beyond these are counted, not shown.
MAX_GAPS = 12
MAX_VALUES = 8
_WIDTH = 80


def clean(text: str) -> str:
    """Return a text of a case file or a backend without control characters."""
    return plain(text).plain.replace("\n", " ")


def json(coverage: Coverage, by: str) -> str:
    """Return everything as JSON: the totals, the rows of the table, and each schema."""
    document = {
        "format": FORMAT,
        "onnx": coverage.onnx,
        "cases": coverage.cases,
        "backends": coverage.backends,
        "total": total(coverage),
        "domains": totals(coverage),
        "by": by,
        "rows": rows(coverage, by),
        "unknown": coverage.unknown,
        "strangers": coverage.strangers,
        "schemas": coverage.schemas,
    }
    return msgspec.json.format(msgspec.json.encode(document)).decode() + "\n"


def table(coverage: Coverage, by: str, width: int = _WIDTH) -> str:
    """Return the table, the totals, what is missing, and what was not counted.

    Backends for which it has no room get a table of their own.
    """
    lines = _table(coverage, by, coverage.backends)
    if coverage.backends and max(map(len, lines)) > width:
        lines = _table(coverage, by, [])
        for group in _fitting(coverage, by, width):
            lines += ["", *_table(coverage, by, group, counts=False)]
    said = (
        textwrap.fill(line, max(width, 40), subsequent_indent="    ", break_on_hyphens=False)
        for line in notes(coverage)
    )
    return "\n".join([*lines, "", *said, ""])


def _table(
    coverage: Coverage, by: str, backends: Sequence[str], *, counts: bool = True
) -> list[str]:
    head, body, foot = cells(coverage, by, backends, counts=counts)
    laid = columns([head, *body, *foot], left=1)
    return [*laid[: len(body) + 1], "", *laid[len(body) + 1 :]]


def _fitting(coverage: Coverage, by: str, width: int) -> list[list[str]]:
    """Group the backends so that a table of each group fits; one at least in each."""
    groups: list[list[str]] = [[]]
    for name in coverage.backends:
        wider = [*groups[-1], name]
        fits = max(map(len, _table(coverage, by, wider, counts=False))) <= width
        groups[-1:] = [wider] if fits or not groups[-1] else [groups[-1], [name]]
    return groups


def cells(
    coverage: Coverage, by: str, backends: Sequence[str], *, counts: bool = True
) -> tuple[list[str], list[list[str]], list[list[str]]]:
    """Return the heading, the rows and the totals of the table as text."""
    head = [by, *(["signatures", "", "attributes", "optionals"] if counts else [])]
    if counts:
        head[2] = "covered"
    head += map(clean, backends)

    def shown(row: Row) -> list[str]:
        own = [row.signatures, row.attributes, row.optionals]
        found = [f"{c.covered}/{c.total}" if c.total else "" for c in own]
        found.insert(1, row.signatures.percent)
        return [
            row.name,
            *(found if counts else []),
            *(row.passed[name].percent for name in backends),
        ]

    return head, [shown(r) for r in rows(coverage, by)], [shown(r) for r in totals(coverage)]


def notes(coverage: Coverage) -> list[str]:
    """Say what is missing, what cannot be covered, and what was not counted."""
    lines = []
    gaps = [*gaps_of(coverage), *unreachable_of(coverage)]
    whole = total(coverage).signatures
    if gaps:
        lacking = whole.total - whole.covered
        lines.append(f"{count(lacking, 'signature')} of {whole.total} without a case:")
        lines += [f"  {gap}" for gap in gaps[:MAX_GAPS]]
        if len(gaps) > MAX_GAPS:
            lines.append(f"  and {len(gaps) - MAX_GAPS} more; --missing writes stubs for them")
    else:
        lines.append(f"Each of the {count(whole.total, 'signature')} has a case.")
    if coverage.backends:
        names = ", ".join(map(clean, coverage.backends))
        lines.append(f"Below {names}: the share of the signatures with a case that passes there.")
    if coverage.unknown:
        names = ", ".join(f"{clean(n)} ({k})" for n, k in sorted(coverage.unknown.items())[:10])
        more = "" if len(coverage.unknown) <= 10 else ", ..."
        lines.append(f"Not counted, as onnx does not define them: {names}{more}")
    if coverage.strangers:
        said = count(coverage.strangers, "result")
        lines.append(f"Not counted: {said} of cases that are not in the sources")
    return lines


def gaps_of(coverage: Coverage) -> list[str]:
    """Return a line for each type parameter with types that have no case."""
    return [f"{name}: {types}" for name, types, why in _lacking(coverage) if not why]


def unreachable_of(coverage: Coverage) -> list[str]:
    """Return a line for each type parameter with types that no valid model can use."""
    return [
        f"{name}: {types} (no valid model can use them: {why})"
        for name, types, why in _lacking(coverage)
        if why
    ]


def _lacking(coverage: Coverage) -> Iterable[tuple[str, str, str]]:
    for schema in coverage.schemas:
        found: dict[tuple[str, str], list[str]] = {}
        for signature in schema.signatures:
            if not signature.cases:
                key = (signature.parameter, signature.unreachable)
                found.setdefault(key, []).append(short(signature.type))
        for (parameter, why), types in found.items():
            yield f"{schema.title} {parameter}", cut(", ".join(types), 200), why


def short(text: str) -> str:
    """Return a type without the word tensor."""
    return re.sub(r"tensor\((\w+)\)", r"\1", text)


def markdown(coverage: Coverage, by: str) -> str:
    """Return the table and the notes as Markdown."""
    head, body, foot = cells(coverage, by, coverage.backends)
    lines = [
        "# Coverage",
        "",
        f"{count(coverage.cases, 'case')}, onnx {coverage.onnx}.",
        "",
        _md_row(head),
        _md_row(["---", *(["---:"] * (len(head) - 1))], raw=True),
        *map(_md_row, body),
        *(_md_row([f"**{row[0]}**", *row[1:]], raw=True) for row in foot),
        "",
    ]
    first, *rest = notes(coverage)
    lines += [escaped(first), ""]
    for line in rest:
        lines += [f"- {escaped(line.strip())}"] if line.startswith(" ") else ["", escaped(line)]
    return "\n".join(lines).rstrip() + "\n"


def _md_row(row: Sequence[str], *, raw: bool = False) -> str:
    return f"| {' | '.join(row if raw else map(escaped, row))} |"


def escaped(text: str) -> str:
    """Return a text for Markdown: nothing in it is markup or HTML."""
    return re.sub(r"([\\`*_\[\]|@#~])", r"\\\1", html.escape(clean(text), quote=False))


def details(coverage: Coverage) -> str:
    """Return for each schema what occurs: types, attributes, inputs, outputs."""
    return "\n".join("\n".join(_details(schema)) for schema in coverage.schemas)


def _details(schema: SchemaCoverage) -> Iterable[str]:
    yield (
        f"{schema.title}: {count(schema.cases, 'case')}, "
        f"and {schema.rejections} that must be an error"
    )
    for parameter, types in parameters(schema):
        covered = sum(s.cases > 0 for s in types)
        yield f"  type {parameter}: {covered}/{len(types)}"
    for attribute in schema.attributes:
        yield f"  attribute {attribute.name}: {attribute_line(attribute)}"
    for side, formals in (("input", schema.inputs), ("output", schema.outputs)):
        for formal in formals:
            yield f"  {side} {formal.name}: {formal_line(formal)}"
    yield ""


def parameters(schema: SchemaCoverage) -> list[tuple[str, list[SignatureCoverage]]]:
    """Return the type parameters of a schema, each with its types."""
    found: dict[str, list[SignatureCoverage]] = {}
    for signature in schema.signatures:
        found.setdefault(signature.parameter, []).append(signature)
    return list(found.items())


def attribute_line(attribute: AttributeCoverage) -> str:
    """Say how often an attribute is given, with which values."""
    parts = [f"given {attribute.given}"]
    parts.append("required" if attribute.required else f"left out {attribute.left_out}")
    often = sorted(attribute.values.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{clean(value) or repr('')} ({n})" for value, n in often[:MAX_VALUES]]
    if len(often) > MAX_VALUES:
        shown.append(f"and {len(often) - MAX_VALUES} more")
    return ", ".join(parts) + (f": {', '.join(shown)}" if shown else "")


def formal_line(formal: FormalCoverage) -> str:
    """Say how often an input or output is given, and of which ranks."""
    parts = [f"given {formal.given}"]
    if formal.kind != "single":
        parts.append(f"omitted {formal.omitted}")
    if formal.kind == "variadic" and formal.counts:
        parts.append(f"{_numbers(formal.counts)} at once")
    if formal.ranks:
        word = "rank" if len(formal.ranks) == 1 else "ranks"
        parts.append(f"{word} {_numbers(formal.ranks)}")
    return ", ".join(parts)


def _numbers(found: Iterable[int]) -> str:
    """Return numbers in order, three and more in a row as a range: ``0, 2-5``."""
    runs: list[list[int]] = []
    for number in sorted(found):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = [[f"{r[0]}-{r[-1]}"] if len(r) > 2 else list(map(str, r)) for r in runs]
    return ", ".join(text for run in shown for text in run)
