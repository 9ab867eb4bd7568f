"""The bundled cases: they pass, they cover every signature, they read well."""

from __future__ import annotations

import re
from collections import defaultdict
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import onnx.defs
import pytest
from onnx import ModelProto

from opcheck.backends.builtin import Builtin
from opcheck.harness.case import MustFail
from opcheck.harness.coverage import measure, rows, totals
from opcheck.harness.dtypes import element_type_of
from opcheck.harness.judge import Options, run_case
from opcheck.harness.record import Outcome
from opcheck.harness.signatures import (
    Signature,
    schemas_with_signatures,
    signatures_of_schema,
    signatures_of_uses,
    unreachable,
)
from opcheck.harness.sources import BUNDLED, load_all
from opcheck.harness.uses import Facts, Key, facts_of

LOADED = load_all([])
#: What has no case although a model can use it: ONNX's text syntax cannot write a tensor attribute
#: of float16.
WITHOUT_CASES = {Signature("ai.onnx.ml", "TreeEnsemble", 5, "T", "tensor(float16)")}

PAGE_EXAMPLES = (
    "cases/controlflow/loop.yaml::loop11_carried_state",
    "cases/controlflow/scan.yaml::scan_basic_trip_count",
    "cases/controlflow/scan.yaml::scan_pairwise_distance",
    "cases/controlflow/scan.yaml::scan_zero_trip_count",
    "cases/generator/range.yaml::range_bfloat16_type_positive_delta",
    "cases/generator/range.yaml::range_float16_type_positive_delta",
)


def test_every_file_is_read_without_a_mistake():
    """A mistake in a bundled file is a mistake of ours."""
    assert [str(error) for error in LOADED.errors] == []
    assert len(LOADED.cases) > 1000


@pytest.mark.parametrize("folder", sorted({str(Path(c.file).parent) for c in LOADED.cases}))
def test_every_case_passes_on_the_built_in_kernels(folder):
    """The oracle agrees with every literal."""
    backend = Builtin()
    records = [
        run_case(case, backend, Options())
        for case in LOADED.cases
        if str(Path(case.file).parent) == folder
    ]
    assert records
    bad = [(r.case, r.outcome.value, r.message) for r in records if r.outcome != Outcome.PASSED]
    assert bad == []


def test_the_oracle_gives_clean_values():
    """Tensors are arrays with a dtype of ONNX, and the elements of string tensors are strings."""

    def check(value: object, case_id: str) -> None:
        if isinstance(value, list):
            for item in value:
                check(item, case_id)
        elif isinstance(value, dict):
            assert {type(key) for key in value} <= {str, int}, case_id
            for item in value.values():
                assert isinstance(item, float | int | str | np.generic), case_id
        elif value is not None:
            assert isinstance(value, np.ndarray), case_id
            assert element_type_of(value.dtype) is not None, case_id
            if value.dtype == object:
                assert {type(e) for e in value.reshape(-1)} <= {str}, case_id

    backend = Builtin()
    for case in LOADED.cases:
        if not any(isinstance(a, MustFail) for a in case.alternatives):
            for value in backend.prepare(case.call.model)(case.call.inputs):
                check(value, case.id)


@cache
def facts() -> list[tuple[str, Key, Facts]]:
    """Return what each case uses."""
    return [(c.id, (c.domain, c.operator, c.since_version), facts_of(c)) for c in LOADED.cases]


def test_every_signature_has_a_case():
    """Each (operator, since_version, type parameter, type) that ``onnx.defs`` allows is used.

    A deprecated version is refused before anything runs; what no valid model can use has a reason.
    """
    everything = set().union(*map(signatures_of_schema, schemas_with_signatures()))
    missing = everything - signatures_of_uses(use for _, _, f in facts() for use in f.uses)
    assert len(everything) > 8000
    assert missing - WITHOUT_CASES == {s for s in everything if unreachable(s)}
    assert missing >= WITHOUT_CASES


def test_coverage_says_so():
    """As ``opcheck coverage`` counts: at least 95 % of ai.onnx, and all of control flow."""
    found = measure(schemas_with_signatures(), facts(), {})
    assert totals(found)[0].name == "ai.onnx"
    assert totals(found)[0].signatures.share >= Fraction(95, 100)
    shares = {row.name: row.signatures.percent for row in rows(found, "operator")}
    complete = ("Loop", "Scan", "Range", "If", "SequenceMap")
    assert {name: shares[name] for name in complete} == dict.fromkeys(complete, "100.0%")


def test_the_number_of_signatures_is_known():
    """Loop, Scan and Range have 737 signatures with onnx 1.23."""
    schemas = [
        s
        for s in onnx.defs.get_all_schemas_with_history()
        if s.name in ("Loop", "Scan", "Range") and s.domain == ""
    ]
    found = set().union(*map(signatures_of_schema, schemas))
    count = len({(s.operator, s.since_version, s.type) for s in found})
    assert onnx.__version__.startswith("1.23.")
    assert count == 737


@pytest.mark.parametrize("example", PAGE_EXAMPLES)
def test_the_examples_of_the_pages_are_there(example):
    """Each example of the specification pages is one case, without variants."""
    assert [c.id for c in LOADED.cases if c.id == example] == [example]


def test_every_case_says_why():
    """A case names the wrong implementation it would catch, in one short sentence."""
    bad = [c.id for c in LOADED.cases if not 10 <= len(c.why) <= 200 or not c.why.endswith(".")]
    assert bad == []


def test_both_errors_and_outputs_occur_for_most_operators():
    """What must be rejected is tested beside what must work; a function of one tensor takes all."""
    kinds = defaultdict(set)
    for case in LOADED.cases:
        kinds[case.operator].add(any(isinstance(a, MustFail) for a in case.alternatives))
    both = {op for op, seen in kinds.items() if seen == {True, False}}
    assert both >= {"Loop", "Scan", "Range", "If", "SequenceMap", "Conv", "Reshape", "Gather"}
    assert len(both) > 0.75 * len(kinds)


@pytest.mark.parametrize("path", sorted(BUNDLED.rglob("*.yaml")), ids=lambda p: p.name)
def test_files_stay_readable(path):
    """No file is long, no line is wide, and no tab or trailing space is in it."""
    lines = path.read_text().splitlines()
    assert len(lines) <= 600
    assert [i for i, line in enumerate(lines, 1) if len(line) > 120] == []
    assert [i for i, line in enumerate(lines, 1) if re.search(r"\t|\s$", line)] == []
    assert lines[0] == "# yaml-language-server: $schema=../schema.json"
    assert lines[1].startswith("#")


def test_an_error_case_is_rejected_for_its_own_reason():
    """With its mistake mended, the model of an error case would load.

    A case that is due to fail when it runs must load: else it passes for another reason.
    """
    backend = Builtin()
    for case in LOADED.cases:
        due = case.alternatives[0]
        if isinstance(due, MustFail) and due.phase == "run":
            assert isinstance(case.call.model, ModelProto)
            assert callable(backend.prepare(case.call.model)), case.id
