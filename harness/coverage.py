"""How much of what the schemas allow has a case, and passes.

What is counted is cases: one that uses the same thing in several nodes counts once.
A case that may be an error counts for nothing but ``rejections``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from fractions import Fraction

import msgspec
import onnx
import onnx.defs

from .signatures import family, signatures_of_schema, unreachable
from .uses import Facts, Key, Use

_Options = onnx.defs.OpSchema.FormalParameterOption
_OPTIONS = {
    _Options.Single: "single", _Options.Optional: "optional", _Options.Variadic: "variadic",
}  # fmt: skip


class SignatureCoverage(msgspec.Struct, frozen=True):
    """One type of a type parameter: the cases that use it, and how many pass on each backend.

    ``unreachable`` says why no valid model can use it.
    """

    parameter: str
    type: str
    cases: int
    passed: dict[str, int]
    unreachable: str = ""


class AttributeCoverage(msgspec.Struct, frozen=True):
    """An attribute: how many cases give it, leave it out, and give which value."""

    name: str
    required: bool
    given: int
    left_out: int
    values: dict[str, int]

    @property
    def covered(self) -> bool:
        """Whether it is given, and left out where it may be."""
        return bool(self.given and (self.required or self.left_out))


class FormalCoverage(msgspec.Struct, frozen=True):
    """A formal input or output: how many cases give it and omit it, and in which form.

    ``kind`` is ``single``, ``optional`` or ``variadic``; ``counts`` says of a variadic one how
    often how many were given.
    """

    name: str
    kind: str
    given: int
    omitted: int
    counts: dict[int, int]
    ranks: dict[int, int]

    @property
    def covered(self) -> bool:
        """Whether an optional one is both given and omitted."""
        return bool(self.given and self.omitted)


class SchemaCoverage(msgspec.Struct, frozen=True):
    """An operator in one version; ``rejections`` counts the cases that must be an error."""

    domain: str
    operator: str
    since_version: int
    family: str
    cases: int
    rejections: int
    signatures: list[SignatureCoverage]
    attributes: list[AttributeCoverage]
    inputs: list[FormalCoverage]
    outputs: list[FormalCoverage]

    @property
    def name(self) -> str:
        """The operator, with its domain where that is not ONNX's own."""
        return f"{self.domain}.{self.operator}" if self.domain else self.operator

    @property
    def title(self) -> str:
        """The operator with its version."""
        return f"{self.name}-{self.since_version}"

    @property
    def optionals(self) -> list[FormalCoverage]:
        """The inputs and outputs that may be omitted."""
        return [f for f in (*self.inputs, *self.outputs) if f.kind == "optional"]


class Coverage(msgspec.Struct, frozen=True):
    """What the cases of some sources cover.

    ``unknown`` counts the cases with operators that onnx does not define, ``strangers`` the
    results of cases that the sources do not hold.
    """

    onnx: str
    backends: list[str]
    cases: int
    schemas: list[SchemaCoverage]
    unknown: dict[str, int]
    strangers: int = 0


class Count(msgspec.Struct, frozen=True):
    """How many of some things are covered."""

    covered: int
    total: int

    @property
    def share(self) -> Fraction:
        """The part that is covered; all where there is nothing."""
        return Fraction(self.covered, self.total) if self.total else Fraction(1)

    @property
    def percent(self) -> str:
        """The share with one digit, rounded down: only what is complete is 100 %."""
        tenths = int(1000 * self.share)
        return f"{tenths // 10}.{tenths % 10}%"


class Row(msgspec.Struct, frozen=True):
    """The counts of some schemas together; ``passed`` has the signatures that pass, by backend."""

    name: str
    signatures: Count
    attributes: Count
    optionals: Count
    passed: dict[str, Count]


@dataclass(slots=True)
class _Seen:
    """What was seen of one schema so far."""

    cases: int = 0
    rejections: int = 0
    signatures: Counter[tuple[str, str]] = field(default_factory=Counter)
    passed: Counter[tuple[str, tuple[str, str]]] = field(default_factory=Counter)
    values: Counter[tuple[str, str]] = field(default_factory=Counter)
    attributes: Counter[tuple[str, bool]] = field(default_factory=Counter)
    #: By ("inputs" or "outputs", position): how many were given, and of which ranks.
    counts: Counter[tuple[str, int, int]] = field(default_factory=Counter)
    ranks: Counter[tuple[str, int, int]] = field(default_factory=Counter)


def measure(
    schemas: Iterable[onnx.defs.OpSchema],
    facts: Iterable[tuple[str, Key, Facts]],
    passed: Mapping[str, Set[str]],
    strangers: int = 0,
) -> Coverage:
    """Return what cases cover of some schemas.

    ``facts`` holds of each case its id, the key of its own schema and what it uses; ``passed``
    the ids of the cases that pass, by backend.
    """
    chosen = {(s.domain, s.name, s.since_version): s for s in schemas}
    names = {key: [a.name for a in s.attributes.values()] for key, s in chosen.items()}
    seen = {key: _Seen() for key in chosen}
    unknown: Counter[str] = Counter()
    cases = 0
    for case_id, own, fact in facts:
        cases += 1
        unknown.update(fact.unknown)
        if fact.rejected and own in seen:
            seen[own].rejections += 1
        backends = [name for name, ids in passed.items() if case_id in ids]
        by_schema: dict[Key, list[Use]] = {}
        for use in fact.uses:
            by_schema.setdefault((use.domain, use.operator, use.since_version), []).append(use)
        for key, uses in by_schema.items():
            if key in seen:
                _add(seen[key], uses, names[key], backends)
    covered = [_schema(schema, seen[key], list(passed)) for key, schema in chosen.items()]
    return Coverage(onnx.__version__, list(passed), cases, covered, dict(unknown), strangers)


