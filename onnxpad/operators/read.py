"""Reads the nodes of window operators and `Pad` nodes: everything but the proof uses this."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Final, Protocol, TypeVar

from onnx import TensorProto

from onnxpad.arithmetic.size import Extent, Size, Unknown, symbol
from onnxpad.arithmetic.window import AnyWindow, OpenWindow, Window, window_of
from onnxpad.errors import ModelError
from onnxpad.graph import Graph, Node, Tensor, describe
from onnxpad.graph.nodes import noted
from onnxpad.graph.schema import exists
from onnxpad.messages import counted
from onnxpad.operators.amounts import (
    ExtentPair,
    Pairs,
    is_plain_zero,
    numbers_of,
    onnx_order,
    over_axes,
    pairs_of,
)
from onnxpad.operators.table import BESIDE, Fill, Operator, operator_named, operator_of
from onnxpad.records import NamedTuple

_Read = TypeVar("_Read")

# No tensor is longer, and sums of amounts up to this fit an int64.
_GREATEST: Final = 2**31 - 1

# An unknown type may be int64.
_INTEGERS: Final = frozenset({None, TensorProto.INT64})


class UnreadableError(Exception):
    """A node that cannot be interpreted, although it may be legal; the message says why."""


class Known(Protocol):
    """An analysis of the tensors of a graph."""

    def shape(self, tensor: Tensor) -> tuple[Extent, ...] | None:
        """The sizes of a tensor's axes; None where its rank is unknown."""

    def dtype(self, tensor: Tensor) -> int | None:
        """A tensor's element type; None where unknown."""

    def integers(self, tensor: Tensor) -> tuple[Extent, ...] | None:
        """The content of a small tensor; None where unknown, or not of integers."""

    def scalar(self, tensor: Tensor) -> float | int | None:
        """The one element of a tensor; None where unknown, or unless there is just one."""


class Slide(NamedTuple):
    """How a window slides and pads, from the attributes that all window operators share.

    Attributes:
        windows: One per spatial axis; a kernel that is unknown until run time is a symbol.
        auto_pad: `NOTSET`, `VALID`, `SAME_UPPER` or `SAME_LOWER`.
        pads: (begin, end) per spatial axis, as written; zeros where absent.
        pads_written: Whether the node has the attribute `pads`.
        ceil_mode: Whether output sizes round up.
    """

    windows: tuple[AnyWindow, ...]
    auto_pad: str
    pads: Pairs
    pads_written: bool
    ceil_mode: bool


