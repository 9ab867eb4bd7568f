"""Maps and labels of ai.onnx.ml, held against Python's dictionaries."""

import math
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernel_calls

NAN = math.nan


def call(operator, x, version=1, **attributes):
    return kernel_calls.call(operator, version, x, domain="ai.onnx.ml", **attributes)


def texts(*items):
    return np.array(items, object)


# CastMap.


@given(st.dictionaries(st.integers(-(2**63), 2**63 - 1), st.floats(width=32), max_size=6))
@settings(deadline=None)
def test_a_dense_row_is_ordered_by_its_keys(entries):
    got = call("CastMap", entries)
    assert (got.dtype, got.shape) == (np.float32, (1, len(entries)))
    np.testing.assert_array_equal(got[0], [np.float32(entries[k]) for k in sorted(entries)])


def test_a_sparse_row_has_zeros_between_its_keys():
    got = call("CastMap", {4: 1.5, 0: -2.0}, map_form="SPARSE", max_map=6)
    assert got.tolist() == [[-2, 0, 0, 0, 1.5, 0]]
    got = call("CastMap", {1: "x"}, map_form="SPARSE", max_map=2, cast_to="TO_STRING")
    assert got.tolist() == [["", "x"]]
    assert call("CastMap", {}, map_form="SPARSE", max_map=2).tolist() == [[0, 0]]


def test_values_are_cast_as_cast_does():
    assert call("CastMap", {1: 1.5, 0: -2.0}, cast_to="TO_STRING").tolist() == [["-2.0", "1.5"]]
    got = call("CastMap", {1: 1.75, 0: -2.5}, cast_to="TO_INT64")
    assert (got.dtype, got.tolist()) == (np.int64, [[-2, 1]])
    assert call("CastMap", {0: "1e3"}).tolist() == [[1000]]


@pytest.mark.parametrize(
    ("entries", "attributes", "match"),
    [
        ({2: 1.0}, {"map_form": "SPARSE", "max_map": 2}, "key 2 is outside"),
        ({-1: 1.0}, {"map_form": "SPARSE", "max_map": 2}, "key -1 is outside"),
        ({0: 1.0}, {"map_form": "THIN"}, "map_form"),
        ({0: 1.0}, {"cast_to": "TO_BOOL"}, "cast_to"),
        ({0: "x"}, {}, "x"),
    ],
)
def test_maps_that_cannot_be_cast(entries, attributes, match):
    with pytest.raises(ValueError, match=match):
        call("CastMap", entries, **attributes)


# CategoryMapper and LabelEncoder-1.


def test_categories_in_both_directions():
    lists = {"cats_strings": ["a", "b"], "cats_int64s": [2**60 + 1, -3]}
    got = call("CategoryMapper", texts("b", "a", "c"), **lists)
    assert (got.dtype, got.tolist()) == (np.int64, [-3, 2**60 + 1, -1])
    got = call("CategoryMapper", np.array([[-3], [0], [2**60 + 1]]), default_string="?", **lists)
    assert (got.dtype, got.tolist()) == (object, [["b"], ["?"], ["a"]])
    with pytest.raises(ValueError, match="same number"):
        call("CategoryMapper", texts("a"), cats_strings=["a"], cats_int64s=[])


def test_label_encoder_1_uses_places():
    got = call("LabelEncoder", texts("b", "x", "a"), classes_strings=["a", "b", "a"])
    assert (got.dtype, got.tolist()) == (np.int64, [1, -1, 0])
    got = call("LabelEncoder", np.array([-1, 0, 1, 2]), classes_strings=["a", "b"])
    assert (got.dtype, got.tolist()) == (object, ["_Unused", "a", "b", "_Unused"])


# DictVectorizer.


@pytest.mark.parametrize(
    ("entries", "dtype", "wanted"),
    [
        ({"b": 2**53 + 1}, np.int64, [0, 2**53 + 1]),
        ({"a": "x"}, object, ["x", ""]),
        ({"a": 0.5, "b": NAN}, np.float32, [0.5, NAN]),
        ({"a": 0.1}, np.float64, [0.1, 0]),
        ({"a": np.float64(0.5)}, np.float64, [0.5, 0]),
        ({"a": np.array(0.5, np.float32)}, np.float32, [0.5, 0]),
        ({}, np.float32, [0, 0]),
    ],
)
def test_values_stand_at_the_places_of_their_keys(entries, dtype, wanted):
    """The element type is that of the values, as far as they show it."""
    got = call("DictVectorizer", entries, string_vocabulary=["a", "b"])
    assert (got.dtype, got.shape) == (dtype, (2,))
    np.testing.assert_array_equal(got, np.array(wanted, dtype))


def test_keys_outside_the_vocabulary_are_refused():
    with pytest.raises(ValueError, match="the key 3 is not in the vocabulary"):
        call("DictVectorizer", {3: 1.0}, int64_vocabulary=[1, 2])
    with pytest.raises(ValueError, match="exactly one"):
        call("DictVectorizer", {3: 1.0})


# LabelEncoder-2 and -4.

