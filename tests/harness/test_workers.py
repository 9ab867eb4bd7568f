"""Worker processes: what a bad backend does costs its case and nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from miniatures import create
from opcheck.harness.casefile import load
from opcheck.harness.judge import Options
from opcheck.harness.record import Outcome, Record
from opcheck.harness.runner import BackendFailed, Here, Workers, run_all


@contextmanager
def workers(name: str, jobs: int = 2, time_limit: float = 20.0) -> Iterator[Workers]:
    made = Workers("miniatures:create", name, Options(time_limit=time_limit), jobs)
    try:
        yield made
    finally:
        made.close()


def run(name: str, small: Path, time_limit: float = 20.0) -> list[Record]:
    path = str(small / "add.yaml")
    cases = load(Path(path), path).cases
    with workers(name, time_limit=time_limit) as executor:
        return list(executor.run(cases))


@pytest.mark.parametrize(
    ("name", "outcome", "message"),
    [
        ("right", Outcome.PASSED, ""),
        ("wrong-value", Outcome.FAILED, ""),
        ("segfault", Outcome.CRASHED, "the process was killed by SIGSEGV"),
        ("abort", Outcome.CRASHED, "the process was killed by SIGABRT"),
        ("exit-now", Outcome.CRASHED, "the process ended with status 3"),
        ("exits", Outcome.ERRORED, "SystemExit: 7"),
        ("unsupported", Outcome.UNSUPPORTED, "no such operator here"),
        ("out-of-memory", Outcome.OUT_OF_MEMORY, "MemoryError: no room"),
    ],
)
def test_each_case_gets_its_outcome(small, name, outcome, message):
    """Every case has a record, in order, whatever happened to the process."""
    records = run(name, small)
    assert [r.case.partition("::")[2] for r in records] == [
        "numbers",
        "integers[int32]",
        "integers[int64]",
    ]
    assert {r.outcome for r in records} == {outcome}
    assert all(r.message.startswith(message) for r in records)
    assert all(r.backend == name for r in records)


def test_a_hanging_backend_is_stopped(small):
    """A case without a result is timed out, and says after how long."""
    records = run("hangs", small, time_limit=0.5)
    assert [r.outcome for r in records] == [Outcome.TIMED_OUT] * 3
    assert records[0].message == "no result after 0.5 s"


def test_what_a_backend_prints_belongs_to_its_case(small, capfd):
    """Output of Python and of file descriptors is kept with the case, never shown as it comes."""
    records = run("chatty", small)
    assert all("said on 1" in r.printed and "said on 2" in r.printed for r in records)
    assert all("said by Python" in r.printed for r in records)
    assert all(r.printed.count("said on 1") == 1 for r in records)
    captured = capfd.readouterr()
    assert "said" not in captured.out + captured.err


@pytest.mark.parametrize("name", ["does-not-start", "dies-starting"])
def test_a_backend_that_does_not_start_says_so(name):
    """There is no run with a backend that does not start."""
    with workers(name, jobs=1) as executor, pytest.raises(BackendFailed) as caught:
        executor.version()
    assert name in str(caught.value)


def test_no_process_is_left_behind(small):
    """After closing, the processes of the pool are gone."""
    path = str(small / "add.yaml")
    with workers("right") as executor:
        records = list(executor.run(load(Path(path), path).cases))
        pids = [
            process.pid for process in executor._pool._pool_manager.worker_manager.workers.values()
        ]
    assert records
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_records_come_case_by_case(small):
    """With several backends, all records of a case stand together."""
    path = str(small / "add.yaml")
    cases = load(Path(path), path).cases
    with workers("wrong-value") as executor:
        here = Here(create("right"), Options())
        records = list(run_all(cases, [here, executor]))
    assert [r.backend for r in records] == ["right", "wrong-value"] * 3
    assert [r.case for r in records[::2]] == [r.case for r in records[1::2]]
