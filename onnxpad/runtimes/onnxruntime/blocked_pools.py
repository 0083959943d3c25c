"""The pools that onnxruntime must not run in its NCHWc kernel, which crashes or is wrong.

At full optimisation a MaxPool or AveragePool over two spatial axes runs in blocks of channels if
onnxruntime knows at load time that their number is a multiple of 8 or 16. Where the first spatial
axis then holds no window, the process dies of SIGFPE; where a window of a MaxPool holds only
-infinity, it gives the lowest finite number.
"""

from __future__ import annotations

from msgspec import Struct
from onnx import TensorProto

from onnxpad.arithmetic.size import Extent, Size, Sizes, always, less_equal, symbol
from onnxpad.arithmetic.window import pool_output_size
from onnxpad.facts import Analysis
from onnxpad.facts.bounds import infinite
from onnxpad.graph import Graph, Node
from onnxpad.reasons import Reason
from onnxpad.semantics.layers import is_padded, numbers_of
from onnxpad.semantics.operators import Fill, WindowOp, pad_giving

BLOCKED = frozenset({"MaxPool", "AveragePool"})
_BLOCK = 8
"""The least number of channels in a block; the NCHWc kernels take multiples of it."""


class Hazard(Struct, frozen=True):
    """The harm that onnxruntime would do if it knew a shape: to a pool, in its NCHWc kernel.

    Attributes:
        node: The pool, or another node.
        reason: The code of the harm.
        does: The harm in words; onnxruntime is the subject.
    """

    node: Node
    reason: Reason
    does: str


def hazard_of(graph: Graph, analysis: Analysis, op: WindowOp) -> Hazard | None:
    """What the NCHWc kernel would do to a pool whose channels it knew; None if no harm."""
    row = op.operator
    if row.row.domain or len(op.windows) != 2 or len(op.node.outputs) > 1:
        return None
    shape = analysis.shape(op.data)
    channels: Extent = 0
    height: Extent = 0
    if shape is not None and len(shape) == op.rank:
        channels, height = shape[row.layout.channels], shape[op.axes[0]]
    # Halves are computed in 32 bits next to operators that have no kernel for them.
    dtype = analysis.dtype(op.data)
    is_float = dtype in {None, TensorProto.FLOAT, TensorProto.FLOAT16}
    if not is_float or not isinstance(channels, int) or channels % _BLOCK:
        return None
    chosen = f"choose a kernel for {op.node.op} {graph.label(op.node)!r} that"
    if _may_be_empty(op, height):
        does = f"{chosen} crashes where that holds no window"
        return Hazard(op.node, Reason.KERNEL_CRASHES, does)
    halves = dtype == TensorProto.FLOAT16  # in which the lowest of 32 bits is an infinity
    if row.padding is Fill.LOWEST and not halves and _may_read_infinities(graph, analysis, op):
        does = f"{chosen} gives the lowest finite number for a window of only -infinity"
        return Hazard(op.node, Reason.INFINITE_DATA, does)
    return None


def _may_be_empty(op: WindowOp, size: Extent) -> bool:
    if op.auto_pad.startswith("SAME"):
        return False  # at least one window, or an error
    if not isinstance(size, int | Size):
        size = symbol("unknown", Sizes(0))
    pads = op.pads[0] if op.auto_pad == "NOTSET" else (0, 0)
    count = pool_output_size(size, op.windows[0], *pads, ceil_mode=op.ceil_mode)
    return always(less_equal(1, count)) is not True


def _may_read_infinities(graph: Graph, analysis: Analysis, op: WindowOp) -> bool:
    """Whether a window may hold infinities and nothing else.

    Exporters write a `Pad` of -infinity directly upstream of a MaxPool: that is harmless, as each
    window still holds some data.
    """
    if infinite(analysis, op.data) is None:
        return False
    pad = pad_giving(graph, analysis, op.data)
    if pad is None or op.auto_pad.startswith("SAME") or infinite(analysis, pad.data):
        return True
    amounts, layout = pad.extents_over(op.rank), op.operator.layout
    beside = None if amounts is None else numbers_of(layout.others(amounts))
    shape = analysis.shape(pad.data)
    if amounts is None or beside is None or is_padded(beside) or op.ceil_mode or not shape:
        return True
    own = op.pads if op.auto_pad == "NOTSET" else ((0, 0),) * len(op.windows)
    windows = zip(op.windows, own, layout.spatial(amounts), strict=True)
    near = (
        window.dilation == 1
        and always(less_equal(0, more))
        and always(less_equal(1 + each + more, window.kernel))
        for window, pair, sides in windows
        for each, more in zip(pair, sides, strict=True)
    )
    return not all((*near, *(always(less_equal(1, n)) for n in layout.spatial(shape))))
