"""Resize and Upsample, held against sums over single elements in exact fractions."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_calls import dtypes, versions
from tensor_calls import assert_same, call, filled, ints

RESIZE = [v for _, v in versions("Resize")]
FROM_11 = [v for v in RESIZE if v >= 11]
HALF = Fraction(1, 2)
COORDINATES = [
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
]


def f32(*values):
    return np.array(values, np.float32)


def resize(version, x, scales=None, sizes=None, roi=None, **attributes):
    """Call with the inputs where the version wants them."""
    scales = None if scales is None else f32(*scales)
    sizes = None if sizes is None else ints(list(sizes))
    roi = None if roi is None else f32(*roi)
    if version == 11:
        roi = f32() if roi is None else roi
        scales = f32() if scales is None else scales
    return call("Resize", version, x, roi, scales, sizes, **attributes)


def place(mode, i, length, resized, scale, exact, roi):
    """Transcribe the formulas of coordinate_transformation_mode."""
    start, end = roi
    if mode == "half_pixel":
        return (i + HALF) / scale - HALF
    if mode == "half_pixel_symmetric":
        offset = Fraction(length) / 2 * (1 - Fraction(resized) / exact)
        return offset + (i + HALF) / scale - HALF
    if mode == "pytorch_half_pixel":
        return (i + HALF) / scale - HALF if resized > 1 else Fraction(0)
    if mode == "align_corners":
        return i * (length - 1) / (exact - 1) if exact != 1 else Fraction(0)
    if mode == "asymmetric":
        return i / scale
    if mode == "tf_half_pixel_for_nn":
        return (i + HALF) / scale
    if resized > 1:
        return start * (length - 1) + i * (end - start) * (length - 1) / (resized - 1)
    return HALF * (start + end) * (length - 1)


def nearest(mode, at):
    down, part = math.floor(at), at - math.floor(at)
    up = down + 1 if part else down
    return {
        "floor": down,
        "ceil": up,
        "round_prefer_floor": up if part > HALF else down,
        "round_prefer_ceil": up if part >= HALF else down,
    }[mode]


def kernel_weight(mode, d, a):
    """Return the triangle, or the cubic of Keys, at a distance."""
    d = abs(d)
    if mode == "linear":
        return max(1 - d, Fraction(0))
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    if d < 2:
        return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return Fraction(0)


def axis_weights(at, length, scale, mode, a=Fraction(-3, 4), exclude=False, antialias=False):
    """Return the weight of each element of an axis; what is outside counts for the edge."""
    stretch = min(scale, Fraction(1)) if antialias else Fraction(1)
    weights = dict.fromkeys(range(length), Fraction(0))
    total = Fraction(0)
    middle = math.floor(at)
    reach = math.ceil(2 / stretch) + 2
    for i in range(middle - reach, middle + reach + 1):
        w = kernel_weight(mode, (i - at) * stretch, a)
        if exclude and not 0 <= i < length:
            continue
        weights[min(max(i, 0), length - 1)] += w
        total += w
    return {i: w / total for i, w in weights.items() if w}


def transcribed(x, axes, rows):
    """Sum the products of the weights of all axes; ``rows`` gives weights by axis and place."""
    shape = [len(rows[k]) if k in axes else n for k, n in enumerate(x.shape)]
    result = np.empty(shape, object)
    for out in np.ndindex(*shape):
        taken = [rows[k][out[k]] if k in axes else {out[k]: 1} for k in range(x.ndim)]
        total = Fraction(0)
        for at in itertools.product(*taken):
            weight = math.prod(taken[k][i] for k, i in enumerate(at))
            total += weight * Fraction(float(x[at]))
        result[out] = total
    return result


def assert_close(got, wanted, dtype):
    """Rounded once: half a unit, and a little more for what float64 loses."""
    assert got.shape == wanted.shape
    assert got.dtype == dtype
    largest = max((abs(float(v)) for v in wanted.reshape(-1)), default=0)
    for a, b in zip(got.reshape(-1), wanted.reshape(-1), strict=True):
        unit = abs(float(np.spacing(np.array(float(b), dtype))))
        assert abs(Fraction(float(a)) - b) <= Fraction(unit) * Fraction(51, 100) + Fraction(
            largest * 2.0**-50
        )


@pytest.mark.parametrize("version", RESIZE)
def test_every_type_can_be_enlarged(version):
    """Elements are moved bit by bit; each of them is repeated."""
    parameter = "T" if version == 10 else "T1"
    for dtype in dtypes("Resize", version, parameter):
        x = filled((2, 3), dtype)
        got = call("Resize", 10, x, f32(2, 3)) if version == 10 else resize(version, x, (2, 3))
        assert_same(got, np.repeat(np.repeat(x, 2, 0), 3, 1))


@pytest.mark.parametrize("version", FROM_11)
@pytest.mark.parametrize("mode", ["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
@pytest.mark.parametrize("coordinates", [*COORDINATES, "tf_half_pixel_for_nn"])
def test_nearest_of_every_place(version, mode, coordinates):
    """Exact halves included: 12 elements to 10, 3 to 6, and scales between two lengths."""
    allowed = {"tf_half_pixel_for_nn": version == 11, "half_pixel_symmetric": version == 19}
    attributes = {"nearest_mode": mode, "coordinate_transformation_mode": coordinates}
    roi = (Fraction(1, 4), Fraction(3, 4))
    if not allowed.get(coordinates, True):
        with pytest.raises(ValueError, match="coordinate_transformation_mode is"):
            resize(version, filled((2,)), sizes=(4,), **attributes)
        return
    for length, size in itertools.product((1, 2, 3, 5, 12), (1, 2, 3, 6, 10)):
        x = np.arange(length, dtype=np.int16)
        scale = Fraction(size, length)
        got = resize(version, x, sizes=(size,), roi=(0.25, 0.75), **attributes)
        places = [place(coordinates, i, length, size, scale, size, roi) for i in range(size)]
        wanted = [min(max(nearest(mode, at), 0), length - 1) for at in places]
        assert got.tolist() == wanted
    for length, scale in itertools.product((2, 5, 7), (0.5, 0.625, 1.5, 2.75)):
        if coordinates == "tf_crop_and_resize":
            continue
        size = math.floor(length * scale)
        exact = length * Fraction(scale)
        got = resize(version, np.arange(length), (scale,), **attributes)
        places = [
            place(coordinates, i, length, size, Fraction(scale), exact, roi) for i in range(size)
        ]
        assert got.tolist() == [min(max(nearest(mode, at), 0), length - 1) for at in places]


@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("exclude", [0, 1])
def test_averages_of_every_place(coordinates, mode, exclude):
    """Weights are exact and the sum is rounded once, in every float type."""
    rng = np.random.default_rng(1)
    for dtype in dtypes("Resize", 19, "T1"):
        if dtype.kind not in "fV":
            continue
        for length, size in ((4, 7), (7, 3), (5, 5), (1, 3), (3, 1)):
            x = rng.normal(0, 10, length).astype(dtype)
            scale = Fraction(size, length)
            attributes = {"coordinate_transformation_mode": coordinates, "exclude_outside": exclude}
            got = resize(
                19, x, sizes=(size,), roi=(0.25, 0.75), mode=mode, cubic_coeff_a=-0.5, **attributes
            )
            roi = (Fraction(1, 4), Fraction(3, 4))
            places = [place(coordinates, i, length, size, scale, size, roi) for i in range(size)]
            rows = [axis_weights(at, length, scale, mode, -HALF, bool(exclude)) for at in places]
            assert_close(got, transcribed(x, [0], {0: rows}), dtype)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("exclude", [0, 1])
@settings(deadline=None, max_examples=25)
@given(
    shape=st.tuples(*[st.integers(1, 6)] * 2),
    scales=st.tuples(*[st.sampled_from([0.25, 0.3, 0.6, 0.75, 1.0, 1.3, 2.0])] * 2),
    antialias=st.integers(0, 1),
)
def test_averages_on_two_axes(mode, exclude, shape, scales, antialias):
    """Separable, with and without the filter against aliasing, for scales that are given."""
    x = filled(shape, np.float64)
    exact = [np.float32(s) * np.float32(n) for s, n in zip(scales, shape, strict=True)]
    sizes = [math.floor(v) for v in exact]
    got = resize(18, x, scales, mode=mode, exclude_outside=exclude, antialias=antialias)
    rows = {}
    for k, size in enumerate(sizes):
        scale = Fraction(float(np.float32(scales[k])))
        places = [(i + HALF) / scale - HALF for i in range(size)]
        options = {"exclude": bool(exclude), "antialias": bool(antialias)}
        rows[k] = [axis_weights(at, shape[k], scale, mode, **options) for at in places]
    assert_close(got, transcribed(x, [0, 1], rows), np.dtype(np.float64))


@pytest.mark.parametrize("version", FROM_11)
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_places_outside_of_the_input_are_extrapolated(version, mode):
    """On any axis; the value is for what is outside [0, length - 1]."""
    x = filled((3, 5), np.float32) + 1
    attributes = {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": mode}
    roi = (0, -0.25, 1, 1.25)
    got = resize(version, x, sizes=(3, 4), roi=roi, extrapolation_value=-7.5, **attributes)
    assert (got[:, [0, 3]] == -7.5).all()
    assert (got[:, [1, 2]] == x[:, [1, 3]]).all()
    got = resize(version, x, sizes=(1, 5), roi=(1.5, 0, 1.5, 1), **attributes)
    assert got.tolist() == [[0.0] * 5]


def test_extrapolated_integers():
    """The value is rounded to the type."""
    x = np.array([5, 6], np.uint8)
    attributes = {"coordinate_transformation_mode": "tf_crop_and_resize"}
    got = resize(13, x, sizes=(3,), roi=(-1, 1), extrapolation_value=9.0, **attributes)
    assert_same(got, np.array([9, 5, 6], np.uint8))
    with pytest.raises(ValueError, match="strings"):
        resize(13, filled((2,), object), sizes=(3,), roi=(-1, 1), **attributes)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_averages_of_integers(dtype):
    """To nearest, ties to even, and never beyond the limits of the type."""
    high = int(np.iinfo(dtype).max)
    x = np.array([0, 3, 6, 9], dtype)
    assert resize(19, x, sizes=(2,), mode="linear").tolist() == [2, 8]
    x = np.array([0, high, high, 0], dtype)
    got = resize(19, x, sizes=(7,), mode="cubic", coordinate_transformation_mode="align_corners")
    assert got.tolist()[2:5] == [high] * 3
    x = np.array([high - 1, high], dtype)
    assert resize(19, x, sizes=(2,), mode="linear").tolist() == [high - 1, high]


def test_infinity_beside_a_whole_place_has_no_say():
    """A weight of 0 leaves its element out."""
    x = f32(1, np.inf, np.nan, 4)
    attributes = {"mode": "linear", "coordinate_transformation_mode": "asymmetric"}
    assert resize(19, x, scales=(0.5,), **attributes)[0] == 1
    assert np.isnan(resize(19, x, sizes=(8,), mode="linear")).any()


def test_complex_numbers_are_averaged():
    """Real and imaginary part have the same weights."""
    for dtype in (np.complex64, np.complex128):
        x = np.array([0 + 4j, 8 + 0j], dtype)
        got = resize(13, x, sizes=(4,), mode="linear")
        assert_same(got, np.array([0 + 4j, 2 + 3j, 6 + 1j, 8 + 0j], dtype))


@pytest.mark.parametrize("version", [18, 19])
def test_policies_about_the_aspect_ratio(version):
    """Sizes are rounded half up, places are found with the common scale."""
    for lengths in ((5, 2), (2, 4), (3, 3)):
        for sizes in ((9, 1), (1, 3), (4, 4)):
            scales = [Fraction(s, n) for s, n in zip(sizes, lengths, strict=True)]
            for policy, choose in (("not_larger", min), ("not_smaller", max)):
                scale = choose(scales)
                x = filled((*lengths, 2), np.int64)
                got = resize(
                    version,
                    x,
                    sizes=sizes,
                    axes=[0, -2],
                    nearest_mode="floor",
                    coordinate_transformation_mode="asymmetric",
                    keep_aspect_ratio_policy=policy,
                )
                index = [
                    [min(math.floor(i / scale), n - 1) for i in range(math.floor(scale * n + HALF))]
                    for n in lengths
                ]
                assert_same(got, x[np.ix_(*index)])


def test_lengths_are_products_in_float32():
    """As the shape inference of onnx.defs has it: 10 * 0.7 is 7, not 6.99999988."""
    assert resize(19, filled((10,)), (0.7,)).shape == (7,)
    assert resize(19, filled((5,)), (0.5,)).shape == (2,)


@pytest.mark.parametrize(("factor", "wanted"), [(0.6, [1, 3]), (1.5, [1, 1, 2, 3, 3, 4])])
def test_nearest_in_version_10(factor, wanted):
    """The first is the example that came with version 10."""
    x = np.arange(1, 5)
    assert call("Resize", 10, x, f32(factor)).tolist() == wanted


def test_linear_in_version_10():
    """The example that came with version 10, rounded once."""
    x = np.arange(1, 9, dtype=np.float32).reshape(1, 1, 2, 4)
    got = call("Resize", 10, x, f32(1, 1, 0.6, 0.6), mode="linear")
    assert got.reshape(-1).tolist() == [1, np.float32(1 + 1 / float(np.float32(0.6)))]


BAD = [
    pytest.param({"scales": (2,), "sizes": (4,)}, id="both"),
    pytest.param({}, id="neither"),
    pytest.param({"scales": (2, 2)}, id="two-scales"),
    pytest.param({"sizes": (4, 4)}, id="two-sizes"),
    pytest.param({"scales": (0,)}, id="scale-0"),
    pytest.param({"scales": (-1,)}, id="negative-scale"),
    pytest.param({"scales": (np.inf,)}, id="infinite-scale"),
    pytest.param({"sizes": (-1,)}, id="negative-size"),
    pytest.param({"sizes": (4,), "mode": "area"}, id="mode"),
    pytest.param({"sizes": (4,), "nearest_mode": "round"}, id="nearest-mode"),
    pytest.param(
        {"sizes": (4,), "coordinate_transformation_mode": "tf_crop_and_resize"}, id="no-roi"
    ),
]


@pytest.mark.parametrize("version", FROM_11)
@pytest.mark.parametrize("arguments", BAD)
def test_what_resize_refuses(version, arguments):
    """What the text forbids, and names it does not have."""
    with pytest.raises(ValueError, match="wanted"):
        resize(version, filled((2,)), **arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"axes": [1]},
        {"axes": [0, 0], "sizes": (4, 4)},
        {"keep_aspect_ratio_policy": "fit"},
    ],
)
def test_what_axes_and_policies_refuse(arguments):
    """Axes out of range or repeated, other policies."""
    with pytest.raises(ValueError, match=r"wanted|outside|twice"):
        resize(19, filled((2,)), **({"sizes": (4,)} | arguments))


def test_nothing_makes_nothing():
    """Empty axes stay empty, and cannot grow."""
    assert resize(19, filled((0, 2)), sizes=(0, 3), mode="linear").shape == (0, 3)
    assert resize(19, filled((2,)), sizes=(0,), mode="cubic").shape == (0,)
    assert resize(19, filled(()), scales=()).shape == ()
    with pytest.raises(ValueError, match="no elements"):
        resize(19, filled((0,)), sizes=(2,))
    for dtype in (object, bool):
        with pytest.raises(ValueError, match="no weighted average"):
            resize(19, filled((2,), dtype), sizes=(4,), mode="linear")


@pytest.mark.parametrize("version", [1, 7, 9, 10])
def test_upsample_of_every_type(version):
    """The place is the output's number divided by the scale; nearest rounds down."""
    for dtype in dtypes("Upsample", version):
        x = filled((1, 1, 2, 3), dtype)
        got = upsample(version, x, 2.0, 1.5)
        assert_same(got, x[:, :, [0, 0, 1, 1]][:, :, :, [0, 0, 1, 2]])


