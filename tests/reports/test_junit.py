"""JUnit XML: by the rules of those who read it, whatever a backend prints."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from io import BytesIO

import junitparser
import pytest
from hypothesis import given, settings

from made_runs import WILD, different, record, run, wild_run
from opcheck.harness.record import Outcome, Problem, Run
from opcheck.reports.junit import junit

#: What the schema of Jenkins' xunit plugin allows and requires of each element. Where its
#: editions disagree, this is what the strictest requires.
ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "errors", "disabled"},
    "testsuite": {"name", "tests", "failures", "errors", "time", "skipped", "timestamp", "hostname",
                  "id", "package", "file", "log", "url"},
    "testcase": {"name", "time", "classname", "group", "file", "line"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
    "property": {"name", "value"},
    "properties": set(),
    "system-out": set(),
}  # fmt: skip
REQUIRED = {
    "testsuite": {"name", "tests", "failures", "errors"},
    "testcase": {"name"},
    "property": {"name", "value"},
}
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase"},
    "testcase": {"skipped", "error", "failure", "system-out"},
    "properties": {"property"},
}
#: Only these have text of their own.
TEXTS = {"failure", "error", "skipped", "system-out"}
COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def read(made: Run) -> ET.Element:
    """Render a run, hold it against the rules, and return the root."""
    root = ET.fromstring(junit(made).encode())
    assert root.tag == "testsuites"
    check_rules(root)
    names = [(s.get("name"), c.get("classname"), c.get("name")) for s in root for c in s
             if c.tag == "testcase"]  # fmt: skip
    assert len(set(names)) == len(names), "a reader would take two results for one"
    return root


def check_rules(element: ET.Element) -> None:
    """Hold an element and its children against the published list."""
    tag = element.tag
    assert REQUIRED.get(tag, set()) <= set(element.attrib) <= ATTRIBUTES[tag], tag
    assert tag in TEXTS or not (element.text or "").strip()
    if "time" in element.attrib:
        assert re.fullmatch(r"[0-9]+(\.[0-9]+)?", element.attrib["time"])
    if "line" in element.attrib:
        assert element.attrib["file"]
        assert int(element.attrib["line"]) > 0
    if tag in ("testsuite", "testsuites"):
        assert element.get("tests") == str(len(list(element.iter("testcase"))))
        for name, counted in COUNTED.items():
            if name in element.attrib:
                assert element.get(name) == str(len(list(element.iter(counted))))
    tags = [child.tag for child in element]
    if tag == "testsuite":
        assert tags == sorted(tags), "properties come before the testcases"
        assert tags.count("properties") <= 1
    if tag == "testcase":
        assert len([t for t in tags if t != "system-out"]) <= 1, "one result at most"
    for child in element:
        assert child.tag in CHILDREN.get(tag, set()), (tag, child.tag)
        assert not (child.tail or "").strip()
        check_rules(child)


@pytest.mark.parametrize(
    ("outcome", "expected", "tag", "kind"),
    [
        (Outcome.PASSED, None, None, ""),
        (Outcome.FAILED, None, "failure", "failed"),
        (Outcome.ERRORED, None, "error", "errored"),
        (Outcome.CRASHED, None, "error", "crashed"),
        (Outcome.TIMED_OUT, None, "error", "timed out"),
        (Outcome.OUT_OF_MEMORY, None, "error", "out of memory"),
        (Outcome.UNSUPPORTED, None, "skipped", "unsupported"),
        (Outcome.SKIPPED, None, "skipped", "skipped"),
        (Outcome.PASSED, True, None, ""),
        (Outcome.FAILED, True, "skipped", "failed"),
        (Outcome.CRASHED, True, "skipped", "crashed"),
        (Outcome.UNSUPPORTED, True, "skipped", "unsupported"),
        (Outcome.PASSED, False, "failure", "unexpected pass"),
        (Outcome.FAILED, False, "failure", "failed"),
        (Outcome.UNSUPPORTED, False, "failure", "unsupported"),
    ],
)
def test_each_outcome_has_its_element(outcome, expected, tag, kind):
    """Failures are failures, mishaps errors; what is expected or not implemented is skipped.

    Where a list of what is known says otherwise, "not implemented" and a pass are failures.
    """
    one = record(outcome, message="said so", expected=expected, verdict="as the list says")
    case = read(run(one)).find("testsuite/testcase")
    assert case.get("name") == "numbers[float32]"
    assert case.get("classname") == "some.Add.cases.math.add"
    assert (case.get("file"), case.get("line")) == ("cases/math/add.yaml", "4")
    assert case.get("time") == "0.250000"
    assert [child.tag for child in case] == ([tag] if tag else [])
    if tag:
        assert case[0].get("type") == kind
        assert case[0].get("message") in ("said so", "as the list says")
        assert "said so" in case[0].text
        assert "opcheck run 'cases/math/add.yaml::numbers[float32]' --backend some" in case[0].text


def test_a_failure_shows_what_differs():
    """The diff is the text; a list of skipped ones says why."""
    shown = read(run(record(Outcome.FAILED, differences=different()))).find(".//failure")
    assert shown.get("message") == "c: float32[6], 1 of 6 elements differ (allowed: 1 ULP)"
    assert "[1]       1.0  2.0" in shown.text


def test_a_suite_says_what_ran_where():
    """Versions and platform are properties of each backend's suite."""
    made = run(record(), record(backend="other:x"), backends={"some": "1.5", "other:x": "2"})
    suites = read(made).findall("testsuite")
    assert [suite.get("name") for suite in suites] == ["some", "other:x"]
    assert suites[0].get("timestamp") == "2026-01-02T03:04:05+00:00"
    found = {p.get("name"): p.get("value") for p in suites[0].iter("property")}
    assert found["backend.version"] == "1.5"
    assert found["onnx.version"] == "2"
    assert {"opcheck.version", "numpy.version", "python.version", "platform"} <= found.keys()


