"""Limits of one run, since a Loop can be endless or huge: its time and its memory."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from math import inf


class Deadline:
    """The time at which a run has to stop; ``None`` seconds are no limit."""

    __slots__ = ("_seconds", "end")

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        #: In the time of ``time.monotonic``.
        self.end = inf if seconds is None else time.monotonic() + seconds

    def check(self) -> None:
        """Raise ``TimeoutError`` once the time is up."""
        if time.monotonic() > self.end:
            self.expire()

    def expire(self) -> None:
        """Raise ``TimeoutError``."""
        raise TimeoutError(f"the time limit of {self._seconds:g} s was reached")


@contextmanager
def limited_memory(more: int | None) -> Iterator[None]:
    """Let allocations fail with ``MemoryError`` that take this process ``more`` bytes further.

    The limit is the system's own, for the private writable memory of the process, and is lifted
    at the end.
    Where the system has no such limit, or ``more`` is ``None``, nothing is limited.
    """
    if more is None or sys.platform != "linux":
        yield
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = _data() + more
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    if soft != resource.RLIM_INFINITY:
        limit = min(limit, soft)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    try:
        yield
    finally:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _data() -> int:
    """Return the private writable memory of this process, in bytes."""
    import resource

    with open("/proc/self/statm", "rb", buffering=0) as file:  # noqa: PTH123 - for its speed
        return int(file.read().split()[5]) * resource.getpagesize()
