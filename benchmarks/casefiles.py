"""Case files such as a person writes from an operator's page: one variant to a case.

Floats are multiples of a quarter, so that the answers are exact and short.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Cases in a file.
PER_FILE = 100

Array = NDArray[Any]
#: Node, further lines of the case, inputs and outputs.
Drawn = tuple[str, str, dict[str, Array], dict[str, Array]]


def shape(random: Random) -> tuple[int, ...]:
    """Return a shape of 2 to 24 elements."""
    return random.choice(((2,), (3,), (5,), (8,), (2, 3), (3, 4), (4, 6), (2, 2, 3), (2, 3, 4)))


def floats(random: Random, size: tuple[int, ...]) -> Array:
    """Return a float32 tensor of multiples of a quarter."""
    count = int(np.prod(size))
    return np.array([random.randint(-40, 40) / 4 for _ in range(count)], np.float32).reshape(size)


def binary(operator: str, function: Callable[[Array, Array], Array]) -> Callable[[Random], Drawn]:
    """Return what draws cases of an operator with two inputs, the second broadcast or not."""

    def drawn(random: Random) -> Drawn:
        size = shape(random)
        other = random.choice((size, size[-1:], (1,), ()))
        a, b = floats(random, size), floats(random, other)
        return f"{operator}(a, b) -> (c)", "", {"a": a, "b": b}, {"c": function(a, b)}

    return drawn


def ranging(random: Random) -> Drawn:
    """Draw a case of Range."""
    start, delta, count = random.randint(-9, 9), random.choice((-3, -1, 2, 5)), random.randint(2, 9)
    values = {"start": start, "limit": start + delta * count, "delta": delta}
    inputs = {name: np.array(value, np.int64) for name, value in values.items()}
    output = start + delta * np.arange(count, dtype=np.int64)
    return "Range(start, limit, delta) -> (output)", "", inputs, {"output": output}


def concat(random: Random) -> Drawn:
    """Draw a case of Concat."""
    size = shape(random)
    axis = random.randrange(len(size))
    a, b = floats(random, size), floats(random, size)
    attributes = f"    attributes: {{axis: {axis}}}\n"
    outputs = {"c": np.concatenate([a, b], axis)}
    return "Concat(a, b) -> (c)", attributes, {"a": a, "b": b}, outputs


def softmax(random: Random) -> Drawn:
    """Draw a case of Softmax."""
    x = floats(random, shape(random))
    e = np.exp(x.astype(np.float64) - x.max(axis=-1, keepdims=True))
    y = (e / e.sum(axis=-1, keepdims=True)).astype(np.float32)
    return "Softmax(x) -> (y)", "    attributes: {axis: -1}\n", {"x": x}, {"y": y}


def transpose(random: Random) -> Drawn:
    """Draw a case of Transpose."""
    x = floats(random, shape(random))
    perm = random.sample(range(x.ndim), x.ndim)
    attributes = f"    attributes: {{perm: {perm}}}\n"
    return "Transpose(x) -> (y)", attributes, {"x": x}, {"y": x.transpose(perm)}


def gather(random: Random) -> Drawn:
    """Draw a case of Gather."""
    x = floats(random, shape(random))
    indices = [random.randrange(-x.shape[0], x.shape[0]) for _ in range(random.randint(1, 3))]
    inputs = {"x": x, "indices": np.array(indices, np.int64)}
    return "Gather(x, indices) -> (y)", "    attributes: {axis: 0}\n", inputs, {"y": x[indices]}


def clip(random: Random) -> Drawn:
    """Draw a case of Clip."""
    x = floats(random, shape(random))
    low, high = np.array(-random.randint(1, 4), x.dtype), np.array(random.randint(1, 4), x.dtype)
    inputs = {"x": x, "low": low, "high": high}
    return "Clip(x, low, high) -> (y)", "", inputs, {"y": np.clip(x, low, high)}


def loop(random: Random) -> Drawn:
    """Draw a case of Loop: it adds the same in each iteration, and collects what there was."""
    size, trips = random.choice(((2,), (3,), (2, 3))), random.randint(2, 4)
    x, t = floats(random, size), floats(random, size)
    kind = f"float[{', '.join(map(str, size))}]"
    attributes = f"""\
    attributes:
      body: |
        step (int64 i, bool go, {kind} s) => (bool go_on, {kind} next, {kind} seen) {{
          go_on = Identity(go)
          next = Add(s, t)
          seen = Identity(s)
        }}
