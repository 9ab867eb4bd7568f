"""The random generators: types, shapes, ranges, seeds, and moments within six sigma."""

import math

import ml_dtypes
import numpy as np
import onnx
import onnx.defs
import pytest

from kernel_calls import call
from opcheck.kernels import generator_random as module

NAN, INF = math.nan, math.inf
SIX = 6
VERSIONS = {
    "Bernoulli": (15, 22),
    "Multinomial": (7, 22),
    "RandomNormal": (1, 22),
    "RandomNormalLike": (1, 22),
    "RandomUniform": (1, 22),
    "RandomUniformLike": (1, 22),
}
ALL = [(name, version) for name, versions in VERSIONS.items() for version in versions]


def types(operator, version):
    """Return (number in DataType, dtype) of all types that the schema allows as output."""
    names = onnx.defs.get_schema(operator, version).outputs[0].types
    names = [name[len("tensor(") : -1] for name in names]
    names = [{"float": "float32", "double": "float64"}.get(name, name) for name in names]
    dtypes = [np.dtype(getattr(ml_dtypes, name, name)) for name in names]
    return [(onnx.helper.np_dtype_to_tensor_dtype(d), d) for d in dtypes]


def sample(operator, version, size=(40, 25), **attributes):
    """Draw about a thousand numbers of any of the operators."""
    if operator in ("RandomNormal", "RandomUniform"):
        return call(operator, version, shape=list(size), **attributes)
    if operator == "Multinomial":
        return call(operator, version, np.zeros((size[0], 7), np.float32), sample_size=size[1],
                    **attributes)  # fmt: skip
    return call(operator, version, np.full(size, 0.5, np.float32), **attributes)


@pytest.mark.parametrize(("operator", "version"), ALL)
def test_types_and_shapes(operator, version):
    """Each type of the schema by name, and the default without."""
    for number, dtype in types(operator, version):
        got = sample(operator, version, dtype=number, seed=1.0)
        assert (got.dtype, got.shape) == (dtype, (40, 25))
    default = np.int32 if operator == "Multinomial" else np.float32
    assert sample(operator, version).dtype == default
    for size in ((0, 3), (3, 0)):
        assert sample(operator, version, size).shape == size


@pytest.mark.parametrize(("operator", "version"), ALL)
def test_seeds(operator, version):
    """The same seed gives the same values, other seeds and none give others."""
    first = sample(operator, version, seed=3.5)
    assert np.array_equal(first, sample(operator, version, seed=3.5))
    others = [sample(operator, version, seed=s) for s in (3.0, -3.5, 0.0, -0.0, 1e-45, INF)]
    fresh = [sample(operator, version) for _ in range(2)]
    draws = [first, *others, *fresh]
    for i, a in enumerate(draws):
        assert not any(np.array_equal(a, b) for b in draws[i + 1 :])


def test_one_seed_gives_one_stream_in_all_types():
    """Every type is rounded from the same float64 values, once."""
    for operator in ("RandomNormal", "RandomUniform"):
        wide = call(operator, 22, shape=[500], dtype=onnx.TensorProto.DOUBLE, seed=2.0)
        for number, dtype in types(operator, 22):
            got = call(operator, 22, shape=[500], dtype=number, seed=2.0)
            step = np.abs(wide) * float(ml_dtypes.finfo(dtype).eps) / 2 + 1e-7
            assert (np.abs(got.astype(float) - wide) <= step * 1.001).all()


@pytest.mark.parametrize("operator", ["RandomNormal", "RandomNormalLike"])
def test_normal_moments(operator):
    """Mean and variance of 40000 numbers; also the shares within one and two sigma."""
    n, mean, scale = 40_000, 3.0, 0.5
    x = sample(operator, 22, (200, 200), mean=mean, scale=scale, seed=7.0).astype(float)
    z = (x - mean) / scale
    assert abs(z.mean()) < SIX / math.sqrt(n)
    assert abs(z.var() - 1) < SIX * math.sqrt(2 / n)
    for limit, share in ((1, 0.682689492), (2, 0.954499736)):
        sigma = math.sqrt(share * (1 - share) / n)
        assert abs((np.abs(z) < limit).mean() - share) < SIX * sigma


@pytest.mark.parametrize("operator", ["RandomUniform", "RandomUniformLike"])
def test_uniform_moments(operator):
    """Mean and variance of 40000 numbers in [-1, 3)."""
    n = 40_000
    x = sample(operator, 22, (200, 200), low=-1.0, high=3.0, seed=7.0).astype(float)
    assert (x >= -1).all()
    assert (x < 3).all()
    u = (x + 1) / 4
    assert abs(u.mean() - 0.5) < SIX * math.sqrt(1 / 12 / n)
    assert abs(u.var() - 1 / 12) < SIX * math.sqrt(1 / 180 / n)


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (-1.0, 0.0), (-3.0, 5.0), (0.1, 0.3), (1e-3, 1.1e-3)]
)
def test_uniform_numbers_stay_inside_in_every_type(low, high):
    """Neither the upper limit nor anything below the lower one comes out after rounding."""
    low, high = (float(np.float32(v)) for v in (low, high))
    for number, _ in types("RandomUniform", 22):
        x = call("RandomUniform", 22, shape=[20_000], low=low, high=high, dtype=number, seed=1.0)
        assert low <= x.astype(float).min()
        assert x.astype(float).max() < high


