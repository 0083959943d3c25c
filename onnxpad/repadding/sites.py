"""The window operators and `Pad`s of a model's main graph, with what each pads."""

from collections.abc import Iterator, Mapping, Sequence

from onnxpad.arithmetic.window import Window, odd_side
from onnxpad.graph import Node
from onnxpad.operators.read import PadOp, TransposedOp, WindowOp, is_transposed
from onnxpad.operators.table import CONV_TRANSPOSE, Fill, Operator, operator_of
from onnxpad.padding.plan import Padding
from onnxpad.records import dataclass
from onnxpad.rewrite.context import Context

_PAD_AS_INPUT = 11
"""The first opset whose Pad takes its amounts as an input."""


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """One operator whose padding may be another one.

    A `Pad` that no operator takes up is one too. Its windows are those of the operator that reads
    it, and stand still where none does.

    Attributes:
        node: The operator.
        label: Its name in reports.
        operator: Its row; None for a `Pad`.
        windows: One per spatial axis.
        axes: The spatial axes of its data.
        rank: The rank of its data.
        padding: How it pads.
        sizes: The spatial sizes of its data; None for those that are open.
    """

    node: Node
    label: str
    operator: Operator | None
    windows: tuple[Window, ...]
    axes: tuple[int, ...]
    rank: int
    padding: Padding
    sizes: tuple[int | None, ...]

    @property
    def row(self) -> Operator:
        """The row of a window operator."""
        assert self.operator is not None
        return self.operator

    @property
    def is_transposed(self) -> bool:
        """Whether it is a transposed convolution, whose pads crop."""
        return self.operator is CONV_TRANSPOSE

    @property
    def is_still(self) -> bool:
        """Whether it is a `Pad` that no window operator alone reads."""
        return self.operator is None and all(window.kernel == 1 for window in self.windows)

    @property
    def is_pool(self) -> bool:
        """Whether its output size may round up."""
        return self.operator is not None and self.operator.pools

    @property
    def data(self) -> int:
        """The index of the input that is its data."""
        return 0 if self.operator is None else self.operator.inputs.data

    @property
    def is_sized(self) -> bool:
        """Whether SAME and rounding up depend on the size: some stride is above 1."""
        return not self.is_transposed and any(window.stride > 1 for window in self.windows)

    @property
    def leaves_padding_out(self) -> bool:
        """Whether it divides by the number of elements that are no padding, unless told to."""
        return self.operator is not None and self.operator.padding is Fill.EXCLUDED

    @property
    def signature(self) -> tuple[object, ...]:
        """Equal for operators that one line of a program may have written."""
        return self.node.op, self.windows, self.padding


def sites_of(context: Context) -> tuple[list[Site], list[tuple[str, str]]]:
    """The window operators of a graph, in file order, and those that cannot be varied, with why."""
    found: list[tuple[int, Site]] = []
    left: list[tuple[str, str]] = []
    order = {id(node): place for place, node in enumerate(context.graph.nodes)}
    ops: Iterator[WindowOp | TransposedOp] = iter((*context.windows(), *context.transposed()))
    for op in ops:
        site = _site(context, op)
        if isinstance(site, Site):
            found.append((order[id(op.node)], site))
        else:
            left.append((context.label(op.node), site))
    left += [(context.label(node), str(why)) for node, why in context.unreadable()]
    return [site for _, site in sorted(found, key=lambda each: each[0])], left


def with_pads(context: Context, sites: Sequence[Site]) -> tuple[list[Site], list[tuple[str, str]]]:
    """The sites of a graph and its `Pad`s, in file order, and what cannot be varied, with why.

    That includes operators in bodies and functions.
    """
    graph = context.graph
    order = {id(node): place for place, node in enumerate(graph.nodes)}
    known = {id(site.node): site for site in sites}
    found, left = [*sites], []
    for pad in context.pads():
        each = _pad(context, pad, known)
        if isinstance(each, Site):
            found.append(each)
        elif each:
            left.append((context.label(pad.node), each))
    left += [
        (inner.place_of(node), "it is in a body or a function")
        for inner in (*graph.inside(), *graph.functions())
        for node in inner.nodes
        if operator_of(inner, node) is not None or is_transposed(inner, node)
    ]
    return sorted(found, key=lambda each: order[id(each.node)]), left


