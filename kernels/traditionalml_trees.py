"""Tree ensembles of ai.onnx.ml: TreeEnsemble, TreeEnsembleClassifier, TreeEnsembleRegressor.

All three become one ``Forest`` first.
Features and thresholds are compared exactly; votes are added in float64, for a float64 result in
``numpy.longdouble``, and results rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .registry import kernel
from .rounding import Array, narrow, wide
from .traditionalml_common import DOMAIN, FLOAT32, TRANSFORMS, choice, labels, transformed

#: Comparisons by the number that TreeEnsemble-5 gives them; MEMBER is apart.
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
MEMBER = "BRANCH_MEMBER"
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")

_COMPARE = dict(
    zip(
        MODES,
        (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal),
        strict=True,
    )
)


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees whose nodes are numbered from 0; a child below 0 is the leaf ``-1 - child``."""

    roots: Sequence[int]
    modes: Sequence[str]
    features: Sequence[int]
    thresholds: Sequence[float]
    true_children: Sequence[int]
    false_children: Sequence[int]
    #: Whether NaN takes the true branch.
    missing_true: Sequence[int]
    #: The set of a node whose mode is MEMBER.
    members: dict[int, Array]
    #: (target, weight) pairs of each leaf.
    votes: Sequence[Sequence[tuple[int, float]]]


def _check_lengths(wanted: int, **attributes: Sequence[Any] | Array) -> None:
    for name, values in attributes.items():
        if len(values) != wanted:
            raise ValueError(f"{name} has {len(values)} entries; {wanted} were wanted")


def _check_targets(targets: Sequence[int], count: int, name: str) -> None:
    outside = [t for t in targets if not 0 <= t < count]
    if outside:
        raise ValueError(f"{name} has {outside[0]}; indices in [0, {count - 1}] were wanted")


def _features(x: Array) -> Array:
    """Return ``x`` in a type that holds its values; raises ``ValueError`` unless it is [N, F]."""
    if x.ndim != 2:
        raise ValueError(f"X has shape {x.shape}; [N, F] was wanted")
    return x.astype(np.longdouble) if x.dtype == np.int64 else wide(x)


def _decide(forest: Forest, node: int, x: Array) -> Array:
    """Return which of the examples take the true branch of a node.

    Source: TreeEnsemble-5, "follow the true branch (if attribute value is 1) or false branch".
    """
    feature = forest.features[node]
    if not 0 <= feature < x.shape[1]:
        raise ValueError(f"nodes_featureids has {feature}; X has {x.shape[1]} features")
    values = x[:, feature]
    if forest.modes[node] == MEMBER:
        result = np.isin(values, forest.members[node])
    else:
        result = _COMPARE[forest.modes[node]](values, forest.thresholds[node])
    return np.where(np.isnan(values), forest.missing_true[node] == 1, result)


def _leaves(forest: Forest, root: int, x: Array) -> Array:
    """Return the leaf in which each example ends; raises ``ValueError`` for nodes in a circle."""
    at = np.full(len(x), root)
    for _ in range(len(forest.modes) + 1):
        inner = np.unique(at[at >= 0])
        if inner.size == 0:
            return -1 - at
        for node in inner.tolist():
            here = at == node
            true = _decide(forest, node, x[here])
            children = forest.true_children[node], forest.false_children[node]
            at[here] = np.where(true, *children)
    raise ValueError("the nodes of a tree form a circle; a path from the root to a leaf was wanted")


