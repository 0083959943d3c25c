"""Keeps onnxruntime's optimiser from changing what a rewritten model computes.

An exact rewrite can expose a `Pad` to PadFusion (see `pad_fusion`): it may drop the `auto_pad`
downstream, make the amounts constant, or remove one of two readers. An empty third input of the
`Pad` means the same as an absent one, and PadFusion leaves such a `Pad` alone. Before opset 11, and
where onnxruntime may drop the empty input, `auto_pad=VALID` on an operator without pads of its own
does the same. Where neither is possible, the rewrite must not be made; nor must one that joins
operators that would be fused wrongly (see `neighbours`), which nothing protects.

The optimiser gets two more things wrong. It believes declared shapes, which no runtime enforces:
it folds Shape to them, for example, where amounts are computed. And where it moves a Transpose past
a `Pad` with `axes`, it does not permute these.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import chain

import numpy as np
import onnx

from onnxpad.arithmetic.size import Extent, Size, Unknown
from onnxpad.errors import ModelError
from onnxpad.file.proto_walk import MOST_NODES, unfolded
from onnxpad.graph import Graph, Node, Tensor, nodes_upstream, upstream
from onnxpad.padding.padding import readers_of
from onnxpad.rewrite.pass_api import Context
from onnxpad.rewrite.scopes import original
from onnxpad.runtimes.onnxruntime.hidden_shapes import hides
from onnxpad.runtimes.onnxruntime.neighbours import MEETING, Neighbours
from onnxpad.runtimes.onnxruntime.pad_fusion import Claim, Exposed, lies
from onnxpad.semantics.layers import is_padded, is_plain_zero, onnx_order

_VALUE, _AXES = 2, 3


def shield(context: Context) -> list[Exposed]:
    """Protects the `Pad`s that edits may have exposed to PadFusion; returns those it cannot."""
    _name_all_axes(context)
    _correct_claims(context)
    left = []
    for exposed in _unlike(context, context.sites.fusion.exposed()):
        if can_guard(context, exposed):
            guard(context, exposed)
        else:
            left.append(exposed)
    return left


def misfused_neighbours(context: Context) -> list[tuple[Node, ...]]:
    """Neighbours that onnxruntime fuses wrongly now and did not in the original graph.

    Where a rewrite writes neighbours anew, as many of that kind are gone.
    """
    found = _neighbours(_inlined(context))
    before = _neighbours(_inlined(original(context))) if found else {}
    fresh = {key: nodes for key, nodes in found.items() if key not in before}
    gone = Counter(does for does, _ in before.keys() - found.keys())
    came = Counter(does for does, _ in fresh)
    return [nodes for (does, _), nodes in fresh.items() if came[does] > gone[does]]


def _inlined(context: Context) -> Context:
    """A main graph with the functions in it where such neighbours may be; others as they are."""
    model = context.graph.model
    light = model.skeleton.light
    held = chain(light.graph.node, *(each.node for each in light.functions))
    meeting = light.functions and any(node.op_type in MEETING for node in held)
    if not context.graph.is_main or not meeting or not 0 < unfolded(light) <= MOST_NODES:
        return context
    from onnx.inliner import inline_local_functions

    try:
        return Context(Graph.from_proto(inline_local_functions(model.to_proto())))
    except (ModelError, RuntimeError, onnx.checker.ValidationError):  # two of one name, say
        return context


def _neighbours(context: Context) -> dict[tuple[str, tuple[str, ...]], tuple[Node, ...]]:
    """The neighbours that are fused wrongly, by what comes of it and the names of their results."""
    found = Neighbours(context.graph, context.analysis, context.sites.fusion).wrong()
    return {(does, tuple(node.outputs[0].name for node in nodes)): nodes for nodes, does in found}


def takes_empty_fill(context: Context, pad: Node) -> bool:
    """Whether an empty third input protects a `Pad`; else `auto_pad=VALID` downstream does."""
    if context.graph.opset < 11 or context.sites.fusion.drops_empty:
        return False
    return "no_empty_fill" not in context.wanted(pad).spelling


def can_guard(context: Context, exposed: Exposed) -> bool:
    """Whether a `Pad` can be protected from being folded, in a way that its targets take."""
    if takes_empty_fill(context, exposed.pad.node):
        return is_plain_zero(exposed.pad.value)
    if "no_valid" in context.wanted(exposed.pad.node).spelling:
        return False
    node = exposed.window
    # The operator may be inside, and a call of the function may set any attribute.
    if context.graph.runs_graphs(node) or context.graph.refers(node):
        return False
    return not any(node.attrs.get("pads") or ())


def guard(context: Context, exposed: Exposed) -> None:
    """Protects a `Pad` from being folded; `can_guard` must hold."""
    graph, node = context.graph, exposed.pad.node
    if not takes_empty_fill(context, node):
        graph.set_attributes(exposed.window, {"auto_pad": "VALID", "pads": None})
        return
    for index in range(min(len(node.inputs), _VALUE), _VALUE + 1):
        graph.set_input(node, index, Tensor(""))


def _unlike(context: Context, found: Sequence[Exposed]) -> list[Exposed]:
    """Those that the original does not have in the same way.

    In the same way means that no node around it was edited, or that it is certain there already.
    """
    if not found:
        return []
    before = original(context)
    fusion = before.sites.fusion
    known = {_place(before, each): each.window for each in fusion.exposed()}

    def is_like(each: Exposed) -> bool:
        window = known.get(_place(context, each))
        if window is None or not _is_touched(context, each):
            return window is not None
        return fusion.certain(window) is not None

    return [each for each in found if not is_like(each)]


def _place(context: Context, exposed: Exposed) -> tuple[object, ...]:
    """The `Pad`, the nodes between, the operator, and all readers of their outputs, by name."""
    pad, graph = exposed.pad, context.graph
    tensors = [node.outputs[0] for node in (pad.node, *exposed.way)]
    readers = tuple([_readers(graph, tensor) for tensor in tensors])
    names = tuple([tensor.name for tensor in tensors])
    return names, readers, exposed.ends, pad.constant_amounts


def _readers(graph: Graph, tensor: Tensor) -> tuple[tuple[str, int], ...]:
    """What reads a tensor, directly or through Identities: names of results, indices of inputs."""
    uses = filter(None, readers_of(graph, tensor))
    return tuple(sorted((use.node.outputs[0].name, use.index) for use in uses))


def _is_touched(context: Context, exposed: Exposed) -> bool:
    """Whether a node was edited, or may have been, that decides whether a `Pad` is folded."""
    graph = context.graph
    nodes = (exposed.pad.node, exposed.window, *exposed.way)
    is_computed = exposed.pad.constant_amounts is None
    if any(map(graph.runs_edited, nodes)) or (is_computed and context.size_domain.declared):
        return True
    beside = [each for node in nodes for each in node.inputs[1:]]
    above = nodes_upstream(beside, lambda node: node.inputs)
    return any(node is None or graph.is_edited(node) for node in above)


def _correct_claims(context: Context) -> None:
    """Drops `value_info` that contradicts the operators, or may once an edit lets it be carried on.

    Once a `Pad` is gone or its amounts are constant, shape inference carries such a shape further,
    and the optimiser folds Shape to it and chooses kernels by it. It stays where it hides a size
    that is inferred wrongly, or that onnxruntime must not learn: the two contradict each other, and
    onnxruntime believes neither.
    """
    graph = context.graph
    claims = list(graph.claims("value_info"))
    unknown = _unknown(context, {tensor.name for tensor, _ in claims})
    for tensor in (*lies(claims, context.analysis), *unknown, *_renamed(context, claims)):
        if not context.hidden.keeps(graph, tensor):
            graph.undeclare(tensor)


def _renamed(context: Context, claims: Sequence[Claim]) -> Iterator[Tensor]:
    """The declared tensors with an axis named as one of another size.

    onnxruntime takes them to be as large, and puts one in the place of another.
    """
    graph, analysis, sizes = context.graph, context.analysis, dict[str, Extent | None]()
    for name, declared in graph.inputs.items() if claims else ():
        shape = analysis.shape(graph.tensor(name)) or ()
        for label, size in zip(declared.shape or (), shape, strict=False):
            if isinstance(label, str):
                # What inputs share stays: it is equal wherever the model runs.
                sizes[label] = None if label in sizes else size
    for tensor, claimed in claims:
        for label, size in zip(claimed, analysis.shape(tensor) or (), strict=False):
            is_named = isinstance(label, str) and isinstance(size, int | Size)
            if is_named and sizes.setdefault(str(label), size) not in {None, size}:
                yield tensor


def _unknown(context: Context, declared: Collection[str]) -> Iterator[Tensor]:
    """The declared tensors with a size that is not known, from which an edited node has its own."""

    def through(node: Node) -> Iterator[Tensor]:
        for tensor in node.inputs:
            shape = context.analysis.shape(tensor) if tensor.name else ()
            if shape is None or Unknown in map(type, shape):
                yield tensor

    edited = filter(context.graph.is_edited, context.graph.nodes) if declared else ()
    reached = upstream(chain.from_iterable(map(through, edited)), through, most=None)
    return (each for each in filter(None, reached) if each.name in declared)


def _name_all_axes(context: Context) -> None:
    """Writes the amounts of a `Pad` for all axes where there are Transposes to be moved past it.

    And axes of int32 as int64: shape inference refuses them once it knows how many axes data has.
    Only in a graph that was edited: else the optimiser does the same to the original.
    """
    graph = context.graph
    has_axes = (pad for pad in context.pads() if pad.axes)
    transposes = any(node.op == "Transpose" for node in graph.nodes)
    for pad in has_axes if graph.opset >= 18 and graph.version else ():
        node = pad.node
        if hides(graph, node) and context.hidden.behind(node.outputs[0]) is not None:
            continue  # it would also let onnxruntime know sizes that do harm
        name = node.name or node.outputs[0].name
        if context.analysis.dtype(node.inputs[_AXES]) == onnx.TensorProto.INT32:
            axes = graph.add_initializer(np.asarray(pad.axes, np.int64), f"{name}_axes")
            graph.set_input(node, _AXES, axes)
        shape = context.analysis.shape(pad.data)
        full = pad.over(len(shape)) if shape is not None else None
        if transposes and full is not None and is_padded(full):
            amounts = graph.add_initializer(np.asarray(onnx_order(full), np.int64), f"{name}_pads")
            graph.set_input(node, 1, amounts)
            graph.set_input(node, _AXES, None)
