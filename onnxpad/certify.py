"""Proof that a rewritten graph computes the same: what is read is derived twice and compared.

For a tensor of the graph before a change, and for the tensor that stands for it after, this module
derives what each element is made of: the positions that a window reads, what lies there when a
position is outside the data, and which positions an average counts. It decides nothing and knows
no pass. May import: errors, finding, graph, operators, signs, size, values, window.
"""

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.errors import ModelError
from onnxpad.finding import Certificate
from onnxpad.graph import Graph
from onnxpad.operators import (
    FLOATS,
    PadOp,
    UnreadableError,
    WindowOp,
    is_padded,
    lowest,
    operator_of,
    read_pad,
    read_window,
)
from onnxpad.signs import Signs
from onnxpad.size import (
    Extent,
    Size,
    Unknown,
    always,
    less_equal,
    maximum,
    minimum,
    symbol,
    where,
)
from onnxpad.values import Analysis
from onnxpad.window import (
    AnyWindow,
    last_read,
    output_size,
    pool_output_size,
    same_output_size,
    same_pads,
)

Node: TypeAlias = Any
Tensor: TypeAlias = Any
Amounts: TypeAlias = tuple[tuple[Extent, Extent], ...]

EXCLUDED: Final = "excluded"  # counts neither in the sum nor in the divisor
LEAST: Final = "least"  # loses every comparison
_SLIDING: Final = frozenset(
    {"auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads", "strides"}
)
# A longer row of Pads is proved piece by piece, or all of it would be read again for each of them.
_MOST_PADS: Final = 16
_LOWEST_FINITE: Final = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE}


class UncertifiedError(Exception):
    """The two graphs could not be shown to compute the same."""


class Layer(NamedTuple):
    """Constant padding around what lies further inside: (begin, end) per axis and what fills it."""

    amounts: Amounts
    fill: float | int | str


class Reading(NamedTuple):
    """What the elements of a tensor are made of.

    Attributes:
        root: Name of the tensor that is read.
        layers: Constant paddings around it, from the inside out, over all axes.
        opaque: A padding that is no layer, outermost (it copies data, or crops what may be too
            short): how it pads, and how much.
        op: The window that slides over all this, or None.
        beside: What that operator says and reads beside its window and its data.
        direct: Name of the tensor that the operator itself reads.
    """

    root: str
    layers: tuple[Layer, ...]
    opaque: tuple[str, Amounts] | None
    op: WindowOp | None
    beside: tuple[object, ...]
    direct: str


