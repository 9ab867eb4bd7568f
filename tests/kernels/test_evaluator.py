"""The evaluator on whole models: names, initializers, feeds, and what it refuses."""

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper, numpy_helper

from model_calls import f32, i64, parsed, run
from opcheck.kernels import Evaluator, InvalidModel, NodeError, Unsupported, registry
from opcheck.kernels.compiler import Compiler
from opcheck.kernels.limits import Deadline
from opcheck.kernels.plain import execute


def graph_of(nodes, inputs, outputs, **more):
    info = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()],
        [info(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        **more,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


# Names


def test_sibling_bodies_may_use_the_same_names():
    """Neither names nor initializers of one body are seen by the other."""
    y, z = run(
        """
        g (int64 m, float[1] x) => (float[1] y, float[1] z) {
          y = Loop (m, "", x) <body =
            b (int64 i, bool c, float[1] v) => (bool d, float[1] w) <float[1] k = {2}> {
              d = Identity (c)
              t = Mul (v, k)
              w = Identity (t)
            }>
          z = Loop (m, "", y) <body =
            b (int64 i, bool c, float[1] v) => (bool d, float[1] w) <float[1] k = {10}> {
              d = Identity (c)
              t = Add (v, k)
              w = Identity (t)
            }>
        }""",
        m=i64(3),
        x=f32([1]),
    )
    assert (y.tolist(), z.tolist()) == ([8], [38])


@pytest.mark.parametrize(("c", "wanted"), [(True, 5), (False, 7)])
def test_the_two_branches_of_one_if_may_use_the_same_names(c, wanted):
    """A name that the branch not taken defines is not the one that is read."""
    (y,) = run(
        """
        g (bool c, float x) => (float y) {
          y = If (c) <
            then_branch = t () => (float r) <float k = {4}> { u = Add (x, k) r = Identity (u) },
            else_branch = e () => (float r) <float k = {6}> { u = Add (x, k) r = Identity (u) }>
        }""",
        c=np.array(c),
        x=f32(1),
    )
    assert y == wanted


def test_inputs_of_a_body_are_bound_by_position():
    """A body input with the name of an outer value hides it, in the bodies inside too."""
    y, z = run(
        """
        g (int64 m, float x, float v) => (float y, float z) {
          y = Loop (m, "", x) <body = b (int64 m, bool x, float v) => (bool d, float w) {
            d = Identity (x)
            w = If (x) <then_branch = t () => (float p) { p = Add (v, v) },
                        else_branch = e () => (float q) { q = Neg (v) }>
          }>
          z = Add (v, y)
        }""",
        m=i64(2),
        x=f32(3),
        v=f32(100),
    )
    assert (y, z) == (12, 112)


def test_a_name_of_a_body_cannot_be_read_outside_of_it():
    """ "Values created in the body cannot be accessed in the enclosing scope"."""
    with pytest.raises(InvalidModel, match="inner"):
        Evaluator(
            parsed(
                """
                g (bool c, float x) => (float y) {
                  t = If (c) <then_branch = a () => (float p) { inner = Neg (x) p = Neg (inner) },
                              else_branch = b () => (float q) { q = Abs (x) }>
                  y = Add (t, inner)
                }"""
            )
        )


def test_a_body_cannot_read_what_is_defined_after_it():
    """Nodes are sorted; a body stands where its node stands."""
    with pytest.raises(InvalidModel, match="later"):
        Evaluator(
            parsed(
                """
                g (bool c, float x) => (float y) {
                  t = If (c) <then_branch = a () => (float p) { p = Neg (later) },
                              else_branch = b () => (float q) { q = Abs (x) }>
                  later = Neg (x)
                  y = Add (t, later)
                }"""
            )
        )


def test_each_run_of_a_body_reads_the_outer_values_of_that_time():
    """An If in a Loop sees the carried value of this iteration, two scopes up."""
    (y,) = run(
        """
        g (int64 m, int64 x) => (int64[N] y) {
          z, y = Loop (m, "", x) <body =
            b (int64 i, bool c, int64 v) => (bool d, int64 w, int64 e) {
            d = Identity (c)
            w = Add (v, v)
            e = If (c) <then_branch = t () => (int64 p) {
              p = If (c) <then_branch = tt () => (int64 pp) { pp = Add (v, i) },
                          else_branch = te () => (int64 pq) { pq = Neg (v) }>
            }, else_branch = o () => (int64 q) { q = Neg (v) }>
          }>
        }""",
        m=i64(4),
        x=i64(10),
    )
    assert y.tolist() == [10, 21, 42, 83]


def test_outputs_may_be_inputs_or_initializers():
    """Not every output comes from a node."""
    x, k, y = run(
        "g (float x) => (float x, float k, float y) <float k = {3}> { y = Neg (x) }", x=f32(2)
    )
    assert (x, k, y) == (2, 3, -2)


@pytest.mark.parametrize(
    ("outputs", "wanted"), [('"", y', [3, 4]), ('y, ""', [1, 2])], ids=["first", "last"]
)
def test_an_output_without_a_name_is_computed_and_dropped(outputs, wanted):
    """Only the outputs that a node names are kept; the others keep their places."""
    text = f"g (float[4] x) => (float[2] y) {{ {outputs} = Split <num_outputs = 2> (x) }}"
    (y,) = run(text, x=f32([1, 2, 3, 4]))
    assert y.tolist() == wanted


# Initializers and constants


@pytest.mark.parametrize("opset", [9, 18])
def test_an_input_with_an_initializer_may_be_overridden(opset):
    """The initializer is the default of the input."""
    text = "g (float x, float k = {3}) => (float y) { y = Add (x, k) }"
    assert run(text, opset=opset, x=f32(1)) == [4]
    assert run(text, opset=opset, x=f32(1), k=f32(10)) == [11]


def test_bodies_see_the_overridden_value_of_an_initializer():
    """What a body captures is the value of this run."""
    model = parsed(
        """
        g (bool c, float k = {3}) => (float y) {
          y = If (c) <then_branch = t () => (float p) { p = Neg (k) },
                      else_branch = e () => (float q) { q = Abs (k) }>
        }"""
    )
    evaluator = Evaluator(model)
    assert evaluator.run({"c": np.array(True), "k": f32(10)}) == [-10]
    assert evaluator.run({"c": np.array(True)}) == [-3]


def sparse(name, values, indices, dims):
    return helper.make_sparse_tensor(
        numpy_helper.from_array(np.array(values, np.float32), name),
        numpy_helper.from_array(np.array(indices, np.int64), f"{name}_at"),
        dims,
    )


DENSE = [[0, 5, 0], [0, 0, 6]]


@pytest.mark.parametrize("indices", [[1, 5], [[0, 1], [1, 2]]], ids=["flat", "coordinates"])
@pytest.mark.parametrize("place", ["graph", "input", "body", "constant"])
def test_sparse_initializers_and_constants_become_dense(indices, place):
    """Positions in the flattened tensor, or one row of coordinates for each value."""
    tensor = sparse("k", [5, 6], indices, [2, 3])
    neg = helper.make_node("Neg", ["k"], ["y"])
    if place == "body":
        info = helper.make_tensor_value_info("z", TensorProto.FLOAT, [2, 3])
        neg = helper.make_node("Neg", ["k"], ["z"])
        body = helper.make_graph([neg], "b", [], [info], sparse_initializer=[tensor])
        chosen = helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)
        model = graph_of([chosen], {}, {"y": [2, 3]})
        model.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
    elif place == "constant":
        constant = helper.make_node("Constant", [], ["k"], sparse_value=tensor)
        model = graph_of([constant, neg], {}, {"y": [2, 3]})
    else:
        inputs = {"k": [2, 3]} if place == "input" else {}
        model = graph_of([neg], inputs, {"y": [2, 3]}, sparse_initializer=[tensor])
    (y,) = Evaluator(model).run({"c": np.array(True)} if place == "body" else {})
    assert (-y).tolist() == DENSE
    assert y.dtype == np.float32


def test_a_sparse_initializer_may_be_overridden():
    """It is the default of an input like any other."""
    neg = helper.make_node("Neg", ["k"], ["y"])
    tensor = sparse("k", [5, 6], [1, 5], [2, 3])
    model = graph_of([neg], {"k": [2, 3]}, {"y": [2, 3]}, sparse_initializer=[tensor])
    (y,) = Evaluator(model).run({"k": np.ones((2, 3), np.float32)})
    assert y.tolist() == [[-1] * 3] * 2


@pytest.mark.parametrize(
    "indices", [[1, 6], [5, 1], [-1, 5], [1]], ids=["outside", "unsorted", "negative", "too few"]
)
def test_a_sparse_initializer_with_wrong_indices_is_refused(indices):
    """Each value has one place inside of the tensor."""
    tensor = sparse("k", [5, 6], indices, [2, 3])
    neg = helper.make_node("Neg", ["k"], ["y"])
    with pytest.raises(InvalidModel):
        Evaluator(graph_of([neg], {}, {"y": [2, 3]}, sparse_initializer=[tensor]))


@pytest.mark.parametrize("exists", [True, False])
def test_data_outside_of_the_model_is_refused(exists, tmp_path, monkeypatch):
    """Nothing is read from files that a model names, not even from those that exist."""
    monkeypatch.chdir(tmp_path)
    if exists:
        (tmp_path / "weights.bin").write_bytes(f32([1]).tobytes())
    tensor = TensorProto(name="k", data_type=TensorProto.FLOAT, dims=[1])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="weights.bin")
    neg = helper.make_node("Neg", ["k"], ["y"])
    with pytest.raises(InvalidModel, match="k"):
        Evaluator(graph_of([neg], {}, {"y": [1]}, initializer=[tensor]))


