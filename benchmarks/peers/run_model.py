"""Runs a model once: ``python -m benchmarks.peers.run_model WHO MODEL SIZE [EXTRA]``.

WHO is ``opcheck``, ``onnxruntime`` (with one thread), ``reference`` or ``numpy``.
A small run of the same model comes first, and is not timed; neither is the preparation.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import ModelProto

from ..models import WORKS, Feeds

Run = Callable[[Feeds], list[Any]]

#: Seconds for which short runs are repeated.
LEAST = 0.05
#: Iterations or elements of the run that comes first.
SMALL = 1000


def opcheck(proto: ModelProto) -> Run:
    """Prepare a model on the built-in kernels, as ``opcheck run`` does."""
    from opcheck.backends.builtin import Builtin

    return Builtin().prepare(proto)  # type: ignore[return-value]


def onnxruntime(proto: ModelProto) -> Run:
    """Open a session with one thread."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(
        proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )

    def run(feeds: Feeds) -> list[Any]:
        return list(session.run(None, feeds))

    return run


def reference(proto: ModelProto) -> Run:
    """Prepare a model on onnx's ReferenceEvaluator."""
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(proto)

    def run(feeds: Feeds) -> list[Any]:
        return list(evaluator.run(None, feeds))

    return run


def with_numpy(proto: ModelProto) -> Run:
    """Return NumPy's own function for Range or Add."""
    if proto.graph.node[0].op_type == "Range":
        return lambda feeds: [np.arange(*feeds.values(), dtype=np.float32)]
    return lambda feeds: [np.add(*feeds.values())]


WHO = {
    "opcheck": opcheck,
    "onnxruntime": onnxruntime,
    "reference": reference,
    "numpy": with_numpy,
}


def timed(run: Callable[[], object]) -> float:
    """Return the seconds of a run; the mean of several where it is short."""
    times = 0
    start = time.perf_counter()
    while (seconds := time.perf_counter() - start) < LEAST:
        run()
        times += 1
    return seconds / times


def main(who: str, name: str, size: int, *extra: int) -> None:
    """Run a model; print the seconds."""
    small = WORKS[name](min(size, SMALL), *extra)
    WHO[who](small.model)(small.feeds)
    work = WORKS[name](size, *extra)
    run = WHO[who](work.model)
    outputs: list[Any] = []

    def once() -> None:
        outputs[:] = run(work.feeds)

    seconds = timed(once)
    first = float(outputs[0].reshape(-1)[0])
    assert first == work.answer, f"{who} gives {first}, not {work.answer}"
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
