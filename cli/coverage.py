"""``opcheck coverage``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from . import options

if TYPE_CHECKING:
    import onnx.defs

    from ..harness.coverage import Coverage
    from ..harness.plan import Plan


@click.command()
@options.sources
@click.option(
    "--by",
    type=click.Choice(["operator", "family", "opset"]),
    default="family",
    show_default=True,
    help="What a row of the table stands for.",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["table", "json", "markdown", "html"]),
    default="table",
    show_default=True,
    help="What to write.",
)
@click.option("--missing", is_flag=True, help="Write a case file of stubs for what has no case.")
@click.option(
    "--output",
    type=click.Path(dir_okay=False, writable=True),
    metavar="FILE",
    help="Write into a file.",
)
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit with status 1 when fewer of the signatures have a case.",
)
@click.option(
    "--results",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="Count what passes in a result file of --json, per backend.",
)
@click.option("--op", "operators", multiple=True, metavar="NAME", help="Only this operator.")
@click.option("--domain", "domains", multiple=True, metavar="NAME", help="Only this domain.")
@click.option(
    "--opset",
    type=click.IntRange(min=1),
    metavar="N",
    help="Only the versions in force at opset N, of ai.onnx without --domain.",
)
@click.pass_context
def coverage(
    ctx: click.Context,
    /,
    sources: tuple[str, ...],
    by: str,
    kind: str,
    missing: bool,
    output: str | None,
    fail_under: float | None,
    results: tuple[str, ...],
    operators: tuple[str, ...],
    domains: tuple[str, ...],
    opset: int | None,
) -> None:  # fmt: skip
    """Tell which types of which operators have a case, and what else of them occurs."""
    from ..harness.coverage import total
    from .loading import plan, print_problems
    from .status import Status
    from .writing import written

    if missing and kind != "table":
        raise click.UsageError("--missing writes YAML; leave --format out")
    schemas = _schemas(operators, domains, opset)
    planning = plan(sources)
    found = _measured(schemas, planning.cases, results)
    text = _rendered(found, by, "missing" if missing else kind, detailed=bool(operators))
    written(text, output)
    print_problems(planning)
    signatures = total(found).signatures
    if planning.errors:
        ctx.exit(Status.USAGE)
    if fail_under is not None and 100 * signatures.share < fail_under:
        said = f"{signatures.percent} of the signatures have a case, wanted {fail_under:g}%"
        click.echo(f"coverage: {said}; --missing writes stubs for the others", err=True)
        ctx.exit(Status.UNEXPECTED)


def _schemas(
    operators: tuple[str, ...], domains: tuple[str, ...], opset: int | None
) -> list[onnx.defs.OpSchema]:
    """Return the schemas that are asked for; raises ``click.UsageError`` where there are none."""
    from difflib import get_close_matches

    from ..harness.signatures import full_name, in_force, schemas_with_signatures

    found = schemas_with_signatures()
    known = sorted({schema.domain or "ai.onnx" for schema in found})
    for name in domains:
        if name not in known:
            raise click.UsageError(f"--domain: there is no {name!r}, only {', '.join(known)}")
    if domains or opset is not None:
        wanted = domains or ("ai.onnx",)
        found = [s for s in found if (s.domain or "ai.onnx") in wanted]
    names = {name.lower(): s.name for s in found for name in (s.name, full_name(s))}
    for name in operators:
        if name.lower() not in names:
            near = get_close_matches(name.lower(), names, n=1)
            hint = f"; did you mean {names[near[0]]}?" if near else ""
            raise click.UsageError(f"--op: onnx has no operator {name!r} there{hint}")
    if operators:
        wanted = tuple(map(str.lower, operators))
        found = [s for s in found if {s.name.lower(), full_name(s).lower()} & set(wanted)]
    found = found if opset is None else [s for s in found if in_force(s, opset)]
    if not found:
        raise click.UsageError(f"no operator is in force at opset {opset}")
    return found


def _measured(schemas: list[onnx.defs.OpSchema], cases: Plan, results: tuple[str, ...]) -> Coverage:
    import os
    from pathlib import Path

    from ..harness import history
    from ..harness.coverage import measure
    from ..harness.facts import facts_of_plan
    from ..harness.record import Outcome

    passed: dict[str, set[str]] = {}
    judged: set[tuple[str, str]] = set()
    for path in results:
        try:
            for record in history.records(Path(path)):
                judged.add((record.backend, record.case))
                ids = passed.setdefault(record.backend, set())
                if record.outcome is Outcome.PASSED:
                    ids.add(record.case)
        except history.NoHistory as error:
            raise click.UsageError(str(error)) from None
    facts = list(facts_of_plan(cases, os.cpu_count() or 1))
    known = {case_id for case_id, _, _ in facts}
    strangers = sum(case not in known for _, case in judged)
    return measure(schemas, facts, passed, strangers)


def _rendered(found: Coverage, by: str, kind: str, *, detailed: bool) -> str:
    from ..reports import coverage as reports
    from ..reports.coverage_html import page
    from ..reports.coverage_stubs import stubs

    if kind == "missing":
        return stubs(found)
    if kind == "table":
        import shutil

        table = reports.table(found, by, shutil.get_terminal_size().columns)
        return f"{table}\n{reports.details(found)}" if detailed else table
    render = {"json": reports.json, "markdown": reports.markdown, "html": page}[kind]
    return render(found, by)
