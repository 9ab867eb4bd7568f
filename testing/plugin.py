"""The pytest plugin: its options, and nothing more unless a backend is named.

pytest loads this module in every environment that has opcheck: it imports nothing heavy, and
without ``--opcheck-backend`` no file is touched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

#: Options that may be given several times: metavar, the type of the ini entry, help.
LISTS = {
    "backend": ("KIND[:ARG]", "linelist", "Collect YAML case files and run them on this backend."),
    "expect": ("FILE", "paths", "An expectations file: what is known to go wrong on a backend."),
}
#: Options that are numbers: metavar, help.
NUMBERS = {
    "timeout": ("SECONDS", "Time limit of a case [default: 30]."),
    "memory": ("GIB", "Memory limit of a worker, 0 for none [default: 4]."),
    "ulp": ("N", "Allow floats to be this many units in the last place away."),
    "rtol": ("X", "Allow this relative error."),
    "atol": ("X", "Allow this absolute error."),
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, and entries of the same names to the ini file."""
    group = parser.getgroup("opcheck", "opcheck: conformance cases of ONNX operators")
    for name, (metavar, kind, about) in LISTS.items():
        group.addoption(
            f"--opcheck-{name}", action="append", metavar=metavar, help=f"{about} Repeatable."
        )
        parser.addini(f"opcheck_{name}", about, type=kind, default=[])  # type: ignore[arg-type]
    for name, (metavar, about) in NUMBERS.items():
        group.addoption(f"--opcheck-{name}", metavar=metavar, help=about)
        parser.addini(f"opcheck_{name}", about, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Take part in this run if a backend is named."""
    backends = given(config, "backend")
    if backends:
        numbers = {name: _number(config, name) for name in NUMBERS}
        from .running import Running

        running = Running(config, backends, given(config, "expect"), numbers)
        config.pluginmanager.register(running, "opcheck-running")


def given(config: pytest.Config, name: str) -> list[Any]:
    """Return what the command line says, else the ini file."""
    words: list[Any] | None = config.getoption(f"opcheck_{name}")
    return config.getini(f"opcheck_{name}") if words is None else words


def _number(config: pytest.Config, name: str) -> float | None:
    import pytest

    text = config.getoption(f"opcheck_{name}")
    text = config.getini(f"opcheck_{name}") if text is None else text
    if not str(text).strip():
        return None
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not number >= 0 or (name == "timeout" and number == 0):
        wanted = "a number above 0" if name == "timeout" else "0 or a number above it"
        raise pytest.UsageError(f"--opcheck-{name}: seen {text!r}, wanted {wanted}")
    return number
