"""Makes what runs the cases on a backend, with the backend in it."""

from __future__ import annotations

from ..harness.judge import Options
from ..harness.runner import Executor, Here
from ..harness.workers import Workers
from . import FACTORY, check, create, create_here


def make_executor(
    name: str, options: Options, *, memory: float, jobs: int, isolated: bool = True
) -> Executor:
    """Return what runs cases on the backend of a name; it is to be closed.

    ``memory`` is the limit of a worker, or of a built-in run, in GiB; 0 for none.
    ``jobs`` is the number of worker processes; without ``isolated``, there are none.
    Raises ``UnknownBackend``, or ``CannotRun`` where the runtime is not installed.
    """
    limit = int(memory * 2**30) or None
    backend = create_here(name, options.time_limit, limit)
    if backend is None and not isolated:
        backend = create(name)
    if backend is not None:
        return Here(backend, options)
    check(name)
    return Workers(FACTORY, name, options, jobs, limit)
