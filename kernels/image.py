"""ImageDecoder, by way of Pillow, which is imported when the operator runs."""

from __future__ import annotations

import importlib
import io
import warnings
from typing import Any

import numpy as np

from .registry import MissingPackage, kernel
from .rounding import Array

#: The formats of the text, by Pillow's names; PPM stands for all of Netpbm's.
FORMATS = ("BMP", "JPEG", "JPEG2000", "TIFF", "PNG", "WEBP", "PPM")

_CHANNELS = {"RGB": 3, "BGR": 3, "Grayscale": 1}


def _pillow() -> Any:
    """Return the module ``PIL.Image``; raises ``MissingPackage`` where Pillow is not installed."""
    try:
        return importlib.import_module("PIL.Image")
    except ImportError:
        raise MissingPackage(
            "ImageDecoder needs Pillow, which is not installed: pip install 'opcheck[image]'"
        ) from None


def _decoded(pillow: Any, data: bytes, mode: str) -> Array:
    """Decode the first picture of a file; of 16 bits the upper 8 count."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pillow.open(io.BytesIO(data), formats=FORMATS) as image:
            if image.mode.startswith("I"):
                wide = np.array(image).astype(np.int64)
                image = pillow.fromarray((np.clip(wide, 0, 65535) >> 8).astype(np.uint8))
            return np.array(image.convert(mode), np.uint8)


@kernel("ImageDecoder", since_version=20)
def image_decoder(encoded_stream: Array, /, *, pixel_format: str) -> Array:
    """Decode a picture to uint8 of shape [height, width, channels].

    Args: encoded_stream, the bytes of a file, 1-D; pixel_format, RGB, BGR or Grayscale.
    Returns: 3 channels, or 1 for Grayscale; [0, 0, channels] for what cannot be decoded.
    The text gives no formula for gray: here that of ITU-R 601, as Pillow and the official cases
    have it.
    An alpha channel is left out.
    Errors: another pixel format, a stream of another rank; ``MissingPackage`` without Pillow.
    Source: ImageDecoder-20, "it will return an empty matrix".
    """
    if pixel_format not in _CHANNELS:
        raise ValueError(f"pixel_format is {pixel_format!r}; {', '.join(_CHANNELS)} were wanted")
    if encoded_stream.ndim != 1:
        raise ValueError(f"the stream has shape {encoded_stream.shape}; a rank of 1 was wanted")
    pillow = _pillow()
    channels = _CHANNELS[pixel_format]
    try:
        image = _decoded(pillow, encoded_stream.tobytes(), "L" if channels == 1 else "RGB")
    except MemoryError:
        raise
    except Exception:  # "if it can't decode for any reason"
        return np.zeros((0, 0, channels), np.uint8)
    if pixel_format == "BGR":
        return np.ascontiguousarray(image[:, :, ::-1])
    return image.reshape(*image.shape[:2], channels)
