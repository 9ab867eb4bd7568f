"""Writes ``docs/commands.md``: every command with its options, as click knows them.

``python docs/tables/commands.py`` writes the page; a test holds it against the program.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click

from opcheck.cli.main import main

PAGE = Path(__file__).parent.parent / "commands.md"
HEAD = """\
# Commands

Every command with its arguments and options, as `--help` has them.
What a SOURCE is stands in [sources](sources.md).
The exit statuses are those of [outcomes](outcomes.md#exit-statuses).
Every command has `-h` and `--help`.
`docs/tables/commands.py` makes this page.
"""
#: Words of a help text that are code: options and ids.
_CODE = re.compile(r"(--[a-z]+(?:-[a-z]+)*|[\w/.]+::\w+)")


def page() -> str:
    """Return the whole page."""
    context = click.Context(main, info_name="opcheck")
    parts = [HEAD, section(main, context)]
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        parts.append(section(command, click.Context(command, info_name=name, parent=context)))
    return "\n".join(parts)


def section(command: click.Command, context: click.Context) -> str:
    """Return a command: how it is called, what it does, its options."""
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    lines = [f"## {context.command_path}", "", "```text", usage, "```", ""]
    lines += [prose(command)]
    options = [o for o in command.params if isinstance(o, click.Option)]
    if options:
        lines += ["", "| option | meaning |", "| --- | --- |"]
    return "\n".join(lines + [option(o, context) for o in options]) + "\n"


def prose(command: click.Command) -> str:
    """Return what a command says of itself, one line for each paragraph."""
    paragraphs = inspect.cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(text(" ".join(paragraph.split())) for paragraph in paragraphs)


def option(parameter: click.Option, context: click.Context) -> str:
    """Return an option as a row: its names, what it takes, what it does."""
    names = [f"`{name}`" for name in [*parameter.opts, *parameter.secondary_opts]]
    meaning = [text(parameter.help or "")]
    extra = parameter.get_help_extra(context)
    if isinstance(parameter.type, click.Choice):
        meaning.append(f"One of {', '.join(f'`{c}`' for c in parameter.type.choices)}.")
    elif not parameter.is_flag:
        names[-1] = f"{names[-1][:-1]} {parameter.make_metavar(context).removesuffix(' RANGE')}`"
    if "default" in extra:
        meaning.append(f"Default: {text(extra['default'])}.")
    if "range" in extra:
        meaning.append(f"Range: `{extra['range']}`.")
    if extra.get("required"):
        meaning.append("Required.")
    if parameter.multiple and "several" not in meaning[0]:
        meaning.append("May be given several times.")
    return f"| {', '.join(names)} | {' '.join(meaning)} |"


def text(plain: str) -> str:
    """Return text in which options and ids are code, and nothing else is markup."""
    parts = _CODE.split(plain)
    for i, part in enumerate(parts):
        parts[i] = f"`{part}`" if i % 2 else re.sub(r"([\\`*_\[\]<>|])", r"\\\1", part)
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
