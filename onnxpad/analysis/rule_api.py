"""The interface between the analysis and its rules, one rule for each operator.

A rule is a generator. With `yield from` it asks for shapes and contents of the node's inputs, and
it returns the shape or content of the output. It never calls another rule, so a deep graph needs no
deep Python stack. Where a rule cannot tell, it raises `UndeterminedError`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Generator
from typing import Any, Final, TypeAlias, TypeVar

import onnx
from msgspec import Struct

from onnxpad.analysis.value import INTEGERS, Elements, Shape, Value, filled
from onnxpad.arithmetic.size import Extent, Unknown
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.graph.nodes import noted

LIMIT = 64
"""Most elements of a tensor that is computed."""

CONSTANT_LIMIT = 4096
"""Most elements of a constant that is read."""

Bound: TypeAlias = float | int
"""A number that no element of a tensor is below."""

NONE: Final = -math.inf
"""The bound of a tensor about which nothing is known."""

T = TypeVar("T")
Rule = TypeVar("Rule")


class Kind(enum.IntEnum):
    """A kind of question about a tensor; a number, so that look-ups are fast."""

    DTYPE = 0
    SHAPE = 1
    VALUE = 2


Request: TypeAlias = tuple[Kind | tuple[Any, Kind], Any]
"""A kind of question, of another analysis if that stands with it, and a tensor."""

Ask: TypeAlias = Generator[Request, Any, T]
"""A computation that yields requests and returns a T."""


class UndeterminedError(Exception):
    """A rule cannot tell; never leaves `onnxpad.analysis`.

    Attributes:
        is_disputed: Whether that is because runtimes compute different things.
    """

    def __init__(self, message: str = "", *, is_disputed: bool = False) -> None:
        """Keeps what is to be said beside the message."""
        super().__init__(message)
        self.is_disputed = is_disputed


class Call(Struct):
    """One node, asked about one of its outputs.

    Attributes:
        node: The node.
        op: The operator, with its domain where it is not one of ONNX's own.
        opset: Version of the standard operators.
        output: Which output is asked about.
        dtype: The output's type; for value rules only.
        shape: The output's shape, all known; for value rules only.
    """

    node: Node
    op: str
    opset: int
    output: int
    dtype: int = 0
    shape: tuple[int, ...] = ()

    def has(self, index: int) -> bool:
        """Whether an input is present."""
        return self.node.operand(index) is not None

    def _input(self, index: int) -> Tensor:
        tensor = self.node.operand(index)
        if tensor is None:
            raise UndeterminedError(f"{self.op} lacks input {index}")
        return tensor

    def dtype_of(self, index: int) -> Ask[int]:
        """Return the element type of an input."""
        dtype: int | None = yield Kind.DTYPE, self._input(index)
        if dtype is None:
            raise UndeterminedError(f"{self.op}: the type of input {index} is unknown")
        return dtype

    def shape_of(self, index: int) -> Ask[Shape]:
        """Return the shape of an input whose rank is known."""
        shape: Shape | None = yield Kind.SHAPE, self._input(index)
        if shape is None:
            raise UndeterminedError(f"{self.op}: the rank of input {index} is unknown")
        return shape

    def ranked_shape_of(self, index: int, rank: int) -> Ask[Shape]:
        """Return the shape of an input, which must have this rank."""
        shape = yield from self.shape_of(index)
        if len(shape) != rank:
            raise UndeterminedError(f"{self.op}: input {index} has rank {len(shape)}")
        return shape

    def shapes(self) -> Ask[list[Shape]]:
        """Return the shapes of all inputs, whose ranks are known."""
        shapes = []
        for index in range(len(self.node.inputs)):
            shape = yield from self.shape_of(index)
            shapes.append(shape)
        return shapes

    def operands(self, dtype: int, count: int | None = None) -> Ask[list[Elements]]:
        """Return the contents of all inputs, which must have this type and number."""
        if count is not None and len(self.node.inputs) != count:
            raise UndeterminedError(f"{self.op} with {len(self.node.inputs)} inputs")
        operands = []
        for index in range(len(self.node.inputs)):
            operand = yield from self.operand(index, dtype)
            operands.append(operand)
        return operands

    def operand(self, index: int, dtype: int) -> Ask[Elements]:
        """Return the content of a small input, which must have this type."""
        value = yield from self.value_of(index)
        if value.dtype != dtype:
            raise UndeterminedError(f"{self.op}: input {index} is of another type")
        return value.data

    def value_of(self, index: int) -> Ask[Value]:
        """Return the content of a small input, with unknown elements where it is not evaluated."""
        tensor = self._input(index)
        value: Value | None = yield Kind.VALUE, tensor
        if value is not None:
            return value
        shape = known(tuple((yield from self.shape_of(index))))
        if math.prod(shape) > CONSTANT_LIMIT:
            raise UndeterminedError(f"{self.op}: input {index} is large")
        unknown = Unknown(f"`{tensor.name}` is not evaluated")
        return Value((yield from self.dtype_of(index)), filled(unknown, shape))

    def integers_of(self, index: int) -> Ask[tuple[Extent, ...]]:
        """Return the content of a small input of integers, flat."""
        value = yield from self.value_of(index)
        if value.dtype not in INTEGERS:
            raise UndeterminedError(f"{self.op}: input {index} is not of integers")
        return value.flat

    def known_integers_of(self, index: int) -> Ask[tuple[int, ...]]:
        """Return the content of a small input of integers, flat; all must be known."""
        return known((yield from self.integers_of(index)))

    def integer_of(self, index: int) -> Ask[Extent]:
        """Return the one element of an input of integers."""
        integers = yield from self.integers_of(index)
        if len(integers) != 1:
            raise UndeterminedError(f"{self.op}: input {index} is no single number")
        return integers[0]

    def axes(self, rank: int, since: int, default: tuple[int, ...]) -> Ask[tuple[int, ...]]:
        """Return `axes`, counted from 0: an attribute before opset `since`, then input 1."""
        if self.opset >= since:
            axes = (yield from self.known_integers_of(1)) if self.has(1) else default
        else:
            axes = self.integers("axes", default)
        return tuple(axis_in(axis, rank) for axis in axes)

    def integer(self, name: str, default: int) -> int:
        """Return an integer attribute."""
        return int(self._attribute(name, int, default))

    def flag(self, name: str, *, default: bool = False) -> bool:
        """Return an attribute that must be 0 or 1: runtimes differ on other numbers."""
        number = self.integer(name, int(default))
        if number not in (0, 1):
            raise UndeterminedError(f"{self.op}: {name} is {number}")
        return bool(number)

    def integers(self, name: str, default: tuple[int, ...]) -> tuple[int, ...]:
        """Return an attribute of integers."""
        return self.optional_integers(name) or default

    def optional_integers(self, name: str) -> tuple[int, ...] | None:
        """Return an attribute of integers; None where it is left out."""
        items = self._attribute(name, list | tuple, None)
        return None if items is None else known(tuple(items))

    def reals(self, name: str) -> tuple[float, ...]:
        """Return an attribute of floats; empty where it is left out."""
        return tuple(float(item) for item in self._attribute(name, list | tuple, ()))

    def real(self, name: str, default: float) -> float:
        """Return a float attribute."""
        return float(self._attribute(name, float | int, default))

    def string(self, name: str, default: str) -> str:
        """Return a string attribute."""
        text = self._attribute(name, str | bytes, default)
        return text.decode(errors="replace") if isinstance(text, bytes) else str(text)

    def has_attribute(self, name: str) -> bool:
        """Whether an attribute is there."""
        return name in self.node.attrs

    def tensor(self, name: str) -> onnx.TensorProto | None:
        """Return a tensor attribute; None where it is left out."""
        attribute = self._attribute(name, onnx.AttributeProto, None)
        if attribute is not None and not attribute.HasField("t"):
            raise UndeterminedError(f"{self.op}: attribute `{name}` is no tensor")
        return None if attribute is None else attribute.t

    def _attribute(self, name: str, kind: Any, default: Any) -> Any:
        """Return an attribute, which must be of a kind; a function's reference is not."""
        attribute = self.node.attrs.get(name, default)
        if attribute is not default and not isinstance(attribute, kind):
            raise UndeterminedError(f"{self.op}: attribute `{name}` is not of its type")
        return attribute


