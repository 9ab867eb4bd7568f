"""From the decoded entries of a case file to cases: variants, models, what is expected."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from math import inf, prod
from pathlib import Path
from typing import Any

import onnx
import onnx.checker
import onnx.defs
import onnx.shape_inference
from onnx import ModelProto, TypeProto

from . import nodes, onnxtext
from .case import Call, Case, Expected, MustFail, Tolerance
from .caseformat import Alternative, CaseSpec, ErrorSpec, FileSpec, ToleranceSpec, ValueSpec
from .dtypes import element_type, element_type_of_number, type_text
from .errors import CaseError, shorten
from .errors import Path as PathInside
from .randomness import random_outputs
from .values import ValueReader, inside, no_value, value_of

#: A case that expands to more variants than this is taken for a mistake.
MAX_VARIANTS = 10_000

_RANGE = re.compile(r"\s*(\d+)\s*\.\.\s*(\d+)\s*")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a case stands: the folder, the file's name in ids, and the line it begins at."""

    folder: Path
    name: str
    line: int


def build(spec: CaseSpec, header: FileSpec, place: Place) -> Iterator[Case]:
    """Return the variants of a case; raises ``CaseError`` with the path inside the case."""
    for opset, types, variant in _variants(spec, header):
        try:
            yield _Builder(spec, header, place, opset, types, variant).case()
        except CaseError as error:
            error.case = f"{spec.name}[{variant}]" if variant else spec.name
            raise


def build_expected(
    spec: CaseSpec, place: Place, names: list[str]
) -> tuple[tuple[tuple[Expected, ...] | MustFail, ...], dict[str, Tolerance]]:
    """Return what must come out of a model with these outputs, and the tolerances.

    Nothing must where the case names neither outputs nor an error; raises ``CaseError``.
    """
    builder = _Builder(spec, FileSpec(cases=[]), place, None, {}, "")
    tolerances = builder.tolerances(names)
    if spec.outputs is None and spec.error is None and spec.any_of is None:
        return (), tolerances
    _, alternatives = builder.alternatives()
    return tuple(builder.in_order(a, names, path) for path, a in alternatives), tolerances


def _variants(spec: CaseSpec, header: FileSpec) -> Iterator[tuple[int | None, dict[str, str], str]]:
    """Return (opset, types, variant name) of each variant."""
    own = spec.opset if spec.opset is not None else header.opset
    opsets, several = parse_opsets(own)
    types = spec.types or {}
    for name, choices in types.items():
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            raise CaseError(("types",), shorten(name), "a type parameter such as T")
        elements = set()
        for i, choice in enumerate(choices):
            try:
                elements.add(element_type(choice).name)
            except KeyError:
                wanted = "an element type of ONNX"
                raise CaseError(("types", name, i), shorten(choice), wanted) from None
        if not choices or len(elements) != len(choices):
            raise CaseError(("types", name), shorten(choices), "one or more types, each once")
    if len(opsets) * prod(len(c) for c in types.values()) > MAX_VARIANTS:
        raise CaseError((), f"more than {MAX_VARIANTS} variants", "fewer types or opsets")
    for opset in opsets:
        for chosen in itertools.product(*types.values()):
            parts = [f"opset={opset}"] if several else []
            variant = "-".join((*parts, *chosen))
            yield opset, dict(zip(types, chosen, strict=True)), variant


def parse_opsets(given: int | str | list[int] | None) -> tuple[list[int | None], bool]:
    """Read ``opset:``: a number, a list, or ``11..25``. Return it, and whether it expands."""
    if given is None:
        return [None], False
    if isinstance(given, int):
        _check_opset(given, ())
        return [given], False
    if isinstance(given, list):
        for i, opset in enumerate(given):
            _check_opset(opset, (i,))
        if not given or len(set(given)) != len(given):
            raise CaseError(("opset",), shorten(given), "one or more opsets, each once")
        return list(given), True
    found = _RANGE.fullmatch(given)
    latest = onnx.defs.onnx_opset_version()
    if not found or not 1 <= int(found[1]) <= int(found[2]) <= latest:
        wanted = f"a number, a list, or a range such as 11..25, up to {latest}"
        raise CaseError(("opset",), shorten(given), wanted)
    return list(range(int(found[1]), int(found[2]) + 1)), True


def _check_opset(opset: int, path: PathInside) -> None:
    if not 1 <= opset < 2**31:
        raise CaseError(("opset", *path), shorten(opset), "an opset of 1 or more, in 32 bits")


