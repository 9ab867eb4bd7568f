"""Cast and CastLike, held against rounding with fractions and the tables of the text."""

import functools
import itertools
import math
import struct
from fractions import Fraction

import numpy as np
import onnx
import onnx.defs
import onnx.helper
import pytest

from kernel_calls import dtype_of
from opcheck.kernels import registry, tensor_cast

pytestmark = pytest.mark.usefixtures("no_warnings")

INF, NAN = "inf", "nan"

#: Exponent bits, mantissa bits, bias, and what the codes beyond the numbers stand for:
#: infinities and NaN ("ieee"), NaN in the last code ("fn"), NaN in place of -0 ("fnuz") or nothing.
FORMATS = {
    "float4_e2m1fn": (2, 1, 1, "finite"),
    "float6_e2m3fn": (2, 3, 1, "finite"),
    "float6_e3m2fn": (3, 2, 3, "finite"),
    "float8_e4m3fn": (4, 3, 7, "fn"),
    "float8_e4m3fnuz": (4, 3, 8, "fnuz"),
    "float8_e5m2": (5, 2, 15, "ieee"),
    "float8_e5m2fnuz": (5, 2, 16, "fnuz"),
    "float16": (5, 10, 15, "ieee"),
    "bfloat16": (8, 7, 127, "ieee"),
    "float32": (8, 23, 127, "ieee"),
    "float64": (11, 52, 1023, "ieee"),
}
SMALL = [n for n in FORMATS if "_" in n]
FLOAT8 = [n for n in FORMATS if n.startswith("float8")]
E8M0 = "float8_e8m0fnu"
WIDTHS = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4} | {
    f"{u}int{w}": w for w in (8, 16, 32, 64) for u in ("", "u")
}
VERSIONS = [
    (s.name, s.since_version)
    for s in onnx.defs.get_all_schemas_with_history()
    if s.name in ("Cast", "CastLike")
]
NUMBERS = {n: onnx.TensorProto.DataType.Value(n) for n in onnx.TensorProto.DataType.keys()}  # noqa: SIM118
NUMBER_OF = {
    np.dtype(onnx.helper.tensor_dtype_to_np_dtype(number)).name: number
    for number in NUMBERS.values()
    if number
}


def kernel(operator, version, given):
    """Return a kernel and its attributes, those not given by their defaults."""
    schema = onnx.defs.get_schema(operator, version, "")
    assert schema.since_version == version
    attributes = {"saturate": 1, "round_mode": "up"} | given
    return registry.find(schema).function, {
        name: value for name, value in attributes.items() if name in schema.attributes
    }


def cast(x, target, *, version=28, **given):
    before = x.copy()
    function, attributes = kernel("Cast", version, given)
    result = function(x, to=NUMBER_OF[target], **attributes)
    assert isinstance(result, np.ndarray)
    assert result.dtype == dtype_of(target)
    assert result.shape == x.shape
    assert x.tobytes() == before.tobytes() or x.dtype == object
    return result


# --- the formats --------------------------------------------------------------------------------


def layout(name):
    """Return the code of the largest number, of infinity and of NaN, all without a sign."""
    e, m, _, kind = FORMATS[name]
    last = (1 << (e + m)) - 1
    if kind == "ieee":
        infinity = ((1 << e) - 1) << m
        return infinity - 1, infinity, infinity + (1 << m) // 2
    return {"fn": (last - 1, None, last), "fnuz": (last, None, None), "finite": (last, None, None)}[
        kind
    ]


def decode(name, code):
    """Return (is negative, magnitude), the latter a fraction, INF or NAN."""
    e, m, bias, kind = FORMATS[name]
    negative = bool(code >> (e + m))
    code &= (1 << (e + m)) - 1
    largest, infinity, _ = layout(name)
    if kind == "fnuz" and negative and code == 0:
        return False, NAN
    if code == infinity:
        return negative, INF
    if code > largest:
        return negative, NAN
    exponent, mantissa = divmod(code, 1 << m)
    if exponent == 0:
        return negative, Fraction(mantissa) * power(1 - bias - m)
    return negative, Fraction(mantissa + (1 << m)) * power(exponent - bias - m)


@functools.cache
def power(k):
    return Fraction(2) ** k


