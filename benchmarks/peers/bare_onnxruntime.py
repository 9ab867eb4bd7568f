"""The bare loop over ONNX test data on onnxruntime: ``bare_onnxruntime.py FOLDER``.

It reads each model and its inputs, opens a session with one thread and runs it; it reads no
expected outputs and compares nothing.
"""

import ctypes
import re
import sys
from pathlib import Path
from typing import Any

import onnx
import onnxruntime as ort
from onnx import numpy_helper

PROTOS: dict[str, Any] = {"seq": onnx.SequenceProto, "optional": onnx.OptionalProto}
READERS: dict[str, Any] = {"seq": numpy_helper.to_list, "optional": numpy_helper.to_optional}
#: Types that onnxruntime does not take and give as NumPy arrays.
FOREIGN = re.compile(r"\((bfloat16|float8|float4|u?int[24]\b)")


def value(path: Path, kind: str) -> Any:
    """Read an input of a type such as ``seq(tensor(float))``."""
    word = kind.partition("(")[0]
    proto = PROTOS.get(word, onnx.TensorProto)()
    proto.ParseFromString(path.read_bytes())
    if not FOREIGN.search(kind) or word in PROTOS:
        return READERS.get(word, numpy_helper.to_array)(proto)
    target = ort.OrtValue.ortvalue_from_shape_and_type(list(proto.dims), proto.data_type)
    ctypes.memmove(target.data_ptr(), proto.raw_data, len(proto.raw_data))
    return target


def ort_value(read: Any) -> Any:
    """Make an OrtValue of an array."""
    return read if isinstance(read, ort.OrtValue) else ort.OrtValue.ortvalue_from_numpy(read)


def main(folder: str) -> None:
    """Run all models of a folder; print how many ran, and how many could not."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    ran = refused = 0
    for model in sorted(Path(folder).glob("*/model.onnx")):
        try:
            session = ort.InferenceSession(
                model.read_bytes(), options, providers=["CPUExecutionProvider"]
            )
            inputs = session.get_inputs()
            foreign = any(FOREIGN.search(v.type) for v in (*inputs, *session.get_outputs()))
            for data in sorted(model.parent.glob("test_data_set_*")):
                files = (data / f"input_{i}.pb" for i in range(len(inputs)))
                feeds = {i.name: value(f, i.type) for i, f in zip(inputs, files, strict=False)}
                if foreign:
                    given = {name: ort_value(read) for name, read in feeds.items()}
                    session.run_with_ort_values(None, given)
                else:
                    session.run(None, feeds)
            ran += 1
        except Exception:  # onnxruntime does not implement everything
            refused += 1
    print(f"{ran} ran, {refused} refused")


if __name__ == "__main__":
    main(sys.argv[1])
