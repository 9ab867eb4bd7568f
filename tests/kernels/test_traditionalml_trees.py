"""Tree ensembles of ai.onnx.ml, held against a walk from node to node."""

import math

import numpy as np
import pytest

import kernel_calls

INF, NAN = math.inf, math.nan
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
HOLDS = {
    "BRANCH_LEQ": lambda a, b: a <= b,
    "BRANCH_LT": lambda a, b: a < b,
    "BRANCH_GTE": lambda a, b: a >= b,
    "BRANCH_GT": lambda a, b: a > b,
    "BRANCH_EQ": lambda a, b: a == b,
    "BRANCH_NEQ": lambda a, b: a != b,
}
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


def call(operator, x, version, **attributes):
    return kernel_calls.call(operator, version, x, domain="ai.onnx.ml", **attributes)


def grow(rng, depth, leaves):
    """Return a random tree: (mode, feature, threshold, track, true, false) or a leaf's number."""
    if depth == 0 or rng.random() < 0.2:
        leaves.append([(int(rng.integers(3)), float(np.float32(rng.standard_normal())))
                       for _ in range(rng.integers(1, 3))])  # fmt: skip
        return len(leaves) - 1
    mode = str(rng.choice(MODES))
    threshold = float(rng.integers(-2, 3))
    return (
        mode, int(rng.integers(2)), threshold, int(rng.integers(2)),
        grow(rng, depth - 1, leaves), grow(rng, depth - 1, leaves),
    )  # fmt: skip


def walk(tree, row):
    """Return the leaf in which a row ends."""
    while not isinstance(tree, int):
        mode, feature, threshold, track, true, false = tree
        value = row[feature]
        taken = track == 1 if math.isnan(value) else HOLDS[mode](value, threshold)
        tree = true if taken else false
    return tree


def forest(seed, trees=3):
    rng = np.random.default_rng(seed)
    leaves = []
    return [grow(rng, 3, leaves) for _ in range(trees)], leaves


def aggregated(trees, leaves, row, function):
    """Return the aggregate of the votes of each of three targets; 0 where there is none."""
    votes = [[], [], []]
    for tree in trees:
        for target, weight in leaves[walk(tree, row)]:
            votes[target].append(weight)
    functions = {
        "SUM": sum, "AVERAGE": lambda v: sum(v) / len(trees), "MIN": min, "MAX": max,
    }  # fmt: skip
    return [functions[function](v) if v else 0 for v in votes]


def rows(seed, dtype="float32"):
    x = np.random.default_rng(seed).integers(-3, 4, (40, 2)).astype(dtype)
    if x.dtype.kind == "f":
        x[0, 0], x[1, 1], x[2] = NAN, NAN, NAN
        x[3], x[4] = INF, -INF
    return x


def as_attributes(trees, leaves, prefix):
    """Return the attributes of versions 1 and 3; ids are those of a walk in preorder."""
    nodes = {name: [] for name in (
        "treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids",
        "missing_value_tracks_true")}  # fmt: skip
    votes = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}

    def add(tree_id, tree, count):
        number = count[0]
        count[0] += 1
        place = len(nodes["modes"])
        leaf = isinstance(tree, int)
        mode, feature, threshold, track = ("LEAF", 0, 0.0, 0) if leaf else tree[:4]
        for name, value in (("treeids", tree_id), ("nodeids", number), ("featureids", feature),
                            ("modes", mode), ("values", threshold), ("truenodeids", 0),
                            ("falsenodeids", 0), ("missing_value_tracks_true", track)):  # fmt: skip
            nodes[name].append(value)
        if leaf:
            for target, weight in leaves[tree]:
                for name, value in (("treeids", tree_id), ("nodeids", number), ("ids", target),
                                    ("weights", weight)):  # fmt: skip
                    votes[name].append(value)
        else:
            nodes["truenodeids"][place] = add(tree_id, tree[4], count)
            nodes["falsenodeids"][place] = add(tree_id, tree[5], count)
        return number

    for i, tree in enumerate(trees):
        add(i, tree, [0])
    return {f"nodes_{k}": v for k, v in nodes.items()} | {
        f"{prefix}_{k}": v for k, v in votes.items()
    }


