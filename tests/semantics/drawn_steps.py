"""Steps drawn by a seed: any operator of the table, its attributes and operands, and layers."""

import random
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import onnx
from msgspec import Struct
from msgspec.structs import replace
from onnx import TensorProto, helper, numpy_helper

from onnxpad.arithmetic.size import Extent, Size, evaluate
from onnxpad.facts import Analysis
from onnxpad.graph import Graph
from onnxpad.semantics import pointwise
from onnxpad.semantics.layers import (
    EXCLUDED,
    LEAST,
    NEGATIVE_ZERO,
    Fill,
    Layer,
    Layers,
    Operand,
    around,
)
from onnxpad.semantics.rows import Call
from onnxpad.semantics.table import row_of, rows
from tests.support import Array

Operands: TypeAlias = list[Any]  # "x" or "u" for data, an array for a constant, None for nothing
Form: TypeAlias = tuple[dict[str, Any], Operands]
Draw: TypeAlias = Callable[[random.Random, "Case"], Form]

OPS: Final = sorted(op for (domain, op), row in rows().items() if not domain and row.step)
NUMBERS: Final = (0, 0, 0, 0, NEGATIVE_ZERO, 1, 2.5, -3, -0.25, 0.1, 1e-40, 200)
TEXTS: Final = (LEAST, EXCLUDED, Operand(2), float("inf"), float("-inf"))
_OF_TEXTS: Final[dict[object, Any]] = {
    NEGATIVE_ZERO: -0.0,
    LEAST: -8,
    EXCLUDED: 7,
    Operand(2): 5,
}
_KINDS: Final = ("float", "float", "float", "double", "float16", "int32", "int64", "int8", "uint8")
_OPSETS: Final = (7, 8, 9, 10, 11, 12, 13, 14, 17, 18, 19, 21, 22, 23, 24, 25)


class Case(Struct, frozen=True):
    """One node on data of a shape, which has layers around it; `open` axes have a name alone."""

    op: str
    opset: int = 17
    dtype: str = "float"
    shape: tuple[int, ...] = (2, 3, 4, 5)
    layers: Layers = ()
    attributes: tuple[tuple[str, Any], ...] = ()
    operands: tuple[Any, ...] = ("x",)
    outputs: int = 1
    open: frozenset[int] = frozenset()

    @property
    def kind(self) -> np.dtype[Any]:
        """The type of the data's elements."""
        return helper.tensor_dtype_to_np_dtype(getattr(TensorProto, self.dtype.upper()))

    @property
    def padded_shape(self) -> tuple[int, ...]:
        """The shape of the data with the layers."""
        sizes = enumerate(self.shape)
        return tuple(int(str(size + around(self.layers, axis))) for axis, size in sizes)

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of axes that have names alone, of padded data."""
        return {f"n{axis}": size for axis, size in enumerate(self.padded_shape)}

    def model(self) -> onnx.ModelProto:
        """The node on data with the layers."""
        shape = [f"n{a}" if a in self.open else size for a, size in enumerate(self.padded_shape)]
        names, held = [], []
        for place, operand in enumerate(self.operands):
            if isinstance(operand, np.ndarray):
                held.append(numpy_helper.from_array(operand, f"c{place}"))
            names.append(f"c{place}" if isinstance(operand, np.ndarray) else operand or "")
        outputs = [f"y{place}" for place in range(self.outputs)]
        element = getattr(TensorProto, self.dtype.upper())
        node = helper.make_node(self.op, names, outputs, **dict(self.attributes))
        data = sorted({name for name in names if name in ("x", "u")})
        graph = helper.make_graph(
            [node],
            "g",
            [helper.make_tensor_value_info(name, element, shape) for name in data],
            [onnx.ValueInfoProto(name=name) for name in outputs],
            held,
        )
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)

    def call(self, output: int = 0) -> Call:
        """The node as its row reads it."""
        graph = Graph.from_proto(self.model())
        (node,) = graph.nodes
        row = row_of(graph, node)
        assert row is not None
        return Call(graph, Analysis(graph), node, row, output)

    def feeds(self) -> dict[str, Array]:
        """Data without layers."""
        draw = np.random.default_rng(len(self.shape))
        found = {}
        for name in sorted({each for each in self.operands if isinstance(each, str)}):
            numbers = draw.integers(0 if self.kind.kind in "ub" else -8, 9, self.shape)
            found[name] = (numbers / 4 if self.kind.kind == "f" else numbers).astype(self.kind)
        return found


def node(op: str, *operands: Any, opset: int = 17, **attributes: Any) -> Case:
    """A node on data of four axes, and on further operands; an attribute `shape` is the data's."""
    shape = attributes.pop("shape", (2, 3, 4, 5))
    written = tuple(sorted(attributes.items()))
    return Case(op, opset, shape=shape, operands=operands or ("x",), attributes=written)


def ints(*numbers: int) -> Array:
    """A list of integers, as operands are."""
    return np.array(numbers, np.int64)


