"""The tract backend, with the real tract."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx.parser
import pytest

from opcheck.harness.backend import Unsupported
from opcheck.harness.dtypes import element_type

pytest.importorskip("tract")

from opcheck.backends.tract import Tract


def run(text: str, feeds, argument: str = "", opset: int = 13):
    header = f'<ir_version: 8, opset_import: ["" : {opset}]>\n'
    model = onnx.parser.parse_model(header + text)
    return list(Tract(argument).prepare(model)(feeds))


VALUES = [
    ("bool", np.array([True, False])),
    ("float16", np.array([65504.0, -0.0, 6e-8, np.nan], np.float16)),
    ("float32", np.array([1.5, -0.0, np.nan, np.inf], np.float32)),
    ("float64", np.array([0.1, 2.0**-1074], np.float64)),
    ("int8", np.array([-128, 127], np.int8)),
    ("int16", np.array([-(2**15), 2**15 - 1], np.int16)),
    ("int32", np.array([-(2**31), 2**31 - 1], np.int32)),
    ("int64", np.array([-(2**63), 2**63 - 1], np.int64)),
    ("uint8", np.array([0, 255], np.uint8)),
    ("uint16", np.array([0, 2**16 - 1], np.uint16)),
    ("uint32", np.array([0, 2**32 - 1], np.uint32)),
    ("uint64", np.array([2**53 + 1, 2**64 - 1], np.uint64)),
]


@pytest.mark.parametrize(("name", "value"), VALUES, ids=[name for name, _ in VALUES])
def test_values_arrive_and_return_bit_by_bit(name, value):
    """Concat of one input gives back the same bits in the same type."""
    kind = f"{element_type(name).text}[{value.size}]"
    (result,) = run(f"g ({kind} x) => ({kind} y) {{ y = Concat<axis = 0>(x) }}", {"x": value})
    assert (result.dtype, result.shape) == (value.dtype, value.shape)
    assert result.tobytes() == value.tobytes()


def test_a_view_that_is_not_contiguous_and_a_scalar():
    """What NumPy holds in another order arrives in the right one; rank 0 stays rank 0."""
    text = "g (float[2,3] a, float b) => (float[2,3] y, float z) { y = Add(a, b) z = Add(b, b) }"
    a = np.arange(6, dtype=np.float32).reshape(3, 2).T
    y, z = run(text, {"a": a, "b": np.array(1, np.float32)})
    assert y.tolist() == (a + 1).tolist()
    assert (z.shape, z.tolist()) == ((), 2)


def test_inputs_go_by_name():
    """Neither the order of the feeds nor that of the node's inputs matters."""
    text = "g (float[1] a, float[1] b, float[1] unused) => (float[1] y) { y = Sub(b, a) }"
    one, five = np.array([1], np.float32), np.array([5], np.float32)
    (result,) = run(text, {"unused": one, "b": five, "a": one})
    assert result.tolist() == [4]


def test_zero_elements():
    """An empty tensor keeps its shape."""
    text = "g (float[0,3] a) => (float[0,3] y) { y = Add(a, a) }"
    (result,) = run(text, {"a": np.zeros((0, 3), np.float32)})
    assert (result.shape, result.dtype) == ((0, 3), np.float32)


def test_dimensions_come_out_as_int64():
    """The outputs of Shape have a type of tract's own."""
    text = "g (float[2,3] a) => (int64[2] y) { y = Shape(a) }"
    (result,) = run(text, {"a": np.zeros((2, 3), np.float32)})
    assert (result.dtype, result.tolist()) == (np.int64, [2, 3])


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("bfloat16[1]", np.zeros(1, ml_dtypes.bfloat16)),
        ("float8e4m3fn[1]", np.zeros(1, ml_dtypes.float8_e4m3fn)),
        ("int4[1]", np.zeros(1, ml_dtypes.int4)),
        ("string[1]", np.array(["a"], object)),
        ("complex64[1]", np.zeros(1, np.complex64)),
        ("seq(float[1])", [np.zeros(1, np.float32)]),
        ("optional(float[1])", None),
    ],
)
def test_types_without_a_door_are_unsupported(kind, value):
    """The message names the type."""
    with pytest.raises(Unsupported, match="takes no input of type"):
        run(f"g ({kind} x) => ({kind} y) {{ y = Identity(x) }}", {"x": value}, opset=21)


def test_an_operator_that_is_missing_is_unsupported():
    """The backtrace is not part of the message."""
    text = "g (float[2,2] x) => (float y) { y = Det(x) }"
    with pytest.raises(Unsupported, match="Det") as caught:
        run(text, {"x": np.eye(2, dtype=np.float32)})
    assert "backtrace" not in str(caught.value)


def test_shape_like_inputs_are_unsupported_unless_they_are_made_constants():
    """With ``constants`` they become initializers, anew in each run."""
    text = "g (float[2,3] x, int64[1] axes) => (float[N,M] y) { y = ReduceSum(x, axes) }"
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    with pytest.raises(Unsupported, match="constant"):
        run(text, {"x": x, "axes": np.array([0])})
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 13]>' + text)
    runner = Tract("constants").prepare(model)
    assert runner({"axes": np.array([0]), "x": x})[0].tolist() == [[3, 5, 7]]
    assert runner({"axes": np.array([1]), "x": x})[0].tolist() == [[3], [12]]
    assert [value.name for value in model.graph.input] == ["x", "axes"]


def test_a_wrong_model_is_an_error_and_not_unsupported():
    """Refusing what the specification forbids is no missing implementation."""
    text = "g (float[2,3] a, float[2,4] b) => (float[2,4] y) { y = MatMul(a, b) }"
    feeds = {"a": np.zeros((2, 3), np.float32), "b": np.zeros((2, 4), np.float32)}
    with pytest.raises(Exception, match="MatMul") as caught:
        run(text, feeds)
    assert not isinstance(caught.value, Unsupported)


def test_an_unknown_argument_is_refused():
    """Rather than ignored."""
    with pytest.raises(ValueError, match="constants"):
        Tract("constant")
