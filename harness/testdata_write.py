"""Writes cases as folders of ONNX test data, or with their tensors in npz files.

Names of folders come from ids, which are untrusted: they are made safe for any file system.
What the layout of ONNX cannot say stands in ``opcheck.yaml`` beside the model, see ``testdata``.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import MapProto, OptionalProto, SequenceProto, TensorProto, TypeProto, numpy_helper

from .case import Case, Expected, MustFail, Planned
from .caseentry import Beside, expectation
from .caseyaml import yaml_lines
from .dtypes import element_type_of, type_text
from .errors import CaseError
from .spelling import Unspeakable, storable
from .testdata import MANIFEST, MODEL, input_names, read_value

#: Longer names of folders are cut; what is cut, a digest stands for.
MAX_NAME = 120
#: The folder of the cases that any harness judges rightly, and that of all others.
PORTABLE, ONLY_HERE = "portable", "opcheck-only"
#: What the npz flavour writes beside the model.
ABOUT, INPUTS, OUTPUTS = "case.json", "inputs.npz", "outputs.npz"
NPZ_FORMAT = "opcheck npz 1"

_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def folder_names(cases: Iterable[Planned]) -> list[str]:
    """Return a name for the folder of each case: its title, where that is the only one of it.

    Others get the name of their file before it, and a digest of the id where that does not help.
    """
    ids = [(case.title, case.file, case.id) for case in cases]
    digests = [hashlib.sha256(i.encode(errors="surrogateescape")).hexdigest()[:10] for *_, i in ids]
    longer = [f"{Path(file).stem}_{title}" for title, file, _ in ids]
    choices = [
        [_safe(title) for title, *_ in ids],
        [_safe(name) for name in longer],
        [f"{_safe(name)[: MAX_NAME - 11]}-{d}" for name, d in zip(longer, digests, strict=True)],
    ]
    names = choices[0]
    for better in choices[1:]:
        often = Counter(name.casefold() for name in names)
        names = [b if often[n.casefold()] > 1 else n for n, b in zip(names, better, strict=True)]
    return names


def _safe(text: str) -> str:
    """Return a name that is a folder's on any file system, and none that means something."""
    name = re.sub(r"[^A-Za-z0-9_.\-]+", "_", text).strip("_.") or "case"
    if len(name) > MAX_NAME:
        digest = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:10]
        name = f"{name[: MAX_NAME - 11]}-{digest}"
    if _DEVICES.fullmatch(name) or name.startswith(("-", "test_data_set_")):
        name = f"case_{name}"
    return name


def unportable(case: Case) -> str:
    """Say what other harnesses would judge wrongly; empty for a case that they judge rightly."""
    if len(case.alternatives) > 1:
        return "more than one answer is right"
    [due] = case.alternatives
    if isinstance(due, MustFail):
        return "the model must be rejected"
    if any(_some(value, lambda tensor: tensor.undefined is not None) for value in due):
        return "elements are undefined"
    if any(_some(value, lambda tensor: tensor.value is None) for value in due):
        return "values are random or left open"
    return ""


def _some(value: Expected, holds: Callable[[Expected], bool]) -> bool:
    if value.kind == "tensor":
        return holds(value)
    return any(_some(item, holds) for item in value.items)


def clear(folder: Path) -> None:
    """Remove a folder that an earlier export wrote; raises ``FileExistsError`` for another one."""
    if not folder.exists():
        return
    if not any((folder / name).is_file() for name in (MANIFEST, ABOUT)):
        raise FileExistsError(17, "a folder that opcheck export did not write", str(folder))
    shutil.rmtree(folder)


# ONNX test data.


