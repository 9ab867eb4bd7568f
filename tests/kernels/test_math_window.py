"""The windows and MelWeightMatrix, held against their formulas in mpmath."""

import ml_dtypes
import mpmath
import numpy as np
import onnx
import onnx.defs
import onnx.helper
import pytest

from opcheck.kernels import registry

WINDOWS = ("HannWindow", "HammingWindow", "BlackmanWindow")
FLOATS = {"float16": 10, "bfloat16": 16, "float32": 1, "float64": 11}
INTEGERS = {"uint8": 2, "uint16": 4, "uint32": 12, "uint64": 13}
INTEGERS |= {"int8": 3, "int16": 5, "int32": 6, "int64": 7}


def function(operator):
    return registry.find(onnx.defs.get_schema(operator, 17, "")).function


def window(operator, size, *, output_datatype=1, periodic=1):
    return function(operator)(
        np.array(size, np.int64), output_datatype=output_datatype, periodic=periodic
    )


def formula(operator, n, turn):
    """Return the value at n of a window whose whole turn has a length."""
    angle = mpmath.mpf(2) * n / turn
    one, two = mpmath.cospi(angle), mpmath.cospi(2 * angle)
    return {
        "HannWindow": (1 - one) / 2,
        "HammingWindow": (25 - 21 * one) / 46,
        "BlackmanWindow": (42 - 50 * one + 8 * two) / 100,
    }[operator]


@pytest.mark.parametrize("operator", WINDOWS)
@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize("name", FLOATS)
def test_values_are_rounded_once(operator, periodic, name):
    """Within half a unit of the formula; in float64, within two beside the zeros."""
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    for size in (2, 3, 10, 17):
        got = window(operator, size, output_datatype=FLOATS[name], periodic=periodic)
        assert (got.dtype, got.shape) == (dtype, (size,))
        with mpmath.workdps(40):
            for n in range(size):
                wanted = formula(operator, n, size if periodic else size - 1)
                unit = float(np.spacing(np.asarray(float(wanted)).astype(dtype)))
                limit = 1.5 if name == "float64" else 0.5001
                assert abs(float(got[n]) - wanted) <= limit * unit or abs(wanted) < 1e-30


@pytest.mark.parametrize("operator", WINDOWS)
@pytest.mark.parametrize(("name", "number"), INTEGERS.items())
def test_integers_are_one_at_the_peak_alone(operator, name, number):
    """The fraction is dropped, and the peak is exactly 1."""
    got = window(operator, 7, output_datatype=number, periodic=0)
    assert got.dtype == np.dtype(name)
    assert got.tolist() == [0, 0, 0, 1, 0, 0, 0]


@pytest.mark.parametrize("operator", WINDOWS)
def test_sizes_without_a_turn(operator):
    """No elements; the start of a periodic window; 0 / 0 in a symmetric one."""
    assert window(operator, 0).shape == window(operator, 0, periodic=0).shape == (0,)
    start = {"HammingWindow": np.float32(2 / 23)}.get(operator, 0)
    assert window(operator, [1]).tolist() == [start]
    assert np.isnan(window(operator, 1, periodic=0)).tolist() == [True]
    assert window(operator, 1, periodic=0, output_datatype=6).tolist() == [0]


@pytest.mark.parametrize("operator", WINDOWS)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": -1}, "size is -1"),
        ({"size": [3, 3]}, "scalar"),
        ({"size": 3, "periodic": 2}, "periodic is 2"),
        ({"size": 3, "output_datatype": onnx.TensorProto.BOOL}, "output type is bool"),
        ({"size": 3, "output_datatype": 0}, "output type is 0"),
    ],
)
def test_what_makes_no_window_is_refused(operator, arguments, message):
    with pytest.raises(ValueError, match=message):
        window(operator, **arguments)


def mel(bands, length, rate, lower, upper, *, output_datatype=1):
    integers = (np.array(v, np.int64) for v in (bands, length, rate))
    edges = (np.array(v, np.float32) for v in (lower, upper))
    return function("MelWeightMatrix")(*integers, *edges, output_datatype=output_datatype)


def slow_mel(bands, length, rate, lower, upper):
    """Transcribe the official case, with many digits."""
    with mpmath.workdps(40):
        scale = [2595 * mpmath.log10(1 + mpmath.mpf(f) / 700) for f in (lower, upper)]
        step = (scale[1] - scale[0]) / (bands + 2)
        hertz = [700 * (10 ** ((scale[0] + i * step) / 2595) - 1) for i in range(bands + 2)]
        hertz[0] = mpmath.mpf(lower)
        bins = [int(mpmath.floor((length + 1) * h / rate)) for h in hertz]
    matrix = np.zeros((length // 2 + 1, bands))
    for i in range(bands):
        left, centre, right = bins[i : i + 3]
        if left == centre:
            matrix[centre, i] = 1
        for j in range(left, centre + (left != centre)):
            matrix[j, i] = (j - left) / (centre - left)
        for j in range(centre, right):
            matrix[j, i] = (right - j) / (right - centre)
    return matrix


@pytest.mark.parametrize(
    "arguments",
    [(8, 16, 8192, 0, 4096), (3, 33, 16000, 125, 7000), (20, 64, 8000, 0, 4000), (1, 2, 10, 0, 5)],
)
def test_mel_weights_are_those_of_the_official_case(arguments):
    """Its edges are moved down to whole bins, and its last step is not used."""
    got = mel(*arguments)
    assert got.dtype == np.float32
    assert got.tolist() == slow_mel(*arguments).astype(np.float32).tolist()
    whole = mel(*arguments, output_datatype=6)
    assert whole.tolist() == np.floor(slow_mel(*arguments)).tolist()


def test_mel_limits():
    """No bands, and bands above the spectrum, are no errors."""
    assert mel(0, 16, 8192, 0, 4096).shape == (9, 0)
    beyond = mel(2, 8, 1000, 5000, 9000)
    assert (beyond.shape, beyond.any()) == ((5, 2), False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 16, 8192, 0, 4096), "num_mel_bins is -1"),
        ((2, 0, 8192, 0, 4096), "dft_length 0"),
        ((2, 16, 0, 0, 4096), "sample_rate 0"),
        ((2, 16, 8192, 4096, 0), "in order"),
        ((2, 16, 8192, -1, 0), "in order"),
        ((2, 16, 8192, 0, np.inf), "in order"),
        ((2, 16, 8192, [0, 1], 4), "scalar"),
    ],
)
def test_mel_arguments_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        mel(*arguments)
