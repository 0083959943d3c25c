"""What a row says of an operator, and how it reads a node.

A row is all that is known of one operator. It lists every attribute that its schema has in the
versions that it was compared with; a node of another version, with another attribute, or with a
value of another type has no row.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import onnx
from msgspec import Struct
from onnx import TensorProto

from onnxpad import declared
from onnxpad.arithmetic.size import Extent
from onnxpad.errors import ModelError
from onnxpad.graph import Declared, Graph, Node, Tensor
from onnxpad.graph.model import schema_of
from onnxpad.reasons import Reason, RefusalError
from onnxpad.semantics.layers import Layers

FORMATS: Mapping[int, tuple[int, int, int]] = {
    TensorProto.FLOAT: (24, -126, 127),
    TensorProto.DOUBLE: (53, -1022, 1023),
    TensorProto.FLOAT16: (11, -14, 15),
    TensorProto.BFLOAT16: (8, -126, 127),
}
"""Bits of the significand, least and greatest exponent of a normal number."""
_KINDS = "INT8 INT16 INT32 INT64 UINT8 UINT16 UINT32 UINT64"
INTEGERS: Mapping[int, tuple[int, int]] = {
    TensorProto.DataType.Value(kind): (int(held.min), int(held.max))
    for kind, held in [(kind, np.iinfo(kind.lower())) for kind in _KINDS.split()]
}
"""The least and the greatest number of each integer type."""
FLOATS = frozenset(FORMATS)
"""The floating-point types that are known here."""
ZERO = 0
"""The fill of an operator that pads with 0."""
_APART = {"activation", "activation_params", "group", "p", "storage_order"}
"""Attributes that say nothing of where windows and padding are."""
NOTHING = ("Identity",)
"""The key of a step whose result is its data."""


class UnreadError(RefusalError):
    """A row has no meaning for a node, so nothing can be proved through it; the text says why."""

    def __init__(self, text: str, code: Reason = Reason.STEPS_BETWEEN, /, **facts: object) -> None:
        """Takes another code where the type, the padded axes or the fill decided."""
        super().__init__(code, text, **facts)


class MalformedError(UnreadError):
    """A node says what the specification forbids."""


class Known(Protocol):
    """What is known of the tensors of a graph; None is for what is not."""

    def shape(self, tensor: Tensor) -> tuple[Extent, ...] | None:
        """The sizes of a tensor's axes."""

    def given_shape(self, tensor: Tensor) -> tuple[Extent, ...] | None:
        """The sizes that its node as it is now gives a tensor: an edit may have changed these."""

    def dtype(self, tensor: Tensor) -> int | None:
        """A tensor's element type."""

    def integers(self, tensor: Tensor) -> tuple[Extent, ...] | None:
        """The content of a small tensor of integers."""

    def scalar(self, tensor: Tensor) -> float | int | None:
        """The one element of a tensor that has just one."""


INTS = (int,)
"""The type of an attribute of integers; a default gives its own type."""


class Passed(Struct, frozen=True):
    """What a step makes of padded data: the step of the data alone, and layers around its result.

    With an equal `key`, it does the same to data without the layers and to the operands at the
    places of `others`. `runs` says whether onnxruntime runs it, where that is known; `disputed`,
    that it computes this, and the specification leaves it open.
    """

    key: tuple[object, ...]
    layers: Layers
    others: tuple[int, ...] = ()
    runs: bool = True
    disputed: bool = False


Step: TypeAlias = "Callable[[Call, Sequence[Layers]], Passed]"
"""What a node makes of padded data, given the layers around each of its data inputs.

It raises UnreadError where the padding does not commute with the node. Without layers it says what
the node does, as its key.
"""


class Window(Struct, frozen=True):
    """How the window of an operator slides over axes of its first input.

    Attributes:
        weight: The input whose axes from the third on are the kernel.
        rounding: How windows are counted: `floor`, or `pool` (which has `ceil_mode`).
        own: The fill of its own padding: `ZERO`, `LEAST`, or `EXCLUDED`, which `count_include_pad`
            turns into `ZERO`.
        zero_point: The input with the value that stands for `ZERO` in the data; None for 0.
        last: Whether the channels are the last axis; None where `channels_last` says that.
        declaration: What a user declared of it, which is all that is known; None for others.
        rounds_apart: Whether onnxruntime rounds otherwise where the kernel is as large as the data
            on all axes and nothing is padded: it then runs the operator's global kin, which rounds
            before it adds the zero point (onnxruntime, qlinear_pool.cc and qlgavgpool.cpp).
    """

    weight: int | None
    rounding: Literal["floor", "pool"]
    own: int | str
    zero_point: int | None = None
    bias: int | None = None
    last: bool | None = False
    declaration: declared.Row | None = None
    rounds_apart: bool = False

    @property
    def loses_signs(self) -> bool:
        """Whether it pads with zeros, whose sign cannot be told from what it computes."""
        return self.own == ZERO and self.declaration is None


