"""Rewrites the padding of a model into what a framework does for the same intent.

SAME at a fixed size is written as numbers, and sizes depend on the padding upstream. So operators
are written in file order, and the sizes of the data of each are those that the graph has by then.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from onnxpad.arithmetic.size import Extent
from onnxpad.errors import UsageError, meant
from onnxpad.facts import Analysis
from onnxpad.frameworks.conventions.table import AbsentError, Framework, Intent
from onnxpad.frameworks.fitting.case import case_of
from onnxpad.frameworks.reading import Site
from onnxpad.frameworks.repadding import sites
from onnxpad.frameworks.repadding.intents import answers_of, chosen, intent_of, op_of
from onnxpad.frameworks.repadding.results import Rewritten, Unchanged
from onnxpad.graph import Graph
from onnxpad.padding.padding import Padding
from onnxpad.rewrite.pass_api import Context
from onnxpad.rewrite.scopes import original
from onnxpad.semantics.layers import is_padded


def repad_graph(
    graph: Graph, framework: Framework, only: Collection[str] = ()
) -> tuple[tuple[Rewritten, ...], tuple[Unchanged, ...]]:
    """Writes the padding of a framework into a graph.

    Returns:
        The operators that were rewritten and those that stay, only those named, if any are.

    Raises:
        UsageError: A name in `only` is no window operator's.
    """
    context, why = Context(graph), "it is in a body or function, which repad does not cover"
    every, unvaried = sites.sites_of(context)
    kept = [Unchanged(context.label(node), node.op, "", reason) for node, reason in unvaried]
    kept += (Unchanged(label, op, "", why) for label, op in sites.in_bodies(graph))
    labels = {*(site.label for site in every), *(each.node for each in kept)}
    for name in only:
        if name not in labels:
            raise UsageError(
                f"the model has no window operator named {name!r} in its main graph"
                f"{meant(name, labels)}"
            )
    wanted = {*only} or labels
    kept = [each for each in kept if each.node in wanted]
    changed, analysis = list[Rewritten](), context.analysis
    with sites.redeclared(graph) as nodes:
        for site in (site for site in every if site.label in wanted):
            before, told = sites.described(site.padding, (), site.windows), dict(site.node.attrs)
            sizes = _sizes_now(site, analysis)
            try:
                found = _repadded(context, site, framework, sizes)
            except AbsentError as error:
                kept.append(Unchanged(site.label, site.node.op, before, str(error)))
                continue
            if found is None:
                same = f"computes the same in {framework.title}"
                kept.append(Unchanged(site.label, site.node.op, before, same, is_same=True))
                continue
            intent, padding = found
            sites.write(graph, site, padding)
            nodes.append(site.node)
            analysis = Context(graph).analysis
            was, now = (
                {k: v for k, v in e.items() if k in sites.PADDING} for e in (told, site.node.attrs)
            )
            after = sites.described(padding, (), site.windows)
            answers = answers_of(site, sizes, site.padding, padding)
            said = site.label, site.node.op, intent, before, after, was, now, answers
            changed.append(Rewritten(*said))
    return tuple(changed), tuple(kept)


def _sizes_now(site: Site, analysis: Analysis) -> tuple[Extent, ...]:
    """The spatial sizes of the data of an operator now; those that are open stay as they were."""
    shape = analysis.shape(site.op.data)
    if shape is None or len(shape) != site.rank:
        return site.sizes
    pairs = zip(site.sizes, (shape[axis] for axis in site.axes), strict=True)
    return tuple(n if isinstance(w, int) and isinstance(n, int) else w for w, n in pairs)


def _repadded(
    context: Context, site: Site, framework: Framework, sizes: Sequence[Extent]
) -> tuple[Intent, Padding] | None:
    """The intent of an operator, and its padding in a framework; None if it is that already.

    Raises:
        AbsentError: The padding stays; the message says why.
    """
    op, opset, front = op_of(site), context.graph.opset, site.front
    if op is None:
        raise AbsentError(f"no framework has a convention for {site.node.op}")
    if front.amounts is None or is_padded(front.amounts):
        raise AbsentError("a Pad in front of it, which could not be folded, pads its data too")
    if site.padding.counted and not counted_at_first(context, site):
        raise AbsentError("it averages over a Pad of zeros, as it would in any framework")
    if case_of(op, site.windows, sizes, site.padding).follows(framework.name):
        return None
    intent, known = intent_of(site, op), tuple(n if isinstance(n, int) else 0 for n in sizes)
    padding = chosen(site, op, framework, intent, sizes, opset)
    is_open = padding.is_same and known != sizes
    return intent, padding if is_open else sites.settled(site, padding, known, opset)


def counted_at_first(context: Context, site: Site) -> bool:
    """Whether an average counted its padding before a `Pad` was folded into it."""
    first = original(context).graph
    output = site.node.outputs[0].name
    node = first.tensor(output).producer if output in first.tensors else None
    counts = site.row.counts
    return node is None or bool(counts and node.attrs.get(counts, 0))
