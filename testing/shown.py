"""What a test says of a record: plain text, without control characters."""

from __future__ import annotations

from ..harness.record import Outcome, Record
from ..reports.junit import report_text
from ..reports.terminal import plain
from ..reports.text import headline, location


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
    lines = [first, f"{place}, {record.backend}"]
    if record.why:
        lines.append(record.why)
    if record.verdict and record.outcome is not Outcome.PASSED:
        lines.append(record.verdict)
    body = report_text(record)
    if said.startswith(body[0]) or said.endswith(body[0]):
        del body[0]
    if not again:
        body = [line for line in body if not line.startswith("Run it again")]
        body.append(f"See the case: opcheck show '{record.case}'")
    lines += body
    return shown("\n".join(lines))


def reason(record: Record) -> str:
    """Say in one line why a case was not run, or is not supported."""
    return shown(f"{record.outcome.value}: {headline(record)}")


def shown(text: str) -> str:
    """Return a text as a terminal may have it."""
    return plain(text).plain
