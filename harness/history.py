"""What came of the last run in a folder, for ``--last-failed`` and ``--outcome``."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec

from .record import ACCEPTABLE, Outcome, Record
from .suite import cache_folder

#: The outcomes of each case, on one or more backends.
Outcomes = Mapping[str, Iterable[str]]


class NoHistory(Exception):
    """There is no earlier run to look at; the message says what to do."""


def _path() -> Path:
    here = hashlib.sha256(str(Path.cwd()).encode(errors="surrogateescape")).hexdigest()[:16]
    return cache_folder() / "last" / f"{here}.json"


def save(outcomes: Outcomes) -> None:
    """Keep the outcomes of a run; where the cache cannot be written, nothing is kept."""
    path = _path()
    raw = msgspec.json.encode({case: sorted(set(seen)) for case, seen in outcomes.items()})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(raw)
        Path(name).replace(path)
    except OSError:
        return


def last() -> Outcomes:
    """Return the outcomes of the last run in this folder; raises ``NoHistory``."""
    try:
        return msgspec.json.decode(_path().read_bytes(), type=dict[str, list[str]])
    except (OSError, msgspec.DecodeError):
        raise NoHistory("there is no earlier run from this folder: run the cases first") from None


def of_file(path: Path) -> Outcomes:
    """Return the outcomes in a result file (``--json``); raises ``NoHistory``."""
    seen: dict[str, list[str]] = {}
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise NoHistory(f"cannot read {path}: {error.strerror}") from None
    for line in lines:
        if line.startswith(b'{"is":"record"'):
            try:
                record = msgspec.json.decode(line, type=Record)
            except msgspec.DecodeError:
                continue
            seen.setdefault(record.case, []).append(record.outcome.value)
    if not seen:
        raise NoHistory(f"{path} holds no results; it should be a file that --json wrote")
    return seen


def failed(outcomes: Outcomes) -> set[str]:
    """Return the cases with an outcome that a run does not accept."""
    fine = {outcome.value for outcome in ACCEPTABLE}
    return {case for case, seen in outcomes.items() if set(seen) - fine}


def with_outcome(outcomes: Outcomes, wanted: Iterable[Outcome]) -> set[str]:
    """Return the cases that had one of these outcomes."""
    names = {outcome.value for outcome in wanted}
    return {case for case, seen in outcomes.items() if names & set(seen)}
