"""Where onnxruntime departs from the specification on window operators.

Measured on its CPU execution provider with 1.21.0 and 1.31.1, with optimisation off unless stated.
`departures_of` gives those of an operator.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from onnxpad.operators.table import Key, Operator
from onnxpad.records import dataclass


class Stops(enum.Enum):
    """Where an operator with SAME stops with an error instead of cropping."""

    NEVER = "never"
    AVERAGE = "as an average does"
    """Before opset 19, unless it rounds up and counts its padding."""
    MAXIMUM = "as a maximum does"
    """Of float and float16, unless it is dilated or gives Indices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Departures:
    """How onnxruntime departs from the specification on one operator.

    Attributes:
        same_from: The least total of SAME, before it is clamped at 0, for which the first window
            starts where the specification says, by the value of `auto_pad`.
        runs_same_from: The same, for a SAME that a rewrite introduces: it must not stop.
        refuses_dilated_same: Whether it refuses SAME with dilation. Otherwise it pads for the
            kernel without dilation.
        stops: Where it stops with an error if that total is negative.
        refuses_pads_beside_auto_pad: Whether `auto_pad` beside `pads` is an error. Otherwise it
            uses `auto_pad`.
        folds_pads: Whether PadFusion, a part of its optimiser, folds `Pad`s into the operator.
        runs_in_blocks: Whether it runs in blocks of channels (NCHWc) at full optimisation, over two
            spatial axes. Without a window on the first axis the process then dies of SIGFPE, and a
            maximum over only -infinity is the lowest finite number.
        divides_by_whole_kernels: Whether an average that counts its padding divides by the number
            of elements of its kernel, even where that reaches past all padding.
        rounds_whole_apart: Whether it is rounded otherwise where the kernel is as large as the data
            on all axes and nothing is padded: it then runs as its global kin.
    """

    same_from: Mapping[str, int]
    runs_same_from: Mapping[str, int]
    refuses_dilated_same: bool = False
    stops: Stops = Stops.NEVER
    refuses_pads_beside_auto_pad: bool = False
    folds_pads: bool = False
    runs_in_blocks: bool = False
    divides_by_whole_kernels: bool = False
    rounds_whole_apart: bool = False


CHANGED: Final[Mapping[str, int]] = {"AveragePool": 19}
"""The opset in which onnxruntime begins to compute something else for the same node."""


_CONV_FROM: Final = {"SAME_UPPER": -2, "SAME_LOWER": -3}
_POOL_FROM: Final = {"SAME_UPPER": -1, "SAME_LOWER": -2}
_POOL_RUNS: Final = {"SAME_UPPER": 0, "SAME_LOWER": 0}

_CONV: Final = Departures(
    same_from=_CONV_FROM,
    runs_same_from=_CONV_FROM,
    refuses_dilated_same=True,
    refuses_pads_beside_auto_pad=True,
    folds_pads=True,
)
_LP_POOL: Final = Departures(same_from=_POOL_FROM, runs_same_from=_POOL_RUNS)
_MAX_POOL: Final = replace(_LP_POOL, stops=Stops.MAXIMUM, folds_pads=True, runs_in_blocks=True)
# They share Conv's reading of attributes. 1.21.0 has no ConvInteger of int8. A zero point with more
# than one element stops the quantised ones.
_UNFUSED_CONV: Final = replace(_CONV, folds_pads=False)
# It shares the reading of attributes with pools, and never stops.
_NHWC_MAX_POOL: Final = _LP_POOL
# Like a quantised average, but for how that rounds.
_WHOLE_AVERAGE_POOL: Final = replace(_NHWC_MAX_POOL, divides_by_whole_kernels=True)
_MICROSOFT: Final = "com.microsoft"

DEPARTURES: Final[Mapping[Key, Departures]] = {
    ("", "Conv"): _CONV,
    ("", "MaxPool"): _MAX_POOL,
    ("", "AveragePool"): replace(_MAX_POOL, stops=Stops.AVERAGE),
    ("", "LpPool"): _LP_POOL,
    ("", "ConvInteger"): _UNFUSED_CONV,
    ("", "QLinearConv"): _UNFUSED_CONV,
    ("", "ConvTranspose"): _UNFUSED_CONV,
    (_MICROSOFT, "QLinearConv"): _UNFUSED_CONV,
    (_MICROSOFT, "FusedConv"): _UNFUSED_CONV,
    (_MICROSOFT, "NhwcMaxPool"): _NHWC_MAX_POOL,
    # With the channels last, the process dies of SIGFPE where it has no window. As
    # QLinearGlobalAveragePool, it rounds before it adds the zero point, and otherwise afterwards.
    # Source: onnxruntime, qlinear_pool.cc and qlgavgpool.cpp.
    (_MICROSOFT, "QLinearAveragePool"): replace(_WHOLE_AVERAGE_POOL, rounds_whole_apart=True),
}
"""Of each operator of the table and of ConvTranspose."""

_DECLARED: Final[Mapping[str, Departures]] = {
    "Conv": _UNFUSED_CONV,
    "MaxPool": _NHWC_MAX_POOL,
    "AveragePool": _WHOLE_AVERAGE_POOL,
}
"""Of operators that users declared, by what they are like."""


def departures_of(row: Operator) -> Departures:
    """Where onnxruntime departs on an operator."""
    own = row.declaration
    return DEPARTURES[row.key] if own is None else _DECLARED[own.like]


_LATE: Final = 21
"""The first opset whose `Pad`s onnxruntime 1.21 does not fold yet."""


def folding_versions(opset: int) -> str:
    """The versions of onnxruntime that were seen to fold `Pad`s of an opset."""
    return "1.31.1 (not 1.21.0)" if opset >= _LATE else "1.21.0 and 1.31.1"


BLOCK: Final = 8
"""The least number of channels in a block; the NCHWc kernels take multiples of it."""
