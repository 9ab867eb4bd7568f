"""Random outputs: right draws pass, at any size; draws that are off by 1% are caught."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from opcheck.harness.case import Call, Case, Expected
from opcheck.harness.casefile import load
from opcheck.harness.judge import Options, run_case
from opcheck.harness.randomness import judge_draws, random_outputs
from opcheck.harness.record import Outcome
from opcheck.harness.sources import load_all

MANY = 4_000_000
TYPES = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32, "bool": TensorProto.BOOL}


def call(operator, inputs=(), *, dtype="float32", opset=22, outputs=1, **attributes):
    """A model of one node; ``inputs`` are arrays or ``None``."""
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    given = {n: x for n, x in zip(names, inputs, strict=True) if x is not None}
    node = helper.make_node(operator, names, [f"y{i}" for i in range(outputs)], **attributes)
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in given.items()
    ]
    kinds = [TYPES[dtype], TensorProto.BOOL]
    ends = [helper.make_tensor_value_info(f"y{i}", kinds[i], None) for i in range(outputs)]
    graph = helper.make_graph([node], "g", infos, ends)
    return Call(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]), given)


def wrong(made, *got):
    """Judge outputs as if they were expected to have just their dtype and shape."""
    names = [f"y{i}" for i in range(len(got))]
    expected = [
        Expected("tensor", helper.make_tensor_type_proto(1, y.shape), y.dtype, y.shape) for y in got
    ]
    return [d.expected for d in judge_draws(made, names, expected, got)]


UNIFORM = call("RandomUniform", shape=[1], low=-1.0, high=3.0)
NORMAL = call("RandomNormal", shape=[1], mean=2.0, scale=0.5)


def uniform(rng, n):
    return (rng.random(n) * 4 - 1).astype(np.float32)


def normal(rng, n):
    return (rng.standard_normal(n) * 0.5 + 2).astype(np.float32)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 30, 200, 5000])
def test_right_draws_pass_at_any_size(n):
    """The bounds hold for every size: among 200 draws of each, none is rejected."""
    rng = np.random.default_rng(n)
    p = rng.random(n).astype(np.float32)
    coins = call("Bernoulli", [p])
    for _ in range(200):
        assert wrong(UNIFORM, uniform(rng, n)) == []
        assert wrong(NORMAL, normal(rng, n)) == []
        assert wrong(coins, (rng.random(n) < p).astype(np.float32)) == []


def test_a_mean_or_variance_that_is_off_by_one_percent_is_caught():
    """One percent of the scale for means, of the variance for variances."""
    rng = np.random.default_rng(1)
    u, z = uniform(rng, MANY), normal(rng, MANY)
    assert wrong(UNIFORM, u) == []
    assert wrong(NORMAL, z) == []
    assert wrong(UNIFORM, np.clip(u + np.float32(0.02), -1, 3))[0].startswith("the mean 1 within")
    assert wrong(NORMAL, z + np.float32(0.005))[0].startswith("the mean 2 within")
    for factor in (0.99, 1.01):
        narrow = (z - 2) * np.float32(factor**0.5) + 2
        assert wrong(NORMAL, narrow)[0].startswith("the variance 0.25 within")
    squeezed = (u - 1) * np.float32(0.99**0.5) + 1
    assert wrong(UNIFORM, squeezed)[0].startswith("the variance 1.33333 within")
    p = np.full(MANY, 0.5, np.float32)
    coins = call("Bernoulli", [p])
    assert wrong(coins, (rng.random(MANY) < 0.5).astype(np.float32)) == []
    assert wrong(coins, (rng.random(MANY) < 0.505).astype(np.float32)) != []


def test_values_outside_the_range_are_caught():
    """A single one is enough; the ends themselves may come of rounding."""
    assert wrong(UNIFORM, np.array([-1, 3], np.float32)) == []
    assert wrong(UNIFORM, np.array([0, 3.5], np.float32)) == ["values from -1 to 3"]
    assert wrong(UNIFORM, np.array([0, np.nan], np.float32)) == ["values from -1 to 3"]
    assert wrong(NORMAL, np.array([2, np.inf], np.float32)) == ["finite values"]
    coins = call("Bernoulli", [np.array([0.5, 0.5], np.float32)])
    assert wrong(coins, np.array([0, 0.5], np.float32)) == ["values of 0 and 1"]


def test_each_element_of_bernoulli_has_its_own_probability():
    """The right share of ones in the wrong places is wrong; 0 and 1 are certain."""
    rng = np.random.default_rng(2)
    p = np.tile(np.array([0.1, 0.9], np.float32), 5000)
    coins = call("Bernoulli", [p])
    assert wrong(coins, (rng.random(p.size) < p).astype(np.float32)) == []
    assert wrong(coins, (rng.random(p.size) < 0.5).astype(np.float32)) == [
        "the share of ones where it is likely"
    ]
    certain = call("Bernoulli", [np.array([0, 1], np.float32)])
    assert wrong(certain, np.array([0, 1], np.float32)) == []
    assert wrong(certain, np.array([1, 1], np.float32)) == [
        "the share of ones as its probability says"
    ]


def test_multinomial_has_the_probabilities_of_each_row():
    """Logarithms that are not normalised; rows and classes differ in number."""
    rng = np.random.default_rng(3)
    p = np.array([[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]])
    made = call("Multinomial", [np.log(p * 7).astype(np.float32)], dtype="int32", sample_size=9000)
    right = np.stack([rng.choice(3, 9000, p=row) for row in p]).astype(np.int32)
    assert wrong(made, right) == []
    assert "the share of class 0 in row 0" in wrong(made, right[::-1])[0]
    assert wrong(made, right + 1) == ["values from 0 to 2"]


def test_dropout_keeps_scales_and_masks():
    """Each element is 0, or the data divided by what is kept; the mask has the same share."""
    rng = np.random.default_rng(4)
    data = rng.random(20_000).astype(np.float32) + 1
    inputs = [data, np.array(0.25, np.float32), np.array(True)]
    made = call("Dropout", inputs, outputs=2)
    mask = rng.random(data.size) >= 0.25
    scaled = data * mask / np.float32(0.75)
    assert wrong(made, scaled, mask) == []
    assert wrong(made, data * mask, mask) == ["0, or data times 1.33333"]
    other = rng.random(data.size) >= 0.5
    assert "the share that is kept" in wrong(made, data * other / np.float32(0.75), mask)[0]
    assert "the share that is kept" in wrong(made, scaled, other)[0]


@pytest.mark.parametrize(
    ("made", "random"),
    [
        (call("Dropout", [np.ones(2, np.float32)], outputs=2), []),
        (call("Dropout", [np.ones(2, np.float32), None, np.array(False)], outputs=2), []),
        (
            call(
                "Dropout", [np.ones(2, np.float32), np.array(0, np.float32), np.array(True)],
                outputs=2,
            ),
            [],
        ),
        (call("Dropout", [np.ones(2, np.float32), None, np.array(True)], outputs=2), ["y0", "y1"]),
        (call("Dropout", [np.ones(2, np.float32)], opset=10, ratio=0.5), []),
        (call("Dropout", [np.ones(2, np.float32)], opset=6, ratio=0.5), ["y0"]),
        (call("Dropout", [np.ones(2, np.float32)], opset=6, is_test=1), []),
        (call("Neg", [np.ones(2, np.float32)]), []),
    ],
)  # fmt: skip
def test_dropout_is_random_when_it_trains(made, random):
    """Only then, and only with a ratio that drops something."""
    assert list(random_outputs(made.model, made.inputs)) == random


def test_what_is_computed_from_random_numbers_is_random_too():
    """But for its shape; a body that draws makes its node random."""
    model = helper.make_model(
        helper.make_graph(
            [
                helper.make_node("RandomUniform", [], ["u"], shape=[2]),
                helper.make_node("Neg", ["u"], ["v"]),
                helper.make_node("Shape", ["v"], ["s"]),
                helper.make_node("Add", ["x", "x"], ["w"]),
            ],
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in "uvw"]
            + [helper.make_tensor_value_info("s", TensorProto.INT64, None)],
        ),
        opset_imports=[helper.make_opsetid("", 22)],
    )
    found = random_outputs(model, {})
    assert list(found) == ["u", "v"]
    assert found["u"] is not None
    assert found["v"] is None


def test_official_cases_keep_dtype_and_shape_only():
    """What onnx drew when the case was made is no expectation."""
    cases = {c.name: c for c in load_all(["onnx:node"]).cases}
    for name in ("test_bernoulli", "test_bernoulli_expanded", "test_training_dropout_mask"):
        assert all(e.value is None for e in cases[name].alternatives[0])
    for name in ("test_training_dropout_zero_ratio_mask", "test_dropout_default_mask"):
        assert all(e.value is not None for e in cases[name].alternatives[0])


TEXT = """\
operator: RandomUniform
opset: 22
cases:
  - name: drawn
    why: No seed is needed.
    node: RandomUniform() -> (y)
    attributes: {shape: [3, 2], SEED}
    outputs: {y: {dtype: float32, shape: [3, 2]}}
