"""What mkdocs does to the pages: links out of ``docs/``, and the list of decisions.

The pages are also read where they stand, in a checkout or on GitHub, and link to files beside
``docs/``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

REPOSITORY = "https://github.com/opcheck/opcheck"
DOCS = Path(__file__).parent
_OUTWARD = re.compile(r"(?<=\]\()(?:\.\./)+[^)\s]*")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Return the text that mkdocs renders in place of what the file holds."""
    folder = PurePosixPath(page.file.src_uri).parent
    text = _OUTWARD.sub(lambda found: outward(found[0], folder), markdown)
    return text + decisions() if page.file.src_uri == "decisions/README.md" else text


def outward(target: str, folder: PurePosixPath) -> str:
    """Return the address in the repository of a link that leads out of ``docs/``."""
    path = Path(os.path.normpath(DOCS / folder / target.partition("#")[0]))
    if path.is_relative_to(DOCS) or not path.exists():
        return target  # mkdocs follows it, or complains
    kind = "tree" if path.is_dir() else "blob"
    anchor = target[target.index("#") :] if "#" in target else ""
    return f"{REPOSITORY}/{kind}/main/{path.relative_to(DOCS.parent).as_posix()}{anchor}"


def decisions() -> str:
    """Return a list of all decisions, by the headings of their pages."""
    pages = sorted((DOCS / "decisions").glob("[0-9]*.md"))
    heads = [(page.name, page.read_text(encoding="utf-8").splitlines()[0]) for page in pages]
    return "\n" + "".join(f"- [{head.removeprefix('# ')}]({name})\n" for name, head in heads)
