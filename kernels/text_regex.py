r"""Regular expressions in the syntax of RE2, matched against whole strings.

Python's ``re`` differs from RE2 in what ``$``, ``\d``, ``\s``, ``\w`` and ``\b`` mean, and in
what it accepts, and may backtrack without end.
Here a pattern becomes a nondeterministic automaton, whose states are all followed at once, so that
the time grows with the length of the string times that of the pattern.
Only whether the whole string matches counts: groups capture nothing, and greed does not matter.

Source: https://github.com/google/re2/wiki/Syntax
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field

from .text_regex_parse import Alternatives, Assertion, CharSet, Node, Repeat, Sequence, parse

#: More states are refused, as RE2 refuses patterns that need too much memory.
MAX_STATES = 100_000

#: The last character with an upper or lower case is below this one.
_LAST_CASED = 0x1F000

_WORD = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz")


def compile_pattern(pattern: str) -> Callable[[str], bool]:
    r"""Return a function that tells whether the pattern matches the whole of a string.

    Raises: ``ValueError`` for a pattern that RE2 refuses, as one with a backreference or a
    look-around, or one too large; ``Unsupported`` for scripts, as Greek, and for ``\C``.
    """
    automaton = _Automaton()
    automaton.start = automaton.add(parse(pattern), automaton.accept)
    return automaton.matches


@functools.cache
def _orbits() -> dict[str, str]:
    """Return the characters that a character equals when case is ignored, itself among them."""
    groups: dict[str, list[str]] = {}
    for c in map(chr, range(_LAST_CASED)):
        folded = c.casefold()
        groups.setdefault(folded if len(folded) == 1 else c.lower(), []).append(c)
    return {c: "".join(group) for group in groups.values() if len(group) > 1 for c in group}


def _in_set(chars: CharSet, c: str) -> bool:
    """Tell whether a character is in a set."""
    return chars.negated != any(
        any(low <= x <= high for low, high in chars.ranges)
        or any(_in_category(x, name) != negated for name, negated in chars.categories)
        or any(_in_set(inner, x) for inner in chars.inner)
        for x in (_orbits().get(c, c) if chars.fold else c)
    )


def _in_category(c: str, name: str) -> bool:
    return name == "Any" or unicodedata.category(c).startswith(name)


def _holds(kind: str, text: str, at: int) -> bool:
    """Tell whether an assertion holds between the characters ``at - 1`` and ``at``."""
    if kind in ("word", "no word"):
        before, after = text[at - 1 : at] if at else "", text[at : at + 1]
        return ((before in _WORD) != (after in _WORD)) == (kind == "word")
    first, last = at == 0, at == len(text)
    return {
        "text start": first,
        "text end": last,
        "line start": first or text[at - 1] == "\n",
        "line end": last or text[at] == "\n",
    }[kind]


@dataclass(slots=True)
class _State:
    """A state: it consumes a character, or asserts, or else leads on at once."""

    targets: list[int]
    chars: CharSet | None = None
    assertion: str = ""
    #: What is known of characters, by character.
    known: dict[str, bool] = field(default_factory=dict)

    def takes(self, c: str) -> bool:
        if c not in self.known:
            assert self.chars is not None
            self.known[c] = _in_set(self.chars, c)
        return self.known[c]


class _Automaton:
    """States by number; ``accept`` is the end."""

    def __init__(self) -> None:
        self.states = [_State([])]
        self.accept = 0
        self.start = 0

    def _new(self, state: _State) -> int:
        if len(self.states) >= MAX_STATES:
            raise ValueError(f"the pattern is too large: it needs more than {MAX_STATES} states")
        self.states.append(state)
        return len(self.states) - 1

    def add(self, node: Node, then: int) -> int:
        """Add what matches ``node`` and goes on to ``then``; return where it starts."""
        if isinstance(node, CharSet):
            return self._new(_State([then], chars=node))
        if isinstance(node, Assertion):
            return self._new(_State([then], assertion=node.kind))
        if isinstance(node, Sequence):
            for item in reversed(node.items):
                then = self.add(item, then)
            return then
        if isinstance(node, Alternatives):
            return self._new(_State([self.add(item, then) for item in node.items]))
        return self._repeat(node, then)

    def _repeat(self, node: Repeat, then: int) -> int:
        if node.most is None:
            loop = self._new(_State([then]))
            self.states[loop].targets.append(self.add(node.item, loop))
            then = loop
        else:
            end = then
            for _ in range(node.most - node.least):
                then = self._new(_State([end, self.add(node.item, then)]))
        for _ in range(node.least):
            then = self.add(node.item, then)
        return then

    def _closure(self, states: set[int], text: str, at: int) -> set[int]:
        """Return the states and all that they lead on to without a character."""
        seen, todo = set(states), list(states)
        while todo:
            state = self.states[todo.pop()]
            if state.chars is not None or (
                state.assertion and not _holds(state.assertion, text, at)
            ):
                continue
            new = [target for target in state.targets if target not in seen]
            seen.update(new)
            todo.extend(new)
        return seen

    def matches(self, text: str) -> bool:
        """Tell whether the automaton takes the whole text."""
        current = self._closure({self.start}, text, 0)
        for at, c in enumerate(text):
            taken = (self.states[s] for s in current)
            moved = {s.targets[0] for s in taken if s.chars is not None and s.takes(c)}
            if not moved:
                return False
            current = self._closure(moved, text, at + 1)
        return self.accept in current
