"""What the tests of all kernels share: calls with the schema's defaults, types and versions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx.defs
import pytest

from opcheck.kernels import registry
from opcheck.kernels.compiler import attribute_value

#: The names of dtypes where the type strings of the schemas have others.
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


def dtype_of(name: str) -> np.dtype[Any]:
    """Return a dtype by its name, also one that NumPy lacks."""
    return np.dtype(getattr(ml_dtypes, name, name))


def array(data: Any, name: str) -> Any:
    """Return a tensor of a dtype."""
    return np.array(data, dtype_of(name))


def function(operator: str, version: int) -> Callable[..., Any]:
    """Return a kernel as it is, without the defaults of its attributes."""
    schema = onnx.defs.get_schema(operator, version, "")
    assert schema.since_version == version
    return registry.find(schema).function


def call(operator: str, version: int, *inputs: Any, domain: str = "", **attributes: Any) -> Any:
    """Call a kernel with the defaults of its schema; no input may change."""
    schema = onnx.defs.get_schema(operator, version, domain)
    assert schema.since_version == version
    defaults = {n: a.default_value for n, a in schema.attributes.items()}
    filled = {n: attribute_value(d) if d.type else None for n, d in defaults.items()}
    before = as_key(inputs)
    result = registry.find(schema).function(*inputs, **(filled | attributes))
    assert as_key(inputs) == before
    return result


def as_key(x: Any) -> Any:
    """Return what tells a value from others; of a tensor the dtype, the shape and the bits."""
    if isinstance(x, np.ndarray | np.generic):
        return x.dtype, x.shape, x.reshape(-1).tolist() if x.dtype.kind == "O" else x.tobytes()
    if isinstance(x, list | tuple):
        return type(x), [as_key(item) for item in x]
    if isinstance(x, dict):
        return {name: as_key(item) for name, item in x.items()}
    return x


def schemas(*operators: str) -> list[onnx.defs.OpSchema]:
    """Return every schema of the named operators."""
    found = onnx.defs.get_all_schemas_with_history()
    found = [s for s in found if not s.domain and s.name in operators]
    return sorted(found, key=lambda s: (s.name, s.since_version))


def versions(*operators: str) -> list[tuple[str, int]]:
    """Return every (operator, since_version) of the named operators."""
    return [(s.name, s.since_version) for s in schemas(*operators)]


def types(operator: str, version: int) -> list[str]:
    """Return the names of the dtypes that a schema allows for its first type parameter."""
    constraints = onnx.defs.get_schema(operator, version, "").type_constraints
    return [NAMES.get(e, e) for e in elements(constraints[0].allowed_type_strs)]


def dtypes(operator: str, version: int, parameter: str = "T") -> list[np.dtype[Any]]:
    """Return the dtypes of the tensors that a schema allows for a type parameter."""
    constraints = onnx.defs.get_schema(operator, version, "").type_constraints
    (allowed,) = [c.allowed_type_strs for c in constraints if c.type_param_str == parameter]
    return [dtype_of(NAMES.get(e, e)) for e in elements(allowed)]


def elements(allowed: Sequence[str]) -> list[str]:
    """Return the element types of the tensors among the types that a schema allows."""
    return [t.removeprefix("tensor(").removesuffix(")") for t in allowed if t[:7] == "tensor("]


def versions_and_types(operator: str) -> list[Any]:
    """Return a parameter set of each since_version with each dtype of its first type parameter."""
    return [
        pytest.param(s.since_version, NAMES.get(e, e), id=f"{s.since_version}-{e}")
        for s in schemas(operator)
        for e in elements(s.type_constraints[0].allowed_type_strs)
    ]


def wrapped(value: int, name: str) -> int:
    """Return an integer modulo the size of an integer type."""
    info = np.iinfo(name)
    return (value - info.min) % 2**info.bits + info.min


def ordinary(shape: Any, name: str, seed: int) -> Any:
    """Return a tensor of normally distributed numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype_of(name))


def grid(sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Return all indices of a tensor in row-major order."""
    return itertools.product(*(range(size) for size in sizes))
