"""Where cases come from: YAML files, folders of them, ids of single cases."""

from __future__ import annotations

import os
from collections.abc import Collection
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from .case import Case
from .casefile import Loaded, load
from .errors import Path as PathInside

SUFFIXES = (".yaml", ".yml")

#: The cases that come with the package.
BUNDLED = Path(__file__).resolve().parent.parent / "cases"


class NoSuchSource(ValueError):
    """A SOURCE of the command line leads nowhere."""


def load_all(sources: list[str]) -> Loaded:
    """Load all sources in order; a case that two of them name is taken once.

    With no source, the bundled cases. Raises ``NoSuchSource``.
    """
    everything = Loaded()
    seen: set[tuple[Path, str]] = set()
    files: dict[tuple[Path, str], Loaded] = {}
    reported: set[tuple[Path, int | None, PathInside, str]] = set()
    for source in sources or ["cases"]:
        path_text, _, wanted = source.partition("::")
        found = _files(path_text, bundled=not sources)
        for path, name in found:
            if (path, name) not in files:
                files[path, name] = load(path, name)
        chosen = [(path, _select(files[path, name], wanted)) for path, name in found]
        if wanted and not any(c.cases or c.errors for _, c in chosen):
            raise NoSuchSource(_no_case(source, [files[place] for place in found]))
        for path, part in chosen:
            place = path.resolve()
            everything.cases += [c for c in part.cases if (place, c.title) not in seen]
            seen.update((place, c.title) for c in part.cases)
            for error in part.errors:
                mistake = (place, error.line, error.path, error.seen)
                if mistake not in reported:
                    everything.errors.append(error)
                    reported.add(mistake)
    return everything


def locate(name: str) -> Path:
    """Return the file that ids call ``name``: below this folder, else among the bundled cases."""
    path = Path(name)
    if os.path.exists(path):  # noqa: PTH110 - Path.exists raises for a name that is too long
        return path
    parts = path.parts
    if parts and parts[0] == "cases":
        return BUNDLED.joinpath(*parts[1:])
    return path


def _files(text: str, *, bundled: bool) -> list[tuple[Path, str]]:
    """Return the case files of a source and what ids call them."""
    path = BUNDLED if bundled else locate(text)
    name = text.rstrip("/") or text or "."
    if not os.path.exists(path):  # noqa: PTH110
        raise NoSuchSource(f"{text} is neither a case file nor a folder, and no bundled case")
    if path.is_file():
        if path.suffix not in SUFFIXES:
            raise NoSuchSource(f"{text} is no case file; those end in {' or '.join(SUFFIXES)}")
        return [(path, Path(name).as_posix())]
    found = sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
    if not found:
        raise NoSuchSource(f"{text} holds no case file; those end in {' or '.join(SUFFIXES)}")
    return [(p, (Path(name) / p.relative_to(path)).as_posix()) for p in found]


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


def _no_case(source: str, files: list[Loaded]) -> str:
    path, _, wanted = source.partition("::")
    known = {t: c for loaded in files for c in loaded.cases for t in (c.name, c.title)}
    near = get_close_matches(wanted, sorted(known), n=3, cutoff=0.5)
    ids = [f"{known[title].file}::{title}" for title in near]
    hint = f"; did you mean {' or '.join(ids)}?" if ids else ""
    return f"{path} has no case {wanted!r}{hint}"


def load_cases(name: str, ids: Collection[str]) -> dict[str, Case]:
    """Return the cases of one source, named as ids name it, that have these ids."""
    return {case.id: case for case in _loaded(name).cases if case.id in ids}


@cache
def _loaded(name: str) -> Loaded:
    return load(locate(name), name)
