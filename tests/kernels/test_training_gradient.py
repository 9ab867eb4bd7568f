"""Gradient: derivatives of small graphs, by hand and against differences."""

import re

import numpy as np
import onnx.parser
import pytest

from opcheck.kernels import Evaluator, InvalidModel, NodeError, Unsupported

HEADER = '<ir_version: 8, opset_import: ["": 18, "ai.onnx.preview.training": 1]>'


def evaluator(nodes, *, xs, y, zs=None, inputs="float[2] a", declared="float[2] d", given=None):
    names = xs if given is None else given
    attributes = f'xs = {quoted(xs)}, y = "{y}"' + (f", zs = {quoted(zs)}" if zs else "")
    last = ", ".join(re.findall(r"\] (\w+)", declared))
    given = ", ".join([*names, *(zs or [])] if given is None else given)
    text = f"{HEADER} g ({inputs}) => ({declared}) {{ {nodes} "
    text += f"{last} = ai.onnx.preview.training.Gradient <{attributes}> ({given}) }}"
    return Evaluator(onnx.parser.parse_model(text))


def quoted(names):
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def f32(*values):
    return np.array(values, np.float32)


#: Operator and its derivative at a positive number below 1.
SLOPES = {
    "Abs": np.sign,
    "Cos": lambda x: -np.sin(x),
    "Exp": np.exp,
    "Identity": np.ones_like,
    "Log": lambda x: 1 / x,
    "Neg": lambda x: -np.ones_like(x),
    "Reciprocal": lambda x: -1 / x**2,
    "Relu": lambda x: (x > 0).astype(x.dtype),
    "Sigmoid": lambda x: np.exp(-x) / (1 + np.exp(-x)) ** 2,
    "Sin": np.cos,
    "Sqrt": lambda x: 0.5 / np.sqrt(x),
    "Tanh": lambda x: 1 / np.cosh(x) ** 2,
}


@pytest.mark.parametrize("operator", SLOPES)
def test_functions_of_one_tensor(operator):
    """Each rule is the textbook's."""
    made = evaluator(f"c = {operator} (a)", xs=["a"], y="c")
    (d,) = made.run({"a": f32(0.25, 0.75)})
    expected = SLOPES[operator](np.array([0.25, 0.75]))
    np.testing.assert_allclose(d, expected, rtol=1e-7)
    assert d.dtype == np.float32


@pytest.mark.parametrize(
    ("operator", "da", "db"),
    [
        ("Add", [1, 1], [2]),
        ("Sub", [1, 1], [-2]),
        ("Mul", [4, 4], [3]),
        ("Div", [0.25, 0.25], [-3 / 16]),
        ("Sum", [1, 1], [2]),
    ],
)
def test_functions_of_two_tensors_sum_over_what_is_broadcast(operator, da, db):
    """The one element of b takes part twice."""
    made = evaluator(
        f"c = {operator} (a, b)",
        xs=["a", "b"],
        y="c",
        inputs="float[2] a, float[1] b",
        declared="float[2] d, float[1] e",
    )
    d, e = made.run({"a": f32(1, 2), "b": f32(4)})
    assert d.tolist() == da
    assert e.tolist() == pytest.approx(db)


def test_a_matrix_product():
    """The slope of the sum of all elements, by hand."""
    made = evaluator(
        "c = MatMul (a, b)",
        xs=["a", "b"],
        y="c",
        inputs="float[1, 2] a, float[2, 3] b",
        declared="float[1, 2] d, float[2, 3] e",
    )
    d, e = made.run({"a": f32([1, 2]), "b": f32([1, 2, 3], [4, 5, 6])})
    assert d.tolist() == [[6, 15]]
    assert e.tolist() == [[1, 1, 1], [2, 2, 2]]


def test_shapes_go_backwards():
    """Transpose with and without perm, and Reshape with a constant shape."""
    made = evaluator(
        "s = Constant <value_ints = [6]> () t = Transpose <perm = [1, 0]> (a) u = Transpose (t) "
        "v = Reshape (u, s) w = Constant <value_floats = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]> () "
        "c = Mul (v, w)",
        xs=["a"],
        y="c",
        inputs="float[2, 3] a",
        declared="float[2, 3] d",
    )
    (d,) = made.run({"a": np.zeros((2, 3), np.float32)})
    assert d.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_a_tensor_that_is_used_twice_adds_up():
    """d(a * a + a) is 2a + 1."""
    made = evaluator("b = Mul (a, a) c = Add (b, a)", xs=["a"], y="c")
    assert made.run({"a": f32(3, -1)})[0].tolist() == [7, -1]


def test_intermediate_tensors_and_other_values_can_be_given():
    """With respect to h, at a value of h that the graph does not have."""
    made = evaluator(
        "h = Exp (a) c = Mul (h, h)",
        xs=["h"],
        y="c",
        inputs="float[2] a, float[2] other",
        given=["other"],
    )
    assert made.run({"a": f32(0, 0), "other": f32(5, 7)})[0].tolist() == [10, 14]


def test_zs_are_not_differentiated():
    """Their values come behind those of xs; what y does not depend on has the slope 0."""
    made = evaluator("c = Mul (a, b)", xs=["a"], zs=["b"], y="c", inputs="float[2] a, float[2] b")
    assert made.run({"a": f32(1, 2), "b": f32(8, 9)})[0].tolist() == [8, 9]
    unused = evaluator("c = Neg (a)", xs=["b"], zs=["a"], y="c", inputs="float[2] a, float[2] b")
    assert unused.run({"a": f32(1, 2), "b": f32(8, 9)})[0].tolist() == [0, 0]


def test_what_has_no_derivative_here_is_unsupported():
    """The message names what has one."""
    made = evaluator("c = Erf (a)", xs=["a"], y="c")
    with pytest.raises(Unsupported, match="Gradient of Erf; known are the derivatives of Abs, Add"):
        made.run({"a": f32(1, 2)})


def test_y_must_depend_on_what_is_named_alone():
    """A graph input that is in neither list has no value here."""
    with pytest.raises(InvalidModel, match="depends on 'b', which is neither in xs nor in zs"):
        evaluator("c = Mul (a, b)", xs=["a"], y="c", inputs="float[2] a, float[2] b")


def test_as_many_inputs_as_names():
    """One too few is an error that names them."""
    made = evaluator("c = Neg (a)", xs=["a"], zs=["a"], y="c", given=["a"])
    with pytest.raises(NodeError, match="1 inputs; xs and zs name 2: a, a"):
        made.run({"a": f32(1, 2)})
