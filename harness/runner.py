"""Runs cases on backends and gives back records, case by case.

Each backend has an executor: this process for the built-in kernels, worker processes for every
other.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, overload

import msgspec

from .backend import Backend
from .case import Planned
from .judge import Options, run_case
from .record import ACCEPTABLE, Record


class Running(NamedTuple):
    """A case that is running: its id, and since when by ``time.monotonic``."""

    case: str
    since: float


class Executor(Protocol):
    """Runs cases on one backend."""

    backend: str

    def version(self) -> str:
        """Return the version of the backend."""

    def run(self, cases: Sequence[Planned]) -> Iterator[Record | None]:
        """Return one record per case, in order; ``None`` for a case left out after ``stop``."""

    def running(self) -> Running | None:
        """Return the case that has been running for the longest time; another thread may ask."""

    def stop(self) -> None:
        """Begin no other case; what runs comes to its end."""

    def close(self) -> None:
        """Stop at once; leave no process behind."""


class Here:
    """Runs cases in this process."""

    def __init__(self, backend: Backend, options: Options) -> None:
        self.backend = backend.name
        self._backend = backend
        self._options = options
        self._stopped = False
        self._now: tuple[Planned, float] | None = None

    def version(self) -> str:
        """Return the version of the backend."""
        return self._backend.version()

    def run(self, cases: Sequence[Planned]) -> Iterator[Record | None]:
        """Return one record per case, in order; ``None`` for a case left out after ``stop``."""
        for case in cases:
            if self._stopped:
                yield None
                continue
            self._now = case, time.monotonic()
            record = run_case(case.load(), self._backend, self._options)
            self._now = None
            yield record

    def running(self) -> Running | None:
        """Return the case that is running."""
        now = self._now
        return None if now is None else Running(now[0].id, now[1])

    def stop(self) -> None:
        """Begin no other case."""
        self._stopped = True

    def close(self) -> None:
        """Nothing is left behind."""


def run_all(
    cases: Sequence[Planned], executors: Sequence[Executor], repetitions: int = 1
) -> Iterator[list[Record]]:
    """Return for each case its records on all backends, in the order of the cases.

    After an executor was stopped, a case may have fewer records, or none.

    With several repetitions there is still one record per case and backend: see ``merged``.
    """
    repeated = cases if repetitions == 1 else _Repeated(cases, repetitions)
    streams: list[Iterable[Record | None]] = [
        _merged_stream(executor.run(repeated), repetitions) for executor in executors
    ]
    for group in zip(*streams, strict=True):
        yield [record for record in group if record is not None]


class _Repeated(Sequence[Planned]):
    """Each case so often, one after the other."""

    def __init__(self, cases: Sequence[Planned], repetitions: int) -> None:
        self._cases = cases
        self._repetitions = repetitions

    def __len__(self) -> int:
        return len(self._cases) * self._repetitions

    @overload
    def __getitem__(self, index: int) -> Planned: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Planned]: ...
    def __getitem__(self, index: int | slice) -> Planned | Sequence[Planned]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return self._cases[range(len(self))[index] // self._repetitions]


def _merged_stream(records: Iterator[Record | None], repetitions: int) -> Iterator[Record | None]:
    # The range comes first: it must end before another record is taken.
    while group := [record for _, record in zip(range(repetitions), records, strict=False)]:
        results = [record for record in group if record is not None]
        yield merged(results) if results else None


def merged(records: Sequence[Record]) -> Record:
    """Make one record of the repetitions of a case.

    It is the first that is not acceptable, if any; where the outcomes differ, it names all that
    were seen, in the order in which they came first.
    """
    outcomes = list(dict.fromkeys(record.outcome for record in records))
    worst = next((r for r in records if r.outcome not in ACCEPTABLE), records[0])
    if len(outcomes) == 1:
        return worst
    return msgspec.structs.replace(worst, flaky=[outcome.value for outcome in outcomes])
