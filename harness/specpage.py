"""Reads the examples of an operator's specification page as entries of a case file.

A page is reStructuredText: the heading names the operator, a list its domain and since version.
Below the heading ``Examples`` each example has a title in bold and literal blocks with the sections
``Node:``, ``Inputs:`` and ``Outputs:``.
Pages of ``opcheck spec`` have some more: why the case is there, its opset, tolerances, bodies,
models, errors that are due.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import onnx.defs

from .caseentry import Beside
from .dtypes import element_type
from .errors import CaseError, shorten
from .literals import BadLiteral, Real, Todo, to_array
from .printed import Line, at_line, literal_of, printed_values
from .spelling import Unspeakable, attribute_float, safe_name

#: A page larger than this is refused.
MAX_BYTES = 64 * 2**20
#: What a page prints in place of a graph, and of a model without text.
SUBGRAPH, MODEL_FILE = "<subgraph>", "(a model file)"

_DOMAIN = re.compile(r"- \*\*Domain\*\*: ``([\w.\-]*)``")
_SINCE = re.compile(r"- \*\*Since version\*\*: (\d{1,9})")
_TITLE = re.compile(r"([A-Za-z_]\w*)(?: - version \d+)?")
_BOLD = re.compile(r"\*\*(?P<title>.+)\*\*")
_CASE = re.compile(r"Case: ``.*``, opset (?P<opset>\d{1,9})\.")
_SECTION = re.compile(r"(?P<kind>Node|Model|Inputs|Outputs|Error|Tolerance|Graph (?P<graph>\S+)):")
_ATTRIBUTE = re.compile(r"(?P<name>\S+) = (?P<value>.+)")


@dataclass(slots=True)
class PageCases:
    """The examples of a page as entries, and the mistakes in others."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    errors: list[CaseError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Page:
    operator: str
    domain: str
    since_version: int

    @property
    def name(self) -> str:
        """The operator with its domain, where that is not ONNX's own."""
        return self.operator if self.domain == "ai.onnx" else f"{self.domain}.{self.operator}"


@dataclass(slots=True)
class _Section:
    kind: str
    line: int
    lines: list[Line] = field(default_factory=list)


@dataclass(slots=True)
class _Example:
    title: str
    line: int
    prose: list[str] = field(default_factory=list)
    sections: list[_Section] = field(default_factory=list)


def read_page(text: str, name: str, beside: Beside) -> PageCases:
    """Return the cases of a page; ``name`` is what errors call it. Never raises for a mistake."""
    found = PageCases()
    lines = [line.rstrip() for line in text.split("\n")]
    try:
        page = _head(lines)
        examples = list(_examples(lines))
    except CaseError as error:
        error.file = name
        found.errors.append(error)
        return found
    for example in examples:
        try:
            found.entries.append(_entry(page, example, beside))
        except CaseError as error:
            error.path = ()
            found.errors.append(error)
        except Unspeakable as problem:
            found.errors.append(at_line(example.line, str(problem), "what a case file can hold"))
        else:
            continue
        last = found.errors[-1]
        last.file, last.case = name, example.title
        last.line = last.line or example.line
    return found


# The structure of the page.


def _head(lines: list[str]) -> _Page:
    """Return what page it is: the first heading, the domain, the version."""
    place, domain = _found(lines, _DOMAIN, "- **Domain**: ``ai.onnx``")
    _, since = _found(lines, _SINCE, "- **Since version**: 11")
    first = next((i for i in range(place) if _is_heading(lines, i)), None)
    operator = None if first is None else _TITLE.fullmatch(lines[first])
    if first is None or operator is None:
        seen = "no heading" if first is None else f"the heading {shorten(lines[first])}"
        wanted = "the name of the operator as heading, such as Scan or Scan - version 11"
        raise at_line((first or 0) + 1, seen, wanted)
    return _Page(operator[1], domain or "ai.onnx", int(since))


def _found(lines: list[str], pattern: re.Pattern[str], wanted: str) -> tuple[int, str]:
    """Return where the first line of a form is, and what it says."""
    for i, line in enumerate(lines):
        found = pattern.fullmatch(line)
        if found:
            return i, found[1]
    raise at_line(1, "a page without such a line", wanted)


def _is_heading(lines: list[str], i: int) -> bool:
    """Whether a line is underlined, as headings are."""
    if i + 1 >= len(lines) or not lines[i] or lines[i][0].isspace():
        return False
    return bool(re.fullmatch(r"=+|-+|~+|\^+", lines[i + 1])) and len(lines[i + 1]) >= len(lines[i])


