"""Reads YAML as case files need it: exact literals, no surprises, nothing that builds objects.

The scalars follow the core schema of YAML 1.2: ``no``, ``on`` and ``1:30`` are strings.
A float keeps its text (``literals.Real``), an integer is exact, and the word ``TODO`` is told from
a string (``literals.Todo``).
Tags, duplicate keys, merge keys, aliases that contain themselves and documents that unfold to
more than ``MAX_NODES`` nodes are errors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import yaml
from yaml import MappingNode, ScalarNode, SequenceNode

from .errors import CaseError, shorten
from .errors import Path as PathInside
from .literals import MAX_DIGITS, Real, Todo

#: A file larger than this is refused; large tensors belong into ``npy`` files.
MAX_BYTES = 64 * 2**20
#: The number of values a document may unfold to, aliases counted as often as they are used.
MAX_NODES = 5_000_000
#: How deep lists and mappings may nest.
MAX_DEPTH = 100

_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
_WORDS: dict[str, Any] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_TODO = Todo()
#: The tag of every node whose author wrote none.
_NO_TAG = ""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Composes nodes and leaves what their scalars mean to this module."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:  # noqa: ARG002
        """Return the tag of a node that has none."""
        return _NO_TAG


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML document: its plain values, and the nodes they were built from.

    ``unfinished`` tells whether the word ``TODO`` is among them.
    """

    value: Any
    node: Any
    unfinished: bool = False

    def line_of(self, path: PathInside) -> int | None:
        """Return the line (from 1) of the value at a path, or of the nearest place around it."""
        node, line = self.node, None
        for part in (*path, None):
            if node is None:
                break
            line = line or node.start_mark.line + 1
            inner = _inner(node, part)
            if inner is None:
                break
            place, node = inner
            line = place.start_mark.line + 1
        return line


def _inner(node: Any, part: str | int | None) -> tuple[Any, Any] | None:
    """Return the node that one part of a path leads to, behind the node that shows its place."""
    if isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part]
    if isinstance(node, MappingNode) and part is not None:
        for key, value in node.value:
            if key.value == str(part):
                return key, value
    return None


