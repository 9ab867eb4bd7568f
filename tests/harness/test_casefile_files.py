"""Files that cases name are checked, and no document makes the loader raise."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from opcheck.harness.casefile import load
from opcheck.harness.errors import CaseError

GOOD = """\
operator: Neg
opset: 13

cases:
  - name: good
    node: Neg(a) -> (c)
    inputs:
      a: {dtype: float32, data: [1, 2]}
    outputs:
      c: {dtype: float32, data: [-1, -2]}
"""


#: Lines 11 to 15, behind ``GOOD`` (of ten lines).
WITH_FILE = """\
  - name: bad
    inputs:
      a: {}
    node: Neg(a) -> (c)
    outputs: {{c: {{dtype: float32, data: 1}}}}
"""


def check(read_cases, folder, text, line, path, seen, wanted):
    """The file has this one mistake, and its good case is still there."""
    loaded = read_cases(GOOD + text, folder)
    assert [case.name for case in loaded.cases] == ["good"]
    (error,) = loaded.errors
    assert (error.file, error.line) == ("case.yaml", line)
    assert error.path == ("cases", 1, *path)
    assert seen in error.seen
    assert wanted in error.wanted
    return error


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with files that cases may name, and some they may not."""
    folder = tmp_path_factory.mktemp("files") / "inner"
    folder.mkdir()
    np.save(folder / "double.npy", np.ones(2))
    np.save(folder / "pickled.npy", np.array([{}], object), allow_pickle=True)
    np.save(folder / "four.npy", np.array([1, 255], np.uint8))
    np.save(folder / "record.npy", np.zeros(2, [("x", "u1"), ("y", "u1")]))
    np.savez(folder / "archive.npz", np.ones(2))
    (folder / "text.npy").write_text("no array at all")
    (folder / "empty.npy").write_bytes(b"")
    (folder / "zip.npy").write_bytes(b"PK\x03\x04 no archive")
    header = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (%s,), }"
    (folder / "huge.npy").write_bytes((header % b"999999999999999").ljust(127) + b"\n")
    (folder / "header.npy").write_bytes((header % b"-1").ljust(127) + b"\n1234")
    for name in ("secret.npy", "inner/good.npy"):
        np.save(folder.parent / name, np.ones(2, np.float32))
    (folder / "link.npy").symlink_to(folder.parent / "secret.npy")
    (folder / "up").symlink_to(folder.parent)
    external = helper.make_tensor("w", TensorProto.FLOAT, [2], [1, 2])
    external.ClearField("float_data")
    external.data_location = TensorProto.EXTERNAL
    external.external_data.add(key="location", value="../secret.npy")
    graph = helper.make_graph([helper.make_node("Neg", ["w"], ["c"])], "g", [], [], [external])
    (folder / "external.onnx").write_bytes(helper.make_model(graph).SerializeToString())
    (folder / "junk.onnx").write_bytes(b"junk")
    (folder.parent / "outside.onnx").write_bytes(b"junk")
    return folder


@pytest.mark.parametrize(
    ("name", "dtype", "seen", "wanted"),
    [
        ("../secret.npy", "float32", "'../secret.npy', which is outside", "a file below"),
        (
            "x/../../secret.npy",
            "float32",
            "which is outside",
            "a file below the case file's folder",
        ),
        ("link.npy", "float32", "'link.npy', which is outside", "a file below"),
        ("up/secret.npy", "float32", "'up/secret.npy', which is outside", "a file below"),
        ("/etc/passwd", "float32", "'/etc/passwd', which is outside", "a file below"),
        ("none.npy", "float32", "'none.npy', which is no file", "a file below"),
        (".", "float32", "'.', which is no file", "a file below"),
        ("''", "float32", "'', which is no file", "a file below"),
        ('"a\\0b"', "float32", "null byte", "a file below"),
        ("x" * 300, "float32", "File name too long", "a file below"),
        ("double.npy", "float32", "double.npy of dtype float64", "float32"),
        ("pickled.npy", "float32", "Object arrays cannot be loaded", "without pickles"),
        (
            "archive.npz",
            "float32",
            "the magic string is not correct",
            "a file that numpy.save wrote",
        ),
        ("text.npy", "float32", "the magic string is not correct", "a file that numpy.save wrote"),
        ("empty.npy", "float32", "EOF: reading magic string", "a file that numpy.save wrote"),
        ("zip.npy", "float32", "the magic string is not correct", "a file that numpy.save wrote"),
        ("huge.npy", "float32", "huge.npy: ", "a file that numpy.save wrote"),
        ("header.npy", "float32", "header.npy: ", "a file that numpy.save wrote"),
        ("four.npy", "int4", "four.npy with bytes that are no int4", "4 bits in each byte"),
        ("four.npy", "int8", "four.npy of dtype uint8", "int8"),
        ("record.npy", "bfloat16", "record.npy of dtype", "bfloat16"),
    ],
)
def test_npy_files_are_checked(read_cases, folder, name, dtype, seen, wanted):
    """Only arrays below the case file's folder, of the right dtype, and never a pickle."""
    if name == "x/../../secret.npy":
        (folder / "x").mkdir(exist_ok=True)
    text = WITH_FILE.format(f"{{dtype: {dtype}, npy: {name}}}")
    check(read_cases, folder, text, 13, ("inputs", "a", "npy"), seen, wanted)


