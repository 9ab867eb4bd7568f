"""A case printed on a page of ``opcheck spec`` and imported again is the same case."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import msgspec
import numpy as np
import onnx.defs
import pytest

from case_equality import assert_same
from opcheck.harness.case import Case, MustFail
from opcheck.harness.caseentry import Beside
from opcheck.harness.casefile import load
from opcheck.harness.caseyaml import case_file
from opcheck.harness.dtypes import element_type_of
from opcheck.harness.sources import load_all
from opcheck.harness.spec import describe
from opcheck.harness.specpage import read_page
from opcheck.reports.page import example
from opcheck.reports.spec_rst import rst

#: Larger tensors take minutes to print in full.
LARGE = 4096
#: The most cases that are left out.
HIDDEN = 30


def shown(case: Case) -> bool:
    """Whether a page shows all of a case.

    Not the model of a file, and not which of several NaN it is; large tensors are left out here.
    A version that is none has no page.
    """
    has_page = onnx.defs.has(case.operator, case.since_version, case.domain)
    hidden = any(array.size > LARGE or odd_nan(array) for array in arrays(case))
    return has_page and bool(case.node or case.model_text) and not hidden


def arrays(case: Case) -> Iterator[np.ndarray]:
    """The tensors of a case, those inside of other values left out."""
    yield from (value for value in case.call.inputs.values() if isinstance(value, np.ndarray))
    for alternative in case.alternatives:
        if not isinstance(alternative, MustFail):
            yield from (e.value for e in alternative if e.value is not None)


def odd_nan(array: np.ndarray) -> bool:
    """Whether there is a NaN that is not the one which a literal gives."""
    element = element_type_of(array.dtype)
    if element is None or not element.is_float:
        return False
    [plain] = np.array([np.nan]).astype(array.dtype)[:1]
    nans = array[array != array]
    return any(nan.tobytes() != plain.tobytes() for nan in nans)


def pages(cases: list[Case]) -> dict[str, list[Case]]:
    """The cases of each operator and version, with different names."""
    found: dict[str, dict[str, Case]] = defaultdict(dict)
    for case in cases:
        key = f"{case.domain or 'ai.onnx'} {case.operator}-{case.since_version}"
        while case.title in found[key]:
            key += "'"
        found[key][case.title] = case
    return {key: list(group.values()) for key, group in found.items()}


EVERY = load_all([]).cases
LOADED = [case for case in EVERY if shown(case)]


def test_nearly_all_cases_are_compared():
    """A few are left out, and no operator of control flow is."""
    assert len(EVERY) - HIDDEN <= len(LOADED) < len(EVERY)
    assert {c.operator for c in LOADED} >= {"If", "Loop", "Scan", "SequenceMap", "Range"}


@pytest.mark.parametrize("folder", sorted({case.file.split("/")[1] for case in LOADED}))
def test_a_page_gives_back_its_cases(tmp_path, folder):
    """Model, inputs, what is expected and tolerances, bit for bit."""
    compared = 0
    chosen = [case for case in LOADED if case.file.split("/")[1] == folder]
    for number, cases in enumerate(pages(chosen).values()):
        first = cases[0]
        schema = onnx.defs.get_schema(first.operator, first.since_version, first.domain)
        page = msgspec.structs.replace(
            describe(schema), examples=tuple(example(case, limit=None) for case in cases)
        )
        beside = Beside(f"data{number}")
        found = read_page(rst(page), "page.rst", beside)
        assert [str(error) for error in found.errors] == []
        path = tmp_path / f"cases{number}.yaml"
        path.write_text(case_file(found.entries, "A page."), encoding="utf-8")
        beside.write(tmp_path)
        loaded = load(path, path.name)
        assert [str(error) for error in loaded.errors] == []
        for old, new in zip(cases, loaded.cases, strict=True):
            assert new.why == old.why
            assert_same(old, new)
            compared += 1
    assert compared == len(chosen)
