"""LinearClassifier and LinearRegressor of ai.onnx.ml.

Scores are sums of products in float64, rounded to float32 once, after the post transform.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .registry import kernel
from .rounding import Array, narrow
from .traditionalml_common import DOMAIN, FLOAT32, labels, rows, table, transformed


def _affine(
    x: Array,
    targets: int,
    coefficients: Sequence[float] | None,
    intercepts: Sequence[float] | None,
) -> Array:
    """Return ``x`` times the coefficients, [targets, F], plus the intercepts, of shape [N, E]."""
    examples = rows(x)
    if coefficients is None:
        raise ValueError("coefficients are missing")
    matrix = table("coefficients", coefficients, (targets, examples.shape[1]))
    scores = examples @ matrix.T
    if intercepts is None:
        return np.asarray(scores)
    return np.asarray(scores + table("intercepts", intercepts, (1, targets)))


@kernel("LinearClassifier", since_version=1, domain=DOMAIN)
def linear_classifier(
    x: Array,
    /,
    *,
    post_transform: str,
    classlabels_ints: Sequence[int] | None,
    classlabels_strings: Sequence[str] | None,
    multi_class: int,  # noqa: ARG001 - has no influence on scores
    intercepts: Sequence[float] | None,
    coefficients: Sequence[float],
) -> tuple[Array, Array]:
    """Return the label of the highest score and all scores, by a linear function for each class.

    Args: x, [N, F], or [F] for one example; coefficients, [E, F]; intercepts, [E], 0 by default.
    Returns: labels [N] and float32 scores [N, E] after the post transform.
    Scores are compared before the post transform, and of equal ones the first counts.
    With two labels and one row of coefficients the score s is that of the second class, and the
    first has -s; the text is silent, the tests of onnx's reference evaluator have it so.
    Source: LinearClassifier-1, "one score for each class and example".
    """
    names = labels(classlabels_ints=classlabels_ints, classlabels_strings=classlabels_strings)
    classes = len(names)
    features = rows(x).shape[1]
    single = classes == 2 and len(coefficients) == features and features > 0
    scores = _affine(x, 1 if single else classes, coefficients, intercepts)
    if single:
        scores = np.concatenate((-scores, scores), axis=1)
    return names[scores.argmax(axis=1)], narrow(transformed(scores, post_transform), FLOAT32)


@kernel("LinearRegressor", since_version=1, domain=DOMAIN)
def linear_regressor(
    x: Array,
    /,
    *,
    targets: int,
    intercepts: Sequence[float] | None,
    coefficients: Sequence[float] | None,
    post_transform: str,
) -> Array:
    """Return a linear function of each example for each target, float32 of shape [N, targets].

    Args: x, [N, F], or [F] for one example; coefficients, [targets, F]; intercepts, [targets].
    The post transform goes over the targets of one example.
    Errors: another number of coefficients or intercepts.
    Source: LinearRegressor-1, "the coefficients for each target are contiguous".
    """
    if targets < 1:
        raise ValueError(f"targets is {targets}; at least 1 was wanted")
    scores = _affine(x, targets, coefficients, intercepts)
    return narrow(transformed(scores, post_transform), FLOAT32)
