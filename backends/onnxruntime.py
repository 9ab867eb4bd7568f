"""ONNX Runtime."""

from __future__ import annotations

import ctypes
import importlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray
from onnx import ModelProto
from onnxruntime.capi import onnxruntime_pybind11_state as errors

from ..harness.backend import Runner, Unsupported
from ..harness.case import Value
from ..harness.dtypes import ElementType, element_type, element_type_of, element_type_of_number

#: Element types that ONNX Runtime takes and gives as NumPy arrays; others go through OrtValue.
NATIVE = frozenset(
    """
    bool float16 float32 float64 int8 int16 int32 int64 string uint8 uint16 uint32 uint64
    """.split()
)

#: Providers that come as plugins: the module that has the library, by the provider's name.
PLUGINS = {"OpenVINOExecutionProvider": "onnxruntime_ep_openvino", "cpu_ep": "nxrt_ep_cpu"}

#: What the messages of a missing implementation have in common.
_MISSING = re.compile(
    r"NOT_IMPLEMENTED|not a registered function/op|No Op registered for|"
    r"not currently registered or supported|Unsupported model IR version|"
    r"is under development and support for this is limited|data type .* is not supported|"
    r"assigned to the default CPU EP, but fallback"
)


class OnnxRuntime:
    """Runs models with onnxruntime, one thread per session.

    ``argument`` names an execution provider; with one, the fallback to the CPU is off, so that
    the provider itself is judged.
    """

    name = "onnxruntime"

    def __init__(self, argument: str = "") -> None:
        ort.disable_telemetry_events()
        self.name = f"onnxruntime:{argument}" if argument else "onnxruntime"
        self.providers = argument.split(",") if argument else ["CPUExecutionProvider"]
        _register([p for p in self.providers if p in PLUGINS])
        available = ort.get_available_providers()
        missing = [p for p in self.providers if p not in available]
        if missing:
            raise ValueError(_absent(missing[0], available))
        self.options = ort.SessionOptions()
        self.options.intra_op_num_threads = 1
        self.options.inter_op_num_threads = 1
        self.options.log_severity_level = 4
        if self.providers != ["CPUExecutionProvider"]:
            self.options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")

    def version(self) -> str:
        """Return the version of onnxruntime."""
        return str(ort.__version__)

    def prepare(self, model: ModelProto) -> Runner:
        """Open a session."""
        with _translated():
            session = ort.InferenceSession(
                model.SerializeToString(),
                self.options,
                providers=self.providers,
                enable_fallback=0,
            )
        names = [output.name for output in session.get_outputs()]
        types = [value.type for value in (*session.get_inputs(), *session.get_outputs())]
        if all(_is_native(text) for text in types):

            def run(feeds: Mapping[str, Value]) -> Sequence[Value]:
                with _translated():
                    return list(session.run(names, dict(feeds)))

            return run

        def run_by_value(feeds: Mapping[str, Value]) -> Sequence[Value]:
            with _translated():
                given = {name: _to_ort(value) for name, value in feeds.items()}
                return [_from_ort(v) for v in session.run_with_ort_values(names, given)]

        return run_by_value


def _register(plugins: Sequence[str]) -> None:
    """Make the libraries of plugin providers known to this process, each once."""
    for name in plugins:
        if name not in ort.get_available_providers():
            try:
                library = importlib.import_module(PLUGINS[name]).get_library_path()
            except ImportError:
                package = PLUGINS[name].replace("_", "-")
                seen = f"the provider {name} comes with a package that is not installed"
                hint = f"install it with: python -m pip install {package}"
                raise ValueError(f"{seen}; {hint}") from None
            with suppress(errors.Fail):  # it is registered, and finds no device
                ort.register_execution_provider_library(name, library)


def _absent(provider: str, available: Sequence[str]) -> str:
    """Say why a provider is not there; a plugin offers itself only for devices it knows."""
    there = ", ".join(available)
    if provider in PLUGINS:
        return f"the plugin {provider} finds no device of its own here; there are {there}"
    return f"no provider {provider}; there are {', '.join([there, *PLUGINS])}"


def _is_native(text: str) -> bool:
    """Tell whether NumPy can hold a type such as ``seq(tensor(float))``."""
    try:
        return all(
            element_type(word).name in NATIVE
            for word in re.findall(r"\w+", text)
            if word not in ("seq", "tensor", "optional", "map")
        )
    except KeyError:
        return False


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the errors that say "not implemented" into ``Unsupported``."""
    try:
        yield
    except errors.NotImplemented as error:
        raise Unsupported(str(error)) from error
    except Exception as error:
        if _MISSING.search(str(error)):
            raise Unsupported(str(error)) from error
        raise


def _to_ort(value: Value) -> Any:
    """Make an OrtValue of a tensor of any element type."""
    if not isinstance(value, np.ndarray):
        raise Unsupported("sequences and optionals beside element types that NumPy lacks")
    element = element_type_of(value.dtype)
    assert element is not None
    if element.name == "string":
        raise Unsupported("strings beside element types that NumPy lacks: no OrtValue takes them")
    if element.name in NATIVE:
        return ort.OrtValue.ortvalue_from_numpy(value)
    target = ort.OrtValue.ortvalue_from_shape_and_type(list(value.shape), element.number)
    raw = _pack(value, element)
    if raw:
        ctypes.memmove(target.data_ptr(), raw, len(raw))
    return target


def _from_ort(value: Any) -> Value:
    """Make an array of an OrtValue of any element type."""
    if not value.is_tensor():
        return value.numpy() if value.has_value() else None
    element = element_type_of_number(value.element_type())
    assert element is not None
    if element.name in NATIVE:
        return value.numpy()
    size = value.tensor_size_in_bytes()
    raw = ctypes.string_at(value.data_ptr(), size) if size else b""
    return _unpack(raw, element, tuple(value.shape()))


def _pack(value: NDArray[Any], element: ElementType) -> bytes:
    """Return the bytes of a tensor as ONNX stores them: small integers share a byte."""
    if element.bits >= 8:
        return value.tobytes()
    per_byte = 8 // element.bits
    flat = value.reshape(-1).view(np.uint8) & np.uint8(2**element.bits - 1)
    padded = np.zeros(-(-flat.size // per_byte) * per_byte, np.uint8)
    padded[: flat.size] = flat
    packed = np.zeros(padded.size // per_byte, np.uint8)
    for k in range(per_byte):
        packed |= padded[k::per_byte] << np.uint8(k * element.bits)
    return packed.tobytes()


def _unpack(raw: bytes, element: ElementType, shape: tuple[int, ...]) -> NDArray[Any]:
    """Undo ``_pack``."""
    if element.bits >= 8:
        return np.frombuffer(raw, element.dtype).reshape(shape).copy()
    per_byte = 8 // element.bits
    packed = np.frombuffer(raw, np.uint8)
    bits = np.empty(packed.size * per_byte, np.uint8)
    for k in range(per_byte):
        bits[k::per_byte] = (packed >> np.uint8(k * element.bits)) & np.uint8(2**element.bits - 1)
    count = int(np.prod(shape, dtype=np.int64))
    if element.is_integer:
        values = bits.astype(np.int16)
        if element.name.startswith("int"):
            values[values >= 2 ** (element.bits - 1)] -= 2**element.bits
        return values[:count].astype(element.dtype).reshape(shape)
    return bits[:count].view(element.dtype).reshape(shape)
