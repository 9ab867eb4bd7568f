"""Rewrites an expectations file from the records of a complete run: ``--update-expect``.

What still holds stays, with its reason, issue, comments and place.
What no longer happens is narrowed or removed, and what is new is added with the reason ``TODO``.
"""

from __future__ import annotations

import heapq
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

import msgspec

from .errors import count
from .expectations import (
    LISTABLE,
    TODO,
    Entry,
    EntrySpec,
    Expectations,
    build,
    full_name,
    outcomes_of,
)
from .expectations_match import Glob, escape
from .expectations_text import Draft, Page, put_together, take_apart
from .record import Outcome, Record

#: Messages are cut to this length in the comment above a new entry.
MAX_HINT = 120
#: Names of more words are generalised at one end only.
MAX_WORDS = 6
#: Variants of more parts are generalised as a whole only.
MAX_PARTS = 4


class NotFinished(Exception):
    """A run that does not know enough to rewrite the file."""


@dataclass(slots=True)
class _Seen:
    """One case of the run: its record, the one to show, and all outcomes but ``skipped``."""

    record: Record
    outcomes: set[Outcome] = field(default_factory=set)
    #: The outcomes that an entry of the new file accepts.
    accepted: set[Outcome] = field(default_factory=set)
    #: Whether an entry says that this case passes now and then.
    may_pass: bool = False

    @property
    def id(self) -> str:
        return self.record.case

    @property
    def open(self) -> set[Outcome]:
        """The outcomes that nothing accepts yet."""
        return self.outcomes - self.accepted - {Outcome.PASSED}


def update(
    old: Expectations,
    records: Iterable[Record],
    version: str,
    *,
    planned: Iterable[str],
    sources: Sequence[str] = (),
) -> str:
    """Return the new text of an expectations file.

    ``records`` are those of one backend, of this version; several of one case are repetitions.
    ``planned`` are the ids of all cases of ``sources``.
    The records that the new text is judged by are all accepted.
    Raises ``NotFinished`` while a planned case has no result, or a source of the file was not run.
    """
    cases = _cases(old, records)
    _check_complete(old, cases, planned, sources)
    page = Page(old.backend, old.sources)
    page.entries = [Draft(entry.spec) for entry in old.entries]
    if old.text:
        take_apart(old.text, page, old.file)
    pairs = list(zip(old.entries, page.entries, strict=True))
    met = _met(old, cases.values(), version)
    kept: list[Draft] = []
    sections: list[str] = []
    for entry, draft in pairs:
        globs = _narrowed(entry, cases.values(), met) if entry.in_force(version) else None
        if globs == []:
            sections += draft.sections()
            continue
        draft.lead[:0], sections = sections, []
        if globs is not None:
            _replace_globs(draft, globs)
        kept.append(draft)
    page.tail[:0] = sections
    page.entries = kept + list(_new(cases, old.file))
    return put_together(page)


def write(path: Path, text: str) -> None:
    """Put a text in place of a file, whole or not at all."""
    target = path.resolve()
    with tempfile.NamedTemporaryFile(
        "w",
        encoding="utf-8",
        newline="\n",
        dir=target.parent,
        prefix=".expectations-",
        delete=False,
    ) as file:
        file.write(text)
    new = Path(file.name)
    try:
        new.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o644)
        new.replace(target)
    except OSError:
        new.unlink()
        raise


def _cases(old: Expectations, records: Iterable[Record]) -> dict[str, _Seen]:
    cases: dict[str, _Seen] = {}
    for record in records:
        if not old.applies_to(record.backend):
            continue
        seen = cases.setdefault(record.case, _Seen(record))
        if record.outcome is not Outcome.SKIPPED:
            seen.outcomes.update(o for o in outcomes_of(record) if o is not Outcome.SKIPPED)
            if seen.record.outcome in (Outcome.PASSED, Outcome.SKIPPED):
                seen.record = record
    return cases


