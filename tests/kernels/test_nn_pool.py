"""AveragePool, MaxPool, LpPool, the global pools, MaxUnpool and MaxRoiPool, held against loops."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import onnx.defs
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from exact_rounding import fraction, rounded
from kernel_calls import call, dtype_of, grid, versions_and_types

pytestmark = pytest.mark.usefixtures("no_warnings")

INF, NAN = math.inf, math.nan


def count_windows(size, kernel, stride, dilation, begin, end, ceil):
    """Transcribe the formula for explicit padding; a window past the input is left out."""
    exact = Fraction(size + begin + end - dilation * (kernel - 1) - 1, stride) + 1
    windows = math.ceil(exact) if ceil else math.floor(exact)
    while ceil and windows and (windows - 1) * stride - begin >= size:
        windows -= 1
    return windows


def slow_windows(shape, kernel, strides, dilations, pads, ceil):
    """Give for each place of the output the elements inside, and how many count with the pads."""
    n = len(kernel)
    sizes = [
        count_windows(shape[2 + i], kernel[i], strides[i], dilations[i], pads[i], pads[n + i], ceil)
        for i in range(n)
    ]
    for b, c, *at in grid((*shape[:2], *sizes)):
        found, padded = [], 0
        for k in grid(kernel):
            place = [at[i] * strides[i] - pads[i] + k[i] * dilations[i] for i in range(n)]
            if all(0 <= place[i] < shape[2 + i] for i in range(n)):
                found.append((b, c, *place))
            padded += all(-pads[i] <= place[i] < shape[2 + i] + pads[n + i] for i in range(n))
        yield (b, c, *at), found, padded


def ordinary(shape, name, seed):
    rng = np.random.default_rng(seed)
    if "int" in name:
        return rng.integers(-9 if name == "int8" else 0, 9, shape).astype(name)
    return rng.standard_normal(shape).astype(dtype_of(name))


WINDOWS = [
    # spatial sizes, kernel, strides, dilations, pads, ceil_mode
    pytest.param((7,), (3,), (2,), (2,), (1, 0), 0, id="1d"),
    pytest.param((5, 4), (3, 2), (2, 3), (1, 2), (1, 0, 2, 1), 1, id="2d-ceil"),
    pytest.param((4, 3), (2, 1), (3, 2), (1, 1), (1, 0, 1, 0), 1, id="2d-ceil-left-out"),
    pytest.param((3, 2, 4), (2, 1, 3), (1, 2, 2), (1, 1, 1), (1, 0, 1, 1, 0, 1), 0, id="3d"),
]


def cases(operator):
    """Return every version, type and window that the version can say."""
    result = []
    for version, window in itertools.product(versions_and_types(operator), WINDOWS):
        names = onnx.defs.get_schema(operator, version.values[0], "").attributes
        dilated, ceiled = max(window.values[3]) > 1, window.values[5]
        if (not dilated or "dilations" in names) and (not ceiled or "ceil_mode" in names):
            id_ = f"{version.id}-{window.id}"
            result.append(pytest.param(*version.values, window.values, id=id_))
    return result


def attributes_of(operator, version, window):
    """Return the attributes of a window that a version has."""
    names = onnx.defs.get_schema(operator, version, "").attributes
    given = dict(
        zip(("kernel_shape", "strides", "dilations", "pads", "ceil_mode"), window[1:], strict=True)
    )
    return {name: value for name, value in given.items() if name in names}


@pytest.mark.parametrize("include", [0, 1])
@pytest.mark.parametrize(("version", "name", "window"), cases("AveragePool"))
def test_averages(version, name, include, window):
    """The exact sum over the elements inside, over their number or that with the padding."""
    attributes = attributes_of("AveragePool", version, window)
    if version > 1:
        attributes["count_include_pad"] = include
    x = ordinary((2, 3, *window[0]), name, 1)
    got = call("AveragePool", version, x, **attributes)
    assert got.dtype == x.dtype
    places = list(slow_windows(x.shape, *window[1:]))
    assert got.size == len(places)
    for at, found, padded in places:
        exact = sum(Fraction(float(x[i])) for i in found)
        count = padded if include and version > 1 else len(found)
        assert float(got[at]) == rounded(exact / count, name)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize(("version", "name", "window"), cases("MaxPool"))
def test_maxima_and_where_they_are(version, name, order, window):
    """Padding takes no part, not even among negative numbers; the first of equal ones counts."""
    attributes = attributes_of("MaxPool", version, window)
    x = ordinary((2, 3, *window[0]), name, 2)
    sizes = window[0]
    if name != "uint8":
        x = -np.abs(x) - np.ones((), x.dtype)
    if version > 1:
        attributes["storage_order"] = order
    got = call("MaxPool", version, x, **attributes)
    y, indices = got if version > 1 else (got, None)
    assert y.dtype == x.dtype
    places = list(slow_windows(x.shape, *window[1:]))
    assert y.size == len(places)
    for at, found, _ in places:
        best = max(found, key=lambda i: float(x[i]))
        assert y[at] == x[best]
        if indices is None:
            continue
        plane = (best[0] * 3 + best[1]) * math.prod(sizes)
        inner, unit = 0, 1
        axes = range(len(sizes)) if order else reversed(range(len(sizes)))
        for i in axes:
            inner += best[2 + i] * unit
            unit *= sizes[i]
        assert indices[at] == plane + inner
    assert indices is None or indices.dtype == np.int64


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize(("version", "name", "window"), cases("LpPool"))
def test_lp_norms(version, name, p, window):
    """Negative values count by their absolute value, for odd p too."""
    attributes = attributes_of("LpPool", version, window)
    x = ordinary((1, 2, *window[0]), name, 3)
    p = float(p) if version == 1 else p
    got = call("LpPool", version, x, p=p, **attributes)
    places = list(slow_windows(x.shape, *window[1:]))
    assert got.size == len(places)
    for at, found, _ in places:
        assert float(got[at]) == pytest.approx(norm([x[i] for i in found], p, name), rel=2e-16)


def norm(values, p, name):
    """Compute an Lp norm with 40 digits, and round it."""
    with mpmath.workdps(40):
        exact = mpmath.root(sum(abs(mpmath.mpf(float(v))) ** p for v in values), p)
    return rounded(fraction(exact), name)


@pytest.mark.parametrize("operator", ["LpPool", "GlobalLpPool"])
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_powers_do_not_overflow(operator, name):
    """The norm of 3 and 4 times a large or small number."""
    kernel = {"kernel_shape": [2]} if operator == "LpPool" else {}
    for unit in (2.0**100, 2.0**-120) if name == "float32" else (2.0**1000, 2.0**-1040):
        x = np.array([[[3 * unit, -4 * unit]]], name)
        assert call(operator, 22, x, **kernel).tolist() == [[[5 * unit]]]


@pytest.mark.parametrize("operator", ["LpPool", "GlobalLpPool"])
@pytest.mark.parametrize(("p", "wanted"), [(0.5, 9.0), (1.0, 5.0), (INF, 4.0), (1e4, 4.0)], ids=str)
def test_p_of_version_1_is_any_positive_float(operator, p, wanted):
    x = np.array([[[1.0, -4.0]]], np.float32)
    kernel = {"kernel_shape": [2]} if operator == "LpPool" else {}
    assert call(operator, 1, x, p=p, **kernel).tolist() == [[[wanted]]]
    with pytest.raises(ValueError, match="greater than 0"):
        call(operator, 1, x, p=0.0, **kernel)


def test_norms_of_special_values():
    x = np.array([[[INF, 1.0, NAN, 0.0, -0.0]]])
    assert call("GlobalLpPool", 22, x[:, :, :2]).tolist() == [[[INF]]]
    assert math.isnan(call("GlobalLpPool", 22, x[:, :, 1:3]).item())
    assert call("GlobalLpPool", 22, x[:, :, 3:]).item() == 0


# Automatic padding and the last window.


@pytest.mark.parametrize(
    ("operator", "version"),
    [("AveragePool", v) for v in (1, 7, 10, 11, 19, 22)]
    + [("MaxPool", v) for v in (1, 8, 10, 11, 12, 22)]
    + [("LpPool", v) for v in (1, 2, 11, 18, 22)],
)
@pytest.mark.parametrize("size", [1, 4, 5, 6])
def test_automatic_padding(operator, version, size):
    """SAME gives ceil(size / stride) windows in every version, and VALID whole windows only."""
    x = np.arange(1.0, size + 1)[None, None]
    windows = [(1, 3), (2, 1), (2, 2), (3, 2), (4, 3)]
    for (kernel, stride), auto_pad in itertools.product(
        windows, ("SAME_UPPER", "SAME_LOWER", "VALID")
    ):
        if auto_pad == "VALID":
            count, total = math.ceil((size - kernel + 1) / stride), 0
        else:
            count = math.ceil(size / stride)
            total = max((count - 1) * stride + kernel - size, 0)
        if count < 0:
            continue
        begin = math.ceil(total / 2) if auto_pad == "SAME_LOWER" else total // 2
        attributes = {"auto_pad": auto_pad, "kernel_shape": [kernel], "strides": [stride]}
        explicit = attributes | {"auto_pad": "NOTSET", "pads": [begin, total - begin]}
        one, other = (
            call(operator, version, x, **attributes),
            call(operator, version, x, **explicit),
        )
        if isinstance(one, tuple):
            one, other = one[0], other[0]
        assert one.shape == (1, 1, count)
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize("operator", ["AveragePool", "MaxPool", "LpPool"])
def test_valid_has_no_overhanging_window(operator):
    """The formula for VALID with ceil_mode, ceil((6 - 3 + 1) / 2), counts whole windows."""
    x = np.arange(6.0)[None, None]
    got = call(operator, 22, x, kernel_shape=[3], strides=[2], auto_pad="VALID", ceil_mode=1)
    assert (got[0] if isinstance(got, tuple) else got).shape == (1, 1, 2)


@settings(max_examples=60, deadline=None)
@given(
    size=st.integers(1, 8),
    kernel=st.integers(1, 4),
    stride=st.integers(1, 5),
    begin=st.integers(0, 2),
    end=st.integers(0, 2),
)
def test_every_ceiled_window_starts_inside_or_in_the_padding_before(
    size, kernel, stride, begin, end
):
    begin, end = min(begin, kernel - 1), min(end, kernel - 1)
    wanted = count_windows(size, kernel, stride, 1, begin, end, 1)
    assume(wanted > 0)
    x = np.ones((1, 1, size))
    attributes = {"kernel_shape": [kernel], "strides": [stride], "pads": [begin, end]}
    got = call("AveragePool", 22, x, ceil_mode=1, **attributes)
    windows = got.shape[2]
    assert (windows - 1) * stride - begin < size
    assert windows == wanted
    assert (got == 1).all()


def test_the_overhang_never_counts():
    """The report: the last window has one value and one pad, and hangs over by one."""
    x = np.array([[[1.0, 2.0, 3.0, 4.0]]])
    window = {"kernel_shape": [3], "strides": [2], "pads": [1, 1], "ceil_mode": 1}
    for version in (10, 11, 19, 22):
        assert call("AveragePool", version, x, **window).tolist() == [[[1.5, 3.0, 4.0]]]
        got = call("AveragePool", version, x, count_include_pad=1, **window)
        assert got.tolist() == [[[1.0, 3.0, 2.0]]]


# NaN, infinity, and windows with nothing in them.


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_nan_is_the_maximum(name):
    x = np.array([[[1.0, NAN, 2.0, -INF, -INF]]], dtype_of(name))
    y, indices = call("MaxPool", 22, x, kernel_shape=[2])
    assert [str(float(v)) for v in y[0, 0]] == ["nan", "nan", "2.0", "-inf"]
    assert indices.tolist() == [[[1, 1, 2, 3]]]
    assert math.isnan(call("GlobalMaxPool", 22, x).item())


@pytest.mark.parametrize("name", ["int8", "uint8", "float32"])
def test_the_lowest_value_is_found_beside_padding(name):
    """An index in the padding would be wrong: the lowest value of the type is the maximum."""
    low = -INF if name == "float32" else np.iinfo(name).min
    x = np.array([[[low, low]]], name)
    y, indices = call("MaxPool", 12, x, kernel_shape=[3], pads=[1, 1])
    assert y.tolist() == [[[low, low]]]
    assert indices.tolist() == [[[0, 0]]]


@pytest.mark.parametrize("name", ["int8", "uint8", "float32"])
def test_a_window_of_padding_alone(name):
    """The text is silent; at least it is no accident."""
    x = np.array([[[5]]], name)
    y, indices = call("MaxPool", 22, x, kernel_shape=[2], pads=[2, 0])
    assert y.tolist() == [[[-INF if name == "float32" else np.iinfo(name).min, 5]]]
    assert indices.tolist() == [[[-1, 0]]]


def test_an_average_of_padding_alone_is_nan_or_zero():
    x = np.array([[[5.0]]])
    got = call("AveragePool", 22, x, kernel_shape=[2], pads=[2, 0])
    assert [str(v) for v in got[0, 0]] == ["nan", "5.0"]
    got = call("AveragePool", 22, x, kernel_shape=[2], pads=[2, 0], count_include_pad=1)
    assert got.tolist() == [[[0.0, 2.5]]]


def test_sums_do_not_cancel():
    x = np.array([[[2.0**70, 3.0, -(2.0**70)]]], np.float32)
    assert call("AveragePool", 22, x, kernel_shape=[3]).tolist() == [[[1.0]]]
    assert call("GlobalAveragePool", 22, x).tolist() == [[[1.0]]]


# The global ones.


@pytest.mark.parametrize(
    ("operator", "version"),
    [
        ("GlobalAveragePool", 1),
        ("GlobalAveragePool", 22),
        ("GlobalMaxPool", 1),
        ("GlobalMaxPool", 22),
        ("GlobalLpPool", 1),
        ("GlobalLpPool", 2),
        ("GlobalLpPool", 22),
    ],
)
@pytest.mark.parametrize("sizes", [(4,), (2, 3), (2, 1, 3)])
def test_global_pools_are_pools_over_everything(operator, version, sizes):
    """The page: "equivalent to [the pool] with kernel size equal to the spatial dimension"."""
    x = ordinary((2, 3, *sizes), "float32", 5)
    got = call(operator, version, x)
    local = call(operator.removeprefix("Global"), 22, x, kernel_shape=sizes)
    assert got.shape == (2, 3, *(1 for _ in sizes))
    assert got.tolist() == (local[0] if isinstance(local, tuple) else local).tolist()
    with pytest.raises(ValueError, match="rank 3"):
        call(operator, version, x[0, 0].reshape(1, -1))


def test_global_pools_of_nothing():
    x = np.zeros((1, 2, 0), np.float32)
    assert np.isnan(call("GlobalAveragePool", 22, x)).all()
    assert call("GlobalMaxPool", 22, x).tolist() == [[[-INF], [-INF]]]
    assert call("GlobalLpPool", 22, x).tolist() == [[[0.0], [0.0]]]
    assert call("GlobalMaxPool", 22, np.zeros((0, 2, 3), np.float32)).shape == (0, 2, 1)


@pytest.mark.parametrize("operator", ["AveragePool", "MaxPool", "LpPool"])
@pytest.mark.parametrize(
    ("shape", "attributes", "match"),
    [
        pytest.param((2, 3), {"kernel_shape": [1]}, "rank 3", id="rank"),
        pytest.param((1, 1, 4, 4), {"kernel_shape": [2]}, "2 integers", id="kernel-of-one-axis"),
        pytest.param((1, 1, 4), {"kernel_shape": [0]}, ">= 1", id="kernel-0"),
        pytest.param((1, 1, 4), {"kernel_shape": [2], "strides": [0]}, "strides", id="stride-0"),
        pytest.param((1, 1, 4), {"kernel_shape": [2], "pads": [0, -1]}, ">= 0", id="negative-pad"),
        pytest.param((1, 1, 4), {"kernel_shape": [2], "dilations": [0]}, "dilations", id="d"),
        pytest.param((1, 1, 4), {"kernel_shape": [6]}, "does not fit", id="too-large"),
        pytest.param((1, 1, 4), {"kernel_shape": [2], "auto_pad": "same"}, "auto_pad", id="same"),
        pytest.param((1, 1, 4), {"kernel_shape": [2], "auto_pad": "SAME_LOWER", "pads": [0, 1]},
                     "simultaneously", id="both"),
    ],
)  # fmt: skip
def test_pools_refuse(operator, shape, attributes, match):
    with pytest.raises(ValueError, match=match):
        call(operator, 22, np.ones(shape), **attributes)


def test_max_pool_refuses_another_storage_order():
    with pytest.raises(ValueError, match="storage_order"):
        call("MaxPool", 22, np.ones((1, 1, 2)), kernel_shape=[1], storage_order=2)


def test_lp_pool_1_has_no_default_kernel():
    with pytest.raises(ValueError, match="kernel_shape is omitted"):
        call("LpPool", 1, np.ones((1, 1, 2)))


# MaxUnpool.


@pytest.mark.parametrize(("version", "name"), versions_and_types("MaxUnpool"))
def test_unpooling_puts_the_maxima_back(version, name):
    """Pooling what was unpooled gives the same maxima, whatever N and C."""
    x = np.abs(ordinary((2, 3, 6, 4), name, 6)) + np.ones((), dtype_of(name))
    window = {"kernel_shape": [3, 2], "strides": [3, 2]}
    y, indices = call("MaxPool", 22, x, **window)
    back = call("MaxUnpool", version, y, indices, **window)
    assert back.dtype == x.dtype
    assert back.shape == x.shape
    assert np.count_nonzero(back) == y.size
    assert call("MaxPool", 22, back, **window)[0].tolist() == y.tolist()


@pytest.mark.parametrize("version", [9, 11, 22])
def test_an_output_shape_adds_zeros_behind(version):
    """As in the official test: the indices count in the smaller tensor."""
    x, indices = np.array([[[5.0, 6.0]], [[7.0, 8.0]]]), np.array([[[1, 2]], [[5, 7]]])
    wanted = np.array([2, 1, 5])
    got = call("MaxUnpool", version, x, indices, wanted, kernel_shape=[2], strides=[2])
    assert got.tolist() == [[[0, 5, 6, 0, 0]], [[0, 7, 0, 8, 0]]]


def test_a_smaller_output_shape_is_what_the_indices_count_in():
    """The window of a pool with ceil_mode hung over the end; 4 elements came in."""
    x, indices = np.array([[[5.0, 6.0]], [[7.0, 8.0]]]), np.array([[[1, 3]], [[4, 7]]])
    got = call("MaxUnpool", 11, x, indices, np.array([2, 1, 4]), kernel_shape=[3], strides=[2])
    assert got.tolist() == [[[0, 5, 0, 6]], [[7, 0, 0, 8]]]


@pytest.mark.parametrize(
    ("index", "output_shape", "attributes", "match"),
    [
        pytest.param([[[4]]], None, {}, "index 4", id="too-large"),
        pytest.param([[[-1]]], None, {}, "index -1", id="negative"),
        pytest.param([[0]], None, {}, "must be the same", id="shape"),
        pytest.param([[[0]]], [1, 2, 3], {}, "begin with", id="channels"),
        pytest.param([[[0]]], [3], {}, "3 sizes", id="no-n-and-c"),
        pytest.param([[[0]]], None, {"pads": [2, 1]}, "nothing is left", id="pads"),
    ],
)
def test_unpooling_refuses(index, output_shape, attributes, match):
    wanted = None if output_shape is None else np.array(output_shape)
    with pytest.raises(ValueError, match=match):
        call(
            "MaxUnpool",
            11,
            np.ones((1, 1, 1)),
            np.array(index),
            wanted,
            kernel_shape=[2],
            **attributes,
        )


# MaxRoiPool.


@pytest.mark.parametrize(("version", "name"), versions_and_types("MaxRoiPool"))
def test_regions_are_pooled_cell_by_cell(version, name):
    """Each cell covers every pixel that it touches; both corners belong to the region."""
    x = ordinary((2, 3, 5, 7), name, 7)
    rois = np.array([[1, 1, 0, 5, 3], [0, 2, 2, 2, 2], [1, 5, 3, 9, 9], [0, 7, 7, 8, 8]])
    got = call("MaxRoiPool", version, x, rois.astype(dtype_of(name)), pooled_shape=[2, 3])
    assert got.shape == (4, 3, 2, 3)
    for r, c, i, j in grid(got.shape):
        batch, x1, y1, x2, y2 = rois[r].tolist()
        height, width = Fraction(max(y2 - y1 + 1, 1), 2), Fraction(max(x2 - x1 + 1, 1), 3)
        rows = range(y1 + math.floor(i * height), y1 + math.ceil((i + 1) * height))
        columns = range(x1 + math.floor(j * width), x1 + math.ceil((j + 1) * width))
        cell = [x[batch, c, a, b] for a in rows for b in columns if a < 5 and b < 7]
        assert got[r, c, i, j] == max(cell, default=0)


def test_corners_are_scaled_and_rounded_away_from_zero():
    x = np.arange(6.0)[None, None, None]
    rois = np.array([[0, 3, 0, 5, 0], [0, -3, 0, 1, 0]], np.float64)
    got = call("MaxRoiPool", 1, x, rois, pooled_shape=[1, 1], spatial_scale=0.5)
    assert got.flatten().tolist() == [3.0, 1.0]


@pytest.mark.parametrize(
    ("shape", "roi", "match"),
    [
        ((1, 1, 2), [0, 0, 0, 1, 1], "must be"),
        ((1, 1, 2, 2), [0, 0, 1, 1], "must be"),
        ((1, 1, 2, 2), [1, 0, 0, 1, 1], "batch_id"),
        ((1, 1, 2, 2), [-1, 0, 0, 1, 1], "batch_id"),
    ],
)
def test_region_pooling_refuses(shape, roi, match):
    with pytest.raises(ValueError, match=match):
        call("MaxRoiPool", 1, np.ones(shape), np.array([roi], np.float64), pooled_shape=[1, 1])