def _aggregate(
    forest: Forest, x: Array, targets: int, function: str, dtype: type = np.float64
) -> Array:
    """Aggregate the votes for each target over all trees, [N, targets].

    AVERAGE divides the sum by the number of trees, also where some do not vote for the target.
    A target without a vote has 0, with MIN and MAX too; the texts are silent.
    """
    choice("aggregate_function", function, AGGREGATES)
    result: Array = np.zeros((len(x), targets), dtype)
    voted = np.zeros((len(x), targets), bool)
    combine = {"MIN": np.minimum, "MAX": np.maximum}.get(function, np.add)
    for root in forest.roots:
        leaves = _leaves(forest, root, x)
        for leaf in np.unique(leaves).tolist():
            here = leaves == leaf
            for target, weight in forest.votes[leaf]:
                before = np.where(voted[here, target], result[here, target], weight)
                both = combine(result[here, target], weight)
                result[here, target] = np.where(voted[here, target], both, before)
                voted[here, target] = True
    return result / max(len(forest.roots), 1) if function == "AVERAGE" else result


# TreeEnsemble.


def _member_sets(values: Array | None, modes: Sequence[str]) -> dict[int, Array]:
    """Split the membership values at NaN into one set for each node of mode MEMBER."""
    nodes = [node for node, mode in enumerate(modes) if mode == MEMBER]
    if values is None and not nodes:
        return {}
    flat = np.zeros(0) if values is None else wide(values).reshape(-1)
    sets = np.split(flat, np.flatnonzero(np.isnan(flat)))
    sets = [s[np.logical_not(np.isnan(s))] for s in sets]
    # NaN ends each set, or stands between two.
    if sets[-1].size == 0 and (values is None or len(sets) > len(nodes)):
        del sets[-1]
    if len(sets) != len(nodes):
        raise ValueError(
            f"membership_values has {len(sets)} sets; "
            f"{len(nodes)}, one for each BRANCH_MEMBER node, were wanted"
        )
    return dict(zip(nodes, sets, strict=True))


def _children(name: str, ids: Sequence[int], leafs: Sequence[int], leaf_count: int) -> list[int]:
    """Return children as ``Forest`` numbers them; raises ``ValueError`` for one out of range."""
    result = []
    for child, leaf in zip(ids, leafs, strict=True):
        count = leaf_count if leaf else len(ids)
        if not 0 <= child < count:
            raise ValueError(f"{name} has {child}; an index in [0, {count - 1}] was wanted")
        result.append(-1 - child if leaf else child)
    return result


def _mode_names(numbers: Array) -> list[str]:
    """Return the modes by name; raises ``ValueError`` for an unknown number."""
    names = [*MODES, MEMBER]
    places = range(len(names))
    return [names[choice("nodes_modes", n, places)] for n in numbers.reshape(-1).tolist()]