class Certifier:
    """Derives readings of tensors of one graph, and compares them."""

    def __init__(self, graph: Graph, analysis: Analysis, signs: Signs) -> None:
        """Reads the graph as it is at each call; keeps nothing of it but the sizes."""
        self._graph = graph
        self._analysis = analysis
        self._signs = signs
        self._compared: dict[tuple[object, ...], _Comparison] = {}

    def window(self, tensor: Tensor, root: str = "") -> Reading:
        """What the elements of a window operator's first output are made of, back to `root`.

        Raises:
            UncertifiedError: Its producer is no such operator, or cannot be read.
        """
        node = self._graph.producer(tensor)
        if node is None or operator_of(self._graph, node) is None:
            raise UncertifiedError(f"nothing computes {tensor.name!r} by a sliding window")
        if tensor.name != node.outputs[0].name:
            raise UncertifiedError(f"{tensor.name!r} is not the operator's first output")
        try:
            op = read_window(self._graph, self._analysis, node)
            return self._read_padding(op.data, op, root)
        except (UnreadableError, ModelError) as error:
            raise UncertifiedError(str(error)) from error

    def padding(self, tensor: Tensor, root: str = "") -> Reading:
        """What the elements of a tensor are made of, through the `Pad`s behind it, back to `root`.

        Raises:
            UncertifiedError: One of them says something that cannot be read.
        """
        try:
            reading = self._read_padding(tensor, None, root)
        except (UnreadableError, ModelError) as error:
            raise UncertifiedError(str(error)) from error
        if not root and reading.root == tensor.name:
            raise UncertifiedError(f"what {tensor.name!r} is padded with is not known")
        return reading

    def _read_padding(self, tensor: Tensor, op: WindowOp | None, root: str) -> Reading:
        layers: list[Layer] = []
        opaque = None
        current = tensor
        rank = None if op is None else len(op.windows) + 2
        seen = 0
        # Indices count positions of the tensor that is pooled, so nothing further up is the same.
        while current.name != root and (op is None or not _has_indices(op.node)):
            current = self._graph.origin(current)
            node = self._graph.producer(current) if current.name != root else None
            if node is None or node.op != "Pad" or not self._graph.is_standard(node):
                break
            seen += 1
            if not root and seen > _MOST_PADS:
                break
            pad = read_pad(self._graph, self._analysis, node)
            if pad.constant_amounts is not None and not is_padded(pad.constant_amounts):
                current = pad.data
                continue
            full = _full(pad, rank if rank is not None else self._rank(pad))
            if op is not None and (full is None or is_padded(full[:2])):
                break
            layer = self._layer(pad, full)
            if full is None or layer is None:
                if op is None and not layers and (found := _opaque(pad, full)) is not None:
                    opaque = found
                    current = pad.data
                break
            layers.append(layer)
            current = pad.data
            rank = len(full)
        beside = () if op is None else _beside(op.node)
        return Reading(current.name, tuple(reversed(layers)), opaque, op, beside, tensor.name)

    def _rank(self, pad: PadOp) -> int | None:
        if pad.axes is None and pad.amounts is not None:
            return len(pad.amounts)
        shape = self._analysis.shape(pad.data)
        return None if shape is None else len(shape)

    def _layer(self, pad: PadOp, full: Amounts | None) -> Layer | None:
        """The layer that a `Pad` lays; None where it cannot be reasoned about.

        A crop must not reach past the other side.
        """
        if full is None or pad.mode != "constant" or pad.value is None:
            return None
        layer = Layer(full, pad.value)
        known = pad.constant_amounts
        if known is not None and min(map(min, known), default=0) >= 0:
            return layer
        crops = [minimum(begin, 0) + minimum(end, 0) for begin, end in full]
        if all(crop == 0 for crop in crops):
            return layer
        shape = self._analysis.shape(pad.data)
        fits = shape is not None and all(
            crop == 0 or always(less_equal(0, size + crop)) is True
            for size, crop in zip(shape, crops, strict=True)
        )
        return layer if fits else None

    def certify(self, before: Reading, after: Reading) -> Certificate:
        """Why two readings are the same for every admitted size.

        Raises:
            UncertifiedError: They differ, or could not be compared; the message says how.
        """
        if before.root != after.root:
            raise UncertifiedError(f"reads {after.root!r} where the original reads {before.root!r}")
        if before.opaque != after.opaque:
            raise UncertifiedError("the copied padding differs")
        if (before.op is None) != (after.op is None):
            raise UncertifiedError("the operator is gone")
        if before.op is None or after.op is None:
            common = _common(before.layers, after.layers)
            if _merged(before.layers[common:]) != _merged(after.layers[common:]):
                raise UncertifiedError("the padding differs")
            return Certificate(
                f"{before.direct!r} holds the same elements of {before.root!r}, and the same fill, "
                "at the same places"
            )
        return self._certify_window(before, before.op, after, after.op)

    def _certify_window(
        self, before: Reading, old: WindowOp, after: Reading, new: WindowOp
    ) -> Certificate:
        before_window = (old.operator, old.windows, before.beside)
        if before_window != (new.operator, new.windows, after.beside):
            raise UncertifiedError("the window itself differs")
        if _overrides(new) and not _overrides(old):
            raise UncertifiedError("auto_pad and pads are both there, and engines heed either")
        if _has_indices(old.node) and before.direct != after.direct:
            raise UncertifiedError("the indices count positions of another tensor")
        sizes = self._sizes(before.root, len(old.windows))
        # Networks repeat themselves.
        key = (_slides(old), before.layers, _slides(new), after.layers, sizes)
        found = self._compared.get(key)
        if found is None:
            found = self._compared[key] = _Comparison(
                (old, before.layers), (new, after.layers), sizes, self._graph.opset
            )
        statement = f"each window reads the same positions of {before.root!r}, {found.outside}"
        if found.same:
            return Certificate(statement, found.holds)
        assumptions = self._check_losing(self._graph.tensor(before.root), found)
        return Certificate(statement, found.holds, tuple(sorted(assumptions)))

    def _check_losing(self, root: Tensor, found: "_Comparison") -> set[str]:
        """What has to be assumed for both sides to be filled with what loses every comparison.

        Raises:
            UncertifiedError: They are not, or a window may read nothing else.
        """
        assumptions: set[str] = set()
        if self._signs.infinite(root) is not None:
            raise UncertifiedError(f"{root.name!r} holds infinities")
        floor = all(
            isinstance(layer.fill, int | float) and layer.fill >= 0 for layer in found.inner
        )
        losing, lost = (
            _merged(tuple(self._losing(layer, root, floor, assumptions) for layer in each.layers))
            for each in (found.first, found.second)
        )
        if not _same_layers(losing, lost):
            raise UncertifiedError(found.differs)
        if (axis := found.blind_axis()) is not None:
            raise UncertifiedError(f"on axis {axis} a window may lie wholly in the padding")
        return assumptions

    def _losing(self, layer: Layer, root: Tensor, floor: bool, assumptions: set[str]) -> Layer:
        """The layer with a fill that loses every comparison called so.

        `floor` says whether what already lies around the root is not below zero.
        """
        dtype = self._analysis.dtype(root)
        if layer.fill == LEAST or dtype is None or isinstance(layer.fill, str):
            return layer
        least = lowest(dtype)
        if dtype in FLOATS:
            if layer.fill == least or (dtype in _LOWEST_FINITE and layer.fill <= _finite(dtype)):
                assumptions.add("finite data")
                return layer._replace(fill=LEAST)
            if layer.fill <= 0 and floor and self._signs.non_negative(root):
                assumptions.add("finite data")
                return layer._replace(fill=LEAST)
            return layer
        return layer._replace(fill=LEAST) if layer.fill == least else layer

    def _sizes(self, root: str, axes: int) -> tuple[Extent, ...]:
        """The spatial sizes of a tensor; fresh symbols where nobody knows them."""
        shape = self._analysis.shape(self._graph.tensor(root))
        if shape is not None and len(shape) != axes + 2:
            raise UncertifiedError(f"{root!r} has {len(shape)} axes, the window {axes}")
        return tuple(
            size if isinstance(size, int | Size) else symbol(f"{root}[{axis}]")
            for axis, size in enumerate(shape[2:] if shape is not None else (None,) * axes, 2)
        )


