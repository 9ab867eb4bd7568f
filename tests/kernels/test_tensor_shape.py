"""The kernels about shapes, held against loops over single elements."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_calls import dtypes, schemas, versions
from opcheck.kernels import registry, tensor_shape
from tensor_calls import assert_all_same, assert_same, by_element, call, filled

OPERATORS = (
    "Reshape",
    "Shape",
    "Size",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
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
        assert registry.find(schema).function.__module__ == tensor_shape.__name__


# --- every type ---------------------------------------------------------------------------------

SHAPE = (2, 3, 1)


def example(operator, version, x):
    """Return the inputs, attributes and expected outputs of one call for ``x`` of ``SHAPE``."""
    d = x.dtype
    turned = by_element((1, 3, 2), d, lambda i: x[i[2], i[1], i[0]])
    flat = by_element((6,), d, lambda i: x[i[0] // 3, i[0] % 3, 0])
    without = by_element((2, 3), d, lambda i: x[i[0], i[1], 0])
    one = by_element((1, *SHAPE), d, lambda i: x[i[1:]])
    match operator, version:
        case "Reshape", 1:
            return (x,), {"shape": [6]}, [flat]
        case "Reshape", _:
            return (x, ints(6)), {}, [flat]
        case "Transpose", _:
            return (x,), {"perm": [2, 1, 0]}, [turned]
        case "Squeeze", 1 | 11:
            return (x,), {"axes": [2]}, [without]
        case "Squeeze", _:
            return (x, ints(2)), {}, [without]
        case "Unsqueeze", 1 | 11:
            return (x,), {"axes": [0]}, [one]
        case "Unsqueeze", _:
            return (x, ints(0)), {}, [one]
        case "Shape", _:
            return (x,), {}, [ints(2, 3, 1)]
        case "Size", _:
            return (x,), {}, [np.array(6, np.int64)]
    raise AssertionError(operator)


@pytest.mark.parametrize(("operator", "version"), versions(*OPERATORS))
def test_every_type_of_every_version(operator, version):
    seen = dtypes(operator, version)
    assert len(seen) >= 3
    for dtype in seen:
        x = filled(SHAPE, dtype)
        inputs, attributes, wanted = example(operator, version, x)
        result = call(operator, version, *inputs, **attributes)
        assert_all_same(result if isinstance(result, tuple) else (result,), wanted)


# --- shapes -------------------------------------------------------------------------------------


def flat_items(x):
    return [x[index] for index in np.ndindex(*x.shape)]


def refilled(x, shape):
    """Put the elements of ``x``, in their order, into another shape."""
    items = iter(flat_items(x))
    return by_element(shape, x.dtype, lambda _: next(items))


def reshape(version, x, dims, **attributes):
    if version == 1:
        return call("Reshape", 1, x, shape=dims)
    return call("Reshape", version, x, ints(*dims), **attributes)


def shape_by_text(x, dims, allowzero):
    """Return the shape that Reshape-14 asks for; ``None`` where it is an error."""
    if any(d < -1 for d in dims) or dims.count(-1) > 1 or (allowzero and {0, -1} <= set(dims)):
        return None
    sizes = []
    for i, d in enumerate(dims):
        if d == 0 and not allowzero:
            if i >= x.ndim:
                return None
            d = x.shape[i]
        sizes.append(d)
    known = math.prod(d for d in sizes if d != -1)
    if -1 in sizes:
        if known == 0 or x.size % known:
            return None
        sizes[sizes.index(-1)] = x.size // known
    return tuple(sizes) if math.prod(sizes) == x.size else None


@settings(deadline=None, max_examples=400)
@given(
    shapes,
    st.lists(st.sampled_from([-2, -1, -1, 0, 0, 1, 2, 3, 4, 6, 8, 12]), max_size=4),
    st.sampled_from([v for _, v in versions("Reshape")]),
    st.integers(0, 1),
)
def test_reshape(shape, dims, version, allowzero):
    x = filled(shape)
    attributes = {"allowzero": allowzero} if version >= 14 else {}
    wanted = shape_by_text(x, dims, allowzero=version >= 14 and allowzero)
    if wanted is None:
        with pytest.raises(ValueError, match="the shape"):
            reshape(version, x, dims, **attributes)
    else:
        assert_same(reshape(version, x, dims, **attributes), refilled(x, wanted))


@pytest.mark.parametrize(
    ("shape", "dims", "attributes", "wanted"),
    [
        ((0, 8, 2), [4, 2, -1], {}, (4, 2, 0)),
        ((4, 2, 0), [0, 0, 4], {"allowzero": 1}, (0, 0, 4)),
        ((4, 2, 0), [0, 0, 0, 3], {"allowzero": 0}, (4, 2, 0, 3)),
        ((1,), [], {}, ()),
        ((), [1, -1], {}, (1, 1)),
        ((2, 3, 4), [0, -1], {}, (2, 12)),
        ((2, 3, 4), [0, 0, 0], {}, (2, 3, 4)),
    ],
)
def test_reshape_examples(shape, dims, attributes, wanted):
    for _, version in versions("Reshape"):
        if version >= 14 or not attributes:
            assert reshape(version, filled(shape), dims, **attributes).shape == wanted


@slow
@given(st.data(), shapes, st.sampled_from([v for _, v in versions("Transpose")]))
def test_transpose(data, shape, version):
    x = filled(shape)
    perm = data.draw(st.none() | st.permutations(range(len(shape))))
    order = list(range(len(shape)))[::-1] if perm is None else perm
    wanted = by_element(
        tuple(shape[p] for p in order),
        x.dtype,
        lambda index: x[tuple(index[order.index(axis)] for axis in range(len(shape)))],
    )
    assert_same(call("Transpose", version, x, perm=perm), wanted)


def call_axes(operator, version, x, axes):
    """Call Squeeze or Unsqueeze, whose axes were an attribute before 13."""
    if version < 13:
        return call(operator, version, x, axes=axes)
    return call(operator, version, x, *([] if axes is None else [ints(*axes)]))


@settings(deadline=None, max_examples=400)
@given(
    st.data(),
    st.lists(st.sampled_from([0, 1, 1, 2]), max_size=5).map(tuple),
    st.sampled_from([v for _, v in versions("Squeeze")]),
)
def test_squeeze(data, shape, version):
    x = filled(shape)
    rank = len(shape)
    ones = [i - k for i, n in enumerate(shape) if n == 1 for k in (0, rank)]
    axes = data.draw(st.sampled_from([None, ones, range(-rank, rank)]))
    if axes is not None:
        axes = data.draw(st.lists(st.sampled_from(axes), max_size=2)) if axes else []
    named = [i for i, n in enumerate(shape) if n == 1] if axes is None else [a % rank for a in axes]
    if axes and version == 1 and min(axes) < 0:
        message = "does not count from the back"
    elif any(shape[a] != 1 for a in named):
        message = "cannot be removed; 1 was wanted there"
    elif len(set(named)) < len(named):
        message = "name one axis twice"
    else:
        message = None
    if message:
        with pytest.raises(ValueError, match=message):
            call_axes("Squeeze", version, x, axes)
        return
    wanted = tuple(n for i, n in enumerate(shape) if i not in named)
    assert_same(call_axes("Squeeze", version, x, axes), refilled(x, wanted))


@slow
@given(st.data(), shapes, st.sampled_from([v for _, v in versions("Unsqueeze")]))
def test_unsqueeze(data, shape, version):
    x = filled(shape)
    count = data.draw(st.integers(0, 3))
    rank = len(shape) + count
    axes = [data.draw(st.integers(-rank, rank - 1)) for _ in range(count)]
    named = [a + rank if a < 0 else a for a in axes]
    back = version == 1 and min(axes, default=0) < 0
    if back or len(set(named)) < count:
        message = "does not count from the back" if back else "name one axis of the output twice"
        with pytest.raises(ValueError, match=message):
            call_axes("Unsqueeze", version, x, axes)
        return
    rest = list(shape)
    wanted = tuple(1 if i in named else rest.pop(0) for i in range(rank))
    assert_same(call_axes("Unsqueeze", version, x, axes), refilled(x, wanted))


@pytest.mark.parametrize(("operator", "version"), versions("Squeeze", "Unsqueeze"))
def test_a_scalar_of_axes_is_refused_once_the_text_says_1d(operator, version):
    if version < 13:
        return
    x = filled((1, 3))
    if version >= 23:
        with pytest.raises(ValueError, match=r"axes has shape \(\); a 1-D tensor was wanted"):
            call(operator, version, x, np.array(0))
    else:
        assert (
            call(operator, version, x, np.array(0)).shape
            == {
                "Squeeze": (3,),
                "Unsqueeze": (1, 1, 3),
            }[operator]
        )


@slow
@given(
    shapes,
    st.none() | st.integers(-6, 6) | st.sampled_from([INT64.min, INT64.max]),
    st.integers(-6, 6) | st.sampled_from([INT64.min, INT64.max]),
    st.sampled_from([15, 19, 21, 23, 24, 25]),
)
def test_shape_between_start_and_end(shape, end, start, version):
    def clamped(axis):
        axis = axis + len(shape) if axis < 0 else axis
        return min(max(axis, 0), len(shape))

    first, last = clamped(start), len(shape) if end is None else clamped(end)
    wanted = ints(*(shape[i] for i in range(first, last)))
    assert_same(call("Shape", version, filled(shape), start=start, end=end), wanted)


@slow
@given(shapes, st.sampled_from([v for _, v in versions("Size")]))
def test_size(shape, version):
    wanted = np.array(len(flat_items(filled(shape))), np.int64)
    assert_same(call("Size", version, filled(shape)), wanted)


# --- errors -------------------------------------------------------------------------------------

X = filled((2, 3))
ERRORS = [
    ("Reshape", 1, (X,), {}, ValueError, "the attribute shape is omitted"),
    ("Reshape", 5, (X, ints(4)), {}, ValueError, r"6 elements; the shape \[4\]"),
    ("Reshape", 5, (X, ints(-1, -1)), {}, ValueError, "at most one -1"),
    ("Reshape", 5, (X, ints(-2)), {}, ValueError, "at most one -1"),
    ("Reshape", 14, (X, ints(6, 1, 0)), {}, ValueError, "has no axis"),
    ("Reshape", 14, (X, ints(0, -1)), {"allowzero": 1}, ValueError, "both 0 and -1"),
    ("Reshape", 14, (X, np.array(6)), {}, ValueError, r"shape has shape \(\)"),
    ("Reshape", 25, (filled((0, 2)), ints(0, -1)), {}, ValueError, "does not determine"),
    ("Transpose", 1, (X,), {"perm": [0]}, ValueError, r"perm is \[0\]"),
    ("Transpose", 13, (X,), {"perm": [0, -1]}, ValueError, r"perm is \[0, -1\]"),
    ("Transpose", 25, (X,), {"perm": [1, 1]}, ValueError, r"perm is \[1, 1\]"),
    ("Squeeze", 1, (filled((1, 3)),), {"axes": [-2]}, ValueError, "count from the back"),
    ("Squeeze", 13, (X, ints(0)), {}, ValueError, "axis 0 of shape"),
    ("Unsqueeze", 1, (X,), {"axes": [-1]}, ValueError, "count from the back"),
    ("Unsqueeze", 13, (X, ints(3)), {}, ValueError, r"axis 3 is outside \[-3, 2\]"),
    ("Unsqueeze", 21, (X, ints(0, -4)), {}, ValueError, "twice"),
]


@pytest.mark.parametrize(("operator", "version", "inputs", "attributes", "kind", "match"), ERRORS)
def test_errors_say_what_was_seen(operator, version, inputs, attributes, kind, match):
    with pytest.raises(kind, match=match):
        call(operator, version, *inputs, **attributes)
