"""LinearAttention and RotaryEmbedding."""

from __future__ import annotations

import numpy as np

from .nn_wide import Dtype, check_shape, settle, widest
from .registry import kernel
from .rounding import Array

#: For each update rule: whether it reads ``decay``, and whether it reads ``beta``.
_RULES = {
    "linear": (False, False),
    "gated": (True, False),
    "delta": (False, True),
    "gated_delta": (True, True),
}


@kernel("LinearAttention", since_version=27)
def linear_attention(
    query: Array,
    key: Array,
    value: Array,
    past_state: Array | None = None,
    decay: Array | None = None,
    beta: Array | None = None,
    /,
    *,
    chunk_size: int,  # noqa: ARG001 - a hint for speed
    kv_num_heads: int,
    q_num_heads: int,
    scale: float,
    update_rule: str,
) -> tuple[Array, Array]:
    """Update a state for each token, and read it with the query.

    Args: query, (B, T, Hq * dk); key, (B, T, Hkv * dk); value, (B, T, Hkv * dv);
    past_state, (B, Hkv, dk, dv), omitted zeros; decay, logarithms, (B, T, Hkv * dk) or (B, T, Hkv);
    beta, (B, T, Hkv) or (B, T, 1).
    Returns: the output, (B, T, Hq * dv), dtype of query; the state, (B, Hkv, dk, dv), dtype of
    past_state, or without it that of query.
    Raises: ``ValueError`` for shapes that do not fit, an unknown rule, and a rule without the
    inputs that it reads; those that it does not read are ignored.
    The recurrence runs in float64, and each output is rounded once.
    Source: LinearAttention-27, "Equivalent to running the recurrent update sequentially".
    """
    if update_rule not in _RULES:
        raise ValueError(f"update_rule is {update_rule!r}: it must be one of {', '.join(_RULES)}")
    reads_decay, reads_beta = _RULES[update_rule]
    q = _heads(query, q_num_heads, "query")
    k, v = _heads(key, kv_num_heads, "key"), _heads(value, kv_num_heads, "value")
    if q_num_heads % kv_num_heads:
        raise ValueError(f"q_num_heads is {q_num_heads}: it must be a multiple of {kv_num_heads}")
    if q.shape[:2] != k.shape[:2] or k.shape[:3] != v.shape[:3] or q.shape[3] != k.shape[3]:
        raise ValueError(
            f"query, key and value have the shapes {query.shape}, {key.shape}, {value.shape}: "
            "they must agree in batch and length, query and key in the size of a head"
        )
    gates = np.exp(_decay(decay, k, update_rule)) if reads_decay else np.ones_like(k)
    rates = _beta(beta, k, update_rule) if reads_beta else None
    batch, length, _, d_k = k.shape
    state_shape = (batch, kv_num_heads, d_k, v.shape[3])
    state = np.zeros(state_shape)
    if past_state is not None:
        check_shape(past_state, state_shape, "past_state")
        state = past_state.astype(np.float64)
    output = np.empty((batch, length, q_num_heads, v.shape[3]))
    for t in range(length):
        state = state * gates[:, t, :, :, None]
        write = v[:, t]
        if rates is not None:
            write = rates[:, t] * (write - np.einsum("bhkv,bhk->bhv", state, k[:, t]))
        state = state + k[:, t, :, :, None] * write[:, :, None, :]
        shared = np.repeat(state, q_num_heads // kv_num_heads, axis=1)
        output[:, t] = np.einsum("bhk,bhkv->bhv", q[:, t], shared)
    output *= scale if scale else 1 / np.sqrt(d_k)
    packed = output.reshape(batch, length, q_num_heads * v.shape[3])
    dtype = query.dtype if past_state is None else past_state.dtype
    return settle(packed, query.dtype), settle(state, dtype)


def _heads(x: Array, heads: int, name: str) -> Array:
    """Turn (B, T, heads * size) into (B, T, heads, size), in float64."""
    if x.ndim != 3 or heads < 1 or x.shape[2] % heads:
        raise ValueError(f"{name} has shape {x.shape}: it must be (B, T, {heads} heads * size)")
    return x.astype(np.float64).reshape(*x.shape[:2], heads, x.shape[2] // heads)


def _decay(decay: Array | None, k: Array, rule: str) -> Array:
    """Return the decay of each key dimension, (B, T, Hkv, dk), or of each head, (B, T, Hkv, 1)."""
    if decay is None:
        raise ValueError(f"the update rule {rule!r} needs the input decay")
    batch, length, heads, d_k = k.shape
    if decay.shape not in ((batch, length, heads), (batch, length, heads * d_k)):
        raise ValueError(
            f"decay has shape {decay.shape}: it must be {(batch, length, heads * d_k)} "
            f"or {(batch, length, heads)}"
        )
    return decay.astype(np.float64).reshape(batch, length, heads, decay.shape[2] // heads)


def _beta(beta: Array | None, k: Array, rule: str) -> Array:
    """Return the rate of each head, (B, T, Hkv or 1, 1)."""
    if beta is None:
        raise ValueError(f"the update rule {rule!r} needs the input beta")
    batch, length, heads, _ = k.shape
    if beta.shape not in ((batch, length, heads), (batch, length, 1)):
        raise ValueError(
            f"beta has shape {beta.shape}: it must be {(batch, length, heads)} "
            f"or {(batch, length, 1)}"
        )
    return beta.astype(np.float64)[..., None]


@kernel("RotaryEmbedding", since_version=23)
def rotary_embedding(
    x: Array,
    cos_cache: Array,
    sin_cache: Array,
    position_ids: Array | None = None,
    /,
    *,
    interleaved: int,
    num_heads: int | None,
    rotary_embedding_dim: int,
) -> Array:
    """Rotate pairs of elements by angles that depend on the position.

    Args: x, (batch, heads, length, size), or (batch, length, heads * size) with ``num_heads``;
    cos_cache and sin_cache, (positions, rotated / 2) with position_ids, and without them
    (batch, length, rotated / 2); position_ids, int64 (batch, length).
    Returns: shape and dtype of x.
    Raises: ``ValueError`` for shapes that do not fit, an odd size, and positions out of range.
    A negative position counts from the end, as the code in the text has it.
    Source: RotaryEmbedding-23, "rotary embeddings are defined using the following algorithm".
    """
    tokens = _tokens(x, num_heads)
    batch, length, _, size = tokens.shape
    rotated = rotary_embedding_dim if rotary_embedding_dim else size
    if size % 2 or rotated % 2 or not 0 <= rotated <= size:
        raise ValueError(
            f"a head has size {size}, rotary_embedding_dim is {rotary_embedding_dim}: "
            "both must be even, and the second no larger than the first"
        )
    wide = widest(x)
    cos = _angles(cos_cache, position_ids, (batch, length, rotated // 2), "cos_cache", wide)
    sin = _angles(sin_cache, position_ids, (batch, length, rotated // 2), "sin_cache", wide)
    if interleaved:
        first, second = slice(0, rotated, 2), slice(1, rotated, 2)
    else:
        first, second = slice(0, rotated // 2), slice(rotated // 2, rotated)
    x1, x2 = (tokens[..., part].astype(wide) for part in (first, second))
    result = tokens.copy()
    result[..., first] = settle(cos * x1 - sin * x2, x.dtype)
    result[..., second] = settle(sin * x1 + cos * x2, x.dtype)
    return result.reshape(x.shape) if x.ndim == 3 else result.transpose(0, 2, 1, 3)


def _tokens(x: Array, num_heads: int | None) -> Array:
    """Return X as (batch, length, heads, size)."""
    if x.ndim == 4:
        return x.transpose(0, 2, 1, 3)
    if x.ndim != 3:
        raise ValueError(f"X has shape {x.shape}: it must be of rank 3 or 4")
    if not num_heads or num_heads < 0 or x.shape[2] % num_heads:
        raise ValueError(
            f"X has shape {x.shape} and num_heads is {num_heads}: "
            "at rank 3 it must divide the last dimension"
        )
    return x.reshape(*x.shape[:2], num_heads, x.shape[2] // num_heads)


def _angles(
    cache: Array, position_ids: Array | None, shape: tuple[int, int, int], name: str, wide: Dtype
) -> Array:
    """Return a cosine or sine for each token and pair, (batch, length, 1, pairs)."""
    if position_ids is None:
        check_shape(cache, shape, name)
        return cache.astype(wide)[:, :, None]
    check_shape(position_ids, shape[:2], "position_ids")
    if cache.ndim != 2 or cache.shape[1] != shape[2]:
        raise ValueError(f"{name} has shape {cache.shape}: it must be (positions, {shape[2]})")
    count = len(cache)
    if ((position_ids < -count) | (position_ids >= count)).any():
        raise ValueError(
            f"position_ids is {position_ids.tolist()}: the cache has {count} positions"
        )
    return np.asarray(cache[position_ids].astype(wide)[:, :, None])
