"""Dropout, in both modes, and Flatten."""

import math

import ml_dtypes
import numpy as np
import pytest

from kernel_calls import call
from opcheck.kernels import registry

OLD, TESTED, NEW = (1, 6), (7, 10), (12, 13, 22)
FLATTEN = (1, 9, 11, 13, 21, 23, 24, 25)
ELEMENTS = np.array([[1, -0.5, 0], [3, 2, -4]])


def scalar(value, dtype=np.float32):
    return np.array(value, dtype)


def test_every_version_is_registered():
    """Each version of both schemas has a kernel."""
    keys = {("", "Dropout", v) for v in (*OLD, *TESTED, *NEW)}
    assert keys | {("", "Flatten", v) for v in FLATTEN} <= registry.registered()


@pytest.mark.parametrize("version", [*OLD, *TESTED, *NEW])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_nothing_is_dropped_without_training(version, dtype):
    """The output is the input; the mask is of ones, and bool from version 10 on."""
    x = ELEMENTS.astype(dtype)
    output, mask = call("Dropout", version, x, **({"is_test": 1} if version in OLD else {}))
    assert (output.dtype, output.tolist()) == (dtype, x.tolist())
    assert mask.dtype == (dtype if version < 10 else bool)
    assert mask.all()
    assert mask.shape == x.shape


@pytest.mark.parametrize("version", NEW)
def test_a_ratio_of_zero_drops_nothing(version):
    """Zero is a ratio of its own, not an omitted one."""
    output, mask = call("Dropout", version, ELEMENTS, scalar(0), scalar(True, bool))
    assert np.array_equal(output, ELEMENTS)
    assert mask.all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
@pytest.mark.parametrize("ratio", [None, 0.25, 0.75])
def test_what_is_kept_is_divided_by_the_rest(ratio, dtype):
    """The output is data * mask / (1 - ratio), and about the ratio of all is dropped."""
    x = np.full((200, 300), 3, dtype)
    given = None if ratio is None else scalar(ratio)
    output, mask = call("Dropout", 22, x, given, scalar(True, bool), seed=7)
    chosen = 0.5 if ratio is None else ratio
    assert (output.dtype, mask.dtype) == (x.dtype, bool)
    kept = np.array(3 / (1 - chosen)).astype(dtype)
    assert np.array_equal(output, np.where(mask, kept, np.array(0, dtype)))
    deviation = math.sqrt(chosen * (1 - chosen) / mask.size)
    assert abs((~mask).mean() - chosen) < 5 * deviation


@pytest.mark.parametrize("version", NEW)
def test_a_seed_fixes_the_mask(version):
    """The same seed gives the same mask; another one, or none, gives another."""
    x = np.ones(1000, np.float32)
    masks = [
        call("Dropout", version, x, None, scalar(True, bool), seed=seed)[1]
        for seed in (3, 3, -4, None, None)
    ]
    same = [[np.array_equal(a, b) for a in masks] for b in masks]
    assert same == [[i == j or {i, j} == {0, 1} for i in range(5)] for j in range(5)]
    expected = np.random.Generator(np.random.PCG64(3)).random(1000) >= 0.5
    assert np.array_equal(masks[0], expected)


@pytest.mark.parametrize("version", OLD)
def test_early_versions_train_unless_told_otherwise(version):
    """With is_test 0 elements are dropped, and the mask has the type of the data."""
    x = np.full(10_000, 3, np.float32)
    output, mask = call("Dropout", version, x, ratio=0.25)
    assert mask.dtype == np.float32
    assert set(np.unique(mask)) == {0, 1}
    assert np.array_equal(output, np.where(mask == 1, np.float32(4), np.float32(0)))
    assert 0.2 < (mask == 0).mean() < 0.3


@pytest.mark.parametrize("ratio", [-0.5, 1.0, 2.0, math.nan])
def test_a_ratio_outside_its_range_is_refused_in_training_only(ratio):
    """The ratio lies in [0, 1), and is ignored without training_mode."""
    for version in NEW:
        with pytest.raises(ValueError, match="it must lie in"):
            call("Dropout", version, ELEMENTS, scalar(ratio), scalar(True, bool))
        output, _ = call("Dropout", version, ELEMENTS, scalar(ratio), scalar(False, bool))
        assert np.array_equal(output, ELEMENTS)
    for version in OLD:
        with pytest.raises(ValueError, match="it must lie in"):
            call("Dropout", version, ELEMENTS, ratio=ratio)


def test_ratio_and_training_mode_are_scalars():
    """More than one element is refused."""
    with pytest.raises(ValueError, match="ratio has shape"):
        call("Dropout", 13, ELEMENTS, np.zeros(2), None)
    with pytest.raises(ValueError, match="training_mode has shape"):
        call("Dropout", 13, ELEMENTS, None, np.zeros(0, bool))


# Flatten.


@pytest.mark.parametrize("version", FLATTEN)
@pytest.mark.parametrize("shape", [(2, 3, 4), (5,), (), (2, 0, 3), (0,), (1, 1, 1, 2)])
def test_all_axes_of_all_shapes(version, shape):
    """The elements keep their order, and both dimensions are products, 1 of nothing."""
    x = np.arange(math.prod(shape)).reshape(shape)
    rank = len(shape)
    for axis in range(0 if version < 11 else -rank, rank + 1):
        y = call("Flatten", version, x, axis=axis)
        start = axis % rank if axis < 0 else axis
        assert y.shape == (math.prod(shape[:start]), math.prod(shape[start:]))
        assert y.reshape(-1).tolist() == x.reshape(-1).tolist()
    for axis in (rank + 1, (0 if version < 11 else -rank) - 1):
        with pytest.raises(ValueError, match=f"axis is {axis}"):
            call("Flatten", version, x, axis=axis)


@pytest.mark.parametrize(
    "x",
    [
        np.array([["a", "b"]], dtype=object),
        np.array([[True], [False]]),
        np.array([[1 + 2j]]),
        np.array([[1, -2]], ml_dtypes.int4),
        np.array([[1, 2]], ml_dtypes.float8_e8m0fnu),
    ],
)
def test_any_type_is_moved(x):
    """The type stays, whatever it is."""
    y = call("Flatten", 25, x, axis=0)
    assert (y.dtype, y.shape) == (x.dtype, (1, x.size))
    assert y.reshape(-1).tolist() == x.reshape(-1).tolist()
