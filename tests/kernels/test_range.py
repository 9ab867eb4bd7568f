"""The kernels of Range, held against its pseudo-code in exact fractions.

number_of_elements = max( ceil( (limit - start) / delta ) , 0 )
output[i] = start + (i * delta)
"""

import random
from fractions import Fraction
from math import ceil, inf, isfinite, ldexp, nan

import numpy as np
import onnx.defs
import onnx.helper
import onnx.parser
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from exact_rounding import quantum
from kernel_calls import dtype_of, function
from opcheck.kernels import Evaluator

#: The precision in bits, the exponent of the smallest normal number, the largest number.
FORMATS = {
    "float16": (11, -14, 65504),
    "bfloat16": (8, -126, (2**8 - 1) * 2**120),
    "float32": (24, -126, (2**24 - 1) * 2**104),
    "float64": (53, -1022, (2**53 - 1) * 2**971),
}
INTEGERS = ("int16", "int32", "int64")
#: Stash types by their numbers in ``TensorProto.DataType``.
STASHES = {1: "float32", 10: "float16", 11: "float64", 16: "bfloat16"}
VERSIONS = (11, 27)

slow = settings(deadline=None, max_examples=200)


def scalar(value, name):
    """Return a 0-d tensor; a float16 or bfloat16 value must be exact."""
    tensor = np.array(value).astype(dtype_of(name))
    assert value != value or tensor.astype(np.float64) == value or name in INTEGERS
    return tensor


def call(name, start, limit, delta, *, version=11, stash_type=1):
    """Call a kernel as the evaluator does; return the numbers, and check type and shape."""
    inputs = [scalar(v, name) for v in (start, limit, delta)]
    attributes = {"stash_type": stash_type} if version >= 27 else {}
    with np.errstate(all="ignore"):
        result = function("Range", version)(*inputs, **attributes)
    assert result.dtype == dtype_of(name)
    assert result.ndim == 1
    assert [x.tolist() for x in inputs] == [scalar(v, name) for v in (start, limit, delta)]
    return [int(v) if name in INTEGERS else float(v) for v in result]


def rounded(x, name):
    """Round a fraction to nearest, ties to even, in a format; infinities stay."""
    if x in (inf, -inf) or x == 0:
        return x
    largest = FORMATS[name][2]
    result = round(x / quantum(x, name)) * quantum(x, name)
    return result if abs(result) <= largest else inf if x > 0 else -inf


def count(start, limit, delta):
    return max(ceil((Fraction(limit) - Fraction(start)) / Fraction(delta)), 0)


def exact(start, limit, delta):
    """Transcribe the pseudo-code in fractions."""
    return [Fraction(start) + i * Fraction(delta) for i in range(count(start, limit, delta))]


def by_steps(start, limit, delta, name, stash):
    """Transcribe version 27: cast, multiply, add and cast back, and round each time."""
    start, limit, delta = (rounded(Fraction(v), stash) for v in (start, limit, delta))
    output = []
    for i in range(count(start, limit, delta)):
        product = rounded(i * delta, stash)
        total = product if product in (inf, -inf) else rounded(start + product, stash)
        output.append(float(rounded(total, name)))
    return output


def assert_near(seen, wanted, name, ulps):
    assert len(seen) == len(wanted)
    for i, (got, right) in enumerate(zip(seen, wanted, strict=True)):
        assert isfinite(got), f"element {i}"
        error = abs(Fraction(got) - right) / quantum(right, name)
        assert error <= ulps, f"element {i} is {got!r} and off by {float(error)} ULP"


# Integers


