"""What schemas allow and cases use: (operator, since_version, type parameter, type)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

import onnx.defs

from .uses import Use

_FLOATS = ("tensor(float16)", "tensor(float)", "tensor(double)")
_BODY = "onnx's checker refuses its function body for any type but float"
#: Type parameters that cannot have all of their types in a valid model: the types that they can
#: have, and why.
_LIMITED: dict[tuple[str, str, int, str], tuple[tuple[str, ...], str]] = {
    ("", "MeanVarianceNormalization", 9, "T"): (("tensor(float)",), _BODY),
    ("", "MeanVarianceNormalization", 13, "T"): (("tensor(float)",), _BODY),
    ("", "Tile", 1, "T1"): ((), "no input or output has the type parameter T1"),
    ("ai.onnx.preview.training", "Gradient", 1, "T1"): (
        _FLOATS, "zs of other types than floats lead to no y that has a derivative",
    ),
}  # fmt: skip


class Signature(NamedTuple):
    """One type of one type parameter of one schema; the domain of ONNX's own operators is empty."""

    domain: str
    operator: str
    since_version: int
    parameter: str
    type: str


def schemas_with_signatures() -> list[onnx.defs.OpSchema]:
    """Return all schemas in all versions but deprecated ones, of which no model is valid."""
    found = [s for s in onnx.defs.get_all_schemas_with_history() if not s.deprecated]
    return sorted(found, key=lambda s: (s.domain, s.name, s.since_version))


def signatures_of_schema(schema: onnx.defs.OpSchema) -> set[Signature]:
    """Return all that a schema allows."""
    return {
        Signature(schema.domain, schema.name, schema.since_version, constraint.type_param_str, text)
        for constraint in schema.type_constraints
        for text in constraint.allowed_type_strs
    }


def signatures_of_uses(uses: Iterable[Use]) -> set[Signature]:
    """Return all that some nodes use; types that stay unknown are not among them."""
    return {
        Signature(use.domain, use.operator, use.since_version, *pair)
        for use in uses
        for pair in use.types
    }


def unreachable(signature: Signature) -> str:
    """Return why no valid model can use a signature; empty for one that can be used."""
    possible, why = _LIMITED.get(signature[:4], ((signature.type,), ""))
    return "" if signature.type in possible else why


def full_name(schema: onnx.defs.OpSchema) -> str:
    """Return the name of an operator behind that of its domain: ``ai.onnx.Add``."""
    return f"{schema.domain or 'ai.onnx'}.{schema.name}"


def in_force(schema: onnx.defs.OpSchema, opset: int) -> bool:
    """Whether an opset of its domain resolves to a schema."""
    try:
        found = onnx.defs.get_schema(schema.name, opset, schema.domain)
    except onnx.defs.SchemaError:
        return False
    return bool(found.since_version == schema.since_version)


def family(schema: onnx.defs.OpSchema) -> str:
    """Return the folder of onnx's own ``defs`` that defines a schema."""
    found = re.search(r"defs[/\\](\w+)[/\\]", schema.file)
    return found[1] if found else "other"
