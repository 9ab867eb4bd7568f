"""What ``run`` and ``compare`` do: run cases, show and write results, decide the status."""

from __future__ import annotations

import gc
import os
import platform
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from types import FrameType
from typing import Any

import click
import numpy as np
import onnx

from .. import __version__
from ..backends import CannotRun, UnknownBackend
from ..backends.executors import make_executor
from ..harness import history
from ..harness.expecting import Expecting
from ..harness.filecache import Changed
from ..harness.judge import Options
from ..harness.plan import Plan
from ..harness.record import FORMAT, Detail, Footer, Header, Outcome, Problem, Record, Run, utf8
from ..harness.results import Tally
from ..harness.runner import Executor, run_all
from ..harness.sources import Planning
from ..harness.workers import BackendFailed
from .again import again
from .display import Compared, Display
from .expecting import expecting, rewrite
from .loading import Selection, as_problem, plan
from .status import Status, status_of
from .writing import RESULTS, Results, asked_for, check_writable, write_reports


@dataclass(frozen=True)
class Settings:
    """How cases are run and judged, and what is written: the options of the command line."""

    ulp: float | None = None
    rtol: float | None = None
    atol: float | None = None
    timeout: float = 30.0
    memory: float = 4.0
    no_isolation: bool = False
    jobs: int | None = None
    repeat: int = 1
    expect: tuple[str, ...] = ()
    update_expect: bool = False
    exitfirst: bool = False
    maxfail: int | None = None
    quiet: bool = False
    verbose: bool = False
    json_file: str | None = None
    junit_file: str | None = None
    html_file: str | None = None
    markdown_file: str | None = None
    badge_file: str | None = None
    annotations_file: str | None = None

    @property
    def most_failures(self) -> float:
        """After how many cases that fail the run stops."""
        return 1 if self.exitfirst else self.maxfail or float("inf")

    @property
    def reports(self) -> dict[str, str]:
        """The reports to write, and into which files."""
        return asked_for(vars(self))

    @property
    def stops_early(self) -> bool:
        """Whether the run may stop before its end."""
        return self.exitfirst or self.maxfail is not None


