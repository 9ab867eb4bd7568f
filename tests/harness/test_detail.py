"""What a case is, in text: names as in the differences, undefined elements, bounded size."""

from __future__ import annotations

from base64 import b64decode

import onnx
import pytest

from opcheck.harness.casefile import load
from opcheck.harness.detail import KEPT, detail

TEXT = """\
operator: Identity
opset: 16
cases:
  - name: part_undefined
    node: Identity(x) -> (y)
    inputs:
      x: {dtype: float32, data: [1, 2]}
    outputs:
      y: {dtype: float32, data: [1, null]}
  - name: either
    node: Identity(x) -> (y)
    inputs:
      x: {sequence: [{dtype: int64, data: 7}, {dtype: int64, data: [8]}]}
    any_of:
      - outputs:
          y: {sequence: [{dtype: int64, data: 7}, {dtype: int64, data: [8]}]}
      - error: true
  - name: large
    node: Identity(x) -> (y)
    inputs:
      x: {dtype: float32, shape: [1000], fill: 1}
    outputs:
      y: {dtype: float32, shape: [1000], fill: 1}
  - name: any_size
    node: Identity(x) -> (y)
    inputs:
      x: {dtype: float32, data: [1, 2]}
    outputs:
      y: {dtype: float32, shape: [null], data: null}
"""


@pytest.fixture
def details(tmp_path):
    path = tmp_path / "identity.yaml"
    path.write_text(TEXT)
    loaded = load(path, "identity.yaml")
    return {case.name: detail(case, "the \ud800 node") for case in loaded.cases}


def test_a_detail_holds_text_inputs_answers_and_the_model(details):
    """The undefined is a star; a lone surrogate an escape; the model is the model."""
    made = details["part_undefined"]
    assert made.case == "identity.yaml::part_undefined"
    assert made.node == "the \\ud800 node"
    assert [(e.name, e.type, e.shape, e.values) for e in made.inputs] == [
        ("x", "float32", [2], ["1.0", "2.0"])
    ]
    assert [e.values for e in made.expected[0]] == [["1.0", "*"]]
    model = onnx.ModelProto.FromString(b64decode(made.model))
    assert [node.op_type for node in model.graph.node] == ["Identity"]


def test_each_answer_is_there_and_an_error_is_none(details):
    """The tensors of a sequence are named by their places."""
    first, second = details["either"].expected
    assert [(e.name, e.values) for e in first] == [("y[0]", ["7"]), ("y[1]", ["8"])]
    assert second == []


def test_of_a_large_value_the_beginning_is_kept(details):
    """And its size."""
    for excerpt in (details["large"].inputs[0], details["large"].expected[0][0]):
        assert len(excerpt.values) == KEPT
        assert excerpt.total == 1000
