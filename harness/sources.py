"""Where cases come from: YAML files, folders of them, ids of single cases."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from .casefile import Loaded, load

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
    seen: set[str] = set()
    files: dict[str, Loaded] = {}
    reported: set[str] = set()
    for source in sources or ["cases"]:
        path_text, _, wanted = source.partition("::")
        bundled = not sources
        for path, name in _files(path_text, bundled=bundled):
            if name not in files:
                files[name] = load(path, name)
            chosen = _select(files[name], wanted)
            if wanted and not chosen.cases and not chosen.errors:
                raise NoSuchSource(_no_case(source, files[name]))
            everything.cases += [c for c in chosen.cases if c.id not in seen]
            seen.update(c.id for c in chosen.cases)
            everything.errors += [e for e in chosen.errors if str(e) not in reported]
            reported.update(str(e) for e in chosen.errors)
    return everything


def locate(name: str) -> Path:
    """Return the file that ids call ``name``: below this folder, else among the bundled cases."""
    path = Path(name)
    if path.exists():
        return path
    parts = path.parts
    if parts and parts[0] == "cases":
        return BUNDLED.joinpath(*parts[1:])
    return path


def _files(text: str, *, bundled: bool) -> list[tuple[Path, str]]:
    """Return the case files of a source and what ids call them."""
    path = BUNDLED if bundled else locate(text)
    name = text.rstrip("/") or "."
    if path.is_file():
        if path.suffix not in SUFFIXES:
            raise NoSuchSource(f"{text} is no case file; those end in {' or '.join(SUFFIXES)}")
        return [(path, Path(name).as_posix())]
    if not path.is_dir():
        raise NoSuchSource(f"{text} is neither a case file nor a folder, and no bundled case")
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
        [e for e in loaded.errors if not e.case or wanted in (e.case, e.case.partition("[")[0])],
    )


def _no_case(source: str, loaded: Loaded) -> str:
    path, _, wanted = source.partition("::")
    titles = [c.title for c in loaded.cases]
    known = sorted({*titles, *(c.name for c in loaded.cases)})
    near = get_close_matches(wanted, known, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(f'{path}::{n}' for n in near)}?" if near else ""
    return f"{path} has no case {wanted!r}{hint}"
