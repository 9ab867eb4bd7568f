"""Tensors as NumPy prints them are read back exactly; broken ones give an error with a line."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from opcheck.harness.caseentry import Beside
from opcheck.harness.casefile import decode
from opcheck.harness.caseformat import ValueSpec
from opcheck.harness.dtypes import ELEMENT_TYPES
from opcheck.harness.errors import CaseError
from opcheck.harness.literals import Todo
from opcheck.harness.printed import Line, Printed, literal_of, printed_values
from opcheck.harness.spelling import no_file, same_bits
from opcheck.harness.values import ValueReader

TEXT = st.text(st.characters(codec="utf-8"), max_size=6)


def page_lines(text):
    lines = text.split("\n")
    return [Line(i, len(t) - len(t.lstrip()), t) for i, t in enumerate(lines, 1) if t.strip()]


def read(text):
    """Read the one value of a text, as the case file that it becomes has it."""
    [value] = printed_values(page_lines(text))
    return literal_of(value, no_file, 10**6)


def array_of(literal, tmp_path=None):
    return ValueReader(tmp_path, {}).read(decode(literal, ValueSpec), output=True)


def head(array):
    dtype = "string" if array.dtype == object else array.dtype.name
    return f"x: shape={array.shape}, dtype={dtype}"


def is_nan(array):
    with np.errstate(invalid="ignore"):
        return array != array


@st.composite
def arrays(draw):
    """Arrays of all element types and ranks, any bits of theirs but the NaN that has payloads."""
    element = ELEMENT_TYPES[draw(st.sampled_from(sorted(ELEMENT_TYPES)))]
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9))
    size = int(np.prod(shape))
    if element.name == "string":
        flat = np.empty(size, object)
        flat[:] = draw(st.lists(TEXT, min_size=size, max_size=size))
        return flat.reshape(shape)
    if element.name == "bool":
        return draw(hnp.arrays(bool, shape))
    raw = draw(st.binary(min_size=size * element.dtype.itemsize,
                         max_size=size * element.dtype.itemsize))  # fmt: skip
    array = np.frombuffer(raw, np.uint8).view(element.dtype)
    if element.bits < 8:
        array = np.frombuffer(raw, np.int8).astype(np.float64).astype(element.dtype)
    parts = [array.real, array.imag] if element.is_complex else [array]
    clean = array.copy()
    for part, target in zip(parts, [clean.real, clean.imag] if element.is_complex else [clean],
                            strict=True):  # fmt: skip
        if not element.is_integer:
            target[is_nan(part)] = np.array(np.nan).astype(target.dtype)
    return clean.reshape(shape)


@given(array=arrays(), width=st.integers(20, 100), commas=st.booleans())
@example(array=np.array('it\'s "x"\n\\', object), width=75, commas=True)
@example(array=np.array([-0.0, np.nan, np.inf, -np.inf], np.float16), width=75, commas=True)
@example(array=np.array(2**63, np.uint64), width=75, commas=True)
@example(array=np.zeros((2, 0, 3), np.float32), width=75, commas=True)
@settings(max_examples=300, deadline=None)
def test_what_numpy_prints_is_read_exactly(array, width, commas):
    """All element types, ranks, empty tensors, scalars, wrapped rows; with or without commas."""
    separator = ", " if commas or array.dtype.kind == "c" else " "
    with np.printoptions(linewidth=width, threshold=10**9, floatmode="unique"):
        text = np.array2string(array, separator=separator)
    below = "\n".join(f"    {line}" for line in text.split("\n"))
    found = array_of(read(f"{head(array)}\n{below}")).value
    assert same_bits(found, array)


@given(array=arrays())
@settings(max_examples=100, deadline=None)
def test_eight_digits_are_taken_as_they_stand(array):
    """NumPy's own precision: the digits on the page are the literal, rounded once to the type."""
    if array.dtype not in (np.float16, np.float32, np.float64) or array.size == 0:
        return
    text = np.array2string(array, separator=", ", threshold=10**9)
    below = "\n".join(f"  {line}" for line in text.split("\n"))
    found = array_of(read(f"{head(array)}\n{below}")).value
    words = text.replace("[", " ").replace("]", " ").replace(",", " ").split()
    assert same_bits(found.reshape(-1), np.array([array.dtype.type(word) for word in words]))