"""
    inputs = {"M": np.array(trips, np.int64), "x": x}
    outputs = {"final": x + trips * t, "all": np.stack([x + k * t for k in range(trips)])}
    # The body's addend is a constant: a node's body sees no inputs of the case but its own.
    text = f"t = Constant<value = {kind} {{{', '.join(number(v) for v in t.reshape(-1))}}}>()"
    attributes = attributes.replace("next = ", f"{text}\n          next = ")
    return "Loop(M, , x) -> (final, all)", attributes, inputs, outputs


def scan(random: Random) -> Drawn:
    """Draw a case of Scan: running sums."""
    size, steps = random.choice(((2,), (3,), (4,))), random.randint(2, 6)
    start, x = floats(random, size), floats(random, (steps, *size))
    kind = f"float[{size[0]}]"
    attributes = f"""\
    attributes:
      num_scan_inputs: 1
      body: |
        step ({kind} acc, {kind} e) => ({kind} acc_out, {kind} y) {{
          acc_out = Add(acc, e)
          y = Identity(acc_out)
        }}
"""
    sums = start + np.cumsum(x, axis=0, dtype=np.float32)
    inputs = {"start": start, "x": x}
    return "Scan(start, x) -> (total, sums)", attributes, inputs, {"total": sums[-1], "sums": sums}


#: Which wrong implementation the cases of an operator catch, and what draws them.
OPERATORS: dict[str, tuple[str, Callable[[Random], Drawn]]] = {
    "Add": ("broadcasts the first input to the second only", binary("Add", np.add)),
    "Range": ("includes the limit", ranging),
    "Loop": ("stacks the scan outputs along the last axis", loop),
    "Concat": ("always joins along the first axis", concat),
    "Softmax": ("normalises over all elements", softmax),
    "Mul": ("takes the inputs for flat lists of numbers", binary("Mul", np.multiply)),
    "Scan": ("hands each step the state that the first one had", scan),
    "Transpose": ("applies the inverse permutation", transpose),
    "Sub": ("subtracts the first input from the second", binary("Sub", np.subtract)),
    "Gather": ("takes negative indices for zero", gather),
    "Clip": ("ignores the upper limit", clip),
    "Max": ("looks at the first element only", binary("Max", np.maximum)),
}


def number(value: Any) -> str:
    """Write a number as a person does: ``1.5``, and ``2`` for 2.0."""
    return str(int(value)) if value == int(value) else str(value)


def value_text(value: Array) -> str:
    """Write a tensor in one line."""

    def nested(data: Any) -> str:
        if isinstance(data, np.ndarray) and data.ndim:
            return f"[{', '.join(nested(item) for item in data)}]"
        return number(data[()] if isinstance(data, np.ndarray) else data)

    sizes = f"shape: [{', '.join(map(str, value.shape))}], " if value.ndim > 1 else ""
    return f"{{dtype: {value.dtype}, {sizes}data: {nested(value)}}}"


def case_text(random: Random, operator: str, i: int) -> str:
    """Draw a case and write it."""
    wrong, draw = OPERATORS[operator]
    node, further, inputs, outputs = draw(random)
    lines = [
        f"  - name: {operator.lower()}_example_{i}",
        f"    why: An implementation that {wrong} fails.",
        f"    node: {node}",
        *further.splitlines(),
    ]
    for key, values in (("inputs", inputs), ("outputs", outputs)):
        lines.append(f"    {key}:")
        lines += [f"      {name}: {value_text(value)}" for name, value in values.items()]
    return "\n".join(lines) + "\n"


def write(folder: Path, cases: int) -> None:
    """Write a folder with this many cases; the same each time."""
    random = Random(cases)
    folder.mkdir()
    for k, first in enumerate(range(0, cases, PER_FILE)):
        operator = list(OPERATORS)[k % len(OPERATORS)]
        head = f"operator: {operator}\nopset: 21\nspec: ai.onnx {operator}\ncases:\n"
        numbers = range(first, min(first + PER_FILE, cases))
        texts = [case_text(random, operator, i) for i in numbers]
        path = folder / f"{operator.lower()}_{k}.yaml"
        path.write_text(head + "\n".join(texts), encoding="utf-8")
