"""OpenCV's dnn module."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np
from onnx import ModelProto, TensorProto

from ..harness.backend import Runner, Unsupported
from ..harness.case import Value

cv2: Any = importlib.import_module("cv2")

#: Error code of OpenCV's ``StsNotImplemented``.
_NOT_IMPLEMENTED = -213

#: What the other messages of a missing implementation have in common.
_MISSING = re.compile(
    r"Can't create layer|typeProto.has_tensor_type|not implemented|(is|are) not supported|"
    r"[Uu]nsupported (input/output|data) type"
)


class OpenCv:
    """Runs models with ``cv2.dnn``, on one thread.

    Its new engine reads a model first; what that refuses, the classic one tries.
    A 64-bit integer goes through an int32 inside.
    A float16 result comes as float32, and bfloat16 as its bits.
    """

    name = "opencv"

    def __init__(self, argument: str = "") -> None:
        if argument:
            raise ValueError(f"it takes no argument, and was given {argument!r}")
        cv2.setNumThreads(1)
        cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)

    def version(self) -> str:
        """Return the version of opencv."""
        return str(cv2.__version__)

    def prepare(self, model: ModelProto) -> Runner:
        """Read a model."""
        outputs = [output.name for output in model.graph.output]
        bfloat16 = {
            output.name
            for output in model.graph.output
            if output.type.tensor_type.elem_type == TensorProto.BFLOAT16
        }
        with _translated():
            net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))

        def run(feeds: Mapping[str, Value]) -> Sequence[Value]:
            with _translated():
                for name, value in feeds.items():
                    if not isinstance(value, np.ndarray):
                        raise Unsupported(f"the input {name} is no tensor")
                    net.setInput(value, name)
                results = list(net.forward(outputs))
            if any(result is None for result in results):
                raise Unsupported("an empty tensor comes back as None, without its shape")
            return [
                r.view(ml_dtypes.bfloat16) if r.dtype == np.uint16 and name in bfloat16 else r
                for name, r in zip(outputs, results, strict=True)
            ]

        return run


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the errors that say "not implemented" into ``Unsupported``."""
    try:
        yield
    except cv2.error as error:
        if error.code == _NOT_IMPLEMENTED or _MISSING.search(str(error)):
            raise Unsupported(str(error)) from error
        raise