@pytest.mark.parametrize(
    ("sources", "file", "place"),
    [
        (["my"], "my/v1/add.yaml", "my.v1.add"),
        (["/ci/build-17/my"], "/ci/build-17/my/v1/add.yaml", "my.v1.add"),
        (["/elsewhere/my/"], "/elsewhere/my/v1/add.yaml", "my.v1.add"),
        (["/ci/my/add.yaml"], "/ci/my/add.yaml", "add"),
        (["/ci/my/add.yaml::numbers"], "/ci/my/add.yaml", "add"),
        (["../up/my"], "../up/my/add.yml", "up.my.add"),
        (["."], "./add.yaml", "add"),
        (["onnx:node"], "onnx:node", "onnx:node"),
        (["data"], "data/test_add", "data.test_add"),
    ],
)
def test_a_classname_is_the_same_on_every_machine(sources, file, place):
    """It has backend, operator and file, and no folder of a machine."""
    case = read(run(record(file=file), sources=sources)).find(".//testcase")
    assert case.get("classname") == f"some.Add.{place}"


def test_a_result_does_not_hide_another():
    """Readers that go by class and name see each backend, and each of two like-named cases."""
    files = ["a/b.yaml", "a.b.yaml", "a/b.yaml"]
    made = run(*(record(file=file, backend=b, title=t) for b in "xy" for file in files
                 for t in ("n", "n (2)")))  # fmt: skip
    cases = list(read(made).iter("testcase"))
    assert len({(case.get("classname"), case.get("name")) for case in cases}) == len(cases) == 12


def test_bad_case_files_are_errors():
    """A mistake in a case file is not lost in the report."""
    problem = Problem("my/add.yaml", 3, "numbers", "add.yaml:3: seen this, wanted that")
    suite = read(run(problems=(problem,))).findall("testsuite")[-1]
    case = suite.find("testcase")
    assert (suite.get("name"), suite.get("errors")) == ("case files", "1")
    assert case.get("classname") == "case files.my.add"
    assert (case.get("file"), case.get("line")) == ("my/add.yaml", "3")
    assert case.find("error").get("message") == problem.message


@pytest.mark.parametrize("footer", [{"missing": 3}, {"interrupted": True}])
def test_a_run_that_lost_results_is_not_green(footer):
    """Results that did not come are an error."""
    root = read(run(record(), **footer))
    assert root.get("errors") == "1"
    assert root.find("testsuite[@name='run']/testcase/error").get("type") == "incomplete"


def test_an_expectation_without_effect_is_a_failure():
    """The run fails because of it, and so does the report."""
    root = read(run(record(), unused=["unexpected: *sum* matches nothing (known.yaml:3: TODO)"]))
    assert root.get("failures") == "1"
    shown = root.find("testsuite[@name='expectations']/testcase/failure")
    assert "matches nothing" in shown.get("message")


@settings(deadline=None, max_examples=200)
@given(WILD)
def test_any_text_is_safe(text):
    """Whatever is said, the document stays well-formed and keeps what XML can hold."""
    root = read(wild_run(text))
    shown = root.find("testsuite/testcase/error").text
    assert [c for c in text if c.isalnum() and c not in shown] == []
    assert len(list(root.iter("testcase"))) == 7


def test_what_xml_cannot_hold_is_written_as_an_escape():
    """NUL, colours and lone surrogates are shown, and closing brackets are escaped."""
    text = "]]>\x00\x1b[31m\ud800<script>\r\nnext\rline"
    shown = read(run(record(Outcome.ERRORED, message=text))).find(".//error").text
    assert shown.splitlines()[:2] == ["]]>\\x00\\x1b[31m\\xd800<script>", "next\\x0dline"]


def test_junitparser_reads_back_many_results():
    """The reader behind several reporters sees every result of a long run, each as it was."""
    outcomes = [Outcome.PASSED, Outcome.FAILED, Outcome.CRASHED, Outcome.UNSUPPORTED]
    shown = [different() if outcome is Outcome.FAILED else [] for outcome in outcomes]
    made = [record(outcomes[i % 4], title=f"case_{i}", differences=shown[i % 4])
            for i in range(20_000)]  # fmt: skip
    document = junitparser.JUnitXml.fromfile(BytesIO(junit(run(*made)).encode()))
    (suite,) = document
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (20_000, *[5_000] * 3)
    assert suite.time == pytest.approx(5_000)
    kinds = {0: None, 1: junitparser.Failure, 2: junitparser.Error, 3: junitparser.Skipped}
    for i, case in zip(range(8), suite, strict=False):
        assert case.name == f"case_{i}"
        assert [type(result) for result in case.result] == ([kinds[i % 4]] if i % 4 else [])
