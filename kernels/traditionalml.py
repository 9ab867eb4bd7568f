"""Features of ai.onnx.ml: extraction, scaling, normalisation, imputation, one-hot encoding.

Maps and labels are in ``traditionalml_maps``, models in ``traditionalml_linear``, ``_svm`` and
``_trees``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .registry import kernel
from .rounding import Array, narrow, wide
from .traditionalml_common import DOMAIN, FLOAT32, choice, only


@kernel("ArrayFeatureExtractor", since_version=1, domain=DOMAIN)
def array_feature_extractor(x: Array, y: Array, /) -> Array:
    """Pick the columns ``y`` of the last axis of ``x``.

    Args: y, indices of any shape, taken one after the other.
    Returns: the shape of ``x`` with the number of indices as last dimension.
    A vector gives one row, [1, n]; the text is silent, onnxruntime does it.
    Errors: an index outside of the axis, a scalar ``x``.
    Source: ArrayFeatureExtractor-1, "based on 0 as the first index of any dimension".
    """
    if x.ndim == 0:
        raise ValueError("X has no axis to extract from; a rank of at least 1 was wanted")
    indices = y.reshape(-1)
    length = x.shape[-1]
    outside = indices[(indices < 0) | (indices >= length)]
    if outside.size:
        raise ValueError(f"the index {outside[0]} is outside [0, {length - 1}]")
    picked = x[..., indices]
    return picked.reshape(1, -1) if x.ndim == 1 else picked


@kernel("Binarizer", since_version=1, domain=DOMAIN)
def binarizer(x: Array, /, *, threshold: float) -> Array:
    """Return 1 where ``x`` is greater than ``threshold``, else 0, in the type of ``x``.

    NaN is not greater than anything.
    Integers are compared exactly.
    Source: Binarizer-1, "Values greater than this are mapped to 1, others to 0."
    """
    if x.dtype.kind == "i" and math.isfinite(threshold):
        limit, info = math.floor(threshold), np.iinfo(x.dtype)
        if limit < info.min:
            return np.ones_like(x)
        return (x > min(limit, int(info.max))).astype(x.dtype)
    return (wide(x) > threshold).astype(x.dtype)


@kernel("FeatureVectorizer", since_version=1, domain=DOMAIN)
def feature_vectorizer(*inputs: Array, inputdimensions: Sequence[int] | None) -> Array:
    """Join matrices along their columns, as float32.

    Args: inputs, of shape [N, C] each, where a vector [C] stands for [1, C]; inputdimensions, how
    many columns each contributes, by default all: further ones are left out, missing ones are 0.
    The text does not say that it leaves out or fills; onnxruntime and onnx's reference agree.
    Source: FeatureVectorizer-1, "concatenated along the second dimension".
    """
    if any(x.ndim not in (1, 2) for x in inputs):
        shapes = [x.shape for x in inputs]
        raise ValueError(f"the inputs have the shapes {shapes}; [N, C] or [C] was wanted")
    matrices = [x.reshape(1, -1) if x.ndim == 1 else x for x in inputs]
    sizes = [x.shape[1] for x in matrices] if inputdimensions is None else list(inputdimensions)
    if len(sizes) != len(matrices) or min(sizes) < 0:
        raise ValueError(f"inputdimensions is {sizes}; {len(matrices)} sizes >= 0 were wanted")
    heights = {x.shape[0] for x in matrices}
    if len(heights) != 1:
        raise ValueError(f"the inputs have {sorted(heights)} rows; they must have the same number")
    result = np.zeros((heights.pop(), sum(sizes)), np.float32)
    start = 0
    for x, size in zip(matrices, sizes, strict=True):
        kept = min(size, x.shape[1])
        result[:, start : start + kept] = x[:, :kept].astype(np.float32)
        start += size
    return result


@kernel("Imputer", since_version=1, domain=DOMAIN)
def imputer(
    x: Array,
    /,
    *,
    replaced_value_int64: int,
    imputed_value_int64s: Sequence[int] | None,
    replaced_value_float: float,
    imputed_value_floats: Sequence[float] | None,
) -> Array:
    """Replace the elements that equal one value; NaN is replaced where that value is NaN.

    Args: x, of shape [*, F]; the values to put in their place, 1 for all or F, one per feature.
    A float64 element is compared with the attribute's float32 value as it is.
    Errors: values of the wrong kind or number, integers that the type of ``x`` does not hold.
    Source: Imputer-1, "Replaces inputs that equal one value with another".
    """
    name, values = only(
        imputed_value_floats=imputed_value_floats, imputed_value_int64s=imputed_value_int64s
    )
    wanted = "imputed_value_int64s" if x.dtype.kind == "i" else "imputed_value_floats"
    if name != wanted:
        raise ValueError(f"{name} is given; for a tensor of {x.dtype} {wanted} was wanted")
    features = x.shape[-1] if x.ndim else 1
    if len(values) not in (1, features):
        raise ValueError(f"{name} has {len(values)} values; 1 or {features} were wanted")
    if x.dtype.kind == "i":
        info = np.iinfo(x.dtype)
        if min(values) < info.min or max(values) > info.max:
            raise ValueError(f"{name} is {list(values)}; values of {x.dtype} were wanted")
        missing = x == replaced_value_int64
    elif math.isnan(replaced_value_float):
        missing = np.isnan(x)
    else:
        missing = wide(x) == replaced_value_float
    return np.where(missing, np.array(values, x.dtype), x)


@kernel("Normalizer", since_version=1, domain=DOMAIN)
def normalizer(x: Array, /, *, norm: str) -> Array:
    """Divide each row by its norm, as float32; a row whose norm is 0 stays as it is.

    Args: x, of shape [N, C], or [C] for a single row; norm, MAX, L1 or L2.
    MAX is the largest value, with its sign, as the formula has it.
    The formulas of L1 and L2 are "X / sum(X)" and "sqrt(X^2 / sum(X^2)": taken by the letter, L1
    would not be the norm of that name, and L2 would lose the signs.
    Here L1 is the sum of absolute values, and signs stay; so do onnxruntime and onnx's reference.
    Source: Normalizer-1, "if the divisor is zero, Y == X".
    """
    choice("norm", norm, ("MAX", "L1", "L2"))
    if x.ndim not in (1, 2):
        raise ValueError(f"X has shape {x.shape}; [N, C] or [C] was wanted")
    values = wide(x)
    if x.shape[-1] == 0:
        return narrow(values, FLOAT32)
    if norm == "MAX":
        divisor = values.max(axis=-1, keepdims=True)
    elif norm == "L1":
        divisor = np.abs(values).sum(axis=-1, keepdims=True)
    else:
        # Scaled by a power of two, the squares neither overflow nor vanish.
        largest = np.abs(values).max(axis=-1, keepdims=True)
        _, exponent = np.frexp(np.where(np.isfinite(largest), largest, 1.0))
        squares = np.square(np.ldexp(values, -exponent))
        divisor = np.ldexp(np.sqrt(squares.sum(axis=-1, keepdims=True)), exponent)
    return narrow(values / np.where(divisor == 0, 1.0, divisor), FLOAT32)


@kernel("OneHotEncoder", since_version=1, domain=DOMAIN)
def one_hot_encoder(
    x: Array,
    /,
    *,
    zeros: int,
    cats_strings: Sequence[str] | None,
    cats_int64s: Sequence[int] | None,
) -> Array:
    """Give each element a row with a single 1 at the place of its category, as float32.

    Args: x, any shape; floats are cut to integers first, NaN and infinities are no category.
    Returns: the shape of ``x`` with the number of categories as a further, last dimension.
    Where a category is listed twice, its first place gets the 1; the text is silent.
    Errors: categories of the other kind; without ``zeros`` an element that is no category.
    Source: OneHotEncoder-1, "if false and a category if not found, the operator will fail".
    """
    name, categories = only(cats_strings=cats_strings, cats_int64s=cats_int64s)
    if (name == "cats_strings") != (x.dtype == object):
        kind = "strings" if x.dtype == object else str(x.dtype)
        raise ValueError(f"{name} is given for a tensor of {kind}")
    places: dict[object, int] = {}
    for place, category in enumerate(categories):
        places.setdefault(category, place)
    result = np.zeros((x.size, len(categories)), np.float32)
    for row, item in enumerate(x.ravel().tolist()):
        whole = isinstance(item, float) and math.isfinite(item)
        found = places.get(math.trunc(item) if whole else item)
        if found is not None:
            result[row, found] = 1
        elif not zeros:
            raise ValueError(f"{item!r} is none of the categories {list(categories)}")
    return result.reshape(*x.shape, len(categories))


@kernel("Scaler", since_version=1, domain=DOMAIN)
def scaler(x: Array, /, *, scale: Sequence[float] | None, offset: Sequence[float] | None) -> Array:
    """Return (x - offset) * scale as float32.

    Args: x, of shape [N, F] or [F] where there is one number per feature, else of any shape.
    Errors: ``scale`` and ``offset`` of different lengths, which are neither 1 nor F.
    Source: Scaler-1, "Must be same length as 'offset'".
    """
    if scale is None or offset is None or len(scale) != len(offset):
        raise ValueError(f"scale is {scale}, offset is {offset}; the same number was wanted")
    features = x.shape[-1] if x.ndim in (1, 2) else 1
    if len(scale) not in (1, features):
        raise ValueError(
            f"scale has {len(scale)} numbers, X has shape {x.shape}; "
            "1 number or, for the shapes [N, F] and [F], F were wanted"
        )
    shifted = wide(x) - np.array(offset, np.float64)
    return narrow(shifted * np.array(scale, np.float64), FLOAT32)
