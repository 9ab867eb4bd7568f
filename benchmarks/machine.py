"""What the numbers were measured on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

PACKAGES = (
    "opcheck", "onnx", "onnxruntime", "numpy", "ml_dtypes", "msgspec", "PyYAML", "click", "pytest",
)  # fmt: skip


def machine() -> dict[str, Any]:
    """Return cores, CPU, memory, system, and the versions of Python and packages."""
    versions = {}
    for name in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return {
        "cores": os.cpu_count(),
        "cpu": cpu(),
        "memory": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": versions,
    }


def cpu() -> str:
    """Return the model of the CPU."""
    with suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        found = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
        if found:
            return found[1].strip()
    return platform.processor() or "unknown"
