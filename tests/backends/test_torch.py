"""The torch backend, with the real PyTorch and onnx2pytorch."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx.parser
import pytest

pytest.importorskip("torch")
pytest.importorskip("opcheck.backends.torch")  # imports onnx2pytorch, without torchvision

from opcheck.backends.torch import Torch
from opcheck.harness.backend import Unsupported
from opcheck.harness.dtypes import element_type

HEADER = '<ir_version: 10, opset_import: ["" : 23]>\n'
BYTES = np.arange(256, dtype=np.uint8)


@pytest.fixture(scope="module")
def backend() -> Torch:
    return Torch()


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
        ("complex64", np.array([1 + 2j, -0.0j], np.complex64)),
        ("complex128", np.array([0.1 + 2j, np.inf])),
        ("bfloat16", np.array([1.5, -0.0, 3e38], ml_dtypes.bfloat16)),
        ("float8e4m3fn", BYTES.view(ml_dtypes.float8_e4m3fn)),
        ("float8e4m3fnuz", BYTES.view(ml_dtypes.float8_e4m3fnuz)),
        ("float8e5m2", BYTES.view(ml_dtypes.float8_e5m2)),
        ("float8e5m2fnuz", BYTES.view(ml_dtypes.float8_e5m2fnuz)),
        ("float8e8m0", BYTES.view(ml_dtypes.float8_e8m0fnu)),
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


def test_strings_sequences_and_optionals(backend):
    """Strings are arrays of objects, sequences lists, an empty optional None."""
    strings = np.array(["a", "é", ""], object)
    (result,) = run(backend, identity("string[3]"), x=strings)
    assert result.tolist() == strings.tolist()
    pair = [np.ones(2, np.float32), np.zeros(3, np.float32)]
    (result,) = run(backend, identity("seq(float[?])"), x=pair)
    assert [r.tolist() for r in result] == [[1, 1], [0, 0, 0]]
    text = "g (optional(float[2]) x) => (bool y) { y = OptionalHasElement(x) }"
    assert run(backend, text, x=pair[0])[0].tolist() is True


def test_the_dtype_is_the_one_it_gives(backend):
    """Range of int32 comes as int64; nothing hides that."""
    text = "g (int32 a, int32 b, int32 c) => (int32[N] y) { y = Range(a, b, c) }"
    feeds = {n: np.array(v, np.int32) for n, v in {"a": 10, "b": 6, "c": -3}.items()}
    assert run(backend, text, **feeds)[0].dtype == np.int64


def test_inputs_go_by_name(backend):
    """Not by order."""
    one, two = np.array([1.0], np.float32), np.array([2.0], np.float32)
    text = "g (float[1] a, float[1] b) => (float[1] y, float[1] z) { y = Sub(a, b) z = Neg(b) }"
    assert [r.tolist() for r in run(backend, text, b=two, a=one)] == [[-1], [-2]]


def test_the_inputs_of_a_case_stay_as_they_are(backend):
    """Modules that work in place do so on copies, of strided and of read-only arrays too."""
    value = np.arange(-4, 4, dtype=np.float32)[::-2]
    value.flags.writeable = False
    (result,) = run(backend, "g (float[4] x) => (float[4] y) { y = Relu(x) }", x=value)
    assert result.tolist() == [3, 1, 0, 0]
    assert value.tolist() == [3, 1, -1, -3]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param(identity("int4[2]"), np.zeros(2, ml_dtypes.int4), id="int4"),
        pytest.param(identity("uint4[2]"), np.zeros(2, ml_dtypes.uint4), id="uint4"),
        pytest.param(identity("float4e2m1[2]"), np.zeros(2, ml_dtypes.float4_e2m1fn), id="float4"),
        pytest.param(identity("float[2]"), {"a": 1.0}, id="map"),
        pytest.param(
            "g (uint32[2] x) => (uint32[2] y) { y = Add(x, x) }",
            np.zeros(2, np.uint32),
            id="no-kernel",
        ),
        pytest.param(
            identity("float[2]").replace("Identity", "NoSuchOperator"),
            np.zeros(2, np.float32),
            id="no-operator",
        ),
    ],
)
def test_what_is_not_implemented_is_unsupported(backend, text, value):
    """A missing kernel, operator or type is never an ordinary error."""
    with pytest.raises(Unsupported):
        run(backend, text, x=value)


def test_a_wrong_call_is_an_error_and_not_unsupported(backend):
    """Refusing what the specification forbids is no missing implementation."""
    text = "g (float[2,3] a, float[2,3] b) => (float[2,3] y) { y = MatMul(a, b) }"
    matrix = np.ones((2, 3), np.float32)
    with pytest.raises(RuntimeError, match="shapes") as caught:
        run(backend, text, a=matrix, b=matrix)
    assert not isinstance(caught.value, Unsupported)
