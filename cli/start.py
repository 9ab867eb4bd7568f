"""What takes long and can begin before the rest of a command is imported."""

from __future__ import annotations

from collections.abc import Iterable

from ..backends import is_isolated
from ..harness.forkserver import quiet_forkserver


def start(backends: Iterable[str], *, isolated: bool) -> None:
    """Start the process that workers are forked from, if any backend needs one."""
    if isolated and any(map(is_isolated, backends)):
        quiet_forkserver()
