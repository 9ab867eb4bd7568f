"""Kernels of Cast and CastLike.

Every conversion to a float type rounds once, to nearest and ties to even.
The schema's text leaves some things open; this is what is done:

- From float to integers of 8 bits and more the fraction is dropped.
  To integers of 4 and 2 bits the value is rounded to nearest, ties to even, and its higher bits
  are dropped, as onnx's pages on these types have it ("Cast to a 4 bit type is done by rounding to
  the nearest-integer (with ties to even) ... and truncating").
  What is out of range for the others, NaN and infinities are undefined and become what NumPy makes
  of them.
- Floats of 6 and 4 bits have neither infinities nor NaN.
  Values out of range, infinities too, become the largest ones.
  NaN becomes the largest 6-bit float, as onnx's page on these types has it, and becomes -0 as a
  4-bit float, as the official node case has it.
- To float8e8m0, for each of the three rounding modes: with ``saturate`` what is below the smallest
  value, zero too, becomes the smallest, and what is above the largest becomes the largest; without
  it both become NaN.
  Negative numbers become NaN and -0 is zero; the text calls both unspecified.
- A string from a float has the fewest digits that identify it as float32 (as float64 if it is one)
  and no exponent, ``1.0`` or ``0.00001``, or is ``NaN``, ``INF`` or ``-INF``; one from an integer
  has its decimal digits; one from a bool is ``1`` or ``0``.
- A string that is no number is an error.
  For integers the fraction of a number is dropped, and so are bits that do not fit.
"""

from __future__ import annotations

import re
import struct
from decimal import Decimal
from math import copysign, inf, isfinite, nan, nextafter
from sys import float_info
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.defs
import onnx.helper

from .registry import kernel
from .rounding import SMALL_FLOATS, Array, narrow
from .wider import Targets

Dtype = np.dtype[Any]

_NATIVE = frozenset(np.dtype(c) for c in ("?", *"bhilBHILefd"))

_STRING = np.dtype(object)

_SMALL_INTEGERS: dict[Dtype, type[np.integer[Any]]] = {
    np.dtype(ml_dtypes.int4): np.int8,
    np.dtype(ml_dtypes.uint4): np.uint8,
    np.dtype(ml_dtypes.int2): np.int8,
    np.dtype(ml_dtypes.uint2): np.uint8,
}

#: The 8-bit floats with a sign, and whether they are of the FNUZ kind.
_FLOAT8 = {
    np.dtype(ml_dtypes.float8_e4m3fn): False,
    np.dtype(ml_dtypes.float8_e4m3fnuz): True,
    np.dtype(ml_dtypes.float8_e5m2): False,
    np.dtype(ml_dtypes.float8_e5m2fnuz): True,
}

_LARGEST: dict[Dtype, float] = {
    t: float(ml_dtypes.finfo(t).max)  # type: ignore[no-untyped-call]
    for t in _FLOAT8
}

#: What NaN becomes in the types that have none.
_IN_PLACE_OF_NAN = {
    np.dtype(ml_dtypes.float4_e2m1fn): -0.0,
    np.dtype(ml_dtypes.float6_e2m3fn): 7.5,
    np.dtype(ml_dtypes.float6_e3m2fn): 28.0,
}

_E8M0 = np.dtype(ml_dtypes.float8_e8m0fnu)

