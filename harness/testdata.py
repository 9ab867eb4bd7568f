"""ONNX test data: folders that hold a model and, beside it, sets of inputs and outputs.

The layout is that of onnx's own backend tests: ``model.onnx``, and in each
``test_data_set_N`` the files ``input_K.pb`` and ``output_K.pb``.
What a file holds, a tensor, a sequence, an optional or a map, the types of the model decide.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.defs
import onnx.printer
from numpy.typing import NDArray
from onnx import (
    MapProto,
    ModelProto,
    OptionalProto,
    SequenceProto,
    TensorProto,
    TypeProto,
    helper,
    numpy_helper,
)

from .build import Place, build_expected
from .case import Call, Case, Expected, MustFail, Tolerance
from .casefile import Loaded, decode
from .caseformat import CaseSpec, DataSpec
from .dtypes import element_type_of, element_type_of_number, type_text
from .errors import CaseError, count, shorten
from .randomness import random_outputs
from .values import value_of, without_shape
from .yamlfile import Document, open_document

#: The tolerances that onnx's own runner uses where the data bring none.
RTOL, ATOL = 1e-3, 1e-7
#: The least relative tolerance that onnx's own runner uses for bfloat16: two steps.
BFLOAT16_RTOL = 2.0**-6
#: Larger models get no text for ``opcheck show``.
MAX_TEXT = 2**16

SETS = "test_data_set_*"
MODEL = "model.onnx"
#: What ``opcheck export`` writes beside the model.
MANIFEST = "opcheck.yaml"

_PROTOS: dict[str, Any] = {
    "tensor_type": TensorProto,
    "sequence_type": SequenceProto,
    "optional_type": OptionalProto,
    "map_type": MapProto,
}


def find_tests(root: Path) -> list[Path]:
    """Return the folders of test data at and below a folder, sorted."""
    return sorted({path.parent for path in root.rglob(SETS) if path.is_dir()})


def titles(folder: Path) -> list[str]:
    """Return the titles of the cases of one folder of test data, in order."""
    return [title for title, _, _ in _sets(folder)]


def load_tests(folder: Path, name: str, wanted: Collection[str] | None = None) -> Loaded:
    """Read one folder of test data; ``name`` is what ids call it.

    With ``wanted``, only the cases with these titles are read.
    Never raises for a mistake in the data.
    """
    loaded = Loaded()
    chosen = [s for s in _sets(folder) if wanted is None or s[0] in wanted]
    if not chosen:
        return loaded
    try:
        model = _read_model(folder)
        rtol, atol = _read_tolerance(folder)
        manifest = _read_manifest(folder, model)
    except CaseError as error:
        error.file = f"{name}/{error.file}"
        error.case = _base(folder)
        loaded.errors.append(error)
        return loaded
    for title, variant, path in chosen:
        try:
            inputs, outputs = _read_set(path, model, manifest)
            case = make_case(
                name, _base(folder), variant, model, inputs, outputs, rtol=rtol, atol=atol
            )
            loaded.cases.append(manifest.completed(case, outputs) if manifest else case)
        except Exception as problem:  # protobuf hands out, for one, names that are no UTF-8
            mistake = problem if isinstance(problem, CaseError) else _unforeseen(problem)
            mistake.file = "/".join(filter(None, (name, path.name, mistake.file)))
            mistake.case = title
            loaded.errors.append(mistake)
    return loaded


def make_case(
    file: str,
    name: str,
    variant: str,
    model: ModelProto,
    inputs: Mapping[str, Expected],
    outputs: Sequence[Expected],
    *,
    rtol: float = RTOL,
    atol: float = ATOL,
    tested: ModelProto | None = None,
) -> Case:
    """Return the case of a model with its inputs and outputs.

    It is named after the last node of the model, or of ``tested``, the model it stands for.
    What is drawn at random has no expected values: of such outputs, dtype and shape are kept.
    """
    domain, op_type, opset = main_operator(model if tested is None else tested)
    names = tuple(value.name for value in model.graph.output)
    values = {key: value_of(value) for key, value in inputs.items()}
    random = random_outputs(model, values)
    outputs = [
        replace(value, value=None) if name in random else value
        for name, value in zip(names, outputs, strict=True)
    ]
    return Case(
        file=file,
        line=0,
        name=name,
        variant=variant,
        operator=op_type,
        domain=domain,
        opset=opset,
        since_version=_since_version(domain, op_type, opset),
        call=Call(model, values),
        output_names=names,
        alternatives=(tuple(outputs),),
        model_text=_text(model),
        tolerances=tolerances(names, outputs, rtol, atol),
        dtypes=frozenset(_dtypes((*inputs.values(), *outputs))),
    )


def tolerances(
    names: Iterable[str], outputs: Iterable[Expected], rtol: float, atol: float
) -> dict[str, Tolerance]:
    """Return the tolerance of each output; bfloat16 gets what onnx's own runner gives it."""
    plain = Tolerance(rtol=rtol, atol=atol)
    wide = Tolerance(rtol=max(rtol, BFLOAT16_RTOL), atol=atol)
    return {
        name: wide if "bfloat16" in type_text(output.type) else plain
        for name, output in zip(names, outputs, strict=True)
    }


