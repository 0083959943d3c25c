"""The question that `explain` asks about a node of a model: its operator, sizes and windows."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from onnxpad.arguments import Dims, Shapes, Source
from onnxpad.arithmetic.size import Extent, Size, Unknown
from onnxpad.errors import UsageError
from onnxpad.facts import open_axes
from onnxpad.facts.recorded import given_domain, recorded_sizes
from onnxpad.frameworks.conventions.explanation import About
from onnxpad.frameworks.conventions.question import Question
from onnxpad.frameworks.fitting.case import answer_of
from onnxpad.frameworks.fitting.padded import Padded, total_of
from onnxpad.frameworks.reading import SiteReader
from onnxpad.frameworks.repadding.intents import op_of
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
    *,
    shapes: Shapes | None = None,
    dims: Dims | None = None,
) -> tuple[Question, About]:
    """The operator, sizes and windows of a node, and what the model has there.

    The node goes by its name, that of its first output, or its label in reports; the path of the
    model is empty for one in memory.

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
    if not site.windows:
        raise UsageError(f"node {label!r} has a kernel that is known only at run time")
    total = total_of(context, site) if site.written else None
    if not isinstance(total, Padded) or (site.front.pads and total.pads != numbers_of(site.total)):
        total = None  # a `Pad` further upstream pads its data, too
    data = site.sizes if total is None else total.sizes
    size_text = " x ".join("?" if isinstance(size, Unknown) else str(size) for size in data)
    without = ", without the Pad in front" if data != site.sizes else ""
    reads = f"node {label!r} has data of {size_text}{without}"
    sizes, padded = (_known(context, each, reads) for each in (data, site.sizes))
    question = Question(op, sizes, site.windows, grouped=node.attrs.get("group", 1) != 1)
    form = None if total is None else total.padding
    if isinstance(read, TransposedOp):
        behind, _ = Crops(context.graph, context.analysis, read).taking()
        form = behind.form if behind.taken else form
    own = None if form is None else answer_of(form, question)
    ceil_mode = site.written is not None and site.written.ceil
    return question, About(model, label, padded if padded != sizes else (), own, ceil_mode)


def _found(scopes: Sequence[Context], name: str) -> tuple[Context, WindowOp | TransposedOp]:
    """The operator with a window of that name, tensor or pattern, with its graph."""
    sites = chosen(sites_in(scopes), [name])
    slide = [each for each in sites if isinstance(each.op, WindowOp | TransposedOp)]
    slide = [each for each in slide if name in each.names + each.tensors] or slide
    if len(slide) > 1:
        labels = ", ".join(repr(each.node) for each in slide)
        raise UsageError(f"{len(slide)} nodes are called {name!r}; give one of {labels}")
    for site in slide:
        for context in scopes:
            if (
                isinstance(op := site.op, WindowOp | TransposedOp)
                and op.node in context.graph.nodes
            ):
                return context, op
    problem = f"cannot be read: {sites[0].problem}" if sites[0].problem else "has no window"
    raise UsageError(
        f"node {sites[0].node!r} ({sites[0].op_type}) {problem}; explain takes Conv, "
        "ConvTranspose, MaxPool, AveragePool and operators like them"
    )


def _known(context: Context, sizes: Sequence[Extent], reads: str) -> tuple[int, ...]:
    """The sizes, each of which has to be known.

    Raises:
        UsageError: A size is open; the message says what the node reads, as given, and has the
            options that fix all that are needed.
    """
    known = tuple(size for size in sizes if isinstance(size, int))
    if len(known) == len(sizes):
        return known
    symbols = {each.name for size in sizes if isinstance(size, Size) for each in size.symbols}
    inputs = open_axes(context.graph.model.main.inputs)
    names = list(dict.fromkeys(axis.label for axis in inputs if axis.symbol in symbols))
    if not names:
        raise UsageError(f"{reads}, sizes known only at run time; give op, size and kernel instead")
    options = " ".join(f"--dim {shlex.quote(f'{name}=224')}" for name in names)
    which = f"size{'s' * (len(names) > 1)} of {' and '.join(map(repr, names))}"
    raise UsageError(f"{reads}; give the {which} ({options})")
