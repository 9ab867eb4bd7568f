"""Checks a program that speaks the command protocol, with good cases and evil ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np
import onnx
from onnx import ModelProto, TypeProto, helper

from .. import __version__
from ..harness.backend import Unsupported
from ..harness.case import Value
from ..harness.dtypes import ELEMENT_TYPES, ElementType, dtype_name
from .command import KINDS, Program, ProgramError, ProgramFailed, ProgramSilent, run_in_folder
from .command_protocol import PROTOCOLS, Capabilities, Error, Ready, Start

#: Seconds for each answer.
LIMIT = 30.0
#: The opset of the cases, where the program has it.
OPSET = 14
#: The number of elements of the big tensor.
BIG = 2**22
#: A version of the protocol that will not come to be.
_NO_PROTOCOL = 999_999


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What one check wanted and saw; ``outcome`` is ``fine``, ``unsupported`` or ``fault``."""

    name: str
    outcome: str
    wanted: str
    seen: str


class _Fault(Exception):
    """What was seen is not what was wanted."""


@dataclass(slots=True)
class _Session:
    """The program under check; ``can`` is what it said it can do."""

    program: Program
    limit: float
    can: Capabilities = field(default_factory=Capabilities)
    number: int = 0

    def run(self, model: ModelProto, feeds: Mapping[str, Value], **more: Any) -> list[Value]:
        """Run a model."""
        self.number += 1
        return run_in_folder(self.program, self.number, model, feeds, limit=self.limit, **more)

    def opset(self, at_least: int = OPSET) -> int:
        """Return an opset that the program has, near a wanted one."""
        low, high = self.can.opsets.get("", (at_least, at_least))
        return min(max(at_least, low), high)


_Check = Callable[[_Session], str]


def check(command: str, limit: float = LIMIT) -> list[CheckResult]:
    """Run a program through all checks; after a failed handshake there are no others.

    Args: command, the part of ``command:PROGRAM ARGS`` after the colon; limit, in seconds, for
    each answer. Raises ``ValueError`` where there is no such program.
    """
    return list(iterate(command, limit))


def iterate(command: str, limit: float = LIMIT) -> Iterator[CheckResult]:
    """Yield the results of ``check`` one by one, as they come."""
    session = _Session(Program(command), limit)
    try:
        for name, wanted, function in _checks(session):
            result = _one(session, name, wanted, function)
            yield result
            if function is _handshake and result.outcome == "fault":
                return
    finally:
        session.program.kill()


def _checks(session: _Session) -> Iterator[tuple[str, str, _Check]]:
    """Yield the name of each check, what it wants, and its function."""
    yield "handshake", f"ready, with protocol {PROTOCOLS[0]}", _handshake
    yield "capabilities", "names of element types and kinds that ONNX has", _capabilities
    yield "picks a version", f"protocol {PROTOCOLS[0]} out of {_NO_PROTOCOL} and it", _negotiates
    yield "refuses a version", "an error of phase start, or the end", _refuses_version
    yield "two models", "the results of both, from one process", _two_models
    yield "unknown operator", "unsupported", _unknown_operator
    yield "no model", "an error", _no_model
    yield "model cut short", "an error", _cut_model
    yield "value that nothing gives", "an error", _dangling
    yield "input of a wrong type", "an error or unsupported", _wrong_type
    yield "missing input", "an error or unsupported", _missing_input
    yield "after an error", "a result, from the same process", _after_error
    yield "scalar", "float32 of shape []", _scalar
    yield "empty tensor", "float32 of shape [0, 3]", _empty
    yield "names", "a result, for names with spaces, quotes and other scripts", _names
    yield "unnamed output", "the first output of a Dropout without its second", _unnamed
    yield "big tensor", f"{BIG} elements of float32", _big
    for element in ELEMENT_TYPES.values():
        claimed = session.can.element_types
        if claimed is None or element.name in claimed:
            yield f"element type {element.name}", "the same bits", _element(element)
    for kind in ("sequence", "optional"):
        if session.can.kinds is None or kind in session.can.kinds:
            yield f"kind {kind}", "the same value", _kind(kind)
    yield "unknown message", "no answer to it, and a result for the next message", _unknown_message
    yield "end of input", "an end with status 0", _end


