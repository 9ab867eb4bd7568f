"""``opcheck import``: pages, test data and suites become case files that run."""

from __future__ import annotations

import json

import numpy as np
import pytest
import yaml

from opcheck.harness.caseentry import Beside, entry_of
from opcheck.harness.casefile import load
from opcheck.harness.caseyaml import case_file
from opcheck.harness.suite import load_suite

RANGE = """\
.. _op_ai_onnx_Range:

Range
=====

- **Domain**: ``ai.onnx``
- **Since version**: 11

Examples
--------

**test_downwards**

.. code-block:: text

    Node:
      Range(start, limit, delta) -> (output)

.. code-block:: text

    Inputs:
      start: shape=(), dtype=float32
        5.
      limit: shape=(), dtype=float32
        0.
      delta: shape=(), dtype=float32
        -2.5

    Outputs:
      output: shape=(2,), dtype=float32
        [5. , 2.5]
"""
LOOP = """\

**test_loop**

.. code-block:: text

    Node:
      Loop(n, , y) -> (z)
      Attributes:
        body = <subgraph>

.. code-block:: text

    Inputs:
      n: shape=(), dtype=int64
        1
      y: shape=(), dtype=float32
        1.

    Outputs:
      z: shape=(), dtype=float32
        1.
"""


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "Range-11.rst"
    path.write_text(RANGE)
    return path


def test_a_page_becomes_a_file_that_passes(opcheck, page, tmp_path):
    """Written, read again, run."""
    done = opcheck("import", "Range-11.rst", "--output", "range.yaml")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "range.yaml: 1 case\n")
    assert (tmp_path / "range.yaml").read_text() == (
        "# Imported by opcheck from Range-11.rst.\n"
        "operator: Range\n"
        "opset: 11\n"
        "spec: ai.onnx Range-11\n"
        "cases:\n"
        "  - name: test_downwards\n"
        "    node: Range(start, limit, delta) -> (output)\n"
        "    inputs:\n"
        "      start: {dtype: float32, data: 5}\n"
        "      limit: {dtype: float32, data: 0}\n"
        "      delta: {dtype: float32, data: -2.5}\n"
        "    outputs:\n"
        "      output: {dtype: float32, shape: [2], data: [5, 2.5]}\n"
    )
    assert opcheck("run", "range.yaml").returncode == 0


def test_a_file_is_written_over_with_force_only(opcheck, page, tmp_path):
    """What is there may be someone's work."""
    (tmp_path / "range.yaml").write_text("mine")
    done = opcheck("import", "Range-11.rst", "--output", "range.yaml")
    assert done.returncode == 2
    assert "range.yaml is there already; --force writes over it" in done.stderr
    assert (tmp_path / "range.yaml").read_text() == "mine"
    assert opcheck("import", "Range-11.rst", "-o", "range.yaml", "--force").returncode == 0
    assert "test_downwards" in (tmp_path / "range.yaml").read_text()


def test_what_is_not_on_the_page_is_said(opcheck, page):
    """The number of cases with a TODO, and for each the line and what belongs there."""
    page.write_text(RANGE.replace("Range", "Loop") + LOOP)
    page.write_text(page.read_text().replace("Loop(start", "Range(start"))
    done = opcheck("import", "Range-11.rst", "--output", "loop.yaml")
    assert "loop.yaml: 2 cases, 1 needs a TODO filled\n  loop.yaml:18: " in done.stderr
    assert "graph in ONNX's text syntax" in done.stderr
    again = opcheck("run", "loop.yaml")
    assert again.returncode == 2
    assert "seen TODO" in " ".join(again.stdout.split())


def test_a_broken_page_has_a_line_and_costs_its_example_only(opcheck, page):
    """Status 2; the other examples are written."""
    page.write_text(RANGE + RANGE[RANGE.index("**test_down") :].replace("2.5]", "2.5"))
    done = opcheck("import", "Range-11.rst")
    assert done.returncode == 2
    assert "BAD CASE test_downwards" in done.stderr
    assert "Range-11.rst:51" in done.stderr
    assert "a bracket that is not closed" in " ".join(done.stderr.split())
    assert len(yaml.safe_load(done.stdout)["cases"]) == 1


