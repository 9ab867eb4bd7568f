"""An operator's page: what its renderings have in common, and the one in JSON."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import msgspec
from onnx.defs import OpSchema

from ..harness.case import Planned
from ..harness.spec import (
    MAIN_DOMAIN,
    Attribute,
    Change,
    Difference,
    Example,
    OperatorPage,
    Parameter,
    UnknownOperator,
    describe,
    find_version,
)
from ..harness.specdiff import default_text, difference
from .page import example, graph_block


def build(
    schema: OpSchema,
    cases: Sequence[Planned] = (),
    limit: int = 0,
    *,
    sources: Sequence[str] = (),
    other: int | None = None,
) -> OperatorPage:
    """Return the page of a schema with at most ``limit`` of its cases, which ``sources`` hold.

    It tells the difference to the version ``other``, or else to the one before.
    Raises ``UnknownOperator`` where there is no such version.
    """
    page = describe(schema)
    compared = page.previous if other is None else other
    change = None
    if other == page.since_version:
        name = f"{page.full_name}-{other}"
        raise UnknownOperator(f"{name} does not differ from itself; name another version")
    if compared is not None:
        pair = [describe(find_version((schema.domain, schema.name), compared)), page]
        change = difference(*sorted(pair, key=lambda p: p.since_version))
    chosen = examples(cases, limit)
    return msgspec.structs.replace(
        page,
        sources=tuple(sources),
        examples=tuple(example(case.load()) for case in chosen),
        more_examples=len(cases) - len(chosen),
        difference=change,
    )


def examples(cases: Sequence[Planned], limit: int) -> list[Planned]:
    """Choose at most ``limit`` cases in their order: one variant of each name before a second."""
    turns: dict[tuple[str, str], int] = {}
    ranked = []
    for i, case in enumerate(cases):
        name = (case.file, case.name)
        turns[name] = turns.get(name, 0) + 1
        ranked.append((turns[name], i))
    return [cases[i] for i in sorted(i for _, i in sorted(ranked)[:limit])]


def as_json(page: OperatorPage) -> str:
    """Return a page as JSON; ``msgspec`` decodes it to an equal one."""
    return msgspec.json.format(msgspec.json.encode(page), indent=2).decode() + "\n"


def title(page: OperatorPage) -> str:
    """Return the heading: the latest version goes by the name alone."""
    return page.name if page.latest else f"{page.name} - version {page.since_version}"


def file_name(page: OperatorPage, version: int | None = None) -> str:
    """Return what the page of a version is called, without folder and suffix."""
    wanted = page.since_version if version is None else version
    return page.name if wanted == page.versions[-1] else f"{page.name}-{wanted}"


def other_versions(page: OperatorPage) -> list[int]:
    """Return the versions beside this one, the latest first."""
    return [v for v in reversed(page.versions) if v != page.since_version]


def parameter_note(parameter: Parameter) -> str:
    """Say what the line of a parameter on the pages does not: optional, variadic."""
    if parameter.option == "optional":
        return "Optional."
    if parameter.option == "variadic":
        kinds = "of one type" if parameter.same_type else "each of its own type"
        return f"Variadic: {parameter.minimum} or more, {kinds}."
    return ""


def attribute_type(attribute: Attribute) -> str:
    """Return the type of an attribute in the spelling of the pages: ``int[]``."""
    name = attribute.type.lower()
    return f"{name[:-1]}[]" if name in ("ints", "floats", "strings") else name


def attribute_note(attribute: Attribute) -> str:
    """Say whether an attribute is required, and what it is where it is left out."""
    if attribute.required:
        return "Required."
    default = attribute.default
    return "" if default is None else f"Default: {default_text(default)}."


def difference_title(page: OperatorPage, change: Difference) -> str:
    """Return the heading of the differences."""
    old, new = change.old_version, change.new_version
    if new == page.since_version and old == page.previous:
        return f"Differences with previous version ({old})"
    other = old if new == page.since_version else new
    return f"Differences with version {other}"


def changes(of: Difference) -> list[tuple[str, Sequence[Change]]]:
    """Return the groups of changes that are not empty, with their headings."""
    groups = [
        ("Operator", of.operator),
        ("Inputs", of.inputs),
        ("Outputs", of.outputs),
        ("Attributes", of.attributes),
        ("Type constraints", of.type_constraints),
    ]
    return [group for group in groups if group[1]]


def change_line(change: Change) -> str:
    """Return a change in one line."""
    line = f"{change.kind} {change.name!r}: {'; '.join(change.details)}"
    return f"{line} (breaking)" if change.breaking else line


def similarity_line(of: Difference) -> str:
    """Say how much of the text stayed."""
    counts = f"+{of.lines_added}/-{of.lines_removed} lines"
    return f"line similarity: {of.similarity:.2f} ({counts})"


def more_line(page: OperatorPage) -> tuple[str, str]:
    """Return a sentence and a command for the examples that are left out; empty without any."""
    if not page.more_examples:
        return "", ""
    what = "example" if page.more_examples == 1 else "examples"
    places = "".join(f" {shlex.quote(source)}" for source in page.sources)
    options = f"--op {page.full_name} --opset {page.since_version}"
    return f"{page.more_examples} more {what}:", f"opcheck list{places} {options}"


def example_blocks(example: Example) -> list[str]:
    """Return the blocks of an example: the node, the values, the graphs."""
    graphs = [graph_block(name, text) for name, text in example.graphs.items()]
    return [example.node, example.values, *graphs]


def by_domain_and_family(
    pages: Sequence[OperatorPage],
) -> dict[str, dict[str, list[OperatorPage]]]:
    """Return the latest pages, sorted: the main domain first, then families, then names."""
    index: dict[str, dict[str, list[OperatorPage]]] = {}
    order = sorted(pages, key=lambda p: (p.domain != MAIN_DOMAIN, p.domain, p.family, p.name))
    for page in order:
        if page.latest:
            index.setdefault(page.domain, {}).setdefault(page.family, []).append(page)
    return index
