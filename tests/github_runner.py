"""How the runner of GitHub's actions reads a log: which lines are commands, and what they say."""

from __future__ import annotations

import io
import unicodedata
from dataclasses import dataclass, field

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
