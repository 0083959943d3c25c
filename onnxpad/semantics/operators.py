"""What passes read of window operators and `Pad`s: the reading of the proof, with its defaults.

Both rest on one table of meaning, whose rows have their axes by layout here. A node that the
specification forbids is told apart from one that merely cannot be interpreted.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, wraps
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from onnxpad import declared
from onnxpad.arithmetic.window import Window, named
from onnxpad.declared import Key
from onnxpad.errors import ModelError
from onnxpad.graph import Graph, Node, Tensor, describe
from onnxpad.graph.nodes import noted
from onnxpad.semantics.layers import EXCLUDED, LEAST, Operand, Pairs, is_padded
from onnxpad.semantics.rows import (
    ZERO,
    Call,
    Known,
    MalformedError,
    Row,
    UnreadError,
    lowest,
    since,
)
from onnxpad.semantics.table import PadOp as PadOp
from onnxpad.semantics.table import over_axes, pad_of, row_named
from onnxpad.semantics.window import (
    TRANSPOSED,
    WINDOWS,
    AutoPad,
    Slide,
    SpreadForm,
    WindowForm,
    form_of,
    zero_of,
)

T = TypeVar("T")

BESIDE = 2
"""The number of axes that are not spatial: batch and channels."""


class Fill(enum.StrEnum):
    """The value that an operator's own padding stands for."""

    ZERO = "zero"
    """It enters the sum as 0."""
    LOWEST = "never wins"
    """It is below every value."""
    EXCLUDED = "excluded"
    """It enters neither the sum nor the divisor, unless an attribute makes it count."""
    ZERO_POINT = "zero point"
    """It is the data's zero point, an input."""


class Inputs(Struct, frozen=True):
    """The indices of an operator's inputs but the first, its data; None for one that it has not."""

    weight: int | None = None
    bias: int | None = None
    zero_point: int | None = None


class Layout(Struct, frozen=True, eq=False):
    """The two axes that are not spatial; a negative number counts from the last.

    In a weight, they are those of the output and of the input channels.
    """

    batch: int
    channels: int

    def rank(self, windows: int) -> int:
        """The rank of a tensor with this many spatial axes."""
        return windows + BESIDE

    def axes(self, rank: int) -> tuple[int, ...]:
        """The spatial axes of a tensor of this rank, in order."""
        return _spatial_axes(self, rank)

    def spatial(self, each: Sequence[T]) -> tuple[T, ...]:
        """The items of the spatial axes, given one item for each axis."""
        return tuple(map(each.__getitem__, _spatial_axes(self, len(each))))

    def others(self, each: Sequence[T]) -> tuple[T, ...]:
        """The items of batch and channels, in their order, given one item for each axis."""
        spatial = _spatial_axes(self, len(each))
        return tuple([one for axis, one in enumerate(each) if axis not in spatial])

    @lru_cache(maxsize=1024)  # noqa: B019 - the layouts are a few constants
    def text(self, amounts: Pairs) -> str:
        """Amounts of a `Pad` for people, as `C 0+3, H 1+2, W 0+1`."""
        return ", ".join(f"{name} {begin}+{end}" for name, begin, end in self.named(amounts))

    @lru_cache(maxsize=1024)  # noqa: B019 - the layouts are a few constants
    def named(self, amounts: Pairs) -> tuple[tuple[str, int, int], ...]:
        """Amounts of a `Pad` with the names of their axes: those of batch and channels if any."""
        rank = len(amounts)
        others = {"N": amounts[self.batch % rank], "C": amounts[self.channels % rank]}
        said = [(name, *pair) for name, pair in others.items() if any(pair)]
        spatial = self.spatial(amounts)
        if is_padded(spatial) or not said:
            said += named(spatial)
        return tuple(said)

    def full(self, spatial: Sequence[T], others: T) -> tuple[T, ...]:
        """One item for each axis, given those of the spatial axes and one for the others."""
        return self.replaced((others,) * self.rank(len(spatial)), spatial)

    def replaced(self, each: Sequence[T], spatial: Sequence[T]) -> tuple[T, ...]:
        """The items of all axes, with those of the spatial axes replaced."""
        found = list(each)
        for axis, one in zip(_spatial_axes(self, len(found)), spatial, strict=True):
            found[axis] = one
        return tuple(found)


@lru_cache(maxsize=256)
def _spatial_axes(layout: Layout, rank: int) -> tuple[int, ...]:
    apart = {layout.batch, layout.channels}
    return tuple(axis for axis in range(rank) if apart.isdisjoint({axis, axis - rank}))


