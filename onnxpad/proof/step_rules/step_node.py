"""A node that padding may commute with, as the rules of `proof.steps` read it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from onnxpad.analysis import Analysis
from onnxpad.arithmetic.size import Extent
from onnxpad.graph import Graph, Node, Tensor
from onnxpad.proof.layers import EITHER_ZERO, Amounts, Layers, fill_of, never_pads
from onnxpad.proof.meaning import (
    MeaninglessError,
    frozen,
)
from onnxpad.proof.step_rules import fill_arithmetic as fills
from onnxpad.proof.step_rules.fill_arithmetic import Number
from onnxpad.records import NamedTuple


class Passed(NamedTuple):
    """The result of a step on padded data.

    Attributes:
        key: The function that the step computes of the data without its padding. Equal keys give
            equal tensors for equal data.
        layers: The padding around that tensor.
        taken: Names of the node's other inputs that the key holds by name.
        crops: Whether the key also holds what layers crop off axes that none of them pads.
        runs: Whether onnxruntime runs it.
        disputed: Whether this is what onnxruntime computes, and the specification leaves it open.
    """

    key: tuple[object, ...]
    layers: Layers
    taken: tuple[str, ...]
    crops: bool = False
    runs: bool = True
    disputed: bool = False


class StepNode(NamedTuple):
    """A node that may be a step, with the padding of what it reads.

    Attributes:
        graph: The graph.
        analysis: Its analysis.
        node: The node.
        version: The version of its operator.
        output: Which of its outputs is asked about.
        data: The inputs that are padded.
        inner: The padding of each of these inputs, which differs in the signs of zeros alone.
    """

    graph: Graph
    analysis: Analysis
    node: Node
    version: int
    output: int
    data: tuple[int, ...]
    inner: tuple[Layers, ...]

    @property
    def layers(self) -> Layers:
        """The padding of the first of these inputs."""
        return self.inner[0] if self.inner else ()

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
        tensor = self.node.operand(place)
        array = None if tensor is None else self.graph.constant(tensor)
        declared = None if tensor is None else self.graph.declared(tensor)
        if array is None or declared is None or declared.dtype != dtype or not array.size:
            raise MeaninglessError(f"input {place} of {self.node.op} is no constant of that type")
        return array

    def moved(self, axes: Callable[[Amounts], Sequence[tuple[Extent, Extent]]]) -> Layers:
        """The layers with their axes in other places."""
        return tuple(layer._replace(amounts=tuple(axes(layer.amounts))) for layer in self.layers)

    def mapped(self, function: Callable[[Number], Number], result: int | None = None) -> Layers:
        """The layers with a function of their fill, and 0 for that of layers that only crop.

        Args:
            function: Of a number of the data's element type.
            result: The element type of its result, where that is another.

        Raises:
            MeaninglessError: The element type holds a fill not exactly, or the function raises it.
        """
        found = []
        to = self.dtype if result is None else result
        for layer in self.layers:
            number: Number = 0
            if not never_pads(layer.amounts):
                each = map(function, _numbers(layer.fill, self.dtype))
                number = fills.one_of(fills.exact_in(number, to) for number in each)
            either = isinstance(number, fills.SignlessZero)
            found.append(layer._replace(fill=EITHER_ZERO if either else fill_of(number)))
        return tuple(found)

    def joined(self) -> Layers:
        """The layers of all padded inputs in one, which differ in the signs of zeros alone."""
        found = []
        for first, *others in zip(*self.inner, strict=True):
            same = all(layer.fill == first.fill for layer in others)
            found.append(first if same else first._replace(fill=EITHER_ZERO))
        return tuple(found)


Rule: TypeAlias = Callable[[StepNode], Passed]


def _numbers(fill: float | int | str, dtype: int) -> tuple[Number, ...]:
    """The numbers that a fill may be."""
    return (0.0, -0.0) if fill == EITHER_ZERO else (fills.number_of(fill, dtype),)


def named(call: StepNode, layers: Layers, *says: object) -> Passed:
    """The part of a step that depends on its attributes and on its other inputs, by name."""
    attributes = sorted((name, *frozen(value)) for name, value in call.node.attrs.items())
    others = tuple(call.others())
    facts = (call.data, tuple(attributes), others, call.output)
    key = call.node.op, call.version, *says, *facts
    return Passed(key, layers, tuple(name for _, name in others))


def widened(layers: Layers, added: int) -> Layers:
    """The layers around data that gets axes in front, as broadcasting adds them."""
    new: Amounts = ((0, 0),) * added
    return tuple(layer._replace(amounts=new + layer.amounts) for layer in layers)


def axis_of(axis: int, rank: int | None) -> int:
    """An axis, counted from the first one where the rank is known.

    Raises:
        MeaninglessError: There is no such axis.
    """
    if rank is None:
        return axis
    if not -rank <= axis < rank:
        raise MeaninglessError(f"there is no axis {axis}")
    return axis % rank


def axes_of(axes: Sequence[int], rank: int | None) -> tuple[int, ...]:
    """Axes, counted from the first one where the rank is known.

    Raises:
        MeaninglessError: There is no such axis, or one is named twice.
    """
    found = tuple(axis_of(axis, rank) for axis in axes)
    if len(set(found)) < len(found):
        raise MeaninglessError("an axis is named twice")
    return found


def numbers_of(call: StepNode, place: int) -> tuple[int, ...]:
    """The integers of a small constant input.

    Raises:
        MeaninglessError: They are unknown.
    """
    tensor = call.node.operand(place)
    found = None if tensor is None else call.analysis.integers(tensor)
    numbers = tuple(number for number in found or () if isinstance(number, int))
    if found is None or len(numbers) < len(found):
        raise MeaninglessError(f"the numbers of input {place} are unknown")
    return numbers
