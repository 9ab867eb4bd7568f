"""What has no case yet, as a case file whose ``TODO`` are to be filled in."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import onnx.defs

from ..harness.coverage import Coverage, FormalCoverage, SchemaCoverage
from ..harness.dtypes import element_type
from .coverage import parameters, unreachable_of

_Schema = onnx.defs.OpSchema
#: The type parameter of a stub.
_PARAMETER = "T"
_WIDTH = 100
#: The types that a stub takes for what is not its own parameter, where they are allowed.
_PREFERRED = ("tensor(float)", "tensor(int64)")
_HEAD = """\
# What has no case yet. Replace each TODO; the outputs are worked out by hand.
# Add inputs, outputs and attributes as the case needs them.
"""


def stubs(coverage: Coverage) -> str:
    """Return a stub for each type parameter with types without a case, and the rest as comments.

    The types of a parameter that are built alike share a stub.
    """
    found = []
    for schema in coverage.schemas:
        for parameter, signatures in parameters(schema):
            lacking = [s.type for s in signatures if not (s.cases or s.unreachable)]
            for form, types in _alike(lacking):
                found.append(_stub(schema, parameter, form, types))
    text = _HEAD + "cases:\n" + "\n".join(found) if found else "# Nothing is missing.\n"
    lines = (textwrap.wrap(line, _WIDTH - 2) for line in unreachable_of(coverage))
    never = [f"#   {part}" for line in lines for part in line]
    return "\n".join([text, "# These have no stub:", *never, ""]) if never else text


def _alike(types: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Group types by what is around their element types, ``seq(tensor(T))``; maps stay alone."""
    groups: dict[str, list[str]] = {}
    for text in types:
        found = re.search(r"tensor\((\w+)\)", text)
        form = text.replace(found[0], f"tensor({_PARAMETER})") if found else text
        groups.setdefault(form, []).extend([element_type(found[1]).name] if found else [])
    yield from groups.items()


def _stub(covered: SchemaCoverage, parameter: str, form: str, types: list[str]) -> str:
    schema = onnx.defs.get_schema(covered.operator, covered.since_version, covered.domain)
    wanted = _Wanted(schema, parameter, form, types)
    only_output = all(formal.type_str != parameter for formal in schema.inputs)
    inputs = wanted.values(schema.inputs, covered.inputs, needed=not only_output)
    taken = {name for name, _ in inputs}
    outputs = [
        (f"{name}_out" if name in taken else name, value)
        for name, value in wanted.values(schema.outputs, covered.outputs, needed=only_output)
    ]
    node = (
        f"{covered.name}({', '.join(name for name, _ in inputs)})"
        f" -> ({', '.join(name for name, _ in outputs)})"
    )
    required = sorted(a.name for a in schema.attributes.values() if a.required)
    lines = [f"- name: {wanted.name}", "  why: TODO", f"  opset: {covered.since_version}"]
    lines += _types(types) if types else []
    lines.append(f"  node: {node}")
    lines += ["  attributes:", *(f"    {a}: TODO" for a in required)] if required else []
    for key, values in (("inputs", inputs), ("outputs", outputs)):
        shown = [f"    {name}: {value}" for name, value in values if name]
        lines += [f"  {key}:", *shown] if shown else [f"  {key}: {{}}"]
    return "\n".join(f"  {line}" for line in lines) + "\n"


def _types(types: list[str]) -> list[str]:
    text = f"types: {{{_PARAMETER}: [{', '.join(types)}]}}"
    return [f"  {line}" for line in textwrap.wrap(text, _WIDTH, subsequent_indent="    ")]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a stub is for: a type parameter of a schema, and its types of one form."""

    schema: _Schema
    parameter: str
    form: str
    types: list[str]

    @property
    def name(self) -> str:
        """The name of the case: the operator, its version, the parameter, what is around it."""
        around = re.sub(r"\W+", "_", re.sub(r"\(?tensor\(T\)\)*", "", self.form)).strip("_")
        version = str(self.schema.since_version)
        parts = (self.schema.name.lower(), version, self.parameter, around)
        return "_".join(filter(None, parts))

    def values(
        self,
        formals: Sequence[_Schema.FormalParameter],
        covered: Sequence[FormalCoverage],
        *,
        needed: bool,
    ) -> list[tuple[str, str]]:
        """Return the names and values of what is required; an omitted one has no name.

        With ``needed``, the first of the type parameter is given although it may be omitted.
        """
        option = _Schema.FormalParameterOption
        own = [k for k, formal in enumerate(formals) if formal.type_str == self.parameter]
        found = []
        for k, formal in enumerate(formals):
            given = (needed and k == own[0]) or formal.option == option.Single
            given = given or (formal.option == option.Variadic and formal.min_arity > 0)
            text = self.form if k in own else _a_type(formal, self.schema)
            rank = _rank(covered[k])
            if "string" in (self.types if k in own else text):
                rank = max(rank, 1)  # a scalar TODO would be a string
            shape = f"[{', '.join(['2'] * rank)}]"
            found.append((formal.name, _value(text, shape)) if given else ("", ""))
        while found and not found[-1][0]:
            found.pop()
        return found


def _rank(covered: FormalCoverage) -> int:
    """Return the rank that other cases have most often."""
    return max(covered.ranks, key=lambda rank: covered.ranks[rank], default=1)


def _a_type(formal: _Schema.FormalParameter, schema: _Schema) -> str:
    allowed = {c.type_param_str: list(c.allowed_type_strs) for c in schema.type_constraints}
    types = allowed.get(formal.type_str, [formal.type_str])
    return next((text for text in _PREFERRED if text in types), sorted(types)[0])


def _value(text: str, shape: str) -> str:
    """Return a value of a type, without its data."""
    found = re.fullmatch(r"(seq|optional|tensor|map)\((.*)\)", text)
    kind, inner = (found[1], found[2]) if found else ("tensor", text)
    if kind == "seq":
        return f"{{sequence: [{_value(inner, shape)}]}}"
    if kind == "optional":
        return f"{{optional: {_value(inner, shape)}}}"
    if kind == "map":
        return f'{{map: {{TODO: TODO}}, dtype: "{text}"}}'
    dtype = inner if inner == _PARAMETER else element_type(inner).name
    return f"{{dtype: {dtype}, shape: {shape}, data: TODO}}"
