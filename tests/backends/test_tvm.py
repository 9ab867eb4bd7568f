"""The TVM backend, with the real TVM."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx.parser
import pytest

from opcheck.harness.backend import Unsupported
from opcheck.harness.dtypes import element_type

pytest.importorskip("tvm")

from opcheck.backends.tvm import Tvm


def run(text: str, feeds, argument: str = "", opset: int = 13):
    header = f'<ir_version: 8, opset_import: ["" : {opset}]>\n'
    model = onnx.parser.parse_model(header + text)
    return list(Tvm(argument).prepare(model)(feeds))


EVERY_BYTE = np.arange(256, dtype=np.uint8)
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
    ("bfloat16", np.array([1.5, -0.0, 3e38], ml_dtypes.bfloat16)),
    ("float8e4m3fn", EVERY_BYTE.view(ml_dtypes.float8_e4m3fn)),
    ("float8e4m3fnuz", EVERY_BYTE.view(ml_dtypes.float8_e4m3fnuz)),
    ("float8e5m2", EVERY_BYTE.view(ml_dtypes.float8_e5m2)),
    ("float8e5m2fnuz", EVERY_BYTE.view(ml_dtypes.float8_e5m2fnuz)),
]


@pytest.mark.parametrize(("name", "value"), VALUES, ids=[name for name, _ in VALUES])
def test_values_arrive_and_return_bit_by_bit(name, value):
    """Identity gives back the same bits in the same type."""
    kind = f"{element_type(name).text}[{value.size}]"
    text = f"g ({kind} x) => ({kind} y) {{ y = Identity(x) }}"
    (result,) = run(text, {"x": value}, opset=19)
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


@pytest.mark.parametrize("kind", ["float[0,3]", "float[N,3]", "float[?,3]"])
def test_zero_elements(kind):
    """An empty tensor keeps its shape, whether or not the model knows that it is empty."""
    text = f"g ({kind} a) => ({kind} y) {{ y = Add(a, a) }}"
    (result,) = run(text, {"a": np.zeros((0, 3), np.float32)})
    assert (result.shape, result.dtype) == ((0, 3), np.float32)


def test_two_unknown_dimensions_are_not_the_same():
    """TVM's importer takes all dimensions without a name for one."""
    text = "g (float[?] a, float[?] b) => (float[?] y) { y = Concat<axis = 0>(a, b) }"
    feeds = {"a": np.zeros(2, np.float32), "b": np.ones(3, np.float32)}
    assert run(text, feeds)[0].tolist() == [0, 0, 1, 1, 1]


def test_dimensions_come_out_as_int64():
    """The outputs of Shape and Size have types of TVM's own."""
    text = "g (float[2,3] a) => (int64[2] y, int64 z) { y = Shape(a) z = Size(a) }"
    y, z = run(text, {"a": np.zeros((2, 3), np.float32)})
    assert (y.dtype, y.tolist()) == (np.int64, [2, 3])
    assert (z.dtype, z.shape, z.tolist()) == (np.int64, (), 6)


def test_a_sequence_is_a_list():
    """As an output; as an input it has no door."""
    text = "g (float[2] a, float[3] b) => (seq(float[?]) y) { y = SequenceConstruct(a, b) }"
    feeds = {"a": np.zeros(2, np.float32), "b": np.ones(3, np.float32)}
    (result,) = run(text, feeds)
    assert [item.tolist() for item in result] == [[0, 0], [1, 1, 1]]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
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
    """The message names the operator."""
    with pytest.raises(Unsupported, match="Det"):
        run("g (float[2,2] x) => (float y) { y = Det(x) }", {"x": np.eye(2, dtype=np.float32)})


def test_shape_like_inputs_are_unsupported_unless_they_are_made_constants():
    """With ``constants`` they become initializers, anew in each run."""
    text = "g (float[2,3] x, int64[1] axes) => (float[N,M] y) { y = ReduceSum(x, axes) }"
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    with pytest.raises(Unsupported, match="constant"):
        run(text, {"x": x, "axes": np.array([0])})
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 13]>' + text)
    runner = Tvm("constants").prepare(model)
    assert runner({"axes": np.array([0]), "x": x})[0].tolist() == [[3, 5, 7]]
    assert runner({"axes": np.array([1]), "x": x})[0].tolist() == [[3], [12]]
    assert [value.name for value in model.graph.input] == ["x", "axes"]


def test_a_wrong_model_is_an_error_and_not_unsupported():
    """Refusing what the specification forbids is no missing implementation."""
    text = "g (float[2,3] a, float[2,4] b) => (float[2,4] y) { y = MatMul(a, b) }"
    feeds = {"a": np.zeros((2, 3), np.float32), "b": np.zeros((2, 4), np.float32)}
    with pytest.raises(Exception, match=r"[Mm]at[Mm]ul") as caught:
        run(text, feeds)
    assert not isinstance(caught.value, Unsupported)


def test_an_unknown_argument_is_refused():
    """Rather than ignored."""
    with pytest.raises(ValueError, match="constants"):
        Tvm("constant")
