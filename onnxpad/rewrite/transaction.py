"""Settles what passes find, one change of a graph at a time: it is committed, or taken back.

`Editor.settle` and `Editor.commit` are the whole of it; what follows are their stations, and at the
end how the padding of a place is written, for changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.window import named
from onnxpad.errors import RUNTIME
from onnxpad.finding import (
    Assumption,
    Certificate,
    Change,
    Finding,
    Kind,
    Severity,
    SiteForm,
    StepForm,
    WrittenAmounts,
)
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.graph.walk import MOST
from onnxpad.padding.crops import amounts_of
from onnxpad.proof.certificate import Prover, check_elsewhere
from onnxpad.proof.term import DiffersError
from onnxpad.reasons import Reason
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Match, Pass
from onnxpad.rewrite.registry import failed, is_own
from onnxpad.runtimes.deployed import Hazard
from onnxpad.semantics.layers import is_padded, onnx_order
from onnxpad.semantics.operators import gathering
from onnxpad.semantics.read_nodes import PadOp, TransposedOp, UnreadableError, WindowOp, is_pad

if TYPE_CHECKING:
    from onnxpad.probe.cut import NeighbourhoodProbe


Place: TypeAlias = tuple[str, str, int]
"""Where a pass found something: its code, the label of the node, and the node's identity."""
Key: TypeAlias = tuple[str, str]
"""A rewrite: the code of its rule, and the output of the node that it rewrites."""
Barred: TypeAlias = Mapping[Key, Reason]
"""The rewrites that are barred, each with the reason."""

_BACK: Final = "fix took it back: with it the model"

_BARS: Final[Mapping[Reason, str]] = {
    Reason.LAYS_PAD_OPEN: f"with it {RUNTIME}'s optimiser would fold a Pad where it must not, "
    "and nothing could prevent that",
    Reason.JOINS_NEIGHBOURS: f"with it {RUNTIME}'s optimiser would wrongly fuse operators that "
    "the padding keeps apart",
    Reason.DIFFERS: f"{_BACK} computes something else on {RUNTIME}",
    Reason.DIFFERS_OPTIMISED: f"{_BACK} computes something else on {RUNTIME} at full optimisation",
    Reason.STOPS: f"{_BACK} does not run on {RUNTIME}",
    Reason.STOPS_OPTIMISED: f"{_BACK} does not run on {RUNTIME} at full optimisation",
    Reason.NOT_CHOSEN: "its code is not chosen (--select, --ignore)",
}
"""Why a rewrite is barred, in words."""


