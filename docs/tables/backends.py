"""Writes the table of ``docs/backends.md`` from result files of runs over ``onnx:node``.

``python docs/tables/backends.py RESULTS.jsonl...`` takes the totals of these runs into
``backends.json`` beside this file, in place of older ones of the same backends, and writes the
table anew.
A run that did not finish, or was about something else, is refused.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from opcheck.harness.record import Footer, Header, Outcome
from opcheck.reports.jsonl import read_line

HERE = Path(__file__).parent
DATA = HERE / "backends.json"
PAGE = HERE.parent / "backends.md"
COLUMNS = [
    Outcome.PASSED,
    Outcome.FAILED,
    Outcome.UNSUPPORTED,
    Outcome.ERRORED,
    Outcome.CRASHED,
    Outcome.TIMED_OUT,
    Outcome.OUT_OF_MEMORY,
]
#: Stands before and behind the generated part of a page.
MARKS = "<!-- {edge} of the table that docs/tables/backends.py makes -->"


def totals(path: Path) -> dict[str, dict[str, Any]]:
    """Return, for each backend of a run, its version, totals and seconds.

    Raises ``ValueError`` for a file that is not of one finished run over ``onnx:node``.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    header, footer = read_line(lines[0]), read_line(lines[-1])
    if not isinstance(header, Header) or not isinstance(footer, Footer):
        raise ValueError(f"{path}: the run did not finish")
    if header.sources != ["onnx:node"] or footer.missing:
        raise ValueError(f"{path}: a whole run over onnx:node is wanted, not {header.sources}")
    (seconds,) = [footer.seconds] if len(header.backends) == 1 else [0.0]
    return {
        name: {"version": version, "seconds": round(seconds), **footer.totals[name]}
        for name, version in header.backends.items()
    }


def table(rows: dict[str, dict[str, Any]]) -> str:
    """Return the table, the backend with the most passes first."""
    head = ["kind", "version", *(c.value for c in COLUMNS), "seconds"]
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join(["---"] * len(head)) + " |"]
    for name, row in sorted(rows.items(), key=lambda item: -item[1].get("passed", 0)):
        counts = [f"{row.get(c.value, 0):,}" for c in COLUMNS]
        cells = [f"`{name}`", row["version"], *counts, str(row["seconds"])]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def page(text: str, rows: dict[str, dict[str, Any]]) -> str:
    """Return a page with the table in its place."""
    begin, end = (MARKS.format(edge=edge) for edge in ("Begin", "End"))
    pattern = re.escape(begin) + ".*?" + re.escape(end)
    return re.sub(pattern, lambda _: f"{begin}\n\n{table(rows)}\n\n{end}", text, flags=re.DOTALL)


def main(paths: list[str]) -> None:
    """Take result files in, and write the data and the page."""
    rows = json.loads(DATA.read_text(encoding="utf-8"))
    for path in paths:
        rows.update(totals(Path(path)))
    DATA.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
