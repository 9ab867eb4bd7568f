"""The records of one backend, one for each item as its turn comes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ..backends import CannotRun, is_isolated
from ..backends.executors import make_executor
from ..harness.judge import Options
from ..harness.record import Record
from ..harness.runner import Executor
from ..harness.workers import BackendFailed

if TYPE_CHECKING:
    from .items import CaseItem

#: So many cases that were expected and are not wanted are run to the end.
FEW = 32


class Stream:
    """Runs the cases of items on a backend, in one worker that stays open.

    Cases are handed over in the order in which the items are expected, so that the worker gets
    them in batches as in ``opcheck run``.
    An item that comes out of this order, or a second time, begins a new order.
    """

    def __init__(self, backend: str, options: Options, memory: float) -> None:
        self.backend = backend
        self._options = options
        self._memory = memory
        self._executor: Executor | None = None
        self._version = ""
        self._failure: Exception | None = None
        self._places: dict[CaseItem, int] = {}
        self._next = 0
        self._records: Iterator[Record | None] = iter(())

    def version(self) -> str:
        """Start the backend if it is not there yet; raises ``CannotRun`` or ``BackendFailed``."""
        self._open()
        return self._version

    def _open(self) -> Executor:
        if self._failure is not None:
            raise self._failure
        if self._executor is None:
            try:
                self._executor = make_executor(
                    self.backend, self._options, memory=self._memory, jobs=1
                )
                self._version = self._executor.version()
            except (CannotRun, BackendFailed) as error:
                self._failure = error
                raise
        return self._executor

    def record(self, item: CaseItem, ahead: Callable[[], Sequence[CaseItem]]) -> Record:
        """Return the record of an item; ``ahead`` gives this item and those expected after it."""
        place = self._places.get(item, -1)
        try:
            if place < self._next:
                self._begin(ahead())
                place = 0
            record = None
            while self._next <= place:
                record = next(self._records)
                self._next += 1
        except BaseException:
            self.close()
            raise
        assert record is not None, "only a stopped executor leaves cases out"
        return record

    def _begin(self, items: Sequence[CaseItem]) -> None:
        """Expect other items from now on."""
        left = len(self._places) - self._next
        if left > FEW or (left and not is_isolated(self.backend)):
            self.close()  # its worker is busy with what was expected before
        elif left:
            deque(self._records, maxlen=0)  # waiting is quicker than another worker
        self._places = {item: place for place, item in enumerate(items)}
        self._next = 0
        self._records = self._open().run([item.planned for item in items])

    def close(self) -> None:
        """Stop the worker."""
        if self._executor is not None:
            self._executor.close()
        self._executor = None
        self._places, self._next = {}, 0
