"""What a run is going to do: cases, of which no more is in memory than is needed.

A plan holds for each case its place and its number there, eight bytes in all.
What more is known of a case is read from the archive of its place when it is asked for, and the
case itself when it is loaded.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Protocol, overload

from .archive import Archive, Head, Shelf
from .case import Case, Planned
from .errors import CaseError
from .packed import unpack


class Place(Protocol):
    """Some cases that stand together: those of a file, a folder of test data, a suite."""

    @property
    def name(self) -> str:
        """What ids call it."""

    def titles(self) -> list[str]:
        """Return the titles of its cases."""

    def planned(self, number: int) -> Planned:
        """Return what is known of one of its cases."""

    def errors(self) -> list[CaseError]:
        """Return its mistakes."""


@dataclass(frozen=True, slots=True)
class Loose:
    """Cases that are in memory."""

    name: str
    cases: list[Case]
    mistakes: list[CaseError]

    def titles(self) -> list[str]:
        """Return the titles of its cases."""
        return [case.title for case in self.cases]

    def planned(self, number: int) -> Planned:
        """Return a case."""
        return self.cases[number]

    def errors(self) -> list[CaseError]:
        """Return its mistakes."""
        return self.mistakes


@dataclass(frozen=True, slots=True)
class Shelved:
    """Cases that are in an archive."""

    name: str
    shelf: Shelf

    def titles(self) -> list[str]:
        """Return the titles of its cases."""
        return self.shelf.use(lambda archive: [head.title for head in archive.heads])

    def planned(self, number: int) -> Planned:
        """Return what the index tells of a case."""
        head = self.shelf.use(lambda archive: archive.heads[number])
        return _Entry(**head.known(), file=self.name, place=self, number=number)

    def errors(self) -> list[CaseError]:
        """Return its mistakes."""
        return [m.error(self.name) for m in self.shelf.use(lambda archive: archive.mistakes)]

    def load(self, number: int) -> Case:
        """Read one of its cases."""

        def read(archive: Archive) -> Case:
            head: Head = archive.heads[number]
            return unpack(head, next(archive.blobs([number])), self.name)

        return self.shelf.use(read)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry(Planned):
    """A case in an archive."""

    place: Shelved
    number: int

    def load(self) -> Case:
        """Read the case."""
        return self.place.load(self.number)


class Plan(Sequence[Planned]):
    """Cases of some places, in order."""

    def __init__(self, places: Sequence[Place], chosen: Iterable[tuple[int, int]]) -> None:
        self._places = places
        self._of = array("I")
        self._numbers = array("I")
        for place, number in chosen:
            self._of.append(place)
            self._numbers.append(number)

    def __len__(self) -> int:
        return len(self._of)

    @overload
    def __getitem__(self, index: int) -> Planned: ...
    @overload
    def __getitem__(self, index: slice) -> Plan: ...
    def __getitem__(self, index: int | slice) -> Planned | Plan:
        if isinstance(index, slice):
            return self.at(range(*index.indices(len(self))))
        return self._places[self._of[index]].planned(self._numbers[index])

    def at(self, indices: Iterable[int]) -> Plan:
        """Return the plan of the cases at some indices, in this order."""
        return Plan(self._places, ((self._of[i], self._numbers[i]) for i in indices))

    def grouped(self) -> Iterator[tuple[Place, list[int]]]:
        """Return the places in order, each with the numbers of its cases."""
        pairs = zip(self._of, self._numbers, strict=True)
        for place, numbers in groupby(pairs, key=lambda pair: pair[0]):
            yield self._places[place], [number for _, number in numbers]

    def where(self, wanted: Callable[[Planned], bool]) -> Plan:
        """Return the plan of the cases that are wanted."""
        return self.at(i for i, case in enumerate(self) if wanted(case))

    def loaded(self) -> Iterator[Case]:
        """Return the cases themselves, one after the other."""
        return (case.load() for case in self)