@dataclass
class RunSession:
    """One ``opcheck run``."""

    sources: tuple[str, ...]
    backends: tuple[str, ...]
    selection: Selection
    settings: Settings
    executors: list[Executor] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    details: dict[str, Detail] = field(default_factory=dict)
    tally: Tally = field(default_factory=lambda: Tally(()))
    history: history.Recorder = field(default_factory=history.Recorder)
    expecting: Expecting = field(default_factory=lambda: Expecting([], (), everything=False))
    #: The number of the last case that was described in the results.
    detailed: int = -1
    failures: int = 0
    interrupted: bool = False

    #: ``compare`` keeps all outputs, to show them beside each other.
    keep_outputs = False
    displayed_by = Display

    def __post_init__(self) -> None:
        given = self.settings
        self.keeps_records = bool(given.reports)
        self.display = self.displayed_by(
            quiet=given.quiet, verbose=given.verbose, failures=not given.update_expect
        )

    def run(self) -> Status:
        """Run everything; return the exit status."""
        start = time.monotonic()
        self._check_usage()
        with self.display.reading():
            planning = plan(self.sources, self.selection, self.settings.jobs)
        problems = [as_problem(error) for error in planning.errors]
        for problem in problems:
            self.display.problem(problem)
        if not planning.cases and not problems:
            if not planning.total:
                click.echo("no case matched", err=True)
                return Status.NO_CASE
            click.echo("opcheck: all cases are in other shards", err=True)
        with ExitStack() as stack:
            try:
                for name in dict.fromkeys(self.backends):
                    self.executors.append(self._executor(name, stack))
                header = self._header(planning)
            except UnknownBackend as error:
                raise click.UsageError(str(error)) from None
            except (CannotRun, BackendFailed) as error:
                click.echo(f"opcheck: {error}", err=True)
                return Status.CANNOT_RUN
            self.expecting.versions = header.backends
            gc.freeze()  # what is imported stays: the collector need not look at it again and again
            self.tally = Tally(header.backends)
            results = stack.enter_context(Results(self.settings.json_file))
            results.write(header, *problems)
            self._run_cases(planning.cases, results)
            planned = len(planning.cases) * len(self.executors)
            footer = self._footer(problems, planned, time.monotonic() - start)
            results.write(footer)
        self.history.close()
        if self.settings.update_expect:
            rewrite(self.expecting, [case.id for case in planning.cases])
            self.failures = 0
        run = Run(header, self.records, problems, footer, self.details)
        status = self._finish(footer)
        unwritten = write_reports(run, self.settings.reports)
        for text in unwritten:
            click.echo(f"opcheck: {text}", err=True)
        return Status.USAGE if unwritten or results.problems else status

    def _check_usage(self) -> None:
        """Read the expectations; raise ``click.UsageError`` for options that do not go together."""
        given = self.settings
        if given.update_expect and not given.expect:
            raise click.UsageError("--update-expect goes with --expect FILE")
        check_writable(asked_for(vars(given), RESULTS) | given.reports)
        self.expecting = expecting(
            given.expect,
            list(dict.fromkeys(self.backends)),
            self.sources,
            everything=self.selection.everything and not given.stops_early,
            new=given.update_expect,
        )

    def _executor(self, name: str, stack: ExitStack) -> Executor:
        given = self.settings
        options = Options(given.ulp, given.rtol, given.atol, self.keep_outputs, given.timeout)
        made = make_executor(
            name,
            options,
            memory=given.memory,
            jobs=given.jobs or os.cpu_count() or 1,
            isolated=not given.no_isolation,
        )
        stack.callback(made.close)
        return made

    def _header(self, planning: Planning) -> Header:
        default = Settings()
        given = {f.name: getattr(self.settings, f.name) for f in fields(Settings)}
        return Header(
            format=FORMAT,
            opcheck=__version__,
            onnx=onnx.__version__,
            numpy=np.__version__,
            python=platform.python_version(),
            platform=platform.platform(),
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            sources=list(map(utf8, self.sources)),
            backends={e.backend: e.version() for e in self.executors},
            options={k: utf8(str(v)) for k, v in given.items() if v != getattr(default, k)},
            selection=self.selection.given,
            planned=len(planning.cases),
            total=planning.total,
        )

    def _run_cases(self, cases: Plan, results: Results) -> None:
        """Run the cases; a keyboard interrupt ends it early."""
        total = len(cases) * len(self.executors)
        try:
            with (
                self.display.running(total, self.tally.counts, self.executors),
                self._interruptible(),
            ):
                for entries in self._results(cases):
                    results.write(*entries)
        except KeyboardInterrupt:
            self.interrupted = True
        except Changed as error:
            click.echo(f"opcheck: {error}; run it again", err=True)

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """The first Ctrl-C lets what runs come to its end; the second stops at once."""

        def stop(number: int, frame: FrameType | None) -> None:
            del number, frame
            if self.interrupted:
                raise KeyboardInterrupt
            self.interrupted = True
            click.echo("opcheck: finishing what runs; Ctrl-C again stops at once", err=True)
            for executor in self.executors:
                executor.stop()

        before = signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _results(self, cases: Plan) -> Iterator[list[Detail | Record]]:
        """Return the records as they come, counted and shown, and what their cases are."""
        for i, group in enumerate(run_all(cases, self.executors, self.settings.repeat)):
            group = [self.expecting.judge(record) for record in group]
            for record in group:
                self._count(record)
                yield [*self._new_detail(cases, i, record), record]
            self.display.case(group)
            self.failures += not all(record.acceptable for record in group)
            if self.failures >= self.settings.most_failures:
                return

    def _count(self, record: Record) -> None:
        self.tally.add(record)
        self.history.add(record.case, record.outcome)
        if self.keeps_records:
            self.records.append(record)

    def _new_detail(self, cases: Plan, number: int, record: Record) -> list[Detail]:
        """Return what a case is, once, with its first record that did not pass."""
        wanted = self.settings.json_file or self.settings.html_file  # the reports that show it
        if not wanted or record.outcome is Outcome.PASSED or number == self.detailed:
            return []
        from ..harness.detail import detail
        from ..reports.page import node

        self.detailed = number
        case = cases[number].load()
        made = detail(case, node(case))
        if self.settings.html_file:
            self.details[made.case] = made
        return [made]

    def _footer(self, problems: list[Problem], planned: int, seconds: float) -> Footer:
        return self.tally.footer(
            len(problems),
            seconds,
            missing=planned - self.tally.results,
            interrupted=self.interrupted,
            unused=[] if self.settings.update_expect else self.expecting.unused(),
        )

    def _finish(self, footer: Footer) -> Status:
        unexpected = bool(self.failures or footer.missing or footer.unused)
        ctx, remembered = click.get_current_context(), self.history.works
        self.display.end(footer, unexpected, lambda case: again(ctx, case, remembered=remembered))
        return Status.INTERRUPTED if footer.interrupted else status_of(footer, unexpected)


class CompareSession(RunSession):
    """One ``opcheck compare``: the first backend is the oracle."""

    keep_outputs = True
    displayed_by = Compared


def session(kind: type[RunSession], given: dict[str, Any]) -> RunSession:
    """Make a session from the parameters of a command."""

    def taken(options: type[Any]) -> dict[str, Any]:
        return {f.name: given[f.name] for f in fields(options)}

    return kind(
        given["sources"],
        given["backends"],
        Selection(**taken(Selection)),
        Settings(**taken(Settings)),
    )
