"""What a good case file means: variants and ids, values of every kind, models and bodies."""

from __future__ import annotations

from contextlib import suppress
from itertools import product

import ml_dtypes
import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from opcheck.harness import nodes, onnxtext
from opcheck.harness.case import MustFail, Tolerance
from opcheck.harness.dtypes import ELEMENT_TYPES, element_type, type_text
from opcheck.harness.errors import CaseError

EXAMPLES = settings(deadline=None, max_examples=200)


@pytest.fixture
def cases(read_cases):
    """Read the cases of a text that has no mistakes."""

    def read(text, folder=None):
        loaded = read_cases(text, folder)
        assert [str(error) for error in loaded.errors] == []
        return loaded.cases

    return read


def identity(value, want=None, more=""):
    """A case that passes one value through Identity."""
    return (
        f"cases:\n  - name: one\n    opset: 25\n    node: Identity(a) -> (c)\n{more}"
        f"    inputs: {{a: {value}}}\n    outputs: {{c: {want or value}}}\n"
    )


ADD = """\
operator: Add
opset: {opset}
spec: the page
cases:
  - name: sum
    why: |
      It has
        a reason.
    node: Add(a, b) -> (c){more}
    inputs:
      a: {{dtype: {a}, data: [1, 2]}}
      b: {{dtype: {a}, data: 3}}
    outputs:
      c: {{dtype: {a}, data: [4, 5]}}
"""


@pytest.mark.parametrize(
    ("opset", "more", "variants"),
    [
        pytest.param("14", "", [""], id="one"),
        pytest.param("[14]", "", ["opset=14"], id="a-list-of-one-names-its-opset"),
        pytest.param("[14, 7]", "", ["opset=14", "opset=7"], id="list-in-its-order"),
        pytest.param("13..15", "", ["opset=13", "opset=14", "opset=15"], id="range"),
        pytest.param(" 13 .. 14 ", "", ["opset=13", "opset=14"], id="range-with-spaces"),
        pytest.param("14", "\n    opset: [7, 8]", ["opset=7", "opset=8"], id="the-case-overrides"),
        pytest.param("14", "\n    types: {T: [float, int8]}", ["float", "int8"], id="types"),
        pytest.param("14",
            "\n    types: {T: [int8], U: [bool]}", ["int8-bool"], id="two-parameters"),
        pytest.param("14", "\n    types: {}", [""], id="no-types"),
        pytest.param(
            "[14, 15]", "\n    types: {T: [int64, double]}",
            ["opset=14-int64", "opset=14-double", "opset=15-int64", "opset=15-double"],
            id="opsets-times-types",
        ),
    ],
)  # fmt: skip
def test_variants_and_ids(cases, opset, more, variants):
    """Types and opsets multiply; the variant is part of the id, in the order of the file."""
    kind = "T" if "types: {T" in more else "float32"
    read = cases(ADD.format(opset=opset, more=more, a=kind))
    assert [case.variant for case in read] == variants
    assert [case.id for case in read] == [
        f"case.yaml::sum[{v}]" if v else "case.yaml::sum" for v in variants
    ]
    assert all(case.title == case.id.partition("::")[2] for case in read)


def test_each_variant_has_its_own_types_and_opset(cases):
    """Values, model and since_version follow the variant."""
    read = cases(ADD.format(opset="[7, 14]", more="\n    types: {T: [int32, float16]}", a="T"))
    for case, (opset, dtype) in zip(read, product([7, 14], ["int32", "float16"]), strict=True):
        assert case.call.inputs["a"].dtype == case.alternatives[0][0].dtype == np.dtype(dtype)
        assert case.call.model.opset_import[0].version == case.opset == opset
        assert case.since_version == opset
        assert case.dtypes == {dtype}


def test_a_case_knows_where_it_stands_and_why(cases):
    """What reports and ``opcheck show`` print: file, line, the page, and the reason on one line."""
    (case,) = cases(ADD.format(opset=14, more="", a="float32"))
    assert (case.file, case.line, case.name) == ("case.yaml", 5, "sum")
    assert (case.operator, case.domain, case.opset) == ("Add", "", 14)
    assert (case.why, case.spec, case.node) == ("It has a reason.", "the page", "Add(a, b) -> (c)")
    assert case.output_names == ("c",)


