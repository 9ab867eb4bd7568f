"""Whole loops of known types give bit by bit what running the body again and again gives."""

import time

import ml_dtypes
import numpy as np
import onnx.parser
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from opcheck.harness.randomness import has_random
from opcheck.harness.sources import load_all
from opcheck.kernels import Evaluator, InvalidModel, Unsupported, steady, straight
from opcheck.kernels.evaluator import CHOICE

DTYPES = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "int64": np.int64,
    "uint8": np.uint8,
}
SHAPES = [(), (1,), (4,), (2, 4), (4, 1), (2, 1, 4)]


@pytest.fixture(autouse=True)
def _hot(monkeypatch):
    """Each loop gets code of its own, from the first iteration on."""
    monkeypatch.setattr(straight, "_HOT", 0)
    monkeypatch.delenv(CHOICE, raising=False)


def parsed(text):
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')


def outcome(evaluator, feeds):
    """Return all results, those of sequences one by one, or what was raised."""
    try:
        found = evaluator.run(feeds)
        return [v for value in found for v in (value if isinstance(value, list) else [value])]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def bits(value):
    """Return all that a later node can tell apart; some add values up in their order in memory."""
    return value.dtype, value.shape, value.tobytes(), value.flags.c_contiguous


def assert_same(text, feeds):
    """Hold both ways of running a model against each other, with inputs, bits and memory."""
    try:
        evaluator = Evaluator(parsed(text))
    except InvalidModel:  # shape inference sees that some of the shapes cannot fit
        reject()
    before = {name: bits(value) for name, value in feeds.items()}
    seen = outcome(evaluator, feeds)
    again = outcome(evaluator, feeds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(CHOICE, "plain")
        wanted = outcome(evaluator, feeds)
    assert {name: bits(value) for name, value in feeds.items()} == before
    if isinstance(wanted, str):
        # Of two nodes that fail, the one that no iteration changes is computed first.
        assert isinstance(seen, str), text
        assert seen == again, text
        assert seen.partition(":")[0] == wanted.partition(":")[0], text
        return
    assert not isinstance(seen, str), (seen, text)
    assert [*map(bits, seen)] == [*map(bits, again)] == [*map(bits, wanted)], text
    for i, a in enumerate(seen):
        for j in range(i):
            shared = np.shares_memory(a, seen[j])
            whole = a.ctypes.data == seen[j].ctypes.data and a.nbytes == seen[j].nbytes
            assert not shared or whole or np.shares_memory(wanted[i], wanted[j]), text
        for value in feeds.values():
            shared = np.shares_memory(a, value)
            assert not shared or np.shares_memory(wanted[i], value), text


class Writer:
    """Writes random bodies; all values but conditions and numbers have one element type."""

    def __init__(self, draw, kind):
        self.draw = draw
        self.kind = kind
        self.count = 0

    def pick(self, pool):
        return self.draw(st.sampled_from(pool))

    def name(self):
        self.count += 1
        return f"w{self.count}"

    def nodes(self, pool, flags, depth, most=5):
        """Return nodes that read and extend ``pool``, the names of values at hand."""
        count = self.draw(st.integers(0, most))
        return " ".join([self.node(pool, flags, depth) for _ in range(count)])

    def node(self, pool, flags, depth):
        a, b, new = self.pick(pool), self.pick(pool), self.name()
        choices = ["binary"] * 6 + ["identity", "relu", "concat", "reshape", "max", "less"]
        choices += ["if", "if", "loop"] if depth else []
        what = self.pick(choices)
        if what == "less":
            flags.append(new)
            return f"{new}n = Size ({a}) {new} = Less ({new}n, {self.pick(['eight', 'n'])})"
        pool.append(new)
        if what == "if":
            flag = self.pick(flags)
            branches = []
            for branch in ("then_branch", "else_branch"):
                inner = list(pool[:-1])
                code = self.nodes(inner, list(flags), depth - 1, 3)
                result = self.name()
                last = self.pick(inner[-3:])
                last = (
                    f"{result} = Add ({last}, {self.pick(inner)})"
                    if self.draw(st.booleans())
                    else f"{result} = Identity ({last})"
                )
                branches.append(f"{branch} = b () => ({self.kind}[] {result}) {{ {code} {last} }}")
            return f"{new} = If ({flag}) <{', '.join(branches)}>"
        if what == "loop":
            i, c, d, s, r = (self.name() for _ in range(5))
            inner = [*pool[:-1], s]
            code = self.nodes(inner, [*flags, c], depth - 1, 3)
            return (
                f'{new} = Loop (three, "", {a}) <body = b (int64 {i}, bool {c}, {self.kind}[] {s})'
                f" => (bool {d}, {self.kind}[] {r}) "
                f"{{ {d} = Identity ({c}) {code} {r} = Add ({self.pick(inner)}, {s}) }}>"
            )
        return {
            "binary": f"{new} = {self.pick(['Add', 'Sub', 'Mul', 'Div'])} ({a}, {b})",
            "identity": f"{new} = Identity ({a})",
            "relu": f"{new} = Max ({a}, {b})",
            "concat": f"{new} = Concat <axis = 0> ({a}, {b})",
            "reshape": f"{new} = Reshape ({a}, flat)",
            "max": f"{new} = Neg ({a})" if self.kind != "uint8" else f"{new} = Add ({a}, {a})",
        }[what]


CONSTANTS = """
    eight = Constant <value_int = 8> () three = Constant <value_int = 3> ()
    flat = Constant <value_ints = [-1]> ()
"""


@st.composite
def loops(draw):
    """A Loop, or a Scan over one input, with its feeds; its results are one sequence."""
    kind = draw(st.sampled_from(list(DTYPES)))
    writer = Writer(draw, kind)
    carried = [f"s{k}" for k in range(draw(st.integers(1, 3)))]
    is_loop = draw(st.booleans())
    pool, flags = [*carried, "k", "h"], ["flag"]
    if is_loop:
        flags.append("c")
        pool += ["i"] if kind == "int64" else []
    else:
        pool.append("e")
    code = writer.nodes(pool, flags, 2)
    finals = [f"z{k} = Identity ({writer.pick(pool)})" for k in range(len(carried))]
    if draw(st.booleans()):  # of the last computed value, which has the most to hide
        finals[0] = f"z0 = Add ({pool[-1]}, {writer.pick(pool)})"
    scanned = [writer.pick([*pool, "z0", pool[-1]]) for _ in range(draw(st.integers(0, 3)))]
    finals += [f"o{k} = Identity ({name})" for k, name in enumerate(scanned)]
    results = [final.split()[0] for final in finals]
    body = f"{code} {' '.join(finals)}"
    takes = ", ".join(f"{kind}[] {s}" for s in carried)
    gives = ", ".join(f"{kind}[] {r}" for r in results)
    names = ", ".join(f"y{r}" for r in results)
    initial = ", ".join(f"x{k}" for k in range(len(carried)))
    if is_loop:
        flag = draw(st.sampled_from(['""', "flag"]))
        end = draw(st.sampled_from(["Identity (c)", "Less (i, three)", f"Not ({flags[-1]})"]))
        call = (
            f"{names} = Loop (n, {flag}, {initial}) <body = b (int64 i, bool c, {takes}) "
            f"=> (bool l, {gives}) {{ {body} l = {end} }}>"
        )
    else:
        call = (
            f"{names} = Scan <num_scan_inputs = 1, body = b ({takes}, {kind}[] e) "
            f"=> ({gives}) {{ {body} }}> ({initial}, xs)"
        )
    feeds = draw(inputs(kind, len(carried)))
    shaped = ", ".join(f"{kind}{list(v.shape) or ''} {k}" for k, v in feeds.items())
    feeds |= {"n": np.array(draw(st.integers(0, 6))), "flag": np.array(draw(st.booleans()))}
    text = (
        f"g (int64 n, bool flag, {shaped}) => (seq({kind}[]) all) "
        f"{{ {CONSTANTS} {call} all = SequenceConstruct ({names}) }}"
    )
    return text, feeds


@st.composite
def inputs(draw, kind, carried):
    """Tensors of one type; of one shape or of several, and some in another order in memory."""
    values = np.random.default_rng(draw(st.integers(0, 99)))
    one = draw(st.sampled_from(SHAPES))
    same = draw(st.booleans())

    def tensor(shape):
        array = np.asarray(values.uniform(0, 4, shape)).astype(DTYPES[kind])
        return array.T.copy().T if draw(st.integers(0, 9)) == 0 else array

    names = ["k", "h", *(f"x{k}" for k in range(carried))]
    feeds = {name: tensor(one if same else draw(st.sampled_from(SHAPES))) for name in names}
    return {**feeds, "xs": tensor((draw(st.integers(0, 6)), *one))}


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(loops())
def test_random_loops_give_the_same_bits_or_both_fail(example):
    """With branches, inner loops, growing shapes, swapped, shared and unchanged values."""
    assert_same(*example)


def test_the_bundled_bodies_give_the_same():
    """All of the cases of control flow, each loop with code of its own."""
    different = []
    for case in load_all(["cases/controlflow"]).cases:
        if has_random(case.call.model):
            continue
        try:
            evaluator = Evaluator(case.call.model)
        except (InvalidModel, Unsupported):
            continue
        seen = outcome(evaluator, case.call.inputs)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(CHOICE, "plain")
            wanted = outcome(evaluator, case.call.inputs)
        equal = isinstance(seen, str) == isinstance(wanted, str) and repr(seen) == repr(wanted)
        if not equal:
            different.append(case.id)
    assert different == []


def loop(code, *, carried="float[N] s", gives="float[M] t", given="x", names="y"):
    """Return a model that runs ``code`` n times."""
    return f"""
        g (int64 n, float[4] x, float[4] k) => (float[A] {names.replace(", ", ", float[B] ")}) {{
          {names} = Loop (n, "", {given}) <body = b (int64 i, bool c, {carried})
            => (bool d, {gives}) {{ d = Identity (c) {code} }}>
        }}"""


X = np.arange(4, dtype=np.float32)
FEEDS = {"n": np.array(5), "x": X, "k": np.full(4, 0.5, np.float32)}
TWO = {
    "carried": "float[N] s, float[N] r",
    "gives": "float[M] t, float[M] u",
    "given": "x, k",
    "names": "y, z",
}


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(loop("t = Add (s, k) u = Sub (s, r)", **TWO), id="two values"),
        pytest.param(loop("t = Identity (r) u = Identity (s)", **TWO), id="swapped"),
        pytest.param(loop("t = Add (r, k) u = Mul (s, k)", **TWO), id="swapped and changed"),
        pytest.param(loop("t = Add (s, k) u = Identity (s)", **TWO), id="the one before"),
        pytest.param(loop("t = Add (s, r) u = Identity (t)", **TWO), id="the same twice"),
        pytest.param(loop("t = Add (s, k) u = Identity (r)", **TWO), id="one unchanged"),
        pytest.param(loop("t = Add (s, k) u = Identity (k)", **TWO), id="one of outside"),
        pytest.param(loop("t = Add (s, k) w = Add (s, s) u = Neg (w)", **TWO), id="late reader"),
        pytest.param(loop("t = Concat <axis = 0> (s, k)"), id="a shape that grows"),
        pytest.param(
            loop(
                "t = Add (s, k) f = Constant <value_ints = [-1]> () u = Reshape (s, f) "
                "w = Mul (t, r)",
                **{**TWO, "gives": "float[M] t, float[M] u, float[M] w", "names": "y, z, rows"},
            ).replace("float[B] rows", "float[B, C] rows"),
            id="a view of the one before",
        ),
        pytest.param(
            loop(
                "two = Constant <value_int = 2> () q = Less (i, two) e = If (q) "
                "<then_branch = a () => (float[P] v) { v = Identity (s) },"
                " else_branch = b () => (float[Q] w) { w = Add (s, k) }> "
                "h = Mul (s, e) t = Sub (e, h) u = Add (s, r)",
                **TWO,
            ),
            id="a branch that computes nothing",
        ),
        pytest.param(
            loop(
                "two = Constant <value_int = 2> () q = Less (i, two) t, u = If (q) "
                "<then_branch = a () => (float[P] v, float[P] v) { v = Add (s, r) },"
                " else_branch = b () => (float[Q] w, float[Q] z) { w = Mul (s, k) z = Neg (r) }>",
                **TWO,
            ),
            id="a branch that gives one value twice",
        ),
        pytest.param(
            loop(
                "two = Constant <value_int = 2> () q = Less (i, two) t = If (q) "
                "<then_branch = a () => (float[P] v) { v = Relu (s) },"
                " else_branch = b () => (float[Q] w) { w = Sub (s, k) }>"
            ),
            id="a branch that is no NumPy function",
        ),
        pytest.param(
            loop("w = Add (s, k) f = Constant <value_ints = [-1]> () t = Reshape (w, f)"),
            id="a view",
        ),
        pytest.param(
            loop(
                "t = Add (s, k)",
                gives="float[M] t, float[M] t",
                names="y, rows",
            ).replace("float[B] rows", "float[B, C] rows"),
            id="rows of a carried value",
        ),
        pytest.param(
            loop(
                "t = Add (s, k) u = Identity (s) w = Mul (s, t)",
                gives="float[M] t, float[M] u, float[M] w, float[M] w",
                names="y, a, b, e",
            ).replace("float[B]", "float[B, C]"),
            id="rows of the value before, and the same rows twice",
        ),
    ],
)
def test_named_loops_give_the_same(text):
    """What a reused buffer or a row could get wrong."""
    evaluator = Evaluator(parsed(text))
    assert not isinstance(outcome(evaluator, FEEDS), str)
    assert_same(text, FEEDS)


