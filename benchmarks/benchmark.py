"""What a benchmark is, and how it is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from .measure import Failed, Sample, Side, alternate, ratio
from .workshop import Workshop

#: Samples of fewer seconds vary most and cost least: of them three times as many are taken.
SHORT = 0.5
#: What JSON calls the sides.
OURS, PEER = "ours", "peer"


@dataclass(frozen=True)
class Benchmark:
    """This project beside a peer: one row of the table."""

    name: str
    what: str
    against: str
    #: The most that the ratio of the medians may be.
    target: float
    #: Returns the two programs, ours and the peer's.
    sides: Callable[[Workshop], tuple[Side, Side]]
    #: ``seconds`` or ``memory``.
    measured: str = "seconds"
    #: The most rounds that make sense, where one takes minutes and they hardly differ.
    most_rounds: int | None = None
    #: The most bytes that our program may take above its data.
    above: int | None = None
    note: str = ""


def measure(benchmark: Benchmark, workshop: Workshop, rounds: int) -> dict[str, Any]:
    """Measure a benchmark; a program that fails gives ``error`` in place of numbers."""
    result: dict[str, Any] = {
        "name": benchmark.name,
        "what": benchmark.what,
        "against": benchmark.against,
        "unit": "bytes" if benchmark.measured == "memory" else "seconds",
        "target": benchmark.target,
        "note": benchmark.note,
    }
    rounds = min(rounds, benchmark.most_rounds or rounds)
    try:
        ours, peer = benchmark.sides(workshop)
        sides = {f"{benchmark.name}: opcheck": ours, f"{benchmark.name}: the peer": peer}
        samples = alternate(sides, workshop.folder, rounds, workshop.told)
        if all(taken[-1].seconds < SHORT for taken in samples.values()) and not workshop.quick:
            more = alternate(sides, workshop.folder, 2 * rounds, workshop.told)
            samples = {name: taken + more[name] for name, taken in samples.items()}
    except Failed as failed:
        return {**result, "error": str(failed)}
    return {**result, **judged(benchmark, *samples.values())}


def judged(benchmark: Benchmark, ours: list[Sample], peer: list[Sample]) -> dict[str, Any]:
    """Return the numbers of a benchmark: samples, medians, the ratio, whether it is met."""
    result: dict[str, Any] = {}
    for side, samples in ((OURS, ours), (PEER, peer)):
        values = [getattr(sample, benchmark.measured) for sample in samples]
        result[side] = [significant(v) for v in values]
        result[f"{side}_median"] = significant(median(values))
    reached = ratio(result[OURS], result[PEER])
    result["ratio"] = significant(reached)
    result["met"] = reached <= benchmark.target
    if benchmark.above is not None:
        most = max(sample.above or 0 for sample in ours)
        result |= {"above": most, "above_target": benchmark.above}
        result["met"] = result["met"] and most < benchmark.above
    return result


def significant(value: float) -> float:
    """Return a number with as many digits as it is worth keeping."""
    return value if isinstance(value, int) else float(f"{value:.4g}")
