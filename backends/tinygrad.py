"""tinygrad."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import shutil
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np
from onnx import ModelProto

from ..harness.backend import Runner, Unsupported
from ..harness.case import Value

# It reads its settings when it is imported: its compiler, no cache in the home directory,
# one thread. Without clang its own interpreter computes the same, more slowly.
os.environ.setdefault("DEV", "CPU" if shutil.which("clang") else "PYTHON")
os.environ.setdefault("CACHELEVEL", "0")
os.environ.setdefault("NUM_CPU_THREADS", "1")
os.environ.setdefault("PARALLEL", "0")
tinygrad: Any = importlib.import_module("tinygrad")
frontend: Any = importlib.import_module("tinygrad.nn.onnx")

#: What the messages of a missing implementation have in common, and those of wrong values do not.
_MISSING = re.compile(
    r"not (yet )?(supported(?! between)|implemented)|unsupported(?! operand)|must be installed|"
    r"is not a valid (OnnxDataType|Domain|AttributeType)",
    re.IGNORECASE,
)


class Tinygrad:
    """Runs models with tinygrad, on the device that the environment variable ``DEV`` names.

    Without it that is the CPU, for which clang compiles every kernel (bfloat16 from clang 15 on).
    """

    name = "tinygrad"

    def __init__(self, argument: str = "") -> None:
        if argument:
            raise ValueError(f"it takes no argument, and was given {argument!r}")

    def version(self) -> str:
        """Return the version of tinygrad."""
        return importlib.metadata.version("tinygrad")

    def prepare(self, model: ModelProto) -> Runner:
        """Read a model.

        A runner remembers shape-like inputs of its first call, so that each call gets its own.
        """
        raw = model.SerializeToString()
        with _translated():
            _load(raw)

        def run(feeds: Mapping[str, Value]) -> Sequence[Value]:
            with _translated():
                runner = _load(raw)
                results = runner({name: _to_tinygrad(value) for name, value in feeds.items()})
                return [_from_tinygrad(results[name]) for name in runner.graph_outputs]

        return run


def _load(raw: bytes) -> Any:
    return frontend.OnnxRunner(tinygrad.Tensor(raw, device="PYTHON"))


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the errors that say "not implemented" into ``Unsupported``; hold back warnings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except NotImplementedError as error:
        raise Unsupported(str(error) or "NotImplementedError") from error
    except Exception as error:
        if _MISSING.search(str(error)) and not isinstance(error, Unsupported):
            raise Unsupported(str(error)) from error
        raise


def _to_tinygrad(value: Value) -> Any:
    """Make tensors; bfloat16 goes in by its bits."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [_to_tinygrad(v) for v in value]
    if not isinstance(value, np.ndarray):
        raise Unsupported("tinygrad has no maps")
    copied = np.array(value, order="C")
    if value.dtype == ml_dtypes.bfloat16:
        return tinygrad.Tensor(copied.view(np.uint16)).bitcast(tinygrad.dtypes.bfloat16)
    if value.dtype.kind not in "biuf":
        raise Unsupported(f"tinygrad has no tensors of {value.dtype}")
    return tinygrad.Tensor(copied)


def _from_tinygrad(value: Value) -> Value:
    """Make arrays of tensors; bfloat16 comes out by its bits."""
    if isinstance(value, (list, tuple)):
        return [_from_tinygrad(v) for v in value]
    if not isinstance(value, tinygrad.Tensor):
        # Size gives a Python int.
        return np.asarray(value) if isinstance(value, (bool, int, float)) else value
    if value.dtype == tinygrad.dtypes.bfloat16:
        return value.bitcast(tinygrad.dtypes.uint16).numpy().view(ml_dtypes.bfloat16)
    return value.numpy()
