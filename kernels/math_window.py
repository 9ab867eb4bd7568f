"""HannWindow, HammingWindow, BlackmanWindow and MelWeightMatrix.

The function bodies of the windows compute in float32; here the same formulas are taken exactly,
with the constants as fractions, and rounded once to the output type.
Integers get the value without its fraction, which is 1 at the peak and 0 elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .math_dft import unit_circle
from .registry import kernel
from .rounding import Array
from .wider import Targets, rounded, scalar

#: From the squared sine and cosine of half the angle to the value of the window.
Window = Callable[[Array, Array], Array]


def _hann(s2: Array, c2: Array) -> Array:  # noqa: ARG001 - all windows take both
    """Return 0.5 - 0.5 cos(x)."""
    return s2


def _hamming(s2: Array, c2: Array) -> Array:  # noqa: ARG001 - all windows take both
    """Return 25/46 - 21/46 cos(x)."""
    return np.asarray(1 - np.longdouble(21) / 23 * c2)


def _blackman(s2: Array, c2: Array) -> Array:
    """Return 0.42 - 0.5 cos(x) + 0.08 cos(2x)."""
    return np.asarray(s2 * (1 - np.longdouble(16) / 25 * c2))


#: Operator and function.
_WINDOWS: tuple[tuple[str, Window], ...] = (
    ("HannWindow", _hann),
    ("HammingWindow", _hamming),
    ("BlackmanWindow", _blackman),
)


def _convert(x: Array, dtype: np.dtype[Any]) -> Array:
    """Round to a float type; drop the fraction for integers, where NaN becomes 0."""
    if dtype.kind in "iu":
        return np.nan_to_num(x).astype(dtype)
    return rounded(x, dtype)


def _register_window(operator: str, function: Window) -> None:
    """Register a window, whose angles run from 0 over a whole turn.

    The one value of a symmetric window of size 1 is 0 / 0, as in the function body: NaN.
    """
    targets = Targets(operator, 17)

    def run(size: Array, /, *, output_datatype: int, periodic: int) -> Array:
        count, dtype = scalar("size", size), targets[output_datatype]
        if count < 0:
            raise ValueError(f"size is {count}: 0 or more was wanted")
        if periodic not in (0, 1):
            raise ValueError(f"periodic is {periodic}: 0 or 1 was wanted")
        turn = count if periodic else count - 1
        if turn < 1:
            return _convert(np.full(count, np.nan), dtype)
        cosine, sine = (part[:count] for part in unit_circle(2 * turn))
        return _convert(function(np.square(sine), np.square(cosine)), dtype)

    kernel(operator, since_version=17)(run)


for _window in _WINDOWS:
    _register_window(*_window)

_mel_targets = Targets("MelWeightMatrix", 17)


@kernel("MelWeightMatrix", since_version=17)
def mel_weight_matrix(
    num_mel_bins: Array,
    dft_length: Array,
    sample_rate: Array,
    lower_edge_hertz: Array,
    upper_edge_hertz: Array,
    /,
    *,
    output_datatype: int,
) -> Array:
    """Return the weights that turn a spectrogram into one of the mel scale.

    The text gives the scale and the peaks alone; all else follows the official case.
    The range is divided on the mel scale into ``num_mel_bins + 2`` steps, of which the last is not
    used; edges and peaks are moved down to whole bins of the DFT, which has ``dft_length + 1`` of
    them here; a triangle starts and ends with 0.
    What lies beyond the last bin of the spectrogram is left out.

    Returns: [floor(dft_length / 2) + 1, num_mel_bins].
    Raises: ``ValueError`` for counts and edges that make no sense.
    Source: MelWeightMatrix-17.
    """
    bands = scalar("num_mel_bins", num_mel_bins)
    length = scalar("dft_length", dft_length)
    rate = scalar("sample_rate", sample_rate)
    lower, upper = (_edge(edge) for edge in (lower_edge_hertz, upper_edge_hertz))
    dtype = _mel_targets[output_datatype]
    if bands < 0 or length < 1 or rate < 1:
        raise ValueError(
            f"num_mel_bins is {bands}, dft_length {length}, sample_rate {rate}: "
            "0 or more, and positive numbers were wanted"
        )
    if not 0 <= lower <= upper < np.inf:
        raise ValueError(f"the edges are {lower} and {upper} Hz: 0 or more, in order, were wanted")
    lowest, highest = _mel(lower), _mel(upper)
    mels = np.arange(bands + 2) * ((highest - lowest) / (bands + 2)) + lowest
    hertz = 700 * np.expm1(mels / 2595 * np.log(np.longdouble(10)))
    hertz[0] = lower
    points = np.floor((length + 1) * hertz / rate).astype(np.int64)
    left, centre, right = points[:-2], points[1:-1], points[2:]
    j = np.arange(length // 2 + 1)[:, None]
    rising = (j - left) / np.maximum(centre - left, 1).astype(np.longdouble)
    falling = (right - j) / np.maximum(right - centre, 1).astype(np.longdouble)
    weights = np.where(
        j == centre, 1, np.where(j < centre, np.maximum(rising, 0), np.maximum(falling, 0))
    )
    return _convert(weights, dtype)


def _edge(tensor: Array) -> Any:
    """Return the one element of a float tensor."""
    if tensor.size != 1:
        raise ValueError(f"an edge has shape {tensor.shape}: a scalar was wanted")
    return tensor.reshape(()).astype(np.longdouble)


def _mel(hertz: Any) -> Any:
    """Return a frequency on the mel scale. Source: "mel(f) = 2595 * log10(1 + f/700)"."""
    return 2595 * np.log1p(hertz / 700) / np.log(np.longdouble(10))
