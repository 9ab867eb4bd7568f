"""Normalization by mean and variance, held against the equations of the text in fractions."""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel_calls import call, dtype_of
from opcheck.kernels import registry
from opcheck.kernels.rounding import narrow

pytestmark = pytest.mark.usefixtures("no_warnings")

VERSIONS = {
    "InstanceNormalization": (1, 6, 22),
    "GroupNormalization": (18, 21),
    "LayerNormalization": (17,),
    "RMSNormalization": (23,),
    "MeanVarianceNormalization": (9, 13),
}
FLOATS = ("float16", "bfloat16", "float32", "float64")
PAIRS = list(itertools.product(FLOATS, FLOATS))
LAYER_PAIRS = list(itertools.product(FLOATS, ("float32", "bfloat16")))
STASH = {"float32": 1, "float16": 10, "float64": 11, "bfloat16": 16}


def rounded(values, name):
    """Round exact numbers to a float type by way of float64 with many digits to spare."""
    return narrow(np.array([float(v) for v in values]), dtype_of(name)).astype(float)


def standardized(row, epsilon):
    """Return mean, 1 / deviation and (x - mean) / deviation of a row, with 40 digits."""
    exact = [Fraction(float(v)) for v in row]
    mean = sum(exact) / len(exact)
    variance = sum((v - mean) ** 2 for v in exact) / len(exact)
    with mpmath.workdps(40):
        total = mpmath.mpf(variance.numerator) / variance.denominator + mpmath.mpf(epsilon)
        inverse = 1 / mpmath.sqrt(total)
        rest = [mpmath.mpf((v - mean).numerator) / (v - mean).denominator for v in exact]
        return mpmath.mpf(mean.numerator) / mean.denominator, inverse, [r * inverse for r in rest]


def some(name, shape, seed, spread=3.0):
    return (np.random.default_rng(seed).standard_normal(shape) * spread + 1).astype(dtype_of(name))


def close(got, wanted, name):
    """Allow half a unit in the last place, and one for float64."""
    got = np.asarray(got).astype(float).reshape(-1)
    if name == "float64":
        np.testing.assert_allclose(got, [float(w) for w in wanted], rtol=5e-16, atol=1e-18)
    else:
        assert got.tolist() == rounded(wanted, name).tolist()


def test_every_version_is_registered():
    """Each operator has a kernel in each version of its schema."""
    keys = {("", op, v) for op, versions in VERSIONS.items() for v in versions}
    assert keys <= registry.registered()


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("version", VERSIONS["InstanceNormalization"])
def test_instances_are_normalized_channel_by_channel(version, name):
    """Everything is rounded once, to half a unit in the last place."""
    x = some(name, (2, 3, 2, 2), 1)
    scale, b = some(name, 3, 2), some(name, 3, 3)
    y = call("InstanceNormalization", version, x, scale, b, epsilon=0.25)
    assert y.dtype == x.dtype
    for n, c in itertools.product(range(2), range(3)):
        _, _, z = standardized(x[n, c].reshape(-1), 0.25)
        with mpmath.workdps(40):
            close(y[n, c], [v * float(scale[c]) + float(b[c]) for v in z], name)


@pytest.mark.parametrize("name", FLOATS)
def test_groups_of_version_18_have_one_scale_each(name):
    """The statistics, scale and bias are those of a group; there is one rounding."""
    x = some(name, (2, 6, 2), 4)
    scale, bias = some(name, 3, 5), some(name, 3, 6)
    y = call("GroupNormalization", 18, x, scale, bias, num_groups=3, epsilon=0.25)
    for n, g in itertools.product(range(2), range(3)):
        _, _, z = standardized(x[n, 2 * g : 2 * g + 2].reshape(-1), 0.25)
        with mpmath.workdps(40):
            wanted = [v * float(scale[g]) + float(bias[g]) for v in z]
        close(y[n, 2 * g : 2 * g + 2], wanted, name)


