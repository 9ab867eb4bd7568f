"""What went wrong alike, counted: the same backend, operator, outcome and kind of message.

The memory of it does not grow with the cases: a group keeps its first case and a count.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from ..harness.alike import shape
from ..harness.record import Outcome, Record
from .plain import COLOURS, head, one_line, tail, unwrapped
from .text import headline

#: So many cases of a run are shown in full, whatever they are.
FIRST = 10
#: So many are shown in full at most.
MOST = 100
#: So many groups are kept; cases of further ones are only counted.
MAX_GROUPS = 5000
#: So many groups of each backend and outcome are listed, unless all are asked for.
LISTED = 20
#: So much of a message is kept: the beginning of what opcheck says, the end of what others say.
MAX_MESSAGE = 400
#: The longest name of an operator that is shown whole.
MAX_NAME = 25
#: A message has at least so many cells, however narrow the terminal.
MIN_MESSAGE = 20

#: The order in which outcomes are listed.
ORDER = (
    Outcome.CRASHED,
    Outcome.TIMED_OUT,
    Outcome.OUT_OF_MEMORY,
    Outcome.ERRORED,
    Outcome.FAILED,
    Outcome.PASSED,
    Outcome.UNSUPPORTED,
    Outcome.SKIPPED,
)

#: The names of element types, lists of them with shapes: messages that differ in them are alike.
_TYPES = re.compile(
    r"\b(?:(?:bf|bfloat|bool|boolean|complex|double|f|float|i|int|string|u|uint)"
    r"(?:0(?:e0m0)?(?:fn)?(?:uz)?)?\b(?:\[[0, ]*\])?(?:, )?)+",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Group:
    """Cases that went wrong alike: the first of them, and how many there are."""

    backend: str
    operator: str
    outcome: Outcome
    case: str
    message: str
    count: int = 0


class Groups:
    """The cases of a run that went wrong, in groups."""

    def __init__(self) -> None:
        self.cases = 0
        self.in_full = 0
        self._groups: dict[tuple[str, ...], Group] = {}
        self._beyond: Counter[tuple[str, Outcome]] = Counter()

    def add(self, *records: Record) -> bool:
        """Count records of one case; return whether the case is to be shown in full.

        It is if it is one of the first, or the first of a group about which its line in the list
        does not say everything.
        """
        telling = [self._count(r) and r.outcome is not Outcome.UNSUPPORTED for r in records]
        shown = self.in_full < FIRST or (any(telling) and self.in_full < MOST)
        self.in_full += shown
        self.cases += 1
        return shown

    def _count(self, record: Record) -> bool:
        """Put a record into its group; return whether it is the first."""
        kind = _TYPES.sub("T", shape(record))
        key = (record.backend, record.domain, record.operator, record.outcome, kind)
        group = self._groups.get(key)
        if group is None:
            if len(self._groups) >= MAX_GROUPS:
                self._beyond[record.backend, record.outcome] += 1
                return False
            said = _message(record)
            group = Group(record.backend, record.operator, record.outcome, record.case, said)
            self._groups[key] = group
        group.count += 1
        return group.count == 1

    def ordered(self) -> list[Group]:
        """Return the groups: by backend and outcome, and of these the largest first."""
        backends = {g.backend: i for i, g in reversed(list(enumerate(self._groups.values())))}

        def place(group: Group) -> tuple[int, int, int]:
            return backends[group.backend], ORDER.index(group.outcome), -group.count

        return sorted(self._groups.values(), key=place)

    def beyond(self, backend: str, outcome: Outcome) -> int:
        """Return how many cases came when there were too many groups."""
        return self._beyond[backend, outcome]


class Listing:
    """The groups as a list: a line for each, and its first case below."""

    def __init__(self, groups: Groups, *, everything: bool = False) -> None:
        self.groups = groups
        self.most = MAX_GROUPS if everything else LISTED

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Fit the lines to the width; the cases are not cut, so that they can be pasted."""
        del console
        ordered = self.groups.ordered()
        hidden = self.groups.in_full < self.groups.cases
        for backend, outcome in dict.fromkeys((g.backend, g.outcome) for g in ordered):
            groups = [g for g in ordered if (g.backend, g.outcome) == (backend, outcome)]
            beyond = self.groups.beyond(backend, outcome)
            cases = sum(g.count for g in groups) + beyond
            said = "passed unexpectedly" if outcome is Outcome.PASSED else outcome.value
            yield unwrapped(Text(f"{cases} {said}", COLOURS[outcome]), one_line(f" on {backend}"))
            yield from _lines(groups[: self.most], options.max_width)
            left = groups[self.most :]
            if left:
                hidden = True
                rest = sum(g.count for g in left)
                yield _more(f"and {rest} more, in {len(left)} further groups")
            if beyond:
                yield _more(f"and {beyond} that are like none of these")
            yield Text()
        if hidden and self.most < MAX_GROUPS:
            yield Text("-v shows each of them in full.\n", "dim")


def _lines(groups: Iterable[Group], width: int) -> Iterator[Text]:
    groups = list(groups)
    digits = max(4, *(len(str(g.count)) for g in groups))
    operators = [head(one_line(g.operator).plain, MAX_NAME) for g in groups]
    names = max(map(cell_len, operators))
    room = max(width - digits - names - 6, MIN_MESSAGE)
    for group, operator in zip(groups, operators, strict=True):
        name = operator + " " * (names - cell_len(operator) + 2)
        cut = head if group.outcome is Outcome.FAILED else tail
        said = cut(one_line(group.message).plain, room)
        yield unwrapped(Text(f"  {group.count:>{digits}}  {name}{said}".rstrip()))
        yield unwrapped(Text(" " * (digits + 4)), one_line(group.case, "dim"))


def _more(text: str) -> Text:
    return Text(f"  {text}", "dim")


def _message(record: Record) -> str:
    """Return in one line what went wrong.

    Of a backend's message it is the first line that neither ends in a colon nor holds a path:
    many begin with where they were.
    """
    if record.differences:
        said = headline(record)
    else:
        said = record.message or record.verdict
        lines = [line.strip() for line in said.splitlines()]
        said = next((t for t in lines if t and "/" not in t and not t.endswith(":")), said)
    line = " ".join(said.split())
    return line[:MAX_MESSAGE] if record.outcome is Outcome.FAILED else line[-MAX_MESSAGE:]
