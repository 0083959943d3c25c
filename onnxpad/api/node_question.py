"""The question that `explain` asks about a node of a model: its operator, sizes and windows."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from msgspec.structs import replace

from onnxpad.arguments import Dims, Shapes, Source
from onnxpad.arithmetic.size import Extent, Size, Unknown
from onnxpad.errors import UsageError
from onnxpad.facts import open_axes
from onnxpad.facts.recorded import given_domain, recorded_sizes
from onnxpad.frameworks.conventions.explanation import About
from onnxpad.frameworks.conventions.question import Answer, Question
from onnxpad.frameworks.fitting.case import answer_of
from onnxpad.frameworks.fitting.padded import takes_nearest
from onnxpad.frameworks.reading import Site, SiteReader
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
    op, data = op_of(site), site.sizes if site.is_transposed else _unpadded(site)
    if op is None:
        raise UsageError(f"node {label!r} is a {node.op}, for which no conventions are known")
    if not site.windows:
        raise UsageError(f"node {label!r} has a kernel that is known only at run time")
    size_text = " x ".join("?" if isinstance(size, Unknown) else str(size) for size in data)
    without = ", without the Pads in front" if data != site.sizes else ""
    reads = f"node {label!r} has data of {size_text}{without}"
    sizes, padded = (_known(context, each, reads) for each in (data, site.sizes))
    question = Question(op, sizes, site.windows, grouped=node.attrs.get("group", 1) != 1)
    own = _own(context, site, question)
    ceil_mode = site.written is not None and site.written.ceil
    return question, About(model, label, padded if padded != sizes else (), own, ceil_mode)


def _own(context: Context, site: Site, question: Question) -> Answer | None:
    """The padding that a node has in the model, that of `Pad`s in front included.

    An average over a `Pad` divides by what that adds, too; a transposed convolution crops what
    Slices and `Pad`s behind it crop, too. None where it is not known, or a `Pad` writes something
    else than the node's own padding stands for.
    """
    if isinstance(site.op, TransposedOp):
        behind, _ = Crops(context.graph, context.analysis, site.op).taking()
        if behind.taken:
            return answer_of(behind.form, question)
    is_alike = site.fills_as_own or (len(site.front.pads) == 1 and takes_nearest(context, site.op))
    if site.written is None or not is_alike:
        return None
    padding = site.whole if question.sizes == site.source_sizes else None
    if padding is None and question.sizes == site.sizes and (pads := numbers_of(site.own)):
        padding = site.padding if site.is_transposed else replace(site.padding, pads=pads)
    return None if padding is None else answer_of(padding, question)


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


def _unpadded(site: Site) -> tuple[Extent, ...]:
    """Sizes without what `Pad`s in front of a node add; with them where that is not known."""
    amounts = [amount for pair in site.front.amounts or () for amount in pair]
    crops = any(isinstance(each, int) and each < 0 for each in amounts)
    kinds, padded = [*map(type, site.source_sizes)], [*map(type, site.sizes)]
    is_lost = Unknown in kinds or ({*kinds} != {int} and {*padded} == {int})
    is_empty = any(isinstance(each, int) and each <= 0 for each in site.source_sizes)
    return site.source_sizes if amounts and not (crops or is_lost or is_empty) else site.sizes