class Editor:
    """Settles the changes of one graph.

    Attributes:
        made: The changes made, in order.
        undone: The findings of changes taken back since the last one that was made, by place.
        context: The graph and its analysis.
        prover: Proves edits of the graph.
    """

    def __init__(self, context: Context, probe: NeighbourhoodProbe | None = None) -> None:
        """Edits the graph of a context; if there is a probe, it runs each change.

        If the user is strict, a change whose certificate names an assumption is taken back.
        """
        self.made: list[Made] = []
        self.undone: dict[Place, Finding] = {}
        self.context = context
        self._probe = probe
        self._seen: set[tuple[Place, SiteForm]] = set()
        self.prover = Prover(context.graph, context.domains)
        self._decided = ""

    def settle(self, pass_: Pass, match: Match) -> None:
        """Commits a change, or takes it back: then it is tried again only after another one."""
        place = place_of(pass_, match)
        if place in self.undone:
            return
        graph, mark = self.context.graph, self.context.graph.mark()
        if self._decided not in {"", pass_.code}:  # what was disputed has one meaning now
            self.prover, self._decided = Prover(graph, self.context.domains), ""
        self.prover.begin()
        try:
            self.made.append(self.commit(pass_, match))
        except Exception as error:  # whatever a user's pass raises, or leads to
            why = error if isinstance(error, DiffersError) else failed(pass_, error)
            graph.rollback(mark)
            self.prover.undo()
            told = kept_back(match.finding, why.code, f"undone: {why}")
            self.undone[place] = replace(told, evidence={**told.evidence, **why.facts})
        else:
            self.undone.clear()
            self._decided = pass_.code if match.decides else self._decided

    def commit(self, pass_: Pass, match: Match) -> Made:
        """Writes a change, shows that the model stays what it was, and records it.

        Raises:
            DiffersError: That is not shown; what was edited is to be rolled back.
        """
        context, graph, node = self.context, self.context.graph, match.node
        label, op_type, key = context.label(node), node.op, match_key(graph, pass_, match)
        kept = self._kept(node)
        roots = [self.prover.roots(each, behind=pass_.behind) for each in kept]
        was = written_form(context, node, kept[0], roots[0])
        seen = place_of(pass_, match), was
        if seen in self._seen:
            why = "the rule finds what it has already rewritten, without end"
            raise DiffersError(why, Reason.WITHOUT_END)
        hiding, cuts = self._hiding(kept[0], roots[0]), []
        if self._probe is not None:
            self._probe.take(graph, self.prover.facts.analysis)
            cuts = [*map(self._probe.before, kept, roots)]
        mark, declared = graph.mark(), graph.model.journal.declared

        results = pass_.rewrite(match, context) or kept
        removed = graph.sweep()
        touched = graph.touched(mark)
        check_elsewhere(graph, mark)
        if is_own(pass_) and (looped := graph.on_cycle()):
            raise DiffersError(f"the rewrite makes a cycle through {graph.label(looped)!r}")
        trust = context.trust if match.decides else None
        proved = self.prover.settle(touched, dict(zip(results, kept, strict=True)), trust)
        self._check_assumptions(*proved)
        if not any(map(graph.differs, touched)):
            raise DiffersError("the rewrite changes nothing", Reason.WITHOUT_END)
        if graph.model.journal.declared != declared:
            raise DiffersError("the rewrite also declares other inputs")
        self._check_hidden(hiding)
        told, certificate = self._probed(zip(results, roots, cuts, strict=False), proved[0])

        now = written_form(context, node, results[0], roots[0])
        fresh = [each.node for each in touched if each.was is None and each.node.alive]
        wrote = frozenset(map(context.label, fresh))
        mark = graph.mark()
        if absorbed := graph.absorb(node):  # it is an Identity now
            self.prover.settle(graph.touched(mark), {})
        self._seen.add(seen)
        change = Change(
            code=pass_.code,
            node=label,
            op_type=op_type,
            was=was,
            now=now if now.steps else SiteForm(tensor=results[0].name),
            certificate=certificate,
            # A node that takes the place of another has its name.
            removed=tuple([name for name in (*removed, *absorbed) if name not in wrote]),
            probe=told,
            message=match.finding.message,
        )
        tensors = _names(graph, kept, results, *(each.node.outputs for each in touched))
        return Made(change, match.finding, key, tensors, wrote)

    def _kept(self, node: Node) -> Sequence[Tensor]:
        """The outputs of a node that must stay the same: those that are read.

        Other outputs than the first of a window operator or a `Pad` are positions of maxima, about
        which its proof says what is needed. A node of which nothing is read keeps its first output.
        """
        graph = self.context.graph
        if gathering(graph, node) is not None or node.op == "Pad":
            return node.outputs[:1]
        return list(filter(graph.is_read, node.outputs)) or node.outputs[:1]

    def _hiding(self, tensor: Tensor, roots: Sequence[str]) -> dict[Node, Hazard]:
        """The `Pad`s and Slices from roots on that hide a size from onnxruntime, with the harm."""
        graph, behind = self.context.graph, self.context.blocked_pools.behind
        hiding = (node for node in _upstream(graph, tensor, roots) if _hides(graph, node))
        found = ((node, behind(node.outputs[0])) for node in hiding)
        return {node: hazard for node, hazard in found if hazard is not None}

    def _check_hidden(self, hiding: Mapping[Node, Hazard]) -> None:
        """Raises unless the `Pad`s and Slices that hide a harmful size still do."""
        graph = self.context.graph
        for node, hazard in hiding.items():
            if not node.alive or not _hides(graph, node):
                said = f"with known sizes there, {RUNTIME} would {hazard.does}"
                raise DiffersError(said, hazard.reason, operator=graph.label(hazard.node))

    def _probed(
        self, sides: Iterable[tuple[Tensor, Sequence[str], Any]], certificate: Certificate
    ) -> tuple[str, Certificate]:
        """The last result of a probe in words, and the certificate with what it then assumes."""
        specified, seen = Assumption.TRUSTS_SPEC in certificate.assumptions, ""
        for new, names, cut in sides:
            assert self._probe is not None
            same, seen = self._probe.after(new, names, cut, specified=specified)
            if same is False:
                raise DiffersError(f"its probe differs: {seen}", Reason.PROBE_DIFFERS, probe=seen)
            if same is None and Assumption.NOT_PROBED not in certificate.assumptions:
                taken = (*certificate.assumptions, Assumption.NOT_PROBED)
                certificate = replace(certificate, assumptions=taken)
                self._check_assumptions(certificate)
        return seen, certificate

    def _check_assumptions(self, *certificates: Certificate) -> None:
        for each in certificates if self.context.user_options.strict else ():
            if refused := each.refused:
                said = f"it assumes {', '.join(refused)}, and --strict forbids that"
                raise DiffersError(said, Reason.ASSUMPTION_REFUSED, assumptions=[*refused])


