"""Outputs agree in number, kind, dtype, shape and value; and a difference is described exactly."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from opcheck.harness import compare as compare_module
from opcheck.harness.case import Expected, Tolerance
from opcheck.harness.compare import compare, compare_outputs, element_text, excerpt
from opcheck.harness.dtypes import ELEMENT_TYPES, element_type, element_type_of, parse_type

EXAMPLES = settings(deadline=None, max_examples=150)
EXACT = Tolerance(ulp=0)
#: So lax that only what no tolerance may pass still fails.
LAX = Tolerance(ulp=2.0**70, rtol=1e30, atol=1e30)
INF, NAN = math.inf, math.nan
BF16 = ml_dtypes.bfloat16
FLOATS = [name for name, element in ELEMENT_TYPES.items() if element.is_float]
INTEGERS = [name for name, element in ELEMENT_TYPES.items() if element.is_integer]


def tensor(value, dtype=None, undefined=None):
    array = np.asarray(value, dtype)
    number = element_type_of(array.dtype).number
    proto = helper.make_tensor_type_proto(number, array.shape)
    mask = None if undefined is None else np.asarray(undefined)
    return Expected("tensor", proto, array.dtype, array.shape, array, mask)


def any_size(dtype, *shape):
    element = element_type(dtype)
    proto = helper.make_tensor_type_proto(element.number, [None] * len(shape))
    return Expected("tensor", proto, element.dtype, shape)


def sequence(*items, of="float32"):
    return Expected("sequence", parse_type(f"seq({of})"), items=items)


def optional(*item, of="float32"):
    return Expected("optional", parse_type(f"optional({of})"), items=item)


def mapping(entries, of):
    return Expected("map", parse_type(of), items=tuple(entries.values()), keys=tuple(entries))


def differences(expected, got, tolerance=EXACT):
    return compare("y", expected, got, tolerance)


def only(expected, got, tolerance=EXACT):
    (found,) = differences(expected, got, tolerance)
    assert found.output == "y"
    return found


def f4(*values):
    return np.array(values, np.float32)


def test_the_number_of_outputs_comes_first():
    """With an output too few or too many nothing else is compared."""
    expected = [tensor(f4(1)), tensor(f4(2))]
    for got in ([], [f4(9)], [np.int8(1), 2, 3]):
        (found,) = compare_outputs(["a", "b"], expected, got, [EXACT] * 2)
        assert (found.reason, found.output) == ("count", "")
        assert (found.expected, found.got) == ("2 outputs", f"{len(got)} outputs")


def test_each_output_is_compared_with_its_own_tolerance():
    """The differences of all outputs are reported, in order, by name."""
    expected = [tensor(f4(1)), tensor(f4(1)), tensor(f4(1))]
    got = [f4(2), f4(2), f4(1, 1)]
    found = compare_outputs(["a", "b", "c"], expected, got, [EXACT, Tolerance(atol=1), EXACT])
    assert [(d.output, d.reason) for d in found] == [("a", "values"), ("c", "shape")]


@pytest.mark.parametrize(
    ("got", "reason", "text"),
    [
        pytest.param([f4(9, 9)], "kind", "a sequence of 1 float32[2]", id="sequence"),
        pytest.param(None, "kind", "an empty optional", id="nothing"),
        pytest.param({1: 2}, "kind", "a map with the keys 1", id="map"),
        pytest.param(1.5, "kind", "a Python float", id="python-number"),
        pytest.param(np.zeros((3, 3), np.int32), "dtype", "int32[3, 3]", id="dtype-before-shape"),
        pytest.param(np.array([1, 2], np.float64), "dtype", "float64[2]", id="wider"),
        pytest.param(np.array([1, 2], ">f4"), "dtype", ">f4[2]", id="byte-order"),
        pytest.param(np.array(["1", "2"]), "dtype", "<U1[2]", id="foreign-dtype"),
        pytest.param(np.full((2, 1), 9, np.float32), "shape",
            "float32[2, 1]", id="shape-before-value"),
        pytest.param(f4(1), "shape", "float32[1]", id="never-broadcast"),
        pytest.param(np.float32(1), "shape", "float32[]", id="a-numpy-scalar-has-no-axes"),
        pytest.param(f4(1, 9), "values", "float32[2]", id="values-last"),
    ],
)  # fmt: skip
def test_the_first_thing_that_differs_is_the_reason(got, reason, text):
    """Kind, dtype, shape, values: in this order, whatever the tolerance; got is not expected."""
    found = only(tensor(f4(1, 2)), got, EXACT if reason == "values" else LAX)
    assert (found.reason, found.expected, found.got) == (reason, "float32[2]", text)


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_exact_whatever_the_tolerance(name):
    """1001 for 1000 never passes: a tolerance is for floats."""
    dtype = element_type(name).dtype
    found = only(tensor(np.ones(3, dtype)), np.array([1, 0, 1]).astype(dtype), LAX)
    assert (found.different, found.total, found.allowed) == (1, 3, "exact")
    assert (found.worst.index, found.worst.expected, found.worst.got) == ([1], "1", "0")


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (np.array([1000]), np.array([1001])),
        (np.array([2**63 - 1]), np.array([2**63 - 2])),
        (np.array([2**64 - 1], np.uint64), np.array([2**64 - 2], np.uint64)),
        (np.array([2**53 + 1]), np.array([2**53])),
        (np.array([True]), np.array([False])),
        (np.array(["a"], object), np.array(["a "], object)),
    ],
)
def test_what_is_no_float_is_exact(expected, got):
    """Neighbours beyond the precision of a double, booleans and strings."""
    assert only(tensor(expected), got, LAX).reason == "values"
    assert differences(tensor(expected), expected.copy(), EXACT) == []


def test_distances_of_integers_do_not_overflow():
    """The worst integer is found exactly, at the ends of 64 bits too."""
    low, high = -(2**63), 2**63 - 1
    found = only(tensor(np.array([0, low, high])), np.array([5, high, high - 1]))
    assert found.worst.index == [1]
    assert (found.worst.absolute, found.worst.relative) == (str(2**64 - 1), "2")
    found = only(tensor(np.array([2**62 + 1, 2**62])), np.array([2**62, 2**62 + 3]))
    assert (found.worst.index, found.worst.absolute) == ([1], "3")
    unsigned = np.array([1, 2**64 - 1], np.uint64)
    assert only(tensor(unsigned), unsigned[::-1].copy()).worst.absolute == str(2**64 - 2)


@pytest.mark.parametrize("name", [n for n in FLOATS if not n.startswith(("float4", "float6"))])
def test_nan_equals_nan_and_nothing_else(name):
    """NaN for NaN passes exactly; NaN for a number, or a number for NaN, never does."""
    dtype = element_type(name).dtype
    nan, one = np.array([NAN]).astype(dtype), np.ones(1).astype(dtype)
    assert differences(tensor(nan), nan.copy()) == []
    for expected, got in ((nan, one), (one, nan)):
        found = only(tensor(expected), got, LAX)
        assert (found.different, found.worst.ulp) == (1, "NaN")


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64", "float8e5m2"])
def test_infinity_is_matched_by_infinity_only(name):
    """The largest finite number is one step away, and still never near enough."""
    dtype = element_type(name).dtype
    largest = np.array([ml_dtypes.finfo(dtype).max], dtype)
    infinite = np.array([INF]).astype(dtype)
    assert differences(tensor(infinite), infinite.copy()) == []
    for expected, got in ((infinite, largest), (largest, infinite), (infinite, -infinite)):
        assert only(tensor(expected), got, LAX).different == 1


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_signalling_nans_are_nans(name):
    """They raise no warning, and their bits are not compared."""
    dtype = element_type(name).dtype
    quiet = np.array([NAN]).astype(dtype)
    unsigned = f"u{dtype.itemsize}"
    signalling = ((np.array([INF]).astype(dtype).view(unsigned)) | 1).astype(unsigned).view(dtype)
    assert differences(tensor(quiet), signalling, Tolerance(ulp=1, rtol=0.1)) == []
    assert only(tensor(np.ones(1).astype(dtype)), signalling, LAX).worst.got == "nan"


SIGNED = [n for n in FLOATS if n != "float8e8m0" and not n.endswith("fnuz")]


@pytest.mark.parametrize("name", [*SIGNED, "complex64", "complex128"])
@pytest.mark.parametrize("tolerance", [{}, {"ulp": 0}, {"ulp": 4}, {"rtol": 1, "atol": 1}])
def test_the_sign_of_zero_counts_where_the_case_says_so(name, tolerance):
    """``+0`` equals ``-0`` unless ``signed_zero``, which no tolerance softens."""
    zero = np.zeros(2).astype(element_type(name).dtype)
    assert np.signbit(-zero.real).all()
    for expected, got in ((zero, -zero), (-zero, zero)):
        assert differences(tensor(expected), got, Tolerance(**tolerance)) == []
        signed = Tolerance(**tolerance, signed_zero=True)
        assert only(tensor(expected), got, signed).different == 2
        assert differences(tensor(expected), expected.copy(), signed) == []


def test_signed_zero_looks_at_zeros_only():
    """A tiny negative number for zero, and NaNs of either sign, are judged as ever."""
    tolerance = Tolerance(ulp=1, signed_zero=True)
    assert differences(tensor(f4(0.0)), f4(-1e-45), tolerance) == []
    assert differences(tensor(f4(NAN, -INF)), -f4(NAN, INF), tolerance) == []
    found = only(tensor(f4(0.0, 1.0)), f4(-0.0, 1.0), tolerance)
    assert (found.worst.expected, found.worst.got, found.worst.ulp) == ("0.0", "-0.0", "0")
    zero = np.array([complex(0, 1)], np.complex64)
    assert only(tensor(zero), np.array([complex(-0.0, 1)], np.complex64), tolerance).different == 1


@pytest.mark.parametrize(
    ("expected", "got", "tolerance", "passes"),
    [
        # abs(got - expected) <= atol + rtol * abs(expected), of what is expected.
        (100.0, 110.0, {"rtol": 0.1}, True), (110.0, 100.0, {"rtol": 0.0909}, False),
        (100.0, 110.5, {"rtol": 0.1}, False), (-100.0, -110.0, {"rtol": 0.1}, True),
        (100.0, 111.0, {"rtol": 0.1, "atol": 1}, True),
        (100.0, 111.5, {"rtol": 0.1, "atol": 1}, False),
        (0.0, 0.5, {"atol": 0.5}, True), (0.0, 0.5625, {"atol": 0.5}, False),
        (0.0, 1e-30, {"rtol": 1000}, False), (1.0, -1.0, {"rtol": 1}, False),
        # 0 is a tolerance, and no default takes its place.
        (1.0, 1.0000001, {"rtol": 0, "atol": 0}, False), (1.0, 1.0000001, {"ulp": 0}, False),
        (1.0, 1.0000001, {}, False), (1.0, 1.0, {"rtol": 0, "atol": 0}, True),
        # Units in the last place, or the formula: either is enough.
        (1.0, 1.0000001, {"ulp": 1}, True), (1.0, 1.0000002, {"ulp": 1}, False),
        (1.0, 1.0000002, {"ulp": 1, "rtol": 1e-6}, True),
        (1.0, 1.0000002, {"ulp": 2, "atol": 0}, True),
        (1.0, 1.0000001, {"ulp": 0.5}, False), (1.0, 1.0000001, {"ulp": 1.5}, True),
        (INF, INF, {"rtol": 0.1}, True), (INF, 1.0, {"rtol": 0.1, "ulp": 1e30}, False),
    ],
)  # fmt: skip
def test_tolerances(expected, got, tolerance, passes):
    """The formula of NumPy's ``assert_allclose``, or a distance in ULP; zero means zero."""
    found = differences(tensor(f4(expected)), f4(got), Tolerance(**tolerance))
    assert (found == []) == passes


