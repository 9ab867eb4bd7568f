"""What a run shows on a narrow, a usual and a wide terminal, and piped, held by snapshots.

The snapshots are the files in ``terminal/``; ``UPDATE_SNAPSHOTS=1`` writes them anew.
"""

from __future__ import annotations

import io
import os
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console, RenderableType

from opcheck.cli.display import Compared, Display
from opcheck.harness.record import Difference, Excerpt, Footer, Outcome, Problem, Record, Row
from opcheck.harness.runner import Running
from opcheck.reports import terminal
from opcheck.reports.ending import ending
from opcheck.reports.groups import FIRST, LISTED, MAX_GROUPS, MOST, Groups, Listing
from opcheck.reports.live import Progress, Slowest, clock, counted

FOLDER = Path(__file__).parent / "terminal"
WIDTHS = {"narrow": 50, "usual": 80, "wide": 140, "piped": 80}
#: Colours, NUL, a lone surrogate, markup, right-to-left, a title, wide and combining characters.
WILD = (
    "\x1b[31m[bold]]]>\x00\ud800\u202e<script>\x1b]0;title\x07\r\x85 宽字符 e\u0301\u0308 \ufeffend"
)


class Screen(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def console(kind: str, colours: str | None = None) -> Console:
    piped = kind == "piped"
    return Console(
        file=io.StringIO() if piped else Screen(),
        width=WIDTHS[kind],
        force_terminal=not piped,
        color_system=colours,  # type: ignore[arg-type]
        highlight=False,
        emoji=False,
        _environ={"TERM": "xterm"},
    )


def record(name: str, outcome: Outcome, message: str = "", **more: object) -> Record:
    values = {
        "case": f"cases/math/add.yaml::{name}",
        "file": "cases/math/add.yaml",
        "line": 4,
        "operator": "Add",
        "domain": "",
        "opset": 14,
        "since_version": 14,
        "dtypes": ["float32"],
        "backend": "some",
        "outcome": outcome,
        "message": message,
        **more,
    }
    return Record(**values)  # type: ignore[arg-type]


def values(output: str = "c", got: str = "8.0") -> Difference:
    row = Row([1, 2], "7.0", got, "1", "0.143", "2097152")
    other = Row([0, 1], "-0.015625", "0.015625", "0.03125", "2", "1.97e+09")
    return Difference(
        output, "values", "float32[2, 3]", "float32[2, 3]", 2, 6, "1 ULP", row, [other, row]
    )


def footer(**more: object) -> Footer:
    known = {"totals": {"some": {"passed": 5, "failed": 3}}, "problems": 0, "seconds": 2.5}
    return Footer(**{**known, **more})  # type: ignore[arg-type]


def again(case: str) -> list[tuple[str, str]]:
    """Stand for the commands of ``cli.again``, which has its own tests."""
    command = "opcheck run cases -b some --last-failed"
    return [("Run the failed again", command), ("See one of them", f"opcheck show '{case}'")]


def failures(display: Display) -> None:
    """Few failures of all kinds, a bad case file, an expected deviation, an interruption."""
    display.problem(
        Problem("bad.yaml", 5, "numbers", "bad.yaml:5: unknown key 'wyh'; did you mean 'why'?")
    )
    why = "Catches a runtime that multiplies, or that begins with the last row."
    for shown in (
        record("plain[float32]", Outcome.PASSED),
        record("values[float32]", Outcome.FAILED, differences=[values()], why=why),
        record("type", Outcome.FAILED, differences=[Difference("c", "dtype", "int8", "int32")]),
        record("known", Outcome.FAILED, "known", expected=True, verdict="A reason."),
        record("refused", Outcome.UNSUPPORTED, "no Add of version 14"),
        record(
            "dies", Outcome.CRASHED, "the process was killed by SIGSEGV", printed="free()\n" * 9
        ),
        record("slow", Outcome.TIMED_OUT, "no result after 30 s"),
        record("raises", Outcome.ERRORED, "Error: first line\nsecond line", phase="load"),
        record("better", Outcome.PASSED, expected=False, verdict="expected to be failed"),
        record("now_and_then", Outcome.FAILED, "shape", flaky=["passed", "failed"]),
    ):
        display.case([shown])
    totals = {"some": {"passed": 3, "failed": 3, "errored": 1, "unsupported": 1, "crashed": 1,
                       "timed out": 1}}  # fmt: skip
    more = {"problems": 1, "interrupted": True, "missing": 7, "flaky": 1, "known": 1}
    display.end(footer(totals=totals, **more, unused=["a.yaml:7 matches nothing"]), True, again)


def groups(display: Display) -> None:
    """So many failures that they are listed in groups, on two backends."""
    for i in range(300):
        said = f"[Runtime] : 9 : NOT_IMPLEMENTED : no implementation of Cast({i % 7}) 'n{i}'"
        cast = record(f"cast_{i}", Outcome.UNSUPPORTED, said, operator="Cast", backend="other")
        display.case([record(f"sum_{i}", Outcome.PASSED), cast])
    for i in range(40):
        wrong = record(f"sum_{i}", Outcome.FAILED, differences=[values(got=f"{i}.0")])
        display.case([wrong, record(f"sum_{i}", Outcome.PASSED, backend="other")])
    for i in range(LISTED + 3):
        name = f"Operator{'ABCDEFGHIJKLMNOPQRSTUVWXYZ'[i]}"
        said = f"Exception from src/core/node.cpp:{i}:\nCheck 'x' failed:\n{name} is not known"
        display.case([record(name.lower(), Outcome.ERRORED, said, operator=name, phase="load")])
    dead = "the process was killed by SIGSEGV"
    display.case([record("dies", Outcome.CRASHED, dead, operator="Loop", backend="other")])
    totals = {
        "some": {"passed": 300, "failed": 40, "errored": LISTED + 3},
        "other": {"passed": 40, "unsupported": 300, "crashed": 1},
    }
    display.end(footer(totals=totals), True, again)


def compared(display: Display) -> None:
    """Cases side by side on the oracle and two backends."""
    display._backends = 3
    kept = [Excerpt("c", "float32[2, 3]", [2, 3], ["1.0", "-0.015625", "3.0", "4.0", "5.0", "7.0"])]
    right = record("values", Outcome.PASSED, backend="builtin", outputs=kept, why="A reason.")
    wrong = record("values", Outcome.FAILED, differences=[values()], backend="some")
    refused = record("values", Outcome.UNSUPPORTED, "no Add", backend="other")
    display.case([right, wrong, refused])
    display.case([msgspec.structs.replace(r, case="a::all", outcome=Outcome.PASSED, differences=[])
                  for r in (right, wrong, refused)])  # fmt: skip
    for i in range(25):
        changed = [msgspec.structs.replace(r, case=f"a::v{i}") for r in (right, wrong, refused)]
        display.case(changed)
    totals = {
        "builtin": {"passed": 27},
        "some": {"passed": 1, "failed": 26},
        "other": {"passed": 1, "unsupported": 26},
    }
    display.end(footer(totals=totals), True, again)


def wild(display: Display) -> None:
    """Text that tries to get at the terminal, in every place."""
    display.problem(Problem(WILD, 5, "", WILD))
    places = {"case": f"{WILD}::{WILD}", "file": f"{WILD}\n.yaml", "operator": f"{WILD}\n"}
    other = Difference(WILD, "dtype", WILD, WILD)
    cells = values(output=WILD, got="'宽字符'")
    for _ in range(FIRST + 2):
        bad = record("", Outcome.ERRORED, f"{WILD}\n{WILD} {'long' * 30}", **places, printed=WILD)
        display.case([bad])
    wrong = record("", Outcome.FAILED, **places, differences=[cells, other], why=WILD, verdict=WILD)
    display.case([msgspec.structs.replace(wrong, backend=WILD)])
    display.end(footer(unused=[WILD]), True, again)


def progress(display: Display) -> None:
    """The progress of a run: at the start, in the middle, and near its end."""
    case = "cases/controlflow/loop_bodies.yaml::unnamed_carried_output[opset=21]"
    counts = {Outcome.PASSED: 12000, Outcome.FAILED: 456, Outcome.ERRORED: 78,
              Outcome.UNSUPPORTED: 2725, Outcome.CRASHED: 25}  # fmt: skip
    for shown in (
        Progress(20345),
        Progress(20345, {Outcome.PASSED: 3}, 1.5, Slowest("a.yaml::b", "some", 1.25)),
        Progress(20345, counts, 3661.5, Slowest(case, "onnxruntime", 12.34)),
        Progress(20345, counts, 61.5, Slowest(case, "onnxruntime", 12.34), several=True),
        Progress(20345, counts, 61.5, Slowest(WILD, WILD, 12.34), several=True),
    ):
        if display.interactive:
            display.print(shown)
        else:
            display.console.file.write(f"{shown.text()}\n")


SCENES: dict[str, Callable[[Display], None]] = {
    scene.__name__: scene for scene in (failures, groups, compared, wild, progress)
}


def shown(scene: str, kind: str, **options: bool) -> str:
    made = (Compared if scene == "compared" else Display)(console(kind), **options)
    SCENES[scene](made)
    return made.console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", WIDTHS)
@pytest.mark.parametrize("scene", SCENES)
def test_it_looks_as_it_did(scene, kind):
    """Each scene on each terminal is the snapshot, and ends no line with spaces."""
    text = shown(scene, kind)
    path = FOLDER / f"{scene}-{kind}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")
    assert [line for line in text.split("\n") if line != line.rstrip()] == []


