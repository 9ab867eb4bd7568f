"""Which records went wrong alike."""

from __future__ import annotations

import re

from .record import Record


def shape(record: Record) -> str:
    """Return what messages of one kind have in common: no numbers, names and paths."""
    reasons = sorted({d.reason for d in record.differences})
    text = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "'", record.message[:400])
    text = re.sub(r"\S*/\S*", "/", text)
    text = re.sub(r"0x[0-9a-fA-F]+|[0-9]+", "0", text)
    return " ".join([record.phase, *reasons, *text.split()])[:200]
