"""Folders of ONNX test data: what is in them, what is missing, and every kind of value."""

from __future__ import annotations

import json
import shutil

import numpy as np
import onnx
import pytest
from onnx import MapProto, TensorProto, helper, numpy_helper

from opcheck.harness.case import Tolerance
from opcheck.harness.dtypes import ELEMENT_TYPES, parse_type, type_text
from opcheck.harness.errors import CaseError
from opcheck.harness.literals import to_array
from opcheck.harness.testdata import find_tests, load_tests, read_value
from opcheck.harness.values import value_of


def identity(text, *, shape=None):
    """A model of one Identity, whose input and output have a type."""
    proto = parse_type(text) if shape is None else helper.make_tensor_type_proto(1, shape)
    node = helper.make_node("Identity", ["x"], ["y"])
    info = [helper.make_value_info(name, proto) for name in "xy"]
    graph = helper.make_graph([node], "g", info[:1], info[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 16)])


def as_proto(value, text):
    if text.startswith("optional"):
        return numpy_helper.from_optional(value)
    if text.startswith("seq"):
        return numpy_helper.from_list(value)
    return as_map(value) if text.startswith("map") else numpy_helper.from_array(value)


def as_map(value):
    """numpy_helper.from_dict cannot write string keys."""
    proto = MapProto()
    for key, held in value.items():
        (proto.string_keys if isinstance(key, str) else proto.keys).append(
            key.encode() if isinstance(key, str) else key
        )
        proto.values.tensor_values.append(numpy_helper.from_array(np.float32(held)[()]))
    proto.key_type = TensorProto.STRING if isinstance(next(iter(value)), str) else TensorProto.INT64
    proto.values.elem_type = onnx.SequenceProto.TENSOR
    return proto


def write(folder, model, *sets):
    """Write a model and its data sets, each a pair of lists of protos."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for i, (inputs, outputs) in enumerate(sets):
        place = folder / f"test_data_set_{i}"
        place.mkdir()
        for kind, protos in (("input", inputs), ("output", outputs)):
            for k, proto in enumerate(protos):
                (place / f"{kind}_{k}.pb").write_bytes(proto.SerializeToString())
    return folder


def same(left, right):
    if isinstance(left, dict):
        return left == right
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if left is None or right is None:
        return left is right
    return (left.dtype, left.shape) == (right.dtype, right.shape) and left.tobytes() == (
        right.tobytes()
    )


FLOATS = numpy_helper.from_array(np.array([1.5, -0.0], np.float32))


@pytest.fixture
def good(tmp_path):
    """A folder with two data sets."""
    pair = ([FLOATS], [FLOATS])
    return write(tmp_path / "test_x", identity("float32"), pair, pair)


@pytest.mark.parametrize("name", sorted(ELEMENT_TYPES))
def test_tensors_of_every_type_come_back(tmp_path, name):
    """The dtype is the declared one, the memory is the case's own."""
    element = ELEMENT_TYPES[name]
    literals = ["a", "ü", ""] if name == "string" else [1, 1, 1]
    if name == "bool":
        literals = [True, False, True]
    array = to_array(literals, element)
    if name in ("int4", "int2"):
        array[2] = -1
    proto = numpy_helper.from_array(array)
    loaded = load_tests(write(tmp_path / "t", identity(name), ([proto], [proto])), "t")
    assert loaded.errors == []
    (case,) = loaded.cases
    assert case.dtypes == {name}
    for got in (case.call.inputs["x"], case.alternatives[0][0].value):
        assert (got.dtype, got.tolist()) == (element.dtype, array.tolist())
        assert got.flags.writeable
        assert got.flags.owndata


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("float32", np.array(2.5, np.float32)),
        ("int64", np.empty((0, 3), np.int64)),
        ("seq(int64)", [np.arange(2), np.arange(6).reshape(2, 3)]),
        ("seq(float32)", []),
        ("optional(float32)", np.ones(2, np.float32)),
        ("optional(float32)", None),
        ("optional(seq(float32))", [np.ones(2, np.float32)]),
        ("map(string, float32)", {"a": 1.5, "ü": -2.0}),
        ("map(int64, float32)", {-1: 1.5, 2**40: -2.0}),
    ],
)
def test_every_kind_of_value_comes_back(tmp_path, text, value):
    """What a file holds, the types of the model decide."""
    proto = as_proto(value, text)
    loaded = load_tests(write(tmp_path / "t", identity(text), ([proto], [proto])), "t")
    assert loaded.errors == []
    (case,) = loaded.cases
    assert same(case.call.inputs["x"], value)
    (expected,) = case.alternatives[0]
    assert type_text(expected.type) == text
    assert same(value_of(expected), value)