CHANNELS_FIRST = Layout(batch=0, channels=1)
"""For data: batch, channels, spatial axes; for a weight: output and input channels, kernel."""
CHANNELS_LAST = Layout(batch=0, channels=-1)

_FILLS: Mapping[object, Fill] = {ZERO: Fill.ZERO, LEAST: Fill.LOWEST, EXCLUDED: Fill.EXCLUDED}


class Operator(Struct, frozen=True):
    """What a row of the table of meaning says of a window operator, as passes ask it.

    Attributes:
        row: The row.
        layout: The axes of its data, and of its first output.
        padding: The value that its own padding stands for.
        inputs: Its inputs, by role.
        pools: Whether output sizes are a pool's.
        scatters: Whether it spreads each element over a window of the output, which its pads crop.
    """

    row: Row
    layout: Layout
    padding: Fill
    inputs: Inputs
    pools: bool = False
    scatters: bool = False

    @property
    def key(self) -> Key:
        """Domain and op type."""
        return self.row.domain, self.row.op

    @property
    def op_type(self) -> str:
        """Its op type."""
        return self.row.op

    @property
    def weight_layout(self) -> Layout:
        """The axes of its weight, if it has one."""
        return _TRANSPOSED if self.scatters else CHANNELS_FIRST

    @property
    def counts(self) -> str | None:
        """The attribute that makes its padding count, as zeros or zero points, if there is one."""
        return "count_include_pad" if self.padding is Fill.EXCLUDED else None

    @property
    def is_choosy(self) -> bool:
        """Whether some padding of zeros is none that it could do: a pool, or other than by 0."""
        return self.pools or self.padding is not Fill.ZERO

    @property
    def loses_signs(self) -> bool:
        """Whether it pads with zeros, and no result shows the sign of a zero that it reads."""
        return self.row.window is not None and self.row.window.loses_signs

    @property
    def declaration(self) -> declared.Row | None:
        """What a user declared of it; None for those of the table."""
        return None if self.row.window is None else self.row.window.declaration

    def since(self, attribute: str) -> int:
        """The first opset with an attribute; 0 for operators that are not ONNX's own."""
        return since(self.row, attribute)


def laid_out(row: Row, attributes: Mapping[str, object]) -> Operator:
    """The operator of a row, in the layout that a node's attributes give."""
    window = row.window
    if window is None:
        inputs = Inputs(*(row.transposed or ()))
        return Operator(row, CHANNELS_FIRST, Fill.ZERO, inputs, scatters=True)
    last = attributes.get("channels_last", 0) == 1 if window.last is None else window.last
    fill = _FILLS[window.own]
    if fill is Fill.ZERO and window.zero_point is not None:
        fill = Fill.ZERO_POINT
    return Operator(
        row,
        CHANNELS_LAST if last else CHANNELS_FIRST,
        fill,
        Inputs(window.weight, window.bias, window.zero_point),
        window.rounding == "pool",
    )


_TRANSPOSED = Layout(batch=1, channels=0)
MICROSOFT = "com.microsoft"
"""The domain of onnxruntime's own operators."""
OPERATORS: Mapping[Key, Operator] = {
    key: laid_out(row, {}) for key, row in {**WINDOWS, **TRANSPOSED}.items()
}
"""All operators with a window whose padding is rewritten, in their usual layout."""


# NhwcConv and NhwcFusedConv have no kernel on the CPU, and what describes them (their page, shape
# inference, kernels) does not agree on the layout of the weight, which holds the kernel's size.
NOT_REWRITTEN = frozenset(
    {
        ("", "DeformConv"),
        (MICROSOFT, "ConvTransposeWithDynamicPads"),
        (MICROSOFT, "NhwcConv"),
        (MICROSOFT, "NhwcFusedConv"),
    }
)
"""Operators with a window and a weight whose padding is not rewritten."""


def key_of(graph: Graph, node: Node) -> Key | None:
    """The key of a node's operator in the tables; None for a function of the model."""
    if graph.names_standard(node):
        return "", node.op
    return None if graph.is_function(node) else (node.domain or "", node.op)


def windowed(graph: Graph, node: Node) -> bool:
    """Whether a node has a window, rewritten or not, and does not contradict its schema."""
    is_row = operator_of(graph, node) is not None
    return is_row or (key_of(graph, node) in NOT_REWRITTEN and not graph.contradiction(node))


