"""The reports that a run and ``opcheck report`` write into files."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import click

from ..harness.record import Run, utf8
from ..harness.results import Line
from ..reports import jsonl
from . import github

#: The reports of finished records: the option's name, and module and function in ``reports``.
REPORTS = {
    "junit": ("junit", "junit"),
    "html": ("html", "html"),
    "markdown": ("markdown", "markdown"),
    "badge": ("badge", "badge"),
    "annotations": ("annotations", "workflow_commands"),
}
#: The reports that are printed: what their option takes is the name of a format, not of a file.
PRINTED = frozenset({"annotations"})
#: The results themselves, which a run writes as they come.
RESULTS = {
    "json": ("jsonl", "jsonl"),
}


def asked_for(given: Mapping[str, Any], kinds: Iterable[str] = REPORTS) -> dict[str, str]:
    """Return the reports to write, and into which files, from the values of the options."""
    files = {kind: given[f"{kind}_file"] for kind in kinds}
    return {kind: path for kind, path in files.items() if path}


def check_writable(files: Mapping[str, str]) -> None:
    """Raise ``click.UsageError`` for a file that could not be written, before work is done."""
    seen: set[Path] = set()
    for name in (path for kind, path in files.items() if kind not in PRINTED):
        try:
            path = Path(name).resolve()
            problem = _obstacle(path)
        except (OSError, RuntimeError) as error:  # a name that is too long, a link to itself
            said = getattr(error, "strerror", None) or error
            raise click.UsageError(f"cannot write {name}: {said}") from None
        if path in seen:
            problem = "two reports would go there; give each a file of its own"
        if problem:
            raise click.UsageError(f"cannot write {name}: {problem}")
        if path.is_file() or not path.exists():  # a device takes any number
            seen.add(path)


def _obstacle(path: Path) -> str:
    """Say why a file cannot be written; empty where nothing is known to be in the way."""
    folder = path.parent
    if path.is_dir():
        return "it is a folder"
    if path.exists():
        return "" if os.access(path, os.W_OK) else "it may not be changed"
    if not folder.is_dir():
        return f"{folder} is no folder" if folder.exists() else f"there is no folder {folder}"
    return "" if os.access(folder, os.W_OK | os.X_OK) else f"{folder} takes no new files"


def write_reports(run: Run, files: Mapping[str, str]) -> list[str]:
    """Write the reports that were asked for, each into its file.

    Return what could not be written. One that fails, even by a mistake of ours, loses no other.
    """
    problems = []
    mistake: Exception | None = None
    for kind, path in files.items():
        module, name = (REPORTS | RESULTS)[kind]
        try:
            render = getattr(importlib.import_module(f"...reports.{module}", __name__), name)
            if kind in PRINTED:
                github.print_commands(render(run, github.folder()))
                continue
            with Path(path).open("w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(render(run))
        except OSError as error:
            problems.append(f"cannot write {path}: {error.strerror}")
        except Exception as error:
            mistake = mistake or error
    if mistake is not None:
        raise mistake
    return problems


class Results:
    """A result file that grows with a run, if there is to be one.

    Each line is written at once; when that fails, the run goes on without the file.
    """

    def __init__(self, path: str | None) -> None:
        self.problems: list[str] = []
        self._path = path
        self._file: IO[str] | None = None

    def __enter__(self) -> Results:
        """Begin the file."""
        if self._path:
            self._file = opened(self._path)
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        if self._file is not None:
            self._file.close()

    def write(self, *entries: Line) -> None:
        """Write some lines."""
        if self._file is None:
            return
        try:
            for entry in entries:
                self._file.write(jsonl.line(entry) + "\n")
            self._file.flush()
        except OSError as error:
            problem = f"cannot write {self._path}: {error.strerror}"
            self.problems.append(problem)
            click.echo(f"opcheck: {problem}; the run goes on without it", err=True)
            self._give_up()

    def _give_up(self) -> None:
        file, self._file = self._file, None
        with suppress(OSError):
            if file is not None:
                file.close()


def opened(path: str) -> IO[str]:
    """Open a file for writing; raises ``click.UsageError``."""
    try:
        return Path(path).open("w", encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"cannot write {path}: {error.strerror}") from None


def written(text: str, path: str | None) -> None:
    """Write a text into a file, or print it where there is none."""
    if path is None:
        click.echo(utf8(text), nl=False)
        return
    with opened(path) as file:
        file.write(utf8(text))
