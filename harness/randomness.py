"""Operators that draw random numbers: which outputs depend on them, and whether a draw is fair.

A random output has no expected values.
It is judged by dtype, shape and range, and by statistical tests, which reject a right backend with
a probability below 1e-6 for a whole output, whatever its size: their bounds are inequalities
(Bernstein's, and Laurent and Massart's for the chi-square distribution), not approximations.
With four million elements they notice a mean or variance that is off by 1% of its scale.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np
import onnx.defs
from numpy.typing import NDArray
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, helper, numpy_helper

from .case import Call, Case, Expected, MustFail, Value
from .dtypes import element_type_of
from .record import Difference

Array = NDArray[Any]

#: A right backend fails one output with less than this probability.
FALSE_ALARM = 1e-6
#: Operators whose outputs say nothing about the values of their inputs.
_OPAQUE = frozenset({"Shape", "Size"})
#: Operators of ONNX's own domain that draw random numbers; Dropout does so when it trains.
RANDOM = frozenset(
    """
    Bernoulli Dropout Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike
    """.split()
)


@dataclass(frozen=True, slots=True)
class Draw:
    """A node that draws random numbers, with its attributes and the inputs that are known."""

    operator: str
    attributes: Mapping[str, Any]
    inputs: list[Array | None]
    #: Which output of the node it is.
    place: int


def has_random(model: ModelProto) -> bool:
    """Tell whether a model may draw random numbers."""
    return any(node.op_type in RANDOM for node in _all_nodes(model.graph))


def random_outputs(model: ModelProto, inputs: Mapping[str, Value]) -> dict[str, Draw | None]:
    """Return the outputs of a model that depend on random numbers.

    Where an output is that of a drawing node itself, the draw stands beside it.
    """
    if not has_random(model):
        return {}
    known = _known(model.graph, inputs)
    opsets = {o.domain: o.version for o in model.opset_import}
    opset = opsets.get("", opsets.get("ai.onnx", 0))
    tainted: dict[str, Draw | None] = {}
    for node in model.graph.node:
        if _draws(node, opset, known):
            values = [known.get(name) for name in node.input]
            attributes = _attributes(node, opset)
            for place, name in enumerate(node.output):
                tainted[name] = Draw(node.op_type, attributes, values, place)
        elif node.op_type not in _OPAQUE and _reads_random(node, tainted):
            tainted.update((name, None) for name in node.output)
    return {o.name: tainted[o.name] for o in model.graph.output if o.name in tainted}


def repeatable(case: Case) -> bool:
    """Tell whether a case has random outputs and every drawing node a seed: all runs are alike."""
    alternatives = [a for a in case.alternatives if not isinstance(a, MustFail)]
    if not any(is_random(e) for alternative in alternatives for e in alternative):
        return False
    drawing = [node for node in _all_nodes(case.call.model.graph) if node.op_type in RANDOM]
    return all(any(a.name == "seed" for a in node.attribute) for node in drawing)


def repetition(
    names: Sequence[str], first: Sequence[Value], second: Sequence[Value]
) -> list[Difference]:
    """Return which outputs of two runs with the same seeds are not the same."""
    wanted, seen = "the same values again for the same seed", "other values"
    return [
        Difference(name, "distribution", wanted, seen)
        for name, a, b in zip(names, first, second, strict=False)
        if np.asarray(a).tobytes() != np.asarray(b).tobytes()
    ]


def is_random(expected: Expected) -> bool:
    """Tell whether an output has a dtype and a shape only, because it is drawn at random."""
    return expected.kind == "tensor" and expected.value is None and None not in expected.shape


def judge_draws(
    call: Call, names: Sequence[str], expected: Sequence[Expected], got: Sequence[Value]
) -> list[Difference]:
    """Return what is wrong with random outputs, which have the right dtypes and shapes."""
    draws = random_outputs(call.model, call.inputs)
    differences = []
    for name, want, value in zip(names, expected, got, strict=True):
        draw = draws.get(name)
        if draw is not None and is_random(want):
            found = _TESTS[draw.operator](draw, np.asarray(value).reshape(-1))
            differences += [Difference(name, "distribution", *failure) for failure in found]
    return differences


def _all_nodes(graph: GraphProto) -> Iterator[NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _all_nodes(attribute.g)


def _known(graph: GraphProto, inputs: Mapping[str, Value]) -> dict[str, Array]:
    """Return the tensors that are known before the run, by name."""
    known = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    known.update((n, v) for n, v in inputs.items() if isinstance(v, np.ndarray))
    for node in graph.node:
        if node.op_type == "Constant" and not node.domain:
            for attribute in node.attribute:
                if attribute.type == AttributeProto.TENSOR:
                    known[node.output[0]] = numpy_helper.to_array(attribute.t)
                elif attribute.name in ("value_float", "value_int", "value_floats", "value_ints"):
                    known[node.output[0]] = np.asarray(helper.get_attribute_value(attribute))
    return known


def _attributes(node: NodeProto, opset: int) -> dict[str, Any]:
    schema = onnx.defs.get_schema(node.op_type, opset, "")
    defaults = {n: a.default_value for n, a in schema.attributes.items() if a.default_value.type}
    given = {**defaults, **{a.name: a for a in node.attribute}}
    return {name: helper.get_attribute_value(a) for name, a in given.items()}


def _draws(node: NodeProto, opset: int, known: Mapping[str, Array]) -> bool:
    if node.domain not in ("", "ai.onnx") or node.op_type not in RANDOM:
        return False
    return node.op_type != "Dropout" or _trains(node, opset, known)


def _trains(node: NodeProto, opset: int, known: Mapping[str, Array]) -> bool:
    """Tell whether a Dropout node drops anything; what is not known may be so."""
    if opset < 7:
        attributes = _attributes(node, opset)
        return not attributes["is_test"] and attributes["ratio"] != 0
    if opset < 12 or len(node.input) < 3 or not node.input[2]:
        return False
    ratio, training = known.get(node.input[1]), known.get(node.input[2])
    return bool(training is None or training.any()) and bool(ratio is None or ratio.any())


def _reads_random(node: NodeProto, tainted: Mapping[str, Any]) -> bool:
    names = set(node.input)
    for attribute in node.attribute:
        if attribute.type == AttributeProto.GRAPH:
            inner = list(_all_nodes(attribute.g))
            if any(n.op_type in RANDOM for n in inner):
                return True
            names.update(name for n in inner for name in n.input)
            names.update(o.name for o in attribute.g.output)
    return not names.isdisjoint(tainted)


# The tests. Each returns pairs of what was wanted and what was seen.

Failure = tuple[str, str]


def _bernstein(n: int, variance: float, bound: float, alarm: float) -> float:
    """Return how far the sum of ``n`` independent terms strays from its mean, at most.

    Each term has the given variance on average, and lies within ``bound`` of its mean.
    It strays further, in either direction, with less than the probability ``alarm``.
    """
    x = log(2 / alarm)
    return bound * x / 3 + sqrt((bound * x / 3) ** 2 + 2 * n * variance * x)


def _range(got: Array, low: float, high: float) -> list[Failure]:
    outside = ~((got >= low) & (got <= high))
    if not outside.any():
        return []
    first = got[outside][0]
    return [(f"values from {low:g} to {high:g}", f"{int(outside.sum())} outside, such as {first}")]


def _mean(what: str, total: float, n: int, mean: float, allowed: float) -> list[Failure]:
    """Hold a sum of ``n`` terms against its expected mean; ``allowed`` is for the sum."""
    if abs(total - n * mean) <= allowed:
        return []
    return [(f"{what} {mean:.6g} within {allowed / n:.2g}, of {n} elements", f"{total / n:.6g}")]


def _spacing(got: Array, largest: float) -> float:
    """Return the distance of neighbouring values of the output's type near its largest one."""
    element = element_type_of(got.dtype)
    assert element is not None
    one = np.asarray(1, got.dtype)
    step = np.nextafter(one, np.asarray(2, got.dtype)).astype(np.float64) - 1
    return float(step) * largest


