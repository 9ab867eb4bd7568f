"""Constant and ConstantOfShape."""

import itertools
import math

import ml_dtypes
import numpy as np
import onnx
import onnx.defs
import onnx.helper
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernel_calls
from opcheck.kernels import generator

VERSIONS = {
    operator: sorted(
        s.since_version
        for s in onnx.defs.get_all_schemas_with_history()
        if s.name == operator and not s.domain
    )
    for operator in ("Constant", "ConstantOfShape")
}
NUMBERS = dict(onnx.TensorProto.DataType.items())
PLAIN = {
    "value_float": (1.5, np.array(1.5, np.float32)),
    "value_floats": ([0.5, -2.0], np.array([0.5, -2.0], np.float32)),
    "value_int": (-(2**63), np.array(-(2**63), np.int64)),
    "value_ints": ([2**53 + 1, 0], np.array([2**53 + 1, 0], np.int64)),
    "value_string": ("é", np.array("é", object)),
    "value_strings": (["a", "", "é"], np.array(["a", "", "é"], object)),
}


def call(operator, version, *inputs, **attributes):
    assert kernel_calls.function(operator, version).__module__ == generator.__name__
    return kernel_calls.call(operator, version, *inputs, **attributes)


def assert_same(seen, wanted):
    assert isinstance(seen, np.ndarray)
    assert seen.dtype == wanted.dtype
    assert seen.shape == wanted.shape
    assert seen.reshape(-1).tolist() == wanted.reshape(-1).tolist()


def output_dtypes(operator, version):
    names = onnx.defs.get_schema(operator, version, "").outputs[0].types
    for name in sorted(names):
        text = name.removeprefix("tensor(").removesuffix(")")
        number = NUMBERS[{"float": "FLOAT", "double": "DOUBLE"}.get(text, text.upper())]
        yield np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number))


def ones(shape, dtype):
    if dtype == np.dtype(object):
        return np.full(shape, "é", object)
    return np.ones(shape, np.float32).astype(dtype)


# --- Constant -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS["Constant"])
def test_constant_returns_a_tensor_of_every_type(version):
    for dtype in output_dtypes("Constant", version):
        for shape in ((), (2, 0), (2, 1)):
            value = ones(shape, dtype)
            assert_same(call("Constant", version, value=value), value)


@pytest.mark.parametrize("version", [v for v in VERSIONS["Constant"] if v >= 12])
@pytest.mark.parametrize("name", PLAIN)
def test_constant_of_plain_values(version, name):
    given_value, wanted = PLAIN[name]
    result = call("Constant", version, **{name: given_value})
    assert_same(result, wanted)
    assert all(type(a) is type(b) for a, b in zip(result.flat, wanted.flat, strict=True))


@pytest.mark.parametrize("name", ["value_floats", "value_ints", "value_strings"])
def test_constant_of_empty_lists(name):
    assert_same(call("Constant", 13, **{name: []}), np.empty((0,), PLAIN[name][1].dtype))


@pytest.mark.parametrize("version", [v for v in VERSIONS["Constant"] if v >= 11])
def test_constant_wants_just_one_attribute(version):
    value = np.zeros(2, np.float32)
    names = ["value", "sparse_value", *(PLAIN if version >= 12 else ())]
    values = {"value": value, "sparse_value": sparse([2], [1.0], [0])}
    values |= {name: given_value for name, (given_value, _) in PLAIN.items()}
    with pytest.raises(ValueError, match=r"^none of value, .*just one was wanted"):
        call("Constant", version)
    for pair in itertools.combinations(names, 2):
        with pytest.raises(ValueError, match=f"^{' and '.join(pair)} of value, "):
            call("Constant", version, **{name: values[name] for name in pair})


def sparse(shape, values, indices, dtype=onnx.TensorProto.FLOAT):
    """Return a sparse tensor; indices are a list of positions or of coordinates."""
    rows = np.array(indices, np.int64).reshape(len(values), -1) if indices else np.zeros((0,))
    linear = not indices or not isinstance(indices[0], (list, tuple))
    dims = [len(values)] if linear else list(rows.shape)
    return onnx.helper.make_sparse_tensor(
        onnx.helper.make_tensor("v", dtype, [len(values)], values),
        onnx.helper.make_tensor("i", onnx.TensorProto.INT64, dims, rows.astype(int).ravel()),
        shape,
    )


