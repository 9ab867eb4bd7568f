"""What all tests share: the miniature backends, small case files, the command itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
ROOT = TESTS.parent

# Worker processes inherit the path and find the miniature backends on it.
sys.path.insert(0, str(TESTS))

#: A case file with two good cases.
SMALL = """\
operator: Add
opset: 14
cases:
  - name: numbers
    why: Catches a runtime that multiplies.
    node: Add(a, b) -> (c)
    inputs:
      a: {dtype: float32, data: [[1, 2, 3], [4, 5, 6]]}
      b: {dtype: float32, data: 1}
    outputs:
      c: {dtype: float32, data: [[2, 3, 4], [5, 6, 7]]}
  - name: integers
    types: {T: [int32, int64]}
    node: Add(a, b) -> (c)
    inputs:
      a: {dtype: T, data: [1, 2]}
      b: {dtype: T, data: [10, 20]}
    outputs:
      c: {dtype: T, data: [11, 22]}
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder with one case file: three cases that pass."""
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "add.yaml").write_text(SMALL)
    return folder


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that adds the backend kind ``mini`` by an entry point, as a package would."""
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "miniatures.py").write_text((TESTS / "miniatures.py").read_text())
    info = folder / "miniatures-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: miniatures\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[opcheck.backends]\nmini = miniatures:entry\n")
    return folder


Opcheck = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def opcheck(tmp_path: Path, plugin: Path) -> Opcheck:
    """Run the command in a folder of its own, with 80 columns and the ``mini`` backends."""

    def run(
        *arguments: str, cwd: Path = tmp_path, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
        return subprocess.run(
            [sys.executable, "-m", "opcheck", *arguments],
            cwd=cwd,
            env={
                **clean,
                "PYTHONPATH": os.pathsep.join([str(plugin), os.environ.get("PYTHONPATH", "")]),
                "COLUMNS": "80",
                "OPCHECK_CACHE": str(tmp_path / "cache"),
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=240,
            stdin=subprocess.DEVNULL,
        )

    return run