def upsample(version, x, height, width, mode="nearest"):
    if version == 1:
        return call("Upsample", 1, x, height_scale=height, width_scale=width, mode=mode)
    if version == 7:
        return call("Upsample", 7, x, scales=[1.0, 1.0, height, width], mode=mode)
    return call("Upsample", version, x, f32(1, 1, height, width), mode=mode)


@pytest.mark.parametrize("version", [1, 7, 9, 10])
def test_upsample_by_averages(version):
    """The mode is called bilinear in version 1."""
    x = f32(1, 2, 3, 4).reshape(1, 1, 2, 2)
    names = ("bilinear", "linear") if version == 1 else ("linear", "bilinear")
    got = upsample(version, x, 1.0, 2.0, names[0])
    assert got.reshape(-1).tolist() == [1, 1.5, 2, 2, 3, 3.5, 4, 4]
    for bad in ((1.0, 2.0, names[1]), (1.0, 0.5, "nearest"), (0.75, 1.0, "nearest")):
        with pytest.raises(ValueError, match="wanted"):
            upsample(version, x, *bad)


def test_upsample_1_is_for_images():
    """Source: Upsample-1, "4-D tensor, [N,C,H,W]"."""
    with pytest.raises(ValueError, match="N, C, H, W"):
        upsample(1, filled((2, 2)), 1.0, 1.0)
