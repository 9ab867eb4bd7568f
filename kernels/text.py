"""Operators on strings: RegexFullMatch, StringConcat, StringNormalizer, StringSplit.

A tensor of strings has dtype ``object`` and holds ``str``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .registry import Unsupported, kernel
from .rounding import Array
from .text_regex import compile_pattern

#: Languages whose letters change case in ways of their own.
_OWN_CASING = frozenset({"az", "lt", "tr"})


def _objects(values: Sequence[str], shape: Sequence[int]) -> Array:
    result = np.empty(len(values), object)
    result[:] = values
    return result.reshape(tuple(shape))


@kernel("RegexFullMatch", since_version=20)
def regex_full_match(x: Array, /, *, pattern: str | None) -> Array:
    """Tell which strings the pattern, in the syntax of RE2, matches as a whole.

    Returns: bool, of the shape of ``x``.
    Errors: no pattern, one that RE2 refuses.
    Source: RegexFullMatch-20, "This must be valid RE2 syntax."
    """
    if pattern is None:
        raise ValueError("pattern is missing")
    matches = compile_pattern(pattern)
    result = [matches(item) for item in x.reshape(-1).tolist()]
    return np.array(result, np.bool_).reshape(x.shape)


@kernel("StringConcat", since_version=20)
def string_concat(x: Array, y: Array, /) -> Array:
    """Append the strings of ``y`` to those of ``x``, broadcast as NumPy does.

    Source: StringConcat-20, "elementwise (with NumPy-style broadcasting support)".
    """
    return np.asarray(np.add(x, y), object)


def _changed(action: str, locale: str | None, *, needed: bool) -> Callable[[str], str]:
    """Return the function that changes case; raises where the locale has rules of its own."""
    changes: dict[str, Callable[[str], str]] = {
        "NONE": lambda item: item,
        "LOWER": str.lower,
        "UPPER": str.upper,
    }
    if action not in changes:
        raise ValueError(f"case_change_action is {action!r}; LOWER, UPPER or NONE was wanted")
    language = (locale or "en_US").replace("-", "_").partition("_")[0].lower()
    if needed and language in _OWN_CASING:
        raise Unsupported(f"the letters of the locale {locale!r} have no built-in case rules")
    return changes[action]


@kernel("StringNormalizer", since_version=10)
def string_normalizer(
    x: Array,
    /,
    *,
    stopwords: Sequence[str] | None,
    locale: str | None,
    is_case_sensitive: int,
    case_change_action: str,
) -> Array:
    """Remove stop words, then change the case of what is left.

    Args: x, of shape [C] or [1, C]; without ``is_case_sensitive`` stop words are compared in lower
    case.
    Returns: [n] or [1, n]; one empty string where nothing is left.
    Case changes are those of Unicode, as ``str.lower`` and ``str.upper`` have them.
    Errors: another shape; ``Unsupported`` for locales with case rules of their own.
    Source: StringNormalizer-10, "This operator only accepts [C]- and [1, C]-tensor."
    """
    if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[0] != 1):
        raise ValueError(f"X has shape {x.shape}; [C] or [1, C] was wanted")
    words = list(stopwords or [])
    folded = bool(words) and not is_case_sensitive
    change = _changed(case_change_action, locale, needed=folded or case_change_action != "NONE")
    items = x.reshape(-1).tolist()
    if folded:
        stops = {word.lower() for word in words}
        kept = [item for item in items if item.lower() not in stops]
    else:
        kept = [item for item in items if item not in words]
    result = [change(item) for item in kept] or [""]
    return _objects(result, [1] * (x.ndim - 1) + [len(result)])


@kernel("StringSplit", since_version=20)
def string_split(
    x: Array, /, *, maxsplit: int | None, delimiter: str | None
) -> tuple[Array, Array]:
    """Split each string; return the parts, padded with empty strings, and how many they are.

    Args: without a delimiter, or with an empty one, Unicode white space separates, and none is
    left at the ends; ``maxsplit`` limits the splits, and the rest is the last part.
    Returns: strings, of the shape of ``x`` with the largest number of parts as last dimension; and
    the numbers, int64, of the shape of ``x``.
    Errors: a negative ``maxsplit``.
    Source: StringSplit-20, "the trailing suffix of input string ... is also added".
    """
    if maxsplit is not None and maxsplit < 0:
        raise ValueError(f"maxsplit is {maxsplit}; at least 0 was wanted")
    limit = -1 if maxsplit is None else maxsplit
    if delimiter:
        parts = [item.split(delimiter, limit) for item in x.reshape(-1).tolist()]
    else:
        parts = [item.strip().split(None, limit) for item in x.reshape(-1).tolist()]
    counts = np.array([len(p) for p in parts], np.int64)
    width = max((len(p) for p in parts), default=0)
    padded = [part for p in parts for part in p + [""] * (width - len(p))]
    return _objects(padded, (*x.shape, width)), counts.reshape(x.shape)
