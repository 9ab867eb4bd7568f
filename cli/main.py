"""The ``opcheck`` command: its options, and the commands below it.

The modules of the commands import what they need when they run: ``opcheck --help`` loads neither
onnx nor numpy.
"""

from __future__ import annotations

import importlib

import click

from .. import __version__
from .github import guard_output

#: The commands, each in the module and under the name given.
COMMANDS = {
    "run": ("run", "run"),
    "compare": ("compare", "compare"),
    "report": ("report", "report"),
    "diff": ("diff", "diff"),
    "list": ("list_cases", "list_cases"),
    "show": ("show", "show"),
    "spec": ("spec", "spec"),
    "backends": ("backends", "backends"),
    "coverage": ("coverage", "coverage"),
    "schema": ("schema", "schema"),
    "import": ("import_cases", "import_cases"),
    "export": ("export", "export"),
}


class Commands(click.Group):
    """The commands, imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the documentation."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(f".{module}", __package__), name)
        return command


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="opcheck")
def main() -> None:
    """Check what an ONNX runtime computes against the operators' specification.

    A SOURCE is a YAML case file, a folder of them, or the id of one case, such as
    cases/controlflow/scan.yaml::scan_pairwise_distance; without any, the cases that come with
    opcheck.

    Exit status: 0 all as expected, 1 something unexpected, 2 wrong usage or a bad case file,
    3 a backend that cannot run here, 5 no case matched, 130 interrupted.
    """
    guard_output()