class WindowOp(NamedTuple):
    """A window operator's node, with defaults for absent attributes.

    Attributes:
        node: The node.
        operator: Its row.
        windows: As in `Slide`, like the next four.
        count_include_pad: Whether its own padding is counted.
        zero: The number that stands for 0 in its data: the data's zero point, if there is one.
            None where that is not one constant number.
    """

    node: Node
    operator: Operator
    windows: tuple[AnyWindow, ...]
    auto_pad: str
    pads: Pairs
    pads_written: bool
    ceil_mode: bool
    count_include_pad: bool
    zero: int | None

    @property
    def padding(self) -> Fill:
        """The fill of its own padding: `Operator.padding`, adjusted by its attributes."""
        if self.count_include_pad:
            return Fill.ZERO if self.operator.inputs.zero_point is None else Fill.ZERO_POINT
        return self.operator.padding

    @property
    def data(self) -> Tensor:
        """The tensor that the window slides over."""
        return self.node.inputs[self.operator.inputs.data]

    @property
    def rank(self) -> int:
        """The rank of its data."""
        return len(self.windows) + BESIDE

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of its data that the window slides along."""
        return self.operator.layout.axes(self.rank)

    @property
    def is_dilated(self) -> bool:
        """Whether any dilation is not 1."""
        return any(window.dilation != 1 for window in self.windows)

    @property
    def gives_indices(self) -> bool:
        """Whether it has an output for positions in the data (Indices)."""
        index, outputs = self.operator.indices, self.node.outputs
        return index is not None and len(outputs) > index and bool(outputs[index].name)


class TransposedOp(NamedTuple):
    """The node of a transposed convolution, with defaults for absent attributes.

    Attributes:
        node: The node.
        operator: Its row.
        windows: One per spatial axis; a kernel that is unknown until run time is a symbol.
        auto_pad: `NOTSET`, `VALID`, `SAME_UPPER` or `SAME_LOWER`.
        pads: (begin, end) per spatial axis that crop the output, as written; zeros where absent.
        pads_written: Whether the node has the attribute `pads`.
        output_padding: The elements appended on each spatial axis.
        output_shape: The size asked for on each spatial axis; None where it is absent.
    """

    node: Node
    operator: Operator
    windows: tuple[AnyWindow, ...]
    auto_pad: str
    pads: Pairs
    pads_written: bool
    output_padding: tuple[int, ...]
    output_shape: tuple[int, ...] | None

    @property
    def data(self) -> Tensor:
        """The tensor whose elements are spread over windows."""
        return self.node.inputs[self.operator.inputs.data]

    @property
    def is_explicit(self) -> bool:
        """Whether `pads` and `output_padding` alone say how much it gives."""
        return self.auto_pad == "NOTSET" and self.output_shape is None

    @property
    def bias(self) -> Tensor | None:
        """The bias, if there is one."""
        place = self.operator.inputs.bias
        return None if place is None else self.node.operand(place)

    @property
    def axes(self) -> tuple[int, ...]:
        """The spatial axes of data and output."""
        layout = self.operator.layout
        return layout.axes(layout.rank(len(self.windows)))


class PadOp(NamedTuple):
    """A `Pad` node.

    Attributes:
        node: The node.
        mode: `constant`, `reflect`, `edge` or `wrap`.
        axes: The axes it names, or None for all of them in order.
        amounts: (begin, end) per axis of `axes`; None where they are not evaluated.
        value: The fill in mode `constant`; None where it is unknown until run time.
        constant_amounts: The amounts where all are known numbers, else None.
    """

    node: Node
    mode: str
    axes: tuple[int, ...] | None
    amounts: tuple[ExtentPair, ...] | None
    value: float | int | None
    constant_amounts: Pairs | None = None

    @property
    def data(self) -> Tensor:
        """The tensor that is padded."""
        return self.node.inputs[0]

    def over(self, rank: int) -> Pairs | None:
        """(begin, end) for each of `rank` axes, as `extents_over`; None unless all are numbers."""
        numbers = self.constant_amounts
        if numbers is None or self.axes is None:
            return numbers if numbers is not None and len(numbers) == rank else None
        return numbers_of(self.extents_over(rank))

    def extents_over(self, rank: int) -> tuple[ExtentPair, ...] | None:
        """(begin, end) for each of `rank` axes, as `over_axes`; None where one is unknown."""
        pairs = self.amounts
        if pairs is None or not (self.constant_amounts or _is_known(pairs)):
            return None
        return over_axes(pairs, self.axes, rank)


def _is_known(pairs: Sequence[ExtentPair]) -> bool:
    """Whether no amount is unknown."""
    return not any(isinstance(amount, Unknown) for pair in pairs for amount in pair)


def _kept(
    read: Callable[[Graph, Known, Node], _Read],
) -> Callable[[Graph, Known, Node], _Read]:
    """Caches what is read of a node, until the node is edited, once all of it is known.

    A node that contradicts its schema in what is not read is refused too.
    """

    @wraps(read)
    def kept(graph: Graph, analysis: Known, node: Node) -> _Read:
        reading = node.reading
        if reading is not None and reading[0] is analysis:
            known: _Read = reading[1]
            return known
        found = read(graph, analysis, node)
        _check_schema(graph, node)
        if _is_settled(found):
            node.reading = analysis, found
        return found

    return kept


def _is_settled(read: object) -> bool:
    """Whether everything is known, so that no edit of another node can add to it."""
    if isinstance(read, WindowOp):
        return {Window}.issuperset(map(type, read.windows)) and read.zero is not None
    return isinstance(read, PadOp) and None not in (read.constant_amounts, read.value)


@_kept
def read_window(graph: Graph, analysis: Known, node: Node) -> WindowOp:
    """Reads the node of an operator whose window gathers.

    Raises:
        ModelError: An attribute that the specification forbids (length, type, sign).
        UnreadableError: The node cannot be interpreted.
    """
    operator = _sound_row(graph, node)
    slide = read_slide(node, _kernel(analysis, node, operator, graph.unique))
    counts = operator.counts is not None and _flag(node, operator.counts)
    power = 1 if operator.power is None else node.attrs.get(operator.power, 2)
    if not isinstance(power, int | float) or not power > 0:
        raise UnreadableError(f"its {operator.power} is not above 0: zeros around data would count")
    if operator.channels_last is not None:
        _check_switch(node, operator.channels_last)
    zero = _zero_point(graph, analysis, node, operator)
    return WindowOp(node, operator, *slide, count_include_pad=counts, zero=zero)


def is_transposed(graph: Graph, node: Node) -> bool:
    """Whether a node is a transposed convolution: an operator of the table that scatters."""
    row = operator_of(graph, node)
    return row is not None and row.scatters


def is_pad(graph: Graph, node: Node) -> bool:
    """Whether a node is ONNX's own Pad."""
    return node.op == "Pad" and graph.is_standard(node)