@kernel("TreeEnsemble", since_version=5, domain=DOMAIN)
def tree_ensemble(
    x: Array,
    /,
    *,
    aggregate_function: int,
    post_transform: int,
    tree_roots: Sequence[int],
    nodes_hitrates: Array | None,  # noqa: ARG001 - for performance only
    nodes_missing_value_tracks_true: Sequence[int] | None,
    nodes_modes: Array,
    leaf_weights: Array,
    leaf_targetids: Sequence[int],
    nodes_falsenodeids: Sequence[int],
    n_targets: int | None,
    nodes_trueleafs: Sequence[int],
    nodes_featureids: Sequence[int],
    nodes_splits: Array,
    nodes_falseleafs: Sequence[int],
    nodes_truenodeids: Sequence[int],
    membership_values: Array | None,
) -> Array:
    """Return the aggregated leaf weights of each target, of shape [N, n_targets], as ``x`` is.

    Args: x, [N, F]; the ``nodes_*`` describe interior nodes, the ``leaf_*`` leaves.
    Children are leaves where ``nodes_*leafs`` is 1; the text has "false" twice there.
    Without ``n_targets``, it is one more than the largest target.
    Errors: attributes of different lengths, indices out of range, unknown modes, circles.
    Source: TreeEnsemble-5, "Will have the same number of sets of values".
    """
    count, leaf_count = len(nodes_featureids), len(leaf_targetids)
    modes = _mode_names(nodes_modes)
    missing = nodes_missing_value_tracks_true or [0] * count
    splits, weights = wide(nodes_splits).reshape(-1), wide(leaf_weights).reshape(-1)
    _check_lengths(
        count,
        nodes_modes=modes,
        nodes_missing_value_tracks_true=missing,
        nodes_falsenodeids=nodes_falsenodeids,
        nodes_truenodeids=nodes_truenodeids,
        nodes_trueleafs=nodes_trueleafs,
        nodes_falseleafs=nodes_falseleafs,
        nodes_splits=splits,
    )
    _check_lengths(leaf_count, leaf_weights=weights)
    targets = max(leaf_targetids, default=-1) + 1 if n_targets is None else n_targets
    _check_targets(leaf_targetids, targets, "leaf_targetids")
    _check_targets(tree_roots, count, "tree_roots")
    forest = Forest(
        tree_roots,
        modes,
        nodes_featureids,
        splits.tolist(),
        _children("nodes_truenodeids", nodes_truenodeids, nodes_trueleafs, leaf_count),
        _children("nodes_falsenodeids", nodes_falsenodeids, nodes_falseleafs, leaf_count),
        missing,
        _member_sets(membership_values, modes),
        [[vote] for vote in zip(leaf_targetids, weights.tolist(), strict=True)],
    )
    function = AGGREGATES[choice("aggregate_function", aggregate_function, range(4))]
    name = TRANSFORMS[choice("post_transform", post_transform, range(5))]
    wider = np.longdouble if x.dtype == np.float64 else np.float64
    scores = _aggregate(forest, _features(x), targets, function, wider)
    return narrow(transformed(scores, name), x.dtype)


# TreeEnsembleClassifier and TreeEnsembleRegressor.


def _either(name: str, floats: Sequence[float] | None, tensor: Array | None) -> list[float]:
    """Return the numbers of an attribute or of its ``_as_tensor`` twin; neither is no numbers."""
    if floats is not None and tensor is not None:
        raise ValueError(f"{name} and {name}_as_tensor are both given; one was wanted")
    return list(floats or []) if tensor is None else wide(tensor).reshape(-1).tolist()


def _root(tree: int, nodes: Sequence[int], edges: dict[int, list[int]]) -> int:
    """Return the node of a tree that is no child of another, and leads to all of them."""
    children = {child for node in nodes for child in edges[node]}
    found = [node for node in nodes if node not in children]
    if len(found) != 1:
        raise ValueError(
            f"tree {tree} has {len(found)} nodes that are nobody's child; 1 was wanted"
        )
    seen: set[int] = set()
    todo = found[:]
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += edges[node]
    if len(seen) < len(nodes):
        raise ValueError(f"tree {tree} has nodes to which its root does not lead")
    return found[0]


@dataclass(frozen=True, slots=True)
class _Nodes:
    """The ``nodes_*`` attributes of version 1 and 3."""

    treeids: Sequence[int]
    nodeids: Sequence[int]
    featureids: Sequence[int]
    modes: Sequence[str]
    values: Sequence[float]
    truenodeids: Sequence[int]
    falsenodeids: Sequence[int]
    missing_value_tracks_true: Sequence[int]


