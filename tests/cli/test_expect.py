"""``--expect`` and ``--update-expect`` on the command line."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

KNOWN = """\
backend: mini:at-float
sources: [small]
expectations:
  - case: small/add.yaml::numbers
    outcome: failed
    reason: Its floats are one too large.
"""


@pytest.fixture
def expected(tmp_path):
    path = tmp_path / "known.yaml"
    path.write_text(KNOWN)
    return path


def test_what_is_listed_is_fine(opcheck, small, expected, tmp_path):
    """Status 0; the deviation is counted, not shown; reports say that it was expected."""
    done = opcheck("run", "small", "-b", "mini:at-float", "--expect", "known.yaml",
                   "--json", "r.jsonl", "--junit", "r.xml")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAILED" not in done.stdout
    assert "1 failed, 2 passed, 1 of them expected in" in done.stdout
    lines = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    record = next(line for line in lines if line["is"] == "record")
    assert record["expected"] is True
    assert "Its floats are one too large." in record["verdict"]
    skipped = ET.parse(tmp_path / "r.xml").getroot().find("testsuite/testcase/skipped")
    assert skipped is not None
    assert "Its floats are one too large." in (skipped.get("message") or "")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(("  - case: small/add.yaml::numbers\n    outcome: failed\n"
                      "    reason: Its floats are one too large.\n", "  []\n"),
                     "no entry of known.yaml covers it", id="deleted"),
        pytest.param(("outcome: failed", "outcome: crashed"), "wanted crashed", id="other-outcome"),
        pytest.param(("numbers", "integers*"), "no longer happens", id="wrong-case"),
        pytest.param(("numbers", "n*\n    type: int64"), "accepts nothing", id="wrong-type"),
        pytest.param(("numbers", "nothing"), "matches nothing", id="matches-nothing"),
    ],
)  # fmt: skip
def test_what_is_not_listed_right_is_unexpected(opcheck, small, expected, change, said):
    """Deleting an entry, or adding a wrong one, makes status 1, and the reason is said."""
    expected.write_text(KNOWN.replace(*change).replace("expectations:\n  []", "expectations: []"))
    done = opcheck("run", "small", "-b", "mini:at-float", "--expect", "known.yaml")
    assert done.returncode == 1, done.stdout
    words = " ".join(done.stdout.split())
    assert said in words or "matches nothing" in words


def test_a_known_failure_that_no_longer_happens_is_unexpected(opcheck, small, expected):
    """The list ratchets."""
    expected.write_text(KNOWN.replace("mini:at-float", "mini:right"))
    done = opcheck("run", "small", "-b", "mini:right", "--expect", "known.yaml")
    assert done.returncode == 1
    assert "no longer happens" in " ".join(done.stdout.split())


def test_a_part_of_the_cases_does_not_make_entries_unused(opcheck, small, expected):
    """What was not run says nothing about the entries."""
    done = opcheck("run", "small", "-b", "mini:at-float", "--expect", "known.yaml", "-k", "int64")
    assert done.returncode == 0


def test_updating_writes_what_happened_and_then_changes_nothing(opcheck, small, tmp_path):
    """A new file is made; with it the run succeeds; a second update is the same file."""
    more = ("run", "small", "-b", "mini:at-float", "--expect", "new.yaml")
    assert opcheck(*more, "--update-expect").returncode == 0
    first = (tmp_path / "new.yaml").read_text()
    assert "small/add.yaml::numbers" in first
    assert "reason: TODO" in first
    assert opcheck(*more).returncode == 0
    assert opcheck(*more, "--update-expect").returncode == 0
    assert (tmp_path / "new.yaml").read_text() == first


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--update-expect",), "--update-expect goes with --expect FILE"),
        (("--expect", "known.yaml"), "known.yaml is for mini:at-float; this run is on builtin"),
        (("--expect", "nowhere.yaml"), "nowhere.yaml"),
        (("-b", "mini:at-float", "--expect", "known.yaml", "--update-expect", "-k", "n"),
         "needs all cases"),
    ],
)  # fmt: skip
def test_wrong_usage(opcheck, small, expected, arguments, said):
    """The message says what goes together."""
    done = opcheck("run", "small", *arguments)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())


def test_a_mistake_in_the_file_has_a_line(opcheck, small, expected):
    """As in a case file."""
    expected.write_text(KNOWN.replace("outcome: failed", "outcome: faild"))
    done = opcheck("run", "small", "-b", "mini:at-float", "--expect", "known.yaml")
    assert done.returncode == 2
    assert "known.yaml:5" in done.stderr
