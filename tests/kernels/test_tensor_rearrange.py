"""DepthToSpace, SpaceToDepth, ReverseSequence, Trilu, BitCast, IsInf and IsNaN."""

import math
import re

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_calls import NAMES, dtypes, versions
from tensor_calls import assert_same, call, filled, ints

BLOCKS = versions("DepthToSpace", "SpaceToDepth")


def modes(operator, version):
    return ["DCR", "CRD"] if version >= (28 if operator == "SpaceToDepth" else 11) else [None]


def blocks(x, b, mode, to_depth):
    """Move single elements, by the order of depth that the text of DepthToSpace-11 gives."""
    n, c, h, w = x.shape
    depth = c if to_depth else c // (b * b)
    shape = (n, c * b * b, h // b, w // b) if to_depth else (n, depth, h * b, w * b)
    result = np.empty(shape, x.dtype)
    image = (n, depth, *(shape, x.shape)[to_depth][2:])
    for i, d, row, column in np.ndindex(*image):
        part = (row % b) * b + column % b
        channel = d * b * b + part if mode == "CRD" else part * depth + d
        deep = (i, channel, row // b, column // b)
        flat = (i, d, row, column)
        if to_depth:
            result[deep] = x[flat]
        else:
            result[flat] = x[deep]
    return result


@pytest.mark.parametrize(("operator", "version"), BLOCKS)
def test_blocks_of_every_type(operator, version):
    """In both orders where the version has them; versions before have DCR."""
    to_depth = operator == "SpaceToDepth"
    shape = (2, 3, 2, 6) if to_depth else (2, 12, 1, 3)
    for dtype in dtypes(operator, version):
        x = filled(shape, dtype)
        for mode in modes(operator, version):
            attributes = {} if mode is None else {"mode": mode}
            got = call(operator, version, x, blocksize=2, **attributes)
            assert_same(np.ascontiguousarray(got), blocks(x, 2, mode or "DCR", to_depth))


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize("b", [1, 2, 3])
def test_one_undoes_the_other(mode, b):
    """Source: DepthToSpace-1, "This is the reverse transformation of SpaceToDepth"."""
    x = filled((2, 3, 2 * b, b), np.int64)
    deep = call("SpaceToDepth", 28, x, blocksize=b, mode=mode)
    assert deep.shape == (2, 3 * b * b, 2, 1)
    assert_same(np.ascontiguousarray(call("DepthToSpace", 28, deep, blocksize=b, mode=mode)), x)


@pytest.mark.parametrize(
    ("operator", "shape", "attributes"),
    [
        ("DepthToSpace", (1, 6, 1, 1), {"blocksize": 2}),
        ("DepthToSpace", (4, 1, 1), {"blocksize": 2}),
        ("DepthToSpace", (1, 4, 1, 1), {"blocksize": 0}),
        ("DepthToSpace", (1, 4, 1, 1), {"blocksize": 2, "mode": "dcr"}),
        ("SpaceToDepth", (1, 1, 3, 2), {"blocksize": 2}),
        ("SpaceToDepth", (1, 1, 2, 3), {"blocksize": 2}),
        ("SpaceToDepth", (1, 1, 2, 2), {"blocksize": -1}),
    ],
)
def test_what_blocks_refuse(operator, shape, attributes):
    """Sizes that are no multiples, other ranks, other modes."""
    with pytest.raises(ValueError, match="wanted"):
        call(operator, 28, filled(shape), **attributes)


def reversed_sequences(x, lengths, batch_axis):
    y = np.moveaxis(x, batch_axis, 0).copy()
    for i, length in enumerate(lengths):
        for t in range(length):
            y[i, t] = np.moveaxis(x, batch_axis, 0)[i, length - 1 - t]
    return np.ascontiguousarray(np.moveaxis(y, 0, batch_axis))


@pytest.mark.parametrize("version", [10, 28])
@pytest.mark.parametrize("batch_axis", [0, 1])
def test_sequences_of_every_type(version, batch_axis):
    """Length 0 copies all."""
    for dtype in dtypes("ReverseSequence", version):
        x = filled((3, 4, 2), dtype)
        lengths = [0, 4, 3] if batch_axis == 0 else [3, 0, 2, 1]
        axes = {"batch_axis": batch_axis, "time_axis": 1 - batch_axis}
        got = call("ReverseSequence", version, x, ints(lengths), **axes)
        assert_same(np.ascontiguousarray(got), reversed_sequences(x, lengths, batch_axis))


@pytest.mark.parametrize(
    ("shape", "lengths", "attributes"),
    [
        ((2, 2), [1, 3], {}),
        ((2, 2), [-1, 1], {}),
        ((2, 2), [1], {}),
        ((2, 2), [[1, 1]], {}),
        ((2, 2), [1, 1], {"batch_axis": 0}),
        ((2, 2), [1, 1], {"batch_axis": 0, "time_axis": 2}),
        ((2,), [1, 1], {}),
    ],
)
def test_what_reverse_sequence_refuses(shape, lengths, attributes):
    """Lengths in range, one per batch; the axes 0 and 1."""
    with pytest.raises(ValueError, match="wanted"):
        call("ReverseSequence", 28, filled(shape), np.array(lengths), **attributes)


@settings(deadline=None, max_examples=100)
@given(
    rows=st.integers(0, 4),
    columns=st.integers(0, 4),
    k=st.one_of(st.integers(-6, 6), st.sampled_from([-(2**63), 2**63 - 1])),
    upper=st.integers(0, 1),
)
def test_triangles_follow_the_text(rows, columns, k, upper):
    """On and above the diagonal, or on and below it, however far out that is."""
    x = filled((2, rows, columns), np.int16) + 1
    wanted = x.copy()
    for b, i, j in np.ndindex(2, rows, columns):
        if j - i < k if upper else j - i > k:
            wanted[b, i, j] = 0
    assert_same(call("Trilu", 14, x, np.array(k), upper=upper), wanted)


def test_triangles_of_every_type():
    """NaN outside of the triangle becomes 0, and a string the empty one."""
    for dtype in dtypes("Trilu", 14):
        x = filled((2, 3), dtype)
        wanted = x.copy()
        wanted[1, 0] = "" if dtype.kind == "O" else np.zeros((), dtype)
        assert_same(call("Trilu", 14, x), wanted)
    got = call("Trilu", 14, np.array([[-0.0, np.nan]]), np.array([1]), upper=0)
    assert np.signbit(got[0, 0])
    with pytest.raises(ValueError, match="rank >= 2"):
        call("Trilu", 14, filled((3,)))
    with pytest.raises(ValueError, match="scalar"):
        call("Trilu", 14, filled((2, 2)), ints(0, 1))


def width(name):
    wide = {"bool": 8, "float": 32, "double": 64}
    return wide.get(name) or int(re.match(r"[a-z]+(\d+)", name)[1])


BITCAST = sorted(
    t.removeprefix("tensor(").removesuffix(")")
    for t in onnx.defs.get_schema("BitCast", 26).type_constraints[0].allowed_type_strs
)


def patterns(x, bits):
    """Return the bits of each element as an integer."""
    if x.dtype in (np.dtype(ml_dtypes.int4), np.dtype(ml_dtypes.int2)):
        return [int(v) % 2**bits for v in x.astype(np.int8).reshape(-1)]
    if x.dtype in (np.dtype(ml_dtypes.uint4), np.dtype(ml_dtypes.uint2)):
        return x.astype(np.uint8).reshape(-1).tolist()
    raw = x.tobytes()
    size = max(bits // 8, 1)
    return [int.from_bytes(raw[i : i + size], "little") for i in range(0, len(raw), size)]


@pytest.mark.parametrize("source", BITCAST)
def test_bits_of_every_pair_of_types(source):
    """The bits stay where the widths are the same; otherwise it is an error."""
    dtype = np.dtype(getattr(ml_dtypes, NAMES.get(source, source), NAMES.get(source, source)))
    x = filled((3, 2), dtype)
    for target in BITCAST:
        to = onnx.TensorProto.DataType.Value({"double": "DOUBLE"}.get(target, target.upper()))
        if width(source) != width(target):
            with pytest.raises(ValueError, match="the same width"):
                call("BitCast", 26, x, to=to)
            continue
        if target == "bool" and source != "bool":
            x_ = x.view(np.uint8) % 2
            x_ = x_.view(dtype)
        else:
            x_ = x
        got = call("BitCast", 26, x_, to=to)
        wanted_type = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(to))
        assert (got.shape, got.dtype) == (x.shape, wanted_type)
        assert patterns(got, width(target)) == patterns(x_, width(source))


@pytest.mark.parametrize("pair", [("int4", "uint4", 16), ("int2", "uint2", 4)])
def test_all_patterns_of_small_integers(pair):
    """Sign and value, both ways."""
    signed, unsigned, count = pair
    every = np.arange(count).astype(getattr(ml_dtypes, unsigned))
    half = count // 2
    got = call("BitCast", 26, every, to=onnx.TensorProto.DataType.Value(signed.upper()))
    assert got.astype(np.int8).tolist() == [v - count if v >= half else v for v in range(count)]
    back = call("BitCast", 26, got, to=onnx.TensorProto.DataType.Value(unsigned.upper()))
    assert_same(back, every)


def test_bits_that_are_refused():
    """Strings, and bytes that are no truth value."""
    with pytest.raises(ValueError, match="strings"):
        call("BitCast", 26, filled((1,)), to=onnx.TensorProto.STRING)
    with pytest.raises(ValueError, match="0 or 1"):
        call("BitCast", 26, ints([2], dtype=np.uint8), to=onnx.TensorProto.BOOL)


@pytest.mark.parametrize(("operator", "version"), versions("IsInf", "IsNaN"))
def test_special_values_of_every_type(operator, version):
    """All patterns of 8 bits, and some of the others."""
    check = math.isinf if operator == "IsInf" else math.isnan
    for dtype in dtypes(operator, version, "T1"):
        bits = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[dtype.itemsize]
        top = 2 ** (8 * dtype.itemsize) // 256
        x = (np.arange(256, dtype=np.uint64) * np.uint64(top)).astype(bits).view(dtype)
        got = call(operator, version, x)
        assert got.dtype == bool
        assert got.tolist() == [check(float(v)) for v in x]


@pytest.mark.parametrize("version", [10, 20])
@pytest.mark.parametrize("negative", [0, 1])
@pytest.mark.parametrize("positive", [0, 1])
def test_signs_of_infinities(version, negative, positive):
    """Each attribute is for one sign."""
    x = np.array([[-np.inf], [np.inf], [np.nan]], np.float32)
    got = call("IsInf", version, x, detect_negative=negative, detect_positive=positive)
    assert got.tolist() == [[bool(negative)], [bool(positive)], [False]]