def test_every_snapshot_is_used():
    """No file is left of a scene that is gone."""
    names = {f"{scene}-{kind}.txt" for scene in SCENES for kind in WIDTHS}
    assert {path.name for path in FOLDER.iterdir()} == names


@pytest.mark.parametrize("scene", SCENES)
def test_piped_there_are_neither_escapes_nor_hints(scene):
    """A log holds results only: no colours, and no commands for the next try."""
    text = shown(scene, "piped")
    assert "\x1b" not in text
    assert "--last-failed" not in text


@pytest.mark.parametrize("outcome", Outcome)
def test_counts_have_the_colour_of_their_outcome(outcome):
    """Also while the run goes on."""
    screen = console("usual", colours="standard")
    screen.print(counted({outcome: 3}, 80))
    assert re.search(rf"\x1b\[[0-9;]+m3 {outcome.value}\x1b\[0m", screen.file.getvalue())


# Grouping


def test_alike_is_what_differs_in_numbers_names_and_types_only():
    """Another operator, outcome, backend, phase or message is another group."""
    found = Groups()
    alike = [
        "no Add of version 14 for 'tensor(float16)' at 0x7f12, node 'a'",
        "no Add of version 7 for 'tensor(int8)' at 0x55aa, node 'b'",
    ]
    found.add(record("a", Outcome.ERRORED, alike[0]))
    found.add(record("b", Outcome.ERRORED, alike[1]))
    for given_back in ("float32[2]", "int64[], int64[3, 1]", "bfloat16[0]"):
        said = f"the model must be rejected; the backend gave {given_back}"
        found.add(record("c", Outcome.FAILED, said))
    assert sorted(g.count for g in found.ordered()) == [2, 3]
    for other in (
        record("d", Outcome.ERRORED, alike[0], operator="Sub"),
        record("e", Outcome.ERRORED, alike[0], domain="ai.onnx.ml"),
        record("f", Outcome.UNSUPPORTED, alike[0]),
        record("g", Outcome.ERRORED, alike[0], backend="other"),
        record("h", Outcome.ERRORED, alike[0], phase="run"),
        record("i", Outcome.ERRORED, "something else"),
    ):
        found.add(other)
    assert sorted(g.count for g in found.ordered()) == [1, 1, 1, 1, 1, 1, 2, 3]


