"""The page, its plots, and the results that they show."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from benchmarks import page, plots, results
from benchmarks.catalogue import CATALOGUE
from benchmarks.growth import GROWTH


def entry(name="loop", **changes):
    made = {
        "name": name, "what": "Loop of something", "against": "its peer", "unit": "seconds",
        "target": 1.0, "note": "Said of it.", "ours": [0.001], "ours_median": 0.001,
        "peer": [0.002], "peer_median": 0.002, "ratio": 0.5, "met": True,
    }  # fmt: skip
    return {**made, **changes}


GROWN = {
    "name": "cases", "title": "Cases", "along": "cases", "per": "seconds per case",
    "rows": [
        {"size": 10, "opcheck": 0.5, "opcheck, memory": 9e7},
        {"size": 1000, "opcheck": 0.002, "opcheck, memory": 9.5e7},
    ],
}  # fmt: skip

RESULTS = {
    "format": 1,
    "quick": False,
    "machine": {
        "cores": 2, "cpu": "A CPU", "memory": 16 * 10**9, "system": "Linux", "python": "CPython 3",
        "packages": {"onnx": "1.23.2"},
    },
    "benchmarks": [entry()],
    "growth": [GROWN],
}  # fmt: skip


def test_the_page_has_what_the_results_have():
    """Numbers, remarks, the machine and the growth."""
    made = page.page(RESULTS)
    assert (
        "| `loop` | Loop of something | its peer | 1.00 ms | 2.00 ms | 0.50 | 1.00 | met |" in made
    )
    assert "- `loop`: Said of it." in made
    assert "| CPU | A CPU, 2 cores |" in made
    assert "onnx 1.23.2" in made
    assert "| 1,000 | 2.00 ms | 95.0 MB |" in made
    assert "(plots/cases.svg)" in made
    assert "All of them are reached." in made
    assert "{{" not in made


@pytest.mark.parametrize(
    ("changes", "head"),
    [
        pytest.param(
            {"ratio": 1.7, "met": False}, "### `loop`: 1.70, at most 1.00 was wanted", id="ratio"
        ),
        pytest.param(
            {"above": 3e8, "above_target": 2e8, "met": False},
            "### `loop`: 300 MB of memory, at most 200 MB was wanted",
            id="memory",
        ),
    ],
)
def test_a_number_that_is_not_reached_gets_its_reason(changes, head):
    """The hand-written one; where there is none, the page says so."""
    missed = entry(**changes)
    assert page.unmet([missed], {"loop": "Because."}) == f"{head}\n\nBecause."
    assert page.unmet([missed], {}).endswith("Not yet looked into.")


def test_each_reason_is_one_of_a_benchmark():
    """A name that changes takes its reason along."""
    assert set(page.reasons()) <= {b.name for b in CATALOGUE}


def stored():
    return results.read(page.STORED)


def test_the_page_is_what_the_stored_results_make():
    """``python -m benchmarks --page`` writes it."""
    assert page.PAGE.read_text(encoding="utf-8") == page.page(stored())


def test_the_stored_results_are_complete():
    """All benchmarks, all growth, full sizes, no failures."""
    found = stored()
    assert [e["name"] for e in found["benchmarks"]] == [b.name for b in CATALOGUE]
    for e, b in zip(found["benchmarks"], CATALOGUE, strict=True):
        assert (e["what"], e["against"], e["target"]) == (b.what, b.against, b.target)
    assert [e["name"] for e in found["growth"]] == [g.name for g in GROWTH]
    for e, g in zip(found["growth"], GROWTH, strict=True):
        assert [row["size"] for row in e["rows"]] == list(g.sizes)
    assert found["quick"] is False
    assert results.failed(found) == []


def test_the_plots_are_drawn_from_the_stored_results():
    """Each carries a digest of its numbers; none has a date or a path; all are small."""
    for grown in stored()["growth"]:
        drawn = (page.PLOTS / f"{grown['name']}.svg").read_text(encoding="utf-8")
        assert f"drawn from {plots.digest(grown)}" in drawn
        assert len(drawn) < 50_000
        assert "<dc:date>" not in drawn
        assert not re.search(r"/(work|root|home|tmp)/", drawn)


def test_drawing_gives_the_same_file_each_time(tmp_path):
    """And text as text, on no background."""
    pytest.importorskip("matplotlib")
    first, second = (plots.draw([GROWN], tmp_path / name)[0].read_text() for name in "ab")
    assert first == second
    ElementTree.fromstring(first)
    assert "seconds per case" in first
    assert plots.digest(GROWN) in first
    assert not re.search(r"fill: #ffffff", first)
