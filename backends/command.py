"""Any program in any language, spoken to over its stdin and stdout.

``docs/command-protocol.md`` describes the protocol.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from multiprocessing import util
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from onnx import ModelProto, TypeProto

from .. import __version__
from ..harness.backend import Runner, Unsupported
from ..harness.case import Value
from ..harness.dtypes import element_type_of, element_type_of_number
from .command_protocol import (
    ANSWERS,
    MAX_LINE,
    PROTOCOLS,
    Answer,
    Capabilities,
    Error,
    File,
    NotSupported,
    Ready,
    Request,
    Run,
    Start,
)
from .command_values import from_proto, kind_of, to_proto

#: Seconds in which a program must answer the handshake.
START_LIMIT = 60.0
#: Seconds that a program has to end once its stdin is closed.
EXIT_LIMIT = 2.0

KINDS = ("tensor", "sequence", "optional", "map")

# Runs the program as its child, in one process group, and ends as the program has ended.
# When opcheck's process dies, however that happens, the kernel tells it, and it kills the group.
_SUPERVISOR = """
import ctypes, os, signal, sys
prctl = ctypes.CDLL(None).prctl
prctl(1, signal.SIGTERM, 0, 0, 0)
signal.signal(signal.SIGTERM, lambda *_: os.killpg(0, signal.SIGKILL))
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
child = os.fork()
if child == 0:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.execvp(sys.argv[2], sys.argv[2:])
os.close(0)
os.close(1)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
if code < 0:
    prctl(4, 0, 0, 0, 0)
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""


class ProgramFailed(ChildProcessError):
    """The program died, or broke the protocol and was killed for it.

    It is never a rejection of the model: a case that must be an error does not pass by it.
    """


class ProgramSilent(TimeoutError):
    """The program gave no answer in time and was killed for it."""


class ProgramError(RuntimeError):
    """The program rejected a model or its inputs; ``phase`` is ``load`` or ``run``."""

    def __init__(self, message: str, phase: str) -> None:
        super().__init__(message)
        self.phase = phase


class Command:
    """Runs models with the program that ``argument`` names, with its arguments.

    The program starts at once, and again when a case needs it after it has died.
    """

    def __init__(self, argument: str = "") -> None:
        self.name = f"command:{argument}"
        self._program = Program(argument)
        self._number = 0
        self._program.start()
        # Unlike atexit, this runs in worker processes too.
        util.Finalize(self, self._program.close, exitpriority=10)

    def version(self) -> str:
        """Return the name and the version that the program gives itself."""
        ready = self._program.start()
        return f"{ready.name} {ready.version}"

    def prepare(self, model: ModelProto) -> Runner:
        """Compare what the model needs with what the program says it can do.

        The program loads the model when it runs it; ``ProgramError`` keeps the phase.
        """
        can = self._program.start().capabilities
        missing = lacking(can, model)
        if missing:
            raise Unsupported(f"{self._program.label} says that {missing}")

        def run(feeds: Mapping[str, Value]) -> Sequence[Value]:
            missing = lacking_for(can, feeds)
            if missing:
                raise Unsupported(f"{self._program.label} says that {missing}")
            self._number += 1
            return run_in_folder(self._program, self._number, model, feeds)

        return run

    def close(self) -> None:
        """End the program."""
        self._program.close()


def lacking(can: Capabilities, model: ModelProto) -> str:
    """Say what a model needs and a program does not have; empty where nothing is known."""
    if can.ir_versions and not can.ir_versions[0] <= model.ir_version <= can.ir_versions[1]:
        low, high = can.ir_versions
        return f"it reads IR versions {low} to {high}, and the model has {model.ir_version}"
    for entry in model.opset_import:
        domain = "" if entry.domain == "ai.onnx" else entry.domain
        low, high = can.opsets.get(domain, (entry.version, entry.version))
        if not low <= entry.version <= high:
            said = domain or "ai.onnx"
            return (
                f"it has the opsets {low} to {high} of {said}, and the model uses {entry.version}"
            )
    for value in (*model.graph.input, *model.graph.output):
        missing = _lacking_type(can, value.type)
        if missing:
            return missing
    return ""


def _lacking_type(can: Capabilities, proto: TypeProto) -> str:
    which = str(proto.WhichOneof("value") or "").removesuffix("_type")
    if can.kinds is not None and which in KINDS and which not in can.kinds:
        return f"it takes no {which}"
    if which == "tensor":
        found = element_type_of_number(proto.tensor_type.elem_type)
        return _lacking_element(can, found.name) if found else ""
    if which in ("sequence", "optional"):
        return _lacking_type(can, getattr(proto, f"{which}_type").elem_type)
    return _lacking_type(can, proto.map_type.value_type) if which == "map" else ""