def open_document(path: Path) -> Document:
    """Return the document in a YAML file.

    Raises ``CaseError`` with file and line for anything that cannot be read.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise CaseError((), f"{path.stat().st_size} bytes", f"at most {MAX_BYTES}",
                            hint="put large tensors into npy files", file=str(path))  # fmt: skip
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise CaseError(
            (), error.strerror or str(error), "a readable file", file=str(path)
        ) from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        seen = f"the byte 0x{error.object[error.start]:02x}"
        raise CaseError((), seen, "text in UTF-8", file=str(path), line=line) from error
    return _document(text, str(path))


def read(path: Path) -> Any:
    """Return the document in a YAML file as plain values; raises as ``open_document``."""
    return open_document(path).value


def read_text(text: str, file: str) -> Any:
    """Return the YAML document in a text as plain values; raises as ``open_document``."""
    return _document(text, file).value


def _document(text: str, file: str) -> Document:
    node = _compose(text, file)
    if node is None:
        return Document(None, None)
    try:
        if not isinstance(node, ScalarNode):
            _Sizes().check(node)
        plain = _Plain(_WORDS)
        return Document(_built(node, plain), node, _TODO in plain)
    except CaseError as error:
        error.file = file
        raise


def _compose(text: str, file: str) -> Any:
    try:
        return yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text, file) from error
    except yaml.reader.ReaderError as error:
        line = text.encode("utf-8", "replace").count(b"\n", 0, error.position) + 1
        seen = f"the character {error.character!a}: {error.reason}"
        if isinstance(error.character, int):
            seen = f"the character U+{error.character:04X}: {error.reason}"
        raise CaseError((), seen, "text", file=file, line=line) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise CaseError((), " ".join(str(error).split()), "valid YAML", file=file) from error


def _syntax_error(error: yaml.MarkedYAMLError, text: str, file: str) -> CaseError:
    """Say what the parser stumbled over, and where."""
    lines = text.splitlines() or [""]
    mark = error.problem_mark or error.context_mark
    line = None if mark is None else min(mark.line + 1, len(lines))
    shown = "" if line is None else lines[line - 1]
    seen = (error.problem or error.context or "a syntax error").removeprefix("found ")
    seen = seen.replace("did not find expected", "no")
    if "another document" in seen:
        return CaseError((), "a second document", "one document", file=file, line=line)
    indent = shown[: len(shown) - len(shown.lstrip())]
    if "\t" in indent:
        return CaseError((), "a tab in the indentation", "spaces", file=file, line=line)
    return CaseError((), seen, "valid YAML", file=file, line=line)


class _Sizes:
    """Measures nodes before anything is built: an alias costs as much as what it names."""

    def __init__(self) -> None:
        self.known: dict[int, tuple[int, int]] = {}
        self.around: set[int] = set()

    def check(self, node: Any) -> tuple[int, int]:
        """Return how many values a list or mapping unfolds to, and how deep they nest.

        Raises ``CaseError`` for more than the limits, and for an alias inside what it names.
        """
        if id(node) in self.known:
            return self.known[id(node)]
        if id(node) in self.around:
            raise CaseError(
                (), "an alias inside the value it names", "a value that ends", line=_line(node)
            )
        is_mapping = type(node) is MappingNode
        children = [*chain.from_iterable(node.value)] if is_mapping else node.value
        total, depth = 1 + len(children), 1
        if len(self.around) < MAX_DEPTH:
            self.around.add(id(node))
            for child in children:
                if type(child) is not ScalarNode:
                    size, height = self.check(child)
                    total, depth = total + size - 1, max(depth, height + 1)
            self.around.remove(id(node))
        else:
            depth = MAX_DEPTH + 1
        if depth > MAX_DEPTH or total > MAX_NODES:
            deep = f"lists and mappings nested more than {MAX_DEPTH} deep"
            many = f"more than {MAX_NODES} values, aliases counted"
            seen = deep if depth > MAX_DEPTH else many
            raise CaseError((), seen, "a smaller document", line=_line(node))
        self.known[id(node)] = total, depth
        return total, depth


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


class _Plain(dict[str, Any]):
    """What plain scalars mean, by their text: what a document repeats is read once."""

    def __missing__(self, text: str) -> Any:
        self[text] = value = _scalar(text)
        return value


def _built(node: Any, plain: _Plain) -> Any:
    """Return the plain value of a node; an error has the path from there."""
    if node.tag != _NO_TAG:
        hint = "leave it out; quote what must be a string"
        wanted = "a value without a tag"
        raise CaseError((), f"the tag {node.tag}", wanted, hint=hint, line=_line(node))
    if isinstance(node, ScalarNode):
        try:
            return node.value if node.style else plain[node.value]
        except CaseError as error:
            error.line = _line(node)
            raise
    if isinstance(node, MappingNode):
        return _mapping(node, plain)
    items: list[Any] = []
    try:
        for item in node.value:
            items.append(_built(item, plain))  # noqa: PERF401 - the error needs the index
    except CaseError as error:
        raise error.at(len(items)) from None
    return items


def _mapping(node: Any, plain: _Plain) -> dict[Any, Any]:
    result: dict[Any, Any] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, ScalarNode):
            seen = "a list or mapping as a key"
            raise CaseError((), seen, "a plain key", line=_line(key_node))
        key = _built(key_node, plain)
        if key == "<<" and not key_node.style:
            hint = "name the whole value by an alias, or write it out"
            seen = "a merge key <<"
            raise CaseError((), seen, "no merge keys", hint=hint, line=_line(key_node))
        if key in result:
            seen = f"the key {shorten(key)} twice"
            raise CaseError((), seen, "each key once", line=_line(key_node))
        try:
            result[key] = _built(value_node, plain)
        except CaseError as error:
            raise error.at(key_node.value) from None
    return result


def meaning(text: str) -> Any:
    """Return what a plain scalar means."""
    return _Plain(_WORDS)[text]


def _scalar(text: str) -> Any:
    """Return what a plain scalar means that is none of the words."""
    if not text[0].isdigit() and text[0] not in "-+.":
        return _TODO if text == _TODO else text
    if _INT.fullmatch(text):
        if len(text) > MAX_DIGITS:
            raise CaseError((), shorten(text), f"an integer of at most {MAX_DIGITS} digits")
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
    if _FLOAT.fullmatch(text):
        return Real(text)
    return text
