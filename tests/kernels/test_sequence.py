"""The kernels on sequences, held against Python's lists and loops over single elements."""

import ml_dtypes
import numpy as np
import onnx
import onnx.defs
import onnx.helper
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernel_calls
from opcheck.kernels import registry, sequence

OPERATORS = (
    "ConcatFromSequence",
    "SequenceAt",
    "SequenceConstruct",
    "SequenceEmpty",
    "SequenceErase",
    "SequenceInsert",
    "SequenceLength",
    "SplitToSequence",
)
SCHEMAS = [
    s for s in onnx.defs.get_all_schemas_with_history() if s.name in OPERATORS and not s.domain
]
NUMBERS = dict(onnx.TensorProto.DataType.items())
FLOAT = np.dtype(np.float32)

slow = settings(deadline=None, max_examples=150)


def call(operator, *inputs, version=11, **attributes):
    return kernel_calls.call(operator, version, *inputs, **attributes)


def assert_same(seen, wanted):
    """Compare tensors, sequences and absent inputs."""
    assert type(seen) is type(wanted)
    if isinstance(wanted, list):
        assert len(seen) == len(wanted)
        for pair in zip(seen, wanted, strict=True):
            assert_same(*pair)
    elif wanted is not None:
        assert seen.dtype == wanted.dtype
        assert seen.shape == wanted.shape
        assert seen.reshape(-1).tolist() == wanted.reshape(-1).tolist()


def tensors_of(count, dtype=FLOAT):
    """Return tensors of different shapes and elements."""
    if dtype == np.dtype(object):
        return [np.array([f"é{i}"] * (i % 3), object) for i in range(count)]
    return [np.full((i % 3, 2), i + 1, np.float32).astype(dtype) for i in range(count)]


def dtypes(schema, parameter):
    (names,) = [
        c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == parameter
    ]
    for name in names:
        text = name.removeprefix("seq(").removeprefix("tensor(").rstrip(")")
        number = NUMBERS[{"float": "FLOAT", "double": "DOUBLE"}.get(text, text.upper())]
        yield np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number))


def test_every_version_has_a_kernel():
    for schema in SCHEMAS:
        assert registry.find(schema).function.__module__ == sequence.__name__


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda s: f"{s.name}-{s.since_version}")
def test_every_type(schema):
    for dtype in dtypes(schema, "S"):
        a, b, c = tensors_of(3, dtype)
        x = tensors_of(3, dtype)[2]
        position = np.array(1, np.int32)
        joined = np.array([*b.tolist(), *c.tolist()], dtype).reshape(3, *b.shape[1:])
        inputs, attributes, wanted = {
            "ConcatFromSequence": (([b, c],), {"axis": 0}, joined),
            "SequenceAt": (([a, b, c], position), {}, b),
            "SequenceConstruct": ((a, b, c), {}, [a, b, c]),
            "SequenceEmpty": ((), {}, []),
            "SequenceErase": (([a, b, c], position), {}, [a, c]),
            "SequenceInsert": (([a, c], b, position), {}, [a, b, c]),
            "SequenceLength": (([a, b, c],), {}, np.array(3, np.int64)),
            "SplitToSequence": ((x,), {}, [x[0:1], x[1:2]]),
        }[schema.name]
        assert_same(call(schema.name, *inputs, version=schema.since_version, **attributes), wanted)


positions = st.integers(-6, 6)
dtypes_of_positions = st.sampled_from([np.int32, np.int64])


@slow
@given(st.integers(0, 5), positions, dtypes_of_positions)
def test_sequence_at(n, position, dtype):
    items = tensors_of(n)
    at = np.array(position, dtype)
    if -n <= position < n:
        assert_same(call("SequenceAt", items, at), items[position])
    else:
        with pytest.raises(IndexError, match=f"position {position} is outside"):
            call("SequenceAt", items, at)