@pytest.mark.parametrize("version", [1, 3, 5])
@pytest.mark.parametrize("function", AGGREGATES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_regressor(dtype, function, version):
    """All modes, tracks of NaN, several votes at a leaf, base values."""
    for seed in range(5):
        trees, leaves = forest(seed)
        x, base = rows(seed, dtype), [0.5, -1.0, 0.25]
        attributes = as_attributes(trees, leaves, "target")
        got = call(
            "TreeEnsembleRegressor", x, version, aggregate_function=function, n_targets=3,
            base_values=base, **attributes,
        )  # fmt: skip
        assert (got.dtype, got.shape) == (np.float32, (40, 3))
        wanted = [
            [v + b for v, b in zip(aggregated(trees, leaves, row, function), base, strict=True)]
            for row in x.tolist()
        ]
        np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("version", [1, 3, 5])
@pytest.mark.parametrize("strings", [False, True])
def test_classifier(strings, version):
    """The label is that of the first of the highest scores."""
    names = ["x", "y", "z"] if strings else [7, 5, 6]
    kind = {"classlabels_strings": names} if strings else {"classlabels_int64s": names}
    for seed in range(5):
        trees, leaves = forest(seed)
        x = rows(seed)
        attributes = as_attributes(trees, leaves, "class")
        labels, scores = call("TreeEnsembleClassifier", x, version, **kind, **attributes)
        assert (labels.dtype, labels.shape) == (object if strings else np.int64, (40,))
        assert (scores.dtype, scores.shape) == (np.float32, (40, 3))
        for row, label, results in zip(x.tolist(), labels, scores, strict=True):
            wanted = aggregated(trees, leaves, row, "SUM")
            np.testing.assert_allclose(results, wanted, rtol=1e-6, atol=1e-7)
            assert label == names[wanted.index(max(wanted))]


def as_ensemble(trees, leaves, dtype):
    """Return the attributes of TreeEnsemble-5; a tree that is a leaf gets a node for it."""
    nodes = {name: [] for name in (
        "featureids", "modes", "splits", "truenodeids", "trueleafs", "falsenodeids", "falseleafs",
        "missing_value_tracks_true")}  # fmt: skip

    def add(tree):
        place = len(nodes["modes"])
        if isinstance(tree, int):
            tree = ("BRANCH_LEQ", 0, 0.0, 0, tree, tree)
        mode, feature, threshold, track, *children = tree
        for name, value in (("featureids", feature), ("modes", MODES.index(mode)),
                            ("splits", threshold), ("truenodeids", 0), ("trueleafs", 0),
                            ("falsenodeids", 0), ("falseleafs", 0),
                            ("missing_value_tracks_true", track)):  # fmt: skip
            nodes[name].append(value)
        for which, child in zip(("true", "false"), children, strict=True):
            leaf = isinstance(child, int)
            nodes[f"{which}leafs"][place] = int(leaf)
            nodes[f"{which}nodeids"][place] = child if leaf else add(child)
        return place

    roots = [add(tree) for tree in trees]
    attributes = {f"nodes_{k}": v for k, v in nodes.items()}
    return attributes | {
        "tree_roots": roots,
        "nodes_modes": np.array(nodes["modes"], np.uint8),
        "nodes_splits": np.array(nodes["splits"], dtype),
        "leaf_targetids": [leaf[0][0] for leaf in leaves],
        "leaf_weights": np.array([leaf[0][1] for leaf in leaves], dtype),
    }


@pytest.mark.parametrize("function", range(4))
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_tree_ensemble(dtype, function):
    """The result has the type of the input, and is rounded to it once."""
    for seed in range(5):
        trees, leaves = forest(seed)
        leaves = [leaf[:1] for leaf in leaves]
        attributes = as_ensemble(trees, leaves, dtype)
        weights = attributes["leaf_weights"].astype(np.float64).tolist()
        leaves = [[(leaf[0][0], w)] for leaf, w in zip(leaves, weights, strict=True)]
        x = rows(seed, dtype)
        got = call("TreeEnsemble", x, 5, aggregate_function=function, n_targets=3, **attributes)
        wanted = [aggregated(trees, leaves, row, AGGREGATES[function]) for row in x.tolist()]
        assert (got.dtype, got.shape) == (np.dtype(dtype), (40, 3))
        np.testing.assert_allclose(got, np.array(wanted).astype(dtype), rtol=1e-6, atol=1e-7)


MEMBER = {
    "tree_roots": [0, 1],
    "nodes_modes": np.array([6, 6], np.uint8),
    "nodes_featureids": [0, 0],
    "nodes_splits": np.array([5, 5], np.float32),
    "nodes_truenodeids": [0, 1],
    "nodes_trueleafs": [1, 1],
    "nodes_falsenodeids": [2, 2],
    "nodes_falseleafs": [1, 1],
    "leaf_targetids": [0, 0, 0],
    "leaf_weights": np.array([1, 10, 0], np.float32),
    "n_targets": 1,
}


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ([1, 2, NAN, 2, 0, NAN], [0 + 10, 1, 11, 0]),
        ([1, 2, NAN, 2, 0], [10, 1, 11, 0]),
        ([NAN, 3, NAN], [0, 0, 0, 10]),
        ([3, NAN, NAN], [0, 0, 0, 1]),
        ([NAN, NAN], [0, 0, 0, 0]),
    ],
)
def test_sets_of_members_are_delimited_by_nan(values, wanted):
    """Zero is a member like any other; NaN ends a set, or stands between two."""
    x = np.array([[0], [1], [2], [3]], np.float32)
    got = call("TreeEnsemble", x, 5, membership_values=np.array(values, np.float32), **MEMBER)
    assert got.ravel().tolist() == wanted


