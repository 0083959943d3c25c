"""What the rules of operators build on; those for shapes and types, and the tables of them.

A rule answers a question about a node's output, given a `Call`: it asks for types, shapes and
contents of the node's inputs. Where one of these is not known yet, the rule is left by
`NeededError`, and run again once it is. So a rule never causes another one to run inside it, and
a deep graph needs no deep Python stack. Where a rule cannot tell, it raises `UnreadError`.

Where an operator runs only if two axes have one size, either stands for both. Where onnxruntime and
the specification give different sizes of a window's output, the size is unknown, but for pools:
theirs is truncated, as in onnxruntime and shape inference.

The output shape of an operator without a rule is unknown. Sources: the operators' pages of the ONNX
specification and, of onnxruntime's own operators, its docs/ContribOperators.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from itertools import compress
from typing import Any, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from onnx import TensorProto, numpy_helper

from onnxpad.arithmetic.size import Extent, Unknown, bounds, ceil_div, floor_div
from onnxpad.arithmetic.window import output_size, pool_output_size, same_output_size
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.graph.nodes import noted
from onnxpad.semantics import rows
from onnxpad.semantics.layers import ExtentPairs, is_padded
from onnxpad.semantics.moving import (
    agreed,
    at_least,
    bounds_of,
    broadcast,
    product,
    remaining,
    slice_size,
)
from onnxpad.semantics.operators import MICROSOFT, laid_out
from onnxpad.semantics.rows import FLOATS, FORMATS, INTEGERS, Row, UnreadError, axes_of, axis_of
from onnxpad.semantics.table import amounts_of, over_axes
from onnxpad.semantics.window import TRANSPOSED, WINDOWS, form_of

Shape = tuple[Extent, ...]
Elements = npt.NDArray[np.object_]

BOOL = int(TensorProto.BOOL)
INT32 = int(TensorProto.INT32)
INT64 = int(TensorProto.INT64)
UINT8 = int(TensorProto.UINT8)
FLOAT = int(TensorProto.FLOAT)

REALS = FLOATS - {TensorProto.BFLOAT16}
"""The floating-point types that are evaluated."""


class Value(Struct, frozen=True, dict=True):
    """The content of a tensor, element by element: an object array of its shape.

    Integers are `Extent`s, truth values those that are 0 or 1. Floats are `Real`s: Python floats
    that the type holds exactly, or what `semantics.numbers` has for one that varies.
    """

    dtype: int
    data: Elements

    @cached_property
    def flat(self) -> tuple[Any, ...]:
        """Its elements in order."""
        return tuple(self.data.reshape(-1).tolist())


def is_constant(value: Value | None) -> TypeGuard[Value]:
    """Whether each element of a tensor is a number."""
    return value is not None and {int, float}.issuperset(map(type, value.flat))


def elements(items: Iterable[object], shape: Sequence[int]) -> Elements:
    """Return an object array of a shape, in the order of `items`."""
    data = np.empty(math.prod(shape), dtype=object)
    data[:] = list(items)
    return data.reshape(tuple(shape))


def filled(item: object, shape: Sequence[int]) -> Elements:
    """Return an object array of a shape with one item everywhere."""
    return elements([item] * math.prod(shape), shape)


def each(function: Callable[..., object], *operands: Elements) -> Elements:
    """Apply a function element by element; numpy raises ValueError if they do not broadcast."""
    with np.errstate(all="ignore"):  # numpy would warn of Python's own inf * 0
        result = np.frompyfunc(function, len(operands), 1)(*operands)
    return result if isinstance(result, np.ndarray) else elements([result], ())


def constant_elements(array: npt.NDArray[np.generic], dtype: int) -> Elements | None:
    """Return the elements of a constant; None for a type that is not evaluated."""
    if dtype in INTEGERS:
        return array.astype(object)
    if dtype == BOOL:
        return array.astype(np.int8).astype(object)
    return array.astype(np.float64).astype(object) if dtype in REALS else None


def fit(number: Extent, dtype: int) -> Extent:
    """Return the integer where its type holds it; one that overflows is unknown."""
    least, greatest = INTEGERS[dtype]
    if isinstance(number, Unknown) or (at_least(number, least) and at_least(-number, -greatest)):
        return number
    return Unknown(f"{number} overflows the type")


LIMIT = 64
"""Most elements of a tensor that is computed."""

CONSTANT_LIMIT = 4096
"""Most elements of a constant that is read."""

Bound = float | int
"""A number that no element of a tensor is below."""

NONE = -math.inf
"""The bound of a tensor about which nothing is known."""

Rule = TypeVar("Rule")
_Kind = TypeVar("_Kind", int, float, str, tuple[int, ...])

DTYPE, SHAPE, VALUE, BOUND = KINDS = range(4)
"""The kinds of questions about a tensor."""


class PassedFacts(Struct, frozen=True):
    """Facts about an input or a result of a body or function; values of constants alone."""

    dtype: int | None = None
    shape: Shape | None = None
    value: Value | None = None


NOTHING = PassedFacts()


class NeededError(Exception):
    """A rule asks for what is not known yet; never leaves `onnxpad.facts`.

    Its arguments are the analysis that is asked, the kind of question, and the tensor.
    """


class Call(rows.Call):
    """One node, asked about one of its outputs, which needs no row.

    Attributes:
        op: The operator, as `rule_name` has it.
        kind: The output's type, 0 for one that is unknown; for values and bounds only.
        sizes: The output's shape, all known; for value rules only.
    """

    __slots__ = ("kind", "op", "sizes")
    _facts: Any  # the analysis, whose module imports this one
    kind: int
    sizes: tuple[int, ...]

    def __init__(self, graph: Graph, facts: Any, node: Node) -> None:
        """Reads a node of any operator, by the opset of the graph, about its first output."""
        self.node, self.op, self.output, self.version = node, rule_name(graph, node), 0, graph.opset
        self.operand = node.operand
        self._graph, self._facts = graph, facts
        self.kind, self.sizes = 0, ()

    def by(self, row: rows.Row) -> rows.Call:
        """The node as a row reads it, which must know all that is written."""
        return rows.Call(self._graph, self._facts, self.node, row, self.output)

    def has(self, index: int) -> bool:
        """Whether an input is present."""
        return self.operand(index) is not None

    def _input(self, index: int) -> Tensor:
        tensor = self.operand(index)
        if tensor is None:
            raise UnreadError(f"{self.op} lacks input {index}")
        return tensor

    def shape_of(self, index: int) -> Shape:
        """Return the shape of an input, whose rank must be known."""
        shape: Shape | None = self._facts.shape(self._input(index))
        if shape is None:
            raise UnreadError(f"{self.op}: the rank of input {index} is unknown")
        return shape

    def bound_of(self, index: int) -> Bound:
        """Return a number that no element of an input is below."""
        bound: Bound = self._facts.bound(self._input(index))
        return bound

    def shapes(self) -> list[Shape]:
        """Return the shapes of all inputs, whose ranks are known."""
        return [self.shape_of(index) for index in range(len(self.node.inputs))]

    def all_elements(self, dtype: int) -> list[Elements]:
        """Return the contents of all inputs, which must have this type."""
        if "broadcast" in self.node.attrs:
            raise UnreadError(f"{self.op} broadcasts as in opset 6 and before")
        return [self.elements_of(index, dtype) for index in range(len(self.node.inputs))]

    def elements_of(self, index: int, dtype: int) -> Elements:
        """Return the content of a small input, which must have this type."""
        value = self.value_of(index)
        if value.dtype != dtype:
            raise UnreadError(f"{self.op}: input {index} is of another type")
        return value.data

    def value_of(self, index: int) -> Value:
        """Return the content of a small input, with unknown elements where it is not evaluated."""
        tensor = self._input(index)
        value: Value | None = self._facts.value(tensor)
        if value is not None:
            return value
        shape = known(self.shape_of(index))
        if math.prod(shape) > CONSTANT_LIMIT:
            raise UnreadError(f"{self.op}: input {index} is large")
        unknown = Unknown(f"`{tensor.name}` is not evaluated")
        return Value(self.element_type(index), filled(unknown, shape))

    def integers(self, index: int) -> Shape:
        """Return the content of a small input of integers, flat."""
        value = self.value_of(index)
        if value.dtype not in INTEGERS:
            raise UnreadError(f"{self.op}: input {index} is not of integers")
        return value.flat

    def attribute(self, name: str) -> Any:
        """Return an attribute as it is written; None where it is not."""
        return self.node.attrs.get(name)

    def of(self, name: str, default: _Kind) -> _Kind:
        """Return an attribute, a list as a tuple; the default where it is left out or empty."""
        found: Any = self.node.attrs.get(name, default)
        found = (tuple(found) or default) if isinstance(found, list) else found
        if type(found) is not type(default):
            raise UnreadError(f"{self.op}: attribute `{name}` is not of its type")
        result: _Kind = found
        return result

    def axis(self, rank: int, default: int = 0) -> int:
        """Return the axis that it names, counted from the first one of so many."""
        return axis_of(self.of("axis", default), rank)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return an attribute that must be 0 or 1: runtimes differ on other numbers."""
        number = self.of(name, int(default))
        if number not in (0, 1):
            raise UnreadError(f"{self.op}: {name} is {number}")
        return bool(number)


