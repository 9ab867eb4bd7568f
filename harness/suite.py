"""The test cases that the installed onnx package generates or carries, as sources.

Generating the node cases takes seconds.
The first use therefore fills an archive in the user's cache folder; later uses read from it
what they need.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TypeProto

from . import testdata
from .archive import Archive, Head, Made, Mistake, Shelf, cache_folder, environment, stamp
from .case import Case, Expected
from .casefile import Loaded
from .errors import CaseError, count
from .packed import pack, unpack

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

_DATA = Path(onnx.__file__).parent / "backend" / "test" / "data"


class UnknownSuite(ValueError):
    """The name begins like that of a suite, and there is none."""


def is_suite(name: str) -> bool:
    """Whether a source names a suite, known or not."""
    return name.startswith(PREFIX)


def suite_titles(name: str) -> list[str]:
    """Return the titles of all cases of a suite, in order; raises ``UnknownSuite``."""
    _check(name)
    if name in CACHED:
        try:
            return shelf(name).use(lambda archive: [head.title for head in archive.heads])
        except Exception:  # what keeps the cases from being generated, loading them reports
            return []
    if name == "onnx:light":
        return [_light_title(path) for path in _light_tests()]
    return [title for folder in _folders(name) for title in testdata.titles(folder)]


def load_suite(name: str, wanted: Collection[str] | None = None) -> Loaded:
    """Read a suite, or only its cases with these titles; raises ``UnknownSuite``."""
    _check(name)
    if name in CACHED:
        try:
            return shelf(name).use(partial(_cases, name=name, wanted=wanted))
        except Exception as error:  # whatever the modules of a broken installation raise
            return Loaded(errors=[broken(name, "", error)])
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
        loaded.errors.append(broken(name, title, error))
    return loaded


def broken(name: str, title: str, error: Exception) -> CaseError:
    """Return what keeps a suite, or one case of it, from being read."""
    seen = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
    wanted = f"a test case of onnx {onnx.__version__}"
    hint = "python -m pip install --force-reinstall onnx"
    return CaseError((), seen, wanted, file=name, case=title, hint=hint)


# The archives.


def _cases(archive: Archive, name: str, wanted: Collection[str] | None) -> Loaded:
    """Read cases from an archive; raises ``Damaged``, or whatever damaged bytes lead to."""
    numbers = [i for i, h in enumerate(archive.heads) if wanted is None or h.title in wanted]
    errors = [m.error(name) for m in archive.mistakes if wanted is None or m.case in wanted]
    blobs = zip(numbers, archive.blobs(numbers), strict=True)
    return Loaded([unpack(archive.heads[i], blob, name) for i, blob in blobs], errors)


def shelf(name: str) -> Shelf:
    """Return where the archive of a suite is, and how it is made."""
    return Shelf(archive_path(name), archive_key(name), partial(_generated, name))


def archive_path(name: str) -> Path:
    """Return where the archive of a suite is; other versions of it stand beside it."""
    key = archive_key(name).hex()[:16]
    return cache_folder() / f"{name.removeprefix(PREFIX)}-{key}.cases"


@cache
def archive_key(name: str) -> bytes:
    """Return a digest of all that decides what an archive holds."""
    try:
        pillow = importlib.metadata.version("pillow")  # with it, onnx draws images anew
    except importlib.metadata.PackageNotFoundError:
        pillow = ""
    tests = sorted((Path(onnx.__file__).parent / "backend" / "test" / "case").rglob("*.py"))
    decisive = (name, environment(), pillow, list(map(stamp, tests)))
    return hashlib.sha256(repr(decisive).encode()).digest()


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


def _generated(name: str) -> Made:
    """Generate all cases of a suite."""
    tests = _tests(name)
    models = {test.name: test.model for test in tests}
    packed: list[tuple[Head, bytes]] = []
    mistakes: list[Mistake] = []
    for test in tests:
        twin = models.get(re.sub(r"_expanded(_ver\d+)?$", "", test.name), test.model)
        for i, (inputs, outputs) in enumerate(test.data_sets):
            variant = str(i) if len(test.data_sets) > 1 else ""
            try:
                packed.append(pack(_case(name, test, variant, inputs, outputs, twin)))
            except CaseError as error:
                error.case = f"{test.name}[{variant}]" if variant else test.name
                mistakes.append(Mistake.of(error))
    return Made(packed, mistakes)


def _case(suite: str, test: Any, variant: str, inputs: Any, outputs: Any, twin: ModelProto) -> Case:
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
    return testdata.make_case(
        suite, test.name, variant, model, read, wanted, rtol=test.rtol, atol=test.atol, tested=twin
    )


def _read(name: str, value: Any, declared: TypeProto) -> Expected:
    try:
        return testdata.read_value(value, declared)
    except CaseError as error:
        raise error.at(name) from None