def test_a_value_of_one_run_is_not_changed_by_the_next_one():
    """No buffer outlives its run."""
    evaluator = Evaluator(parsed(loop("t = Add (s, k) u = Sub (s, r)", **TWO)))
    first = evaluator.run(FEEDS)
    before = [value.copy() for value in first]
    evaluator.run({**FEEDS, "x": X + 1})
    assert [*map(bits, first)] == [*map(bits, before)]


ENDLESS = """
    g (float[4] x, float[4] k) => (float[M] y) {
      y = Loop ("", "", x) <body = b (int64 i, bool c, float[4] s) => (bool d, float[4] t) {
        d = Identity (c)
        t = Mul (s, k)
      }>
    }"""


def test_an_endless_loop_of_known_types_ends_in_time():
    """The time is looked at in each iteration."""
    evaluator = Evaluator(parsed(ENDLESS))
    start = time.monotonic()
    with pytest.raises(TimeoutError, match=r"the time limit of 0\.2 s was reached"):
        evaluator.run({"x": FEEDS["x"], "k": FEEDS["k"]}, time_limit=0.2)
    assert time.monotonic() - start < 10


def test_a_loop_with_many_types_keeps_few_of_its_codes():
    """An inner loop whose values grow has another type at each entry."""
    inner = """
        m = Constant <value_int = 2> ()
        w = Loop (m, "", s) <body = a (int64 j, bool e, float[P] q) => (bool f, float[Q] o) {
          f = Identity (e) o = Add (q, q)
        }>
        one = Constant <value_floats = [1.0]> ()
        t = Concat <axis = 0> (w, one)
    """
    evaluator = Evaluator(parsed(loop(inner)))
    (y,) = evaluator.run({**FEEDS, "n": np.array(30)})
    assert y.shape == (34,)
    assert y[-3:].tolist() == [16, 4, 1]
    (body,) = (step.bodies["body"] for step in evaluator._program.steps)
    (inner_body,) = (step.bodies["body"] for step in body.steps if step.bodies)
    assert 1 < len(inner_body.loops) <= 8


def test_a_reader_of_the_order_in_memory_sees_the_same():
    """A sum over values that lie in memory column by column."""
    assert steady.type_of(np.ones((3, 4))) is not None
    assert steady.type_of(np.ones((3, 4)).T) is None
    assert steady.type_of(np.ones(8)[::2]) is not None
    assert steady.type_of(np.array(["a"], object)) is None
    assert steady.type_of([]) is None
