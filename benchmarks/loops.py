"""Loop, Scan, If and Range in one process: the run alone, the model being prepared."""

from __future__ import annotations

from collections.abc import Callable

from .benchmark import Benchmark
from .measure import FROM_CHECKOUT, Side, module
from .workshop import Workshop

ITERATIONS = 100_000
#: Of the ReferenceEvaluator.
FEWER = 5_000
#: Both with ``--quick``.
QUICK = 2_000
ELEMENTS = 10**7

ONE_THREAD = "onnxruntime, one thread"


def running(who: str, name: str, size: int, *extra: int, scale: float = 1.0) -> Side:
    """Return the program that runs a model of ``models``."""
    command = module("run_model", who, name, size, *extra)
    return Side(command, inside=True, scale=scale, environment=FROM_CHECKOUT)


def beside_onnxruntime(name: str) -> Callable[[Workshop], tuple[Side, Side]]:
    """Return both sides of a benchmark whose peer is onnxruntime."""

    def sides(workshop: Workshop) -> tuple[Side, Side]:
        size = workshop.sized(ITERATIONS, QUICK)
        return running("opcheck", name, size), running("onnxruntime", name, size)

    return sides


def loop_reference(workshop: Workshop) -> tuple[Side, Side]:
    """Return both sides; the peer gets fewer iterations, and its seconds are scaled."""
    size, fewer = workshop.sized(ITERATIONS, QUICK), workshop.sized(FEWER, QUICK)
    peer = running("reference", "loop", fewer, scale=size / fewer)
    return running("opcheck", "loop", size), peer


def ranging(workshop: Workshop) -> tuple[Side, Side]:
    """Return both sides of Range."""
    size = workshop.sized(ELEMENTS, 1000)
    return running("opcheck", "range", size), running("numpy", "range", size)


BENCHMARKS = [
    Benchmark(
        "loop",
        "Loop, 3-node body, 100,000 iterations, float32[4]",
        ONE_THREAD,
        1.0,
        beside_onnxruntime("loop"),
    ),
    Benchmark(
        "loop-reference",
        "Loop, 3-node body, 100,000 iterations, float32[4]",
        "ReferenceEvaluator",
        0.035,
        loop_reference,
        note="The ReferenceEvaluator makes 5,000 iterations; its seconds are those times 20.",
    ),
    Benchmark(
        "scan",
        "Scan, 3-node body, 100,000 steps, float32[4]",
        ONE_THREAD,
        1.2,
        beside_onnxruntime("scan"),
    ),
    Benchmark(
        "if-in-loop",
        "If inside Loop, 100,000 iterations, both branches in turn",
        ONE_THREAD,
        1.2,
        beside_onnxruntime("if-in-loop"),
    ),
    Benchmark(
        "loop-in-loop",
        "Loop inside Loop, 1,000 times 100 iterations, 3-node body",
        ONE_THREAD,
        1.2,
        beside_onnxruntime("loop-in-loop"),
    ),
    Benchmark("range", "Range, 10^7 float32", "numpy.arange", 1.3, ranging),
]