def gathering(graph: Graph, node: Node) -> Operator | None:
    """The row of a node whose window gathers, so that it can take a `Pad`; None for all others."""
    row = operator_of(graph, node)
    return None if row is None or row.scatters else row


@noted
def operator_of(graph: Graph, node: Node) -> Operator | None:
    """As `operator_named`; None for a node that contradicts its schema."""
    row = operator_named(graph, node)
    return None if row is None or graph.contradiction(node) else row


@noted
def operator_named(graph: Graph, node: Node) -> Operator | None:
    """The row of the operator that a node names, in the node's layout; None where it has none."""
    row = row_named(graph, node)
    return None if row is None or row.op == "Pad" else laid_out(row, node.attrs)


class _Slides(Struct, frozen=True):
    """The node of an operator with a window, with defaults for absent attributes."""

    node: Node
    operator: Operator
    windows: tuple[Window, ...]
    auto_pad: AutoPad
    pads: Pairs
    pads_written: bool

    @property
    def data(self) -> Tensor:
        """The tensor that the window slides over, or whose elements are spread over windows."""
        return self.node.inputs[0]

    @property
    def rank(self) -> int:
        """The rank of its data."""
        return len(self.windows) + BESIDE

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of its data that the window slides along."""
        return self.operator.layout.axes(self.rank)


class WindowOp(_Slides, frozen=True):
    """The node of an operator whose window gathers, and its form as it was read.

    `zero` stands for 0 in its data, and is None where that is not one constant number.
    """

    ceil_mode: bool
    count_include_pad: bool
    zero: int | None
    read: WindowForm

    @property
    def form(self) -> WindowForm:
        """How its window slides, with what was replaced since it was read."""
        read = self.read
        own, counts = read.own, read.counts
        if read.window.own == EXCLUDED and counts != self.count_include_pad:
            counts = self.count_include_pad
            zero = Operand(read.window.zero_point) if self.zero is None else self.zero
            own = zero if counts else EXCLUDED
        said = self.windows, self.auto_pad, self.pads, self.pads_written, self.ceil_mode, counts
        if said == (read.axes, read.auto_pad, read.pads, read.pads_written, read.ceil, read.counts):
            return read
        return replace(
            read,
            axes=self.windows,
            auto_pad=self.auto_pad,
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


class TransposedOp(_Slides, frozen=True):
    """The node of a transposed convolution."""

    output_padding: tuple[int, ...]
    output_shape: tuple[int, ...] | None

    @property
    def is_explicit(self) -> bool:
        """Whether `pads` and `output_padding` alone say how much it gives."""
        return self.auto_pad == "NOTSET" and self.output_shape is None

    @property
    def form(self) -> SpreadForm:
        """All that its attributes say, as the table of meaning takes it."""
        slide = Slide(self.windows, self.auto_pad, self.pads, self.pads_written, ceil=False)
        return slide, self.output_padding, self.output_shape


_Read = TypeVar("_Read", WindowOp, TransposedOp, PadOp)


def _kept(read: Callable[[Call], _Read]) -> Callable[[Graph, Known, Node], _Read]:
    """Reads a node, once for as long as it is not edited if all of it is known."""

    @wraps(read)
    def kept(graph: Graph, analysis: Known, node: Node) -> _Read:
        reading = node.reading
        if reading is not None and reading[0] is analysis:
            known: _Read = reading[1]
            return known
        if name := graph.refers(node):
            raise UnreadError(
                f"its {name} is an attribute of the function, which each call may set differently"
            )
        row = row_named(graph, node)
        assert row is not None
        try:
            found = read(Call(graph, analysis, node, row))
        except MalformedError as error:
            raise ModelError(f"{node.op} {describe(node)!r}: {error}") from error
        if why := graph.contradiction(node):
            raise UnreadError(why)
        if _is_settled(found):
            node.reading = analysis, found
        return found

    return kept


def _is_settled(read: object) -> bool:
    """Whether everything is known, so that no edit of another node can add to it."""
    if isinstance(read, WindowOp):
        return read.zero is not None
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
    pad, rank = pad_of(call), call.rank()
    amounts, axes = pad.amounts, pad.axes
    if amounts is not None and over_axes(amounts, axes, rank) is None:
        if axes is None:
            raise MalformedError(f"{len(amounts)} axes are padded, where the data has {rank}")
        raise UnreadError(f"of {rank} axes of data, it pads {axes}")
    return pad


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
    except UnreadError:
        return None