def _one(session: _Session, name: str, wanted: str, function: _Check) -> CheckResult:
    try:
        if function is not _handshake:
            session.program.start(session.limit)
        return CheckResult(name, "fine", wanted, function(session))
    except Unsupported as reason:
        return CheckResult(name, "unsupported", wanted, f"unsupported: {reason}")
    except ProgramError as error:
        return CheckResult(name, "fault", wanted, f"an error of phase {error.phase}: {error}")
    except (_Fault, ProgramFailed, ProgramSilent, OSError) as error:
        return CheckResult(name, "fault", wanted, str(error))


# The protocol itself -----------------------------------------------------------------------------


def _handshake(session: _Session) -> str:
    ready = session.program.start(session.limit)
    session.can = ready.capabilities
    return f"{ready.name} {ready.version}, protocol {ready.protocol}"


def _capabilities(session: _Session) -> str:
    can = session.can
    strange = [name for name in can.element_types or [] if name not in ELEMENT_TYPES]
    strange += [name for name in can.kinds or [] if name not in KINDS]
    if strange:
        raise _Fault(f"{', '.join(map(repr, strange))}; there are {', '.join(ELEMENT_TYPES)}")
    types = "not said" if can.element_types is None else f"{len(can.element_types)} element types"
    kinds = "not said" if can.kinds is None else ", ".join(can.kinds)
    return f"{types}; kinds: {kinds}"


def _started_with(session: _Session, protocols: list[int]) -> Ready | Error:
    """Start a new process with other versions than opcheck's own."""
    session.program.kill()
    session.program.launch()
    try:
        answer = session.program.ask(Start(protocols, __version__), session.limit)
    finally:
        session.program.kill()
    assert isinstance(answer, Ready | Error)
    return answer


def _negotiates(session: _Session) -> str:
    answer = _started_with(session, [_NO_PROTOCOL, *PROTOCOLS])
    if isinstance(answer, Error):
        raise _Fault(f"an error: {answer.message}")
    if answer.protocol not in PROTOCOLS:
        raise _Fault(f"protocol {answer.protocol}")
    return f"protocol {answer.protocol}"


def _refuses_version(session: _Session) -> str:
    try:
        answer = _started_with(session, [_NO_PROTOCOL])
    except ProgramFailed as ended:
        if "ended with status" in str(ended):
            return str(ended)
        raise
    if isinstance(answer, Ready):
        raise _Fault(f"ready, with protocol {answer.protocol}, when it was offered {_NO_PROTOCOL}")
    return f"an error: {answer.message}"


def _unknown_message(session: _Session) -> str:
    pid = session.program.pid
    session.program.send(msgspec.json.encode({"type": "from a later version", "id": 1}))
    seen = _identity(session, _floats(2), extra={"field of a later version": [1]})
    if session.program.pid != pid:
        raise _Fault("it answered the unknown message, or ended")
    return f"no answer, then {seen}"


def _end(session: _Session) -> str:
    status = session.program.close(session.limit)
    if status is None:
        raise _Fault(f"it still ran {session.limit:g} s after its stdin was closed")
    if status != 0:
        raise _Fault(f"an end with status {status}")
    return "an end with status 0"


# Models ------------------------------------------------------------------------------------------


def _model(
    session: _Session,
    nodes: Sequence[onnx.NodeProto],
    inputs: Mapping[str, TypeProto],
    outputs: Mapping[str, TypeProto],
    opset: int = OPSET,
) -> ModelProto:
    given = [helper.make_value_info(name, proto) for name, proto in inputs.items()]
    wanted = [helper.make_value_info(name, proto) for name, proto in outputs.items()]
    graph = helper.make_graph(nodes, "check", given, wanted)
    imports = [helper.make_opsetid("", session.opset(opset))]
    version = helper.find_min_ir_version_for(imports)
    domains = sorted({node.domain for node in nodes} - {""})
    imports += [helper.make_opsetid(domain, 1) for domain in domains]
    return helper.make_model(graph, opset_imports=imports, ir_version=version)


