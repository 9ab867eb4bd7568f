"""The project's own files: they agree with each other and with the tree."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

import opcheck
from opcheck.harness.sources import BUNDLED

ROOT = Path(__file__).parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NOT_PACKAGED = {"tests", "docs", "benchmarks", "examples", "build", "dist"}


def test_the_list_of_packages_is_the_tree():
    """Every folder with modules is in the wheel, and nothing else."""
    folders = {
        ".".join(("opcheck", *path.parent.relative_to(ROOT).parts))
        for path in ROOT.rglob("__init__.py")
        if not NOT_PACKAGED & set(path.relative_to(ROOT).parts)
        and not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
    }
    assert set(PYPROJECT["tool"]["setuptools"]["packages"]) == folders


def test_every_module_lives_in_a_listed_package():
    """A folder with modules has an ``__init__.py``."""
    listed = set(PYPROJECT["tool"]["setuptools"]["packages"])
    for path in ROOT.glob("[a-z]*/**/*.py"):
        parts = path.relative_to(ROOT).parts
        if parts[0] not in NOT_PACKAGED:
            assert ".".join(("opcheck", *parts[:-1])) in listed, path


def test_the_installed_package_holds_the_bundled_cases():
    """A wheel carries every case file of the tree."""
    installed = {p.relative_to(BUNDLED) for p in BUNDLED.rglob("*") if p.is_file()}
    tree = {p.relative_to(ROOT / "cases") for p in (ROOT / "cases").rglob("*") if p.is_file()}
    assert tree
    assert installed == tree


def test_the_readme_has_the_two_commands():
    """One command installs and runs the main job, one installs and passes the tests."""
    readme = (ROOT / "README.md").read_text()
    assert "\npython -m pip install '.[onnxruntime]' && opcheck run cases/\n" in readme
    assert "\npython -m pip install '.[test]' && python -m pytest\n" in readme


def test_ci_takes_its_test_command_from_the_readme():
    """The commands stand in the README and nowhere else."""
    script = (ROOT / ".ci" / "run").read_text()
    assert "&& python -m pytest" not in script
    assert "README.md" in script
    for step in ("ruff check", "mypy --strict", "lint-imports"):
        assert step in script


def test_the_version_has_a_changelog():
    """The changelog knows this version or has unreleased changes."""
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert f"## {opcheck.__version__}" in changelog or "## Unreleased" in changelog


@pytest.mark.parametrize(
    "path", sorted(ROOT.glob("[a-z]*/*.py")), ids=lambda p: f"{p.parent.name}/{p.name}"
)
def test_no_module_is_long(path):
    """A module over 600 lines is split by meaning."""
    assert len(path.read_text().splitlines()) <= 600


def test_links_between_documents_lead_somewhere():
    """Every relative link of the Markdown files names a file."""
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_no_path_of_a_machine_is_in_the_project():
    """The project speaks of itself alone."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix in (".py", ".yaml", ".md", ".toml", ".cfg", "") and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            assert not re.search(r"/(work|root|home)/\w", text), name
