"""The naive rewriting at a ConvTranspose: of its attributes, and of crops and `Pad`s downstream.

A Slice or `Pad` is dropped, with those between, and its amounts are added to the operator's `pads`
and `output_padding`; `auto_pad` and `output_shape` become what onnxruntime computes from them.
Whether the result computes the same is for onnxruntime to say.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import onnx

from tests.random_models.naive import (
    POINTWISE,
    Layer,
    Naive,
    NotFoldableError,
    Place,
    attribute_of,
    set_attribute,
    walk,
)
from tests.random_models.shrink import pruned
from tests.support import Array

Layers: TypeAlias = Mapping[str, Layer | None]
"""What Slices and `Pad`s add to each axis, by their result; None where that varies."""
Observed: TypeAlias = tuple[Mapping[str, tuple[int, ...]], Layers]
"""Shapes of tensors at one size, by name, and what Slices and `Pad`s were seen to add and crop."""

CROPS: Final = ("Slice", "Pad")
MOVES: Final = ("Transpose", "Squeeze", "Unsqueeze", "Reshape", "Flatten")


@dataclass(frozen=True)
class Site:
    """A crop or `Pad` downstream of a ConvTranspose, or an attribute of one.

    Attributes:
        place: Where the node is.
        output: The name of its result.
        what: The operator, `Slice` or `Pad`, or the name of the attribute.
    """

    place: Place
    output: str
    what: str

    @property
    def op(self) -> str:
        return self.what if self.what in CROPS else "ConvTranspose"


def sites(model: onnx.ModelProto) -> list[Site]:
    """All that crops, pads or sizes the result of a ConvTranspose, in bodies and functions too."""
    naive = Naive(model, {}, {})
    found = []
    for index, (holder, at, within) in enumerate(walk(naive.model)):
        node = holder.node[at]
        if node.domain or not node.output:
            continue
        place = Place(index, node.name or f"<{node.output[0]}>", within)
        if node.op_type in CROPS and _upstream(naive, node) is not None:
            found.append(Site(place, node.output[0], node.op_type))
        if node.op_type == "ConvTranspose":
            found += [Site(place, node.output[0], each) for each in _rewritable(node)]
    return found


def _rewritable(node: onnx.NodeProto) -> list[str]:
    """The attributes of a ConvTranspose that explicit `pads` may replace."""
    held = {attribute.name: attribute for attribute in node.attribute}
    found = []
    auto = held.get("auto_pad")
    if auto is not None and (auto.ref_attr_name or auto.s not in (b"NOTSET", b"")):
        found.append("auto_pad")
    if "output_shape" in held:
        found.append("output_shape")
    elif "output_padding" in held and "pads" in held and not found:
        more, pads = held["output_padding"].ints, held["pads"].ints
        begins, ends = pads[: len(pads) // 2], pads[len(pads) // 2 :]
        # equal pads stay so: CUDA runs no others
        if begins != ends and any(one and end for one, end in zip(more, ends, strict=False)):
            found.append("output_padding")
    return found


def _upstream(naive: Naive, node: onnx.NodeProto) -> list[onnx.NodeProto] | None:
    """The nodes from the one before this up to a ConvTranspose; None if there is no such way."""
    way = []
    while True:
        name = node.input[0]
        if node.op_type in POINTWISE and len(node.input) == 2 and name in naive.constants:
            name = node.input[1]
        maker = naive.makers.get(name)
        if maker is None or maker.domain:
            return None
        way.append(maker)
        if maker.op_type == "ConvTranspose":
            return way
        if maker.op_type not in (*POINTWISE, *MOVES, *CROPS):
            return None
        node = maker


def fold_site(model: onnx.ModelProto, site: Site, observed: Observed) -> onnx.ModelProto:
    """The model with a crop or an attribute rewritten naively.

    Args:
        model: The model; it is not changed.
        site: What to rewrite.
        observed: What was seen when it ran.

    Raises:
        NotFoldableError: There is nothing to rewrite, or nowhere to put it.
    """
    shapes, layers = observed
    naive = Naive(model, shapes, {})
    node = naive.makers[site.output]
    if site.what not in CROPS:
        _resolve(naive, node)
        if site.what == "output_padding":
            _lessen(node)
        return naive.model
    layer = _layer(node, layers)
    if not any(map(any, layer)):
        _bypass(node)
        return naive.model
    crops = [each for each in _upstream(naive, node) or [] if each.op_type in CROPS]
    between = {each.output[0]: _layer(each, layers) for each in crops}
    for each in (node, *crops):
        _bypass(each)
    rest = Naive(_live(naive.model), shapes, {})
    if site.output not in rest.makers:
        raise NotFoldableError("nothing reads it")
    _into(rest, rest.makers[site.output], layer, between)
    return rest.model


def _layer(node: onnx.NodeProto, layers: Layers) -> Layer:
    if attribute_of(node, "mode", b"constant") != b"constant":
        raise NotFoldableError("it copies data")
    if node.output[0] not in layers:
        raise NotFoldableError("it was not seen to run")
    layer = layers[node.output[0]]
    if layer is None:
        raise NotFoldableError("its amounts vary, or it is no crop")
    return layer


def layer_of(node: onnx.NodeProto, tensors: Mapping[str, Array]) -> Layer | None:
    """What a Slice or `Pad` adds to each axis, given its inputs; amounts below 0 crop.

    None for a Slice with other steps than 1.
    """
    shape = tensors[node.input[0]].shape
    held = {each.name: list(each.ints) for each in node.attribute}

    def read(at: int, name: str, default: Sequence[int]) -> Sequence[int]:
        if len(node.input) > at and node.input[at]:
            listed: list[int] = tensors[node.input[at]].tolist()
            return listed
        return held.get(name, default)

    pairs = [(0, 0)] * len(shape)
    if node.op_type == "Pad":
        amounts = read(1, "pads", ())
        half = len(amounts) // 2
        axes = read(3, "axes", range(half))
        for axis, pair in zip(axes, zip(amounts[:half], amounts[half:], strict=True), strict=True):
            pairs[axis] = pair
        return tuple(pairs)
    starts, ends = read(1, "starts", ()), read(2, "ends", ())
    if any(step != 1 for step in read(4, "steps", ())):
        return None
    for axis, start, end in zip(read(3, "axes", range(len(starts))), starts, ends, strict=True):
        size = shape[axis]
        begin = min(max(start + size * (start < 0), 0), size)
        last = min(max(end + size * (end < 0), begin), size)
        pairs[axis] = -begin, last - size
    return tuple(pairs)


def _bypass(node: onnx.NodeProto) -> None:
    """Make a node an Identity of its data."""
    data = node.input[0]
    del node.input[:], node.attribute[:]
    node.op_type = "Identity"
    node.input.append(data)


def _live(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without what nothing reads, but for its inputs."""
    inputs = [*model.graph.input]
    model = pruned(model)
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    return model


