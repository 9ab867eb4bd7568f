"""NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.

Losses are computed and summed in a wider type, and rounded once.
The mean is divided by the sum of the weights that were applied, which is the number of elements
that are not ignored where no weights are given; the text of the average without weights does not
say so, but the function bodies and the official cases do.
The mean over nothing is 0 / 0: NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .math_softmax import log_softmax
from .registry import kernel
from .rounding import Array
from .wider import rounded, widest


def _check(x: Array, target: Array, weight: Array | None, ignored: Array) -> None:
    """Raise ``ValueError`` for shapes that do not fit and for classes that there are not."""
    if x.ndim < 2 or target.shape != (x.shape[0], *x.shape[2:]):
        raise ValueError(
            f"the scores have shape {x.shape}, the classes have shape {target.shape}: "
            "(N, C, d1, ...) and (N, d1, ...) were wanted"
        )
    classes = x.shape[1]
    if weight is not None and weight.shape != (classes,):
        raise ValueError(f"the weights have shape {weight.shape}: ({classes},) was wanted")
    wrong = ((target < 0) | (target >= classes)) & ~ignored
    if wrong.any():
        raise ValueError(
            f"a class is {target[wrong][0]}: 0 to {classes - 1}, or ignore_index, was wanted"
        )


def _loss(
    log_prob: Array, target: Array, weight: Array | None, ignore_index: int | None, reduction: str
) -> Array:
    """Return the loss in the type of ``log_prob``, which is wide."""
    ignored = np.zeros(target.shape, bool) if ignore_index is None else target == ignore_index
    _check(log_prob, target, weight, ignored)
    chosen = np.where(ignored, 0, target).astype(np.int64)
    if log_prob.shape[1] == 0:
        loss = np.zeros(target.shape, log_prob.dtype)
    else:
        loss = -np.take_along_axis(log_prob, chosen[:, None], axis=1)[:, 0]
    applied = np.ones(target.shape, log_prob.dtype)
    if weight is not None and weight.size:
        applied = weight.astype(log_prob.dtype)[chosen]
        loss = loss * applied
    loss = np.where(ignored, 0, loss)
    if reduction == "none":
        return loss
    if reduction == "sum":
        return np.asarray(loss.sum())
    if reduction == "mean":
        with np.errstate(all="ignore"):
            return np.asarray(loss.sum() / np.where(ignored, 0, applied).sum())
    raise ValueError(f"reduction is {reduction!r}: 'none', 'sum' or 'mean' was wanted")


@kernel("NegativeLogLikelihoodLoss", since_version=(12, 13, 22))
def negative_log_likelihood_loss(
    x: Array,
    target: Array,
    weight: Array | None = None,
    /,
    *,
    ignore_index: int | None,
    reduction: str,
) -> Array:
    """Return the negative of what ``x`` holds for the class of each sample, weighted and reduced.

    Args: x, (N, C, d1, ...); target, classes, (N, d1, ...); weight, (C,).
    Returns: (N, d1, ...) without reduction, a scalar otherwise.
    Raises: ``ValueError`` for shapes that do not fit, and for classes outside [0, C) that are not
    ``ignore_index``.
    Source: NegativeLogLikelihoodLoss-13, "loss is zero for the case when target-value equals
    ignore_index".
    """
    return rounded(_loss(widest(x), target, weight, ignore_index, reduction), x.dtype)


@kernel("SoftmaxCrossEntropyLoss", since_version=(12, 13))
def softmax_cross_entropy_loss(
    scores: Array,
    labels: Array,
    weights: Array | None = None,
    /,
    *,
    ignore_index: int | None,
    reduction: str,
    n_outputs: int,
) -> Any:
    """Return the loss of the softmax of the scores over the classes, axis 1, and its logarithm.

    Args, returns and errors are those of NegativeLogLikelihoodLoss; the second output has the
    shape of the scores.
    The loss comes from logarithms that were not rounded.
    Source: SoftmaxCrossEntropyLoss-13, "p = Softmax(scores), y = Log(p)".
    """
    if scores.ndim < 2:
        raise ValueError(f"the scores have shape {scores.shape}: (N, C, d1, ...) was wanted")
    log_prob = log_softmax(widest(scores), 1)
    loss = rounded(_loss(log_prob, labels, weights, ignore_index, reduction), scores.dtype)
    return (loss, rounded(log_prob, scores.dtype)) if n_outputs > 1 else loss
