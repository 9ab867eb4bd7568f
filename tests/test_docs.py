"""The case files shown in the documents are read and pass."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opcheck.backends.builtin import Builtin
from opcheck.harness.casefile import load
from opcheck.harness.judge import Options, run_case
from opcheck.harness.record import Outcome

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", ["README.md", "docs/case-format.md"])
def test_the_cases_shown_pass(tmp_path, name):
    """What a reader copies works as it is."""
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)
    files = [block for block in blocks if "\ncases:\n" in block]
    assert files
    for i, text in enumerate(files):
        path = tmp_path / f"shown{i}.yaml"
        path.write_text(text)
        loaded = load(path, path.name)
        assert [str(e) for e in loaded.errors] == []
        outcomes = {c.id: run_case(c, Builtin(), Options()).outcome for c in loaded.cases}
        assert set(outcomes.values()) == {Outcome.PASSED}, outcomes