def _examples(lines: list[str]) -> Iterator[_Example]:
    starts = [i for i in range(len(lines)) if lines[i] == "Examples" and _is_heading(lines, i)]
    if not starts:
        raise at_line(len(lines), "no heading Examples", "a page with examples")
    i, example = starts[-1] + 2, None
    while i < len(lines) and not _is_heading(lines, i):
        line = lines[i]
        bold = _BOLD.fullmatch(line)
        if bold:
            if example is not None:
                yield example
            example = _Example(_unescaped(bold["title"]), i + 1)
        elif line.startswith(".. code-block::") or line == "::":
            start = i + 1
            block, i = _block(lines, start)
            if example is None:
                raise at_line(start, "a block before any title", "a title in bold: **name**")
            _add_sections(example, block)
            continue
        elif line and not line[0].isspace() and example is not None:
            example.prose.append(line)
        i += 1
    if example is None:
        raise at_line(starts[-1] + 1, "no example", "examples with titles in bold")
    yield example


def _block(lines: list[str], start: int) -> tuple[list[Line], int]:
    """Return the lines of a literal block without its indentation, and where it ends."""
    end = start
    while end < len(lines) and (not lines[end] or lines[end][0] == " "):
        end += 1
    given = [
        (i + 1, lines[i])
        for i in range(start, end)
        if lines[i] and not re.fullmatch(r" +:[\w-]+:.*", lines[i])
    ]
    margin = min((len(text) - len(text.lstrip()) for _, text in given), default=0)
    shown = [Line(n, len(t) - len(t.lstrip()) - margin, t[margin:]) for n, t in given]
    return shown, end


def _add_sections(example: _Example, block: list[Line]) -> None:
    for line in block:
        if line.indent:
            if not example.sections:
                raise at_line(line.number, shorten(line.text), "a section such as Node:")
            example.sections[-1].lines.append(line)
        elif line.text != "or":
            if not _SECTION.fullmatch(line.text):
                wanted = "Node:, Model:, Inputs:, Outputs:, Error:, Tolerance: or Graph NAME:"
                raise CaseError((), shorten(line.text), wanted, line=line.number,
                                case=example.title)  # fmt: skip
            example.sections.append(_Section(line.text[:-1], line.number))


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: "" if found[1] == " " else found[1], text)


# One example.


def _entry(page: _Page, example: _Example, beside: Beside) -> dict[str, Any]:
    name = safe_name(example.title)
    entry: dict[str, Any] = {"name": name, "operator": page.name, "opset": page.since_version}
    entry["spec"] = f"{page.domain} {page.operator}-{page.since_version}"
    why = []
    for line in example.prose:
        case = _CASE.fullmatch(line)
        if case:
            entry["opset"] = int(case["opset"])
        else:
            why.append(_unescaped(line))
    if why:
        entry["why"] = " ".join(why)
    sections = {s.kind: s for s in example.sections if s.kind not in ("Outputs", "Error")}
    forms = [s for s in example.sections if s.kind in ("Node", "Model")]
    if len(forms) != 1:
        raise at_line(example.line, f"{len(forms)} sections Node: or Model:", "one")
    if forms[0].kind == "Node":
        entry |= _node(page, forms[0], sections, entry["opset"])
    else:
        entry |= _model(forms[0])
    if "Inputs" in sections:
        entry["inputs"] = _values(sections["Inputs"], name, beside)
    alternatives = [
        {"error": _error(s)} if s.kind == "Error" else {"outputs": _values(s, name, beside)}
        for s in example.sections
        if s.kind in ("Outputs", "Error")
    ]
    if not alternatives:
        raise at_line(example.line, "no outputs", "a section Outputs: or Error:")
    entry |= alternatives[0] if len(alternatives) == 1 else {"any_of": alternatives}
    if "Tolerance" in sections:
        entry["tolerance"] = _tolerance(sections["Tolerance"], alternatives)
    return entry


def _values(section: _Section, name: str, beside: Beside) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for value in printed_values(section.lines):
        if value.name in values:
            raise at_line(value.line, f"{shorten(value.name)} twice", "each name once")
        aside = beside.npy(f"{name}.{value.name}")
        values[value.name] = literal_of(value, aside, beside.inline)
    return values


def _model(section: _Section) -> dict[str, Any]:
    text = _text(section)
    if text.strip() == MODEL_FILE:
        return {"model_file": Todo("the page does not show the model")}
    return {"model": text}


def _text(section: _Section) -> str:
    """Return the text of a section without the indentation that all its lines share."""
    if not section.lines:
        raise at_line(section.line, "nothing below it", "ONNX's text syntax")
    margin = min(line.indent for line in section.lines)
    first = section.lines[0].number
    shown = {line.number: line.text[margin:] for line in section.lines}
    return "\n".join(shown.get(i, "") for i in range(first, max(shown) + 1)) + "\n"


