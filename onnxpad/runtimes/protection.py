"""How a graph is protected from the optimiser of the runtime that is deployed (see `deployed`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from onnxpad.runtimes.onnxruntime.guard import (
    Exposing,
    can_guard,
    guard,
    misfused_neighbours,
    shield,
    takes_empty_fill,
)

if TYPE_CHECKING:
    from onnxpad.rewrite.pass_api import Context
    from onnxpad.runtimes.deployed import Exposed

__all__ = [
    "Exposing",
    "can_guard",
    "guard",
    "misfolded",
    "misfused_neighbours",
    "shield",
    "takes_empty_fill",
]


def misfolded(context: Context) -> Sequence[Exposed] | None:
    """The `Pad`s that the runtime folds wrongly, as it says; None where it cannot be asked."""
    from onnxpad.runtimes.onnxruntime import ask_optimiser

    return ask_optimiser.misfolded(context)
