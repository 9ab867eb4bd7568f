"""ONNX's own cases on the built-in kernels: all of them pass."""

import pytest

from opcheck.backends.builtin import Builtin
from opcheck.harness.judge import Options, run_case
from opcheck.harness.record import Outcome
from opcheck.harness.sources import load_all

#: Suites, and how many cases onnx 1.23 has in them.
SUITES = {
    "onnx:node": 1884,
    "onnx:simple": 26,
    "onnx:pytorch-operator": 35,
    "onnx:pytorch-converted": 82,
}


@pytest.mark.parametrize("suite", SUITES)
def test_every_official_case_passes(suite):
    """The official suite is the second of the two ways in which ONNX defines an operator."""
    loaded = load_all([suite])
    assert loaded.errors == []
    assert len(loaded.cases) == SUITES[suite]
    backend = Builtin()
    records = [run_case(case, backend, Options()) for case in loaded.cases]
    bad = [(r.case, r.outcome.value, r.message) for r in records if r.outcome != Outcome.PASSED]
    assert bad == []
