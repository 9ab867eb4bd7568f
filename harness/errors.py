"""Errors in case files, for the people who write them."""

from __future__ import annotations

Path = tuple[str | int, ...]


class CaseError(Exception):
    """A mistake in a case file: where it is, what was seen, what was wanted, what to do.

    ``file`` and ``line`` (from 1) are filled in by the loader; ``path`` leads to the place inside
    the document, ``case`` names the case if it has a name.
    """

    def __init__(
        self,
        path: Path,
        seen: str,
        wanted: str,
        *,
        hint: str = "",
        file: str = "",
        line: int | None = None,
        case: str = "",
    ) -> None:
        super().__init__(path, seen, wanted)
        self.path = path
        self.seen = seen
        self.wanted = wanted
        self.hint = hint
        self.file = file
        self.line = line
        self.case = case

    def at(self, *prefix: str | int) -> CaseError:
        """Return the same error further out: its path behind ``prefix``."""
        self.path = (*prefix, *self.path)
        return self

    @property
    def where(self) -> str:
        """File, line, and the path inside the document."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        path = path_text(self.path)
        return f"{place}: {path}" if path else place

    def __str__(self) -> str:
        text = f"{self.where}: seen {self.seen}, wanted {self.wanted}"
        return f"{text} ({self.hint})" if self.hint else text


def path_text(path: Path) -> str:
    """Write a path as ``cases[0].inputs.X.shape[1]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def shorten(value: object, limit: int = 60) -> str:
    """Return ``repr(value)``, cut to a readable length."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
