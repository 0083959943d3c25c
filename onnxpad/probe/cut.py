"""Cuts a change's neighbourhood out of a graph, as small models that a runtime can compare.

The cut runs from the tensor that the padding reads to the tensor that the change must not alter. It
includes the nodes that compute the amounts of `Pad`s in between, so that a misreading of these
shows. Channels are cut to one, and weights become small integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import accumulate
from math import inf, lcm, prod
from typing import Any, Final, TypeAlias

import numpy as np
from msgspec import Struct
from onnx import GraphProto, ModelProto, NodeProto, TensorProto
from onnx.helper import (
    get_all_tensor_dtypes,
    make_attribute,
    make_node,
    make_opsetid,
    make_tensor_value_info,
    tensor_dtype_to_np_dtype,
)
from onnx.numpy_helper import from_array

from onnxpad.analysis import Analysis
from onnxpad.analysis.signs import Signs
from onnxpad.arithmetic.size import Extent, Size, Symbol, bounds, evaluate, modulo, residues, symbol
from onnxpad.declared import functions_of
from onnxpad.errors import ModelError
from onnxpad.file.proto_walk import DEFAULT_DOMAINS
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.messages import counted
from onnxpad.probe.run import REACH, ProbeResult, compare_scenes
from onnxpad.runtimes import pool
from onnxpad.semantics.operators import Fill, gathering, operator_of
from onnxpad.semantics.read_nodes import (
    TransposedOp,
    UnreadableError,
    WindowOp,
    read_pad,
    read_transposed,
    read_window,
)
from onnxpad.semantics.rows import FLOATS, lowest

# Most elements of a tensor in a cut.
_LARGE: Final = 1 << 22
# The element types that numpy has.
_TYPES: Final = frozenset(get_all_tensor_dtypes())
# Operators that work element by element: of one tensor, finite wherever it is, and of several.
_CURVES: Final = frozenset(
    {"Abs", "Clip", "Elu", "Exp", "HardSigmoid", "LeakyRelu", "Relu", "Sigmoid", "Softplus", "Tanh"}
)
_SUMS: Final = frozenset({"Add", "Identity", "Mul", "Sub", "Sum"})
_STEPS: Final = 8
_SCENES: Final = 64  # at most, for one change
_APART: Final = 2  # extra scenes in which the sizes of the axes differ more
_CLASSES: Final = 10  # residue classes of a size that are tried in any case
_LONG: Final = 60  # the longest size is at least this much above the threshold
_BATCHES: Final = 4  # values of a size that only counts samples
_FAR: Final = 800  # sizes for the residue classes stay within this range
_SEARCH: Final = 4096  # values tried to find the first at which a tensor is not empty
_IR_VERSION: Final = 8  # every supported onnxruntime reads it
_EXPANDS: Final = 8  # the first opset with Expand
_OPSET: Final = 17  # of the cut, where the model uses no operator of ONNX's own
_QUANTISED: Final = frozenset({TensorProto.INT8, TensorProto.UINT8})
_MIDDLE: Final = 8  # the zero point of an unsigned weight
_ANY_ZERO: Final = 5  # stands for a zero point that is known only at run time


_Shapes: TypeAlias = tuple[tuple[int, ...], ...]
_Choice: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], Mapping[str, int]]
_Models: TypeAlias = tuple[bytes, bytes, bool]
"""Both sides of a change, and whether the one before is meant as specified."""


# How quantised operators are fed, by the inputs: scales of data and weight become 1, the zero point
# of a weight becomes one number, and scale and zero point of the result let nothing saturate.
_SCALES: Final = {"QLinearConv": (1, 4), "QLinearAveragePool": (1,)}
_WEIGHT_ZERO: Final = {"ConvInteger": 3, "QLinearConv": 5}
_RESULT: Final = {"QLinearConv": (6, 7), "QLinearAveragePool": (3, 4)}
# The function that it applies to its result is left out.
_FUSED: Final = {"FusedConv": ("activation", "activation_params")}


class UnprobeableError(Exception):
    """A neighbourhood cannot be cut out and run by itself; the message says why."""


class Scene(Struct, frozen=True):
    """One choice of sizes.

    Attributes:
        shapes: The shape of each root.
        symbols: The value of each symbol.
    """

    shapes: _Shapes
    symbols: Mapping[str, int]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first root."""
        return self.shapes[0]


