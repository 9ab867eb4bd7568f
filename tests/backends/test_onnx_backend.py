"""The onnx-backend door, with modules made here and with real ones where they are installed."""

from __future__ import annotations

import gc
import os
import shutil
import sys
import types

import ml_dtypes
import numpy as np
import onnx.parser
import pytest
from onnx.backend.base import Backend, BackendRep
from onnx.reference import ReferenceEvaluator

from opcheck.backends.onnx_backend import OnnxBackend
from opcheck.harness.backend import Unsupported

SUB = (
    '<ir_version: 8, opset_import: ["" : 17]>\n'
    "g (float[1] a, float[1] b) => (float[1] y) { y = Sub(a, b) }"
)


class BackendIsNotSupposedToImplementIt(Exception):
    """As in ``onnx.backend.test.runner``."""


class Rep(BackendRep):
    def __init__(self, model):
        self.evaluator = ReferenceEvaluator(model)

    def run(self, inputs, **kwargs):
        return tuple(
            self.evaluator.run(None, dict(zip(self.evaluator.input_names, inputs, strict=True)))
        )


class Good(Backend):
    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        assert device == "CPU"
        return Rep(model)


@pytest.fixture
def module(monkeypatch):
    """Return a function that makes an importable module."""

    def make(**members):
        made = types.ModuleType("opcheck_test_backend")
        vars(made).update(members)
        monkeypatch.setitem(sys.modules, made.__name__, made)
        return made.__name__

    return make


def sub(backend, text: str = SUB):
    feeds = {"b": np.array([2.0], np.float32), "a": np.array([5.0], np.float32)}
    return list(backend.prepare(onnx.parser.parse_model(text))(feeds))


@pytest.mark.parametrize(
    "members",
    [
        pytest.param(
            {"prepare": Good.prepare, "supports_device": Good.supports_device}, id="bound"
        ),
        pytest.param({"prepare": lambda model, device: Rep(model)}, id="function"),
        pytest.param({"Good": Good, "Backend": Backend}, id="class"),
    ],
)
def test_the_interface_of_a_module_is_found(module, members):
    """Exported methods, a plain function or the one class; inputs go by name."""
    (result,) = sub(OnnxBackend(module(**members)))
    assert result.tolist() == [3]


def test_a_class_can_be_named(module):
    """Where a module has two, one has to be."""
    name = module(Good=Good, Other=type("Other", (Good,), {}))
    with pytest.raises(ValueError, match=r"Good, Other.*onnx-backend:opcheck_test_backend:CLASS"):
        OnnxBackend(name)
    backend = OnnxBackend(f"{name}:Good")
    assert backend.name == "onnx-backend:opcheck_test_backend:Good"
    assert sub(backend)[0].tolist() == [3]


@pytest.mark.parametrize(
    ("argument", "message"),
    [("", "needs a module"), ("json", "has no function prepare")],
)
def test_what_is_no_backend_cannot_start(argument, message):
    """The message says what was wanted."""
    with pytest.raises(ValueError, match=message):
        OnnxBackend(argument)


def test_a_backend_without_a_cpu_cannot_start(module):
    """It is asked with ``supports_device``."""
    kind = type("Elsewhere", (Good,), {"supports_device": classmethod(lambda cls, device: False)})
    with pytest.raises(ValueError, match="does not support the device CPU"):
        OnnxBackend(module(kind=kind))


def refuse(error):
    def prepare(cls, model, device="CPU", **kwargs):
        raise error

    return {"prepare": classmethod(prepare)}


@pytest.mark.parametrize(
    "members",
    [
        pytest.param(refuse(BackendIsNotSupposedToImplementIt("no")), id="opt-out"),
        pytest.param(refuse(NotImplementedError()), id="not-implemented"),
        pytest.param(refuse(RuntimeError("Sub is not supported")), id="message"),
        pytest.param(
            {"is_compatible": classmethod(lambda cls, model, device: False)}, id="incompatible"
        ),
        pytest.param(
            {"is_opset_supported": classmethod(lambda cls, model: (False, "old"))}, id="opset"
        ),
        pytest.param({"prepare": classmethod(lambda cls, model, device: None)}, id="none"),
    ],
)
def test_every_way_to_opt_out_is_unsupported(module, members):
    """And never a pass, an error or a failure."""
    with pytest.raises(Unsupported):
        sub(OnnxBackend(module(kind=type("Shy", (Good,), members))))


def test_models_with_sequences_go_whole_to_run_model(module):
    """A compiler sees the shapes of the items only beside the inputs."""

    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return ReferenceEvaluator(model).run(None, {"x": inputs[0]})

    kind = type("Late", (Good,), {"prepare": None, "run_model": classmethod(run_model)})
    text = identity("seq(float[?])").replace('"" : 13', '"" : 16')
    backend = OnnxBackend(module(kind=kind))
    ready = backend.prepare(onnx.parser.parse_model(text))
    (result,) = ready({"x": [np.ones(1, np.float32), np.zeros(2, np.float32)]})
    assert [r.tolist() for r in result] == [[1], [0, 0]]


def test_other_errors_pass_through(module):
    """They belong to the case."""
    kind = type("Broken", (Good,), refuse(RuntimeError("shapes do not fit")))
    with pytest.raises(RuntimeError, match="do not fit"):
        sub(OnnxBackend(module(kind=kind)))


def identity(type_text: str) -> str:
    return (
        f'<ir_version: 8, opset_import: ["" : 13]>\n'
        f"g ({type_text} x) => ({type_text} y) {{ y = Identity(x) }}"
    )


def give_back(backend, type_text: str, value):
    """Check that a backend's Identity changes nothing."""
    model = onnx.parser.parse_model(identity(type_text))
    (result,) = backend.prepare(model)({"x": value})
    assert isinstance(result, np.ndarray)
    assert (result.dtype, result.shape) == (value.dtype, value.shape)
    assert result.tobytes() == value.tobytes()


@pytest.mark.filterwarnings("ignore")
def test_emx_onnx_cgen(monkeypatch):
    """A real one, that has a class and no module functions."""
    pytest.importorskip("emx_onnx_cgen")
    compiler = os.environ.get("CC") or shutil.which("clang") or shutil.which("cc")
    if compiler is None:
        pytest.skip("it needs a C compiler")
    monkeypatch.setenv("CC", compiler)
    backend = OnnxBackend("emx_onnx_cgen.onnx_backend.backend")
    assert backend.version()[0].isdigit()
    give_back(backend, "float[3]", np.array([1.5, -0.0, np.inf], np.float32))
    give_back(backend, "int64[2]", np.array([2**63 - 1, -(2**63)]))
    assert sub(backend)[0].tolist() == [3]
    with pytest.raises(Unsupported):
        sub(backend, SUB.replace("Sub", "NoSuchOperator"))
    gc.collect()  # it leaves its folders to the collector, which warns of each


@pytest.mark.filterwarnings("ignore")
def test_jaxonnxruntime():
    """A real one, that has module functions; its results are JAX's arrays."""
    pytest.importorskip("jaxonnxruntime")
    backend = OnnxBackend("jaxonnxruntime.backend")
    give_back(backend, "float[2]", np.array([1.5, -0.0], np.float32))
    give_back(backend, "bfloat16[2]", np.array([1.5, -0.0], ml_dtypes.bfloat16))
    with pytest.raises(Unsupported):
        sub(backend, SUB.replace("Sub", "NoSuchOperator"))
