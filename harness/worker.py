"""What runs inside a worker process: one backend, and one case after another.

A worker is handed the ids of some cases and reads the cases itself.
It writes each record to a file as soon as it has it, so that nothing is lost when it dies, and
so that the parent sees how far it is.
What the backend prints, from C++ too, goes into a file and from there into the record.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import signal
import struct
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing import forkserver
from pathlib import Path

import msgspec

from .backend import Backend
from .case import Case
from .judge import Options, blank, run_case
from .record import Outcome, Record, utf8
from .sources import load_cases

#: As much of what a backend prints for one case is kept.
MAX_PRINTED = 16 * 2**10
#: In front of each record in a progress file: its length.
LENGTH = struct.Struct("<I")

_PR_SET_PDEATHSIG = 1


class Setup(msgspec.Struct, frozen=True):
    """What a worker is started with: all of it data.

    ``factory`` is ``module:function`` of the function that makes a backend of its name.
    ``memory`` is the limit of the process in bytes, ``None`` for no limit.
    """

    factory: str
    backend: str
    options: Options
    folder: str
    memory: int | None = None


class _State:
    """The backend of this process, or why it could not be made."""

    setup: Setup
    pid: int = 0
    backend: Backend | None = None
    failure: str = ""


def start(setup: Setup) -> None:
    """Prepare this process: a group of its own, limits, caught output, the backend."""
    _State.setup = setup
    _State.pid = os.getpid()
    with suppress(OSError):
        os.setsid()  # Ctrl-C does not reach it, and what it starts can be ended with it
    _die_with_parent()
    _let_parent_die()
    path = log_path(setup.folder, _State.pid)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)
    _limit_memory(setup.memory)
    tempfile.tempdir = setup.folder  # what a killed worker leaves behind goes with it
    module, _, function = setup.factory.partition(":")
    try:
        _State.backend = getattr(importlib.import_module(module), function)(setup.backend)
    except (Exception, SystemExit) as error:
        _State.failure = f"{type(error).__name__}: {error}"
    gc.freeze()  # what is imported stays: the collector need not look at it again and again


def _die_with_parent() -> None:
    """On Linux, be killed when the process dies that forked this one."""
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _let_parent_die() -> None:
    """Close what tells the process that forked this one that opcheck is alive.

    That process ends when opcheck does, however that ends, but not while a worker holds this.
    """
    server = getattr(forkserver, "_forkserver", None)
    descriptor = getattr(server, "_forkserver_alive_fd", None)
    if server is not None and descriptor is not None:
        server._forkserver_alive_fd = None
        os.close(descriptor)


def _limit_memory(limit: int | None) -> None:
    """Limit the private writable memory of this process, where the system can."""
    if limit is None:
        return
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def version() -> str:
    """Return the backend's version; raises ``RuntimeError`` where there is no backend."""
    if _State.backend is None:
        raise RuntimeError(_State.failure)
    return str(_State.backend.version())


def run_batch(name: str, ids: Sequence[str], progress: str) -> None:
    """Run cases of one source; append a record per case to the file ``progress``.

    The file begins with the id of this process.
    """
    _append(progress, str(_State.pid).encode())
    cases = load_cases(name, set(ids))
    for case_id in ids:
        record = _run(cases[case_id])
        if os.getpid() != _State.pid:
            os._exit(0)  # a process that the backend forked has come out of it too
        _append(progress, msgspec.msgpack.encode(record))


def _run(case: Case) -> Record:
    if _State.backend is None:
        return blank(case, _State.setup.backend, Outcome.ERRORED, _State.failure)
    return _with_printed(run_case(case, _State.backend, _State.setup.options))


def _append(path: str, payload: bytes) -> None:
    """Write one entry at once; the file is opened anew, since a backend may close anything."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, LENGTH.pack(len(payload)) + payload)
    finally:
        os.close(descriptor)


def read_progress(path: Path) -> list[bytes]:
    """Return the complete entries of a progress file."""
    try:
        raw = path.read_bytes()
    except OSError:
        return []
    entries = []
    position = 0
    while position + LENGTH.size <= len(raw):
        (length,) = LENGTH.unpack_from(raw, position)
        end = position + LENGTH.size + length
        if end > len(raw):
            break
        entries.append(raw[position + LENGTH.size : end])
        position = end
    return entries


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
        with suppress(OSError, ValueError):
            stream.flush()
    path = log_path(_State.setup.folder, _State.pid)
    try:
        if not path.stat().st_size:
            return record
        printed = read_printed(path)
        os.truncate(path, 0)
    except OSError:
        return record
    if record.outcome is Outcome.PASSED:
        return record
    return msgspec.structs.replace(record, printed=utf8(printed))
