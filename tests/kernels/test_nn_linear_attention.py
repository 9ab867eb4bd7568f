"""LinearAttention and RotaryEmbedding, held against the text, one number at a time."""

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from kernel_calls import call, dtype_of, ordinary
from opcheck.kernels.rounding import narrow

pytestmark = pytest.mark.usefixtures("no_warnings")

FLOATS = ("float16", "bfloat16", "float32")


def linear(*inputs, **attributes):
    return call("LinearAttention", 27, *inputs, **attributes)


def rotate(*inputs, **attributes):
    return call("RotaryEmbedding", 23, *inputs, **attributes)


# LinearAttention.


def slow(q, k, v, state, decay, beta, rule, heads, kv_heads, scale):
    """Follow the four recurrences, in numbers of 40 digits."""
    batch, length = q.shape[:2]
    d_k, d_v = q.shape[2] // heads, v.shape[2] // kv_heads
    y = np.empty((batch, length, heads * d_v), dtype=object)
    final = np.empty((batch, kv_heads, d_k, d_v), dtype=object)
    group = heads // kv_heads
    n = lambda x: mpmath.mpf(float(x))  # noqa: E731 - a name for one formula
    for b, h in itertools.product(range(batch), range(kv_heads)):
        s = [[n(state[b, h, i, j]) for j in range(d_v)] for i in range(d_k)]
        for t in range(length):
            kt = [n(k[b, t, h * d_k + i]) for i in range(d_k)]
            vt = [n(v[b, t, h * d_v + j]) for j in range(d_v)]
            if "gated" in rule:
                per_head = decay.shape[2] == kv_heads and d_k > 1
                g = [n(decay[b, t, h if per_head else h * d_k + i]) for i in range(d_k)]
                s = [[mpmath.exp(g[i]) * s[i][j] for j in range(d_v)] for i in range(d_k)]
            if "delta" in rule:
                rate = n(beta[b, t, h if beta.shape[2] > 1 else 0])
                held = [sum(s[i][j] * kt[i] for i in range(d_k)) for j in range(d_v)]
                vt = [rate * (vt[j] - held[j]) for j in range(d_v)]
            s = [[s[i][j] + kt[i] * vt[j] for j in range(d_v)] for i in range(d_k)]
            for r, j in itertools.product(range(h * group, (h + 1) * group), range(d_v)):
                total = sum(n(q[b, t, r * d_k + i]) * s[i][j] for i in range(d_k))
                y[b, t, r * d_v + j] = total * scale
        final[b, h] = s
    return y, final


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize("name", FLOATS)
def test_each_rule_is_rounded_once(name, rule):
    """Shared heads, a past, both shapes of decay and beta, a given and the default scale."""
    heads, kv_heads, d_k, d_v = 4, 2, 3, 2
    q, k = ordinary((2, 3, heads * d_k), name, 1), ordinary((2, 3, kv_heads * d_k), name, 2)
    v, past = (
        ordinary((2, 3, kv_heads * d_v), name, 3),
        ordinary((2, kv_heads, d_k, d_v), "float32", 4),
    )
    for width, rates, scale in itertools.product((kv_heads, kv_heads * d_k), (1, kv_heads), (0, 2)):
        decay, beta = ordinary((2, 3, width), name, 5), ordinary((2, 3, rates), name, 6)
        with mpmath.workdps(40):
            factor = mpmath.mpf(scale) if scale else 1 / mpmath.sqrt(d_k)
            y, final = slow(q, k, v, past, decay, beta, rule, heads, kv_heads, factor)
        got, state = linear(
            q, k, v, past, decay, beta, q_num_heads=heads, kv_num_heads=kv_heads,
            update_rule=rule, scale=float(scale),
        )  # fmt: skip
        assert (got.dtype, state.dtype) == (dtype_of(name), np.float32)
        wanted = narrow(np.array(y, dtype=float), dtype_of(name)).astype(float)
        assert np.array_equal(got.astype(float), wanted)
        assert np.array_equal(state, np.array(final, dtype=float).astype(np.float32))


def test_the_state_carries_on():
    """Two halves with the state between them are the whole."""
    q, k, v = (ordinary((1, 4, 2), "float32", s) for s in (1, 2, 3))
    common = {"q_num_heads": 1, "kv_num_heads": 1, "update_rule": "linear"}
    whole, last = linear(q, k, v, **common)
    first, state = linear(q[:, :2], k[:, :2], v[:, :2], **common)
    second, end = linear(q[:, 2:], k[:, 2:], v[:, 2:], state, **common)
    np.testing.assert_allclose(np.concatenate((first, second), 1), whole, rtol=1e-6)
    np.testing.assert_allclose(end, last, rtol=1e-6)
    nothing, same = linear(q[:, :0], k[:, :0], v[:, :0], state, **common)
    assert nothing.shape == (1, 0, 2)
    assert np.array_equal(same, state)


