"""``opcheck backends``."""

from __future__ import annotations

import click

#: Kinds that are nothing without an argument, and cannot be started to ask for a version.
NEED_ARGUMENT = ("command", "onnx-backend")
#: What is wrong with a backend whose package is not installed.
MISSING = "not installed"


@click.command()
@click.option(
    "--check",
    metavar="command:PROGRAM",
    help="Run a program that speaks the command protocol through good and evil cases.",
)
@click.pass_context
def backends(ctx: click.Context, /, check: str | None) -> None:
    """List the backends: whether each can run here, its version, how to install it."""
    from .status import Status

    if check is not None:
        ctx.exit(_check(check))
    from ..backends import KINDS, third_party
    from ..reports.text import columns

    rows = [["backend", "here", "version", "about, or how to install"]]
    for name in [*KINDS, *sorted(third_party())]:
        kind = KINDS.get(name)
        about = kind.about if kind else "from another package"
        if name in NEED_ARGUMENT:
            rows.append([name, "yes", "", about])
            continue
        version, problem = _version(name)
        if not problem:
            rows.append([name, "yes", version, about])
        elif kind is not None and problem is MISSING:
            rows.append([name, "no", "", f"python -m {kind.install}"])
        else:
            rows.append([name, "no", "", problem])
    for line in columns(rows, left=4, longest=100):
        click.echo(line)
    ctx.exit(Status.FINE)


def _version(name: str) -> tuple[str, str]:
    """Return a backend's version, or why it cannot run; a runtime is only started in a worker."""
    from ..backends import FACTORY, CannotRun, check
    from ..harness.judge import Options
    from ..harness.workers import BackendFailed, Workers

    try:
        check(name)
    except CannotRun:
        return "", MISSING
    workers = Workers(FACTORY, name, Options(), jobs=1)
    try:
        return workers.version(), ""
    except BackendFailed as error:
        return "", str(error)
    finally:
        workers.close()


def _check(name: str) -> int:
    """Check an implementation of the command protocol; return the exit status."""
    from ..backends.command_check import iterate
    from .status import Status

    kind, _, command = name.partition(":")
    if kind != "command" or not command:
        raise click.UsageError(f"--check: seen {name!r}, wanted command:PROGRAM ARGS")
    counts: dict[str, int] = {}
    try:
        for result in iterate(command):
            counts[result.outcome] = counts.get(result.outcome, 0) + 1
            click.echo(f"{result.outcome:12} {result.name}: {result.seen}")
            if result.outcome == "fault":
                click.echo(f"{'':12} wanted: {result.wanted}")
    except ValueError as error:
        click.echo(f"opcheck: {error}", err=True)
        return Status.CANNOT_RUN
    click.echo(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return Status.UNEXPECTED if counts.get("fault") else Status.FINE
