"""An operator's page on the terminal: a rich renderable."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text

from ..harness.spec import Difference, Example, OperatorPage
from .markup import parsed, visible
from .spec import (
    attribute_note,
    attribute_type,
    change_line,
    changes,
    difference_title,
    example_blocks,
    more_line,
    other_versions,
    parameter_note,
    similarity_line,
)

_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def terminal_page(page: OperatorPage) -> RenderableType:
    """Show a page."""
    parts: list[RenderableType] = [_head(page), "", _markdown(page.text)]
    for heading, parameters in (("Inputs", page.inputs), ("Outputs", page.outputs)):
        parts += _section(
            heading, (_entry(p.name, p.type, p.text, parameter_note(p)) for p in parameters)
        )
    parts += _section(
        "Attributes",
        (_entry(a.name, attribute_type(a), a.text, attribute_note(a)) for a in page.attributes),
    )
    parts += _section(
        "Type constraints",
        (_entry(c.name, "", c.text, ", ".join(c.types)) for c in page.type_constraints),
    )
    if page.examples or page.more_examples:
        parts += _section("Examples", (part for e in page.examples for part in _example(e)))
        sentence, command = more_line(page)
        parts += [Text(f"  {sentence}"), _whole(f"    {command}", "dim")] if sentence else []
    if page.difference is not None:
        parts += _section(difference_title(page, page.difference), _difference(page.difference))
    return Group(*parts)


def _head(page: OperatorPage) -> Text:
    name = f"{page.full_name}-{page.since_version}"
    text = Text.assemble((name, "bold"), f"  {page.domain}, {page.family}")
    if page.deprecated:
        text.append(", deprecated", "red")
    others = ", ".join(f"{page.full_name}-{v}" for v in other_versions(page))
    return text.append(f"\nOther versions: {others}", "dim") if others else text


def _section(heading: str, parts: Iterable[RenderableType]) -> list[RenderableType]:
    shown = list(parts)
    return ["", Text(heading, "bold underline"), *shown] if shown else []


def _entry(name: str, kind: str, text: str, note: str) -> RenderableType:
    kind = f" ({kind})" if kind else ""
    parts: list[RenderableType] = [Text.assemble((name, "bold"), (kind, "cyan"))]
    if text:
        parts.append(Padding(_markdown(" ".join(text.split())), (0, 0, 0, 2)))
    if note:
        parts.append(Padding(Text(note, "dim"), (0, 0, 0, 2)))
    return Padding(Group(*parts), (0, 0, 0, 2))


def _markdown(text: str) -> Markdown:
    """Render Markdown; what looks like HTML is text."""
    shown = Markdown("", code_theme="ansi_light")
    shown.parsed = parsed(visible(text))
    return shown


def _whole(text: str, style: str) -> Text:
    """Return a line that is never wrapped, so that it can be copied."""
    return Text(visible(text), style, no_wrap=True, overflow="ignore")


def _example(example: Example) -> Iterable[RenderableType]:
    yield Padding(Text(visible(example.name), "bold"), (0, 0, 0, 2))
    if example.why:
        yield Padding(Text(visible(example.why)), (0, 0, 0, 4))
    yield _whole(f"    {example.case}, opset {example.opset}", "dim")
    for block in example_blocks(example):
        yield Padding(Text(block), (1, 0, 0, 4))
    yield ""


def _difference(difference: Difference) -> Iterable[RenderableType]:
    old, new = difference.old_version, difference.new_version
    verdict = ("breaking", "red") if difference.breaking else ("not breaking", "green")
    yield Text.assemble(f"  from {old} to {new}: ", verdict)
    for heading, group in changes(difference):
        yield Text(f"  {heading}")
        for change in group:
            yield Padding(Text(change_line(change)), (0, 0, 0, 4))
    if difference.diff:
        yield Text(f"  Text: {similarity_line(difference)}")
        for line in difference.diff:
            yield Padding(Text(visible(line), _DIFF_STYLES.get(line[:1], "")), (0, 0, 0, 4))
