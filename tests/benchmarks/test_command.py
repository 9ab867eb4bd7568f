"""``python -m benchmarks``: what it lists, prints and writes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import results
from benchmarks.casefiles import write
from benchmarks.catalogue import CATALOGUE
from benchmarks.growth import GROWTH
from benchmarks.models import WORKS
from opcheck.backends.builtin import Builtin
from opcheck.harness.judge import Options, run_case
from opcheck.harness.record import Outcome
from opcheck.harness.sources import load_all

ROOT = Path(__file__).parent.parent.parent


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *map(str, arguments)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=240,
    )


def test_all_numbers_of_the_issue_are_listed():
    """Fifteen, each with its peer and its target."""
    targets = [1, 0.035, 1.2, 1.2, 1.2, 1.3, 0.3, 0.65, 1.4, 0.5, 1.5, 1.3, 0.25, 3, 1.2]
    assert [b.target for b in CATALOGUE] == targets
    assert len({b.name for b in CATALOGUE}) == 15
    shown = command("--list").stdout
    for b in CATALOGUE:
        assert f"{b.name}\n    {b.what}\n    against {b.against}, at most {b.target:g}\n" in shown


def test_a_quick_run_gives_a_table_and_json(tmp_path):
    """With samples, medians, ratio and target of each, and the machine."""
    path = tmp_path / "results.json"
    run = command("--quick", "help", "loop", "compare", "--rounds", 2, "--json", path)
    assert run.returncode == 0, run.stdout + run.stderr
    lines = run.stdout.splitlines()
    assert "mean nothing" in lines[0]
    assert lines[1].split() == ["name", "opcheck", "peer", "ratio", "at", "most"]
    assert [line.split()[0] for line in lines[2:5]] == ["loop", "help", "compare"]
    assert max(map(len, lines)) <= 80
    found = json.loads(path.read_text())
    assert found["quick"] is True
    assert set(found["machine"]) == {"cores", "cpu", "memory", "system", "python", "packages"}
    assert {"opcheck", "onnx", "onnxruntime", "numpy"} <= set(found["machine"]["packages"])
    for entry in found["benchmarks"]:
        assert len(entry["ours"]) == len(entry["peer"]) == 2
        assert entry["ratio"] == pytest.approx(entry["ours_median"] / entry["peer_median"], rel=0.1)
        assert entry["met"] in (True, False)
    assert found["benchmarks"][-1]["above_target"] == 200_000_000


def test_a_file_keeps_what_is_not_measured_again(tmp_path):
    """And takes nothing of another machine or of other sizes."""
    entries = {b.name: {"name": b.name, "old": True} for b in CATALOGUE}
    old = results.new({"cpu": "this"}, quick=False)
    old["benchmarks"] = [entries["help"], entries["memory"]]
    new = results.new({"cpu": "this"}, quick=False)
    new["benchmarks"] = [{"name": "memory"}, {"name": "scan"}]
    both = results.updated(old, new)["benchmarks"]
    assert both == [{"name": "scan"}, entries["help"], {"name": "memory"}]
    for other in (
        results.new({"cpu": "that"}, quick=False),
        results.new(old["machine"], quick=True),
    ):
        with pytest.raises(results.BadResults, match="have another"):
            results.updated(old, other)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["lop"], "there is no 'lop'; did you mean loop?", id="name"),
        pytest.param(["-k", "zebra"], "no name has 'zebra' in it", id="keyword"),
        pytest.param(["--rounds", "0"], "0 is less than 1", id="rounds"),
        pytest.param(["--page", "no-such-file"], "No such file", id="no-file"),
        pytest.param(["--page", "README.md"], "holds no JSON", id="no-json"),
        pytest.param(["--page", "pyproject.toml"], "holds no JSON", id="no-results"),
    ],
)
def test_wrong_usage_is_status_2(arguments, told):
    """With one line that says what is wrong."""
    run = command(*arguments)
    assert run.returncode == 2
    assert told in run.stderr
    assert "Traceback" not in run.stderr


def test_no_page_is_made_of_small_sizes_or_of_failures(tmp_path):
    """They would look like numbers."""
    path = tmp_path / "results.json"
    results.write(path, results.new({}, quick=True))
    assert "a run with --quick" in command("--page", path).stderr
    failed = results.new({}, quick=False)
    failed["benchmarks"] = [{"name": "help", "error": "lost"}]
    failed["growth"] = [{"name": "add", "rows": [{"size": 1000, "error": "lost"}]}]
    results.write(path, failed)
    assert "has no number for help, add at 1,000" in command("--page", path).stderr


def test_the_growth_covers_what_the_issue_asks_for():
    """Cases, elements, nodes of bodies, and nesting."""
    sizes = {g.name: g.sizes for g in GROWTH}
    assert sizes["cases"] == (10, 100, 1000, 10_000, 100_000)
    for name in ("add", "range", "compare"):
        assert (sizes[name][0], sizes[name][-1]) == (10**3, 10**8)
    assert (sizes["bodies"][0], sizes["bodies"][-1]) == (1, 100)
    assert sizes["nesting"] == (1, 2, 3, 4)


def test_the_cases_that_are_measured_are_good(tmp_path):
    """Of each operator some: they load, there is one variant to a name, and they pass."""
    write(tmp_path / "cases", 1200)
    loaded = load_all([str(tmp_path / "cases")])
    assert [str(e) for e in loaded.errors] == []
    assert len(loaded.cases) == 1200
    assert len({case.operator for case in loaded.cases}) == 12
    for case in loaded.cases[::7]:
        assert case.variant == ""
        record = run_case(case, Builtin(), Options())
        assert record.outcome is Outcome.PASSED, case.id


@pytest.mark.parametrize(
    ("name", "extra"),
    [
        *((name, ()) for name in ("loop", "scan", "if-in-loop", "loop-in-loop", "range", "add")),
        *(("bodies", (nodes,)) for nodes in (1, 2, 3, 100)),
        *(("nesting", (depth,)) for depth in (1, 2, 3, 4)),
    ],
)
def test_the_models_that_are_measured_give_their_answer(name, extra):
    """So a program that leaves iterations out is noticed."""
    work = WORKS[name](1000, *extra)
    first = Builtin().prepare(work.model)(work.feeds)[0].reshape(-1)[0]
    assert first == work.answer
    if name not in ("range", "add", "bodies"):
        assert work.answer >= 500