# What is refused


def test_an_operator_without_a_kernel_is_unsupported_and_named(monkeypatch):
    """The message has the domain, the operator and the version; not the opset."""
    monkeypatch.delitem(registry._kernels, ("", "Abs", 13))
    with pytest.raises(Unsupported, match=r"^ai\.onnx Abs-13 has no built-in kernel$"):
        Evaluator(parsed("g (float x) => (float y) { y = Abs (x) }"))
    assert run("g (float x) => (float y) { y = Abs (x) }", opset=12, x=f32(-1)) == [1]


def test_a_missing_kernel_is_noticed_before_the_run_even_in_a_branch(monkeypatch):
    """A branch that will never be taken counts as well."""
    monkeypatch.delitem(registry._kernels, ("", "Abs", 13))
    text = """
        g (bool c, float x) => (float y) {
          y = If (c) <then_branch = t () => (float p) { p = Neg (x) },
                      else_branch = e () => (float q) { q = Abs (x) }>
        }"""
    with pytest.raises(Unsupported, match="Abs-13"):
        Evaluator(parsed(text))


@pytest.mark.parametrize(
    ("imports", "node", "message"),
    [
        ('"": 18', "Frobnicate", "ai.onnx Frobnicate is unknown at opset 18"),
        ('"": 18, "my.domain": 3', "my.domain.Foo", "my.domain Foo is unknown at opset 3"),
        ('"": 18, "ai.onnx.ml": 3', "ai.onnx.ml.Foo", "ai.onnx.ml Foo is unknown at opset 3"),
        ('"": 999', "Abs", "opset 999 of ai.onnx; the newest known one is"),
        ('"": 18, "ai.onnx.ml": 99', "Abs", "opset 99 of ai.onnx.ml; the newest known one is"),
    ],
)
def test_what_nobody_knows_is_unsupported_and_named(imports, node, message):
    """An operator, a domain, a version that came after this program."""
    header = f"<ir_version: 8, opset_import: [{imports}]>"
    text = f"{header} g (float x) => (float y) {{ y = {node} (x) }}"
    with pytest.raises(Unsupported, match=message):
        Evaluator(onnx.parser.parse_model(text))