def names_pad(graph: Graph, node: Node) -> bool:
    """Whether a node names a `Pad`, even if it contradicts the schema."""
    return node.op == "Pad" and graph.names_standard(node)


@_kept
def read_transposed(graph: Graph, analysis: Known, node: Node) -> TransposedOp:
    """Reads the node of a transposed convolution.

    Raises:
        ModelError: An attribute that the specification forbids (length, type, sign).
        UnreadableError: The node cannot be interpreted.
    """
    operator = _sound_row(graph, node)
    kernel = _kernel(analysis, node, operator, graph.unique)
    slide, rank = _read_slide(node, kernel), len(kernel)
    data = analysis.shape(node.inputs[operator.inputs.data])
    whole = operator.layout.rank(rank)
    if data is not None and len(data) != whole:
        raise UnreadableError(f"its data has {len(data)} axes, and its weight {whole}")
    appended = integers_of(node, "output_padding", rank, least=0) or (0,) * rank
    wanted = integers_of(node, "output_shape", rank, least=1)
    return TransposedOp(node, operator, *slide[:4], appended, wanted)


@noted
def _sound_row(graph: Graph, node: Node) -> Operator:
    """The row of a node, which has what the row asks of every node.

    Raises:
        ModelError: It has no data input, or no output.
        UnreadableError: It cannot be interpreted in the opset, or outside of its function.
    """
    operator = operator_named(graph, node)
    assert operator is not None
    _check_own(graph, node)
    _check_version(graph, node, operator)
    _check_ends(node, operator.inputs.data)
    for name, opset in operator.since.items():
        if name in node.attrs and graph.opset < opset:
            raise UnreadableError(f"opset {graph.opset} has no attribute {name}")
    return operator


def _check_version(graph: Graph, node: Node, operator: Operator) -> None:
    """Raises unless the operator exists in the version of its domain that the graph imports.

    That one a user declared has no outputs but the first is checked here too.

    Raises:
        UnreadableError: It does not, or its meaning in that version is unknown.
    """
    if graph.names_standard(node):
        if not exists(node.op, graph.opset):
            raise UnreadableError(f"opset {graph.opset} has no {node.op}")
    elif operator.declaration is not None:
        if any(output.name for output in node.outputs[1:]):
            raise UnreadableError("nothing is declared of its further outputs")
    elif (version := graph.opsets.get(node.domain or "", 1)) != 1:
        raise UnreadableError(f"{node.op} of version {version} of {node.domain} is unknown")


def _zero_point(graph: Graph, analysis: Known, node: Node, operator: Operator) -> int | None:
    """The number that stands for 0 in the data of a node; None where unknown.

    The specification wants one zero point for all data, and onnxruntime runs no other.
    """
    place = operator.inputs.zero_point
    tensor = None if place is None else node.operand(place)
    if tensor is None:
        return 0
    if analysis.shape(tensor) not in ((), (1,)):
        return None
    value = _scalar(graph, analysis, tensor)
    return value if isinstance(value, int) else None


