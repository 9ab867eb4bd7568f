"""Random generators: Bernoulli, Multinomial, RandomNormal, RandomUniform and their -Like forms.

The numbers come from PCG64, seeded with the bits of the attribute ``seed``: the same seed gives the
same values on every run.
Without it every run has a seed of its own.
They are drawn in float64 and rounded to their type once.
The texts promise no more than the distribution; other implementations give other values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .generator_dtype import output_dtype
from .registry import kernel
from .rounding import Array, narrow, wide

Dtype = np.dtype[Any]
FLOAT32 = np.dtype(np.float32)


def _generator(seed: float | None) -> np.random.Generator:
    """Return a generator of its own; its seed is the bit pattern of a float32."""
    bits = None if seed is None else int(np.array(seed, np.float32).view(np.uint32))
    return np.random.Generator(np.random.PCG64(bits))


def _sizes(shape: Sequence[int]) -> tuple[int, ...]:
    if min(shape, default=0) < 0:
        raise ValueError(f"shape is {list(shape)}; sizes >= 0 were wanted")
    return tuple(shape)


def _normal(
    shape: Sequence[int], dtype: Dtype, seed: float | None, mean: float, scale: float
) -> Array:
    """Draw from the normal distribution; raises ``ValueError`` unless ``scale`` is at least 0."""
    if not scale >= 0:
        raise ValueError(f"scale is {scale}; a standard deviation >= 0 was wanted")
    drawn = _generator(seed).standard_normal(_sizes(shape))
    return narrow(mean + scale * drawn, dtype)


def _inside(low: float, high: float, dtype: Dtype) -> tuple[Any, Any]:
    """Return the least and the greatest value of a type in [low, high).

    Where it has none, both are the value nearest to ``low``.
    """
    least, most = (narrow(np.array(bound, np.float64), dtype) for bound in (low, high))
    up, down = (np.array(direction, dtype) for direction in (np.inf, -np.inf))
    first = least if float(least) >= low else np.nextafter(least, up)
    last = most if float(most) < high else np.nextafter(most, down)
    return (first, last) if float(first) <= float(last) else (least, least)


def _uniform(
    shape: Sequence[int], dtype: Dtype, seed: float | None, low: float, high: float
) -> Array:
    """Draw from the uniform distribution over [low, high).

    Rounding may reach ``high``, or fall below a ``low`` that the type does not hold: such values
    become the nearest ones inside, which gives these at most the weight of one step more.
    Raises: ``ValueError`` where the bounds are no finite numbers, or ``high`` is below ``low``.
    """
    if not -np.inf < low <= high < np.inf:
        raise ValueError(f"low is {low}, high is {high}; finite numbers, low <= high, were wanted")
    drawn = low + (high - low) * _generator(seed).random(_sizes(shape))
    rounded = narrow(drawn, dtype)
    first, last = _inside(low, high, dtype)
    return np.where(rounded > last, last, np.where(rounded < first, first, rounded)).astype(dtype)


def _register_normal(version: int) -> None:
    """Register RandomNormal and RandomNormalLike; versions differ in the types they allow."""

    def random_normal(
        *, shape: Sequence[int], dtype: int, seed: float | None, scale: float, mean: float
    ) -> Array:
        element = output_dtype("RandomNormal", version, dtype, FLOAT32)
        return _normal(shape, element, seed, mean, scale)

    def random_normal_like(
        x: Array, /, *, dtype: int | None, seed: float | None, scale: float, mean: float
    ) -> Array:
        element = output_dtype("RandomNormalLike", version, dtype, x.dtype)
        return _normal(x.shape, element, seed, mean, scale)

    kernel("RandomNormal", since_version=version)(random_normal)
    kernel("RandomNormalLike", since_version=version)(random_normal_like)


def _register_uniform(version: int) -> None:
    """Register RandomUniform and RandomUniformLike; versions differ in the types they allow."""

    def random_uniform(
        *, shape: Sequence[int], dtype: int, seed: float | None, high: float, low: float
    ) -> Array:
        element = output_dtype("RandomUniform", version, dtype, FLOAT32)
        return _uniform(shape, element, seed, low, high)

    def random_uniform_like(
        x: Array, /, *, dtype: int | None, seed: float | None, high: float, low: float
    ) -> Array:
        element = output_dtype("RandomUniformLike", version, dtype, x.dtype)
        return _uniform(x.shape, element, seed, low, high)

    kernel("RandomUniform", since_version=version)(random_uniform)
    kernel("RandomUniformLike", since_version=version)(random_uniform_like)


def _register_bernoulli(version: int) -> None:
    """Register Bernoulli; versions differ in the types they allow."""

    def bernoulli(x: Array, /, *, dtype: int | None, seed: float | None) -> Array:
        """Return 1 with the probability that ``x`` gives, else 0, in the shape of ``x``.

        Errors: a probability outside [0, 1], NaN among them; a dtype the schema does not allow.
        Source: Bernoulli-15, "All values in input have to be in the range:[0, 1]."
        """
        element = output_dtype("Bernoulli", version, dtype, x.dtype)
        p = wide(x)
        if not ((p >= 0) & (p <= 1)).all():
            raise ValueError("the input has values outside [0, 1]; probabilities were wanted")
        return (_generator(seed).random(p.shape) < p).astype(element)

    kernel("Bernoulli", since_version=version)(bernoulli)


def _register_multinomial(version: int) -> None:
    """Register Multinomial; versions differ in the types they allow."""

    def multinomial(x: Array, /, *, dtype: int, seed: float | None, sample_size: int) -> Array:
        """Draw outcomes, [batch_size, sample_size], by unnormalised log-probabilities.

        Args: x, of shape [batch_size, class_size]; -infinity is a class that never comes.
        Errors: another shape; no classes; NaN, infinity, or nothing but -infinity in a row.
        Source: Multinomial-7, "the unnormalized log-probability of each corresponding outcome".
        """
        element = output_dtype("Multinomial", version, dtype, FLOAT32)
        if x.ndim != 2 or sample_size < 0:
            raise ValueError(
                f"the input has shape {x.shape} and sample_size is {sample_size}; "
                "[batch_size, class_size] and at least 0 were wanted"
            )
        logits = wide(x)
        highest = logits.max(axis=1, keepdims=True, initial=-np.inf)
        if not np.isfinite(highest).all():
            raise ValueError("a row holds NaN or infinity, or no class with a finite logarithm")
        bounds = np.cumsum(np.exp(logits - highest), axis=1)
        drawn = _generator(seed).random((len(x), sample_size))
        result = np.zeros((len(x), sample_size), element)
        for n, row in enumerate(bounds):
            # Rounding must not lead past the last class that has a probability.
            last = np.searchsorted(row, row[-1], side="left")
            found = np.searchsorted(row, drawn[n] * row[-1], side="right")
            result[n] = np.minimum(found, last)
        return result

    kernel("Multinomial", since_version=version)(multinomial)


_REGISTER: tuple[tuple[Callable[[int], None], tuple[int, ...]], ...] = (
    (_register_normal, (1, 22)),
    (_register_uniform, (1, 22)),
    (_register_bernoulli, (15, 22)),
    (_register_multinomial, (7, 22)),
)
for _register, _versions in _REGISTER:
    for _version in _versions:
        _register(_version)
