"""Result files: one JSON object per line, written as the results come."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ..harness.record import Outcome, Run
from ..harness.results import Line


def line(entry: Line) -> str:
    """Return one line of a result file, without its end."""
    return msgspec.json.encode(entry).decode()


def read_line(text: str) -> Line:
    """Read one line of a result file; raises ``msgspec.ValidationError`` for anything else."""
    return msgspec.json.decode(text, type=Line)


def jsonl(run: Run) -> str:
    """Render ``run`` as a result file.

    What a case is stands before its first result that did not pass.
    """
    return "".join(f"{line(entry)}\n" for entry in _entries(run))


def _entries(run: Run) -> Iterator[Line]:
    yield run.header
    yield from run.problems
    details = dict(run.details)
    for record in run.records:
        if record.case in details and record.outcome is not Outcome.PASSED:
            yield details.pop(record.case)
        yield record
    yield from details.values()
    yield run.footer
