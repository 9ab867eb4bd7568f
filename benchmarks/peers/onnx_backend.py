"""onnx's own test runner on onnxruntime, as a test file has it; ``Workshop`` copies it."""

from onnx.backend.test import BackendTest
from onnxruntime.backend.backend import OnnxRuntimeBackend

OnnxBackendNodeModelTest = BackendTest(OnnxRuntimeBackend, __name__).test_cases[
    "OnnxBackendNodeModelTest"
]
