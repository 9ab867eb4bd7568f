"""One run of pytest with a backend: what is collected, who runs it, what is said at the end."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ..backends import CannotRun, UnknownBackend, check
from ..harness.errors import CaseError
from ..harness.expectations import load
from ..harness.expecting import Expecting, NotNeeded, check_needed
from ..harness.judge import Options
from ..harness.record import Record
from ..harness.sources import SUFFIXES
from ..harness.workers import BackendFailed
from .items import CaseFile, CaseItem, is_case_file
from .shown import shown
from .stream import FEW, Stream


class Share(msgspec.Struct):
    """What a process has run, as a worker of pytest-xdist tells it to the one that shows it.

    ``planned`` and ``ran`` are node ids; ``deselected`` says that there were more cases.
    """

    deselected: bool = False
    planned: set[str] = set()
    ran: set[str] = set()
    versions: dict[str, str] = {}
    records: dict[str, list[Record]] = {}


#: Options of pytest that leave out cases without telling.
LEAVING_OUT = ("lf", "ignore", "ignore_glob")


class Running:
    """The part of the plugin that is there when a backend is named."""

    def __init__(
        self,
        config: pytest.Config,
        backends: Sequence[str],
        expect: Sequence[str | Path],
        numbers: Mapping[str, float | None],
    ) -> None:
        self.config = config
        self.here = config.invocation_params.dir
        self.backends = list(dict.fromkeys(backends))
        try:
            for backend in self.backends:
                check(backend)
            files = [load(Path(self.name(self.here / path))) for path in expect]
            check_needed(files, self.backends)
        except (UnknownBackend, CannotRun, CaseError, NotNeeded) as error:
            raise pytest.UsageError(f"opcheck: {error}") from None
        self.expecting = Expecting(files, (), everything=False)
        given = {name: number for name, number in numbers.items() if number is not None}
        memory = given.get("memory", 4.0)
        options = Options(
            given.get("ulp"),
            given.get("rtol"),
            given.get("atol"),
            time_limit=given.get("timeout", Options().time_limit),
        )
        self.streams = {name: Stream(name, options, memory) for name in self.backends}
        #: Which item is expected to begin the next guess, and how long the last one was.
        self.guesses: dict[str, tuple[CaseItem | None, int]] = {}
        self.share = Share()
        self.unused: list[str] = []

    def name(self, path: Path) -> str:
        """Return what opcheck calls a path when it is started where pytest was."""
        return Path(os.path.relpath(path, self.here)).as_posix()

    def pytest_report_header(self) -> str:
        """Name the backends and the expectations files."""
        files = [f"expecting {one.file}" for one in self.expecting.files]
        return shown(f"opcheck: {', '.join([*self.backends, *files])}")

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> CaseFile | None:
        """Collect a case file; one that the command line names is always meant to be one."""
        named = file_path.suffix in SUFFIXES and parent.session.isinitpath(file_path)
        if not named and not is_case_file(file_path):
            return None
        collected: CaseFile = CaseFile.from_parent(parent, path=file_path, running=self)
        return collected

    def pytest_deselected(self) -> None:
        """Remember that the run is not complete."""
        self.share.deselected = True

    def start(self, backend: str) -> None:
        """Start a backend; the test is an error where that is not possible."""
        try:
            self.expecting.versions[backend] = self.streams[backend].version()
        except (CannotRun, BackendFailed) as error:
            raise pytest.fail.Exception(shown(str(error)), pytrace=False) from None

    def record(self, item: CaseItem) -> Record:
        """Run the case of an item."""
        record = self.streams[item.backend].record(item, lambda: self._ahead(item))
        self.share.ran.add(item.nodeid)
        named = msgspec.structs.replace(record, case=item.case, file=item.file)
        return self.expecting.judge(named)

    def _ahead(self, item: CaseItem) -> list[CaseItem]:
        """Return an item and those of its backend that follow.

        A worker of pytest-xdist is given a few items in a row, and nobody knows how many: the
        guess is twice as many as were in a row before.
        A marker, such as skip, may keep an item from running.
        """
        items = item.session.items
        later = (
            other
            for other in islice(items, items.index(item) + 1, None)
            if isinstance(other, CaseItem) and other.backend == item.backend
        )
        following = takewhile(lambda other: not any(other.iter_markers()), later)
        if not hasattr(self.config, "workerinput"):
            return [item, *following]
        expected, length = self.guesses.get(item.backend, (None, 1))
        length = min(2 * length, FEW) if item is expected else 1
        ahead = [item, *islice(following, length - 1)]
        self.guesses[item.backend] = (next(following, None), length)
        return ahead

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let a report give the time of the case, and the place of a case that was skipped."""
        report = yield
        if isinstance(item, CaseItem) and report.when == "call":
            report.duration = item.seconds or report.duration
            if isinstance(report.longrepr, tuple):
                path, line, _ = item.location
                report.longrepr = (path, (line or 0) + 1, report.longrepr[2])
        return report

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Hold the expectations against a run that was complete."""
        self.share.planned |= {i.nodeid for i in session.items if isinstance(i, CaseItem)}
        if hasattr(self.config, "workeroutput"):
            if self.expecting.files:
                self.share.versions = self.expecting.versions
                self.share.records = self.expecting.records
                told = msgspec.json.encode(self.share).decode()
                self.config.workeroutput["opcheck"] = told
            return
        self.expecting.everything = self._complete()
        self.expecting.sources = self._sources()
        self.unused = [shown(line) for line in self.expecting.unused()]
        if self.unused and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker of pytest-xdist has run; one that died tells nothing."""
        told = getattr(node, "workeroutput", {}).get("opcheck")
        if told is not None:
            share = msgspec.json.decode(told, type=Share)
            self.share.deselected |= share.deselected
            self.share.planned |= share.planned
            self.share.ran |= share.ran
            self.expecting.versions |= share.versions
            for backend, records in share.records.items():
                self.expecting.records.setdefault(backend, []).extend(records)

    def _complete(self) -> bool:
        """Whether every case of the paths that were given has a record."""
        left_out = any(self.config.getoption(name, None) for name in LEAVING_OUT)
        some = any("::" in argument for argument in self.config.args)
        share = self.share
        return not (left_out or some or share.deselected) and share.planned == share.ran

    def _sources(self) -> tuple[str, ...]:
        """Return those of the files' sources that lie below the paths that were given."""
        roots = [(self.here / argument).resolve() for argument in self.config.args]
        return tuple(
            source
            for file in self.expecting.files
            for source in file.sources
            if (path := self.here / source).exists()
            and any(path.resolve().is_relative_to(root) for root in roots)
        )

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say which expectations no longer hold."""
        if self.unused:
            terminalreporter.section("opcheck: expectations that no longer hold", red=True)
            for line in self.unused:
                terminalreporter.line(line)

    def pytest_unconfigure(self) -> None:
        """Leave no process behind."""
        for stream in self.streams.values():
            stream.close()
