"""Kernels on sequences of tensors, which are Python lists.

An empty list does not show its element type.
Whether a tensor fits an empty sequence is therefore left to the model's types.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.defs

from .registry import kernel
from .rounding import Array
from .tensor import axis_of, check_dtypes, cut, integers, join
from .valuetype import ELEMENT_NAMES

Tensors = list[Array]


def _position(position: Array, lowest: int, highest: int) -> int:
    """Return a position; raises outside of its range.

    The text wants a scalar; the official node cases of SequenceInsert give it the shape [1].
    """
    if position.size != 1 or position.ndim > 1:
        raise ValueError(f"position has shape {position.shape}; a scalar was wanted")
    p = int(position.item())
    if not lowest <= p <= highest:
        raise IndexError(
            f"position {p} is outside [{lowest}, {highest}] for a sequence of {-lowest} tensors"
        )
    return p


@kernel("SequenceAt", since_version=11)
def sequence_at(sequence: Tensors, position: Array, /) -> Array:
    """Return the tensor at a position in [-n, n-1]; negative ones count from the back.

    Source: SequenceAt-11.
    """
    n = len(sequence)
    return sequence[_position(position, -n, n - 1)]


@kernel("SequenceConstruct", since_version=11)
def sequence_construct(*tensors: Array) -> Tensors:
    """Return the sequence of the tensors, which must have one dtype.

    Source: SequenceConstruct-11.
    """
    check_dtypes(tensors)
    return list(tensors)


#: The element types that SequenceEmpty may name.
_ELEMENTS = frozenset(
    t.removeprefix("seq(tensor(").removesuffix("))")
    for t in onnx.defs.get_schema("SequenceEmpty", 11).outputs[0].types
)


@kernel("SequenceEmpty", since_version=11)
def sequence_empty(*, dtype: int | None) -> Tensors:
    """Return an empty sequence.

    The element type, by default float, is checked and not kept: an empty list has none.
    Source: SequenceEmpty-11.
    """
    name = "float" if dtype is None else ELEMENT_NAMES.get(dtype, str(dtype))
    if name not in _ELEMENTS:
        raise ValueError(f"dtype is {name}; one of {', '.join(sorted(_ELEMENTS))} was wanted")
    return []


@kernel("SequenceErase", since_version=11)
def sequence_erase(sequence: Tensors, position: Array | None = None, /) -> Tensors:
    """Return the sequence without the tensor at a position in [-n, n-1], by default the last.

    Source: SequenceErase-11.
    """
    n = len(sequence)
    if position is None:
        if n == 0:
            raise IndexError("the sequence is empty; there is no last tensor to erase")
        return sequence[:-1]
    p = _position(position, -n, n - 1) % n
    return sequence[:p] + sequence[p + 1 :]


@kernel("SequenceInsert", since_version=11)
def sequence_insert(sequence: Tensors, tensor: Array, position: Array | None = None, /) -> Tensors:
    """Return the sequence with a tensor inserted before a position in [-n, n], by default n.

    -1 inserts before the last tensor.
    Source: SequenceInsert-11, "'tensor' must have the same data type as 'input_sequence'".
    """
    n = len(sequence)
    if n and tensor.dtype != sequence[0].dtype:
        raise TypeError(
            f"the tensor is {tensor.dtype}; {sequence[0].dtype}, that of the sequence, was wanted"
        )
    if position is None:
        return [*sequence, tensor]
    p = _position(position, -n, n)
    return [*sequence[:p], tensor, *sequence[p:]]


@kernel("SequenceLength", since_version=11)
def sequence_length(sequence: Tensors, /) -> Array:
    """Return the number of tensors as a 0-d int64 tensor. Source: SequenceLength-11."""
    return np.array(len(sequence), np.int64)


@kernel("SplitToSequence", since_version=(11, 24))
def split_to_sequence(
    x: Array, split: Array | None = None, /, *, axis: int, keepdims: int
) -> Tensors:
    """Cut ``x`` along ``axis``: without ``split`` into single slices, or into the sizes of it.

    Args: split, a scalar, the size of all parts but maybe the last; or a 1-D tensor of all sizes.
    Returns: views; single slices lose the axis where ``keepdims`` is 0, which ``split`` overrides.
    Zeros in a 1-D ``split`` are allowed: the text has both "only positive numbers" and ">= 0".
    An axis of size 0 gives an empty sequence unless a 1-D ``split`` says otherwise.
    Source: SplitToSequence-11.
    """
    axis = axis_of(axis, x.ndim)
    length = x.shape[axis]
    if split is None:
        if keepdims:
            return list(cut(x, axis, [1] * length))
        before: tuple[Any, ...] = (slice(None),) * axis
        return [x[(*before, i, ...)] for i in range(length)]
    if split.ndim != 0:
        return list(cut(x, axis, integers("split", split)))
    size = int(split)
    if size <= 0:
        raise ValueError(f"split is {size}; as the size of all parts a positive one was wanted")
    whole, rest = divmod(length, size)
    return list(cut(x, axis, [size] * whole + [rest] * (rest > 0)))


@kernel("ConcatFromSequence", since_version=11)
def concat_from_sequence(sequence: Tensors, /, *, axis: int, new_axis: int) -> Array:
    """Join the tensors along ``axis``, or with ``new_axis`` stack them along a new one.

    Returns: one tensor.
    An empty sequence, of which the text does not speak, has no shape to return: an error.
    Source: ConcatFromSequence-11, "When `new_axis` is 1, accepted range is `[-r - 1, r]`".
    """
    if not sequence:
        raise ValueError("the sequence is empty; at least one tensor was wanted")
    if new_axis not in (0, 1):
        raise ValueError(f"new_axis is {new_axis}; 0 or 1 was wanted")
    rank = sequence[0].ndim + new_axis
    return join(sequence, axis_of(axis, rank), stack=new_axis == 1)
