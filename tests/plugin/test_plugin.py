"""``pytest cases/ --opcheck-backend KIND``."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import msgspec
import pytest

from opcheck.harness.record import Record
from opcheck.harness.sources import BUNDLED
from opcheck.reports.text import body

from .conftest import reported

#: Cases on which onnxruntime has nearly every outcome; both commands read it alike.
#: Where Scan-8 has no steps, onnxruntime gives memory that nobody has written, each time another.
SOME = "(scan_8 and not no_steps) or sequence_map_types or (unnamed_carried and 11)"

#: What pytest makes of an outcome.
RESULTS = {
    "passed": "passed",
    "failed": "failure",
    "errored": "failure",
    "crashed": "failure",
    "unsupported": "skipped",
}

ONE = """\
operator: Add
opset: 14
cases:
  - name: sum
    node: Add(a, b) -> (c)
    inputs: {a: {dtype: int32, data: [1, 2]}, b: {dtype: int32, data: [10, 20]}}
    outputs: {c: {dtype: int32, data: [11, 22]}}
"""

KNOWN = """\
backend: mini:at-float
sources: [small]
expectations:
  - case: small/add.yaml::numbers
    outcome: failed
    reason: Its floats are one too large.
"""
AT_FLOAT = ("--opcheck-backend=mini:at-float", "--opcheck-expect=known.yaml")


def test_ids_outcomes_and_diffs_are_those_of_opcheck(run_pytest, opcheck, tmp_path):
    """The same cases, chosen by the same words, with the same outcomes and the same text."""
    shutil.copytree(BUNDLED / "controlflow", tmp_path / "cases" / "controlflow")
    chosen = ("cases/controlflow", "-k", SOME)
    opcheck("run", *chosen, "-b", "onnxruntime", "--json", "run.jsonl")
    lines = (tmp_path / "run.jsonl").read_text().splitlines()
    records = [
        msgspec.json.decode(line, type=Record)
        for line in lines
        if json.loads(line)["is"] == "record"
    ]
    done = run_pytest(*chosen, "--opcheck-backend", "onnxruntime", "--junitxml", "x.xml", "-v")
    assert done.returncode == 1, done.stdout + done.stderr
    ids = re.findall(r"^(cases/\S+::\S+(?:\[\S+\])?) (?:PASSED|FAILED|SKIPPED)", done.stdout, re.M)
    assert ids == [record.case for record in records]
    results = reported(tmp_path / "x.xml")
    outcomes = [result.properties["outcome"] for result in results]
    assert outcomes == [record.outcome.value for record in records]
    assert {"passed", "failed", "errored", "crashed", "unsupported"} == set(outcomes)
    for record, result in zip(records, results, strict=True):
        assert result.result == RESULTS[record.outcome], record.case
        if result.result == "failure":
            text = result.texts["failure"]
            assert [t for t in body(record) if t not in text] == [], record.case
        assert result.properties["operator"] == record.operator
        assert result.properties["opset"] == str(record.opset)
        assert result.properties["since_version"] == str(record.since_version)


@pytest.mark.parametrize(
    "spread", [pytest.param((), id="alone"), pytest.param(("-n2",), id="xdist")]
)
def test_a_backend_gets_the_result_it_earned(run_pytest, tmp_path, spread):
    """What a backend does costs its item, with opcheck's words; all of it is inert in reports."""
    (tmp_path / "one.yaml").write_text(ONE)
    expected = {
        "right": ("passed", ""),
        "wrong-value": ("failure", "c: int32[2], 1 of 2 elements differ"),
        "unsupported": ("skipped", "unsupported: no such operator here"),
        "skips": ("skipped", "skipped: no such package here"),
        "exit-now": ("failure", "crashed: the process ended"),
        "hangs": ("failure", "timed out: no result after 1 s"),
        "does-not-start": ("error", "cannot start here: RuntimeError: no licence found"),
        "says-markup": ("failure", "RuntimeError: [red]<b>]]>\\x00\\ud800 done"),
        "chatty": ("failure", "1 of 2 elements differ"),
    }
    if spread:
        expected = {name: expected[name] for name in ("exit-now", "chatty")}
    backends = [f"--opcheck-backend=mini:{name}" for name in expected]
    done = run_pytest("one.yaml", *backends, *spread, "--opcheck-timeout=1",
                      "--junitxml=x.xml", "-o", "junit_logging=all")  # fmt: skip
    assert done.returncode == 1, done.stdout + done.stderr
    results = {result.name: result for result in reported(tmp_path / "x.xml")}
    assert set(results) == {f"sum[mini:{name}]" for name in expected}
    for name, (kind, said) in expected.items():
        result = results[f"sum[mini:{name}]"]
        assert result.result == kind, name
        assert said in result.messages.get(kind, ""), name
    assert "said on 2 red" in results["sum[mini:chatty]"].texts["system-out"]
    assert not re.search(r"[\x00-\x08\x0b-\x1f\ud800-\udfff]", done.stdout)
    assert "Traceback" not in done.stdout + done.stderr


