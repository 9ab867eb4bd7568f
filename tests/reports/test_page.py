"""The layout of one case: every kind of value, attribute and outcome, as docs/spec.md has it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from opcheck.harness.casefile import load
from opcheck.harness.dtypes import ELEMENT_TYPES
from opcheck.harness.literals import Real, to_array
from opcheck.reports.page import array_text, example, graphs, node_block, page, values_block

CASES = """\
opset: 18
cases:
  - name: attributes
    types: {T: [float16, int8]}
    node: Cast(x) -> (y)
    attributes: {to: T}
    inputs: {x: {dtype: float32, data: [0.1, 16777217]}}
    outputs: {y: {dtype: T, shape: [2], data: [0, null]}}
    tolerance: {ulp: 2, signed_zero: true}
  - name: body
    types: {T: [float16]}
    node: If(c) -> (y)
    attributes:
      then_branch: "t () => (T[1] y) { y = Constant<value_float = 1.5>() }"
      else_branch: "e () => (T[1] y) { y = Constant<value_float = 2.5>() }"
    inputs: {c: {dtype: bool, data: true}}
    any_of:
      - outputs: {y: {dtype: T, data: [1.5]}}
      - error: {phase: run, match: 'a "b"'}
      - error: true
  - name: lists
    node: LeakyRelu(x) -> (y)
    attributes: {alpha: 1e-2}
    inputs: {x: {dtype: float32, shape: [0, 2], data: []}}
    outputs: {y: {dtype: float32, shape: [0, 2], data: []}}
  - name: strings
    node: StringNormalizer(x) -> (y)
    attributes: {case_change_action: LOWER, stopwords: ["a", 'b"c']}
    inputs: {x: {dtype: string, data: ["it's", "d, e"]}}
    outputs: {y: {dtype: string, data: ["it's", null]}}
  - name: sequences
    node: SequenceConstruct(x, x) -> (s)
    inputs: {x: {dtype: float32, data: 1}}
    outputs: {s: {sequence: [{dtype: float32, data: 1}, {dtype: float32, data: 1}]}}
  - name: optionals
    node: OptionalHasElement(o) -> (y)
    inputs: {o: {optional: null, dtype: seq(float32)}}
    outputs: {y: {dtype: bool, data: false}}
  - name: filled
    node: OptionalGetElement(o) -> (y)
    inputs: {o: {optional: {dtype: float32, data: [1]}}}
    outputs: {y: {dtype: float32, data: [1]}}
  - name: random
    node: RandomUniform() -> (y)
    attributes: {shape: [2, 3]}
    inputs: {}
    outputs: {y: {dtype: float32, shape: [2, 3]}}
  - name: large
    node: Identity(x) -> (y)
    inputs: {x: {dtype: int8, shape: [1001], fill: 3}}
    outputs: {y: {dtype: int8, shape: [1001], fill: 3}}
  - name: model
    model: "m (float[1] x) => (float[1] y) { y = Neg(x) }"
    inputs: {x: {dtype: float32, data: [1]}}
    outputs: {y: {dtype: float32, data: [-1]}}
"""
MAPS = """\
cases:
  - name: maps
    opset: 1
    node: ai.onnx.ml.DictVectorizer(m) -> (y)
    attributes: {int64_vocabulary: [1, 2]}
    inputs: {m: {map: {1: 0.5, 2: 1.5}, dtype: "map(int64, float32)"}}
    outputs: {y: {dtype: float32, data: [[0.5, 1.5]]}}
"""


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """The cases above, by title."""
    folder = tmp_path_factory.mktemp("page")
    found = {}
    for name, text in (("cases.yaml", CASES), ("maps.yaml", MAPS)):
        (folder / name).write_text(text)
        loaded = load(folder / name, name)
        assert [str(error) for error in loaded.errors] == []
        found |= {case.title: case for case in loaded.cases}
    return found


NODES = {
    "attributes[int8]": "Node:\n  Cast(x) -> (y)\n  Attributes:\n    to = 3",
    "body[float16]": "Node:\n  If(c) -> (y)\n  Attributes:\n"
    "    else_branch = <subgraph>\n    then_branch = <subgraph>",
    "lists": "Node:\n  LeakyRelu(x) -> (y)\n  Attributes:\n    alpha = 0.01",
    "strings": "Node:\n  StringNormalizer(x) -> (y)\n  Attributes:\n"
    '    case_change_action = "LOWER"\n    stopwords = ["a", "b\\"c"]',
    "random": "Node:\n  RandomUniform() -> (y)\n  Attributes:\n    shape = [2, 3]",
    "sequences": "Node:\n  SequenceConstruct(x, x) -> (s)",
    "model": "Model:\n  m (float[1] x) => (float[1] y) { y = Neg(x) }",
    "maps": "Node:\n  ai.onnx.ml.DictVectorizer(m) -> (y)\n  Attributes:\n"
    "    int64_vocabulary = [1, 2]",
}

VALUES = {
    "attributes[int8]": """\