@pytest.mark.parametrize(
    ("tolerance", "allowed"),
    [
        (Tolerance(), "exact"), (Tolerance(ulp=0), "0 ULP"), (Tolerance(ulp=2.5), "2.5 ULP"),
        (Tolerance(rtol=1e-3), "rtol 0.001, atol 0"), (Tolerance(atol=0), "rtol 0, atol 0"),
        (Tolerance(1, 1e-5, 1e-7), "1 ULP or rtol 1e-05, atol 1e-07"),
    ],
)  # fmt: skip
def test_a_difference_says_what_was_allowed(tolerance, allowed):
    """A report shows the tolerance that was applied."""
    assert only(tensor(f4(1)), f4(2), tolerance).allowed == allowed


def test_undefined_elements_are_not_compared():
    """What the specification leaves open may be anything, NaN too; the rest is compared."""
    expected = tensor(f4(1, 0, 3), undefined=[False, True, False])
    for anything in (0, 7, NAN, INF):
        assert differences(expected, f4(1, anything, 3)) == []
    assert only(expected, f4(1, 7, 4)).worst.index == [2]
    words = tensor(np.array(["a", ""], object), undefined=[False, True])
    assert differences(words, np.array(["a", "b"], object)) == []
    assert only(words, np.array(["b", "b"], object)).different == 1
    signed = Tolerance(signed_zero=True)
    assert differences(tensor(f4(0), undefined=[True]), f4(-0.0), signed) == []


