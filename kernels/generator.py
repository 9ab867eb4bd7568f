"""Kernels of Constant and ConstantOfShape; Range is in ``generator_range``."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper

from .registry import kernel
from .rounding import Array
from .tensor import integers


def _only(**attributes: Any) -> tuple[str, Any]:
    """Return the one attribute that is given; raises ``ValueError`` unless there is just one."""
    given = [item for item in attributes.items() if item[1] is not None]
    if len(given) != 1:
        seen = " and ".join(name for name, _ in given) or "none"
        raise ValueError(f"{seen} of {', '.join(attributes)} given; just one was wanted")
    return given[0]


def dense(sparse: onnx.SparseTensorProto) -> Array:
    """Decode a sparse tensor.

    Its indices are positions in the flattened tensor ([NNZ]), or one row of coordinates for each
    value ([NNZ, rank]); all other elements are zero, or empty strings.
    Source: ``SparseTensorProto`` in onnx.proto.
    Errors: an index outside the tensor, indices that do not fit the values.
    """
    values = onnx.numpy_helper.to_array(sparse.values)
    indices = onnx.numpy_helper.to_array(sparse.indices)
    shape = tuple(sparse.dims)
    linear = indices.ndim == 1
    limits = np.array(prod(shape) if linear else shape, np.int64)
    wanted = values.shape if linear else (*values.shape, len(shape))
    if values.ndim != 1 or indices.shape != wanted:
        raise ValueError(
            f"a sparse tensor of shape {shape} has values of shape {values.shape} and indices of "
            f"shape {indices.shape}; [n] and [n] or [n, {len(shape)}] were wanted"
        )
    if ((indices < 0) | (indices >= limits)).any():
        raise ValueError(f"a sparse tensor of shape {shape} has an index outside of it")
    tensor = np.full(shape, "" if values.dtype == object else 0, values.dtype)
    if linear:
        tensor.reshape(-1)[indices] = values
    else:
        tensor[tuple(indices.T)] = values
    return tensor


@kernel("Constant", since_version=(1, 9))
def constant_1(*, value: Array) -> Array:
    """Return the tensor ``value``. Source: Constant-1."""
    return value


@kernel("Constant", since_version=11)
def constant_11(*, sparse_value: onnx.SparseTensorProto | None, value: Array | None) -> Array:
    """Return the tensor of the one attribute that is given.

    Source: Constant-11, "Exactly one of the two attributes".
    """
    name, given = _only(value=value, sparse_value=sparse_value)
    tensor: Array = given if name == "value" else dense(given)
    return tensor


#: The types of the attributes that are no tensors.
_PLAIN = {
    "value_float": np.float32,
    "value_floats": np.float32,
    "value_int": np.int64,
    "value_ints": np.int64,
    "value_string": object,
    "value_strings": object,
}


@kernel("Constant", since_version=(12, 13, 19, 21, 23, 24, 25))
def constant_12(
    *,
    sparse_value: onnx.SparseTensorProto | None,
    value: Array | None,
    value_float: float | None,
    value_floats: list[float] | None,
    value_int: int | None,
    value_ints: list[int] | None,
    value_string: str | None,
    value_strings: list[str] | None,
) -> Array:
    """Return the tensor of the one attribute that is given.

    Returns: of ``value_float``, ``value_int`` and ``value_string`` a 0-d tensor, of the plural a
    1-D one; float32, int64 or strings.
    Source: Constant-12, "Exactly one of the provided attributes".
    """
    name, given = _only(
        value=value,
        sparse_value=sparse_value,
        value_float=value_float,
        value_floats=value_floats,
        value_int=value_int,
        value_ints=value_ints,
        value_string=value_string,
        value_strings=value_strings,
    )
    if name in _PLAIN:
        return np.array(given, _PLAIN[name])
    tensor: Array = given if name == "value" else dense(given)
    return tensor


@kernel("ConstantOfShape", since_version=(9, 20, 21, 23, 24, 25))
def constant_of_shape(shape: Array, /, *, value: Array | None) -> Array:
    """Fill a tensor with the one element of ``value``, by default the float32 0.

    Args: shape, a 1-D int64 tensor of sizes; an empty one gives a 0-d tensor.
    Returns: a tensor of the dtype of ``value``.
    A value of more than one element, or of none, is an error; the text has "should".
    Source: ConstantOfShape-9, "All values must be >= 0."
    """
    dims = integers("the input", shape)
    if min(dims, default=0) < 0:
        raise ValueError(f"the shape {dims} was given; sizes >= 0 were wanted")
    if value is None:
        return np.zeros(dims, np.float32)
    if value.size != 1:
        raise ValueError(f"value has shape {value.shape}; a single element was wanted")
    return np.full(dims, value.reshape(()), value.dtype)
