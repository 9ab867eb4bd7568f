"""ConvInteger, QLinearConv, DeformConv and Col2Im, held against loops over exact numbers."""

import itertools
import math
from fractions import Fraction

import numpy as np
import onnx.defs
import pytest

from exact_rounding import FORMATS
from kernel_calls import call, dtype_of, grid

pytestmark = pytest.mark.usefixtures("no_warnings")


def slow_integer(x, w, x_zero, w_zero, group, strides, dilations, begins, sizes):
    """Return the exact sums of a convolution as nested Python integers, by (n, m, *place)."""
    result = {}
    per_group = w.shape[0] // group
    for n, m, *at in grid((x.shape[0], w.shape[0], *sizes)):
        total = 0
        for c, *k in grid(w.shape[1:]):
            place = [
                a * s + i * d - p
                for a, s, i, d, p in zip(at, strides, k, dilations, begins, strict=True)
            ]
            if all(0 <= i < size for i, size in zip(place, x.shape[2:], strict=True)):
                channel = m // per_group * w.shape[1] + c
                term = int(x[(n, channel, *place)]) - x_zero
                total += term * (int(w[(m, c, *k)]) - w_zero[m])
        result[(n, m, *at)] = total
    return result


def any_integers(shape, name, seed):
    info = np.iinfo(name)
    return np.random.default_rng(seed).integers(info.min, info.max, shape, name, endpoint=True)


SHAPES = [
    # spatial sizes, kernel, strides, dilations, pads, group, output sizes
    pytest.param((7,), (3,), (2,), (2,), (1, 0), 1, (2,), id="1d"),
    pytest.param((5, 4), (3, 2), (2, 1), (1, 2), (0, 1, 2, 1), 2, (3, 4), id="2d-groups"),
    pytest.param((5, 3), (2, 3), (1, 2), (2, 1), (1, 1, 1, 1), 4, (5, 2), id="2d-depthwise"),
    pytest.param(
        (3, 2, 2), (2, 1, 2), (1, 2, 1), (1, 1, 1), (0, 0, 1, 1, 0, 0), 1, (3, 1, 2), id="3d"
    ),
]


