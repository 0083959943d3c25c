"""The meaning of operators for the proof, written a second time from the specification's text.

The passes read nodes by the rows of `operators`. A proof that used them would share their mistakes,
so nothing here comes from there. This table names the versions of each operator that it was
compared with, and knows nothing of passes, styles or edits.

The proof does share the analysis with the passes: shapes and small values of tensors, such as a
kernel's shape or the amounts of a `Pad`. Only running both graphs protects against a mistake there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final, Literal, TypeAlias

import numpy as np
import onnx
from onnx import TensorProto
from onnx.helper import tensor_dtype_to_np_dtype

from onnxpad.analysis import Analysis
from onnxpad.analysis.rules.shape_table import KEEPING
from onnxpad.arithmetic.size import Extent, Size, Unknown, symbol
from onnxpad.declared import Row
from onnxpad.graph import Graph, Node, Tensor, describe
from onnxpad.graph.declared_nodes import row_declared
from onnxpad.graph.nodes import noted
from onnxpad.proof.layers import EXCLUDED, LEAST, Amounts, fill_of_tensor
from onnxpad.records import NamedTuple, dataclass

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
_AttrType: TypeAlias = onnx.defs.OpSchema.AttrType
LONGEST: Final = 2**31 - 1  # no axis of a tensor is longer
_SLIDING: Final = frozenset(
    {"auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads", "strides"}
)
_CHANNELS_LAST: Final = "channels_last"
_IN_WEIGHT: Final = 2  # in every weight of the table the kernel begins at this axis


class MeaninglessError(Exception):
    """The table has no meaning for a node, so nothing can be proved about it."""


class Schema(NamedTuple):
    """Attributes and inputs of an operator that onnx has no schema of.

    Attributes:
        attributes: The types of its attributes.
        inputs: The most inputs it has.
        others: Whether it has other attributes, of which nothing is known.
    """

    attributes: Mapping[str, _AttrType]
    inputs: int
    others: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sliding:
    """One operator that slides a window over axes of its first input.

    Attributes:
        versions: The versions of the operator with this meaning, by the schema's `since_version`,
            or of its domain where onnx has no schema of it.
        weight: The input whose axes from the third on are the kernel; None where an attribute
            gives it.
        rounding: How windows are counted: `floor`, or `pool` (which has `ceil_mode`).
        own: The fill of the operator's own padding: `ZERO`, `LEAST`, or `EXCLUDED`, which
            `count_include_pad` turns into `ZERO`.
        zero_point: The input with the value that stands for `ZERO` in the data; None where that
            is 0.
        last: Whether the channels are the last axis instead of the second one; None where the
            attribute `channels_last` says that.
        schema: Its schema; None for those of onnx.
        declaration: What a user declared of it; None for those of this table. It is all that is
            known of the operator, and so what it means for the proof too.
        rounds_whole_apart: Whether onnxruntime rounds otherwise where the kernel is as large as the
            data on all axes and nothing is padded: it then runs the operator's global kin.
    """

    versions: frozenset[int]
    weight: int | None
    rounding: Literal["floor", "pool"]
    own: int | str
    zero_point: int | None = None
    last: bool | None = False
    schema: Schema | None = None
    declaration: Row | None = None
    rounds_whole_apart: bool = False

    @property
    def loses_signs(self) -> bool:
        """Whether it pads with zeros, whose sign cannot be told from what it computes."""
        return self.own == ZERO and self.declaration is None


_ONNX: Final = ""
_MICROSOFT: Final = "com.microsoft"
_FIRST: Final = frozenset({1})
ZERO: Final = 0
_POOLING: Final[Mapping[str, _AttrType]] = {
    "auto_pad": _AttrType.STRING,
    "ceil_mode": _AttrType.INT,
    "kernel_shape": _AttrType.INTS,
    "pads": _AttrType.INTS,
    "strides": _AttrType.INTS,
}
_CONVOLVING: Final[Mapping[str, _AttrType]] = {
    "auto_pad": _AttrType.STRING,
    "dilations": _AttrType.INTS,
    "group": _AttrType.INT,
    "kernel_shape": _AttrType.INTS,
    "pads": _AttrType.INTS,
    "strides": _AttrType.INTS,
}
_ACTIVATION: Final[Mapping[str, _AttrType]] = {
    "activation": _AttrType.STRING,
    "activation_params": _AttrType.FLOATS,
}
_LAST: Final[Mapping[str, _AttrType]] = {_CHANNELS_LAST: _AttrType.INT}
_DECLARED_POOLING: Final[Mapping[str, _AttrType]] = {
    **_POOLING,
    "count_include_pad": _AttrType.INT,
    "dilations": _AttrType.INTS,
}

SLIDING: Final[Mapping[tuple[str, str], Sliding]] = {
    (_ONNX, "Conv"): Sliding(versions=frozenset({1, 11, 22}), weight=1, rounding="floor", own=ZERO),
    (_ONNX, "MaxPool"): Sliding(
        versions=frozenset({1, 8, 10, 11, 12, 22}), weight=None, rounding="pool", own=LEAST
    ),
    (_ONNX, "AveragePool"): Sliding(
        versions=frozenset({1, 7, 10, 11, 19, 22}), weight=None, rounding="pool", own=EXCLUDED
    ),
    (_ONNX, "LpPool"): Sliding(
        versions=frozenset({1, 2, 11, 18, 22}), weight=None, rounding="pool", own=ZERO
    ),
    (_ONNX, "ConvInteger"): Sliding(
        versions=frozenset({10}), weight=1, rounding="floor", own=ZERO, zero_point=2
    ),
    (_ONNX, "QLinearConv"): Sliding(
        versions=frozenset({10}), weight=3, rounding="floor", own=ZERO, zero_point=2
    ),
    (_MICROSOFT, "QLinearConv"): Sliding(
        versions=_FIRST,
        weight=3,
        rounding="floor",
        own=ZERO,
        zero_point=2,
        last=None,
        schema=Schema({**_CONVOLVING, **_LAST}, inputs=9),
    ),
    (_MICROSOFT, "FusedConv"): Sliding(
        versions=_FIRST,
        weight=1,
        rounding="floor",
        own=ZERO,
        schema=Schema({**_CONVOLVING, **_ACTIVATION}, inputs=4),
    ),
    (_MICROSOFT, "NhwcMaxPool"): Sliding(
        versions=_FIRST,
        weight=None,
        rounding="pool",
        own=LEAST,
        last=True,
        schema=Schema({**_POOLING, "dilations": _AttrType.INTS}, inputs=1),
    ),
    (_MICROSOFT, "QLinearAveragePool"): Sliding(
        versions=_FIRST,
        weight=None,
        rounding="pool",
        own=EXCLUDED,
        zero_point=2,
        last=None,
        schema=Schema({**_POOLING, **_LAST, "count_include_pad": _AttrType.INT}, inputs=5),
        rounds_whole_apart=True,
    ),
}
"""Operators with a sliding window. Without a row here, no rewrite of an operator can be proved.

