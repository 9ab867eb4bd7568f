"""What the documents show is true: commands run, output is as shown, files are good.

A new block is run, loaded or parsed without anything being said of it.
Where that cannot be, a table below says so, with the reason.
"""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from documents import (
    ROOT,
    Block,
    Reader,
    arguments,
    blocks,
    commands,
    on_few_cases,
    pages,
    parse,
    same,
)
from github_runner import run_action
from opcheck.backends.builtin import Builtin
from opcheck.harness.casefile import load
from opcheck.harness.expectations import load as load_expectations
from opcheck.harness.judge import Options, run_case
from opcheck.harness.record import Outcome

BLOCKS = [block for page in pages() for block in blocks(page)]

INSTALLS = "installs packages; .ci/run does it"
#: Commands that are not run here, by how they begin, and why. Those of opcheck are parsed.
NOT_RUN = {
    "git clone ": "needs a network",
    "git add known.yaml": "needs a repository",
    "git diff tests/": "is for reading",
    "python -m venv ": INSTALLS,
    "python3 -m venv ": INSTALLS,
    "python -m pip install ": INSTALLS,
    "mkdir conformance && cd conformance": "is the folder that the reader is in",
    "python -m pytest": "would run the tests in a test",
    "UPDATE_SNAPSHOTS=1 python -m pytest": "writes into the checkout",
    "ruff ": "the last steps of .ci/run",
    "mkdocs ": "a step of .ci/run; tests/test_site.py builds the site",
    "mkdir -p .ci/mypy ": "the last steps of .ci/run",
    "(cd .ci/mypy && mypy ": "the last steps of .ci/run",
    "python -m benchmarks": "takes minutes; tests/benchmarks runs it with small numbers",
    "python -m pdb ": "waits for somebody",
    "cd examples/node && npm install": "a step of .ci/run",
    'opcheck run onnx:node --backend "command:node': "takes a minute; tests/examples runs it",
    'opcheck run --backend "command:./my-runtime': "stands for the reader's program",
    'opcheck backends --check "command:./my-runtime': "stands for the reader's program",
    "pytest cases/ --opcheck-backend onnxruntime": "all cases; tests/plugin runs it with few",
    "g++ -std=c++17 -O2 -o examples/": "tests/examples builds it",
    "opcheck backends --check command:examples/": "tests/examples checks it",
    "onnx_test_runner ": "is no part of the packages that pip installs",
}
#: Commands of ``sh`` blocks after which the status is 1, since a runtime fails a case.
FINDS = {
    "README.md": ("opcheck compare ", "opcheck coverage my_cases/ --op Loop"),
    "docs/coverage.md": ("opcheck run --backend onnxruntime",),
    "docs/reports.md": ("opcheck run --backend ", "opcheck report ort1.jsonl"),
    "docs/tutorial.md": ("opcheck compare ",),
}
#: Pages whose commands are all of one kind, and the test that runs them.
TOGETHER = {"docs/findings.md": "test_findings_are_still_true"}
#: Languages of blocks that only programs of pages use, or that nobody executes.
SHOWN = {"": "output or layout", "text": "output or layout", "rst": "tests/reports/test_page.py"}
#: Blocks that tests elsewhere run, by page and language.
ELSEWHERE = {
    ("docs/ci.md", "yaml"): "tests/ci/test_ci_page.py",
    ("docs/ci.md", "groovy"): "tests/ci/test_ci_page.py",
    ("docs/expectations.md", "yaml"): "tests/harness/test_expectations.py",
}
#: Python that is compiled and not run.
COMPILED = {
    "docs/pytest.md": "my_runtime is the reader's; tests/plugin/test_check.py has the calls",
    "docs/import-export.md": "tests/cli/test_export.py runs it",
}
#: YAML that is neither a case file nor anything else that is looked at, by its first line.
FRAGMENTS = {
    "# yaml-language-server: $schema=cases.schema.json": "a comment",
    "- name: add_14_T": "a stub with TODO, which the loader refuses",
}


def with_language(*languages: str) -> pytest.MarkDecorator:
    chosen = [block for block in BLOCKS if block.language in languages]
    assert chosen
    return pytest.mark.parametrize("block", chosen, ids=str)


def reason(command: str) -> str | None:
    """Say why a command is not run here."""
    return next((why for start, why in NOT_RUN.items() if command.startswith(start)), None)


def is_cases(block: Block) -> bool:
    return block.language == "yaml" and re.search(r"^cases:$", block.text, re.MULTILINE) is not None


