"""What ``onnx.defs`` says of an operator, as plain frozen values: the page of ``opcheck spec``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from textwrap import dedent
from typing import Any

import msgspec
import numpy as np
import onnx.defs
from onnx import helper

from .errors import shorten

#: The name of the domain that models leave empty.
MAIN_DOMAIN = "ai.onnx"
#: How many names an error suggests.
_NEAR = 3


class UnknownOperator(ValueError):
    """A name of an operator, or a version of it, that ``onnx.defs`` does not have."""


class Parameter(msgspec.Struct, frozen=True):
    """An input or an output: its type parameter or type, and how many values it stands for.

    ``option`` is ``single``, ``optional`` or ``variadic``, ``minimum`` the least number of values.
    ``same_type`` says of a variadic one that all its values have one type.
    """

    name: str
    type: str
    text: str
    option: str = "single"
    minimum: int = 1
    same_type: bool = True


class Attribute(msgspec.Struct, frozen=True):
    """An attribute; ``type`` as ONNX spells it (``INTS``), ``default`` null where it has none."""

    name: str
    type: str
    text: str
    required: bool = False
    default: Any = None


class TypeConstraint(msgspec.Struct, frozen=True):
    """A type parameter, and the types it stands for, sorted."""

    name: str
    text: str
    types: tuple[str, ...]


class Example(msgspec.Struct, frozen=True):
    """A case, as pages print it.

    ``case`` is its id, ``node`` the block with the node, ``values`` the one with inputs and
    outputs, ``graphs`` the text of each graph attribute.
    """

    name: str
    case: str
    opset: int
    why: str
    node: str
    values: str
    graphs: dict[str, str]


class Change(msgspec.Struct, frozen=True):
    """What became of one input, output, attribute or type parameter.

    ``kind`` is ``added``, ``removed`` or ``changed``.
    """

    kind: str
    name: str
    details: tuple[str, ...]
    breaking: bool = False


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """How two versions of an operator differ.

    ``similarity`` is the ratio of the lines of their texts that agree, ``diff`` the unified diff.
    """

    old_version: int
    new_version: int
    breaking: bool
    operator: tuple[Change, ...] = ()
    inputs: tuple[Change, ...] = ()
    outputs: tuple[Change, ...] = ()
    attributes: tuple[Change, ...] = ()
    type_constraints: tuple[Change, ...] = ()
    similarity: float = 1.0
    lines_added: int = 0
    lines_removed: int = 0
    diff: tuple[str, ...] = ()


class OperatorPage(msgspec.Struct, frozen=True, kw_only=True):
    """One version of an operator: all that its page shows.

    ``versions`` are all there are, ascending.
    The examples come from ``sources``, the bundled cases where there are none; ``more_examples``
    is how many cases there are beyond ``examples``.
    ``difference`` is null for a first version.
    """

    name: str
    domain: str
    since_version: int
    family: str
    versions: tuple[int, ...]
    deprecated: bool
    text: str
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    attributes: tuple[Attribute, ...]
    type_constraints: tuple[TypeConstraint, ...]
    sources: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    more_examples: int = 0
    difference: Difference | None = None

    @property
    def latest(self) -> bool:
        """Whether there is no later version."""
        return self.since_version == self.versions[-1]

    @property
    def previous(self) -> int | None:
        """The version before this one."""
        earlier = [v for v in self.versions if v < self.since_version]
        return earlier[-1] if earlier else None

    @property
    def full_name(self) -> str:
        """The name, with its domain where that is not the main one."""
        return shown_name("" if self.domain == MAIN_DOMAIN else self.domain, self.name)


def shown_name(domain: str, name: str) -> str:
    """Return an operator's name with its domain, if it has one."""
    return f"{domain}.{name}" if domain else name


@cache
def schemas() -> dict[tuple[str, str], dict[int, onnx.defs.OpSchema]]:
    """Return all schemas by domain and name, then by version; in this order, all ascending."""
    found: dict[tuple[str, str], dict[int, onnx.defs.OpSchema]] = {}
    every = onnx.defs.get_all_schemas_with_history()
    for schema in sorted(every, key=lambda s: (s.domain, s.name, s.since_version)):
        found.setdefault((schema.domain, schema.name), {})[schema.since_version] = schema
    return found


