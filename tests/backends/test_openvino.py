"""The openvino backend, with the real openvino."""

from __future__ import annotations

import sys

import ml_dtypes
import numpy as np
import onnx.parser
import pytest

pytest.importorskip("opcheck.backends.openvino")  # and not openvino: that sends a usage event

from opcheck.backends.openvino import OpenVino
from opcheck.harness.backend import Unsupported
from opcheck.harness.dtypes import element_type

HEADER = '<ir_version: 10, opset_import: ["" : 23]>\n'


@pytest.fixture(scope="module")
def backend() -> OpenVino:
    return OpenVino()


def run(backend, text: str, **feeds):
    return list(backend.prepare(onnx.parser.parse_model(HEADER + text))(feeds))


def identity(type_text: str) -> str:
    return f"g ({type_text} x) => ({type_text} y) {{ y = Identity(x) }}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("float32", np.array([1.5, -0.0, np.nan, np.inf, 2.0**-149], np.float32)),
        ("float64", np.array([0.1, 2.0**-1074])),
        ("float16", np.array([65504.0, 6e-8], np.float16)),
        ("int64", np.array([2**31 - 1, -(2**31)])),
        ("uint64", np.array([2**64 - 1, 2**53 + 1], np.uint64)),
        ("int32", np.array([2**31 - 1, -(2**31)], np.int32)),
        ("uint32", np.array([2**32 - 1, 2**24 + 1], np.uint32)),
        ("int16", np.array([-(2**15), 2**15 - 1], np.int16)),
        ("uint16", np.array([0, 2**16 - 1], np.uint16)),
        ("int8", np.array([-128, 127], np.int8)),
        ("uint8", np.array([0, 255], np.uint8)),
        ("bool", np.array([True, False])),
        ("bfloat16", np.array([1.5, -0.0, 3e38], ml_dtypes.bfloat16)),
        ("float8e4m3fn", np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn)),
        ("float8e5m2", np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e5m2)),
        ("float8e8m0", np.arange(256, dtype=np.uint8).view(ml_dtypes.float8_e8m0fnu)),
        ("float4e2m1", np.arange(15, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn)),
        ("int4", np.arange(-8, 7).astype(ml_dtypes.int4)),
        ("uint4", np.arange(15).astype(ml_dtypes.uint4)),
    ],
)
def test_values_arrive_and_return_bit_by_bit(backend, name, value):
    """Identity gives back the same bits in the same type; fifteen small ones share bytes.

    The CPU plugin itself drops the high half of an int64.
    """
    (result,) = run(backend, identity(f"{element_type(name).text}[{value.size}]"), x=value)
    assert result.dtype == value.dtype
    assert result.shape == value.shape
    assert result.tobytes() == value.tobytes()


@pytest.mark.parametrize(("name", "low"), [("int4", -8), ("uint4", 0)])
def test_four_bit_integers_are_read_low_bits_first(backend, name, low):
    """The runtime sees the values that were meant."""
    value = np.arange(low, low + 15).astype(element_type(name).dtype)
    (result,) = run(backend, f"g ({name}[15] x) => (int8[15] y) {{ y = Cast<to = 3>(x) }}", x=value)
    assert result.tolist() == list(range(low, low + 15))


def test_strings_go_in(backend):
    """They have a door of their own.

    Identity is left to workers: it gives the strings back and then frees them twice.
    """
    text = "g (string[2] x) => (string[1,2] y) <int64[2] s = {1, 2}> { y = Reshape(x, s) }"
    (result,) = run(backend, text, x=np.array(["a", "é"], object))
    assert result.dtype == object
    assert result.tolist() == [["a", "é"]]


def test_scalars_and_empty_tensors_keep_their_shape(backend):
    """No dimension at all, or one of size 0, with and without a NumPy type."""
    scalar = np.array(2.5, np.float32)
    text = "g (float[N] a, int64[0] axes) => (float r) { r = ReduceSum<keepdims=0>(a, axes) }"
    (result,) = run(backend, text, a=np.ones(3, np.float32), axes=np.zeros(0, np.int64))
    assert (result.shape, result.item()) == ((), 3)
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            [onnx.helper.make_node("Neg", ["x"], ["y"])],
            "g",
            [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [])],
            [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [])],
        ),
        opset_imports=[onnx.helper.make_opsetid("", 23)],
    )
    (result,) = backend.prepare(model)({"x": scalar})
    assert (result.shape, result.item()) == ((), -2.5)
    for dtype, text in ((np.float32, "float"), (ml_dtypes.bfloat16, "bfloat16")):
        (result,) = run(backend, identity(f"{text}[0,3]"), x=np.zeros((0, 3), dtype))
        assert (result.shape, result.dtype) == ((0, 3), dtype)


def test_inputs_go_by_name(backend):
    """Not by order, and neither unread inputs nor those a Dropout passes through confuse it."""
    one, two = np.array([1.0], np.float32), np.array([2.0], np.float32)
    (result,) = run(
        backend, "g (float[1] a, float[1] b) => (float[1] y) { y = Sub(a, b) }", b=two, a=one
    )
    assert result.tolist() == [-1]
    text = "g (float[1] a, float[1] b) => (float[1] y) { y = Neg(b) }"
    assert run(backend, text, a=one, b=two)[0].tolist() == [-2]
    text = "g (float[1] a, float[1] b) => (float[1] y, float[1] z) { y = Neg(a) z = Dropout(b) }"
    assert [r.tolist() for r in run(backend, text, b=two, a=one)] == [[-1], [2]]


def test_it_computes_in_float32_unless_it_may_choose():
    """The precision hint is set, and ``openvino:default`` leaves it out."""
    assert OpenVino().config["INFERENCE_PRECISION_HINT"] == "f32"
    assert "INFERENCE_PRECISION_HINT" not in OpenVino("default").config
    assert OpenVino("default").name == "openvino:default"
    with pytest.raises(ValueError, match="gpu"):
        OpenVino("gpu")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(identity("complex64[2]"), id="complex"),
        pytest.param(identity("float8e4m3fnuz[2]"), id="float8-fnuz"),
        pytest.param(identity("uint2[2]"), id="uint2"),
        pytest.param(identity("seq(float[2])"), id="sequence"),
        pytest.param(identity("optional(float[2])"), id="optional"),
        pytest.param(identity("float[2]").replace("Identity", "NoSuchOperator"), id="no-operator"),
    ],
)
def test_what_is_not_implemented_is_unsupported(backend, text):
    """A missing kernel, operator or type is never an ordinary error."""
    with pytest.raises(Unsupported):
        run(backend, text, x=np.zeros(2, np.float32))


def test_a_wrong_model_is_an_error_and_not_unsupported(backend):
    """Refusing what the specification forbids is no missing implementation."""
    with pytest.raises(RuntimeError) as caught:
        run(backend, "g (float[2] a, int64[2] b) => (float[2] y) { y = Add(a, b) }")
    assert not isinstance(caught.value, Unsupported)


def test_no_usage_event_is_sent(backend):
    """Importing openvino would send one; its telemetry module is kept out."""
    assert sys.modules["openvino_telemetry"] is None
    assert "openvino.tools.ovc.telemetry_stub" in sys.modules
