"""Predicts which `Pad`s onnxruntime's optimiser folds, and where that fold is wrong.

From the basic level on, PadFusion (onnxruntime/core/optimizer/pad_fusion.cc) adds the amounts of a
`Pad` of zeros to the pads of the Conv, MaxPool or AveragePool that reads it. It does not check
whether negative data are pooled, whether the pads stay below the kernel, how many windows
`ceil_mode` gives, or which input the `Pad` feeds. The model then computes something else, or no
longer loads.

PadFusion runs after constant folding and after nodes without effect are removed, and folds one
`Pad` after another. So the graph does not show exactly which ones it folds. This module says which
it may fold at most, and which it folds for certain. Tried with onnxruntime 1.21 to 1.32.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from msgspec import Struct

from onnxpad.arithmetic.size import Size
from onnxpad.errors import ModelError
from onnxpad.facts import Analysis
from onnxpad.graph import Graph, Node, Tensor, Use, downstream, upstream
from onnxpad.semantics.layers import is_padded, is_plain_zero
from onnxpad.semantics.operators import (
    Operator,
    PadOp,
    WindowOp,
    operator_of,
    read_pad,
    read_window,
)
from onnxpad.semantics.rows import UnreadError
from onnxpad.semantics.window import auto_pad_of

Claim = tuple[Tensor, tuple[int | str | None, ...]]
"""A tensor, and its declared shape."""

_AMOUNTS, _VALUE, _AXES = 1, 2, 3

FOLDED: Mapping[str, tuple[int, int]] = {
    "Conv": (21, 32),
    "MaxPool": (21, 31),
    "AveragePool": (21, 31),
}
"""The versions 1.x of onnxruntime, first and last, that fold `Pad`s into operators unchecked.

