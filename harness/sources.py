"""Where cases come from: YAML files, ONNX test data, onnx's own suites, folders, ids of cases."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from . import suite, testdata
from .case import Case
from .casefile import Loaded, load
from .errors import Path as PathInside

SUFFIXES = (".yaml", ".yml")

#: The cases that come with the package.
BUNDLED = Path(__file__).resolve().parent.parent / "cases"


class NoSuchSource(ValueError):
    """A SOURCE of the command line leads nowhere."""


@dataclass(slots=True)
class _Place:
    """A file of cases, a folder of test data or a suite, and what ids call it.

    ``kind`` is ``yaml``, ``data`` or ``suite``; a YAML file is read once, and whole.
    """

    kind: str
    path: Path
    name: str
    whole: Loaded | None = None

    def titles(self) -> list[str]:
        """Return the titles of its cases, without reading them where that is possible."""
        if self.kind == "suite":
            return suite.suite_titles(self.name)
        if self.kind == "data":
            return testdata.titles(self.path)
        return [case.title for case in self.read().cases]

    def read(self) -> Loaded:
        """Return all of a YAML file."""
        if self.whole is None:
            self.whole = load(self.path, self.name)
        return self.whole

    def load(self, wanted: str) -> Loaded:
        """Read its cases: those of an id, ``name`` or ``name[variant]``; all where it is empty."""
        if self.kind == "yaml":
            return _select(self.read(), wanted)
        chosen = None
        if wanted:
            chosen = [t for t in self.titles() if wanted in (t, t.partition("[")[0])]
        if self.kind == "suite":
            return suite.load_suite(self.name, chosen)
        return testdata.load_tests(self.path, self.name, chosen)


def load_all(sources: list[str]) -> Loaded:
    """Load all sources in order; a case that two of them name is taken once.

    With no source, the bundled cases. Raises ``NoSuchSource``.
    """
    everything = Loaded()
    seen: set[tuple[Path, str]] = set()
    reported: set[tuple[Path, str, int | None, PathInside, str]] = set()
    places: dict[tuple[Path, str], _Place] = {}
    for source in sources or ["cases"]:
        text, wanted = split_id(source)
        found = [
            places.setdefault((place.path, place.name), place)
            for place in _places(text, bundled=not sources)
        ]
        chosen = [(place, place.load(wanted)) for place in found]
        if wanted and not any(c.cases or c.errors for _, c in chosen):
            raise NoSuchSource(_no_case(text, wanted, found))
        for place, part in chosen:
            path = place.path.resolve()
            everything.cases += [c for c in part.cases if (path, c.title) not in seen]
            seen.update((path, c.title) for c in part.cases)
            for error in part.errors:
                within = error.file.removeprefix(place.name)
                mistake = (path, within, error.line, error.path, error.seen)
                if mistake not in reported:
                    everything.errors.append(error)
                    reported.add(mistake)
    return everything


def load_cases(name: str, ids: Collection[str]) -> dict[str, Case]:
    """Return the cases with these ids from one place, ``name``: what stands before their ``::``.

    It is a case file, a folder of test data or a suite; no more of it is read than is needed,
    and a case file once in a process. Ids that are not there are left out.
    Raises ``NoSuchSource`` where ``name`` leads nowhere.
    """
    titles = {case_id.removeprefix(f"{name}::") for case_id in ids}
    if suite.is_suite(name):
        try:
            cases = suite.load_suite(name, titles).cases
        except suite.UnknownSuite as error:
            raise NoSuchSource(str(error)) from None
    else:
        path = locate(name)
        if path.is_dir():
            cases = testdata.load_tests(path, name, titles).cases
        elif path.is_file():
            cases = _cases_of_file(path, name)
        else:
            raise NoSuchSource(f"{name} is neither a case file nor a folder of ONNX test data")
    return {case.id: case for case in cases if case.id in ids}


@cache
def _cases_of_file(path: Path, name: str) -> list[Case]:
    return load(path, name).cases


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


def _places(text: str, *, bundled: bool) -> list[_Place]:
    """Return the places of a source, in the order of their paths."""
    if suite.is_suite(text):
        if text not in suite.SUITES:
            raise NoSuchSource(_no_suite(text))
        return [_Place("suite", Path(text), text)]
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
        return [_Place("yaml", path, Path(name).as_posix())]
    found = [("yaml", p) for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file()]
    found += [("data", p) for p in testdata.find_tests(path)]
    if not found:
        raise NoSuchSource(f"{text} holds no case file; {wanted}, and no ONNX test data")
    found.sort(key=lambda place: place[1])
    return [_Place(kind, p, (Path(name) / p.relative_to(path)).as_posix()) for kind, p in found]


def _no_suite(text: str) -> str:
    near = get_close_matches(text, suite.SUITES, n=1, cutoff=0.5)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{text} is no suite; there are {', '.join(suite.SUITES)}{hint}"


def _select(loaded: Loaded, wanted: str) -> Loaded:
    """Return the cases of an id, ``name`` or ``name[variant]``; all where it is empty."""
    if not wanted:
        return loaded
    return Loaded(
        [c for c in loaded.cases if wanted in (c.name, c.title)],
        [e for e in loaded.errors if not e.case or _names(e.case, wanted)],
    )


def _names(title: str, wanted: str) -> bool:
    """Whether a title, whose variant may be unknown, and an id may mean the same case."""
    whole = "[" in title and "[" in wanted
    return title == wanted if whole else title.partition("[")[0] == wanted.partition("[")[0]


def _no_case(text: str, wanted: str, places: list[_Place]) -> str:
    known = {
        title: place.name
        for place in places
        for whole in place.titles()
        for title in (whole.partition("[")[0], whole)
    }
    near = get_close_matches(wanted, sorted(known), n=3, cutoff=0.5)
    ids = [f"{known[title]}::{title}" for title in near]
    hint = f"; did you mean {' or '.join(ids)}?" if ids else ""
    return f"{text} has no case {wanted!r}{hint}"
