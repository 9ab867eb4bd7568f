"""What a case is: a model with inputs, and what must come out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TypeProto

#: A tensor is an array, a sequence a list, an optional its value or ``None``, a map a dict.
Value = Any


@dataclass(frozen=True, slots=True)
class Expected:
    """What one output must be.

    ``kind`` is ``tensor``, ``sequence``, ``optional`` or ``map``.
    A tensor has ``value``, or only a dtype and a ``shape`` with ``None`` for any size.
    ``undefined`` marks the elements that the specification leaves undefined.
    A sequence has ``items``, a filled optional one item, a map its values beside ``keys``.
    """

    kind: str
    type: TypeProto
    dtype: np.dtype[Any] | None = None
    shape: tuple[int | None, ...] = ()
    value: NDArray[Any] | None = None
    undefined: NDArray[np.bool_] | None = None
    items: tuple[Expected, ...] = ()
    keys: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class MustFail:
    """The model must be rejected; ``phase`` and ``match`` bind the built-in backend only."""

    phase: str = ""
    match: str = ""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a float may be from its literal.

    An element is accepted when it is within ``ulp`` steps, or when rtol and atol are given and
    ``abs(got - expected) <= atol + rtol * abs(expected)``.
    With ``pairs`` the last axis holds a real and an imaginary part, and this is said of the complex
    number.
    """

    ulp: float | None = None
    rtol: float | None = None
    atol: float | None = None
    signed_zero: bool = False
    pairs: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """What a backend is given: a model and inputs by name, and never what is expected."""

    model: ModelProto
    inputs: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What is known of a case in one variant without reading its model and values."""

    file: str
    line: int
    name: str
    variant: str
    operator: str
    domain: str
    opset: int
    since_version: int
    dtypes: frozenset[str] = frozenset()
    why: str = ""

    @property
    def title(self) -> str:
        """Name and variant."""
        return f"{self.name}[{self.variant}]" if self.variant else self.name

    @property
    def id(self) -> str:
        """File and title."""
        return f"{self.file}::{self.title}"

    @abstractmethod
    def load(self) -> Case:
        """Return the whole case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case(Planned):
    """One case in one variant."""

    call: Call
    output_names: tuple[str, ...]
    #: The case passes when one of these holds: the outputs in order, or ``MustFail``.
    alternatives: tuple[tuple[Expected, ...] | MustFail, ...]
    spec: str = ""
    node: str = ""
    #: The attributes as written, type parameters in the text of graphs replaced.
    attributes: Mapping[str, Any] = field(default_factory=dict)
    model_text: str = ""
    tolerances: Mapping[str, Tolerance] = field(default_factory=dict)

    def load(self) -> Case:
        """Return the case itself."""
        return self