def _check_complete(
    old: Expectations, cases: dict[str, _Seen], planned: Iterable[str], sources: Sequence[str]
) -> None:
    if not old.covers(sources):
        wanted = ", ".join(old.sources)
        raise NotFinished(f"{old.file} is not rewritten: it is about {wanted}; run all of these")
    listable = {*LISTABLE, Outcome.PASSED}
    missing = [
        case for case in planned if case not in cases or not cases[case].outcomes <= listable
    ]
    if missing:
        what = count(len(missing), "planned case")
        verb = "has" if len(missing) == 1 else "have"
        raise NotFinished(
            f"{old.file} is not rewritten: {what} {verb} no result, e.g. {missing[0]}"
        )
    if not cases:
        raise NotFinished(f"{old.file} is not rewritten: the run has no case on {old.backend}")


_Met = dict[tuple[Entry, Glob], list[_Seen]]


def _met(old: Expectations, cases: Iterable[_Seen], version: str) -> _Met:
    """Return the cases that each glob in force matches."""
    met: _Met = {}
    for case in cases:
        for entry, glob in old.matching(case.record):
            if entry.in_force(version):
                met.setdefault((entry, glob), []).append(case)
                case.may_pass |= Outcome.PASSED in entry.outcomes
    return met


def _narrowed(entry: Entry, cases: Iterable[_Seen], met: _Met) -> list[str]:
    """Return the globs of an entry that still hold, narrowed so that they match no pass."""
    result: dict[str, None] = {}
    claimed: set[str] = set()
    for glob in entry.globs:
        matched = met.get((entry, glob), [])
        wrong = {
            case.id
            for case in matched
            if Outcome.PASSED in case.outcomes - entry.outcomes and not case.may_pass
        }
        good = {
            case.id
            for case in matched
            if case.id not in wrong
            and (not case.outcomes or case.outcomes & entry.outcomes - case.accepted)
        }
        if good and not wrong:
            result[glob.text] = None
        elif good:
            others = [c.id for c in cases if entry.fits(c.record) and c.id not in good]
            result.update(dict.fromkeys(cover(good - claimed, others, glob)))
        claimed |= good
    for glob in entry.globs:
        for case in met.get((entry, glob), []):
            if case.id in claimed:
                case.accepted |= case.outcomes & entry.outcomes
    return list(result)


def _replace_globs(draft: Draft, globs: list[str]) -> None:
    """Put globs in place of those of an entry."""
    old = [draft.spec.case] if isinstance(draft.spec.case, str) else draft.spec.case
    if old != globs:
        draft.spec = msgspec.structs.replace(draft.spec, case=globs)


def _new(cases: dict[str, _Seen], file: str) -> Iterator[Draft]:
    """Return an entry for each group of cases that go wrong alike and that no entry covers."""
    groups: dict[tuple[str, tuple[Outcome, ...], str], list[_Seen]] = {}
    for case in cases.values():
        if case.open:
            may_pass = {Outcome.PASSED} & case.outcomes
            outcomes = tuple(o for o in LISTABLE if o in case.open | may_pass)
            operator = full_name(case.record.domain, case.record.operator)
            key = (operator, outcomes, shape(case.record))
            groups.setdefault(key, []).append(case)
    for (operator, outcomes, _), group in groups.items():
        names = [o.value for o in outcomes]
        spec = EntrySpec("*", names if len(names) > 1 else names[0], TODO, operator)
        entry = build(spec, file, 0)
        ids = {case.id for case in group}
        others = [c.id for c in cases.values() if entry.fits(c.record) and c.id not in ids]
        globs = cover(ids, others)
        spec = msgspec.structs.replace(spec, case=globs if len(globs) > 1 else globs[0])
        hint = f"# {count(len(group), 'case')}, the first: {_hint(group[0].record)}"
        yield Draft(spec, [hint.rstrip()])


