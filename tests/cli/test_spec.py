"""``opcheck spec``."""

from __future__ import annotations

import json
import re

import onnx.defs
import pytest

from opcheck.harness.archive import cache_folder

WILD = """\
opset: 14
cases:
  - name: wild
    why: "`]]>` <script>alert(1)</script> *x* |y| z_ \\e[31mred\\0 \\u202E"
    node: Identity(x) -> (y)
    inputs: {x: {dtype: string, data: ["<script>", "```", "a\\nb\\e[0m"]}}
    outputs: {y: {dtype: string, data: ["<script>", "```", "a\\nb\\e[0m"]}}
"""


def test_a_page_of_a_version(opcheck):
    """Facts, an example among all bundled cases, the difference, the other versions."""
    done = opcheck("spec", "Loop-11", "--format", "rst", OPCHECK_CACHE=str(cache_folder()))
    assert done.returncode == 0
    for part in (
        "Loop - version 11\n=================\n",
        "- **cond** (*B*): A boolean termination condition. Optional.",
        "**loop11_carried_state**\n",
        "    Node:\n      Loop(trip_count, cond, y) -> (res_y, res_scan)\n      Attributes:\n"
        "        body = <subgraph>\n",
        "      res_scan: shape=(5, 1), dtype=float32\n        [[-1.],\n         [ 1.],\n",
        "Differences with previous version (1)\n-------------------------------------\n",
        "* breaking: no\n",
        "- :doc:`Version 1 <Loop-1>`\n",
    ):
        assert part in done.stdout


def test_the_latest_page_on_a_terminal(opcheck):
    """Within 80 columns, without colours where it is piped."""
    source = "cases/generator/range.yaml"
    done = opcheck("spec", "Range", "--diff", "11", "--examples", "1", "--source", source)
    assert done.returncode == 0
    assert done.stdout.startswith("Range-27  ai.onnx, generator\nOther versions: Range-11\n")
    assert "Differences with previous version (11)\n  from 11 to 27: not breaking" in done.stdout
    assert "cases/generator/range.yaml::" in done.stdout
    assert re.search(
        r"\d+ more examples: *\n    opcheck list cases/generator/range.yaml --op Range --opset 27",
        done.stdout,
    )
    assert "\x1b" not in done.stdout
    long = [line for line in done.stdout.splitlines() if len(line) > 80]
    assert all("opcheck list" in line or "::" in line for line in long)