@pytest.mark.parametrize("operator", ["Add", "ai.onnx.Add"])
@pytest.mark.parametrize("node", ["Add", "ai.onnx.Add"])
def test_the_default_domain_may_be_written(cases, operator, node):
    """``ai.onnx.Add`` is ``Add``, above the cases and in the node."""
    text = ADD.format(opset=14, more="", a="float32").replace(
        "operator: Add", f"operator: {operator}"
    )
    (case,) = cases(text.replace("node: Add", f"node: {node}"))
    assert (case.operator, case.domain) == ("Add", "")


def test_a_node_of_another_domain(cases):
    """The domain stands before the name, and the opset is that domain's."""
    (case,) = cases(
        "cases:\n  - name: scaled\n    operator: Scaler\n    opset: 1\n"
        "    node: ai.onnx.ml.Scaler(X) -> (Y)\n    attributes: {offset: [1], scale: [2]}\n"
        "    inputs: {X: {dtype: float32, data: [[1, 2]]}}\n"
        "    outputs: {Y: {dtype: float32, data: [[0, 2]]}}\n"
    )
    assert (case.operator, case.domain, case.opset) == ("Scaler", "ai.onnx.ml", 1)
    assert case.call.model.opset_import[0].domain == "ai.onnx.ml"


@pytest.mark.parametrize(
    ("value", "want"),
    [
        ("{dtype: int64, data: 9007199254740993}", np.array(2**53 + 1)),
        ("{dtype: float32, data: [[1, 2], [3, 4]]}", np.array([[1, 2], [3, 4]], np.float32)),
        ("{dtype: float32, shape: [2, 2], data: [1, 2, 3, 4]}", np.array([[1, 2], [3, 4]], "f4")),
        ("{dtype: float32, shape: [1, 1], data: 5}", np.array([[5]], np.float32)),
        ("{dtype: float32, shape: [], data: [5]}", np.array(5, np.float32)),
        ("{dtype: tensor(double), data: []}", np.zeros(0)),
        ("{dtype: int8, shape: [0, 3], data: []}", np.zeros((0, 3), np.int8)),
        ("{dtype: int8, data: [[], []]}", np.zeros((2, 0), np.int8)),
        ("{dtype: bool, data: [true, false]}", np.array([True, False])),
        ("{dtype: string, data: [['a', ''], ['ü', '1']]}", np.array([["a", ""], ["ü",
            "1"]], object)),
        ("{dtype: complex64, data: ['1-2j']}", np.array([1 - 2j], np.complex64)),
        ("{dtype: float32, bits: [[0x3f800000, 0x80000000]]}", np.array([[1, -0.0]], np.float32)),
        ("{dtype: float16, bits: 0x3c00}", np.array(1, np.float16)),
        ("{dtype: int32, shape: [2, 3], fill: -7}", np.full((2, 3), -7, np.int32)),
        ("{dtype: float32, shape: [2], fill: '0x1p-1'}", np.array([0.5, 0.5], np.float32)),
        ("{dtype: string, shape: [2], fill: 'x'}", np.array(["x", "x"], object)),
        ("{dtype: int8, shape: [0], fill: 1}", np.zeros(0, np.int8)),
    ],
)  # fmt: skip
def test_tensors(cases, value, want):
    """Nested, flat, filled, as bits, empty, without axes: dtype, shape and values are exact."""
    (case,) = cases(identity(value))
    expected = case.alternatives[0][0]
    for got in (case.call.inputs["a"], expected.value):
        assert got.dtype == want.dtype
        assert got.shape == want.shape == expected.shape
        assert got.tobytes() == want.tobytes() or (got == want).all()
    assert expected.undefined is None