def _uniform(draw: Draw, got: Array) -> list[Failure]:
    low, high = draw.attributes["low"], draw.attributes["high"]
    x, n, width = got.astype(np.float64), got.size, high - low
    failures = _range(x, float(np.asarray(low, got.dtype)), float(np.asarray(high, got.dtype)))
    if failures or not n:
        return failures
    slack = n * _spacing(got, max(abs(low), abs(high)))
    mean, variance = (low + high) / 2, width**2 / 12
    allowed = _bernstein(n, variance, width / 2, FALSE_ALARM / 2) + slack
    failures += _mean("the mean", float(x.sum()), n, mean, allowed)
    squares = float(((x - mean) ** 2).sum())
    fourth = width**4 / 180  # the variance of (x - mean) ** 2
    allowed = _bernstein(n, fourth, width**2 / 6, FALSE_ALARM / 2) + slack * width
    return failures + _mean("the variance", squares, n, variance, allowed)


def _normal(draw: Draw, got: Array) -> list[Failure]:
    mean, scale = draw.attributes["mean"], draw.attributes["scale"]
    x, n = got.astype(np.float64), got.size
    if not np.isfinite(x).all():
        return [("finite values", f"{int((~np.isfinite(x)).sum())} that are not")]
    if not n:
        return []
    log_alarm = log(4 / FALSE_ALARM)
    slack = n * _spacing(got, abs(mean) + scale)
    allowed = scale * sqrt(2 * n * log_alarm) + slack
    failures = _mean("the mean", float(x.sum()), n, mean, allowed)
    squares = float(((x - mean) ** 2).sum())
    allowed = 2 * sqrt(n * log_alarm) + 2 * log_alarm
    return failures + _mean(
        "the variance", squares, n, scale**2, allowed * scale**2 + slack * scale
    )


