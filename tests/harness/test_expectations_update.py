"""Rewriting expectations files from the records of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from opcheck.harness.expectations import TODO, Expectations, empty, load
from opcheck.harness.expectations_match import Glob
from opcheck.harness.expectations_text import scalar
from opcheck.harness.expectations_update import NotFinished, cover, update, write
from opcheck.harness.record import Difference, Outcome, Record
from opcheck.harness.yamlfile import read_text

VERSION = "1.32.0"


def record(case: str, outcome: str = "failed", **changes) -> Record:
    known = {
        "file": case.partition("::")[0], "line": 1, "operator": "Add", "domain": "", "opset": 14,
        "since_version": 14, "dtypes": ["float32"], "backend": "mini",
    }  # fmt: skip
    return Record(case=case, outcome=Outcome(outcome), **{**known, **changes})


class File:
    """An expectations file in a folder, and what updating makes of it."""

    def __init__(self, folder: Path, text: str | None = None) -> None:
        self.path = folder / "mini.yaml"
        if text is not None:
            self.path.write_text(text, encoding="utf-8")

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def load(self) -> Expectations:
        if self.path.exists():
            return load(self.path)
        return empty(str(self.path), "mini", ["cases"])

    def update(self, *run: Record, version: str = VERSION) -> str:
        """Update, and hold what always holds."""
        planned = [r.case for r in run]
        old = self.load()
        text = update(old, run, version, planned=planned, sources=["cases"])
        write(self.path, text)
        known = self.load()
        for r in run:
            verdict = known.judge(r, version)
            assert verdict.accepted, verdict.text
        assert known.unused(run, version) == []
        passing_only_where_known(known, run, version)
        assert update(known, run, version, planned=planned, sources=["cases"]) == text
        return text


def passing_only_where_known(known: Expectations, run: Sequence[Record], version: str) -> None:
    """No entry matches a passing case, but for those that list passes and what they excuse."""
    for r in run:
        entries = [e for e, _ in known.matching(r) if e.in_force(version)]
        if r.outcome is Outcome.PASSED and not r.flaky and entries:
            assert any(Outcome.PASSED in e.outcomes for e in entries)


@pytest.fixture
def file(tmp_path: Path):
    return lambda text=None: File(tmp_path, text)


def test_a_new_file_groups_alike_cases_into_one_entry(file):
    run = [
        record(f"cases/add.yaml::sum[opset={o}-{t}]", o_, message=f"no {t} in opset {o}")
        for o in (13, 14)
        for t, o_ in (("float32", "passed"), ("bfloat16", "errored"), ("float16", "errored"))
    ]
    assert file().update(*run) == (
        "backend: mini\n"
        "sources: [cases]\n"
        "expectations:\n"
        "  # 2 cases, the first: no bfloat16 in opset 13\n"
        "  - case: cases/add.yaml::sum[*-bfloat16]\n"
        "    outcome: errored\n"
        "    operator: Add\n"
        "    reason: TODO\n"
        "\n"
        "  # 2 cases, the first: no float16 in opset 13\n"
        "  - case: cases/add.yaml::sum[*-float16]\n"
        "    outcome: errored\n"
        "    operator: Add\n"
        "    reason: TODO\n"
    )


def test_outcomes_operators_and_messages_keep_groups_apart(file):
    run = [
        record("x.yaml::a_1"),
        record("x.yaml::a_2", "crashed"),
        record("x.yaml::a_3", operator="Sub"),
        record("x.yaml::a_4", domain="ai.onnx.ml"),
        record("x.yaml::a_5", message="another"),
        record("x.yaml::a_6", phase="load"),
    ]
    text = file().update(*run)
    assert text.count("reason: TODO") == 6
    assert "operator: ai.onnx.ml.Add" in text


def test_a_group_that_no_glob_covers_lists_its_cases(file):
    run = [record("x.yaml::a_b", "passed"), *map(record, ["x.yaml::a", "x.yaml::b", "y.yaml::c_d"])]
    text = file().update(*run)
    assert "- case:\n      - x.yaml::a\n      - x.yaml::b\n      - y.yaml::c_d\n    outcome" in text


def test_a_difference_is_the_hint_where_there_is_no_message(file):
    difference = Difference("Y", "values", "1", "2", 3, 6)
    text = file().update(record("x.yaml::a", differences=[difference]))
    assert "# 1 case, the first: Y: values differ, 3 of 6: expected 1, got 2\n" in text


WRITTEN = """\
# SPDX-License-Identifier: Apache-2.0