"""


def loaded(tmp_path, text):
    path = tmp_path / "random.yaml"
    path.write_text(text)
    return load(path, str(path))


class Draws:
    """Gives what it is told, one array after the other."""

    name = "draws"

    def __init__(self, *arrays):
        self.arrays = list(arrays)

    def version(self):
        return "0"

    def prepare(self, model):
        return lambda feeds: [self.arrays.pop(0)]


@pytest.mark.parametrize(
    ("seed", "second", "outcome"),
    [
        ("seed: 1.0", 0.25, Outcome.PASSED),
        ("seed: 1.0", 0.5, Outcome.FAILED),
        ("low: 0.0", 0.5, Outcome.PASSED),
    ],
)
def test_the_same_seed_gives_the_same_values(tmp_path, seed, second, outcome):
    """A case with a seed is run twice; without one, values may differ."""
    (case,) = loaded(tmp_path, TEXT.replace("SEED", seed)).cases
    arrays = [np.full((3, 2), v, np.float32) for v in (0.25, second)]
    record = run_case(case, Draws(*arrays), Options())
    assert record.outcome is outcome
    if outcome is Outcome.FAILED:
        assert record.differences[0].got == "other values"


def test_dtype_and_shape_of_a_random_output_are_compared(tmp_path):
    """They are all that is known beforehand."""
    (case,) = loaded(tmp_path, TEXT.replace("SEED", "low: 0.0")).cases
    assert isinstance(case, Case)
    for array, reason in (
        (np.zeros((2, 3), np.float32), "shape"),
        (np.zeros((3, 2), np.float64), "dtype"),
        (np.full((3, 2), 2, np.float32), "distribution"),
    ):
        record = run_case(case, Draws(array), Options())
        assert [d.reason for d in record.differences] == [reason]


def test_only_a_random_output_may_have_no_data(tmp_path):
    """Elsewhere a forgotten literal would compare nothing, and pass."""
    text = """\
operator: Neg
opset: 13
cases:
  - name: forgotten
    node: Neg(x) -> (y)
    inputs: {x: {dtype: float32, data: [1]}}
    outputs: {y: {dtype: float32, shape: [1]}}
"""
    (error,) = loaded(tmp_path, text).errors
    assert "no value" in str(error)
    assert "outputs.y" in str(error)


def test_a_known_probability_may_be_a_constant():
    """Initializers and Constant nodes are known as well as inputs."""
    p = np.array([0, 1], np.float32)
    model = helper.make_model(
        helper.make_graph(
            [
                helper.make_node("Constant", [], ["p"], value=numpy_helper.from_array(p)),
                helper.make_node("Bernoulli", ["p"], ["y0"]),
            ],
            "g",
            [],
            [helper.make_tensor_value_info("y0", TensorProto.FLOAT, None)],
        ),
        opset_imports=[helper.make_opsetid("", 22)],
    )
    assert wrong(Call(model, {}), np.array([1, 1], np.float32)) != []
    assert wrong(Call(model, {}), p) == []
