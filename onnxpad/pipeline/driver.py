"""Runs the passes to a fixed point: `rewrite` keeps the result, `find` undoes it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from onnxpad.arithmetic.size import Sizes
from onnxpad.finding import Change, Finding, Severity
from onnxpad.fusion.barred import LAYS_OPEN, NOTHING, Barred, Key, code_of, noted, told
from onnxpad.fusion.pad_fusion import Exposed
from onnxpad.graph import Graph
from onnxpad.passes import PASSES
from onnxpad.pipeline.transaction import Editor, Made, Place, Probe, Undone, key_of, place_of
from onnxpad.proof.certify import UncertifiedError
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.protect_from_fusion import Exposing, shield
from onnxpad.rewrite.rule import Match, Pass
from onnxpad.sizes.domain import SizeDomain

Passes: TypeAlias = Sequence[type[Pass]]
Found: TypeAlias = tuple[Place, Match]
Progress: TypeAlias = Callable[[str, int, int], None]


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
    """

    changes: list[Change] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    undone: list[Finding] = field(default_factory=list)
    sizes: Mapping[str, Sizes] = field(default_factory=dict)
    made: list[Made] = field(default_factory=list)
    barred: Barred = field(default_factory=lambda: NOTHING)


def find(
    graph: Graph,
    style: str,
    *,
    dynamic: str = "keep",
    domain: SizeDomain | None = None,
    no_ceil: bool = False,
    strict: bool = False,
    passes: Passes = PASSES,
) -> list[Finding]:
    """Everything the passes find in a graph, which stays as it is.

    All rewrites are made as in `rewrite`, and undone at the end. Only this shows whether each
    change can be certified, on which assumptions, and whether it can after the other changes.
    """
    anew = partial(Context, graph, style, dynamic, domain, no_ceil=no_ceil)
    barred = noted(graph)
    editor = Editor(anew(), strict=strict)
    found = _found(editor.context, [kind for kind in passes if not kind.rest], barred)
    if all(match.plan is None for _, match in found):
        found += _rest(editor.context, passes, found)
        return [match.finding for _, match in found]
    mark = graph.mark()
    while True:
        seen = _settle(editor, passes, anew, barred)
        version, context, at_last = graph.version, editor.context, seen
        fresh = _opening(editor, _shielded(editor, anew), barred) if editor.made else {}
        if graph.version != version:
            context, at_last = _seen_anew(anew(), passes, barred)
        rest = _rest(context, passes, at_last)
        graph.rollback(mark)
        if not fresh:
            break
        barred = {**barred, **fresh}
        editor = Editor(anew(), strict=strict)
        found = _found(editor.context, [kind for kind in passes if not kind.rest], barred)
    told_of = {id(match.about) for _, match in found if match.plan is None}
    left = [match.finding for _, match in rest if id(match.about) not in told_of]
    return [*_outlook(editor, found, seen), *left]


def rewrite(
    graph: Graph,
    style: str,
    *,
    dynamic: str = "keep",
    domain: SizeDomain | None = None,
    no_ceil: bool = False,
    strict: bool = False,
    probe: Probe | None = None,
    progress: Progress | None = None,
    passes: Passes = PASSES,
    barred: Barred = NOTHING,
    exposing: Exposing | None = None,
) -> Outcome:
    """Applies every pass, in place, until none finds anything more.

    Each change is certified, and probed if there is a probe, before the next one is looked for.

    Args:
        graph: The graph, which is edited.
        style: Where constant padding goes.
        dynamic: What becomes of padding that depends on an open size.
        domain: The sizes that the user allows; all without it.
        no_ceil: Whether pools with `ceil_mode` are written as pools that round down.
        strict: Whether a change whose certificate names an assumption is undone.
        probe: Runs each change; without it nothing runs.
        progress: Called with a step, the number of changes made, and how many there may be.
        passes: The passes.
        barred: Rewrites not to make, besides those that the model's metadata bars.
        exposing: Asks onnxruntime which `Pad`s its optimiser folds wrongly in the result.
    """
    anew = partial(Context, graph, style, dynamic, domain, no_ceil=no_ceil)
    barred = known = {**noted(graph), **barred}
    reports = [kind for kind in passes if not kind.rewrites and not kind.rest]
    mark = graph.mark()
    sizes: Mapping[str, Sizes] | None = None
    while True:
        editor = Editor(anew(), strict=strict, probe=probe)
        context = editor.context
        if sizes is None:
            sizes = context.domains[-1].domain.to_draw(graph)
        total = sum(1 for _ in context.windows()) + sum(1 for _ in context.pads())
        seen = _settle(editor, passes, anew, barred, partial(_report, progress, editor, total))
        fresh = {}
        version, context = graph.version, editor.context
        if editor.made or (domain is not None and domain.declared):
            fresh = _opening(editor, _shielded(editor, anew, exposing), barred)
        if not fresh:
            break
        graph.rollback(mark)
        barred = {**barred, **fresh}
    if graph.version != version:
        context, seen = _seen_anew(anew(), passes, barred)
    seen += _found(context, reports, barred)
    seen += _rest(context, passes, seen)
    return Outcome(
        changes=[made.change for made in editor.made],
        findings=[match.finding for place, match in seen if place not in editor.undone],
        undone=[_undone(each, "undone") for each in editor.undone.values()],
        sizes=sizes,
        made=list(editor.made),
        barred={key: why for key, why in barred.items() if key not in known},
    )


