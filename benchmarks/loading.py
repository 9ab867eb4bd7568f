"""Loading YAML cases, and the memory of a run over many."""

from __future__ import annotations

from collections.abc import Mapping

from .benchmark import Benchmark
from .measure import FROM_CHECKOUT, Side, module, opcheck
from .workshop import Workshop

CASES = 10_000
MANY, FEW = 100_000, 1_000
#: All of them with ``--quick``.
QUICK = 200


def loading(
    who: str,
    workshop: Workshop,
    environment: Mapping[str, str] | None = None,
    *,
    fresh_cache: bool = False,
) -> Side:
    """Return the program that loads the folder of cases."""
    cases = workshop.sized(CASES, QUICK)
    return Side(
        module("load_cases", who, workshop.case_folder(cases), cases),
        inside=True,
        environment={**FROM_CHECKOUT, **(environment or {})},
        fresh_cache=fresh_cache,
    )


def first_sides(workshop: Workshop) -> tuple[Side, Side]:
    """Return loading with an empty cache, and PyYAML."""
    return loading("opcheck", workshop, fresh_cache=True), loading("pyyaml", workshop)


def again_sides(workshop: Workshop) -> tuple[Side, Side]:
    """Return loading with a filled cache, and with an empty one."""
    folder = workshop.case_folder(workshop.sized(CASES, QUICK))
    again = loading("opcheck", workshop, workshop.filled_cache(str(folder)))
    return again, loading("opcheck", workshop, fresh_cache=True)


def run(workshop: Workshop, cases: int) -> Side:
    """Return a first run over a folder of cases on the built-in kernels."""
    command = [*opcheck(), "run", str(workshop.case_folder(cases))]
    return Side(command, shows=rf"\b{cases} passed", fresh_cache=True)


def memory_sides(workshop: Workshop) -> tuple[Side, Side]:
    """Return a run over many cases, and one over few."""
    many, few = workshop.sized(MANY, QUICK), workshop.sized(FEW, QUICK // 2)
    return run(workshop, many), run(workshop, few)


BENCHMARKS = [
    Benchmark(
        "load-first",
        "loading a folder of 10,000 YAML cases, first time",
        "PyYAML's C loader alone on the same files",
        1.3,
        first_sides,
        note="opcheck reads with a process for each core, as its commands do; "
        "one process alone took 1.30 to 1.35 times as long as PyYAML.",
    ),
    Benchmark(
        "load-again",
        "loading a folder of 10,000 YAML cases, second time",
        "the first time",
        0.25,
        again_sides,
    ),
]

MEMORY = [
    Benchmark(
        "memory",
        "peak memory of a run over 100,000 cases on the built-in kernels",
        "the same over 1,000",
        1.2,
        memory_sides,
        measured="memory",
        most_rounds=1,
    ),
]
