"""The registry of kernels: what it refuses, and that it holds all that is promised."""

import inspect
import subprocess
import sys
from pathlib import Path

import onnx.defs
import pytest

from opcheck import kernels
from opcheck.kernels import Unsupported, registry

#: The operators whose kernels are complete: every version that ``onnx.defs`` has.
COMPLETE = """
    Loop Scan Range If SequenceMap Identity Constant ConstantOfShape Cast CastLike
    Add Sub Mul Div Neg Abs Sqrt Exp Tanh Relu MatMul Gemm
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd
    ReduceSum ReduceSumSquare ArgMax ArgMin Min Max
    Equal Greater GreaterOrEqual Less LessOrEqual And Or Xor Not Where
    Concat Split Slice Gather Reshape Transpose Squeeze Unsqueeze Shape Size Expand Tile
    SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength
    SplitToSequence ConcatFromSequence Optional OptionalGetElement OptionalHasElement
""".split()
Option = onnx.defs.OpSchema.FormalParameterOption
SCHEMAS = {(s.domain, s.name, s.since_version): s for s in onnx.defs.get_all_schemas_with_history()}


each_kernel = pytest.mark.parametrize(
    "key", sorted(kernels.registered()), ids=lambda key: "-".join(map(str, key))
)


@pytest.fixture
def scratch(monkeypatch):
    """A registry that is empty and that is thrown away after the test."""
    monkeypatch.setattr(registry, "_kernels", {})


# What is there


def test_every_operator_of_the_list_exists():
    """A misspelled name in the list would be complete whatever the registry holds."""
    assert set(COMPLETE) <= {name for domain, name, _ in SCHEMAS if domain == ""}


@pytest.mark.parametrize("operator", COMPLETE)
def test_every_version_of_an_operator_has_a_kernel(operator):
    """A version without a kernel is a gap that a case would only meet at run time."""
    wanted = {key for key in SCHEMAS if key[:2] == ("", operator)}
    assert wanted - kernels.registered() == set()


@each_kernel
def test_a_kernel_agrees_with_its_schema(key):
    """Its keywords are the schema's attributes; its inputs are those of the schema."""
    schema = SCHEMAS[key]
    kernel = registry.find(schema)
    assert (kernel.domain, kernel.operator, kernel.since_version) == key
    parameters = inspect.signature(kernel.function).parameters.values()
    kinds = [p.kind for p in parameters]
    keywords = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert keywords - registry.CONTEXT_KEYWORDS == set(schema.attributes)
    assert ("n_outputs" in keywords) == ("n_outputs" in kernel.context)
    assert all(p.default is p.empty for p in parameters if p.kind is p.KEYWORD_ONLY)
    wanted = [
        inspect.Parameter.VAR_POSITIONAL
        if formal.option == Option.Variadic
        else inspect.Parameter.POSITIONAL_ONLY
        for formal in schema.inputs
    ]
    assert [k for k in kinds if k is not inspect.Parameter.KEYWORD_ONLY] == wanted


@each_kernel
def test_an_input_that_the_schema_lets_one_omit_may_be_omitted(key):
    """As few inputs as the schema requires are enough to call a kernel."""
    schema = SCHEMAS[key]
    signature = inspect.signature(registry.find(schema).function)
    keywords = {n: None for n, p in signature.parameters.items() if p.kind is p.KEYWORD_ONLY}
    for count in {schema.min_input, len(schema.inputs)}:
        signature.bind(*[None] * count, **keywords)


def test_the_package_imports_every_module_that_registers():
    """Importing ``opcheck.kernels`` is enough to have all of them."""
    folder = Path(kernels.__file__).parent
    registering = {
        f"opcheck.kernels.{path.stem}"
        for path in folder.glob("*.py")
        if "import kernel" in path.read_text() and path.stem != "registry"
    }
    code = "import sys, opcheck.kernels; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert len(registering) > 10
    assert registering <= set(loaded)


# Looking up


def test_a_kernel_is_found_by_the_version_that_the_opset_resolves_to():
    """At opset 12 Range is Range-11; Scan-8 and Scan-9 are different functions."""
    assert registry.find(onnx.defs.get_schema("Range", 12)).since_version == 11
    assert registry.find(onnx.defs.get_schema("Scan", 8)).function.__name__ == "scan_8"
    assert registry.find(onnx.defs.get_schema("Scan", 9)).function.__name__ == "scan_9"
    assert registry.find(onnx.defs.get_schema("Scan", 10)).since_version == 9


@pytest.mark.usefixtures("scratch")
@pytest.mark.parametrize(
    ("operator", "version", "domain", "shown"),
    [("Loop", 11, "", "ai.onnx Loop-11"), ("Scaler", 1, "ai.onnx.ml", "ai.onnx.ml Scaler-1")],
)
def test_a_missing_kernel_is_unsupported_and_named(operator, version, domain, shown):
    """The message has the domain, the operator and the version of its schema."""
    with pytest.raises(Unsupported, match=f"{shown} has no built-in kernel"):
        registry.find(onnx.defs.get_schema(operator, version, domain))


