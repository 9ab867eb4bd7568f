"""Runs a compiled model with the built-in kernels."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.checker
import onnx.shape_inference
from onnx import ModelProto

from .compiler import Compiler, Program
from .limits import Deadline, limited_memory
from .plain import NodeError, run_plain
from .prepare import InvalidModel, canonical, check_functions, check_known
from .straight import run_once, run_straight
from .valuetype import ValueType, as_array, describe, fits, of_proto, with_typed_maps

Value = Any
Interpret = Callable[[Program, Sequence[Value], Deadline], Sequence[Value]]

#: The environment variable that chooses how a model runs, to check one way with another.
#: ``plain`` interprets all graphs, ``straight`` compiles all; otherwise bodies are compiled, and
#: the main graph when it runs for the second time.
CHOICE = "OPCHECK_EVALUATOR"


class Evaluator:
    """A model, checked and compiled once, to be run any number of times.

    Raises ``InvalidModel`` where the model breaks a rule of the specification, and
    ``Unsupported`` where an operator, version or type has no built-in kernel.
    """

    def __init__(self, model: ModelProto) -> None:
        try:
            model = canonical(model)
            check_known(model)
            check_functions(model)
            onnx.checker.check_model(model, full_check=True)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
            raise InvalidModel(" ".join(str(error).split())) from error
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
        self._program = Compiler(inferred).model(inferred)
        initialized = {t.name for t in model.graph.initializer}
        self._required = [n for n in self._program.input_names if n not in initialized]
        self._has_run = False
        # Not as inferred: what inference finds is no promise of the model.
        self._declared = {o.name: of_proto(o.type) for o in model.graph.output}

    def run(
        self,
        feeds: Mapping[str, Value],
        *,
        time_limit: float | None = None,
        memory_limit: int | None = None,
    ) -> list[Value]:
        """Run the model on inputs by name; return its outputs in order.

        Args: feeds, a value for each input without an initializer; time_limit, in seconds, held
        between nodes; memory_limit, in bytes beyond what this process has now.
        Raises ``ValueError`` for inputs that do not fit, ``NodeError`` for a node that cannot be
        computed, ``TimeoutError`` past the time limit, ``MemoryError`` past the memory limit.
        """
        program = self._program
        feeds = {name: as_array(value) for name, value in feeds.items()}
        self._check_feeds(feeds)
        taken = zip(program.input_names, program.inputs, program.input_types, strict=True)
        arguments = [
            with_typed_maps(feeds[name], declared.text) if name in feeds else program.frame[slot]
            for name, slot, declared in taken
        ]
        choice = os.environ.get(CHOICE)
        if choice == "plain":
            interpret: Interpret = run_plain
        else:
            interpret = run_straight if self._has_run or choice == "straight" else run_once
            self._has_run = True
        with np.errstate(all="ignore"), limited_memory(memory_limit):
            outputs = list(interpret(program, arguments, Deadline(time_limit)))
        for name, value in zip(program.output_names, outputs, strict=True):
            _check_value(f"the output {name!r}", value, self._declared[name], NodeError)
        return outputs

    def _check_feeds(self, feeds: Mapping[str, Value]) -> None:
        missing = [name for name in self._required if name not in feeds]
        unknown = [name for name in feeds if name not in self._program.input_names]
        if missing or unknown:
            raise ValueError(
                f"the model takes {', '.join(self._program.input_names) or 'no inputs'}; "
                f"missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}"
            )
        for name, declared in zip(
            self._program.input_names, self._program.input_types, strict=True
        ):
            if name in feeds:
                _check_value(f"the input {name!r}", feeds[name], declared, ValueError)


def _check_value(what: str, value: Value, declared: ValueType, error: type[ValueError]) -> None:
    """Hold an input or output of the model against its declared type and shape."""
    if declared.text and not fits(value, declared.text):
        raise error(f"{what} is {describe(value)}; the model wants {declared.text}")
    if declared.shape is not None and isinstance(value, np.ndarray):
        agrees = len(declared.shape) == value.ndim and all(
            d is None or d == s for d, s in zip(declared.shape, value.shape, strict=True)
        )
        if not agrees:
            raise error(f"{what} has shape {value.shape}; the model wants {declared.shape}")
