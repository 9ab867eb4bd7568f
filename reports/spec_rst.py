"""An operator's page in reStructuredText, in the layout of the specification's own pages."""

from __future__ import annotations

from collections.abc import Sequence

from ..harness.spec import Difference, Example, OperatorPage
from .markup import (
    rst_blocks,
    rst_code,
    rst_code_block,
    rst_escaped,
    rst_line,
    rst_strong,
)
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

SUFFIX = ".rst"


def rst(page: OperatorPage) -> str:
    """Render a page; its links lead to the other versions in the same folder."""
    sections = [_head(page), rst_blocks(page.text), *_facts(page)]
    if page.examples or page.more_examples:
        sections += _examples(page)
    if page.difference is not None:
        sections += _difference(page, page.difference)
    others = other_versions(page)
    if others:
        sections.append(_heading("Version History"))
        sections.append([f"- {_link(page, v, f'Version {v}')}" for v in others])
    return _joined(sections)


def rst_index(pages: Sequence[OperatorPage], version: str) -> str:
    """Render the index of all pages, by domain and family; ``version`` is that of onnx."""
    sections = [_heading("Operators", "=")]
    sections.append([f"{len(pages)} versions of operators, as onnx {version} defines them."])
    for domain, families in by_domain_and_family(pages).items():
        sections.append(_heading(domain))
        for family, latest in families.items():
            sections.append(_heading(family, "^"))
            sections.append([_index_line(page) for page in latest])
    sections.append([".. toctree::", "   :hidden:", "   :glob:", "", "   */*"])
    return _joined(sections)


def _index_line(page: OperatorPage) -> str:
    versions = [page.since_version, *other_versions(page)]
    links = [f":doc:`{v} <{page.domain}/{file_name(page, v)}>`" for v in versions]
    return f"- :doc:`{page.name} <{page.domain}/{page.name}>`: {', '.join(links)}"


def _joined(sections: Sequence[Sequence[str]]) -> str:
    blocks = ["\n".join(line.rstrip() for line in section) for section in sections if section]
    return "\n\n".join(blocks) + "\n"


def _heading(text: str, character: str = "-") -> list[str]:
    return [text, character * len(text)]


def _link(page: OperatorPage, version: int, text: str) -> str:
    return f":doc:`{text} <{file_name(page, version)}>`"


def _head(page: OperatorPage) -> list[str]:
    label = f"op_{page.domain.replace('.', '_')}_{file_name(page)}"
    lines = [] if page.latest else [":nosearch:", ""]
    lines += [f".. _{label}:", "", *_heading(title(page), "="), ""]
    if not page.latest:
        latest = page.versions[-1]
        lines.append(
            f"Version **{page.since_version}** of **{page.name}**; "
            f"the latest is :doc:`{page.name}`, since version {latest}."
        )
        lines.append("")
    lines += [f"- **Domain**: ``{page.domain}``", f"- **Since version**: {page.since_version}"]
    return [*lines, "- **Deprecated**: yes"] if page.deprecated else lines


def _facts(page: OperatorPage) -> list[list[str]]:
    sections: list[list[str]] = []
    for heading, parameters in (("Inputs", page.inputs), ("Outputs", page.outputs)):
        entries = [_entry(p.name, p.type, p.text, parameter_note(p)) for p in parameters]
        sections += _listed(heading, entries)
    entries = [
        _entry(a.name, attribute_type(a), a.text, attribute_note(a)) for a in page.attributes
    ]
    sections += _listed("Attributes", entries)
    entries = [
        _entry(c.name, "", c.text, f"Allowed types: {', '.join(c.types)}.")
        for c in page.type_constraints
    ]
    return sections + _listed("Type Constraints", entries)


def _listed(heading: str, entries: list[list[str]]) -> list[list[str]]:
    if not entries:
        return []
    return [[f"**{heading}**"], [line for entry in entries for line in entry]]


def _entry(name: str, kind: str, text: str, note: str) -> list[str]:
    """Return an item of a list: the line of the pages, and below it what they do not say."""
    kind = f" ({_emphasis(kind)})" if kind else ""
    line = f"- {rst_strong(name)}{kind}: {rst_line(text)}".rstrip()
    return [line, f"  {rst_escaped(note)}"] if note else [line]


def _emphasis(text: str) -> str:
    return f"*{text}*"


def _examples(page: OperatorPage) -> list[list[str]]:
    sections = [_heading("Examples")]
    for example in page.examples:
        sections += _example(example)
    sentence, command = more_line(page)
    return [*sections, [f"{sentence} {rst_code(command)}"]] if sentence else sections


def _example(example: Example) -> list[list[str]]:
    sections = [[rst_strong(example.name)]]
    if example.why:
        sections.append([rst_escaped(example.why)])
    sections.append([f"Case: {rst_code(example.case)}, opset {example.opset}."])
    return sections + [rst_code_block(block, "text") for block in example_blocks(example)]


def _difference(page: OperatorPage, difference: Difference) -> list[list[str]]:
    sections = [
        _heading(difference_title(page, difference)),
        [f"**SchemaDiff**: ``{page.name}`` (domain ``'{page.domain}'``)"],
        [
            f"* old version: {difference.old_version}",
            f"* new version: {difference.new_version}",
            f"* breaking: {'yes' if difference.breaking else 'no'}",
        ],
    ]
    for heading, group in changes(difference):
        sections.append([f"**{heading}:**"])
        sections.append([f"* {rst_escaped(change_line(change))}" for change in group])
    if difference.diff:
        sections += [["**Documentation:**"], [f"* {similarity_line(difference)}"]]
        sections.append(rst_code_block("\n".join(difference.diff), "diff"))
    return sections