@pytest.mark.parametrize(
    ("text", "opset", "message"),
    [
        pytest.param(
            "g (float x) => (float[N] y) { y = Range (x, x, x) }", 10, "Range", id="too old"
        ),
        pytest.param(
            "g (float x) => (float y) { y = my.domain.Foo (x) }", 18, "my.domain", id="import"
        ),
        pytest.param("g (float x) => (float y) { y = Abs (nowhere) }", 18, "nowhere", id="name"),
        pytest.param("g (float x) => (float y) { }", 18, "y", id="output"),
        pytest.param(
            "g (float x) => (float y) { y = Abs (x) y = Neg (x) }", 18, "y", id="defined twice"
        ),
        pytest.param("g (float x) => (float y) { y = Abs (x, x) }", 18, "Abs", id="arity"),
        pytest.param('g (float x) => (float y) { y = Add (x, "") }', 18, "Add", id="omitted"),
        pytest.param(
            "g (float x) => (float y) { y = Abs <axis = 1> (x) }", 18, "axis", id="attribute"
        ),
        pytest.param("g (float x) => (float y) { y = Cast (x) }", 18, "'to'", id="no attribute"),
        pytest.param("g (string x) => (string y) { y = Abs (x) }", 18, "Abs", id="type"),
        pytest.param(
            "g (float x, int64 z) => (float y) { y = Add (x, z) }", 18, "Add", id="two types"
        ),
        pytest.param("g (float x) => (int64 y) { y = Abs (x) }", 18, "Abs", id="output type"),
        pytest.param(
            "g (float[3] x) => (float[4] y) { y = Abs (x) }", 18, "Abs", id="output shape"
        ),
        pytest.param(
            "g (float x) => (float y) <int64 k = {1}> { y = Add (x, k) }",
            18,
            "Add",
            id="initializer",
        ),
    ],
)
def test_a_model_that_breaks_a_rule_is_invalid(text, opset, message):
    """The constructor raises, with the checker's words on one line."""
    with pytest.raises(InvalidModel, match=message) as caught:
        Evaluator(parsed(text, opset))
    assert "\n" not in str(caught.value)


