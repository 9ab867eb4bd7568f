"""The types that a case file decodes to.

These types are the format: msgspec decodes with them and refuses what does not fit.
What a single type cannot say (a shape that does not fit its data, say) is checked where the
case is built.
What their descriptions and constraints say beyond the types is for the JSON Schema of the format,
see ``caseschema``; decoding does not look at it.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

#: A name of a case, which becomes a part of its id.
NAME = r"^[A-Za-z0-9_.\-]+$"
#: A range of opsets.
OPSETS = r"^\s*\d+\s*\.\.\s*\d+\s*$"
#: A node as the page of its operator prints it.
NODE = r"^\s*([\w\-]+\.)*[\w\-]+\s*\([^()]*\)\s*->\s*\([^()]*\)\s*$"
#: The name of a type parameter.
PARAMETER = r"^[A-Za-z_]\w*$"


def _is(description: str = "", **constraints: Any) -> Meta:
    """Return what the JSON Schema says of a value beside its type."""
    return Meta(description=description or None, extra_json_schema=constraints or None)


_Opset = Annotated[int, _is(minimum=1, exclusiveMaximum=2**31)]
_Opsets = (
    _Opset
    | Annotated[str, _is("A range such as 11..25: one case per opset.", pattern=OPSETS)]
    | Annotated[list[_Opset], _is("One case per opset.", minItems=1, uniqueItems=True)]
    | None
)
_Allowed = Annotated[float, _is(minimum=0)] | None
_Operator = Annotated[
    str | None, _is("The operator, with its domain where that is not ai.onnx: ai.onnx.ml.Scaler.")
]
_Spec = Annotated[str, _is("What the cases are about, for people.")]


class ErrorSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``error:`` the model must be rejected; ``match`` binds the built-in backend's message."""

    phase: Annotated[
        str, _is("When the built-in kernels must reject it.", enum=["", "load", "run"])
    ] = ""
    match: Annotated[str, _is("A regular expression found in their message.")] = ""


_Error = Annotated[bool, _is("The model must be rejected.", const=True)] | ErrorSpec | None


class ToleranceSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``tolerance:`` how far an output may be from its literal; ``outputs`` sets it per output."""

    ulp: Annotated[_Allowed, _is("Units in the last place.")] = None
    rtol: Annotated[_Allowed, _is("The relative error, as NumPy has it.")] = None
    atol: Annotated[_Allowed, _is("The absolute error, as NumPy has it.")] = None
    signed_zero: Annotated[bool | None, _is("Whether -0 and +0 differ.")] = None
    outputs: Annotated[dict[str, ToleranceSpec] | None, _is("The tolerance of single outputs.")] = (
        None
    )


class ValueSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One value: a tensor, a sequence, an optional or a map."""

    dtype: Annotated[
        str | None,
        _is("An element type, a type parameter of types, or a type such as seq(float32)."),
    ] = None
    shape: Annotated[
        list[Annotated[int, _is(minimum=0)] | None] | None,
        _is("May be left out where nested lists show it; null is any size, in outputs only."),
    ] = None
    data: Annotated[Any, _is("The elements, nested or flat; null is one not compared.")] = (
        msgspec.UNSET
    )
    bits: Annotated[Any, _is("The elements as bit patterns, such as 0x7fc0.")] = msgspec.UNSET
    fill: Annotated[Any, _is("One element that is everywhere in the shape.")] = msgspec.UNSET
    npy: Annotated[str | None, _is("A file of numpy.save below the folder of the case file.")] = (
        None
    )
    sequence: Annotated[list[ValueSpec] | None, _is("The elements of a sequence.")] = None
    optional: Annotated[
        ValueSpec | msgspec.UnsetType | None, _is("The value of an optional; null where empty.")
    ] = msgspec.UNSET
    map: Annotated[dict[str | int, Any] | None, _is("The values of a map by their keys.")] = None


class Alternative(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One entry of ``any_of:``."""

    outputs: Annotated[dict[str, ValueSpec] | None, _is("What must come out, by name.")] = None
    error: _Error = None
    why: Annotated[str, _is("Which reading of the specification this is.")] = ""


class CaseSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One entry of ``cases:``."""

    name: Annotated[str, _is("Unique in the file; letters, digits and _ . - only.", pattern=NAME)]
    why: Annotated[str, _is("Which wrong implementation the case catches.")] = ""
    spec: _Spec = ""
    operator: _Operator = None
    opset: _Opsets = None
    types: Annotated[
        dict[str, Annotated[list[str], _is(minItems=1, uniqueItems=True)]] | None,
        _is("One case per type: {T: [float32, int64]}; dtype: T refers to it."),
    ] = None
    node: Annotated[
        Annotated[str, _is(pattern=NODE)] | None,
        _is("The node as a page prints it: Loop(M, , y) -> (y_final)."),
    ] = None
    model: Annotated[str | None, _is("In place of node: a model in ONNX's text syntax.")] = None
    model_file: Annotated[
        str | None, _is("In place of node: a model file below the folder of the case file.")
    ] = None
    attributes: Annotated[
        dict[str, Any] | None, _is("The attributes of the node; a graph in ONNX's text syntax.")
    ] = None
    inputs: Annotated[dict[str, ValueSpec] | None, _is("The inputs by name.")] = None
    outputs: Annotated[dict[str, ValueSpec] | None, _is("What must come out, by name.")] = None
    error: _Error = None
    any_of: Annotated[
        Annotated[list[Alternative], _is(minItems=2)] | None,
        _is("Answers of which each is right, where the specification leaves room."),
    ] = None
    tolerance: ToleranceSpec | None = None


class FileSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A case file: what its cases share, and the cases, which are decoded one by one."""

    cases: Annotated[list[Any], _is("The cases.", items={"$ref": "#/$defs/CaseSpec"}, minItems=1)]
    operator: _Operator = None
    opset: _Opsets = None
    spec: _Spec = ""


class DataSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``opcheck.yaml`` beside ONNX test data: what their layout cannot say of a case.

    ``inputs`` names the inputs of the files, where their number does not tell.
    Without ``outputs``, ``error`` and ``any_of``, the files hold what is expected.
    """

    id: str = ""
    operator: str = ""
    opset: int = 0
    spec: str = ""
    why: str = ""
    inputs: list[str] | None = None
    outputs: dict[str, ValueSpec] | None = None
    error: bool | ErrorSpec | None = None
    any_of: list[Alternative] | None = None
    tolerance: ToleranceSpec | None = None
