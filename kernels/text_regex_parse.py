"""The syntax of RE2: from a pattern to a tree.

Source: https://github.com/google/re2/wiki/Syntax
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from .registry import Unsupported

#: RE2 refuses larger counts, and nested ones whose product is larger.
MAX_REPEAT = 1000
#: RE2 allows 1000; groups nested deeper than this are not parsed here.
MAX_DEPTH = 100

_MAX_CHAR = chr(0x10FFFF)
_ESCAPES = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_PERL = {"d": "09", "s": "\t\n\f\r  ", "w": "09AZ__az"}
_POSIX = {
    "alnum": "09AZaz", "alpha": "AZaz", "ascii": "\0\x7f", "blank": "\t\t  ",
    "cntrl": "\0\x1f\x7f\x7f", "digit": "09", "graph": "!~", "lower": "az", "print": " ~",
    "punct": "!/:@[`{~", "space": "\t\r  ", "upper": "AZ", "word": "09AZ__az",
    "xdigit": "09AFaf",
}  # fmt: skip
_CATEGORIES = frozenset(
    """
    Any C Cc Cf Co Cs L Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So
    Z Zl Zp Zs
    """.split()
)
_ASSERTIONS = {"A": "text start", "z": "text end", "b": "word", "B": "no word"}
_REPETITION = re.compile(r"\{(\d+)(?:(,)(\d*))?\}", re.ASCII)
_NAMED = re.compile(r"\(\?P?<(\w+)>")
_FLAGS = re.compile(r"\(\?([imsU]*)(?:(-)([imsU]+))?([:)])")
_POSIX_CLASS = re.compile(r"\[:(\^?)(\w*):\]", re.ASCII)
_CATEGORY = re.compile(r"(\^?)([^}]*)\}")


@dataclass(frozen=True, slots=True)
class CharSet:
    """One character of a set: of ranges, Unicode categories (name, negated) and other sets."""

    ranges: tuple[tuple[str, str], ...] = ()
    categories: tuple[tuple[str, bool], ...] = ()
    inner: tuple[CharSet, ...] = ()
    negated: bool = False
    #: Whether case is ignored.
    fold: bool = False


@dataclass(frozen=True, slots=True)
class Assertion:
    """A place between characters: start or end of the text or of a line, a word boundary or not."""

    kind: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One of several."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Again and again; ``most`` is None where there is no limit."""

    item: Node
    least: int
    most: int | None


Node = CharSet | Assertion | Sequence | Alternatives | Repeat


def parse(pattern: str) -> Node:
    """Return the tree of a pattern.

    Raises: ``ValueError`` for what RE2 refuses, ``Unsupported`` for the little that it has and
    this parser has not.
    """
    parser = _Parser(pattern)
    node = parser.alternatives(0)
    if parser.at < len(pattern):
        raise parser.error("an unmatched ')'")
    if _nested(node) > MAX_REPEAT:
        raise parser.error(f"nested repetitions of more than {MAX_REPEAT}")
    return node


def _nested(node: Node) -> int:
    """Return the largest product of nested repetition counts."""
    if isinstance(node, Sequence | Alternatives):
        return max(map(_nested, node.items), default=1)
    if isinstance(node, Repeat):
        count = node.least if node.most is None else node.most
        return max(count, 1) * _nested(node.item)
    return 1


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(zip(text[::2], text[1::2], strict=True))


