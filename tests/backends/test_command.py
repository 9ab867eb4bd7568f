"""``command:PROGRAM``: the protocol, against programs that are evil in one way each."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx.parser
import pytest
from onnx import TypeProto, helper

from opcheck.backends import command, command_check, command_protocol
from opcheck.backends.command import (
    Capabilities,
    Command,
    Program,
    ProgramError,
    ProgramFailed,
    ProgramSilent,
    lacking,
)
from opcheck.backends.command_check import check, iterate
from opcheck.backends.command_values import from_proto, to_proto
from opcheck.harness.backend import Unsupported
from opcheck.harness.dtypes import ELEMENT_TYPES

PROGRAM = Path(__file__).parent / "command_program.py"
DOCS = Path(__file__).parents[2] / "docs"

HEADER = '<ir_version: 8, opset_import: ["" : 14]>'
COPY = f"{HEADER} g (float[N] x) => (float[N] y) {{ y = Identity(x) }}"
ADD = f"{HEADER} g (float[N] a, float[N] b) => (float[N] c) {{ c = Add(a, b) }}"
UNKNOWN = f"{HEADER} g (float[N] x) => (float[N] y) {{ y = NoSuchOperator(x) }}"
X = {"x": np.array([1, 2, 3], np.float32)}


def line(evil=""):
    return shlex.join([sys.executable, "-S", str(PROGRAM), *([evil] if evil else [])])


def run(backend, text=COPY, feeds=X):
    return backend.prepare(onnx.parser.parse_model(text))(feeds)


@pytest.fixture
def made():
    """Makes backends, and ends them."""
    backends = []

    def make(evil=""):
        backends.append(Command(line(evil)))
        return backends[-1]

    yield make
    for backend in backends:
        backend.close()


def is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def ends_soon(pid):
    deadline = time.monotonic() + 5
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not is_alive(pid)


@pytest.fixture
def scratch(tmp_path, monkeypatch):
    """The folder in which temporary ones are made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_good_program_serves_many_cases_in_one_process(made, scratch):
    """Inputs go by name; unknown fields are ignored; no folder is left."""
    backend = made()
    assert backend.name == f"command:{line()}"
    assert backend.version() == "mini 1"
    (copied,) = run(backend)
    pid = backend._program.pid
    (added,) = run(backend, ADD, {"a": X["x"], "b": X["x"]})
    np.testing.assert_array_equal(copied, X["x"])
    np.testing.assert_array_equal(added, np.array([2, 4, 6], np.float32))
    assert backend._program.pid == pid
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("evil", "said"),
    [
        ("garbage", "wrote a line that is no message: 'Loading model...'"),
        ("not-utf-8", "wrote a line that is no message"),
        ("no-id", "missing required field `id`"),
        ("unknown-type", "Invalid value 'done'"),
        ("floods", "wrote a line of more than 1048576 bytes: 'xxx"),
        ("segfault", "was killed by SIGSEGV"),
        ("exits", "ended with status 3"),
        ("half-a-line", 'ended with status 3, after an unfinished line: \'{"type":"resu\''),
        ("writes-nothing", "did not write output_0.pb (output 'y')"),
        ("truncates", "wrote a output_0.pb that is no tensor"),
        ("no-tensor", "0 is no element type"),
        ("wrong-id", "answered the id 2, not 1"),
        ("two-answers", "wrote more than one answer"),
    ],
)
def test_what_goes_wrong_is_named_and_costs_one_case(made, scratch, evil, said):
    """The text names the program; the program that runs the next case is whole again."""
    backend = made(evil)
    with pytest.raises(ProgramFailed, match=re.escape(said)) as caught:
        run(backend)
    assert "python" in str(caught.value)
    assert list(scratch.iterdir()) == []
    assert backend.version() == "mini 1"
    with pytest.raises(Unsupported, match="it takes no int32"):
        run(backend, COPY.replace("float", "int32"), {"x": X["x"].astype(np.int32)})


def test_a_program_that_closes_its_stdout_is_killed(made, monkeypatch):
    """It lives on and will never answer."""
    monkeypatch.setattr(command, "EXIT_LIMIT", 0.2)
    backend = made("closes-stdout")
    pid = backend._program.pid
    with pytest.raises(ProgramFailed, match="closed its stdin or stdout"):
        run(backend)
    assert not is_alive(pid)


