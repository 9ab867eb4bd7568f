"""ImageDecoder, with files that the tests write, or let Pillow write."""

import importlib
import io
import struct
import zlib

import numpy as np
import onnx.defs
import pytest

from opcheck.kernels import image as module
from opcheck.kernels import registry

Image = pytest.importorskip("PIL.Image")

PIXELS = np.array(
    [[[255, 0, 0], [0, 255, 0], [0, 0, 255]], [[1, 2, 3], [40, 50, 60], [255, 255, 255]]], np.uint8
)


def decode(data, pixel_format="RGB"):
    stream = np.frombuffer(data, np.uint8)
    kernel = registry.find(onnx.defs.get_schema("ImageDecoder", 20)).function
    result = kernel(stream, pixel_format=pixel_format)
    assert result.dtype == np.uint8
    return result


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(rows, colour, bits=8):
    """Write a PNG by its specification."""
    rows = np.asarray(rows)
    raw = b"".join(b"\0" + row.tobytes() for row in rows)
    header = struct.pack(">IIBBBBB", rows.shape[1], rows.shape[0], bits, colour, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def saved(kind, pixels=PIXELS, **options):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind, **options)
    return buffer.getvalue()


def test_channels_are_last_and_in_the_order_of_the_name():
    data = png(PIXELS, 2)
    assert decode(data).tolist() == PIXELS.tolist()
    assert decode(data, "BGR").tolist() == PIXELS[:, :, ::-1].tolist()
    assert decode(data, "Grayscale").shape == (2, 3, 1)


def test_gray_is_that_of_itu_r_601():
    """The official cases have it: 0.299, 0.587 and 0.114, rounded."""
    got = decode(png(PIXELS, 2), "Grayscale")[:, :, 0].astype(float)
    wanted = PIXELS @ np.array([0.299, 0.587, 0.114])
    assert np.abs(got - wanted).max() <= 0.51


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("BMP", {}),
        ("PNG", {}),
        ("PPM", {}),
        ("TIFF", {}),
        ("TIFF", {"compression": "tiff_lzw"}),
        ("WEBP", {"lossless": True}),
        ("JPEG2000", {"irreversible": False}),
        ("JPEG2000", {"irreversible": False, "no_jp2": True}),
    ],
)
def test_lossless_formats_give_the_pixels_back(kind, options):
    assert decode(saved(kind, **options)).tolist() == PIXELS.tolist()


def test_jpeg_is_near_and_a_constant_is_exact():
    smooth = np.tile(np.arange(64, dtype=np.uint8)[:, None, None] * 3, (1, 40, 3))
    got = decode(saved("JPEG", smooth, quality=95))
    assert got.shape == smooth.shape
    assert np.abs(got.astype(int) - smooth).max() <= 4
    assert (decode(saved("JPEG", np.full((9, 5, 3), 128, np.uint8))) == 128).all()


def test_other_kinds_of_pixels():
    gray = np.array([[0, 100, 255]], np.uint8)
    assert decode(png(gray, 0)).tolist() == [[[0] * 3, [100] * 3, [255] * 3]]
    alpha = np.array([[[1, 2, 3, 0], [4, 5, 6, 255]]], np.uint8)
    assert decode(png(alpha, 6)).tolist() == [[[1, 2, 3], [4, 5, 6]]]
    wide = np.array([[0, 0x1234, 0xFFFF]], ">u2")
    assert decode(png(wide, 0, 16), "Grayscale").tolist() == [[[0], [0x12], [0xFF]]]
    assert decode(b"P1 2 1\n1 0\n", "Grayscale").tolist() == [[[0], [255]]]


@pytest.mark.parametrize("pixel_format", ["RGB", "BGR", "Grayscale"])
@pytest.mark.parametrize(
    "data",
    [b"", b"P6", b"no picture at all", png(PIXELS, 2)[:-30], png(PIXELS, 2)[:45], saved("GIF")],
    ids=["empty", "start", "text", "cut", "cut early", "a format that is not listed"],
)
def test_what_cannot_be_decoded_is_empty(data, pixel_format):
    channels = 1 if pixel_format == "Grayscale" else 3
    assert decode(data, pixel_format).shape == (0, 0, channels)


def test_what_is_refused():
    with pytest.raises(ValueError, match="pixel_format is 'rgb'"):
        decode(png(PIXELS, 2), "rgb")
    with pytest.raises(ValueError, match="rank of 1"):
        module.image_decoder(np.zeros((1, 2), np.uint8), pixel_format="RGB")


def test_without_pillow_the_message_says_what_to_install(monkeypatch):
    """That Pillow is missing is no fault of the model, and no empty picture."""

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(registry.MissingPackage, match=r"pip install 'opcheck\[image\]'"):
        decode(png(PIXELS, 2))