def exponent_of(x):
    """Return the greatest k with 2**k <= x."""
    k = x.numerator.bit_length() - x.denominator.bit_length()
    return k if power(k) <= x else k - 1


def encode(name, negative, magnitude, *, saturate=True, fnuz_infinity_saturates=True):
    """Round to nearest, ties to even, by the tables of Cast-19 and Cast-24."""
    e, m, bias, kind = FORMATS[name]
    largest, infinity, quiet = layout(name)
    sign = int(negative) << (e + m)
    saturates = kind == "finite" or (saturate and name in FLOAT8)
    nan = 1 << (e + m) if kind == "fnuz" else sign | quiet if quiet else None
    if magnitude == NAN:
        return {"float4_e2m1fn": 8}.get(name, largest) if kind == "finite" else nan
    if magnitude == INF:
        if kind == "fnuz" and not fnuz_infinity_saturates:
            return nan
        code = largest + 1
    elif magnitude == 0:
        code = 0
    else:
        k = max(exponent_of(magnitude), 1 - bias)
        code = (k + bias - 1) * (1 << m) + round(magnitude / power(k - m))
    if code > largest:
        if saturates:
            code = largest
        elif infinity is None:
            return nan
        else:
            code = infinity
    return 0 if kind == "fnuz" and code == 0 else sign | code


def codes(array):
    """Return the bit patterns of a tensor, without the unused bits of the small types."""
    array = np.ascontiguousarray(array)
    width = sum(FORMATS[array.dtype.name][:2]) + 1 if array.dtype.name in FORMATS else 8
    raw = array.reshape(-1).view(f"u{array.dtype.itemsize}")
    return (raw & raw.dtype.type((1 << width) - 1)).tolist()


def from_codes(name, patterns):
    dtype = dtype_of(name)
    return np.array(patterns, f"u{dtype.itemsize}").view(dtype)


def same_number(name, a, b, *, nan_sign):
    """Compare two codes: any NaN equals any other, apart from the sign where that matters."""
    if a == b:
        return True
    (s, x), (t, y) = decode(name, a), decode(name, b)
    return x == y == NAN and (s == t or not nan_sign)


def check(name, result, wanted, shown, *, nan_sign=False):
    wrong = [
        (show, seen, want)
        for show, seen, want in zip(shown, codes(result), wanted, strict=True)
        if not same_number(name, seen, want, nan_sign=nan_sign)
    ]
    assert not wrong, wrong[:5]


def test_the_formats_are_those_of_the_libraries():
    """Guard the tests themselves: decode what NumPy and ml_dtypes decode."""
    for name in [*SMALL, "float16", "bfloat16"]:
        count = 1 << (sum(FORMATS[name][:2]) + 1)
        values = from_codes(name, range(count)).astype(np.float64).tolist()
        for code, value in enumerate(values):
            negative, magnitude = decode(name, code)
            if magnitude == NAN:
                assert math.isnan(value)
            else:
                assert abs(value) == float(magnitude)
                assert negative == (math.copysign(1, value) < 0)


# --- from all patterns of a float to floats -------------------------------------------------------


@pytest.mark.parametrize("source", [*SMALL, E8M0])
def test_every_small_float_to_every_float(source):
    """All patterns of up to 8 bits, to the same types and to the wide ones."""
    if source == E8M0:
        patterns = list(range(256))
        numbers = [(False, power(c - 127)) for c in range(255)] + [(False, NAN)]
    else:
        patterns = list(range(1 << (sum(FORMATS[source][:2]) + 1)))
        numbers = [decode(source, c) for c in patterns]
    x = from_codes(source, patterns)
    for target in FORMATS:
        for saturate in (1, 0):
            wanted = [encode(target, *n, saturate=saturate) for n in numbers]
            check(target, cast(x, target, saturate=saturate), wanted, patterns)


@pytest.fixture(scope="module")
def halves():
    """All patterns of float16 and bfloat16, with their values as exact float64."""
    result = {}
    for name in ("float16", "bfloat16"):
        values = np.empty(1 << 16)
        for code in range(1 << 15):
            magnitude = decode(name, code)[1]
            values[code] = float(magnitude)
            values[code | 1 << 15] = -float(magnitude)
        result[name] = from_codes(name, np.arange(1 << 16)), values
    return result


