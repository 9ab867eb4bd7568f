"""QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear, held against fractions."""

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import onnx
import onnx.defs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kernel_calls import call, dtype_of

VERSIONS = [10, 13, 19, 21, 23, 24, 25, 28]
RANGES = {
    "int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535),
    "int4": (-8, 7), "uint4": (0, 15), "int2": (-2, 1), "uint2": (0, 3),
}  # fmt: skip
FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
NAN, INF = math.nan, math.inf
T = onnx.TensorProto


def tensor(values, name="float32"):
    return np.array(values).astype(dtype_of(name))


def quantize(version, *inputs, **given):
    return call("QuantizeLinear", version, *inputs, **given)


def dequantize(version, *inputs, **given):
    return call("DequantizeLinear", version, *inputs, **given)


def allowed(operator, version, parameter):
    """Return the names of the dtypes that a schema allows."""
    schema = onnx.defs.get_schema(operator, version, "")
    constraint = next(c for c in schema.type_constraints if c.type_param_str == parameter)
    names = [t[7:-1] for t in constraint.allowed_type_strs]
    return [str(onnx.helper.tensor_dtype_to_np_dtype(_NUMBERS[n])) for n in names]


_NUMBERS = dict(onnx.TensorProto.DataType.items())
_NUMBERS = {n.lower(): v for n, v in _NUMBERS.items()} | {"float": T.FLOAT, "double": T.DOUBLE}
_NUMBERS |= {"float8e4m3fn": T.FLOAT8E4M3FN, "float8e5m2": T.FLOAT8E5M2}


# QuantizeLinear to integers.


@given(
    hnp.arrays(np.float32, 12, elements=st.floats(-1000, 1000, width=32)),
    st.floats(0.125, 100, width=32),
    st.sampled_from(sorted(RANGES)),
    st.data(),
)
def test_quotients_are_rounded_before_the_zero_point(x, scale, name, data):
    """The quotient in float32 goes to the nearest integer, ties to even; the sum saturates."""
    lowest, highest = RANGES[name]
    zero = data.draw(st.integers(lowest, highest))
    got = quantize(28, x, tensor(scale), np.array(zero).astype(dtype_of(name)))
    assert got.dtype == dtype_of(name)
    for value, seen in zip(x, got, strict=True):
        quotient = round(Fraction(float(np.float32(value) / np.float32(scale))))
        assert int(seen) == min(max(quotient + zero, lowest), highest)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["int8", "uint8"])
def test_every_version_rounds_ties_to_even_and_saturates(version, name):
    lowest, highest = RANGES[name]
    x = tensor([0.5, 1.5, 2.5, -0.5, 1e30, -INF, INF])
    got = quantize(version, x, tensor(1), np.array(7, name))
    assert got.tolist() == [7, 9, 9, 7, highest, lowest, highest]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_default_type_is_uint8(version):
    got = quantize(version, tensor([-1, 3, 300]), tensor(1))
    assert (got.dtype, got.tolist()) == (np.uint8, [0, 3, 255])


@pytest.mark.parametrize("version", VERSIONS)
def test_the_precision_of_the_division_is_that_of_the_scale(version):
    """12582913 / 8388609 is a tie in float32 alone; the official suite holds version 10 to it."""
    x, scale, zero = tensor([12582913]), tensor(8388609), np.zeros((), np.int8)
    assert quantize(version, x, scale, zero).tolist() == [2]
    if version >= 19:
        half = tensor([1537], "float16"), tensor(1025, "float16")
        assert quantize(version, *half, zero).tolist() == [2]
    if version >= 23:
        assert quantize(version, x, scale, zero, precision=T.DOUBLE).tolist() == [1]
        assert quantize(version, *half, zero, precision=T.FLOAT).tolist() == [1]


@pytest.mark.parametrize(
    ("precision", "wanted"),
    [(T.FLOAT, 2049), (T.FLOAT16, 2048), (T.BFLOAT16, 2048), (T.DOUBLE, 2049)],
)
def test_precision_goes_before_the_type_of_the_scale(precision, wanted):
    zero = np.zeros((), np.uint16)
    assert quantize(25, tensor([2049]), tensor(1), zero, precision=precision).tolist() == [wanted]


