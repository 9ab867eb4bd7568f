"""Archives: cases as bytes in a file of the cache, with an index that tells what they are.

An archive is a file with a head, an index, and one block of bytes for each case, all of it with
checksums.
One that is missing, damaged or of another key is made anew; where it cannot be written, it is kept
in memory.
"""

from __future__ import annotations

import hashlib
import os
import platform
import struct
import sys
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from time import time
from typing import Any, BinaryIO, NamedTuple, TypeVar

import ml_dtypes
import msgspec
import numpy as np
import onnx
from platformdirs import user_cache_dir

from .errors import CaseError

T = TypeVar("T")

#: Raise it when the archive, or what is put into it, changes.
FORMAT = 4
#: Archives under other keys that are kept beside the newest one.
KEEP = 4
#: Archives whose index stays in memory.
MAX_OPEN = 16

_MAGIC = b"opcheck archive\n"
#: Magic, key, sizes of index and of the whole, checksum of the index.
_HEAD = struct.Struct("<16s32sQQ16s")


class Damaged(Exception):
    """An archive is not as it was written."""


class Head(msgspec.Struct, array_like=True, frozen=True):
    """What the index tells of a case: all but its file, its model and its values."""

    name: str
    variant: str
    line: int
    operator: str
    domain: str
    opset: int
    since_version: int
    dtypes: list[str]
    why: str

    @property
    def title(self) -> str:
        """Name and variant."""
        return f"{self.name}[{self.variant}]" if self.variant else self.name

    def known(self) -> dict[str, Any]:
        """Return it as the fields of a ``Planned``, of which only the file is missing."""
        return {**msgspec.structs.asdict(self), "dtypes": frozenset(self.dtypes)}


class Mistake(msgspec.Struct, array_like=True, frozen=True):
    """A ``CaseError`` as data; its file is what ids call the place."""

    path: tuple[str | int, ...]
    seen: str
    wanted: str
    hint: str
    line: int | None
    case: str

    @classmethod
    def of(cls, error: CaseError) -> Mistake:
        """Return an error as data."""
        return cls(error.path, error.seen, error.wanted, error.hint, error.line, error.case)

    def error(self, file: str) -> CaseError:
        """Return the error of a file."""
        return CaseError(
            self.path, self.seen, self.wanted, hint=self.hint, file=file, line=self.line,
            case=self.case,
        )  # fmt: skip


#: A file that cases were made from: path, size, time; a size of -1 where there is none.
Stamp = tuple[str, int, int]


class Made(NamedTuple):
    """What goes into an archive.

    Of each case what the index tells and its bytes, the mistakes, and other files that were read.
    """

    cases: Sequence[tuple[Head, bytes]]
    mistakes: Sequence[Mistake]
    files: Sequence[Stamp] = ()


class _Index(msgspec.Struct, array_like=True):
    """The heads; the offset, size and checksum of each case; the mistakes; what was read."""

    heads: list[Head]
    spans: list[tuple[int, int, bytes]]
    mistakes: list[Mistake]
    files: list[Stamp]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Index).decode


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def stamp(path: Path) -> Stamp:
    """Return by what a change of a file is noticed."""
    try:
        status = path.stat()
    except OSError:
        return str(path), -1, 0
    return str(path), status.st_size, status.st_mtime_ns


@cache
def environment() -> str:
    """Return what decides, besides their sources, what cases are made of.

    The files of onnx and of this package count with size and time: in a checkout they change
    under one version.
    """
    files = (*Path(onnx.__file__).parent.glob("*.so"), *Path(__file__).parent.glob("*.py"))
    versions = (onnx.__version__, np.__version__, ml_dtypes.__version__)
    machine = (sys.version_info[:2], platform.machine(), sys.byteorder)
    return repr((FORMAT, versions, machine, sorted(map(stamp, files))))


def assemble(key: bytes, made: Made) -> bytes:
    """Return the bytes of an archive."""
    spans, offset = [], 0
    for _, blob in made.cases:
        spans.append((offset, len(blob), _checksum(blob)))
        offset += len(blob)
    heads = [head for head, _ in made.cases]
    index = _encode(_Index(heads, spans, list(made.mistakes), list(made.files)))
    total = _HEAD.size + len(index) + offset
    head = _HEAD.pack(_MAGIC, key, len(index), total, _checksum(index))
    return b"".join((head, index, *(blob for _, blob in made.cases)))


