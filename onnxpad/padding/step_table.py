"""Steps: operators that a constant `Pad` upstream can be moved past, downstream.

Each entry says what becomes of a layer of padding behind an operator, and which constants of the
operator change once its data is not padded. A new step is an entry here, and one in `proof.steps`,
which shares nothing with this table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Final, TypeAlias

import numpy as np
from onnx import TensorProto

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import Extent, Size, Unknown, always, less_equal
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.messages import Named, named
from onnxpad.operators.amounts import ENDLESS, Pair, Pairs
from onnxpad.operators.table import FLOATS
from onnxpad.padding.step_fills import (
    BINARY,
    UNARY,
    EitherZero,
    Number,
    UncertainError,
    computed,
    dequantised,
    greater,
    holds,
    lesser,
    one_of,
    quantised,
    refusal_of_uncertain,
)
from onnxpad.reasons import Reason, RefusalError
from onnxpad.records import NamedTuple, dataclass

_QUANTISED: Final = frozenset(
    {TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16}
)


class PadLayer(NamedTuple):
    """Constant padding: (begin, end) for each axis, and the value filled in."""

    amounts: Pairs
    value: Number


@dataclass(frozen=True, slots=True)
class PaddedNode:
    """A node whose data inputs are all padded by the same amounts.

    Attributes:
        graph: The graph.
        analysis: Its analysis.
        node: The node.
        data: The indices of its padded inputs.
        layers: The layer around each of them; only their values may differ.
    """

    graph: Graph
    analysis: Analysis
    node: Node
    data: tuple[int, ...]
    layers: tuple[PadLayer, ...]

    @property
    def layer(self) -> PadLayer:
        """The layer around the first padded input."""
        return self.layers[0]

    @property
    def rank(self) -> int:
        """The number of axes of the data."""
        return len(self.layer.amounts)

    @property
    def padded(self) -> tuple[int, ...]:
        """The axes that the layer pads or crops."""
        return tuple(axis for axis, pair in enumerate(self.layer.amounts) if pair != (0, 0))

    @property
    def tensor(self) -> Tensor:
        """The first padded input."""
        return self.node.inputs[self.data[0]]

    @property
    def dtype(self) -> int:
        """The element type of the data.

        Raises:
            RefusalError: It is unknown.
        """
        dtype = self.analysis.dtype(self.tensor)
        if dtype is None:
            raise RefusalError(
                Reason.TYPE_UNKNOWN,
                named(
                    lambda name: (
                        f"the element type of{name(self.tensor.name, 'the data')} is unknown"
                    )
                ),
                tensor=self.tensor.name,
            )
        return dtype

    def constant(self, index: int) -> np.ndarray[Any, Any] | None:
        """The elements of an input; None where it is omitted.

        Raises:
            RefusalError: It is not constant.
        """
        tensor = self.node.operand(index)
        if tensor is None:
            return None
        array = self.graph.constant(tensor)
        if array is None:
            form = "which is known only at run time, or is large"
            raise self.refusal(named(lambda name: f"reads{name(tensor.name, 'a tensor')}, {form}"))
        if array.dtype.kind in "OSUc":
            form = "which holds no real numbers"
            raise self.refusal(named(lambda name: f"reads{name(tensor.name, 'a tensor')}, {form}"))
        return array

    def integers(self, name: str, index: int, since: int) -> tuple[int, ...] | None:
        """Integers that are an attribute before an opset, and a constant input since.

        Raises:
            RefusalError: The input is not constant.
        """
        if self.graph.opset < since:
            value = self.node.attrs.get(name)
            return None if value is None else tuple(map(int, value))
        array = self.constant(index)
        if array is not None and array.dtype.kind not in "iu":
            raise self.refusal(f"its {name} are no integers")
        return None if array is None else tuple(map(int, array.reshape(-1)))

    def refusal(self, why: str | Named) -> RefusalError:
        """The refusal of a node that a `Pad` cannot be moved past."""
        label, why = self.graph.label(self.node), Named.of(why) if isinstance(why, str) else why
        said = Named(
            f"{self.node.op} {label!r} stands between, and {why.text}",
            f"{self.node.op} stands between, and {why.general}",
        )
        return RefusalError(Reason.STEPS_BETWEEN, said, operator=label)

    def along(self, axes: Sequence[int]) -> RefusalError:
        """The refusal of a node that works along padded axes."""
        label, told_axes = self.graph.label(self.node), ", ".join(map(str, axes))
        return RefusalError(
            Reason.AXIS_TAKEN,
            named(
                lambda name: (
                    f"{self.node.op}{name(label)} between works along the padded axis {told_axes}"
                )
            ),
            operator=label,
            axes=list(axes),
        )

    def filled(self, make: Callable[[], Number]) -> PadLayer:
        """The layer with another value; 0 for a layer that only crops, whatever its type becomes.

        Raises:
            RefusalError: The value is not certain.
        """
        if max(map(max, self.layer.amounts)) <= 0:
            return self.layer._replace(value=0)
        try:
            return self.layer._replace(value=make())
        except UncertainError as error:
            raise refusal_of_uncertain(
                self.node.op, self.layer.value, Named.of(str(error))
            ) from error


@dataclass(frozen=True, slots=True)
class Behind:
    """A layer of padding behind a node, and the node on data without it.

    Attributes:
        layer: The layer around each output.
        constants: New constants for inputs, by index.
        attributes: New values of attributes; None removes one.
        vanishes: Whether the node does nothing to data without the layer.
        steps: All nodes between `Pad`s and the layer, in order, this one last.
    """

    layer: PadLayer
    constants: Mapping[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    vanishes: bool = False
    steps: tuple[Node, ...] = ()


Rule: TypeAlias = Callable[[PaddedNode], Behind]


def _same(case: PaddedNode) -> Behind:
    return Behind(case.layer)


def _unary(case: PaddedNode) -> Behind:
    rule, dtype = UNARY[case.node.op], case.dtype
    factors = [case.node.attrs.get(name, 1.0) for name in ("alpha", "gamma")]
    if not all(isinstance(factor, float) and factor > 0 for factor in factors):
        raise case.refusal("a factor of it is not above 0")
    return Behind(case.filled(lambda: rule(case.layer.value, dtype)))


def _other(case: PaddedNode) -> np.ndarray[Any, Any]:
    """The constant operand, of size 1 on the padded axes.

    Raises:
        RefusalError: It has elements of its own along a padded axis.
    """
    if case.graph.opset < 7:
        raise case.refusal(f"broadcasts by its attributes in opset {case.graph.opset}")
    array = case.constant(1 - case.data[0])
    assert array is not None
    shift = case.rank - array.ndim
    taken = [axis for axis in case.padded if axis >= shift and array.shape[axis - shift] != 1]
    if taken:
        raise case.along(taken)
    return array


def _broadcast(layer: PadLayer, other: np.ndarray[Any, Any]) -> PadLayer:
    """The layer with an axis in front for each axis that a constant has more than the data."""
    added = max(other.ndim - len(layer.amounts), 0)
    return layer._replace(amounts=((0, 0),) * added + layer.amounts)


def _elements(array: np.ndarray[Any, Any]) -> list[Number]:
    kind = int if array.dtype.kind in "iu" else float
    return [kind(each) for each in array.reshape(-1)]


def _binary(case: PaddedNode) -> Behind:
    other, dtype, value = _other(case), case.dtype, case.layer.value
    operation, first = BINARY[case.node.op], case.data == (0,)
    if case.node.op == "Div" and dtype not in FLOATS:
        raise case.refusal("divides integers")

    def made() -> Number:
        pairs = ((value, each) if first else (each, value) for each in _elements(other))
        return one_of(computed(operation, a, b, dtype) for a, b in pairs)

    return Behind(_broadcast(case.filled(made), other))


def _clip(case: PaddedNode) -> Behind:
    bounds: list[Number | None]
    if case.graph.opset < 11:
        bounds = [case.node.attrs.get(name) for name in ("min", "max")]
    else:
        given = [case.constant(index) for index in (1, 2)]
        if any(each is not None and each.size != 1 for each in given):
            raise case.refusal("has a bound that is not one number")
        bounds = [None if each is None else _elements(each)[0] for each in given]
    low, high = bounds
    if low is not None and high is not None and not low <= high:
        raise case.refusal("its bounds cross")

    def made() -> Number:
        value = case.layer.value
        if not math.isfinite(value) and None in bounds:
            raise UncertainError("the least or greatest number of its type")
        value = value if low is None else greater(value, low)
        return value if high is None else lesser(value, high)

    return Behind(case.filled(made))


def _cast(case: PaddedNode) -> Behind:
    to, value = int(case.node.attrs["to"]), case.layer.value
    known = {case.dtype, to} <= _CASTS

    def made() -> Number:
        if not known or not holds(value, to):
            raise UncertainError("a value that the new type does not hold")
        return float(value) if to in FLOATS else int(value)

    return Behind(case.filled(made))


_CASTS: Final = FLOATS | _QUANTISED | {
    TensorProto.INT32, TensorProto.INT64, TensorProto.UINT32, TensorProto.UINT64,
}  # fmt: skip


def _dropout(case: PaddedNode) -> Behind:
    opset, attributes = case.graph.opset, case.node.attrs
    if opset >= 12:
        mode = case.constant(2)
        trains = mode is not None and bool(mode.any() or mode.size != 1)
    else:
        trains = opset < 7 and not attributes.get("is_test", 0)
    if trains:
        raise case.refusal("drops elements at random")
    _check_first_alone(case)
    return Behind(case.layer)


def _check_first_alone(case: PaddedNode) -> None:
    """Raises RefusalError if anything reads another output than the first."""
    graph = case.graph
    for tensor in case.node.outputs[1:]:
        if graph.is_read(tensor):
            form = "is read too"
            raise case.refusal(Named(f"{tensor.name!r} {form}", f"a further output {form}"))


def _transpose(case: PaddedNode) -> Behind:
    order = case.node.attrs.get("perm") or list(range(case.rank))[::-1]
    if sorted(order) != list(range(case.rank)):
        raise case.refusal("its perm does not fit the data")
    return Behind(case.layer._replace(amounts=tuple(case.layer.amounts[axis] for axis in order)))


def _normal(axes: Sequence[int], rank: int, case: PaddedNode) -> tuple[int, ...]:
    if any(not -rank <= axis < rank for axis in axes):
        raise case.refusal("its axes do not fit the data")
    return tuple(axis % rank for axis in axes)


def _unsqueeze(case: PaddedNode) -> Behind:
    axes = case.integers("axes", 1, 13)
    if axes is None:
        raise case.refusal("lacks its axes")
    rank = case.rank + len(axes)
    added = set(_normal(axes, rank, case))
    if len(added) != len(axes):
        raise case.refusal("names an axis twice")
    inner = iter(case.layer.amounts)
    amounts = tuple((0, 0) if axis in added else next(inner) for axis in range(rank))
    return Behind(case.layer._replace(amounts=amounts))


def _squeeze(case: PaddedNode) -> Behind:
    axes = case.integers("axes", 1, 13)
    if axes is None:
        return _squeeze_all(case)
    dropped = set(_normal(axes, case.rank, case))
    if not dropped.isdisjoint(case.padded):
        raise case.along(sorted(dropped & set(case.padded)))
    kept = (pair for axis, pair in enumerate(case.layer.amounts) if axis not in dropped)
    return Behind(case.layer._replace(amounts=tuple(kept)))


def _squeeze_all(case: PaddedNode) -> Behind:
    """A Squeeze of every axis of size 1, provided that no padded axis has this size by itself."""
    shape = case.analysis.shape(case.tensor)
    for axis in case.padded:
        size = None if shape is None else shape[axis]
        bare = size - sum(case.layer.amounts[axis]) if isinstance(size, int | Size) else 1
        if always(less_equal(2, bare)) is not True:
            raise case.along([axis])
    return Behind(_reshaped(case)[0])


def _reshape(case: PaddedNode) -> Behind:
    if case.graph.opset < 5 or case.node.attrs.get("allowzero"):
        raise case.refusal("its shape has no constant that could be corrected")
    shape = case.node.operand(1)
    if shape is not None and case.graph.constant(shape) is None:
        form = "which is known only at run time"
        raise case.refusal(named(lambda name: f"reads its shape{name(shape.name)}, {form}"))
    layer, moved = _reshaped(case)
    # Its own -1 (the rest) stays right without the padding, and so does its own 0 (a size of the
    # input), except on an axis that is moved to another place: that size may be another one then.
    sizes = []
    said, after = (
        case.integers("shape", 1, 5) or (),
        case.analysis.shape(case.node.outputs[0]) or (),
    )
    for axis, (number, size) in enumerate(zip(said, after, strict=True)):
        stays = number == -1 or (number == 0 and axis not in moved) or not isinstance(size, int)
        sizes.append(number if stays else size - sum(layer.amounts[axis]))
    return Behind(layer, {1: np.asarray(sizes, np.int64)})


def _reshaped(case: PaddedNode) -> tuple[PadLayer, Collection[int]]:
    """The layer behind a node that only adds or drops axes of size 1, and the axes it moves."""
    before = case.analysis.shape(case.tensor)
    after = case.analysis.shape(case.node.outputs[0])
    if before is None or after is None or len(before) != case.rank:
        raise case.refusal("its shape is known only at run time")
    inner = [axis for axis, size in enumerate(before) if size != 1]
    outer = [axis for axis, size in enumerate(after) if size != 1]
    matches = len(inner) == len(outer) and all(
        isinstance(before[i], int | Size) and before[i] == after[o]
        for i, o in zip(inner, outer, strict=True)
    )
    if not matches or not set(case.padded) <= set(inner):
        raise case.refusal("does more than add or drop axes of size 1")
    amounts: list[Pair] = [(0, 0)] * len(after)
    for i, o in zip(inner, outer, strict=True):
        amounts[o] = case.layer.amounts[i]
    moved = {o for i, o in zip(inner, outer, strict=True) if i != o}
    return case.layer._replace(amounts=tuple(amounts)), moved


def _expand(case: PaddedNode) -> Behind:
    """An Expand that repeats only what is not padded; its shape is corrected."""
    given, sizes = case.node.operand(1), case.analysis.shape(case.tensor)
    if given is not None and case.graph.constant(given) is None:
        raise case.refusal("its shape is known only at run time")
    shape = case.integers("shape", 1, 8)
    if shape is None or min(shape, default=1) < 1:
        raise case.refusal("its shape is none")
    written, taken = list(shape), []
    added = len(written) - case.rank
    for axis in case.padded:
        place = axis + added
        if place < 0 or written[place] == 1:
            continue
        is_kept = sizes is not None and sizes[axis] == written[place]
        written[place] -= sum(case.layer.amounts[axis])
        if not is_kept or written[place] < 1:
            taken.append(axis)
    if taken:
        raise case.along(taken)
    layer = case.layer._replace(amounts=((0, 0),) * added + case.layer.amounts)
    is_same = tuple(written) == shape
    return Behind(layer, {} if is_same else {1: np.asarray(written, np.int64)})


def _flatten(case: PaddedNode) -> Behind:
    return Behind(_reshaped(case)[0])


def _parts(case: PaddedNode) -> tuple[np.ndarray[Any, Any], ...]:
    """Scale and zero point of QuantizeLinear or DequantizeLinear, and their axis, if there is one.

    Raises:
        RefusalError: They are not constant, or vary along a padded axis.
    """
    scale, zero = case.constant(1), case.constant(2)
    if scale is None or case.graph.opset < 10:
        raise case.refusal("lacks its scale")
    attributes = case.node.attrs
    if attributes.get("block_size"):
        raise case.refusal("has scales for each block")
    zero = np.zeros(scale.shape, np.uint8) if zero is None else zero
    if scale.size > 1 or scale.ndim == 1:
        (axis,) = _normal([attributes.get("axis", 1)], case.rank, case)
        if scale.size > 1 and axis in case.padded:
            raise case.along([axis])
    if scale.size != zero.size:
        raise case.refusal("its scale and zero point differ in size")
    if not all(0 < each < math.inf for each in _elements(scale)):
        raise case.refusal("a scale of it is not above 0")
    return scale, zero


def _quantise(case: PaddedNode) -> Behind:
    scale, zero = _parts(case)
    to = case.analysis.dtype(case.node.outputs[0])
    known = to in _QUANTISED and case.dtype == TensorProto.FLOAT
    if not known or {"output_dtype", "precision"} & {*case.node.attrs}:
        raise case.refusal("is not of a known type")
    assert to is not None

    def made() -> Number:
        each = zip(_elements(scale), _elements(zero), strict=True)
        return one_of(quantised(case.layer.value, float(s), int(z), to) for s, z in each)

    return Behind(case.filled(made))


def _dequantise(case: PaddedNode) -> Behind:
    scale, zero = _parts(case)
    known = case.dtype in {*_QUANTISED, TensorProto.INT32}
    to = case.analysis.dtype(case.node.outputs[0])
    if not known or to != TensorProto.FLOAT or "output_dtype" in case.node.attrs:
        raise case.refusal("is not of a known type")

    def made() -> Number:
        each = zip(_elements(scale), _elements(zero), strict=True)
        return one_of(dequantised(int(case.layer.value), float(s), int(z)) for s, z in each)

    return Behind(case.filled(made))


def _concat(case: PaddedNode) -> Behind:
    (axis,) = _normal([case.node.attrs.get("axis", 1)], case.rank, case)
    if axis in case.padded:
        raise case.along([axis])
    if any(layer.value != case.layer.value for layer in case.layers):
        raise joins_otherwise(case.graph, case.node)
    return Behind(case.filled(lambda: one_of(layer.value for layer in case.layers)))


def joins_otherwise(graph: Graph, node: Node) -> RefusalError:
    """The refusal of a node whose data inputs are not padded alike."""
    label = graph.label(node)
    return RefusalError(
        Reason.STEPS_BETWEEN,
        named(lambda name: f"{node.op}{name(label)} joins it with what is not padded alike"),
        operator=label,
    )


def _split(case: PaddedNode) -> Behind:
    (axis,) = _normal([case.node.attrs.get("axis", 0)], case.rank, case)
    if axis in case.padded:
        raise case.along([axis])
    if case.graph.opset >= 13:
        case.constant(1)
    return Behind(case.layer)


def _slice(case: PaddedNode) -> Behind:
    """A Slice along other axes, or one that crops padded axes.

    On each side it may crop part of the padding, or, where there is none, the data itself.
    """
    starts, ends, axes, steps = _bounds(case)
    amounts, kept = list(case.layer.amounts), []
    shape = case.analysis.shape(case.tensor)
    for place, axis in enumerate(axes):
        begin, end = case.layer.amounts[axis]
        if (begin, end) == (0, 0) and steps[place]:  # a step of zero is none
            kept.append((starts[place], ends[place]))
            continue
        size = shape[axis] if shape is not None else None
        known = size is not None and not isinstance(size, Unknown) and steps[place] == 1
        crop = _crop(starts[place], ends[place], size) if known else None
        if crop is None or min(begin, end) < 0:
            raise case.along([axis])
        first, last = crop
        of_data = max(first - begin, 0), max(last - end, 0)
        is_short = not isinstance(size, int) or size - begin - end < sum(of_data)
        if (of_data != (0, 0) and is_short) or any(
            real and pad for real, pad in zip(of_data, (begin, end), strict=True)
        ):
            raise case.along([axis])
        amounts[axis] = (max(begin - first, 0), max(end - last, 0))
        kept.append((of_data[0], -of_data[1] or ENDLESS))
    layer = case.layer._replace(amounts=tuple(amounts))
    if {*kept} <= {(0, ENDLESS)} and {*steps} <= {1}:
        return Behind(layer, vanishes=True)
    if kept == list(zip(starts, ends, strict=True)):
        return Behind(layer)
    begins, stops = ([pair[side] for pair in kept] for side in (0, 1))
    if case.graph.opset < 10:
        return Behind(layer, {}, {"starts": begins, "ends": stops})
    written = case.constant(1)
    assert written is not None
    kind = written.dtype
    return Behind(layer, {1: np.asarray(begins, kind), 2: np.asarray(stops, kind)})


def _crop(start: int, end: int, size: Extent | None) -> tuple[int, int] | None:
    """How many elements a Slice of step 1 drops on both sides; None where unknown."""
    known = size if isinstance(size, int) else None
    if start < 0 and known is None:
        return None
    first = start if start >= 0 else max(start + (known or 0), 0)
    if end < 0:
        last = -end
    elif known is not None:
        last = max(known - end, 0)
    elif end >= ENDLESS:
        last = 0
    else:
        return None
    is_short = size is not None and always(less_equal(first + last, size)) is not True
    return None if is_short else (first, last)


def _bounds(
    case: PaddedNode,
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Starts, ends, axes and steps of a Slice.

    Raises:
        RefusalError: They are not constant, or contradict one another.
    """
    since = 10
    starts, ends = case.integers("starts", 1, since), case.integers("ends", 2, since)
    axes = case.integers("axes", 3, since)
    steps = case.integers("steps", 4, since) if case.graph.opset >= since else None
    if starts is None or ends is None or len(starts) != len(ends):
        raise case.refusal("lacks its bounds")
    axes = _normal(axes if axes is not None else range(len(starts)), case.rank, case)
    steps = steps or (1,) * len(starts)
    if len({*axes}) != len(axes) or not len(axes) == len(starts) == len(steps):
        raise case.refusal("its axes do not fit its bounds")
    return starts, ends, axes, steps


