"""onnxruntime in the process of the test, which can bend it, in place of one in a worker."""

from collections.abc import Callable
from typing import Any

from onnxpad.runtimes import worker


class Here:
    """Stands for a worker."""

    alive = True

    def __init__(self) -> None:
        self.runtime = worker.Runtime()

    def ask(self, call: Callable[..., Any], *arguments: Any) -> Any:
        return call(self.runtime, *arguments)
