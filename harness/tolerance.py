"""How far a result may be from the exact one, by operator, in units in the last place.

The built-in kernels are within half a unit; these allowances are for runtimes.
The numbers for single functions follow the OpenCL conformance suite; sums and products get
``1 + sqrt(n)`` units for n terms, about what plain accumulation in the output's own type loses.
A model gets the sum over its nodes, as if they stood in a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil, sqrt
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, NodeProto

from .case import Case, Expected, Tolerance
from .dtypes import ElementType, element_type_of

#: Operators that only move data, compare, or compute in integers: no allowance at all.
EXACT = frozenset(
    """
    Abs And ArgMax ArgMin ArrayFeatureExtractor Binarizer BitCast BitShift BitwiseAnd BitwiseNot
    BitwiseOr BitwiseXor Cast CastLike CategoryMapper Ceil CenterCropPad Clip Compress Concat
    ConcatFromSequence Constant ConstantOfShape DepthToSpace DictVectorizer Equal Expand EyeLike
    FeatureVectorizer Flatten Floor Gather GatherElements GatherND GlobalMaxPool Greater
    GreaterOrEqual Hardmax Identity If ImageDecoder Imputer IsInf IsNaN LabelEncoder Less
    LessOrEqual Loop Max MaxPool MaxRoiPool MaxUnpool Min Neg NonZero Not OneHot OneHotEncoder
    Optional OptionalGetElement OptionalHasElement Or Pad QuantizeLinear ReduceMax ReduceMin
    RegexFullMatch Relu Reshape ReverseSequence Round Scan Scatter ScatterElements ScatterND
    SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength
    SequenceMap Shape Sign Size Slice SpaceToDepth Split SplitToSequence Squeeze StringConcat
    StringNormalizer StringSplit TensorScatter ThresholdedRelu Tile TopK Transpose Trilu Unique
    Unsqueeze Where Xor ZipMap
    """.split()
)

#: Units in the last place of functions of one element.
ULP = {
    "Add": 1, "Sub": 1, "Mul": 1, "Div": 1, "Sqrt": 1, "Reciprocal": 1, "Range": 1,
    "Exp": 3, "Log": 3, "Tanh": 5, "Sigmoid": 5, "Sin": 4, "Cos": 4, "Tan": 5, "Asin": 4,
    "Acos": 4, "Atan": 5, "Sinh": 4, "Cosh": 4, "Asinh": 4, "Acosh": 4, "Atanh": 5, "Erf": 16,
    "Pow": 16, "Mod": 1, "DequantizeLinear": 1, "Mean": 2, "Sum": 2,
}  # fmt: skip

#: Operators whose result is a sum of many terms.
SUMS = frozenset(
    """
    AveragePool Col2Im Conv ConvTranspose CumProd CumSum Einsum Gemm GlobalAveragePool MatMul
    ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMean ReduceProd ReduceSum ReduceSumSquare
    """.split()
)

#: Units in the last place of operators that the tables above leave out.
OTHERS = 8

#: Operators whose outputs hold complex numbers, as two floats in the last axis.
PAIRS = frozenset({"DFT", "STFT"})

#: The most that the default allows a type with few bits: there a unit is a large step.
MOST_BY_BITS = {16: 4, 8: 1, 6: 1, 4: 1}


def tolerance_for(case: Case, output: str, expected: Expected) -> Tolerance:
    """Return the tolerance of an output: what the case says, or the operators' default.

    A case that sets only ``signed_zero`` keeps the default distance.
    """
    given = case.tolerances.get(output)
    if given is not None and (given.ulp, given.rtol, given.atol) != (None, None, None):
        pairs = case.operator in PAIRS and expected.shape[-1:] == (2,)
        return replace(given, pairs=True) if pairs else given
    dtype = _dtype(expected)
    element = None if dtype is None else element_type_of(dtype)
    signed_zero = given is not None and given.signed_zero
    return Tolerance(ulp=default_ulp(case, element), signed_zero=signed_zero)


def _dtype(expected: Expected) -> np.dtype[Any] | None:
    """Return the dtype of a tensor, or of the first one inside a value."""
    if expected.dtype is not None or not expected.items:
        return expected.dtype
    return _dtype(expected.items[0])


def default_ulp(case: Case, element: ElementType | None) -> float:
    """Return the default allowance of a case for outputs of an element type."""
    if element is None or not (element.is_float or element.is_complex):
        return 0
    terms = _terms(case)
    total = sum(_allowance(node.op_type, terms) for node in _nodes(case.call.model.graph))
    return min(total, MOST_BY_BITS.get(element.bits, total))


def _allowance(operator: str, terms: int) -> int:
    if operator in EXACT:
        return 0
    if operator in SUMS:
        return 1 + ceil(sqrt(terms))
    return ULP.get(operator, OTHERS)


def _terms(case: Case) -> int:
    """Return the largest number of terms that a sum in the case can have."""
    sizes = [v.size for v in case.call.inputs.values() if isinstance(v, np.ndarray)]
    return max(sizes, default=1)


def _nodes(graph: GraphProto) -> Iterator[NodeProto]:
    """Return all nodes of a graph and of the bodies in it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _nodes(attribute.g)
