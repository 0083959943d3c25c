"""Runs the passes on all graphs of a model: to rewrite it, to list findings, or to try options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arguments import Progress
from onnxpad.errors import ModelError
from onnxpad.facts.feasible import SizeDomain
from onnxpad.facts.recorded import METADATA, given_domain, record_sizes, recorded_sizes
from onnxpad.finding import Change, Finding, Trust
from onnxpad.graph import Graph, Node
from onnxpad.graph.walk import counts_of
from onnxpad.options import KEPT, Options, Wanted
from onnxpad.passes.guard_pad import GuardPad
from onnxpad.process import gc_paused
from onnxpad.proof.term import DiffersError
from onnxpad.reasons import Reason
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Match, Pass
from onnxpad.rewrite.registry import every_pass, findings
from onnxpad.rewrite.scopes import contexts
from onnxpad.rewrite.transaction import Barred, Editor, Key, Made, kept_back, match_key, place_of
from onnxpad.runtimes.protection import Exposing, misfused_neighbours, shield

if TYPE_CHECKING:
    from onnxpad.arithmetic.size import Sizes
    from onnxpad.probe.cut import NeighbourhoodProbe

Passes: TypeAlias = Sequence[type[Pass]]
Found: TypeAlias = tuple[Pass, Match]
AtLast: TypeAlias = Callable[[Sequence[Context]], Iterable[Finding]]
"""Finds something in the graphs of a model once the passes are done with them."""

_OTHERS: Final = ("PAD70", "PAD9")
"""The beginnings of codes about more than how a padding is written.

These are its protection, its spelling, and what is wrong whatever padding it has.
"""


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
        remarks: What the targets contradict one another in, a line each.
        left: The graphs of the model as the passes left them, the main graph first.
    """

    def __init__(
        self,
        graph: Graph,
        options: Options,
        *,
        passes: Passes | None = None,
        probe: NeighbourhoodProbe | None = None,
        exposing: Exposing | None = None,
        progress: Progress | None = None,
        domain: SizeDomain | None = None,
        contexts: Sequence[Context] = (),
    ) -> None:
        """Declares the sizes that the user fixed; nothing is analysed yet.

        `options` are as `with_codes` gives them. Of codes that are not chosen all stays. `domain`
        are their sizes, if the graph declares these already, and `contexts` its graphs as a run
        left them whose options differ in none on which the analysis rests; they are used up.

        Raises:
            UsageError: A size is malformed.
            MismatchError: A size does not fit the model.
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
        self.remarks: tuple[str, ...] = ()
        self._passes = every_pass() if passes is None else passes
        self._exposing = exposing
        self._progress = progress
        self._start = graph.mark()
        self._editors: list[Editor] = []
        self._total = 0
        self._is_deciding = False
        self._closed: dict[int, str] = {}
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
            self._closed.update((each.graph.offset, each.closed) for each in known if each.closed)
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
        """Why sizes in the metadata cannot be used, in one line; what targets contradict in."""
        return (*self._recorded.warnings, *self.remarks)

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
            context.closed = context.closed or self._closed.get(context.graph.offset, "")
        return found

    def _changes_exposing_pads(self) -> dict[Key, Reason]:
        """Protects the graphs from the optimiser; returns the changes to bar where it cannot.

        The graphs are analysed anew, as the next reader of the result will do, without the size
        limits of the original. The protections are proved like any other edit, or undone.
        """
        made, guilty, first = self.made, dict[Key, Reason](), None
        pads = any(node.op == "Pad" for each in self._editors for node in each.context.graph.nodes)
        fresh = {each.graph.offset: each for each in self._anew()} if pads else {}
        # Nothing is protected from an onnxruntime that is not meant.
        guard_existing = not self.options.target_only and self.options.chooses(GuardPad.code)
        for editor in filter(lambda each: _is_open(each.context), self._editors):
            graph = editor.context.graph
            context, mark = fresh.get(graph.offset, editor.context), graph.mark()
            editor.prover.begin()
            exposing = self._exposing if graph.is_main else None
            left = shield(context, exposing, guard_existing=guard_existing)
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
                mark, made, found = editor.context.graph.mark(), len(editor.made), list[Found]()
                try:
                    while any(self._changed(editor, stage, found) for stage in stages):
                        found.clear()
                    seen += found
                except ModelError as error:
                    self._close(editor.context, error)
                    editor.context.graph.rollback(mark)
                    del editor.made[made:]
            if sum(len(each.made) for each in inside) == changes:
                return seen
            for each in self._editors:
                each.undone.clear()

    def _changed(self, editor: Editor, stage: Passes, seen: list[Found]) -> bool:
        """Whether passes change a graph; what they find is added to `seen`."""
        changes = len(editor.made)
        editor.context.settle()
        for pass_, match in self._matches(editor.context, stage):
            seen.append((pass_, match))
            if match.plan is not None:
                editor.settle(pass_, match)
                if self._progress is not None:
                    done = len(self.made)
                    self._progress("rewriting and proving", done, max(done, self._total))
        return len(editor.made) != changes

    def _close(self, context: Context, error: ModelError) -> None:
        """Leaves a body or function as it was that turns out to be malformed."""
        if context.graph.is_main:
            raise error
        context.closed = self._closed[context.graph.offset] = str(error)

    def _found(self, passes: Passes) -> list[Found]:
        """The findings of passes in what is left; in a closed graph, only of those on scopes."""
        seen: list[Found] = []
        for context in self.left:
            try:
                seen += [*self._matches(context, passes)] if _is_open(context) else []
            except ModelError as error:
                self._close(context, error)
            if context.closed and context.graph.is_there():
                seen += self._matches(context, [kind for kind in passes if kind.scopes])
        return seen

    def _matches(self, context: Context, passes: Passes) -> Iterator[Found]:
        """What passes find, without a plan where that is barred or not chosen."""
        for kind in passes:
            pass_, is_chosen = kind(), self.options.chooses(kind.code)
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
    return about.alive and context.style_of(about) == KEPT.style
