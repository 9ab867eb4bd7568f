"""Reads a case file: its good cases, and an error for each bad one."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from .build import Place, build, parse_opsets
from .case import Case
from .caseformat import CaseSpec, FileSpec
from .errors import CaseError, count, described, shorten
from .errors import Path as PathInside
from .literals import Real, Todo
from .yamlfile import Document, open_document

T = TypeVar("T")

#: What case files call the types they decode to.
_WORDS = {
    str: "a string", int: "an integer", float: "a number", bool: "true or false",
    list: "a list", dict: "a mapping",
}  # fmt: skip


#: The keys that are for people; a word ``TODO`` there keeps no case from being run.
_PROSE = ("why", "spec")
#: What is wanted in place of a ``TODO``, by the key of the case.
_TO_FILL = {
    "attributes": "the value of the attribute, for a body a graph in ONNX's text syntax",
    "inputs": "the values of the input",
    "outputs": "the values of the output",
    "model": "a model in ONNX's text syntax",
    "model_file": "a model file below the folder of the case file",
}
_FILL_HINT = 'fill it in; if the text TODO is meant, quote it: "TODO"'


class Unfinished(CaseError):
    """A case in which something is still to be written."""


@dataclass(slots=True)
class Loaded:
    """What a source holds: its cases in order, and the mistakes found on the way."""

    cases: list[Case] = field(default_factory=list)
    errors: list[CaseError] = field(default_factory=list)


def load(path: Path, name: str) -> Loaded:
    """Read a case file; ``name`` is what ids call it. Never raises for a mistake in the file."""
    with _uncollected():
        return _load(path, name)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the search for cycles, of which a document has none among its many new objects."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _load(path: Path, name: str) -> Loaded:
    loaded = Loaded()
    document: Document | None = None
    try:
        document = open_document(path)
        header = _header(document.value)
    except CaseError as error:
        loaded.errors.append(_located(error, document, name))
        return loaded
    seen: set[str] = set()
    folder = path.parent
    for i, raw in enumerate(header.cases):
        place = Place(folder, name, document.line_of(("cases", i)) or 1)
        try:
            if document.unfinished:
                _check_finished(raw)
            spec = decode(raw, CaseSpec)
            if spec.name in seen:
                raise CaseError(("name",), f"{spec.name!r} twice", "each name once in a file")
            _check_name(spec.name)
            seen.add(spec.name)
            loaded.cases.extend(list(build(spec, header, place)))
        except CaseError as error:
            error.case = error.case or _name_of(raw)
            loaded.errors.append(_located(error.at("cases", i), document, name))
    return loaded


def _check_finished(raw: Any) -> None:
    """Refuse a case in which something is still to be written, in other places than ``why``."""
    places = [p for p in _todos(raw) if p[0] not in _PROSE]
    if places:
        more = f", and {count(len(places) - 1, 'more place')} in this case" if places[1:] else ""
        wanted = _TO_FILL.get(str(places[0][0]), "what belongs there")
        raise Unfinished(places[0], f"TODO{more}", wanted, hint=_FILL_HINT)


def _todos(raw: Any) -> Iterator[PathInside]:
    """Return the paths of all that is still to be written."""
    if isinstance(raw, Todo):
        yield ()
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(raw, dict):
        items = raw.items()
    elif isinstance(raw, list):
        items = enumerate(raw)
    for key, value in items:
        if isinstance(value, dict | list | Todo):
            yield from ((key, *path) for path in _todos(value))


def _header(document: Any) -> FileSpec:
    if not isinstance(document, dict):
        seen = "nothing" if document is None else described(document)
        raise CaseError((), seen, "a mapping with operator, opset and cases")
    header = decode(document, FileSpec)
    parse_opsets(header.opset)
    if not header.cases:
        raise CaseError(("cases",), "an empty list", "one or more cases")
    return header


def _name_of(raw: Any) -> str:
    """Return the name of a case that could not be read, if it has one."""
    name = raw.get("name") if isinstance(raw, dict) else None
    return name if isinstance(name, str) else ""


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9_.\-]+", name):
        raise CaseError(("name",), shorten(name), "letters, digits and _ . - only")


def _located(error: CaseError, document: Document | None, name: str) -> CaseError:
    """Fill in the file and the line of an error."""
    error.file = name
    if error.line is None and document is not None and error.path:
        error.line = document.line_of(error.path)
    return error


def decode(raw: Any, kind: type[T]) -> T:
    """Decode plain values into a type of the format; raises ``CaseError`` with the full path."""
    try:
        return msgspec.convert(_plain_tolerance(raw), kind)
    except msgspec.ValidationError as error:
        mistakes = _mistakes(raw, kind)
        raise next(mistakes, CaseError((), described(raw), str(error))) from None


def _plain_tolerance(raw: Any) -> Any:
    """Replace the exact literals below ``tolerance`` by plain floats."""
    if isinstance(raw, dict) and "tolerance" in raw:
        return {**raw, "tolerance": _plain(raw["tolerance"])}
    return raw


def _plain(raw: Any) -> Any:
    if isinstance(raw, dict):
        return {key: _plain(value) for key, value in raw.items()}
    return float(raw) if isinstance(raw, Real) else raw


def _mistakes(raw: Any, kind: Any) -> Iterator[CaseError]:
    """Find what keeps a value from being decoded; msgspec's own messages leave out keys."""
    kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    if Any in kinds or (raw is None and type(None) in kinds):
        return
    fitting = [k for k in kinds if _fits(raw, _plain_type(k))]
    if not fitting:
        words = dict.fromkeys(_WORDS[t] for t in map(_plain_type, kinds) if t in _WORDS)
        hint = "quote it" if kind is str and isinstance(raw, int | float) else ""
        yield CaseError((), described(raw), " or ".join(words), hint=hint)
    elif isinstance(raw, list):
        for i, item in enumerate(raw):
            yield from (e.at(i) for e in _mistakes(item, *get_args(fitting[0])))
    elif isinstance(raw, dict) and get_origin(fitting[0]) is dict:
        key_kind, value_kind = get_args(fitting[0])
        for key, value in raw.items():
            for error in _mistakes(key, key_kind):
                yield CaseError((), f"{error.seen} as a key", error.wanted, hint=error.hint)
            yield from (e.at(key) for e in _mistakes(value, value_kind))
    elif isinstance(raw, dict):
        yield from _mistakes_in_struct(raw, fitting[0])


