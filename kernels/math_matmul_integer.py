"""Matrix products of quantized values: MatMulInteger and QLinearMatMul.

A zero point, or scale, is a scalar, or has one element for each row of ``A`` or column of ``B``:
shape (M,) or (N,) for matrices, otherwise (..., M, 1) or (..., 1, N).
A tensor of one element counts as a scalar.
"""

from __future__ import annotations

import numpy as np

from .math_matmul import matmul
from .quantization import saturated
from .registry import kernel
from .rounding import Array


def _spread(name: str, values: Array, x: Array, *, rows: bool) -> Array:
    """Return a zero point or scale in a shape that broadcasts to ``x``.

    Raises: ``ValueError`` for a shape that the text does not name.
    """
    if values.size == 1 and values.ndim <= max(x.ndim, 1):
        return values.reshape(())
    if x.ndim == 2 and values.shape == (x.shape[0 if rows else 1],):
        return values[:, None] if rows else values
    if x.ndim >= 2:
        wanted = (*x.shape[:-1], 1) if rows else (*x.shape[:-2], 1, x.shape[-1])
        if values.shape == wanted:
            return values
    each = "row" if rows else "column"
    raise ValueError(
        f"{name} has shape {values.shape}, the matrix has shape {x.shape}: "
        f"a scalar or one element for each {each} was wanted"
    )


def _centred(name: str, x: Array, zero_point: Array | None, *, rows: bool) -> Array:
    """Subtract the zero point; integers stay exact, in int64."""
    dtype = np.int64 if x.dtype.kind in "iu" else np.float64
    if zero_point is None:
        return x.astype(dtype)
    spread = _spread(name, zero_point, x, rows=rows)
    return np.asarray(x.astype(dtype) - spread.astype(dtype))


@kernel("MatMulInteger", since_version=10)
def matmul_integer(
    a: Array, b: Array, a_zero_point: Array | None = None, b_zero_point: Array | None = None, /
) -> Array:
    """Multiply matrices of 8-bit integers, or stacks of them, less their zero points.

    Args: a, (..., M, K) or (K,); b, (..., K, N) or (K,); a_zero_point, b_zero_point, see the top.
    Returns: int32; a sum that does not fit wraps around.
    Raises: ``ValueError`` for shapes that do not fit.
    Source: MatMulInteger-10, "The production MUST never overflow. The accumulation may overflow if
    and only if in 32 bits".
    """
    left = _centred("a_zero_point", a, a_zero_point, rows=True)
    right = _centred("b_zero_point", b, b_zero_point, rows=False)
    return matmul(left, right).astype(np.int32)


@kernel("QLinearMatMul", since_version=(10, 21))
def qlinear_matmul(
    a: Array,
    a_scale: Array,
    a_zero_point: Array,
    b: Array,
    b_scale: Array,
    b_zero_point: Array,
    y_scale: Array,
    y_zero_point: Array,
    /,
) -> Array:
    """Multiply quantized matrices, and quantize the product.

    The text names no precision: the products are summed exactly, and scaled in float64.
    The quotient is rounded before the zero point is added, so that a tie goes to the even quotient.
    8-bit floats, of version 21, are rounded once, after the zero point was added, and saturate.

    Args: a, (..., M, K) or (K,); b, (..., K, N) or (K,); scales and zero points of both, see the
    top; those of y are scalars.
    Returns: the type of ``y_zero_point``.
    Raises: ``ValueError`` for shapes that do not fit.
    Source: QLinearMatMul-21, "For (x / y_scale), it is rounding to nearest ties to even".
    """
    for name, scale, zero_point in (
        ("a", a_scale, a_zero_point),
        ("b", b_scale, b_zero_point),
        ("y", y_scale, y_zero_point),
    ):
        if scale.shape != zero_point.shape and not scale.size == zero_point.size == 1:
            raise ValueError(
                f"{name}_scale has shape {scale.shape}, {name}_zero_point has shape "
                f"{zero_point.shape}: they must be the same"
            )
    if y_scale.size != 1:
        raise ValueError(f"y_scale has shape {y_scale.shape}: a scalar was wanted")
    left = _centred("a_zero_point", a, a_zero_point, rows=True)
    right = _centred("b_zero_point", b, b_zero_point, rows=False)
    a_factor = _spread("a_scale", a_scale, a, rows=True).astype(np.float64)
    b_factor = _spread("b_scale", b_scale, b, rows=False).astype(np.float64)
    if a_factor.ndim > 2 and b.ndim == 1:
        a_factor = a_factor[..., 0]
    elif a_factor.ndim == 2 and b.ndim == 1:
        a_factor = a_factor[:, 0]
    if b_factor.ndim > 1 and a.ndim == 1:
        b_factor = b_factor[..., 0, :]
    real = matmul(left, right).astype(np.float64) * (a_factor * b_factor)
    with np.errstate(all="ignore"):
        quotient = real / y_scale.reshape(()).astype(np.float64)
    zero_point = y_zero_point.reshape(())
    return saturated(quotient, zero_point, zero_point.dtype, fnuz_infinity=True)
