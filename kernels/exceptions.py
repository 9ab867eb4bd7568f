"""Schemas that have no built-in kernel, each with the reason."""

from __future__ import annotations

#: The reason by (domain, operator, since_version).
WITHOUT_KERNEL: dict[tuple[str, str, int], str] = {}
