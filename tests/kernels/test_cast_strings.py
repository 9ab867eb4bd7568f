"""Cast from and to strings."""

import math
from decimal import Decimal
from fractions import Fraction

import ml_dtypes
import numpy as np
import onnx
import onnx.defs
import onnx.helper
import pytest

from kernel_calls import dtype_of
from opcheck.kernels import registry, tensor_cast

pytestmark = pytest.mark.usefixtures("no_warnings")

FLOATS = (
    "float4_e2m1fn",
    "float6_e2m3fn",
    "float6_e3m2fn",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float16",
    "bfloat16",
    "float32",
    "float64",
)
E8M0 = "float8_e8m0fnu"
NUMBERS = {
    np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number)).name: number
    for number in onnx.TensorProto.DataType.values()
    if number
}


def cast(x, target, *, version=28):
    """Call the kernel of Cast with the defaults of its attributes."""
    schema = onnx.defs.get_schema("Cast", version, "")
    assert schema.since_version == version
    options = {"saturate": 1, "round_mode": "up"}
    options = {k: v for k, v in options.items() if k in schema.attributes}
    function = registry.find(schema).function
    assert function.__module__ == tensor_cast.__name__
    result = function(x, to=NUMBERS[target], **options)
    assert isinstance(result, np.ndarray)
    assert result.dtype == dtype_of(target)
    assert result.shape == x.shape
    return result


def strings(*texts):
    array = np.empty(len(texts), object)
    array[:] = texts
    return array


def exact(scalar):
    """Return a finite number as a fraction; all of them are exact in float64."""
    return Fraction(float(scalar))


def is_nearest(value, number):
    """Tell whether a float is the nearest of its type to a fraction, ties going to even bits.

    A number beyond the largest one counts as the largest.
    """
    x = np.array([value])
    raw = x.view(f"u{x.dtype.itemsize}")
    bits = int(raw[0])
    sign = 1 << (ml_dtypes.finfo(x.dtype).bits - 1)
    magnitude, size = abs(exact(value)), abs(number)
    if size and magnitude and (bits >= sign) != (number < 0):
        return False
    code = bits % sign
    around = []
    for other in (code - 1, code + 1):
        near = np.array([max(other, 0)], raw.dtype).view(x.dtype)[0]
        if other >= 0 and math.isfinite(float(near)) and exact(near) >= 0:
            around.append((other, exact(near)))
    size = min(size, largest_of(x.dtype))
    distance = abs(size - magnitude)
    return all(
        distance < abs(size - near) or (distance == abs(size - near) and code % 2 == 0)
        for other, near in around
        if near != magnitude
    )


def largest_of(dtype):
    return exact(ml_dtypes.finfo(dtype).max)


def as_ints(array):
    """Read integers of any width."""
    return [int(v) for v in array]


def test_what_is_nearest():
    """Guard the judge: only one of three neighbours is nearest, and a tie has an even one."""
    for number, wanted in [(1, 1), (Fraction(17, 16), 1), (Fraction(19, 16), 1.25), (1000, 448)]:
        for value in (0.875, 1, 1.125, 1.25, 416, 448):
            x = dtype_of("float8_e4m3fn").type(value)
            assert is_nearest(x, Fraction(number)) == (value == wanted)
            assert is_nearest(-x, -Fraction(number)) == (value == wanted)
    assert not is_nearest(np.float32(-1), Fraction(1))


@pytest.mark.parametrize("version", [9, 13, 19, 28])
def test_numbers_to_strings(version):
    for values, source, wanted in [
        ([0.1, 1e10, 1e-5, 0.0, -0.0], "float32", "0.1 10000000000.0 0.00001 0.0 -0.0"),
        ([314.15926, 1.0, 1e22, -1.5e-7], "float64", f"314.15926 1.0 1{'0' * 22}.0 -0.00000015"),
        ([math.nan, math.inf, -math.inf], "float64", "NaN INF -INF"),
        ([math.nan, math.inf, -math.inf], "float16", "NaN INF -INF"),
        ([65504, 0.5], "float16", "65504.0 0.5"),
        ([2**63 - 1, -(2**63)], "int64", "9223372036854775807 -9223372036854775808"),
        ([2**64 - 1], "uint64", "18446744073709551615"),
        ([True, False], "bool", "1 0"),
    ]:  # fmt: skip
        assert cast(np.array(values, source), "object", version=version).tolist() == wanted.split()


def test_small_types_to_strings():
    for values, source, wanted in [
        ([1.5, -math.inf, math.nan], "bfloat16", "1.5 -INF NaN"),
        ([448, -0.0625, math.nan], "float8_e4m3fn", "448.0 -0.0625 NaN"),
        ([6, -0.5], "float4_e2m1fn", "6.0 -0.5"),
        ([28, 0.0625], "float6_e3m2fn", "28.0 0.0625"),
        ([4, 0.5], E8M0, "4.0 0.5"),
        ([-8, 7], "int4", "-8 7"),
        ([3, 0], "uint2", "3 0"),
    ]:
        x = np.array(values, np.float32).astype(dtype_of(source))
        assert cast(x, "object").tolist() == wanted.split()


