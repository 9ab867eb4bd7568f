"""The expectations files that come with the project."""

from __future__ import annotations

from pathlib import Path

import pytest

from opcheck.backends import KINDS
from opcheck.harness.expectations import load
from opcheck.harness.sources import load_all

FOLDER = Path(__file__).parent.parent.parent / "expectations"
FILES = sorted(FOLDER.glob("*.yaml"))
BUNDLED = [case.id for case in load_all([]).cases]


def test_there_are_some():
    """An empty folder would pass the tests below."""
    assert {path.stem for path in FILES} >= {"onnxruntime", "reference"}


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_each_file_is_read_and_is_for_a_backend(path):
    """The name of the file is that of its backend."""
    expectations = load(path)
    assert expectations.backend == path.stem
    assert expectations.backend in KINDS
    assert expectations.entries


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_each_entry_matches_a_case_and_has_a_reason(path):
    """A case that is renamed takes its entry along; reasons still to be found are few."""
    expectations = load(path)
    for entry in expectations.entries:
        for glob in entry.globs:
            if not glob.text.startswith("onnx:"):
                assert any(glob.matches(case) for case in BUNDLED), entry.where
    assert len(expectations.todo) <= 1
