"""Any module with ONNX's standard Python interface, ``onnx.backend.base.Backend``."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from onnx import ModelProto
from onnx.backend.base import Backend as Base

from ..harness.backend import Runner, Unsupported
from ..harness.case import Value

_DEVICE = "CPU"

#: The exceptions, by name, with which implementations opt out; the first is onnx's own.
_OPT_OUTS = re.compile(r"BackendIsNotSupposedToImplementIt|Unsupported|NotImplemented")

#: What their other messages of a missing implementation have in common.
_MISSING = re.compile(
    r"not (yet )?(supported|implemented)|unsupported|only supports", re.IGNORECASE
)


class OnnxBackend:
    """Runs models with the interface of a module, on the device ``CPU``.

    ``argument`` is ``MODULE`` or ``MODULE:CLASS``.
    Without a class it is the module's own ``prepare``, or else the ``Backend`` in it.
    What a runtime reads from the environment is the caller's to set: jaxonnxruntime needs
    ``JAX_ENABLE_X64=1`` to know 64-bit types, emx-onnx-cgen a ``CC`` that knows ``_BitInt``.
    """

    name = "onnx-backend"

    def __init__(self, argument: str = "") -> None:
        module, _, chosen = argument.partition(":")
        if not module:
            raise ValueError("it needs a module: onnx-backend:MODULE")
        self.name = f"onnx-backend:{argument}"
        self.module = module
        self.interface = _interface(importlib.import_module(module), chosen)
        supports = getattr(self.interface, "supports_device", None)
        if supports is not None and not supports(_DEVICE):
            raise ValueError(f"{argument} does not support the device {_DEVICE}")

    def version(self) -> str:
        """Return the version of the distribution that holds the module."""
        top = self.module.partition(".")[0]
        names = importlib.metadata.packages_distributions().get(top, [])
        if names:
            return importlib.metadata.version(names[0])
        return str(getattr(importlib.import_module(top), "__version__", "unknown"))

    def prepare(self, model: ModelProto) -> Runner:
        """Hand a model to ``prepare``, where ``is_compatible`` has nothing against it."""
        with _translated():
            compatible = getattr(self.interface, "is_compatible", None)
            if compatible is not None and not compatible(model, _DEVICE):
                raise Unsupported("is_compatible says no")
            opset_supported = getattr(self.interface, "is_opset_supported", None)
            if opset_supported is not None:
                supported, reason = opset_supported(model)
                if not supported:
                    raise Unsupported(str(reason))
            call = self._prepared(model)
        names = [value.name for value in model.graph.input]

        def run(feeds: Mapping[str, Value]) -> Sequence[Value]:
            with _translated():
                return [_plain(v) for v in call([feeds[n] for n in names if n in feeds])]

        return run

    def _prepared(self, model: ModelProto) -> Callable[[list[Value]], Sequence[Value]]:
        """Return a function from inputs in order to outputs.

        The items of a sequence have their shapes only when they are there: such models go to
        ``run_model``, which sees the inputs before it compiles.
        """
        run_model = getattr(self.interface, "run_model", None)
        tensors_only = all(v.type.HasField("tensor_type") for v in model.graph.input)
        if run_model is not None and not tensors_only:
            return lambda inputs: run_model(model, inputs, _DEVICE)
        prepared = self.interface.prepare(model, _DEVICE)
        if prepared is None:
            raise Unsupported("prepare returns None")
        return lambda inputs: prepared.run(inputs)


def _interface(module: Any, chosen: str) -> Any:
    """Return the object of a module that has ``prepare``."""
    if chosen:
        return getattr(module, chosen)
    if callable(getattr(module, "prepare", None)):
        # A module usually exports the bound methods of its class, and not all of them.
        owner = getattr(module.prepare, "__self__", None)
        return owner if callable(getattr(owner, "prepare", None)) else module
    found = [
        thing
        for thing in vars(module).values()
        if isinstance(thing, type) and issubclass(thing, Base) and thing is not Base
    ]
    own = [kind for kind in found if kind.__module__ == module.__name__] or found
    if len(own) == 1:
        return own[0]
    names = ", ".join(kind.__name__ for kind in own) or "none"
    raise ValueError(
        f"{module.__name__} has no function prepare, and not one onnx Backend but {names}; "
        f"name it: onnx-backend:{module.__name__}:CLASS"
    )


def _plain(value: Value) -> Value:
    """Make NumPy arrays of arrays that belong to the runtime."""
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return np.asarray(value) if hasattr(value, "__array__") else value


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the ways to say "not implemented" into ``Unsupported``."""
    try:
        yield
    except Unsupported:
        raise
    except Exception as error:
        kinds = (kind.__name__ for kind in type(error).__mro__)
        if any(map(_OPT_OUTS.search, kinds)) or _MISSING.search(str(error)):
            raise Unsupported(str(error) or type(error).__name__) from error
        raise