def test_ai_onnx_is_another_name_of_the_empty_domain():
    """For imports and for nodes, in bodies too."""
    for imported in ('"ai.onnx": 18', '"": 18'):
        for domain in ("ai.onnx.", ""):
            model = onnx.parser.parse_model(
                f"""<ir_version: 8, opset_import: [{imported}]>
                g (bool c, float x) => (float y) {{
                  t = {domain}Neg (x)
                  y = {domain}If (c) <then_branch = t () => (float p) {{ p = {domain}Neg (t) }},
                                      else_branch = e () => (float q) {{ q = {domain}Abs (t) }}>
                }}"""
            )
            before = model.SerializeToString(deterministic=True)
            assert Evaluator(model).run({"c": np.array(True), "x": f32(3)}) == [3]
            assert model.SerializeToString(deterministic=True) == before


# Runs


def test_runs_do_not_influence_each_other():
    """The same evaluator gives equal results, whatever ran between."""
    evaluator = Evaluator(
        parsed(
            """
            g (int64 m, float[N] x) => (float[K] y, float[S, R] z) <float[1] k = {1}> {
              u = Concat <axis = 0> (x, k)
              v, z = Loop (m, "", u) <body =
                b (int64 i, bool c, float[P] v) => (bool d, float[Q] w, float[T] e) {
                d = Identity (c)
                w = Add (v, k)
                e = Identity (v)
              }>
              y = Identity (v)
            }"""
        )
    )
    feeds = [{"m": i64(m), "x": f32([m] * n)} for m, n in [(3, 2), (0, 1), (1, 0), (3, 2), (0, 1)]]
    first = [evaluator.run(each) for each in feeds]
    second = [evaluator.run(each) for each in reversed(feeds)]
    for one, two in zip(first, reversed(second), strict=True):
        for a, b in zip(one, two, strict=True):
            np.testing.assert_array_equal(a, b, strict=True)
    assert first[0][0].tolist() == [6, 6, 4]


