"""What changed from one run to another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum

import msgspec
from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from ..harness.errors import count
from ..harness.record import Header, Outcome, Record, Run
from .plain import Indented, plain
from .text import cut, headline

#: Longer messages are cut, so that they stay on a line.
LONGEST = 74


class Kind(StrEnum):
    """What became of one case on one backend."""

    WORSE = "worse"
    GONE = "gone"
    CHANGED = "changed"
    NEW = "new"
    BETTER = "better"
    SAME = "same"


COLOURS = {
    Kind.WORSE: "bold red",
    Kind.GONE: "bold red",
    Kind.CHANGED: "yellow",
    Kind.NEW: "bold",
    Kind.BETTER: "green",
}


class Incomparable(Exception):
    """Two runs that have no backend in common; says what to do."""


class Change(msgspec.Struct, frozen=True):
    """A result before and after; ``None`` where there was or is none."""

    kind: Kind
    backend: str
    old: Record | None
    new: Record | None

    @property
    def record(self) -> Record:
        """The newer of the results."""
        found = self.new or self.old
        assert found is not None
        return found

    @property
    def step(self) -> str:
        """The outcomes, before and after."""
        if self.old is None:
            return self.record.outcome.value
        if self.new is None:
            return f"was {self.old.outcome.value}"
        if self.old.outcome is self.new.outcome:
            return f"{self.new.outcome.value}, with other differences"
        return f"{self.old.outcome.value} -> {self.new.outcome.value}"


class Changes(msgspec.Struct, frozen=True):
    """What changed: versions and the like in words, and results."""

    circumstances: list[str]
    results: list[Change]

    @property
    def counts(self) -> dict[Kind, int]:
        """How many results became what."""
        counts = dict.fromkeys(Kind, 0)
        for change in self.results:
            counts[change.kind] += 1
        return counts

    @property
    def bad(self) -> bool:
        """Whether a result is worse or gone."""
        return any(change.kind in (Kind.WORSE, Kind.GONE) for change in self.results)


def changes(old: Run, new: Run) -> Changes:
    """Compare two runs, backend by backend and case by case.

    Runs of one backend each are compared whatever their backends are called.
    Raises ``Incomparable`` for several backends of which none is in both.
    """
    pairs = _pairs(old.header, new.header)
    texts = [*_unfinished("old", old), *_unfinished("new", new)]
    texts += _circumstances(old.header, new.header, pairs)
    results: list[Change] = []
    for before, after in pairs:
        was = {r.case: r for r in old.records if r.backend == before}
        now = {r.case: r for r in new.records if r.backend == after}
        results += [
            _change(after or before, was.get(case), now.get(case))
            for case in dict.fromkeys([*was, *now])
        ]
    return Changes(texts, results)


def _pairs(old: Header, new: Header) -> list[tuple[str, str]]:
    """Return which backend is compared with which; an empty name stands for none."""
    if len(old.backends) == len(new.backends) == 1:
        return [(next(iter(old.backends)), next(iter(new.backends)))]
    if not old.backends.keys() & new.backends.keys():
        seen = f"{', '.join(old.backends)} before and {', '.join(new.backends)} after"
        todo = "give runs of one backend each to compare them with each other"
        raise Incomparable(f"no backend is in both runs: {seen}; {todo}")
    names = dict.fromkeys([*old.backends, *new.backends])
    return [(n if n in old.backends else "", n if n in new.backends else "") for n in names]


def _change(backend: str, old: Record | None, new: Record | None) -> Change:
    kind = Kind.SAME
    if old is None or new is None:
        kind = Kind.NEW if old is None else Kind.GONE
    elif old.outcome is not new.outcome:
        kind = _step(old.outcome, new.outcome)
    elif old.differences != new.differences:
        kind = Kind.CHANGED
    return Change(kind, backend, old, new)


def _step(old: Outcome, new: Outcome) -> Kind:
    """Say what another outcome is: a case that is skipped now no longer shows that it passes."""
    if new is Outcome.PASSED:
        return Kind.BETTER
    if old is Outcome.PASSED or old is Outcome.SKIPPED:
        return Kind.WORSE
    return Kind.CHANGED


def _unfinished(name: str, run: Run) -> Iterator[str]:
    if run.footer.interrupted or run.footer.missing:
        missing = count(run.footer.missing, "result")
        yield f"the {name} run did not come to its end: {missing} missing"


def _circumstances(old: Header, new: Header, pairs: list[tuple[str, str]]) -> Iterator[str]:
    """Say in which versions and options the runs differ."""
    for before, after in pairs:
        was, now = old.backends.get(before), new.backends.get(after)
        if before and after and before != after:
            yield f"{before} {was} is compared with {after} {now}"
        elif was != now:
            name = before or after
            yield f"{name}: {_or_none(was)} -> {_or_none(now)}"
    for name in ("opcheck", "onnx", "numpy", "python", "platform"):
        if getattr(old, name) != getattr(new, name):
            yield f"{name}: {getattr(old, name)} -> {getattr(new, name)}"
    if old.sources != new.sources:
        yield f"sources: {_listed(old.sources)} -> {_listed(new.sources)}"
    yield from _changed(old.selection, new.selection, old.selection.keys() | new.selection.keys())
    yield from _changed(old.options, new.options, {"ulp", "rtol", "atol", "timeout", "memory"})


def _changed(old: Mapping[str, str], new: Mapping[str, str], names: Iterable[str]) -> Iterator[str]:
    for name in sorted(names):
        if old.get(name) != new.get(name):
            yield f"{name}: {_or_none(old.get(name))} -> {_or_none(new.get(name))}"


def _or_none(text: str | None) -> str:
    return "none" if text is None else text


def _listed(sources: list[str]) -> str:
    return " ".join(sources) or "the bundled cases"


# == For people ==

#: Operators named in a line of their counts; there may be hundreds.
MOST_OPERATORS = 12


def shown(found: Changes, *, quiet: bool = False, verbose: bool = False) -> RenderableType:
    """Show the changes, like ones together; with ``verbose`` each by itself."""
    parts: list[RenderableType] = []
    if not quiet:
        parts += [Indented(plain(text)) for text in found.circumstances]
        parts += [""] if parts else []
        groups = _grouped(found.results, lambda change: (change.kind.value, change.backend))
        for kind in COLOURS:
            for (name, backend), group in groups.items():
                if name == kind.value:
                    parts += _section(kind, backend, group, verbose)
    return Group(*parts, _closing(found))


def _grouped(
    found: Iterable[Change], key: Callable[[Change], tuple[str, ...]]
) -> dict[tuple[str, ...], list[Change]]:
    groups: dict[tuple[str, ...], list[Change]] = {}
    for change in found:
        groups.setdefault(key(change), []).append(change)
    return groups


def _section(
    kind: Kind, backend: str, group: list[Change], verbose: bool
) -> Iterator[RenderableType]:
    """Show what became worse, or the like, on one backend: the largest groups first."""
    title = Text(no_wrap=True, overflow="ignore").append(kind.value.upper(), COLOURS[kind])
    yield title.append_text(plain(f" on {backend}: {count(len(group), 'result')}"))
    alike = _grouped(group, lambda change: (change.step,))
    for (step,), changed in sorted(alike.items(), key=lambda item: -len(item[1])):
        operators = f" ({_operators(changed)})" if len(changed) > 1 else ""
        yield Indented(plain(f"{len(changed)} {step}{operators}"))
        lead = "" if verbose or len(changed) == 1 else "such as "
        for change in changed if verbose else changed[:1]:
            yield from _single(change, lead)
    yield ""


def _operators(changed: list[Change]) -> str:
    """Count the cases of each operator, those with most of them first."""
    counts: dict[str, int] = {}
    for record in (change.record for change in changed):
        name = f"{record.domain}.{record.operator}" if record.domain else record.operator
        counts[name] = counts.get(name, 0) + 1
    named = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    texts = [f"{name} {n}" for name, n in named[:MOST_OPERATORS]]
    more = [f"{len(named) - MOST_OPERATORS} more operators"] if len(named) > MOST_OPERATORS else []
    return ", ".join(texts + more)


def _single(change: Change, lead: str) -> Iterator[RenderableType]:
    """Name a case, and say what came of it where that is news."""
    yield _line(4, f"{lead}{change.record.case}")
    said = headline(change.new) if change.new is not None else ""
    if said:
        yield _line(6, cut(said, LONGEST))


def _line(indent: int, text: str) -> Text:
    line = Text(" " * indent, no_wrap=True, overflow="ignore")
    return line.append_text(plain(text))


def _closing(found: Changes) -> RenderableType:
    parts = [f"{n} {kind}" for kind, n in found.counts.items() if n or kind is Kind.WORSE]
    style = "red" if found.bad else "green"
    return Rule(Text(", ".join(parts)), characters="=", style=style)