class _Comparison:
    """What two windows over layers of padding over the same data read.

    Attributes:
        inner: The layers that both have, which are as good as data.
        first: The first window in canonical form.
        second: The second one.
        same: Whether outside of the data they read the same too.
        outside: What the first reads there, in words.
        holds: The sizes that all this holds for, in words.
        differs: What differs outside, in words.
    """

    def __init__(
        self,
        one: tuple[WindowOp, tuple[Layer, ...]],
        other: tuple[WindowOp, tuple[Layer, ...]],
        sizes: tuple[Extent, ...],
        opset: int,
    ) -> None:
        """Compares them over data of such sizes.

        Raises:
            UncertifiedError: They do not read the same positions, or differ outside of the data
                where no comparison can make up for it.
        """
        (old, before), (new, after) = one, other
        common = _common(before, after)
        compares = old.operator.padding == "never wins"
        if compares:
            common = min(common, _finite_layers(before))
        self.inner, outer, others = before[:common], before[common:], after[common:]
        self._windows = old.windows
        self._sizes = tuple(size + _around(self.inner, axis) for axis, size in enumerate(sizes, 2))
        self.holds = _sizes_told(self._sizes)
        self._defined: tuple[Extent, ...] = (1,) * len(sizes)
        if old.operator.pools or old.auto_pad.startswith("SAME"):
            self._defined = _defined(self._sizes, outer, others)
        self.first, self.second = (
            _Sliding(op, layers, self._sizes, self._defined, _counts_beyond(op, opset))
            for op, layers in ((old, outer), (new, others))
        )
        for axis, (a, b) in enumerate(zip(self.first.axes, self.second.axes, strict=True), 2):
            for what, found, wanted in (
                ("the output has", b.output, a.output),
                ("the first window starts at", b.start, a.start),
            ):
                if not isinstance(wanted, int | Size) or wanted != found:
                    raise UncertifiedError(f"on axis {axis} {what} {found}, not {wanted}")
        self.outside = f"with {_told(self.first.layers)} outside"
        self.differs = (
            f"outside the data {_told(self.second.layers)} instead of {_told(self.first.layers)}"
        )
        self.same = _same_layers(self.first.layers, self.second.layers)
        if not self.same and not compares:
            raise UncertifiedError(self.differs)

    def blind_axis(self) -> int | None:
        """An axis on which a window may read no data."""
        axes = zip(self._windows, self.first.axes, self._sizes, self._defined, strict=True)
        for axis, reading in enumerate(axes, 2):
            if not _meets_data(*reading):
                return axis
        return None


