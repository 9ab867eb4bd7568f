"""The runtimes that opcheck can run: one file each, imported only when used.

A backend is named ``kind`` or ``kind:argument``.
Other packages add kinds with the entry-point group ``opcheck.backends``; an entry is a function
from the argument (empty if there is none) to a ``Backend``.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..harness.backend import Backend

ENTRY_POINTS = "opcheck.backends"
#: The function by which worker processes make their backend.
FACTORY = f"{__name__}:create"


class UnknownBackend(ValueError):
    """No backend has this name."""


class CannotRun(Exception):
    """The backend is known and cannot run here; the message says how to change that."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A backend kind: where its class is, the module it needs, and how to install that."""

    name: str
    module: str
    factory: str
    needs: str
    install: str
    about: str


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "builtin",
            ".builtin",
            "Builtin",
            "onnx",
            "pip install opcheck",
            "the built-in NumPy kernels, the oracle",
        ),
        Kind(
            "reference",
            ".reference",
            "Reference",
            "onnx",
            "pip install opcheck",
            "onnx's own ReferenceEvaluator",
        ),
        Kind(
            "onnxruntime",
            ".onnxruntime",
            "OnnxRuntime",
            "onnxruntime",
            "pip install 'opcheck[onnxruntime]'",
            "ONNX Runtime; onnxruntime:PROVIDER picks an execution provider",
        ),
        Kind(
            "openvino",
            ".openvino",
            "OpenVino",
            "openvino",
            "pip install 'opcheck[openvino]'",
            "OpenVINO on the CPU in float32; openvino:default leaves the precision to it",
        ),
        Kind(
            "opencv",
            ".opencv",
            "OpenCv",
            "cv2",
            "pip install 'opcheck[opencv]'",
            "OpenCV's dnn module",
        ),
        Kind(
            "torch",
            ".torch",
            "Torch",
            "onnx2pytorch",
            "pip install torch && python -m pip install --no-deps onnx2pytorch",
            "PyTorch, by way of onnx2pytorch",
        ),
        Kind(
            "tinygrad",
            ".tinygrad",
            "Tinygrad",
            "tinygrad",
            "pip install 'opcheck[tinygrad]'",
            "tinygrad; it compiles with clang, or interprets (DEV=PYTHON)",
        ),
        Kind(
            "tract",
            ".tract",
            "Tract",
            "tract",
            "pip install 'opcheck[tract]'",
            "tract; tract:constants gives it shape-like inputs as initializers",
        ),
        Kind(
            "tvm",
            ".tvm",
            "Tvm",
            "tvm",
            "pip install 'opcheck[tvm]'",
            "Apache TVM; tvm:constants gives it shape-like inputs as initializers",
        ),
        Kind(
            "iree",
            ".iree",
            "Iree",
            "iree",
            "pip install 'opcheck[iree]'",
            "IREE, compiled for any CPU",
        ),
        Kind(
            "onnx-backend",
            ".onnx_backend",
            "OnnxBackend",
            "onnx",
            "pip install opcheck",
            "a module with ONNX's Backend class: onnx-backend:MODULE[:CLASS]",
        ),
        Kind(
            "command",
            ".command",
            "Command",
            "onnx",
            "pip install opcheck",
            "any program in any language: command:PROGRAM ARGS",
        ),
    )
}


def check(name: str) -> None:
    """Raise ``UnknownBackend``, or ``CannotRun`` where the runtime is not installed.

    Nothing is imported: a runtime belongs into a worker process.
    """
    kind = KINDS.get(name.partition(":")[0])
    if kind is None:
        _entry_point(name)
    elif importlib.util.find_spec(kind.needs) is None:
        raise CannotRun(
            f"the backend {kind.name} needs the package {kind.needs}, which is not installed; "
            f"install it with: python -m {kind.install}"
        )


def create(name: str) -> Backend:
    """Return the backend of a name.

    Raises ``UnknownBackend``, or ``CannotRun`` where its runtime is missing or refuses to start.
    """
    check(name)
    kind = KINDS.get(name.partition(":")[0])
    argument = name.partition(":")[2]
    try:
        if kind is None:
            factory: Callable[[str], Backend] = _entry_point(name).load()
            return factory(argument)
        module = importlib.import_module(kind.module, __package__)
        backend: Backend = getattr(module, kind.factory)(argument)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        raise CannotRun(f"the backend {name} cannot start here: {said}") from error
    return backend


def _entry_point(name: str) -> importlib.metadata.EntryPoint:
    kind = name.partition(":")[0]
    for entry in importlib.metadata.entry_points(group=ENTRY_POINTS, name=kind):
        return entry
    known = ", ".join([*KINDS, *sorted(third_party())])
    raise UnknownBackend(f"no backend is called {kind!r}; there are {known}")


def third_party() -> list[str]:
    """Return the kinds that other packages add."""
    return [entry.name for entry in importlib.metadata.entry_points(group=ENTRY_POINTS)]


def is_isolated(name: str) -> bool:
    """Whether a backend runs in worker processes."""
    return name != "builtin"


def create_here(name: str, time_limit: float, memory_limit: int | None) -> Backend | None:
    """Return a backend that runs in this process, ``None`` where ``name`` needs its own.

    Args: time_limit, in seconds, and memory_limit, in bytes, for each case; opcheck's own process
    cannot be stopped from outside.
    """
    if is_isolated(name):
        return None
    module = importlib.import_module(KINDS[name].module, __package__)
    backend: Backend = module.Builtin(time_limit=time_limit, memory_limit=memory_limit)
    return backend
