"""Runs the passes on all graphs of a model: to rewrite it, to list findings, or to try options."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arguments import Progress
from onnxpad.arithmetic.window import named
from onnxpad.errors import RUNTIME, few
from onnxpad.facts.feasible import SizeDomain
from onnxpad.facts.recorded import METADATA, given_domain, record_sizes, recorded_sizes
from onnxpad.finding import (
    Assumption,
    Certificate,
    Change,
    Finding,
    Severity,
    SiteForm,
    StepForm,
    Trust,
    WrittenAmounts,
)
from onnxpad.graph import Graph, Node, Tensor, counts_of
from onnxpad.graph.nodes import MOST
from onnxpad.options import KEPT, Options, Wanted
from onnxpad.padding.crops import amounts_of
from onnxpad.process import gc_paused
from onnxpad.proof.certificate import Prover, check_elsewhere
from onnxpad.proof.term import DiffersError
from onnxpad.reasons import Reason
from onnxpad.rewrite.pass_api import Context, Match, Pass
from onnxpad.rewrite.registry import every_pass, failed, findings, is_own, misuse, rewritten
from onnxpad.rewrite.scopes import contexts
from onnxpad.runtimes.onnxruntime.guard import misfused_neighbours, shield
from onnxpad.runtimes.onnxruntime.hidden_shapes import hides
from onnxpad.semantics.layers import Pairs, is_padded, onnx_order
from onnxpad.semantics.operators import Layout, PadOp, TransposedOp, WindowOp, gathering, is_pad
from onnxpad.semantics.rows import UnreadError
from onnxpad.semantics.table import over_axes

if TYPE_CHECKING:
    from onnxpad.arithmetic.size import Sizes
    from onnxpad.probe.cut import NeighbourhoodProbe

Passes = Sequence[type[Pass]]
Found = tuple[Pass, Match]
AtLast = Callable[[Sequence[Context]], Iterable[Finding]]
"""Finds something in the graphs of a model once the passes are done with them."""

_OTHERS = ("PAD70", "PAD9")
"""The beginnings of codes about more than how a padding is written.

These are its protection, its spelling, and what is wrong whatever padding it has.
"""
_MENDS = {
    Reason.NOT_CERTIFIED: "; if it is right all the same, write it in the model, and validate that",
    Reason.WITHOUT_END: "; perhaps a pass of onnxpad writes it back: select yours alone",
}
"""What one may do where a change of a user's pass is undone, by the reason."""


class RunResult(Struct, frozen=True):
    """The changes that a run made, those taken back as not certified, and all other findings."""

    changes: list[Change]
    findings: list[Finding]
    undone: list[Finding]
    made: list[Made]


