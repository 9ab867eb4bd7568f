"""Result files (``--json``): read, checked, and put together to one run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from .errors import shorten
from .record import FORMAT, Detail, Footer, Header, Outcome, Problem, Record, Run

Line = Header | Detail | Record | Problem | Footer

#: The options that decide how results are judged.
JUDGING = ("ulp", "rtol", "atol")
#: What selects no suite of its own: a part of it, an order.
PARTS = frozenset({"shard", "random_order"})


class BadResults(Exception):
    """A result file that cannot be read, or files that do not go together; says what to do."""


@dataclass(frozen=True)
class ResultFile:
    """What a result file holds.

    ``finished`` says that it has a footer; without one, that of ``run`` is made of what is there.
    ``torn`` says that the last line was cut off, and left out.
    """

    path: str
    run: Run
    finished: bool
    torn: bool


class Tally:
    """Counts results as they come."""

    def __init__(self, backends: Iterable[str]) -> None:
        self.counts = {backend: dict.fromkeys(Outcome, 0) for backend in backends}
        self.flaky = self.known = 0

    def add(self, record: Record) -> None:
        """Count one result."""
        self.counts[record.backend][record.outcome] += 1
        self.flaky += bool(record.flaky)
        self.known += record.known

    @property
    def results(self) -> int:
        """How many results there are."""
        return sum(sum(by.values()) for by in self.counts.values())

    def footer(
        self,
        problems: int,
        seconds: float,
        *,
        missing: int,
        interrupted: bool,
        unused: Sequence[str] = (),
    ) -> Footer:
        """Return the footer of the run whose results were counted."""
        return Footer(
            totals={b: {o.value: n for o, n in by.items() if n} for b, by in self.counts.items()},
            problems=problems,
            seconds=round(seconds, 3),
            interrupted=interrupted,
            missing=missing,
            flaky=self.flaky,
            known=self.known,
            unused=list(unused),
        )


# == Reading one file ==


class _Start(msgspec.Struct, tag="header", tag_field="is"):
    """As much of a header as every format has."""

    format: int


#: The beginning of a header.
_BEGIN = b'{"is":"header",'


def lines(path: str) -> Iterator[Line | None]:
    """Return what the lines of a result file hold, a header of this format first.

    ``None`` stands for a last line that was cut off. Raises ``BadResults``.
    """
    decode = msgspec.json.Decoder(Line).decode
    first = True
    try:
        with Path(path).open("rb") as file:
            for number, raw in enumerate(file, 1):
                if first:
                    _check_start(path, raw)
                    first = False
                yield _decoded(decode, raw, f"{path}:{number}")
    except OSError as error:
        raise BadResults(f"cannot read {path}: {error.strerror}") from None
    if first:
        raise BadResults(f"{path} is empty: its run was stopped before it began; run it again")


def _check_start(path: str, raw: bytes) -> None:
    try:
        start = msgspec.json.decode(raw, type=_Start)
    except (msgspec.DecodeError, RecursionError):
        if not raw.endswith(b"\n") and raw[: len(_BEGIN)] == _BEGIN[: len(raw)]:
            text = f"{path} ends within its first line: its run was stopped when it began"
            raise BadResults(f"{text}; run it again") from None
        seen = _seen(raw)
        text = f"{path} is no result file: seen {seen}, wanted the header of a file of --json"
        raise BadResults(text) from None
    if start.format != FORMAT:
        text = f"{path} has format {start.format}, this opcheck reads format {FORMAT}"
        raise BadResults(f"{text}; read it with the opcheck that wrote it, or run it again")


def _decoded(decode: Callable[[bytes], Line], raw: bytes, where: str) -> Line | None:
    try:
        return decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        # The beginning of a line is never a whole object: it cannot be of a wrong kind.
        whole = raw.endswith(b"\n") or isinstance(error, msgspec.ValidationError)
        if whole:
            text = f"{where}: seen {_seen(raw)}, wanted a line as --json writes it: {error}"
            raise BadResults(text) from None
        return None


def _seen(raw: bytes) -> str:
    return shorten(raw[:200].decode("utf-8", "backslashreplace").strip())


def read(path: str) -> ResultFile:
    """Read a result file; raises ``BadResults``."""
    reader = _Reader(path)
    torn = False
    for number, line in enumerate(lines(path), 1):
        if line is None:
            torn = True
        else:
            reader.take(line, f"{path}:{number}")
    if reader.header is None:  # the first line is a header of this format, but cut off
        raise BadResults(f"{path} ends within its first line; run it again")
    return ResultFile(path, reader.run(reader.header), reader.footer is not None, torn)


class _Reader:
    """Puts the lines of one file together."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.header: Header | None = None
        self.footer: Footer | None = None
        self.records: list[Record] = []
        self.problems: list[Problem] = []
        self.details: dict[str, Detail] = {}
        self._seen: set[tuple[str, str]] = set()
        self._tally = Tally(())

    def take(self, line: Line, where: str) -> None:
        """Take one line; raises ``BadResults`` for one that is out of place."""
        if self.footer is not None:
            text = f"{where}: seen another line behind the footer, wanted the end of the file"
            raise BadResults(f"{text}; give files that were put together one by one")
        if isinstance(line, Record):
            self._take_record(line, where)
        elif isinstance(line, Detail):
            self.details[line.case] = line
        elif isinstance(line, Problem):
            self.problems.append(line)
        elif isinstance(line, Footer):
            self._check_footer(line, where)
            self.footer = line
        elif self.header is None:
            self.header = line
            self._tally = Tally(line.backends)
        else:
            text = f"{where}: seen a second header, wanted one run in a file"
            raise BadResults(f"{text}; give files that were put together one by one")

    def _take_record(self, record: Record, where: str) -> None:
        key = (record.case, record.backend)
        if record.backend not in self._tally.counts:
            seen = f"seen a result on {record.backend}"
            raise BadResults(f"{where}: {seen}, wanted one on {_listed(self._tally.counts)}")
        if key in self._seen:
            text = f"{where}: seen a second result of {record.case} on {record.backend}"
            raise BadResults(f"{text}, wanted one; was the file put together by hand?")
        self._seen.add(key)
        self._tally.add(record)
        self.records.append(record)

    def _check_footer(self, footer: Footer, where: str) -> None:
        """Hold the totals against what came: no line may be lost between."""
        counted = self._tally.footer(len(self.problems), 0.0, missing=0, interrupted=False)
        if (footer.totals, footer.problems) != (counted.totals, counted.problems):
            seen = f"seen {self._tally.results} results and {len(self.problems)} bad cases"
            totals = sum(sum(by.values()) for by in footer.totals.values())
            wanted = f"wanted {totals} and {footer.problems}, as the footer counts them"
            raise BadResults(f"{where}: {seen}, {wanted}; the file was changed, run it again")

    def run(self, header: Header) -> Run:
        """Return the run; without a footer, it was interrupted."""
        footer = self.footer
        if footer is None:
            planned = (header.planned or 0) * len(header.backends)
            footer = self._tally.footer(
                len(self.problems),
                sum(record.seconds for record in self.records),
                missing=max(planned - self._tally.results, 0),
                interrupted=True,
            )
        return Run(header, self.records, self.problems, footer, self.details)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"


