"""The JSON file of results.

``benchmarks`` and ``growth`` are lists of what was measured, each in one run; a later run replaces
what it measures anew, and is refused where it is of another machine, other versions or other sizes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .catalogue import CATALOGUE
from .growth import GROWTH

FORMAT = 1
#: In which order the entries stand.
ORDER = {
    "benchmarks": [benchmark.name for benchmark in CATALOGUE],
    "growth": [growth.name for growth in GROWTH],
}

Results = dict[str, Any]


class BadResults(ValueError):
    """A file that holds no results, or results that do not go with others."""


def new(machine: dict[str, Any], *, quick: bool) -> Results:
    """Return results without any."""
    return {"format": FORMAT, "quick": quick, "machine": machine, "benchmarks": [], "growth": []}


def read(path: Path) -> Results:
    """Read a file; raises ``BadResults``."""
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BadResults(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise BadResults(f"{path} holds no JSON: {error}") from None
    if not isinstance(results, dict) or results.get("format") != FORMAT:
        raise BadResults(f"{path} holds no results of `python -m benchmarks` in format {FORMAT}")
    return results


def write(path: Path, results: Results) -> None:
    """Write a file."""
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def updated(earlier: Results, later: Results) -> Results:
    """Return both in one, what is measured later in place of what was; raises ``BadResults``."""
    for key in ("machine", "quick"):
        if earlier[key] != later[key]:
            raise BadResults(f"these results have another {key!r} than those before: remove them")
    return {**later, **{key: _replaced(key, earlier[key], later[key]) for key in ORDER}}


def failed(results: Results) -> list[str]:
    """Return the names of what has an error in place of a number."""
    names = [entry["name"] for entry in results["benchmarks"] if "error" in entry]
    return names + [
        f"{entry['name']} at {row['size']:,}"
        for entry in results["growth"]
        for row in entry["rows"]
        if "error" in row
    ]


def _replaced(key: str, earlier: Sequence[Results], later: Sequence[Results]) -> list[Results]:
    entries = {entry["name"]: entry for entry in (*earlier, *later)}
    return [entries[name] for name in ORDER[key] if name in entries]