#: The values that the text reserves, in lower case.
_RESERVED = {"inf": inf, "+inf": inf, "-inf": -inf, "nan": nan}

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def convert(
    x: Array,
    dtype: Dtype,
    *,
    saturate: int = 1,
    round_mode: str = "up",
    saturate_infinity: bool = True,
) -> Array:
    """Convert a tensor to any element type of ONNX but the complex ones.

    Args: saturate and round_mode, as in Cast-24; saturate_infinity, whether ``saturate`` also makes
    the largest number of an infinity where the target is an FNUZ type, as in Cast-24, or NaN, as in
    Cast-19.
    Returns: a tensor of the same shape.
    """
    source = x.dtype
    if dtype in _NATIVE and source in _NATIVE:
        return x.astype(dtype, copy=False)
    if source == dtype and dtype not in _FLOAT8:
        return x
    if dtype == _STRING:
        return _to_strings(x)
    if source == _STRING:
        x = _from_strings(x, dtype)
    elif source in SMALL_FLOATS:
        x = x.astype(np.float32)
    elif source in _SMALL_INTEGERS:
        x = x.astype(_SMALL_INTEGERS[source])
    if dtype in _NATIVE:
        return x.astype(dtype)
    if dtype in _SMALL_INTEGERS:
        whole = np.asarray(np.rint(x)).astype(np.int64) if x.dtype.kind == "f" else x
        return whole.astype(dtype)
    x = _as_float(x)
    if dtype == _E8M0:
        return _to_e8m0(x, saturate, round_mode)
    if saturate and dtype in _FLOAT8:
        x = _clip(x, dtype, keep_infinity=_FLOAT8[dtype] and not saturate_infinity)
    elif dtype in _IN_PLACE_OF_NAN:
        x = np.where(np.isnan(x), _IN_PLACE_OF_NAN[dtype], x)
    return narrow(x, dtype)


def _as_float(x: Array) -> Array:
    """Return floats that round to all small types, in all directions, as ``x`` itself does."""
    if x.dtype.kind == "f":
        return x.astype(np.float32) if x.dtype == np.float16 else x
    if x.dtype.itemsize < 8:
        return x.astype(np.float64)
    # Of 64 bits, 12 do not fit; what they hold is kept in an odd last bit.
    odd = ((x >> 12) | ((x & 0xFFF) != 0)) << 12
    return np.where((x > 2**53) | (x < -(2**53)), odd, x).astype(np.float64)


def _clip(x: Array, dtype: Dtype, *, keep_infinity: bool) -> Array:
    """Move what is out of range, but not NaN, to the largest numbers of an 8-bit float."""
    largest = _LARGEST[dtype]
    clipped = np.clip(x, -largest, largest)
    return np.where(np.isinf(x), x, clipped) if keep_infinity else clipped


def _to_e8m0(x: Array, saturate: int, round_mode: str) -> Array:
    """Round to a power of two from 2**-127 to 2**127; code c stands for 2**(c-127), 255 for NaN."""
    smallest, largest = 2.0**-127, 2.0**127
    inside = np.clip(x.astype(np.float64), smallest, largest)
    mantissa, exponent = np.frexp(inside)
    if round_mode == "up":
        exponent += mantissa > 0.5
    elif round_mode == "nearest":
        exponent += mantissa >= 0.75
    elif round_mode != "down":
        raise ValueError(f"round_mode is {round_mode!r}; 'up', 'down' or 'nearest' was wanted")
    number = x >= 0 if saturate else (x >= smallest) & (x <= largest)
    return np.where(number, exponent + 126, 255).astype(np.uint8).view(_E8M0)


def _to_strings(x: Array) -> Array:
    """Write numbers in plain decimal digits."""
    if x.dtype in SMALL_FLOATS or x.dtype == np.float16:
        x = x.astype(np.float32)
    if x.dtype.kind == "f":
        texts = [_float_text(v) for v in x.reshape(-1)]
    elif x.dtype.kind == "b":
        texts = ["1" if v else "0" for v in x.reshape(-1).tolist()]
    else:
        wide = x.astype(_SMALL_INTEGERS.get(x.dtype, x.dtype))
        texts = [str(v) for v in wide.reshape(-1).tolist()]
    return _object_array(texts, x.shape)


def _float_text(value: np.floating[Any]) -> str:
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "INF" if value > 0 else "-INF"
    return np.format_float_positional(value, unique=True, trim="0")


def _object_array(items: list[str], shape: tuple[int, ...]) -> Array:
    array = np.empty(len(items), object)
    array[:] = items
    return array.reshape(shape)


def _from_strings(x: Array, dtype: Dtype) -> Array:
    """Read numbers into a type from which ``dtype`` follows without a second rounding."""
    texts = x.reshape(-1).tolist()
    if dtype.kind in "iu" or dtype in _SMALL_INTEGERS:
        numbers = [_read_integer(text) % 2**64 for text in texts]
        return np.array(numbers, np.uint64).reshape(x.shape)
    read = _read if dtype == np.float64 else _read_odd
    return np.array([read(text) for text in texts], np.float64).reshape(x.shape)


