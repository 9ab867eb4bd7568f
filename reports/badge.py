"""A badge: the JSON that shields.io draws from."""

from __future__ import annotations

import msgspec

from ..harness.record import Outcome, Run
from .text import one_line
from .verdict import faults, incomplete, totals

#: With more backends than this, a badge says how many they are and adds them up.
_NAMED = 3


def badge(run: Run) -> str:
    """Render ``run`` as the JSON of shields.io's endpoint badge.

    It counts passes among all results, those that are missing too.
    Red is an unexpected result, grey a run that did not come to its end, bright green all passed.
    """
    broken = bool(incomplete(run) or run.problems or not run.records)
    said = {
        "schemaVersion": 1,
        "label": "opcheck",
        "message": _message(run),
        "color": _colour(run),
        **({"isError": True} if broken else {}),
    }
    return msgspec.json.format(msgspec.json.encode(said), indent=2).decode() + "\n"


def _message(run: Run) -> str:
    if not run.records:
        return "no results"
    counts = totals(run)
    passed = {backend: by[Outcome.PASSED] for backend, by in counts.items()}
    planned = len(run.records) + run.footer.missing
    if len(counts) == 1:
        said = f"{sum(passed.values()):,} of {planned:,} pass"
    elif len(counts) <= _NAMED:
        each = (f"{_name(b)} {n:,} of {sum(counts[b].values()):,}" for b, n in passed.items())
        said = f"{', '.join(each)} pass"
    else:
        said = f"{sum(passed.values()):,} of {planned:,} pass on {len(counts)} backends"
    return f"incomplete: {said}" if incomplete(run) else said


def _name(backend: str) -> str:
    return one_line(backend, 30)


def _colour(run: Run) -> str:
    if incomplete(run) or not run.records:
        return "lightgrey"
    if faults(run):
        return "red"
    passed = sum(by[Outcome.PASSED] for by in totals(run).values())
    return "brightgreen" if passed == len(run.records) else "green"
