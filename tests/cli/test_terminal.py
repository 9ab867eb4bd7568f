"""``opcheck run`` on a real terminal, seen through an emulator, while it runs and after."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyte
import pytest

from opcheck.cli.again import again
from opcheck.cli.run import run

ROWS = 60
CASE = """\
  - name: number_{i}
    node: Add(a, b) -> (c)
    inputs: {{a: {{dtype: float32, data: {first}}}, b: {{dtype: float32, data: 1}}}}
    outputs: {{c: {{dtype: float32, data: {sum}}}}}
"""


class Terminal:
    """A pseudo-terminal of some columns with a command on it, and what is on its screen."""

    def __init__(self, columns: int, command: list[str], cwd: Path, env: dict[str, str]) -> None:
        self.screen = pyte.Screen(columns, ROWS)
        self.written = ""
        self._stream = pyte.Stream(self.screen)
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
        self.process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)

    @property
    def lines(self) -> list[str]:
        """What is on the screen, without the empty lines at its end."""
        lines = [line.rstrip() for line in self.screen.display]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def until(self, reached: Callable[[list[str]], bool]) -> list[str]:
        """Read until the screen is as wanted."""
        deadline = time.monotonic() + 120
        while not reached(self.lines):
            assert time.monotonic() < deadline, self.lines
            assert self._read(), self.lines
        return self.lines

    def end(self) -> list[str]:
        """Read until the command has ended."""
        while self._read():
            pass
        self.process.wait(60)
        return self.lines

    def close(self) -> None:
        self.process.kill()
        self.process.wait(60)
        os.close(self._master)

    def _read(self) -> bool:
        """Take what was written; return whether more may come."""
        if not select.select([self._master], [], [], 0.1)[0]:
            return True
        try:
            raw = os.read(self._master, 65536)
        except OSError as error:
            if error.errno != errno.EIO:  # what Linux says when the other end is closed
                raise
            return False
        text = raw.decode(errors="replace")
        self.written += text
        self._stream.feed(text)
        return bool(raw)


@pytest.fixture
def many(tmp_path):
    """Cases of which, on ``mixed``, 20 are right, 3 wrong, 9 refused, and the last one waits."""
    firsts = [1] * 10 + [18] * 3 + [19] * 9 + [1] * 10 + [17]
    cases = [CASE.format(i=i, first=first, sum=first + 1) for i, first in enumerate(firsts)]
    (tmp_path / "many.yaml").write_text("operator: Add\nopset: 14\ncases:\n" + "".join(cases))
    return tmp_path


@pytest.fixture
def started(many, plugin):
    """Start ``opcheck`` with some arguments on a terminal of some columns."""

    @contextmanager
    def start(columns: int, *arguments: str, **environment: str) -> Iterator[Terminal]:
        dropped = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES")
        clean = {k: v for k, v in os.environ.items() if k not in dropped}
        env = {
            **clean,
            "TERM": "xterm-256color",
            "PYTHONPATH": str(plugin),
            "OPCHECK_CACHE": str(many / "cache"),
            **environment,
        }
        command = [sys.executable, "-m", "opcheck", *arguments]
        terminal = Terminal(columns, command, many, env)
        try:
            yield terminal
        finally:
            terminal.close()

    return start


MIXED = ("run", "many.yaml", "-b", "mini:mixed:go", "-j", "1")


@pytest.mark.parametrize(
    ("columns", "counts", "slowest"),
    [
        (50, "20 passed, 3 failed, 9 unsupported", "s  many.yaml::number_32"),
        (140, "20 passed, 3 failed, 9 unsupported", "s  many.yaml::number_32"),
    ],
)
def test_progress_while_it_runs_and_groups_after(started, many, columns, counts, slowest):
    """Three lines at the bottom: how far it is, the counts, the case that runs; then none of it."""
    with started(columns, *MIXED) as terminal:
        lines = terminal.until(
            lambda lines: len(lines) > 3 and lines[-2] == counts and slowest in lines[-1]
        )
        assert "32/33" in lines[-3]
        assert lines[-1].startswith("slowest now: ") is (columns == 140)
        assert lines[-4] == ""
        assert "FAILED many.yaml::number_10  mini:mixed:go" in lines
        (many / "go").touch()
        lines = terminal.end()
        assert terminal.process.returncode == 1
    shown = "\n".join(lines)
    assert "32/33" not in shown
    assert "slowest" not in shown
    assert not terminal.screen.cursor.hidden
    assert "     9  Add  no such number here" in lines
    assert lines[-1].strip("= ").startswith("3 failed, 9 unsupported, 21 passed in ")


def test_the_commands_at_the_end_can_be_pasted(started, many, plugin):
    """One runs again what failed, and nothing else; one shows a case."""
    (many / "go").touch()
    with started(140, *MIXED, "--json", "a b.jsonl", "-x", "--maxfail", "50") as terminal:
        lines = terminal.end()
    commands = [
        line.partition(":")[2].strip() for line in lines if ": " in line and " -m opcheck " in line
    ]
    assert len(commands) == 2, lines
    env = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(plugin),
        "OPCHECK_CACHE": str(many / "cache"),
    }
    kept = (many / "a b.jsonl").read_bytes()
    done = [
        subprocess.run(["sh", "-c", c], cwd=many, env=env, capture_output=True, text=True)
        for c in commands
    ]
    assert "1 failed, 0 passed in" in done[0].stdout
    assert "**number_10**" in done[1].stdout
    assert (many / "a b.jsonl").read_bytes() == kept


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [
        pytest.param(["-q"], {}, id="quiet"),
        pytest.param([], {"TERM": "dumb"}, id="dumb"),
    ],
)
def test_no_progress_where_it_is_not_wanted_or_not_possible(started, many, arguments, environment):
    """``-q`` and a terminal that cannot move its cursor get plain lines."""
    (many / "go").touch()
    with started(80, *MIXED, *arguments, **environment) as terminal:
        lines = terminal.end()
    assert "3 failed, 9 unsupported, 21 passed in" in lines[-1]
    assert "\x1b[?25l" not in terminal.written
    assert "\x1b[1A" not in terminal.written
    assert ("\x1b" in terminal.written) is not bool(environment)


def test_colours_in_a_log_bring_no_progress(opcheck, many):
    """``FORCE_COLOR`` is often set where nobody looks: colours, but no cursor movements."""
    (many / "go").touch()
    done = opcheck(*MIXED, FORCE_COLOR="1")
    assert "\x1b[31m" in done.stdout
    assert "\x1b[?25l" not in done.stdout
    assert "--last-failed" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "run --last-failed"),
        (["a b", "-b", "x:y z", "--ulp", "2"],
         "run 'a b' -b 'x:y z' --ulp 2.0 --last-failed"),
        (["-k", "a and b", "-v", "-q", "-x"], "run -k 'a and b' --last-failed"),
        (["--lf", "--shard", "1/2", "--expect", "e"], "run --shard 1/2 --expect e --last-failed"),
        (["--outcome", "crashed", "--op", "Add", "--op", "Sub", "--no-isolation", "--junit", "j"],
         "run --op Add --op Sub --no-isolation --last-failed"),
        (["--json", "r s", "--update-expect"], "run --last-failed --results 'r s'"),
        (["--", "-k"], "run --last-failed -- -k"),
    ],
)  # fmt: skip
def test_what_runs_the_failed_again(arguments, words):
    """All that decides what a case does is given again, and nothing that writes or stops early."""
    with run.make_context("run", arguments) as ctx:
        commands = dict(again(ctx, "a::b c", remembered=True))
    assert commands == {"Run the failed again": words, "See one of them": "run show 'a::b c'"}


def test_no_command_is_shown_that_would_not_work():
    """Without history and result file there is none for what failed; odd names cannot be pasted."""
    with run.make_context("run", []) as ctx:
        assert [what for what, _ in again(ctx, "a::b", remembered=False)] == ["See one of them"]
        assert [what for what, _ in again(ctx, "a\x1b::b", remembered=True)] == [
            "Run the failed again"
        ]
