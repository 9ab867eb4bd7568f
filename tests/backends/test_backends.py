"""Backends by name, and the reference evaluator."""

from __future__ import annotations

import numpy as np
import onnx.parser
import pytest

from opcheck.backends import CannotRun, UnknownBackend, check, create
from opcheck.harness.backend import Unsupported

SCAN = """
<ir_version: 8, opset_import: ["" : 11]>
g (float[2,3] x) => (float[3,2] y) {
  y = Scan<num_scan_inputs = 1, scan_input_axes = [1],
           body = b (float[2] e) => (float[2] o) { o = Identity(e) }>(x)
}
"""


@pytest.mark.parametrize("name", ["builtin", "reference", "onnxruntime"])
def test_each_kind_says_its_name_and_version(name):
    """What the command line calls a backend is what reports call it."""
    backend = create(name)
    assert backend.name == name
    assert backend.version()[0].isdigit()


@pytest.mark.parametrize("name", ["builtin", "onnxruntime", "reference"])
def test_inputs_go_by_name(name):
    """The order of the inputs given is not the order of the model's."""
    header = '<ir_version: 8, opset_import: ["" : 14]>'
    text = f"{header} g (float a, float b) => (float c) {{ c = Sub(a, b) }}"
    run = create(name).prepare(onnx.parser.parse_model(text))
    feeds = {"b": np.array(1, np.float32), "a": np.array(5, np.float32)}
    (result,) = run(feeds)
    assert float(result) == 4


def test_what_the_reference_does_not_implement_is_unsupported():
    """It raises a plain RuntimeError for axes of Scan; the words decide."""
    with pytest.raises(Unsupported, match="axes"):
        create("reference").prepare(onnx.parser.parse_model(SCAN))


def test_an_unknown_kind_lists_the_known_ones():
    """A misspelt backend is wrong usage."""
    with pytest.raises(UnknownBackend, match="builtin, reference, onnxruntime"):
        check("onnxruntim")


def test_an_argument_that_a_kind_does_not_take():
    """``builtin:x`` is refused and says why."""
    with pytest.raises(CannotRun, match="takes no argument"):
        create("builtin:x")