def test_expectations_are_strict(run_pytest, small, tmp_path):
    """What is listed is an xfail, and nothing else is."""
    for name in ("other", "unlisted"):
        shutil.copy(small / "add.yaml", small / f"{name}.yaml")
    (tmp_path / "known.yaml").write_text(
        KNOWN
        + "  - {case: '*::integers[int64]', outcome: failed, reason: Integers too.}\n"
        + "  - {case: small/other.yaml::numbers, outcome: crashed, reason: It dies.}\n"
    )
    done = run_pytest("small", *AT_FLOAT, "--junitxml=x.xml")
    assert done.returncode == 1, done.stdout + done.stderr
    seen = [(r.name, r.result) for r in reported(tmp_path / "x.xml")]
    integers = [("integers[int32]", "passed"), ("integers[int64]", "failure")]
    assert seen == [
        *[("numbers", "skipped"), *integers],
        *[("numbers", "failure"), *integers],
        *[("numbers", "failure"), *integers],
    ]
    texts = [r.texts.get("failure", "") for r in reported(tmp_path / "x.xml")]
    assert "unexpected pass: unexpected: passed, wanted failed (known.yaml:7" in texts[2]
    assert "wanted crashed (known.yaml:8: It dies.)" in texts[3]
    assert "no entry of known.yaml covers it" in texts[6]


@pytest.mark.parametrize(
    ("more", "status"),
    [
        pytest.param((), 1, id="alone"),
        pytest.param(("-n2",), 1, id="xdist"),
        pytest.param(("-k", "numbers", "-rx"), 0, id="incomplete"),
    ],
)
def test_entries_without_effect_fail_a_complete_run(run_pytest, small, tmp_path, more, status):
    """The list ratchets, unless some cases were left out."""
    (tmp_path / "known.yaml").write_text(
        KNOWN + "  - {case: '*::none', outcome: failed, reason: Gone.}\n"
    )
    done = run_pytest("small", *AT_FLOAT, *more)
    assert done.returncode == status, done.stdout + done.stderr
    assert "1 xfailed" in done.stdout
    assert ("*::none matches nothing (known.yaml:7: Gone.)" in done.stdout) == (status == 1)
    assert ("Its floats are one too large" in done.stdout) == ("-rx" in more)


def test_mistakes_are_errors_and_other_files_are_left_alone(run_pytest, small, tmp_path):
    """A bad case names file and line and hides no good one; YAML of other tools is passed over."""
    bad = (small / "add.yaml").read_text().replace("data: [10, 20]", "dada: [10, 20]")
    (small / "bad.yaml").write_text(bad)
    (small / "broken.yaml").write_text("operator: Add\ncases:\n  - [\n")
    (small / "flow.yaml").write_text('{"opset": 14, "cases": 3}')
    (small / "misspelt.yaml").write_text("operator: Add\nopset: 14\ncase: []\n")
    (small / "compose.yaml").write_text("services:\n  cases: {image: x}\n")
    (tmp_path / "named.yaml").write_text("services: []\n")
    (small / "values.yml").write_text("operator: {image: x}\n{{ template }}\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\nopcheck_backend = builtin\n")
    done = run_pytest("small", "named.yaml", "-q")
    assert done.returncode == 1, done.stdout
    assert "4 passed, 5 errors" in done.stdout
    assert "ERROR small/bad.yaml::integers[mistake in line 17] - " in done.stdout
    assert "small/bad.yaml:17: cases[1].inputs.b.dada: seen the key 'dada'" in done.stdout
    assert "small/broken.yaml:3: seen no node content" in done.stdout
    assert "small/flow.yaml:1: cases: seen the number 3" in done.stdout
    assert "small/misspelt.yaml:3: case: seen the key 'case'" in done.stdout
    assert "\nnamed.yaml:1: services: seen the key 'services'" in done.stdout


