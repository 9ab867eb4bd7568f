"""What cases cover, as tables, pages and stubs."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from math import prod

import onnx.defs
import pytest

from opcheck.backends.builtin import Builtin
from opcheck.harness import yamlfile
from opcheck.harness.casefile import load
from opcheck.harness.coverage import measure, total
from opcheck.harness.dtypes import element_type
from opcheck.harness.judge import Options, run_case
from opcheck.harness.record import Outcome
from opcheck.harness.signatures import schemas_with_signatures
from opcheck.harness.uses import Facts, Formal, Use, facts_of
from opcheck.reports import coverage as reports
from opcheck.reports.coverage_html import page
from opcheck.reports.coverage_stubs import stubs

SCHEMAS = schemas_with_signatures()
EVIL = "]]>\x00\x1b[31m\ud800<script>alert(1)</script>|`*\n"


def some(*names, domain=""):
    return [s for s in SCHEMAS if s.name in names and s.domain == domain]


def one_use(value="edge", unknown=()):
    one = Formal(1, (1,))
    use = Use("", "Pad", 13, (("T", "tensor(float)"),), (("mode", value),), (one,) * 3, (one,))
    return [("a.yaml::a", ("", "Pad", 13), Facts(False, (use,), unknown))]


TABLE = """\
family  signatures  covered  attributes  optionals   ort
tensor        1/16     6.2%         0/1        0/1  6.2%

ai.onnx       1/16     6.2%         0/1        0/1  6.2%

15 signatures of 16 without a case:
  Pad-13 T: bfloat16, bool, complex128, complex64, double, float16, int16,
    int32, int64, int8, string, uint16, uint32, uint64, uint8