class Run:
    """The passes on all graphs of a model, which are analysed, edited and protected together.

    Attributes:
        graph: The main graph, which is edited.
        options: The options of the user.
        domain: The sizes that they allow.
        probe: Runs each change; None if nothing runs.
        decided: The changes that `decide` made.
        decided_model: The model that they leave, serialised; None without any.
        limits: The limits of the open sizes before the last `rewrite`, by name.
        barred: The rewrites not to make, also in another run on the result.
        left: The graphs of the model as the passes left them, the main graph first.
    """

    def __init__(
        self,
        graph: Graph,
        options: Options,
        *,
        passes: Passes | None = None,
        probe: NeighbourhoodProbe | None = None,
        progress: Progress | None = None,
        domain: SizeDomain | None = None,
        contexts: Sequence[Context] = (),
    ) -> None:
        """Declares the sizes that the user fixed, with errors as of `given_domain`.

        `options` are as `with_codes` gives them. Of codes that are not chosen all stays. `domain`
        are their sizes, if the graph declares these already, and `contexts` its graphs as a run
        left them whose options differ in none on which the analysis rests; they are used up.
        """
        self.graph = graph
        self.options = options
        if options.trust is Trust.INITIALIZERS:
            graph.take_defaults()
        self._recorded = recorded_sizes(graph)
        self.domain = domain or given_domain(
            graph,
            options.shapes,
            options.dims,
            trust_dim_names=options.trust_dim_names,
            recorded=self._recorded,
        )
        self.probe = probe
        self.decided_model: bytes | None = None
        self.decided: list[Change] = []
        self.limits: Mapping[str, Sizes] = {}
        self.barred: Barred = {}
        self._passes = every_pass() if passes is None else passes
        self._progress = progress
        self._start = graph.mark()
        self._editors: list[Editor] = []
        self._total = 0
        self._is_deciding = False
        self._given = contexts
        self.left: Sequence[Context] = ()
        self._each: tuple[Mapping[str, Wanted] | None, Wanted | None] = None, None
        for each in contexts:
            each.choose(options.dynamic)

    def write_each(
        self, wants: Mapping[str, Wanted] | None, passes: Passes, usual: Wanted | None = None
    ) -> None:
        """Has each padding written in its own way from now on, as `Context.write_each`."""
        self._passes = passes
        self._each = wants, usual

    def decide(self) -> None:
        """Makes the changes for good that rest on the specification alone, if that is trusted."""
        if self.options.trust is not Trust.SPEC:
            return
        self._is_deciding = True
        self.decided = self.rewrite().changes
        self._is_deciding = False
        if self.decided:
            self.decided_model, _ = self.graph.model.to_run()
        self._start = self.graph.mark()

    @gc_paused()
    def rewrite(self, barred: Barred | None = None) -> RunResult:
        """Applies every pass, in place, until none finds anything more.

        What an earlier call made is undone, but for what was decided.
        """
        self.graph.rollback(self._start)
        self.barred = barred or {}
        seen = self.edit()
        seen += self._found([kind for kind in self._passes if not kind.rewrites and not kind.rest])
        told = frozenset(id(match.about) for pass_, match in seen if pass_.rewrites)
        for context in self.left:
            context.reported = told
        seen += self._found([kind for kind in self._passes if kind.rest])
        changes = [each.change for each in self.made]
        if any(change.certificate.within for change in (*self.decided, *changes)):
            record_sizes(self.graph, self.domain.given, self._recorded)
        undone = {place: told for each in self._editors for place, told in each.undone.items()}
        return RunResult(
            changes=changes,
            findings=[found.finding for kind, found in seen if place_of(kind, found) not in undone],
            undone=[*undone.values()],
            made=self.made,
        )

    @gc_paused()
    def find(self, at_last: AtLast | None = None) -> list[Finding]:
        """What `rewrite` changes, then what it leaves, in the graph, which stays as it is.

        What is found in a node that a change wrote is told of the node that the change is about.
        `at_last` finds more in the graphs as all passes leave them, chosen or not.
        """
        outcome = self.rewrite()
        added: list[Finding] = []
        if at_last is not None:
            last = self
            if self.options.select or self.options.ignore:
                everything = replace(self.options, select=(), ignore=())
                last = Run(self.graph, everything, domain=self.domain, contexts=self.left)
                last.edit()
            added += at_last([each for each in last.left if _is_open(each)])
        self.graph.rollback(self._start)
        contexts = [each.context for each in self._editors]
        places = frozenset(each.label(node) for each in contexts for node in each.graph.nodes)
        told = [each.told() for each in outcome.made if each.finding.node in places]
        for finding in (*outcome.findings, *outcome.undone):
            about = finding
            for made in reversed(outcome.made):
                if about.node not in places and about.node in made.wrote:
                    about = made.finding
            told.append(
                replace(finding, node=about.node, op_type=about.op_type, location=about.location)
            )
        return [*told, *added]

    def edit(self) -> list[Found]:
        """Applies the passes, and protects what they leave; returns the findings that remain.

        If a change exposes what cannot be protected, it is barred, and all is done anew.
        """
        rewriting = [kind for kind in self._passes if kind.rewrites]
        while True:
            known, self._given = self._given or self.analysed(), ()
            self._editors = [Editor(each, self.probe) for each in known]
            self.limits = known[0].domains[-1].domain.to_draw(self.graph)
            if self._progress is not None:
                counts = counts_of(self.graph)
                self._total = counts.pads + counts.auto_pads + counts.ceil_modes
            seen = self._settled(rewriting)
            version = self.graph.version
            fresh = self._changes_exposing_pads() if self.made or self.domain.declared else {}
            if not fresh:
                break
            self.barred = {**self.barred, **fresh}
        if self.graph.version == version:
            self.left = [each.context for each in self._editors]
            return seen
        self.left = self._anew()
        return [found for found in self._found(rewriting) if found[1].plan is None]

    def analysed(self) -> list[Context]:
        """The contexts of the graphs as they are without the changes, which are undone."""
        self.graph.rollback(self._start)
        return self._anew()

    @property
    def notes(self) -> tuple[str, ...]:
        """The sizes that were taken from the model's metadata as they are."""
        taken = self._recorded.text(self.domain.given)  # not those that the user narrowed
        return (f"sizes taken from the model's metadata ({METADATA}): {taken}",) if taken else ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why sizes in the metadata cannot be used, in one line."""
        return self._recorded.warnings

    @property
    def made(self) -> list[Made]:
        """The changes made, graph by graph."""
        return [made for editor in self._editors for made in editor.made]

    def _anew(self) -> list[Context]:
        """New contexts of all graphs, at the sizes at which they run as they are now.

        No edit changes the shape of a tensor, so what is known at a domain of sizes still holds.
        """
        known = self._editors[0].context.domains if self._editors else ()
        found = contexts(self.graph, self.options, self.domain, known)
        for context in found:
            context.write_each(*self._each)
        return found

    def _changes_exposing_pads(self) -> dict[Key, Reason]:
        """Protects the graphs from the optimiser; returns the changes to bar where it cannot.

        The graphs are analysed anew, as the next reader of the result will do, without the size
        limits of the original. The protections are proved like any other edit, or undone.
        """
        made, guilty, first = self.made, dict[Key, Reason](), None
        pads = any(node.op == "Pad" for each in self._editors for node in each.context.graph.nodes)
        fresh = {each.graph.offset: each for each in self._anew()} if pads else {}
        for editor in filter(lambda each: _is_open(each.context), self._editors):
            graph = editor.context.graph
            context, mark = fresh.get(graph.offset, editor.context), graph.mark()
            editor.prover.begin()
            left = shield(context)
            try:
                editor.prover.settle(graph.touched(mark), {})
            except DiffersError:
                graph.rollback(mark)
                left = context.sites.fusion.exposed()
            harmed: list[tuple[Sequence[Node], Reason]] = [
                ((each.pad.node, each.window, *each.way), Reason.LAYS_PAD_OPEN) for each in left
            ]
            harmed += [(nodes, Reason.JOINS_NEIGHBOURS) for nodes in misfused_neighbours(context)]
            for nodes, why in harmed:
                names = {graph.unique(each.name) for node in nodes for each in node.outputs}
                touching = [found for found in made if not names.isdisjoint(found.tensors)]
                guilty |= {found.key: why for found in touching[-1:]}
                first = first or why
        # Where none touches what is harmed, all may be why.
        return guilty or {each.key: first for each in made if first is not None}

    def _settled(self, passes: Passes) -> list[Found]:
        """Applies passes to each graph until they find nothing to do; returns their last findings.

        After a change all passes start over, and all graphs after one inside a body or function.
        """
        stages = [[kind for kind in passes if kind.last is last] for last in (False, True)]
        inside = self._editors[1:]
        while True:
            changes = sum(len(each.made) for each in inside)
            seen: list[Found] = []
            for editor in filter(lambda each: _is_open(each.context), self._editors):
                found = list[Found]()
                while any(self._changed(editor, stage, found) for stage in stages):
                    found.clear()
                seen += found
            if sum(len(each.made) for each in inside) == changes:
                return seen
            for each in self._editors:
                each.undone.clear()

    def _changed(self, editor: Editor, stage: Passes, seen: list[Found]) -> bool:
        changes = len(editor.made)
        editor.context.settle()
        for pass_, match in self._matches(editor.context, stage):
            if match.plan is not None:
                editor.settle(pass_, match)
                if self._progress is not None:
                    done = sum(len(each.made) for each in self._editors)
                    self._progress("rewriting and proving", done, max(done, self._total))
            if len(editor.made) == changes:  # else all start over
                seen.append((pass_, match))
        return len(editor.made) != changes

    def _found(self, passes: Passes) -> list[Found]:
        """The findings of passes in what is left; in a closed graph, only of those on scopes."""
        seen: list[Found] = []
        for context in self.left:
            if _is_open(context):
                seen += self._matches(context, passes)
            elif context.graph.is_there():
                seen += self._matches(context, [kind for kind in passes if kind.scopes])
        return seen

    def _matches(self, context: Context, passes: Passes) -> Iterator[Found]:
        """What passes find, without a plan where that is barred or not chosen."""
        for kind in passes:
            pass_, is_chosen = kind(), self.options.rewrites(kind.code)
            for match in findings(pass_, context):
                if self._is_deciding and not match.decides:
                    continue
                if context.wants is not None and _is_kept(context, match):
                    continue
                key = match_key(context.graph, pass_, match)
                bar = self.barred.get(key) if is_chosen else Reason.NOT_CHOSEN
                if bar is not None and match.plan is not None:
                    match = replace(match, finding=kept_back(match.finding, bar), plan=None)
                yield pass_, match


def _is_open(context: Context) -> bool:
    """Whether passes may look into a graph, which may be gone."""
    return not context.closed and context.graph.is_there()


def _is_kept(context: Context, match: Match) -> bool:
    """Whether what is found is about padding that is to stay as it came, and has one meaning."""
    about, code = match.about or match.node, match.finding.code
    # A user's pass decides by itself, whatever it writes.
    writes = code.startswith("PAD") and not code.startswith(_OTHERS)
    if not writes or match.finding.reason_code == Reason.AUTO_PAD_AND_PADS:
        return False
    wanted = context.wanted(about)
    is_dropped = code == "PAD204" and "constant_amounts" in wanted.spelling  # rather than respelled
    return wanted.style == KEPT.style and not is_dropped


Place = tuple[str, str, int]
"""Where a pass found something: its code, the label of the node, and the node's identity."""
Key = tuple[str, str]
"""A rewrite: the code of its rule, and the output of the node that it rewrites."""
Barred = Mapping[Key, Reason]
"""The rewrites that are barred, each with the reason."""