def _add(seen: _Seen, uses: list[Use], names: list[str], backends: list[str]) -> None:
    """Add one case with its nodes of one schema."""
    seen.cases += 1
    pairs = {pair for use in uses for pair in use.types}
    seen.signatures.update(pairs)
    seen.passed.update((backend, pair) for backend in backends for pair in pairs)
    seen.values.update({pair for use in uses for pair in use.attributes})
    given = [{name for name, _ in use.attributes} for use in uses]
    seen.attributes.update({(name, name in one) for one in given for name in names})
    formals = [
        (side, position, formal)
        for use in uses
        for side, entries in (("inputs", use.inputs), ("outputs", use.outputs))
        for position, formal in enumerate(entries)
    ]
    seen.counts.update({(side, k, formal.given) for side, k, formal in formals})
    seen.ranks.update({(side, k, rank) for side, k, formal in formals for rank in formal.ranks})


def _schema(schema: onnx.defs.OpSchema, seen: _Seen, backends: list[str]) -> SchemaCoverage:
    signatures = [
        SignatureCoverage(
            s.parameter,
            s.type,
            seen.signatures[s.parameter, s.type],
            {name: seen.passed[name, (s.parameter, s.type)] for name in backends},
            unreachable(s),
        )
        for s in sorted(signatures_of_schema(schema))
    ]
    attributes = [
        AttributeCoverage(
            attribute.name,
            attribute.required,
            seen.attributes[attribute.name, True],
            seen.attributes[attribute.name, False],
            {v: n for (a, v), n in sorted(seen.values.items()) if a == attribute.name},
        )
        for attribute in sorted(schema.attributes.values(), key=lambda a: a.name)
    ]
    return SchemaCoverage(
        schema.domain,
        schema.name,
        schema.since_version,
        family(schema),
        seen.cases,
        seen.rejections,
        signatures,
        attributes,
        [_formal("inputs", k, formal, seen) for k, formal in enumerate(schema.inputs)],
        [_formal("outputs", k, formal, seen) for k, formal in enumerate(schema.outputs)],
    )


def _formal(
    side: str, position: int, formal: onnx.defs.OpSchema.FormalParameter, seen: _Seen
) -> FormalCoverage:
    here = (side, position)
    counts = {n: cases for (*at, n), cases in sorted(seen.counts.items()) if tuple(at) == here}
    ranks = {r: cases for (*at, r), cases in sorted(seen.ranks.items()) if tuple(at) == here}
    kind = _OPTIONS[formal.option]
    return FormalCoverage(
        formal.name,
        kind,
        sum(cases for n, cases in counts.items() if n),
        counts.get(0, 0),
        counts if kind == "variadic" else {},
        ranks,
    )


def rows(coverage: Coverage, by: str) -> list[Row]:
    """Group the schemas by ``operator``, ``family`` or ``opset``, the least covered first.

    An opset has the schemas that came with it, so that the rows add up to the whole.
    """
    groups: dict[str, list[SchemaCoverage]] = {}
    for schema in coverage.schemas:
        opset = f"{schema.domain or 'ai.onnx'} {schema.since_version}"
        name = {"operator": schema.name, "family": schema.family, "opset": opset}[by]
        groups.setdefault(name, []).append(schema)
    found = [_row(name, schemas, coverage.backends) for name, schemas in groups.items()]
    return sorted(found, key=lambda row: (row.signatures.share, _natural(row.name)))


def _natural(name: str) -> list[tuple[int, str]]:
    """Return what sorts version 9 before version 10."""
    return [(int(part or 0), word) for word, part in re.findall(r"(\D+)(\d*)", name)]


def totals(coverage: Coverage) -> list[Row]:
    """Return the counts of each domain, ONNX's own first, and of all where there are several."""
    groups: dict[str, list[SchemaCoverage]] = {}
    for schema in sorted(coverage.schemas, key=lambda s: s.domain):
        groups.setdefault(schema.domain or "ai.onnx", []).append(schema)
    found = [_row(name, schemas, coverage.backends) for name, schemas in groups.items()]
    return found if len(found) == 1 else [*found, total(coverage)]


def total(coverage: Coverage) -> Row:
    """Return the counts of everything."""
    return _row("all", coverage.schemas, coverage.backends)


def _row(name: str, schemas: list[SchemaCoverage], backends: list[str]) -> Row:
    signatures = [s for schema in schemas for s in schema.signatures]
    attributes = [a for schema in schemas for a in schema.attributes]
    optionals = [f for schema in schemas for f in schema.optionals]
    return Row(
        name,
        Count(sum(s.cases > 0 for s in signatures), len(signatures)),
        Count(sum(a.covered for a in attributes), len(attributes)),
        Count(sum(f.covered for f in optionals), len(optionals)),
        {b: Count(sum(s.passed[b] > 0 for s in signatures), len(signatures)) for b in backends},
    )
