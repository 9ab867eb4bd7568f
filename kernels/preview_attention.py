"""FlexAttention, of the domain ai.onnx.preview."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx

from .controlflow import Body
from .math import FLOAT64
from .nn_attention import softmax
from .nn_wide import precision, settle, widest
from .registry import kernel
from .rounding import Array


@kernel("FlexAttention", since_version=1, domain="ai.onnx.preview")
def flex_attention(
    q: Array,
    k: Array,
    v: Array,
    /,
    *,
    prob_mod: Body | None,
    scale: float | None,
    score_mod: Body | None,
    softmax_precision: int | None,
) -> Array:
    """Compute attention, with a body that changes scores and one that changes probabilities.

    Args: q, (batch, q heads, S, size); k, (batch, kv heads, L, size); v, (batch, kv heads, L,
    v size).
    Returns: (batch, q heads, S, v size), dtype of q.
    Raises: ``ValueError`` for shapes that do not fit, and for a body that takes or gives anything
    but one tensor of the same shape and type.
    Scores and probabilities have the type of ``softmax_precision``, without it float32, or float64
    for float64 inputs; they are rounded to it once each.
    A row of scores that are all minus infinity has a softmax of NaN: the text makes no exception.
    Source: FlexAttention-1, "Scores = (Q @ K^T) * scale".
    """
    _check_shapes(q, k, v)
    number = softmax_precision
    if number is None:
        number = onnx.TensorProto.DOUBLE if q.dtype == FLOAT64 else onnx.TensorProto.FLOAT
    dtype = precision(number, "softmax_precision")
    wide = widest(q)
    repeat = q.shape[1] // max(k.shape[1], 1)
    keys = np.repeat(k.astype(wide), repeat, axis=1)
    values = np.repeat(v.astype(wide), repeat, axis=1)
    factor = 1 / np.sqrt(wide.type(q.shape[3])) if scale is None else wide.type(scale)
    product = np.matmul(q.astype(wide), keys.transpose(0, 1, 3, 2))
    scores = _modified(settle(product * factor, dtype), score_mod, "score_mod")
    probabilities = settle(softmax(scores.astype(widest(scores))), dtype)
    probabilities = _modified(probabilities, prob_mod, "prob_mod")
    wide = widest(probabilities, v)
    return settle(np.matmul(probabilities.astype(wide), values.astype(wide)), q.dtype)


def _check_shapes(q: Array, k: Array, v: Array) -> None:
    fits = (
        q.ndim == k.ndim == v.ndim == 4
        and q.shape[0] == k.shape[0]
        and q.shape[3] == k.shape[3]
        and k.shape[:3] == v.shape[:3]
        and (q.shape[1] == k.shape[1] or (k.shape[1] and q.shape[1] % k.shape[1] == 0))
    )
    if not fits:
        raise ValueError(
            f"Q, K and V have the shapes {q.shape}, {k.shape}, {v.shape}: they must be of rank 4 "
            "and agree in the batch, Q and K in the size of a head, K and V in heads and length; "
            "and the heads of Q must be a multiple of those of K"
        )


def _modified(x: Array, body: Body | None, name: str) -> Array:
    """Return what a body makes of a tensor."""
    if body is None:
        return x
    if len(body.inputs) != 1 or len(body.outputs) != 1:
        raise ValueError(
            f"{name} has {len(body.inputs)} inputs and {len(body.outputs)} outputs: "
            "it must have one of each"
        )
    result: Any = body(x)[0]
    if not isinstance(result, np.ndarray) or (result.shape, result.dtype) != (x.shape, x.dtype):
        seen = f"{getattr(result, 'dtype', type(result).__name__)} {getattr(result, 'shape', '')}"
        raise ValueError(f"{name} gives {seen}: it must give {x.dtype} {x.shape}")
    return result
