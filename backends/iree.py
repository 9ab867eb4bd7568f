"""IREE."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import iree.compiler as compiler
import iree.runtime as rt
import numpy as np
import onnx.shape_inference
from iree.compiler.extras import onnx_importer
from iree.compiler.ir import Context
from iree.compiler.version import VERSION
from iree.runtime.dtypes import map_dtype_to_hal_element_type
from numpy.typing import NDArray
from onnx import ModelProto

from ..harness.backend import Runner, Unsupported
from ..harness.case import Value
from ..harness.dtypes import ELEMENT_TYPES, ElementType, element_type_of_number, type_text

#: What IREE calls the element types; those that share a byte have no door.
HAL_TYPES = {
    name: hal
    for name, element in ELEMENT_TYPES.items()
    if name != "string" and (hal := map_dtype_to_hal_element_type(element.dtype)) is not None
}

#: How to compile: float64 not as float32, and for no processor in particular, so that results
#: are the same on all of them.
OPTIONS = (
    "--iree-input-demote-f64-to-f32=false",
    "--iree-llvmcpu-target-cpu=generic",
    "--mlir-disable-threading",
)

#: What the messages of a missing implementation have in common.
_MISSING = re.compile(
    r"failed to legalize operation|Unknown ONNX tensor element type|Unsupport|[Uu]nsupported|"
    r"not supported|not implemented|unimplemented"
)

#: The exit status and the diagnostics in an error of the compiler.
_TOLD = re.compile(
    r"Error code: (-?\d+)\s+Diagnostics:\s+(.*?)\s*(?:Stack dump:|Invoked with:)", re.DOTALL
)


class Iree:
    """Compiles models with IREE, for any processor, and runs them in the calling thread.

    The compiler is a process of its own.
    """

    name = "iree"

    def __init__(self, argument: str = "") -> None:
        if argument:
            raise ValueError(f"it takes no argument, and was given {argument!r}")
        self.config = rt.Config("local-sync")

    def version(self) -> str:
        """Return the version of IREE's compiler."""
        return str(VERSION)

    def prepare(self, model: ModelProto) -> Runner:
        """Compile a model."""
        fixed = {tensor.name for tensor in model.graph.initializer}
        inputs = [value for value in model.graph.input if value.name not in fixed]
        for value in (*inputs, *model.graph.output):
            if type_text(value.type) not in HAL_TYPES:
                raise Unsupported(f"IREE has no tensors of type {type_text(value.type)}")
        with _translated():
            code = _compile(model)
            module = rt.VmModule.copy_buffer(self.config.vm_instance, code)
            modules = [*self.config.default_vm_modules, module]
            context = rt.VmContext(self.config.vm_instance, modules)
            function = module.lookup_function("main")
        types = [element_type_of_number(v.type.tensor_type.elem_type) for v in model.graph.output]

        def run(feeds: Mapping[str, Value]) -> Sequence[Value]:
            arguments, results = rt.VmVariantList(len(inputs)), rt.VmVariantList(len(types))
            for value in inputs:
                arguments.push_ref(self._to_iree(feeds[value.name], type_text(value.type)))
            with _translated():
                context.invoke(function, arguments, results)
            views = [results.get_as_object(i, rt.HalBufferView) for i in range(len(results))]
            return [_from_iree(v, declared) for v, declared in zip(views, types, strict=True)]

        return run

    def _to_iree(self, value: NDArray[Any], name: str) -> Any:
        return self.config.device.allocator.allocate_buffer_copy(
            memory_type=rt.MemoryType.DEVICE_LOCAL,
            allowed_usage=rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING,
            device=self.config.device,
            buffer=np.asarray(value, order="C"),
            element_type=HAL_TYPES[name],
        )


def _compile(model: ModelProto) -> bytes:
    """Compile a model.

    The importer wants every type in the graph, and shapes where they can be known: onnx's shape
    inference adds them, as ``iree-import-onnx`` does.
    The name of the graph becomes that of the function.
    """
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    inferred.graph.name = "main"
    info = onnx_importer.ModelInfo(inferred)
    module = info.create_module(Context()).operation
    onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
    code: bytes = compiler.compile_str(
        module.get_asm(),
        input_type="onnx",
        target_backends=["llvm-cpu"],
        extra_args=OPTIONS,
    )
    return code


def _from_iree(view: Any, declared: ElementType | None) -> NDArray[Any]:
    """Copy a tensor out.

    IREE's integers have no sign of their own: the bits are read as the model declares them.
    """
    assert declared is not None
    names = [name for name, hal in HAL_TYPES.items() if int(hal) == int(view.element_type)]
    if names:
        dtype = ELEMENT_TYPES[names[0]].dtype
    else:
        dtype = np.dtype(rt.HalElementType.map_to_dtype(view.element_type))
    same_size = dtype.itemsize == declared.dtype.itemsize
    if same_size and dtype.kind in "iu" and declared.dtype.kind in "iu":
        dtype = declared.dtype
    shape = tuple(view.shape)
    raw: NDArray[Any] = view.map().asarray((view.byte_length,), np.dtype(np.uint8)).copy()
    return raw.view(dtype).reshape(shape)


@contextmanager
def _translated() -> Iterator[None]:
    """Turn the errors that say "not implemented" into ``Unsupported``.

    The compiler's call and stack are cut from its messages.
    """
    try:
        yield
    except compiler.CompilerToolError as error:
        told = _TOLD.search(str(error))
        status, text = told.groups() if told else ("", str(error))
        if _MISSING.search(text):
            raise Unsupported(text) from error
        raise RuntimeError(f"iree-compile ended with status {status}: {text}") from error
    except Exception as error:
        if _MISSING.search(str(error)):
            raise Unsupported(str(error)) from error
        raise
