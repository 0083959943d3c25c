"""Conditions under which a window operator can take over a `Pad`, whatever the style.

Passes list the conditions that they ask for. The operator's conditions on its new pads are in its
row.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.analysis import Analysis
from onnxpad.analysis.signs import Signs
from onnxpad.arithmetic.notation import told
from onnxpad.graph import Graph, Tensor
from onnxpad.operators.amounts import (
    ExtentPair,
    is_negative_zero,
    is_padded,
    is_plain_zero,
    onnx_order,
)
from onnxpad.operators.limits import says_power, says_zero_point
from onnxpad.operators.read import PadOp, WindowOp, pad_giving
from onnxpad.operators.table import FLOATS, Fill, lowest
from onnxpad.reasons import Condition, Reason, RefusalError
from onnxpad.sizes.wording import Wording


@dataclass(frozen=True, slots=True)
class Merge:
    """A `Pad` that an operator is to take over.

    Attributes:
        op: The operator.
        pad: The `Pad` that it reads.
        graph: The graph of both.
        analysis: The analysis of that graph.
        signs: Facts about the signs of its tensors.
        wording: Words for its sizes.
    """

    op: WindowOp
    pad: PadOp
    graph: Graph
    analysis: Analysis
    signs: Signs
    wording: Wording

    @property
    def amounts(self) -> tuple[ExtentPair, ...] | None:
        """(begin, end) for each axis of the data."""
        return self.pad.extents_over(self.op.rank)

    @property
    def beside(self) -> tuple[ExtentPair, ...]:
        """(begin, end) for batch and channels."""
        return self.op.operator.layout.others(self.amounts or ())

    @property
    def dtype(self) -> int | None:
        """The data's element type."""
        return self.analysis.dtype(self.op.data)


COPIES_NOTHING: Final = Condition[Merge](
    must=lambda case: case.pad.mode == "constant",
    said=lambda case: RefusalError(
        Reason.COPIES_DATA,
        f"it copies data ({case.pad.mode}), which no operator's pads do",
        mode=case.pad.mode,
    ),
)
"""The mode is constant."""


def _says_rank(case: Merge) -> RefusalError:
    constants = case.pad.constant_amounts or ()
    return RefusalError(
        Reason.RANK_DIFFERS,
        f"its amounts are for data of {len(constants)} axes, and {case.op.node.op} "
        f"reads data of {case.op.rank}",
        axes=len(constants),
        needs=case.op.rank,
    )


RANK_FITS: Final = Condition[Merge](
    when=lambda case: case.pad.constant_amounts is not None and case.pad.axes is None,
    must=lambda case: case.amounts is not None,
    said=_says_rank,
)
"""The amounts are for data of the operator's rank."""

AMOUNTS_KNOWN: Final = Condition[Merge](
    must=lambda case: case.amounts is not None,
    said=lambda case: case.wording.amounts(case.pad),
)
"""The amounts are known, as numbers or in terms of sizes."""

SPATIAL_ONLY: Final = Condition[Merge](
    must=lambda case: not is_padded(case.beside),
    said=lambda case: RefusalError(
        Reason.PADS_BATCH_OR_CHANNELS,
        "it pads batch or channels, which no operator's pads do",
        axes=[axis for axis, pair in enumerate(case.beside) if pair != (0, 0)],
    ),
)
"""Batch and channels are not padded."""

SAME_RESOLVED: Final = Condition[Merge](
    must=lambda case: not case.op.auto_pad.startswith("SAME"),
    said=lambda case: RefusalError(
        Reason.SAME_STAYS,
        f"{case.op.auto_pad} of {case.op.node.op} stays, and depends on the padded size",
        auto_pad=case.op.auto_pad,
        operator=case.graph.label(case.op.node),
    ),
)
"""The operator's own padding does not depend on the padded size."""

INDICES_UNREAD: Final = Condition[Merge](
    must=lambda case: not case.op.gives_indices,
    said=lambda case: RefusalError(
        Reason.INDICES_READ,
        "the operator's Indices count positions of the padded tensor",
        operator=case.graph.label(case.op.node),
    ),
)
"""The operator gives no positions in the padded data."""

FILL_KNOWN: Final = Condition[Merge](
    must=lambda case: case.pad.value is not None,
    said=lambda case: case.wording.fill(case.pad),
)
"""The value of the `Pad` is known."""


def _is_lowest(case: Merge) -> bool:
    """Whether the operator's own padding is below every value."""
    return case.op.operator.padding is Fill.LOWEST


def _told_zero(op: WindowOp) -> str:
    told = "" if op.operator.inputs.zero_point is None else "its zero point "
    return f"{told}{op.zero}"


def _fills_zeros(case: Merge) -> bool:
    negative = is_negative_zero(case.pad.value) and not case.op.operator.loses_signs
    return case.pad.value == case.op.zero and not negative


ZERO_POINT_KNOWN: Final = Condition[Merge](
    must=lambda case: case.op.zero is not None,
    said=lambda case: says_zero_point(case.op),
)
"""The zero point of the data, with which the operator pads, is known."""

