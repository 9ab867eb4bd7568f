"""Each kernel, changed in a visible way, makes a bundled case fail.

``python tests/cases/test_mutation.py [Operator...]`` prints the changes that survive.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import onnx.defs
import pytest
from onnx import AttributeProto, GraphProto

from opcheck.backends.builtin import Builtin
from opcheck.harness.case import Case
from opcheck.harness.judge import Options, run_case
from opcheck.harness.randomness import RANDOM
from opcheck.harness.record import Outcome
from opcheck.harness.sources import load_all
from opcheck.kernels import registry

Key = tuple[str, str, int]


def element(value: Any, place: int) -> Any:
    """Change one element of a value: the first or the last."""
    if isinstance(value, list):
        if not value:
            return value
        changed = list(value)
        changed[place] = element(changed[place], place)
        return changed
    if isinstance(value, dict):
        return {k: v + type(v)(1) if not isinstance(v, str) else v + "x" for k, v in value.items()}
    if value is None or not np.asarray(value).size:
        return value
    changed = np.array(value, order="C")
    flat = changed.reshape(-1)
    old = flat[place]
    if changed.dtype == object:
        flat[place] = f"{old}x"
    elif changed.dtype == bool:
        flat[place] = not old
    elif np.isnan(np.asarray(old, np.complex128)) or np.isinf(np.asarray(old, np.complex128)):
        flat[place] = 0
    else:
        step = np.asarray(1).astype(changed.dtype)
        flat[place] = old + step if old + step != old else old / np.asarray(2).astype(changed.dtype)
        if flat[place] == old:
            flat[place] = step
    return changed


def dtype(value: Any) -> Any:
    """Give another element type."""
    if not isinstance(value, np.ndarray):
        return [] if isinstance(value, list) and value else value
    if value.dtype == object:
        return np.zeros(value.shape, np.int64)
    return value.astype(np.int64 if value.dtype != np.int64 else np.int32)


def shape(value: Any) -> Any:
    """Give another shape."""
    if not isinstance(value, np.ndarray):
        return [*value, *(value[:1] or [np.zeros(1)])] if isinstance(value, list) else value
    return value.reshape((1, *value.shape))


def every_element(value: Any) -> Any:
    """Change all elements, or every second truth value: of random numbers, one is not visible."""
    if value.dtype == bool:
        return value ^ (np.arange(value.size) % 2 == 0).reshape(value.shape)
    return value + np.asarray(3).astype(value.dtype)


CHANGES: dict[str, Callable[[Any], Any]] = {
    "every element": every_element,
    "first element": lambda v: element(v, 0),
    "last element": lambda v: element(v, -1),
    "dtype": dtype,
    "shape": shape,
}


ONE_ELEMENT = ("first element", "last element")


def changed(function: Callable[..., Any], place: int, change: Callable[[Any], Any]) -> Any:
    """Return a kernel that is wrong in one output."""

    def wrong(*arguments: Any, **keywords: Any) -> Any:
        result = function(*arguments, **keywords)
        outputs = list(result) if isinstance(result, tuple) else [result]
        if place < len(outputs):
            outputs[place] = change(outputs[place])
        return tuple(outputs)

    return wrong


def used(graph: GraphProto, opsets: dict[str, int]) -> Iterator[Key]:
    """Return the schemas of all nodes of a graph."""
    for node in graph.node:
        domain = "" if node.domain == "ai.onnx" else node.domain
        if onnx.defs.has(node.op_type, opsets.get(domain, 0), domain):
            schema = onnx.defs.get_schema(node.op_type, opsets[domain], domain)
            yield schema.domain, schema.name, schema.since_version
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from used(attribute.g, opsets)


def cases_by_schema() -> dict[Key, list[Case]]:
    """Return the bundled cases that use each schema, those of the operator itself first."""
    found: dict[Key, list[Case]] = defaultdict(list)
    for case in load_all([]).cases:
        model = case.call.model
        opsets = {"" if o.domain == "ai.onnx" else o.domain: o.version for o in model.opset_import}
        for key in set(used(model.graph, opsets)):
            found[key].append(case)
    for key, cases in found.items():
        cases.sort(key=lambda case: (case.operator != key[1], len(case.output_names) < 2))
    return found


def caught(cases: list[Case], backend: Builtin) -> bool:
    """Tell whether a case fails."""
    return any(run_case(c, backend, Options()).outcome is not Outcome.PASSED for c in cases)


def survivors(key: Key, cases: list[Case]) -> list[str]:
    """Return the changes of one kernel that no case notices."""
    domain, operator, version = key
    schema = onnx.defs.get_schema(operator, version, domain)
    if schema.deprecated:  # a model with such a node is refused before anything runs
        return []
    kernel = registry._kernels[key]
    backend = Builtin()
    left = []
    for place in range(len(schema.outputs)):
        for name, change in CHANGES.items():
            if operator == "SequenceEmpty" and name != "shape":
                continue  # it has no elements
            if (name in ONE_ELEMENT) == (operator in RANDOM) and name not in ("dtype", "shape"):
                continue
            wrong = changed(kernel.function, place, change)
            registry._kernels[key] = replace(kernel, function=wrong, direct=None)
            try:
                if not caught(cases, backend):
                    left.append(f"{operator}-{version}, output {place}: {name}")
            finally:
                registry._kernels[key] = kernel
    return left


BY_SCHEMA = cases_by_schema()


@pytest.mark.parametrize("operator", sorted({(d, o) for d, o, _ in registry.registered()}), ids=str)
def test_a_change_of_a_kernel_is_noticed(operator):
    """Of every version, every output: its first and last element, its dtype, its shape."""
    keys = sorted(key for key in registry.registered() if key[:2] == operator)
    assert [line for key in keys for line in survivors(key, BY_SCHEMA[key])] == []


if __name__ == "__main__":
    for key in sorted(registry.registered()):
        if len(sys.argv) == 1 or key[1] in sys.argv[1:]:
            for line in survivors(key, BY_SCHEMA[key]):
                print(line)
