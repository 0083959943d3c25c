"""Runs the passes to a fixed point, for good or to see what would come of it."""

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
    """What a run of the passes did.

    Attributes:
        changes: Every rewrite made, in order.
        findings: What remains.
        undone: What could not be certified, or failed its probe.
        sizes: What the open sizes of the graph, as it came, are limited to, by name.
        made: The changes, with what bars each and what it is about.
        barred: What was barred underway, since it lays a `Pad` open that nothing can shield.
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
    strict: bool = False,
    passes: Passes = PASSES,
) -> list[Finding]:
    """Everything the passes find in a graph that comes out as it went in.

    What can be rewritten is rewritten as `rewrite` does it, and undone in the end: only so it is
    known whether each change can be certified, on what assumptions, and after the others too.
    """
    anew = partial(Context, graph, style, dynamic, domain)
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
    strict: bool = False,
    probe: Probe | None = None,
    progress: Progress | None = None,
    passes: Passes = PASSES,
    barred: Barred = NOTHING,
    exposing: Exposing | None = None,
) -> Outcome:
    """Applies every pass until none finds anything more, in place.

    Each change is certified, and probed where there is a probe, before the next is looked for.
    With `strict`, a change whose certificate names an assumption is undone too. What the model's
    metadata bars, and `barred`, is not made; `exposing` says what onnxruntime's optimiser gets
    wrong then, if it can be asked.
    """
    anew = partial(Context, graph, style, dynamic, domain)
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
    """Shields a graph that was edited; returns what cannot be.

    As who meets the result does: at sizes at which only the original was not defined, too. What
    shields is proved like any other edit; if it cannot be, nothing is shielded.
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
    """The changes to bar, since they lay open what nothing can shield: all, if none tells."""
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
    """Applies passes until none finds anything that can be done; what they find then."""
    while True:
        changes = len(editor.made)
        seen = _exhaust(editor, passes, barred, report)
        if len(editor.made) == changes or editor.context.is_final:
            return seen
        # What was rewritten may show more of the sizes at which the graph is defined.
        context = anew()
        if context.domains[-1].domain == editor.context.domains[-1].domain:
            return seen
        editor.take(context)


def _exhaust(
    editor: Editor, passes: Passes, barred: Barred, report: Callable[[], None]
) -> list[Found]:
    """Applies the passes that rewrite until they find nothing more to do; what they find then.

    What a late stage changes may be what an earlier one waited for, so it starts over.
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
    """What the passes that rewrite find in a graph that has been shielded, which they leave."""
    seen = _found(context, [kind for kind in passes if kind.rewrites], barred)
    return context, [(place, match) for place, match in seen if match.plan is None]


def _rest(context: Context, passes: Passes, seen: Sequence[Found]) -> list[Found]:
    """What no rule that rewrites tells of, in a graph in which these rules found no more to do."""
    rewriting = {kind.code for kind in passes if kind.rewrites}
    told = (match.about for (code, *_), match in seen if code in rewriting)
    context.told = frozenset(map(id, told))
    return _found(context, [kind for kind in passes if kind.rest], NOTHING)


def _undone(undone: Undone, what: str) -> Finding:
    """What to say of a change that was taken back."""
    finding, why, code, facts = undone
    return replace(
        finding,
        severity=Severity.INFO,
        reason=f"{what}: {why}",
        evidence=MappingProxyType({**finding.evidence, **facts}),
        reason_code=code,
    )


def _outlook(editor: Editor, found: Sequence[Found], seen: Sequence[Found]) -> list[Finding]:
    """What was found, each as it came out when all that can be rewritten was."""
    made: dict[Place, list[Made]] = {}
    for each in editor.made:
        made.setdefault(each.place, []).append(each)
    stays = {place: _undone(each, "fix would undo it") for place, each in editor.undone.items()}
    stays |= {place: match.finding for place, match in seen if match.plan is None}
    return [_told(match, made.get(place, ()), stays.get(place)) for place, match in found]


def _told(match: Match, made: Sequence[Made], stays: Finding | None) -> Finding:
    """What to say of a match, given the changes made of it, and what is found there at last."""
    if made:
        # What stays as long as others are there is rewritten all the same when they are not.
        finding = match.finding if match.plan is not None else made[0].finding
        taken = dict.fromkeys(a for each in made for a in each.change.certificate.assumptions)
        limits = dict.fromkeys(each.change.certificate.limited_to for each in made)
        return replace(finding, assumptions=tuple(taken), sizes="; ".join(filter(None, limits)))
    if match.plan is not None and stays is not None:
        return stays
    return match.finding  # it stays, or goes with something else that is rewritten


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
