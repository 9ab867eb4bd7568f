"""Result files: one JSON object per line, written as the results come."""

from __future__ import annotations

import msgspec

from ..harness.record import Detail, Footer, Header, Problem, Record

Line = Header | Detail | Record | Problem | Footer


def line(entry: Line) -> str:
    """Return one line of a result file, without its end."""
    return msgspec.json.encode(entry).decode()


def read_line(text: str) -> Line:
    """Read one line of a result file; raises ``msgspec.ValidationError`` for anything else."""
    return msgspec.json.decode(text, type=Line)
