"""Ctrl-C: nothing that has finished is lost, and nothing is left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("presses", "timeout"),
    [pytest.param(1, "3", id="once"), pytest.param(2, "200", id="twice")],
)
def test_an_interrupted_run_says_so(small, tmp_path, plugin, presses, timeout):
    """Once lets what runs end, twice stops at once; both write the reports and exit 130.

    The backend hangs: after the first press its case is timed out, after the second not even that.
    """
    results = tmp_path / "i.jsonl"
    with subprocess.Popen(
        [sys.executable, "-m", "opcheck", "run", "small", "-b", "mini:hangs", "-j", "1",
         "--timeout", timeout, "--junit", "i.xml", "--json", "i.jsonl"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(plugin), "OPCHECK_CACHE": str(tmp_path / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (results.exists() and results.read_text()):
            time.sleep(0.05)
        for _ in range(presses):
            time.sleep(1.0)
            os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in out
    assert "Ctrl-C again stops at once" in err
    footer = json.loads(results.read_text().splitlines()[-1])
    assert footer["is"] == "footer"
    assert footer["interrupted"] is True
    assert footer["missing"] >= 1
    finished = sum(n for by in footer["totals"].values() for n in by.values())
    assert finished + footer["missing"] == 3
    assert f"{footer['missing']} missing" in out
    suite = ET.parse(Path(tmp_path / "i.xml")).getroot().find("testsuite")
    assert suite is not None
    assert suite.get("tests") == str(finished)


def descendants(pid: int) -> set[int]:
    """Return the processes below one, from what Linux says of all of them."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def alive(pid: int) -> bool:
    """Whether a process runs; one that nobody has waited for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")
def test_a_killed_run_leaves_no_process(small, tmp_path, plugin):
    """What kills opcheck cannot be caught; its workers end all the same, though a case hangs."""
    log = tmp_path / "i.jsonl"
    with subprocess.Popen(
        [sys.executable, "-m", "opcheck", "run", "small", "-b", "mini:hangs", "-j", "2",
         "--timeout", "500", "--json", "i.jsonl"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(plugin), "OPCHECK_CACHE": str(tmp_path / "cache")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 60
        # The tracker, the process that forks, and two workers; the header is written last.
        while time.monotonic() < deadline and not (
            len(descendants(process.pid)) >= 4 and log.exists() and log.read_text()
        ):
            time.sleep(0.05)
        time.sleep(1.0)
        left = descendants(process.pid)
        assert len(left) >= 4
        process.kill()
        process.wait()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and any(map(alive, left)):
        time.sleep(0.05)
    assert [pid for pid in left if alive(pid)] == []
