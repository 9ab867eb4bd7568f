"""The operators on strings, held against plain loops over Python's strings."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernel_calls
from opcheck.kernels import registry


def call(operator, *inputs, version=20, **attributes):
    return kernel_calls.call(operator, version, *inputs, **attributes)


def texts(*items):
    return np.array(items, object)


# StringConcat.


def test_strings_are_appended_with_broadcasting():
    x, y = texts(["a"], ["é"]), texts("1", "", "\0")
    got = call("StringConcat", x, y)
    assert got.dtype == object
    assert got.tolist() == [["a1", "a", "a\0"], ["é1", "é", "é\0"]]
    assert all(type(item) is str for item in got.ravel())


def test_concat_of_scalars_and_of_nothing():
    got = call("StringConcat", np.array("a", object), np.array("b", object))
    assert (got.shape, got.dtype, got.item()) == ((), object, "ab")
    got = call("StringConcat", np.empty((0, 1), object), texts("a", "b"))
    assert (got.shape, got.dtype) == ((0, 2), object)
    with pytest.raises(ValueError, match="broadcast"):
        call("StringConcat", texts("a", "b"), texts("a", "b", "c"))


# StringNormalizer.


@given(
    st.lists(st.text(st.sampled_from("aAbBéÉ"), max_size=2), max_size=6),
    st.none() | st.lists(st.text(st.sampled_from("aAbBéÉ"), max_size=2), max_size=3),
    st.booleans(),
    st.sampled_from(["NONE", "LOWER", "UPPER"]),
    st.booleans(),
)
@settings(deadline=None, max_examples=300)
def test_stop_words_go_first_and_case_changes_last(words, stops, sensitive, action, row):
    """One empty string stands for nothing; [1, C] stays of rank 2."""
    x = np.empty(len(words), object)
    x[:] = words
    got = call(
        "StringNormalizer", x.reshape(1, -1) if row else x, version=10, stopwords=stops,
        is_case_sensitive=int(sensitive), case_change_action=action,
    )  # fmt: skip
    kept = []
    for word in words:
        same = [
            s for s in stops or [] if s == word or (not sensitive and s.lower() == word.lower())
        ]
        if not same:
            kept.append({"LOWER": word.lower(), "UPPER": word.upper()}.get(action, word))
    kept = kept or [""]
    assert got.dtype == object
    assert got.tolist() == ([kept] if row else kept)


def test_what_the_normalizer_refuses():
    for shape in ((), (2, 1), (1, 1, 1), (0, 1)):
        with pytest.raises(ValueError, match=r"\[1, C\]"):
            call("StringNormalizer", np.full(shape, "a", object), version=10)
    with pytest.raises(ValueError, match="case_change_action"):
        call("StringNormalizer", texts("a"), version=10, case_change_action="lower")


@pytest.mark.parametrize("locale", ["tr_TR", "az-AZ", "lt_LT.UTF-8", "TR"])
def test_locales_with_case_rules_of_their_own(locale):
    """Where no case is changed or ignored the locale does not matter."""
    changes = {"version": 10, "locale": locale, "case_change_action": "UPPER"}
    with pytest.raises(registry.Unsupported, match="locale"):
        call("StringNormalizer", texts("i"), **changes)
    with pytest.raises(registry.Unsupported, match="locale"):
        call("StringNormalizer", texts("i"), version=10, locale=locale, stopwords=["I"])
    assert call("StringNormalizer", texts("i"), version=10, locale=locale).tolist() == ["i"]
    changes["locale"] = "de_DE.UTF-8"
    assert call("StringNormalizer", texts("i"), **changes).tolist() == ["I"]


# StringSplit.


def split(text, delimiter, limit):
    """Split by hand, from the left."""
    parts, rest = [], text
    if not delimiter:
        rest = rest.strip(" \t\n")
        if not rest:
            return []
        while limit is None or len(parts) < limit:
            cut = min((rest.find(c) for c in " \t\n" if c in rest), default=-1)
            if cut < 0:
                break
            parts.append(rest[:cut])
            rest = rest[cut:].lstrip(" \t\n")
        return [*parts, rest]
    while limit is None or len(parts) < limit:
        head, found, tail = rest.partition(delimiter)
        if not found:
            break
        parts.append(head)
        rest = tail
    return [*parts, rest]


@given(
    st.lists(st.text(st.sampled_from("ab \t\né"), max_size=7), max_size=4),
    st.sampled_from([None, "", "a", "ab", " ", "é"]),
    st.none() | st.integers(0, 3),
)
@settings(deadline=None, max_examples=400)
def test_strings_are_split_from_the_left(items, delimiter, limit):
    x = np.empty(len(items), object)
    x[:] = items
    got, counts = call("StringSplit", x, delimiter=delimiter, maxsplit=limit)
    wanted = [split(item, delimiter, limit) for item in items]
    width = max(map(len, wanted), default=0)
    assert (got.dtype, counts.dtype) == (object, np.int64)
    assert got.shape == (len(items), width)
    assert got.tolist() == [[*p, *[""] * (width - len(p))] for p in wanted]
    assert counts.tolist() == [len(p) for p in wanted]


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (2, 1, 3)])
def test_parts_are_a_new_last_axis(shape):
    x = np.full(shape, "a-b", object)
    got, counts = call("StringSplit", x, delimiter="-")
    assert got.shape == (*shape, 2 if x.size else 0)
    assert counts.shape == shape
    assert all(itertools.chain(counts.ravel() == 2))


def test_a_negative_limit_is_refused():
    with pytest.raises(ValueError, match="maxsplit is -1"):
        call("StringSplit", texts("a"), maxsplit=-1)


# RegexFullMatch.


def test_regex_keeps_the_shape():
    for shape in ((), (0,), (2, 0), (2, 1, 3)):
        got = call("RegexFullMatch", np.full(shape, "ab", object), pattern="ab?")
        assert (got.shape, got.dtype) == (shape, np.bool_)
        assert got.all()
    with pytest.raises(ValueError, match="pattern is missing"):
        call("RegexFullMatch", texts("a"))
