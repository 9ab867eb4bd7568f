"""Adagrad, Adam and Momentum, held against their pseudo-code with 40 digits."""

import mpmath
import numpy as np
import pytest

import kernel_calls

DOMAIN = "ai.onnx.preview.training"
DTYPES = ("float32", "float64")


def call(operator, rate, count, *tensors, **attributes):
    inputs = (np.asarray(rate), np.asarray(count, np.int64), *tensors)
    return kernel_calls.call(operator, 1, *inputs, domain=DOMAIN, **attributes)


def single(value):
    """Return the float32 next to a number, as an attribute holds it."""
    return float(np.float32(value))


def adagrad(r, t, x, g, h, *, norm_coefficient, decay_factor, epsilon):
    r = r / (1 + t * decay_factor)
    g = norm_coefficient * x + g
    h = h + g * g
    return x - r * g / (mpmath.sqrt(h) + epsilon), h


def adam(r, t, x, g, v, h, *, alpha, beta, epsilon, norm_coefficient, norm_coefficient_post):
    g = norm_coefficient * x + g
    v = alpha * v + (1 - alpha) * g
    h = beta * h + (1 - beta) * g * g
    if t > 0:
        r = r * mpmath.sqrt(1 - beta**t) / (1 - alpha**t)
    x = x - r * v / (mpmath.sqrt(h) + epsilon)
    return (1 - norm_coefficient_post) * x, v, h


def momentum(r, t, x, g, v, *, alpha, beta, norm_coefficient, mode):
    g = norm_coefficient * x + g
    v = alpha * v + (beta if t > 0 else 1) * g
    return x - r * (g + alpha * v if mode == "nesterov" else v), v


CASES = [
    ("Adagrad", adagrad, 3, {"norm_coefficient": 0.1, "decay_factor": 0.3, "epsilon": 1e-3}),
    ("Adagrad", adagrad, 3, {"norm_coefficient": 0, "decay_factor": 0, "epsilon": 1e-6}),
    ("Adam", adam, 4, {"alpha": 0.9, "beta": 0.999, "epsilon": 1e-6, "norm_coefficient": 0,
                       "norm_coefficient_post": 0}),
    ("Adam", adam, 4, {"alpha": 0.3, "beta": 0.7, "epsilon": 0.01, "norm_coefficient": 0.2,
                       "norm_coefficient_post": 0.1}),
    ("Momentum", momentum, 3, {"alpha": 0.9, "beta": 0.3, "norm_coefficient": 0.1,
                               "mode": "standard"}),
    ("Momentum", momentum, 3, {"alpha": 0.9, "beta": 0.3, "norm_coefficient": 0.1,
                               "mode": "nesterov"}),
]  # fmt: skip


@pytest.mark.parametrize("count", [0, 1, 7, 1000])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("operator", "reference", "kinds", "attributes"), CASES)
def test_the_pseudo_code_with_many_digits(operator, reference, kinds, attributes, dtype, count):
    """Tensors of several shapes; results within one unit in the last place, and of their type."""
    rng = np.random.default_rng(12)
    attributes = {k: v if isinstance(v, str) else single(v) for k, v in attributes.items()}
    shapes = [(2, 3), (), (4,)]
    groups = [[np.array(rng.random(s), dtype) for s in shapes] for _ in range(kinds)]
    rate = np.array(0.1, "float32")
    got = call(operator, rate, count, *(t for group in groups for t in group), **attributes)
    assert len(got) == (kinds - 1) * len(shapes)
    for i, shape in enumerate(shapes):
        results = got[i :: len(shapes)]
        assert [(r.shape, r.dtype) for r in results] == [(shape, np.dtype(dtype))] * (kinds - 1)
        columns = zip(*(np.ravel(g[i]).tolist() for g in groups), strict=True)
        for n, values in enumerate(columns):
            with mpmath.workdps(40):
                exact = {
                    k: v if isinstance(v, str) else mpmath.mpf(v) for k, v in attributes.items()
                }
                wanted = reference(
                    mpmath.mpf(float(rate)), count, *map(mpmath.mpf, values), **exact
                )
            for result, value in zip(results, wanted, strict=True):
                near = np.array(float(value), dtype)
                assert abs(np.ravel(result)[n] - near) <= np.spacing(np.abs(near))


def test_defaults_come_from_the_schema():
    one = np.ones(1)
    x, h = call("Adagrad", 1.0, 5, one, one * 0, one * 0)
    assert (x.tolist(), h.tolist()) == ([1], [0])
    x, v, h = call("Adam", 1.0, 0, one, one, one * 0, one * 0)
    assert v.tolist() == [1 - single(0.9)]
    assert h.tolist() == [1 - single(0.999)]


def test_gradients_are_broadcast_but_shapes_stay():
    """The pseudo-code broadcasts as NumPy does; a result of another shape is none."""
    x, h = np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32)
    got = call("Adagrad", 1.0, 0, x, np.ones(3, np.float32), h, epsilon=0.0)
    assert got[0].tolist() == [[-1] * 3] * 2
    with pytest.raises(ValueError, match="change its shape"):
        call("Adagrad", 1.0, 0, x, np.ones((2, 2, 3), np.float32), h)
    with pytest.raises(ValueError, match="change its shape"):
        call("Adagrad", 1.0, 0, x, x, np.zeros(3, np.float32))


@pytest.mark.parametrize(("operator", "kinds"), [("Adagrad", 3), ("Adam", 4), ("Momentum", 3)])
def test_what_is_refused(operator, kinds):
    needed = {} if operator != "Momentum" else {
        "alpha": 0.5, "beta": 0.5, "norm_coefficient": 0.0, "mode": "standard",
    }  # fmt: skip
    x = np.ones(2, np.float32)
    for number in (0, kinds - 1, kinds + 1):
        with pytest.raises(ValueError, match="multiple of"):
            call(operator, 1.0, 0, *[x] * number, **needed)
    with pytest.raises(ValueError, match="R has shape"):
        call(operator, [1.0, 2.0], 0, *[x] * kinds, **needed)
    with pytest.raises(ValueError, match="T has shape"):
        call(operator, 1.0, [1, 2], *[x] * kinds, **needed)
    with pytest.raises(ValueError, match="one type"):
        call(operator, 1.0, 0, x, *[x.astype(np.float64)] * (kinds - 1), **needed)
    if operator == "Momentum":
        with pytest.raises(ValueError, match="mode is 'Nesterov'"):
            call(operator, 1.0, 0, *[x] * kinds, **(needed | {"mode": "Nesterov"}))
