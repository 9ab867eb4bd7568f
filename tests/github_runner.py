"""The runner of GitHub's actions: how it reads a log, and how it runs the steps of an action."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path

import yaml

#: The commands that runners know.
KNOWN = set(
    "error warning notice debug group endgroup echo add-mask add-path add-matcher remove-matcher "
    "set-env set-output save-state stop-commands".split()
)


@dataclass
class Command:
    """A command: its name, its properties, and the data behind it."""

    name: str
    data: str
    properties: dict[str, str] = field(default_factory=dict)


def commands(log: str) -> list[Command]:
    """Return the commands in a log; lines end at LF, CR, and both together."""
    lines = io.StringIO(log, newline=None).read().split("\n")
    return [command for line in lines if (command := _new_form(line) or _old_form(line))]


def looks_like_a_command(log: str) -> bool:
    """Whether a line may be a command of any name.

    The runner compares by the rules of a culture, which ignore characters that are not seen; so
    all are dropped here that are neither visible nor white space.
    """
    for line in io.StringIO(log, newline=None).read().split("\n"):
        seen = "".join(c for c in line if unicodedata.category(c) not in ("Cc", "Cf", "Mn", "Cs"))
        if seen.lstrip().startswith("::") or "##[" in seen:
            return True
    return False


def _new_form(line: str) -> Command | None:
    """Read ``::name key=value,key=value::data``."""
    line = line.lstrip()
    if not line.startswith("::") or "::" not in line[2:]:
        return None
    head, _, data = line[2:].partition("::")
    name, _, rest = head.partition(" ")
    if name.lower() not in KNOWN:
        return None
    pairs = [pair.split("=", 1) for pair in rest.strip().split(",") if pair]
    properties = {pair[0]: _unescaped(pair[1], "\r\n:,%") for pair in pairs if len(pair) == 2}
    return Command(name.lower(), _unescaped(data, "\r\n%"), properties)


def _old_form(line: str) -> Command | None:
    """Read ``##[name key=value;key=value]data``, anywhere in a line."""
    _, sign, rest = line.partition("##[")
    head, end, data = rest.partition("]")
    name = head.partition(" ")[0]
    return Command(name.lower(), data) if sign and end and name.lower() in KNOWN else None


def _unescaped(text: str, signs: str) -> str:
    for sign in signs:
        text = text.replace(f"%{ord(sign):02X}", sign)
    return text


@dataclass
class Step:
    """What came of a step of an action: its status, its log, and the files it wrote to."""

    status: int
    log: str
    outputs: dict[str, str]
    summary: str


def run_action(action: Path, inputs: dict[str, str], workspace: Path, temp: Path) -> Step:
    """Run the last step of a composite action in ``workspace``, as the runner does.

    The step before it installs opcheck; here ``temp`` is given the environment of the tests.
    """
    described = yaml.safe_load(action.read_text())
    given = {name: one["default"] for name, one in described["inputs"].items()} | inputs
    assert given.keys() == described["inputs"].keys(), "an input that the action does not have"
    temp.mkdir()
    (temp / "opcheck-venv").symlink_to(Path(sys.executable).parent.parent)
    step = described["runs"]["steps"][-1]
    environment = {name: _evaluated(text, given) for name, text in step["env"].items()}
    return run_shell(step["run"], workspace, temp, action.parent, environment)


def run_shell(
    script: str, workspace: Path, temp: Path, action: Path, environment: dict[str, str]
) -> Step:
    """Run a script with bash as the runner calls it, with the files and variables it gives."""
    for name in ("output", "summary"):
        (temp / name).touch()
    path = temp / "script.sh"
    path.write_text(script)
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", path],
        cwd=workspace,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(action),
            "GITHUB_OUTPUT": str(temp / "output"),
            "GITHUB_STEP_SUMMARY": str(temp / "summary"),
            "GITHUB_WORKSPACE": str(workspace),
            "RUNNER_TEMP": str(temp),
            "OPCHECK_CACHE": str(temp / "cache"),
            **environment,
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
    )
    outputs = dict(line.split("=", 1) for line in (temp / "output").read_text().splitlines())
    return Step(done.returncode, done.stdout, outputs, (temp / "summary").read_text())


def _evaluated(text: str, inputs: dict[str, str]) -> str:
    """Evaluate the expressions of an ``env:``, which may only name inputs."""
    return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], text)
