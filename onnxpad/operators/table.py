"""The table of window operators, and what their nodes and `Pad` nodes say."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Final, NamedTuple, TypeAlias, TypeVar

import numpy as np
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import Extent, Size, Unknown, symbol
from onnxpad.arithmetic.window import AnyWindow, OpenWindow, Window, window_of
from onnxpad.errors import ModelError
from onnxpad.graph import Graph, Node, Tensor, describe

Pair: TypeAlias = tuple[int, int]
_Read = TypeVar("_Read")
ExtentPair: TypeAlias = tuple[Extent, Extent]

FLOATS: Final = frozenset(
    {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16}
)

# No tensor is longer; what is computed from amounts up to here fits an int64, as nodes hold it.
_GREATEST: Final = 2**31 - 1

# Where nothing is known of the type it may well be this one.
_INTEGERS: Final = frozenset({None, TensorProto.INT64})


class UnreadableError(Exception):
    """A node that is legal, or may be, but that says something this table does not cover."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One row: how an operator slides its window and what its own padding amounts to.

    Attributes:
        op_type: Name in the default domain.
        weight: Input that carries the kernel, or None where `kernel_shape` is an attribute.
        since: First opset of attributes that came later than the operator.
        padding: What the operator's own padding is: `zero` (it enters the sum), `never wins`
            (below every value), or `excluded` (it enters neither sum nor divisor).
        pads_below_kernel: Whether each pad must be smaller than the kernel (onnxruntime's pools,
            undilated kernel).
        auto_pad_excludes_pads: Whether onnxruntime refuses `auto_pad` beside `pads`; otherwise
            `auto_pad` wins there.
    """

    op_type: str
    weight: int | None
    since: Mapping[str, int]
    padding: str
    pads_below_kernel: bool
    auto_pad_excludes_pads: bool

    @property
    def pools(self) -> bool:
        """Whether it is a pool: output sizes may round up and divisions truncate."""
        return self.weight is None


OPERATORS: Final[Mapping[str, Operator]] = {
    row.op_type: row
    for row in (
        Operator("Conv", 1, {}, "zero", False, True),
        Operator("MaxPool", None, {"dilations": 10, "ceil_mode": 10}, "never wins", True, False),
        Operator(
            "AveragePool",
            None,
            {"dilations": 19, "ceil_mode": 10, "count_include_pad": 7},
            "excluded",
            True,
            False,
        ),
        Operator("LpPool", None, {"dilations": 18, "ceil_mode": 18}, "zero", True, False),
    )
}


class WindowOp(NamedTuple):
    """What a window operator's node says, absent attributes filled in.

    Attributes:
        node: The node.
        operator: Its row.
        windows: One per spatial axis; a kernel that only run time knows is a symbol.
        auto_pad: `NOTSET`, `VALID`, `SAME_UPPER` or `SAME_LOWER`.
        pads: (begin, end) per spatial axis, as written; zeros where absent.
        pads_written: Whether the attribute is there.
        ceil_mode: Whether output sizes round up.
        count_include_pad: Whether an average divides by padded positions too.
    """

    node: Node
    operator: Operator
    windows: tuple[AnyWindow, ...]
    auto_pad: str
    pads: tuple[Pair, ...]
    pads_written: bool
    ceil_mode: bool
    count_include_pad: bool

    @property
    def padding(self) -> str:
        """What its own padding is, as `Operator.padding`, with attributes heeded.

        An LpPool leaves its own padding out. Where p is above 0 that is as good as zeros; else a
        zero is 1, or infinite.
        """
        if self.operator.padding == "zero":
            return "excluded" if self.node.op == "LpPool" and not _has_power(self.node) else "zero"
        return "zero" if self.count_include_pad else self.operator.padding

    @property
    def data(self) -> Tensor:
        """The tensor that the window slides over."""
        return self.node.inputs[0]


class PadOp(NamedTuple):
    """What a `Pad` node says.

    Attributes:
        node: The node.
        mode: `constant`, `reflect`, `edge` or `wrap`.
        axes: The axes it names, or None for all of them in order.
        amounts: (begin, end) per axis of `axes`; None where they are not a tensor of integers.
        value: What it pads with in mode `constant`; None where only run time knows.
        constant_amounts: The amounts where all are known numbers, else None.
    """

    node: Node
    mode: str
    axes: tuple[int, ...] | None
    amounts: tuple[ExtentPair, ...] | None
    value: float | int | None
    constant_amounts: tuple[Pair, ...] | None = None

    @property
    def data(self) -> Tensor:
        """The tensor that is padded."""
        return self.node.inputs[0]

    def over(self, rank: int) -> tuple[Pair, ...] | None:
        """(begin, end) for each of `rank` axes, as `extents_over`; None where one is no number."""
        numbers = self.constant_amounts
        if numbers is None or self.axes is None:
            return numbers if numbers is not None and len(numbers) == rank else None
        return _numbers(self.extents_over(rank))

    def extents_over(self, rank: int) -> tuple[ExtentPair, ...] | None:
        """(begin, end) for each of `rank` axes, zeros where `axes` leaves one out.

        None where nothing is known of an amount, where they do not fit the rank, or name an axis
        twice (what that means is not specified).
        """
        pairs = self.amounts
        if pairs is None or not (self.constant_amounts or _is_known(pairs)):
            return None
        if self.axes is None:
            return pairs if len(pairs) == rank else None
        full: list[ExtentPair] = [(0, 0)] * rank
        seen = set()
        for axis, pair in zip(self.axes, pairs, strict=True):
            if not -rank <= axis < rank or axis % rank in seen:
                return None
            seen.add(axis % rank)
            full[axis % rank] = pair
        return tuple(full)


def _numbers(pairs: Sequence[ExtentPair] | None) -> tuple[Pair, ...] | None:
    if pairs is None:
        return None
    known = [(b, e) for b, e in pairs if isinstance(b, int) and isinstance(e, int)]
    return tuple(known) if len(known) == len(pairs) else None


def _is_known(pairs: Sequence[ExtentPair]) -> bool:
    """Whether something is known of every amount."""
    return not any(isinstance(amount, Unknown) for pair in pairs for amount in pair)


def is_negative_zero(value: float | None) -> bool:
    """Whether a value is -0.0, which equals 0.0 and is another fill."""
    return value is not None and value == 0 and math.copysign(1, value) < 0


def is_plain_zero(value: float | None) -> bool:
    """Whether a fill is 0 and not -0.0, which an omitted one does not mean."""
    return value == 0 and not is_negative_zero(value)


def is_same_fill(one: float | None, other: float | None) -> bool:
    """Whether two `Pad`s fill with the same; 0.0 and -0.0 are two fills."""
    return one == other and is_negative_zero(one) == is_negative_zero(other)


def _has_power(node: Node) -> bool:
    """Whether the p of an LpPool is above 0, as where it is absent."""
    power = node.attrs.get("p", 2)
    return isinstance(power, int | float) and power > 0


def lowest(dtype: int) -> float | int | None:
    """The least value of an element type, which loses every comparison; None where unknown.

    -inf for floating point, the minimum for integers.
    """
    if dtype in FLOATS:
        return float("-inf")
    kind = np.dtype(tensor_dtype_to_np_dtype(dtype))
    return int(np.iinfo(kind).min) if kind.kind in "iu" else None


def operator_of(graph: Graph, node: Node) -> Operator | None:
    """The row of a node, or None where it is no window operator of the table."""
    row = OPERATORS.get(node.op)
    return row if row is not None and graph.is_standard(node) else None


def _kept(
    read: Callable[[Graph, Analysis, Node], _Read],
) -> Callable[[Graph, Analysis, Node], _Read]:
    """Reads a node once, and again after an edit of it, or while something is open."""

    @wraps(read)
    def kept(graph: Graph, analysis: Analysis, node: Node) -> _Read:
        notes = graph.notes(node)
        found: _Read | None = notes.get(analysis)
        if found is None:
            found = read(graph, analysis, node)
            if _is_settled(found):
                notes[analysis] = found
        return found

    return kept


def _is_settled(read: object) -> bool:
    """Whether no edit of another node can make more known."""
    if isinstance(read, WindowOp):
        return {Window}.issuperset(map(type, read.windows))
    return isinstance(read, PadOp) and None not in (read.constant_amounts, read.value)


@_kept
def read_window(graph: Graph, analysis: Analysis, node: Node) -> WindowOp:
    """What a window operator's node says.

    Raises:
        ModelError: An attribute that the specification forbids (length, type, sign).
        UnreadableError: A node whose window cannot be known.
    """
    operator = OPERATORS[node.op]
    if not node.inputs or not node.inputs[0].name or not node.outputs:
        raise ModelError(f"{_where(node)} has no data input or no output: the model is damaged")
    for name, opset in operator.since.items():
        if name in node.attrs and graph.opset < opset:
            raise UnreadableError(f"opset {graph.opset} has no attribute {name}")
    kernel = _kernel(graph, analysis, node, operator)
    rank = len(kernel)
    strides = _integers(node, "strides", rank, least=1) or (1,) * rank
    dilations = _integers(node, "dilations", rank, least=1) or (1,) * rank
    pads = _integers(node, "pads", 2 * rank)
    if pads is not None and min(pads) < 0:
        raise UnreadableError(
            f"its pads {_brief(pads)} are negative, which the specification forbids"
        )
    auto_pad = _string(node, "auto_pad") or "NOTSET"
    if auto_pad not in {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}:
        raise UnreadableError(
            f"auto_pad={auto_pad!r} is none of NOTSET, VALID, SAME_UPPER, SAME_LOWER"
        )
    return WindowOp(
        node=node,
        operator=operator,
        windows=tuple(map(_window, kernel, strides, dilations)),
        auto_pad=auto_pad,
        pads=pairs_of(pads) if pads is not None else ((0, 0),) * rank,
        pads_written=pads is not None,
        ceil_mode=_flag(node, "ceil_mode"),
        count_include_pad=_flag(node, "count_include_pad"),
    )


def _window(kernel: int | Size, stride: int, dilation: int) -> AnyWindow:
    if isinstance(kernel, int):
        return window_of(kernel, stride, dilation)
    return OpenWindow(kernel, stride, dilation)


def _kernel(
    graph: Graph, analysis: Analysis, node: Node, operator: Operator
) -> tuple[int | Size, ...]:
    written = _integers(node, "kernel_shape", None, least=1)
    if operator.weight is None:
        if written is None:
            raise ModelError(
                f"{_where(node)} has no kernel_shape, which the specification requires"
            )
        return written
    weight = node.inputs[operator.weight] if len(node.inputs) > operator.weight else None
    if weight is None or not weight.name:
        raise ModelError(f"{_where(node)} has no weight input: the model is damaged")
    shape = analysis.shape(weight)
    if shape is not None and len(shape) < 3:
        raise UnreadableError(f"its weight {weight.name!r} has no spatial axis")
    if written is None and shape is None:
        # The kernel's size is anybody's guess, but the padding can be read without it.
        rank = _rank(graph, analysis, node)
        if rank is None:
            raise UnreadableError(f"nothing says how many axes its weight {weight.name!r} has")
        shape = (symbol("?"),) * (rank + 2)
    if written is None:
        assert shape is not None
        return tuple(
            size if isinstance(size, int | Size) else symbol(f"{weight.name}[{axis + 2}]")
            for axis, size in enumerate(shape[2:])
        )
    if shape is not None and shape[2:] != written:
        fits = len(shape) == len(written) + 2 and all(
            not isinstance(known, int) or known == said
            for known, said in zip(shape[2:], written, strict=True)
        )
        if not fits:
            raise ModelError(
                f"{_where(node)}: kernel_shape {_brief(written)} conflicts with its weight "
                f"{weight.name!r} of shape {_brief(shape)}; correct one of them"
            )
    return written


def _rank(graph: Graph, analysis: Analysis, node: Node) -> int | None:
    for name, parts in (("strides", 1), ("dilations", 1), ("pads", 2)):
        if isinstance(node.attrs.get(name), list):
            return len(node.attrs[name]) // parts
    shape = analysis.shape(node.inputs[0])
    return len(shape) - 2 if shape is not None and len(shape) > 2 else None


@_kept
def read_pad(graph: Graph, analysis: Analysis, node: Node) -> PadOp:
    """What a `Pad` node of any opset says.

    Raises:
        ModelError: Amounts that the specification forbids (odd number, wrong type, wrong rank).
        UnreadableError: A mode, axes or amounts that nobody defines.
    """
    if not node.inputs or not node.inputs[0].name or not node.outputs:
        raise ModelError(f"{_where(node)} has no data input or no output: the model is damaged")
    mode = _string(node, "mode") or "constant"
    if mode not in {"constant", "reflect", "edge", "wrap"}:
        raise UnreadableError(f"mode {mode!r} is none of constant, reflect, edge, wrap")
    axes: tuple[int, ...] | None = None
    flat: Sequence[Extent] | None
    value: float | int | None
    if graph.opset < 11:
        name = "pads" if graph.opset > 1 else "paddings"
        flat = _integers(node, name, None)
        if flat is None:
            raise ModelError(f"{_where(node)} has no {name}, which opset {graph.opset} requires")
        value = _number(node, "value")
    else:
        amounts = _input(node, 1)
        if amounts is None:
            raise ModelError(
                f"{_where(node)} has no pads input, which opset {graph.opset} requires"
            )
        if analysis.dtype(amounts) not in _INTEGERS:
            raise ModelError(f"{_where(node)}: its pads {amounts.name!r} must be int64")
        flat = analysis.integers(amounts)
        filler = _input(node, 2)
        value = 0 if filler is None else _scalar(graph, analysis, filler)
        named = _input(node, 3)
        if named is not None:
            found = analysis.integers(named)
            known = [a for a in found or () if isinstance(a, int)]
            if found is None or len(known) != len(found):
                return PadOp(node, mode, None, None, value)
            axes = tuple(known)
    if is_plain_zero(value):
        value = 0  # as an omitted one is told, too
    if flat is None:
        return PadOp(node, mode, axes, None, value)
    if len(flat) % 2 or (axes is not None and len(flat) != 2 * len(axes)):
        raise ModelError(
            f"{_where(node)}: {len(flat)} pads, but a begin and an end are needed for each "
            f"{'axis' if axes is None else f'of {len(axes)} axes'}"
        )
    shape = analysis.shape(node.inputs[0])
    if axes is not None:
        _check_axes(axes, None if shape is None else len(shape))
    elif shape is not None and len(flat) != 2 * len(shape):
        raise ModelError(
            f"{_where(node)}: {len(flat)} pads for {node.inputs[0].name!r}, whose "
            f"{len(shape)} axes need {2 * len(shape)}"
        )
    _check_magnitude([amount for amount in flat if isinstance(amount, int)], "pads")
    half = len(flat) // 2
    pairs = tuple(zip(flat[:half], flat[half:], strict=True))
    return PadOp(node, mode, axes, pairs, value, _numbers(pairs))


def pairs_of(pads: Sequence[int]) -> tuple[Pair, ...]:
    """ONNX order (all begins, then all ends) as one (begin, end) per axis."""
    half = len(pads) // 2
    return tuple(zip(pads[:half], pads[half:], strict=True))


def onnx_order(pairs: Sequence[Pair]) -> list[int]:
    """One (begin, end) per axis as ONNX writes pads: all begins, then all ends."""
    return [begin for begin, _ in pairs] + [end for _, end in pairs]


def pad_giving(graph: Graph, analysis: Analysis, tensor: Tensor) -> PadOp | None:
    """The `Pad` that gives a tensor, itself or through Identity; None where none can be read."""
    node = graph.producer(graph.origin(tensor))
    if node is None or node.op != "Pad" or not graph.is_standard(node):
        return None
    try:
        return read_pad(graph, analysis, node)
    except UnreadableError:
        return None


def is_padded(pairs: Sequence[ExtentPair]) -> bool:
    """Whether any amount is, at some size, not zero."""
    return tuple(pairs) != ((0, 0),) * len(pairs)


def _where(node: Node) -> str:
    """How messages name a node that cannot be read."""
    return f"{node.op} {describe(node)!r}"


def _input(node: Node, index: int) -> Tensor | None:
    return node.inputs[index] if len(node.inputs) > index and node.inputs[index].name else None


def _scalar(graph: Graph, analysis: Analysis, tensor: Tensor) -> float | int | None:
    """The one element of a constant tensor; None where it is not known exactly."""
    array = graph.constant(tensor)
    if array is not None:
        if array.size != 1 or array.dtype.kind not in "fiubV":
            return None
        item = array.reshape(-1)[0]
        return int(item) if array.dtype.kind in "iub" else float(item)
    value = analysis.value(tensor)
    if value is None or value.data.size != 1:
        return None
    element = value.data.reshape(-1)[0]
    if isinstance(element, np.generic):
        element = element.item()
    return element if isinstance(element, int | float) else None


def _integers(
    node: Node, name: str, count: int | None, least: int | None = None
) -> tuple[int, ...] | None:
    value = node.attrs.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or not {int}.issuperset(map(type, value)):
        raise ModelError(f"{_where(node)}: {name} must be a list of integers")
    if (not value and name != "pads") or (not value and count is not None):
        return None  # onnxruntime fills in an empty list as it does an absent one
    if count is not None and len(value) != count:
        raise ModelError(f"{_where(node)}: {name} has {len(value)} values, but {count} are needed")
    if least is not None and min(value) < least:
        raise ModelError(f"{_where(node)}: {name} {_brief(value)} must not be below {least}")
    _check_magnitude(value, name)
    return tuple(value)


def _check_axes(axes: Sequence[int], rank: int | None) -> None:
    """Raises UnreadableError where an axis is named twice, or is none of the data's."""
    for axis in axes:
        if rank is not None and not -rank <= axis < rank:
            raise UnreadableError(f"its axes {_brief(axes)} name one that data of {rank} lacks")
    if len({axis if rank is None else axis % rank for axis in axes}) != len(axes):
        raise UnreadableError(
            f"its axes {_brief(axes)} name one twice, and the specification leaves open what then"
        )


def _check_magnitude(values: Sequence[int], name: str) -> None:
    """Raises UnreadableError for what no tensor is long enough for."""
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


def _brief(values: Sequence[object]) -> str:
    return "(" + ", ".join(map(str, values)) + ")"
