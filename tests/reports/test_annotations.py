"""Annotations: read as GitHub's runner reads them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from github_runner import Command, commands
from made_runs import WILD, different, record, run, wild_run
from opcheck.harness.record import Outcome, Problem, Run
from opcheck.reports.annotations import MOST, workflow_commands
from opcheck.reports.text import visible


def read(made: Run, folder: str = "") -> list[Command]:
    """Return the commands; every line is one."""
    text = workflow_commands(made, folder)
    found = commands(text)
    assert len(found) == text.count("\n") == len(text.splitlines())
    return found


def test_an_error_is_on_the_line_of_its_case():
    """File, line, title, and the difference as message."""
    (command,) = read(run(record(Outcome.FAILED, differences=different())))
    assert command.name == "error"
    assert command.properties == {
        "file": "cases/math/add.yaml",
        "line": "4",
        "title": "Add failed on some",
    }
    lines = command.data.split("\n")
    assert lines[0] == "cases/math/add.yaml::numbers[float32]"
    assert lines[1].startswith("c: float32[6], 1 of 6 elements differ")
    assert lines[-1].startswith("Run it again: opcheck run 'cases/math/add.yaml::numbers[float32]'")


def test_a_good_run_has_none():
    """Nor have deviations that are expected."""
    assert read(run(record(), record(Outcome.FAILED, expected=True))) == []


@pytest.mark.parametrize(
    ("folder", "file", "wanted"),
    [
        ("", "my/add.yaml", "my/add.yaml"),
        ("sub", "my/add.yaml", "sub/my/add.yaml"),
        ("sub", "../my/add.yaml", "my/add.yaml"),
        ("sub", "/ci/my/add.yaml", "/ci/my/add.yaml"),
        ("", "./my/add.yaml", "my/add.yaml"),
    ],
)
def test_files_are_seen_from_the_root_of_the_repository(folder, file, wanted):
    """The runner itself makes an absolute path relative."""
    (command,) = read(run(record(Outcome.FAILED, file=file)), folder)
    assert command.properties["file"] == wanted


@pytest.mark.parametrize(
    "made",
    [
        run(record(Outcome.FAILED, file="onnx:node", line=0), sources=["onnx:node"]),
        run(record(Outcome.FAILED), sources=[]),
    ],
    ids=["official", "bundled"],
)
def test_a_case_without_a_file_in_the_repository_has_no_place(made):
    """The official suite has no YAML file, and that of a bundled case is elsewhere."""
    (command,) = read(made)
    assert command.properties.keys() == {"title"}


def test_all_that_fails_a_run_is_said():
    """Missing results, bad cases with their lines, and expectations without effect."""
    made = run(record(), missing=2, unused=["nothing matches"],
               problems=(Problem("my/add.yaml", 3, "a", "seen a tab"),))  # fmt: skip
    found = read(made)
    assert [c.properties["title"] for c in found] == [
        "opcheck: incomplete",
        "opcheck: bad case",
        "opcheck: expectation without effect",
    ]
    assert [c.data for c in found] == ["2 results are missing", "seen a tab", "nothing matches"]
    assert (found[1].properties["file"], found[1].properties["line"]) == ("my/add.yaml", "3")


def test_the_first_ones_tell_most():
    """One of each group of like results before the next of one, the largest group first."""
    large = [record(Outcome.ERRORED, title=f"a{i}", line=10 + i // 2, message=f"no kernel {i}")
             for i in range(40)]  # fmt: skip
    small = [record(Outcome.FAILED, title="b", line=90, operator="Sub"),
             record(Outcome.CRASHED, title="c", line=91, operator="Mul")]  # fmt: skip
    *errors, notice = read(run(*small, *large))
    assert len(errors) == MOST
    assert [c.properties["line"] for c in errors[:4]] == ["10", "90", "91", "11"]
    assert errors[0].properties["title"] == "Add errored on some, 2 cases"
    assert errors[0].data.split("\n")[1] == "38 cases elsewhere went the same way."
    assert (notice.name, notice.data[:19]) == ("notice", "12 more errors are ")


@settings(deadline=None, max_examples=200)
@given(WILD)
def test_any_text_stays_inside_its_command(text):
    """No text begins a command of its own, and none is lost on the way through the runner."""
    found = read(wild_run(text))
    assert [c.name for c in found] == ["error"] * len(found)
    assert all(c.properties.keys() <= {"file", "line", "title"} for c in found)
    assert found[1].data == visible(text)
    assert any(visible(text).split("\n")[0][:200] in c.data for c in found[3:])
