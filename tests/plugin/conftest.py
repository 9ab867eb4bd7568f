"""Real runs of pytest, in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

Pytest = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_pytest(tmp_path: Path, plugin: Path) -> Pytest:
    """Run pytest in a folder of its own, with 80 columns and the ``mini`` backends."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "FORCE_"))}
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:hypothesispytest", *arguments],
            cwd=tmp_path,
            env={
                **kept,
                "PYTHONPATH": str(plugin),
                "COLUMNS": "80",
                "OPCHECK_CACHE": str(tmp_path / "cache"),
            },
            capture_output=True,
            text=True,
            timeout=240,
            stdin=subprocess.DEVNULL,
        )

    return run


class Reported:
    """A testcase of pytest's JUnit XML."""

    def __init__(self, element: ET.Element) -> None:
        self.name = element.get("name", "")
        self.properties = {p.get("name"): p.get("value") for p in element.iter("property")}
        self.texts = {child.tag: child.text or "" for child in element}
        self.messages = {child.tag: child.get("message", "") for child in element}

    @property
    def result(self) -> str:
        """``passed``, or the element that says otherwise."""
        return next((t for t in ("failure", "error", "skipped") if t in self.texts), "passed")


def reported(path: Path) -> list[Reported]:
    """Read pytest's JUnit XML."""
    return [Reported(element) for element in ET.parse(path).getroot().iter("testcase")]
