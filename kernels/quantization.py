"""QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear.

What the text leaves open, and what is done:

- The quotient is rounded to the type of the scale, or to ``precision``, before it is rounded to an
  integer.
  The text says so from version 23 on; for versions before, an official case of
  DynamicQuantizeLinear decides, where only the quotient in float32 is a tie.
  ``x`` and the scale are not rounded themselves.
  A scale of type int32 or float8e8m0, which hold no quotients, rounds nothing.
- The quotient is rounded to an integer before the zero point is added, so a tie goes to the even
  quotient.
  To float types the sum with the zero point is rounded once.
- NaN counts as 0 where it becomes an integer.
- A scale of one element and rank 1 counts as a scalar.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx

from .registry import kernel
from .rounding import Array, is_float, narrow
from .tensor import axis_of
from .tensor_cast import convert
from .wider import Targets, rounded

Dtype = np.dtype[Any]

_UINT8 = np.dtype(np.uint8)
_FLOAT32 = np.dtype(np.float32)

#: The types of a scale that a quotient is not rounded to.
_NO_PRECISION = frozenset({np.dtype(np.int32), np.dtype(ml_dtypes.float8_e8m0fnu)})

#: The types that ``precision`` may name.
_PRECISIONS: dict[int, Dtype] = {
    onnx.TensorProto.FLOAT: _FLOAT32,
    onnx.TensorProto.DOUBLE: np.dtype(np.float64),
    onnx.TensorProto.FLOAT16: np.dtype(np.float16),
    onnx.TensorProto.BFLOAT16: np.dtype(ml_dtypes.bfloat16),
}

#: The least and the largest values of the types that NumPy does not have.
_SMALL_RANGES = {
    np.dtype(ml_dtypes.int4): (-8, 7),
    np.dtype(ml_dtypes.uint4): (0, 15),
    np.dtype(ml_dtypes.int2): (-2, 1),
    np.dtype(ml_dtypes.uint2): (0, 3),
}


def _range(dtype: Dtype) -> tuple[int, int]:
    if dtype in _SMALL_RANGES:
        return _SMALL_RANGES[dtype]
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def saturated(
    quotient: Array,
    zero_point: Array | None,
    dtype: Dtype,
    *,
    saturate: int = 1,
    fnuz_infinity: bool = False,
) -> Array:
    """Round a float64 quotient, add the zero point, and convert to ``dtype`` within its range.

    Args: saturate, whether 8-bit floats saturate; fnuz_infinity, whether an infinity does so in
    FNUZ types as well, as in Cast-24, or becomes NaN, as in Cast-19.
    """
    zero = np.zeros(()) if zero_point is None else zero_point.astype(np.float64)
    if is_float(dtype):
        # Without a zero point nothing is added: -0 stays what it is.
        total = quotient if zero_point is None else quotient + zero
        return convert(total, dtype, saturate=saturate, saturate_infinity=fnuz_infinity)
    lowest, highest = _range(dtype)
    whole = np.rint(np.where(np.isnan(quotient), 0.0, quotient))
    return np.asarray(np.clip(whole + zero, lowest, highest)).astype(np.int64).astype(dtype)


def _is_scalar(scale: Array) -> bool:
    return scale.ndim == 0 or scale.shape == (1,)


def _same_shape(scale: Array, zero_point: Array | None) -> None:
    """Raise ``ValueError`` unless the zero point has the shape of the scale."""
    if zero_point is None or scale.shape == zero_point.shape:
        return
    if not (_is_scalar(scale) and _is_scalar(zero_point)):
        raise ValueError(
            f"the scale has shape {scale.shape}, the zero point has shape {zero_point.shape}: "
            "they must be the same"
        )


def _spread(values: Array, x: Array, axis: int, block_size: int) -> Array:
    """Return scales or zero points in a shape that broadcasts to ``x``.

    Raises: ``ValueError`` for shapes that are no granularity of the specification.
    """
    if _is_scalar(values):
        return values.reshape(())
    axis = axis_of(axis, x.ndim)
    if block_size < 0:
        raise ValueError(f"block_size is {block_size}: a positive integer was wanted")
    if block_size and values.ndim == x.ndim:
        wanted = list(x.shape)
        wanted[axis] = -(-x.shape[axis] // block_size)
        if values.shape != tuple(wanted):
            raise ValueError(
                f"the scale has shape {values.shape}: for x of shape {x.shape} and blocks of "
                f"{block_size} along axis {axis}, {tuple(wanted)} was wanted"
            )
        return np.take(values, np.arange(x.shape[axis]) // block_size, axis=axis)
    if values.ndim != 1 or len(values) != x.shape[axis]:
        raise ValueError(
            f"the scale has shape {values.shape}: for x of shape {x.shape}, a scalar or "
            f"({x.shape[axis]},), or with block_size the shape of the blocks, was wanted"
        )
    return values.reshape([-1 if i == axis else 1 for i in range(x.ndim)])


def _only_scalar(scale: Array, zero_point: Array | None) -> None:
    """Raise ``ValueError`` for anything but scalars. Source: QuantizeLinear-10."""
    for name, values in (("scale", scale), ("zero point", zero_point)):
        if values is not None and not _is_scalar(values):
            raise ValueError(f"the {name} has shape {values.shape}: a scalar was wanted")


def _quantize(
    x: Array,
    scale: Array,
    zero_point: Array | None,
    dtype: Dtype,
    *,
    axis: int = 0,
    block_size: int = 0,
    precision: int = 0,
    saturate: int = 1,
    fnuz_infinity: bool = False,
) -> Array:
    """Quantize to ``dtype``; ``precision`` names the type of the quotients, or is 0."""
    if precision and precision not in _PRECISIONS:
        raise ValueError(f"precision is {precision}: a float type of 16 bits or more was wanted")
    rounding = _PRECISIONS[precision] if precision else scale.dtype
    _same_shape(scale, zero_point)
    if zero_point is not None:
        zero_point = _spread(zero_point, x, axis, block_size)
    divisor = _spread(scale, x, axis, block_size).astype(np.float64)
    with np.errstate(all="ignore"):
        quotient = np.asarray(x.astype(np.float64) / divisor)
        if rounding not in _NO_PRECISION:
            quotient = narrow(quotient, rounding).astype(np.float64)
    return saturated(quotient, zero_point, dtype, saturate=saturate, fnuz_infinity=fnuz_infinity)


@kernel("QuantizeLinear", since_version=10)
def quantize_linear_10(x: Array, scale: Array, zero_point: Array | None = None, /) -> Array:
    """Quantize with one scale; the type is that of the zero point, or uint8.

    Source: QuantizeLinear-10, "For (x / y_scale), it's rounding to the nearest even".
    """
    _only_scalar(scale, zero_point)
    dtype = _UINT8 if zero_point is None else zero_point.dtype
    return _quantize(x, scale, zero_point, dtype)


@kernel("QuantizeLinear", since_version=13)
def quantize_linear_13(
    x: Array, scale: Array, zero_point: Array | None = None, /, *, axis: int
) -> Array:
    """Quantize with one scale, or one for each index of ``axis``. Source: QuantizeLinear-13."""
    dtype = _UINT8 if zero_point is None else zero_point.dtype
    return _quantize(x, scale, zero_point, dtype, axis=axis)


@kernel("QuantizeLinear", since_version=19)
def quantize_linear_19(
    x: Array, scale: Array, zero_point: Array | None = None, /, *, axis: int, saturate: int
) -> Array:
    """Quantize, also to 8-bit floats, which ``saturate`` or do not as in Cast-19.

    Source: QuantizeLinear-19.
    """
    dtype = _UINT8 if zero_point is None else zero_point.dtype
    return _quantize(x, scale, zero_point, dtype, axis=axis, saturate=saturate)


def _output_dtype(zero_point: Array | None, output_dtype: int, targets: Targets) -> Dtype:
    """Return the type that the zero point and ``output_dtype`` name.

    Raises: ``ValueError`` where they name two, or one that the version does not have.
    """
    given = targets[output_dtype] if output_dtype else None
    if zero_point is None:
        return given if given is not None else _UINT8
    if given is not None and given != zero_point.dtype:
        raise ValueError(
            f"output_dtype is {given}, y_zero_point is {zero_point.dtype}: they must be the same"
        )
    return zero_point.dtype


_targets_21 = Targets("QuantizeLinear", 21)


@kernel("QuantizeLinear", since_version=21)
def quantize_linear_21(
    x: Array,
    scale: Array,
    zero_point: Array | None = None,
    /,
    *,
    axis: int,
    block_size: int,
    output_dtype: int,
    saturate: int,
) -> Array:
    """Quantize with scales for the tensor, for an axis or for blocks.

    Args: scale, a scalar, (Di,), or the shape of ``x`` with ceil(Di / block_size) at ``axis``;
    zero_point, of the same shape.
    Source: QuantizeLinear-21, "three supported quantization granularities".
    """
    dtype = _output_dtype(zero_point, output_dtype, _targets_21)
    return _quantize(
        x, scale, zero_point, dtype, axis=axis, block_size=block_size, saturate=saturate
    )


def _quantize_linear_23(version: int) -> None:
    targets = Targets("QuantizeLinear", version)

    @kernel("QuantizeLinear", since_version=version)
    def run(
        x: Array,
        scale: Array,
        zero_point: Array | None = None,
        /,
        *,
        axis: int,
        block_size: int,
        output_dtype: int,
        precision: int,
        saturate: int,
    ) -> Array:
        """Quantize as before; the quotient is rounded to ``precision`` or the scale's type.

        Source: QuantizeLinear-23, "The type of `y_scale` determines the precision of the division
        operation".
        """
        return _quantize(
            x,
            scale,
            zero_point,
            _output_dtype(zero_point, output_dtype, targets),
            axis=axis,
            block_size=block_size,
            precision=precision,
            saturate=saturate,
            fnuz_infinity=version >= 24,
        )


for _version in (23, 24, 25, 28):
    _quantize_linear_23(_version)


def _dequantize(
    x: Array,
    scale: Array,
    zero_point: Array | None,
    dtype: Dtype,
    *,
    axis: int = 0,
    block_size: int = 0,
) -> Array:
    """Return ``(x - zero_point) * scale``, exactly, and rounded once to ``dtype``."""
    _same_shape(scale, zero_point)
    # 32 bits of the difference and 24 of the scale do not fit into float64.
    difference = x.astype(np.float64).astype(np.longdouble)
    if zero_point is not None:
        if x.dtype == np.int32 and zero_point.any():
            raise ValueError("the zero point of int32 is not 0: there is none for this type")
        spread = _spread(zero_point, x, axis, block_size)
        difference = difference - spread.astype(np.float64)
    factor = _spread(scale, x, axis, block_size).astype(np.float64)
    with np.errstate(all="ignore"):
        return rounded(difference * factor, dtype)


@kernel("DequantizeLinear", since_version=10)
def dequantize_linear_10(x: Array, scale: Array, zero_point: Array | None = None, /) -> Array:
    """Dequantize with one scale.

    Raises: ``ValueError`` for a zero point of type int32 that is not 0.
    Source: DequantizeLinear-10, "In the case of dequantizing int32, there's no zero point".
    """
    _only_scalar(scale, zero_point)
    return _dequantize(x, scale, zero_point, _FLOAT32)


@kernel("DequantizeLinear", since_version=(13, 19))
def dequantize_linear_13(
    x: Array, scale: Array, zero_point: Array | None = None, /, *, axis: int
) -> Array:
    """Dequantize with one scale, or one for each index of ``axis``; its type is the result's.

    Source: DequantizeLinear-19, "'x_scale' still determines the output type".
    """
    return _dequantize(x, scale, zero_point, scale.dtype, axis=axis)


@kernel("DequantizeLinear", since_version=21)
def dequantize_linear_21(
    x: Array, scale: Array, zero_point: Array | None = None, /, *, axis: int, block_size: int
) -> Array:
    """Dequantize with scales for the tensor, for an axis or for blocks.

    Source: DequantizeLinear-21.
    """
    return _dequantize(x, scale, zero_point, scale.dtype, axis=axis, block_size=block_size)


def _dequantize_linear_23(version: int) -> None:
    targets = Targets("DequantizeLinear", version)

    @kernel("DequantizeLinear", since_version=version)
    def run(
        x: Array,
        scale: Array,
        zero_point: Array | None = None,
        /,
        *,
        axis: int,
        block_size: int,
        output_dtype: int,
    ) -> Array:
        """Dequantize to ``output_dtype``, or to the type of the scale where it is 0.

        The product is rounded to the output type once; its factors are not.
        Raises: ``ValueError`` for a scale of type float8e8m0 without ``output_dtype``.
        Source: DequantizeLinear-23, "The output type also determines the precision of the
        multiplication operation".
        """
        if not output_dtype and scale.dtype in _NO_PRECISION:
            raise ValueError("the scale is float8e8m0, no output type: output_dtype is needed")
        dtype = targets[output_dtype] if output_dtype else scale.dtype
        return _dequantize(x, scale, zero_point, dtype, axis=axis, block_size=block_size)


for _version in (23, 24, 25, 28):
    _dequantize_linear_23(_version)


@kernel("DynamicQuantizeLinear", since_version=11)
def dynamic_quantize_linear(x: Array, /) -> tuple[Array, Array, Array]:
    """Quantize to uint8 with the scale and zero point that the range of ``x`` and 0 gives.

    Each step is one of float32, as in the function body.
    Where the range is empty, the scale is 0, as the formula has it, and the zero point and the
    elements, which would be 0 / 0, are 0.

    Returns: the quantized tensor, its scale and its zero point.
    Source: DynamicQuantizeLinear-11, "data range is adjusted to include 0".
    """
    lowest = np.minimum(np.min(x, initial=np.float32(0)), np.float32(0))
    highest = np.maximum(np.max(x, initial=np.float32(0)), np.float32(0))
    with np.errstate(all="ignore"):
        scale = np.float32(np.float32(highest - lowest) / np.float32(255))
        shift = np.float32(0) - np.float32(lowest / scale)
    zero_point = np.rint(np.clip(np.nan_to_num(shift), 0, 255)).astype(np.uint8)
    y = _quantize(x, np.asarray(scale), np.asarray(zero_point), _UINT8)
    return y, np.asarray(scale), np.asarray(zero_point)
