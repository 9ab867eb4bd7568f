"""What came of the last run in a folder, for ``--last-failed`` and ``--outcome``."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from .archive import cache_folder
from .record import ACCEPTABLE, Outcome, Record
from .results import BadResults, lines

#: The outcomes of each case, on one or more backends.
Outcomes = Mapping[str, Iterable[str]]


class NoHistory(Exception):
    """There is no earlier run to look at; the message says what to do."""


def _path() -> Path:
    here = hashlib.sha256(str(Path.cwd()).encode(errors="surrogateescape")).hexdigest()[:16]
    return cache_folder() / "last" / f"{here}.jsonl"


class Recorder:
    """Keeps the outcomes of a run as they come; where the cache cannot be written, nothing.

    ``close`` puts them in the place of those of the run before, if there are any.
    """

    def __init__(self) -> None:
        self._path = _path()
        self._file: IO[bytes] | None = None
        self._works = True

    def add(self, case_id: str, outcome: Outcome) -> None:
        """Keep one outcome of a case."""
        if self._works:
            try:
                self._file = self._file or self._opened()
                self._file.write(msgspec.json.encode([case_id, outcome]) + b"\n")
            except OSError:
                self._give_up()

    @property
    def works(self) -> bool:
        """Whether everything could be written so far."""
        return self._works

    def close(self) -> None:
        """Keep what was added."""
        if self._file is not None:
            try:
                self._file.close()
                Path(self._file.name).replace(self._path)
            except OSError:
                self._give_up()

    def _opened(self) -> IO[bytes]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        return tempfile.NamedTemporaryFile(dir=self._path.parent, delete=False)

    def _give_up(self) -> None:
        self._works = False
        if self._file is not None:
            with suppress(OSError):
                self._file.close()
            Path(self._file.name).unlink(missing_ok=True)
            self._file = None


def last() -> Outcomes:
    """Return the outcomes of the last run in this folder; raises ``NoHistory``."""
    outcomes: dict[str, list[str]] = {}
    try:
        for line in _path().read_bytes().splitlines():
            case_id, outcome = msgspec.json.decode(line, type=tuple[str, str])
            outcomes.setdefault(case_id, []).append(outcome)
        return outcomes
    except (OSError, msgspec.DecodeError):
        raise NoHistory("there is no earlier run from this folder: run the cases first") from None


def of_file(path: Path) -> Outcomes:
    """Return the outcomes in a result file (``--json``); raises ``NoHistory``."""
    seen: dict[str, list[str]] = {}
    for record in records(path):
        seen.setdefault(record.case, []).append(record.outcome.value)
    return seen


def records(path: Path) -> Iterator[Record]:
    """Return the records in a result file, one after the other; raises ``NoHistory``."""
    found = False
    try:
        for line in lines(str(path)):
            if isinstance(line, Record):
                found = True
                yield line
    except BadResults as error:
        raise NoHistory(str(error)) from None
    if not found:
        raise NoHistory(f"{path} holds no results: its run was stopped before the first")


def failed(outcomes: Outcomes) -> set[str]:
    """Return the cases with an outcome that a run does not accept."""
    fine = {outcome.value for outcome in ACCEPTABLE}
    return {case for case, seen in outcomes.items() if set(seen) - fine}


def with_outcome(outcomes: Outcomes, wanted: Iterable[Outcome]) -> set[str]:
    """Return the cases that had one of these outcomes."""
    names = {outcome.value for outcome in wanted}
    return {case for case, seen in outcomes.items() if names & set(seen)}