def main_operator(model: ModelProto) -> tuple[str, str, int]:
    """Return the domain, the name and the opset of the operator of a model's last node."""
    imports = {_domain(o.domain): o.version for o in model.opset_import}
    if not model.graph.node:
        return "", "Identity", imports.get("", 1)
    node = model.graph.node[-1]
    domain = _domain(node.domain)
    return domain, node.op_type, imports.get(domain, imports.get("", 1))


def _domain(domain: str) -> str:
    return "" if domain == "ai.onnx" else domain


def _since_version(domain: str, operator: str, opset: int) -> int:
    try:
        return onnx.defs.get_schema(operator, opset, domain).since_version
    except onnx.defs.SchemaError:
        return opset


def _text(model: ModelProto) -> str:
    """Return a small model in ONNX's text syntax, for ``opcheck show``."""
    if model.ByteSize() > MAX_TEXT:
        return ""
    try:
        return str(onnx.printer.to_text(model))
    except Exception:  # the printer refuses some valid models, and only show needs it
        return ""


def _dtypes(values: Iterable[Expected]) -> set[str]:
    """Return the element types that occur in values."""
    words = {word for v in values for word in re.findall(r"\w+", type_text(v.type))}
    return words - {"seq", "optional", "map"}


def read_value(value: Any, declared: TypeProto) -> Expected:
    """Return a value as the type that the model declares has it.

    Args: value, an array, a scalar of NumPy or Python, a list, a dict, ``None``, or a proto of
    onnx. Raises ``CaseError`` where value and type do not fit.
    """
    which = declared.WhichOneof("value")
    value = _opened(value)
    if which == "optional_type":
        inner = declared.optional_type.elem_type
        filled = () if value is None else (read_value(value, inner),)
        proto = helper.make_optional_type_proto(without_shape(inner))
        return Expected("optional", proto, items=filled)
    if which == "sequence_type":
        inner = declared.sequence_type.elem_type
        if not isinstance(value, list | tuple):
            raise _misfit(value, declared)
        items = tuple(_item(i, item, inner) for i, item in enumerate(value))
        proto = helper.make_sequence_type_proto(without_shape(inner))
        return Expected("sequence", proto, items=items)
    if which == "map_type":
        return _map(value, declared)
    if which in ("tensor_type", None):
        return _tensor(value, declared)
    raise CaseError((), f"a value of type {which}", "tensors, sequences, optionals or maps")


def _item(i: int, value: Any, declared: TypeProto) -> Expected:
    try:
        return read_value(value, declared)
    except CaseError as error:
        raise error.at(i) from None


def _opened(value: Any) -> Any:
    """Return what a proto holds, one level deep; any other value as it is."""
    if isinstance(value, OptionalProto):
        fields = ("tensor_value", "sequence_value", "map_value", "optional_value")
        held = [getattr(value, field) for field in fields if value.HasField(field)]
        if value.HasField("sparse_tensor_value"):
            raise CaseError((), "a sparse tensor", "a tensor, a sequence or a map")
        return _opened(held[0]) if held else None
    if isinstance(value, SequenceProto):
        lists: list[list[Any]] = [
            list(value.tensor_values),
            list(value.sequence_values),
            list(value.map_values),
            list(value.optional_values),
        ]
        if value.sparse_tensor_values:
            raise CaseError((), "a sequence of sparse tensors", "tensors, sequences or maps")
        return next((held for held in lists if held), [])
    return value