def find(text: str) -> onnx.defs.OpSchema:
    """Return the schema that ``Loop``, ``Loop-11``, ``ai.onnx.ml.Scaler-1`` and the like name.

    Without a version, the latest. Raises ``UnknownOperator``.
    """
    parts = re.fullmatch(r"(?P<name>.+?)(?:-(?P<version>[0-9]{1,9}))?", text.strip(), re.DOTALL)
    key = _find_name(parts["name"] if parts else text)
    versions = schemas()[key]
    if parts is None or parts["version"] is None:
        return versions[max(versions)]
    return find_version(key, int(parts["version"]))


def find_version(key: tuple[str, str], version: int) -> onnx.defs.OpSchema:
    """Return one version of an operator; raises ``UnknownOperator``."""
    versions = schemas()[key]
    if version in versions:
        return versions[version]
    name = shown_name(*key)
    message = f"{name} has no version {version}"
    earlier = [v for v in versions if v < version]
    if earlier and version <= _latest_opset(key[0]):
        message += f"; in opset {version}, {name}-{max(earlier)} is valid"
    there = ", ".join(f"{name}-{v}" for v in versions)
    raise UnknownOperator(f"{message}; there {'are' if len(versions) > 1 else 'is'} {there}")


def _latest_opset(domain: str) -> int:
    first_and_last = dict(onnx.defs.C.schema_version_map()).get(domain, (0, 0))
    return int(first_and_last[1])


def _find_name(text: str) -> tuple[str, str]:
    """Return domain and name of an operator."""
    domain, _, name = text.replace("::", ".").rpartition(".")
    known = schemas()
    if domain:
        key = ("" if domain == MAIN_DOMAIN else domain, name)
        if key in known:
            return key
    else:
        found = [key for key in known if key[1] == name]
        if found:
            return found[0]  # the main domain is the first
    near = _near(name)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise UnknownOperator(f"onnx {onnx.__version__} has no operator {shorten(text)}{hint}")


def _near(name: str) -> list[str]:
    """Return the names of operators that are like one, whatever its case."""
    by_lower: dict[str, list[str]] = {}
    for key in schemas():
        by_lower.setdefault(key[1].lower(), []).append(shown_name(*key))
    exact = [name.lower()] if name.lower() in by_lower else []
    near = exact or get_close_matches(name.lower(), by_lower, n=_NEAR, cutoff=0.6)
    return [full for lower in near for full in by_lower[lower]]


def describe(schema: onnx.defs.OpSchema) -> OperatorPage:
    """Return what a schema says; examples and a difference are added by whoever has them."""
    return OperatorPage(
        name=schema.name,
        domain=schema.domain or MAIN_DOMAIN,
        since_version=schema.since_version,
        family=re.split(r"[\\/]", schema.file)[-2],
        versions=tuple(schemas()[schema.domain, schema.name]),
        deprecated=schema.deprecated,
        text=dedent(schema.doc or ""),
        inputs=_parameters(schema.inputs),
        outputs=_parameters(schema.outputs),
        attributes=tuple(
            Attribute(name, _enum(a.type), a.description.strip(), a.required, _default(a))
            for name, a in sorted(schema.attributes.items())
        ),
        type_constraints=tuple(
            TypeConstraint(
                c.type_param_str, c.description.strip(), tuple(sorted(c.allowed_type_strs))
            )
            for c in schema.type_constraints
        ),
    )


def _parameters(formals: Iterable[onnx.defs.OpSchema.FormalParameter]) -> tuple[Parameter, ...]:
    found = []
    for formal in formals:
        option = _enum(formal.option).lower()
        minimum = {"single": 1, "optional": 0}.get(option, formal.min_arity)
        text, same_type = formal.description.strip(), formal.is_homogeneous
        found.append(Parameter(formal.name, formal.type_str, text, option, minimum, same_type))
    return tuple(found)


def _enum(member: Any) -> str:
    """Return the name of a member of one of onnx's enumerations, whose stubs have none."""
    return str(member.name)


def _default(attribute: onnx.defs.OpSchema.Attribute) -> Any:
    """Return a default in plain values; a float as the shortest decimal of its float32."""
    if attribute.required or not attribute.default_value.type:
        return None
    return _plain(helper.get_attribute_value(attribute.default_value))


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    if isinstance(value, float):
        return float(str(np.float32(value)))
    if isinstance(value, int | str):
        return value
    return [_plain(item) for item in value]