def _forest(nodes: _Nodes, votes: dict[tuple[int, int], list[tuple[int, float]]]) -> Forest:
    """Make a forest of nodes that have a tree and an id each, leaves among them.

    Errors: lists of different lengths, an id that is there twice or not at all, votes at a node
    that is no leaf, a tree without a root or with several.
    Source: TreeEnsembleRegressor-1, "Each node id can appear only once for each tree id."
    """
    count = len(nodes.treeids)
    missing = nodes.missing_value_tracks_true or [0] * count
    _check_lengths(
        count,
        nodes_nodeids=nodes.nodeids,
        nodes_featureids=nodes.featureids,
        nodes_modes=nodes.modes,
        nodes_values=nodes.values,
        nodes_truenodeids=nodes.truenodeids,
        nodes_falsenodeids=nodes.falsenodeids,
        nodes_missing_value_tracks_true=missing,
    )
    keys = list(zip(nodes.treeids, nodes.nodeids, strict=True))
    place = {key: i for i, key in enumerate(keys)}
    if len(place) < count:
        raise ValueError("a node id is there twice in one tree; each may be there once")
    for mode in nodes.modes:
        choice("nodes_modes", mode, (*MODES, "LEAF"))
    ends = [key for key, mode in zip(keys, nodes.modes, strict=True) if mode == "LEAF"]
    leaves = {key: n for n, key in enumerate(ends)}
    astray = [key for key in votes if key not in leaves]
    if astray:
        tree, node = astray[0]
        raise ValueError(f"there is a vote at node {node} of tree {tree}, which is no leaf")
    children: list[list[int]] = []
    edges: dict[int, list[int]] = {i: [] for i in range(count)}
    for name, ids in (("true", nodes.truenodeids), ("false", nodes.falsenodeids)):
        column = []
        for (tree, node), child, mode in zip(keys, ids, nodes.modes, strict=True):
            if mode == "LEAF":
                column.append(0)
                continue
            if (tree, child) not in place:
                raise ValueError(f"nodes_{name}nodeids has {child}; tree {tree} has no such node")
            edges[place[tree, node]].append(place[tree, child])
            leaf = leaves.get((tree, child))
            column.append(place[tree, child] if leaf is None else -1 - leaf)
        children.append(column)
    roots = []
    for tree in dict.fromkeys(nodes.treeids):
        root = _root(tree, [i for i, key in enumerate(keys) if key[0] == tree], edges)
        leaf = leaves.get(keys[root])
        roots.append(root if leaf is None else -1 - leaf)
    thresholds, features = nodes.values, nodes.featureids
    ballots = [votes.get(key, []) for key in leaves]
    return Forest(
        roots, nodes.modes, features, thresholds, children[0], children[1], missing, {}, ballots
    )


def _votes(
    prefix: str,
    treeids: Sequence[int] | None,
    nodeids: Sequence[int] | None,
    ids: Sequence[int] | None,
    weights: Sequence[float],
) -> dict[tuple[int, int], list[tuple[int, float]]]:
    """Return the votes, (target, weight), of each leaf, (tree, node)."""
    lists = {"treeids": treeids or [], "nodeids": nodeids or [], "ids": ids or []}
    _check_lengths(len(weights), **{f"{prefix}_{name}": v for name, v in lists.items()})
    votes: dict[tuple[int, int], list[tuple[int, float]]] = {}
    for tree, node, target, weight in zip(*lists.values(), weights, strict=True):
        votes.setdefault((tree, node), []).append((target, weight))
    return votes


def _nodes(given: dict[str, Any]) -> _Nodes:
    """Read the ``nodes_*`` attributes."""
    names = [name for name in _Nodes.__dataclass_fields__ if name != "values"]
    lists = {name: given.get(f"nodes_{name}") or [] for name in names}
    values = _either("nodes_values", given["nodes_values"], given.get("nodes_values_as_tensor"))
    return _Nodes(**lists, values=values)


