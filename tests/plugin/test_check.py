"""``opcheck.testing.check`` and ``cases``: one-line calls from a runtime's own tests."""

from __future__ import annotations

import subprocess
import sys
import unittest

import numpy as np
import pytest

from opcheck.backends.builtin import Builtin
from opcheck.testing import BadCases, Unsupported, cases, check

SCAN = "cases/controlflow/scan.yaml::scan_pairwise_distance"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Sources are found from the folder that tests run in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPCHECK_CACHE", str(tmp_path / "cache"))


def right(model, inputs):
    return Builtin().prepare(model)(inputs)


def by_name(model, inputs):
    names = [output.name for output in model.graph.output]
    return dict(reversed(list(zip(names, right(model, inputs), strict=True))))


def plus_one(model, inputs):
    return [value + value.dtype.type(1) for value in right(model, inputs)]


def wrong_name(model, inputs):
    return {"nope": np.zeros(1)}


def no_list(model, inputs):
    return right(model, inputs)[0]


def raises(model, inputs):
    raise KeyError("no Add")


@pytest.mark.parametrize("run", [right, by_name, "builtin"])
@pytest.mark.parametrize("case", [SCAN, "small/add.yaml", "small/add.yaml::integers[int64]"])
def test_a_right_function_passes(small, case, run):
    """Outputs may come in order or by name; an id may mean several cases."""
    assert check(case, run) is None


@pytest.mark.parametrize(
    ("run", "said"),
    [
        pytest.param(plus_one, "c: int32[2], 2 of 2 elements differ (allowed: exact)", id="value"),
        pytest.param(wrong_name, "ValueError: seen outputs nope, wanted c", id="wrong-name"),
        pytest.param(no_list, "TypeError: seen a value of type ndarray, wanted", id="no-list"),
        pytest.param(raises, "errored while running it: KeyError: 'no Add'", id="raises"),
    ],
)
def test_a_wrong_function_fails_with_the_difference(small, run, said):
    """Every variant is named; what the function raised is the cause."""
    with pytest.raises(AssertionError) as caught:
        check("small/add.yaml::integers", run)
    assert said in str(caught.value)
    for variant in ("int32", "int64"):
        assert f"opcheck show 'small/add.yaml::integers[{variant}]'" in str(caught.value)
    assert isinstance(caught.value.__cause__, KeyError) == (run is raises)


def test_tolerances_replace_those_of_the_case(small):
    """A function may be allowed more."""

    def off(model, inputs):
        return [np.nextafter(v, np.float32(99), dtype=v.dtype) for v in right(model, inputs)]

    check("small/add.yaml::numbers", off)
    with pytest.raises(AssertionError):
        check("small/add.yaml::numbers", off, ulp=0)
    check("small/add.yaml::numbers", plus_one, rtol=0.5, atol=0)


def test_what_is_not_implemented_is_skipped(small):
    """Unsupported is never a pass."""

    def lacks(model, inputs):
        raise Unsupported("no Add here")

    with pytest.raises(unittest.SkipTest, match="unsupported: no Add here"):
        check("small/add.yaml::numbers", lacks)


def test_a_model_that_must_be_rejected_has_to_be(small):
    """Returning something is a failure, raising is a pass."""
    case = "cases/controlflow/scan_errors.yaml"
    (first, *_) = cases(case)
    check(first.id, raises)
    with pytest.raises(AssertionError, match="must be rejected"):
        check(first.id, lambda model, inputs: [])


@pytest.mark.parametrize(
    ("case", "error", "said"),
    [
        pytest.param("small/add.yaml::number", ValueError, "did you mean small", id="no-such-case"),
        pytest.param("nowhere.yaml", ValueError, "neither a case file nor", id="no-such-file"),
        pytest.param("small/bad.yaml", BadCases, "small/bad.yaml:1", id="bad"),
    ],
)
def test_a_case_that_cannot_be_had_is_an_error(small, case, error, said):
    """Running nothing is no success."""
    (small / "bad.yaml").write_text("cases: 3\n")
    with pytest.raises(error, match=said):
        check(case, right)


def test_parameters_have_the_ids_of_opcheck(small, opcheck):
    """``cases`` chooses as ``opcheck list`` does."""
    listed = opcheck("list", "small", "-k", "not int32", "--dtype", "int64").stdout.split()
    chosen = cases("small", keyword="not int32", dtypes=["int64"])
    assert [parameter.id for parameter in chosen] == listed == ["small/add.yaml::integers[int64]"]
    for parameter in chosen:
        check(*parameter.values, right)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        pytest.param({"keyword": "nothing"}, "no case matched", id="none"),
        pytest.param({"dtypes": ["real"]}, "'real' is no element type", id="type"),
        pytest.param({"keyword": "and"}, "seen 'and'", id="keyword"),
    ],
)
def test_choosing_nothing_is_an_error(small, chosen, said):
    """A parametrized test that never runs would look like a success."""
    with pytest.raises(ValueError, match=said):
        cases("small", **chosen)


def test_check_needs_no_pytest_and_isolates_backends(small, plugin, monkeypatch):
    """Without pytest it raises what unittest knows; a backend that dies takes nothing with it."""
    monkeypatch.setenv("PYTHONPATH", str(plugin))
    code = (
        "import sys; sys.modules['pytest'] = None\n"
        "import opcheck.testing\n"
        "if __name__ == '__main__':\n"
        "    opcheck.testing.check('small/add.yaml::numbers', 'mini:right')\n"
        "    opcheck.testing.check('small/add.yaml::numbers', 'mini:segfault')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "AssertionError: crashed: the process was killed by SIGSEGV" in done.stderr
    assert "opcheck run small/add.yaml::numbers --backend mini:segfault" in done.stderr
