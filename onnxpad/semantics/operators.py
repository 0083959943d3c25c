"""What passes ask of window operators: the rows of the table of meaning, with axes by layout."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Final, TypeVar

from msgspec import Struct

from onnxpad import declared
from onnxpad.arithmetic.window import named
from onnxpad.declared import Key
from onnxpad.graph import Graph, Node
from onnxpad.graph.nodes import noted
from onnxpad.semantics.layers import EXCLUDED, LEAST, Pairs, is_padded
from onnxpad.semantics.rows import ZERO, Row, since
from onnxpad.semantics.table import row_named
from onnxpad.semantics.window import TRANSPOSED, WINDOWS

T = TypeVar("T")

BESIDE: Final = 2
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
    """The indices of an operator's inputs, by role; None for one that it has not."""

    data: int = 0
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
        """Amounts of a `Pad` for people, with those of batch (N) and channels (C) if it has some.

        >>> CHANNELS_LAST.text(((0, 0), (1, 2), (0, 1), (0, 3)))
        'C 0+3, H 1+2, W 0+1'
        """
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


CHANNELS_FIRST: Final = Layout(batch=0, channels=1)
"""For data: batch, channels, spatial axes; for a weight: output and input channels, kernel."""
CHANNELS_LAST: Final = Layout(batch=0, channels=-1)


_FILLS: Final[Mapping[object, Fill]] = {
    ZERO: Fill.ZERO,
    LEAST: Fill.LOWEST,
    EXCLUDED: Fill.EXCLUDED,
}


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
    def weight_layout(self) -> Layout | None:
        """The axes of its weight; None where it has none."""
        if self.scatters:
            return _TRANSPOSED
        return None if self.inputs.weight is None else CHANNELS_FIRST

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
        inputs = Inputs(0, *(row.transposed or ()))
        return Operator(row, CHANNELS_FIRST, Fill.ZERO, inputs, scatters=True)
    last = attributes.get("channels_last", 0) == 1 if window.last is None else window.last
    fill = _FILLS[window.own]
    if fill is Fill.ZERO and window.zero_point is not None:
        fill = Fill.ZERO_POINT
    return Operator(
        row,
        CHANNELS_LAST if last else CHANNELS_FIRST,
        fill,
        Inputs(0, window.weight, window.bias, window.zero_point),
        window.rounding == "pool",
    )


_TRANSPOSED: Final = Layout(batch=1, channels=0)
MICROSOFT: Final = "com.microsoft"
"""The domain of onnxruntime's own operators."""
OPERATORS: Final[Mapping[Key, Operator]] = {
    key: laid_out(row, {}) for key, row in {**WINDOWS, **TRANSPOSED}.items()
}
"""All operators with a window whose padding is rewritten, in their usual layout."""


class NotRewritten(Struct, frozen=True):
    """An operator with a window whose padding is not rewritten."""

    inputs: Inputs
    scatters: bool = False


# NhwcConv and NhwcFusedConv have no kernel on the CPU, and what describes them (their page, shape
# inference, kernels) does not agree on the layout of the weight, which holds the kernel's size.
NOT_REWRITTEN: Final[Mapping[Key, NotRewritten]] = MappingProxyType(
    {
        ("", "DeformConv"): NotRewritten(Inputs(weight=1, bias=3)),
        (MICROSOFT, "NhwcConv"): NotRewritten(Inputs(weight=1, bias=2)),
        (MICROSOFT, "NhwcFusedConv"): NotRewritten(Inputs(weight=1, bias=2)),
        (MICROSOFT, "ConvTransposeWithDynamicPads"): NotRewritten(
            Inputs(weight=1, bias=3), scatters=True
        ),
    }
)


def key_of(graph: Graph, node: Node) -> Key | None:
    """The key of a node's operator in the tables; None for a function of the model."""
    if graph.names_standard(node):
        return "", node.op
    return None if graph.is_function(node) else (node.domain or "", node.op)


def windowed(graph: Graph, node: Node) -> Operator | NotRewritten | None:
    """The row of a node whose operator has a window, rewritten or not; None for all others.

    Nor is there one for a node that contradicts its schema.
    """
    key = None if graph.contradiction(node) else key_of(graph, node)
    return operator_of(graph, node) or (None if key is None else NOT_REWRITTEN.get(key))


def crops(graph: Graph, node: Node) -> bool:
    """Whether the pads of a node's operator crop its output."""
    found = windowed(graph, node)
    return found is not None and found.scatters


def gathering(graph: Graph, node: Node) -> Operator | None:
    """The row of a node whose window gathers, so that it can take a `Pad`; None for all others."""
    row = operator_of(graph, node)
    return None if row is None or row.scatters else row


@noted
def operator_of(graph: Graph, node: Node) -> Operator | None:
    """The row of a node, in the node's layout; None where its operator has none.

    Nor is there one for a node that contradicts its schema: see `operator_named`.
    """
    row = operator_named(graph, node)
    return None if row is None or graph.contradiction(node) else row


@noted
def operator_named(graph: Graph, node: Node) -> Operator | None:
    """The row of the operator that a node names, even if it contradicts the schema."""
    row = row_named(graph, node)
    return None if row is None or row.op == "Pad" else laid_out(row, node.attrs)
