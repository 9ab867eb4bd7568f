"""The messages of the protocol that ``command:PROGRAM`` speaks, and their JSON Schema."""

from __future__ import annotations

import json
from typing import Literal

import msgspec

#: The versions of the protocol that are spoken here, the preferred one first.
PROTOCOLS = (1,)
#: The longest line a program may write, in bytes.
MAX_LINE = 2**20

ValueKind = Literal["tensor", "sequence", "optional", "map"]


class Message(msgspec.Struct, tag_field="type", tag=str.lower, frozen=True, omit_defaults=True):
    """One line; the field ``type`` says which."""


class Start(Message, frozen=True):
    """opcheck says which versions of the protocol it speaks."""

    protocols: list[int]
    opcheck: str


class Capabilities(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a program can do; what it leaves out is not known, and tried."""

    #: Names of element types that inputs and outputs of models may have: ``float32``, …
    element_types: list[str] | None = None
    #: ``tensor``, ``sequence``, ``optional``, ``map``.
    kinds: list[str] | None = None
    #: The lowest and the highest opset version by domain; ``""`` is ``ai.onnx``.
    opsets: dict[str, tuple[int, int]] = {}
    #: The lowest and the highest IR version.
    ir_versions: tuple[int, int] | None = None


class Ready(Message, frozen=True):
    """The program says who it is, and the version of the protocol that it has picked."""

    protocol: int
    name: str
    version: str
    capabilities: Capabilities = Capabilities()


class File(msgspec.Struct, frozen=True):
    """A value of the model and the file, inside the folder, that holds it or will hold it."""

    name: str
    file: str
    kind: ValueKind


class Run(Message, frozen=True):
    """opcheck asks for the outputs of a model."""

    id: int
    folder: str
    model: str
    inputs: list[File]
    outputs: list[File]


class Result(Message, frozen=True):
    """The program has written every output file."""

    id: int


class NotSupported(Message, frozen=True, tag="unsupported"):
    """The program does not implement what the model needs."""

    id: int
    reason: str


class Error(Message, frozen=True):
    """The program rejects the model or the inputs, or could not run them."""

    message: str
    phase: Literal["start", "load", "run"]
    id: int | None = None


Request = Start | Run
Answer = Ready | Result | NotSupported | Error
ANSWERS: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)


def schema() -> str:
    """Return the JSON Schema of the protocol; ``docs/command-protocol.schema.json`` holds it."""
    types = (Start, Ready, Run, Result, NotSupported, Error)
    refs, definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://github.com/opcheck/opcheck/docs/command-protocol.schema.json",
        "title": "One message of the command protocol of opcheck, version 1",
        "oneOf": list(refs),
        "$defs": dict(sorted(definitions.items())),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