class Neighbourhood(Struct, frozen=True):
    """The neighbourhood before a change, one model for each scene; or why there is none."""

    scenes: tuple[tuple[Scene, ModelProto], ...]
    why: str = ""


class NeighbourhoodProbe:
    """Compares neighbourhoods before and after a change; equal ones run once.

    Attributes:
        count: How many changes were compared.
        repaired: The tensors, by their names in the model, that the runtime computes after a change
            alone.
    """

    def __init__(self, graph: Graph) -> None:
        """Cuts out of a graph as it is at each call, at all sizes until `take` says otherwise."""
        analysis = Analysis(graph)
        self.take(graph, analysis, Signs(graph, analysis))
        self._seen: dict[_Models, dict[_Shapes, ProbeResult]] = {}
        self.count = 0
        self.repaired: set[str] = set()

    def take(self, graph: Graph, analysis: Analysis, signs: Signs) -> None:
        """Uses a graph of the model from now on, its analysis, and the sizes that this admits."""
        self._graph = graph
        self._analysis = analysis
        self._signs = signs

    def before(self, tensor: Tensor, roots: Sequence[str]) -> Neighbourhood:
        """Cuts out the nodes that compute a tensor from `roots`, in a few scenes."""
        if not self._seen:
            pool.warm()  # start the worker early: a change is about to be run
        try:
            scenes = self._scenes(tensor, roots)
            cuts = self._cuts(tensor, roots, scenes)
            return Neighbourhood(tuple(zip(scenes, cuts, strict=True)))
        except UnprobeableError as error:
            return Neighbourhood((), str(error))

    def after(
        self, tensor: Tensor, roots: Sequence[str], before: Neighbourhood, *, specified: bool
    ) -> tuple[bool | None, str]:
        """Compares the changed neighbourhood with the one before.

        Args:
            tensor: What both compute.
            roots: The tensors that they compute it from.
            before: The neighbourhood before the change.
            specified: Whether the reference evaluator computes that.

        Returns:
            Whether both compute the same (None where one side could not be cut out or run), and
            the result in words.
        """
        if not before.scenes:
            return None, f"not probed: {before.why}"
        runs, reasons, repairs = 0, [], True
        cuts: list[ModelProto] = []
        why = ""
        try:
            cuts.extend(self._cuts(tensor, roots, [scene for scene, _ in before.scenes]))
        except UnprobeableError as error:
            why = str(error)
        compared = [(*one, other) for one, other in zip(before.scenes, cuts, strict=False)]
        for scene, result in self._compare(compared, specified):
            if not result.ok:
                shapes = ("x".join(map(str, shape)) for shape in scene.shapes)
                return False, f"{result.detail} (data {', '.join(shapes)})"
            repairs &= result.repairs
            runs += result.runs
            if result.detail:
                reasons.append(result.detail)
        if why:
            return None, f"not probed: {why}"
        if repairs:
            self.repaired.add(self._graph.unique(tensor.name))
        if not runs:
            return None, reasons[0] if reasons else "not probed"
        self.count += 1
        by = ", by onnx's reference evaluator" if specified else ""
        return True, f"equal on {counted(runs, 'input')}{by}"

    def _compare(
        self, cuts: Sequence[tuple[Scene, ModelProto, ModelProto]], specified: bool
    ) -> Iterator[tuple[Scene, ProbeResult]]:
        """Yields the result of each scene; those of the same two models run in one go.

        There are as many goes as it takes to bound the data that is held at once.
        """
        names: dict[tuple[int, int], _Models] = {}
        waiting: dict[_Models, dict[_Shapes, None]] = {}
        for scene, before, after in cuts:
            both = id(before), id(after)
            if both not in names:
                names[both] = before.SerializeToString(), after.SerializeToString(), specified
            waiting.setdefault(names[both], {})[scene.shapes] = None
        for scene, before, after in cuts:
            models = names[id(before), id(after)]
            seen = self._seen.setdefault(models, {})
            if scene.shapes not in seen:
                shapes = _bounded([each for each in waiting[models] if each not in seen])
                results = compare_scenes(before, after, shapes, specified=specified)
                seen.update(zip(shapes, results, strict=True))
            yield scene, seen[scene.shapes]

    def _scenes(self, tensor: Tensor, roots: Sequence[str]) -> list[Scene]:
        root, *beside = roots
        node = tensor.producer
        row = gathering(self._graph, node) if node is not None else None
        shape = self._analysis.shape(self._graph.tensor(root))
        if shape is None:
            op = self._window(node) if node is not None and row is not None else None
            if op is None:
                raise UnprobeableError(f"the number of axes of {root!r} is unknown")
            shape = tuple(symbol(f"{root}[{axis}]") for axis in range(op.rank))
        involved = [*shape, *self._amounts(node, root)]
        op = self._window(node) if node is not None and row is not None else None
        if op is not None and op.rank == len(shape):
            sizes_read = op.operator.layout.spatial(shape)
            involved += [modulo(n, w.stride) for n, w in zip(sizes_read, op.windows, strict=True)]
        scenes: dict[tuple[int, ...], Scene] = {}
        for sizes, amounts, symbols in _choices(shape, tuple(involved)):
            if row is not None:
                sizes = row.layout.full(row.layout.spatial(sizes), 1)
            key = *sizes, *amounts
            if key not in scenes:
                others = (self._fixed_shape(each, symbols) for each in beside)
                scenes[key] = Scene((sizes, *others), symbols)
        if not scenes:
            raise UnprobeableError(f"no size of {root!r} could be chosen")
        fitting = [each for each in scenes.values() if max(map(prod, each.shapes)) <= _LARGE]
        if not fitting:
            first = next(iter(scenes.values())).shapes[0]
            raise UnprobeableError(f"data of {'x'.join(map(str, first))} is too large")
        return fitting[:_SCENES]

    def _fixed_shape(self, root: str, symbols: Mapping[str, int]) -> tuple[int, ...]:
        """The shape of a further root, which the sizes of the first one fix."""
        shape = self._analysis.shape(self._graph.tensor(root))
        if shape is None:
            raise UnprobeableError(f"the number of axes of {root!r} is unknown")
        return tuple(_number(size, symbols, root) for size in shape)

    def _amounts(self, node: Node | None, root: str) -> Iterator[Extent]:
        """The amounts of the `Pad`s between the root and a node."""
        graph = self._graph
        while node is not None and (graph.is_standard(node) or operator_of(graph, node)):
            if node.op == "Pad":
                with suppress(UnreadableError):
                    pad = read_pad(self._graph, self._analysis, node)
                    yield from (amount for pair in pad.amounts or () for amount in pair)
            if not node.inputs or node.inputs[0].name == root:
                return
            node = node.inputs[0].producer

    def _window(self, node: Node) -> WindowOp | None:
        try:
            return read_window(self._graph, self._analysis, node)
        except (ModelError, UnreadableError):
            return None

    def _cuts(
        self, tensor: Tensor, roots: Sequence[str], scenes: Sequence[Scene]
    ) -> Iterator[ModelProto]:
        """Yields the cut of each scene: the same one as long as no size of a scene is in it."""
        cutting = None
        for scene in scenes:
            if cutting is None or cutting.holds_sizes:
                cutting = self._cut(tensor, roots, scene)
                model = cutting.model(tensor)
            yield model

    def _cut(self, tensor: Tensor, roots: Sequence[str], scene: Scene) -> _Cutting:
        cutting = _Cutting(self._graph, self._analysis, roots, scene)
        root = roots[0]
        # The node that computes the root is not in the cut.
        node = tensor.producer if tensor.name not in roots else None
        row = gathering(self._graph, node) if node is not None else None
        compares = row is not None and row.padding is Fill.LOWEST
        if compares:
            bound = self._signs.bound(self._graph.tensor(root))
            cutting.keep_above(bound, self._grounds(root))
        op = self._window(node) if node is not None and row is not None else None
        if op is not None and op.operator.inputs.zero_point is not None and len(roots) == 1:
            cutting.centre(_ANY_ZERO if op.zero is None else op.zero)
        return cutting

    def _grounds(self, root: str) -> list[str]:
        """The inputs of the elementwise operators that bound a tensor from below, as a Relu does.

        Empty where any other operator is in between.
        """
        grounds: list[str] = []
        pending = [self._graph.tensor(root)]
        for _ in range(_STEPS):
            if not pending:
                return grounds
            tensor = pending.pop()
            if self._graph.constant(tensor) is not None:
                continue
            node = tensor.producer
            if node is None or not self._graph.is_standard(node):
                return []
            if node.op in _CURVES:
                data = node.inputs[0]
                # A Tanh, for one, is bounded only where its input is.
                if self._is_bounded(data):
                    pending.append(data)
                else:
                    grounds.append(data.name)
            elif node.op in _SUMS:
                pending += node.inputs
            else:
                return []
        return []

    def _is_bounded(self, tensor: Tensor) -> bool:
        """Whether more bounds a tensor from below than its element type."""
        dtype = self._analysis.dtype(tensor)
        least = None if dtype is None else lowest(dtype)
        return least is not None and self._signs.bound(tensor) > least


