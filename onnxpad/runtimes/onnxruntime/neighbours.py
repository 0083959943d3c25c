"""Neighbours that onnxruntime's optimiser fuses wrongly once no padding stands between them.

Its fusions look for operators that follow one another and have no other reader. Of all of them,
tried on each pair of operators and on random chains of every element type, these do not load or
compute something else:

- FuseReluClip: a Relu, and a Clip with a least value that is not of float or float16, or, before
  opset 11, with a greatest value below 0.
- DivMulFusion: 1 / x and a Mul, of integers, become one division.
- DoubleQDQPairsRemover: two pairs of QuantizeLinear and DequantizeLinear with other scales or zero
  points become one.
- QDQPropagation: the DequantizeLinear of what is not uint8 is copied past a step, as a
  QuantizeLinear that saturates (without a zero point) or does not load (of other than int8, or from
  opset 21 on, at full optimisation). Of any type, the process ends where a body reads what the step
  gives. MatMulAddFusion inserts such a step.
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

from collections.abc import Iterator, Mapping, Sequence

from onnx import TensorProto

from onnxpad.arithmetic.size import Unknown
from onnxpad.facts import Analysis
from onnxpad.graph import Graph, Node, Tensor, Use, downstream
from onnxpad.runtimes.onnxruntime.pad_fusion import Fusion

_DEQUANTISE = "DequantizeLinear"
_QUANTISE = "QuantizeLinear"
_FLOATS = frozenset({TensorProto.FLOAT, TensorProto.FLOAT16})
_TYPED = 21
"""The first opset in which a QuantizeLinear that onnxruntime inserts names its element type."""
# The steps that a quantiser is copied past.
_STEPS = frozenset({"MaxPool", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"})
# Operators with a quantised kin; those whose float weights onnxruntime rounds to 8 bits.
_UNITS = frozenset({
    "Add", "AveragePool", "Concat", "Gemm", "GlobalAveragePool", "LeakyRelu", "MatMul", "Mul",
    "Sigmoid", "Softmax", "Where",
})  # fmt: skip
_WEIGHED = frozenset({"Conv", "ConvTranspose", "Gemm"})
_ACTIVATIONS = frozenset({"Clip", "Relu"})
# What the optimiser removes: with such an operand, with one input, where the shape stays, always.
_NEUTRAL: Mapping[str, int] = {"Add": 0, "Sub": 0, "Mul": 1, "Div": 1}
_ONLY_INPUT = frozenset({"Concat", "Max", "Mean", "Min", "Sum"})
_RESHAPING = frozenset({"Expand", "Flatten", "Reshape", "Slice", "Tile"})
_COPIES = frozenset({"Cast", "CastLike", "Dropout", "Identity"})
_FAR = 64

MEETING = frozenset({"Clip", _DEQUANTISE, "Div", "Mul", _QUANTISE, "Relu"})
"""Operators at an end of such neighbours."""

Meeting = tuple[tuple[Node, ...], str]
"""Neighbours that would be fused wrongly, upstream first, and what would come of it."""


class Neighbours:
    """Finds the neighbours in one graph that onnxruntime may fuse wrongly.

    Only those count that a rewrite joins, so what they compute need not be known exactly.
    """

    def __init__(self, graph: Graph, analysis: Analysis, fusion: Fusion) -> None:
        """Reads the graph as it is at each call."""
        self._graph = graph
        self._analysis = analysis
        self._fusion = fusion
        self._rules = {"Relu": self._pair, "Div": self._pair}
        self._rules |= {_QUANTISE: self._pairs, _DEQUANTISE: self._unit}

    def wrong(self) -> Iterator[Meeting]:
        """All such neighbours, in file order of the first ones."""
        for node in self._graph.nodes:
            if node.op in self._rules and self._graph.is_standard(node):
                yield from self._rules[node.op](node)

    def _pair(self, first: Node) -> Iterator[Meeting]:
        """Two operators that are fused rightly only if they are of float."""
        divides = first.op == "Div"
        follows = self._only_reader(first, "Mul" if divides else "Clip")
        is_float = self._analysis.dtype(first.outputs[0]) in _FLOATS
        if follows is not None and not (is_float and (divides or self._graph.opset >= 11)):
            yield (first, follows), "into one division" if divides else "as if they were of float"

    def _pairs(self, first: Node) -> Iterator[Meeting]:
        """Quantisers one after another, of which a pair is taken out, or becomes uint8."""
        chain = [first]
        for op in (_DEQUANTISE, _QUANTISE, _DEQUANTISE):
            if (follows := self._only_reader(chain[-1], op)) is None:
                break
            chain.append(follows)
        scales = {self._scale(each) for each in chain}
        if len(chain) == 4 and (None in scales or len(scales) > 1):
            yield tuple(chain), "into one pair, though they saturate differently"
        if len(chain) > 1 and first.attrs.get("output_dtype") == TensorProto.INT8:
            yield tuple(chain[:2]), "as uint8, though output_dtype says int8"

    def _unit(self, first: Node) -> Iterator[Meeting]:
        """A DequantizeLinear that is copied past a step, or an operator between quantisers."""
        kind = self._analysis.dtype(first.inputs[0])
        saturates = kind != TensorProto.UINT8 and (
            kind != TensorProto.INT8 or self._graph.opset >= _TYPED or first.operand(2) is None
        )
        for step in self._steps(first):
            uses = self._read_by(step, moves=False)
            readers = None if uses is None else {use.node.op for use in uses}
            if step.op == "MatMul":  # with an Add, it becomes a Gemm of what a Reshape gives
                if saturates and readers == {"Add"}:
                    yield (first, step), "by a copy of the DequantizeLinear past a Reshape"
            elif self._is_captured(step):
                yield (first, step), "by a copy of the DequantizeLinear for a body"
            elif saturates and readers != {_QUANTISE}:  # a sole reader is not as several are
                yield (first, step), f"by a copy of the DequantizeLinear for {len(uses or ())}"
        way = self._past(first)
        use = self._only_use(way[-1])
        if use is None or use.node.op not in _UNITS | _WEIGHED:
            return
        node, weighs = use.node, use.node.op in _WEIGHED | {"MatMul"}
        if weighs and use.index:
            return
        way.append(node)
        while (after := self._only_reader(way[-1], *_ACTIVATIONS)) is not None:
            way.append(after)
        way += self._past(way[-1])[1:]
        uses = self._read_by(way[-1])
        if not uses or any(each.node.op != _QUANTISE for each in uses):
            return
        quantisers = [each.node for each in uses]
        sources = [self._graph.origin(each).producer for each in node.inputs]
        given = [each for each in sources if each is not None and each.op == _DEQUANTISE]
        ends = [first, *quantisers, *(() if weighs else given)]
        weight = sources[1] if node.op in _WEIGHED and len(sources) > 1 else None
        if node.op in _WEIGHED and weight not in given:
            yield (*way, *quantisers), "with weights that are rounded to 8 bits"
        elif node.op == "AveragePool" and node.attrs.get("ceil_mode"):  # another divisor
            yield (*way, *quantisers), "into one that counts what ceil_mode rounds up"
        elif None in map(self._scale, ends):
            yield (*way, *quantisers), "into an operator that takes only one scale"

    def _steps(self, first: Node) -> Iterator[Node]:
        """The steps that a DequantizeLinear may be copied past, whatever else reads it."""

        def is_step(use: Use) -> bool:
            return use.index == 0 and use.node.op in _STEPS and self._graph.is_standard(use.node)

        def after(use: Use) -> Sequence[Tensor]:
            return use.node.outputs[:1] if is_step(use) else self._passed(use)

        for tensor in filter(None, downstream(first.outputs[:1], after)):
            for use in self._graph.uses(tensor):
                if is_step(use) or (use.index == 0 and use.node.op == "MatMul"):
                    yield use.node

    def _past(self, node: Node) -> list[Node]:
        """A node and the steps downstream that a quantiser is copied past."""
        found = [node]
        while (step := self._only_reader(found[-1], *_STEPS)) is not None:
            found.append(step)
        return found

    def _scale(self, node: Node) -> tuple[float, int] | None:
        """The constant scale and zero point; None where they are not known to be single numbers."""
        found = [self._graph.constant(each) for each in node.inputs[1:3] if each.name]
        numbers = [each.item() for each in found if each is not None and not each.shape]
        if not numbers or len(numbers) != len(found):
            return None
        return numbers[0], (*numbers, 0)[1]

    def _only_reader(self, node: Node, *ops: str) -> Node | None:
        """The node that alone reads another's result as its data, if it is of these operators."""
        use = self._only_use(node)
        if use is None or use.node.op not in ops or not self._graph.is_standard(use.node):
            return None
        return use.node if use.index == 0 or use.node.op == "Mul" else None

    def _only_use(self, node: Node) -> Use | None:
        uses = self._read_by(node)
        return uses[0] if uses is not None and len(uses) == 1 else None

    def _read_by(self, node: Node, *, moves: bool = True) -> Sequence[Use] | None:
        """Where a node's result is read once copies are gone; equal readers count as one.

        With `moves`, Transposes are moved on, too. None where it is an output, or a body reads it.
        """
        graph, pending = self._graph, [node.outputs[0]]
        found: dict[object, Use] = {}
        for _ in range(_FAR):
            if not pending:
                return tuple(found.values())
            tensor = pending.pop()
            if graph.is_output(tensor):
                return None
            for use in graph.uses(tensor):
                node = use.node
                if use.index < 0:
                    return None
                if self._passes_on(use, moves=moves):
                    pending.append(node.outputs[0])
                else:
                    names = tuple(each.name for each in node.inputs)
                    found[node.op, node.domain, names, str(sorted(node.attrs.items()))] = use
        return None

    def _is_captured(self, node: Node) -> bool:
        """Whether a body reads a node's result once copies are gone, or may so far downstream."""
        return any(
            each is None or any(use.index < 0 for use in self._graph.uses(each))
            for each in downstream(node.outputs[:1], self._passed)
        )

    def _passed(self, use: Use) -> Sequence[Tensor]:
        """What a node gives that the optimiser removes or moves on; nothing for any other."""
        return use.node.outputs[:1] if self._passes_on(use, moves=True) else ()

    def _passes_on(self, use: Use, *, moves: bool) -> bool:
        """Whether the optimiser removes a node that reads a tensor, or moves it out of the way."""
        node, graph = use.node, self._graph
        if not graph.is_standard(node):
            return False
        if node.op in _NEUTRAL:
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
        if node.op == "Pad":
            readers = [each.node for each in graph.uses(result) if each.index >= 0]
            return node in [pad.node for pad in map(self._fusion.takes, readers) if pad is not None]
        shape = self._analysis.shape(result) if node.op in _RESHAPING else None
        is_known = shape is not None and not any(isinstance(each, Unknown) for each in shape)
        return is_known and shape == self._analysis.shape(source)