def test_the_state_has_the_type_of_the_query_where_no_past_is_given():
    """present_state is of type S, that of past_state, which may be omitted."""
    q = ordinary((1, 1, 2), "bfloat16", 1)
    _, state = linear(q, q, q, q_num_heads=1, kv_num_heads=1, update_rule="linear")
    assert state.dtype == dtype_of("bfloat16")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"update_rule": "square"}, "update_rule is 'square'"),
        ({"q_num_heads": 3}, "query has shape"),
        ({"kv_num_heads": 0}, "key has shape"),
        ({"q_num_heads": 1, "kv_num_heads": 2}, "q_num_heads is 1"),
        ({"query": np.ones((1, 2))}, "query has shape"),
        ({"query": np.ones((1, 3, 4))}, "query, key and value have the shapes"),
        ({"query": np.ones((1, 2, 8))}, "query, key and value have the shapes"),
        ({"past_state": np.ones((1, 2, 2, 3))}, "past_state has shape"),
        ({"decay": None}, "needs the input decay"),
        ({"beta": None}, "needs the input beta"),
        ({"decay": np.ones((1, 2, 3))}, "decay has shape"),
        ({"beta": np.ones((1, 2, 4))}, "beta has shape"),
    ],
)
def test_linear_attention_refuses_what_does_not_fit(changes, message):
    """Shapes, rules and missing gates that the text does not allow."""
    inputs = {n: np.ones((1, 2, 4), np.float32) for n in ("query", "key", "value")}
    inputs |= {"past_state": None}
    inputs |= {n: np.ones((1, 2, 2), np.float32) for n in ("decay", "beta")}
    attributes = {"q_num_heads": 2, "kv_num_heads": 2}
    for name, value in changes.items():
        (inputs if name in inputs else attributes)[name] = value
    with pytest.raises(ValueError, match=message):
        linear(*inputs.values(), **attributes)


# RotaryEmbedding.


def turned(head, cos, sin, interleaved):
    """Rotate one head, exactly."""
    half = len(cos)
    result = [Fraction(float(v)) for v in head]
    for i in range(half):
        a, b = (2 * i, 2 * i + 1) if interleaved else (i, half + i)
        x1, x2 = Fraction(float(head[a])), Fraction(float(head[b]))
        c, s = Fraction(float(cos[i])), Fraction(float(sin[i]))
        result[a], result[b] = c * x1 - s * x2, s * x1 + c * x2
    return [float(v) for v in result]


@pytest.mark.parametrize("rotated", [0, 2, 4, 6])
@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("name", FLOATS)
def test_each_head_is_rotated_by_the_angles_of_its_position(name, interleaved, rotated):
    """Both ranks, with and without position ids; what is not rotated stays."""
    x = ordinary((2, 3, 4, 6), name, 1)
    half = (rotated or 6) // 2
    cos, sin = ordinary((7, half), name, 2), ordinary((7, half), name, 3)
    ids = np.random.default_rng(4).integers(0, 7, (2, 4))
    wanted = np.array(
        [[[turned(x[b, h, t], cos[ids[b, t]], sin[ids[b, t]], interleaved) for t in range(4)]
          for h in range(3)] for b in range(2)]
    )  # fmt: skip
    wanted = narrow(wanted, dtype_of(name))
    common = {"interleaved": interleaved, "rotary_embedding_dim": rotated}
    assert np.array_equal(rotate(x, cos, sin, ids, **common), wanted)
    assert np.array_equal(rotate(x, cos[ids], sin[ids], **common), wanted)
    packed, result = (a.transpose(0, 2, 1, 3).reshape(2, 4, 18) for a in (x, wanted))
    assert np.array_equal(rotate(packed, cos, sin, ids, num_heads=3, **common), result)


def test_a_negative_position_counts_from_the_end():
    """The code in the text indexes as NumPy does."""
    x, cache = np.array([[[[1.0, 2.0]]]], np.float32), np.array([[1.0], [3.0]], np.float32)
    last = rotate(x, cache, cache, np.array([[-1]]))
    assert np.array_equal(last, rotate(x, cache, cache, np.array([[1]])))


@pytest.mark.parametrize(
    ("x", "cache", "ids", "attributes", "message"),
    [
        ((1, 4), (3, 2), (1, 1), {}, "must be of rank 3 or 4"),
        ((1, 1, 4), (3, 2), (1, 1), {}, "num_heads is None"),
        ((1, 1, 4), (3, 2), (1, 1), {"num_heads": 3}, "num_heads is 3"),
        ((1, 1, 1, 3), (3, 1), (1, 1), {}, "a head has size 3"),
        ((1, 1, 1, 4), (3, 1), (1, 1), {"rotary_embedding_dim": 3}, "both must be even"),
        ((1, 1, 1, 4), (3, 3), (1, 1), {"rotary_embedding_dim": 6}, "both must be even"),
        ((1, 1, 1, 4), (3, 1), (1, 1), {}, "cos_cache has shape"),
        ((1, 1, 1, 4), (3, 2), (1, 2), {}, "position_ids has shape"),
        ((1, 1, 1, 4), (3, 2), None, {}, "cos_cache has shape"),
        ((1, 1, 2, 4), (1, 1, 2), None, {}, "cos_cache has shape"),
    ],
)
def test_rotary_embedding_refuses_what_does_not_fit(x, cache, ids, attributes, message):
    """Shapes and sizes that the text does not allow."""
    caches = [np.ones(cache, np.float32)] * 2
    positions = None if ids is None else np.zeros(ids, np.int64)
    with pytest.raises(ValueError, match=message):
        rotate(np.ones(x, np.float32), *caches, positions, **attributes)


@pytest.mark.parametrize("position", [3, -4])
def test_positions_outside_the_cache_are_refused(position):
    """There is no row for them."""
    x, cache = np.ones((1, 1, 1, 2), np.float32), np.ones((3, 1), np.float32)
    with pytest.raises(ValueError, match="the cache has 3 positions"):
        rotate(x, cache, cache, np.array([[position]]))
