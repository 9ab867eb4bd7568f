"""RNN, GRU and LSTM, held against the equations of the text, one number at a time."""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import onnx.defs
import pytest

from kernel_calls import call
from opcheck.kernels import registry
from opcheck.kernels.rounding import narrow

OPERATORS = {"RNN": (1, 7, 14, 22), "GRU": (1, 3, 7, 14, 22), "LSTM": (1, 7, 14, 22)}
VERSIONS = [(op, v) for op, versions in OPERATORS.items() for v in versions]
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}
STATES = {"RNN": 1, "GRU": 1, "LSTM": 2}


# The slow transcription.


def dot(row, vector):
    return sum((a * b for a, b in zip(row, vector, strict=True)), 0)


def gates(w, r, wb, rb, x, h, hidden):
    """Return for each gate Xt*(W^T) + Ht-1*(R^T) + Wb + Rb."""
    total = [dot(w[i], x) + dot(r[i], h) + wb[i] + rb[i] for i in range(len(w))]
    return [total[i : i + hidden] for i in range(0, len(w), hidden)]


def rnn_step(p, x, states):
    (h,) = states
    (total,) = gates(p["w"], p["r"], p["wb"], p["rb"], x, h, len(h))
    return [[p["f"][0](v) for v in total]]


def gru_step(p, x, states):
    (h,) = states
    n = len(h)
    f, g = p["f"]
    z, r, _ = gates(p["w"], p["r"], p["wb"], p["rb"], x, h, n)
    z, r = [f(v) for v in z], [f(v) for v in r]
    reset = [a * b for a, b in zip(r, h, strict=True)]
    new = []
    for i in range(n):
        k = 2 * n + i
        if p["linear_before_reset"]:
            v = dot(p["w"][k], x) + r[i] * (dot(p["r"][k], h) + p["rb"][k]) + p["wb"][k]
        else:
            v = dot(p["w"][k], x) + dot(p["r"][k], reset) + p["rb"][k] + p["wb"][k]
        new.append((1 - z[i]) * g(v) + z[i] * h[i])
    return [new]


def lstm_step(p, x, states):
    h, c = states
    n = len(h)
    f, g, last = p["f"]
    i, o, forget, cell = gates(p["w"], p["r"], p["wb"], p["rb"], x, h, n)
    pi, po, pf = p["p"][:n], p["p"][n : 2 * n], p["p"][2 * n :]
    new_c, new_h = [], []
    for k in range(n):
        it = f(i[k] + pi[k] * c[k])
        ft = 1 - it if p["input_forget"] else f(forget[k] + pf[k] * c[k])
        ct = ft * c[k] + it * g(cell[k])
        ot = f(o[k] + po[k] * ct)
        new_c.append(ct)
        new_h.append(ot * last(ct))
    return [new_h, new_c]


STEPS = {"RNN": rnn_step, "GRU": gru_step, "LSTM": lstm_step}


def slow(operator, parameters, x, lengths, initial, backwards):
    """Run directions over x[t][b]; return y[t][d][b][hidden] and finals[state][d][b][hidden]."""
    length, batch = len(x), len(lengths)
    hidden = len(initial[0][0][0])
    y = [[[[0] * hidden for _ in range(batch)] for _ in backwards] for _ in range(length)]
    finals = [[[None] * batch for _ in backwards] for _ in initial]
    for d, back in enumerate(backwards):
        for b in range(batch):
            states = [s[d][b] for s in initial]
            times = range(lengths[b])
            for t in reversed(times) if back else times:
                states = STEPS[operator](parameters[d], x[t][b], states)
                y[t][d][b] = states[0]
            for k, state in enumerate(states):
                finals[k][d][b] = state
    return y, finals


# The kernels.


