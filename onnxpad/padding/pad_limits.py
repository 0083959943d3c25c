"""Conditions under which a window operator can take over a `Pad`, whatever the style.

Each is a function named by what that needs: it returns the refusal where it is lacking, else None.
The conditions on the pads that the operator would have then are in `limits`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.analysis import Analysis
from onnxpad.analysis.signs import Signs
from onnxpad.arithmetic.notation import pads_text
from onnxpad.graph import Graph, Tensor
from onnxpad.messages import Named, named
from onnxpad.operators.amounts import (
    ExtentPair,
    is_negative_zero,
    is_padded,
    is_plain_zero,
    onnx_order,
)
from onnxpad.operators.read import PadOp, WindowOp, pad_giving
from onnxpad.operators.table import FLOATS, Fill, lowest
from onnxpad.padding.limits import refusal_of_zero_point
from onnxpad.reasons import Reason, RefusalError
from onnxpad.records import NamedTuple
from onnxpad.sizes.wording import Wording


class Merge(NamedTuple):
    """A `Pad` that an operator is to take over.

    Attributes:
        op: The operator.
        pad: The `Pad` that it reads.
        amounts: (begin, end) for each axis of the data; None where one is unknown.
        graph: The graph of both.
        analysis: The analysis of that graph.
        signs: Facts about the signs of its tensors.
        wording: Words for its sizes.
    """

    op: WindowOp
    pad: PadOp
    amounts: tuple[ExtentPair, ...] | None
    graph: Graph
    analysis: Analysis
    signs: Signs
    wording: Wording

    @property
    def beside(self) -> tuple[ExtentPair, ...]:
        """(begin, end) for batch and channels."""
        return self.op.operator.layout.others(self.amounts or ())

    @property
    def dtype(self) -> int | None:
        """The data's element type."""
        return self.analysis.dtype(self.op.data)


def needs_constant_mode(case: Merge) -> RefusalError | None:
    """The mode is constant, or a maximum may read each copy beside its original."""
    pad = case.pad
    copies = _is_lowest(case) and pad.mode in {"edge", "reflect"} and pad.constant_amounts
    if pad.mode == "constant" or copies:
        return None
    return RefusalError(
        Reason.COPIES_DATA,
        f"it copies data ({case.pad.mode}), which no operator's pads do",
        mode=case.pad.mode,
    )


def needs_rank_of_operator(case: Merge) -> RefusalError | None:
    """The amounts are for data of the operator's rank."""
    constants = case.pad.constant_amounts
    if constants is None or case.pad.axes is not None or case.amounts is not None:
        return None
    return RefusalError(
        Reason.RANK_DIFFERS,
        f"its amounts are for data of {len(constants)} axes, and {case.op.node.op} "
        f"reads data of {case.op.rank}",
        axes=len(constants),
        needs=case.op.rank,
    )


def needs_amounts(case: Merge) -> RefusalError | None:
    """The amounts are known, as numbers or in terms of sizes."""
    return None if case.amounts is not None else case.wording.amounts(case.pad)


def needs_spatial_amounts(case: Merge) -> RefusalError | None:
    """Batch and channels are not padded."""
    if not is_padded(case.beside):
        return None
    return RefusalError(
        Reason.PADS_BATCH_OR_CHANNELS,
        "it pads batch or channels, which no operator's pads do",
        axes=[axis for axis, pair in enumerate(case.beside) if pair != (0, 0)],
    )


def needs_resolved_same(case: Merge) -> RefusalError | None:
    """The operator's own padding does not depend on the padded size."""
    if not case.op.auto_pad.startswith("SAME"):
        return None
    return RefusalError(
        Reason.SAME_STAYS,
        f"{case.op.auto_pad} of {case.op.node.op} stays, and depends on the padded size",
        auto_pad=case.op.auto_pad,
        operator=case.graph.label(case.op.node),
    )


def needs_indices_unread(case: Merge) -> RefusalError | None:
    """The operator gives no positions in the padded data."""
    if not case.op.gives_indices:
        return None
    return RefusalError(
        Reason.INDICES_READ,
        "the operator's Indices count positions of the padded tensor",
        operator=case.graph.label(case.op.node),
    )


def needs_fill(case: Merge) -> RefusalError | None:
    """The value of the `Pad` is known."""
    return None if case.pad.value is not None else case.wording.fill(case.pad)


def needs_zero_point(case: Merge) -> RefusalError | None:
    """The zero point of the data, with which the operator pads, is known."""
    return None if case.op.zero is not None else refusal_of_zero_point(case.op)


