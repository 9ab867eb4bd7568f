"""``opcheck coverage`` and ``schema``."""

from __future__ import annotations

import json
import re

import pytest

from opcheck.harness.caseschema import schema


def test_coverage_of_a_folder(opcheck, small):
    """Three cases of Add-14; the table, and what is missing."""
    done = opcheck("coverage", "small", "--op", "Add", "--opset", "14")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^family +signatures +covered$", done.stdout, re.MULTILINE)
    assert re.search(r"^math +3/12 +25.0%$", done.stdout, re.MULTILINE)
    assert "9 signatures of 12 without a case:" in done.stdout
    assert "type T: 3/12" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_too_little_is_status_1_with_the_number(opcheck, small):
    """The exact share decides, not the rounded one."""
    given = ("coverage", "small", "--op", "Add", "--opset", "14", "--fail-under")
    assert opcheck(*given, "25").returncode == 0
    done = opcheck(*given, "25.01")
    assert done.returncode == 1
    assert "25.0% of the signatures have a case, wanted 25.01%" in done.stderr


def test_only_what_passes_counts_as_passing(opcheck, small):
    """A backend with wrong values covers as much and passes nothing."""
    run = opcheck("run", "small", "--backend", "mini:wrong-value", "--backend", "mini:right",
                  "--json", "run.jsonl")  # fmt: skip
    assert run.returncode == 1
    given = ("coverage", "small", "--op", "Add", "--results", "run.jsonl", "--format", "json")
    found = json.loads(opcheck(*given).stdout)["total"]
    assert found["signatures"]["covered"] == 3
    passed = {name: count["covered"] for name, count in found["passed"].items()}
    assert passed == {"mini:wrong-value": 0, "mini:right": 3}


def test_results_of_other_cases_are_said(opcheck, small):
    """They are of no source, and so count for nothing."""
    opcheck("run", "small", "--json", "run.jsonl")
    done = opcheck("coverage", "small/add.yaml::numbers", "--op", "Add", "--results", "run.jsonl")
    assert "Not counted: 2 results of cases that are not in the sources" in done.stdout


@pytest.mark.parametrize(("kind", "begins"), [
    ("json", "{"), ("markdown", "# Coverage"), ("html", "<!DOCTYPE html>"), ("table", "operator"),
])  # fmt: skip
def test_reports_go_into_files(opcheck, small, tmp_path, kind, begins):
    """The same text as on standard output."""
    given = ("coverage", "small", "--op", "Add", "--by", "operator", "--format", kind)
    done = opcheck(*given, "--output", "out")
    assert (done.returncode, done.stdout) == (0, "")
    text = (tmp_path / "out").read_text()
    assert text.startswith(begins)
    assert opcheck(*given).stdout == text


def test_missing_writes_stubs_that_are_no_cases_yet(opcheck, small, tmp_path):
    """Each type that is missing is asked for; a TODO is refused with its line."""
    done = opcheck("coverage", "small", "--op", "Add", "--opset", "14", "--missing",
                   "--output", "todo.yaml")  # fmt: skip
    assert done.returncode == 0
    text = (tmp_path / "todo.yaml").read_text()
    assert "node: Add(A, B) -> (C)" in text
    assert "uint64" in text
    assert "int64" not in text.replace("uint64", "")
    run = opcheck("run", "todo.yaml")
    assert run.returncode == 2
    assert "TODO" in run.stdout + run.stderr


@pytest.mark.parametrize(("arguments", "said"), [
    (["--op", "Addd"], "did you mean Add?"),
    (["--domain", "ai.onx"], "only ai.onnx, "),
    (["--op", "Range", "--opset", "3"], "no operator is in force at opset 3"),
    (["--missing", "--format", "json"], "--missing writes YAML"),
    (["--results", "small/add.yaml"], "is no result file"),
    (["no-such-folder"], "no-such-folder"),
])  # fmt: skip
def test_wrong_usage(opcheck, small, arguments, said):
    """Status 2 and what would be right."""
    done = opcheck("coverage", "small", *arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_bad_file_is_reported(opcheck, small):
    """The good cases count, the status is 2."""
    path = small / "add.yaml"
    path.write_text(path.read_text().replace("    why:", "    wyh:", 1))
    done = opcheck("coverage", "small", "--op", "Add")
    assert done.returncode == 2
    assert "2/" in done.stdout
    assert "small/add.yaml:5" in done.stderr


def test_schema_prints_the_schema(opcheck, tmp_path):
    """On standard output, or into a file for an editor; a folder with it is still a source."""
    done = opcheck("schema")
    assert (done.returncode, done.stdout) == (0, schema())
    assert opcheck("schema", "--output", "cases.schema.json").returncode == 0
    assert (tmp_path / "cases.schema.json").read_text() == schema()
    listed = opcheck("list", "cases/image")
    assert listed.returncode == 0
    assert "schema" not in listed.stdout
