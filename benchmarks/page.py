"""Writes ``docs/performance.md`` from a file of results.

The hand-written parts are ``page.md``, where ``{{...}}`` stands for what is generated, and
``reasons.md``, which has a section for each number that is not reached.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import text
from .measure import ROOT

HERE = Path(__file__).parent
PAGE = ROOT / "docs" / "performance.md"
PLOTS = ROOT / "docs" / "plots"
#: The results that the page shows.
STORED = ROOT / "docs" / "tables" / "performance.json"

Entry = dict[str, Any]


def page(results: dict[str, Any]) -> str:
    """Return the whole page."""
    parts = {
        "numbers": numbers(results["benchmarks"]),
        "remarks": remarks(results["benchmarks"]),
        "machine": machine(results["machine"]),
        "growth": "\n\n".join(growth(entry) for entry in results["growth"]),
        "reasons": unmet(results["benchmarks"], reasons()),
    }
    template = (HERE / "page.md").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return a table; the first row is its head."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "| " + " | ".join(["---"] * len(rows[0])) + " |")
    return "\n".join(lines)


def numbers(entries: Sequence[Entry]) -> str:
    """Return the table of all benchmarks."""
    head = ["name", "what", "against", "opcheck", "peer", "ratio", "at most", ""]
    rows = [[f"`{e['name']}`", e["what"], e["against"], *text.cells(e)] for e in entries]
    return markdown([head, *rows])


def remarks(entries: Sequence[Entry]) -> str:
    """Return what has to be said of single rows."""
    lines = [f"- `{e['name']}`: {line}" for e in entries for line in text.remarks(e)]
    return "\n".join(lines)


def machine(about: dict[str, Any]) -> str:
    """Return the machine as a table."""
    packages = ", ".join(f"{name} {version}" for name, version in about["packages"].items())
    rows = [
        ["", ""],
        ["CPU", f"{about['cpu']}, {about['cores']} cores"],
        ["memory", text.size(about["memory"])],
        ["system", about["system"]],
        ["Python", about["python"]],
        ["packages", packages],
    ]
    return markdown(rows)


def growth(entry: Entry) -> str:
    """Return the plot and the table of a growth."""
    head, *rows = text.growth_rows(entry)
    title = f"### {entry['title']}"
    described = f"{entry['per']} by {entry['along']}"
    plot = f"![{described[0].upper()}{described[1:]}](plots/{entry['name']}.svg)"
    return "\n\n".join([title, plot, f"In {entry['per']}:", markdown([head, *rows])])


def reasons() -> dict[str, str]:
    """Return the hand-written sections on numbers that are not reached, by benchmark."""
    written = (HERE / "reasons.md").read_text(encoding="utf-8")
    parts = re.split(r"^## (.+)\n", written, flags=re.MULTILINE)
    return {name: body.strip() for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def unmet(entries: Sequence[Entry], written: dict[str, str]) -> str:
    """Return a section for each number that is not reached."""
    missed = [entry for entry in entries if not entry.get("met", False)]
    if not missed:
        return "All of them are reached."
    parts = []
    for entry in missed:
        *_, reached, target, _ = text.cells(entry)
        head = f"### `{entry['name']}`: {reached}, at most {target} was wanted"
        if entry.get("ratio", entry["target"] + 1) <= entry["target"]:
            taken, most = text.size(entry["above"]), text.size(entry["above_target"])
            head = f"### `{entry['name']}`: {taken} of memory, at most {most} was wanted"
        parts.append(f"{head}\n\n{written.get(entry['name'], 'Not yet looked into.')}")
    return "\n\n".join(parts)
