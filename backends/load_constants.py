"""Some runtimes take shapes, axes and the like only when they load a model, not as inputs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import ModelProto, numpy_helper

from ..harness.case import Value


def with_constants(
    model: ModelProto, feeds: Mapping[str, Value], positions: Mapping[str, tuple[int, ...]]
) -> ModelProto:
    """Return the model with some of its inputs as initializers.

    ``positions`` names them: by operator, the places of the inputs that must be known.
    """
    names = {
        node.input[position]
        for node in model.graph.node
        if node.domain in ("", "ai.onnx")
        for position in positions.get(node.op_type, ())
        if position < len(node.input)
    }
    fixed = {n: v for n, v in feeds.items() if n in names and isinstance(v, np.ndarray)}
    result = ModelProto()
    result.CopyFrom(model)
    result.graph.ClearField("input")
    result.graph.input.extend(i for i in model.graph.input if i.name not in fixed)
    result.graph.initializer.extend(numpy_helper.from_array(v, n) for n, v in fixed.items())
    return result
