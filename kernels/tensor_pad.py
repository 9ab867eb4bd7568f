"""Pad and CenterCropPad: more or fewer elements at the ends of axes.

Every output position along an axis has a position in the input, its own less the begin pad.
Where that lies outside, the mode says which element stands there.
So a negative pad removes what the mode would have put or left there, and modes refer to the ends
of the axis as it came in, not to what is left of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .registry import kernel
from .rounding import Array, narrow
from .tensor import axis_of, integers


def zero_of(dtype: np.dtype[Any]) -> Array:
    """Return the scalar that stands for nothing: 0, False or the empty string."""
    return np.array("", object) if dtype.kind == "O" else np.zeros((), dtype)


def distinct_axes(axes: Sequence[int] | None, rank: int) -> list[int]:
    """Return axes counted from the front, all of them for ``None``.

    Raises ``ValueError`` for one that is out of range or named twice.
    """
    if axes is None:
        return list(range(rank))
    counted = [axis_of(axis, rank) for axis in axes]
    if len(set(counted)) < len(counted):
        raise ValueError(f"the axes {list(axes)} of a tensor of rank {rank} name one axis twice")
    return counted


def _mirrored(position: Array, size: int) -> Array:
    """Go back and forth between the first and the last element, without repeating them."""
    if size == 1:
        return np.zeros_like(position)
    folded: Array = position % (2 * size - 2)
    return np.asarray(np.minimum(folded, 2 * size - 2 - folded))


#: Mode, and the element of an axis of a size that stands at a position outside of it.
_MODES: dict[str, Callable[[Array, int], Array]] = {
    "edge": lambda position, size: np.clip(position, 0, size - 1),
    "reflect": _mirrored,
    "wrap": lambda position, size: position % size,
}


def _pad_axis(x: Array, axis: int, begin: int, end: int, mode: str, value: Array) -> Array:
    """Pad one axis, or shorten it."""
    size = x.shape[axis]
    length = size + begin + end
    if length < 0:
        raise ValueError(
            f"the pads {begin} and {end} remove more than axis {axis} of size {size} has"
        )
    position = np.arange(length) - begin
    outside = (position < 0) | (position >= size)
    if not outside.any():
        return np.take(x, position, axis)
    if mode != "constant":
        if size == 0:
            raise ValueError(f"axis {axis} has size 0: there is no element to pad with in {mode!r}")
        return np.take(x, _MODES[mode](position, size), axis)
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    result = np.full(shape, value, x.dtype)
    before = (slice(None),) * axis
    result[(*before, ~outside)] = x[(*before, position[~outside])]
    return result


def _pad(
    x: Array,
    pads: Sequence[int],
    axes: Sequence[int] | None,
    mode: str,
    value: Array,
    modes: tuple[str, ...],
) -> Array:
    """Pad the axes by ``pads``, first all that come before and then all that come after."""
    if mode not in modes:
        raise ValueError(f"mode is {mode!r}; one of {', '.join(modes)} was wanted")
    counted = distinct_axes(axes, x.ndim)
    n = len(counted)
    if len(pads) != 2 * n:
        raise ValueError(f"there are {len(pads)} pads; two for each of the {n} axes were wanted")
    for axis, begin, end in zip(counted, pads[:n], pads[n:], strict=True):
        if begin or end:
            x = _pad_axis(x, axis, begin, end, mode, value)
    return x


_FIRST_MODES = ("constant", "reflect", "edge")


def _float_value(x: Array, value: float) -> Array:
    return narrow(np.float64(value), x.dtype)


@kernel("Pad", since_version=1)
def pad_1(x: Array, /, *, mode: str, paddings: list[int], value: float) -> Array:
    """Add elements at the ends of all axes.

    Returns: the shape of ``x`` with the paddings added.
    A negative padding is an error: removing came with version 2.
    Source: Pad-1, "the padding element count at the beginning and end of each axis".
    """
    if min(paddings, default=0) < 0:
        raise ValueError(f"the paddings are {paddings}; this version removes nothing, so all >= 0")
    return _pad(x, paddings, None, mode, _float_value(x, value), _FIRST_MODES)


@kernel("Pad", since_version=2)
def pad_2(x: Array, /, *, mode: str, pads: list[int], value: float) -> Array:
    """Add elements at the ends of all axes, or remove them where a pad is negative.

    Source: Pad-2, "to add or remove (if negative)".
    """
    return _pad(x, pads, None, mode, _float_value(x, value), _FIRST_MODES)


def _constant(x: Array, value: Array | None) -> Array:
    """Return the scalar to pad with; a tensor of one element is taken for one."""
    if value is None:
        return zero_of(x.dtype)
    if value.size != 1 or value.ndim > 1:
        raise ValueError(f"constant_value has shape {value.shape}; a scalar was wanted")
    if value.dtype != x.dtype:
        raise TypeError(f"constant_value is {value.dtype}; {x.dtype} was wanted, as for data")
    return value.reshape(())


@kernel("Pad", since_version=(11, 13))
def pad_11(x: Array, pads: Array, value: Array | None = None, /, *, mode: str) -> Array:
    """Add elements at the ends of all axes, or remove them where a pad is negative.

    Args: pads, a 1-D tensor of twice the rank of ``x``; value, a scalar for the mode constant.
    The text is silent about a reflection that is longer than the axis: it goes on back and forth,
    as NumPy's does, which the text calls similar.
    Source: Pad-11.
    """
    return _pad(x, integers("pads", pads), None, mode, _constant(x, value), _FIRST_MODES)


def _pad_with_axes(modes: tuple[str, ...]) -> Any:
    def run(
        x: Array,
        pads: Array,
        value: Array | None = None,
        axes: Array | None = None,
        /,
        *,
        mode: str,
    ) -> Array:
        """Add or remove elements at the ends of ``axes``, of which none may be named twice.

        Source: Pad-18; Pad-19, "wrap-around padding as if the data tensor forms a torus".
        """
        named = None if axes is None else integers("axes", axes)
        return _pad(x, integers("pads", pads), named, mode, _constant(x, value), modes)

    return run


kernel("Pad", since_version=18)(_pad_with_axes(_FIRST_MODES))
kernel("Pad", since_version=(19, 21, 23, 24, 25))(_pad_with_axes((*_FIRST_MODES, "wrap")))


@kernel("CenterCropPad", since_version=18)
def center_crop_pad(x: Array, shape: Array, /, *, axes: list[int] | None) -> Array:
    """Crop or pad axes at both ends, so that they get the sizes of ``shape``.

    Args: shape, one size for each of the axes.
    The odd element is cropped at the end, and padded at the end.
    Source: CenterCropPad-18, "The starting value for the cropping window is rounded down", "an
    additional pixel will be added to the right side".
    """
    counted = distinct_axes(axes, x.ndim)
    sizes = integers("shape", shape)
    if len(sizes) != len(counted) or min(sizes, default=0) < 0:
        raise ValueError(
            f"shape is {sizes}; a size >= 0 for each of {len(counted)} axes was wanted"
        )
    for axis, size in zip(counted, sizes, strict=True):
        more = size - x.shape[axis]
        begin = more // 2 if more > 0 else -(-more // 2)
        x = _pad_axis(x, axis, begin, more - begin, "constant", zero_of(x.dtype))
    return x
