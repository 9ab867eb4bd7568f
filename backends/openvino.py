"""OpenVINO's CPU plugin."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, numpy_helper

from ..harness.backend import Runner, Unsupported
from ..harness.case import Value
from ..harness.dtypes import ELEMENT_TYPES, element_type_of

# Importing openvino sends a usage event; without this module it takes its own silent stub.
sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
ov: Any = importlib.import_module("openvino")

#: Element types that NumPy lacks, under OpenVINO's names; the bytes are laid out as ONNX's.
_BY_BYTES = {
    "bfloat16": "bf16",
    "float8e4m3fn": "f8e4m3",
    "float8e5m2": "f8e5m2",
    "float8e8m0": "f8e8m0",
    "float4e2m1": "f4e2m1",
    "int4": "i4",
    "uint4": "u4",
}

_PRECISION = {"": {"INFERENCE_PRECISION_HINT": "f32"}, "default": {}}


class OpenVino:
    """Runs models with OpenVINO on the CPU, one thread per model.

    It is told to compute in float32.
    With the argument ``default`` it is not, and takes bfloat16 where the processor is fast at it.
    The CPU plugin computes int64 as int32, whatever it is told.
    """

    name = "openvino"

    def __init__(self, argument: str = "") -> None:
        if argument not in _PRECISION:
            raise ValueError(f"its only argument is 'default', and it was given {argument!r}")
        self.name = f"openvino:{argument}" if argument else "openvino"
        self.config = {"INFERENCE_NUM_THREADS": "1", "NUM_STREAMS": "1", **_PRECISION[argument]}
        self.core = ov.Core()

    def version(self) -> str:
        """Return the version of openvino."""
        return str(ov.__version__).partition("-")[0]

    def prepare(self, model: ModelProto) -> Runner:
        """Read and compile a model."""
        with _translated():
            network = self.core.read_model(model.SerializeToString())
            for port in network.inputs:
                if port.get_element_type().is_dynamic():
                    raise Unsupported(f"the input {port.any_name} is a sequence or an optional")
            compiled = self.core.compile_model(network, "CPU", self.config)
        ports = [(port, port.get_names()) for port in compiled.inputs]
        names = [value.name for value in model.graph.input]

        def run(feeds: Mapping[str, Value]) -> Sequence[Value]:
            # A request of its own: what it corrupts shows when it goes, in this case still.
            with _translated():
                request = compiled.create_infer_request()
                for port, name in _by_name(ports, [n for n in names if n in feeds]):
                    request.set_tensor(port, _to_openvino(feeds[name]))
                request.infer()
                return [_from_openvino(request.get_tensor(port)) for port in compiled.outputs]

        return run


def _by_name(ports: list[tuple[Any, set[str]]], names: list[str]) -> Iterator[tuple[Any, str]]:
    """Pair the inputs of a compiled model with names of the original.

    Inputs that nothing reads are gone, so that not every name has a place.
    An input that a Dropout passes through bears the name of the output; it gets what is left.
    """
    known = set().union(*(bears for _, bears in ports))
    rest = iter([name for name in names if name not in known])
    for port, bears in ports:
        yield port, next((name for name in names if name in bears), None) or next(rest)


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the errors that say "not implemented" into ``Unsupported``."""
    try:
        yield
    except Exception as error:
        if _MISSING.search(str(error)):
            raise Unsupported(str(error)) from error
        raise


#: What the messages of a missing implementation have in common.
_MISSING = re.compile(r"nsupported|(not|only) supported|(doesn't|does not) support|not implemented")


def _to_openvino(value: Value) -> Any:
    """Make a tensor of OpenVINO's; it owns its data."""
    if not isinstance(value, np.ndarray):
        raise Unsupported("OpenVINO takes tensors only")
    element = element_type_of(value.dtype)
    if element is None or element.name not in _BY_BYTES:
        return ov.Tensor(value.astype(str) if value.dtype.hasobject else np.array(value, order="C"))
    tensor = ov.Tensor(getattr(ov.Type, _BY_BYTES[element.name]), ov.Shape(value.shape))
    if value.size:
        raw = np.frombuffer(numpy_helper.from_array(value).raw_data, np.uint8)
        tensor.data.reshape(-1).view(np.uint8)[:] = raw
    return tensor


def _from_openvino(tensor: Any) -> Value:
    """Make an array of a tensor of OpenVINO's; it owns its data."""
    if tensor.element_type == ov.Type.string:
        return tensor.str_data.astype(object)
    for name, theirs in _BY_BYTES.items():
        if tensor.element_type == getattr(ov.Type, theirs):
            raw = tensor.data.tobytes() if tensor.size else b""
            number = ELEMENT_TYPES[name].number
            return numpy_helper.to_array(
                TensorProto(data_type=number, dims=list(tensor.shape), raw_data=raw)
            )
    return np.array(tensor.data)
