"""The HTML report as a file: whole, inert whatever it is told, and small."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode, b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opcheck.harness import heat
from opcheck.harness.record import Outcome, Problem, Run
from opcheck.reports.html import TEMPLATES, html, share
from opcheck.reports.text import visible
from report_runs import HOSTILE, large_run, read_run, record, run_of, run_saying

ROOT = Path(__file__).parent.parent.parent


class Page(HTMLParser):
    """The elements of a page with their attributes, and the texts of its scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, list[str]]] = []
        self.attributes: list[tuple[str, str]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": [], "": []}
        self.inside = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, [name for name, _ in attrs]))
        self.attributes += [(name, value or "") for name, value in attrs]
        self.inside = tag if tag in self.texts else ""

    def handle_endtag(self, tag):
        self.inside = ""

    def handle_data(self, data):
        self.texts[self.inside].append(data)

    @property
    def data(self):
        return json.loads(self.texts["script"][0])

    @property
    def shown(self) -> str:
        return " ".join(" ".join(self.texts[""]).split())


def unpacked(text):
    return json.loads(zlib.decompress(b64decode(text)))


#: What markup, scripts and templates are made of.
PIECES = ["<", ">", "&", "'", '"', "</script>", "<!--", "{{", "\x00", "\ud800", "\u2028", "\\", "a"]


@settings(deadline=None, max_examples=40)
@given(
    st.text(st.characters(codec=None), max_size=30)
    | st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
)
def test_a_text_never_becomes_markup(text):
    """Whatever stands in every field, the page has the elements that it has for harmless text."""
    page = Page(html(run_saying(text)))
    assert page.elements == Page(html(run_saying("harmless"))).elements
    assert visible(text) in page.data["strings"]


def test_what_a_hostile_backend_says_is_shown():
    """Markup as it is; control characters and lone surrogates as escapes; colours not at all."""
    page = html(run_saying(HOSTILE))
    assert HOSTILE not in page
    page.encode("utf-8")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u2028\u202e\ud800-\udfff]", page)
    [packed] = Page(page).data["details"].values()
    came = unpacked(packed)["came"][visible(HOSTILE)]
    assert came["printed"] == visible(HOSTILE)
    assert came["printed"].startswith("]]>\\x00red\\ud800<script>window.broken = 1</script>")
    assert came["printed"].endswith("\\u2028\\u202etxt&amp;")


def test_the_page_needs_nothing_but_itself():
    """No element loads anything, and the policy would not let it."""
    text = html(large_run(20))
    page = Page(text)
    assert {name for name, _ in page.attributes} & {"src", "srcset", "action", "onclick"} == set()
    links = [value for name, value in page.attributes if name == "href"]
    assert links == ["data:,", "#results"]
    style, (_, script) = page.texts["style"][0], page.texts["script"]
    assert not re.search(r"url\(|@import|image-set", style)
    assert re.findall(r"https?://[^\s\"'<]+", text) == ["http://www.w3.org/2000/svg"]
    [policy] = [value for _, value in page.attributes if value.startswith("default-src 'none'")]
    for kind, content in (("script", script), ("style", style)):
        digest = b64encode(sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert "innerHTML" not in script
    assert "eval(" not in script


def test_a_large_page_is_small():
    """A passed result costs about a hundred bytes, and opened cases are packed."""
    page = html(large_run(4000))
    assert len(page) < 80_000 + 4000 * 120 + 200 * 700


def test_the_page_of_a_run_is_the_page_of_its_result_file(opcheck, small, tmp_path):
    """Everything that the report needs is in the records."""
    done = opcheck("run", "small", "-b", "mini:noisy", "--html", "a.html", "--json", "a.jsonl")
    assert done.returncode == 1
    run = read_run(tmp_path / "a.jsonl")
    assert list(run.details) == ["small/add.yaml::numbers"]
    assert html(run) == (tmp_path / "a.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("counts", "shown"),
    [
        ({"passed": 3}, "100 %"),
        ({"passed": 99999, "failed": 1}, "99.9 %"),
        ({"passed": 1, "unsupported": 1, "skipped": 8}, "50 %"),
        ({"failed": 1}, "0 %"),
        ({"skipped": 2}, "–"),
        ({}, "–"),
    ],
)
def test_a_share_is_100_only_where_all_passed(counts, shown):
    """What was skipped does not count; unsupported is no pass."""
    assert share(counts) == shown


def test_what_went_wrong_with_the_run_itself_is_shown():
    """Interrupted, missing, unused expectations, mistakes in case files, known and flaky ones."""
    run = run_of(record(), interrupted=True, missing=7, unused=["the entry x"], known=2, flaky=1)
    problem = Problem("a.yaml", 3, "bad", "a.yaml:3: seen this, wanted that")
    shown = Page(html(Run(run.header, run.records, [problem], run.footer))).shown
    assert "This run was interrupted: 7 results are missing." in shown
    assert "the entry x" in shown
    assert "a.yaml:3: seen this, wanted that" in shown
    assert "2 of these are known and expected." in shown
    assert "1 is flaky" in shown


def test_a_run_without_results_says_so():
    """No empty table."""
    page = Page(html(run_of()))
    assert "This run has no results." in page.shown
    assert ("form", ["id", "role", "aria-label"]) not in page.elements


def test_the_unexpected_comes_first():
    """Then what is known to deviate, then the rest, each in the order of the run."""
    records = [
        record(case="f::passed"),
        record(Outcome.FAILED, case="f::known", expected=True),
        record(Outcome.FAILED, case="f::failed"),
        record(case="f::passes-now", expected=False),
        record(Outcome.SKIPPED, case="f::skipped"),
    ]
    data = Page(html(run_of(*records))).data
    names = [data["strings"][row[0]].removeprefix("f::") for row in data["records"]]
    assert names == ["failed", "passes-now", "known", "passed", "skipped"]


def test_the_page_knows_every_mark():
    """The marks of harness/heat.py have a colour, a meaning and a place in the legend."""
    script = (TEMPLATES / "heat.js").read_text()
    style = (TEMPLATES / "report.css").read_text()
    table = dict(re.findall(r'"(.)": \["(\w+)"', script))
    marks = set(heat.MARKS) | set(heat.SHAPE_MARKS) | {heat.DTYPE_MARK}
    assert set(table) == marks
    assert set(re.search(r'MARK_ORDER = "(.*)"', script)[1]) == marks
    for name in table.values():
        assert re.search(rf"\.h-{name}\b", style), name


def test_every_outcome_has_a_sign_and_a_colour():
    """No outcome is told by its colour alone."""
    style = (TEMPLATES / "report.css").read_text()
    signs = {}
    for outcome in Outcome:
        name = outcome.value.replace(" ", "-")
        signs[name] = re.search(rf'\.o-{name}::before {{ content: "(.)"', style)[1]
        assert f".f-{name} {{ fill: var(--" in style
    assert len(set(signs.values())) == len(Outcome)


def test_the_templates_are_in_the_package():
    """An installed opcheck can write the report."""
    assert '"opcheck.reports" = ["templates/*"]' in (ROOT / "pyproject.toml").read_text()
    assert {p.suffix for p in TEMPLATES.iterdir()} == {".j2", ".css", ".js"}
