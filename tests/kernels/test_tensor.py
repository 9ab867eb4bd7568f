"""The kernels that move elements, held against loops over single elements."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_calls import dtypes, schemas, versions
from opcheck.kernels import registry, tensor
from tensor_calls import assert_all_same, assert_same, by_element, call, filled

OPERATORS = (
    "Concat",
    "Expand",
    "Gather",
    "Identity",
    "Slice",
    "Split",
    "Tile",
    "Where",
)
INT64 = np.iinfo(np.int64)
INT32 = np.iinfo(np.int32)

slow = settings(deadline=None, max_examples=150)


FLOAT, STRING = np.dtype(np.float32), np.dtype(object)


def ints(*values, dtype=np.int64):
    return np.array(values, dtype)


shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)
filled_shapes = st.lists(st.integers(0, 4), min_size=1, max_size=4).map(tuple)


def test_every_version_has_a_kernel():
    for schema in schemas(*OPERATORS):
        assert registry.find(schema).function.__module__ == tensor.__name__


# --- every type ---------------------------------------------------------------------------------

SHAPE = (2, 3, 1)


def example(operator, version, x):
    """Return the inputs, attributes and expected outputs of one call for ``x`` of ``SHAPE``."""
    d = x.dtype
    halves = [by_element((1, 3, 1), d, lambda i, k=k: x[k, i[1], 0]) for k in (0, 1)]
    twice = by_element((4, 3, 1), d, lambda i: x[i[0] % 2, i[1], 0])
    middle = by_element((2, 1, 1), d, lambda i: x[i[0], 1, 0])
    match operator, version:
        case "Identity", _:
            return (x,), {}, [x]
        case "Where", _:
            condition = np.array([[[True]], [[False]]])
            picked = by_element(SHAPE, d, lambda i: x[i] if i[0] == 0 else x[0, 0, 0])
            return (condition, x, x[0, 0, 0:1]), {}, [picked]
        case "Concat", _:
            return (x, x), {"axis": 0}, [twice]
        case "Split", 1:
            return (x,), {"split": [1, 1], "n_outputs": 2}, halves
        case "Split", 2 | 11:
            return (x,), {"split": [1, 1], "n_outputs": 2}, halves
        case "Split", _:
            return (x, ints(1, 1)), {"n_outputs": 2}, halves
        case "Slice", 1:
            return (x,), {"starts": [1], "ends": [2], "axes": [1]}, [middle]
        case "Slice", _:
            return (x, ints(1), ints(2), ints(1)), {}, [middle]
        case "Gather", _:
            return (x, ints(1)), {"axis": 1}, [middle]
        case "Expand", _:
            return (x[0:1], ints(2, 1, 1)), {}, [by_element(SHAPE, d, lambda i: x[0, i[1], 0])]
        case "Tile", 1:
            return (x, np.array(2, d), np.array(0, d)), {}, [twice]
        case "Tile", _:
            return (x, ints(2, 1, 1)), {}, [twice]
    raise AssertionError(operator)


@pytest.mark.parametrize(("operator", "version"), versions(*OPERATORS))
def test_every_type_of_every_version(operator, version):
    seen = dtypes(operator, version, "V" if operator == "Identity" and version >= 14 else "T")
    assert len(seen) >= 3
    for dtype in seen:
        x = filled(SHAPE, dtype)
        inputs, attributes, wanted = example(operator, version, x)
        result = call(operator, version, *inputs, **attributes)
        assert_all_same(result if isinstance(result, tuple) else (result,), wanted)


@pytest.mark.parametrize("version", [14, 16, 25])
def test_identity_of_sequences_and_optionals(version):
    sequence = [filled((2,)), filled((0, 3))]
    result = call("Identity", version, sequence)
    assert isinstance(result, list)
    assert all(a is b for a, b in zip(result, sequence, strict=True))
    assert call("Identity", 16, None) is None


# --- Where, Concat, Split -----------------------------------------------------------------------


def common_shape(*given_shapes):
    """Broadcast shapes by the rule in Broadcasting.md; ``None`` where it does not hold."""
    rank = max(len(s) for s in given_shapes)
    padded = [(1,) * (rank - len(s)) + tuple(s) for s in given_shapes]
    result = []
    for sizes in zip(*padded, strict=True):
        wide = {n for n in sizes if n != 1}
        if len(wide) > 1:
            return None
        result.append(wide.pop() if wide else 1)
    return tuple(result)


def broadcast_item(x, index):
    """Return the element of ``x`` that stands at an index of the common shape."""
    own = index[len(index) - x.ndim :]
    return x[tuple(i if n != 1 else 0 for i, n in zip(own, x.shape, strict=True))]


@slow
@given(st.data(), st.sampled_from([9, 16]))
def test_where(data, version):
    small = st.lists(st.sampled_from([0, 1, 1, 3]), max_size=3).map(tuple)
    c, x, y = (filled(data.draw(small)) for _ in range(3))
    c, y = np.asarray(c % 2 == 1), np.asarray(-y)
    shape = common_shape(c.shape, x.shape, y.shape)
    if shape is None:
        with pytest.raises(ValueError, match="do not broadcast together"):
            call("Where", version, c, x, y)
        return
    wanted = by_element(
        shape, x.dtype, lambda i: broadcast_item(x if broadcast_item(c, i) else y, i)
    )
    assert_same(call("Where", version, c, x, y), wanted)


@slow
@given(st.data(), filled_shapes, st.sampled_from([1, 4, 11, 13]))
def test_concat(data, shape, version):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    k = axis % len(shape)
    lengths = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    xs = [
        filled((*shape[:k], n, *shape[k + 1 :])) + np.float32(10 * i) for i, n in enumerate(lengths)
    ]
    if version < 11 and axis < 0:
        with pytest.raises(ValueError, match="does not count from the back"):
            call("Concat", version, *xs, axis=axis)
        return
    origin = [(i, j) for i, n in enumerate(lengths) for j in range(n)]

    def element(index):
        i, j = origin[index[k]]
        return xs[i][(*index[:k], j, *index[k + 1 :])]

    wanted = by_element((*shape[:k], sum(lengths), *shape[k + 1 :]), np.float32, element)
    assert_same(call("Concat", version, *xs, axis=axis), wanted)


def test_concat_1_has_axis_1_by_default():
    x = filled((2, 3))
    result = call("Concat", 1, x, x)
    assert_same(result, by_element((2, 6), x.dtype, lambda i: x[i[0], i[1] % 3]))


def pieces(x, axis, sizes):
    result = []
    start = 0
    for size in sizes:
        shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])

        def element(index, start=start):
            return x[(*index[:axis], index[axis] + start, *index[axis + 1 :])]

        result.append(by_element(shape, x.dtype, element))
        start += size
    return result


@slow
@given(st.data(), filled_shapes, st.sampled_from([1, 2, 11, 13, 18]))
def test_split_into_given_sizes(data, shape, version):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    k = axis % len(shape)
    sizes = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=4))
    x = filled((*shape[:k], sum(sizes), *shape[k + 1 :]))
    as_input = version >= 13 or (version == 1 and data.draw(st.booleans()))
    inputs = [ints(*sizes)] if version >= 13 else [np.array(sizes, np.float32)]
    attributes = {"axis": axis, "n_outputs": len(sizes)}
    if not as_input:
        inputs = []
        attributes["split"] = sizes
    assert_all_same(call("Split", version, x, *inputs, **attributes), pieces(x, k, sizes))


@pytest.mark.parametrize("version", [1, 2, 11, 13])
def test_split_into_equal_sizes(version):
    for length, n in itertools.product(range(7), range(1, 5)):
        x = filled((length, 2))
        if length % n:
            with pytest.raises(ValueError, match=f"no {n} parts of equal size"):
                call("Split", version, x, n_outputs=n)
        else:
            sizes = [length // n] * n
            assert_all_same(call("Split", version, x, n_outputs=n), pieces(x, 0, sizes))


def test_split_18_makes_the_last_part_smaller():
    for length, n in itertools.product(range(12), range(1, 7)):
        x = filled((2, length))
        size = next(s for s in range(length + 1) if s * n >= length)
        sizes = [size] * (n - 1) + [length - size * (n - 1)]
        if sizes[-1] < 0:
            with pytest.raises(ValueError, match="the last alone is smaller"):
                call("Split", 18, x, axis=-1, num_outputs=n, n_outputs=n)
        else:
            result = call("Split", 18, x, axis=-1, num_outputs=n, n_outputs=n)
            assert_all_same(result, pieces(x, 1, sizes))
    assert [
        p.shape[1] for p in call("Split", 18, filled((1, 7)), axis=1, num_outputs=4, n_outputs=4)
    ] == [2, 2, 2, 1]


# --- Slice, Gather ------------------------------------------------------------------------------


def slice_by_text(x, starts, ends, axes, steps):
    """Follow Slice-13 word by word."""
    r = x.ndim
    axes = list(range(r))[: len(starts)] if axes is None else [a + r if a < 0 else a for a in axes]
    steps = [1] * len(starts) if steps is None else steps
    effective = [(0, x.shape[i], 1) for i in range(r)]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        dim = x.shape[axis]
        start = start + dim if start < 0 else start
        end = end + dim if end < 0 else end
        if step > 0:
            start, end = min(max(start, 0), dim), min(max(end, 0), dim)
        else:
            start, end = max(min(start, dim - 1), 0), max(min(end, dim - 1), -1)
            if dim == 0:
                end = start
        effective[axis] = start, end, step
    picked = []
    for start, end, step in effective:
        i, here = start, []
        while (i < end) if step > 0 else (i > end):
            here.append(i)
            i += step
        picked.append(here)
    shape = tuple(map(len, picked))
    return by_element(
        shape, x.dtype, lambda i: x[tuple(p[j] for p, j in zip(picked, i, strict=True))]
    )


bounds = st.integers(-9, 9) | st.sampled_from([INT64.min, INT64.max, INT32.min, INT32.max])
strides = st.integers(-3, 3).filter(bool) | st.sampled_from([INT64.min, INT64.max, -7, 7])


@settings(deadline=None, max_examples=400)
@given(st.data(), shapes, st.sampled_from([1, 10, 11, 13]))
def test_slice(data, shape, version):
    x = filled(shape)
    axes = data.draw(
        st.lists(st.sampled_from(range(len(shape))), unique=True) if shape else st.just([])
    )
    if version >= 11:
        axes = [a - len(shape) if data.draw(st.booleans()) else a for a in axes]
    n = len(axes)
    starts, ends = (data.draw(st.lists(bounds, min_size=n, max_size=n)) for _ in range(2))
    steps = data.draw(st.lists(strides, min_size=n, max_size=n)) if version >= 10 else None
    if data.draw(st.booleans()):
        axes = None
    if data.draw(st.booleans()):
        steps = None
    wanted = slice_by_text(x, starts, ends, axes, steps)
    if version == 1:
        result = call("Slice", 1, x, starts=starts, ends=ends, axes=axes)
    else:
        lists = (starts, ends, axes, steps)
        result = call("Slice", version, x, *(None if v is None else ints(*v) for v in lists))
    assert_same(result, wanted)


@pytest.mark.parametrize("version", [10, 11, 13])
def test_slice_backwards_with_int32_bounds(version):
    x = filled((4,))
    arguments = [np.array([v], np.int32) for v in (INT32.max, INT32.min, 0, -1)]
    result = call("Slice", version, x, *arguments)
    assert_same(result, by_element((4,), x.dtype, lambda i: x[3 - i[0]]))


def test_slice_of_a_scalar_without_axes():
    assert_same(
        call("Slice", 13, filled((), STRING), ints(), ints()),
        filled((), STRING),
    )


@slow
@given(
    st.data(),
    filled_shapes,
    st.lists(st.integers(0, 3), max_size=3).map(tuple),
    st.sampled_from([1, 11, 13]),
)
def test_gather(data, shape, index_shape, version):
    x = filled(shape, data.draw(st.sampled_from([FLOAT, STRING])))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    k = axis % len(shape)
    size = shape[k]
    count = math.prod(index_shape)
    values = data.draw(st.lists(st.integers(-size - 1, size), min_size=count, max_size=count))
    dtype = data.draw(st.sampled_from([np.int32, np.int64]))
    indices = np.array(values, dtype).reshape(index_shape)
    lowest = 0 if version == 1 else -size
    if any(not lowest <= v < size for v in values):
        with pytest.raises(IndexError, match=r"index -?\d+ is (negative|outside)"):
            call("Gather", version, x, indices, axis=axis)
        return
    q = len(index_shape)

    def element(index):
        at = int(indices[index[k : k + q]])
        return x[(*index[:k], at + size if at < 0 else at, *index[k + q :])]

    wanted = by_element((*shape[:k], *index_shape, *shape[k + 1 :]), x.dtype, element)
    assert_same(call("Gather", version, x, indices, axis=axis), wanted)


# --- Expand, Tile -------------------------------------------------------------------------------


@slow
@given(
    st.lists(st.sampled_from([0, 1, 1, 3]), max_size=4).map(tuple),
    st.lists(st.sampled_from([-1, 0, 1, 1, 3, 3]), max_size=4),
    st.sampled_from([8, 13]),
)
def test_expand(shape, dims, version):
    x = filled(shape)
    common = common_shape(shape, tuple(dims))
    if common is None or min(dims, default=0) < 0:
        with pytest.raises(ValueError, match="does not broadcast with"):
            call("Expand", version, x, ints(*dims))
        return
    wanted = by_element(common, x.dtype, lambda i: broadcast_item(x, i))
    assert_same(call("Expand", version, x, ints(*dims)), wanted)


@slow
@given(st.data(), shapes, st.sampled_from([6, 13]))
def test_tile(data, shape, version):
    x = filled(shape, data.draw(st.sampled_from([FLOAT, STRING])))
    n = len(shape)
    repeats = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    wanted = by_element(
        tuple(s * r for s, r in zip(shape, repeats, strict=True)),
        x.dtype,
        lambda i: x[tuple(j % s for j, s in zip(i, shape, strict=True))],
    )
    assert_same(call("Tile", version, x, ints(*repeats)), wanted)


@slow
@given(st.data(), filled_shapes, st.integers(0, 3))
def test_tile_1(data, shape, tiles):
    x = filled(shape)
    k = data.draw(st.integers(0, len(shape) - 1))
    one = data.draw(st.sampled_from([(), (1,)]))
    wanted = by_element(
        (*shape[:k], shape[k] * tiles, *shape[k + 1 :]),
        x.dtype,
        lambda i: x[(*i[:k], i[k] % shape[k], *i[k + 1 :])],
    )
    result = call("Tile", 1, x, np.full(one, tiles, np.float32), np.full(one, k, np.float32))
    assert_same(result, wanted)


# --- errors -------------------------------------------------------------------------------------

X = filled((2, 3))
ERRORS = [
    ("Where", 9, (np.array(True), X, X.astype(np.float64)), {}, TypeError, "tensor 1 is float64"),
    ("Concat", 4, (X, X), {"axis": 2}, ValueError, r"axis 2 is outside \[0, 1\]"),
    ("Concat", 11, (X, X), {"axis": -3}, ValueError, r"axis -3 is outside \[-2, 1\]"),
    ("Concat", 13, (X, filled((2, 2))), {"axis": 0}, ValueError, r"\(2, 3\), \(2, 2\) differ"),
    ("Concat", 13, (X, filled((2,))), {"axis": 0}, ValueError, r"\(2, 3\), \(2,\) differ"),
    ("Concat", 13, (X, X.astype(np.float16)), {"axis": 0}, TypeError, "tensor 1 is float16"),
    ("Concat", 13, (filled(()),), {"axis": 0}, ValueError, "rank 0"),
    ("Split", 2, (X,), {"split": [1, 2], "n_outputs": 2}, ValueError, "sum up to it"),
    ("Split", 11, (X,), {"split": [3, -1], "n_outputs": 2}, ValueError, "sizes >= 0"),
    ("Split", 13, (X, ints(1, 1)), {"n_outputs": 3}, ValueError, "2 sizes; the node has 3 outputs"),
    ("Split", 18, (X, ints(1, 1)), {"n_outputs": 3}, ValueError, "2 sizes; the node has 3 outputs"),
    ("Split", 13, (X,), {"axis": 2, "n_outputs": 1}, ValueError, r"axis 2 is outside \[-2, 1\]"),
    ("Split", 18, (X,), {"n_outputs": 2}, ValueError, "one of the input split and"),
    (
        "Split",
        18,
        (X, ints(1, 1)),
        {"num_outputs": 2, "n_outputs": 2},
        ValueError,
        "one of the input split and",
    ),
    ("Split", 18, (X,), {"num_outputs": 2, "n_outputs": 1}, ValueError, "num_outputs is 2"),
    (
        "Split",
        1,
        (X, np.array([1, 1], np.float32)),
        {"split": [1, 1], "n_outputs": 2},
        ValueError,
        "given twice",
    ),
    (
        "Split",
        1,
        (X, np.array([0.5, 1.5], np.float32)),
        {"n_outputs": 2},
        ValueError,
        "split is 0.5; a whole number",
    ),
    ("Slice", 1, (X,), {"starts": [0], "ends": [1], "axes": [-1]}, ValueError, "count from the b"),
    ("Slice", 10, (X, ints(0), ints(1), ints(-1)), {}, ValueError, "count from the back"),
    ("Slice", 13, (X, ints(0), ints(1), ints(2)), {}, ValueError, r"axis 2 is outside \[-2, 1\]"),
    ("Slice", 13, (X, ints(0, 0), ints(1, 1), ints(0, -2)), {}, ValueError, "name axis 0 twice"),
    ("Slice", 13, (X, ints(0), ints(1), ints(0), ints(0)), {}, ValueError, "a step is 0"),
    ("Slice", 13, (X, ints(0), ints(1, 1), ints(0)), {}, ValueError, "1 starts, 2 ends"),
    ("Slice", 13, (X, np.array(0), ints(1)), {}, ValueError, r"starts has shape \(\)"),
    ("Slice", 13, (X, ints(0, 0, 0), ints(1, 1, 1)), {}, ValueError, "axis 2 is outside"),
    ("Gather", 1, (X, ints(0, -1)), {"axis": 0}, IndexError, "index -1 is negative"),
    ("Gather", 11, (X, ints(0, 2)), {"axis": 0}, IndexError, r"index 2 is outside \[-2, 1\]"),
    ("Gather", 13, (X, np.array(-4)), {"axis": 1}, IndexError, r"index -4 is outside \[-3, 2\]"),
    ("Gather", 13, (filled((3, 0)), ints(3)), {"axis": 0}, IndexError, "index 3 is outside"),
    ("Gather", 13, (filled((0, 3)), ints(0)), {"axis": 0}, IndexError, "index 0 is outside"),
    ("Gather", 13, (filled((0, 2)), ints(2)), {"axis": 1}, IndexError, "index 2 is outside"),
    ("Gather", 13, (filled((0, 2)), np.array(-3)), {"axis": 1}, IndexError, "index -3 is outside"),
    ("Gather", 13, (filled(()), ints(0)), {"axis": 0}, ValueError, "rank 0"),
    ("Expand", 8, (X, ints(2, 2)), {}, ValueError, r"\(2, 3\) does not broadcast with \[2, 2\]"),
    ("Expand", 13, (X, ints(0, 3)), {}, ValueError, "does not broadcast with"),
    ("Expand", 13, (X, np.array(3)), {}, ValueError, r"shape has shape \(\)"),
    ("Tile", 6, (X, ints(2)), {}, ValueError, "repeats has 1 elements; 2"),
    ("Tile", 13, (X, ints(2, -1)), {}, ValueError, "numbers >= 0"),
    (
        "Tile",
        1,
        (X, np.array(1.5, np.float32), np.array(0, np.float32)),
        {},
        ValueError,
        "tiles is 1.5",
    ),
    (
        "Tile",
        1,
        (X, np.array([1, 2], np.float32), np.array(0, np.float32)),
        {},
        ValueError,
        "tiles has shape",
    ),
    (
        "Tile",
        1,
        (X, np.array(1, np.float32), np.array(-1, np.float32)),
        {},
        ValueError,
        "count from the back",
    ),
]


@pytest.mark.parametrize(("operator", "version", "inputs", "attributes", "kind", "match"), ERRORS)
def test_errors_say_what_was_seen(operator, version, inputs, attributes, kind, match):
    with pytest.raises(kind, match=match):
        call(operator, version, *inputs, **attributes)