def test_sequences_of_maps_come_back():
    """What classifiers of scikit-learn give: one map for each row."""
    maps = [{"a": 0.25, "b": 0.75}, {"a": 1.0, "b": 0.0}]
    declared = parse_type("seq(map(string, float32))")
    proto = onnx.SequenceProto(elem_type=onnx.SequenceProto.MAP, map_values=map(as_map, maps))
    for given in (proto, maps, [as_map(m) for m in maps]):
        read = read_value(given, declared)
        assert value_of(read) == maps
        assert type_text(read.type) == "seq(map(string, float32))"


@pytest.mark.parametrize(
    ("value", "text", "wanted"),
    [
        (np.float32(2), "float32", np.array(2, np.float32)),
        (np.bool_(True), "bool", np.array(True)),
        (2, "uint8", np.array(2, np.uint8)),
        (1.5, "bfloat16", to_array(["1.5"], ELEMENT_TYPES["bfloat16"]).reshape(())),
        ("a", "string", np.array("a", object)),
        (np.array(["a", "b"]), "string", np.array(["a", "b"], object)),
        (np.array([b"a"], object), "string", np.array(["a"], object)),
        ((np.float32(1),), "seq(float32)", [np.array(1, np.float32)]),
        (numpy_helper.from_array(np.arange(2)), "optional(int64)", np.arange(2)),
        ({np.int64(1): np.float32(2)}, "map(int64, float32)", {1: 2.0}),
        (np.arange(3)[::-1], "int64", np.array([2, 1, 0])),
    ],
)
def test_loose_values_become_proper_ones(value, text, wanted):
    """Scalars become 0-d tensors of the declared dtype, strings objects, tuples lists."""
    got = value_of(read_value(value, parse_type(text)))
    if text == "string":
        assert (got.dtype, got.tolist()) == (wanted.dtype, wanted.tolist())
        assert {type(item) for item in got.reshape(-1)} == {str}
    else:
        assert same(got, wanted)


@pytest.mark.parametrize(
    ("value", "text", "seen"),
    [
        (np.ones(2), "float32", "a tensor of float64"),
        (numpy_helper.from_array(np.ones(2)), "float32", "a tensor of float64"),
        (None, "float32", "nothing"),
        ([], "float32", "a sequence"),
        (np.ones(2, np.float32), "seq(float32)", "a ndarray"),
        ([np.ones(2)], "seq(float32)", "a tensor of float64"),
        ({"a": 1.0}, "map(int64, float32)", "the key 'a'"),
        ({1: np.ones(2, np.float32)}, "map(int64, float32)", "a tensor of shape [2]"),
        (np.array([1], object), "string", "a tensor with the element 1"),
        (np.array([b"\xff"], object), "string", "a string that is no UTF-8"),
        (object(), "float32", "a object"),
        (TensorProto(), "float32", "no tensor"),
        (MapProto(keys=[1]), "map(int64, float32)", "1 key, 0 values"),
    ],
)
def test_a_value_that_does_not_fit_its_type(value, text, seen):
    """Nothing is converted that loses the fault of the data."""
    with pytest.raises(CaseError) as caught:
        read_value(value, parse_type(text))
    assert caught.value.seen == seen


def test_several_data_sets_are_variants(good):
    """Their number stands in brackets; a single one has none."""
    assert [c.id for c in load_tests(good, "a/test_x").cases] == [
        "a/test_x::test_x[0]",
        "a/test_x::test_x[1]",
    ]
    shutil.rmtree(good / "test_data_set_0")
    (case,) = load_tests(good, "a/test_x").cases
    assert (case.id, case.file, case.variant) == ("a/test_x::test_x", "a/test_x", "")
    assert (case.operator, case.domain, case.opset, case.since_version) == ("Identity", "", 16, 16)


def test_data_sets_are_in_the_order_of_their_numbers(tmp_path):
    """10 comes after 9."""
    folder = write(tmp_path / "t", identity("float32"), *[([FLOATS], [FLOATS])] * 11)
    assert [c.variant for c in load_tests(folder, "t").cases] == [str(i) for i in range(11)]


