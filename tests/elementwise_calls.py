"""What the tests of the elementwise kernels share: calls with one dtype, and integers."""

from __future__ import annotations

from typing import Any

import numpy as np

import kernel_calls


def call(operator: str, version: int, *inputs: Any, **attributes: Any) -> Any:
    """Call a kernel whose result has the dtype of its first input."""
    result = np.asarray(kernel_calls.call(operator, version, *inputs, **attributes))
    assert result.dtype == inputs[0].dtype
    return result


def integers(name: str, size: int, seed: int) -> Any:
    """Return integers of any size, with the least and the greatest among them."""
    rng = np.random.default_rng(seed)
    info = np.iinfo(name)
    any_size = rng.integers(info.min, info.max, size, dtype=name, endpoint=True)
    small = rng.integers(max(info.min, -9), 9, size).astype(name)
    return np.concatenate((any_size, small, np.array([info.min, info.max, 0, 1], name)))
