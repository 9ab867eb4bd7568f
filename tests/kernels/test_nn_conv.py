"""Conv, ConvTranspose and CausalConvWithState, held against loops over fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exact_rounding import rounded
from kernel_calls import call, dtype_of, grid, ordinary, versions_and_types

pytestmark = pytest.mark.usefixtures("no_warnings")


def fractions(x):
    return [Fraction(float(v)) for v in x.flat]


def flat_index(index, shape):
    result = 0
    for i, size in zip(index, shape, strict=True):
        result = result * size + i
    return result


def slow_conv(x, w, b, group, strides, dilations, begins, sizes):
    """Return the exact sums of a convolution, in row-major order."""
    values, weights = fractions(x), fractions(w)
    per_group, result = w.shape[0] // group, []
    for n, m, *at in grid((x.shape[0], w.shape[0], *sizes)):
        total = Fraction(0) if b is None else Fraction(float(b[m]))
        for c, *k in grid(w.shape[1:]):
            place = [
                a * s + i * d - p
                for a, s, i, d, p in zip(at, strides, k, dilations, begins, strict=True)
            ]
            if all(0 <= i < size for i, size in zip(place, x.shape[2:], strict=True)):
                channel = m // per_group * w.shape[1] + c
                term = values[flat_index((n, channel, *place), x.shape)]
                total += term * weights[flat_index((m, c, *k), w.shape)]
        result.append(total)
    return result


def slow_transpose(x, w, b, group, strides, dilations, begins, sizes):
    """Spread each element over the output, as the name of the operator says."""
    channels = w.shape[1] * group
    shape = (x.shape[0], channels, *sizes)
    result = [Fraction(0) if b is None else Fraction(float(b[index[1]])) for index in grid(shape)]
    values, weights = fractions(x), fractions(w)
    for (n, c, *at), value in zip(grid(x.shape), values, strict=True):
        first = c // (x.shape[1] // group) * w.shape[1]
        for m, *k in grid(w.shape[1:]):
            place = [
                a * s + i * d - p
                for a, s, i, d, p in zip(at, strides, k, dilations, begins, strict=True)
            ]
            if all(0 <= i < size for i, size in zip(place, sizes, strict=True)):
                to = flat_index((n, first + m, *place), shape)
                result[to] += value * weights[flat_index((c, m, *k), w.shape)]
    return result


SHAPES = [
    # spatial sizes, kernel, strides, dilations, pads, group
    pytest.param((7,), (3,), (2,), (2,), (1, 0), 1, id="1d"),
    pytest.param((5, 4), (3, 2), (2, 1), (1, 2), (0, 1, 2, 1), 2, id="2d-groups"),
    pytest.param((5, 3), (2, 3), (1, 2), (2, 1), (1, 1, 1, 1), 4, id="2d-depthwise"),
    pytest.param((3, 2, 4), (2, 1, 3), (1, 2, 2), (1, 1, 1), (0, 0, 1, 1, 0, 1), 1, id="3d"),
    pytest.param(
        (2, 3, 2, 3), (2, 2, 1, 2), (1, 1, 1, 2), (1, 1, 1, 1), (0, 0, 1, 0, 0, 1, 0, 0), 1, id="4d"
    ),
]


@pytest.mark.parametrize(("sizes", "kernel", "strides", "dilations", "pads", "group"), SHAPES)
@pytest.mark.parametrize(("version", "name"), versions_and_types("Conv"))
def test_convolutions_are_rounded_once(
    version, name, sizes, kernel, strides, dilations, pads, group
):
    """Each element is the exact sum, rounded once; in float64 too."""
    count = len(sizes)
    x = ordinary((2, 4, *sizes), name, 1)
    w = ordinary((4, 4 // group, *kernel), name, 2)
    b = ordinary((4,), name, 3)
    out = [
        (sizes[i] + pads[i] + pads[i + count] - ((kernel[i] - 1) * dilations[i] + 1)) // strides[i]
        + 1
        for i in range(count)
    ]
    got = call(
        "Conv", version, x, w, b, group=group, strides=strides, dilations=dilations, pads=pads
    )
    assert got.dtype == x.dtype
    assert got.shape == (2, 4, *out)
    exact = slow_conv(x, w, b, group, strides, dilations, pads[:count], out)
    assert [float(v) for v in got.flat] == [rounded(v, name) for v in exact]


@pytest.mark.parametrize(("sizes", "kernel", "strides", "dilations", "pads", "group"), SHAPES)
@pytest.mark.parametrize(("version", "name"), versions_and_types("ConvTranspose"))
def test_transposed_convolutions_are_rounded_once(
    version, name, sizes, kernel, strides, dilations, pads, group
):
    """Each element is the exact sum of what is spread to it, rounded once."""
    count = len(sizes)
    x = ordinary((2, 4, *sizes), name, 4)
    w = ordinary((4, 3, *kernel), name, 5)
    b = ordinary((3 * group,), name, 6)
    out = [
        strides[i] * (sizes[i] - 1) + (kernel[i] - 1) * dilations[i] + 1 - pads[i] - pads[i + count]
        for i in range(count)
    ]
    got = call(
        "ConvTranspose",
        version,
        x,
        w,
        b,
        group=group,
        strides=strides,
        dilations=dilations,
        pads=pads,
    )
    assert got.shape == (2, 3 * group, *out)
    exact = slow_transpose(x, w, b, group, strides, dilations, pads[:count], out)
    assert [float(v) for v in got.flat] == [rounded(v, name) for v in exact]


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_sums_do_not_cancel(name):
    """Terms of unlike sizes leave the small one; plain accumulation gives 0."""
    big = 2.0**70 if name == "float32" else 2.0**200
    x = np.array([[[big, 1.0, -big]]], name)
    assert call("Conv", 22, x, np.ones((1, 1, 3), name)).tolist() == [[[1.0]]]


def test_float64_products_keep_what_rounding_takes():
    """(1 + e)^2 - (1 + 2e) is e^2, which a rounded product loses."""
    e = 2.0**-40
    x = np.array([[[1 + e, 1 + 2 * e]]])
    assert call("Conv", 22, x, np.array([[[1 + e, -1.0]]])).tolist() == [[[e * e]]]


@pytest.mark.parametrize(("operator", "version"), [("Conv", 11), ("ConvTranspose", 11)])
def test_infinities_and_nan(operator, version):
    x = np.array([[[math.inf, 1.0, math.nan]]])
    got = call(operator, version, x, np.array([[[2.0]]]))
    assert got[0, 0, 0] == math.inf
    assert got[0, 0, 1] == 2
    assert math.isnan(got[0, 0, 2])


def test_no_term_is_made_where_nothing_is_spread():
    """An infinite weight times a zero between the strides is no NaN: there is no such term."""
    x = np.array([[[1.0, 1.0]]])
    got = call("ConvTranspose", 11, x, np.array([[[1.0, math.inf]]]), strides=[3])
    assert got.tolist() == [[[1.0, math.inf, 0.0, 1.0, math.inf]]]


@pytest.mark.parametrize("version", [1, 11, 22])
@pytest.mark.parametrize(
    ("auto_pad", "begin"), [("SAME_UPPER", 0), ("SAME_LOWER", 1), ("VALID", 0)]
)
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_automatic_padding(version, auto_pad, begin, stride):
    """The odd pad is at the end for SAME_UPPER, at the beginning for SAME_LOWER."""
    x = ordinary((1, 1, 6), "float64", 7)
    w = ordinary((1, 1, 2), "float64", 8)
    if auto_pad == "VALID":
        size = math.ceil((6 - 2 + 1) / stride)
    else:
        size = math.ceil(6 / stride)
        begin = begin if (size - 1) * stride + 2 > 6 else 0
    got = call("Conv", version, x, w, auto_pad=auto_pad, strides=[stride])
    exact = slow_conv(x, w, None, 1, [stride], [1], [begin], [size])
    assert got.flatten().tolist() == [rounded(v, "float64") for v in exact]


def test_dilation_counts_in_automatic_padding():
    """The window of 2 elements, 4 apart, is 5 wide: 2 on each side."""
    x = np.arange(1.0, 6)[None, None]
    w = np.array([[[1.0, 10.0]]])
    got = call("Conv", 11, x, w, auto_pad="SAME_UPPER", dilations=[4])
    assert got.tolist() == [[[30.0, 40.0, 51.0, 2.0, 3.0]]]


# ConvTranspose: where the padding comes from.


@pytest.mark.parametrize(
    ("version", "auto_pad", "begin"),
    [
        pytest.param(1, "NOTSET", 1, id="1"),
        pytest.param(1, "SAME_UPPER", 2, id="1-upper"),
        pytest.param(1, "SAME_LOWER", 1, id="1-lower"),
        pytest.param(11, "NOTSET", 2, id="11"),
        pytest.param(11, "SAME_UPPER", 1, id="11-upper"),
        pytest.param(11, "SAME_LOWER", 2, id="11-lower"),
        pytest.param(22, "NOTSET", 2, id="22"),
        pytest.param(22, "SAME_UPPER", 1, id="22-upper"),
    ],
)
def test_an_output_shape_makes_the_padding(version, auto_pad, begin):
    """Of 3 elements too many, 2 are cut at one side, by the equations of each version."""
    x = np.array([[[1.0, 2.0, 3.0]]])
    w = np.array([[[1.0, 10.0, 100.0, 1000.0]]])
    full = [float(v) for v in slow_transpose(x, w, None, 1, [2], [1], [0], [8])]
    got = call("ConvTranspose", version, x, w, strides=[2], output_shape=[5], auto_pad=auto_pad)
    assert got.flatten().tolist() == full[begin : begin + 5]


@pytest.mark.parametrize("version", [1, 11, 22])
@pytest.mark.parametrize(("auto_pad", "begin"), [("SAME_UPPER", 0), ("SAME_LOWER", 1)])
def test_same_padding_multiplies_the_size(version, auto_pad, begin):
    x = np.array([[[1.0, 2.0, 3.0]]])
    w = np.array([[[1.0, 10.0, 100.0]]])
    got = call("ConvTranspose", version, x, w, strides=[2], auto_pad=auto_pad)
    full = [1.0, 10.0, 102.0, 20.0, 203.0, 30.0, 300.0]
    assert got.flatten().tolist() == full[begin : begin + 6]


def test_an_output_shape_larger_than_all_windows_ends_in_zeros():
    x, w = np.array([[[1.0, 2.0]]]), np.array([[[1.0, 10.0]]])
    got = call("ConvTranspose", 11, x, w, output_shape=[5])
    assert got.tolist() == [[[1.0, 12.0, 20.0, 0.0, 0.0]]]


@pytest.mark.parametrize("version", [1, 11, 22])
def test_output_padding_adds_computed_elements_at_the_end(version):
    """With pads they are sums that the pads cut away otherwise, not zeros."""
    x, w = np.array([[[1.0, 2.0]]]), np.array([[[1.0, 10.0, 100.0]]])
    got = call("ConvTranspose", version, x, w, strides=[2], pads=[1, 1], output_padding=[1])
    assert got.tolist() == [[[10.0, 102.0, 20.0, 200.0]]]


def test_output_padding_of_version_1_has_no_limit():
    """Later versions want less than the stride or the dilation."""
    x, w = np.array([[[1.0, 2.0]]]), np.array([[[1.0, 10.0]]])
    got = call("ConvTranspose", 1, x, w, output_padding=[2])
    assert got.tolist() == [[[1.0, 12.0, 20.0, 0.0, 0.0]]]


@settings(max_examples=40, deadline=None)
@given(
    size=st.integers(1, 5),
    kernel=st.integers(1, 4),
    stride=st.integers(1, 3),
    dilation=st.integers(1, 3),
)
def test_a_transposed_convolution_is_the_adjoint(size, kernel, stride, dilation):
    """<Conv(u), x> is <u, ConvTranspose(x)> for integers, exactly."""
    rng = np.random.default_rng(size)
    long = stride * (size - 1) + (kernel - 1) * dilation + 1
    u = rng.integers(-5, 6, (1, 3, long)).astype(np.float64)
    x = rng.integers(-5, 6, (1, 2, size)).astype(np.float64)
    w = rng.integers(-5, 6, (2, 3, kernel)).astype(np.float64)
    spread = {"strides": [stride], "dilations": [dilation]}
    one = call("Conv", 11, u, w, **spread)
    other = call("ConvTranspose", 11, x, w, **spread)
    assert (one * x).sum() == (u * other).sum()


X, W = np.ones((1, 4, 5, 6)), np.ones((6, 2, 3, 3))


@pytest.mark.parametrize(
    ("inputs", "attributes", "match"),
    [
        pytest.param((X[0, 0], W[0, 0]), {}, "rank 3", id="no-spatial-axis"),
        pytest.param((X, W[0]), {"group": 2}, "ranks", id="rank-of-the-weights"),
        pytest.param((X, W), {}, "group is 1", id="channels"),
        pytest.param((X, W[:5]), {"group": 2}, "multiple of group", id="feature-maps"),
        pytest.param((X, W), {"group": 0}, "group is 0", id="group-0"),
        pytest.param((X, W, np.ones(5)), {"group": 2}, r"B has shape \(5,\)", id="bias"),
        pytest.param((X, W), {"group": 2, "kernel_shape": [3, 2]}, "kernel_shape", id="kernel"),
        pytest.param((X, W), {"group": 2, "strides": [1, 0]}, "strides", id="stride-0"),
        pytest.param((X, W), {"group": 2, "strides": [1]}, "2 integers", id="one-stride"),
        pytest.param((X, W), {"group": 2, "pads": [1, 1]}, "4 integers", id="two-pads"),
        pytest.param((X, W), {"group": 2, "pads": [0, 0, 0, -1]}, ">= 0", id="negative-pad"),
        pytest.param((X, W), {"group": 2, "dilations": [0, 1]}, "dilations", id="dilation-0"),
        pytest.param((X, W), {"group": 2, "auto_pad": "SAME"}, "auto_pad", id="auto-pad"),
        pytest.param(
            (X, W), {"group": 2, "auto_pad": "VALID", "pads": [0] * 4}, "simultaneously", id="both"
        ),
        pytest.param((X, W), {"group": 2, "dilations": [4, 1]}, "does not fit", id="too-large"),
    ],
)
@pytest.mark.parametrize("version", [1, 11, 22])
def test_convolutions_refuse(version, inputs, attributes, match):
    """What the specification forbids is no result."""
    with pytest.raises(ValueError, match=match):
        call("Conv", version, *inputs, **attributes)


T = np.ones((4, 2, 3, 3))


@pytest.mark.parametrize(
    ("inputs", "attributes", "match"),
    [
        pytest.param((X, W), {}, "must be", id="channels"),
        pytest.param((X, T), {"group": 3}, "multiple of group", id="group"),
        pytest.param((X, T, np.ones(2)), {"group": 2}, "B has shape", id="bias"),
        pytest.param((X, T), {"kernel_shape": [3]}, "kernel_shape", id="kernel"),
        pytest.param((X, T), {"pads": [9, 0, 9, 0]}, "cannot be taken", id="pads"),
        pytest.param(
            (X, T), {"auto_pad": "SAME_LOWER", "pads": [0] * 4}, "simultaneously", id="both"
        ),
        pytest.param((X, T), {"output_shape": [5]}, "output_shape", id="output-shape"),
        pytest.param((X, T), {"output_padding": [1, 0]}, "output_padding", id="output-padding"),
    ],
)
@pytest.mark.parametrize("version", [11, 22])
def test_transposed_convolutions_refuse(version, inputs, attributes, match):
    with pytest.raises(ValueError, match=match):
        call("ConvTranspose", version, *inputs, **attributes)


@pytest.mark.parametrize("operator", ["Conv", "ConvTranspose"])
@pytest.mark.parametrize(
    ("x", "w", "shape"),
    [
        pytest.param((0, 2, 4), (2, 2, 3), (0, 2), id="no-sample"),
        pytest.param((3, 0, 4), (0, 0, 3), (3, 0), id="no-channel"),
    ],
)
def test_empty_tensors(operator, x, w, shape):
    got = call(operator, 11, np.ones(x), np.ones(w))
    assert got.shape[:2] == shape
    assert got.size == 0


def test_no_channel_leaves_the_bias():
    got = call("Conv", 11, np.ones((1, 0, 4)), np.ones((2, 0, 3)), np.array([5.0, 7.0]))
    assert got.tolist() == [[[5.0, 5.0], [7.0, 7.0]]]


# CausalConvWithState.


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("activation", ["none", "silu", "swish"])
@pytest.mark.parametrize("length", [0, 1, 2, 5])
@pytest.mark.parametrize("given_state", [False, True])
def test_causal_convolution(name, activation, length, given_state):
    """Output t sees past and input up to t; the state is the end of both together."""
    x, w = ordinary((2, 3, length), name, 1), ordinary((3, 1, 4), name, 2)
    b = ordinary((3,), name, 3)
    past = ordinary((2, 3, 3), name, 4) if given_state else np.zeros((2, 3, 3), dtype_of(name))
    y, state = call(
        "CausalConvWithState", 27, x, w, b, past if given_state else None, activation=activation
    )
    assert y.dtype == state.dtype == x.dtype
    assert y.shape == (2, 3, length)
    for n, c in grid((2, 3)):
        both = [*past[n, c], *x[n, c]]
        assert state[n, c].tolist() == [float(v) for v in both[length:]]
        for t in range(length):
            exact = Fraction(float(b[c])) + sum(
                Fraction(float(both[t + k])) * Fraction(float(w[c, 0, k])) for k in range(4)
            )
            value = float(exact)
            if activation != "none":
                value = value / (1 + math.exp(-value))
            assert float(y[n, c, t]) == rounded(Fraction(value), name)


def test_decoding_step_by_step_gives_the_same():
    """The state carries all that the next call needs."""
    x, w = ordinary((2, 3, 6), "float32", 1), ordinary((3, 1, 3), "float32", 2)
    whole, last = call("CausalConvWithState", 27, x, w)
    state, parts = None, []
    for t in range(6):
        y, state = call("CausalConvWithState", 27, x[:, :, t : t + 1], w, None, state)
        parts.append(y)
    assert np.concatenate(parts, axis=2).tolist() == whole.tolist()
    assert state.tolist() == last.tolist()


@pytest.mark.parametrize(
    ("shapes", "activation", "match"),
    [
        pytest.param([(2, 3, 4), (3, 1, 2)], "relu", "activation", id="activation"),
        pytest.param([(2, 3), (3, 1, 2)], "none", "must be", id="rank"),
        pytest.param([(2, 3, 4), (2, 1, 2)], "none", "must be", id="channels"),
        pytest.param([(2, 3, 4), (3, 3, 2)], "none", "must be", id="not-depthwise"),
        pytest.param([(2, 3, 4), (3, 1, 0)], "none", "must be", id="no-kernel"),
        pytest.param([(2, 3, 4), (3, 1, 2), (2,)], "none", "B has shape", id="bias"),
        pytest.param([(2, 3, 4), (3, 1, 2), (3,), (2, 3, 2)], "none", "past_state", id="state"),
    ],
)
def test_causal_convolution_refuses(shapes, activation, match):
    inputs = [np.ones(shape, np.float32) for shape in shapes]
    with pytest.raises(ValueError, match=match):
        call("CausalConvWithState", 27, *inputs, activation=activation)