def test_the_first_are_shown_in_full_and_then_the_first_of_each_group():
    """A refusal is told by its line in the list; no run shows more than so many in full."""
    found = Groups()
    letters = [f"{a}{b}" for a in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for b in "ABCDEFGHIJ"]
    same = [found.add(record(str(i), Outcome.FAILED, "same")) for i in range(FIRST + 5)]
    assert same == [True] * FIRST + [False] * 5
    assert not found.add(record("r", Outcome.UNSUPPORTED, "refused"))
    new = [found.add(record(a, Outcome.FAILED, a)) for a in letters]
    assert new == [True] * (MOST - FIRST) + [False] * (len(letters) - MOST + FIRST)


def test_verbose_shows_every_case_in_full_and_lists_every_group():
    """``-v`` shows all."""
    text = shown("groups", "piped", verbose=True)
    assert text.count("UNSUPPORTED cases") == 300
    assert text.count("FAILED cases") == 40
    assert "further groups" not in text
    assert "-v shows" not in text
    brief = shown("groups", "piped")
    assert brief.count("UNSUPPORTED cases") == FIRST
    assert brief.count("FAILED cases") == 1
    assert re.search(r"^   300  Cast  .*no implementation of Cast\(0\) 'n0'$", brief, re.MULTILINE)
    assert "and 3 more, in 3 further groups" in brief


