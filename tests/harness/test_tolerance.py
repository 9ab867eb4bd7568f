"""How far a result may be off: by operator and type, unless the case says otherwise."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx.defs
import pytest
from onnx import TensorProto, helper

from opcheck.harness import tolerance as tables
from opcheck.harness.case import Call, Case, Expected, Tolerance
from opcheck.harness.dtypes import ELEMENT_TYPES, element_type, parse_type
from opcheck.harness.tolerance import EXACT, OTHERS, SUMS, ULP, default_ulp, tolerance_for

OPERATORS = sorted({s.name for s in onnx.defs.get_all_schemas_with_history()})
FLOAT = element_type("float32")


def model_of(*nodes):
    graph = helper.make_graph(list(nodes), "g", [], [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)])


def case_of(*operators, inputs=None, tolerances=None, nodes=None):
    """A case whose model has these nodes, one after the other."""
    made = nodes or [helper.make_node(op, [], ["y"]) for op in operators]
    return Case(
        file="f", line=1, name="c", variant="", operator="X", domain="", opset=14,
        since_version=14, call=Call(model_of(*made), inputs or {}), output_names=("y",),
        alternatives=(), tolerances=tolerances or {},
    )  # fmt: skip


def output(dtype="float32"):
    element = element_type(dtype)
    proto = helper.make_tensor_type_proto(element.number, [1])
    return Expected("tensor", proto, element.dtype, (1,))


@pytest.mark.parametrize("table", ["EXACT", "SUMS", "ULP"])
def test_the_tables_name_operators_of_onnx_only(table):
    """A misspelt operator would fall through to the allowance for all others."""
    assert set(getattr(tables, table)) <= set(OPERATORS)


def test_no_operator_is_in_two_tables():
    """Which table wins must never be a question."""
    names = [*EXACT, *SUMS, *ULP]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_has_an_allowance(operator):
    """Each is exact, a function with a number of its own, a sum, or one of the others."""
    feeds = {"x": np.ones(100, np.float32)}
    want = {**dict.fromkeys(EXACT, 0), **dict.fromkeys(SUMS, 1 + 10), **ULP}.get(operator, OTHERS)
    assert default_ulp(case_of(operator, inputs=feeds), FLOAT) == want


def test_the_allowances_are_sane():
    """Rounding once is at least a unit, and no function is looser than ``Pow`` or ``Erf``."""
    assert all(1 <= units <= 16 for units in ULP.values())
    assert 0 < OTHERS <= 16


@pytest.mark.parametrize(
    "operator", ["Transpose", "Gather", "Relu", "Max", "Where", "Concat", "Cast"]
)
def test_moving_data_is_exact(operator):
    """What does no arithmetic may not change a bit."""
    assert default_ulp(case_of(operator), FLOAT) == 0


@pytest.mark.parametrize(("terms", "units"), [(1, 2), (2, 3), (100, 11), (101, 12), (10_000, 101)])
def test_sums_may_lose_more_with_their_length(terms, units):
    """``1 + sqrt(n)`` units for n terms, rounded up; the longest input counts."""
    feeds = {"a": np.ones(1, np.float32), "x": np.ones((terms, 1), np.float32), "s": [np.ones(3)]}
    assert default_ulp(case_of("ReduceSum", inputs=feeds), FLOAT) == units


def test_a_sum_without_inputs_has_one_term():
    """A model may bring its numbers along."""
    assert default_ulp(case_of("MatMul"), FLOAT) == 2


@pytest.mark.parametrize("name", list(ELEMENT_TYPES))
def test_defaults_by_type(name):
    """Integers, booleans and strings are exact; types of few bits have large steps."""
    element = element_type(name)
    units = default_ulp(case_of("Erf"), element)
    if not (element.is_float or element.is_complex):
        assert units == 0
    else:
        assert units == {16: 4, 8: 1, 6: 1, 4: 1}.get(element.bits, ULP["Erf"])
    assert default_ulp(case_of("Transpose"), element) == 0


def test_a_value_without_a_dtype_is_exact():
    """An empty optional has nothing to be lax about."""
    assert default_ulp(case_of("Erf"), None) == 0


def test_a_model_gets_the_sum_of_its_nodes_bodies_included():
    """Errors add up along a row of nodes, and inside the bodies of Loop, If and Scan."""
    assert default_ulp(case_of("Add", "Transpose", "Tanh"), FLOAT) == ULP["Add"] + ULP["Tanh"]
    inner = helper.make_graph([helper.make_node("Exp", ["x"], ["y"])], "inner", [], [])
    nested = helper.make_graph(
        [helper.make_node("If", ["c"], ["z"], then_branch=inner, else_branch=inner)],
        "outer",
        [],
        [],
    )
    loop = helper.make_node("Loop", [], ["y"], body=nested)
    assert default_ulp(case_of(nodes=[loop]), FLOAT) == 2 * ULP["Exp"]


@pytest.mark.parametrize(
    ("given", "want"),
    [
        (Tolerance(ulp=0), Tolerance(ulp=0)),
        (Tolerance(rtol=0.0), Tolerance(rtol=0.0)),
        (Tolerance(atol=0.0, signed_zero=True), Tolerance(atol=0.0, signed_zero=True)),
        (Tolerance(ulp=100, rtol=1e-3), Tolerance(ulp=100, rtol=1e-3)),
        # Only the sign of zero: the default distance stays.
        (Tolerance(signed_zero=True), Tolerance(ulp=5, signed_zero=True)),
        (Tolerance(), Tolerance(ulp=5)),
        (None, Tolerance(ulp=5)),
    ],
)
def test_a_case_overrides_the_default(given, want):
    """What the case says holds alone, and zero is something that it can say."""
    case = case_of("Tanh", tolerances={} if given is None else {"y": given})
    assert tolerance_for(case, "y", output()) == want


def test_overrides_are_per_output():
    """The tolerance of one output says nothing about another."""
    case = case_of("Tanh", tolerances={"y": Tolerance(ulp=1)})
    assert tolerance_for(case, "y", output()) == Tolerance(ulp=1)
    assert tolerance_for(case, "z", output()) == Tolerance(ulp=5)
    assert tolerance_for(case, "z", output("float16")) == Tolerance(ulp=4)
    assert tolerance_for(case, "z", output("int64")) == Tolerance(ulp=0)


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        ("sequence", "seq(bfloat16)"),
        ("optional", "optional(bfloat16)"),
        ("map", "map(string, bfloat16)"),
    ],
)
def test_values_that_hold_tensors_have_the_tolerance_of_their_type(kind, type_):
    """The first tensor inside decides."""
    inner = output("bfloat16")
    outer = Expected(kind, parse_type(type_), items=(inner,), keys=("k",))
    nested = Expected("optional", parse_type(f"optional({type_})"), items=(outer,))
    for expected in (outer, nested):
        assert tolerance_for(case_of("Tanh"), "y", expected) == Tolerance(ulp=4)
    empty = Expected(kind, parse_type(type_))
    assert tolerance_for(case_of("Tanh"), "y", empty) == Tolerance(ulp=0)


def test_numbers_of_a_case_do_not_depend_on_its_type_alone():
    """bfloat16 and float16 are capped at the same few units, complex numbers are not."""
    assert (
        default_ulp(case_of("MatMul", inputs={"x": np.ones(900, ml_dtypes.bfloat16)}), FLOAT) == 31
    )
    assert default_ulp(case_of("Pow"), element_type("complex64")) == ULP["Pow"]
    assert element_type("bfloat16").number == TensorProto.BFLOAT16