class _Parser:
    """Reads a pattern from left to right; ``at`` is the place, ``flags`` are those in force."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.flags: frozenset[str] = frozenset()
        self.names: set[str] = set()

    def error(self, what: str) -> ValueError:
        return ValueError(
            f"the pattern {self.pattern!r} has {what} at {self.at}, which RE2 does not accept"
        )

    def take(self, text: str) -> bool:
        """Step over ``text`` if it comes next."""
        found = self.pattern.startswith(text, self.at)
        self.at += len(text) if found else 0
        return found

    def next(self) -> str:
        """Return the next character and step over it."""
        if self.at >= len(self.pattern):
            raise self.error("no end")
        self.at += 1
        return self.pattern[self.at - 1]

    def literal(self, c: str) -> CharSet:
        return CharSet(((c, c),), fold="i" in self.flags)

    def alternatives(self, depth: int) -> Node:
        """Parse up to the end or to a closing parenthesis."""
        if depth > MAX_DEPTH:
            raise Unsupported(f"a pattern nests groups deeper than {MAX_DEPTH}")
        items = [self.sequence(depth)]
        while self.take("|"):
            items.append(self.sequence(depth))
        return items[0] if len(items) == 1 else Alternatives(tuple(items))

    def sequence(self, depth: int) -> Node:
        items: list[Node] = []
        repeated = False
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            counts = self.repetition()
            if counts is not None:
                if not items or repeated:
                    raise self.error("a repetition of nothing, or of a repetition")
                items[-1] = Repeat(items[-1], *counts)
                repeated = True
                continue
            added = self.quoted() if self.take("\\Q") else self.item(depth)
            items += added
            # Flags alone are nothing to repeat, and no repetition either.
            repeated = False
        return Sequence(tuple(items))

    def repetition(self) -> tuple[int, int | None] | None:
        """Parse ``*``, ``+``, ``?`` or counts, if they come next."""
        found = _REPETITION.match(self.pattern, self.at)
        if found is not None:
            self.at = found.end()
            least = int(found[1])
            most = (int(found[3]) if found[3] else None) if found[2] else least
            if max(least, most or 0) > MAX_REPEAT or (most is not None and most < least):
                raise self.error("a wrong repetition count")
        elif self.at < len(self.pattern) and self.pattern[self.at] in "*+?":
            least, most = {"*": (0, None), "+": (1, None), "?": (0, 1)}[self.next()]
        else:
            return None
        self.take("?")
        return least, most

    def quoted(self) -> list[Node]:
        r"""Parse literal text up to ``\E`` or the end."""
        end = self.pattern.find("\\E", self.at)
        text = self.pattern[self.at : end if end >= 0 else None]
        self.at += len(text)
        self.take("\\E")
        return [self.literal(c) for c in text]

    def item(self, depth: int) -> list[Node]:
        """Parse one character, set, assertion or group; flags alone are no item."""
        if self.pattern[self.at] == "(":
            return self.group(depth)
        c = self.next()
        if c == "[":
            return [self.bracket()]
        if c == "\\":
            return [self.escape()]
        if c == ".":
            return [CharSet((("\0", _MAX_CHAR),)) if "s" in self.flags else _NO_NEWLINE]
        if c in "^$":
            edge = "start" if c == "^" else "end"
            return [Assertion(f"{'line' if 'm' in self.flags else 'text'} {edge}")]
        return [self.literal(c)]

    def group(self, depth: int) -> list[Node]:
        """Parse a group, or flags that hold up to the end of the group around them."""
        outside = self.flags
        named = _NAMED.match(self.pattern, self.at)
        flags = _FLAGS.match(self.pattern, self.at)
        if named is not None:
            if named[1] in self.names:
                raise self.error(f"a second group named {named[1]!r}")
            self.names.add(named[1])
            self.at = named.end()
        elif flags is not None and flags[0] != "(?)":
            self.at = flags.end()
            self.flags = (outside | set(flags[1])) - set(flags[3] or "")
            if flags[4] == ")":
                return []
        elif self.pattern.startswith("(?", self.at):
            raise self.error("a look-around or another group with '(?'")
        else:
            self.at += 1
        node = self.alternatives(depth + 1)
        if not self.take(")"):
            raise self.error("a group without ')'")
        self.flags = outside
        return [node]

    def escape(self) -> Node:
        """Parse what follows a backslash outside of brackets."""
        c = self.next()
        if c in _ASSERTIONS:
            return Assertion(_ASSERTIONS[c])
        if c == "C":
            raise Unsupported("\\C, a single byte, has no counterpart in strings of characters")
        self.at -= 1
        return self.set_escape() or self.literal(self.character_escape())

    def set_escape(self) -> CharSet | None:
        """Parse ``d``, ``s``, ``w``, ``p`` and their capitals, if they come next."""
        c = self.next()
        if c.lower() in _PERL:
            return CharSet(_pairs(_PERL[c.lower()]), negated=c.isupper(), fold="i" in self.flags)
        if c not in "pP":
            self.at -= 1
            return None
        negated, name = c == "P", self.next()
        if name == "{":
            found = _CATEGORY.match(self.pattern, self.at)
            if found is None:
                raise self.error("a Unicode class without '}'")
            self.at, negated, name = found.end(), negated != bool(found[1]), found[2]
        if name not in _CATEGORIES:
            raise Unsupported(f"the Unicode class {name!r} is not built in; general categories are")
        return CharSet(categories=((name, False),), negated=negated, fold="i" in self.flags)

    def character_escape(self) -> str:
        """Parse an escape that stands for one character."""
        c = self.next()
        if c in _ESCAPES:
            return _ESCAPES[c]
        octal = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}").match(self.pattern, self.at - 1)
        if octal is not None:
            self.at = octal.end()
            return chr(int(octal[0], 8))
        digits = re.compile(r"x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]+)\})").match(
            self.pattern, self.at - 1
        )
        if digits is not None and int(digits[1] or digits[2], 16) <= ord(_MAX_CHAR):
            self.at = digits.end()
            return chr(int(digits[1] or digits[2], 16))
        if c.isascii() and not c.isalnum():
            return c
        kind = "a backreference" if c in "123456789" else "an unknown escape"
        raise self.error(f"{kind} \\{c}")

    def bracket(self) -> CharSet:
        """Parse a set up to its closing bracket."""
        negated, fold = self.take("^"), "i" in self.flags
        ranges: list[tuple[str, str]] = []
        inner: list[CharSet] = []
        first = True
        while first or not self.take("]"):
            first = False
            posix = _POSIX_CLASS.match(self.pattern, self.at)
            if posix is not None:
                if posix[2] not in _POSIX:
                    raise self.error(f"an unknown class {posix[0]}")
                self.at = posix.end()
                inner.append(CharSet(_pairs(_POSIX[posix[2]]), negated=bool(posix[1]), fold=fold))
                continue
            low = self.bracket_item()
            if isinstance(low, CharSet):
                inner.append(low)
                continue
            high = low
            ahead = self.pattern[self.at : self.at + 2]
            if len(ahead) == 2 and ahead[0] == "-" and ahead[1] != "]":
                self.at += 1
                end = self.bracket_item()
                if isinstance(end, CharSet) or end < low:
                    raise self.error("a range without an end, or with one below its start")
                high = end
            ranges.append((low, high))
        return CharSet(tuple(ranges), inner=tuple(inner), negated=negated, fold=fold)

    def bracket_item(self) -> str | CharSet:
        """Parse a character or a class of a set."""
        c = self.next()
        if c != "\\":
            return c
        return self.set_escape() or self.character_escape()


_NO_NEWLINE = replace(CharSet((("\n", "\n"),)), negated=True)