def _read(text: str) -> float:
    """Read a number; raises ``ValueError`` for anything else."""
    if _NUMBER.fullmatch(text):
        return float(text)
    try:
        return _RESERVED[text.lower()]
    except KeyError:
        raise ValueError(f"the string {text!r} is no number, INF or NaN") from None


def _read_odd(text: str) -> float:
    """Read a number, rounded to an odd last bit where float64 does not hold it."""
    value = _read(text)
    if text.lower() in _RESERVED:
        return value
    if not isfinite(value):
        return copysign(float_info.max, value)
    if value == 0:
        zero = not any(digit in "123456789" for digit in text.lower().partition("e")[0])
        return value if zero else copysign(nextafter(0.0, 1.0), value)
    exact = Decimal(text)
    rounded = Decimal(value)
    if exact == rounded or struct.pack(">d", value)[-1] & 1:
        return value
    return nextafter(value, inf if exact > rounded else -inf)


def _read_integer(text: str) -> int:
    value = _read(text)
    if not isfinite(value):
        return 0
    return int(value) if abs(value) < 2**53 else int(Decimal(text))


_targets_1 = Targets("Cast", 1)


@kernel("Cast", since_version=1)
def cast_1(x: Array, /, *, to: str) -> Array:
    """Convert ``x`` to the element type of the name ``to``, ``FLOAT`` for example.

    Returns: a tensor of the same shape.
    Source: Cast-1.
    """
    number = dict(onnx.TensorProto.DataType.items()).get(to)
    if number is None:
        raise ValueError(f"the output type is {to!r}; a name of DataType was wanted")
    return convert(x, _targets_1[number])


def _cast_6(version: int) -> None:
    targets = Targets("Cast", version)

    @kernel("Cast", since_version=version)
    def cast(x: Array, /, *, to: int) -> Array:
        """Convert ``x`` to the element type ``to``.

        Returns: a tensor of the same shape.
        Source: Cast-13, whose rules the versions before only lack.
        """
        return convert(x, targets[to])


def _cast_19(version: int) -> None:
    targets = Targets("Cast", version)

    @kernel("Cast", since_version=version)
    def cast(x: Array, /, *, saturate: int, to: int) -> Array:
        """Convert ``x`` to the element type ``to``; 8-bit floats may saturate.

        Returns: a tensor of the same shape.
        Source: Cast-19, in which infinities become NaN in the FNUZ types.
        """
        return convert(x, targets[to], saturate=saturate, saturate_infinity=False)


def _cast_24(version: int) -> None:
    targets = Targets("Cast", version)

    @kernel("Cast", since_version=version)
    def cast(x: Array, /, *, round_mode: str, saturate: int, to: int) -> Array:
        """Convert ``x`` to the element type ``to``; 8-bit floats may saturate.

        Returns: a tensor of the same shape.
        Source: Cast-24.
        """
        return convert(x, targets[to], saturate=saturate, round_mode=round_mode)


for _version in (6, 9, 13):
    _cast_6(_version)
for _version in (19, 21, 23):
    _cast_19(_version)
for _version in (24, 25, 28):
    _cast_24(_version)


@kernel("CastLike", since_version=15)
def cast_like_15(x: Array, target: Array, /) -> Array:
    """Convert ``x`` to the element type of ``target``, whose elements do not matter.

    Returns: a tensor of the shape of ``x``.
    Source: CastLike-15 and Cast-13.
    """
    return convert(x, target.dtype)


@kernel("CastLike", since_version=(19, 21, 23))
def cast_like_19(x: Array, target: Array, /, *, saturate: int) -> Array:
    """Convert ``x`` to the element type of ``target``, whose elements do not matter.

    Returns: a tensor of the shape of ``x``.
    Source: CastLike-19 and Cast-19.
    """
    return convert(x, target.dtype, saturate=saturate, saturate_infinity=False)


@kernel("CastLike", since_version=(24, 25))
def cast_like_24(x: Array, target: Array, /, *, round_mode: str, saturate: int) -> Array:
    """Convert ``x`` to the element type of ``target``, whose elements do not matter.

    Returns: a tensor of the shape of ``x``.
    Source: CastLike-24 and Cast-24.
    """
    return convert(x, target.dtype, saturate=saturate, round_mode=round_mode)