@pytest.mark.parametrize(
    ("value", "type_", "want"),
    [
        ("{sequence: [{dtype: int8, data: 1}, {dtype: int8, data: [2]}]}", "seq(int8)", [1, [2]]),
        ("{sequence: [], dtype: float32}", "seq(float32)", []),
        ("{sequence: [{dtype: T, data: 1}], dtype: T}", "seq(int64)", [1]),
        ("{optional: null, dtype: float32}", "optional(float32)", None),
        ("{optional: null, dtype: seq(T)}", "optional(seq(int64))", None),
        ("{optional: {dtype: int8, data: [3]}}", "optional(int8)", [3]),
        ("{optional: {dtype: int8, data: 3}, dtype: int8}", "optional(int8)", 3),
        ("{optional: {sequence: [], dtype: bool}}", "optional(seq(bool))", []),
    ],
)
def test_sequences_and_optionals(cases, value, type_, want):
    """A sequence is a list, an optional its value or ``None``; their types are ONNX's."""
    (case,) = cases(identity(value, more="    types: {T: [int64]}\n"))
    assert type_text(case.alternatives[0][0].type) == type_
    assert type_text(case.call.model.graph.input[0].type) == type_
    got = case.call.inputs["a"]
    plain = [v.tolist() for v in got] if isinstance(got, list) else got
    assert (plain.tolist() if isinstance(plain, np.ndarray) else plain) == want


@pytest.mark.parametrize(
    ("value", "keys", "numbers", "type_"),
    [
        (
            "{map: {1: 0.5, -2: 2}, dtype: 'map(int64, float32)'}",
            (1, -2),
            [0.5, 2],
            "int64, float32",
        ),
        ("{map: {a: 1, '2': 2}, dtype: 'map(string, T)'}", ("a", "2"), [1, 2], "string, int64"),
        ("{map: {}, dtype: 'map(string, double)'}", (), [], "string, float64"),
    ],
)
def test_maps(cases, value, keys, numbers, type_):
    """A map has integers or strings as keys, and scalars of one type as values."""
    text = (
        "cases:\n  - name: map\n    opset: 1\n    node: ai.onnx.ml.ZipMap(x) -> (z)\n"
        "    types: {T: [int64]}\n    inputs: {x: {dtype: float32, data: [[1]]}}\n"
        f"    any_of: [{{error: true}}, {{outputs: {{z: {value}}}}}]\n"
    )
    (case,) = cases(text)
    expected = case.alternatives[1][0]
    assert (expected.kind, expected.keys) == ("map", keys)
    assert [item.value.item() for item in expected.items] == numbers
    assert type_text(expected.type) == f"map({type_})"


@pytest.mark.parametrize("name", [n for n, e in ELEMENT_TYPES.items() if n != "string"])
def test_npy_files_of_every_type(cases, tmp_path, name):
    """What ``numpy.save`` wrote comes back bit for bit, for types that NumPy does not have too."""
    dtype = element_type(name).dtype
    array = np.array([[0, 1], [1, 0]]).astype(dtype)
    if name == "int4":
        array = np.arange(-8, 8).astype(dtype).reshape(2, 8)
    # NumPy writes float8_e5m2 under a name that it cannot read: save the bits instead.
    np.save(tmp_path / "x.npy", array.view(np.uint8) if name == "float8e5m2" else array)
    value = f"{{dtype: {name}, npy: x.npy}}"
    (case,) = cases(identity(value).replace(f"outputs: {{c: {value}}}", "error: true"), tmp_path)
    got = case.call.inputs["a"]
    assert got.dtype == dtype
    assert got.tobytes() == array.tobytes()