@pytest.mark.parametrize(
    ("got", "reason"),
    [
        (np.zeros((5, 2), np.float32), None), (np.full((0, 2), NAN, np.float32), None),
        (np.zeros((5, 3), np.float32), "shape"), (np.zeros(2, np.float32), "shape"),
        (np.zeros((5, 2, 1), np.float32), "shape"), (np.zeros((5, 2)), "dtype"), ([], "kind"),
    ],
)  # fmt: skip
def test_an_output_of_any_size(got, reason):
    """``null`` in a shape fits any size on that axis; dtype, rank and the other sizes count."""
    found = differences(any_size("float32", None, 2), got)
    assert [d.reason for d in found] == ([] if reason is None else [reason])
    assert all(d.expected == "float32[?, 2]" for d in found)


@pytest.mark.parametrize(
    ("got", "places"),
    [
        ([f4(1), f4(2, 3)], []),
        ((f4(1), f4(2, 3)), []),
        ([f4(1), f4(2, 9)], [("y[1]", "values")]),
        ([f4(9), np.zeros(2)], [("y[0]", "values"), ("y[1]", "dtype")]),
        ([f4(1), f4(2)], [("y[1]", "shape")]),
        ([f4(1)], [("y", "kind")]),
        ([f4(1), f4(2, 3), f4(4)], [("y", "kind")]),
        (f4(1), [("y", "kind")]),
        (None, [("y", "kind")]),
        ([[f4(1)], f4(2, 3)], [("y[0]", "kind")]),
    ],
)
def test_sequences(got, places):
    """A sequence has its length, and each element is compared in its place."""
    found = differences(sequence(tensor(f4(1)), tensor(f4(2, 3))), got)
    assert [(d.output, d.reason) for d in found] == places
    if places == [("y", "kind")]:
        assert found[0].expected == "a sequence of 2 float32"


