"""Pools for which onnxruntime must not choose its NCHWc kernel, which crashes or is wrong.

At full optimisation a MaxPool or AveragePool over two spatial axes runs in blocks of channels (the
NCHWc kernels) if onnxruntime knows at load time that the number of channels is a multiple of 8 or
16. Where the first spatial axis then holds no window, the process dies of SIGFPE; the plain kernel
gives an empty tensor. Where a window of a MaxPool holds only -infinity, the NCHWc kernel gives the
lowest finite number.

Downstream of a `Pad` with computed amounts, onnxruntime does not know the shape. So a rewrite that
makes these amounts constant, or removes the `Pad`, can make it choose that kernel. Tried with
onnxruntime 1.21 to 1.32.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress

from msgspec import Struct
from onnx import TensorProto

from onnxpad.arithmetic.size import Extent, Size, Sizes, Unknown, always, less_equal, symbol
from onnxpad.arithmetic.window import meets_data, pool_output_size
from onnxpad.facts import Analysis
from onnxpad.facts.bounds import infinite
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.graph.walk import upstream
from onnxpad.reasons import Reason
from onnxpad.runtimes.onnxruntime.departures import BLOCK, runs_in_blocks
from onnxpad.semantics.operators import Fill, operator_of, windowed
from onnxpad.semantics.read_nodes import UnreadableError, WindowOp, pad_giving, read_window


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


class BlockedPools:
    """The pools of one graph that must not run in the NCHWc kernel.

    Attributes:
        inside: Return further tensors whose shapes onnxruntime must not learn, those that bodies
            in the graph capture among them.
        missized: Returns the names of the tensors whose sizes onnx's shape inference gets wrong.
    """

    def __init__(self, graph: Graph, analysis: Analysis) -> None:
        """Reads the graph as it is at each call."""
        self._graph = graph
        self._analysis = analysis
        self._found: tuple[int, dict[str, Hazard]] | None = None
        self._pools: list[Node] | None = None
        self.inside: list[Callable[[], Iterator[tuple[Tensor, Hazard]]]] = []
        self.missized: Callable[[], Collection[str]] = frozenset

    def behind(self, tensor: Tensor) -> Hazard | None:
        """A pool downstream for which onnxruntime would choose NCHWc if it knew a tensor's shape.

        None where there is no such pool.
        """
        if self._found is None or self._found[0] != self._graph.version:
            self._found = self._graph.version, self._upstream()
        return self._found[1].get(tensor.name)

    def _windows(self) -> Iterator[WindowOp]:
        """The pools that may run in blocks; edits add none."""
        graph = self._graph
        if self._pools is None:
            rows = ((node, operator_of(graph, node)) for node in graph.nodes)
            self._pools = [node for node, row in rows if row and runs_in_blocks(row)]
        for node in self._pools:
            with suppress(UnreadableError):
                if node.alive:
                    yield read_window(graph, self._analysis, node)

    def _upstream(self) -> dict[str, Hazard]:
        """The tensors from whose shape onnxruntime infers that of such a pool, each with one."""
        found: dict[str, Hazard] = {}
        declared: dict[str, Sequence[int | str | None]] | None = None
        for op in self._windows():
            hazard = self._hazard(op)
            if hazard is None:
                continue
            if declared is None:
                declared = {
                    tensor.name: sizes for tensor, sizes in self._graph.claims("value_info")
                }
            claim, channels = declared.get(op.data.name, ()), op.operator.layout.channels
            known = len(claim) == op.rank and isinstance(claim[channels], int)
            if not known:
                self._add(found, op.data, hazard, self._unweighed)
        for border in self.inside:
            for tensor, hazard in border():
                self._add(found, tensor, hazard, self._graph.sources)
        return found

    def _add(
        self,
        found: dict[str, Hazard],
        tensor: Tensor,
        hazard: Hazard,
        through: Callable[[Node], Iterable[Tensor]],
    ) -> None:
        """Adds all tensors from whose shape onnxruntime infers that of a tensor."""

        def fresh(node: Node) -> Iterable[Tensor]:
            return (each for each in through(node) if each.name not in found)

        start = [] if tensor.name in found else [tensor]
        for each in upstream(start, fresh, most=None):
            if each is not None:
                found[each.name] = hazard

    def _unweighed(self, node: Node) -> Sequence[Tensor]:
        """The inputs of a node whose number of output channels no weight tells."""
        found = windowed(self._graph, node)
        return node.inputs if found is None or found.inputs.weight is None else ()

    def _hazard(self, op: WindowOp) -> Hazard | None:
        row = op.operator
        blocked = runs_in_blocks(row)
        if not blocked or len(op.windows) != 2 or len(op.node.outputs) > 1:
            return None
        shape = self._analysis.shape(op.data)
        channels: Extent = 0
        height: Extent = 0
        if shape is not None and len(shape) == op.rank:
            channels, height = shape[row.layout.channels], shape[op.axes[0]]
        if not isinstance(channels, int) or channels % BLOCK:
            return None
        if self._analysis.dtype(op.data) not in {None, TensorProto.FLOAT}:
            return None
        chosen = f"choose a kernel for {op.node.op} {self._graph.label(op.node)!r} that"
        if self._may_be_empty(op, height):
            does = f"{chosen} crashes where that holds no window"
            return Hazard(op.node, Reason.KERNEL_CRASHES, does)
        if row.padding is Fill.LOWEST and self._may_read_infinities(op, shape):
            does = f"{chosen} gives the lowest finite number for a window of only -infinity"
            return Hazard(op.node, Reason.INFINITE_DATA, does)
        return None

    @staticmethod
    def _may_be_empty(op: WindowOp, size: Extent) -> bool:
        if op.auto_pad.startswith("SAME"):
            return False  # at least one window, or an error
        if not isinstance(size, int | Size):
            size = symbol("unknown", Sizes(0))
        pads = op.pads[0] if op.auto_pad == "NOTSET" else (0, 0)
        count = pool_output_size(size, op.windows[0], *pads, ceil_mode=op.ceil_mode)
        return always(less_equal(1, count)) is not True

    def _may_read_infinities(self, op: WindowOp, shape: Sequence[Extent] | None) -> bool:
        """Whether a window may hold infinities and nothing else.

        Exporters write a `Pad` of -infinity directly upstream of a MaxPool: that is harmless, as
        each window still holds some data.
        """
        if infinite(self._analysis, op.data) is None:
            return False
        pad = pad_giving(self._graph, self._analysis, op.data)
        if pad is None or op.auto_pad.startswith("SAME") or infinite(self._analysis, pad.data):
            return True
        amounts = pad.over(op.rank) or pad.amounts
        if shape is None or amounts is None or len(amounts) != len(shape):
            return True
        own = op.pads if op.auto_pad == "NOTSET" else ((0, 0),) * len(op.windows)
        for axis, window, (begin, end) in zip(op.axes, op.windows, own, strict=True):
            size, (first, last) = shape[axis], amounts[axis]
            if any(isinstance(each, Unknown) for each in (size, first, last)):
                return True
            count = pool_output_size(size, window, begin, end, ceil_mode=op.ceil_mode)
            start = -begin - first
            final = start + (count - 1) * window.stride
            if not meets_data(window, size - first - last, start, final):
                return True
        return False