Source of those of com.microsoft: onnxruntime, docs/ContribOperators.md.
"""

_PAD_VERSIONS: Final = frozenset({1, 2, 11, 13, 18, 19, 21, 23, 24, 25})
_FAR: Final = 64  # operators upstream that are looked at
_AMOUNTS: Final = frozenset({None, TensorProto.INT64})
_AXES: Final = frozenset({None, TensorProto.INT32, TensorProto.INT64})
_PAD_MODES: Final = ("constant", "reflect", "edge", "wrap")


class WindowAxis(NamedTuple):
    """One axis of a window: its taps are `dilation` apart, its positions `stride`."""

    kernel: int | Size
    stride: int
    dilation: int

    @property
    def extent(self) -> Extent:
        """Elements from the first tap to the last."""
        return (self.kernel - 1) * self.dilation + 1


class SlideSpec(NamedTuple):
    """How a window operator slides, according to the specification.

    Attributes:
        kind: The operator, with its domain where that is not ONNX's own.
        row: Its row.
        version: The version of the operator, as the schema numbers it.
        axes: The window along each spatial axis.
        before: The number of axes before the spatial ones.
        after: The number of axes after them.
        auto_pad: The attribute `auto_pad`.
        pads: (begin, end) per spatial axis, which apply where `auto_pad` is NOTSET.
        pads_written: Whether the node has the attribute `pads`.
        ceil_mode: Whether the number of windows rounds up.
        counts: Whether its own padding counts in the divisor of an average.
        own: The fill of its own padding.
        has_indices: Whether it has an output for the positions of maxima.
        empty: Names of attributes that are empty lists, which not every runtime takes.
        others: All other attributes, by name.
    """

    kind: str
    row: Sliding
    version: int
    axes: tuple[WindowAxis, ...]
    before: int
    after: int
    auto_pad: AutoPad
    pads: tuple[tuple[int, int], ...]
    pads_written: bool
    ceil_mode: bool
    counts: bool
    own: int | str
    has_indices: bool
    empty: frozenset[str]
    others: Mapping[str, object]

    @property
    def rank(self) -> int:
        """Axes of the data."""
        return self.before + len(self.axes) + self.after

    @property
    def spatial(self) -> range:
        """The axes that the window slides over."""
        return range(self.before, self.before + len(self.axes))

    def over(self, spatial: Iterable[tuple[Extent, Extent]]) -> Amounts:
        """Amounts for all axes, given those of the spatial ones: zeros on the others."""
        return (*((0, 0),) * self.before, *spatial, *((0, 0),) * self.after)

    def pads_others(self, amounts: Amounts) -> bool:
        """Whether amounts for all axes pad or crop any but the spatial ones."""
        return not is_empty((*amounts[: self.before], *amounts[self.spatial.stop :]))

    @property
    def is_same(self) -> bool:
        """Whether `auto_pad` is SAME_UPPER or SAME_LOWER."""
        return self.auto_pad.startswith("SAME")

    @property
    def compares(self) -> bool:
        """Whether it takes a maximum, in which its own padding never wins."""
        return self.row.own == LEAST


class Padding(NamedTuple):
    """A `Pad` node, according to the specification.

    Attributes:
        mode: `constant`, `reflect`, `edge` or `wrap`.
        amounts: (begin, end) for each of `axes`, or for all axes; None where unknown.
        axes: The axes it names; None for all of them.
        axes_known: Whether the axes are known.
        value: The fill; None where it is known only at run time.
        filler: The name of the tensor that holds the fill; empty for an omitted one.
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
        if self.amounts is None:
            return False
        numbers = [amount for pair in self.amounts for amount in pair if type(amount) is int]
        return len(numbers) == 2 * len(self.amounts) and min(numbers, default=0) >= 0

    def over(self, rank: int) -> Amounts | None:
        """(begin, end) for each of `rank` axes; None where unknown or undefined."""
        pairs = self.amounts
        if pairs is None or not self.axes_known:
            return None
        if Unknown in map(type, chain.from_iterable(pairs)):
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
    return tuple(amounts) == ((0, 0),) * len(amounts)


