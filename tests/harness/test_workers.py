"""Worker processes: what a bad backend does costs its case and nothing else."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path

import pytest

from miniatures import create
from opcheck.harness.casefile import load
from opcheck.harness.judge import Options
from opcheck.harness.record import Outcome, Record
from opcheck.harness.runner import Here, run_all
from opcheck.harness.workers import BackendFailed, Workers


@contextmanager
def workers(
    name: str,
    jobs: int = 2,
    time_limit: float = 20.0,
    memory: int | None = None,
    start_limit: float = 60.0,
) -> Iterator[Workers]:
    """Give an executor; in the end none of its processes may be left."""
    options = Options(time_limit=time_limit)
    made = Workers("miniatures:create", name, options, jobs, memory, start_limit)
    try:
        yield made
    finally:
        pids = [int(log.stem) for log in Path(made._folder.name).glob("*.log")]
        made.close()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(map(alive, pids)):
        time.sleep(0.05)
    assert not any(map(alive, pids))


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


def test_a_backend_that_never_starts_says_so():
    """The limit is that of a start, and the process that sleeps is ended."""
    with (
        workers("sleeps-starting", jobs=1, start_limit=1.0) as executor,
        pytest.raises(BackendFailed, match="did not start: the backend was not ready after 1 s"),
    ):
        executor.version()


def test_a_worker_that_oversleeps_its_start_costs_no_case(tmp_path):
    """Its cases go to another worker; the one whose worker died before keeps its outcome."""
    path = tmp_path / "many.yaml"
    path.write_text(MANY)
    cases = load(path, str(path)).cases
    starts = tmp_path / "starts"
    with workers(f"oversleeps:{starts}", start_limit=3.0) as executor:
        records = list(executor.run(cases))
    assert starts.stat().st_size > 2
    assert [r.case for r in records] == [c.id for c in cases]
    assert records[17].outcome is Outcome.CRASHED
    assert {r.outcome for i, r in enumerate(records) if i != 17} == {Outcome.PASSED}


def test_no_process_is_left_behind(small):
    """After closing, the workers and what they have started are gone."""
    path = str(small / "add.yaml")
    with workers("forks") as executor:
        records = list(executor.run(load(Path(path), path).cases))
        assert list(Path(executor._folder.name).glob("*.log"))
    assert {r.outcome for r in records} == {Outcome.PASSED}


def alive(group: int) -> bool:
    """Tell whether a process of a group is left that is no zombie."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] != "Z":
                return True
    return False


MANY = """\
operator: Add
opset: 14
cases:
""" + "".join(
    f"""\
  - name: case_{i}
    node: Add(a, b) -> (c)
    inputs: {{a: {{dtype: float32, data: {i}}}, b: {{dtype: float32, data: 1}}}}
    outputs: {{c: {{dtype: float32, data: {i + 1}}}}}
"""
    for i in range(50)
)


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("segfault", Outcome.CRASHED),
        ("abort", Outcome.CRASHED),
        ("exit-now", Outcome.CRASHED),
        ("loops-in-c", Outcome.TIMED_OUT),
        ("hangs", Outcome.TIMED_OUT),
        ("eats-memory", Outcome.OUT_OF_MEMORY),
        ("forks", Outcome.PASSED),
        ("floods", Outcome.PASSED),
        ("wrong-dtype", Outcome.FAILED),
        ("raises-strange", Outcome.ERRORED),
        ("closes-pipes", Outcome.PASSED),
        ("exits", Outcome.ERRORED),
    ],
)
def test_an_evil_case_costs_only_itself(tmp_path, name, outcome):
    """Of 50 cases, one is evil: it gets its outcome, the other 49 pass, in their order."""
    path = tmp_path / "many.yaml"
    path.write_text(MANY)
    cases = load(path, str(path)).cases
    limit = 3.0 if outcome is Outcome.TIMED_OUT else 100.0
    with workers(f"at-17:{name}", time_limit=limit, memory=2**30) as executor:
        records = list(executor.run(cases))
    assert [r.case for r in records] == [c.id for c in cases]
    assert records[17].outcome is outcome
    assert {r.outcome for i, r in enumerate(records) if i != 17} == {Outcome.PASSED}


