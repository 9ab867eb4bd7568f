"""Comparing large tensors."""

from __future__ import annotations

from .benchmark import Benchmark
from .measure import FROM_CHECKOUT, Side, module
from .workshop import Workshop

ELEMENTS = 10**8


def comparing(who: str, elements: int) -> Side:
    """Return the program that compares two equal tensors."""
    command = module("compare_tensors", who, elements)
    return Side(command, inside=True, environment=FROM_CHECKOUT)


def sides(workshop: Workshop) -> tuple[Side, Side]:
    """Return our comparison, and NumPy's."""
    elements = workshop.sized(ELEMENTS, 10**5)
    return comparing("opcheck", elements), comparing("numpy", elements)


BENCHMARKS = [
    Benchmark(
        "compare",
        "comparing two float32 tensors of 10^8 elements, all equal",
        "`numpy.array_equal` on them",
        3,
        sides,
        above=200 * 10**6,
    ),
]