@slow
@given(st.integers(0, 5), st.none() | positions, dtypes_of_positions)
def test_sequence_erase(n, position, dtype):
    items = tensors_of(n)
    inputs = [] if position is None else [np.array(position, dtype)]
    index = n - 1 if position is None else position
    if not -n <= index < n or n == 0:
        with pytest.raises(IndexError, match=r"position|the sequence is empty"):
            call("SequenceErase", items, *inputs)
        return
    wanted = [item for i, item in enumerate(items) if i not in (index, index + n)]
    assert len(wanted) == n - 1
    assert_same(call("SequenceErase", items, *inputs), wanted)


@slow
@given(st.integers(0, 5), st.none() | positions, dtypes_of_positions)
def test_sequence_insert(n, position, dtype):
    items = tensors_of(n)
    extra = np.full((1, 1), 99, np.float32)
    inputs = [] if position is None else [np.array(position, dtype)]
    if position is not None and not -n <= position <= n:
        with pytest.raises(IndexError, match=f"position {position} is outside"):
            call("SequenceInsert", items, extra, *inputs)
        return
    index = n if position is None else position + n if position < 0 else position
    wanted = []
    for i in range(n + 1):
        wanted += ([extra] if i == index else []) + items[i : i + 1]
    assert_same(call("SequenceInsert", items, extra, *inputs), wanted)


def test_a_position_of_one_element_is_a_scalar():
    """The official node cases of SequenceInsert give the position the shape [1]."""
    items = tensors_of(3)
    at = np.array([1], np.int64)
    assert_same(call("SequenceAt", items, at), items[1])
    assert_same(call("SequenceErase", items, at), [items[0], items[2]])
    assert_same(call("SequenceInsert", items, items[0], at), [items[0], *items])


@slow
@given(st.integers(0, 6))
def test_sequence_length(n):
    assert_same(call("SequenceLength", tensors_of(n)), np.array(n, np.int64))


def test_sequence_empty_gives_a_new_list_each_time():
    for number in (None, onnx.TensorProto.INT64, onnx.TensorProto.STRING):
        first, second = (call("SequenceEmpty", dtype=number) for _ in range(2))
        assert first == second == []
        assert first is not second


# --- SplitToSequence, ConcatFromSequence ----------------------------------------------------------


def part(x, axis, start, size):
    """Copy ``size`` slices from ``start`` on, element by element."""
    result = np.empty((*x.shape[:axis], size, *x.shape[axis + 1 :]), x.dtype)
    for index in np.ndindex(*result.shape):
        result[index] = x[(*index[:axis], index[axis] + start, *index[axis + 1 :])]
    return result


def numbered(shape):
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


shapes = st.lists(st.integers(0, 4), min_size=1, max_size=3)


@slow
@given(st.data(), shapes, st.sampled_from([11, 24]), st.integers(0, 1))
def test_split_to_sequence(data, shape, version, keepdims):
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    k = axis % len(shape)
    kind = data.draw(st.sampled_from(["omitted", "scalar", "list"]))
    dtype = data.draw(dtypes_of_positions)
    if kind == "list":
        sizes = data.draw(st.lists(st.integers(0, 3), max_size=4))
        shape[k] = sum(sizes)
        split = np.array(sizes, dtype)
    else:
        size = 1 if kind == "omitted" else data.draw(st.integers(1, 5))
        sizes = [min(size, shape[k] - start) for start in range(0, shape[k], size)]
        split = None if kind == "omitted" else np.array(size, dtype)
    x = numbered(shape)
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    wanted = [part(x, k, *pair) for pair in zip(starts, sizes, strict=True)]
    if kind == "omitted" and not keepdims:
        wanted = [w.reshape((*shape[:k], *shape[k + 1 :])) for w in wanted]
    result = call("SplitToSequence", x, split, version=version, axis=axis, keepdims=keepdims)
    assert_same(result, wanted)


