"""Why padding stays as it is: every reason that there is, by its code.

Imports nothing of the package. A code never changes its meaning. What a reason is about in one
case, numbers, names and axes, goes along as facts.
"""

import enum
from types import MappingProxyType


class Reason(enum.StrEnum):
    """The code of a reason, and what it means in one line.

    Attributes:
        meaning: What it says of the padding.
    """

    meaning: str

    def __new__(cls, code: str, meaning: str) -> "Reason":
        """A code with its meaning."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    # What the operator or the Pad is, and what reads it.
    OPERATOR_NOT_COVERED = "operator-not-covered", "the operator is none that onnxpad covers"
    CUSTOM_OPERATOR = "custom-operator", "an operator of another domain, or a function of the model"
    UNREADABLE = "unreadable", "the node says something that the specification does not allow"
    READER_UNREADABLE = "reader-unreadable", "the operator that reads the Pad cannot be read itself"
    STEPS_BETWEEN = "steps-between", "other operators stand between the Pad and the next window"
    NO_WINDOW = "no-window", "what reads the Pad leads to no window nearby"
    READ_AS_OPERAND = "read-as-operand", "an operator reads the Pad as its weight or the like"
    GRAPH_OUTPUT = "graph-output", "the Pad is an output of the graph"
    READ_IN_BODY = "read-in-body", "a body of an If, Loop or Scan reads the Pad"
    AS_ASKED = "as-asked", "the style, or the choice for open sizes, wants the padding as it is"
    UNUSED = "unused", "nothing reads the Pad"
    OTHER_SCOPE = "other-scope", "the padding is in a body or function, into which nobody looks"


class RefusalError(Exception):
    """Why a padding stays as it is, in words that a user can act on.

    Attributes:
        code: The reason.
        facts: What it is about: numbers, names, axes.
    """

    def __init__(self, code: Reason, message: str, **facts: object) -> None:
        """Keeps the facts in the order given."""
        super().__init__(message)
        self.code = code
        self.facts = MappingProxyType(facts)
