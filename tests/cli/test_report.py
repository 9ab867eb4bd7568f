"""``opcheck report``, and result files of runs that end in all sorts of ways."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

#: Cases of which the last hangs on the backend ``mini:at-17:hangs``: a run that is never done.
ENDLESS = """\
operator: Add
opset: 14
cases:
""" + "".join(
    f"""\
  - name: number{i}
    node: Add(a, b) -> (c)
    inputs: {{a: {{dtype: float32, data: {value}}}, b: {{dtype: float32, data: 1}}}}
    outputs: {{c: {{dtype: float32, data: {value + 1}}}}}
"""
    for i, value in enumerate([*range(12), 17])
)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("-b", "mini:right"), 0),
        (("-b", "builtin", "-b", "mini:says-markup", "--random-order", "3"), 1),
        (("-b", "mini:wrong-value", "-x"), 1),
    ],
    ids=["fine", "several", "stopped"],
)
def test_a_report_is_what_the_run_itself_wrote(opcheck, small, tmp_path, arguments, status):
    """The same JUnit report byte for byte, the same lines, the same status."""
    run = opcheck("run", "small", *arguments, "--junit", "run.xml", "--json", "run.jsonl")
    done = opcheck("report", "run.jsonl", "--junit", "again.xml", "--json", "again.jsonl")
    assert (run.returncode, done.returncode) == (status, status)
    assert done.stderr == ""
    assert (tmp_path / "again.xml").read_bytes() == (tmp_path / "run.xml").read_bytes()
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "run.jsonl").read_bytes()
    missing, shown = done.stdout.find("MISSING"), done.stdout
    if missing >= 0:
        shown = shown[:missing] + shown[shown.index("\n\n", missing) + 2 :]
    assert shown == run.stdout
    assert (missing >= 0) is ("-x" in arguments)


def test_bad_case_files_stay_in_the_report(opcheck, small):
    """Status 2, as the run had."""
    path = small / "add.yaml"
    path.write_text(path.read_text().replace("    why:", "    wyh:", 1))
    run = opcheck("run", "small", "--json", "run.jsonl")
    done = opcheck("report", "run.jsonl")
    assert (run.returncode, done.returncode) == (2, 2)
    assert done.stdout == run.stdout


def kill(folder: Path, plugin: Path, size: int) -> None:
    """Start a run, and kill it and its workers when its result file has some size."""
    path = folder / "run.jsonl"
    path.unlink(missing_ok=True)
    with subprocess.Popen(
        [sys.executable, "-m", "opcheck", "run", "endless.yaml", "-b", "mini:at-17:hangs",
         "-j", "1", "--timeout", "200", "--json", "run.jsonl", "-q"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(plugin), "OPCHECK_CACHE": str(folder / "cache")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:  # fmt: skip
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not (path.exists() and path.stat().st_size >= size):
            time.sleep(0.001)
        os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL


def test_a_run_that_is_killed_leaves_a_file_that_says_so(opcheck, tmp_path, plugin):
    """At three moments: what came is kept, the rest is missing, and any report can be made."""
    (tmp_path / "endless.yaml").write_text(ENDLESS)
    for size in (1, *random.sample(range(400, 4500), 2)):
        kill(tmp_path, plugin, size)
        lines = (tmp_path / "run.jsonl").read_text().splitlines()
        kept = sum(line.startswith('{"is":"record"') and line.endswith("}") for line in lines)
        assert kept <= 12
        done = opcheck("report", "run.jsonl", "--junit", "run.xml")
        assert done.returncode == 1
        assert "run.jsonl: the run was killed" in done.stdout
        assert f"mini:at-17:hangs: {13 - kept} of 13 results missing" in done.stdout
        assert f"interrupted: {kept} passed, {13 - kept} missing in" in done.stdout
        suite = ET.parse(tmp_path / "run.xml").getroot().find("testsuite")
        assert suite is not None
        assert suite.get("tests") == str(kept)


def test_a_shard_may_be_empty(opcheck, small):
    """With more shards than cases all are fine, and together they have every case."""
    names = []
    for part in range(1, 7):
        names.append(f"part{part}.jsonl")
        done = opcheck("run", "small", "--shard", f"{part}/6", "--json", names[-1], "-q")
        assert done.returncode == 0
        assert ("0 passed" in done.stdout) is ("all cases are in other shards" in done.stderr)
    done = opcheck("report", *names)
    assert done.returncode == 0
    assert "3 passed" in done.stdout
    assert opcheck("run", "small", "-k", "nothing", "--shard", "1/6").returncode == 5


def test_shards_and_backends_are_put_together(opcheck, small, tmp_path):
    """From all parts comes the whole; without one, its cases are missing."""
    for part in ("1/2", "2/2"):
        name = f"part{part[0]}.jsonl"
        opcheck("run", "small", "-b", "mini:at-float", "--shard", part, "--json", name)
    opcheck("run", "small", "--json", "oracle.jsonl")
    done = opcheck("report", "part2.jsonl", "part1.jsonl", "oracle.jsonl", "--json", "all.jsonl")
    assert done.returncode == 1
    assert "mini:at-float: 2 passed, 1 failed\nbuiltin: 3 passed\n" in done.stdout
    assert "MISSING" not in done.stdout
    oracle = outcomes(tmp_path / "oracle.jsonl", "builtin")
    assert outcomes(tmp_path / "all.jsonl", "builtin") == oracle
    wrong = {"small/add.yaml::numbers": "failed"}
    assert outcomes(tmp_path / "all.jsonl", "mini:at-float") == oracle | wrong
    again = opcheck("report", "all.jsonl")
    assert (again.stdout, again.returncode) == (done.stdout, 1)
    lacking = opcheck("report", "part1.jsonl", "oracle.jsonl", "-v")
    assert lacking.returncode == 1
    had = outcomes(tmp_path / "part1.jsonl", "mini:at-float")
    assert (
        f"mini:at-float: {3 - len(had)} of 3 results missing; shard 2/2 has no file"
        in lacking.stdout
    )
    missing = lacking.stdout[lacking.stdout.index("MISSING") :]
    for case in oracle:
        assert (f"    {case}\n" in missing) is (case not in had)


def outcomes(path: Path, backend: str) -> dict[str, str]:
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return {r["case"]: r["outcome"] for r in found if r.get("backend") == backend}


def test_files_that_do_not_go_together_are_refused(opcheck, small):
    """Status 2, both names, and what to do; a file that is none, too."""
    opcheck("run", "small", "--json", "one.jsonl")
    opcheck("run", "small", "--ulp", "3", "--json", "two.jsonl")
    done = opcheck("report", "one.jsonl", "two.jsonl")
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert "one.jsonl and two.jsonl do not go together: they differ in --ulp: none, and 3.0" in said
    done = opcheck("report", "small/add.yaml")
    assert done.returncode == 2
    assert "small/add.yaml is no result file: seen 'operator: Add'" in " ".join(done.stderr.split())
    assert opcheck("report", "none.jsonl").returncode == 2
    assert opcheck("report").returncode == 2


@pytest.mark.parametrize("command", [("run", "small"), ("report", "run.jsonl")])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--junit", "none/run.xml"), "cannot write none/run.xml: there is no folder"),
        (("--json", "small/add.yaml/x"), "cannot write small/add.yaml/x: "),
        (("--json", "x", "--junit", "./x"), "cannot write ./x: two reports would go there"),
        (("--json", "x" * 300), "File name too long"),
    ],
    ids=["no-folder", "no-folder-but-a-file", "twice", "long"],
)
def test_a_report_that_cannot_be_written_is_refused_at_once(
    opcheck, small, tmp_path, command, arguments, said
):
    """No case is run, and no file begun."""
    (tmp_path / "run.jsonl").write_text("")
    done = opcheck(*command, *arguments)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert done.stdout == ""
    assert {path.name for path in tmp_path.iterdir()} <= {"small", "run.jsonl", "cache"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_a_report_that_cannot_be_finished_loses_no_other(opcheck, small, tmp_path):
    """Status 2 in the end, with all that can be had."""
    done = opcheck("run", "small", "--json", "/dev/full", "--junit", "run.xml")
    assert done.returncode == 2
    assert "3 passed" in done.stdout
    assert "cannot write /dev/full: No space left on device; the run goes on" in done.stderr
    assert ET.parse(tmp_path / "run.xml").getroot().find("testsuite").get("tests") == "3"
    done = opcheck("run", "small", "--junit", "/dev/full", "--json", "run.jsonl")
    assert done.returncode == 2
    assert done.stderr == "opcheck: cannot write /dev/full: No space left on device\n"
    done = opcheck("report", "run.jsonl", "--junit", "/dev/full", "--json", "again.jsonl")
    assert done.returncode == 2
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "run.jsonl").read_bytes()


def test_names_that_are_no_text_are_kept_as_escapes(opcheck, small, tmp_path):
    """A file name of any bytes is in the results and every report."""
    (small / os.fsdecode(b"\xff.yaml")).write_bytes((small / "add.yaml").read_bytes())
    done = opcheck("run", "small", "-q", "--json", "run.jsonl", "--junit", "run.xml")
    assert done.returncode == 0
    assert opcheck("report", "run.jsonl", "-q", "--junit", "again.xml").returncode == 0
    assert (tmp_path / "again.xml").read_bytes() == (tmp_path / "run.xml").read_bytes()
    assert "small/\\\\udcff.yaml::numbers" in (tmp_path / "run.jsonl").read_text()


def test_reading_needs_no_runtime(opcheck, small, tmp_path):
    """``opcheck report`` and ``diff`` load neither onnx nor numpy."""
    opcheck("run", "small", "--json", "run.jsonl")
    code = (
        "import sys; from opcheck.cli.main import main\n"
        "for command in (['report', 'run.jsonl'], ['diff', 'run.jsonl', 'run.jsonl']):\n"
        "    main(command, standalone_mode=False)\n"
        "print(sorted({'onnx', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert "3 passed" in done.stdout
    assert "3 same" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
