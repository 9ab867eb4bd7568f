"""What is special in the log of a GitHub action: printed lines can be commands to the runner."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any, TextIO, cast

#: The runner obeys a line that begins with "::", after white space, and "##[" anywhere in a line.
#: It looks for them by a culture's rules, which ignore characters that are not seen, so that
#: anything but ASCII letters, digits and underscores may be among them here.
_COMMAND = re.compile(r"(?m)((?:^|\r)[^\w\r\n]*?:)(?=[^\w\s]*:)", re.ASCII)
_OLD_COMMAND = re.compile(r"#(?=[^\w\s]*#[^\w\s]*\[)", re.ASCII)


class Inert:
    """A text stream in which no line is a workflow command: a space comes between its signs."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Write a text; return its length, as streams do."""
        self.stream.write(_OLD_COMMAND.sub("# ", _COMMAND.sub(r"\1 ", text)))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def guard_output() -> None:
    """In the log of a GitHub action, let nothing that is printed be a workflow command."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        sys.stdout = cast(TextIO, Inert(sys.stdout))
        sys.stderr = cast(TextIO, Inert(sys.stderr))


def print_commands(text: str) -> None:
    """Print workflow commands that are meant."""
    stream = sys.stdout.stream if isinstance(sys.stdout, Inert) else sys.stdout
    stream.write(text)
    stream.flush()


def folder() -> str:
    """Return this folder as seen from the root of the repository, empty where it is not in it."""
    root, here = os.environ.get("GITHUB_WORKSPACE", ""), Path.cwd()
    if not root or not here.is_relative_to(Path(root).resolve()):
        return ""
    return here.relative_to(Path(root).resolve()).as_posix()