Below ort: the share of the signatures with a case that passes there.
"""


def pad_13(**given):
    schemas = [s for s in some("Pad") if s.since_version == 13]
    passed = given.pop("passed", {"ort": {"a.yaml::a"}})
    return measure(schemas, one_use(**given), passed)


def test_the_table():
    """The rows, the totals, what is missing, wrapped to the terminal."""
    lines = reports.table(pad_13(), "family", 80).splitlines()
    assert [re.sub("  +", "  ", line) for line in lines] == [
        re.sub("  +", "  ", line) for line in TABLE.splitlines()
    ]


def test_many_backends_get_tables_that_fit():
    """No line of a table is wider than the terminal, and no backend is left out."""
    names = [f"runtime-number-{i}" for i in range(9)]
    text = reports.table(pad_13(passed={name: set() for name in names}), "family", 80)
    assert max(map(len, text.splitlines())) <= 80
    assert all(re.search(rf"^(family|operator).* {name}\b", text, re.MULTILINE) for name in names)


def test_the_details_say_what_occurs():
    """Attributes with values, inputs with ranks."""
    text = reports.details(pad_13())
    assert "Pad-13: 1 case, and 0 that must be an error" in text
    assert "attribute mode: given 1, left out 0: edge (1)" in text
    assert "input constant_value: given 1, omitted 0, rank 1" in text


def test_json_holds_everything():
    """What the table shows and every signature; it is JSON whatever a case says."""
    found = json.loads(reports.json(pad_13(), "operator"))
    assert found["total"]["signatures"] == {"covered": 1, "total": 16}
    assert [row["name"] for row in found["rows"]] == ["Pad"]
    (schema,) = found["schemas"]
    covered = [s for s in schema["signatures"] if s["cases"]]
    assert covered == [
        {"parameter": "T", "type": "tensor(float)", "cases": 1, "passed": {"ort": 1},
         "unreachable": ""},
    ]  # fmt: skip


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.seen = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)


def test_hostile_texts_stay_inert():
    """An attribute, an operator and a backend may have any name."""
    found = pad_13(value=EVIL, unknown=(EVIL,), passed={EVIL: set()})
    tags = Tags()
    html = page(found, "family")
    tags.feed(html)
    assert "script" not in tags.seen
    markdown = reports.markdown(found, "family")
    assert not re.search(r"<(?!br)", markdown)
    table, details = reports.table(found, "family", 80), reports.details(found)
    for text in (html, markdown, table, details):
        assert not re.search(r"[\x00-\x09\x0b-\x1f\ud800-\udfff]", text)
    rows = [line for line in markdown.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}


def test_the_page_stands_alone():
    """It loads nothing, runs nothing, and has each operator."""
    html = page(measure(SCHEMAS, one_use(), {}), "family")
    assert not re.search(r"(src|href)=|url\(|@import|<script", html)
    assert all(f">{name} <span" in html for name in ("Loop", "Pad", "ai.onnx.ml.Scaler"))
    assert "prefers-color-scheme: dark" in html


# Stubs -------------------------------------------------------------------------------------------


def test_nothing_missing_is_a_file_without_cases(tmp_path):
    """It says so, and is still YAML."""
    path = tmp_path / "none.yaml"
    path.write_text(stubs(measure([], [], {})))
    assert path.read_text() == "# Nothing is missing.\n"
    assert yamlfile.read(path) is None


@pytest.fixture(scope="module")
def all_stubs(tmp_path_factory):
    path = tmp_path_factory.mktemp("stubs") / "all.yaml"
    path.write_text(stubs(measure(SCHEMAS, [], {})))
    return path


def test_stubs_are_case_files_for_every_signature(all_stubs):
    """All that nothing covers is asked for, once; what no model can use has no stub."""
    document = yamlfile.read(all_stubs)
    names = [case["name"] for case in document["cases"]]
    assert len(set(names)) == len(names)
    assert "Tile-1 T1: int64 (no valid model" in all_stubs.read_text()
    wanted = sum(len(c.allowed_type_strs) for s in SCHEMAS for c in s.type_constraints)
    never = 18
    asked = sum(len(case.get("types", {"T": ["map"]})["T"]) for case in document["cases"])
    assert asked == wanted - never


def test_a_stub_that_is_not_filled_is_a_mistake(all_stubs):
    """Each TODO is refused: nothing is run that nobody thought of."""
    loaded = load(all_stubs, "all.yaml")
    assert loaded.cases == []
    assert len(loaded.errors) == len(yamlfile.read(all_stubs)["cases"])


def fill(values, types):
    """Fill in ones, of strings and booleans too."""
    for value in values:
        inner = value.get("sequence") or [value.get("optional")]
        if inner != [None]:
            fill(inner, types)
            continue
        name = element_type(types.get(value["dtype"], value["dtype"])).name
        one = {"string": "1", "bool": True}.get(name, 1)
        value["data"] = [one] * prod(value["shape"]) if value["shape"] else one


@pytest.mark.parametrize(
    ("title", "attributes"),
    [
        ("Add-14", {}), ("Neg-13", {}), ("Where-16", {}), ("Concat-13", {"axis": 0}),
        ("Identity-25", {}), ("SequenceLength-11", {}), ("Shape-25", {}), ("Pow-15", {}),
    ],
)  # fmt: skip
def test_a_filled_stub_is_read_and_run_and_closes_its_gap(tmp_path, title, attributes):
    """Data and attributes are missing, and nothing else has to be changed."""
    name, _, version = title.rpartition("-")
    schema = onnx.defs.get_schema(name, int(version), "")
    path = tmp_path / "stub.yaml"
    path.write_text(stubs(measure([schema], [], {})))
    facts = []
    for stub in yamlfile.read(path)["cases"]:
        for chosen in stub["types"]["T"]:
            case = json.loads(json.dumps(stub))
            case["types"] = {"T": [chosen]}
            if attributes:
                assert case["attributes"] == dict.fromkeys(attributes, "TODO")
                case["attributes"] = attributes
            for key in ("inputs", "outputs"):
                fill(case[key].values(), {"T": chosen})
            path.write_text(json.dumps({"cases": [case]}))
            loaded = load(path, "stub.yaml")
            assert [str(error) for error in loaded.errors] == []
            record = run_case(loaded.cases[0], Builtin(), Options())
            assert record.outcome in (Outcome.PASSED, Outcome.FAILED), record.message
            facts.append(("", ("", "", 0), facts_of(loaded.cases[0])))
    assert total(measure([schema], facts, {})).signatures.percent == "100.0%"
