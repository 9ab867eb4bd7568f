"""What an entry of an expectations file may be limited to: globs of ids, opsets, versions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .errors import CaseError, described, shorten

_ESCAPABLE = ("*", "?", "\\")
#: Stands for ``*`` where a glob is compared with a glob; no id has it.
_ANYTHING = "\0"


@dataclass(frozen=True, slots=True, eq=False)
class Glob:
    r"""A pattern of case ids: ``*`` is any text, ``?`` one character, all else is itself.

    Brackets are literal, since ids have them: ``add.yaml::sum[*-float32]``.
    A backslash makes a wildcard literal: ``\*``, ``\?``, ``\\``.
    ``prefix`` is the literal beginning of every id that matches.
    """

    text: str
    prefix: str
    pattern: re.Pattern[str]

    @classmethod
    def parse(cls, text: str) -> Glob:
        """Read a glob; raises ``CaseError``."""
        if not text:
            raise CaseError((), "an empty string", "a glob of case ids", hint="* is every case")
        tokens = list(_tokens(text))
        parts, prefix = [""], ""
        for i, (character, wild) in enumerate(tokens):
            if not wild and len(prefix) == i:
                prefix += character
            if wild and character == "*":
                parts.append("")
            else:
                parts[-1] += r"[^\0]" if wild else re.escape(character)
        pattern = parts[0]
        if len(parts) > 1:
            # Atomic groups: the first place of each part is as good as any, nothing is retried.
            middle = "".join(f"(?>.*?{part})" for part in parts[1:-1] if part)
            pattern += f"{middle}.*{parts[-1]}"
        return cls(text, prefix, re.compile(pattern, re.DOTALL))

    def matches(self, case: str) -> bool:
        """Whether an id matches."""
        return self.pattern.fullmatch(case) is not None

    def includes(self, other: str) -> bool:
        """Whether everything that another glob matches is sure to match this one too."""
        plain = "".join(
            _ANYTHING if wild and character == "*" else character
            for character, wild in _tokens(other)
        )
        return self.matches(plain)


def _tokens(text: str) -> Iterator[tuple[str, bool]]:
    """Split a glob into characters, each with whether it is a wildcard."""
    characters = iter(text)
    for character in characters:
        if character != "\\":
            yield character, character in "*?"
            continue
        escaped = next(characters, "")
        if escaped not in _ESCAPABLE:
            seen = f"a backslash before {shorten(escaped)}" if escaped else "a backslash at the end"
            raise CaseError((), seen, r"a backslash before *, ? or \ only")
        yield escaped, False


def escape(text: str) -> str:
    """Return the glob that matches a text and nothing else."""
    return re.sub(r"[*?\\]", r"\\\g<0>", text)


@dataclass(frozen=True, slots=True)
class Opsets:
    """Ranges of opsets, both ends included; none means every opset."""

    ranges: tuple[tuple[int, int], ...]

    def __contains__(self, opset: int) -> bool:
        return not self.ranges or any(low <= opset <= high for low, high in self.ranges)

    @classmethod
    def parse(cls, given: int | str | list[int] | None) -> Opsets:
        """Read a number, a list, or ``11..15``; raises ``CaseError``."""
        if given is None:
            return cls(())
        if isinstance(given, str):
            found = re.fullmatch(r"([0-9]{1,9})\.\.([0-9]{1,9})", given)
            if not found or not 1 <= int(found[1]) <= int(found[2]):
                wanted = "a number, a list, or a range such as 11..15"
                raise CaseError(("opset",), described(given), wanted)
            return cls(((int(found[1]), int(found[2])),))
        numbers = [given] if isinstance(given, int) else given
        if not numbers or len(set(numbers)) != len(numbers) or min(numbers) < 1:
            raise CaseError(("opset",), shorten(given), "one or more opsets from 1, each once")
        return cls(tuple((number, number) for number in numbers))


#: A version is its numbers without the zeros at the end, then its stage and the stage's number.
_Key = tuple[tuple[int, ...], int, int]
_VERSION = re.compile(
    r"(?<![\w.])v?(?P<release>[0-9]{1,18}(?:\.[0-9]{1,18})*)"
    r"(?:[-_.]?(?P<stage>dev|alpha|a|beta|b|preview|pre|rc|c|post)[-_.]?(?P<number>[0-9]{0,18}))?",
    re.IGNORECASE,
)
_STAGES = {
    "dev": -4, "alpha": -3, "a": -3, "beta": -2, "b": -2, "preview": -1, "pre": -1, "rc": -1,
    "c": -1, "": 0, "post": 1,
}  # fmt: skip
_CLAUSE = re.compile(r"(>=|<=|==|!=|<|>)\s*([^\s*]+?)(\.\*)?")


@dataclass(frozen=True, slots=True)
class Versions:
    """Versions of a backend: comparisons that must all hold; none means every version."""

    clauses: tuple[tuple[str, tuple[int, ...], _Key, bool], ...]

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Read comparisons such as ``>=1.30,<1.33``, ``==1.32.*``; raises ``CaseError``."""
        clauses = []
        for part in text.split(",") if text else []:
            found = _CLAUSE.fullmatch(part.strip())
            version = _VERSION.fullmatch(found[2]) if found else None
            if not found or not version or (found[3] and found[1] not in ("==", "!=")):
                wanted = "comparisons such as >=1.30,<1.33 or ==1.32.*"
                raise CaseError(("version",), shorten(part.strip()), wanted)
            clauses.append((found[1], *_key(version), bool(found[3])))
        return cls(tuple(clauses))

    def include(self, version: str) -> bool:
        """Whether a version is meant; one without a number is in no range.

        What stands behind the numbers, ``+cpu`` say, does not count.
        """
        if not self.clauses:
            return True
        found = _VERSION.search(version)
        if found is None:
            return False
        release, key = _key(found)
        for sign, wanted, bound, star in self.clauses:
            padded = release + (0,) * (len(wanted) - len(release))
            same = padded[: len(wanted)] == wanted if star else key == bound
            if not _holds(sign, same, key < bound):
                return False
        return True


def _key(found: re.Match[str]) -> tuple[tuple[int, ...], _Key]:
    """Return a version's numbers as written, and the key by which versions are ordered."""
    release = tuple(int(n) for n in found["release"].split("."))
    short = release
    while short and not short[-1]:
        short = short[:-1]
    stage = _STAGES[(found["stage"] or "").lower()]
    return release, (short, stage, int(found["number"] or 0))


def _holds(sign: str, same: bool, less: bool) -> bool:
    return {
        "==": same, "!=": not same, "<": less, "<=": less or same,
        ">": not less and not same, ">=": not less,
    }[sign]  # fmt: skip