def cover(targets: set[str], others: Iterable[str], inside: Glob | None = None) -> list[str]:
    """Return few globs that match all targets and none of the others.

    Each stays in one file, and matches nothing that ``inside`` does not match.
    """
    foreign: dict[str, list[str]] = {}
    for case in others:
        foreign.setdefault(_file_of(case), []).append(case)
    files: dict[str, list[str]] = {}
    for case in sorted(targets):
        files.setdefault(_file_of(case), []).append(case)
    result: list[str] = []
    for file, ids in files.items():
        result += _cover_in_file(ids, foreign.get(file, []), inside)
    return result


def _cover_in_file(ids: list[str], others: list[str], inside: Glob | None) -> list[str]:
    """Choose greedily: the glob with the most targets left, then the most specific."""
    gains: dict[str, set[str]] = {}
    for case in ids:
        for candidate in _generalised(case):
            gains.setdefault(candidate, set()).add(case)
    heap = [(-len(s), 2 * c.count("*") - len(c), c) for c, s in gains.items() if len(s) > 1]
    heapq.heapify(heap)
    left = set(ids)
    result: list[str] = []
    while heap and left:
        gain, size, candidate = heapq.heappop(heap)
        now = len(gains[candidate] & left)
        if now < 2:
            continue
        if now < -gain:
            heapq.heappush(heap, (-now, size, candidate))
            continue
        glob = Glob.parse(candidate)
        if any(map(glob.matches, others)) or not (inside is None or inside.includes(candidate)):
            continue
        result.append(candidate)
        left = {case for case in left if not glob.matches(case)}
    return sorted([*result, *map(escape, left)])


def _file_of(case: str) -> str:
    file, separator, _ = case.partition("::")
    return file + separator if separator else ""


def _generalised(case: str) -> set[str]:
    """Return the globs that a case suggests: words of its name or parts of its variant open."""
    file = _file_of(case)
    name, bracket, variant = case[len(file) :].partition("[")
    words = name.split("_")
    names = {escape(name), "*"}
    n = len(words)
    for first, last in product(range(n), repeat=2):
        if first + last >= n or (n > MAX_WORDS and first and last):
            continue
        begin = "".join(f"{word}_" for word in words[:first])
        end = "".join(f"_{word}" for word in words[n - last :])
        names.add(f"{escape(begin)}*{escape(end)}")
    variants = {escape(bracket + variant)}
    if bracket and variant.endswith("]"):
        parts = variant.removesuffix("]").split("-")
        variants.add("[*]")
        if len(parts) <= MAX_PARTS:
            choices = product(*((escape(part), "*") for part in parts))
            variants.update(f"[{'-'.join(c)}]" for c in choices if set(c) != {"*"})
    file = escape(file)
    return {f"{file}{n}{v}" for n in names for v in variants} - {file + escape(case)}


def _message(record: Record) -> str:
    """Return what went wrong: the message, or the first difference."""
    if record.message or not record.differences:
        return record.message
    first = record.differences[0]
    much = f", {first.different} of {first.total}" if first.total else ""
    pair = first if first.worst is None else first.worst
    verb = "differ" if first.reason == "values" else "differs"
    return f"{first.output}: {first.reason} {verb}{much}: expected {pair.expected}, got {pair.got}"


def shape(record: Record) -> str:
    """Return what messages of one kind have in common: no numbers, names and paths."""
    reasons = sorted({d.reason for d in record.differences})
    text = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", "'", record.message[:400])
    text = re.sub(r"\S*/\S*", "/", text)
    text = re.sub(r"0x[0-9a-fA-F]+|[0-9]+", "0", text)
    return " ".join([record.phase, *reasons, *text.split()])[:200]


def _hint(record: Record) -> str:
    """Return the message of a record as a comment can hold it: one short line, nothing odd."""
    plain = "".join(c if c.isprintable() else " " for c in _message(record))
    text = " ".join(plain.split())
    return text if len(text) <= MAX_HINT else f"{text[: MAX_HINT - 3]}..."
