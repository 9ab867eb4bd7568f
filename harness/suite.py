"""The test cases that the installed onnx package generates or carries, as sources.

Generating the node cases takes seconds.
The first use therefore fills an archive in the user's cache folder; later uses read from it
what they need.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import os
import platform
import re
import struct
import sys
import tempfile
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from time import time
from typing import Any, BinaryIO

import ml_dtypes
import msgspec
import numpy as np
import onnx
from onnx import ModelProto, TypeProto, helper
from platformdirs import user_cache_dir

from . import testdata
from .case import Call, Case, Expected, MustFail
from .casefile import Loaded
from .dtypes import element_type_of_number
from .errors import CaseError, count, path_text
from .values import value_of

PREFIX = "onnx:"
#: What ids call the suites, and what is in them.
SUITES = {
    "onnx:node": "every operator's examples, and the same with functions expanded",
    "onnx:simple": "small models",
    "onnx:pytorch-operator": "single operators, exported from PyTorch",
    "onnx:pytorch-converted": "single modules, exported from PyTorch",
    "onnx:light": "nine well-known networks without their weights",
}
#: The suites that are kept in the cache.
CACHED = ("onnx:node", "onnx:simple")
#: Raise it when the archive, or what is put into it, changes.
FORMAT = 2
#: Archives of other versions that are kept beside the newest one.
KEEP = 4

_DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"
_MAGIC = b"opcheck archive\n"
#: Magic, key, sizes of index and of the whole, checksum of the index.
_HEAD = struct.Struct("<16s32sQQ16s")


class UnknownSuite(ValueError):
    """The name begins like that of a suite, and there is none."""


class Damaged(Exception):
    """An archive is not as it was written."""


def is_suite(name: str) -> bool:
    """Whether a source names a suite, known or not."""
    return name.startswith(PREFIX)


def suite_titles(name: str) -> list[str]:
    """Return the titles of all cases of a suite, in order; raises ``UnknownSuite``."""
    _check(name)
    if name in CACHED:
        try:
            return list(_archive(name).entries)
        except Exception:  # what keeps the cases from being generated, loading them reports
            return []
    if name == "onnx:light":
        return [_light_title(path) for path in _light_tests()]
    return [title for folder in _folders(name) for title in testdata.titles(folder)]


def load_suite(name: str, wanted: Collection[str] | None = None) -> Loaded:
    """Read a suite, or only its cases with these titles; raises ``UnknownSuite``."""
    _check(name)
    if name in CACHED:
        return _from_archive(name, wanted)
    loaded = Loaded()
    parts: Iterator[Loaded]
    if name == "onnx:light":
        chosen = [p for p in _light_tests() if wanted is None or _light_title(p) in wanted]
        parts = (_light(path, name) for path in chosen)
    else:
        parts = (testdata.load_tests(folder, name, wanted) for folder in _folders(name))
    for part in parts:
        loaded.cases += part.cases
        loaded.errors += part.errors
    return loaded


def _check(name: str) -> None:
    if name not in SUITES:
        raise UnknownSuite(f"{name} is no suite; there are {', '.join(SUITES)}")


def _folders(name: str) -> list[Path]:
    """Return the folders of a suite that onnx carries as test data."""
    return testdata.find_tests(_DATA / name.removeprefix(PREFIX))


def _light_tests() -> list[Path]:
    """Return the descriptions of the light models, sorted: ``real/test_x/data.json``."""
    return sorted((_DATA / "real").glob("*/data.json"))


def _light_title(path: Path) -> str:
    return path.parent.name


def _light(path: Path, name: str) -> Loaded:
    """Read one light model; its input counts up from 0 towards 1, as onnx's runner feeds it."""
    loaded = Loaded()
    title = _light_title(path)
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        place = _DATA / "light" / Path(about["url"]).name
        model = onnx.load(place)
        inputs: dict[str, Expected] = {}
        names = testdata.input_names(model, 1)
        for value in model.graph.input:
            if value.name in names:
                shape = [d.dim_value or 1 for d in value.type.tensor_type.shape.dim]
                size = int(np.prod(shape))
                array = (np.arange(size).reshape(shape) / size).astype(np.float32)
                inputs[value.name] = testdata.read_value(array, value.type)
        outputs = []
        for i, value in enumerate(model.graph.output):
            tensor = onnx.load_tensor(place.with_name(f"{place.stem}_output_{i}.pb"))
            outputs.append(testdata.read_value(tensor, value.type))
        rtol, atol = about.get("rtol", testdata.RTOL), about.get("atol", testdata.ATOL)
        loaded.cases.append(
            testdata.make_case(name, title, "", model, inputs, outputs, rtol=rtol, atol=atol)
        )
    except Exception as error:  # whatever a broken installation raises
        loaded.errors.append(_broken(name, title, error))
    return loaded