def write_test_data(case: Case, folder: Path) -> None:
    """Write one case; raises ``Unspeakable``, and ``OSError`` where it cannot be written."""
    model = case.call.model
    inputs = _inputs(case)
    names = list(inputs)
    beside = Beside("data")
    about: dict[str, Any] = {"id": case.id, "operator": _operator(case), "opset": case.opset}
    about |= {key: text for key, text in (("spec", case.spec), ("why", case.why)) if text}
    if not _follows(case, names):
        about["inputs"] = names
    due = expectation(case, "output", beside)
    if not unportable(case):
        del due["outputs"]
    protos = [_proto(value) for value in inputs.values()]
    outputs: list[Any] = []
    if not unportable(case):
        [due_outputs] = case.alternatives
        assert not isinstance(due_outputs, MustFail)
        outputs = [_proto(value) for value in due_outputs]
    text = "\n".join(["# How opcheck judges this case; other harnesses can do without.",
                      *yaml_lines({**about, **due})]) + "\n"  # fmt: skip
    sets = folder / "test_data_set_0"
    sets.mkdir(parents=True)
    (folder / MODEL).write_bytes(model.SerializeToString())
    for kind, values in (("input", protos), ("output", outputs)):
        for i, proto in enumerate(values):
            (sets / f"{kind}_{i}.pb").write_bytes(proto.SerializeToString())
    beside.write(folder)
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    tolerance = {(t.rtol, t.atol) for t in case.tolerances.values()}
    if len(tolerance) == 1 and None not in next(iter(tolerance)):
        [(rtol, atol)] = tolerance
        (folder / "data.json").write_text(json.dumps({"rtol": rtol, "atol": atol}) + "\n")


def _operator(case: Case) -> str:
    return f"{case.domain}.{case.operator}" if case.domain else case.operator


def _inputs(case: Case) -> dict[str, Expected]:
    """Return the inputs in the order of the model's."""
    given = case.call.inputs
    return {
        value.name: read_value(given[value.name], value.type)
        for value in case.call.model.graph.input
        if value.name in given
    }


def _follows(case: Case, names: list[str]) -> bool:
    """Whether the number of inputs alone tells which they are."""
    try:
        return input_names(case.call.model, len(names)) == names
    except CaseError:
        return False


def _proto(value: Expected) -> Any:
    """Return the proto of a value: a tensor, a sequence, an optional or a map."""
    try:
        if value.kind == "tensor":
            assert value.value is not None
            return numpy_helper.from_array(value.value)
        if value.kind == "map":
            return _map(value)
        items = [_proto(item) for item in value.items]
        if value.kind == "optional":
            return _optional(items, value.type.optional_type.elem_type)
        return _sequence(items, value.type.sequence_type.elem_type)
    except UnicodeEncodeError:
        raise Unspeakable("a string with half of a surrogate pair") from None


def _which(proto: TypeProto) -> str:
    return str(proto.WhichOneof("value")).removesuffix("_type")


def _sequence(items: list[Any], kind: TypeProto) -> SequenceProto:
    which = _which(kind)
    proto = SequenceProto(elem_type=SequenceProto.DataType.Value(which.upper()))
    getattr(proto, f"{which}_values").extend(items)
    return proto


def _optional(items: list[Any], kind: TypeProto) -> OptionalProto:
    which = _which(kind)
    proto = OptionalProto(elem_type=OptionalProto.DataType.Value(which.upper()))
    for item in items:
        getattr(proto, f"{which}_value").CopyFrom(item)
    return proto


def _map(value: Expected) -> MapProto:
    kind = value.type.map_type
    proto = MapProto(key_type=kind.key_type)
    if kind.key_type == TensorProto.STRING:
        proto.string_keys.extend(str(key).encode() for key in value.keys)
    else:
        proto.keys.extend(int(key) for key in value.keys)
    items = [_proto(item) for item in value.items]
    proto.values.CopyFrom(_sequence(items, kind.value_type))
    return proto


# Tensors in npz files.


