"""Loads a folder of YAML files: ``python -m benchmarks.peers.load_cases WHO FOLDER CASES``.

WHO is ``opcheck``, which makes cases of them, or ``pyyaml``, whose C loader makes dicts.
Imports are not timed.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path


def opcheck(folder: str) -> tuple[float, int]:
    """Load all cases as the commands do; return the seconds, and how many there are."""
    from opcheck.harness.sources import load_all

    start = time.perf_counter()
    loaded = load_all([folder], os.cpu_count() or 1)
    seconds = time.perf_counter() - start
    assert not loaded.errors, loaded.errors[0]
    return seconds, len(loaded.cases)


def pyyaml(folder: str) -> tuple[float, int]:
    """Load all files; return the seconds, and how many cases there are in them."""
    import yaml

    start = time.perf_counter()
    loaded = [
        yaml.load(path.read_bytes(), yaml.CSafeLoader)
        for path in sorted(Path(folder).rglob("*.yaml"))
    ]
    seconds = time.perf_counter() - start
    return seconds, sum(len(file["cases"]) for file in loaded)


WHO = {"opcheck": opcheck, "pyyaml": pyyaml}


def main(who: str, folder: str, cases: int) -> None:
    """Load; print the seconds."""
    seconds, found = WHO[who](folder)
    assert found == cases, f"{found} cases, not {cases}"
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
