"""The onnxruntime backend, with the real onnxruntime."""

from __future__ import annotations

import importlib.util

import ml_dtypes
import numpy as np
import onnx.parser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opcheck.backends import CannotRun, create
from opcheck.backends.onnxruntime import OnnxRuntime, _pack, _unpack
from opcheck.harness.backend import Unsupported
from opcheck.harness.dtypes import ELEMENT_TYPES, element_type


@pytest.fixture(scope="module")
def backend() -> OnnxRuntime:
    return OnnxRuntime()


def run(backend, text: str, **feeds):
    return list(backend.prepare(onnx.parser.parse_model(text))(feeds))


def identity(type_text: str, opset: int = 13, ir: int = 8) -> str:
    return (
        f'<ir_version: {ir}, opset_import: ["" : {opset}]>\n'
        f"g ({type_text} x) => ({type_text} y) {{ y = Identity(x) }}"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("float32", np.array([1.5, -0.0, np.nan, np.inf], np.float32)),
        ("float64", np.array([0.1, 2.0**-1074], np.float64)),
        ("float16", np.array([65504.0, 6e-8], np.float16)),
        ("int64", np.array([2**63 - 1, -(2**63)], np.int64)),
        ("uint64", np.array([2**64 - 1, 2**53 + 1], np.uint64)),
        ("int8", np.array([-128, 127], np.int8)),
        ("bool", np.array([True, False])),
        ("string", np.array(["a", "é", ""], object)),
        ("bfloat16", np.array([1.5, -0.0, 3e38], ml_dtypes.bfloat16)),
    ],
)
def test_values_arrive_and_return_bit_by_bit(backend, name, value):
    """Identity gives back the same bits in the same type."""
    size = value.size
    (result,) = run(backend, identity(f"{element_type(name).text}[{size}]"), x=value)
    assert result.dtype == value.dtype
    assert result.shape == value.shape
    assert result.tolist() == value.tolist() or result.tobytes() == value.tobytes()


@pytest.mark.parametrize("name", ["float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"])
def test_float8_goes_through_its_own_door(backend, name):
    """All bit patterns of the float8 types survive."""
    element = element_type(name)
    value = np.arange(256, dtype=np.uint8).view(element.dtype)
    (result,) = run(backend, identity(f"{element.text}[256]", 19, 9), x=value)
    assert result.dtype == element.dtype
    assert result.tobytes() == value.tobytes()


@pytest.mark.parametrize(("name", "low", "high"), [("int4", -8, 8), ("uint4", 0, 16)])
def test_four_bit_integers_are_packed_and_unpacked(backend, name, low, high):
    """Odd and even counts of 4-bit integers arrive as themselves."""
    element = element_type(name)
    for stop in (high, high - 1):
        value = np.arange(low, stop).astype(element.dtype)
        text = (
            '<ir_version: 10, opset_import: ["" : 21]>\n'
            f"g ({name}[{value.size}] x) => (int8[{value.size}] y, {name}[{value.size}] z)"
            f" {{ y = Cast<to = 3>(x) z = Cast<to = {element.number}>(y) }}"
        )
        y, z = run(backend, text, x=value)
        assert y.tolist() == list(range(low, stop))
        assert z.dtype == element.dtype
        assert z.astype(np.int8).tolist() == list(range(low, stop))


def test_zero_elements_of_a_type_that_numpy_lacks(backend):
    """An empty tensor has no bytes to copy, and keeps its shape."""
    value = np.zeros((0, 3), ml_dtypes.bfloat16)
    (result,) = run(backend, identity("bfloat16[0,3]"), x=value)
    assert (result.shape, result.dtype) == ((0, 3), value.dtype)


def test_sequences_and_optionals(backend):
    """A sequence is a list, an empty optional is None."""
    one, two = np.ones(2, np.float32), np.zeros(3, np.float32)
    (result,) = run(backend, identity("seq(float[?])", 16), x=[one, two])
    assert [r.tolist() for r in result] == [[1, 1], [0, 0, 0]]
    (result,) = run(backend, identity("optional(float[2])", 16), x=None)
    assert result is None
    (result,) = run(backend, identity("optional(float[2])", 16), x=one)
    assert result.tolist() == [1, 1]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(identity("complex64[2]"), id="complex"),
        pytest.param(identity("int4[2]", 21, 10), id="no-kernel"),
        pytest.param(identity("float[2]", 13, 99), id="ir-version"),
        pytest.param(identity("float[2]").replace("Identity", "NoSuchOperator"), id="no-operator"),
    ],
)
def test_what_is_not_implemented_is_unsupported(backend, text):
    """A missing kernel, operator or type is never an ordinary error."""
    with pytest.raises(Unsupported):
        run(backend, text, x=np.zeros(2, np.float32))


def test_a_wrong_model_is_an_error_and_not_unsupported(backend):
    """Refusing what the specification forbids is no missing implementation."""
    header = '<ir_version: 8, opset_import: ["" : 16]>'
    text = f"{header} g (float16 a) => (float16[N] y) {{ y = Range(a, a, a) }}"
    with pytest.raises(Exception, match="INVALID_GRAPH") as caught:
        run(backend, text, a=np.array(1, np.float16))
    assert not isinstance(caught.value, Unsupported)


def test_an_unknown_provider_cannot_run():
    """The providers that are there are named."""
    with pytest.raises(CannotRun, match="CPUExecutionProvider"):
        create("onnxruntime:NoSuchProvider")


def test_a_plugin_provider_that_is_not_installed_names_its_package():
    """The message has the line that installs it."""
    pytest.importorskip("onnxruntime")
    if importlib.util.find_spec("nxrt_ep_cpu") is not None:
        pytest.skip("the plugin is installed")
    with pytest.raises(CannotRun, match="pip install nxrt-ep-cpu"):
        create("onnxruntime:cpu_ep")


SMALL = [t for t in ELEMENT_TYPES.values() if t.bits < 8 and t.name != "string"]


@settings(deadline=None, max_examples=100)
@given(st.data())
def test_packing_is_undone_by_unpacking(data):
    """For every type of fewer than 8 bits and any count."""
    element = data.draw(st.sampled_from(SMALL))
    patterns = data.draw(st.lists(st.integers(0, 2**element.bits - 1), max_size=9))
    if element.name.startswith("int"):
        half = 2 ** (element.bits - 1)
        value = np.array([p - 2 * half if p >= half else p for p in patterns], np.int8)
        value = value.astype(element.dtype)
    else:
        value = np.array(patterns, np.uint8).view(element.dtype)
    raw = _pack(value, element)
    assert len(raw) == -(-len(patterns) * element.bits // 8) or element.bits == 6
    again = _unpack(raw, element, value.shape)
    assert again.dtype == value.dtype
    assert again.tobytes() == value.tobytes()


def test_small_integers_share_a_byte_low_bits_first():
    """The layout of ONNX: the first element in the low bits."""
    assert _pack(np.array([1, -2, 3], ml_dtypes.int4), element_type("int4")) == bytes([0xE1, 0x03])
    assert _pack(np.array([1, 2, 3], ml_dtypes.uint2), element_type("uint2")) == bytes([0b111001])


def test_strings_beside_a_type_that_numpy_lacks_are_unsupported(backend):
    """No OrtValue takes strings: the runtime is not to blame, and the case is not an error."""
    text = """<ir_version: 8, opset_import: ["": 13]>
        g (string[2] x) => (bfloat16[2] y) { y = Cast <to = 16> (x) }"""
    with pytest.raises(Unsupported, match="no OrtValue takes them"):
        run(backend, text, x=np.array(["1", "2"], object))
