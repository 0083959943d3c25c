"""The meaning of operators, for proof alone: each node is read anew, from the specification's text.

The passes read nodes by the rows of `operators`. A proof that did so too would share their
mistakes, so nothing here is taken from there: this table is written a second time, from the
operators' pages of the ONNX specification, and says which of their versions it has been held
against. It knows nothing of passes, styles or edits. What it does share is the analysis: the
shapes and small values of tensors (a kernel's shape, the amounts of a `Pad`); only running both
graphs protects against a mistake there.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
import onnx
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import Extent, Size, Unknown, symbol
from onnxpad.graph import Graph, Node, Tensor, describe
from onnxpad.proof.layers import EXCLUDED, LEAST, Amounts

FLOATS: Final = frozenset(
    {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE, TensorProto.BFLOAT16}
)

AutoPad: TypeAlias = Literal["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"]
_AUTO_PADS: Final[Mapping[str, AutoPad]] = {
    "": "NOTSET",
    "NOTSET": "NOTSET",
    "VALID": "VALID",
    "SAME_UPPER": "SAME_UPPER",
    "SAME_LOWER": "SAME_LOWER",
}
_LONGEST: Final = 2**31 - 1  # no axis of a tensor is longer
_SLIDING: Final = frozenset(
    {"auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads", "strides"}
)


class MeaninglessError(Exception):
    """A node that the table gives no meaning: nothing can be proved of what it computes."""


@dataclass(frozen=True, slots=True)
class Sliding:
    """One operator that slides a window over axes of its first input.

    Attributes:
        versions: The versions of the operator, by the schema's `since_version`, that mean this.
        before: How many axes stand before the spatial ones, which are the last.
        weight: The input whose axes after these are the kernel; None where an attribute says it.
        rounding: How windows are counted: `floor`, or `pool` (also `ceil_mode`).
        own: What the operator's own padding is: zeros, what loses every comparison, or excluded
            from sum and divisor, but where `count_include_pad` has it count as zeros.
    """

    versions: frozenset[int]
    before: int
    weight: int | None
    rounding: Literal["floor", "pool"]
    own: int | str


SLIDING: Final[Mapping[str, Sliding]] = {
    "Conv": Sliding(frozenset({1, 11, 22}), 2, 1, "floor", 0),
    "MaxPool": Sliding(frozenset({1, 8, 10, 11, 12, 22}), 2, None, "pool", LEAST),
    "AveragePool": Sliding(frozenset({1, 7, 10, 11, 19, 22}), 2, None, "pool", EXCLUDED),
    "LpPool": Sliding(frozenset({1, 2, 11, 18, 22}), 2, None, "pool", 0),
}
"""Operators whose windows gather. One that is not here cannot be proved of, whoever rewrites it."""

_PAD_VERSIONS: Final = frozenset({1, 2, 11, 13, 18, 19, 21, 23, 24, 25})
_PAD_MODES: Final = ("constant", "reflect", "edge", "wrap")


class Axis(NamedTuple):
    """One axis of a window: its taps lie `dilation` apart, its positions `stride`."""

    kernel: int | Size
    stride: int
    dilation: int

    @property
    def extent(self) -> Extent:
        """Elements from the first tap to the last."""
        return (self.kernel - 1) * self.dilation + 1


class Slide(NamedTuple):
    """The sliding of a window operator, as the specification means it.

    Attributes:
        kind: The operator.
        row: Its row.
        version: The version of the operator, as the schema numbers it.
        axes: The window, an entry per spatial axis.
        auto_pad: How the operator pads by itself.
        pads: (begin, end) per spatial axis, which count where `auto_pad` is NOTSET.
        pads_written: Whether the attribute `pads` is there.
        ceil_mode: Whether the number of windows rounds up.
        counts: Whether its own padding counts in the divisor of an average.
        own: The fill of its own padding.
        has_indices: Whether it gives the positions of maxima too.
        others: All else that the node says, by name of the attribute.
    """

    kind: str
    row: Sliding
    version: int
    axes: tuple[Axis, ...]
    auto_pad: AutoPad
    pads: tuple[tuple[int, int], ...]
    pads_written: bool
    ceil_mode: bool
    counts: bool
    own: int | str
    has_indices: bool
    others: Mapping[str, object]

    @property
    def rank(self) -> int:
        """Axes of the data."""
        return self.row.before + len(self.axes)

    @property
    def is_same(self) -> bool:
        """Whether its padding follows from the size."""
        return self.auto_pad.startswith("SAME")

    @property
    def compares(self) -> bool:
        """Whether it takes the greatest, which padding never is."""
        return self.row.own == LEAST


class WindowNode(NamedTuple):
    """A node that slides a window.

    Attributes:
        slide: How it slides.
        data: The tensor that it slides over.
        besides: Names of what it reads besides.
    """

    slide: Slide
    data: Tensor
    besides: tuple[str, ...]


class Padding(NamedTuple):
    """A `Pad` node, as the specification means it.

    Attributes:
        mode: `constant`, `reflect`, `edge` or `wrap`.
        amounts: (begin, end) for each of `axes`, or of all axes; None where nothing is known.
        axes: The axes it names; None for all of them.
        axes_known: Whether the axes are known.
        value: The fill; None where it is known at run time only.
        filler: The name of the tensor that gives the fill; empty for an omitted one.
        data: The tensor that is padded.
    """

    mode: str
    amounts: Amounts | None
    axes: tuple[int, ...] | None
    axes_known: bool
    value: float | int | None
    filler: str
    data: Tensor

    @property
    def is_plain(self) -> bool:
        """Whether all amounts are numbers, and none crops."""
        return self.amounts is not None and all(
            type(amount) is int and amount >= 0 for pair in self.amounts for amount in pair
        )

    def over(self, rank: int) -> Amounts | None:
        """(begin, end) for each of `rank` axes; None where that is not known, or not defined."""
        pairs = self.amounts
        if pairs is None or not self.axes_known:
            return None
        if not self.is_plain and any(map(_is_unknown, pairs)):
            return None
        if self.axes is None:
            return pairs if len(pairs) == rank else None
        places = [axis % rank if -rank <= axis < rank else -1 for axis in self.axes]
        if -1 in places or len(set(places)) < len(places):
            return None
        full: list[tuple[Extent, Extent]] = [(0, 0)] * rank
        for place, pair in zip(places, pairs, strict=True):
            full[place] = pair
        return tuple(full)


def is_empty(amounts: Amounts) -> bool:
    """Whether nothing is padded or cropped at any size."""
    return all(begin == 0 and end == 0 for begin, end in amounts)


def least_of(dtype: int) -> float | int | None:
    """What loses every comparison in an element type; None where there is no such."""
    if dtype in FLOATS:
        return -math.inf
    kind = np.dtype(tensor_dtype_to_np_dtype(dtype))
    return int(np.iinfo(kind).min) if kind.kind in "iu" else None


def slides(graph: Graph, node: Node) -> bool:
    """Whether a node is an operator of the table."""
    return node.op in SLIDING and graph.is_standard(node)


def is_pad(graph: Graph, node: Node | None) -> bool:
    """Whether a node is a `Pad`."""
    return node is not None and node.op == "Pad" and graph.is_standard(node)


def meaning_of(graph: Graph, analysis: Analysis, node: Node) -> WindowNode:
    """The meaning of a window operator's node.

    Source: the pages of Conv, MaxPool, AveragePool and LpPool in the ONNX specification.

    Raises:
        MeaninglessError: The table has none for it.
    """
    if not node.inputs or not node.inputs[0].name or not node.outputs:
        raise MeaninglessError(f"node {describe(node)!r} lacks its data input or its output")
    row = SLIDING[node.op]
    kernel = None if row.weight is None else _weight_kernel(graph, analysis, node, row)
    has_indices = len(node.outputs) > 1 and bool(node.outputs[1].name)
    says = tuple([(name, *_frozen(value)) for name, value in node.attrs.items()])
    try:
        slide = _slides_alike(node.op, graph.opset, says, kernel, has_indices)
    except MeaninglessError as error:
        raise MeaninglessError(f"node {describe(node)!r}: {error}") from error
    besides = tuple([tensor.name for tensor in node.inputs[1:]])
    return WindowNode(slide, node.inputs[0], besides)


def _frozen(value: object) -> tuple[type, object]:
    """The value of an attribute, with its type: 1, 1.0 and True are equal, and three attributes."""
    if isinstance(value, list):
        return (type(value[0]) if value else list), tuple(value)
    if isinstance(value, onnx.AttributeProto):
        return onnx.AttributeProto, value.SerializeToString(deterministic=True)
    return type(value), value


@lru_cache(maxsize=4096)
def _slides_alike(
    op: str,
    opset: int,
    says: tuple[tuple[str, type, object], ...],
    weight: tuple[int | Size, ...] | None,
    has_indices: bool,
) -> Slide:
    """The sliding of all nodes that say the same: networks repeat themselves.

    `weight` is the kernel that a weight has, or says to have; lists are tuples here.
    """
    row, attributes = SLIDING[op], {name: value for name, _, value in says}
    version = _version(op, opset, attributes, row.versions)
    kernel = weight or _whole(attributes, "kernel_shape", None, 1)
    if not kernel:
        raise MeaninglessError("there is no kernel_shape")
    rank = len(kernel)
    strides = _whole(attributes, "strides", rank, 1) or (1,) * rank
    dilations = _whole(attributes, "dilations", rank, 1) or (1,) * rank
    pads = _whole(attributes, "pads", 2 * rank, 0)
    auto_pad = _AUTO_PADS.get(str(attributes.get("auto_pad", "")))
    if auto_pad is None:
        raise MeaninglessError(f"auto_pad={attributes['auto_pad']!r} is not specified")
    counts = _is_set(attributes, "count_include_pad")
    return Slide(
        kind=op,
        row=row,
        version=version,
        axes=tuple(map(Axis, kernel, strides, dilations)),
        auto_pad=auto_pad,
        pads=tuple(zip(pads[:rank], pads[rank:], strict=True)) if pads else ((0, 0),) * rank,
        pads_written=pads is not None,
        ceil_mode=_is_set(attributes, "ceil_mode"),
        counts=counts,
        own=_own_fill(op, attributes, counts),
        has_indices=has_indices,
        others={name: value for name, value in attributes.items() if name not in _SLIDING},
    )


def padding_of(graph: Graph, analysis: Analysis, node: Node) -> Padding:
    """The meaning of a `Pad` node.

    Source: the page of Pad in the ONNX specification. onnxruntime takes `wrap` before opset 19 too.

    Raises:
        MeaninglessError: The table has none for it.
    """
    if not node.inputs or not node.inputs[0].name or not node.outputs:
        raise MeaninglessError(f"node {describe(node)!r} lacks its data input or its output")
    version = _version(node.op, graph.opset, node.attrs, _PAD_VERSIONS)
    mode = str(node.attrs.get("mode") or "constant")
    if mode not in _PAD_MODES:
        raise MeaninglessError(f"mode {mode!r} of Pad is not specified")
    filler, axes, axes_known = "", None, True
    flat: Sequence[Extent] | None
    value: float | int | None
    if version < 11:
        name = "pads" if version > 1 else "paddings"
        written = node.attrs.get(name)
        flat = _whole({name: _frozen(written)[1]}, name, None, -_LONGEST)
        given = node.attrs.get("value", 0.0)
        value = float(given) if isinstance(given, int | float) else None
        if flat is None or value is None:
            raise MeaninglessError(f"node {describe(node)!r} lacks its amounts or its value")
    else:
        amounts, fill, named = (_input(node, index) for index in (1, 2, 3))
        if amounts is None:
            raise MeaninglessError(f"node {describe(node)!r} lacks its amounts")
        flat = analysis.integers(amounts)
        value, filler = (0, "") if fill is None else (_element(graph, analysis, fill), fill.name)
        if named is not None:
            found = analysis.integers(named)
            known = tuple(axis for axis in found or () if isinstance(axis, int))
            axes_known = found is not None and len(known) == len(found)
            axes = known if axes_known else None
    pairs = _pairs(node, flat, axes)
    return Padding(mode, pairs, axes, axes_known, value, filler, node.inputs[0])


def _version(
    op: str, opset: int, attributes: Mapping[str, object], versions: frozenset[int]
) -> int:
    """The version of an operator, whose schema has all attributes that a node has."""
    version, known = _schema(op, opset)
    if version not in versions:
        raise MeaninglessError(f"{op} of version {version} is newer than what is known of it")
    if not known.issuperset(attributes):
        unknown = ", ".join(sorted(attributes.keys() - known))
        raise MeaninglessError(f"{op} of opset {opset} has no attribute {unknown}")
    return version


@lru_cache(maxsize=256)
def _schema(op: str, opset: int) -> tuple[int, frozenset[str]]:
    """The version of an operator in an opset, and the attributes that it has there."""
    try:
        schema = onnx.defs.get_schema(op, opset, "")
    except onnx.defs.SchemaError as error:
        raise MeaninglessError(f"opset {opset} has no {op}") from error
    return schema.since_version, frozenset(schema.attributes)


def _weight_kernel(
    graph: Graph, analysis: Analysis, node: Node, row: Sliding
) -> tuple[int | Size, ...]:
    """The kernel that a node's weight has; a symbol for a size that run time alone knows."""
    weight = _input(node, row.weight or 0)
    if weight is None:
        raise MeaninglessError(f"node {describe(node)!r} has no weight")
    shape, written = analysis.shape(weight), node.attrs.get("kernel_shape")
    if shape is not None:
        sizes = shape[row.before :]
        if written and (
            len(sizes) != len(written)
            or any(isinstance(a, int) and a != b for a, b in zip(sizes, written, strict=True))
        ):
            raise MeaninglessError(
                f"the kernel_shape of node {describe(node)!r} is not its weight's"
            )
    else:
        sizes = (Unknown("run time alone knows"),) * (0 if written else _axes(analysis, node))
    if written:
        return _whole({"kernel_shape": _frozen(written)[1]}, "kernel_shape", None, 1) or ()
    return tuple(
        [
            size if isinstance(size, int | Size) else symbol(f"{weight.name}[{axis}]")
            for axis, size in enumerate(sizes, row.before)
        ]
    )


