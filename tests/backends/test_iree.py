"""The IREE backend, with the real IREE."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx.parser
import pytest

from opcheck.harness.backend import Unsupported
from opcheck.harness.dtypes import element_type

pytest.importorskip("iree.compiler")
pytest.importorskip("iree.runtime")

from opcheck.backends.iree import Iree


@pytest.fixture(scope="module")
def backend() -> Iree:
    return Iree()


def run(backend, text: str, feeds, opset: int = 13):
    header = f'<ir_version: 9, opset_import: ["" : {opset}]>\n'
    return list(backend.prepare(onnx.parser.parse_model(header + text))(feeds))


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
    ("complex64", np.array([1 - 2j, -0.0], np.complex64)),
    ("complex128", np.array([0.1 - 2j, -0.0], np.complex128)),
    ("bfloat16", np.array([1.5, -0.0, 3e38], ml_dtypes.bfloat16)),
    ("float8e4m3fn", EVERY_BYTE.view(ml_dtypes.float8_e4m3fn)),
    ("float8e4m3fnuz", EVERY_BYTE.view(ml_dtypes.float8_e4m3fnuz)),
    ("float8e5m2", EVERY_BYTE.view(ml_dtypes.float8_e5m2)),
    ("float8e5m2fnuz", EVERY_BYTE.view(ml_dtypes.float8_e5m2fnuz)),
]


@pytest.mark.parametrize(("name", "value"), VALUES, ids=[name for name, _ in VALUES])
def test_values_arrive_and_return_bit_by_bit(backend, name, value):
    """Identity gives back the same bits in the same type."""
    kind = f"{element_type(name).text}[{value.size}]"
    text = f"g ({kind} x) => ({kind} y) {{ y = Identity(x) }}"
    (result,) = run(backend, text, {"x": value}, opset=19)
    assert (result.dtype, result.shape) == (value.dtype, value.shape)
    assert result.tobytes() == value.tobytes()


@pytest.mark.parametrize("name", ["float64", "uint8", "uint64", "bfloat16"])
def test_sums_are_computed_in_their_own_type(backend, name):
    """Unsigned bits are read as unsigned, and float64 is not computed as float32."""
    element = element_type(name)
    a, b = (np.array(v).astype(element.dtype) for v in ([200, 0], [50, 1]))
    if name == "float64":
        a[1] = 2.0**-40
    kind = f"{element.text}[2]"
    text = f"g ({kind} a, {kind} b) => ({kind} y) {{ y = Add(a, b) }}"
    (result,) = run(backend, text, {"a": a, "b": b}, opset=14)
    assert result.dtype == element.dtype
    assert result.tolist() == (a + b).tolist()


def test_a_view_that_is_not_contiguous_and_a_scalar(backend):
    """What NumPy holds in another order arrives in the right one; rank 0 stays rank 0."""
    text = "g (float[2,3] a, float b) => (float[2,3] y, float z) { y = Add(a, b) z = Add(b, b) }"
    a = np.arange(6, dtype=np.float32).reshape(3, 2).T
    y, z = run(backend, text, {"a": a, "b": np.array(1, np.float32)})
    assert y.tolist() == (a + 1).tolist()
    assert (z.shape, z.tolist()) == ((), 2)


def test_inputs_go_by_name(backend):
    """Neither the order of the feeds nor that of the node's inputs matters."""
    text = "g (float[1] a, float[1] b, float[1] unused) => (float[1] y) { y = Sub(b, a) }"
    one, five = np.array([1], np.float32), np.array([5], np.float32)
    (result,) = run(backend, text, {"unused": one, "b": five, "a": one})
    assert result.tolist() == [4]


@pytest.mark.parametrize("kind", ["float[0,3]", "float[N,3]"])
def test_zero_elements(backend, kind):
    """An empty tensor keeps its shape, whether or not the model knows that it is empty."""
    text = f"g ({kind} a) => ({kind} y) {{ y = Add(a, a) }}"
    (result,) = run(backend, text, {"a": np.zeros((0, 3), np.float32)})
    assert (result.shape, result.dtype) == ((0, 3), np.float32)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int4[1]", np.zeros(1, ml_dtypes.int4)),
        ("string[1]", np.array(["a"], object)),
        ("seq(float[1])", [np.zeros(1, np.float32)]),
        ("optional(float[1])", None),
    ],
)
def test_types_without_a_door_are_unsupported(backend, kind, value):
    """The message names the type."""
    with pytest.raises(Unsupported, match="no tensors of type"):
        run(backend, f"g ({kind} x) => ({kind} y) {{ y = Identity(x) }}", {"x": value}, opset=21)


def test_an_operator_that_is_missing_is_unsupported(backend):
    """The message names the operator, and not how the compiler was called."""
    text = "g (float[2,2] x, float[2] s) => (float[2,2] y) { y = RMSNormalization(x, s) }"
    feeds = {"x": np.ones((2, 2), np.float32), "s": np.ones(2, np.float32)}
    with pytest.raises(Unsupported, match="RMSNormalization") as caught:
        run(backend, text, feeds, opset=23)
    assert "iree-compile" not in str(caught.value)


def test_a_crash_of_the_compiler_is_an_error(backend):
    """The compiler is a process of its own; its stack is no part of the message."""
    text = "g (float[2] x) => (float[2] y) { y = Unique(x) }"
    with pytest.raises(RuntimeError, match="iree-compile ended with status -11") as caught:
        run(backend, text, {"x": np.zeros(2, np.float32)})
    assert "#0" not in str(caught.value)


def test_a_wrong_model_is_an_error_and_not_unsupported(backend):
    """Refusing what the specification forbids is no missing implementation."""
    text = "g (float[2,3] a, float[2,4] b) => (float[2,4] y) { y = MatMul(a, b) }"
    feeds = {"a": np.zeros((2, 3), np.float32), "b": np.zeros((2, 4), np.float32)}
    with pytest.raises(Exception, match=r"ncompatible|matmul") as caught:
        run(backend, text, feeds)
    assert not isinstance(caught.value, Unsupported)


def test_an_argument_is_refused():
    """Rather than ignored."""
    with pytest.raises(ValueError, match="no argument"):
        Iree("cuda")
