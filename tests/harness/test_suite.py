"""The suites of the installed onnx package, and the cache that holds them."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import helper

from opcheck.backends.reference import Reference
from opcheck.harness import archive, packed, suite
from opcheck.harness.dtypes import ELEMENT_TYPES, parse_type, type_text
from opcheck.harness.judge import Options, run_case
from opcheck.harness.literals import to_array
from opcheck.harness.randomness import is_random
from opcheck.harness.suite import SUITES, UnknownSuite, load_suite, suite_titles
from opcheck.harness.testdata import read_value
from opcheck.harness.values import value_of

SIMPLE = "onnx:simple"
COUNTS = {
    "onnx:node": 1884,
    "onnx:simple": 26,
    "onnx:pytorch-operator": 35,
    "onnx:pytorch-converted": 82,
    "onnx:light": 9,
}
#: What onnx's own ReferenceEvaluator fails, of its own tests.
REFERENCE_FAILS = {
    *"test_if_opt test_scan_sum test_scatter_with_axis test_scatter_without_axis".split(),
    *"test_gradient_of_add test_gradient_of_add_and_mul".split(),
}


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory):
    """A cache that all processes of a test session share."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "opcheck-cache"


@pytest.fixture
def filled(shared_cache, monkeypatch):
    """The shared cache, in use."""
    monkeypatch.setenv("OPCHECK_CACHE", str(shared_cache))
    return shared_cache


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, in use."""
    monkeypatch.setenv("OPCHECK_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def fresh(name=SIMPLE, wanted=None):
    """Load as a new process would."""
    archive.forget()
    return load_suite(name, wanted)


def forget_keys():
    suite.archive_key.cache_clear()
    archive.environment.cache_clear()


def contents(loaded):
    """All that a case holds, comparable."""
    assert loaded.errors == []
    return [
        (c.id, c.call.model.SerializeToString(), repr(c.call.inputs), repr(c.alternatives))
        for c in loaded.cases
    ]


@pytest.mark.parametrize("name", SUITES)
def test_every_case_of_a_suite_is_loaded(filled, name):
    """None more, none less, and titles are known without reading the cases."""
    loaded = load_suite(name)
    assert loaded.errors == []
    assert len(loaded.cases) == COUNTS[name]
    assert [case.title for case in loaded.cases] == suite_titles(name)
    assert len({case.id for case in loaded.cases}) == COUNTS[name]
    assert {case.file for case in loaded.cases} == {name}


def proper(value, declared):
    """Whether a value is what backends are promised, of its declared type."""
    which = declared.WhichOneof("value")
    if which == "optional_type":
        return value is None or proper(value, declared.optional_type.elem_type)
    if which == "sequence_type":
        inner = declared.sequence_type.elem_type
        return type(value) is list and all(proper(item, inner) for item in value)
    right = type(value) is np.ndarray and value.flags.writeable and value.flags.c_contiguous
    if right and value.dtype == object:
        right = all(type(item) is str for item in value.reshape(-1))
    return right and value.dtype == ELEMENT_TYPES[type_text(declared)].dtype


@pytest.mark.parametrize("name", SUITES)
def test_all_values_are_proper_and_of_their_declared_types(filled, name):
    """No backend fails for the harness's sake."""
    for case in load_suite(name).cases:
        graph = case.call.model.graph
        types = {i.name: i.type for i in graph.input}
        needed = set(types) - {t.name for t in graph.initializer}
        assert needed <= set(case.call.inputs) <= set(types), case.id
        for key, value in case.call.inputs.items():
            assert proper(value, types[key]), (case.id, key)
        assert case.output_names == tuple(o.name for o in graph.output)
        assert set(case.tolerances) == set(case.output_names)
        for expected, output in zip(case.alternatives[0], graph.output, strict=True):
            assert type_text(expected.type) == type_text(output.type), case.id
            if not is_random(expected):
                assert proper(value_of(expected), output.type), (case.id, output.name)