def known(extents: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the extents, all of which must be plain integers."""
    if not {int}.issuperset(map(type, extents)):
        raise UnreadError("a number that must be known is unknown")
    return extents


ShapeRule = Callable[[Call], Shape]
ValueRule = Callable[[Call], Elements]
DtypeRule = Callable[[Call], int]


def named(rule: Rule, names: str, domain: str = "") -> dict[str, Rule]:
    """Return a table with one rule for all the operators of a domain that a string names."""
    return dict.fromkeys([f"{domain}.{name}" if domain else name for name in names.split()], rule)


@noted
def rule_name(graph: Graph, node: Node) -> str:
    """The name of a node's operator in tables of rules, after a domain that is not ONNX's own.

    Empty for a function of the model, and where a call of the function around gives an attribute.
    """
    if graph.is_function(node) or graph.refers(node):
        return ""
    return node.op if graph.is_standard(node) else f"{node.domain}.{node.op}"


# Operators that create, move or repeat elements


def _reshape(call: Call) -> Shape:
    target = call.integers(1) if call.version >= 5 else call.of("shape", ())
    shape, copied = call.shape(), not call.flag("allowzero")
    result: list[Extent] = []
    for axis, extent in enumerate(target):
        if extent == 0 and copied:
            is_there = shape and axis < len(shape)
            result.append(shape[axis] if shape and is_there else Unknown("a size that is copied"))
        else:
            is_known = extent in (0, -1) or at_least(extent, 1)
            result.append(extent if is_known else Unknown("a size that may be 0 or -1"))
    if result.count(-1) == 1:
        axis = result.index(-1)
        result[axis] = Unknown("the rest of an unknown shape")
        if shape is not None:
            result[axis] = remaining(shape, [*result[:axis], *result[axis + 1 :]])
    return tuple(result)


def _flatten(call: Call) -> Shape:
    shape, axis = call.shape_of(0), call.of("axis", 1)
    return product(shape[:axis]), product(shape[axis:])


def _squeeze(call: Call) -> Shape:
    shape = call.shape_of(0)
    axes = axes_of(call.axes() or (), len(shape))
    if not axes and not all(isinstance(size, int) or at_least(size, 2) for size in shape):
        raise UnreadError("a Squeeze of axes that may be 1")
    kept = (size != 1 if not axes else axis not in axes for axis, size in enumerate(shape))
    return tuple(compress(shape, kept))


def _unsqueeze(call: Call) -> Shape:
    shape, written = call.shape_of(0), call.axes() or ()
    rank = len(shape) + len(written)
    axes, old = axes_of(written, rank), iter(shape)
    return tuple(1 if axis in axes else next(old) for axis in range(rank))


def perm_of(call: Call, rank: int) -> tuple[int, ...]:
    """Return the axes of a Transpose's data in the order of its result."""
    perm = call.of("perm", tuple(reversed(range(rank))))
    if sorted(perm) != list(range(rank)):
        raise UnreadError(f"perm {perm} of a tensor of rank {rank}")
    return perm


def _transpose(call: Call) -> Shape:
    shape = call.shape_of(0)
    return tuple(shape[axis] for axis in perm_of(call, len(shape)))


def concatenated(shapes: Sequence[Shape], axis: int) -> Shape:
    """Return the shape of tensors concatenated along an axis, given their shapes."""
    columns = list(zip(*shapes, strict=True))
    axis = axis_of(axis, len(columns))
    joined = sum(columns[axis][1:], columns[axis][0])
    return (*map(agreed, columns[:axis]), joined, *map(agreed, columns[axis + 1 :]))


def split_sizes(call: Call, size: Extent) -> Shape:
    """Return the sizes of a Split's parts along its axis, which has this size."""
    if call.version >= 13 and call.has(1):
        return call.integers(1)
    if sizes := call.of("split", ()):
        return sizes
    parts = len(call.node.outputs)
    part = floor_div(size, parts) if call.version < 18 else ceil_div(size, parts)
    last = part if call.version < 18 else size - part * (parts - 1)
    return (*((part,) * (parts - 1)), last)


def _split(call: Call) -> Shape:
    shape = list(call.shape_of(0))
    axis = call.axis(len(shape))
    shape[axis] = split_sizes(call, shape[axis])[call.output]
    return tuple(shape)


def _slice(call: Call) -> Shape:
    shape = list(call.shape_of(0))
    for axis, (start, end, step) in bounds_of(call, len(shape)).items():
        shape[axis] = slice_size(shape[axis], start, end, step)
    return tuple(shape)


def _gather(call: Call) -> Shape:
    shape, indices = call.shape_of(0), call.shape_of(1)
    axis = call.axis(len(shape))
    return (*shape[:axis], *indices, *shape[axis + 1 :])


def pads_of(call: Call, rank: int) -> ExtentPairs:
    """Return the amounts of a Pad for each axis, each unknown where they are."""
    amounts, axes = amounts_of(call)
    pads = None if amounts is None else over_axes(amounts, axes, rank)
    return ((Unknown("the pads are unknown"),) * 2,) * rank if pads is None else pads


def _pad(call: Call) -> Shape:
    shape = call.shape_of(0)
    pads = pads_of(call, len(shape))
    return tuple([size + begin + end for size, (begin, end) in zip(shape, pads, strict=True)])


def _tile(call: Call) -> Shape:
    pairs = zip(call.shape_of(0), call.integers(1), strict=True)
    return tuple(size * repeats for size, repeats in pairs)


def _blocks(call: Call) -> Shape:
    (batch, channels, height, width), block = call.shape_of(0), call.of("blocksize", 0)
    if call.op == "SpaceToDepth":
        return batch, channels * block**2, floor_div(height, block), floor_div(width, block)
    return batch, floor_div(channels, block**2), height * block, width * block


def dimensions(call: Call) -> Shape:
    """Return the elements that a Shape node gives."""
    shape = call.shape_of(0)
    begin, end = call.of("start", 0), call.of("end", len(shape))
    return shape[begin:end]


def element_of(call: Call) -> tuple[int, object]:
    """Return the type and the element of a ConstantOfShape; None for one that is not evaluated."""
    written = call.attribute("value")
    if written is None:
        return FLOAT, 0.0
    value = written.t
    if value.data_location == TensorProto.EXTERNAL:
        return value.data_type, None
    try:
        data = constant_elements(numpy_helper.to_array(value), value.data_type)
    except (KeyError, TypeError, ValueError):  # no such type, or elements of another one
        data = None
    return value.data_type, None if data is None or data.size != 1 else data.item()


# Operators that compute


def _as_data(call: Call) -> Shape:
    return call.shape_of(0)


def _broadcasting(call: Call) -> Shape:
    # Before opset 7 the second input was broadcast to the first.
    return call.shape_of(0) if call.version < 7 else broadcast(call.shapes())


def _matmul(call: Call) -> Shape:
    a, b = call.shape_of(0), call.shape_of(1)
    columns = b[-1:] if len(b) > 1 else ()
    return (*broadcast([a[:-2], b[:-2]]), *a[-2:-1], *columns)


def _reduction(call: Call) -> Shape:
    shape, keep = call.shape_of(0), call.flag("keepdims", default=True)
    # Axes became an input, of a sum before they did of others.
    axes = axes_of(call.axes(13 if call.op == "ReduceSum" else 18) or (), len(shape))
    if not axes and not call.flag("noop_with_empty_axes"):
        axes = tuple(range(len(shape)))
    sizes = (1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(sizes) if keep or axis not in axes)


def _q_linear_concat(call: Call) -> Shape:
    """Give the shape of a QLinearConcat: inputs 2, 5, 8 and so on are the parts."""
    parts = [call.shape_of(index) for index in range(2, len(call.node.inputs), 3)]
    return concatenated(parts, call.of("axis", 1))


_BROADCASTING = (
    "Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod Mul Or PRelu Pow"
    " Sub Sum Where Xor"
)
BROADCASTING = frozenset(_BROADCASTING.split())
"""Operators whose inputs are broadcast to one shape, from opset 7 on (some from 8)."""

_KEEPING = (
    "Abs Asin Asinh Atan Atanh BatchNormalization Cast Ceil Celu Clip Cos DequantizeLinear"
    " Dropout Elu Erf Exp Floor Gelu GroupNormalization HardSigmoid HardSwish Identity"
    " InstanceNormalization LRN LayerNormalization LeakyRelu Log LogSoftmax Mish Neg Not PRelu"
    " QuantizeLinear RMSNormalization Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softmax"
    " Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu"
)
KEEPING = frozenset(_KEEPING.split())
"""Operators whose first output has the shape of their first input, by the specification.

Of a PRelu the slope alone is broadcast, but onnxruntime also runs a slope that is longer than the
data, and gives the longer result: its rule of shapes is another.
"""


def of_row(row: Row) -> ShapeRule:
    """Make the rule for the shape of an operator of the table."""
    window, place = row.window, laid_out(row, {}).inputs.weight

    def rule(call: Call) -> Shape:
        last = window is not None and window.last
        if last is None:
            last = call.flag("channels_last")
        shape = call.shape_of(0)
        data, channels = (shape[1:-1], shape[-1:]) if last else (shape[2:], shape[1:2])
        if not data:
            raise UnreadError(f"a {row.op} of rank {len(shape)}")
        weights = shape if place is None else call.shape(place)
        if weights is None or len(weights) != len(shape):
            weights = (Unknown("a weight of unknown shape"),) * len(shape)
        notes, key = call.node.notes, (of_row, data, weights[2:])
        sizes: Shape | None = notes.get(key)  # the analyses of other domains ask it again
        if sizes is None:
            sizes = _sizes(call, row, data)
            if {int}.issuperset(map(type, sizes)):  # an unknown number is that of one node alone
                notes[key] = sizes
        if place is not None:  # a weight that scatters has the channels of one group
            channels = (weights[1] * call.of("group", 1) if row.transposed else weights[0],)
        return (*shape[:1], *sizes, *channels) if last else (*shape[:1], *channels, *sizes)

    return rule


def _sizes(call: Call, row: Row, data: Shape) -> Shape:
    """The spatial sizes of an output; those at which no window fits are unknown."""
    pools = row.window is not None and row.window.rounding == "pool"
    try:
        read = _spread_sizes if row.transposed else partial(_slid_sizes, pools=pools)
        sizes = read(call, row, data)
    except UnreadError as error:
        return (Unknown(str(error), bool(error.facts.get("disputed"))),) * len(data)
    nothing, least = Unknown("no window fits"), 0 if pools else 1
    return tuple(nothing if isinstance(n, int) and n < least else n for n in sizes)


def _slid_sizes(call: Call, row: Row, data: Shape, *, pools: bool) -> Sequence[Extent]:
    slide = form_of(call.by(row))
    # Runtimes differ where a node has both.
    is_same = slide.auto_pad.startswith("SAME")
    if slide.pads_written if is_same else slide.auto_pad == "VALID" and is_padded(slide.pads):
        raise UnreadError("auto_pad and pads at once")
    if is_same:
        if pools and any(window.dilation > 1 and window.kernel > 1 for window in slide.axes):
            raise UnreadError("runtimes differ on a pool with SAME and dilations", disputed=True)
        return [same_output_size(*each) for each in zip(data, slide.axes, strict=True)]
    axes = zip(data, slide.axes, slide.pads, strict=True)
    how = {"ceil_mode": slide.ceil} if pools else {}
    size_of = pool_output_size if pools else output_size
    return [size_of(size, window, *pads, **how) for size, window, pads in axes]


def _spread_sizes(call: Call, row: Row, data: Shape) -> Sequence[Extent]:
    """The sizes of what spreads: those of the lines that windows reach, with both ends."""
    from onnxpad.semantics.transposed import ends_of, spread_form

    form = slide, _, wanted = spread_form(call.by(row))
    if wanted is not None:
        return wanted
    if slide.pads_written and min(map(min, slide.pads)) < 0:
        raise UnreadError("pads are negative, which the specification forbids")
    ends = zip(data, slide.axes, ends_of(form, None), strict=True)
    return tuple(
        Unknown("runtimes differ on SAME with a kernel below the stride", is_disputed=True)
        if is_open
        else window.stride * (size - 1) + window.extent + begin + end
        for size, window, (begin, end, is_open) in ends
    )


def _global_pool(call: Call) -> Shape:
    shape = call.shape_of(0)
    ones = (1,) * (len(shape) - 2)
    last = call.flag("channels_last")
    return (*shape[:1], *ones, *shape[-1:]) if last else (*shape[:2], *ones)


def _resize(call: Call) -> Shape:
    shape, by_size = call.shape_of(0), call.has(3)
    crops = call.of("coordinate_transformation_mode", "") == "tf_crop_and_resize"
    if crops or call.of("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise UnreadError("a Resize that crops, or keeps the aspect ratio")
    axes = axes_of(call.of("axes", tuple(range(len(shape)))), len(shape))
    scales = 2 if call.version >= 11 else 1
    given: Sequence[Any] = call.integers(3) if by_size else call.value_of(scales).flat
    sizes = list(shape)
    for axis, asked in zip(axes, given, strict=True):
        sizes[axis] = asked if by_size else resized(shape[axis], asked)
    return tuple(sizes)


def resized(size: Extent, scale: object) -> Extent:
    """Return a size times a scale, rounded down, where the product is exact in float32."""
    high = bounds(size)[1]
    if not isinstance(scale, float) or not 0 < scale < math.inf or high is None:
        return Unknown(f"a scale of {scale}")
    numerator, denominator = scale.as_integer_ratio()
    if high * (numerator // (numerator & -numerator)) > 2 ** FORMATS[FLOAT][0]:
        return Unknown(f"a size times {scale} is rounded")
    return floor_div(size * numerator, denominator)


SHAPES: dict[str, ShapeRule] = {
    **dict.fromkeys(KEEPING, _as_data),
    **dict.fromkeys(BROADCASTING, _broadcasting),
    **named(_reduction, "ReduceL2 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum"),
    **named(_global_pool, "GlobalAveragePool GlobalLpPool GlobalMaxPool"),
    **named(_resize, "Resize Upsample"),
    "Concat": lambda call: concatenated(call.shapes(), call.of("axis", 1)),
    "ConstantOfShape": lambda call: call.integers(0),
    **named(_blocks, "DepthToSpace SpaceToDepth"),
    "Expand": lambda call: broadcast([call.shape_of(0), call.integers(1)]),
    "Flatten": _flatten,
    "Gather": _gather,
    "MatMul": _matmul,
    "Pad": _pad,
    "Reshape": _reshape,
    "Shape": lambda call: (len(dimensions(call)),),
    "Size": lambda call: (),
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "DynamicQuantizeLinear": lambda call: () if call.output else call.shape_of(0),
    **named(
        _as_data,
        "BiasGelu DequantizeLinear FastGelu Gelu QLinearLeakyRelu QLinearSigmoid QLinearSoftmax"
        " QuantizeLinear QuickGelu",
        MICROSOFT,
    ),
    **named(
        lambda call: broadcast([call.shape_of(0), call.shape_of(3)]),
        "QLinearAdd QLinearMul",
        MICROSOFT,
    ),
    **named(_q_linear_concat, "QLinearConcat", MICROSOFT),
    **named(_global_pool, "QLinearGlobalAveragePool", MICROSOFT),
    **{".".join(filter(None, key)): of_row(row) for key, row in {**WINDOWS, **TRANSPOSED}.items()},
}
"""Shape rules by name; the windows of a row come from it."""

SEVERAL = frozenset({"DynamicQuantizeLinear", "Split"})
"""Operators of which something is known of other outputs than the first."""


def _quantised(call: Call) -> int:
    return call.element_type(2) if call.has(2) else call.of("output_dtype", 0) or UINT8


DTYPES: dict[str, DtypeRule] = {
    **named(lambda call: BOOL, "And Equal Greater GreaterOrEqual Less LessOrEqual Not Or Xor"),
    **named(lambda call: INT64, "Shape Size"),
    "Cast": lambda call: call.of("to", 0),
    "ConstantOfShape": lambda call: element_of(call)[0],
    "ConvInteger": lambda call: INT32,
    "DequantizeLinear": lambda call: call.of("output_dtype", 0) or call.element_type(1),
    "DynamicQuantizeLinear": lambda call: FLOAT if call.output == 1 else UINT8,
    "QLinearConcat": lambda call: call.element_type(2),
    "QLinearConv": lambda call: call.element_type(7),
    "QuantizeLinear": _quantised,
    **named(lambda call: call.element_type(1), "RMSNormalization Where"),
}
"""Operators of any domain with a shape rule whose output type is not that of input 0."""