def random_case(operator, rng, directions, *, dtype="float32", batch=3, length=4, hidden=2, size=3):
    """Return small numbers with few bits, of which sums and products are exact."""

    def numbers(*shape):
        return (rng.integers(-4, 5, shape) / 4).astype(dtype)

    n = GATES[operator]
    inputs = {
        "x": numbers(length, batch, size),
        "w": numbers(directions, n * hidden, size),
        "r": numbers(directions, n * hidden, hidden),
        "b": numbers(directions, 2 * n * hidden),
        "lengths": rng.integers(0, length + 1, batch).astype(np.int32),
        "h": numbers(directions, batch, hidden),
    }
    if operator == "LSTM":
        inputs["c"] = numbers(directions, batch, hidden)
        inputs["p"] = numbers(directions, 3 * hidden)
    return inputs


def numbers_of(array, number):
    if array.ndim == 0:
        return number(float(array))
    return [numbers_of(a, number) for a in array]


def parameters_of(operator, inputs, functions, number, **options):
    """Return what the slow transcription wants of each direction."""
    result = []
    n = FUNCTIONS[operator]
    for d in range(len(inputs["w"])):
        half = inputs["b"].shape[1] // 2
        b = numbers_of(inputs["b"][d], number)
        p = {
            "w": numbers_of(inputs["w"][d], number),
            "r": numbers_of(inputs["r"][d], number),
            "wb": b[:half],
            "rb": b[half:],
            "f": functions[d * n : (d + 1) * n],
            "linear_before_reset": 0,
            "input_forget": 0,
        }
        if operator == "LSTM":
            p["p"] = numbers_of(inputs["p"][d], number)
        result.append(p | options)
    return result


def slow_of(operator, inputs, functions, backwards, number, **options):
    initial = [numbers_of(inputs[k], number) for k in ("h", "c") if k in inputs]
    return slow(
        operator,
        parameters_of(operator, inputs, functions, number, **options),
        numbers_of(inputs["x"], number),
        inputs["lengths"].tolist(),
        initial,
        backwards,
    )


def hard_sigmoid(x):
    """HardSigmoid with alpha 0.25 and beta 0.5, which is exact."""
    return min(max(x / 4 + Fraction(1, 2), 0), 1)


def relu(x):
    return max(x, 0)


EXACT = {
    "RNN": (["Relu"], [relu]),
    "GRU": (["HardSigmoid", "Relu"], [hard_sigmoid, relu]),
    "LSTM": (["HardSigmoid", "Relu", "Affine"], [hard_sigmoid, relu, lambda x: x / 2 - 1]),
}
#: Values of alpha and beta for one direction.
ALPHA = {"RNN": [], "GRU": [0.25], "LSTM": [0.25, 0.5]}
BETA = {"RNN": [], "GRU": [0.5], "LSTM": [0.5, -1.0]}

DIRECTIONS = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}


def test_every_version_is_registered():
    """The three operators have a kernel in each version of their schemas."""
    assert {("", *key) for key in VERSIONS} <= registry.registered()


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("operator", "version"), VERSIONS)
def test_exact_functions_give_exact_results(operator, version, direction):
    """All inputs, each length from none to all, both orders, in fractions."""
    backwards = DIRECTIONS[direction]
    names, functions = EXACT[operator]
    k = len(backwards)
    has = onnx.defs.get_schema(operator, version, "").attributes
    for seed, option in itertools.product(range(4), (0, 1)):
        options = {name: option for name in ("linear_before_reset", "input_forget") if name in has}
        inputs = random_case(operator, np.random.default_rng(seed), k, dtype="float64")
        y, finals = slow_of(operator, inputs, functions * k, backwards, Fraction, **options)
        got = call(
            operator,
            version,
            *(inputs.get(n) for n in ("x", "w", "r", "b", "lengths", "h")),
            *((inputs["c"], inputs["p"]) if operator == "LSTM" else ()),
            activations=names * k,
            activation_alpha=ALPHA[operator] * k,
            activation_beta=BETA[operator] * k,
            direction=direction,
            hidden_size=2,
            **options,
        )
        for mine, exact in zip(got, (y, *finals), strict=True):
            np.testing.assert_allclose(mine, np.array(exact, float), rtol=1e-15, atol=0)


