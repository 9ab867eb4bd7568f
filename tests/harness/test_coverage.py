"""What cases cover: the denominator, the counts, and how they grow."""

from __future__ import annotations

from fractions import Fraction

import onnx.defs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opcheck.harness.coverage import Count, measure, rows, total, totals
from opcheck.harness.facts import facts_of_plan
from opcheck.harness.signatures import (
    schemas_with_signatures,
    signatures_of_uses,
)
from opcheck.harness.sources import BUNDLED, plan_all
from opcheck.harness.uses import Facts, facts_of

SCHEMAS = schemas_with_signatures()


def covered(coverage):
    return {
        (s.title, t.parameter, t.type) for s in coverage.schemas for t in s.signatures if t.cases
    }


def facts_of_text(read_cases, text):
    loaded = read_cases(text)
    assert [str(error) for error in loaded.errors] == []
    return [(c.id, (c.domain, c.operator, c.since_version), facts_of(c)) for c in loaded.cases]


def of(coverage, title):
    (found,) = [s for s in coverage.schemas if s.title == title]
    return found


# The denominator ---------------------------------------------------------------------------------


def test_the_denominator_is_what_onnx_defines():
    """Counted from each constraint of each schema, without the code under test."""
    count: dict[str, int] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.deprecated:
            continue
        distinct = 0
        for constraint in schema.type_constraints:
            assert len(set(constraint.allowed_type_strs)) == len(constraint.allowed_type_strs)
            distinct += len(constraint.allowed_type_strs)
        domain = schema.domain or "ai.onnx"
        count[domain] = count.get(domain, 0) + distinct
    nothing = measure(SCHEMAS, [], {})
    assert {r.name: r.signatures.total for r in totals(nothing)[:-1]} == count
    assert total(nothing).signatures == Count(0, sum(count.values()))


@pytest.mark.parametrize("by", ["operator", "family", "opset"])
def test_the_rows_add_up(by):
    """Each schema stands in one row."""
    nothing = measure(SCHEMAS, [], {})
    found = rows(nothing, by)
    assert len({row.name for row in found}) == len(found)
    assert sum(row.signatures.total for row in found) == total(nothing).signatures.total
    assert sum(row.attributes.total for row in found) == total(nothing).attributes.total


def test_a_share_is_never_rounded_up_to_all():
    """100 % is said of what is complete only; nothing of nothing is complete."""
    assert Count(9999, 10000).percent == "99.9%"
    assert Count(10000, 10000).percent == "100.0%"
    assert Count(0, 0).share == Fraction(1)
    assert Count(0, 3).percent == "0.0%"


# A folder with known coverage --------------------------------------------------------------------

THREE = """\
opset: 14
cases:
  - name: floats
    node: Add(a, b) -> (c)
    types: {T: [float32, float16]}
    inputs: {a: {dtype: T, data: [1, 2]}, b: {dtype: T, data: 1}}
    outputs: {c: {dtype: T, data: [2, 3]}}
  - name: strings
    node: Add(a, b) -> (c)
    inputs: {a: {dtype: string, data: ["x"]}, b: {dtype: string, data: ["y"]}}
    error: true
  - name: inside
    node: Clip(x, , high) -> (y)
    opset: 13
    inputs: {x: {dtype: int64, data: [[1, 9]]}, high: {dtype: int64, data: 5}}
    outputs: {y: {dtype: int64, data: [[1, 5]]}}
"""


@pytest.fixture
def three(read_cases):
    return facts_of_text(read_cases, THREE)


def test_known_cases_have_known_coverage(three):
    """Types, ranks, omitted inputs and errors are counted by cases."""
    found = measure(SCHEMAS, three, {})
    assert covered(found) == {
        ("Add-14", "T", "tensor(float)"), ("Add-14", "T", "tensor(float16)"),
        ("Clip-13", "T", "tensor(int64)"),
    }  # fmt: skip
    assert total(found).signatures.covered == 3
    add, clip = of(found, "Add-14"), of(found, "Clip-13")
    assert (add.cases, add.rejections) == (2, 1)
    assert [f.ranks for f in add.inputs] == [{1: 2}, {0: 2}]
    assert [(f.given, f.omitted) for f in clip.inputs] == [(1, 0), (0, 1), (1, 0)]
    assert clip.outputs[0].ranks == {2: 1}
    assert not clip.optionals[0].covered


def test_a_case_that_must_be_an_error_covers_nothing(three):
    """A backend without the type would cover it by refusing the model."""
    found = measure(SCHEMAS, [fact for fact in three if "strings" in fact[0]], {})
    assert covered(found) == set()
    assert of(found, "Add-14").rejections == 1


def test_a_case_that_did_not_pass_does_not_count_as_passing(three):
    """A signature passes where one of its own cases does, on that backend."""
    passes = {"good": {fact[0] for fact in three}, "bad": {"case.yaml::floats[float16]"}}
    found = measure(SCHEMAS, three, {**passes, "none": set()})
    passed = {t.type: t.passed for t in of(found, "Add-14").signatures if t.cases}
    assert passed == {
        "tensor(float)": {"good": 1, "bad": 0, "none": 0},
        "tensor(float16)": {"good": 1, "bad": 1, "none": 0},
    }
    counts = {name: count.covered for name, count in total(found).passed.items()}
    assert counts == {"good": 3, "bad": 1, "none": 0}