def _coins(hits: Array, p: Array, alarm: float, what: str) -> list[Failure]:
    """Test independent events against their probabilities: how many, and in the right places."""
    impossible = (hits & (p <= 0)) | (~hits & (p >= 1))
    if impossible.any():
        seen = f"{int(impossible.sum())} against a probability of 0 or 1"
        return [(f"{what} as its probability says", seen)]
    n, variance = hits.size, float((p * (1 - p)).mean())
    total = _bernstein(n, variance, 1.0, alarm / 2)
    failures = _mean(what, float(hits.sum()), n, float(p.mean()), total)
    weights = p - p.mean()
    largest = float(np.abs(weights).max())
    if largest < 1e-9:  # all are equally likely
        return failures
    spread = float((weights**2 * p * (1 - p)).mean())
    allowed = _bernstein(n, spread, largest, alarm / 2)
    if abs(float((weights * (hits - p)).sum())) > allowed:
        failures.append((f"{what} where it is likely", "no such pattern"))
    return failures


def _bernoulli(draw: Draw, got: Array) -> list[Failure]:
    x = got.astype(np.float64)
    if not np.isin(x, (0, 1)).all():
        return [("values of 0 and 1", f"such as {x[~np.isin(x, (0, 1))][0]:g}")]
    probabilities = draw.inputs[0]
    if probabilities is None or not x.size:
        return []
    p = probabilities.astype(np.float64).reshape(-1)
    return _coins(x == 1, p, FALSE_ALARM, "the share of ones")


def _multinomial(draw: Draw, got: Array) -> list[Failure]:
    logits = draw.inputs[0]
    if logits is None:
        return []
    batch, classes = logits.shape
    x = got.reshape(batch, -1)
    failures = _range(x, 0, classes - 1)
    if failures or not x.size:
        return failures
    weights = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    p = weights / weights.sum(axis=1, keepdims=True)
    alarm = FALSE_ALARM / (batch * classes)
    for b in range(batch):
        for k in range(classes):
            share = np.full(x.shape[1], p[b, k])
            failures += _coins(x[b] == k, share, alarm, f"the share of class {k} in row {b}")
    return failures


def _dropout(draw: Draw, got: Array) -> list[Failure]:
    data = draw.inputs[0]
    ratio = draw.attributes.get("ratio", 0.5)
    if len(draw.inputs) > 1 and draw.inputs[1] is not None:
        ratio = float(draw.inputs[1].reshape(-1)[0])
    if data is None or not got.size:
        return []
    flat = data.reshape(-1).astype(np.float64)
    if draw.place == 1:
        kept = got.astype(np.float64) != 0
    else:
        x = got.astype(np.float64)
        scaled = flat / (1 - ratio)
        near = np.abs(x - scaled) <= 2 * _spacing(got, 1.0) * np.abs(scaled)
        wrong = ~near & (x != 0)
        if wrong.any():
            wanted = f"0, or data times {1 / (1 - ratio):g}"
            return [(wanted, f"{x[wrong][0]:g} for {flat[wrong][0]:g}")]
        kept = x[flat != 0] != 0
    share = np.full(kept.size, 1 - ratio)
    return _coins(kept, share, FALSE_ALARM, "the share that is kept") if kept.size else []


_TESTS: dict[str, Callable[[Draw, Array], list[Failure]]] = {
    "Bernoulli": _bernoulli,
    "Dropout": _dropout,
    "Multinomial": _multinomial,
    "RandomNormal": _normal,
    "RandomNormalLike": _normal,
    "RandomUniform": _uniform,
    "RandomUniformLike": _uniform,
}