@dataclass(frozen=True, slots=True)
class _Axis:
    """One axis of a sliding window: where its first window starts, and how many there are."""

    start: Extent  # relative to the first element of the root
    output: Extent
    last: Extent  # last position read, relative to the same


class _Sliding:
    """A window over layers of padding over data of the given sizes, in canonical form.

    `layers` end where reading ends: what is never read is not told apart. Where a pool that rounds
    up reads past all padding, an outermost layer says what counts there.
    """

    def __init__(
        self,
        op: WindowOp,
        layers: tuple[Layer, ...],
        sizes: tuple[Extent, ...],
        defined: tuple[Extent, ...],
        counts_beyond: bool,
    ) -> None:
        fills: dict[str, str | int] = {"zero": 0, "never wins": LEAST, "excluded": EXCLUDED}
        own = fills[op.padding]
        excludes = op.operator.padding == "excluded" and not counts_beyond
        beyond: str | int = EXCLUDED if excludes else own
        axes, pads = [], []
        for axis, (window, size) in enumerate(zip(op.windows, sizes, strict=True)):
            begin = _total(layer.amounts[axis + 2][0] for layer in layers)
            end = _total(layer.amounts[axis + 2][1] for layer in layers)
            inner = size + begin + end
            if op.auto_pad.startswith("SAME"):
                pad = same_pads(
                    inner, window, odd="begin" if op.auto_pad == "SAME_LOWER" else "end"
                )
                output = same_output_size(inner, window)
            else:
                pad = (0, 0) if op.auto_pad == "VALID" else op.pads[axis]
                output = (
                    pool_output_size(inner, window, *pad, ceil_mode=op.ceil_mode)
                    if op.operator.pools
                    else output_size(inner, window, *pad)
                )
            pads.append(pad)
            start = -(begin + pad[0])
            axes.append(_Axis(start, output, last_read(begin + pad[0], window, output)))
        none: Amounts = ((0, 0), (0, 0))
        everything = (
            *layers,
            Layer((*none, *pads), own),
            # Wide enough to reach past whatever is read; cut to it below.
            Layer((*none, *((0, maximum(axis.last + 1, 0)) for axis in axes)), beyond),
        )
        cut = _cut(_merged(everything), sizes, tuple(axes))
        self.layers = _merged(tuple(_where(defined, layer) for layer in cut))
        self.axes = tuple(
            _Axis(*(_only(some, each) for each in (axis.start, axis.output, axis.last)))
            for some, axis in zip(defined, axes, strict=True)
        )