def nearest_codes(name, values):
    """Round float64 values by the midpoints between the numbers of a small type.

    Numbers and codes have one order, so a code is the count of midpoints below; ties go to even.
    A value that rounds beyond the largest number gets the code after it.
    """
    largest = layout(name)[0]
    numbers = [decode(name, c)[1] for c in range(largest + 1)]
    numbers.append(2 * numbers[-1] - numbers[-2])
    midpoints = [(a + b) / 2 for a, b in itertools.pairwise(numbers)]
    exact = np.array([float(p) for p in midpoints])
    assert [Fraction(v) for v in exact.tolist()] == midpoints
    size = np.abs(values)
    below = np.searchsorted(exact, size, side="left")
    tie = exact[np.minimum(below, len(exact) - 1)] == size
    return below + (tie & (below % 2 == 1))


@pytest.mark.parametrize("source", ["float16", "bfloat16"])
@pytest.mark.parametrize("target", SMALL)
@pytest.mark.parametrize("saturate", [0, 1])
def test_every_half_to_every_small_float(halves, source, target, saturate):
    """All 65536 patterns; infinities and NaN by the tables."""
    x, values = halves[source]
    nan = np.isnan(values)
    negative = np.arange(1 << 16) >= 1 << 15
    largest = layout(target)[0]
    bits = sum(FORMATS[target][:2])
    magnitude = nearest_codes(target, np.where(nan, 0, values))
    over = magnitude > largest
    wanted = np.minimum(magnitude, largest) + (negative << bits)
    if FORMATS[target][3] == "fnuz":
        wanted[magnitude == 0] = 0
    if target in FLOAT8 and not saturate:
        for sign in (False, True):
            beyond = encode(target, sign, INF, saturate=False)
            wanted[over & (negative == sign)] = beyond
    for code in np.flatnonzero(nan):
        wanted[code] = encode(target, bool(negative[code]), NAN)
    result = np.array(codes(cast(x, target, saturate=saturate)))
    is_nan = np.array([decode(target, c)[1] == NAN for c in range(1 << (bits + 1))])
    wrong = (result != wanted) & ~(is_nan[result] & is_nan[wanted])
    assert not wrong.any(), (values[wrong][:5], result[wrong][:5], wanted[wrong][:5])
    if not saturate:
        signed = is_nan[wanted] & (FORMATS[target][3] in ("fn", "ieee"))
        assert ((result >> bits)[signed] == negative[signed]).all()


@pytest.mark.parametrize("source", ["float16", "bfloat16"])
@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32", "float64"])
def test_every_half_to_wider_floats(halves, source, target):
    x, values = halves[source]
    picked = np.arange(0, 1 << 16, 3 if target == "float64" else 1)
    if {source, target} == {"float16", "bfloat16"}:
        wanted = [encode(target, *decode(source, int(c))) for c in picked]
        check(target, cast(x[picked], target), wanted, values[picked])
    elif source != target:
        exact = values[picked]
        assert np.array_equal(cast(x[picked], target).astype(np.float64), exact, equal_nan=True)
    else:
        assert cast(x, target).tobytes() == x.tobytes()


def traps(target, source, rng):
    """Return numbers of the wide type ``source`` at and just beside the midpoints of ``target``.

    Those just beside round wrongly where a step in between (float32) rounds to the midpoint.
    """
    _, m, bias, _ = FORMATS[target]
    largest = layout(target)[0]
    picked = {0, 1, 2, largest - 1, largest, *rng.integers(0, largest, 150).tolist()}
    result = []
    for code in picked:
        low = decode(target, int(code))[1]
        step = Fraction(2) ** (max(exponent_of(low) if low else 1 - bias, 1 - bias) - m)
        middle = np.dtype(source).type(float(low + step / 2))
        beside = [middle * np.dtype(source).type(1 + d) for d in (-(2.0**-30), 2.0**-30)]
        result += [middle, np.nextafter(middle, 0), np.nextafter(middle, middle * 2), *beside]
    values = np.array([*result, 0.0, np.inf, np.nan, np.finfo(source).max], source)
    values = np.concatenate([values, -values])
    noise = rng.integers(0, 2**32, 400, np.uint32).view(np.float32).astype(source)
    return np.concatenate([values, noise])


