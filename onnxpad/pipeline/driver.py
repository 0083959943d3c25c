"""Runs the passes on all graphs of a model: `rewrite` keeps the result, `find` undoes it."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TypeAlias

from onnxpad.arithmetic.size import Sizes
from onnxpad.errors import ModelError
from onnxpad.facts import Facts
from onnxpad.finding import Change, Finding, Severity
from onnxpad.fusion.barred import (
    JOINS_NEIGHBOURS,
    LAYS_OPEN,
    NOTHING,
    Barred,
    Key,
    code_of,
    noted,
    told,
)
from onnxpad.graph import Graph, Node
from onnxpad.options import Options
from onnxpad.pipeline.own_passes import every_pass, findings
from onnxpad.pipeline.transaction import Editor, Made, Place, Probe, Undone, key_of, place_of
from onnxpad.proof.certify import UncertifiedError
from onnxpad.records import dataclass
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.protect_from_fusion import Exposing, met, shield
from onnxpad.rewrite.rule import Match, Pass
from onnxpad.rewrite.scopes import contexts
from onnxpad.sizes.domain import SizeDomain

Passes: TypeAlias = Sequence[type[Pass]]
Found: TypeAlias = tuple[Place, Match]
Unprotected: TypeAlias = tuple[Graph, Sequence[Node], str]
"""Nodes that onnxruntime would fuse wrongly, in one of the graphs of a model, and why to bar it."""
Progress: TypeAlias = Callable[[str, int, int], None]
AtLast: TypeAlias = Callable[[Sequence[Context]], Iterable[Finding]]
"""Finds something in the graphs of a model once the passes are done with them."""


@dataclass(slots=True)
class Outcome:
    """The result of a run of the passes.

    Attributes:
        changes: Every rewrite made, in order.
        findings: The findings that remain.
        undone: The rewrites that could not be certified, or failed their probe.
        sizes: The limits of the original graph's open sizes, by name.
        made: The changes, each with the finding, the key that bars it, and its tensors.
        barred: The rewrites that this run barred, since they expose a `Pad` to onnxruntime's
            optimiser that cannot be protected.
        contexts: The graphs of the model as they were left, the main graph first.
    """

    changes: list[Change] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    undone: list[Finding] = field(default_factory=list)
    sizes: Mapping[str, Sizes] = field(default_factory=dict)
    made: list[Made] = field(default_factory=list)
    barred: Barred = field(default_factory=lambda: NOTHING)
    contexts: Sequence[Context] = ()


def find(
    graph: Graph,
    asked: Options,
    *,
    domain: SizeDomain | None = None,
    passes: Passes | None = None,
    at_last: AtLast | None = None,
) -> list[Finding]:
    """Everything the passes find in a graph, which stays as it is.

    All rewrites are made as in `rewrite`, and undone at the end. Only this shows whether each
    change can be certified, on which assumptions, and whether it can after the other changes.
    `at_last` finds more in the graphs of the model as the rewrites leave them.
    """
    passes = every_pass() if passes is None else passes
    anew = partial(contexts, graph, asked, domain)
    barred = noted(graph)
    rewriting = [kind for kind in passes if kind.rewrites]
    reports = [kind for kind in passes if not kind.rewrites and not kind.rest]

    def looked(work: _Work) -> list[Found]:
        found = _found(work.contexts, rewriting, barred)
        return found + _found(work.contexts, reports, barred)

    work = _Work(anew, strict=asked.strict)
    found = looked(work)
    if all(match.plan is None for _, match in found):
        found += _rest(work.contexts, passes, found)
        return [*(match.finding for _, match in found), *_added(work.contexts, at_last)]
    mark = graph.mark()
    while True:
        seen = _settle(work, passes, barred)
        version, after, last_seen = graph.version, work.contexts, seen
        fresh = _changes_exposing_pads(work, _shielded(work), barred) if work.made else {}
        if graph.version != version:
            after, last_seen = _seen_anew(work.anew(), passes, barred)
        rest = _rest(after, passes, last_seen)
        added = [] if fresh else _added(after, at_last)
        graph.rollback(mark)
        if not fresh:
            break
        barred = {**barred, **fresh}
        work = _Work(anew, strict=asked.strict)
        found = looked(work)
    last = [match for place, match in (*last_seen, *rest) if place not in work.undone]
    return [*_outlook(work, found, last, {kind.code for kind in rewriting}), *added]


def _added(found: Sequence[Context], at_last: AtLast | None) -> list[Finding]:
    """The findings in the graphs as they are, without those that are closed or gone."""
    if at_last is None:
        return []
    return list(at_last([each for each in found if each.graph.is_there() and not each.closed]))


def rewrite(
    graph: Graph,
    asked: Options,
    *,
    domain: SizeDomain | None = None,
    probe: Probe | None = None,
    progress: Progress | None = None,
    passes: Passes | None = None,
    barred: Barred = NOTHING,
    exposing: Exposing | None = None,
    guard_existing: bool = True,
) -> Outcome:
    """Applies every pass, in place, until none finds anything more.

    Each change is certified, and probed if there is a probe, before the next one is looked for.

    Args:
        graph: The graph, which is edited.
        asked: The options of the user. With `strict`, a change whose certificate names an
            assumption is undone.
        domain: The sizes that the user allows; all without it.
        probe: Runs each change; without it nothing runs.
        progress: Called with a step, the number of changes tried, and how many there may be.
        passes: The passes; all of them, users' own too, if None.
        barred: Rewrites not to make, besides those that the model's metadata bars.
        exposing: Asks onnxruntime which `Pad`s its optimiser folds wrongly in the result.
        guard_existing: Whether those are protected too that it folds as wrongly in the original.
    """
    passes = every_pass() if passes is None else passes
    anew = partial(contexts, graph, asked, domain)
    barred = known = {**noted(graph), **barred}
    reports = [kind for kind in passes if not kind.rewrites and not kind.rest]
    mark = graph.mark()
    sizes: Mapping[str, Sizes] | None = None
    while True:
        work = _Work(anew, strict=asked.strict, probe=probe)
        if sizes is None:
            sizes = work.contexts[0].domains[-1].domain.to_draw(graph)
        total = sum(map(_count, work.contexts))
        seen = _settle(work, passes, barred, partial(_report, progress, work, total))
        fresh = {}
        version, after = graph.version, work.contexts
        if work.made or (domain is not None and domain.declared):
            fresh = _changes_exposing_pads(
                work, _shielded(work, exposing, guard_existing=guard_existing), barred
            )
        if not fresh:
            break
        graph.rollback(mark)
        barred = {**barred, **fresh}
    if graph.version != version:
        after, seen = _seen_anew(work.anew(), passes, barred)
    seen += _found(after, reports, barred)
    seen += _rest(after, passes, seen)
    undone = work.undone
    return Outcome(
        changes=[made.change for made in work.made],
        findings=[match.finding for place, match in seen if place not in undone],
        undone=[_undone(each, "undone") for each in undone.values()],
        sizes=sizes,
        made=work.made,
        barred={key: why for key, why in barred.items() if key not in known},
        contexts=after,
    )


def rewrite_further(
    graph: Graph,
    asked: Options,
    *,
    found: Sequence[Context] = (),
    domain: SizeDomain | None = None,
    passes: Passes | None = None,
    guard_existing: bool = True,
) -> None:
    """Makes the edits of `rewrite`, but looks for no findings, for a trial that is rolled back.

    Args:
        graph: The graph, which is edited.
        asked: The options of the user.
        found: The graphs of the model as `rewrite` left them, if only `dynamic` is another choice
            than there. They spare the analysis, and must not be used afterwards.
        domain: The sizes that the user allows; all without it.
        passes: The passes; all of them, users' own too, if None.
        guard_existing: As for `rewrite`.
    """
    passes = every_pass() if passes is None else passes
    anew = partial(contexts, graph, asked, domain)
    for each in found:
        each.choose(asked.dynamic)
    barred: Barred = noted(graph)
    mark = graph.mark()
    while True:
        work = _Work(anew, strict=asked.strict, found=found)
        _settle(work, passes, barred)
        declares = domain is not None and bool(domain.declared)
        left = _shielded(work, guard_existing=guard_existing) if work.made or declares else []
        fresh = _changes_exposing_pads(work, left, barred)
        if not fresh:
            return
        graph.rollback(mark)
        barred, found = {**barred, **fresh}, ()


class _Work:
    """The graphs of a model that are edited, each with its editor; the main graph first."""

    def __init__(
        self,
        anew: Callable[[], list[Context]],
        *,
        strict: bool,
        probe: Probe | None = None,
        found: Sequence[Context] = (),
    ) -> None:
        self._anew = anew
        self._why = {each.graph.offset: each.closed for each in found if each.closed}
        known = found or self.anew()
        self.editors = [Editor(each, strict=strict, probe=probe) for each in known]

    def anew(self) -> list[Context]:
        """New contexts of all graphs, which know nothing of the edits made."""
        found = self._anew()
        for context in found:
            context.closed = context.closed or self._why.get(context.graph.offset, "")
        return found

    def take(self, found: Sequence[Context]) -> None:
        """Goes on with other contexts of the same graphs."""
        known = {each.graph.offset: each for each in found}
        self.editors = [each for each in self.editors if each.context.graph.offset in known]
        for editor in self.editors:
            editor.take(known[editor.context.graph.offset])

    def close(self, context: Context, why: str) -> None:
        """Leaves a body or function alone from now on."""
        context.closed = self._why[context.graph.offset] = why

    @property
    def contexts(self) -> list[Context]:
        """The contexts of the graphs, as the editors know them."""
        return [editor.context for editor in self.editors]

    @property
    def made(self) -> list[Made]:
        """The changes made, graph by graph."""
        return [made for editor in self.editors for made in editor.made]

    @property
    def undone(self) -> dict[Place, Undone]:
        """The changes that were taken back, in all graphs."""
        return {place: each for editor in self.editors for place, each in editor.undone.items()}


def _count(context: Context) -> int:
    """How many changes there may be in a graph: at its `Pad`s, and where windows name a size.

    Operators' own pads change only where the style does not want them there.
    """
    moves = context.style != "fold"
    try:
        windows = sum(
            op.auto_pad != "NOTSET" or op.ceil_mode or (moves and any(map(any, op.pads)))
            for op in context.windows()
        )
        return windows + sum(1 for _ in context.pads())
    except ModelError:
        if context.graph.is_main:
            raise
        return 0


def _report(progress: Progress | None, work: _Work, total: int) -> None:
    if progress is not None:
        done = sum(len(each.made) + len(each.undone) for each in work.editors)
        progress("rewriting and proving", done, max(done, total))


def _shielded(
    work: _Work, exposing: Exposing | None = None, *, guard_existing: bool = True
) -> list[Unprotected]:
    """Protects the edited graphs from onnxruntime's optimiser; returns what it would still harm.

    The graphs are analysed anew, as the next reader of the result will do, without the size limits
    of the original. The protections are proved like any other edit. If that fails, those of that
    graph are undone. Only about the main graph onnxruntime can be asked.
    """
    pads = any(node.op == "Pad" for each in work.contexts for node in each.graph.nodes)
    fresh = {each.graph.offset: each for each in work.anew()} if pads else {}
    unprotected: list[Unprotected] = []
    for editor in work.editors:
        graph = editor.context.graph
        if not graph.is_there() or editor.context.closed:
            continue
        context, mark = fresh.get(graph.offset, editor.context), graph.mark()
        left = shield(context, exposing if graph.is_main else None, guard_existing=guard_existing)
        try:
            editor.check_guards(mark)
        except UncertifiedError:
            graph.rollback(mark)
            left = context.sites.fusion.exposed()
        unprotected += (
            (graph, (each.pad.node, each.window, *each.way), LAYS_OPEN) for each in left
        )
        unprotected += ((graph, nodes, JOINS_NEIGHBOURS) for nodes in met(context))
    return unprotected


def _changes_exposing_pads(
    work: _Work, left: Sequence[Unprotected], barred: Barred
) -> dict[Key, str]:
    """The changes to bar, since they expose nodes to the optimiser that cannot be protected.

    Of those that touch such a node the latest; all changes, where none touches any.
    """
    made = [each for each in work.made if each.key not in barred]
    guilty: dict[Key, str] = {}
    for graph, nodes, why in left:
        places = {graph.unique(tensor.name) for node in nodes for tensor in node.outputs}
        touching = [found for found in made if not places.isdisjoint(found.tensors)]
        guilty |= {found.key: why for found in touching[-1:]}
    return guilty or {each.key: why for *_, why in left[:1] for each in made}


def _settle(
    work: _Work, passes: Passes, barred: Barred, report: Callable[[], None] = lambda: None
) -> list[Found]:
    """Applies passes until none finds anything to rewrite; returns their last findings."""
    while True:
        changes = len(work.made)
        seen = _settle_all(work, passes, barred, report)
        main = work.contexts[0]
        if len(work.made) == changes or main.is_final:
            return seen
        # The rewrites may have shown further limits of the feasible sizes.
        found = work.anew()
        if found[0].domains[-1].domain == main.domains[-1].domain:
            return seen
        work.take(found)


def _settle_all(
    work: _Work, passes: Passes, barred: Barred, report: Callable[[], None]
) -> list[Found]:
    """Applies passes to each graph, and to all again where a change inside may lead to others."""
    while True:
        seen: list[Found] = []
        inside = len(work.made) - len(work.editors[0].made)
        for editor in work.editors:
            seen += _exhaust_or_close(work, editor, passes, barred, report)
        if len(work.made) - len(work.editors[0].made) == inside:
            return seen
        for editor in work.editors:
            editor.mark_stale()


def _exhaust_or_close(
    work: _Work, editor: Editor, passes: Passes, barred: Barred, report: Callable[[], None]
) -> list[Found]:
    """As `_exhaust`; a body or function that turns out to be malformed is left as it was."""
    context = editor.context
    if context.closed or not context.graph.is_there():
        return []
    if context.graph.is_main:
        return _exhaust(editor, passes, barred, report)
    mark, made = context.mark(), len(editor.made)
    try:
        return _exhaust(editor, passes, barred, report)
    except ModelError as error:
        context.rollback(mark)
        del editor.made[made:]
        work.close(context, str(error))
        return []


def _exhaust(
    editor: Editor, passes: Passes, barred: Barred, report: Callable[[], None]
) -> list[Found]:
    """Applies the rewriting passes until they find nothing to do; returns their last findings.

    A late stage may make an earlier one possible, so after each change it starts over.
    """
    seen: list[Found] = []
    rewriting = [kind for kind in passes if kind.rewrites]
    stages = [[kind for kind in rewriting if kind.last is last] for last in (False, True)]

    def changed(stage: Passes) -> bool:
        changes = len(editor.made)
        editor.context.ask_again()
        for rule, match in _matches(editor.context, stage, barred):
            seen.append((place_of(rule, match), match))
            if match.plan is not None:
                editor.apply(rule, match)
                report()
        return len(editor.made) != changes

    while any(changed(stage) for stage in stages) or editor.retry():
        seen.clear()
    return seen


def _found(found: Iterable[Context], passes: Passes, barred: Barred) -> list[Found]:
    """The findings of passes in all graphs. In a closed one, only the rule on scopes looks."""
    seen: list[Found] = []
    for context in found:
        if not context.graph.is_there():
            continue
        try:
            if not context.closed:
                seen += _found_in(context, passes, barred)
                continue
        except ModelError as error:
            if context.graph.is_main:
                raise
            context.closed = str(error)
        seen += _found_in(context, [kind for kind in passes if kind.scopes], barred)
    return seen


def _found_in(context: Context, passes: Passes, barred: Barred) -> list[Found]:
    return [(place_of(rule, match), match) for rule, match in _matches(context, passes, barred)]


def _seen_anew(
    found: list[Context], passes: Passes, barred: Barred
) -> tuple[list[Context], list[Found]]:
    """The refusals of the rewriting passes in graphs that have been protected."""
    seen = _found(found, [kind for kind in passes if kind.rewrites], barred)
    return found, [(place, match) for place, match in seen if match.plan is None]


def _rest(found: Sequence[Context], passes: Passes, seen: Sequence[Found]) -> list[Found]:
    """The findings of the passes that report padding about which no rewriting pass has one."""
    rewriting = {kind.code for kind in passes if kind.rewrites}
    told = (match.about for (code, *_), match in seen if code in rewriting)
    known = frozenset(map(id, told))
    for context in found:
        context.told = known
    return _found(found, [kind for kind in passes if kind.rest], NOTHING)


def _undone(undone: Undone, what: str) -> Finding:
    """The finding about a change that was taken back."""
    finding, why, code, facts = undone
    return replace(
        finding,
        severity=Severity.INFO,
        reason=f"{what}: {why}",
        evidence=Facts(finding.evidence, **facts),
        reason_code=code,
    )


def _outlook(
    work: _Work, found: Sequence[Found], last: Sequence[Match], rewriting: Container[str]
) -> list[Finding]:
    """The findings about a model, each with its outcome after all rewrites were made and undone.

    A padding that is refused at first may be rewritten after another change, by this rule or by
    another one, or stay for another reason. So what changes is what the first look finds, and what
    stays is what the last one finds in a node of the model, as in the report of `fix`.

    Args:
        work: The changes made, and those that were taken back.
        found: What was found before all changes.
        last: What was found after them, without what was taken back.
        rewriting: The codes of the passes that rewrite; the others are about the model as it is.
    """
    nodes = [(each, node) for each in work.contexts for node in each.graph.nodes]
    graphs = {id(node): each.graph for each, node in nodes}
    named = {each.label(node): node for each, node in nodes}
    made: dict[Place, list[Made]] = {}
    for each in work.made:
        made.setdefault(each.place, []).append(each)
    undone = work.undone
    stays: dict[int, list[Finding]] = {}

    def about(match: Match) -> int:
        return id(match.about) if id(match.about) in graphs else id(named.get(match.finding.node))

    for match in last:
        node, finding = about(match), match.finding
        if node not in graphs and not finding.asked:  # a node that changes wrote for another one
            label, op_type = _wrote(match, work.made, named)
            node, finding = id(named.get(label)), replace(finding, node=label, op_type=op_type)
        if node in graphs:
            stays.setdefault(node, []).append(finding)
    left = {node: tuple(findings) for node, findings in stays.items()}
    changing = {about(match) for place, match in found if place in made or match.plan is not None}
    told: list[Finding] = []
    for place, match in found:
        node = about(match)
        if place in made:
            told.append(_changed(match, made[place]))
        elif place in undone:
            told.append(_undone(undone.pop(place), "fix would undo it"))
        elif match.finding.code not in rewriting or node not in graphs:
            told.append(match.finding)
        elif node in stays:
            pass
        elif match.plan is not None:
            told.append(match.finding)  # it disappears with another rewrite
        elif node not in changing:
            told.append(_changed_by_another(match, graphs[node], work.made))
        told += left.pop(node, ())
    told += (_undone(each, "fix would undo it") for each in undone.values())
    return [*told, *(each for findings in left.values() for each in findings)]


def _wrote(match: Match, made: Sequence[Made], named: Container[str]) -> tuple[str, str]:
    """The node of the original for which changes wrote the one that a finding is about."""
    label, op_type = match.finding.node, match.finding.op_type
    for each in reversed(made):
        if label not in named and label in each.wrote:
            label, op_type = each.finding.node, each.finding.op_type
    return label, op_type


def _changed(match: Match, made: Sequence[Made]) -> Finding:
    """The finding of a match, given the changes made there."""
    # A padding that was refused at first may have been rewritten after another change.
    finding = match.finding if match.plan is not None else made[0].finding
    taken = dict.fromkeys(a for each in made for a in each.change.certificate.assumptions)
    limits = dict.fromkeys(each.change.certificate.limited_to for each in made)
    return replace(finding, assumptions=tuple(taken), sizes="; ".join(filter(None, limits)))


def _changed_by_another(match: Match, graph: Graph, made: Sequence[Made]) -> Finding:
    """The finding of what was refused at first, and went with a change made elsewhere."""
    node = match.about or match.node
    tensors = {graph.unique(tensor.name) for tensor in node.outputs if tensor.name}

    def took(each: Made) -> bool:
        return match.finding.node in each.change.removed or not tensors.isdisjoint(each.tensors)

    by = next(filter(took, made), None)
    if by is None:
        return match.finding
    finding, was = _changed(match, [by]), match.finding
    return replace(finding, node=was.node, op_type=was.op_type, message=was.message)


def _matches(context: Context, passes: Passes, barred: Barred) -> Iterator[tuple[Pass, Match]]:
    for kind in passes:
        rule = kind()
        for match in findings(rule, context):
            # A finding may be about a function as a whole, which has no outputs to name it by.
            rewrites = match.plan is not None
            reason = barred.get(key_of(context.graph, rule, match)) if rewrites else None
            if reason is None:
                yield rule, match
            else:
                finding = replace(
                    match.finding,
                    severity=Severity.INFO,
                    reason=told(reason),
                    reason_code=code_of(reason),
                )
                yield rule, match._replace(finding=finding, plan=None, barred=True)
