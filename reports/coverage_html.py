"""What cases cover of the operators, as one HTML page without scripts."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from ..harness.coverage import Coverage, Row, SchemaCoverage, SignatureCoverage, rows, totals
from ..harness.errors import count
from .coverage import attribute_line, clean, formal_line, notes, parameters, short

_STYLE = """
:root { color-scheme: light dark; --back: #fff; --text: #1b1f24; --dim: #59636e;
  --line: #d5dae0; --good: #1a7f37; --bad: #b42318; --mark: #e6f3ea; --lack: #fbe9e7; }
@media (prefers-color-scheme: dark) { :root { --back: #14171b; --text: #e4e8ec; --dim: #98a2ad;
  --line: #343b43; --good: #4cc36b; --bad: #ff8a7d; --mark: #173020; --lack: #3a1d1a; } }
body { background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif;
  margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; } .wide { overflow-x: auto; }
th, td { border-bottom: 1px solid var(--line); padding: .25rem .8rem .25rem 0; text-align: right;
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; } tfoot td { font-weight: 600; }
th { color: var(--dim); font-weight: 500; }
progress { accent-color: var(--good); height: .7rem; width: 8rem; }
details { border-bottom: 1px solid var(--line); padding: .3rem 0; }
details details { border: 0; margin-left: 1.2rem; } summary { cursor: pointer; }
.dim { color: var(--dim); } .lack { color: var(--bad); }
ul { margin: .3rem 0; } li { overflow-wrap: anywhere; }
.type { background: var(--mark); border-radius: .3rem; display: inline-block; font-size: .85em;
  margin: .1rem; padding: 0 .4rem; }
.type.no { background: var(--lack); color: var(--bad); text-decoration: underline dotted; }
.type.fails { background: none; outline: 1px dashed var(--bad); }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(coverage: Coverage, by: str) -> str:
    """Return the page: the table, what is missing, and below each operator all that occurs."""
    about = f"{count(coverage.cases, 'case')}, onnx {coverage.onnx}"
    said = "".join(f"<li>{_text(line)}</li>" for line in notes(coverage))
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        f"<title>Coverage</title>\n<style>{_STYLE}</style>",
        f'<h1>Coverage</h1>\n<p class="dim">{_text(about)}</p>',
        *_table(coverage, by),
        f"<ul>{said}</ul>",
        "<h2>Operators</h2>",
        *(_operator(name, found) for name, found in _operators(coverage)),
        "</html>\n",
    ]
    return "\n".join(parts)


def _text(text: str) -> str:
    return html.escape(clean(text))


def _table(coverage: Coverage, by: str) -> Iterator[str]:
    counts = ["covered", "signatures", "attributes", "optionals"]
    names = [by, "", *counts, *coverage.backends]
    yield '<div class="wide"><table><thead><tr>'
    yield "".join(f"<th>{_text(name)}</th>" for name in names)
    yield "</tr></thead><tbody>"
    yield from (_row(row, coverage.backends) for row in rows(coverage, by))
    yield "</tbody><tfoot>"
    yield from (_row(row, coverage.backends) for row in totals(coverage))
    yield "</tfoot></table></div>"


def _row(row: Row, backends: Sequence[str]) -> str:
    own = row.signatures
    bar = f'<progress max="{max(own.total, 1)}" value="{own.covered if own.total else 1}">'
    counts = [f"{c.covered}/{c.total}" for c in (own, row.attributes, row.optionals)]
    texts = [own.percent, *counts, *(row.passed[name].percent for name in backends)]
    rest = "".join(f"<td>{text}</td>" for text in texts)
    return f"<tr><td>{_text(row.name)}</td><td>{bar}</progress></td>{rest}</tr>"


def _operators(coverage: Coverage) -> list[tuple[str, list[SchemaCoverage]]]:
    groups: dict[str, list[SchemaCoverage]] = {}
    for schema in coverage.schemas:
        groups.setdefault(schema.name, []).append(schema)
    return list(groups.items())


def _operator(name: str, schemas: list[SchemaCoverage]) -> str:
    signatures = [s for schema in schemas for s in schema.signatures]
    inner = "\n".join(map(_schema, reversed(schemas)))
    return f"<details><summary>{_summary(name, signatures)}</summary>\n{inner}\n</details>"


def _summary(name: str, signatures: list[SignatureCoverage]) -> str:
    covered = sum(s.cases > 0 for s in signatures)
    kind = "dim" if covered == len(signatures) else "lack"
    return f'{_text(name)} <span class="{kind}">{covered}/{len(signatures)}</span>'


def _schema(schema: SchemaCoverage) -> str:
    about = f"{count(schema.cases, 'case')}, and {schema.rejections} that must be an error"
    lines = []
    for parameter, types in parameters(schema):
        chips = "".join(map(_type, types))
        lines.append(f"<li>type {_text(parameter)}: {chips}</li>")
    entries = [(f"attribute {a.name}", attribute_line(a)) for a in schema.attributes]
    entries += [(f"input {f.name}", formal_line(f)) for f in schema.inputs]
    entries += [(f"output {f.name}", formal_line(f)) for f in schema.outputs]
    lines += [f"<li>{_text(name)}: {_text(line)}</li>" for name, line in entries]
    return (
        f"<details><summary>{_summary(schema.title, schema.signatures)}</summary>"
        f'<p class="dim">{about}</p><ul>{"".join(lines)}</ul></details>'
    )


def _type(signature: SignatureCoverage) -> str:
    parts = [count(signature.cases, "case") if signature.cases else "no case"]
    parts += [f"{name}: {passed} pass" for name, passed in signature.passed.items()]
    parts += [f"no valid model: {signature.unreachable}"] if signature.unreachable else []
    fails = signature.cases and 0 in signature.passed.values()
    kind = "type fails" if fails else "type" if signature.cases else "type no"
    title = _text(", ".join(parts))
    return f'<span class="{kind}" title="{title}">{_text(short(signature.type))}</span>'