def split_float(value):
    value = float(value)
    negative = math.copysign(1, value) < 0
    if math.isnan(value):
        return negative, NAN
    return negative, INF if math.isinf(value) else abs(Fraction(value))


@pytest.mark.parametrize("source", ["float32", "float64"])
@pytest.mark.parametrize("target", [*SMALL, "float16", "bfloat16", "float32"])
def test_wide_floats_round_once(source, target):
    x = traps(target, source, np.random.default_rng(17))
    for saturate in (1, 0):
        wanted = [encode(target, *split_float(v), saturate=saturate) for v in x]
        check(target, cast(x, target, saturate=saturate), wanted, x, nan_sign=False)


@pytest.mark.parametrize("version", [19, 21, 23, 24, 25, 28])
@pytest.mark.parametrize("operator", ["Cast", "CastLike"])
@pytest.mark.parametrize("target", FLOAT8)
def test_infinities_by_version(operator, version, target):
    """The tables of 19 to 23 make NaN of infinities in the FNUZ types, those of 24 the largest."""
    x = np.array([np.inf, -np.inf, 1e30, -1e30], np.float32)
    early = version < 24 and target.endswith("fnuz")
    largest = float(decode(target, layout(target)[0])[1])
    wanted = [np.nan, np.nan] if early else [largest, -largest]
    if operator == "Cast":
        result = cast(x, target, version=version)
    elif version == 28:
        return
    else:
        function, attributes = kernel("CastLike", version, {})
        result = function(x, np.empty((0, 2), dtype_of(target)), **attributes)
    seen = result.astype(np.float64).tolist()
    assert np.array_equal(seen, [*wanted, largest, -largest], equal_nan=True)


# --- float8e8m0 -----------------------------------------------------------------------------------


def encode_e8m0(magnitude, round_mode, saturate):
    """Follow Cast-24 for a number that is not negative."""
    if magnitude == NAN:
        return 255
    smallest, largest = power(-127), power(127)
    if magnitude == INF or magnitude > largest:
        return 254 if saturate else 255
    if magnitude < smallest:
        return 0 if saturate else 255
    k = exponent_of(magnitude)
    low = power(k)
    rounds_up = {
        "up": magnitude > low,
        "down": False,
        "nearest": magnitude >= low * 3 / 2,
    }[round_mode]
    return k + rounds_up + 127


@pytest.mark.parametrize("round_mode", ["up", "down", "nearest"])
@pytest.mark.parametrize("saturate", [0, 1])
def test_to_e8m0(halves, round_mode, saturate):
    """All halves that are not negative, and the neighbours of powers of two among wide floats."""
    options = {"round_mode": round_mode, "saturate": saturate}
    for source in ("float16", "bfloat16"):
        x = halves[source][0][: 1 << 15]
        wanted = [encode_e8m0(decode(source, c)[1], round_mode, saturate) for c in range(1 << 15)]
        assert codes(cast(x, E8M0, **options)) == wanted
    for source, steps in (("float32", range(-140, 128)), ("float64", range(-140, 140))):
        middles = [f * 2.0**k for k in steps for f in (1.0, 1.5)]
        x = np.array(middles, source)
        x = np.concatenate([x, np.nextafter(x, 0), np.nextafter(x, np.inf, dtype=source)])
        wanted = [encode_e8m0(split_float(v)[1], round_mode, saturate) for v in x]
        assert codes(cast(x, E8M0, **options)) == wanted
    integers = [s * 2**k // 2 + d for k in range(1, 63) for s in (2, 3) for d in (-1, 0, 1)]
    x = np.array([*integers, 2**64 - 1], np.uint64)
    wanted = [encode_e8m0(Fraction(int(v)), round_mode, saturate) for v in x]
    assert codes(cast(x, E8M0, **options)) == wanted


def test_the_table_of_e8m0():
    """Zero, infinity and what is out of range; below zero the choice is NaN."""
    x = np.array([0.0, np.nan, np.inf, 2.0**127.5, 2.0**-127.5, -1.0, -np.inf])
    assert codes(cast(x, E8M0)) == [0, 255, 254, 254, 0, 255, 255]
    nearest = cast(x, E8M0, saturate=0, round_mode="nearest")
    assert codes(nearest) == [255] * 7
    assert codes(cast(np.array([-0.0]), E8M0)) == [0]
    with pytest.raises(ValueError, match="round_mode is 'sideways'"):
        cast(x, E8M0, round_mode="sideways")


# --- integers and bool ----------------------------------------------------------------------------


def limits(name):
    width = WIDTHS[name]
    return (0, 2**width - 1) if name[0] == "u" else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)


