"""The changes that rest on the specification where onnxruntime reads the original otherwise.

They are made first. Validation then compares the result with the model that these changes leave,
since onnxruntime cannot compute what the original means.
"""

from collections.abc import Iterator
from typing import Final

from onnxpad.passes.resolve_auto_pad import ResolveAutoPad
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.rule import Match, Pass


class ResolveDisputed(ResolveAutoPad):
    """SAME on which the engines disagree, and nothing else."""

    def find(self, context: Context) -> Iterator[Match]:
        """The findings that the trusted engine decides."""
        return (match for match in super().find(context) if match.decides)


DECIDING: Final[tuple[type[Pass], ...]] = (ResolveDisputed,)