def test_quiet_shows_the_totals_only():
    """``-q``."""
    lines = shown("groups", "usual", quiet=True).splitlines()
    assert [line.split(":")[0].strip("= ")[:5] for line in lines] == ["some", "other", "40 fa"]


def test_the_memory_does_not_grow_with_the_failures():
    """Beyond so many groups, cases are only counted, and the list says so."""
    found = Groups()
    letters = "abcdefghijklmnopqrstuvwxyz"
    for i in range(MAX_GROUPS + 500):
        word = "".join(letters[i // 26**k % 26] for k in range(4))
        found.add(record(str(i), Outcome.FAILED, word * 300))
    kept = found.ordered()
    assert len(kept) == MAX_GROUPS
    assert max(len(g.message) for g in kept) < 500
    screen = console("piped")
    screen.print(Listing(found))
    text = screen.file.getvalue()
    assert text.startswith(f"{MAX_GROUPS + 500} failed on some\n")
    assert "and 500 that are like none of these" in text
    assert len(text.splitlines()) < 60


# Progress


class Executor:
    """Something that runs a case since a moment."""

    def __init__(self, backend: str, running: Running | None) -> None:
        self.backend = backend
        self._running = running

    def running(self) -> Running | None:
        return self._running


def test_a_log_hears_of_a_long_run_once_in_a_while(capsys):
    """A line on standard error after each minute with a result, and none before."""
    now = [100.0]
    display = Display(console("piped"), clock=lambda: now[0])
    counts = {"some": dict.fromkeys(Outcome, 0)}
    executors = [Executor("some", Running("a::b", 150.0)), Executor("other", None)]
    with display.running(200, counts, executors):  # type: ignore[arg-type]
        for second in range(130):
            now[0] = 100.0 + second
            counts["some"][Outcome.PASSED] += 1
            display.case([record("plain", Outcome.PASSED)])
    assert capsys.readouterr().err.splitlines() == [
        "opcheck: 61 of 200 results after 1:00; 61 passed; for 10 s: a::b on some",
        "opcheck: 121 of 200 results after 2:00; 121 passed; for 70 s: a::b on some",
    ]
    assert display.console.file.getvalue() == ""


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0:00"), (59.9, "0:59"), (61, "1:01"), (3725, "1:02:05")]
)
def test_a_clock(seconds, said):
    """Minutes and seconds, and hours where there are any."""
    assert clock(seconds) == said


def test_what_has_no_place_is_summed_up():
    """Counts are never cut in the middle, and none is lost."""
    counts = {Outcome.PASSED: 100, Outcome.FAILED: 20, Outcome.ERRORED: 3, Outcome.CRASHED: 4}
    assert counted(counts, 80).plain == "100 passed, 20 failed, 3 errored, 4 crashed"
    assert counted(counts, 30).plain == "100 passed, 20 failed, 7 more"
    assert counted(counts, 20).plain == "100 passed, 27 more"


# Wild text

SGR = re.compile(r"\x1b\[[0-9;]*m")
TEXT = st.text(st.characters(codec=None), max_size=80) | st.sampled_from([WILD, WILD * 9])


def drawn(shown: RenderableType, width: int) -> str:
    """Return what is written on a terminal with colours, without rich's own."""
    file = Screen()
    made = Console(file=file, width=width, force_terminal=True, color_system="standard",
                   highlight=False, emoji=False, _environ={"TERM": "xterm"})  # fmt: skip
    made.print(shown, crop=False)
    return SGR.sub("", file.getvalue())


def assert_inert(text: str) -> None:
    """Nothing in it is obeyed by a terminal, and it can be written."""
    text.encode("utf-8")
    odd = {c for c in text if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c != "\n"}
    assert odd | (set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u200f") & set(text)) == set()


@settings(deadline=None, max_examples=150)
@given(TEXT, st.sampled_from([50, 80, 140]))
def test_any_text_is_inert_and_keeps_the_layout(text, width):
    """In every place: failures, groups, bad cases; the lines of progress stay three that fit."""
    bad = record("", Outcome.ERRORED, text, case=text, file=text, operator=text, why=text,
                 printed=text, backend=text, verdict=text)  # fmt: skip
    wrong = msgspec.structs.replace(
        bad,
        outcome=Outcome.FAILED,
        differences=[values(text), Difference(text, "kind", text, text)],
    )
    found = Groups()
    for one in (bad, wrong):
        found.add(one)
        assert_inert(drawn(terminal.failure(one), width))
        assert_inert(drawn(terminal.verbose_line(one), width))
    assert_inert(drawn(terminal.problem(Problem(text, 1, text, text)), width))
    listed = drawn(Listing(found), width)
    assert_inert(listed)
    assert len(listed.split("\n")) == 2 * 4 + 1  # heading, group, case, blank
    over = Progress(9, {Outcome.PASSED: 3}, 9.0, Slowest(text, text, 1.0), several=True)
    assert_inert(drawn(over, width))
    lines = drawn(over, width).split("\n")
    assert len(lines) == 4
    assert max(map(cell_len, lines)) <= width
    assert "\n" not in over.text()


def test_a_table_of_wide_characters_is_aligned_and_fits_a_narrow_terminal():
    """Cells are as wide as the terminal shows them; a narrow one does without some columns."""
    wrong = record("w", Outcome.FAILED, differences=[values(got="'宽字符'")])
    for width, headings in ((80, ["absolute", "relative", "ULP"]), (50, [])):
        lines = drawn(terminal.failure(wrong), width).splitlines()
        start = next(i for i, line in enumerate(lines) if "index" in line)
        table = lines[start : start + 3]
        assert table[0].split()[3:] == headings
        assert len({cell_len(line.removesuffix("  <- the worst")) for line in table}) == 1


def test_while_cases_are_read_a_terminal_says_so_and_nothing_stays():
    """The line is taken away again; a log never has it."""
    for kind, written in (("usual", True), ("piped", False)):
        display = Display(console(kind))
        with display.reading():
            pass
        text = display.console.file.getvalue()
        assert text == ("reading the cases ...\r\x1b[2K" if written else "")


def test_the_end_can_be_made_of_records_alone():
    """As ``opcheck report`` does: without a session."""
    text = drawn(ending(footer(), Groups(), unexpected=False), 80)
    assert text.strip("=\n ") == "3 failed, 5 passed in 2.50s"
