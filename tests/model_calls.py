"""What the tests of whole models share: models from text, tensors, and errors with their parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

from opcheck.kernels import Evaluator, InvalidModel, NodeError


def parsed(text: str, opset: int = 18) -> onnx.ModelProto:
    """Return the model of a graph in ONNX's text format."""
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}]> {text}')


def run(text: str, *, opset: int = 18, **feeds: Any) -> Any:
    """Return the outputs of a graph."""
    return Evaluator(parsed(text, opset)).run(feeds)


def assert_invalid(text: str, opset: int, *parts: str) -> None:
    """Expect an error from the constructor whose message has all parts."""
    with pytest.raises(InvalidModel) as caught:
        Evaluator(parsed(text, opset))
    assert_has(caught, parts)


def assert_fails(text: str, opset: int, feeds: dict[str, Any], *parts: str) -> None:
    """Expect a model that loads, and an error from the run whose message has all parts."""
    evaluator = Evaluator(parsed(text, opset))
    with pytest.raises(NodeError) as caught:
        evaluator.run(feeds)
    assert_has(caught, parts)


def assert_has(caught: pytest.ExceptionInfo[Exception], parts: tuple[str, ...]) -> None:
    """Expect all parts in the message of an error."""
    missing = [part for part in parts if part not in str(caught.value)]
    assert not missing, f"{missing} not in {caught.value}"


def f32(value: Any) -> Any:
    """Return a tensor of floats."""
    return np.array(value, np.float32)


def i64(value: Any) -> Any:
    """Return a tensor of integers."""
    return np.array(value, np.int64)
