"""The question that `explain` asks about a node of a model: its operator, sizes and windows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, cycle

from onnxpad.arguments import Dims, Shapes, Source
from onnxpad.arithmetic.size import Unknown
from onnxpad.errors import UsageError
from onnxpad.facts.recorded import given_domain, recorded_sizes
from onnxpad.finding import as_options, examples
from onnxpad.frameworks.conventions.explanation import About
from onnxpad.frameworks.conventions.question import Question
from onnxpad.frameworks.fitting.case import answer_of
from onnxpad.frameworks.fitting.padded import Padded, total_of
from onnxpad.frameworks.reading import SiteReader
from onnxpad.frameworks.repadding.towards import op_of
from onnxpad.graph import Graph
from onnxpad.inventory import chosen, sites_in
from onnxpad.padding.crops import Crops
from onnxpad.rewrite.pass_api import Context
from onnxpad.rewrite.scopes import contexts
from onnxpad.semantics.layers import numbers_of
from onnxpad.semantics.operators import TransposedOp, WindowOp


def node_question(
    source: Source,
    model: str,
    name: str,
    shapes: Shapes | None = None,
    dims: Dims | None = None,
    size: tuple[int, ...] = (),
) -> tuple[Question, About]:
    """The operator, sizes and windows of a node, and what the model has there.

    The node goes by its name, that of its first output, or its label in reports; the path of the
    model is empty for one in memory. `size` is for the error if sizes are open: what to give.

    Raises:
        UsageError: There is no such node, it has no window, or its sizes are open.
        ModelError: The model cannot be read.
    """
    graph = Graph.read(source)
    domain = given_domain(graph, shapes, dims, recorded=recorded_sizes(graph))
    context, read = _found(contexts(graph, domain=domain), name)
    node, label = read.node, context.label(read.node)
    site = SiteReader(context.graph, context.analysis).of(read)
    op = op_of(site)
    if op is None:
        raise UsageError(f"node {label!r} is a {node.op}, for which no conventions are known")
    total = total_of(context, site) if site.written else None
    if not isinstance(total, Padded) or (site.front.pads and total.pads != numbers_of(site.total)):
        total = None  # a `Pad` further upstream pads its data, too
    data = site.sizes if total is None else total.sizes
    sizes, padded = (tuple(s for s in each if isinstance(s, int)) for each in (data, site.sizes))
    if len(sizes) < len(data) or len(padded) < len(data):
        told = " x ".join("?" if isinstance(each, Unknown) else str(each) for each in data)
        told += ", before the Pad in front" * (data != site.sizes)
        told += f" ({domain})" * bool(domain.given)
        named = examples(context.sites.wording.places(data) or context.sites.wording.places())
        limits = ((dim, each.last) for dim, each in domain.given.items())
        pairs = chain(limits, zip(map(str, data), cycle(size), strict=False))
        named |= {dim: str(number) for dim, number in pairs if dim in named}
        line = f"{'instead of --size ' * bool(size)}give {as_options(named)}, or your sizes"
        line = line if named else "give --op, --size and --kernel instead of the node"
        raise UsageError(f"node {label!r} has data of {told}; {line}")
    question = Question(op, sizes, site.windows, grouped=node.attrs.get("group", 1) != 1)
    form = None if total is None else total.case.padding
    if isinstance(read, TransposedOp):
        behind, _ = Crops(context.graph, context.analysis, read).taking()
        form = behind.form if behind.taken else form
    own = None if form is None else answer_of(form, question)
    ceil_mode = site.written is not None and site.written.ceil
    return question, About(model, label, padded if padded != sizes else (), own, ceil_mode)


def _found(scopes: Sequence[Context], name: str) -> tuple[Context, WindowOp | TransposedOp]:
    sites = chosen(sites_in(scopes), [name])
    found = [(each, each.op) for each in sites if isinstance(each.op, WindowOp | TransposedOp)]
    found = [pair for pair in found if name in pair[0].names + pair[0].tensors] or found
    if len(found) > 1:
        labels = ", ".join(repr(each.node) for each, _ in found)
        raise UsageError(f"{len(found)} nodes fit {name!r}; give one of {labels}")
    if found:
        op = found[0][1]
        return next(each for each in scopes if op.node in each.graph.nodes), op
    problem = f"cannot be read: {sites[0].problem}" if sites[0].problem else "has no window"
    told = f"node {sites[0].node!r} ({sites[0].op_type}) {problem}"
    raise UsageError(f"{told}; explain takes convolutions and pools")
