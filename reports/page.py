"""One case as its specification page would show it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..harness.case import Case, Expected, MustFail
from ..harness.compare import describe_expected
from ..harness.dtypes import type_text
from ..harness.nodes import literal


def page(case: Case) -> str:
    """Return the node, the inputs and the outputs of a case in the layout of the pages."""
    lines = [*_node(case), "", *_inputs(case), *_outputs(case)]
    return "\n".join(lines)


def node(case: Case) -> str:
    """Return the node of a case in the same layout, with its bodies below it."""
    lines = _node(case)
    for name, text in bodies(case):
        lines += ["", f"{name}:", *(f"  {line}" for line in text.splitlines())]
    return "\n".join(lines)


def _node(case: Case) -> list[str]:
    if not case.node:
        text = case.model_text.strip() or "(a model file)"
        return ["Model:", *(f"  {line}" for line in text.splitlines())]
    lines = ["Node:", f"  {case.node}"]
    schema_graphs = [a.name for a in case.call.model.graph.node[0].attribute if a.HasField("g")]
    if case.attributes:
        lines.append("  Attributes:")
    for name in sorted(case.attributes):
        shown = "<subgraph>" if name in schema_graphs else literal(case.attributes[name])
        lines.append(f"    {name} = {shown}")
    return lines


def bodies(case: Case) -> list[tuple[str, str]]:
    """Return the bodies of a case in ONNX's text syntax, by attribute."""
    if not case.node:
        return []
    graphs = [a.name for a in case.call.model.graph.node[0].attribute if a.HasField("g")]
    return [(name, str(case.attributes[name]).rstrip()) for name in graphs]


def _inputs(case: Case) -> list[str]:
    if not case.call.inputs:
        return []
    lines = ["Inputs:"]
    for name, value in case.call.inputs.items():
        lines += value_lines(name, value, 2)
    return [*lines, ""]


def _outputs(case: Case) -> list[str]:
    lines: list[str] = []
    for i, alternative in enumerate(case.alternatives):
        lines += ["or", ""] if i else []
        if isinstance(alternative, MustFail):
            lines += ["An error: the model must be rejected.", ""]
            continue
        lines.append("Outputs:")
        for name, expected in zip(case.output_names, alternative, strict=True):
            lines += expected_lines(name, expected, 2)
        lines.append("")
    return lines[:-1]


def value_lines(name: str, value: Any, indent: int) -> list[str]:
    """Return an input: its name, shape and dtype, and the elements below it."""
    pad = " " * indent
    if isinstance(value, np.ndarray):
        head = f"{pad}{name}: shape={_tuple(value.shape)}, dtype={_dtype(value)}"
        return [head, *(f"{pad}  {line}" for line in array_text(value).splitlines())]
    if isinstance(value, list):
        lines = [f"{pad}{name}: a sequence of {len(value)}"]
        for i, item in enumerate(value):
            lines += value_lines(f"[{i}]", item, indent + 2)
        return lines
    shown = "an empty optional" if value is None else repr(value)
    return [f"{pad}{name}: {shown}"]


def expected_lines(name: str, expected: Expected, indent: int) -> list[str]:
    """Return an output in the same layout; ``*`` stands for an undefined element."""
    pad = " " * indent
    if expected.kind == "tensor":
        if expected.value is None:
            return [f"{pad}{name}: {describe_expected(expected)}, any values"]
        if expected.undefined is None:
            return value_lines(name, expected.value, indent)
        shown = np.where(expected.undefined, "*", expected.value.astype(str).astype(object))
        dtype = type_text(expected.type)
        text = np.array2string(shown, separator=", ", formatter={"all": str})
        lines = [f"{pad}{name}: shape={_tuple(expected.shape)}, dtype={dtype}"]
        return [
            *lines,
            *(f"{pad}  {line}" for line in text.splitlines()),
            f"{pad}  (* is undefined)",
        ]
    if expected.kind == "sequence":
        lines = [f"{pad}{name}: {describe_expected(expected)}"]
        for i, item in enumerate(expected.items):
            lines += expected_lines(f"[{i}]", item, indent + 2)
        return lines
    if expected.kind == "optional" and expected.items:
        return expected_lines(name, expected.items[0], indent)
    if expected.kind == "map":
        values = {k: i.value for k, i in zip(expected.keys, expected.items, strict=True)}
        return [f"{pad}{name}: {values}"]
    return [f"{pad}{name}: an empty optional"]


def array_text(value: np.ndarray[Any, Any]) -> str:
    """Print an array as NumPy does, in full and with commas."""
    with np.printoptions(threshold=1000, linewidth=75):
        return "[]" if value.size == 0 else np.array2string(value, separator=", ")


def _tuple(shape: Any) -> str:
    return str(tuple(shape))


def _dtype(value: np.ndarray[Any, Any]) -> str:
    return "string" if value.dtype == np.dtype(object) else value.dtype.name
