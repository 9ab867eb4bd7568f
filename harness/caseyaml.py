"""Writes case files as a person would: in the order of the format, a line for what fits one.

What is written are plain entries: dicts in the keys of the case format, with the literals that
``spelling`` makes.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from .literals import Real, Todo
from .spelling import Unspeakable, short_exponent
from .yamlfile import meaning

Entry = Mapping[str, Any]

#: No line is wider, but for a single literal, name or line of ONNX's text that is.
WIDTH = 100
#: The keys of a case, in the order of the format.
KEYS = (
    "name", "why", "operator", "opset", "spec", "types", "node", "attributes", "model",
    "model_file", "inputs", "outputs", "error", "any_of", "tolerance",
)  # fmt: skip
#: What all cases of a file share is written once, before them.
_SHARED = ("operator", "opset", "spec")
#: These have an entry a line, even where one line would hold all.
_OPEN = ("attributes", "inputs", "outputs", "any_of")
#: The keys whose strings need no quotes; what others hold are literals.
_NAMES = (
    "name", "why", "operator", "spec", "node", "model_file", "dtype", "npy", "phase", "id",
)  # fmt: skip
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_./()\-]*")
_PLAIN_LINE = re.compile(r"[A-Za-z0-9_](?:[!-~ ]*[!-~])?")


def case_file(entries: Sequence[Entry], comment: str) -> str:
    """Return the text of a case file.

    Raises ``Unspeakable`` for a text that YAML cannot hold.
    """
    shared = {key: entries[0][key] for key in _SHARED if len(_choices(entries, key)) == 1}
    lines = [f"# {' '.join(comment.split())}"]
    for key, value in shared.items():
        lines += _item(key, value, 0)
    lines.append("cases:")
    for i, entry in enumerate(entries):
        lines += [""] * (i > 0)
        lines += case_lines({k: v for k, v in entry.items() if k not in shared})
    return "\n".join(lines) + "\n"


def _choices(entries: Sequence[Entry], key: str) -> set[Any]:
    return {entry.get(key) for entry in entries} if all(key in e for e in entries) else set()


def case_lines(entry: Entry) -> list[str]:
    """Return the lines of one case, as an item of the list ``cases:``."""
    lines = [line for key in KEYS if key in entry for line in _item(key, entry[key], 4)]
    return [f"  - {lines[0].lstrip()}", *lines[1:]]


def yaml_lines(value: Entry) -> list[str]:
    """Return the lines of a mapping of its own, keys in their order."""
    return [line for key, held in value.items() for line in _item(key, held, 0)]


def _item(key: Any, value: Any, indent: int) -> list[str]:
    """Return the lines of a key and its value."""
    head = f"{' ' * indent}{_key(key)}:"
    if isinstance(value, Todo):
        return [f"{head} TODO{f'  # {value.note}' if value.note else ''}"]
    if isinstance(value, str):
        return _string(head, key, value, indent)
    line = f"{head} {flow(value, key)}"
    opened = isinstance(value, dict | list) and bool(value) and (key in _OPEN or _has_todo(value))
    if not opened and (len(line) <= WIDTH or not isinstance(value, dict | list) or not value):
        return [line]
    if isinstance(value, dict):
        return [head, *(line for k, v in value.items() for line in _item(k, v, indent + 2))]
    if any(isinstance(item, dict) for item in value):
        return [head, *(line for item in value for line in _listed(item, indent + 2))]
    pad = indent + 2
    return [head, *(" " * pad + line for line in _rows(value, key, WIDTH - pad))]


def _listed(item: Any, indent: int) -> list[str]:
    """Return the lines of a mapping in a list."""
    line = f"{' ' * indent}- {flow(item, '')}"
    if len(line) <= WIDTH and not _has_todo(item) and not any(key in _OPEN for key in item):
        return [line]
    lines = [line for k, v in item.items() for line in _item(k, v, indent + 2)]
    return [f"{' ' * indent}- {lines[0].lstrip()}", *lines[1:]]


def _string(head: str, key: Any, text: str, indent: int) -> list[str]:
    """Return the lines of a text: plain or quoted, folded where it is long prose, or a block."""
    if "\n" in text and _fits_a_block(text):
        body = text.removesuffix("\n").split("\n")
        pad = " " * (indent + 2)
        mark = "|" if text.endswith("\n") else "|-"
        return [f"{head} {mark}", *(f"{pad}{line}" if line else "" for line in body)]
    if key not in _NAMES:
        return [f"{head} {quoted(text)}"]
    shown = text if _is_plain_line(text) else quoted(text)
    if key == "why" and len(head) + len(shown) >= WIDTH and _is_plain_line(text):
        pad = " " * (indent + 2)
        wrapped = textwrap.wrap(
            text, WIDTH - len(pad), break_long_words=False, break_on_hyphens=False
        )
        return [f"{head} >-", *(f"{pad}{line}" for line in wrapped)]
    return [f"{head} {shown}"]


def _fits_a_block(text: str) -> bool:
    lines = text.removesuffix("\n").split("\n")
    clean = all(line.isprintable() and line == line.rstrip() for line in lines)
    return clean and bool(lines[-1]) and bool(lines[0]) and not lines[0].startswith(" ")


def _is_plain_line(text: str) -> bool:
    found = _PLAIN_LINE.fullmatch(text)
    return bool(found) and ": " not in text and " #" not in text and not (
        text.endswith(":") or type(meaning(text)) is not str
    )  # fmt: skip


def _rows(value: Any, key: Any, width: int) -> Iterator[str]:
    """Return nested lists as NumPy lays them out: a row a line, long rows wrapped."""
    line = flow(value, key)
    if len(line) <= width or not value or not isinstance(value, list):
        yield line
    elif isinstance(value[0], list):
        for i, row in enumerate(value):
            last = i == len(value) - 1
            for k, text in enumerate(inner := list(_rows(row, key, width - 2))):
                comma = "," if k == len(inner) - 1 and not last else ""
                end = "]" if k == len(inner) - 1 and last else ""
                yield f"{'[' if i == k == 0 else ' '}{text}{comma}{end}"
    else:
        yield from _wrapped([flow(item, key) for item in value], width)


def _wrapped(items: list[str], width: int) -> Iterator[str]:
    line = "["
    for i, item in enumerate(items):
        text = item + ("]" if i == len(items) - 1 else ",")
        if len(line) > 1 and len(line) + 1 + len(text) > width:
            yield line
            line = ""
        line += text if line == "[" else f" {text}"
    yield line


def flow(value: Any, key: Any = "") -> str:
    """Return a value on one line."""
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_key(k)}: {flow(v, k)}' for k, v in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(flow(item, key) for item in value)}]"
    if isinstance(value, str):
        named = isinstance(value, Todo) or (key in _NAMES and _is_plain(value))
        return str(value) if named else quoted(value)
    if isinstance(value, Real):
        return value.text
    if isinstance(value, float):
        return short_exponent(repr(value))
    return {None: "null", True: "true", False: "false"}[value] if (
        value is None or isinstance(value, bool)
    ) else str(value)  # fmt: skip


def _key(key: Any) -> str:
    if isinstance(key, str):
        return key if _is_plain(key) else quoted(key)
    return str(key)


@lru_cache(2**12)
def _is_plain(text: str) -> bool:
    return bool(_PLAIN.fullmatch(text)) and type(meaning(text)) is str


def quoted(text: str) -> str:
    """Return a text in double quotes; raises ``Unspeakable`` for half a character."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    if character == "\n":
        return "\\n"
    if "\ud800" <= character <= "\udfff":
        raise Unspeakable("a text with half of a surrogate pair, which YAML cannot hold")
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else (
        f"\\U{code:08x}"
    )  # fmt: skip


def _has_todo(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_todo, value.values()))
    if isinstance(value, list):
        return any(map(_has_todo, value))
    return isinstance(value, Todo)