@pytest.mark.parametrize(
    ("sizes", "kernel", "strides", "dilations", "pads", "group", "out"), SHAPES
)
@pytest.mark.parametrize("x_type", ["int8", "uint8"])
@pytest.mark.parametrize("w_type", ["int8", "uint8"])
@pytest.mark.parametrize("per_channel", [False, True])
def test_integer_convolutions(
    x_type, w_type, per_channel, sizes, kernel, strides, dilations, pads, group, out
):
    """Padding is the zero point of x; w may have one for each output channel."""
    x = any_integers((2, 4, *sizes), x_type, 1)
    w = any_integers((4, 4 // group, *kernel), w_type, 2)
    x_zero = any_integers((), x_type, 3)
    w_zero = any_integers((4,) if per_channel else (), w_type, 4)
    window = {"strides": strides, "dilations": dilations, "pads": pads, "group": group}
    got = call("ConvInteger", 10, x, w, np.asarray(x_zero), np.asarray(w_zero), **window)
    assert got.dtype == np.int32
    assert got.shape == (2, 4, *out)
    zeros = np.broadcast_to(w_zero, (4,)).tolist()
    begins = pads[: len(sizes)]
    wanted = slow_integer(x, w, int(x_zero), zeros, group, strides, dilations, begins, out)
    assert {at: int(got[at]) for at in wanted} == wanted


def test_omitted_zero_points_are_zero():
    x, w = np.array([[[3, 5]]], np.uint8), np.array([[[2]], [[-1]]], np.int8)
    assert call("ConvInteger", 10, x, w).tolist() == [[[6, 10], [-3, -5]]]
    got = call("ConvInteger", 10, x, w, None, np.array([1, -1], np.int8))
    assert got.tolist() == [[[3, 5], [0, 0]]]


def test_an_integer_sum_wraps_around_at_32_bits():
    """255 * 255 * 33026 is more than 2^31, and less than 2^32."""
    x = np.full((1, 1, 33026), 255, np.uint8)
    total = 255 * 255 * 33026
    assert call("ConvInteger", 10, x, x).item() == total - 2**32


@pytest.mark.parametrize("x_type", ["int8", "uint8"])
@pytest.mark.parametrize("w_type", ["int8", "uint8"])
@pytest.mark.parametrize("y_type", ["int8", "uint8"])
@pytest.mark.parametrize("per_channel", [False, True])
def test_quantized_convolutions(x_type, w_type, y_type, per_channel):
    """The exact sum and bias, scaled, rounded to even, shifted and cut to the range."""
    x, w = any_integers((2, 4, 5, 3), x_type, 1), any_integers((6, 2, 2, 3), w_type, 2)
    shape = (6,) if per_channel else ()
    w_zero = np.asarray(any_integers(shape, w_type, 4))
    rng = np.random.default_rng(5)
    w_scale = np.asarray(rng.uniform(0.01, 0.2, shape).astype(np.float32))
    x_scale, y_scale = np.array(0.3, np.float32), np.array(7.1, np.float32)
    x_zero, y_zero = (
        np.asarray(any_integers((), x_type, 6)),
        np.asarray(any_integers((), y_type, 7)),
    )
    b = rng.integers(-9999, 9999, 6).astype(np.int32)
    got = call(
        "QLinearConv", 10, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b,
        group=2, pads=[1, 0, 0, 1], strides=[2, 1],
    )  # fmt: skip
    assert got.dtype == y_type
    zeros, scales = np.broadcast_to(w_zero, 6).tolist(), np.broadcast_to(w_scale, 6).tolist()
    sums = slow_integer(x, w, int(x_zero), zeros, 2, [2, 1], [1, 1], [1, 0], got.shape[2:])
    info = np.iinfo(y_type)
    for at, total in sums.items():
        real = Fraction(x_scale.item()) * Fraction(scales[at[1]]) / Fraction(y_scale.item())
        value = round((total + int(b[at[1]])) * real) + int(y_zero)
        assert got[at] == min(max(value, info.min), info.max)


def quantized(x, scale=1.0, y_zero=0, y_type="int8", **inputs):
    given = {"x_scale": scale, "w_scale": 1.0, "y_scale": 1.0} | inputs
    x_scale, w_scale, y_scale = (np.asarray(v, np.float32) for v in given.values())
    zero = np.zeros((), np.int8)
    return call(
        "QLinearConv", 10, np.array([[x]], np.int8), x_scale, zero, np.ones((1, 1, 1), np.int8),
        w_scale, zero, y_scale, np.array(y_zero, y_type),
    )  # fmt: skip


def test_halves_go_to_even_before_the_zero_point_is_added():
    assert quantized([1, 3, 5, -1, -3], 0.5).tolist() == [[[0, 2, 2, 0, -2]]]
    assert quantized([1, 3, 5, -1, -3], 0.5, 1).tolist() == [[[1, 3, 3, 1, -1]]]


def test_results_are_cut_to_the_range():
    assert quantized([100, -100], 2.0).tolist() == [[[127, -128]]]
    assert quantized([100, -1], 2.0, 100, "uint8").tolist() == [[[255, 98]]]
    assert quantized([100, -100], 1e30).tolist() == [[[127, -128]]]


@pytest.mark.parametrize(
    ("scales", "match"),
    [
        ({"y_scale": 0.0}, "y_scale not 0"),
        ({"x_scale": math.nan}, "finite"),
        ({"w_scale": math.inf}, "finite"),
        ({"w_scale": [1.0]}, "must be the same"),
    ],
)
def test_quantized_convolutions_refuse(scales, match):
    with pytest.raises(ValueError, match=match):
        quantized([1], **scales)


@pytest.mark.parametrize(
    ("x_zero", "w_zero", "match"),
    [
        (np.zeros(2, np.uint8), None, "x_zero_point"),
        (None, np.zeros(2, np.uint8), "w_zero_point"),
    ],
)
def test_integer_convolutions_refuse(x_zero, w_zero, match):
    x, w = np.ones((1, 2, 4), np.uint8), np.ones((3, 2, 2), np.uint8)
    with pytest.raises(ValueError, match=match):
        call("ConvInteger", 10, x, w, x_zero, w_zero)


# DeformConv.


def slow_deform(x, w, offset, b, mask, group, offset_group, strides, dilations, begins):
    """Transcribe the description: the offsets of one element stand next to each other."""
    axes, sizes, kernel = range(x.ndim - 2), offset.shape[2:], w.shape[2:]
    elements = list(grid(kernel))
    result = {}
    for n, m, *at in grid((x.shape[0], w.shape[0], *sizes)):
        total = 0.0 if b is None else float(b[m])
        for c, (e, k) in itertools.product(range(w.shape[1]), enumerate(elements)):
            channel = m // (w.shape[0] // group) * w.shape[1] + c
            part = channel // (x.shape[1] // offset_group)
            first = (part * len(elements) + e) * len(axes)
            place = [
                at[i] * strides[i] - begins[i] + k[i] * dilations[i]
                + float(offset[(n, first + i, *at)]) for i in axes
            ]  # fmt: skip
            value = 0.0
            for corner in grid((2,) * len(axes)):
                near = [math.floor(place[i]) + corner[i] for i in axes]
                if all(0 <= near[i] < x.shape[2 + i] for i in axes):
                    weight = math.prod(1 - abs(place[i] - near[i]) for i in axes)
                    value += weight * float(x[(n, channel, *near)])
            if mask is not None:
                value *= float(mask[(n, part * len(elements) + e, *at)])
            total += value * float(w[(m, c, *k)])
        result[(n, m, *at)] = total
    return result


DEFORMED = [
    # spatial sizes, kernel, strides, dilations, pads, group, offset_group, output sizes
    pytest.param((6,), (2,), (2,), (2,), (1, 0), 1, 2, (3,), id="1d"),
    pytest.param((4, 5), (2, 3), (1, 2), (2, 1), (1, 0, 0, 1), 2, 1, (3, 2), id="2d-groups"),
    pytest.param((3, 4), (1, 2), (1, 1), (1, 1), (0, 0, 0, 0), 1, 4, (3, 3), id="2d-offset-groups"),
    pytest.param(
        (2, 3, 2), (1, 2, 2), (1, 1, 1), (1, 1, 1), (0, 0, 0, 0, 1, 0), 1, 1, (2, 3, 1), id="3d"
    ),
]


@pytest.mark.parametrize(
    ("sizes", "kernel", "strides", "dilations", "pads", "group", "offset_group", "out"), DEFORMED
)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    ("version", "name"),
    [(v, t) for v in (19, 22) for t in FORMATS if v == 22 or t != "bfloat16"],
)
def test_deformed_windows(
    version, name, masked, sizes, kernel, strides, dilations, pads, group, offset_group, out
):
    """Values between the elements are interpolated, and what is outside counts as zero."""
    rng = np.random.default_rng(3)
    dtype, count, elements = dtype_of(name), len(sizes), math.prod(kernel)
    x = rng.standard_normal((2, 4, *sizes)).astype(dtype)
    w = rng.standard_normal((4, 4 // group, *kernel)).astype(dtype)
    offset = rng.uniform(-2, 2, (2, offset_group * elements * count, *out)).astype(dtype)
    b = rng.standard_normal(4).astype(dtype) if masked else None
    mask = rng.uniform(0, 1, (2, offset_group * elements, *out)).astype(dtype) if masked else None
    got = call(
        "DeformConv", version, x, w, offset, b, mask, group=group, offset_group=offset_group,
        strides=strides, dilations=dilations, pads=pads,
    )  # fmt: skip
    assert got.dtype == dtype
    assert got.shape == (2, 4, *out)
    wanted = slow_deform(
        x, w, offset, b, mask, group, offset_group, strides, dilations, pads[:count]
    )
    half = 2.0 ** -FORMATS[name][0] * 1.0001
    for at, value in wanted.items():
        assert float(got[at]) == pytest.approx(value, rel=max(half, 1e-14), abs=1e-15)


def test_without_offsets_it_is_a_convolution():
    rng = np.random.default_rng(4)
    x, w = rng.integers(-9, 9, (2, 4, 5, 3)) * 1.0, rng.integers(-9, 9, (4, 2, 2, 2)) * 1.0
    window = {"group": 2, "pads": [1, 0, 1, 0], "strides": [2, 1]}
    plain = call("Conv", 22, x, w, **window)
    got = call("DeformConv", 22, x, w, np.zeros((2, 8, *plain.shape[2:])), **window)
    assert got.tolist() == plain.tolist()


@pytest.mark.parametrize(
    ("offset", "mask", "attributes", "match"),
    [
        pytest.param((1, 8, 2, 2), None, {"offset_group": 3}, "must divide", id="offset-group"),
        pytest.param((1, 4, 2, 2), None, {}, "offset has shape", id="offset"),
        pytest.param((1, 8, 3, 2), None, {}, "offset has shape", id="output-size"),
        pytest.param((1, 8, 2, 2), (1, 8, 2, 2), {}, "mask has shape", id="mask"),
        pytest.param((1, 8, 2, 2), None, {"kernel_shape": [1, 2]}, "kernel_shape", id="kernel"),
        pytest.param((1, 8, 2, 2), None, {"group": 2}, "group is 2", id="group"),
    ],
)
def test_deformed_convolutions_refuse(offset, mask, attributes, match):
    with pytest.raises(ValueError, match=match):
        call(
            "DeformConv", 19, np.ones((1, 4, 3, 3)), np.ones((2, 4, 2, 2)), np.zeros(offset), None,
            None if mask is None else np.ones(mask), **attributes,
        )  # fmt: skip


# Col2Im.


def slow_image(x, image, block, strides, dilations, pads):
    """Return the terms of each pixel, by (n, c, *place)."""
    axes = range(len(image))
    counts = [
        (image[i] + pads[i] + pads[len(image) + i] - dilations[i] * (block[i] - 1) - 1)
        // strides[i]
        + 1
        for i in axes
    ]
    channels = x.shape[1] // math.prod(block)
    result = {at: [] for at in grid((x.shape[0], channels, *image))}
    for n, c in grid((x.shape[0], channels)):
        for (e, k), (number, at) in itertools.product(
            enumerate(grid(block)), enumerate(grid(counts))
        ):
            place = [at[i] * strides[i] + k[i] * dilations[i] - pads[i] for i in axes]
            if all(0 <= place[i] < image[i] for i in axes):
                result[(n, c, *place)].append(x[n, c * math.prod(block) + e, number])
    return result, math.prod(counts)


IMAGES = [
    pytest.param((4, 5), (2, 3), (1, 1), (1, 1), (0, 0, 0, 0), 9, id="overlap"),
    pytest.param((3, 5), (2, 2), (2, 1), (1, 2), (1, 0, 0, 1), 8, id="everything"),
    pytest.param((2, 3, 4), (1, 2, 2), (1, 1, 2), (1, 1, 1), (0, 0, 0, 0, 0, 0), 8, id="3d"),
    pytest.param((4, 6), (2, 3), (2, 3), (1, 1), (0, 0, 0, 0), 4, id="tiles"),
]
TYPES = [t[7:-1] for t in onnx.defs.get_schema("Col2Im").type_constraints[0].allowed_type_strs]
NAMES = {"float": "float32", "double": "float64", "string": "object"}


@pytest.mark.parametrize(("image", "block", "strides", "dilations", "pads", "blocks"), IMAGES)
@pytest.mark.parametrize("name", TYPES)
def test_blocks_are_added(name, image, block, strides, dilations, pads, blocks):
    """Integers wrap around, floats are rounded once, booleans are or, strings only stand alone."""
    dtype = dtype_of(NAMES.get(name, name))
    rng = np.random.default_rng(6)
    shape = (2, 3 * math.prod(block), blocks)
    x = rng.integers(0, 256, (*shape, 16), np.uint8)
    if dtype.kind in "iu":
        x = np.ascontiguousarray(x[..., : dtype.itemsize]).view(dtype)[..., 0]
    elif dtype.kind == "b":
        x = x[..., 0] > 128
    elif dtype.kind == "O":
        x = np.vectorize(str, otypes=[object])(x[..., 0])
    else:
        x = (x[..., 0] - 128.0 + (1j * x[..., 1] if dtype.kind == "c" else 0)).astype(dtype)
    sizes = np.array(image), np.array(block)
    window = {"strides": strides, "dilations": dilations, "pads": pads}
    wanted, count = slow_image(x, image, block, strides, dilations, pads)
    assert count == blocks
    if dtype.kind == "O" and max(map(len, wanted.values())) > 1:
        with pytest.raises(ValueError, match="strings"):
            call("Col2Im", 18, x, *sizes, **window)
        return
    got = call("Col2Im", 18, x, *sizes, **window)
    assert got.shape == (2, 3, *image)
    assert got.dtype == dtype
    for at, terms in wanted.items():
        if dtype.kind == "b":
            assert got[at] == any(terms)
        elif dtype.kind == "O":
            assert got[at] == (terms[0] if terms else "")
        elif dtype.kind in "iu":
            assert (int(got[at]) - sum(map(int, terms))) % 2 ** (8 * dtype.itemsize) == 0
        else:
            exact = sum(map(complex, terms))
            assert got[at] == np.array(exact if dtype.kind == "c" else exact.real).astype(dtype)


def test_image_sums_do_not_cancel():
    """One pixel is covered by three blocks, with values of unlike sizes."""
    x = np.zeros((1, 3, 3), np.float32)
    x[0, [2, 1, 0], [0, 1, 2]] = 2.0**70, 3.0, -(2.0**70)
    got = call("Col2Im", 18, x, np.array([1, 1]), np.array([1, 3]), pads=[0, 2, 0, 2])
    assert got.tolist() == [[[[3.0]]]]


def test_image_parts_of_complex_numbers_stay_apart():
    """An infinite imaginary part makes no NaN of the real one."""
    x = np.array([[[complex(1, math.inf)], [2 + 3j]]])
    got = call("Col2Im", 18, x, np.array([1, 2]), np.array([1, 2]))
    assert got.real.tolist() == [[[[1.0, 2.0]]]]
    assert got.imag.tolist() == [[[[math.inf, 3.0]]]]


@pytest.mark.parametrize(
    ("shape", "image", "block", "attributes", "match"),
    [
        pytest.param((1, 4, 2), [2, 3], [2, 2, 1], {}, "lengths differ", id="lengths"),
        pytest.param((1, 4, 2), [3], [2], {}, "2 or more", id="one-axis"),
        pytest.param((1, 5, 2), [2, 3], [2, 2], {}, "the input has shape", id="channels"),
        pytest.param((1, 4, 3), [2, 3], [2, 2], {}, "the input has shape", id="blocks"),
        pytest.param((4, 2), [2, 3], [2, 2], {}, "the input has shape", id="rank"),
        pytest.param((1, 4, 2), [2, 3], [2, 0], {}, ">= 1", id="empty-block"),
        pytest.param((1, 4, 2), [2, 3], [2, 2], {"strides": [1]}, "strides", id="strides"),
        pytest.param((1, 4, 2), [2, 3], [2, 2], {"pads": [-1, 0, 0, 0]}, "pads", id="pads"),
    ],
)
def test_images_refuse(shape, image, block, attributes, match):
    with pytest.raises(ValueError, match=match):
        call("Col2Im", 18, np.ones(shape), np.array(image), np.array(block), **attributes)
