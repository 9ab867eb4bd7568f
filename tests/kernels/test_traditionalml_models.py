"""Linear models and support vector machines of ai.onnx.ml, held against mpmath and plain loops."""

import math

import mpmath
import numpy as np
import pytest

import kernel_calls
from opcheck.kernels import traditionalml_common as common

pytestmark = pytest.mark.usefixtures("no_warnings")

INF, NAN = math.inf, math.nan
TYPES = ("float32", "float64", "int32", "int64")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def call(operator, x, **attributes):
    return kernel_calls.call(operator, 1, x, domain="ai.onnx.ml", **attributes)


# Post transforms.


def transformed(row, name):
    """Transform one row with 40 digits."""
    with mpmath.workdps(40):
        row = [mpmath.mpf(v) for v in row]
        if name == "NONE":
            return row
        if name == "LOGISTIC":
            return [1 / (1 + mpmath.exp(-v)) for v in row]
        if name == "PROBIT":
            return [mpmath.sqrt(2) * mpmath.erfinv(2 * v - 1) for v in row]
        terms = [mpmath.exp(v) for v in row]
        if name == "SOFTMAX_ZERO":
            terms = [t if v else mpmath.mpf(0) for t, v in zip(terms, row, strict=True)]
        total = sum(terms) or 1
        return [t / total for t in terms]


@pytest.mark.parametrize("name", TRANSFORMS)
def test_post_transforms_are_exact_to_float64(name):
    """Against 40 digits; 1e-14 leaves float32 within its half unit."""
    rng = np.random.default_rng(1)
    scores = rng.random((20, 3)) if name == "PROBIT" else rng.standard_normal((20, 3)) * 5
    scores[0, 1] = scores[1] = 0 if name != "PROBIT" else 0.5
    got = common.transformed(scores, name)
    for row, results in zip(scores.tolist(), got.tolist(), strict=True):
        wanted = [float(v) for v in transformed(row, name)]
        np.testing.assert_allclose(
            results, wanted, rtol=1e-14 if name != "PROBIT" else 3e-16, atol=1e-16
        )


def test_the_quantile_is_exact_to_two_units_in_the_last_place():
    """In the middle, where the values cancel, and in both tails."""
    rng = np.random.default_rng(4)
    middle = 0.5 + rng.standard_normal(60) * 10.0 ** -rng.integers(1, 12, 60)
    low = np.exp(-rng.random(60) * 60)
    p = np.concatenate((rng.random(60), middle[(middle > 0) & (middle < 1)], low, 1 - low))
    p = p[p < 1]
    got = common.transformed(p[None], "PROBIT")[0]
    with mpmath.workdps(60):
        wanted = [mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(v) - 1) for v in p.tolist()]
        off = [abs(mpmath.mpf(g) - w) / np.spacing(abs(float(w)))
               for g, w in zip(got.tolist(), wanted, strict=True)]  # fmt: skip
    assert max(off) < 2


def test_post_transforms_at_the_limits():
    far = np.array([[1000.0, -1000.0, 0.0]])
    assert common.transformed(far, "LOGISTIC").tolist() == [[1, 0, 0.5]]
    assert common.transformed(far, "SOFTMAX").tolist() == [[1, 0, 0]]
    assert common.transformed(far, "SOFTMAX_ZERO").tolist() == [[1, 0, 0]]
    assert common.transformed(np.array([[0.0, -1000.0]]), "SOFTMAX_ZERO").tolist() == [[0, 1]]
    assert common.transformed(np.zeros((1, 2)), "SOFTMAX_ZERO").tolist() == [[0, 0]]
    p = np.array([[0.0, 1.0, 0.5, -0.1, 1.1, NAN]])
    np.testing.assert_array_equal(common.transformed(p, "PROBIT"), [[-INF, INF, 0, NAN, NAN, NAN]])
    for name in TRANSFORMS:
        assert common.transformed(np.zeros((0, 3)), name).shape == (0, 3)
        assert common.transformed(np.zeros((2, 0)), name).shape == (2, 0)
    with pytest.raises(ValueError, match="post_transform is 'softmax'"):
        common.transformed(p, "softmax")


