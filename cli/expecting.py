"""``--expect`` and ``--update-expect``: the files of the command line, read and rewritten."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ..harness.errors import CaseError
from ..harness.expectations import Expectations, empty, load
from ..harness.expectations_update import NotFinished, update, write
from ..harness.expecting import Expecting, NotNeeded, check_needed


def expecting(
    paths: Sequence[str],
    backends: Sequence[str],
    sources: tuple[str, ...],
    *,
    everything: bool,
    new: bool,
) -> Expecting:
    """Read expectations files; with ``new``, one that does not exist yet is empty.

    Raises ``click.UsageError`` for a file with mistakes, and for one that no backend needs.
    """
    files = []
    try:
        for path in paths:
            if new and not Path(path).exists():
                if len(backends) != 1:
                    seen = f"{path} does not exist"
                    raise click.UsageError(f"{seen}; a new file needs a single backend")
                files.append(empty(path, backends[0], sources))
            else:
                files.append(load(Path(path)))
        check_needed(files, backends)
    except (CaseError, NotNeeded) as error:
        raise click.UsageError(str(error)) from None
    return Expecting(files, sources, everything)


def rewrite(run: Expecting, planned: Sequence[str]) -> None:
    """Rewrite the files of a run; raises ``click.UsageError`` where the run does not allow it."""
    for expectations in run.files:
        backends = [b for b in run.records if run.of(b) is expectations]
        if not run.everything:
            raise click.UsageError("--update-expect needs all cases of the sources: no -k, -x")
        if len(backends) > 1:
            seen = f"{expectations.file} is for {' and '.join(backends)} alike"
            raise click.UsageError(f"--update-expect: {seen}; update it with one of them")
        for backend in backends:
            _rewrite(run, expectations, backend, planned)


def _rewrite(run: Expecting, old: Expectations, backend: str, planned: Sequence[str]) -> None:
    records, version = run.records[backend], run.versions.get(backend, "")
    try:
        text = update(old, records, version, planned=planned, sources=run.sources)
        write(Path(old.file), text)
    except (NotFinished, CaseError) as error:
        raise click.UsageError(f"--update-expect: {error}") from None
    except OSError as error:
        raise click.UsageError(f"cannot write {old.file}: {error.strerror}") from None