def _common(one: tuple[Layer, ...], other: tuple[Layer, ...]) -> int:
    """How many inner layers are the same on both sides, and so are as good as data."""
    return sum(
        1
        for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    )


def _finite_layers(layers: tuple[Layer, ...]) -> int:
    """How many inner layers hold no infinities, which are no data that a maximum is sure of."""
    return sum(
        1
        for _ in itertools.takewhile(
            lambda layer: not (isinstance(layer.fill, float) and math.isinf(layer.fill)), layers
        )
    )


def _defined(
    sizes: tuple[Extent, ...], before: tuple[Layer, ...], after: tuple[Layer, ...]
) -> tuple[Extent, ...]:
    """Per axis, at which sizes the operator is defined: it admits no empty axis.

    Raises:
        UncertifiedError: It would meet an empty axis where it met none before.
    """
    defined: list[Extent] = []
    for axis, size in enumerate(sizes, 2):
        was, would = _around(before, axis), _around(after, axis)
        some = less_equal(1, size) if isinstance(was, int) and was == 0 else 1
        less = always(less_equal(was, would)) is not True
        if less and always(where(some, less_equal(1, size + would), 1)) is not True:
            raise UncertifiedError(f"axis {axis} may be empty, which the operator refuses")
        defined.append(some)
    return tuple(defined)


def _only(some: Extent, extent: Extent) -> Extent:
    """An extent where a condition holds, and 0 elsewhere."""
    return extent if always(some) is True else where(some, extent, 0)


def _where(defined: tuple[Extent, ...], layer: Layer) -> Layer:
    """A layer that is none at sizes of an axis at which nothing is defined."""
    spatial = (
        (_only(some, begin), _only(some, end))
        for some, (begin, end) in zip(defined, layer.amounts[2:], strict=True)
    )
    return layer._replace(amounts=(*layer.amounts[:2], *spatial))


def _counts_beyond(op: WindowOp, opset: int) -> bool:
    """Whether an average divides by its whole kernel even where that reaches past all padding.

    Source: onnxruntime; without ceil_mode that is a kernel longer than the padded line.
    """
    return op.count_include_pad and not op.ceil_mode and opset < 19


def _around(layers: tuple[Layer, ...], axis: int) -> Extent:
    """What layers add to the length of an axis."""
    return _total(amount for layer in layers for amount in layer.amounts[axis])


def _total(amounts: Iterable[Extent]) -> Extent:
    total: Extent = 0
    for amount in amounts:
        total = total + amount
    return total


def _cut(
    layers: tuple[Layer, ...], sizes: tuple[Extent, ...], axes: tuple[_Axis, ...]
) -> Iterator[Layer]:
    """The layers without what lies past the last position read, crops of it among them."""
    edges = list(sizes)
    for layer in layers:
        amounts = list(layer.amounts)
        for axis, reading in enumerate(axes):
            begin, end = amounts[axis + 2]
            left = maximum(reading.last + 1 - edges[axis], 0)
            edges[axis] = edges[axis] + end
            end = minimum(end, left)
            if always(less_equal(reading.last + 1, edges[axis])) is True:
                end = maximum(end, 0)
            amounts[axis + 2] = (begin, end)
        yield Layer(tuple(amounts), layer.fill)