@pytest.mark.parametrize(
    ("name", "operator"),
    [
        ("test_loop11", ("Loop", "", 11, 11)),
        ("test_celu_expanded", ("Celu", "", 28, 28)),
        ("test_layer_normalization_2d_axis0_expanded_ver18", ("LayerNormalization", "", 17, 17)),
        ("test_adam", ("Adam", "ai.onnx.preview.training", 1, 1)),
        ("test_ai_onnx_ml_binarizer", ("Binarizer", "ai.onnx.ml", 1, 1)),
    ],
)
def test_cases_know_their_operator(filled, name, operator):
    """An expanded test is one of the operator that was expanded."""
    (case,) = load_suite("onnx:node", {name}).cases
    assert (case.operator, case.domain, case.opset, case.since_version) == operator


def test_tolerances_are_the_tests_own(filled):
    """Those of onnx's runner, for bfloat16 too."""
    found = {
        c.name: c.tolerances["Y"]
        for c in load_suite(
            "onnx:node", {"test_attention_4d", "test_attention_4d_causal_bf16"}
        ).cases
    }
    assert (found["test_attention_4d"].rtol, found["test_attention_4d"].atol) == (1e-3, 1e-7)
    assert found["test_attention_4d_causal_bf16"].rtol == 2**-6
    assert {c.tolerances[c.output_names[0]].rtol for c in load_suite("onnx:light").cases} == {
        1e-3,
        2e-3,
    }


@pytest.mark.filterwarnings("ignore")  # the evaluator's own
@pytest.mark.parametrize("name", ["onnx:node", "onnx:simple", "onnx:pytorch-operator"])
def test_the_reference_evaluator_passes_what_it_can(filled, name):
    """A sample; whatever else it fails, the harness feeds wrongly."""
    cases = [
        case
        for case in load_suite(name).cases[:: 8 if name == "onnx:node" else 1]
        if case.operator not in ("Bernoulli", "ImageDecoder")  # random; needs Pillow
        and "string" not in case.dtypes
        and not (case.operator == "Range" and "expanded" in case.name)
    ]
    records = [run_case(case, Reference(), Options()) for case in cases]
    failed = {r.case.partition("::")[2] for r in records if r.outcome != "passed"}
    assert failed <= REFERENCE_FAILS
    assert len(records) >= 20


def test_an_unknown_suite_lists_the_known_ones():
    """It is never taken for a path."""
    with pytest.raises(UnknownSuite, match="onnx:nod is no suite; there are onnx:node, onnx:sim"):
        load_suite("onnx:nod")
    with pytest.raises(UnknownSuite):
        suite_titles("onnx:")


def test_a_filled_cache_is_read_and_gives_the_same(cache, monkeypatch):
    """The second time nothing is generated."""
    first = contents(fresh())
    monkeypatch.setattr(suite, "_tests", pytest.fail)
    assert contents(fresh()) == first
    assert [c.title for c in fresh(SIMPLE, {"test_shrink"}).cases] == ["test_shrink"]


def test_generating_again_gives_the_same_bytes(cache):
    """Random data of the tests do not depend on who generates them, nor change NumPy's state."""
    np.random.seed(1)
    state = np.random.get_state()[1].tolist()
    fresh()
    assert np.random.get_state()[1].tolist() == state
    path = suite.archive_path(SIMPLE)
    first = path.read_bytes()
    path.unlink()
    np.random.seed(2)
    fresh()
    assert path.read_bytes() == first


@pytest.mark.parametrize("seed", range(6))
def test_damage_at_any_byte_is_noticed_and_repaired(cache, seed):
    """Each part of the file has a checksum."""
    before = contents(fresh())
    path = suite.archive_path(SIMPLE)
    good = path.read_bytes()
    rng = random.Random(seed)
    inside_head = range(archive._HEAD.size)
    places = [rng.choice(inside_head), *(rng.randrange(len(good)) for _ in range(8))]
    for place in places:
        bad = bytearray(good)
        bad[place] ^= 1 << rng.randrange(8)
        path.write_bytes(bad)
        assert contents(fresh()) == before, place
        assert path.read_bytes() == good, place