def test_killed_workers_cost_no_outcome(tmp_path):
    """``kill -9`` of a random worker, again and again: every case gets its right outcome."""
    path = tmp_path / "many.yaml"
    path.write_text(MANY)
    cases = load(path, str(path)).cases
    with workers("slow") as executor:
        records = []
        for record in executor.run(cases):
            records.append(record)
            if len(records) % 8 == 0:
                busy = [b.pid for b in executor._running if b.pid]
                for pid in busy[:1]:
                    with suppress(OSError):
                        os.kill(pid, signal.SIGKILL)
    assert [r.case for r in records] == [c.id for c in cases]
    assert {r.outcome for r in records} == {Outcome.PASSED}


def test_workers_killed_while_they_start_cost_no_outcome(tmp_path):
    """A worker that dies before it began its case says nothing about the case."""
    path = tmp_path / "many.yaml"
    path.write_text(MANY)
    cases = load(path, str(path)).cases

    def kill_children(done):
        killed = 0
        while killed < 12 and not done.wait(0.05):
            for pid in session_leaders():
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                    killed += 1

    with workers("right") as executor:
        done = threading.Event()
        killer = threading.Thread(target=kill_children, args=(done,))
        killer.start()
        try:
            assert executor.version()
            records = list(executor.run(cases))
        finally:
            done.set()
            killer.join()
    assert [r.case for r in records] == [c.id for c in cases]
    assert {r.outcome for r in records} == {Outcome.PASSED}


def session_leaders():
    """The processes below this one that lead a session of their own: the workers."""
    children = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            _, parent, _, session = path.read_text().rpartition(")")[2].split()[:4]
            children.setdefault(int(parent), []).append((int(path.parent.name), int(session)))
    below, found = [os.getpid()], []
    while below:
        for pid, session in children.get(below.pop(), []):
            below.append(pid)
            found += [pid] if pid == session else []
    return found


def test_repetitions_that_differ_are_flaky(small):
    """One record per case; it is the one that failed, and names both outcomes."""
    path = str(small / "add.yaml")
    cases = load(Path(path), path).cases
    with workers("every-second", jobs=1) as executor:
        records = list(chain.from_iterable(run_all(cases, [executor], repetitions=2)))
    assert [r.case for r in records] == [c.id for c in cases]
    assert {r.outcome for r in records} == {Outcome.FAILED}
    assert {tuple(r.flaky) for r in records} == {("passed", "failed")}
    with workers("right", jobs=1) as executor:
        groups = list(run_all(cases, [executor], repetitions=3))
    assert [len(group) for group in groups] == [1, 1, 1]
    assert all(not r.flaky for group in groups for r in group)


def test_records_come_case_by_case(small):
    """With several backends, all records of a case stand together."""
    path = str(small / "add.yaml")
    cases = load(Path(path), path).cases
    with workers("wrong-value") as executor:
        here = Here(create("right"), Options())
        records = list(chain.from_iterable(run_all(cases, [here, executor])))
    assert [r.backend for r in records] == ["right", "wrong-value"] * 3
    assert [r.case for r in records[::2]] == [r.case for r in records[1::2]]


def test_an_executor_says_which_case_is_running_and_since_when(small, tmp_path):
    """Of all that run the one that has been running for the longest time; none before and after."""
    path = str(small / "add.yaml")
    text = (small / "add.yaml").read_text().replace("data: 1}", "data: 17}", 1)
    (small / "add.yaml").write_text(text.replace("[[1, 2, 3], [4, 5, 6]]", "17"))
    cases = load(Path(path), path).cases
    go = tmp_path / "go"
    begun = time.monotonic()
    with workers(f"mixed:{go}") as executor:
        assert executor.running() is None
        seen = []

        def ask() -> None:
            while not seen and time.monotonic() < begun + 60:
                running = executor.running()
                if running is not None and running.case == cases[0].id:
                    seen.append(running)
                time.sleep(0.01)
            go.touch()

        asking = threading.Thread(target=ask)
        asking.start()
        assert len(list(executor.run(cases))) == 3
        asking.join()
        assert executor.running() is None
    assert begun < seen[0].since < time.monotonic()


def test_this_process_says_which_case_is_running(small):
    """Only while it runs: between two cases others may be waited for."""
    path = str(small / "add.yaml")
    seen = []

    class Asking(type(create("right"))):  # type: ignore[misc]
        def prepare(self, model):
            seen.append(here.running())
            return super().prepare(model)

    here = Here(Asking("asking"), Options())
    cases = load(Path(path), path).cases
    for _ in here.run(cases):
        assert here.running() is None
    assert [running.case for running in seen] == [case.id for case in cases]
