"""``opcheck export``: folders that others read, and that opcheck reads again."""

from __future__ import annotations

import json
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from opcheck.backends.builtin import Builtin
from opcheck.harness.spelling import same_bits

DOCS = Path(__file__).parent.parent.parent / "docs" / "import-export.md"
MORE = """\
operator: Identity
opset: 16
cases:
  - name: kinds
    node: Identity(x) -> (y)
    inputs:
      x: {sequence: [{dtype: float32, data: [1, .nan]}, {dtype: float32, data: []}]}
    outputs:
      y: {sequence: [{dtype: float32, data: [1, .nan]}, {dtype: float32, data: []}]}
  - name: half
    node: Identity(x) -> (y)
    inputs: {x: {dtype: bfloat16, data: [1, 2]}}
    outputs: {y: {dtype: bfloat16, data: [1, null]}}
  - name: refused
    node: Identity(x, x) -> (y)
    inputs: {x: {dtype: string, data: ["a", "é"]}}
    error: true
  - name: either
    opset: 13
    node: Identity(x) -> (y)
    inputs: {x: {dtype: int64, data: 1}}
    any_of:
      - outputs: {y: {dtype: int64, data: 1}}
      - error: true
"""


@pytest.fixture
def more(small):
    (small / "more.yaml").write_text(MORE)
    return small


def test_what_is_exported_runs(opcheck, more, tmp_path):
    """The cases that only opcheck can judge stand apart, and are counted."""
    done = opcheck("export", "small", "--output", "out")
    assert done.returncode == 0
    assert done.stdout == (
        "out/portable: 4 cases\n"
        "out/opcheck-only: 3 cases that other harnesses would judge wrongly: "
        "1 because elements are undefined; 1 because the model must be rejected; "
        "1 because more than one answer is right\n"
    )
    files = sorted(p.relative_to(tmp_path / "out").as_posix() for p in tmp_path.glob("out/*/*"))
    assert files == [
        "opcheck-only/either", "opcheck-only/half", "opcheck-only/refused",
        "portable/integers_int32", "portable/integers_int64", "portable/kinds", "portable/numbers",
    ]  # fmt: skip
    assert sorted(p.name for p in (tmp_path / "out/portable/numbers").rglob("*.*")) == [
        "input_0.pb", "input_1.pb", "model.onnx", "opcheck.yaml", "output_0.pb",
    ]  # fmt: skip
    ran = opcheck("run", "out")
    assert (ran.returncode, "7 passed" in ran.stdout) == (0, True), ran.stdout
    wrong = opcheck("run", "out/portable", "--backend", "mini:wrong-value")
    assert wrong.returncode == 1


def test_a_folder_that_is_not_empty_needs_force(opcheck, small, tmp_path):
    """Then what an export wrote before is replaced, and nothing else is touched."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    done = opcheck("export", "small", "--output", "out")
    assert done.returncode == 2
    assert "the folder is not empty; --force" in done.stderr
    assert opcheck("export", "small", "--output", "out", "--force").returncode == 0
    stale = tmp_path / "out/portable/numbers/test_data_set_0/output_1.pb"
    stale.write_bytes(b"old")
    assert opcheck("export", "small", "--output", "out", "--force").returncode == 0
    assert not stale.exists()
    assert (tmp_path / "out" / "mine.txt").read_text() == "mine"
    (tmp_path / "out/portable/numbers/opcheck.yaml").unlink()
    done = opcheck("export", "small", "--output", "out", "--force")
    assert done.returncode == 2
    assert "did not write" in done.stderr


def test_options_choose_cases(opcheck, small, tmp_path):
    """As for a run; none is status 5."""
    done = opcheck("export", "small", "-k", "int64", "--output", "out")
    assert done.stdout == "out/portable: 1 case\n"
    assert opcheck("export", "small", "-k", "nothing", "--output", "none").returncode == 5


def test_the_npz_reader_of_the_documents(opcheck, more, tmp_path):
    """The example reads the inputs; a model fed with them gives the outputs."""
    assert opcheck("export", "small", "--output", "out", "--format", "npz").returncode == 0
    [example] = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    names: dict = {}
    exec(compile(example, "example", "exec"), names)
    found = names["inputs_of"](tmp_path / "out" / "half")["x"]
    assert same_bits(found, np.array([1, 2], ml_dtypes.bfloat16))
    assert names["inputs_of"](tmp_path / "out" / "refused")["x"].tolist() == ["a", "é"]
    folder = tmp_path / "out" / "numbers"
    import onnx

    [got] = Builtin().prepare(onnx.load(folder / "model.onnx"))(names["inputs_of"](folder))
    about = json.loads((folder / "case.json").read_text())
    [expected] = about["expected"]
    with np.load(folder / "outputs.npz") as arrays:
        assert same_bits(names["tensor"](expected["outputs"][0], arrays), got)


def test_npz_says_all(opcheck, more, tmp_path):
    """Sequences, masks of undefined elements, errors that are due, alternatives."""
    assert opcheck("export", "small", "--output", "out", "--format", "npz").returncode == 0

    def about(name):
        return json.loads((tmp_path / "out" / name / "case.json").read_text())

    kinds = about("kinds")["inputs"][0]
    assert kinds["type"] == "seq(float32)"
    assert [item["array"] for item in kinds["sequence"]] == ["input_0.0", "input_0.1"]
    half = about("half")["expected"][0]["outputs"][0]
    with np.load(tmp_path / "out" / "half" / "outputs.npz") as arrays:
        assert arrays[half["undefined"]].tolist() == [False, True]
        assert arrays[half["array"]].dtype == np.uint16
    assert about("refused")["expected"] == [{"error": {"phase": "", "match": ""}}]
    assert [list(due) for due in about("either")["expected"]] == [["outputs"], ["error"]]
