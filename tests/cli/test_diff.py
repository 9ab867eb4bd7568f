"""``opcheck diff``: what got better and worse between two runs."""

from __future__ import annotations

import io
import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from opcheck.harness.record import FORMAT, Difference, Footer, Header, Outcome, Record, Run
from opcheck.reports.changes import Changes, Incomparable, Kind, changes, shown

HEADER = Header(
    FORMAT, "0.1", "1.23", "2.4", "3.12", "Linux", "2026-01-01", ["suite"], {"some": "1.0"}, {}
)


def record(case: str, outcome: Outcome, backend: str = "some", **more) -> Record:
    values = {
        "case": f"suite/add.yaml::{case}", "file": "suite/add.yaml", "line": 4, "operator": "Add",
        "domain": "", "opset": 14, "since_version": 14, "dtypes": ["float32"],
    }  # fmt: skip
    return Record(**{**values, **more}, backend=backend, outcome=outcome)


def run(*records: Record, footer: Footer | None = None, **header) -> Run:
    header.setdefault("backends", {r.backend: "1.0" for r in records} or {"some": "1.0"})
    changed = msgspec.structs.replace(HEADER, **header)
    return Run(changed, list(records), [], footer or Footer({}, 0, 1.0))


def text(found: Changes, **how: bool) -> str:
    """What is printed on 80 columns."""
    file = io.StringIO()
    Console(file=file, width=80, highlight=False, emoji=False).print(shown(found, **how))
    return file.getvalue()


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("passed", "passed", Kind.SAME),
        ("failed", "failed", Kind.SAME),
        ("passed", "failed", Kind.WORSE),
        ("passed", "unsupported", Kind.WORSE),
        ("passed", "skipped", Kind.WORSE),
        ("skipped", "crashed", Kind.WORSE),
        ("failed", "passed", Kind.BETTER),
        ("skipped", "passed", Kind.BETTER),
        ("failed", "crashed", Kind.CHANGED),
        ("crashed", "unsupported", Kind.CHANGED),
        ("failed", "skipped", Kind.CHANGED),
        ("passed", None, Kind.GONE),
        ("crashed", None, Kind.GONE),
        (None, "passed", Kind.NEW),
        (None, "failed", Kind.NEW),
    ],
)
def test_what_became_of_a_result(old, new, kind):
    """A pass that is no longer shown is worse, whatever came instead."""
    before = [record("a", Outcome(old))] if old else []
    after = [record("a", Outcome(new))] if new else []
    found = changes(run(*before), run(*after))
    assert [change.kind for change in found.results] == [kind]
    assert found.bad is (kind in (Kind.WORSE, Kind.GONE))
    assert f"1 {kind}" in text(found)


def test_other_differences_are_a_change():
    """A case that fails in another way is told, and is no worse."""
    old = record("a", Outcome.FAILED, differences=[Difference("c", "dtype", "int8", "int16")])
    new = record("a", Outcome.FAILED, differences=[Difference("c", "dtype", "int8", "int32")])
    found = changes(run(old), run(new))
    assert found.counts[Kind.CHANGED] == 1
    assert not found.bad
    assert "1 failed, with other differences" in text(found)
    assert "c: got int32, expected int8" in text(found)


RESULTS = st.dictionaries(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(["x", "y"])), st.sampled_from(Outcome)
)


@settings(deadline=None)
@given(RESULTS, RESULTS)
def test_every_result_is_counted_once(old, new):
    """And seen from the other side, new is gone, and better was worse or a change."""
    backends = {"x": "1", "y": "1"}
    runs = [
        run(*(record(c, o, b) for (c, b), o in given.items()), backends=backends)
        for given in (old, new)
    ]
    found, back = changes(*runs), changes(*reversed(runs))
    assert sum(found.counts.values()) == len(old.keys() | new.keys())
    assert found.counts[Kind.NEW] == back.counts[Kind.GONE] == len(new.keys() - old.keys())
    assert found.counts[Kind.SAME] == back.counts[Kind.SAME]
    gained = sum(old[k] is not Outcome.PASSED for k in old.keys() & new.keys()
                 if new[k] is Outcome.PASSED)  # fmt: skip
    assert found.counts[Kind.BETTER] == gained
    assert changes(runs[0], runs[0]).counts[Kind.SAME] == len(old)


