"""What the rules of operators build on.

A rule answers a question about a node's output, given a `Call`: it asks for types, shapes and
contents of the node's inputs. Where one of these is not known yet, the rule is left by
`NeededError`, and run again once it is. So a rule never causes another one to run inside it, and
a deep graph needs no deep Python stack. Where a rule cannot tell, it raises `UnreadError`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from onnx import TensorProto

from onnxpad.arithmetic.size import Extent, Unknown, bounds
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.graph.nodes import noted
from onnxpad.semantics import rows
from onnxpad.semantics.rows import FLOATS, INTEGERS, UnreadError, axis_of

Shape: TypeAlias = tuple[Extent, ...]
Elements: TypeAlias = npt.NDArray[np.object_]

BOOL = int(TensorProto.BOOL)
INT32 = int(TensorProto.INT32)
INT64 = int(TensorProto.INT64)
UINT8 = int(TensorProto.UINT8)
FLOAT = int(TensorProto.FLOAT)

REALS = FLOATS - {TensorProto.BFLOAT16}
"""The floating-point types that are evaluated."""


class Value(Struct, frozen=True, dict=True):
    """The content of a tensor, element by element.

    Attributes:
        dtype: Element type, a number of ONNX's `TensorProto.DataType`.
        data: Object array of the tensor's shape. Integers are `Extent`s; truth values are
            `Extent`s that are 0 or 1; floats are `Real`s: Python floats that the type holds
            exactly, or one of the classes of `facts.contents` for a float that varies.
    """

    dtype: int
    data: Elements

    @cached_property
    def flat(self) -> tuple[Any, ...]:
        """Its elements in order."""
        return tuple(self.data.reshape(-1).tolist())


def is_constant(value: Value | None) -> bool:
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
    if dtype in REALS:
        return array.astype(np.float64).astype(object)
    return None


def fit(number: Extent, dtype: int) -> Extent:
    """Return the integer where its type holds it; one that overflows is unknown."""
    least, greatest = INTEGERS[dtype]
    low, high = bounds(number)
    if low is None or high is None or (least <= low and high <= greatest):
        return number
    return Unknown(f"{low} to {high} overflows the type")


LIMIT = 64
"""Most elements of a tensor that is computed."""

CONSTANT_LIMIT = 4096
"""Most elements of a constant that is read."""

Bound: TypeAlias = float | int
"""A number that no element of a tensor is below."""

NONE: Final = -math.inf
"""The bound of a tensor about which nothing is known."""

Rule = TypeVar("Rule")
_Kind = TypeVar("_Kind", int, float, str, tuple[int, ...])

DTYPE, SHAPE, VALUE, BOUND = KINDS = range(4)
"""The kinds of questions about a tensor."""


class PassedFacts(Struct, frozen=True):
    """Facts about an input or a result of a body or function.

    Attributes:
        dtype: Its element type; None where unknown.
        shape: The sizes of its axes; None where its rank is unknown.
        value: Its content where that is small and known; of inputs of functions only.
    """

    dtype: int | None = None
    shape: Shape | None = None
    value: Value | None = None


NOTHING: Final = PassedFacts()


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


ShapeRule: TypeAlias = Callable[[Call], Shape]
ValueRule: TypeAlias = Callable[[Call], Elements]
DtypeRule: TypeAlias = Callable[[Call], int]


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