def _broken(name: str, title: str, error: Exception) -> CaseError:
    seen = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    wanted = f"a test case of onnx {onnx.__version__}"
    hint = "python -m pip install --force-reinstall onnx"
    return CaseError((), seen, wanted, file=name, case=title, hint=hint)


# What is put into an archive, and taken out of it.


class _Value(msgspec.Struct, array_like=True):
    """A value: a tensor with its bytes or strings, or a container with its type.

    Of kind ``random`` is a tensor without values.
    """

    kind: str
    number: int = 0
    shape: tuple[int, ...] = ()
    data: bytes = b""
    strings: list[str] = []
    items: list[_Value] = []
    keys: list[str | int] = []
    type: bytes = b""


class _Stored(msgspec.Struct, array_like=True):
    """A case, with its model and values as bytes."""

    name: str
    variant: str
    operator: str
    domain: str
    opset: int
    since_version: int
    model: bytes
    text: str
    inputs: list[tuple[str, _Value]]
    outputs: list[tuple[str, _Value]]
    rtol: float
    atol: float
    dtypes: list[str]

    @property
    def title(self) -> str:
        """Name and variant."""
        return f"{self.name}[{self.variant}]" if self.variant else self.name


_ENCODE = msgspec.msgpack.Encoder().encode
_DECODE = msgspec.msgpack.Decoder(_Stored).decode


def _packed(value: Expected) -> _Value:
    if value.kind != "tensor":
        items, keys = [_packed(item) for item in value.items], list(value.keys)
        proto = value.type.SerializeToString(deterministic=True)
        return _Value(value.kind, items=items, keys=keys, type=proto)
    number = value.type.tensor_type.elem_type
    if value.value is None:
        return _Value("random", number, tuple(s for s in value.shape if s is not None))
    shape = value.value.shape
    if value.value.dtype.kind == "O":
        return _Value("tensor", number, shape, strings=value.value.reshape(-1).tolist())
    return _Value("tensor", number, shape, value.value.tobytes())


def _unpacked(stored: _Value) -> Expected:
    if stored.kind not in ("tensor", "random"):
        proto = TypeProto.FromString(stored.type)
        items = tuple(_unpacked(item) for item in stored.items)
        return Expected(stored.kind, proto, items=items, keys=tuple(stored.keys))
    element = element_type_of_number(stored.number)
    assert element is not None
    proto = helper.make_tensor_type_proto(stored.number, stored.shape)
    if stored.kind == "random":
        return Expected("tensor", proto, element.dtype, stored.shape)
    if element.name == "string":
        array = np.array(stored.strings, object).reshape(stored.shape)
    else:
        array = np.frombuffer(stored.data, element.dtype).reshape(stored.shape).copy()
    return Expected("tensor", proto, element.dtype, stored.shape, array)


def _decoded(blob: bytes, suite: str) -> Case:
    stored = _DECODE(blob)
    names = tuple(name for name, _ in stored.outputs)
    outputs = tuple(_unpacked(value) for _, value in stored.outputs)
    return Case(
        id=f"{suite}::{stored.title}",
        file=suite,
        line=0,
        name=stored.name,
        variant=stored.variant,
        operator=stored.operator,
        domain=stored.domain,
        opset=stored.opset,
        since_version=stored.since_version,
        call=Call(
            ModelProto.FromString(stored.model),
            {name: value_of(_unpacked(value)) for name, value in stored.inputs},
        ),
        output_names=names,
        alternatives=(outputs,),
        model_text=stored.text,
        tolerances=testdata.tolerances(names, outputs, stored.rtol, stored.atol),
        dtypes=frozenset(stored.dtypes),
    )


# The archive: a file with an index, and one block of bytes for each case.