def stage_one(row, name, stash, epsilon):
    """Return mean, inverse deviation and the normalized elements after all named roundings."""
    mean, inverse, z = standardized(rounded(row.astype(float), stash), epsilon)
    return mean, inverse, rounded(rounded(z, stash), name)


@pytest.mark.parametrize(("name", "stash"), PAIRS)
def test_groups_of_version_21_round_as_stash_type_says(name, stash):
    """X to the type of stage one, the normalized elements to it, then to the type of X."""
    x = some(name, (2, 4, 3), 7)
    scale, bias = some(name, 4, 8), some(name, 4, 9)
    y = call(
        "GroupNormalization", 21, x, scale, bias, num_groups=2, epsilon=0.25,
        stash_type=STASH[stash],
    )  # fmt: skip
    for n, g in itertools.product(range(2), range(2)):
        rows = x[n, 2 * g : 2 * g + 2]
        _, _, z = stage_one(rows.reshape(-1), name, stash, 0.25)
        channels = np.repeat([2 * g, 2 * g + 1], 3)
        wanted = [
            Fraction(v) * Fraction(float(scale[c])) + Fraction(float(bias[c]))
            for v, c in zip(z, channels, strict=True)
        ]
        if name == stash == "float64":
            np.testing.assert_allclose(y[n, 2 * g : 2 * g + 2].reshape(-1),
                                       [float(w) for w in wanted], rtol=2e-15)  # fmt: skip
        else:
            close(y[n, 2 * g : 2 * g + 2], wanted, name)


@pytest.mark.parametrize("axis", [-3, -2, -1, 0, 1, 2])
@pytest.mark.parametrize(("name", "stash"), LAYER_PAIRS)
def test_layers_round_as_stash_type_says(name, stash, axis):
    """Y has the type of X, Mean and InvStdDev that of stash_type and size 1 from the axis on."""
    x = some(name, (2, 3, 2), 10)
    scale, b = some(name, x.shape[axis:], 11), some(name, x.shape[axis:], 12)
    y, mean, inverse = call(
        "LayerNormalization", 17, x, scale, b, axis=axis, epsilon=0.25, stash_type=STASH[stash]
    )
    first = axis % 3
    assert mean.dtype == inverse.dtype == dtype_of(stash)
    assert mean.shape == inverse.shape == (*x.shape[:first], *(1,) * (3 - first))
    rows = x.reshape(-1, int(np.prod(x.shape[first:])))
    for i, row in enumerate(rows):
        exact_mean, exact_inverse, z = stage_one(row, name, stash, 0.25)
        wanted = [
            Fraction(v) * Fraction(float(s)) + Fraction(float(t))
            for v, s, t in zip(z, scale.reshape(-1), b.reshape(-1), strict=True)
        ]
        close(y.reshape(rows.shape)[i], wanted, name)
        close(mean.reshape(-1)[i], [exact_mean], stash)
        close(inverse.reshape(-1)[i], [exact_inverse], stash)


def test_layers_without_a_bias_and_with_broadcast_scales():
    """An omitted bias is zero; scale and bias broadcast to X and not beyond."""
    x = some("float32", (2, 3), 13)
    one, zero = np.ones(3, np.float32), np.zeros(3, np.float32)
    full = call("LayerNormalization", 17, x, one * 2, zero)[0]
    assert np.array_equal(call("LayerNormalization", 17, x, one * 2)[0], full)
    assert np.array_equal(call("LayerNormalization", 17, x, np.float32(2).reshape(()))[0], full)
    with pytest.raises(ValueError, match=r"Scale has shape \(4, 2, 3\)"):
        call("LayerNormalization", 17, x, np.ones((4, 2, 3), np.float32))
    with pytest.raises(ValueError, match=r"B has shape \(2,\)"):
        call("LayerNormalization", 17, x, one, np.ones(2, np.float32))


