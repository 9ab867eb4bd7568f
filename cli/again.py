"""The commands that help after a run in which something failed, as they can be pasted."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import click
from click.core import ParameterSource

#: What is not given again: what chose by an earlier run, stopped early, or is about output.
_LEFT_OUT = {
    "exitfirst",
    "last_failed",
    "maxfail",
    "outcomes",
    "quiet",
    "results",
    "sources",
    "update_expect",
    "verbose",
}
_FILE = "_file"


def again(ctx: click.Context, case: str, *, remembered: bool) -> list[tuple[str, str]]:
    """Return what can be done next, each with its command.

    ``case`` is one that failed; ``remembered`` says whether the next run will know which did.
    """
    commands = []
    results = ctx.params.get("json_file")
    if remembered or results:
        sources = list(ctx.params["sources"])
        options = [*_options(ctx), "--last-failed", *(["--results", results] if results else [])]
        odd = any(source.startswith("-") for source in sources)
        words = [*options, "--", *sources] if odd else [*sources, *options]
        commands.append(("Run the failed again", shlex.join([*ctx.command_path.split(), *words])))
    root = ctx.find_root().command_path.split()
    commands.append(("See one of them", shlex.join([*root, "show", case])))
    return [(what, command) for what, command in commands if command.isprintable()]


def _options(ctx: click.Context) -> Iterator[str]:
    """Return the options that were given and decide what a case does."""
    for parameter in ctx.command.params:
        name = parameter.name or ""
        given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not given or name in _LEFT_OUT or name.endswith(_FILE):
            continue
        option, value = min(parameter.opts, key=len), ctx.params[name]
        if value is True:
            yield option
        else:
            for one in value if isinstance(value, tuple) else [value]:
                yield from (option, str(one))
