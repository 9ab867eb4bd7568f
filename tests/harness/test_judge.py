"""The checker, tested with backends that are wrong in one way each."""

from __future__ import annotations

from pathlib import Path

import pytest

from miniatures import MINIATURES, create
from opcheck.harness.casefile import load
from opcheck.harness.judge import Options, run_case
from opcheck.harness.record import Outcome

CASES = """\
operator: Add
opset: 14
cases:
  - name: values
    node: Add(a, b) -> (c)
    inputs: {a: {dtype: float32, data: [[1, 2], [3, 4]]}, b: {dtype: float32, data: [1, 1]}}
    outputs: {c: {dtype: float32, data: [[2, 3], [4, 5]]}}
  - name: must_fail
    node: Add(a, b) -> (c)
    inputs: {a: {dtype: float32, data: [1, 2]}, b: {dtype: float32, data: [1, 1, 1]}}
    error: true
  - name: either
    node: Add(a, b) -> (c)
    inputs: {a: {dtype: float32, data: [1, 2]}, b: {dtype: float32, data: [1, 1]}}
    any_of:
      - outputs: {c: {dtype: float32, data: [9, 9]}}
      - outputs: {c: {dtype: float32, data: [2, 3]}}
      - error: true
"""


@pytest.fixture
def cases(tmp_path: Path) -> dict[str, object]:
    path = tmp_path / "add.yaml"
    path.write_text(CASES)
    loaded = load(path, "add.yaml")
    assert not loaded.errors
    return {case.name: case for case in loaded.cases}


@pytest.mark.parametrize(
    ("backend", "outcome", "reason"),
    [
        pytest.param("right", Outcome.PASSED, "", id="right"),
        pytest.param("scalars", Outcome.PASSED, "", id="scalars"),
        pytest.param("wrong-value", Outcome.FAILED, "values", id="wrong-value"),
        pytest.param("wrong-dtype", Outcome.FAILED, "dtype", id="wrong-dtype"),
        pytest.param("wrong-shape", Outcome.FAILED, "shape", id="wrong-shape"),
        pytest.param("output-missing", Outcome.FAILED, "count", id="output-missing"),
        pytest.param("python-list", Outcome.FAILED, "kind", id="python-list"),
        pytest.param("no-list", Outcome.ERRORED, "", id="no-list"),
        pytest.param("raises-loading", Outcome.ERRORED, "", id="raises-loading"),
        pytest.param("raises-running", Outcome.ERRORED, "", id="raises-running"),
        pytest.param("exits", Outcome.ERRORED, "", id="exits"),
        pytest.param("unsupported", Outcome.UNSUPPORTED, "", id="unsupported"),
        pytest.param("skips", Outcome.SKIPPED, "", id="skips"),
        pytest.param("unsupported-late", Outcome.UNSUPPORTED, "", id="unsupported-late"),
        pytest.param("out-of-memory", Outcome.OUT_OF_MEMORY, "", id="out-of-memory"),
    ],
)
def test_a_backend_gets_the_outcome_it_earned(cases, backend, outcome, reason):
    """Unsupported is never a pass, and an error never a difference."""
    record = run_case(cases["values"], create(backend), Options())
    assert record.outcome is outcome
    assert [d.reason for d in record.differences] == ([reason] if reason else [])


def test_the_difference_names_the_element(cases):
    """The last of four elements is off by one."""
    difference = run_case(cases["values"], create("wrong-value"), Options()).differences[0]
    assert (difference.different, difference.total) == (1, 4)
    row = difference.rows[0]
    assert (row.index, row.expected, row.got, row.absolute) == ([1, 1], "5.0", "6.0", "1")
    assert difference.worst == row


@pytest.mark.parametrize(
    ("backend", "outcome"),
    [
        ("right", Outcome.PASSED),
        ("raises-loading", Outcome.PASSED),
        ("unsupported", Outcome.UNSUPPORTED),
        ("out-of-memory", Outcome.FAILED),
    ],
)
def test_an_error_that_is_due(cases, backend, outcome):
    """Refusing passes; saying "not implemented" does not.

    The miniature that runs out of memory while running is never reached: the shapes disagree
    already when the model is loaded, which passes.
    """
    record = run_case(cases["must_fail"], create(backend), Options())
    assert record.outcome is (Outcome.PASSED if backend == "out-of-memory" else outcome)


def test_an_error_that_does_not_come_is_a_failure(cases):
    """A backend that gives outputs where the model must be rejected has failed."""
    backend = MINIATURES["right"]
    made = type(backend)("lenient")
    made.prepare = lambda model: lambda feeds: [feeds["a"]]
    record = run_case(cases["must_fail"], made, Options())
    assert record.outcome is Outcome.FAILED
    assert record.message == "the model must be rejected; the backend gave float32[2]"


@pytest.mark.parametrize(
    ("backend", "outcome"),
    [
        ("right", Outcome.PASSED),
        ("raises-running", Outcome.PASSED),
        ("wrong-value", Outcome.FAILED),
        ("unsupported", Outcome.UNSUPPORTED),
    ],
)
def test_one_of_several_results_is_enough(cases, backend, outcome):
    """``any_of`` accepts each of its entries and nothing else."""
    assert run_case(cases["either"], create(backend), Options()).outcome is outcome


@pytest.mark.parametrize(
    ("error", "outcome", "message"),
    [
        ("{phase: load}", Outcome.PASSED, ""),
        ("{phase: run}", Outcome.FAILED, "the error came in phase load, it was due in phase run"),
        ("{match: 'Incompatible dimensions'}", Outcome.PASSED, ""),
        ("{match: 'no such words'}", Outcome.FAILED, "the error was due to match 'no such words'"),
    ],
)
def test_phase_and_message_bind_the_oracle_only(tmp_path, error, outcome, message):
    """Another backend just has to refuse."""
    from opcheck.backends.builtin import Builtin

    path = tmp_path / "add.yaml"
    path.write_text(
        CASES.replace("error: true\n  - name: either", f"error: {error}\n  - name: either")
    )
    case = next(c for c in load(path, "add.yaml").cases if c.name == "must_fail")
    record = run_case(case, Builtin(), Options())
    assert record.outcome is outcome
    assert record.message.startswith(message)
    assert run_case(case, create("raises-running"), Options()).outcome is Outcome.PASSED


def test_the_command_line_overrides_tolerances(cases):
    """``--atol`` and its like stand in place of what the case says."""
    wrong = create("wrong-value")
    assert run_case(cases["values"], wrong, Options(atol=1.0)).outcome is Outcome.PASSED
    assert run_case(cases["values"], wrong, Options(atol=0.5)).outcome is Outcome.FAILED
    assert run_case(cases["values"], wrong, Options(rtol=0.2)).outcome is Outcome.PASSED
    assert run_case(cases["values"], wrong, Options(ulp=2.0**21)).outcome is Outcome.PASSED
    assert run_case(cases["values"], wrong, Options(ulp=0)).outcome is Outcome.FAILED
