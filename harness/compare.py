"""Holds what a backend gave against what is expected.

The order is: the number of outputs, the kind, the dtype, the shape, the values.
Integers, booleans and strings must be equal; floats may be as far apart as the tolerance says.
Tensors are compared block by block, so that large ones need little memory beside themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .case import Expected, Tolerance, Value
from .dtypes import dtype_name, element_type_of, type_text
from .heat import ALLOWED, EQUAL, INFINITE, NAN, Picture, dtype_outline, shape_outline, size_marks
from .literals import BadLiteral, to_array
from .record import Difference, Excerpt, Heat, Row, utf8
from .ulp import FAR, is_nan, ulp_distance

Array = NDArray[Any]

#: Elements compared at a time.
BLOCK = 2**20
#: Elements shown of a difference.
SHOWN_ROWS = 5
#: Elements kept of an output for reports.
EXCERPT = 1000


def compare_outputs(
    names: Sequence[str],
    expected: Sequence[Expected],
    got: Sequence[Value],
    tolerances: Sequence[Tolerance],
) -> list[Difference]:
    """Return the differences of all outputs; an empty list means that they agree."""
    if len(got) != len(expected):
        return [Difference("", "count", f"{len(expected)} outputs", f"{len(got)} outputs")]
    differences = []
    for name, want, value, tolerance in zip(names, expected, got, tolerances, strict=True):
        differences += compare(name, want, value, tolerance)
    return differences


def compare(name: str, expected: Expected, got: Value, tolerance: Tolerance) -> list[Difference]:
    """Return the differences of one value: one per tensor in it that differs."""
    if expected.kind == "optional":
        if expected.items and got is not None:
            return compare(name, expected.items[0], got, tolerance)
        if not expected.items and got is None:
            return []
        return [_mismatch(name, "kind", expected, got)]
    if expected.kind == "sequence":
        return _compare_sequence(name, expected, got, tolerance)
    if expected.kind == "map":
        return _compare_map(name, expected, got, tolerance)
    if isinstance(got, np.generic):
        got = np.asarray(got)
    if not isinstance(got, np.ndarray):
        return [_mismatch(name, "kind", expected, got)]
    if got.dtype != expected.dtype:
        return [_mismatch(name, "dtype", expected, got, dtype_outline(got.shape))]
    fits = len(got.shape) == len(expected.shape) and all(
        want in (None, size) for want, size in zip(expected.shape, got.shape, strict=True)
    )
    if not fits:
        outline = shape_outline(expected.shape, got.shape)
        return [_mismatch(name, "shape", expected, got, outline)]
    if expected.value is None:
        return []
    found = _Tensors(expected.value, got, expected.undefined, tolerance).difference(name)
    return [] if found is None else [found]


def _compare_sequence(
    name: str, expected: Expected, got: Value, tolerance: Tolerance
) -> list[Difference]:
    if not isinstance(got, list | tuple) or len(got) != len(expected.items):
        return [_mismatch(name, "kind", expected, got)]
    differences = []
    for i, (want, value) in enumerate(zip(expected.items, got, strict=True)):
        differences += compare(f"{name}[{i}]", want, value, tolerance)
    return differences


def _compare_map(
    name: str, expected: Expected, got: Value, tolerance: Tolerance
) -> list[Difference]:
    if not isinstance(got, dict) or set(got) != set(expected.keys):
        return [_mismatch(name, "kind", expected, got)]
    differences = []
    for key, want in zip(expected.keys, expected.items, strict=True):
        differences += compare(f"{name}[{key!r}]", want, _scalar(got[key], want), tolerance)
    return differences


def _scalar(value: Value, expected: Expected) -> Value:
    """Turn a value of a map, a plain Python scalar, into a 0-d tensor where that loses nothing."""
    element = None if expected.dtype is None else element_type_of(expected.dtype)
    if element is None:
        return value
    plain = {"bool": bool, "string": str}.get(element.name, int if element.is_integer else float)
    try:
        return to_array([value], element).reshape(()) if type(value) is plain else value
    except BadLiteral:
        return value


def _mismatch(
    name: str, reason: str, expected: Expected, got: Value, heat: Heat | None = None
) -> Difference:
    return Difference(name, reason, describe_expected(expected), describe(got), heat=heat)


def describe_expected(expected: Expected) -> str:
    """Say what is expected, without values: ``float32[2, 3]``, ``a sequence of 2 float32``."""
    if expected.kind == "tensor":
        sizes = ", ".join("?" if s is None else str(s) for s in expected.shape)
        return f"{type_text(expected.type)}[{sizes}]"
    if expected.kind == "sequence":
        inner = type_text(expected.type.sequence_type.elem_type)
        return f"a sequence of {len(expected.items)} {inner}"
    if expected.kind == "map":
        return f"a map with the keys {', '.join(map(repr, expected.keys))}"
    return f"{describe_expected(expected.items[0])}" if expected.items else "an empty optional"


def describe(value: Value) -> str:
    """Say what a value is, without its elements."""
    if isinstance(value, np.ndarray):
        return f"{dtype_name(value.dtype)}[{', '.join(map(str, value.shape))}]"
    if value is None:
        return "an empty optional"
    if isinstance(value, list | tuple):
        inner = f" {describe(value[0])}" if value else ""
        return f"a sequence of {len(value)}{inner}"
    if isinstance(value, dict):
        return f"a map with the keys {', '.join(map(repr, list(value)[:10]))}"
    return f"a Python {type(value).__name__}"


class _Tensors:
    """Two tensors of one dtype and shape."""

    def __init__(
        self, expected: Array, got: Array, undefined: Array | None, tolerance: Tolerance
    ) -> None:
        self.shape = expected.shape
        self.expected = expected.reshape(-1)
        self.got = got.reshape(-1)
        self.undefined = None if undefined is None else undefined.reshape(-1)
        self.tolerance = tolerance
        element = element_type_of(expected.dtype)
        self.is_float = element is not None and element.is_float
        self.is_complex = element is not None and element.is_complex

    def difference(self, name: str) -> Difference | None:
        """Return how the tensors differ, or ``None``."""
        count, worst, worst_size = 0, -1, -1
        first: list[int] = []
        for start in range(0, self.expected.size, BLOCK):
            bad, sizes = self.block(start, start + BLOCK)
            if not bad.size:
                continue
            count += bad.size
            first += bad[: SHOWN_ROWS - len(first)].tolist()
            largest = int(np.argmax(sizes))
            if int(sizes[largest]) > worst_size:
                worst, worst_size = int(bad[largest]), int(sizes[largest])
        if not count:
            return None
        described = f"{dtype_name(self.expected.dtype)}[{', '.join(map(str, self.shape))}]"
        return Difference(
            name,
            "values",
            described,
            described,
            different=count,
            total=self.expected.size,
            allowed=self.allowed(),
            worst=self.row(worst),
            rows=[self.row(i) for i in first],
            heat=self.heat(),
        )

    def heat(self) -> Heat:
        """Return a picture of the differences."""
        picture = Picture(self.shape)
        for start in range(0, self.expected.size, BLOCK):
            stop = min(start + BLOCK, self.expected.size)
            marks = np.full(stop - start, EQUAL, np.uint8)
            places, sizes, bad = self.unequal(start, stop)
            found = np.where(bad, size_marks(sizes), np.where(sizes == 0, EQUAL, ALLOWED))
            if self.is_float or self.is_complex:
                far = bad & (sizes == FAR)
                nan = is_nan(self.expected[places[far]]) | is_nan(self.got[places[far]])
                found[far] = np.where(nan, NAN, INFINITE)
            marks[places - start] = found
            if self.undefined is not None:
                marks[self.undefined[start:stop]] = 0
            picture.add(start, marks)
        return picture.heat()

    def allowed(self) -> str:
        """Say what the tolerance allows."""
        if not (self.is_float or self.is_complex):
            return "exact"
        given = self.tolerance
        parts = [] if given.ulp is None else [f"{given.ulp:g} ULP"]
        if given.rtol is not None or given.atol is not None:
            parts.append(f"rtol {given.rtol or 0:g}, atol {given.atol or 0:g}")
        return " or ".join(parts) or "exact"

    def block(self, start: int, stop: int) -> tuple[Array, Array]:
        """Return the flat positions that differ in a block, and how badly each does, as uint64."""
        places, sizes, bad = self.unequal(start, stop)
        return places[bad], sizes[bad]

    def unequal(self, start: int, stop: int) -> tuple[Array, Array, Array]:
        """Return what is not equal in a block: where, how badly, and whether that is too far."""
        expected, got = self.expected[start:stop], self.got[start:stop]
        with np.errstate(invalid="ignore"):  # a signalling NaN is fine
            unequal = np.asarray(expected != got)
        if self.tolerance.signed_zero and self.is_float:
            unequal = unequal | (np.signbit(expected) != np.signbit(got))
        if self.tolerance.signed_zero and self.is_complex:
            unequal = unequal | (np.signbit(expected.real) != np.signbit(got.real))
            unequal = unequal | (np.signbit(expected.imag) != np.signbit(got.imag))
        if self.undefined is not None:
            unequal = unequal & ~self.undefined[start:stop]
        places = np.flatnonzero(unequal)
        if not places.size:
            return places, places, np.zeros(0, np.bool_)
        left, right = expected[places], got[places]
        if self.is_float:
            bad, sizes = self.judge(left, right)
            if self.tolerance.pairs:
                bad &= self.far_as_pairs(places + start)
        elif self.is_complex:
            real = self.judge(left.real, right.real)
            imaginary = self.judge(left.imag, right.imag)
            bad, sizes = real[0] | imaginary[0], np.maximum(real[1], imaginary[1])
        else:
            bad = np.ones(places.size, np.bool_)
            sizes = _integer_distance(left, right)
        return places + start, sizes, bad

    def judge(self, expected: Array, got: Array) -> tuple[Array, Array]:
        """Return which floats are too far apart, and their distances in ULP."""
        distance = ulp_distance(expected, got)
        with np.errstate(all="ignore"):
            left, right = expected.astype(np.float64), got.astype(np.float64)
            both_finite = np.isfinite(left) & np.isfinite(right)
            near = distance == 0
            if self.tolerance.ulp is not None:
                near |= both_finite & (distance <= min(self.tolerance.ulp, 2.0**63))
            if self.tolerance.rtol is not None or self.tolerance.atol is not None:
                limit = (self.tolerance.atol or 0) + (self.tolerance.rtol or 0) * np.abs(left)
                near |= both_finite & (np.abs(right - left) <= limit)
            if self.tolerance.signed_zero:
                near &= (left != 0) | (right != 0) | (np.signbit(left) == np.signbit(right))
        return ~near, np.where(both_finite | near, distance, FAR)

    def far_as_pairs(self, places: Array) -> Array:
        """Return which elements belong to a complex number that is too far from its literal."""
        with np.errstate(all="ignore"):
            expected = np.stack([self.expected[places], self.expected[places ^ 1]])
            got = np.stack([self.got[places], self.got[places ^ 1]])
            x, y = expected.astype(np.float64), got.astype(np.float64)
            limit = (self.tolerance.atol or 0) + (self.tolerance.rtol or 0) * np.hypot(*x)
            return np.asarray(~(np.hypot(*(y - x)) <= limit))

    def row(self, i: int) -> Row:
        """Return one element with its errors."""
        index = [int(k) for k in np.unravel_index(i, self.shape)] if self.shape else []
        expected, got = self.expected[i], self.got[i]
        texts = (element_text(expected), element_text(got))
        if self.expected.dtype.kind in "bO":
            return Row(index, *texts)
        if not (self.is_float or self.is_complex):
            distance = abs(int(got) - int(expected))
            relative = f"{distance / abs(int(expected)):.3g}" if int(expected) else "inf"
            return Row(index, *texts, str(distance), relative)
        with np.errstate(all="ignore"):
            wide = np.complex128 if self.is_complex else np.float64
            left, right = wide(expected), wide(got)
            absolute = 0.0 if left == right else float(abs(right - left))
            ratio = absolute / float(abs(left)) if left else (inf if absolute else 0.0)
        return Row(index, *texts, f"{absolute:.3g}", f"{ratio:.3g}", self.ulp_text(i))

    def ulp_text(self, i: int) -> str:
        """Write the ULP distance of one element."""
        left, right = self.expected[i : i + 1], self.got[i : i + 1]
        if self.is_complex:
            distances = (ulp_distance(left.real, right.real), ulp_distance(left.imag, right.imag))
            distance = max(int(d[0]) for d in distances)
        else:
            distance = int(ulp_distance(left, right)[0])
        if distance == int(FAR):
            return "NaN"
        return str(distance) if distance < 10**9 else f"{distance:.2e}"


def _integer_distance(left: Array, right: Array) -> Array:
    """Return how far apart integers are, as uint64; 1 for booleans and strings."""
    if left.dtype.kind in "bO":
        return np.ones(left.size, np.uint64)
    # The difference of two 64-bit integers needs 64 bits without a sign: let it wrap.
    wide = left.dtype if left.dtype.isbuiltin == 1 else np.dtype(np.int64)
    x, y = left.astype(wide), right.astype(wide)
    first, second = x.astype(np.uint64), y.astype(np.uint64)
    return np.where(x > y, first - second, second - first)


def element_text(value: Any) -> str:
    """Write one element so that reading it gives the same value."""
    if isinstance(value, str):
        return utf8(repr(value))
    if isinstance(value, np.float16):
        return str(float(value))  # all its digits: NumPy writes 65504 as 65500
    if isinstance(value, np.floating) and 1e-4 <= abs(float(value)) < 1e16:
        return np.format_float_positional(value, unique=True, trim="0")
    if isinstance(value, np.bool_ | np.integer | np.floating | np.complexfloating):
        return str(value)
    element = element_type_of(value.dtype) if isinstance(value, np.generic) else None
    if element is None:
        return utf8(repr(value))
    return str(int(value)) if element.is_integer else str(float(value))


def excerpt(name: str, value: Value, limit: int = EXCERPT) -> list[Excerpt]:
    """Return the beginning of a value, one entry per tensor in it."""
    if isinstance(value, np.ndarray):
        texts = [element_text(v) for v in value.reshape(-1)[:limit]]
        return [Excerpt(name, dtype_name(value.dtype), list(value.shape), texts, value.size)]
    if isinstance(value, list | tuple) and value:
        return [e for i, v in enumerate(value[:100]) for e in excerpt(f"{name}[{i}]", v, limit)]
    if isinstance(value, dict) and value:
        return [Excerpt(name, describe(value), None, [repr(value)[:limit]], len(value))]
    return [Excerpt(name, describe(value))]
