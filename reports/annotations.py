"""Annotations: workflow commands that GitHub shows on the lines of a pull request."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from ..harness.record import Record, Run
from .alike import Group, groups
from .text import body, cut, one_line, visible
from .verdict import count, incomplete, unexpected

#: GitHub shows so many errors of a step and drops the others.
MOST = 10
_TITLE = 200
_LINES = 12
_LINE = 300


def workflow_commands(run: Run, folder: str = "") -> str:
    """Render ``run`` as workflow commands, a line each, in the order of what they tell.

    First that results are missing, then bad case files and expectations without effect, then the
    unexpected results: one of each group of like ones, the largest group first, then the others.
    At most ``MOST`` errors, and a notice of how many more there are.
    ``folder`` is the one that relative files are in, seen from the root of the repository.
    """
    commands: dict[str, None] = {}
    if said := incomplete(run):
        commands[_command("error", "opcheck: incomplete", said)] = None
    for problem in run.problems:
        place = _place(run, folder, problem.file, problem.line)
        commands[_command("error", "opcheck: bad case", problem.message, place)] = None
    for text in run.footer.unused:
        commands[_command("error", "opcheck: expectation without effect", text)] = None
    commands |= dict.fromkeys(_of_groups(run, folder, groups(unexpected(run))))
    lines = list(commands)[:MOST]
    if hidden := len(commands) - len(lines):
        said = f"{count(hidden, 'more error is', 'more errors are')} in the log and the reports."
        lines.append(_command("notice", "opcheck", said))
    return "".join(f"{line}\n" for line in lines)


def _of_groups(run: Run, folder: str, found: Iterable[Group]) -> Iterable[str]:
    """Return the errors of unexpected results: a round of groups for each next line of a file."""
    rounds = [_of_group(run, folder, group) for group in found]
    longest = max(map(len, rounds), default=0)
    return [commands[k] for k in range(longest) for commands in rounds if k < len(commands)]


def _of_group(run: Run, folder: str, group: Group) -> list[str]:
    """Return one error for each line of a file that cases of the group stand on."""
    places: dict[tuple[str, int], int] = {}
    firsts: dict[tuple[str, int], Record] = {}
    for record in group.records:
        place = (record.file, record.line)
        firsts.setdefault(place, record)
        places[place] = places.get(place, 0) + 1
    commands: list[str] = []
    for place, record in firsts.items():
        title = f"{group.operator} {record.outcome.value} on {record.backend}"
        if places[place] > 1:
            title += f", {places[place]:,} cases"
        lines = [record.case, *body(record)]
        if (more := len(group.records) - places[place]) and not commands:
            lines.insert(1, f"{count(more, 'case', 'cases')} elsewhere went the same way.")
        message = "\n".join(cut(line, _LINE) for line in lines[:_LINES])
        commands.append(_command("error", title, message, _place(run, folder, *place)))
    return commands


def _place(run: Run, folder: str, file: str, line: int | None) -> dict[str, str]:
    """Return file and line; nothing for a case without a file in the repository.

    Without any source the bundled cases were run, which are those of the installed package.
    """
    if not line or not run.header.sources:
        return {}
    return {"file": posixpath.normpath(posixpath.join(folder, file)), "line": str(line)}


def _command(kind: str, title: str, message: str, place: dict[str, str] | None = None) -> str:
    """Return a workflow command; what is special in it is escaped as GitHub reads it."""
    given = {**(place or {}), "title": one_line(title, _TITLE)}
    properties = ",".join(f"{name}={_property(value)}" for name, value in given.items())
    return f"::{kind} {properties}::{_data(visible(message))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