def _classify(x: Array, given: dict[str, Any]) -> tuple[Array, Array]:
    """Return labels [N] and scores [N, E]; see ``tree_ensemble_classifier_3``."""
    names = labels(
        classlabels_int64s=given["classlabels_int64s"],
        classlabels_strings=given["classlabels_strings"],
    )
    ids = given["class_ids"] or []
    _check_targets(ids, len(names), "class_ids")
    weights = _either("class_weights", given["class_weights"], given.get("class_weights_as_tensor"))
    base = _either("base_values", given["base_values"], given.get("base_values_as_tensor"))
    votes = _votes("class", given["class_treeids"], given["class_nodeids"], ids, weights)
    scores = _aggregate(_forest(_nodes(given), votes), _features(x), len(names), "SUM")
    single = len(names) == 2 and set(ids) == {0}
    name = given["post_transform"]
    if len(base) not in ((0, 1, 2) if single else (0, len(names))):
        raise ValueError(f"base_values has {len(base)} numbers; {len(names)} were wanted")
    if single:
        s = scores[:, :1] + (base[0] if base else 0.0)
        scores = np.concatenate((1 - s if name in ("NONE", "PROBIT") else -s, s), axis=1)
    elif base:
        scores = scores + np.array(base)
    return names[scores.argmax(axis=1)], narrow(transformed(scores, name), FLOAT32)


def _regress(x: Array, given: dict[str, Any]) -> Array:
    """Return the scores [N, targets]; see ``tree_ensemble_regressor_3``."""
    ids = given["target_ids"] or []
    targets = given["n_targets"]
    if targets is None:
        targets = max(ids, default=-1) + 1
    _check_targets(ids, targets, "target_ids")
    weights = _either(
        "target_weights", given["target_weights"], given.get("target_weights_as_tensor")
    )
    base = _either("base_values", given["base_values"], given.get("base_values_as_tensor"))
    if len(base) not in (0, targets):
        raise ValueError(f"base_values has {len(base)} numbers; {targets} were wanted")
    votes = _votes("target", given["target_treeids"], given["target_nodeids"], ids, weights)
    forest = _forest(_nodes(given), votes)
    scores = _aggregate(forest, _features(x), targets, given["aggregate_function"])
    scores = scores + np.array(base) if base else scores
    return narrow(transformed(scores, given["post_transform"]), FLOAT32)


@kernel("TreeEnsembleClassifier", since_version=1, domain=DOMAIN)
def tree_ensemble_classifier_1(
    x: Array,
    /,
    *,
    post_transform: str,
    classlabels_int64s: Sequence[int] | None,
    nodes_nodeids: Sequence[int] | None,
    classlabels_strings: Sequence[str] | None,
    class_ids: Sequence[int] | None,
    class_weights: Sequence[float] | None,
    nodes_treeids: Sequence[int] | None,
    nodes_featureids: Sequence[int] | None,
    nodes_values: Sequence[float] | None,
    nodes_falsenodeids: Sequence[int] | None,
    nodes_hitrates: Sequence[float] | None,
    base_values: Sequence[float] | None,
    nodes_missing_value_tracks_true: Sequence[int] | None,
    nodes_modes: Sequence[str] | None,
    nodes_truenodeids: Sequence[int] | None,
    class_treeids: Sequence[int] | None,
    class_nodeids: Sequence[int] | None,
) -> tuple[Array, Array]:
    """Return labels and scores, without the ``_as_tensor`` attributes of version 3.

    Source: TreeEnsembleClassifier-1.
    """
    given = locals()
    return _classify(x, given)