def _mistakes_in_struct(raw: dict[Any, Any], kind: type[msgspec.Struct]) -> Iterator[CaseError]:
    hints = _hints(kind)
    for key in raw:
        if key not in hints:
            near = get_close_matches(str(key), hints, n=1)
            hint = f"did you mean {near[0]!r}?" if near else ""
            place = (key,) if isinstance(key, str) else ()
            yield CaseError(
                place, f"the key {shorten(key)}", f"one of {', '.join(hints)}", hint=hint
            )
    for known in msgspec.structs.fields(kind):
        if known.required and known.name not in raw:
            yield CaseError((), f"no {known.name!r}", f"the key {known.name!r}")
    for key, value in raw.items():
        if key in hints:
            yield from (e.at(key) for e in _mistakes(value, hints[key]))


@cache
def _hints(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the types of the fields of a struct, in order."""
    return get_type_hints(kind)


def _plain_type(kind: Any) -> Any:
    """Return the plain type that a type of the format is decoded from."""
    plain = get_origin(kind) or kind
    return dict if isinstance(plain, type) and issubclass(plain, msgspec.Struct) else plain


def _fits(raw: Any, plain: Any) -> bool:
    if isinstance(raw, bool) or plain is bool:
        return isinstance(raw, bool) and plain is bool
    if plain is float and isinstance(raw, int):
        return raw.bit_length() < 1024
    return plain in _WORDS and isinstance(raw, plain)
