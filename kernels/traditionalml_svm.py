"""SVMClassifier and SVMRegressor of ai.onnx.ml, which hold the models of libsvm and liblinear.

The texts leave the layout of the attributes open.
Here it is libsvm's, as in onnxruntime and onnx's reference evaluator: the support vectors of each
class in a row, and for k classes k-1 rows of coefficients, one for each other class.
Everything is computed in float64 and rounded to float32 once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .registry import kernel
from .rounding import Array, narrow
from .traditionalml_common import DOMAIN, FLOAT32, choice, labels, rows, table, transformed

#: Examples [N, F], support vectors [V, F], gamma, coef0, degree.
Kernel = Callable[[Array, Array, float, float, float], Array]


def _distances(x: Array, vectors: Array) -> Array:
    """Return the squared distances, [N, V]."""
    rows = [np.square(vectors - example).sum(axis=1) for example in x]
    return np.array(rows, np.float64).reshape(len(x), len(vectors))


_KERNELS: dict[str, Kernel] = {
    "LINEAR": lambda x, v, _g, _c, _d: x @ v.T,
    "POLY": lambda x, v, gamma, coef0, degree: np.power(gamma * (x @ v.T) + coef0, degree),
    "RBF": lambda x, v, gamma, _c, _d: np.exp(-gamma * _distances(x, v)),
    "SIGMOID": lambda x, v, gamma, coef0, _d: np.tanh(gamma * (x @ v.T) + coef0),
}


def _kernel_values(
    x: Array, vectors: Array, kernel_type: str, kernel_params: Sequence[float] | None
) -> Array:
    """Return the kernel of each example, [N, F], and each support vector, [V, F].

    Source: SVMClassifier-1, "gamma, coef0, and degree, in that order".
    """
    function = _KERNELS[choice("kernel_type", kernel_type, tuple(_KERNELS))]
    if not kernel_params and kernel_type == "LINEAR":
        gamma = coef0 = degree = 0.0
    elif kernel_params is not None and len(kernel_params) == 3:
        gamma, coef0, degree = kernel_params
    else:
        raise ValueError(f"kernel_params is {kernel_params}; gamma, coef0 and degree were wanted")
    return np.asarray(function(x, vectors, gamma, coef0, degree))


def _pairwise_scores(
    values: Array, counts: Sequence[int], coefficients: Array, rho: Sequence[float]
) -> tuple[Array, Array]:
    """Return the decision value of each pair of classes i < j, and the votes of each class.

    Args: values, of the kernel, [N, V]; counts, of the support vectors of each class;
    coefficients, [k-1, V]: row j-1 of class i and row i of class j belong to the pair.
    A value above zero is a vote for i, any other one for j.
    """
    ends = np.cumsum(counts)
    parts = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    votes = np.zeros((len(values), len(counts)), np.int64)
    scores: list[Array] = []
    for i, j in _pairs(len(counts)):
        s = values[:, parts[i]] @ coefficients[j - 1, parts[i]]
        s = s + values[:, parts[j]] @ coefficients[i, parts[j]] + rho[len(scores)]
        votes[:, i] += s > 0
        votes[:, j] += ~(s > 0)
        scores.append(s)
    return np.stack(scores, axis=1), votes


def _pairs(classes: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(classes) for j in range(i + 1, classes)]


def _probabilities(
    scores: Array, classes: int, prob_a: Sequence[float], prob_b: Sequence[float]
) -> Array:
    """Return the probability of each class from the scores of the pairs, [N, k].

    That of i against j is 1 / (1 + exp(A * s + B)), kept away from 0 and 1 by 1e-7.
    Source of the method: Platt, and Wu, Lin, Weng, "Probability estimates for multi-class
    classification by pairwise coupling", as libsvm has them.
    """
    exponent = scores * np.array(prob_a, np.float64) + np.array(prob_b, np.float64)
    e = np.exp(-np.abs(exponent))
    single = np.clip(np.where(exponent >= 0, e, 1.0) / (1.0 + e), 1e-7, 1 - 1e-7)
    result = np.empty((len(scores), classes))
    for n, row in enumerate(single):
        r = np.zeros((classes, classes))
        for value, (i, j) in zip(row, _pairs(classes), strict=True):
            r[i, j], r[j, i] = value, 1 - value
        result[n] = _couple(r)
    return result


def _couple(r: Array) -> Array:
    """Couple probabilities r[i, j] of i against j, by libsvm's iteration.

    It stops when p is within 0.005 / k of the optimum, or after max(100, k) rounds.
    """
    k = len(r)
    q = -r.T * r
    np.fill_diagonal(q, np.square(r).sum(axis=0))
    p = np.full(k, 1.0 / k)
    for _ in range(max(100, k)):
        qp = q @ p
        pqp = p @ qp
        if np.abs(qp - pqp).max() < 0.005 / k:
            break
        for t in range(k):
            step = (pqp - qp[t]) / q[t, t]
            p[t] += step
            pqp = (pqp + step * (step * q[t, t] + 2 * qp[t])) / (1 + step) ** 2
            qp = (qp + step * q[t]) / (1 + step)
            p /= 1 + step
    return p


@kernel("SVMClassifier", since_version=1, domain=DOMAIN)
def svm_classifier(
    x: Array,
    /,
    *,
    classlabels_ints: Sequence[int] | None,
    rho: Sequence[float] | None,
    prob_b: Sequence[float] | None,
    coefficients: Sequence[float] | None,
    classlabels_strings: Sequence[str] | None,
    prob_a: Sequence[float] | None,
    support_vectors: Sequence[float] | None,
    vectors_per_class: Sequence[int] | None,
    post_transform: str,
    kernel_params: Sequence[float] | None,
    kernel_type: str,
) -> tuple[Array, Array]:
    """Return the label and the scores of each example.

    Args: x, [N, F], or [F] for one example.
    With ``vectors_per_class`` each pair of classes votes, the class with most votes, of several
    the first, is the label; the scores are those of the pairs, [N, k(k-1)/2], for two classes
    -s and s, or with ``prob_a`` and ``prob_b`` the probabilities, [N, k].
    Without it the model is linear whatever ``kernel_type`` says, with coefficients [k, F] and the
    first of ``rho`` for every class; the highest score gives the label.
    Errors: attributes whose sizes contradict one another.
    Source: SVMClassifier-1, "if prob_a and prob_b are provided they are probabilities".
    """
    names = labels(classlabels_ints=classlabels_ints, classlabels_strings=classlabels_strings)
    k, examples = len(names), rows(x)
    numbers, offsets = coefficients or [], rho or []
    choice("kernel_type", kernel_type, tuple(_KERNELS))
    if not vectors_per_class or sum(vectors_per_class) == 0:
        _check_count("rho", offsets, 1)
        matrix = table("coefficients", numbers, (k, examples.shape[1]))
        scores = examples @ matrix.T + offsets[0]
        return names[scores.argmax(axis=1)], narrow(transformed(scores, post_transform), FLOAT32)
    if len(vectors_per_class) != k or min(vectors_per_class) < 0 or k < 2:
        raise ValueError(
            f"vectors_per_class is {list(vectors_per_class)}; a count for each of the {k} labels, "
            "of which there are at least 2, was wanted"
        )
    count, pairs = sum(vectors_per_class), k * (k - 1) // 2
    _check_count("rho", offsets, pairs)
    vectors = table("support_vectors", support_vectors or [], (count, examples.shape[1]))
    matrix = table("coefficients", numbers, (k - 1, count))
    values = _kernel_values(examples, vectors, kernel_type, kernel_params)
    scores, votes = _pairwise_scores(values, vectors_per_class, matrix, offsets)
    if prob_a or prob_b:
        for name, given in (("prob_a", prob_a), ("prob_b", prob_b)):
            if len(given or []) != pairs:
                raise ValueError(f"{name} is {given}; {pairs} numbers were wanted")
        scores = _probabilities(scores, k, prob_a or [], prob_b or [])
    elif k == 2:
        scores = np.concatenate((-scores, scores), axis=1)
    return names[votes.argmax(axis=1)], narrow(transformed(scores, post_transform), FLOAT32)


def _check_count(name: str, values: Sequence[float], least: int) -> None:
    if len(values) < least:
        raise ValueError(f"{name} has {len(values)} numbers; {least} were wanted")


@kernel("SVMRegressor", since_version=1, domain=DOMAIN)
def svm_regressor(
    x: Array,
    /,
    *,
    rho: Sequence[float] | None,
    coefficients: Sequence[float] | None,
    n_supports: int,
    one_class: int,
    support_vectors: Sequence[float] | None,
    post_transform: str,
    kernel_params: Sequence[float] | None,
    kernel_type: str,
) -> Array:
    """Return the score of each example, float32 of shape [N, 1].

    Args: x, [N, F], or [F] for one example; support_vectors, [n_supports, F]; coefficients,
    [n_supports].
    Without support vectors the model is linear whatever ``kernel_type`` says, with coefficients
    [F].
    With ``one_class`` the score is 1 where it is above zero, and else -1.
    The post transform comes last.
    Source: SVMRegressor-1, "one-class SVM anomaly detection".
    """
    examples = rows(x)
    numbers, offsets = coefficients or [], rho or []
    _check_count("rho", offsets, 1)
    choice("kernel_type", kernel_type, tuple(_KERNELS))
    if n_supports > 0:
        vectors = table("support_vectors", support_vectors or [], (n_supports, examples.shape[1]))
        values = _kernel_values(examples, vectors, kernel_type, kernel_params)
        weights = table("coefficients", numbers, (1, n_supports))
    else:
        values = examples
        weights = table("coefficients", numbers, (1, examples.shape[1]))
    scores = (values * weights).sum(axis=1, keepdims=True) + offsets[0]
    if one_class:
        scores = np.where(scores > 0, 1.0, -1.0)
    return narrow(transformed(scores, post_transform), FLOAT32)
