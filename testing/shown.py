"""What a test says of a record: plain text, without control characters."""

from __future__ import annotations

import shlex

from ..harness.record import Outcome, Record
from ..reports.plain import plain
from ..reports.text import body, headline, location


def failure_text(record: Record, *, again: bool = True) -> str:
    """Return the text of a failure; its first line says in short what came of the case.

    Without ``again`` no command runs it again: what ran it is no backend.
    """
    said = headline(record)
    if record.outcome is Outcome.PASSED:
        first = f"unexpected pass: {record.verdict}"
    elif record.outcome is Outcome.FAILED or said.startswith(record.outcome.value):
        first = said
    else:
        first = f"{record.outcome.value}: {said}"
    place = f"{record.operator}-{record.since_version}, {location(record.file, record.line)}"
    lines = [line for line in body(record) if not (first.endswith(line) or said.startswith(line))]
    if not again:
        lines[-1] = f"See the case: {shlex.join(['opcheck', 'show', record.case])}"
    lines = [first, f"{place}, {record.backend}", *lines]
    return shown("\n".join(lines))


def reason(record: Record) -> str:
    """Say in one line why a case was not run, or is not supported."""
    return shown(f"{record.outcome.value}: {headline(record)}")


def shown(text: str) -> str:
    """Return a text as a terminal may have it."""
    return plain(text).plain
