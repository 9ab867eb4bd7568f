"""Where cases come from: YAML files, ONNX test data, onnx's own suites, folders, ids of cases."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path

from . import filecache, suite, testdata
from .archive import Shelf
from .case import Case
from .casefile import Loaded, load
from .errors import CaseError
from .errors import Path as PathInside
from .filecache import filling
from .plan import Loose, Place, Plan, Shelved

SUFFIXES = (".yaml", ".yml")

#: The cases that come with the package.
BUNDLED = Path(__file__).resolve().parent.parent / "cases"


class NoSuchSource(ValueError):
    """A SOURCE of the command line leads nowhere."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A file of cases, a folder of test data or a suite, and what ids call it.

    ``kind`` is ``yaml``, ``data`` or ``suite``.
    """

    kind: str
    path: Path
    name: str

    def shelf(self) -> Shelf | None:
        """Return where the archive of its cases is, if it has one."""
        if self.kind == "yaml":
            return filecache.shelf(self.path)
        return suite.shelf(self.name) if self.name in suite.CACHED else None

    def place(self, shelf: Shelf | None, wanted: str) -> Place:
        """Open it; of what is read at once, only the cases of an id, all where it is empty."""
        if shelf is not None:
            try:
                shelf.use(lambda archive: archive.heads)
            except Exception as error:  # whatever the modules of a broken onnx raise
                if self.kind == "yaml":
                    raise
                return Loose(self.name, [], [suite.broken(self.name, "", error)])
            return Shelved(self.name, shelf)
        if self.kind == "yaml":
            loaded = load(self.path, self.name)
        elif self.kind == "suite":
            chosen = _chosen(suite.suite_titles(self.name), wanted)
            loaded = suite.load_suite(self.name, chosen)
        else:
            chosen = _chosen(testdata.titles(self.path), wanted)
            loaded = testdata.load_tests(self.path, self.name, chosen)
        return Loose(self.name, loaded.cases, loaded.errors)


@dataclass(frozen=True, slots=True)
class Planning:
    """What the sources hold: the plan of all cases, and the mistakes found on the way.

    ``total`` is the number of cases of all shards, where ``cases`` is one of them.
    """

    cases: Plan
    errors: list[CaseError]
    total: int | None = None


def load_all(sources: list[str], jobs: int = 1) -> Loaded:
    """Load all sources in order, every case in full; otherwise as ``plan_all``."""
    planning = plan_all(sources, jobs)
    return Loaded(list(planning.cases.loaded()), planning.errors)


def plan_all(sources: list[str], jobs: int = 1) -> Planning:
    """Plan all cases of the sources in order; a case that two of them name is taken once.

    With no source, the bundled cases.
    Case files that are not in the cache are read by as many as ``jobs`` processes.
    Raises ``NoSuchSource``.
    """
    places: list[Place] = []
    chosen: list[tuple[int, int]] = []
    errors: list[CaseError] = []
    taken: dict[Path, Collection[int]] = {}
    reported: set[tuple[Path, str, int | None, PathInside, str]] = set()
    for source in sources or ["cases"]:
        text, wanted = split_id(source)
        found = _find(text, bundled=not sources)
        matched = False
        for path, place in _opened(found, wanted, jobs):
            numbers, mistakes = _of_id(place, wanted)
            matched = matched or bool(numbers or mistakes)
            before = taken.get(path, ())
            chosen += [(len(places), number) for number in numbers if number not in before]
            taken[path] = {*before, *numbers} if wanted else numbers
            places.append(place)
            for error in mistakes:
                within = error.file.removeprefix(place.name)
                mistake = (path, within, error.line, error.path, error.seen)
                if mistake not in reported:
                    errors.append(error)
                    reported.add(mistake)
        if wanted and not matched:
            raise NoSuchSource(_no_case(text, wanted, found))
    return Planning(Plan(places, chosen), errors)


def _opened(found: Sequence[_Found], wanted: str, jobs: int) -> Iterator[tuple[Path, Place]]:
    """Open the places of a source, one after the other, and say where they are."""
    shelves = [(one, one.shelf()) for one in found]
    files = [(s, one.path.stat().st_size) for one, s in shelves if s and one.kind == "yaml"]
    with filling(files, jobs) as wait:
        for one, shelf in shelves:
            if shelf is not None:
                wait(shelf)
            yield one.path.resolve(), one.place(shelf, wanted)


def _of_id(place: Place, wanted: str) -> tuple[Sequence[int], list[CaseError]]:
    """Return the numbers and the mistakes of an id; all where it is empty."""
    titles, errors = place.titles(), place.errors()
    if not wanted:
        return range(len(titles)), errors
    numbers = [i for i, title in enumerate(titles) if wanted in (title, _name(title))]
    return numbers, [e for e in errors if not e.case or _names(e.case, wanted)]


def _name(title: str) -> str:
    """Return the name of a case, without the variant."""
    return title.partition("[")[0]


def _chosen(titles: list[str], wanted: str) -> list[str] | None:
    return [t for t in titles if wanted in (t, _name(t))] if wanted else None


def load_cases(name: str, ids: Collection[str]) -> dict[str, Case]:
    """Return the cases with these ids from one place, ``name``: what stands before their ``::``.

    It is a case file, a folder of test data or a suite; no more of it is read than is needed.
    Ids that are not there are left out.
    Raises ``NoSuchSource`` where ``name`` leads nowhere.
    """
    titles = {case_id.removeprefix(f"{name}::") for case_id in ids}
    if suite.is_suite(name):
        try:
            cases = suite.load_suite(name, titles).cases
        except suite.UnknownSuite as error:
            raise NoSuchSource(str(error)) from None
        return {case.id: case for case in cases}
    path = locate(name)
    if path.is_dir():
        return {case.id: case for case in testdata.load_tests(path, name, titles).cases}
    if not path.is_file():
        raise NoSuchSource(f"{name} is neither a case file nor a folder of ONNX test data")
    place = _place_of_file(path, name)
    numbers = [i for i, title in enumerate(place.titles()) if title in titles]
    cases = [place.planned(number).load() for number in numbers]
    return {case.id: case for case in cases}


@lru_cache(maxsize=8)
def _place_of_file(path: Path, name: str) -> Place:
    """Open a case file, once for several batches of it."""
    found = _Found("yaml", path, name)
    return found.place(found.shelf(), "")


def locate(name: str) -> Path:
    """Return the path that ids call ``name``: below this folder, else among the bundled cases."""
    path = Path(name)
    if os.path.exists(path):  # noqa: PTH110 - Path.exists raises for a name that is too long
        return path
    parts = path.parts
    if parts and parts[0] == "cases":
        return BUNDLED.joinpath(*parts[1:])
    return path


def split_id(source: str) -> tuple[str, str]:
    """Split ``path::name[variant]``; the second part is empty where the source is no id."""
    if "::" not in source or os.path.exists(source):  # noqa: PTH110
        return source, ""
    path, _, wanted = source.rpartition("::")
    return path, wanted


def _find(text: str, *, bundled: bool) -> list[_Found]:
    """Return the places of a source, in the order of their paths."""
    if suite.is_suite(text):
        if text not in suite.SUITES:
            raise NoSuchSource(_no_suite(text))
        return [_Found("suite", Path(text), text)]
    path = BUNDLED if bundled else locate(text)
    name = text.rstrip("/") or text or "."
    if not os.path.exists(path):  # noqa: PTH110
        raise NoSuchSource(f"{text} is neither a case file nor a folder, and no bundled case")
    wanted = f"those end in {' or '.join(SUFFIXES)}"
    if path.is_file():
        if path.suffix == ".onnx":
            hint = f"a source is the folder around {testdata.MODEL} and {testdata.SETS}"
            raise NoSuchSource(f"{text} is a model; {hint}")
        if path.suffix not in SUFFIXES:
            raise NoSuchSource(f"{text} is no case file; {wanted}")
        return [_Found("yaml", path, Path(name).as_posix())]
    files = [p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file()]
    found = [("yaml", p) for p in files if p.name != testdata.MANIFEST]
    found += [("data", p) for p in testdata.find_tests(path)]
    if not found:
        raise NoSuchSource(f"{text} holds no case file; {wanted}, and no ONNX test data")
    found.sort(key=lambda place: place[1])
    return [_Found(kind, p, (Path(name) / p.relative_to(path)).as_posix()) for kind, p in found]


def _no_suite(text: str) -> str:
    near = get_close_matches(text, suite.SUITES, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{text} is no suite; there are {', '.join(suite.SUITES)}{hint}"


def _names(title: str, wanted: str) -> bool:
    """Whether a title, whose variant may be unknown, and an id may mean the same case."""
    whole = "[" in title and "[" in wanted
    return title == wanted if whole else title.partition("[")[0] == wanted.partition("[")[0]


def _no_case(text: str, wanted: str, found: Sequence[_Found]) -> str:
    known = {
        title: place.name
        for _, place in _opened(found, "", 1)
        for whole in place.titles()
        for title in (_name(whole), whole)
    }
    near = get_close_matches(wanted, sorted(known), n=3, cutoff=0.5)
    ids = [f"{known[title]}::{title}" for title in near]
    hint = f"; did you mean {' or '.join(ids)}?" if ids else ""
    return f"{text} has no case {wanted!r}{hint}"