def _into(naive: Naive, node: onnx.NodeProto, layer: Layer, between: Mapping[str, Layer]) -> None:
    """Take a layer upstream into a ConvTranspose, with those of what lay between."""
    way = _upstream(naive, node)
    if way is None:
        raise NotFoldableError("no ConvTranspose is found upstream")
    for each in way:
        name = each.output[0]
        if len(naive.readers.get(name, [])) != 1 or name in naive.outputs:
            raise NotFoldableError("something else reads it")
        rank = len(naive.shapes[name]) if name in naive.shapes else len(layer)
        if any(map(any, layer[: len(layer) - rank])):
            raise NotFoldableError("it crops or pads an axis that an operand adds")
        layer = layer[len(layer) - rank :]
        if name in between:
            pairs = zip(layer, between[name], strict=True)
            layer = tuple((one[0] + two[0], one[1] + two[1]) for one, two in pairs)
        if each.op_type == "Transpose":
            order = attribute_of(each, "perm", list(range(len(layer)))[::-1])
            layer = tuple(layer[order.index(i)] for i in range(len(order)))
        elif each.op_type in MOVES:
            layer = _through(naive, each, layer)
        elif each.op_type == "ConvTranspose":
            _add(naive, each, layer)


def _through(naive: Naive, node: onnx.NodeProto, layer: Layer) -> Layer:
    """The layer before a node that only adds and drops unit axes."""
    before, after = naive.shapes.get(node.input[0]), naive.shapes.get(node.output[0])
    if before is None or after is None:
        raise NotFoldableError("a shape is not known")
    places = [i for i, size in enumerate(before) if size != 1]
    large = [i for i, size in enumerate(after) if size != 1]
    if [before[i] for i in places] != [after[i] for i in large] or len(layer) != len(after):
        raise NotFoldableError("a Reshape of its elements")
    if any(any(pair) for i, pair in enumerate(layer) if i not in large):
        raise NotFoldableError("it crops or pads a unit axis")
    pairs = [(0, 0)] * len(before)
    for place, i in zip(places, large, strict=True):
        pairs[place] = layer[i]
    if node.op_type == "Reshape":
        _, _, holder = naive.readers[node.input[0]][0]
        target = naive.constant(node.input[1], "a computed Reshape").copy()
        for i, pair in enumerate(layer):
            if target[i] > 0:
                target[i] += sum(pair)
        name = f"{node.output[0]}_shape"
        naive.constant_node(holder, node, name, target)
        node.input[1] = name
    return tuple(pairs)