def test_npy_files_of_strings_and_of_other_layouts(cases, tmp_path):
    """Unicode arrays are strings; Fortran order and a file in a folder below are fine."""
    (tmp_path / "deep").mkdir()
    np.save(tmp_path / "deep" / "s.npy", np.array(["a", "ü"]))
    np.save(tmp_path / "f.npy", np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    (case,) = cases(identity("{dtype: string, npy: deep/s.npy}"), tmp_path)
    assert case.call.inputs["a"].dtype == object
    assert case.call.inputs["a"].tolist() == ["a", "ü"]
    (case,) = cases(identity("{dtype: double, shape: [2, 3], npy: f.npy}"), tmp_path)
    assert case.call.inputs["a"].tolist() == [[0, 1, 2], [3, 4, 5]]


def test_bfloat16_nan_payloads_survive_a_file(cases, tmp_path):
    """bfloat16 comes out of a file as opaque bytes, and keeps all of them."""
    bits = np.array([0x7FC1, 0x8000, 0x3F80], np.uint16)
    np.save(tmp_path / "b.npy", bits.view(ml_dtypes.bfloat16))
    (case,) = cases(identity("{dtype: bfloat16, npy: b.npy}"), tmp_path)
    assert case.call.inputs["a"].view(np.uint16).tolist() == bits.tolist()


@pytest.mark.parametrize(
    ("want", "undefined"),
    [
        ("{dtype: float32, data: [[1, null], [null, 4]]}", [[False, True], [True, False]]),
        ("{dtype: float32, shape: [2, 2], data: [null, 2, 3, 4]}", [[True, False], [False, False]]),
        ("{dtype: float32, shape: [2, 2], bits: [null, null, null, null]}", [[True] * 2] * 2),
    ],
)
def test_null_leaves_an_element_undefined(cases, want, undefined):
    """``null`` in an output is not compared; the other elements are."""
    (case,) = cases(identity("{dtype: float32, data: [[1, 2], [3, 4]]}", want))
    assert case.alternatives[0][0].undefined.tolist() == undefined
    assert case.alternatives[0][0].value.shape == (2, 2)


def test_null_among_strings(cases):
    """Undefined strings are strings too, so that nothing trips over them."""
    (case,) = cases(identity("{dtype: string, data: [a, b]}", "{dtype: string, data: [a, null]}"))
    assert case.alternatives[0][0].value.tolist() == ["a", ""]


def test_null_in_a_shape_means_any_size(cases):
    """Such an output has a dtype and a rank, and no value."""
    (case,) = cases(
        identity("{dtype: float32, data: [[1, 2]]}", "{dtype: float32, shape: [null, 2]}")
    )
    expected = case.alternatives[0][0]
    assert (expected.shape, expected.value, expected.dtype) == ((None, 2), None, np.float32)


@pytest.mark.parametrize(
    ("text", "alternatives"),
    [
        ("error: true", [MustFail()]),
        ("error: {phase: load}", [MustFail("load")]),
        ("error: {match: 'a b'}", [MustFail("", "a b")]),
        ("any_of: [{error: {phase: run}}, {error: true, why: x}]", [MustFail("run"), MustFail()]),
    ],
)
def test_a_model_that_must_be_rejected(cases, text, alternatives):
    """``error`` in place of outputs; such a model need not satisfy onnx's checker."""
    (case,) = cases(f"opset: 14\ncases:\n  - name: bad\n    node: Add() -> (c)\n    {text}\n")
    assert list(case.alternatives) == alternatives


def test_alternatives_keep_their_order_and_that_of_the_node(cases):
    """Outputs are in the node's order, whatever the order in the file."""
    (case,) = cases(
        "opset: 11\ncases:\n  - name: two\n    node: TopK(x, k) -> (values, indices)\n"
        "    inputs: {x: {dtype: float32, data: [1, 2]}, k: {dtype: int64, data: [1]}}\n"
        "    any_of:\n"
        "     - outputs: {indices: {dtype: int64, data: 1}, values: {dtype: float32, data: 2}}\n"
        "     - outputs: {values: {dtype: float32, data: 3}, indices: {dtype: int64, data: 0}}\n"
    )
    assert case.output_names == ("values", "indices")
    assert [[o.value.tolist() for o in a] for a in case.alternatives] == [[2, 1], [3, 0]]


@pytest.mark.parametrize(
    ("tolerance", "values", "indices"),
    [
        ("{ulp: 2}", Tolerance(ulp=2), Tolerance(ulp=2)),
        ("{rtol: 0, atol: 1e-3}", Tolerance(rtol=0, atol=1e-3), Tolerance(rtol=0, atol=1e-3)),
        ("{outputs: {values: {ulp: 0}}}", Tolerance(ulp=0), None),
        ("{ulp: 3, outputs: {values: {atol: 1}}}", Tolerance(atol=1), Tolerance(ulp=3)),
        ("{signed_zero: true}", Tolerance(signed_zero=True), Tolerance(signed_zero=True)),
        ("{}", None, None),
    ],
)
def test_tolerances_of_a_case_and_of_its_outputs(cases, tolerance, values, indices):
    """An output's own tolerance takes the place of the case's; 0 is a tolerance."""
    (case,) = cases(
        "opset: 11\ncases:\n  - name: two\n    node: TopK(x, k) -> (values, indices)\n"
        f"    tolerance: {tolerance}\n"
        "    inputs: {x: {dtype: float32, data: [1, 2]}, k: {dtype: int64, data: [1]}}\n"
        "    outputs: {values: {dtype: float32, data: [2]}, indices: {dtype: int64, data: [1]}}\n"
    )
    assert case.tolerances.get("values") == values
    assert case.tolerances.get("indices") == indices


@pytest.mark.parametrize(
    ("node", "attribute", "want"),
    [
        ("Cast(a) -> (c)", "to: float16", onnx.TensorProto.FLOAT16),
        ("Cast(a) -> (c)", "to: T", onnx.TensorProto.DOUBLE),
        ("Cast(a) -> (c)", "to: 10", 10),
        ("Softmax(a) -> (c)", "axis: -1", -1),
        ("LeakyRelu(a) -> (c)", "alpha: 3", 3.0),
        ("LeakyRelu(a) -> (c)", "alpha: '0x1p-3'", 0.125),
        # Just above a midpoint between two float32, on which a double would lie.
        ("LeakyRelu(a) -> (c)", "alpha: 1.00000005960464477539062501", 1 + 2.0**-23),
        ("Transpose(a) -> (c)", "perm: [0]", [0]),
        ("Transpose(a) -> (c)", "perm: []", []),
    ],
)
def test_attributes_have_the_type_of_the_schema(cases, node, attribute, want):
    """Types come from the schema; a float is rounded once to float32."""
    (case,) = cases(
        f"opset: 14\ncases:\n  - name: one\n    node: {node}\n    types: {{T: [double]}}\n"
        f"    attributes: {{{attribute}}}\n    inputs: {{a: {{dtype: float32, data: [1]}}}}\n"
        "    error: true\n"
    )
    (proto,) = case.call.model.graph.node[0].attribute
    assert helper.get_attribute_value(proto) == want
    assert proto.name == attribute.partition(":")[0]


def test_omitted_inputs_are_empty_names(cases):
    """An empty place in the signature is ONNX's empty name, and needs no value."""
    (case,) = cases(
        "opset: 13\ncases:\n  - name: clip\n    node: Clip(x, , high) -> (y)\n"
        "    inputs: {x: {dtype: float32, data: [1]}, high: {dtype: float32, data: 0}}\n"
        "    outputs: {y: {dtype: float32, data: [0]}}\n"
    )
    assert list(case.call.model.graph.node[0].input) == ["x", "", "high"]
    assert list(case.call.inputs) == ["x", "high"]


INITIALIZED = """\
cases:
  - name: overridden
    opset: 14
    model: |
      g (float[2] a, float[2] b = {1, 2}) => (float[2] c) {
        c = Add(a, b)
      }
    inputs:
      a: {dtype: float32, data: [1, 2]}
    outputs:
      c: {dtype: float32, data: [2, 4]}
"""


def test_an_input_with_an_initializer_may_be_given_or_not(cases):
    """An initializer is the default of its input; one that is no input cannot be fed."""
    (case,) = cases(INITIALIZED)
    assert list(case.call.inputs) == ["a"]
    given_too = INITIALIZED.replace(
        "inputs:\n", "inputs:\n      b: {dtype: float32, data: [5, 5]}\n"
    )
    (case,) = cases(given_too)
    assert set(case.call.inputs) == {"a", "b"}


@pytest.mark.parametrize(("declared", "fits"), [
    ("float[2]", True), ("float[N]", True), ("float[?]", True), ("float[]", True),
    ("float[3]", False), ("float[1,2]", False), ("float", False), ("double[2]", False),
])  # fmt: skip
def test_inputs_fit_what_a_model_declares(read_cases, declared, fits):
    """A model that declares [1, 5] and is fed [5] is a mistake of the case, not of a backend."""
    text = (
        f"cases:\n  - name: x\n    opset: 14\n    model: 'g ({declared} a) => (int64[1] c) "
        "{ c = Shape(a) }'\n    inputs: {a: {dtype: float32, data: [1, 2]}}\n    error: true\n"
    )
    loaded = read_cases(text)
    assert len(loaded.cases) == fits
    assert [e.path for e in loaded.errors] == [] if fits else [("cases", 0, "inputs", "a")]


T = {"T": "bfloat16", "U": "double", "float": "int8"}


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("(T x, T[2] y, T[N,?] z, T[] w)",
            "(bfloat16 x, bfloat16[2] y, bfloat16[N,?] z, bfloat16[] w)"),
        ("seq(T) s, seq(T[2]) t", "seq(bfloat16) s, seq(bfloat16[2]) t"),
        ("optional(seq(T)) o, optional( T ) p",
            "optional(seq(bfloat16)) o, optional( bfloat16 ) p"),
        ("map(int64, U) m, sparse_tensor(T[2]) q",
            "map(int64, double) m, sparse_tensor(bfloat16[2]) q"),
        ("value = T[1] {1}, other = U {2}", "value = bfloat16[1] {1}, other = double {2}"),
        ("(U x, T y)", "(double x, bfloat16 y)"),
        ("float x", "int8 x"),
        # Names, not types.
        ("T = Neg(T)\n  y = Add(T, U)\n  z = Neg(T)\n  w = Abs(U)", None),
        ("g (int64 x) => (T) { T = Neg(x) }", None),
        ("y = T(x)", None), ("y = Foo<T = 1, U : int = @T>(x)", None),
        ("TT x, xT y, T_1 z, T1 w", None), ('y = Foo<s = "T x seq(T) y">(x)', None),
        ("# T x\n", None), ('y = Foo<s = "\\"T x">(z)', None),
    ],
)  # fmt: skip
def test_type_parameters_are_replaced_where_a_type_stands(text, want):
    """Only at type positions: a value, an attribute or an operator may be called T."""
    assert onnxtext.substitute(text, T) == (want or text)


