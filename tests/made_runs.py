"""Finished runs made by hand, for the tests of reports, and texts that try to break out of them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from opcheck.harness.record import (
    FORMAT,
    Difference,
    Footer,
    Header,
    Outcome,
    Problem,
    Record,
    Row,
    Run,
)

#: Pieces of what reports are made of, and of what reads them.
_PIECES = [
    "]]>", "<![CDATA[", "\x00", "\x1b[31m", "\ud800", "<script>alert(1)</script>", "@octocat",
    "`", "``", "```", "~~~", "|", "\\|", "\\", "\n", "\n\n", "\r", "\r\n", "\t", "    ",
    "::error::", "##[error]", "::", "%0A", "![a](http://b.c/d.png)", "[a](http://b.c)", "http://b.c",
    "www.b.c", "a@b.cd", "#1", "</details>", "</code></summary>", "<!--", "&lt;", "&amp;", "- ",
    "# ", "*a*", "$x$", "\u202e", "\u200b", "\u2028", "\x85", "'", '"', ",", ":",
    "<https://b.c>", "[a]: b",
]  # fmt: skip

#: Any text, and above all what a report could take for its own signs.
WILD = st.lists(st.sampled_from(_PIECES) | st.text(st.characters(codec=None), max_size=8),
                min_size=1, max_size=8).map("".join)  # fmt: skip


def record(outcome: Outcome = Outcome.PASSED, **more: Any) -> Record:
    """One result; ``title`` is name and variant of its case."""
    file, title = more.get("file", "cases/math/add.yaml"), more.pop("title", "numbers[float32]")
    values = {
        "case": f"{file}::{title}",
        "file": file,
        "line": 4,
        "operator": "Add",
        "domain": "",
        "opset": 14,
        "since_version": 14,
        "dtypes": ["float32"],
        "backend": "some",
        "outcome": outcome,
        "seconds": 0.25,
        **more,
    }
    return Record(**values)


def different(index: int = 1) -> list[Difference]:
    """One output in which one element differs."""
    row = Row([index], "1.0", "2.0", "1.0", "1.0", "8388608")
    return [Difference("c", "values", "float32[6]", "float32[6]", 1, 6, "1 ULP", row, [row])]


def run(*records: Record, problems: tuple[Problem, ...] = (), **more: Any) -> Run:
    """A finished run; ``more`` are fields of its header and footer."""
    of_header = {k: more.pop(k) for k in list(more) if k in Header.__struct_fields__}
    backends = {r.backend: "1.0" for r in records} or {"some": "1.0"}
    header = {
        "format": FORMAT,
        "opcheck": "1",
        "onnx": "2",
        "numpy": "3",
        "python": "3.12",
        "platform": "Linux",
        "started": "2026-01-02T03:04:05+00:00",
        "sources": ["cases"],
        "backends": backends,
        "options": {},
        **of_header,
    }
    totals: dict[str, dict[str, int]] = {}
    for one in records:
        by = totals.setdefault(one.backend, {})
        by[one.outcome.value] = by.get(one.outcome.value, 0) + 1
    footer = {"totals": totals, "problems": len(problems), "seconds": 1.0, **more}
    return Run(Header(**header), list(records), list(problems), Footer(**footer))


def wild_run(text: str) -> Run:
    """A run that says ``text`` wherever a case file, an option or a backend may say something.

    Two results are alike, one has a difference, and all that can make a run fail happens.
    """
    failed = {"message": text, "why": text, "verdict": text, "printed": text}
    return run(
        record(Outcome.ERRORED, title=text, backend=text, operator=text, phase="load", **failed),
        record(Outcome.ERRORED, title=f"{text}2", backend=text, operator=text, phase="load",
               line=9, **failed),
        record(Outcome.FAILED, title=text, backend=text, expected=False, verdict=text,
               differences=[Difference(text, "dtype", text, text)]),
        record(Outcome.FAILED, title=text, backend=text, expected=True, verdict=text),
        problems=(Problem("add.yaml", 3, text, text),),
        backends={text: text},
        platform=text,
        sources=[text],
        missing=2,
        unused=[text],
    )  # fmt: skip