def is_wrong(block: Block) -> bool:
    return "wrong on purpose" in block.text


# Shells -------------------------------------------------------------------------------------------


def with_commands() -> list[str]:
    return [page for page in pages() if page not in TOGETHER and any(map(commands, blocks(page)))]


@pytest.mark.parametrize("compiled", [True, False], ids=["with node and g++", "all others"])
def test_a_reader_who_follows_a_page_sees_what_it_shows(compiled, tmp_path, small, caches):
    """Files are written and commands run in order; a ``console`` block shows what they print.

    There is a reader for each core: most of the time goes into the start of processes.
    """
    chosen = [page for page in with_commands() if (page == "docs/other-languages.md") is compiled]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        followed = [pool.submit(follow, page, tmp_path, small, caches) for page in chosen]
    assert chosen
    wrong = [place for reading in followed for place in reading.result()]
    assert not wrong, "\n\n".join(wrong)


def follow(page: str, folder: Path, small: Path, caches: Path) -> list[str]:
    """Follow a page to its end, and return where it is wrong."""
    reader = Reader(folder / page.replace("/", "-"), caches)
    reader.folder.mkdir()
    if page != "docs/tutorial.md":  # its reader begins with nothing
        for name in ("cases", "examples", "expectations"):
            (reader.folder / name).symlink_to(ROOT / name)
        shutil.copytree(small, reader.folder / "my_cases")
    wrong = []
    for block in blocks(page):
        if block.title:
            reader.write(block)
        for command, shown in commands(block):
            if command == "python -m pip install -e .":
                reader.install()
            elif reason(command) is None and not shows(reader, page, command, shown):
                wrong.append(f"{block}: {command}\nstatus {reader.status}\n{reader.printed}")
    return wrong


def shows(reader: Reader, page: str, command: str, shown: str | None) -> bool:
    """Run a command, and say whether it does what the page says or silently promises."""
    program = command.split()[0]
    if program in ("g++", "node") and shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    printed = reader.run(command if shown is not None else on_few_cases(command))
    if shown is not None:
        return same(shown, printed)
    return reader.status == (1 if command.startswith(FINDS.get(page, "-")) else 0)


@pytest.fixture(scope="session")
def caches(tmp_path_factory):
    """One cache for all readers."""
    return tmp_path_factory.mktemp("caches")


@with_language("sh", "console")
def test_every_command_line_of_opcheck_is_one(block, tmp_path, monkeypatch):
    """Click reads it: the command is there, and so are its options and what they take."""
    monkeypatch.chdir(tmp_path)
    assert commands(block)
    for name in re.findall(r"[\w.]+\.jsonl", block.text):
        (tmp_path / name).touch()
    for command, _ in commands(block):
        for words in arguments(command):
            if "--version" not in words:
                assert parse(words).command is not None


def test_findings_are_still_true(opcheck, caches):
    """Each case that the page names goes wrong on the runtime that it names."""
    found: dict[str, list[str]] = {}
    for block in blocks("docs/findings.md"):
        for command, _ in commands(block):
            (words,) = arguments(command)
            given = parse(words).params
            (backend,) = given.pop("backends")
            found.setdefault(backend, []).extend(given["sources"])
    installed = ("onnxruntime", "reference", "openvino", "opencv")
    assert found.keys() >= {*installed}
    cache = {"OPCHECK_CACHE": str(caches)}
    how = ("-v", "--timeout", "5")
    everything = sorted({case for cases in found.values() for case in cases})
    listed = opcheck("list", *everything, cwd=ROOT, **cache)
    assert listed.returncode == 0, listed.stderr

    def run(backend: str) -> subprocess.CompletedProcess[str]:
        return opcheck("run", *found[backend], *how, "--backend", backend, cwd=ROOT, **cache)

    with ThreadPoolExecutor() as pool:  # they wait for cases that hang
        for ran in pool.map(run, installed):
            assert ran.returncode == 1, ran.stdout + ran.stderr
            assert [line for line in ran.stdout.splitlines() if line.endswith(" passed")] == []


def test_the_tables_name_what_is_there():
    """An entry without effect goes."""
    every = [command for block in BLOCKS for command, _ in commands(block)]
    for start in (*NOT_RUN, *(start for starts in FINDS.values() for start in starts)):
        assert any(command.startswith(start) for command in every), start
    firsts = {block.text.splitlines()[0] for block in BLOCKS if block.language == "yaml"}
    assert FRAGMENTS.keys() <= firsts
    kinds = {(block.page, block.language) for block in BLOCKS}
    assert ELSEWHERE.keys() <= kinds
    assert {(page, "python") for page in COMPILED} <= kinds
    assert {block.language for block in BLOCKS} >= SHOWN.keys()


