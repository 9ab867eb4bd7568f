"""Choosing, splitting, ordering and repeating: the options of ``run`` beyond ``-k``."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opcheck.cli.options import OUTCOMES
from opcheck.harness.plan import Loose, Plan
from opcheck.harness.record import Outcome
from opcheck.harness.selection import shard, shuffled


@dataclass(frozen=True)
class Named:
    id: str


def plan(ids):
    """A plan of cases with these ids."""
    return Plan([Loose("f", [Named(i) for i in ids], [])], ((0, i) for i in range(len(ids))))


IDS = st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=40)


def test_the_outcomes_of_the_command_line_are_all_there_are():
    """The list is written out so that ``--help`` loads nothing."""
    assert list(OUTCOMES) == [outcome.value for outcome in Outcome]


@settings(deadline=None)
@given(IDS, st.integers(1, 7))
def test_shards_are_a_partition(ids, count):
    """Every case is in one part, and the parts keep the order."""
    cases = plan(ids)
    parts = [list(shard(cases, k, count)) for k in range(1, count + 1)]
    assert sorted(c.id for part in parts for c in part) == sorted(ids)
    assert all(part == [c for c in cases if c in part] for part in parts)


@settings(deadline=None)
@given(IDS, IDS, st.integers(1, 5))
def test_a_case_stays_in_its_shard_when_others_are_added(ids, more, count):
    """What is added goes somewhere, and moves nothing."""
    cases = plan(ids)
    grown = plan(list(dict.fromkeys([*more, *ids])))
    for k in range(1, count + 1):
        assert set(shard(cases, k, count)) <= set(shard(grown, k, count))


@settings(deadline=None)
@given(IDS, st.integers(0, 3))
def test_a_seed_decides_the_order(ids, seed):
    """The same seed gives the same order, whatever the order before."""
    cases = plan(ids)
    assert list(shuffled(cases, seed)) == list(shuffled(cases[::-1], seed))
    assert sorted(c.id for c in shuffled(cases, seed)) == sorted(ids)


def test_different_seeds_give_different_orders():
    """A shuffle that does nothing would pass the test above."""
    cases = plan([str(i) for i in range(50)])
    assert len({tuple(shuffled(cases, seed)) for seed in range(5)}) == 5
    assert list(shuffled(cases, 1)) != list(cases)


def test_the_order_of_results_is_that_of_the_cases(opcheck, small):
    """Whatever the number of workers, and shuffled where asked."""

    def order(*more: str) -> list[str]:
        done = opcheck("run", "small", "-b", "mini:right", "-v", *more)
        return [line.split()[0] for line in done.stdout.splitlines() if "::" in line]

    assert order("-j", "1") == order("-j", "3") == opcheck("list", "small").stdout.split()
    shuffled_ids = opcheck("list", "small", "--random-order", "2").stdout.split()
    assert order("--random-order", "2") == shuffled_ids


def test_last_failed_and_outcome_look_at_the_last_run(opcheck, small):
    """They choose by what came of the cases before, from this folder."""
    assert opcheck("run", "small", "--lf").returncode == 2
    opcheck("run", "small", "-b", "mini:at-float")
    assert opcheck("list", "small", "--lf").stdout.split() == ["small/add.yaml::numbers"]
    passed = opcheck("list", "small", "--outcome", "passed").stdout.split()
    assert passed == ["small/add.yaml::integers[int32]", "small/add.yaml::integers[int64]"]
    assert opcheck("list", "small", "--outcome", "crashed").returncode == 5


def test_results_of_another_run_can_be_given(opcheck, small, tmp_path):
    """``--results`` takes a file of ``--json``, and says what is wrong with another."""
    opcheck("run", "small", "-b", "mini:at-float", "--json", "old.jsonl")
    opcheck("run", "small")
    chosen = opcheck("list", "small", "--lf", "--results", "old.jsonl").stdout.split()
    assert chosen == ["small/add.yaml::numbers"]
    (tmp_path / "empty.jsonl").write_text("no result")
    done = opcheck("list", "small", "--lf", "--results", "empty.jsonl")
    assert done.returncode == 2
    assert "empty.jsonl is no result file" in done.stderr
    assert opcheck("list", "small", "--results", "old.jsonl").returncode == 2


def test_maxfail_stops_after_so_many(opcheck, small):
    """The rest is missing, and said to be."""
    done = opcheck("run", "small", "-b", "mini:wrong-value", "--maxfail", "2")
    assert done.returncode == 1
    assert "2 failed, 0 passed, 1 missing in" in done.stdout


@pytest.mark.parametrize("text", ["0/2", "3/2", "x", "1/0", "1"])
def test_a_shard_that_is_none(opcheck, small, text):
    """The message says what was seen and wanted."""
    done = opcheck("list", "small", "--shard", text)
    assert done.returncode == 2
    assert "wanted I/N with I from 1 to N" in " ".join(done.stderr.split())


def test_repetitions_that_differ_are_flaky(opcheck, small, tmp_path):
    """Both outcomes are shown; one record per case is written."""
    done = opcheck("run", "small", "-b", "mini:every-second", "--repeat", "2", "-j", "1",
                   "--json", "run.jsonl")  # fmt: skip
    assert done.returncode == 1
    assert "flaky: repetitions gave passed and failed" in done.stdout
    assert "3 failed, 0 passed, 3 flaky in" in done.stdout
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    records = [line for line in lines if line["is"] == "record"]
    assert [r["flaky"] for r in records] == [["passed", "failed"]] * 3


def test_no_isolation_runs_in_this_process(opcheck, small):
    """The outcomes are the same; what the backend prints comes through."""
    done = opcheck("run", "small", "-b", "mini:chatty", "--no-isolation")
    assert done.returncode == 1
    assert "3 failed, 0 passed in" in done.stdout
    assert "said on 1" in done.stdout
    isolated = opcheck("run", "small/add.yaml::numbers", "-b", "mini:chatty")
    assert "said on 1" in isolated.stdout.partition("printed:")[2]


def test_memory_is_limited(opcheck, small):
    """A backend that eats all it can get is stopped, and the run goes on."""
    done = opcheck("run", "small/add.yaml::numbers", "-b", "mini:eats-memory", "--memory", "1")
    assert done.returncode == 1
    assert "1 out of memory, 0 passed in" in done.stdout


def test_a_run_that_does_not_begin_leaves_nothing_behind(opcheck, small, tmp_path):
    """The outcomes of the run before stay, and no half file beside them."""
    cache = tmp_path / "cache"
    assert opcheck("run", "small", "-b", "mini:right").returncode == 0
    before = {path.name: path.read_bytes() for path in (cache / "last").iterdir()}
    assert len(before) == 1
    assert opcheck("run", "small", "-k", "nothing").returncode == 5
    assert opcheck("run", "small", "-b", "mini:does-not-start").returncode == 3
    assert {path.name: path.read_bytes() for path in (cache / "last").iterdir()} == before
