"""Shape inference and constant folding on demand, with symbolic sizes.

Every answer follows from graph inputs, initializers and operators alone: declared shapes of
tensors in between are never read. Answers hold for the sizes at which every operator upstream runs:
where an operator runs only if two sizes are equal, either stands for both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from msgspec import Struct
from onnx.helper import get_all_tensor_dtypes

from onnxpad.analysis.bodies_and_calls import NOTHING, PassedFacts, computed_by
from onnxpad.analysis.rule_api import (
    CONSTANT_LIMIT,
    LIMIT,
    Ask,
    Call,
    Kind,
    ShapeRule,
    UndeterminedError,
    ValueRule,
    known,
    rule_name,
)
from onnxpad.analysis.rules.dtypes import DTYPES, first_input_dtype
from onnxpad.analysis.rules.pools_and_convs import WINDOWS, of_row
from onnxpad.analysis.rules.shape_table import SHAPES
from onnxpad.analysis.value import INT64, INTEGERS, Shape, Value, constant_elements, is_constant
from onnxpad.arithmetic.size import Extent, Sizes, Unknown, symbol
from onnxpad.errors import ModelError
from onnxpad.graph import Graph, Node
from onnxpad.graph.graph import row_declared
from onnxpad.semantics.operators import laid_out
from onnxpad.semantics.window import declared_row

if TYPE_CHECKING:
    from onnxpad.declared import Row

LARGEST_SIZE = 2**24 - 2**16
"""The greatest size of an open axis, unless `dims` says otherwise.

