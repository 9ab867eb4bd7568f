"""From loaded cases to entries of a case file, with the files that stand beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto

from .case import Case, Expected, MustFail, Tolerance
from .modeltext import as_node, model_text
from .spelling import Unspeakable, safe_name, spelled
from .testdata import main_operator, read_value

#: Tensors with more elements go to files.
INLINE = 256


@dataclass(slots=True)
class Beside:
    """The files of a case file, by their names below its folder."""

    folder: str
    inline: int = INLINE
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    models: dict[str, ModelProto] = field(default_factory=dict)

    def npy(self, name: str) -> Callable[[NDArray[Any]], str]:
        """Return what takes the arrays of a value."""

        def take(array: NDArray[Any]) -> str:
            path = self._free(name, ".npy")
            self.arrays[path] = array
            return path

        return take

    def model(self, name: str, model: ModelProto) -> str:
        """Take a model."""
        path = self._free(name, ".onnx")
        self.models[path] = model
        return path

    def _free(self, name: str, suffix: str) -> str:
        """Return a path that no other file has, on any file system."""
        taken = {path.casefold() for path in (*self.arrays, *self.models)}
        stem, number = f"{self.folder}/{safe_name(name)[:100]}", 1
        path = f"{stem}{suffix}"
        while path.casefold() in taken:
            number += 1
            path = f"{stem}_{number}{suffix}"
        return path

    def names(self) -> list[str]:
        """Return the names of all files."""
        return [*self.arrays, *self.models]

    def write(self, root: Path) -> None:
        """Write all files below a folder; raises ``OSError``."""
        for name, array in self.arrays.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, array, allow_pickle=False)
        for name, model in self.models.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(model.SerializeToString())


def entry_of(case: Case, name: str, beside: Beside) -> dict[str, Any]:
    """Return a case as an entry of a case file under a name; raises ``Unspeakable``."""
    declared = {value.name: value.type for value in case.call.model.graph.input}
    inputs = {key: read_value(value, declared[key]) for key, value in case.call.inputs.items()}
    first = next((a for a in case.alternatives if not isinstance(a, MustFail)), ())
    outputs = dict(zip(case.output_names, first, strict=False))
    entry: dict[str, Any] = {"name": name}
    if case.why:
        entry["why"] = case.why
    if case.spec:
        entry["spec"] = case.spec
    shown = f"{case.domain}.{case.operator}" if case.domain else case.operator
    entry |= {"operator": shown, **_model(case, name, inputs, outputs, beside)}
    if inputs:
        entry["inputs"] = _values(inputs.items(), name, beside)
    entry |= expectation(case, name, beside)
    return entry


def _model(
    case: Case,
    name: str,
    inputs: dict[str, Expected],
    outputs: dict[str, Expected],
    beside: Beside,
) -> dict[str, Any]:
    model = case.call.model
    own = main_operator(model)[:2] == (case.domain, case.operator)
    found = as_node(model, inputs, outputs) if own else None
    if found is not None:
        return found
    text = model_text(model)
    return {"model": text} if text is not None else {"model_file": beside.model(name, model)}


def expectation(case: Case, name: str, beside: Beside) -> dict[str, Any]:
    """Return what must come out: ``outputs``, ``error`` or ``any_of``, and ``tolerance``."""
    alternatives = [
        {"error": _error(a)}
        if isinstance(a, MustFail)
        else {"outputs": _values(zip(case.output_names, a, strict=True), name, beside)}
        for a in case.alternatives
    ]
    found: dict[str, Any] = alternatives[0] if len(alternatives) == 1 else {"any_of": alternatives}
    tolerance = _tolerance(case)
    return {**found, "tolerance": tolerance} if tolerance else found


def _values(values: Iterable[tuple[str, Expected]], name: str, beside: Beside) -> dict[str, Any]:
    return {
        key: spelled(value, beside.npy(f"{name}.{key}"), beside.inline) for key, value in values
    }


def _error(due: MustFail) -> Any:
    given = {key: text for key, text in (("phase", due.phase), ("match", due.match)) if text}
    return given or True


def _tolerance(case: Case) -> dict[str, Any]:
    found = {name: _allowed(case.tolerances[name]) for name in case.tolerances}
    texts = {repr(allowed) for allowed in found.values()}
    if len(texts) == 1 and list(found) == list(case.output_names):
        return next(iter(found.values()))
    return {"outputs": found} if found else {}


def _allowed(tolerance: Tolerance) -> dict[str, Any]:
    if tolerance.pairs:
        raise Unspeakable("a tolerance of pairs")
    given = {key: getattr(tolerance, key) for key in ("ulp", "rtol", "atol")}
    allowed: dict[str, Any] = {key: _plain(v) for key, v in given.items() if v is not None}
    if tolerance.signed_zero or not allowed:
        allowed["signed_zero"] = tolerance.signed_zero
    return allowed


def _plain(number: float) -> float | int:
    return int(number) if number == int(number) and number < 1e9 else float(number)