class Made(Struct, frozen=True):
    """A change that was made.

    Attributes:
        change: The change.
        finding: The finding that it settles.
        key: The key under which it can be barred.
        tensors: Names of the outputs of the nodes that it touched, and of those around its body;
            unique in the model.
        wrote: Labels of the nodes that it added.
    """

    change: Change
    finding: Finding
    key: Key
    tensors: frozenset[str]
    wrote: frozenset[str]

    def told(self) -> Finding:
        """The finding, with what the change rests on."""
        certificate = self.change.certificate
        return replace(
            self.finding, assumptions=certificate.assumptions, sizes=certificate.limited_to
        )


def match_key(graph: Graph, pass_: Pass, match: Match) -> Key:
    """The key under which a rewrite can be barred: its code, and the output that it keeps.

    In a body or a function, the output comes with the way to it.
    """
    kept = match.node.outputs[0].name if match.node.outputs else ""
    return pass_.code, graph.unique(kept)


def place_of(pass_: Pass, match: Match) -> Place:
    """The place of a match."""
    return pass_.code, match.finding.node, id(match.node)


def kept_back(finding: Finding, code: Reason, reason: str = "") -> Finding:
    """The finding of a rewrite that is taken back for a reason; one that is barred needs none."""
    return replace(finding, severity=Severity.INFO, reason=reason or _BARS[code], reason_code=code)


def _names(graph: Graph, *found: Sequence[Tensor]) -> frozenset[str]:
    """The unique names of tensors, and of those that the nodes around a body give."""
    names = {tensor.name for tensors in found for tensor in tensors}
    if graph.scope:
        names = set(map(graph.unique, names))
    while graph.owner is not None and graph.parent is not None:
        owner, graph = graph.owner, graph.parent
        names.update(graph.unique(each.name) for each in owner.outputs)
    return frozenset(names)


def _hides(graph: Graph, node: Node) -> bool:
    """Whether a node is a `Pad` or Slice whose result has sizes that the runtime does not infer.

    Its amounts or bounds are computed; or its axes, before opset 10, do not ascend or are negative.
    """
    if node.op not in {"Pad", "Slice"} or not graph.is_standard(node):
        return False
    axes = node.attrs.get("axes")
    if isinstance(axes, list):
        return axes != sorted(set(axes)) or min(axes, default=0) < 0
    operands = node.inputs[1 : 2 if node.op == "Pad" else None]
    return any(tensor.name and not graph.is_fixed(tensor) for tensor in operands)


