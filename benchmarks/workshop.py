"""The temporary folder of a run, and what is made in it once, outside the timing."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import TracebackType

from .measure import FROM_CHECKOUT, Side, module, opcheck, script, take

#: The statuses of a run in which all cases had an outcome.
RAN = frozenset({0, 1})


class Workshop:
    """A folder for one run; ``quick`` makes everything in it small.

    What the methods return is made at the first call; they raise ``Failed``.
    """

    def __init__(self, *, quick: bool, told: Callable[[str], None] = lambda _: None) -> None:
        self.quick = quick
        self.told = told
        self._folder = tempfile.TemporaryDirectory(prefix="opcheck-benchmarks-")
        self.folder = Path(self._folder.name)
        self.case_folder = cache(self._case_folder)
        self.node_suite = cache(self._node_suite)
        self.filled_cache = cache(self._filled_cache)
        self.pytest_file = cache(self._pytest_file)

    def __enter__(self) -> Workshop:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the folder."""
        self._folder.cleanup()

    def sized(self, full: int, quick: int) -> int:
        """Return one of two sizes."""
        return quick if self.quick else full

    def _case_folder(self, cases: int) -> Path:
        """Return a folder with this many YAML cases, at most 100 to a file."""
        path = self.folder / f"cases-{cases}"
        self._make(f"{cases:,} YAML cases", module("write_cases", path, cases))
        return path

    def _node_suite(self) -> Path:
        """Return a folder with ``onnx:node`` in the layout of ONNX's test data."""
        path = self.folder / "data"
        self._make("onnx:node as ONNX test data", script("write_node_suite", path))
        return path / "node"

    def _filled_cache(self, *sources: str) -> dict[str, str]:
        """Return the environment with a cache that has seen these sources."""
        path = self.folder / f"cache-of-{'-'.join(Path(s).name for s in sources)}"
        environment = {"OPCHECK_CACHE": str(path)}
        self.told("filling the cache")
        take(Side([*opcheck(), "list", *sources], environment=environment), self.folder)
        return environment

    def _pytest_file(self) -> Path:
        """Return a test file as users of onnx's own runner have it, in a folder of its own."""
        path = self.folder / "pytest" / "test_onnx_backend.py"
        path.parent.mkdir()
        source = Path(__file__).parent / "peers" / "onnx_backend.py"
        path.write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
        return path

    def _make(self, what: str, command: list[str]) -> None:
        self.told(f"writing {what}")
        take(Side(command, environment=FROM_CHECKOUT), self.folder)