Exporters compute pads in float32, which holds every integer up to 2^24, and in int32. The
difference of 2^16 leaves room for what a receptive field adds to a size.
"""

OPEN_SIZES = Sizes(last=LARGEST_SIZE)
"""The sizes of an open axis, unless `dims` says otherwise."""

_LARGEST = INTEGERS[INT64][1]

_DTYPES = frozenset(get_all_tensor_dtypes())
"""The element types that the installed onnx knows."""

_SHAPE_RULES = SHAPES | WINDOWS


_Declared: TypeAlias = tuple[int, tuple[int | str | None, ...] | None]


class OpenAxis(Struct, frozen=True):
    """An axis of a graph input whose size the graph leaves open.

    Attributes:
        tensor: The input.
        axis: Which axis of it.
        label: The name of its dimension; `input[axis]` for an unnamed one.
        symbol: The name of its symbol: the label, made unique where several axes share it.
    """

    tensor: str
    axis: int
    label: str
    symbol: str


Memory: TypeAlias = dict[Any, Any]
_Frame: TypeAlias = tuple["Analysis", Memory, Any, Ask[Any]]
"""An analysis that works out an answer: where to keep it, what it is about, and the rule."""


class Analysis:
    """Shapes, element types and small contents of one graph's tensors: computed lazily, cached.

    Attributes:
        outer: For a body, the analysis of the graph around it; else None.
        declared: What users declared of operators whose shapes were asked for.
    """

    def __init__(
        self,
        graph: Graph,
        dims: Mapping[str, Extent] | None = None,
        outer: Analysis | None = None,
        input_facts: Mapping[str, PassedFacts] = MappingProxyType({}),
    ) -> None:
        """Analyse a graph.

        Args:
            graph: The graph. Edits must not change the shape or content of a tensor in it.
            dims: Sizes of axes of the graph's inputs, by the name of their symbol. A number may
                also stand under the name of a dimension, for all axes that have it.
            outer: For a body of If, Loop or Scan: the analysis of the graph around it, whose
                tensors the body may read. Where that is rolled back or asked again, so must this.
            input_facts: For a body or a function: what is known of its inputs, by name.
        """
        self._graph = graph
        self._dims = dict(dims or {})
        self.outer = outer
        self.declared: set[Row] = set() if outer is None else outer.declared
        self._input_facts = input_facts
        self._inside: dict[int, list[PassedFacts]] = {}
        self._known: list[dict[Any, Any]] = [{} for _ in Kind]
        self._open: list[tuple[dict[Any, Any], Any]] = []
        self._places: dict[Any, dict[Any, int]] = {}
        self._input_shapes: dict[str, Shape | None] | None = None

    def shape(self, tensor: Any) -> Shape | None:
        """Return the sizes of a tensor's axes; None where its rank is unknown.

        A named dimension of an input is a symbol of that name, an unnamed one `input[axis]`. Where
        several axes have one name, each is a symbol of its own; the later ones are called
        `name (input[axis])`.
        """
        known = self._known[Kind.SHAPE]
        # A short way for the most frequent question.
        is_known = tensor in known
        shape: Shape | None = known[tensor] if is_known else self._answer(Kind.SHAPE, tensor)
        return shape

    def value(self, tensor: Any) -> Value | None:
        """Return the content of a small tensor; None where it is not evaluated at all."""
        value: Value | None = self._answer(Kind.VALUE, tensor)
        return value

    def integers(self, tensor: Any) -> tuple[Extent, ...] | None:
        """Return the content of a small tensor, flat; None where unknown or not of integers."""
        value = self.value(tensor)
        if value is None or value.dtype not in INTEGERS:
            return None
        return value.flat

    def scalar(self, tensor: Any) -> float | int | None:
        """Return the one element of a tensor; None where unknown, or unless there is just one."""
        value = self.value(tensor)
        if value is None or value.data.size != 1:
            return None
        element = value.data.reshape(-1)[0]
        if isinstance(element, np.generic):
            element = element.item()
        return element if isinstance(element, int | float) else None

    def dtype(self, tensor: Any) -> int | None:
        """Return a tensor's element type, a number of ONNX's `TensorProto.DataType`."""
        dtype: int | None = self._answer(Kind.DTYPE, tensor)
        return dtype

    def mark(self) -> tuple[int, ...]:
        """Return a point to roll back to: the number of answers of each kind."""
        return tuple(map(len, self._known))

    def rollback(self, mark: tuple[int, ...]) -> None:
        """Forget the answers given since a mark: after edits are undone they may be wrong."""
        for memory, count in zip(self._known, mark, strict=True):
            while len(memory) > count:
                memory.popitem()
        self._places.clear()
        self._inside.clear()

    def ask_again(self) -> bool:
        """Forget unknown answers, which edits may have made known; return whether any was."""
        forgotten = bool(self._open)
        for memory, tensor in self._open:
            memory.pop(tensor, None)
        self._open.clear()
        if forgotten:
            self._inside.clear()
        return forgotten

    def of_body(self, body: Graph, input_facts: Mapping[str, PassedFacts]) -> Analysis:
        """Return a new analysis of a body in the graph."""
        return Analysis(body, outer=self, input_facts=input_facts)

    def of_function(self, function: Graph, input_facts: Mapping[str, PassedFacts]) -> Analysis:
        """Return a new analysis of a function of the model."""
        return Analysis(function, input_facts=input_facts)

    def _answer(self, kind: Kind, tensor: Any) -> Any:
        """Answer a request and all that it depends on."""
        memory = self._known[kind]
        if tensor in memory:
            return memory[tensor]
        is_source = tensor.producer is None and tensor.outer is None
        if kind is Kind.VALUE and is_source and not self._is_input(tensor):
            found = memory[tensor] = self._constant_value(tensor)  # a short way for pads
            return found
        return self.answered(self._start(kind, tensor), memory, tensor)

    def answered(self, rule: Ask[Any], memory: Memory | None = None, subject: Any = None) -> Any:
        """Answer all that a rule asks for, with an explicit stack, and return what it returns.

        Args:
            rule: The rule. It may ask this analysis, or others by a pair of one and a kind.
            memory: Where to keep the answer, under `subject`.
            subject: The tensor that is asked about.
        """
        here, memory = self, {} if memory is None else memory
        waiting: list[_Frame] = []
        answer: Any = None
        failure: ModelError | None = None
        while True:
            try:
                wanted, needed = rule.send(answer) if failure is None else rule.throw(failure)
            except (StopIteration, UndeterminedError) as end:
                answer, failure = end.value if isinstance(end, StopIteration) else None, None
                memory[subject] = answer
                if _is_open(answer):
                    here._open.append((memory, subject))
            except ModelError as error:  # whoever looks into bodies and functions may go on
                answer, failure = None, error
            else:
                there, wanted = wanted if isinstance(wanted, tuple) else (here, wanted)
                known = there._known[wanted]
                answer, failure = known.get(needed), None
                if answer is None and needed not in known:
                    waiting.append((here, memory, subject, rule))
                    here, memory, subject = there, known, needed
                    rule = there._start(wanted, needed)
                continue
            if not waiting:
                break
            here, memory, subject, rule = waiting.pop()
        if failure is not None:
            raise failure
        return answer

    def _start(self, kind: Kind, tensor: Any) -> Ask[Any]:
        """Begin to answer a request; until then its answer counts as unknown, so cycles end."""
        self._known[kind][tensor] = None
        outer = None if self.outer is None else tensor.outer
        if outer is not None:
            return self._captured(kind, outer)
        if kind is Kind.SHAPE:
            return self._shape(tensor)
        if kind is Kind.VALUE:
            return self._value(tensor)
        return self._dtype(tensor)

    def _captured(self, kind: Kind, tensor: Any) -> Ask[Any]:
        """Answer for a tensor that a body captures from the graph around it."""
        return (yield (self.outer, kind), tensor)

    def _shape(self, tensor: Any) -> Ask[Shape | None]:
        call = self._call(tensor)
        if call is None:
            return self._declared_shape(tensor)
        rule = self._shape_rule(call)
        if rule is None:
            return (yield from self._computed(call)).shape
        shape = yield from rule(call)
        for extent in shape:
            if isinstance(extent, int) and not 0 <= extent <= _LARGEST:
                raise UndeterminedError(f"{call.op} gives an impossible size")
        return shape

    def _shape_rule(self, call: Call) -> ShapeRule | None:
        rule = _SHAPE_RULES.get(call.op)
        if rule is not None or not call.op or call.output:
            return rule
        own = row_declared(self._graph, call.node)
        if own is None:
            return None
        self.declared.add(own)
        return of_row(laid_out(declared_row(own), {}))

    def _dtype(self, tensor: Any) -> Ask[int | None]:
        found = yield from self._written_dtype(tensor)
        return found if found in _DTYPES else None

    def _written_dtype(self, tensor: Any) -> Ask[int | None]:
        """Return a tensor's element type as the model has it: onnx may not know that type."""
        call = self._call(tensor)
        if call is None:
            declared = self._graph.declared(tensor)
            if declared is not None and not declared[0] and self._is_input(tensor):
                return self._input_facts.get(tensor.name, NOTHING).dtype
            return declared[0] or None if declared else None
        if self._shape_rule(call) is None:
            return (yield from self._computed(call)).dtype
        return (yield from DTYPES.get(call.op, first_input_dtype)(call))

    def _value(self, tensor: Any) -> Ask[Value | None]:
        call = self._call(tensor)
        if call is None:
            return self._constant_value(tensor)
        rule = value_rules().get(call.op)
        if rule is None:
            return None
        # Both come first, so that no rule makes a large array or works out its own shape.
        shape: Shape | None = yield Kind.SHAPE, tensor
        dtype: int | None = yield Kind.DTYPE, tensor
        if shape is None or dtype is None:
            return None
        call.shape, call.dtype = known(shape), dtype
        elements = math.prod(call.shape)
        if elements > CONSTANT_LIMIT or (
            elements > LIMIT and not (yield from self._reads_constants(call))
        ):
            return None
        try:
            data = yield from rule(call)
        except (ValueError, IndexError):
            # numpy refuses operands that do not fit, and so does every runtime.
            return None
        return Value(dtype, data) if data.shape == call.shape else None

    def _computed(self, call: Call) -> Ask[PassedFacts]:
        """Return what is known of an output of a node with bodies, or of a call of a function."""
        node: Node = call.node
        if not self._graph.runs_graphs(node):
            return NOTHING
        if id(node) not in self._inside:
            # All that the bodies will ask for comes first, so that no long chain of nodes needs a
            # deep Python stack.
            for tensor in self._graph.sources(node):
                if tensor.name:
                    for kind in (Kind.SHAPE, Kind.DTYPE, Kind.VALUE):
                        yield kind, tensor
            self._inside[id(node)] = yield from computed_by(self._graph, self, node)
        found = self._inside[id(node)]
        return found[call.output] if call.output < len(found) else NOTHING

    def _reads_constants(self, call: Call) -> Ask[bool]:
        """Whether all inputs of a node are constants."""
        for tensor in call.node.inputs:
            if tensor.name and not is_constant((yield Kind.VALUE, tensor)):
                return False
        return True

    def _call(self, tensor: Any) -> Call | None:
        """Return the operator that computes a tensor; None where no node but a Constant does."""
        node = tensor.producer
        if node is None or node.op == "Constant":
            return None
        # No rule is for an operator without a name.
        op = "" if self._graph.refers(node) else rule_name(self._graph, node)
        return Call(node, op, self._graph.opset, self._place(node, tensor))

    def _place(self, node: Any, tensor: Any) -> int:
        """Return the index of a tensor among its node's outputs; a Split may have thousands."""
        first = node.outputs[0]
        if tensor is first:
            return 0
        if tensor not in self._places.get(first, ()):
            self._places[first] = {each: place for place, each in enumerate(node.outputs)}
        return self._places[first][tensor]

    def _is_input(self, tensor: Any) -> bool:
        return tensor.name in self._graph.inputs

    def _declared_shape(self, tensor: Any) -> Shape | None:
        """Return the shape of an input, an initializer or a Constant."""
        if self._input_shapes is None:
            self._input_shapes = self._symbols()
        if tensor.name in self._input_shapes:
            return self._input_shapes[tensor.name]
        declared = self._graph.declared(tensor)
        return None if declared is None or declared[1] is None else known(declared[1])

    def _symbols(self) -> dict[str, Shape | None]:
        """Return the shapes of the graph's inputs, with a symbol for each axis left open."""
        shapes: dict[str, Any] = {
            tensor: None if shape is None else list(shape)
            for tensor, (_, shape) in self._graph.inputs.items()
        }
        for each in open_axes(self._graph.inputs):
            size = self._dims.get(each.symbol)
            if size is None and isinstance(self._dims.get(each.label), int):
                size = self._dims[each.label]
            extent = symbol(each.symbol, OPEN_SIZES) if size is None else size
            shapes[each.tensor][each.axis] = extent
        facts = self._input_facts
        passed = {name: facts[name].shape for name in shapes if name in facts}
        found = {each: None if shape is None else tuple(shape) for each, shape in shapes.items()}
        return found | passed

    def _constant_value(self, tensor: Any) -> Value | None:
        """Return the content of a constant that is small enough to be read."""
        passed = self._input_facts.get(tensor.name)
        if passed is not None and passed.value is not None and self._is_input(tensor):
            return passed.value
        declared = self._graph.declared(tensor)
        if declared is None or declared[1] is None:
            return None
        shape = known(declared[1])
        if math.prod(shape) > CONSTANT_LIMIT:
            return None
        array = self._graph.constant(tensor)
        data = None if array is None else constant_elements(array, declared[0])
        return None if data is None else Value(declared[0], data)


