"""What the operators of ai.onnx.ml share: post transforms, rows, class labels, attribute checks.

The texts name the post transforms and do not define them.
NONE hands the scores on; LOGISTIC is 1 / (1 + exp(-x)) of each score; SOFTMAX is the softmax over
the scores of one example; SOFTMAX_ZERO is that over the scores that are not zero, which alone
change; PROBIT is the quantile function of the standard normal distribution, of each score.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from .rounding import Array, wide

DOMAIN = "ai.onnx.ml"
FLOAT32 = np.dtype(np.float32)

_NORMAL = statistics.NormalDist()
_ROOT_OF_2 = Fraction(math.isqrt(2 * 10**60), 10**30)


def only(**given: Any) -> tuple[str, Any]:
    """Return name and value of the one attribute that is set.

    Raises: ``ValueError`` unless there is exactly one.
    Source: "One and only one of the ... attributes must be defined."
    """
    names = [name for name, value in given.items() if value is not None]
    if len(names) != 1:
        seen = " and ".join(names) or "none"
        raise ValueError(f"{seen} of {', '.join(given)} given; exactly one was wanted")
    return names[0], given[names[0]]


def choice(name: str, value: Any, allowed: Sequence[Any]) -> Any:
    """Return ``value``; raises ``ValueError`` where it is none of the ``allowed`` ones."""
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}; one of {', '.join(map(str, allowed))} was wanted")
    return value


def strings(items: Sequence[str]) -> Array:
    """Return a 1-D tensor of strings."""
    result = np.empty(len(items), object)
    result[:] = items
    return result


def labels(**classlabels: Sequence[Any] | None) -> Array:
    """Return the class labels, a 1-D tensor of int64 or strings, from the one attribute set."""
    name, values = only(**classlabels)
    return strings(values) if name.endswith("strings") else np.array(values, np.int64)


def rows(x: Array) -> Array:
    """Return ``x`` as float64 of shape [N, F]; a tensor of shape [F] is one example.

    Raises: ``ValueError`` for any other rank.
    """
    if x.ndim not in (1, 2):
        raise ValueError(f"X has shape {x.shape}; [N, F] or [F] was wanted")
    return wide(x.reshape(1, -1) if x.ndim == 1 else x)


def table(name: str, values: Sequence[float], shape: tuple[int, int]) -> Array:
    """Return an attribute's numbers as a float64 matrix of a shape that they have to fill."""
    if len(values) != shape[0] * shape[1]:
        raise ValueError(
            f"{name} has {len(values)} numbers; {shape[0]} times {shape[1]} were wanted"
        )
    return np.array(values, np.float64).reshape(shape)


# Post transforms.


def _logistic(scores: Array) -> Array:
    """Return 1 / (1 + exp(-x)); exp never overflows."""
    e = np.exp(-np.abs(scores))
    return np.where(scores >= 0, 1.0, e) / (1.0 + e)


def _softmax(scores: Array) -> Array:
    """Return exp(x) / sum(exp(x)) of each row."""
    e = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _softmax_zero(scores: Array) -> Array:
    """Return the softmax of each row over its scores other than zero; zeros stay zero."""
    present = scores != 0
    highest = np.where(present, scores, -np.inf).max(axis=1, keepdims=True, initial=-np.inf)
    e = np.where(present, np.exp(scores - highest), 0.0)
    total = e.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(e, total, out=np.zeros_like(e), where=present))


def _quantile(p: float) -> float:
    """Return where the standard normal distribution has reached ``p``; NaN outside [0, 1].

    A step of Newton's method, with a residual that does not cancel, takes the formula of
    ``statistics`` to less than two units in the last place.
    """
    if not 0.0 < p < 1.0:
        return {0.0: -math.inf, 1.0: math.inf}.get(p, math.nan)
    y = _NORMAL.inv_cdf(p) / math.sqrt(2)
    density = math.exp(-y * y) / math.sqrt(2 * math.pi)
    step = 0.0
    if abs(p - 0.5) < 0.25:
        step = (p - 0.5 - 0.5 * math.erf(y)) / density
    elif density > 1e-300:
        step = (0.5 * math.erfc(abs(y)) - min(p, 1.0 - p)) / density * math.copysign(1.0, y)
    return float(Fraction(y) * _ROOT_OF_2 + Fraction(step))


def _probit(scores: Array) -> Array:
    """Return the quantile of each score."""
    values = [_quantile(p) for p in scores.astype(np.float64).ravel().tolist()]
    return np.array(values, np.float64).reshape(scores.shape)


_TRANSFORMS = {
    "NONE": lambda scores: scores,
    "SOFTMAX": _softmax,
    "LOGISTIC": _logistic,
    "SOFTMAX_ZERO": _softmax_zero,
    "PROBIT": _probit,
}

#: The names, at the places that are their numbers in TreeEnsemble-5.
TRANSFORMS = tuple(_TRANSFORMS)


def transformed(scores: Array, name: str) -> Array:
    """Apply the post transform ``name`` to float64 scores of shape [N, E].

    Raises: ``ValueError`` for a name that is none of the five.
    """
    with np.errstate(all="ignore"):
        return np.asarray(_TRANSFORMS[choice("post_transform", name, TRANSFORMS)](scores))