def test_the_values_at_the_limits_exist():
    """The least and the greatest value of a type in the interval, of negative ones and of zero."""
    half, brain = np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)
    assert [float(v) for v in module._inside(0, 1, half)] == [0, 1 - 2**-11]
    assert [float(v) for v in module._inside(-1, 0, half)] == [-1, -(2**-24)]
    assert [float(v) for v in module._inside(1, 2, brain)] == [1, 2 - 2**-7]
    assert [float(v) for v in module._inside(1.001, 1.002, brain)] == [1, 1]
    assert [float(v) for v in module._inside(1, 1, brain)] == [1, 1]


def test_equal_bounds_and_a_scale_of_zero_are_constants():
    assert set(call("RandomUniform", 22, shape=[9], low=2.0, high=2.0).tolist()) == {2}
    assert set(call("RandomNormal", 22, shape=[9], mean=2.0, scale=0.0).tolist()) == {2}


@pytest.mark.parametrize("version", VERSIONS["Bernoulli"])
def test_bernoulli(version):
    """Ones come with their probability, always for 1, and never for 0."""
    n = 10_000
    p = np.repeat(np.array([[0, 0.25, 0.5, 0.9, 1]], np.float64), n, axis=0)
    x = call("Bernoulli", version, p, seed=5.0)
    assert x.dtype == np.float64
    assert set(x.ravel().tolist()) == {0, 1}
    for share, column in zip(p[0], x.T, strict=True):
        assert abs(column.mean() - share) <= SIX * math.sqrt(share * (1 - share) / n)
    for wrong in (-0.1, 1.1, NAN, INF):
        with pytest.raises(ValueError, match="outside"):
            call("Bernoulli", version, np.array([0.5, wrong]))


@pytest.mark.parametrize("version", VERSIONS["Multinomial"])
def test_multinomial(version):
    """Shares are those of exp(x), whatever is added to a row; -infinity never comes."""
    n, weights = 20_000, np.array([1.0, 2.0, 0.0, 5.0])
    with np.errstate(divide="ignore"):
        logits = np.log(weights) + np.array([[0.0], [700.0], [-700.0]])
    x = call("Multinomial", version, logits, sample_size=n, seed=5.0, dtype=7)
    assert (x.dtype, x.shape) == (np.int64, (3, n))
    for row in x:
        for i, share in enumerate(weights / weights.sum()):
            assert abs((row == i).mean() - share) <= SIX * math.sqrt(share * (1 - share) / n)
    assert not np.array_equal(x[0], x[1])


def test_multinomial_limits():
    got = call("Multinomial", 22, np.zeros((0, 3), np.float32), sample_size=2)
    assert got.shape == (0, 2)
    assert call("Multinomial", 22, np.zeros((2, 3), np.float32), sample_size=0).shape == (2, 0)
    one = call("Multinomial", 22, np.array([[-INF, 0, -INF]], np.float32), sample_size=50)
    assert set(one.ravel().tolist()) == {1}
    for row in ([NAN, 0], [INF, 0], [-INF, -INF], []):
        with pytest.raises(ValueError, match="a row holds"):
            call("Multinomial", 22, np.array([row], np.float32))
    for shape in ((3,), (1, 1, 3), ()):
        with pytest.raises(ValueError, match="batch_size, class_size"):
            call("Multinomial", 22, np.zeros(shape, np.float32))
    with pytest.raises(ValueError, match="sample_size is -1"):
        call("Multinomial", 22, np.zeros((1, 2), np.float32), sample_size=-1)


@pytest.mark.parametrize(
    ("operator", "attributes", "match"),
    [
        ("RandomNormal", {"scale": -1.0}, "scale is -1.0"),
        ("RandomNormal", {"scale": NAN}, "scale is nan"),
        ("RandomUniform", {"low": 1.0, "high": 0.0}, "low is 1.0"),
        ("RandomUniform", {"high": INF}, "high is inf"),
        ("RandomUniform", {"low": NAN}, "low is nan"),
        ("RandomUniform", {"shape": [2, -1]}, "sizes >= 0"),
        ("RandomNormal", {"dtype": onnx.TensorProto.INT32}, "dtype is int32"),
        ("RandomUniform", {"dtype": onnx.TensorProto.FLOAT8E5M2}, "dtype is float8e5m2"),
    ],
)
def test_what_is_refused(operator, attributes, match):
    with pytest.raises(ValueError, match=match):
        call(operator, 22, **({"shape": [2]} | attributes))


def test_types_of_inputs_that_are_no_output_types():
    """Without dtype the type is the input's, which then has to be allowed."""
    for operator in ("RandomNormalLike", "RandomUniformLike"):
        for x in (np.zeros(2, np.int32), np.array(["a"], object), np.zeros(2, bool)):
            with pytest.raises(ValueError, match="dtype is"):
                call(operator, 22, x)
            assert call(operator, 22, x, dtype=1).dtype == np.float32
    with pytest.raises(ValueError, match="dtype is bfloat16"):
        call("RandomNormal", 1, shape=[2], dtype=onnx.TensorProto.BFLOAT16)
    with pytest.raises(ValueError, match="dtype is string"):
        call("Bernoulli", 22, np.array([0.5]), dtype=onnx.TensorProto.STRING)
    with pytest.raises(ValueError, match="dtype is float"):
        call("Multinomial", 22, np.zeros((1, 2)), dtype=1)
