"""The findings about a model as they come out once all rewrites were made and undone."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from onnxpad.finding import Change, Finding
from onnxpad.graph import Graph
from onnxpad.messages import and_list
from onnxpad.pipeline.transaction import Made, Place, Undone, taken_back
from onnxpad.reasons import Reason
from onnxpad.rewrite.context import Context
from onnxpad.rewrite.pass_api import Match

Found: TypeAlias = tuple[Place, Match]


def outlook(
    graphs: Sequence[Context],
    changes: Sequence[Made],
    undone: Mapping[Place, Undone],
    found: Sequence[Found],
    last: Sequence[Match],
    rewriting: Container[str],
) -> list[Finding]:
    """The findings about a model, each with its outcome after all rewrites were made and undone.

    A padding that is refused at first may be rewritten after another change, by this rule or by
    another one, or stay for another reason. So what changes is what the first look finds, and what
    stays is what the last one finds in a node of the model, as in the report of `fix`.

    Args:
        graphs: The graphs, as they are without the changes.
        changes: The changes made.
        undone: Those that were taken back.
        found: What was found before all changes.
        last: What was found after them, without what was taken back.
        rewriting: The codes of the passes that rewrite; the others are about the model as it is.
    """
    nodes = [(each, node) for each in graphs for node in each.graph.nodes]
    holding = {id(node): each.graph for each, node in nodes}
    named = {each.label(node): node for each, node in nodes}
    made: dict[Place, list[Made]] = {}
    for each in changes:
        made.setdefault(each.place, []).append(each)
    waiting = dict(undone)
    stays: dict[int, list[Finding]] = {}

    def about(match: Match) -> int:
        return id(match.about) if id(match.about) in holding else id(named.get(match.finding.node))

    for match in last:
        node, finding = about(match), match.finding
        if node not in holding and not finding.asked:  # a node that changes wrote for another one
            finding = _about_original(match, changes, named)
            node = id(named.get(finding.node))
        if node in holding:
            stays.setdefault(node, []).append(finding)
    left = {node: tuple(findings) for node, findings in stays.items()}
    rewritten: dict[int, int] = {}
    for place, match in found:
        for each in made.get(place, ()):
            node, rank = about(match), each.finding.severity.rank
            rewritten[node] = max(rewritten.get(node, rank), rank)
    changing = {about(match) for place, match in found if place in made or match.plan is not None}
    replacing: dict[str, list[Made]] = {}
    for each in changes:
        for name in each.tensors:
            replacing.setdefault(name, []).append(each)
    done = set[Place]()
    findings_left: list[Finding] = []
    for place, match in found:
        node = about(match)
        if place in made:
            findings_left += [_changed(match, made[place], replacing)] if place not in done else []
            done.add(place)
        elif place in waiting:
            findings_left.append(taken_back(waiting.pop(place), "fix would undo it"))
        elif match.finding.code not in rewriting or node not in holding:
            findings_left.append(match.finding)
        elif node in stays:
            pass
        elif match.plan is not None:
            # It disappears with another rewrite, which may be of the same node and as severe.
            is_told = rewritten.get(node, -1) >= match.finding.severity.rank
            findings_left += [] if is_told else [match.finding]
        elif node not in changing:
            findings_left += _changed_by_another(match, holding[node], changes)
        findings_left += left.pop(node, ())
    findings_left += (taken_back(each, "fix would undo it") for each in waiting.values())
    return [*findings_left, *(each for findings in left.values() for each in findings)]


def _about_original(match: Match, made: Sequence[Made], named: Container[str]) -> Finding:
    """A finding about a node that changes wrote, about the node of the original instead."""
    about = match.finding
    for each in reversed(made):
        if about.node not in named and about.node in each.wrote:
            about = each.finding
    return _elsewhere(match.finding, about)


def _elsewhere(finding: Finding, about: Finding) -> Finding:
    """A finding at the place of another one."""
    return replace(finding, node=about.node, op_type=about.op_type, location=about.location)


def _changed(
    match: Match, made: Sequence[Made], replacing: Mapping[str, Sequence[Made]]
) -> Finding:
    """The finding of a match.

    Args:
        match: The match.
        made: The changes made there.
        replacing: The changes that replaced a tensor, in order, by its name.
    """
    # A padding that was refused at first may have been rewritten after another change.
    finding = match.finding if match.plan is not None else made[0].finding
    taken = dict.fromkeys(a for each in made for a in each.change.certificate.assumptions)
    limits = dict.fromkeys(each.change.certificate.limited_to for each in made)
    message, alike = finding.message, finding.alike
    if takers := _takers(made, replacing):
        names = and_list(dict.fromkeys(f"{each.op_type} {each.node!r}" for each in takers))
        ops = and_list(dict.fromkeys(each.op_type for each in takers))
        message += f"; then the pads of {names} take it"
        alike += f"; then the pads of {ops} take it" if alike else ""
    limited = "; ".join(filter(None, limits))
    return replace(finding, message=message, alike=alike, assumptions=tuple(taken), sizes=limited)


def _takers(made: Sequence[Made], replacing: Mapping[str, Sequence[Made]]) -> list[Change]:
    """The changes by which operators take over the `Pad`s that some changes wrote."""
    pending, seen = [*made], {id(each) for each in made}
    found: list[Change] = []
    for each in pending:  # which grows
        kinds = _kinds(each)
        if not each.wrote or kinds[-1:] != ["pad"] or kinds.count("pad") > 1:  # a part may stay
            continue
        for by in (by for name in sorted(each.tensors) for by in replacing.get(name, ())):
            if id(by) not in seen:
                seen.add(id(by))
                pending.append(by)
                found += [by.change] if _kinds(by)[-1:] == ["window"] else []
    return found


def _kinds(made: Made) -> list[str]:
    """The kinds of the nodes of a padding as a change wrote it; none where a pass does not say."""
    return [step.kind for step in made.change.now.steps]


def _changed_by_another(match: Match, graph: Graph, made: Sequence[Made]) -> list[Finding]:
    """The finding of what was refused at first, and went with a change made elsewhere.

    There is none of a code that is not chosen: the change is told where it is made.
    """
    node = match.about or match.node
    tensors = {graph.unique(tensor.name) for tensor in node.outputs if tensor.name}

    def took(each: Made) -> bool:
        return match.finding.node in each.change.removed or not tensors.isdisjoint(each.tensors)

    by = next(filter(took, made), None)
    if by is None:
        return [match.finding]
    if (was := match.finding).reason_code == Reason.NOT_CHOSEN:
        return []
    finding = _elsewhere(_changed(match, [by], {}), was)
    return [replace(finding, message=was.message, alike=was.alike)]