@pytest.mark.parametrize(
    ("content", "seen"),
    [
        (b"", "a page without such a line"),
        (b"\xff\xfe", "0xff"),
        (b"no page", "without such a line"),
        (RANGE.encode()[:70], "without such a line"),
    ],
)
def test_what_is_no_page(opcheck, page, content, seen):
    """An error, never a traceback."""
    page.write_bytes(content)
    done = opcheck("import", "Range-11.rst")
    assert done.returncode == 2
    assert seen in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        (("nowhere.rst",), "cannot read nowhere.rst"),
        (("nowhere",), "nowhere is neither a case file nor a folder"),
        (("Range-11.rst", "--output", "x.txt"), "a name that ends in .yaml"),
        (("Range-11.rst", "--output", "no/such/x.yaml"), "cannot write no/such/x.yaml"),
        ((), "Missing argument"),
    ],
)
def test_wrong_usage(opcheck, page, arguments, seen):
    """What was seen and what was wanted."""
    done = opcheck("import", *arguments)
    assert done.returncode == 2
    assert seen in " ".join(done.stderr.split())


BIG = """\
cases:
  - name: big
    opset: 13
    node: Add(a, b) -> (c)
    inputs:
      a: {dtype: bfloat16, shape: [8], data: [1, 2, 3, 4, 5, 6, 7, 8]}
      b: {dtype: bfloat16, data: 1}
    outputs:
      c: {dtype: bfloat16, shape: [8], data: [2, 3, 4, 5, 6, 7, 8, 9]}
"""


def test_large_tensors_go_beside_the_file(opcheck, tmp_path):
    """In a folder named after it, as npy; without a file there is no place for them."""
    (tmp_path / "big.yaml").write_text(BIG)
    done = opcheck("import", "big.yaml", "--inline", "4", "--output", "out.yaml")
    assert done.returncode == 0
    assert np.load(tmp_path / "out.data" / "big.a.npy").dtype == np.uint16
    assert "a: {dtype: bfloat16, shape: [8], npy: out.data/big.a.npy}" in (
        (tmp_path / "out.yaml").read_text()
    )
    assert opcheck("run", "out.yaml").returncode == 0
    refused = opcheck("import", "big.yaml", "--inline", "4")
    assert refused.returncode == 2
    assert "give --output FILE" in refused.stderr


def test_a_folder_of_test_data(opcheck, small, tmp_path):
    """Export, then import: the cases pass, with the tolerances they had."""
    assert opcheck("export", "small", "--output", "data").returncode == 0
    folder = tmp_path / "data" / "portable" / "numbers"
    (folder / "opcheck.yaml").unlink()
    (folder / "data.json").write_text(json.dumps({"rtol": 0.5, "atol": 0}))
    done = opcheck("import", "data", "--output", "again.yaml")
    assert (done.returncode, done.stderr) == (0, "again.yaml: 3 cases\n")
    assert "tolerance: {rtol: 0.5, atol: 0}" in (tmp_path / "again.yaml").read_text()
    assert "3 passed" in opcheck("run", "again.yaml").stdout


SUITE = """
test_loop11 test_loop16_seq_none test_adam test_if_opt test_sequence_insert_at_back test_constant
test_cast_FLOAT_to_INT4 test_string_split_basic test_add_bcast test_bernoulli test_identity_opt
test_range_int32_type_negative_delta_expanded
""".split()


def test_official_cases_come_back(tmp_path):
    """Written as YAML, loaded: the same operator, node, inputs, outputs, tolerances."""
    from case_equality import assert_same

    cases = load_suite("onnx:node", SUITE).cases
    assert {case.name for case in cases} == set(SUITE)
    beside = Beside("x.data")
    entries = [entry_of(case, case.name, beside) for case in cases]
    path = tmp_path / "x.yaml"
    path.write_text(case_file(entries, "x"), encoding="utf-8")
    beside.write(tmp_path)
    loaded = load(path, "x.yaml")
    assert [str(error) for error in loaded.errors] == []
    for old, new in zip(cases, loaded.cases, strict=True):
        assert_same(old, new, same_model=not new.node)
    assert sum("node" in entry for entry in entries) >= 8
