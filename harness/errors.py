"""Errors in case files, for the people who write them."""

from __future__ import annotations

import reprlib

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


class _Flow(reprlib.Repr):
    """Writes values on one line, with YAML's words, and leaves out the end of long ones."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxdict = 10
        self.maxstring = self.maxlong = self.maxother = 100

    def repr_NoneType(self, value: None, level: int) -> str:  # noqa: ARG002, N802
        return "null"

    def repr_int(self, value: int, level: int) -> str:
        # Python refuses to write longer integers in decimal.
        wide = value.bit_length() > 10_000
        return (
            f"an integer of {value.bit_length()} bits" if wide else super().repr_int(value, level)
        )

    def repr_bool(self, value: bool, level: int) -> str:  # noqa: ARG002
        return str(value).lower()


_FLOW = _Flow()


def shorten(value: object, limit: int = 60) -> str:
    """Return a value as a case file writes it, cut to a readable length."""
    text = _FLOW.repr(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def described(value: object) -> str:
    """Return a value as a case file writes it, with the word for what it is."""
    kinds: dict[type, str] = {list: "the list ", dict: "the mapping ", str: "the string "}
    number = isinstance(value, int | float) and not isinstance(value, bool)
    word = "the number " if number else kinds.get(type(value), "")
    return f"{word}{shorten(value)}"


def count(number: int, noun: str) -> str:
    """Return ``1 element``, ``2 elements``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
