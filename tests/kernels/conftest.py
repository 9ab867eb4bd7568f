"""What the tests of the kernels share as fixtures."""

from collections.abc import Iterator

import numpy as np
import pytest


@pytest.fixture(scope="module")
def no_warnings() -> Iterator[None]:
    """NumPy says nothing about infinities and NaN, as under the evaluator."""
    with np.errstate(all="ignore"):
        yield
