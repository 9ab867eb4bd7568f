"""What the cases of a plan use of the operators, through the cache.

Finding it out needs shape inference for every case.
Beside the archive of some cases stands another one, made from it, that holds what they use.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial

import msgspec

from .archive import Archive, Head, Made, Shelf
from .case import Planned
from .filecache import filling
from .packed import unpack
from .plan import Plan, Shelved
from .uses import Facts, Key, facts_of

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Facts).decode


def facts_of_plan(cases: Plan, jobs: int = 1) -> Iterator[tuple[str, Key, Facts]]:
    """Return the id of each case, its operator and what it uses, in the order of the plan.

    What is not in the cache is found out by as many as ``jobs`` processes.
    """
    groups = [
        (place, numbers, _shelf(place.shelf) if isinstance(place, Shelved) else None)
        for place, numbers in cases.grouped()
    ]
    sizes = {
        shelf.path: (shelf, _size(place.shelf))
        for place, _, shelf in groups
        if shelf is not None and isinstance(place, Shelved)
    }
    with filling(list(sizes.values()), jobs) as wait:
        for place, numbers, shelf in groups:
            if shelf is None:
                for number in numbers:
                    case = place.planned(number)
                    yield case.id, _key(case), facts_of(case.load())
            else:
                wait(shelf)
                found = shelf.use(partial(_read, numbers=numbers))
                for head, facts in found:
                    yield f"{place.name}::{head.title}", _key(head), facts


def _key(known: Planned | Head) -> Key:
    return known.domain, known.operator, known.since_version


def _shelf(base: Shelf) -> Shelf:
    """Return where the archive of what the cases of an archive use is."""
    key = hashlib.sha256(b"uses" + base.key).digest()
    return Shelf(base.path.with_name(f"uses-{base.path.name}"), key, partial(_made, base))


def _size(base: Shelf) -> int:
    with suppress(OSError):
        return base.path.stat().st_size
    return 0


def _made(base: Shelf) -> Made:
    return base.use(_made_of)


def _made_of(archive: Archive) -> Made:
    blobs = archive.blobs(range(len(archive.heads)))
    cases = [
        (head, _encode(facts_of(unpack(head, blob, ""))))
        for head, blob in zip(archive.heads, blobs, strict=True)
    ]
    return Made(cases, [], archive.files)


def _read(archive: Archive, numbers: Sequence[int]) -> list[tuple[Head, Facts]]:
    blobs = archive.blobs(numbers)
    return [(archive.heads[n], _decode(blob)) for n, blob in zip(numbers, blobs, strict=True)]
