"""What pytest collects: case files, their cases, and the mistakes in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ..harness.case import Planned
from ..harness.errors import CaseError
from ..harness.record import Outcome, Record
from ..harness.sources import SUFFIXES, plan_all
from ..harness.yamlfile import MAX_BYTES
from .shown import failure_text, reason, shown

if TYPE_CHECKING:
    from .running import Running

_FLOW = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*\{")


def is_case_file(path: Path) -> bool:
    """Whether a file that was found in a folder is meant to hold cases.

    Other tools have YAML files too: a case file has ``cases`` among its outermost keys, or, where
    these were forgotten, ``operator`` and ``opset``.
    The text is searched, so that a file with a mistake of syntax is found as well.
    """
    if path.suffix not in SUFFIXES:
        return False
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES)
    except OSError:
        return True  # reading it says what is wrong
    return _has(text, b"cases") or (_has(text, b"operator") and _has(text, b"opset"))


def _has(text: bytes, key: bytes) -> bool:
    """Whether a document has a key at its margin, or anywhere if it begins with a brace."""
    before = b"" if _FLOW.match(text) else b"^(?:\xef\xbb\xbf)?"
    return re.search(before + b"[\"']?\\b" + key + b"[\"']?\\s*:", text, re.MULTILINE) is not None


class CaseFile(pytest.File):
    """A case file."""

    def __init__(self, running: Running, **given: Any) -> None:
        super().__init__(**given)
        self.running = running

    def collect(self) -> Iterator[pytest.Item]:
        """Return an item for each case and backend, and one for each place with a mistake."""
        planning = plan_all([str(self.path)])
        name = self.running.name(self.path)
        for planned in planning.cases:
            for backend in self.running.backends:
                label = backend if len(self.running.backends) > 1 else ""
                variant = "-".join(filter(None, (planned.variant, label)))
                yield CaseItem.from_parent(
                    self,
                    name=f"{planned.name}[{variant}]" if variant else planned.name,
                    planned=planned,
                    file=name,
                    backend=backend,
                )
        for title, text in _mistakes(planning.errors, str(self.path), name).items():
            yield MistakeItem.from_parent(self, name=title, text=text)


def _mistakes(errors: Iterable[CaseError], path: str, name: str) -> dict[str, str]:
    """Return the mistakes by the names of their items, and let them call the file ``name``."""
    texts: dict[str, list[str]] = {}
    for error in errors:
        error.file = name + error.file.removeprefix(path)
        line = "mistake" if error.line is None else f"mistake in line {error.line}"
        title = f"{error.case}[{line}]" if error.case else line
        texts.setdefault(shown(title), []).append(str(error))
    return {title: shown("\n".join(lines)) for title, lines in texts.items()}


class MistakeItem(pytest.Item):
    """A mistake in a case file: an item that is always an error."""

    def __init__(self, text: str, **given: Any) -> None:
        super().__init__(**given)
        self.text = text

    def setup(self) -> None:
        """Say what is wrong."""
        pytest.fail(self.text, pytrace=False)

    def runtest(self) -> None:
        """Nothing can be run."""

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the file and the name."""
        return self.path, None, self.name


class CaseItem(pytest.Item):
    """A case on a backend.

    ``file`` is what opcheck calls the file when it is started where pytest was.
    """

    parent: CaseFile

    def __init__(self, planned: Planned, file: str, backend: str, **given: Any) -> None:
        super().__init__(**given)
        self.planned = planned
        self.file = file
        self.backend = backend
        #: How long the case took, once that is known.
        self.seconds = 0.0
        self.extra_keyword_matches.add(self.case)

    @property
    def case(self) -> str:
        """The id of the case."""
        return f"{self.file}::{self.planned.title}"

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return file, line (from 0) and name."""
        return self.path, self.planned.line - 1, self.name

    def setup(self) -> None:
        """Start the backend; where it does not start, this item is an error."""
        self.parent.running.start(self.backend)

    def runtest(self) -> None:
        """Run the case and end as its outcome has it."""
        record = self.parent.running.record(self)
        self.seconds = record.seconds
        self.user_properties += _properties(record)
        if record.printed:
            self.add_report_section("call", "stdout", shown(record.printed))
        if record.known:
            pytest.xfail(shown(record.verdict))  # does nothing with --runxfail
        if record.expected is None and record.outcome is Outcome.UNSUPPORTED:
            pytest.skip(reason(record))
        if record.outcome is Outcome.SKIPPED:
            pytest.skip(reason(record))
        if not record.acceptable or record.known:
            pytest.fail(failure_text(record), pytrace=False)


def _properties(record: Record) -> list[tuple[str, object]]:
    return [
        ("operator", record.operator),
        ("opset", record.opset),
        ("since_version", record.since_version),
        ("backend", record.backend),
        ("outcome", record.outcome.value),
    ]