def open_axes(inputs: Mapping[str, _Declared]) -> Iterator[OpenAxis]:
    """Yields the open axes of inputs, in order.

    Axes that share a name get symbols of their own: no runtime checks that their sizes are equal.
    """
    taken: set[str] = set()
    for tensor, (_, declared) in inputs.items():
        for axis, dimension in enumerate(declared or ()):
            if isinstance(dimension, int) and dimension >= 0:
                continue
            place = f"{tensor}[{axis}]"
            label = dimension if isinstance(dimension, str) and dimension else place
            name = label
            while name in taken:
                name = f"{label} ({place})" if name == label else f"{name}'"
            taken.add(name)
            yield OpenAxis(tensor, axis, label, name)


@cache
def value_rules() -> dict[str, ValueRule]:
    """The rules for contents. Few models compute any, and the rules take 100 kB of code."""
    from onnxpad.analysis.rules.elementwise import ARITHMETIC
    from onnxpad.analysis.rules.layout_contents import LAYOUT

    return ARITHMETIC | LAYOUT


def _is_open(answer: Any) -> bool:
    """Whether an answer leaves something unknown."""
    if isinstance(answer, Value):
        answer = answer.flat
    elif not isinstance(answer, tuple):
        return answer is None
    return Unknown in map(type, answer)