def test_type_parameters_reach_the_body_of_a_node(cases):
    """A body is written once and holds for every type; values called T stay what they are."""
    read = cases(
        "opset: 13\ncases:\n  - name: loop\n    node: Loop(M, , v) -> (w)\n"
        "    types: {T: [float32, int64]}\n    attributes:\n      body: |\n"
        "        b (int64 i, bool c, T[1] T) => (bool d, T[1] r) {\n          d = Identity(c)\n"
        "          k = Constant<value = T[1] {1}>()\n          n = Neg(T)\n"
        "          r = Add(n, k)\n"
        "        }\n    inputs:\n      M: {dtype: int64, data: 2}\n      v: {dtype: T, data: [5]}\n"
        "    outputs: {w: {dtype: T, data: [5]}}\n"
    )
    for case, number in zip(read, (onnx.TensorProto.FLOAT, onnx.TensorProto.INT64), strict=True):
        body = case.call.model.graph.node[0].attribute[0].g
        assert body.input[2].name == "T"
        assert body.input[2].type.tensor_type.elem_type == number
        assert body.node[1].attribute[0].t.data_type == number


BODY = (
    "b (int64 i, bool c, float[2] u) => (bool d, seq(float[2]) r) <float[1] w = {1.5}> {\n"
    '  d = Identity(c)  # a comment\n  y = Foo<a = 1, s = "x", g = h (float p) => (float q) {\n'
    "    q = Neg(p)\n  }>(u)\n  r = SequenceConstruct(y)\n}"
)


@EXAMPLES
@given(data=st.data())
def test_no_body_makes_the_parser_raise(data):
    """A body with any edit is a graph, or a ``CaseError`` that says where it ends to be one."""
    text = BODY
    for _ in range(data.draw(st.integers(1, 3), "edits")):
        start = data.draw(st.integers(0, len(text)), "start")
        stop = min(len(text), start + data.draw(st.integers(0, 5), "length"))
        piece = st.text("(){}[]<>=,:;.\"'#@ \n09azT-", max_size=4) | st.text(max_size=3)
        text = text[:start] + data.draw(piece, "piece") + text[stop:]
    with suppress(CaseError):
        assert isinstance(onnxtext.parse_graph(text, {"T": "int8"}), onnx.GraphProto)


@EXAMPLES
@given(st.text("Ad.-> (),xy\n", max_size=20))
def test_any_text_is_a_signature_or_a_case_error(text):
    """A signature has an operator without parentheses and different outputs."""
    with suppress(CaseError):
        signature = nodes.parse_signature(text)
        assert signature.operator
        named = [name for name in signature.outputs if name]
        assert len(set(named)) == len(named)