def _tensor(value: Value) -> TypeProto:
    number = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_type_proto(number, list(value.shape))


def _floats(count: int) -> Value:
    return np.arange(count, dtype=np.float32) - 1


def _copy(session: _Session, proto: TypeProto, opset: int = OPSET) -> ModelProto:
    node = helper.make_node("Identity", ["x"], ["y"])
    return _model(session, [node], {"x": proto}, {"y": proto}, opset)


def _identity(session: _Session, value: Value, opset: int = OPSET, **more: Any) -> str:
    """Run an Identity and compare its output bit by bit."""
    (got,) = session.run(_copy(session, _tensor(value), opset), {"x": value}, **more)
    return _same(got, value)


def _same(got: Value, wanted: Value) -> str:
    """Return a description of a value; raises ``_Fault`` where it is not the wanted one."""
    if isinstance(wanted, list):
        if not isinstance(got, list) or len(got) != len(wanted):
            raise _Fault(f"{type(got).__name__}, not a sequence of {len(wanted)}")
        return f"[{', '.join(_same(g, w) for g, w in zip(got, wanted, strict=True))}]"
    if not isinstance(got, np.ndarray):
        raise _Fault(f"{type(got).__name__}, not a tensor")
    seen = f"{dtype_name(got.dtype)} of shape {list(got.shape)}"
    if (got.dtype, got.shape) != (wanted.dtype, wanted.shape):
        raise _Fault(f"{seen}, not {dtype_name(wanted.dtype)} of shape {list(wanted.shape)}")
    same = got.tolist() == wanted.tolist() if got.dtype == object else _bits(got) == _bits(wanted)
    if not same:
        raise _Fault(f"{seen}, with other values: {got.reshape(-1)[:4].tolist()}")
    return seen


def _bits(array: Value) -> bytes:
    """Return the bytes of a tensor; a number of fewer bits than a byte has only its own."""
    found = next(t for t in ELEMENT_TYPES.values() if t.dtype == array.dtype)
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return bytes(data & np.uint8(2**found.bits - 1) if found.bits < 8 else data)


def _two_models(session: _Session) -> str:
    a, b = _floats(3), np.array([10, 20, 30], np.float32)
    proto = _tensor(a)
    add = helper.make_node("Add", ["a", "b"], ["c"])
    sums = _model(session, [add], {"a": proto, "b": proto}, {"c": proto})
    _identity(session, a)
    pid = session.program.pid
    (got,) = session.run(sums, {"b": b, "a": a})
    seen = _same(got, np.array([9, 20, 31], np.float32))
    if session.program.pid != pid:
        raise _Fault("the process ended after the first")
    return f"{seen}, twice"


def _unknown_operator(session: _Session) -> str:
    proto = _tensor(_floats(2))
    node = helper.make_node("NoSuchOperator", ["x"], ["y"], domain="opcheck.nowhere")
    model = _model(session, [node], {"x": proto}, {"y": proto})
    try:
        session.run(model, {"x": _floats(2)})
    except Unsupported as reason:
        return f"unsupported: {reason}"
    raise _Fault("a result")


def _rejected(session: _Session, model: ModelProto, feeds: Mapping[str, Value], **more: Any) -> str:
    try:
        session.run(model, feeds, **more)
    except ProgramError as error:
        return f"an error of phase {error.phase}: {error}"
    raise _Fault("a result")


def _must_be_error(session: _Session, model: ModelProto, data: bytes | None = None) -> str:
    try:
        return _rejected(session, model, {"x": _floats(2)}, model_bytes=data)
    except Unsupported as reason:
        raise _Fault(f"unsupported: {reason}") from None


def _no_model(session: _Session) -> str:
    return _must_be_error(session, _copy(session, _tensor(_floats(2))), b"\xff" * 64)


