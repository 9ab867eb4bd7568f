"""Markdown: what GitHub's own renderer makes of it, and how much of it there is."""

from __future__ import annotations

from html.parser import HTMLParser

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import example, given, settings

from made_runs import WILD, different, record, run, wild_run
from opcheck.harness.record import Outcome, Problem, Run
from opcheck.reports.markdown import LIMIT, markdown

#: Elements that the report is made of; none of them leads anywhere or runs anything.
TAGS = set("h3 h4 table thead tbody tr th td ul li p pre code details summary".split())


class Page(HTMLParser):
    """A rendered page: its tags in order, the text outside of code, and the text of each code."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.prose = ""
        self.codes: list[str] = []
        self.inside = False
        self.attributes: set[str] = set()
        self.feed(cmarkgfm.github_flavored_markdown_to_html(source, Options.CMARK_OPT_UNSAFE))
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "code":
            self.inside = True
            self.codes.append("")

    def handle_endtag(self, tag):
        self.tags.append(f"/{tag}")
        if tag == "code":
            self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.codes[-1] += data
        else:
            self.prose += data

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    handle_decl = handle_pi = unknown_decl = handle_comment


def shown(made: Run) -> Page:
    source = markdown(made)
    assert len(source.encode()) <= LIMIT + 200 < 65_536
    return Page(source)


@settings(deadline=None, max_examples=200)
@given(WILD)
@example("@octocat")
@example("a\\|b")
@example("`\\|`|")
def test_any_text_is_inert(text):
    """What is said changes nothing but the text inside of code: no tag, link, mention or cell."""
    wild, tame = shown(wild_run(text)), shown(wild_run("said"))
    assert wild.tags == tame.tags
    assert set(wild.tags) <= TAGS | {f"/{tag}" for tag in TAGS}
    assert sorted(wild.prose.split()) == sorted(tame.prose.split())
    assert wild.attributes <= {"align", "lang"}


def test_a_text_is_shown_as_it_is():
    """Signs of Markdown and HTML come out as they went in, in a table too."""
    text = "a|b `c` ``d <e> &amp; @f [g](h) *i*"
    page = shown(run(record(Outcome.ERRORED, backend=text, title=text, message=text)))
    assert page.codes[0] == text
    assert f"cases/math/add.yaml::{text} (cases/math/add.yaml:4)" in page.codes
    assert any(code.startswith(f"{text}\n") for code in page.codes)


def test_what_cannot_be_seen_is_written_as_an_escape():
    """Colours are dropped; control characters, turned and hidden text are made visible."""
    message = "\x1b[31mred\x1b[0m \x00 \ud800 \u202eback \u200bhidden"
    page = shown(run(record(Outcome.ERRORED, message=message)))
    assert any("red \\x00 \\ud800 \\u202eback \\u200bhidden" in code for code in page.codes)


@pytest.mark.parametrize(
    ("made", "title"),
    [
        (run(record(), record(title="b")), "all 2 passed"),
        (run(record(), record(Outcome.FAILED, expected=True)), "all 2 as expected"),
        (run(record(Outcome.FAILED)), "1 unexpected result"),
        (run(record(expected=False)), "1 unexpected result"),
        (run(record(), missing=2), "2 results are missing"),
        (run(record(), interrupted=True), "the run was interrupted"),
        (run(record(), unused=["a"]), "1 expectation without effect"),
        (run(record(), problems=(Problem("a", 1, "", "b"),)), "1 bad case"),
        (run(), "no results"),
        (
            run(record(Outcome.FAILED), record(Outcome.CRASHED), missing=1, unused=["a", "b"]),
            "1 result is missing, 2 unexpected results, 2 expectations without effect",
        ),
    ],
)
def test_the_verdict_comes_first(made, title):
    """The first line says how the run went, and good news only of a good run."""
    assert markdown(made).splitlines()[0] == f"### opcheck: {title}"


def test_totals_of_each_backend():
    """A table with a row per backend and a column per outcome that there is."""
    made = run(
        *(record(title=f"{i}", backend="one") for i in range(1200)),
        record(Outcome.FAILED, backend="two"),
        record(Outcome.CRASHED, backend="two", expected=True),
    )
    lines = markdown(made).splitlines()
    assert lines[2:6] == [
        "| backend | version | passed | failed | crashed | results | unexpected |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
        "| `one` | `1.0` | 1,200 |  |  | 1,200 |  |",
        "| `two` | `1.0` |  | 1 | 1 | 2 | 1 |",
    ]


def test_like_results_are_one_group():
    """Numbers, names and paths do not matter; operator, outcome and reason do."""
    made = run(
        *(
            record(Outcome.ERRORED, title=f"a{i}", message=f"no 'k{i}' at 0x{i}")
            for i in range(300)
        ),
        record(Outcome.ERRORED, title="b", message="something else"),
        record(Outcome.CRASHED, title="c", message="no 'k' at 0x1"),
        record(Outcome.ERRORED, title="d", message="no 'k' at 0x1", operator="Sub"),
    )
    source = markdown(made)
    assert source.count("<details><summary><code>") == 4
    first = source.index("Add errored on some, 300 cases: no &#x27;k0&#x27; at 0x0")
    assert first < source.index("Sub errored on some, 1 case")
    assert "- and 290 more" in source


def test_the_first_of_a_group_is_shown_in_full():
    """Its difference, and the command that shows it again."""
    page = shown(run(record(Outcome.FAILED, differences=different(), why="Catches a fault.")))
    (text,) = [code for code in page.codes if "Run it again" in code]
    assert text.startswith("Catches a fault.\nc: float32[6], 1 of 6 elements differ")
    assert "  [1]       1.0  2.0" in text


def test_operators_are_in_a_table():
    """Those that did not pass everywhere, the worst first."""
    made = run(
        record(),
        record(operator="Sub"),
        record(Outcome.FAILED, operator="Sub", title="a"),
        *(record(Outcome.UNSUPPORTED, operator="Mul", title=f"{i}") for i in range(3)),
    )
    lines = markdown(made).splitlines()
    at = lines.index("| operator | backend | passed | failed | unsupported |")
    assert lines[at - 2] == (
        "<details><summary>2 operators with results other than passed</summary>"
    )
    assert lines[at + 2 : at + 4] == [
        "| `Mul` | `some` |  |  | 3 |",
        "| `Sub` | `some` | 1 | 1 |  |",
    ]


@pytest.mark.parametrize("letter", ["x", "\U0001f600", "`", "|", "<"])
def test_it_fits_into_a_comment(letter):
    """It takes what fits, of everything, and says how many more there are."""
    many = range(500)
    made = run(
        *(record(Outcome.ERRORED, title=letter * 300 + str(i), message=f"{letter * 400}\n" * 50,
                 operator=f"Op{i}", backend=f"{letter * 100}{i % 50}") for i in many),
        problems=tuple(Problem("a", 1, letter * 100, letter * 900) for _ in many),
        unused=[letter * 900 for _ in many],
    )  # fmt: skip
    source = markdown(made)
    page = shown(made)
    assert set(page.tags) <= TAGS | {f"/{tag}" for tag in TAGS}
    groups = source.count("<details><summary><code>")
    assert groups > 0
    hidden = f"{500 - groups:,}"
    assert f"... and {hidden} unexpected results more, in {hidden} groups." in source
    assert source.count("</details>") == groups + 1
    assert source.rstrip().endswith("2026-01-02T03:04:05+00:00`")
