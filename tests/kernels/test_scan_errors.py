"""What the pages of Scan call an error, and what its schemas rule out.

What a model shows is found before anything runs: the evaluator's constructor raises.
What only the values show is found by the node, whose error names the operator.
"""

import numpy as np
import pytest

from model_calls import assert_fails, assert_invalid, f32, i64, parsed
from opcheck.kernels import Evaluator, InvalidModel, NodeError

SCAN_FEEDS = {"s": f32([1, 2]), "x": f32([[1, 2], [3, 4], [5, 6]]), "x2": f32([[1, 2]] * 3)}


def scan(
    body="(float[P] t, float[Q] e) => (float[R] u, float[S] o)",
    code="u = Add (t, e) o = Identity (t)",
    *,
    inputs="s, x",
    outputs="u, y",
    m="num_scan_inputs = 1,",
    attributes="",
    s="float[K] s",
    x="float[L, N] x",
    results="float[A] u, float[B, C] y",
):
    return (
        f"g ({s}, {x}, float[I, J] x2) => ({results}) "
        f"{{ {outputs} = Scan <{m} {attributes} body = b {body} {{ {code} }}> ({inputs}) }}"
    )


def test_the_scan_of_these_tests_is_valid():
    """Each test below changes one thing about a model that runs."""
    u, y = Evaluator(parsed(scan(), 18)).run(SCAN_FEEDS)
    assert u.tolist() == [10, 14]
    assert y.tolist() == [[1, 2], [2, 4], [5, 8]]


TWO = {
    "body": "(float[P] t, float[Q] e, float[Q] e2) => (float[R] u, float[S] o)",
    "inputs": "s, x, x2",
    "m": "num_scan_inputs = 2,",
}


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        pytest.param({"m": ""}, ["Scan", "num_scan_inputs"], id="no num_scan_inputs"),
        pytest.param({"m": "num_scan_inputs = 3,"}, ["Scan", "(3)", "(2)"], id="too many inputs"),
        pytest.param({"m": "num_scan_inputs = 1.5,"}, ["INT", "FLOAT"], id="a float"),
        pytest.param({"attributes": "directions = [0],"}, ["Scan", "directions"], id="unknown"),
        pytest.param({"attributes": "scan_input_axes = [2],"}, ["2", "rank 2"], id="input axis 2"),
        pytest.param(
            {"attributes": "scan_input_axes = [-3],"}, ["-3", "rank 2"], id="input axis -3"
        ),
        pytest.param(
            {"attributes": "scan_output_axes = [2],"}, ["2", "rank 2"], id="output axis 2"
        ),
        pytest.param(
            {"attributes": "scan_output_axes = [-3],"}, ["-3", "rank 2"], id="output axis -3"
        ),
        pytest.param(
            {"attributes": "scan_input_axes = [0, 1],"}, ["(2)", "(1)"], id="two input axes"
        ),
        pytest.param(
            {"attributes": "scan_output_axes = [0, 1],"}, ["(2)", "(1)"], id="two output axes"
        ),
        pytest.param(
            {"body": "(float[P] t) => (float[R] u, float[S] o)", "code": "u = Neg (t) o = Neg (t)"},
            ["Scan", "1 inputs but 2"],
            id="a body without the element",
        ),
        pytest.param(
            {"body": "(float[P] t, float[Q] e, float[Q] f) => (float[R] u, float[S] o)"},
            ["Scan", "3 inputs but 2"],
            id="a body with an input too many",
        ),
        pytest.param(
            {"body": "(float[P] t, float[Q] e) => (float[R] u)", "code": "u = Add (t, e)"},
            ["Scan", "1 outputs", "Expected 2"],
            id="a body with an output too few",
        ),
        pytest.param(
            {**TWO, "x": "float[3, N] x", "inputs": "s, x, x"}
            | {"attributes": "scan_input_axes = [0, 5],"},
            ["Scan", "5", "rank 2"],
            id="the second axis",
        ),
        pytest.param(
            {
                "body": "(float[P] t, float[Q] e) => (int64[R] u, float[S] o)",
                "code": "u = Cast <to = 7> (t) o = Identity (t)",
                "results": "int64[A] u, float[B, C] y",
            },
            ["Scan", "type"],
            id="a state that changes its type",
        ),
        pytest.param(
            {"s": "seq(float[K]) s", "results": "seq(float[K]) u, float[B, C] y"}
            | {"body": "(t, e) => (u, o)", "code": "u = Identity (t) o = Identity (e)"},
            ["Scan", "input 0 was not a tensor"],
            id="a sequence",
        ),
        pytest.param({"inputs": 's, ""'}, ["Scan"], id="an omitted input"),
    ],
)
@pytest.mark.parametrize("opset", [11, 18, 25])
def test_a_scan_that_breaks_a_rule_is_refused_before_it_runs(changes, parts, opset):
    """Numbers of inputs, outputs and axes, types and attributes are known beforehand."""
    assert_invalid(scan(**changes), opset, *parts)


