"""What the pages of Loop, If and SequenceMap call an error, and what their schemas rule out.

What a model shows is found before anything runs: the evaluator's constructor raises.
What only the values show is found by the node, whose error names the operator.
"""

import numpy as np
import pytest

from model_calls import assert_fails, assert_invalid, f32, i64, parsed
from opcheck.kernels import Evaluator

# Loop

LOOP_FEEDS = {"m": i64(3), "c": np.array(True), "x": f32([1, 2])}


def loop(
    body="(int64 i, bool ci, float[P] v) => (bool co, float[Q] w)",
    code="co = Identity (ci) w = Identity (v)",
    *,
    inputs="m, c, x",
    outputs="y",
    attributes="",
    m="int64 m",
    c="bool c",
    x="float[N] x",
    results="float[A] y",
):
    return (
        f"g ({m}, {c}, {x}) => ({results}) "
        f"{{ {outputs} = Loop <{attributes} body = b {body} {{ {code} }}> ({inputs}) }}"
    )


def test_the_loop_of_these_tests_is_valid():
    """Each test below changes one thing about a model that runs."""
    (y,) = Evaluator(parsed(loop(), 18)).run(LOOP_FEEDS)
    assert y.tolist() == [1, 2]


WITHOUT_CARRIED = {
    "body": "(int64 i, bool ci) => (bool co, float[Q] w)",
    "code": "co = Identity (ci) w = Neg (x)",
}


@pytest.mark.parametrize("opset", [11, 13, 18, 25])
@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        pytest.param(
            WITHOUT_CARRIED,
            ["Loop", "has 2 inputs but 3 were provided"],
            id="a body without the carried value",
        ),
        pytest.param(
            {"body": "(int64 i, bool ci, float[P] v, float[R] u) => (bool co, float[Q] w)"},
            ["Loop", "has 4 inputs but 3 were provided"],
            id="a body with an input too many",
        ),
        pytest.param(
            {"body": "(int64 i, bool ci, float[P] v) => (bool co)", "code": "co = Identity (ci)"},
            ["Loop", "1 outputs", "Expected 2"],
            id="a body without the carried output",
        ),
        pytest.param(
            {"outputs": "y, z", "results": "float[A] y, float[B, C] z"},
            ["Loop", "2 outputs", "Expected 3"],
            id="more outputs than the body gives",
        ),
        pytest.param(
            {
                "body": "(int64 i, bool ci, float[P] v) => (bool co, float[Q] w, float[R] s)",
                "code": "co = Identity (ci) w = Identity (v) s = Identity (v)",
            },
            ["Loop", "3 outputs", "Expected 2"],
            id="fewer outputs than the body gives",
        ),
        pytest.param(
            {
                "body": "(int64 i, bool ci, float[P] v) => (float[R] co, float[Q] w)",
                "code": "co = Neg (v) w = Identity (v)",
            },
            ["Loop", "the body's condition is tensor(float)", "must be tensor(bool)"],
            id="a condition of floats",
        ),
        pytest.param(
            {
                "body": "(int64 i, bool ci, float[P] v) => (bool co, int64[Q] w)",
                "code": "co = Identity (ci) w = Cast <to = 7> (v)",
            },
            ["Loop", "type"],
            id="a carried value that changes its type",
        ),
        pytest.param(
            {
                "body": "(int64 i, bool ci, v) => (bool co, w, s)",
                "code": "co = Identity (ci) w = Identity (v) s = SequenceConstruct (v)",
                "outputs": "y, z",
                "results": "float[A] y, seq(float[B]) z",
            },
            ["Loop", "outputs should all be tensors"],
            id="a sequence as a scan output",
        ),
        pytest.param({"m": "int32 m"}, ["Loop", "M", "tensor(int32)"], id="M of int32"),
        pytest.param({"m": "float m"}, ["Loop", "M", "tensor(float)"], id="M of floats"),
        pytest.param({"c": "int64 c"}, ["Loop", "type"], id="a condition of int64"),
        pytest.param(
            {"inputs": "", **WITHOUT_CARRIED},
            ["Loop", "input size 0", "min=2"],
            id="no inputs",
        ),
        pytest.param({"attributes": "axis = 1,"}, ["Loop", "axis"], id="an unknown attribute"),
        pytest.param({"inputs": 'm, c, ""'}, ["Loop", "Input 2"], id="an omitted carried value"),
        pytest.param(
            {"code": "co = Identity (ci) w = Neg (nowhere)"}, ["nowhere"], id="unknown name"
        ),
        pytest.param(
            {"code": "co = Identity (ci) w = Neg (w2) w2 = Neg (v)"},
            ["w2"],
            id="read before defined",
        ),
    ],
)
def test_a_loop_that_breaks_a_rule_is_refused_before_it_runs(changes, parts, opset):
    """Numbers of inputs and outputs, types, attributes and names are known beforehand."""
    assert_invalid(loop(**changes), opset, *parts)


