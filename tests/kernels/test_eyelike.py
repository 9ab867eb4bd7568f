"""EyeLike, held against its definition element by element."""

import ml_dtypes
import numpy as np
import onnx
import onnx.defs
import pytest

from opcheck.kernels import registry

VERSIONS = (9, 22)


def call(version, x, dtype=None, k=0):
    return registry.find(onnx.defs.get_schema("EyeLike", version)).function(x, dtype=dtype, k=k)


def types(version):
    names = onnx.defs.get_schema("EyeLike", version).outputs[0].types
    names = [name[len("tensor(") : -1] for name in names]
    return [{"float": "float32", "double": "float64"}.get(name, name) for name in names]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (1, 1), (0, 3), (3, 0)])
def test_ones_where_column_minus_row_is_k(shape, version):
    """In each type, by the input or by the attribute."""
    for name in types(version):
        element = np.dtype(getattr(ml_dtypes, name, name))
        number = onnx.helper.np_dtype_to_tensor_dtype(element)
        for k in (-(2**63), -3, -2, -1, 0, 1, 2, 3, 2**63 - 1):
            wanted = [[float(j - i == k) for j in range(shape[1])] for i in range(shape[0])]
            for x, dtype in ((np.full(shape, 1, element), None), (np.full(shape, 7), number)):
                got = call(version, x, dtype, k)
                assert (got.dtype, got.shape) == (element, shape)
                assert got.astype(float).tolist() == wanted


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_refused(version):
    """bfloat16 came with version 22; strings and unknown numbers never did."""
    for shape in ((), (2,), (1, 2, 3)):
        with pytest.raises(ValueError, match="rank of 2"):
            call(version, np.zeros(shape, np.float32))
    refused = [onnx.TensorProto.STRING, onnx.TensorProto.COMPLEX64, 0, 999]
    refused += [onnx.TensorProto.BFLOAT16] if version == 9 else []
    for number in refused:
        with pytest.raises(ValueError, match="dtype is"):
            call(version, np.zeros((1, 2), np.float32), number)
