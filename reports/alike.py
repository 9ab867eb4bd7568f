"""Results that are alike, so that 300 refusals for one reason are shown as one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..harness.alike import shape
from ..harness.expectations import full_name
from ..harness.record import Record
from .text import headline


@dataclass(frozen=True)
class Group:
    """Results of one operator on one backend with the same outcome for the same reason."""

    records: list[Record]

    @property
    def first(self) -> Record:
        """The result that stands for all."""
        return self.records[0]

    @property
    def operator(self) -> str:
        """The operator, with its domain unless that is ONNX's own."""
        return full_name(self.first.domain, self.first.operator)

    @property
    def message(self) -> str:
        """What came of the first, in one line."""
        return headline(self.first) or self.first.verdict


def groups(records: Iterable[Record]) -> list[Group]:
    """Put results together that differ in numbers, names and paths only, the largest group first.

    Groups of one size, and the results in a group, keep their order.
    """
    found: dict[tuple[str, ...], list[Record]] = {}
    for record in records:
        key = (record.backend, record.domain, record.operator, record.outcome, shape(record))
        found.setdefault(key, []).append(record)
    return sorted(map(Group, found.values()), key=lambda group: -len(group.records))