class _Arrays:
    """The arrays of one npz file, and what ``case.json`` says of the values they belong to."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}

    def add(self, key: str, value: Expected) -> dict[str, Any]:
        """Take the arrays of a value under a key; return what it is."""
        if value.kind == "tensor":
            return self._tensor(key, value)
        about: dict[str, Any] = {"type": type_text(value.type)}
        if value.kind == "map":
            scalars = [item.value for item in value.items if item.value is not None]
            dtype = scalars[0].dtype if scalars else np.dtype(np.float32)
            strings = any(isinstance(k, str) for k in value.keys)
            keys = np.array(value.keys, object if strings else np.int64)
            held = np.array([s.item() for s in scalars], dtype)
            return {**about, "map": {"keys": self._array(f"{key}.keys", keys),
                                     "values": self._array(f"{key}.values", held)}}  # fmt: skip
        items = [self.add(f"{key}.{i}", item) for i, item in enumerate(value.items)]
        if value.kind == "optional":
            return {**about, "optional": items[0] if items else None}
        return {**about, "sequence": items}

    def _tensor(self, key: str, value: Expected) -> dict[str, Any]:
        if value.value is None:
            dtype = "string" if value.dtype == object else value.dtype and value.dtype.name
            return {"dtype": dtype, "shape": list(value.shape)}
        about = self._array(key, value.value)
        if value.undefined is not None:
            self.arrays[f"{key}.undefined"] = value.undefined
            about["undefined"] = f"{key}.undefined"
        return about

    def _array(self, key: str, array: NDArray[Any]) -> dict[str, Any]:
        if array.dtype == object and any(s.endswith("\0") for s in array.reshape(-1)):
            raise Unspeakable("a string that ends in a zero byte, which NumPy's files lose")
        element = element_type_of(array.dtype)
        name = "string" if element is None or element.name == "string" else array.dtype.name
        self.arrays[key] = storable(array)
        return {"dtype": name, "shape": list(array.shape), "array": key}


def write_npz(case: Case, folder: Path) -> None:
    """Write one case; raises as ``write_test_data``."""
    inputs, outputs = _Arrays(), _Arrays()
    fed = [{"name": name, **inputs.add(f"input_{i}", value)}
           for i, (name, value) in enumerate(_inputs(case).items())]  # fmt: skip
    expected: list[dict[str, Any]] = []
    for k, due in enumerate(case.alternatives):
        if isinstance(due, MustFail):
            expected.append({"error": {"phase": due.phase, "match": due.match}})
            continue
        prefix = f"alternative_{k}." if k else ""
        named = zip(case.output_names, due, strict=True)
        expected.append({"outputs": [{"name": name, **outputs.add(f"{prefix}output_{i}", value)}
                                     for i, (name, value) in enumerate(named)]})  # fmt: skip
    about = {
        "format": NPZ_FORMAT, "id": case.id, "operator": case.operator,
        "domain": case.domain or "ai.onnx", "opset": case.opset, "spec": case.spec,
        "why": case.why, "inputs": fed, "expected": expected,
        "tolerance": {
            name: {"ulp": t.ulp, "rtol": t.rtol, "atol": t.atol, "signed_zero": t.signed_zero}
            for name, t in case.tolerances.items()
        },
    }  # fmt: skip
    text = json.dumps(about, indent=2) + "\n"
    folder.mkdir(parents=True)
    (folder / MODEL).write_bytes(case.call.model.SerializeToString())
    np.savez(folder / INPUTS, allow_pickle=False, **inputs.arrays)
    np.savez(folder / OUTPUTS, allow_pickle=False, **outputs.arrays)
    (folder / ABOUT).write_text(text, encoding="utf-8")


def written_by(form: str) -> Callable[[Case, Path], None]:
    """Return what writes a case in a form: ``onnx`` or ``npz``."""
    return write_npz if form == "npz" else write_test_data


def summary(reasons: Sequence[str]) -> str:
    """Say how often each reason occurs."""
    counted = Counter(reasons)
    return "; ".join(f"{number} because {reason}" for reason, number in counted.most_common())