ZEROS_FOR_ZEROS: Final = Condition[Merge](
    when=lambda case: not _is_lowest(case),
    must=_fills_zeros,
    said=lambda case: RefusalError(
        Reason.FILL_DIFFERS,
        f"it pads with {case.pad.value}, {case.op.node.op} with {_told_zero(case.op)}",
        value=case.pad.value,
    ),
)
"""The `Pad` fills in what the operator does: the zero point, or 0.

-0.0 only where the operator cannot tell it from 0.0.
"""


def _has_lowest(case: Merge) -> bool:
    return case.dtype is not None and lowest(case.dtype) is not None


TYPE_KNOWN: Final = Condition[Merge](
    when=_is_lowest,
    must=_has_lowest,
    said=lambda case: RefusalError(
        Reason.TYPE_UNKNOWN,
        f"the element type of {case.op.data.name!r} is unknown",
        tensor=case.op.data.name,
    ),
)
"""The lowest value of the data's type is known."""


def _never_wins(case: Merge) -> bool:
    value, dtype = case.pad.value, case.dtype
    assert value is not None
    assert dtype is not None
    if value == lowest(dtype):
        return True
    if dtype in FLOATS and dtype != TensorProto.BFLOAT16 and value <= _lowest_finite(dtype):
        return True
    if not value <= case.signs.bound(case.pad.data):
        return False
    return not (is_negative_zero(value) or _is_within_negative_zeros(case, case.pad.data))


def _is_within_negative_zeros(case: Merge, tensor: Tensor) -> bool:
    """Whether a `Pad` upstream fills in -0.0, against which a 0 next to it may win."""
    while (pad := pad_giving(case.graph, case.analysis, tensor)) is not None:
        if pad.mode == "constant" and is_negative_zero(pad.value):
            return True
        tensor = pad.data
    return False


def _lowest_finite(dtype: int) -> float:
    return float(np.finfo(tensor_dtype_to_np_dtype(dtype)).min)


NEVER_WINS: Final = Condition[Merge](
    when=_is_lowest,
    must=_never_wins,
    said=lambda case: RefusalError(
        Reason.FILL_WINS,
        f"it pads with {case.pad.value}, which can win in a MaxPool whose data may be below it; "
        f"the operator's own padding never wins",
        value=case.pad.value,
    ),
)
"""The `Pad` fills in the lowest value, or one that no element of the data is below."""


def _told(case: Merge) -> str:
    """The operator downstream that tells a 0 of the `Pad` from a -0.0 of the data; else empty."""
    if (
        not is_plain_zero(case.pad.value)
        or case.dtype not in FLOATS
        or case.signs.bound(case.pad.data) > 0
    ):
        return ""
    return case.signs.telling(case.op.node.outputs[0])


ZEROS_UNTOLD: Final = Condition[Merge](
    when=_is_lowest,
    must=lambda case: not _told(case),
    said=lambda case: RefusalError(
        Reason.FILL_WINS,
        f"it pads with {case.pad.value}, which can win over -0.0 in a MaxPool, and "
        f"{_told(case)} downstream may tell them apart",
        value=case.pad.value,
    ),
)
"""Nothing downstream makes other numbers of 0.0 and -0.0, if either may be the maximum."""

POWER_ABOVE_ZERO: Final = Condition[Merge](
    must=lambda case: not case.op.leaves_zeros_out,
    said=lambda case: says_power(case.op),
)
"""The power of an LpPool is above 0: otherwise the zeros of a `Pad` count."""

OWN_PADDING_COUNTED: Final = Condition[Merge](
    when=lambda case: is_padded(case.op.pads) and case.op.auto_pad == "NOTSET",
    must=lambda case: case.op.padding is not Fill.EXCLUDED,
    said=lambda case: RefusalError(
        Reason.OWN_PADDING_UNCOUNTED,
        f"the {case.op.node.op} does not count its own padding (count_include_pad=0), but would "
        "have to count this one",
        operator=case.graph.label(case.op.node),
        pads=onnx_order(case.op.pads),
    ),
)
"""An average has no uncounted padding of its own."""


def _crops_nothing(case: Merge) -> bool:
    known = case.pad.over(case.op.rank)
    return known is None or min(map(min, known)) >= 0


def _says_crop(case: Merge) -> RefusalError:
    known = case.pad.over(case.op.rank) or ()
    return RefusalError(
        Reason.CROPS,
        f"it crops {told(case.op.operator.layout.spatial(known))}: an operator's pads cannot be "
        "negative",
        amounts=onnx_order(known),
    )


CROPS_NOTHING: Final = Condition[Merge](must=_crops_nothing, said=_says_crop)
"""No amount is negative."""

MERGING: Final[tuple[Condition[Any], ...]] = tuple(
    each for each in list(globals().values()) if isinstance(each, Condition)
)
"""All conditions, in the order of this file."""
