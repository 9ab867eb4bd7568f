"""The built-in kernels, and the evaluator that runs a model with them.

Importing the package registers every kernel.
"""

from . import (  # noqa: F401 - importing a family registers its kernels
    controlflow,
    generator,
    generator_range,
    logical,
    math,
    math_matmul,
    optional,
    reduction,
    sequence,
    tensor,
    tensor_cast,
    tensor_shape,
)
from .evaluator import Evaluator, NodeError
from .prepare import InvalidModel
from .registry import Unsupported, registered

__all__ = ["Evaluator", "InvalidModel", "NodeError", "Unsupported", "registered"]
