"""The window operators of a model's main graph, with what each pads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from onnxpad.arithmetic.window import Side, Window
from onnxpad.graph import Node
from onnxpad.operators.read import TransposedOp, WindowOp
from onnxpad.operators.table import CONV_TRANSPOSE, Fill, Operator
from onnxpad.repadding.choice import Choice
from onnxpad.rewrite.context import Context


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """One window operator.

    Attributes:
        node: The operator.
        label: Its name in reports.
        operator: Its row.
        windows: One per spatial axis.
        axes: The spatial axes of its data.
        rank: The rank of its data.
        choice: How it pads.
        sizes: The spatial sizes of its data; None for those that are open.
    """

    node: Node
    label: str
    operator: Operator
    windows: tuple[Window, ...]
    axes: tuple[int, ...]
    rank: int
    choice: Choice
    sizes: tuple[int | None, ...]

    @property
    def is_transposed(self) -> bool:
        """Whether it is a transposed convolution, whose pads crop."""
        return self.operator is CONV_TRANSPOSE

    @property
    def is_pool(self) -> bool:
        """Whether its output size may round up."""
        return self.operator.pools

    @property
    def is_sized(self) -> bool:
        """Whether SAME and rounding up depend on the size: some stride is above 1."""
        return not self.is_transposed and any(window.stride > 1 for window in self.windows)

    @property
    def leaves_padding_out(self) -> bool:
        """Whether it divides by the number of elements that are no padding, unless told to."""
        return self.operator.padding is Fill.EXCLUDED

    @property
    def signature(self) -> tuple[object, ...]:
        """Equal for operators that one line of a program may have written."""
        return self.node.op, self.windows, self.choice


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


def has_padding_to_vary(context: Context) -> bool:
    """Whether a graph has a window operator of which another padding computes something else."""
    windows = [op.windows for op in context.windows()]
    windows += [op.windows for op in context.transposed()]
    return any(window.extent != 1 for each in windows for window in each)


def _site(context: Context, op: WindowOp | TransposedOp) -> Site | str:
    """One operator, or why its padding cannot be varied."""
    windows = tuple(each for each in op.windows if isinstance(each, Window))
    if len(windows) != len(op.windows):
        return "its kernel is unknown until run time"
    operator = CONV_TRANSPOSE if isinstance(op, TransposedOp) else op.operator
    if operator.declaration is not None:
        return "its operator is the user's own"
    choice = _transposed(op) if isinstance(op, TransposedOp) else _gathering(op)
    if choice is None:
        return "its output_shape or auto_pad could not be written as pads"
    rank = operator.layout.rank(len(windows))
    shape = context.analysis.shape(op.data)
    sizes: Sequence[object] = [None] * rank if shape is None or len(shape) != rank else shape
    known = tuple(size if isinstance(size, int) else None for size in _at(sizes, op.axes))
    label = context.label(op.node)
    return Site(op.node, label, operator, windows, op.axes, rank, choice, known)


def _at(sizes: Sequence[object], axes: Sequence[int]) -> list[object]:
    return [sizes[axis] for axis in axes]


def _gathering(op: WindowOp) -> Choice | None:
    if op.gives_indices and op.operator.indices is not None:
        return None
    if op.auto_pad == "VALID":
        return Choice(((0, 0),) * len(op.windows), counted=op.count_include_pad)
    if op.auto_pad != "NOTSET":
        odd: Side = "end" if op.auto_pad == "SAME_UPPER" else "begin"
        return Choice(None, odd=odd, counted=op.count_include_pad)
    return Choice(op.pads, ceil=op.ceil_mode, counted=op.count_include_pad)


def _transposed(op: TransposedOp) -> Choice | None:
    return Choice(op.pads, appended=op.output_padding) if op.is_explicit else None
