"""The reports that a run and ``opcheck report`` write into files."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import click

from ..harness.record import Run, utf8

#: The reports of finished records: the option's name, and module and function in ``reports``.
REPORTS = {
    "junit": ("junit", "junit"),
}


def write_reports(run: Run, files: Mapping[str, str]) -> None:
    """Write the reports that were asked for, each into its file; raises ``click.UsageError``."""
    for kind, path in files.items():
        module, name = REPORTS[kind]
        render = getattr(importlib.import_module(f"...reports.{module}", __name__), name)
        with opened(path) as file:
            file.write(render(run))


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