def known(extents: tuple[Any, ...]) -> tuple[int, ...]:
    """Return the extents, all of which are plain integers.

    Raises:
        UndeterminedError: One of them is unknown or varies.
    """
    for extent in extents:
        if not isinstance(extent, int):
            raise UndeterminedError("a number that must be known is unknown")
    return extents


def axis_in(axis: int, rank: int) -> int:
    """Return an axis counted from the first one.

    Raises:
        UndeterminedError: There is no such axis.
    """
    if not -rank <= axis < rank:
        raise UndeterminedError(f"axis {axis} of a tensor of rank {rank}")
    return axis % rank


ShapeRule: TypeAlias = Callable[[Call], Ask[Shape]]
ValueRule: TypeAlias = Callable[[Call], Ask[Elements]]
DtypeRule: TypeAlias = Callable[[Call], Ask[int]]


def named(rule: Rule, names: str, domain: str = "") -> dict[str, Rule]:
    """Return a table with one rule for all the operators of a domain that a string names."""
    return dict.fromkeys([f"{domain}.{name}" if domain else name for name in names.split()], rule)


@noted
def rule_name(graph: Graph, node: Node) -> str:
    """The name of a node's operator in tables of rules; empty for a function of the model.

    Operators that are not ONNX's own have their domain before it.
    """
    if graph.is_function(node):
        return ""
    return node.op if graph.is_standard(node) else f"{node.domain}.{node.op}"
