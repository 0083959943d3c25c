"""Padding whose amounts depend on a size that the graph does not fix.

A computed `Pad` may read the same elements as SAME_UPPER or SAME_LOWER at every size, and can then
become that attribute. A SAME without constant pads can become a `Pad` that computes its amounts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import Extent, Sizes, Unknown, symbol
from onnxpad.arithmetic.window import ODD, odd_side, same_pads
from onnxpad.graph import Graph, Node
from onnxpad.messages import RUNTIME
from onnxpad.padding.amounts_subgraph import AmountsFormula, AmountsWriter, formula_of
from onnxpad.padding.padding import Padding
from onnxpad.padding.site import Sites
from onnxpad.padding.write import set_amounts, write
from onnxpad.reasons import Reason, RefusalError
from onnxpad.runtimes.deployed import misdeclared
from onnxpad.semantics.amounts import ExtentPairs, is_padded
from onnxpad.semantics.operators import Fill
from onnxpad.semantics.read_nodes import PadOp, WindowOp

MANY: Final = 100
"""The nodes that compute the amounts of a `Pad` are counted up to this number."""


class DynamicSites:
    """Reads and writes padding that depends on open sizes, in one graph."""

    def __init__(self, graph: Graph, analysis: Analysis, sites: Sites, plain: Analysis) -> None:
        """Reads the graph as it is at each call; `plain` is its analysis without assumptions."""
        self._graph = graph
        self._analysis = analysis
        self._sites = sites
        self._plain = plain
        self._amounts = AmountsWriter(graph, plain)

    def same_of(self, op: WindowOp) -> Padding | None:
        """The SAME that equals the computed `Pad` in front of an operator at every size.

        None where there is no such `Pad`, or it is not SAME.

        Raises:
            RefusalError: It is SAME but for what it fills in, or was declared not to be possible.
        """
        pad = self._sites.pad_before(op)
        if pad is None or pad.constant_amounts is not None or op.auto_pad != "NOTSET":
            return None
        amounts = pad.extents_over(op.rank)
        if pad.mode != "constant" or amounts is None or is_padded(op.pads):
            return None
        counted = op.count_include_pad or op.operator.padding is Fill.EXCLUDED
        for odd in ODD.values():
            padding = Padding(None, odd=odd, ceil=op.ceil_mode, counted=counted)
            try:
                self._sites.judge.check(op, pad, padding, self._sites.trust)
            except RefusalError as refusal:
                if not refusal.code.value.startswith(("fill", "declared")):
                    continue  # it is not SAME, or no engine would read that
                self._sites.check_form_of(op, pad)
                raise
            return padding
        return None

    def check_computed(self, op: WindowOp) -> AmountsFormula:
        """The amounts of the computed `Pad` that a SAME which depends on open sizes can become.

        Raises:
            RefusalError: The operator's padding cannot be in a `Pad` in front of it.
        """
        if self._graph.opset < 11:
            opset, said = self._graph.opset, "a Pad cannot compute its amounts before opset 11"
            raise RefusalError(Reason.OPSET_TOO_OLD, said, opset=opset, needs=11)
        known, shape, formula = self._analysis.shape(op.data), self._plain.shape(op.data), None
        if known is not None and not any(isinstance(size, Unknown) for size in known):
            amounts = self._same(op, self._sites.spatial(op, op.data, 1))
            self._sites.judge.check(op, None, _unpadded(op), self._sites.trust, amounts)
            any_size = [symbol(f"n{axis}", Sizes(1)) for axis in op.axes]
            for sizes in ((() if shape is None else op.operator.layout.spatial(shape)), any_size):
                if formula is None and sizes:
                    formula = formula_of(self._same(op, sizes), op.operator.layout.full(sizes, 1))
        if formula is None:
            said = "no formula is known for the sizes of the data"
            raise RefusalError(Reason.NOT_WORKED_OUT, said, tensor=op.data.name)
        wrong = misdeclared(self._graph, self._analysis, op.data)
        if wrong is not None:
            said = f"{RUNTIME}'s optimiser would compute the amounts from a wrong declared shape"
            raise RefusalError(Reason.WRONG_DECLARATION, said, output=wrong.name)
        return formula

    def _same(self, op: WindowOp, sizes: Sequence[Extent]) -> ExtentPairs:
        """SAME's amounts over all axes, at some sizes of the spatial ones."""
        odd = odd_side(op.auto_pad)
        pairs = zip(sizes, op.windows, strict=True)
        return op.operator.layout.full([same_pads(*each, odd=odd) for each in pairs], (0, 0))

    def write_computed(self, op: WindowOp) -> None:
        """Replaces a SAME by a `Pad` whose amounts are computed from the size."""
        graph, node = self._graph, op.node
        formula = self.check_computed(op)
        name = f"{node.name or node.outputs[0].name}_same"
        amounts = self._amounts.compute(formula, op.data, node, name)
        write(graph, self._analysis, op, _unpadded(op), computed=amounts)

    def simpler(self, pad: PadOp) -> tuple[AmountsFormula, int, int] | None:
        """The amounts of a `Pad`, if fewer nodes could compute them than do; and both numbers.

        They are remainders of sizes that it pads, as those of SAME, or of a `Pad` to a multiple.
        """
        shape = self._analysis.shape(pad.data)
        if pad.constant_amounts is not None or shape is None or self._graph.opset < 11:
            return None
        amounts = pad.extents_over(len(shape))
        formula = None if amounts is None else formula_of(amounts, shape)
        if formula is None or misdeclared(self._graph, self._analysis, pad.data) is not None:
            return None
        nodes, least = self.computing(pad.node), self._amounts.count(formula)
        return (formula, nodes, least) if nodes > least else None

    def computing(self, pad: Node) -> int:
        """The number of nodes that compute amounts of `Pad`s and nothing else, up to `MANY`."""
        own: dict[int, Node] = {}
        pending = [*pad.inputs[1:2], *pad.inputs[3:4]]
        while pending and len(own) < MANY:
            node = pending.pop().producer
            if node is None or id(node) in own:
                continue
            uses = [use for output in node.outputs for use in self._graph.uses(output)]
            serves = all(
                id(use.node) in own or (use.node.op == "Pad" and use.index in {1, 3})
                for use in uses
            )
            if serves and not any(self._graph.is_output(output) for output in node.outputs):
                own[id(node)] = node
                pending += [tensor for tensor in node.inputs if tensor.name]
        return sum(node.op != "Constant" for node in own.values())

    def write_simpler(self, pad: PadOp, formula: AmountsFormula) -> None:
        """Computes the amounts by new nodes in front of the `Pad`."""
        node = pad.node
        name = f"{node.name or node.outputs[0].name}_amounts"
        amounts = self._amounts.compute(formula, pad.data, node, name)
        set_amounts(self._graph, node, amounts)

    def told(self, op: WindowOp, sizes: Mapping[int, Extent]) -> tuple[str, dict[str, int]]:
        """SAME's pads on some axes, as formulas, and the multiples at which they are constant."""
        odd, wording = odd_side(op.auto_pad), self._sites.wording
        windows = {axis: op.windows[op.axes.index(axis)] for axis in sizes}
        pairs = (same_pads(size, windows[axis], odd=odd) for axis, size in sizes.items())
        return wording.same(windows, odd), wording.multiples(chain.from_iterable(pairs))

    def resolves(self, op: WindowOp) -> PadOp | None:
        """The computed `Pad` before an operator, if it is in effect constant, or SAME.

        Also where that cannot be written: the rule about it says why.
        """
        pad = self._sites.pad_before(op)
        if pad is None or pad.constant_amounts is not None:
            return None
        try:
            is_same = self.in_effect_constant(op, pad) or self.same_of(op) is not None
        except RefusalError:
            return pad
        return pad if is_same else None

    def in_effect_constant(self, op: WindowOp, pad: PadOp) -> bool:
        """Whether constant amounts read what a computed `Pad` before an operator adds."""
        try:
            next(self._sites.outside(op, pad), None)
        except RefusalError:
            return False
        return True


def _unpadded(op: WindowOp) -> Padding:
    none = ((0, 0),) * len(op.windows)
    return Padding(none, ceil=op.ceil_mode, counted=op.count_include_pad)