def _map(value: Any, declared: TypeProto) -> Expected:
    """Return a map; its values are scalars."""
    if isinstance(value, MapProto):
        string_keys = [k.decode() if isinstance(k, bytes) else k for k in value.string_keys]
        keys = string_keys or list(value.keys)
        values = _opened(value.values)
        if len(keys) != len(values):
            raise CaseError((), f"{count(len(keys), 'key')}, {count(len(values), 'value')}",
                            "as many values as keys")  # fmt: skip
        value = dict(zip(keys, values, strict=True))
    if not isinstance(value, dict):
        raise _misfit(value, declared)
    kind = declared.map_type
    text = element_type_of_number(kind.key_type)
    wanted = str if text is not None and text.name == "string" else int
    keys = [key.item() if isinstance(key, np.generic) else key for key in value]
    for key in keys:
        if type(key) is not wanted:
            raise CaseError((), f"the key {shorten(key)}", f"keys of {type_text(declared)}")
    items = []
    for key, held in zip(keys, value.values(), strict=True):
        try:
            item = _tensor(held, without_shape(kind.value_type))
        except CaseError as error:
            raise error.at(key) from None
        array = item.value
        if array is None or array.size != 1:
            raise CaseError((key,), f"a tensor of shape {list(item.shape)}", "a scalar")
        proto = without_shape(item.type)
        proto.tensor_type.shape.SetInParent()
        items.append(Expected("tensor", proto, item.dtype, (), array.reshape(())))
    return Expected("map", without_shape(declared), items=tuple(items), keys=tuple(keys))


def _tensor(value: Any, declared: TypeProto) -> Expected:
    """Return a tensor in the dtype that the model declares, in memory of its own."""
    number = declared.tensor_type.elem_type
    if isinstance(value, TensorProto):
        if number not in (TensorProto.UNDEFINED, value.data_type):
            raise CaseError((), _tensor_text(value), type_text(declared))
        array = _decoded(value)
        number = value.data_type
    elif isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
    elif isinstance(value, bool | int | float | complex | str | bytes):
        element = element_type_of_number(number)
        array = np.asarray(value, None if element is None else element.dtype)
    else:
        raise _misfit(value, declared)
    if array.dtype.kind in "USO":
        array = _strings(array)
    element = element_type_of(array.dtype)
    if element is None or number not in (TensorProto.UNDEFINED, element.number):
        raise CaseError((), f"a tensor of {array.dtype}", type_text(declared))
    # A copy: what is read may share memory with the proto, and may not be written to.
    array = np.array(array, order="C", subok=False)
    proto = helper.make_tensor_type_proto(element.number, array.shape)
    return Expected("tensor", proto, array.dtype, array.shape, array)


def _tensor_text(proto: TensorProto) -> str:
    element = element_type_of_number(proto.data_type)
    name = element.name if element else f"element type {proto.data_type}"
    return f"a tensor of {name}" if proto.data_type else "no tensor"


def _decoded(proto: TensorProto) -> NDArray[Any]:
    """Return the array of a TensorProto; whatever is wrong in it raises ``CaseError``."""
    try:
        if proto.data_type == TensorProto.STRING:  # onnx loses zero bytes at their ends
            return _strings(np.array([*proto.string_data, None], object)[:-1]).reshape(proto.dims)
        return numpy_helper.to_array(proto)
    except CaseError:
        raise
    except Exception as error:  # damaged data raise almost anything
        seen = f"{_tensor_text(proto)} of shape {list(proto.dims)}: {_message(error)}"
        raise CaseError((), seen, "data that fit the dims") from None


