"""Runs the passes to a fixed point, for good or to see what would come of it.

May import: admitted, editor, finding, graph, passes, premises, rule, shield.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from onnxpad.admitted import Admitted
from onnxpad.editor import Editor, Made, Place, Prober, Undone, place_of
from onnxpad.finding import Change, Finding, Severity
from onnxpad.graph import Graph
from onnxpad.passes import PASSES
from onnxpad.premises import ranges
from onnxpad.rule import Context, Match, Pass
from onnxpad.shield import shield

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
    """

    changes: list[Change] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    undone: list[Finding] = field(default_factory=list)
    sizes: Mapping[str, range] = field(default_factory=dict)


def find(
    graph: Graph,
    style: str,
    *,
    dynamic: str = "keep",
    admitted: Admitted | None = None,
    strict: bool = False,
    passes: Passes = PASSES,
) -> list[Finding]:
    """Everything the passes find in a graph that comes out as it went in.

    What can be rewritten is rewritten as `rewrite` does it, and undone in the end: only so it is
    known whether each change can be certified, on what assumptions, and after the others too.
    """
    anew = partial(Context, graph, style, dynamic, admitted)
    editor = Editor(anew(), strict=strict)
    found = _found(editor.context, [kind for kind in passes if not kind.rest])
    if all(match.plan is None for _, match in found):
        found += _rest(editor.context, passes, found)
        return [match.finding for _, match in found]
    mark = graph.mark()
    seen = _settle(editor, passes, anew)
    rest = _rest(editor.context, passes, seen)
    graph.rollback(mark)
    told = {id(match.about) for _, match in found if match.plan is None}
    left = [match.finding for _, match in rest if id(match.about) not in told]
    return [*_outlook(editor, found, seen), *left]


def rewrite(
    graph: Graph,
    style: str,
    *,
    dynamic: str = "keep",
    admitted: Admitted | None = None,
    strict: bool = False,
    prober: Prober | None = None,
    progress: Progress | None = None,
    passes: Passes = PASSES,
) -> Outcome:
    """Applies every pass until none finds anything more, in place.

    Each change is certified, and probed where there is a prober, before the next is looked for.
    With `strict`, a change whose certificate names an assumption is undone too.
    """
    anew = partial(Context, graph, style, dynamic, admitted)
    editor = Editor(anew(), strict=strict, prober=prober)
    context = editor.context
    given = admitted.dims if admitted is not None else {}
    sizes = ranges(graph, context.premises[-1], given)
    total = sum(1 for _ in context.windows()) + sum(1 for _ in context.pads())

    def report() -> None:
        if progress is not None:
            progress("rewriting", len(editor.made), total)

    seen = _settle(editor, passes, anew, report)
    reports = [kind for kind in passes if not kind.rewrites and not kind.rest]
    seen += [*_found(editor.context, reports), *_rest(editor.context, passes, seen)]
    if editor.made:
        shield(editor.context)
    return Outcome(
        changes=[made.change for made in editor.made],
        findings=[match.finding for place, match in seen if place not in editor.undone],
        undone=[_undone(each, "undone") for each in editor.undone.values()],
        sizes=sizes,
    )


def _settle(
    editor: Editor,
    passes: Passes,
    anew: Callable[[], Context],
    report: Callable[[], None] = lambda: None,
) -> list[Found]:
    """Applies passes until none finds anything that can be done; what they find then."""
    while True:
        changes = len(editor.made)
        seen = _exhaust(editor, passes, report)
        if len(editor.made) == changes or editor.context.is_final:
            return seen
        # What was rewritten may show more of the sizes at which the graph is defined.
        context = anew()
        if context.premises[-1].dims == editor.context.premises[-1].dims:
            return seen
        editor.take(context)


def _exhaust(editor: Editor, passes: Passes, report: Callable[[], None]) -> list[Found]:
    """Applies the passes that rewrite until they find nothing more to do; what they find then.

    What a late stage changes may be what an earlier one waited for, so it starts over.
    """
    seen: list[Found] = []
    rewriting = [kind for kind in passes if kind.rewrites]
    stages = [[kind for kind in rewriting if kind.last is last] for last in (False, True)]

    def changed(stage: Passes) -> bool:
        changes = len(editor.made)
        editor.context.ask_again()
        for rule, match in _matches(editor.context, stage):
            seen.append((place_of(rule, match), match))
            if match.plan is not None:
                editor.apply(rule, match)
                report()
        return len(editor.made) != changes

    while any(changed(stage) for stage in stages) or editor.reconsider():
        seen.clear()
    return seen


def _found(context: Context, passes: Passes) -> list[Found]:
    return [(place_of(rule, match), match) for rule, match in _matches(context, passes)]


def _rest(context: Context, passes: Passes, seen: Sequence[Found]) -> list[Found]:
    """What no rule that rewrites tells of, in a graph in which these rules found no more to do."""
    rewriting = {kind.code for kind in passes if kind.rewrites}
    told = (match.about for (code, *_), match in seen if code in rewriting)
    context.told = frozenset(map(id, told))
    return _found(context, [kind for kind in passes if kind.rest])


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


def _matches(context: Context, passes: Passes) -> Iterator[tuple[Pass, Match]]:
    for kind in passes:
        rule = kind()
        for match in rule.find(context):
            yield rule, match