def _report(progress: Progress | None, editor: Editor, total: int) -> None:
    if progress is not None:
        progress("rewriting", len(editor.made), total)


def _shielded(
    editor: Editor, anew: Callable[[], Context], exposing: Exposing | None = None
) -> list[Exposed]:
    """Protects an edited graph from onnxruntime's PadFusion; returns the unprotected `Pad`s.

    The graph is analysed anew, as the next reader of the result will do, without the size limits of
    the original. The protections are proved like any other edit. If that fails, all are undone.
    """
    graph = editor.context.graph
    pads = any(node.op == "Pad" for node in graph.nodes)
    context, mark = anew() if pads else editor.context, graph.mark()
    left = shield(context, exposing)
    try:
        editor.check_guards(mark)
    except UncertifiedError:
        graph.rollback(mark)
        return context.sites.fusion.exposed()
    return left


def _opening(editor: Editor, left: Sequence[Exposed], barred: Barred) -> dict[Key, str]:
    """The changes to bar, since they expose `Pad`s that cannot be protected.

    Those that touch such a `Pad`; all changes, where none does.
    """
    if not left:
        return {}
    places = {
        tensor.name
        for each in left
        for node in (each.pad.node, each.window, *each.way)
        for tensor in node.outputs
    }
    made = [each for each in editor.made if each.key not in barred]
    guilty = [each for each in made if not places.isdisjoint(each.tensors)] or made
    return {each.key: LAYS_OPEN for each in guilty}


def _settle(
    editor: Editor,
    passes: Passes,
    anew: Callable[[], Context],
    barred: Barred,
    report: Callable[[], None] = lambda: None,
) -> list[Found]:
    """Applies passes until none finds anything to rewrite; returns their last findings."""
    while True:
        changes = len(editor.made)
        seen = _exhaust(editor, passes, barred, report)
        if len(editor.made) == changes or editor.context.is_final:
            return seen
        # The rewrites may have shown further limits of the feasible sizes.
        context = anew()
        if context.domains[-1].domain == editor.context.domains[-1].domain:
            return seen
        editor.take(context)


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

    while any(changed(stage) for stage in stages) or editor.reconsider():
        seen.clear()
    return seen


def _found(context: Context, passes: Passes, barred: Barred) -> list[Found]:
    return [(place_of(rule, match), match) for rule, match in _matches(context, passes, barred)]


def _seen_anew(context: Context, passes: Passes, barred: Barred) -> tuple[Context, list[Found]]:
    """The refusals of the rewriting passes in a graph that has been protected."""
    seen = _found(context, [kind for kind in passes if kind.rewrites], barred)
    return context, [(place, match) for place, match in seen if match.plan is None]


def _rest(context: Context, passes: Passes, seen: Sequence[Found]) -> list[Found]:
    """The findings of the passes that report padding about which no rewriting pass has one."""
    rewriting = {kind.code for kind in passes if kind.rewrites}
    told = (match.about for (code, *_), match in seen if code in rewriting)
    context.told = frozenset(map(id, told))
    return _found(context, [kind for kind in passes if kind.rest], NOTHING)


def _undone(undone: Undone, what: str) -> Finding:
    """The finding about a change that was taken back."""
    finding, why, code, facts = undone
    return replace(
        finding,
        severity=Severity.INFO,
        reason=f"{what}: {why}",
        evidence=MappingProxyType({**finding.evidence, **facts}),
        reason_code=code,
    )


def _outlook(editor: Editor, found: Sequence[Found], seen: Sequence[Found]) -> list[Finding]:
    """The first findings, each with its outcome after all rewrites were tried."""
    made: dict[Place, list[Made]] = {}
    for each in editor.made:
        made.setdefault(each.place, []).append(each)
    stays = {place: _undone(each, "fix would undo it") for place, each in editor.undone.items()}
    stays |= {place: match.finding for place, match in seen if match.plan is None}
    return [_told(match, made.get(place, ()), stays.get(place)) for place, match in found]


def _told(match: Match, made: Sequence[Made], stays: Finding | None) -> Finding:
    """The finding of a match, given the changes made there, and the last finding there."""
    if made:
        # A padding that was refused at first may have been rewritten after another change.
        finding = match.finding if match.plan is not None else made[0].finding
        taken = dict.fromkeys(a for each in made for a in each.change.certificate.assumptions)
        limits = dict.fromkeys(each.change.certificate.limited_to for each in made)
        return replace(finding, assumptions=tuple(taken), sizes="; ".join(filter(None, limits)))
    if match.plan is not None and stays is not None:
        return stays
    return match.finding  # it stays, or disappears with another rewrite


def _matches(context: Context, passes: Passes, barred: Barred) -> Iterator[tuple[Pass, Match]]:
    for kind in passes:
        rule = kind()
        for match in rule.find(context):
            reason = barred.get(key_of(rule, match)) if match.plan is not None else None
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
