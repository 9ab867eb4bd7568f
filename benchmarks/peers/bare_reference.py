"""The bare loop over ONNX test data on onnx's ReferenceEvaluator: ``bare_reference.py FOLDER``.

It reads each model and its inputs and runs it; it reads no expected outputs and compares nothing.
"""

import sys
import warnings
from pathlib import Path
from typing import Any

import onnx
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

PROTOS: dict[str, Any] = {
    "sequence_type": onnx.SequenceProto,
    "optional_type": onnx.OptionalProto,
}
READERS: dict[str, Any] = {
    "sequence_type": numpy_helper.to_list,
    "optional_type": numpy_helper.to_optional,
}


def value(path: Path, declared: onnx.TypeProto) -> Any:
    """Read an input of a type."""
    kind = declared.WhichOneof("value") or ""
    proto = PROTOS.get(kind, onnx.TensorProto)()
    proto.ParseFromString(path.read_bytes())
    return READERS.get(kind, numpy_helper.to_array)(proto)


def main(folder: str) -> None:
    """Run all models of a folder; print how many ran, and how many could not."""
    warnings.simplefilter("ignore")
    ran = refused = 0
    for path in sorted(Path(folder).glob("*/model.onnx")):
        try:
            model = onnx.load(path)
            evaluator = ReferenceEvaluator(model)
            inputs = list(model.graph.input)
            for data in sorted(path.parent.glob("test_data_set_*")):
                files = (data / f"input_{i}.pb" for i in range(len(inputs)))
                feeds = {i.name: value(f, i.type) for i, f in zip(inputs, files, strict=True)}
                evaluator.run(None, feeds)
            ran += 1
        except Exception:  # the evaluator does not implement everything
            refused += 1
    print(f"{ran} ran, {refused} refused")


if __name__ == "__main__":
    main(sys.argv[1])
