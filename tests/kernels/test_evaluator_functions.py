"""Local functions: what they see, their attributes, their omitted inputs, their opsets."""

import numpy as np
import onnx
import onnx.parser
import pytest

from model_calls import f32, i64
from opcheck.kernels import Evaluator, InvalidModel, NodeError, Unsupported

HEADER = '<ir_version: 10, opset_import: ["": 18, "f": 1]>'


def evaluator(text, header=HEADER):
    return Evaluator(onnx.parser.parse_model(f"{header} {text}"))


def run(text, header=HEADER, **feeds):
    return evaluator(text, header).run(feeds)


def test_a_function_is_called_with_values_by_position():
    """Names of the function's inputs and outputs have nothing to do with those of the call."""
    y, z = run(
        """
        g (int64 a, int64 b) => (int64 y, int64 z) { y, z = f.Both (a, b) }
        <domain: "f", opset_import: ["": 18]>
        Both (b, a) => (sum, difference) {
          difference = Sub (b, a)
          sum = Add (a, b)
        }""",
        a=i64(10),
        b=i64(3),
    )
    assert (y, z) == (13, 7)


def test_equal_names_in_functions_and_callers_are_different_values():
    """A function has a scope of its own, each time it is called."""
    (y,) = run(
        """
        g (int64 x) => (int64 y) {
          t = Add (x, x)
          u = f.F (t)
          v = f.F (u)
          y = Add (v, t)
        }
        <domain: "f", opset_import: ["": 18]>
        F (x) => (y) {
          t = Constant <value_int = 100> ()
          y = Add (x, t)
        }""",
        x=i64(1),
    )
    assert y == 204


def test_a_function_does_not_see_the_callers_values():
    """Only a body sees what is around it."""
    with pytest.raises(InvalidModel, match="outer"):
        evaluator(
            """
            g (int64 x) => (int64 y) { outer = Add (x, x) y = f.F (x) }
            <domain: "f", opset_import: ["": 18]> F (x) => (y) { y = Add (x, outer) }"""
        )


def test_a_function_may_return_its_inputs_and_a_call_ignore_outputs():
    """An output that is an input needs no node; an output without a name goes nowhere."""
    (y,) = run(
        """
        g (int64 a, int64 b) => (int64 c) { "", d = f.Swap (a, b) c = Neg (d) }
        <domain: "f", opset_import: ["": 18]> Swap (x, y) => (y, x) { }""",
        a=i64(1),
        b=i64(2),
    )
    assert y == -1


def test_functions_call_functions():
    """A call inside of a function, three deep, one function twice in another."""
    (y,) = run(
        """
        g (int64 x) => (int64 y) { y = f.Eight (x) }
        <domain: "f", opset_import: ["": 18, "f": 1]>
        Eight (x) => (y) { t = f.Four (x) y = f.Two (t) }
        <domain: "f", opset_import: ["": 18, "f": 1]>
        Four (x) => (y) { t = f.Two (x) y = f.Two (t) }
        <domain: "f", opset_import: ["": 18]>
        Two (x) => (y) { y = Add (x, x) }""",
        x=i64(5),
    )
    assert y == 40


# Attributes

WEIGHTED = """
    <domain: "f", opset_import: ["": 18, "f": 1]>
    Weighted <alpha, beta: float = 10.0> (a, b, c) => (y) {
      y = Gemm <alpha: float = @alpha, beta: float = @beta> (a, b, c)
    }
"""
ONE = {"a": f32([[1]]), "b": f32([[1]]), "c": f32([[1]])}


@pytest.mark.parametrize(
    ("attributes", "wanted"),
    [
        pytest.param("<alpha = 2.0, beta = 3.0>", 5, id="both given"),
        pytest.param("<alpha = 2.0>", 12, id="the function's default"),
        pytest.param("", 11, id="the operator's default where the function has none"),
        pytest.param("<beta = 0.0>", 1, id="zero is no default"),
    ],
)
def test_an_attribute_is_given_or_the_functions_default_or_the_operators(attributes, wanted):
    """``ref_attr_name`` stands for the attribute of the call."""
    text = f"""
        g (float[1, 1] a, float[1, 1] b, float[1, 1] c) => (float[1, 1] y) {{
          y = f.Weighted {attributes} (a, b, c)
        }}"""
    (y,) = run(text + WEIGHTED, **ONE)
    assert y.tolist() == [[wanted]]