Inputs:
  x: shape=(2,), dtype=float32
    [1.0000000e-01, 1.6777216e+07]

Outputs:
  y: shape=(2,), dtype=int8
    [0, *]
    (* is undefined)

Tolerance:
  y: ulp=2, signed_zero=True""",
    "body[float16]": """\
Inputs:
  c: shape=(), dtype=bool
    True

Outputs:
  y: shape=(1,), dtype=float16
    [1.5]

or

Error:
  the model must be rejected
  phase = run
  match = "a \\"b\\""

or

Error:
  the model must be rejected""",
    "lists": """\
Inputs:
  x: shape=(0, 2), dtype=float32
    []

Outputs:
  y: shape=(0, 2), dtype=float32
    []""",
    "strings": """\
Inputs:
  x: shape=(2,), dtype=string
    ["it's", 'd, e']

Outputs:
  y: shape=(2,), dtype=string
    ["it's",      *]
    (* is undefined)""",
    "sequences": """\
Inputs:
  x: shape=(), dtype=float32
    1.

Outputs:
  s: a sequence of 2 float32
    [0]: shape=(), dtype=float32
      1.
    [1]: shape=(), dtype=float32
      1.""",
    "optionals": """\
Inputs:
  o: an empty optional seq(float32)

Outputs:
  y: shape=(), dtype=bool
    False""",
    "filled": """\
Inputs:
  o: an optional float32
    value: shape=(1,), dtype=float32
      [1.]

Outputs:
  y: shape=(1,), dtype=float32
    [1.]""",
    "random": "Outputs:\n  y: float32[2, 3], any values",
    "large": """\
Inputs:
  x: shape=(1001,), dtype=int8
    every element is 3

Outputs:
  y: shape=(1001,), dtype=int8
    every element is 3""",
    "maps": """\
Inputs:
  m: a map(int64, float32)
    keys: shape=(2,), dtype=int64
      [1, 2]
    values: shape=(2,), dtype=float32
      [0.5, 1.5]

Outputs:
  y: shape=(1, 2), dtype=float32
    [[0.5, 1.5]]""",
}


@pytest.mark.parametrize("title", NODES)
def test_nodes(cases, title):
    """The node with its attributes sorted, or the model."""
    assert node_block(cases[title]) == NODES[title]


@pytest.mark.parametrize("title", VALUES)
def test_values(cases, title):
    """Inputs, what is due, tolerances."""
    assert values_block(cases[title]) == VALUES[title]
    assert page(cases[title]).endswith(VALUES[title])


def test_graphs_have_the_types_of_the_variant(cases):
    """A type parameter means nothing outside its case."""
    shown = graphs(cases["body[float16]"])
    assert list(shown) == ["else_branch", "then_branch"]
    assert shown["then_branch"] == "t () => (float16[1] y) { y = Constant<value_float = 1.5>() }"
    assert graphs(cases["lists"]) == graphs(cases["model"]) == {}


def test_an_example_names_its_case(cases):
    """So that it can be run."""
    shown = example(cases["attributes[int8]"])
    assert (shown.name, shown.case) == ("attributes[int8]", "cases.yaml::attributes[int8]")
    assert shown.opset == 18


@pytest.mark.parametrize("name", [n for n, e in ELEMENT_TYPES.items() if e.is_float])
def test_floats_are_printed_exactly(name):
    """What is printed, read as a literal, is the same number: all of them, or 5000 patterns."""
    element = ELEMENT_TYPES[name]
    unsigned = np.dtype(f"u{element.dtype.itemsize}")
    if element.bits <= 16:
        patterns = np.arange(2**element.bits, dtype=unsigned)
    else:
        high = 2**element.bits - 1
        patterns = np.random.default_rng(7).integers(0, high, 5000, unsigned, endpoint=True)
    array = patterns.view(element.dtype)
    with np.errstate(invalid="ignore"):
        array = array[np.isfinite(array.astype(np.float64))]
    printed = re.findall(r"[^\s,\[\]]+", array_text(array, None))
    assert len(printed) == len(array)
    again = to_array([Real(text) for text in printed], element)
    assert again.tobytes() == array.tobytes()


def test_large_tensors_are_cut_unless_all_is_wanted():
    """``...`` as NumPy has it, or every element."""
    array = np.arange(1001)
    assert "..., " in array_text(array)
    assert array_text(array, None).count(",") == 1000
    assert array_text(np.zeros(1001), None).count("0.") == 1001
    negative = np.zeros(1001)
    negative[7] = -0.0
    assert "every" not in array_text(negative)