def _lacking_element(can: Capabilities, name: str) -> str:
    if can.element_types is None or name in can.element_types:
        return ""
    return f"it takes no {name}"


def lacking_for(can: Capabilities, feeds: Mapping[str, Value]) -> str:
    """Say which element type of the inputs a program does not have."""
    for value in feeds.values():
        found = element_type_of(value.dtype) if isinstance(value, np.ndarray) else None
        missing = _lacking_element(can, found.name) if found else ""
        if missing:
            return missing
    return ""


# Cases as files ---------------------------------------------------------------------------------


def run_in_folder(
    program: Program,
    number: int,
    model: ModelProto,
    feeds: Mapping[str, Value],
    *,
    model_bytes: bytes | None = None,
    extra: Mapping[str, Any] | None = None,
    limit: float | None = None,
) -> list[Value]:
    """Write a case into a folder of its own, have it run, and read the outputs.

    Args: model_bytes, what the model's file is to hold instead of the model.
    extra, more fields of the message than the protocol has.
    limit, in seconds; without one the caller's own process is expected to have one.
    """
    with tempfile.TemporaryDirectory(prefix="opcheck-command-") as name:
        folder = Path(name)
        types = {value.name: value.type for value in model.graph.input}
        (folder / "model.onnx").write_bytes(
            model.SerializeToString() if model_bytes is None else model_bytes
        )
        inputs = []
        for i, (key, value) in enumerate(feeds.items()):
            kind, proto = to_proto(value, types.get(key))
            (folder / f"input_{i}.pb").write_bytes(proto.SerializeToString())
            inputs.append(File(key, f"input_{i}.pb", kind))
        outputs = [
            File(value.name, f"output_{i}.pb", kind_of(value.type))
            for i, value in enumerate(model.graph.output)
        ]
        answer = program.ask(Run(number, name, "model.onnx", inputs, outputs), limit, extra)
        if isinstance(answer, NotSupported):
            raise Unsupported(answer.reason)
        if isinstance(answer, Error):
            raise ProgramError(answer.message, answer.phase)
        return [_read_output(program, folder, output) for output in outputs]


def _read_output(program: Program, folder: Path, output: File) -> Value:
    """Read an output file; raises ``ProgramFailed`` where it is missing or no such value."""
    try:
        data = (folder / output.file).read_bytes()
        return from_proto(data, output.kind)
    except FileNotFoundError as error:
        said = f"said result, and did not write {output.file} (output {output.name!r})"
        raise ProgramFailed(f"{program.label} {said}") from error
    except MemoryError:
        raise
    except Exception as error:
        said = f"wrote a {output.file} that is no {output.kind} (output {output.name!r}): {error}"
        raise ProgramFailed(f"{program.label} {said}") from error


# The process -------------------------------------------------------------------------------------