def least_of(dtype: int) -> float | int | None:
    """The value that loses every comparison in an element type; None where there is none."""
    if dtype in FLOATS:
        return -math.inf
    kind = np.dtype(tensor_dtype_to_np_dtype(dtype))
    return int(np.iinfo(kind).min) if kind.kind in "iu" else None


def least_size(graph: Graph, tensor: Tensor) -> int:
    """The least size that an axis of a tensor may have: 1 or, where it is computed, 0.

    The axes of the main graph's inputs have elements. Runtimes refuse a convolution without window.
    """
    for _ in range(_FAR):
        graph, tensor = graph.home(tensor)
        if tensor.name in graph.inputs:
            return 1 if graph.is_main else 0
        node = graph.producer(tensor)
        if node is None or tensor is not node.outputs[0]:
            return 0
        row = row_of(graph, node)
        if row is not None and row.rounding == "floor":
            return 1
        if not graph.is_standard(node) or node.op not in KEEPING or not node.inputs:
            return 0
        tensor = node.inputs[0]
    return 0


_SLIDING_OPS: Final = frozenset(op for _, op in SLIDING)


def slides(graph: Graph, node: Node) -> bool:
    """Whether a node is an operator of this table, or one that a user declared."""
    return row_of(graph, node) is not None


@noted
def row_of(graph: Graph, node: Node) -> Sliding | None:
    """The row of a node's operator, or what a user declared of it; None where there is neither."""
    row = SLIDING.get(key_of(graph, node)) if node.op in _SLIDING_OPS else None
    if row is None and (own := row_declared(graph, node)) is not None:
        return _declared(own)
    return row


