"""DepthToSpace, SpaceToDepth, ReverseSequence, Trilu, BitCast, IsInf and IsNaN."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx.defs
import onnx.helper

from .registry import kernel
from .rounding import Array
from .tensor_pad import zero_of
from .valuetype import ELEMENT_NAMES


def _image(x: Array, blocksize: int, mode: str) -> tuple[int, int, int, int]:
    """Return the sizes of a 4-D tensor; raises ``ValueError`` for any other, or a bad attribute."""
    if x.ndim != 4:
        raise ValueError(f"the input has shape {x.shape}; [N, C, H, W] was wanted")
    if blocksize < 1:
        raise ValueError(f"blocksize is {blocksize}; at least 1 was wanted")
    if mode not in ("DCR", "CRD"):
        raise ValueError(f"mode is {mode!r}; DCR or CRD was wanted")
    n, c, h, w = x.shape
    return n, c, h, w


@kernel("DepthToSpace", since_version=1)
def depth_to_space_1(x: Array, /, *, blocksize: int) -> Array:
    """Move blocks of depth to space, in the order that version 11 calls DCR.

    The text of version 1 does not say in which order the depth is taken.
    Source: DepthToSpace-1; DepthToSpace-11, "DCR (default)".
    """
    return depth_to_space_11(x, blocksize=blocksize, mode="DCR")


@kernel("DepthToSpace", since_version=(11, 13, 28))
def depth_to_space_11(x: Array, /, *, blocksize: int, mode: str) -> Array:
    """Move blocks of depth to space.

    Args: x, of shape [N, C, H, W], with C a multiple of the square of ``blocksize``.
    Returns: the shape [N, C / blocksize**2, H * blocksize, W * blocksize].
    Source: DepthToSpace-11.
    """
    n, c, h, w = _image(x, blocksize, mode)
    b = blocksize
    depth, rest = divmod(c, b * b)
    if rest:
        raise ValueError(f"there are {c} channels; a multiple of {b * b} was wanted")
    if mode == "DCR":
        blocks = x.reshape(n, b, b, depth, h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        blocks = x.reshape(n, depth, b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return blocks.reshape(n, depth, h * b, w * b)


@kernel("SpaceToDepth", since_version=(1, 13))
def space_to_depth_1(x: Array, /, *, blocksize: int) -> Array:
    """Move blocks of space to depth, in the order that version 28 calls DCR.

    The text says nothing of the order; DepthToSpace-1 calls itself the reverse.
    Source: SpaceToDepth-1; SpaceToDepth-28, "(`DCR`, the default)".
    """
    return space_to_depth_28(x, blocksize=blocksize, mode="DCR")


@kernel("SpaceToDepth", since_version=28)
def space_to_depth_28(x: Array, /, *, blocksize: int, mode: str) -> Array:
    """Move blocks of space to depth.

    Args: x, of shape [N, C, H, W], with H and W multiples of ``blocksize``.
    Returns: the shape [N, C * blocksize**2, H / blocksize, W / blocksize].
    Source: SpaceToDepth-28, "depth-column-row (`DCR`, the default) or column-row-depth (`CRD`)".
    """
    n, c, h, w = _image(x, blocksize, mode)
    b = blocksize
    if h % b or w % b:
        raise ValueError(f"height and width are {h} and {w}; multiples of {b} were wanted")
    order = (0, 3, 5, 1, 2, 4) if mode == "DCR" else (0, 1, 3, 5, 2, 4)
    blocks = x.reshape(n, c, h // b, b, w // b, b).transpose(order)
    return blocks.reshape(n, c * b * b, h // b, w // b)


@kernel("ReverseSequence", since_version=(10, 28))
def reverse_sequence(x: Array, lengths: Array, /, *, batch_axis: int, time_axis: int) -> Array:
    """Reverse the first elements of each sequence, as many as its length, and copy the others.

    Args: lengths, one per batch, from 0 to the size of the time axis.
    A length out of that range is an error; the text names no range.
    Source: ReverseSequence-10, "reverses the first sequence_lens[i] elements on time axis".
    """
    if x.ndim < 2 or {batch_axis, time_axis} != {0, 1}:
        raise ValueError(
            f"the input has shape {x.shape}, batch_axis is {batch_axis} and time_axis {time_axis}; "
            "rank >= 2, and 0 and 1 or 1 and 0 were wanted"
        )
    batches, times = x.shape[batch_axis], x.shape[time_axis]
    if lengths.shape != (batches,):
        raise ValueError(f"sequence_lens has shape {lengths.shape}; ({batches},) was wanted")
    if batches and (lengths.min() < 0 or lengths.max() > times):
        raise ValueError(f"sequence_lens is {lengths.tolist()}; 0 to {times} each was wanted")
    time = np.arange(times)
    length = lengths.reshape(batches, 1)
    source = np.where(time < length, length - 1 - time, time)
    batch = np.arange(batches).reshape(batches, 1)
    if batch_axis == 0:
        return x[batch, source]
    return x[source.T, batch.T]


@kernel("Trilu", since_version=14)
def trilu(x: Array, k: Array | None = None, /, *, upper: int) -> Array:
    """Keep the triangle on and above, or on and below, the diagonal ``k`` of each matrix.

    Args: x, of shape [..., N, M]; k, a scalar, 0 if omitted, as far out as it may be.
    All other elements are 0, False or the empty string.
    Source: Trilu-14.
    """
    if x.ndim < 2:
        raise ValueError(f"the input has shape {x.shape}; rank >= 2 was wanted")
    if k is not None and (k.size != 1 or k.ndim > 1):
        raise ValueError(f"k has shape {k.shape}; a scalar was wanted")
    diagonal = 0 if k is None else int(k.item())
    rows, columns = x.shape[-2:]
    offset = np.arange(columns) - np.arange(rows).reshape(rows, 1)
    kept = offset >= diagonal if upper else offset <= diagonal
    return np.where(kept, x, zero_of(x.dtype))


#: The types that take less than the byte that NumPy gives them: the type, its bits, and the
#: integer type of 8 bits whose values it has, if any.
_PARTS: dict[np.dtype[Any], tuple[int, type | None]] = {
    np.dtype(ml_dtypes.int4): (4, np.int8),
    np.dtype(ml_dtypes.uint4): (4, np.uint8),
    np.dtype(ml_dtypes.float4_e2m1fn): (4, None),
    np.dtype(ml_dtypes.int2): (2, np.int8),
    np.dtype(ml_dtypes.uint2): (2, np.uint8),
}

#: The types that BitCast gives.
_BITCAST_TYPES = frozenset(
    t.removeprefix("tensor(").removesuffix(")")
    for t in onnx.defs.get_schema("BitCast", 26).outputs[0].types
)


def _bits(dtype: np.dtype[Any]) -> int:
    return _PARTS[dtype][0] if dtype in _PARTS else 8 * dtype.itemsize


def _to_bytes(x: Array) -> Array:
    """Return the bits of a type that is smaller than a byte, in the low ones of a byte."""
    bits, integer = _PARTS[x.dtype]
    whole = x.view(np.uint8) if integer is None else x.astype(integer).view(np.uint8)
    return whole & np.uint8(2**bits - 1)


def _from_bytes(x: Array, dtype: np.dtype[Any]) -> Array:
    """Make a type that is smaller than a byte of the low bits of bytes."""
    bits, integer = _PARTS[dtype]
    if integer is None:
        return x.view(dtype)
    sign = 2 ** (bits - 1) if integer is np.int8 else 0
    values = (x.astype(np.int16) ^ sign) - sign
    return values.astype(integer).astype(dtype)


@kernel("BitCast", since_version=26)
def bit_cast(x: Array, /, *, to: int) -> Array:
    """Read the bits of each element as another type of the same width.

    Args: to, a number of ``DataType``, of any type but strings.
    A bool has the 8 bits 0 or 1 here, as the official case has it.
    The text is silent about other bytes read as bool: an error.
    Source: BitCast-26, "The target data type must have the same bit-width as the input data type".
    """
    name = ELEMENT_NAMES.get(to, str(to))
    if name not in _BITCAST_TYPES or x.dtype.kind == "O":
        raise ValueError(f"strings and {name}: any other types were wanted")
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(to))
    if _bits(x.dtype) != _bits(dtype):
        raise ValueError(
            f"{x.dtype} has {_bits(x.dtype)} bits and {name} has {_bits(dtype)}; "
            "the same width was wanted"
        )
    if x.dtype in _PARTS:
        return _from_bytes(_to_bytes(x), dtype)
    if dtype == np.bool_ and x.dtype != np.bool_ and (x.view(np.uint8) > 1).any():
        raise ValueError(f"a byte is {x.view(np.uint8).max()}; as a bool, 0 or 1 was wanted")
    return np.ascontiguousarray(x).view(dtype).reshape(x.shape)


@kernel("IsInf", since_version=(10, 20))
def is_inf(x: Array, /, *, detect_negative: int, detect_positive: int) -> Array:
    """Tell which elements are infinite, of the signs that are to be detected.

    Three of the four 8-bit types have no infinity: all False.
    Source: IsInf-10.
    """
    values = x.astype(np.float64)
    positive = (values == np.inf) & bool(detect_positive)
    negative = (values == -np.inf) & bool(detect_negative)
    return np.asarray(positive | negative)


@kernel("IsNaN", since_version=(9, 13, 20))
def is_nan(x: Array, /) -> Array:
    """Tell which elements are NaN. Source: IsNaN-9."""
    return np.isnan(x.astype(np.float64))
