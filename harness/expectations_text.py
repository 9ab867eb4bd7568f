"""The canonical text of an expectations file, with the comments of the file it replaces.

The canonical text of a file that is canonical is that file.
"""

from __future__ import annotations

import re
import textwrap
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from .errors import CaseError
from .expectations import EntrySpec
from .yamlfile import read_text

#: Prose is wrapped to this width.
WIDTH = 90
_KEYS = ("case", "outcome", "operator", "type", "opset", "version", "reason", "issue")
_BREAKS = "\n\r\x85\u2028\u2029"
_COMMENT = re.compile(f"#[^{_BREAKS}]*")

#: A place in a file that can have comments: a key of the file, or an entry's number with a key,
#: or with ``case`` and the number of a glob.
Address = tuple[str | int, ...]


@dataclass(slots=True)
class Notes:
    """The comments of one place: on the lines above it, ``""`` for a blank line, and beside it."""

    above: list[str] = field(default_factory=list)
    beside: str = ""


@dataclass(slots=True)
class Draft:
    """An entry to be written, with its comments by key, and by glob.

    ``lead`` stands above the entry; what a blank line separates from it outlives the entry.
    """

    spec: EntrySpec
    lead: list[str] = field(default_factory=list)
    keys: dict[str, Notes] = field(default_factory=dict)
    globs: dict[str, Notes] = field(default_factory=dict)

    def sections(self) -> list[str]:
        """Return the part of the lead that belongs to what follows, not to this entry alone."""
        end = max((i + 1 for i, line in enumerate(self.lead) if not line), default=0)
        return self.lead[:end]


@dataclass(slots=True)
class Page:
    """A whole file to be written."""

    backend: str
    sources: Sequence[str] = ()
    head: dict[str, Notes] = field(default_factory=dict)
    entries: list[Draft] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)


def take_apart(text: str, page: Page, file: str) -> None:
    """Put the comments of a file's text where they belong on a page with the file's entries."""
    try:
        places = _places(yaml.compose(text, Loader=yaml.SafeLoader))
        comments = _comments(text)
    except yaml.YAMLError as error:
        seen = " ".join(str(error).split())
        raise CaseError((), seen, "YAML that can be rewritten", file=file) from error
    offsets = [offset for offset, _ in places]
    end_before = 0
    for i, (start, end) in enumerate(comments):
        line = text[max(text.rfind(b, 0, start) for b in _BREAKS) + 1 : start]
        comment = text[start:end].rstrip()
        after = bisect_left(offsets, start)
        if line.strip(" \t-") and after:
            notes = _notes(page, places[after - 1][1])
            if notes.beside:
                notes.above.append(comment)
            else:
                notes.beside = comment
        else:
            above = _above(page, places[after][1] if after < len(places) else None)
            if above and _blank(text[end_before:start]):
                above.append("")
            above.append(comment)
            last = i + 1 == len(comments) or bisect_left(offsets, comments[i + 1][0]) > after
            if last and after < len(places) and _blank(text[end : offsets[after]]):
                above.append("")
        end_before = end


def _blank(between: str) -> bool:
    """Whether a text between two places has an empty line."""
    return sum(between.replace("\r\n", "\n").count(b) for b in _BREAKS) > 1


def _places(root: Any) -> list[tuple[int, Address]]:
    """Return where each key and glob of a file begins, in the order of the text."""
    places: list[tuple[int, Address]] = []
    for key, value in root.value:
        places.append((key.start_mark.index, (key.value,)))
        if key.value != "expectations":
            continue
        for i, entry in enumerate(value.value):
            for j, (name, inner) in enumerate(entry.value):
                # The comments above an entry's first key are those above the entry.
                address: Address = (i, name.value) if j else (i, name.value, "lead")
                places.append((name.start_mark.index, address))
                if name.value == "case" and isinstance(inner, yaml.SequenceNode):
                    places += [
                        (glob.start_mark.index, (i, "case", k))
                        for k, glob in enumerate(inner.value)
                    ]
    return sorted(places, key=lambda place: place[0])


def _notes(page: Page, address: Address) -> Notes:
    first, *rest = address
    if not isinstance(first, int):
        return page.head.setdefault(first, Notes())
    draft = page.entries[first]
    if isinstance(rest[-1], int):
        return draft.globs.setdefault(draft.spec.case[rest[-1]], Notes())
    return draft.keys.setdefault(str(rest[0]), Notes())


def _above(page: Page, address: Address | None) -> list[str]:
    if address is None:
        return page.tail
    if address[-1] == "lead" and isinstance(address[0], int):
        return page.entries[address[0]].lead
    return _notes(page, address).above