# == Several files ==


def merge(files: Sequence[ResultFile]) -> Run:
    """Make one run of the parts of a suite, by shard, machine or backend.

    The run of a single file is as it is.
    That of several is in the order of file, line and id, whatever the order of ``files``, and a
    case that any of them has is missing on every backend without it.
    Raises ``BadResults`` for files that do not go together.
    """
    if len(files) == 1:
        return files[0].run
    for other in files[1:]:
        _check_suite(files[0], other)
    for path, times in Counter(file.path for file in files).items():
        if times > 1:
            raise BadResults(f"{path} is given {times} times; give it once")
    _check_backends(files)
    _check_shards(files)
    _check_results(files)
    runs = [file.run for file in files]
    header = _merged_header(files)
    backends = list(header.backends)
    records = [record for run in runs for record in run.records]
    names = {case: _natural(case) for case in {record.case for record in records}}
    records.sort(key=lambda r: (r.file, r.line, names[r.case], backends.index(r.backend)))
    problems = list(dict.fromkeys(problem for run in runs for problem in run.problems))
    problems.sort(key=lambda p: (p.file, p.line or 0, p.case))
    tally = Tally(backends)
    for record in records:
        tally.add(record)
    planned = max(len(names), *(run.header.total or 0 for run in runs))
    footer = tally.footer(
        len(problems),
        sum(run.footer.seconds for run in runs),
        missing=planned * len(backends) - tally.results,
        interrupted=any(run.footer.interrupted for run in runs),
        unused=list(dict.fromkeys(text for run in runs for text in run.footer.unused)),
    )
    header = msgspec.structs.replace(header, planned=planned, total=planned)
    details = {case: detail for run in reversed(runs) for case, detail in run.details.items()}
    return Run(header, records, problems, footer, details)


