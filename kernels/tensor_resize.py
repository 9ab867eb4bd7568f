"""Resize and Upsample.

Axes are resized one after the other; for each, every output position has a place in the input,
and the elements around it have weights.
Places and weights are exact fractions of the numbers given, so that an exact half is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .registry import kernel
from .rounding import Array
from .tensor_pad import distinct_axes
from .tensor_resample import average_dtype, cubic, round_average, weigh

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Axis:
    """How one axis is resized: from ``length`` to ``resized`` elements.

    ``exact`` is the resized length before it was rounded down; start and end are the roi.
    """

    length: int
    resized: int
    scale: Fraction
    start: Fraction = Fraction(0)
    end: Fraction = Fraction(1)

    @property
    def exact(self) -> Fraction:
        """The resized length before it was rounded, "output_width" in Resize-19."""
        return self.scale * self.length


# The places in the input.


def _half_pixel(x: int, axis: Axis) -> Fraction:
    return (x + HALF) / axis.scale - HALF


def _pytorch_half_pixel(x: int, axis: Axis) -> Fraction:
    return _half_pixel(x, axis) if axis.resized > 1 else Fraction(0)


def _half_pixel_symmetric(x: int, axis: Axis) -> Fraction:
    adjustment = axis.resized / axis.exact
    return Fraction(axis.length, 2) * (1 - adjustment) + _half_pixel(x, axis)


def _align_corners(x: int, axis: Axis) -> Fraction:
    """With a scale given, the official cases take the resized length as it is before rounding."""
    if axis.exact == 1:
        return Fraction(0)
    return x * (axis.length - 1) / (axis.exact - 1)


def _asymmetric(x: int, axis: Axis) -> Fraction:
    return x / axis.scale


def _tf_half_pixel_for_nn(x: int, axis: Axis) -> Fraction:
    return (x + HALF) / axis.scale


def _tf_crop_and_resize(x: int, axis: Axis) -> Fraction:
    last = axis.length - 1
    if axis.resized > 1:
        return axis.start * last + x * (axis.end - axis.start) * last / (axis.resized - 1)
    return HALF * (axis.start + axis.end) * last


Place = Callable[[int, Axis], Fraction]

_PLACES_11: dict[str, Place] = {
    "half_pixel": _half_pixel,
    "pytorch_half_pixel": _pytorch_half_pixel,
    "align_corners": _align_corners,
    "asymmetric": _asymmetric,
    "tf_half_pixel_for_nn": _tf_half_pixel_for_nn,
    "tf_crop_and_resize": _tf_crop_and_resize,
}
_PLACES_13 = {k: v for k, v in _PLACES_11.items() if k != "tf_half_pixel_for_nn"}
_PLACES_19 = {**_PLACES_13, "half_pixel_symmetric": _half_pixel_symmetric}

#: How a place becomes an element.
_NEAREST: dict[str, Callable[[Fraction], int]] = {
    "round_prefer_floor": lambda place: math.ceil(place - HALF),
    "round_prefer_ceil": lambda place: math.floor(place + HALF),
    "floor": math.floor,
    "ceil": math.ceil,
}


@dataclass(frozen=True, slots=True)
class Method:
    """What the attributes say."""

    mode: str
    nearest: Callable[[Fraction], int]
    place: Place
    a: Fraction = Fraction(-3, 4)
    exclude_outside: bool = False
    antialias: bool = False
    extrapolation: float | None = None


def _choice(name: str, value: str, known: dict[str, Any]) -> Any:
    if value not in known:
        raise ValueError(f"{name} is {value!r}; one of {', '.join(known)} was wanted")
    return known[value]


# The weights.


def _weights(place: Fraction, axis: Axis, method: Method) -> dict[int, Fraction]:
    """Return the weights by element; elements before the first and behind the last count too.

    An antialiasing filter is wider by 1 / scale, and its weights are made to sum up to 1.
    """
    stretch = min(axis.scale, Fraction(1)) if method.antialias else Fraction(1)
    reach = (1 if method.mode == "linear" else 2) / stretch
    weights = {}
    for i in range(math.floor(place - reach) + 1, math.ceil(place + reach)):
        distance = abs(i - place) * stretch
        weights[i] = 1 - distance if method.mode == "linear" else cubic(distance, method.a)
    if method.exclude_outside:
        inside = {i: w for i, w in weights.items() if 0 <= i < axis.length}
        weights = inside if sum(inside.values()) else weights
    total = sum(weights.values())
    return {i: w / total for i, w in weights.items()} if total != 1 else weights


def _taps(places: Sequence[Fraction], axis: Axis, method: Method) -> tuple[Array, Array]:
    """Return the elements that each output position takes, and their weights, in rows."""
    last = axis.length - 1
    rows: list[dict[int, Fraction]] = []
    for place in places:
        row: dict[int, Fraction] = {}
        for i, weight in _weights(place, axis, method).items():
            inside = min(max(i, 0), last)
            row[inside] = row.get(inside, Fraction(0)) + weight
        rows.append(row)
    count = max(map(len, rows), default=0)
    index = np.zeros((len(rows), count), np.int64)
    weights = np.zeros((len(rows), count), np.longdouble)
    for i, row in enumerate(rows):
        for k, (place_, weight) in enumerate(row.items()):
            high = float(weight)
            index[i, k] = place_
            weights[i, k] = np.longdouble(high) + np.longdouble(float(weight - Fraction(high)))
    return index, weights


def _resize_axis(x: Array, k: int, places: Sequence[Fraction], axis: Axis, method: Method) -> Array:
    if axis.resized and not axis.length:
        raise ValueError(f"axis {k} has no elements; {axis.resized} cannot be made of them")
    if method.mode == "nearest":
        last = axis.length - 1
        nearest = [min(max(method.nearest(place), 0), last) for place in places]
        return np.take(x, np.array(nearest, np.int64), k)
    index, weights = _taps(places, axis, method)
    total: Array | None = None
    behind = (1,) * (x.ndim - k - 1)
    for tap in range(index.shape[1]):
        weight = weights[:, tap].reshape(-1, *behind)
        total = weigh(total, np.take(x, index[:, tap], k), weight.astype(x.real.dtype))
    return np.take(x, [], k) if total is None else total


def _resize(x: Array, axes: dict[int, Axis], method: Method) -> Array:
    """Resize the axes of a tensor."""
    averaging = method.mode != "nearest"
    wide = average_dtype(x.dtype) if averaging else x.dtype
    result = x.astype(wide)
    outside = np.zeros((), bool)
    for k, axis in axes.items():
        places = [method.place(i, axis) for i in range(axis.resized)]
        result = _resize_axis(result, k, places, axis, method)
        if method.extrapolation is not None:
            beyond = np.array([not 0 <= place <= axis.length - 1 for place in places], bool)
            outside = outside | beyond.reshape((-1,) + (1,) * (x.ndim - k - 1))
    if outside.any():
        result = _extrapolated(result, outside, method.extrapolation)
    return round_average(result, x.dtype, truncate=False) if averaging else result


def _extrapolated(x: Array, outside: Array, value: float | None) -> Array:
    """Put the value where a place was outside of the input."""
    if x.dtype.kind == "O":
        raise ValueError("a place is outside of the input; strings have no extrapolation_value")
    filler = np.asarray(value, np.float64)
    if x.dtype.kind in "iub":
        filler = round_average(filler, np.dtype(np.int64), truncate=False)
    return np.where(outside, filler.astype(x.dtype), x)


# From inputs to axes.


def _exactly(name: str, values: Array | Sequence[float], count: int) -> list[Fraction]:
    flat = np.asarray(values, np.float64)
    if flat.shape != (count,):
        raise ValueError(f"{name} has shape {flat.shape}; ({count},) was wanted")
    if not np.isfinite(flat).all():
        raise ValueError(f"{name} is {flat.tolist()}; finite numbers were wanted")
    return [Fraction(v) for v in flat.tolist()]


def _by_scales(x: Array, axes: Sequence[int], scales: Array, roi: list[Fraction]) -> list[Axis]:
    """Return the axes for scales; ``roi`` is empty where it takes no effect.

    The resized length is the product rounded to float32, and then down: so does the shape
    inference of ``onnx.defs``, and 10 * 0.7 gives 7.
    """
    n = len(axes)
    resized = []
    for i, (k, scale) in enumerate(zip(axes, _exactly("scales", scales, n), strict=True)):
        if scale <= 0:
            raise ValueError(f"a scale is {float(scale)}; a number > 0 was wanted")
        start, end = (roi[i], roi[n + i]) if roi else (Fraction(0), Fraction(1))
        length = x.shape[k]
        exact = length * (end - start) * scale
        size = max(0, math.floor(np.float32(float(exact))))
        resized.append(Axis(length, size, scale, start, end))
    return resized


def _by_sizes(
    x: Array, axes: Sequence[int], sizes: Array, roi: list[Fraction], policy: str
) -> list[Axis]:
    """Return the axes for sizes, by the policy about the aspect ratio."""
    n = len(axes)
    wanted = [int(v) for v in _exactly("sizes", sizes, n)]
    if min(wanted, default=0) < 0:
        raise ValueError(f"sizes is {wanted}; numbers >= 0 were wanted")
    lengths = [x.shape[k] for k in axes]
    scales = [Fraction(size, length or 1) for size, length in zip(wanted, lengths, strict=True)]
    choose = {"stretch": None, "not_larger": min, "not_smaller": max}
    chosen = _choice("keep_aspect_ratio_policy", policy, choose)
    if chosen is not None and n:
        scales = [chosen(scales)] * n
        wanted = [math.floor(scales[0] * length + HALF) for length in lengths]
    rois = zip(roi[:n], roi[n:], strict=True) if roi else [(Fraction(0), Fraction(1))] * n
    every = zip(lengths, wanted, scales, rois, strict=True)
    return [Axis(length, size, scale, *ends) for length, size, scale, ends in every]


def _upsample(x: Array, scales: Array | Sequence[float], mode: str, linear: str) -> Array:
    """Enlarge by scales of at least 1; an output position divided by the scale is its place."""
    if mode not in ("nearest", linear):
        raise ValueError(f"mode is {mode!r}; nearest or {linear} was wanted")
    factors = np.asarray(scales, np.float64)
    if factors.size and factors.min() < 1:
        raise ValueError(f"scales is {factors.tolist()}; numbers >= 1 were wanted")
    axes = dict(enumerate(_by_scales(x, range(x.ndim), factors, [])))
    kind = "nearest" if mode == "nearest" else "linear"
    return _resize(x, axes, Method(kind, math.floor, _asymmetric))


@kernel("Upsample", since_version=1)
def upsample_1(x: Array, /, *, height_scale: float, mode: str, width_scale: float) -> Array:
    """Enlarge height and width of [N, C, H, W] by scales of at least 1.

    The text does not say where an output position lies: at its number divided by the scale, and
    nearest rounds down, as in the official cases of version 9.
    Source: Upsample-1, "floor(input_width * width_scale)".
    """
    if x.ndim != 4:
        raise ValueError(f"the input has shape {x.shape}; [N, C, H, W] was wanted")
    return _upsample(x, [1.0, 1.0, height_scale, width_scale], mode, "bilinear")


@kernel("Upsample", since_version=7)
def upsample_7(x: Array, /, *, mode: str, scales: list[float]) -> Array:
    """Enlarge all axes by scales of at least 1. Source: Upsample-7."""
    return _upsample(x, scales, mode, "linear")


@kernel("Upsample", since_version=(9, 10))
def upsample_9(x: Array, scales: Array, /, *, mode: str) -> Array:
    """Enlarge all axes by scales of at least 1; version 10 is deprecated. Source: Upsample-9."""
    return _upsample(x, scales, mode, "linear")


@kernel("Resize", since_version=10)
def resize_10(x: Array, scales: Array, /, *, mode: str) -> Array:
    """Resize all axes by scales greater than 0.

    The text does not say where an output position lies, nor what is nearest: its number divided
    by the scale; rounded down where the axis grows and up where it shrinks, as the official cases
    of version 10 had it.
    Source: Resize-10, "floor(input_dimension * scale)".
    """
    if mode not in ("nearest", "linear"):
        raise ValueError(f"mode is {mode!r}; nearest or linear was wanted")
    axes = dict(enumerate(_by_scales(x, range(x.ndim), scales, [])))
    if mode == "linear":
        return _resize(x, axes, Method(mode, math.floor, _asymmetric))
    for k, axis in axes.items():
        nearest = math.ceil if axis.scale < 1 else math.floor
        x = _resize(x, {k: axis}, Method(mode, nearest, _asymmetric))
    return x


def _resize_11(
    x: Array,
    roi: Array | None,
    scales: Array | None,
    sizes: Array | None,
    places: dict[str, Place],
    attributes: dict[str, Any],
    axes: Sequence[int] | None = None,
) -> Array:
    """Resize as versions from 11 on do; ``attributes`` are those of version 11, and later ones."""
    coordinates = attributes["coordinate_transformation_mode"]
    crop = coordinates == "tf_crop_and_resize"
    method = Method(
        _choice("mode", attributes["mode"], {m: m for m in ("nearest", "linear", "cubic")}),
        _choice("nearest_mode", attributes["nearest_mode"], _NEAREST),
        _choice("coordinate_transformation_mode", coordinates, places),
        Fraction(attributes["cubic_coeff_a"]),
        bool(attributes["exclude_outside"]),
        bool(attributes.get("antialias", 0)),
        attributes["extrapolation_value"] if crop else None,
    )
    counted = distinct_axes(axes, x.ndim)
    if not counted:
        return x
    by_scales = scales is not None and scales.size > 0
    by_sizes = sizes is not None and sizes.size > 0
    if by_scales == by_sizes:
        raise ValueError("one of scales and sizes was wanted, and only one")
    ends: list[Fraction] = []
    if crop:
        ends = _exactly("roi", np.zeros(0) if roi is None else roi, 2 * len(counted))
    if by_scales:
        assert scales is not None
        found = _by_scales(x, counted, scales, ends)
    else:
        assert sizes is not None
        policy = attributes.get("keep_aspect_ratio_policy", "stretch")
        found = _by_sizes(x, counted, sizes, ends, policy)
    return _resize(x, dict(zip(counted, found, strict=True)), method)


def _resize_all_axes(places: dict[str, Place]) -> Callable[..., Array]:
    def run(
        x: Array,
        roi: Array | None = None,
        scales: Array | None = None,
        sizes: Array | None = None,
        /,
        *,
        coordinate_transformation_mode: str,
        cubic_coeff_a: float,
        exclude_outside: int,
        extrapolation_value: float,
        mode: str,
        nearest_mode: str,
    ) -> Array:
        """Resize all axes by scales or to sizes; an empty tensor of either is taken as omitted.

        Args: roi, [start..., end...] in parts of the axes, for tf_crop_and_resize.
        Where a scale is given, places are found with it and not with the ratio of the lengths, as
        in the official cases.
        Averages of integers are rounded to nearest, ties to even, which the text leaves open.
        Source: Resize-11; Resize-13, which no longer has tf_half_pixel_for_nn.
        """
        attributes = {
            "coordinate_transformation_mode": coordinate_transformation_mode,
            "cubic_coeff_a": cubic_coeff_a,
            "exclude_outside": exclude_outside,
            "extrapolation_value": extrapolation_value,
            "mode": mode,
            "nearest_mode": nearest_mode,
        }
        return _resize_11(x, roi, scales, sizes, places, attributes)

    return run


def _resize_with_axes(places: dict[str, Place]) -> Callable[..., Array]:
    def run(
        x: Array,
        roi: Array | None = None,
        scales: Array | None = None,
        sizes: Array | None = None,
        /,
        *,
        antialias: int,
        axes: list[int] | None,
        coordinate_transformation_mode: str,
        cubic_coeff_a: float,
        exclude_outside: int,
        extrapolation_value: float,
        keep_aspect_ratio_policy: str,
        mode: str,
        nearest_mode: str,
    ) -> Array:
        """Resize ``axes`` by scales or to sizes.

        With a policy about the aspect ratio, places are found with the common scale.
        antialias says nothing about the mode nearest.
        Source: Resize-18; Resize-19, "half_pixel_symmetric".
        """
        attributes = {
            "antialias": antialias,
            "coordinate_transformation_mode": coordinate_transformation_mode,
            "cubic_coeff_a": cubic_coeff_a,
            "exclude_outside": exclude_outside,
            "extrapolation_value": extrapolation_value,
            "keep_aspect_ratio_policy": keep_aspect_ratio_policy,
            "mode": mode,
            "nearest_mode": nearest_mode,
        }
        return _resize_11(x, roi, scales, sizes, places, attributes, axes)

    return run


kernel("Resize", since_version=11)(_resize_all_axes(_PLACES_11))
kernel("Resize", since_version=13)(_resize_all_axes(_PLACES_13))
kernel("Resize", since_version=18)(_resize_with_axes(_PLACES_13))
kernel("Resize", since_version=19)(_resize_with_axes(_PLACES_19))