@lru_cache(maxsize=256)
def _declared(row: Row) -> Sliding:
    """The meaning of an operator that a user declared."""
    pools = row.like != "Conv"
    types = _DECLARED_POOLING if pools else _CONVOLVING
    fills: Mapping[str, int | str] = {"zero": ZERO, "lowest": LEAST, "excluded": EXCLUDED}
    return Sliding(
        versions=frozenset(row.versions),
        weight=row.kernel,
        rounding="pool" if pools else "floor",
        own=fills[row.filled],
        zero_point=row.zero_point,
        last=row.channels_last,
        schema=Schema(types, inputs=LONGEST, others=True),
        declaration=row,
    )


def key_of(graph: Graph, node: Node) -> tuple[str, str]:
    """The key of a node in the tables; one that is not there for a function of the model."""
    if graph.is_standard(node):
        return _ONNX, node.op
    return ("a function", "") if graph.is_function(node) else (node.domain or "", node.op)


def is_pad(graph: Graph, node: Node | None) -> bool:
    """Whether a node is a `Pad`."""
    return node is not None and node.op == "Pad" and graph.is_standard(node)


def meaning_of(graph: Graph, analysis: Analysis, node: Node) -> SlideSpec:
    """The meaning of a window operator's node, whose first input is the data.

    Source: the operators' pages in the ONNX specification; of onnxruntime's own operators, in its
    docs/ContribOperators.md.

    Raises:
        MeaninglessError: The node is malformed, or its version is not in the table.
    """
    if not node.inputs or not node.inputs[0].name or not node.outputs:
        raise MeaninglessError(f"node {describe(node)!r} lacks its data input or its output")
    row = row_of(graph, node)
    assert row is not None
    kernel = None if row.weight is None else weight_kernel(graph, analysis, node, row.weight)
    zero = _zero(graph, analysis, node, row)
    notes, key = node.notes, (meaning_of, kernel, zero)
    meaning: SlideSpec | None = notes.get(key)
    if meaning is None:  # networks repeat the same few windows
        if row.declaration is not None and any(output.name for output in node.outputs[1:]):
            raise MeaninglessError(
                f"nothing is declared of the further outputs of {describe(node)!r}"
            )
        check_arity(graph, node, row.schema)
        try:
            meaning = notes[key] = _slide_of(graph, node, row, kernel, zero)
        except MeaninglessError as error:
            raise MeaninglessError(f"node {describe(node)!r}: {error}") from error
    return meaning


def frozen(value: object) -> tuple[type, object]:
    """The value of an attribute with its type, as 1, 1.0 and True are equal in Python."""
    if isinstance(value, list):
        return (type(value[0]) if value else list), tuple(value)
    if isinstance(value, onnx.AttributeProto):
        return onnx.AttributeProto, value.SerializeToString(deterministic=True)
    return type(value), value


def _slide_of(
    graph: Graph, node: Node, row: Sliding, weight: tuple[int | Size, ...] | None, zero: int | str
) -> SlideSpec:
    """How a node slides, by its attributes, the kernel as its weight gives it, and the fill 0."""
    key = key_of(graph, node)
    opset = graph.opset if key[0] == _ONNX else graph.opsets.get(key[0], 0)
    if not opset:
        raise MeaninglessError(f"its domain {key[0]} is not imported")
    attributes = {name: frozen(value)[1] for name, value in node.attrs.items()}
    versions = row.versions or frozenset({opset})
    version = version_of(key[1], opset, attributes, versions, row.schema)
    kernel = weight or whole(attributes, "kernel_shape", None, 1)
    if not kernel:
        raise MeaninglessError("there is no kernel_shape")
    rank = len(kernel)
    strides = whole(attributes, "strides", rank, 1) or (1,) * rank
    dilations = whole(attributes, "dilations", rank, 1) or (1,) * rank
    pads = whole(attributes, "pads", 2 * rank, 0)
    auto_pad = _AUTO_PADS.get(str(attributes.get("auto_pad", "")))
    if auto_pad is None:
        raise MeaninglessError(f"auto_pad={attributes['auto_pad']!r} is not specified")
    pairs = tuple(zip(pads[:rank], pads[rank:], strict=True)) if pads else ((0, 0),) * rank
    if row.declaration is not None and auto_pad == "NOTSET":
        refusal = row.declaration.refuses(pairs, attributes)
        if refusal:
            raise MeaninglessError(refusal)
    counts = is_set(attributes, "count_include_pad")
    last = _has_channels_last(attributes) if row.last is None else row.last
    return SlideSpec(
        kind=".".join(filter(None, key)),
        row=row,
        version=version,
        axes=tuple(map(WindowAxis, kernel, strides, dilations)),
        before=1 if last else 2,
        after=1 if last else 0,
        auto_pad=auto_pad,
        pads=pairs,
        pads_written=pads is not None,
        ceil_mode=is_set(attributes, "ceil_mode"),
        counts=counts,
        own=_own_fill(row, attributes, counts, zero),
        has_indices=len(node.outputs) > 1 and bool(node.outputs[1].name),
        empty=frozenset(name for name, value in attributes.items() if value == ()),
        others={name: value for name, value in attributes.items() if name not in _SLIDING},
    )