def test_json(opcheck):
    """A program reads it."""
    done = opcheck("spec", "ai.onnx.ml::Scaler-1", "--no-examples", "--format", "json")
    page = json.loads(done.stdout)
    assert (page["domain"], page["name"], page["since_version"]) == ("ai.onnx.ml", "Scaler", 1)
    assert [a["name"] for a in page["attributes"]] == ["offset", "scale"]
    assert page["examples"] == []
    assert page["difference"] is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["Lop"], "did you mean Loop or"),
        (["Loop-12"], "in opset 12, Loop-11 is valid; there are Loop-1,"),
        (["Range", "--diff", "12", "--no-examples"], "Range has no version 12;"),
        (["Range", "--diff", "27", "--no-examples"], "does not differ from itself"),
        ([], "name one operator"),
        (["Loop", "--all", "--output", "x"], "name one operator"),
        (["--all"], "--all and --output DIR go together"),
        (["Loop", "--output", "x"], "--all and --output DIR go together"),
        (["--all", "--output", "x", "--format", "json"], "--all writes rst or markdown"),
        (["--all", "--output", "x", "--diff", "1"], "--all writes rst or markdown"),
        (["Loop", "--source", "nowhere"], "nowhere is neither a case file nor a folder"),
    ],
)
def test_mistakes(opcheck, tmp_path, arguments, says):
    """Status 2, and what to write in its place."""
    done = opcheck("spec", *arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert not (tmp_path / "x").exists()


def test_examples_from_another_source(opcheck, small):
    """Its good cases are shown, its mistakes reported."""
    (small / "bad.yaml").write_text("cases: []\n")
    done = opcheck("spec", "Add-14", "--source", "small", "--format", "markdown")
    assert done.returncode == 2
    assert "small/bad.yaml" in done.stderr
    assert "**integers\\[int64\\]**" in done.stdout
    assert "Case: `small/add.yaml::numbers`, opset 14." in done.stdout
    assert "Examples" not in opcheck("spec", "Sub", "--source", "small/add.yaml").stdout


def test_onnx_test_data_is_printed_as_a_node(opcheck):
    """The official suite comes in the layout of the pages."""
    done = opcheck("spec", "Loop-11", "--source", "onnx:node::test_loop11", "--format", "rst",
                   OPCHECK_CACHE=str(cache_folder()))  # fmt: skip
    assert "    Node:\n      Loop(trip_count, cond, y) -> (res_y, res_scan)\n" in done.stdout
    assert "      res_y: rtol=0.001, atol=1e-07\n" in done.stdout
    assert "\n    Graph body:\n      loop_body (int64 iter_count" in done.stdout


@pytest.mark.parametrize("form", ["terminal", "rst", "markdown", "json"])
def test_wild_texts_are_inert(opcheck, tmp_path, form):
    """Neither colours nor markup of a case reach the page."""
    (tmp_path / "wild.yaml").write_text(WILD)
    done = opcheck("spec", "Identity-14", "--source", "wild.yaml", "--format", form)
    assert done.returncode == 0
    for character in "\x1b\0" if form == "json" else "\x1b\0\u202e":
        assert character not in done.stdout
    if form == "rst":
        assert r"\`]]>\` <script>alert(1)</script> \*x\* \|y\| z\_ \\x1b[31mred" in done.stdout
    if form == "markdown":
        assert r"\<script\>alert(1)\</script\>" in done.stdout
        assert "\n````text\nInputs:" in done.stdout


@pytest.mark.parametrize(("form", "suffix"), [("rst", ".rst"), ("markdown", ".md")])
def test_all_pages(opcheck, tmp_path, form, suffix):
    """One page for each schema, an index that leads to all, and no link that leads nowhere."""
    done = opcheck("spec", "--all", "--no-examples", "--output", "pages", "--format", form)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"659 pages and index{suffix} are in pages\n"
    folder = tmp_path / "pages"
    pages = {p.relative_to(folder).as_posix(): p.read_text() for p in folder.rglob(f"*{suffix}")}
    schemas = onnx.defs.get_all_schemas_with_history()
    assert len(pages) == len(schemas) + 1 == 660
    latest = {f"{s.domain or 'ai.onnx'}/{s.name}{suffix}" for s in schemas}
    assert latest <= set(pages)
    links = {name: _links(text, form, suffix) for name, text in pages.items()}
    for name, targets in links.items():
        at = name.rpartition("/")[0]
        assert {f"{at}/{t}".lstrip("/") for t in targets} <= set(pages), name
    assert set(links[f"index{suffix}"]) == set(pages) - {f"index{suffix}"}
    history = links[f"ai.onnx/Loop-11{suffix}"]
    assert {f"Loop{suffix}", f"Loop-1{suffix}", f"Loop-13{suffix}"} <= set(history)


def _links(text, form, suffix):
    if form == "rst":
        return [f"{t}{suffix}" for t in re.findall(r":doc:`(?:[^`<]* <)?([^`>]+)>?`", text)]
    text = re.sub(r"(?ms)^(````*).*?^\1$", "", text)
    return [t for t in re.findall(r"\]\(([^)\s]+)\)", text) if t.endswith(suffix) and ":" not in t]


def test_all_pages_with_examples_are_the_same_twice(opcheck, tmp_path):
    """The same cases give the same bytes; an example names its case."""
    (tmp_path / "wild.yaml").write_text(WILD)
    for name in ("one", "two"):
        opcheck("spec", "--all", "--source", "wild.yaml", "--output", name)
    one, two = ({p.name: p.read_bytes() for p in (tmp_path / n).rglob("*")  if p.is_file()}
                for n in ("one", "two"))  # fmt: skip
    assert one == two
    assert len(one) == 660
    assert b"Case: ``wild.yaml::wild``, opset 14." in one["Identity-14.rst"]
    assert b"Examples" not in one["Identity.rst"]
