"""Writes ``docs/operators.md``: every schema of ``onnx.defs``, and its built-in kernel.

``python docs/tables/operators.py`` writes the page; a test holds it against the registry.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import onnx
import onnx.defs

from opcheck.kernels import Unsupported, registry
from opcheck.kernels.exceptions import WITHOUT_KERNEL

PAGE = Path(__file__).parent.parent / "operators.md"
HEAD = """\
# Operators

Every schema that `onnx.defs` of onnx {version} lists, with the file in `kernels/` that computes it,
and the function where it is not one of a table of look-alikes.
{registered} of {total} schemas have one.
Versions that share a function have the same semantics; `docs/tables/operators.py` makes this page.
"""


def schemas() -> list[onnx.defs.OpSchema]:
    """Return all schemas, by domain, operator and version."""
    found = onnx.defs.get_all_schemas_with_history()
    return sorted(found, key=lambda s: (s.domain, s.name, s.since_version))


def kernel_text(schema: onnx.defs.OpSchema) -> str:
    """Say which function computes a schema, or why none does."""
    try:
        function = registry.find(schema).function
    except Unsupported:
        key = (schema.domain, schema.name, schema.since_version)
        return "none: " + WITHOUT_KERNEL.get(key, "still missing")
    name = "" if "<locals>" in function.__qualname__ else f", `{function.__name__}`"
    return f"`{function.__module__.rpartition('.')[2]}.py`{name}"


def row(name: str, versions: list[onnx.defs.OpSchema]) -> list[str]:
    """Return the lines of one operator: a line for each run of versions with one kernel."""
    lines = []
    for text, group in groupby(versions, key=kernel_text):
        numbers = [f"{s.since_version}{' (deprecated)' if s.deprecated else ''}" for s in group]
        lines.append(f"| {name} | {', '.join(numbers)} | {text} |")
        name = ""
    return lines


def page() -> str:
    """Return the whole page."""
    everything = schemas()
    registered = sum(not kernel_text(s).startswith("none") for s in everything)
    lines = HEAD.format(version=onnx.__version__, registered=registered, total=len(everything))
    parts = [lines]
    for domain, group in groupby(everything, key=lambda s: s.domain):
        parts.append(f"\n## {domain or 'ai.onnx'}\n\n")
        parts.append("| operator | since_version | kernel |\n| --- | --- | --- |\n")
        for name, versions in groupby(group, key=lambda s: s.name):
            parts.append("\n".join(row(name, list(versions))) + "\n")
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
