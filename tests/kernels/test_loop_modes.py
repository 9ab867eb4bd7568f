"""Loop in whole models: its operating modes, loops that never end, loops that never run."""

import numpy as np
import onnx.parser
import pytest

from model_calls import i64
from opcheck.kernels import Evaluator

# Modes


def run(text, *, opset=18, time_limit=None, **feeds):
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}, "f": 1]> {text}')
    return Evaluator(model).run(feeds, time_limit=time_limit)


def test_the_greatest_trip_count_is_a_maximum_only():
    """M is not the number of iterations where the condition ends the loop before."""
    y, numbers = run(
        """
        g (int64 m, bool c, int64 x) => (int64 y, int64[N] numbers) {
          y, numbers = Loop (m, c, x) <body =
            b (int64 i, bool ci, int64 v) => (bool co, int64 w, int64 n) {
            three = Constant <value_int = 3> ()
            co = Less (i, three)
            w = Add (v, v)
            n = Identity (i)
          }>
        }""",
        m=i64(2**63 - 1),
        c=np.array(True),
        x=i64(1),
    )
    assert y == 16
    assert numbers.tolist() == [0, 1, 2, 3]


def test_the_body_sees_its_own_condition_and_true_in_the_first_iteration():
    """Where cond is omitted the body's condition is "ignored, but is required in the body"."""
    (seen,) = run(
        """
        g (int64 m) => (bool[N] seen) {
          seen = Loop (m, "") <body = b (int64 i, bool ci) => (bool co, bool s) {
            co = Not (ci)
            s = Identity (ci)
          }>
        }""",
        m=i64(5),
    )
    assert seen.tolist() == [True, False, True, False, True]


def test_the_iteration_number_is_a_scalar_whatever_the_shape_of_m_is():
    """iteration_num has rank 0: the scan output of it has rank 1."""
    for m in (i64(3), i64([3])):
        shape = "[1]" if m.ndim else ""
        (seen,) = run(
            f"""
            g (int64{shape} m) => (int64[N] seen) {{
              seen = Loop (m, "") <body = b (int64 i, bool ci) => (bool co, int64 s) {{
                co = Identity (ci)
                s = Identity (i)
              }}>
            }}""",
            m=m,
        )
        assert (seen.dtype, seen.tolist()) == (np.int64, [0, 1, 2])


FOREVER = """
    y = Loop ("", {cond}, x) <body = b (int64 i, bool ci, int64 v) => (bool co, int64 w) {
      co = Constant <value = bool {@out}> ()
      w = Add (v, i)
    }>
"""
PLACES = {
    "graph": "g (int64 x, bool c) => (int64 y) { @ }",
    "branch": """
        g (int64 x, bool c) => (int64 z) {
          z = If (c) <then_branch = t () => (int64 y) { @ }, else_branch = e () => (int64 n) {
            n = Neg (x)
          }>
        }""",
    "loop": """
        g (int64 x, bool c) => (int64 z) {
          z = Loop (x, c, x) <body = outer (int64 k, bool d, int64 u) => (bool e, int64 y) {
            e = Identity (d)
            @
          }>
        }""",
    "function": """
        g (int64 x, bool c) => (int64 z) { z = f.F (x, c) }
        <domain: "f", opset_import: ["": 18]> F (x, c) => (y) { @ }""",
}


@pytest.mark.parametrize(
    ("cond", "out"),
    [
        pytest.param('""', 0, id="both omitted, the body says false"),
        pytest.param('""', 1, id="both omitted, the body says true"),
        pytest.param("c", 1, id="while true"),
    ],
)
@pytest.mark.parametrize("place", PLACES)
def test_a_loop_that_never_ends_runs_until_the_time_limit(cond, out, place):
    """for (int i=0; ; ++i): only the time limit ends it, wherever the loop stands."""
    forever = FOREVER.replace("{cond}", cond).replace("{@out}", f"{{{out}}}")
    with pytest.raises(TimeoutError, match="time limit"):
        run(PLACES[place].replace("@", forever), x=i64(2), c=np.array(True), time_limit=0.03)


def test_the_types_of_the_bodys_inputs_may_be_left_out():
    """They are those of the Loop's inputs; the first two are int64 and bool, given or not."""
    y, numbers = run(
        """
        g (int64 m, float[2] x) => (float[N] y, int64[K] numbers) {
          y, numbers = Loop (m, "", x) <body = b (i, ci, v) => (co, w, n) {
            co = Not (ci)
            w = Concat <axis = 0> (v, v)
            n = Identity (i)
          }>
        }""",
        m=i64(2),
        x=np.array([1, 2], np.float32),
    )
    assert y.tolist() == [1, 2] * 4
    assert numbers.tolist() == [0, 1]


def test_an_inner_loop_without_iterations_gives_empty_rows():
    """M = 0 in a loop inside of a loop that runs: the inner scan output is empty each time."""
    (y,) = run(
        """
        g (int64 m) => (int64[A, B] y) {
          y = Loop (m, "") <body = b (int64 i, bool ci) => (bool co, int64[K] rows) {
            co = Identity (ci)
            none = Constant <value_int = 0> ()
            rows = Loop (none, "") <body = inner (int64 k, bool di) => (bool do, int64 e) {
              do = Identity (di)
              e = Add (k, i)
            }>
          }>
        }""",
        m=i64(3),
    )
    assert (y.dtype, y.shape) == (np.int64, (3, 0))


# No iterations


