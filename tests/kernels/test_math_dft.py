"""DFT and STFT, held against their sums in mpmath."""

import itertools

import ml_dtypes
import mpmath
import numpy as np
import onnx.defs
import pytest

from kernel_calls import function
from opcheck.kernels.math_dft import unit_circle


def dft(x, n=None, axis=-2, *, version=20, inverse=0, onesided=0):
    length = None if n is None else np.array(n, np.int64)
    before = x.tobytes()
    if version == 17:
        result = function("DFT", 17)(x, length, axis=axis, inverse=inverse, onesided=onesided)
    else:
        at = np.array(axis, np.int64)
        result = function("DFT", 20)(x, length, at, inverse=inverse, onesided=onesided)
    assert x.tobytes() == before
    assert result.dtype == x.dtype
    return result


def slow(values, n, *, inverse=False):
    """Transform a list of complex numbers, cut or padded to n, with 40 digits."""
    with mpmath.workdps(40):
        values = (list(values) + [0] * n)[:n]
        sign = 2 if inverse else -2
        sums = [
            mpmath.fsum(
                mpmath.mpc(v) * mpmath.expjpi(mpmath.mpf(sign) * ((k * i) % n) / n)
                for i, v in enumerate(values)
            )
            for k in range(n)
        ]
        return [s / n if inverse else s for s in sums]


def lines(x, axis):
    """Return complex lines along an axis, of real or complex parts."""
    moved = np.moveaxis(x.astype(np.float64), axis, -2)
    flat = moved.reshape(-1, *moved.shape[-2:])
    return [[complex(*v) for v in line] for line in flat.tolist()]


def check(result, x, axis, n, *, inverse=False, bins=None, tolerance):
    seen = lines(result, axis)
    for got, line in zip(seen, lines(x, axis), strict=True):
        wanted = slow(line, n, inverse=inverse)[:bins]
        assert len(got) == len(wanted)
        scale = sum(abs(v) for v in line) or 1
        for g, w in zip(got, wanted, strict=True):
            assert abs(mpmath.mpc(g) - w) <= tolerance * scale


@pytest.mark.parametrize("version", [17, 20])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("inverse", [0, 1])
@pytest.mark.parametrize("n", [None, 1, 3, 4, 7])
@pytest.mark.parametrize("axis", [0, 1, -3])
def test_transforms_are_their_sums(version, parts, inverse, n, axis):
    """Each axis, length, direction and kind of input."""
    x = np.random.default_rng(7).standard_normal((5, 4, parts))
    got = dft(x, n, axis, version=version, inverse=inverse)
    length = x.shape[axis] if n is None else n
    check(got, x, axis, length, inverse=bool(inverse), tolerance=2.0**-52)


TYPES = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}


@pytest.mark.parametrize(("name", "unit"), TYPES.items())
def test_every_type_is_rounded_once(name, unit):
    """The error is that of the rounding of the result."""
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    x = np.random.default_rng(1).standard_normal((3, 6, 2)).astype(dtype)
    check(dft(x), x, 1, 6, tolerance=unit * 1.001)


@pytest.mark.parametrize("version", [17, 20])
@pytest.mark.parametrize("length", [1, 2, 5, 6])
def test_onesided_transforms_and_back(version, length):
    """floor(n / 2) + 1 values are kept, and give the signal back."""
    x = np.random.default_rng(length).standard_normal((2, length, 1))
    half = dft(x, axis=1, version=version, onesided=1)
    assert half.shape == (2, length // 2 + 1, 2)
    check(half, x, 1, length, bins=length // 2 + 1, tolerance=2.0**-52)
    back = dft(half, length, 1, version=version, inverse=1, onesided=1)
    assert back.shape == x.shape
    assert np.abs(back - x).max() <= 1e-15 * length


def test_the_onesided_inverse_is_the_inverse_of_the_conjugate_spectrum():
    """The parts that a real signal cannot have are dropped; the default length is even."""
    half = np.random.default_rng(5).standard_normal((1, 4, 2))
    spectrum = [complex(*v) for v in half[0]]
    spectrum[0], spectrum[3] = spectrum[0].real, spectrum[3].real
    whole = [*spectrum, spectrum[2].conjugate(), spectrum[1].conjugate()]
    wanted = [float(v.real) for v in slow(whole, 6, inverse=True)]
    got = dft(half, inverse=1, onesided=1)
    assert got.shape == (1, 6, 1)
    assert got[0, :, 0] == pytest.approx(wanted, abs=1e-15)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 12, 360])