@pytest.mark.parametrize(
    ("expected", "got", "reasons"),
    [
        (optional(), None, []),
        (optional(), f4(1), ["kind"]),
        (optional(tensor(f4(1))), f4(1), []),
        (optional(tensor(f4(1))), f4(2), ["values"]),
        (optional(tensor(f4(1))), None, ["kind"]),
        (optional(sequence(tensor(f4(1)))), [f4(1)], []),
        (optional(sequence()), [], []),
        (optional(sequence()), None, ["kind"]),
    ],
)
def test_optionals(expected, got, reasons):
    """An empty optional is ``None`` and nothing else; a filled one is its value."""
    assert [d.reason for d in differences(expected, got)] == reasons


NUMBERS = mapping({1: tensor(f4(0.1)[0]), 2: tensor(f4(-3)[0])}, "map(int64, float32)")
COUNTS = mapping({"a": tensor(np.int64(5)), "b": tensor(np.int64(7))}, "map(string, int64)")


@pytest.mark.parametrize(
    ("expected", "got", "places"),
    [
        pytest.param(NUMBERS, {2: -3.0, 1: float(np.float32(0.1))}, [], id="python-floats"),
        pytest.param(NUMBERS, {1: np.float32(0.1), 2: f4(-3)[0]}, [], id="numpy-scalars"),
        pytest.param(NUMBERS, {1: 0.2, 2: -3.0}, [("y[1]", "values")], id="value"),
        pytest.param(NUMBERS, {1: np.float64(0.1), 2: -3.0}, [("y[1]", "dtype")], id="dtype"),
        pytest.param(NUMBERS, {1: 0}, [("y", "kind")], id="key-missing"),
        pytest.param(NUMBERS, {1: 0.1, 2: -3.0, 3: 1.0}, [("y", "kind")], id="key-too-many"),
        pytest.param(NUMBERS, [0.1, -3.0], [("y", "kind")], id="no-map"),
        pytest.param(NUMBERS, {1: "x", 2: 1e300}, [("y[1]", "kind"), ("y[2]",
            "kind")], id="no-float32"),
        pytest.param(COUNTS, {"a": 5, "b": 7}, [], id="python-integers"),
        pytest.param(COUNTS, {"a": 5.7, "b": 7}, [("y['a']", "kind")], id="never-truncated"),
        pytest.param(COUNTS, {"a": 2**64, "b": True}, [("y['a']", "kind"), ("y['b']",
            "kind")], id="int"),
        pytest.param(COUNTS, {"a": np.int32(5), "b": 8}, [("y['a']", "dtype"), ("y['b']",
            "values")], id="32"),
    ],
)  # fmt: skip
def test_maps(expected, got, places):
    """A map has its keys and, under each, a scalar of its type; nothing is converted silently."""
    assert [(d.output, d.reason) for d in differences(expected, got)] == places