@pytest.mark.parametrize("size", [0, 1, 79, 80, 81, 1000, -1])
def test_a_half_written_file_is_noticed_and_repaired(cache, size):
    """Wherever the writing stopped; also too much at the end."""
    before = contents(fresh())
    path = suite.archive_path(SIMPLE)
    good = path.read_bytes()
    for bad in (good[:size], good + b"more"):
        path.write_bytes(bad)
        assert contents(fresh()) == before
        assert path.read_bytes() == good


def test_a_file_that_changes_under_an_open_archive(cache):
    """A process that has read the index notices what happens to the file later."""
    before = contents(fresh())
    path = suite.archive_path(SIMPLE)
    good = path.read_bytes()
    path.write_bytes(good[:-100])
    assert contents(load_suite(SIMPLE)) == before
    path.unlink()
    assert contents(load_suite(SIMPLE)) == before
    assert path.read_bytes() == good


def test_a_file_with_right_checksums_and_wrong_contents(cache):
    """Bytes that are no case lead to a new archive."""
    before = contents(fresh())
    path = suite.archive_path(SIMPLE)
    key = suite.archive_key(SIMPLE)
    head = archive.Head("test_shrink", "", 0, "Shrink", "", 9, 9, [], "")
    path.write_bytes(archive.assemble(key, archive.Made([(head, b"\x00")], [])))
    assert contents(fresh()) == before


def test_a_case_that_cannot_be_read_is_an_error_beside_the_others(cache, monkeypatch):
    """Also when it comes from the cache, and when it is asked for."""
    tests = suite._tests(SIMPLE)[:3]
    good = [test.name for test in tests[1:]]
    bad = type(tests[0])(**vars(tests[0]))
    bad.data_sets = [([*bad.data_sets[0][0], 1], bad.data_sets[0][1])]
    monkeypatch.setattr(suite, "_tests", lambda _: [bad, *tests[1:]])
    for _ in range(2):
        loaded = fresh()
        assert [c.name for c in loaded.cases] == good
        assert [(e.file, e.case) for e in loaded.errors] == [(SIMPLE, bad.name)]
    assert fresh(SIMPLE, set(good)).errors == []


def test_an_onnx_without_its_tests_is_an_error(cache, monkeypatch):
    """It says what is broken and how to mend it."""

    def broken(_):
        raise ImportError("no module named base")

    monkeypatch.setattr(suite, "_tests", broken)
    (error,) = fresh().errors
    assert error.file == SIMPLE
    assert "ImportError: no module named base" in str(error)
    assert "pip install" in str(error)
    assert suite_titles(SIMPLE) == []


def test_processes_that_fill_the_cache_at_once_do_no_harm(cache):
    """Each gets all cases; one good file is left, and nothing else."""
    script = (
        "from opcheck.harness.suite import load_suite\n"
        f"print(len(load_suite({SIMPLE!r}).cases), len(load_suite({SIMPLE!r}).errors))"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert [process.communicate(timeout=60)[0] for process in running] == ["26 0\n"] * 4
    assert [path.name for path in cache.iterdir()] == [suite.archive_path(SIMPLE).name]
    assert len(fresh().cases) == 26


@pytest.mark.parametrize("obstacle", ["file", "full", "replace"])
def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path, monkeypatch, obstacle):
    """The cases are kept in memory, and generated once in a process."""
    monkeypatch.setenv("OPCHECK_CACHE", str(tmp_path / "here" / "cache"))
    if obstacle == "file":
        (tmp_path / "here").write_text("no folder")
    else:

        def fails(*_):
            raise OSError(28, "no space left on device")

        target = (archive.tempfile, "mkstemp") if obstacle == "full" else (archive.Path, "replace")
        monkeypatch.setattr(*target, fails)
    before = contents(fresh())
    assert len(before) == 26
    monkeypatch.setattr(suite, "_tests", pytest.fail)
    assert contents(load_suite(SIMPLE)) == before
    assert not (tmp_path / "here").is_dir() or not list((tmp_path / "here" / "cache").iterdir())


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        (archive, "FORMAT", 99),
        (onnx, "__version__", "9.9"),
        (np, "__version__", "9.9"),
        (archive.ml_dtypes, "__version__", "9.9"),
        (sys, "byteorder", "middle"),
        (suite.importlib.metadata, "version", lambda _: "9.9"),
    ],
)
def test_what_decides_the_contents_decides_the_file(cache, monkeypatch, place, name, value):
    """Another version has a file of its own and leaves the old one alone."""
    fresh()
    old = suite.archive_path(SIMPLE)
    forget_keys()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(place, name, value)
            assert suite.archive_path(SIMPLE) != old
            fresh()
            assert len(list(cache.iterdir())) == 2
    finally:
        forget_keys()
    assert suite.archive_path(SIMPLE) == old