@pytest.mark.parametrize("raw", [True, False])
def test_who_writes_into_an_output_does_not_change_the_model(raw):
    """An output that is an initializer belongs to the model: it cannot be written to."""
    k = helper.make_tensor(
        "k", TensorProto.FLOAT, [2], f32([1, 2]).tobytes() if raw else [1, 2], raw
    )
    neg = helper.make_node("Identity", ["k"], ["y"])
    evaluator = Evaluator(graph_of([neg], {}, {"y": [2]}, initializer=[k]))
    (y,) = evaluator.run({})
    with pytest.raises(ValueError, match="read-only"):
        y += 1
    assert evaluator.run({})[0].tolist() == [1, 2]


def test_inputs_are_never_changed():
    """They may even be read-only."""
    x = f32([3, 1, 2])
    s = [f32([1]), f32([2])]
    x.flags.writeable = False
    y, t = run(
        """
        g (float[3] x, seq(float[N]) s) => (float[3] y, seq(float[K]) t) {
          a = Identity (x)
          b = Neg (a)
          c = Add (b, a)
          y = Sub (c, b)
          t = SequenceErase (s)
        }""",
        x=x,
        s=s,
    )
    assert y.tolist() == [3, 1, 2]
    assert len(t) == 1
    assert (x.tolist(), [e.tolist() for e in s]) == ([3, 1, 2], [[1], [2]])


def test_an_output_that_is_not_what_the_model_declares_is_an_error():
    """If-11: "the first output cannot have the shape [2]" where the other branch gives [3]."""
    text = """
        g (bool c) => (float[2] y) {
          y = If (c) <then_branch = t () => (float[2] p) <float[2] p = {1, 2}> { },
                      else_branch = e () => (float[3] q) <float[3] q = {3, 4, 5}> { }>
        }"""
    assert run(text, c=np.array(True))[0].tolist() == [1, 2]
    with pytest.raises(NodeError, match=r"output 'y' has shape \(3,\); the model wants \(2,\)"):
        run(text, c=np.array(False))


def test_an_error_names_the_node_that_failed():
    """Operator, version and the node's name, even inside of a body."""
    model = parsed(
        """
        g (bool c, float[N] x, int64[1] i) => (float[K] y) {
          y = If (c) <then_branch = t () => (float[A] p) { [picked] p = Gather (x, i) },
                      else_branch = e () => (float[B] q) { q = Abs (x) }>
        }"""
    )
    with pytest.raises(NodeError, match=r"^Gather-13 'picked': "):
        Evaluator(model).run({"c": np.array(True), "x": f32([1]), "i": i64([5])})


@pytest.mark.parametrize("error", [MemoryError, TimeoutError])
def test_errors_of_the_machine_are_not_those_of_a_node(monkeypatch, error):
    """Time and memory limits have outcomes of their own."""

    def fails(x, /):
        raise error("enough")

    key = ("", "Abs", 13)
    monkeypatch.setitem(registry._kernels, key, registry.Kernel(*key, fails, frozenset()))
    with pytest.raises(error, match="enough"):
        run("g (float x) => (float y) { y = Abs (x) }", x=f32(1))


def test_types_that_only_the_run_shows_are_checked():
    """Inside of a function nothing is known beforehand: the node checks what it gets."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 18, "f": 1]>
        g (float x) => (bool y) { y = f.F (x) }
        <domain: "f", opset_import: ["": 18]> F (a) => (b) { b = Not (a) }"""
    )
    with pytest.raises(InvalidModel, match="Not"):
        Evaluator(model)
    program = Compiler(model).model(model)  # without the checker, which sees through this one
    frame = program.frame.copy()
    frame[program.inputs[0]] = f32(1)
    with pytest.raises(NodeError, match=r"Not-1: the input 'X' is tensor\(float\); allowed are"):
        execute(program, frame, Deadline(None))


def test_a_time_limit_that_is_not_reached_changes_nothing():
    """None, by default, is no limit."""
    text = """
        g (int64 m) => (int64[N] y) {
          y = Loop (m, "") <body = b (int64 i, bool c) => (bool d, int64 e) {
            d = Identity (c)
            e = Identity (i)
          }>
        }"""
    evaluator = Evaluator(parsed(text))
    for limit in (None, 600):
        (y,) = evaluator.run({"m": i64(3)}, time_limit=limit)
        assert y.tolist() == [0, 1, 2]