@pytest.mark.parametrize(
    ("evil", "said"),
    [
        ("wrong-version", "speaks protocol 7; opcheck speaks 1"),
        ("refuses", "refused to start: this is not for me"),
        ("dies-at-start", "ended with status 4"),
    ],
)
def test_a_failed_handshake_is_a_backend_that_cannot_run(evil, said):
    """It is known when the backend is made, before the first case."""
    with pytest.raises(ProgramFailed, match=said):
        Command(line(evil))


def test_silence_is_a_time_out(monkeypatch):
    """The start has a limit of its own, and a run may be given one."""
    program = Program(line("silent-start"))
    with pytest.raises(ProgramSilent, match="gave no answer in time"):
        program.start(0.3)
    assert program.pid is None
    program = Program(line("silent-run"))
    program.start()
    with pytest.raises(ProgramSilent):
        command.run_in_folder(program, 1, onnx.parser.parse_model(COPY), X, limit=0.3)
    assert program.pid is None


@pytest.mark.parametrize("evil", ["dies-later", "two-answers-late"])
def test_what_happens_between_cases_does_not_harm_the_next(made, evil):
    """A process that has ended is replaced, and so is one that said more than it was asked."""
    backend = made(evil)
    for _ in range(3):
        (copied,) = run(backend)
        np.testing.assert_array_equal(copied, X["x"])
        time.sleep(0.1)


def test_an_error_keeps_its_phase_and_unsupported_its_reason(made):
    """Both leave the process as it is."""
    backend = made()
    pid = backend._program.pid
    with pytest.raises(ProgramError, match="an input is missing") as caught:
        run(backend, ADD, {"a": X["x"]})
    assert caught.value.phase == "load"
    with pytest.raises(Unsupported, match="NoSuchOperator"):
        run(backend, UNKNOWN)
    assert backend._program.pid == pid


def test_a_program_that_ignores_the_end_of_its_input_is_killed(monkeypatch):
    """No process and no zombie is left."""
    monkeypatch.setattr(command, "EXIT_LIMIT", 0.2)
    program = Program(line("ignores-eof"))
    program.start()
    pid = program.pid
    assert program.close(0.2) is None
    assert not Path(f"/proc/{pid}").exists()


def test_what_a_program_has_started_ends_with_it(capfd):
    """It is killed as a group."""
    program = Program(line("leaves-a-child"))
    program.start()
    child = int(capfd.readouterr().err.split()[1].strip(","))
    assert is_alive(child)
    program.kill()
    assert ends_soon(child)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of this death")
@pytest.mark.parametrize("evil", ["ignores-eof", "leaves-a-child"])
def test_a_program_dies_with_the_process_that_started_it(evil):
    """Even where that one is killed, and so does what the program has started."""
    code = (
        "import os, signal, sys; from opcheck.backends.command import Command;"
        "b = Command(sys.argv[1]); print(b._program.pid, flush=True);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    with tempfile.TemporaryFile("w+") as errors:
        argv = [sys.executable, "-c", code, line(evil)]
        done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=errors, text=True)
        errors.seek(0)
        found = re.search(r"child (\d+), mine (\d+)", errors.read())
    assert done.returncode == -signal.SIGKILL
    for pid in (done.stdout, found[2], *([found[1]] if found[1] != "0" else [])):
        assert ends_soon(int(pid))


def test_a_backend_that_is_dropped_ends_its_program(made):
    """Its stdin ends, and nothing waits for the interpreter's end."""
    backend = Command(line())
    pid = backend._program.pid
    del backend
    assert not is_alive(pid)


@pytest.mark.parametrize(
    ("argument", "said"),
    [("", "command:PROGRAM ARGS"), ("no-such-program-here x", "there is no program")],
)
def test_a_program_that_is_not_there_is_refused_at_once(argument, said):
    """The message says what was looked for."""
    with pytest.raises(ValueError, match=said):
        Command(argument)


def test_no_shell_runs_the_command(tmp_path):
    """Words are split as a shell splits them; nothing is expanded."""
    assert Program(f"{shlex.quote(sys.executable)} 'a b' $HOME; >x").argv[1:] == [
        "a b",
        "$HOME;",
        ">x",
    ]