def test_the_shape_beside_an_npy_file_must_be_its_own(read_cases, folder):
    """A file is never reshaped silently."""
    text = WITH_FILE.format("{dtype: float32, shape: [1, 2], npy: good.npy}")
    path = ("inputs", "a", "shape")
    check(read_cases, folder, text, 13, path, "[1, 2]", "[2], the file's shape")


@pytest.mark.parametrize(
    ("name", "seen", "wanted"),
    [
        ("../outside.onnx", "'../outside.onnx', which is outside", "a file below"),
        ("up/outside.onnx", "'up/outside.onnx', which is outside", "a file below"),
        ("none.onnx", "'none.onnx', which is no file", "a file below"),
        ("junk.onnx", "", "an ONNX model"),
        ("external.onnx", "", "an ONNX model"),
        ("empty.npy", "ir_version", "a valid model"),
    ],
)
def test_model_files_are_checked(read_cases, folder, name, seen, wanted):
    """Models come from below the case file's folder, their external data too."""
    text = f"  - name: bad\n    model_file: {name}\n    outputs: {{}}\n"
    check(read_cases, folder, text, 12, ("model_file",), seen, wanted)


SEEDS = [
    yaml.safe_load(GOOD),
    {
        "cases": [
            {
                "name": "model",
                "opset": "13..14",
                "model": "g (float[2] a, T b) => (float[2] c) { c = Neg(a) }",
                "types": {"T": ["int8", "bfloat16"]},
                "inputs": {
                    "a": {"dtype": "float32", "fill": 1.5, "shape": [2]},
                    "b": {"dtype": "T", "data": 3},
                },
                "outputs": {"c": {"dtype": "float32", "data": [-1.5, None]}},
            }
        ]
    },
    {
        "opset": [11, 13],
        "cases": [
            {
                "name": "everything",
                "node": "Loop(M, , v) -> (w, s)",
                "types": {"T": ["float32", "int64"]},
                "attributes": {
                    "body": "b (int64 i, bool c, T u) => (bool d, T t, T r) "
                    "{ d = Identity(c) t = Add(u, u) r = Identity(u) }"
                },
                "inputs": {
                    "M": {"dtype": "int64", "shape": [], "data": 2},
                    "v": {"dtype": "T", "bits": [1]},
                },
                "any_of": [
                    {
                        "outputs": {
                            "w": {"dtype": "T", "shape": [None]},
                            "s": {"sequence": [{"optional": None, "dtype": "T"}]},
                        }
                    },
                    {"error": {"phase": "run", "match": "x+"}, "why": "There is room."},
                ],
                "tolerance": {"ulp": 2, "outputs": {"w": {"rtol": 0.5, "signed_zero": True}}},
            }
        ],
    },
]
junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([-1, 0, 1, 2**31, 2**63, 10**400]),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from(
        ["T", "float32", "seq(float32)", "map(int64, float32)", "1..99", "(", "..", "/"]
    ),
    st.lists(st.integers(-3, 3), max_size=3),
    st.dictionaries(
        st.sampled_from(["dtype", "data", "name", "ulp", "x"]), st.integers(), max_size=2
    ),
)


def places(node, path=()):
    """Return the paths of all values in a tree."""
    inner = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    return [path, *(p for key, value in inner for p in places(value, (*path, key)))]


def mutate(data, document):
    """Replace, delete, insert or move one value of the tree."""
    path = data.draw(st.sampled_from(places(document)[1:]), "place")
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    action = data.draw(st.sampled_from(["replace", "delete", "insert", "move"]), "action")
    if action == "delete":
        del parent[path[-1]]
    elif action == "replace":
        parent[path[-1]] = data.draw(junk, "value")
    elif action == "move":
        other = document
        for key in data.draw(st.sampled_from(places(document)), "from"):
            other = other[key]
        parent[path[-1]] = copy.deepcopy(other)
    elif isinstance(parent, list):
        parent.insert(path[-1], data.draw(junk, "value"))
    else:
        keys = st.sampled_from(["dtype", "optional", "error", "opset", "npy", "fill", "tolerance"])
        parent[data.draw(keys | st.text(max_size=3), "key")] = data.draw(junk, "value")


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_no_document_makes_the_loader_raise(data, tmp_path_factory):
    """Whatever stands in a case file, each mistake in it is a ``CaseError`` with its file."""
    document = copy.deepcopy(data.draw(st.sampled_from(SEEDS), "seed"))
    for _ in range(data.draw(st.integers(1, 4), "mutations")):
        if len(places(document)) > 1:
            mutate(data, document)
    path = Path(tmp_path_factory.getbasetemp()) / "mutant.yaml"
    path.write_text(yaml.safe_dump(document, allow_unicode=True), encoding="utf-8")
    loaded = load(path, "mutant.yaml")
    assert loaded.cases or loaded.errors
    for error in loaded.errors:
        assert isinstance(error, CaseError)
        assert error.file == "mutant.yaml"
        assert error.seen
        assert error.wanted


@pytest.mark.parametrize("seed", SEEDS)
def test_the_mutations_begin_with_good_documents(read_cases, seed):
    """Only a good document leads a mutation to the last lines of the loader."""
    loaded = read_cases(yaml.safe_dump(seed))
    assert not loaded.errors
    assert loaded.cases
