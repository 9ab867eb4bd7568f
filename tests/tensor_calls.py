"""What the tests of the tensor kernels share: calls with the schema's defaults, and tensors."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import onnx.defs

import opcheck.kernels  # noqa: F401 - registers the kernels
from opcheck.kernels import registry
from opcheck.kernels.compiler import attribute_value

NAMES = {
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
    "float4e2m1": "float4_e2m1fn",
    "float": "float32",
    "double": "float64",
    "string": "object",
}


def call(operator: str, version: int, *inputs: Any, **attributes: Any) -> Any:
    """Call a kernel as the evaluator does; no input may change."""
    schema = onnx.defs.get_schema(operator, version, "")
    assert schema.since_version == version
    defaults = {n: a.default_value for n, a in schema.attributes.items()}
    filled = {n: attribute_value(d) if d.type else None for n, d in defaults.items()}
    before = [None if x is None else as_key(x) for x in inputs]
    with np.errstate(all="ignore"):
        result = registry.find(schema).function(*inputs, **(filled | attributes))
    assert [None if x is None else as_key(x) for x in inputs] == before
    return result


def as_key(x: Any) -> Any:
    """Return what tells a tensor from others: dtype, shape and bits."""
    assert isinstance(x, np.ndarray)
    data = x.reshape(-1).tolist() if x.dtype.kind == "O" else x.tobytes()
    return x.dtype, x.shape, data


def assert_same(seen: Any, wanted: Any) -> None:
    """Hold two tensors against each other: dtype, shape, and every bit."""
    assert as_key(seen) == as_key(wanted)


def dtypes(operator: str, version: int, parameter: str = "T") -> list[np.dtype[Any]]:
    """Return the dtypes that a schema allows for a type parameter."""
    constraints = onnx.defs.get_schema(operator, version, "").type_constraints
    (types,) = [c.allowed_type_strs for c in constraints if c.type_param_str == parameter]
    names = [t.removeprefix("tensor(").removesuffix(")") for t in types]
    names = [NAMES.get(n, n) for n in names]
    return [np.dtype(getattr(ml_dtypes, n, n)) for n in names]


def versions(*operators: str) -> list[tuple[str, int]]:
    """Return every operator and since_version of the named operators."""
    schemas = [s for s in onnx.defs.get_all_schemas_with_history() if not s.domain]
    return sorted((s.name, s.since_version) for s in schemas if s.name in operators)


def filled(shape: tuple[int, ...], dtype: Any = np.float32) -> Any:
    """Return a tensor whose elements differ as far as the dtype can hold different ones."""
    dtype = np.dtype(dtype)
    count = math.prod(shape)
    if dtype.kind == "O":
        strings = np.empty(count, object)
        strings[:] = [f"é{i}" * (i % 3) for i in range(count)]
        return strings.reshape(shape)
    if dtype.kind == "c":
        return (np.arange(count) - 1j * np.arange(3, count + 3)).astype(dtype).reshape(shape)
    limit = {"uint2": 4, "int2": 2, "int4": 8, "bool": 2}.get(dtype.name, 16)
    return ((np.arange(count) * 7 + 1) % limit).astype(np.float32).astype(dtype).reshape(shape)


def ints(*values: Any, dtype: Any = np.int64) -> Any:
    """Return a tensor of integers; a single list keeps its nesting."""
    return np.array(values[0] if len(values) == 1 else values, dtype)