def test_a_loop_needs_a_body_that_is_a_graph():
    """``body`` is required, and of type graph."""
    assert_invalid("g (int64 m, bool c) => (float y) { y = Loop (m, c) }", 18, "Loop", "'body'")
    text = "g (int64 m, bool c) => (float y) { y = Loop <body = 3> (m, c) }"
    assert_invalid(text, 18, "Loop", "GRAPH", "INT")


def test_the_first_version_of_loop_needs_a_carried_value():
    """Loop-1 has at least three inputs, Loop-11 two."""
    body = "(int64 i, bool ci) => (bool co, float[Q] s)"
    code = "co = Identity (ci) s = Neg (x)"
    text = loop(body, code, inputs="m, c", results="float[A, B] y")
    assert_invalid(text, 10, "Loop", "input size 2", "min=3")
    assert Evaluator(parsed(text, 11)).run(LOOP_FEEDS)[0].tolist() == [[-1, -2]] * 3


@pytest.mark.parametrize(
    ("opset", "first", "kind"),
    [
        pytest.param(12, 13, "seq(float[N])", id="sequences from 13 on"),
        pytest.param(15, 16, "optional(float[N])", id="optionals from 16 on"),
        pytest.param(15, 16, "bfloat16[N]", id="bfloat16 from 16 on"),
        pytest.param(18, 19, "float8e5m2[N]", id="float8 from 19 on"),
        pytest.param(20, 21, "int4[N]", id="int4 from 21 on"),
        pytest.param(22, 23, "float4e2m1[N]", id="float4 from 23 on"),
        pytest.param(23, 24, "float8e8m0[N]", id="float8e8m0 from 24 on"),
        pytest.param(24, 25, "int2[N]", id="int2 from 25 on"),
    ],
)
def test_a_type_that_a_version_of_loop_does_not_have_is_refused(opset, first, kind):
    """Each version carries the types of its constraint V and no others."""
    # The body does not touch the value: whether it may be carried is up to Loop alone.
    text = loop(
        f"(int64 i, bool ci, {kind} v) => (bool co, {kind} v)",
        "co = Identity (ci)",
        x=f"{kind} x",
        results=f"{kind} y",
    )
    assert_invalid(text, opset, "Loop")
    Evaluator(parsed(text, first))


@pytest.mark.parametrize(
    ("changes", "feeds", "parts"),
    [
        pytest.param({"m": "int64[K] m"}, {"m": i64([3, 3])}, ["M has shape (2,)"], id="two M"),
        pytest.param({"m": "int64[K] m"}, {"m": i64([])}, ["M has shape (0,)"], id="an empty M"),
        pytest.param(
            {"c": "bool[K] c", "body": "(int64 i, ci, float[P] v) => (co, float[Q] w)"},
            {"c": np.array([True, False])},
            ["cond has shape (2,)"],
            id="two conditions",
        ),
        pytest.param(
            {
                "body": "(int64 i, bool ci, float[P] v) => (bool[R] co, float[Q] w)",
                "code": "co = Cast <to = 9> (v) w = Identity (v)",
            },
            {},
            ["the body's condition has shape (2,)", "single element"],
            id="two conditions from the body",
        ),
        pytest.param(
            {
                "body": "(int64 i, bool ci, float[P] v) => (bool co, float[Q] w, float[R] s)",
                "code": "co = Identity (ci) w = Concat <axis = 0> (v, v) s = Identity (v)",
                "outputs": "y, z",
                "results": "float[A] y, float[B, C] z",
            },
            {},
            ["scan output 0", "float32[2]", "float32[4]"],
            id="a scan output whose size changes",
        ),
        pytest.param(
            {
                "body": "(int64 i, bool ci, v) => (bool co, w, s)",
                "code": "co = Identity (ci) ax = Constant <value_ints = [0]> () "
                "w = Unsqueeze (v, ax) s = Identity (v)",
                "outputs": "y, z",
                "results": "float[A, D, E, F] y, float[B, C] z",
            },
            {},
            ["scan output 0", "float32[2]", "float32[1, 2]"],
            id="a scan output whose rank changes",
        ),
    ],
)
@pytest.mark.parametrize("opset", [13, 18, 25])
def test_a_loop_that_breaks_a_rule_as_it_runs_is_an_error(changes, feeds, parts, opset):
    """ "It is an error if the dimensions or data type of these scan_outputs change"."""
    assert_fails(loop(**changes), opset, {**LOOP_FEEDS, **feeds}, "Loop-", *parts)


# If