def test_calls_with_different_attributes_do_not_mix():
    """Each call has its own attributes."""
    y, z = run(
        """
        g (float[1, 1] a, float[1, 1] b, float[1, 1] c) => (float[1, 1] y, float[1, 1] z) {
          y = f.Weighted <alpha = 7.0> (a, b, c)
          z = f.Weighted <alpha = 1.0, beta = 1.0> (a, b, c)
        }"""
        + WEIGHTED,
        **ONE,
    )
    assert (y.tolist(), z.tolist()) == ([[17]], [[2]])


@pytest.mark.parametrize(
    ("attributes", "wanted"), [("<scale = 5.0>", 15), ("", 14)], ids=["given", "default"]
)
def test_attributes_go_through_nested_functions_under_other_names(attributes, wanted):
    """What the outer call says reaches the operator inside of the inner function."""
    text = f"""
        g (float[1, 1] a, float[1, 1] b, float[1, 1] c) => (float[1, 1] y) {{
          y = f.Outer {attributes} (a, b, c)
        }}
        <domain: "f", opset_import: ["": 18, "f": 1]>
        Outer <scale: float = 4.0> (a, b, c) => (y) {{
          y = f.Weighted <alpha: float = @scale> (a, b, c)
        }}"""
    (y,) = run(text + WEIGHTED, **ONE)
    assert y.tolist() == [[wanted]]


def test_bodies_inside_of_functions_refer_to_the_functions_attributes():
    """In the branches of an If in the body of a Loop, too."""
    (y,) = run(
        """
        g (int64 m) => (int64[N] y) { y = f.F <low = 3, high = 50> (m) }
        <domain: "f", opset_import: ["": 18]>
        F <low: int = 1, high: int = 2> (m) => (y) {
          y = Loop (m, "") <body = b (int64 i, bool c) => (bool d, int64 e) {
            d = Identity (c)
            two = Constant <value_int = 2> ()
            early = Less (i, two)
            e = If (early) <
              then_branch = t () => (int64 p) { p = Constant <value_int: int = @low> () },
              else_branch = o () => (int64 q) { q = Constant <value_int: int = @high> () }
            >
          }>
        }""",
        m=i64(4),
    )
    assert y.tolist() == [3, 3, 50, 50]


@pytest.mark.parametrize(
    ("value", "reference", "dtype", "wanted"),
    [
        ("7", "value_int: int", np.int64, 7),
        ("[1, 2]", "value_ints: ints", np.int64, [1, 2]),
        ("2.5", "value_float: float", np.float32, 2.5),
        ('"é"', "value_string: string", object, "é"),
        ('["a", "b"]', "value_strings: strings", object, ["a", "b"]),
        ("int32[2] {3, 4}", "value: tensor", np.int32, [3, 4]),
    ],
)
def test_attributes_of_any_type_are_passed(value, reference, dtype, wanted):
    """Numbers, strings, lists and tensors."""
    kind = {np.int64: "int64", np.float32: "float", object: "string", np.int32: "int32"}[dtype]
    shape = "[2]" if isinstance(wanted, list) else ""
    (y,) = run(
        f"""
        g () => ({kind}{shape} y) {{ y = f.F <v = {value}> () }}
        <domain: "f", opset_import: ["": 18]>
        F <v> () => (y) {{ y = Constant <{reference} = @v> () }}"""
    )
    assert (y.dtype, y.tolist()) == (np.dtype(dtype), wanted)


def test_an_attribute_that_the_function_does_not_have_is_refused():
    """A misspelled attribute must not be ignored in favour of the default."""
    text = """
        g (float[1, 1] a, float[1, 1] b, float[1, 1] c) => (float[1, 1] y) {
          y = f.Weighted <alfa = 2.0> (a, b, c)
        }"""
    with pytest.raises(InvalidModel, match="Weighted has no attribute 'alfa'; it has alpha, beta"):
        evaluator(text + WEIGHTED)


# Inputs


