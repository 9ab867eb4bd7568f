"""JUnit XML: what continuous integration reads."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from xml.etree import ElementTree as ET

from ..harness.expectations import full_name
from ..harness.record import Outcome, Problem, Record, Run
from .text import body, cut, headline
from .verdict import incomplete, totals

#: Characters that XML 1.0 cannot hold, lone surrogates among them, and CR, which it reads as LF.
_UNSAFE = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: A longer ``message`` is cut; the text of the element has it in full.
MAX_MESSAGE = 500


@dataclass
class _Result:
    """The element inside a testcase that did not pass: its tag, attributes, and text."""

    tag: str
    type: str
    message: str
    text: str


@dataclass
class _Suite:
    """A testsuite that is being made; ``names`` are taken."""

    element: ET.Element
    names: set[tuple[str, str]] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    def add(
        self,
        classname: str,
        name: str,
        result: _Result | None,
        *,
        place: tuple[str, int | None] = ("", None),
        seconds: float = 0.0,
        printed: str = "",
    ) -> None:
        """Add a testcase; a name that its class has already gets a number."""
        given = _safe({"classname": classname, "name": name})
        number = 1
        while (given["classname"], given["name"]) in self.names:
            number += 1
            given["name"] = f"{safe(name)} ({number})"
        self.names.add((given["classname"], given["name"]))
        given["time"] = f"{seconds:.6f}"
        file, line = place
        if line:
            given |= _safe({"file": file, "line": str(line)})
        case = ET.SubElement(self.element, "testcase", given)
        if result is not None:
            message = cut(result.message, MAX_MESSAGE)
            shown = {"type": result.type, "message": message}
            ET.SubElement(case, result.tag, _safe(shown)).text = safe(result.text)
        if printed:
            ET.SubElement(case, "system-out").text = safe(printed)
        self.counts.update(["tests", result.tag if result else "passed"])
        self.seconds += seconds

    def close(self) -> dict[str, str]:
        """Write the totals on the element and return those that the whole document counts."""
        counted = {
            "tests": str(self.counts["tests"]),
            "failures": str(self.counts["failure"]),
            "errors": str(self.counts["error"]),
            "time": f"{self.seconds:.6f}",
        }
        self.element.attrib.update(counted, skipped=str(self.counts["skipped"]))
        return counted


def junit(run: Run) -> str:
    """Render ``run`` as JUnit XML: one suite per backend, one testcase per case in it.

    What else makes a run fail has suites of its own: mistakes in case files, results that are
    missing, and expectations without effect.
    """
    root = ET.Element("testsuites", name="opcheck")
    suites = {backend: _suite(root, run, backend) for backend in totals(run)}
    for record in run.records:
        _add_record(suites[record.backend], record, run.header.sources)
    others = [_bad_files(root, run), _missing(root, run), _unused(root, run)]
    closed = [suite.close() for suite in (*suites.values(), *others) if suite is not None]
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(of[name]) for of in closed)))
    root.set("time", f"{sum(float(of['time']) for of in closed):.6f}")
    ET.indent(root, space=" ")
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def safe(text: str) -> str:
    """Replace what XML cannot hold by a visible escape."""
    return _UNSAFE.sub(lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n"))


def _safe(attributes: dict[str, str]) -> dict[str, str]:
    return {name: safe(value) for name, value in attributes.items()}


def _suite(root: ET.Element, run: Run, name: str) -> _Suite:
    """Begin a suite; that of a backend says what was run where."""
    header = run.header
    given = {"name": name, "timestamp": header.started}
    element = ET.SubElement(root, "testsuite", _safe(given))
    if name not in header.backends:
        return _Suite(element)
    properties = ET.SubElement(element, "properties")
    for key, value in {
        "backend": name,
        "backend.version": header.backends[name],
        "opcheck.version": header.opcheck,
        "onnx.version": header.onnx,
        "numpy.version": header.numpy,
        "python.version": header.python,
        "platform": header.platform,
        "sources": " ".join(header.sources),
        **{f"option.{k}": v for k, v in header.options.items() if not k.endswith("_file")},
    }.items():
        ET.SubElement(properties, "property", _safe({"name": key, "value": value}))
    return _Suite(element)


def _add_record(suite: _Suite, record: Record, sources: Sequence[str]) -> None:
    title = record.case.removeprefix(f"{record.file}::")
    operator = full_name(record.domain, record.operator)
    backend = re.sub(r"[./\s]", "_", record.backend)
    suite.add(
        ".".join([backend, operator, *_parts(record.file, sources)]),
        title or record.case,
        _result(record),
        place=(record.file, record.line),
        seconds=record.seconds,
        printed=record.printed,
    )


def _result(record: Record) -> _Result | None:
    if record.outcome is Outcome.PASSED and record.acceptable:
        return None
    kind, message = record.outcome.value, headline(record)
    text = "\n".join(body(record))
    if record.known:
        return _Result("skipped", kind, record.verdict or f"expected: {kind}", text)
    if record.outcome is Outcome.PASSED:
        return _Result("failure", "unexpected pass", record.verdict, text)
    if record.outcome in (Outcome.UNSUPPORTED, Outcome.SKIPPED):
        # A list of what is known says that this is something new.
        tag = "failure" if record.expected is False else "skipped"
        return _Result(tag, kind, message or record.verdict, text)
    tag = "failure" if record.outcome is Outcome.FAILED else "error"
    return _Result(tag, kind, message, text)


def _parts(file: str, sources: Iterable[str]) -> list[str]:
    """Return the parts of a file's path that are the same on every machine.

    An absolute path counts from the folder around the source that it came from.
    """
    path = PurePosixPath(file)
    if path.is_absolute():
        tops = [PurePosixPath(source.partition("::")[0]).parent for source in sources]
        inside = [top for top in tops if top.is_absolute() and path.is_relative_to(top)]
        path = path.relative_to(max(inside, key=lambda top: len(top.parts), default=path.parent))
    name = path.with_suffix("") if path.suffix in (".yaml", ".yml") else path
    return [part for part in name.parts if part not in (".", "..")]


def _bad_files(root: ET.Element, run: Run) -> _Suite | None:
    """Add the mistakes in case files as errors."""
    if not run.problems:
        return None
    suite = _suite(root, run, "case files")
    for problem in run.problems:
        _add_problem(suite, problem, run.header.sources)
    return suite


def _add_problem(suite: _Suite, problem: Problem, sources: Sequence[str]) -> None:
    classname = ".".join(["case files", *_parts(problem.file, sources)])
    result = _Result("error", "bad case", problem.message, problem.message)
    place = (problem.file, problem.line)
    suite.add(classname, problem.case or problem.file, result, place=place)


def _missing(root: ET.Element, run: Run) -> _Suite | None:
    """Add results that did not come as an error, so that a run that lost some is not green."""
    if not (said := incomplete(run)):
        return None
    suite = _suite(root, run, "run")
    suite.add("run", "all results came", _Result("error", "incomplete", said, said))
    return suite


def _unused(root: ET.Element, run: Run) -> _Suite | None:
    """Add the expectations that no longer hold as failures."""
    if not run.footer.unused:
        return None
    suite = _suite(root, run, "expectations")
    for text in run.footer.unused:
        suite.add("expectations", cut(text, MAX_MESSAGE), _Result("failure", "unused", text, text))
    return suite