@dataclass(frozen=True)
class _Window:
    """What decides the size of a ConvTranspose's result, for each spatial axis."""

    strides: list[int]
    extents: list[int]
    more: list[int]


def _window(naive: Naive, node: onnx.NodeProto) -> _Window:
    weight = naive.constants.get(node.input[1])
    shape = weight.shape if weight is not None else naive.shapes.get(node.input[1])
    if shape is None:
        raise NotFoldableError("a shape is not known")
    kernel = attribute_of(node, "kernel_shape", list(shape[2:]))
    ones = [1] * len(kernel)
    dilations = attribute_of(node, "dilations", ones)
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    more = attribute_of(node, "output_padding", [0] * len(kernel))
    return _Window(attribute_of(node, "strides", ones), extents, more)


def _resolve(naive: Naive, node: onnx.NodeProto) -> None:
    """Write what onnxruntime makes of `auto_pad` and `output_shape` as `pads`."""
    auto = attribute_of(node, "auto_pad", b"NOTSET")
    sizes = attribute_of(node, "output_shape")
    window = _window(naive, node)
    pads = attribute_of(node, "pads", [0] * 2 * len(window.strides))
    totals: list[int] | None = None
    more = window.more
    if sizes is not None:
        shape = naive.shapes.get(node.input[0])
        if shape is None:
            raise NotFoldableError("a shape is not known")
        lengths = [
            (n - 1) * s + e
            for n, s, e in zip(shape[2:], window.strides, window.extents, strict=True)
        ]
        over = [n + m - size for n, m, size in zip(lengths, more, sizes, strict=True)]
        totals = [max(0, each) for each in over]
        more = [m - min(0, each) for m, each in zip(more, over, strict=True)]
    elif auto in (b"SAME_UPPER", b"SAME_LOWER"):
        rows = zip(window.extents, more, window.strides, strict=True)
        totals = [max(0, e + m - s) for e, m, s in rows]
    if totals is not None:
        ends = [(t + 1) // 2 if auto == b"SAME_UPPER" else t // 2 for t in totals]
        pads = [t - end for t, end in zip(totals, ends, strict=True)] + ends
    kept = [a for a in node.attribute if a.name not in ("auto_pad", "output_shape")]
    del node.attribute[:]
    node.attribute.extend(kept)
    set_attribute(node, "pads", pads)
    set_attribute(node, "output_padding", more)


def _lessen(node: onnx.NodeProto) -> None:
    """Take `output_padding` off the end pads as far as they allow it."""
    pads, more = attribute_of(node, "pads"), attribute_of(node, "output_padding")
    rank = len(more)
    less = [min(one, end) for one, end in zip(more, pads[rank:], strict=True)]
    set_attribute(node, "output_padding", [m - x for m, x in zip(more, less, strict=True)])
    ends = [end - x for end, x in zip(pads[rank:], less, strict=True)]
    set_attribute(node, "pads", [*pads[:rank], *ends])


def _add(naive: Naive, node: onnx.NodeProto, layer: Layer) -> None:
    """Add a layer to a ConvTranspose: what is added takes from its `pads`, then appends."""
    if any(map(any, layer[:2])):
        raise NotFoldableError("it is on batch or channels")
    _resolve(naive, node)
    pads, more = attribute_of(node, "pads"), attribute_of(node, "output_padding")
    rank = len(more)
    begins = [pad - begin for pad, (begin, _) in zip(pads[:rank], layer[2:], strict=True)]
    ends = [pad - end for pad, (_, end) in zip(pads[rank:], layer[2:], strict=True)]
    if min(begins) < 0:
        raise NotFoldableError("it adds at the begin what nothing crops")
    set_attribute(node, "output_padding", [m - min(e, 0) for m, e in zip(more, ends, strict=True)])
    set_attribute(node, "pads", [*begins, *(max(end, 0) for end in ends)])
