"""All benchmarks, in the order of the table."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from . import comparing, loading, loops, suite

CATALOGUE = [
    *loops.BENCHMARKS,
    *suite.BENCHMARKS,
    *loading.BENCHMARKS,
    *comparing.BENCHMARKS,
    *loading.MEMORY,
]


class UnknownName(ValueError):
    """A name that nothing has."""


def check(names: Sequence[str], known: Sequence[str]) -> None:
    """Raise ``UnknownName`` for the first name that is not known."""
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise UnknownName(f"there is no {name!r}; {hint}")


def chosen(known: Sequence[str], names: Sequence[str], keyword: str) -> list[str]:
    """Return the names asked for, and of these the ones with ``keyword`` in them.

    Raises ``UnknownName``.
    """
    check(names, known)
    return [name for name in known if (not names or name in names) and keyword in name]