KINDS = {
    "strings": ["a", "", "c"],
    "int64s": [2**53 + 1, -1, 7],
    "floats": [0.5, -2.0, 3.25],
}
DTYPES = {"strings": object, "int64s": np.int64, "floats": np.float32}
DEFAULTS = {"strings": "_Unused", "int64s": -1, "floats": -0.0}
ABSENT = {"strings": "z", "int64s": 2**53, "floats": 99.0}


@pytest.mark.parametrize("version", [2, 4])
@pytest.mark.parametrize("key", KINDS)
@pytest.mark.parametrize("value", KINDS)
def test_each_kind_maps_to_each_kind(key, value, version):
    """Unknown elements get the default of the values' kind, -0 among floats."""
    lists = {f"keys_{key}": KINDS[key], f"values_{value}": KINDS[value]}
    x = np.array([*KINDS[key][::-1], ABSENT[key]], DTYPES[key]).reshape(2, 2)
    got = call("LabelEncoder", x, version, **lists)
    assert (got.dtype, got.shape) == (DTYPES[value], (2, 2))
    wanted = [*KINDS[value][::-1], DEFAULTS[value]]
    assert got.ravel().tolist() == wanted
    if value == "floats":
        assert math.copysign(1, got[1, 1]) == -1


def test_version_2_compares_bits():
    """-0 is not 0, and a NaN equals a NaN of the same bits only."""
    other = np.frombuffer(struct.pack("<I", 0xFFC00001), np.float32)
    x = np.concatenate((np.array([0.0, -0.0, NAN], np.float32), other))
    got = call("LabelEncoder", x, 2, keys_floats=[0.0, NAN], values_int64s=[1, 2])
    assert got.tolist() == [1, -1, 2, -1]


def test_version_4_compares_values():
    """-0 is 0, and any NaN equals any other; the last of equal keys counts."""
    other = np.frombuffer(struct.pack("<I", 0xFFC00001), np.float32)
    x = np.concatenate((np.array([0.0, -0.0, NAN], np.float32), other))
    lists = {"keys_floats": [NAN, 0.0, -0.0, NAN], "values_int64s": [1, 2, 3, 4]}
    assert call("LabelEncoder", x, 4, **lists).tolist() == [3, 3, 4, 4]


@pytest.mark.parametrize("dtype", ["int16", "int32", "int64", "float32", "float64", object])
def test_tensors_of_every_type(dtype):
    keys, values = np.array([1, 2]).astype(dtype), np.array([30, 40]).astype(dtype)
    x = np.array([2, 1, 5]).astype(dtype)
    got = call("LabelEncoder", x, 4, keys_tensor=keys, values_tensor=values)
    default = {"O": "_Unused", "i": -1, "f": -0.0}[np.dtype(dtype).kind]
    assert (got.dtype, got.tolist()) == (np.dtype(dtype), [*values[::-1].tolist(), default])
    for shape in ((), (1,)):
        given_default = np.full(shape, values[0], dtype)
        attributes = {"keys_tensor": keys, "values_tensor": values}
        got = call("LabelEncoder", x, 4, default_tensor=given_default, **attributes)
        assert got.tolist() == [*values[::-1].tolist(), values[0]]


@pytest.mark.parametrize(
    ("attributes", "match"),
    [
        ({"keys_int64s": [1, 2], "values_int64s": [1]}, "same number"),
        ({"keys_floats": [1.0], "values_int64s": [1]}, "they must agree"),
        ({"values_int64s": [1]}, "exactly one"),
        ({"keys_int64s": [1], "values_int64s": [1], "values_floats": [1.0]}, "exactly one"),
        ({"keys_tensor": np.array([[1]]), "values_int64s": [1]}, "1-D"),
        (
            {"keys_int64s": [1], "values_int64s": [1], "default_tensor": np.array([1.5])},
            "one element of int64",
        ),
        (
            {"keys_int64s": [1], "values_int64s": [1], "default_tensor": np.array([1, 2])},
            "one element of int64",
        ),
    ],
)
def test_what_the_label_encoder_refuses(attributes, match):
    with pytest.raises(ValueError, match=match):
        call("LabelEncoder", np.array([1]), 4, **attributes)


# ZipMap.


def test_each_row_becomes_a_map():
    x = np.array([[0.5, NAN], [2, 3]], np.float32)
    got = call("ZipMap", x, classlabels_strings=["b", "a"])
    assert [list(m) for m in got] == [["b", "a"], ["b", "a"]]
    assert got[1] == {"b": 2, "a": 3}
    assert [type(v) for v in got[1].values()] == [np.float32, np.float32]
    assert call("ZipMap", x[1], classlabels_int64s=[7, 8]) == [{7: 2, 8: 3}]
    assert call("ZipMap", x[:0], classlabels_int64s=[7, 8]) == []


@pytest.mark.parametrize("shape", [(2, 3), (3,), (), (1, 1, 2)])
def test_there_are_as_many_columns_as_keys(shape):
    with pytest.raises(ValueError, match="was wanted"):
        call("ZipMap", np.zeros(shape, np.float32), classlabels_int64s=[7, 8])
