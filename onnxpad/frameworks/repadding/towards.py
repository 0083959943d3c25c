"""Rewrites the padding of a model into what a framework does for the same intent.

SAME at a fixed size is written as numbers, and sizes depend on the padding upstream. So all
operators are written and the sizes analysed anew, until nothing changes any more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from onnxpad.arithmetic.size import Extent
from onnxpad.errors import UsageError, meant
from onnxpad.frameworks.conventions.table import AbsentError, Framework, Intent
from onnxpad.frameworks.fitting.case import case_of
from onnxpad.frameworks.reading import Site
from onnxpad.frameworks.repadding.intents import chosen, intent_of, op_of
from onnxpad.frameworks.repadding.results import Rewritten, Unchanged
from onnxpad.frameworks.repadding.sites import (
    PADDING,
    declare_anew,
    described,
    in_bodies,
    output_sizes,
    settled,
    sites_of,
    write,
)
from onnxpad.graph import Graph
from onnxpad.padding.padding import Padding
from onnxpad.rewrite.pass_api import Context
from onnxpad.rewrite.scopes import original
from onnxpad.semantics.layers import is_padded


class _Plan(Struct):
    """What becomes of an operator, with its attributes as they were.

    The intent is None where it stays in any case. The padding is None where it stays: `why` says
    why, and `is_same` whether it computes the same in the framework.
    """

    site: Site
    attributes: Mapping[str, object]
    intent: Intent | None = None
    padding: Padding | None = None
    why: str = ""
    is_same: bool = False

    @property
    def before(self) -> str:
        """Its padding before, in words."""
        return described(self.site.padding, (), self.site.windows)


def repad_graph(
    graph: Graph,
    framework: Framework,
    only: Collection[str] = (),
) -> tuple[tuple[Rewritten, ...], tuple[Unchanged, ...]]:
    """Writes the padding of a framework into a graph.

    Returns:
        The operators that were rewritten and those that stay, only those named, if any are.

    Raises:
        UsageError: A name in `only` is no window operator's.
    """
    context, why = Context(graph), "it is in a body or function, which repad does not cover"
    sites, unvaried = sites_of(context)
    kept = [Unchanged(context.label(node), node.op, "", reason) for node, reason in unvaried]
    kept += (Unchanged(label, op, "", why) for label, op in in_bodies(graph))
    labels = {*(site.label for site in sites), *(each.node for each in kept)}
    for name in only:
        if name not in labels:
            raise UsageError(
                f"the model has no window operator named {name!r} in its main graph"
                f"{meant(name, labels)}"
            )
    wanted = {*only} or labels
    plans = [_planned(context, site, framework) for site in sites if site.label in wanted]
    declared = output_sizes(graph)
    _write(graph, framework, [plan for plan in plans if plan.intent is not None])
    changed = [plan for plan in plans if plan.padding is not None]
    kept = [each for each in kept if each.node in wanted]
    for plan in plans:
        if plan.padding is None:
            told = plan.site.label, plan.site.node.op, plan.before, plan.why, plan.is_same
            kept.append(Unchanged(*told))
    if changed:
        declare_anew(graph, [plan.site.node for plan in changed], declared)
    order = {context.label(node): place for place, node in enumerate(graph.nodes)}
    kept.sort(key=lambda each: order.get(each.node, len(order)))
    return tuple(map(_change, changed)), tuple(kept)


def _planned(context: Context, site: Site, framework: Framework) -> _Plan:
    """An operator with the intent of its padding, or why that is not known."""
    plan, op, is_own = _Plan(site, dict(site.node.attrs)), op_of(site), False
    if op is None:
        plan.why = f"no framework has a convention for {site.node.op}"
        return plan
    try:
        require_own(context, site)
        is_own = True
        plan.intent = intent_of(site)
    except AbsentError as error:
        case = case_of(op, site.windows, site.sizes, site.padding)
        plan.is_same = is_own and case.follows(framework.name)
        plan.why = f"computes the same in {framework.title}" if plan.is_same else str(error)
    return plan


def require_own(context: Context, site: Site) -> None:
    """Raises unless an operator has its padding itself.

    Raises:
        AbsentError: The padding stays; the message says why.
    """
    front = site.front
    if front.amounts is None or is_padded(front.amounts):
        raise AbsentError("a Pad in front of it, which could not be folded, pads its data too")
    if site.padding.counted and not counted_at_first(context, site):
        raise AbsentError("it averages over a Pad of zeros, as it would in any framework")


def counted_at_first(context: Context, site: Site) -> bool:
    """Whether an average counted its padding before a `Pad` was folded into it."""
    first = original(context).graph
    output = site.node.outputs[0].name
    node = first.tensor(output).producer if output in first.tensors else None
    counts = site.row.counts
    return node is None or bool(counts and node.attrs.get(counts, 0))


def _write(graph: Graph, framework: Framework, plans: Sequence[_Plan]) -> None:
    """Writes paddings until none changes any more; each pass is right one operator further."""
    for _ in range(len(plans) + 1):
        sizes = {id(site.node): site.sizes for site in sites_of(Context(graph))[0]}
        there = [plan for plan in plans if id(plan.site.node) in sizes]  # others contradict it now
        moved = [_step(graph, framework, plan, sizes[id(plan.site.node)]) for plan in there]
        if not any(moved):
            return


def _step(graph: Graph, framework: Framework, plan: _Plan, sizes: Sequence[Extent]) -> bool:
    """Writes the padding of one operator for these sizes of its data; whether it changed."""
    site, op = plan.site, op_of(plan.site)
    pairs = [*zip(site.sizes, sizes, strict=True)]
    if any(isinstance(was, int) and not isinstance(now, int) for was, now in pairs):
        return False  # the graph contradicts itself as long as others are not written
    here = tuple(now if isinstance(was, int) else was for was, now in pairs)
    assert op is not None
    assert plan.intent is not None
    padding: Padding | None = None
    plan.why, plan.is_same = f"computes the same in {framework.title}", True
    try:
        padding = chosen(site, op, framework, plan.intent, here, graph.opset)
    except AbsentError as error:
        plan.why, plan.is_same = str(error), False
    if padding is not None:
        known = tuple(size if isinstance(size, int) else 0 for size in here)
        is_open = padding.is_same and known != here
        padding = padding if is_open else settled(site, padding, known, graph.opset)
    if padding == plan.padding:
        return False
    plan.padding = padding
    if padding is None:
        absent = {name: None for name in PADDING if name not in plan.attributes}
        graph.set_attributes(site.node, {**plan.attributes, **absent})
    else:
        write(graph, site, padding)
    return True


def _change(plan: _Plan) -> Rewritten:
    site, padding = plan.site, plan.padding
    assert padding is not None
    assert plan.intent is not None
    before, after = (
        {name: value for name, value in attributes.items() if name in PADDING}
        for attributes in (plan.attributes, site.node.attrs)
    )
    words = plan.before, described(padding, (), site.windows)
    return Rewritten(site.label, site.node.op, plan.intent, *words, before, after)
