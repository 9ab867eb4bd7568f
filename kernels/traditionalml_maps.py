"""Maps and labels of ai.onnx.ml: CastMap, CategoryMapper, DictVectorizer, LabelEncoder, ZipMap.

A map is a ``dict`` whose keys and values are plain scalars.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .registry import kernel
from .rounding import Array
from .tensor_cast import convert
from .traditionalml_common import DOMAIN, choice, only, strings

Map = Mapping[Any, Any]


def _scalar(value: Any) -> Any:
    """Return a value of a map, which may be a NumPy scalar or a 0-d tensor, as Python has it."""
    return value.item() if isinstance(value, np.ndarray | np.generic) else value


def _column(values: Sequence[Any], dtype: Any) -> Array:
    """Return a 1-D tensor; strings have dtype ``object``."""
    return strings(values) if np.dtype(dtype).hasobject else np.array(values, dtype)


def _translate(x: Array, function: Callable[[Any], Any], dtype: Any) -> Array:
    """Apply a function to each element, as a Python scalar."""
    result = np.empty(x.size, dtype)
    result[:] = [function(item) for item in x.ravel().tolist()]
    return result.reshape(x.shape)


_CASTS = {"TO_FLOAT": np.float32, "TO_STRING": object, "TO_INT64": np.int64}


@kernel("CastMap", since_version=1, domain=DOMAIN)
def cast_map(x: Map, /, *, max_map: int, map_form: str, cast_to: str) -> Array:
    """Turn a map into a row of its values, ordered by their keys.

    Returns: a tensor of shape [1, n]; the text gives no shape, this is onnxruntime's.
    DENSE has one element per key, SPARSE ``max_map``, with the keys as indices and 0, or an empty
    string, elsewhere.
    The values are converted as Cast does.
    Errors: with SPARSE a key outside of [0, max_map).
    Source: CastMap-1, "the key cannot exceed the max_map-1 value".
    """
    choice("map_form", map_form, ("DENSE", "SPARSE"))
    dtype = np.dtype(_CASTS[choice("cast_to", cast_to, tuple(_CASTS))])
    items = sorted((_scalar(key), _scalar(value)) for key, value in x.items())
    textual = any(isinstance(value, str) for _, value in items)
    values = _column([value for _, value in items], object if textual else np.float32)
    cast = values if values.dtype == dtype else convert(values, dtype)
    if map_form == "DENSE":
        return cast.reshape(1, -1)
    outside = [key for key, _ in items if not 0 <= key < max_map]
    if outside:
        raise ValueError(f"the key {outside[0]} is outside [0, {max_map - 1}], as max_map says")
    result = np.full((1, max_map), "" if dtype.hasobject else 0, dtype)
    result[0, [key for key, _ in items]] = cast
    return result


def _last_wins(keys: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
    return dict(zip(keys, values, strict=True))


@kernel("CategoryMapper", since_version=1, domain=DOMAIN)
def category_mapper(
    x: Array,
    /,
    *,
    default_int64: int,
    default_string: str,
    cats_int64s: Sequence[int] | None,
    cats_strings: Sequence[str] | None,
) -> Array:
    """Turn strings into integers, or integers into strings; the type of ``x`` says which.

    Args: two lists of the same length, which match by their places.
    The last place counts where an entry is repeated; the text is silent, onnxruntime does so.
    Source: CategoryMapper-1, "This sequence must be the same length".
    """
    numbers, texts = cats_int64s or [], cats_strings or []
    if len(numbers) != len(texts):
        raise ValueError(
            f"cats_int64s has {len(numbers)} entries, cats_strings {len(texts)}; "
            "the same number was wanted"
        )
    if x.dtype == object:
        to_number = _last_wins(texts, numbers)
        return _translate(x, lambda item: to_number.get(item, default_int64), np.int64)
    to_text = _last_wins(numbers, texts)
    return _translate(x, lambda item: to_text.get(item, default_string), object)


@kernel("DictVectorizer", since_version=1, domain=DOMAIN)
def dict_vectorizer(
    x: Map,
    /,
    *,
    int64_vocabulary: Sequence[int] | None,
    string_vocabulary: Sequence[str] | None,
) -> Array:
    """Put the values of a map at the places that their keys have in the vocabulary.

    Returns: a 1-D tensor as long as the vocabulary; 0, or an empty string, for absent keys.
    The type of its elements is that of the map's values.
    Plain Python floats are float32 if that type holds all of them.
    Errors: a key that the vocabulary does not have.
    Source: DictVectorizer-1, "All keys in the input dictionary must be present".
    """
    _, vocabulary = only(int64_vocabulary=int64_vocabulary, string_vocabulary=string_vocabulary)
    entries = {_scalar(key): value for key, value in x.items()}
    unknown = list(entries.keys() - set(vocabulary))
    if unknown:
        raise ValueError(f"the key {unknown[0]!r} is not in the vocabulary {list(vocabulary)}")
    dtype = _type_of_values(list(entries.values()))
    absent = "" if dtype.hasobject else 0
    return _column([_scalar(entries.get(key, absent)) for key in vocabulary], dtype)


def _type_of_values(values: Sequence[Any]) -> Any:
    """Return the dtype of a map's values; float32 where there are none.

    Feeds hold plain scalars: a Python float that float32 does not hold shows a map to float64.
    """
    first = values[0] if values else 0.0
    if isinstance(first, np.ndarray | np.generic):
        return np.dtype(object) if first.dtype.kind in "OU" else first.dtype
    if isinstance(first, float):
        single = all(v != v or float(np.float32(v)) == v for v in values)
        return np.dtype(np.float32 if single else np.float64)
    return np.dtype(object if isinstance(first, str) else np.int64)


@kernel("LabelEncoder", since_version=1, domain=DOMAIN)
def label_encoder_1(
    x: Array,
    /,
    *,
    default_string: str,
    default_int64: int,
    classes_strings: Sequence[str] | None,
) -> Array:
    """Turn strings into their places in ``classes_strings``, or places into strings.

    A string that is listed twice has its first place; the text is silent.
    Source: LabelEncoder-1, "the index at which it is found is used as the converted value".
    """
    classes = list(classes_strings or [])
    if x.dtype == object:
        places = _last_wins(classes[::-1], range(len(classes))[::-1])
        return _translate(x, lambda item: places.get(item, default_int64), np.int64)
    named = dict(enumerate(classes))
    return _translate(x, lambda item: named.get(item, default_string), object)


def _bits(value: Any) -> Any:
    """Return a key that is equal for equal bits."""
    return np.float32(value).tobytes() if isinstance(value, float) else value


def _number(value: Any) -> Any:
    """Return a key that is equal for equal numbers, and for any two NaN."""
    return "NaN" if isinstance(value, float) and value != value else value


def _listed(attributes: Mapping[str, Any]) -> tuple[str, Array]:
    """Return the one list of keys or values that is given, as a 1-D tensor of its type."""
    name, values = only(**attributes)
    if name.endswith("_tensor"):
        if values.ndim != 1:
            raise ValueError(f"{name} has shape {values.shape}; a 1-D tensor was wanted")
        return name, values
    dtypes = {"strings": object, "int64s": np.int64, "floats": np.float32}
    return name, _column(values, dtypes[name.partition("_")[2]])


def _encode(
    x: Array, keys: Mapping[str, Any], values: Mapping[str, Any], default: Any, key_of: Any
) -> Array:
    """Look each element up; the last of equal keys counts."""
    key_name, listed = _listed(keys)
    value_name, results = _listed(values)
    if len(listed) != len(results):
        raise ValueError(
            f"{key_name} has {len(listed)} entries, {value_name} {len(results)}; "
            "the same number was wanted"
        )
    if listed.dtype != x.dtype:
        raise ValueError(f"{key_name} is of type {listed.dtype}, X of {x.dtype}: they must agree")
    found = _last_wins([key_of(key) for key in listed.tolist()], results.tolist())
    other = default(results.dtype) if callable(default) else default
    return _translate(x, lambda item: found.get(key_of(item), other), results.dtype)


def _default(dtype: Any, text: str, integer: int, real: float) -> Any:
    """Return the default that matches the type of the values."""
    if dtype.hasobject:
        return text
    return integer if dtype.kind == "i" else real


@kernel("LabelEncoder", since_version=2, domain=DOMAIN)
def label_encoder_2(
    x: Array,
    /,
    *,
    default_int64: int,
    default_float: float,
    default_string: str,
    values_int64s: Sequence[int] | None,
    values_strings: Sequence[str] | None,
    keys_floats: Sequence[float] | None,
    values_floats: Sequence[float] | None,
    keys_int64s: Sequence[int] | None,
    keys_strings: Sequence[str] | None,
) -> Array:
    """Replace each element by the value at the place of its key, or by the default.

    Floats are keys by their bits: -0 is not 0, and NaN finds a NaN of the same bits.
    The last of equal keys counts, which version 4 says and version 2 does not.
    Errors: keys and values of different number, keys of another type than ``x``.
    Source: LabelEncoder-2, "bit-wise comparison is used".
    """
    keys = {
        "keys_strings": keys_strings,
        "keys_int64s": keys_int64s,
        "keys_floats": keys_floats,
    }
    values = {
        "values_strings": values_strings,
        "values_int64s": values_int64s,
        "values_floats": values_floats,
    }

    def default(dtype: Any) -> Any:
        return _default(dtype, default_string, default_int64, default_float)

    return _encode(x, keys, values, default, _bits)


@kernel("LabelEncoder", since_version=4, domain=DOMAIN)
def label_encoder_4(
    x: Array,
    /,
    *,
    default_tensor: Array | None,
    default_int64: int,
    default_float: float,
    default_string: str,
    values_int64s: Sequence[int] | None,
    values_strings: Sequence[str] | None,
    values_tensor: Array | None,
    keys_floats: Sequence[float] | None,
    keys_strings: Sequence[str] | None,
    values_floats: Sequence[float] | None,
    keys_int64s: Sequence[int] | None,
    keys_tensor: Array | None,
) -> Array:
    """Replace each element by the value at the place of its key, or by the default.

    Floats are keys by their value: -0 is 0, and any NaN finds any NaN.
    ``default_tensor`` goes before the other defaults; it has one element, of the values' type.
    Errors: as in version 2, and a ``default_tensor`` of another type or of several elements.
    Source: LabelEncoder-4, "If a key is repeated, the last key takes precedence."
    """
    keys = {
        "keys_strings": keys_strings,
        "keys_int64s": keys_int64s,
        "keys_floats": keys_floats,
        "keys_tensor": keys_tensor,
    }
    values = {
        "values_strings": values_strings,
        "values_int64s": values_int64s,
        "values_floats": values_floats,
        "values_tensor": values_tensor,
    }

    def default(dtype: Any) -> Any:
        if default_tensor is None:
            return _default(dtype, default_string, default_int64, default_float)
        if default_tensor.size != 1 or default_tensor.dtype != dtype:
            raise ValueError(
                f"default_tensor is {default_tensor.dtype} of shape {default_tensor.shape}; "
                f"one element of {dtype} was wanted"
            )
        return default_tensor.reshape(-1).tolist()[0]

    return _encode(x, keys, values, default, _number)


@kernel("ZipMap", since_version=1, domain=DOMAIN)
def zip_map(
    x: Array,
    /,
    *,
    classlabels_int64s: Sequence[int] | None,
    classlabels_strings: Sequence[str] | None,
) -> list[dict[Any, Any]]:
    """Make a map of each row, with the class labels as keys.

    Args: x, float32 of shape [N, C], or [C] for a single map.
    Returns: a sequence of maps to float32.
    Errors: another number of columns than keys.
    Source: ZipMap-1, "There must be as many columns as keys."
    """
    _, keys = only(classlabels_int64s=classlabels_int64s, classlabels_strings=classlabels_strings)
    if x.ndim not in (1, 2) or x.shape[-1] != len(keys):
        raise ValueError(f"X has shape {x.shape}; [N, {len(keys)}] or [{len(keys)}] was wanted")
    return [dict(zip(keys, row, strict=True)) for row in x.reshape(-1, len(keys))]