def _strings(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array of str, from one of bytes or str."""
    result = np.empty(array.shape, object)
    for index in np.ndindex(array.shape):
        item: Any = array[index]
        if not isinstance(item, str | bytes):
            raise CaseError((), f"a tensor with the element {shorten(item)}", "strings")
        try:
            result[index] = item.decode() if isinstance(item, bytes) else str(item)
        except UnicodeDecodeError:
            raise CaseError((), "a string that is no UTF-8", "UTF-8") from None
    return result


def _misfit(value: Any, declared: TypeProto) -> CaseError:
    kinds = {SequenceProto: "a sequence", list: "a sequence", dict: "a map", MapProto: "a map"}
    seen = "nothing" if value is None else kinds.get(type(value), f"a {type(value).__name__}")
    if isinstance(value, TensorProto):
        seen = _tensor_text(value)
    return CaseError((), seen, type_text(declared))


def _unforeseen(error: Exception) -> CaseError:
    return CaseError((), f"{type(error).__name__}: {_message(error)}", "a sound model and its data")


def _message(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


def _base(folder: Path) -> str:
    """Return the name of the cases of a folder: the folder's own, in the letters of names."""
    return re.sub(r"[^A-Za-z0-9_.\-]", "_", folder.resolve().name) or "model"


def _sets(folder: Path) -> list[tuple[str, str, Path]]:
    """Return title, variant and folder of each data set, in the order of their numbers."""
    found = [path for path in folder.glob(SETS) if path.is_dir()]
    suffixes = {path: path.name.removeprefix(SETS[:-1]) for path in found}
    found.sort(key=lambda p: (not suffixes[p].isdecimal(), len(suffixes[p]), suffixes[p]))
    base = _base(folder)
    if len(found) == 1:
        return [(base, "", found[0])]
    return [(f"{base}[{suffixes[path]}]", suffixes[path], path) for path in found]


def _read_model(folder: Path) -> ModelProto:
    """Return the model of a folder: ``model.onnx``, or the only ``.onnx`` file there."""
    path = folder / MODEL
    if not path.exists():
        others = sorted(folder.glob("*.onnx"))
        if len(others) != 1:
            seen = count(len(others), "file") + " that end in .onnx" if others else "no model"
            raise CaseError((), seen, f"{MODEL} beside {SETS}", file=MODEL)
        path = others[0]
    try:
        status = path.stat()
        model = _parsed_model(path, status.st_mtime_ns, status.st_size)
    except Exception as error:  # onnx raises what protobuf and the file system raise
        raise CaseError((), _message(error), "an ONNX model", file=path.name) from None
    if not model.HasField("graph"):
        raise CaseError((), "a model without a graph", "an ONNX model", file=path.name)
    return model


@lru_cache(maxsize=1)
def _parsed_model(path: Path, changed: int, size: int) -> ModelProto:  # noqa: ARG001
    """Return a model; the last one is kept, for the data sets that follow."""
    return onnx.load(path)


def _read_tolerance(folder: Path) -> tuple[float, float]:
    """Return rtol and atol: those of ``data.json`` where there is one."""
    path = folder / "data.json"
    if not path.exists():
        return RTOL, ATOL
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
        rtol, atol = float(given.get("rtol", RTOL)), float(given.get("atol", ATOL))
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        wanted = "a JSON object, in it numbers rtol and atol"
        raise CaseError((), _message(error), wanted, file=path.name) from None
    if not (0 <= rtol < inf and 0 <= atol < inf):
        seen = f"rtol {rtol:g}, atol {atol:g}"
        raise CaseError((), seen, "finite numbers of 0 or more", file=path.name)
    return rtol, atol


@dataclass(frozen=True, slots=True)
class _Manifest:
    """What ``opcheck.yaml`` says: the names of the inputs, and how the case is judged."""

    spec: DataSpec
    alternatives: tuple[tuple[Expected, ...] | MustFail, ...]
    tolerances: Mapping[str, Tolerance]

    def completed(self, case: Case, outputs: Sequence[Expected]) -> Case:
        """Return a case as it is to be judged; ``outputs`` are those of the files."""
        spec = self.spec
        case = replace(
            case,
            alternatives=self.alternatives or (tuple(outputs),),
            tolerances=self.tolerances,
            spec=spec.spec,
            why=" ".join(spec.why.split()),
        )
        if not spec.operator:
            return case
        domain, _, operator = spec.operator.rpartition(".")
        domain = _domain(domain)
        since_version = _since_version(domain, operator, spec.opset)
        return replace(case, domain=domain, operator=operator, opset=spec.opset,
                       since_version=since_version)  # fmt: skip


def _read_manifest(folder: Path, model: ModelProto) -> _Manifest | None:
    """Return what stands beside the model, if anything does; raises ``CaseError``."""
    path = folder / MANIFEST
    if not path.is_file():
        return None
    document: Document | None = None
    try:
        document = open_document(path)
        spec = decode(document.value, DataSpec)
        known = {value.name for value in model.graph.input}
        for i, name in enumerate(spec.inputs or ()):
            if name not in known:
                raise CaseError(("inputs", i), shorten(name), "an input of the model")
        due = CaseSpec(
            "", outputs=spec.outputs, error=spec.error, any_of=spec.any_of, tolerance=spec.tolerance
        )
        names = [value.name for value in model.graph.output]
        alternatives, tolerances = build_expected(due, Place(folder, MANIFEST, 1), names)
        return _Manifest(spec, alternatives, tolerances)
    except CaseError as error:
        if document is not None and error.line is None:
            error.line = document.line_of(error.path)
        error.file = MANIFEST
        raise


def _read_set(
    path: Path, model: ModelProto, manifest: _Manifest | None = None
) -> tuple[dict[str, Expected], list[Expected]]:
    """Return the inputs by name and the outputs of one data set.

    Where the manifest says what is expected, the outputs are only of the right types.
    """
    declared = {value.name: value.type for value in model.graph.input}
    files = _numbered(path, "input")
    named = manifest.spec.inputs if manifest else None
    if named is not None and len(named) != len(files):
        wanted = f"{count(len(named), 'input')}, as {MANIFEST} has"
        raise CaseError((), count(len(files), "input"), wanted)
    names = input_names(model, len(files), path) if named is None else named
    inputs = {n: _read_file(f, declared[n]) for n, f in zip(names, files, strict=True)}
    outputs = list(model.graph.output)
    if manifest is not None and manifest.alternatives:
        return inputs, [Expected("tensor", output.type) for output in outputs]
    files = _numbered(path, "output")
    if len(files) != len(outputs):
        wanted = f"{count(len(outputs), 'output')}, as the model has"
        missing = f"output_{len(files)}.pb" if len(files) < len(outputs) else ""
        raise CaseError((), count(len(files), "output"), wanted, file=missing)
    return inputs, [_read_file(f, o.type) for f, o in zip(files, outputs, strict=True)]


def input_names(model: ModelProto, number: int, path: Path | None = None) -> list[str]:
    """Return the names of the inputs that a number of values is for.

    Models of an old IR list their initializers as inputs too; data may leave those out.
    """
    initialized = {t.name for t in model.graph.initializer}
    initialized |= {t.values.name for t in model.graph.sparse_initializer}
    every = [value.name for value in model.graph.input]
    required = [name for name in every if name not in initialized]
    for names in (every, required):
        if len(names) == number:
            return names
    or_more = f" or {len(every)}" if len(every) != len(required) else ""
    wanted = f"{len(required)}{or_more}, as the model has"
    missing = f"input_{number}.pb" if path is not None and number < len(required) else ""
    raise CaseError((), count(number, "input"), wanted, file=missing)


def _numbered(path: Path, kind: str) -> list[Path]:
    """Return ``input_0.pb``, ``input_1.pb``, ... in order; a gap raises ``CaseError``."""
    found = {}
    for entry in os.scandir(path):
        number = re.fullmatch(rf"{kind}_(\d+)\.pb", entry.name)
        if number:
            found[int(number[1])] = Path(entry.path)
    for i in range(len(found)):
        if i not in found:
            seen = ", ".join(found[k].name for k in sorted(found)[:5])
            raise CaseError((), f"no {kind}_{i}.pb beside {seen}", "numbers without a gap",
                            file=f"{kind}_{i}.pb")  # fmt: skip
    return [found[i] for i in range(len(found))]


def _read_file(path: Path, declared: TypeProto) -> Expected:
    """Read one value; raises ``CaseError`` with the name of the file."""
    which = declared.WhichOneof("value") or "tensor_type"
    try:
        if which not in _PROTOS:
            raise CaseError((), f"a value of type {which}", "tensors, sequences, optionals or maps")
        proto = _PROTOS[which]()
        try:
            data = path.read_bytes()
            proto.ParseFromString(data)
        except Exception as error:  # protobuf's DecodeError, or the file system's
            wanted = f"a {type(proto).__name__}"
            raise CaseError((), f"a file that cannot be read: {_message(error)}", wanted) from None
        # Protobuf takes one message for another; what does not fit ends among its unknown fields.
        size = proto.ByteSize()
        proto.DiscardUnknownFields()
        if proto.ByteSize() != size:
            seen = "a file with fields of another message"
            raise CaseError((), seen, f"a {type(proto).__name__} of {type_text(declared)}")
        if which == "sequence_type" and not size:
            raise CaseError((), "an empty file", "a SequenceProto")
        return read_value(proto, declared)
    except CaseError as error:
        error.file = path.name
        raise
