"""Steps: operators that a constant `Pad` upstream can be moved past, downstream.

What becomes of padding behind one, its row in `semantics` says. Here is what else is written anew
when its data is not padded any more: the shape of a Reshape or an Expand, the bounds of a Slice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from msgspec import Struct, field

from onnxpad.arithmetic.size import Extent, always, less_equal
from onnxpad.facts import Analysis
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.reasons import Reason, RefusalError
from onnxpad.semantics.amounts import ENDLESS, numbers_of
from onnxpad.semantics.layers import Layer, Operand, number_of
from onnxpad.semantics.moving import bounds_of, check_free, cuts_of
from onnxpad.semantics.rows import Call, UnreadError, places_of
from onnxpad.semantics.table import row_of

_DIFFER_BY_PLACE: Final = frozenset({"Asin", "Atan", "Mish"})
"""What onnxruntime computes of an element depends on its place in the tensor."""


class Behind(Struct, frozen=True):
    """A layer of padding behind a node, and the node on data without it; or behind a `Pad`.

    Attributes:
        layer: The layer around each output.
        constants: New constants for inputs, by index.
        attributes: New values of attributes; None removes one.
        vanishes: Whether the node does nothing to data without the layer.
        steps: All nodes between `Pad`s and the layer, in order, this one last.
        data: What a `Pad` pads; None for a step.
    """

    layer: Layer
    constants: Mapping[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    vanishes: bool = False
    steps: tuple[Node, ...] = ()
    data: Tensor | None = None


def data_inputs(graph: Graph, node: Node) -> tuple[int, ...]:
    """The inputs of a node that may be padded; none where it is no step."""
    row = row_of(graph, node)
    if row is None or node.op in _DIFFER_BY_PLACE or graph.refers(node):
        return ()
    return places_of(graph, node, row)


def behind(graph: Graph, analysis: Analysis, node: Node, layers: Sequence[Layer]) -> Behind:
    """The layer behind a node of which each data input is padded by one layer.

    Raises:
        RefusalError: The layers cannot be moved past the node; the message says why.
    """
    row = row_of(graph, node)
    assert row is not None
    assert row.step is not None
    try:
        call = Call(graph, analysis, node, row)
        data = call.data_places()
        for place, tensor in enumerate(node.inputs):
            if tensor.name and place not in data and call.constant(place) is None:
                raise UnreadError(f"input {place} is known only at run time, or is large")
        if node.op == "Slice":
            return _slice(call, layers[0])
        (found,) = row.step(call, [(each,) for each in layers]).layers
        if isinstance(found.fill, Operand):
            raise UnreadError("it makes no single certain value of the fill", Reason.FILL_CHANGES)
        write = _SIZES.get(node.op)
        sizes = None if write is None else write(call, layers[0], found)
        return Behind(found, {} if sizes is None else {1: np.asarray(sizes, np.int64)})
    except UnreadError as error:
        facts = error.facts
        if error.code is Reason.FILL_CHANGES:
            facts = {"value": number_of(layers[0].fill), "operator": node.op}
        raise refused(graph, node, f"stands between: {error}", error.code, **facts) from error


def refused(
    graph: Graph, node: Node, why: str, code: Reason = Reason.STEPS_BETWEEN, **facts: object
) -> RefusalError:
    """The refusal to move padding past a node, which its message begins with."""
    label = graph.label(node)
    return RefusalError(code, f"{node.op} {label!r} {why}", **{"operator": label, **facts})


def _squeeze(call: Call, inner: Layer, outer: Layer) -> None:
    """Checks that a Squeeze of every axis of size 1 leaves the padded ones without the padding."""
    shape = call.shape()
    if call.axes() is not None or shape is None:
        return
    units = [
        axis
        for axis, (size, pair) in enumerate(zip(shape, inner.amounts, strict=True))
        if always(less_equal(2, size - sum(pair))) is not True
    ]
    check_free((inner,), units)


def _reshape(call: Call, inner: Layer, outer: Layer) -> list[int]:
    """The shape of a Reshape: its own -1 stays right, and so does a 0 if both sizes are alike."""
    if call.version < 5 or call.attribute("allowzero"):
        raise UnreadError("its shape has no constant that could be corrected")
    before, after = (
        [size - sum(pair) for size, pair in zip(shape or (), layer.amounts, strict=True)]
        for shape, layer in ((call.shape(), inner), (call.result_shape(), outer))
    )
    sizes = []
    for axis, (number, size) in enumerate(zip(call.numbers(1), after, strict=True)):
        stays = number == -1 or (number == 0 and before[axis : axis + 1] == [size])
        sizes.append(size if isinstance(size, int) and not stays else number)
    return sizes


def _expand(call: Call, inner: Layer, outer: Layer) -> list[int] | None:
    """The shape of an Expand, where it says the size of a padded axis; else None."""
    written = call.numbers(1)
    amounts = numbers_of(outer.amounts[len(outer.amounts) - len(written) :])
    assert amounts is not None
    sizes = [
        size if size == 1 else size - sum(pair) for size, pair in zip(written, amounts, strict=True)
    ]
    if min(sizes, default=1) < 1:
        raise UnreadError("nothing is left of an axis", Reason.AXIS_TAKEN)
    return None if sizes == [*written] else sizes


_SIZES: Final[Mapping[str, Callable[[Call, Layer, Layer], list[int] | None]]] = {
    "Expand": _expand,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
}
"""What a step has as its second input without the layer around its data; None as before.

Given the layers around its data and around its result.
"""


def _slice(call: Call, layer: Layer) -> Behind:
    """A Slice along other axes, or one that crops padded axes.

    On each side it may crop part of the padding, or, where there is none, the data itself.
    """
    layers, rank = (layer,), len(layer.amounts)
    crops, others = cuts_of(call, layers)
    check_free(layers, dict(others))
    written = bounds_of(call, rank)
    shape, amounts, bounds = call.shape(), list(layer.amounts), dict[int, tuple[Extent, Extent]]()
    for axis, (start, end, _) in written.items():
        bounds[axis] = start, end
        if layer.amounts[axis] == (0, 0):
            continue
        known = numbers_of([layer.amounts[axis], crops.get(axis, (0, 0))])
        if known is None or shape is None or min(known[0]) < 0:
            check_free(layers, [axis])
            continue
        pads, cut = known
        left = [pad + crop for pad, crop in zip(pads, cut, strict=True)]
        begin, stop = (-min(each, 0) for each in left)
        short = always(less_equal(begin + stop, shape[axis] - sum(pads))) is not True
        if (begin and pads[0]) or (stop and pads[1]) or ((begin or stop) and short):
            check_free(layers, [axis])
        amounts[axis] = max(left[0], 0), max(left[1], 0)
        bounds[axis] = begin, -stop or ENDLESS
    found = Layer(tuple(amounts), layer.fill)
    steps = {step for _, _, step in written.values()}
    if {*bounds.values()} <= {(0, ENDLESS)} and steps <= {1}:
        return Behind(found, vanishes=True)
    if list(bounds.values()) == [(start, end) for start, end, _ in written.values()]:
        return Behind(found)
    starts, ends = ([pair[side] for pair in bounds.values()] for side in (0, 1))
    kept = call.constant(1)
    if kept is None:  # before opset 10
        return Behind(found, {}, {"starts": starts, "ends": ends})
    return Behind(found, {1: np.asarray(starts, kept.dtype), 2: np.asarray(ends, kept.dtype)})
