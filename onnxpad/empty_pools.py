"""Pools that onnxruntime dies of where they hold no window.

At full optimisation a MaxPool or AveragePool over two spatial axes runs in blocks of channels (the
NCHWc kernels) once onnxruntime knows that their number is a multiple of 8 or 16. Where the first
spatial axis then holds no window, the process ends by SIGFPE; the plain kernel gives an empty
tensor. What follows a `Pad` of computed amounts is of unknown shape to onnxruntime, so a rewrite
that makes them constant, or takes the `Pad` away, can choose that kernel. Tried with onnxruntime
1.31.1.

May import: graph, operators, size, values, window.
"""

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from onnx import TensorProto

from onnxpad.graph import Graph
from onnxpad.operators import WindowOp
from onnxpad.size import Extent, Size, always, less_equal, symbol
from onnxpad.values import Analysis
from onnxpad.window import pool_output_size

Node: TypeAlias = Any
Tensor: TypeAlias = Any

_BLOCK: Final = 8
_POOLS: Final = frozenset({"MaxPool", "AveragePool"})
# Behind these the number of channels is known from the weights.
_KNOWN_BEHIND: Final = frozenset({"Conv", "ConvTranspose"})


class EmptyPools:
    """The pools of one graph that may come to crash onnxruntime."""

    def __init__(self, graph: Graph, analysis: Analysis) -> None:
        """Reads the graph as it is at each call."""
        self._graph = graph
        self._analysis = analysis
        self._found: tuple[int, dict[str, Node]] | None = None

    def behind(self, tensor: Tensor, windows: Iterable[WindowOp]) -> Node | None:
        """A pool that may hold no window and whose channels a tensor's shape makes known, if any.

        `windows` are the graph's window operators.
        """
        if self._found is None or self._found[0] != self._graph.version:
            self._found = self._graph.version, self._upstream(windows)
        return self._found[1].get(tensor.name)

    def _upstream(self, windows: Iterable[WindowOp]) -> dict[str, Node]:
        """The tensors from which shapes reach such a pool, each with one."""
        found: dict[str, Node] = {}
        declared: set[str] | None = None
        for op in windows:
            if not self._may_crash(op):
                continue
            if declared is None:
                claims = self._graph.claims()
                declared = {t.name for t, sizes in claims if len(sizes) > 1 and _is_known(sizes)}
            pending = [op.data] if op.data.name not in declared else []
            while pending:
                tensor = pending.pop()
                if tensor.name in found:
                    continue
                found[tensor.name] = op.node
                node = self._graph.producer(tensor)
                if node is not None and node.op not in _KNOWN_BEHIND:
                    pending += [each for each in node.inputs if each.name]
        return found

    def _may_crash(self, op: WindowOp) -> bool:
        if op.operator.op_type not in _POOLS or len(op.windows) != 2 or len(op.node.outputs) > 1:
            return False
        shape = self._analysis.shape(op.data)
        channels: Extent = shape[1] if shape is not None and len(shape) == 4 else 0
        if not isinstance(channels, int) or channels % _BLOCK:
            return False
        if self._analysis.dtype(op.data) not in {None, TensorProto.FLOAT}:
            return False
        if op.auto_pad.startswith("SAME"):
            return False  # one window at least, or an error
        size: Extent = shape[2] if shape is not None and len(shape) == 4 else 0
        if not isinstance(size, int | Size):
            size = symbol("unknown", 0)
        pads = op.pads[0] if op.auto_pad == "NOTSET" else (0, 0)
        count = pool_output_size(size, op.windows[0], *pads, ceil_mode=op.ceil_mode)
        return always(less_equal(1, count)) is not True


def _is_known(sizes: tuple[int | str | None, ...]) -> bool:
    """Whether a declared shape tells the channels."""
    return isinstance(sizes[1], int)
