"""Where cases come from: files, folders, ids, and the bundled cases from anywhere."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from onnx import helper, numpy_helper

from opcheck.harness.sources import BUNDLED, NoSuchSource, load_all, load_cases, locate

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


def write_test_data(folder, *numbers):
    """Write ONNX test data with these data sets: one Neg."""
    folder.mkdir(parents=True, exist_ok=True)
    info = [helper.make_tensor_value_info(name, 1, [1]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", info[:1], info[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for number in numbers:
        place = folder / f"test_data_set_{number}"
        place.mkdir()
        for name, value in (("input_0.pb", 1), ("output_0.pb", -1)):
            proto = numpy_helper.from_array(np.array([value], np.float32))
            (place / name).write_bytes(proto.SerializeToString())


@pytest.fixture
def mixed(here, monkeypatch, tmp_path_factory):
    """A working directory with case files and test data, and a cache of its own."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "opcheck-cache"
    monkeypatch.setenv("OPCHECK_CACHE", str(shared))
    write_test_data(here / "sub" / "test_a", 0)
    write_test_data(here / "sub" / "deep" / "test_b", 0, 1, 10)
    write_test_data(here / "sub" / "test_a" / "inner", 3)
    return here


def test_a_folder_may_hold_case_files_and_test_data(mixed):
    """All in the order of their paths."""
    assert ids("sub") == [
        *of("sub/c.yaml::one", "sub/c.yaml::three", "sub/deep/d.yaml::four"),
        *(f"sub/deep/test_b::test_b[{i}]" for i in (0, 1, 10)),
        "sub/test_a::test_a",
        "sub/test_a/inner::inner",
    ]


@pytest.mark.parametrize(
    ("source", "chosen"),
    [
        ("sub/test_a::test_a", ["sub/test_a::test_a"]),
        ("sub/test_a", ["sub/test_a::test_a", "sub/test_a/inner::inner"]),
        ("sub/deep/test_b/", [f"sub/deep/test_b::test_b[{i}]" for i in (0, 1, 10)]),
        ("sub::test_b[10]", ["sub/deep/test_b::test_b[10]"]),
        (".::test_b", [f"sub/deep/test_b::test_b[{i}]" for i in (0, 1, 10)]),
        ("onnx:node::test_loop11", ["onnx:node::test_loop11"]),
        ("onnx:pytorch-operator::test_operator_exp", ["onnx:pytorch-operator::test_operator_exp"]),
        ("onnx:light::test_vgg19", ["onnx:light::test_vgg19"]),
    ],
)
def test_ids_of_test_data_and_suites_select(mixed, source, chosen):
    """As those of case files do."""
    assert ids(source) == chosen
    for id_ in chosen:
        assert ids(id_) == [id_]


def test_test_data_from_inside_its_folder(mixed):
    """The name is the folder's, wherever one stands."""
    os.chdir("sub/test_a")
    assert ids(".") == [".::test_a", "inner::inner"]
    assert ids(".::test_a") == [".::test_a"]


def test_cases_of_test_data_and_suites_are_taken_once(mixed):
    """However they are named."""
    assert ids("sub/test_a", "sub::test_a", "./sub/test_a::test_a") == [
        "sub/test_a::test_a",
        "sub/test_a/inner::inner",
    ]
    one = "onnx:simple::test_shrink"
    assert ids(one, one) == [one]
    assert len(ids(one, "onnx:simple")) == 26


@pytest.mark.parametrize(
    ("source", "near"),
    [
        ("sub::test_c", "sub/test_a::test_a"),
        ("sub/deep/test_b::test_b[2]", "sub/deep/test_b::test_b[1]"),
        ("onnx:node::test_lop11", "onnx:node::test_loop11"),
        ("onnx:simple::test_shrnk", "onnx:simple::test_shrink"),
    ],
)
def test_an_unknown_id_of_test_data_or_a_suite_suggests_near_ones(mixed, source, near):
    """The suggestion is an id that can be pasted."""
    assert near in refused(source)
    assert near in ids(near)


@pytest.mark.parametrize("source", ["onnx:nodes", "onnx:", "onnx:nodes::test_abs"])
def test_an_unknown_suite_lists_the_suites(mixed, source):
    """It is never looked for among the files."""
    name = source.partition("::")[0]
    assert f"{name} is no suite; there are onnx:node, onnx:simple, onnx:py" in refused(source)
    with pytest.raises(NoSuchSource, match="there are onnx:node"):
        load_cases(name, ["x"])


def test_a_model_is_no_source(mixed):
    """Its folder is."""
    assert "a source is the folder around model.onnx" in refused("sub/test_a/model.onnx")


def test_bad_test_data_comes_with_the_good(mixed):
    """Chosen by its id it is a mistake, and no unknown id; found twice it is reported once."""
    Path("sub/deep/test_b/test_data_set_1/output_0.pb").unlink()
    loaded = load_all(["sub", "sub/deep", "./sub/deep/test_b"])
    assert [c.id for c in loaded.cases][-5:-2] == [
        "sub/deep/d.yaml::four[int64]", "sub/deep/test_b::test_b[0]", "sub/deep/test_b::test_b[10]",
    ]  # fmt: skip
    assert [e.file for e in loaded.errors] == ["sub/deep/test_b/test_data_set_1/output_0.pb"]
    chosen = load_all(["sub::test_b[1]"])
    assert (chosen.cases, len(chosen.errors)) == ([], 1)
    assert load_all(["sub::test_b[0]"]).errors == []


@pytest.mark.parametrize(
    "source", [".", "onnx:simple", "onnx:light", "cases/generator/range_stash_type.yaml"]
)
def test_workers_load_cases_by_their_ids(mixed, source):
    """From what stands before ``::``, exactly the cases that are asked for."""
    cases = load_all([source]).cases
    by_file = {}
    for case in cases:
        by_file.setdefault(case.file, []).append(case)
    for name, several in by_file.items():
        wanted = [case.id for case in several[::2]]
        loaded = load_cases(name, wanted)
        assert list(loaded) == wanted
        for case in several[::2]:
            again = loaded[case.id]
            assert again.call.model == case.call.model
            assert repr(again.call.inputs) == repr(case.call.inputs)
            assert repr(again.alternatives) == repr(case.alternatives)
            assert again.tolerances == case.tolerances


def test_a_worker_that_asks_for_what_is_not_there(mixed):
    """Unknown ids are left out; an unknown place is an error."""
    assert load_cases("b.yaml", ["b.yaml::one[int64]", "b.yaml::nine"]).keys() == {
        "b.yaml::one[int64]"
    }
    assert load_cases("sub/test_a", ["sub/test_a::nine"]) == {}
    assert load_cases("onnx:simple", ["onnx:simple::nine"]) == {}
    with pytest.raises(NoSuchSource):
        load_cases("nowhere", ["nowhere::x"])


def test_a_path_with_colons_can_be_named(mixed):
    """The last ``::`` divides."""
    Path("odd::name").mkdir()
    Path("odd::name/b.yaml").write_text(Path("b.yaml").read_text())
    write_test_data(mixed / "odd::name" / "x::y", 0)
    assert ids("odd::name/b.yaml::one[int64]") == ["odd::name/b.yaml::one[int64]"]
    assert ids("odd::name") == [
        *of("odd::name/b.yaml::two", "odd::name/b.yaml::one"), "odd::name/x::y::x__y",
    ]  # fmt: skip
    assert ids("odd::name/x::y::x__y") == ["odd::name/x::y::x__y"]
    assert list(load_cases("odd::name/x::y", ["odd::name/x::y::x__y"])) == ["odd::name/x::y::x__y"]
