"""The table of window operators: each row states every trait of one operator.

A new operator is a new row here, one of where a runtime departs on it (`departures`), and one of
what it means to the proof (`semantics.window`, `semantics.transposed`), which shares nothing with
this table. Rows that gather take a `Pad`; rules of their own take those that scatter. No other
module infers one trait from another, or assumes that batch and channels are the first two axes.
Names of operators stand elsewhere only where something else is said about them: their shapes
(`analysis.rules`), which of them keep signs (`analysis.signs`), and which the reference evaluator
computes correctly (`validation.evaluator`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Final, TypeVar

import numpy as np
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.arithmetic.notation import named
from onnxpad.declared import Key, Row
from onnxpad.graph import Graph, Node
from onnxpad.graph.graph import row_declared
from onnxpad.graph.nodes import noted
from onnxpad.operators.amounts import Pairs, is_padded
from onnxpad.records import NamedTuple, dataclass

T = TypeVar("T")

BESIDE: Final = 2
"""The number of axes that are not spatial: batch and channels."""

FLOATS: Final = frozenset(
    {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16}
)


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


@dataclass(frozen=True, slots=True)
class Inputs:
    """The indices of an operator's inputs, by role.

    Attributes:
        data: The tensor that the window slides over.
        weight: The weight; None for operators that have `kernel_shape` alone.
        bias: The bias, if there is one.
        zero_point: The data's zero point, if there is one.
        quantisation: All scales and zero points, of data, weight and result.
    """

    data: int = 0
    weight: int | None = None
    bias: int | None = None
    zero_point: int | None = None
    quantisation: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Refuses one index in two roles."""
        single = [i for i in (self.data, self.weight, self.bias) if i is not None]
        places = (*single, *self.quantisation)
        if len(set(places)) != len(places) or min(places) < 0:
            raise ValueError(f"{self}: an input has two roles, or a negative index")
        if self.zero_point is not None and self.zero_point not in self.quantisation:
            raise ValueError(f"{self}: the zero point is not among the quantisation inputs")


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The two axes that are not spatial; a negative number counts from the last.

    Attributes:
        batch: The axis of the batch; in a weight, that of the output channels.
        channels: The axis of the channels; in a weight, that of the input channels.
    """

    batch: int
    channels: int

    def __post_init__(self) -> None:
        """Refuses one axis for both."""
        if self.batch == self.channels:
            raise ValueError(f"{self}: batch and channels are one axis")

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


@dataclass(frozen=True, slots=True)
class Feed:
    """How a probe feeds an operator, apart from data of one channel.

    A weight becomes small integers, the data's zero point stays, and a bias is left out.

    Attributes:
        group: The attribute to set to 1 for the one channel; None where channels are independent.
        scales: The scales of data and weight, which become 1.
        weight_zero: The zero point of the weight, which becomes one number.
        result: Scale and zero point of the result, which become such that it does not saturate.
        left_out: Attributes of a function that is applied to the result, which is left out.
    """

    group: str | None = None
    scales: tuple[int, ...] = ()
    weight_zero: int | None = None
    result: tuple[int, int] | None = None
    left_out: tuple[str, ...] = ()

    @property
    def quantisation(self) -> frozenset[int]:
        """The scales and zero points that it names."""
        zeros = () if self.weight_zero is None else (self.weight_zero,)
        return frozenset({*self.scales, *zeros, *(self.result or ())})


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One row: an operator, how its window slides, and the value of its own padding.

    Attributes:
        op_type: Its op type.
        padding: The value that its own padding stands for.
        domain: Its domain; empty for ONNX's own operators.
        inputs: Its inputs, by role.
        layout: The axes of its data, and of its first output.
        channels_last: The attribute that puts their channels last, if there is one.
        weight_layout: The axes of its weight; None where it has none.
        scatters: Whether each element of the data is spread over one window of the output, which
            pads crop; else each output is computed from one window of the data, which pads extend.
        counts: The attribute that makes this padding count, as zeros or zero points, if there is
            one.
        power: The attribute of a power to which elements are raised, if there is one. Unless it is
            above 0, the power of a padded 0 is 1, or infinite.
        pools: Whether output sizes are a pool's: divisions truncate, `ceil_mode` rounds them up,
            and no axis may be empty.
        indices: The output that counts positions of the data, if there is one.
        since: The first opset of attributes that came later than the operator.
        probe: How a probe feeds it.
        declaration: What a user declared of it; None for those of this table.
    """

    op_type: str
    padding: Fill
    domain: str = ""
    inputs: Inputs = Inputs()
    layout: Layout = CHANNELS_FIRST
    channels_last: str | None = None
    weight_layout: Layout | None = None
    scatters: bool = False
    counts: str | None = None
    power: str | None = None
    pools: bool = False
    indices: int | None = None
    since: Mapping[str, int] = field(default_factory=dict)
    probe: Feed = Feed()
    declaration: Row | None = None

    def __post_init__(self) -> None:
        """Refuses a row whose traits contradict one another."""
        wrong = {
            "a weight and its layout": (self.weight_layout is None) != (self.inputs.weight is None),
            "a zero point as padding": (self.padding is Fill.ZERO_POINT)
            and self.inputs.zero_point is None,
            "an attribute that counts, and its opset": self.counts not in {None, *self.since},
            "ceil_mode of a pool": "ceil_mode" in self.since and not self.pools,
            "constants of a probe": not self.probe.quantisation <= {*self.inputs.quantisation},
            "a group of a weight": self.probe.group is not None and self.inputs.weight is None,
            "another output than the first": self.indices == 0,
        }
        for what, is_wrong in wrong.items():
            if is_wrong:
                raise ValueError(f"the row of {self.op_type} has not both: {what}")

    @property
    def key(self) -> Key:
        """Its key in the table."""
        return self.domain, self.op_type

    @property
    def loses_signs(self) -> bool:
        """Whether it pads with zeros, and no result shows the sign of a zero that it reads.

        A sum of products cannot tell -0.0 from 0.0, nor can one of magnitudes. Nothing is declared
        of that, and where a window scatters it is not known.
        """
        return not self.scatters and self.padding is Fill.ZERO and self.declaration is None

    def laid_out(self, attributes: Mapping[str, object]) -> Operator:
        """The row with the layout that a node's attributes give."""
        if self.channels_last is None or attributes.get(self.channels_last, 0) != 1:
            return self
        return replace(self, layout=CHANNELS_LAST)