def test_complex_numbers_are_judged_by_their_parts():
    """Each part is a float of its own, with its own NaN, infinity and distance."""
    expected = tensor(np.array([1 + 2j, complex(NAN, 1), complex(INF, 0)], np.complex64))
    assert differences(expected, expected.value.copy()) == []
    near = np.array([1 + 2j, complex(NAN, np.nextafter(f4(1)[0], f4(2)[0])), complex(INF, 0)], "c8")
    assert differences(expected, near, Tolerance(ulp=1)) == []
    assert only(expected, near).worst.ulp == "1"
    for wrong in (complex(1, NAN), complex(3, 2), complex(1, 2.5), complex(INF, 2)):
        got = expected.value.copy()
        got[0] = wrong
        assert only(expected, got, Tolerance(ulp=9, rtol=0.1)).worst.index == [0]


@pytest.mark.parametrize(
    ("expected", "got", "errors"),
    [
        (f4(2), f4(3), ("1", "0.5", "4194304")), (f4(0), f4(1e-45), ("1.4e-45", "inf", "1")),
        (f4(4), f4(2), ("2", "0.5", "8388608")), (f4(1), f4(NAN), ("nan", "nan", "NaN")),
        (f4(INF), f4(1), ("inf", "nan", "1.07e+09")),
        (np.array([1.0]), np.array([3.0]), ("2", "2", "6.76e+15")),
        (np.array([-4]), np.array([2]), ("6", "1.5", "")),
        (np.array([0]), np.array([2]), ("2", "inf", "")),
        (np.array([True]), np.array([False]), ("", "", "")),
        (np.array(["a"], object), np.array(["b"], object), ("", "", "")),
        (np.array([3 + 4j]), np.array([3 + 5j]), ("1", "0.2", "1.13e+15")),
        (f4(1).astype(BF16), f4(1.5).astype(BF16), ("0.5", "0.5", "64")),
    ],
)  # fmt: skip
def test_the_errors_of_a_row(expected, got, errors):
    """Absolute, relative to what is expected, and in ULP; empty where they mean nothing."""
    found = only(tensor(expected), got)
    assert found.rows == [found.worst]
    assert (found.worst.absolute, found.worst.relative, found.worst.ulp) == errors


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "int64", "uint64", "int8", "bfloat16", "bool"]
)
@EXAMPLES
@given(data=st.data(), block=st.integers(1, 7))
def test_the_description_against_brute_force(dtype, data, block):
    """Count, worst element and first rows are right wherever the blocks begin and end."""
    shape = data.draw(st.sampled_from([(), (1,), (5,), (3, 4), (2, 3, 4), (0, 2)]), "shape")
    size = math.prod(shape)
    small = st.lists(st.integers(0, 1 if dtype == "bool" else 3), min_size=size, max_size=size)
    offset = {"int64": 2**62, "uint64": 2**63}.get(dtype, 0)
    left, right = (
        np.array([offset + v for v in data.draw(small, side)], object)
        .reshape(shape)
        .astype(element_type(dtype).dtype)
        for side in ("expected", "got")
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare_module, "BLOCK", block)
        found = differences(tensor(left), right)
    wrong = [i for i in np.ndindex(shape) if left[i] != right[i]]
    assert len(found) == bool(wrong)
    for difference in found:
        assert (difference.different, difference.total) == (len(wrong), size)
        assert [tuple(row.index) for row in difference.rows] == wrong[:5]
        assert [row.got for row in difference.rows] == [element_text(right[i]) for i in wrong[:5]]
        assert [r.expected for r in difference.rows] == [element_text(left[i]) for i in wrong[:5]]
        worst = max(wrong, key=lambda i: (steps(left[i], right[i]), [-k for k in i]))
        assert tuple(difference.worst.index) == worst


