"""What the tests of the harness share: reading case files from text, and the formats of floats."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from exact_rounding import SMALL_FORMATS
from opcheck.harness.casefile import Loaded, load
from opcheck.harness.dtypes import ELEMENT_TYPES


def decode(name: str, bits: int) -> Fraction | str:
    """Return the number that a bit pattern means, or ``nan``, ``inf``, ``-inf``."""
    width, mantissa_width, bias = SMALL_FORMATS[name]
    if name == "float8e8m0":
        return "nan" if bits == 0xFF else Fraction(2) ** (bits - bias)
    sign, rest = divmod(bits, 1 << (width + mantissa_width))
    exponent, mantissa = divmod(rest, 1 << mantissa_width)
    top = exponent == (1 << width) - 1
    if name.endswith("fnuz") and sign and not rest:
        return "nan"
    if name == "float8e4m3fn" and top and mantissa == 7:
        return "nan"
    if name == "float8e5m2" and top:
        return "nan" if mantissa else "-inf" if sign else "inf"
    whole = Fraction(mantissa, 1 << mantissa_width) + (1 if exponent else 0)
    magnitude = whole * Fraction(2) ** (max(exponent, 1) - bias)
    return -magnitude if sign else magnitude


@pytest.fixture(scope="session")
def small_floats() -> dict[str, dict[int, Fraction | str]]:
    """All bit patterns of every float type of at most 8 bits, and what they mean."""
    small = {n for n, e in ELEMENT_TYPES.items() if e.is_float and e.bits <= 8}
    assert small == set(SMALL_FORMATS), "a new float type: add its format to SMALL_FORMATS"
    return {n: {b: decode(n, b) for b in range(1 << ELEMENT_TYPES[n].bits)} for n in SMALL_FORMATS}


@pytest.fixture(scope="session")
def every_float() -> dict[str, np.ndarray]:
    """All values of every float type of at most 16 bits, in the order of their bit patterns."""
    values = {}
    for name, element in ELEMENT_TYPES.items():
        if element.is_float and element.bits <= 16:
            unsigned = np.uint8 if element.bits <= 8 else np.uint16
            bits = np.arange(1 << element.bits, dtype=np.uint32).astype(unsigned)
            values[name] = bits.view(element.dtype)
    return values


ReadCases = Callable[[str], Loaded]


@pytest.fixture(scope="session")
def read_cases(tmp_path_factory: pytest.TempPathFactory) -> ReadCases:
    """Load the text of a case file, under the name ``case.yaml``, from a folder of its own."""
    path = tmp_path_factory.mktemp("cases") / "case.yaml"

    def read(text: str, folder: Path | None = None) -> Loaded:
        target = path if folder is None else folder / "case.yaml"
        target.write_text(text, encoding="utf-8")
        return load(target, "case.yaml")

    return read
