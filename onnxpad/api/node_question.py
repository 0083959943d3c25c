"""The question that `explain` asks about a node of a model: its operator, sizes and windows."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace

from onnxpad.arguments import Dims, Shapes, Source
from onnxpad.arithmetic.size import Extent, Size, Unknown
from onnxpad.errors import UsageError, few, meant
from onnxpad.facts import open_axes
from onnxpad.facts.recorded import given_domain, recorded_sizes
from onnxpad.frameworks.conventions.explanation import About
from onnxpad.frameworks.conventions.question import Answer, Op, Question
from onnxpad.frameworks.fitting.case import answer_of
from onnxpad.frameworks.fitting.padded import takes_nearest
from onnxpad.frameworks.reading import Site, SiteReader
from onnxpad.graph import Graph, Node, describe
from onnxpad.padding.crops import Crops
from onnxpad.rewrite.pass_api import Context
from onnxpad.rewrite.scopes import contexts
from onnxpad.semantics.layers import numbers_of
from onnxpad.semantics.operators import PadOp, TransposedOp, WindowOp, operator_of
from onnxpad.semantics.rows import UnreadError


def node_question(
    source: Source,
    model: str,
    name: str,
    *,
    shapes: Shapes | None = None,
    dims: Dims | None = None,
) -> tuple[Question, About]:
    """The operator, sizes and windows of a node, and what the model has there.

    Args:
        source: The model.
        model: Its path, as given; empty for one in memory.
        name: Name of the node, or of its first output, or its label in reports.
        shapes: Sizes of inputs.
        dims: Sizes of dimensions.

    Raises:
        UsageError: There is no such node, it has no window, or its sizes are open.
        ModelError: The model cannot be read.
    """
    graph = Graph.read(source)
    domain = given_domain(graph, shapes, dims, recorded=recorded_sizes(graph))
    context, node = _found(contexts(graph, domain=domain), name)
    read, label = context.read(node), context.label(node)
    if read is None or isinstance(read, PadOp):
        raise UsageError(
            f"node {label!r} is a {node.op}, which has no window; explain takes Conv, "
            "ConvTranspose, MaxPool, AveragePool and operators like them"
        )
    if isinstance(read, UnreadError):
        raise UsageError(f"node {label!r} ({node.op}) cannot be read: {read}")
    site = SiteReader(context.graph, context.analysis).of(read)
    windows, found = site.windows, site.sizes
    if len(windows) != len(read.windows):
        raise UsageError(f"node {label!r} has a kernel that is known only at run time")
    data = found if isinstance(read, TransposedOp) else _unpadded(site, found)
    size_text = " x ".join(map(_text, data))
    reads = f"node {label!r} reads {read.data.name!r} of {size_text}"
    if data != found:
        reads = f"node {label!r} has data of {size_text}, without the Pads in front"
    sizes, padded = (_known(context, each, reads) for each in (data, found))
    grouped = node.attrs.get("group", 1) != 1
    question = Question(_op(read, label), sizes, windows, grouped=grouped)
    own = _own(context, site, question)
    padded = padded if padded != sizes else ()
    ceil_mode = site.written is not None and site.written.ceil
    return question, About(model, label, padded, own, ceil_mode)


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
    is_alike = site.fills_as_own or (len(site.front.pads) == 1 and takes_nearest(context, site))
    if site.written is None or not is_alike:
        return None
    padding = site.whole if question.sizes == site.source_sizes else None
    if padding is None and question.sizes == site.sizes:
        pads = numbers_of(site.own)
        padding = site.padding if site.is_transposed else replace(site.padding, pads=pads)
        padding = None if pads is None else padding
    return None if padding is None else answer_of(padding, question)


def _found(scopes: Sequence[Context], name: str) -> tuple[Context, Node]:
    """The node of that name or pattern, with its graph; one with a window if several have it."""
    every = [(context, node) for context in scopes for node in context.graph.nodes]
    found = [(context, node) for context, node in every if name in _names(context, node)]
    slides = [(context, node) for context, node in every if operator_of(context.graph, node)]
    if not found:
        glob = name.replace("[", "[[]")
        found = [each for each in slides if any(fnmatchcase(n, glob) for n in _names(*each))]
    if len(found) > 1:
        found = [each for each in found if each in slides] or found[:1]
    if len(found) > 1:
        labels = ", ".join(repr(context.label(node)) for context, node in found)
        raise UsageError(f"{len(found)} nodes are called {name!r}; give one of {labels}")
    if found:
        return found[0]
    if not slides:
        raise UsageError(f"there is no node {name!r}, nor any with a window that explain knows")
    known = [each for context, node in slides for each in _names(context, node)]
    near = meant(name, known) or f"; nodes with a window: {few(map(repr, known), 3)}"
    raise UsageError(f"there is no node {name!r}{near}")


def _names(context: Context, node: Node) -> Iterator[str]:
    """The names that a node goes by."""
    yield describe(node)
    if (label := context.label(node)) != describe(node):
        yield label
    if not node.name:
        yield from (tensor.name for tensor in node.outputs[:1] if tensor.name)


def _op(read: WindowOp | TransposedOp, label: str) -> Op:
    """The operator that conventions are known for."""
    if isinstance(read, TransposedOp):
        return "convtranspose"
    row = read.operator
    if "p" in row.row.attributes:
        raise UsageError(f"node {label!r} is a {row.op_type}, for which no conventions are known")
    if not row.pools:
        return "conv"
    return "avgpool" if row.counts is not None else "maxpool"


def _known(context: Context, sizes: Sequence[Extent], reads: str) -> tuple[int, ...]:
    """The sizes, each of which has to be known.

    Args:
        context: The graph of the node.
        sizes: The sizes asked for.
        reads: What the node reads, in words for a message.

    Raises:
        UsageError: A size is open; the message has the options that fix all that are needed.
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


def _are_open(sizes: Sequence[Extent]) -> bool:
    return any(not isinstance(each, int) for each in sizes)


def _text(size: Extent) -> str:
    return str(size) if isinstance(size, int | Size) else "?"


def _unpadded(site: Site, padded: tuple[Extent, ...]) -> tuple[Extent, ...]:
    """Sizes without what `Pad`s in front of a node add; the same where that is not known."""
    amounts = [amount for pair in site.front.amounts or () for amount in pair]
    if not amounts or any(isinstance(each, int) and each < 0 for each in amounts):
        return padded
    sizes = site.source_sizes
    lost = any(isinstance(each, Unknown) for each in sizes)
    if lost or (_are_open(sizes) and not _are_open(padded)):
        return padded
    return padded if any(isinstance(each, int) and each <= 0 for each in sizes) else sizes
