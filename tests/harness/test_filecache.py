"""Case files through the cache: the same cases as without it, whatever changes meanwhile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from opcheck.harness import archive, filecache
from opcheck.harness.casefile import load
from opcheck.harness.packed import pack, unpack
from opcheck.harness.sources import BUNDLED, load_all, load_cases, plan_all

CASE = """
operator: Add
opset: 14
cases:
  - name: sum
    why: Adds element by element.
    node: Add(A, B) -> (C)
    inputs:
      A: {dtype: float32, data: [1, 2]}
      B: {dtype: float32, data: [3, 4]}
    outputs:
      C: {dtype: float32, data: [4, 6]}
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache and an empty folder, in use."""
    monkeypatch.setenv("OPCHECK_CACHE", str(tmp_path / "cache"))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    archive.forget()
    yield tmp_path / "cache"
    archive.forget()


def described(case):
    """All that a case holds, comparable."""
    values = []

    def leaf(value):
        if isinstance(value, np.ndarray):
            held = value.tolist() if value.dtype == object else value.tobytes()
            values.append((value.dtype, value.shape, held))
        else:
            values.append(repr(value))

    def expected(one):
        values.append((one.kind, one.type.SerializeToString(), one.dtype, one.shape, one.keys))
        leaf(one.value)
        leaf(one.undefined)
        for item in one.items:
            expected(item)

    def value(one):
        for item in one if isinstance(one, list) else [one]:
            value(item) if isinstance(item, list) else leaf(item)

    for one in case.call.inputs.values():
        value(one)
    for alternative in case.alternatives:
        if isinstance(alternative, tuple):
            for one in alternative:
                expected(one)
        else:
            values.append(repr(alternative))
    model = case.call.model.SerializeToString(deterministic=True)
    rest = [case.id, case.line, case.operator, case.domain, case.opset, case.since_version,
            sorted(case.dtypes), case.why, case.spec, case.node, repr(case.attributes),
            case.model_text, case.output_names, case.tolerances, [*case.call.inputs]]  # fmt: skip
    return model, values, rest


FILES = sorted(BUNDLED.rglob("*.yaml"))


@pytest.mark.parametrize("family", sorted({path.parent for path in FILES}), ids=lambda p: p.name)
def test_every_bundled_case_comes_back_as_it_went_in(family):
    """Models, values, undefined elements, alternatives, tolerances, attributes: all of it."""
    for path in FILES:
        if path.parent == family:
            for case in load(path, "f").cases:
                head, blob = pack(case)
                assert described(unpack(head, blob, "f")) == described(case), case.id


def test_the_second_time_nothing_is_built(cache, monkeypatch):
    """And the cases and the mistakes are the same."""
    bad = "  - {name: bad, node: 'Add(A, B) -> (C)', inputs: {}, outputs: {}}\n"
    Path("a.yaml").write_text(CASE + bad)
    first = load_all(["a.yaml"])
    archive.forget()
    monkeypatch.setattr(filecache, "load", pytest.fail)
    second = load_all(["a.yaml"])
    assert [described(c) for c in second.cases] == [described(c) for c in first.cases]
    assert [str(e) for e in second.errors] == [str(e) for e in first.errors]
    assert (len(second.cases), len(second.errors)) == (1, 1)
    assert "a.yaml:13" in str(second.errors[0])


def test_a_file_has_the_name_by_which_it_is_asked_for(cache, tmp_path):
    """The cache knows the file, not what ids call it."""
    Path("a.yaml").write_text(CASE)
    assert [c.id for c in load_all(["a.yaml"]).cases] == ["a.yaml::sum"]
    whole = str(tmp_path / "here" / "a.yaml")
    assert [c.id for c in load_all([whole]).cases] == [f"{whole}::sum"]


@pytest.mark.parametrize("change", ["content", "version", "npy", "npy gone"])
def test_what_decides_the_cases_decides_what_is_read(cache, monkeypatch, change):
    """No old case is ever taken for a new one."""
    np.save("x.npy", np.array([1, 2], np.float32))
    literal, file = "{dtype: float32, data: [1, 2]}", "{dtype: float32, npy: x.npy}"
    Path("a.yaml").write_text(CASE.replace(literal, file))
    first = load_all(["a.yaml"])
    assert first.cases[0].call.inputs["A"].tolist() == [1, 2]
    archive.forget()
    if change == "content":
        Path("a.yaml").write_text(Path("a.yaml").read_text() + "\n# more\n")
    elif change == "version":
        archive.environment.cache_clear()
        monkeypatch.setattr(archive, "FORMAT", 99)
    elif change == "npy":
        np.save("x.npy", np.array([5, 6], np.float32))
    else:
        Path("x.npy").unlink()
    read = []
    monkeypatch.setattr(filecache, "load", lambda *a: read.append(a) or load(*a))
    second = load_all(["a.yaml"])
    assert len(read) == 1
    if change == "npy gone":
        assert "x.npy" in str(second.errors[0])
    else:
        want = [5, 6] if change == "npy" else [1, 2]
        assert second.cases[0].call.inputs["A"].tolist() == want
    archive.environment.cache_clear()


def test_a_file_that_changes_during_a_run_is_noticed(cache):
    """What was planned is run from the cache; where that is gone too, nothing else is run."""
    Path("a.yaml").write_text(CASE)
    (case,) = plan_all(["a.yaml"]).cases
    Path("a.yaml").write_text(CASE.replace("sum", "other"))
    assert case.load().name == "sum"
    shutil.rmtree(cache)
    archive.forget()
    with pytest.raises(filecache.Changed, match=r"a\.yaml was changed"):
        case.load()


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_damaged_archive_is_made_anew(cache, damage):
    """Each part has a checksum; the case file is at hand."""
    Path("a.yaml").write_text(CASE)
    want = [described(c) for c in load_all(["a.yaml"]).cases]
    (path,) = cache.rglob("*.cases")
    good = path.read_bytes()
    for place in (0, 20, 90, len(good) // 2, len(good) - 1):
        raw = bytearray(good)
        raw[place] ^= 1
        bad = {"cut": good[:place], "flip": bytes(raw), "empty": b""}[damage]
        path.write_bytes(bad)
        archive.forget()
        assert [described(c) for c in load_all(["a.yaml"]).cases] == want, place
        assert path.read_bytes() == good, place


def test_without_a_cache_all_is_read_each_time(cache):
    """A cache folder that cannot be made costs time only."""
    cache.write_text("no folder")
    Path("a.yaml").write_text(CASE)
    assert [c.id for c in load_all(["a.yaml"]).cases] == ["a.yaml::sum"]
    assert list(load_cases("a.yaml", ["a.yaml::sum"])) == ["a.yaml::sum"]


def test_many_files_are_read_by_several_processes(cache, monkeypatch):
    """The plan does not depend on how many read, nor on who read what."""
    monkeypatch.setattr(filecache, "WORTH_A_PROCESS", 0)
    for i in range(12):
        Path(f"{i:02}.yaml").write_text(CASE.replace("sum", f"sum{i}") + "  - {name: bad}\n")
    alone = plan_all(["."])
    shutil.rmtree(cache)
    archive.forget()
    together = plan_all(["."], jobs=3)
    assert [c.id for c in together.cases] == [c.id for c in alone.cases]
    assert [str(e) for e in together.errors] == [str(e) for e in alone.errors]
    assert len(together.cases) == len(together.errors) == 12
    assert len(list(cache.rglob("*.cases"))) == 12


def test_old_archives_are_removed(cache):
    """Those of files that are no more do not fill the disk for ever."""
    old, new = cache / "cases" / "a" / "file-1.cases", cache / "cases" / "b" / "file-1.cases"
    for path in (old, new):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x")
    os.utime(old, (0, 0))
    filecache._sweep.cache_clear()
    Path("a.yaml").write_text(CASE)
    plan_all(["a.yaml"])
    assert (old.exists(), new.exists()) == (False, True)


def test_a_plan_is_a_sequence_of_what_is_known(cache):
    """Places, slices, choices: nothing of it reads a case in full."""
    Path("a.yaml").write_text(CASE.replace("opset: 14", "opset: [7, 13, 14]"))
    Path("b.yaml").write_text(CASE)
    plan = plan_all(["a.yaml", "b.yaml"]).cases
    titles = ["sum[opset=7]", "sum[opset=13]", "sum[opset=14]", "sum"]
    assert [case.title for case in plan] == titles
    assert [case.title for case in plan[1:3]] == titles[1:3]
    assert [case.title for case in plan[::-1]] == titles[::-1]
    assert plan[-1].id == "b.yaml::sum"
    assert [c.opset for c in plan.where(lambda case: case.opset > 7)] == [13, 14, 14]
    assert [c.line for c in plan.at([3, 0])] == [5, 5]
    assert [case.call.model.opset_import[0].version for case in plan.loaded()] == [7, 13, 14, 14]
    with pytest.raises(IndexError):
        plan[4]


def test_memory_does_not_grow_with_the_cases(cache):
    """A plan holds eight bytes a case; the rest stays in the archives."""
    variants = ", ".join(map(str, range(7, 29)))
    text = CASE.replace("opset: 14", f"opset: [{variants}]")
    for i in range(100):
        Path(f"{i:03}.yaml").write_text(text)
    script = (
        "import tracemalloc\n"
        "from opcheck.harness.sources import plan_all\n"
        "plan_all(['000.yaml'])\n"
        "tracemalloc.start()\n"
        "plan = plan_all(['.'])\n"
        "n = sum(case.opset > 0 for case in plan.cases)\n"
        "print(n, tracemalloc.get_traced_memory()[0])\n"
    )
    for _ in range(2):
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
    cases, held = map(int, run.stdout.split())
    assert cases == 2200
    assert held < 400 * cases