def test_a_file_of_another_key_is_not_read(cache, monkeypatch):
    """The key stands in the file too, in full."""
    fresh()
    path = suite.archive_path(SIMPLE)
    other = archive.assemble(b"x" * 32, archive.Made([], []))
    path.write_bytes(other)
    assert len(fresh().cases) == 26


def test_old_files_are_removed(cache):
    """A few versions are kept; what killed processes left goes after an hour."""
    cache.mkdir()
    for i in range(8):
        (cache / f"simple-{i}.cases").write_bytes(b"old")
        os.utime(cache / f"simple-{i}.cases", (i, i))
    (cache / "node-1.cases").write_bytes(b"another suite")
    (cache / "simple-1.cases.abc.part").write_bytes(b"half")
    os.utime(cache / "simple-1.cases.abc.part", (0, 0))
    (cache / "simple-1.cases.new.part").write_bytes(b"still being written")
    fresh()
    assert sorted(path.name for path in cache.iterdir()) == sorted(
        [
            "node-1.cases",
            "simple-1.cases.new.part",
            *(f"simple-{i}.cases" for i in range(4, 8)),
            suite.archive_path(SIMPLE).name,
        ]
    )


def test_the_cache_is_in_the_users_folder(monkeypatch):
    """Unless the environment says otherwise; an empty variable says nothing."""
    monkeypatch.setenv("OPCHECK_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    if sys.platform == "linux":
        assert str(archive.cache_folder()) == "/somewhere/opcheck"


def test_every_kind_of_value_goes_through_the_archive():
    """Bit patterns, empty tensors, scalars, strings, sequences, optionals, maps."""
    values = [
        (to_array([1, 1], element), element.name)
        for element in ELEMENT_TYPES.values()
        if element.name not in ("bool", "string")
    ]
    values += [
        (np.array([True, False]), "bool"),
        (np.array([["a\0b", ""], ["ü", "x" * 999]], object), "string"),
        (np.array("one", object), "string"),
        (np.empty((0, 2), object), "string"),
        (np.array(2, np.int8), "int8"),
        (np.empty((2, 0), np.float32), "float32"),
        (np.array([0x7FA00001, 0x80000000], np.uint32).view(np.float32), "float32"),
        ([np.ones(2), np.ones((1, 3))], "seq(float64)"),
        ([], "seq(string)"),
        (None, "optional(seq(float32))"),
        (np.ones(1, np.float32), "optional(float32)"),
        ([{"a": 1.5, "ü": -0.0}], "seq(map(string, float32))"),
        ({-1: 2, 2**62: 3}, "map(int64, int64)"),
    ]
    for value, text in values:
        expected = read_value(value, parse_type(text))
        data = packed._encode(packed._packed(expected))
        back = packed._unpacked(packed.msgspec.msgpack.decode(data, type=packed._Packed))
        assert (back.kind, back.type, back.dtype, back.shape, back.keys) == (
            expected.kind, expected.type, expected.dtype, expected.shape, expected.keys,
        ), text  # fmt: skip
        left, right = value_of(back), value_of(expected)
        assert repr(left) == repr(right)
        if isinstance(left, np.ndarray) and left.dtype != object:
            assert left.tobytes() == right.tobytes()


def test_helper_types_of_the_archive_stay_the_same():
    """A tensor's type has its shape; that of a sequence's items is left open."""
    read = read_value([np.ones((2, 3), np.float32)], parse_type("seq(float32)"))
    assert read.items[0].type == helper.make_tensor_type_proto(1, [2, 3])
    assert not read.type.sequence_type.elem_type.tensor_type.HasField("shape")
