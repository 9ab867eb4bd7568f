"""Cases as bytes, as archives hold them, and back."""

from __future__ import annotations

import struct
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, TypeProto, helper

from .archive import Head
from .case import Call, Case, Expected, MustFail, Tolerance, Value
from .dtypes import element_type_of, element_type_of_number
from .literals import Real

#: The extension types: the text of an exact literal, and a complex number.
_REAL, _COMPLEX = 1, 2


class _Packed(msgspec.Struct, array_like=True):
    """A value: a tensor with its bytes or strings, or a container.

    ``data`` is ``None`` for a tensor without values. ``type`` is that of an expected container.
    """

    kind: str
    number: int = 0
    shape: tuple[int | None, ...] = ()
    data: bytes | list[str] | None = None
    undefined: bytes = b""
    items: list[_Packed] = []
    keys: list[str | int] = []
    scalars: list[Any] = []
    type: bytes = b""


class _Alternative(msgspec.Struct, array_like=True):
    """The outputs in order; without them, the model must fail."""

    outputs: list[_Packed] | None
    phase: str = ""
    match: str = ""


#: What ``Tolerance`` holds, in order.
_Allowed = tuple[float | None, float | None, float | None, bool, bool]


class _Body(msgspec.Struct, array_like=True):
    """All of a case that its head does not hold."""

    model: bytes
    inputs: list[tuple[str, _Packed]]
    outputs: list[str]
    alternatives: list[_Alternative]
    spec: str
    node: str
    attributes: dict[str, Any]
    text: str
    tolerances: dict[str, _Allowed]


def _as_extension(value: Any) -> msgspec.msgpack.Ext:
    if isinstance(value, complex):
        return msgspec.msgpack.Ext(_COMPLEX, struct.pack("<dd", value.real, value.imag))
    return msgspec.msgpack.Ext(_REAL, value.text.encode())


def _of_extension(code: int, data: memoryview) -> Real | complex:
    if code == _COMPLEX:
        return complex(*struct.unpack("<dd", data))
    return Real(bytes(data).decode())


_encode = msgspec.msgpack.Encoder(enc_hook=_as_extension).encode
_decode = msgspec.msgpack.Decoder(_Body, ext_hook=_of_extension).decode


def pack(case: Case) -> tuple[Head, bytes]:
    """Return what an archive holds of a case: what its index tells, and the rest."""
    head = Head(
        case.name, case.variant, case.line, case.operator, case.domain, case.opset,
        case.since_version, sorted(case.dtypes), case.why,
    )  # fmt: skip
    body = _Body(
        case.call.model.SerializeToString(deterministic=True),
        [(name, _packed_value(value)) for name, value in case.call.inputs.items()],
        list(case.output_names),
        [
            _Alternative(None, a.phase, a.match)
            if isinstance(a, MustFail)
            else _Alternative([_packed(value) for value in a])
            for a in case.alternatives
        ],
        case.spec,
        case.node,
        dict(case.attributes),
        case.model_text,
        {
            name: (t.ulp, t.rtol, t.atol, t.signed_zero, t.pairs)
            for name, t in case.tolerances.items()
        },
    )
    return head, _encode(body)


def unpack(head: Head, data: bytes, file: str) -> Case:
    """Return the case of a file; raises ``msgspec.MsgspecError`` or ``ValueError``."""
    body = _decode(data)
    return Case(
        **head.known(),
        file=file,
        call=Call(
            ModelProto.FromString(body.model),
            {name: _unpacked_value(value) for name, value in body.inputs},
        ),
        output_names=tuple(body.outputs),
        alternatives=tuple(
            MustFail(a.phase, a.match) if a.outputs is None else tuple(map(_unpacked, a.outputs))
            for a in body.alternatives
        ),
        spec=body.spec,
        node=body.node,
        attributes=body.attributes,
        model_text=body.text,
        tolerances={name: Tolerance(*allowed) for name, allowed in body.tolerances.items()},
    )


def _packed_value(value: Value) -> _Packed:
    """Pack an input, which tells what it is."""
    if value is None:
        return _Packed("none")
    if isinstance(value, list):
        return _Packed("sequence", items=[_packed_value(item) for item in value])
    if isinstance(value, dict):
        return _Packed("map", keys=list(value), scalars=list(value.values()))
    return _packed_tensor(value)


def _unpacked_value(stored: _Packed) -> Value:
    if stored.kind == "none":
        return None
    if stored.kind == "sequence":
        return [_unpacked_value(item) for item in stored.items]
    if stored.kind == "map":
        return dict(zip(stored.keys, stored.scalars, strict=True))
    return _unpacked_tensor(stored)


def _packed(value: Expected) -> _Packed:
    """Pack what is expected of an output."""
    if value.kind != "tensor":
        items, keys = [_packed(item) for item in value.items], list(value.keys)
        proto = value.type.SerializeToString(deterministic=True)
        return _Packed(value.kind, items=items, keys=keys, type=proto)
    if value.value is None:
        return _Packed("tensor", value.type.tensor_type.elem_type, value.shape)
    packed = _packed_tensor(value.value)
    if value.undefined is not None:
        packed.undefined = value.undefined.tobytes()
    return packed


def _unpacked(stored: _Packed) -> Expected:
    if stored.kind != "tensor":
        proto = TypeProto.FromString(stored.type)
        items = tuple(map(_unpacked, stored.items))
        return Expected(stored.kind, proto, items=items, keys=tuple(stored.keys))
    proto = helper.make_tensor_type_proto(stored.number, stored.shape)
    element = element_type_of_number(stored.number)
    if element is None:
        raise ValueError(stored.number)
    if stored.data is None:
        return Expected("tensor", proto, element.dtype, stored.shape)
    undefined = None
    array = _unpacked_tensor(stored)
    if stored.undefined:
        undefined = np.frombuffer(stored.undefined, np.bool_).reshape(array.shape).copy()
    return Expected("tensor", proto, element.dtype, array.shape, array, undefined)


def _packed_tensor(array: NDArray[Any]) -> _Packed:
    element = element_type_of(array.dtype)
    assert element is not None
    number = element.number
    if array.dtype.kind == "O":
        return _Packed("tensor", number, array.shape, array.reshape(-1).tolist())
    return _Packed("tensor", number, array.shape, array.tobytes())


def _unpacked_tensor(stored: _Packed) -> NDArray[Any]:
    element = element_type_of_number(stored.number)
    if element is None or stored.data is None:
        raise ValueError(stored.number)
    shape = tuple(size or 0 for size in stored.shape)
    if isinstance(stored.data, list):
        array = np.empty(len(stored.data), object)
        array[:] = stored.data
        return array.reshape(shape)
    return np.frombuffer(stored.data, element.dtype).reshape(shape).copy()
