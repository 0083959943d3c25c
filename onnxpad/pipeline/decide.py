"""The changes that rest on the specification where onnxruntime reads the original otherwise.

They are made first. Validation then compares the result with the model that these changes leave,
since onnxruntime cannot compute what the original means.
"""

from collections.abc import Iterator
from typing import Final

from onnxpad.passes.resolve_auto_pad import ResolveAutoPad
from onnxpad.passes.resolve_transposed import ResolveTransposed
from onnxpad.passes.round_down import RoundDown
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.rule import Match, Pass


def deciding(kind: type[Pass]) -> type[Pass]:
    """A pass that finds only what the trusted engine decides."""

    class Deciding(kind):  # type: ignore[misc, valid-type]
        def find(self, context: Context) -> Iterator[Match]:
            return (match for match in super().find(context) if match.decides)

    return Deciding


DECIDING: Final = tuple(map(deciding, (ResolveAutoPad, ResolveTransposed, RoundDown)))
