"""Steps of gradient descent, of ai.onnx.preview.training: Adagrad, Adam, Momentum.

Each takes a learning rate R, an update count T and, for n tensors, n values of each kind in turn:
all tensors, then all their gradients, and so on.
float32 is computed in float64, float64 in ``numpy.longdouble``, and rounded once.
Gradient is in ``training_gradient``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .registry import kernel
from .rounding import Array

DOMAIN = "ai.onnx.preview.training"

#: A tensor and its companions in, their new values out.
Step = Callable[..., tuple[Array, ...]]


def _scalar(name: str, value: Array) -> Any:
    """Return the one element of a tensor in ``numpy.longdouble``, or as an integer."""
    if value.size != 1:
        raise ValueError(f"{name} has shape {value.shape}; a scalar was wanted")
    item = value.reshape(())[()]
    return int(item) if value.dtype.kind == "i" else np.longdouble(item)


def _for_each(tensors: Sequence[Array], kinds: int, step: Step) -> tuple[Array, ...]:
    """Run ``step`` on each tensor with its companions, and return all results kind by kind.

    Raises: ``ValueError`` where the number of tensors is no multiple of ``kinds``, where a tensor
    and its companions differ in type, or where a new value would not have the shape of the old one.
    """
    count, rest = divmod(len(tensors), kinds)
    if rest or not count:
        raise ValueError(f"{len(tensors)} tensors are given; a multiple of {kinds} was wanted")
    results: list[tuple[Array, ...]] = []
    for i in range(count):
        group = tensors[i::count]
        dtype, seen = group[0].dtype, ", ".join(f"{t.dtype}{list(t.shape)}" for t in group)
        if any(t.dtype != dtype for t in group):
            raise ValueError(f"tensor {i} and its companions are {seen}; one type was wanted")
        wide = np.longdouble if dtype == np.float64 else np.float64
        news = step(*(t.astype(wide) for t in group))
        # The gradient has no new value.
        olds = (group[0], *group[2:])
        if any(new.shape != old.shape for new, old in zip(news, olds, strict=True)):
            raise ValueError(f"tensor {i} and its companions are {seen}, which change its shape")
        results.append(tuple(np.asarray(new).astype(dtype) for new in news))
    return tuple(result[kind] for kind in range(len(results[0])) for result in results)


@kernel("Adagrad", since_version=1, domain=DOMAIN)
def adagrad(
    r: Array,
    t: Array,
    /,
    *tensors: Array,
    norm_coefficient: float,
    decay_factor: float,
    epsilon: float,
) -> tuple[Array, ...]:
    """Return the new tensors, and then their new accumulated squared gradients.

    Args: tensors, then their gradients, then their accumulated squared gradients.
    Errors: see ``_for_each``; ``r`` or ``t`` of more than one element.
    Source: Adagrad-1, "X_new = X - r * G_regularized / H_adaptive".
    """
    rate = _scalar("R", r) / (1 + _scalar("T", t) * np.longdouble(decay_factor))

    def step(x: Array, g: Array, h: Array) -> tuple[Array, ...]:
        g = norm_coefficient * x + g
        h = h + g * g
        return x - rate.astype(x.dtype) * g / (np.sqrt(h) + epsilon), h

    return _for_each(tensors, 3, step)


@kernel("Adam", since_version=1, domain=DOMAIN)
def adam(
    r: Array,
    t: Array,
    /,
    *tensors: Array,
    epsilon: float,
    norm_coefficient_post: float,
    norm_coefficient: float,
    beta: float,
    alpha: float,
) -> tuple[Array, ...]:
    """Return the new tensors, their new averaged gradients, and their new averaged squares.

    Args: tensors, gradients, averaged gradients, averaged squared gradients.
    Errors: see ``_for_each``; ``r`` or ``t`` of more than one element.
    Source: Adam-1, "R_adjusted = T > 0 ? R * Sqrt(1 - beta**T) / (1 - alpha**T) : R".
    """
    rate, count = _scalar("R", r), _scalar("T", t)
    if count > 0:
        powers = (1 - np.longdouble(beta) ** count, 1 - np.longdouble(alpha) ** count)
        rate = rate * np.sqrt(powers[0]) / powers[1]

    def step(x: Array, g: Array, v: Array, h: Array) -> tuple[Array, ...]:
        g = norm_coefficient * x + g
        v = alpha * v + (1 - alpha) * g
        h = beta * h + (1 - beta) * g * g
        x = x - rate.astype(x.dtype) * v / (np.sqrt(h) + epsilon)
        return (1 - norm_coefficient_post) * x, v, h

    return _for_each(tensors, 4, step)


@kernel("Momentum", since_version=1, domain=DOMAIN)
def momentum(
    r: Array,
    t: Array,
    /,
    *tensors: Array,
    norm_coefficient: float,
    beta: float,
    mode: str,
    alpha: float,
) -> tuple[Array, ...]:
    """Return the new tensors, and then their new momenta.

    Args: tensors, gradients, momenta; mode, ``standard`` or ``nesterov``.
    Errors: see ``_for_each``; another mode; ``r`` or ``t`` of more than one element.
    Source: Momentum-1, "In the first training iteration, beta should always be 1."
    """
    if mode not in ("standard", "nesterov"):
        raise ValueError(f"mode is {mode!r}; 'standard' or 'nesterov' was wanted")
    rate = _scalar("R", r)
    factor = beta if _scalar("T", t) > 0 else 1.0

    def step(x: Array, g: Array, v: Array) -> tuple[Array, ...]:
        g = norm_coefficient * x + g
        v = alpha * v + factor * g
        direction = g + alpha * v if mode == "nesterov" else v
        return x - rate.astype(x.dtype) * direction, v

    return _for_each(tensors, 3, step)
