"""Where onnxruntime reads SAME otherwise, and which operators its optimiser treats apart.

Measured on its CPU execution provider with 1.21 to 1.32, with optimisation off unless stated.
What is written must run in all of these, whichever is installed: a departure that the newest no
longer has is heeded until no version that has it is supported. Pools that its blocked layout breaks
come last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace
from onnx import TensorProto

from onnxpad.arithmetic.size import (
    Extent,
    Size,
    Sizes,
    Unknown,
    always,
    bounds,
    less_equal,
    symbol,
    where,
)
from onnxpad.arithmetic.window import Window, pool_output_size
from onnxpad.errors import counted
from onnxpad.facts import Analysis
from onnxpad.facts.bounds import infinite
from onnxpad.graph import Graph, Node
from onnxpad.reasons import BY_TRUST, Reason, RefusalError
from onnxpad.semantics.layers import Pair
from onnxpad.semantics.operators import Fill, WindowOp, pad_giving
from onnxpad.semantics.window import WindowForm, onnxruntime, specification

BLOCKED = frozenset({"MaxPool", "AveragePool"})
"""The pools that full optimisation runs in blocks of channels."""
_BLOCK = 8
"""The least number of channels in a block; the NCHWc kernels take multiples of it."""

CHANGED = 19
"""The opset of AveragePool from which on onnxruntime computes something else for the same node."""


def runtime_pads(op: WindowOp, place: int, size: Extent, dtype: int | None) -> Pair | None:
    """The constant pads (begin, end) by which onnxruntime reads SAME, negative where it crops.

    None where they depend on an open size, or leave no room for a window: of the explicit pads too,
    onnxruntime then makes something else than the specification. None also where its number of
    windows is unknown. `place` is the axis among those along which the window slides.
    """
    placed = onnxruntime(op.form, place, size, dtype)
    if placed is None or isinstance(placed.windows, Unknown):
        return None
    begin, end = _constant(placed.begin), _constant(placed.end)
    if begin is None or end is None:
        return None
    fits = always(less_equal(op.windows[place].extent, size + begin + end)) is True
    return (begin, end) if fits else None


def disagreement(op: WindowOp, sizes: Sequence[Extent], dtype: int | None) -> RefusalError | None:
    """How onnxruntime departs from the specification on an operator with SAME, for spatial sizes.

    The refusal to choose between them has the numbers of both. None where they agree, or
    onnxruntime does not run the operator, so that writing the pads is a repair.
    """
    notes, key = op.node.notes, (disagreement, op.form, tuple(sizes), dtype)
    if key in notes:  # networks repeat the same few windows
        return None
    form = replace(op.form, pads_written=False) if op.pads_written else op.form
    for place, size in enumerate(sizes):
        theirs = specification(form, place, size, dtype)
        ours = onnxruntime(form, place, size, dtype)
        if ours is None:
            break
        if op.operator.pools and _is_spread(op.windows[place]):
            return _refusal(op, place, size, dtype)  # windows alike may read other fills
        for said, does in ((theirs.begin, ours.begin), (theirs.windows, ours.windows)):
            one, other = (where(ours.runs, each, 0) for each in (said, does))
            if one != other:  # as an unknown number is
                return _refusal(op, place, size, dtype)
    notes[key] = True
    return None


def misreads_same(form: WindowForm) -> bool:
    """Whether onnxruntime stops at, or computes something else of, a SAME at some size."""
    size = symbol("any size")
    for place in range(len(form.axes)):
        ours = onnxruntime(form, place, size, None)
        if ours is None or ours[:3] != specification(form, place, size, None)[:3]:
            return True
    return False


def why_not_run(
    op: WindowOp, sizes: Callable[[], Sequence[Extent]], dtype: Callable[[], int | None]
) -> str:
    """Why onnxruntime does not run an operator for its padding; empty where it may run it."""
    form, notes = op.form, op.node.notes
    key = why_not_run, form
    if key in notes:  # a convolution runs so at any size
        return ""
    kind = dtype()
    for place, size in enumerate(sizes()):
        placed = onnxruntime(form, place, size, kind)
        if placed is None and onnxruntime(replace(form, pads_written=False), place, size, kind):
            return "auto_pad beside pads"
        if placed is None:
            if op.operator.pools:
                return "pads that are not below the kernel"
            return f"{op.auto_pad} with dilation"
        if always(placed.runs) is False and always(less_equal(1, size)) is not False:
            return f"{op.auto_pad} with a kernel below the stride"
    if not op.operator.pools:
        notes[key] = True
    return ""


def _refusal(op: WindowOp, place: int, size: Extent, dtype: int | None) -> RefusalError:
    axis, window = op.axes[place], op.windows[place]
    how = f"kernel {window.kernel} below stride {window.stride}"
    if _is_spread(window):
        how = f"dilation {window.dilation}, for which onnxruntime does not pad a pool"
    words = brief = f"onnxruntime and the specification disagree on {op.auto_pad} with {how}"
    facts: dict[str, object] = {
        "auto_pad": op.auto_pad,
        "axis": axis,
        "kernel": window.kernel,
        "stride": window.stride,
        "dilations": [each.dilation for each in op.windows],
    }
    reads = []
    for engine in (onnxruntime, specification) if isinstance(size, int) else ():
        placed, name = engine(op.form, place, size, dtype), engine.__name__
        if placed is not None and isinstance(placed.windows, int):
            facts |= {"size": size, name: {"pads": [*placed[:2]], "windows": placed.windows}}
            many = counted(max(placed.windows, 0), "element")
            reads.append(f"{name} pads {placed.begin}+{placed.end} and gives {many}")
    if reads:
        words += f": on axis {axis} of size {size} {', the '.join(reads)}"
    return RefusalError(
        Reason.ENGINES_DISAGREE, words, brief, **facts, disagreement=words, options=BY_TRUST
    )


def _is_spread(window: Window) -> bool:
    """Whether dilation makes the window longer."""
    return window.dilation != 1 and window.kernel != 1


def _constant(extent: Extent) -> int | None:
    low, high = bounds(extent)
    return low if low == high else None


class Hazard(Struct, frozen=True):
    """The harm that onnxruntime would do to a node if it knew a shape: its code, and in words.

    In words onnxruntime is the subject.
    """

    node: Node
    reason: Reason
    does: str


def hazard_of(graph: Graph, analysis: Analysis, op: WindowOp) -> Hazard | None:
    """What onnxruntime would do to a pool, in its NCHWc kernel, if it knew the shape of its data.

    At full optimisation a pool over two spatial axes runs in blocks of channels if onnxruntime
    knows at load time that their number is a multiple of 8 or 16. Where the first spatial axis then
    holds no window, the process dies of SIGFPE; where a window of a MaxPool holds only -infinity,
    it gives the lowest finite number. None if no harm.
    """
    row = op.operator
    if len(op.windows) != 2 or len(op.node.outputs) > 1:
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
    shape = analysis.shape(pad.data)
    if amounts is None or op.ceil_mode or not shape or layout.others(amounts) != ((0, 0),) * 2:
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