def padding_of(graph: Graph, analysis: Analysis, node: Node) -> Padding:
    """The meaning of a `Pad` node.

    Source: the page of Pad in the ONNX specification. onnxruntime runs `wrap` before opset 19 too.

    Raises:
        MeaninglessError: The node is malformed, or its version is not in the table.
    """
    version, mode = _pad_written(graph, node)
    filler, axes, axes_known = "", None, True
    flat: Sequence[Extent] | None
    value: float | int | None
    if version < 11:
        name = "pads" if version > 1 else "paddings"
        written = node.attrs.get(name)
        flat = whole({name: frozen(written)[1]}, name, None, -LONGEST)
        given = node.attrs.get("value", 0.0)
        value = float(given) if isinstance(given, int | float) else None
        if flat is None or value is None:
            raise MeaninglessError(f"node {describe(node)!r} lacks its amounts or its value")
    else:
        amounts, fill, named = map(node.operand, (1, 2, 3))
        if amounts is None:
            raise MeaninglessError(f"node {describe(node)!r} lacks its amounts")
        _check_types(graph, analysis, node, amounts, fill, named)
        flat = analysis.integers(amounts)
        value, filler = (0, "") if fill is None else (_element(graph, analysis, fill), fill.name)
        if named is not None:
            found = analysis.integers(named)
            known = tuple(axis for axis in found or () if isinstance(axis, int))
            axes_known = found is not None and len(known) == len(found)
            axes = known if axes_known else None
    pairs = _pairs(node, flat, axes)
    return Padding(mode, pairs, axes, axes_known, value, filler, node.inputs[0])


@noted
def _pad_written(graph: Graph, node: Node) -> tuple[int, str]:
    """The version and the mode of a `Pad`.

    Raises:
        MeaninglessError: The node is malformed, or its version is not in the table.
    """
    if not node.inputs or not node.inputs[0].name or not node.outputs:
        raise MeaninglessError(f"node {describe(node)!r} lacks its data input or its output")
    version = version_of(node.op, graph.opset, node.attrs, _PAD_VERSIONS)
    check_arity(graph, node)
    mode = str(node.attrs.get("mode", "constant"))
    if mode not in _PAD_MODES:
        raise MeaninglessError(f"mode {mode!r} of Pad is not specified")
    return version, mode


def _check_types(
    graph: Graph,
    analysis: Analysis,
    node: Node,
    amounts: Tensor,
    fill: Tensor | None,
    axes: Tensor | None,
) -> None:
    """Raises if an input of a `Pad` is known to have another type or rank than Pad takes."""
    for tensor, types in ((amounts, _AMOUNTS), (axes, _AXES)):
        if tensor is None:
            continue
        known = graph.declared(tensor)
        dtype = analysis.dtype(tensor) if known is None or not known.dtype else known.dtype
        shape = analysis.shape(tensor) if known is None or known.shape is None else known.shape
        if dtype not in types:
            raise MeaninglessError(f"{tensor.name!r} is of a type that Pad does not take")
        if shape is not None and len(shape) != 1 and shape[:-1] != (1,):
            raise MeaninglessError(f"{tensor.name!r} is no list, as Pad takes it")
    if fill is not None:
        kinds = {analysis.dtype(fill), analysis.dtype(node.inputs[0])} - {None}
        if len(kinds) > 1:
            raise MeaninglessError(f"{fill.name!r} is of another type than the data")


