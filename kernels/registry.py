"""The registry of kernels, by domain, operator and the ``since_version`` of its schema.

A kernel is a plain function.
Its inputs are positional, in the order of the schema; an omitted optional input is ``None``.
Its attributes are keyword-only.
Their defaults come from ``onnx.defs`` and are written nowhere else.
It returns one value, or a tuple with one value per output.

A kernel that has to know how many outputs the node names takes the keyword ``n_outputs``; the
one of Gradient takes ``subgraph``, the part of the graph that it differentiates.

Values are plain: a tensor is a ``numpy.ndarray`` (strings have dtype ``object``), a sequence is a
``list``, an empty optional is ``None`` (a filled one is its value), a map is a ``dict``.
No kernel changes its inputs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import onnx.defs

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)
Option = onnx.defs.OpSchema.FormalParameterOption

#: Keywords that the evaluator fills in, and that are no attributes.
CONTEXT_KEYWORDS = frozenset({"n_outputs", "subgraph"})


class Unsupported(Exception):
    """An operator, a version of it or a type has no built-in kernel."""


class MissingPackage(Unsupported):
    """A kernel needs an optional package, which is not installed."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel as registered: the function, and what the evaluator has to hand it."""

    domain: str
    operator: str
    since_version: int
    function: Function
    #: What it takes besides inputs and attributes: some of ``CONTEXT_KEYWORDS``.
    context: frozenset[str]
    #: A function that does the same for arguments without attributes, with fewer detours.
    direct: Function | None = None


_kernels: dict[tuple[str, str, int], Kernel] = {}


def kernel(
    operator: str,
    *,
    since_version: int | tuple[int, ...],
    domain: str = "",
    direct: Function | None = None,
) -> Callable[[F], F]:
    """Register a function as the kernel of ``operator`` for the named schema versions.

    ``direct`` is what the kernel does, as a function of the inputs alone: one of NumPy's, say.
    Raises ``TypeError`` where the function's signature and the schema disagree, and ``ValueError``
    where ``onnx.defs`` has no such schema or the place is taken.
    """
    versions = since_version if isinstance(since_version, tuple) else (since_version,)

    def register(function: F) -> F:
        for version in versions:
            schema = _exact_schema(operator, version, domain)
            keywords = _check_signature(function, schema)
            key = (domain, operator, version)
            if key in _kernels:
                raise ValueError(f"{operator}-{version} has a kernel already")
            _kernels[key] = Kernel(*key, function, keywords & CONTEXT_KEYWORDS, direct)
        return function

    return register


def find(schema: onnx.defs.OpSchema) -> Kernel:
    """Return the kernel of a schema; raises ``Unsupported`` where there is none."""
    try:
        return _kernels[schema.domain, schema.name, schema.since_version]
    except KeyError:
        domain = schema.domain or "ai.onnx"
        raise Unsupported(
            f"{domain} {schema.name}-{schema.since_version} has no built-in kernel"
        ) from None


def registered() -> frozenset[tuple[str, str, int]]:
    """Return all (domain, operator, since_version) that have a kernel."""
    return frozenset(_kernels)


def _exact_schema(operator: str, version: int, domain: str) -> onnx.defs.OpSchema:
    schema = onnx.defs.get_schema(operator, version, domain)
    if schema.since_version != version:
        raise ValueError(f"{operator} has no schema that starts at version {version}")
    return schema


def _check_signature(function: Function, schema: onnx.defs.OpSchema) -> frozenset[str]:
    """Hold a kernel's parameters against its schema; return its keywords."""
    parameters = inspect.signature(function).parameters.values()
    keywords = frozenset(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = sum(p.default is p.empty for p in positional)
    where = f"{function.__qualname__} for {schema.name}-{schema.since_version}"
    if keywords - CONTEXT_KEYWORDS != set(schema.attributes):
        raise TypeError(
            f"{where}: the keywords are {sorted(keywords)}, "
            f"the schema's attributes are {sorted(schema.attributes)}"
        )
    last_is_variadic = bool(schema.inputs) and schema.inputs[-1].option == Option.Variadic
    if variadic != last_is_variadic:
        seen, wanted = ("a" if v else "no" for v in (variadic, last_is_variadic))
        raise TypeError(f"{where}: {seen} variadic input, the schema has {wanted} variadic input")
    if len(positional) + variadic != len(schema.inputs):
        raise TypeError(
            f"{where}: {len(positional) + variadic} inputs, the schema has {len(schema.inputs)}"
        )
    if required > schema.min_input:
        raise TypeError(
            f"{where}: {required} inputs have no default, the schema requires {schema.min_input}"
        )
    return keywords
