"""Markdown for a comment on a pull request or the summary of a job.

What a case file or a backend says stands in code spans, code blocks and escaped HTML only, where
GitHub makes no links, mentions, pictures or tags of it.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from ..harness.expectations import full_name
from ..harness.record import Outcome, Record, Run
from .alike import Group, groups
from .text import body, cut, location, one_line, visible
from .verdict import count, totals, unexpected, verdict

#: GitHub takes 65,536 characters for a comment and 1 MiB for a summary; this many bytes fit both.
LIMIT = 64_000
#: What each list and table may take of it; the groups of unexpected results take what is left.
_SHARE = 8_000
#: Bytes kept for the line that says how many more there are.
_MORE = 100
#: How many cases and lines are shown of a group, and how many characters of each.
_CASES = 10
_LINES = 30
_CASE = 200
_LINE = 160
_CELL = 120

_T = TypeVar("_T")
#: Says how many entries are left out behind as many as are shown.
_Rest = Callable[[int, int], str]


def markdown(run: Run) -> str:
    """Render ``run`` as Markdown: verdict, totals, unexpected results in groups, operators."""
    found = groups(unexpected(run))
    header = run.header
    parts = [f"### opcheck: {verdict(run)}", "", *_totals(run)]
    parts += _list("Bad case files", [problem.message for problem in run.problems])
    parts += _list("Expectations without effect", run.footer.unused)
    made = f"opcheck {header.opcheck}, onnx {header.onnx}, Python {header.python}"
    closing = [*_operators(run), code(f"{made}, {header.platform}, {header.started}", 200)]
    room = LIMIT - _size(parts) - _size(closing)
    parts += _fitting("#### Unexpected results\n", found, _details, room, _rest(found))
    return "".join(f"{part}\n" for part in [*parts, *closing])


def code(text: str, length: int) -> str:
    """Return a text as a code span: one line of at most ``length`` characters."""
    shown = one_line(text, length) or "(empty)"
    fence = "`" * (1 + max(map(len, re.findall("`+", shown)), default=0))
    pad = " " if "`" in (shown[0], shown[-1]) else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def fenced(lines: Iterable[str]) -> str:
    """Return lines as a code block that none of them can close."""
    text = "\n".join(lines)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}"


def _cell(text: str) -> str:
    """Return a text as a code span in a table, where a bar would end the cell."""
    return code(text, _CELL).replace("\\|", "\\ |").replace("|", "\\|")


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _heading(words: Sequence[str], left: int) -> str:
    """Return the top of a table; its first ``left`` columns are flush left, the others right."""
    return f"{_row(words)}\n{_row(['---'] * left + ['---:'] * (len(words) - left))}"


def _number(number: int) -> str:
    return f"{number:,}" if number else ""


def _size(parts: Iterable[str]) -> int:
    """Return the bytes of parts, each with the end of its line."""
    return sum(len(part.encode()) + 1 for part in parts)


def _more(shown: int, hidden: int) -> str:
    del shown
    return f"... and {hidden:,} more."


def _fitting(
    top: str, entries: Sequence[_T], show: Callable[[_T], str], room: int, rest: _Rest = _more
) -> list[str]:
    """Return the top and as many entries as fit into ``room`` bytes; nothing without entries."""
    if not entries:
        return []
    shown: list[str] = []
    left = room - _size([top]) - _MORE
    for entry in entries:
        text = show(entry)
        left -= _size([text])
        if left < 0:
            hidden = len(entries) - len(shown)
            return [top, *shown, "", rest(len(shown), hidden), ""]
        shown.append(text)
    return [top, *shown, ""]


def _list(title: str, texts: Sequence[str]) -> list[str]:
    return _fitting(f"#### {title}\n", texts, lambda text: f"- {code(text, 500)}", _SHARE)


def _rest(found: Sequence[Group]) -> _Rest:
    """Say how many groups are left out, and how many results are in them."""

    def said(shown: int, hidden: int) -> str:
        results = sum(len(group.records) for group in found[shown:])
        many = count(results, "unexpected result", "unexpected results")
        return f"... and {many} more, in {count(hidden, 'group', 'groups')}."

    return said


def _totals(run: Run) -> list[str]:
    """Return a table with a row per backend and a column for each outcome that there is."""
    counts = totals(run)
    present = [o for o in Outcome if any(by[o] for by in counts.values())]
    wrong = Counter(record.backend for record in unexpected(run))

    def row(backend: str) -> str:
        by = counts[backend]
        names = [_cell(backend), _cell(run.header.backends.get(backend, ""))]
        numbers = [*(by[o] for o in present), sum(by.values()), wrong[backend]]
        return _row([*names, *map(_number, numbers)])

    words = ["backend", "version", *(o.value for o in present), "results", "unexpected"]
    return _fitting(_heading(words, 2), list(counts), row, _SHARE)


def _details(group: Group) -> str:
    """Return a group, folded: its cases, and all that is known of the first."""
    first = group.first
    what = f"{group.operator} {first.outcome.value} on {first.backend}"
    many = count(len(group.records), "case", "cases")
    title = html.escape(one_line(f"{what}, {many}: {group.message}", _LINE))
    cases = [f"- {code(_case(record), _CASE)}" for record in group.records[:_CASES]]
    if hidden := len(group.records) - len(cases):
        cases.append(f"- and {hidden:,} more")
    lines = [cut(line, _LINE) for line in visible("\n".join(body(first))).split("\n")]
    if (hidden := len(lines) - _LINES) > 0:
        lines = [*lines[: _LINES - 2], f"... {hidden + 1} more lines", lines[-1]]
    top = f"<details><summary><code>{title}</code></summary>"
    return "\n".join([top, "", *cases, "", fenced(lines), "", "</details>"])


def _case(record: Record) -> str:
    place = location(record.file, record.line)
    return f"{record.case} ({place})" if record.line else record.case


def _operators(run: Run) -> list[str]:
    """Return a folded table of the operators that did not pass everywhere, the worst first."""
    counts: dict[tuple[str, str], Counter[Outcome]] = {}
    for record in run.records:
        operator = full_name(record.domain, record.operator)
        counts.setdefault((operator, record.backend), Counter())[record.outcome] += 1
    lacking = {key: by.total() - by[Outcome.PASSED] for key, by in counts.items()}
    worst = sorted((key for key in counts if lacking[key]), key=lambda key: (-lacking[key], key))
    if not worst:
        return []
    present = [o for o in Outcome if any(counts[key][o] for key in worst)]

    def row(key: tuple[str, str]) -> str:
        return _row([*map(_cell, key), *(_number(counts[key][outcome]) for outcome in present)])

    many = count(len({operator for operator, _ in worst}), "operator", "operators")
    top = f"<details><summary>{many} with results other than passed</summary>\n\n"
    top += _heading(["operator", "backend", *(o.value for o in present)], 2)
    return [*_fitting(top, worst, row, _SHARE), "</details>", ""]