@slow
@given(st.data(), shapes, st.integers(0, 1))
def test_concat_from_sequence(data, shape, new_axis):
    rank = len(shape) + new_axis
    axis = data.draw(st.integers(-rank, rank - 1))
    k = axis % rank
    count = data.draw(st.integers(1, 4))
    if new_axis:
        items = [numbered(shape) + 100 * i for i in range(count)]
        wanted = np.empty((*shape[:k], count, *shape[k:]), np.float32)
        for index in np.ndindex(*wanted.shape):
            wanted[index] = items[index[k]][(*index[:k], *index[k + 1 :])]
    else:
        lengths = data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
        items = [
            numbered((*shape[:k], n, *shape[k + 1 :])) + 100 * i for i, n in enumerate(lengths)
        ]
        origin = [(i, j) for i, n in enumerate(lengths) for j in range(n)]
        wanted = np.empty((*shape[:k], sum(lengths), *shape[k + 1 :]), np.float32)
        for index in np.ndindex(*wanted.shape):
            i, j = origin[index[k]]
            wanted[index] = items[i][(*index[:k], j, *index[k + 1 :])]
    assert_same(call("ConcatFromSequence", items, axis=axis, new_axis=new_axis), wanted)


# --- errors ---------------------------------------------------------------------------------------

X = numbered((2, 3))
INT = np.array([1], np.int64)
BF16 = np.ones(2, ml_dtypes.bfloat16)


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "kind", "match"),
    [
        ("SequenceAt", ([X], np.array([0, 0])), {}, ValueError, r"position has shape \(2,\)"),
        ("SequenceAt", ([X], np.array([[0]])), {}, ValueError, r"position has shape \(1, 1\)"),
        (
            "SequenceAt",
            ([X], np.array(1)),
            {},
            IndexError,
            r"outside \[-1, 0\] for a sequence of 1",
        ),
        ("SequenceInsert", ([X], X, np.array(2)), {}, IndexError, r"outside \[-1, 1\]"),
        ("SequenceInsert", ([X], INT), {}, TypeError, "the tensor is int64; float32"),
        ("SequenceConstruct", (X, INT), {}, TypeError, "tensor 1 is int64; float32"),
        ("SequenceEmpty", (), {"dtype": 16}, ValueError, "dtype is bfloat16; one of bool"),
        ("SequenceEmpty", (), {"dtype": 99}, ValueError, "dtype is 99; one of bool"),
        ("SplitToSequence", (X, np.array(0)), {}, ValueError, "split is 0; .* positive"),
        ("SplitToSequence", (X, np.array(-1)), {}, ValueError, "split is -1; .* positive"),
        ("SplitToSequence", (X, np.array([1, 2])), {}, ValueError, "sum up to it"),
        ("SplitToSequence", (X, np.array([3, -1])), {}, ValueError, "sizes >= 0"),
        ("SplitToSequence", (X,), {"axis": 2}, ValueError, r"axis 2 is outside \[-2, 1\]"),
        ("ConcatFromSequence", ([],), {"axis": 0}, ValueError, "the sequence is empty"),
        ("ConcatFromSequence", ([X],), {"axis": 2}, ValueError, r"axis 2 is outside \[-2, 1\]"),
        (
            "ConcatFromSequence",
            ([X],),
            {"axis": -4, "new_axis": 1},
            ValueError,
            r"axis -4 is outside \[-3, 2\]",
        ),
        (
            "ConcatFromSequence",
            ([X, X[:1]],),
            {"axis": 0, "new_axis": 1},
            ValueError,
            r"\(2, 3\), \(1, 3\) differ; equal ones were",
        ),
        (
            "ConcatFromSequence",
            ([X, X[:1]],),
            {"axis": 1},
            ValueError,
            r"\(2, 3\), \(1, 3\) differ; equal ones but for axis 1",
        ),
        ("ConcatFromSequence", ([X],), {"axis": 0, "new_axis": 2}, ValueError, "new_axis is 2"),
        ("ConcatFromSequence", ([BF16, BF16 > 0],), {"axis": 0}, TypeError, "tensor 1 is bool"),
    ],
)
def test_errors_say_what_was_seen(operator, inputs, attributes, kind, match):
    with pytest.raises(kind, match=match):
        call(operator, *inputs, **attributes)
