"""A miniature of a program for the command protocol, good or evil in one way.

``python command_program.py EVIL`` names the way; without one it is good.
It uses the standard library alone, to start fast: it copies tensors, and adds float32 ones.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

EVIL = sys.argv[1] if len(sys.argv) > 1 else ""


class Refused(Exception):
    """The model or the inputs are wrong."""


def say(message):
    print(json.dumps(message), flush=True)


def fields(data):
    """Return the fields of a protobuf message, as pairs of number and value."""
    found, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    try:
        while at < len(data):
            key = varint()
            if key & 7 == 0:
                found.append((key >> 3, varint()))
            elif key & 7 == 2:
                size = varint()
                if at + size > len(data):
                    raise IndexError
                found.append((key >> 3, data[at : at + size]))
                at += size
            else:
                raise Refused("no protobuf message")
    except IndexError:
        raise Refused("the message is cut short") from None
    return found


def floats(data):
    raw = dict(fields(data))[9]
    return struct.unpack(f"<{len(raw) // 4}f", raw)


def compute(message):
    """Return the bytes of the only output."""
    folder = Path(message["folder"])
    model = (folder / message["model"]).read_bytes()
    if EVIL != "accepts-anything":
        fields(model)
    if b"NoSuchOperator" in model and EVIL != "accepts-anything":
        raise NotImplementedError("NoSuchOperator")
    inputs = {i["name"]: (folder / i["file"]).read_bytes() for i in message["inputs"]}
    first = next(iter(inputs.values()))
    if EVIL == "accepts-anything":
        return first
    if dict(fields(first))[2] not in (1, 7):
        raise Refused("the element type")
    if b"Add" not in model:
        return first
    if len(inputs) < 2:
        raise Refused("an input is missing")
    sums = [a + b for a, b in zip(*map(floats, inputs.values()), strict=True)]
    raw = struct.pack(f"<{len(sums)}f", *sums)
    return bytes([8, len(sums), 16, 1, 0x4A, len(raw)]) + raw


def start(message):
    if EVIL == "silent-start":
        time.sleep(60)
    if EVIL == "dies-at-start":
        sys.exit(4)
    protocol = 7 if EVIL == "wrong-version" else 1
    if EVIL == "refuses" or (1 not in message["protocols"] and EVIL != "any-version"):
        return say({"type": "error", "phase": "start", "message": "this is not for me"})
    types = ["float32", "int64"] if EVIL != "strange-type" else ["float"]
    can = {"element_types": types, "kinds": ["tensor"], "opsets": {"": [13, 20]}, "new": 1}
    say(
        {"type": "ready", "protocol": protocol, "name": "mini", "version": "1", "capabilities": can}
    )
    return None


def before_answer(number):
    """Do what comes in place of an answer."""
    if EVIL == "silent-run":
        time.sleep(60)
    if EVIL == "garbage":
        print("Loading model...", flush=True)
    if EVIL == "not-utf-8":
        os.write(1, b'{"type":"result","id":\xff\xfe}\n')
    if EVIL == "no-id":
        say({"type": "result"})
    if EVIL == "unknown-type":
        say({"type": "done", "id": number})
    if EVIL == "floods":
        while True:
            os.write(1, b"x" * 65536)
    if EVIL == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if EVIL == "exits":
        sys.exit(3)
    if EVIL == "half-a-line":
        os.write(1, b'{"type":"resu')
        sys.exit(3)
    if EVIL == "closes-stdout":
        os.close(1)
        time.sleep(60)


def run(message):
    number = message["id"]
    before_answer(number)
    try:
        data = compute(message)
    except NotImplementedError as error:
        return say({"type": "unsupported", "id": number, "reason": str(error)})
    except Refused as error:
        say({"type": "error", "id": number, "phase": "load", "message": str(error)})
        return sys.exit(5) if EVIL == "dies-after-error" else None
    if EVIL == "truncates":
        data = data[:-2]
    if EVIL == "wrong-values":
        data = data[:-1] + bytes([data[-1] ^ 1])
    if EVIL == "no-tensor":
        data = b""
    if EVIL != "writes-nothing":
        (Path(message["folder"]) / message["outputs"][0]["file"]).write_bytes(data)
    result = {"type": "result", "id": number + (1 if EVIL == "wrong-id" else 0), "more": [1]}
    if EVIL == "two-answers":
        print(f"{json.dumps(result)}\n{json.dumps(result)}", flush=True)
    else:
        say(result)
    if EVIL == "two-answers-late":
        time.sleep(0.05)
        say(result)
    if EVIL == "dies-later":
        sys.exit(6)
    return None


def main():
    if EVIL in ("ignores-eof", "leaves-a-child"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        child = subprocess.Popen(["sleep", "60"]) if EVIL == "leaves-a-child" else None
        pid = child.pid if child else 0
        print(f"child {pid}, mine {os.getpid()}", file=sys.stderr, flush=True)
    for line in sys.stdin:
        message = json.loads(line)
        known = {"start": start, "run": run}.get(message["type"])
        if known is not None:
            known(message)
        elif EVIL == "dies-of-the-unknown":
            sys.exit(7)
        elif EVIL == "answers-the-unknown":
            say({"type": "error", "id": 1, "phase": "run", "message": "what?"})
    if EVIL == "ignores-eof":
        time.sleep(60)
    sys.exit(8 if EVIL == "bad-status" else 0)


main()
