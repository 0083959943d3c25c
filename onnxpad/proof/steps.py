"""Operators that padding commutes with, written from the specification's text for the proof.

Such a step gives the same wherever the padding is: step(Pad(x)) == Pad'(step'(x)), where step' is
the step without the padding (a Reshape to a shape without it), and Pad' the padding as the step
hands it on. This table names the versions of each operator that it was compared with; a newer one
is no step. Like the rest of the proof's reading, it knows nothing of passes, and shares no line
with the table that they use.

Sources: the operators' pages of the ONNX specification, and IEEE 754 for what becomes of a fill.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from onnx import TensorProto

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import Extent, Size, always, less_equal
from onnxpad.errors import ModelError
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.proof import fill_arithmetic as fills
from onnxpad.proof.fill_arithmetic import Number
from onnxpad.proof.layers import NEGATIVE_ZERO, Amounts, Layers, around, fill_of
from onnxpad.proof.meaning import (
    FLOATS,
    LONGEST,
    MeaninglessError,
    check_arity,
    frozen,
    is_set,
    version_of,
)

_CASTS: Final = FLOATS | {
    TensorProto.INT8,
    TensorProto.INT16,
    TensorProto.INT32,
    TensorProto.INT64,
    TensorProto.UINT8,
    TensorProto.UINT16,
    TensorProto.UINT32,
    TensorProto.UINT64,
}
_QUANTIZED: Final = frozenset(
    {TensorProto.INT8, TensorProto.UINT8, TensorProto.INT16, TensorProto.UINT16}
)


class Passed(NamedTuple):
    """What a step makes of padded data.

    Attributes:
        key: The function that the step computes of the data without its padding. Equal keys give
            equal tensors for equal data.
        layers: The padding around that tensor.
        taken: Names of the node's other inputs that the key holds by name.
    """

    key: tuple[object, ...]
    layers: Layers
    taken: tuple[str, ...]


class _Call(NamedTuple):
    """A node that may be a step, with the padding of what it reads.

    Attributes:
        graph: The graph.
        analysis: Its analysis.
        node: The node.
        version: The version of its operator.
        output: Which of its outputs is asked about.
        data: The inputs that are padded.
        layers: The padding, the same for all of these inputs.
    """

    graph: Graph
    analysis: Analysis
    node: Node
    version: int
    output: int
    data: tuple[int, ...]
    layers: Layers

    @property
    def source(self) -> Tensor:
        """The first of the inputs that are padded."""
        return self.node.inputs[self.data[0]]

    @property
    def rank(self) -> int | None:
        """The rank of the data; None where unknown."""
        if self.layers:
            return len(self.layers[0].amounts)
        shape = self.analysis.shape(self.source)
        return None if shape is None else len(shape)

    @property
    def dtype(self) -> int:
        """The element type of the data.

        Raises:
            MeaninglessError: It is unknown.
        """
        found = self.analysis.dtype(self.source)
        if found is None:
            raise MeaninglessError("the element type is unknown")
        return found

    def is_padded(self, axis: int) -> bool:
        """Whether a layer pads or crops an axis."""
        return any(layer.amounts[axis] != (0, 0) for layer in self.layers)

    def attribute(self, name: str, default: Any) -> Any:
        """The value of an attribute, of the type that its schema gives."""
        return self.node.attrs.get(name, default)

    def given(self, place: int) -> Tensor | None:
        """An input; None where it is left out."""
        inputs = self.node.inputs
        return inputs[place] if len(inputs) > place and inputs[place].name else None

    def others(self) -> Iterator[tuple[int, str]]:
        """Places and names of the inputs that are not padded."""
        for place, tensor in enumerate(self.node.inputs):
            if place not in self.data and tensor.name:
                yield place, tensor.name

    def constant(self, place: int, dtype: int) -> np.ndarray[Any, Any]:
        """The elements of an input that is constant.

        Raises:
            MeaninglessError: It is not, or of another element type.
        """
        tensor = self.given(place)
        array = None if tensor is None else self.graph.constant(tensor)
        declared = None if tensor is None else self.graph.declared(tensor)
        if array is None or declared is None or declared.dtype != dtype or not array.size:
            raise MeaninglessError(f"input {place} of {self.node.op} is no constant of that type")
        return array

    def moved(self, axes: Callable[[Amounts], Sequence[tuple[Extent, Extent]]]) -> Layers:
        """The layers with their axes in other places."""
        return tuple(layer._replace(amounts=tuple(axes(layer.amounts))) for layer in self.layers)

    def mapped(self, function: Callable[[Number], Number], result: int | None = None) -> Layers:
        """The layers with a function of their fill.

        Args:
            function: Of a number of the data's element type.
            result: The element type of its result, where that is another.

        Raises:
            MeaninglessError: The element type holds a fill not exactly, or the function raises it.
        """
        found = []
        for layer in self.layers:
            number = function(fills.number_of(layer.fill, self.dtype))
            number = fills.held(number, self.dtype if result is None else result)
            found.append(layer._replace(fill=fill_of(number)))
        return tuple(found)


_Rule: TypeAlias = Callable[[_Call], Passed]


@dataclass(frozen=True, slots=True)
class Step:
    """One operator that padding commutes with.

    Attributes:
        versions: The versions of the operator with this meaning, by the schema's `since_version`.
        rule: What it makes of padded data; raises MeaninglessError where it is no step.
        data: The inputs that may be padded: the first, all, or the only one that is not constant.
        parts: Whether all of its outputs are parts of the data.
    """

    versions: frozenset[int]
    rule: _Rule
    data: str = "first"
    parts: bool = False


def data_inputs(graph: Graph, analysis: Analysis, node: Node) -> tuple[int, ...]:
    """The inputs of a node whose padding a step hands on; none where the node is no step.

    Args:
        graph: The graph that has the node.
        analysis: Its analysis.
        node: Any node.
    """
    step = STEPS.get(node.op)
    if step is None or not graph.is_standard(node) or not node.outputs or not node.inputs:
        return ()
    try:
        version_of(node.op, graph.opset, node.attrs, step.versions)
        check_arity(graph, node)
    except MeaninglessError:
        return ()
    if not step.parts and any(_is_used(graph, output) for output in node.outputs[1:]):
        return ()
    found: tuple[int, ...] = (0,)
    if step.data == "all":
        found = tuple(range(len(node.inputs)))
    elif step.data == "one":
        try:
            varying = [graph.constant(tensor) is None for tensor in node.inputs if tensor.name]
        except ModelError:
            return ()
        if len(varying) < len(node.inputs) or varying.count(True) != 1:
            return ()
        found = (varying.index(True),)
    return found if all(node.inputs[place].name for place in found) else ()


def through(
    graph: Graph, analysis: Analysis, node: Node, output_index: int, inner: Sequence[Layers]
) -> Passed | None:
    """What a node makes of padded data, where it is a step.

    Args:
        graph: The graph that has the node.
        analysis: Its analysis.
        node: Any node.
        output_index: Which of its outputs is asked about.
        inner: The layers around each of `data_inputs`, with amounts over all axes of that input;
            none of them where it is not padded.

    Returns:
        None where it is not known to be a step for these layers.
    """
    data = data_inputs(graph, analysis, node)
    if not data or len(inner) != len(data) or any(layers != inner[0] for layers in inner):
        return None
    if any(isinstance(layer.fill, str) and layer.fill != NEGATIVE_ZERO for layer in inner[0]):
        return None
    step = STEPS[node.op]
    if not 0 <= output_index < len(node.outputs) or (output_index and not step.parts):
        return None
    try:
        version = version_of(node.op, graph.opset, node.attrs, step.versions)
        return step.rule(_Call(graph, analysis, node, version, output_index, data, inner[0]))
    except (MeaninglessError, ModelError):
        return None


def crop_of(graph: Graph, analysis: Analysis, node: Node) -> Amounts | None:
    """The amounts, 0 or below, that a Slice of constant bounds takes off each axis of its data.

    Args:
        graph: The graph that has the node.
        analysis: Its analysis.
        node: Any node.

    Returns:
        (begin, end) for each axis. None where the node is no Slice in steps of 1, or where its
        bounds or the rank are unknown, or where it may leave less than it says.
    """
    if node.op != "Slice" or not data_inputs(graph, analysis, node):
        return None
    version = version_of(node.op, graph.opset, node.attrs, STEPS["Slice"].versions)
    call = _Call(graph, analysis, node, version, 0, (0,), ())
    shape = analysis.shape(node.inputs[0])
    if shape is None:
        return None
    amounts: list[tuple[Extent, Extent]] = [(0, 0)] * len(shape)
    try:
        for axis, (start, end, step) in _slices(call).items():
            if step != 1:
                return None
            amounts[axis] = _crop(shape[axis], start, end)
    except (MeaninglessError, ModelError):
        return None
    return tuple(amounts)


def _crop(size: Extent, start: Extent, end: Extent) -> tuple[Extent, Extent]:
    """What a slice in steps of 1 takes off an axis, as amounts of padding.

    Raises:
        MeaninglessError: It may be otherwise at some size.
    """
    cut: Extent
    if isinstance(start, int) and start < 0:
        start = size + start
    if isinstance(end, int) and end < 0:
        cut = -end
    elif (isinstance(end, int) and end >= LONGEST) or always(less_equal(size, end)) is True:
        cut = 0
    else:
        cut = size - end
    if isinstance(start, int) and isinstance(cut, int) and start == cut == 0:
        return 0, 0
    least = (0, start), (0, cut), (start + cut, size)
    if not all(always(less_equal(low, high)) is True for low, high in least):
        raise MeaninglessError("a Slice that may be longer than its axis")
    return -start, -cut


def _is_used(graph: Graph, tensor: Tensor) -> bool:
    return bool(tensor.name) and (graph.is_output(tensor) or bool(graph.uses(tensor)))


def _named(call: _Call, layers: Layers, *says: object) -> Passed:
    """What a step computes that depends on its attributes and on its other inputs, by name."""
    attributes = sorted((name, *frozen(value)) for name, value in call.node.attrs.items())
    others = tuple(call.others())
    facts = (call.data, tuple(attributes), others, call.output)
    key = call.node.op, call.version, *says, *facts
    return Passed(key, layers, tuple(name for _, name in others))


def _axis(axis: int, rank: int | None) -> int:
    """An axis, counted from the first one where the rank is known.

    Raises:
        MeaninglessError: There is no such axis.
    """
    if rank is None:
        return axis
    if not -rank <= axis < rank:
        raise MeaninglessError(f"there is no axis {axis}")
    return axis % rank


def _axes(axes: Sequence[int], rank: int | None) -> tuple[int, ...]:
    """Axes, counted from the first one where the rank is known.

    Raises:
        MeaninglessError: There is no such axis, or one is named twice.
    """
    found = tuple(_axis(axis, rank) for axis in axes)
    if len(set(found)) < len(found):
        raise MeaninglessError("an axis is named twice")
    return found


def _numbers(call: _Call, place: int) -> tuple[int, ...]:
    """The integers of a small constant input.

    Raises:
        MeaninglessError: They are unknown.
    """
    tensor = call.given(place)
    found = None if tensor is None else call.analysis.integers(tensor)
    numbers = tuple(number for number in found or () if isinstance(number, int))
    if found is None or len(numbers) < len(found):
        raise MeaninglessError(f"the numbers of input {place} are unknown")
    return numbers


# Steps that move axes


def _transpose(call: _Call) -> Passed:
    perm = call.attribute("perm", None)
    if perm is None:
        if call.rank is None:
            raise MeaninglessError("the rank is unknown")
        perm = range(call.rank)[::-1]
    perm = tuple(perm)
    if sorted(perm) != list(range(len(perm))) or call.rank not in (None, len(perm)):
        raise MeaninglessError("perm is no permutation of the axes")
    layers = call.moved(lambda amounts: [amounts[axis] for axis in perm])
    return Passed(("Transpose", perm), layers, ())


def _named_axes(call: _Call) -> tuple[int, ...] | None:
    """The axes that a Squeeze or an Unsqueeze names; None where it names none."""
    if call.version < 13:
        written = call.attribute("axes", None)
        return None if written is None else tuple(written)
    return None if call.given(1) is None else _numbers(call, 1)


def _unsqueeze(call: _Call) -> Passed:
    written = _named_axes(call)
    if not written:
        raise MeaninglessError("there are no axes")
    rank = None if call.rank is None else call.rank + len(written)
    axes = _axes(written, rank)

    def widened(amounts: Amounts) -> Sequence[tuple[Extent, Extent]]:
        old = iter(amounts)
        return [(0, 0) if axis in axes else next(old) for axis in range(len(amounts) + len(axes))]

    return Passed(("Unsqueeze", tuple(sorted(axes))), call.moved(widened), ())


def _squeeze(call: _Call) -> Passed:
    written = _named_axes(call)
    if written is None:
        return _reshape(call)
    axes = _axes(written, call.rank)
    if not axes or any(call.is_padded(axis) for axis in (axes if call.layers else ())):
        raise MeaninglessError("there are no axes, or one is padded")

    def narrowed(amounts: Amounts) -> Sequence[tuple[Extent, Extent]]:
        return [pair for axis, pair in enumerate(amounts) if axis not in axes]

    return Passed(("Squeeze", tuple(sorted(axes))), call.moved(narrowed), ())


def _reshape(call: _Call) -> Passed:
    """A Reshape, a Flatten, or a Squeeze of all axes of size 1: only such axes come or go."""
    before, after = call.analysis.shape(call.source), call.analysis.shape(call.node.outputs[0])
    if before is None or after is None or call.rank != len(before):
        raise MeaninglessError("the shapes are unknown")
    if any(not isinstance(size, int | Size) for size in (*before, *after)):
        raise MeaninglessError("the shapes are unknown")
    if "allowzero" in call.node.attrs and is_set(call.node.attrs, "allowzero") and 0 in after:
        raise MeaninglessError("a Reshape to a size of 0")
    old, new = ([axis for axis, size in enumerate(shape) if size != 1] for shape in (before, after))
    if call.layers and [before[axis] for axis in old] != [after[axis] for axis in new]:
        raise MeaninglessError("axes are merged, split or exchanged")
    if any(call.is_padded(axis) for axis in range(len(before)) if axis not in old):
        raise MeaninglessError("an axis is padded that comes or goes")
    source = dict(zip(new, old, strict=True)) if call.layers else {}

    def placed(amounts: Amounts) -> Sequence[tuple[Extent, Extent]]:
        return [amounts[source[axis]] if axis in source else (0, 0) for axis in range(len(after))]

    layers = call.moved(placed)
    shape = tuple(size - around(layers, axis) for axis, size in enumerate(after))
    return Passed(("Reshape", shape), layers, ())


# Steps that keep elements or leave some out


def _dropout(call: _Call) -> Passed:
    if call.version < 7 and not is_set(call.node.attrs, "is_test"):
        raise MeaninglessError("a Dropout that trains")
    may_train = call.version >= 12 and call.given(2) is not None
    if may_train and call.constant(2, TensorProto.BOOL).any():
        raise MeaninglessError("a Dropout that trains")
    return Passed(("Dropout",), call.layers, ())


def _concat(call: _Call) -> Passed:
    if call.version >= 4 and "axis" not in call.node.attrs:
        raise MeaninglessError("Concat has no axis")
    axis = _axis(call.attribute("axis", 1), call.rank)
    if call.layers and call.is_padded(axis):
        raise MeaninglessError("the axis is padded")
    return Passed(("Concat", len(call.data), axis), call.layers, ())


def _split(call: _Call) -> Passed:
    axis = _axis(call.attribute("axis", 0), call.rank)
    if call.layers and call.is_padded(axis):
        raise MeaninglessError("the axis is padded")
    return _named(call, call.layers, len(call.node.outputs))


def _slices(call: _Call) -> dict[int, tuple[Extent, Extent, int]]:
    """Start, end and step of a Slice for each axis that it names.

    Raises:
        MeaninglessError: They are unknown.
    """
    steps: Sequence[int] | None = None
    starts: Sequence[Extent] | None
    ends: Sequence[Extent] | None
    if call.version < 10:
        starts, ends = call.attribute("starts", None), call.attribute("ends", None)
        axes = call.attribute("axes", None)
    else:
        low, high = call.given(1), call.given(2)
        starts, ends = (
            None if tensor is None else call.analysis.integers(tensor) for tensor in (low, high)
        )
        axes = None if call.given(3) is None else _numbers(call, 3)
        steps = None if call.given(4) is None else _numbers(call, 4)
    if starts is None or ends is None:
        raise MeaninglessError("the bounds are unknown")
    axes = range(len(starts)) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise MeaninglessError("there are not as many axes as bounds")
    if any(not isinstance(bound, int | Size) for bound in (*starts, *ends)) or 0 in steps:
        raise MeaninglessError("the bounds are unknown")
    bounds = zip(starts, ends, steps, strict=True)
    return dict(zip(_axes(axes, call.rank), bounds, strict=True))


def _slice(call: _Call) -> Passed:
    found = _slices(call)
    for axis, (start, end, step) in tuple(found.items()):
        if start == 0 and step == 1 and isinstance(end, int) and end >= LONGEST:
            del found[axis]
    if call.layers and any(map(call.is_padded, found)):
        raise MeaninglessError("a padded axis is sliced")
    return Passed(("Slice", tuple(sorted(found.items()))), call.layers, ())


# Steps that compute each element from one element


def _cast(call: _Call) -> Passed:
    to = call.attribute("to", None)
    if to not in _CASTS:
        raise MeaninglessError("an element type that is not in the table of the proof")
    return _named(call, call.mapped(lambda number: number, to))


def _unary(function: Callable[[Number], Number]) -> _Rule:
    """The rule of an operator that computes a function of each element, without attributes."""
    return lambda call: _named(call, call.mapped(function))


def _relu(number: Number) -> Number:
    return fills.greatest(number, type(number)(0))


def _sign(number: Number) -> Number:
    if number == 0 and not fills.is_plus_zero(number):
        raise MeaninglessError("the sign of -0.0")
    return type(number)((number > 0) - (number < 0))


def _whole(to_whole: Callable[[float], int]) -> _Rule:
    return _unary(lambda number: fills.rounded(number, to_whole))


def _leaky_relu(call: _Call) -> Passed:
    alpha = call.attribute("alpha", float(np.float32(0.01)))
    return _named(call, call.mapped(lambda number: fills.leaky(number, alpha, call.dtype)))


def _keeps_zero(call: _Call) -> Passed:
    """An operator that is known to give 0 for 0; its floats, if any, must be positive."""
    factors = [value for value in call.node.attrs.values() if isinstance(value, float)]
    if not all(0 < factor < math.inf for factor in factors):
        raise MeaninglessError("a factor that is not positive")

    def same(number: Number) -> Number:
        if not fills.is_plus_zero(number):
            raise MeaninglessError(f"{call.node.op} is listed for 0 alone")
        return number

    return _named(call, call.mapped(same))


def _clip(call: _Call) -> Passed:
    bounds: list[Number | None] = []
    for place, name in enumerate(("min", "max"), 1):
        if call.version < 11:
            bounds.append(call.attribute(name, None))
        elif call.given(place) is None:
            bounds.append(None)
        else:
            distinct = _elements(call, place) if call.layers else ()
            bounds.append(distinct[0] if len(distinct) == 1 else None)
            if call.layers and len(distinct) != 1:
                raise MeaninglessError("a bound of several values")

    def clipped(number: Number) -> Number:
        low, high = (None if bound is None else fills.held(bound, call.dtype) for bound in bounds)
        if math.isinf(number) and (low is None or high is None):
            raise MeaninglessError("an infinity that is clipped to the type's own bounds")
        if low is not None and high is not None and not low <= high:
            raise MeaninglessError("bounds that cross")
        number = number if low is None else fills.greatest(number, low)
        return number if high is None else fills.least(number, high)

    return _named(call, call.mapped(clipped))


# Steps with constant operands


def _elements(call: _Call, place: int) -> list[Number]:
    """The distinct elements of a constant of the data's element type; 0.0 and -0.0 are distinct.

    Raises:
        MeaninglessError: It is no such constant, or holds NaN or subnormal numbers.
    """
    flat = call.constant(place, call.dtype).reshape(-1)
    if call.dtype in FLOATS:
        bits = np.ascontiguousarray(flat, np.float64).view(np.int64)
        flat = np.unique(bits).view(np.float64)
    else:
        flat = np.unique(flat)
    return [fills.held(number, call.dtype) for number in flat.tolist()]


def _check_along(call: _Call, place: int) -> None:
    """Checks that a constant operand is the same all along each padded axis.

    Raises:
        MeaninglessError: It is not, or it has more axes than the data.
    """
    tensor = call.given(place)
    array = None if tensor is None else call.graph.constant(tensor)
    rank = call.rank or 0
    if array is None or array.ndim > rank:
        raise MeaninglessError("an operand is unknown, or has more axes than the data")
    for axis, size in enumerate(array.shape, rank - array.ndim):
        if size != 1 and call.is_padded(axis):
            raise MeaninglessError("an operand varies along a padded axis")


def _only(results: Iterator[Number]) -> Number:
    """The one number that all results are; 0.0 and -0.0 are two.

    Raises:
        MeaninglessError: They differ.
    """
    found = {(number, math.copysign(1, number)): number for number in results}
    if len(found) != 1:
        raise MeaninglessError("the fill varies with an operand")
    return next(iter(found.values()))


def _operands(function: Callable[[_Call, Number, Number], Number]) -> _Rule:
    """The rule of an operator of data and constants, which broadcast as in numpy."""

    def rule(call: _Call) -> Passed:
        if not call.layers:
            return _named(call, ())
        constants = []
        for place, _ in call.others():
            _check_along(call, place)
            constants.append(_elements(call, place))
            if call.dtype in FLOATS and not all(map(math.isfinite, constants[-1])):
                raise MeaninglessError("an operand is not finite")

        def mapped(number: Number) -> Number:
            for elements in constants:
                number = _only(function(call, number, element) for element in elements)
            return number

        return _named(call, call.mapped(mapped))

    return rule


def _computed(call: _Call, number: Number, operand: Number) -> Number:
    pair = (number, operand) if call.data == (0,) else (operand, number)
    return fills.computed(call.node.op, *pair, call.dtype)


def _sloped(call: _Call, number: Number, slope: Number) -> Number:
    return fills.leaky(number, slope, call.dtype)


def _greatest(call: _Call, number: Number, operand: Number) -> Number:
    return fills.greatest(number, operand)


def _least(call: _Call, number: Number, operand: Number) -> Number:
    return fills.least(number, operand)


def _batch_normalization(call: _Call) -> Passed:
    """With mean and bias 0, 0 stays 0 in whatever order an engine multiplies."""
    trains = call.version >= 14 and is_set(call.node.attrs, "training_mode")
    if trains or any(output.name for output in call.node.outputs[1:]):
        raise MeaninglessError("a BatchNormalization that trains")
    if not call.attribute("spatial", 1):
        raise MeaninglessError("a BatchNormalization by element")
    if not call.layers:
        return _named(call, ())
    if (call.rank or 0) < 2 or call.is_padded(1):
        raise MeaninglessError("the channels are padded")
    scales, biases, means, variances = (_parameters(call, place) for place in range(1, 5))
    if not all(map(fills.is_plus_zero, (*biases, *means))):
        raise MeaninglessError("a mean or a bias that is not 0")
    epsilon = call.attribute("epsilon", float(np.float32(1e-5)))
    root = fills.normal_root(min(variances) + epsilon, call.dtype)
    factor = max(map(abs, scales)) / min(root, 1)
    if fills.overflows(max(variances) + epsilon, call.dtype) or fills.overflows(factor, call.dtype):
        raise MeaninglessError("a factor that may overflow")
    return _named(call, _keeps_zero(call).layers)


def _parameters(call: _Call, place: int) -> list[float]:
    """The elements of a vector of floating-point numbers, which may be of another such type."""
    tensor = call.given(place)
    declared = None if tensor is None else call.graph.declared(tensor)
    dtype = TensorProto.UNDEFINED if declared is None else declared.dtype
    array = call.constant(place, dtype)
    found = [float(number) for number in np.asarray(array, np.float64).reshape(-1).tolist()]
    if dtype not in FLOATS or array.ndim != 1 or not all(map(math.isfinite, found)):
        raise MeaninglessError("a parameter that is no vector of finite floats")
    return found


# Quantisation


class _Scaling(NamedTuple):
    """The constants of a QuantizeLinear or a DequantizeLinear.

    Attributes:
        pairs: Distinct pairs of scale and zero point; along the axis, if there is one.
        scaled: The element type of the scales.
        whole: The element type of the zero points; None where there are none.
    """

    pairs: tuple[tuple[float, int], ...]
    scaled: int
    whole: int | None


def _scaling(call: _Call) -> _Scaling:
    """The constants of a QuantizeLinear or a DequantizeLinear, per tensor or along an axis.

    Raises:
        MeaninglessError: They are unknown, or along a padded axis, or in blocks.
    """
    if is_set(call.node.attrs, "block_size") or is_set(call.node.attrs, "precision"):
        raise MeaninglessError("a quantisation in blocks, or of a precision of its own")
    kinds = []
    for place in (1, 2):
        tensor = call.given(place)
        declared = None if tensor is None else call.graph.declared(tensor)
        kinds.append(None if declared is None else declared.dtype)
    scaled, whole = kinds
    if scaled not in FLOATS:
        raise MeaninglessError("the scale is no constant of floats")
    scales = np.asarray(call.constant(1, scaled), np.float64)
    points = np.zeros(scales.shape, np.int64)
    if call.given(2) is not None:
        points = call.constant(2, whole or TensorProto.UNDEFINED)
    if scales.size != points.size or max(scales.ndim, points.ndim) > 1:
        raise MeaninglessError("scale and zero point are no numbers, and no vectors")
    if scales.size > 1 and (call.version < 13 or call.is_padded(_channel_axis(call))):
        raise MeaninglessError("the scale varies along a padded axis")
    if not all(0 < fills.held(scale, scaled) < math.inf for scale in scales.reshape(-1).tolist()):
        raise MeaninglessError("a scale that is not positive and finite")
    flat = zip(scales.reshape(-1).tolist(), points.reshape(-1).tolist(), strict=True)
    pairs = dict.fromkeys((float(scale), int(point)) for scale, point in flat)
    return _Scaling(tuple(pairs), scaled, whole)


def _channel_axis(call: _Call) -> int:
    return _axis(call.attribute("axis", 1), call.rank)


def _quantize(call: _Call) -> Passed:
    if not call.layers:
        return _named(call, ())
    pairs, scaled, whole = _scaling(call)
    written = call.attribute("output_dtype", 0)
    to = whole or written or TensorProto.UINT8
    if to not in _QUANTIZED or written not in (0, to) or call.dtype not in FLOATS:
        raise MeaninglessError("element types that are not in the table of the proof")

    def quantized(number: Number) -> Number:
        if number and {call.dtype, scaled} != {TensorProto.FLOAT}:
            raise MeaninglessError("an element type whose quotients are rounded")
        return _only(fills.quantized(number, scale, point, to) for scale, point in pairs)

    return _named(call, call.mapped(quantized, to))


def _dequantize(call: _Call) -> Passed:
    if not call.layers:
        return _named(call, ())
    pairs, scaled, whole = _scaling(call)
    if call.dtype not in _QUANTIZED | {TensorProto.INT32} or whole not in (None, call.dtype):
        raise MeaninglessError("element types that are not in the table of the proof")
    if call.attribute("output_dtype", 0) not in (0, scaled):
        raise MeaninglessError("element types that are not in the table of the proof")
    if call.dtype == TensorProto.INT32 and any(point for _, point in pairs):
        raise MeaninglessError("a zero point of 32 bits")

    def dequantized(number: Number) -> Number:
        return _only(fills.dequantized(number, scale, point, scaled) for scale, point in pairs)

    return _named(call, call.mapped(dequantized, scaled))


_LAYOUT_ONLY: Final = frozenset({21, 23, 24, 25})  # versions that only added element types
_ZERO: Final[Mapping[str, frozenset[int]]] = {
    "Asin": frozenset({7, 22}),
    "Asinh": frozenset({9, 22}),
    "Atan": frozenset({7, 22}),
    "Atanh": frozenset({9, 22}),
    "Celu": frozenset({12, 28}),
    "Elu": frozenset({6, 22}),
    "Erf": frozenset({9, 13}),
    "Gelu": frozenset({20}),
    "HardSwish": frozenset({14, 22}),
    "Mish": frozenset({18, 22}),
    "Selu": frozenset({6, 22}),
    "Sin": frozenset({7, 22}),
    "Sinh": frozenset({9, 22}),
    "Softsign": frozenset({1, 22}),
    "Sqrt": frozenset({6, 13}),
    "Swish": frozenset({24}),
    "Tan": frozenset({7, 22}),
    "Tanh": frozenset({6, 13}),
}
"""Operators that give 0 for 0, at which no engine rounds, with their versions."""

STEPS: Final[dict[str, Step]] = {
    "Transpose": Step(frozenset({1, 13}) | _LAYOUT_ONLY, _transpose),
    "Unsqueeze": Step(frozenset({1, 11, 13}) | _LAYOUT_ONLY, _unsqueeze),
    "Squeeze": Step(frozenset({1, 11, 13}) | _LAYOUT_ONLY, _squeeze),
    "Reshape": Step(frozenset({1, 5, 13, 14, 19}) | _LAYOUT_ONLY, _reshape),
    "Flatten": Step(frozenset({1, 9, 11, 13}) | _LAYOUT_ONLY, _reshape),
    "Dropout": Step(frozenset({1, 6, 7, 10, 12, 13, 22}), _dropout),
    "Concat": Step(frozenset({1, 4, 11, 13}), _concat, data="all"),
    "Split": Step(frozenset({2, 11, 13, 18}), _split, parts=True),
    "Slice": Step(frozenset({1, 10, 11, 13}), _slice),
    "Cast": Step(frozenset({6, 9, 13, 19, 21, 23, 24, 25, 28}), _cast),
    "Relu": Step(frozenset({6, 13, 14}), _unary(_relu)),
    "LeakyRelu": Step(frozenset({6, 16}), _leaky_relu),
    "Neg": Step(frozenset({6, 13}), _unary(lambda number: -number)),
    "Abs": Step(frozenset({6, 13}), _unary(abs)),
    "Sign": Step(frozenset({9, 13}), _unary(_sign)),
    "Floor": Step(frozenset({6, 13}), _whole(math.floor)),
    "Ceil": Step(frozenset({6, 13}), _whole(math.ceil)),
    "Round": Step(frozenset({11, 22}), _whole(round)),
    "Clip": Step(frozenset({6, 11, 12, 13}), _clip),
    "Add": Step(frozenset({7, 13, 14}), _operands(_computed), data="one"),
    "Sub": Step(frozenset({7, 13, 14}), _operands(_computed), data="one"),
    "Mul": Step(frozenset({7, 13, 14}), _operands(_computed), data="one"),
    "Div": Step(frozenset({7, 13, 14}), _operands(_computed), data="one"),
    "Min": Step(frozenset({8, 12, 13}), _operands(_least), data="one"),
    "Max": Step(frozenset({8, 12, 13}), _operands(_greatest), data="one"),
    "PRelu": Step(frozenset({7, 9, 16}), _operands(_sloped)),
    "BatchNormalization": Step(frozenset({7, 9, 14, 15}), _batch_normalization),
    "QuantizeLinear": Step(frozenset({10, 13, 19, 21, 23, 24, 25, 28}), _quantize),
    "DequantizeLinear": Step(frozenset({10, 13, 19, 21, 23, 24, 25, 28}), _dequantize),
    **{op: Step(versions, _keeps_zero) for op, versions in _ZERO.items()},
}
"""Operators that padding commutes with. Without a row here, nothing is proved through one."""