@pytest.mark.parametrize(("operator", "version"), [k for k in VERSIONS if k[1] >= 14])
def test_layout_1_moves_the_batch_to_the_front(operator, version):
    """X, the initial states and all outputs have the batch first; nothing else changes."""
    inputs = random_case(operator, np.random.default_rng(5), 2)
    names = ["Tanh"] * 2 * FUNCTIONS[operator]
    rest = [inputs[n] for n in ("c",) if n in inputs]
    peephole = [inputs[n] for n in ("p",) if n in inputs]
    fixed = [inputs[n] for n in ("w", "r", "b", "lengths")]
    common = {"activations": names, "direction": "bidirectional"}
    plain = call(operator, version, inputs["x"], *fixed, inputs["h"], *rest, *peephole, **common)
    swapped = [s.swapaxes(0, 1) for s in (inputs["h"], *rest)]
    batch_first = call(
        operator, version, inputs["x"].swapaxes(0, 1), *fixed, *swapped, *peephole, layout=1,
        **common,
    )  # fmt: skip
    assert batch_first[0].shape == (3, 4, 2, 2)
    assert np.array_equal(batch_first[0], plain[0].transpose(2, 0, 1, 3))
    for one, other in zip(batch_first[1:], plain[1:], strict=True):
        assert np.array_equal(one, other.swapaxes(0, 1))


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_default_functions_are_rounded_once(operator, dtype):
    """Outputs are the nearest numbers of the type; states carried in it would be off."""
    defaults = {
        "RNN": [mpmath.tanh],
        "GRU": [sigmoid, mpmath.tanh],
        "LSTM": [sigmoid, mpmath.tanh, mpmath.tanh],
    }[operator]
    exact = random_case(operator, np.random.default_rng(1), 1, dtype="float64")
    with mpmath.workdps(40):
        y, finals = slow_of(operator, exact, defaults, [False], mpmath.mpf)
    element = onnx.helper.tensor_dtype_to_np_dtype(
        onnx.TensorProto.DataType.Value(
            {"float32": "FLOAT", "float64": "DOUBLE"}.get(dtype, dtype.upper())
        )
    )
    inputs = {k: v if k == "lengths" else v.astype(element) for k, v in exact.items()}
    got = call(operator, 22, *(inputs.get(n) for n in ("x", "w", "r", "b", "lengths", "h")),
               *((inputs["c"], inputs["p"]) if operator == "LSTM" else ()))  # fmt: skip
    for mine, want in zip(got, (y, *finals), strict=True):
        assert mine.dtype == element
        wanted = narrow(np.array(want, dtype=float), np.dtype(element))
        if dtype == "float64":
            np.testing.assert_allclose(mine, wanted, rtol=2.3e-16, atol=0)
        else:
            assert np.array_equal(mine, wanted)


def test_omitted_inputs_are_zero():
    """Bias, initial states and peepholes count as zero, and all sequences as full."""
    for operator in OPERATORS:
        inputs = random_case(operator, np.random.default_rng(3), 1)
        given = [inputs["x"], inputs["w"], inputs["r"]]
        zeros = [np.zeros_like(inputs["b"]), np.full(3, 4, np.int32), np.zeros_like(inputs["h"])]
        if operator == "LSTM":
            zeros += [np.zeros_like(inputs["c"]), np.zeros_like(inputs["p"])]
        short, full = call(operator, 22, *given), call(operator, 22, *given, *zeros)
        assert all(np.array_equal(a, b) for a, b in zip(short, full, strict=True))


# The activation functions, one step without a state.

X = [-3.0, -1.0, -0.0, 0.25, 1.0, 2.0]


def apply(name, alpha=None, beta=None, clip=None):
    """Return f(X) for a function by name."""
    x = np.array(X).reshape(1, len(X), 1)
    w, r = np.ones((1, 1, 1)), np.zeros((1, 1, 1))
    _, y_h = call(
        "RNN", 22, x, w, r, activations=[name], activation_alpha=alpha, activation_beta=beta,
        clip=clip,
    )  # fmt: skip
    return y_h.reshape(-1)


