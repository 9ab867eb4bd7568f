"""Numbers and tables as text."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

WIDTH = 80
HEAD = ("name", "opcheck", "peer", "ratio", "at most", "")


def seconds(value: float) -> str:
    """Write a time with three digits and its unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{digits(value / size)} {unit}"
    return f"{digits(value * 1e9)} ns"


def size(value: float) -> str:
    """Write bytes with three digits and their unit."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6)):
        if value >= factor:
            return f"{digits(value / factor)} {unit}"
    return f"{digits(value / 1e3)} kB"


def digits(value: float) -> str:
    """Write a number with three digits, and without an exponent."""
    places = next((p for p, limit in ((2, 10), (1, 100)) if abs(value) < limit), 0)
    return f"{value:,.{places}f}"


def ratio(value: float) -> str:
    """Write a ratio: with two digits after the point, three where it is small."""
    return f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def quantity(value: float, unit: str) -> str:
    """Write seconds or bytes."""
    return size(value) if unit == "bytes" else seconds(value)


def cells(entry: dict[str, Any]) -> list[str]:
    """Return medians, ratio, target, and whether it is met; dashes where there is an error."""
    target = ratio(entry["target"])
    if "error" in entry:
        return ["-", "-", "-", target, "failed"]
    shown = [quantity(entry[f"{side}_median"], entry["unit"]) for side in ("ours", "peer")]
    return [*shown, ratio(entry["ratio"]), target, "met" if entry["met"] else "not met"]


def remarks(entry: dict[str, Any]) -> list[str]:
    """Return what stands beside the numbers of a benchmark."""
    lines = [entry["note"]] if entry["note"] else []
    if "above" in entry:
        taken, most = size(entry["above"]), size(entry["above_target"])
        lines.append(f"Peak memory above the data: {taken}, at most {most}.")
    return lines


def table(entries: Sequence[dict[str, Any]]) -> str:
    """Return the table of benchmarks, and below it what has to be said of them."""
    rows = [HEAD, *((entry["name"], *cells(entry)) for entry in entries)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEAD))]
    lines = []
    for name, *numbers, met in rows:
        shown = [n.rjust(w) for n, w in zip(numbers, widths[1:-1], strict=True)]
        lines.append("  ".join([name.ljust(widths[0]), *shown, met]).rstrip())
    for entry in entries:
        for text in remarks(entry):
            lines += wrap(f"{entry['name']}: {text}", WIDTH, subsequent_indent="  ")
    for entry in entries:
        lines += error_lines(entry["name"], entry)
    lines.append(closing(entries))
    return "\n".join(lines) + "\n"


def error_lines(name: str, entry: dict[str, Any]) -> list[str]:
    """Return what is said of a program that failed, if one did."""
    if "error" not in entry:
        return []
    lines = [f"{name} has no number:"]
    for text in entry["error"].splitlines():
        lines += wrap(text, WIDTH, initial_indent="  ", subsequent_indent="    ")
    return lines


def closing(entries: Sequence[dict[str, Any]]) -> str:
    """Say how many targets are met."""
    failed = sum("error" in entry for entry in entries)
    met = sum(entry.get("met", False) for entry in entries)
    return f"{met} of {len(entries)} met" + (f", {failed} without a number" if failed else "")


def growth_rows(entry: dict[str, Any]) -> list[list[str]]:
    """Return the head and the rows of a growth table."""
    names = list(dict.fromkeys(k for row in entry["rows"] for k in row if k not in OTHER_KEYS))
    rows = [[entry["along"], *names]]
    for row in entry["rows"]:
        shown = []
        for name in names:
            unit = "bytes" if name.endswith("memory") else "seconds"
            shown.append(quantity(row[name], unit) if name in row else "-")
        rows.append([f"{row['size']:,}", *shown])
    return rows


#: What is no series in the row of a growth.
OTHER_KEYS = ("size", "error")


def growth_table(entry: dict[str, Any]) -> str:
    """Return one growth as a table for the terminal."""
    rows = growth_rows(entry)
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = [entry["title"], f"({entry['per']})"]
    lines += ["  ".join(c.rjust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
    for row in entry["rows"]:
        lines += error_lines(f"{row['size']:,}", row)
    return "\n".join(lines) + "\n"