def _node(
    page: _Page, section: _Section, sections: dict[str, _Section], opset: int
) -> dict[str, Any]:
    if not section.lines or section.lines[0].text.strip() == "Attributes:":
        raise at_line(section.line, "no node", "Operator(inputs) -> (outputs)")
    signature = section.lines[0].text.strip()
    if page.domain != "ai.onnx" and not signature.startswith(f"{page.domain}."):
        signature = f"{page.domain}.{signature}"
    attributes: dict[str, Any] = {}
    types = _attribute_types(page, opset)
    rest = section.lines[1:]
    if rest and rest[0].text.strip() != "Attributes:":
        raise at_line(rest[0].number, shorten(rest[0].text), "Attributes:")
    for line in rest[1:]:
        found = _ATTRIBUTE.fullmatch(line.text.strip())
        if found is None:
            raise at_line(line.number, shorten(line.text), "an attribute: name = value")
        name, text = found["name"], found["value"]
        if name in attributes:
            raise at_line(line.number, f"{shorten(name)} twice", "each attribute once")
        if text == SUBGRAPH:
            body = sections.get(f"Graph {name}")
            todo = Todo(f"the page prints {SUBGRAPH}; write the graph in ONNX's text syntax")
            attributes[name] = todo if body is None else _text(body)
        else:
            attributes[name] = _attribute(text, types.get(name, ""), line.number)
    node = {"node": signature}
    return {**node, "attributes": attributes} if attributes else node


def _attribute_types(page: _Page, opset: int) -> dict[str, str]:
    domain = "" if page.domain == "ai.onnx" else page.domain
    try:
        schema = onnx.defs.get_schema(page.operator, opset, domain)
    except onnx.defs.SchemaError:
        return {}
    return {name: str(formal.type).rpartition(".")[2] for name, formal in schema.attributes.items()}


def _attribute(text: str, kind: str, line: int) -> Any:
    """Return the literal of an attribute; its type decides what the text is."""
    if kind.endswith("S") and text.startswith("[") and text.endswith("]"):
        return [_attribute(item, kind[:-1], line) for item in _items(text[1:-1], line)]
    if kind == "FLOAT":
        return _number(text, line)
    if re.fullmatch(r"[+-]?\d{1,100}", text, re.ASCII):
        return int(text)
    if text.startswith('"'):
        return _string(text, line)
    if kind == "STRING":
        return text
    if text.startswith("[") and text.endswith("]"):
        return [_attribute(item, "", line) for item in _items(text[1:-1], line)]
    return _number(text, line)


def _number(text: str, line: int) -> Any:
    try:
        [value] = to_array([text], element_type("float32"))
    except BadLiteral as error:
        raise at_line(line, error.seen, f"{error.wanted}, a string in quotes, or a list") from None
    return attribute_float(float(value))


def _items(text: str, line: int) -> list[str]:
    """Split the items of a list; commas inside of strings separate nothing."""
    pattern = r'\s*("(?:\\.|[^"\\])*"|[^",\[\]]+?)\s*(?:,|$)'
    items, place = [], 0
    while text[place:].strip():
        found = re.compile(pattern).match(text, place)
        if found is None or found.end() == place:
            raise at_line(line, shorten(text[place:]), "items separated by commas")
        items.append(found[1])
        place = found.end()
    return items


def _string(text: str, line: int) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        value = text[1:-1] if len(text) > 1 and text.endswith('"') else None
    if not isinstance(value, str):
        raise at_line(line, shorten(text), "a string in quotes")
    return value


def _settings(text: str, line: int) -> Iterator[tuple[str, str]]:
    for part in text.split(","):
        key, found, value = part.strip().partition("=")
        if not found:
            raise at_line(line, shorten(part), "key=value")
        yield key, value


def _tolerance(section: _Section, alternatives: list[dict[str, Any]]) -> dict[str, Any]:
    outputs: dict[str, Any] = {}
    for line in section.lines:
        name, found, text = line.text.strip().partition(":")
        if not found:
            raise at_line(line.number, shorten(line.text), "an output and its tolerance: Y: ulp=2")
        allowed: dict[str, Any] = {} if text else {"signed_zero": False}
        for key, value in _settings(text, line.number) if text else ():
            if key == "signed_zero" and value in ("True", "False"):
                allowed[key] = value == "True"
            elif key in ("ulp", "rtol", "atol") and re.fullmatch(r"[\d.]+(e[+-]?\d+)?", value):
                allowed[key] = Real(value)
            else:
                raise at_line(line.number, f"{key}={value}", "ulp, rtol, atol, signed_zero")
        outputs[name] = allowed
    every = next((set(a["outputs"]) for a in alternatives if "outputs" in a), set())
    distinct = {repr(allowed) for allowed in outputs.values()}
    alike = len(distinct) == 1 and set(outputs) == every
    return next(iter(outputs.values())) if alike else {"outputs": outputs}


def _error(section: _Section) -> Any:
    due: dict[str, str] = {}
    for line in section.lines:
        found = _ATTRIBUTE.fullmatch(line.text.strip())
        if found and found["name"] == "phase":
            due["phase"] = found["value"]
        elif found and found["name"] == "match":
            due["match"] = _string(found["value"], line.number)
    return due or True
