"""Operators that cannot take over a `Pad`: they have no pads, or pads that mean something else.

Findings say this in words. All other operators without a window are only named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from onnxpad.declared import Key
from onnxpad.graph import Graph, Node
from onnxpad.semantics.operators import key_of


class _Row(Struct, frozen=True):
    """Operators for which one reason holds.

    Attributes:
        names: Their names, with the domain where that is not ONNX's own, divided by spaces.
        why: The reason.
        inputs: The inputs that it is about; None for all.
    """

    names: str
    why: str
    inputs: frozenset[int] | None = frozenset({0})


_GLOBAL: Final = "GlobalAveragePool GlobalLpPool GlobalMaxPool"
_REDUCE: Final = (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
    "ReduceSum ReduceSumSquare"
)
_PRODUCTS: Final = (
    "Gemm MatMul MatMulInteger QLinearMatMul Einsum com.microsoft.FusedGemm "
    "com.microsoft.FusedMatMul com.microsoft.QGemm"
)
_NORMS: Final = (
    "GroupNormalization InstanceNormalization LayerNormalization LogSoftmax LpNormalization "
    "MeanVarianceNormalization RMSNormalization Softmax"
)
_ROWS: Final = (
    _Row("MaxUnpool", "its pads crop its result, so they stand for no further values", None),
    _Row("DeformConv", "it samples between elements, at offsets known only at run time"),
    _Row("Col2Im", "its data are columns, and its pads crop the image that they make"),
    _Row("RoiAlign MaxRoiPool", "its regions are coordinates of the padded data"),
    _Row("GridSample", "it samples at coordinates of the padded data"),
    _Row("Resize Upsample", "it scales the padding together with the data"),
    _Row("LSTM GRU RNN", "to it padding is further steps or features of a sequence"),
    _Row(_PRODUCTS, "it multiplies whole rows and columns, padding included", None),
    _Row(f"{_GLOBAL} {_REDUCE}", "it reduces all elements, padding included"),
    _Row(_NORMS, "it normalises by sums over the padding too"),
    _Row(
        "SequenceConstruct SequenceInsert SplitToSequence",
        "what reads the sequence that it makes is not followed",
        None,
    ),
    _Row("Optional", "what reads the optional value that it makes is not followed"),
    _Row("DFT STFT", "it transforms the padded signal as a whole"),
    _Row("Shape Size", "it reads the size of the padded data"),
    _Row("ArgMax ArgMin NonZero TopK", "it counts positions of the padded data"),
)


def _by_key() -> Mapping[Key, _Row]:
    found = {}
    for row in _ROWS:
        for name in row.names.split():
            domain, _, op = name.rpartition(".")
            found[domain, op] = row
    return found


_REASONS: Final = _by_key()


def why_no_padding(graph: Graph, node: Node, index: int) -> str:
    """Why a node cannot take over the padding of one of its inputs; empty where nothing is known.

    Args:
        graph: The graph of the node.
        node: The node.
        index: The input.
    """
    key = key_of(graph, node)
    row = None if key is None else _REASONS.get(key)
    if row is None or (row.inputs is not None and index not in row.inputs):
        return ""
    return row.why