def _natural(text: str) -> list[tuple[int, str]]:
    """Return a key by which ``opset=9`` comes before ``opset=11``."""
    parts = re.findall(r"[0-9]+|[^0-9]+", text)
    return [(int(part[:18]) if part[0] in "0123456789" else 0, part) for part in parts]


def _suite(header: Header) -> dict[str, str]:
    """Return what results must share that are put together."""
    chosen = {name: text for name, text in header.selection.items() if name not in PARTS}
    return {
        "opcheck": header.opcheck,
        "onnx": header.onnx,
        "sources": " ".join(header.sources) or "the bundled cases",
        **{f"--{name}": header.options.get(name, "none") for name in JUDGING},
        "the choice of cases": _choice(chosen),
    }


def _choice(chosen: dict[str, str]) -> str:
    return ", ".join(f"{name} {text}" for name, text in sorted(chosen.items())) or "all"


def _check_suite(one: ResultFile, other: ResultFile) -> None:
    seen = _suite(other.run.header)
    for name, wanted in _suite(one.run.header).items():
        if seen[name] != wanted:
            text = f"they differ in {name}: {wanted}, and {seen[name]}"
            raise _apart(one.path, other.path, text, "make both alike, or report each by itself")


def _check_backends(files: Sequence[ResultFile]) -> None:
    found: dict[str, tuple[str, str]] = {}
    for file in files:
        for backend, version in file.run.header.backends.items():
            before, path = found.setdefault(backend, (version, file.path))
            if before != version:
                text = f"{backend} has version {before} in one, {version} in the other"
                todo = "opcheck diff compares two versions"
                raise _apart(path, file.path, text, todo)


def _check_shards(files: Sequence[ResultFile]) -> None:
    counts: dict[str, tuple[int, str]] = {}
    seen: dict[tuple[str, int], str] = {}
    for file in files:
        numbers, count = shards(file)
        for backend in file.run.header.backends:
            before, path = counts.setdefault(backend, (count, file.path))
            if before != count:
                parts = " and ".join("all cases" if n == 1 else f"1/{n}" for n in (before, count))
                text = f"the parts of the suite on {backend} are {parts}"
                raise _apart(path, file.path, text, "give the files of one N in --shard I/N")
            for number in sorted(numbers) if count > 1 else ():
                path = seen.setdefault((backend, number), file.path)
                if path != file.path:
                    text = f"both are shard {number}/{count} on {backend}"
                    raise _apart(path, file.path, text, "give one of them")


