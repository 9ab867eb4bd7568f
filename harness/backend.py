"""What a backend is: something that runs ONNX models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from onnx import ModelProto

from .case import Value

Runner = Callable[[Mapping[str, Value]], Sequence[Value]]


class Unsupported(Exception):
    """The backend says that it does not implement an operator, a version of it, or a type."""


class Skipped(Exception):
    """Nothing can be learnt here: something optional is not installed; the message says what."""


class Backend(Protocol):
    """Runs ONNX models.

    ``prepare`` loads a model and returns a function from inputs by name to outputs in order.
    Both raise ``Unsupported`` for what is not implemented, ``Skipped`` for what cannot be tried
    here, and anything else for an error.
    """

    name: str

    def version(self) -> str:
        """Return the version of the runtime."""

    def prepare(self, model: ModelProto) -> Runner:
        """Load a model."""
