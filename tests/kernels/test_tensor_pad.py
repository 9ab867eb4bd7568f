"""Pad and CenterCropPad, held against loops over single elements."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_calls import dtypes, versions
from tensor_calls import assert_same, call, filled, ints

PADS = [v for _, v in versions("Pad")]
WITH_INPUTS = [v for v in PADS if v >= 11]
WITH_AXES = [v for v in PADS if v >= 18]
WITH_WRAP = [v for v in PADS if v >= 19]


def source(position, size, mode):
    """Return the element of an axis that stands at a position, None for the constant."""
    if 0 <= position < size:
        return position
    if mode == "constant":
        return None
    if mode == "edge":
        return 0 if position < 0 else size - 1
    if mode == "wrap":
        while position < 0:
            position += size
        while position >= size:
            position -= size
        return position
    while not 0 <= position < size:
        position = -position if position < 0 else 2 * (size - 1) - position
        if size == 1:
            return 0
    return position


def padded(x, pads, mode, value):
    n = x.ndim
    shape = [x.shape[k] + pads[k] + pads[n + k] for k in range(n)]
    result = np.empty(shape, x.dtype)
    for place in np.ndindex(*shape):
        places = [source(place[k] - pads[k], x.shape[k], mode) for k in range(n)]
        result[place] = value if None in places else x[tuple(places)]
    return result


@pytest.mark.parametrize("version", WITH_INPUTS)
def test_every_type(version):
    """Elements and the constant are moved bit by bit, whatever they are."""
    for dtype in dtypes("Pad", version):
        x = filled((2, 3), dtype)
        value = filled((2,), dtype)[1:].reshape(())
        pads = [1, 0, 2, 1]
        got = call("Pad", version, x, ints(pads), value)
        assert_same(got, padded(x, pads, "constant", value.item() if dtype.kind == "O" else value))


@pytest.mark.parametrize("version", WITH_INPUTS)
def test_an_omitted_constant_is_zero_false_or_the_empty_string(version):
    """Source: Pad-18, "by default it is 0, empty string or False"."""
    for dtype in dtypes("Pad", version):
        got = call("Pad", version, filled((1,), dtype), ints(1, 0))
        assert got[0] == ("" if dtype.kind == "O" else np.zeros((), dtype))
        assert got.dtype == dtype


small = st.integers(-3, 7)


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
@settings(deadline=None, max_examples=150)
@given(shape=st.lists(st.integers(1, 4), min_size=1, max_size=3), data=st.data())
def test_every_mode_is_a_map_of_positions(mode, shape, data):
    """Pads of any size and sign, as long as no size gets negative."""
    pads = [data.draw(small) for _ in range(2 * len(shape))]
    n = len(shape)
    for k in range(n):
        pads[n + k] = max(pads[n + k], -shape[k] - pads[k])
    x = filled(tuple(shape), np.int64)
    got = call("Pad", 19, x, ints(pads), np.array(-9), mode=mode)
    assert_same(got, padded(x, pads, mode, -9))


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
@settings(deadline=None, max_examples=100)
@given(before=st.integers(0, 9), after=st.integers(0, 9), size=st.integers(1, 5))
def test_pads_that_are_not_negative_do_what_numpy_does(mode, before, after, size):
    """The text calls the modes similar to those of numpy.pad."""
    x = np.arange(1.0, size + 1)
    got = call("Pad", 25, x, ints(before, after), mode=mode)
    assert_same(got, np.pad(x, (before, after), mode=mode))


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_pads_as_attributes(version, mode, dtype):
    """Versions 1 and 2 name them differently."""
    x = filled((2, 3), dtype)
    pads = [1, 0, 0, 2]
    name = "paddings" if version == 1 else "pads"
    got = call("Pad", version, x, mode=mode, value=0.5, **{name: pads})
    assert_same(got, padded(x, pads, mode, 0.5))


def test_only_version_1_refuses_to_remove():
    """Source: Pad-2, "to add or remove (if negative)"."""
    x = filled((3,))
    assert_same(call("Pad", 2, x, pads=[-1, -1]), x[1:2])
    with pytest.raises(ValueError, match="removes nothing"):
        call("Pad", 1, x, paddings=[-1, -1])


@pytest.mark.parametrize("version", WITH_AXES)
def test_axes_in_every_order(version):
    """Pads go with the axes that are named, negative ones included."""
    x = filled((2, 1, 3))
    for axes in itertools.permutations([0, -1]):
        pads = {0: (1, 0), -1: (0, 2)}
        listed = [pads[a][0] for a in axes] + [pads[a][1] for a in axes]
        got = call("Pad", version, x, ints(listed), None, ints(list(axes)))
        assert_same(got, padded(x, [1, 0, 0, 0, 0, 2], "constant", 0))
    assert_same(call("Pad", version, x, ints([]), None, ints([])), x)


@pytest.mark.parametrize("version", PADS)
def test_modes_by_version(version):
    """wrap came with version 19; no other name is taken for one."""
    for mode in ("wrap", "symmetric", ""):
        arguments = {1: {"paddings": [1, 0]}, 2: {"pads": [1, 0]}}.get(version, {})
        inputs = [filled((2,))] if version < 11 else [filled((2,)), ints(1, 0)]
        if mode == "wrap" and version in WITH_WRAP:
            assert call("Pad", version, *inputs, mode=mode).tolist() == [8, 1, 8]
            continue
        with pytest.raises(ValueError, match="mode is"):
            call("Pad", version, *inputs, mode=mode, **arguments)


ERRORS = [
    pytest.param((filled((2,)), ints(1, 0, 0)), {}, "two for each", id="three-pads"),
    pytest.param((filled((2,)), ints([[1, 0]])), {}, "1-D", id="rank-2"),
    pytest.param((filled((2,)), ints(-2, -1)), {}, "remove more", id="too-much"),
    pytest.param((filled((0,)), ints(1, 0)), {"mode": "edge"}, "no element", id="empty"),
    pytest.param((filled((2,)), ints(1, 0), filled((2,))), {}, "scalar", id="two-values"),
    pytest.param((filled((2,)), ints(1, 0), None, ints([1])), {}, "axis 1", id="axis"),
    pytest.param((filled((2,)), ints([1, 0] * 2), None, ints(0, -1)), {}, "twice", id="repeated"),
]


@pytest.mark.parametrize(("inputs", "attributes", "match"), ERRORS)
def test_what_pad_refuses(inputs, attributes, match):
    """An error says what was seen."""
    with pytest.raises(ValueError, match=match):
        call("Pad", 25, *inputs, **attributes)


def test_a_constant_of_another_type_is_refused():
    """The schema has one type for both."""
    with pytest.raises(TypeError, match="float64"):
        call("Pad", 25, filled((2,)), ints(1, 0), np.array(1.0))


def cropped_or_padded(x, sizes):
    """Follow the text: the start of a crop is rounded down, an odd pad goes to the right."""
    result = np.full(sizes, "" if x.dtype.kind == "O" else 0, x.dtype)
    for place in np.ndindex(*sizes):
        at = []
        for p, size, old in zip(place, sizes, x.shape, strict=True):
            at.append(p + (old - size) // 2 if size <= old else p - (size - old) // 2)
        if all(0 <= a < old for a, old in zip(at, x.shape, strict=True)):
            result[place] = x[tuple(at)]
    return result


@settings(deadline=None, max_examples=150)
@given(pairs=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6)), min_size=1, max_size=3))
def test_center_crop_pad_follows_the_text(pairs):
    """Every axis is cropped or padded on its own."""
    x = filled(tuple(a for a, _ in pairs), np.int32)
    sizes = [b for _, b in pairs]
    got = call("CenterCropPad", 18, x, ints(sizes))
    assert_same(got, cropped_or_padded(x, sizes))


def test_center_crop_pad_of_every_type():
    """Nothing is the empty string for strings."""
    for dtype in dtypes("CenterCropPad", 18):
        x = filled((3, 2), dtype)
        assert_same(call("CenterCropPad", 18, x, ints(2, 5)), cropped_or_padded(x, [2, 5]))


def test_center_crop_pad_of_some_axes():
    """Sizes go with the axes."""
    x = filled((2, 3, 4))
    got = call("CenterCropPad", 18, x, ints(2, 5, dtype=np.int32), axes=[-1, 1])
    assert_same(got, cropped_or_padded(x, [2, 5, 2]))


@pytest.mark.parametrize(
    ("shape", "axes"), [([1], None), ([1, -1], None), ([1], [2]), ([1, 1], [1, -1]), ([1, 1], [0])]
)
def test_what_center_crop_pad_refuses(shape, axes):
    """A size >= 0 for each of some distinct axes."""
    with pytest.raises(ValueError, match=r"wanted|outside|twice"):
        call("CenterCropPad", 18, filled((2, 2)), ints(shape), axes=axes)
