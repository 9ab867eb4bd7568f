"""The type that sums, means and recurrences are computed in, and the one rounding at their end."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.helper

from .math import FLOAT64
from .rounding import Array, narrow

Dtype = np.dtype[Any]

LONGDOUBLE = np.dtype(np.longdouble)

#: The float types that arithmetic may be asked to take place in.
_PRECISIONS = frozenset(
    {
        onnx.TensorProto.FLOAT,
        onnx.TensorProto.FLOAT16,
        onnx.TensorProto.DOUBLE,
        onnx.TensorProto.BFLOAT16,
    }
)


def widest(*tensors: Array | None) -> Dtype:
    """Return the type to compute in: ``numpy.longdouble`` where a float64 takes part, or float64.

    Where ``numpy.longdouble`` is no wider than float64, float64 results are as good as plain sums.
    """
    some_double = any(x is not None and x.dtype == FLOAT64 for x in tensors)
    return LONGDOUBLE if some_double else FLOAT64


def settle(x: Array, dtype: Dtype) -> Array:
    """Round what was computed in a ``widest`` type to a float type, once."""
    if x.dtype == LONGDOUBLE and dtype != FLOAT64:
        x = x.astype(np.float64)
    return narrow(x, dtype)


def precision(number: int, name: str) -> Dtype:
    """Return the dtype of an attribute that names a precision, as ``stash_type`` does.

    Raises: ``ValueError`` for anything but float16, bfloat16, float32 and float64.
    """
    if number not in _PRECISIONS:
        raise ValueError(
            f"{name} is {number}: it must be 1 (float), 10 (float16), 11 (double) or 16 (bfloat16)"
        )
    return np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number))


def check_shape(x: Array, shape: tuple[int, ...], name: str) -> None:
    """Raise ``ValueError`` where a tensor does not have the shape that is wanted."""
    if x.shape != shape:
        raise ValueError(f"{name} has shape {x.shape}: it must be {shape}")
