"""Which cases are run: words of ids with and, or, not; operators, opsets and types."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from onnx import ModelProto

from opcheck.harness.case import Call, Case
from opcheck.harness.plan import Loose, Plan
from opcheck.harness.selection import MAX_DEPTH, BadExpression, choose, parse_keyword

EXAMPLES = settings(deadline=None, max_examples=300)


def case_of(id_, operator="Add", domain="", opset=14, dtypes=("float32",)):
    file, _, name = id_.partition("::")
    return Case(
        file=file, line=1, name=name, variant="", operator=operator, domain=domain,
        opset=opset, since_version=opset, call=Call(ModelProto(), {}), output_names=(),
        alternatives=(), dtypes=frozenset(dtypes),
    )  # fmt: skip


CASES = [
    case_of("cases/math/add.yaml::broadcast[float32]"),
    case_of("cases/math/add.yaml::broadcast[int64]", opset=7, dtypes=("int64",)),
    case_of("cases/controlflow/loop.yaml::Counts", "Loop", opset=13, dtypes=("int64", "bool")),
    case_of("ml.yaml::scale", "Scaler", "ai.onnx.ml", 1),
]


def plan_of(cases):
    return Plan([Loose("f", cases, [])], [(0, i) for i in range(len(cases))])


def chosen(**by):
    return [CASES.index(case) for case in choose(plan_of(CASES), **by)]


@pytest.mark.parametrize(
    ("keyword", "want"),
    [
        ("", [0, 1, 2, 3]), ("   ", [0, 1, 2, 3]), ("broadcast", [0, 1]), ("LOOP", [2]),
        ("counts", [2]), ("math/add", [0, 1]), ("add.yaml::broadcast", [0, 1]), ("[int64]", [1]),
        ("not math", [2, 3]), ("math and not int64", [0]), ("loop or scale", [2, 3]),
        ("not loop and not scale", [0, 1]), ("not (loop or scale)", [0, 1]),
        ("loop or math and int64", [1, 2]), ("(loop or math) and int64", [1]),
        ("not not loop", [2]),
        ("((loop))", [2]), ("nothing", []), ("ordinary or scale", [3]), ("notch or scale", [3]),
        ("and-then or not_this or loop", [2]),
    ],
)  # fmt: skip
def test_keywords(keyword, want):
    """``and`` binds more tightly than ``or``; words are parts of ids, in any case of letters."""
    assert chosen(keyword=keyword) == want


WORDS = ["add", "loop", "float32", "and-x", "not_y", "orb", "Case[1]"]
expressions = st.recursive(
    st.sampled_from(WORDS),
    lambda inner: st.one_of(
        inner.map("not {}".format),
        inner.map("( {} )".format),
        st.tuples(inner, inner).map(" and ".join),
        st.tuples(inner, inner).map(" or ".join),
    ),
    max_leaves=12,
)


@EXAMPLES
@given(text=expressions, present=st.sets(st.sampled_from(WORDS)))
@example(text="add or loop and not float32", present={"add"})
def test_expressions_mean_what_python_means(text, present):
    """The same expression with True and False for the words, evaluated by Python."""
    subject = " ".join(sorted(present)).upper()
    values = re.sub(
        r"[^\s()]+",
        lambda w: w[0] if w[0] in ("and", "or", "not") else str(w[0].upper() in subject),
        text,
    )
    assert parse_keyword(text)(subject) == eval(values)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("and", "seen 'and'"), ("loop and", "seen the end"), ("or loop", "seen 'or'"), ("not",
            "seen the end"),
        ("(loop", "a parenthesis is not closed"), ("loop)", "seen ')'"), ("()", "seen ')'"),
        ("loop add", "seen 'add', wanted and, or, or the end"), ("loop not add", "seen 'not'"),
        ("loop and or add", "seen 'or'"), ("(", "seen the end"), ("loop (add)", "seen '('"),
    ],
)  # fmt: skip
def test_bad_expressions_say_where_they_end_to_be_good(text, seen):
    """An expression that cannot be read is never taken for a word."""
    with pytest.raises(BadExpression) as caught:
        choose(plan_of(CASES), keyword=text)
    assert seen in str(caught.value)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("opening", ["(", "not ", "(not "])
def test_deep_expressions_are_refused(opening):
    """Nesting has an end before that of Python's stack."""
    with pytest.raises(BadExpression, match="deep"):
        parse_keyword(opening * 50_000 + "loop")
    fine = "not " * MAX_DEPTH + "loop"
    assert parse_keyword(fine)("loop") is True


@EXAMPLES
@given(st.text("()andort xy[]", max_size=25) | st.text(max_size=10))
def test_any_text_is_an_expression_or_is_refused(text):
    """No text makes the reader raise anything else."""
    with suppress(BadExpression):
        assert parse_keyword(text)("x") in (True, False)


@pytest.mark.parametrize(
    ("operators", "want"),
    [
        (["Add"], [0, 1]), (["add"], [0, 1]), (["Add", "Loop"], [0, 1, 2]), (["ai.onnx.Loop"], [2]),
        (["Scaler"], [3]), (["ai.onnx.ml.Scaler"], [3]), (["ai.onnx.Scaler"], []), (["Ad"], []),
    ],
)  # fmt: skip
def test_operators(operators, want):
    """A name is whole, with or without its domain, in any case of letters; a list is either."""
    assert chosen(operators=operators) == want


@pytest.mark.parametrize(("opsets", "want"), [([14], [0]), ([7, 13], [1, 2]), ([2], [])])
def test_opsets(opsets, want):
    """The opset a case runs at, not the version of the operator that it resolves to."""
    assert chosen(opsets=opsets) == want


@pytest.mark.parametrize(
    ("dtypes", "want"), [(["int64"], [1, 2]), (["bool", "float32"], [0, 2, 3]), (["int8"], [])]
)
def test_dtypes(dtypes, want):
    """A case fits when one of its types is wanted."""
    assert chosen(dtypes=dtypes) == want


def test_all_conditions_hold_together():
    """Each option narrows what the others leave, and the order stays."""
    assert chosen(keyword="math", operators=["Add"], opsets=[7, 14], dtypes=["int64"]) == [1]
    assert chosen(keyword="math", opsets=[13]) == []
    assert chosen() == [0, 1, 2, 3]
