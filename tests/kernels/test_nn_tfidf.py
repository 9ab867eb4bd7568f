"""TfIdfVectorizer, held against a search for each n-gram by itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernel_calls


def call(x, **attributes):
    y = kernel_calls.call("TfIdfVectorizer", 9, x, **attributes)
    assert y.dtype == np.float32
    return y


def slow(row, pool, *, mode, low, high, skips, size):
    """Look for each n-gram at every place with every skip; the pool holds (gram, index, weight)."""
    y = [0.0] * size
    for gram, index, weight in pool:
        n, count = len(gram), 0
        if low <= n <= high:
            for skip in range(1 if n == 1 else skips + 1):
                for start in range(len(row)):
                    places = [start + i * (skip + 1) for i in range(n)]
                    if places[-1] < len(row) and all(
                        row[p] == g for p, g in zip(places, gram, strict=True)
                    ):
                        count += 1
        if mode == "IDF":
            count = min(count, 1)
        y[index] = count * (1 if mode == "TF" else weight)
    return y


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_every_n_gram_is_counted_where_it_stands(data):
    """All modes, lengths, skips, one and two dimensions, integers and strings."""
    item = st.integers(0, 2)
    grams = sorted(data.draw(st.sets(st.lists(item, min_size=1, max_size=3).map(tuple),
                                     min_size=1, max_size=6)), key=len)  # fmt: skip
    indexes = data.draw(st.permutations(range(len(grams) + 2)))[: len(grams)]
    weights = data.draw(st.lists(st.sampled_from([0.5, 1.0, 2.0, -3.0]), min_size=len(grams),
                                 max_size=len(grams)))  # fmt: skip
    width = data.draw(st.integers(0, 6))
    rows = data.draw(st.lists(st.lists(item, min_size=width, max_size=width), max_size=3))
    low = data.draw(st.integers(1, 3))
    high = data.draw(st.integers(low, 3))
    mode, skips = data.draw(st.sampled_from(["TF", "IDF", "TFIDF"])), data.draw(st.integers(0, 2))
    flat = [v for g in grams for v in g]
    starts = [sum(len(g) for g in grams if len(g) < n) for n in range(1, high + 1)]
    if high < 3:
        starts += [sum(len(g) for g in grams if len(g) < n) for n in range(high + 1, 4)]
    strings = data.draw(st.booleans())
    common = {
        "mode": mode, "min_gram_length": low, "max_gram_length": high, "max_skip_count": skips,
        "ngram_counts": starts, "ngram_indexes": list(indexes), "weights": weights,
    }  # fmt: skip
    if strings:
        common["pool_strings"] = [str(v) for v in flat]
        x = np.array([[str(v) for v in r] for r in rows], object).reshape(len(rows), width)
    else:
        common["pool_int64s"] = flat
        x = np.array(rows, np.int64).reshape(len(rows), width)
    pool = list(zip(grams, indexes, weights, strict=True))
    wanted = [
        slow(r, pool, mode=mode, low=low, high=high, skips=skips, size=max(indexes) + 1)
        for r in rows
    ]
    y = call(x, **common)
    assert y.shape == (len(rows), max(indexes) + 1)
    assert y.tolist() == wanted
    for row, result in zip(x, wanted, strict=True):
        assert call(row, **common).tolist() == result


GOOD = {
    "mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0,
    "ngram_counts": [0, 1], "ngram_indexes": [0, 1], "pool_int64s": [5, 5, 7],
}  # fmt: skip


def test_omitted_weights_are_one():
    """The modes with weights count as without where there are none."""
    x = np.array([5, 5, 7], np.int32)
    assert call(x, **GOOD).tolist() == [2, 1]
    assert call(x, **(GOOD | {"mode": "TFIDF"})).tolist() == [2, 1]
    assert call(x, **(GOOD | {"mode": "IDF"})).tolist() == [1, 1]


def test_values_of_one_index_are_added():
    """The text does not say what two n-grams at one place give."""
    x = np.array([5, 5, 7], np.int64)
    assert call(x, **(GOOD | {"ngram_indexes": [0, 0]})).tolist() == [3]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": "tf"}, "mode is 'tf'"),
        ({"min_gram_length": 0}, "min_gram_length is 0"),
        ({"min_gram_length": 3}, "min_gram_length is 3"),
        ({"max_skip_count": -1}, "max_skip_count -1"),
        ({"ngram_indexes": []}, "ngram_indexes is"),
        ({"ngram_indexes": [0, -1]}, "ngram_indexes is"),
        ({"ngram_indexes": [0, 1, 2]}, "the pool has 2 n-grams"),
        ({"ngram_counts": [0, 2]}, "must be 2-grams"),
        ({"ngram_counts": [1, 1]}, "its first entry must be 0"),
        ({"ngram_counts": [0, 4]}, "ngram_counts is"),
        ({"ngram_counts": []}, "its first entry must be 0"),
        ({"weights": [1.0]}, "weights has 1 entries"),
        ({"pool_strings": ["a", "b", "c"]}, "only one"),
        ({"pool_int64s": None}, "only one"),
        ({"pool_int64s": None, "pool_strings": ["a", "b", "c"]}, "the pool must be pool_int64s"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    """Modes, lists and pools that the text does not allow."""
    with pytest.raises(ValueError, match=message):
        call(np.array([5, 7], np.int64), **(GOOD | changes))


@pytest.mark.parametrize("shape", [(), (1, 1, 1)])
def test_other_ranks_are_refused(shape):
    """The input is (C) or (N, C)."""
    with pytest.raises(ValueError, match="X has shape"):
        call(np.full(shape, 5, np.int64), **GOOD)
