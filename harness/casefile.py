"""Reads a case file: its good cases, and an error for each bad one."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from . import yamlfile
from .build import Place, build
from .case import Case
from .caseformat import Alternative, CaseSpec, FileSpec, ToleranceSpec, ValueSpec
from .errors import CaseError, shorten
from .errors import Path as PathInside
from .literals import Real

T = TypeVar("T")

#: The mappings whose keys msgspec leaves out of its error paths, with the types of their values.
_MAPPINGS: dict[str, Any] = {
    "inputs": ValueSpec,
    "types": list[str],
}
_PATH_PART = re.compile(r"\.(\w+)|\[(\d+)\]|\[(\.\.\.)\]")


@dataclass(slots=True)
class Loaded:
    """What a source holds: its cases in order, and the mistakes found on the way."""

    cases: list[Case] = field(default_factory=list)
    errors: list[CaseError] = field(default_factory=list)


def load(path: Path, name: str) -> Loaded:
    """Read a case file; ``name`` is what ids call it. Never raises for a mistake in the file."""
    loaded = Loaded()
    try:
        document = yamlfile.read(path)
        header = _header(document)
    except CaseError as error:
        loaded.errors.append(_located(error, path, name))
        return loaded
    lines = yamlfile.case_lines(path) if header.cases else []
    seen: set[str] = set()
    for i, raw in enumerate(header.cases):
        place = Place(path, name, lines[i] if i < len(lines) else 1)
        try:
            spec = decode(raw, CaseSpec)
            if spec.name in seen:
                raise CaseError(("name",), f"{spec.name!r} twice", "each name once in a file")
            _check_name(spec.name)
            seen.add(spec.name)
            loaded.cases.extend(list(build(spec, header, place)))
        except CaseError as error:
            error.case = error.case or (str(raw.get("name", "")) if isinstance(raw, dict) else "")
            loaded.errors.append(_located(error.at("cases", i), path, name))
    return loaded


def _header(document: Any) -> FileSpec:
    if not isinstance(document, dict):
        raise CaseError((), _kind(document), "a mapping with operator, opset and cases")
    return decode(document, FileSpec)


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9_.\-]+", name):
        raise CaseError(("name",), shorten(name), "letters, digits and _ . - only")


def _located(error: CaseError, path: Path, name: str) -> CaseError:
    """Fill in the file and the line of an error."""
    error.file = name
    if error.line is None and error.path:
        try:
            error.line = yamlfile.line_of(path.read_text(encoding="utf-8"), error.path)
        except (OSError, UnicodeDecodeError):
            error.line = None
    return error


def _kind(value: Any) -> str:
    return {list: "a list", str: "a string", type(None): "nothing"}.get(type(value), "a number")


def decode(raw: Any, kind: type[T]) -> T:
    """Decode plain values into a type of the format; raises ``CaseError`` with the full path."""
    try:
        return msgspec.convert(_plain_tolerance(raw), kind)
    except msgspec.ValidationError as error:
        raise _explain(error, raw, kind) from None


def _plain_tolerance(raw: Any) -> Any:
    """Replace the exact literals below ``tolerance`` by plain floats."""
    if isinstance(raw, dict) and "tolerance" in raw:
        return {**raw, "tolerance": _plain(raw["tolerance"])}
    return raw


def _plain(raw: Any) -> Any:
    if isinstance(raw, dict):
        return {key: _plain(value) for key, value in raw.items()}
    return float(raw) if isinstance(raw, Real) else raw


def _explain(error: msgspec.ValidationError, raw: Any, kind: Any) -> CaseError:
    """Turn msgspec's message into a ``CaseError`` with the keys it leaves out."""
    message, _, tail = str(error).partition(" - at `")
    path: list[str | int] = []
    key_at_fault = False
    for name, index, anonymous in _PATH_PART.findall(tail.rstrip("`").removeprefix("key in ")[1:]):
        if anonymous:
            culprit = _culprit(raw, tuple(path))
            if culprit is not None:
                return culprit.at(*path)
            key_at_fault = True
            break
        path.append(name or int(index))
    seen, wanted, hint = _words(message, _at(raw, tuple(path)), kind)
    if key_at_fault:
        hint = "look at its keys"
    unknown = re.search(r"unknown field `([^`]*)`", message)
    if unknown:
        path.append(unknown[1])
    return CaseError(tuple(path), seen, wanted, hint=hint)


def _culprit(raw: Any, path: PathInside) -> CaseError | None:
    """Find the entry of a mapping that does not decode; its path begins with its key."""
    entries = _at(raw, path)
    inside_tolerance = "tolerance" in path
    by_name: Any = ToleranceSpec if inside_tolerance else _MAPPINGS.get(str(path[-1]), ValueSpec)
    if not isinstance(entries, dict):
        return None
    for key, value in entries.items():
        try:
            decode(_plain(value) if inside_tolerance else value, by_name)
        except CaseError as error:
            return error.at(key)
    return None


def _at(raw: Any, path: PathInside) -> Any:
    for part in path:
        try:
            raw = raw[part]
        except (KeyError, IndexError, TypeError):
            return None
    return raw


_STRUCTS = (CaseSpec, ValueSpec, FileSpec, Alternative, ToleranceSpec)


def _words(message: str, value: Any, kind: Any) -> tuple[str, str, str]:
    """Return seen, wanted and a hint for a message of msgspec."""
    unknown = re.search(r"unknown field `([^`]*)`", message)
    if unknown:
        known = _keys_beside(unknown[1], value, kind)
        return f"the key {unknown[1]!r}", f"one of {', '.join(known)}", _nearest(unknown[1], known)
    missing = re.search(r"missing required field `([^`]*)`", message)
    if missing:
        return f"no {missing[1]!r}", f"{missing[1]!r}", ""
    expected = re.search(r"Expected `([^`]*)`(?:, got `([^`]*)`)?", message)
    if expected:
        wanted = expected[1].replace(" | null", "").replace("object", "a mapping")
        wanted = (
            wanted.replace("array", "a list")
            .replace("str", "a string")
            .replace("int", "an integer")
        )
        return shorten(value), wanted.replace(" | ", " or "), ""
    return shorten(value), message, ""


def _keys_beside(unknown: str, value: Any, kind: Any) -> list[str]:
    """Return the keys of the struct that was being decoded: the one that knows most of them."""
    keys = set(value) - {unknown} if isinstance(value, dict) else set()

    def known(struct: Any) -> int:
        return len(keys & set(struct.__struct_fields__))

    best = max((kind, *_STRUCTS), key=known) if kind in _STRUCTS else kind
    return list(getattr(best, "__struct_fields__", ()))


def _nearest(word: str, known: list[str]) -> str:
    found = get_close_matches(word, known, n=1)
    return f"did you mean {found[0]!r}?" if found else ""