_WEIGHED: Final = Inputs(weight=1, bias=2)
_ONE_GROUP: Final = Feed(group="group")

_CONV: Final = Operator(
    op_type="Conv",
    padding=Fill.ZERO,
    inputs=_WEIGHED,
    weight_layout=CHANNELS_FIRST,
    probe=_ONE_GROUP,
)
_MAX_POOL: Final = Operator(
    op_type="MaxPool",
    padding=Fill.LOWEST,
    pools=True,
    indices=1,
    since={"dilations": 10, "ceil_mode": 10},
)
_AVERAGE_POOL: Final = Operator(
    op_type="AveragePool",
    padding=Fill.EXCLUDED,
    counts="count_include_pad",
    pools=True,
    since={"dilations": 19, "ceil_mode": 10, "count_include_pad": 7},
)
_LP_POOL: Final = Operator(
    op_type="LpPool",
    padding=Fill.ZERO,
    power="p",
    pools=True,
    since={"dilations": 18, "ceil_mode": 18},
)
_CONV_INTEGER: Final = replace(
    _CONV,
    op_type="ConvInteger",
    inputs=Inputs(weight=1, zero_point=2, quantisation=(2, 3)),
    padding=Fill.ZERO_POINT,
    probe=replace(_ONE_GROUP, weight_zero=3),
)
_QLINEAR_CONV: Final = replace(
    _CONV_INTEGER,
    op_type="QLinearConv",
    inputs=Inputs(weight=3, bias=8, zero_point=2, quantisation=(1, 2, 4, 5, 6, 7)),
    probe=replace(_ONE_GROUP, scales=(1, 4), weight_zero=5, result=(6, 7)),
)
MICROSOFT: Final = "com.microsoft"
"""The domain of onnxruntime's own operators."""

