"""Cases as folders: what is exported and read again is the same case."""

from __future__ import annotations

import string
import zlib
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from case_equality import assert_same, differences
from opcheck.backends.builtin import Builtin
from opcheck.harness.case import Expected, MustFail, Tolerance
from opcheck.harness.dtypes import tensor_type
from opcheck.harness.judge import Options, run_case
from opcheck.harness.record import Outcome
from opcheck.harness.sources import load_all
from opcheck.harness.testdata import MANIFEST, load_tests
from opcheck.harness.testdata_write import (
    MAX_NAME,
    clear,
    folder_names,
    unportable,
    write_test_data,
)

LOADED = load_all([]).cases


def again(case, folder):
    write_test_data(case, folder)
    loaded = load_tests(folder, "again")
    assert [str(error) for error in loaded.errors] == []
    [read] = loaded.cases
    return read


@pytest.mark.parametrize("top", sorted({case.file.split("/")[1] for case in LOADED}))
def test_every_bundled_case_is_the_same_when_it_is_read_again(tmp_path, top):
    """Model, inputs, what is expected and tolerances, bit for bit; nothing is left out."""
    chosen = [case for case in LOADED if case.file.split("/")[1] == top]
    folder = tmp_path / "case"
    for case in chosen:
        clear(folder)
        read = again(case, folder)
        assert (read.why, read.spec) == (case.why, case.spec)
        assert_same(case, read)
    assert chosen


def test_results_are_equal(tmp_path):
    """One case in fifty is run: both readings have the same outcome, and pass."""
    sample = [case for case in LOADED if zlib.crc32(case.id.encode()) % 50 == 0]
    backend = Builtin()
    for i, case in enumerate(sample):
        outcomes = [run_case(c, backend, Options()).outcome
                    for c in (case, again(case, tmp_path / f"case{i}"))]  # fmt: skip
        assert outcomes == [Outcome.PASSED, Outcome.PASSED], case.id
    assert len(sample) > 300


def a_case():
    """A case of one output that any harness can judge."""
    return next(replace(c, variant="") for c in LOADED if len(c.output_names) == 1)


HOSTILE = [
    "../../etc", "..", ".", "/abs", "a" * 500, "CON", "con.txt", "nul", "-rf", "",
    "test_data_set_0",
    "a:b", "a\\b", "é", "\udc80", "x\0y", "Name", "name", "trail.", "a b",
]  # fmt: skip


def test_names_of_folders_are_safe_and_different():
    """No path, no device, no length, no case of letters makes two alike or leaves the folder."""
    files = ("a/x.yaml", "b/x.yaml")
    cases = [replace(a_case(), name=name, file=file) for name in HOSTILE for file in files]
    names = folder_names(cases)
    assert len({name.casefold() for name in names}) == len(cases)
    for name in names:
        assert set(name) <= set(f"{string.ascii_letters}{string.digits}_.-")
        assert 0 < len(name) <= MAX_NAME + len("case_")
        assert name[0] not in ".-"
        assert name[-1] != "."
        assert not name.lower().startswith(("con.", "test_data_set"))
        assert name.lower() not in ("con", "nul")


def test_a_single_title_keeps_its_name():
    """Harnesses know the tests of onnx by name."""
    cases = [replace(a_case(), name="test_loop11"), replace(a_case(), name="other")]
    assert folder_names(cases) == ["test_loop11", "other"]


