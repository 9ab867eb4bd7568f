"""Result files: whatever stands in them, they are read or refused in words; parts make a whole."""

from __future__ import annotations

import random
from itertools import permutations
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opcheck.harness.history import NoHistory, of_file
from opcheck.harness.record import (
    FORMAT,
    Detail,
    Excerpt,
    Footer,
    Header,
    Outcome,
    Problem,
    Record,
    Run,
)
from opcheck.harness.results import BadResults, Tally, gaps, merge, read
from opcheck.reports.jsonl import jsonl, line

#: The files of an example are written over those of the one before.
FILES = settings(
    deadline=None, max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

HEADER = Header(
    FORMAT, "0.1", "1.23", "2.4", "3.12", "Linux", "2026-01-01", ["suite"], {"some": "1.0"}, {},
    planned=3, total=3,
)  # fmt: skip


def record(case: str, backend: str = "some", outcome: Outcome = Outcome.PASSED, **more) -> Record:
    values = {
        "case": f"suite/add.yaml::{case}", "file": "suite/add.yaml", "line": 4, "operator": "Add",
        "domain": "", "opset": 14, "since_version": 14, "dtypes": ["float32"],
    }  # fmt: skip
    return Record(**{**values, **more}, backend=backend, outcome=outcome)


def finished(records, problems=(), details=(), planned=None, **header) -> Run:
    """A run that came to its end with these results."""
    backends = header.pop("backends", {r.backend: "1.0" for r in records} or {"some": "1.0"})
    planned = len({r.case for r in records}) if planned is None else planned
    changed = {"planned": planned, "total": planned, **header, "backends": backends}
    tally = Tally(backends)
    for one in records:
        tally.add(one)
    missing = planned * len(backends) - tally.results
    footer = tally.footer(len(problems), 1.0, missing=missing, interrupted=False)
    found = {detail.case: detail for detail in details}
    return Run(
        msgspec.structs.replace(HEADER, **changed), list(records), list(problems), footer, found
    )


def written(path: Path, run: Run):
    """Write and read a run."""
    path.write_text(jsonl(run))
    return read(str(path))


RUN = finished(
    [
        record("a[opset=9]"),
        record("a[opset=11]", outcome=Outcome.FAILED, message="what ☃ it said\n", line=9),
        record("b", outcome=Outcome.CRASHED, line=12),
    ],
    problems=[Problem("suite/bad.yaml", None, "", "seen this, wanted that")],
    details=[Detail("suite/add.yaml::b", "Add(a) -> (b)", [Excerpt("a", "float32")], [[]])],
)


def test_a_run_is_read_as_it_was_written(tmp_path):
    """Nothing is lost between a run and its file."""
    found = written(tmp_path / "r.jsonl", RUN)
    assert found.run == RUN
    assert found.finished
    assert not found.torn


def lines_of(run: Run) -> list[str]:
    return jsonl(run).splitlines(keepends=True)


FIRST, SECOND = line(RUN.header) + "\n", line(RUN.records[0]) + "\n"
LOST = "".join(text for text in lines_of(RUN) if '"b"' not in text and "::b" not in text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "r.jsonl is empty: its run was stopped before it began; run it again"),
        ("hello\n", "is no result file: seen 'hello', wanted the header of a file of --json"),
        ("\x00\x01\xff" * 9, "is no result file"),
        ("[" * 100_000, "is no result file"),
        (SECOND, "is no result file"),
        (FIRST[:40], "ends within its first line: its run was stopped when it began"),
        (FIRST.replace('"format":1', '"format":2'), "has format 2, this opcheck reads format 1"),
        (FIRST + "{}\n" + SECOND, "r.jsonl:2: seen '{}', wanted a line as --json writes it"),
        (FIRST + SECOND[:50] + "\n" + SECOND, "r.jsonl:2: seen "),
        (FIRST + '{"is":"else"}', "r.jsonl:2: seen "),
        (FIRST + '{"is":"record","x":' + "[" * 100_000 + "\n", "r.jsonl:2: seen "),
        (FIRST + "\n", "r.jsonl:2: seen '', wanted"),
        (FIRST + SECOND.replace("suite", "\udcff"), "r.jsonl:2: seen"),
        (FIRST + SECOND.replace("passed", "perhaps"), "Invalid enum value 'perhaps'"),
        (FIRST + SECOND * 2, "r.jsonl:3: seen a second result of suite/add.yaml::a[opset=9] on"),
        (FIRST + SECOND.replace('"some"', '"other"'), "seen a result on other, wanted one on some"),
        (FIRST + SECOND + FIRST, "r.jsonl:3: seen a second header, wanted one run in a file"),
        (jsonl(RUN) * 2, "r.jsonl:8: seen another line behind the footer"),
        (LOST, "seen 2 results and 1 bad cases, wanted 3 and 1, as the footer counts them"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_says_why(tmp_path, text, said):
    """An error names the file, the line, and what was seen and wanted."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadResults) as caught:
        read(str(path))
    assert said in str(caught.value)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_file_that_is_not_there(tmp_path):
    """A folder and a missing file are refused in words."""
    with pytest.raises(BadResults, match=r"cannot read .*: Is a directory"):
        read(str(tmp_path))
    with pytest.raises(BadResults, match=r"cannot read .*: No such file"):
        read(str(tmp_path / "none"))


@FILES
@given(st.data())
def test_a_file_cut_anywhere_is_read_up_to_there(tmp_path, data):
    """What was whole is kept, and the file says that it is no whole run."""
    raw = jsonl(RUN).encode()
    at = data.draw(st.integers(0, len(raw)))
    path = tmp_path / "cut.jsonl"
    path.write_bytes(raw[:at])
    whole = raw[:at].count(b"\n") + (raw[at : at + 1] == b"\n")
    if not whole:
        with pytest.raises(BadResults, match=r"is empty|ends within its first line"):
            read(str(path))
        return
    found = read(str(path))
    assert found.run.records == RUN.records[: len(found.run.records)]
    kept = len(found.run.records) + len(found.run.problems) + len(found.run.details)
    assert kept + 1 + found.finished == whole
    assert found.finished == (whole == len(lines_of(RUN)))
    assert found.torn == (raw[at - 1 : at] != b"\n" and raw[at : at + 1] not in (b"\n", b""))
    footer = found.run.footer
    assert footer.interrupted == (not found.finished)
    assert footer.missing == 3 - len(found.run.records)
    assert sum(footer.totals["some"].values()) == len(found.run.records)


@FILES
@given(st.data())
def test_a_damaged_file_never_gives_another_error(tmp_path, data):
    """Bytes that are changed, put in or taken out: the file is read, or refused in words."""
    raw = bytearray(jsonl(RUN).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 3))] = data.draw(
            st.binary(max_size=3) | st.sampled_from([b"1e999", b"9" * 5000, b"[[", b"null", b"-"])
        )
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(raw)
    try:
        found = read(str(path))
        gaps(merge([found]), [found])
        said = ""
    except BadResults as error:
        said = str(error)
    assert not said or str(path) in said


def test_a_file_of_an_older_opcheck_is_read(tmp_path):
    """One that does not say what was planned says so too when it was not finished."""
    old = msgspec.json.decode(FIRST)
    for name in ("selection", "planned", "total"):
        del old[name]
    path = tmp_path / "old.jsonl"
    path.write_text(msgspec.json.encode(old).decode() + "\n" + SECOND)
    found = read(str(path))
    assert found.run.records == RUN.records[:1]
    assert found.run.footer.missing == 0
    assert found.run.footer.interrupted


# == Several files ==

CASES = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from("abc"), st.integers(0, 12)),
    unique_by=lambda case: case[1:], min_size=1, max_size=12,
)  # fmt: skip


@FILES
@given(CASES, st.integers(1, 3), st.integers(1, 5), st.randoms())
def test_the_parts_of_a_run_make_the_run(tmp_path, cases, backends, count, chance):
    """Lines that are spread over files at random are put together again, in any order of files."""
    names = [f"backend{i}" for i in range(backends)]
    records = [
        record(f"{name}[{number}]", backend, line=place, outcome=chance.choice(list(Outcome)))
        for place, name, number in sorted(cases)
        for backend in names
    ]
    whole = finished(records, problems=RUN.problems)
    piles: list[list[Record]] = [[] for _ in range(count)]
    for one in records:
        chance.choice(piles).append(one)
    files = []
    for i, pile in enumerate(piles):
        footer = finished(pile, RUN.problems, backends=whole.header.backends).footer
        footer = msgspec.structs.replace(footer, seconds=1.0 / count)
        part = msgspec.structs.replace(whole, records=pile, footer=footer)
        files.append(written(tmp_path / f"{i}.jsonl", part))
    chance.shuffle(files)
    found = merge(files)
    rounded = msgspec.structs.replace(found.footer, seconds=1.0)
    assert msgspec.structs.replace(found, footer=rounded) == whole
    assert gaps(found, files) == []
    assert abs(found.footer.seconds - 1.0) < 0.01


def part(tmp_path, name, records, **header):
    return written(tmp_path / name, finished(records, **header))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"onnx": "1.24"}, "they differ in onnx: 1.23, and 1.24"),
        ({"opcheck": "0.2"}, "they differ in opcheck: 0.1, and 0.2"),
        ({"sources": ["other"]}, "they differ in sources: suite, and other"),
        ({"sources": []}, "they differ in sources: suite, and the bundled cases"),
        ({"options": {"ulp": "4.0"}}, "they differ in --ulp: none, and 4.0"),
        ({"options": {"atol": "0.1"}}, "they differ in --atol: none, and 0.1"),
        ({"selection": {"keyword": "loop"}}, "the choice of cases: all, and keyword loop"),
        ({"backends": {"some": "2.0"}}, "some has version 1.0 in one, 2.0 in the other"),
    ],
)
def test_what_is_not_of_one_suite_is_refused(tmp_path, change, said):
    """The error names both files and what to do."""
    one = part(tmp_path, "one.jsonl", [record("a")])
    two = part(tmp_path, "two.jsonl", [record("b")], **change)
    with pytest.raises(BadResults) as caught:
        merge([one, two])
    for text in (said, one.path, two.path, ";"):
        assert text in str(caught.value)


@pytest.mark.parametrize(
    ("first", "second", "case", "said"),
    [
        ("1/2", "1/3", "b", "the parts of the suite on some are 1/2 and 1/3"),
        ("1/2", None, "b", "the parts of the suite on some are 1/2 and all cases"),
        ("1/2", "1/2", "b", "both are shard 1/2 on some; give one of them"),
        ("1/2", "2/2", "a", "both have a result of suite/add.yaml::a on some; give one of them"),
        (None, None, "a", "both have a result of suite/add.yaml::a on some; give one of them"),
        ("1/2", "x", "b", "two.jsonl: seen the shard 'x', wanted I/N"),
        ("1/2", "3/2", "b", "two.jsonl: seen the shard '3/2', wanted I/N"),
    ],
)
def test_parts_that_overlap_are_refused(tmp_path, first, second, case, said):
    """The same shard, shards of another number, and a result that is there twice."""
    shards = [{"selection": {"shard": text} if text else {}} for text in (first, second)]
    one = part(tmp_path, "one.jsonl", [record("a")], **shards[0])
    two = part(tmp_path, "two.jsonl", [record(case)], **shards[1])
    with pytest.raises(BadResults) as caught:
        merge([one, two])
    assert said in str(caught.value)


def test_a_file_is_given_once(tmp_path):
    """The plainest mistake has the plainest error."""
    one = part(tmp_path, "one.jsonl", [record("a")])
    with pytest.raises(BadResults, match=r"one.jsonl is given 2 times; give it once"):
        merge([one, one])


def test_what_one_backend_lacks_is_missing(tmp_path):
    """Each lacks what the other has, whatever the files planned by themselves."""
    one = part(tmp_path, "one.jsonl", [record("a", "x"), record("b", "x")])
    two = part(tmp_path, "two.jsonl", [record("b", "y"), record("c", "y"), record("d", "y")])
    run = merge([one, two])
    assert run.footer.missing == 3
    found = {gap.backend: gap for gap in gaps(run, [one, two])}
    assert found["x"].cases == ["suite/add.yaml::c", "suite/add.yaml::d"]
    assert found["y"].cases == ["suite/add.yaml::a"]
    assert (found["x"].missing, found["x"].planned) == (2, 4)


def test_shards_without_a_file_are_named(tmp_path):
    """As long as cases are missing: a shard may have none, and then leaves no file."""

    def shard(number: int, *cases: str):
        records = [record(case) for case in cases]
        name = f"{number}.jsonl"
        return part(tmp_path, name, records, total=3, selection={"shard": f"{number}/4"})

    one, three, four = shard(1, "a"), shard(3, "b"), shard(4, "c")
    assert [(g.missing, g.shards) for g in gaps(one.run, [one])] == [(2, ["2/4", "3/4", "4/4"])]
    assert one.run.footer.missing == 0
    run = merge([three, one])
    assert [(g.missing, g.shards) for g in gaps(run, [one, three])] == [(1, ["2/4", "4/4"])]
    assert run.footer.missing == 1
    again = written(tmp_path / "m.jsonl", run)
    assert again.run == run
    whole = merge([again, four])
    assert gaps(whole, [again, four]) == []
    assert [r.case[-1] for r in whole.records] == ["a", "b", "c"]


def test_machines_may_differ_in_what_does_not_judge(tmp_path):
    """The header says all that was seen; the order of the files decides nothing else."""
    files = [
        part(tmp_path, f"{name}.jsonl", [record(name)], platform=f"on {name}", options={"jobs": k})
        for name, k in (("a", "1"), ("b", "2"), ("c", "1"))
    ]
    runs = [merge(order) for order in permutations(files)]
    assert runs[0].header.platform == "on a, on b, on c"
    assert runs[0].header.options == {"jobs": "1, 2"}
    assert all(run.records == runs[0].records and run.footer == runs[0].footer for run in runs)


def test_earlier_outcomes_come_from_the_same_reader(tmp_path):
    """``--results`` takes an unfinished file, and refuses what is no result file."""
    path = tmp_path / "r.jsonl"
    path.write_text("".join(lines_of(RUN)[:-1]) + '{"is":"rec')
    assert of_file(path) == {r.case: [r.outcome.value] for r in RUN.records}
    path.write_text(FIRST)
    with pytest.raises(NoHistory, match=r"holds no results"):
        of_file(path)
    path.write_text(FIRST + "no result\n")
    with pytest.raises(NoHistory, match=r"r.jsonl:2: seen 'no result'"):
        of_file(path)


def test_a_large_file_holds_every_line(tmp_path):
    """Some thousand results, shuffled over two files."""
    records = [record(f"c[{i}]", line=i) for i in range(5000)]
    mixed = random.Random(1).sample(records, len(records))
    one = part(tmp_path, "1.jsonl", mixed[:2000], planned=5000)
    two = part(tmp_path, "2.jsonl", mixed[2000:], planned=5000)
    run = merge([one, two])
    assert run.records == records
    assert run.footer.totals == {"some": {"passed": 5000}}
    assert isinstance(run.footer, Footer)
    assert run.footer.missing == 0
