"""What is known to go wrong on one backend: expectations files, and judging records by them.

The list is strict and it ratchets.
An outcome that no entry lists is unexpected, and so is a case that passes against its entry.
``docs/expectations.md`` has the format and the rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from .casefile import decode
from .dtypes import ELEMENT_TYPES
from .errors import CaseError, described, shorten
from .expectations_match import Glob, Opsets, Versions
from .record import Outcome, Record
from .yamlfile import Document, open_document

#: The reason of an entry that ``--update-expect`` wrote and nobody has read yet.
TODO = "TODO"
#: What an entry may list. A case that did not run tells nothing, so nobody can expect that.
LISTABLE = tuple(o for o in Outcome if o.value not in ("skipped", "missing"))


class EntrySpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One entry of ``expectations:``."""

    case: str | list[str]
    outcome: str | list[str]
    reason: str
    operator: str = ""
    type: str | list[str] | None = None
    opset: int | str | list[int] | None = None
    version: str = ""
    issue: str | int = ""


class FileSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """An expectations file: the backend, and the entries, which are decoded one by one."""

    backend: str
    expectations: list[Any]
    sources: list[str] = []


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One entry, ready to be compared with records."""

    spec: EntrySpec
    file: str
    line: int
    globs: tuple[Glob, ...]
    outcomes: frozenset[Outcome]
    types: frozenset[str]
    opsets: Opsets
    versions: Versions

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}"

    @property
    def reason(self) -> str:
        """Why the outcome is known."""
        return self.spec.reason

    @property
    def issue(self) -> str:
        """Where it is tracked; empty if nowhere."""
        return str(self.spec.issue)

    @property
    def wanted(self) -> str:
        """The outcomes it lists, in words."""
        return " or ".join(o.value for o in LISTABLE if o in self.outcomes)

    @property
    def note(self) -> str:
        """File, line, reason and issue, for a report."""
        return f"{self.where}: {self.reason}" + (f"; {self.issue}" if self.issue else "")

    def in_force(self, version: str) -> bool:
        """Whether the entry speaks of this version of the backend."""
        return self.versions.include(version)

    def fits(self, record: Record) -> bool:
        """Whether operator, type and opset are those of a record; the globs are not asked."""
        return (
            self.spec.operator in ("", full_name(record.domain, record.operator))
            and record.opset in self.opsets
            and (not self.types or not self.types.isdisjoint(record.dtypes))
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an outcome is acceptable, in words for a report, and the entry that decided.

    ``text`` is empty for a pass that no entry speaks of.
    """

    accepted: bool
    text: str = ""
    entry: Entry | None = None


@dataclass(frozen=True, slots=True)
class Unused:
    """A glob of an entry that accepted nothing in a complete run."""

    entry: Entry
    glob: str
    text: str


