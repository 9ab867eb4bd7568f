"""BatchNormalization, held against the equations of the text, channel by channel."""

import itertools

import ml_dtypes
import mpmath
import numpy as np
import onnx.defs
import pytest

from kernel_calls import dtype_of
from opcheck.kernels import registry
from opcheck.kernels.rounding import narrow

pytestmark = pytest.mark.usefixtures("no_warnings")

VERSIONS = (1, 6, 7, 9, 14, 15)
FLOATS = ("float16", "bfloat16", "float32", "float64")


def call(version, inputs, *, training, n_outputs=None, **attributes):
    """Call a version in one of its modes; no input may change."""
    schema = onnx.defs.get_schema("BatchNormalization", version, "")
    filled = {"consumed_inputs": [0, 0, 0, 1, 1], "is_test": 0 if training else 1, "spatial": 1,
              "training_mode": int(training), "epsilon": 1e-5, "momentum": 0.9}  # fmt: skip
    filled = {k: v for k, v in (filled | attributes).items() if k in schema.attributes}
    if n_outputs is None:
        n_outputs = (3 if version >= 14 else 5) if training else 1
    before = [x.tobytes() for x in inputs]
    results = registry.find(schema).function(*inputs, **filled, n_outputs=n_outputs)
    assert [x.tobytes() for x in inputs] == before
    return results


def inputs_of(name, shape, seed, channels=None):
    rng = np.random.default_rng(seed)
    size = channels or (shape[1],)
    dtype = dtype_of(name)
    x, scale, b, mean = (
        (rng.standard_normal(s) * 2 + 1).astype(dtype) for s in (shape, size, size, size)
    )
    return [x, scale, b, mean, (rng.random(size) + 0.5).astype(dtype)]


def number(x):
    return mpmath.mpf(float(x))


def slow(inputs, groups, *, training, epsilon, momentum):
    """Return Y and four lists of statistics; ``groups`` yields (index of x, index of the rest)."""
    x, scale, b, mean, var = inputs
    y = np.empty(x.shape, dtype=object)
    running = [np.empty(mean.shape, dtype=object) for _ in range(4)]
    with mpmath.workdps(40):
        for places, c in groups:
            m, v = number(mean[c]), number(var[c])
            if training:
                values = [number(x[p]) for p in places]
                m = sum(values) / len(values)
                v = sum((u - m) ** 2 for u in values) / len(values)
                running[0][c] = number(mean[c]) * momentum + m * (1 - mpmath.mpf(momentum))
                running[1][c] = number(var[c]) * momentum + v * (1 - mpmath.mpf(momentum))
                running[2][c], running[3][c] = m, v
            for p in places:
                y[p] = (number(x[p]) - m) / mpmath.sqrt(v + epsilon) * number(scale[c])
                y[p] += number(b[c])
    return [y, *running]


def by_channel(shape):
    places = list(itertools.product(*map(range, shape)))
    return [([p for p in places if p[1] == c], (c,)) for c in range(shape[1])]


def by_feature(shape):
    features = itertools.product(*map(range, shape[1:]))
    return [([(n, *f) for n in range(shape[0])], f) for f in features]


def close(got, wanted, dtype):
    assert got.dtype == dtype
    exact = np.array([float(v) for v in wanted.reshape(-1)]).reshape(wanted.shape)
    if dtype == np.float64:
        np.testing.assert_allclose(got, exact, rtol=3e-16, atol=1e-18)
    else:
        assert np.array_equal(got.astype(float), narrow(exact, dtype).astype(float))


def types_of(version):
    return FLOATS if version >= 14 else ("float16", "float32", "float64")


CASES = [(v, name) for v in VERSIONS for name in types_of(v)]


def test_every_version_is_registered():
    """Each version of the schema has a kernel."""
    assert {("", "BatchNormalization", v) for v in VERSIONS} <= registry.registered()


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize(("version", "name"), CASES)
def test_outputs_are_rounded_once(version, name, training):
    """Y and all statistics in both modes, to half a unit in the last place."""
    shape = (2, 3, 2, 2)
    inputs = inputs_of(name, shape, version)
    wanted = slow(inputs, by_channel(shape), training=training, epsilon=0.25, momentum=0.75)
    got = call(version, inputs, training=training, epsilon=0.25, momentum=0.75)
    assert len(got) == ((3 if version >= 14 else 5) if training else 1)
    for mine, exact in zip(got, wanted, strict=False):
        close(mine, exact, dtype_of(name))


