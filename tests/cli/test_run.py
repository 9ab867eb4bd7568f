"""``opcheck run`` as its users call it."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

ESCAPE = "\x1b"


def test_all_is_well(opcheck, small):
    """Status 0, and a closing line that pytest users know."""
    done = opcheck("run", str(small))
    assert done.returncode == 0
    assert done.stdout.strip().strip("=").strip().startswith("3 passed in ")
    assert done.stderr == ""


def test_without_a_source_the_bundled_cases_are_run(opcheck):
    """A bare ``opcheck run`` has a suite, from any folder."""
    done = opcheck("run", "-k", "scan_pairwise_distance")
    assert done.returncode == 0
    assert "passed" in done.stdout


def test_changing_one_number_fails_the_run_and_names_the_element(opcheck, small):
    """Status 1; the element, what was expected, and what came."""
    path = small / "add.yaml"
    path.write_text(path.read_text().replace("[5, 6, 7]", "[5, 6.5, 7]"))
    done = opcheck("run", "small")
    assert done.returncode == 1
    assert "FAILED small/add.yaml::numbers  builtin" in done.stdout
    assert "c: float32[2, 3], 1 of 6 elements differ (allowed: 1 ULP)" in done.stdout
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["index", "expected", "got", "absolute", "relative", "ULP"] in lines
    assert ["[1,", "1]", "6.5", "6.0", "0.5", "0.0769", "1048576"] in lines
    assert "Catches a runtime that multiplies." in done.stdout
    assert "1 failed, 2 passed in" in done.stdout


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("    node: Add(a, b) -> (c)", "\tnode: Add(a, b) -> (c)", 6, "seen a tab in the"),
        ("    why:", "    wyh:", 5, "did you mean 'why'?"),
    ],
    ids=["tab", "wrong-key"],
)
def test_a_mistake_in_a_file_is_status_2_with_file_and_line(opcheck, small, old, new, line, said):
    """A bad file never passes silently."""
    path = small / "add.yaml"
    path.write_text(path.read_text().replace(old, new, 1))
    done = opcheck("run", "small")
    assert done.returncode == 2
    assert f"small/add.yaml:{line}" in done.stdout
    assert said in " ".join(done.stdout.split())
    assert "1 bad case" in done.stdout


def test_a_bad_case_does_not_stop_the_good_ones(opcheck, small):
    """The good cases of the file are run and counted, and the run still exits 2."""
    path = small / "add.yaml"
    path.write_text(path.read_text().replace("    why:", "    wyh:", 1))
    done = opcheck("run", str(small))
    assert done.returncode == 2
    assert "1 bad case, 2 passed in" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("-k", "nothing"), 5, "no case matched"),
        (("--op", "Sub"), 5, "no case matched"),
        (
            ("--backend", "no-such"),
            2,
            "no backend is called 'no-such'; there are builtin, reference",
        ),
        (("-k", "a and"), 2, "seen the end, wanted a word"),
        (("--dtype", "float33"), 2, "'float33' is no element type of ONNX"),
        (("--wrong",), 2, "No such option"),
        (("--backend", "mini:does-not-start"), 3, "did not start"),
        (("--json", "/no/such/folder/x.jsonl"), 2, "there is no folder /no/such/folder"),
    ],
)
def test_statuses(opcheck, small, arguments, status, said):
    """Wrong usage, a backend that cannot run, and no case each have their status."""
    done = opcheck("run", str(small), *arguments)
    assert done.returncode == status
    assert said in " ".join(done.stderr.split())


def test_a_source_that_leads_nowhere(opcheck, small):
    """An unknown case suggests the known ones."""
    assert opcheck("run", "nowhere").returncode == 2
    done = opcheck("run", "small/add.yaml::number")
    assert done.returncode == 2
    assert "did you mean small/add.yaml::numbers?" in " ".join(done.stderr.split())


def test_ids_can_be_pasted_back(opcheck, small):
    """Every id that ``list`` prints is a source that holds just this case."""
    ids = opcheck("list", "small").stdout.split()
    assert len(ids) == 3
    for case_id in ids:
        assert opcheck("list", case_id).stdout.split() == [case_id]


@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        (("-k", "integers and not int64"), 1),
        (("--op", "add"), 3),
        (("--op", "ai.onnx.Add"), 3),
        (("--opset", "14"), 3),
        (("--dtype", "int64"), 1),
        (("--dtype", "float"), 1),
        (("--dtype", "int64", "--dtype", "int32"), 2),
    ],
)
def test_selection(opcheck, small, arguments, passed):
    """What is chosen is run, and nothing else."""
    done = opcheck("run", str(small), *arguments)
    assert f" {passed} passed in" in done.stdout


def test_first_failure_stops(opcheck, small):
    """``-x`` leaves the remaining cases out."""
    done = opcheck("run", str(small), "--backend", "mini:wrong-value", "-x")
    assert done.returncode == 1
    assert "1 failed, 0 passed, 2 missing in" in done.stdout


def test_quiet_and_verbose(opcheck, small):
    """``-q`` prints the totals only; ``-v`` a line for each case."""
    quiet = opcheck("run", "small", "--backend", "mini:wrong-value", "-q")
    assert quiet.returncode == 1
    assert len(quiet.stdout.splitlines()) == 1
    verbose = opcheck("run", "small", "-v")
    assert "small/add.yaml::integers[int64]  builtin  passed" in verbose.stdout.splitlines()


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("segfault", "crashed"),
        ("hangs", "timed out"),
        ("unsupported", "unsupported"),
        ("out-of-memory", "out of memory"),
        ("raises-loading", "errored"),
        ("wrong-dtype", "failed"),
    ],
)
def test_no_outcome_but_passed_is_accepted(opcheck, small, name, word):
    """Status 1, and the outcome in the closing line."""
    done = opcheck("run", "small/add.yaml::numbers", "--backend", f"mini:{name}", "--timeout", "3")
    assert done.returncode == 1
    assert f"1 {word}, 0 passed in" in done.stdout


def test_output_is_plain_when_piped(opcheck, small):
    """No colours, no bar, and no line of prose or table wider than the terminal."""
    done = opcheck("run", "small", "--backend", "mini:says-markup", "--backend", "mini:wrong-value")
    assert ESCAPE not in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert not any(line != line.rstrip() for line in done.stdout.splitlines())


def test_what_a_backend_says_is_shown_as_it_is(opcheck, small):
    """Markup is not obeyed, control characters are made visible, colours dropped."""
    done = opcheck("run", "small/add.yaml::numbers", "--backend", "mini:says-markup")
    assert "[red]<b>]]>\\x00\\ud800 done" in done.stdout


@pytest.mark.parametrize(("colour", "expected"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_on_a_terminal_unless_no_color(opcheck, small, colour, expected):
    """A terminal gets colours; ``NO_COLOR`` turns them off."""
    done = opcheck("run", "small", FORCE_COLOR="1", **colour)
    assert (f"{ESCAPE}[32m" in done.stdout) is expected


def test_json_lines(opcheck, small, tmp_path):
    """A header, a record per case and backend, a footer; before a bad record what the case is."""
    opcheck("run", "small", "-b", "builtin", "-b", "mini:wrong-value", "--json", "run.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    kinds = ["header", *["record", "case", "record"] * 3, "footer"]
    assert [line["is"] for line in lines] == kinds
    header, *entries, footer = lines
    records = [entry for entry in entries if entry["is"] == "record"]
    assert header["backends"].keys() == {"builtin", "mini:wrong-value"}
    assert [r["backend"] for r in records] == ["builtin", "mini:wrong-value"] * 3
    failed = records[1]
    assert failed["outcome"] == "failed"
    assert failed["differences"][0]["worst"]["index"] == [1, 2]
    assert footer["totals"] == {"builtin": {"passed": 3}, "mini:wrong-value": {"failed": 3}}


def test_junit(opcheck, small, tmp_path):
    """One suite per backend, one testcase per case, the diff in the failure."""
    opcheck("run", "small", "-b", "builtin", "-b", "mini:wrong-value", "--junit", "run.xml")
    root = ET.parse(tmp_path / "run.xml").getroot()
    suites = {s.get("name"): s for s in root.findall("testsuite")}
    assert suites.keys() == {"builtin", "mini:wrong-value"}
    wrong = suites["mini:wrong-value"]
    assert (wrong.get("tests"), wrong.get("failures"), wrong.get("errors")) == ("3", "3", "0")
    text = wrong.find("testcase/failure").text
    assert "1 of 6 elements differ" in text
    assert "[1, 2]" in text


def test_help_loads_neither_onnx_nor_numpy(opcheck):
    """``opcheck --help`` answers at once."""
    code = (
        "import sys; from opcheck.cli.main import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'onnx', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "compare" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
