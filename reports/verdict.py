"""What a run came to: its totals, and whether it went as expected."""

from __future__ import annotations

from ..harness.record import Outcome, Record, Run


def unexpected(run: Run) -> list[Record]:
    """Return the results that fail the run."""
    return [record for record in run.records if not record.acceptable]


def totals(run: Run) -> dict[str, dict[Outcome, int]]:
    """Count the results by backend and outcome, in the order of the header and of ``Outcome``."""
    counts = {backend: dict.fromkeys(Outcome, 0) for backend in run.header.backends}
    for record in run.records:
        counts.setdefault(record.backend, dict.fromkeys(Outcome, 0))[record.outcome] += 1
    return counts


def incomplete(run: Run) -> str:
    """Say in words that results are missing; empty for a run that came to its end."""
    said = ["the run was interrupted"] if run.footer.interrupted else []
    if run.footer.missing:
        said.append(count(run.footer.missing, "result is missing", "results are missing"))
    return ", ".join(said)


def faults(run: Run) -> list[str]:
    """Return each reason why the run fails, in words; none for one that went as expected."""
    bad, wrong, unused = len(run.problems), len(unexpected(run)), len(run.footer.unused)
    said = [incomplete(run)] if incomplete(run) else []
    if bad:
        said.append(count(bad, "bad case", "bad cases"))
    if wrong:
        said.append(count(wrong, "unexpected result", "unexpected results"))
    if unused:
        said.append(count(unused, "expectation without effect", "expectations without effect"))
    return said


def verdict(run: Run) -> str:
    """Say in one line how the run went."""
    if said := faults(run):
        return ", ".join(said)
    passed = sum(by[Outcome.PASSED] for by in totals(run).values())
    if not run.records:
        return "no results"
    return f"all {len(run.records):,} {'passed' if passed == len(run.records) else 'as expected'}"


def count(number: int, one: str, many: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many}"