@pytest.mark.parametrize(
    ("inputs", "wanted"),
    [
        pytest.param("a, b, c", 11, id="all"),
        pytest.param('a, b, ""', 1, id="an empty name"),
        pytest.param("a, b", 1, id="fewer"),
    ],
)
def test_an_input_that_a_call_omits_is_omitted_inside(inputs, wanted):
    """The optional input C of Gemm is absent where the function's input is."""
    text = f"""
        g (float[1, 1] a, float[1, 1] b, float[1, 1] c) => (float[1, 1] y) {{
          y = f.Weighted ({inputs})
        }}"""
    (y,) = run(text + WEIGHTED, **ONE)
    assert y.tolist() == [[wanted]]


@pytest.mark.parametrize("call", ["y = f.F (x, x)", "y, z = f.F (x)"], ids=["inputs", "outputs"])
def test_a_call_with_more_values_than_the_function_has_is_refused(call):
    """The message names the function, and both numbers."""
    text = f"""
        g (float x) => (float y) {{ {call} }}
        <domain: "f", opset_import: ["": 18]> F (a) => (b) {{ b = Neg (a) }}"""
    with pytest.raises(InvalidModel, match=r"F.* 1 .* 2|F.* 2 .* 1"):
        evaluator(text)


# Opsets, domains and overloads


def test_a_function_has_opset_imports_of_its_own():
    """Domains that only the function imports; other versions with the same schemas."""
    (y,) = run(
        """
        g (int64 x) => (int64 y) { y = f.F (x) }
        <domain: "f", opset_import: ["": 15, "h": 3]> F (x) => (y) { t = h.G (x) y = Neg (t) }
        <domain: "h", opset_import: ["": 13]> G (x) => (y) { y = Abs (x) }""",
        x=i64(-5),
    )
    assert y == -5


def test_a_function_may_not_import_another_schema_of_an_operator():
    """onnx.proto: "the operator schema returned ... for both the versions should be same"."""
    with pytest.raises(InvalidModel, match="F"):
        evaluator(
            """
            g (int64[2] x) => (int64 y) { y = f.F (x) }
            <domain: "f", opset_import: ["": 11]>
            F (x) => (y) { y = ReduceSum <axes = [0], keepdims = 0> (x) }"""
        )


def test_a_function_that_imports_no_opset_of_an_operator_is_refused():
    """The imports of the model do not count inside of a function."""
    with pytest.raises(InvalidModel, match=r"(?i)opset"):
        evaluator(
            """
            g (int64 x) => (int64 y) { y = f.F (x) }
            <domain: "f", opset_import: ["f": 1]> F (x) => (y) { y = Neg (x) }"""
        )


def test_a_function_may_have_the_name_of_an_operator():
    """The domain tells them apart."""
    y, z = run(
        """
        g (int64 x) => (int64 y, int64 z) { y = f.Neg (x) z = Neg (x) }
        <domain: "f", opset_import: ["": 18]> Neg (x) => (y) { y = Add (x, x) }""",
        x=i64(3),
    )
    assert (y, z) == (6, -3)


def test_overloads_are_different_functions():
    """Domain, name and overload together name a function."""
    model = onnx.parser.parse_model(
        HEADER
        + """
        g (int64 x) => (int64 y, int64 z) { y = f.F (x) z = f.F (x) }
        <domain: "f", opset_import: ["": 18]> F (x) => (y) { y = Neg (x) }
        <domain: "f", opset_import: ["": 18]> G (x) => (y) { y = Add (x, x) }"""
    )
    model.functions[0].overload = model.graph.node[0].overload = "one"
    model.functions[1].overload = model.graph.node[1].overload = "two"
    model.functions[1].name = "F"
    assert Evaluator(model).run({"x": i64(3)}) == [-3, 6]


def test_an_unknown_function_is_unsupported_and_named():
    """No local function, and no operator of a domain that is known."""
    with pytest.raises(Unsupported, match="f G is unknown at opset 1"):
        evaluator(
            """
            g (int64 x) => (int64 y) { y = f.G (x) }
            <domain: "f", opset_import: ["": 18]> F (x) => (y) { y = Neg (x) }"""
        )