def wrapped(value, name):
    """Discard higher bits and reinterpret."""
    low, _ = limits(name)
    return (value - low) % 2 ** WIDTHS[name] + low


def integers_of(name, rng):
    """All values of up to 8 bits, or the ends, powers of two and random ones."""
    low, high = limits(name)
    if WIDTHS[name] <= 8:
        return list(range(low, high + 1))
    near = [s * 2**k + d for k in range(WIDTHS[name]) for s in (1, -1) for d in (-1, 0, 1)]
    extra = rng.integers(low, high, 200, name, endpoint=True).tolist()
    return [v for v in (*near, *extra, low, high) if low <= v <= high]


def as_ints(array):
    """Read integers of any width without the code under test."""
    if array.dtype.name not in ("int4", "uint4", "int2", "uint2"):
        return array.tolist()
    return [wrapped(int(v), array.dtype.name) for v in array.reshape(-1).view(np.uint8)]


def make_ints(values, name):
    if WIDTHS[name] >= 8:
        return np.array(values, name)
    dtype = dtype_of(name)
    return np.array([int(v) for v in values], np.int8).astype(dtype)


@pytest.mark.parametrize("source", WIDTHS)
@pytest.mark.parametrize("target", [*WIDTHS, "bool"])
def test_integers_to_integers(source, target):
    values = integers_of(source, np.random.default_rng(5))
    x = make_ints(values, source)
    assert as_ints(x) == values
    if target == "bool":
        assert cast(x, target).tolist() == [v != 0 for v in values]
    else:
        assert as_ints(cast(x, target)) == [wrapped(v, target) for v in values]


def integer_traps(source, target, rng):
    """Return integers at and beside the midpoints of a float type."""
    low, high = limits(source)
    m = FORMATS[target][1]
    found = integers_of(source, rng)
    for shift in range(1, WIDTHS[source]):
        for odd in (1, 3, *(2 * rng.integers(2**m, 2 ** (m + 1), 6) + 1).tolist()):
            middle = odd << shift >> 1
            found += [s * (middle + d) for s in (1, -1) for d in (-1, 0, 1)]
    return sorted({int(v) for v in found if low <= v <= high})


@pytest.mark.parametrize("source", WIDTHS)
@pytest.mark.parametrize("target", [n for n in FORMATS if n != "float64"])
def test_integers_round_once(source, target):
    values = integer_traps(source, target, np.random.default_rng(11))
    x = make_ints(values, source)
    for saturate in (1, 0) if target in FLOAT8 else (1,):
        wanted = [encode(target, v < 0, Fraction(abs(v)), saturate=saturate) for v in values]
        check(target, cast(x, target, saturate=saturate), wanted, values)


@pytest.mark.parametrize("source", ["int64", "uint64"])
def test_integers_to_float64(source):
    values = integer_traps(source, "float64", np.random.default_rng(11))
    wanted = [encode("float64", v < 0, Fraction(abs(v))) for v in values]
    check("float64", cast(np.array(values, source), "float64"), wanted, values)


@pytest.mark.parametrize("source", [*FORMATS, E8M0])
@pytest.mark.parametrize("target", [*WIDTHS, "bool"])
def test_floats_to_integers(source, target):
    """In range: towards zero, for 4 and 2 bits to nearest. All but zero, NaN too, is true."""
    quarters = np.arange(-4000, 4000).astype(np.float64) / 8
    spread = np.ldexp(np.random.default_rng(3).uniform(-1, 1, 500), np.arange(500) % 70)
    x = cast(np.concatenate([quarters, spread, [np.nan, np.inf, -np.inf, -0.0]]), source)
    values = x.astype(np.float64).tolist()
    result = cast(x, target)
    if target == "bool":
        assert result.tolist() == [v != 0 for v in values]
        return
    low, high = limits(target)
    in_range = 0
    for value, seen in zip(values, as_ints(result), strict=True):
        if not math.isfinite(value):
            continue
        exact = Fraction(value)
        whole = math.trunc(exact) if WIDTHS[target] >= 8 else round(exact)
        if low <= whole <= high:
            assert seen == whole, value
            in_range += 1
        elif WIDTHS[target] <= 4 and abs(whole) < 2**31:
            assert seen == wrapped(whole, target), value
    assert in_range > (0 if source == E8M0 and target == "int2" else 3)