@pytest.mark.parametrize(
    ("can", "said"),
    [
        (Capabilities(ir_versions=(3, 7)), "it reads IR versions 3 to 7, and the model has 8"),
        (
            Capabilities(opsets={"": (7, 13)}),
            "the opsets 7 to 13 of ai.onnx, and the model uses 14",
        ),
        (Capabilities(opsets={"other": (1, 2)}), ""),
        (Capabilities(element_types=["int64"]), "it takes no float32"),
        (Capabilities(kinds=["map"]), "it takes no tensor"),
        (Capabilities(), ""),
    ],
)
def test_what_a_program_does_not_claim_is_not_asked(can, said):
    """What it leaves out is tried."""
    found = lacking(can, onnx.parser.parse_model(COPY))
    assert (said in found) if said else not found


# Values ------------------------------------------------------------------------------------------


def tensor_type(name="float32"):
    return helper.make_tensor_type_proto(ELEMENT_TYPES[name].number, None)


SEQUENCE = helper.make_sequence_type_proto(tensor_type())
A = np.array([1.5, -0.0], np.float32)


@pytest.mark.parametrize(
    ("value", "proto", "kind"),
    [
        pytest.param([A, A[:1]], SEQUENCE, "sequence", id="sequence"),
        pytest.param([], SEQUENCE, "sequence", id="empty-sequence"),
        pytest.param([[A], []], helper.make_sequence_type_proto(SEQUENCE), "sequence", id="nested"),
        pytest.param(A, helper.make_optional_type_proto(tensor_type()), "optional", id="optional"),
        pytest.param(None, helper.make_optional_type_proto(SEQUENCE), "optional", id="none"),
        pytest.param([A], helper.make_optional_type_proto(SEQUENCE), "optional", id="optional-seq"),
        pytest.param(
            {"a": A, "b": A},
            helper.make_map_type_proto(8, tensor_type()),
            "map",
            id="map-of-strings",
        ),
        pytest.param(
            [{1: A}, {2: A}],
            helper.make_sequence_type_proto(helper.make_map_type_proto(7, tensor_type())),
            "sequence",
            id="maps",
        ),
    ],
)
def test_values_come_back_as_they_went(value, proto, kind):
    """Every kind has its own message."""
    assert isinstance(proto, TypeProto)
    found, message = to_proto(value, proto)
    assert found == kind
    back = from_proto(message.SerializeToString(), kind)
    assert repr(back) == repr(value)


@pytest.mark.parametrize("name", ELEMENT_TYPES)
def test_every_element_type_comes_back(name):
    """Three elements, so that types which share a byte do not fill it."""
    element = ELEMENT_TYPES[name]
    value = np.array(["a", "", "\u00e4"], object) if name == "string" else np.ones(3, element.dtype)
    _, message = to_proto(value, tensor_type(name))
    back = from_proto(message.SerializeToString(), "tensor")
    assert back.dtype == value.dtype
    assert back.tolist() == value.tolist()


@pytest.mark.parametrize(
    ("tensor", "said"),
    [
        (onnx.TensorProto(data_type=1, dims=[3], raw_data=bytes(8)), "8 bytes for float32"),
        (onnx.TensorProto(data_type=9, dims=[1], raw_data=b"\2"), "a bool that is stored as 2"),
        (onnx.TensorProto(data_type=99), "99 is no element type"),
        (onnx.TensorProto(data_type=1, dims=[-1], raw_data=b""), "for float32"),
        (onnx.TensorProto(data_type=1, data_location=1), "in another file"),
    ],
)
def test_a_file_that_is_no_tensor_says_why(tensor, said):
    """Nothing is guessed."""
    with pytest.raises(ValueError, match=said):
        from_proto(tensor.SerializeToString(), "tensor")


# The checker -------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """The big tensor is big for the examples only."""
    monkeypatch.setattr(command_check, "BIG", 2**12)


def test_the_checker_finds_nothing_wrong_with_a_good_program():
    """It says of each check what was wanted and seen."""
    results = check(line())
    assert {r.outcome for r in results} == {"fine"}
    assert all(r.wanted and r.seen for r in results)
    assert {"element type float32", "element type int64"} <= {r.name for r in results}


