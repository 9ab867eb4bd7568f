"""NonMaxSuppression and RoiAlign, held against loops."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from kernel_calls import call, dtype_of

pytestmark = pytest.mark.usefixtures("no_warnings")


# NonMaxSuppression.


def overlap(a, b):
    """Return the intersection over union of two boxes [y1, x1, y2, x2], exactly."""
    a, b = ([Fraction(float(v)) for v in box] for box in (a, b))
    common = 1
    for i in (0, 1):
        low = max(min(a[i], a[i + 2]), min(b[i], b[i + 2]))
        high = min(max(a[i], a[i + 2]), max(b[i], b[i + 2]))
        common *= max(high - low, 0)
    union = sum(abs((c[2] - c[0]) * (c[3] - c[1])) for c in (a, b)) - common
    return common / union if union else Fraction(0)


def slow_suppression(boxes, scores, most, limit, least):
    selected = []
    for n, c in itertools.product(range(scores.shape[0]), range(scores.shape[1])):
        order = sorted(range(scores.shape[2]), key=lambda i: (-scores[n, c, i], i))
        kept = []
        for i in order:
            fits = all(overlap(boxes[n, i], boxes[n, j]) <= limit for j in kept)
            if fits and not scores[n, c, i] < least and len(kept) < most:
                kept.append(i)
        selected += [[n, c, i] for i in kept]
    return selected


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("seed", range(8))
def test_suppression(version, seed):
    """Corners in any order, ties, thresholds that are met exactly; batches and classes apart."""
    rng = np.random.default_rng(seed)
    boxes = (rng.integers(0, 5, (2, 9, 4)) / 2).astype(np.float32)
    scores = (rng.integers(0, 5, (2, 3, 9)) / 4).astype(np.float32)
    limit, least, most = np.float32(0.25), np.float32(0.5), np.int64(4)
    got = call("NonMaxSuppression", version, boxes, scores, *map(np.asarray, (most, limit, least)))
    assert got.dtype == np.int64
    assert got.tolist() == slow_suppression(boxes, scores, 4, limit, least)


@pytest.mark.parametrize("version", [10, 11])
def test_centers_and_corners_say_the_same(version):
    rng = np.random.default_rng(1)
    center = rng.integers(0, 6, (1, 12, 2)) / 2
    size = rng.integers(1, 5, (1, 12, 2)) / 2
    scores = rng.random((1, 2, 12)).astype(np.float32)
    limits = np.asarray(99), np.asarray(0.3, np.float32)
    middle = np.concatenate((center, size), axis=2).astype(np.float32)
    corner = np.concatenate((center + size / 2, center - size / 2), axis=2)[:, :, [1, 0, 3, 2]]
    one = call("NonMaxSuppression", version, middle, scores, *limits, center_point_box=1)
    other = call("NonMaxSuppression", version, corner.astype(np.float32), scores, *limits)
    assert one.tolist() == other.tolist()
    assert 2 < len(one) < 24


LINE = np.array([[[0, 0, 1, 1], [0, 0.5, 1, 1.5], [0, 2, 1, 3]]], np.float32)
SCORES = np.array([[[0.5, 0.75, -1.0]]], np.float32)


def select(most=9, limit=None, least=None, boxes=LINE):
    limits = (None if v is None else np.asarray(v, np.float32) for v in (limit, least))
    found = call(
        "NonMaxSuppression", 11, boxes, SCORES, None if most is None else np.asarray(most), *limits
    )
    assert found.shape == (len(found), 3)
    return found[:, 2].tolist()


def test_omitted_limits():
    """Without a maximum there is no output; without a score threshold no score is too low."""
    assert select(None) == []
    assert select(0) == []
    assert select(-1) == []
    assert select(1) == [1]
    assert select() == [1, 2]
    assert select(limit=1.0) == [1, 0, 2]


def test_thresholds_that_are_met_exactly():
    """A third of the boxes overlaps; the nearest float32 to 1/3 lies above it, the next below."""
    third = np.float32(1 / 3)
    assert select(limit=third) == [1, 0, 2]
    assert select(limit=np.nextafter(third, np.float32(0))) == [1, 2]
    half = LINE * np.array([1, 2, 1, 2], np.float32)
    half[0, 1] = [0, 0, 1, 4]
    assert select(limit=0.5, boxes=half) == [1, 0, 2]
    assert select(limit=0.499, boxes=half) == [1, 2]
    assert select(least=0.75, limit=1.0) == [1]
    assert select(least=0.5, limit=1.0) == [1, 0]


def test_boxes_that_touch_or_have_no_area_overlap_nothing():
    touching = np.array([[[0, 0, 1, 1], [0, 1, 1, 2], [0.5, 0.5, 0.5, 0.5]]], np.float32)
    assert select(boxes=touching) == [1, 0, 2]
    assert select(boxes=np.zeros((1, 3, 4), np.float32)) == [1, 0, 2]


@pytest.mark.parametrize(
    ("boxes", "scores", "limits", "match"),
    [
        pytest.param((1, 3), (1, 1, 3), (), "must be", id="rank"),
        pytest.param((1, 3, 5), (1, 1, 3), (), "must be", id="coordinates"),
        pytest.param((1, 3, 4), (1, 1, 2), (), "must be the same", id="boxes"),
        pytest.param((1, 3, 4), (2, 1, 3), (), "must be the same", id="batches"),
        pytest.param((1, 3, 4), (1, 1, 3), ([1, 2],), "max_output", id="two-limits"),
        pytest.param((1, 3, 4), (1, 1, 3), (1, 1.5), "iou_threshold", id="above-1"),
        pytest.param((1, 3, 4), (1, 1, 3), (1, -0.5), "iou_threshold", id="below-0"),
    ],
)
def test_suppression_refuses(boxes, scores, limits, match):
    with pytest.raises(ValueError, match=match):
        call("NonMaxSuppression", 11, np.ones(boxes), np.ones(scores), *map(np.asarray, limits))


def test_suppression_refuses_another_format():
    with pytest.raises(ValueError, match="center_point_box"):
        call("NonMaxSuppression", 11, LINE, SCORES, center_point_box=2)


def test_suppression_of_no_boxes():
    got = call("NonMaxSuppression", 11, np.ones((1, 0, 4)), np.ones((1, 2, 0)), np.asarray(3))
    assert got.shape == (0, 3)


# RoiAlign.


def sample(image, y, x, mode):
    """Interpolate one point, as the official tests do it; return the pooled neighbours."""
    height, width = image.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = min(max(y, 0.0), height - 1.0), min(max(x, 0.0), width - 1.0)
    top, left = math.floor(y), math.floor(x)
    terms = []
    for i, j in itertools.product((0, 1), repeat=2):
        weight = (y - top if i else 1 - y + top) * (x - left if j else 1 - x + left)
        terms.append(weight * image[min(top + i, height - 1), min(left + j, width - 1)])
    return sum(terms) if mode == "avg" else max(terms)


def slow_align(x, rois, batches, height, width, ratio, scale, mode, half_pixel):
    result = {}
    for r, c in itertools.product(range(len(rois)), range(x.shape[1])):
        x1, y1, x2, y2 = (float(v) * scale - (0.5 if half_pixel else 0) for v in rois[r])
        high, wide = y2 - y1, x2 - x1
        if not half_pixel:
            high, wide = max(high, 1.0), max(wide, 1.0)
        rows = ratio or math.ceil(high / height)
        columns = ratio or math.ceil(wide / width)
        for i, j in itertools.product(range(height), range(width)):
            points = [
                sample(
                    x[batches[r], c].astype(np.float64),
                    y1 + (i + (a + 0.5) / rows) * high / height,
                    x1 + (j + (b + 0.5) / columns) * wide / width,
                    mode,
                )
                for a in range(rows)
                for b in range(columns)
            ]
            pooled = (
                sum(points) / len(points) if mode == "avg" and points else max(points, default=0)
            )
            result[(r, c, i, j)] = pooled
    return result


ROIS = np.array(
    [[0.25, 0.5, 3.5, 2.25], [-3, -1, 2, 4], [4, 3, 9, 8], [1, 1, 1.25, 1.125], [2, 2, 1, 1]]
)
MODES = [
    (10, None),
    (16, "half_pixel"),
    (16, "output_half_pixel"),
    (22, "half_pixel"),
    (22, "output_half_pixel"),
]


@pytest.mark.parametrize(("version", "shift"), MODES)
@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("ratio", [0, 1, 2])
@pytest.mark.parametrize("name", ["float16", "float32", "float64", "bfloat16"])
def test_regions_are_aligned(version, shift, mode, ratio, name):
    """Partly and wholly outside, smaller than a pixel, with corners the wrong way round."""
    dtype = dtype_of(name)
    x = np.random.default_rng(1).standard_normal((2, 3, 4, 5)).astype(dtype)
    batches = np.array([1, 0, 1, 0, 1])
    extra = {} if shift is None else {"coordinate_transformation_mode": shift}
    got = call(
        "RoiAlign", version, x, ROIS.astype(dtype), batches, mode=mode, output_height=2,
        output_width=3, sampling_ratio=ratio, spatial_scale=0.75, **extra,
    )  # fmt: skip
    assert got.dtype == dtype
    assert got.shape == (5, 3, 2, 3)
    wanted = slow_align(x, ROIS, batches, 2, 3, ratio, 0.75, mode, shift == "half_pixel")
    ulp = {"float16": 2.0**-11, "float32": 2.0**-24, "float64": 1e-14, "bfloat16": 2.0**-8}[name]
    for at, value in wanted.items():
        assert float(got[at]) == pytest.approx(value, rel=1.001 * ulp, abs=1e-15)


def test_the_default_of_version_16_is_half_pixel():
    x = np.arange(6.0)[None, None, None]
    roi, batch = np.array([[1.0, 0.0, 3.0, 1.0]]), np.array([0])
    assert call("RoiAlign", 10, x, roi, batch).item() == 2
    assert call("RoiAlign", 16, x, roi, batch).item() == 1.5


def test_an_infinite_neighbour_without_weight_is_nothing():
    x = np.array([[[[1.0, math.inf]]]])
    got = call("RoiAlign", 22, x, np.array([[0.0, 0.0, 1.0, 1.0]]), np.array([0]), sampling_ratio=1)
    assert got.item() == 1


def test_no_regions():
    got = call("RoiAlign", 22, np.ones((1, 2, 3, 4)), np.ones((0, 4)), np.ones(0, np.int64))
    assert got.shape == (0, 2, 1, 1)


@pytest.mark.parametrize(
    ("x", "rois", "batches", "attributes", "match"),
    [
        pytest.param((1, 2, 3), (1, 4), [0], {}, "must be", id="rank"),
        pytest.param((1, 2, 3, 3), (1, 5), [0], {}, "must be", id="corners"),
        pytest.param((1, 2, 3, 3), (1, 4), [0, 0], {}, "must be", id="indices"),
        pytest.param((1, 2, 3, 3), (1, 4), [1], {}, "batch index 1", id="batch"),
        pytest.param((1, 2, 3, 3), (1, 4), [-1], {}, "batch index -1", id="negative-batch"),
        pytest.param((1, 2, 3, 3), (1, 4), [0], {"mode": "min"}, "mode", id="mode"),
        pytest.param((1, 2, 3, 3), (1, 4), [0], {"output_height": 0}, "output_height", id="height"),
        pytest.param((1, 2, 3, 3), (1, 4), [0], {"sampling_ratio": -1}, "sampling", id="ratio"),
        pytest.param((1, 2, 3, 3), (1, 4), [0], {"coordinate_transformation_mode": "pixel"},
                     "coordinate_transformation_mode", id="coordinates"),
    ],
)  # fmt: skip
def test_alignment_refuses(x, rois, batches, attributes, match):
    with pytest.raises(ValueError, match=match):
        call("RoiAlign", 22, np.ones(x), np.ones(rois), np.array(batches), **attributes)