def floats(*numbers: float) -> Array:
    """A list of floats."""
    return np.array(numbers, np.float32)


def padded(array: Array, layers: Layers) -> Array:
    """An array with layers around it; negative amounts crop."""
    for layer in layers if array.ndim else ():
        pairs = [(int(str(begin)), int(str(end))) for begin, end in layer.amounts]
        is_open = isinstance(layer.fill, Operand)
        number = _OF_TEXTS.get(layer.fill, 0.0 if is_open else layer.fill)
        fill = np.array(number).astype(array.dtype)
        wide = [(max(begin, 0), max(end, 0)) for begin, end in pairs]
        array = np.pad(array, wide, constant_values=fill)
        array = array[tuple(slice(max(-begin, 0), min(end, 0) or None) for begin, end in pairs)]
    return array


def number(case: Case, size: Extent) -> int:
    """A size at the sizes of a case."""
    assert isinstance(size, int | Size)
    found = evaluate(size, case.sizes) if isinstance(size, Size) else size
    assert isinstance(found, int)
    return found


def drawn(seed: int, op: str | None = None) -> Case:
    """A case by a seed."""
    draw = random.Random(seed)
    op = op or draw.choice(OPS)
    row = rows()["", op]
    floats = row.step in (pointwise.keeps_zero, pointwise.quantize)
    kinds = ("float", "float", "double", "float16") if floats else _KINDS
    dtype = draw.choice(("int8", "uint8", "int32") if op == "DequantizeLinear" else kinds)
    if op == "Cast" and not seed % 5:
        dtype = "bool"
    shape = tuple(draw.choice((1, 1, 2, 3, 4, 5)) for _ in range(draw.choice((1, 2, 3, 4, 4, 4))))
    fills = NUMBERS if draw.random() < 0.8 else TEXTS
    layers = tuple(_layers(draw, shape, fills if dtype[0] in "fd" else (0, 1, 3, 0, *TEXTS[:3])))
    axes = frozenset(a for a in range(len(shape)) if draw.random() < 0.2)
    opset = draw.choice([each for each in _OPSETS if each >= min(row.versions)])
    case = Case(op, opset, dtype, shape, layers, open=axes)
    attributes, operands = _FORMS.get(op, _plain)(draw, case)
    outputs = 2 if op == "Split" else 1
    written = tuple(sorted(attributes.items()))
    return replace(case, attributes=written, operands=tuple(operands), outputs=outputs)


def _layers(draw: random.Random, shape: Sequence[int], fills: Sequence[Fill]) -> list[Layer]:
    sizes, found = list(shape), []
    for _ in range(draw.choice((0, 1, 1, 1, 2))):
        amounts = [(0, 0)] * len(shape)
        for axis in draw.sample(range(len(shape)), draw.randint(1, min(2, len(shape)))):
            pair = draw.choice((0, 1, 2, -1)), draw.choice((0, 1, 3, -1))
            if sizes[axis] + min(pair[0], 0) + min(pair[1], 0) >= 1:
                amounts[axis] = pair
                sizes[axis] += sum(pair)
        found.append(Layer(tuple(amounts), draw.choice(fills)))
    return found


def _plain(draw: random.Random, case: Case) -> Form:
    return {}, ["x"]


def _axis(draw: random.Random, case: Case) -> int:
    return draw.randrange(-len(case.shape), len(case.shape))


def _listed(case: Case, name: str, numbers: Sequence[int] | None, since: int = 13) -> Form:
    """A list that is an attribute, and from a version on an input."""
    if numbers is None:
        return {}, ["x"]
    return ({name: list(numbers)}, ["x"]) if case.opset < since else ({}, ["x", ints(*numbers)])


def _transpose(draw: random.Random, case: Case) -> Form:
    perm = draw.sample(range(len(case.shape)), len(case.shape))
    return ({} if draw.random() < 0.3 else {"perm": perm}), ["x"]


def _unsqueeze(draw: random.Random, case: Case) -> Form:
    added = draw.choice((1, 1, 2))
    rank = len(case.shape) + added
    axes = [axis - draw.choice((0, rank)) for axis in draw.sample(range(rank), added)]
    return _listed(case, "axes", axes)


def _squeeze(draw: random.Random, case: Case) -> Form:
    units = [axis for axis, size in enumerate(case.padded_shape) if size == 1]
    axes = None if draw.random() < 0.3 or not units else draw.sample(units, 1)
    return _listed(case, "axes", axes)


def _reshape(draw: random.Random, case: Case) -> Form:
    kept = [size for size in case.padded_shape if size != 1 or draw.random() < 0.5]
    for _ in range(draw.choice((0, 1, 1, 2))):
        kept.insert(draw.randint(0, len(kept)), 1)
    if len(kept) > 1 and draw.random() < 0.1:
        kept[:2] = [kept[0] * kept[1]]
    if kept and draw.random() < 0.3:
        kept[draw.randrange(len(kept))] = -1
    if kept and kept[0] == case.padded_shape[0] and draw.random() < 0.5:
        kept[0] = 0
    return {}, ["x", ints(*kept)]


