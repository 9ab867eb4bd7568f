"""The feature operators of ai.onnx.ml, held against plain loops over Python's numbers."""

import math
from fractions import Fraction

import numpy as np
import onnx.defs
import onnx.helper
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernel_calls
from opcheck.kernels import registry

pytestmark = pytest.mark.usefixtures("no_warnings")

INF, NAN = math.inf, math.nan
FLOATS, INTEGERS = ("float32", "float64"), ("int32", "int64")


def call(operator, *inputs, version=1, **attributes):
    return kernel_calls.call(operator, version, *inputs, domain="ai.onnx.ml", **attributes)


def test_every_version_is_registered():
    """All operators of ai.onnx.ml have kernels, deprecated versions too."""
    schemas = {
        (s.domain, s.name, s.since_version)
        for s in onnx.defs.get_all_schemas_with_history()
        if s.domain == "ai.onnx.ml"
    }
    assert schemas <= registry.registered()


# ArrayFeatureExtractor.


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (0, 4), (1, 0, 4)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", object])
def test_columns_are_picked_from_the_last_axis(shape, dtype):
    x = np.arange(math.prod(shape)).reshape(shape).astype(dtype)
    indices = [3, 0, 0]
    got = call("ArrayFeatureExtractor", x, np.array(indices))
    wanted = [[row[i] for i in indices] for row in x.reshape(-1, 4).tolist()]
    assert got.dtype == x.dtype
    assert got.shape == ((1, 3) if len(shape) == 1 else (*shape[:-1], 3))
    assert got.reshape(-1, 3).tolist() == wanted


def test_indices_of_any_shape_are_taken_in_a_row():
    x = np.array([[1, 2, 3]], np.int32)
    assert call("ArrayFeatureExtractor", x, np.array([[2, 1], [0, 0]])).tolist() == [[3, 2, 1, 1]]
    assert call("ArrayFeatureExtractor", x, np.array(2)).tolist() == [[3]]
    assert call("ArrayFeatureExtractor", x, np.zeros(0, np.int64)).shape == (1, 0)


@pytest.mark.parametrize("index", [-1, 3, 2**62])
def test_an_index_outside_is_refused(index):
    with pytest.raises(ValueError, match="outside"):
        call("ArrayFeatureExtractor", np.zeros((2, 3), np.float32), np.array([index]))


def test_a_scalar_has_no_axis_to_extract_from():
    with pytest.raises(ValueError, match="no axis"):
        call("ArrayFeatureExtractor", np.array(1.0, np.float32), np.array([0]))


# Binarizer.


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5),
    st.floats(width=32, allow_nan=False) | st.integers(-9, 9).map(lambda i: i + 0.5),
)
@settings(max_examples=200, deadline=None)
def test_integers_are_compared_with_the_threshold_exactly(values, threshold):
    """Python compares its integers with floats exactly."""
    got = call("Binarizer", np.array(values, np.int64), threshold=threshold)
    assert got.dtype == np.int64
    assert got.tolist() == [int(v > threshold) for v in values]


def test_integers_of_32_bits_and_thresholds_beyond_them():
    x = np.array([-(2**31), 0, 2**31 - 1], np.int32)
    for threshold, wanted in ((1e20, [0, 0, 0]), (-1e20, [1, 1, 1]), (-0.5, [0, 1, 1])):
        assert call("Binarizer", x, threshold=threshold).tolist() == wanted
    assert call("Binarizer", x, threshold=NAN).tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_above_the_threshold_become_one(dtype):
    x = np.array([NAN, INF, -INF, 2, 2.5, -0.0], dtype)
    got = call("Binarizer", x, threshold=2.0)
    assert got.dtype == x.dtype
    assert got.tolist() == [0, 1, 0, 0, 1, 0]


# FeatureVectorizer.


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_columns_are_joined_and_vectors_are_rows(dtype):
    a, b = np.array([[1, 2], [3, 4]], dtype), np.array([[5], [6]], dtype)
    got = call("FeatureVectorizer", a, b)
    assert got.dtype == np.float32
    assert got.tolist() == [[1, 2, 5], [3, 4, 6]]
    assert call("FeatureVectorizer", a[0], b[0]).tolist() == [[1, 2, 5]]