@pytest.mark.parametrize("version", VERSIONS[2:])
def test_integers_are_not_divided_as_integers(version):
    """A scale of type int32 rounds no quotient by itself."""
    x, zero = np.array([-5, 3, 7], np.int32), np.zeros((), dtype_of("float8_e4m3fn"))
    got = quantize(version, x, np.array(2, np.int32), zero)
    assert got.astype(float).tolist() == [-2.5, 1.5, 3.5]


@pytest.mark.parametrize("version", [24, 25, 28])
def test_a_scale_of_exponents_rounds_no_quotient(version):
    got = quantize(version, tensor([3, 5]), tensor(2, "float8_e8m0fnu"), np.zeros((), np.int8))
    assert got.tolist() == [2, 2]


# QuantizeLinear to floats.


@pytest.mark.parametrize("version", VERSIONS[2:])
@pytest.mark.parametrize("name", FLOAT8)
def test_8_bit_floats_saturate_or_do_not(version, name):
    """What is too large becomes the largest number, or infinity or NaN."""
    zero, largest = np.zeros((), dtype_of(name)), float(ml_dtypes.finfo(name).max)
    x = tensor([0.3, 1e6, -1e6, NAN])
    got = quantize(version, x, tensor(1), zero).astype(float).tolist()
    nearest = float(np.float32(0.3).astype(dtype_of(name)))
    assert got[:3] == [nearest, largest, -largest]
    assert math.isnan(got[3])
    beyond = quantize(version, x, tensor(1), zero, saturate=0).astype(float)[1:3].tolist()
    assert beyond == [INF, -INF] if name == "float8_e5m2" else np.isnan(beyond).all()


@pytest.mark.parametrize("version", [19, 21, 23, 24, 25, 28])
def test_infinity_in_the_fnuz_types_is_that_of_cast(version):
    """Cast-19 makes NaN of an infinity, Cast-24 the largest number."""
    zero = np.zeros((), dtype_of("float8_e4m3fnuz"))
    got = float(quantize(version, tensor([INF]), tensor(1), zero)[0])
    assert got == 240 if version >= 24 else math.isnan(got)


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("float4_e2m1fn", [-2, 0.5, 4, 6, -6]),
        ("float6_e2m3fn", [-2.5, 0.5, 3.5, 7.5, -7.5]),
        ("float6_e3m2fn", [-2.5, 0.5, 3.5, 28, -28]),
    ],
)
def test_smaller_floats_always_saturate(saturate, name, wanted):
    x, zero = tensor([-2.5, 0.5, 3.5, 100, -INF]), np.zeros((), dtype_of(name))
    got = quantize(28, x, tensor(1), zero, saturate=saturate)
    assert got.astype(float).tolist() == wanted


def test_the_zero_point_of_floats_is_added_before_rounding():
    """17 + 0.75 rounds to 18; 17 alone would be 16."""
    zero = tensor(0.75, "float8_e4m3fn")
    assert float(quantize(19, tensor([17]), tensor(1), zero)[0]) == 18


# The output type.


@pytest.mark.parametrize("version", VERSIONS[3:])
def test_output_dtype_names_every_type_of_the_output(version):
    for name in allowed("QuantizeLinear", version, "T3" if version > 21 else "T2"):
        number = onnx.helper.np_dtype_to_tensor_dtype(dtype_of(name))
        got = quantize(version, tensor([0, 1]), tensor(1), output_dtype=number)
        assert (got.dtype, got.astype(float).tolist()) == (dtype_of(name), [0, 1])
    for number in (T.FLOAT, T.INT64, T.INT32):
        with pytest.raises(ValueError, match="output type is"):
            quantize(version, tensor([0, 1]), tensor(1), output_dtype=number)


def test_output_dtype_and_zero_point_have_to_agree():
    zero = np.array(1, np.int8)
    assert quantize(21, tensor([2]), tensor(1), zero, output_dtype=T.INT8).tolist() == [3]
    with pytest.raises(ValueError, match="must be the same"):
        quantize(21, tensor([2]), tensor(1), zero, output_dtype=T.UINT8)


def test_other_precisions_are_refused():
    with pytest.raises(ValueError, match="precision is"):
        quantize(23, tensor([2]), tensor(1), precision=T.INT32)