@pytest.mark.parametrize("source", ["float32", "float64"])
def test_a_string_has_the_fewest_digits_that_identify_the_float(source):
    bits = np.random.default_rng(2).integers(0, 2**63, 300, np.uint64)
    x = (
        (bits >> 32).astype(np.uint32).view(np.float32)
        if source == "float32"
        else bits.view(np.float64)
    )
    x = x[np.isfinite(x) & (x != 0)]
    for value, text in zip(x, cast(x, "object").tolist(), strict=True):
        assert set(text) <= set("-.0123456789")
        assert is_nearest(value, Fraction(text))
        count = len(text.replace(".", "").replace("-", "").strip("0"))
        if count > 1:
            shorter = f"{Decimal(float(value)):.{count - 2}e}"
            assert not is_nearest(value, Fraction(shorter))


@pytest.mark.parametrize("target", FLOATS)
def test_strings_round_once(target):
    """At a midpoint, and an amount beside it that float64 does not see."""
    rng = np.random.default_rng(23)
    dtype = dtype_of(target)
    raw = f"u{dtype.itemsize}"
    last = int(np.array([ml_dtypes.finfo(dtype).max], dtype).view(raw)[0])
    texts = [".5", "3.", "+2.5e-1", "-1E0", "1e-400", "-1e-400"]
    for code in [0, 1, last - 1, *rng.integers(0, last, 80).tolist()]:
        low, high = np.array([code, code + 1], raw).view(dtype)
        middle = (exact(low) + exact(high)) / 2
        text = decimal_text(middle)
        texts += [text, f"-{text}", text + "0" * 30 + "1", decimal_text(middle * (1 - power(-80)))]
    for text, seen in zip(texts, cast(strings(*texts), target), strict=True):
        assert is_nearest(seen, Fraction(text)), text


def power(k):
    return Fraction(2) ** k


@pytest.mark.parametrize("target", FLOATS)
def test_strings_beyond_the_range(target):
    """Out of range is an infinity, or the largest number of the types that saturate."""
    result = cast(strings("1e400", "-1E+400", "0", "-0", "0e99999999999999999999"), target)
    end = np.inf if "_" not in target else float(largest_of(dtype_of(target)))
    assert result.astype(np.float64).tolist() == [end, -end, 0, 0, 0]
    signs = np.signbit(result.astype(np.float64)).tolist()
    assert signs == [False, True, False, "fnuz" not in target, False]


@pytest.mark.parametrize("target", ["float8_e4m3fnuz", "float8_e5m2fnuz"])
def test_a_number_beyond_float64_is_no_infinity(target):
    """Of these two, Cast-19 makes the largest number and NaN."""
    result = cast(strings("1e400", "INF"), target, version=19).astype(np.float64)
    wanted = [float(largest_of(dtype_of(target))), np.nan]
    assert np.array_equal(result, wanted, equal_nan=True)


def test_strings_to_e8m0():
    """Just above a power of two is rounded up, also where float64 sees no difference."""
    texts = [
        "1",
        "1" + "." + "0" * 30 + "1",
        "0.99999999999999999999999",
        "1e-400",
        "0",
        "1e400",
        "-1",
    ]
    result = cast(strings(*texts), E8M0)
    assert result.view(np.uint8).tolist() == [127, 128, 127, 0, 0, 254, 255]


def decimal_text(number):
    """Write a fraction with a power of two below the line in all its digits."""
    places = number.denominator.bit_length() - 1
    digits = str(number.numerator * 5**places).zfill(places + 1)
    return f"{digits[: len(digits) - places]}.{digits[len(digits) - places :]}"


@pytest.mark.parametrize("version", [9, 13, 19, 28])
def test_reserved_strings(version):
    x = strings("INF", "+INF", "-INF", "NaN", "inf", "+Inf", "nan")
    result = cast(x, "float32", version=version)
    inf = math.inf
    assert np.array_equal(result, [inf, inf, -inf, np.nan, inf, inf, np.nan], equal_nan=True)


def test_strings_to_integers_and_bool():
    x = strings("1000", "-9223372036854775808", "9223372036854775807", "9007199254740993")
    assert cast(x, "int64").tolist() == [1000, -(2**63), 2**63 - 1, 2**53 + 1]
    x = strings("18446744073709551615", "100.5", "1e3", "18446744073709551617")
    assert cast(x, "uint64").tolist() == [2**64 - 1, 100, 1000, 1]
    assert cast(strings("200", "-1", "1e999"), "int8").tolist() == [-56, -1, 0]
    assert as_ints(cast(strings("7", "-8", "9"), "int4")) == [7, -8, -7]
    assert cast(strings("0", "-0.0", "1e-999", "NaN", "2"), "bool").tolist() == [
        False,
        False,
        True,
        True,
        True,
    ]


@pytest.mark.parametrize("text", ["Hello World!", "", "1_0", "0x10", "infinity", " 1", "1e", "٣"])
@pytest.mark.parametrize("target", ["float32", "float64", "int64", "bool", "bfloat16"])
def test_a_string_that_is_no_number_is_an_error(text, target):
    with pytest.raises(ValueError, match="is no number, INF or NaN"):
        cast(strings(text), target)


def test_strings_of_any_shape():
    assert cast(np.array("2.5", object), "float64").tolist() == 2.5
    assert cast(np.array(2.5), "object").tolist() == "2.5"
    assert cast(np.empty((0, 3), object), "float32").shape == (0, 3)
    x = strings("a", "b")
    assert cast(x, "object").tolist() == ["a", "b"]
