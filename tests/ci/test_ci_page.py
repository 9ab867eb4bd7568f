"""``docs/ci.md``: each snippet does what the page says of it."""

from __future__ import annotations

import re
import textwrap
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

from github_runner import Step, commands, run_action, run_shell

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text()
#: The snippets by the file that their first line names.
SNIPPETS = re.findall(r"```\w+\n(?:#|//) (\S+)\n(.*?)```", PAGE, re.DOTALL)
GITHUB = [yaml.safe_load(text) for name, text in SNIPPETS if name.endswith("conformance.yml")]
(SHARDS,) = [yaml.safe_load(text)["jobs"] for name, text in SNIPPETS if name.endswith("shards.yml")]
(GITLAB,) = [yaml.safe_load(text) for name, text in SNIPPETS if name == ".gitlab-ci.yml"]
(JENKINS,) = [text for name, text in SNIPPETS if name == "Jenkinsfile"]
INSTALL = "python -m pip install 'opcheck[onnxruntime]'"
#: Whether the cases are as the expectations say, and the status that the gate then has.
GATES = pytest.mark.parametrize(("known", "status"), [(True, 0), (False, 1)], ids=["green", "red"])


def execute(lines: list[str], repository: Path, temp: Path, known: bool) -> Step:
    """Run the lines of a job; opcheck is installed already, so the line that installs it is not."""
    assert lines.count(INSTALL) == 1
    temp.mkdir()
    script = "\n".join(line for line in lines if line != INSTALL)
    return run_shell(script, changed(repository, known), temp, ROOT, {"GITHUB_ACTIONS": ""})


def changed(repository: Path, known: bool) -> Path:
    """Return the repository, in which nothing is known to go wrong unless ``known``."""
    path = repository / "known.yaml"
    if not known:
        path.write_text(f"{path.read_text().partition('expectations:')[0]}expectations: []\n")
    return repository


def test_the_page_has_the_four_snippets():
    """GitHub with and without the action, GitLab, and Jenkins."""
    assert [len(job["jobs"]["conformance"]["steps"]) for job in GITHUB] == [2, 5]
    assert all(set(job) == {True, "jobs"} or set(job) == {"on", "jobs"} for job in GITHUB)


@GATES
def test_github_with_the_action(repository, tmp_path, known, status):
    """The step of the snippet, with its inputs, is the gate."""
    checkout, step = GITHUB[0]["jobs"]["conformance"]["steps"]
    assert checkout["uses"].startswith("actions/checkout@")
    assert step["uses"] == "opcheck/opcheck@main"
    made = run_action(ROOT / "action.yml", step["with"], changed(repository, known), tmp_path / "t")
    assert made.status == status, made.log
    assert len(commands(made.log)) == status
    assert made.summary.startswith("### opcheck: ")


@GATES
def test_github_without_the_action(repository, tmp_path, known, status):
    """The run is the gate; the step behind it, which always runs, fills the summary."""
    _, python, install, run, summary = GITHUB[1]["jobs"]["conformance"]["steps"]
    assert python["uses"].startswith("actions/setup-python@")
    assert summary["if"] == "always()"
    made = execute([install["run"], run["run"]], repository, tmp_path / "t", known)
    assert made.status == status, made.log
    assert len(commands(made.log)) == status
    (tmp_path / "u").mkdir()
    shown = run_shell(summary["run"], repository, tmp_path / "u", ROOT, {})
    assert shown.summary.startswith("### opcheck: ")


@GATES
def test_shards(repository, tmp_path, known, status):
    """The parts are gates, and so is what the last job makes of their results."""
    *_, install, run, upload = SHARDS["shard"]["steps"]
    statuses = []
    for i, shard in enumerate(SHARDS["shard"]["strategy"]["matrix"]["shard"]):

        def filled(text: str, i: int = i, shard: str = shard) -> str:
            text = text.replace("${{ matrix.shard }}", shard)
            return text.replace("${{ strategy.job-index }}", str(i))

        lines = [install["run"], filled(run["run"])]
        statuses.append(execute(lines, repository, tmp_path / f"t{i}", known).status)
        assert (repository / filled(upload["with"]["path"])).stat().st_size > 0
    assert max(statuses) == status
    *_, install, report = SHARDS["report"]["steps"]
    made = execute([install["run"], report["run"]], repository, tmp_path / "t", known)
    assert made.status == status, made.log
    assert "3 passed" in made.log or "2 passed" in made.log
    assert len(commands(made.log)) == status
    assert (repository / "opcheck.html").stat().st_size > 10_000


@GATES
def test_gitlab(repository, tmp_path, known, status):
    """The script is the gate, and the artifacts are where the job says."""
    job = GITLAB["conformance"]
    made = execute(job["script"], repository, tmp_path / "t", known)
    assert made.status == status, made.log
    assert job["artifacts"]["when"] == "always"
    for path in [*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]]:
        assert (repository / path).stat().st_size > 0


@GATES
def test_jenkins(repository, tmp_path, known, status):
    """The stage is the gate, and the step behind it finds the report."""
    (script,) = re.findall(r"sh '''\n(.*?)'''", JENKINS, re.DOTALL)
    lines = textwrap.dedent(script).strip().splitlines()
    made = execute(lines, repository, tmp_path / "t", known)
    assert made.status == status, made.log
    (report,) = re.findall(r"junit '([^']+)'", JENKINS)
    assert ET.parse(repository / report).getroot().get("failures") == str(status)
    assert JENKINS.count("{") == JENKINS.count("}")


def test_the_commands_of_the_page_are_those_of_the_program(opcheck, repository):
    """The file of expectations comes about as the page says."""
    (shell,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    (repository / "known.yaml").unlink()
    assert opcheck(*shell.splitlines()[0].split()[1:], cwd=repository).returncode == 0
    assert "my_cases/add.yaml::numbers" in (repository / "known.yaml").read_text()
    described = opcheck("run", "--help").stdout
    named = set(re.findall(r"`(--[a-z-]+)", PAGE))
    assert named
    assert [option for option in named if option not in described] == []