def _check_results(files: Sequence[ResultFile]) -> None:
    seen: dict[tuple[str, str], str] = {}
    for file in files:
        for record in file.run.records:
            key = (record.case, record.backend)
            if key in seen:
                text = f"both have a result of {record.case} on {record.backend}"
                raise _apart(seen[key], file.path, text, "give one of them")
            seen[key] = file.path


def _apart(one: str, other: str, text: str, todo: str) -> BadResults:
    return BadResults(f"{one} and {other} do not go together: {text}; {todo}")


def shards(file: ResultFile) -> tuple[frozenset[int], int]:
    """Return which parts of how many a file has; raises ``BadResults``."""
    text = file.run.header.selection.get("shard", "1/1")
    found = [re.fullmatch(r"(\d{1,6})/(\d{1,6})", part) for part in text.split(", ")]
    pairs = [(int(one[1]), int(one[2])) for one in found if one is not None]
    count = pairs[0][1] if pairs else 0
    if len(pairs) != len(found) or any(not 1 <= i <= n or n != count for i, n in pairs):
        raise BadResults(f"{file.path}: seen the shard {shorten(text)}, wanted I/N")
    return frozenset(i for i, _ in pairs), count


def _merged_header(files: Sequence[ResultFile]) -> Header:
    headers = [file.run.header for file in files]
    first = headers[0]

    def joined(texts: Iterable[str]) -> str:
        return ", ".join(dict.fromkeys(texts))

    def union(all_of: Sequence[dict[str, str]]) -> dict[str, str]:
        names = dict.fromkeys(name for one in all_of for name in one)
        return {name: joined(one[name] for one in all_of if name in one) for name in names}

    selection = {k: v for k, v in union([h.selection for h in headers]).items() if k not in PARTS}
    backends = {b: version for header in headers for b, version in header.backends.items()}
    parts = {backend: _parts(files, backend) for backend in backends}
    present, absent = parts[next(iter(parts))] if parts else ([], [])
    if absent and all(one == (present, absent) for one in parts.values()):
        selection["shard"] = ", ".join(present)
    return Header(
        format=FORMAT,
        opcheck=first.opcheck,
        onnx=first.onnx,
        numpy=joined(header.numpy for header in headers),
        python=joined(header.python for header in headers),
        platform=joined(header.platform for header in headers),
        started=min(header.started for header in headers),
        sources=first.sources,
        backends=backends,
        options=union([header.options for header in headers]),
        selection=selection,
    )


# == What is missing ==


class Gap(msgspec.Struct, frozen=True):
    """What is missing on one backend.

    ``missing`` results of ``planned``, as far as this is known; ``cases`` are those among them
    that ran on another backend, ``shards`` the parts of the suite without a file, which have no
    case where nothing is missing.
    """

    backend: str
    missing: int
    planned: int
    cases: list[str]
    shards: list[str]


def gaps(run: Run, files: Sequence[ResultFile]) -> list[Gap]:
    """Return what the run that ``merge`` made of some files lacks of the suite, by backend."""
    cases = list(dict.fromkeys(record.case for record in run.records))
    found = []
    for backend in run.header.backends:
        had = {record.case for record in run.records if record.backend == backend}
        planned = max(run.header.total or 0, len(cases))
        others = [case for case in cases if case not in had]
        absent = _parts(files, backend)[1]
        if planned > len(had) or (absent and run.header.total is None):
            found.append(Gap(backend, planned - len(had), planned, others, absent))
    return found


def _parts(files: Sequence[ResultFile], backend: str) -> tuple[list[str], list[str]]:
    """Return the shards of a backend that have a file, and those that have none."""
    found = [shards(file) for file in files if backend in file.run.header.backends]
    count = found[0][1]
    present = frozenset[int]().union(*(numbers for numbers, _ in found))
    texts = {i: f"{i}/{count}" for i in range(1, count + 1)}
    return (
        [text for i, text in texts.items() if i in present],
        [text for i, text in texts.items() if i not in present],
    )