# Granularity, which both operators share.


def slow_scale(values, shape, axis, block):
    """Return the scale of each element by the text, one index at a time."""
    spread = np.zeros(shape)
    for place in np.ndindex(shape):
        if values.ndim == 0:
            spread[place] = values
        elif block:
            at = list(place)
            at[axis] //= block
            spread[place] = values[tuple(at)]
        else:
            spread[place] = values[place[axis]]
    return spread


GRANULARITIES = [
    ((), 1, 0),
    ((2,), 0, 0),
    ((5,), 1, 0),
    ((3,), -1, 0),
    ((2, 5, 2), 2, 2),
    ((2, 5, 1), -1, 3),
    ((1, 5, 3), 0, 2),
    ((2, 2, 3), 1, 3),
    ((2, 5, 3), 1, 1),
]


@pytest.mark.parametrize(("shape", "axis", "block"), GRANULARITIES)
@pytest.mark.parametrize("version", VERSIONS)
def test_scales_and_zero_points_are_spread(shape, axis, block, version):
    """A scalar, one for each index of the axis, or one for each block of it."""
    rng = np.random.default_rng(len(shape))
    scale = 2.0 ** rng.integers(-2, 2, shape)
    zero = rng.integers(-5, 5, shape).astype(np.int8)
    x = rng.integers(-40, 40, (2, 5, 3)) / 4
    at = axis % 3
    scales, zeros = slow_scale(scale, x.shape, at, block), slow_scale(zero, x.shape, at, block)
    given = {"axis": axis} if version >= 13 else {}
    given |= {"block_size": block} if version >= 21 else {}
    inputs = np.asarray(scale, np.float32), zero
    too_old = (version == 10 and shape != ()) or (version < 21 and block)
    if too_old:
        with pytest.raises(ValueError, match="scale has shape"):
            quantize(version, x.astype(np.float32), *inputs, **given)
        return
    got = quantize(version, x.astype(np.float32), *inputs, **given)
    assert got.tolist() == (np.rint(x / scales) + zeros).tolist()
    back = dequantize(version, got, *inputs, **given)
    assert back.tolist() == ((got - zeros) * scales).astype(np.float32).tolist()


@pytest.mark.parametrize("version", VERSIONS)
def test_scalars_empty_tensors_and_scales_of_one_element(version):
    one = tensor([2.0])
    assert quantize(version, tensor(5), tensor(2)).shape == ()
    assert quantize(version, tensor(np.zeros((0, 3))), tensor(2)).shape == (0, 3)
    assert quantize(version, tensor([[6, 8]]), one, np.array(1, np.int8)).tolist() == [[4, 5]]
    assert dequantize(version, np.array([[6, 8]], np.int8), one).tolist() == [[12, 16]]


@pytest.mark.parametrize("operator", [quantize, dequantize])
@pytest.mark.parametrize(
    ("version", "scale", "zero", "given", "message"),
    [
        (10, (3,), None, {}, "a scalar was wanted"),
        (10, (), (3,), {}, "a scalar was wanted"),
        (13, (2,), None, {}, r"\(2,\)"),
        (13, (3,), (2,), {}, "must be the same"),
        (13, (3,), (), {}, "must be the same"),
        (13, (3,), None, {"axis": 2}, "axis 2"),
        (19, (3,), None, {"axis": -3}, "axis -3"),
        (21, (2, 3), None, {}, r"\(2, 3\)"),
        (21, (2, 2), None, {"block_size": 3}, r"\(2, 1\) was wanted"),
        (21, (2, 2), None, {"block_size": -1}, "block_size is -1"),
        (28, (1, 2), None, {"block_size": 2}, r"\(2, 2\) was wanted"),
        (28, (2,), None, {"block_size": 2}, r"\(2,\)"),
    ],
)
def test_shapes_that_are_no_granularity_are_refused(operator, version, scale, zero, given, message):
    x = np.zeros((2, 3), np.float32 if operator is quantize else np.int8)
    zeros = None if zero is None else np.zeros(zero, np.int8)
    with pytest.raises(ValueError, match=message):
        operator(version, x, np.ones(scale, np.float32), zeros, **given)


# DequantizeLinear.


