"""The official node cases, and the start of the command: whole processes."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from .benchmark import Benchmark
from .measure import Side, opcheck, script
from .workshop import RAN, Workshop

SUITE = "onnx:node"
#: What a run prints that came to its end, and had more to do than a few cases.
MANY_PASSED = r"\d{4,} passed"


def run(environment: Mapping[str, str], *options: str) -> Side:
    """Return ``opcheck run onnx:node`` with options."""
    command = [*opcheck(), "run", SUITE, *options]
    return Side(command, statuses=RAN, shows=MANY_PASSED, environment=environment)


def on_onnxruntime(workshop: Workshop, *options: str) -> Side:
    """Return a run on onnxruntime."""
    return run(workshop.filled_cache(SUITE), "--backend", "onnxruntime", *options)


def pytest_sides(workshop: Workshop) -> tuple[Side, Side]:
    """Return both sides; the peer is as lean as it gets: no plugins, no tracebacks."""
    path = workshop.pytest_file()
    options = ["-q", "--tb=no", "-p", "no:cacheprovider", "-k", "_cpu", "--rootdir"]
    peer = Side(
        [sys.executable, "-m", "pytest", *options, str(path.parent), str(path)],
        statuses=RAN,
        shows=MANY_PASSED,
        environment={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )
    return on_onnxruntime(workshop), peer


def jobs_sides(workshop: Workshop) -> tuple[Side, Side]:
    """Return two workers, and one."""
    return on_onnxruntime(workshop, "-j", "2"), on_onnxruntime(workshop, "-j", "1")


def bare_sides(workshop: Workshop) -> tuple[Side, Side]:
    """Return one worker, and the bare loop."""
    folder = workshop.node_suite()
    peer = Side(script("bare_onnxruntime", folder), shows=r"\d{4,} ran")
    return on_onnxruntime(workshop, "-j", "1"), peer


def reference_sides(workshop: Workshop) -> tuple[Side, Side]:
    """Return the built-in kernels, and the bare loop over the ReferenceEvaluator."""
    folder = workshop.node_suite()
    peer = Side(script("bare_reference", folder), shows=r"\d{4,} ran")
    return run(workshop.filled_cache(SUITE)), peer


def help_sides(workshop: Workshop) -> tuple[Side, Side]:
    """Return ``opcheck --help``, and what it cannot do without."""
    del workshop
    peer = Side([sys.executable, "-c", "import click"])
    return Side([*opcheck(), "--help"], shows="Usage: "), peer


BENCHMARKS = [
    Benchmark(
        "suite-pytest",
        "`opcheck run onnx:node --backend onnxruntime`, whole process, cache filled",
        "onnx's runner under pytest on onnxruntime",
        0.3,
        pytest_sides,
        note="pytest runs without plugins, without tracebacks, and without the skipped CUDA tests.",
    ),
    Benchmark(
        "suite-jobs",
        "`opcheck run onnx:node --backend onnxruntime -j 2`",
        "the same with `-j 1`",
        0.65,
        jobs_sides,
    ),
    Benchmark(
        "suite-bare",
        "`opcheck run onnx:node --backend onnxruntime -j 1`",
        "the bare loop over onnxruntime",
        1.4,
        bare_sides,
        note="The bare loop reads models and inputs, opens each session with one thread, runs it, "
        "and compares nothing.",
    ),
    Benchmark(
        "suite-reference",
        "`opcheck run onnx:node` on the built-in kernels",
        "a bare loop over ReferenceEvaluator",
        0.5,
        reference_sides,
    ),
    Benchmark(
        "help",
        "`opcheck --help`",
        '`python -c "import click"`',
        1.5,
        help_sides,
    ),
]