def read_slide(node: Node, kernel: Sequence[int | Size]) -> Slide:
    """Reads from a node's attributes how a window with this kernel slides and pads.

    Raises:
        ModelError: An attribute that the specification forbids (length, type, sign).
        UnreadableError: An attribute whose meaning is unknown.
    """
    key = read_slide, tuple(kernel)
    slide: Slide | None = node.notes.get(key)
    if slide is None:
        slide = _read_slide(node, kernel)
        if slide.pads and min(map(min, slide.pads)) < 0:
            raise UnreadableError(
                f"its pads {_brief(onnx_order(slide.pads))} are negative, which the specification "
                "forbids"
            )
        node.notes[key] = slide
    return slide


def _read_slide(node: Node, kernel: Sequence[int | Size]) -> Slide:
    rank = len(kernel)
    strides = integers_of(node, "strides", rank, least=1) or (1,) * rank
    dilations = integers_of(node, "dilations", rank, least=1) or (1,) * rank
    pads = integers_of(node, "pads", 2 * rank)
    return Slide(
        windows=tuple(map(_window, kernel, strides, dilations)),
        auto_pad=auto_pad_of(node),
        pads=pairs_of(pads) if pads is not None else ((0, 0),) * rank,
        pads_written=pads is not None,
        ceil_mode=_flag(node, "ceil_mode"),
    )


def auto_pad_of(node: Node) -> str:
    """A node's `auto_pad`; `NOTSET` where it is absent or empty.

    Raises:
        ModelError: It is not a string.
        UnreadableError: It is none of the four values.
    """
    auto_pad = _string(node, "auto_pad") or "NOTSET"
    if auto_pad not in {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}:
        raise UnreadableError(
            f"auto_pad={auto_pad!r} is none of NOTSET, VALID, SAME_UPPER, SAME_LOWER"
        )
    return auto_pad


def kernel_shape(node: Node) -> tuple[int, ...] | None:
    """A node's `kernel_shape`; None where it is absent, so that the weight has the kernel.

    Raises:
        ModelError: It is not a list of positive integers.
    """
    return integers_of(node, "kernel_shape", None, least=1)


def _window(kernel: int | Size, stride: int, dilation: int) -> AnyWindow:
    if isinstance(kernel, int):
        return window_of(kernel, stride, dilation)
    return OpenWindow(kernel, stride, dilation)


def _kernel(
    analysis: Known, node: Node, operator: Operator, unique: Callable[[str], str]
) -> tuple[int | Size, ...]:
    written = kernel_shape(node)
    place, layout = operator.inputs.weight, operator.weight_layout
    if place is None or layout is None:
        if written is None:
            raise ModelError(
                f"{_where(node)} has no kernel_shape, which the specification requires"
            )
        return written
    weight = node.operand(place)
    if weight is None:
        raise ModelError(f"{_where(node)} has no weight input: the model is damaged")
    shape = analysis.shape(weight)
    if shape is not None and len(shape) <= layout.rank(0):
        raise UnreadableError(f"its weight {weight.name!r} has no spatial axis")
    if written is None:
        if shape is None:
            # The kernel's size is unknown, but the padding can be read without it.
            count = _count_windows(analysis, node, operator)
            if count is None:
                raise UnreadableError(
                    f"the number of axes of its weight {weight.name!r} is unknown"
                )
            shape = (symbol("?"),) * layout.rank(count)
        sizes = layout.spatial(shape)
        if {int}.issuperset(map(type, sizes)):
            return sizes  # type: ignore[return-value]  # all are numbers
        return tuple(
            size if isinstance(size, int | Size) else symbol(f"{unique(weight.name)}[{axis}]")
            for axis, size in zip(layout.axes(len(shape)), sizes, strict=True)
        )
    if shape is not None and layout.spatial(shape) != written:
        fits = len(shape) == layout.rank(len(written)) and all(
            not isinstance(known, int) or known == said
            for known, said in zip(layout.spatial(shape), written, strict=True)
        )
        if not fits:
            raise ModelError(
                f"{_where(node)}: kernel_shape {_brief(written)} conflicts with its weight "
                f"{weight.name!r} of shape {_brief(shape)}; correct one of them"
            )
    return written