class Row(Struct, frozen=True):
    """All that is known of one operator.

    Attributes:
        versions: The versions with this meaning, by the schema's `since_version`; without a schema,
            by its domain's version. None for a user's operator of which any version is declared.
        attributes: Each attribute of these versions: its default, or its type where it has none.
        inputs: The most inputs that it has; None for any number.
        step: What it makes of a padding; None where it is no step.
        data: The inputs whose padding a step hands on: `first`, `all`, or `operand` for the one
            that is no constant.
        transposed: The inputs that hold the weight and the bias of an operator that spreads its
            elements over windows; None for others.
        others: Whether it may have other attributes, of which nothing is known: a user's may.
    """

    op: str
    versions: frozenset[int]
    attributes: Mapping[str, Any]
    inputs: int | None = 1
    domain: str = ""
    step: Step | None = None
    data: str = "first"
    window: Window | None = None
    transposed: tuple[int, int] | None = None
    others: bool = False


class Call:
    """One node as its row reads it: what is written, and the facts of its operands by place."""

    __slots__ = ("_facts", "_graph", "node", "operand", "output", "row", "version")

    def __init__(self, graph: Graph, facts: Known, node: Node, row: Row, output: int = 0):
        """Reads a node of a graph."""
        self.node = node
        self.row = row
        self.output = output
        self.operand = node.operand
        self._graph = graph
        self._facts = facts
        version: int | None = node.notes.get(checked_version)
        if version is None:
            version = node.notes[checked_version] = checked_version(graph, node, row)
        self.version = version

    def attribute(self, name: str) -> Any:
        """The value of an attribute, its default where it is absent; None where it has neither."""
        found = self.node.attrs.get(name)
        if found is not None:
            return found
        default = self.row.attributes[name]
        return None if _is_type(default) else default

    def written(self, but: Collection[str] = ()) -> tuple[tuple[str, str, object], ...]:
        """The attributes that are written, each with its name, type and value; but for some."""
        attrs = self.node.attrs.items()
        return tuple(sorted((name, *frozen(value)) for name, value in attrs if name not in but))

    def data_places(self) -> tuple[int, ...]:
        """The inputs whose padding a step hands on."""
        places = places_of(self._graph, self.node, self.row)
        if not places:
            raise UnreadError(f"{self.node.op} is no step, or not just one operand varies")
        return places

    def shape(self, place: int = 0) -> tuple[Extent, ...] | None:
        """The shape of an input; None where even the rank is unknown."""
        return self._facts.shape(self.node.inputs[place])

    def rank(self, place: int = 0) -> int | None:
        """The number of axes of an input; None where unknown."""
        shape = self.shape(place)
        return None if shape is None else len(shape)

    def result_shape(self) -> tuple[Extent, ...] | None:
        """The shape of the output; None where even the rank is unknown."""
        return self._facts.shape(self.node.outputs[self.output])

    def given_shape(self) -> tuple[Extent, ...] | None:
        """As `result_shape`, by what is written now: a proof must not take that for granted."""
        return self._facts.given_shape(self.node.outputs[self.output])

    def dtype(self, place: int = 0) -> int | None:
        """The element type of an input, as `TensorProto.DataType`; None where unknown."""
        tensor = self.operand(place)
        return None if tensor is None else self._facts.dtype(tensor)

    def element_type(self, place: int = 0) -> int:
        """As `dtype`, where it is known."""
        found = self.dtype(place)
        if found is None:
            name = self.node.inputs[place].name
            raise UnreadError("the element type is unknown", Reason.TYPE_UNKNOWN, tensor=name)
        return found

    def axes(self, since: int = 13) -> tuple[int, ...] | None:
        """The axes that a node names, before a version in an attribute; None if it names none."""
        if self.version < since:
            written = self.attribute("axes")
            return None if written is None else tuple(written)
        return None if self.operand(1) is None else self.numbers(1)

    def integers(self, place: int) -> tuple[Extent, ...] | None:
        """The contents of an input that is a short list of integers; None where unknown."""
        return self._facts.integers(self.node.inputs[place])

    def numbers(self, place: int) -> tuple[int, ...]:
        """As `integers`, if all are numbers."""
        found = self.integers(place)
        if found is None or not {int}.issuperset(map(type, found)):
            raise UnreadError(f"the numbers of input {place} are unknown")
        return found  # type: ignore[return-value]  # all are numbers

    def constant(self, place: int) -> np.ndarray[Any, Any] | None:
        """The elements of an input that is constant; None where it is computed."""
        try:
            return self._graph.constant(self.node.inputs[place])
        except ModelError as error:
            raise UnreadError(str(error)) from error

    def element(self, place: int) -> float | int | None:
        """The one element of an input; None where unknown, or unless there is just one number."""
        array = self.constant(place)
        if array is None:
            return self._facts.scalar(self.node.inputs[place])
        if array.size != 1 or array.dtype.kind not in "fiubV":
            return None
        found = array.reshape(-1)[0]
        return float(found) if array.dtype.kind in "fV" else int(found)

    def declared(self, place: int) -> Declared | None:
        """Type and shape of an input that is constant, or declared; None for others."""
        tensor = self.operand(place)
        return None if tensor is None else self._graph.declared(tensor)

    def constant_dtype(self, place: int) -> int | None:
        """The declared element type of a constant input; None where there is none."""
        found = self.declared(place)
        return None if found is None else found.dtype

    def unique(self, tensor: Tensor) -> str:
        """The name of a tensor that no other tensor of the model has."""
        return self._graph.unique(tensor.name)