def test_a_folder_of_someone_else_stays(tmp_path):
    """Only what an export wrote is written over."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years")
    with pytest.raises(FileExistsError):
        clear(tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.txt").exists()


def test_what_other_harnesses_would_judge_wrongly_is_known():
    """Errors, alternatives, undefined and random elements, also deep inside."""
    case = a_case()
    hidden = np.ones((), np.bool_)
    proto = tensor_type(1, ())
    undefined = Expected("tensor", proto, np.dtype(np.float32), (), np.float32(0)[...], hidden)
    inside = Expected("sequence", proto, items=(undefined,))
    random = Expected("tensor", proto, np.dtype(np.float32), ())
    assert unportable(case) == ""
    assert unportable(replace(case, alternatives=(MustFail(),))) == "the model must be rejected"
    two = (case.alternatives[0], MustFail())
    assert unportable(replace(case, alternatives=two)) == "more than one answer is right"
    assert unportable(replace(case, alternatives=((inside,),))) == "elements are undefined"
    assert "random" in unportable(replace(case, alternatives=((random,),)))


def test_some_of_the_initialized_inputs(tmp_path):
    """Files have numbers only; the manifest names the inputs where their number does not tell."""
    infos = [helper.make_tensor_value_info(n, 1, [1]) for n in ("x", "w", "v", "y")]
    node = helper.make_node("Sum", ["x", "w", "v"], ["y"])
    initial = [helper.make_tensor(n, 1, [1], [5.0]) for n in "wv"]
    graph = helper.make_graph([node], "g", infos[:3], infos[3:], initial)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    one = np.ones(1, np.float32)
    case = a_case()
    call = replace(case.call, model=model, inputs={"x": one, "v": one})
    due = Expected("tensor", tensor_type(1, (1,)), one.dtype, (1,), one * 7)
    case = replace(case, call=call, output_names=("y",), alternatives=((due,),), operator="Sum",
                   opset=13, since_version=13, tolerances={"y": Tolerance(ulp=1)})  # fmt: skip
    read = again(case, tmp_path / "case")
    assert list(differences(case, read)) == []
    assert run_case(read, Builtin(), Options()).outcome == Outcome.PASSED


@pytest.mark.parametrize(
    ("text", "where", "seen"),
    [
        ("operator: [1]", "opcheck.yaml:1: operator", "the list [1]"),
        ("id: x\ninputs: [nope]", "opcheck.yaml:2: inputs[0]", "'nope'"),
        ("id: x\noutputs: {z: {dtype: float32, data: 1}}", "opcheck.yaml:2: outputs.z", "'z'"),
        ("id: x\noutputs: {y: {dtype: float32, npy: ../../x.npy}}", "opcheck.yaml:2:", "../../x"),
        ("- 1", "opcheck.yaml", "the list [1]"),
        ("a: [", "opcheck.yaml", ""),
    ],
)
def test_a_bad_manifest_is_an_error(tmp_path, text, where, seen):
    """It is untrusted as any case file is."""
    case = next(c for c in LOADED if c.output_names == ("y",) and not unportable(c))
    write_test_data(case, tmp_path / "case")
    (tmp_path / "case" / MANIFEST).write_text(text)
    loaded = load_tests(tmp_path / "case", "again")
    [error] = loaded.errors
    assert loaded.cases == []
    assert str(error).startswith(f"again/{where}")
    assert seen in error.seen


def test_onnx_reads_what_is_exported(tmp_path):
    """The loader of onnx's own backend tests finds each folder, and onnxruntime agrees."""
    ort = pytest.importorskip("onnxruntime")
    from onnx.backend.test.loader import load_model_tests

    names = ("cases/tensor/concat.yaml", "cases/math/arithmetic.yaml")
    plain = [c for c in LOADED if c.file in names and c.opset > 12 and c.dtypes == {"float32"}]
    cases = [c for c in plain if not unportable(c)]
    for name, case in zip(folder_names(cases), cases, strict=True):
        write_test_data(case, tmp_path / "portable" / name)
    tests = load_model_tests(str(tmp_path), "portable")
    assert {test.name for test in tests} == set(folder_names(cases))
    ran = 0
    ort.set_default_logger_severity(4)
    for test in tests:
        ran += run_folder(ort, tmp_path / "portable" / test.name)
    assert ran > 20


def run_folder(ort, folder):
    """Run one folder as any harness would, and compare."""
    model = onnx.load(folder / "model.onnx")
    session = ort.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    sets = folder / "test_data_set_0"
    feeds = {value.name: array_of(sets / f"input_{i}.pb")
             for i, value in enumerate(model.graph.input)}  # fmt: skip
    for i, got in enumerate(session.run(None, feeds)):
        wanted = array_of(sets / f"output_{i}.pb")
        assert got.dtype == wanted.dtype
        assert np.array_equal(got, wanted) or np.allclose(got, wanted, 1e-3, 1e-7, equal_nan=True)
    return True


def array_of(path):
    return numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))