def version_of(
    op: str,
    opset: int,
    attributes: Mapping[str, object],
    versions: frozenset[int],
    schema: Schema | None = None,
) -> int:
    """The version of an operator in an opset, by its schema's `since_version`.

    Args:
        op: The operator.
        opset: The version of its domain.
        attributes: A node's attributes.
        versions: The versions that are known.
        schema: Its schema, if onnx has none of it; the version is then that of the domain.

    Raises:
        MeaninglessError: It is none of `versions`, or its schema lacks one of the attributes.
    """
    version, known = (opset, schema.attributes) if schema else _schema(op, opset)[:2]
    if version not in versions:
        raise MeaninglessError(f"{op} of version {version} is newer than the table of the proof")
    for name, value in attributes.items():
        if name not in known:
            if schema is not None and schema.others:
                continue
            raise MeaninglessError(f"{op} of opset {opset} has no attribute {name}")
        if not _is_of(known[name], value):
            raise MeaninglessError(
                f"attribute {name} of {op} has a value of another type than it takes"
            )
    return version


def check_arity(graph: Graph, node: Node, schema: Schema | None = None) -> None:
    """Checks that an operator has as many inputs as a node, by this schema or else by onnx's.

    Raises:
        MeaninglessError: It has fewer.
    """
    most = schema.inputs if schema is not None else _schema(node.op, graph.opset)[2]
    if len(node.inputs) > most and any(tensor.name for tensor in node.inputs[most:]):
        raise MeaninglessError(f"{node.op} of opset {graph.opset} has {most} inputs at most")


@lru_cache(maxsize=256)
def _schema(op: str, opset: int) -> tuple[int, dict[str, _AttrType], int]:
    """The version of an operator in an opset, its attributes with their types, most inputs."""
    try:
        schema = onnx.defs.get_schema(op, opset, "")
    except onnx.defs.SchemaError as error:
        raise MeaninglessError(f"opset {opset} has no {op}") from error
    types = {name: attribute.type for name, attribute in schema.attributes.items()}
    return schema.since_version, types, schema.max_input


def _is_of(kind: _AttrType, value: object) -> bool:
    """Whether the value of an attribute is of a type; others than these occur nowhere here."""
    if kind in (_AttrType.INTS, _AttrType.FLOATS):
        one = int if kind == _AttrType.INTS else float
        return isinstance(value, list | tuple) and {one}.issuperset(map(type, value))
    return type(value) is {_AttrType.INT: int, _AttrType.FLOAT: float}.get(kind, str)


def _zero(graph: Graph, analysis: Analysis, node: Node, row: Sliding) -> int | str:
    """The fill that stands for 0 in a node's data: a number, or a name where it is unknown.

    The specification wants one zero point for all data.

    Raises:
        MeaninglessError: It is of another type than the data.
    """
    tensor = None if row.zero_point is None else node.operand(row.zero_point)
    if tensor is None:
        return ZERO
    if len({analysis.dtype(tensor), analysis.dtype(node.inputs[0])} - {None}) > 1:
        raise MeaninglessError(f"{tensor.name!r} is of another type than the data")
    shape, value = analysis.shape(tensor), _element(graph, analysis, tensor)
    is_one = shape in ((), (1,))
    return value if is_one and isinstance(value, int) else fill_of_tensor(tensor.name)


def weight_kernel(
    graph: Graph, analysis: Analysis, node: Node, place: int
) -> tuple[int | Size, ...]:
    """The kernel of a node's weight; a symbol for a size that is unknown until run time.

    Raises:
        MeaninglessError: There is no weight, or it contradicts `kernel_shape`.
    """
    weight = node.operand(place)
    if weight is None:
        raise MeaninglessError(f"node {describe(node)!r} has no weight")
    shape, written = analysis.shape(weight), node.attrs.get("kernel_shape")
    if shape is not None:
        sizes = shape[_IN_WEIGHT:]
        if written and (
            len(sizes) != len(written)
            or any(isinstance(a, int) and a != b for a, b in zip(sizes, written, strict=True))
        ):
            raise MeaninglessError(
                f"the kernel_shape of node {describe(node)!r} is not its weight's"
            )
    else:
        sizes = (Unknown("known only at run time"),) * (0 if written else _axes(analysis, node))
    if not written and {int}.issuperset(map(type, sizes)):
        return sizes  # type: ignore[return-value]  # all are numbers
    if written:
        return whole({"kernel_shape": frozen(written)[1]}, "kernel_shape", None, 1) or ()
    return tuple(
        [
            size if isinstance(size, int | Size) else symbol(f"{graph.unique(weight.name)}[{axis}]")
            for axis, size in enumerate(sizes, _IN_WEIGHT)
        ]
    )


