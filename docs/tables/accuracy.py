"""Writes ``docs/accuracy.md``: how far the built-in kernels are from the exact values.

``python docs/tables/accuracy.py`` measures and writes the page; it takes some minutes.
The exact values come from mpmath.
Errors are in units in the last place (ULP) of the result's type, at the exact value.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import onnx
import onnx.defs
from mpmath import mp, mpf
from onnx import helper

from opcheck.kernels import registry

PAGE = Path(__file__).parent.parent / "accuracy.md"
SAMPLES = 2000
#: Bits of the exact values.
PRECISION = 320

Exact = Callable[..., Any]

#: The value at a zero of a divisor: infinity, of either sign since mpmath has no negative zero.
POLE = "pole"


@dataclass(frozen=True, slots=True)
class Format:
    """A float type: bits of precision, the exponents of its smallest and largest normal values."""

    name: str
    precision: int
    least: int
    greatest: int

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
        return np.dtype(getattr(ml_dtypes, self.name, self.name))

    def unit(self, exact: Any) -> Any:
        """Return the unit in the last place at a value that is not zero."""
        exponent = int(mpmath.floor(mpmath.log(abs(exact), 2))) if exact else self.least
        exponent = min(max(exponent, self.least), self.greatest)
        return mpf(2) ** (exponent - self.precision + 1)

    @property
    def overflow(self) -> Any:
        """From this value on, the nearest value is infinity."""
        return mpf(2) ** self.greatest * (2 - mpf(2) ** -self.precision)


FORMATS = (
    Format("float16", 11, -14, 15),
    Format("bfloat16", 8, -126, 127),
    Format("float32", 24, -126, 127),
    Format("float64", 53, -1022, 1023),
)


@dataclass(frozen=True, slots=True)
class Function:
    """An operator as mathematics: ``exact`` takes numbers and attributes, ``None`` is NaN."""

    operator: str
    exact: Exact
    arity: int = 1
    attributes: dict[str, Any] = field(default_factory=dict)
    #: How many numbers one result is made of; 0 for an elementwise operator.
    terms: int = 0
    label: str = ""


def _gelu(x: Any) -> Any:
    if abs(x) > 10_000:  # where mpmath gives up
        return max(x, mpf(0))
    return x * mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def _gelu_tanh(x: Any) -> Any:
    inner = mpmath.sqrt(2 / mp.pi) * (x + mpf("0.044715") * x**3)
    return x / (1 + mpmath.exp(-2 * inner))


def _softplus(x: Any) -> Any:
    return x + mpmath.log1p(mpmath.exp(-x)) if x > 0 else mpmath.log1p(mpmath.exp(x))


def _mish(x: Any) -> Any:
    return x * mpmath.tanh(_softplus(x))


def _power(x: Any, y: Any) -> Any:
    if x == 0:
        return (mpf(1) if y == 0 else mpf(0)) if y >= 0 else POLE
    if x < 0 and y != mpmath.floor(y):
        return None
    magnitude = mpmath.exp(y * mpmath.log(abs(x)))
    return -magnitude if x < 0 and y % 2 == 1 else magnitude


def _log(x: Any) -> Any:
    return mpmath.log(x) if x > 0 else -mp.inf if x == 0 else None


def _atanh(x: Any) -> Any:
    return mpmath.atanh(x) if abs(x) < 1 else mp.inf * x if abs(x) == 1 else None


def _fmod(x: Any, y: Any) -> Any:
    if y == 0:
        return None
    with mp.workprec(4400):  # the quotient of the largest and the smallest float64
        n = mpmath.floor(abs(x) / abs(y))
        return mpmath.sign(x) * (abs(x) - n * abs(y))


def _round(x: Any) -> Any:
    low = mpmath.floor(x)
    rest = x - low
    up = rest > mpf("0.5") or (rest == mpf("0.5") and low % 2 == 1)
    return low + 1 if up else low


def _scaled(alpha: float, gamma: float = 1.0) -> Exact:
    return lambda x: gamma * (x if x > 0 else alpha * mpmath.expm1(x))


def _f32(x: float) -> Any:
    return mpf(float(np.float32(x)))


UNARY = (
    Function("Abs", abs),
    Function("Acos", lambda x: mpmath.acos(x) if abs(x) <= 1 else None),
    Function("Acosh", lambda x: mpmath.acosh(x) if x >= 1 else None),
    Function("Asin", lambda x: mpmath.asin(x) if abs(x) <= 1 else None),
    Function("Asinh", lambda x: mpmath.sign(x) * mpmath.asinh(abs(x))),
    Function("Atan", mpmath.atan),
    Function(
        "Atanh", lambda x: mpmath.atanh(x) if abs(x) < 1 else mp.inf * x if abs(x) == 1 else None
    ),
    Function("Ceil", mpmath.ceil),
    Function("Celu", _scaled(1.0)),
    Function("Cos", mpmath.cos),
    Function("Cosh", mpmath.cosh),
    Function("Elu", _scaled(1.0)),
    Function("Erf", mpmath.erf),
    Function("Exp", mpmath.exp),
    Function("Floor", mpmath.floor),
    Function("Gelu", _gelu),
    Function("Gelu", _gelu_tanh, attributes={"approximate": "tanh"}, label="Gelu, tanh"),
    Function("HardSigmoid", lambda x: max(mpf(0), min(mpf(1), _f32(0.2) * x + mpf("0.5")))),
    Function("HardSwish", lambda x: x * max(mpf(0), min(mpf(1), x / 6 + mpf("0.5")))),
    Function("LeakyRelu", lambda x: x if x >= 0 else _f32(0.01) * x),
    Function("Log", _log),
    Function("Mish", _mish),
    Function("Neg", lambda x: -x),
    Function("Reciprocal", lambda x: 1 / x if x else POLE),
    Function("Relu", lambda x: max(x, mpf(0))),
    Function("Round", _round),
    Function("Selu", _scaled(_f32(1.67326319217681884765625), _f32(1.05070102214813232421875))),
    Function("Shrink", lambda x: x if abs(x) > mpf("0.5") else mpf(0)),
    Function("Sigmoid", lambda x: 1 / (1 + mpmath.exp(-x))),
    Function("Sign", mpmath.sign),
    Function("Sin", mpmath.sin),
    Function("Sinh", mpmath.sinh),
    Function("Softplus", _softplus),
    Function("Softsign", lambda x: x / (1 + abs(x))),
    Function("Sqrt", lambda x: mpmath.sqrt(x) if x >= 0 else None),
    Function("Swish", lambda x: x / (1 + mpmath.exp(-x))),
    Function("Tan", mpmath.tan),
    Function("Tanh", mpmath.tanh),
    Function("ThresholdedRelu", lambda x: x if x > 1 else mpf(0)),
)

BINARY = (
    Function("Add", lambda a, b: a + b, 2),
    Function("Sub", lambda a, b: a - b, 2),
    Function("Mul", lambda a, b: a * b, 2),
    Function("Div", lambda a, b: a / b if b else (POLE if a else None), 2),
    Function("Pow", _power, 2),
    Function("Mod", _fmod, 2, {"fmod": 1}, label="Mod, fmod=1"),
    Function("PRelu", lambda x, s: x if x >= 0 else s * x, 2),
    Function("Max", max, 2),
    Function("Min", min, 2),
    Function("Mean", lambda *v: mpmath.fsum(v) / 3, 3),
    Function("Sum", lambda *v: mpmath.fsum(v), 3),
)

#: The numbers of one reduction.
TERMS = 30

REDUCTIONS = tuple(
    Function(name, exact, terms=TERMS)
    for name, exact in (
        ("ReduceL1", lambda *v: mpmath.fsum(abs(x) for x in v)),
        ("ReduceL2", lambda *v: mpmath.sqrt(mpmath.fsum(x * x for x in v))),
        ("ReduceLogSum", lambda *v: _log(mpmath.fsum(v))),
        ("ReduceLogSumExp", lambda *v: mpmath.log(mpmath.fsum(mpmath.exp(x) for x in v))),
        ("ReduceMax", max),
        ("ReduceMean", lambda *v: mpmath.fsum(v) / len(v)),
        ("ReduceMin", min),
        ("ReduceProd", lambda *v: mpmath.fprod(v)),
        ("ReduceSum", lambda *v: mpmath.fsum(v)),
        ("ReduceSumSquare", lambda *v: mpmath.fsum(x * x for x in v)),
    )
)

FUNCTIONS = (*UNARY, *BINARY, *REDUCTIONS)


def newest(operator: str) -> onnx.defs.OpSchema:
    """Return the newest schema of an operator."""
    return onnx.defs.get_schema(operator, onnx.defs.onnx_opset_version(), "")


def allows(operator: str, form: Format) -> bool:
    """Tell whether the newest schema allows a float type."""
    name = {"float32": "float", "float64": "double"}.get(form.name, form.name)
    return f"tensor({name})" in newest(operator).inputs[0].types


def samples(form: Format, count: int, rng: np.random.Generator) -> Any:
    """Return numbers of a type: special ones, any bit patterns, and ones of everyday size."""
    dtype = form.dtype
    size = dtype.itemsize * 8
    unsigned = np.dtype(f"uint{size}")
    limits: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    largest = np.array(limits.max)
    least = np.array(1, unsigned).view(dtype)
    one = np.array(1, dtype)
    edges = [0.0, 0.5, 1, 1.5, 2, 2.5, 3, 6, 88.5, 709.5, 20, 1e-3]
    special = np.concatenate(
        [
            np.array(edges).astype(dtype),
            [largest, least, np.array(limits.smallest_normal)],
            [np.nextafter(one, np.array(0, dtype)), np.nextafter(one, np.array(2, dtype))],
        ]
    ).astype(dtype)
    special = np.concatenate([special, -special])
    left = max(count - len(special), 0)
    patterns = rng.integers(0, 2**size, left // 3, unsigned, endpoint=False).view(dtype)
    scale = np.exp2(rng.uniform(-8, 5, left - left // 3))
    everyday = (rng.standard_normal(left - left // 3) * scale).astype(dtype)
    made = np.concatenate([special, patterns, everyday])[:count]
    with np.errstate(invalid="ignore"):
        return np.where(np.isfinite(made.astype(np.float64)), made, one)


def _number(x: Any) -> Any:
    return mpf(float(x))


def run(function: Function, inputs: Sequence[Any]) -> Any:
    """Return what the kernel of the newest version gives."""
    schema = newest(function.operator)
    attributes = {
        name: helper.get_attribute_value(a.default_value) if a.default_value.type else None
        for name, a in schema.attributes.items()
    }
    attributes = {k: v.decode() if isinstance(v, bytes) else v for k, v in attributes.items()}
    with np.errstate(all="ignore"):
        kernel = registry.find(schema).function
        if function.terms:
            arguments = [inputs[0].reshape(-1, function.terms), np.array([1], np.int64)]
            attributes["keepdims"] = 0
            return kernel(*arguments, **attributes)
        return kernel(*inputs, **{**attributes, **function.attributes})


def error(form: Format, exact: Any, got: Any) -> float:
    """Return how far a result is from the exact value, in units in the last place."""
    value = float(got)
    if exact is POLE:
        return 0.0 if np.isinf(value) else np.inf
    if exact is None or mpmath.isnan(exact):
        return 0.0 if np.isnan(value) else np.inf
    if np.isnan(value):
        return np.inf
    if abs(exact) >= form.overflow:
        return 0.0 if np.isinf(value) and (value > 0) == (exact > 0) else np.inf
    if np.isinf(value):
        return np.inf
    return float(abs(mpf(value) - exact) / form.unit(exact))


def largest_error(function: Function, form: Format, count: int, seed: int = 0) -> float:
    """Return the largest error of a kernel over ``count`` results."""
    rng = np.random.default_rng(seed)
    if function.terms:
        inputs = [samples(form, count * function.terms, rng)]
        rng.shuffle(inputs[0])
        rows = inputs[0].reshape(count, function.terms)
    else:
        inputs = [samples(form, count, rng)]
        for _ in range(function.arity - 1):
            inputs.append(rng.permutation(inputs[0]))
        rows = np.stack(inputs, axis=1)
    got = np.asarray(run(function, inputs))
    with mp.workprec(PRECISION):
        return max(
            error(form, function.exact(*map(_number, row)), value)
            for row, value in zip(rows, got, strict=True)
        )


HEAD = """\
# Accuracy

How far the built-in kernels are from the exact values, in units in the last place (ULP) of the result's type.
Each figure is the largest error of {samples} results, over special values, the edges of the type, any bit patterns, and numbers of everyday size.
The exact values come from mpmath; `docs/tables/accuracy.py` makes this page.
A correctly rounded result is off by 0.5 at most.
Reductions are over {terms} numbers of such inputs, with all their cancellation.

| operator | float16 | bfloat16 | float32 | float64 |
| --- | --- | --- | --- | --- |
"""  # noqa: E501 - prose, a sentence a line


def rows(count: int) -> Iterator[str]:
    """Return the lines of the table."""
    for function in FUNCTIONS:
        cells = [
            f"{largest_error(function, form, count):.4g}" if allows(function.operator, form) else ""
            for form in FORMATS
        ]
        yield f"| {function.label or function.operator} | {' | '.join(cells)} |\n"


if __name__ == "__main__":
    text = HEAD.format(samples=SAMPLES, terms=TERMS)
    for line in rows(SAMPLES):
        sys.stderr.write(line)
        text += line
    PAGE.write_text(text, encoding="utf-8")