def test_only_what_is_wanted_is_read(good):
    """A damaged data set that nobody wants is no mistake."""
    (good / "test_data_set_0" / "input_0.pb").write_bytes(b"\xff")
    loaded = load_tests(good, "t", {"test_x[1]"})
    assert [c.title for c in loaded.cases] == ["test_x[1]"]
    assert loaded.errors == []
    assert load_tests(good, "t", {"nothing"}).cases == []


def test_tolerances(good):
    """Those of onnx's runner, or what data.json says; bfloat16 gets two steps."""
    (name,) = load_tests(good, "t").cases[0].tolerances.items()
    assert name == ("y", Tolerance(rtol=1e-3, atol=1e-7))
    (good / "data.json").write_text('{"rtol": 0.5, "atol": 0}')
    assert load_tests(good, "t").cases[0].tolerances["y"] == Tolerance(rtol=0.5, atol=0)
    proto = numpy_helper.from_array(to_array([1], ELEMENT_TYPES["bfloat16"]))
    other = write(good.parent / "b", identity("bfloat16"), ([proto], [proto]))
    assert load_tests(other, "t").cases[0].tolerances["y"] == Tolerance(rtol=2**-6, atol=1e-7)


@pytest.mark.parametrize("text", ["[", "3", '{"rtol": "x"}', '{"atol": -1}', '{"rtol": NaN}'])
def test_a_bad_data_json(good, text):
    """It names the file."""
    (good / "data.json").write_text(text)
    loaded = load_tests(good, "a/t")
    assert [e.file for e in loaded.errors] == ["a/t/data.json"]
    assert loaded.cases == []


@pytest.mark.parametrize("given", [1, 2])
def test_inputs_that_are_initializers_may_be_missing(tmp_path, given):
    """Models of an old IR list them as inputs."""
    model = identity("float32")
    model.graph.node[0].op_type = "Add"
    model.graph.node[0].input.append("w")
    model.graph.input.append(helper.make_tensor_value_info("w", 1, [2]))
    weights = numpy_helper.from_array(np.ones(2, np.float32), "w")
    model.graph.initializer.append(weights)
    folder = write(tmp_path / "t", model, ([FLOATS, weights][:given], [FLOATS]))
    (case,) = load_tests(folder, "t").cases
    assert list(case.call.inputs) == ["x", "w"][:given]


def test_a_model_by_another_name(good):
    """The only model of the folder is it; of two, neither."""
    (good / "model.onnx").rename(good / "resnet.onnx")
    assert len(load_tests(good, "t").cases) == 2
    shutil.copy(good / "resnet.onnx", good / "vgg.onnx")
    (error,) = load_tests(good, "t").errors
    assert str(error) == (
        "t/model.onnx: seen 2 files that end in .onnx, wanted model.onnx beside test_data_set_*"
    )


@pytest.mark.parametrize(
    ("spoil", "file", "seen", "wanted"),
    [
        (lambda s: (s / "output_0.pb").unlink(), "/output_0.pb", "0 outputs", "1 output, as"),
        (lambda s: (s / "input_0.pb").unlink(), "/input_0.pb", "0 inputs", "1, as the model has"),
        (
            lambda s: (s / "input_0.pb").rename(s / "input_1.pb"),
            "/input_0.pb",
            "no input_0.pb beside input_1.pb",
            "numbers without a gap",
        ),
        (
            lambda s: shutil.copy(s / "input_0.pb", s / "input_1.pb"),
            "",
            "2 inputs",
            "1, as the model has",
        ),
        (
            lambda s: (s / "input_0.pb").write_bytes(b"\xff\xff"),
            "/input_0.pb",
            "a file that cannot be read",
            "a TensorProto",
        ),
        (lambda s: (s / "input_0.pb").write_bytes(b""), "/input_0.pb", "no tensor", "float32"),
        (
            lambda s: (s / "input_0.pb").write_bytes(FLOATS.SerializeToString()[:-3]),
            "/input_0.pb",
            "a file that cannot be read",
            "a TensorProto",
        ),
        (
            lambda s: (s / "output_0.pb").write_bytes(
                TensorProto(dims=[3], data_type=1, raw_data=b"1234").SerializeToString()
            ),
            "/output_0.pb",
            "a tensor of float32 of shape [3]: ",
            "data that fit the dims",
        ),
        (
            lambda s: (s / "output_0.pb").write_bytes(
                numpy_helper.from_array(np.ones(2)).SerializeToString()
            ),
            "/output_0.pb",
            "a tensor of float64",
            "float32",
        ),
        (
            lambda s: (s / "output_0.pb").write_bytes(
                numpy_helper.from_list([np.ones(2)]).SerializeToString()
            ),
            "/output_0.pb",
            "a",
            "float32",
        ),
    ],
)
def test_bad_data_names_the_file_and_costs_its_own_set(good, spoil, file, seen, wanted):
    """What was seen, what was wanted; the other data set is still loaded."""
    spoil(good / "test_data_set_1")
    loaded = load_tests(good, "a/test_x")
    assert [case.title for case in loaded.cases] == ["test_x[0]"]
    (error,) = loaded.errors
    assert error.file == f"a/test_x/test_data_set_1{file}"
    assert error.case == "test_x[1]"
    assert error.seen.startswith(seen)
    assert wanted in error.wanted


