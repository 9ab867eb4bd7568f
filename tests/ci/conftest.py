"""A repository with cases of its own, one of which a runtime is known to fail."""

from __future__ import annotations

from pathlib import Path

import pytest

KNOWN = """\
backend: onnxruntime
sources: [my_cases]
expectations:
  - case: my_cases/add.yaml::numbers
    outcome: failed
    reason: The case has a mistake.
"""


@pytest.fixture
def repository(tmp_path: Path, small: Path) -> Path:
    """Three cases, one of them with a wrong literal, and the file that knows of it."""
    folder = tmp_path / "repository"
    (folder / "my_cases").mkdir(parents=True)
    text = (small / "add.yaml").read_text().replace("[5, 6, 7]", "[5, 6.5, 7]")
    (folder / "my_cases" / "add.yaml").write_text(text)
    (folder / "known.yaml").write_text(KNOWN)
    return folder