@pytest.mark.parametrize("stash_type", [0, 6, 7, 10, 11])
def test_layers_refuse_a_stash_type_that_mean_cannot_have(stash_type):
    """Mean and InvStdDev are float or bfloat16."""
    with pytest.raises(ValueError, match="stash_type is"):
        call("LayerNormalization", 17, np.ones((1, 2)), np.ones(2), stash_type=stash_type)


@pytest.mark.parametrize("axis", [-2, -1, 0, 1])
@pytest.mark.parametrize(("name", "stash"), PAIRS)
def test_rms_rounds_as_stash_type_says(name, stash, axis):
    """The mean stays; X and the normalized elements are rounded to the type of stage one."""
    x = some(name, (2, 3), 14)
    scale = some(name, x.shape[axis:], 15)
    y = call("RMSNormalization", 23, x, scale, axis=axis, epsilon=0.25, stash_type=STASH[stash])
    assert y.dtype == scale.dtype
    rows = x.reshape(-1, scale.size)
    for i, row in enumerate(rows):
        exact = [Fraction(v) for v in rounded(row.astype(float), stash)]
        square = sum(v * v for v in exact) / len(exact) + Fraction(1, 4)
        with mpmath.workdps(40):
            root = mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator)
            z = [mpmath.mpf(v.numerator) / v.denominator / root for v in exact]
        z = rounded(rounded(z, stash), name)
        wanted = [
            Fraction(v) * Fraction(float(s)) for v, s in zip(z, scale.reshape(-1), strict=True)
        ]
        close(y.reshape(rows.shape)[i], wanted, name)


def test_rms_gives_the_type_of_the_scale():
    """Y is of the type of the scale, whatever that of X."""
    x = np.array([[5.0, 9.0]], np.float32)
    y = call("RMSNormalization", 23, x, np.array([2, 4], np.float16), epsilon=11.0)
    assert (y.dtype, y.tolist()) == (np.float16, [[1.25, 4.5]])


@pytest.mark.parametrize("version", VERSIONS["MeanVarianceNormalization"])
def test_mvn_divides_by_the_deviation_plus_a_billionth(version):
    """All sets of axes; the default axes are 0, 2 and 3, and an empty list means all."""
    x = some("float64", (2, 3, 1, 2), 16)
    everything = (0, 1, 2, 3)
    for over, given_axes in (
        ((0, 2, 3), {}),
        (everything, {"axes": []}),
        ((1,), {"axes": [1]}),
        ((3, 0), {"axes": [3, 0]}),
        (everything, {"axes": [0, 1, 2, 3]}),
    ):
        y = call("MeanVarianceNormalization", version, x, **given_axes)
        moved = np.moveaxis(x, over, range(len(over))).reshape(
            int(np.prod([x.shape[a] for a in over])), -1
        )
        result = np.moveaxis(y, over, range(len(over))).reshape(moved.shape)
        for column, got in zip(moved.T, result.T, strict=True):
            mean = sum(map(Fraction, column)) / len(column)
            variance = sum((Fraction(v) - mean) ** 2 for v in column) / len(column)
            with mpmath.workdps(40):
                deviation = mpmath.sqrt(mpmath.mpf(variance.numerator) / variance.denominator)
                deviation += float(np.float32(1e-9))
                wanted = [float(float(v) - float(mean)) / float(deviation) for v in column]
            np.testing.assert_allclose(got, wanted, rtol=1e-13, atol=1e-16)


