"""In the log of a GitHub action: what is printed is no command, unless it is asked for."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings

from github_runner import commands, looks_like_a_command
from made_runs import WILD
from opcheck.cli.github import Inert

ACTION = {"GITHUB_ACTIONS": "true"}


@settings(deadline=None, max_examples=500)
@given(WILD)
def test_no_line_is_a_command(text):
    """Whatever is written, the runner finds nothing to obey."""
    out = io.StringIO(newline="")
    Inert(out).write(text)
    assert not looks_like_a_command(out.getvalue())
    assert commands(out.getvalue()) == []


@pytest.mark.parametrize("text", ["a::b", "x ::y", "cases/a.yaml::b[c]\n", "# a\n#[b]\n", "a: b"])
def test_other_text_is_written_as_it_is(text):
    """Ids of cases above all."""
    out = io.StringIO()
    Inert(out).write(text)
    assert out.getvalue() == text


def test_a_backend_cannot_give_commands(opcheck, small):
    """Neither indented nor wrapped text of a backend is a command; outside of an action it is."""
    run = ("run", "small/add.yaml::numbers", "-b", "mini:says-commands", "-v")
    done = opcheck(*run, **ACTION)
    assert done.returncode == 1
    assert not looks_like_a_command(done.stdout + done.stderr)
    unguarded = commands(opcheck(*run, GITHUB_ACTIONS="").stdout)
    assert {c.name for c in unguarded} >= {"add-mask", "warning"}


def test_a_case_file_cannot_give_commands(opcheck, small):
    """A mistake is told with the text of the file, on both streams."""
    path = small / "add.yaml"
    path.write_text(path.read_text().replace("numbers", '"::error::a\\n::notice::b ##[debug]c"'))
    for command in ("run", "list"):
        done = opcheck(command, "small", **ACTION)
        assert commands(done.stdout) == commands(done.stderr) == []
    done = opcheck("run", "::error::a\n::error::b::c", **ACTION)
    assert done.returncode == 2
    assert commands(done.stderr) == []


def test_annotations_are_printed_when_asked_for(opcheck, small, tmp_path):
    """They are the only commands in the log, and lie on the lines of the repository's files."""
    run = ("run", "small", "-b", "mini:says-commands", "--annotations", "github")
    found = commands(opcheck(*run, **ACTION, GITHUB_WORKSPACE=str(tmp_path.parent)).stdout)
    assert [c.name for c in found] == ["error", "error"]
    wanted = [(f"{tmp_path.name}/small/add.yaml", line) for line in ("4", "12")]
    assert [(c.properties["file"], c.properties["line"]) for c in found] == wanted
    assert "::error::one" in found[0].data