@dataclass(frozen=True)
class Expectations:
    """The entries of one file, in order.

    ``text`` is the file as it was read, with its comments.
    """

    file: str
    backend: str
    entries: tuple[Entry, ...] = ()
    sources: tuple[str, ...] = ()
    text: str = ""

    def applies_to(self, backend: str) -> bool:
        """Whether the file is for a backend: by its whole name, or by its kind."""
        return self.backend in (backend, backend.partition(":")[0])

    def covers(self, sources: Sequence[str]) -> bool:
        """Whether a run of these sources ran all that the file is about."""
        return set(self.sources) <= set(sources or ["cases"])

    @property
    def todo(self) -> list[Entry]:
        """The entries whose reason nobody has written yet."""
        return [entry for entry in self.entries if entry.reason == TODO]

    @cached_property
    def _index(self) -> tuple[list[int], dict[str, list[tuple[int, int, Entry, Glob]]]]:
        """The globs by their literal beginning, and the lengths of these beginnings."""
        index: dict[str, list[tuple[int, int, Entry, Glob]]] = {}
        for i, entry in enumerate(self.entries):
            for j, glob in enumerate(entry.globs):
                index.setdefault(glob.prefix, []).append((i, j, entry, glob))
        return sorted({len(prefix) for prefix in index}), index

    def matching(self, record: Record) -> list[tuple[Entry, Glob]]:
        """Return the entries that match a record, whatever the version, each with its glob."""
        lengths, index = self._index
        found = [
            place
            for length in lengths
            if length <= len(record.case)
            for place in index.get(record.case[:length], ())
            if place[2].fits(record) and place[3].matches(record.case)
        ]
        found.sort(key=lambda place: place[:2])
        return [(entry, glob) for _, _, entry, glob in found]

    def judge(self, record: Record, version: str) -> Verdict:
        """Judge one record of a backend of this version.

        The first entry that matches the case and lists the outcome accepts it.
        Of a case whose repetitions differ, each outcome must be acceptable.
        A record of a backend that the file is not for is judged as by an empty file.
        """
        verdicts = self._verdicts(record, version)
        return next((v for v in verdicts if not v.accepted), verdicts[0])

    def _verdicts(self, record: Record, version: str) -> list[Verdict]:
        """Judge each outcome of a record: repetitions may have several."""
        matching = self._entries(record) if self.applies_to(record.backend) else []
        return [_verdict(self.file, matching, o, version) for o in outcomes_of(record)]

    def _entries(self, record: Record) -> list[Entry]:
        return list(dict.fromkeys(entry for entry, _ in self.matching(record)))

    def unused(self, records: Iterable[Record], version: str) -> list[Unused]:
        """Return the globs in force that accepted nothing.

        Only for all the records of one backend in a run without ``-k``, ``--shard`` and the like.
        A glob whose cases are unexpected already, or were skipped, is left out.
        """
        met: set[tuple[Entry, Glob]] = set()
        settled: set[tuple[Entry, Glob]] = set()
        for record in records:
            if not self.applies_to(record.backend):
                continue
            verdicts = self._verdicts(record, version)
            deciding = {verdict.entry for verdict in verdicts}
            # Nothing was learnt from a skipped case; an unexpected outcome is reported already.
            vague = record.outcome is Outcome.SKIPPED or not all(v.accepted for v in verdicts)
            for pair in self.matching(record):
                met.add(pair)
                if vague or pair[0] in deciding:
                    settled.add(pair)
        return [
            Unused(entry, glob.text, _unused_text(entry, glob, (entry, glob) in met))
            for entry in self.entries
            if entry.in_force(version)
            for glob in entry.globs
            if (entry, glob) not in settled
        ]


def outcomes_of(record: Record) -> list[Outcome]:
    """Return the outcome of a record first, then the other ones that repetitions had."""
    return list(dict.fromkeys([record.outcome, *map(Outcome, record.flaky)]))


def _verdict(file: str, matching: list[Entry], outcome: Outcome, version: str) -> Verdict:
    """Judge an outcome by the entries that match its case."""
    entries = [entry for entry in matching if entry.in_force(version)]
    for entry in entries:
        if outcome in entry.outcomes:
            return Verdict(True, f"expected: {outcome.value} ({entry.note})", entry)
    if outcome is Outcome.SKIPPED or (outcome is Outcome.PASSED and not entries):
        return Verdict(True)
    seen = f"unexpected: {outcome.value}"
    if entries:
        wanted = "; or ".join(f"{entry.wanted} ({entry.note})" for entry in entries)
        text = f"{seen}, wanted {wanted}"
        if outcome is Outcome.PASSED:
            text += "; it no longer happens: narrow or remove the entry, or use --update-expect"
        return Verdict(False, text, entries[0])
    excluded = next((entry for entry in matching if outcome in entry.outcomes), None)
    why = f"no entry of {file} covers it"
    if excluded is not None:
        why = f"{excluded.where} is for versions {excluded.spec.version}, this is {version}"
    return Verdict(False, f"{seen}, wanted passed; {why}")


def _unused_text(entry: Entry, glob: Glob, met: bool) -> str:
    if met:
        why = f"accepts nothing as {entry.wanted}: entries before it accept all that it matches"
    else:
        why = "matches nothing"
    return f"unexpected: {glob.text} {why} ({entry.note})"


