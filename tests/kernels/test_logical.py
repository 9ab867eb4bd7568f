"""The comparisons and the logic, held against Python's operators, element by element."""

import operator as python
import random

import numpy as np
import pytest

import kernel_calls
from kernel_calls import array, function, types, versions
from opcheck.kernels import logical, registry  # noqa: F401 - registers the kernels

pytestmark = pytest.mark.usefixtures("no_warnings")

NAN, INF = float("nan"), float("inf")
ORACLES = {
    "And": lambda a, b: a and b,
    "Or": lambda a, b: a or b,
    "Xor": lambda a, b: a is not b,
    "Equal": python.eq,
    "Greater": python.gt,
    "Less": python.lt,
    "GreaterOrEqual": python.ge,
    "LessOrEqual": python.le,
}


def values(name):
    """Return values of a dtype, the ones that are easily confused among them."""
    if name == "bool":
        return [True, False]
    if name == "object":
        return ["", "a", "A", "ab", "é", "e\u0301", "a\0"]
    if "float" in name:
        return [0.0, -0.0, 1.0, -1.0, 1.5, INF, -INF, NAN]
    info = np.iinfo(name)
    return [0, 1, 2, info.min, info.max, info.max - 1]


def call(operator, version, a, b, **attributes):
    result = np.asarray(kernel_calls.call(operator, version, a, b, **attributes))
    assert result.dtype == np.bool_
    return result


def test_every_version_is_registered():
    wanted = {("", *key) for key in versions(*ORACLES, "Not")}
    assert wanted <= registry.registered()


@pytest.mark.parametrize(("operator", "version"), versions(*ORACLES))
def test_every_pair_of_values_in_every_type(operator, version):
    """64-bit integers must not be compared as floats, nor strings cut at a zero."""
    for name in types(operator, version):
        pairs = [(a, b) for a in values(name) for b in values(name)]
        a, b = (array(column, name) for column in zip(*pairs, strict=True))
        wanted = [ORACLES[operator](x, y) for x, y in pairs]
        assert call(operator, version, a, b).tolist() == wanted, name


@pytest.mark.parametrize(("operator", "version"), [v for v in versions(*ORACLES) if v[1] >= 7])
def test_broadcasting_goes_both_ways_from_version_7(operator, version):
    """Element (i, j, k) comes from (j, 0) of A and (i, 0, k) of B."""
    name = types(operator, version)[0]
    pick = random.Random(version)
    a = [[pick.choice(values(name))] for _ in range(3)]
    b = [[[pick.choice(values(name)) for _ in range(4)]] for _ in range(2)]
    got = call(operator, version, array(a, name), array(b, name))
    assert got.shape == (2, 3, 4)
    for i, j, k in np.ndindex(2, 3, 4):
        assert got[i, j, k] == ORACLES[operator](a[j][0], b[i][0][k])


@pytest.mark.parametrize("operator", ["And", "Or", "Xor", "Equal", "Greater", "Less"])
@pytest.mark.parametrize(("axis", "start"), [(None, 1), (0, 0), (1, 1)])
def test_limited_broadcasting_in_version_1(operator, axis, start):
    """B runs along axis 0 or 1 of a square A, so that a wrong axis gives no error."""
    name = types(operator, 1)[0]
    pick = random.Random(8)
    a = [[pick.choice(values(name)) for _ in range(5)] for _ in range(5)]
    b = [pick.choice(values(name)) for _ in range(5)]
    got = call(operator, 1, array(a, name), array(b, name), axis=axis, broadcast=1)
    wanted = [[ORACLES[operator](a[i][j], b[(i, j)[start]]) for j in range(5)] for i in range(5)]
    assert got.tolist() == wanted


@pytest.mark.parametrize("operator", ["And", "Or", "Xor", "Equal", "Greater", "Less"])
def test_version_1_does_not_broadcast_unasked(operator):
    name = types(operator, 1)[0]
    with pytest.raises(ValueError, match="without the attribute broadcast=1"):
        call(operator, 1, array([[1, 0]], name), array([1, 0], name))


def test_scalars_give_scalars():
    assert call("Equal", 19, array("a", "object"), array("a", "object")).shape == ()
    assert call("Less", 13, array(1.0, "bfloat16"), array(2.0, "bfloat16")).item() is True


def test_not_negates():
    got = function("Not", 1)(np.array([[True], [False]]))
    assert got.dtype == np.bool_
    assert got.tolist() == [[False], [True]]