@pytest.mark.parametrize(
    ("changes", "feeds", "parts"),
    [
        pytest.param(
            {
                "m": "num_scan_inputs = 0,",
                "body": "(float[P] t, float[Q, O] e) => (float[R] u, float[S, T] o)",
                "code": "u = Neg (t) o = Neg (e)",
            },
            {},
            ["num_scan_inputs is 0", "[1, 2]"],
            id="nothing to scan",
        ),
        pytest.param(TWO, {"x2": f32([[1, 2]])}, ["lengths [3, 1]", "agree"], id="two lengths"),
        pytest.param(
            {**TWO, "attributes": "scan_input_axes = [0, 1],"}, {}, ["lengths [3, 2]"], id="by axis"
        ),
        pytest.param(
            {"attributes": "scan_input_directions = [2],"}, {}, ["[2]", "0 or 1"], id="direction 2"
        ),
        pytest.param(
            {"attributes": "scan_output_directions = [-1],"},
            {},
            ["[-1]", "0 or 1"],
            id="direction -1",
        ),
        pytest.param(
            {"attributes": "scan_input_directions = [0, 0],"},
            {},
            ["scan_input_directions has 2 entries", "needs 1"],
            id="two directions of inputs",
        ),
        pytest.param(
            {"attributes": "scan_output_directions = [0, 0],"},
            {},
            ["scan_output_directions has 2 entries", "needs 1"],
            id="two directions of outputs",
        ),
        pytest.param(
            {"code": "u = Concat <axis = 0> (t, e) o = Identity (e)"},
            {},
            ["state 0", "(2,)", "(4,)"],
            id="a state whose shape changes",
        ),
        pytest.param(
            {
                "body": "(float[P] t, float[Q] e) => (float[R] u, o)",
                "code": "u = Add (t, e) n = Cast <to = 7> (e) zero = Constant <value_int = 0> () "
                "k = Gather (n, zero) one = Constant <value_ints = [-1]> () d = Reshape (k, one) "
                "o = ConstantOfShape (d)",
            },
            {},
            ["scan output 0", "float32[1]", "float32[3]"],
            id="an output whose shape changes",
        ),
    ],
)
@pytest.mark.parametrize("opset", [18, 25])
def test_a_scan_that_breaks_a_rule_as_it_runs_is_an_error(changes, feeds, parts, opset):
    """ "All the output tensors ... are required to have the same shape in each iteration"."""
    assert_fails(scan(**changes), opset, {**SCAN_FEEDS, **feeds}, "Scan-", *parts)


@pytest.mark.parametrize("name", ["scan_input_axes", "scan_output_axes"])
def test_negative_axes_came_with_version_11(name):
    """Scan-9 names no negative axes; Scan-11 takes [-r, r-1]."""
    text = scan(attributes=f"{name} = [-2],")
    with pytest.raises((InvalidModel, NodeError), match="Scan"):
        Evaluator(parsed(text, 9)).run(SCAN_FEEDS)
    Evaluator(parsed(text, 11)).run(SCAN_FEEDS)


def test_a_scalar_cannot_be_scanned():
    """A scan input needs an axis."""
    text = scan("(float[P] t, e) => (float[R] u, o)", "u = Neg (t) o = Neg (e)", x="float x")
    with pytest.raises((InvalidModel, NodeError), match="Scan"):
        Evaluator(parsed(text, 18)).run({**SCAN_FEEDS, "x": f32(1)})


SCAN_8 = """
    g (int64[D] lens, float[E, K] s, float[B, L, N] x, float[F, G, N] x2) =>
      (float[A, P] u, float[Q, R, S] y) {
      u, y = Scan <num_scan_inputs = 2, @ body =
        b (float[P] t, float[Q] e, float[Q] f) => (float[R] v, float[S] o) {
          v = Add (t, e)
          o = Add (e, f)
        }> (lens, s, x, x2)
    }
"""
ONES = {
    "lens": i64([3, 2]),
    "s": np.ones((2, 4), np.float32),
    "x": np.ones((2, 3, 4), np.float32),
    "x2": np.ones((2, 3, 4), np.float32),
}


def test_the_scan_8_of_these_tests_is_valid():
    """Each test below changes one thing about a model that runs."""
    u, y = Evaluator(parsed(SCAN_8.replace("@", ""), 8)).run(ONES)
    assert u.tolist() == [[4] * 4, [3] * 4]
    assert y[:, :2].tolist() == [[[2] * 4] * 2] * 2


@pytest.mark.parametrize(
    ("attributes", "feeds", "parts"),
    [
        ("", {"x": np.ones((3, 3, 4), np.float32)}, ["(3, 3, 4)", "(2, 3, 4)", "agree"]),
        ("", {"x2": np.ones((2, 5, 4), np.float32)}, ["(2, 5, 4)", "(2, 3, 4)", "agree"]),
        ("", {"s": np.ones((1, 4), np.float32)}, ["(1, 4)", "(2, 3, 4)", "agree"]),
        ("", {"lens": i64([3])}, ["sequence_lens", "(1,)", "(2,)"]),
        ("", {"lens": i64([3, 4])}, ["sequence_lens", "[3, 4]", "[0, 3]"]),
        ("", {"lens": i64([-1, 3])}, ["sequence_lens", "[-1, 3]", "[0, 3]"]),
        ("directions = [0],", {}, ["directions has 1 entries", "needs 2"]),
        ("directions = [0, 2],", {}, ["directions is [0, 2]", "0 or 1"]),
    ],
)
def test_a_scan_8_that_breaks_a_rule_is_an_error(attributes, feeds, parts):
    """Batch sizes, lengths and directions."""
    assert_fails(SCAN_8.replace("@", attributes), 8, {**ONES, **feeds}, "Scan-8", *parts)


def test_sequence_lens_are_int64():
    """The type of an input that is optional is checked as well."""
    assert_invalid(SCAN_8.replace("@", "").replace("int64[D]", "int32[D]"), 8, "Scan", "int32")
