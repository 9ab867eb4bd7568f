"""Runs for the tests of reports: made by hand, and read back from result files."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import onnx

from opcheck.harness.record import (
    FORMAT,
    Detail,
    Difference,
    Excerpt,
    Footer,
    Header,
    Heat,
    Outcome,
    Problem,
    Record,
    Row,
    Run,
)
from opcheck.reports.jsonl import read_line

#: What a backend or a case file may say to break a page.
HOSTILE = (
    "]]>\x00\x1b[31mred\x1b[0m\ud800<script>window.broken = 1</script>"
    "<img src=x onerror='window.broken = 2'></script><!--{{ 7 * 7 }}${7 * 7}\u2028\u202etxt&amp;"
)


def record(outcome: Outcome = Outcome.PASSED, **more: Any) -> Record:
    values = {
        "case": "cases/math/add.yaml::numbers[float32]",
        "file": "cases/math/add.yaml",
        "line": 4,
        "operator": "Add",
        "domain": "",
        "opset": 14,
        "since_version": 14,
        "dtypes": ["float32"],
        "backend": "some",
        "outcome": outcome,
        **more,
    }
    return Record(**values)


def run_of(*records: Record, details: tuple[Detail, ...] = (), **footer: Any) -> Run:
    totals: dict[str, dict[str, int]] = {}
    for r in records:
        by = totals.setdefault(r.backend, {})
        by[r.outcome.value] = by.get(r.outcome.value, 0) + 1
    header = Header(
        FORMAT, "1", "1", "2", "3", "Linux", "2026-01-01", [], dict.fromkeys(totals, "1.0"), {}
    )
    ended = Footer(**{"totals": totals, "problems": 0, "seconds": 1.0, **footer})
    return Run(header, list(records), [], ended, {d.case: d for d in details})


def run_saying(text: str) -> Run:
    """A run in which every field that holds text holds this one."""
    row = Row([0], text, text, text, text, text)
    heat = Heat([2], [1, 1], [[text]])
    excerpt = Excerpt(text, text, [2], [text, text], 2)
    difference = Difference(text, "values", text, text, 1, 2, text, row, [row], heat)
    records = [
        record(
            outcome, case=f"{text}::{text}", file=text, operator=text, domain=text, dtypes=[text],
            backend=text, phase=text, message=text, differences=[difference], outputs=[excerpt],
            printed=text, why=text, flaky=[text], verdict=text, expected=False,
        )
        for outcome in Outcome
    ]  # fmt: skip
    run = run_of(*records, missing=1, unused=[text], known=1, flaky=1)
    header = Header(
        FORMAT, text, text, text, text, text, text, [text], {text: text}, {text: text, "ulp": text}
    )
    detail = Detail(f"{text}::{text}", text, [excerpt], [[excerpt], []], "bm8gbW9kZWw=")
    problem = Problem(text, 1, text, text)
    return Run(header, records, [problem], run.footer, {detail.case: detail})


def large_run(results: int) -> Run:
    """A run on two backends, one of which fails each tenth case."""
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]> '
        "g (float[2,3] a, float[2,3] b) => (float[2,3] c) { c = Add(a, b) }"
    )
    model_text = b64encode(model.SerializeToString()).decode()
    operators = sorted({s.name for s in onnx.defs.get_all_schemas()})[:180]
    records, details = [], []
    for i in range(results // 2):
        operator = operators[i % len(operators)]
        file = f"cases/some/{operator.lower()}.yaml"
        case = f"{file}::a_case_that_has_some_name_{i}[opset=18-float32]"
        bad = i % 10 == 0
        value = Excerpt("c", "float32", [2, 3], [f"{i + k}.5" for k in range(6)], 6)
        difference = Difference(
            "c", "values", "float32[2, 3]", "float32[2, 3]", 6, 6, "1 ULP",
            heat=Heat([2, 3], [1, 1], [["123", "45n"]]),
        )  # fmt: skip
        common = {"case": case, "file": file, "operator": operator, "why": f"Catches {i // 5}."}
        records += [
            record(**common, backend="right"),
            record(
                Outcome.FAILED if bad else Outcome.PASSED, **common, backend="wrong",
                differences=[difference] * bad, outputs=[value] * bad,
            ),
        ]  # fmt: skip
        if bad:
            node = f"Node:\n  {operator}(a, b) -> (c)"
            details.append(Detail(case, node, [value, value], [[value]], model_text))
    return run_of(*records, details=tuple(details))


def read_run(path: Path) -> Run:
    """Read a complete result file."""
    lines = [read_line(line) for line in path.read_text().splitlines()]
    header, footer = lines[0], lines[-1]
    assert isinstance(header, Header)
    assert isinstance(footer, Footer)
    return Run(
        header,
        [e for e in lines if isinstance(e, Record)],
        [e for e in lines if isinstance(e, Problem)],
        footer,
        {e.case: e for e in lines if isinstance(e, Detail)},
    )
