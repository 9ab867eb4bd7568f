"""How cost grows with the work: with cases, elements, nodes of a body, and nesting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from .benchmark import significant
from .comparing import comparing
from .loading import run as run_cases
from .loops import running
from .measure import Failed, Side, alternate
from .workshop import Workshop


@dataclass(frozen=True)
class Growth:
    """Some programs measured at several sizes.

    Their seconds are divided by the work that ``work`` says there is at a size.
    """

    name: str
    title: str
    #: What the sizes count.
    along: str
    #: What the numbers are, after the division.
    per: str
    sizes: tuple[int, ...]
    sides: Callable[[Workshop, int], Mapping[str, Side]]
    work: Callable[[Workshop, int], int]
    with_memory: bool = False
    most_rounds: int | None = None


def measure(growth: Growth, workshop: Workshop, rounds: int) -> dict[str, Any]:
    """Measure at all sizes; a program that fails gives ``error`` in place of numbers."""
    sizes = growth.sizes[:2] if workshop.quick else growth.sizes
    rows = []
    for size in sizes:
        row: dict[str, Any] = {"size": size}
        work = growth.work(workshop, size)
        times = min(rounds, growth.most_rounds or rounds)
        try:
            named = {
                f"{growth.name} at {size:,}: {name}": side
                for name, side in growth.sides(workshop, size).items()
            }
            samples = alternate(named, workshop.folder, times, workshop.told)
        except Failed as failed:
            rows.append({**row, "error": str(failed)})
            continue
        for key, taken in samples.items():
            name = key.partition(": ")[2]
            row[name] = significant(median(s.seconds for s in taken) / work)
            if growth.with_memory:
                row[f"{name}, memory"] = significant(median(s.memory for s in taken))
        rows.append(row)
    return {
        "name": growth.name,
        "title": growth.title,
        "along": growth.along,
        "per": growth.per,
        "rows": rows,
    }


def cases(workshop: Workshop, size: int) -> dict[str, Side]:
    """Return a run of the whole command over a folder of cases, with an empty cache."""
    return {"opcheck": run_cases(workshop, size)}


def models(name: str, *peers: str) -> Callable[[Workshop, int], dict[str, Side]]:
    """Return the runs of a model whose size is the number of elements."""

    def sides(workshop: Workshop, size: int) -> dict[str, Side]:
        del workshop
        return {who: running(who, name, size) for who in ("opcheck", *peers)}

    return sides


def comparisons(workshop: Workshop, size: int) -> dict[str, Side]:
    """Return the comparisons of two tensors."""
    del workshop
    return {who: comparing(who, size) for who in ("opcheck", "numpy")}


def iterations(workshop: Workshop, size: int) -> int:
    """Return how many iterations there are for bodies and nesting."""
    del size
    return workshop.sized(20_000, 1000)


def iterated(name: str) -> Callable[[Workshop, int], dict[str, Side]]:
    """Return the runs of Loops; the size is the number of nodes, or the depth."""

    def sides(workshop: Workshop, size: int) -> dict[str, Side]:
        count = iterations(workshop, size)
        return {who: running(who, name, count, size) for who in ("opcheck", "onnxruntime")}

    return sides


def as_many(workshop: Workshop, size: int) -> int:
    """Return the size itself."""
    del workshop
    return size


def one(workshop: Workshop, size: int) -> int:
    """Return 1: the seconds of the whole."""
    del workshop, size
    return 1


ELEMENTS = tuple(10**k for k in range(3, 9))

GROWTH = [
    Growth(
        "cases",
        "Cases: `opcheck run` on the built-in kernels, start and loading included",
        "cases",
        "seconds per case",
        (10, 100, 1_000, 10_000, 100_000),
        cases,
        as_many,
        with_memory=True,
        most_rounds=1,
    ),
    Growth(
        "add", "Elements: Add, float32", "elements", "seconds",
        ELEMENTS, models("add", "numpy", "onnxruntime"), one,
    ),
    Growth(
        "range", "Elements: Range, float32", "elements", "seconds",
        ELEMENTS, models("range", "numpy", "onnxruntime"), one,
    ),
    Growth(
        "compare", "Elements: comparing two equal tensors, float32", "elements", "seconds",
        ELEMENTS, comparisons, one,
    ),
    Growth(
        "bodies", "Nodes in the body of a Loop over float32[4]", "nodes",
        "seconds per iteration", (1, 2, 3, 5, 10, 20, 50, 100), iterated("bodies"), iterations,
    ),
    Growth(
        "nesting", "Loops inside each other, the inner ones with 10 iterations", "depth",
        "seconds per innermost iteration", (1, 2, 3, 4), iterated("nesting"), iterations,
    ),
]  # fmt: skip
