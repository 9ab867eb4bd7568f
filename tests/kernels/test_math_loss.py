"""The two losses, held against loops over all samples in mpmath."""

import itertools

import ml_dtypes
import mpmath
import numpy as np
import pytest

import kernel_calls

pytestmark = pytest.mark.usefixtures("no_warnings")

NLL, SCE = "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"
VERSIONS = [(NLL, 12), (NLL, 13), (NLL, 22), (SCE, 12), (SCE, 13)]
UNITS = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-52}


def call(operator, version, x, target, weight=None, *, ignore_index=None, reduction="mean", n=1):
    attributes = {"ignore_index": ignore_index, "reduction": reduction}
    attributes |= {"n_outputs": n} if operator == SCE else {}
    return kernel_calls.call(operator, version, x, target, weight, **attributes)


def slow(operator, x, target, weight, ignore_index, reduction):
    """Follow the text sample by sample; also return the logarithms."""
    with mpmath.workdps(40):
        logs = np.zeros(x.shape, object)
        for place in np.ndindex(target.shape):
            at = (place[0], slice(None), *place[1:])
            row = [mpmath.mpf(float(v)) for v in x[at]]
            total = mpmath.log(sum(mpmath.exp(v) for v in row)) if operator == SCE else 0
            logs[at] = [v - total for v in row]
        losses, weights = np.zeros(target.shape, object), mpmath.mpf(0)
        for place in np.ndindex(target.shape):
            c = int(target[place])
            if c == ignore_index:
                losses[place] = mpmath.mpf(0)
                continue
            w = mpmath.mpf(1 if weight is None else float(weight[c]))
            losses[place] = -logs[(place[0], c, *place[1:])] * w
            weights += w
        if reduction == "none":
            return losses, logs
        total = sum(losses.flat, mpmath.mpf(0))
        return np.array(total / weights if reduction == "mean" else total, object), logs


def near(got, wanted, unit):
    for g, w in zip(np.ravel(got), np.ravel(wanted), strict=True):
        assert abs(mpmath.mpf(float(g)) - w) <= 1.001 * unit * abs(w) + 1e-300


@pytest.mark.parametrize(("operator", "version"), VERSIONS)
@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ignore_index", [None, 2, -1, 99])
def test_losses_of_every_rank(operator, version, reduction, weighted, ignore_index):
    """Ignored samples count neither in the sum nor among the weights it is divided by."""
    rng = np.random.default_rng(version)
    for more in ((), (4,), (2, 3)):
        x = rng.standard_normal((5, 3, *more))
        target = rng.integers(0, 3, (5, *more))
        if ignore_index is not None:
            target[0] = ignore_index
        weight = rng.random(3) + 0.5 if weighted else None
        got = call(
            operator, version, x, target, weight, ignore_index=ignore_index, reduction=reduction
        )
        wanted, _ = slow(operator, x, target, weight, ignore_index, reduction)
        assert (got.dtype, got.shape) == (x.dtype, wanted.shape)
        if reduction == "none":
            near(got, wanted, UNITS["float64"])
        else:
            assert float(got) == pytest.approx(float(wanted), rel=1e-14)


@pytest.mark.parametrize(("operator", "version"), [(NLL, 22), (SCE, 13)])
@pytest.mark.parametrize(
    ("name", "index"),
    list(itertools.product(["float16", "bfloat16", "float32"], ["int32", "int64"])),
)
def test_every_type_is_rounded_once(operator, version, name, index):
    """Sums and weights of 16-bit types do not lose digits on the way."""
    rng = np.random.default_rng(1)
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    x, weight = rng.standard_normal((50, 4)).astype(dtype), rng.random(4).astype(dtype)
    target = rng.integers(0, 4, 50).astype(index)
    for reduction in ("none", "sum", "mean"):
        got = call(operator, version, x, target, weight, reduction=reduction)
        assert got.dtype == dtype
        near(got, slow(operator, x, target, weight, None, reduction)[0], UNITS[name])


@pytest.mark.parametrize("version", [12, 13])
def test_the_second_output_holds_the_logarithms(version):
    """It has the shape of the scores; weights and ignored classes do not change it."""
    x = np.random.default_rng(2).standard_normal((2, 3, 4)).astype(np.float32)
    target = np.array([[0, 1, 2, 0], [1, 1, 0, 2]])
    weight = np.array([1, 2, 3], np.float32)
    loss, logs = call(SCE, version, x, target, weight, ignore_index=1, n=2)
    wanted, wanted_logs = slow(SCE, x, target, weight, 1, "mean")
    assert (logs.dtype, logs.shape) == (np.float32, x.shape)
    near(loss, wanted, UNITS["float32"])
    near(logs, wanted_logs, UNITS["float32"])


@pytest.mark.parametrize(("operator", "version"), VERSIONS)
def test_nothing_to_average(operator, version):
    """The sum of nothing is 0, its mean 0 / 0; what is ignored is 0 whatever it holds."""
    x = np.array([[np.nan, 1], [np.inf, 0]], np.float32)
    target = np.array([0, 0])
    arguments = {"ignore_index": 0}
    assert call(operator, version, x, target, reduction="sum", **arguments) == 0
    assert call(operator, version, x, target, reduction="none", **arguments).tolist() == [0, 0]
    assert np.isnan(call(operator, version, x, target, **arguments))
    empty = np.zeros((0, 3), np.float32), np.zeros(0, np.int64)
    assert np.isnan(call(operator, version, *empty))
    assert call(operator, version, *empty, reduction="none").shape == (0,)


@pytest.mark.parametrize(("operator", "version"), VERSIONS)
@pytest.mark.parametrize(
    ("shape", "target", "weights", "arguments", "message"),
    [
        ((2, 3), [0, 3], None, {}, "a class is 3"),
        ((2, 3), [0, -1], None, {}, "a class is -1"),
        ((2, 3), [0, -2], None, {"ignore_index": -1}, "a class is -2"),
        ((2, 3), [0, 1, 2], None, {}, "were wanted"),
        ((2, 3, 2), [0, 1], None, {}, "were wanted"),
        ((3,), [0, 1, 2], None, {}, "wanted"),
        ((2, 3), [0, 1], 2, {}, "weights have shape"),
        ((2, 3), [0, 1], None, {"reduction": "max"}, "'max'"),
        ((2, 0), [0, 1], None, {}, "a class is 0"),
    ],
)
def test_what_does_not_fit_is_refused(
    operator, version, shape, target, weights, arguments, message
):
    weight = None if weights is None else np.ones(weights)
    with pytest.raises(ValueError, match=message):
        call(operator, version, np.zeros(shape), np.array(target), weight, **arguments)