def _bounded(shapes: Sequence[_Shapes]) -> Sequence[_Shapes]:
    """The first of them, at least one, whose data is not large together."""
    sizes = accumulate(sum(map(prod, each)) for each in shapes)
    return shapes[: max(1, sum(size <= _LARGE for size in sizes))]


@lru_cache(maxsize=256)
def _choices(shape: tuple[Extent, ...], involved: tuple[Extent, ...]) -> Sequence[_Choice]:
    """Sizes to try for a root, with the amounts and the values of the symbols that they come with.

    Layers that are alike ask for them again.

    Args:
        shape: The root's shape.
        involved: The same, and amounts and other sizes on which the padding depends.
    """
    values = _values(shape, involved)
    for name in _of_batch(shape, involved):
        values[name] = values[name][:_BATCHES]
    amounts = [size for size in involved if isinstance(size, Size)]
    found: list[_Choice] = []
    count = max(map(len, values.values()), default=len(shape))
    for step in range(count + 1 + _APART):
        # First every symbol has its least value. Then each is one step ahead of the one before,
        # and in the last scenes two steps.
        ahead = 1 + (step > count)
        symbols = {
            name: some[(step - 1 + place * ahead) % len(some) if step else 0]
            for place, (name, some) in enumerate(values.items())
        }
        sizes = tuple(_size(size, symbols, 1 + step + axis) for axis, size in enumerate(shape))
        if min(sizes, default=1) >= 1:
            found.append((sizes, tuple(evaluate(each, symbols) for each in amounts), symbols))
    return found


