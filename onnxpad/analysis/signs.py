"""Proves tensors non-negative; finds what puts infinities in them, or tells their zeros apart."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from onnx import TensorProto

from onnxpad.analysis.analysis import Analysis
from onnxpad.analysis.rule_api import UndeterminedError, rule_name
from onnxpad.analysis.rules.lower_bounds import (
    BOUNDS,
    NONE,
    Ask,
    Bound,
    ComputedTensor,
    least_element,
)
from onnxpad.analysis.value import BOOL, INTEGERS
from onnxpad.graph import Graph, Node, Tensor, Use
from onnxpad.graph.walk import downstream, upstream
from onnxpad.messages import Named
from onnxpad.operators.table import FLOATS, gathering, operator_of

# The least element of each type that has one, other than -inf.
_LEAST: Final[Mapping[int | None, Bound]] = {
    BOOL: 0,
    **{dtype: least for dtype, (least, _) in INTEGERS.items()},
}

# Operators that pass infinities on, perhaps with the other sign.
_PASSING: Final = frozenset({
    "Add", "Cast", "Concat", "DepthToSpace", "Div", "Dropout", "Expand", "Flatten", "Gather",
    "GlobalAveragePool", "GlobalMaxPool", "Identity", "LeakyRelu", "Max", "MaxPool", "Min", "Mul",
    "Neg", "PRelu", "Pad", "Reshape", "Resize", "Slice", "SpaceToDepth", "Split", "Squeeze", "Sub",
    "Sum", "Tile", "Transpose", "Unsqueeze", "Upsample", "Where",
})  # fmt: skip

_FEW: Final = 64
"""Tensors upstream to search for infinities: it is done for each pool, and finds them near."""

# Operators that may make other numbers of 0.0 and -0.0, and the input at which they do.
_TELLING: Final = {
    "BitCast": 0,
    "Cast": 0,
    "Div": 1,
    "Pow": 0,
    "QuantizeLinear": 1,
    "Reciprocal": 0,
}


class Signs:
    """Facts about the signs of the tensors of one graph."""

    def __init__(self, graph: Graph, analysis: Analysis, outer: Signs | None = None) -> None:
        """Starts with nothing proved; a body gets the `Signs` of the graph around it as `outer`."""
        self._graph = graph
        self._analysis = analysis
        self._outer = outer
        self._known: dict[Tensor, Bound] = {}

    def mark(self) -> int:
        """A point to roll back to: the number of answers."""
        return len(self._known)

    def rollback(self, mark: int) -> None:
        """Forgets the answers since a mark, as edits of the graph are undone."""
        while len(self._known) > mark:
            self._known.popitem()

    def ask_again(self) -> None:
        """Drops negative answers: after edits the proof may succeed."""
        self._known = {tensor: bound for tensor, bound in self._known.items() if bound >= 0}

    def non_negative(self, tensor: Tensor) -> bool:
        """Whether no element of a tensor can be below zero (NaN is not below zero)."""
        return self.bound(tensor) >= 0

    def bound(self, tensor: Tensor) -> Bound:
        """A number that no element of a tensor is below; -inf where none is known."""
        known = self._known
        if tensor in known:
            return known[tensor]
        stack = [self._start(tensor)]
        answer: Bound | None = None
        while stack:
            asked, rule = stack[-1]
            try:
                needed = rule.send(answer)  # type: ignore[arg-type]
            except (StopIteration, UndeterminedError) as end:
                answer = end.value if isinstance(end, StopIteration) else NONE
                known[asked] = answer
                stack.pop()
            else:
                answer = known.get(needed)
                if answer is None:
                    stack.append(self._start(needed))
        return known[tensor]

    def _start(self, tensor: Tensor) -> tuple[Tensor, Ask]:
        """Begins to look for a bound; until it is found there is none, so cycles end."""
        self._known[tensor] = NONE
        return tensor, self._search(tensor)

    def _search(self, tensor: Tensor) -> Ask:
        array = self._graph.constant(tensor)
        if array is not None:
            return least_element(array)
        if tensor.outer is not None and self._outer is not None:
            return self._outer.bound(tensor.outer)
        node = self._graph.producer(tensor)
        bound = NONE
        if node is not None and not self._graph.refers(node):
            rule = BOUNDS.get(rule_name(self._graph, node))
            if rule is not None and (tensor is node.outputs[0] or node.op == "Split"):
                bound = yield from rule(ComputedTensor(node, tensor, self._graph, self._analysis))
        return bound if bound >= 0 else max(bound, _LEAST.get(self._analysis.dtype(tensor), NONE))

    def infinite(self, tensor: Tensor) -> Tensor | None:
        """A constant of the graph that puts infinities into a tensor, as the fill of a `Pad` does.

        None is no proof: the search follows only operators that move data or add to it.
        """
        for current in upstream(self._graph, [tensor], self._passing, _FEW):
            if current is None:
                break
            array = self._graph.constant(current)
            node = self._graph.producer(current)
            if array is not None:
                if array.dtype.kind == "f" and np.isinf(array).any():
                    return current
            elif current.outer is not None and self._outer is not None:
                found = self._outer.infinite(current.outer)
                if found is not None:
                    return found
            elif node is not None and self._is_infinite(node):
                return current
        return None

    def _passing(self, node: Node) -> Sequence[Tensor]:
        """The inputs of a node whose infinities it passes on."""
        if node.op not in _PASSING or not self._graph.is_standard(node) or self._graph.refers(node):
            return ()
        if node.op == "Pad" and node.attrs.get("mode", "constant") != "constant":
            return node.inputs[:1]  # these modes ignore the fill
        return node.inputs if node.op != "MaxPool" or self._reads_padding_alone(node) else ()

    def _reads_padding_alone(self, pool: Node) -> bool:
        """Whether a window of a MaxPool may lie wholly in the `Pad`s before it and in its own pads.

        Then it passes their value on. `Pad`s with computed amounts, or with axes, do not count.
        """
        kernel, pads = pool.attrs.get("kernel_shape"), pool.attrs.get("pads")
        if not isinstance(kernel, list) or not kernel:
            return False
        dilations = pool.attrs.get("dilations") or [1] * len(kernel)
        total = np.array(pads or [0] * (2 * len(kernel)), np.int64)
        tensor, found = self._graph.origin(pool.inputs[0]), False
        while (pad := self._graph.producer(tensor)) is not None and pad.op == "Pad":
            amounts = self._amounts(pad)
            if amounts is None or amounts.size != 2 * (len(kernel) + 2):
                break
            found = True
            total = total + amounts.reshape(2, -1)[:, 2:].reshape(-1)
            tensor = self._graph.origin(pad.inputs[0])
        spans = [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]
        return found and bool((total.reshape(2, -1) >= np.array(spans)).any())

    def _amounts(self, pad: Node) -> np.ndarray[Any, Any] | None:
        """The amounts of a `Pad` over all axes; None unless they are constant."""
        if self._graph.opset < 11:
            written = pad.attrs.get("pads")
            return np.array(written, np.int64) if isinstance(written, list) else None
        if len(pad.inputs) < 2 or pad.operand(3) is not None:
            return None
        return self._graph.constant(pad.inputs[1])

    def _is_infinite(self, node: Node) -> bool:
        """Whether it is a `Pad` with an infinite fill as its attribute (before opset 11)."""
        if node.op != "Pad" or self._graph.opset >= 11 or not self._graph.is_standard(node):
            return False
        value, mode = node.attrs.get("value"), node.attrs.get("mode", "constant")
        writes = mode == "constant" and not self._graph.refers(node)
        return writes and isinstance(value, float) and math.isinf(value)

    def telling(self, tensor: Tensor) -> Named | None:
        """The operator downstream that may make other numbers of 0.0 and -0.0; None without one.

        An output that shows -0.0 for 0.0 is no other number. A window operator that adds products
        to 0.0 loses the sign, as does a tensor without zeros, or without fractions.
        """
        if not _tellers(self._graph):
            return None
        graph = self._graph
        for current in downstream(graph, [tensor], self._keeping_signs):
            if current is None or (graph.is_output(current) and not graph.is_main):
                of = "what is computed from"
                return Named(f"{of} {(current or tensor).name!r}", f"{of} it")
            for use in graph.uses(current):
                node = use.node
                tells = _tells(graph, node, use.index)
                if graph.runs_graphs(node):
                    tells = not graph.inner_operators(node).isdisjoint(_tellers(graph))
                if tells:
                    return Named(f"{node.op} {graph.label(node)!r}", node.op)
        return None

    def _keeping_signs(self, use: Use) -> Iterator[Tensor]:
        """The results of a node in which the signs of an input's zeros may show."""
        row = operator_of(self._graph, use.node)
        if use.index or row is None or not row.loses_signs:
            for each in use.node.outputs:
                if self._analysis.dtype(each) in {None, *FLOATS} and self.bound(each) <= 0:
                    yield each


def _tellers(graph: Graph) -> frozenset[str]:
    """The operators anywhere in a model that may tell zeros apart; edits bring none that does."""
    main = graph.main
    if main not in _FOUND:
        inside = (main, *main.inside(), *main.functions())
        _FOUND[main] = frozenset(
            node.op
            for each in (*inside, *(body for one in main.functions() for body in one.inside()))
            for node in each.nodes
            for index in range(len(node.inputs))
            if not each.runs_graphs(node) and _tells(each, node, index)
        )
    return _FOUND[main]


_FOUND: Final[WeakKeyDictionary[Graph, frozenset[str]]] = WeakKeyDictionary()


def _tells(graph: Graph, node: Node, index: int) -> bool:
    """Whether a node without bodies may make other numbers of 0.0 and -0.0 in an input."""
    if not graph.is_standard(node):
        return gathering(graph, node) is None
    if _TELLING.get(node.op) != index:
        return False
    if node.op == "Cast":
        return graph.refers(node) != "" or node.attrs.get("to") == TensorProto.STRING
    other = node.inputs[1] if len(node.inputs) > 1 else None
    array = None if other is None else graph.constant(other)
    if node.op == "Pow" and array is not None:
        return not bool((array >= 0).all())
    return index == 0 or array is None