@pytest.mark.usefixtures("scratch")
def test_one_version_does_not_stand_in_for_another():
    """A new schema version is a gap, never a silent reuse."""

    @registry.kernel("Range", since_version=11)
    def range_11(start, limit, delta, /):
        """Do nothing."""

    with pytest.raises(Unsupported, match="Range-27"):
        registry.find(onnx.defs.get_schema("Range", 27))
    assert registry.registered() == {("", "Range", 11)}


def test_what_registered_returns_cannot_be_changed():
    """The set is a snapshot."""
    assert isinstance(registry.registered(), frozenset)


# Registering


@pytest.mark.usefixtures("scratch")
def test_a_function_serves_all_versions_it_names_and_stays_a_function():
    """The decorator returns the function itself."""

    def abs_(x, /):
        """Do nothing."""

    assert registry.kernel("Abs", since_version=(6, 13))(abs_) is abs_
    assert registry.registered() == {("", "Abs", 6), ("", "Abs", 13)}
    assert registry.find(onnx.defs.get_schema("Abs", 6)).function is abs_


@pytest.mark.usefixtures("scratch")
def test_a_kernel_in_another_domain_has_its_own_place():
    """The domain is part of the key."""

    @registry.kernel("Binarizer", since_version=1, domain="ai.onnx.ml")
    def binarizer(x, /, *, threshold):
        """Do nothing."""

    assert registry.registered() == {("ai.onnx.ml", "Binarizer", 1)}


@pytest.mark.usefixtures("scratch")
def test_a_kernel_that_asks_for_the_number_of_outputs_is_marked():
    """``n_outputs`` is filled in by the evaluator and is no attribute."""

    @registry.kernel("Split", since_version=18)
    def split(x, sizes=None, /, *, axis, num_outputs, n_outputs):
        """Do nothing."""

    assert registry.find(onnx.defs.get_schema("Split", 18)).context == {"n_outputs"}


def no_keyword(x, sizes=None, /):
    """Lacks the attributes axis and num_outputs."""


def strange_keyword(x, sizes=None, /, *, axis, num_outputs, keepdims):
    """Has an attribute too many."""


def too_few_inputs(x, /, *, axis, num_outputs):
    """Lacks an input."""


def too_many_inputs(x, sizes=None, more=None, /, *, axis, num_outputs):
    """Has an input too many."""


def optional_required(x, sizes, /, *, axis, num_outputs):
    """Requires an input that the schema does not."""


def variadic(x, *sizes, axis, num_outputs):
    """Takes any number of inputs, which the schema does not."""


@pytest.mark.usefixtures("scratch")
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            no_keyword,
            r"no_keyword for Split-18: the keywords are \[\], .*\['axis', 'num_outputs'\]",
        ),
        (strange_keyword, r"the keywords are \['axis', 'keepdims', 'num_outputs'\]"),
        (too_few_inputs, "too_few_inputs for Split-18: 1 inputs, the schema has 2"),
        (too_many_inputs, "3 inputs, the schema has 2"),
        (variadic, "a variadic input, the schema has no variadic input"),
        (optional_required, "2 inputs have no default, the schema requires 1"),
    ],
)
def test_a_signature_that_disagrees_with_the_schema_is_refused(function, message):
    """The message names the function, the schema, what was seen and what was wanted."""
    with pytest.raises(TypeError, match=message):
        registry.kernel("Split", since_version=18)(function)
    assert registry.registered() == frozenset()


@pytest.mark.usefixtures("scratch")
def test_one_input_is_not_enough_for_a_variadic_one():
    """Concat takes any number of tensors; a function of one would fail at run time only."""

    def concat(x, /, *, axis):
        """Do nothing."""

    with pytest.raises(TypeError, match="no variadic input, the schema has a variadic input"):
        registry.kernel("Concat", since_version=13)(concat)


@pytest.mark.usefixtures("scratch")
def test_a_signature_is_held_against_every_version_it_names():
    """Split-2 has an attribute ``split`` that Split-18 has not: one function cannot serve both."""

    def split(x, sizes=None, /, *, axis, num_outputs):
        """Do nothing."""

    with pytest.raises(TypeError, match="for Split-2"):
        registry.kernel("Split", since_version=(18, 2))(split)


@pytest.mark.usefixtures("scratch")
def test_a_place_can_be_taken_once():
    """Two kernels for one version would leave it to the import order which one runs."""

    def first(x, /):
        """Do nothing."""

    registry.kernel("Abs", since_version=13)(first)
    with pytest.raises(ValueError, match="Abs-13 has a kernel already"):
        registry.kernel("Abs", since_version=13)(first)


@pytest.mark.usefixtures("scratch")
@pytest.mark.parametrize("version", [12, 14, 99])
def test_a_version_at_which_no_schema_starts_is_refused(version):
    """Abs has versions 1, 6 and 13: 12 and 14 resolve to others."""

    def absolute(x, /):
        """Do nothing."""

    with pytest.raises(ValueError, match=f"Abs has no schema that starts at version {version}"):
        registry.kernel("Abs", since_version=version)(absolute)


@pytest.mark.usefixtures("scratch")
def test_an_operator_that_does_not_exist_is_refused():
    """A misspelled operator is an error at import, not a kernel that nobody finds."""
    with pytest.raises(onnx.defs.SchemaError, match="Lop"):
        registry.kernel("Lop", since_version=11)(no_keyword)
