"""Bodies and models in ONNX's text syntax: no silent misreading, no incidental error."""

from __future__ import annotations

import onnx
import pytest

from opcheck.backends.builtin import Builtin
from opcheck.harness.dtypes import ELEMENT_TYPES, element_type
from opcheck.harness.errors import CaseError
from opcheck.harness.onnxtext import parse_graph, parse_model, substitute

#: The types whose numbers the parser stores as bit patterns, or packs wrongly.
MISREAD = sorted(
    t.name
    for t in ELEMENT_TYPES.values()
    if (t.is_float and t.bits < 32) or (t.is_integer and t.bits < 8)
)


def body(element: str, literal: str) -> str:
    return f"b () => ({element}[2] y) {{ y = Constant<value = {element}[2] {literal}>() }}"


@pytest.mark.parametrize("name", MISREAD)
@pytest.mark.parametrize("place", ["attribute", "initializer", "inner", "function"])
def test_a_literal_that_the_parser_misreads_is_refused(name, place):
    """``float16[2] {1, 2}`` would be the bit patterns 1 and 2, and nobody would notice."""
    element = element_type(name)
    text = {
        "attribute": body(element.text, "{1, 2}"),
        "initializer": f"b () => ({element.text}[2] y) <{element.text}[2] y = {{1, 2}}> {{ }}",
        "inner": "b (bool c) => (y) { y = If<then_branch = t () => (o) { o = Constant<value = "
        f"{element.text}[2] {{1, 2}}>() }}, else_branch = e () => (o) {{ o = Identity(c) }}>(c) }}",
        "function": 'g () => (y) { y = own.f() }\n<opset_import: ["" : 21], domain: "own">\n'
        f"f () => (y) {{ y = Constant<value = {element.text}[2] {{1, 2}}>() }}",
    }[place]
    if place == "function":
        text = f'<ir_version: 13, opset_import: ["" : 21, "own" : 1]>\n{text}'
    parse = (
        (lambda: parse_model(text, {}, None))
        if place == "function"
        else (lambda: parse_graph(text, {}))
    )
    with pytest.raises(CaseError) as caught:
        parse()
    assert f"a literal of {name}" in str(caught.value)
    assert "bit patterns" in str(caught.value)


@pytest.mark.parametrize(
    "name", ["float32", "float64", "int8", "uint16", "int64", "uint64", "bool"]
)
def test_other_literals_are_numbers(name):
    """What the parser reads as numbers stays allowed."""
    element = element_type(name)
    graph = parse_graph(body(element.text, "{1, 0}"), {})
    value = onnx.numpy_helper.to_array(graph.node[0].attribute[0].t)
    assert (value.dtype, value.tolist()) == (element.dtype, [1, 0])


def test_zeros_are_zeros_in_both_readings():
    """They stay allowed, but for float8e8m0, which has no zero."""
    parse_graph(body("float16", "{0, 0}"), {})
    with pytest.raises(CaseError):
        parse_graph(body("float8e8m0", "{0, 0}"), {})


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("y = Optional<type = T[2]>()", "y = Optional<type = double[2]>()"),
        ("y = Optional<type = T>()", "y = Optional<type = double>()"),
        ("y = Optional<type = seq(T[2])>()", "y = Optional<type = seq(double[2])>()"),
        ("y = Foo<mytype = T>()", None),
    ],
)
def test_type_attributes_are_types(text, want):
    """A type parameter is replaced as the value of an attribute called ``type``."""
    assert substitute(text, {"T": "float64"}) == (want or text)


@pytest.mark.parametrize("number", ["1E", "1e+", "1.5e-"])
def test_a_number_that_the_parser_trips_over_is_a_mistake(number):
    """It raises something of its own for these."""
    with pytest.raises(CaseError):
        parse_graph(f"b () => (float y) {{ y = Constant<value_float = {number}>() }}", {})


ERRORS = """\
opset: 21
cases:
  - name: condition_of_two
    node: If(c) -> (y)
    attributes:
      then_branch: "t () => (float[2] o) { o = Constant<value = float[2] {1, 2}>() }"
      else_branch: "e () => (float[2] o) { o = Constant<value = float[2] {3, 4}>() }"
    inputs: {c: {dtype: float32, data: 1}}
    error: true
  - name: nothing_is_known
    node: RandomNormal() -> (y)
    error: true
  - name: too_few
    node: Loop(M) -> (s)
    attributes: {body: "b (int64 i) => (bool c) { c = Constant<value = bool {1}>() }"}
    inputs: {M: {dtype: int64, data: 1}}
    error: true
"""


def test_an_error_case_is_not_refused_for_an_untyped_output(read_cases):
    """Every output has a type, so that a model is rejected for what is wrong with it."""
    for case in read_cases(ERRORS).cases:
        for output in case.call.model.graph.output:
            assert output.type.tensor_type.elem_type == onnx.TensorProto.FLOAT, case.name
            assert output.type.tensor_type.HasField("shape"), case.name
        with pytest.raises(ValueError, match=r".") as caught:
            Builtin().prepare(case.call.model)(case.call.inputs)
        assert "required but missing" not in str(caught.value)