class _Builder:
    """Builds one variant of one case."""

    def __init__(
        self,
        spec: CaseSpec,
        header: FileSpec,
        place: Place,
        opset: int | None,
        types: dict[str, str],
        variant: str,
    ) -> None:
        self.spec = spec
        self.header = header
        self.place = place
        self.opset = opset
        self.types = types
        self.variant = variant
        self.values = ValueReader(place.folder, types)

    def case(self) -> Case:
        spec = self.spec
        forms = [f for f in ("node", "model", "model_file") if getattr(spec, f) is not None]
        if len(forms) != 1:
            raise CaseError((), " and ".join(forms) or "no node", "one of node, model, model_file")
        inputs = self._read_all(spec.inputs or {}, ("inputs",), output=False)
        outputs, alternatives = self.alternatives()
        model, names, operator, domain, node = (
            self._node_case(inputs, outputs)
            if spec.node is not None
            else self._model_case(forms[0])
        )
        if not any(isinstance(a, MustFail) for _, a in alternatives):
            _check_versions(model, ("opset",) if spec.opset is not None else (forms[0],))
            _check_model(model, forms[0])
        if spec.node is None:
            self._check_inputs(model, inputs)
        values = {name: value_of(v) for name, v in inputs.items()}
        random = random_outputs(model, values)
        for path, alternative in alternatives:
            if isinstance(alternative, dict):
                _check_random(alternative, random, path)
        opset = {o.domain: o.version for o in model.opset_import}.get(domain, 0)
        return Case(
            file=self.place.name,
            line=self.place.line,
            name=spec.name,
            variant=self.variant,
            operator=operator,
            domain=domain,
            opset=opset,
            since_version=_since_version(operator, domain, opset),
            call=Call(model, values),
            output_names=tuple(names),
            alternatives=tuple(self.in_order(a, names, path) for path, a in alternatives),
            why=" ".join(spec.why.split()),
            spec=spec.spec or self.header.spec,
            node=node,
            attributes=self._attributes(model),
            model_text=onnxtext.substitute(spec.model, self.types) if spec.model else "",
            tolerances=self.tolerances(names),
            dtypes=frozenset(_dtypes(inputs.values()) | _dtypes(o for _, o in outputs)),
        )

    def _read_all(
        self, specs: Mapping[str, ValueSpec], path: tuple[str, ...], *, output: bool
    ) -> dict[str, Expected]:
        values = {}
        for name, spec in specs.items():
            try:
                values[name] = self.values.read(spec, output=output)
            except CaseError as error:
                raise error.at(*path, name) from None
        return values

    def alternatives(
        self,
    ) -> tuple[list[tuple[str, Expected]], list[tuple[PathInside, dict[str, Expected] | MustFail]]]:
        """Return all expected outputs (for their types), and the alternatives with their paths."""
        spec = self.spec
        given = [f for f in ("outputs", "error", "any_of") if getattr(spec, f) is not None]
        if len(given) != 1:
            raise CaseError(
                (), " and ".join(given) or "no outputs", "one of outputs, error, any_of"
            )
        if spec.any_of is None:
            only = Alternative(outputs=spec.outputs, error=spec.error)
            entries: list[tuple[PathInside, Alternative]] = [((), only)]
        else:
            entries = [(("any_of", i), a) for i, a in enumerate(spec.any_of)]
            if len(entries) < 2:
                seen = "a single entry" if entries else "no entries"
                raise CaseError(("any_of",), seen, "two or more")
        outputs: list[tuple[str, Expected]] = []
        alternatives: list[tuple[PathInside, dict[str, Expected] | MustFail]] = []
        for path, entry in entries:
            if (entry.outputs is None) == (entry.error is None):
                both = "both outputs and error" if entry.error is not None else "no outputs"
                raise CaseError(path, both, "either outputs or error: true")
            if entry.outputs is None:
                alternatives.append((path, _must_fail(entry.error, path)))
                continue
            try:
                read = self._read_all(entry.outputs, ("outputs",), output=True)
            except CaseError as error:
                raise error.at(*path) from None
            alternatives.append((path, read))
            outputs.extend(read.items())
        return outputs, alternatives

    def _node_case(
        self, inputs: dict[str, Expected], outputs: list[tuple[str, Expected]]
    ) -> tuple[ModelProto, list[str], str, str, str]:
        spec = self.spec
        assert spec.node is not None
        if self.opset is None:
            raise CaseError((), "no opset", "opset, of the case or of the file")
        signature = nodes.parse_signature(spec.node)
        operator = spec.operator or self.header.operator
        full = (
            f"{signature.domain}.{signature.operator}" if signature.domain else signature.operator
        )
        if operator is not None and operator.removeprefix("ai.onnx.") not in (
            full.removeprefix("ai.onnx."),
            signature.operator,
        ):
            raise CaseError(
                ("node",), f"a node of {full}", f"a node of {operator}, the operator above"
            )
        schema = nodes.find_schema(signature.domain, signature.operator, self.opset, "node")
        wanted = list(dict.fromkeys(name for name in signature.inputs if name))
        _check_names(("inputs",), "node", list(inputs), wanted)
        attributes = nodes.make_attributes(spec.attributes or {}, schema, self.types)
        types = {name: inputs[name].type for name in wanted}
        fallback = {name: e.type for name, e in outputs}
        model = nodes.make_model(signature, schema, self.opset, attributes, types, fallback)
        names = [name for name in signature.outputs if name]
        return model, names, signature.operator, signature.domain, spec.node.strip()

    def _model_case(self, form: str) -> tuple[ModelProto, list[str], str, str, str]:
        spec = self.spec
        if spec.attributes is not None:
            raise CaseError(("attributes",), f"attributes beside {form}", "them inside the model")
        if spec.model is not None:
            model = onnxtext.parse_model(spec.model, self.types, self.opset)
        else:
            path = inside(self.place.folder, str(spec.model_file), "model_file")
            try:
                model = onnx.load(path)
            except Exception as error:
                seen = " ".join(str(error).split())[:200]
                raise CaseError(("model_file",), seen, "an ONNX model") from None
        operator = spec.operator or self.header.operator or _main_operator(model)
        domain, _, operator = operator.rpartition(".")
        names = [value.name for value in model.graph.output]
        return model, names, operator, "" if domain == "ai.onnx" else domain, ""

    def _attributes(self, model: ModelProto) -> dict[str, Any]:
        """Return the attributes as written, type parameters in the text of graphs replaced."""
        given = self.spec.attributes or {}
        graphs = {a.name for a in model.graph.node[0].attribute if a.HasField("g")} if given else ()
        return {
            name: onnxtext.substitute(value, self.types) if name in graphs else value
            for name, value in given.items()
        }

    def _check_inputs(self, model: ModelProto, inputs: dict[str, Expected]) -> None:
        """The case's inputs must be the model's: names, types, declared shapes."""
        initialized = {t.name for t in model.graph.initializer}
        declared = {v.name: v.type for v in model.graph.input}
        required = [n for n in declared if n not in initialized]
        _check_names(("inputs",), "model", list(inputs), required, allowed=declared)
        for name, value in inputs.items():
            seen, wanted = type_text(value.type), type_text(declared[name])
            if seen != wanted and wanted != f"optional({seen})":
                raise CaseError(("inputs", name), seen, f"{wanted}, as the model declares it")
            _check_shape(name, value, declared[name])

    def in_order(
        self, due: dict[str, Expected] | MustFail, names: list[str], path: PathInside
    ) -> tuple[Expected, ...] | MustFail:
        """Return the outputs in the order of the model's."""
        if isinstance(due, MustFail):
            return due
        what = "model" if self.spec.node is None else "node"
        _check_names((*path, "outputs"), what, list(due), names)
        return tuple(due[name] for name in names)

    def tolerances(self, names: list[str]) -> dict[str, Tolerance]:
        """Return the tolerance of each output for which the case sets one."""
        spec = self.spec.tolerance
        if spec is None:
            return {}
        own = spec.outputs or {}
        for name, inner in own.items():
            if name not in names:
                wanted = f"one of {', '.join(names)}"
                raise CaseError(("tolerance", "outputs", name), repr(name), wanted)
            if inner.outputs is not None:
                place = ("tolerance", "outputs", name, "outputs")
                raise CaseError(place, "outputs inside outputs", "ulp, rtol or atol")
        result = {}
        for name in names:
            chosen = own.get(name, spec)
            path: PathInside = ("tolerance", "outputs", name) if name in own else ("tolerance",)
            if any(getattr(chosen, f) is not None for f in ("ulp", "rtol", "atol", "signed_zero")):
                result[name] = _tolerance(chosen, path)
        return result