def test_values_left_out_become_a_todo():
    """``...`` says that there is more, and not what."""
    array = np.arange(2000, dtype=np.int64)
    found = read(f"{head(array)}\n  {np.array2string(array, separator=', ')}")
    assert isinstance(found["data"], Todo)
    assert found["shape"] == [2000]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x: shape=(3,), dtype=int64\n  every element is 7",
         {"dtype": "int64", "shape": [3], "fill": 7}),
        ("x: shape=(2,), dtype=float32\n  [1., *]\n  (* is undefined)",
         {"dtype": "float32", "shape": [2], "data": [1, None]}),
        ("x: float32[2, ?], any values", {"dtype": "float32", "shape": [2, None]}),
        ("x: a sequence of 0 seq(int64)", {"sequence": [], "dtype": "seq(int64)"}),
        ("x: a sequence of 1 int64\n  [0]: shape=(), dtype=int64\n    4",
         {"sequence": [{"dtype": "int64", "data": 4}]}),
        ("x: an empty optional float32", {"optional": None, "dtype": "float32"}),
        ("x: an optional bool\n  value: shape=(), dtype=bool\n    True",
         {"optional": {"dtype": "bool", "data": True}}),
        ("x: a map(string, float32)\n  keys: shape=(1,), dtype=string\n    ['a']\n"
         "  values: shape=(1,), dtype=float32\n    [1.5]",
         {"map": {"a": 1.5}, "dtype": "map(string, float32)"}),
    ],
)  # fmt: skip
def test_other_values(text, wanted):
    """Fills, undefined elements, open shapes, sequences, optionals and maps."""
    assert read(text) == wanted


@pytest.mark.parametrize(
    ("text", "line", "seen"),
    [
        ("x: shape=(2,), dtype=int64\n  [1, 2, 3]", 1, "shape (2,)"),
        ("x: shape=(2, 2), dtype=int64\n  [[1, 2],\n   [3]]", 2, "a row of shape [1]"),
        ("x: shape=(2,), dtype=int64\n  [1,\n   2.5]", 3, "2.5"),
        ("x: shape=(2,), dtype=int8\n  [1, 300]", 2, "300"),
        ("x: shape=(1,), dtype=bool\n  [Maybe]", 2, "Maybe"),
        ("x: shape=(1,), dtype=string\n  [abc]", 2, "abc"),
        ("x: shape=(1,), dtype=string\n  ['abc]", 2, "'abc]"),
        ("x: shape=(1,), dtype=float33\n  [1]", 1, "float33"),
        ("x: shape=(1,), dtype=float32\n  [1", 2, "not closed"),
        ("x: shape=(1,), dtype=float32\n  1]", 2, "closes nothing"),
        ("x: shape=(1,), dtype=float32", 1, "no elements"),
        ("x: shape=(1, dtype=float32\n  [1]", 1, "shape=(1"),
        ("no colon", 1, "no colon"),
        ("x: float32[2?], any values", 1, "float32[2?]"),
        ("x: float32[1 2], any values", 1, "float32[1 2]"),
        ("x: a sequence of 2 int64\n  [0]: shape=(), dtype=int64\n    4", 1, "1 items"),
        ("x: a map(int64, float32)\n  keys: shape=(1,), dtype=int64\n    [1]", 1, "something"),
        ("x: shape=(9" + "9" * 30 + ",), dtype=int64\n  [1]", 1, "shape="),
        ("x: shape=(1,), dtype=int64\n  " + "[" * 100, 2, "brackets"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_has_a_line(text, line, seen):
    """The line of the page, what stands there and what was wanted."""
    with pytest.raises(CaseError) as caught:
        read(text)
    assert caught.value.line == line
    assert seen in caught.value.seen


@given(st.text(alphabet="x:[]()',. *\n0123456789eEnaif-+j\\\"dtypeshaof=", max_size=60))
@settings(max_examples=300, deadline=None)
def test_wild_text_never_breaks_the_reader(text):
    """Whatever stands below a head, it is a value or a mistake."""
    for dtype in ("float32", "string", "int4", "complex64", "bool"):
        value = Printed("x", f"shape=(2,), dtype={dtype}", 1, page_lines(text))
        try:
            found = literal_of(value, Beside("d").npy("x"), 100)
        except CaseError as error:
            found, line = {"dtype": dtype}, error.line
        else:
            line = 1
        assert line is not None
        assert found["dtype"] == dtype
