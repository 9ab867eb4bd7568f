"""The documents of the project as a reader uses them: their blocks of code, and what these do.

A block with ``title="FILE"`` behind its language is a file that the reader writes.
The commands of a page are run in their order, in one folder.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from opcheck.cli.main import main

ROOT = Path(__file__).parent.parent
_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w-]*)(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
#: What stands in place of the bundled cases where a command names no source: they are too many.
FEW = "cases/controlflow/scan.yaml cases/generator/range_float.yaml"


@dataclass(frozen=True)
class Block:
    """A block of code: where it stands, what it is, the file that it is to be."""

    page: str
    line: int
    language: str
    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[str]:
    """Return the documents, by their paths."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]
    paths = sorted(path.relative_to(ROOT).as_posix() for path in found)
    return [path for path in paths if "node_modules" not in path]


def blocks(page: str) -> list[Block]:
    """Return the blocks of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(
            page,
            text.count("\n", 0, found.start()) + 1,
            found["language"],
            "".join(re.findall(r'title="([^"]+)"', found["info"])),
            re.sub(rf"^{found['indent']}", "", found["text"], flags=re.MULTILINE),
        )
        for found in _FENCE.finditer(text)
    ]


def commands(block: Block) -> list[tuple[str, str | None]]:
    """Return the commands of a block, with the output that the page shows, if it shows any."""
    if block.language == "sh":
        text = block.text.replace("\\\n", " ")
        lines = [line.strip() for line in text.splitlines()]
        return [(line, None) for line in lines if line and not line.startswith("#")]
    if block.language != "console":
        return []
    assert block.text.startswith("$ "), block
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    return [(command, shown) for command, _, shown in (part.partition("\n") for part in parts)]


def arguments(command: str) -> Iterator[list[str]]:
    """Give the arguments of each call of opcheck in a line of a shell."""
    words = shlex.shlex(command, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    call: list[str] = []
    for word in [*words, "&&"]:
        if word in ("&&", "||", "|", ";", ">", ">>", "(", ")"):
            if call[:1] == ["opcheck"]:
                yield call[1:]
            call = []
        else:
            call.append(word)


def parse(words: list[str], strict: bool = True) -> click.Context:
    """Let click read a command line, as if to run it; what is wrong in it is an exception.

    Where not ``strict``, the files that it names need not be there.
    """
    context = main.make_context("opcheck", list(words), **main.context_settings)
    name, command, rest = main.resolve_command(context, context._protected_args + context.args)
    assert command is not None
    return command.make_context(name, rest, parent=context, resilient_parsing=not strict)


class Reader:
    """Somebody who follows a page, in a folder that is empty but for what is named."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.folder = folder
        self.status = 0
        self.printed = ""
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "FORCE_COLOR"))},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(folder),
            "COLUMNS": "80",
            "OPCHECK_CACHE": str(cache),
        }

    def write(self, block: Block) -> None:
        """Write the file that a block shows."""
        path = self.folder / block.title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")

    def run(self, command: str) -> str:
        """Run a command and return what it prints; ``$?`` is the status of the one before."""
        done = subprocess.run(
            ["bash", "-c", f"(exit {self.status})\n{command}"],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
        )
        self.status, self.printed = done.returncode, done.stdout
        return self.printed

    def install(self) -> None:
        """Do what ``pip install`` does of the entry points of the folder's pyproject.toml."""
        project = tomllib.loads((self.folder / "pyproject.toml").read_text())["project"]
        info = self.folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        info.mkdir()
        head = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        (info / "METADATA").write_text(head)
        lines = []
        for group, entries in project["entry-points"].items():
            lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
        (info / "entry_points.txt").write_text("\n".join(lines))


def on_few_cases(command: str) -> str:
    """Return a command with sources where it would take all bundled cases."""
    for words in arguments(command):
        name, given = words[0], parse(words, strict=False).params
        if name in ("run", "compare", "coverage") and not given["sources"]:
            command = command.replace(f"opcheck {name}", f"opcheck {name} {FEW}")
        elif name == "spec" and not given["sources"]:
            more = "".join(f" --source {source}" for source in FEW.split())
            command = command.replace("opcheck spec", f"opcheck spec{more}")
    return command


def same(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed; a line ``...`` stands for any lines."""
    lines = [
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line) + r"\n"
        for line in _timeless(shown)
    ]
    text = "".join(f"{line}\n" for line in _timeless(printed))
    return re.fullmatch("".join(lines), text) is not None


def _timeless(text: str) -> list[str]:
    """Return the lines of a text without what changes: seconds, what they move, and versions."""
    text = re.sub(r"\b\d+\.\d+\.\d+\b", "0.0.0", text)
    lines = [line.rstrip() for line in text.rstrip().splitlines()]
    return [re.sub(r"^=+ (.*) in [\d.]+s =+$", r"== \1 ==", line) for line in lines]
