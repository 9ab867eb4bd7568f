"""Where cases come from: files, folders, ids, and the bundled cases from anywhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opcheck.harness.sources import BUNDLED, NoSuchSource, load_all, locate

CASE = """\
  - name: {name}
    types: {{T: [float32, int64]}}
    node: Neg(x) -> (y)
    inputs: {{x: {{dtype: T, data: 1}}}}
    outputs: {{y: {{dtype: T, data: -1}}}}
"""
HEAD = "opset: 13\ncases:\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A working directory with a few case files."""
    monkeypatch.chdir(tmp_path)
    for name, cases in {
        "b.yaml": ["two", "one"],
        "a.yml": ["first"],
        "sub/c.yaml": ["one", "three"],
        "sub/deep/d.yaml": ["four"],
    }.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(HEAD + "".join(CASE.format(name=c) for c in cases))
    Path("notes.txt").write_text("no case file")
    Path("empty").mkdir()
    return tmp_path


@pytest.fixture(scope="module")
def bundled(tmp_path_factory):
    """All bundled cases, read in a folder that has cases of its own."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "cases").mkdir()
    (folder / "cases" / "mine.yaml").write_text(HEAD + CASE.format(name="mine"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        loaded = load_all([])
    assert loaded.errors == []
    return loaded.cases


def ids(*sources):
    loaded = load_all(list(sources))
    assert loaded.errors == []
    return [case.id for case in loaded.cases]


def of(*titles):
    return [f"{title}[{dtype}]" for title in titles for dtype in ("float32", "int64")]


def refused(*sources):
    with pytest.raises(NoSuchSource) as caught:
        load_all(list(sources))
    return str(caught.value)


def test_a_file_keeps_the_order_of_its_cases(here):
    """Cases come in the order in which they are written, expanded in place."""
    assert ids("b.yaml") == of("b.yaml::two", "b.yaml::one")


@pytest.mark.parametrize("source", [".", "./", "././"])
def test_a_folder_is_read_in_the_order_of_its_paths(here, source):
    """Files below a folder, sorted; what does not end in .yaml or .yml is no case file."""
    assert ids(source) == of(
        "a.yml::first", "b.yaml::two", "b.yaml::one", "sub/c.yaml::one", "sub/c.yaml::three",
        "sub/deep/d.yaml::four",
    )  # fmt: skip


def test_sources_keep_their_order(here):
    """The order of the command line is the order of the run."""
    assert ids("sub/deep", "a.yml") == of("sub/deep/d.yaml::four", "a.yml::first")


@pytest.mark.parametrize(
    ("source", "titles"),
    [
        ("b.yaml::one", of("b.yaml::one")),
        ("./b.yaml::one", of("b.yaml::one")),
        ("b.yaml::one[int64]", ["b.yaml::one[int64]"]),
        ("sub::three", of("sub/c.yaml::three")),
        (".::one[int64]", ["b.yaml::one[int64]", "sub/c.yaml::one[int64]"]),
    ],
)
def test_ids_select(here, source, titles):
    """An id is a case or one variant of it; below a folder it may be in several files."""
    assert ids(source) == titles


def test_every_id_selects_exactly_its_case(here):
    """What a report prints can be pasted back."""
    for id_ in ids("."):
        assert ids(id_) == [id_]
    absolute = ids(str(here))
    assert absolute[0] == f"{here}/a.yml::first[float32]"
    assert ids(absolute[-1]) == absolute[-1:]


def test_a_case_that_two_sources_name_is_taken_once(here):
    """The first mention gives the place, however the file is written."""
    assert ids("b.yaml::one[int64]", "b.yaml", "b.yaml::two", "./b.yaml", str(here / "b.yaml")) == [
        "b.yaml::one[int64]", *of("b.yaml::two"), "b.yaml::one[float32]",
    ]  # fmt: skip
    Path("link.yaml").symlink_to("b.yaml")
    assert ids("b.yaml", "link.yaml") == of("b.yaml::two", "b.yaml::one")


@pytest.mark.parametrize(
    ("source", "near"),
    [
        ("b.yaml::tow", "b.yaml::two"),
        ("b.yaml::one[int32]", "b.yaml::one[int64]"),
        ("sub::thre", "sub/c.yaml::three"),
        ("cases/controlflow/loop.yaml::doc_sampel", "cases/controlflow/loop.yaml::doc_sample"),
    ],
)
def test_an_unknown_id_suggests_near_ones(here, source, near):
    """The suggestion is an id that can be pasted."""
    message = refused(source)
    assert source.partition("::")[2] in message
    assert near in message
    assert ids(near)


def test_an_id_that_is_like_nothing_suggests_nothing(here):
    """A far-fetched suggestion is worse than none."""
    assert refused("b.yaml::zzzzzzz") == "b.yaml has no case 'zzzzzzz'"


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("none.yaml", "none.yaml is neither a case file nor a folder, and no bundled case"),
        ("none", "none is neither a case file nor a folder"),
        ("none.yaml::one", "none.yaml is neither a case file nor a folder"),
        ("cases/none.yaml", "cases/none.yaml is neither"),
        ("notes.txt", "notes.txt is no case file; those end in .yaml or .yml"),
        ("empty", "empty holds no case file"),
        ("x" * 5000, "is neither a case file nor a folder"),
        ("a\0b", "is neither a case file nor a folder"),
    ],
)
def test_a_source_that_leads_nowhere(here, source, why):
    """Nothing is never run silently."""
    assert why in refused(source)
    assert why in refused("b.yaml", source)


def test_mistakes_of_a_file_come_with_its_good_cases(here):
    """One bad case costs itself; chosen by its id it is still a mistake, and no unknown id."""
    Path("bad.yaml").write_text(
        HEAD + CASE.format(name="good") + CASE.format(name="bad").replace("1}", "x}", 1)
    )
    loaded = load_all(["bad.yaml"])
    assert [case.name for case in loaded.cases] == ["good", "good"]
    assert [error.file for error in loaded.errors] == ["bad.yaml"]
    for source in ("bad.yaml::bad", "bad.yaml::bad[float32]"):
        chosen = load_all([source])
        assert chosen.cases == []
        assert [e.seen for e in chosen.errors] == ["'x'"]
    assert load_all(["bad.yaml::good"]).errors == []


def test_a_mistake_before_the_variants_belongs_to_all_of_them(here):
    """A case that never got its variants is found by the id of any of them."""
    Path("bad.yaml").write_text(HEAD + CASE.format(name="bad").replace("int64]", "int65]"))
    assert len(load_all(["bad.yaml::bad[float32]"]).errors) == 1


def test_mistakes_are_reported_once(here):
    """A file that two sources name has its mistakes once; a broken file is named with any id."""
    Path("bad.yaml").write_text("cases: [")
    assert len(load_all(["bad.yaml", "./bad.yaml", ".", "bad.yaml::x"]).errors) == 1


def test_bundled_cases_are_found_from_anywhere(here, bundled):
    """``cases/...`` names the installed ones where there is no such path here."""
    assert all(case.file.startswith("cases/") for case in bundled)
    files = [case.file for case in bundled]
    small = min(set(files), key=files.count)
    assert locate(small) == BUNDLED / small.removeprefix("cases/")
    assert ids(small) == [case.id for case in bundled if case.file == small]


def test_a_folder_called_cases_comes_first(here, bundled):
    """A user's own ``cases`` hides the bundled ones, file by file; without a source it does not."""
    Path("cases").mkdir()
    Path("cases/mine.yaml").write_text(HEAD + CASE.format(name="mine"))
    assert ids("cases") == of("cases/mine.yaml::mine")
    assert ids(bundled[0].id) == [bundled[0].id]
    assert all(case.name != "mine" for case in bundled)


def test_ids_of_bundled_cases_are_unique(bundled):
    """An id names one case."""
    names = [case.id for case in bundled]
    assert len(names) == len(set(names))


def test_ids_of_bundled_cases_select_exactly_them(tmp_path, monkeypatch, bundled):
    """A sample over all files, pasted back in another working directory."""
    monkeypatch.chdir(tmp_path)
    by_file = {}
    for case in bundled:
        by_file.setdefault(case.file, []).append(case.id)
    for names in list(by_file.values())[:: max(1, len(by_file) // 12)]:
        sample = [names[0], names[len(names) // 2], names[-1]]
        wanted = list(dict.fromkeys(sample))
        assert ids(*sample) == wanted
    assert ids(bundled[-1].id) == [bundled[-1].id]


def test_files_are_found_below_the_working_directory_only_where_named(here):
    """Paths outside are fine when they are asked for."""
    os.chdir(here / "sub")
    assert ids("../a.yml") == of("../a.yml::first")
