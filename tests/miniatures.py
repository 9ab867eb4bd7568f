"""Tiny backends that are wrong in one way each, to test the checker with.

Those that give outputs start from what the built-in kernels give.
``create`` makes one by its name; worker processes call it.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from opcheck.backends.builtin import Builtin
from opcheck.harness.backend import Skipped, Unsupported


class Miniature:
    """A backend whose outputs go through ``change``, or that ends in ``fail``."""

    def __init__(
        self,
        name: str,
        change: Callable[[list[Any]], Any] = lambda outputs: outputs,
        *,
        load: Callable[[], Any] = lambda: None,
        run: Callable[[], Any] = lambda: None,
    ) -> None:
        self.name = name
        self.change = change
        self.load = load
        self.run = run

    def version(self) -> str:
        return "0"

    def prepare(self, model: Any) -> Any:
        self.load()
        runner = Builtin().prepare(model)

        def run(feeds: Any) -> Any:
            self.run()
            return self.change(list(runner(feeds)))

        return run


def _raise(error: BaseException) -> Callable[[], Any]:
    def fail() -> None:
        raise error

    return fail


def _every(function: Callable[[Any], Any]) -> Callable[[list[Any]], list[Any]]:
    """Change each tensor among the outputs."""
    return lambda outputs: [function(v) if isinstance(v, np.ndarray) else v for v in outputs]


def _plus_one(value: Any) -> Any:
    changed = value.copy()
    if value.size and value.dtype != object:
        flat = changed.reshape(-1)
        flat[-1] = (
            np.logical_not(flat[-1]) if value.dtype == bool else flat[-1] + flat[-1].dtype.type(1)
        )
    return changed


def _noise(value: Any) -> Any:
    """Make each float worse than the one before it; the first is NaN, the last infinite."""
    if value.dtype.kind != "f" or value.size < 2:
        return value
    flat = value.reshape(-1)
    noise = 4.0 ** np.arange(flat.size) * np.finfo(value.dtype).eps
    changed = (flat * (1 + noise)).astype(value.dtype)
    changed[0], changed[1], changed[-1] = np.nan, flat[1], np.inf
    return changed.reshape(value.shape)


def _print_everywhere() -> None:
    print("said by Python")
    os.write(1, b"said on 1\n")
    os.write(2, b"said on 2 \x1b[31mred\x1b[0m\n")


def _hang() -> None:
    while True:
        time.sleep(60)


def _loop_in_c() -> None:
    """Loop without ever giving the interpreter back: one long operation holds its lock."""
    re.fullmatch(r"(a|aa)+$", "a" * 200 + "b")


def _eat_memory() -> None:
    eaten = []
    while True:
        eaten.append(np.ones(2**22))  # 32 MiB, touched


def _fork() -> None:
    """Fork twice: one child stays, one comes out of the backend as if it were the worker."""
    if os.fork() == 0:
        while True:
            time.sleep(60)
    os.fork()


def _flood() -> None:
    block = b"x" * 2**20
    for _ in range(300):
        os.write(1, block)


class StrangeError(Exception):
    """An exception that cannot be pickled, and whose text cannot be had."""

    def __init__(self) -> None:
        super().__init__("strange")
        self.hook = lambda: None


def _close_pipes() -> None:
    os.closerange(0, 256)


class Counting:
    """Gives right and wrong outputs in turn."""

    name = "every-second"

    def __init__(self) -> None:
        self.calls = 0

    def version(self) -> str:
        return "0"

    def prepare(self, model: Any) -> Any:
        self.calls += 1
        return MINIATURES["right" if self.calls % 2 else "wrong-value"].prepare(model)


class AtCase:
    """Right, but for the case whose first input is 17: there it does as another miniature."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.other = MINIATURES[name.partition(":")[2]]

    def version(self) -> str:
        return "0"

    def prepare(self, model: Any) -> Any:
        def run(feeds: Any) -> Any:
            chosen = self.other if float(feeds["a"]) == 17 else MINIATURES["right"]
            return chosen.prepare(model)(feeds)

        return run


