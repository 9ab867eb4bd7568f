"""The tinygrad backend, with the real tinygrad."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx.helper
import onnx.parser
import pytest

pytest.importorskip("opcheck.backends.tinygrad")  # it sets what tinygrad reads at import

from opcheck.backends.tinygrad import Tinygrad
from opcheck.harness.backend import Unsupported
from opcheck.harness.dtypes import element_type

HEADER = '<ir_version: 10, opset_import: ["" : 21]>\n'


@pytest.fixture(scope="module")
def backend() -> Tinygrad:
    return Tinygrad()


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
        ("int64", np.array([2**63 - 1, -(2**63)])),
        ("uint64", np.array([2**64 - 1, 2**53 + 1], np.uint64)),
        ("int32", np.array([2**31 - 1, -(2**31)], np.int32)),
        ("uint32", np.array([2**32 - 1, 2**24 + 1], np.uint32)),
        ("int16", np.array([-(2**15), 2**15 - 1], np.int16)),
        ("uint16", np.array([0, 2**16 - 1], np.uint16)),
        ("int8", np.array([-128, 127], np.int8)),
        ("uint8", np.array([0, 255], np.uint8)),
        ("bool", np.array([True, False])),
        ("bfloat16", np.array([1.5, -0.0, 3e38], ml_dtypes.bfloat16)),
    ],
)
def test_values_arrive_and_return_bit_by_bit(backend, name, value):
    """Identity gives back the same bits in the same type, and so do no elements at all."""
    for given in (value, value[:0].reshape(0, 3)):
        shape = ",".join(map(str, given.shape))
        (result,) = run(backend, identity(f"{element_type(name).text}[{shape}]"), x=given)
        assert result.dtype == given.dtype
        assert result.shape == given.shape
        assert result.tobytes() == given.tobytes()


def test_sequences_and_optionals(backend):
    """A sequence is a list, an empty optional None."""
    pair = [np.ones(2, np.float32), np.zeros(2, np.float32)]
    (result,) = run(backend, identity("seq(float[2])"), x=pair)
    assert [r.tolist() for r in result] == [[1, 1], [0, 0]]
    (result,) = run(backend, identity("optional(float[2])"), x=None)
    assert result is None


def test_a_scalar_keeps_its_shape(backend):
    """A tensor without dimensions goes in and comes out as one."""
    scalar = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [])
    result = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [])
    node = onnx.helper.make_node("Neg", ["x"], ["y"])
    model = onnx.helper.make_model(
        onnx.helper.make_graph([node], "g", [scalar], [result]),
        opset_imports=[onnx.helper.make_opsetid("", 21)],
    )
    (value,) = backend.prepare(model)({"x": np.array(2.5, np.float32)})
    assert (value.shape, value.item()) == ((), -2.5)


def test_inputs_go_by_name(backend):
    """Not by order."""
    one, two = np.array([1.0], np.float32), np.array([2.0], np.float32)
    text = "g (float[1] a, float[1] b) => (float[1] y, float[1] z) { y = Sub(a, b) z = Neg(b) }"
    assert [r.tolist() for r in run(backend, text, b=two, a=one)] == [[-1], [-2]]


def test_each_call_reads_its_shape_like_inputs(backend):
    """A runner of tinygrad keeps those of its first call."""
    text = "g (float[6] x, int64[2] s) => (float[M,N] y) { y = Reshape(x, s) }"
    ready = backend.prepare(onnx.parser.parse_model(HEADER + text))
    for shape in ((2, 3), (3, 2)):
        (result,) = ready({"x": np.zeros(6, np.float32), "s": np.array(shape)})
        assert result.shape == shape


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(identity("complex64[2]"), np.zeros(2, np.complex64), id="complex"),
        pytest.param(identity("float8e5m2[1]"), np.zeros(1, ml_dtypes.float8_e5m2), id="float8"),
        pytest.param(identity("int4[2]"), np.zeros(2, ml_dtypes.int4), id="int4"),
        pytest.param(identity("string[1]"), np.array(["a"], object), id="string"),
        pytest.param(identity("float[2]"), {"a": 1.0}, id="map"),
        pytest.param(
            identity("float[2]").replace("Identity", "NoSuchOperator"),
            np.zeros(2, np.float32),
            id="no-operator",
        ),
    ],
)
def test_what_is_not_implemented_is_unsupported(backend, text, value):
    """A missing operator or type is never an ordinary error."""
    with pytest.raises(Unsupported):
        run(backend, text, x=value)


def test_a_wrong_call_is_an_error_and_not_unsupported(backend):
    """Refusing what the specification forbids is no missing implementation."""
    text = "g (float[2,3] a, float[2,3] b) => (float[2,3] y) { y = MatMul(a, b) }"
    matrix = np.ones((2, 3), np.float32)
    with pytest.raises(Exception, match="dot") as caught:
        run(backend, text, a=matrix, b=matrix)
    assert not isinstance(caught.value, Unsupported)
