"""What no proof decides of the padding that an operator is to have, and words for what one does.

A `Pad` that is to be taken over must say what no attribute of an operator could; declarations of
users, opsets and the runtime's kernels set limits of their own.
"""

from __future__ import annotations

from typing import Final

from onnx import TensorProto

from onnxpad.arithmetic.notation import pads_text
from onnxpad.arithmetic.size import Extent
from onnxpad.graph import Graph, Tensor
from onnxpad.messages import RUNTIME
from onnxpad.padding.padding import Padding
from onnxpad.reasons import Reason, RefusalError
from onnxpad.semantics.amounts import Pairs, is_padded, onnx_order
from onnxpad.semantics.operators import Fill
from onnxpad.semantics.read_nodes import PadOp, WindowOp
from onnxpad.sizes.wording import Wording


def check_form(graph: Graph, wording: Wording, op: WindowOp, pad: PadOp) -> None:
    """Raises where a `Pad` does what no attribute of an operator behind it could say.

    Raises:
        RefusalError: It copies, crops, or pads other axes; or what it does is not known.
    """
    amounts, known = pad.extents_over(op.rank), pad.over(op.rank)
    constants = pad.constant_amounts
    copies = op.operator.padding is Fill.LOWEST and pad.mode in {"edge", "reflect"} and constants
    if pad.mode != "constant" and not copies:
        raise RefusalError(
            Reason.COPIES_DATA,
            f"it copies data ({pad.mode}), which no operator's pads do",
            mode=pad.mode,
        )
    if constants is not None and pad.axes is None and amounts is None:
        raise RefusalError(
            Reason.RANK_DIFFERS,
            f"its amounts are for data of {len(constants)} axes, and {op.node.op} "
            f"reads data of {op.rank}",
            axes=len(constants),
            needs=op.rank,
        )
    if amounts is None:
        raise wording.amounts(pad)
    if is_padded(op.operator.layout.others(amounts)):
        spatial = op.operator.layout.axes(op.rank)
        padded = [axis for axis, pair in enumerate(amounts) if pair != (0, 0)]
        raise RefusalError(
            Reason.PADS_BATCH_OR_CHANNELS,
            "it pads batch or channels, which no operator's pads do",
            axes=[axis for axis in padded if axis not in spatial],
        )
    if op.auto_pad.startswith("SAME"):
        raise RefusalError(
            Reason.SAME_STAYS,
            f"{op.auto_pad} of {op.node.op} stays, and depends on the padded size",
            auto_pad=op.auto_pad,
            operator=graph.label(op.node),
        )
    if pad.value is None:
        raise wording.fill(pad)
    if known is not None and min(map(min, known)) < 0:
        raise RefusalError(
            Reason.CROPS,
            f"it crops {pads_text(op.operator.layout.spatial(known))}: an operator's pads cannot "
            "be negative",
            amounts=onnx_order(known),
        )


def check_counts(op: WindowOp, padding: Padding, opset: int) -> None:
    """Raises unless the opset has `count_include_pad`, where an average begins to need it.

    Raises:
        RefusalError: It has not.
    """
    if not padding.counted or op.count_include_pad:
        return
    assert op.operator.counts is not None
    since = op.operator.since(op.operator.counts)
    if opset < since:
        raise RefusalError(
            Reason.OPSET_TOO_OLD,
            f"{op.node.op} of opset {opset} cannot count its padding",
            opset=opset,
            needs=since,
        )


def refusal_of_ceil(wording: Wording, source: Tensor, axis: int, size: Extent) -> RefusalError:
    """The refusal of a pool with `ceil_mode` whose number of windows depends on a size."""
    return RefusalError(
        Reason.SIZE_DEPENDENT,
        f"with ceil_mode the number of windows depends on {wording.sizes({axis: size}, source)}",
        axes=[axis],
        sizes=wording.places([size]),
        ceil_mode=1,
        options=wording.options({axis: size}, source),
    )


def check_declared(op: WindowOp, pads: Pairs | None) -> None:
    """Raises if a user declared that an operator cannot have such pads.

    Args:
        op: The operator.
        pads: The pads; None for those that depend on the size.

    Raises:
        RefusalError: It cannot; the message is the user's.
    """
    declaration = op.operator.declaration
    if declaration is None or declaration.limit is None:
        return
    why = f"its pads are limited, and those of SAME depend on the size of {op.data.name!r}"
    if pads is not None:
        why = declaration.refuses(pads, op.node.attrs)
    if why:
        raise RefusalError(Reason.DECLARED_LIMIT, why, pads=onnx_order(pads) if pads else None)


# Types for which the CPU provider has a Pad; with others, a new Pad would not run.
_PADDED_SINCE_2: Final = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16})
_PADDED_SINCE_11: Final = _PADDED_SINCE_2 | {
    TensorProto.INT8,
    TensorProto.UINT8,
    TensorProto.INT32,
    TensorProto.INT64,
}


def check_pads(opset: int, dtype: int | None) -> None:
    """Raises unless the runtime has a `Pad` for an element type.

    Raises:
        RefusalError: It has none.
    """
    if opset < 2:
        raise RefusalError(
            Reason.OPSET_TOO_OLD, f"opset 1 has no Pad that {RUNTIME} runs", opset=1, needs=2
        )
    if dtype not in (_PADDED_SINCE_2 if opset < 11 else _PADDED_SINCE_11):
        kind = TensorProto.DataType.Name(dtype).lower() if dtype is not None else "unknown"
        raise RefusalError(
            Reason.NO_PAD_FOR_TYPE,
            f"{RUNTIME} has no Pad for element type {kind} at opset {opset}",
            type=kind,
            opset=opset,
        )