def _cut_model(session: _Session) -> str:
    model = _copy(session, _tensor(_floats(2)))
    return _must_be_error(session, model, model.SerializeToString()[:-1])


def _dangling(session: _Session) -> str:
    proto = _tensor(_floats(2))
    node = helper.make_node("Add", ["x", "nowhere"], ["y"])
    return _must_be_error(session, _model(session, [node], {"x": proto}, {"y": proto}))


def _wrong_type(session: _Session) -> str:
    model = _copy(session, _tensor(_floats(2)))
    return _rejected(session, model, {"x": np.array([1, 2], np.int32)})


def _missing_input(session: _Session) -> str:
    proto = _tensor(_floats(2))
    node = helper.make_node("Add", ["x", "b"], ["y"])
    model = _model(session, [node], {"x": proto, "b": proto}, {"y": proto})
    return _rejected(session, model, {"x": _floats(2)})


def _after_error(session: _Session) -> str:
    _no_model(session)
    pid = session.program.pid
    seen = _identity(session, _floats(2))
    if session.program.pid != pid:
        raise _Fault("the process ended after the error")
    return seen


def _scalar(session: _Session) -> str:
    return _identity(session, np.array(2.5, np.float32))


def _empty(session: _Session) -> str:
    return _identity(session, np.zeros((0, 3), np.float32))


def _names(session: _Session) -> str:
    names = ['in put "1"', "\u00e4\u5165\\\U0001f600"]
    value = _floats(2)
    proto = _tensor(value)
    node = helper.make_node("Identity", names[:1], names[1:])
    model = _model(session, [node], {names[0]: proto}, {names[1]: proto})
    (got,) = session.run(model, {names[0]: value})
    return _same(got, value)


def _unnamed(session: _Session) -> str:
    proto = _tensor(_floats(2))
    node = helper.make_node("Dropout", ["x"], ["y", ""])
    (got,) = session.run(_model(session, [node], {"x": proto}, {"y": proto}), {"x": _floats(2)})
    return _same(got, _floats(2))


def _big(session: _Session) -> str:
    return _identity(session, _floats(BIG).reshape(4, -1))


def _element(element: ElementType) -> _Check:
    def check_element(session: _Session) -> str:
        opset = _opset_of(element)
        if opset is None or session.opset(opset) < opset:
            raise Unsupported("Identity takes it in no opset that the program has")
        return _identity(session, _samples(element), opset)

    return check_element


def _opset_of(element: ElementType) -> int | None:
    """Return the first opset from ``OPSET`` on whose Identity takes an element type."""
    for opset in range(OPSET, onnx.defs.onnx_opset_version() + 1):
        schema = onnx.defs.get_schema("Identity", opset)
        allowed = {t for c in schema.type_constraints for t in c.allowed_type_strs}
        if f"tensor({element.text})" in allowed:
            return opset
    return None


def _samples(element: ElementType) -> Value:
    """Return five values of a type, an odd number on purpose: types of 4 bits share bytes."""
    if element.name == "string":
        return np.array(["", "a", "\u00e4\u5165", 'quote "', "\n"], dtype=object)
    if element.name == "bool":
        return np.array([True, False, False, True, True])
    if element.is_integer:
        low = -(2 ** (element.bits - 1)) if element.name.startswith("int") else 0
        high = low + 2**element.bits - 1
        return np.array([low, high, 1, 0, high - 1], object).astype(element.dtype)
    if element.is_complex:
        return np.array([1 - 2j, 0, -0.5j, 3, 1], element.dtype)
    return np.array([1, 2, 4, 0.5, 1]).astype(element.dtype)


def _kind(kind: str) -> _Check:
    def check_kind(session: _Session) -> str:
        value = [_floats(2), _floats(3)]
        inner = helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None)
        proto = helper.make_sequence_type_proto(inner)
        if kind == "optional":
            proto = helper.make_optional_type_proto(proto)
        (got,) = session.run(_copy(session, proto, 16), {"x": value})
        return _same(got, value)

    return check_kind