def _axes(analysis: Analysis, node: Node) -> int:
    """How many axes a node slides over, where its weight does not tell."""
    for name, parts in (("strides", 1), ("dilations", 1), ("pads", 2)):
        if isinstance(node.attrs.get(name), list):
            return len(node.attrs[name]) // parts
    shape = analysis.shape(node.inputs[0])
    if shape is None or len(shape) <= SLIDING[node.op].before:
        raise MeaninglessError(f"over how many axes node {describe(node)!r} slides is not known")
    return len(shape) - SLIDING[node.op].before


def _own_fill(op: str, attributes: Mapping[str, object], counts: bool) -> int | str:
    """The fill of an operator's own padding.

    An LpPool leaves it out: zeros where p is above 0, since a power of 0 is 0 then.
    """
    own = SLIDING[op].own
    if own == EXCLUDED:
        return 0 if counts else EXCLUDED
    power = attributes.get("p", 2)
    if op == "LpPool" and not (isinstance(power, int | float) and power > 0):
        return EXCLUDED
    return own


def _pairs(
    node: Node, flat: Sequence[Extent] | None, axes: tuple[int, ...] | None
) -> Amounts | None:
    """Amounts in ONNX order as pairs."""
    if flat is None:
        return None
    half = len(flat) // 2
    if len(flat) % 2 or (axes is not None and half != len(axes)):
        raise MeaninglessError(f"node {describe(node)!r} has {len(flat)} amounts")
    if any(isinstance(amount, int) and abs(amount) > _LONGEST for amount in flat):
        raise MeaninglessError(f"no axis is as long as the amounts of node {describe(node)!r}")
    return tuple((flat[place], flat[half + place]) for place in range(half))


