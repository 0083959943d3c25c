"""What passes read of window operators and `Pad`s: the reading of the proof, with its defaults.

Both rest on one table of meaning. A node that the specification forbids is told apart from one that
merely cannot be interpreted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from onnxpad.arithmetic.window import AnyWindow, Window
from onnxpad.errors import ModelError
from onnxpad.graph import Graph, Node, Tensor, describe
from onnxpad.semantics.layers import (
    EXCLUDED,
    ExtentPairs,
    Operand,
    Pairs,
    is_plain_zero,
    numbers_of,
)
from onnxpad.semantics.operators import BESIDE, Fill, Operator, laid_out, operator_of
from onnxpad.semantics.rows import Call, Known, MalformedError, UnreadError, lowest
from onnxpad.semantics.table import PadForm, is_known, over_axes, pad_of, row_named
from onnxpad.semantics.window import (
    AUTO_PADS,
    AutoPad,
    Slide,
    SpreadForm,
    WindowForm,
    form_of,
    zero_of,
)

UnreadableError = UnreadError
"""A node that cannot be interpreted, although it may be legal; the message says why."""


class WindowOp(Struct, frozen=True):
    """A window operator's node, with defaults for absent attributes, and its form as it was read.

    `zero` stands for 0 in its data, and is None where that is not one constant number.
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
    read: WindowForm

    @property
    def form(self) -> WindowForm:
        """How its window slides, with what was replaced since it was read."""
        read = self.read
        own, counts = read.own, self.count_include_pad
        if read.window.own != EXCLUDED:
            counts = read.counts
        said = self.windows, self.auto_pad, self.pads, self.pads_written, self.ceil_mode, counts
        if said == (read.axes, read.auto_pad, read.pads, read.pads_written, read.ceil, read.counts):
            return read
        if counts != read.counts:
            zero = Operand(read.window.zero_point) if self.zero is None else self.zero
            own = zero if counts else EXCLUDED
        return replace(
            read,
            axes=self.windows,
            auto_pad=AUTO_PADS[self.auto_pad],
            pads=self.pads,
            pads_written=self.pads_written,
            ceil=self.ceil_mode,
            counts=counts,
            own=own,
        )

    def fill(self, dtype: int | None) -> float | int | None:
        """The number that its own padding stands for in data of a type; None where unknown."""
        if self.operator.padding is Fill.LOWEST:
            return None if dtype is None else lowest(dtype)
        return self.zero

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


class TransposedOp(Struct, frozen=True):
    """The node of a transposed convolution, with defaults for absent attributes."""

    node: Node
    operator: Operator
    windows: tuple[AnyWindow, ...]
    auto_pad: AutoPad
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
    def form(self) -> SpreadForm:
        """All that its attributes say, as the table of meaning takes it."""
        slide = Slide(self.windows, self.auto_pad, self.pads, self.pads_written, ceil=False)
        return slide, self.output_padding, self.output_shape

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


class PadOp(Struct, frozen=True):
    """A `Pad` node, with what it says as it was read, and its amounts where all are numbers.

    Without axes it pads all in order; amounts and the value are None where they are not known.
    """

    node: Node
    mode: str
    axes: tuple[int, ...] | None
    amounts: ExtentPairs | None
    value: float | int | None
    constant_amounts: Pairs | None = None
    read: PadForm | None = None

    @property
    def data(self) -> Tensor:
        """The tensor that is padded."""
        return self.node.inputs[0]

    def over(self, rank: int) -> Pairs | None:
        """(begin, end) for each of `rank` axes, as `extents_over`; None unless all are numbers."""
        numbers = self.constant_amounts
        return None if numbers is None else over_axes(numbers, self.axes, rank)  # type: ignore[return-value]

    def extents_over(self, rank: int) -> ExtentPairs | None:
        """(begin, end) for each of `rank` axes, as `over_axes`; None where one is unknown."""
        return over_axes(self.amounts, self.axes, rank) if is_known(self.amounts) else None


_Read = TypeVar("_Read", WindowOp, TransposedOp, PadOp)


def _kept(read: Callable[[Call], _Read]) -> Callable[[Graph, Known, Node], _Read]:
    """Reads a node, once for as long as it is not edited if all of it is known.

    A node that contradicts its schema in what is not read is refused too.
    """

    @wraps(read)
    def kept(graph: Graph, analysis: Known, node: Node) -> _Read:
        reading = node.reading
        if reading is not None and reading[0] is analysis:
            known: _Read = reading[1]
            return known
        if name := graph.refers(node):
            raise UnreadableError(
                f"its {name} is an attribute of the function, which each call may set differently"
            )
        row = row_named(graph, node)
        assert row is not None
        try:
            found = read(Call(graph, analysis, node, row))
        except MalformedError as error:
            raise ModelError(f"{node.op} {describe(node)!r}: {error}") from error
        if why := graph.contradiction(node):
            raise UnreadableError(why)
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
def read_window(call: Call) -> WindowOp:
    """Reads the node of an operator whose window gathers."""
    form, node = form_of(call), call.node
    known: WindowOp | None = node.notes.get(form)
    if known is None:  # networks repeat the same few windows
        zero = zero_of(call, form.window)
        known = node.notes[form] = WindowOp(
            node,
            laid_out(call.row, node.attrs),
            form.axes,
            form.auto_pad,
            form.pads,
            form.pads_written,
            form.ceil,
            form.counts and form.window.own == EXCLUDED,
            zero if isinstance(zero, int) else None,
            form,
        )
    return replace(known, node=node)


@_kept
def read_transposed(call: Call) -> TransposedOp:
    """Reads the node of a transposed convolution."""
    from onnxpad.semantics.transposed import spread_form

    slide, appended, wanted = spread_form(call)
    return TransposedOp(
        call.node,
        laid_out(call.row, call.node.attrs),
        slide.axes,
        slide.auto_pad,
        slide.pads,
        slide.pads_written,
        appended,
        wanted,
    )


@_kept
def read_pad(call: Call) -> PadOp:
    """Reads a `Pad` node of any opset."""
    form, rank, node = pad_of(call), call.rank(), call.node
    value = 0 if is_plain_zero(form.value) else form.value  # messages show it like an omitted one
    amounts, axes = form.amounts if form.axes_known else None, form.axes
    if amounts is None:
        return PadOp(node, form.mode, axes, None, value, read=form)
    key = read_pad, amounts, axes, rank
    if key not in node.notes:  # networks repeat the same few paddings
        if rank is not None and over_axes(amounts, axes, rank) is None:
            if axes is None:
                raise MalformedError(f"{len(amounts)} axes are padded, where the data has {rank}")
            raise UnreadableError(f"of {rank} axes of data, it pads {axes}")
        node.notes[key] = numbers_of(amounts)
    return PadOp(node, form.mode, axes, amounts, value, node.notes[key], form)


def is_transposed(graph: Graph, node: Node) -> bool:
    """Whether a node is a transposed convolution: an operator of the table that scatters."""
    row = operator_of(graph, node)
    return row is not None and row.scatters


def is_pad(graph: Graph, node: Node) -> bool:
    """Whether a node is ONNX's own Pad."""
    return node.op == "Pad" and graph.is_standard(node)


def pad_giving(graph: Graph, analysis: Known, tensor: Tensor) -> PadOp | None:
    """The `Pad` whose output is a tensor, directly or through Identity; None unless readable."""
    node = graph.origin(tensor).producer
    if node is None or not is_pad(graph, node):
        return None
    try:
        return read_pad(graph, analysis, node)
    except UnreadableError:
        return None
