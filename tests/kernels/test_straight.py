"""Straight-line code gives bit by bit what the plain interpretation gives."""

import numpy as np
import onnx.parser
import pytest

from opcheck.backends.builtin import Builtin
from opcheck.harness.randomness import has_random
from opcheck.harness.sources import load_all
from opcheck.kernels import Evaluator, NodeError
from opcheck.kernels import evaluator as evaluator_module
from opcheck.kernels.evaluator import CHOICE


def same(a, b):
    """Tell whether two values are the same in type, shape and every bit."""
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if not isinstance(a, np.ndarray):
        return type(a) is type(b) and (a == b or a != a)
    if a.dtype == object:
        return b.dtype == object and a.shape == b.shape and a.tolist() == b.tolist()
    return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def outcome(case):
    """Return the outputs of a case, or what was raised."""
    try:
        return Builtin().prepare(case.call.model)(case.call.inputs)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("source", ["onnx:node", "cases/controlflow"])
def test_all_give_the_same_bits_and_the_same_errors(source, monkeypatch):
    """On the whole official suite, and on all bodies of the bundled cases."""
    cases = [c for c in load_all([source]).cases if not has_random(c.call.model)]
    assert len(cases) > 1000
    different = []
    for case in cases:
        monkeypatch.setenv(CHOICE, "plain")
        plain = outcome(case)
        for choice in ("straight", ""):
            monkeypatch.setenv(CHOICE, choice)
            seen = outcome(case)
            equal = plain == seen if isinstance(plain, str) else same(plain, seen)
            if not equal:
                different.append((case.id, choice))
    assert different == []


def evaluator(text):
    return Evaluator(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 18]> {text}'))


def test_the_choice_is_read_at_each_run(monkeypatch):
    """``OPCHECK_EVALUATOR``; without it, only what runs again is compiled."""
    calls = []
    for name in ("run_plain", "run_once", "run_straight"):
        function = getattr(evaluator_module, name)
        monkeypatch.setattr(
            evaluator_module, name, lambda *a, n=name, f=function: calls.append(n) or f(*a)
        )
    made = evaluator("g (int64 x) => (int64 y) { y = Neg (x) }")
    for choice in ("plain", "", "", "plain", "straight"):
        monkeypatch.setenv(CHOICE, choice)
        assert made.run({"x": np.array(3, np.int64)}) == [-3]
    assert calls == ["run_plain", "run_once", "run_straight", "run_plain", "run_straight"]
    monkeypatch.setenv(CHOICE, "straight")
    evaluator("g (int64 x) => (int64 y) { y = Neg (x) }").run({"x": np.array(3, np.int64)})
    assert calls[-1] == "run_straight"


LOOP = """
    g (int64 m, float[N] x) => (float[M] y) {
      y = Loop (m, "", x) <body = b (int64 i, bool c, float[K] s) => (bool d, float[L] t) {
        d = Identity (c)
        h = INVARIANT
        t = Add (s, h)
      }>
    }"""


def test_what_no_iteration_changes_is_computed_once():
    """And not at all where there is no iteration: it may be an error there."""
    text = LOOP.replace("float[N] x)", "float[N] x, int64[1] w)")
    made = evaluator(text.replace("INVARIANT", "Reshape (x, w)"))
    feeds = {"m": np.array(0, np.int64), "x": np.ones(2, np.float32), "w": np.array([3])}
    assert made.run(feeds)[0].tolist() == [1, 1]
    with pytest.raises(NodeError, match=r"^Reshape-14: "):
        made.run({**feeds, "m": np.array(1, np.int64)})
    fitting = {**feeds, "m": np.array(3, np.int64), "w": np.array([2])}
    assert made.run(fitting)[0].tolist() == [4, 4]


def test_random_numbers_are_drawn_anew_in_each_iteration():
    """Two iterations with the same numbers would double them."""
    text = LOOP.replace("INVARIANT", "RandomUniformLike (x)")
    made = evaluator(text)
    x = np.zeros(1000, np.float32)
    (y,) = made.run({"m": np.array(2, np.int64), "x": x})
    (z,) = made.run({"m": np.array(1, np.int64), "x": x})
    assert np.unique(np.round(y % 1, 4)).size > 100
    assert abs(np.corrcoef(y, z)[0, 1]) < 0.5
    assert y.std() < 0.5  # the sum of two independent ones, not twice the same


def test_the_innermost_node_is_named_in_an_error():
    """A line of generated code leads back to its node, in bodies too."""
    text = """
        g (int64 m, float[N] x, int64[1] shape) => (float[M] y) {
          y = Loop (m, "", x) <body = b (int64 i, bool c, float[K] s) => (bool d, float[L] t) {
            d = Identity (c)
            t = Reshape (s, shape)
          }>
        }"""
    made = evaluator(text)
    feeds = {"m": np.array(2, np.int64), "x": np.ones(2, np.float32)}
    with pytest.raises(NodeError, match=r"^Reshape-14: "):
        made.run({**feeds, "shape": np.array([3], np.int64)})