def _is_unknown(pair: tuple[Extent, Extent]) -> bool:
    return any(isinstance(amount, Unknown) for amount in pair)


def _input(node: Node, index: int) -> Tensor | None:
    return node.inputs[index] if len(node.inputs) > index and node.inputs[index].name else None


def _element(graph: Graph, analysis: Analysis, tensor: Tensor) -> float | int | None:
    """The one element of a tensor; None where it is not known exactly."""
    array = graph.constant(tensor)
    if array is not None:
        if array.size != 1 or array.dtype.kind not in "fiubV":
            return None
        element = array.reshape(-1)[0]
        return float(element) if array.dtype.kind in "fV" else int(element)
    value = analysis.value(tensor)
    if value is None or value.data.size != 1:
        return None
    (element,) = value.data.reshape(-1)
    element = element.item() if isinstance(element, np.generic) else element
    return element if isinstance(element, int | float) else None


def _whole(
    attributes: Mapping[str, object], name: str, count: int | None, least: int
) -> tuple[int, ...] | None:
    """A list of integers; None where it is absent, or empty, which runtimes fill in."""
    value = attributes.get(name)
    if value is None:
        return None
    if not isinstance(value, tuple) or not {int}.issuperset(map(type, value)):
        raise MeaninglessError(f"{name} is no list of integers")
    if not value and (count is not None or name != "pads"):
        return None
    if count is not None and len(value) != count:
        raise MeaninglessError(f"{name} has {len(value)} values instead of {count}")
    if value and not least <= min(value) <= max(value) <= _LONGEST:
        raise MeaninglessError(f"{name} is out of bounds: {list(value)}")
    return value


def _is_set(attributes: Mapping[str, object], name: str) -> bool:
    value = attributes.get(name, 0)
    if type(value) is not int:
        raise MeaninglessError(f"{name} is no integer")
    return value != 0
