"""Result records: all that a report may need, as data.

Values are written as text, since JSON has neither NaN nor 64-bit integers.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

#: The format of result files; it changes when a reader of old files would misread new ones.
FORMAT = 1


class Outcome(StrEnum):
    """What came of one case on one backend."""

    PASSED = "passed"
    FAILED = "failed"
    ERRORED = "errored"
    UNSUPPORTED = "unsupported"
    CRASHED = "crashed"
    TIMED_OUT = "timed out"
    OUT_OF_MEMORY = "out of memory"
    SKIPPED = "skipped"


#: Outcomes that a run without expectations accepts.
ACCEPTABLE = frozenset({Outcome.PASSED, Outcome.SKIPPED})


class Row(msgspec.Struct, frozen=True):
    """One element that differs: its index, both values, and the three errors, empty if none."""

    index: list[int]
    expected: str
    got: str
    absolute: str = ""
    relative: str = ""
    ulp: str = ""


class Heat(msgspec.Struct, frozen=True):
    """Where a tensor differs, as a picture: ``harness/heat.py`` says what its marks mean.

    ``tiles`` holds the rows of one tile, or of one for each index of all axes but the last two.
    ``cell`` says for how many rows and columns of the tensor a mark stands.
    """

    shape: list[int]
    cell: list[int]
    tiles: list[list[str]]


class Difference(msgspec.Struct, frozen=True):
    """How one output differs.

    ``reason`` is ``count``, ``kind``, ``dtype``, ``shape`` or ``values``, the first that differs.
    ``output`` is the output's name, with the place inside a sequence or map behind it.
    """

    output: str
    reason: str
    expected: str
    got: str
    different: int = 0
    total: int = 0
    allowed: str = ""
    worst: Row | None = None
    rows: list[Row] = []
    heat: Heat | None = None


class Excerpt(msgspec.Struct, frozen=True):
    """The beginning of a value: its type, shape, and the first elements in order."""

    name: str
    type: str
    shape: list[int] | None = None
    values: list[str] = []
    total: int = 0


class Record(msgspec.Struct, frozen=True, tag="record", tag_field="is"):
    """The result of one case on one backend."""

    case: str
    file: str
    line: int
    operator: str
    domain: str
    opset: int
    since_version: int
    dtypes: list[str]
    backend: str
    outcome: Outcome
    phase: str = ""
    message: str = ""
    differences: list[Difference] = []
    outputs: list[Excerpt] = []
    printed: str = ""
    seconds: float = 0.0
    why: str = ""
    #: The different outcomes of repetitions, where there is more than one.
    flaky: list[str] = []
    #: What an expectations file says of this outcome, ``None`` where there is none, and in words.
    expected: bool | None = None
    verdict: str = ""

    @property
    def acceptable(self) -> bool:
        """Whether this outcome lets a run succeed."""
        return self.outcome in ACCEPTABLE if self.expected is None else self.expected

    @property
    def known(self) -> bool:
        """Whether this is a deviation that is expected."""
        return self.expected is True and self.outcome not in ACCEPTABLE


class Detail(msgspec.Struct, frozen=True, tag="case", tag_field="is"):
    """What a case is, once for all backends on which its outcome is not ``passed``.

    ``node`` is its node, or its model, as the specification page prints it.
    ``expected`` holds the outputs of each accepted answer, none for one that must be an error.
    ``model`` is the serialized model in base64, empty where it is large.
    """

    case: str
    node: str
    inputs: list[Excerpt]
    expected: list[list[Excerpt]]
    model: str = ""


class Problem(msgspec.Struct, frozen=True, tag="problem", tag_field="is"):
    """A mistake in a case file."""

    file: str
    line: int | None
    case: str
    message: str


class Header(msgspec.Struct, frozen=True, tag="header", tag_field="is"):
    """What a run was: versions, platform, sources and options."""

    format: int
    opcheck: str
    onnx: str
    numpy: str
    python: str
    platform: str
    started: str
    sources: list[str]
    backends: dict[str, str]
    options: dict[str, str]
    #: What chose among the cases of the sources, by the names of ``cli.loading.Selection``.
    selection: dict[str, str] = {}
    #: How many cases were to run on each backend, and how many all shards have together.
    planned: int | None = None
    total: int | None = None


class Footer(msgspec.Struct, frozen=True, tag="footer", tag_field="is"):
    """How a run ended: totals by backend and outcome."""

    totals: dict[str, dict[str, int]]
    problems: int
    seconds: float
    interrupted: bool = False
    #: Planned results that did not come: the run was interrupted or stopped early.
    missing: int = 0
    flaky: int = 0
    #: Deviations that the expectations accept, and what in them no longer holds.
    known: int = 0
    unused: list[str] = []


class Run(msgspec.Struct, frozen=True):
    """A finished run: what reports are made of."""

    header: Header
    records: list[Record]
    problems: list[Problem]
    footer: Footer
    details: dict[str, Detail] = {}


def utf8(text: str) -> str:
    """Return a text that UTF-8 can hold: what it cannot, lone surrogates, as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