@st.composite
def integer_ranges(draw):
    """Draw a type and a range of at most 40 elements, anywhere between the extremes."""
    name = draw(st.sampled_from(INTEGERS))
    info = np.iinfo(name)
    low, high = int(info.min), int(info.max)
    anything = st.integers(low, high) | st.sampled_from([low, low + 1, -1, 0, 1, high - 1, high])
    start = draw(anything)
    if draw(st.booleans()):
        limit = draw(anything)
        delta = draw(anything.filter(bool))
    else:
        delta = draw(st.integers(-9, 9).filter(bool))
        limit = min(max(start + draw(st.integers(-5, 300)) * delta // 8, low), high)
    assume(count(start, limit, delta) <= 40)
    return name, start, limit, delta


@pytest.mark.parametrize("version", VERSIONS)
@slow
@given(integer_ranges())
@example(("int64", -(2**63), 2**63 - 1, 2**62))
@example(("int64", 2**63 - 1, -(2**63), -(2**63)))
@example(("int64", 2**53, 2**53 + 3, 1))
@example(("int64", -(2**63), 2**63 - 1, 2**63 - 1))
@example(("int16", -32768, 32767, 32767))
@example(("int32", 2147483647, -2147483648, -2147483648))
def test_integers_are_exact_up_to_the_extremes(version, drawn):
    """Count and elements of all integer types, where a difference or product may overflow."""
    assert call(*drawn, version=version) == exact(*drawn[1:])


def test_all_of_int16_fits_into_one_range():
    """65535 elements from the lowest number up to the highest, which is excluded."""
    assert call("int16", -32768, 32767, 1) == list(range(-32768, 32767))


# Floats of 32 and 64 bits


@st.composite
def float_ranges(draw, name):
    """Draw a range of at most 40 elements, of any magnitude, also one that crosses zero."""
    precision, lowest, largest = FORMATS[name]

    def number(scale):
        digits = draw(st.integers(-(2**precision) + 1, 2**precision - 1))
        scale = max(scale, lowest) - precision + 1
        return rounded(digits * Fraction(2) ** scale, name)

    highest = 127 if name == "float32" else 1023
    scale = draw(st.integers(lowest - precision, highest))
    delta = number(scale)
    assume(delta != 0)
    kind = draw(st.sampled_from(["any", "multiple", "small"]))
    if kind == "any":
        start = number(draw(st.integers(scale - 60, min(scale + 8, highest))))
    elif kind == "small":
        start = number(scale - 30)
    else:
        start = rounded(-draw(st.integers(0, 40)) * delta, name)
    steps = draw(st.integers(-3, 39)) + Fraction(draw(st.integers(0, 8)), 8)
    limit = rounded(start + steps * delta, name)
    assume(abs(start) <= largest and abs(limit) <= largest)
    assume(count(start, limit, delta) <= 40)
    return float(start), float(limit), float(delta)


TINY = ldexp(1.0, -1074)
HUGE = float(FORMATS["float64"][2])


@pytest.mark.parametrize("version", VERSIONS)
@slow
@given(float_ranges("float64"))
@example((0.0, 20 * TINY, TINY))
@example((-5 * TINY, 6 * TINY, 3 * TINY))
@example((0.0, 1.0, 0.1))
@example((-1.0, 1.0, 0.1))
@example((-HUGE, HUGE, HUGE / 2))
@example((HUGE, -HUGE, -HUGE))
@example((-1.7e308, 1.7e308, 1e308))
@example((-HUGE, HUGE / 4, HUGE / 3))
@example((TINY, HUGE, HUGE / 3))
@example((-0.3, 0.7, 0.1))
@example((2.0**53, 2.0**53 + 8, 1.0))
def test_float64_is_the_exact_value_rounded(version, drawn):
    """Within half a unit in the last place (and a hair), however much cancels or overflows."""
    seen = call("float64", *drawn, version=version)
    assert_near(seen, exact(*drawn), "float64", Fraction(1, 2) + Fraction(1, 2**30))


@pytest.mark.parametrize("version", VERSIONS)
@slow
@given(float_ranges("float32"))
@example((16777216.0, 16777226.0, 1.0))
@example((-3e38, 3e38, 1e38))
@example((0.0, ldexp(20.0, -149), ldexp(1.0, -149)))
@example((1.5, 5.0, 1.0))
@example((5.0, 1.5, -0.75))
def test_float32_is_the_exact_value_rounded(version, drawn):
    """Computed wide and rounded once; repeated addition would stay at 2**24 for ever."""
    drawn = tuple(float(np.float32(v)) for v in drawn)
    seen = call("float32", *drawn, version=version)
    assert_near(seen, exact(*drawn), "float32", Fraction(1, 2) + Fraction(1, 2**20))


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_long_ranges_of_floats_drift_nowhere(name):
    """The last of many elements is as exact as the first."""
    delta = float(np.array(0.1, name))
    start = float(np.array(-1234.5, name))
    limit = float(np.array(-1234.5 + 5000 * 0.1, name))
    wanted = exact(start, limit, delta)
    assert_near(call(name, start, limit, delta), wanted, name, Fraction(501, 1000))


@pytest.mark.parametrize(
    ("start", "limit", "delta", "elements"),
    [
        pytest.param(0.0, 1.0, 0.1, 10, id="a tenth is more than its name says"),
        pytest.param(0.0, 0.3, 0.1, 3, id="three tenths are less"),
        pytest.param(1.0, 1.0 + 2**-52, 1.0, 1, id="one unit in the last place"),
        pytest.param(1.0, 1.0, 1.0, 0, id="empty"),
        pytest.param(1.0, 0.0, 1.0, 0, id="away from the limit"),
        pytest.param(-HUGE, HUGE, HUGE, 2, id="the difference overflows"),
        pytest.param(0.0, TINY, HUGE, 1, id="the quotient underflows"),
        pytest.param(-TINY, TINY, TINY, 2, id="subnormal"),
    ],
)
def test_the_count_is_exact(start, limit, delta, elements):
    """A quotient computed in floating point would be rounded before it is rounded up."""
    assert len(call("float64", start, limit, delta)) == elements == count(start, limit, delta)


def test_the_first_element_is_start_even_if_it_is_minus_zero_or_tiny():
    """start + 0 * delta is start, whatever delta is."""
    assert call("float64", TINY, HUGE, HUGE)[0] == TINY
    assert call("float32", ldexp(1.0, -149), ldexp(1.0, 127), ldexp(1.0, 126))[0] == ldexp(
        1.0, -149
    )


# Floats of 16 bits


@st.composite
def half_ranges(draw):
    """Draw float16 or bfloat16, a stash type, and a range of at most 60 elements."""
    name = draw(st.sampled_from(["float16", "bfloat16"]))
    stash_type = draw(st.sampled_from(sorted(STASHES)))
    precision, lowest, largest = FORMATS[name]
    digits = st.integers(-(2**precision) + 1, 2**precision - 1)
    highest = 15 if name == "float16" else 127
    scale = draw(st.integers(lowest - 3, highest) | st.integers(-10, 10))
    delta = rounded(draw(digits) * Fraction(2) ** (scale - precision + 1), name)
    assume(delta != 0)
    start = rounded(
        draw(digits) * Fraction(2) ** (scale - precision + 1 + draw(st.integers(-4, 8))), name
    )
    limit = rounded(start + draw(st.integers(-4, 400)) * delta / 8, name)
    cast = [rounded(v, STASHES[stash_type]) for v in (start, limit, delta)]
    assume(all(abs(v) <= largest for v in (start, limit, delta)))
    assume(inf not in map(abs, cast) and cast[2] != 0 and count(*cast) <= 60)
    return name, stash_type, float(start), float(limit), float(delta)


@settings(deadline=None, max_examples=400)
@given(half_ranges())
@example(("float16", 1, -60000.0, 60000.0, 30000.0))
@example(("float16", 10, -60000.0, 60000.0, 30000.0))
@example(("bfloat16", 1, 250.0, 262.0, 1.0))
@example(("bfloat16", 16, 250.0, 262.0, 1.0))
@example(("float16", 16, 0.0, 257.0, 8.03125))
@example(("bfloat16", 10, 0.0, ldexp(1.0, -23), ldexp(1.5, -24)))
@example(("float16", 11, 0.0999755859375, 1.0, 0.0999755859375))
def test_stash_type_is_the_type_of_the_arithmetic(drawn):
    """Inputs are cast to it "before the loop", the limit too; the output is cast back."""
    name, stash_type, *numbers = drawn
    wanted = by_steps(*numbers, name, STASHES[stash_type])
    assert call(name, *numbers, version=27, stash_type=stash_type) == wanted


@pytest.mark.parametrize(
    ("name", "stash_type", "elements"),
    [("float16", 1, 257), ("float16", 11, 257), ("float16", 16, 256), ("float16", 10, 257)],
)
def test_the_limit_is_cast_before_the_elements_are_counted(name, stash_type, elements):
    """bfloat16 has no 257: the limit becomes 256, and there is one element less."""
    assert len(call(name, 0, 257, 1, version=27, stash_type=stash_type)) == elements


def test_the_default_stash_type_is_float():
    """Where a model does not name stash_type, 2049 and 2051 are counted in float32."""
    model = onnx.parser.parse_model(
        '<ir_version: 13, opset_import: ["": 27]> '
        "g (float16 a, float16 b, float16 d) => (float16[N] y) { y = Range(a, b, d) }"
    )
    feeds = dict(zip("abd", (scalar(v, "float16") for v in (2046, 2054, 1)), strict=True))
    (y,) = Evaluator(model).run(feeds)
    assert y.tolist() == [2046, 2047, 2048, 2048, 2050, 2052, 2052, 2052]


def test_many_iterations_do_not_overflow_the_stash_type():
    """The index is no float16: 70000 steps of 2**-10 stay far below its largest number."""
    seen = call("float16", 0, 70, 2.0**-10, version=27, stash_type=10)
    assert seen[65504:] == [rounded(Fraction(i, 1024), "float16") for i in range(65504, 71680)]


@pytest.mark.parametrize("name", [*INTEGERS, "float32", "float64"])
@pytest.mark.parametrize("stash_type", [0, 1, 7, 8, 10, 16, 99])
def test_stash_type_has_no_effect_on_other_types(name, stash_type):
    """ "Has no effect for other types", not even where it names no float type."""
    assert call(name, 2049, 2053, 2, version=27, stash_type=stash_type) == [2049, 2051]


@pytest.mark.parametrize("stash_type", [0, 7, 8, 9, 14, 17, 22, 99])
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_a_stash_type_that_cannot_hold_the_values_is_an_error(name, stash_type):
    """Integers, strings, complex numbers, float8 and unknown numbers are no stash types."""
    with pytest.raises(ValueError, match="stash_type is"):
        call(name, 0, 4, 1, version=27, stash_type=stash_type)


# Errors


def types(version):
    return [*INTEGERS, "float32", "float64", *(["float16", "bfloat16"] if version >= 27 else [])]


EACH_TYPE = [
    pytest.param(version, name, id=f"{version}-{name}")
    for version in VERSIONS
    for name in types(version)
]


def test_each_type_of_the_schema_is_tested():
    """The types of this file are those of the schemas."""
    for version in VERSIONS:
        (constraint,) = onnx.defs.get_schema("Range", version, "").type_constraints
        names = {"double": "float64", "float": "float32"}
        allowed = [
            t.removeprefix("tensor(").removesuffix(")") for t in constraint.allowed_type_strs
        ]
        assert {names.get(t, t) for t in allowed} == set(types(version))


@pytest.mark.parametrize(("version", "name"), EACH_TYPE)
def test_a_delta_of_zero_is_an_error(version, name):
    """The count divides by delta, even if start and limit are equal."""
    for limit in (0, 5):
        with pytest.raises(ValueError, match="delta is 0"):
            call(name, 0, limit, 0, version=version)


def test_minus_zero_is_zero():
    """A delta of -0.0 is zero as well."""
    with pytest.raises(ValueError, match="delta is 0"):
        call("float32", 0, 5, -0.0)


@pytest.mark.parametrize(("version", "name"), [p for p in EACH_TYPE if "float" in p.values[1]])
@pytest.mark.parametrize("bad", [nan, inf, -inf])
@pytest.mark.parametrize("place", ["start", "limit", "delta"])
def test_what_is_not_finite_is_an_error_that_names_its_input(version, name, bad, place):
    """Neither the count nor the elements have a value then."""
    numbers = {"start": 0.0, "limit": 4.0, "delta": 1.0, place: bad}
    with pytest.raises(ValueError, match=f"{place} is {bad}; it must be finite"):
        call(name, *numbers.values(), version=version)


@pytest.mark.parametrize("stash_type", [10])
def test_what_overflows_the_stash_type_is_an_error(stash_type):
    """100000 is infinite in float16, so that the elements cannot be counted."""
    with pytest.raises(ValueError, match="limit is inf; it must be finite"):
        call("bfloat16", 0, 99840, 1024, version=27, stash_type=stash_type)


@pytest.mark.parametrize("shape", [(0,), (2,), (1, 2)])
@pytest.mark.parametrize("place", ["start", "limit", "delta"])
def test_what_is_no_scalar_is_an_error(place, shape):
    """The inputs are "Scalar": neither none nor several elements."""
    inputs = {"start": scalar(0, "int64"), "limit": scalar(4, "int64"), "delta": scalar(1, "int64")}
    inputs[place] = np.ones(shape, np.int64)
    with pytest.raises(ValueError, match=f"{place} has shape"):
        function("Range", 11)(*inputs.values())


@pytest.mark.parametrize(
    ("name", "start", "limit", "delta"),
    [
        pytest.param("int64", 0, 2**50, 1, id="int64, more than any address space"),
        pytest.param("int64", 0, 2**63 - 1, 1, id="int64, all that are positive"),
        pytest.param("int64", -1, -(2**63), -1, id="int64, all that are negative"),
        pytest.param("float64", 0.0, 2.0**50, 1.0, id="float64"),
        pytest.param("float64", 0.0, ldexp(1.0, -1014), TINY, id="float64, subnormal"),
        pytest.param("float32", 0.0, ldexp(1.0, 60), 1.0, id="float32"),
        pytest.param("bfloat16", 0.0, ldexp(1.0, 60), 1.0, id="bfloat16"),
    ],
)
def test_more_elements_than_memory_is_a_memory_error(name, start, limit, delta):
    """Neither a hang nor a crash, and raised through the evaluator as it is."""
    with pytest.raises(MemoryError):
        call(name, start, limit, delta, version=27)
    element = {"float64": "double", "float32": "float"}.get(name, name)
    model = onnx.parser.parse_model(
        '<ir_version: 13, opset_import: ["": 27]> '
        f"g ({element} a, {element} b, {element} d) => ({element}[N] y) {{ y = Range(a, b, d) }}"
    )
    numbers = (scalar(v, name) for v in (start, limit, delta))
    with pytest.raises(MemoryError):
        Evaluator(model).run(dict(zip("abd", numbers, strict=True)))


@pytest.mark.parametrize(
    ("name", "start", "limit", "delta"),
    [
        pytest.param("int64", -(2**63), 2**63 - 1, 1, id="all of int64"),
        pytest.param("int64", 2**63 - 1, -(2**63), -1, id="and back"),
        pytest.param("int64", 0, -(2**63), -1, id="one too many"),
        pytest.param("float64", 0.0, HUGE, TINY, id="float64"),
        pytest.param("float32", 0.0, ldexp(1.0, 127), ldexp(1.0, -149), id="float32"),
        pytest.param("bfloat16", 0.0, ldexp(1.0, 127), ldexp(1.0, -120), id="bfloat16"),
    ],
)
def test_more_elements_than_a_dimension_can_have_is_an_error(name, start, limit, delta):
    """No machine has the memory: a dimension is an int64."""
    with pytest.raises(ValueError, match=f"{count(start, limit, delta)} elements"):
        call(name, start, limit, delta, version=27)


@pytest.mark.parametrize(("version", "name"), EACH_TYPE)
def test_random_ranges_of_every_type_have_the_right_count(version, name):
    """Small whole numbers are exact in all types: count and elements, both directions."""
    random_numbers = random.Random(version)
    for _ in range(100):
        start, limit = (random_numbers.randint(-40, 40) for _ in range(2))
        delta = random_numbers.choice([-7, -3, -2, -1, 1, 2, 3, 7])
        seen = call(name, start, limit, delta, version=version)
        assert seen == list(range(start, limit, delta))
