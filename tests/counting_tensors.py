"""The tensors of the tests of Loop and Scan: a shape and small whole numbers.

What the numbers stand for in an element type is decided at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import onnx.defs
from onnx import TensorProto, helper


@dataclass(frozen=True)
class Tensor:
    """A tensor: a shape, and a small whole number at each index."""

    shape: tuple[int, ...]
    items: dict[tuple[int, ...], int]


def counting(shape: tuple[int, ...], first: int = 0) -> Tensor:
    """Return a tensor whose elements count up."""
    return Tensor(shape, {index: first + k for k, index in enumerate(product(*map(range, shape)))})


def value(item: int, dtype: np.dtype[Any]) -> Any:
    """Say what a whole number stands for."""
    if dtype == np.dtype(object):
        return f"é{item}" * (item % 3)
    if dtype.name == "float8_e8m0fnu":
        return 2.0 ** (item % 8)
    bound = {"bool": 2, "int2": 2, "uint2": 4, "float4_e2m1fn": 4, "int4": 8}.get(dtype.name, 16)
    return (item % bound) * (1 - 2j) if dtype.kind == "c" else item % bound


def array(tensor: Tensor, dtype: np.dtype[Any]) -> Any:
    """Return what a tensor stands for; what has no item in it is zero."""
    result = np.zeros(tensor.shape, dtype)
    for index, item in tensor.items.items():
        result[index] = np.array(value(item, dtype)).astype(dtype)[()]
    return result


def dtype_of(element: int) -> np.dtype[Any]:
    """Return the dtype of an element type."""
    return np.dtype(helper.tensor_dtype_to_np_dtype(element))


def tensor_types(operator: str, opset: int, parameter: str) -> set[int]:
    """Return the element types that an operator allows for tensors, by their numbers."""
    constraints = onnx.defs.get_schema(operator, opset, "").type_constraints
    (allowed,) = [c.allowed_type_strs for c in constraints if c.type_param_str == parameter]
    names = [t[len("tensor(") : -1] for t in allowed if t.startswith("tensor(")]
    names = [{"float": "FLOAT", "double": "DOUBLE"}.get(n, n.upper()) for n in names]
    return {TensorProto.DataType.Value(n) for n in names}
