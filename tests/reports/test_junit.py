"""JUnit XML: well-formed and by the rules whatever a backend prints."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opcheck.harness.record import FORMAT, Footer, Header, Outcome, Problem, Record, Run
from opcheck.reports.junit import junit

#: The attributes that Jenkins' xunit plugin allows, and the order of children it wants.
ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "errors", "disabled", "skipped"},
    "testsuite": {"name", "tests", "failures", "errors", "group", "time", "skipped", "timestamp",
                  "hostname", "id", "package", "file", "log", "url", "version", "disabled"},
    "testcase": {"name", "time", "classname", "group", "file", "line"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
    "property": {"name", "value"},
    "properties": set(),
    "system-out": set(),
    "system-err": set(),
}  # fmt: skip
CHILDREN = {
    "testsuites": {"testsuite"},
    "testsuite": {"properties", "testcase", "system-out", "system-err", "testsuite"},
    "testcase": {"skipped", "error", "failure", "system-out", "system-err", "properties"},
    "properties": {"property"},
}


def record(outcome: Outcome, **more: object) -> Record:
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
    return Record(**values)  # type: ignore[arg-type]


def run(*records: Record, problems: tuple[Problem, ...] = ()) -> Run:
    header = Header(FORMAT, "1", "1", "1", "3", "Linux", "2026-01-01", [], {"some": "1.0"}, {})
    return Run(header, list(records), list(problems), Footer({}, len(problems), 0.0))


def check_rules(element: ET.Element) -> None:
    """Hold an element and its children against the published list."""
    assert set(element.attrib) <= ATTRIBUTES[element.tag], element.tag
    for child in element:
        assert child.tag in CHILDREN.get(element.tag, set()), (element.tag, child.tag)
        check_rules(child)


@pytest.mark.parametrize(
    ("outcome", "tag"),
    [
        (Outcome.PASSED, None),
        (Outcome.FAILED, "failure"),
        (Outcome.ERRORED, "error"),
        (Outcome.CRASHED, "error"),
        (Outcome.TIMED_OUT, "error"),
        (Outcome.OUT_OF_MEMORY, "error"),
        (Outcome.UNSUPPORTED, "skipped"),
        (Outcome.SKIPPED, "skipped"),
    ],
)
def test_each_outcome_has_its_element(outcome, tag):
    """Failures are failures, mishaps are errors, what is not implemented is skipped."""
    root = ET.fromstring(junit(run(record(outcome, message="said so"))).encode())
    check_rules(root)
    case = root.find("testsuite/testcase")
    assert case is not None
    assert case.get("name") == "numbers[float32]"
    assert case.get("classname") == "Add.cases.math.add"
    assert [child.tag for child in case] == ([tag] if tag else [])
    if tag:
        assert case[0].get("type") == outcome.value
        assert "said so" in (case[0].text or "")


def test_bad_case_files_are_errors():
    """A mistake in a case file is not lost in the report."""
    problem = Problem("add.yaml", 3, "numbers", "add.yaml:3: seen this, wanted that")
    root = ET.fromstring(junit(run(problems=(problem,))).encode())
    check_rules(root)
    suite = root.findall("testsuite")[-1]
    assert suite.get("errors") == "1"
    assert suite.find("testcase/error").get("message") == problem.message


@settings(deadline=None, max_examples=200)
@given(st.text(st.characters(codec=None), max_size=60))
def test_any_text_is_safe(text):
    """Whatever a backend says, the document stays well-formed and keeps what XML can hold."""
    report = junit(run(record(Outcome.FAILED, message=text, printed=text, case=f"a::{text}")))
    root = ET.fromstring(report.encode())
    check_rules(root)
    shown = root.find("testsuite/testcase/failure").text
    assert [c for c in text if c.isalnum() and c not in shown] == []


def test_what_xml_cannot_hold_is_written_as_an_escape():
    """NUL, colours and lone surrogates are shown, and closing brackets are escaped."""
    text = "]]>\x00\x1b[31m\ud800<script>"
    root = ET.fromstring(junit(run(record(Outcome.ERRORED, message=text))).encode())
    shown = root.find("testsuite/testcase/error").text
    assert shown.splitlines()[0] == "]]>\\x00\\x1b[31m\\xd800<script>"