IF_FEEDS = {"c": np.array(True), "x": f32([1, 2])}
THEN, ELSE = "t () => (float[A] p) { p = Neg (x) }", "e () => (float[B] q) { q = Abs (x) }"


def branches(then=THEN, other=ELSE, *, c="bool c", results="float[K] y", outputs="y"):
    chosen = f"then_branch = {then}, else_branch = {other}"
    return f"g ({c}, float[2] x) => ({results}) {{ {outputs} = If <{chosen}> (c) }}"


TWO_OUTPUTS = "e () => (float[B] q, float[B] q2) { q = Abs (x) q2 = Abs (x) }"


def test_the_if_of_these_tests_is_valid():
    """Each test below changes one thing about a model that runs."""
    (y,) = Evaluator(parsed(branches(), 18)).run(IF_FEEDS)
    assert y.tolist() == [-1, -2]


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        pytest.param({"other": TWO_OUTPUTS}, ["1 != 2"], id="numbers of outputs"),
        pytest.param(
            {"then": TWO_OUTPUTS.replace("q", "p"), "other": TWO_OUTPUTS}, ["1", "2"], id="outputs"
        ),
        pytest.param(
            {"other": "e () => (int64[B] q) { q = Cast <to = 7> (x) }"}, ["type"], id="types"
        ),
        pytest.param(
            {"other": "e () => (seq(float[B]) q) { q = SequenceConstruct (x) }"},
            ["type"],
            id="kinds",
        ),
        pytest.param(
            {"then": "t (float[2] z) => (float[A] p) { p = Neg (z) }"}, ["1 inputs"], id="inputs"
        ),
        pytest.param({"c": "float c"}, ["cond", "tensor(float)"], id="a condition of floats"),
    ],
)
@pytest.mark.parametrize("opset", [11, 18, 25])
def test_an_if_that_breaks_a_rule_is_refused_before_it_runs(changes, parts, opset):
    """Both branches give the same number of outputs, of the same types, and take no inputs."""
    assert_invalid(branches(**changes), opset, "If", *parts)


@pytest.mark.parametrize(
    ("attributes", "parts"),
    [
        (f"then_branch = {THEN}", ["'else_branch'"]),
        (f"else_branch = {ELSE}", ["'then_branch'"]),
        (f"then_branch = {THEN}, else_branch = {ELSE}, axis = 1", ["axis"]),
    ],
)
def test_an_if_has_two_branches_and_nothing_else(attributes, parts):
    """Both attributes are required; there are no others."""
    text = f"g (bool c, float[2] x) => (float[K] y) {{ y = If <{attributes}> (c) }}"
    assert_invalid(text, 18, "If", *parts)


@pytest.mark.parametrize("c", [[], [True, False]])
def test_the_condition_of_an_if_has_a_single_element(c):
    """ "The tensor must contain a single element"."""
    feeds = {**IF_FEEDS, "c": np.array(c, bool)}
    assert_fails(branches(c="bool[K] c"), 18, feeds, "If-16", f"({len(c)},)", "single element")


# SequenceMap


MAP_FEEDS = {"s": [f32([1]), f32([2])], "t": [f32([1])], "x": f32([3])}


def mapped(body="(float[P] a) => (float[Q] r)", code="r = Neg (a)", *, inputs="s"):
    return (
        "g (seq(float[N]) s, seq(float[N]) t, float[1] x) => (seq(float[K]) y) "
        f"{{ y = SequenceMap <body = b {body} {{ {code} }}> ({inputs}) }}"
    )


def test_the_sequence_map_of_these_tests_is_valid():
    """Each test below changes one thing about a model that runs."""
    (y,) = Evaluator(parsed(mapped(), 18)).run(MAP_FEEDS)
    assert [e.tolist() for e in y] == [[-1], [-2]]


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"inputs": "s, x"}, ["1 inputs but 2"]),
        ({"body": "(float[P] a, float[P] b2) => (float[Q] r)"}, ["2 inputs but 1"]),
        ({"inputs": "x"}, ["sequence"]),
        ({"body": "(int64[P] a) => (int64[Q] r)"}, ["type"]),
    ],
)
def test_a_sequence_map_that_breaks_a_rule_is_refused_before_it_runs(changes, parts):
    """The body takes one value per input; the first input is a sequence."""
    assert_invalid(mapped(**changes), 18, "SequenceMap", *parts)


def test_the_sequences_that_are_mapped_together_have_one_length():
    """A shorter second sequence has no element for the last one of the first."""
    text = mapped("(float[P] a, float[P] b2) => (float[Q] r)", "r = Add (a, b2)", inputs="s, t")
    assert_fails(text, 18, MAP_FEEDS, "SequenceMap-17", "[2, 1]", "agree")
