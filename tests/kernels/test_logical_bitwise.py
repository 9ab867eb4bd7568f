"""BitShift and the bitwise operators, held against the integers of Python."""

import math

import numpy as np
import pytest

from elementwise_calls import call
from kernel_calls import types, versions
from opcheck.kernels import registry

pytestmark = pytest.mark.usefixtures("no_warnings")

INF, NAN = math.inf, math.nan


BINARY = {
    "BitwiseAnd": lambda a, b: a & b,
    "BitwiseOr": lambda a, b: a | b,
    "BitwiseXor": lambda a, b: a ^ b,
}


def integers(name, size, seed):
    rng = np.random.default_rng(seed)
    info = np.iinfo(name)
    some = rng.integers(info.min, info.max, size, dtype=name, endpoint=True)
    return np.concatenate((some, np.array([info.min, info.max, 0, 1], name)))


def shifted(x, y, bits, direction, signed):
    """Shift by the text of version 28, with Python's unlimited integers."""
    if not 0 <= y < bits:
        return -1 if direction == "RIGHT" and x < 0 else 0
    if direction == "RIGHT":
        return x >> y
    low = -(2 ** (bits - 1)) if signed else 0
    return ((x << y) - low) % 2**bits + low


def test_every_version_is_registered():
    operators = (*BINARY, "BitwiseNot", "BitShift")
    assert {("", *key) for key in versions(*operators)} <= registry.registered()


@pytest.mark.parametrize("operator", BINARY)
def test_bits_of_every_type(operator):
    for name in types(operator, 18):
        a, b = integers(name, 50, 1), integers(name, 50, 2)[::-1].copy()
        wanted = [BINARY[operator](p, q) for p, q in zip(a.tolist(), b.tolist(), strict=True)]
        assert call(operator, 18, a, b).tolist() == wanted
        assert call(operator, 18, a[:2, None], b[:3]).shape == (2, 3)


def test_inverted_bits_of_every_type():
    for name in types("BitwiseNot", 18):
        x = integers(name, 50, 3)
        high = np.iinfo(name).max if name.startswith("u") else -1
        assert call("BitwiseNot", 18, x).tolist() == [high - v for v in x.tolist()]


@pytest.mark.parametrize(("operator", "version"), versions("BitShift"))
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_of_every_type_by_every_amount(operator, version, direction):
    """Also by the width and more, and by less than nothing where the type has such numbers."""
    for name in types(operator, version):
        bits, signed = np.iinfo(name).bits, not name.startswith("u")
        amounts = [*range(bits + 2), 100, np.iinfo(name).max, *((-1, -bits) if signed else ())]
        y = np.array(amounts, name)
        x = np.resize(integers(name, 40, version), y.shape)
        got = call(operator, version, x, y, direction=direction)
        pairs = zip(x.tolist(), y.tolist(), strict=True)
        assert got.tolist() == [shifted(p, q, bits, direction, signed) for p, q in pairs]


@pytest.mark.parametrize("direction", ["left", "Right", ""])
def test_other_directions(direction):
    x = np.ones(2, np.uint8)
    with pytest.raises(ValueError, match="direction is"):
        call("BitShift", 28, x, x, direction=direction)


def test_shifts_broadcast_both_ways():
    x, y = np.array([[16], [3]], np.uint8), np.array([1, 2, 0], np.uint8)
    wanted = [[32, 64, 16], [6, 12, 3]]
    assert call("BitShift", 11, x, y, direction="LEFT").tolist() == wanted
    assert call(
        "BitShift", 28, np.zeros((2, 0), np.int8), x.astype(np.int8), direction="LEFT"
    ).shape == (2, 0)