def test_dimensions_cut_and_fill():
    """As in the tests of onnx's reference evaluator."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert call("FeatureVectorizer", x, inputdimensions=[1]).tolist() == [[0], [3]]
    assert call("FeatureVectorizer", x, inputdimensions=[4]).tolist() == [
        [0, 1, 2, 0],
        [3, 4, 5, 0],
    ]
    got = call("FeatureVectorizer", x, x + 10, inputdimensions=[0, 2])
    assert got.tolist() == [[10, 11], [13, 14]]


@pytest.mark.parametrize(
    ("shapes", "sizes", "match"),
    [
        ([(2, 1), (3, 1)], None, "same number"),
        ([(1, 2, 1)], None, "were wanted|was wanted"),
        ([(2, 1)], [1, 1], "1 sizes"),
        ([(2, 1)], [-1], "sizes >= 0"),
    ],
)
def test_matrices_that_cannot_be_joined(shapes, sizes, match):
    with pytest.raises(ValueError, match=match):
        call("FeatureVectorizer", *(np.zeros(s, np.float32) for s in shapes), inputdimensions=sizes)


# Imputer.


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("missing", [NAN, -1.0, INF, 0.0])
@pytest.mark.parametrize("values", [[5.0], [5.0, 6.0, NAN]])
def test_floats_that_equal_the_value_are_replaced(dtype, missing, values):
    x = np.array([[NAN, -1, 2], [INF, 0, -0.0], [-1, NAN, -INF]], dtype)
    got = call("Imputer", x, imputed_value_floats=values, replaced_value_float=missing)
    assert got.dtype == x.dtype
    for row, results in zip(x.tolist(), got.tolist(), strict=True):
        for i, (item, result) in enumerate(zip(row, results, strict=True)):
            equal = item == missing or (math.isnan(item) and math.isnan(missing))
            wanted = values[i % len(values)] if equal else item
            assert result == wanted or (math.isnan(result) and math.isnan(wanted))


def test_a_double_is_compared_with_the_attribute_as_it_is():
    """The attribute is a float32: 0.1 of a double is another number."""
    x, single = np.array([0.1, float(np.float32(0.1))]), float(np.float32(0.1))
    got = call("Imputer", x, imputed_value_floats=[7.0], replaced_value_float=single)
    assert got.tolist() == [0.1, 7]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_that_equal_the_value_are_replaced(dtype):
    info = np.iinfo(dtype)
    x = np.array([[info.max, 3], [info.min, 3]], dtype)
    got = call("Imputer", x, imputed_value_int64s=[1, info.min], replaced_value_int64=info.max)
    assert got.dtype == x.dtype
    assert got.tolist() == [[1, 3], [info.min, 3]]
    got = call("Imputer", x, imputed_value_int64s=[info.max], replaced_value_int64=3)
    assert got.tolist() == [[info.max, info.max], [info.min, info.max]]


@pytest.mark.parametrize(
    ("dtype", "attributes", "match"),
    [
        ("float32", {}, "exactly one"),
        ("float32", {"imputed_value_int64s": [1]}, "imputed_value_floats was wanted"),
        ("int32", {"imputed_value_floats": [1.0]}, "imputed_value_int64s was wanted"),
        ("int32", {"imputed_value_int64s": [2**31]}, "values of int32"),
        ("float32", {"imputed_value_floats": [1.0, 2.0]}, "1 or 3"),
        ("float32", {"imputed_value_floats": []}, "1 or 3"),
    ],
)
def test_values_that_do_not_belong_to_the_tensor(dtype, attributes, match):
    with pytest.raises(ValueError, match=match):
        call("Imputer", np.zeros((2, 3), dtype), **attributes)


# Normalizer.


def norm(row, name):
    """Return the exact norm of a row, or its square for L2."""
    if name == "MAX":
        return max(row)
    return sum(map(abs, row)) if name == "L1" else sum(v * v for v in row)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("name", ["MAX", "L1", "L2"])
def test_rows_are_divided_by_their_norm(name, dtype):
    """Within half a unit in the last place of float32, and a little."""
    rng = np.random.default_rng(5)
    x = (rng.standard_normal((30, 4)) * 1000).astype(dtype)
    x[0] = 0
    x[1] = [0, -1, -2, -3]
    got = call("Normalizer", x, norm=name)
    assert got.dtype == np.float32
    for row, results in zip(x.tolist(), got.tolist(), strict=True):
        exact = [Fraction(v) for v in row]
        divisor = norm(exact, name)
        for item, result in zip(exact, results, strict=True):
            if divisor == 0:
                wanted = float(item)
            elif name == "L2":
                wanted = math.copysign(math.sqrt(item * item / divisor), item)
            else:
                wanted = float(item / divisor)
            assert result == pytest.approx(wanted, rel=2.0**-23, abs=0)


def test_norms_of_extreme_values():
    """Squares that overflow or vanish in float64 still give a norm."""
    for scale in (1e300, 1e-300, 5e-324):
        got = call("Normalizer", np.array([[3, 4]]) * scale, norm="L2")
        wanted = [0.6, 0.8] if scale > 1e-320 else [3 / 5, 4 / 5]
        np.testing.assert_allclose(got, [wanted], rtol=1e-6)
    assert np.isnan(call("Normalizer", np.array([[INF, 1.0]]), norm="L2")[0, 0])
    assert np.isnan(call("Normalizer", np.array([[NAN, 1.0]]), norm="L1")).all()


def test_normalizer_shapes_and_errors():
    assert call("Normalizer", np.array([2.0, 4.0])).tolist() == [0.5, 1]
    for shape in ((0, 3), (3, 0), (0,)):
        got = call("Normalizer", np.zeros(shape, np.int64), norm="L1")
        assert (got.shape, got.dtype) == (shape, np.float32)
    with pytest.raises(ValueError, match="norm is 'L0'"):
        call("Normalizer", np.zeros((1, 1)), norm="L0")
    with pytest.raises(ValueError, match=r"\[N, C\]"):
        call("Normalizer", np.zeros((1, 1, 1)))


# OneHotEncoder.


@given(st.lists(st.floats(width=32), max_size=6))
@settings(deadline=None)
def test_floats_are_cut_to_integers(values):
    categories = [0, -1, 3, 2]
    got = call("OneHotEncoder", np.array(values, np.float32), cats_int64s=categories)
    assert got.shape == (len(values), 4)
    for value, row in zip(values, got.tolist(), strict=True):
        whole = int(value) if math.isfinite(value) else None
        assert row == [float(c == whole) for c in categories]


def test_strings_and_large_integers_are_compared_exactly():
    x = np.array([["a", "A"], ["", "ä"]], object)
    got = call("OneHotEncoder", x, cats_strings=["ä", "a", ""])
    assert got.tolist() == [[[0, 1, 0], [0, 0, 0]], [[0, 0, 1], [1, 0, 0]]]
    x = np.array([2**53 + 1])
    assert call("OneHotEncoder", x, cats_int64s=[2**53, 2**53 + 1]).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("x", "attributes", "match"),
    [
        (np.array([3]), {"cats_int64s": [1], "zeros": 0}, "none of the categories"),
        (np.array([NAN]), {"cats_int64s": [1], "zeros": 0}, "none of the categories"),
        (np.array(["a"], object), {"cats_int64s": [1]}, "tensor of strings"),
        (np.array([1]), {"cats_strings": ["1"]}, "tensor of int64"),
        (np.array([1]), {}, "exactly one"),
        (np.array([1]), {"cats_strings": ["1"], "cats_int64s": [1]}, "exactly one"),
    ],
)
def test_what_the_one_hot_encoder_refuses(x, attributes, match):
    with pytest.raises(ValueError, match=match):
        call("OneHotEncoder", x, **attributes)


# Scaler.


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("length", [1, 3])
def test_the_offset_is_taken_off_before_scaling(length, dtype):
    rng = np.random.default_rng(6)
    x = (rng.standard_normal((20, 3)) * 100).astype(dtype)
    scale, offset = (rng.standard_normal(length).astype(np.float32).tolist() for _ in "ab")
    got = call("Scaler", x, scale=scale, offset=offset)
    assert got.dtype == np.float32
    for row, results in zip(x.tolist(), got.tolist(), strict=True):
        for i, (item, result) in enumerate(zip(row, results, strict=True)):
            exact = (Fraction(item) - Fraction(offset[i % length])) * Fraction(scale[i % length])
            assert result == pytest.approx(float(exact), rel=2.0**-23)


@pytest.mark.parametrize(
    ("shape", "scale", "offset"),
    [
        ((2, 3), [1.0, 1.0], [0.0, 0.0]),
        ((2, 3), [1.0, 1.0, 1.0], [0.0]),
        ((2, 3), [1.0], None),
        ((2, 3), None, None),
        ((1, 2, 3), [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]),
        ((), [1.0, 1.0], [1.0, 1.0]),
    ],
)
def test_numbers_that_do_not_belong_to_the_features(shape, scale, offset):
    with pytest.raises(ValueError, match="wanted"):
        call("Scaler", np.zeros(shape, np.float32), scale=scale, offset=offset)


def test_one_number_scales_any_rank():
    assert call("Scaler", np.array(5), scale=[2.0], offset=[1.0]) == 8
    assert call("Scaler", np.zeros((2, 0, 3)), scale=[2.0], offset=[1.0]).shape == (2, 0, 3)