@pytest.mark.parametrize("text", ["seq(float32)", "optional(float32)", "map(int64, float32)"])
def test_a_tensor_in_place_of_another_kind(tmp_path, text):
    """Protobuf reads one message as another; it is still noticed."""
    folder = write(tmp_path / "t", identity(text), ([FLOATS], [FLOATS]))
    loaded = load_tests(folder, "t")
    assert loaded.cases == []
    assert [e.file for e in loaded.errors] == ["t/test_data_set_0/input_0.pb"]


@pytest.mark.parametrize("data", [b"", b"no model", b"\x08\x07"])
def test_a_bad_model(good, data):
    """It costs the folder, once."""
    (good / "model.onnx").write_bytes(data)
    loaded = load_tests(good, "a/t")
    assert loaded.cases == []
    assert [(e.file, e.case) for e in loaded.errors] == [("a/t/model.onnx", "test_x")]


def test_a_model_with_names_that_are_no_text(good):
    """Protobuf hands them out as bytes; they cost the folder, and nothing else."""
    model = (good / "model.onnx").read_bytes()
    (good / "model.onnx").write_bytes(model.replace(b"Identity", b"Identit\xff"))
    loaded = load_tests(good, "a/t")
    assert loaded.cases == []
    assert [e.case for e in loaded.errors] == ["test_x[0]", "test_x[1]"]


def test_a_changed_model_is_read_again(good):
    """The last model is kept in memory, by path, time and size."""
    assert load_tests(good, "t").cases[0].operator == "Identity"
    model = identity("float32")
    model.graph.node[0].op_type = "Abs"
    (good / "model.onnx").write_bytes(model.SerializeToString())
    assert load_tests(good, "t").cases[0].operator == "Abs"


def test_external_data_are_read_and_stay_below_the_folder(tmp_path):
    """Weights may stand beside the model, and nowhere else."""
    model = identity("float32", shape=[2])
    model.graph.node[0].op_type = "Add"
    model.graph.node[0].input.append("w")
    model.graph.initializer.append(numpy_helper.from_array(np.ones(2, np.float32), "w"))
    folder = write(tmp_path / "t", model, ([FLOATS], [FLOATS]))
    onnx.save(model, folder / "model.onnx", save_as_external_data=True, location="w.bin",
              size_threshold=0)  # fmt: skip
    (case,) = load_tests(folder, "t").cases
    weights = numpy_helper.to_array(case.call.model.graph.initializer[0])
    assert weights.tolist() == [1, 1]
    outside = onnx.load(folder / "model.onnx", load_external_data=False)
    outside.graph.initializer[0].external_data[0].value = "../w.bin"
    (folder / "w.bin").rename(tmp_path / "w.bin")
    (folder / "model.onnx").write_bytes(outside.SerializeToString())
    assert [e.file for e in load_tests(folder, "t").errors] == ["t/model.onnx"]


def test_folders_are_found_at_any_depth(good, tmp_path):
    """A model without data sets is none: case files may name it."""
    write(tmp_path / "a" / "b", identity("float32"), ([FLOATS], [FLOATS]))
    write(tmp_path / "bare", identity("float32"))
    assert find_tests(tmp_path) == [tmp_path / "a" / "b", good]
    assert find_tests(good) == [good]


def test_the_text_of_small_models_is_kept(good):
    """For ``opcheck show``."""
    assert "Identity" in load_tests(good, "t").cases[0].model_text
    json.dumps(load_tests(good, "t").cases[0].model_text)
