"""The opencv backend, with the real OpenCV.

What it crashes on is left to workers.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx.helper
import onnx.parser
import pytest

pytest.importorskip("cv2")

from opcheck.backends.opencv import OpenCv
from opcheck.harness.backend import Unsupported
from opcheck.harness.dtypes import element_type

HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'


@pytest.fixture(scope="module")
def backend() -> OpenCv:
    return OpenCv()


def run(backend, text: str, **feeds):
    return list(backend.prepare(onnx.parser.parse_model(HEADER + text))(feeds))


def identity(type_text: str) -> str:
    return f"g ({type_text} x) => ({type_text} y) {{ y = Identity(x) }}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("float32", np.array([1.5, -0.0, np.nan, np.inf, 2.0**-149], np.float32)),
        ("float64", np.array([0.1, 2.0**-1074])),
        ("int64", np.array([2**31 - 1, -(2**31)])),
        ("uint64", np.array([2**31 - 1, 2**24 + 1], np.uint64)),
        ("int32", np.array([2**31 - 1, -(2**31)], np.int32)),
        ("uint32", np.array([2**32 - 1, 2**24 + 1], np.uint32)),
        ("int16", np.array([-(2**15), 2**15 - 1], np.int16)),
        ("uint16", np.array([0, 2**16 - 1], np.uint16)),
        ("int8", np.array([-128, 127], np.int8)),
        ("uint8", np.array([0, 255], np.uint8)),
        ("bool", np.array([True, False])),
    ],
)
def test_values_arrive_and_return_bit_by_bit(backend, name, value):
    """Identity gives back the same bits in the same type.

    OpenCV itself squeezes 64-bit integers through an int32.
    """
    (result,) = run(backend, identity(f"{element_type(name).text}[{value.size}]"), x=value)
    assert result.dtype == value.dtype
    assert result.shape == value.shape
    assert result.tobytes() == value.tobytes()


def test_the_dtype_is_the_one_it_gives(backend):
    """Float16 comes back as float32; nothing hides that."""
    (result,) = run(backend, identity("float16[1]"), x=np.array([1.5], np.float16))
    assert (result.dtype, result.tolist()) == (np.float32, [1.5])


def test_bfloat16_comes_as_its_bits(backend):
    """The binding shows them as uint16."""
    text = "g (float[2] x) => (bfloat16[2] y) { y = Cast<to = 16>(x) }"
    (result,) = run(backend, text, x=np.array([1.5, -2.0], np.float32))
    assert (result.dtype, result.tolist()) == (ml_dtypes.bfloat16, [1.5, -2.0])


def test_inputs_go_by_name(backend):
    """Not by order, and an input that nothing reads does no harm."""
    one, two = np.array([1.0], np.float32), np.array([2.0], np.float32)
    text = "g (float[1] a, float[1] b) => (float[1] y) { y = Sub(a, b) }"
    assert run(backend, text, b=two, a=one)[0].tolist() == [-1]
    text = "g (float[1] a, float[1] b) => (float[1] y) { y = Neg(b) }"
    assert run(backend, text, a=one, b=two)[0].tolist() == [-2]


def test_a_scalar_keeps_its_shape(backend):
    """A tensor without dimensions is no vector of one."""
    scalar = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [])
    result = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [])
    node = onnx.helper.make_node("Neg", ["x"], ["y"])
    model = onnx.helper.make_model(
        onnx.helper.make_graph([node], "g", [scalar], [result]),
        opset_imports=[onnx.helper.make_opsetid("", 17)],
    )
    (value,) = backend.prepare(model)({"x": np.array(2.5, np.float32)})
    assert (value.shape, value.item()) == ((), -2.5)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(identity("complex64[2]"), np.zeros(2, np.complex64), id="complex"),
        pytest.param(identity("bfloat16[2]"), np.zeros(2, ml_dtypes.bfloat16), id="bfloat16"),
        pytest.param(identity("float8e5m2[1]"), np.zeros(1, ml_dtypes.float8_e5m2), id="float8"),
        pytest.param(identity("string[1]"), np.array(["a"], object), id="string"),
        pytest.param(identity("seq(float[2])"), [np.zeros(2, np.float32)], id="sequence"),
        pytest.param(identity("optional(float[2])"), None, id="optional"),
        pytest.param(identity("float[0,3]"), np.zeros((0, 3), np.float32), id="empty"),
        pytest.param(
            identity("float[2]").replace("Identity", "NoSuchOperator"),
            np.zeros(2, np.float32),
            id="no-operator",
        ),
    ],
)
def test_what_is_not_implemented_is_unsupported(backend, text, value):
    """A missing layer or type is never an ordinary error."""
    with pytest.raises(Unsupported):
        run(backend, text, x=value)


def test_a_wrong_model_is_an_error_and_not_unsupported(backend):
    """Refusing what the specification forbids is no missing implementation."""
    one = np.ones(2, np.float32)
    with pytest.raises(Exception, match="equal types") as caught:
        run(
            backend,
            "g (float[2] a, int64[2] b) => (float[2] y) { y = Add(a, b) }",
            a=one,
            b=one.astype(np.int64),
        )
    assert not isinstance(caught.value, Unsupported)