NESTED = """\
opset: 13
cases:
  - name: body
    node: If(c) -> (y)
    attributes:
      then_branch: 't () => (float[1] r) { k = Constant<value_floats = [1.0]>() r = Relu(k) }'
      else_branch: 'e () => (float[1] r) { r = Constant<value_floats = [2.0]>() }'
    inputs: {c: {dtype: bool, data: true}}
    outputs: {y: {dtype: float32, data: [1]}}
  - name: own
    operator: mine.Twice
    model: |
      <ir_version: 8, opset_import: ["" : 13, "mine" : 1]>
      g (float[2] x) => (float[2] y) { y = mine.Twice(x) }
      <domain: "mine", opset_import: ["" : 13]>
      Twice (a) => (b) { b = Add(a, a) }
    inputs: {x: {dtype: float32, data: [1, 2]}}
    outputs: {y: {dtype: float32, data: [2, 4]}}
  - name: modes
    node: Pad(x, n) -> (y)
    attributes: {mode: edge}
    inputs: {x: {dtype: float32, data: [1]}, n: {dtype: int64, data: [1, 0]}}
    outputs: {y: {dtype: float32, data: [1, 1]}}
  - name: default_mode
    node: Pad(x, n) -> (y)
    inputs: {x: {dtype: float32, data: [1]}, n: {dtype: int64, data: [1, 0]}}
    outputs: {y: {dtype: float32, data: [0, 1]}}
  - name: several
    node: Concat(x, x, x) -> (y)
    attributes: {axis: -1}
    inputs: {x: {dtype: float32, data: [1]}}
    outputs: {y: {dtype: float32, data: [1, 1, 1]}}
"""


def test_bodies_and_functions_count(read_cases):
    """A node is a node wherever it stands; attributes are counted by value."""
    found = measure(SCHEMAS, facts_of_text(read_cases, NESTED), {})
    names = {title for title, _, _ in covered(found)}
    assert names == {"If-13", "Constant-13", "Relu-13", "Add-13", "Pad-13", "Concat-13"}
    mode = of(found, "Pad-13").attributes[0]
    assert (mode.name, mode.given, mode.left_out, mode.values) == ("mode", 1, 1, {"edge": 1})
    assert mode.covered
    constant = {a.name: a.values for a in of(found, "Constant-13").attributes if a.given}
    assert constant == {"value_floats": {"[1.0]": 1, "[2.0]": 1}}
    assert of(found, "Concat-13").inputs[0].counts == {3: 1}
    assert of(found, "If-13").attributes[0].values == {"<graph>": 1}
    assert found.unknown == {}


def test_operators_that_onnx_does_not_define_are_named(read_cases):
    """They count for nothing else."""
    text = """\
cases:
  - name: foreign
    model: |
      <ir_version: 8, opset_import: ["" : 13, "mine" : 1]>
      g (float[1] x) => (float[1] y) { z = Neg(x) y = mine.Foo(z) }
    inputs: {x: {dtype: float32, data: [1]}}
    outputs: {y: {dtype: float32, data: [1]}}
"""
    found = measure(SCHEMAS, facts_of_text(read_cases, text), {})
    assert found.unknown == {"mine.Foo": 1}
    assert {title for title, _, _ in covered(found)} == {"Neg-13"}


# How it grows ------------------------------------------------------------------------------------

PLAN = plan_all([str(BUNDLED / "math" / "clip.yaml"), str(BUNDLED / "logical")]).cases
POOL = list(facts_of_plan(PLAN))
SOME = [s for s in SCHEMAS if s.name in {"Clip", "Equal", "And", "BitShift"}]


@given(st.sets(st.integers(0, len(POOL) - 1)), st.sets(st.integers(0, len(POOL) - 1)))
def test_coverage_grows_with_the_cases(one, other):
    """Two sources cover what either covers, and no count is ever lost."""
    first, second, both = (
        measure(SOME, [POOL[i] for i in sorted(chosen)], {}) for chosen in (one, other, one | other)
    )
    assert covered(both) == covered(first) | covered(second)
    for a, b in zip(first.schemas, both.schemas, strict=True):
        assert a.cases <= b.cases
        assert all(x.given <= y.given for x, y in zip(a.attributes, b.attributes, strict=True))
        assert all(set(x.ranks) <= set(y.ranks) for x, y in zip(a.inputs, b.inputs, strict=True))
    assert total(first).signatures.share <= total(both).signatures.share


def test_the_cache_holds_what_the_cases_use(tmp_path, monkeypatch):
    """From the archive as from the cases; a plan of some cases has those alone."""
    monkeypatch.setenv("OPCHECK_CACHE", str(tmp_path))
    plan = plan_all([str(BUNDLED / "math" / "clip.yaml")]).cases
    direct = [(c.id, (c.domain, c.operator, c.since_version), facts_of(c)) for c in plan.loaded()]
    assert list(facts_of_plan(plan, 2)) == direct
    assert list(tmp_path.glob("cases/*/uses-*.cases"))
    assert list(facts_of_plan(plan)) == direct
    assert list(facts_of_plan(plan.at([5, 2]))) == [direct[5], direct[2]]
    assert any(signatures_of_uses(f.uses) for _, _, f in direct)


def test_folders_of_test_data_and_suites_count(tmp_path):
    """The suite has shelves of its own; what it covers is the same by either way."""
    plan = plan_all(["onnx:simple"]).cases
    found = list(facts_of_plan(plan))
    assert len(found) == len(plan)
    assert {f for _, _, f in found} == {facts_of(c) for c in plan.loaded()}
    used = signatures_of_uses(use for _, _, f in found for use in f.uses)
    assert {s.operator for s in used} >= {"Add", "SequenceInsert"}
    assert Facts(True).uses == ()