@pytest.mark.parametrize("values", [None, [1.0], [1, NAN, 2, NAN, 3, NAN], [NAN, NAN, NAN]])
def test_there_is_a_set_for_each_member_node(values):
    sets = None if values is None else np.array(values, np.float32)
    with pytest.raises(ValueError, match="sets"):
        call("TreeEnsemble", np.zeros((1, 1), np.float32), 5, membership_values=sets, **MEMBER)


STUMP = {
    "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_values": [2.0, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
}  # fmt: skip


@pytest.mark.parametrize(
    ("transform", "wanted"),
    [
        ("NONE", [[0.75, 0.25], [0.25, 0.75]]),
        ("LOGISTIC", [[0.43782350, 0.56217650], [0.32082130, 0.67917870]]),
        ("SOFTMAX", [[0.37754067, 0.62245933], [0.18242552, 0.81757448]]),
        ("PROBIT", [[0.67448975, -0.67448975], [-0.67448975, 0.67448975]]),
    ],
)
def test_two_labels_and_votes_for_the_first_class_only(transform, wanted):
    """The sum is the second label's; 1 - s, or -s before the exponentials, is the first's."""
    votes = {
        "class_treeids": [0, 0], "class_nodeids": [1, 2], "class_ids": [0, 0],
        "class_weights": [0.25, 0.75], "classlabels_int64s": [3, 4],
    }  # fmt: skip
    x = np.array([[1], [3]], np.float32)
    labels, scores = call(
        "TreeEnsembleClassifier", x, 3, post_transform=transform, **STUMP, **votes
    )
    np.testing.assert_allclose(scores, wanted, rtol=1e-6)
    assert labels.tolist() == ([3, 4] if transform in ("NONE", "PROBIT") else [4, 4])
    _, scores = call("TreeEnsembleClassifier", x, 3, base_values=[1.0], **STUMP, **votes)
    assert scores.tolist() == [[-0.25, 1.25], [-0.75, 1.75]]


def test_large_integers_are_compared_exactly():
    if np.finfo(np.longdouble).nmant < 63:
        pytest.skip("numpy.longdouble is no wider than float64 here")
    x = np.array([[2**60], [2**60 + 1], [2**60 - 1]])
    attributes = STUMP | {"nodes_values": [2.0**60, 0.0, 0.0]}
    votes = {
        "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0],
        "target_weights": [1.0, 2.0],
    }  # fmt: skip
    got = call("TreeEnsembleRegressor", x, 1, **attributes, **votes)
    assert got.tolist() == [[1], [2], [1]]


VOTES = {
    "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0],
    "target_weights": [1.0, 2.0], "n_targets": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"nodes_values": [1.0]}, "nodes_values has 1"),
        ({"nodes_nodeids": [0, 1, 1]}, "twice"),
        ({"nodes_truenodeids": [5, 0, 0]}, "no such node"),
        ({"nodes_truenodeids": [0, 0, 0]}, "does not lead"),
        ({"nodes_truenodeids": [2, 0, 0]}, "nobody's child"),
        ({"nodes_modes": ["BRANCH_LEQ", "LEAF", "leaf"]}, "nodes_modes is 'leaf'"),
        ({"nodes_featureids": [2, 0, 0]}, "nodes_featureids has 2"),
        ({"nodes_featureids": [-1, 0, 0]}, "nodes_featureids has -1"),
        ({"target_nodeids": [1, 0]}, "which is no leaf"),
        ({"target_treeids": [0, 9]}, "which is no leaf"),
        ({"target_ids": [0]}, "target_ids has 1"),
        ({"target_ids": [0, 1]}, "target_ids has 1"),
        ({"base_values": [1.0, 2.0]}, "base_values has 2"),
        ({"aggregate_function": "MEAN"}, "aggregate_function"),
        ({"post_transform": "MEAN"}, "post_transform"),
        ({"nodes_values_as_tensor": np.zeros(3)}, "both given"),
    ],
)
def test_what_the_regressor_refuses(changes, match):
    with pytest.raises(ValueError, match=match):
        call("TreeEnsembleRegressor", np.zeros((1, 2)), 3, **(STUMP | VOTES | changes))


def test_rows_and_circles():
    for shape in ((2,), (1, 1, 2), ()):
        with pytest.raises(ValueError, match=r"\[N, F\] was wanted"):
            call("TreeEnsembleRegressor", np.zeros(shape), 3, **STUMP, **VOTES)
    got = call("TreeEnsembleRegressor", np.zeros((0, 2)), 3, **STUMP, **VOTES)
    assert (got.shape, got.dtype) == ((0, 1), np.float32)
    circle = MEMBER | {
        "nodes_modes": np.zeros(2, np.uint8), "nodes_trueleafs": [0, 0],
        "nodes_truenodeids": [1, 0],
    }  # fmt: skip
    with pytest.raises(ValueError, match="circle"):
        call("TreeEnsemble", np.zeros((1, 1), np.float32), 5, **circle)
