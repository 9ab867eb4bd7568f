"""Draws how cost grows, as SVG that can be read on light and on dark pages."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .text import OTHER_KEYS

#: Text and axes: a grey that both white and black leave readable.
GREY = "#808890"
COLOURS = {"opcheck": "#2f81f7", "numpy": "#d29922", "onnxruntime": "#db61a2"}
MARKERS = {"opcheck": "o", "numpy": "s", "onnxruntime": "^"}
HINT = "python -m pip install '.[benchmarks]'"


class NoMatplotlib(Exception):
    """The extra is not installed."""


def digest(entry: dict[str, Any]) -> str:
    """Return what a plot carries of the numbers that it was drawn from."""
    return hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()[:16]


def require() -> None:
    """Raise ``NoMatplotlib`` where nothing can be drawn; import nothing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise NoMatplotlib(f"plots need matplotlib: {HINT}")


def draw(entries: Sequence[dict[str, Any]], folder: Path) -> list[Path]:
    """Draw each growth into a file of its name; raises ``NoMatplotlib``."""
    require()
    import matplotlib as mpl

    mpl.use("svg")
    folder.mkdir(parents=True, exist_ok=True)
    style = {
        "svg.fonttype": "none",
        "svg.hashsalt": "opcheck",
        "font.family": "sans-serif",
        "font.size": 11,
        "text.color": GREY,
        "axes.labelcolor": GREY,
        "axes.edgecolor": GREY,
        "xtick.color": GREY,
        "ytick.color": GREY,
        "legend.labelcolor": GREY,
    }
    paths = []
    with mpl.rc_context(style):
        for entry in entries:
            paths.append(folder / f"{entry['name']}.svg")
            _draw(entry, paths[-1])
    return paths


def series(entry: dict[str, Any]) -> dict[str, tuple[list[int], list[float]]]:
    """Return sizes and seconds by name, without what failed and without memory."""
    found: dict[str, tuple[list[int], list[float]]] = {}
    for row in entry["rows"]:
        for name, value in row.items():
            if name not in OTHER_KEYS and not name.endswith("memory"):
                sizes, values = found.setdefault(name, ([], []))
                sizes.append(row["size"])
                values.append(value)
    return found


def _draw(entry: dict[str, Any], path: Path) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    for name, (sizes, values) in series(entry).items():
        axes.plot(sizes, values, color=COLOURS[name], marker=MARKERS[name], label=name)
    sizes = [row["size"] for row in entry["rows"]]
    if max(sizes) > 10:
        axes.set_xscale("log")
        axes.set_yscale("log")
    else:
        axes.set_xticks(sizes)
        axes.set_ylim(bottom=0)
        axes.ticklabel_format(axis="y", scilimits=(0, 0))
    axes.minorticks_off()
    axes.set_xlabel(entry["along"])
    axes.set_ylabel(entry["per"])
    axes.grid(color=GREY, alpha=0.25, linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(frameon=False)
    metadata = {"Date": None, "Creator": None, "Description": f"drawn from {digest(entry)}"}
    figure.savefig(path, format="svg", transparent=True, metadata=metadata)
    pyplot.close(figure)