def test_roots_of_unity(n):
    """Quarter turns are exact, all others right to the last bits."""
    cosine, sine = unit_circle(n)
    for k in range(n):
        if 4 * k % n == 0:
            quarter = 4 * k // n
            assert (cosine[k], sine[k]) == ([1, 0, -1, 0][quarter], [0, 1, 0, -1][quarter])
        with mpmath.workdps(30):
            assert abs(float(cosine[k]) - mpmath.cospi(mpmath.mpf(2) * k / n)) < 2e-16
            assert abs(float(sine[k]) - mpmath.sinpi(mpmath.mpf(2) * k / n)) < 2e-16


def test_default_axes_differ_by_version():
    """Version 17 takes axis 1 by its attribute; version 20 the last of the signal."""
    x = np.random.default_rng(0).standard_normal((2, 3, 4, 1))
    got = function("DFT", 20)(x, None, None, inverse=0, onesided=0)
    assert got.tolist() == dft(x, axis=2).tolist()
    assert onnx.defs.get_schema("DFT", 17, "").attributes["axis"].default_value.i == 1


@pytest.mark.parametrize(
    ("shape", "arguments", "message"),
    [
        ((2, 3, 1), {"axis": 2}, "last one"),
        ((2, 3, 1), {"axis": -1}, "last one"),
        ((2, 3, 1), {"axis": 3}, "outside"),
        ((2, 3, 1), {"axis": -4}, "outside"),
        ((2, 3, 3), {}, "must be 1 or 2"),
        ((2, 3, 2), {"onesided": 1}, "complex"),
        ((2, 3, 1), {"onesided": 1, "inverse": 1}, "real"),
        ((2, 3, 1), {"n": 0}, "is 0"),
        ((2, 3, 1), {"n": -2}, "is -2"),
        ((2, 0, 1), {}, "is 0"),
        ((2, 3, 1), {"n": [3, 3]}, "scalar"),
        ((2, 3, 1), {"inverse": 2}, "inverse is 2"),
        ((2, 3, 1), {"onesided": -1}, "onesided is -1"),
    ],
)
@pytest.mark.parametrize("version", [17, 20])
def test_what_makes_no_sense_is_refused(version, shape, arguments, message):
    with pytest.raises(ValueError, match=message):
        dft(np.zeros(shape), version=version, **arguments)


def stft(signal, step, window=None, length=None, onesided=0):
    number = None if length is None else np.array(length, np.int32)
    result = function("STFT", 17)(signal, np.array(step), window, number, onesided=onesided)
    assert result.dtype == signal.dtype
    return result


@pytest.mark.parametrize(
    ("step", "length", "onesided", "windowed"),
    list(itertools.product([1, 2, 5], [3, 4], [0, 1], [False, True])),
)
def test_frames_are_windowed_and_transformed(step, length, onesided, windowed):
    """Frame i starts at i * step; samples left over at the end belong to none."""
    rng = np.random.default_rng(step)
    signal = rng.standard_normal((2, 9, 1))
    window = rng.standard_normal(length) if windowed else None
    got = stft(signal, step, window, length, onesided)
    frames = (9 - length) // step + 1
    bins = length // 2 + 1 if onesided else length
    assert got.shape == (2, frames, bins, 2)
    weights = np.ones(length) if window is None else window
    for batch, i in itertools.product(range(2), range(frames)):
        frame = signal[batch, i * step : i * step + length, 0] * weights
        for seen, wanted in zip(got[batch, i], slow(frame.tolist(), length)[:bins], strict=True):
            assert abs(mpmath.mpc(complex(*seen)) - wanted) < 1e-14


def test_frame_lengths_left_out():
    """The window decides, and without one the signal."""
    signal = np.arange(5.0).reshape(1, 5, 1)
    assert stft(signal, 1, np.ones(2)).shape == (1, 4, 2, 2)
    assert stft(signal, 1).shape == (1, 1, 5, 2)
    assert stft(signal, 3, length=7).shape == (1, 0, 7, 2)


@pytest.mark.parametrize(
    ("shape", "arguments", "message"),
    [
        ((5, 1), {}, "batch, length"),
        ((1, 5, 3), {}, "batch, length"),
        ((1, 5, 1), {"window": np.ones(3), "length": 4}, "3 elements"),
        ((1, 5, 1), {"window": np.ones((2, 2))}, "1-D"),
        ((1, 5, 1), {"step": 0}, "positive"),
        ((1, 5, 1), {"length": 0}, "positive"),
        ((1, 5, 1), {"length": 9}, "5 elements"),
        ((1, 5, 2), {"onesided": 1}, "complex"),
    ],
)
def test_frames_that_make_no_sense_are_refused(shape, arguments, message):
    with pytest.raises(ValueError, match=message):
        stft(np.zeros(shape), **{"step": 1, **arguments})
