"""TfIdfVectorizer."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from .registry import kernel
from .rounding import Array

_MODES = ("TF", "IDF", "TFIDF")


@kernel("TfIdfVectorizer", since_version=9)
def tf_idf_vectorizer(
    x: Array,
    /,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: list[int],
    ngram_indexes: list[int],
    pool_int64s: list[int] | None,
    pool_strings: list[str] | None,
    weights: list[float] | None,
) -> Array:
    """Count the n-grams of a pool in each row.

    Args: x, int32, int64 or strings, of shape (C) or (N, C).
    Returns: float32, of shape (max(ngram_indexes) + 1), or (N, the same).
    An n-gram with skip s takes every (s + 1)-th item, for each s from 0 to ``max_skip_count``; a
    1-gram skips nothing and is counted once.
    The text does not say what several n-grams with one index give; their values are added.
    Raises: ``ValueError`` for an unknown mode, both pools or none, a pool that does not fit the
    type of x, lists whose lengths do not fit, and lengths or indices out of range.
    Source: TfIdfVectorizer-9, "we may consider all skips up to S when generating the n-grams".
    """
    _check_attributes(mode, min_gram_length, max_gram_length, max_skip_count)
    if x.ndim not in (1, 2):
        raise ValueError(f"X has shape {x.shape}: it must be (C) or (N, C)")
    if not ngram_indexes or min(ngram_indexes) < 0:
        raise ValueError(f"ngram_indexes is {ngram_indexes}: it must hold indices of 0 or more")
    if weights is not None and len(weights) != len(ngram_indexes):
        raise ValueError(
            f"weights has {len(weights)} entries: it must have {len(ngram_indexes)}, as "
            "ngram_indexes"
        )
    pool = _pool(x, pool_int64s, pool_strings)
    grams = list(_grams(pool, ngram_counts))
    if len(grams) != len(ngram_indexes):
        raise ValueError(
            f"the pool has {len(grams)} n-grams: ngram_indexes has {len(ngram_indexes)} entries"
        )
    rows = x.tolist() if x.ndim == 2 else [x.tolist()]
    lengths = range(min_gram_length, max_gram_length + 1)
    y = np.zeros((len(rows), max(ngram_indexes) + 1))
    for row, result in zip(rows, y, strict=True):
        counts = _counts(row, lengths, max_skip_count)
        for i, gram in enumerate(grams):
            count = counts.get(gram, 0)
            if mode == "IDF":
                count = min(count, 1)
            factor = 1.0 if weights is None or mode == "TF" else weights[i]
            if count:
                result[ngram_indexes[i]] += count * factor
    return (y if x.ndim == 2 else y[0]).astype(np.float32)


def _check_attributes(mode: str, low: int, high: int, skips: int) -> None:
    if mode not in _MODES:
        raise ValueError(f"mode is {mode!r}: it must be one of {', '.join(_MODES)}")
    if not 1 <= low <= high or skips < 0:
        raise ValueError(
            f"min_gram_length is {low}, max_gram_length {high}, max_skip_count {skips}: they must "
            "be 1 or more, no less than the first, and 0 or more"
        )


def _pool(x: Array, pool_int64s: list[int] | None, pool_strings: list[str] | None) -> list[Any]:
    """Return the pool that is given, if it fits the input."""
    if (pool_int64s is None) == (pool_strings is None):
        raise ValueError("one of pool_int64s and pool_strings must be set, and only one")
    strings = x.dtype == np.dtype(object)
    if strings != (pool_strings is not None):
        wanted = "pool_strings" if strings else "pool_int64s"
        raise ValueError(f"the input is {x.dtype}: the pool must be {wanted}")
    return list(pool_int64s if pool_int64s is not None else pool_strings or [])


def _grams(pool: list[Any], starts: list[int]) -> Iterator[tuple[Any, ...]]:
    """Cut a pool into its n-grams: those of length n begin at the n-th start."""
    ends = [*starts[1:], len(pool)]
    if not starts or starts[0] != 0:
        raise ValueError(f"ngram_counts is {starts}: its first entry must be 0")
    for n, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        if not start <= end <= len(pool) or (end - start) % n:
            raise ValueError(
                f"ngram_counts is {starts} for a pool of {len(pool)}: "
                f"the items from {start} to {end} must be {n}-grams"
            )
        for i in range(start, end, n):
            yield tuple(pool[i : i + n])


def _counts(row: list[Any], lengths: range, max_skip_count: int) -> dict[tuple[Any, ...], int]:
    """Count all n-grams of some lengths in a row."""
    counts: dict[tuple[Any, ...], int] = {}
    for n, skip in itertools.product(lengths, range(max_skip_count + 1)):
        if n == 1 and skip:
            continue
        step = skip + 1
        for i in range(len(row) - (n - 1) * step):
            gram = tuple(row[i : i + (n - 1) * step + 1 : step])
            counts[gram] = counts.get(gram, 0) + 1
    return counts
