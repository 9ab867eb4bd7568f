"""onnx's own ReferenceEvaluator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import onnx
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import RuntimeImplementationError

from ..harness.backend import Runner, Unsupported
from ..harness.case import Value


class Reference:
    """Runs models with ``onnx.reference.ReferenceEvaluator``."""

    name = "reference"

    def __init__(self, argument: str = "") -> None:
        if argument:
            raise ValueError(f"it takes no argument, and was given {argument!r}")

    def version(self) -> str:
        """Return the version of onnx."""
        return str(onnx.__version__)

    def prepare(self, model: ModelProto) -> Runner:
        """Load a model."""
        with _translated():
            evaluator = ReferenceEvaluator(model)

        def run(feeds: Mapping[str, Value]) -> Sequence[Value]:
            with _translated():
                return [_strings(v) for v in evaluator.run(None, dict(feeds))]

        return run


def _strings(value: Value) -> Value:
    """Give strings the dtype they have everywhere else; some operators return NumPy's own."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "U":
        return value.astype(object)
    return [_strings(v) for v in value] if isinstance(value, list) else value


@contextmanager
def _translated() -> Iterator[None]:
    """Turn what the evaluator raises for a missing implementation into ``Unsupported``.

    It has no one exception for that: some operators raise a ``RuntimeError`` that says so.
    """
    try:
        yield
    except (NotImplementedError, RuntimeImplementationError) as error:
        raise Unsupported(str(error)) from error
    except RuntimeError as error:
        if "not implemented" in str(error) or "not supported" in str(error):
            raise Unsupported(str(error)) from error
        raise
