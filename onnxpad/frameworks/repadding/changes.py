"""The result of bringing a model to a framework's padding: frozen values."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from onnxpad.frameworks.conventions.table import Intent


class Rewritten(Struct, frozen=True):
    """An operator whose padding became a framework's.

    Attributes:
        node: The operator.
        op_type: Its type.
        intent: The intent of its padding: `same`, `valid` or `causal`.
        before: Its padding before, in words.
        after: Its padding after.
        attributes_before: Its attributes of padding before, by name; absent ones are defaults.
        attributes_after: The same after.
    """

    node: str
    op_type: str
    intent: Intent
    before: str
    after: str
    attributes_before: Mapping[str, object]
    attributes_after: Mapping[str, object]


class Unchanged(Struct, frozen=True):
    """An operator whose padding stays.

    Attributes:
        node: The operator.
        op_type: Its type.
        padding: Its padding, in words; empty where it could not be read.
        reason: Why it stays.
        is_same: Whether it is known to compute the same in the framework.
    """

    node: str
    op_type: str
    padding: str
    reason: str
    is_same: bool = False


class OutputChange(Struct, frozen=True):
    """One output of both models.

    Attributes:
        output: Its name.
        before: Its shape in the original; empty if it is no tensor.
        after: Its shape with the other padding.
        max_abs: The greatest absolute difference; infinite where shapes differ or it is not finite.
        relative: That relative to the range of the original's output, its greatest less its least
            element.
    """

    output: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    max_abs: float
    relative: float

    @property
    def is_equal(self) -> bool:
        """Whether both are equal element by element."""
        return self.before == self.after and self.max_abs == 0


class Difference(Struct, frozen=True):
    """How much the outputs change.

    Attributes:
        outputs: One for each output: the greatest difference over all inputs.
        inputs: The inputs, in words.
        uncompared: Why the outputs were not compared, in one line; else empty.
        fails: Why the model with the other padding does not run, although the original does; else
            empty.
    """

    outputs: tuple[OutputChange, ...] = ()
    inputs: tuple[str, ...] = ()
    uncompared: str = ""
    fails: str = ""


NOTHING = Difference()
