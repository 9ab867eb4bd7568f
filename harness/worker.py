"""What runs inside a worker process: one backend, and one case after another.

A worker is handed where a case comes from and its id, and gives back a record as bytes.
What the backend prints, from C++ too, goes into a file and from there into the record.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from functools import cache
from pathlib import Path

import msgspec

from .backend import Backend
from .case import Case
from .casefile import load
from .judge import Options, blank, run_case
from .record import Outcome, Record

#: As much of what a backend prints for one case is kept.
MAX_PRINTED = 16 * 2**10


class Setup(msgspec.Struct, frozen=True):
    """What a worker is started with: all of it data.

    ``factory`` is ``module:function`` of the function that makes a backend of its name.
    """

    factory: str
    backend: str
    options: Options
    log_folder: str


class _State:
    """The backend of this process, or why it could not be made."""

    setup: Setup
    backend: Backend | None = None
    failure: str = ""


def start(setup: Setup) -> None:
    """Prepare this process: catch what it prints, make the backend."""
    _State.setup = setup
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides what Ctrl-C means
    path = log_path(setup.log_folder, os.getpid())
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)
    module, _, function = setup.factory.partition(":")
    try:
        _State.backend = getattr(importlib.import_module(module), function)(setup.backend)
    except (Exception, SystemExit) as error:
        _State.failure = f"{type(error).__name__}: {error}"


def version() -> str:
    """Return the backend's version; raises ``RuntimeError`` where there is no backend."""
    if _State.backend is None:
        raise RuntimeError(_State.failure)
    return str(_State.backend.version())


def run_one(path: str, name: str, case_id: str) -> bytes:
    """Run the case with an id on the backend; return its record."""
    case = _cases(path, name)[case_id]
    if _State.backend is None:
        record = blank(case, _State.setup.backend, Outcome.ERRORED, _State.failure)
    else:
        record = run_case(case, _State.backend, _State.setup.options)
    return msgspec.msgpack.encode(_with_printed(record))


@cache
def _cases(path: str, name: str) -> dict[str, Case]:
    return {case.id: case for case in load(Path(path), name).cases}


def log_path(folder: str, pid: int) -> Path:
    """Return where a worker's output is caught."""
    return Path(folder) / f"{pid}.log"


def read_printed(path: Path) -> str:
    """Return the beginning of what a worker has printed since its file was emptied."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_PRINTED).decode(errors="replace")
    except OSError:
        return ""


def _with_printed(record: Record) -> Record:
    """Move what was printed into the record."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    path = log_path(_State.setup.log_folder, os.getpid())
    if not path.stat().st_size:
        return record
    printed = read_printed(path)
    os.truncate(path, 0)
    if record.outcome is Outcome.PASSED:
        return record
    return msgspec.structs.replace(record, printed=printed)
