"""Result files say what a case is, where someone will want to know."""

from __future__ import annotations

import json


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_case_is_described_once_before_its_first_bad_record(opcheck, small, tmp_path):
    """Not those that passed, and not again for another backend."""
    backends = ("-b", "builtin", "-b", "mini:at-float", "-b", "mini:wrong-shape")
    opcheck("run", "small", *backends, "--json", "r.jsonl")
    entries = [
        (e["is"], e["case"].partition("::")[2], e.get("outcome"))
        for e in lines_of(tmp_path / "r.jsonl")[1:-1]
    ]
    assert entries[:4] == [
        ("record", "numbers", "passed"),
        ("case", "numbers", None),
        ("record", "numbers", "failed"),
        ("record", "numbers", "failed"),
    ]
    assert [e[1] for e in entries if e[0] == "case"] == [
        "numbers", "integers[int32]", "integers[int64]",
    ]  # fmt: skip
    described = next(e for e in lines_of(tmp_path / "r.jsonl") if e["is"] == "case")
    assert "Add(a, b) -> (c)" in described["node"]
    assert described["inputs"][1] == {
        "name": "b", "type": "float32", "shape": [], "values": ["1.0"], "total": 1,
    }  # fmt: skip


def test_a_run_that_passes_describes_nothing(opcheck, small, tmp_path):
    """The file of a good run is as small as before."""
    opcheck("run", "small", "--repeat", "2", "--json", "r.jsonl")
    assert {e["is"] for e in lines_of(tmp_path / "r.jsonl")} == {"header", "record", "footer"}


def test_the_page_is_written_by_run_and_compare(opcheck, small, tmp_path):
    """Also of a run that has nothing to complain of, and of one with a mistake in a file."""
    assert opcheck("run", "small", "--html", "a.html").returncode == 0
    assert '<td class="number share">100 %</td>' in (tmp_path / "a.html").read_text()
    (small / "bad.yaml").write_text("operator: [")
    assert opcheck("compare", "small", "-b", "mini:right", "--html", "b.html").returncode == 2
    assert "Mistakes in case files" in (tmp_path / "b.html").read_text()
    done = opcheck("run", "small", "--html", "no/such/folder.html")
    assert done.returncode == 2
    assert "cannot write no/such/folder.html" in done.stderr
