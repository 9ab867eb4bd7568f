"""The documentation as a site: every command is in it, it builds, and it needs no network."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath

import click
import pytest

from opcheck.cli.main import COMMANDS, main

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def script(path: str):
    """Import a script of the documentation, which is no module of ours."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, DOCS / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The page of the commands -------------------------------------------------------------------------


def test_the_page_of_the_commands_is_what_click_says():
    """``python docs/tables/commands.py`` makes it."""
    assert script("tables/commands.py").page() == (DOCS / "commands.md").read_text()


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_is_on_the_page(name):
    """A section for each command, in it a row for each option and what it takes."""
    text = (DOCS / "commands.md").read_text()
    section = text.partition(f"\n## opcheck {name}\n")[2].partition("\n## ")[0]
    command = main.get_command(click.Context(main), name)
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            assert parameter.make_metavar(click.Context(command)) in section
            continue
        for option in parameter.opts:
            assert re.search(rf"^\|.*`{re.escape(option)}[` ]", section, re.MULTILINE), option
        for choice in getattr(parameter.type, "choices", ()):
            assert f"`{choice}`" in section


# Links out of the pages ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "folder", "wanted"),
    [
        ("../CONTRIBUTING.md", ".", "https://github.com/opcheck/opcheck/blob/main/CONTRIBUTING.md"),
        ("../expectations/", ".", "https://github.com/opcheck/opcheck/tree/main/expectations"),
        ("../../cli", "decisions", "https://github.com/opcheck/opcheck/tree/main/cli"),
        ("../README.md#more", ".", "https://github.com/opcheck/opcheck/blob/main/README.md#more"),
        ("../sources.md", "decisions", "../sources.md"),
        ("../nowhere.md", ".", "../nowhere.md"),
    ],
)
def test_links_to_files_beside_the_pages_lead_to_the_repository(target, folder, wanted):
    """Those to pages stay, and so do wrong ones, which mkdocs complains of."""
    assert script("hooks.py").outward(target, PurePosixPath(folder)) == wanted


# The site -----------------------------------------------------------------------------------------

BUILDS = pytest.mark.skipif(
    importlib.util.find_spec("material") is None, reason="needs the extra docs"
)


def build(root: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Build the site as .ci/run does."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", site],
        cwd=root,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site."""
    folder = tmp_path_factory.mktemp("site")
    built = build(ROOT, folder)
    assert built.returncode == 0, built.stderr
    return folder


class Loaded(HTMLParser):
    """What a page makes a browser load, and the text of its headings and links."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.links: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "a":
            self.links.append(given.get("href") or "")
        elif tag != "link" or given.get("rel") not in ("next", "prev", "canonical"):
            self.addresses += [v for k, v in attrs if k in ("src", "href", "data") and v]


@BUILDS
def test_no_page_loads_anything_from_elsewhere(site):
    """A page can be read without a network, and tells nobody that it is."""
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        away = [a for a in Loaded(page).addresses if re.match(r"(?:[a-z]+:)?//", a)]
        assert away == [], page
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", style.read_text()), style


@BUILDS
def test_every_decision_is_listed(site):
    """By the hook; GitHub shows the folder."""
    links = Loaded(site / "decisions" / "index.html").links
    for path in (DOCS / "decisions").glob("[0-9]*.md"):
        assert f"{path.stem}/" in links


@BUILDS
def test_only_pages_and_what_they_show_are_published(site):
    """No script, and no table that no page links to."""
    assert [path for path in site.rglob("*.py*") if path.is_file()] == []
    assert sorted(path.name for path in (site / "tables").iterdir()) == ["performance.json"]


@BUILDS
@pytest.mark.parametrize(
    ("page", "text", "said"),
    [
        ("index.md", "\n[a](nowhere.md)\n", "nowhere.md"),
        ("index.md", "\n[a](sources.md#nowhere)\n", "#nowhere"),
        ("index.md", "\n[a](../nowhere.md)\n", "../nowhere.md"),
        ("orphan.md", "# Orphan\n", "orphan.md"),
    ],
    ids=["page", "anchor", "file", "not in the navigation"],
)
def test_a_link_that_leads_nowhere_fails_the_build(tmp_path, page, text, said):
    """So does a page that nobody finds."""
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(DOCS, tmp_path / "docs")
    for beside in ("README.md", "CONTRIBUTING.md", "examples", "expectations"):
        (tmp_path / beside).symlink_to(ROOT / beside)
    with (tmp_path / "docs" / page).open("a") as file:
        file.write(text)
    built = build(tmp_path, tmp_path / "site")
    assert built.returncode == 1
    assert said in built.stderr