def _concat(draw: random.Random, case: Case) -> Form:
    return {"axis": _axis(draw, case)}, draw.choice((["x"], ["x", "u"], ["u", "x", "u"]))


def _split(draw: random.Random, case: Case) -> Form:
    axis = _axis(draw, case)
    size = case.padded_shape[axis]
    attributes, operands = _listed(case, "split", draw.choice((None, (1, size - 1))))
    if case.opset >= 18 and len(operands) == 1:
        attributes["num_outputs"] = 2
    return attributes | draw.choice(({"axis": axis}, {"axis": axis}, {})), operands


def _slice(draw: random.Random, case: Case) -> Form:
    rank = len(case.shape)
    axes = draw.sample(range(rank), draw.randint(1, min(rank, 2)))
    starts = [draw.choice((0, 0, 1, 2, -1, -2, 9)) for _ in axes]
    ends = [draw.choice((-1, 2, 3, 5, 2**31 - 1, 2**63 - 1, 0)) for _ in axes]
    if case.opset < 10:
        return {"axes": axes, "starts": starts, "ends": ends}, ["x"]
    steps = [draw.choice((1, 1, 1, 2, -1)) for _ in axes]
    pairs = zip(ends, steps, strict=True)  # a far end in steps of -1 is disputed
    ends = [end if step > 0 or abs(end) < 9 else -9 for end, step in pairs]
    named = [axis - draw.choice((0, rank)) for axis in axes]
    return {}, ["x", *(ints(*each) for each in (starts, ends, named, steps))]


def _cast(draw: random.Random, case: Case) -> Form:
    to = draw.choice(("FLOAT", "DOUBLE", "FLOAT16", "INT32", "INT64", "UINT8", "INT8", "BOOL"))
    return {"to": getattr(TensorProto, to)}, ["x"]


def _number(draw: random.Random, case: Case) -> float:
    return draw.choice((0, -0.0, 0.5, 1, 2, 3, -2, 0.1) if case.kind.kind == "f" else (0, 1, 2, 3))


def _clip(draw: random.Random, case: Case) -> Form:
    bounds = [None if draw.random() < 0.3 else _number(draw, case) for _ in range(2)]
    if case.opset < 11:
        named = zip(("min", "max"), bounds, strict=True)
        return {name: float(bound) for name, bound in named if bound is not None}, ["x"]
    return {}, ["x", *(None if each is None else np.array(each, case.kind) for each in bounds)]


def _operated(draw: random.Random, case: Case) -> Form:
    rank = len(case.shape)
    some = tuple(size if draw.random() < 0.4 else 1 for size in case.padded_shape)
    shape = draw.choice(((), (1,) * (rank + 1), some, (2, *(1,) * rank)))
    one = _number(draw, case)
    varied = draw.random() < 0.4
    flat = [_number(draw, case) if varied else one for _ in range(int(np.prod(shape)))]
    constant = np.array(flat, np.float64).reshape(shape).astype(case.kind)
    return {}, draw.choice((["x", constant], [constant, "x"]))


def _scaling(draw: random.Random, case: Case) -> Form:
    points = ("int8", "uint8", "uint16") if case.op == "QuantizeLinear" else (case.dtype,)
    axis = _axis(draw, case)
    count = case.padded_shape[axis] if draw.random() < 0.5 else None
    scale = draw.choice((0.5, 0.1, 3))
    drawing = [draw.choice((scale, scale, 0.25)) for _ in range(count or 1)]
    kind = draw.choice(points)
    zeros = [draw.choice((0, 3)) if draw.random() < 0.2 else 3 for _ in range(count or 1)]
    if case.dtype == "int32":
        zeros = [0] * len(zeros)
    arrays = np.array(drawing, np.float32), np.array(zeros).astype(kind)
    operands = [each if count else each.reshape(()) for each in arrays]
    attributes = {"axis": axis} if case.opset >= 13 and draw.random() < 0.8 else {}
    return attributes, ["x", *operands[: draw.choice((1, 2, 2))]]


def _with_alpha(draw: random.Random, case: Case) -> Form:
    return draw.choice(({}, {"alpha": 0.5}, {"alpha": 2.0}, {"alpha": -1.0})), ["x"]


_FORMS: Final[dict[str, Draw]] = {
    "Transpose": _transpose, "Unsqueeze": _unsqueeze, "Squeeze": _squeeze, "Reshape": _reshape,
    "Flatten": lambda draw, case: ({"axis": draw.randint(0, len(case.shape))}, ["x"]),
    "Concat": _concat, "Split": _split, "Slice": _slice,
    "Cast": _cast, "Clip": _clip,
    **dict.fromkeys(("Add", "Sub", "Mul", "Div"), _operated),
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), _scaling),
    **dict.fromkeys(("Celu", "Elu", "LeakyRelu", "Selu", "Swish", "ThresholdedRelu"), _with_alpha),
}  # fmt: skip