def places_of(graph: Graph, node: Node, row: Row) -> tuple[int, ...]:
    """The inputs of a node whose padding it may hand on; none where it is no step."""
    inputs = node.inputs
    if row.step is None or not node.outputs:
        return ()
    places: Sequence[int] = (0,)
    if row.data == "all":
        places = range(len(inputs))
    elif row.data == "operand":
        places = [place for place, each in enumerate(inputs) if graph.constant(each) is None]
        if len(places) != 1:
            return ()
    return tuple(places) if all(map(node.operand, places)) else ()


def named(call: Call, layers: Layers, *says: object) -> Passed:
    """A step that its attributes and its other operands define."""
    data, inputs = call.data_places(), enumerate(call.node.inputs)
    others = tuple([place for place, each in inputs if each.name and place not in data])
    key = call.row.op, call.version, *says, data, others, call.written(), call.output
    return Passed(key, layers, others)


def frozen(value: object) -> tuple[str, object]:
    """The value of an attribute with its type, as 1, 1.0 and True are equal in Python."""
    if isinstance(value, list):
        return f"list of {type(value[0]).__name__ if value else ''}", tuple(map(_exact, value))
    if isinstance(value, onnx.AttributeProto):
        return "proto", value.SerializeToString(deterministic=True)
    return type(value).__name__, _exact(value)


def checked_version(graph: Graph, node: Node, row: Row) -> int:
    """The version of a node's operator, which its row must know, with all that is written."""
    if not node.inputs or not node.inputs[0].name or not node.outputs:
        raise MalformedError("it has no data input or no output: the model is damaged")
    version, _, _, known, _ = schema_of(node.op, graph.opset)
    if row.domain:
        version, known = graph.opsets.get(row.domain, 0), row.attributes
    if not version or (row.versions and version not in row.versions):
        raise UnreadError(f"{node.op} of version {version} is not in the table")
    for name, value in node.attrs.items():
        if name not in known:
            if row.others:
                continue
            raise UnreadError(f"{node.op} of version {version} has no attribute {name}")
        if not _is_of(row.attributes[name], value):
            kind = UnreadError if name in _APART else MalformedError
            raise kind(f"attribute {name} of {node.op} has a value of another type")
    if row.inputs is not None and any(tensor.name for tensor in node.inputs[row.inputs :]):
        raise UnreadError(f"{node.op} has {row.inputs} inputs at most")
    return version


def axis_of(axis: int, rank: int | None) -> int:
    """An axis, counted from the first one where the rank is known."""
    if rank is None:
        return axis
    if not -rank <= axis < rank:
        raise UnreadError(f"there is no axis {axis}")
    return axis % rank


def axes_of(axes: Sequence[int], rank: int | None) -> tuple[int, ...]:
    """Axes, counted from the first one where the rank is known."""
    found = tuple([axis_of(axis, rank) for axis in axes])
    if len(set(found)) < len(found):
        raise UnreadError("an axis is named twice")
    return found


def lowest(dtype: int) -> float | int | None:
    """The value that loses every comparison in an element type; None where there is none."""
    return float("-inf") if dtype in FLOATS else INTEGERS.get(dtype, (None,))[0]


def since(row: Row, attribute: str) -> int:
    """The first version of an operator with an attribute; 0 for those of other domains."""
    known = () if row.domain else sorted(row.versions)
    return next((each for each in known if attribute in schema_of(row.op, each)[3]), 0)


def _is_type(default: object) -> bool:
    return isinstance(default, type) or default in (INTS, (float,))


def _is_of(default: object, value: object) -> bool:
    """Whether a value has the type of an attribute that has this default or type."""
    kind: object = (type(default[0]),) if isinstance(default, list | tuple) else type(default)
    if _is_type(default):
        kind = default
    if isinstance(kind, tuple):
        return isinstance(value, list) and set(kind).issuperset(map(type, value))
    return type(value) is kind


def _exact(value: object) -> object:
    """A value that equals only itself: 0.0 and -0.0 differ."""
    return value.hex() if isinstance(value, float) else value