def has_padding_to_vary(context: Context) -> bool:
    """Whether a graph has a `Pad`, or a window that another padding would let read other data."""
    windows = [op.windows for op in context.windows()]
    windows += [op.windows for op in context.transposed()]
    has_pads = next(context.pads(), None) is not None
    return has_pads or any(window.extent != 1 for each in windows for window in each)


def _site(context: Context, op: WindowOp | TransposedOp) -> Site | str:
    """One operator, or why its padding cannot be varied."""
    windows = tuple(each for each in op.windows if isinstance(each, Window))
    if len(windows) != len(op.windows):
        return "its kernel is unknown until run time"
    operator = CONV_TRANSPOSE if isinstance(op, TransposedOp) else op.operator
    if operator.declaration is not None:
        return "its operator is the user's own"
    if isinstance(op, WindowOp) and op.gives_indices:
        return "it gives indices"
    padding = _transposed(op) if isinstance(op, TransposedOp) else _gathering(op)
    if padding is None:
        return "its output_shape or auto_pad cannot be written as pads"
    rank = operator.layout.rank(len(windows))
    shape = context.analysis.shape(op.data)
    sizes: Sequence[object] = [None] * rank if shape is None or len(shape) != rank else shape
    known = tuple(size if isinstance(size, int) else None for size in _at(sizes, op.axes))
    label = context.label(op.node)
    return Site(op.node, label, operator, windows, op.axes, rank, padding, known)


def _pad(context: Context, pad: PadOp, known: Mapping[int, Site]) -> Site | str:
    """A `Pad`, or why its amounts cannot be varied; empty if it pads nothing."""
    graph, pairs = context.graph, pad.constant_amounts
    if pairs is None:
        return "its amounts are computed"
    if graph.opset < _PAD_AS_INPUT and "pads" not in pad.node.attrs:
        return f"opset {graph.opset} has another Pad"
    shape = context.analysis.shape(pad.data)
    rank = len(shape) if shape is not None else len(pairs) if pad.axes is None else 0
    whole = pad.over(rank)
    if whole is None:
        return "the rank of its data is unknown"
    readers = {id(use.node): use.index for use in graph.uses(pad.node.outputs[0])}
    reader = known.get(next(iter(readers))) if len(readers) == 1 else None
    if reader is not None and (reader.is_transposed or reader.rank != rank):
        reader = None
    padded = tuple(axis for axis, pair in enumerate(whole) if pair != (0, 0))
    axes = padded if reader is None else reader.axes
    if not {*padded} <= {*axes}:
        axes, reader = padded, None
    if not axes:
        return ""
    windows = (Window(1),) * len(axes) if reader is None else reader.windows
    padding = Padding(tuple(whole[axis] for axis in axes))
    sizes = [None] * rank if shape is None else list(shape)
    spatial = tuple(size if isinstance(size, int) else None for size in _at(sizes, axes))
    return Site(pad.node, context.label(pad.node), None, windows, axes, rank, padding, spatial)


def _at(sizes: Sequence[object], axes: Sequence[int]) -> list[object]:
    return [sizes[axis] for axis in axes]


def _gathering(op: WindowOp) -> Padding:
    if op.auto_pad == "VALID":
        return Padding(((0, 0),) * len(op.windows), counted=op.count_include_pad)
    if op.auto_pad != "NOTSET":
        return Padding(None, odd=odd_side(op.auto_pad), counted=op.count_include_pad)
    return Padding(op.pads, ceil=op.ceil_mode, counted=op.count_include_pad)


def _transposed(op: TransposedOp) -> Padding | None:
    return Padding(op.pads, output_padding=op.output_padding) if op.is_explicit else None
