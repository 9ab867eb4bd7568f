"""What ``run`` and ``compare`` do: run cases, show and write results, decide the status."""

from __future__ import annotations

import os
import platform
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from types import FrameType
from typing import IO, Any

import click
import numpy as np
import onnx
from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .. import __version__
from ..backends import FACTORY, CannotRun, UnknownBackend, check, create, create_here
from ..harness import history
from ..harness.detail import detail
from ..harness.filecache import Changed
from ..harness.judge import Options
from ..harness.plan import Plan
from ..harness.record import FORMAT, Detail, Footer, Header, Outcome, Problem, Record, Run
from ..harness.runner import Executor, Here, run_all
from ..harness.workers import BackendFailed, Workers
from ..reports import jsonl, terminal
from ..reports.page import node
from .expecting import Expecting, expecting
from .loading import Selection, Status, as_problem, plan
from .writing import REPORTS, opened, write_reports

#: With fewer cases there is no progress bar.
MANY = 50


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

    @property
    def most_failures(self) -> float:
        """After how many cases that fail the run stops."""
        return 1 if self.exitfirst else self.maxfail or float("inf")

    @property
    def reports(self) -> dict[str, str]:
        """The reports to write, and into which files."""
        files = {kind: getattr(self, f"{kind}_file") for kind in REPORTS}
        return {kind: path for kind, path in files.items() if path}

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
    console: Console = field(default_factory=lambda: Console(highlight=False, emoji=False))
    executors: list[Executor] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    details: dict[str, Detail] = field(default_factory=dict)
    counts: dict[str, dict[Outcome, int]] = field(default_factory=dict)
    by_operator: dict[tuple[str, str], dict[Outcome, int]] = field(default_factory=dict)
    history: history.Recorder = field(default_factory=history.Recorder)
    expecting: Expecting = field(default_factory=lambda: Expecting([], (), everything=False))
    #: The number of the last case that was described in the results.
    detailed: int = -1
    failures: int = 0
    known: int = 0
    flaky: int = 0
    interrupted: bool = False

    #: ``compare`` keeps all outputs, to show them beside each other.
    keep_outputs = False

    def run(self) -> Status:
        """Run everything; return the exit status."""
        start = time.monotonic()
        self._check_usage()
        planning = plan(self.sources, self.selection, self.settings.jobs)
        problems = [as_problem(error) for error in planning.errors]
        for problem in problems:
            self._print(terminal.problem(problem))
        if not planning.cases and not problems:
            click.echo("no case matched", err=True)
            return Status.NO_CASE
        with ExitStack() as stack:
            try:
                for name in dict.fromkeys(self.backends):
                    self.executors.append(self._executor(name, stack))
                header = self._header()
            except UnknownBackend as error:
                raise click.UsageError(str(error)) from None
            except (CannotRun, BackendFailed) as error:
                click.echo(f"opcheck: {error}", err=True)
                return Status.CANNOT_RUN
            self.expecting.versions = header.backends
            self.counts = {e.backend: dict.fromkeys(Outcome, 0) for e in self.executors}
            path = self.settings.json_file
            out = stack.enter_context(opened(path)) if path else None
            _write(out, header, *problems)
            self._run_cases(planning.cases, out)
            planned = len(planning.cases) * len(self.executors)
            footer = self._footer(problems, planned, time.monotonic() - start)
            _write(out, footer)
        self.history.close()
        if self.settings.update_expect:
            self.expecting.update([case.id for case in planning.cases])
            self.failures = 0
        run = Run(header, self.records, problems, footer, self.details)
        write_reports(run, self.settings.reports)
        return self._finish(footer)

    def _check_usage(self) -> None:
        """Read the expectations; raise ``click.UsageError`` for options that do not go together."""
        given = self.settings
        if given.update_expect and not given.expect:
            raise click.UsageError("--update-expect goes with --expect FILE")
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
        memory = int(given.memory * 2**30) or None
        backend = create_here(name, given.timeout, memory)
        if backend is None and given.no_isolation:
            backend = create(name)
        if backend is not None:
            return Here(backend, options)
        check(name)
        workers = Workers(FACTORY, name, options, given.jobs or os.cpu_count() or 1, memory)
        stack.callback(workers.close)
        return workers

    def _header(self) -> Header:
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
            sources=list(self.sources),
            backends={e.backend: e.version() for e in self.executors},
            options={k: str(v) for k, v in given.items() if v != getattr(default, k)},
        )

    def _run_cases(self, cases: Plan, out: IO[str] | None) -> None:
        """Run the cases; a keyboard interrupt ends it early."""
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=self.settings.quiet or len(cases) < MANY or not self.console.is_terminal,
        )
        try:
            with bar, self._interruptible():
                task = bar.add_task("running", total=len(cases) * len(self.executors))
                for entries in self._results(cases):
                    _write(out, *entries)
                    bar.advance(task)
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
            self.show(group)
            self.failures += not all(record.acceptable for record in group)
            if self.failures >= self.settings.most_failures:
                return

    def _count(self, record: Record) -> None:
        self.counts[record.backend][record.outcome] += 1
        self.history.add(record.case, record.outcome)
        self.flaky += bool(record.flaky)
        self.known += record.known
        if self.settings.reports:
            self.records.append(record)

    def _new_detail(self, cases: Plan, number: int, record: Record) -> list[Detail]:
        """Return what a case is, once, with its first record that did not pass."""
        wanted = self.settings.json_file or self.settings.html_file  # the reports that show it
        if not wanted or record.outcome is Outcome.PASSED or number == self.detailed:
            return []
        self.detailed = number
        case = cases[number].load()
        made = detail(case, node(case))
        if self.settings.html_file:
            self.details[made.case] = made
        return [made]

    def show(self, group: list[Record]) -> None:
        """Print the results of one case."""
        for record in group:
            if self.settings.verbose:
                self._print(terminal.verbose_line(record))
            quiet = self.settings.quiet or self.settings.update_expect
            if not quiet and not record.acceptable:
                self._print(terminal.failure(record))

    def _print(self, *shown: RenderableType) -> None:
        """Print without cutting or wrapping lines that are not to be wrapped.

        The group keeps rich from joining texts to one, which would forget how each is set.
        """
        self.console.print(Group(*shown), crop=False)

    def _footer(self, problems: list[Problem], planned: int, seconds: float) -> Footer:
        totals = {
            backend: {o.value: n for o, n in by.items() if n} for backend, by in self.counts.items()
        }
        return Footer(
            totals=totals,
            problems=len(problems),
            seconds=round(seconds, 3),
            interrupted=self.interrupted,
            missing=planned - sum(sum(by.values()) for by in self.counts.values()),
            flaky=self.flaky,
            known=self.known,
            unused=[] if self.settings.update_expect else self.expecting.unused(),
        )

    def _finish(self, footer: Footer) -> Status:
        self.show_end(footer)
        unexpected = bool(self.failures or footer.missing or footer.unused)
        if footer.unused and not self.settings.quiet:
            self._print(terminal.unused(footer.unused))
        self._print(terminal.closing(footer, unexpected))
        if footer.interrupted:
            return Status.INTERRUPTED
        if footer.problems:
            return Status.USAGE
        return Status.UNEXPECTED if unexpected else Status.FINE

    def show_end(self, footer: Footer) -> None:
        """Print what stands above the closing line."""
        if len(footer.totals) > 1:
            self._print(terminal.summary_lines(footer))


class CompareSession(RunSession):
    """One ``opcheck compare``: the first backend is the oracle."""

    keep_outputs = True

    def show(self, group: list[Record]) -> None:
        """Print one case side by side on all backends."""
        for record in group:
            by = self.by_operator.setdefault((record.operator, record.backend), {})
            by[record.outcome] = by.get(record.outcome, 0) + 1
            if self.settings.verbose:
                self._print(terminal.verbose_line(record))
        if len(group) == len(self.executors) and not self.settings.quiet:
            shown = terminal.comparison(group)
            if shown is not None:
                self._print(shown)

    def show_end(self, footer: Footer) -> None:
        """Print the table by operator and the totals."""
        self._print(terminal.operator_table(self.by_operator), "")
        super().show_end(footer)


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


def _write(out: IO[str] | None, *entries: Any) -> None:
    """Write lines of the result file, each at once."""
    if out is not None:
        for entry in entries:
            out.write(jsonl.line(entry) + "\n")
        out.flush()
