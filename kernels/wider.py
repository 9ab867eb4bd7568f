"""Shared by kernels that compute wide: the wider type, scalars, types named by an attribute."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.defs
import onnx.helper

from .math import FLOAT64
from .rounding import Array, narrow, wide
from .valuetype import ELEMENT_NAMES

#: The types that ``numpy.longdouble`` is rounded to in one step.
_DIRECT = frozenset({np.dtype(np.float32), FLOAT64, np.dtype(np.longdouble)})

_NUMBERS = {name: number for number, name in ELEMENT_NAMES.items()}


def widest(x: Array) -> Array:
    """Return floats in the type their results are computed in: float64, or longer for float64."""
    return x.astype(np.longdouble) if x.dtype == FLOAT64 else wide(x)


def rounded(x: Any, dtype: np.dtype[Any]) -> Array:
    """Round what was computed from ``widest`` values to a float type of any size, once."""
    x = np.asarray(x)
    if dtype in _DIRECT or x.dtype == FLOAT64:
        return narrow(x, dtype)
    return narrow(_to_float64_odd(x), dtype)


def _to_float64_odd(x: Array) -> Array:
    """Round to float64 towards an odd last bit where it is inexact, so that the next step decides.

    Smaller types come from ``numpy.longdouble`` by way of float64.
    """
    with np.errstate(all="ignore"):
        nearest = x.astype(np.float64)
        even = (nearest.view(np.int64) & 1) == 0
        move = even & (nearest != x) & np.isfinite(x) & np.isfinite(nearest)
        towards = np.where(x > nearest, np.inf, -np.inf)
        return np.where(move, np.nextafter(nearest, towards), nearest)


def scalar(name: str, tensor: Array) -> int:
    """Return the one integer of a tensor; raises ``ValueError`` unless there is just one.

    Where a text says "scalar", a tensor of shape [1] is taken as well.
    """
    if tensor.size != 1:
        raise ValueError(f"{name} has shape {tensor.shape}: a scalar was wanted")
    return int(tensor.item())


class Targets:
    """The element types of the first output of a schema version, by their number."""

    def __init__(self, operator: str, version: int) -> None:
        output = onnx.defs.get_schema(operator, version).outputs[0]
        names = [t.removeprefix("tensor(").removesuffix(")") for t in output.types]
        self._dtypes = {
            _NUMBERS[n]: np.dtype(onnx.helper.tensor_dtype_to_np_dtype(_NUMBERS[n])) for n in names
        }

    def __getitem__(self, number: int) -> np.dtype[Any]:
        """Return the dtype; raises ``ValueError`` for a type that the schema does not allow."""
        try:
            return self._dtypes[number]
        except KeyError:
            wanted = ", ".join(ELEMENT_NAMES[n] for n in sorted(self._dtypes))
            seen = ELEMENT_NAMES.get(number, str(number))
            raise ValueError(f"the output type is {seen}: one of {wanted} was wanted") from None