def _checksum(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


class _Index(msgspec.Struct, array_like=True):
    """What an archive holds: title, offset, size and checksum of each case; and the bad ones."""

    entries: list[tuple[str, int, int, bytes]]
    errors: list[tuple[str, str, str]]


def assemble(key: bytes, blobs: dict[str, bytes], errors: list[tuple[str, str, str]]) -> bytes:
    """Return the bytes of an archive."""
    entries, offset = [], 0
    for title, blob in blobs.items():
        entries.append((title, offset, len(blob), _checksum(blob)))
        offset += len(blob)
    index = _ENCODE(_Index(entries, errors))
    total = _HEAD.size + len(index) + offset
    head = _HEAD.pack(_MAGIC, key, len(index), total, _checksum(index))
    return b"".join((head, index, *blobs.values()))


class Archive:
    """Cases by title, in a file or in memory.

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
            index = msgspec.msgpack.decode(data, type=_Index)
        except msgspec.MsgspecError as error:
            raise Damaged from error
        self._start = _HEAD.size + size
        self.errors = index.errors
        self.entries = {title: (at, size, sum_) for title, at, size, sum_ in index.entries}

    def blobs(self, titles: Iterable[str]) -> Iterator[bytes]:
        """Return the bytes of these cases; raises ``Damaged``, or ``OSError``."""
        with self._opened() as file:
            for title in titles:
                offset, size, checksum = self.entries[title]
                file.seek(self._start + offset)
                blob = file.read(size)
                if _checksum(blob) != checksum:
                    raise Damaged
                yield blob


#: The archives that this process has opened, by the path of their file.
_OPEN: dict[Path, Archive] = {}


def _from_archive(name: str, wanted: Collection[str] | None) -> Loaded:
    """Read cases from the archive of a suite; one that turns out to be damaged is made anew."""
    try:
        for opened in (_archive, _filled):
            with suppress(Damaged, OSError, msgspec.MsgspecError, ValueError):
                return _cases(opened(name), name, wanted)
        return _cases(_in_memory(name), name, wanted)
    except Exception as error:  # whatever the modules of a broken installation raise
        return Loaded(errors=[_broken(name, "", error)])


def _cases(archive: Archive, name: str, wanted: Collection[str] | None) -> Loaded:
    """Read cases from an archive; raises ``Damaged``, or whatever damaged bytes lead to."""
    titles = [title for title in archive.entries if wanted is None or title in wanted]
    errors = [
        CaseError((), seen, due, file=name, case=title)
        for title, seen, due in archive.errors
        if wanted is None or title in wanted
    ]
    return Loaded([_decoded(blob, name) for blob in archive.blobs(titles)], errors)


def cache_folder() -> Path:
    """Return the folder of the cache: ``OPCHECK_CACHE``, or the user's own."""
    return Path(os.environ.get("OPCHECK_CACHE") or user_cache_dir("opcheck"))


def archive_path(name: str) -> Path:
    """Return where the archive of a suite is; other versions of it stand beside it."""
    return cache_folder() / f"{name.removeprefix(PREFIX)}-{archive_key(name).hex()[:16]}.cases"


@cache
def archive_key(name: str) -> bytes:
    """Return a digest of all that decides what an archive holds.

    The files of onnx count with size and time: in a checkout they change under one version.
    """
    try:
        pillow = importlib.metadata.version("pillow")  # with it, onnx draws images anew
    except importlib.metadata.PackageNotFoundError:
        pillow = ""
    package = Path(onnx.__file__).parent
    files = sorted((*(package / "backend" / "test" / "case").rglob("*.py"), *package.glob("*.so")))
    stamps = [
        (str(path.relative_to(package)), status.st_size, status.st_mtime_ns)
        for path in files
        for status in (path.stat(),)
    ]
    versions = (onnx.__version__, np.__version__, ml_dtypes.__version__, pillow)
    machine = (sys.version_info[:2], platform.machine(), sys.byteorder)
    return hashlib.sha256(repr((FORMAT, name, versions, machine, stamps)).encode()).digest()


def _open(path: Path) -> BinaryIO:
    return path.open("rb")


def _archive(name: str) -> Archive:
    """Return the archive of a suite; fill it where there is none, or a damaged one."""
    path = archive_path(name)
    if path not in _OPEN:
        try:
            _OPEN[path] = Archive(partial(_open, path), archive_key(name))
        except (Damaged, OSError):
            return _filled(name)
    return _OPEN[path]


def _filled(name: str) -> Archive:
    """Generate a suite and write its archive; keep it in memory where that cannot be."""
    path, data = archive_path(name), _generated(name)
    try:
        _write(path, data)
        _OPEN[path] = Archive(partial(_open, path), archive_key(name))
        _prune(path)
    except (Damaged, OSError):
        _OPEN[path] = Archive(partial(BytesIO, data), archive_key(name))
    return _OPEN[path]


def _in_memory(name: str) -> Archive:
    """Generate a suite and keep it in this process."""
    path = archive_path(name)
    _OPEN[path] = Archive(partial(BytesIO, _generated(name)), archive_key(name))
    return _OPEN[path]


def _write(path: Path, data: bytes) -> None:
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
    """Remove the oldest archives of a suite, and what killed processes left."""
    suite = path.name.rpartition("-")[0]
    with suppress(OSError):
        archives = sorted(path.parent.glob(f"{suite}-*.cases"), key=lambda p: p.stat().st_mtime)
        old = [p for p in path.parent.glob("*.part") if p.stat().st_mtime < time() - 3600]
        for stale in (*archives[: -KEEP - 1], *old):
            stale.unlink(missing_ok=True)


# Generating.


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep onnx's test modules from warning, and from changing NumPy's random state."""
    state = np.random.get_state()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        np.random.set_state(state)


def _tests(name: str) -> list[Any]:
    """Return the generated test cases of a suite, as onnx has them."""
    with _quiet():
        if name == "onnx:node":
            from onnx.backend.test.case.node import collect_testcases

            return list(collect_testcases(None))
        from onnx.backend.test.case.model import collect_testcases as collect_model_testcases

        return [test for test in collect_model_testcases() if test.kind == "simple"]


def _generated(name: str) -> bytes:
    """Generate all cases of a suite; return them as an archive."""
    tests = _tests(name)
    models = {test.name: test.model for test in tests}
    blobs: dict[str, bytes] = {}
    errors: list[tuple[str, str, str]] = []
    for test in tests:
        twin = models.get(re.sub(r"_expanded(_ver\d+)?$", "", test.name), test.model)
        for i, (inputs, outputs) in enumerate(test.data_sets):
            variant = str(i) if len(test.data_sets) > 1 else ""
            try:
                stored = _stored(name, test, variant, inputs, outputs, twin)
            except CaseError as error:
                title = f"{test.name}[{variant}]" if variant else test.name
                errors.append((title, f"{path_text(error.path)}: {error.seen}", error.wanted))
                continue
            blobs[stored.title] = _ENCODE(stored)
    return assemble(archive_key(name), blobs, errors)


def _stored(
    suite: str, test: Any, variant: str, inputs: Any, outputs: Any, twin: ModelProto
) -> _Stored:
    """Return one data set of a test case of onnx; ``twin`` is the model that is not expanded."""
    model: ModelProto = test.model
    types = {value.name: value.type for value in model.graph.input}
    names = testdata.input_names(model, len(inputs))
    read = {}
    for key, value in zip(names, inputs, strict=True):
        read[key] = _read(key, value, types[key])
    if len(outputs) != len(model.graph.output):
        raise CaseError((), count(len(outputs), "output"), str(len(model.graph.output)))
    wanted = [
        _read(o.name, value, o.type) for o, value in zip(model.graph.output, outputs, strict=True)
    ]
    case = testdata.make_case(suite, test.name, variant, model, read, wanted, tested=twin)
    (outputs,) = case.alternatives
    assert not isinstance(outputs, MustFail)
    return _Stored(
        test.name,
        variant,
        case.operator,
        case.domain,
        case.opset,
        case.since_version,
        model.SerializeToString(deterministic=True),
        case.model_text,
        [(key, _packed(value)) for key, value in read.items()],
        [(key, _packed(value)) for key, value in zip(case.output_names, outputs, strict=True)],
        test.rtol,
        test.atol,
        sorted(case.dtypes),
    )


def _read(name: str, value: Any, declared: TypeProto) -> Expected:
    try:
        return testdata.read_value(value, declared)
    except CaseError as error:
        raise error.at(name) from None
