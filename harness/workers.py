"""Runs cases in worker processes: what a runtime does to its process costs one case.

Each worker has a pool of its own, so that a worker that dies disturbs no other.
A worker is handed batches; it writes a record to a file as soon as it has it.
So the parent knows at any time which case is running, for how long, and what is done:

- a case without progress for its time limit is timed out, and its worker killed;
- a case whose worker died is run again, alone in a new worker, and what comes of that counts;
- all other cases of the batch keep their records or go into a new batch.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from pebble import CONSTS, ProcessExpired, ProcessPool

from . import worker
from .case import Planned
from .forkserver import quiet_forkserver
from .judge import Options, blank
from .record import Outcome, Record
from .runner import Running

#: Seconds in which a worker must have its backend ready: some compile or load for long.
START_LIMIT = 120.0
#: So many workers in a row may die while they start before the backend is to blame.
MAX_STARTS = 25
#: Seconds that a batch should take; its size follows from the cases before.
BATCH_SECONDS = 0.25
MAX_BATCH = 256
#: Seconds between two looks at the workers, pebble's own included.
LOOK = CONSTS.sleep_unit = 0.02
#: Seconds that a worker may take to end a batch after its last record.
GRACE = 2.0
#: A file that catches what a backend prints is emptied when it grows beyond this.
MAX_LOG = 32 * 2**20

#: What a process says that dies for want of memory.
_NO_MEMORY = re.compile(
    r"bad_alloc|out of memory|cannot allocate|MemoryError|memory allocation of \d+ bytes failed",
    re.IGNORECASE,
)


class BackendFailed(Exception):
    """A backend did not start in its worker."""


@dataclass(slots=True)
class _Batch:
    """Cases that a worker has been handed, by their places among all, and by their ids."""

    places: list[int]
    ids: list[str]
    path: Path
    pool: ProcessPool
    future: Future[Any]
    since: float
    pid: int = 0
    seen: int = 0
    #: Why this worker was killed, if it was.
    verdict: tuple[Outcome, str] | None = None


@dataclass(slots=True)
class _Queue:
    """What is still to be run: places from ``fresh`` on, those that came back, and single ones."""

    fresh: range
    back: deque[int] = field(default_factory=deque)
    alone: deque[int] = field(default_factory=deque)

    def __bool__(self) -> bool:
        return bool(self.fresh or self.back or self.alone)

    def __len__(self) -> int:
        """Return how many places may share batches."""
        return len(self.fresh) + len(self.back)

    def first(self) -> int:
        """Return the next place that may share a batch."""
        return self.back[0] if self.back else self.fresh[0]

    def take(self) -> int:
        """Return the next place that may share a batch, and take it out."""
        place = self.first()
        if self.back:
            self.back.popleft()
        else:
            self.fresh = self.fresh[1:]
        return place


class Workers:
    """Runs cases on a backend in worker processes.

    ``factory`` is ``module:function`` of the function that makes a backend of its name.
    ``memory`` is the limit of a worker in bytes, ``start_limit`` how many seconds its backend may
    take to be ready.
    """

    def __init__(
        self,
        factory: str,
        backend: str,
        options: Options,
        jobs: int,
        memory: int | None = None,
        start_limit: float = START_LIMIT,
    ) -> None:
        self.backend = backend
        self._options = options
        self._memory = memory
        self._start_limit = start_limit
        self._folder = tempfile.TemporaryDirectory(prefix="opcheck-", ignore_cleanup_errors=True)
        self._context = quiet_forkserver()
        self._setup = worker.Setup(factory, backend, options, self._folder.name, memory)
        self._idle = [self._new_pool() for _ in range(jobs)]
        self._running: list[_Batch] = []
        self._retired: list[threading.Thread] = []
        self._batches = 0
        self._failed_starts = 0
        self._stopped = False
        self._seconds_per_case = BATCH_SECONDS

    def _new_pool(self) -> ProcessPool:
        return ProcessPool(
            max_workers=1,
            initializer=worker.start,
            initargs=(self._setup,),
            context=self._context,
        )

    def version(self) -> str:
        """Return the backend's version; raises ``BackendFailed`` where it does not start."""
        tried = 0
        while True:
            # All are asked, so that all of them start now.
            asked = [self._schedule(pool, worker.version) for pool in self._idle]
            self._idle = [pool for pool, _ in asked]
            try:
                return str(asked[0][1].result(self._start_limit))
            except TimeoutError as error:
                raise self._failed(self._not_ready()) from error
            except (RuntimeError, OSError) as error:
                tried += 1
                if tried == MAX_STARTS or not _by_others(error):
                    raise self._failed(str(error)) from error
                self._retire(self._idle[0])
                self._idle[0] = self._new_pool()

    def _failed(self, why: str) -> BackendFailed:
        return BackendFailed(f"the backend {self.backend} did not start: {why}")

    def _schedule(
        self, pool: ProcessPool, function: Callable[..., Any], *arguments: Any
    ) -> tuple[ProcessPool, Future[Any]]:
        """Hand a call to a worker; return it, or another if its pool turns out to be broken."""
        try:
            return pool, pool.schedule(function, args=arguments)
        except RuntimeError:  # its worker died at a bad moment
            self._retire(pool)
            pool = self._new_pool()
            return pool, pool.schedule(function, args=arguments)

    def run(self, cases: Sequence[Planned]) -> Iterator[Record | None]:
        """Return one record per case, in order; ``None`` for a case left out after ``stop``."""
        queue = _Queue(range(len(cases)))
        done: dict[int, Record] = {}
        tries: dict[int, int] = {}
        following = 0
        while following < len(cases):
            while self._idle and queue and not self._stopped:
                self._submit(queue, cases)
            wait([b.future for b in self._running], timeout=LOOK, return_when=FIRST_COMPLETED)
            for batch in list(self._running):
                self._look(batch, done)
                if batch.future.done():
                    self._running.remove(batch)
                    self._finish(batch, cases, done, queue, tries)
            idle = self._stopped and not self._running
            while following in done or (idle and following < len(cases)):
                yield done.pop(following, None)
                following += 1

    def running(self) -> Running | None:
        """Return the case that has been running for the longest time; another thread may ask."""
        found = [
            Running(batch.ids[seen], batch.since)
            for batch in list(self._running)
            if batch.pid and (seen := batch.seen) < len(batch.ids)
        ]
        return min(found, key=lambda running: running.since, default=None)

    def stop(self) -> None:
        """Begin no other batch; what runs comes to its end."""
        self._stopped = True

    def _submit(self, queue: _Queue, cases: Sequence[Planned]) -> None:
        """Hand a batch to an idle worker."""
        places = [queue.alone.popleft()] if queue.alone else self._next_places(queue, cases)
        name = cases[places[0]].file
        self._batches += 1
        path = Path(self._folder.name) / f"batch-{self._batches}"
        ids = [cases[p].id for p in places]
        pool, future = self._schedule(self._idle.pop(), worker.run_batch, name, ids, str(path))
        self._running.append(_Batch(places, ids, path, pool, future, time.monotonic()))

    def _next_places(self, queue: _Queue, cases: Sequence[Planned]) -> list[int]:
        """Take as many cases of one source as should fill a batch."""
        share = -(-len(queue) // (2 * (len(self._idle) + len(self._running))))
        size = max(1, min(MAX_BATCH, share, int(BATCH_SECONDS / self._seconds_per_case)))
        places = [queue.take()]
        file = cases[places[0]].file
        while len(queue) and len(places) < size and cases[queue.first()].file == file:
            places.append(queue.take())
        return places

    def _look(self, batch: _Batch, done: dict[int, Record]) -> None:
        """Take the new records of a batch; kill its worker if it is past a limit."""
        entries = worker.read_progress(batch.path)
        if entries and not batch.pid:
            batch.pid = int(entries[0])
            self._failed_starts = 0
            batch.since = time.monotonic()
        records = entries[1:]
        for place, raw in zip(batch.places[batch.seen :], records[batch.seen :], strict=False):
            record = done[place] = msgspec.msgpack.decode(raw, type=Record)
            batch.since = time.monotonic()
            self._seconds_per_case = max(1e-4, 0.8 * self._seconds_per_case + 0.2 * record.seconds)
        batch.seen = min(len(records), len(batch.places))
        if not batch.future.done() and batch.verdict is None:
            self._enforce(batch)

    def _enforce(self, batch: _Batch) -> None:
        """Hold a running worker against its limits of time, memory and output."""
        waited = time.monotonic() - batch.since
        limit = self._options.time_limit
        if batch.seen == len(batch.places):
            if waited > GRACE:
                self._kill(batch, Outcome.PASSED, "")
        elif not batch.pid:
            if waited > self._start_limit:
                self._kill(batch, Outcome.ERRORED, self._not_ready())
        elif waited > limit:
            self._kill(batch, Outcome.TIMED_OUT, f"no result after {limit:g} s")
        elif self._memory is not None and _resident(batch.pid) > self._memory:
            message = f"more than {self._memory / 2**30:g} GiB of memory"
            self._kill(batch, Outcome.OUT_OF_MEMORY, message)
        log = worker.log_path(self._folder.name, batch.pid)
        with suppress(OSError):
            if batch.pid and log.stat().st_size > MAX_LOG:
                os.truncate(log, 0)

    def _not_ready(self) -> str:
        return f"the backend was not ready after {self._start_limit:g} s"

    def _kill(self, batch: _Batch, outcome: Outcome, message: str) -> None:
        batch.verdict = (outcome, message)
        if batch.pid:
            _kill_group(batch.pid)
        else:
            batch.future.cancel()

    def _finish(
        self,
        batch: _Batch,
        cases: Sequence[Planned],
        done: dict[int, Record],
        queue: _Queue,
        tries: dict[int, int],
    ) -> None:
        """Book the end of a batch: all of it, or up to the case that its worker died of."""
        self._look(batch, done)
        error = None if batch.future.cancelled() else batch.future.exception()
        left = batch.places[batch.seen :]
        if left:
            guilty, *others = left
            record = self._fate(batch, cases[guilty], error)
            tried = tries.get(guilty, 0)
            again = record.outcome is Outcome.CRASHED and tried < _tries(error)
            self._failed_starts += not batch.pid
            if not batch.pid and batch.verdict is None and self._failed_starts < MAX_STARTS:
                queue.alone.append(guilty)
            elif again or (not batch.pid and tried < 2):
                tries[guilty] = tried + 1
                queue.alone.append(guilty)
            else:
                done[guilty] = record
            queue.back.extendleft(reversed(others))
        if error is not None or batch.future.cancelled() or batch.verdict is not None:
            if batch.pid:
                _kill_group(batch.pid)
            self._retire(batch.pool)
            batch.pool = self._new_pool()
        self._idle.append(batch.pool)
        batch.path.unlink(missing_ok=True)

    def _fate(self, batch: _Batch, case: Planned, error: BaseException | None) -> Record:
        """Say what became of the case during which a worker ended."""
        printed = worker.read_printed(worker.log_path(self._folder.name, batch.pid))
        if batch.verdict is not None and batch.verdict[0] is not Outcome.PASSED:
            record = blank(case, self.backend, *batch.verdict)
        elif isinstance(error, ProcessExpired):
            limited = self._memory is not None and _NO_MEMORY.search(printed)
            outcome = Outcome.OUT_OF_MEMORY if limited else Outcome.CRASHED
            record = blank(case, self.backend, outcome, _death(error.exitcode))
        elif isinstance(error, BrokenExecutor):
            message = "the process ended, and how was not seen"
            record = blank(case, self.backend, Outcome.CRASHED, message)
        else:
            said = f"{type(error).__name__}: {error}" if error else "the worker gave no result"
            record = blank(case, self.backend, Outcome.ERRORED, said)
        return msgspec.structs.replace(record, printed=printed)

    def _retire(self, pool: ProcessPool) -> None:
        """Stop a pool, which may have started another worker by now, beside what goes on."""
        pool.stop()
        end = threading.Thread(target=pool.join, daemon=True)
        end.start()
        self._retired.append(end)

    def close(self) -> None:
        """Stop at once; leave no process behind."""
        for batch in self._running:
            if batch.pid:
                _kill_group(batch.pid)
        for pool in [*self._idle, *(b.pool for b in self._running)]:
            self._retire(pool)
        for end in self._retired:
            end.join()
        for path in Path(self._folder.name).glob("*.log"):
            _kill_group(int(path.stem))
        self._folder.cleanup()


def _tries(error: BaseException | None) -> int:
    """Return how often a case is run again whose worker died."""
    return 5 if _by_others(error) else 1


def _by_others(error: BaseException | None) -> bool:
    """Whether a worker may have died of something outside.

    No runtime kills itself with SIGKILL: somebody else did, and may do so again.
    Where the pool broke before it saw how its worker ended, another try shows it.
    """
    if isinstance(error, BrokenExecutor):
        return True
    return isinstance(error, ProcessExpired) and error.exitcode == -signal.SIGKILL


def _kill_group(pid: int) -> None:
    """Kill a worker and all that it has started; the worker leads a group of its own."""
    with suppress(OSError):
        os.killpg(pid, signal.SIGKILL)


def _resident(pid: int) -> int:
    """Return the resident memory of a process in bytes, 0 where the system does not say."""
    if sys.platform != "linux":
        return 0
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _death(code: int | None) -> str:
    """Say how a process died."""
    if code is None or code >= 0:
        return f"the process ended with status {code}"
    try:
        return f"the process was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"the process was killed by signal {-code}"