class Mixed:
    """Wrong where the first input is 18, refuses 19, and at 17 waits for a file to appear."""

    def __init__(self, path: str) -> None:
        self.path = Path(path)

    def version(self) -> str:
        return "0"

    def prepare(self, model: Any) -> Any:
        def run(feeds: Any) -> Any:
            first = float(feeds["a"])
            if first == 19:
                raise Unsupported("no such number here")
            while first == 17 and not self.path.exists():
                time.sleep(0.02)
            return MINIATURES["wrong-value" if first == 18 else "right"].prepare(model)(feeds)

        return run


def _float_wrong(outputs: list[Any]) -> list[Any]:
    return _every(_plus_one)(outputs) if outputs[0].dtype == np.float32 else outputs


#: What a GitHub action obeys: at the beginning of a line, behind a word that fills one, in a line.
COMMANDS = "\n".join(
    ["::error::one", "  ::add-mask::two", "a ##[warning]three", "\u200b::stop-commands::four",
     "x" * 70 + " ::notice::five", "x" * 78 + "::notice::six", "a\r::error::seven"]
)  # fmt: skip

MINIATURES = {
    m.name: m
    for m in (
        Miniature("right"),
        Miniature("noisy", _every(_noise)),
        Miniature("wrong-value", _every(_plus_one)),
        Miniature(
            "wrong-dtype",
            _every(lambda v: v.astype(np.complex128 if v.dtype == np.float64 else np.float64)),
        ),
        Miniature("at-float", _float_wrong),
        Miniature("wrong-shape", _every(lambda v: v.reshape((1, *v.shape)))),
        Miniature("output-missing", lambda outputs: outputs[:-1]),
        Miniature("no-list", lambda outputs: None),
        Miniature("python-list", _every(lambda v: v.tolist())),
        Miniature("scalars", _every(lambda v: v[()])),
        Miniature("raises-loading", load=_raise(RuntimeError("cannot load"))),
        Miniature("raises-running", run=_raise(RuntimeError("cannot run"))),
        Miniature("exits", run=_raise(SystemExit(7))),
        Miniature("unsupported", load=_raise(Unsupported("no such operator here"))),
        Miniature("skips", run=_raise(Skipped("no such package here"))),
        Miniature("unsupported-late", run=_raise(Unsupported("no such type here"))),
        Miniature("out-of-memory", run=_raise(MemoryError("no room"))),
        Miniature("segfault", run=lambda: os.kill(os.getpid(), signal.SIGSEGV)),
        Miniature("abort", run=os.abort),
        Miniature("exit-now", run=lambda: os._exit(3)),
        Miniature("hangs", run=_hang),
        Miniature("loops-in-c", run=_loop_in_c),
        Miniature("eats-memory", run=_eat_memory),
        Miniature("forks", run=_fork),
        Miniature("floods", run=_flood),
        Miniature("raises-strange", run=_raise(StrangeError())),
        Miniature("closes-pipes", run=_close_pipes),
        Miniature("slow", run=lambda: time.sleep(0.05)),
        Miniature("prints", run=_print_everywhere, load=_raise(RuntimeError("after printing"))),
        Miniature("chatty", _every(_plus_one), run=_print_everywhere),
        Miniature("says-commands", load=_raise(RuntimeError(COMMANDS))),
        Miniature("says-markup", load=_raise(RuntimeError("[red]<b>]]>\x00\x1b[31m\ud800 done"))),
    )
}


def _oversleeping(name: str, starts: Path) -> Any:
    """Die of the case at 17; the second start never ends. ``starts`` counts them."""
    with starts.open("a") as file:
        file.write(".")
        count = file.tell()
    if count == 2:
        _hang()
    return AtCase("at-17:segfault")


def create(name: str) -> Any:
    """Make a miniature by its name."""
    if name == "does-not-start":
        raise RuntimeError("no licence found")
    if name == "dies-starting":
        os._exit(9)
    if name == "every-second":
        return Counting()
    if name == "sleeps-starting":
        _hang()
    if name.startswith("oversleeps:"):
        return _oversleeping(name, Path(name.partition(":")[2]))
    if name.startswith("mixed:"):
        return Mixed(name.partition(":")[2])
    return AtCase(name) if name.startswith("at-17:") else MINIATURES[name]


def entry(argument: str) -> Any:
    """The entry point ``mini:NAME``."""
    made = create(argument or "right")
    made.name = f"mini:{argument}"
    sys.stdout.flush()
    return made
