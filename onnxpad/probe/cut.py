"""Cuts a change's neighbourhood out of a graph, as small models that a runtime can compare.

The cut runs from the tensors that the padding reads to the tensor that the change must not alter.
It includes the nodes that compute the amounts of `Pad`s in between, so that a misreading of these
shows. Channels are cut to one, and weights become small integers. Of open sizes some are tried.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, groupby
from math import prod
from typing import Any

import numpy as np
import onnx
from msgspec import Struct
from onnx import GraphProto, ModelProto, NodeProto, TensorProto
from onnx.helper import (
    get_all_tensor_dtypes,
    make_node,
    make_opsetid,
    make_tensor_value_info,
    tensor_dtype_to_np_dtype,
)
from onnx.numpy_helper import from_array

from onnxpad.arithmetic.size import Extent, Size, Symbol, Unknown, evaluate
from onnxpad.declared import functions_of
from onnxpad.errors import RUNTIME, counted
from onnxpad.facts import Analysis
from onnxpad.facts.shape_rules import Shape
from onnxpad.file.proto_walk import DEFAULT_DOMAINS
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.runtimes import pool
from onnxpad.runtimes.runtime import CrashError, EngineError, LimitError
from onnxpad.runtimes.sessions import Answer, Array, answers
from onnxpad.semantics.operators import Fill, Operator, gathering, operator_of
from onnxpad.semantics.rows import lowest
from onnxpad.validation import evaluator
from onnxpad.validation.compare import compare, tensors
from onnxpad.validation.draw import Draw

# Most elements of a tensor in a cut.
_LARGE = 1 << 22
# The element types that numpy has.
_TYPES = frozenset(get_all_tensor_dtypes()) - {TensorProto.STRING}
_TRIED = (*range(10), 15, 16, 31)  # values of a size, from the least one on
_SEARCH = 512  # values among which the least one is sought
_IR_VERSION = 8  # every supported onnxruntime reads it
_OPSET = 17  # of the cut, where the model uses no operator of ONNX's own
_QUANTISED = frozenset({TensorProto.INT8, TensorProto.UINT8})
# Attributes of windows: there is one channel, and sums are given as they are.
_LEFT_OUT = ("group", "activation")
_ANY_ZERO = 5  # stands for a zero point that is known only at run time

_Shapes = tuple[tuple[int, ...], ...]
_Models = tuple[bytes, bytes, bool]
"""Both sides of a change, and whether the one before is meant as specified."""


class UnprobeableError(Exception):
    """A neighbourhood cannot be cut out and run by itself; the message says why."""


class Scene(Struct, frozen=True):
    """One choice of sizes: the shape of each root, and the value of each symbol."""

    shapes: _Shapes
    symbols: Mapping[str, int]


Neighbourhood = tuple[tuple[Scene, ModelProto], ...] | str
"""The neighbourhood before a change, one model for each scene; or why there is none."""


class NeighbourhoodProbe:
    """Compares neighbourhoods before and after a change; equal ones run once.

    `repaired` are the tensors, by name in the model, that the runtime computes only after a change.
    """

    def __init__(self, graph: Graph) -> None:
        """Cuts out of a graph as it is at each call, at all sizes until `take` says otherwise."""
        self.take(graph, Analysis(graph))
        self._seen: dict[_Models, dict[_Shapes, ProbeResult]] = {}
        self.count = 0
        self.repaired: set[str] = set()

    def take(self, graph: Graph, analysis: Analysis) -> None:
        """Uses a graph of the model from now on, and what is known of it at the sizes admitted."""
        self._graph = graph
        self._analysis = analysis

    def before(self, tensor: Tensor, roots: Sequence[str]) -> Neighbourhood:
        """Cuts out the nodes that compute a tensor from `roots`, in a few scenes."""
        if not self._seen:
            pool.warm()  # start the worker early: a change is about to be run
        try:
            scenes = self._scenes(tensor, roots)
            cuts = self._cuts(tensor, roots, scenes)
            return tuple(zip(scenes, cuts, strict=True))
        except UnprobeableError as error:
            return str(error)

    def after(
        self, tensor: Tensor, roots: Sequence[str], before: Neighbourhood, *, specified: bool
    ) -> tuple[bool | None, str]:
        """Whether the changed neighbourhood computes the same as before, and the result in words.

        None where one side could not be cut out or run. The one before is computed by onnx's
        reference evaluator where it is meant as `specified`.
        """
        if isinstance(before, str):
            return None, f"not probed: {before}"
        try:
            cuts = [*self._cuts(tensor, roots, [scene for scene, _ in before])]
        except UnprobeableError as error:
            return None, f"not probed: {error}"
        runs, reason, repairs = 0, "", True
        compared = [(*one, other) for one, other in zip(before, cuts, strict=True)]
        for scene, result in self._compare(compared, specified):
            if not result.ok:
                shapes = ("x".join(map(str, shape)) for shape in scene.shapes)
                return False, f"{result.detail} (data {', '.join(shapes)})"
            repairs &= result.repairs
            runs += result.runs
            reason = reason or result.detail
        if repairs:
            self.repaired.add(self._graph.unique(tensor.name))
        if not runs:
            return None, reason or "not probed"
        self.count += 1
        by = ", by onnx's reference evaluator" if specified else ""
        return True, f"equal on {counted(runs, 'input')}{by}"

    def _compare(
        self, cuts: Sequence[tuple[Scene, ModelProto, ModelProto]], specified: bool
    ) -> Iterator[tuple[Scene, ProbeResult]]:
        """Yields the result of each scene; those of the same two models run in few goes."""
        for _, group in groupby(cuts, lambda each: (id(each[1]), id(each[2]))):
            alike = [*group]
            _, before, after = alike[0]
            models = before.SerializeToString(), after.SerializeToString(), specified
            seen = self._seen.setdefault(models, {})
            for place, (scene, *_) in enumerate(alike):
                if scene.shapes not in seen:
                    shapes = [each.shapes for each, *_ in alike[place:]]
                    if sum(map(prod, chain(*shapes))) > _LARGE:  # all data is held at once
                        shapes = shapes[:1]
                    results = compare_scenes(before, after, shapes, specified=specified)
                    seen.update(zip(shapes, results, strict=True))
                yield scene, seen[scene.shapes]

    def _scenes(self, tensor: Tensor, roots: Sequence[str]) -> list[Scene]:
        node = tensor.producer
        row = None if node is None else gathering(self._graph, node)
        shapes: list[tuple[Extent, ...]] = []
        for root in roots:
            if (each := self._analysis.shape(self._graph.tensor(root))) is None:
                raise UnprobeableError(f"the number of axes of {root!r} is unknown")
            shapes.append(each)
        scenes: dict[tuple[int, ...], Scene] = {}
        for sizes, symbols in _choices(shapes[0]):
            if row is not None:
                sizes = row.layout.full(row.layout.spatial(sizes), 1)
            others = zip(roots[1:], shapes[1:], strict=True)
            fixed = (tuple(_number(n, symbols, root) for n in all_) for root, all_ in others)
            scenes[*sizes, *symbols.values()] = Scene((sizes, *fixed), symbols)
        fitting = [each for each in scenes.values() if max(map(prod, each.shapes)) <= _LARGE]
        if not fitting:
            raise UnprobeableError(f"no small size of {roots[0]!r} could be chosen")
        return fitting

    def _cuts(
        self, tensor: Tensor, roots: Sequence[str], scenes: Sequence[Scene]
    ) -> Iterator[ModelProto]:
        """Yields the cut of each scene: the same one as long as no size of a scene is in it."""
        cutting = None
        for scene in scenes:
            if cutting is None or cutting.holds_sizes:
                cutting = _Cutting(self._graph, self._analysis, roots, scene)
                model = cutting.model(tensor)
            yield model


@lru_cache(maxsize=256)
def _choices(shape: tuple[Extent, ...]) -> Sequence[tuple[tuple[int, ...], Mapping[str, int]]]:
    """Sizes to try for a root of some shape, with the values of their symbols."""
    symbols = sorted({each for size in shape if isinstance(size, Size) for each in size.symbols})
    values = {each.name: _values(each, shape) for each in symbols}
    found: list[tuple[tuple[int, ...], Mapping[str, int]]] = []
    count = max(map(len, values.values()), default=len(shape))
    for step in range(count + 1):
        # First every symbol has its least value. Then each is one step ahead of the one before.
        chosen = {
            name: some[(step - 1 + place) % len(some) if step else 0]
            for place, (name, some) in enumerate(values.items())
        }
        sizes = tuple(
            evaluate(size, chosen) if isinstance(size, int | Size) else 1 + step + axis
            for axis, size in enumerate(shape)
        )
        if min(sizes, default=1) >= 1:
            found.append((sizes, chosen))
    return found


def _values(which: Symbol, shape: Sequence[Extent]) -> list[int]:
    """Values to try for a symbol, from the least one on that leaves no axis of a shape empty."""
    values = which.sizes
    own = [each for each in shape if isinstance(each, Size) and each.symbols == (which,)]

    def is_empty(index: int) -> bool:
        told = {which.name: values.value(index)}
        return any(evaluate(each, told) < 1 for each in own)

    least = next((i for i in range(min(values.count, _SEARCH)) if not is_empty(i)), 0)
    return [values.value(least + step) for step in _TRIED if least + step < values.count]


def _number(size: Extent, symbols: Mapping[str, int], data: str) -> int:
    free = size.symbols if isinstance(size, Size) else ()
    if isinstance(size, Unknown) or any(each.name not in symbols for each in free):
        raise UnprobeableError(f"the shape of {data!r} is not fixed by the data")
    return evaluate(size, symbols)


@lru_cache(maxsize=64)
def _taps(*kernel: int) -> np.ndarray[Any, Any]:
    """Weights for a kernel: small integers, for two output channels."""
    count = prod(kernel)
    top = 3 if count <= 64 else 1  # sums stay exact in float16
    nonzero = [n for n in range(-top, top + 1) if n]  # a weight of 0 would hide its element
    return np.random.default_rng(count).choice(nonzero, (2, 1, *kernel))


def _middle(dtype: int) -> int:
    return 128 if dtype == TensorProto.UINT8 else 0


class _Cutting:
    """Builds one cut. Tensors are renamed in order, so that equal cuts are equal bytes.

    `holds_sizes` says whether a size is in it that another scene has otherwise.
    """

    def __init__(
        self, graph: Graph, analysis: Analysis, roots: Sequence[str], scene: Scene
    ) -> None:
        self._graph = graph
        self._analysis = analysis
        self._scene = scene
        self._proto = GraphProto(name="probe")
        self._roots = roots
        self._names = {root: f"data{place or ''}" for place, root in enumerate(roots)}
        self._count = 0
        self._dtype = self._type(roots[0])
        self.holds_sizes = False

    def model(self, tensor: Tensor) -> ModelProto:
        """The nodes that compute a tensor."""
        for root, shape in zip(self._roots, self._scene.shapes, strict=True):
            info = make_tensor_value_info(self._names[root], self._type(root), [None] * len(shape))
            self._proto.input.append(info)
        # The node that computes the root is not in the cut.
        node = None if tensor.name in self._roots else tensor.producer
        if node is not None and (row := gathering(self._graph, node)) is not None:
            if row.padding is Fill.LOWEST:
                self._keep_above()
            place, is_alone = row.inputs.zero_point, len(self._roots) == 1
            if self._dtype in _QUANTISED and is_alone and place is not None:
                self._raise_data(self._zero(node.operand(place)))  # or results would saturate
        self._compute(tensor)
        self._proto.node.append(make_node("Identity", [self._name(tensor)], ["result"]))
        self._proto.output.append(make_tensor_value_info("result", self._type(tensor.name), None))
        opset, versions = self._graph.opset or _OPSET, self._graph.opsets
        held = {(node.domain, node.op_type) for node in self._proto.node}
        model = ModelProto(ir_version=_IR_VERSION, graph=self._proto)
        model.functions.extend(functions_of(held, opset))
        imported = (each.domain for function in model.functions for each in function.opset_import)
        domains = {*imported, *(domain for domain, _ in held)} - {*DEFAULT_DOMAINS}
        model.opset_import.append(make_opsetid("", opset))
        for domain in sorted(domains):
            model.opset_import.append(make_opsetid(domain, versions.get(domain, 1)))
        return model

    # The data

    def _keep_above(self) -> None:
        """Keeps the data at its bound or above it, as the graph does upstream of the root."""
        bound, least = self._analysis.bound(self._graph.tensor(self._roots[0])), lowest(self._dtype)
        if least is not None and bound > least:
            self._raise_data(bound, "Abs" if self._dtype in _QUANTISED else "Relu")

    def _raise_data(self, by: float, op: str = "Identity") -> None:
        """Has what an operator makes of the data stand for it, raised by a number."""
        dtype = self._dtype
        if dtype in _QUANTISED:
            limits, dtype = np.iinfo(tensor_dtype_to_np_dtype(dtype)), TensorProto.INT32
            by = min(max(by, limits.min + REACH), limits.max - REACH)
        self._proto.input[0].type.tensor_type.elem_type = dtype
        shifted = self._node(op, "data")
        shifted = self._node("Add", shifted, self._small(by, dtype)) if by else shifted
        if dtype != self._dtype:
            shifted = self._node("Cast", shifted, to=self._dtype)
        self._names = dict.fromkeys(self._names, shifted)

    # The nodes

    def _compute(self, tensor: Tensor) -> None:
        """Adds the nodes between the roots and a tensor, producers first."""
        pending = [tensor]
        while pending:
            node = pending[-1].producer
            if node is None or self._is_there(pending[-1]):
                pending.pop()
                continue
            asks = node.op in {"Shape", "Size"}
            row = operator_of(self._graph, node)
            read = node.inputs if row is None else node.inputs[:1]
            missing = [
                each
                for each in (() if asks else map(self._origin, read))
                if each.name and each.producer is not None and not self._is_there(each)
            ]
            pending += missing
            if not missing:
                self._add(node, row, asks=asks)

    def _is_there(self, tensor: Tensor) -> bool:
        return tensor.name in self._names or self._graph.constant(tensor) is not None

    def _origin(self, tensor: Tensor) -> Tensor:
        """The tensor that a tensor is a copy of, unless the cut names it already."""
        return tensor if tensor.name in self._names else self._graph.origin(tensor)

    def _add(self, node: Node, row: Operator | None, *, asks: bool) -> None:
        proto = self._graph.node_proto(node)
        kept = NodeProto(op_type=proto.op_type, domain=proto.domain)
        kept.attribute.extend(proto.attribute)
        if row is not None and not row.scatters:
            del kept.attribute[:]
            kept.attribute.extend(e for e in proto.attribute if not e.name.startswith(_LEFT_OUT))
        if asks:
            kept.input.append(self._blank(node.inputs[0]))
        elif row is None:
            kept.input.extend(self._name(each) if each.name else "" for each in node.inputs)
        else:
            names = self._fed(node, row)
            kept.input.extend(names.get(index, "") for index in range(max(names) + 1))
        for output in node.outputs:
            self._names[output.name] = self._new()
            kept.output.append(self._names[output.name])
        self._proto.node.append(kept)

    def _blank(self, data: Tensor) -> str:
        """Adds a tensor of the shape of one of which only that is asked; unknown axes have 1."""
        shape = self._analysis.shape(data)
        if shape is None:
            raise UnprobeableError(f"the shape of {data.name!r} is unknown")
        sizes = self._numbers([1 if isinstance(n, Unknown) else n for n in shape], data.name)
        shaped = self._small(sizes, TensorProto.INT64)
        return self._node("ConstantOfShape", shaped, value=from_array(np.zeros(1, np.bool_)))

    def _fed(self, node: Node, row: Operator) -> dict[int, str]:
        inputs = row.inputs
        names = {0: self._name(node.inputs[0])}
        scale = 1 / 8
        if inputs.weight is not None:
            weight = node.inputs[inputs.weight]
            shape = self._analysis.shape(weight)
            taps = self._taps_of(row, shape)
            if row.scatters:
                return {**names, **dict(self._spread(node, row, shape, taps[:1]))}
            dtype = self._type(weight.name)
            names[inputs.weight] = self._small(taps + _middle(dtype), dtype)
            # A power of 2 with which a quantised result seldom saturates.
            scale = 2.0 ** (REACH * int(np.abs(taps).sum()) // 256).bit_length()
        if inputs.zero_point is None:
            return names
        places = {*range(len(node.inputs))} - {*names, inputs.bias}
        types = {place: self._type(at.name) for place in places if (at := node.operand(place))}
        scales = [place for place, dtype in types.items() if dtype == TensorProto.FLOAT]
        for place, dtype in types.items():
            value: float = _middle(dtype)
            if place == inputs.zero_point:
                value = self._zero(node.operand(place))
            elif place in scales:  # the last one is that of the result
                value = scale if place == max(scales) else 1
            names[place] = self._small(value, dtype)
        return names

    def _zero(self, point: Tensor | None) -> int:
        known = (0,) if point is None else self._analysis.integers(point) or ()
        (found,) = known if len(known) == 1 else (_ANY_ZERO,)
        return found if isinstance(found, int) else _ANY_ZERO

    def _taps_of(self, row: Operator, shape: Shape | None) -> np.ndarray[Any, Any]:
        """Small integers for the kernel of a weight's shape."""
        sizes = () if shape is None else row.weight_layout.spatial(shape)
        kernel = [size for size in sizes if isinstance(size, int)]
        if not kernel or len(kernel) < len(sizes) or prod(kernel) > _LARGE:
            raise UnprobeableError("a kernel is too large, or its size known only at run time")
        return _taps(*kernel)

    def _spread(
        self, node: Node, row: Operator, shape: Shape | None, taps: np.ndarray[Any, Any]
    ) -> Iterator[tuple[int, str]]:
        """Weight and bias of a transposed convolution, by place: the same taps for all channels.

        All channels stay, since steps behind it may have constants for each.
        """
        inputs, layout = row.inputs, row.weight_layout
        assert inputs.weight is not None
        assert shape is not None  # or its taps were unknown
        sizes = self._numbers(shape, node.inputs[inputs.weight].name)
        if prod(sizes) > _LARGE:
            raise UnprobeableError("a weight is too large")
        one, times = self._small(taps, self._dtype), np.floor_divide(sizes, taps.shape)
        yield inputs.weight, self._node("Tile", one, self._small(times, TensorProto.INT64))
        if inputs.bias is not None and (bias := node.operand(inputs.bias)) is not None:
            channels = sizes[layout.batch] * int(node.attrs.get("group", 1))
            values = self._small(np.arange(channels) % REACH - 1, self._dtype)
            yield inputs.bias, self._name(bias) if self._is_there(bias) else values

    # Numbers and names

    def _type(self, name: str) -> int:
        dtype = self._analysis.dtype(self._graph.tensor(name))
        if dtype is None or dtype not in _TYPES:
            raise UnprobeableError(f"the element type of {name!r} is unknown")
        return dtype

    def _numbers(self, sizes: Sequence[Extent], data: str) -> list[int]:
        self.holds_sizes |= not all(isinstance(size, int) for size in sizes)
        return [_number(size, self._scene.symbols, data) for size in sizes]

    def _new(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def _node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """Adds a node that the graph does not have, and returns the name of its result."""
        self._proto.node.append(make_node(op, inputs, [self._new()], **attributes))
        return f"t{self._count}"

    def _small(self, values: Any, dtype: int) -> str:
        """Adds a constant that the graph does not have, and returns its name."""
        return self._constant(np.asarray(values).astype(tensor_dtype_to_np_dtype(dtype)))

    def _name(self, tensor: Tensor) -> str:
        tensor = self._origin(tensor)
        if tensor.name not in self._names:
            array = self._graph.constant(tensor)
            if array is None:
                raise UnprobeableError(f"{tensor.name!r} is known only at run time")
            self._names[tensor.name] = self._constant(array)
        return self._names[tensor.name]

    def _constant(self, values: np.ndarray[Any, Any]) -> str:
        proto = from_array(np.ascontiguousarray(values).reshape(values.shape), self._new())
        self._proto.initializer.append(proto)
        return proto.name


REACH = 8
"""Data are the integers from minus this number to this number."""

_SMALL = 1 << 12
"""Elements up to which the data of inputs is kept: most probes have the same."""

_SEEDS = 3

_Runs = tuple[dict[Draw, dict[str, Array]], EngineError | None]
"""The outputs for each of the inputs that a model ran on, and the first error."""
_Inputs = tuple[tuple[tuple[str, int], tuple[int, ...]], ...]
"""Names and element types, with shapes."""


class ProbeResult(Struct, frozen=True):
    """The result of running both sides of a change on a number of inputs; `ok` even where on none.

    `detail` is the first difference, or why nothing was run. It `repairs` if the runtime ran the
    changed side, and refused the one before.
    """

    ok: bool
    runs: int
    detail: str
    repairs: bool = False


def compare_scenes(
    before: onnx.ModelProto,
    after: onnx.ModelProto,
    scenes: Sequence[_Shapes],
    *,
    specified: bool = False,
) -> list[ProbeResult]:
    """Whether two small models give the same outputs, bit for bit, on data that shows padding.

    There is a result for each scene: the shapes of the inputs. The oracle is the runtime with
    optimisation off, or onnx's reference evaluator, for operators that this computes right, where
    the runtime cannot run `before`, or reads it otherwise than it is meant (`specified`).
    """
    names = [output.name for output in before.graph.output]
    inputs = [(each.name, each.type.tensor_type.elem_type) for each in before.graph.input]
    by_scene = [_draws(tuple(zip(inputs, shapes, strict=True))) for shapes in scenes]
    feeds = [draw.feeds for draws in by_scene for draw in draws]
    otherwise = EngineError(f"{RUNTIME} reads the original otherwise")
    ours = otherwise if specified else answers(before, names, feeds)
    theirs = answers(after, names, feeds)
    results = []
    for number, draws in enumerate(by_scene):
        part = slice(number * len(draws), (number + 1) * len(draws))
        mine, yours = (e if isinstance(e, EngineError) else e[part] for e in (ours, theirs))
        runs = _by_draw(mine, draws), _by_draw(yours, draws)
        results.append(_compared(before, after, names, draws, *runs, specified=specified))
    return results


def _compared(
    before: onnx.ModelProto,
    after: onnx.ModelProto,
    names: Sequence[str],
    draws: Sequence[Draw],
    ours: _Runs,
    theirs: _Runs,
    *,
    specified: bool,
) -> ProbeResult:
    (expected, why), (found, trouble) = ours, theirs
    repairs = bool(found) and not (specified or expected or isinstance(why, LimitError))
    if isinstance(trouble, LimitError):  # a change is not blamed for a slow machine
        return ProbeResult(True, 0, f"not probed: {trouble}")
    if not expected:
        feeds = [draw.feeds for draw in draws]
        expected, doubt = _by_draw(evaluator.answers(before, names, feeds), draws)
        if not expected:
            return ProbeResult(True, 0, f"not probed: {why} ({doubt})", repairs)
        worse = isinstance(trouble, CrashError) and not isinstance(why, CrashError)
        if not found and not worse:
            again = evaluator.answers(after, names, [draw.feeds for draw in expected])
            found, _ = _by_draw(again, [*expected])
            if not found:
                assert trouble is not None  # what did not run says why
                if trouble.lacks_kernel or str(trouble) == str(why):
                    return ProbeResult(True, 0, f"not probed: {trouble}")
    for draw in expected:
        if draw not in found:
            return ProbeResult(False, len(found), f"the rewritten side does not run: {trouble}")
        for name in names:
            seen = compare(name, expected[draw][name], found[draw][name])
            if not seen.equal:
                detail = seen.detail or f"max abs difference {seen.max_abs:g}"
                return ProbeResult(False, len(expected), f"{name}: {detail}, on {draw.label}")
    return ProbeResult(True, len(expected), "", repairs)


def _by_draw(answers_or_error: Sequence[Answer] | EngineError, draws: Sequence[Draw]) -> _Runs:
    if isinstance(answers_or_error, EngineError):
        return {}, answers_or_error
    answered, complaint = {}, None
    for draw, answer in zip(draws, answers_or_error, strict=True):
        if isinstance(answer, EngineError):
            complaint = complaint or answer
        else:
            answered[draw] = tensors(answer)  # what a cut computes is nothing else
    return answered, complaint


def _draws(inputs: _Inputs) -> Sequence[Draw]:
    """Random data of either sign and of one, which shows a fill that wins."""
    is_small = sum(prod(shape) for _, shape in inputs) <= _SMALL
    return (_each_draw if is_small else _each_draw.__wrapped__)(inputs)


@lru_cache(maxsize=64)
def _each_draw(inputs: _Inputs) -> Sequence[Draw]:
    ranges = [(f"random integers, seed {n}", n, -REACH, REACH) for n in range(_SEEDS)]
    ranges += [("negative integers", _SEEDS, -REACH, -1), ("positive integers", _SEEDS, 1, REACH)]
    draws = []
    for label, seed, low, high in ranges:
        feeds = {}
        for (name, dtype), shape in inputs:
            generator = np.random.default_rng([seed, zlib.crc32(name.encode())])
            feeds[name] = _typed(generator.integers(low, high, shape, endpoint=True), dtype)
        draws.append(Draw(feeds, label))
    return draws


def _typed(integers: Array, elem_type: int) -> Array:
    """`integers` as an element type; for an unsigned type, shifted to begin at 0."""
    integers = np.asarray(integers)  # without axes, it is a scalar
    dtype = np.dtype(tensor_dtype_to_np_dtype(elem_type))
    if dtype.kind == "b":
        return np.asarray(integers > 0)
    if dtype.kind == "u":
        return np.asarray(integers + REACH).astype(dtype)
    # bfloat16 and float8 convert from float32
    return integers.astype(np.float32).astype(dtype, copy=False)