def steps(a, b):
    """Return the distance of integers, or that of the bits of floats, none of them negative."""
    if isinstance(a, np.bool_):
        return 1
    if element_type_of(a.dtype).is_integer:
        return abs(int(a) - int(b))
    unsigned = f"u{a.dtype.itemsize}"
    return abs(int(np.asarray(a).view(unsigned)) - int(np.asarray(b).view(unsigned)))


@EXAMPLES
@given(
    a=st.floats(width=32), b=st.floats(width=32),
    rtol=st.sampled_from([None, 0, 0.1, 1]), atol=st.sampled_from([None, 0, 0.5]),
)  # fmt: skip
def test_the_formula_against_exact_arithmetic(a, b, rtol, atol):
    """float32 is compared in doubles, which decides as exact arithmetic does but for a hair."""
    passes = differences(tensor(f4(a)), f4(b), Tolerance(rtol=rtol, atol=atol)) == []
    if not (math.isfinite(a) and math.isfinite(b)):
        assert passes == (a == b or (math.isnan(a) and math.isnan(b)))
        return
    limit = Fraction(atol or 0) + Fraction(rtol or 0) * abs(Fraction(a))
    exact = abs(Fraction(b) - Fraction(a)) - limit
    if abs(exact) > limit / 2**40 or limit == 0:
        assert passes == (exact <= 0)


@pytest.mark.parametrize(
    "value",
    [
        np.float32(0.1), np.float64(0.1), np.float16(0.1), ml_dtypes.bfloat16(0.1),
        np.int64(-(2**63)),
        np.uint64(2**64 - 1), ml_dtypes.float8_e4m3fn(0.1), np.complex64(0.1 + 2j), np.bool_(True),
        ml_dtypes.int4(-8), ml_dtypes.uint2(3), ml_dtypes.float4_e2m1fn(-1.5),
    ],
)  # fmt: skip
def test_elements_are_written_so_that_reading_gives_them_back(value):
    """The text of an element has all the digits it needs."""
    text = element_text(value)
    dtype = value.dtype
    if dtype.kind == "b":
        assert text == "True"
    elif dtype.kind == "c":
        assert dtype.type(complex(text)) == value
    else:
        number = int(text) if element_type_of(dtype).is_integer else float(text)
        assert np.array(number).astype(dtype)[()] == value


def test_excerpts_begin_where_values_do():
    """A report keeps the beginning of an output, tensor by tensor."""
    (whole,) = excerpt("y", np.arange(6, dtype=np.int8).reshape(2, 3), limit=4)
    assert (whole.type, whole.shape, whole.values, whole.total) == ("int8", [2, 3], list("0123"), 6)
    parts = excerpt("y", [f4(1), [f4(2), f4(3)]])
    assert [e.name for e in parts] == ["y[0]", "y[1][0]", "y[1][1]"]
    assert [e.type for e in excerpt("y", None)] == ["an empty optional"]


@pytest.mark.parametrize(
    ("got", "pairs", "different"),
    [
        ([-5.0, 0.0], True, 0),
        ([-5.0, 0.0], False, 1),
        ([-5.004, 0.003], True, 0),
        ([-5.0, 0.006], True, 1),
        ([-5.006, 1.9e-7], True, 1),
        ([np.nan, 1.9e-7], True, 1),
    ],
)
def test_pairs_are_compared_as_complex_numbers(got, pairs, different):
    """A noisy zero beside a real part of -5 is within the relative tolerance of the number."""
    expected = tensor(np.array([[-5.0, 1.9e-7]], np.float32))
    tolerance = Tolerance(rtol=1e-3, atol=1e-7, pairs=pairs)
    found = compare("y", expected, np.array([got], np.float32), tolerance)
    assert sum(d.different for d in found) == different
