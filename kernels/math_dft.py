"""DFT and STFT, by their definition, in ``numpy.longdouble``, rounded once.

The roots of unity are exact at the multiples of a quarter turn.
"""

from __future__ import annotations

import numpy as np

from .registry import kernel
from .rounding import Array
from .tensor import axis_of
from .wider import rounded, scalar

#: The most roots of unity that are laid out in a matrix at once.
_ROOTS_AT_ONCE = 2**20


def unit_circle(n: int) -> tuple[Array, Array]:
    """Return the cosines and sines of the multiples 0 to n-1 of an n-th of a turn."""
    index = np.arange(n)
    quarter = (4 * index + n // 2) // max(n, 1)
    rest = (4 * index - n * quarter).astype(np.longdouble)
    angle = rest * (np.arctan(np.longdouble(1)) * 2 / max(n, 1))
    c, s = np.cos(angle), np.sin(angle)
    turn = quarter % 4
    cosine = np.choose(turn, [c, -s, -c, s])
    sine = np.choose(turn, [s, c, -s, -c])
    return cosine, sine


def _transform(
    re: Array, im: Array | None, bins: int, n: int, *, inverse: bool
) -> tuple[Array, ...]:
    """Return the real and imaginary parts of the first ``bins`` values of a transform of length n.

    The signal runs along the last axis; what is beyond n is dropped, what is missing is zero.
    """
    length = min(n, re.shape[-1])
    re = re[..., :length]
    im = None if im is None else im[..., :length]
    cosine, sine = unit_circle(n)
    sine = sine if inverse else -sine
    shape = (*re.shape[:-1], bins)
    real, imaginary = np.zeros(shape, np.longdouble), np.zeros(shape, np.longdouble)
    step = max(1, _ROOTS_AT_ONCE // n)
    for start in range(0, bins, step):
        stop = min(start + step, bins)
        at = np.arange(length)[:, None] * np.arange(start, stop)[None, :] % n
        c, s = cosine[at], sine[at]
        real[..., start:stop] = re @ c if im is None else re @ c - im @ s
        imaginary[..., start:stop] = re @ s if im is None else re @ s + im @ c
    return (real / n, imaginary / n) if inverse else (real, imaginary)


def _whole_spectrum(x: Array, n: int) -> Array:
    """Return n values of a spectrum from the first half of it, whose other half is conjugate.

    The imaginary parts of the first value and, for even n, of the middle one have no counterpart
    and are dropped, as NumPy's irfft does.
    """
    half = np.zeros((*x.shape[:-1], n // 2 + 1), x.dtype)
    used = min(x.shape[-1], n // 2 + 1)
    half[..., :used] = x[..., :used]
    half[..., 0].imag = 0
    if n % 2 == 0:
        half[..., -1].imag = 0
    return np.concatenate((half, half[..., 1 : n - n // 2][..., ::-1].conj()), axis=-1)


def _dft(x: Array, n: int | None, axis: int, *, inverse: bool, onesided: bool) -> Array:
    """Transform along a non-negative axis."""
    if x.shape[-1] not in (1, 2):
        raise ValueError(f"the input has shape {x.shape}: its last dimension must be 1 or 2")
    is_complex = x.shape[-1] == 2
    if onesided and is_complex != inverse:
        seen, wanted = ("complex" if c else "real" for c in (is_complex, not is_complex))
        raise ValueError(f"the input is {seen}: a onesided transform this way needs a {wanted} one")
    if n is None:
        n = 2 * (x.shape[axis] - 1) if onesided and inverse else x.shape[axis]
    if n < 1:
        raise ValueError(f"the length of the DFT is {n}: 1 or more was wanted")
    parts = np.moveaxis(x, axis, -2).astype(np.longdouble)
    re, im = parts[..., 0], parts[..., 1] if is_complex else None
    if onesided and inverse and im is not None:
        spectrum = np.empty(re.shape, np.clongdouble)
        spectrum.real, spectrum.imag = re, im
        whole = _whole_spectrum(spectrum, n)
        result = _transform(whole.real, whole.imag, n, n, inverse=True)[:1]
    else:
        result = _transform(re, im, n // 2 + 1 if onesided else n, n, inverse=inverse)
    return rounded(np.moveaxis(np.stack(result, axis=-1), -2, axis), x.dtype)


def _flag(name: str, value: int) -> bool:
    """Return an attribute that is 0 or 1; raises ``ValueError`` for anything else."""
    if value not in (0, 1):
        raise ValueError(f"{name} is {value}: 0 or 1 was wanted")
    return bool(value)


def _signal_axis(axis: int, rank: int) -> int:
    """Return the axis counted from the front; the last one, of the parts of numbers, is none."""
    counted = axis_of(axis, rank)
    if counted == rank - 1:
        raise ValueError(
            f"axis {axis} is the last one of rank {rank}, which holds the parts of numbers"
        )
    return counted


@kernel("DFT", since_version=17)
def dft_17(
    x: Array, dft_length: Array | None = None, /, *, axis: int, inverse: int, onesided: int
) -> Array:
    """Transform ``x`` along ``axis``; see ``dft_20``. Source: DFT-17."""
    return _dft(
        x,
        None if dft_length is None else scalar("dft_length", dft_length),
        _signal_axis(axis, x.ndim),
        inverse=_flag("inverse", inverse),
        onesided=_flag("onesided", onesided),
    )


@kernel("DFT", since_version=20)
def dft_20(
    x: Array,
    dft_length: Array | None = None,
    axis: Array | None = None,
    /,
    *,
    inverse: int,
    onesided: int,
) -> Array:
    """Transform ``x`` along ``axis``, by default the last but one.

    The signal is cut, or padded with zeros, to ``dft_length``; a onesided spectrum to its first
    ``floor(dft_length / 2) + 1`` values.
    That many values a onesided result has; the "+ 1" in the range of the attribute is one too many.

    Args: x, shape [..., 1] for real or [..., 2] for complex numbers.
    Returns: shape [..., 2], or [..., 1] for the onesided inverse.
    Raises: ``ValueError`` for axes out of range, and for onesided transforms of complex signals or
    from real spectra.
    Source: DFT-20.
    """
    return _dft(
        x,
        None if dft_length is None else scalar("dft_length", dft_length),
        _signal_axis(-2 if axis is None else scalar("axis", axis), x.ndim),
        inverse=_flag("inverse", inverse),
        onesided=_flag("onesided", onesided),
    )


@kernel("STFT", since_version=17)
def stft(
    signal: Array,
    frame_step: Array,
    window: Array | None = None,
    frame_length: Array | None = None,
    /,
    *,
    onesided: int,
) -> Array:
    """Transform the frames of a signal, each of them multiplied by a window.

    Args: signal, [batch, length, 1 or 2]; window, [frame_length].
    Returns: [batch, frames, bins, 2].
    Raises: ``ValueError`` for a window that does not fit, a step below 1, a frame that is longer
    than the signal by more than a step, and a onesided result of a complex signal.
    Source: STFT-17, "floor((signal_length - frame_length) / frame_step) + 1".
    """
    if signal.ndim != 3 or signal.shape[-1] not in (1, 2):
        raise ValueError(f"the signal has shape {signal.shape}: [batch, length, 1 or 2] was wanted")
    if window is not None and window.ndim != 1:
        raise ValueError(f"the window has shape {window.shape}: a 1-D tensor was wanted")
    step, total = scalar("frame_step", frame_step), signal.shape[1]
    if frame_length is not None:
        length = scalar("frame_length", frame_length)
    else:
        length = total if window is None else len(window)
    if window is not None and len(window) != length:
        raise ValueError(f"the window has {len(window)} elements: frame_length is {length}")
    if step < 1 or length < 1:
        raise ValueError(f"frame_step is {step}, frame_length is {length}: both must be positive")
    count = (total - length) // step + 1
    if count < 0:
        raise ValueError(f"frame_length is {length}: the signal has {total} elements")
    at = np.arange(count)[:, None] * step + np.arange(length)[None, :]
    frames = signal.astype(np.longdouble)[:, at]
    if window is not None:
        frames = frames * window.astype(np.longdouble)[:, None]
    flag = _flag("onesided", onesided)
    return rounded(_dft(frames, length, 2, inverse=False, onesided=flag), signal.dtype)
