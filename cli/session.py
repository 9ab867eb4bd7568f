"""What ``run`` and ``compare`` do: run cases, show and write results, decide the status."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

import click
import numpy as np
import onnx
from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .. import __version__
from ..backends import CannotRun, UnknownBackend, check, create, create_here
from ..harness.case import Case
from ..harness.judge import Options
from ..harness.record import FORMAT, Footer, Header, Outcome, Problem, Record, Run
from ..harness.runner import Executor, Here, run_all
from ..harness.workers import BackendFailed, Workers
from ..reports import jsonl, terminal
from ..reports.junit import junit
from .loading import Status, as_problem, load

#: The function by which worker processes make their backend.
FACTORY = f"{create.__module__}:{create.__name__}"
#: With fewer cases there is no progress bar.
MANY = 50


@dataclass
class RunSession:
    """One ``opcheck run``, with the options of the command line."""

    sources: tuple[str, ...]
    backends: tuple[str, ...]
    keyword: str
    operators: tuple[str, ...]
    opsets: tuple[int, ...]
    dtypes: tuple[str, ...]
    ulp: float | None
    rtol: float | None
    atol: float | None
    timeout: float
    jobs: int | None
    exitfirst: bool
    quiet: bool
    verbose: bool
    json_file: str | None
    junit_file: str | None
    console: Console = field(default_factory=lambda: Console(highlight=False, emoji=False))
    records: list[Record] = field(default_factory=list)
    counts: dict[str, dict[Outcome, int]] = field(default_factory=dict)
    by_operator: dict[tuple[str, str], dict[Outcome, int]] = field(default_factory=dict)
    interrupted: bool = False

    #: ``compare`` keeps all outputs, to show them beside each other.
    keep_outputs = False

    def run(self) -> Status:
        """Run everything; return the exit status."""
        start = time.monotonic()
        loaded = load(
            self.sources,
            keyword=self.keyword,
            operators=self.operators,
            opsets=self.opsets,
            dtypes=self.dtypes,
        )
        problems = [as_problem(error) for error in loaded.errors]
        for problem in problems:
            self._print(terminal.problem(problem))
        if not loaded.cases and not problems:
            click.echo("no case matched", err=True)
            return Status.NO_CASE
        with ExitStack() as stack:
            try:
                executors = [self._executor(name, stack) for name in dict.fromkeys(self.backends)]
                header = self._header(executors)
            except UnknownBackend as error:
                raise click.UsageError(str(error)) from None
            except (CannotRun, BackendFailed) as error:
                click.echo(f"opcheck: {error}", err=True)
                return Status.CANNOT_RUN
            self.counts = {e.backend: dict.fromkeys(Outcome, 0) for e in executors}
            out = stack.enter_context(_open(self.json_file)) if self.json_file else None
            _write(out, header, *problems)
            self._run_cases(loaded.cases, executors, out)
            footer = self._footer(problems, time.monotonic() - start)
            _write(out, footer)
        if self.junit_file:
            run = Run(header, self.records, problems, footer)
            with _open(self.junit_file) as file:
                file.write(junit(run))
        return self._finish(footer)

    def _executor(self, name: str, stack: ExitStack) -> Executor:
        options = Options(self.ulp, self.rtol, self.atol, self.keep_outputs, self.timeout)
        backend = create_here(name, self.timeout)
        if backend is not None:
            return Here(backend, options)
        check(name)
        workers = Workers(FACTORY, name, options, self.jobs or os.cpu_count() or 1)
        stack.callback(workers.close)
        return workers

    def _header(self, executors: list[Executor]) -> Header:
        given = {"ulp": self.ulp, "rtol": self.rtol, "atol": self.atol, "timeout": self.timeout}
        return Header(
            format=FORMAT,
            opcheck=__version__,
            onnx=onnx.__version__,
            numpy=np.__version__,
            python=platform.python_version(),
            platform=platform.platform(),
            started=datetime.now(UTC).isoformat(timespec="seconds"),
            sources=list(self.sources),
            backends={e.backend: e.version() for e in executors},
            options={k: str(v) for k, v in given.items() if v is not None},
        )

    def _run_cases(self, cases: list[Case], executors: list[Executor], out: IO[str] | None) -> None:
        """Run the cases; a keyboard interrupt ends it early."""
        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=self.quiet or len(cases) < MANY or not self.console.is_terminal,
        )
        try:
            with bar:
                task = bar.add_task("running", total=len(cases) * len(executors))
                for record in self._results(cases, executors):
                    _write(out, record)
                    bar.advance(task)
        except KeyboardInterrupt:
            self.interrupted = True

    def _results(self, cases: list[Case], executors: list[Executor]) -> Iterator[Record]:
        """Return the records as they come, counted and shown."""
        group: list[Record] = []
        for record in run_all(cases, executors):
            self.counts[record.backend][record.outcome] += 1
            if self.junit_file:
                self.records.append(record)
            yield record
            group.append(record)
            if len(group) < len(executors):
                continue
            self.show(group)
            if self.exitfirst and not all(r.acceptable for r in group):
                return
            group = []

    def show(self, group: list[Record]) -> None:
        """Print the results of one case."""
        for record in group:
            if self.verbose:
                self._print(terminal.verbose_line(record))
            if not self.quiet and not record.acceptable:
                self._print(terminal.failure(record))

    def _print(self, *shown: RenderableType) -> None:
        """Print without cutting lines that are not to be wrapped."""
        self.console.print(*shown, crop=False)

    def _footer(self, problems: list[Problem], seconds: float) -> Footer:
        totals = {
            backend: {o.value: n for o, n in by.items() if n} for backend, by in self.counts.items()
        }
        return Footer(totals, len(problems), round(seconds, 3), self.interrupted)

    def _finish(self, footer: Footer) -> Status:
        self.show_end(footer)
        fine = {o.value for o in Outcome if o in (Outcome.PASSED, Outcome.SKIPPED)}
        unexpected = sum(n for by in footer.totals.values() for o, n in by.items() if o not in fine)
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
        if self.verbose:
            for record in group:
                self._print(terminal.verbose_line(record))
        shown = terminal.comparison(group)
        if shown is not None and not self.quiet:
            self._print(shown)

    def show_end(self, footer: Footer) -> None:
        """Print the table by operator and the totals."""
        self._print(terminal.operator_table(self.by_operator), "")
        super().show_end(footer)


def _open(path: str) -> IO[str]:
    """Open a report file for writing; raises ``click.UsageError``."""
    try:
        return Path(path).open("w", encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"cannot write {path}: {error.strerror}") from None


def _write(out: IO[str] | None, *entries: Any) -> None:
    """Write lines of the result file, each at once."""
    if out is not None:
        for entry in entries:
            out.write(jsonl.line(entry) + "\n")
        out.flush()