@pytest.mark.parametrize(
    "functions",
    [
        pytest.param(["F (x) => (y) { y = f.F (x) }"], id="itself"),
        pytest.param(
            ["F (x) => (y) { y = f.G (x) }", "G (x) => (y) { y = f.F (x) }"], id="each other"
        ),
        pytest.param(
            [
                "F (x) => (y) { c = Cast <to = 9> (x) y = If (c) <then_branch = t () => (p) "
                "{ p = f.F (x) }, else_branch = e () => (q) { q = Neg (x) }> }"
            ],
            id="itself in a branch",
        ),
    ],
)
def test_a_function_that_calls_itself_is_refused(functions):
    """Even if a branch would end it: functions can be inlined."""
    texts = [f'<domain: "f", opset_import: ["": 18, "f": 1]> {text}' for text in functions]
    with pytest.raises(InvalidModel, match="F"):
        evaluator("g (int64 x) => (int64 y) { y = f.F (x) } " + " ".join(texts))


def doubling(levels):
    """Functions of which each calls the one before twice: 2 ** levels nodes in the end."""
    functions = [
        f'<domain: "f", opset_import: ["": 18, "f": 1]> F{i} (x) => (y) '
        f"{{ z = f.F{i - 1} (x) y = f.F{i - 1} (z) }}"
        for i in range(1, levels + 1)
    ]
    first = '<domain: "f", opset_import: ["": 18]> F0 (x) => (y) { y = Neg (x) }'
    call = f"g (int64 x) => (int64 y) {{ y = f.F{levels} (x) }}"
    return evaluator(" ".join([call, first, *functions]))


def test_functions_that_double_at_each_level_are_refused_before_anything_expands_them():
    """Shape inference of onnx expands every call, and nothing can interrupt it."""
    assert doubling(3).run({"x": np.array(5, np.int64)}) == [5]
    with pytest.raises(Unsupported, match=r"expand to \d+ nodes; at most 20000 are run"):
        doubling(60)


def test_functions_that_nest_without_end_are_refused():
    """A chain of calls is short and deep."""
    functions = [
        f'<domain: "f", opset_import: ["": 18, "f": 1]> F{i} (x) => (y) {{ y = f.F{i - 1} (x) }}'
        for i in range(1, 70)
    ]
    first = '<domain: "f", opset_import: ["": 18]> F0 (x) => (y) { y = Neg (x) }'
    with pytest.raises(Unsupported, match="calls of functions nest deeper than 64"):
        evaluator(" ".join(["g (int64 x) => (int64 y) { y = f.F69 (x) }", first, *functions]))


def test_a_loop_in_a_function_may_run_no_iteration():
    """The shape of its scan output comes from the values of the call."""
    (y,) = run(
        """
        g (int64 m, float[2, 3] x) => (float[N, A, B] y) { y = f.F (m, x) }
        <domain: "f", opset_import: ["": 18, "f": 1]>
        F (m, x) => (y) {
          z, y = Loop (m, "", x) <body = b (i, c, v) => (d, w, e) {
            d = Identity (c)
            w = Identity (v)
            e = f.Twice (v)
          }>
        }
        <domain: "f", opset_import: ["": 18]> Twice (a) => (b) { b = Concat <axis = 0> (a, a) }""",
        m=i64(0),
        x=np.ones((2, 3), np.float32),
    )
    assert (y.dtype, y.shape) == (np.float32, (0, 4, 3))


@pytest.mark.parametrize("condition", ["Identity (v)", "SequenceConstruct (c)"])
def test_a_condition_that_is_no_bool_is_an_error_where_only_the_run_shows_it(condition):
    """The body of a Loop in a function declares no types: the Loop checks what it gets."""
    text = f"""
        g (int64 m, float x) => (float y) {{ y = f.F (m, x) }}
        <domain: "f", opset_import: ["": 18]>
        F (m, x) => (y) {{
          y = Loop (m, "", x) <body = b (i, c, v) => (d, w) {{
            d = {condition}
            w = Identity (v)
          }}>
        }}"""
    with pytest.raises((InvalidModel, NodeError), match=r"condition is .*; it must be .*bool"):
        run(text, m=i64(2), x=f32(1))
