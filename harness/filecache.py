"""Case files through the cache: what was built of a file once is read from an archive later."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from .archive import Made, Mistake, Shelf, Stamp, cache_folder, environment, stamp
from .casefile import load
from .forkserver import quiet_forkserver
from .packed import pack
from .yamlfile import MAX_BYTES, read

#: Archives that are older are removed, and made anew where they are needed.
MAX_DAYS = 30
#: Less than so many bytes of case files are read by one process.
WORTH_A_PROCESS = 2**19
#: The keys of a case that name other files.
_FILES = ("npy", "model_file")


class Changed(Exception):
    """A case file is no longer what it was when the run began."""


def shelf(path: Path) -> Shelf | None:
    """Return where the archive of a case file is; ``None`` for a file that has none.

    That is one that cannot be read, or is too large: loading it says so.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        resolved, content = path.resolve(), path.read_bytes()
    except OSError:
        return None
    key = _key(content)
    place = hashlib.sha256(str(resolved).encode(errors="surrogateescape")).hexdigest()[:24]
    archive = cache_folder() / "cases" / place / f"file-{key.hex()[:16]}.cases"
    return Shelf(archive, key, partial(_made, path, key))


@contextmanager
def filling(shelves: Sequence[tuple[Shelf, int]], jobs: int) -> Iterator[Callable[[Shelf], None]]:
    """Fill archives that are missing, the last ones in other processes.

    Beside each shelf stands the size in bytes of what it is made of: little is not worth a process.
    Hands out a function that waits for an archive if another process has begun it.
    """
    missing = [(shelf, size) for shelf, size in shelves if jobs > 1 and not shelf.ready()]
    if not missing or sum(size for _, size in missing) < WORTH_A_PROCESS:
        yield lambda _: None
        return
    pool = ProcessPoolExecutor(jobs - 1, mp_context=quiet_forkserver())
    begun = {shelf.path: pool.submit(_fill, shelf) for shelf, _ in reversed(missing)}

    def wait(shelf: Shelf) -> None:
        future = begun.get(shelf.path)
        if future is not None and not future.cancel():
            with suppress(Exception):  # what goes wrong there shows when it is made here
                future.result()

    try:
        yield wait
    finally:
        pool.shutdown(cancel_futures=True)


def _fill(shelf: Shelf) -> None:
    shelf.use(lambda _: None)


def _key(content: bytes) -> bytes:
    return hashlib.sha256(environment().encode() + content).digest()


def _made(path: Path, key: bytes) -> Made:
    """Load a case file; raises ``Changed`` where it is another than that of the key."""
    _sweep(cache_folder() / "cases")
    content = path.read_bytes()
    files = _files(path) if any(word.encode() in content for word in _FILES) else []
    loaded = load(path, "")
    if _key(path.read_bytes()) != key:
        raise Changed(f"{path} was changed during the run")
    cases = [pack(case) for case in loaded.cases]
    return Made(cases, [Mistake.of(error) for error in loaded.errors], files)


def _files(path: Path) -> list[Stamp]:
    """Return the files that a case file names."""
    with suppress(Exception):  # what cannot be read has no cases that name files
        names = sorted(set(_names(read(path))))
        return [stamp(path.parent / name) for name in names if "\0" not in name]
    return []


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if key in _FILES and isinstance(inner, str):
                yield inner
            yield from _names(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _names(inner)


@cache
def _sweep(folder: Path) -> None:
    """Remove old archives, once in a process."""
    oldest = time.time() - MAX_DAYS * 86400
    with suppress(OSError):
        for path in folder.glob("*/*"):
            if path.stat().st_mtime < oldest:
                path.unlink(missing_ok=True)