@pytest.mark.parametrize(
    ("name", "alpha", "beta", "function"),
    [
        ("Relu", None, None, lambda x: max(x, 0)),
        ("Tanh", None, None, mpmath.tanh),
        ("Sigmoid", None, None, sigmoid),
        ("Affine", [2.0], [0.5], lambda x: 2 * x + 0.5),
        ("LeakyRelu", [0.5], None, lambda x: x if x >= 0 else x / 2),
        ("LeakyRelu", None, None, lambda x: x if x >= 0 else x * float(np.float32(0.01))),
        ("ThresholdedRelu", [0.25], None, lambda x: x if x >= 0.25 else 0),
        ("ThresholdedRelu", None, None, lambda x: x if x >= 1 else 0),
        ("ScaledTanh", [2.0], [0.5], lambda x: 2 * mpmath.tanh(x / 2)),
        ("HardSigmoid", [0.5], [0.25], lambda x: min(max(x / 2 + 0.25, 0), 1)),
        ("HardSigmoid", None, None, lambda x: min(max(float(np.float32(0.2)) * x + 0.5, 0), 1)),
        ("Elu", [2.0], None, lambda x: x if x >= 0 else 2 * mpmath.expm1(x)),
        ("Elu", None, None, lambda x: x if x >= 0 else mpmath.expm1(x)),
        ("Softsign", None, None, lambda x: x / (1 + abs(x))),
        ("Softplus", None, None, lambda x: mpmath.log1p(mpmath.exp(x))),
    ],
)
def test_each_function_follows_its_formula(name, alpha, beta, function):
    """The eleven functions, with given values and with the defaults of their operators."""
    wanted = [float(function(x)) for x in X]
    np.testing.assert_allclose(apply(name, alpha, beta), wanted, rtol=3e-16, atol=0)


def test_clip_bounds_what_a_function_is_given():
    """The clip works on the input of a function, not on its result."""
    assert apply("Affine", [4.0], [1.0], clip=1.5).tolist() == [-5, -3, 1, 2, 5, 7]


def test_clip_bounds_the_cell_before_the_last_function_only():
    """In LSTM the state itself is not clipped."""
    one = np.ones((1, 1, 1))
    w = np.array([1.0, 1, 1, 4]).reshape(1, 4, 1)
    y, _, c = call(
        "LSTM", 22, one, w, np.zeros((1, 4, 1)), None, None, None, 5 * one,
        activations=["Affine"] * 3, activation_alpha=[1.0] * 3, activation_beta=[0.0] * 3, clip=2.0,
    )  # fmt: skip
    # i = o = f = 1, g = min(4, 2) = 2; C = 5 + 2 = 7; H = min(7, 2).
    assert (c.item(), y.item()) == (7, 2)


def test_values_are_consumed_by_the_functions_that_take_them():
    """Tanh takes no alpha, so that the first value is for the second function."""
    x, w, r = np.full((1, 1, 1), -1.0), np.ones((2, 1, 1)), np.zeros((2, 1, 1))
    _, h = call(
        "RNN", 22, x, w, r, activations=["Relu", "LeakyRelu"], activation_alpha=[0.5],
        direction="bidirectional",
    )  # fmt: skip
    assert h.reshape(-1).tolist() == [0, -0.5]


def test_the_misspelt_default_direction_is_forward():
    """GRU-1 has "foward" as its default."""
    assert onnx.defs.get_schema("GRU", 1, "").attributes["direction"].default_value.s == b"foward"
    inputs = random_case("GRU", np.random.default_rng(0), 1)
    given = [inputs[k] for k in ("x", "w", "r")]
    one, other = call("GRU", 1, *given), call("GRU", 1, *given, direction="forward")
    assert np.array_equal(one[0], other[0])
    with pytest.raises(ValueError, match="direction is 'foward'"):
        call("GRU", 3, *given, direction="foward")