def _count_windows(analysis: Known, node: Node, operator: Operator) -> int | None:
    """The number of axes along which a window with an unknown kernel slides."""
    for name, parts in (("strides", 1), ("dilations", 1), ("pads", 2)):
        if isinstance(node.attrs.get(name), list):
            return len(node.attrs[name]) // parts
    shape = analysis.shape(node.inputs[operator.inputs.data])
    return len(operator.layout.axes(len(shape))) or None if shape is not None else None


@_kept
def read_pad(graph: Graph, analysis: Known, node: Node) -> PadOp:
    """Reads a `Pad` node of any opset.

    Raises:
        ModelError: Amounts that the specification forbids (odd number, wrong type, wrong rank).
        UnreadableError: A mode, axes or amounts that the specification does not define.
    """
    _check_own(graph, node)
    _check_ends(node, 0)
    mode = _string(node, "mode") or "constant"
    if mode not in {"constant", "reflect", "edge", "wrap"}:
        raise UnreadableError(f"mode {mode!r} is none of constant, reflect, edge, wrap")
    axes: tuple[int, ...] | None = None
    flat: Sequence[Extent] | None
    value: float | int | None
    if graph.opset < 11:
        name = amounts_attribute(graph.opset)
        flat = integers_of(node, name, None)
        if flat is None:
            raise ModelError(f"{_where(node)} has no {name}, which opset {graph.opset} requires")
        value = _number(node, "value")
    else:
        amounts = node.operand(1)
        if amounts is None:
            raise ModelError(
                f"{_where(node)} has no pads input, which opset {graph.opset} requires"
            )
        if analysis.dtype(amounts) not in _INTEGERS:
            raise ModelError(f"{_where(node)}: its pads {amounts.name!r} must be int64")
        flat = analysis.integers(amounts)
        filler = node.operand(2)
        value = 0 if filler is None else _scalar(graph, analysis, filler)
        named = node.operand(3)
        if named is not None:
            found = analysis.integers(named)
            known = [a for a in found or () if isinstance(a, int)]
            if found is None or len(known) != len(found):
                return PadOp(node, mode, None, None, value)
            axes = tuple(known)
    if is_plain_zero(value):
        value = 0  # messages show it like an omitted one
    if flat is None:
        return PadOp(node, mode, axes, None, value)
    shape = analysis.shape(node.inputs[0])
    rank = None if shape is None else len(shape)
    key = read_pad, tuple(flat), axes, rank
    numbers: Pairs | None = node.notes.get(key)
    if numbers is not None:
        return PadOp(node, mode, axes, numbers, value, numbers)
    pairs = _paired(node, flat, axes, rank)
    numbers = node.notes[key] = numbers_of(pairs)
    return PadOp(node, mode, axes, pairs, value, numbers)


def _paired(
    node: Node, flat: Sequence[Extent], axes: tuple[int, ...] | None, rank: int | None
) -> tuple[ExtentPair, ...]:
    """The amounts of a `Pad` as (begin, end) per axis."""
    if len(flat) % 2 or (axes is not None and len(flat) != 2 * len(axes)):
        raise ModelError(
            f"{_where(node)}: {counted(len(flat), 'pad')}, but a begin and an end are needed for "
            f"each {'axis' if axes is None else f'of {len(axes)} axes'}"
        )
    if axes is not None:
        _check_axes(axes, rank)
    elif rank is not None and len(flat) != 2 * rank:
        raise ModelError(
            f"{_where(node)}: {counted(len(flat), 'pad')} for {node.inputs[0].name!r}, whose "
            f"{rank} axes need {2 * rank}"
        )
    _check_magnitude([amount for amount in flat if isinstance(amount, int)], "pads")
    half = len(flat) // 2
    return tuple(zip(flat[:half], flat[half:], strict=True))


def amounts_attribute(opset: int) -> str:
    """The attribute of a `Pad` that holds its amounts, before opset 11."""
    return "pads" if opset > 1 else "paddings"


def pad_giving(graph: Graph, analysis: Known, tensor: Tensor) -> PadOp | None:
    """The `Pad` whose output is a tensor, directly or through Identity; None unless readable."""
    node = graph.origin(tensor).producer
    if node is None or not is_pad(graph, node):
        return None
    try:
        return read_pad(graph, analysis, node)
    except UnreadableError:
        return None


