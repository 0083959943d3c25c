"""Settles what passes find, one change of a graph at a time: it is committed, or taken back.

`Editor.settle` and `Editor.commit` are the whole of it; what follows are their stations, and at the
end how the padding of a place is written, for changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
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
from onnxpad.semantics.layers import Pairs, is_padded, onnx_order
from onnxpad.semantics.operators import (
    Layout,
    PadOp,
    TransposedOp,
    UnreadableError,
    WindowOp,
    gathering,
    is_pad,
)
from onnxpad.semantics.table import over_axes

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
        prover: Proves edits of the graph.
    """

    def __init__(self, context: Context, probe: NeighbourhoodProbe | None = None) -> None:
        """Edits the graph of a context; if there is a probe, it runs each change."""
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
        is_step = gathering(graph, node) is None and node.op != "Pad"
        kept: Sequence[Tensor] = node.outputs[:1]
        # Of others than the first, positions of maxima, its proof says what is needed.
        if is_step:
            kept = list(filter(graph.is_read, node.outputs)) or kept
        roots = [self.prover.roots(each, behind=pass_.behind) for each in kept]
        was, way = _written(context, node, kept[0], roots[0])
        seen = place_of(pass_, match), was
        if seen in self._seen:
            why = "the rule finds what it has already rewritten, without end"
            raise DiffersError(why, Reason.WITHOUT_END)
        # The `Pad`s and Slices that hide a size from the runtime, with the harm.
        hiding = [
            (each, context.blocked_pools.behind(each.outputs[0]))
            for each in way
            if _hides(graph, each)
        ]
        cuts = []
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
        now, way = _written(context, node, results[0], roots[0])
        for each, hazard in hiding:
            if hazard is not None and not (each in way and _hides(graph, each)):
                said = f"with known sizes there, {RUNTIME} would {hazard.does}"
                raise DiffersError(said, hazard.reason, operator=graph.label(hazard.node))
        told, certificate = self._probed(zip(results, roots, cuts, strict=False), proved[0])
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
    """A change that was made, with the finding that it settles, and the key that bars it.

    `tensors` are the unique names of what the nodes give that it touched, and those around its
    body; `wrote` are the labels of the nodes that it added.
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
    """The key under which a rewrite can be barred: its code, and the output that it keeps."""
    kept = match.node.outputs[0].name if match.node.outputs else ""
    return pass_.code, graph.unique(kept)


def place_of(pass_: Pass, match: Match) -> Place:
    """The place of a match."""
    return pass_.code, match.finding.node, id(match.node)


def kept_back(finding: Finding, code: Reason, reason: str = "") -> Finding:
    """The finding of a rewrite that is taken back for a reason, by default why it is barred."""
    return replace(finding, severity=Severity.INFO, reason=reason or _BARS[code], reason_code=code)


def _names(graph: Graph, *found: Sequence[Tensor]) -> frozenset[str]:
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


def _written(
    context: Context, node: Node, tensor: Tensor, roots: Sequence[str]
) -> tuple[SiteForm, list[Node]]:
    """How padding is written from the roots to what a node gives, and the nodes above it.

    The node is a window operator or a `Pad`, or else a step: of what it joins, the first counts
    that is no constant.
    """
    steps: list[StepForm] = []
    way: list[Node] = []
    graph, window = context.graph, None
    slides = gathering(graph, node) is not None
    is_step = not slides and node.op != "Pad"
    if slides:
        op, tensor = context.window(node), node.inputs[0]
        window = op if isinstance(op, WindowOp) else None
        steps.append(_form(node, op))
    tensor = graph.origin(tensor)
    while tensor.name not in roots and (above := tensor.producer) is not None and len(way) < MOST:
        data = above.inputs
        if is_pad(graph, above):
            pad = context.pad(above)
            form = _pad(graph, pad, window) if isinstance(pad, PadOp) else StepForm("Pad", "pad")
            filled = is_step and isinstance(pad, PadOp) and pad.value
            steps.append(replace(form, fill=filled) if filled else form)
        elif is_step and data:
            steps.append(_form(above, context.read(above)))
            data = tuple(each for each in data if graph.constant(each) is None) or data
        else:
            break
        way.append(above)
        tensor = graph.origin(data[0])
    return SiteForm(tuple(reversed(steps))), way


def _form(node: Node, op: WindowOp | TransposedOp | PadOp | UnreadableError | None) -> StepForm:
    """How a node that is no `Pad` writes padding."""
    if isinstance(op, WindowOp):
        return _window(node.op, op.auto_pad, op.pads, op.ceil_mode, op.count_include_pad)
    if not isinstance(op, TransposedOp):
        return StepForm(node.op, "transposed" if node.op == "ConvTranspose" else "step")
    beside = ("output_shape",) * (op.output_shape is not None)
    beside += ("output_padding",) * any(op.output_padding)
    auto_pad = op.auto_pad.replace("NOTSET", "")
    return StepForm(node.op, "transposed", amounts_of(op), auto_pad=auto_pad, beside=beside)


def _pad(graph: Graph, pad: PadOp, window: WindowOp | None) -> StepForm:
    inputs = pad.node.inputs
    source: Literal["", "computed", "external"] = ""
    if graph.opset >= 11 and graph.is_external(inputs[1]):
        source = "external"
    elif graph.opset >= 11 and graph.constant(inputs[1]) is None:
        source = "computed"
    layout, rank = (None, None) if window is None else (window.operator.layout, window.rank)
    amounts = _amounts(pad.constant_amounts, pad.axes, layout, rank)
    mode = "" if pad.mode == "constant" else pad.mode
    guarded = len(inputs) == 3 and not inputs[2].name
    return StepForm("Pad", "pad", amounts, None, source, mode, guarded)


@lru_cache(maxsize=256)
def _window(op: str, auto_pad: str, pads: Pairs, ceil_mode: bool, counts: bool) -> StepForm:
    if auto_pad != "NOTSET":
        return StepForm(op, "window", rounds_up=ceil_mode, auto_pad=auto_pad)
    if not is_padded(pads):
        return StepForm(op, "window", rounds_up=ceil_mode)
    amounts = WrittenAmounts(named(pads), (("pads", tuple(onnx_order(pads))),))
    form = StepForm(op, "window", amounts, has_pads=True, is_counted=counts)
    return replace(form, rounds_up=ceil_mode)


@lru_cache(maxsize=256)
def _amounts(
    pairs: Pairs | None, axes: tuple[int, ...] | None, layout: Layout | None, rank: int | None
) -> WrittenAmounts | None:
    """The constant amounts of a `Pad`: by name of the axis where a window reads it."""
    if pairs is None:
        return None
    if layout is not None and (full := over_axes(pairs, axes, rank)) is not None:
        return WrittenAmounts(layout.named(full))
    padded = zip(axes or range(len(pairs)), pairs, strict=True)
    return WrittenAmounts(tuple((f"axis {axis}", *pair) for axis, pair in padded if any(pair)))
