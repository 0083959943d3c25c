"""Neighbours that onnxruntime's optimiser fuses wrongly once no padding stands between them.

Its fusions look for operators that follow one another and have no other reader. Of all of them,
tried on each pair of operators and on random chains of every element type, these do not load or
compute something else:

- FuseReluClip: a Relu, and a Clip with a least value that is not of float or float16, or, before
  opset 11, with a greatest value below 0.
- DivMulFusion: 1 / x and a Mul, of integers, become one division.
- DoubleQDQPairsRemover: two pairs of QuantizeLinear and DequantizeLinear with other scales or zero
  points become one.
- QDQPropagation: the DequantizeLinear of int8 is copied past a step, as a QuantizeLinear that
  saturates (without a zero point) or does not load (from opset 21 on, at full optimisation).
- QDQS8ToU8, at full optimisation: a QuantizeLinear with `output_dtype` int8 and a DequantizeLinear
  become uint8, but for that attribute, and do not load.
- QDQSelectorAction, at full optimisation: an operator between DequantizeLinear and QuantizeLinear
  becomes a quantised one, which does not load or run with a scale for each channel; an average
  that counts its padding then counts what `ceil_mode` rounds up, too.
- WeightBiasQuantization: the constant float weights of a Conv between DequantizeLinear and
  QuantizeLinear are rounded to 8 bits.

Tried with onnxruntime 1.21 to 1.32, on x86-64; some have less of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from onnx import TensorProto

from onnxpad.arithmetic.size import Unknown
from onnxpad.facts import Analysis
from onnxpad.graph import Graph, Node, Tensor, Use
from onnxpad.runtimes.onnxruntime.pad_fusion import Fusion

_Array: TypeAlias = np.ndarray[Any, Any]
_Pair: TypeAlias = tuple[_Array, _Array | None]
"""The scale and the zero point of a QuantizeLinear or DequantizeLinear, where both are constant."""

_RELU_CLIP: Final = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16})
_REMOVED: Final = frozenset({TensorProto.INT8, TensorProto.UINT8})
_COPIED_PAST: Final = frozenset(
    {"MaxPool", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"}
)
_DEQUANTISE: Final = "DequantizeLinear"
_TYPED: Final = 21
"""The first opset in which a QuantizeLinear that onnxruntime inserts names its element type."""
# Operators with a quantised kin; those whose kin takes no scale of one element but a scalar.
_UNITS: Final = frozenset({
    "Add", "AveragePool", "Concat", "Conv", "Gemm", "GlobalAveragePool", "LeakyRelu", "MatMul",
    "Mul", "Sigmoid", "Softmax", "Where",
})  # fmt: skip
_SCALARS: Final = frozenset({"Add", "AveragePool", "Mul"})
# Those whose float weights onnxruntime rounds to 8 bits; the list is its own, not the table's.
_WEIGHED: Final = frozenset({"Conv", "ConvTranspose", "Gemm"})
_WEIGHT: Final = 1
_ACTIVATIONS: Final = frozenset({"Clip", "Relu"})
_NEUTRAL: Final[Mapping[str, int]] = {"Add": 0, "Sub": 0, "Mul": 1, "Div": 1}
_COPIES: Final = frozenset({"Dropout", "Identity"})
_ONLY_INPUT: Final = frozenset({"Concat", "Max", "Mean", "Min", "Sum"})
_RESHAPING: Final = frozenset({"Expand", "Flatten", "Reshape", "Slice", "Tile"})
_FAR: Final = 64

MEETING: Final = frozenset({"Clip", "DequantizeLinear", "Div", "Mul", "QuantizeLinear", "Relu"})
"""Operators at an end of such neighbours."""


Meeting: TypeAlias = tuple[tuple[Node, ...], str]
"""Neighbours that would be fused wrongly, upstream first, and what would come of it."""


class Neighbours:
    """Finds the neighbours in one graph that onnxruntime fuses wrongly."""

    def __init__(self, graph: Graph, analysis: Analysis, fusion: Fusion) -> None:
        """Reads the graph as it is at each call."""
        self._graph = graph
        self._analysis = analysis
        self._fusion = fusion
        self._copied_past = _COPIED_PAST if graph.opset >= 12 else _COPIED_PAST - {"MaxPool"}
        self._rules: Mapping[str, tuple[Callable[[Node], Iterator[Meeting]], ...]] = {
            "Relu": (self._relu_clip,),
            "Div": (self._quotient,),
            "QuantizeLinear": (self._two_pairs, self._typed),
            _DEQUANTISE: (self._copied, self._unit),
        }

    def wrong(self) -> Iterator[Meeting]:
        """All such neighbours, in file order of the first ones."""
        for node in self._graph.nodes:
            if node.op in self._rules and self._graph.is_standard(node):
                for rule in self._rules[node.op]:
                    yield from rule(node)

    def _relu_clip(self, relu: Node) -> Iterator[Meeting]:
        clip = self._only_reader(relu, "Clip")
        if clip is None:
            return
        if self._graph.opset < 11:
            if clip.attrs.get("max", 0) < 0:
                yield (relu, clip), "with a least value above the greatest one"
            return
        dtype = self._analysis.dtype(clip.inputs[0])
        if clip.operand(1) is not None and dtype not in _RELU_CLIP:
            yield (relu, clip), "as if they were of float"

    def _quotient(self, div: Node) -> Iterator[Meeting]:
        one = self._graph.constant(div.inputs[0])
        if one is None or one.size != 1 or one.dtype.kind not in "iu" or one.item() != 1:
            return
        mul = self._only_reader(div, "Mul")
        if mul is not None:
            yield (div, mul), "into one division, which rounds otherwise"

    def _two_pairs(self, first: Node) -> Iterator[Meeting]:
        chain: list[Node] = []
        node: Node | None = first
        while node is not None and len(chain) < _FAR:
            chain.append(node)
            node = self._only_reader(node, "QuantizeLinear" if len(chain) % 2 == 0 else _DEQUANTISE)
        pairs = [self._scalar_pair(each) for each in chain]
        place = 1
        while 1 <= place < len(chain) - 2:
            before, one, other, after = pairs[place - 1 : place + 3]
            if _is_same(one, other):  # taken out, so that others meet
                del chain[place : place + 2], pairs[place : place + 2]
                place -= 2 * (place > 1)
                continue
            nodes = chain[place - 1 : place + 3]
            types = {self._analysis.dtype(each.outputs[0]) for each in nodes[::2]}
            are_pairs = _is_same(before, one) and _is_same(other, after)
            if are_pairs and len(types) == 1 and types <= {*_REMOVED, None}:
                yield tuple(nodes), "into one pair, though they saturate differently"
            place += 2

    def _typed(self, quantise: Node) -> Iterator[Meeting]:
        dequantise = self._only_reader(quantise, _DEQUANTISE)
        if dequantise is not None and quantise.attrs.get("output_dtype") == TensorProto.INT8:
            yield (quantise, dequantise), "as uint8, though output_dtype says int8"

    def _copied(self, dequantise: Node) -> Iterator[Meeting]:
        graph, pair = self._graph, self._scalar_pair(dequantise)
        if self._analysis.dtype(dequantise.inputs[0]) != TensorProto.INT8 or pair is None:
            return
        if graph.opset < _TYPED and pair[1] is not None:
            return
        step = self._only_reader(dequantise, *self._copied_past, moves=False)
        if step is None:
            return
        uses = self._read_by(step, moves=False)
        if uses is None or any(use.node.op != "QuantizeLinear" for use in uses):
            yield (dequantise, step), "by a copy of the DequantizeLinear downstream"

    def _unit(self, dequantise: Node) -> Iterator[Meeting]:
        is_scalar = self._scalar_pair(dequantise) is not None
        way = self._past(dequantise) if is_scalar else [dequantise]
        copied = [dequantise] if len(way) > 1 else []
        use = self._only_use(way[-1])
        if use is None or use.node.op not in _UNITS | _WEIGHED:
            return
        node = use.node
        way.append(node)
        weighed = node.op in _WEIGHED | {"MatMul"}
        if (weighed and use.index) or not self._graph.is_standard(node):
            return
        while weighed and (after := self._only_reader(way[-1], *_ACTIVATIONS)) is not None:
            way.append(after)
        steps = self._past(way.pop())
        way += steps
        uses = self._read_by(way[-1])
        if not uses or any(each.node.op != "QuantizeLinear" or each.index for each in uses):
            return
        quantisers = [each.node for each in uses]
        if len(steps) > 1 and any(self._scalar_pair(each) is None for each in quantisers):
            return  # these are not copied past the steps between
        copied += quantisers if len(steps) > 1 else []
        is_rounded = is_scalar and node.op in _WEIGHED and self._has_float_weight(node)
        if is_rounded:
            yield (*way, *quantisers), "with weights that are rounded to 8 bits"
        others = {index: self._dequantiser(each) for index, each in enumerate(node.inputs)}
        if weighed:
            is_unit, sources = is_rounded or others.get(_WEIGHT) is not None, []
        else:
            others.pop(use.index)
            sources = [each for each in others.values() if each is not None]
            is_unit = node.op == "Where" or len(sources) == len(others)
        ends = (dequantise, *sources, *quantisers)
        if is_unit and self._counts_rounding(node):
            yield (*way, *quantisers), "into one that counts what ceil_mode rounds up"
        if not is_unit or all(self._is_scalar(each, node.op) for each in ends):
            return
        now = set(map(self._type_of, ends))
        later = {self._later_type_of(each, copied=each in copied) for each in ends}
        if later == {TensorProto.UINT8} or (len(now) == 1 and node.op != "Conv"):
            yield (*way, *quantisers), "into an operator that takes only one scale"

    def _counts_rounding(self, node: Node) -> bool:
        """Whether a node is an average whose quantised kin has a larger divisor, or becomes one."""
        if node.op != "AveragePool" or node.attrs.get("ceil_mode") != 1:
            return False
        return node.attrs.get("count_include_pad") == 1 or self._fusion.takes(node) is not None

    def _past(self, node: Node) -> list[Node]:
        """A node and the steps downstream that a quantiser is copied past."""
        found = [node]
        while (step := self._only_reader(found[-1], *self._copied_past)) is not None:
            found.append(step)
        return found

    def _type_of(self, node: Node) -> int | None:
        """The quantised element type of a QuantizeLinear or DequantizeLinear."""
        return self._analysis.dtype((node.inputs if node.op == _DEQUANTISE else node.outputs)[0])

    def _later_type_of(self, node: Node, *, copied: bool) -> int | None:
        """That type once QDQS8ToU8 has made uint8 of int8, between neighbours or their copies."""
        dtype = self._type_of(node)
        if node.op == _DEQUANTISE:
            other = self._graph.origin(node.inputs[0]).producer
            meets = other is not None and other.op == "QuantizeLinear"
        else:
            meets = self._only_reader(node, _DEQUANTISE) is not None
        return TensorProto.UINT8 if (copied or meets) and dtype == TensorProto.INT8 else dtype

    def _dequantiser(self, tensor: Tensor) -> Node | None:
        node = self._graph.origin(tensor).producer
        return node if node is not None and node.op == _DEQUANTISE else None

    def _has_float_weight(self, node: Node) -> bool:
        if len(node.inputs) <= _WEIGHT:
            return False
        weight = node.inputs[_WEIGHT]
        known = self._analysis.dtype(weight) == TensorProto.FLOAT
        return known and self._dequantiser(weight) is None and not self._fusion.is_fed(weight)

    def _scalar_pair(self, node: Node) -> _Pair | None:
        """The constant scale and zero point; None where they have more than one element."""
        found = [self._graph.constant(each) if each.name else None for each in node.inputs[1:3]]
        scale, zero = (*found, None)[:2] if found else (None, None)
        given = node.operand(2) is not None
        if scale is None or scale.size != 1 or (given and (zero is None or zero.size != 1)):
            return None
        return scale, zero

    def _is_scalar(self, node: Node, op: str) -> bool:
        """Whether scale and zero point are single numbers as the quantised kin takes them."""
        pair = self._scalar_pair(node)
        return pair is not None and (op not in _SCALARS or not any(pair[0].shape))

    def _only_reader(self, node: Node, *ops: str, moves: bool = True) -> Node | None:
        """The node that alone reads another's result as its data, if it is of these operators."""
        use = self._only_use(node, moves=moves)
        if use is None or use.node.op not in ops or not self._graph.is_standard(use.node):
            return None
        return use.node if use.index == 0 or use.node.op == "Mul" else None

    def _only_use(self, node: Node, *, moves: bool = True) -> Use | None:
        uses = self._read_by(node, moves=moves)
        return uses[0] if uses is not None and len(uses) == 1 else None

    def _read_by(self, node: Node, *, moves: bool = True) -> Sequence[Use] | None:
        """Where a node's result is read once copies are gone; equal readers count as one.

        Args:
            node: The node.
            moves: Whether Transposes are moved on, too.

        Returns:
            The uses; None where the result is an output, or a body reads it.
        """
        graph, pending = self._graph, [node.outputs[0]]
        found: dict[object, Use] = {}
        for _ in range(_FAR):
            if not pending:
                return tuple(found.values())
            tensor = pending.pop()
            if graph.is_output(tensor):
                return None
            uses = graph.uses(tensor)
            for use in uses:
                if use.index < 0:
                    return None
                if self._passes_on(use, moves=moves):
                    pending.append(use.node.outputs[0])
                elif len(uses) == 1:
                    found[use] = use
                else:
                    node = use.node
                    names = tuple(each.name for each in node.inputs)
                    found[node.op, node.domain, names, str(sorted(node.attrs.items()))] = use
        return None

    def _passes_on(self, use: Use, *, moves: bool) -> bool:
        """Whether the optimiser removes a node that reads a tensor, or moves it out of the way."""
        node, graph = use.node, self._graph
        if not graph.is_standard(node):
            return False
        if node.op in _NEUTRAL and len(node.inputs) == 2:
            other = graph.constant(node.inputs[1 - use.index])
            swaps = use.index == 0 or node.op in {"Add", "Mul"}
            return swaps and other is not None and bool((other == _NEUTRAL[node.op]).all())
        if use.index != 0:
            return False
        if node.op in _COPIES or (moves and node.op == "Transpose"):
            return True
        if node.op in _ONLY_INPUT:
            return len(node.inputs) == 1
        source, result = node.inputs[0], node.outputs[0]
        if node.op in {"Cast", "CastLike"}:
            dtype = self._analysis.dtype(result)
            return dtype is not None and dtype == self._analysis.dtype(source)
        if node.op == "Pad":
            readers = graph.uses(result)
            return any(self._fusion.takes(each.node) is node for each in readers if each.index >= 0)
        shape = self._analysis.shape(result) if node.op in _RESHAPING else None
        is_known = shape is not None and not any(isinstance(each, Unknown) for each in shape)
        return is_known and shape == self._analysis.shape(source)


def _is_same(one: _Pair | None, other: _Pair | None) -> bool:
    """Whether two pairs of a scale and a zero point are equal; an absent zero point is 0."""
    if one is None or other is None:
        return False
    zeros = [0 if pair[1] is None else pair[1].item() for pair in (one, other)]
    return bool(one[0].item() == other[0].item()) and zeros[0] == zeros[1]
