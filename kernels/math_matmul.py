"""Matrix products: MatMul and Gemm.

Floats up to float32 are multiplied and summed in float64, and rounded once.
Integers are exact modulo the size of their type.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from .math import FLOAT64
from .registry import kernel
from .rounding import Array, narrow, wide


@kernel("MatMul", since_version=(1, 9, 13))
def matmul(a: Array, b: Array, /) -> Array:
    """Multiply matrices, or stacks of them, as ``numpy.matmul`` does.

    Args: a, of shape (..., M, K) or (K,); b, of shape (..., K, N) or (K,).
    Returns: shape (..., M, N); a 1-D input drops its M or N.
    Raises: ``ValueError`` for scalars and for shapes that do not fit.
    Source: MatMul-13, "behaves like numpy.matmul".
    """
    if not (a.ndim and b.ndim):
        raise ValueError(f"A has shape {a.shape}, B has shape {b.shape}: neither may be a scalar")
    inner = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] != inner:
        raise ValueError(
            f"A has shape {a.shape}, B has shape {b.shape}: "
            f"the inner dimensions {a.shape[-1]} and {inner} must be the same"
        )
    return _product(a, b)


@kernel("Gemm", since_version=(11, 13))
def gemm_11(
    a: Array,
    b: Array,
    c: Array | None = None,
    /,
    *,
    alpha: float,
    beta: float,
    transA: int,  # noqa: N803 - the schema's name
    transB: int,  # noqa: N803 - the schema's name
) -> Array:
    """Compute ``alpha * A' * B' + beta * C``; without C it counts as a scalar 0.

    See ``gemm_7``.
    Source: Gemm-11.
    """
    return _gemm(a.T if transA else a, b.T if transB else b, c, alpha, beta)


@kernel("Gemm", since_version=(7, 9))
def gemm_7(
    a: Array,
    b: Array,
    c: Array,
    /,
    *,
    alpha: float,
    beta: float,
    transA: int,  # noqa: N803 - the schema's name
    transB: int,  # noqa: N803 - the schema's name
) -> Array:
    """Compute ``alpha * A' * B' + beta * C``.

    The formula is taken by its word: a NaN in C makes NaN even where ``beta`` is 0.
    For integers the text does not say how the real factors act.
    Here the exact value is rounded towards zero, then wrapped around.

    Args: a, (M, K), or (K, M) with ``transA``; b, (K, N), or (N, K) with ``transB``;
        c, of a shape that broadcasts to (M, N).
    Returns: shape (M, N).
    Raises: ``ValueError`` for shapes that do not fit.
    Source: Gemm-9, "unidirectional broadcasting".
    """
    return _gemm(a.T if transA else a, b.T if transB else b, c, alpha, beta)


@kernel("Gemm", since_version=(1, 6))
def gemm_1(
    a: Array,
    b: Array,
    c: Array,
    /,
    *,
    alpha: float,
    beta: float,
    broadcast: int,
    transA: int,  # noqa: N803 - the schema's name
    transB: int,  # noqa: N803 - the schema's name
) -> Array:
    """Compute ``alpha * A * B + beta * C``; C is broadcast only where ``broadcast`` is non-zero.

    The text does not say by which rules C is "broadcasted to match the dimension requirement".
    Here they are those of version 7, which include all that Add-6 allows without ``axis``.
    Source: Gemm-6.
    """
    a = a.T if transA else a
    b = b.T if transB else b
    if not broadcast and c.shape != (a.shape[:1] + b.shape[1:]):
        raise ValueError(
            f"C has shape {c.shape}, the product has shape {a.shape[:1] + b.shape[1:]}: "
            "without the attribute broadcast=1 they must be the same"
        )
    return _gemm(a, b, c, alpha, beta)


def _product(a: Array, b: Array) -> Array:
    """Multiply matrices whose shapes fit, in float64 or in the integer type itself."""
    if a.dtype.kind in "iu" or a.dtype == FLOAT64:
        return np.asarray(np.matmul(a, b))
    return narrow(np.matmul(wide(a), wide(b)), a.dtype)


def _gemm(a: Array, b: Array, c: Array | None, alpha: float, beta: float) -> Array:
    """Compute ``alpha * a * b + beta * c`` for matrices that are transposed already."""
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
        raise ValueError(
            f"A' has shape {a.shape}, B' has shape {b.shape}: "
            "they must be two matrices (M, K) and (K, N)"
        )
    shape = a.shape[0], b.shape[1]
    if c is not None and not _broadcasts(c.shape, shape):
        raise ValueError(f"C has shape {c.shape}, which does not broadcast to {shape}")
    if a.dtype.kind in "iu":
        return _integer_gemm(a, b, c, alpha, beta)
    result = np.matmul(wide(a), wide(b))
    if alpha != 1:
        result = result * alpha
    if c is not None:
        result = result + (wide(c) if beta == 1 else wide(c) * beta)
    return narrow(result, a.dtype)


def _broadcasts(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Tell whether a shape is unidirectionally broadcastable to the wanted one."""
    ends = zip(reversed(shape), reversed(wanted), strict=False)
    return len(shape) <= len(wanted) and all(n in (1, m) for n, m in ends)


def _integer_gemm(a: Array, b: Array, c: Array | None, alpha: float, beta: float) -> Array:
    """Compute integers modulo 2^n; with broken factors exactly, then rounded towards zero."""
    if alpha == 1 and (c is None or beta == 1):
        product: Array = np.matmul(a, b)
        return product if c is None else np.add(product, c)
    exact = np.matmul(a.astype(object), b.astype(object)) * Fraction(alpha)
    if c is not None:
        exact = exact + c.astype(object) * Fraction(beta)
    # The sum of an empty K is the integer 0: int() takes it as well as a Fraction.
    mask = 2 ** (8 * a.dtype.itemsize) - 1
    wrapped = [int(value) & mask for value in exact.flat]
    return np.array(wrapped, dtype=np.uint64).astype(a.dtype).reshape(exact.shape)