def _merged(layers: tuple[Layer, ...]) -> tuple[Layer, ...]:
    """The layers without empty ones, neighbours of equal fill as one.

    Two layers are one where neither crops, or both do, or the outer one crops no more than the
    inner one pads, on every side.
    """
    merged: list[Layer] = []
    for layer in layers:
        if all(begin == 0 and end == 0 for begin, end in layer.amounts):
            continue
        if merged and merged[-1].fill == layer.fill and _summable(merged[-1], layer):
            inner = merged.pop()
            layer = Layer(
                tuple(
                    (b0 + b1, e0 + e1)
                    for (b0, e0), (b1, e1) in zip(inner.amounts, layer.amounts, strict=True)
                ),
                layer.fill,
            )
            if all(begin == 0 and end == 0 for begin, end in layer.amounts):
                continue
        merged.append(layer)
    return tuple(merged)


def _summable(inner: Layer, outer: Layer) -> bool:
    def sums(one: Extent, other: Extent) -> bool:
        if not (isinstance(one, int) and isinstance(other, int)):
            return always(less_equal(0, one)) is True and always(less_equal(0, other)) is True
        return (one <= 0 and other <= 0) or (one >= 0 and one + other >= 0)

    return all(
        sums(b0, b1) and sums(e0, e1)
        for (b0, e0), (b1, e1) in zip(inner.amounts, outer.amounts, strict=True)
    )


def _same_layers(one: tuple[Layer, ...], other: tuple[Layer, ...]) -> bool:
    known = all(isinstance(n, int | Size) for layer in one for pair in layer.amounts for n in pair)
    return known and one == other


def _meets_data(window: AnyWindow, axis: _Axis, size: Extent, some: Extent) -> bool:
    """Whether every window reads at least one element of the data, where there is `some`."""
    reach = (window.kernel - 1) * window.dilation
    conditions = [
        less_equal(1, size),
        less_equal(0, axis.start + reach),
        less_equal(axis.start + (axis.output - 1) * window.stride, size - 1),
    ]
    if window.dilation != 1 and window.kernel != 1:
        conditions.append(less_equal(window.dilation, size))
    return all(always(where(some, condition, 1)) is True for condition in conditions)


def _opaque(pad: PadOp, full: Amounts | None) -> tuple[str, Amounts] | None:
    """A padding word for word; None where nothing is known of an amount."""
    amounts = full if full is not None else pad.amounts
    if amounts is None or any(isinstance(n, Unknown) for pair in amounts for n in pair):
        return None
    manner = [pad.mode]
    if pad.mode == "constant":
        manner.append(str(pad.value) if pad.value is not None else pad.node.inputs[2].name)
    if full is None:
        manner.append(str(pad.axes))
    return " ".join(manner), amounts


def _full(pad: PadOp, rank: int | None) -> Amounts | None:
    return None if rank is None else pad.extents_over(rank)


def _finite(dtype: int) -> float:
    import numpy as np

    return float(np.finfo(tensor_dtype_to_np_dtype(dtype)).min)


def _has_indices(node: Node) -> bool:
    return len(node.outputs) > 1 and bool(node.outputs[1].name)


def _overrides(op: WindowOp) -> bool:
    """Whether it says its padding twice, which the specification forbids."""
    return op.auto_pad != "NOTSET" and op.pads_written


def _slides(op: WindowOp) -> tuple[object, ...]:
    """All that says how an operator slides and pads."""
    kind = op.operator.op_type
    return (kind, op.windows, op.auto_pad, op.pads, op.ceil_mode, op.count_include_pad)


def _beside(node: Node) -> tuple[object, ...]:
    """All but the window and its padding; written down, since an edit leaves the node itself."""
    others = {name: value for name, value in node.attrs.items() if name not in _SLIDING}
    return (others, *[tensor.name for tensor in node.inputs[1:]])


def _told(layers: tuple[Layer, ...]) -> str:
    names = {LEAST: "what never wins", EXCLUDED: "what is not counted"}
    fills = [
        names[layer.fill] if isinstance(layer.fill, str) else f"{layer.fill:g}" for layer in layers
    ]
    return ", then ".join(fills) or "nothing"


def _sizes_told(sizes: tuple[Extent, ...]) -> str:
    if all(isinstance(size, int) for size in sizes):
        return "size " + "x".join(map(str, sizes))
    return "every size"
