"""Which cases of the sources are run, and in which order."""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Callable, Sequence

from .case import Planned
from .plan import Plan

_TOKEN = re.compile(r"[()]|[^\s()]+")
#: Deeper expressions are refused.
MAX_DEPTH = 100


class BadExpression(ValueError):
    """An expression of ``-k`` that cannot be read."""


def choose(
    cases: Plan,
    *,
    keyword: str = "",
    operators: Sequence[str] = (),
    opsets: Sequence[int] = (),
    dtypes: Sequence[str] = (),
) -> Plan:
    """Return the cases that fit all that is given.

    ``keyword`` is an expression as pytest's ``-k``: words of ids with and, or, not.
    A list fits a case that has one of its entries.
    """
    matches = parse_keyword(keyword) if keyword.strip() else lambda _: True
    names = {name.lower() for name in operators}
    if not (keyword.strip() or operators or opsets or dtypes):
        return cases
    return cases.where(
        lambda case: bool(
            matches(case.id)
            and (not names or names & {case.operator.lower(), _full_name(case).lower()})
            and (not opsets or case.opset in opsets)
            and (not dtypes or case.dtypes & set(dtypes))
        )
    )


def shard(cases: Plan, index: int, count: int) -> Plan:
    """Return the part ``index`` (from 1) of ``count`` parts.

    A case stays in its part when others are added or taken away: its id decides.
    """
    return cases.where(lambda case: _digest(case.id) % count == index - 1)


def _digest(text: str) -> int:
    raw = hashlib.sha256(text.encode(errors="surrogateescape")).digest()
    return int.from_bytes(raw[:8], "big")


def shuffled(cases: Plan, seed: int) -> Plan:
    """Return the cases in an order that the seed decides, the same on every machine."""
    digests = array("Q", (_digest(f"{seed}:{case.id}") for case in cases))
    return cases.at(sorted(range(len(cases)), key=digests.__getitem__))


def _full_name(case: Planned) -> str:
    return f"{case.domain or 'ai.onnx'}.{case.operator}"


def parse_keyword(text: str) -> Callable[[str], bool]:
    """Read an expression of words, and, or, not and parentheses; words match without case."""
    tokens: list[str] = _TOKEN.findall(text)
    position = depth = 0

    def peek() -> str:
        return tokens[position] if position < len(tokens) else ""

    def take() -> str:
        nonlocal position
        position += 1
        return tokens[position - 1]

    def any_of() -> Callable[[str], bool]:
        terms = [all_of()]
        while peek() == "or":
            take()
            terms.append(all_of())
        return lambda subject: any(term(subject) for term in terms)

    def all_of() -> Callable[[str], bool]:
        terms = [single()]
        while peek() == "and":
            take()
            terms.append(single())
        return lambda subject: all(term(subject) for term in terms)

    def single() -> Callable[[str], bool]:
        nonlocal depth
        token = peek()
        if token in ("", "and", "or", ")"):
            seen = repr(token) if token else "the end"
            raise BadExpression(f"in {text!r}: seen {seen}, wanted a word, not, or a parenthesis")
        take()
        if token in ("not", "("):
            depth += 1
            if depth > MAX_DEPTH:
                raise BadExpression(f"not and parentheses nest more than {MAX_DEPTH} deep")
            inner = single() if token == "not" else any_of()
            depth -= 1
            if token == "not":
                return lambda subject: not inner(subject)
            if peek() != ")":
                raise BadExpression(f"in {text!r}: a parenthesis is not closed")
            take()
            return inner
        word = token.lower()
        return lambda subject: word in subject.lower()

    result = any_of()
    if position < len(tokens):
        raise BadExpression(f"in {text!r}: seen {peek()!r}, wanted and, or, or the end")
    return result