class Program:
    """A program as a process, started when it is needed; one question at a time.

    Args: command, split as a shell would split it; no shell runs it.
    """

    def __init__(self, command: str) -> None:
        self.argv = shlex.split(command)
        self.label = shorten(command)
        if not self.argv:
            raise ValueError("it needs the program to run: command:PROGRAM ARGS")
        if shutil.which(self.argv[0]) is None:
            raise ValueError(f"there is no program {self.argv[0]!r} that can be run")
        self._process: subprocess.Popen[bytes] | None = None
        self._ready: Ready | None = None
        self._rest = b""

    @property
    def pid(self) -> int | None:
        """The id of the running process."""
        return self._process.pid if self._process is not None else None

    def start(self, limit: float = START_LIMIT) -> Ready:
        """Start the process unless one runs, and shake hands.

        A process that has died, or that has written without being asked, is replaced.
        """
        if self._process is not None and self._ready is not None:
            if self._process.poll() is None and not self._rest and not self._readable(0):
                return self._ready
            self.kill()
        self.launch()
        answer = self.ask(Start(list(PROTOCOLS), __version__), limit)
        if isinstance(answer, Error):
            self.close()
            raise ProgramFailed(f"{self.label} refused to start: {answer.message}")
        assert isinstance(answer, Ready)
        if answer.protocol not in PROTOCOLS:
            spoken = " or ".join(map(str, PROTOCOLS))
            raise self._broken(f"speaks protocol {answer.protocol}; opcheck speaks {spoken}")
        self._ready = answer
        return answer

    def launch(self) -> None:
        """Start a process and say nothing to it."""
        argv = self.argv
        if sys.platform == "linux":
            argv = [sys.executable, "-I", "-S", "-c", _SUPERVISOR, str(os.getpid()), *argv]
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
        )
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        self._rest = b""

    def ask(
        self,
        request: Request,
        limit: float | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Send a message and return the answer to it.

        Raises ``ProgramFailed`` or ``ProgramSilent``; then the process is gone.
        """
        if isinstance(request, Run):
            self.start()
        deadline = None if limit is None else time.monotonic() + limit
        self.send(msgspec.json.encode(msgspec.to_builtins(request) | dict(extra or {})), deadline)
        line = self.receive(deadline)
        try:
            answer = ANSWERS.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise self._broken(f"wrote a line that is no message: {shown(line)}: {error}") from None
        self._check_fits(request, answer)
        if self._rest:
            raise self._broken(f"wrote more than one answer: {shown(self._rest)}")
        return answer

    def _check_fits(self, request: Request, answer: Answer) -> None:
        said = f"{type(answer).__struct_config__.tag}"
        if isinstance(request, Start):
            fits = isinstance(answer, Ready) or (
                isinstance(answer, Error) and answer.phase == "start"
            )
            if not fits:
                raise self._broken(f"answered start with {said}, not with ready")
        elif isinstance(answer, Ready) or (isinstance(answer, Error) and answer.phase == "start"):
            raise self._broken(f"answered run with {said}, not with result, unsupported or error")
        elif answer.id != request.id:
            raise self._broken(f"answered the id {answer.id}, not {request.id}")

    def send(self, line: bytes, deadline: float | None = None) -> None:
        """Write a line to the program's stdin."""
        assert self._process is not None
        assert self._process.stdin is not None
        pipe = self._process.stdin.fileno()
        left = line + b"\n"
        while left:
            if not select.select([], [pipe], [], _until(deadline))[1]:
                raise self._silent("did not read from its stdin")
            try:
                left = left[os.write(pipe, left) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise self._died() from None

    def receive(self, deadline: float | None = None) -> bytes:
        """Return the next line of the program's stdout."""
        assert self._process is not None
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        chunks = bytearray(self._rest)
        searched = 0
        while (end := chunks.find(b"\n", searched)) < 0:
            searched = len(chunks)
            if searched > MAX_LINE:
                break
            if not self._readable(_until(deadline)):
                raise self._silent("gave no answer")
            chunk = os.read(pipe, 2**16)
            if not chunk:
                self._rest = bytes(chunks)
                raise self._died()
            chunks += chunk
        if end < 0 or end > MAX_LINE:
            raise self._broken(f"wrote a line of more than {MAX_LINE} bytes: {shown(chunks)}")
        self._rest = bytes(chunks[end + 1 :])
        return bytes(chunks[:end])

    def _readable(self, seconds: float | None) -> bool:
        assert self._process is not None
        assert self._process.stdout is not None
        return bool(select.select([self._process.stdout.fileno()], [], [], seconds)[0])

    def _broken(self, what: str) -> ProgramFailed:
        self.kill()
        return ProgramFailed(f"{self.label} {what}")

    def _silent(self, what: str) -> ProgramSilent:
        self.kill()
        return ProgramSilent(f"{self.label} {what} in time")

    def _died(self) -> ProgramFailed:
        """Say how the process ended; one that only closed its pipes is killed."""
        assert self._process is not None
        half = f", after an unfinished line: {shown(self._rest)}" if self._rest else ""
        try:
            self._process.wait(EXIT_LIMIT)
        except subprocess.TimeoutExpired:
            return self._broken(f"closed its stdin or stdout{half}")
        code = self._process.returncode
        self.kill()
        return ProgramFailed(f"{self.label} {how_ended(code)}{half}")

    def close(self, limit: float = EXIT_LIMIT) -> int | None:
        """Close the program's stdin and wait for its end; return its status.

        ``None`` means that it did not end in time and was killed.
        """
        if self._process is None:
            return None
        assert self._process.stdin is not None
        self._process.stdin.close()
        code = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(limit)
        self.kill()
        return code

    def kill(self) -> None:
        """End the process and those it started; leave no zombie."""
        process, self._process = self._process, None
        self._ready, self._rest = None, b""
        if process is None:
            return
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _until(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())


def how_ended(code: int | None) -> str:
    """Say how a process ended."""
    if code is None or code >= 0:
        return f"ended with status {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def shown(line: bytes | bytearray) -> str:
    """Return the beginning of a line, quoted."""
    return repr(bytes(line[:80]))[1:] + ("…" if len(line) > 80 else "")


def shorten(text: str) -> str:
    """Cut a text to one short line."""
    return text if len(text) <= 80 else f"{text[:77]}..."