# Linear models.


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", TRANSFORMS)
def test_linear_classifier(name, dtype):
    """Scores are sums of products; labels are those of the highest score before the transform."""
    rng = np.random.default_rng(2)
    x = (rng.random((8, 2)) * 4).astype(dtype)
    weights = rng.random((3, 2)).astype(np.float32) / 8
    bias = rng.random(3).astype(np.float32) / 8
    labels, scores = call(
        "LinearClassifier",
        x,
        coefficients=weights.ravel().tolist(),
        intercepts=bias.tolist(),
        classlabels_ints=[30, 10, 20],
        post_transform=name,
    )
    assert (labels.dtype, scores.dtype, scores.shape) == (np.int64, np.float32, (8, 3))
    for row, label, results in zip(x.tolist(), labels, scores.tolist(), strict=True):
        exact = [
            sum(v * float(w) for v, w in zip(row, ws, strict=True)) + float(b)
            for ws, b in zip(weights, bias, strict=True)
        ]
        assert label == [30, 10, 20][exact.index(max(exact))]
        wanted = [float(v) for v in transformed(exact, name)]
        np.testing.assert_allclose(results, wanted, rtol=1e-6)


def test_linear_classifier_with_one_row_for_two_labels():
    """The numbers of the tests of onnx's reference evaluator."""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    attributes = {"coefficients": [-0.58, -0.29, -0.09], "intercepts": [10.0]}
    wanted = {
        "NONE": [[-9.53, 9.53], [-6.65, 6.65]],
        "LOGISTIC": [[7.263436e-05, 0.9999274], [1.292350e-03, 0.9987077]],
        "SOFTMAX": [[5.276517e-09, 1], [1.674492e-06, 0.9999983]],
    }
    for name, scores in wanted.items():
        got = call(
            "LinearClassifier",
            x,
            classlabels_strings=["no", "yes"],
            post_transform=name,
            **attributes,
        )
        assert got[0].tolist() == ["yes", "yes"]
        np.testing.assert_allclose(got[1], scores, rtol=1e-5)
    got = call("LinearClassifier", -x * 100, classlabels_strings=["no", "yes"], **attributes)
    assert got[0].tolist() == ["yes", "yes"]
    got = call("LinearClassifier", x * 100, classlabels_strings=["no", "yes"], **attributes)
    assert got[0].tolist() == ["no", "no"]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("targets", [1, 2])
def test_linear_regressor(targets, dtype):
    rng = np.random.default_rng(3)
    x = (rng.standard_normal((6, 3)) * 9).astype(dtype)
    weights = rng.standard_normal((targets, 3)).astype(np.float32)
    bias = rng.standard_normal(targets).astype(np.float32)
    got = call(
        "LinearRegressor",
        x,
        targets=targets,
        coefficients=weights.ravel().tolist(),
        intercepts=bias.tolist(),
    )
    wanted = [
        [math.fsum([*(v * float(w) for v, w in zip(row, ws, strict=True)), float(b)])
         for ws, b in zip(weights, bias, strict=True)]
        for row in x.tolist()
    ]  # fmt: skip
    assert (got.dtype, got.shape) == (np.float32, (6, targets))
    np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_a_vector_is_one_example():
    x = np.array([1.0, 2.0], np.float32)
    assert call("LinearRegressor", x, coefficients=[1.0, 10.0]).tolist() == [[21]]
    labels, scores = call(
        "LinearClassifier", x, coefficients=[1.0, 0.0, 0.0, 1.0], classlabels_ints=[5, 6]
    )
    assert (labels.tolist(), scores.tolist()) == ([6], [[1, 2]])


@pytest.mark.parametrize(
    ("operator", "attributes", "match"),
    [
        ("LinearRegressor", {}, "coefficients are missing"),
        ("LinearRegressor", {"coefficients": [1.0]}, "1 times 2"),
        ("LinearRegressor", {"coefficients": [1.0] * 4, "targets": 0}, "targets is 0"),
        ("LinearRegressor", {"coefficients": [1.0] * 2, "intercepts": [1.0] * 2}, "intercepts"),
        ("LinearClassifier", {"coefficients": [1.0] * 2}, "exactly one"),
        ("LinearClassifier", {"coefficients": [1.0] * 2, "classlabels_ints": [1, 2, 3]}, "3 times"),
    ],
)
def test_attributes_that_do_not_fit_linear_models(operator, attributes, match):
    with pytest.raises(ValueError, match=match):
        call(operator, np.zeros((1, 2), np.float32), **attributes)


# Support vector machines.


def kernel(name, x, v, gamma, coef0, degree):
    dot = math.fsum(a * b for a, b in zip(x, v, strict=True))
    if name == "LINEAR":
        return dot
    if name == "RBF":
        return math.exp(-gamma * math.fsum((a - b) ** 2 for a, b in zip(x, v, strict=True)))
    inner = gamma * dot + coef0
    return inner**degree if name == "POLY" else math.tanh(inner)