def test_mvn_takes_negative_axes_from_version_13_on():
    """The function body of version 9 has a ReduceMean that counts from the front only."""
    x = np.array([[1.0, 3.0], [30.0, 10.0]], np.float32)
    assert call("MeanVarianceNormalization", 13, x, axes=[-1]).tolist() == [[-1, 1], [1, -1]]
    with pytest.raises(ValueError, match="axes holds -1"):
        call("MeanVarianceNormalization", 9, x, axes=[-1])
    with pytest.raises(ValueError, match="name one axis twice"):
        call("MeanVarianceNormalization", 13, x, axes=[1, -1])
    with pytest.raises(ValueError, match="axes holds 2"):
        call("MeanVarianceNormalization", 13, x)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-(2.0**99), 2.0**99, width=32), min_size=1, max_size=6),
    st.floats(-512, 512, width=32),
)
def test_equal_rows_give_zero(values, constant):
    """A row of equal elements has a deviation of exactly zero, of whatever size they are."""
    row = np.full((1, len(values)), values[0], np.float32)
    y, mean, _ = call("LayerNormalization", 17, row, np.full(len(values), constant, np.float32))
    assert not y.any()
    assert mean.item() == row[0, 0]


@pytest.mark.parametrize(
    ("operator", "version", "inputs", "attributes", "message"),
    [
        ("InstanceNormalization", 1, [(1, 2, 3), (2,), (2,)], {}, r"takes \(N, C, H, W\)"),
        ("InstanceNormalization", 6, [(2,), (2,), (2,)], {}, r"it must be \(N, C, D1"),
        ("InstanceNormalization", 6, [(1, 2, 3), (1,), (2,)], {}, "scale has shape"),
        ("InstanceNormalization", 22, [(1, 2, 3), (2,), (1, 2)], {}, "B has shape"),
        ("GroupNormalization", 18, [(1, 4, 3), (4,), (2,)], {"num_groups": 2}, "scale has shape"),
        ("GroupNormalization", 21, [(1, 4, 3), (2,), (4,)], {"num_groups": 2}, "scale has shape"),
        ("GroupNormalization", 21, [(1, 4, 3), (4,), (2,)], {"num_groups": 2}, "bias has shape"),
        ("GroupNormalization", 21, [(1, 4, 3), (4,), (4,)], {"num_groups": 3}, "num_groups is 3"),
        ("GroupNormalization", 21, [(1, 4, 3), (4,), (4,)], {"num_groups": 0}, "num_groups is 0"),
        (
            "GroupNormalization", 21, [(1, 2), (2,), (2,)], {"num_groups": 1, "stash_type": 7},
            "stash_type is 7",
        ),
        ("LayerNormalization", 17, [(2, 3), (3,)], {"axis": 2}, "axis is 2"),
        ("LayerNormalization", 17, [(2, 3), (3,)], {"axis": -3}, "axis is -3"),
        ("RMSNormalization", 23, [(2, 3), (3,)], {"axis": 2}, "axis is 2"),
        ("RMSNormalization", 23, [(2, 3), (2,)], {}, "scale has shape"),
        ("RMSNormalization", 23, [(2, 3), (3,)], {"stash_type": 9}, "stash_type is 9"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(operator, version, inputs, attributes, message):
    """Shapes and attributes that the text does not allow."""
    with pytest.raises(ValueError, match=message):
        call(operator, version, *(np.ones(shape) for shape in inputs), **attributes)


def test_special_values_stay_where_they_are():
    """NaN and infinity spoil their own row, and empty tensors give empty ones."""
    x = np.array([[np.nan, 1], [0, 2], [np.inf, 1]], np.float32)
    y, _, _ = call("LayerNormalization", 17, x, np.ones(2, np.float32), epsilon=0.0)
    assert np.isnan(y).tolist() == [[True, True], [False, False], [True, True]]
    empty = np.zeros((0, 2), np.float32)
    y, mean, inverse = call("LayerNormalization", 17, empty, np.ones(2, np.float32))
    assert (y.shape, mean.shape, inverse.shape) == ((0, 2), (0, 1), (0, 1))
    largest = np.array([[np.finfo(float).max, -np.finfo(float).max]])
    y = call("RMSNormalization", 23, largest, np.ones(2), stash_type=11)
    assert y.tolist() == [[1, -1]]
