"""Samples, medians and ratios; and what becomes of a program that fails."""

from __future__ import annotations

import sys

import pytest

from benchmarks import benchmark, text
from benchmarks.benchmark import Benchmark, judged
from benchmarks.measure import Failed, Sample, Side, alternate, ratio, take
from benchmarks.workshop import Workshop


def python(code, **options):
    return Side([sys.executable, "-c", code], **options)


GOOD = "import json; print('noise'); print(json.dumps({'seconds': 0.25, 'above': 7}))"


def row(ours, peer, target=1.0, **options):
    made = Benchmark("x", "what", "against", target, lambda _: (ours, peer), **options)
    with Workshop(quick=True) as workshop:
        return benchmark.measure(made, workshop, 3)


def test_a_ratio_is_that_of_the_medians():
    """Neither of the means, nor of the best."""
    assert ratio([1, 2, 90], [4, 4, 100]) == 0.5


@pytest.mark.parametrize(
    ("ours", "peer", "met"),
    [
        pytest.param([1.0, 3.0, 2.0], [1.0, 2.0, 9.0], True, id="exactly-the-target"),
        pytest.param([2.1], [2.0], False, id="just-above"),
    ],
)
def test_a_number_is_met_up_to_its_target(ours, peer, met):
    """The target belongs to what is met."""
    made = Benchmark("x", "what", "against", 1.0, lambda _: None)
    found = judged(made, [Sample(s, 0) for s in ours], [Sample(s, 0) for s in peer])
    assert found["met"] is met


def test_memory_above_the_data_counts_too():
    """A ratio that is met does not make up for memory that is not, and the worst round counts."""
    made = Benchmark("x", "what", "against", 1.0, lambda _: None, above=100)
    ours = [Sample(1, 0, above=99), Sample(1, 0, above=100), Sample(1, 0, above=0)]
    found = judged(made, ours, [Sample(1, 0)])
    assert (found["ratio"], found["above"], found["met"]) == (1, 100, False)
    assert judged(made, ours[:1], [Sample(1, 0)])["met"]


def test_samples_are_taken_in_turn(tmp_path):
    """A B A B: what slows the machine down for a while slows both."""
    write = "open('log', 'a').write('{}')"
    sides = {name: python(write.format(name)) for name in "ab"}
    samples = alternate(sides, tmp_path, 3, lambda _: None)
    assert (tmp_path / "log").read_text() == "ababab"
    assert [len(taken) for taken in samples.values()] == [3, 3]


def test_a_program_that_times_itself_is_believed(tmp_path):
    """And scaled, where it did only a part of the work."""
    sample = take(python(GOOD, inside=True, scale=20), tmp_path)
    assert (sample.seconds, sample.above) == (5, 7)
    assert sample.memory > 2**20


def test_each_sample_has_a_cache_of_its_own_where_that_is_wanted(tmp_path):
    """A first time is a first time each time."""
    code = "import os, json; open('log', 'a').write(os.environ['OPCHECK_CACHE'] + '\\n')"
    for _ in range(2):
        take(python(code, fresh_cache=True), tmp_path)
    first, second = (tmp_path / "log").read_text().splitlines()
    assert first != second


@pytest.mark.parametrize(
    ("side", "told"),
    [
        pytest.param(python("raise SystemExit('lost')"), ["status 1", "lost"], id="status"),
        pytest.param(python("print(1)", shows="passed"), ["'passed'"], id="does-not-show"),
        pytest.param(python("print(1)", inside=True), ["no seconds", "1"], id="no-seconds"),
        pytest.param(python("", inside=True), ["no seconds", "printed nothing"], id="silent"),
        pytest.param(
            python("import os; os.abort()"), ["status -6", "printed nothing"], id="signal"
        ),
        pytest.param(Side(["no-such-program"]), ["no-such-program: No such file"], id="missing"),
    ],
)
def test_a_program_that_fails_gives_an_error_and_no_number(tmp_path, side, told):
    """Whatever it took until then is no time of what it was to do."""
    with pytest.raises(Failed) as raised:
        take(side, tmp_path)
    for part in [side.command[0], *told]:
        assert part in str(raised.value)
    good = python(GOOD, inside=True)
    for ours, peer in ((good, side), (side, good)):
        found = row(ours, peer)
        assert found["error"] == str(raised.value)
        assert not {"ours", "peer", "ratio", "met"} & set(found)
        assert "failed" in text.table([found])
        assert "0 of 1 met, 1 without a number" in text.table([found])


def test_a_table_fits_into_80_columns():
    """Even with long commands and large numbers."""
    good = python(GOOD, inside=True)
    rows = [row(good, good), row(python(f"raise SystemExit('{'long ' * 60}')"), good)]
    shown = text.table([{**r, "name": "a-name-of-16-let", "note": "word " * 40} for r in rows])
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (12.345, "12.3 s"),
        (1.0, "1.00 s"),
        (0.0123, "12.3 ms"),
        (2e-6, "2.00 µs"),
        (5e-8, "50.0 ns"),
    ],
)
def test_times_have_three_digits(value, shown):
    """And the unit that fits."""
    assert text.seconds(value) == shown


def test_python_keeps_byte_code(tmp_path, monkeypatch):
    """What a variable of this shell forbids would be paid by every sample of the checkout."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    code = "import sys; print('kept' if not sys.dont_write_bytecode else 'not kept')"
    side = Side([sys.executable, "-c", code], shows="^kept$")
    assert take(side, tmp_path).seconds > 0