def _where(node: Node) -> str:
    """How messages name a node that cannot be read."""
    return f"{node.op} {describe(node)!r}"


def _check_own(graph: Graph, node: Node) -> None:
    """Raises UnreadableError where an attribute is one of the function around."""
    if name := graph.refers(node):
        raise UnreadableError(
            f"its {name} is an attribute of the function, which each call may set differently"
        )


def _check_schema(graph: Graph, node: Node) -> None:
    """Raises UnreadableError where a node contradicts its schema in what is not read here."""
    if why := graph.contradiction(node):
        raise UnreadableError(why)


def _check_ends(node: Node, data: int) -> None:
    """Raises ModelError unless a node has a data input and an output."""
    if node.operand(data) is None or not node.outputs:
        raise ModelError(f"{_where(node)} has no data input or no output: the model is damaged")


def _scalar(graph: Graph, analysis: Known, tensor: Tensor) -> float | int | None:
    """The one element of a constant tensor; None where unknown, or unless there is just one."""
    array = graph.constant(tensor)
    if array is None:
        return analysis.scalar(tensor)
    if array.size != 1 or array.dtype.kind not in "fiubV":
        return None
    item = array.reshape(-1)[0]
    return int(item) if array.dtype.kind in "iub" else float(item)


def integers_of(
    node: Node, name: str, count: int | None, least: int | None = None
) -> tuple[int, ...] | None:
    """An attribute of a node; None where it is absent.

    Args:
        node: The node.
        name: The name of the attribute.
        count: How many integers it must have; None for any number.
        least: The least that each may be; None for any.

    Raises:
        ModelError: It is something else than such a list of integers.
        UnreadableError: They are beyond the length of any tensor.
    """
    value = node.attrs.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not {int}.issuperset(map(type, value)):
        raise ModelError(f"{_where(node)}: {name} must be a list of integers")
    if (not value and name != "pads") or (not value and count is not None):
        return None  # onnxruntime takes an empty list for an absent one
    if count is not None and len(value) != count:
        raise ModelError(
            f"{_where(node)}: {name} has {counted(len(value), 'value')}, but needs {count}"
        )
    if least is not None and min(value) < least:
        raise ModelError(f"{_where(node)}: {name} {_brief(value)} must not be below {least}")
    _check_magnitude(value, name)
    return tuple(value)


def _check_axes(axes: Sequence[int], rank: int | None) -> None:
    """Raises UnreadableError where an axis is named twice, or the data does not have it."""
    for axis in axes:
        if rank is not None and not -rank <= axis < rank:
            raise UnreadableError(
                f"its axes {_brief(axes)} name one that data of rank {rank} lacks"
            )
    if len({axis if rank is None else axis % rank for axis in axes}) != len(axes):
        raise UnreadableError(
            f"its axes {_brief(axes)} name one twice, which the specification leaves undefined"
        )


def _check_magnitude(values: Sequence[int], name: str) -> None:
    """Raises UnreadableError for amounts beyond the length of any tensor."""
    if values and (max(values) > _GREATEST or min(values) < -_GREATEST):
        raise UnreadableError(f"its {name} {_brief(values)} are beyond {_GREATEST}")


def _string(node: Node, name: str) -> str:
    value = node.attrs.get(name, "")
    if not isinstance(value, str):
        raise ModelError(f"{_where(node)}: {name} must be a string")
    return value


def _number(node: Node, name: str) -> float:
    value = node.attrs.get(name, 0.0)
    if not isinstance(value, int | float):
        raise ModelError(f"{_where(node)}: {name} must be a number")
    return float(value)


def _flag(node: Node, name: str) -> bool:
    value = node.attrs.get(name, 0)
    if type(value) is not int:
        raise ModelError(f"{_where(node)}: {name} must be an integer")
    return value != 0


def _check_switch(node: Node, name: str) -> None:
    """Raises UnreadableError unless an attribute is 0 or 1: runtimes may differ on others."""
    _flag(node, name)
    value = node.attrs.get(name, 0)
    if value not in (0, 1):
        raise UnreadableError(f"its {name} is {value}, neither 0 nor 1")


def _brief(values: Sequence[object]) -> str:
    return "(" + ", ".join(map(str, values)) + ")"
