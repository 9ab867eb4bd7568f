"""``opcheck compare``, ``list``, ``show`` and ``backends``."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

PAIRWISE = """\
Node:
  Scan(X_state, X_scan) -> (state_X_final, dists)
  Attributes:
    body = <subgraph>
    num_scan_inputs = 1

Inputs:
  X_state: shape=(3, 2), dtype=float32
    [[1., 2.],
     [3., 4.],
     [5., 6.]]
  X_scan: shape=(3, 2), dtype=float32
    [[1., 2.],
     [3., 4.],
     [5., 6.]]

Outputs:
  state_X_final: shape=(3, 2), dtype=float32
    [[1., 2.],
     [3., 4.],
     [5., 6.]]
  dists: shape=(3, 3), dtype=float32
    [[ 0.,  8., 32.],
     [ 8.,  0.,  8.],
     [32.,  8.,  0.]]
"""


def test_show_prints_a_case_as_its_page_would(opcheck):
    """Node, attributes, tensors in NumPy's layout; then the body and the command."""
    done = opcheck("show", "cases/controlflow/scan.yaml::scan_pairwise_distance")
    assert done.returncode == 0
    assert PAIRWISE in done.stdout
    assert "dist = ReduceSum" in done.stdout
    assert "opcheck run cases/controlflow/scan.yaml::scan_pairwise_distance" in done.stdout


@pytest.mark.parametrize(
    ("case", "shown"),
    [
        ("cases/generator/range.yaml::range_bfloat16_type_positive_delta",
         "  start: shape=(), dtype=bfloat16\n    1\n"),
        ("cases/generator/range.yaml::range_float16_type_positive_delta",
         "  output: shape=(2,), dtype=float16\n    [1., 3.]\n"),
        ("cases/controlflow/scan.yaml::scan_zero_trip_count",
         "  X: shape=(0, 2), dtype=float32\n    []\n"),
        ("cases/controlflow/loop.yaml::loop11_carried_state",
         "  cond: shape=(), dtype=bool\n    True\n"),
    ],
)  # fmt: skip
def test_show_prints_tensors_as_the_pages_do(opcheck, case, shown):
    """bfloat16, float16, empty and bool tensors have the layout of the pages."""
    assert shown in opcheck("show", case).stdout


def test_compare_puts_values_beside_each_other_and_says_who_is_wrong(opcheck, small):
    """Expected, oracle and backend stand in one table."""
    done = opcheck("compare", "small", "--backend", "mini:wrong-value")
    assert done.returncode == 1
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["index", "expected", "builtin", "mini:wrong-value", "ULP"] in lines
    assert ["[1,", "2]", "7.0", "7.0", "8.0", "2097152"] in lines
    assert "mini:wrong-value is wrong: builtin agrees with the case" in done.stdout
    assert re.search(r"Add +builtin +3\n", done.stdout)
    assert re.search(r"Add +mini:wrong-value +3\n", done.stdout)


def test_compare_blames_the_oracle_or_the_case(opcheck, small):
    """A wrong literal shows as such when both backends agree against it."""
    path = small / "add.yaml"
    path.write_text(path.read_text().replace("[5, 6, 7]", "[5, 6, 70]"))
    done = opcheck("compare", "small", "--backend", "mini:right")
    assert done.returncode == 1
    assert "builtin does not agree with the case either: check the case" in done.stdout


def test_compare_is_content_when_all_agree(opcheck, small):
    """Status 0 and the table by operator."""
    done = opcheck("compare", "small", "--backend", "mini:right")
    assert done.returncode == 0
    assert "6 passed in" in done.stdout


def test_compare_needs_a_backend(opcheck, small):
    """There is nothing to compare the oracle with."""
    done = opcheck("compare", "small")
    assert done.returncode == 2
    assert "--backend" in done.stderr


def test_list_reports_bad_files_and_exits_2(opcheck, small):
    """The good ids on standard output, the mistakes on standard error."""
    path = small / "add.yaml"
    path.write_text(path.read_text().replace("    why:", "    wyh:", 1))
    done = opcheck("list", "small")
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == 2
    assert "small/add.yaml:5" in done.stderr


def test_backends(opcheck):
    """Each kind, whether it can run here, its version."""
    done = opcheck("backends")
    assert done.returncode == 0
    rows = {line.split()[0]: line.split()[1:3] for line in done.stdout.splitlines()}
    assert rows["builtin"][0] == "yes"
    assert rows["reference"][0] == "yes"
    assert rows["onnxruntime"] == ["yes", rows["onnxruntime"][1]]
    assert "mini" in rows


PROGRAM = Path(__file__).parent.parent / "backends" / "command_program.py"


def test_a_program_is_checked(opcheck):
    """``backends --check`` runs good and evil cases, and exits 1 for a fault."""
    good = opcheck("backends", "--check", f"command:{sys.executable} {PROGRAM}")
    assert good.returncode == 0, good.stdout
    assert "fault" not in good.stdout
    bad = opcheck("backends", "--check", "command:true")
    assert bad.returncode == 1
    assert "wanted:" in bad.stdout
    assert opcheck("backends", "--check", "onnxruntime").returncode == 2
    assert opcheck("backends", "--check", "command:no-such-program-at-all").returncode == 3


COPY = """\
opset: 13
cases:
  - name: copy
    node: Identity(x) -> (y)
    inputs: {x: {dtype: float32, data: [1.5, -0.0, .nan]}}
    outputs: {y: {dtype: float32, data: [1.5, -0.0, .nan]}}
"""


def test_a_program_is_a_backend(opcheck, tmp_path):
    """``--backend command:...`` runs cases on it; a program that dies has crashed."""
    (tmp_path / "copy.yaml").write_text(COPY)
    done = opcheck("run", "copy.yaml", "--backend", f"command:{sys.executable} {PROGRAM}")
    assert done.returncode == 0, done.stdout
    assert "1 passed in" in done.stdout
    dies = opcheck("run", "copy.yaml", "--backend", "command:false")
    assert dies.returncode == 3