# What is known of mini.
backend: mini   # the small one
sources: [cases]
expectations:   # in order

  # == Casts ==

  # Read the standard first.
  - case: [a.yaml::one, a.yaml::two]  # both
    outcome: [failed,
              errored]   # either
    issue: 12
    # Said by the maintainers:
    reason: >
      Rounds towards
      zero.
  # == Crashes ==

  - {case: b.yaml::*, outcome: crashed, version: "<2", reason: 'a # no comment'}
  # For later.
  - reason: |   # two lines
      First: this.

      Then # that.
    outcome: failed
    version: ">=2"   # not yet
    case:
      # globs
      - c.yaml::*    # all
      - "d.yaml::*"
# The end.
"""
CANONICAL = """\
# SPDX-License-Identifier: Apache-2.0

# What is known of mini.
backend: mini  # the small one
sources: [cases]
expectations:  # in order
  # == Casts ==

  # Read the standard first.
  - case:
      - a.yaml::one
      - a.yaml::two  # both
    outcome: [failed, errored]  # either
    # Said by the maintainers:
    reason: Rounds towards zero.
    issue: 12

  # == Crashes ==

  - case: b.yaml::*
    outcome: crashed
    version: "<2"
    reason: "a # no comment"

  # For later.
  - case:
      # globs
      - c.yaml::*  # all
      - d.yaml::*
    outcome: failed
    version: ">=2"  # not yet
    # two lines
    reason: |-
      First: this.

      Then # that.

