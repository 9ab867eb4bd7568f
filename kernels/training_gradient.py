"""Gradient: the derivative of a part of the graph around it, by going through that part backwards.

The part is computed anew from the inputs of the Gradient node, in float64, and so are the
derivatives; they are rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .registry import Unsupported, kernel
from .rounding import Array, is_float, narrow


@dataclass(frozen=True, slots=True)
class Operation:
    """One node of the differentiated graph, with its kernel."""

    operator: str
    function: Callable[..., Any]
    attributes: dict[str, Any]
    inputs: list[str]
    outputs: list[str]


@dataclass(frozen=True, slots=True)
class Subgraph:
    """The nodes that lead from ``xs`` and ``zs`` to ``y``, in order, and their constants."""

    operations: list[Operation] = field(default_factory=list)
    constants: dict[str, Array] = field(default_factory=dict)


@kernel("Gradient", since_version=1, domain="ai.onnx.preview.training")
def gradient_1(
    *inputs: Array, xs: list[str], y: str, zs: list[str] | None, subgraph: Subgraph
) -> tuple[Array, ...]:
    """Differentiate ``y`` with respect to each of ``xs``.

    Args: the values of ``xs`` and ``zs``, at which the derivatives are taken.
    Returns: for each of ``xs`` the derivative, in its shape and type.
    The text speaks of "the partial derivatives of a specific tensor": where ``y`` has several
    elements, these are the derivatives of their sum.
    Errors: inputs that are not as many as the names; an operator without a derivative here is
    unsupported.
    Source: Gradient-1.
    """
    names = [*xs, *(zs or [])]
    if len(names) != len(inputs):
        raise ValueError(f"{len(inputs)} inputs; xs and zs name {len(names)}: {', '.join(names)}")
    given = dict(zip(names, inputs, strict=True))
    values = {name: _wide(x) for name, x in {**subgraph.constants, **given}.items()}
    for operation in subgraph.operations:
        arguments = [values[name] if name else None for name in operation.inputs]
        result = operation.function(*arguments, **operation.attributes)
        outputs = result if isinstance(result, tuple) else (result,)
        values.update(zip(operation.outputs, outputs, strict=False))
    slopes = {y: np.ones_like(values[y])}
    for operation in reversed(subgraph.operations):
        slope = slopes.get(operation.outputs[0])
        if slope is None:
            continue
        for name, part in zip(operation.inputs, _backward(operation, values, slope), strict=True):
            if part is not None:
                slopes[name] = slopes[name] + part if name in slopes else part
    return tuple(
        narrow(slopes.get(name, np.zeros(given[name].shape)), given[name].dtype) for name in xs
    )


def _wide(x: Array) -> Array:
    return x.astype(np.float64) if is_float(x.dtype) else x


def _backward(operation: Operation, values: dict[str, Array], slope: Array) -> list[Array | None]:
    """Return the slopes of an operation's inputs; ``None`` where there is none."""
    rule = _RULES.get(operation.operator)
    if rule is None:
        known = ", ".join(sorted(_RULES))
        raise Unsupported(f"Gradient of {operation.operator}; known are the derivatives of {known}")
    arguments = [values[name] for name in operation.inputs]
    parts = rule(_Node(arguments, values[operation.outputs[0]], slope, operation.attributes))
    return [
        None if part is None else _summed(part, x.shape)
        for part, x in zip(parts, arguments, strict=True)
    ]


def _summed(slope: Array, shape: tuple[int, ...]) -> Array:
    """Sum over the axes along which an input was broadcast."""
    extra = slope.ndim - len(shape)
    stretched = [i for i, size in enumerate(shape) if size == 1 and slope.shape[extra + i] != 1]
    axes = (*range(extra), *(extra + i for i in stretched))
    return np.asarray(slope.sum(axis=axes)).reshape(shape)


@dataclass(frozen=True, slots=True)
class _Node:
    """What a rule may read: inputs, output, the slope of the output, attributes."""

    x: list[Array]
    y: Array
    slope: Array
    attributes: dict[str, Any]


def _matmul(n: _Node) -> list[Array | None]:
    p, q = n.x
    if p.ndim < 2 or q.ndim < 2:
        raise Unsupported("Gradient of MatMul of a vector")
    return [n.slope @ np.swapaxes(q, -1, -2), np.swapaxes(p, -1, -2) @ n.slope]


#: The slopes of the inputs, by operator.
_RULES: dict[str, Callable[[_Node], list[Array | None]]] = {
    "Abs": lambda n: [n.slope * np.sign(n.x[0])],
    "Add": lambda n: [n.slope, n.slope],
    "Cos": lambda n: [-n.slope * np.sin(n.x[0])],
    "Div": lambda n: [n.slope / n.x[1], -n.slope * n.x[0] / n.x[1] ** 2],
    "Exp": lambda n: [n.slope * n.y],
    "Identity": lambda n: [n.slope],
    "Log": lambda n: [n.slope / n.x[0]],
    "MatMul": _matmul,
    "Mul": lambda n: [n.slope * n.x[1], n.slope * n.x[0]],
    "Neg": lambda n: [-n.slope],
    "Reciprocal": lambda n: [-n.slope * n.y**2],
    "Relu": lambda n: [n.slope * (n.x[0] > 0)],
    "Reshape": lambda n: [n.slope.reshape(n.x[0].shape), None],
    "Sigmoid": lambda n: [n.slope * n.y * (1 - n.y)],
    "Sin": lambda n: [n.slope * np.cos(n.x[0])],
    "Sqrt": lambda n: [n.slope / (2 * n.y)],
    "Sub": lambda n: [n.slope, -n.slope],
    "Sum": lambda n: [n.slope] * len(n.x),
    "Tanh": lambda n: [n.slope * (1 - n.y**2)],
    "Transpose": lambda n: [
        n.slope.transpose(np.argsort(n.attributes["perm"]) if n.attributes["perm"] else None)
    ],
}