def test_the_first_function_of_the_default_serves_one_direction():
    """The schema of RNN has two functions as its default, for whatever direction."""
    inputs = random_case("RNN", np.random.default_rng(0), 1)
    given = [inputs[k] for k in ("x", "w", "r")]
    one = call("RNN", 22, *given, direction="reverse")
    other = call("RNN", 22, *given, direction="reverse", activations=["Tanh"])
    assert np.array_equal(one[0], other[0])


@pytest.mark.parametrize("operator", OPERATORS)
def test_no_steps_and_no_sequences(operator):
    """Without any step the final states are the initial ones."""
    inputs = random_case(operator, np.random.default_rng(2), 1, length=0)
    initial = [inputs[k] for k in ("h", "c") if k in inputs]
    y, *finals = call(operator, 22, inputs["x"], inputs["w"], inputs["r"], None, None, *initial)
    assert y.shape == (0, 1, 3, 2)
    assert all(np.array_equal(a, b) for a, b in zip(finals, initial, strict=True))
    inputs = random_case(operator, np.random.default_rng(2), 1, batch=0)
    y, *finals = call(operator, 22, inputs["x"], inputs["w"], inputs["r"])
    assert y.shape == (4, 1, 0, 2)
    assert {f.shape for f in finals} == {(1, 0, 2)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"direction": "backward"}, "direction is 'backward'"),
        ({"layout": 2}, "layout is 2"),
        ({"hidden_size": 3}, "W has shape"),
        ({"activations": ["Tanh", "Relu"]}, "forward takes 1"),
        ({"activations": []}, "forward takes 1"),
        ({"activations": ["tanh"]}, "'tanh' is not one of"),
        ({"activations": ["Relu"], "activation_alpha": [1.0]}, "1 values more"),
        ({"activations": ["ScaledTanh"]}, "ScaledTanh needs activation_alpha"),
        ({"activations": ["Affine"], "activation_alpha": [1.0]}, "Affine needs activation_beta"),
        ({"clip": -1.0}, "clip is -1.0"),
        ({"x": np.zeros((4, 3), np.float32)}, "X has shape"),
        ({"r": np.zeros((2, 2), np.float32)}, "R has shape"),
        ({"r": np.zeros((1, 2, 3), np.float32)}, "R has shape|W has shape"),
        ({"b": np.zeros((1, 2), np.float32)}, "B has shape"),
        ({"h": np.zeros((1, 1, 2), np.float32)}, "initial_h has shape"),
        ({"lengths": np.array([5, 1, 1], np.int32)}, "sequence_lens is"),
        ({"lengths": np.array([-1, 1, 1], np.int32)}, "sequence_lens is"),
        ({"lengths": np.array([1, 1], np.int32)}, "sequence_lens has shape"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    """Shapes, attributes and lengths that the text does not allow."""
    inputs = random_case("RNN", np.random.default_rng(0), 1)
    attributes = {k: v for k, v in changes.items() if k not in inputs}
    inputs |= {k: v for k, v in changes.items() if k in inputs}
    with pytest.raises(ValueError, match=message):
        call("RNN", 22, *(inputs[k] for k in ("x", "w", "r", "b", "lengths", "h")), **attributes)


def test_peepholes_and_cells_of_the_wrong_shape_are_refused():
    """LSTM checks its own two inputs."""
    inputs = random_case("LSTM", np.random.default_rng(0), 1)
    given = [inputs[k] for k in ("x", "w", "r", "b", "lengths", "h")]
    with pytest.raises(ValueError, match="initial_c has shape"):
        call("LSTM", 22, *given, np.zeros((1, 3, 3), np.float32), None)
    with pytest.raises(ValueError, match="P has shape"):
        call("LSTM", 22, *given, None, np.zeros((1, 2), np.float32))


@pytest.mark.parametrize("operator", ["GRU", "LSTM"])
def test_an_empty_list_of_functions_is_no_default(operator):
    """A list that is there has to name all functions."""
    inputs = random_case(operator, np.random.default_rng(0), 1)
    with pytest.raises(ValueError, match=r"activations is \[\]"):
        call(operator, 22, *(inputs[k] for k in ("x", "w", "r")), activations=[])