def machine(counts, features, seed):
    """Return attributes of an SVMClassifier whose numbers are all float32."""
    rng = np.random.default_rng(seed)
    k, total = len(counts), sum(counts)

    def numbers(n):
        return rng.standard_normal(n).astype(np.float32).tolist()

    return {
        "classlabels_ints": [10 * i for i in range(k)],
        "vectors_per_class": list(counts),
        "support_vectors": numbers(total * features),
        "coefficients": numbers((k - 1) * total),
        "rho": numbers(k * (k - 1) // 2),
        "kernel_params": [0.5, 0.25, 3.0],
    }


def decisions(x, attributes, name):
    """Return the decision values of all pairs and the votes, by loops over libsvm's layout."""
    counts, gamma = attributes["vectors_per_class"], attributes["kernel_params"]
    total, k = sum(counts), len(counts)
    starts = [sum(counts[:i]) for i in range(k)]
    features = len(x)
    vectors = [
        attributes["support_vectors"][i * features : (i + 1) * features] for i in range(total)
    ]
    values = [kernel(name, x, v, *gamma) for v in vectors]
    scores, votes = [], [0] * k
    for i in range(k):
        for j in range(i + 1, k):
            s = attributes["rho"][len(scores)]
            for m in range(starts[i], starts[i] + counts[i]):
                s += attributes["coefficients"][(j - 1) * total + m] * values[m]
            for m in range(starts[j], starts[j] + counts[j]):
                s += attributes["coefficients"][i * total + m] * values[m]
            scores.append(s)
            votes[i if s > 0 else j] += 1
    return scores, votes


@pytest.mark.parametrize("name", ["LINEAR", "POLY", "RBF", "SIGMOID"])
@pytest.mark.parametrize("counts", [(2, 3), (1, 2, 3), (2, 1, 1, 2)])
@pytest.mark.parametrize("dtype", TYPES)
def test_svm_classifier(counts, name, dtype):
    attributes = machine(counts, 2, 7)
    x = (np.random.default_rng(8).standard_normal((5, 2)) * 2).astype(dtype)
    labels, scores = call("SVMClassifier", x, kernel_type=name, **attributes)
    pairs = len(counts) * (len(counts) - 1) // 2
    assert (labels.dtype, scores.dtype) == (np.int64, np.float32)
    assert scores.shape == (5, max(pairs, 2))
    for row, label, results in zip(x.tolist(), labels.tolist(), scores.tolist(), strict=True):
        wanted, votes = decisions(row, attributes, name)
        assert label == 10 * votes.index(max(votes))
        wanted = [-wanted[0], wanted[0]] if len(counts) == 2 else wanted
        np.testing.assert_allclose(results, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("counts", [(2, 3), (1, 2, 3), (2, 1, 1, 2)])
def test_probabilities_are_near_to_the_best_coupling(counts):
    """The optimum solves a linear system; libsvm stops where its condition is below 0.005 / k."""
    attributes, k = machine(counts, 2, 9), len(counts)
    pairs = k * (k - 1) // 2
    a = [-1.0 - i / 4 for i in range(pairs)]
    b = [0.25 * i for i in range(pairs)]
    x = np.random.default_rng(10).standard_normal((4, 2))
    labels, got = call("SVMClassifier", x, kernel_type="RBF", prob_a=a, prob_b=b, **attributes)
    assert got.shape == (4, k)
    np.testing.assert_allclose(got.sum(axis=1), 1, rtol=1e-6)
    for row, label, p in zip(x.tolist(), labels.tolist(), got, strict=True):
        scores, votes = decisions(row, attributes, "RBF")
        assert label == 10 * votes.index(max(votes))
        r = np.zeros((k, k))
        n = 0
        for i in range(k):
            for j in range(i + 1, k):
                r[i, j] = 1 / (1 + math.exp(a[n] * scores[n] + b[n]))
                r[j, i] = 1 - r[i, j]
                n += 1
        system = np.ones((k + 1, k + 1))
        system[k, k] = 0
        system[:k, :k] = -r.T * r
        for i in range(k):
            system[i, i] = sum(r[j, i] ** 2 for j in range(k) if j != i)
        best = np.linalg.solve(system, [0] * k + [1])[:k]
        np.testing.assert_allclose(p, best, atol=0.01)


def test_svm_numbers_of_the_tests_of_the_reference_evaluator():
    x = (np.arange(9).reshape((-1, 3)) - 5).astype(np.float32) / 5
    attributes = {
        "classlabels_ints": [0, 1],
        "coefficients": [0.766398549079895, 0.0871576070785522, 0.110420741140842,
                         -0.963976919651031],
        "support_vectors": [4.80000019073486, 3.40000009536743, 1.89999997615814, 5.0, 3.0,
                            1.60000002384186, 4.5, 2.29999995231628, 1.29999995231628,
                            5.09999990463257, 2.5, 3.0],
        "rho": [2.23510527610779],
        "vectors_per_class": [3, 1],
    }  # fmt: skip
    wanted = {
        "NONE": [[-2.662655, 2.662655], [-2.21481, 2.21481], [-1.766964, 1.766964]],
        "LOGISTIC": [[0.065213, 0.934787], [0.098428, 0.901572], [0.14592, 0.85408]],
        "SOFTMAX": [[0.004843, 0.995157], [0.011779, 0.988221], [0.028362, 0.971638]],
    }
    for name, scores in wanted.items():
        got = call("SVMClassifier", x, post_transform=name, **attributes)
        assert got[0].tolist() == [0, 0, 0]
        np.testing.assert_allclose(got[1], scores, atol=1e-6)


def test_svm_classifier_without_support_vectors_is_linear():
    """Only the first of rho counts, as in the tests of onnx's reference evaluator."""
    labels, scores = call(
        "SVMClassifier",
        np.array([[1, 0], [0, 1]], np.int32),
        classlabels_strings=["a", "b"],
        coefficients=[1.0, 2.0, 3.0, -4.0],
        rho=[0.5, 100.0],
        kernel_type="RBF",
        kernel_params=[1.0, 0.0, 0.0],
    )
    assert labels.tolist() == ["b", "a"]
    assert scores.tolist() == [[1.5, 3.5], [2.5, -3.5]]


@pytest.mark.parametrize("name", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_svm_regressor(name):
    rng = np.random.default_rng(11)
    vectors, weights = rng.standard_normal((4, 3)), rng.standard_normal(4)
    attributes = {
        "support_vectors": vectors.ravel().tolist(),
        "coefficients": weights.tolist(),
        "n_supports": 4,
        "rho": [0.75],
        "kernel_params": [0.5, 0.25, 2.0],
        "kernel_type": name,
    }
    x = rng.standard_normal((5, 3))
    got = call("SVMRegressor", x, **attributes)
    wanted = [
        [0.75 + sum(w * kernel(name, row, v, 0.5, 0.25, 2.0)
                    for w, v in zip(weights, vectors, strict=True))]
        for row in x.tolist()
    ]  # fmt: skip
    assert (got.dtype, got.shape) == (np.float32, (5, 1))
    np.testing.assert_allclose(got, wanted, rtol=1e-6)
    signs = call("SVMRegressor", x, one_class=1, **attributes)
    assert signs.tolist() == [[1.0 if w > 0 else -1.0] for (w,) in wanted]
    empty = call("SVMRegressor", x[:0], **attributes)
    assert (empty.shape, empty.dtype) == ((0, 1), np.float32)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"rho": []}, "rho has 0"),
        ({"coefficients": [1.0]}, "coefficients has 1"),
        ({"support_vectors": [1.0]}, "support_vectors has 1"),
        ({"vectors_per_class": [1, 1, 1]}, "vectors_per_class"),
        ({"vectors_per_class": [3, -1]}, "vectors_per_class"),
        ({"prob_a": [1.0]}, "prob_b is None"),
        ({"prob_a": [1.0], "prob_b": [1.0, 2.0]}, "prob_b is"),
        ({"kernel_type": "RBF", "kernel_params": None}, "kernel_params is None"),
        ({"kernel_type": "RBF", "kernel_params": [1.0]}, "gamma, coef0 and degree"),
        ({"kernel_type": "linear"}, "kernel_type is 'linear'"),
        ({"classlabels_strings": ["a", "b"]}, "exactly one"),
        ({"post_transform": "X"}, "post_transform"),
    ],
)
def test_attributes_that_do_not_fit_support_vector_machines(changes, match):
    attributes = machine((1, 1), 2, 1) | changes
    with pytest.raises(ValueError, match=match):
        call("SVMClassifier", np.zeros((1, 2), np.float32), **attributes)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"rho": None}, "rho has 0"),
        ({"coefficients": [1.0]}, "coefficients has 1"),
        ({"support_vectors": None}, "support_vectors has 0"),
        ({"kernel_type": "POLY"}, "kernel_params"),
    ],
)
def test_attributes_that_do_not_fit_the_svm_regressor(changes, match):
    attributes = {
        "support_vectors": [1.0] * 4, "coefficients": [1.0] * 2, "n_supports": 2, "rho": [0.0],
    } | changes  # fmt: skip
    with pytest.raises(ValueError, match=match):
        call("SVMRegressor", np.zeros((1, 2), np.float32), **attributes)
