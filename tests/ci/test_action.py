"""The GitHub action: its steps, run as the runner runs them."""

from __future__ import annotations

import json
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
import yaml

from github_runner import commands, run_action

ACTION = Path(__file__).parents[2] / "action.yml"
DESCRIBED = yaml.safe_load(ACTION.read_text())
SCRIPTS = [step for step in DESCRIBED["runs"]["steps"] if "run" in step]


@pytest.mark.parametrize("step", SCRIPTS, ids=lambda step: step["name"])
def test_no_script_has_an_expression(step):
    """What a workflow passes in stands in variables and is never part of a script."""
    assert "${{" not in step["run"]
    assert step["shell"] == "bash"
    subprocess.run(["bash", "-n", "-c", step["run"]], check=True)
    named = set(re.findall(r"inputs\.([\w-]+)", json.dumps(step["env"])))
    assert named <= DESCRIBED["inputs"].keys()


def test_every_input_and_output_is_connected():
    """Each input is used, and each output is one that the run sets."""
    text = json.dumps(DESCRIBED["runs"])
    assert [name for name in DESCRIBED["inputs"] if f"inputs.{name} " not in text] == []
    for name, output in DESCRIBED["outputs"].items():
        assert output["value"] == f"${{{{ steps.run.outputs.{name} }}}}"
        assert output["description"]


def test_opcheck_is_installed_from_the_checkout_of_the_action():
    """With the extras that were asked for, and not from an index."""
    (install,) = [step["run"] for step in SCRIPTS if "pip install" in step["run"]]
    assert '"$GITHUB_ACTION_PATH${EXTRAS:+[$EXTRAS]}"' in install


def test_a_gate_is_green_when_all_is_as_expected(repository, tmp_path):
    """Status 0, no annotation, the summary, and the reports where the outputs say."""
    given = {"source": "my_cases/\n", "backend": "onnxruntime", "expect": "known.yaml"}
    step = run_action(ACTION, given, repository, tmp_path / "temp")
    assert (step.status, commands(step.log)) == (0, []), step.log
    assert step.summary.startswith("### opcheck: all 3 as expected\n")
    assert step.outputs.keys() == DESCRIBED["outputs"].keys()
    assert step.outputs["status"] == "0"
    assert Path(step.outputs["markdown"]).read_text() == step.summary
    assert Path(step.outputs["html"]).stat().st_size > 10_000
    assert len(list(ET.parse(step.outputs["junit"]).iter("testcase"))) == 3
    lines = [json.loads(line) for line in Path(step.outputs["json"]).read_text().splitlines()]
    assert lines[-1]["known"] == 1


def test_a_gate_is_red_and_says_where(repository, tmp_path):
    """Status 1, an annotation on the line of the case, and the difference in the summary."""
    given = {"source": "my_cases/", "backend": "onnxruntime\nbuiltin", "arguments": "-v\n--ulp=0"}
    step = run_action(ACTION, given, repository, tmp_path / "temp")
    assert step.status == 1
    assert step.outputs["status"] == "1"
    assert step.summary.startswith("### opcheck: 2 unexpected results\n")
    assert "1 of 6 elements differ" in step.summary
    places = [(c.name, c.properties["file"], c.properties["line"]) for c in commands(step.log)]
    assert places == [("error", "my_cases/add.yaml", "4")] * 2


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"source": "nowhere"}, 2),
        ({"source": "$(touch broken)\n`touch broken`\n;touch broken"}, 2),
        ({"source": "my_cases/", "backend": '"; touch broken; "'}, 2),
        ({"source": "--json=broken"}, 2),
        ({"source": "my_cases/", "arguments": "-k\nnothing"}, 5),
    ],
)
def test_a_run_that_did_not_begin_says_so(repository, tmp_path, given, status):
    """The status is kept, and no input is taken for a command or an option."""
    step = run_action(ACTION, given, repository, tmp_path / "temp")
    assert step.status == status, step.log
    assert step.summary == f"### opcheck: no results, exit status {status}\n"
    assert sorted(path.name for path in repository.iterdir()) == ["known.yaml", "my_cases"]
