"""tract."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tract
from numpy.typing import NDArray
from onnx import ModelProto

from ..harness.backend import Runner, Unsupported
from ..harness.case import Value
from ..harness.dtypes import type_text
from .load_constants import with_constants

# A panic becomes an exception; a trace of it would take fifty times as long.
os.environ["RUST_BACKTRACE"] = "0"

#: The element types that tract's C interface has a number for, and NumPy a type.
NATIVE = frozenset(
    "bool float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
)

#: The inputs, by operator and position, that tract wants to know when it loads a model.
KNOWN_AT_LOAD = {
    "BatchNormalization": (1, 2, 3, 4),
    "ConstantOfShape": (0,),
    "CumSum": (1,),
    "DFT": (1, 2),
    "DequantizeLinear": (1, 2),
    "Expand": (1,),
    "LSTM": (4,),
    "MelWeightMatrix": (0, 1, 2, 3, 4),
    "OneHot": (1, 2),
    "Pad": (1, 2, 3),
    "QuantizeLinear": (1, 2),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "STFT": (1, 2, 3),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    **dict.fromkeys(("BlackmanWindow", "HammingWindow", "HannWindow"), (0,)),
    **{f"Reduce{k}": (1,) for k in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum".split()},
    "ReduceSumSquare": (1,),
}

#: What the messages of a missing implementation have in common.
#: The second half is about inputs that tract wants to know when it loads a model.
_MISSING = re.compile(
    r"Unimplemented\(|Unknown DatumType|unknown ONNX TensorProto.DataType|has no type value|"
    r"[Nn]ot supported|Unsupported|not implemented|can not be typed|is typable only if|"
    r"(expected|Expected|Expect|expects|Need|must|not|Non|input is)\b.*"
    r"\b(const|constants?|variable|known scalar|determined)\b|scale: None, sizes: None"
)


class Tract:
    """Runs models with tract.

    It wants to know how to reshape, reduce or resize when it loads a model, and refuses models
    that take this as an input.
    With the argument ``constants`` such inputs become initializers (``KNOWN_AT_LOAD`` says which).
    Their values come with a run, so that each run loads the model, and errors of loading come
    from the run.
    """

    name = "tract"

    def __init__(self, argument: str = "") -> None:
        if argument not in ("", "constants"):
            raise ValueError(f"its only argument is 'constants', and it was given {argument!r}")
        self.name = f"tract:{argument}" if argument else "tract"
        self.constants = bool(argument)

    def version(self) -> str:
        """Return the version of tract."""
        return str(tract.version())

    def prepare(self, model: ModelProto) -> Runner:
        """Load a model; with ``constants``, leave that to the run."""
        if self.constants:
            return lambda feeds: _load(with_constants(model, feeds, KNOWN_AT_LOAD))(feeds)
        return _load(model)


def _load(model: ModelProto) -> Runner:
    """Load a model by way of a file: the Python interface takes nothing else."""
    for value in model.graph.input:
        text = type_text(value.type)
        if text not in NATIVE:
            raise Unsupported(f"tract's Python interface takes no input of type {text}")
    with _translated(), tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(model.SerializeToString())
        loaded = tract.onnx().load(path)
        names = [loaded.input_name(i) for i in range(loaded.input_count())]
        runnable = loaded.into_model().into_runnable()

    def run(feeds: Mapping[str, Value]) -> Sequence[Value]:
        with _translated():
            return [_from_tract(output) for output in runnable.run([feeds[n] for n in names])]

    return run


def _from_tract(tensor: Any) -> NDArray[Any]:
    """Copy a tensor out.

    What Shape and Size compute has tract's own type of dimensions, which has no number in the C
    interface; converting it to int64 is the way out that tract offers.
    """
    try:
        kind = tensor.datum_type()
    except tract.TractError as error:
        if "TDim" not in str(error):
            raise
        return _from_tract(tensor.convert_to(tract.DatumType.I64))
    if kind.name.startswith("COMPLEX"):
        raise Unsupported(f"tract's Python interface gives no output of type {kind.name}")
    array: NDArray[Any] = tensor.to_numpy()
    return array


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the errors that say "not implemented" into ``Unsupported``, and cut backtraces."""
    try:
        yield
    except tract.TractError as error:
        text = str(error).partition("\n\nStack backtrace:")[0]
        if _MISSING.search(text):
            raise Unsupported(text) from error
        raise tract.TractError(text) from error