_BEYOND = 100
"""How many times more than its graph has nodes a user's pass may rewrite in it."""
_BACK = "fix took it back: with it the model"

_BARS: Mapping[Reason, str] = {
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
    """Settles the changes of one graph; `undone` are those taken back since the last one made."""

    def __init__(self, context: Context, probe: NeighbourhoodProbe | None = None) -> None:
        """Edits the graph of a context; if there is a probe, it runs each change."""
        self.made: list[Made] = []
        self.undone: dict[Place, Finding] = {}
        self.context = context
        self._probe = probe
        self._seen: set[int] = set()  # by their hashes, as there are many
        self.prover = Prover(context.graph, context.domains)
        self._decided = ""
        self._rewrites = Counter[str]()  # by the codes of users' passes
        self._most = sum(1 for _ in context.graph.nodes) + _BEYOND

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
            self.made.append(self.commit(pass_, match, mark))
        except Exception as error:  # whatever a user's pass raises, or leads to
            why = error if isinstance(error, DiffersError) else failed(pass_, error)
            more = f"{_wrote(graph, mark)}{_MENDS.get(why.code, '')}" * is_own(pass_)
            said = f"undone: {why}{more}"
            graph.rollback(mark)
            self.prover.undo()
            told, brief = kept_back(match.finding, why.code, said), said * is_own(pass_)
            told = replace(told, evidence={**told.evidence, **why.facts}, brief=brief)
            self.undone[place] = told
        else:
            self.undone.clear()
            self._decided = pass_.code if match.decides else self._decided

    def commit(self, pass_: Pass, match: Match, mark: int) -> Made:
        """Writes a change, and records it; DiffersError if the model is not shown to stay alike."""
        context, graph, node = self.context, self.context.graph, match.node
        label, op_type, key = context.label(node), node.op, match_key(graph, pass_, match)
        if self._rewrites[pass_.code] == self._most:
            why = f"its pass rewrote {self._most} times, and still finds more: without end"
            raise DiffersError(why, Reason.WITHOUT_END)
        is_step = gathering(graph, node) is None and node.op != "Pad"
        kept: Sequence[Tensor] = node.outputs[:1]
        # Of others than the first, positions of maxima, its proof says what is needed.
        if is_step:
            kept = list(filter(graph.is_read, node.outputs)) or kept
        roots = [self.prover.roots(each, behind=pass_.behind) for each in kept]
        was, way = _written(context, node, kept[0], roots[0])
        seen = hash((place_of(pass_, match), was))
        if seen in self._seen:
            why = "the rule finds what it has already rewritten, without end"
            raise DiffersError(why, Reason.WITHOUT_END)
        # The `Pad`s and Slices that hide a size from the runtime, with the harm.
        behind = context.hidden.behind
        hiding = [(each, behind(each.outputs[0])) for each in way if hides(graph, each)]
        cuts = []
        if self._probe is not None:
            self._probe.take(graph, self.prover.facts.analysis)
            cuts = [*map(self._probe.before, kept, roots)]
        declared = graph.model.journal.declared
        results = rewritten(pass_, match, context, kept)
        removed = graph.sweep()
        touched = graph.touched(mark)
        check_elsewhere(graph, mark)
        if is_own(pass_) and (wrong := next(filter(None, misuse(graph, touched)), "")):
            raise DiffersError(wrong)
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
            if hazard is not None and not (each in way and hides(graph, each)):
                said = f"with known sizes there, {RUNTIME} would {hazard.does}"
                raise DiffersError(said, hazard.reason, operator=graph.label(hazard.node))
        told, certificate = self._probed(zip(results, roots, cuts, strict=False), proved[0])
        fresh = [each.node for each in touched if each.was is None]
        wrote = tuple(map(context.label, fresh))
        end = graph.mark()
        if absorbed := graph.absorb(node):  # it is an Identity now
            self.prover.settle(graph.touched(end), {})
        self._seen.add(seen)
        self._rewrites.update([pass_.code] * is_own(pass_))
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
    tensors: tuple[str, ...]
    wrote: tuple[str, ...]

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


def _wrote(graph: Graph, mark: int) -> str:
    """The nodes as an edit leaves them, as `; it wrote y = Conv <strides=[2, 2]> (x, w)`."""
    told = list[str]()
    for node in (each.node for each in graph.touched(mark) if each.node.alive):
        outputs, inputs = (", ".join(each.name for each in e) for e in (node.outputs, node.inputs))
        attributes = ", ".join(f"{n}={shorten(str(v), 60)}" for n, v in node.attrs.items())
        told.append(f"{outputs} = {node.op} <{attributes}> ({inputs})".replace(" <>", ""))
    return f"; it wrote {few(told, 3, '; ')}" * bool(told)


def kept_back(finding: Finding, code: Reason, reason: str = "") -> Finding:
    """The finding of a rewrite that is taken back for a reason, by default why it is barred."""
    return replace(finding, severity=Severity.INFO, reason=reason or _BARS[code], reason_code=code)


def _names(graph: Graph, *found: Sequence[Tensor]) -> tuple[str, ...]:
    names = {tensor.name for tensors in found for tensor in tensors}
    if graph.scope:
        names = set(map(graph.unique, names))
    while graph.owner is not None and graph.parent is not None:
        owner, graph = graph.owner, graph.parent
        names.update(graph.unique(each.name) for each in owner.outputs)
    return tuple(names)


def _written(
    context: Context, node: Node, tensor: Tensor, roots: Sequence[str]
) -> tuple[SiteForm, list[Node]]:
    """How padding is written on the way to a tensor that a node gave, and that way, from the roots.

    The node is a window operator or a `Pad`, which are written with the `Pad`s next to them, or
    else a step, with all steps. Of what a node on the way joins, the first counts that is no
    constant.
    """
    graph, window, steps = context.graph, None, []
    way: list[Node] = []
    slides = gathering(graph, node) is not None
    is_step = not slides and node.op != "Pad"
    tensor = graph.origin(node.inputs[0] if slides else tensor)
    for _ in range(MOST):
        above = tensor.producer
        if tensor.name in roots or above is None:
            break
        data = [each for each in above.inputs if graph.constant(each) is None] or above.inputs
        way.append(above)
        tensor = graph.origin(above.inputs[0] if is_pad(graph, above) else data[0])
    if slides:
        op = context.read(node)
        window = op if isinstance(op, WindowOp) else None
        steps.append(_form(node, op))
    for above in way:
        if is_pad(graph, above):
            pad = context.pad(above)
            form = _pad(graph, pad, window) if isinstance(pad, PadOp) else StepForm("Pad", "pad")
            filled = is_step and isinstance(pad, PadOp) and pad.value
            steps.append(replace(form, fill=filled) if filled else form)
        elif is_step:
            steps.append(_form(above, context.read(above)))
        else:
            break
    return _site(tuple(reversed(steps))), way


def _form(node: Node, op: WindowOp | TransposedOp | PadOp | UnreadError | None) -> StepForm:
    if isinstance(op, WindowOp):
        return _window(node.op, op.auto_pad, op.pads, op.ceil_mode, op.count_include_pad)
    if not isinstance(op, TransposedOp):
        return StepForm(node.op, "step")
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


_site = lru_cache(maxsize=256)(SiteForm)  # networks repeat the same few


@lru_cache(maxsize=256)
def _window(op: str, auto_pad: str, pads: Pairs, ceil_mode: bool, counts: bool) -> StepForm:
    if auto_pad != "NOTSET" or not is_padded(pads):
        auto_pad = auto_pad.replace("NOTSET", "")
        return StepForm(op, "window", rounds_up=ceil_mode, auto_pad=auto_pad)
    amounts = WrittenAmounts(named(pads), (("pads", tuple(onnx_order(pads))),))
    form = StepForm(op, "window", amounts, has_pads=True, is_counted=counts)
    return replace(form, rounds_up=ceil_mode)


@lru_cache(maxsize=256)
def _amounts(
    pairs: Pairs | None, axes: tuple[int, ...] | None, layout: Layout | None, rank: int | None
) -> WrittenAmounts | None:
    if pairs is None:
        return None
    if layout is not None and (full := over_axes(pairs, axes, rank)) is not None:
        return WrittenAmounts(layout.named(full))
    padded = zip(axes or range(len(pairs)), pairs, strict=True)
    return WrittenAmounts(tuple((f"axis {axis}", *pair) for axis, pair in padded if any(pair)))
