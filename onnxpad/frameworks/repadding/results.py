"""What `match` and `repad` find: frozen values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from onnxpad.frameworks.conventions.question import Answer
from onnxpad.frameworks.conventions.table import Intent
from onnxpad.validation.result import Comparison

Outcome: TypeAlias = Literal["matched", "matches already", "not matched"]


class Operator(Struct, frozen=True):
    """An operator of a model, by the name of its node, and its type."""

    node: str
    op_type: str


class Tried(Struct, frozen=True):
    """A convention of the whole model that was tried, with how many operators it changes.

    The error is the greatest difference from the reference, relative to the range of the output;
    infinite where the model does not run or gives other shapes.
    """

    name: str
    error: float
    operators: int


class Repadded(Operator, frozen=True):
    """An operator whose padding became the one with which the reference is reproduced.

    Its padding before and after is in words, with the name of where that comes from, such as
    `tensorflow-same`, its attributes, and lines of PyTorch and Keras that pad so at these sizes,
    empty where there are none. The answers are what it does before and after. Conventions that are
    `parting` compute the same at the recorded sizes, and something else at others that it may have.
    """

    before: str
    after: str
    name: str
    attributes: Mapping[str, object]
    pytorch: str = ""
    keras: str = ""
    answers: tuple[Answer, ...] = ()
    parting: tuple[str, ...] = ()


class Matching(Struct, frozen=True, dict=True):
    """The verdict of `match` with all that was found and tried.

    Attributes:
        outcome: The verdict.
        reason: Why it is not matched, in one line; else empty.
        before: The greatest difference of the model from the reference, relative to the range.
        worst: The tensor that has it; empty if the model does not run.
        after: The same for what was found.
        changes: The operators that were changed, in file order, to reproduce all before `first`.
        left: Operators whose padding could not be varied, with why.
        tried: The conventions of the whole model that were tried, until one reproduced it.
        by: That one; empty if none does.
        runs: How many times the model ran.
        noise: How much the runtime's own optimiser changes, relative to the range; 0 if it was not
            asked.
        notes: How arrays were matched, a line each.
        first: The first operator that cannot be reached, by an inner tensor; else empty.
        record: Inner tensors that would tell more, if none was recorded and nothing matched.
        rivals: Frameworks whose padding computes the same at the recorded sizes alone.
        undecided: Operators that have another padding in one of these.
        further: Sizes of open axes, by name, at which it does not; empty if none are known.
    """

    outcome: Outcome
    reason: str = ""
    before: float = math.inf
    after: float = math.inf
    changes: tuple[Repadded, ...] = ()
    left: tuple[tuple[str, str], ...] = ()
    tried: tuple[Tried, ...] = ()
    by: str = ""
    runs: int = 0
    noise: float = 0.0
    notes: tuple[str, ...] = ()
    first: str = ""
    record: tuple[str, ...] = ()
    rivals: tuple[str, ...] = ()
    further: Mapping[str, int] = {}
    worst: str = ""
    undecided: tuple[str, ...] = ()


class Rewritten(Operator, frozen=True):
    """An operator whose padding became a framework's for an intent: `same`, `valid` or `causal`.

    Its padding before and after is in words, and in attributes by name, of which absent ones are
    defaults. The answers are what it does before and after, at its sizes, or at some if open.
    """

    intent: Intent
    before: str
    after: str
    attributes_before: Mapping[str, object]
    attributes_after: Mapping[str, object]
    answers: tuple[Answer, ...] = ()


class Unchanged(Operator, frozen=True):
    """An operator whose padding stays, with why; the padding in words, empty if it is not read.

    `is_same` says whether it is known to compute the same in the framework.
    """

    padding: str
    reason: str
    is_same: bool = False


class Difference(Struct, frozen=True):
    """How much each output changes, on those of the inputs (in words) on which it differs most.

    Or why they were not compared (`uncompared`), or why the model with the other padding does not
    run although the original does (`fails`), in one line each.
    """

    outputs: tuple[Comparison, ...] = ()
    inputs: tuple[str, ...] = ()
    uncompared: str = ""
    fails: str = ""
