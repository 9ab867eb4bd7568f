"""The command: ``python -m benchmarks``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from . import benchmark, growth, page, results
from .catalogue import CATALOGUE, UnknownName, chosen
from .machine import machine
from .plots import NoMatplotlib, draw, require
from .text import growth_table, table
from .workshop import Workshop

ROUNDS = 5
EPILOG = """\
The exit status is 0 whether or not the targets are met, and 1 where a program failed.
Results with --quick are of small sizes and mean nothing: it shows that everything runs.
"""


def parser() -> argparse.ArgumentParser:
    """Return the options."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure this project beside its peers, in turn, in one run.",
        epilog=EPILOG,
    )
    add = made.add_argument
    add("names", nargs="*", metavar="NAME", help="only these; see --list")
    add("-k", dest="keyword", default="", metavar="WORD", help="only those with WORD in the name")
    add("--rounds", type=_positive, metavar="N", help=f"samples of each [default: {ROUNDS}]")
    add("--quick", action="store_true", help="small sizes, one round: does everything run?")
    add("--list", action="store_true", help="print the names, and what is measured")
    add("--growth", action="store_true", help="measure how cost grows instead, and draw it")
    add("--json", type=Path, metavar="FILE", help="write the results; FILE keeps what it has")
    add("--plots", type=Path, default=page.PLOTS, metavar="FOLDER",
        help="where --growth and --page draw [default: docs/plots]")  # fmt: skip
    add("--page", type=Path, nargs="?", const=page.STORED, metavar="FILE",
        help="measure nothing; make docs/performance.md of the results in FILE, "
        "and store them [default: the stored ones]")  # fmt: skip
    return made


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit status."""
    given = parser().parse_args(arguments)
    try:
        if given.page is not None:
            return _page(given.page, given.plots)
        known = [entry.name for entry in (growth.GROWTH if given.growth else CATALOGUE)]
        names = chosen(known, given.names, given.keyword)
        if given.list:
            print(_listed(names, grows=given.growth), end="")
            return 0
        if not names:
            print(f"no name has {given.keyword!r} in it", file=sys.stderr)
            return 2
        return _measured(given, names)
    except (UnknownName, results.BadResults, NoMatplotlib) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 2


def _listed(names: Sequence[str], *, grows: bool) -> str:
    if grows:
        return "".join(f"{g.name}\n    {g.title}\n" for g in growth.GROWTH if g.name in names)
    return "".join(
        f"{b.name}\n    {b.what}\n    against {b.against}, at most {b.target:g}\n"
        for b in CATALOGUE
        if b.name in names
    )


def _measured(given: argparse.Namespace, names: Sequence[str]) -> int:
    """Measure, print and write."""
    if given.growth:
        require()
    found = results.new(machine(), quick=given.quick)
    earlier = results.read(given.json) if given.json and given.json.exists() else None
    if earlier is not None:
        results.updated(earlier, found)
    rounds = given.rounds or (1 if given.quick else ROUNDS)
    with Workshop(quick=given.quick, told=_told) as workshop:
        if given.growth:
            chosen_growth = [g for g in growth.GROWTH if g.name in names]
            entries = [growth.measure(g, workshop, rounds) for g in chosen_growth]
            errors = [row for entry in entries for row in entry["rows"] if "error" in row]
            found["growth"] = entries
        else:
            chosen_benchmarks = [b for b in CATALOGUE if b.name in names]
            entries = [benchmark.measure(b, workshop, rounds) for b in chosen_benchmarks]
            errors = [entry for entry in entries if "error" in entry]
            found["benchmarks"] = entries
    if given.json:
        results.write(given.json, found if earlier is None else results.updated(earlier, found))
    if given.quick:
        print("--quick: small sizes; the numbers mean nothing")
    print("\n".join(map(growth_table, entries)) if given.growth else table(entries), end="")
    if given.growth:
        draw(entries, given.plots)
    return 1 if errors else 0


def _page(source: Path, plots: Path) -> int:
    """Make the page and its plots, and store the results they show."""
    found = results.read(source)
    if found["quick"]:
        raise results.BadResults(f"{source} is of a run with --quick: no page is made of it")
    failed = results.failed(found)
    if failed:
        raise results.BadResults(f"{source} has no number for {', '.join(failed)}: no page is made")
    drawn = draw(found["growth"], plots)
    page.PAGE.write_text(page.page(found), encoding="utf-8")
    results.write(page.STORED, found)
    print(f"wrote {page.PAGE.name}, {page.STORED.name} and {len(drawn)} plots")
    return 0


def _told(text: str) -> None:
    """Show what is being done, on one line of a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