OPERATORS: Final[Mapping[Key, Operator]] = {
    row.key: row
    for row in (
        _CONV,
        _MAX_POOL,
        _AVERAGE_POOL,
        _LP_POOL,
        _CONV_INTEGER,
        _QLINEAR_CONV,
        replace(
            _CONV,
            op_type="ConvTranspose",
            weight_layout=Layout(batch=1, channels=0),
            scatters=True,
        ),
        replace(_QLINEAR_CONV, domain=MICROSOFT, channels_last="channels_last"),
        replace(
            _CONV,
            domain=MICROSOFT,
            op_type="FusedConv",
            probe=replace(_ONE_GROUP, left_out=("activation", "activation_params")),
        ),
        replace(
            _MAX_POOL,
            domain=MICROSOFT,
            op_type="NhwcMaxPool",
            layout=CHANNELS_LAST,
            indices=None,
            since={},
        ),
        replace(
            _AVERAGE_POOL,
            domain=MICROSOFT,
            op_type="QLinearAveragePool",
            inputs=Inputs(zero_point=2, quantisation=(1, 2, 3, 4)),
            channels_last="channels_last",
            since={"count_include_pad": 0},  # of its own domain, which has one version
            probe=Feed(scales=(1,), result=(3, 4)),
        ),
    )
}


class NotRewritten(NamedTuple):
    """An operator with a window whose padding is not rewritten."""

    inputs: Inputs
    scatters: bool = False


# NhwcConv and NhwcFusedConv have no kernel on the CPU, and what describes them (their page, shape
# inference, kernels) does not agree on the layout of the weight, which holds the kernel's size.
NOT_REWRITTEN: Final[Mapping[Key, NotRewritten]] = MappingProxyType(
    {
        ("", "DeformConv"): NotRewritten(Inputs(weight=1, bias=3)),
        (MICROSOFT, "NhwcConv"): NotRewritten(_WEIGHED),
        (MICROSOFT, "NhwcFusedConv"): NotRewritten(_WEIGHED),
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
    key = key_of(graph, node)
    row = None if key is None else OPERATORS.get(key)
    if row is None:
        own = row_declared(graph, node)
        return None if own is None else declared_operator(own)
    return row if row.channels_last is None else row.laid_out(node.attrs)


_LIKE: Final = {
    "Conv": _CONV,
    "MaxPool": replace(
        _MAX_POOL,
        indices=None,
        since={},
    ),
    "AveragePool": replace(
        _AVERAGE_POOL,
        since={"count_include_pad": 0},
    ),
}
"""The rows that declared operators are like, without what the opset of ONNX decides."""


@lru_cache(maxsize=256)
def declared_operator(row: Row) -> Operator:
    """The row of an operator that a user declared."""
    like, zero = _LIKE[row.like], row.zero_point
    if row.filled == "zero" and like.pools:  # its own padding is data like any other
        like = replace(like, counts=None)
    fills = {"zero": Fill.ZERO, "lowest": Fill.LOWEST, "excluded": Fill.EXCLUDED}
    fill = fills[row.filled]
    return replace(
        like,
        domain=row.domain,
        op_type=row.op_type,
        inputs=Inputs(
            weight=row.kernel, zero_point=zero, quantisation=() if zero is None else (zero,)
        ),
        layout=CHANNELS_LAST if row.channels_last else CHANNELS_FIRST,
        padding=Fill.ZERO_POINT if zero is not None and fill is Fill.ZERO else fill,
        declaration=row,
    )


def lowest(dtype: int) -> float | int | None:
    """The least value of an element type, which loses every comparison; None where unknown.

    -inf for floating point, the minimum for integers.
    """
    if dtype in FLOATS:
        return float("-inf")
    kind = np.dtype(tensor_dtype_to_np_dtype(dtype))
    return int(np.iinfo(kind).min) if kind.kind in "iu" else None
