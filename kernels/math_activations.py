"""Activation functions: Elu and its family, Gelu, HardSigmoid, HardSwish, PRelu, Swish and others.

They are computed in float64, or for float64 in ``numpy.longdouble``, and rounded once.
An attribute is a float32; it takes part as that number, whatever the type of the tensor.
The function bodies of some versions round it to that type first; this is taken for a way to compute
a function, not for its definition.
Where a formula gives minus infinity times 0, the result is NaN, by the formula's word.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .math import wider
from .math_erf import normal_distribution
from .registry import kernel
from .rounding import Array, narrow, wide
from .summation import two_sum


@kernel("Celu", since_version=(12, 28))
def celu(x: Array, /, *, alpha: float) -> Array:
    """Return ``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``. Source: Celu-28."""

    def run(x: Array) -> Array:
        return np.maximum(0, x) + np.minimum(0, alpha * np.expm1(np.divide(x, alpha)))

    return wider(run)(x)


@kernel("Elu", since_version=(6, 22))
def elu_6(x: Array, /, *, alpha: float) -> Array:
    """Return ``alpha * (exp(x) - 1)`` for x < 0, and x for the rest. Source: Elu-22."""
    return wider(lambda v: np.where(v < 0, alpha * np.expm1(v), v))(x)


@kernel("Elu", since_version=1)
def elu_1(x: Array, /, *, alpha: float, consumed_inputs: Any) -> Array:  # noqa: ARG001 - has no meaning
    """Do as ``elu_6`` does. Source: Elu-1."""
    return elu_6(x, alpha=alpha)


@kernel("Selu", since_version=(6, 22))
def selu_6(x: Array, /, *, alpha: float, gamma: float) -> Array:
    """Return ``gamma * (alpha * e^x - alpha)`` for x <= 0, ``gamma * x`` for the rest.

    Source: Selu-22.
    """
    return wider(lambda v: gamma * np.where(v <= 0, alpha * np.expm1(v), v))(x)


@kernel("Selu", since_version=1)
def selu_1(
    x: Array,
    /,
    *,
    alpha: float,
    gamma: float,
    consumed_inputs: Any,  # noqa: ARG001 - has no meaning
) -> Array:
    """Do as ``selu_6`` does, with other defaults. Source: Selu-1, "default to 1.6732"."""
    return selu_6(x, alpha=alpha, gamma=gamma)


@kernel("LeakyRelu", since_version=(6, 16))
def leaky_relu_6(x: Array, /, *, alpha: float) -> Array:
    """Return ``alpha * x`` for x < 0, and x for the rest. Source: LeakyRelu-16."""
    return wider(lambda v: np.where(v < 0, alpha * v, v))(x)


@kernel("LeakyRelu", since_version=1)
def leaky_relu_1(x: Array, /, *, alpha: float, consumed_inputs: Any) -> Array:  # noqa: ARG001 - has no meaning
    """Do as ``leaky_relu_6`` does. Source: LeakyRelu-1."""
    return leaky_relu_6(x, alpha=alpha)


@kernel("ThresholdedRelu", since_version=(10, 22))
def thresholded_relu(x: Array, /, *, alpha: float) -> Array:
    """Return x where x > alpha, and 0 otherwise, so also for NaN. Source: ThresholdedRelu-22."""
    return np.where(wide(x) > alpha, x, np.zeros((), x.dtype))


@kernel("PRelu", since_version=(7, 9, 16))
def prelu_7(x: Array, slope: Array, /) -> Array:
    """Return ``slope * x`` for x < 0, and x for the rest; integers wrap around.

    Args: x, of any shape; slope, of a shape that broadcasts to that of x.
    Raises: ``ValueError`` where it does not.
    Source: PRelu-16, "unidirectional broadcasting".
    """
    kept = x.shape[x.ndim - slope.ndim :] if slope.ndim <= x.ndim else None
    if kept is None or any(s not in (1, n) for s, n in zip(slope.shape, kept, strict=True)):
        raise ValueError(
            f"slope has shape {slope.shape}, which does not broadcast to {x.shape}, that of X"
        )
    return np.where(x < np.zeros((), x.dtype), np.multiply(slope, x), x)


@kernel("PRelu", since_version=6)
def prelu_6(x: Array, slope: Array, /) -> Array:
    """Do as ``prelu_7`` does, with one slope, one for each channel, or one for each element.

    Channels lie along axis 1; the text does not say so, the official cases show it.
    Raises: ``ValueError`` for any other slope.
    Source: PRelu-6, "If `Slope` is of size 1, the value is shared".
    """
    if slope.size == 1:
        return prelu_7(x, slope.reshape(()))
    if slope.shape == x.shape:
        return prelu_7(x, slope)
    if x.ndim < 2 or slope.shape != x.shape[1:2]:
        raise ValueError(
            f"slope has shape {slope.shape}, X has shape {x.shape}: slope must have one element, "
            "one for each channel, which is axis 1 of X, or the shape of X"
        )
    return prelu_7(x, slope.reshape(slope.shape + (1,) * (x.ndim - 2)))


@kernel("PRelu", since_version=1)
def prelu_1(x: Array, slope: Array, /, *, consumed_inputs: Any) -> Array:  # noqa: ARG001 - has no meaning
    """Do as ``prelu_6`` does. Source: PRelu-1."""
    return prelu_6(x, slope)


@kernel("HardSigmoid", since_version=(6, 22))
def hard_sigmoid_6(x: Array, /, *, alpha: float, beta: float) -> Array:
    """Return ``max(0, min(1, alpha * x + beta))``. Source: HardSigmoid-22."""
    return narrow(np.maximum(0.0, np.minimum(1.0, _line(wide(x), alpha, beta))), x.dtype)


@kernel("HardSigmoid", since_version=1)
def hard_sigmoid_1(
    x: Array,
    /,
    *,
    alpha: float,
    beta: float,
    consumed_inputs: Any,  # noqa: ARG001 - has no meaning
) -> Array:
    """Do as ``hard_sigmoid_6`` does. Source: HardSigmoid-1."""
    return hard_sigmoid_6(x, alpha=alpha, beta=beta)


def _line(x: Array, alpha: float, beta: float) -> Array:
    """Return ``alpha * x + beta`` in float64, precisely also where the sum cancels.

    ``alpha`` has 24 bits, so its products with 24 and with 29 bits of ``x`` are exact.
    """
    high = (x.view(np.int64) & ~np.int64(2**29 - 1)).view(np.float64)
    low = np.where(np.isfinite(x), x - high, 0.0)
    product = high * alpha
    total = product + beta
    part = total - product
    lost = (product - (total - part)) + (beta - part)
    return np.where(np.isfinite(total), total + (lost + low * alpha), total)


@kernel("HardSwish", since_version=(14, 22))
def hard_swish(x: Array, /) -> Array:
    """Return ``x * max(0, min(1, x / 6 + 1 / 2))``.

    The function bodies take a float32 for 1/6.
    Source: HardSwish-22, "alpha = 1/6 and beta = 0.5".
    """
    return wider(lambda v: v * np.maximum(0, np.minimum(6, v + 3)) / 6)(x)


@kernel("Mish", since_version=(18, 22))
def mish(x: Array, /) -> Array:
    """Return ``x * tanh(ln(1 + e^x))``, written so that nothing overflows or cancels.

    Source: Mish-22.
    """

    def run(x: Array) -> Array:
        u = np.exp(-np.absolute(x))
        above = (1 + 2 * u) / (1 + 2 * u + 2 * u * u)
        below = u * (u + 2) / (u * (u + 2) + 2)
        return np.asarray(x * np.where(x < 0, below, above))

    return wider(run)(x)


@kernel("Gelu", since_version=20)
def gelu(x: Array, /, *, approximate: str) -> Array:
    """Return ``0.5 * x * (1 + erf(x / sqrt(2)))``, or its estimate with tanh.

    Raises: ``ValueError`` where ``approximate`` is neither "none" nor "tanh".
    Source: Gelu-20.
    """
    if approximate not in ("none", "tanh"):
        raise ValueError(f"approximate is {approximate!r}: it must be 'none' or 'tanh'")
    if approximate == "none":
        return wider(lambda v: v * normal_distribution(v))(x)
    return wider(_gelu_tanh)(x)


#: ``2 sqrt(2 / pi) 0.044715`` and ``1 / 0.044715``, each as a float64 and what it lacks.
_FACTOR = (0.07135481627260025, -6.175149918155315e-19)
_OFFSET = (22.363860002236386, -3.734262393014057e-17)

#: Beyond it the estimate is ``x`` or 0 in every type of ONNX.
_FAR = 100.0


def _gelu_tanh(x: Array) -> Array:
    """Return the estimate; ``(1 + tanh(u)) / 2`` is ``1 / (1 + exp(-2 u))``.

    In the left tail a rounding error of ``2 u`` counts 700 times, so it is kept in two parts.
    """
    near = np.clip(x, -_FAR, _FAR)
    square, lost = _two_product(near, near)
    total, more = two_sum(square, x.dtype.type(_OFFSET[0]))
    product, rest = _two_product(near, total)
    rest = rest + near * (lost + more + _OFFSET[1])
    twice, low = _two_product(product, x.dtype.type(_FACTOR[0]))
    low = low + rest * _FACTOR[0] + product * _FACTOR[1]
    inverse = 1 + np.exp(-twice) * np.exp(-low)
    return np.asarray(x / np.where(x < -_FAR, np.inf, inverse))


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Multiply; return the product and, exactly, what rounding took from it.

    Source of the method: Dekker, "A floating-point technique for extending the available
    precision", 1971.
    """
    splitter = a.dtype.type(2 ** ((np.finfo(a.dtype).nmant + 2) // 2) + 1)
    (a_high, a_low), (b_high, b_low) = (
        (high, v - high) for v in (a, b) for high in [splitter * v - (splitter * v - v)]
    )
    product = a * b
    return product, a_low * b_low - (product - a_high * b_high - a_low * b_high - a_high * b_low)


@kernel("Swish", since_version=24)
def swish(x: Array, /, *, alpha: float) -> Array:
    """Return ``x * sigmoid(alpha * x)``. Source: Swish-24."""
    return wider(lambda v: v / (1 + np.exp(-alpha * v)))(x)


@kernel("SwiGLU", since_version=28)
def swiglu(a: Array, b: Array, /, *, alpha: float) -> Array:
    """Return ``a * sigmoid(alpha * a) * b``, rounded once.

    Raises: ``ValueError`` where the shapes differ.
    Source: SwiGLU-28, "broadcasting is not applied".
    """
    if a.shape != b.shape:
        raise ValueError(f"A has shape {a.shape}, B has shape {b.shape}: they must be the same")
    return wider(lambda v: v / (1 + np.exp(-alpha * v)) * b.astype(v.dtype))(a)
