"""The models of the benchmarks, in ONNX's text syntax, and what they are fed with.

The arrays of the bodies are inputs of the models, so that nobody can fold them; what is carried
changes in each iteration, exactly, so that the answer shows how many there were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import onnx.parser
from onnx import ModelProto

HEAD = '<ir_version: 8, opset_import: ["": 18]>'
#: Multiplied and added in the bodies.
FACTOR = np.ones(4, np.float32)
TERM = np.array([1, 0.75, 0.5, 0.25], np.float32)
COMMON = {"go": np.array(True), "x": np.ones(4, np.float32), "f": FACTOR, "t": TERM}

Feeds = dict[str, Any]


@dataclass(frozen=True)
class Work:
    """A model, what it is fed with, and what the first element of its first output must be."""

    model: ModelProto
    feeds: Feeds
    answer: float


def parsed(text: str) -> ModelProto:
    """Return a model of the text of its graph."""
    return onnx.parser.parse_model(f"{HEAD} {text}")


def nested(depth: int, nodes: int) -> str:
    """Return Loops inside each other; the innermost body has ``nodes`` nodes.

    One of them hands on the condition, the others add and multiply in turn.
    The inputs ``m1`` to ``mDEPTH`` are the trip counts, outermost first.
    """
    state, lines = f"s{depth}", []
    for k in range(nodes - 1):
        lines.append(f"v{k} = Add ({state}, t)" if k % 2 == 0 else f"v{k} = Mul ({state}, f)")
        state = f"v{k}"
    body = "\n".join(lines)
    for level in range(depth, 0, -1):
        outer = f"s{level - 1}" if level > 1 else "x"
        condition = f"c{level - 1}" if level > 1 else "go"
        body = f"""
            r{level} = Loop (m{level}, {condition}, {outer}) <
              body = b{level} (int64 i{level}, bool c{level}, float[4] s{level})
                => (bool d{level}, float[4] {state}) {{
                d{level} = Identity (c{level})
                {body}
              }}>"""
        state = f"r{level}"
    trips = ", ".join(f"int64 m{level + 1}" for level in range(depth))
    return f"""
        g (bool go, float[4] x, float[4] f, float[4] t, {trips}) => (float[4] r1) {{ {body} }}"""


def loops(trips: tuple[int, ...], nodes: int = 3) -> Work:
    """Return Loops inside each other over float32[4], with these trip counts."""
    feeds = {**COMMON, **{f"m{k}": np.array(n, np.int64) for k, n in enumerate(trips, 1)}}
    return Work(parsed(nested(len(trips), nodes)), feeds, 1 + prod(trips) * (nodes // 2))


def scan(steps: int) -> Work:
    """Return a Scan over float32[steps, 4] with one state, one scan input and one scan output."""
    model = parsed("""
        g (float[4] x, float[N, 4] e, float[4] f) => (float[4] r, float[N, 4] z) {
          r, z = Scan (x, e) <num_scan_inputs = 1, body = b (float[4] s, float[4] a)
            => (float[4] w, float[4] y) {
              v = Mul (s, f)
              w = Add (v, a)
              y = Identity (w)
            }>
        }""")
    elements = np.tile(TERM, (steps, 1))
    return Work(model, {"x": COMMON["x"], "e": elements, "f": FACTOR}, 1 + steps)


def if_in_loop(iterations: int) -> Work:
    """Return a Loop with an If in its body, which takes both branches in turn."""
    model = parsed("""
        g (bool go, int64 m, float[4] x, float[4] f, float[4] t, int64 two, int64 zero)
          => (float[4] r) {
          r = Loop (m, go, x) <body = b (int64 i, bool c, float[4] s) => (bool d, float[4] v) {
            d = Identity (c)
            k = Mod (i, two)
            even = Equal (k, zero)
            v = If (even) <
              then_branch = h () => (float[4] p) { p = Mul (s, f) },
              else_branch = o () => (float[4] q) { q = Add (s, t) }>
          }>
        }""")
    numbers = {"m": iterations, "two": 2, "zero": 0}
    feeds = {**COMMON, **{name: np.array(n, np.int64) for name, n in numbers.items()}}
    return Work(model, feeds, 1 + iterations // 2)


def ranging(size: int) -> Work:
    """Return Range from 1 in steps of 1, in float32."""
    model = parsed(
        "g (float start, float limit, float delta) => (float[N] r)"
        " { r = Range (start, limit, delta) }"
    )
    values = {"start": 1, "limit": size + 1, "delta": 1}
    return Work(model, {name: np.array(v, np.float32) for name, v in values.items()}, 1)


def adding(size: int) -> Work:
    """Return Add of two float32 tensors."""
    model = parsed("g (float[N] a, float[N] b) => (float[N] r) { r = Add (a, b) }")
    feeds = {"a": np.ones(size, np.float32), "b": np.full(size, 0.5, np.float32)}
    return Work(model, feeds, 1.5)


def nesting(size: int, depth: int) -> Work:
    """Return Loops inside each other, the inner ones with 10 iterations each."""
    inner = (10,) * (depth - 1)
    return loops((max(size // prod(inner), 1), *inner))


#: By name; the first number counts iterations of the innermost body, or elements.
WORKS: dict[str, Callable[..., Work]] = {
    "loop": lambda size: loops((size,)),
    "scan": scan,
    "if-in-loop": if_in_loop,
    "loop-in-loop": lambda size: loops((size // 100, 100)),
    "bodies": lambda size, nodes: loops((size,), nodes),
    "nesting": nesting,
    "range": ranging,
    "add": adding,
}
