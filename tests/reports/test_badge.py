"""The badge: what shields.io takes, and nothing better than the truth."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings

from made_runs import WILD, record, run, wild_run
from opcheck.harness.record import Outcome, Problem
from opcheck.reports.badge import badge

PASSES = [record(title=f"{i}") for i in range(1754)]
FAILS = [record(Outcome.FAILED, title=f"f{i}") for i in range(130)]
KNOWN = [record(Outcome.FAILED, title=f"f{i}", expected=True) for i in range(130)]
OTHER = [record(title="0", backend="other"), record(Outcome.CRASHED, title="1", backend="other")]


@pytest.mark.parametrize(
    ("made", "message", "colour", "broken"),
    [
        (run(*PASSES), "1,754 of 1,754 pass", "brightgreen", False),
        (run(*PASSES, *KNOWN), "1,754 of 1,884 pass", "green", False),
        (run(*PASSES, *FAILS), "1,754 of 1,884 pass", "red", False),
        (run(*PASSES, unused=["a"]), "1,754 of 1,754 pass", "red", False),
        (run(*PASSES, missing=246), "incomplete: 1,754 of 2,000 pass", "lightgrey", True),
        (run(*PASSES, interrupted=True), "incomplete: 1,754 of 1,754 pass", "lightgrey", True),
        (run(*PASSES, problems=(Problem("a", 1, "", "b"),)), "1,754 of 1,754 pass", "red", True),
        (run(), "no results", "lightgrey", True),
        (run(*PASSES, *OTHER), "some 1,754 of 1,754, other 1 of 2 pass", "red", False),
        (
            run(*(record(backend=f"{i}") for i in range(4)), OTHER[1]),
            "4 of 5 pass on 5 backends",
            "red",
            False,
        ),
    ],
)
def test_the_badge_says_how_it_went(made, message, colour, broken):
    """Bright green only where all passed; results that did not come count as not passed."""
    said = json.loads(badge(made))
    assert said == {
        "schemaVersion": 1,
        "label": "opcheck",
        "message": message,
        "color": colour,
        **({"isError": True} if broken else {}),
    }


@settings(deadline=None, max_examples=50)
@given(WILD)
def test_any_text_is_safe(text):
    """The names of backends are the only text in it; it stays one short line of JSON's UTF-8."""
    said = json.loads(badge(wild_run(text)).encode())
    assert said["message"].isprintable()
    assert len(said["message"]) < 120