def _tolerance(spec: ToleranceSpec, path: PathInside) -> Tolerance:
    for field in ("ulp", "rtol", "atol"):
        value = getattr(spec, field)
        if value is not None and not 0 <= value < inf:
            raise CaseError((*path, field), f"{value:g}", "a finite number of 0 or more")
    return Tolerance(spec.ulp, spec.rtol, spec.atol, bool(spec.signed_zero))


def _check_versions(model: ModelProto, path: PathInside) -> None:
    """A case with outputs needs opsets that onnx knows; its checker takes any."""
    known = _known_versions()
    for entry in model.opset_import:
        _, latest = known.get(entry.domain, (0, entry.version))
        if entry.version > latest:
            wanted = f"at most {latest}, the latest of {entry.domain or 'ai.onnx'} in onnx"
            raise CaseError(path, f"opset {entry.version}", f"{wanted} {onnx.__version__}")


@cache
def _known_versions() -> dict[str, tuple[int, int]]:
    """Return the first and the latest opset of each domain."""
    return dict(onnx.defs.C.schema_version_map())


def _check_model(model: ModelProto, form: str) -> None:
    """A case with outputs needs a model that the specification allows."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        seen = f"a model that onnx's checker refuses: {' '.join(str(error).split())[:300]}"
        hint = "if it must be rejected, write error: true in place of outputs"
        raise CaseError((form,), seen, "a valid model", hint=hint) from None


def _must_fail(error: bool | ErrorSpec | None, path: PathInside) -> MustFail:
    if error is False:
        hint = "a case whose model must run has outputs"
        raise CaseError(
            (*path, "error"), "false", "true, or a mapping with phase and match", hint=hint
        )
    if not isinstance(error, ErrorSpec):
        return MustFail()
    if error.phase not in ("", "load", "run"):
        raise CaseError((*path, "error", "phase"), shorten(error.phase), "load or run")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(error.match)
    except (re.error, RecursionError, OverflowError, Warning) as problem:
        seen = f"{shorten(error.match)}: {problem}"
        raise CaseError((*path, "error", "match"), seen, "a regular expression") from None
    return MustFail(error.phase, error.match)


def _check_random(
    outputs: Mapping[str, Expected], random: Collection[str], path: PathInside
) -> None:
    """Only an output that depends on random numbers may have no data."""
    for name, value in outputs.items():
        if name not in random and _lacks_data(value):
            raise no_value().at(*path, "outputs", name)


def _lacks_data(value: Expected) -> bool:
    open_shape = None in value.shape
    missing = value.kind == "tensor" and value.value is None and not open_shape
    return missing or any(_lacks_data(item) for item in value.items)


def _check_names(
    path: PathInside,
    what: str,
    given: list[str],
    required: list[str],
    allowed: Mapping[str, Any] | None = None,
) -> None:
    """The names of a case's inputs or outputs must be those of its node or model."""
    for name in given:
        if name not in required and (allowed is None or name not in allowed):
            wanted = f"one of {', '.join(required)}" if required else f"no {path[-1]}"
            raise CaseError((*path, name), f"{name!r}, which the {what} does not name", wanted)
    for name in required:
        if name not in given:
            wanted = f"a value for {name!r}, which the {what} names"
            raise CaseError(path, f"no {name!r}", wanted)