@pytest.mark.parametrize(
    ("evil", "name", "said"),
    [
        ("silent-start", "handshake", "gave no answer in time"),
        ("wrong-version", "handshake", "speaks protocol 7"),
        ("dies-at-start", "handshake", "ended with status 4"),
        ("strange-type", "capabilities", "'float'"),
        ("any-version", "refuses a version", "ready, with protocol 1"),
        ("garbage", "two models", "no message"),
        ("wrong-id", "two models", "answered the id"),
        ("two-answers", "two models", "more than one answer"),
        ("dies-later", "two models", "ended"),
        ("accepts-anything", "unknown operator", "a result"),
        ("accepts-anything", "no model", "a result"),
        ("accepts-anything", "model cut short", "a result"),
        ("accepts-anything", "value that nothing gives", "a result"),
        ("accepts-anything", "input of a wrong type", "a result"),
        ("accepts-anything", "missing input", "a result"),
        ("dies-after-error", "after an error", "ended"),
        ("writes-nothing", "scalar", "did not write"),
        ("truncates", "big tensor", "no tensor"),
        ("wrong-values", "element type int64", "with other values"),
        ("segfault", "empty tensor", "SIGSEGV"),
        ("answers-the-unknown", "unknown message", "answered the"),
    ],
)
def test_the_checker_names_the_fault(evil, name, said):
    """Every evil program fails in the check that is meant for it."""
    limit = 0.5 if evil == "silent-start" else 5.0
    result = next(r for r in iterate(line(evil), limit) if r.name == name)
    assert result.outcome == "fault"
    assert said in result.seen


@pytest.mark.parametrize(
    ("evil", "name", "said"),
    [
        ("dies-of-the-unknown", "unknown message", "ended"),
        ("ignores-eof", "end of input", "it still ran 1 s after"),
        ("bad-status", "end of input", "an end with status 8"),
    ],
)
def test_the_checker_blames_nothing_else(evil, name, said):
    """One fault is one line."""
    (fault,) = [r for r in check(line(evil), 1.0) if r.outcome == "fault"]
    assert fault.name == name
    assert said in fault.seen


# The schema --------------------------------------------------------------------------------------


def validator():
    jsonschema = pytest.importorskip("jsonschema")
    return jsonschema.Draft202012Validator(json.loads(command_protocol.schema()))


def test_the_schema_is_made_from_the_messages():
    """``docs/command-protocol.schema.json`` holds what ``schema()`` returns."""
    path = DOCS / "command-protocol.schema.json"
    assert path.read_text(encoding="utf-8") == command_protocol.schema()


def dialogue():
    text = (DOCS / "command-protocol.md").read_text(encoding="utf-8")
    return re.findall(r"^[→←] (.*)$", text, re.MULTILINE)


def test_the_example_of_the_documentation_is_valid():
    """It shows every message, and the program's lines are understood."""
    messages = [json.loads(text) for text in dialogue()]
    seen = {m["type"] for m in messages}
    assert seen == {"start", "ready", "run", "result", "unsupported", "error"}
    for text in re.findall(r"^← (.*)$", (DOCS / "command-protocol.md").read_text(), re.MULTILINE):
        command_protocol.ANSWERS.decode(text)
    valid = validator()
    for message in messages:
        valid.validate(message)


def test_the_documentation_names_every_field_and_element_type():
    """Nobody has to read the code."""
    text = (DOCS / "command-protocol.md").read_text(encoding="utf-8")
    for definition in json.loads(command_protocol.schema())["$defs"].values():
        for name in definition["properties"]:
            assert f"`{name}`" in text, name


def test_real_traffic_is_valid(monkeypatch):
    """Both directions, for a whole check of a good program."""
    valid = validator()
    seen = []
    send, receive = Program.send, Program.receive
    monkeypatch.setattr(
        Program, "send", lambda s, text, d=None: (seen.append(text), send(s, text, d))
    )
    monkeypatch.setattr(
        Program,
        "receive",
        lambda s, d=None: (lambda text: (seen.append(text), text)[1])(receive(s, d)),
    )
    check(line())
    messages = [json.loads(text) for text in seen]
    assert len(messages) > 20
    for message in messages:
        if message["type"] != "from a later version":
            valid.validate(message)


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
def test_the_descriptors_of_a_program_are_closed(made):
    """A thousand restarts do not use up the descriptors."""
    backend = made("dies-later")
    run(backend)
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    for _ in range(3):
        time.sleep(0.1)
        run(backend)
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) <= before