@pytest.mark.parametrize("target", [*FORMATS, *WIDTHS, "bool"])
def test_bool_becomes_one_and_zero(target):
    result = cast(np.array([True, False]), target)
    assert result.astype(np.float64).tolist() == [1.0, 0.0]


# --- versions -------------------------------------------------------------------------------------


def allowed(schema, parameter):
    """Return the numbers of the element types that a type parameter stands for."""
    (names,) = [
        c.allowed_type_strs for c in schema.type_constraints if c.type_param_str == parameter
    ]
    names = [n.removeprefix("tensor(").removesuffix(")") for n in names]
    return [NUMBERS[{"float": "FLOAT", "double": "DOUBLE"}.get(n, n.upper())] for n in names]


def one_and_zero(dtype):
    if dtype == np.dtype(object):
        return np.array(["1", "0"], object)
    if dtype.name == E8M0:
        return from_codes(E8M0, [127, 0])
    return np.array([1, 0], np.float32).astype(dtype)


@pytest.mark.parametrize(("operator", "version"), VERSIONS)
def test_every_pair_of_types_of_every_version(operator, version):
    """1 and 0 are the same in all types; float8e8m0 has no 0 and takes its smallest number."""
    schema = onnx.defs.get_schema(operator, version, "")
    function, attributes = kernel(operator, version, {})
    assert function.__module__ == tensor_cast.__name__
    for source in allowed(schema, "T1"):
        x = one_and_zero(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(source)))
        for to in allowed(schema, "T2"):
            dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(to))
            if operator == "CastLike":
                result = function(x, np.zeros((0,), dtype), **attributes)
            else:
                name = onnx.TensorProto.DataType.Name(to)
                result = function(x, to=name if version == 1 else to, **attributes)
            assert result.dtype == dtype
            if dtype == np.dtype(object):
                first, second = (float(t) for t in result.tolist())
            else:
                first, second = result.astype(np.float64).tolist()
            assert first == 1
            if E8M0 not in (x.dtype.name, dtype.name):
                assert second == 0
            elif dtype.name == "bool":
                assert second == (x.dtype.name == E8M0)
            else:
                assert np.float32(second) in (0, 2.0**-127)


@pytest.mark.parametrize(("operator", "version"), [v for v in VERSIONS if v[0] == "Cast"])
def test_a_type_that_a_version_lacks_is_an_error(operator, version):
    schema = onnx.defs.get_schema(operator, version, "")
    function, attributes = kernel(operator, version, {})
    others = sorted(set(NUMBERS.values()) - set(allowed(schema, "T2")))
    assert len(others) >= 3
    for to in [*others, 99]:
        name = "NOTHING" if to == 99 else onnx.TensorProto.DataType.Name(to)
        with pytest.raises(ValueError, match="the output type is"):
            function(np.ones(2, np.float32), to=name if version == 1 else to, **attributes)


@pytest.mark.parametrize("target", [*FORMATS, *WIDTHS, "bool", "object", E8M0])
def test_empty_and_0d_tensors(target):
    for shape in ((0,), (2, 0, 3), ()):
        for source in ("float32", "float64", "int64", "uint8", "bool", "bfloat16", "int4"):
            cast(np.ones(shape, np.float32).astype(dtype_of(source)), target)


def test_bits_of_the_float_that_struct_writes():
    """Guard ``codes`` and ``encode`` with a second way to the bits of float32."""
    for value in (1.0, -2.5, 1e-40, 3e38):
        x = np.float32(value)
        (pattern,) = struct.unpack("<I", struct.pack("<f", x))
        assert codes(np.array([x])) == [pattern]
        assert encode("float32", *split_float(x)) == pattern