@settings(deadline=None, max_examples=150)
@given(
    st.data(),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.booleans(),
    st.sampled_from([v for v in VERSIONS["Constant"] if v >= 11]),
)
def test_constant_of_a_sparse_tensor(data, shape, linear, version):
    every = list(itertools.product(*map(range, shape)))
    picked = sorted(data.draw(st.lists(st.sampled_from(every), unique=True)))
    values = [float(i + 1) for i in range(len(picked))]
    positions = [every.index(index) for index in picked] if linear else picked
    proto = sparse(shape, values, positions)
    found = dict(zip(picked, values, strict=True))
    wanted = np.array([found.get(index, 0.0) for index in every], np.float32).reshape(shape)
    assert_same(call("Constant", version, sparse_value=proto), wanted)


def test_sparse_tensors_of_other_types():
    text = sparse([2, 2], ["x"], [(1, 0)], onnx.TensorProto.STRING)
    wanted = np.array([["", ""], ["x", ""]], object)
    assert_same(call("Constant", 13, sparse_value=text), wanted)
    number = sparse([3], [-7], [2], onnx.TensorProto.INT64)
    assert_same(call("Constant", 13, sparse_value=number), np.array([0, 0, -7], np.int64))


@pytest.mark.parametrize(
    ("shape", "values", "indices", "match"),
    [
        ([2, 2], [1.0], [4], "has an index outside of it"),
        ([2, 2], [1.0], [-1], "has an index outside of it"),
        ([2, 2], [1.0], [(0, 2)], "has an index outside of it"),
        ([2, 2], [1.0], [(-1, 0)], "has an index outside of it"),
        ([2, 2], [1.0], [(0, 0, 0)], r"indices of shape \(1, 3\)"),
    ],
)
def test_a_sparse_tensor_that_does_not_fit(shape, values, indices, match):
    with pytest.raises(ValueError, match=match):
        call("Constant", 13, sparse_value=sparse(shape, values, indices))


# --- ConstantOfShape ------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS["ConstantOfShape"])
def test_constant_of_shape_of_every_type(version):
    for dtype in output_dtypes("ConstantOfShape", version):
        for dims, one in itertools.product([(), (0,), (2, 3), (2, 0, 3)], [(), (1,), (1, 1)]):
            result = call(
                "ConstantOfShape", version, np.array(dims, np.int64), value=ones(one, dtype)
            )
            assert result.dtype == dtype
            assert result.shape == dims
            assert result.astype(np.float64).reshape(-1).tolist() == [1.0] * math.prod(dims)


@pytest.mark.parametrize("version", VERSIONS["ConstantOfShape"])
def test_constant_of_shape_is_a_float_zero_by_default(version):
    result = call("ConstantOfShape", version, np.array([2, 1], np.int64))
    assert_same(result, np.array([[0.0], [0.0]], np.float32))


def test_constant_of_shape_keeps_the_bits_of_its_value():
    value = np.array([0x7FC1, 0x8000], np.uint16).view(ml_dtypes.bfloat16)
    for i, pattern in enumerate((0x7FC1, 0x8000)):
        result = call("ConstantOfShape", 20, np.array([3], np.int64), value=value[i : i + 1])
        assert result.view(np.uint16).tolist() == [pattern] * 3


@pytest.mark.parametrize(
    ("shape", "value", "match"),
    [
        (np.array([2, -1]), None, r"the shape \[2, -1\] was given; sizes >= 0"),
        (np.array(2), None, r"the input has shape \(\); a 1-D tensor"),
        (np.array([2]), np.zeros(2), r"value has shape \(2,\); a single element"),
        (np.array([2]), np.zeros(0), r"value has shape \(0,\); a single element"),
    ],
)
def test_constant_of_shape_refuses(shape, value, match):
    with pytest.raises(ValueError, match=match):
        call("ConstantOfShape", 9, shape, value=value)
