"""The exit statuses."""

from __future__ import annotations

from enum import IntEnum

from ..harness.record import Footer


class Status(IntEnum):
    """How a command ended."""

    FINE = 0
    UNEXPECTED = 1
    USAGE = 2
    CANNOT_RUN = 3
    NO_CASE = 5
    INTERRUPTED = 130


def status_of(footer: Footer, unexpected: bool) -> Status:
    """Return the status of a run that came to its end."""
    if footer.problems:
        return Status.USAGE
    return Status.UNEXPECTED if unexpected else Status.FINE