def _axes(analysis: Analysis, node: Node) -> int:
    """The number of axes that a node slides over, where its weight's shape is unknown."""
    for name, parts in (("strides", 1), ("dilations", 1), ("pads", 2)):
        if isinstance(node.attrs.get(name), list):
            return len(node.attrs[name]) // parts
    shape = analysis.shape(node.inputs[0])
    if shape is None or len(shape) <= _IN_WEIGHT:
        raise MeaninglessError(f"the number of axes of node {describe(node)!r} is unknown")
    return len(shape) - _IN_WEIGHT  # batch and channels are two axes of the data too


def _own_fill(
    row: Sliding, attributes: Mapping[str, object], counts: bool, zero: int | str
) -> int | str:
    """The fill of an operator's own padding, given the one that stands for 0 in its data.

    An LpPool leaves its padding out. With p above 0 that equals zeros, whose power is 0.

    Raises:
        MeaninglessError: The power of an LpPool is not above 0.
    """
    if row.own == EXCLUDED:
        return zero if counts else EXCLUDED
    power = attributes.get("p", 2)
    if row is SLIDING[_ONNX, "LpPool"] and not (isinstance(power, int | float) and power > 0):
        raise MeaninglessError("an LpPool whose power is not above 0")
    return zero if row.own == ZERO else row.own


def _has_channels_last(attributes: Mapping[str, object]) -> bool:
    """Whether an attribute puts the channels last; only 0 and 1 are specified."""
    value = attributes.get(_CHANNELS_LAST, 0)
    if type(value) is not int or value not in (0, 1):
        raise MeaninglessError(f"{_CHANNELS_LAST} is {value!r}, neither 0 nor 1")
    return value == 1


def _pairs(
    node: Node, flat: Sequence[Extent] | None, axes: tuple[int, ...] | None
) -> Amounts | None:
    """Amounts in ONNX order as (begin, end) pairs."""
    if flat is None:
        return None
    half = len(flat) // 2
    if len(flat) % 2 or (axes is not None and half != len(axes)):
        raise MeaninglessError(f"node {describe(node)!r} has {len(flat)} amounts")
    numbers = [amount for amount in flat if type(amount) is int]
    if numbers and not -LONGEST <= min(numbers) <= max(numbers) <= LONGEST:
        raise MeaninglessError(f"no axis is as long as the amounts of node {describe(node)!r}")
    return tuple(zip(flat[:half], flat[half:], strict=True))


def _element(graph: Graph, analysis: Analysis, tensor: Tensor) -> float | int | None:
    """The one element of a tensor; None where unknown, or unless there is just one."""
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


def whole(
    attributes: Mapping[str, object], name: str, count: int | None, least: int
) -> tuple[int, ...] | None:
    """An attribute of integers; None where it is absent or empty, which means the default.

    Args:
        attributes: The attributes, lists as tuples.
        name: Its name.
        count: How many integers it must have; None for any number.
        least: The least of them that is allowed.

    Raises:
        MeaninglessError: It is not such a list.
    """
    value = attributes.get(name)
    if value is None:
        return None
    if not isinstance(value, tuple) or not {int}.issuperset(map(type, value)):
        raise MeaninglessError(f"{name} is not a list of integers")
    if not value and (count is not None or name != "pads"):
        return None
    if count is not None and len(value) != count:
        raise MeaninglessError(f"{name} has {len(value)} values instead of {count}")
    if value and not least <= min(value) <= max(value) <= LONGEST:
        raise MeaninglessError(f"{name} is out of bounds: {list(value)}")
    return value


def is_set(attributes: Mapping[str, object], name: str) -> bool:
    """Whether an attribute is there and not 0.

    Raises:
        MeaninglessError: It is not an integer.
    """
    value = attributes.get(name, 0)
    if type(value) is not int:
        raise MeaninglessError(f"{name} is not an integer")
    return value != 0
