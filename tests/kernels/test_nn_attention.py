"""Attention and FlexAttention, held against the definition, one score at a time."""

import itertools

import ml_dtypes
import mpmath
import numpy as np
import pytest

from kernel_calls import call, dtype_of, ordinary
from opcheck.kernels import registry
from opcheck.kernels.rounding import narrow

pytestmark = pytest.mark.usefixtures("no_warnings")

VERSIONS = (23, 24, 25)
FLOATS = ("float16", "bfloat16", "float32", "float64")


def attend(version, *inputs, **attributes):
    return call("Attention", version, *inputs, **attributes)


def flex(*inputs, **attributes):
    return call("FlexAttention", 1, *inputs, domain="ai.onnx.preview", **attributes)


# The slow transcription: lists of four axes, and a bias for each query and key.


def slow(q, k, v, *, bias=None, scale=None, softcap=0):
    """Return Y and what the four modes show, in numbers of 40 digits."""
    batch, heads, length, size = q.shape
    keys, width = v.shape[2:]
    y = np.empty((batch, heads, length, width), dtype=object)
    shown = [np.empty((batch, heads, length, keys), dtype=object) for _ in range(4)]
    group = heads // k.shape[1]
    with mpmath.workdps(40):
        factor = 1 / mpmath.sqrt(size) if scale is None else mpmath.mpf(scale)
        for b, h, i in itertools.product(range(batch), range(heads), range(length)):
            row = [mpmath.mpf(float(x)) for x in q[b, h, i]]
            added = [-mpmath.inf if bias is not None and np.isneginf(bias[b, h, i, j])
                     else mpmath.mpf(0 if bias is None else float(bias[b, h, i, j]))
                     for j in range(keys)]  # fmt: skip
            total = []
            for j in range(keys):
                s = factor * sum(
                    x * float(z) for x, z in zip(row, k[b, h // group, j], strict=True)
                )
                shown[0][b, h, i, j] = s
                s = softcap * mpmath.tanh(s / softcap) if softcap else s
                shown[1][b, h, i, j] = s
                total.append(s + added[j])
                shown[2][b, h, i, j] = total[-1]
            if all(a == -mpmath.inf for a in added):
                p = [mpmath.mpf(0)] * keys
            else:
                e = [mpmath.exp(t - max(total)) for t in total]
                p = [x / sum(e) for x in e]
            shown[3][b, h, i] = p
            for c in range(width):
                y[b, h, i, c] = sum(
                    (x * float(z) for x, z in zip(p, v[b, h // group, :, c], strict=True)),
                    mpmath.mpf(0),
                )
    return y, shown


def close(got, wanted, name):
    """Allow half a unit in the last place, and for float64 what products of sums lose."""
    assert got.dtype == dtype_of(name)
    assert got.shape == wanted.shape
    exact = np.array([float(w) for w in wanted.reshape(-1)]).reshape(wanted.shape)
    if name == "float64":
        np.testing.assert_allclose(got, exact, rtol=1e-15, atol=1e-17)
    else:
        assert np.array_equal(got.astype(float), narrow(exact, dtype_of(name)).astype(float))


def inputs_of(name, *, batch=2, heads=4, kv_heads=2, length=3, keys=5, size=3, width=2):
    return (
        ordinary((batch, heads, length, size), name, 1),
        ordinary((batch, kv_heads, keys, size), name, 2),
        ordinary((batch, kv_heads, keys, width), name, 3),
    )


def visible(version, batch, length, keys, *, causal=0, past=0, nonpad=None, left=-1, right=-1):
    """Return the bias that the rules on positions give, one pair of query and key at a time."""
    bias = np.zeros((batch, 1, length, keys))
    for b, i, j in itertools.product(range(batch), range(length), range(keys)):
        position = i + (past if nonpad is None else nonpad[b] - length)
        hidden = (causal and j > position) or (nonpad is not None and j >= nonpad[b])
        hidden |= version == 25 and left >= 0 and j < position - left
        hidden |= version == 25 and right >= 0 and j > position + right
        bias[b, 0, i, j] = -np.inf if hidden else 0
    return bias


def test_every_version_is_registered():
    """Attention has a kernel in each version of its schema, and FlexAttention has one."""
    keys = {("", "Attention", v) for v in VERSIONS} | {("ai.onnx.preview", "FlexAttention", 1)}
    assert keys <= registry.registered()


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("version", VERSIONS)
def test_everything_is_rounded_once(version, name):
    """Grouped heads, softcap and a mask, in all four modes."""
    q, k, v = inputs_of(name)
    mask = ordinary((3, 5), name, 4)
    mask[0, 1] = -np.inf
    bias = np.broadcast_to(mask.astype(float), (2, 4, 3, 5))
    y, shown = slow(q, k, v, bias=bias, softcap=1.5)
    for mode in range(4):
        got = attend(version, q, k, v, mask, softcap=1.5, qk_matmul_output_mode=mode)
        close(got[0], y, name)
        close(got[3], shown[mode], name)
        assert np.array_equal(got[1], k)
        assert np.array_equal(got[2], v)


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_past_comes_before_the_keys(version, causal):
    """Present is past and new; the causal bound counts the past."""
    q, k, v = inputs_of("float32")
    past_k, past_v = ordinary((2, 2, 4, 3), "float32", 5), ordinary((2, 2, 4, 2), "float32", 6)
    whole_k, whole_v = np.concatenate((past_k, k), 2), np.concatenate((past_v, v), 2)
    bias = np.broadcast_to(visible(version, 2, 3, 9, causal=causal, past=4), (2, 4, 3, 9))
    wanted, _ = slow(q, whole_k, whole_v, bias=bias)
    y, present_k, present_v, _ = attend(version, q, k, v, None, past_k, past_v, is_causal=causal)
    close(y, wanted, "float32")
    assert np.array_equal(present_k, whole_k)
    assert np.array_equal(present_v, whole_v)


@pytest.mark.parametrize("version", VERSIONS)
def test_rank_3_is_rank_4_with_the_heads_side_by_side(version):
    """Heads are unpacked from the last dimension and packed into it."""
    q, k, v = inputs_of("float32")
    y, present_k, present_v, shown = attend(version, q, k, v, is_causal=1)
    packed = [x.transpose(0, 2, 1, 3).reshape(2, x.shape[2], -1) for x in (q, k, v, y)]
    got = attend(version, *packed[:3], is_causal=1, q_num_heads=4, kv_num_heads=2)
    wanted = (packed[3], present_k, present_v, shown)
    assert all(np.array_equal(a, b) for a, b in zip(got, wanted, strict=True))


POSITIONS = [
    {"causal": causal, "nonpad": nonpad, "left": left, "right": right}
    for causal, nonpad, left, right in itertools.product(
        (0, 1), (None, [5, 1], [0, 3]), (-1, 0, 2), (-1, 0, 1)
    )
]


@pytest.mark.parametrize("version", [24, 25])
def test_positions_by_all_rules_together(version):
    """Causal bound, padding and windows; rows without any key are zero."""
    q, k, v = inputs_of("float32")
    for rules in POSITIONS:
        if version == 24 and (rules["left"], rules["right"]) != (-1, -1):
            continue
        bias = np.broadcast_to(visible(version, 2, 3, 5, **rules), (2, 4, 3, 5))
        wanted, shown = slow(q, k, v, bias=bias)
        nonpad = rules["nonpad"]
        windows = {"left_window_size": rules["left"], "right_window_size": rules["right"]}
        got = attend(
            version, q, k, v, None, None, None, None if nonpad is None else np.array(nonpad),
            is_causal=rules["causal"], qk_matmul_output_mode=3,
            **(windows if version == 25 else {}),
        )  # fmt: skip
        close(got[0], wanted, "float32")
        close(got[3], shown[3], "float32")


@pytest.mark.parametrize(
    "shape", [(), (5,), (1,), (3, 5), (3, 1), (4, 1, 5), (1, 3, 5), (2, 1, 1, 5)]
)
def test_masks_broadcast_from_the_right(shape):
    """A bool mask hides what is false, and a float mask is added."""
    q, k, v = inputs_of("float32")
    hidden = np.random.default_rng(7).random(shape) < 0.4
    added = ordinary(shape, "float32", 8)
    for mask, bias in ((~hidden, np.where(hidden, -np.inf, 0)), (added, added)):
        whole = np.broadcast_to(bias, (2, 4, 3, 5))
        close(attend(23, q, k, v, np.asarray(mask))[0], slow(q, k, v, bias=whole)[0], "float32")


@pytest.mark.parametrize("dtype", [bool, np.float32, np.int8])
def test_a_short_mask_hides_the_keys_past_its_end(dtype):
    """From version 24 on; version 23 has no shorter masks."""
    q, k, v = inputs_of("float32")
    mask = np.ones((3, 4), dtype)
    bias = np.zeros((2, 4, 3, 5))
    bias[..., 4] = -np.inf
    wanted = slow(q, k, v, bias=bias)[0]
    for version in (24, 25):
        close(attend(version, q, k, v, mask)[0], wanted, "float32")
    with pytest.raises(ValueError, match="attn_mask has shape"):
        attend(23, q, k, v, mask)


def test_no_keys_are_no_visible_keys():
    """Y is zero where there is no key, and the modes are empty."""
    q, k, v = inputs_of("float32", keys=0)
    y, _, _, shown = attend(25, q, k, v)
    assert y.shape == (2, 4, 3, 2)
    assert not y.any()
    assert shown.shape == (2, 4, 3, 0)


@pytest.mark.parametrize(("number", "dtype"), [(10, np.float16), (16, ml_dtypes.bfloat16)])
def test_a_given_softmax_precision_rounds_before_and_after(number, dtype):
    """The casts of the text: to the precision, and of the result back to the type of Q."""
    q, k, v = inputs_of("float32")
    scores = attend(23, q, k, v)[3]
    x = scores.astype(dtype).astype(float)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    wanted = narrow(e / e.sum(axis=-1, keepdims=True), np.dtype(dtype)).astype(np.float32)
    got = attend(23, q, k, v, softmax_precision=number, qk_matmul_output_mode=3)[3]
    assert np.array_equal(got, wanted)


@pytest.mark.parametrize("name", FLOATS)
def test_flex_attention_without_bodies(name):
    """Scores and probabilities are rounded to float32, or are float64 for float64 inputs."""
    q, k, v = inputs_of(name)
    wanted, _ = slow(q, k, v)
    got = flex(q, k, v)
    assert got.dtype == dtype_of(name)
    exact = np.array([float(w) for w in wanted.reshape(-1)]).reshape(wanted.shape)
    rtol = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 3e-6, "float64": 1e-14}[name]
    np.testing.assert_allclose(got.astype(float), exact, rtol=rtol, atol=rtol / 10)


class Body:
    """A body of one function."""

    def __init__(self, function, inputs=1, outputs=1):
        self.function = function
        self.inputs, self.outputs = [None] * inputs, [None] * outputs

    def __call__(self, x):
        return [self.function(x)]


def test_flex_attention_hands_its_bodies_scores_and_probabilities():
    """The score body comes before the softmax, the other one after it, both in the precision."""
    q, k, v = inputs_of("float16")
    seen = []

    def shift(x):
        seen.append(x)
        return x + np.array([0, 1, 2, 3, 4], x.dtype)

    def double(x):
        seen.append(x)
        return x * x.dtype.type(2)

    got = flex(q, k, v, score_mod=Body(shift), prob_mod=Body(double))
    assert [s.dtype for s in seen] == [np.float32] * 2
    assert seen[0].shape == seen[1].shape == (2, 4, 3, 5)
    bias = np.broadcast_to(np.arange(5.0), (2, 4, 3, 5))
    wanted = 2 * slow(q, k, v, bias=bias)[0].astype(float)
    np.testing.assert_allclose(got.astype(float), wanted, rtol=1e-3, atol=1e-4)
    flex(q, k, v, score_mod=Body(shift), softmax_precision=11)
    assert seen[-1].dtype == np.float64


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (Body(lambda x: x, inputs=2), "prob_mod has 2 inputs"),
        (Body(lambda x: x, outputs=2), "prob_mod has 1 inputs and 2 outputs"),
        (Body(lambda x: x[..., :1]), "prob_mod gives float32"),
        (Body(lambda x: x.astype(float)), "prob_mod gives float64"),
        (Body(lambda x: [x]), "prob_mod gives list"),
    ],
)
def test_flex_attention_refuses_other_bodies(body, message):
    """A body takes and gives one tensor of the same shape and type."""
    with pytest.raises(ValueError, match=message):
        flex(*inputs_of("float32"), prob_mod=body)


ONE = np.ones((1, 1, 1, 2), np.float32)


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ([ONE, ONE[0], ONE], {}, "all must be of rank 3, or all of rank 4"),
        ([ONE[0, 0], ONE[0, 0], ONE[0, 0]], {}, "all must be of rank 3, or all of rank 4"),
        ([ONE[0]] * 3, {"q_num_heads": 1}, "need the attributes q_num_heads and kv_num_heads"),
        ([ONE[0]] * 3, {"q_num_heads": 3, "kv_num_heads": 1}, "2 is no multiple of 3 heads"),
        ([ONE] * 3, {"q_num_heads": 2}, "q_num_heads is 2"),
        ([np.ones((1, 3, 1, 2)), np.ones((1, 2, 1, 2)), np.ones((1, 2, 1, 2))], {}, "a multiple"),
        ([ONE, np.ones((1, 1, 1, 3), np.float32), ONE], {}, "Q, K and V are"),
        ([ONE, ONE, np.ones((1, 1, 2, 2), np.float32)], {}, "Q, K and V are"),
        ([ONE, np.ones((2, 1, 1, 2)), np.ones((2, 1, 1, 2))], {}, "Q, K and V are"),
        ([ONE, ONE, ONE, None, ONE], {}, "must be given together"),
        ([ONE, ONE, ONE, None, None, ONE], {}, "must be given together"),
        ([ONE, ONE, ONE, None, ONE, np.ones((1, 1, 2, 2))], {}, "must be of one length"),
        ([ONE, ONE, ONE, None, np.ones((1, 2, 1, 2)), ONE], {}, "past_key has shape"),
        ([ONE, ONE, ONE, None, ONE, ONE, np.array([1])], {}, "must not be given beside"),
        ([ONE, ONE, ONE, None, None, None, np.array([2])], {}, r"must lie in \[0, 1\]"),
        ([ONE, ONE, ONE, None, None, None, np.array([-1])], {}, r"must lie in \[0, 1\]"),
        ([ONE, ONE, ONE, None, None, None, np.array([1, 1])], {}, "nonpad_kv_seqlen has shape"),
        ([ONE, ONE, ONE, np.ones((1, 1, 1, 1, 1), bool)], {}, "attn_mask has shape"),
        ([ONE, ONE, ONE, np.ones(2, bool)], {}, "attn_mask has shape"),
        ([ONE] * 3, {"is_causal": 2}, "is_causal is 2"),
        ([ONE] * 3, {"qk_matmul_output_mode": 4}, "qk_matmul_output_mode is 4"),
        ([ONE] * 3, {"softmax_precision": 7}, "softmax_precision is 7"),
        ([ONE] * 3, {"left_window_size": -2}, "left_window_size is -2"),
        ([ONE] * 3, {"right_window_size": -3}, "right_window_size is -3"),
    ],
)
def test_what_does_not_fit_is_refused(inputs, attributes, message):
    """Shapes, caches and attributes that the text does not allow."""
    with pytest.raises(ValueError, match=message):
        attend(25, *inputs, **attributes)


@pytest.mark.parametrize(
    "inputs",
    [
        [ONE[0]] * 3,
        [ONE, ONE, np.ones((1, 1, 2, 2), np.float32)],
        [np.ones((1, 3, 1, 2)), np.ones((1, 2, 1, 2)), np.ones((1, 2, 1, 2))],
    ],
)
def test_flex_attention_refuses_shapes_that_do_not_fit(inputs):
    """Rank 4, lengths and heads that agree."""
    with pytest.raises(ValueError, match="Q, K and V have the shapes"):
        flex(*inputs)
