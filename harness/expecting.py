"""The expectations files of a run, held against its records as they come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import msgspec

from .expectations import Expectations
from .record import Record


class NotNeeded(ValueError):
    """An expectations file is for a backend that does not run."""


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
        found = self.of(record.backend)
        if found is None:
            return record
        slim = msgspec.structs.replace(record, outputs=[], printed="")
        self.records.setdefault(record.backend, []).append(slim)
        verdict = found.judge(record, self.versions.get(record.backend, ""))
        return msgspec.structs.replace(record, expected=verdict.accepted, verdict=verdict.text)

    def of(self, backend: str) -> Expectations | None:
        """Return the file that is for a backend."""
        return next((f for f in self.files if f.applies_to(backend)), None)

    def unused(self) -> list[str]:
        """Say which entries no longer hold, where the run was complete enough to know."""
        lines = []
        for expectations in self.files:
            if not self.everything or not expectations.covers(self.sources):
                continue
            for backend, records in self.records.items():
                if self.of(backend) is expectations:
                    unused = expectations.unused(records, self.versions.get(backend, ""))
                    lines += [u.text for u in unused]
        return lines


def check_needed(files: Iterable[Expectations], backends: Sequence[str]) -> None:
    """Raise ``NotNeeded`` for a file that is for none of the backends."""
    for one in files:
        if not any(one.applies_to(backend) for backend in backends):
            wanted = ", ".join(backends)
            raise NotNeeded(f"{one.file} is for {one.backend}; this run is on {wanted}")