@pytest.mark.parametrize("training", [False, True])
def test_version_7_without_spatial_has_a_value_for_each_feature(training):
    """Parameters and statistics are of shape (C, D1, ...), over the batch alone."""
    shape = (3, 2, 2)
    inputs = inputs_of("float32", shape, 3, shape[1:])
    wanted = slow(inputs, by_feature(shape), training=training, epsilon=0.25, momentum=0.75)
    got = call(7, inputs, training=training, epsilon=0.25, momentum=0.75, spatial=0)
    for mine, exact in zip(got, wanted, strict=False):
        close(mine, exact, np.dtype(np.float32))


@pytest.mark.parametrize("version", [9, 14, 15])
@pytest.mark.parametrize("training", [False, True])
def test_one_dimension_is_one_channel(version, training):
    """From version 9 on a tensor of shape (N) has C = 1."""
    inputs = inputs_of("float32", (4, 1), 5)
    whole = call(version, inputs, training=training)
    flat = call(version, [inputs[0][:, 0], *inputs[1:]], training=training)
    assert flat[0].shape == (4,)
    assert np.array_equal(flat[0], whole[0][:, 0])
    for one, other in zip(flat[1:], whole[1:], strict=True):
        assert np.array_equal(one, other)


def test_types_may_differ_from_version_14_on():
    """Y has the type of X, and the running values that of the given mean and variance."""
    inputs = inputs_of("float32", (3, 2), 6)
    inputs[0] = inputs[0].astype(np.float16)
    inputs[3:] = [i.astype(ml_dtypes.bfloat16) for i in inputs[3:]]
    y, mean, var = call(15, inputs, training=True)
    assert (y.dtype, mean.dtype, var.dtype) == (np.float16, *[ml_dtypes.bfloat16] * 2)


def test_what_decides_on_the_mode():
    """is_test in 1 and 6, the number of outputs in 7 and 9, training_mode later on."""
    inputs = inputs_of("float32", (3, 2, 1, 1), 7)
    tested = {v: call(v, inputs, training=False)[0].tolist() for v in VERSIONS}
    trained = {v: call(v, inputs, training=True)[0].tolist() for v in VERSIONS}
    assert all(t == tested[15] for t in tested.values())
    assert all(t == trained[15] for t in trained.values())
    assert tested[15] != trained[15]
    assert call(6, inputs, training=True, n_outputs=1)[0].tolist() == trained[15]
    assert call(14, inputs, training=True, n_outputs=1)[0].tolist() == trained[15]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_batch_is_no_error(version):
    """N = 0 gives an empty Y."""
    inputs = inputs_of("float32", (0, 2, 1, 3), 8)
    assert call(version, inputs, training=False)[0].shape == (0, 2, 1, 3)


@pytest.mark.parametrize(
    ("version", "shapes", "arguments", "message"),
    [
        (1, [(1, 2, 3)] + [(2,)] * 4, {}, r"version 1 takes \(N, C, H, W\)"),
        (6, [(3,)] + [(1,)] * 4, {}, r"it must be \(N, C, D1"),
        (7, [(3,)] + [(1,)] * 4, {}, r"it must be \(N, C, D1"),
        (9, [()] + [(1,)] * 4, {}, r"it must be \(N, C, D1"),
        (6, [(1, 2), (1,), (2,), (2,), (2,)], {}, "scale has shape"),
        (9, [(1, 2), (2,), (1,), (2,), (2,)], {}, "B has shape"),
        (14, [(1, 2), (2,), (2,), (3,), (2,)], {}, "mean has shape"),
        (15, [(1, 2), (2,), (2,), (2,), (1, 2)], {}, "var has shape"),
        (7, [(1, 2, 3)] + [(2,)] * 4, {"spatial": 0}, "scale has shape"),
        (6, [(1, 2)] + [(2,)] * 4, {"n_outputs": 3}, "in test mode there is only Y"),
        (14, [(1, 2)] + [(2,)] * 4, {"n_outputs": 3}, "without training_mode there is only Y"),
        (6, [(1, 2, 3)] + [(2,)] * 4, {"spatial": 0, "training": True}, "spatial is 0"),
    ],
)
def test_what_does_not_fit_is_refused(version, shapes, arguments, message):
    """Shapes and outputs that the text does not allow."""
    arguments = {"training": False} | arguments
    with pytest.raises(ValueError, match=message):
        call(version, [np.ones(s, np.float32) for s in shapes], **arguments)
