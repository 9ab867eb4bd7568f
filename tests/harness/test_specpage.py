"""Examples of specification pages become cases; a broken page gives an error with a line."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opcheck.harness.caseentry import Beside
from opcheck.harness.casefile import Unfinished, load
from opcheck.harness.caseyaml import case_file
from opcheck.harness.literals import Todo
from opcheck.harness.specpage import read_page

PAGE = """\
.. _op_ai_onnx_Scan:

Scan - version 11
=================

- **Domain**: ``ai.onnx``
- **Since version**: 11

Text of its own.

Examples
--------

**test_prefix_sum**

.. code-block:: text

    Node:
      Scan(start, x) -> (total, sums)
      Attributes:
        body = <subgraph>
        num_scan_inputs = 1
        scan_input_axes = [-1]

.. code-block:: text

    Inputs:
      start: shape=(), dtype=float32
        0.
      x: shape=(3,), dtype=float32
        [1., 2., 3.]

    Outputs:
      total: shape=(), dtype=float32
        6.
      sums: shape=(3,), dtype=float32
        [1., 3., 6.]

**test_two\\*stars[float32]**

.. code-block:: text

    Node:
      Scan(x) -> (y)
      Attributes:
        body = <subgraph>
        num_scan_inputs = 1

.. code-block:: text

    Inputs:
      x: shape=(0, 2), dtype=float32
        []

    Outputs:
      y: shape=(0, 2), dtype=float32
        []

Version History
---------------

- :doc:`Version 9 <Scan-9>`
"""

OURS = """\
Clip
====

- **Domain**: ``ai.onnx``
- **Since version**: 13

Examples
--------

**both\\_bounds**

It catches a bound that is \\*missed\\*.

Case: ``cases/math/clip.yaml::both_bounds``, opset 14.

.. code-block:: text

    Node:
      Clip(x, , high) -> (y)

.. code-block:: text

    Inputs:
      x: shape=(2,), dtype=float32
        [ 1.5, -0. ]
      high: shape=(), dtype=float32
        1.

    Outputs:
      y: shape=(2,), dtype=float32
        [1., *]
      (* is undefined)

    or

    Error:
      the model must be rejected
      phase = run
      match = "no \\"low\\""

    Tolerance:
      y: ulp=2, signed_zero=True
"""


def page(text):
    return read_page(text, "page.rst", Beside("data"))


def test_the_examples_become_cases():
    """Operator, opset, node, attributes and tensors; the body is not on the page."""
    found = page(PAGE)
    assert found.errors == []
    first, second = found.entries
    assert first == {
        "name": "test_prefix_sum",
        "operator": "Scan",
        "opset": 11,
        "spec": "ai.onnx Scan-11",
        "node": "Scan(start, x) -> (total, sums)",
        "attributes": {"body": "TODO", "num_scan_inputs": 1, "scan_input_axes": [-1]},
        "inputs": {
            "start": {"dtype": "float32", "data": 0},
            "x": {"dtype": "float32", "shape": [3], "data": [1, 2, 3]},
        },
        "outputs": {
            "total": {"dtype": "float32", "data": 6},
            "sums": {"dtype": "float32", "shape": [3], "data": [1, 3, 6]},
        },
    }
    assert isinstance(first["attributes"]["body"], Todo)
    assert second["name"] == "test_two_stars_float32"
    assert second["outputs"] == {"y": {"dtype": "float32", "shape": [0, 2], "data": []}}


def test_our_own_pages_say_more():
    """Why, opset, omitted inputs, undefined elements, alternatives, errors, tolerances."""
    text = OURS.replace("      (* is undefined)", "        (* is undefined)")
    [entry] = page(text).entries
    assert entry["why"] == "It catches a bound that is *missed*."
    assert entry["opset"] == 14
    assert entry["node"] == "Clip(x, , high) -> (y)"
    assert str(entry["inputs"]["x"]["data"]) == "[1.5, -0.0]"
    outputs, error = entry["any_of"]
    assert outputs["outputs"]["y"]["data"] == [1, None]
    assert error == {"error": {"phase": "run", "match": 'no "low"'}}
    assert {k: str(v) for k, v in entry["tolerance"].items()} == {"ulp": "2", "signed_zero": "True"}


def test_a_filled_todo_runs(tmp_path):
    """The case file says where the body belongs; with it, the case is whole."""
    path = tmp_path / "scan.yaml"
    path.write_text(case_file(page(PAGE).entries, "x"))
    loaded = load(path, "scan.yaml")
    assert [type(error) for error in loaded.errors] == [Unfinished, Unfinished]
    lines = path.read_text().splitlines()
    assert [lines[error.line - 1].split("#")[0].strip() for error in loaded.errors] == (
        ["body: TODO"] * 2
    )
    body = "body: |\n        b (float a, float e) => (float c, float d) {\n" \
           "          c = Add(a, e)\n          d = Identity(c)\n        }"  # fmt: skip
    path.write_text(re.sub(r"body: TODO.*", body, path.read_text(), count=1))
    assert [case.name for case in load(path, "scan.yaml").cases] == ["test_prefix_sum"]


@pytest.mark.parametrize(
    ("old", "new", "line", "seen"),
    [
        ("Scan - version 11\n=====", "Scan - version 11\n", 1, "no heading"),
        ("- **Domain**: ``ai.onnx``", "", 1, "without such a line"),
        ("- **Since version**: 11", "- **Since version**: eleven", 1, "without such a line"),
        ("Examples\n--------", "Samples\n-------", None, "no heading Examples"),
        ("**test_prefix_sum**", "", 16, "before any title"),
        ("    Node:\n      Scan(start", "    Knot:\n      Scan(start", 18, "Knot:"),
        ("      Scan(start, x) -> (total, sums)\n", "", 18, "no node"),
        ("        num_scan_inputs = 1\n        scan", "        num_scan_inputs: 1\n        scan",
         22, "num_scan_inputs: 1"),
        ("scan_input_axes = [-1]", "scan_input_axes = [x y]", 23, "x y"),
        ("[1., 2., 3.]", "[1., 2.]", 30, "shape (3,)"),
        ("        [1., 2., 3.]\n", "", 30, "no elements"),
        ("dtype=float32\n        0.", "dtype=floaty\n        0.", 28, "floaty"),
        ("      x: shape=(3,)", "      start: shape=(3,)", 30, "twice"),
        ("    Outputs:\n      total", "    Output:\n      total", 33, "Output:"),
    ],
)  # fmt: skip
def test_a_broken_page_has_a_line(old, new, line, seen):
    """The first mistake, what stands there; other examples are read all the same."""
    text = PAGE.replace(old, new, 1)
    assert text != PAGE
    error = page(text).errors[0]
    assert (error.file, seen in error.seen) == ("page.rst", True), str(error)
    assert line is None or error.line == line, str(error)


LINES = PAGE.split("\n") + OURS.split("\n")


@given(
    st.lists(st.sampled_from(LINES), max_size=60),
    st.lists(st.tuples(st.integers(0, len(LINES) - 1), st.sampled_from(LINES)), max_size=4),
)
@settings(max_examples=200, deadline=None)
def test_wild_pages_never_break_the_reader(lines, swaps):
    """Lines in any order, and pages with a few lines replaced."""
    torn = LINES.copy()
    for place, line in swaps:
        torn[place] = line
    for text in ("\n".join(lines), "\n".join(torn)):
        found = page(text)
        assert found.entries or found.errors
        assert all(error.line for error in found.errors)
        if found.entries:
            assert case_file(found.entries, "x").startswith("# x\n")
