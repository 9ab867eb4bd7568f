"""What the evaluator takes as inputs of a model, and how it refuses the rest."""

import ml_dtypes
import numpy as np
import pytest

from model_calls import f32, i64, parsed
from opcheck.kernels import Evaluator

MODEL = """
    g (float[2] a, float[N, 3] b, seq(int64[K]) s, optional(float[M]) o) => (float[2] y) {
      y = Neg (a)
    }
"""
GOOD = {"a": f32([1, 2]), "b": f32([[1, 2, 3]]), "s": [i64([1])], "o": None}


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"b": np.zeros((0, 3), np.float32)},
        {"s": []},
        {"s": [i64([1]), i64([1, 2])]},
        {"o": f32([1])},
    ],
)
def test_feeds_that_fit_are_taken(change):
    """Open dimensions take any size, sequences any length, optionals none."""
    assert Evaluator(parsed(MODEL)).run({**GOOD, **change})[0].tolist() == [-1, -2]


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        pytest.param({"a": np.zeros(2)}, ["'a'", "tensor(double)", "tensor(float)"], id="dtype"),
        pytest.param({"a": i64([1, 2])}, ["'a'", "tensor(int64)", "tensor(float)"], id="integers"),
        pytest.param(
            {"a": np.zeros(2, ml_dtypes.bfloat16)}, ["'a'", "tensor(bfloat16)"], id="bfloat16"
        ),
        pytest.param({"a": np.array(["x", "y"])}, ["'a'", "tensor(float)"], id="strings"),
        pytest.param({"a": f32([1, 2, 3])}, ["'a'", "(3,)", "(2,)"], id="size"),
        pytest.param({"a": f32([[1, 2]])}, ["'a'", "(1, 2)", "(2,)"], id="rank"),
        pytest.param({"b": f32([[1, 2]])}, ["'b'", "(1, 2)", "3"], id="the fixed size"),
        pytest.param({"b": f32(1)}, ["'b'", "()"], id="a scalar"),
        pytest.param({"a": None}, ["'a'", "None", "tensor(float)"], id="none"),
        pytest.param({"a": 1.5}, ["'a'", "float", "tensor(float)"], id="a Python number"),
        pytest.param({"a": [1.0, 2.0]}, ["'a'", "tensor(float)"], id="a Python list"),
        pytest.param({"a": [f32([1, 2])]}, ["'a'", "seq(tensor(float))"], id="a sequence"),
        pytest.param(
            {"s": i64([1])}, ["'s'", "tensor(int64)", "seq(tensor(int64))"], id="a tensor"
        ),
        pytest.param({"s": None}, ["'s'", "None", "seq(tensor(int64))"], id="no sequence"),
        pytest.param({"s": [f32([1])]}, ["'s'", "seq(tensor(float))"], id="elements"),
        pytest.param(
            {"s": [i64([1]), f32([1])]}, ["'s'", "tensor(int64)", "tensor(float)"], id="the second"
        ),
        pytest.param(
            {"o": i64([1])}, ["'o'", "tensor(int64)", "optional(tensor(float))"], id="filled"
        ),
        pytest.param({"z": f32(1)}, ["unknown: z", "a, b, s, o"], id="unknown"),
    ],
)
def test_feeds_that_do_not_fit_are_refused_by_name(change, parts):
    """The message says which input, what was seen and what was wanted."""
    with pytest.raises(ValueError, match=r"input|takes") as caught:
        Evaluator(parsed(MODEL)).run({**GOOD, **change})
    assert [part for part in parts if part not in str(caught.value)] == []


def test_missing_feeds_are_refused_by_name():
    """All that is missing is named; an input with an initializer is not missing."""
    evaluator = Evaluator(
        parsed("g (float a, float b, float k = {1}) => (float y) { y = Add (a, k) }")
    )
    with pytest.raises(ValueError, match="missing: a, b; unknown: none"):
        evaluator.run({})
    with pytest.raises(ValueError, match="missing: b; unknown: c"):
        evaluator.run({"a": f32(1), "c": f32(1)})


def test_a_numpy_scalar_is_a_tensor_of_rank_0():
    """NumPy makes them of 0-d arrays; they have a dtype of their own."""
    text = "g (float x) => (float y) { y = Identity (x) }"
    (y,) = Evaluator(parsed(text)).run({"x": np.float32(3)})
    assert isinstance(y, np.ndarray)
    assert (y.dtype, y.shape, y.item()) == (np.float32, (), 3)
    with pytest.raises(ValueError, match=r"tensor\(double\)"):
        Evaluator(parsed(text)).run({"x": np.float64(3)})