_KINDS: Final[Mapping[str, Kind]] = {"Pad": "pad", "ConvTranspose": "transposed"}
_Op: TypeAlias = WindowOp | TransposedOp | PadOp | UnreadableError | None


def _upstream(graph: Graph, tensor: Tensor, roots: Sequence[str]) -> Iterator[Node]:
    """The nodes from a tensor up to what is padded, the nearest first.

    Where several tensors are joined, the first counts that is no constant.
    """
    for _ in range(MOST):
        node = tensor.producer
        if tensor.name in roots or node is None or not node.inputs:
            return
        yield node
        data = node.inputs
        if len(data) > 1 and not is_pad(graph, node):
            data = tuple(each for each in data if graph.constant(each) is None) or data
        tensor = graph.origin(data[0])


def written_form(context: Context, node: Node, tensor: Tensor, roots: Sequence[str]) -> SiteForm:
    """How the padding of a node is written, from the tensors that are padded to the node.

    Args:
        context: The graph and what is known of it.
        node: The node.
        tensor: Its output, or the tensor that replaces it.
        roots: Names of the tensors that are padded.
    """
    graph, steps, window = context.graph, list[StepForm](), None
    slides = gathering(graph, node) is not None
    if slides:
        window, tensor = context.window(node), node.inputs[0]
        steps.append(_form(graph, node, window))
    is_step = not slides and node.op != "Pad"
    for above in _upstream(graph, graph.origin(tensor), roots):
        if not is_step and not is_pad(graph, above):
            break
        op = context.read(above)
        if isinstance(op, PadOp) and is_step:
            steps.append(replace(_form(graph, above, op), fill=op.value or None))
        else:
            steps.append(_form(graph, above, None if isinstance(op, WindowOp) else op, window))
    return SiteForm(tuple(reversed(steps)))


def _form(graph: Graph, node: Node, op: _Op, window: _Op = None) -> StepForm:
    """How one node writes padding; the amounts of a `Pad` by the axes of the window behind it."""
    match op:
        case WindowOp():
            form = StepForm(node.op, "window", rounds_up=op.ceil_mode)
            if op.auto_pad != "NOTSET":
                return replace(form, auto_pad=op.auto_pad)
            if not is_padded(op.pads):
                return form
            amounts = WrittenAmounts(named(op.pads), (("pads", tuple(onnx_order(op.pads))),))
            return replace(form, amounts=amounts, has_pads=True, is_counted=op.count_include_pad)
        case TransposedOp():
            beside = ("output_shape",) * (op.output_shape is not None)
            beside += ("output_padding",) * any(op.output_padding)
            auto_pad = op.auto_pad.replace("NOTSET", "")
            return StepForm(node.op, "transposed", amounts_of(op), auto_pad=auto_pad, beside=beside)
        case PadOp():
            inputs = node.inputs
            source: Literal["", "computed", "external"] = ""
            if graph.opset >= 11 and graph.is_external(inputs[1]):
                source = "external"
            elif graph.opset >= 11 and graph.constant(inputs[1]) is None:
                source = "computed"
            mode = "" if op.mode == "constant" else op.mode
            guarded = len(inputs) == 3 and not inputs[2].name
            return StepForm("Pad", "pad", _amounts(op, window), None, source, mode, guarded)
    return StepForm(node.op, _KINDS.get(node.op, "step"))


def _amounts(pad: PadOp, window: _Op) -> WrittenAmounts | None:
    """The constant amounts of a `Pad`: by name of the axis where a window reads it."""
    if (pairs := pad.constant_amounts) is None:
        return None
    if isinstance(window, WindowOp) and (full := pad.over(window.rank)) is not None:
        return WrittenAmounts(window.operator.layout.named(full))
    axes = zip(pad.axes or range(len(pairs)), pairs, strict=True)
    return WrittenAmounts(tuple((f"axis {axis}", *pair) for axis, pair in axes if any(pair)))
