"""The built-in kernels as a backend: the oracle that others are compared with."""

from __future__ import annotations

from onnx import ModelProto

from .. import __version__
from ..harness.backend import Runner, Skipped, Unsupported
from ..kernels import Evaluator, MissingPackage
from ..kernels import Unsupported as NoKernel


class Builtin:
    """Runs models with the built-in NumPy kernels, in this process.

    A Loop can be endless or huge: ``time_limit`` is in seconds for each run, ``memory_limit`` in
    bytes beyond what the process has, ``None`` for no limit.
    """

    name = "builtin"

    def __init__(
        self,
        argument: str = "",
        *,
        time_limit: float = 30.0,
        memory_limit: int | None = 4 * 2**30,
    ) -> None:
        if argument:
            raise ValueError(f"it takes no argument, and was given {argument!r}")
        self.time_limit = time_limit
        self.memory_limit = memory_limit

    def version(self) -> str:
        """Return the version of opcheck."""
        return __version__

    def prepare(self, model: ModelProto) -> Runner:
        """Check and compile a model."""
        try:
            evaluator = Evaluator(model)
        except NoKernel as error:
            raise Unsupported(str(error)) from error

        def run(feeds: object) -> list[object]:
            try:
                return evaluator.run(
                    feeds,  # type: ignore[arg-type]
                    time_limit=self.time_limit,
                    memory_limit=self.memory_limit,
                )
            except MissingPackage as error:
                raise Skipped(str(error)) from error
            except NoKernel as error:
                raise Unsupported(str(error)) from error

        return run
