"""Whether two cases are the same: model, inputs, what is expected, tolerances, bit for bit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from onnx import ModelProto

from opcheck.harness.case import Case, Expected, MustFail, Value
from opcheck.harness.dtypes import type_text
from opcheck.harness.modeltext import canonical
from opcheck.harness.spelling import same_bits


def assert_same(left: Case, right: Case, *, same_model: bool = True) -> None:
    """Fail with all that differs."""
    found = list(differences(left, right, same_model=same_model))
    assert not found, f"{left.id} and {right.id}: {'; '.join(found)}"


def differences(left: Case, right: Case, *, same_model: bool = True) -> Iterator[str]:
    """Name what differs.

    Without ``same_model``, models may differ in the types they declare for outputs, in their IR
    version and in opsets that no node needs.
    """
    for name in ("operator", "domain", "opset", "since_version", "output_names", "tolerances"):
        if getattr(left, name) != getattr(right, name):
            yield f"{name}: {getattr(left, name)!r}, {getattr(right, name)!r}"
    models = [case.call.model if same_model else without_outputs(case) for case in (left, right)]
    if canonical(models[0]) != canonical(models[1]):
        yield f"model: {models[0]}, {models[1]}"
    if list(left.call.inputs) != list(right.call.inputs):
        yield f"inputs: {list(left.call.inputs)}, {list(right.call.inputs)}"
    for name, value in left.call.inputs.items():
        if not same_value(value, right.call.inputs[name]):
            yield f"input {name}: {value!r}, {right.call.inputs[name]!r}"
    if len(left.alternatives) != len(right.alternatives):
        yield f"alternatives: {len(left.alternatives)}, {len(right.alternatives)}"
    for one, other in zip(left.alternatives, right.alternatives, strict=False):
        if isinstance(one, MustFail) or isinstance(other, MustFail):
            if one != other:
                yield f"error: {one}, {other}"
        elif len(one) != len(other):
            yield f"outputs: {len(one)}, {len(other)}"
        else:
            yield from (
                f"output: {a}, {b}"
                for a, b in zip(one, other, strict=True)
                if not same_expected(a, b)
            )


def without_outputs(case: Case) -> ModelProto:
    model = ModelProto()
    model.CopyFrom(case.call.model)
    model.ir_version = 0
    needed = {node.domain for node in model.graph.node}
    opsets = [o for o in model.opset_import if o.domain in needed]
    del model.opset_import[:]
    model.opset_import.extend(opsets)
    for output in model.graph.output:
        output.ClearField("type")
    return model


def same_value(left: Value, right: Value) -> bool:
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return same_bits(left, right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same_value, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return [(k, type(v), repr(v)) for k, v in left.items()] == [
            (k, type(v), repr(v)) for k, v in right.items()
        ]
    return left is None and right is None


def same_expected(left: Expected, right: Expected) -> bool:
    heads = [(e.kind, type_text(e.type), e.dtype, e.shape, e.keys, len(e.items))
             for e in (left, right)]  # fmt: skip
    if heads[0] != heads[1]:
        return False
    if not all(map(same_expected, left.items, right.items)):
        return False
    return same_masked(left, right)


def same_masked(left: Expected, right: Expected) -> bool:
    """Compare the elements that are defined."""
    masks: list[Any] = [left.undefined, right.undefined]
    arrays = [left.value, right.value]
    if (masks[0] is None) != (masks[1] is None) or (arrays[0] is None) != (arrays[1] is None):
        return False
    if arrays[0] is None or arrays[1] is None:
        return True
    if masks[0] is None:
        return same_bits(arrays[0], arrays[1])
    same_mask = bool((masks[0] == masks[1]).all())
    return same_mask and same_bits(arrays[0][~masks[0]], arrays[1][~masks[1]])