def _comments(text: str) -> list[tuple[int, int]]:
    """Return where the comments of a YAML text begin and end."""
    starts, ends = [], []
    for token in yaml.scan(text, Loader=yaml.SafeLoader):
        if isinstance(token, yaml.ScalarToken):
            start = token.start_mark.index
            if token.style in ("|", ">"):
                # A comment may stand behind the indicator.
                start = min(
                    (i for i in (text.find(b, start) for b in _BREAKS) if i >= 0), default=start
                )
            starts.append(start)
            ends.append(token.end_mark.index)
    found = []
    at = text.find("#")
    while at >= 0:
        scalar = bisect_right(starts, at) - 1
        if scalar >= 0 and at < ends[scalar]:
            at = text.find("#", ends[scalar])
        elif at and text[at - 1] not in " \t\ufeff" + _BREAKS:
            at = text.find("#", at + 1)
        else:
            match = _COMMENT.match(text, at)
            end = match.end() if match else at
            found.append((at, end))
            at = text.find("#", end)
    return found


def put_together(page: Page) -> str:
    """Return the canonical text of a page."""
    lines: list[str] = []
    values = {"backend": f"backend: {scalar(page.backend)}"}
    if page.sources:
        values["sources"] = f"sources: {_flow(page.sources)}"
    values["expectations"] = "expectations:" if page.entries else "expectations: []"
    for key, line in values.items():
        notes = page.head.get(key, Notes())
        lines += [*notes.above, _beside(line, notes)]
    for i, draft in enumerate(page.entries):
        lines += [""] if i else []
        lines += _entry(draft)
    if page.tail:
        lines += ["", *page.tail]
    return "\n".join(lines).rstrip("\n") + "\n"


def _beside(line: str, notes: Notes) -> str:
    return f"{line}  {notes.beside}" if notes.beside else line


def _entry(draft: Draft) -> list[str]:
    """Return the lines of an entry; comments that stood inside it stay at their keys."""
    body: list[str] = []
    lead = [f"  {line}" if line else "" for line in draft.lead]
    for key in _KEYS:
        value = getattr(draft.spec, key)
        if value is None or value == "":
            continue
        notes = draft.keys.get(key, Notes())
        alone = value[0] if key == "case" and not isinstance(value, str) and len(value) == 1 else ""
        if alone:
            glob = draft.globs.get(alone, Notes())
            extra = [glob.beside] if glob.beside and notes.beside else []
            notes = Notes([*notes.above, *glob.above, *extra], notes.beside or glob.beside)
        written = _value(key, alone or value, draft.globs)
        above = [line for line in notes.above if line]
        if notes.beside and written[0].lstrip(" ")[:1] in ("|", ">"):
            above.append(notes.beside)
            notes = Notes()
        if body:
            body += [f"    {line}" for line in above]
        else:
            lead += [f"  {line}" for line in above]
        body.append(_beside(f"    {key}:{written[0]}", notes))
        body += written[1:]
    body[0] = "  - " + body[0].removeprefix("    ")
    return lead + body


def _value(key: str, value: Any, globs: dict[str, Notes]) -> list[str]:
    """Return what stands behind a key: the rest of its line, and the lines below."""
    if isinstance(value, int):
        return [f" {value}"]
    if isinstance(value, str):
        return _prose(value) if key == "reason" else [f" {scalar(value)}"]
    if key != "case":
        return [f" {_flow(value)}"]
    lines = [""]
    for text in value:
        notes = globs.get(text, Notes())
        lines += [f"      {line}" for line in notes.above if line]
        lines.append(_beside(f"      - {scalar(text)}", notes))
    return lines


def _flow(values: Sequence[str | int]) -> str:
    return f"[{', '.join(str(v) if isinstance(v, int) else scalar(v, flow=True) for v in values)}]"


def _prose(text: str) -> list[str]:
    """Return a reason: long ones wrapped, those of several lines as they are."""
    lines = text.split("\n")
    if all(line.isprintable() for line in lines):
        if len(lines) > 1:
            return [" |-", *(f"      {line}" if line else "" for line in lines)]
        wrapped = textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
        if len(wrapped) > 1 and " ".join(wrapped) == text:
            return [" >-", *(f"      {line}" for line in wrapped)]
    return [f" {scalar(text)}"]


def scalar(text: str, *, flow: bool = False) -> str:
    """Return a string in YAML: plain where that is read as the same string, else quoted."""
    if re.match(r"[A-Za-z0-9_./(]", text) and text.isprintable():
        plain = f"[{text}]" if flow else f"a: {text}"
        try:
            if read_text(plain, "") == ([text] if flow else {"a": text}):
                return text
        except CaseError:
            pass
    return '"' + "".join(map(_quoted, text)) + '"'


def _quoted(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    number = ord(character)
    return (
        f"\\x{number:02x}"
        if number < 0x100
        else (f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}")
    )
