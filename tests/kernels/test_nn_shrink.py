"""Shrink, held against its text in the numbers of Python."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import onnx.defs
import pytest

import opcheck.kernels  # noqa: F401 - registers the kernels
from opcheck.kernels import registry
from opcheck.kernels.compiler import attribute_value

INF, NAN = math.inf, math.nan


@pytest.fixture(autouse=True, scope="module")
def no_warnings():
    with np.errstate(all="ignore"):
        yield


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def call(operator, version, *inputs, **attributes):
    """Call a kernel with the defaults of the schema; no input may change."""
    schema = onnx.defs.get_schema(operator, version, "")
    assert schema.since_version == version
    defaults = {n: a.default_value for n, a in schema.attributes.items()}
    filled = {n: attribute_value(d) if d.type else None for n, d in defaults.items()}
    before = [x.tobytes() for x in inputs]
    result = np.asarray(registry.find(schema).function(*inputs, **(filled | attributes)))
    assert [x.tobytes() for x in inputs] == before
    assert result.dtype == inputs[0].dtype
    return result


def versions(*operators):
    """Return every (operator, since_version) of the named operators."""
    schemas = [s for s in onnx.defs.get_all_schemas_with_history() if not s.domain]
    return sorted((s.name, s.since_version) for s in schemas if s.name in operators)


def types(operator, version):
    """Return the names of the dtypes that the schema allows."""
    names = onnx.defs.get_schema(operator, version, "").type_constraints[0].allowed_type_strs
    names = [name.removeprefix("tensor(").removesuffix(")") for name in names]
    return [{"float": "float32", "double": "float64"}.get(name, name) for name in names]


def shrunk(x, lambd, bias):
    """Return the exact number that the text gives."""
    if x < -lambd:
        return Fraction(x) + Fraction(bias)
    return Fraction(x) - Fraction(bias) if x > lambd else Fraction(0)


def test_its_version_is_registered():
    assert {("", *key) for key in versions("Shrink")} <= registry.registered()


@pytest.mark.parametrize(
    ("lambd", "bias"), [(0.5, 0.0), (1.5, 1.5), (0.0, 1.0), (-1.0, 2.0), (2.0, -0.25), (1.0, 5.0)]
)
def test_every_type(lambd, bias):
    """Integers are rounded towards zero, and wrap around."""
    for name in types("Shrink", 9):
        if dtype_of(name).kind == "f":
            x = np.array([-2.5, -1.5, -1.0, -0.25, 0.0, 0.25, 1.0, 1.5, 300.0], name)
            got = call("Shrink", 9, x, lambd=lambd, bias=bias)
            assert got.tolist() == [float(shrunk(v, lambd, bias)) for v in x.tolist()]
            continue
        info = np.iinfo(name)
        x = np.array([[info.min, info.max, 0], [1, 2, 3]], name)
        got = call("Shrink", 9, x, lambd=lambd, bias=bias)
        wanted = [int(shrunk(v, lambd, bias)) for v in x.ravel().tolist()]
        assert got.shape == (2, 3)
        assert got.ravel().tolist() == [(w - info.min) % 2**info.bits + info.min for w in wanted]


def test_nan_and_infinities():
    """NaN is neither below nor above."""
    got = call("Shrink", 9, np.array([NAN, INF, -INF, -0.0], np.float32), bias=1.0)
    assert got.tolist() == [0, INF, -INF, 0]
    assert not np.signbit(got[[0, 3]]).any()


def test_an_infinite_bias_has_no_integer():
    with pytest.raises(ValueError, match="must be finite"):
        call("Shrink", 9, np.ones(2, np.int8), bias=INF)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3)])
def test_shapes_stay(shape):
    for name in ("float16", "uint8"):
        assert call("Shrink", 9, np.ones(shape, name)).shape == shape