def test_backends_of_another_name_are_compared_where_there_is_one():
    """Two versions under two names; among several, only those of one name."""
    old, new = run(record("a", Outcome.PASSED, "v1")), run(record("a", Outcome.FAILED, "v2"))
    found = changes(old, new)
    assert found.counts[Kind.WORSE] == 1
    assert found.circumstances == ["v1 1.0 is compared with v2 1.0"]
    both = run(backends={"x": "1", "v1": "1"})
    with pytest.raises(Incomparable, match=r"x, v1 before and v2 after; give runs of one backend"):
        changes(both, new)
    found = changes(both, old)
    assert found.circumstances == ["x: 1 -> none", "v1: 1 -> 1.0"]


def test_versions_and_options_that_differ_are_named():
    """Whatever may be the reason of a change stands above it."""
    new = run(
        backends={"some": "2.0"}, onnx="1.24", sources=["other"], options={"ulp": "4.0"},
        selection={"keyword": "loop"}, footer=Footer({}, 0, 1.0, missing=3),
    )  # fmt: skip
    assert text(changes(run(), new)).splitlines() == [
        "  the new run did not come to its end: 3 results missing",
        "  some: 1.0 -> 2.0",
        "  onnx: 1.23 -> 1.24",
        "  sources: suite -> other",
        "  keyword: none -> loop",
        "  ulp: none -> 4.0",
        "",
        "=================================== 0 worse ====================================",
    ]


def many(outcome: Outcome) -> list[Record]:
    """Hundreds of results of some operators, with messages that want to be more than text."""
    message = "[red]not \x1b[31mhere\x00\nsecond line"
    return [
        record(f"c[{k}]", outcome, operator=f"Op{k % 30}", domain="ai.onnx.ml" * (k % 2),
               message="" if outcome is Outcome.PASSED else message)
        for k in range(300)
    ]  # fmt: skip


def test_hundreds_of_like_changes_are_a_few_lines():
    """The counts by operator and one of them; ``-v`` names all, ``-q`` none."""
    found = changes(run(*many(Outcome.PASSED)), run(*many(Outcome.UNSUPPORTED)))
    assert text(found).splitlines() == [
        "WORSE on some: 300 results",
        "  300 passed -> unsupported (Op0 10, Op10 10, Op12 10, Op14 10, Op16 10, Op18",
        "  10, Op2 10, Op20 10, Op22 10, Op24 10, Op26 10, Op28 10, 18 more operators)",
        "    such as suite/add.yaml::c[0]",
        "      [red]not here\\x00",
        "",
        "================================== 300 worse ===================================",
    ]
    assert text(found, verbose=True).count("    suite/add.yaml::c[") == 300
    assert len(text(found, quiet=True).splitlines()) == 1


def test_from_a_user_s_view(opcheck, small, tmp_path):
    """Status 1 when something got worse or is gone, 0 when not, 2 for a file that is none."""
    opcheck("run", "small", "-b", "mini:right", "--json", "right.jsonl")
    opcheck("run", "small", "-b", "mini:at-float", "--json", "wrong.jsonl")
    worse = opcheck("diff", "right.jsonl", "wrong.jsonl")
    assert worse.returncode == 1
    assert worse.stdout.splitlines() == [
        "  mini:right 0 is compared with mini:at-float 0",
        "",
        "WORSE on mini:at-float: 1 result",
        "  1 passed -> failed",
        "    small/add.yaml::numbers",
        "      c: float32[2, 3], 1 of 6 elements differ (allowed: 1 ULP)",
        "",
        "=============================== 1 worse, 2 same ================================",
    ]
    better = opcheck("diff", "wrong.jsonl", "right.jsonl", "-q")
    assert better.returncode == 0
    assert "0 worse, 1 better, 2 same" in better.stdout
    lines = (tmp_path / "right.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "cut.jsonl").write_text("".join(lines[:-2]))
    gone = opcheck("diff", "right.jsonl", "cut.jsonl")
    assert gone.returncode == 1
    assert "the new run did not come to its end: 1 result missing" in gone.stdout
    assert f"  1 was passed\n    {json.loads(lines[-2])['case']}\n" in gone.stdout
    assert opcheck("diff", "right.jsonl", "small/add.yaml").returncode == 2
