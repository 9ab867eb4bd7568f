"""``--expect`` and ``--update-expect``: what is known to go wrong, held against a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click
import msgspec

from ..harness.errors import CaseError
from ..harness.expectations import Expectations, empty, load
from ..harness.expectations_update import NotFinished, update, write
from ..harness.record import Record


@dataclass
class Expecting:
    """The expectations files of a run, at most one for a backend.

    ``everything`` says that all cases of the sources are run, once.
    """

    files: list[Expectations]
    sources: tuple[str, ...]
    everything: bool
    versions: dict[str, str] = field(default_factory=dict)
    records: dict[str, list[Record]] = field(default_factory=dict)

    def judge(self, record: Record) -> Record:
        """Return the record with what the expectations of its backend say of it."""
        found = self._of(record.backend)
        if found is None:
            return record
        slim = msgspec.structs.replace(record, outputs=[], printed="")
        self.records.setdefault(record.backend, []).append(slim)
        verdict = found.judge(record, self.versions.get(record.backend, ""))
        return msgspec.structs.replace(record, expected=verdict.accepted, verdict=verdict.text)

    def _of(self, backend: str) -> Expectations | None:
        return next((f for f in self.files if f.applies_to(backend)), None)

    def unused(self) -> list[str]:
        """Say which entries no longer hold, where the run was complete enough to know."""
        lines = []
        for expectations in self.files:
            if not self.everything or not expectations.covers(self.sources):
                continue
            for backend, records in self.records.items():
                if self._of(backend) is expectations:
                    unused = expectations.unused(records, self.versions.get(backend, ""))
                    lines += [u.text for u in unused]
        return lines

    def update(self, planned: Sequence[str]) -> None:
        """Rewrite the files; raises ``click.UsageError`` where the run does not allow it."""
        for expectations in self.files:
            backends = [b for b in self.records if self._of(b) is expectations]
            if not self.everything:
                raise click.UsageError("--update-expect needs all cases of the sources: no -k, -x")
            if len(backends) > 1:
                seen = f"{expectations.file} is for {' and '.join(backends)} alike"
                raise click.UsageError(f"--update-expect: {seen}; update it with one of them")
            for backend in backends:
                self._rewrite(expectations, backend, planned)

    def _rewrite(self, old: Expectations, backend: str, planned: Sequence[str]) -> None:
        records, version = self.records[backend], self.versions.get(backend, "")
        try:
            text = update(old, records, version, planned=planned, sources=self.sources)
            write(Path(old.file), text)
        except (NotFinished, CaseError) as error:
            raise click.UsageError(f"--update-expect: {error}") from None
        except OSError as error:
            raise click.UsageError(f"cannot write {old.file}: {error.strerror}") from None


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
    for path in paths:
        if new and not Path(path).exists():
            if len(backends) != 1:
                raise click.UsageError(f"{path} does not exist; a new file needs a single backend")
            files.append(empty(path, backends[0], sources))
            continue
        try:
            files.append(load(Path(path)))
        except CaseError as error:
            raise click.UsageError(str(error)) from None
    for one in files:
        if not any(one.applies_to(backend) for backend in backends):
            wanted = ", ".join(backends)
            raise click.UsageError(f"{one.file} is for {one.backend}; this run is on {wanted}")
    return Expecting(files, sources, everything)
