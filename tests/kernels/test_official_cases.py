"""ONNX's own node cases, as far as the built-in kernels go."""

import warnings

import numpy as np
import onnx
import onnx.defs
import pytest
from onnx import numpy_helper

from opcheck import kernels

#: How many cases the kernels cover. Raise it when they cover more; never lower it.
AT_LEAST = 717

#: Operators without expected values.
RANDOM = frozenset(
    "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike".split()
)


@pytest.fixture(scope="session")
def official():
    """All cases; collecting them computes their outputs, which NumPy accompanies with warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.case.node import collect_testcases

        return collect_testcases(None)


@pytest.fixture(scope="session")
def covered(official):
    """The cases whose operators all have kernels, those in bodies and local functions too."""
    return [
        case
        for case in official
        if operators(case.model) <= kernels.registered()
        and RANDOM.isdisjoint(name for _, name, _ in operators(case.model))
    ]


def operators(model):
    """Return (domain, operator, since_version) of all nodes, those of local functions too."""
    local = {(f.domain, f.name) for f in model.functions}
    scopes = [(model.opset_import, model.graph.node)]
    scopes += [(f.opset_import, f.node) for f in model.functions]
    found = set()
    while scopes:
        imports, nodes = scopes.pop()
        versions = {i.domain: i.version for i in imports}
        for node in nodes:
            scopes += [(imports, a.g.node) for a in node.attribute if a.HasField("g")]
            if (node.domain, node.op_type) not in local:
                schema = onnx.defs.get_schema(node.op_type, versions[node.domain], node.domain)
                found.add((schema.domain, schema.name, schema.since_version))
    return found


def decoded(value):
    """Return a value of a case, which is NumPy's or a proto, as the evaluator has it."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, onnx.SequenceProto):
        return numpy_helper.to_list(value)
    if isinstance(value, onnx.OptionalProto):
        return numpy_helper.to_optional(value)
    return np.asarray(value) if isinstance(value, np.generic) else value


def difference(seen, wanted, case):
    """Say in what two values differ; nothing where they agree as the case wants it."""
    if isinstance(wanted, list):
        if not isinstance(seen, list) or len(seen) != len(wanted):
            return f"{seen!r} is no sequence of {len(wanted)} values"
        pairs = zip(seen, wanted, strict=True)
        return next(filter(None, (difference(*pair, case) for pair in pairs)), "")
    if wanted is None or seen is None:
        return "" if wanted is seen else f"{seen!r} is not {wanted!r}"
    if isinstance(seen, list):
        return "a sequence in place of a tensor"
    if (seen.dtype, seen.shape) != (wanted.dtype, wanted.shape):
        return f"{seen.dtype}{seen.shape} is not {wanted.dtype}{wanted.shape}"
    if wanted.dtype.kind in "OSUbiu" or wanted.dtype.name.lstrip("u").startswith("int"):
        return "" if (seen == wanted).all() else "other values"
    wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
    pair = (x.astype(wide) for x in (seen, wanted))
    near = np.allclose(*pair, rtol=case.rtol, atol=case.atol, equal_nan=True)
    return "" if near else "other values"


def outcome(case):
    """Run all data sets of a case; return what went wrong, or nothing."""
    try:
        evaluator = kernels.Evaluator(case.model)
        for inputs, outputs in case.data_sets:
            names = [i.name for i in case.model.graph.input]
            results = evaluator.run(dict(zip(names, map(decoded, inputs), strict=True)))
            if len(results) != len(outputs):
                return f"{len(results)} outputs, not {len(outputs)}"
            for seen, wanted in zip(results, map(decoded, outputs), strict=True):
                if found := difference(seen, wanted, case):
                    return found
    except Exception as error:  # each failure is listed with the name of its case
        return f"{type(error).__name__}: {error}"
    return ""


def test_every_official_case_of_the_operators_with_kernels_passes(covered):
    """dtype and shape are exact; values are near as the case says; failures are listed by name."""
    outcomes = {case.name: outcome(case) for case in covered}
    assert {name: found for name, found in outcomes.items() if found} == {}


def test_as_many_official_cases_as_ever_are_covered(covered):
    """An operator that loses its kernel would otherwise take its cases along."""
    assert len(covered) >= AT_LEAST


def test_every_case_that_the_evaluator_loads_is_covered(official, covered):
    """Who decides above what is covered decides as the evaluator does."""
    names = {case.name for case in covered}
    missing = []
    for case in official:
        if case.name not in names and RANDOM.isdisjoint(n for _, n, _ in operators(case.model)):
            try:
                kernels.Evaluator(case.model)
            except (kernels.Unsupported, kernels.InvalidModel):
                continue
            missing.append(case.name)
    assert missing == []


def test_the_comparison_sees_every_kind_of_difference():
    """A checker that accepts everything would accept every kernel."""

    class Case:
        rtol, atol = 1e-3, 1e-7

    one = np.array([1.0, np.nan], np.float32)
    assert difference(one, one * np.float32(1.0005), Case) == ""
    for other in (one * np.float32(1.01), one.astype(np.float64), one[:1], one[None], None, [one]):
        assert difference(other, one, Case)
        assert difference(one, other, Case)
    assert difference(np.array([1001]), np.array([1000]), Case)
    assert difference([one], [one, one], Case)
    assert difference([one, one * 2], [one, one], Case)
