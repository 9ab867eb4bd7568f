"""The activation functions of RNN, GRU and LSTM, and how a node chooses them.

Where a function takes ``alpha`` or ``beta``, it takes the next value of ``activation_alpha`` or
``activation_beta``, and its operator's default once these are used up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import onnx.defs

from .rounding import Array

Activation = Callable[[Array], Array]


def _elu(x: Array, alpha: float) -> Array:
    return np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0)))


@dataclass(frozen=True, slots=True)
class _Entry:
    """One function, and which of the two values it takes."""

    function: Callable[..., Array]
    alpha: bool = False
    beta: bool = False


_TABLE = {
    "Relu": _Entry(lambda x: np.maximum(x, 0)),
    "Tanh": _Entry(np.tanh),
    "Sigmoid": _Entry(lambda x: 1 / (1 + np.exp(-x))),
    "Affine": _Entry(lambda x, alpha, beta: alpha * x + beta, alpha=True, beta=True),
    "LeakyRelu": _Entry(lambda x, alpha: np.where(x >= 0, x, alpha * x), alpha=True),
    "ThresholdedRelu": _Entry(lambda x, alpha: np.where(x >= alpha, x, 0), alpha=True),
    "ScaledTanh": _Entry(lambda x, alpha, beta: alpha * np.tanh(beta * x), alpha=True, beta=True),
    "HardSigmoid": _Entry(
        lambda x, alpha, beta: np.minimum(np.maximum(alpha * x + beta, 0), 1), alpha=True, beta=True
    ),
    "Elu": _Entry(_elu, alpha=True),
    "Softsign": _Entry(lambda x: x / (1 + np.absolute(x))),
    "Softplus": _Entry(lambda x: np.logaddexp(x, 0)),
}


def activations(
    names: Sequence[str],
    alphas: Sequence[float] | None,
    betas: Sequence[float] | None,
    clip: float | None,
) -> list[Activation]:
    """Return the named functions, which clip their inputs to [-clip, clip].

    Raises: ``ValueError`` for a name that the text does not list, for values that are left over,
    for a negative clip, and where Affine or ScaledTanh, which have no operator, lack a value.
    Source: LSTM-14, "The values are consumed in the order of activation functions".
    """
    if clip is not None and not clip >= 0:
        raise ValueError(f"clip is {clip}: it must be 0 or more")
    left = {"alpha": iter(alphas or ()), "beta": iter(betas or ())}
    chosen = [_activation(name, left, clip) for name in names]
    for name, values in left.items():
        unused = list(values)
        if unused:
            raise ValueError(
                f"activation_{name} has {len(unused)} values more than {', '.join(names)} take"
            )
    return chosen


def _activation(name: str, left: dict[str, Iterator[float]], clip: float | None) -> Activation:
    """Return one function with the values that it takes."""
    if name not in _TABLE:
        raise ValueError(f"the activation function {name!r} is not one of {', '.join(_TABLE)}")
    entry = _TABLE[name]
    taken = [
        _value(name, which, left[which])
        for which, takes in (("alpha", entry.alpha), ("beta", entry.beta))
        if takes
    ]

    def run(x: Array) -> Array:
        if clip is not None:
            x = np.clip(x, -clip, clip)
        return entry.function(x, *taken)

    return run


def _value(name: str, which: str, values: Iterator[float]) -> float:
    """Return the next value, or the default of the operator of the same name."""
    value = next(values, None)
    if value is not None:
        return value
    if not onnx.defs.has(name):
        raise ValueError(f"{name} needs activation_{which}: no operator gives a default")
    return float(onnx.defs.get_schema(name).attributes[which].default_value.f)
