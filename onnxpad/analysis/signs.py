"""What puts infinities in tensors, and what tells their zeros apart."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

import numpy as np
from onnx import TensorProto

from onnxpad.analysis.analysis import Analysis
from onnxpad.graph import Graph, Node, Tensor, Use
from onnxpad.graph.walk import downstream
from onnxpad.messages import Named
from onnxpad.semantics.operators import gathering, operator_of
from onnxpad.semantics.read_nodes import pad_giving
from onnxpad.semantics.rows import FLOATS

_NEAR: Final = 24
"""Tensors upstream that are looked at: it is done for each pool, and finds infinities near."""

_GROWTH: Final = 256
"""By how much operators are taken to multiply magnitudes, as slopes do and sums of elements."""

# Operators whose result has numbers of the first input; of all inputs; that compute with these.
_MOVING: Final = frozenset({
    "Abs", "Ceil", "Clip", "Conv", "ConvTranspose", "DepthToSpace", "Dropout", "Expand", "Flatten",
    "Floor", "Gather", "Gemm", "GlobalMaxPool", "Identity", "MatMul", "MaxPool", "Neg", "Pad",
    "Relu", "Reshape", "Resize", "Round", "Slice", "SpaceToDepth", "Split", "Squeeze", "Tile",
    "Transpose", "Unsqueeze", "Upsample",
})  # fmt: skip
_JOINING: Final = frozenset({"Concat", "Max", "Min", "Where"})
_COMPUTING: Final = frozenset({
    "Add", "AveragePool", "BatchNormalization", "Cast", "Div", "Exp", "GlobalAveragePool",
    "LeakyRelu", "Log", "Mul", "PRelu", "Pow", "Reciprocal", "Sqrt", "Sub", "Sum",
})  # fmt: skip
_POLES: Final = frozenset({"Div", "Exp", "Log", "Pow", "Reciprocal", "Sqrt"})

# Operators that may make other numbers of 0.0 and -0.0, and the input at which they do.
_TELLING: Final = {
    "BitCast": 0,
    "Cast": 0,
    "Div": 1,
    "Pow": 0,
    "QuantizeLinear": 1,
    "Reciprocal": 0,
}


def infinite(analysis: Analysis, tensor: Tensor, *, computed: bool = False) -> Tensor | None:
    """Where infinities or NaN in a tensor come from; None is no proof that it holds none.

    They are in a constant, or operators make them of constants alone. What is computed of a
    fill near the greatest number of its type is taken for infinite. Only few tensors upstream
    are looked at, and only some operators.

    Args:
        analysis: The analysis of its graph.
        tensor: The tensor.
        computed: Whether more is computed of it.
    """
    graph, near = analysis.graph, [(tensor, computed)]
    for at, is_computed in near:
        array, node, read = graph.constant(at), at.producer, tuple[Tensor, ...]()
        if array is not None:
            if _is_infinite(array, is_computed):
                return at
        elif at.outer is not None and analysis.outer is not None:
            if (found := infinite(analysis.outer, at.outer, computed=is_computed)) is not None:
                return found
        elif node is not None and graph.is_standard(node) and not graph.refers(node):
            fills = node.op == "Pad" and node.attrs.get("mode", "constant") == "constant"
            fill = np.array(node.attrs.get("value", 0.0) if fills else 0.0, np.float32)
            if _is_infinite(fill, is_computed) or _is_pole(graph, node):
                return at
            if node.op in _MOVING and (node.op != "MaxPool" or _passes_fill(analysis, node)):
                read = node.inputs[: 3 if fills else 1]
            elif node.op in _JOINING | _COMPUTING:
                read, is_computed = node.inputs, is_computed or node.op in _COMPUTING
        for each in read:
            if each.name and (each, is_computed) not in near and len(near) < _NEAR:
                near.append((each, is_computed))
    return None


def _is_pole(graph: Graph, node: Node) -> bool:
    """Whether a node divides by a constant zero, or may have a pole at constants."""
    if node.op not in _POLES:
        return False
    arrays = [graph.constant(each) for each in node.inputs if each.name]
    if node.op == "Div" and arrays[-1] is not None:
        return not arrays[-1].all()
    return not any(array is None for array in arrays)


def _passes_fill(analysis: Analysis, pool: Node) -> bool:
    """Whether a window of a MaxPool may lie wholly in `Pad`s before it and in its own pads.

    Then it passes their value on. Amounts that are not known do not count.
    """
    kernel = pool.attrs.get("kernel_shape")
    if not isinstance(kernel, list) or not kernel:
        return False
    total = np.array(pool.attrs.get("pads") or [0] * (2 * len(kernel))).reshape(2, -1).T
    tensor = pool.inputs[0]
    while (pad := pad_giving(analysis.graph, analysis, tensor)) is not None:
        total = total + np.array(pad.over(len(kernel) + 2) or [(0, 0)] * (len(kernel) + 2))[2:]
        tensor = pad.data
    spans = (np.array(kernel) - 1) * (pool.attrs.get("dilations") or 1) + 1
    return bool((total >= spans[:, np.newaxis]).any())


def telling(analysis: Analysis, tensor: Tensor) -> Named | None:
    """The operator downstream that may make other numbers of 0.0 and -0.0; None without one.

    An output that shows -0.0 for 0.0 is no other number. A window operator that adds products
    to 0.0 loses the sign, as does a tensor without zeros, or without fractions.
    """
    graph = analysis.graph
    if not _tellers(graph):
        return None
    for current in downstream([tensor], partial(_keeping_signs, analysis)):
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


def _keeping_signs(analysis: Analysis, use: Use) -> Iterator[Tensor]:
    """The results of a node in which the signs of an input's zeros may show."""
    row = operator_of(analysis.graph, use.node)
    if use.index or row is None or not row.loses_signs:
        for each in use.node.outputs:
            if analysis.dtype(each) in {None, *FLOATS} and analysis.bound(each) <= 0:
                yield each


def _is_infinite(array: np.ndarray[Any, Any], is_computed: bool) -> bool:
    """Whether an array holds infinities or NaN, or numbers of which more is computed near these."""
    if array.dtype.kind != "f" or not array.size:
        return False
    greatest = np.finfo(array.dtype).max
    return not (np.abs(array) <= (greatest / _GROWTH if is_computed else greatest)).all()


def _tellers(graph: Graph) -> frozenset[str]:
    """The operators anywhere in a model that may tell zeros apart; edits bring none that does."""
    notes = graph.model.notes
    if _tellers not in notes:
        main = graph.main
        inside = (main, *main.inside(), *main.functions())
        notes[_tellers] = frozenset(
            node.op
            for each in (*inside, *(body for one in main.functions() for body in one.inside()))
            for node in each.nodes
            for index in range(len(node.inputs))
            if not each.runs_graphs(node) and _tells(each, node, index)
        )
    found: frozenset[str] = notes[_tellers]
    return found


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