STEPS: Final[Mapping[str, Rule]] = {
    **dict.fromkeys(UNARY, _unary),
    **dict.fromkeys(BINARY, _binary),
    "Cast": _cast,
    "Clip": _clip,
    "Concat": _concat,
    "DequantizeLinear": _dequantise,
    "Dropout": _dropout,
    "Expand": _expand,
    "Flatten": _flatten,
    "QuantizeLinear": _quantise,
    "Reshape": _reshape,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
"""The steps, operators of ONNX's own domain, each with the rule for a layer behind it."""

_JOINS: Final = frozenset({"Concat"})


def data_inputs(graph: Graph, node: Node) -> tuple[int, ...]:
    """The inputs of a node that may be padded; none where it is no step."""
    if not graph.is_standard(node) or node.op not in STEPS or not node.inputs:
        return ()
    if graph.refers(node):
        return ()
    if node.op in _JOINS:
        return tuple(range(len(node.inputs)))
    if node.op in BINARY:
        varying = tuple(i for i, each in enumerate(node.inputs) if graph.constant(each) is None)
        return varying if len(varying) == 1 == len(node.inputs) - 1 else ()
    return (0,)


def behind(
    graph: Graph, analysis: Analysis, node: Node, data: tuple[int, ...], layers: Sequence[PadLayer]
) -> Behind:
    """The layer behind a node of which each data input is padded by one layer.

    Raises:
        RefusalError: The layers cannot be moved past the node; the message says why.
    """
    if any(layer.amounts != layers[0].amounts for layer in layers):
        raise joins_otherwise(graph, node)
    known = [analysis.shape(node.inputs[place]) for place in data]
    if any(shape is not None and len(shape) != len(layers[0].amounts) for shape in known):
        raise PaddedNode(graph, analysis, node, data, tuple(layers)).refusal(
            "its data has another number of axes than it is padded along"
        )
    rule = STEPS[node.op]
    if not isinstance(layers[0].value, EitherZero) or node.op in _JOINS:
        return rule(PaddedNode(graph, analysis, node, data, tuple(layers)))
    found = [
        rule(PaddedNode(graph, analysis, node, data, (layers[0]._replace(value=zero),)))
        for zero in (0.0, -0.0)
    ]
    first = found[0].layer
    try:
        value = one_of(each.layer.value for each in found)
    except UncertainError as error:
        raise refusal_of_uncertain(node.op, layers[0].value, Named.of(str(error))) from error
    return replace(found[0], layer=first._replace(value=value))