@pytest.mark.parametrize("version", VERSIONS)
def test_differences_are_exact_in_every_type(version):
    """The extremes of each type, less each other, times a scale."""
    parameter = "T" if version < 19 else "T1"
    for name in allowed("DequantizeLinear", version, parameter):
        dtype = dtype_of(name)
        if name == "int32":
            x, zero = np.array([-(2**31), 2**31 - 1], np.int32), None
        elif name in RANGES:
            x = np.array(RANGES[name]).astype(dtype)
            zero = np.array(RANGES[name][1]).astype(dtype)
        else:
            x, zero = tensor([-1.5, 3], name), tensor(1, name)
        got = dequantize(version, x, tensor(0.75), zero)
        shift = 0.0 if zero is None else float(zero)
        wanted = [np.float32((float(v) - shift) * 0.75) for v in x]
        assert (got.dtype, got.tolist()) == (np.float32, [float(w) for w in wanted])


@pytest.mark.parametrize("version", VERSIONS[2:])
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_the_result_has_the_type_of_the_scale(version, name):
    got = dequantize(version, np.array([3, -5], np.int8), tensor(0.5, name))
    assert (got.dtype, got.astype(float).tolist()) == (dtype_of(name), [1.5, -2.5])


@pytest.mark.parametrize("version", VERSIONS[4:])
def test_output_dtype_goes_before_the_type_of_the_scale(version):
    """The product is rounded once: 2049 is no float16, but it is a float32."""
    x, scale = np.array([2049], np.int16), tensor(1, "float16")
    assert dequantize(version, x, scale).tolist() == [2048]
    got = dequantize(version, x, scale, output_dtype=T.FLOAT)
    assert (got.dtype, got.tolist()) == (np.float32, [2049])
    assert dequantize(version, x, tensor(1), output_dtype=T.BFLOAT16).astype(float) == [2048]
    with pytest.raises(ValueError, match="output type is"):
        dequantize(version, x, scale, output_dtype=T.INT8)


@pytest.mark.parametrize("version", [24, 25, 28])
def test_a_scale_of_exponents_needs_an_output_type(version):
    x, scale = np.array([3], np.int8), tensor(0.25, "float8_e8m0fnu")
    assert dequantize(version, x, scale, output_dtype=T.FLOAT16).tolist() == [0.75]
    with pytest.raises(ValueError, match="output_dtype is needed"):
        dequantize(version, x, scale)


@pytest.mark.parametrize("version", VERSIONS)
def test_int32_has_no_zero_point_but_0(version):
    x = np.array([4, -6], np.int32)
    assert dequantize(version, x, tensor(0.5), np.array(0, np.int32)).tolist() == [2, -3]
    with pytest.raises(ValueError, match="int32"):
        dequantize(version, x, tensor(0.5), np.array(1, np.int32))


# DynamicQuantizeLinear.


@given(hnp.arrays(np.float32, st.integers(1, 8), elements=st.floats(-1000, 1000, width=32)))
def test_dynamic_quantization_follows_its_function_body(x):
    """Each step is one of float32; where the range is empty, all but the scale is open."""
    y, scale, zero = call("DynamicQuantizeLinear", 11, x)
    assert (y.dtype, scale.dtype, zero.dtype) == (np.uint8, np.float32, np.uint8)
    assert (y.shape, scale.shape, zero.shape) == (x.shape, (), ())
    low, high = np.float32(min(0, x.min())), np.float32(max(0, x.max()))
    assert scale == np.float32(high - low) / np.float32(255)
    if scale > 0:
        shift = Fraction(float(np.float32(0) - low / np.float32(scale)))
        assert int(zero) == round(min(max(shift, Fraction(0)), Fraction(255)))
        for value, seen in zip(x, y, strict=True):
            quotient = round(Fraction(float(value / np.float32(scale))))
            assert int(seen) == min(max(quotient + int(zero), 0), 255)


@pytest.mark.parametrize("shape", [(3,), (0,), ()])
def test_an_empty_range_has_a_scale_of_0(shape):
    """The formula divides 0 by 255; the rest would be 0 / 0."""
    y, scale, zero = call("DynamicQuantizeLinear", 11, np.zeros(shape, np.float32))
    assert (y.shape, y.any(), float(scale), int(zero)) == (shape, False, 0, 0)