def needs_fill_of_operator(case: Merge) -> RefusalError | None:
    """The `Pad` fills in what the operator does: the zero point, or 0.

    -0.0 only where the operator cannot tell it from 0.0.
    """
    if _is_lowest(case) or _fills_zeros(case):
        return None
    return RefusalError(
        Reason.FILL_DIFFERS,
        f"it pads with {case.pad.value}, {case.op.node.op} with {_zero_text(case.op)}",
        value=case.pad.value,
    )


def _is_lowest(case: Merge) -> bool:
    """Whether the operator's own padding is below every value."""
    return case.op.operator.padding is Fill.LOWEST


def _fills_zeros(case: Merge) -> bool:
    negative = is_negative_zero(case.pad.value) and not case.op.operator.loses_signs
    return case.pad.value == case.op.zero and not negative


def _zero_text(op: WindowOp) -> str:
    told = "" if op.operator.inputs.zero_point is None else "its zero point "
    return f"{told}{op.zero}"


def needs_type(case: Merge) -> RefusalError | None:
    """The lowest value of the data's type is known, where the operator pads with that."""
    if not _is_lowest(case) or (case.dtype is not None and lowest(case.dtype) is not None):
        return None
    return RefusalError(
        Reason.TYPE_UNKNOWN,
        named(lambda name: f"the element type of{name(case.op.data.name, 'the data')} is unknown"),
        tensor=case.op.data.name,
    )


def needs_fill_that_never_wins(case: Merge) -> RefusalError | None:
    """The `Pad` of a maximum fills in the lowest value, or one that no element is below."""
    if not _is_lowest(case) or _never_wins(case):
        return None
    return RefusalError(
        Reason.FILL_WINS,
        f"it pads with {case.pad.value}, which can win in a MaxPool whose data may be below it; "
        f"the operator's own padding never wins",
        value=case.pad.value,
    )


def _never_wins(case: Merge) -> bool:
    if case.pad.mode != "constant":
        return True  # the proof decides
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


def needs_zeros_untold(case: Merge) -> RefusalError | None:
    """Nothing downstream makes other numbers of 0.0 and -0.0, if either may be the maximum."""
    teller = _teller(case) if _is_lowest(case) else None
    if teller is None:
        return None
    wins = f"it pads with {case.pad.value}, which can win over -0.0 in a MaxPool"
    said = Named(*(f"{wins}, and {each} downstream may tell them apart" for each in teller))
    return RefusalError(Reason.FILL_WINS, said, value=case.pad.value)


def _teller(case: Merge) -> Named | None:
    """The operator downstream that tells a 0 of the `Pad` from a -0.0 of the data; else None."""
    if (
        not is_plain_zero(case.pad.value)
        or case.pad.mode != "constant"
        or case.dtype not in FLOATS
        or case.signs.bound(case.pad.data) > 0
    ):
        return None
    return case.signs.telling(case.op.node.outputs[0])


def needs_own_padding_counted(case: Merge) -> RefusalError | None:
    """An average has no uncounted padding of its own."""
    if case.op.padding is not Fill.EXCLUDED or case.op.auto_pad != "NOTSET":
        return None
    if not is_padded(case.op.pads):
        return None
    return RefusalError(
        Reason.OWN_PADDING_UNCOUNTED,
        f"the {case.op.node.op} does not count its own padding (count_include_pad=0), but would "
        "have to count this one",
        operator=case.graph.label(case.op.node),
        pads=onnx_order(case.op.pads),
    )


def needs_no_crop(case: Merge) -> RefusalError | None:
    """No amount is negative."""
    known = case.pad.over(case.op.rank)
    if known is None or min(map(min, known)) >= 0:
        return None
    return RefusalError(
        Reason.CROPS,
        f"it crops {pads_text(case.op.operator.layout.spatial(known))}: an operator's pads cannot "
        "be negative",
        amounts=onnx_order(known),
    )


MERGING: Final = (
    needs_constant_mode,
    needs_rank_of_operator,
    needs_amounts,
    needs_spatial_amounts,
    needs_resolved_same,
    needs_indices_unread,
    needs_fill,
    needs_zero_point,
    needs_fill_of_operator,
    needs_type,
    needs_fill_that_never_wins,
    needs_zeros_untold,
    needs_own_padding_counted,
    needs_no_crop,
)
"""All conditions, in the order in which they are asked."""
