"""Attention.

Everything is computed in float64, or where a float64 takes part in ``numpy.longdouble``, and each
output is rounded once.
The function bodies round each step to the type of Q; in float16 the official results do not depend
on it, within their tolerance.
Only where ``softmax_precision`` is given, its text names casts, and these take place: of the input
of the softmax to that type, of its result to it, and back to the type of Q.

Infinities and NaN go through the arithmetic as it is written, also where a key is masked: only a
row in which the bias masks every key is set to zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .nn_wide import Dtype, check_shape, precision, settle, widest
from .registry import kernel
from .rounding import Array


@dataclass(frozen=True, slots=True)
class _Settings:
    """The attributes of the newest version."""

    is_causal: int
    kv_num_heads: int | None
    q_num_heads: int | None
    qk_matmul_output_mode: int
    scale: float | None
    softcap: float
    softmax_precision: int | None
    left_window_size: int = -1
    right_window_size: int = -1
    #: Whether a mask may end before the last key; what it lacks is masked.
    short_mask: bool = True


@kernel("Attention", since_version=23)
def attention_23(
    q: Array,
    k: Array,
    v: Array,
    attn_mask: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    /,
    *,
    is_causal: int,
    kv_num_heads: int | None,
    q_num_heads: int | None,
    qk_matmul_output_mode: int,
    scale: float | None,
    softcap: float,
    softmax_precision: int | None,
) -> tuple[Array, Array, Array, Array]:
    """Compute scaled dot product attention; the mask covers all keys, or broadcasts to them.

    See ``attention_25``, which adds to it ``nonpad_kv_seqlen``, shorter masks and windows.
    Source: Attention-23, "Shape must be broadcastable to 4D tensor".
    """
    settings = _Settings(
        is_causal,
        kv_num_heads,
        q_num_heads,
        qk_matmul_output_mode,
        scale,
        softcap,
        softmax_precision,
        short_mask=False,
    )
    return _attention(q, k, v, attn_mask, past_key, past_value, None, settings)


@kernel("Attention", since_version=24)
def attention_24(
    q: Array,
    k: Array,
    v: Array,
    attn_mask: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    nonpad_kv_seqlen: Array | None = None,
    /,
    *,
    is_causal: int,
    kv_num_heads: int | None,
    q_num_heads: int | None,
    qk_matmul_output_mode: int,
    scale: float | None,
    softcap: float,
    softmax_precision: int | None,
) -> tuple[Array, Array, Array, Array]:
    """Compute scaled dot product attention over an internal or an external cache.

    See ``attention_25``, which adds windows to it.
    Source: Attention-24.
    """
    settings = _Settings(
        is_causal,
        kv_num_heads,
        q_num_heads,
        qk_matmul_output_mode,
        scale,
        softcap,
        softmax_precision,
    )
    return _attention(q, k, v, attn_mask, past_key, past_value, nonpad_kv_seqlen, settings)


@kernel("Attention", since_version=25)
def attention_25(
    q: Array,
    k: Array,
    v: Array,
    attn_mask: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    nonpad_kv_seqlen: Array | None = None,
    /,
    *,
    is_causal: int,
    kv_num_heads: int | None,
    left_window_size: int,
    q_num_heads: int | None,
    qk_matmul_output_mode: int,
    right_window_size: int,
    scale: float | None,
    softcap: float,
    softmax_precision: int | None,
) -> tuple[Array, Array, Array, Array]:
    """Compute scaled dot product attention.

    Args: q, (batch, q heads, S, size), k, (batch, kv heads, L, size), and v, (batch, kv heads, L,
    v size); or all three of rank 3, (batch, S or L, heads * size), with both numbers of heads;
    attn_mask, broadcast to (batch, q heads, S, keys), bool (true takes part) or a number to be
    added to the score; its last dimension may be shorter than the number of keys;
    past_key and past_value, (batch, kv heads, P, size), go before k and v, so that keys = P + L;
    nonpad_kv_seqlen, int64 (batch), the number of keys that are no padding.
    Returns: Y, rank and dtype of q; the present key and value, of rank 4; the scores or
    probabilities that ``qk_matmul_output_mode`` names, in the dtype of q.
    Raises: ``ValueError`` for shapes that do not fit, one of past_key and past_value without the
    other, nonpad_kv_seqlen beside them or outside [0, keys] or past the mask's end, and attributes
    out of range.
    Integer masks are allowed by the type constraint and not by the text; they are added.
    Source: Attention-25, "composed with it additively".
    """
    for name, size in (
        ("left_window_size", left_window_size),
        ("right_window_size", right_window_size),
    ):
        if size < -1:
            raise ValueError(f"{name} is {size}: it must be -1 (no bound), 0 or more")
    settings = _Settings(
        is_causal,
        kv_num_heads,
        q_num_heads,
        qk_matmul_output_mode,
        scale,
        softcap,
        softmax_precision,
        left_window_size,
        right_window_size,
    )
    return _attention(q, k, v, attn_mask, past_key, past_value, nonpad_kv_seqlen, settings)


def _attention(
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None,
    past_key: Array | None,
    past_value: Array | None,
    nonpad: Array | None,
    settings: _Settings,
) -> tuple[Array, Array, Array, Array]:
    """Compute what all versions have in common."""
    if settings.is_causal not in (0, 1):
        raise ValueError(f"is_causal is {settings.is_causal}: it must be 0 or 1")
    if settings.qk_matmul_output_mode not in (0, 1, 2, 3):
        raise ValueError(
            f"qk_matmul_output_mode is {settings.qk_matmul_output_mode}: it must be 0, 1, 2 or 3"
        )
    rank = q.ndim
    q, k, v = _split_heads(q, k, v, settings)
    past = 0
    if past_key is not None and past_value is not None:
        past = _past(past_key, past_value, k, v)
        k, v = np.concatenate((past_key, k), axis=2), np.concatenate((past_value, v), axis=2)
    elif past_key is not None or past_value is not None:
        raise ValueError("past_key and past_value must be given together; one is omitted")
    _check_shapes(q, k, v)
    if nonpad is not None:
        _check_nonpad(nonpad, k, mask, past_key)
    bias = _bias(q, k, mask, past, nonpad, settings)
    repeat = q.shape[1] // max(k.shape[1], 1)
    wide = widest(q, v)
    scores = _scores(q.astype(wide), np.repeat(k.astype(wide), repeat, axis=1), settings.scale)
    capped = _cap(scores, settings.softcap)
    biased = capped + bias
    probabilities = _probabilities(biased, bias, settings.softmax_precision, q.dtype)
    product = np.matmul(probabilities, np.repeat(v.astype(wide), repeat, axis=1))
    y = settle(product, q.dtype)
    if rank == 3:
        batch, heads, length, size = y.shape
        y = y.transpose(0, 2, 1, 3).reshape(batch, length, heads * size)
    shown = (scores, capped, biased, probabilities)[settings.qk_matmul_output_mode]
    return y, k, v, settle(shown, q.dtype)


# Shapes.


def _split_heads(q: Array, k: Array, v: Array, settings: _Settings) -> tuple[Array, Array, Array]:
    """Return the three inputs with an axis of heads."""
    if not q.ndim == k.ndim == v.ndim or q.ndim not in (3, 4):
        raise ValueError(
            f"Q, K and V have the shapes {q.shape}, {k.shape}, {v.shape}: "
            "all must be of rank 3, or all of rank 4"
        )
    q_heads, kv_heads = settings.q_num_heads, settings.kv_num_heads
    if q.ndim == 4:
        for name, heads, x in (("q_num_heads", q_heads, q), ("kv_num_heads", kv_heads, k)):
            if heads is not None and heads != x.shape[1]:
                raise ValueError(f"{name} is {heads}, and the input of rank 4 has {x.shape[1]}")
        return q, k, v
    if q_heads is None or kv_heads is None:
        raise ValueError("inputs of rank 3 need the attributes q_num_heads and kv_num_heads")
    return _unpack(q, q_heads, "Q"), _unpack(k, kv_heads, "K"), _unpack(v, kv_heads, "V")


def _unpack(x: Array, heads: int, name: str) -> Array:
    """Turn (batch, length, heads * size) into (batch, heads, length, size)."""
    batch, length, hidden = x.shape
    if heads < 1 or hidden % heads:
        raise ValueError(f"{name} has shape {x.shape}: {hidden} is no multiple of {heads} heads")
    return x.reshape(batch, length, heads, hidden // heads).transpose(0, 2, 1, 3)


def _past(past_key: Array, past_value: Array, k: Array, v: Array) -> int:
    """Check the internal cache; return its length."""
    for name, x, new in (("past_key", past_key, k), ("past_value", past_value, v)):
        if x.ndim != 4 or (*x.shape[:2], x.shape[3]) != (*new.shape[:2], new.shape[3]):
            raise ValueError(f"{name} has shape {x.shape}: the new part has {new.shape}")
    if past_key.shape[2] != past_value.shape[2]:
        raise ValueError(
            f"past_key has shape {past_key.shape}, past_value {past_value.shape}: "
            "they must be of one length"
        )
    return int(past_key.shape[2])


def _check_shapes(q: Array, k: Array, v: Array) -> None:
    """Check the inputs of rank 4 against each other."""
    fits = (
        q.shape[0] == k.shape[0]
        and q.shape[3] == k.shape[3]
        and k.shape[:3] == v.shape[:3]
        and (q.shape[1] == k.shape[1] or (k.shape[1] and q.shape[1] % k.shape[1] == 0))
    )
    if not fits:
        raise ValueError(
            f"Q, K and V are {q.shape}, {k.shape}, {v.shape} with heads apart: they must agree in "
            "the batch, Q and K in the size of a head, K and V in heads and length; "
            "and the heads of Q must be a multiple of those of K"
        )


def _check_nonpad(nonpad: Array, k: Array, mask: Array | None, past_key: Array | None) -> None:
    """Check the lengths of an external cache."""
    if past_key is not None:
        raise ValueError("nonpad_kv_seqlen must not be given beside past_key and past_value")
    check_shape(nonpad, (k.shape[0],), "nonpad_kv_seqlen")
    most = k.shape[2]
    if mask is not None and mask.ndim:
        most = min(most, mask.shape[-1])
    if ((nonpad < 0) | (nonpad > most)).any():
        raise ValueError(f"nonpad_kv_seqlen is {nonpad.tolist()}: it must lie in [0, {most}]")


# The steps.


def _bias(
    q: Array, k: Array, mask: Array | None, past: int, nonpad: Array | None, settings: _Settings
) -> Array:
    """Return what is added to the scores, minus infinity where a key is not visible.

    Its shape broadcasts to that of the scores, and has their last two dimensions.
    """
    batch, heads, length, _ = q.shape
    keys = k.shape[2]
    wide = widest(q)
    bias = np.zeros((1, 1, length, keys), wide)
    if mask is not None:
        bias = bias + _mask_bias(mask, (batch, heads, length, keys), settings.short_mask, q.dtype)
    offset = np.full((1, 1, 1, 1), past)
    if nonpad is not None:
        offset = (nonpad - length).reshape(-1, 1, 1, 1)
    position = offset + np.arange(length)[:, None]
    key = np.arange(keys)
    visible = np.ones((1, 1, length, keys), bool)
    if settings.is_causal:
        visible = visible & (key <= position)
    if settings.left_window_size >= 0:
        visible = visible & (key >= position - settings.left_window_size)
    if settings.right_window_size >= 0:
        visible = visible & (key <= position + settings.right_window_size)
    if nonpad is not None:
        visible = visible & (key < nonpad.reshape(-1, 1, 1, 1))
    return np.asarray(bias + np.where(visible, wide.type(0), wide.type(-np.inf)))


def _mask_bias(mask: Array, shape: tuple[int, ...], short: bool, dtype: Dtype) -> Array:
    """Return a mask as a bias of rank 4 in a wide type, rounded to ``dtype``."""
    if mask.dtype == np.bool_:
        bias = np.where(mask, 0.0, -np.inf)
    else:
        bias = settle(mask.astype(widest(mask)), dtype)
    wide = np.asarray(bias).astype(np.longdouble if dtype == np.float64 else np.float64)
    if short and wide.ndim and wide.shape[-1] < shape[-1]:
        pad = [(0, 0)] * (wide.ndim - 1) + [(0, shape[-1] - wide.shape[-1])]
        wide = np.pad(wide, pad, constant_values=-np.inf)
    fits = wide.ndim <= 4 and all(
        d in (1, s) for d, s in zip(wide.shape[::-1], shape[::-1], strict=False)
    )
    if not fits:
        raise ValueError(f"attn_mask has shape {mask.shape}: it must broadcast to {shape}")
    return wide.reshape((1,) * (4 - wide.ndim) + wide.shape)


def _scores(q: Array, k: Array, scale: float | None) -> Array:
    """Return ``scale * Q * K^T`` of wide tensors."""
    factor = 1 / np.sqrt(q.dtype.type(q.shape[3])) if scale is None else scale
    return np.asarray(np.matmul(q, k.transpose(0, 1, 3, 2)) * factor)


def _cap(scores: Array, softcap: float) -> Array:
    """Return ``softcap * tanh(scores / softcap)``; 0 caps nothing."""
    if softcap == 0:
        return scores
    return np.asarray(softcap * np.tanh(scores / softcap))


def softmax(x: Array) -> Array:
    """Return the softmax over the last axis of a wide tensor; that of nothing is nothing."""
    largest = x.max(axis=-1, keepdims=True, initial=-np.inf)
    e = np.exp(x - largest)
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _probabilities(
    biased: Array, bias: Array, softmax_precision: int | None, dtype: Dtype
) -> Array:
    """Return the softmax of a wide tensor; rows without any visible key are zero."""
    if softmax_precision is None:
        result = softmax(biased)
    else:
        within = precision(softmax_precision, "softmax_precision")
        x = settle(biased, within)
        result = settle(softmax(x.astype(widest(x))), within)
        result = settle(result.astype(widest(result)), dtype).astype(biased.dtype)
    hidden = bias.max(axis=-1, keepdims=True, initial=-np.inf) == -np.inf
    return np.where(hidden, 0, result)