# The end.
"""
FITTING = [
    record("a.yaml::one"),
    record("a.yaml::two", "errored"),
    record("b.yaml::x", "crashed"),
    record("c.yaml::x", "passed"),
]


def test_what_holds_stays_with_its_comments_reasons_and_order(file):
    assert file(WRITTEN).update(*FITTING) == CANONICAL


def test_new_entries_come_last_and_the_end_stays_the_end(file):
    text = file(CANONICAL).update(*FITTING, record("e.yaml::x", "timed out", message="slow"))
    new = (
        "  # 1 case, the first: slow\n  - case: e.yaml::x\n    outcome: timed out\n"
        "    operator: Add\n    reason: TODO\n"
    )
    assert text == CANONICAL.replace("\n# The end.\n", f"\n{new}\n# The end.\n")


def test_what_no_longer_happens_goes_with_its_own_comments_and_leaves_the_section(file):
    run = [record(r.case, "passed") for r in FITTING[:2]] + FITTING[2:]
    text = file(WRITTEN).update(*run)
    assert "# == Casts ==\n\n  # == Crashes ==\n\n  - case: b.yaml::*\n" in text
    assert "Read the standard" not in text
    assert "Said by" not in text


def test_removing_everything_leaves_a_file(file):
    text = file(
        "backend: mini\nexpectations:\n  # s\n\n  - {case: a, outcome: failed, reason: r}\n"
    )
    assert text.update(record("a", "passed")) == "backend: mini\nexpectations: []\n\n# s\n"


def test_an_entry_is_narrowed_to_what_still_goes_wrong(file):
    known = file(
        "backend: mini\nexpectations:\n"
        "  - case: x.yaml::*\n    outcome: failed  # beside\n    reason: rounding\n    issue: 5\n"
    )
    text = known.update(
        record("x.yaml::a[opset=1-float16]"),
        record("x.yaml::a[opset=2-float16]"),
        record("x.yaml::a[opset=1-float32]", "passed"),
        record("x.yaml::b", "passed"),
        record("x.yaml::c", "crashed"),
    )
    assert (
        "  - case: x.yaml::a[*-float16]\n    outcome: failed  # beside\n"
        "    reason: rounding\n    issue: 5\n"
    ) in text
    assert text.count("TODO") == 1


def test_narrowing_stays_inside_the_old_glob(file):
    known = file("backend: mini\nexpectations:\n- {case: 'x::a_*_z', outcome: failed, reason: r}\n")
    text = known.update(record("x::a_b_z"), record("x::a_c_z"), record("x::a_d_z", "passed"))
    assert "- case:\n      - x::a_b_z\n      - x::a_c_z\n" in text


def test_only_the_wrong_glob_of_an_entry_changes(file):
    known = file(
        "backend: mini\nexpectations:\n- case:\n"
        "  - x::*  # one\n  - y::*  # two\n  - z::*  # three\n"
        "  outcome: failed\n  reason: r\n"
    )
    run = [record("x::a"), record("y::b"), record("y::c", "passed"), record("z::d", "passed")]
    text = known.update(*run)
    assert "- case:\n      - x::*  # one\n      - y::b" in text
    assert "three" not in text


def test_a_flaky_entry_stays_while_it_covers_a_case(file):
    text = (
        "backend: mini\nexpectations:\n  - case: x::a\n    outcome: [passed, failed]\n"
        "    reason: a race\n"
    )
    assert file(text).update(record("x::a", "passed")) == text
    assert file(text).update(record("x::a")) == text
    assert "a race" not in file(text).update(record("x::b", "passed"))


def test_repetitions_that_differ_become_a_flaky_entry(file):
    text = file().update(record("x::a", flaky=["passed", "failed"]), record("x::b", "passed"))
    assert "outcome: [passed, failed]" in text
    both = file().update(record("x::b"), record("x::b", "passed"), record("x::a"))
    assert both.count("TODO") == 2


def test_an_entry_for_other_versions_is_left_alone(file):
    text = (
        "backend: mini\nexpectations:\n  - case: x::*\n    outcome: failed\n"
        '    version: "<1"\n    reason: old\n'
    )
    assert file(text).update(record("x::a", "passed")) == text


def test_skipped_cases_keep_their_entries(file):
    text = "backend: mini\nexpectations:\n  - case: x::a\n    outcome: failed\n    reason: r\n"
    assert file(text).update(record("x::a", "skipped")) == text


def test_it_refuses_while_a_result_is_missing(file):
    with pytest.raises(NotFinished, match=r"2 planned cases have no result, e\.g\. x::b"):
        update(file().load(), [record("x::a")], VERSION, planned=["x::a", "x::b", "x::c"])


def test_it_refuses_without_the_sources_of_the_file(file):
    known = file("backend: mini\nsources: [cases, 'onnx:node']\nexpectations: []\n").load()
    with pytest.raises(NotFinished, match="it is about cases, onnx:node; run all of these"):
        update(known, [record("x::a")], VERSION, planned=["x::a"], sources=["cases"])


def test_it_refuses_a_run_of_another_backend(file):
    with pytest.raises(NotFinished, match="no case on mini"):
        update(file().load(), [record("x::a", backend="other")], VERSION, planned=[])


def test_writing_replaces_the_file_behind_a_link_and_leaves_nothing_else(tmp_path):
    (tmp_path / "real.yaml").write_text("old")
    (tmp_path / "real.yaml").chmod(0o640)
    (tmp_path / "link.yaml").symlink_to("real.yaml")
    write(tmp_path / "link.yaml", "new é\n")
    assert (tmp_path / "real.yaml").read_bytes() == "new é\n".encode()
    assert (tmp_path / "real.yaml").stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.yaml", "real.yaml"]
    with pytest.raises(OSError, match="s a directory"):
        write(tmp_path, "new")


EVIL = ["a: b # c\n- d", "\x1b[31m\x00\u2028\u202e", "'\"`", "{[&*!|>%@", "null", "x" * 9999]


@pytest.mark.parametrize("message", EVIL)
def test_messages_are_only_a_comment(file, message):
    text = file().update(record("x::a", message=message))
    assert len(read_text(text, "")["expectations"]) == 1
    assert all(len(line) < 220 and line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize(
    "name", [*EVIL, "~", "1", ".inf", "-", "", " ", "*", "\\", "a\u0085b", "\U0001f600"]
)
@pytest.mark.parametrize("flow", [True, False])
def test_any_text_is_quoted_so_that_it_comes_back(name, flow):
    if flow:
        assert read_text(f"[{scalar(name, flow=True)}]", "") == [name]
    else:
        assert read_text(f"a: {scalar(name)}  # b", "") == {"a": name}


def test_comments_of_an_anchor_and_its_aliases(file):
    known = file(
        "backend: mini\nexpectations:\n  - case: x::a\n    outcome: failed\n"
        "    reason: &r same # 1\n"
        "  # 2\n  - case: x::b\n    outcome: errored\n    reason: *r   # 3\n"
    )
    text = known.update(record("x::a", "passed"), record("x::b", "errored"))
    assert text.endswith("  # 2\n  - case: x::b\n    outcome: errored\n    reason: same  # 3\n")


def test_globs_of_a_cover_match_all_targets_and_nothing_else():
    targets = {f"f::n_{i}[opset={o}-{t}]" for i in range(5) for o in (1, 2) for t in ("a", "b")}
    others = [f"f::n_{i}[opset={o}-c]" for i in range(5) for o in (1, 2)]
    assert cover(targets, others) == ["f::*[*-a]", "f::*[*-b]"] or len(cover(targets, others)) == 2


def test_a_cover_of_thousands_of_cases():
    cases = [
        f"f{i % 7}.yaml::a_{i % 11}_case_{i % 13}_of_{i % 3}[opset={i}-float{i % 5}]"
        for i in range(1200)
    ]
    globs = [Glob.parse(g) for g in cover(set(cases[::2]), cases[1::2])]
    assert all(any(g.matches(c) for g in globs) for c in cases[::2])
    assert not any(g.matches(c) for g in globs for c in cases[1::2])


WORD = st.sampled_from(["a", "b", "cast", "*", "?", "\\", "[", "é", "x y", ": #", "'\"", "\n"])
IDS = st.builds(
    "{}::{}{}".format,
    st.sampled_from(["x.yaml", "dir/y.yaml", "onnx:node"]),
    st.lists(WORD, min_size=1, max_size=3).map("_".join),
    st.lists(st.sampled_from(["opset=11", "opset=12", "float32", "int4", "*"]), max_size=2).map(
        lambda parts: f"[{'-'.join(parts)}]" if parts else ""
    ),
)
RECORDS = st.builds(
    record,
    IDS,
    st.sampled_from([*(o.value for o in Outcome if o.value != "missing"), "passed", "failed"]),
    operator=st.sampled_from(["Add", "Sub"]),
    domain=st.sampled_from(["", "ai.onnx.ml"]),
    message=st.sampled_from(["", "x 1", "x 2", "\x00: 'y'"]) | st.text(max_size=20),
    dtypes=st.sampled_from([["float32"], ["int4"], ["bool", "float32"]]),
    opset=st.integers(11, 14),
    flaky=st.sampled_from([[], [], [], ["passed", "failed"], ["errored", "failed"]]),
).map(
    lambda r: (
        r
        if not r.flaky
        else msgspec.structs.replace(r, outcome=next(Outcome(o) for o in r.flaky if o != "passed"))
    )
)
RUNS = st.lists(RECORDS, min_size=1, max_size=25, unique_by=lambda r: r.case)
GLOBS = st.lists(
    st.sampled_from(["*", "x.yaml::*", "*::a*", "*[*]", "*[*float32]", "*cast*", "onnx:node::a"]),
    min_size=1, max_size=3, unique=True,
)  # fmt: skip
WRONG = ["failed", "errored", "crashed", "unsupported", "timed out", "out of memory"]


@st.composite
def written(draw) -> str:
    """A file with comments and limits everywhere."""
    lines = ["# head", "", "backend: mini", "expectations:"]
    for i in range(draw(st.integers(1, 5))):
        if draw(st.booleans()):
            lines += [f"  # section {i}", ""]
        wrong = draw(st.permutations(WRONG[i % 2 :: 2]))[: draw(st.integers(1, 2))]
        outcomes = f"[{', '.join([*wrong, *draw(st.sampled_from([[], [], ['passed']]))])}]"
        lines += [f"  # lead {i}", f"  - case:  # case {i}"]
        lines += [f"      - {scalar(g)}  # glob {i}" for g in draw(GLOBS)]
        lines += [f"    outcome: {outcomes}  # outcome {i}", f"    # above {i}"]
        lines += [f"    reason: reason {i}"]
        for key, value in (
            ("operator", "Add"), ("type", "float32"), ("opset", "11..12"), ("version", '"<1"'),
        ):  # fmt: skip
            if draw(st.integers(0, 3)) == 0:
                lines.append(f"    {key}: {value}")
        lines.append(f"    issue: {i}")
    text = "\n".join([*lines, "# tail", ""])
    entries = read_text(text, "")["expectations"]
    unlike = {str({**e, "reason": "", "issue": ""}) for e in entries}
    # A file that repeats an entry is refused.
    assume(len(unlike) == len(entries))
    return text


SLOW = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@SLOW
@given(run=RUNS)
def test_a_new_file_accepts_its_run_and_nothing_more(tmp_path, run):
    file = File(tmp_path)
    file.path.unlink(missing_ok=True)
    file.update(*run)
    known = file.load()
    assert len(known.todo) == len(known.entries)
    for i in range(len(known.entries)):
        entries = known.entries[:i] + known.entries[i + 1 :]
        fewer = Expectations(known.file, "mini", entries)
        assert not all(fewer.judge(r, VERSION).accepted for r in run)


@SLOW
@given(text=written(), run=RUNS, later=RUNS)
def test_any_file_becomes_one_that_accepts_its_run(tmp_path, text, run, later):
    file = File(tmp_path, text)
    old = file.load()
    file.update(*run)
    after = file.load()
    reasons = [e.reason for e in after.entries if e.reason != TODO]
    assert reasons == [e.reason for e in old.entries if e.reason in reasons]
    for e in after.entries:
        if e.reason != TODO:
            i = e.reason.removeprefix("reason ")
            assert all(
                f"# {word} {i}\n" in file.text for word in ("lead", "case", "outcome", "above")
            )
            assert e.issue == i
    for i in range(len(old.entries)):
        assert (f"# section {i}\n" in text) == (f"# section {i}\n" in file.text)
    assert file.text.startswith("# head\n\n")
    assert file.text.endswith("# tail\n")
    file.update(*later)


LINES = WRITTEN.split("\n")
#: Where a comment may stand in ``WRITTEN``: not inside or right below a text of several lines.
INSIDE = {
    i
    for first, last in (("    reason: >", "      zero."), ("  - reason: |", "      Then # that."))
    for i in range(
        next(i for i, line in enumerate(LINES) if line.startswith(first)), LINES.index(last) + 1
    )
}
PLACES = sorted(i for i in range(len(LINES)) if i not in INSIDE and i - 1 not in INSIDE)


@SLOW
@given(
    above=st.sets(st.sampled_from(PLACES), max_size=8),
    beside=st.sets(st.sampled_from(PLACES), max_size=8),
    blank=st.sets(st.sampled_from(PLACES), max_size=8),
    indent=st.integers(0, 9),
)
def test_comments_survive_wherever_they_stand(tmp_path, above, beside, blank, indent):
    lines = []
    for i, line in enumerate(LINES):
        if i in above:
            lines += [" " * indent + f"# above {i}."]
        if i in blank:
            lines += [""]
        lines.append(f"{line} # beside {i}." if i in beside and line.strip() else line)
    text = "\n".join(lines)
    new = File(tmp_path, text).update(*FITTING)
    words = [word for i in PLACES for word in (f"above {i}.", f"beside {i}.")]
    assert [text.count(word) for word in words] == [new.count(word) for word in words]


@SLOW
@given(text=written(), run=RUNS)
def test_a_file_that_accepts_its_run_keeps_what_it_says(tmp_path, text, run):
    file = File(tmp_path, text)
    file.update(*run)
    before = [e.spec for e in file.load().entries]
    file.update(*reversed(run))
    assert [e.spec for e in file.load().entries] == before
