"""Every reason to leave padding as it is, each with a code, which never changes its meaning."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final, TypeVarTuple

from onnxpad.errors import RUNTIME
from onnxpad.finding import Trust

T = TypeVarTuple("T")

BY_SIZE: Final = ("--shape", "--dim")
BY_TRUST: Final = (Trust.SPEC.option, Trust.RUNTIME.option)
BY_DEFAULT: Final = (Trust.INITIALIZERS.option,)
BY_DYNAMIC: Final = ("--dynamic pad", "--dynamic auto-pad")
"""The options that would do away with some reasons."""


class Reason(enum.StrEnum):
    """The code of a reason, and what it means in one line, without names and numbers."""

    meaning: str

    def __new__(cls, code: str, meaning: str) -> Reason:
        """A code with its meaning."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    # The Pad itself.
    COPIES_DATA = "copies-data", "the Pad copies data (its mode); only a maximum may take it over"
    PADS_BATCH_OR_CHANNELS = "pads-batch-or-channels", "the Pad is on the batch or channel axis"
    CROPS = "crops", "the operator's pads cannot crop or append that"
    FILL_DIFFERS = "fill-differs", "the Pad writes another value than the padding it would join"
    FILL_UNKNOWN = "fill-unknown", "the value that the Pad writes is known only at run time"
    ZERO_POINT_UNKNOWN = (
        "zero-point-unknown",
        "the zero point is not one constant number",
    )
    FILL_WINS = "fill-wins", "the value that the Pad writes may win in a MaxPool"
    FILL_CHANGES = "fill-changes", "an operator between makes no single certain value of the fill"
    AXIS_TAKEN = "axis-taken", "an operator between works along a padded axis"
    TYPE_UNKNOWN = "type-unknown", "the element type of the data is not known"

    # Amounts and sizes.
    AMOUNTS_UNKNOWN = "amounts-unknown", "the amounts are known only at run time"
    AMOUNTS_IN_FILE = "amounts-in-file", "the amounts lie in a file at an unknown path"
    OVERRIDABLE = "overridable", "an initializer that is also an input gives it, as a default"
    SIZE_DEPENDENT = "size-dependent", "the padding depends on a size that is open"
    NOT_WORKED_OUT = "not-worked-out", "the padding depends on open sizes in an unknown way"
    SAME_AT_EVERY_SIZE = (
        "same-at-every-size",
        "the Pad equals SAME; try --dynamic auto-pad",
    )
    KERNEL_UNKNOWN = "kernel-unknown", "the size of the kernel is known only at run time"
    MAY_BE_EMPTY = "may-be-empty", "without its Pad the operator may read nothing"
    DATA_EMPTY = "data-empty", "the data is empty on an axis"

    # The requirements of the operator.
    AUTO_PAD_AND_PADS = "auto-pad-and-pads", "auto_pad and pads are both there and disagree"
    SAME_STAYS = "same-stays", "the operator's own SAME stays, and depends on the padded size"
    INDICES_READ = "indices-read", "the operator's Indices count positions of the padded data"
    OWN_PADDING_UNCOUNTED = "own-padding-uncounted", "an average does not count its own padding"
    DIVISOR_DIFFERS = "divisor-differs", "an average would divide by another number"
    ROUNDING_DIFFERS = "rounding-differs", f"{RUNTIME} would round an average otherwise"
    PADS_NOT_BELOW_KERNEL = "pads-not-below-kernel", "a pool's pads must be smaller than its kernel"
    CEIL_WINDOWS_DIFFER = "ceil-windows-differ", "with ceil_mode the number of windows would differ"
    WINDOW_IN_PADDING = "window-in-padding", "a window may lie wholly in the padding"
    INFINITE_DATA = "infinite-data", "the data may hold infinities"
    ENGINES_DISAGREE = "engines-disagree", f"{RUNTIME} and the specification do not pad alike"
    OPTIMISER_FOLDS = "optimiser-folds", f"{RUNTIME}'s optimiser would fold the Pad then exposed"
    RANK_DIFFERS = "rank-differs", "the amounts are for data of another number of axes"
    RANK_UNKNOWN = "rank-unknown", "the rank that the amounts must fit is known only at run time"
    DECLARED_LIMIT = "declared-limit", "the declaration of the operator rules such pads out"
    WRONG_DECLARATION = (
        "wrong-declaration",
        "a graph output is declared with another shape",
    )
    SIZE_MISINFERRED = (
        "size-misinferred",
        "onnx's shape inference upstream is wrong, but hidden",
    )
    OPSET_TOO_OLD = "opset-too-old", "the form needs a newer operator set"
    NO_PAD_FOR_TYPE = "no-pad-for-type", f"{RUNTIME} has no Pad for the element type"
    READ_ELSEWHERE = "read-elsewhere", "something else reads the Pad too"

    # Changes that were taken back.
    KERNEL_CRASHES = "kernel-crashes", f"{RUNTIME} would choose a kernel that crashes"
    LAYS_PAD_OPEN = "lays-pad-open", f"{RUNTIME}'s optimiser would fold a Pad that is exposed"
    JOINS_NEIGHBOURS = (
        "joins-neighbours",
        f"{RUNTIME} would wrongly fuse what it keeps apart",
    )
    DIFFERS = "differs", "with the change the whole model computed something else"
    DIFFERS_OPTIMISED = "differs-optimised", "as differs, at full optimisation only"
    STOPS = "stops", "with the change the whole model did not run"
    STOPS_OPTIMISED = "stops-optimised", "as stops, at full optimisation only"
    NOT_CHOSEN = "not-chosen", "the code is not chosen (--select, --ignore)"
    NOT_CERTIFIED = "not-certified", "the change could not be proved, and was taken back"
    ASSUMPTION_REFUSED = "assumption-refused", "the change rests on an assumption (--strict)"
    PROBE_DIFFERS = "probe-differs", "the change computed something else when it was run"
    WITHOUT_END = "without-end", "the rule finds again what it has already rewritten"

    PASS_RAISED = "pass-raised", "the user's own pass that made the change raised an error"

    # The operator, and the readers of the Pad.
    OPERATOR_NOT_COVERED = "operator-not-covered", "onnxpad does not cover the operator"
    CUSTOM_OPERATOR = "custom-operator", "an operator of another domain, or a function of the model"
    UNREADABLE = "unreadable", "the node has an attribute or input that no rule can rely on"
    READER_UNREADABLE = "reader-unreadable", "the operator that reads the Pad cannot be read itself"
    STEPS_BETWEEN = "steps-between", "other operators stand between the Pad and the next window"
    NO_WINDOW = "no-window", "no window operator reads the Pad or is near downstream"
    READ_AS_OPERAND = "read-as-operand", "an operator reads the Pad as its weight or other operand"
    GRAPH_OUTPUT = "graph-output", "the Pad is an output of the graph"
    READ_IN_BODY = "read-in-body", "a body of an If, Loop or Scan reads the Pad"
    AS_ASKED = "as-asked", "the style, or the choice for open sizes, keeps the padding as it is"
    UNUSED = "unused", "nothing reads the Pad"
    SHAPE_REFUSED = "shape-refused", f"{RUNTIME} would stop at sizes that it does not know now"
    TARGET = "target", "the target takes no writing of the padding that onnxpad knows"
    CONVENTION_TOLD = "convention-told", "it is only told which conventions the padding fits"
    FRAMEWORK_CONVENTION = (
        "framework-convention",
        "only repad writes another framework's padding",
    )
    OWN_RULE = "own-rule", "a user's own pass reports it"
    OTHER_SCOPE = "other-scope", "the padding is in a body or function that cannot be rewritten"


class RefusalError(Exception):
    """Why a padding stays as it is: the reason in words, and what it is about as facts.

    `brief` is the message without formulas of open sizes; empty if it has none.
    """

    def __init__(self, code: Reason, message: str, brief: str = "", /, **facts: object) -> None:
        """Keeps the facts in the order given."""
        super().__init__(message)
        self.code = code
        self.brief = brief
        self.facts = MappingProxyType(facts)

    @property
    def options(self) -> tuple[str, ...]:
        """The options of which each one alone would do away with the reason; none of the text."""
        options = self.facts.get("options", ())
        return tuple(options) if isinstance(options, tuple | list) else ()


def advised(message: str, options: Sequence[str]) -> str:
    """A message, and which of some options to pass.

    >>> advised("the pads depend on 'height'", ["--shape", "--dim", "--dynamic pad"])
    "the pads depend on 'height'. Pass --shape, --dim or --dynamic pad"
    """
    if not options:
        return message
    *others, last = options
    listed = f"{', '.join(others)} or {last}" if others else last
    decides = all(option in BY_TRUST for option in options)
    return f"{message}; {listed} decides" if decides else f"{message}. Pass {listed}"