class Archive:
    """An open archive: its index in memory, its cases in a file or in memory.

    ``opened`` returns the archive as a file, each time anew.
    The index is read at once; raises ``Damaged``, or ``OSError``.
    """

    def __init__(self, opened: Callable[[], BinaryIO], key: bytes) -> None:
        self._opened = opened
        with opened() as file:
            head = file.read(_HEAD.size)
            if len(head) != _HEAD.size:
                raise Damaged
            magic, its_key, size, total, checksum = _HEAD.unpack(head)
            if (magic, its_key) != (_MAGIC, key) or file.seek(0, os.SEEK_END) != total:
                raise Damaged
            file.seek(_HEAD.size)
            data = file.read(size) if size <= total else b""
        if _checksum(data) != checksum:
            raise Damaged
        try:
            index = _decode(data)
        except msgspec.MsgspecError as error:
            raise Damaged from error
        if any(stamp(Path(known[0])) != known for known in index.files):
            raise Damaged
        self._start = _HEAD.size + size
        self._spans = index.spans
        self.files = index.files
        self.heads = index.heads
        self.mistakes = index.mistakes

    def blobs(self, numbers: Iterable[int]) -> Iterator[bytes]:
        """Return the bytes of these cases; raises ``Damaged``, or ``OSError``."""
        with self._opened() as file:
            for number in numbers:
                offset, size, checksum = self._spans[number]
                file.seek(self._start + offset)
                blob = file.read(size)
                if _checksum(blob) != checksum:
                    raise Damaged
                yield blob


#: The archives that this process has read last, by path and key, and those it keeps in memory.
_OPEN: OrderedDict[tuple[Path, bytes], Archive] = OrderedDict()
_IN_MEMORY: dict[tuple[Path, bytes], Archive] = {}


class Shelf(NamedTuple):
    """Where an archive is, its key, and how it is made."""

    path: Path
    key: bytes
    make: Callable[[], Made]

    def ready(self) -> bool:
        """Whether there is an archive; whether it is good shows when it is read."""
        return self[:2] in _IN_MEMORY or self.path.exists()

    def use(self, what: Callable[[Archive], T]) -> T:
        """Return what comes of reading the archive; one that turns out damaged is made anew."""
        for opened in (self._archive, self._filled):
            with suppress(Damaged, OSError, msgspec.MsgspecError, ValueError):
                return what(opened())
        return what(self._in_memory(assemble(self.key, self.make())))

    def _archive(self) -> Archive:
        """Return the archive; fill it where there is none, or a damaged one."""
        known = _IN_MEMORY.get(self[:2]) or _OPEN.get(self[:2])
        if known is not None:
            return known
        try:
            return self._open()
        except (Damaged, OSError):
            return self._filled()

    def _open(self) -> Archive:
        archive = _OPEN[self[:2]] = Archive(partial(_open, self.path), self.key)
        while len(_OPEN) > MAX_OPEN:
            _OPEN.popitem(last=False)
        return archive

    def _filled(self) -> Archive:
        """Make the archive and write it; keep it in memory where that cannot be."""
        data = assemble(self.key, self.make())
        try:
            write(self.path, data)
            archive = self._open()
            _prune(self.path)
        except (Damaged, OSError):
            return self._in_memory(data)
        return archive

    def _in_memory(self, data: bytes) -> Archive:
        archive = _IN_MEMORY[self[:2]] = Archive(partial(BytesIO, data), self.key)
        return archive


def forget() -> None:
    """Read every archive anew, as a new process does."""
    _OPEN.clear()
    _IN_MEMORY.clear()


def cache_folder() -> Path:
    """Return the folder of the cache: ``OPCHECK_CACHE``, or the user's own."""
    return Path(os.environ.get("OPCHECK_CACHE") or user_cache_dir("opcheck"))


def _open(path: Path) -> BinaryIO:
    return path.open("rb")


def write(path: Path, data: bytes) -> None:
    """Write a file so that others see the old one or the new one, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(".part", f"{path.name}.", path.parent)
    temporary = Path(name)
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
            file.write(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _prune(path: Path) -> None:
    """Remove the oldest archives of the same cases, and what killed processes left."""
    stem = path.name.rpartition("-")[0]
    with suppress(OSError):
        archives = sorted(path.parent.glob(f"{stem}-*.cases"), key=lambda p: p.stat().st_mtime)
        old = [p for p in path.parent.glob("*.part") if p.stat().st_mtime < time() - 3600]
        for stale in (*archives[: -KEEP - 1], *old):
            stale.unlink(missing_ok=True)
