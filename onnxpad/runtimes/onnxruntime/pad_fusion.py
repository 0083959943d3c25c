"""Predicts which `Pad`s onnxruntime's optimiser folds, and where that fold is wrong.

From the basic level on, PadFusion (onnxruntime/core/optimizer/pad_fusion.cc) adds the amounts of a
`Pad` of zeros to the pads of the Conv, MaxPool or AveragePool that reads it. It does not check
whether negative data are pooled, whether the pads stay below the kernel, how many windows
`ceil_mode` gives, or which input the `Pad` feeds. The model then computes something else, or no
longer loads.

PadFusion runs after constants are folded, branches and functions inlined, and nodes without effect
removed, so a graph does not show which `Pad`s it folds. `Fusion.exposed` has all that it may fold,
and more; `Fusion.certain` only what it does fold. Tried with onnxruntime 1.21 to 1.32.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
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

Claim = tuple[Tensor, tuple[int | str | None, ...]]
"""A tensor, and its declared shape."""
Fold = Callable[[WindowOp, PadOp], WindowOp | str]
"""Gives an operator with a `Pad` folded into its pads, or why that is not the same."""

_FOLDED: Mapping[str, int] = {"Conv": 32, "MaxPool": 31, "AveragePool": 31}
"""The last version 1.x of onnxruntime that folds `Pad`s into an operator unchecked."""
# Operators that the optimiser removes where they have no effect: copies, sums with 0, products
# with 1, a Slice of everything, an Expand by ones, casts to the same type, Transposes that cancel.
_REMOVABLE = frozenset({
    "Add", "Cast", "CastLike", "Concat", "Div", "Dropout", "Expand", "Flatten", "Identity", "Max",
    "Mean", "Min", "Mul", "Pow", "Reshape", "Slice", "Split", "Squeeze", "Sub", "Sum", "Tile",
    "Transpose", "Unsqueeze",
})  # fmt: skip
_STRAIGHT = _REMOVABLE - {"Flatten", "Reshape", "Squeeze", "Transpose", "Unsqueeze"}

_AMOUNTS, _VALUE, _AXES = 1, 2, 3
_FAR = 512
"""Most nodes upstream to look at, Identities not counted."""

_Read = TypeVar("_Read", PadOp, WindowOp)


class Exposed(Struct, frozen=True):
    """A `Pad` that onnxruntime may fold, or folds for certain, where it must not.

    `window` is the operator that it is folded into, or a node that runs one; `way` has the nodes in
    between, from there upstream. Where the `Pad` would be inside a body or function, or further
    upstream than the search goes, nothing is known of it, and its node is the last one reached.
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
    return f"1.{21 if opset < 21 else 25} to 1.{_FOLDED[op]}"


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
        self._fed: tuple[int | None, Collection[str]] = None, ()

    @property
    def drops_empty(self) -> bool:
        """Whether onnxruntime may drop the empty inputs of the nodes here.

        It does where it puts a branch, with what functions called there hold, in the place of an
        If whose condition is constant; any function may be called there.
        """
        owner, outer = self._graph.owner, self._outer
        if outer is None:
            return not self._graph.is_main
        assert owner is not None  # it is a body
        return outer._is_opened(owner)

    def exposed(self) -> list[Exposed]:
        """The `Pad`s that may be folded and must not, each with the operator it is folded into."""
        graph, nodes = self._graph, list(self._graph.nodes)
        if not graph.running() and all(node.op != "Pad" for node in nodes):
            return []
        return [each for node in nodes for each in self._before(node)]

    def laid_open(self, op: WindowOp) -> Exposed | None:
        """A `Pad` that may wrongly be folded into an operator as a rewrite would leave it."""
        return next(self._before(op.node, op), None) if _folds(op.operator) else None

    def certain(self, node: Node) -> Exposed | None:
        """The `Pad` that PadFusion folds into a window operator for certain, and must not."""
        for index in (0, 1):  # data and weight
            pad = self.takes(node, index)
            if pad is None or not self.is_fed(pad.data):
                continue
            op = None if index else self._read(read_window, node)
            wrong = self._fold(op, pad) if op and op.operator.is_choosy else None
            why = f"it feeds the weight of {node.op}" if index else wrong
            if isinstance(why, str):
                return Exposed(pad, node, (), why)
        return None

    def takes(self, window: Node, index: int = 0) -> PadOp | None:
        """The `Pad` that PadFusion folds into an input of a node for certain, rightly or not.

        No other optimiser can interfere: the operator alone reads the `Pad`, directly or through
        Identities, and its amounts and fill are constants of the model.
        """
        graph, row = self._graph, self._fused(window)
        tensor = None if row is None or graph.refers(window) else window.operand(index)
        while row and tensor and len(tensor.uses) == 1 and not graph.is_output(tensor):
            node = tensor.producer
            if node is None or not graph.is_standard(node) or not self._goes(node):
                return None
            tensor = node.inputs[0]
            if node.op == "Pad":
                pad = self._read(read_pad, node)
                if pad is None or pad.constant_amounts is None or pad.value is None:
                    return None
                operands = [each for each in node.inputs[1:] if each.name]
                known = graph.opset < 11 or all(graph.constant(n) is not None for n in operands)
                return pad if known and self._may_take(pad) and _is_spatial(row, pad) else None
        return None

    def _goes(self, node: Node) -> bool:
        """Whether the optimiser has a node go: a `Pad`, or one that gives back what it reads."""
        kinds = {self._analysis.dtype(each) for each in (*node.inputs[:1], *node.outputs[:1])}
        is_same = node.op == "Cast" and len(kinds) == 1 and None not in kinds
        return is_same or node.op in {"Identity", "Pad"}

    def is_fed(self, tensor: Tensor) -> bool:
        """Whether the elements of a tensor depend on graph inputs, not only on their sizes.

        Outputs of functions, and of an If with a constant condition, may be constants.
        """
        graph, outer = self._graph, self._outer
        if self._fed[0] != graph.version:

            def onward(use: Use) -> Sequence[Tensor]:
                node = use.node
                if graph.is_function(node):
                    return ()
                is_size = node.op in {"Shape", "Size"} or (node.op == "If" and use.index != 0)
                return () if is_size and graph.is_standard(node) else node.outputs

            inputs = graph.inputs if self._given is None else self._given
            given = [graph.tensor(name) for name in inputs]
            if outer is not None:
                given += filter(outer.is_fed, graph.captured())  # the names are the same
            reached = downstream(given, onward, most=None)
            self._fed = graph.version, {each.name for each in filter(None, reached)}
        return tensor.name in self._fed[1]

    def misdeclared(self, tensor: Tensor) -> Tensor | None:
        """An output, or a body's input, of a wrong declared shape that is this tensor or upstream.

        From its basic level on, onnxruntime folds a Shape to the declared one.
        """
        claims = self._graph.claims("output", "input")
        wrong = {each.name: each for each in lies(claims, self._analysis)}
        above = upstream([tensor] if wrong else [], lambda node: node.inputs, most=None)
        return next((wrong[n.name] for n in filter(None, above) if n.name in wrong), None)

    def _fused(self, node: Node) -> Operator | None:
        """The row of a node that PadFusion may fold `Pad`s into; None for other nodes.

        It needs explicit pads and one output. Own padding that is not counted keeps it away, since
        what is folded would have to be.
        """
        row, attrs = operator_of(self._graph, node), node.attrs
        if row is None or not _folds(row):
            return None
        if self._graph.refers(node):
            return row
        is_explicit = attrs.get("auto_pad", "") in {"", "NOTSET"}
        is_uncounted = row.counts is not None and not attrs.get(row.counts, 0)
        if len(node.outputs) > 1 or not is_explicit:
            return None
        return None if is_uncounted and any(attrs.get("pads", ())) else row

    def _before(self, node: Node, op: WindowOp | None = None) -> Iterator[Exposed]:
        """The `Pad`s upstream that may be folded wrongly: those of its data, and others.

        `op` is the operator as it is to be read, if it is another one than now.
        """
        graph, row = self._graph, self._fused(node) if op is None else op.operator
        if row is None:
            runs = self._is_opened(node) and _FOLDED.keys() & graph.inner_operators(node)
            for pad, way in self._reached(graph.sources(node)) if runs else ():
                why = f"{node.op} contains an operator that it may be folded into"
                yield Exposed(pad, node, way, why)
            return
        for pad, way in self._reached(node.inputs[:1]):
            is_straight = _STRAIGHT.issuperset(each.op for each in way)
            if is_straight and not _is_spatial(row, pad):
                continue
            wrong: WindowOp | str | None = None
            if row.is_choosy:
                op = op or self._read(read_window, node)
                is_clear = is_straight and pad.node.op == "Pad"
                wrong = self._fold(op, pad) if op and is_clear else "what is between is not known"
            if not isinstance(wrong, str) and pad.node.op == "Pad" and self._is_copied(pad.data):
                wrong = f"{pad.data.name!r}, which it reads, is copied to a graph output"
            if isinstance(wrong, str):
                yield Exposed(pad, node, way, wrong)
        for pad, way in self._reached(node.inputs[1:]):
            yield Exposed(pad, node, way, f"it feeds the weight of {node.op}")

    def _reached(self, tensors: Sequence[Tensor]) -> Iterator[tuple[PadOp, tuple[Node, ...]]]:
        """The `Pad`s upstream that may be folded, through nodes that the optimiser may remove.

        The nearest come first. Those upstream of one that is folded come next to the operator.
        """
        graph = self._graph
        pending: list[tuple[Tensor, tuple[Node, ...]]] = [(each, ()) for each in tensors[::-1]]
        left = _FAR
        while pending:
            tensor, way = pending.pop()
            node = graph.origin(tensor).producer
            if node is None:
                continue
            if not left:
                yield _unseen(node), way
                return
            left -= 1
            pad: PadOp | None = None
            passed: Sequence[Tensor] = ()
            if self._is_opened(node):
                if self._may_end_in_pad(node):
                    pad = _unseen(node) if "Pad" in graph.inner_operators(node) else None
                    passed = graph.sources(node)
            elif node.op == "Pad" and graph.is_standard(node):
                pad = self._read(read_pad, node)
                if pad is None and graph.refers(node):
                    pad = _unseen(node)  # a call of the function may set its mode to constant
                if pad and (self._may_take(pad) or not is_padded(pad.constant_amounts or ())):
                    passed = node.inputs[:1]
            elif node.op in _REMOVABLE and graph.is_standard(node):
                passed = self._passed(node)
            if pad is not None and self._may_take(pad):
                yield pad, way
            pending += ((each, (*way, node)) for each in passed)

    def _is_opened(self, node: Node) -> bool:
        """Whether the optimiser may inline a node: a function call, or an If with one branch."""
        if not self._graph.is_standard(node):
            return self._graph.is_function(node)
        return node.op == "If" and not self.is_fed(node.inputs[0])

    def _may_end_in_pad(self, node: Node) -> bool:
        """Whether a `Pad` in or above a node may come next to its readers once it is inlined."""
        function = self._graph.called(node)
        inside = [function] if function is not None else self._graph.bodies(node)
        above = [each.tensor(name).producer for each in inside for name in each.results]
        ends = _REMOVABLE | {"If", "Pad"}
        return any(
            each is None or each.op in ends or self._graph.is_function(each) for each in above
        )

    def _passed(self, node: Node) -> Sequence[Tensor]:
        """The inputs that a node may pass on unchanged: those beside which all are constants."""
        if node.op in {"CastLike", "Dropout"}:
            return node.inputs[:1]
        varying = [*filter(self.is_fed, node.inputs)]
        return () if len(varying) > 1 else varying or node.inputs

    def _may_take(self, pad: PadOp) -> bool:
        """Whether PadFusion may fold a `Pad`, as far as the `Pad` itself decides."""
        graph, node = self._graph, pad.node
        if node.op != "Pad":
            return True  # nothing is known of it
        amounts = [n for pair in pad.amounts or () for n in pair]
        if pad.mode != "constant" or any(isinstance(n, int) and n < 0 for n in amounts):
            return False
        if graph.opset < 11:
            return pad.value == 0
        fill = node.operand(_VALUE)
        if fill is None:
            is_kept = len(node.inputs) > _VALUE and not self.drops_empty
        else:
            is_kept = self.is_fed(fill) if pad.value is None else not is_plain_zero(pad.value)
        if is_kept or len(node.inputs) > _AXES:
            return False
        if any(isinstance(n, Size) for n in amounts):
            # Where declared shapes contradict the operators, onnxruntime believes the shapes.
            return any(lies(graph.claims("value_info", "output", "input"), self._analysis))
        return pad.constant_amounts is not None or not self.is_fed(node.inputs[_AMOUNTS])

    def _is_copied(self, tensor: Tensor) -> bool:
        """Whether a graph output may turn out to be a copy of a tensor, or of its source."""
        graph = self._graph

        def above(node: Node) -> Sequence[Tensor]:
            return self._passed(node)[:1] if node.op in _REMOVABLE else ()

        def below(use: Use) -> Sequence[Tensor]:
            return use.node.outputs[:1] if use.node.op in _REMOVABLE else ()

        sources = [*filter(None, upstream([tensor], above))]
        copies = filter(None, downstream(sources, below))
        return any(graph.is_output(each) for each in copies if each is not sources[-1])

    def _read(self, reads: Callable[[Graph, Analysis, Node], _Read], node: Node) -> _Read | None:
        try:
            return reads(self._graph, self._analysis, node)
        except (UnreadError, ModelError):
            return None


def lies(claims: Iterable[Claim], analysis: Analysis) -> Iterator[Tensor]:
    """The tensors whose declared shape (`value_info` or graph output) contradicts the analysis."""
    for tensor, claimed in claims:
        shape = analysis.shape(tensor)
        pairs = zip(claimed, shape or (), strict=False)
        differ = any(isinstance(a, int) and isinstance(b, int | Size) and a != b for a, b in pairs)
        if shape is not None and (differ or len(shape) != len(claimed)):
            yield tensor


def _folds(row: Operator) -> bool:
    """Whether PadFusion folds `Pad`s into an operator, in some version."""
    return not row.row.domain and row.op_type in _FOLDED


def _unseen(node: Node) -> PadOp:
    """Stands for a `Pad` inside a node, or upstream of it, of which nothing is known."""
    return PadOp(node, "constant", None, None, None)


def _is_spatial(row: Operator, pad: PadOp) -> bool:
    """Whether a `Pad` of known amounts leaves batch and channels alone."""
    amounts = pad.constant_amounts
    return amounts is None or not is_padded(row.layout.others(amounts))
