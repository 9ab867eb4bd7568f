"""The kernels on optional values."""

import numpy as np
import onnx
import onnx.defs
import onnx.helper
import pytest

from kernel_calls import call
from opcheck.kernels import optional, registry

OPERATORS = ("Optional", "OptionalGetElement", "OptionalHasElement")
SCHEMAS = [
    s for s in onnx.defs.get_all_schemas_with_history() if s.name in OPERATORS and not s.domain
]
FLOAT_TYPE = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None)
#: A false tensor and an empty sequence are elements too.
VALUES = [
    pytest.param(np.array(False), id="scalar"),
    pytest.param(np.empty((0, 2), np.float32), id="empty-tensor"),
    pytest.param(np.array(["é"], object), id="strings"),
    pytest.param([], id="empty-sequence"),
    pytest.param([np.zeros(2, np.complex64)], id="sequence"),
]


def versions(operator):
    return sorted(s.since_version for s in SCHEMAS if s.name == operator)


def test_every_version_has_a_kernel():
    assert versions("OptionalGetElement") == [15, 18, 28]
    for schema in SCHEMAS:
        assert registry.find(schema).function.__module__ == optional.__name__


@pytest.mark.parametrize("version", versions("Optional"))
@pytest.mark.parametrize("value", VALUES)
def test_optional_of_a_value_is_the_value(version, value):
    assert call("Optional", version, value) is value
    assert call("Optional", version, value, type=FLOAT_TYPE) is value


@pytest.mark.parametrize("version", versions("Optional"))
def test_optional_of_a_type_is_empty(version):
    assert call("Optional", version, type=FLOAT_TYPE) is None
    assert call("Optional", version, None, type=FLOAT_TYPE) is None
    with pytest.raises(ValueError, match="neither an input nor the attribute type"):
        call("Optional", version)


@pytest.mark.parametrize("version", versions("OptionalGetElement"))
@pytest.mark.parametrize("value", VALUES)
def test_get_element(version, value):
    assert call("OptionalGetElement", version, value) is value


@pytest.mark.parametrize("version", versions("OptionalGetElement"))
def test_get_element_of_an_empty_optional_is_an_error(version):
    with pytest.raises(ValueError, match="the optional is empty; an element was wanted"):
        call("OptionalGetElement", version, None)


@pytest.mark.parametrize("version", versions("OptionalHasElement"))
@pytest.mark.parametrize("value", [*VALUES, pytest.param(None, id="empty-optional")])
def test_has_element(version, value):
    result = call("OptionalHasElement", version, value)
    assert isinstance(result, np.ndarray)
    assert (result.dtype, result.shape) == (np.dtype(bool), ())
    assert bool(result) is (value is not None)


@pytest.mark.parametrize("version", [18, 28])
def test_has_element_without_an_input_is_false(version):
    assert call("OptionalHasElement", version).tolist() is False