# Other languages ----------------------------------------------------------------------------------


@pytest.mark.parametrize("page", pages())
def test_every_block_is_found_and_has_a_language_that_is_looked_at(page):
    """A block of a new kind needs a test."""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert len(re.findall(r"^ *```", text, re.MULTILINE)) == 2 * len(blocks(page))
    looked_at = {"sh", "console", "yaml", "python", "toml", "ini", "js", *SHOWN}
    for block in blocks(page):
        assert block.language in looked_at or (page, block.language) in ELSEWHERE, block


@with_language("yaml")
def test_yaml_is_what_it_looks_like(block, tmp_path):
    """Case files load and pass, unless they say that they are wrong; the rest is read, too."""
    path = tmp_path / (Path(block.title).name or "shown.yaml")
    path.write_text(block.text)
    if is_cases(block):
        loaded = load(path, path.name)
        errors = [str(error) for error in loaded.errors]
        outcomes = {run_case(case, Builtin(), Options()).outcome for case in loaded.cases}
        right = errors == [] and outcomes == {Outcome.PASSED}
        assert right is not is_wrong(block), (errors, outcomes)
    elif "expectations:" in block.text:
        assert load_expectations(path).entries
    elif "jobs:" in block.text:
        check_workflow(yaml.safe_load(block.text))
    else:
        first = block.text.splitlines()[0]
        assert first in FRAGMENTS or (block.page, "yaml") in ELSEWHERE, "a test for this?"
        yaml.safe_load(block.text)


def check_workflow(workflow: dict) -> None:
    """The steps of a workflow give the action nothing that it does not take."""
    inputs = yaml.safe_load((ROOT / "action.yml").read_text())["inputs"]
    for step in (step for job in workflow["jobs"].values() for step in job["steps"]):
        if step.get("uses", "").startswith("opcheck/"):
            assert step["with"].keys() <= inputs.keys()


@pytest.mark.parametrize("known", [True, False], ids=["green", "red"])
def test_the_gate_of_the_tutorial(tmp_path, known):
    """The action, with the inputs and the files of the page, is green until something changes."""
    (tmp_path / "repository").mkdir()
    reader = Reader(tmp_path / "repository", tmp_path / "cache")
    for block in blocks("docs/tutorial.md"):
        if block.title:
            reader.write(block)
    workflow = reader.folder / ".github" / "workflows" / "conformance.yml"
    (job,) = yaml.safe_load(workflow.read_text())["jobs"].values()
    if not known:
        path = reader.folder / "known.yaml"
        path.write_text(f"{path.read_text().partition('expectations:')[0]}expectations: []\n")
    step = run_action(
        ROOT / "action.yml", job["steps"][-1]["with"], reader.folder, tmp_path / "temp"
    )
    assert step.status == (0 if known else 1), step.log


@with_language("python")
def test_python_compiles(block):
    """What is not run by a command of its page is listed."""
    compile(block.text, str(block), "exec")
    assert block.title or block.page in COMPILED


@with_language("toml", "ini")
def test_settings_are_read(block):
    """TOML and ini files are well-formed."""
    if block.language == "toml":
        assert tomllib.loads(block.text)
    else:
        settings = configparser.ConfigParser()
        settings.read_string(block.text)
        assert settings.sections()


# The tests themselves -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "printed", "equal"),
    [
        ("a\n...\nc\n", "a\nb\nb\nc\n", True),
        ("a\n...\nc\n", "a\nc\n", True),
        ("a\n...\n", "b\na\n", False),
        ("a\nc\n", "a\nb\nc\n", False),
        ("== 1 passed in 0.20s ==", "=== 1 passed in 12.34s ===", True),
        ("== 1 passed in 0.20s ==", "=== 2 passed in 0.20s ===", False),
        ("a\n", "a  \n\n", True),
        ("", "a\n", False),
    ],
)
def test_what_counts_as_the_same_output(shown, printed, equal):
    assert same(shown, printed) is equal


def test_a_wrong_command_line_is_noticed():
    """An option or a command that is not there, also behind another command."""
    for line in ("opcheck run --no-such", "opcheck rum", "cd a && opcheck run -j x | cat"):
        (words,) = arguments(line)
        with pytest.raises(Exception, match=r"No such|not a valid"):
            parse(words)
