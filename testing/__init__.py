"""Cases in pytest: the plugin, and one-line calls from a runtime's own Python tests.

``check`` runs a case on a function and raises ``AssertionError`` where it differs, ``cases`` gives
the parameters of ``pytest.mark.parametrize``, and a function raises ``Unsupported`` for what its
runtime does not implement.

pytest imports this package in every run, so nothing else is imported before it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..harness.backend import Unsupported
    from .direct import BadCases, cases, check

__all__ = ["BadCases", "Unsupported", "cases", "check"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import direct

    return getattr(direct, name)
