"""An operator's page in Markdown, with the sections of the one in reStructuredText."""

from __future__ import annotations

from collections.abc import Sequence

from ..harness.spec import Difference, Example, OperatorPage
from ..harness.specdiff import lines_of
from .markup import markdown_code, markdown_escaped, markdown_fence, markdown_text
from .spec import (
    attribute_note,
    attribute_type,
    by_domain_and_family,
    change_line,
    changes,
    difference_title,
    example_blocks,
    file_name,
    more_line,
    other_versions,
    parameter_note,
    similarity_line,
    title,
)

SUFFIX = ".md"


def markdown(page: OperatorPage) -> str:
    """Render a page; its links lead to the other versions in the same folder."""
    blocks = [f"# {markdown_escaped(title(page))}"]
    if not page.latest:
        link = f"[{page.name}]({page.name}{SUFFIX})"
        blocks.append(f"The latest version is {link}, since version {page.versions[-1]}.")
    facts = [f"- **Domain**: `{page.domain}`", f"- **Since version**: {page.since_version}"]
    facts += ["- **Deprecated**: yes"] if page.deprecated else []
    blocks += ["\n".join(facts), markdown_text("\n".join(lines_of(page.text))), *_facts(page)]
    if page.examples or page.more_examples:
        blocks += _examples(page)
    if page.difference is not None:
        blocks += _difference(page, page.difference)
    others = other_versions(page)
    if others:
        links = [f"- [Version {v}]({file_name(page, v)}{SUFFIX})" for v in others]
        blocks += ["## Version History", "\n".join(links)]
    return _joined(blocks)


def markdown_index(pages: Sequence[OperatorPage], version: str) -> str:
    """Render the index of all pages, by domain and family; ``version`` is that of onnx."""
    blocks = ["# Operators"]
    blocks.append(f"{len(pages)} versions of operators, as onnx {version} defines them.")
    for domain, families in by_domain_and_family(pages).items():
        blocks.append(f"## {domain}")
        for family, latest in families.items():
            blocks += [f"### {markdown_escaped(family)}", "\n".join(map(_index_line, latest))]
    return _joined(blocks)


def _index_line(page: OperatorPage) -> str:
    versions = [page.since_version, *other_versions(page)]
    links = [f"[{v}]({page.domain}/{file_name(page, v)}{SUFFIX})" for v in versions]
    return f"- [{page.name}]({page.domain}/{page.name}{SUFFIX}): {', '.join(links)}"


def _joined(blocks: Sequence[str]) -> str:
    return "\n\n".join(filter(None, blocks)) + "\n"


def _facts(page: OperatorPage) -> list[str]:
    blocks: list[str] = []
    for heading, parameters in (("Inputs", page.inputs), ("Outputs", page.outputs)):
        entries = [_entry(p.name, p.type, p.text, parameter_note(p)) for p in parameters]
        blocks += _listed(heading, entries)
    entries = [
        _entry(a.name, attribute_type(a), a.text, attribute_note(a)) for a in page.attributes
    ]
    blocks += _listed("Attributes", entries)
    entries = [
        _entry(c.name, "", c.text, f"Allowed types: {', '.join(c.types)}.")
        for c in page.type_constraints
    ]
    return blocks + _listed("Type Constraints", entries)


def _listed(heading: str, entries: list[str]) -> list[str]:
    return [f"**{heading}**", "\n".join(entries)] if entries else []


def _entry(name: str, kind: str, text: str, note: str) -> str:
    kind = f" (*{markdown_escaped(kind)}*)" if kind else ""
    line = f"- **{markdown_escaped(name)}**{kind}: {markdown_text(' '.join(text.split()))}"
    return f"{line.rstrip()}\n  {markdown_escaped(note)}" if note else line.rstrip()


def _examples(page: OperatorPage) -> list[str]:
    blocks = ["## Examples"]
    for example in page.examples:
        blocks += _example(example)
    sentence, command = more_line(page)
    return [*blocks, f"{sentence} {markdown_code(command)}"] if sentence else blocks


def _example(example: Example) -> list[str]:
    blocks = [f"**{markdown_escaped(example.name)}**", markdown_escaped(example.why)]
    blocks.append(f"Case: {markdown_code(example.case)}, opset {example.opset}.")
    return blocks + [markdown_fence(block) for block in example_blocks(example)]


def _difference(page: OperatorPage, difference: Difference) -> list[str]:
    blocks = [
        f"## {difference_title(page, difference)}",
        f"- old version: {difference.old_version}\n"
        f"- new version: {difference.new_version}\n"
        f"- breaking: {'yes' if difference.breaking else 'no'}",
    ]
    for heading, group in changes(difference):
        blocks.append(f"**{heading}:**")
        blocks.append("\n".join(f"- {markdown_escaped(change_line(c))}" for c in group))
    if difference.diff:
        blocks += ["**Documentation:**", f"- {similarity_line(difference)}"]
        blocks.append(markdown_fence("\n".join(difference.diff), "diff"))
    return blocks
