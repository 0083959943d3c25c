"""Why padding stays as it is: every reason that there is, by its code, and how one is asked for.

A code never changes its meaning. What a reason is about in one case, numbers, names and axes, goes
along as facts.
"""

import enum
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


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

    # What the Pad does.
    COPIES_DATA = "copies-data", "the Pad copies data (reflect, edge, wrap), as no pads do"
    PADS_BATCH_OR_CHANNELS = "pads-batch-or-channels", "the Pad is on the batch or channel axis"
    CROPS = "crops", "the Pad crops, and pads cannot be negative"
    FILL_DIFFERS = "fill-differs", "the Pad writes another value than the padding it would join"
    FILL_UNKNOWN = "fill-unknown", "the value that the Pad writes is known only at run time"
    FILL_WINS = "fill-wins", "the value that the Pad writes may win in a MaxPool"
    TYPE_UNKNOWN = "type-unknown", "the element type of the data is not known"

    # What is known of amounts and sizes.
    AMOUNTS_UNKNOWN = "amounts-unknown", "the amounts are known only at run time"
    AMOUNTS_IN_FILE = "amounts-in-file", "the amounts lie in a file that nobody named"
    SIZE_DEPENDENT = "size-dependent", "the padding depends on a size that is open"
    NOT_WORKED_OUT = "not-worked-out", "the padding depends on open sizes, how is not worked out"
    SAME_AT_EVERY_SIZE = "same-at-every-size", "the computed Pad is SAME, which is not asked for"
    KERNEL_UNKNOWN = "kernel-unknown", "the size of the kernel is known only at run time"
    MAY_BE_EMPTY = "may-be-empty", "without its Pad the operator may read nothing"
    DATA_EMPTY = "data-empty", "the data is empty on an axis"

    # What the operator asks of its padding.
    AUTO_PAD_AND_PADS = "auto-pad-and-pads", "auto_pad and pads are both there and disagree"
    SAME_STAYS = "same-stays", "the operator's own SAME stays, and depends on the padded size"
    INDICES_READ = "indices-read", "the operator's Indices count positions of the padded data"
    OWN_PADDING_UNCOUNTED = "own-padding-uncounted", "an average leaves its own padding out"
    DIVISOR_DIFFERS = "divisor-differs", "an average would divide by another number"
    PADS_NOT_BELOW_KERNEL = "pads-not-below-kernel", "a pool's pads must be smaller than its kernel"
    CEIL_WINDOWS_DIFFER = (
        "ceil-windows-differ",
        "with ceil_mode there would be fewer or more windows",
    )
    WINDOW_IN_PADDING = "window-in-padding", "a window may lie wholly in the padding"
    INFINITE_DATA = "infinite-data", "the data may hold infinities"
    ENGINES_DISAGREE = "engines-disagree", "onnxruntime and the specification do not pad alike"
    OPTIMISER_FOLDS = "optimiser-folds", "onnxruntime's optimiser would fold the Pad laid open"
    RANK_DIFFERS = "rank-differs", "the amounts are for data of another number of axes"
    RANK_UNKNOWN = "rank-unknown", "whether the amounts fit the data is known only at run time"
    POWER_NOT_POSITIVE = "power-not-positive", "LpPool with p of 0 or less counts its padding"
    NOT_EVALUATED = "not-evaluated", "constants determine it by an operator that is not evaluated"
    WRONG_DECLARATION = (
        "wrong-declaration",
        "a graph output is declared in another shape than it has",
    )
    OPSET_TOO_OLD = "opset-too-old", "the form needs a newer operator set"
    NO_PAD_FOR_TYPE = "no-pad-for-type", "onnxruntime has no Pad for the element type"
    READ_ELSEWHERE = "read-elsewhere", "something else reads the Pad too"
    SIZES_NOT_REWRITTEN = (
        "sizes-not-rewritten",
        "sizes that shape inference misjudges are only told",
    )

    # What became of a change.
    KERNEL_CRASHES = "kernel-crashes", "onnxruntime would choose a kernel that crashes"
    LAYS_PAD_OPEN = "lays-pad-open", "onnxruntime's optimiser would fold a Pad laid open"
    DIFFERS = "differs", "with the change the whole model computed something else"
    DIFFERS_OPTIMISED = "differs-optimised", "the same, at full optimisation only"
    STOPS = "stops", "with the change the whole model did not run"
    STOPS_OPTIMISED = "stops-optimised", "the same, at full optimisation only"
    BARRED = "barred", "the model's metadata bars the change"
    NOT_CERTIFIED = "not-certified", "the change could not be proved, and was taken back"
    ASSUMPTION_REFUSED = "assumption-refused", "the change rests on an assumption (--strict)"
    PROBE_DIFFERS = "probe-differs", "the change computed something else when it was run"
    WITHOUT_END = "without-end", "the rule finds what it has rewritten already"

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
    OTHER_SCOPE = "other-scope", "the padding is in a body or function, where nothing is rewritten"


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


class Condition(NamedTuple, Generic[T]):
    """One thing that must hold for padding to be rewritten.

    Attributes:
        must: Whether it holds, where it applies.
        said: What is said where it does not hold.
        when: Where it applies; everywhere unless something else is said.
    """

    must: Callable[[T], bool]
    said: Callable[[T], RefusalError]
    when: Callable[[T], bool] = lambda _: True


def ask(conditions: Iterable[Condition[T]], case: T) -> None:
    """Asks for conditions in their order.

    Raises:
        RefusalError: One that applies does not hold.
    """
    for condition in conditions:
        if condition.when(case) and not condition.must(case):
            raise condition.said(case)