def _size(size: Extent, values: Mapping[str, int], free: int) -> int:
    if isinstance(size, int):
        return size
    return evaluate(size, values) if isinstance(size, Size) else free


def _values(shape: Sequence[Extent], involved: Sequence[Extent]) -> dict[str, list[int]]:
    """Values to try for each symbol: the least ones, and one of each residue class."""
    rhythms: dict[Symbol, tuple[int, int]] = {}
    for extent in involved:
        for which, (period, threshold) in residues(extent).items():
            known, begin = rhythms.get(which, (1, 0))
            rhythms[which] = lcm(known, period), max(begin, threshold)
    found: dict[str, list[int]] = {}
    for which in sorted(rhythms):
        period, threshold = rhythms[which]
        sizes = which.sizes
        least = _least(which, shape)
        late = max(least, sizes.from_on(threshold))
        classes = period // sizes.step
        # Each step goes to the next class and the next multiple, unless the sizes grow too large.
        gap = classes + 1
        if gap * sizes.step * _CLASSES > _FAR:
            gap = classes // _CLASSES | 1
        indices = [*range(least, least + 4), *range(late, late + gap * _CLASSES, gap)]
        indices.append(late + -(-_LONG // (sizes.step * _slope(which, late, shape))))
        indices += _telling(which, involved, indices, range(late, late + min(classes, _SEARCH)))
        fitting = [index for index in dict.fromkeys(indices) if index < sizes.count]
        found[which.name] = [sizes.value(index) for index in fitting] or [sizes.first]
    return found


def _of_batch(shape: Sequence[Extent], involved: Sequence[Extent]) -> set[str]:
    """The symbols of the first axis on which no other axis and no amount depends."""
    sizes = [*shape, *involved[len(shape) :]]
    names = [
        {each.name for each in size.symbols} if isinstance(size, Size) else set() for size in sizes
    ]
    return names[0].difference(*names[1:]) if shape else set()


def _slope(symbol: Symbol, index: int, shape: Sequence[Extent]) -> int:
    """By how much the axes that depend on a symbol alone grow with it, at least, and at least 1."""
    sizes = [size for size in shape if isinstance(size, Size) and size.symbols == (symbol,)]
    last = symbol.sizes.count - 1
    values = [symbol.sizes.value(min(each, last)) for each in (index, index + _LONG)]
    rises = [
        (evaluate(size, {symbol.name: values[1]}) - evaluate(size, {symbol.name: values[0]}))
        // max(values[1] - values[0], 1)
        for size in sizes
    ]
    return max(min(rises, default=1), 1)


def _telling(
    symbol: Symbol, involved: Sequence[Extent], chosen: Sequence[int], indices: range
) -> Iterator[int]:
    """The further indices at which the padding has values that no chosen index shows."""
    sizes = [size for size in involved if isinstance(size, Size) and size.symbols == (symbol,)]
    varying = [size for size in sizes if _spread(size) < _SCENES]
    seen = set()
    for index in (*chosen, *indices):
        if index >= symbol.sizes.count:
            continue
        value = {symbol.name: symbol.sizes.value(index)}
        values = tuple(evaluate(size, value) for size in varying)
        if values not in seen and index not in chosen:
            yield index
        seen.add(values)


def _spread(size: Size) -> int:
    low, high = bounds(size)
    assert low is not None
    assert high is not None
    return high - low


def _least(symbol: Symbol, shape: Sequence[Extent]) -> int:
    """The index of the symbol's first value at which no axis that depends on it alone is empty."""
    sizes = [size for size in shape if isinstance(size, Size) and size.symbols == (symbol,)]
    for index in range(min(symbol.sizes.count, _SEARCH)):
        value = {symbol.name: symbol.sizes.value(index)}
        if all(evaluate(size, value) >= 1 for size in sizes):
            return index
    return 0


def _number(size: Extent, symbols: Mapping[str, int], data: str) -> int:
    """A size of a tensor as a number, given the values of symbols."""
    if isinstance(size, int):
        return size
    if not isinstance(size, Size):
        raise UnprobeableError(f"the shape of {data!r} is unknown")
    if any(each.name not in symbols for each in size.symbols):
        raise UnprobeableError(f"the shape of {data!r} is not fixed by the data")
    return evaluate(size, symbols)


@lru_cache(maxsize=64)
def _taps(*kernel: int) -> np.ndarray[Any, Any]:
    """Weights for a kernel: small integers, for two output channels."""
    count = prod(kernel)
    top = 3 if count <= 64 else 1  # sums stay exact in float16
    nonzero = [n for n in range(-top, top + 1) if n]  # a weight of 0 would hide its element
    return np.random.default_rng(count).choice(nonzero, (2, 1, *kernel))


def _result_scale(taps: np.ndarray[Any, Any] | None) -> float:
    """The scale of a quantised result, a power of 2, with which it seldom saturates."""
    if taps is None:
        return 1 / 8
    greatest = REACH * int(np.abs(taps).reshape(len(taps), -1).sum(axis=1).max())
    return float(2 ** max((greatest // 128).bit_length(), 0))


def _has(node: Node, index: int) -> bool:
    """Whether an input of a node is there."""
    return index < len(node.inputs) and bool(node.inputs[index].name)


class _Cutting:
    """Builds one cut. Tensors are renamed in order, so that equal cuts are equal bytes.

    Attributes:
        holds_sizes: Whether a size that another scene has otherwise is in the cut; the sizes of its
            inputs are open.
    """

    def __init__(
        self, graph: Graph, analysis: Analysis, roots: Sequence[str], scene: Scene
    ) -> None:
        self._graph = graph
        self._analysis = analysis
        self._scene = scene
        self._proto = GraphProto(name="probe")
        self._names: dict[str, str] = {
            root: f"data{place or ''}" for place, root in enumerate(roots)
        }
        self._blanks: set[str] = set()
        self.holds_sizes = False
        for root, shape in zip(roots, scene.shapes, strict=True):
            open_shape = [None] * len(shape)
            info = make_tensor_value_info(self._names[root], self._type(root), open_shape)
            self._proto.input.append(info)
        self._dtype = self._type(roots[0])

    def keep_above(self, bound: float, grounds: Sequence[str]) -> None:
        """Keeps the data at a bound or above it, as the graph does upstream of the root.

        Where `grounds` are known, the cut begins there and runs the operators that bound the data
        itself; else it adds the bound to data that is not negative.
        """
        if bound == (-inf if self._dtype in FLOATS else lowest(self._dtype)):
            return
        if grounds:
            self._names = dict.fromkeys(grounds, "data")
        elif self._dtype in FLOATS:
            self._names = dict.fromkeys(self._names, self._raised("Relu", bound, self._dtype))
        elif self._dtype in _QUANTISED:
            greatest = int(np.iinfo(tensor_dtype_to_np_dtype(self._dtype)).max)
            self._proto.input[0].type.tensor_type.elem_type = TensorProto.INT32
            raised = self._raised("Abs", min(bound, greatest - REACH), TensorProto.INT32)
            self._proto.node.append(make_node("Cast", [raised], ["quantised"], to=self._dtype))
            self._names = dict.fromkeys(self._names, "quantised")

    def _raised(self, op: str, bound: float, dtype: int) -> str:
        """Adds a bound to what an operator makes of the data; returns the name of the sum."""
        self._proto.node.append(make_node(op, ["data"], ["positive"]))
        if bound == 0:
            return "positive"
        array = np.asarray(bound, tensor_dtype_to_np_dtype(dtype))
        self._proto.initializer.append(from_array(array, "bound"))
        self._proto.node.append(make_node("Add", ["positive", "bound"], ["raised"]))
        return "raised"

    def centre(self, zero: int) -> None:
        """Centres quantised data at its zero point, so that results seldom saturate."""
        if self._dtype not in _QUANTISED:
            return
        limits = np.iinfo(tensor_dtype_to_np_dtype(self._dtype))
        middle = min(max(zero, int(limits.min) + REACH), int(limits.max) - REACH)
        self._proto.input[0].type.tensor_type.elem_type = TensorProto.INT32
        self._proto.initializer.append(from_array(np.asarray(middle, np.int32), "middle"))
        self._proto.node.append(make_node("Add", ["data", "middle"], ["centred"]))
        self._proto.node.append(make_node("Cast", ["centred"], ["quantised"], to=self._dtype))
        self._names = dict.fromkeys(self._names, "quantised")

    def model(self, tensor: Tensor) -> ModelProto:
        for node in self._order(tensor):
            self._add(node)
        if tensor.name not in self._names:
            raise UnprobeableError(f"{tensor.name!r} is not computed from the data alone")
        self._proto.node.append(make_node("Identity", [self._names[tensor.name]], ["result"]))
        self._proto.output.append(make_tensor_value_info("result", self._type(tensor.name), None))
        model = ModelProto(ir_version=_IR_VERSION, graph=self._proto)
        opsets = self._graph.opsets
        model.opset_import.append(make_opsetid("", self._graph.opset or _OPSET))
        held = {(node.domain, node.op_type) for node in self._proto.node}
        model.functions.extend(functions_of(held, self._graph.opset or _OPSET))
        domains = {domain for domain, _ in held}
        for function in model.functions:
            domains.update(each.domain for each in function.opset_import)
        for domain in sorted(domains - {*DEFAULT_DOMAINS}):
            model.opset_import.append(make_opsetid(domain, opsets.get(domain, 1)))
        return model

    def _type(self, name: str) -> int:
        dtype = self._analysis.dtype(self._graph.tensor(name))
        if dtype is None or dtype not in _TYPES:
            raise UnprobeableError(f"the element type of {name!r} is unknown")
        return dtype

    def _order(self, tensor: Tensor) -> Iterator[Node]:
        """The nodes between the root and the tensor, producers first."""
        done: set[int] = set()
        stack: list[tuple[Tensor, bool]] = [(tensor, False)]
        while stack:
            current, ready = stack.pop()
            node = current.producer
            if node is None or id(node) in done or current.name in self._names:
                continue
            if ready:
                done.add(id(node))
                yield node
                continue
            if self._graph.constant(current) is not None or self._asks(node):
                done.add(id(node))
                yield node
                continue
            stack.append((current, True))
            stack.extend((t, False) for t in self._read(node) if t.name)

    def _read(self, node: Node) -> list[Tensor]:
        """The inputs of a node that the cut keeps: for a window operator the data at least."""
        row = operator_of(self._graph, node)
        kept = range(len(node.inputs)) if row is None else (row.inputs.data,)
        return [self._origin(node.inputs[index]) for index in kept]

    def _origin(self, tensor: Tensor) -> Tensor:
        """The tensor that a tensor is a copy of, unless the cut names it already."""
        return tensor if tensor.name in self._names else self._graph.origin(tensor)

    def _asks(self, node: Node) -> bool:
        """Whether a node reads only the shape of its input."""
        return node.op in {"Shape", "Size"} and self._graph.is_standard(node)

    def _ask(self, node: Node) -> None:
        """Adds a Shape or Size node, whose input is a dummy tensor of the right shape."""
        data, output = node.inputs[0].name, node.outputs[0].name
        shape = self._analysis.shape(node.inputs[0])
        if shape is not None and all(isinstance(size, int | Size) for size in shape):
            sizes = self._numbers(shape, data)
            if prod(sizes) <= _LARGE:
                self._names[output] = f"t{len(self._names)}"
                kept = self._copy(node)
                kept.input.append(self._blank(sizes))
                kept.output.append(self._names[output])
                self._proto.node.append(kept)
                return
        found = self._analysis.integers(node.outputs[0])
        if found is None:
            raise UnprobeableError(f"the shape of {data!r} is unknown")
        array = np.asarray(self._numbers(found, data), np.int64)
        self._constant(output, array if node.op == "Shape" else array.reshape(()))

    def _blank(self, sizes: Sequence[int]) -> str:
        """The name of a tensor of this shape, whose elements do not matter."""
        name = f"blank of {'x'.join(map(str, sizes))}"
        shape = f"{name}, shape"
        if name not in self._blanks:
            self._blanks.add(name)
            self._proto.initializer.append(from_array(np.asarray(sizes, np.int64), shape))
            nothing = from_array(np.zeros(1, np.bool_))
            node = make_node("ConstantOfShape", [shape], [name], value=nothing)
            self._proto.node.append(node)
        return name

    def _numbers(self, sizes: Sequence[Extent], data: str) -> list[int]:
        """The sizes as numbers in this scene."""
        self.holds_sizes |= not all(isinstance(size, int) for size in sizes)
        return [_number(size, self._scene.symbols, data) for size in sizes]

    def _copy(self, node: Node) -> NodeProto:
        """A copy of a node with its attributes, without inputs and outputs."""
        proto = self._graph.node_proto(node)
        kept = NodeProto(op_type=proto.op_type, domain=proto.domain)
        kept.attribute.extend(proto.attribute)
        return kept

    def _add(self, node: Node) -> None:
        if self._asks(node):
            self._ask(node)
            return
        # The cut is a model in memory, without a folder for external data.
        held = self._graph.constant(node.outputs[0])
        if held is not None and self._graph.is_external(node.outputs[0]):
            self._constant(node.outputs[0].name, held)
            return
        kept = self._copy(node)
        row = operator_of(self._graph, node)
        if row is None:
            kept.input.extend(self._name(t) if t.name else "" for t in node.inputs)
        else:
            try:
                read = read_transposed if row.scatters else read_window
                op = read(self._graph, self._analysis, node)
            except (ModelError, UnreadableError) as error:
                raise UnprobeableError(str(error)) from error
            if isinstance(op, WindowOp):
                self._feed(op, kept)
            else:
                self._feed_transposed(op, kept)
        for output in node.outputs:
            if output.name:
                self._names[output.name] = f"t{len(self._names)}"
            kept.output.append(self._names.get(output.name, ""))
        self._proto.node.append(kept)

    def _feed(self, op: WindowOp, kept: NodeProto) -> None:
        """Gives a window operator its data with one channel, and small constants beside it."""
        node, row = op.node, op.operator
        inputs, kind = row.inputs, row.op_type if row.declaration is None else ""
        names = {inputs.data: self._name(node.inputs[inputs.data])}
        taps: np.ndarray[Any, Any] | None = None
        if inputs.weight is not None and row.weight_layout is not None:
            weight = node.inputs[inputs.weight]
            shape = self._analysis.shape(weight)
            taps = self._taps(op, () if shape is None else row.weight_layout.spatial(shape))
            dtype = self._analysis.dtype(weight) or self._dtype
            middle = _MIDDLE if dtype == TensorProto.UINT8 else 0
            axes = row.weight_layout.batch, row.weight_layout.channels
            placed = np.moveaxis(taps + middle, (0, 1), axes)
            names[inputs.weight] = self._small(placed, dtype)
            place = _WEIGHT_ZERO.get(kind)
            if place is not None and _has(node, place):
                names[place] = self._small(middle, dtype)
        if inputs.zero_point is not None and _has(node, inputs.zero_point):
            zero = node.inputs[inputs.zero_point]
            known = [n for n in self._analysis.integers(zero) or () if isinstance(n, int)]
            one = known[0] if len(known) == 1 else _ANY_ZERO
            names[inputs.zero_point] = self._small(one, self._type(zero.name))
        for index in _SCALES.get(kind, ()):
            names[index] = self._small(1, TensorProto.FLOAT)
        if kind in _RESULT:
            scale, place = _RESULT[kind]
            names[scale] = self._small(_result_scale(taps), TensorProto.FLOAT)
            if _has(node, place):
                dtype = self._type(node.inputs[place].name)
                half = 128 if dtype == TensorProto.UINT8 else 0
                names[place] = self._small(half, dtype)
        kept.input.extend(names.get(index, "") for index in range(max(names) + 1))
        dropped = {"group", *_FUSED.get(kind, ())}
        others = [each for each in kept.attribute if each.name not in dropped]
        del kept.attribute[:]
        ones = (make_attribute("group", 1),) if "group" in row.row.attributes else ()
        kept.attribute.extend([*others, *ones])

    def _feed_transposed(self, op: TransposedOp, kept: NodeProto) -> None:
        """Gives a transposed convolution its data, and the same small taps for all channels.

        The steps behind it may have constants for each channel, so all channels stay.
        """
        node, inputs, layout = op.node, op.operator.inputs, op.operator.weight_layout
        assert inputs.weight is not None
        assert layout is not None
        weight = node.inputs[inputs.weight]
        shape = self._analysis.shape(weight)
        if shape is None:
            raise UnprobeableError(f"the shape of {weight.name!r} is unknown")
        sizes = self._numbers(shape, weight.name)
        if prod(sizes) > _LARGE:
            raise UnprobeableError(f"a weight of {'x'.join(map(str, sizes))} is too large")
        taps = self._taps(op, layout.spatial(shape))[:1]
        if self._graph.opset < _EXPANDS:
            spread = self._small(np.broadcast_to(taps, sizes), self._dtype)
        else:
            one, all_ = self._small(taps, self._dtype), self._small(sizes, TensorProto.INT64)
            name = f"weight {len(self._names)}"
            self._names[name] = spread = f"t{len(self._names)}"
            self._proto.node.append(make_node("Expand", [one, all_], [spread]))
        names = {inputs.data: self._name(node.inputs[inputs.data]), inputs.weight: spread}
        if inputs.bias is not None and _has(node, inputs.bias):
            bias = node.inputs[inputs.bias]
            if self._graph.constant(bias) is not None:
                names[inputs.bias] = self._name(bias)
            else:  # one for each output channel
                group = int(node.attrs.get("group", 1))
                values = np.arange(sizes[layout.batch] * group) % REACH - 1
                names[inputs.bias] = self._small(values, self._dtype)
        kept.input.extend(names.get(index, "") for index in range(max(names) + 1))

    def _taps(self, op: WindowOp | TransposedOp, said: Sequence[Extent]) -> np.ndarray[Any, Any]:
        """The small integers of a weight with two output channels and one input channel.

        Its kernel is what its shape says, or where that says nothing, as it is read.
        """
        kernel = [k for k in said if isinstance(k, int)]
        if len(kernel) < len(op.windows):
            kernel = [w.kernel for w in op.windows if isinstance(w.kernel, int)]
        if len(kernel) != len(op.windows):
            raise UnprobeableError("the kernel's size is known only at run time")
        if prod(kernel) > _LARGE:
            raise UnprobeableError(f"a kernel of {'x'.join(map(str, kernel))} is too large")
        return _taps(*kernel)

    def _small(self, values: Any, dtype: int) -> str:
        """Adds a constant that the graph does not have, and returns its name."""
        name = f"constant {len(self._names)} of the probe"
        if dtype == TensorProto.STRING:
            raise UnprobeableError("the element type of a weight or bias is no number")
        self._constant(name, np.asarray(values).astype(tensor_dtype_to_np_dtype(dtype)))
        return self._names[name]

    def _name(self, tensor: Tensor) -> str:
        tensor = self._origin(tensor)
        if tensor.name not in self._names:
            array = self._graph.constant(tensor)
            if array is None:
                raise UnprobeableError(f"{tensor.name!r} is known only at run time")
            self._constant(tensor.name, array)
        return self._names[tensor.name]

    def _constant(self, name: str, values: np.ndarray[Any, Any]) -> None:
        self._names[name] = f"t{len(self._names)}"
        proto = from_array(np.ascontiguousarray(values).reshape(values.shape), self._names[name])
        self._proto.initializer.append(proto)