def full_name(domain: str, operator: str) -> str:
    """Return an operator's name, with its domain unless that is ONNX's own."""
    return operator if domain in ("", "ai.onnx") else f"{domain}.{operator}"


def empty(file: str, backend: str, sources: Sequence[str] = ()) -> Expectations:
    """Return what a file that does not exist yet holds."""
    return Expectations(file, backend, sources=tuple(sources or ["cases"]))


def load(path: Path) -> Expectations:
    """Read an expectations file; raises ``CaseError`` with file, line, path, seen and wanted."""
    document: Document | None = None
    try:
        document = open_document(path)
        if not isinstance(document.value, dict):
            seen = "nothing" if document.value is None else described(document.value)
            raise CaseError((), seen, "a mapping with backend and expectations")
        header = decode(document.value, FileSpec)
        if not header.backend:
            raise CaseError(("backend",), "an empty string", "the name of a backend")
        entries = tuple(_entries(header.expectations, str(path), document))
    except CaseError as error:
        error.file = str(path)
        if error.line is None and document is not None:
            error.line = document.line_of(error.path)
        raise
    text = path.read_text(encoding="utf-8")
    return Expectations(str(path), header.backend, entries, tuple(header.sources), text)


def _entries(raw: list[Any], file: str, document: Document) -> Iterator[Entry]:
    seen: dict[bytes, int] = {}
    for i, item in enumerate(raw):
        line = document.line_of(("expectations", i)) or 1
        try:
            entry = build(decode(item, EntrySpec), file, line)
            key = msgspec.json.encode(msgspec.structs.replace(entry.spec, reason="", issue=""))
            if key in seen:
                raise CaseError((), f"the entry of line {seen[key]} again", "each entry once")
        except CaseError as error:
            raise error.at("expectations", i) from None
        seen[key] = line
        yield entry


def build(spec: EntrySpec, file: str, line: int) -> Entry:
    """Check an entry and return it ready for use; raises ``CaseError``."""
    spec = msgspec.structs.replace(spec, reason=spec.reason.strip())
    if not spec.reason:
        raise CaseError(("reason",), "an empty string", "why this is known", hint="or TODO")
    return Entry(
        spec,
        file,
        line,
        _globs(spec.case),
        _outcomes(spec.outcome),
        _types(spec.type),
        Opsets.parse(spec.opset),
        Versions.parse(spec.version),
    )


def _globs(given: str | list[str]) -> tuple[Glob, ...]:
    texts = [given] if isinstance(given, str) else given
    if not texts or len(set(texts)) != len(texts):
        raise CaseError(("case",), shorten(texts), "one or more globs, each once")
    globs = []
    for i, text in enumerate(texts):
        try:
            globs.append(Glob.parse(text))
        except CaseError as error:
            raise error.at("case", *([] if isinstance(given, str) else [i])) from None
    return tuple(globs)


def _outcomes(given: str | list[str]) -> frozenset[Outcome]:
    names = [given] if isinstance(given, str) else given
    known = {o.value: o for o in LISTABLE}
    for i, name in enumerate(names):
        if name not in known:
            place = ("outcome",) if isinstance(given, str) else ("outcome", i)
            raise CaseError(place, shorten(name), f"one of {', '.join(known)}")
    if not names or len(set(names)) != len(names):
        raise CaseError(("outcome",), shorten(names), "one or more outcomes, each once")
    if names == ["passed"]:
        hint = "remove the entry; [passed, failed] is for a case that changes"
        raise CaseError(("outcome",), "passed alone", "an outcome that is wrong", hint=hint)
    return frozenset(known[name] for name in names)


def _types(given: str | list[str] | None) -> frozenset[str]:
    names = [given] if isinstance(given, str) else given
    if names is None:
        return frozenset()
    for i, name in enumerate(names):
        if name not in ELEMENT_TYPES:
            place = ("type",) if isinstance(given, str) else ("type", i)
            raise CaseError(place, shorten(name), "an element type such as float32")
    if not names or len(set(names)) != len(names):
        raise CaseError(("type",), shorten(names), "one or more element types, each once")
    return frozenset(names)
