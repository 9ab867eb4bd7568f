"""The types that a case file decodes to.

These types are the format: msgspec decodes with them and refuses what does not fit.
What a single type cannot say (a shape that does not fit its data, say) is checked where the
case is built.
"""

from __future__ import annotations

from typing import Any

import msgspec


class ErrorSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``error:`` the model must be rejected; ``match`` binds the built-in backend's message."""

    phase: str = ""
    match: str = ""


class ToleranceSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """``tolerance:`` how far an output may be from its literal; ``outputs`` sets it per output."""

    ulp: float | None = None
    rtol: float | None = None
    atol: float | None = None
    signed_zero: bool | None = None
    outputs: dict[str, ToleranceSpec] | None = None


class ValueSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One value: a tensor, a sequence, an optional or a map."""

    dtype: str | None = None
    shape: list[int | None] | None = None
    data: Any = msgspec.UNSET
    bits: Any = msgspec.UNSET
    fill: Any = msgspec.UNSET
    npy: str | None = None
    sequence: list[ValueSpec] | None = None
    optional: ValueSpec | msgspec.UnsetType | None = msgspec.UNSET
    map: dict[str | int, Any] | None = None


class Alternative(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One entry of ``any_of:``."""

    outputs: dict[str, ValueSpec] | None = None
    error: bool | ErrorSpec | None = None
    why: str = ""


class CaseSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One entry of ``cases:``."""

    name: str
    why: str = ""
    spec: str = ""
    operator: str | None = None
    opset: int | str | list[int] | None = None
    types: dict[str, list[str]] | None = None
    node: str | None = None
    model: str | None = None
    model_file: str | None = None
    attributes: dict[str, Any] | None = None
    inputs: dict[str, ValueSpec] | None = None
    outputs: dict[str, ValueSpec] | None = None
    error: bool | ErrorSpec | None = None
    any_of: list[Alternative] | None = None
    tolerance: ToleranceSpec | None = None


class FileSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A case file: what its cases share, and the cases, which are decoded one by one."""

    cases: list[Any]
    operator: str | None = None
    opset: int | str | list[int] | None = None
    spec: str = ""


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