NOTHING = [
    pytest.param("m, ", 0, True, id="M is 0"),
    pytest.param("m, ", -3, True, id="M is negative"),
    pytest.param("m, ", -(2**63), True, id="M is the least number"),
    pytest.param(", c", 5, False, id="the condition is false"),
    pytest.param("m, c", 5, False, id="M is 5, the condition is false"),
    pytest.param("m, c", 0, True, id="M is 0, the condition is true"),
]


@pytest.mark.parametrize(("inputs", "m", "c"), NOTHING)
@pytest.mark.parametrize("opset", [11, 13, 18, 25])
def test_without_iterations_the_values_stay_and_the_scan_outputs_are_empty(inputs, m, c, opset):
    """No output is missing: K scan outputs with 0 rows, of the types the body declares."""
    v, w, one, two = run(
        f"""
        g (int64 m, bool c, float[2] x, string[1] s) =>
          (float[A] v, string[B] w, float[K, 2, 3] one, string[K] two) {{
          v, w, one, two = Loop ({inputs}, x, s) <body =
            b (int64 i, bool ci, float[P] x1, string[1] s1) =>
              (bool co, float[Q] x2, string[1] s2, float[2, 3] e1, string e2) {{
            co = Identity (ci)
            x2 = Concat <axis = 0> (x1, x1)
            s2 = Identity (s1)
            shape = Constant <value = int64[2] {{2, 3}}> ()
            e1 = ConstantOfShape (shape)
            zero = Constant <value = int64 {{0}}> ()
            e2 = Gather <axis = 0> (s1, zero)
          }}>
        }}""",
        opset=opset,
        m=i64(m),
        c=np.array(c),
        x=np.array([7, 8], np.float32),
        s=np.array(["é"], object),
    )
    assert v.tolist() == [7, 8]
    assert w.tolist() == ["é"]
    assert (one.dtype, one.shape) == (np.float32, (0, 2, 3))
    assert (two.dtype, two.shape) == (object, (0,))


@pytest.mark.parametrize(
    ("element", "declared", "shape"),
    [
        pytest.param("Identity (v)", "float[2, 3]", (0, 2, 3), id="declared"),
        pytest.param("Concat <axis = 0> (v, v)", "", (0, 4, 3), id="inferred from the input"),
        pytest.param("Concat <axis = 0> (v, v)", "float[A, B]", (0, 4, 3), id="partly declared"),
        pytest.param("Concat <axis = 1> (v, outer)", "", (0, 2, 8), id="from an outer value"),
        pytest.param("Cast <to = 9> (v)", "", (0, 2, 3), id="another type"),
        pytest.param("Identity (i)", "", (0,), id="the iteration number"),
        pytest.param("Identity (ci)", "", (0,), id="the condition"),
        pytest.param("Expand (v, dims)", "", (0, 0, 2, 3), id="a size that nothing tells is 0"),
        pytest.param("f.Twice (v)", "", (0, 4, 3), id="through a local function"),
        pytest.param(
            "If (ci) <"
            "then_branch = t () => (p) {p = Neg (v)}, else_branch = e () => (q) {q = Abs (v)}>",
            "",
            (0, 2, 3),
            id="through branches",
        ),
        pytest.param(
            "SequenceAt (seq, i)", "float[3]", (0, 3), id="declared, of an empty sequence"
        ),
    ],
)
def test_without_iterations_a_shape_is_as_declared_or_inferred(element, declared, shape):
    """What the body declares stands; else its shape on the actual inputs; else 0."""
    name, dims = declared.split("[") if declared else ("", "")
    result = {"Cast": "bool", "Identity (i)": "int64", "Identity (ci)": "bool"}
    kind = next((t for start, t in result.items() if element.startswith(start)), "float")
    ranks = ", ".join("ABCDEF"[: len(shape)])
    *_, y = run(
        f"""
        g (int64 m, float[N, 3] x, float[N, L] outer, int64[3] dims, seq(float[R]) seq) =>
          (float[P, Q] z, {kind}[{ranks}] y) {{
          z, y = Loop (m, , x) <body =
            b (int64 i, bool ci, v) => (bool co, w, {f"{name}[{dims}" if declared else ""} s) {{
            co = Identity (ci)
            w = Identity (v)
            s = {element}
          }}>
        }}
        <domain: "f", opset_import: ["": 18]> Twice (a) => (b) {{b = Concat <axis = 0> (a, a)}}
        """,
        m=i64(0),
        x=np.ones((2, 3), np.float32),
        outer=np.ones((2, 5), np.float32),
        dims=i64([4, 2, 3]),
        seq=[],
    )
    assert y.shape == shape
    assert y.dtype == {"float": np.float32}.get(kind, kind)


def test_an_inner_loop_runs_as_often_as_it_is_told_each_time():
    """The inner loop stacks 0, 1 and 2 rows; nothing is left over from the run before."""
    (total, lengths) = run(
        """
        g (int64 m, int64[A] x) => (int64[B] y, int64[N] lengths) {
          y, lengths = Loop (m, , x) <body =
            b (int64 i, bool ci, int64[P] v) => (bool co, int64[Q] w, int64 n) {
            co = Identity (ci)
            rows = Loop (i, "") <body = inner (int64 k, bool di) => (bool do, int64 e) {
              do = Identity (di)
              ten = Constant <value_int = 10> ()
              tens = Mul (ten, i)
              e = Add (tens, k)
            }>
            w = Concat <axis = 0> (v, rows)
            n = Size (rows)
          }>
        }""",
        m=i64(4),
        x=i64([-1]),
    )
    assert total.tolist() == [-1, 10, 20, 21, 30, 31, 32]
    assert lengths.tolist() == [0, 1, 2, 3]