def _check_shape(name: str, value: Expected, declared: TypeProto) -> None:
    if value.kind != "tensor" or not declared.tensor_type.HasField("shape"):
        return
    dims = declared.tensor_type.shape.dim
    sizes = [d.dim_value if d.HasField("dim_value") else None for d in dims]
    fits = len(sizes) == len(value.shape) and all(
        d is None or d == s for d, s in zip(sizes, value.shape, strict=True)
    )
    if not fits:
        wanted = f"{['?' if d is None else d for d in sizes]}, as the model declares it"
        raise CaseError(("inputs", name), f"shape {list(value.shape)}", wanted)


@lru_cache(1024)
def _since_version(operator: str, domain: str, opset: int) -> int:
    try:
        return onnx.defs.get_schema(operator, opset, domain).since_version
    except onnx.defs.SchemaError:
        return opset


def _main_operator(model: ModelProto) -> str:
    """Return the operator that a model is named after where the case names none."""
    last = model.graph.node[-1] if model.graph.node else None
    if last is None:
        return "Identity"
    return f"{last.domain}.{last.op_type}" if last.domain else last.op_type


def _dtypes(values: Any) -> set[str]:
    """Return the element types that occur in values."""
    names: set[str] = set()
    for value in values:
        if value.kind == "tensor":
            number = value.type.tensor_type.elem_type
            found = element_type_of_number(number)
            names.update([found.name] if found else [])
        else:
            names |= set(re.findall(r"\w+", type_text(value.type))) - {"seq", "optional", "map"}
    return names