def test_the_plugin_is_silent_without_a_backend(run_pytest, small, tmp_path):
    """No file is collected, and nothing heavy is imported."""
    (tmp_path / "conftest.py").write_text(
        "import sys\n"
        "def pytest_unconfigure(config):\n"
        "    assert 'opcheck.testing.plugin' in sys.modules\n"
        "    print('heavy:', sorted({'onnx', 'numpy', 'msgspec', 'click'} & set(sys.modules)))\n"
    )
    done = run_pytest(".", "-s")
    assert done.returncode == 5, done.stdout + done.stderr
    assert "collected 0 items" in done.stdout
    assert "heavy: []" in done.stdout


def test_last_failed_runs_what_failed(run_pytest, small):
    """``--lf`` takes the failures of the run before, and only these."""
    at_float = "--opcheck-backend=mini:at-float"
    assert "1 failed, 2 passed" in run_pytest("small", at_float, "-q").stdout
    again = run_pytest("small", "--lf", "-v", "--opcheck-backend=builtin").stdout
    assert "small/add.yaml::numbers PASSED" in again
    assert "1 passed" in again
    assert "integers" not in again


def test_any_order_gives_each_item_its_own_result(run_pytest, small, tmp_path):
    """Items may be run twice, in another order, or skipped by a marker."""
    (tmp_path / "conftest.py").write_text(
        "import pytest\n"
        "from _pytest.runner import runtestprotocol\n"
        "def pytest_collection_modifyitems(items):\n"
        "    items.reverse()\n"
        "    items[2].add_marker(pytest.mark.skip(reason='not here'))\n"
        "def pytest_runtest_protocol(item, nextitem):\n"
        "    runtestprotocol(item, nextitem=item)\n"
        "    runtestprotocol(item, nextitem=nextitem)\n"
        "    return True\n"
    )
    (tmp_path / "test_python.py").write_text("def test_between(): pass\n")
    backend = "--opcheck-backend=mini:at-float"
    done = run_pytest("small", "test_python.py", "small/add.yaml", backend, "-v")
    seen = re.findall(r"(\S+::\S+) (PASSED|FAILED|SKIPPED)", done.stdout)
    assert seen == [
        pair
        for name, result in [
            ("test_python.py::test_between", "PASSED"),
            ("small/add.yaml::integers[int64]", "PASSED"),
            ("small/add.yaml::integers[int32]", "SKIPPED"),
            ("small/add.yaml::numbers", "FAILED"),
        ]
        for pair in [(name, result)] * 2
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["--opcheck-backend=nope"], "no backend is called 'nope'", id="unknown"),
        pytest.param(["--opcheck-backend=builtin", "--opcheck-timeout=soon"],
                     "--opcheck-timeout: seen 'soon', wanted a number above 0", id="number"),
        pytest.param(["--opcheck-backend=builtin", "--opcheck-expect=known.yaml"],
                     "known.yaml is for mini:at-float; this run is on builtin", id="not-needed"),
    ],
)  # fmt: skip
def test_wrong_usage_is_told(run_pytest, small, tmp_path, arguments, said):
    """An error of usage is one line, and pytest's status for it."""
    (tmp_path / "known.yaml").write_text(KNOWN)
    done = run_pytest("small", *arguments)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_plugin_imports_little():
    """Every pytest run pays for it."""
    code = (
        "import sys; before = set(sys.modules); import opcheck.testing.plugin;"
        "print(sorted(m for m in set(sys.modules) - before if m.startswith('opcheck')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['opcheck', 'opcheck.testing', 'opcheck.testing.plugin']"
