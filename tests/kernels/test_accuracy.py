"""The built-in kernels round once: what ``docs/accuracy.md`` says, held on other samples."""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np
import onnx.defs
import pytest

ROOT = Path(__file__).parent.parent.parent
SPEC = importlib.util.spec_from_file_location("accuracy", ROOT / "docs/tables/accuracy.py")
accuracy = importlib.util.module_from_spec(SPEC)
sys.modules["accuracy"] = accuracy  # where its dataclasses look for their module
SPEC.loader.exec_module(accuracy)

FORMATS = {form.name: form for form in accuracy.FORMATS}
PAGE = (ROOT / "docs/accuracy.md").read_text()
#: The largest error that is allowed: 0.5, and a little where float64 itself rounds before.
ALLOWED = {"float16": 0.5001, "bfloat16": 0.5001, "float32": 0.5001, "float64": 1.0}
#: Operators of the math family with float results that are no function of single elements.
OTHERS = set(
    """
    BlackmanWindow CumProd CumSum DFT Det Einsum Gemm HammingWindow HannWindow Hardmax LogSoftmax
    MatMul MatMulInteger MelWeightMatrix NegativeLogLikelihoodLoss QLinearMatMul STFT Softmax
    SoftmaxCrossEntropyLoss SwiGLU TopK Clip Expand
    """.split()
)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("function", accuracy.FUNCTIONS, ids=lambda f: f.label or f.operator)
def test_a_kernel_is_as_exact_as_promised(function, name):
    """Elementwise results of 16 and 32 bits are within 0.5 ULP, of 64 bits within 1."""
    form = FORMATS[name]
    if not accuracy.allows(function.operator, form):
        assert function.operator in {"Shrink", "Pow", "Mod", "Sign"}
        return
    assert accuracy.largest_error(function, form, 120, seed=7) <= ALLOWED[name]


def test_every_elementwise_and_every_reduction_operator_is_measured():
    """A new operator of these families is measured, or named above as something else."""
    measured = {function.operator for function in accuracy.FUNCTIONS}
    family = {
        schema.name
        for schema in onnx.defs.get_all_schemas()
        if schema.domain == ""
        and re.search(r"/(math|reduction)/", schema.file)
        and "tensor(float)" in (schema.outputs[0].types if schema.outputs else ())
    }
    assert family - measured - OTHERS == set()
    assert measured >= {"ReduceSum", "Erf", "Shrink"}


@pytest.mark.parametrize("function", accuracy.FUNCTIONS, ids=lambda f: f.label or f.operator)
def test_the_page_has_a_figure_for_each(function):
    """And none of them is larger than what is promised."""
    name = re.escape(function.label or function.operator)
    (line,) = re.findall(rf"^\| {name} \|(.*)\|$", PAGE, re.MULTILINE)
    cells = [cell.strip() for cell in line.split("|")]
    for form, cell in zip(accuracy.FORMATS, cells, strict=True):
        assert bool(cell) == accuracy.allows(function.operator, form)
        if cell:
            assert float(cell) <= ALLOWED[form.name]


def test_a_wrong_kernel_would_be_noticed():
    """A result that is one unit off counts as one unit, a wrong infinity as infinitely far."""
    form = FORMATS["float32"]
    assert accuracy.error(form, accuracy.mpf(1), 1 + 2**-23) == 1
    assert accuracy.error(form, accuracy.mpf(2) ** 130, float("inf")) == 0
    assert accuracy.error(form, accuracy.mpf(1), float("inf")) == float("inf")
    assert accuracy.error(form, None, 1.0) == float("inf")
    assert accuracy.error(form, accuracy.mpf(2) ** -149, 0.0) == 1


INF, NAN = float("inf"), float("nan")
#: The values at minus infinity and at infinity.
LIMITS = {
    "Abs": (INF, INF), "Acos": (NAN, NAN), "Acosh": (NAN, INF), "Asin": (NAN, NAN),
    "Asinh": (-INF, INF), "Atan": (-1.5707963267948966, 1.5707963267948966), "Atanh": (NAN, NAN),
    "Ceil": (-INF, INF), "Celu": (-1, INF), "Cos": (NAN, NAN), "Cosh": (INF, INF),
    "Elu": (-1, INF), "Erf": (-1, 1), "Exp": (0, INF), "Floor": (-INF, INF), "Gelu": (0, INF),
    "Gelu, tanh": (0, INF), "HardSigmoid": (0, 1), "HardSwish": (0, INF), "LeakyRelu": (-INF, INF),
    "Log": (NAN, INF), "Mish": (0, INF), "Neg": (INF, -INF), "Reciprocal": (0, 0),
    "Relu": (0, INF), "Round": (-INF, INF), "Selu": (-1.7580993463430303, INF),
    "Shrink": (-INF, INF), "Sigmoid": (0, 1), "Sign": (-1, 1), "Sin": (NAN, NAN),
    "Sinh": (-INF, INF), "Softplus": (0, INF), "Softsign": (-1, 1), "Sqrt": (NAN, INF),
    "Swish": (0, INF), "Tan": (NAN, NAN), "Tanh": (-1, 1), "ThresholdedRelu": (0, INF),
}  # fmt: skip
#: Functions that the specification defines by a product or quotient, which is NaN at an end.
UNDEFINED = {
    "Gelu": (0,), "Gelu, tanh": (0,), "HardSwish": (0,), "Mish": (0,), "Softsign": (0, 1),
    "Swish": (0,), "ThresholdedRelu": (), "HardSigmoid": (),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("function", accuracy.UNARY, ids=lambda f: f.label or f.operator)
def test_infinities_and_nan(function, name):
    """At infinity the kernel has the limit, or NaN where the formula has it; NaN stays NaN."""
    form = FORMATS[name]
    if not accuracy.allows(function.operator, form):
        assert function.operator == "Shrink"
        return
    x = np.array([-INF, INF, NAN]).astype(form.dtype)
    got = np.asarray(accuracy.run(function, [x])).astype(np.float64)
    label = function.label or function.operator
    for i, limit in enumerate(LIMITS[label]):
        if np.isnan(got[i]) and i in UNDEFINED.get(label, ()):
            continue
        wanted = float(np.asarray(limit, np.float64).astype(form.dtype))
        assert got[i] == pytest.approx(wanted, rel=float(2.0 ** (1 - form.precision)), nan_ok=True)
    if label not in ("ThresholdedRelu", "Shrink"):
        assert np.isnan(got[2])
