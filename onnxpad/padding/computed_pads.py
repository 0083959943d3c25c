"""Padding whose amounts depend on a size that the graph does not fix.

A computed `Pad` may read the same elements as SAME_UPPER or SAME_LOWER at every size, and can then
become that attribute. A SAME without constant pads can become a `Pad` that computes its amounts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import Extent, Size, Unknown
from onnxpad.arithmetic.window import (
    ODD,
    Side,
    Window,
    odd_side,
    same_output_size,
    same_pads,
)
from onnxpad.facts import remembered
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.graph.walk import nodes_upstream
from onnxpad.messages import RUNTIME, named
from onnxpad.operators.amounts import ExtentPair, is_padded
from onnxpad.operators.read import PadOp, WindowOp
from onnxpad.operators.table import Fill
from onnxpad.padding.amounts_subgraph import (
    AmountsFormula,
    AmountsWriter,
    formula_of,
    formula_of_same,
)
from onnxpad.padding.limits import (
    check_declared,
    check_pads,
    refusal_of_uncounted,
)
from onnxpad.padding.padding import Padding
from onnxpad.padding.proposal import refusal_of_zero_point
from onnxpad.padding.site import Rounding, Sites, windows_over
from onnxpad.padding.write import insert_pad
from onnxpad.reasons import Reason, RefusalError
from onnxpad.records import dataclass
from onnxpad.runtimes.deployed import misdeclared

MANY: Final = 100
"""The nodes that compute the amounts of a `Pad` are counted up to this number."""


@dataclass(frozen=True, slots=True)
class SimplerPlan:
    """A computed `Pad` whose amounts `least` nodes instead of `nodes` compute.

    Attributes:
        pad: The `Pad`.
        formula: Its amounts.
        name: The prefix of the new nodes' names.
        nodes: The number of nodes that compute them now.
        least: The number of those that could.
        same: Whether they are SAME's.
    """

    pad: PadOp
    formula: AmountsFormula
    name: str
    nodes: int
    least: int
    same: bool = True

    @property
    def nodes_text(self) -> str:
        """The number of nodes, which are counted up to `MANY`."""
        return f"{self.nodes}{' or more' if self.nodes == MANY else ''}"


class DynamicSites:
    """Reads and writes padding that depends on open sizes, in one graph."""

    def __init__(self, graph: Graph, analysis: Analysis, sites: Sites, plain: Analysis) -> None:
        """Reads the graph as it is at each call; `plain` is its analysis without assumptions."""
        self._graph = graph
        self._analysis = analysis
        self._sites = sites
        self._plain = plain
        self._amounts = AmountsWriter(graph, plain)

    def same_of(self, op: WindowOp) -> tuple[Padding, PadOp] | None:
        """The SAME that equals the computed `Pad` in front of an operator at every size.

        Returns:
            SAME and the `Pad`; None where there is no such `Pad`, or it is not SAME.

        Raises:
            RefusalError: It is SAME, but the runtime would not run that as the specification says.
        """
        pad = self._sites.pad_before(op)
        if pad is None or pad.constant_amounts is not None or op.auto_pad != "NOTSET":
            return None
        odd = self.equal_same(op, pad)
        if odd is None:
            return None
        self._sites.check_form_of(op, pad)
        check_declared(op, None)
        counted = op.count_include_pad or op.operator.padding is Fill.EXCLUDED
        padding = Padding(None, odd=odd, ceil=op.ceil_mode, counted=counted)
        self._sites.check_proved(op, pad, padding)
        return padding, pad

    def equal_same(self, op: WindowOp, pad: PadOp) -> Side | None:
        """Where the SAME puts the odd element that a `Pad` equals at every size; None for others.

        The operator has no padding of its own.
        """
        amounts = _spatial(op, pad)
        if pad.mode != "constant" or amounts is None or is_padded(op.pads):
            return None
        windows = [window for window in op.windows if isinstance(window, Window)]
        sizes = self._sites.spatial(op, pad.data)
        if len(windows) != len(sizes):
            return None
        for odd in ODD.values():
            if all(
                self._is_same((op.operator.pools, op.ceil_mode), window, size, pair, odd)
                for window, size, pair in zip(windows, sizes, amounts, strict=True)
            ):
                return odd
        return None

    @remembered
    def _is_same(
        self, rounding: Rounding, window: Window, size: Extent, amounts: ExtentPair, odd: Side
    ) -> bool:
        """Whether the first window starts where SAME's does, and there are as many windows."""
        begin, end = amounts
        output = windows_over(rounding, window, size + begin + end, (0, 0))
        return (
            isinstance(begin, int | Size)
            and isinstance(output, int | Size)
            and begin == same_pads(size, window, odd=odd)[0]
            and output == same_output_size(size, window)
        )

    def check_computed(self, op: WindowOp) -> None:
        """Raises unless a SAME that depends on open sizes can be written as a computed `Pad`.

        Raises:
            RefusalError: The operator's padding cannot be in a `Pad` in front of it.
        """
        if self._graph.opset < 11:
            raise RefusalError(
                Reason.OPSET_TOO_OLD,
                f"a Pad of opset {self._graph.opset} cannot compute its amounts",
                opset=self._graph.opset,
                needs=11,
            )
        if not all(isinstance(window, Window) for window in op.windows):
            raise RefusalError(Reason.KERNEL_UNKNOWN, "the kernel's size is known only at run time")
        if op.padding is Fill.EXCLUDED:
            raise refusal_of_uncounted(op)
        if op.zero is None:
            raise refusal_of_zero_point(op)
        if op.gives_indices:
            raise RefusalError(
                Reason.INDICES_READ, "the operator's Indices count positions of the tensor it reads"
            )
        self._sites.check_same(op)
        check_pads(self._graph.opset, self._analysis.dtype(op.data))
        self._check_sizes(op)

    def _check_sizes(self, op: WindowOp) -> None:
        shape = self._analysis.shape(op.data)
        sizes = op.operator.layout.spatial(shape or ())
        if shape is None or any(isinstance(size, Unknown) for size in sizes):
            raise RefusalError(
                Reason.NOT_WORKED_OUT,
                named(lambda name: f"the sizes of{name(op.data.name, 'the data')} are unknown"),
                tensor=op.data.name,
            )
        self._check_declared(op.data)

    def _check_declared(self, data: Tensor) -> None:
        """Refuses to compute from a shape that the runtime takes from a wrong declaration."""
        wrong = misdeclared(self._graph, self._analysis, data)
        if wrong is not None:
            raise RefusalError(
                Reason.WRONG_DECLARATION,
                named(
                    lambda name: (
                        f"the model declares its output{name(wrong.name)} in another shape than "
                        f"it has, and {RUNTIME}'s optimiser would compute the amounts from that"
                    )
                ),
                output=wrong.name,
            )

    def write_computed(self, op: WindowOp) -> None:
        """Replaces a SAME by a `Pad` whose amounts are computed from the size."""
        graph, node = self._graph, op.node
        graph.set_attributes(node, {"auto_pad": None, "pads": None})
        formula = self._formula(op, op.data, odd_side(op.auto_pad))
        amounts = self._amounts.compute(formula, op.data, node, _prefix(op))
        padded = insert_pad(graph, self._analysis, op, op.data, amounts)
        graph.set_input(node, op.operator.inputs.data, padded)

    def simpler(self, op: WindowOp) -> SimplerPlan | None:
        """The plan for a `Pad` that computes SAME's amounts by more nodes than necessary."""
        pad = self._sites.pad_before(op)
        if pad is None or pad.constant_amounts is not None or self._graph.opset < 11:
            return None
        amounts = _spatial(op, pad)
        shape = self._analysis.shape(pad.data)
        windows = [window for window in op.windows if isinstance(window, Window)]
        sizes = op.operator.layout.spatial(shape or ())
        if amounts is None or {len(windows), len(sizes)} != {len(amounts)}:
            return None
        for odd in ODD.values():
            if all(
                isinstance(size, int | Size) and self._same(size, window, odd) == pair
                for window, size, pair in zip(windows, sizes, amounts, strict=True)
            ):
                formula = self._formula(op, pad.data, odd)
                nodes, least = self.computing(pad.node.inputs[1]), self._amounts.count(formula)
                told = misdeclared(self._graph, self._analysis, pad.data)
                if nodes > least and told is None:
                    return SimplerPlan(pad, formula, _prefix(op), nodes, least)
        return None

    def simpler_alone(self, pad: PadOp) -> SimplerPlan | None:
        """The plan for a `Pad` whose own nodes compute its amounts in a roundabout way.

        The amounts are remainders of the sizes that it pads, as those of a `Pad` to a multiple.
        """
        shape = self._analysis.shape(pad.data)
        if pad.constant_amounts is not None or shape is None or self._graph.opset < 11:
            return None
        amounts = pad.extents_over(len(shape))
        formula = None if amounts is None else formula_of(amounts, shape)
        if formula is None or misdeclared(self._graph, self._analysis, pad.data) is not None:
            return None
        nodes, least = self._own(pad.node), self._amounts.count(formula)
        name = f"{pad.node.name or pad.node.outputs[0].name}_amounts"
        return SimplerPlan(pad, formula, name, nodes, least, same=False) if nodes > least else None

    def _own(self, pad: Node) -> int:
        """The number of nodes that compute a `Pad`'s amounts and nothing else, up to `MANY`."""
        own: dict[int, Node] = {}
        pending = [*pad.inputs[1:2], *pad.inputs[3:4]]
        while pending and len(own) < MANY:
            node = pending.pop().producer
            if node is None or id(node) in own:
                continue
            uses = [use for output in node.outputs for use in self._graph.uses(output)]
            serves = all(
                id(use.node) in own or (use.node is pad and use.index in {1, 3}) for use in uses
            )
            if serves and not any(self._graph.is_output(output) for output in node.outputs):
                own[id(node)] = node
                pending += [tensor for tensor in node.inputs if tensor.name]
        return sum(node.op != "Constant" for node in own.values())

    @remembered
    def _same(self, size: Extent, window: Window, odd: Side) -> ExtentPair:
        return same_pads(size, window, odd=odd)

    def computing(self, amounts: Tensor) -> int:
        """The number of nodes that compute a tensor from shapes and constants, up to `MANY`."""

        def through(node: Node) -> Sequence[Tensor]:
            return () if node.op == "Shape" else node.inputs

        above = nodes_upstream(self._graph, [amounts], through, most=None)
        computing = (node for node in above if node is not None and node.op != "Constant")
        return len(list(islice(computing, MANY)))

    def write_simpler(self, plan: SimplerPlan) -> None:
        """Computes the amounts by new nodes in front of the `Pad`."""
        node = plan.pad.node
        amounts = self._amounts.compute(plan.formula, plan.pad.data, node, plan.name)
        self._graph.set_input(node, 1, amounts)
        if len(node.inputs) > 3:
            self._graph.set_input(node, 3, None)

    def _formula(self, op: WindowOp, source: Tensor, odd: Side) -> AmountsFormula:
        """The shortest formula for SAME's amounts at all sizes: often one side alone varies."""
        windows = [window for window in op.windows if isinstance(window, Window)]
        layout, shape = op.operator.layout, self._plain.shape(source)
        sizes = layout.spatial(shape or ())
        if shape is not None and all(isinstance(size, int | Size) for size in sizes):
            pairs = zip(sizes, windows, strict=True)
            amounts = [self._same(size, window, odd) for size, window in pairs]
            found = formula_of(layout.full(amounts, (0, 0)), shape)
            if found is not None:
                return found
        return formula_of_same(layout, windows, odd)

    def text(self, op: WindowOp, open_axes: Iterable[int]) -> str:
        """SAME's pads on these axes in words, as formulas of the size of each axis."""
        odd = odd_side(op.auto_pad)
        windows = {axis: op.windows[op.axes.index(axis)] for axis in open_axes}
        return self._sites.wording.same(windows, odd)

    def multiples(self, op: WindowOp, sizes: Mapping[int, Extent]) -> dict[str, int]:
        """The multiples at which SAME's pads on some axes are constant, as those of `Wording`."""
        odd = odd_side(op.auto_pad)
        windows = {axis: op.windows[op.axes.index(axis)] for axis in sizes}
        pairs = (same_pads(size, windows[axis], odd=odd) for axis, size in sizes.items())
        return self._sites.wording.multiples(extent for pair in pairs for extent in pair)

    def resolves(self, op: WindowOp) -> PadOp | None:
        """The computed `Pad` before an operator, if it is in effect constant, or SAME.

        Also where that cannot be written: the rule about it says why.
        """
        pad = self._sites.pad_before(op)
        if pad is None or pad.constant_amounts is not None:
            return None
        try:
            self._sites.outside(op, pad)
        except RefusalError:
            pass
        else:
            return pad
        try:
            return None if self.same_of(op) is None else pad
        except RefusalError:
            return pad


def _prefix(op: WindowOp) -> str:
    """The prefix for the names of nodes that compute an operator's SAME."""
    return f"{op.node.name or op.node.outputs[0].name}_same"


def _spatial(op: WindowOp, pad: PadOp) -> tuple[ExtentPair, ...] | None:
    """A `Pad`'s amounts on spatial axes; None unless they are known and it pads only these."""
    full, layout = pad.extents_over(op.rank), op.operator.layout
    return None if full is None or is_padded(layout.others(full)) else layout.spatial(full)
