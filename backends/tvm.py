"""Apache TVM."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import tvm
from onnx import ModelProto, TypeProto, ValueInfoProto
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

from ..harness.backend import Runner, Unsupported
from ..harness.case import Value
from ..harness.dtypes import ELEMENT_TYPES, type_text
from .load_constants import with_constants

#: Element types without a door: TVM packs small integers, and its Python interface does not.
DOORLESS = frozenset("string complex64 complex128 int4 uint4 int2 uint2".split())

#: The inputs, by operator and position, that TVM wants to know when it imports a model.
KNOWN_AT_LOAD = {
    "AffineGrid": (1,),
    "ConstantOfShape": (0,),
    "CumSum": (1,),
    "Expand": (1,),
    "NonMaxSuppression": (2, 3, 4),
    "OneHot": (1, 2),
    "Pad": (1, 2, 3),
    "Range": (0, 1, 2),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "SequenceAt": (1,),
    "SequenceErase": (1,),
    "SequenceInsert": (2,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "SplitToSequence": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
    **{f"Reduce{k}": (1,) for k in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum".split()},
    "ReduceSumSquare": (1,),
}

#: What the messages of a missing implementation have in common.
#: The second half is about inputs that TVM wants to know when it imports a model.
_MISSING = re.compile(
    r"[Nn]ot (yet )?supported|[Uu]nsupported|not implemented|only supports|"
    r"unknown dtype|expects? one of|should be one of|cannot emit this Relax operator|"
    r"[Oo]nly constant|must be a constant|cannot handle ShapeExpr|input new shape to be Shape"
)


class Tvm:
    """Compiles models to machine code with TVM's Relax, and runs them on one thread.

    It wants to know how to reshape, reduce or resize when it imports a model, and refuses models
    that take this as an input.
    With the argument ``constants`` such inputs become initializers (``KNOWN_AT_LOAD`` says which).
    Their values come with a run, so that each run compiles the model, and errors of compiling
    come from the run.
    """

    name = "tvm"

    def __init__(self, argument: str = "") -> None:
        if argument not in ("", "constants"):
            raise ValueError(f"its only argument is 'constants', and it was given {argument!r}")
        self.name = f"tvm:{argument}" if argument else "tvm"
        self.constants = bool(argument)
        tvm.get_global_func("runtime.config_threadpool")(1, 1)

    def version(self) -> str:
        """Return the version of TVM."""
        return str(tvm.__version__)

    def prepare(self, model: ModelProto) -> Runner:
        """Compile a model; with ``constants``, leave that to the run."""
        if self.constants:
            return lambda feeds: _compile(with_constants(model, feeds, KNOWN_AT_LOAD))(feeds)
        return _compile(model)


def _compile(model: ModelProto) -> Runner:
    fixed = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in fixed]
    for value in inputs:
        if type_text(value.type) not in ELEMENT_TYPES.keys() - DOORLESS:
            raise Unsupported(f"TVM takes no input of type {type_text(value.type)}")
    for output in model.graph.output:
        if type_text(output.type) in DOORLESS:
            raise Unsupported(f"TVM gives no output of type {type_text(output.type)}")
    with _translated():
        module = from_onnx(model, shape_dict=_shapes(inputs))
        module = relax.transform.DecomposeOpsForInference()(module)
        machine = relax.VirtualMachine(tvm.compile(module, "llvm"), tvm.cpu())
    types = [output.type for output in model.graph.output]

    def run(feeds: Mapping[str, Value]) -> Sequence[Value]:
        with _translated():
            given = [tvm.runtime.tensor(feeds[value.name]) for value in inputs]
            result = machine["main"](*given)
        several = [result] if len(types) == 1 else result
        return [_from_tvm(value, kind) for value, kind in zip(several, types, strict=True)]

    return run


def _shapes(inputs: Sequence[ValueInfoProto]) -> dict[str, list[Any]]:
    """Return the shapes of inputs.

    TVM itself takes a dimension of 0 for an unknown one, and all unknown ones for the same.
    """
    symbols: dict[str, Any] = {}
    shapes: dict[str, list[Any]] = {}
    for value in inputs:
        if not value.type.tensor_type.HasField("shape"):
            continue
        shape = shapes[value.name] = []
        for i, dim in enumerate(value.type.tensor_type.shape.dim):
            name = dim.dim_param or f"{value.name}_{i}"
            if dim.HasField("dim_value"):
                shape.append(dim.dim_value)
            else:
                shape.append(symbols.setdefault(name, tvm.tirx.Var(name, "int64")))
    return shapes


def _from_tvm(value: Any, declared: TypeProto) -> Value:
    """Copy a value out.

    What Shape and Size compute has types of TVM's own: a list of 64-bit integers, or one.
    """
    if isinstance(value, tvm.runtime.Tensor):
        return value.numpy()
    if isinstance(value, int | tvm.runtime.ShapeTuple):
        return np.array(value if isinstance(value, int) else list(value), np.int64)
    if declared.HasField("sequence_type"):
        return [_from_tvm(item, declared.sequence_type.elem_type) for item in value]
    raise TypeError(f"TVM gave a {type(value).__name__} for an output of {type_text(declared)}")


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the errors that say "not implemented" into ``Unsupported``."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except Exception as error:
        if isinstance(error, NotImplementedError) or _MISSING.search(str(error)):
            raise Unsupported(str(error)) from error
        raise