From 1.32 on, no `Pad` is folded into a MaxPool, and into an AveragePool only where that is right.
"""
_LATE, _FOLDS_LATE = 21, 25
"""The first opset whose `Pad`s are folded only from this version on."""

# Operators that the optimiser removes where they have no effect: copies, sums with 0, products
# with 1, a Slice of everything, an Expand by ones, casts to the same type, Transposes that cancel.
_REMOVABLE = frozenset({
    "Add", "Cast", "CastLike", "Concat", "Div", "Dropout", "Expand", "Flatten", "Identity", "Max",
    "Mean", "Min", "Mul", "Pow", "Reshape", "Slice", "Split", "Squeeze", "Sub", "Sum", "Tile",
    "Transpose", "Unsqueeze",
})  # fmt: skip
# Those of them that keep the order and number of axes.
_STRAIGHT = _REMOVABLE - {"Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}
# Those of them whose first input alone is data.
_OF_FIRST = frozenset(
    {"Cast", "CastLike", "Dropout", "Expand", "Flatten", "Identity", "Reshape", "Slice", "Split"}
) | {"Squeeze", "Tile", "Transpose", "Unsqueeze"}
_FAR = 512
"""Most nodes upstream to look at, Identities not counted."""

_Read = TypeVar("_Read", PadOp, WindowOp)
Fold = Callable[[WindowOp, PadOp], WindowOp | str]
"""Gives an operator with a `Pad` folded into its pads, or why that is not the same."""


class Exposed(Struct, frozen=True):
    """A `Pad` that onnxruntime may fold, or folds for certain, where it must not.

    Attributes:
        pad: The `Pad`. Where it would be inside a body or function, or further upstream than the
            search goes: a `Pad` without any facts, whose node is the last one reached.
        window: The operator that it is folded into, or a node whose body or function holds one.
        way: The nodes in between, from the window upstream.
        why: Why the fold is wrong, in words.
    """

    pad: PadOp
    window: Node
    way: tuple[Node, ...]
    why: str

    @property
    def ends(self) -> tuple[str, str]:
        """The names of what the `Pad` and the operator write."""
        return self.pad.node.outputs[0].name, self.window.outputs[0].name


def folding_versions(op: str, opset: int) -> str:
    """The versions that fold `Pad`s of an opset into an operator unchecked: `1.25 to 1.31`."""
    first, last = FOLDED[op]
    return f"1.{first if opset < _LATE else _FOLDS_LATE} to 1.{last}"


class Fusion:
    """Predicts what PadFusion does to one graph."""

    def __init__(
        self,
        graph: Graph,
        analysis: Analysis,
        fold: Fold,
        outer: Fusion | None = None,
        fed: Collection[str] | None = None,
    ) -> None:
        """Reads the graph as it is at each call.

        `fold` decides whether a fold is right; `outer` is, for a body, the same for the graph
        around it, and `fed` the inputs that depend on inputs of the model, by default all.
        """
        self._graph = graph
        self._analysis = analysis
        self._fold = fold
        self._outer = outer
        self._given = fed
        self._fed: tuple[int, set[str]] | None = None

    @property
    def drops_empty(self) -> bool:
        """Whether onnxruntime may drop the empty inputs of the nodes here.

        It does where it puts a branch, with what functions called there hold, in the place of an
        If whose condition is constant; any function may be called there.
        """
        owner, outer = self._graph.owner, self._outer
        if owner is None or outer is None:
            return not self._graph.is_main
        return owner.op == "If" and outer._is_opened(owner)

    def exposed(self, windows: Collection[str] | None = None) -> list[Exposed]:
        """The `Pad`s that may be folded and must not, each with the operator it is folded into.

        `windows` are the names of what the operators asked about give; without it, all are.
        """
        found: list[Exposed] = []
        graph, nodes = self._graph, list(self._graph.nodes)
        if not graph.running() and all(node.op != "Pad" for node in nodes):
            return found
        for node in nodes:
            if windows is not None and (not node.outputs or node.outputs[0].name not in windows):
                continue
            row = self._fused(node)
            if row is not None:
                found += self._before(node, row, self._read(read_window, node))
            elif self._is_opened(node) and self._holds_window(node):
                why = f"{node.op} contains an operator that it may be folded into"
                reached = self._reached(graph.sources(node))
                found += (Exposed(pad, node, way, why) for pad, way in reached)
        return found

    def laid_open(self, op: WindowOp) -> Exposed | None:
        """A `Pad` that may wrongly be folded into an operator as a rewrite would leave it."""
        is_folded = _folds_pads(op.operator)
        return next(self._before(op.node, op.operator, op), None) if is_folded else None

    def certain(self, node: Node) -> Exposed | None:
        """The `Pad` that PadFusion folds into a window operator for certain, and must not.

        That is certain only where no other optimiser can interfere: the operator alone reads the
        `Pad`, directly or through Identities, and its amounts and fill are constants of the model.
        """
        row = self._fused(node)
        for index in () if row is None else (0, row.inputs.weight):
            pad = self.takes(node, index)
            if row is None or pad is None or not self.is_fed(pad.data):
                continue
            op = self._read(read_window, node) if row.is_choosy and not index else None
            why = f"it feeds the weight of {node.op}" if index else op and self._fold(op, pad)
            if isinstance(why, str):
                return Exposed(pad, node, (), why)
        return None

    def takes(self, window: Node, index: int | None = 0) -> PadOp | None:
        """The `Pad` that PadFusion folds into an input of a node for certain, rightly or not."""
        graph, row = self._graph, self._fused(window)
        tensor = None if row is None or index is None else window.operand(index)
        while tensor and tensor.name and len(tensor.uses) == 1 and not graph.is_output(tensor):
            node = tensor.producer
            if row is None or node is None or not graph.is_standard(node) or graph.refers(window):
                return None
            if node.op == "Pad":
                pad = self._read(read_pad, node)
                operands = [each for each in node.inputs[1:] if each.name]
                known = graph.opset < 11 or all(graph.constant(n) is not None for n in operands)
                if pad is None or pad.constant_amounts is None or pad.value is None:
                    return None
                is_folded = known and self._may_take(pad) and _is_spatial(row, pad)
                return pad if is_folded else None
            tensor = node.inputs[0] if node.op == "Identity" else None
        return None

    def _fused(self, node: Node) -> Operator | None:
        """The row of a node that PadFusion may fold `Pad`s into; None for other nodes."""
        row = operator_of(self._graph, node)
        is_fused = row is not None and _folds_pads(row) and _may_fuse(self._graph, node, row)
        return row if is_fused else None

    def _before(self, node: Node, row: Operator, op: WindowOp | None) -> Iterator[Exposed]:
        """The `Pad`s upstream that may be folded wrongly: those of its data, and others.

        `op` is the operator as it is read; None where it is not.
        """
        for pad, way in self._reached(node.inputs[:1]):
            is_straight = all(each.op in _STRAIGHT for each in way)
            if is_straight and not _is_spatial(row, pad):
                continue
            why = self._why_wrong(op, pad, is_straight=is_straight) if row.is_choosy else ""
            if not why and pad.node.op == "Pad" and self._is_copied(pad.data):
                why = f"{pad.data.name!r}, which it reads, is copied to a graph output"
            if why:
                yield Exposed(pad, node, way, why)
        for pad, way in self._reached(node.inputs[1:] if row.inputs.weight is not None else ()):
            yield Exposed(pad, node, way, f"it feeds the weight of {node.op}")

    def _why_wrong(self, op: WindowOp | None, pad: PadOp, *, is_straight: bool) -> str:
        """Why a `Pad` must not be folded into a pool; empty where it may."""
        if pad.node.op != "Pad":
            return f"it may be inside {pad.node.op}"
        if op is None:
            return "the operator that it would be folded into is unknown"
        if not is_straight:
            return "other nodes are in between"
        folded = self._fold(op, pad)
        return folded if isinstance(folded, str) else ""

    def _reached(self, tensors: Sequence[Tensor]) -> Iterator[tuple[PadOp, tuple[Node, ...]]]:
        """The `Pad`s upstream that may be folded, through nodes that the optimiser may remove.

        The nearest come first. Those upstream of one that is folded come next to the operator.
        """
        graph = self._graph
        pending: list[tuple[Tensor, tuple[Node, ...]]] = [(each, ()) for each in tensors[::-1]]
        for _ in range(_FAR):
            if not pending:
                return
            current, way = pending.pop()
            node = graph.origin(current).producer if current.name else None
            if node is None:
                continue
            pad: PadOp | None = None
            passed: Iterable[Tensor] = ()
            if self._is_opened(node):
                inside = self._inside(node)
                if any(_opens(each, map(each.tensor, each.results)) for each in inside):
                    pad = _unseen(node) if "Pad" in graph.inner_operators(node) else None
                    passed = graph.sources(node)
            elif node.op == "Pad" and graph.is_standard(node):
                pad = self._read(read_pad, node)
                if pad is None and graph.refers(node):
                    pad = _unseen(node)  # a call of the function may set its mode to constant
                if pad is not None and (self._may_take(pad) or self._may_vanish(pad)):
                    passed = node.inputs[:1]
            elif node.op in _REMOVABLE and graph.is_standard(node):
                passed = self._passed(node)
            if pad is not None and self._may_take(pad):
                yield pad, way
            pending += ((each, (*way, node)) for each in passed)
        if pending and (node := pending[-1][0].producer) is not None:
            yield _unseen(node), pending[-1][1]

    def _is_opened(self, node: Node) -> bool:
        """Whether the optimiser may inline a node: a function call, or an If with one branch."""
        if not self._graph.is_standard(node):
            return self._graph.is_function(node)
        return node.op == "If" and bool(node.inputs) and not self.is_fed(node.inputs[0])

    def _holds_window(self, node: Node) -> bool:
        """Whether an operator inside a node that may be inlined may be next to a `Pad` outside."""
        return any(
            _opens(inner, inner.sources(each))
            for inner in self._inside(node)
            for each in inner.nodes
            if each.op in FOLDED or FOLDED.keys() & inner.inner_operators(each)
        )

    def _inside(self, node: Node) -> list[Graph]:
        """The graphs that may be put in the place of a node."""
        function = self._graph.called(node)
        return [function] if function is not None else list(self._graph.bodies(node))

    def _passed(self, node: Node) -> Iterator[Tensor]:
        """The inputs that a node may pass on unchanged: those beside which all are constants."""
        data = [tensor for tensor in node.inputs if tensor.name]
        if node.op in _OF_FIRST:
            yield from data[:1]
            return
        varying = [tensor for tensor in data if self.is_fed(tensor)]
        if len(varying) < 2:
            yield from varying or data

    def _may_vanish(self, pad: PadOp) -> bool:
        """Whether a `Pad` may turn out to pad nothing."""
        amounts = pad.constant_amounts
        return self._may_be_constant(pad) if amounts is None else not is_padded(amounts)

    def _may_take(self, pad: PadOp) -> bool:
        """Whether PadFusion may fold a `Pad`, as far as the `Pad` itself decides."""
        graph, node = self._graph, pad.node
        if node.op != "Pad":
            return True  # nothing is known of it
        if pad.mode != "constant":
            return False
        known = [n for pair in pad.amounts or () for n in pair if isinstance(n, int)]
        if min(known, default=0) < 0:
            return False
        if graph.opset < 11:
            return pad.value == 0
        if len(node.inputs) > _AXES:
            return False
        fill = node.operand(_VALUE)
        if fill is None:
            is_zero = len(node.inputs) <= _VALUE or self.drops_empty
        else:
            is_zero = not self.is_fed(fill) if pad.value is None else is_plain_zero(pad.value)
        return is_zero and self._may_be_constant(pad)

    def _may_be_constant(self, pad: PadOp) -> bool:
        """Whether onnxruntime may fold the amounts to constants at load time."""
        if self._graph.opset < 11 or pad.constant_amounts is not None:
            return True
        if any(isinstance(n, Size) for pair in pad.amounts or () for n in pair):
            # Where declared shapes contradict the operators, onnxruntime believes the shapes.
            claims = self._graph.claims("value_info", "output", "input")
            return any(lies(claims, self._analysis))
        return not self.is_fed(pad.node.inputs[_AMOUNTS])

    def is_fed(self, tensor: Tensor) -> bool:
        """Whether the elements of a tensor depend on graph inputs, not only on their sizes.

        Outputs of functions, and of an If with a constant condition, may be constants.
        """
        graph = self._graph
        if self._fed is None or self._fed[0] != graph.version:
            fed = set(graph.inputs if self._given is None else self._given)
            for each in graph.captured():
                if self._outer is None or each.outer is None or self._outer.is_fed(each.outer):
                    fed.add(each.name)
            pending = [graph.tensor(name) for name in fed]
            while pending:
                for use in graph.uses(pending.pop()):
                    if not _passes_on(graph, use):
                        continue
                    fresh = [each for each in use.node.outputs if each.name not in fed]
                    fed.update(each.name for each in fresh)
                    pending += fresh
            self._fed = graph.version, fed
        return tensor.name in self._fed[1]

    def misdeclared(self, tensor: Tensor) -> Tensor | None:
        """An output, or a body's input, of a wrong declared shape that is this tensor or upstream.

        From its basic level on, onnxruntime folds a Shape to the declared one.
        """
        claims = self._graph.claims("output", "input")
        wrong = {each.name: each for each in lies(claims, self._analysis)}
        above = upstream([tensor] if wrong else [], lambda node: node.inputs, most=None)
        return next((wrong[n.name] for n in above if n is not None and n.name in wrong), None)

    def _is_copied(self, tensor: Tensor) -> bool:
        """Whether a graph output may turn out to be a copy of a tensor, or of its source."""
        graph = self._graph

        def moved(node: Node) -> Iterable[Tensor]:
            passes = node.op in _REMOVABLE and graph.is_standard(node)
            return islice(self._passed(node), 1) if passes else ()

        def copies(use: Use) -> Sequence[Tensor]:
            is_moved = use.index >= 0 and use.node.op in _REMOVABLE
            return use.node.outputs[:1] if is_moved else ()

        copied = [each for each in upstream([tensor], moved) if each is not None]
        return any(
            each is not None and each is not copied[-1] and graph.is_output(each)
            for each in downstream(copied, copies)
        )

    def _read(self, reads: Callable[[Graph, Analysis, Node], _Read], node: Node) -> _Read | None:
        try:
            return reads(self._graph, self._analysis, node)
        except (UnreadError, ModelError):
            return None


def lies(claims: Iterable[Claim], analysis: Analysis) -> Iterator[Tensor]:
    """The tensors whose declared shape (`value_info` or graph output) contradicts the analysis."""
    for tensor, claimed in claims:
        shape = analysis.shape(tensor)
        if shape is not None and (
            len(shape) != len(claimed)
            or any(
                isinstance(claim, int) and isinstance(size, int | Size) and size != claim
                for claim, size in zip(claimed, shape, strict=True)
            )
        ):
            yield tensor


def _may_fuse(graph: Graph, node: Node, row: Operator) -> bool:
    """Whether PadFusion considers a window operator: it needs explicit pads and one output."""
    if graph.refers(node):
        return True
    if not node.inputs or len(node.outputs) > 1:
        return False
    if row.counts is not None and not node.attrs.get(row.counts, 0):
        pads = node.attrs.get("pads")
        if isinstance(pads, list) and any(pads):
            return False  # its own padding is not counted, but the folded one would have to be
    try:
        return auto_pad_of(node) == "NOTSET"
    except (ModelError, UnreadError):
        return False


def _folds_pads(row: Operator) -> bool:
    """Whether PadFusion folds `Pad`s into an operator, in some version."""
    return not row.row.domain and row.op_type in FOLDED


def _opens(graph: Graph, tensors: Iterable[Tensor]) -> bool:
    """Whether a `Pad`, or what is outside, may come next to one of these once all is inlined."""
    above = (each.producer for each in tensors if each.name)
    return any(
        node is None or node.op in _REMOVABLE | {"If", "Pad"} or graph.is_function(node)
        for node in above
    )


def _passes_on(graph: Graph, use: Use) -> bool:
    """Whether a node's outputs depend on the elements of the input at this use."""
    node = use.node
    if not graph.is_standard(node):
        return not graph.is_function(node)
    return node.op not in {"Shape", "Size"} and (node.op != "If" or use.index == 0)


def _unseen(node: Node) -> PadOp:
    """Stands for a `Pad` inside a node, or upstream of it, of which nothing is known."""
    return PadOp(node, "constant", None, None, None)


def _is_spatial(row: Operator, pad: PadOp) -> bool:
    """Whether a `Pad` of known amounts leaves batch and channels alone."""
    amounts = pad.constant_amounts
    return amounts is None or not is_padded(row.layout.others(amounts))
