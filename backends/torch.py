"""PyTorch, by way of onnx2pytorch."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import sys
import types
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from onnx import ModelProto

from ..harness.backend import Runner, Unsupported
from ..harness.case import Value
from ..harness.dtypes import ELEMENT_TYPES, element_type_of

#: Element types that NumPy lacks, under PyTorch's names; they go in and out by their bits.
_BY_BITS = {
    "bfloat16": "bfloat16",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
}

#: What the messages of a missing implementation have in common, and those of wrong values do not.
_MISSING = re.compile(
    r"not implemented|not (yet )?supported(?! between)|unsupported(?! (operand|range))|"
    r"can't convert np.ndarray of type|"
    r"module 'torch' has no attribute 'u?(float|int)|does not import the default ONNX domain",
    re.IGNORECASE,
)


class _Torchvision(types.ModuleType):
    """Stands in for torchvision where it is missing: whatever uses it is unsupported."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Torchvision(f"{self.__name__}.{name}")

    def __call__(self, *_: object, **__: object) -> Any:
        raise NotImplementedError(f"{self.__name__} is not installed")


def _without_torchvision() -> None:
    """Let onnx2pytorch be imported without torchvision, which it needs for a few operators.

    PyPI's torchvision does not load beside a PyTorch built for the CPU.
    """
    try:
        importlib.import_module("torchvision")
    except Exception:
        for name in ("torchvision", "torchvision.io", "torchvision.ops"):
            sys.modules[name] = _Torchvision(name)


torch: Any = importlib.import_module("torch")
_without_torchvision()
onnx2pytorch: Any = importlib.import_module("onnx2pytorch")


class Torch:
    """Runs models as the PyTorch modules that onnx2pytorch makes of them, on one thread."""

    name = "torch"

    def __init__(self, argument: str = "") -> None:
        if argument:
            raise ValueError(f"it takes no argument, and was given {argument!r}")
        torch.set_num_threads(1)

    def version(self) -> str:
        """Return the versions of both, since the faults of either show."""
        return f"{torch.__version__}, onnx2pytorch {importlib.metadata.version('onnx2pytorch')}"

    def prepare(self, model: ModelProto) -> Runner:
        """Convert a copy of a model."""
        copied = ModelProto()
        copied.CopyFrom(model)
        with _translated():
            module = onnx2pytorch.ConvertModel(copied, experimental=True).eval()

        def run(feeds: Mapping[str, Value]) -> Sequence[Value]:
            with _translated(), torch.no_grad():
                results = module(*(_to_torch(feeds[name]) for name in module.input_names))
                if len(module.output_names) == 1:
                    results = [results]
                return [_from_torch(result) for result in results]

        return run


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the errors that say "not implemented" into ``Unsupported``; hold back warnings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except NotImplementedError as error:
        raise Unsupported(str(error)) from error
    except (AttributeError, RuntimeError, TypeError, ValueError) as error:
        if _MISSING.search(str(error)):
            raise Unsupported(str(error)) from error
        raise


def _to_torch(value: Value) -> Any:
    """Make tensors that share nothing with the case; strings stay arrays, as onnx2pytorch's do."""
    if isinstance(value, dict):
        raise Unsupported("PyTorch has no maps")
    if isinstance(value, (list, tuple)):
        return [_to_torch(v) for v in value]
    if value is None or value.dtype.hasobject:
        return value
    copied = np.array(value, order="C")
    element = element_type_of(value.dtype)
    if element is not None and element.name in _BY_BITS:
        bits = torch.from_numpy(copied.view(f"u{value.itemsize}"))
        return bits.view(getattr(torch, _BY_BITS[element.name]))
    if value.dtype.kind == "V":
        raise Unsupported(f"PyTorch has no tensors of {value.dtype}")
    return torch.from_numpy(copied)


def _from_torch(value: Any) -> Value:
    """Make arrays of tensors."""
    if isinstance(value, (list, tuple)):
        return [_from_torch(v) for v in value]
    if not isinstance(value, torch.Tensor):
        return np.array(value, object) if isinstance(value, str) else value
    tensor = value.detach().resolve_conj().resolve_neg().contiguous()
    for name, theirs in _BY_BITS.items():
        if tensor.dtype == getattr(torch, theirs):
            dtype = ELEMENT_TYPES[name].dtype
            return tensor.view(getattr(torch, f"uint{8 * dtype.itemsize}")).numpy().view(dtype)
    return tensor.numpy()
