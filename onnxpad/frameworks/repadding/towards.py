"""Rewrites the padding of a model into what a framework does for the same intent.

SAME at a fixed size is written as numbers, and sizes depend on the padding upstream. So all
operators are written and the sizes analysed anew, until nothing changes any more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from onnxpad.arithmetic.size import Extent
from onnxpad.errors import UsageError, meant
from onnxpad.frameworks.conventions.question import Op
from onnxpad.frameworks.conventions.table import AbsentError, Framework, Intent
from onnxpad.frameworks.fitting.case import case_of
from onnxpad.frameworks.reading import Site
from onnxpad.frameworks.repadding.intents import chosen, intent_of, op_of
from onnxpad.frameworks.repadding.results import Rewritten, Unchanged
from onnxpad.frameworks.repadding.sites import (
    PADDING,
    declare_anew,
    described,
    output_sizes,
    sites_of,
    write,
)
from onnxpad.graph import Graph
from onnxpad.padding.padding import Padding
from onnxpad.rewrite.pass_api import Context
from onnxpad.rewrite.scopes import contexts, original
from onnxpad.semantics.layers import Pairs, is_padded


class _Plan(Struct):
    """What becomes of an operator: its site, attributes and padding (in words) as they were.

    Of one that stays `why` says why, and `is_same` whether it computes the same in the framework.
    The intent of its padding is None where it stays in any case.
    """

    site: Site
    op: Op | None
    before: str
    attributes: Mapping[str, object]
    intent: Intent | None = None
    padding: Padding | None = None
    pads: Pairs = ()
    why: str = ""
    is_same: bool = False


def repad_graph(
    graph: Graph,
    framework: Framework,
    only: Collection[str] = (),
) -> tuple[tuple[Rewritten, ...], tuple[Unchanged, ...]]:
    """Writes the padding of a framework into a graph.

    Declared sizes that this may make wrong go. Without a change the graph stays as it is. Given are
    the operators that were rewritten (only some of all, if names are given), and those that stay.

    Raises:
        UsageError: A name in `only` is no window operator's.
    """
    main, *others = contexts(graph)
    sites, unvaried = sites_of(main)
    kept = [Unchanged(main.label(node), node.op, "", why) for node, why in unvaried]
    kept += [each for context in others for each in _not_covered(context)]
    labels = [*(site.label for site in sites), *(each.node for each in kept)]
    wanted = {*labels} if not only else {*_only(only, labels)}
    kept = [each for each in kept if each.node in wanted]
    plans = [_planned(main, site, framework) for site in sites if site.label in wanted]
    declared = output_sizes(graph)
    _write(graph, framework, [plan for plan in plans if plan.intent is not None])
    changed = [plan for plan in plans if plan.padding is not None]
    for plan in plans:
        if plan.padding is None:
            told = plan.site.label, plan.site.node.op, plan.before, plan.why, plan.is_same
            kept.append(Unchanged(*told))
    if changed:
        declare_anew(graph, [plan.site.node for plan in changed], declared)
    order = {label: place for place, label in enumerate(map(main.label, main.graph.nodes))}
    kept.sort(key=lambda each: order.get(each.node, len(order)))
    return tuple(map(_change, changed)), tuple(kept)


def _not_covered(context: Context) -> Iterator[Unchanged]:
    """The window operators of a body or function."""
    nodes = [op.node for op in context.windows()] + [op.node for op in context.transposed()]
    why = "it is in a body or function, which repad does not cover"
    yield from (Unchanged(context.label(node), node.op, "", why) for node in nodes)


def _only(names: Collection[str], labels: Sequence[str]) -> Iterator[str]:
    known = {*labels}
    for name in names:
        if name not in known:
            raise UsageError(
                f"the model has no window operator named {name!r} in its main graph"
                f"{meant(name, known)}"
            )
        yield name


def _planned(context: Context, site: Site, framework: Framework) -> _Plan:
    """An operator with the intent of its padding, or why that is not known."""
    op, before = op_of(site), described(site.padding, site.padding.pads or ())
    plan = _Plan(site, op, before, dict(site.node.attrs))
    if op is None:
        plan.why = f"no framework has a convention for {site.node.op}"
        return plan
    plan.why, plan.is_same = f"computes the same in {framework.title}", True
    is_own = False
    try:
        require_own(context, site)
        is_own = True
        plan.intent = intent_of(site)
    except AbsentError as error:
        case = case_of(op, site.windows, site.sizes, site.padding)
        if not (is_own and case.follows(framework.name)):
            plan.why, plan.is_same = str(error), False
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
    opset = graph.opset
    for _ in range(len(plans) + 1):
        sizes = {id(site.node): site.sizes for site in sites_of(Context(graph))[0]}
        there = [plan for plan in plans if id(plan.site.node) in sizes]  # others contradict it now
        moved = [_step(graph, framework, plan, sizes[id(plan.site.node)], opset) for plan in there]
        if not any(moved):
            return


def _step(
    graph: Graph, framework: Framework, plan: _Plan, sizes: Sequence[Extent], opset: int
) -> bool:
    """Writes the padding of one operator for these sizes of its data; whether it changed."""
    site = plan.site
    pairs = [*zip(site.sizes, sizes, strict=True)]
    if any(isinstance(was, int) and not isinstance(now, int) for was, now in pairs):
        return False  # the graph contradicts itself as long as others are not written
    here = tuple(now if isinstance(was, int) else was for was, now in pairs)
    assert plan.op is not None
    assert plan.intent is not None
    padding: Padding | None = None
    pads: Pairs = ()
    plan.why, plan.is_same = f"computes the same in {framework.title}", True
    try:
        padding = chosen(site, plan.op, framework, plan.intent, here, opset)
    except AbsentError as error:
        plan.why, plan.is_same = str(error), False
    known = tuple(size if isinstance(size, int) else 0 for size in here)
    if padding is not None and not (padding.is_same and known != here):
        pads = padding.amounts(known, site.windows)
    if (padding, pads) == (plan.padding, plan.pads):
        return False
    plan.padding, plan.pads = padding, pads
    if padding is None:
        absent = {name: None for name in PADDING if name not in plan.attributes}
        graph.set_attributes(site.node, {**plan.attributes, **absent})
    else:
        write(graph, site, padding, pads)
    return True


def _change(plan: _Plan) -> Rewritten:
    site, padding = plan.site, plan.padding
    assert padding is not None
    assert plan.intent is not None
    before, after = (
        {name: value for name, value in attributes.items() if name in PADDING}
        for attributes in (plan.attributes, site.node.attrs)
    )
    words = plan.before, described(padding, padding.pads or plan.pads)
    return Rewritten(site.label, site.node.op, plan.intent, *words, before, after)
