"""Runs cases on backends and gives back records, in order.

Each backend has an executor: this process for the built-in kernels, worker processes for every
other.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from multiprocessing import forkserver
from typing import Any, Protocol

import msgspec
from pebble import ProcessExpired, ProcessPool

from . import worker
from .backend import Backend
from .case import Case
from .judge import Options, blank, run_case
from .record import Outcome, Record
from .sources import locate

#: Tasks handed to each worker ahead of their results.
AHEAD = 8
#: Seconds in which a worker must have its backend ready.
START_LIMIT = 120


class BackendFailed(Exception):
    """A backend did not start in its worker."""


class Executor(Protocol):
    """Runs cases on one backend."""

    backend: str

    def version(self) -> str:
        """Return the version of the backend."""

    def run(self, cases: Sequence[Case]) -> Iterator[Record]:
        """Return one record per case, in order."""

    def close(self) -> None:
        """Stop at once; leave no process behind."""


class Here:
    """Runs cases in this process."""

    def __init__(self, backend: Backend, options: Options) -> None:
        self.backend = backend.name
        self._backend = backend
        self._options = options

    def version(self) -> str:
        """Return the version of the backend."""
        return self._backend.version()

    def run(self, cases: Sequence[Case]) -> Iterator[Record]:
        """Return one record per case, in order."""
        for case in cases:
            yield run_case(case, self._backend, self._options)

    def close(self) -> None:
        """Nothing is left behind."""


class Workers:
    """Runs cases in worker processes, so that a crash or a hang costs one case.

    ``factory`` is ``module:function`` of the function that makes a backend of its name.
    """

    def __init__(self, factory: str, backend: str, options: Options, jobs: int) -> None:
        self.backend = backend
        self._options = options
        self._jobs = jobs
        self._logs = tempfile.TemporaryDirectory(prefix="opcheck-")
        context = _quiet_forkserver()
        setup = worker.Setup(factory, backend, options, self._logs.name)
        self._pool = ProcessPool(
            max_workers=jobs, initializer=worker.start, initargs=(setup,), context=context
        )

    def version(self) -> str:
        """Return the backend's version; raises ``BackendFailed`` where it does not start."""
        try:
            return str(self._pool.schedule(worker.version, timeout=START_LIMIT).result())
        except (RuntimeError, TimeoutError) as error:
            raise BackendFailed(f"the backend {self.backend} did not start: {error}") from error

    def run(self, cases: Sequence[Case]) -> Iterator[Record]:
        """Return one record per case, in order."""
        waiting: deque[tuple[Case, Future[Any]]] = deque()
        for case in cases:
            waiting.append((case, self._schedule(case)))
            if len(waiting) >= AHEAD * self._jobs:
                yield self._record(*waiting.popleft())
        while waiting:
            yield self._record(*waiting.popleft())

    def _schedule(self, case: Case) -> Future[Any]:
        arguments = (str(locate(case.file)), case.file, case.id)
        limit = self._options.time_limit
        future: Future[Any] = self._pool.schedule(worker.run_one, args=arguments, timeout=limit)
        return future

    def _record(self, case: Case, future: Future[Any]) -> Record:
        try:
            return msgspec.msgpack.decode(future.result(), type=Record)
        except TimeoutError:
            message = f"no result after {self._options.time_limit:g} s"
            return blank(case, self.backend, Outcome.TIMED_OUT, message)
        except ProcessExpired as error:
            record = blank(case, self.backend, Outcome.CRASHED, _death(error.exitcode))
            printed = worker.read_printed(worker.log_path(self._logs.name, error.pid or 0))
            return msgspec.structs.replace(record, printed=printed)
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            return blank(case, self.backend, Outcome.ERRORED, message)

    def close(self) -> None:
        """Stop at once; leave no process behind."""
        self._pool.stop()
        self._pool.join()
        self._logs.cleanup()


def _quiet_forkserver() -> Any:
    """Return the context whose processes are forked from a clean one, which prints nothing.

    A worker that is stopped while it starts would print a traceback from there.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([worker.__name__])
    kept = {stream: os.dup(stream) for stream in (1, 2)}
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        for stream in kept:
            os.dup2(nowhere, stream)
        forkserver.ensure_running()
    finally:
        for stream, original in kept.items():
            os.dup2(original, stream)
            os.close(original)
        os.close(nowhere)
    return context


def _death(code: int | None) -> str:
    """Say how a process died."""
    if code is None or code >= 0:
        return f"the process ended with status {code}"
    try:
        return f"the process was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"the process was killed by signal {-code}"


def run_all(cases: Sequence[Case], executors: Sequence[Executor]) -> Iterator[Record]:
    """Return the records of all cases on all backends, case by case."""
    streams: list[Iterable[Record]] = [executor.run(cases) for executor in executors]
    for records in zip(*streams, strict=True):
        yield from records
