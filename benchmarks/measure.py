"""Takes samples: runs programs, one at a time, and takes their seconds and their memory.

This process has to stay small: Linux counts the memory of the process that starts a program as
part of the program's peak.
It imports nothing but the standard library until everything is measured.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

#: The checkout.
ROOT = Path(__file__).resolve().parent.parent
#: Seconds after which a program is taken for hanging.
TIMEOUT = 3600.0
#: Characters of the output of a program that failed.
SHOWN = 600
#: Programs run as they do at a user's desk: Python keeps the byte code that it makes.
USUAL = {"COLUMNS": "80", "PYTHONDONTWRITEBYTECODE": ""}
#: What ``ru_maxrss`` counts in.
RSS_UNIT = 1 if sys.platform == "darwin" else 1024


class Failed(Exception):
    """A program did not do what is to be measured: there is no number."""


@dataclass(frozen=True)
class Side:
    """A program to measure, ours or a peer's.

    With ``inside``, the program prints a JSON object as its last line, with the ``seconds`` that
    count and perhaps the bytes of memory that it took ``above`` its data; without, the whole
    process is timed.
    """

    command: Sequence[str]
    inside: bool = False
    statuses: frozenset[int] = frozenset({0})
    #: A regular expression that the output has to match.
    shows: str = ""
    #: The seconds are multiplied by it: this program did only a part of the work.
    scale: float = 1.0
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Whether each sample begins with an empty cache of its own.
    fresh_cache: bool = False


@dataclass(frozen=True)
class Sample:
    """What one run of a program took: seconds, and bytes."""

    seconds: float
    memory: int
    above: int | None = None


def take(side: Side, folder: Path) -> Sample:
    """Run a program once in a folder; raises ``Failed``."""
    if not side.fresh_cache:
        return _take(side, folder, side.environment)
    with tempfile.TemporaryDirectory(prefix="cache-", dir=folder) as cache:
        return _take(side, folder, {**side.environment, "OPCHECK_CACHE": cache})


def _take(side: Side, folder: Path, environment: Mapping[str, str]) -> Sample:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        try:
            process = subprocess.Popen(
                side.command,
                cwd=folder,
                env={**os.environ, **USUAL, **environment},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
            )
        except OSError as error:
            raise Failed(f"{shlex.join(side.command)}: {error.strerror}") from error
        timer = threading.Timer(TIMEOUT, process.kill)
        timer.daemon = True
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    if process.returncode not in side.statuses:
        raise Failed(_told(side, f"ended with status {process.returncode}", texts))
    if side.shows and not re.search(side.shows, texts[0]):
        raise Failed(_told(side, f"printed nothing that matches {side.shows!r}", texts))
    memory = usage.ru_maxrss * RSS_UNIT
    if not side.inside:
        return Sample(seconds * side.scale, memory)
    try:
        given = json.loads(texts[0].splitlines()[-1])
        return Sample(float(given["seconds"]) * side.scale, memory, given.get("above"))
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise Failed(_told(side, "printed no seconds in its last line", texts)) from error


def _told(side: Side, what: str, texts: Sequence[str]) -> str:
    """Say what went wrong, with the command and the end of what it printed."""
    end = next((text.strip() for text in reversed(texts) if text.strip()), "it printed nothing")
    if len(end) > SHOWN:
        end = "..." + end[-SHOWN:].partition("\n")[2]
    return f"{shlex.join(side.command)}\n{what}:\n{end}"


def alternate(
    sides: Mapping[str, Side], folder: Path, rounds: int, told: Callable[[str], None]
) -> dict[str, list[Sample]]:
    """Take ``rounds`` samples of each side, in turn: A B A B; raises ``Failed``."""
    samples: dict[str, list[Sample]] = {name: [] for name in sides}
    for i, name, side in _turns(sides, rounds):
        told(f"{name}, {i + 1} of {rounds}")
        samples[name].append(take(side, folder))
    return samples


def _turns(sides: Mapping[str, Side], rounds: int) -> Iterator[tuple[int, str, Side]]:
    for i in range(rounds):
        for name, side in sides.items():
            yield i, name, side


def ratio(ours: Sequence[float], peer: Sequence[float]) -> float:
    """Return the ratio of the medians."""
    return median(ours) / median(peer)


def opcheck() -> list[str]:
    """Return the command as users have it, beside this Python; else the module."""
    script = Path(sys.executable).with_name("opcheck")
    return [str(script)] if script.exists() else [sys.executable, "-m", "opcheck"]


def module(name: str, *arguments: object) -> list[str]:
    """Return the command that runs a module of ``peers``; it needs ``FROM_CHECKOUT``."""
    return [sys.executable, "-m", f"benchmarks.peers.{name}", *map(str, arguments)]


def script(name: str, *arguments: object) -> list[str]:
    """Return the command that runs a file of ``peers`` which imports nothing of ours."""
    path = Path(__file__).parent / "peers" / f"{name}.py"
    return [sys.executable, str(path), *map(str, arguments)]


#: The environment in which a program can import ``benchmarks``.
FROM_CHECKOUT = {
    "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
}
