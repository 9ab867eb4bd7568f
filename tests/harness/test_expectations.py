"""Reading expectations files, and judging records by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from opcheck.harness.errors import CaseError
from opcheck.harness.expectations import TODO, Expectations, empty, load
from opcheck.harness.expectations_match import Glob, Opsets, Versions, escape
from opcheck.harness.record import Outcome, Record

VERSION = "1.32.0"


def record(case: str, outcome: str = "failed", **changes) -> Record:
    known = {
        "file": case.partition("::")[0], "line": 1, "operator": "Add", "domain": "", "opset": 14,
        "since_version": 14, "dtypes": ["float32"], "backend": "mini",
    }  # fmt: skip
    return Record(case=case, outcome=Outcome(outcome), **{**known, **changes})


@pytest.fixture
def read(tmp_path: Path):
    """Read entries, or a whole file that begins with ``backend:``."""

    def load_text(text: str) -> Expectations:
        path = tmp_path / "mini.yaml"
        if "backend:" not in text:
            text = f"backend: mini\nexpectations:\n{text}"
        path.write_text(text, encoding="utf-8")
        return load(path)

    return load_text


def entry(case: str = '"*"', outcome: str = "failed", **more: object) -> str:
    lines = [f"case: {case}", f"outcome: {outcome}", *(f"{k}: {v}" for k, v in more.items())]
    if "reason" not in more:
        lines.append("reason: known")
    return "  - " + "\n    ".join(lines) + "\n"


@pytest.mark.parametrize("outcome", ["passed", "skipped"])
def test_without_an_entry_a_pass_and_a_skip_are_fine(outcome):
    verdict = empty("none.yaml", "mini").judge(record("a::b", outcome), VERSION)
    assert (verdict.accepted, verdict.text, verdict.entry) == (True, "", None)


@pytest.mark.parametrize(
    "outcome", [o.value for o in Outcome if o.value not in ("passed", "skipped")]
)
def test_without_an_entry_everything_else_is_unexpected(outcome):
    verdict = empty("none.yaml", "mini").judge(record("a::b", outcome), VERSION)
    assert not verdict.accepted
    assert verdict.text == (
        f"unexpected: {outcome}, wanted passed; no entry of none.yaml covers it"
    )


def test_a_listed_outcome_is_fine_and_the_verdict_says_which_entry_accepts_it(read):
    known = read(entry("a::b", "failed", issue="https://example.org/7"))
    verdict = known.judge(record("a::b"), VERSION)
    assert verdict.accepted
    assert verdict.text == f"expected: failed ({known.file}:3: known; https://example.org/7)"
    assert verdict.entry is known.entries[0]


def test_another_outcome_than_the_listed_ones_is_unexpected(read):
    known = read(entry("a::b", "[failed, timed out]"))
    verdict = known.judge(record("a::b", "crashed"), VERSION)
    assert not verdict.accepted
    assert verdict.text == (
        f"unexpected: crashed, wanted failed or timed out ({known.file}:3: known)"
    )


def test_a_listed_case_that_passes_is_unexpected(read):
    verdict = read(entry("a::b")).judge(record("a::b", "passed"), VERSION)
    assert not verdict.accepted
    assert "it no longer happens" in verdict.text


def test_a_skipped_case_tells_nothing(read):
    known = read(entry("a::b"))
    assert known.judge(record("a::b", "skipped"), VERSION).accepted
    assert known.unused([record("a::b", "skipped")], VERSION) == []


@pytest.mark.parametrize(
    ("seen", "accepted"), [("passed", True), ("failed", True), ("errored", False)]
)
def test_a_flaky_entry_accepts_both(read, seen, accepted):
    known = read(entry("a::b", "[passed, failed]"))
    assert known.judge(record("a::b", seen), VERSION).accepted is accepted
    assert known.unused([record("a::b", seen)], VERSION) == []


@pytest.mark.parametrize(
    ("outcome", "flaky", "accepted"),
    [
        ("[passed, failed]", ["passed", "failed"], True),
        ("failed", ["passed", "failed"], False),
        ("[passed, failed]", ["failed", "errored"], False),
        ("[failed, errored]", ["failed", "errored"], True),
    ],
)
def test_every_outcome_of_a_case_that_changes_must_be_listed(read, outcome, flaky, accepted):
    seen = record("a::b", flaky=flaky)
    assert read(entry("a::b", outcome)).judge(seen, VERSION).accepted is accepted


def test_the_first_entry_that_lists_the_outcome_decides(read):
    text = entry("a::*", "errored") + entry('"*"', "failed", reason="all") + entry("a::b", "failed")
    known = read(text)
    verdict = known.judge(record("a::b"), VERSION)
    assert verdict.accepted
    assert verdict.entry.reason == "all"


def test_a_pass_that_a_flaky_entry_lists_is_fine_beside_a_strict_one(read):
    known = read(entry('"*"', "failed") + entry("a::b", "[passed, failed]"))
    assert known.judge(record("a::b", "passed"), VERSION).accepted


def test_the_verdict_names_all_entries_that_wanted_something_else(read):
    known = read(entry('"*"', "failed", reason="one") + entry("a::b", "errored", reason="two"))
    text = known.judge(record("a::b", "crashed"), VERSION).text
    assert "wanted failed (" in text
    assert "or errored (" in text


@pytest.mark.parametrize(
    ("limits", "changes", "fits"),
    [
        ({"operator": "Add"}, {}, True),
        ({"operator": "Sub"}, {}, False),
        ({"operator": "Add"}, {"domain": "ai.onnx"}, True),
        ({"operator": "Add"}, {"domain": "ai.onnx.ml"}, False),
        ({"operator": "ai.onnx.ml.Add"}, {"domain": "ai.onnx.ml"}, True),
        ({"type": "float32"}, {}, True),
        ({"type": "[float16, bfloat16]"}, {}, False),
        ({"type": "[float16, bfloat16]"}, {"dtypes": ["bfloat16", "bool"]}, True),
        ({"opset": "14"}, {}, True),
        ({"opset": "13"}, {}, False),
        ({"opset": "[13, 14]"}, {}, True),
        ({"opset": "11..14"}, {}, True),
        ({"opset": "15..16"}, {}, False),
        ({"version": '">=1.30,<1.33"'}, {}, True),
        ({"version": '"<1.32"'}, {}, False),
    ],
)
def test_an_entry_may_be_limited(read, limits, changes, fits):
    assert read(entry(**limits)).judge(record("a::b", **changes), VERSION).accepted is fits


def test_an_entry_for_other_versions_is_ignored_and_the_verdict_says_so(read):
    known = read(entry("a::b", version='"<1.32"'))
    assert known.judge(record("a::b", "passed"), VERSION).accepted
    assert known.unused([record("a::b", "passed")], VERSION) == []
    text = known.judge(record("a::b"), VERSION).text
    assert text.endswith(f"{known.file}:3 is for versions <1.32, this is 1.32.0")


def test_an_entry_that_matches_nothing_is_unused(read):
    known = read(entry("a::b") + entry("[a::b, a::c]", "errored"))
    unused = known.unused([record("a::b"), record("a::d", "passed")], VERSION)
    assert [(u.entry.line, u.glob) for u in unused] == [(6, "a::b"), (6, "a::c")]
    assert "accepts nothing as errored" in unused[0].text
    assert "a::c matches nothing" in unused[1].text
    assert f"{known.file}:6: known" in unused[1].text


def test_what_is_unexpected_already_is_not_called_unused_too(read):
    assert read(entry("a::b")).unused([record("a::b", "passed")], VERSION) == []


LIST = [
    entry("x.yaml::a", "failed"),
    entry("x.yaml::b[*]", "[passed, errored]"),
    entry("x.yaml::c*", "crashed", type="float16"),
    entry("x.yaml::c*", "unsupported", opset="11..13"),
]
RUN = [
    record("x.yaml::a"),
    record("x.yaml::b[float32]", "errored"),
    record("x.yaml::c[float16]", "crashed", dtypes=["float16"]),
    record("x.yaml::c[opset=11]", "unsupported", opset=11),
    record("x.yaml::c[opset=14]", "passed"),
]


def unexpected(known: Expectations) -> int:
    bad = sum(not known.judge(r, VERSION).accepted for r in RUN)
    return bad + len(known.unused(RUN, VERSION))


def test_the_list_of_a_run_is_clean(read):
    assert unexpected(read("".join(LIST))) == 0


@pytest.mark.parametrize("i", range(len(LIST)))
def test_deleting_any_entry_makes_something_unexpected(read, i):
    assert unexpected(read("".join(LIST[:i] + LIST[i + 1 :])))


@pytest.mark.parametrize(
    "wrong",
    [
        entry("x.yaml::a", "errored"),
        entry("x.yaml::z", "failed"),
        entry("x.yaml::c[opset=14]", "failed"),
        entry("x.yaml::a", "[passed, errored]"),
        entry('"*"', "timed out"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_adding_a_wrong_entry_makes_something_unexpected(read, wrong, first):
    assert unexpected(read("".join([wrong, *LIST] if first else [*LIST, wrong])))


def test_a_file_is_for_one_backend(read):
    known = read(entry())
    assert known.applies_to("mini")
    assert known.applies_to("mini:argument")
    assert not known.applies_to("minimal")
    other = record("a::b", backend="other")
    assert not known.judge(other, VERSION).accepted
    assert len(known.unused([other], VERSION)) == 1
    special = read("backend: mini:gpu\nexpectations: []\n")
    assert special.applies_to("mini:gpu")
    assert not special.applies_to("mini")


def test_a_file_may_name_the_sources_that_it_is_about(read):
    known = read("backend: mini\nsources: [cases, 'onnx:node']\nexpectations: []\n")
    assert known.covers(["onnx:node", "cases", "more"])
    assert not known.covers(["onnx:node"])
    assert not known.covers([])
    assert read("backend: mini\nsources: [cases]\nexpectations: []\n").covers([])
    assert read("backend: mini\nexpectations: []\n").covers(["anything"])


def test_entries_without_a_reason_yet_are_accepted_and_can_be_listed(read):
    known = read(entry("a", reason=TODO) + entry("b"))
    assert known.judge(record("a"), VERSION).accepted
    assert [e.where for e in known.todo] == [f"{known.file}:3"]


@pytest.mark.parametrize(
    ("glob", "case", "matches"),
    [
        ("a::b[float32]", "a::b[float32]", True),
        ("a::b[float32]", "a::bf", False),
        ("a::b[*]", "a::b[opset=11-float32]", True),
        ("a::b[*]", "a::b", False),
        ("a::b[*-float32]", "a::b[opset=11-float32]", True),
        ("a::b[*-float32]", "a::b[opset=11-float16]", False),
        ("*", "", True),
        ("*::b*", "x/y::abc", False),
        ("*::*b*", "x/y::abc", True),
        ("a*b*c", "abbc", True),
        ("a*b*c", "acb", False),
        ("a**c", "abc", True),
        ("*ab", "aab", True),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        (r"a\*c", "a*c", True),
        (r"a\*c", "abc", False),
        (r"a\\\?", "a\\?", True),
        ("a.c", "abc", False),
        ("A", "a", False),
        ("*b", "a\nb", True),
    ],
)
def test_globs(glob, case, matches):
    assert Glob.parse(glob).matches(case) is matches


def test_an_escaped_id_matches_itself_only():
    odd = r"a*b?c\d[e]"
    glob = Glob.parse(escape(odd))
    assert glob.matches(odd)
    assert glob.prefix == odd
    assert not glob.matches(r"axb?c\d[e]")


@pytest.mark.parametrize(
    ("outer", "inner", "includes"),
    [
        ("a*", "ab*", True), ("ab*", "a*", False), ("*", "*x*", True), ("a?", "a*", False),
        ("*[*]", "b[*-c]", True), (r"a\*", "a*", False), (r"a*", r"a\*", True),
    ],
)  # fmt: skip
def test_a_glob_knows_which_globs_are_narrower(outer, inner, includes):
    assert Glob.parse(outer).includes(inner) is includes


def test_a_glob_with_many_stars_takes_no_exponential_time():
    assert not Glob.parse("*a" * 60 + "b").matches("a" * 5000)


@pytest.mark.parametrize(
    ("text", "version", "included"),
    [
        ("", "anything", True),
        (">=1.30,<1.33", "1.32.1", True),
        (">=1.30,<1.33", "1.33", False),
        (">=1.30,<1.33", "1.9", False),
        ("== 1.32", "1.32.0", True),
        ("==1.32", "1.32.1", False),
        ("==1.32.*", "1.32.1", True),
        ("==1.32.*", "1.3", False),
        ("==1.0.*", "1", True),
        ("!=1.32.*", "1.32.1", False),
        ("!=1.32", "1.32.1", True),
        (">1.32", "1.32.0", False),
        (">1.32", "1.32.post1", True),
        ("<=1.32", "1.32.0+cpu", True),
        (">=1.33", "1.33.0.dev20261130", False),
        (">=1.33rc1", "1.33.0rc2", True),
        (">=1.33rc1", "1.33.0a5", False),
        (">=2025.1", "2025.3.0-19807-abc", True),
        (">=1.2", "v1.2.3", True),
        (">=1.2", "onnx 1.23.2, numpy 2.1", True),
        (">=1.2", "unknown", False),
    ],
)
def test_version_ranges(text, version, included):
    assert Versions.parse(text).include(version) is included


def test_no_opset_is_every_opset():
    assert 7 in Opsets.parse(None)


HEAD = "backend: mini\nexpectations:\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f: seen nothing, wanted a mapping with backend and expectations"),
        ("- 1", "f:1: seen the list [1], wanted a mapping with backend and expectations"),
        ("expectations: []", "f:1: seen no 'backend', wanted the key 'backend'"),
        ("backend: mini", "f:1: seen no 'expectations', wanted the key 'expectations'"),
        ("backend: ''\nexpectations: []", "f:1: backend: seen an empty string"),
        ("backend: a\nexpectations: []\nsource: a", "f:3: source: seen the key source, wanted"),
        ("backend: a\nexpectations:\n", "f:2: expectations: seen null, wanted a list"),
        (HEAD + entry(cases="x"), "f:5: expectations[0].cases: seen the key cases, wanted one of"),
        (HEAD + entry() + "  - case: x\n", "f:6: expectations[1]: seen no 'outcome', wanted"),
        (HEAD + entry(outcome="fail"), "f:4: expectations[0].outcome: seen fail, wanted one of"),
        (HEAD + entry(outcome="skipped"), "f:4: expectations[0].outcome: seen skipped, wanted"),
        (HEAD + entry(outcome="passed"), "f:4: expectations[0].outcome: seen passed alone"),
        (HEAD + entry(outcome="[]"), "f:4: expectations[0].outcome: seen [], wanted one or more"),
        (HEAD + entry(outcome="[failed, bad]"), "f:4: expectations[0].outcome[1]: seen bad"),
        (HEAD + entry(opset="15..11"), "f:5: expectations[0].opset: seen the string 15..11"),
        (HEAD + entry(opset="[1, 1]"), "f:5: expectations[0].opset: seen [1, 1], wanted"),
        (HEAD + entry(opset="0"), "f:5: expectations[0].opset: seen 0, wanted"),
        (HEAD + entry(opset="1.5"), "f:5: expectations[0].opset: seen the number 1.5, wanted"),
        (HEAD + entry(version="'~1.2'"), "f:5: expectations[0].version: seen ~1.2,"),
        (HEAD + entry(version="'>1.*'"), "f:5: expectations[0].version: seen >1.*,"),
        (HEAD + entry(version="1.30"), "f:5: expectations[0].version: seen the number 1.30"),
        (HEAD + entry(type="float"), "f:5: expectations[0].type: seen float, wanted"),
        (HEAD + entry(type="[int8, real]"), "f:5: expectations[0].type[1]: seen real, wanted"),
        (HEAD + entry(reason="' '"), "f:5: expectations[0].reason: seen an empty string"),
        (HEAD + entry(case="''"), "f:3: expectations[0].case: seen an empty string"),
        (HEAD + entry(case="[]"), "f:3: expectations[0].case: seen [], wanted one or more"),
        (
            HEAD + entry(case=r"[a, a\b]"),
            "f:3: expectations[0].case[1]: seen a backslash before b,",
        ),
        (HEAD + entry() + entry(reason="again"), "f:6: expectations[1]: seen the entry of line 3"),
        (HEAD + "  - !x {}", "f:3: expectations[0]: seen the tag !x"),
    ],
)
def test_a_mistake_says_where_it_is_what_was_seen_and_what_was_wanted(
    read, tmp_path, text, message
):
    (tmp_path / "mini.yaml").write_text(text)
    with pytest.raises(CaseError) as caught:
        load(tmp_path / "mini.yaml")
    shown = str(caught.value).replace(str(tmp_path / "mini.yaml"), "f")
    assert shown.replace("'", "").startswith(message.replace("'", ""))
    assert "wanted" in shown


def test_the_example_of_the_documentation_can_be_read(read):
    page = Path(__file__).parents[2] / "docs" / "expectations.md"
    example = page.read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
    assert len(read(example).entries) == 3


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(CaseError, match=r"none\.yaml: seen No such file"):
        load(tmp_path / "none.yaml")


def test_many_records_and_entries(read):
    """5,000 records by 300 entries: each record meets only the entries that may match it."""
    known = read("".join(entry(f"f{i}.yaml::*_{i}[*]") for i in range(300)))
    run = [record(f"f{i % 300}.yaml::case_{i % 300}[opset={i}]") for i in range(5000)]
    assert all(known.judge(r, VERSION).accepted for r in run)
    assert known.unused(run, VERSION) == []
