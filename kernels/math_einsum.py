"""Einsum: sums of products over named indices.

Floats up to float32 are multiplied and summed in float64, float64 in ``numpy.longdouble``, and
rounded once.
Integers wrap around as two's complement.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from .registry import kernel
from .rounding import Array
from .wider import rounded, widest

#: The indices of a term, with ``None`` where its ellipsis stands.
Term = list[str | None]

_LETTERS = frozenset(string.ascii_letters)


@kernel("Einsum", since_version=(12, 28))
def einsum(*operands: Array, equation: str) -> Array:
    """Sum the products of the operands over all indices that the output does not name.

    An index that stands twice in one term takes the diagonal, as the official cases have it.
    Dimensions under one letter have to be the same; those under an ellipsis are broadcast.
    An ellipsis that the output does not name is summed over.

    Returns: a tensor of the operands' type, with the dimensions of the right-hand side.
    Raises: ``ValueError`` for an equation that is malformed or does not fit the operands.
    Source: Einsum-12, "every occurrence of ellipsis in the equation must represent the same number
    of dimensions".
    """
    terms, output = _parse(equation)
    if len(terms) != len(operands):
        raise ValueError(f"{equation!r} has {len(terms)} terms: there are {len(operands)} operands")
    broadcast = _ellipsis_shape(equation, terms, operands)
    dots: list[str | None] = [f".{i}" for i in range(len(broadcast))]
    sizes: dict[str, int] = {f".{i}": size for i, size in enumerate(broadcast)}
    numbers: dict[str, int] = {}
    arguments: list[Any] = []
    for term, x in zip(terms, operands, strict=True):
        names = _expand(term, dots)
        x = x if x.dtype.kind in "iu" else widest(x)
        arguments += _labelled(equation, names, x, sizes, numbers)
    wanted = _expand(output, dots)
    missing = [name for name in wanted if name not in numbers]
    if missing:
        raise ValueError(f"{equation!r}: the output names {missing[0]!r}, which no term has")
    result = np.asarray(np.einsum(*arguments, [numbers[name] for name in wanted]))
    dtype = operands[0].dtype
    return result.astype(dtype) if dtype.kind in "iu" else rounded(result, dtype)


def _parse(equation: str) -> tuple[list[Term], Term]:
    """Split an equation into the terms of its operands and that of its output."""
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = [_term(equation, part) for part in left.split(",")]
    if arrow:
        output = _term(equation, right)
        if len(set(output)) < len(output):
            raise ValueError(f"{equation!r}: the output names an index twice")
        return terms, output
    count = Counter(name for term in terms for name in term if name is not None)
    dots: Term = [None] if any(None in term for term in terms) else []
    return terms, dots + sorted(name for name, times in count.items() if times == 1)


def _term(equation: str, part: str) -> Term:
    """Return the indices of a term: letters, and at most one ellipsis."""
    before, dots, after = part.partition("...")
    if not _LETTERS.issuperset(before + after):
        raise ValueError(f"{equation!r}: the term {part!r} is not made of letters and one ellipsis")
    return [*before, *([None] if dots else []), *after]


def _expand(term: Term, dots: Sequence[str | None]) -> list[str]:
    """Put the names of the ellipsis' dimensions in its place."""
    expanded: list[str | None] = []
    for name in term:
        expanded += dots if name is None else [name]
    return [name for name in expanded if name is not None]


def _ellipsis_shape(equation: str, terms: list[Term], operands: Sequence[Array]) -> tuple[int, ...]:
    """Return the shape that the ellipses of all operands are broadcast to."""
    shapes = []
    for term, x in zip(terms, operands, strict=True):
        letters = len(term) - (None in term)
        if x.ndim < letters or (x.ndim > letters and None not in term):
            raise ValueError(
                f"{equation!r}: a term has {letters} letters, its operand has shape {x.shape}"
            )
        if None in term:
            start = term.index(None)
            shapes.append(x.shape[start : start + x.ndim - letters])
    if len({len(shape) for shape in shapes}) > 1:
        raise ValueError(
            f"{equation!r}: the ellipses stand for the dimensions {shapes}, "
            "which are not of the same number"
        )
    return np.broadcast_shapes(*shapes)


def _labelled(
    equation: str, names: list[str], x: Array, sizes: dict[str, int], numbers: dict[str, int]
) -> tuple[Array, list[int]]:
    """Return an operand for ``numpy.einsum`` and the numbers of its indices.

    A dimension of 1 that an ellipsis broadcasts is dropped.
    """
    labels: list[int] = []
    places: list[Any] = []
    for name, size in zip(names, x.shape, strict=True):
        known = sizes.setdefault(name, size)
        if known != size and not name.startswith("."):
            raise ValueError(f"{equation!r}: the index {name!r} is both {known} and {size} long")
        places.append(slice(None) if known == size else 0)
        if known == size:
            labels.append(numbers.setdefault(name, len(numbers)))
    return x[tuple(places)], labels
