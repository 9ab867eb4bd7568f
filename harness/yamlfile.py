"""Reads YAML as case files need it: exact literals, no surprises, nothing that builds objects.

The scalars follow the core schema of YAML 1.2: ``no``, ``on`` and ``1:30`` are strings.
A float keeps its text (``literals.Real``), an integer is exact.
Tags, duplicate keys, merge keys, aliases that contain themselves and documents that unfold to
more than ``MAX_NODES`` nodes are errors.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from .errors import CaseError, shorten
from .errors import Path as PathInside
from .literals import Real

#: A file larger than this is refused; large tensors belong into ``npy`` files.
MAX_BYTES = 64 * 2**20
#: The number of values a document may unfold to, aliases counted as often as they are used.
MAX_NODES = 5_000_000
#: How deep lists and mappings may nest.
MAX_DEPTH = 100

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
_WORDS: dict[str, Any] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True,
    "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_STANDARD_TAG = "tag:yaml.org,2002:"
#: The tags that the C loader puts on its own.
_IMPLICIT = frozenset(
    _STANDARD_TAG + kind
    for kind in ("str", "int", "float", "bool", "null", "seq", "map", "timestamp", "merge", "value")
)


def read(path: Path) -> Any:
    """Return the document in a YAML file as plain values.

    Raises ``CaseError`` with file and line for anything that cannot be read.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise CaseError((), f"{path.stat().st_size} bytes", f"at most {MAX_BYTES}",
                            hint="put large tensors into npy files", file=str(path))  # fmt: skip
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CaseError((), str(error), "a readable UTF-8 file", file=str(path)) from error
    return read_text(text, str(path))


def read_text(text: str, file: str) -> Any:
    """Return the YAML document in a text as plain values."""
    node = _compose(text, file)
    if node is None:
        return None
    try:
        return _Builder().build(node, ())
    except CaseError as error:
        error.file = file
        raise


def _compose(text: str, file: str) -> Any:
    try:
        return yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        seen = error.problem or error.context or "a syntax error"
        hint = "indent with spaces" if "\\t" in seen or "tab character" in seen else ""
        line = None if mark is None else mark.line + 1
        raise CaseError((), seen, "valid YAML", hint=hint, file=file, line=line) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise CaseError((), " ".join(str(error).split()), "valid YAML", file=file) from error


class _Builder:
    """Builds plain values from composed nodes, and counts them."""

    def __init__(self) -> None:
        self.count = 0

    def build(self, node: Any, path: PathInside, depth: int = 0) -> Any:
        self.count += 1
        line = node.start_mark.line + 1
        if self.count > MAX_NODES or depth > MAX_DEPTH:
            what = "values" if self.count > MAX_NODES else "levels"
            limit = MAX_NODES if self.count > MAX_NODES else MAX_DEPTH
            raise CaseError(path, f"more than {limit} {what}, aliases counted", "fewer", line=line)
        if node.tag not in _IMPLICIT:
            raise CaseError(path, f"the tag {node.tag}", "a value without a tag", line=line)
        if isinstance(node, yaml.ScalarNode):
            return _scalar(node, path, line)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(v, (*path, i), depth + 1) for i, v in enumerate(node.value)]
        return self.mapping(node, path, depth)

    def mapping(self, node: Any, path: PathInside, depth: int) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise CaseError(path, "a list or mapping as a key", "a plain key", line=line)
            key = _scalar(key_node, path, line)
            if key in result:
                raise CaseError(path, f"the key {key!r} twice", "each key once", line=line)
            shown = key if isinstance(key, str | int) else str(key)
            result[key] = self.build(value_node, (*path, shown), depth + 1)
        return result


def _scalar(node: Any, path: PathInside, line: int) -> Any:
    text = node.value
    if node.style in ("'", '"', "|", ">"):
        return text
    if text in _WORDS:
        return _WORDS[text]
    if not text[0].isdigit() and text[0] not in "-+.":
        return text
    if _INT.fullmatch(text):
        if len(text) > 4000:
            raise CaseError(path, shorten(text), "a shorter integer", line=line)
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
    if _FLOAT.fullmatch(text):
        return Real(text)
    return text


def line_of(text: str, path: PathInside) -> int | None:
    """Return the line (from 1) of the value at a path, or of the nearest place around it."""
    try:
        node = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError:
        return None
    line = None
    for part in (*path, None):
        if node is None:
            break
        line = node.start_mark.line + 1
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
        elif isinstance(node, yaml.MappingNode):
            found = [(k, v) for k, v in node.value if k.value == str(part)]
            if not found:
                break
            line = found[0][0].start_mark.line + 1
            node = found[0][1]
        else:
            break
    return line


def case_lines(path: Path) -> list[int]:
    """Return the line (from 1) at which each entry of ``cases`` begins."""
    node = yaml.compose(path.read_text(encoding="utf-8"), Loader=_Loader)
    for key, value in node.value if node is not None else ():
        if key.value == "cases" and isinstance(value, yaml.SequenceNode):
            return [entry.start_mark.line + 1 for entry in value.value]
    return []
