"""JUnit XML: what continuous integration reads."""

from __future__ import annotations

import re

from junitparser import Error, Failure, JUnitXml, Properties, Property, Skipped, TestCase, TestSuite

from ..harness.record import Outcome, Record, Run
from .text import difference_lines, headline

#: Characters that XML 1.0 cannot hold, lone surrogates among them.
_UNSAFE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(run: Run) -> str:
    """Render ``run`` as JUnit XML: one suite per backend, one testcase per case in it.

    A mistake in a case file is an errored testcase of a suite of its own.
    """
    document = JUnitXml("opcheck")
    for backend, version in run.header.backends.items():
        suite = TestSuite(safe(backend))
        suite.append(_properties(run, backend, version))
        for record in run.records:
            if record.backend == backend:
                suite.add_testcase(_testcase(record))
        document.add_testsuite(suite)
    if run.problems:
        suite = TestSuite("case files")
        for problem in run.problems:
            case = TestCase(safe(problem.case or problem.file), safe(problem.file), 0.0)
            case.result = [_with_text(Error(safe(problem.message), "case file"), problem.message)]
            suite.add_testcase(case)
        document.add_testsuite(suite)
    document.update_statistics()
    return str(document.tostring().decode())


def safe(text: str) -> str:
    """Replace what XML cannot hold by a visible escape."""
    return _UNSAFE.sub(lambda found: f"\\x{ord(found[0]):02x}", text)


def _properties(run: Run, backend: str, version: str) -> Properties:
    properties = Properties()
    header = run.header
    for name, value in {
        "backend": backend,
        "backend.version": version,
        "opcheck.version": header.opcheck,
        "onnx.version": header.onnx,
        "python.version": header.python,
        "platform": header.platform,
    }.items():
        properties.add_property(Property(name, safe(value)))
    return properties


def _testcase(record: Record) -> TestCase:
    path, _, title = record.case.partition("::")
    classname = f"{record.operator}.{path.removesuffix('.yaml').replace('/', '.')}"
    case = TestCase(safe(title), safe(classname), record.seconds)
    text = "\n".join(report_text(record))
    message = headline(record)
    if record.outcome is Outcome.PASSED and not record.acceptable:
        case.result = [_with_text(Failure(safe(record.verdict), "unexpected pass"), text)]
    elif record.known:
        reason = f"expected to be {record.outcome.value}: {record.verdict}"
        case.result = [_with_text(Skipped(safe(reason), record.outcome.value), text)]
    elif record.outcome in (Outcome.UNSUPPORTED, Outcome.SKIPPED):
        case.result = [_with_text(Skipped(safe(message), record.outcome.value), text)]
    elif record.outcome is Outcome.FAILED:
        case.result = [_with_text(Failure(safe(message), record.outcome.value), text)]
    elif record.outcome is not Outcome.PASSED:
        case.result = [_with_text(Error(safe(message), record.outcome.value), text)]
    if record.printed:
        case.system_out = safe(record.printed)
    return case


def report_text(record: Record) -> list[str]:
    """Return the body of a failure: message, differences, and how to see it again."""
    lines = [record.message] if record.message else []
    for difference in record.differences:
        lines += difference_lines(difference)
    again = f"opcheck run '{record.case}' --backend {record.backend}"
    return [*lines, f"Run it again: {again}"]


def _with_text(result: Failure | Error | Skipped, text: str) -> Failure | Error | Skipped:
    result.text = safe(text)
    return result
