"""Every reason to leave padding as it is, each with a code, which never changes its meaning."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TypeVarTuple

from onnxpad.finding import Trust

T = TypeVarTuple("T")

BY_SIZE = ("--shape", "--dim")
BY_TRUST = (Trust.SPEC.option, Trust.RUNTIME.option)
BY_DEFAULT = (Trust.INITIALIZERS.option,)
BY_DYNAMIC = ("--dynamic pad", "--dynamic auto-pad")
"""The options that would do away with some reasons."""


class Reason(enum.StrEnum):
    """The code of a reason."""

    @property
    def meaning(self) -> str:
        """What it means in one line, without names and numbers, as the manual's page has it."""
        return _meanings()[self]

    # The Pad itself.
    COPIES_DATA = "copies-data"
    PADS_BATCH_OR_CHANNELS = "pads-batch-or-channels"
    CROPS = "crops"
    FILL_DIFFERS = "fill-differs"
    FILL_UNKNOWN = "fill-unknown"
    ZERO_POINT_UNKNOWN = "zero-point-unknown"
    FILL_WINS = "fill-wins"
    FILL_CHANGES = "fill-changes"
    AXIS_TAKEN = "axis-taken"
    TYPE_UNKNOWN = "type-unknown"

    # Amounts and sizes.
    AMOUNTS_UNKNOWN = "amounts-unknown"
    AMOUNTS_IN_FILE = "amounts-in-file"
    OVERRIDABLE = "overridable"
    SIZE_DEPENDENT = "size-dependent"
    NOT_WORKED_OUT = "not-worked-out"
    SAME_AT_EVERY_SIZE = "same-at-every-size"
    KERNEL_UNKNOWN = "kernel-unknown"
    MAY_BE_EMPTY = "may-be-empty"
    DATA_EMPTY = "data-empty"

    # The requirements of the operator.
    AUTO_PAD_AND_PADS = "auto-pad-and-pads"
    SAME_STAYS = "same-stays"
    INDICES_READ = "indices-read"
    OWN_PADDING_UNCOUNTED = "own-padding-uncounted"
    DIVISOR_DIFFERS = "divisor-differs"
    ROUNDING_DIFFERS = "rounding-differs"
    PADS_NOT_BELOW_KERNEL = "pads-not-below-kernel"
    CEIL_WINDOWS_DIFFER = "ceil-windows-differ"
    WINDOW_IN_PADDING = "window-in-padding"
    INFINITE_DATA = "infinite-data"
    ENGINES_DISAGREE = "engines-disagree"
    OPTIMISER_FOLDS = "optimiser-folds"
    RANK_DIFFERS = "rank-differs"
    RANK_UNKNOWN = "rank-unknown"
    DECLARED_LIMIT = "declared-limit"
    WRONG_DECLARATION = "wrong-declaration"
    SIZE_MISINFERRED = "size-misinferred"
    OPSET_TOO_OLD = "opset-too-old"
    NO_PAD_FOR_TYPE = "no-pad-for-type"
    READ_ELSEWHERE = "read-elsewhere"

    # Changes that were taken back.
    KERNEL_CRASHES = "kernel-crashes"
    LAYS_PAD_OPEN = "lays-pad-open"
    JOINS_NEIGHBOURS = "joins-neighbours"
    DIFFERS = "differs"
    DIFFERS_OPTIMISED = "differs-optimised"
    STOPS = "stops"
    STOPS_OPTIMISED = "stops-optimised"
    NOT_CHOSEN = "not-chosen"
    NOT_CERTIFIED = "not-certified"
    ASSUMPTION_REFUSED = "assumption-refused"
    PROBE_DIFFERS = "probe-differs"
    WITHOUT_END = "without-end"
    PASS_RAISED = "pass-raised"

    # The operator, and the readers of the Pad.
    OPERATOR_NOT_COVERED = "operator-not-covered"
    CUSTOM_OPERATOR = "custom-operator"
    UNREADABLE = "unreadable"
    READER_UNREADABLE = "reader-unreadable"
    STEPS_BETWEEN = "steps-between"
    NO_WINDOW = "no-window"
    READ_AS_OPERAND = "read-as-operand"
    GRAPH_OUTPUT = "graph-output"
    READ_IN_BODY = "read-in-body"
    AS_ASKED = "as-asked"
    UNUSED = "unused"
    SHAPE_REFUSED = "shape-refused"
    TARGET = "target"
    CONVENTION_TOLD = "convention-told"
    FRAMEWORK_CONVENTION = "framework-convention"
    OWN_RULE = "own-rule"
    OTHER_SCOPE = "other-scope"


@cache
def _meanings() -> dict[str, str]:
    page = Path(__file__).with_name("docs") / "rules.md"
    return dict(re.findall(r"^- `([a-z-]+)`: (.+)$", page.read_text(encoding="utf-8"), re.M))


class RefusalError(Exception):
    """Why a padding stays as it is: the reason in words, and what it is about as facts.

    `brief` is the message without formulas of open sizes; empty if it has none.
    """

    def __init__(self, code: Reason, message: str, brief: str = "", /, **facts: object) -> None:
        """Keeps the facts in the order given."""
        super().__init__(message)
        self.code = code
        self.brief = brief
        self.facts = facts

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
