"""Generated Python code: its lines, its globals, and which line belongs to which node."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .compiler import Program, Step
from .plain import LABELS, check_count, check_types
from .tensor import identity
from .valuetype import as_array


class Code:
    """A function while it is written.

    ``body_class`` makes a graph attribute callable, and ``make`` the maker of a local function.
    """

    def __init__(self, body_class: type, make: Callable[[Program], Any]) -> None:
        self.globals: dict[str, Any] = {
            "ndarray": np.ndarray, "now": time.monotonic, "single": _single, "several": _several,
            "check_types": check_types, "StraightBody": body_class,
        }  # fmt: skip
        self._make = make
        self._labels: dict[int, str] = {}
        self._lines: list[str] = []

    def line(self, depth: int, text: str, label: str = "") -> None:
        """Write a line, of the node with this label."""
        self._lines.append("    " * depth + text)
        if label:
            self._labels[len(self._lines)] = label

    def function(self, name: str) -> Any:
        """Return a function of the code."""
        self.globals[LABELS] = self._labels
        exec(compile("\n".join(self._lines), "<model>", "exec"), self.globals)
        return self.globals[name]

    def local_function(self, depth: int, key: str, step: Step) -> None:
        """Write what has to stand before the first call of a local function."""
        if step.callee is not None:
            self.globals[f"make{key}"] = self._make(step.callee)
            self.line(depth, f"f{key}, _ = make{key}(deadline, ())")

    def step(
        self,
        depth: int,
        key: str,
        step: Step,
        arguments: Sequence[str],
        outputs: Sequence[str],
        captured: Mapping[str, Sequence[str]],
    ) -> None:
        """Write one node.

        Args: key, what its names end in; arguments and outputs, variables, an output that is left
        out is ``_``; captured, the variables that each body reads.
        """
        label = step.label
        if step.unchecked:
            self.globals[f"step{key}"] = step
            self.line(depth, f"check_types(step{key}, {_tuple(arguments)})", label)
        single = len(outputs) == 1 and outputs[0] != "_"
        if single and step.function is identity:
            self.line(depth, f"{outputs[0]} = {arguments[0]}", label)
            return
        call = self._call(key, step, arguments, captured)
        if single:
            name = outputs[0]
            self.line(depth, f"{name} = {call}", label)
            self.line(depth, f"if type({name}) is not ndarray: {name} = single({name})", label)
        else:
            self.globals[f"step{key}"] = step
            assigned = "".join(f"{name}, " for name in outputs) + "= " if outputs else ""
            self.line(depth, f"{assigned}several(step{key}, {call})", label)

    def _call(
        self,
        key: str,
        step: Step,
        arguments: Sequence[str],
        captured: Mapping[str, Sequence[str]],
    ) -> str:
        """Return the call of a kernel, or of a local function."""
        if step.callee is not None:
            missing = len(step.callee.inputs) - len(arguments)
            return f"f{key}({', '.join([*arguments, *['None'] * missing])})"
        self.globals[f"k{key}"] = kernel_of(step)
        for name, body in step.bodies.items():
            self.globals[f"body{key}_{name}"] = body
            values = _tuple(captured[name])
            arguments = [*arguments, f"{name}=StraightBody(body{key}_{name}, {values}, deadline)"]
        return f"k{key}({', '.join(arguments)})"


def kernel_of(step: Step) -> Callable[..., Any]:
    """Return what a node calls, as a function of its inputs and bodies."""
    function = step.function if step.direct is None else step.direct
    assert function is not None
    return functools.partial(function, **step.attributes) if step.attributes else function


def _tuple(names: Sequence[str]) -> str:
    return f"({''.join(f'{name}, ' for name in names)})"


def _single(result: Any) -> Any:
    """Return the first output of a kernel whose result is no array."""
    return as_array(result[0] if isinstance(result, tuple) else result)


def _several(step: Step, result: Any) -> list[Any]:
    """Return the outputs that a node names."""
    results = result if isinstance(result, tuple) else (result,)
    check_count(step, results)
    return [as_array(value) for value in results[: len(step.outputs)]]