@kernel("TreeEnsembleClassifier", since_version=(3, 5), domain=DOMAIN)
def tree_ensemble_classifier_3(
    x: Array,
    /,
    *,
    base_values_as_tensor: Array | None,
    post_transform: str,
    classlabels_int64s: Sequence[int] | None,
    class_weights_as_tensor: Array | None,
    class_weights: Sequence[float] | None,
    classlabels_strings: Sequence[str] | None,
    class_ids: Sequence[int] | None,
    nodes_nodeids: Sequence[int] | None,
    nodes_treeids: Sequence[int] | None,
    nodes_featureids: Sequence[int] | None,
    nodes_values_as_tensor: Array | None,
    nodes_falsenodeids: Sequence[int] | None,
    nodes_hitrates: Sequence[float] | None,
    base_values: Sequence[float] | None,
    nodes_missing_value_tracks_true: Sequence[int] | None,
    nodes_values: Sequence[float] | None,
    nodes_hitrates_as_tensor: Array | None,
    nodes_modes: Sequence[str] | None,
    nodes_truenodeids: Sequence[int] | None,
    class_treeids: Sequence[int] | None,
    class_nodeids: Sequence[int] | None,
) -> tuple[Array, Array]:
    """Return the label of the highest score, and the scores after the post transform.

    Args: x, [N, F]; ``nodes_*``, the nodes of all trees; ``class_*``, the votes at their leaves.
    Returns: labels [N], float32 scores [N, E]; labels are taken before the post transform.
    A score is the sum of the votes for its class and its base value.
    With two labels and votes for class 0 only, the sum s is the score of class 1, and class 0 has
    1 - s, or -s before LOGISTIC, SOFTMAX and SOFTMAX_ZERO; a single base value then adds to s.
    The text is silent; the tests of onnx's reference evaluator have it so.
    Errors: lists that do not fit each other, ids that name nothing, trees without one root.
    Source: TreeEnsembleClassifier-3, "added to final class score".
    """
    given = locals()
    return _classify(x, given)


@kernel("TreeEnsembleRegressor", since_version=1, domain=DOMAIN)
def tree_ensemble_regressor_1(
    x: Array,
    /,
    *,
    aggregate_function: str,
    post_transform: str,
    n_targets: int | None,
    nodes_nodeids: Sequence[int] | None,
    target_nodeids: Sequence[int] | None,
    nodes_treeids: Sequence[int] | None,
    nodes_featureids: Sequence[int] | None,
    nodes_values: Sequence[float] | None,
    target_weights: Sequence[float] | None,
    nodes_falsenodeids: Sequence[int] | None,
    nodes_hitrates: Sequence[float] | None,
    base_values: Sequence[float] | None,
    nodes_missing_value_tracks_true: Sequence[int] | None,
    nodes_modes: Sequence[str] | None,
    nodes_truenodeids: Sequence[int] | None,
    target_treeids: Sequence[int] | None,
    target_ids: Sequence[int] | None,
) -> Array:
    """Return scores, without the ``_as_tensor`` attributes of version 3.

    Source: TreeEnsembleRegressor-1.
    """
    given = locals()
    return _regress(x, given)


@kernel("TreeEnsembleRegressor", since_version=(3, 5), domain=DOMAIN)
def tree_ensemble_regressor_3(
    x: Array,
    /,
    *,
    base_values_as_tensor: Array | None,
    aggregate_function: str,
    post_transform: str,
    n_targets: int | None,
    target_weights_as_tensor: Array | None,
    target_ids: Sequence[int] | None,
    nodes_nodeids: Sequence[int] | None,
    nodes_treeids: Sequence[int] | None,
    nodes_featureids: Sequence[int] | None,
    target_nodeids: Sequence[int] | None,
    nodes_values_as_tensor: Array | None,
    target_weights: Sequence[float] | None,
    nodes_falsenodeids: Sequence[int] | None,
    nodes_hitrates: Sequence[float] | None,
    base_values: Sequence[float] | None,
    nodes_missing_value_tracks_true: Sequence[int] | None,
    nodes_values: Sequence[float] | None,
    nodes_hitrates_as_tensor: Array | None,
    nodes_modes: Sequence[str] | None,
    nodes_truenodeids: Sequence[int] | None,
    target_treeids: Sequence[int] | None,
) -> Array:
    """Return the aggregated votes for each target, after the post transform.

    Args: x, [N, F]; ``nodes_*``, the nodes of all trees; ``target_*``, the votes at their leaves.
    Returns: float32 of shape [N, n_targets]; base values are added after aggregating.
    Without ``n_targets``, it is one more than the largest target.
    Errors: lists that do not fit each other, ids that name nothing, trees without one root.
    Source: TreeEnsembleRegressor-3, "added to final prediction after applying aggregate_function".
    """
    given = locals()
    return _regress(x, given)
